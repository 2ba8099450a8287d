"""How measures look in every picture of a study, and how their names are written at the ends of lines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from ..errors.sanitise import in_picture
from .figures import GREY, SCORE, STAY, apart

_COLOURS = (STAY, SCORE, GREY, "#3a7d44", "#7b4f9d", "#a8770b", "#1d1d1d", "#2a8c8c")
_LINES = ("-", "--", ":", "-.", (0, (8, 2)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (6, 2, 2, 2)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_SIZE = 8  # points, of labels
_LEADER = {"arrowstyle": "-", "linewidth": 0.5, "shrinkA": 1, "shrinkB": 0, "relpos": (0.0, 0.5)}


def measure_look(number: int) -> dict[str, Any]:
    """Colour, line style and marker of the measure of this number: what ``ax.plot`` takes.

    The first 8 differ in colour, and in grey by line and by marker; the first 64 in colour and line together.

    >>> measure_look(0)
    {'color': '#1b6ca8', 'linestyle': '-', 'marker': 'o'}
    """
    return {
        "color": _COLOURS[(number + number // 8) % len(_COLOURS)],
        "linestyle": _LINES[number % len(_LINES)],
        "marker": _MARKERS[number % len(_MARKERS)],
    }


def label_ends(ax: Any, curves: Mapping[str, tuple[Any, Any]], looks: Mapping[str, Mapping[str, Any]]) -> None:
    """Writes names at the right of the axes, as high as their curves end, apart from each other, and never cut off.

    ``curves``: x and y by name, y of which the last number that is one counts · ``looks``: by name, of which the colour
    is taken. Call it after the limits of the axes are set. The figure's layout is "constrained", or it is saved with
    ``bbox_inches="tight"``. Long names leave little room for the curves: give measures short ones.
    """
    ax.get_ylim()  # scales the axes, if that is still to be done
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
    """Writes names beside their points, where they cover neither each other nor (if it can be) any of the ``points``
    [n × 2], within the axes.

    Call it last: it lays the figure out, to see how large the words are.
    """
    ax.figure.draw_without_rendering()
    dots = ax.transData.transform(np.asarray(points, float))
    frame, pixels = ax.get_window_extent(), ax.figure.dpi / 72
    taken: list[Any] = []  # boxes of words, and points along their leaders
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
    """A long name as text of a picture, on several lines, broken after commas: ``CWLA(C='rbp(0.8)',`` above
    ``A='max',max_rel=2)``."""
    lines = [""]
    for part in re.findall(r"[^,]+,?|,", in_picture(name)):
        if lines[-1] and len(lines[-1] + part) > most:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def _within(heights: Any, least: float) -> Any:
    """Rising heights, apart, about where they were, and within the axes as far as there is room."""
    places = (apart(heights, least) - apart(-heights[::-1], least)[::-1]) / 2
    top = 1 - least / 2
    if len(places) and places[-1] > top:
        places = top - apart(top - np.minimum(places, top)[::-1], least)[::-1]
    return places
