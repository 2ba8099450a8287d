"""Figures with a common style, readable in grey and on dark pages. They need matplotlib."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

import numpy as np

from ..errors.extras import needed

COLOURS = ("#2b7ec9", "#d05320", "#2a904b", "#8b5dce", "#a1790c", "#0d9298", "#d14186", "#96684f")
"""Eight colours with a contrast of at least 3.7 on white and on the dark grey of dark pages (#131416)."""
STAY, SCORE = COLOURS[:2]
GREY = "#777777"
"""Grey of texts and of lines beside coloured lines; contrast at least 4.1 on white and on dark pages."""
GAIN = "#8f8f8f"
"""Grey of bars; contrast at least 3.2."""

_TEXT, _PAGE = "#010204", "#fdfefc"  # stand for the colours of the page; no picture uses them otherwise
_OF_TEXT = ("text.color", "axes.labelcolor", "axes.titlecolor", "axes.edgecolor", "xtick.color", "ytick.color")
_OF_PAGE = ("axes.facecolor", "figure.facecolor", "savefig.facecolor")
_ON_PAGES: Any = {
    "svg.hashsalt": "pyterrier_cwla",  # equal pictures give equal files
    "svg.fonttype": "path",  # labels have the size that was measured, in any browser
    **dict.fromkeys(_OF_TEXT, _TEXT),
    **dict.fromkeys(_OF_PAGE, _PAGE),
}


def axes_of(ax: Any, inches: tuple[float, float] = (7, 3.2)) -> Any:
    """Return the axes, or those of a new figure of some width and height, without the upper and right spine."""
    if ax is None:
        _, ax = _pyplot().subplots(figsize=inches, layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def panels(number: int, columns: int, width: float, height: float) -> tuple[Any, list[Any]]:
    """Return a figure and the axes of its panels, row by row.

    Parameters
    ----------
    number, columns : int
        Number of panels, and of panels in a row.
    width, height : float
        Width of the figure, and height of a row of panels, in inches.
    """
    rows = -(-number // columns)
    figure, grid = _pyplot().subplots(
        rows, columns, figsize=(width, rows * height), layout="constrained", squeeze=False
    )
    for unused in grid.flat[number:]:
        unused.remove()
    return figure, [axes_of(ax) for ax in grid.flat[:number]]


def titled(ax: Any, title: str) -> Any:
    """Set a title in the common style and return the axes."""
    ax.set_title(title, fontsize=10, loc="left")
    return ax


def label_box(ax: Any) -> dict[str, Any]:
    """Return the background box of labels that lie on lines, in the colour of the axes' background."""
    return {"facecolor": ax.get_facecolor(), "edgecolor": "none", "alpha": 0.8, "pad": 1}


def apart(heights: Any, least: float) -> Any:
    """Shift increasing heights of labels upwards, so that neighbours are at least ``least`` apart."""
    steps = least * np.arange(len(heights))
    return np.maximum.accumulate(np.asarray(heights, float) - steps) + steps


@contextmanager
def page_colours() -> Iterator[None]:
    """Draw figures inside this context whose text and background :func:`inline_svg` sets to the page's colours."""
    with needed("figures need matplotlib", extra="plots"):
        from matplotlib import rc_context
    with rc_context(_ON_PAGES):
        yield


def inline_svg(figure: Any, label: str, prefix: str) -> str:
    """Return a figure as an ``<svg>`` element for an HTML page.

    Text and spines have the page's colour of text (``currentColor``), backgrounds the page's background: the CSS
    variable ``--page``, or white if the page does not set it. Draw and convert the figure within
    :func:`page_colours`.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        Figure to convert. It is cropped to what is drawn.
    label : str
        What the picture shows, for readers who do not see it; the element's accessible name.
    prefix : str
        Start of all ids in the element, different for each picture of a page. The group of an artist with the gid
        ``x`` has the id ``prefix-x``.

    Returns
    -------
    str
        The element, of class ``cwla-picture``, without width and height: it fills the width that CSS gives it.
    """
    out = io.StringIO()
    figure.savefig(out, format="svg", bbox_inches="tight", metadata={"Date": None})
    svg = out.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg ") :], flags=re.S)
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}-", svg)
    svg = svg.replace(_TEXT, "currentColor").replace(_PAGE, "var(--page, white)")
    start, rest = svg.split(">", 1)
    start = re.sub(r'\s(?:width|height)="[^"]*"', "", start.removeprefix("<svg"))
    return f'<svg class="cwla-picture" role="img" aria-label="{escape(label)}"{start}>{rest}'


def _pyplot() -> Any:
    with needed("figures need matplotlib", extra="plots"):
        from matplotlib import pyplot
    return pyplot
