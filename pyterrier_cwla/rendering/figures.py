"""Figures with a common style, readable in grey and on dark pages, their labels, and pictures in notebooks."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from html import escape
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from operator import itemgetter
from typing import Any
from zlib import crc32

import numpy as np

from ..errors import BadParameter
from ..errors.extras import needed
from ..errors.sanitise import in_picture

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
        _, ax = pyplot().subplots(figsize=inches, layout="constrained")
    figure = ax.figure
    if figure.axes == [ax] and figure.get_layout_engine() is None:
        figure.set_layout_engine("constrained")  # without it, labels of a small figure are cut
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def small_axes(ax: Any, x: str, y: str) -> None:
    """Label axes and ticks in the size of small pictures in notebooks, and hide the upper and right spine."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=8)
    ax.set_xlabel(x, fontsize=8)
    ax.set_ylabel(y, fontsize=8)


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
    figure, grid = pyplot().subplots(rows, columns, figsize=(width, rows * height), layout="constrained", squeeze=False)
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


def saved(drawn: Any, path: Any = None) -> Any:
    """Return a figure or axes, after the figure is saved to a file if there is a path."""
    if path is not None:
        drawn.figure.savefig(path, bbox_inches="tight")
    return drawn


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


def too_low(ax: Any, what: str, needed: float) -> BadParameter:
    """Return the error for axes in which something does not fit, with a height in inches that does."""
    width, height = (points / 72 for points in room_of(ax))
    return BadParameter(
        f"{what} do not fit into {height:.1f} inches: draw on the axes of a higher figure, such as"
        f" plt.subplots(figsize=({width:.1f}, {needed:.1f}), layout='constrained')[1]."
    )


def in_lines(text: str, most: int) -> str:
    """Break a text into lines after commas and spaces, otherwise after other punctuation, otherwise within words.

    A number stays with the word after it.

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
    word = r"(?:[^, ]|,(?=\d))*[, ]*"
    patterns = (rf"(?:\d[\d,.]* )?{word}", word, r"[^_.\-/(]*[_.\-/(]*", rf"(?:\\.|.){{1,{most}}}")
    for part in _parts(text, most, patterns):
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
    return _module("matplotlib").rcParams["text.color"]


def cell_colours() -> Any:
    """Return a colour map for cells, from light to dark blue on any page. Texts on them have :func:`colour_on`."""
    colours = _module("matplotlib.colors").LinearSegmentedColormap.from_list("cells", _CELLS)
    return colours.with_extremes(bad=(0, 0, 0, 0))


def difference_colours() -> Any:
    """Return a colour map for differences: orange below 0, transparent at 0, blue above, on any page."""
    ends = [COLOURS[1], "#ffffff00", COLOURS[0]]
    return _module("matplotlib.colors").LinearSegmentedColormap.from_list("differences", ends)


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


def heat_map(
    ax: Any, values: Any, texts: Any, ends: tuple[float, float], size: float = 8, bold: Any = False, gap: float = 1
) -> Any:
    """Draw cells in the colours of their values, the first row on top, with texts; return what a colour bar needs.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes. Rows and columns are at 0, 1, 2, …
    values : ndarray, shape (n_rows, n_columns)
        Values; a cell without a value has no colour, and its text is grey.
    texts : ndarray of str, shape (n_rows, n_columns)
        Texts of the cells; empty for no text.
    ends : tuple of float
        Values of the lightest and of the darkest colour.
    size : float, default=8
        Font size of the texts.
    bold : ndarray of bool, shape (n_rows, n_columns), or bool
        Whether texts are bold.
    gap : float, default=1
        Width of the lines between cells in points.
    """
    edges = [np.arange(number + 1) - 0.5 for number in values.shape]
    low, high = ends
    image = ax.pcolormesh(*edges[::-1], values, cmap=cell_colours(), vmin=low, vmax=high,
                          edgecolor=ax.get_facecolor(), linewidth=gap)  # fmt: skip
    heavy = np.broadcast_to(bold, values.shape)
    for row, column in np.argwhere(texts != ""):
        value, weight = values[row, column], "bold" if heavy[row, column] else "normal"
        colour = colour_on(image.to_rgba(value)) if np.isfinite(value) else GREY
        ax.text(
            column, row, texts[row, column], ha="center", va="center", fontsize=size, color=colour, fontweight=weight
        )
    ax.invert_yaxis()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return image


def label_box(ax: Any) -> dict[str, Any]:
    """Return the background box of labels that lie on lines, in the colour of the axes' background."""
    return {"facecolor": ax.get_facecolor(), "edgecolor": "none", "alpha": 0.8, "pad": 1}


