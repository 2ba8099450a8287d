"""Values of a drawn figure for the report's script: artists by measure, and points with their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

_MOST_POINTS = 3000  # of a picture; more would make the page slow


class Series(NamedTuple):
    """Artists of a figure that show one measure."""

    name: str
    colour: str
    ids: list[str]


class Point(NamedTuple):
    """A point of a figure: number of its axes, place as shares of their width and height, and text."""

    axes: int
    x: float
    y: float
    text: str


class Values(NamedTuple):
    """Series and points of a figure."""

    series: list[Series]
    points: list[Point]


def values_of(figure: Any, data: pd.DataFrame) -> Values:
    """Return series and points of a figure, and name its artists so that the SVG has their ids.

    A line belongs to the measure whose label is at its end, or whose name its panel has (see
    :func:`pyterrier_cwla.rendering.figures.label_ends` and ``inset_panels``). Bands of the line's colour belong to the
    same measure.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        Figure after it was drawn; its axes, lines, bands and labels get a gid.
    data : DataFrame
        Numbers of the picture, to name points that have no series.

    Returns
    -------
    Values
    """
    series: dict[str, Series] = {}
    points: list[Point] = []
    names = _Names(data)
    for number, ax in enumerate(one for outer in figure.axes for one in (outer, *outer.child_axes)):
        ax.patch.set_gid(f"axes-{number}")
        across, up = _Scale.of(ax.xaxis), _Scale.of(ax.yaxis)
        for line in ax.lines:
            if line.get_transform() != ax.transData or not _is_shown(line):
                continue
            name = _name(ax, line)
            if name:
                _add(series, name, ax, line)
            points += _points(number, ax, line.get_xydata(), name, names, across, up)
        for dots in ax.collections:
            if type(dots).__name__ == "PathCollection":  # of ax.scatter
                points += _points(number, ax, dots.get_offsets(), "", names, across, up)
        points += [Point(number, *_place(ax, x, y), text) for x, y, text in _bars(ax)]
    return Values(list(series.values()), points if len(points) <= _MOST_POINTS else [])


def _is_shown(line: Any) -> bool:
    """Return whether a line shows values of its own: neither a line behind others nor a reference."""
    return line.get_visible() and line.get_alpha() != 0.5


def _name(ax: Any, line: Any) -> str:
    """Return the name of the measure that a line shows, or an empty text."""
    from matplotlib.colors import same_color

    xy = np.asarray(line.get_xydata(), float)
    for text in ax.texts:
        there = getattr(text, "xy", None)
        if there is None or not text.get_label() or not same_color(text.get_color(), line.get_color()):
            continue
        if (xy == np.asarray(there, float)).all(axis=1).any():
            return str(text.get_label())
    panel = ax.get_label()
    return str(panel) if panel and not str(panel).startswith("_") else ""


def _add(series: dict[str, Series], name: str, ax: Any, line: Any) -> None:
    """Add a line, bands of its colour and its label to a series."""
    from matplotlib.colors import same_color, to_hex

    found = series.setdefault(name, Series(name, to_hex(line.get_color()), []))
    number = list(series).index(name)
    bands = [band for band in ax.collections if len(band.get_facecolor()) and band.get_gid() is None]
    same = [band for band in bands if same_color(band.get_facecolor()[0][:3], line.get_color())]
    labels = [text for text in ax.texts if text.get_label() == name]
    for artist in (line, *same, *labels):
        artist.set_gid(f"series-{number}-{len(found.ids)}")
        found.ids.append(artist.get_gid())


class _Names:
    """Names of rows of the numbers of a picture, looked up by two numbers of a row."""

    def __init__(self, data: pd.DataFrame) -> None:
        numbers = data.select_dtypes("number").to_numpy(float)
        texts = data.select_dtypes(["object", "string"])
        self._numbers = numbers if texts.shape[1] else numbers[:0]
        self._texts = [", ".join(map(str, row)) for row in texts.to_numpy()]

    def of(self, x: float, y: float) -> str:
        """Return the name of the only row that has both numbers, or an empty text."""
        if not len(self._numbers):
            return ""
        has = np.isclose(self._numbers, x).any(axis=1) & np.isclose(self._numbers, y).any(axis=1)
        rows = np.flatnonzero(has)
        return self._texts[rows[0]] if len(rows) == 1 else ""


def _points(number: int, ax: Any, places: Any, name: str, names: _Names, across: _Scale, up: _Scale) -> Iterator[Point]:
    for x, y in np.asarray(places, float):
        if np.isfinite([x, y]).all():
            called = name or ("" if up.tick_at(y) else names.of(x, y))
            yield Point(number, *_place(ax, x, y), "\n".join(filter(None, [called, up.shown(y), across.shown(x)])))


def _bars(ax: Any) -> Iterator[tuple[float, float, str]]:
    """Yield middle and text of stacked bars; a bar is named by the label at its height."""
    for bars in ax.containers:
        patches = [patch for patch in bars if hasattr(patch, "get_height")]
        middles = [patch.get_y() + patch.get_height() / 2 for patch in patches]
        named = [text.get_label() for text in ax.texts if middles and np.isclose(text.xy[1], middles[-1])]
        for patch, middle in zip(patches, middles, strict=True):
            text = "\n".join([*map(str, named[:1]), f"{_label(ax.yaxis)} {patch.get_height():.3g}".strip()])
            yield patch.get_x() + patch.get_width() / 2, middle, text


def _place(ax: Any, x: float, y: float) -> tuple[float, float]:
    place = ax.transAxes.inverted().transform(ax.transData.transform((x, y)))
    return round(float(place[0]), 4), round(float(place[1]), 4)


def _label(axis: Any) -> str:
    """Return the label of an axis in one line; the axis of a panel has that of the whole picture."""
    text = axis.get_label_text()
    outer = None if text else next((one for one in axis.figure.axes if axis.axes in one.child_axes), None)
    if outer is not None:
        text = getattr(outer, f"{axis.axis_name}axis").get_label_text()
    return f"{' '.join(text.split())}:" if text.strip() else ""


class _Scale(NamedTuple):
    """Label of an axis, and places and labels of its ticks if these were set as texts."""

    label: str
    ticks: list[tuple[float, str]]

    @classmethod
    def of(cls, axis: Any) -> _Scale:
        formatter = axis.get_major_formatter()
        if type(formatter).__name__ not in ("FixedFormatter", "FuncFormatter"):
            return cls(_label(axis), [])
        places = axis.get_majorticklocs()
        texts = zip(places, map(str, formatter.format_ticks(places)), strict=True)  # integers may be set as texts
        return cls(_label(axis), [(float(place), text) for place, text in texts if text.strip()])

    @property
    def factor(self) -> float | None:
        """Factor from the places of ticks to their labels, such as 100 for percent; None if the labels are names."""
        numbers = [(place, _number(text)) for place, text in self.ticks if text != "all"]
        if any(number is None or (not place and number) for place, number in numbers):
            return None
        factors = {round(number / place, 6) for place, number in numbers if place and number is not None}
        return factors.pop() if len(factors) == 1 else None if factors else 1.0

    def tick_at(self, value: float) -> str:
        """Return the label of the row or column at a value, or an empty text if the ticks are a scale."""
        if not self.ticks or self.factor is not None:
            return ""
        place, text = min(self.ticks, key=lambda tick: abs(tick[0] - value))
        return " ".join(text.split()) if abs(place - value) <= 0.5 else ""

    def shown(self, value: float) -> str:
        """Return the label of the axis and the value in the unit of its ticks, which may be percent."""
        text = self.tick_at(value)
        if not text and any(text == "all" and np.isclose(place, value) for place, text in self.ticks):
            text = "all"
        text = text or f"{value * (self.factor or 1):.3g}".replace("-", "−")
        return f"{self.label} {text}".strip()


def _number(text: str) -> float | None:
    try:
        return float(text.replace("−", "-").replace(",", ""))
    except ValueError:
        return None
