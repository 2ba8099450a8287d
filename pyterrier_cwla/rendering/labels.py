"""Colours, line styles and labels in figures: at line ends, at points, and at rows and columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from ..errors.sanitise import in_picture
from .figures import COLOURS, GREY, in_lines, left_of_labels, room_of, titled

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

    frame, pixels = ax.bbox, ax.figure.dpi / 72
    heights = np.clip(ax.transData.transform(points)[:, 1], frame.y0, frame.y1)
    order = np.lexsort((-np.arange(len(heights)), heights))  # of equal heights, the first is on top
    sizes = np.asarray(least)[order] * pixels
    middles = np.cumsum(sizes) - sizes / 2  # of labels without gaps
    high = frame.y1 - sizes.sum()  # where there is no room, labels go on below the axes, because the title is above
    low = min(frame.y0, high)
    # Labels without gaps keep their order and move as little as possible, within the axes as far as there is room.
    starts = np.clip(_rising(heights[order] - middles), low, high)
    places = np.empty(len(order))
    places[order] = starts + middles
    beside_ticks = 10 if high >= frame.y0 else 20
    return Affine2D().translate(frame.x1 + beside_ticks * pixels, places[number])


def _rising(values: Any) -> Any:
    """Return the non-decreasing values with the least squared distance to the given ones (pooled neighbours)."""
    pools: list[tuple[float, int]] = []
    for value in values:
        mean, count = float(value), 1
        while pools and pools[-1][0] >= mean:
            other, others = pools.pop()
            mean, count = (mean * count + other * others) / (count + others), count + others
        pools.append((mean, count))
    return np.repeat([mean for mean, _ in pools], [count for _, count in pools])


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
    for name, place in labels.items():
        point = ax.transData.transform(place)
        word = ax.text(*place, in_picture(name), fontsize=_SIZE)
        extent = word.get_window_extent()
        word.remove()
        half = np.array([extent.width, extent.height]) / 2
        best = None
        for far, turn in product((4, 9, 16, 25, 36, 50), np.arange(16) * np.pi / 8):  # points, radians
            side = np.array([np.cos(turn), np.sin(turn)])
            middle = point + side * (half + far * pixels)
            box = extent.from_extents(*(middle - half), *(middle + half))
            line = np.linspace(point, middle - side * half, 20)
            covered = box.padded(3 * pixels)
            cost = far + 20 * covered.count_contains(dots) + 500 * covered.count_contains(named)
            cost += 5_000 * (min(*(box.min - frame.min), *(frame.max - box.max)) < 0)
            cost += 10_000 * sum(map(box.overlaps, taken)) + 1_000 * sum(
                other.count_contains(line) > 0 for other in taken
            )
            cost += 1_000 * (box.count_contains(lines) > 0)
            if best is None or cost < best[0]:
                best = cost, far, side, box, line, (middle - point) / pixels
        assert best is not None
        _, far, side, box, line, offset = best
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
    texts, size = fitted(names, 0.42 * width, (height - around) / max(len(names), 1))
    ax.set_yticks(places, texts, fontsize=size, linespacing=1.0)
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
    if _LETTER * size * words <= pitch and max(map(_width, texts), default=0) * size <= pitch:
        ax.set_xticks(places, texts, fontsize=size)
    else:
        texts, size = fitted(names, 0.45 * height, min(0.7 * pitch, 12))
        ax.set_xticks(places, texts, fontsize=size, rotation=45, ha="right", rotation_mode="anchor")


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
    columns = int(np.clip(0.9 * width // (max(map(_width, names)) * size + 30), 1, len(names)))
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
        if max(map(_width, texts), default=0) * size > width:
            texts = [wrapped(name, int(width / size / _LETTER)) for name in names]
        lines = max((1 + text.count("\n") for text in texts), default=1)
        if lines * 1.15 * size <= height and max(map(_width, texts), default=0) * size <= width:
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


def _width(text: str) -> float:
    """Return the approximate width of a text with a font size of one point."""
    return _LETTER * max(map(len, text.split("\n")))
