"""Write the report of a study: tables, pictures, and one self-contained HTML page."""

from __future__ import annotations

import base64
import hashlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..errors import CWLAError
from ..errors.extras import needed
from ..errors.sanitise import harmless
from ..errors.user_warnings import warn
from ..measures.parsing import measures_of
from .manifest import ABOUT, PAGE, write_files

_MAX_ROWS = 300  # rows of a table shown in the page; the files contain all rows
_SETTINGS: Any = {"svg.hashsalt": "pyterrier_cwla", "svg.fonttype": "path"}  # equal pictures give equal files


@dataclass(frozen=True, eq=False)
class Table:
    """A table of a study.

    Parameters
    ----------
    title : str
        Title of the table.
    caption : str
        Caption: sample sizes, intervals and explanations of columns.
    frame : DataFrame
        Rows and columns of the table.
    """

    title: str
    caption: str
    frame: pd.DataFrame


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture of a study.

    Parameters
    ----------
    title : str
        Title of the picture.
    caption : str
        Caption: sample sizes, intervals and explanations of marks.
    draw : callable
        Function that draws the picture on matplotlib axes, its only argument; None creates new axes.
    data : DataFrame
        Numbers shown in the picture.
    size : tuple of float, default=(7.0, 3.6)
        Width and height in inches.
    """

    title: str
    caption: str
    draw: Callable[[Any], Any]
    data: pd.DataFrame
    size: tuple[float, float] = (7.0, 3.6)


def write_report(
    folder: Path,
    title: str,
    about: Mapping[str, Any],
    tables: Mapping[str, Table],
    pictures: Mapping[str, Picture],
    said: Mapping[str, Sequence[str]],
) -> Path:
    """Write a report to a folder and return the path of its page.

    The files are ``tables/*.parquet`` and ``.csv``, ``pictures/*.svg`` and ``.png``, ``about.json``, ``report.html``
    and ``manifest.json``. An earlier report that the folder's manifest lists is replaced.

    Parameters
    ----------
    folder : Path
        Folder of the report. Created if it does not exist.
    title : str
        Title of the study.
    about : mapping
        Version, measures, seeds, sizes and hash of the input of the study.
    tables, pictures : mapping of str to Table or Picture
        Tables and pictures by file name.
    said : mapping of str to sequence of str
        Sentences of the study, by heading.

    Returns
    -------
    Path
        The HTML page.
    """
    check_packages()
    template = _template()
    contents: dict[str, bytes] = {}
    shown = {name: _rendered_table(table, f"tables/{name}", contents) for name, table in tables.items()}
    drawn = {name: _rendered_picture(picture, f"pictures/{name}", contents) for name, picture in pictures.items()}
    contents[ABOUT] = f"{json.dumps(about, indent=1, default=str, ensure_ascii=False)}\n".encode()
    script = files(__package__).joinpath("report.js").read_text("utf-8")
    page = template.render(
        title=title,
        said=said,
        about={name: _about_text(_with_shown_measures(name, value)) for name, value in about.items()},
        tables=shown,
        pictures=drawn,
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        style=files(__package__).joinpath("report.css").read_text("utf-8"),
    )
    contents[PAGE] = page.encode()
    replaced = write_files(folder, contents, title)
    if replaced is not None:
        warn(f"replaced {replaced}, in {folder}. To keep both, write each study to a separate folder.")
    return folder / PAGE


def check_packages() -> None:
    """Raise CWLAError if a package that reports need is not installed."""
    with needed("reports need jinja2 and matplotlib", extra="studies"):
        import jinja2  # noqa: F401
        import matplotlib  # noqa: F401


def _template() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    # Everything in the page is escaped except our own style and script.
    environment = Environment(
        loader=PackageLoader(__package__, "."), autoescape=True, undefined=StrictUndefined, finalize=_sanitised
    )
    return environment.get_template("report.html")


def _sanitised(value: Any) -> Any:
    """Sanitise a value of the template before it is escaped."""
    return harmless(value) if type(value) is str else value


class _Cell(NamedTuple):
    text: str
    key: str
    """Sort key of the cell."""
    number: bool


class _RenderedTable(NamedTuple):
    """A table as shown in the page."""

    title: str
    caption: str
    columns: list[str]
    rows: list[list[_Cell]]
    total: int


def _rendered_table(table: Table, path: str, contents: dict[str, bytes]) -> _RenderedTable:
    """Return the table for the page, and add its files to ``contents``."""
    frame = table.frame
    if frame.index.names == [None]:
        frame = frame.reset_index(drop=True)
    else:  # a measure may have the same name as the index
        frame = frame.reset_index(names=[f"{n}_" if n in frame.columns else str(n) for n in frame.index.names])
    frame.columns = [" ".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in frame.columns]
    mixed = [name for name in frame if pd.api.types.infer_dtype(frame[name], skipna=True).startswith("mixed")]
    # One column may mix numbers and texts, for example the values of several parameters.
    frame = frame.astype(dict.fromkeys(mixed, str))
    contents[f"{path}.parquet"] = frame.to_parquet(index=False)
    contents[f"{path}.csv"] = frame.to_csv(index=False).encode()
    columns = [_cells(frame[name].head(_MAX_ROWS)) for name in frame]
    rows = [list(row) for row in zip(*columns, strict=True)]
    return _RenderedTable(table.title, table.caption, list(frame.columns), rows, len(frame))


def _cells(column: pd.Series) -> list[_Cell]:
    if pd.api.types.is_bool_dtype(column):
        return [_Cell("yes" if value else "no", str(int(value)), False) for value in column]
    if pd.api.types.is_integer_dtype(column):
        return [_Cell(f"{value:,}", str(value), True) for value in column]
    if pd.api.types.is_float_dtype(column):
        return [_Cell(_decimal(value), "" if np.isnan(value) else repr(float(value)), True) for value in column]
    return [_Cell(str(value), str(value), False) for value in column]


def _decimal(value: float) -> str:
    """Format a number with four decimals, or in scientific notation if it is smaller."""
    if np.isnan(value):
        return "–"
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    small = 0 < abs(value) < 5e-5
    text = f"{value:.1e}" if small else f"{value:,.4f}".rstrip("0").rstrip(".") if value % 1 == 0 else f"{value:,.4f}"
    return text.replace("-", "−", 1) if value < 0 else text


class _RenderedPicture(NamedTuple):
    title: str
    caption: str
    source: str
    """The SVG as a data URI."""


def _rendered_picture(picture: Picture, path: str, contents: dict[str, bytes]) -> _RenderedPicture:
    """Return the picture for the page, and add its files to ``contents``."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(_SETTINGS):
        figure = Figure(figsize=picture.size, layout="constrained")
        picture.draw(figure.subplots())
        svg = io.BytesIO()
        figure.savefig(svg, format="svg", metadata={"Date": None}, bbox_inches="tight")
        png = io.BytesIO()
        figure.savefig(png, format="png", dpi=200, bbox_inches="tight")
    contents |= {f"{path}.svg": svg.getvalue(), f"{path}.png": png.getvalue()}
    encoded = base64.b64encode(svg.getvalue()).decode()
    return _RenderedPicture(picture.title, picture.caption, f"data:image/svg+xml;base64,{encoded}")


def _with_shown_measures(name: str, value: Any) -> Any:
    """Return a value of ``about``, with the names of measures instead of texts with hashes and paths."""
    if name == "measures" and isinstance(value, Mapping):
        return {label: _with_shown_measures("measure", text) for label, text in value.items()}
    if name == "measure" and isinstance(value, str):
        with suppress(CWLAError):
            return str(measures_of([value])[0])
    return value


def _about_text(value: Any) -> str:
    """Format a value of ``about``: lists and dicts in one line."""
    if isinstance(value, dict):
        return (
            ", ".join(name if str(name) == str(said) else f"{name}: {said}" for name, said in value.items()) or "none"
        )
    if isinstance(value, list | tuple | set):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)
