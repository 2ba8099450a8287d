"""Columns of labelled rows as validated arrays: labels, scores, query ids, document ids and lengths."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from ..data.columns import Array, checked_chances, columns_of_chances
from ..errors import BadJudgments, BadParameter, BadRun, CWLAError, encodable, shown
from ..files.arrow_arrays import NotReal, reals, unwrapped

#: The data of rows besides features and labels, passed by keyword or as levels of an index.
KNOWN = ("qid", "docno", "doc_length", "judged")


Known = Mapping[str, Any]
"""Data of rows by their names in :data:`KNOWN`, as they are given."""


def known_of_rows(X: Any, y: Any, given: Known) -> dict[str, Array]:
    """Return the data of rows that are given by keyword, or else as levels of the index of ``y`` or ``X``.

    Parameters
    ----------
    X, y : array_like or DataFrame or Series
        Features and labels.
    given : mapping of str to array_like or None
        The keyword arguments.

    Returns
    -------
    dict of str to ndarray, shape (n_rows,)
        The columns of :data:`KNOWN` that are given.

    Raises
    ------
    BadParameter
        If a column does not have one value per row.
    """
    rows = number_of_rows(X, y)
    known = {}
    for name in KNOWN:
        values = given.get(name)
        if values is None and (index := index_with(name, y, X)) is not None:
            level, codes = level_and_codes(index, name)
            if level is index or len(level) > len(codes) or codes.min(initial=0) < 0:
                values = index.get_level_values(name)
            else:
                values = np.asarray(level)[codes]  # faster than to convert the value of each row
        if values is not None:
            known[name] = one_per_row(values, name, rows)
    return known


def one_per_row(values: Any, name: str, rows: int) -> Array:
    """Return values of rows as an array; BadParameter is raised if there is not one value per row."""
    found = of_rows(values)
    if found.shape != (rows,):
        raise BadParameter(
            f"{name} has {counted(found)}, but there are {rows:,} rows: pass one value per row"
            + (" (not the sizes of groups)." if name == "qid" else ".")
        )
    return found


def of_rows(values: Any) -> Array:
    """Return values of rows as an array; of lists of several types, NumPy alone makes texts, also of NaN."""
    found = _as_array(values := unwrapped(values))
    several = found.dtype.kind in "US" and not hasattr(values, "dtype") and len({*map(type, values)}) > 1
    return np.array(values, object) if several else found


def refuse_missing(ids: Array, name: str) -> None:
    """Raise BadParameter if an id is None or NaN."""
    if (holes := np.flatnonzero(pd.isna(ids))).size:
        raise BadParameter(f"row {holes[0]} has no {name}.")


def number_of_rows(X: Any, y: Any) -> int:
    """Return the number of rows of the features, or of the labels if there are no features."""
    data = X if X is not None else y
    return int(data.shape[0]) if hasattr(data, "shape") else len(data)


def counted(values: Array) -> str:
    """Return the number of values, or the shape, for errors."""
    return f"{len(values):,} values" if values.ndim == 1 else f"the shape {values.shape}"


def index_with(name: str, *data: Any) -> pd.Index | None:
    """Return the first index of the data that has a level of this name, or None.

    Raises
    ------
    BadParameter
        If the index has several levels of the name.
    """
    for one in data:
        index: Any = getattr(one, "index", None)
        times = list(getattr(index, "names", None) or ()).count(name)
        if times > 1:
            raise BadParameter(f"the index has {times} levels {name!r}: keep one of them.")
        if times:
            return index
    return None


def level_and_codes(index: pd.Index, name: str) -> tuple[pd.Index, Array]:
    """Return the distinct values of a level, and the number of the value of each row; -1 for a missing value.

    A plain index is returned itself, without codes.
    """
    if isinstance(index, pd.MultiIndex):
        number = index.names.index(name)
        return index.levels[number], index.codes[number]
    return index, np.zeros(0, int)


def misplaced(X: Any, y: Any) -> str:
    """Return where data of rows seem to be instead of index levels of these names, for errors; empty if unknown."""
    for name, data in (("y", y), ("X", X)):
        index: Any = getattr(data, "index", None)
        levels = list(getattr(index, "names", ()))
        if set(levels) - set(KNOWN) and not (levels == [None] and index.is_unique):  # not the index of row numbers
            return (
                f" The index of {name} has the level{'s' * (len(levels) > 1)} {', '.join(map(repr, levels))}: set the"
                f" names, as in {name}.index.names = {[*KNOWN[::2], *KNOWN[1::2]][: len(levels)]}."
            )
    for name in KNOWN:
        if hasattr(X, "set_index") and name in X.columns:
            return (
                f" X has the column {name!r}, which counts as a feature alone: add it as a level of the index of y,"
                f" too, or pass X.set_index({name!r})."
            )
    return ""


def labels(values: Any) -> Array:
    """Return labels as floats: grades, NaN for unjudged rows.

    Raises
    ------
    BadJudgments
        If a label is infinite, or negative other than TREC's −1 and −2.
    """
    found = one_column(values)
    if found.ndim != 1:
        raise BadJudgments(f"labels must be one number per row, not of shape {found.shape}.")
    found = _floats(found, "labels must be grades", BadJudgments)
    odd = np.flatnonzero(np.isinf(found) | ((found < 0) & ~np.isin(found, (-1.0, -2.0))))
    if len(odd):
        raise BadJudgments(
            f"row {odd[0]} has the label {found[odd[0]]:g}: labels must be finite and not negative (TREC's grades -1"
            " and -2 are allowed and count as not relevant)."
        )
    return found


def names_of_chances(labels: Any) -> list[str]:
    """Return the names of probabilities in labels: of a Series p_relevant, or of the columns of a frame."""
    names = getattr(labels, "columns", [getattr(labels, "name", None)])
    return columns_of_chances([name for name in names if isinstance(name, str)], BadJudgments)


def chances_of(labels: Any) -> Array | None:
    """Return the probabilities of the grades 0, 1, … of each row, NaN for unjudged rows, or None for other labels.

    Raises
    ------
    BadJudgments
        If probabilities are out of range or do not sum to 1.
    """
    names = names_of_chances(labels)
    if not names:
        return None
    of_rows = [labels] if labels.ndim == 1 else [labels[name] for name in names]
    given = [
        _floats(_as_array(unwrapped(values)), f"{name} must be numbers", BadJudgments)
        for name, values in zip(names, of_rows, strict=True)
    ]
    judged = np.flatnonzero(~np.isnan(given).all(axis=0))
    chances = np.full((len(given[0]), max(len(names), 2)), np.nan)
    chances[judged] = checked_chances(
        names, [values[judged] for values in given], BadJudgments, lambda row: f"row {judged[row]}"
    )
    return chances


def scores(values: Any) -> Array:
    """Return predictions as floats, one per row; the shape of others is that of the values."""
    found = one_column(values)
    return _floats(found, "scores must be one number per row", BadRun) if found.ndim == 1 else found


def one_column(values: Any) -> Array:
    """Return values as an array; a matrix of one column becomes one-dimensional."""
    found = _as_array(unwrapped(values))
    return found[:, 0] if found.ndim == 2 and found.shape[1] == 1 else found


def _as_array(values: Any) -> Array:
    try:
        return np.asarray(values)
    except ValueError:  # lists of several lengths
        return np.array([*values, None], object)[:-1]


def _floats(values: Array, what: str, error: type[CWLAError]) -> Array:
    try:
        return np.array(reals(values), float)
    except NotReal as wrong:
        raise error(f"row {wrong.row}: {what}, and {wrong}.") from None


def whole(values: Array) -> Array:
    """Return the values as integers if all are whole and fit into 64 bits; otherwise unchanged."""
    small = np.abs(values).max(initial=0) < 2**63
    return values.astype(np.int64) if small and np.array_equal(values, np.rint(values)) else values


@lru_cache(maxsize=32)  # a search scores the same folds repeatedly
def row_ids(n: int) -> Any:
    """Return ids for n rows without ids, in descending order, so that rows with equal scores keep their order."""
    rows = np.arange(n)
    falling = pc.utf8_lpad(texts(rows[::-1], "row"), len(str(n)), padding="0")
    row, close, nothing = (pa.scalar(text, pa.large_string()) for text in (" (row ", ")", ""))
    return pc.binary_join_element_wise(falling, row, texts(rows, "row"), close, nothing)


def flags(judged: Array) -> Array:
    """Return the flags as booleans; other values than True, False, 0 and 1 raise BadParameter."""
    if judged.dtype.kind != "b":
        known = np.array([not pd.isna(flag) and flag in (0, 1) for flag in judged.tolist()])
        if not known.all():
            row = int(np.argmin(known))
            raise BadParameter(f"judged must be True or False, but row {row} has {judged[row]!r}.")
    return judged.astype(bool)


def numbered(ids: Array, name: str) -> tuple[Array, list[str]]:
    """Return a number for each id, in the order of first occurrence, and the ids of these numbers as text."""
    if ids.dtype.kind == "f" and np.isfinite(ids).all():
        ids = whole(ids)
    if ids.dtype.kind in "iu":
        numbers, names = pd.factorize(ids)
        return numbers, [str(one) for one in names.tolist()]
    encoded = pc.dictionary_encode(texts(ids, name))
    return encoded.indices.to_numpy().astype(np.int64), encoded.dictionary.to_pylist()


def words(doc_length: Array) -> Array:
    """Return document lengths in words, as floats."""
    return _floats(doc_length, "doc_length must be numbers of words", BadParameter)


def texts(ids: Array, name: str) -> Any:
    """Return ids of any type as Arrow strings; whole floats are written like integers."""
    if ids.dtype.kind == "f":
        if not np.isfinite(ids).all():
            raise BadParameter(f"row {int(np.argmin(np.isfinite(ids)))}: {name} must be finite.")
        ids = whole(ids)
    if ids.dtype.kind in "iuf":
        return pc.cast(pa.array(ids), pa.large_string())
    try:
        return pa.array(ids, pa.large_string())
    except UnicodeEncodeError:
        row = next(row for row, one in enumerate(ids.tolist()) if not encodable(str(one)))
        raise BadParameter(
            f"row {row}: {name} {shown(ids[row])} contains a lone surrogate, which is not a character."
        ) from None
    except pa.ArrowException:  # of other types than strings
        return pa.array(_names(ids.tolist(), name), pa.large_string())


def _names(ids: list[Any], name: str) -> list[str]:
    """Return ids as texts; different ids with equal texts raise BadParameter."""
    names = [str(one) for one in ids]
    try:
        different = len(set(ids))
    except TypeError:
        row = next(row for row, one in enumerate(ids) if not isinstance(one, Hashable))
        raise BadParameter(f"row {row}: {name} must be a text or a number, not {shown(ids[row])}.") from None
    if len(set(names)) != different:
        raise BadParameter(f"{name} has values of several types with equal texts, such as 1 and '1': use one type.")
    return names
