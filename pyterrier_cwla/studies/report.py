"""Write the report of a study: tables, pictures, and one self-contained HTML page."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from ..errors import CWLAError
from ..errors.extras import needed
from ..errors.sanitise import harmless
from ..errors.user_warnings import warn
from ..measures.parsing import measures_of
from ..rendering.figures import inlined, on_white, page_colours, svg_of
from .coefficient_names import LABELS
from .column_words import setting_words
from .manifest import ABOUT, PAGE, write_files
from .picture_values import Values, values_of
from .report_tables import RenderedTable, flat, rendered_table

_MOST, _EACH, _LEAST = 5, 2, 3  # findings at the top of the page: in all, of one picture, and at least


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


class Said(NamedTuple):
    """Sentences of a study."""

    headline: str
    findings: Sequence[str]
    limits: Sequence[str]


def write_report(
    folder: Path,
    title: str,
    about: Mapping[str, Any],
    tables: Mapping[str, Table],
    pictures: Mapping[str, Picture],
    said: Said,
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
    said : Said
        Sentences of the study.

    Returns
    -------
    Path
        The HTML page.
    """
    check_packages()
    template = _template()
    contents: dict[str, bytes] = {}
    named = names_given(about)
    shown = {name: _rendered_table(name, table, named, contents) for name, table in tables.items()}
    drawn = {name: _rendered_picture(name, picture, contents) for name, picture in pictures.items()}
    contents[ABOUT] = f"{json.dumps(about, indent=1, default=str, ensure_ascii=False)}\n".encode()
    opening, others = _by_picture(said.findings, drawn)
    script = files(__package__).joinpath("report.js").read_text("utf-8")
    page = template.render(
        title=title,
        headline=str(said.headline),
        opening=opening,
        others=others,
        limits=list(map(str, said.limits)),
        about={setting_words(name): _about_text(_with_shown_names(name, value)) for name, value in about.items()},
        tables={_id(name): (name, table) for name, table in shown.items()},
        pictures={name: (_id(name), picture) for name, picture in drawn.items()},
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        style=files(__package__).joinpath("report.css").read_text("utf-8"),
    )
    contents[PAGE] = page.encode()
    replaced = write_files(folder, contents, title)
    if replaced is not None:
        warn(f"replaced {replaced}, in {folder}. To keep both, write each study to a separate folder.")
    return folder / PAGE


def names_given(about: Mapping[str, Any]) -> set[str]:
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


def _rendered_table(name: str, table: Table, named: Collection[str], contents: dict[str, bytes]) -> RenderedTable:
    """Return the table for the page, and add its files to ``contents``."""
    frame = flat(table.frame)
    contents[f"tables/{name}.parquet"] = frame.to_parquet(index=False)
    contents[f"tables/{name}.csv"] = frame.to_csv(index=False).encode()
    return rendered_table(table.title, table.caption, frame, named)


class _RenderedPicture(NamedTuple):
    """A picture as shown in the page."""

    title: str
    caption: str
    svg: str
    """The <svg> element, escaped and sanitised."""
    values: Values

    @property
    def json(self) -> str:
        """Series and points for the script."""
        series = [{"name": harmless(one.name), "ids": one.ids} for one in self.values.series]
        points = [
            [one.axes, one.x, one.y, "\n".join(map(harmless, one.text.split("\n")))] for one in self.values.points
        ]
        return json.dumps({"series": series, "points": points}, ensure_ascii=False, separators=(",", ":"))


def _rendered_picture(name: str, picture: Picture, contents: dict[str, bytes]) -> _RenderedPicture:
    """Return the picture for the page, and add its files to ``contents``."""
    from matplotlib.figure import Figure

    with page_colours():
        figure = Figure(figsize=picture.size, layout="constrained")
        picture.draw(figure.subplots())
        png = io.BytesIO()
        figure.savefig(png, format="png", dpi=200, bbox_inches="tight")
        figure.set_layout_engine("none")  # the layout is done
        values = values_of(figure, picture.data)
        svg = svg_of(figure)
    contents |= {f"pictures/{name}.svg": on_white(svg).encode(), f"pictures/{name}.png": png.getvalue()}
    label = harmless(f"{picture.title}: {picture.caption}")
    return _RenderedPicture(picture.title, picture.caption, inlined(svg, label, f"picture-{_id(name)}"), values)


def _id(name: str) -> str:
    """Return a part of an id in the page: the name of a file may have any letters but slashes."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def _with_shown_names(name: str, value: Any) -> Any:
    """Return a value of ``about``, with names of measures instead of texts with hashes, and words for coefficients."""
    if name in ("coefficient", "objective"):
        return LABELS.get(value, value)
    if name == "measures" and isinstance(value, Mapping):
        return {label: _with_shown_names("measure", text) for label, text in value.items()}
    if name == "measure" and isinstance(value, str):
        with suppress(CWLAError):
            return str(measures_of([value])[0])
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
