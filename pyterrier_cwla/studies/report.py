"""Studies and their reports: tables, pictures with their data, findings, and files that a manifest lists."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial, wraps
from html import escape
from importlib.resources import files
from inspect import signature
from operator import itemgetter
from pathlib import Path
from textwrap import wrap
from typing import Any, ParamSpec, TypeVar

import numpy as np
import pandas as pd

from .._version import __version__
from ..errors import BadParameter, CWLAError
from ..errors.extras import needed
from ..errors.sanitise import harmless, sanitised
from ..files.atomic import written
from ..measures.named import measure_of
from ..rendering.figures import (
    inlined,
    key,
    label_ends,
    measure_look,
    name_rows,
    notebook_picture,
    on_white,
    page_colours,
    svg_of,
    titled,
)
from ..rendering.numbers import p_value
from ..rendering.tables import HEADS, TableCell, TableColumn
from ..rendering.tables import Table as Table
from .correlation import LABELS


class Finding(str):
    """A finding: one sentence, and the picture that it rests on.

    Parameters
    ----------
    sentence : str
        The sentence; a Finding is this text.
    picture : str, optional
        File name of the picture in ``Study.pictures()``.

    Examples
    --------
    >>> found = Finding("AP tells most systems apart.", "power")
    >>> found.picture, found.upper()
    ('power', 'AP TELLS MOST SYSTEMS APART.')
    """

    picture: str | None

    def __new__(cls, sentence: str, picture: str | None = None) -> Finding:
        """Return the sentence with the name of its picture."""
        found = super().__new__(cls, sentence)
        found.picture = picture
        return found


About = Mapping[str, Any]
"""Settings and sizes of a study, versions, seeds and the hash of its input, by name."""


P = ParamSpec("P")
S = TypeVar("S", bound="Study")


def reported(names: str) -> Callable[[Callable[P, S]], Callable[P, S]]:
    """Decorate the function of a study: ``about`` of its result begins with the version and these of its arguments."""

    def decorated(function: Callable[P, S]) -> Callable[P, S]:
        @wraps(function)
        def study(*args: P.args, **more: P.kwargs) -> S:
            found: Any = function(*args, **more)
            given = signature(function).bind(*args, **more)
            given.apply_defaults()
            chosen = {name: given.arguments[name] for name in names.split()}
            return replace(found, about={"version": __version__, **chosen, **found.about})

        return study

    return decorated


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


Tables = dict[str, Table]
Pictures = dict[str, Picture]
"""Tables and pictures of a study by file name."""

_ROWS, _NOTEBOOK_COLUMNS = 10, 8  # of a table in a notebook


_FEW = 12  # points of a curve that have marks


def plot_curves(
    ax: Any,
    curves: Mapping[str, tuple[Any, Any]],
    title: str,
    bands: Mapping[str, tuple[Any, Any]] = {},
    **of_axes: Any,
) -> Any:
    """Plot lines with their names at their ends, on axes with these properties; return the axes.

    ``bands`` has the ends of intervals of some of the curves.
    """
    looks = {name: measure_look(number) for number, name in enumerate(curves)}
    for name, (x, y) in curves.items():
        look = looks[name] if len(x) <= _FEW else {**looks[name], "marker": ""}
        ax.plot(x, y, **look, label=name, linewidth=1.5, markersize=4)
        if name in bands:
            ax.fill_between(x, *bands[name], label=name, color=look["color"], alpha=0.13, linewidth=0)
    ax.set(**of_axes)
    titled(ax, title)
    label_ends(ax, curves, looks)
    return ax


def plot_rows(ax: Any, names: Sequence[str], marks: Mapping[str, tuple[Any, ...]], title: str, **of_axes: Any) -> Any:
    """Plot marks in named rows, the first on top, on axes with these properties; return the axes.

    ``marks`` has, by name, the look of each mark, its values, and the ends of their intervals if there are any. A key
    explains several marks.
    """
    heights, looks = np.arange(len(names))[::-1], {}
    for name, (look, values, *ends) in marks.items():
        if ends:
            ax.hlines(heights, *ends, color=look["color"], linewidth=1.4)
        ax.plot(values, heights, **look, label=name, linestyle="none")
        looks[name] = {**look, "linestyle": "-" if ends else "none"}
    name_rows(ax, heights, names)
    ax.set(ylim=(-0.6, len(names) - 0.4), **of_axes)
    titled(ax, title)
    if len(looks) > 1:
        key(ax, looks)
    return ax


class Study:
    """Result of a study. Subclasses are frozen dataclasses that define the tables, pictures and sentences.

    Attributes
    ----------
    title : str
        Title of the report.
    about : dict
        Data to report with the study: version of the package, canonical measures, seeds, sizes, hash of the input.
    sought : str
        Name of the table that the study is made for, if it is made for a table: the page shows it open, before the
        findings, and the command prints its first rows. Other commands print the first table of at most ten rows.
    """

    title: str = ""
    about: About
    sought: str = ""

    def tables(self) -> Tables:
        """Return the tables of the report by file name."""
        raise NotImplementedError

    def pictures(self) -> Pictures:
        """Return the pictures of the report by file name."""
        raise NotImplementedError

    def headline(self) -> str:
        """Return what was found, in one sentence. By default the first finding, or the title without findings."""
        return str(next(iter(self.findings()), self.title))

    def findings(self) -> list[str]:
        """Return the findings, one sentence each, with their uncertainty, the most important first.

        A :class:`~pyterrier_cwla.studies.Finding` names the picture that it rests on; the report shows them side by
        side.
        """
        raise NotImplementedError

    def limits(self) -> list[str]:
        """Return conclusions that the study does not support, one sentence each."""
        return []

    def report(self, folder: str | Path, force: bool = False) -> Path:
        """Write tables (Parquet, CSV), pictures (SVG, PNG) and one HTML page that contains all of them.

        Needs matplotlib and jinja2.

        Parameters
        ----------
        folder : str or Path
            Created if it does not exist. ``manifest.json`` lists the files of the report.
        force : bool, default=False
            Whether existing files may be replaced, such as those of an earlier report, even if they were edited. Files
            of the earlier report that this one lacks are removed; files that no manifest lists stay.

        Returns
        -------
        Path
            The HTML page.

        Raises
        ------
        BadParameter
            Without ``force``, if the folder has a file of a report: ``report.html``, ``about.json``, ``manifest.json``,
            or any in ``tables`` or ``pictures``. Always if a folder or symbolic link is in the place of such a file.
            Nothing is written then.
        """
        return write_report(self, Path(folder), force)

    def said(self) -> dict[str, list[str]]:
        """Return the sentences of the study by heading."""
        said = {"What was found": self.findings(), "What not to conclude": self.limits()}
        return {heading: sentences for heading, sentences in said.items() if sentences}

    @sanitised
    def __repr__(self) -> str:
        lines = [self.title, self.headline()]
        for heading, sentences in self.said().items():
            lines += [f"{heading}:", *(f"  · {sentence}" for sentence in sentences)]
        return "\n".join(lines)

    @sanitised
    def _repr_html_(self) -> str:
        parts = [f"<p><b>{escape(self.headline())}</b><br>{escape(self.title)}</p>", self._first_picture()]
        parts += [self.opening(table, "tables()").html() for table in list(self.tables().values())[:1]]
        for heading, sentences in self.said().items():
            lines = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
            parts.append(f"<details><summary>{heading}</summary><ul>{lines}</ul></details>")
        return "".join(parts)

    def _first_picture(self) -> str:
        """Return the picture of the first finding that has one, or the first picture, for a notebook."""
        pictures = self.pictures()
        named = [getattr(one, "picture", None) for one in self.findings()]
        first = next((name for name in [*named, *pictures] if name in pictures), None)
        if first is None:
            return ""
        one = pictures[first]
        return notebook_picture(one.draw, one.size, harmless(f"{one.title}: {one.caption}"))

    def main_table(self) -> Table | None:
        """Return the table that the command prints, if there is one."""
        tables = self.tables()
        small = (name for name, table in tables.items() if 0 < len(table.frame) <= _ROWS)
        name = self.sought or next(small, None)
        return None if name is None else self.opening(tables[name], f"tables/{name}.csv")

    def opening(self, table: Table, where: str) -> Table:
        """Return the first rows and columns of a table in words; ``where`` has all of them."""
        shown = rendered_table(replace(table, frame=flat(table.frame)), names_given(self.about))
        columns, rows, total = shown.columns[:_NOTEBOOK_COLUMNS], shown.rows[""][:_ROWS], len(shown.frame)
        counts = [(len(rows), total, "rows"), (len(columns), len(shown.columns), "columns")]
        less = ", ".join(f"{some:,} of {of:,} {what}" for some, of, what in counts if some < of)
        of = f" ({less}; all in {where})" if less else ""
        columns = [replace(one, left_out=len(columns) - at if at > 1 else 0) for at, one in enumerate(columns)]
        return replace(shown, columns=columns, rows={table.title + of: rows}, notes=[table.caption, *table.notes])


_MOST, _EACH, _LEAST = 5, 2, 3  # findings at the top of the page: in all, of one picture, and at least


def write_report(study: Study, folder: Path, force: bool) -> Path:
    """Write the report of a study to a folder and return the path of its page.

    The files are ``tables/*.parquet`` and ``.csv``, ``pictures/*.svg`` and ``.png``, ``about.json``, ``report.html``
    and ``manifest.json``.
    """
    check_packages()
    template = _template()
    contents: dict[str, bytes] = {}
    about, named, shown = study.about, names_given(study.about), {}
    for name, table in study.tables().items():
        frame = flat(table.frame)
        contents[f"tables/{name}.parquet"] = frame.to_parquet(index=False)
        contents[f"tables/{name}.csv"] = frame.to_csv(index=False).encode()
        shown[_id(name)] = name, rendered_table(replace(table, frame=frame), named)
    drawn = {name: (_id(name), one, *_drawn(name, one, contents)) for name, one in study.pictures().items()}
    contents[ABOUT] = f"{json.dumps(about, indent=1, default=str, ensure_ascii=False)}\n".encode()
    opening, others = _by_picture(study.findings(), drawn)
    script = files(__package__).joinpath("report.js").read_text("utf-8")
    page = template.render(
        title=study.title,
        headline=study.headline(),
        opening=opening,
        others=others,
        limits=study.limits(),
        about={setting_words(name): _about_text(_with_shown_names(name, value)) for name, value in about.items()},
        tables=shown,
        sought=_id(study.sought),
        pictures=drawn,
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        style=files(__package__).joinpath("report.css").read_text("utf-8"),
    )
    contents[PAGE] = page.encode()
    write_files(folder, contents, study.title, force)
    return folder / PAGE


def names_given(about: About) -> set[str]:
    """Return the names of measures and parameters of a study, which are not replaced by words in tables."""
    return {str(name) for key in ("measures", "ranges") for name in about.get(key, ())} | {str(about.get("parameter"))}


def _by_picture(
    findings: Sequence[str], pictures: Collection[str]
) -> tuple[list[tuple[str | None, list[str]]], list[str]]:
    """Return the findings at the top of the page by the picture that they rest on, and the other findings.

    At the top are up to five findings, and up to two of one picture unless fewer than three would be left.
    """
    of = [picture if (picture := getattr(one, "picture", None)) in pictures else None for one in findings]
    top = [at for at, picture in enumerate(of) if of[:at].count(picture) < _EACH][:_MOST]
    top += [at for at in range(len(of)) if at not in top][: max(_LEAST - len(top), 0)]
    groups: dict[str | None, list[str]] = {}
    for at in sorted(top):
        groups.setdefault(of[at], []).append(str(findings[at]))
    return list(groups.items()), [str(one) for at, one in enumerate(findings) if at not in top]


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
    return harmless(str(value)) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _drawn(name: str, picture: Picture, contents: dict[str, bytes]) -> tuple[str, str]:
    """Return the SVG element of a picture, escaped, and its values for the script; add its files to ``contents``."""
    from matplotlib.figure import Figure

    with page_colours():
        figure = Figure(figsize=picture.size, layout="constrained")
        picture.draw(figure.subplots())
        png = io.BytesIO()
        figure.savefig(png, format="png", dpi=200, bbox_inches="tight")
        figure.set_layout_engine("none")  # the layout is done
        values = picture_values(figure, picture.data)
        svg = svg_of(figure)
    contents |= {f"pictures/{name}.svg": on_white(svg).encode(), f"pictures/{name}.png": png.getvalue()}
    label = harmless(f"{picture.title}: {picture.caption}")
    values_text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    return inlined(svg, label, f"picture-{_id(name)}"), values_text


def _id(name: str) -> str:
    """Return a part of an id in the page: the name of a file may have any letters but slashes."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def _with_shown_names(name: str, value: Any) -> Any:
    """Return a value of ``about`` with words for coefficients, levels of significance, and measures without hashes."""
    if name in ("alpha", "lowest_p_randomisation"):
        return p_value(value, digits=4)
    if name in ("coefficient", "objective"):
        return LABELS.get(value, value)
    if name == "measures" and isinstance(value, Mapping):
        return {label: _with_shown_names("measure", text) for label, text in value.items()}
    if name == "measure" and isinstance(value, str):
        with suppress(CWLAError):
            return str(measure_of(value))
    return value


def _about_text(value: Any) -> str:
    """Format a value of ``about``: lists and dicts in one line."""
    if isinstance(value, dict):
        texts = {str(name): _about_text(said) for name, said in value.items()}
        return ", ".join(name if name == said else f"{name}: {said}" for name, said in texts.items()) or "none"
    if isinstance(value, list | tuple | set):
        return ", ".join(map(_about_text, value)) or "none"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)


_MOST_POINTS = 3000  # of a picture; more would make the page slow


def picture_values(figure: Any, data: pd.DataFrame) -> dict[str, list[Any]]:
    """Return series and points of a figure, and name its artists so that the SVG has their ids.

    A series is a line with a label, and the bands and texts with the same label. The text of a point has the numbers
    as the axes write them: ``ax.fmt_xdata`` and ``ax.fmt_ydata`` are functions from numbers to names and other units.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        Figure after it was drawn; its axes, and the artists of series, get a gid.
    data : DataFrame
        Numbers of the picture, to name points that have no series.

    Returns
    -------
    dict
        ``series``: names and ids of artists. ``points``: number of the axes, place as shares of their width and height,
        and text.
    """
    series: dict[str, list[str]] = {}
    points: list[list[Any]] = []
    name_of = _names(data)
    for number, ax in enumerate(one for outer in figure.axes for one in (outer, *outer.child_axes)):
        ax.patch.set_gid(f"axes-{number}")
        seen = [line for line in ax.lines if line.get_visible() and line.get_alpha() != 0.5]  # not behind other lines
        lines = [line for line in seen if line.get_transform() == ax.transData]  # others are references
        dots = [of for of in ax.collections if type(of).__name__ == "PathCollection"]  # of ax.scatter
        for artist in (*lines, *ax.collections, *ax.texts):
            name = _name(artist)
            if name in series or (name and artist in lines):
                ids = series.setdefault(name, [])
                artist.set_gid(f"series-{[*series].index(name)}-{len(ids)}")
                ids.append(artist.get_gid())
        marks = [(_name(line), xy) for line in lines for xy in line.get_xydata()]
        marks += [("", xy) for of in dots for xy in of.get_offsets()]
        texts = [
            (x, y, [name or ("" if ax.fmt_ydata else name_of(x, y)), _shown(ax.yaxis, y), _shown(ax.xaxis, x)])
            for name, (x, y) in marks
        ]
        for bars in ax.containers:
            for bar in getattr(bars, "patches", ()):
                x, height = bar.get_x() + bar.get_width() / 2, bar.get_height()
                texts.append((x, bar.get_y() + height / 2, [_name(bars), _shown(ax.yaxis, height)]))
        for x, y, said in texts:
            if np.isfinite([x, y]).all():
                place = ax.transAxes.inverted().transform(ax.transData.transform((x, y))).round(4).tolist()
                points.append([number, *place, "\n".join(harmless(text) for text in said if text)])
    named = [{"name": harmless(name), "ids": ids} for name, ids in series.items()]
    return {"series": named, "points": points if len(points) <= _MOST_POINTS else []}


def _name(artist: Any) -> str:
    """Return the label of an artist, or an empty text; matplotlib's own labels begin with an underscore."""
    label = str(artist.get_label())
    return "" if label.startswith("_") else label


def _names(data: pd.DataFrame) -> Callable[[float, float], str]:
    """Return a function from two numbers to the name of the only row of a picture's numbers that has both."""
    texts = data.select_dtypes(["object", "string"])
    numbers = data.select_dtypes("number").to_numpy(float)

    def name(x: float, y: float) -> str:
        rows = texts[np.isclose(numbers, x).any(axis=1) & np.isclose(numbers, y).any(axis=1)]
        return ", ".join(map(str, rows.iloc[0])) if len(rows) == 1 else ""

    return name


def _shown(axis: Any, value: float) -> str:
    """Return the label of an axis in one line, and a value as the axis writes it."""
    ax, name = axis.axes, axis.axis_name
    outer = next((one for one in axis.figure.axes if ax in one.child_axes), ax)  # panels share labels
    label = axis.get_label_text() or getattr(outer, f"{name}axis").get_label_text()
    written = getattr(ax, f"fmt_{name}data") or (lambda number: f"{number:.3g}".replace("-", "−"))
    return " ".join(filter(None, [*f"{label}:".split(), *written(value).split()])) if label.strip() else written(value)


MAX_ROWS = 300  # rows of a table shown in the page; the files contain all rows

_DECIMALS = 3
_HEAD = 16  # characters per line of a heading


def flat(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with its index as columns and with texts as names of columns."""
    names = [f"{name}_" if name in frame.columns else str(name) for name in frame.index.names]  # such as a measure's
    frame = frame.reset_index(drop=True) if frame.index.names == [None] else frame.reset_index(names=names)
    frame.columns = [" ".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in frame.columns]
    # One column may mix numbers and texts, for example the values of several parameters.
    mixed = [name for name in frame if pd.api.types.infer_dtype(frame[name], skipna=True).startswith("mixed")]
    return frame.assign(**{name: frame[name].map(str, na_action="ignore") for name in mixed})


def rendered_table(table: Table, as_they_are: Collection[str]) -> Table:
    """Return a table with the columns and cells that the page shows.

    Parameters
    ----------
    table : Table
        Table whose frame is the result of :func:`flat`.
    as_they_are : collection of str
        Columns named by the user, such as measures, whose names are not replaced by words.

    Returns
    -------
    Table
        The first 300 rows. An interval stands in the column of its value.
    """
    ends = _ends(table.frame, as_they_are)
    inside = {end for pair in ends.values() for end in pair}
    shown, names = table.frame.head(MAX_ROWS), [name for name in table.frame if name not in inside]
    words = [column_words(name, as_they_are) for name in names]
    cells = [_cells(shown[name], shown[[name, *ends.get(name, ())]], said) for name, said in zip(names, words)]
    columns = [
        TableColumn(
            "\n".join(wrap(said + " [interval]" * (name in ends), _HEAD, break_long_words=False)),
            itemgetter(at),
            "number" if are_numbers(shown[name]) else "name",
        )
        for at, (name, said) in enumerate(zip(names, words))
    ]
    return replace(table, columns=columns, rows={"": list(zip(*cells, strict=True))})


def are_numbers(column: pd.Series) -> bool:
    """Return whether a column is numeric; booleans are categories."""
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def _ends(frame: pd.DataFrame, as_they_are: Collection[str]) -> dict[str, tuple[str, str]]:
    """Return the columns of the ends of intervals, by the column of the value."""
    if frame.columns.has_duplicates:
        return {}
    numbers = [name for name in frame if pd.api.types.is_float_dtype(frame[name]) and name not in as_they_are]
    pairs = {name: (f"{name}_low", f"{name}_high") for name in numbers}
    ends = {name: pair for name, pair in pairs.items() if {*pair} <= {*numbers}}
    if {"low", "high"} <= {*numbers}:
        before = [name for name in numbers[: numbers.index("low")] if not name.endswith("_seed")]
        value = "knee" if "knee" in before else before[-1] if before else None
        if value is not None and value not in ends:
            ends[value] = ("low", "high")
    return ends


def _cells(column: pd.Series, with_ends: pd.DataFrame, words: str) -> list[TableCell]:
    """Return the cells of a column; those of numbers have the ends of their intervals, if there are any."""
    if are_numbers(column):
        numbers, found = with_ends.to_numpy(float), []
        text_of = p_value if words.startswith(("p of ", "p, ")) else partial(number_text, digits=_digits(numbers))
        for row in numbers:
            text, *interval = map(text_of, row)
            text += f" [{', '.join(interval)}]" if interval and not np.isnan(row).any() else ""
            found.append(TableCell(text or "–", key="" if np.isnan(row[0]) else repr(float(row[0]))))
        return found
    if pd.api.types.is_bool_dtype(column):
        column = column.map({True: "yes", False: "no"})
    texts = column.map(str, na_action="ignore")
    return [TableCell("–") if missing else TableCell(text, key=text) for text, missing in zip(texts, column.isna())]


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


_COLUMNS = {
    **HEADS,
    **LABELS,
    "across": "over all lists",
    "as_low": "like the lowest",
    "accepted_accepted": "not significant with both",
    "accepted_rejected": "not significant with all, significant with the remaining judgments",
    "rejected_accepted": "significant with all, not with the remaining judgments",
    "rejected_rejected": "significant with both",
    "accuracy": "same result of the test (share of pairs)",
    "chosen_by": "value on the other folds",
    "compared": "labels compared",
    "compared_with": "compared with",
    "discordant_pairs": "pairs of runs in opposite order",
    "equal": "equal labels (share of documents)",
    "falls": "ranks it falls",
    "falls_again_at": "falls below again at",
    "false_negatives": "differences missed (pairs)",
    "false_positives": "differences only with few judgments (pairs)",
    "folds_high": "95 % quantile of folds",
    "folds_low": "5 % quantile of folds",
    "folds_median": "median of folds",
    "g_mean": "geometric mean of precision and recall",
    "g_mean_undefined": "undefined geometric means",
    "held_out": "value on the held-out fold",
    "highest_seed": "highest of all seeds",
    "human": "people",
    "human_only": "judged by people only",
    "in_sample": "value on all ratings",
    "kappa": "Cohen's κ",
    "kappa_linear": "κ with linear weights",
    "knee": "level from which it is above 0.9",
    "level": "level of judgments",
    "limit": "correlation for many repetitions",
    "machine_only": "judged by the machine only",
    "lowest_seed": "lowest of all seeds",
    "most": "most ranks that a run falls",
    "moves": "ranks it moves",
    "nearly_high": "nearly best up to",
    "nearly_low": "nearly best from",
    "needed": "required difference (largest)",
    "needed_median": "required difference (median)",
    "pairs": "pairs of runs",
    "phi": "φ",
    "rank_without": "rank without its group's judgments",
    "rbo": "rank-biased overlap",
    "repeated": "correlation over the repetitions",
    "relevant": "relevant by people (share)",
    "same": "pairs with equal scores",
    "score_without": "score without its group's judgments",
    "t": "t-test",
    "tau": "Kendall's τ",
    "tau_a": "Kendall's τ_a",
    "tau_ap": "τ_AP",
    "tau_b_best": "τ_b of the best runs",
    "text": "as written",
    "wilcoxon": "Wilcoxon's test",
    "with_gain": "ratings with a gain at this rank",
}

_ENDINGS = (
    ("_p_corrected", "p of {}, corrected"),
    ("_corrected", "{}, corrected"),
    ("_p_t", "p of {}, paired t-test over folds"),
    ("_p", "p of {}"),
    ("_low", "{}, lower end"),
    ("_high", "{}, upper end"),
    ("_difference", "difference of {}"),
    ("_change", "change of {}"),
)

_SETTINGS = {
    "alpha": "level of significance",
    "best": "number of best runs",
    "by": "parts by",
    "complete": "least share of documents of a run",
    "confidence": "level of intervals",
    "default_value": "value of the default",
    "deviance": "deviance by",
    "deviance_of_the_mean": "deviance of the share of correct answers",
    "folds_by": "folds of",
    "highest_grade": "highest grade",
    "input": "SHA-256 of the input",
    "labels": "labels of pairs",
    "lacking": "topics with too few judgments for bpref",
    "left_out": "left out",
    "lowest_p_randomisation": "lowest p of the randomisation test",
    "most_reached": "search stopped early",
    "nrmse": "prediction errors by",
    "nrmse_of_the_mean": "prediction error of the mean rating",
    "of_one_user": "ratings of one user only",
    "pool": "infAP's pool",
    "queries": "number of topics",
    "query_ids": "ids of topics",
    "run_names": "names of runs",
    "seed": "random seed",
    "seeds": "random draws of judgments",
    "tau": "variant of Kendall's τ",
    "threshold": "lowest relevant label",
    "unanswered": "topics without results",
    "version": "version of pyterrier_cwla",
    "weights_unused": "weights not used",
    "what": "what was rated",
    "without_result": "resamples without result",
    "without_results": "ratings of empty lists",
}


def column_words(name: str, as_they_are: Collection[str] = ()) -> str:
    """Return the words for a column of a table; names of measures are left as they are.

    Examples
    --------
    >>> column_words("tau_b_difference_p"), column_words("own_column")
    ("p of difference of Kendall's τ_b", 'own column')
    """
    if name in as_they_are or not name.isidentifier():
        return name
    if name in _COLUMNS:
        return _COLUMNS[name]
    if name.startswith("p_"):
        return f"p, {column_words(name.removeprefix('p_'))}"
    for ending, words in _ENDINGS:
        if name.endswith(ending) and name != ending:
            return words.format(column_words(name.removesuffix(ending)))
    return name.strip("_").replace("_", " ") or name


def setting_words(name: str) -> str:
    """Return the words for a setting of a study.

    Examples
    --------
    >>> setting_words("alpha"), setting_words("resamples")
    ('level of significance', 'resamples')
    """
    return _SETTINGS.get(name, name.replace("_", " ") if name.isidentifier() else name)


PAGE = "report.html"

ABOUT = "about.json"

MANIFEST = "manifest.json"

_NAME = re.compile(r"report\.html|about\.json|tables/[^/\\]+\.(csv|parquet)|pictures/[^/\\]+\.(svg|png)")

_WAY_OUT = "Move it away, or write the report to another folder."


def write_files(folder: Path, contents: Mapping[str, bytes], title: str, force: bool = False) -> None:
    """Write the files of a report; ``manifest.json`` lists them.

    All checks are done before the first file is written. While files are replaced, the manifest lists the old and the
    new files, so that ``force`` removes those of an interrupted report too; ``report.html`` is removed first and
    written last.

    Parameters
    ----------
    folder : Path
        Folder of the report. Created if it does not exist.
    contents : mapping of str to bytes
        Contents of each file, by its name relative to the folder.
    title : str
        Title of the study.
    force : bool, default=False
        Whether existing files of these names may be replaced; other files that the manifest lists are removed then.

    Raises
    ------
    BadParameter
        If a name is not that of a file of a report, if a file is in the way, or if the folder cannot be created.
    """
    for name in contents:
        if not _NAME.fullmatch(name):
            raise BadParameter(
                f"{name!r} is not a valid file name of a report: names of tables and pictures contain no slashes."
            )
    old = check_folder(folder, force, names=contents)
    try:
        for name in contents:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from error
    _save_manifest(folder, {*old, *contents}, title)
    for name in [PAGE, *(name for name in old if name not in contents)]:
        (folder / name).unlink(missing_ok=True)
    for name in sorted(contents, key=lambda name: name == PAGE):
        with written(folder / name) as place:
            place.write_bytes(contents[name])
    _save_manifest(folder, contents, title)


def check_folder(folder: Path, force: bool, inputs: Iterable[Path] = (), names: Collection[str] = ()) -> list[str]:
    """Check that a report may be written to a folder, and return the names of the files that its manifest lists.

    Parameters
    ----------
    folder : Path
        Folder of the report. Its files are the page, ``about.json``, the manifest, and those in two subfolders.
    force : bool
        Whether existing files may be replaced.
    inputs : iterable of Path, default=()
        Existing input files, which the report must neither replace nor remove.
    names : collection of str, default=()
        Files that the report will have, as far as they are known.

    Raises
    ------
    BadParameter
        If a file is in the way, or if the manifest lists a path that no report has.
    """
    places, inputs = [folder / name for name in (PAGE, ABOUT, MANIFEST)], [*inputs]
    for within in (folder / "tables", folder / "pictures"):
        places += within.iterdir() if within.is_dir() and not within.is_symlink() else [within]
    found = list(filter(os.path.lexists, places))
    for path in found:
        if path.is_symlink() or not path.is_file() or (path.parent == folder and not path.suffix):
            raise BadParameter(f"{path}: is in the way of the report. {_WAY_OUT}")
        if any(os.path.samefile(file, path) for file in inputs):
            raise BadParameter(f"{path}: is an input, and the report would replace it. Write it to another folder.")
    listed = _listed(folder / MANIFEST)
    if found and not force:
        own = [folder / name for name in (PAGE, ABOUT, MANIFEST, *listed, *names)]
        replaced = [path for path in found if path in own]
        way_out = "replace the files with force=True" if replaced else "move the file away: it is not of a report"
        raise BadParameter(
            f"{(replaced or found)[0]}: the file exists. Write the report to another folder, or {way_out}."
        )
    return listed


def cannot_write(folder: Path, error: OSError, option: str = "") -> BadParameter:
    """Return the error for a folder that cannot be written to."""
    return BadParameter(f"{option}{folder}: cannot be written to ({error.strerror}).")


def _listed(path: Path) -> list[str]:
    """Return the names of files in a manifest, or none if there is no manifest."""
    if not path.exists():
        return []
    try:
        listed = json.loads(path.read_text("utf-8"))["files"]
        other = next((name for name in listed if not _NAME.fullmatch(name)), None)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        listed = None
    if not isinstance(listed, list):
        raise BadParameter(f"{path}: is in the way: it is not the manifest of a report. {_WAY_OUT}")
    if other is not None:
        raise BadParameter(f"{path}: lists {other!r}, which is not a file of a report. {_WAY_OUT}")
    return listed


def _save_manifest(folder: Path, names: Iterable[str], title: str) -> None:
    text = json.dumps({"version": __version__, "study": title, "files": sorted(names)}, indent=1, ensure_ascii=False)
    with written(folder / MANIFEST) as place:
        place.write_text(text + "\n", encoding="utf-8")