@contextmanager
def page_colours() -> Iterator[None]:
    """Draw figures inside this context whose text and background :func:`inline_svg` sets to the page's colours."""
    with _module("matplotlib").rc_context(_ON_PAGES):
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


def pyplot() -> Any:
    """Return the module of matplotlib; errors name the extra that has it."""
    return _module("matplotlib.pyplot")


def _module(name: str) -> Any:
    with needed("figures need matplotlib", extra="plots"):
        return import_module(name)


_LINES = ("-", "--", ":", "-.", (0, (8, 2)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (6, 2, 2, 2)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_SIZE = 8.0  # points, font size of labels
_LEAST = 5.0  # points, smallest font size
_LETTER = 0.6  # mean width of a letter in font sizes
_LEADER = {"arrowstyle": "-", "linewidth": 0.5, "shrinkA": 1, "shrinkB": 0, "relpos": (0.0, 0.5)}


def measure_look(number: int) -> dict[str, Any]:
    """Return colour, line style and marker of a measure, as keyword arguments of ``ax.plot``.

    The first 8 measures differ in colour, and in line style and marker, so that they are distinct in grey. The first 64
    differ in the combination of colour and line style.

    Parameters
    ----------
    number : int
        Index of the measure, from 0.

    Returns
    -------
    dict
        With the keys "color", "linestyle" and "marker".

    Examples
    --------
    >>> measure_look(0)
    {'color': '#2b7ec9', 'linestyle': '-', 'marker': 'o'}
    """
    return {
        "color": COLOURS[(number + number // 8) % len(COLOURS)],
        "linestyle": _LINES[number % len(_LINES)],
        "marker": _MARKERS[number % len(_MARKERS)],
    }


def system_looks(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return colour, line style and marker of systems: the first eight have colours, all others are grey.

    Parameters
    ----------
    names : sequence of str
        Names of the systems, the most important first.

    Returns
    -------
    dict of str to dict
        Keyword arguments of ``ax.plot`` by name, as of :func:`measure_look`.

    Examples
    --------
    >>> looks = system_looks([f"run {i}" for i in range(10)])
    >>> looks["run 0"]["color"], looks["run 9"]
    ('#2b7ec9', {'color': '#777777', 'linestyle': '-', 'marker': ''})
    """
    others = {"color": GREY, "linestyle": "-", "marker": ""}
    return {name: measure_look(i) if i < len(COLOURS) else others for i, name in enumerate(names)}


def label_ends(ax: Any, curves: Mapping[str, tuple[Any, Any]], looks: Mapping[str, Mapping[str, Any]]) -> None:
    """Label curves at the right of the axes, at the heights of their last points, without overlaps.

    Labels are placed when the figure is drawn, so that limits and layout may change after this call. Names that would
    take more than two fifths of the width are broken into lines and written smaller. The figure needs the layout
    "constrained", or ``bbox_inches="tight"`` when it is saved.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes with the curves.
    curves : mapping of str to (array_like, array_like)
        x and y of each curve by name; the label is placed at the last finite y.
    looks : mapping of str to mapping
        Results of :func:`measure_look` by name, for the colours of the labels.
    """
    ends = {}
    for name, (x, y) in curves.items():
        x, y = np.asarray(x, float), np.asarray(y, float)
        finite = np.flatnonzero(np.isfinite(y))
        if len(finite):
            ends[name] = x[finite[-1]], y[finite[-1]]
    if not ends:
        return
    width, height = room_of(ax)
    texts, size = fitted(list(ends), 0.4 * width, 0.58 * height / len(ends))
    points = np.array(list(ends.values()), float)
    least = [1.25 * size * (1 + text.count("\n")) for text in texts]
    for number, (name, text) in enumerate(zip(ends, texts, strict=True)):
        ax.annotate(
            text,
            ends[name],
            label=name,  # the full name, for interactive reports
            xytext=(0, 0),
            textcoords=partial(_place, ax, points, least, number),
            va="center",
            fontsize=size,
            linespacing=1.1,
            color=looks[name]["color"],
            annotation_clip=False,
            arrowprops=_LEADER | {"color": looks[name]["color"]},
        )


def _place(ax: Any, points: Any, least: Sequence[float], number: int, renderer: Any) -> Any:
    """Return the transform to the place of a label at the right of the axes."""
    from matplotlib.transforms import Affine2D
    from scipy.optimize import isotonic_regression

    frame, pixels = ax.bbox, ax.figure.dpi / 72
    heights = np.clip(ax.transData.transform(points)[:, 1], frame.y0, frame.y1)
    order = np.lexsort((-np.arange(len(heights)), heights))  # of equal heights, the first is on top
    sizes = np.asarray(least)[order] * pixels
    middles = np.cumsum(sizes) - sizes / 2  # of labels without gaps
    high = frame.y1 - sizes.sum()  # where there is no room, labels go on below the axes, because the title is above
    low = min(frame.y0, high)
    # Labels without gaps keep their order and move as little as possible, within the axes as far as there is room.
    starts = np.clip(isotonic_regression(heights[order] - middles).x, low, high)
    places = np.empty(len(order))
    places[order] = starts + middles
    beside_ticks = 10 if high >= frame.y0 else 20
    return Affine2D().translate(frame.x1 + beside_ticks * pixels, places[number])


def label_points(ax: Any, labels: Mapping[str, tuple[float, float]], points: Any, colour: str) -> None:
    """Label points within the axes, without overlaps among labels and, if possible, with points.

    Call this function last, because it lays out the figure to measure the size of the labels.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes with the points.
    labels : mapping of str to (float, float)
        x and y of each labelled point by name.
    points : array_like, shape (n_points, 2)
        All points of the axes.
    colour : str
        Colour of labels and leader lines.
    """
    ax.figure.draw_without_rendering()
    dots = ax.transData.transform(np.asarray(points, float))
    named = ax.transData.transform(np.array(list(labels.values()), float).reshape(-1, 2))
    frame, pixels = ax.get_window_extent(), ax.figure.dpi / 72
    taken: list[Any] = []  # boxes of labels
    lines = np.empty((0, 2))
    for (name, place), point in zip(labels.items(), named, strict=True):
        word = ax.text(*place, in_picture(name), fontsize=_SIZE)
        extent = word.get_window_extent()
        word.remove()
        half = extent.size / 2
        tried = []
        for far, turn in product((4, 9, 16, 25, 36, 50), np.arange(16) * np.pi / 8):  # points, radians
            side = np.array([np.cos(turn), np.sin(turn)])
            middle = point + side * (half + far * pixels)
            box = extent.from_extents(*(middle - half), *(middle + half))
            line = np.linspace(point, middle - side * half, 20)
            covered = box.padded(3 * pixels)
            cost = far + 20 * covered.count_contains(dots) + 500 * covered.count_contains(named)
            cost += 5_000 * (frame.count_contains(box.corners()) < 4) + 10_000 * box.count_overlaps(taken)
            crossed = sum(other.count_contains(line) > 0 for other in taken) + (box.count_contains(lines) > 0)
            cost += 1_000 * crossed
            tried.append((cost, far, side, box, line, (middle - point) / pixels))
        _, far, side, box, line, offset = min(tried, key=itemgetter(0))
        taken.append(box)
        lines = np.concatenate([lines, line])
        leader = _LEADER | {"color": colour, "relpos": tuple((1 - side) / 2)} if far > 4 else None
        ax.annotate(in_picture(name), place, tuple(offset), textcoords="offset points", fontsize=_SIZE, color=colour,
                    ha="center", va="center", arrowprops=leader)  # fmt: skip


def name_rows(ax: Any, places: Any, names: Sequence[str]) -> None:
    """Write the names of rows at the left of the axes, in lines and in a size for which there is room.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes with the rows.
    places : array_like, shape (n_rows,)
        Positions of the rows on the y axis.
    names : sequence of str
        Names of the rows.
    """
    width, height = room_of(ax)
    around = 60 if width > 360 else 120  # points for title, key and axis, which have more lines in narrow figures
    each = (height - around) / max(len(names), 1)
    texts, size = fitted(names, 0.42 * width, each)
    if any(1.15 * size * (1 + text.count("\n")) > each for text in texts):  # no room for the whole names
        texts = [in_picture(elided(name, int(0.42 * width / size / _LETTER))) for name in names]
    if size > each:
        raise too_low(ax, f"{len(names)} rows", (around + len(names) * size) / 72)
    ax.set_yticks(places, texts, fontsize=size, linespacing=1.0)
    ax.fmt_ydata = partial(name_at, places, names)
    ax.tick_params(axis="y", length=0)


def name_columns(ax: Any, places: Any, names: Sequence[str]) -> None:
    """Write the names of columns below the axes, in lines or turned if there is no room for them beside each other.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes with the columns.
    places : array_like, shape (n_columns,)
        Positions of the columns on the x axis.
    names : sequence of str
        Names of the columns.
    """
    width, height = room_of(ax)
    pitch = 0.75 * width / max(len(names), 1)
    words = max((len(word) for name in names for word in re.findall(r"[^,\s]+", name)), default=0)
    texts, size = fitted(names, pitch, 0.2 * height)
    ax.fmt_xdata = partial(name_at, places, names)
    if _LETTER * size * words <= pitch and _width(*texts) * size <= pitch:
        ax.set_xticks(places, texts, fontsize=size)
    else:
        texts, size = fitted(names, 0.45 * height, min(0.7 * pitch, 12))
        ax.set_xticks(places, texts, fontsize=size, rotation=45, ha="right", rotation_mode="anchor")


def name_at(places: Any, names: Sequence[Any], place: float) -> str:
    """Return the name of the row or column next to a place, for ``ax.fmt_xdata`` and ``ax.fmt_ydata``."""
    return str(names[int(np.abs(np.asarray(places) - place).argmin())])


def inset_panels(ax: Any, names: Sequence[str], looks: Mapping[str, Mapping[str, Any]]) -> list[Any]:
    """Return small axes inside the axes, one for each name and titled with it, with common limits.

    The outer axes keep their title and axis labels. Only the left and lowest panels have tick labels.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes that are filled with panels.
    names : sequence of str
        Names of the panels.
    looks : mapping of str to mapping
        Results of :func:`measure_look` by name, for the colours of the names.

    Returns
    -------
    list of matplotlib.axes.Axes
    """
    room, tall = room_of(ax)
    columns = min(3 if room > 360 else 2, len(names))
    rows = -(-len(names) // columns)
    ax.spines[:].set_visible(False)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.patch.set_visible(False)
    ax.xaxis.labelpad, ax.yaxis.labelpad = 18, 28
    width, height = (1 - 0.06 * (columns - 1)) / columns, 1 / rows
    texts, size = fitted(names, 0.8 * room * width, 22)
    lines = max(1 + text.count("\n") for text in texts)
    gap = min((1.1 * lines * size + 8) * rows / (0.75 * tall), 0.5)
    found: list[Any] = []
    for number, (name, text) in enumerate(zip(names, texts, strict=True)):
        row, column = divmod(number, columns)
        place = (column * (width + 0.06), 1 - (row + 1) * height, width, height * (1 - gap))
        shared = {"sharex": found[0], "sharey": found[0]} if found else {}
        one = ax.inset_axes(place, label=name, **shared)
        one.spines[["top", "right"]].set_visible(False)
        one.tick_params(labelsize=8, labelleft=not column, labelbottom=number + columns >= len(names))
        one.set_title(text, fontsize=size, color=looks[name]["color"], loc="left", pad=2, linespacing=1.0)
        found.append(one)
    return found


def thin_ticks(ax: Any) -> None:
    """Hide labels of ticks of the x axis that would lie on others, when the figure is drawn.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes whose ticks and labels are set.
    """
    from matplotlib.ticker import FuncFormatter

    places = ax.get_xticks()
    texts = ax.xaxis.get_major_formatter().format_ticks(places)
    size = float(ax.xaxis.get_tick_params().get("labelsize", 10))
    ax.xaxis.set_major_formatter(FuncFormatter(partial(_unless_crowded, ax, places, texts, size)))


def _unless_crowded(ax: Any, places: Any, texts: Sequence[str], size: float, x: float, _: int | None = None) -> str:
    """Return the label of a tick, or nothing if another label has its room; 1, 10 and 100 come first."""
    at = ax.transData.transform([(place, 0) for place in places])[:, 0] * 72 / ax.figure.dpi
    kept: list[int] = []
    for number in sorted(range(len(places)), key=lambda one: texts[one].strip("0") not in ("1", "all")):
        widths = {other: size / 2 * (_width(texts[number]) + _width(texts[other])) + 4 for other in kept}
        if all(abs(at[number] - at[other]) >= width for other, width in widths.items()):
            kept.append(number)
    return next((texts[number] for number in kept if np.isclose(places[number], x)), "")


def key(ax: Any, looks: Mapping[str, Mapping[str, Any]]) -> None:
    """Explain marks and lines between the title and the axes. Call this function after the title is set.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes with a title at the left.
    looks : mapping of str to mapping
        Keyword arguments of ``ax.plot`` by name.
    """
    from matplotlib.lines import Line2D

    width, _ = room_of(ax)
    names, size = fitted(list(looks), 0.7 * width, 24)
    columns = int(np.clip(0.9 * width // (_width(*names) * size + 30), 1, len(names)))
    marks = [Line2D([], [], **look) for look in looks.values()]
    style = {"fontsize": size, "frameon": False, "handlelength": 1.6, "handletextpad": 0.5, "columnspacing": 1.2}
    ax.legend(marks, names, ncols=columns, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2, borderpad=0.2,
              bbox_transform=ax.transAxes + left_of_labels(ax), labelspacing=0.3, **style)  # fmt: skip
    deepest = max(1 + name.count("\n") for name in names)
    pad = 6 + -(-len(names) // columns) * size * (1.25 * deepest + 0.3)
    titled(ax, ax.get_title(loc="left"), pad)


def fitted(names: Sequence[str], width: float, height: float) -> tuple[list[str], float]:
    """Break names into lines and choose a font size, so that each text fits into a rectangle if possible.

    Parameters
    ----------
    names : sequence of str
        Names; special characters are escaped for matplotlib.
    width, height : float
        Size of the rectangle in points.

    Returns
    -------
    texts : list of str
        Names with line breaks.
    size : float
        Font size in points, from 8 to 5.
    """
    for size in np.arange(_SIZE, _LEAST - 0.1, -0.5):
        texts = [in_picture(name) for name in names]
        if _width(*texts) * size > width:
            texts = [wrapped(name, int(width / size / _LETTER)) for name in names]
        lines = max((1 + text.count("\n") for text in texts), default=1)
        if lines * 1.15 * size <= height and _width(*texts) * size <= width:
            break
    return texts, float(size)


def wrapped(name: str, most: int = 20) -> str:
    """Break a long name into lines, for text in a figure.

    Parameters
    ----------
    name : str
        Name to break; dollar signs are escaped for matplotlib.
    most : int, default=20
        Characters per line.

    Returns
    -------
    str
        Lines such as ``CWLA(C='rbp(0.8)',`` and ``A='max',max_rel=2)``.
    """
    return in_lines(in_picture(name), most)


def elided(name: str, most: int) -> str:
    """Shorten a long name in its middle.

    Parameters
    ----------
    name : str
        Name to shorten.
    most : int
        Maximum number of characters.

    Examples
    --------
    >>> elided("clueweb09-en0000-00-00001", 12)
    'cluewe…00001'
    """
    return name if len(name) <= most else f"{name[: most // 2]}…{name[len(name) - (most - 1) // 2 :]}"


def _width(*texts: str) -> float:
    """Return the approximate width of the widest text with a font size of one point."""
    return _LETTER * max((len(line) for text in texts for line in text.split("\n")), default=0)


_LONG = re.compile(r"(?<!scale\()\b\d+\.\d{6}\b")  # coordinates with more digits than a screen shows

_FORMULA = 13  # points


def notebook_picture(draw: Callable[[Any], Any], inches: tuple[float, float], label: str) -> str:
    """Return a picture for ``_repr_html_``, or an empty text without matplotlib.

    The picture has the notebook's colour of text and no background, so that it can be read in dark mode. It is never
    wider than its text is readable, and shrinks with the page.

    Parameters
    ----------
    draw : callable
        Draws on the axes that it is called with, such as the ``plot`` method of a result.
    inches : tuple of float
        Width and height.
    label : str
        What the picture shows, for readers who do not see it.

    Examples
    --------
    >>> notebook_picture(lambda ax: ax.plot([1, 2]), (3, 2), "a line")[:47]
    '<div style="max-width: 288px; --page: transpare'
    """
    if find_spec("matplotlib") is None:
        return ""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with page_colours(), rc_context({"svg.fonttype": "none"}):  # texts as texts take a third of the space
        figure = Figure(figsize=inches, layout="constrained")
        draw(figure.subplots())
        return _in_page(figure, label, inches[0])


def notebook_formula(latex: str) -> str:
    r"""Return a formula as a picture for ``_repr_html_``; without matplotlib, return its LaTeX.

    It needs no script of the page, so that it is the same in all notebooks, in editors, and on pages of a site.

    Parameters
    ----------
    latex : str
        The formula; ``\\\\`` separates lines, and ``&`` is ignored.

    Examples
    --------
    >>> notebook_formula(r"\frac{1}{2}")[-6:]
    '</div>'
    """
    if find_spec("matplotlib") is None:
        return f"<p><code>{escape(latex)}</code></p>"
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # matplotlib has \geq and \leq, and not their short names.
    lines = [re.sub(r"\\([gl])e(?![a-zA-Z])", r"\\\1eq", line.replace("&", "")) for line in latex.split(r"\\")]
    with page_colours(), rc_context({"mathtext.fontset": "stix"}):
        figure, top, widths = Figure(), 0.0, []
        for line in lines:
            box = figure.text(0, top, f"${line}$", fontsize=_FORMULA, va="top").get_window_extent()
            top = (box.y0 - figure.dpi / 11) / figure.bbox.height  # half a line further down
            widths.append(box.width / figure.dpi)
        return _in_page(figure, latex, max(widths) + 0.1)


def _in_page(figure: Any, label: str, width: float) -> str:
    """Return the figure in an element of at most `width` inches."""
    svg = _without_what_no_reader_sees(svg_of(figure))
    ids = f"cwla-{crc32(svg.encode()):08x}"  # equal pictures have equal ids, and notebooks do not change when run again
    return f'<div style="max-width: {96 * width:.0f}px; --page: transparent">{inlined(svg, label, ids)}</div>'


def _without_what_no_reader_sees(svg: str) -> str:
    """Shorten coordinates, and leave out comments, indents and ids that are not referred to."""
    svg = re.sub(r"\s*\n\s*", " ", re.sub(r"<!--.*?-->", "", svg, flags=re.S))
    used = set(re.findall(r'(?:href="|url\()#([^")]*)', svg))
    svg = in_tags(r' id="([^"]*)"', lambda found: found.group() if found.group(1) in used else "", svg)

    def shorter(attribute: re.Match[str]) -> str:
        return _LONG.sub(lambda found: f"{float(found.group()):.2f}", attribute.group())

    return in_tags(r' (?:d|x|y|width|height|transform)="[^"]*"', shorter, svg)
