"""Tables of a report: files with all numbers, and rows for the page with words, sensible digits and intervals."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
import pandas as pd

from .column_words import column_words

MAX_ROWS = 300  # rows of a table shown in the page; the files contain all rows
_DECIMALS = 3


class Cell(NamedTuple):
    """A cell of a table in the page."""

    text: str
    key: str
    """Sort key of the cell."""
    number: bool


class RenderedTable(NamedTuple):
    """A table as shown in the page."""

    title: str
    caption: str
    columns: list[str]
    rows: list[list[Cell]]
    total: int


def flat(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with its index as columns and with texts as names of columns."""
    if frame.index.names == [None]:
        frame = frame.reset_index(drop=True)
    else:  # a measure may have the same name as the index
        frame = frame.reset_index(names=[f"{n}_" if n in frame.columns else str(n) for n in frame.index.names])
    frame.columns = [" ".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in frame.columns]
    mixed = [name for name in frame if pd.api.types.infer_dtype(frame[name], skipna=True).startswith("mixed")]
    # One column may mix numbers and texts, for example the values of several parameters.
    return frame.astype(dict.fromkeys(mixed, str))


def rendered_table(title: str, caption: str, frame: pd.DataFrame, as_they_are: Collection[str]) -> RenderedTable:
    """Return a table for the page.

    Parameters
    ----------
    title, caption : str
        Title and caption of the table.
    frame : DataFrame
        Result of :func:`flat`.
    as_they_are : collection of str
        Columns named by the user, such as measures, whose names are not replaced by words.

    Returns
    -------
    RenderedTable
        The first 300 rows. An interval stands in the column of its value.
    """
    ends = _ends(frame, as_they_are)
    inside = {end for pair in ends.values() for end in pair}
    shown, names = frame.head(MAX_ROWS), [name for name in frame if name not in inside]
    columns = [_with_ends(shown, name, ends[name]) if name in ends else _cells(shown[name]) for name in names]
    heads = [column_words(name, as_they_are) + " [interval]" * (name in ends) for name in names]
    return RenderedTable(title, caption, heads, [list(row) for row in zip(*columns, strict=True)], len(frame))


def _ends(frame: pd.DataFrame, as_they_are: Collection[str]) -> dict[str, tuple[str, str]]:
    """Return the columns of the ends of intervals, by the column of the value."""
    if frame.columns.has_duplicates:
        return {}
    numbers = [name for name in frame if pd.api.types.is_float_dtype(frame[name]) and name not in as_they_are]
    ends = {name: (f"{name}_low", f"{name}_high") for name in numbers if {f"{name}_low", f"{name}_high"} <= {*numbers}}
    if {"low", "high"} <= {*numbers}:
        before = [name for name in numbers[: numbers.index("low")] if not name.endswith("_seed")]
        value = "knee" if "knee" in before else before[-1] if before else None
        if value is not None and value not in ends:
            ends[value] = ("low", "high")
    return ends


def _with_ends(frame: pd.DataFrame, name: str, ends: tuple[str, str]) -> list[Cell]:
    """Return the cells of a value with its interval."""
    both = frame[[name, *ends]].to_numpy(float)
    digits = _digits(both)
    found = []
    for value, low, high in both:
        text = number_text(value, digits)
        if not np.isnan([value, low, high]).any():
            text += f" [{number_text(low, digits)}, {number_text(high, digits)}]"
        found.append(Cell(text, "" if np.isnan(value) else repr(float(value)), True))
    return found


def _cells(column: pd.Series) -> list[Cell]:
    if pd.api.types.is_bool_dtype(column):
        return [Cell("yes" if value else "no", str(int(value)), False) for value in column]
    if pd.api.types.is_integer_dtype(column):
        return [Cell(f"{value:,}", str(value), True) for value in column]
    if pd.api.types.is_float_dtype(column):
        digits = _digits(column.to_numpy(float))
        return [
            Cell(number_text(value, digits), "" if np.isnan(value) else repr(float(value)), True) for value in column
        ]
    return [
        Cell("–", "", False) if missing else Cell(str(value), str(value), False)
        for value, missing in zip(column, column.isna(), strict=True)
    ]


def _digits(values: np.ndarray) -> int:
    """Return the least number of decimals, up to three, that shows all values as they are, or three."""
    finite = values[np.isfinite(values)]
    exact = (d for d in range(_DECIMALS) if np.allclose(finite, np.round(finite, d), rtol=0, atol=1e-9))
    return next(exact, _DECIMALS)


def number_text(value: float, digits: int = _DECIMALS) -> str:
    """Format a number with so many decimals, or in scientific notation if it is smaller.

    Examples
    --------
    >>> number_text(0.91287), number_text(-2.0, 0), number_text(0.00001)
    ('0.913', '−2', '1.0e-05')
    """
    if np.isnan(value):
        return "–"
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:.1e}" if 0 < abs(value) < 5e-4 else f"{value:,.{digits}f}"
    return text.replace("-", "−", 1) if value < 0 else text
