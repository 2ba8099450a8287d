"""Colours, line styles and labels of measures in figures of studies."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from ..errors.sanitise import in_picture
from .figures import COLOURS, GREY, apart

_LINES = ("-", "--", ":", "-.", (0, (8, 2)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (6, 2, 2, 2)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_SIZE = 8  # points, font size of labels
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

    Call this function after the limits of the axes are set. The figure needs the layout "constrained", or
    ``bbox_inches="tight"`` when it is saved. Long names leave little room for the curves.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes with the curves.
    curves : mapping of str to (array_like, array_like)
        x and y of each curve by name; the label is placed at the last finite y.
    looks : mapping of str to mapping
        Results of :func:`measure_look` by name, for the colours of the labels.
    """
    ax.get_ylim()  # autoscale, if matplotlib has not done it yet
    to_axes = ax.transData + ax.transAxes.inverted()
    ends = {}
    for name, (x, y) in curves.items():
        x, y = np.asarray(x, float), np.asarray(y, float)
        finite = np.flatnonzero(np.isfinite(y))
        if len(finite):
            ends[name] = to_axes.transform((x[finite[-1]], y[finite[-1]]))
    names = sorted(ends, key=lambda name: float(ends[name][1]))
    heights = np.array([ends[name][1] for name in names])
    places = _within(heights, 1.35 * _SIZE / 72 / (ax.get_position().height * ax.figure.get_figheight()))
    for name, height in zip(names, places, strict=True):
        ax.annotate(
            in_picture(name),
            tuple(ends[name]),
            xycoords="axes fraction",
            xytext=(1.03, float(height)),
            textcoords="axes fraction",
            va="center",
            fontsize=_SIZE,
            color=looks[name]["color"],
            annotation_clip=False,
            arrowprops=_LEADER | {"color": looks[name]["color"]},
        )


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
            cost = far + 20 * box.padded(3 * pixels).count_contains(dots)
            cost += 100 * (min(*(box.min - frame.min), *(frame.max - box.max)) < 0)
            cost += 100 * sum(box.overlaps(other) or other.count_contains(line) > 0 for other in taken)
            cost += 100 * (box.count_contains(lines) > 0)
            if best is None or cost < best[0]:
                best = cost, far, side, box, line, (middle - point) / pixels
        assert best is not None
        _, far, side, box, line, offset = best
        taken.append(box)
        lines = np.concatenate([lines, line])
        leader = _LEADER | {"color": colour, "relpos": tuple((1 - side) / 2)} if far > 4 else None
        ax.annotate(in_picture(name), place, tuple(offset), textcoords="offset points", fontsize=_SIZE, color=colour,
                    ha="center", va="center", arrowprops=leader)  # fmt: skip


def wrapped(name: str, most: int = 20) -> str:
    """Break a long name after commas, for text in a figure.

    Parameters
    ----------
    name : str
        Name to break; dollar signs are escaped for matplotlib.
    most : int, default=20
        Characters per line; parts without a comma may be longer.

    Returns
    -------
    str
        Lines such as ``CWLA(C='rbp(0.8)',`` and ``A='max',max_rel=2)``.
    """
    lines = [""]
    for part in re.findall(r"[^,]+,?|,", in_picture(name)):
        if lines[-1] and len(lines[-1] + part) > most:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


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


def _within(heights: Any, least: float) -> Any:
    """Increasing heights moved apart as little as possible, within the axes as far as there is room."""
    places = (apart(heights, least) - apart(-heights[::-1], least)[::-1]) / 2
    top = 1 - least / 2
    if len(places) and places[-1] > top:
        places = top - apart(top - np.minimum(places, top)[::-1], least)[::-1]
    return places
