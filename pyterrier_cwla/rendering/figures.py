"""Figures with a common style, readable in grey and on dark pages. They need matplotlib."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
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

_CELLS = ("#dcebf8", "#9cc3e6", "#2b7ec9", "#123f6b")
_ON_LIGHT, _ON_DARK = "#16181c", "#f6f8fa"
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
    figure = ax.figure
    if figure.axes == [ax] and figure.get_layout_engine() is None:
        figure.set_layout_engine("constrained")  # without it, labels of a small figure are cut
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


def titled(ax: Any, title: str, pad: float = 9) -> Any:
    """Set a title in the common style, break long labels of the axes, and return the axes.

    Call this function after ticks and labels of the axes are set. The title begins above the labels of the ticks.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes.
    title : str
        Title.
    pad : float, default=9
        Distance between axes and title in points.

    Returns
    -------
    matplotlib.axes.Axes
    """
    width, height = room_of(ax)
    text = ax.set_title(in_lines(title, int((width - 55) / 5.7)), fontsize=10, loc="left", pad=pad)
    text.set_transform(text.get_transform() + left_of_labels(ax))
    beside = min(0.75 * width, width - 1.2 * _label_width(ax))
    for axis, length in ((ax.xaxis, beside), (ax.yaxis, 0.68 * (height - pad))):
        axis.label.set_text(in_lines(axis.label.get_text(), int(length / 5.5)))
    return ax


def left_of_labels(ax: Any) -> Any:
    """Return the transform that moves texts from the left end of the axes to that of the labels of their ticks."""
    from matplotlib.transforms import ScaledTranslation

    # Not their whole width, so that the labels and not the title decide on the layout.
    return ScaledTranslation(-0.85 * _label_width(ax) / 72, 0, ax.figure.dpi_scale_trans)


def _label_width(ax: Any) -> float:
    """Return the approximate width in points of the labels of the y axis' ticks."""
    labels = [label for label in ax.get_yticklabels() if label.get_visible()]
    lines = [(0.6 * label.get_fontsize(), line) for label in labels for line in label.get_text().split("\n")]
    return max((letter * len(line) for letter, line in lines), default=0.0)


def room_of(ax: Any) -> tuple[float, float]:
    """Return width and height in points of the part of the figure that the axes and their labels have.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes of a figure or of a grid of subplots.

    Returns
    -------
    tuple of float
        Width and height.
    """
    place = ax.get_subplotspec()
    figure = ax.figure
    own = (place.get_position(figure) if place is not None else ax.get_position()).size
    pars = figure.subplotpars
    share = np.minimum(own / [pars.right - pars.left, pars.top - pars.bottom], 1)
    width, height = share * figure.bbox.size * 72 / figure.dpi
    return float(width), float(height)


def in_lines(text: str, most: int) -> str:
    """Break a text into lines after commas and spaces, otherwise after other punctuation, otherwise within words.

    Parameters
    ----------
    text : str
        Text; one with line breaks is left as it is.
    most : int
        Characters per line.

    Returns
    -------
    str
        Lines.
    """
    most = max(most, 4)
    if "\n" in text:
        return text
    lines = [""]
    for part in _parts(text, most, (r"[^, ]*[, ]*", r"[^_.\-/(]*[_.\-/(]*", rf"(?:\\.|.){{1,{most}}}")):
        if lines[-1] and len((lines[-1] + part).rstrip()) > most:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)


def _parts(text: str, most: int, patterns: Sequence[str]) -> Iterator[str]:
    """Yield parts of at most so many characters, by the first pattern that gives such parts."""
    for part in filter(None, re.findall(patterns[0], text, flags=re.S)):
        if len(part.rstrip()) <= most or len(patterns) == 1:
            yield part
        else:
            yield from _parts(part, most, patterns[1:])


def text_colour() -> Any:
    """Return the colour of texts and of neutral marks, which differs between light and dark pages."""
    with needed("figures need matplotlib", extra="plots"):
        from matplotlib import rcParams
    return rcParams["text.color"]


def cell_colours() -> Any:
    """Return a colour map for cells, from light to dark blue on any page. Texts on them have :func:`colour_on`."""
    with needed("figures need matplotlib", extra="plots"):
        from matplotlib.colors import LinearSegmentedColormap
    return LinearSegmentedColormap.from_list("cells", _CELLS).with_extremes(bad=(0, 0, 0, 0))


def difference_colours() -> Any:
    """Return a colour map for differences: orange below 0, transparent at 0, blue above, on any page."""
    with needed("figures need matplotlib", extra="plots"):
        from matplotlib.colors import LinearSegmentedColormap
    return LinearSegmentedColormap.from_list("differences", [COLOURS[1], "#ffffff00", COLOURS[0]])


def colour_on(cell: Any) -> str:
    """Return the colour of a text on a cell of this colour, dark or light.

    Parameters
    ----------
    cell : array_like, shape (3,) or (4,)
        Red, green and blue from 0 to 1.

    Returns
    -------
    str
        The colour with the higher contrast.
    """
    return _ON_LIGHT if np.dot(cell[:3], (0.2126, 0.7152, 0.0722)) > 0.5 else _ON_DARK


def label_box(ax: Any) -> dict[str, Any]:
    """Return the background box of labels that lie on lines, in the colour of the axes' background."""
    return {"facecolor": ax.get_facecolor(), "edgecolor": "none", "alpha": 0.8, "pad": 1}


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
    return inlined(svg_of(figure), label, prefix)


def svg_of(figure: Any) -> str:
    """Return a figure as an SVG file, cropped to what is drawn, and equal for equal figures."""
    out = io.StringIO()
    figure.savefig(out, format="svg", bbox_inches="tight", metadata={"Date": None})
    return out.getvalue()


def on_white(svg: str) -> str:
    """Return the SVG of a figure drawn within :func:`page_colours` with black texts on white, for a file."""
    return svg.replace(_TEXT, "#000000").replace(_PAGE, "#ffffff")


def inlined(svg: str, label: str, prefix: str) -> str:
    """Return the SVG of :func:`svg_of` as an element for a page; see :func:`inline_svg`."""
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg ") :], flags=re.S)
    svg = in_tags(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}-", svg)
    svg = svg.replace(_TEXT, "currentColor").replace(_PAGE, "var(--page, white)")
    start, rest = svg.split(">", 1)
    start = re.sub(r'\s(?:width|height)="[^"]*"', "", start.removeprefix("<svg"))
    return f'<svg class="cwla-picture" role="img" aria-label="{escape(label)}"{start}>{rest}'


def in_tags(pattern: str, new: str | Callable[[re.Match[str]], str], svg: str) -> str:
    """Replace matches of a pattern in the tags of an SVG; texts, which may be names of users, are left as they are.

    Parameters
    ----------
    pattern : str
        Regular expression.
    new : str or callable
        Replacement, as for ``re.sub``.
    svg : str
        SVG whose attributes and texts have escaped ``>``.

    Examples
    --------
    >>> in_tags('id="', 'id="a-', '<text id="b">id="c"</text>')
    '<text id="a-b">id="c"</text>'
    """
    return re.sub("<[^>]*>", lambda tag: re.sub(pattern, new, tag.group()), svg)


def _pyplot() -> Any:
    with needed("figures need matplotlib", extra="plots"):
        from matplotlib import pyplot
    return pyplot
