"""Panels of the plots of explanations: gains, users and time by rank. They need matplotlib."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ..errors.sanitise import in_picture
from ..rendering.figures import COLOURS, GAIN, GREY, STAY, axes_of, in_lines
from ..rendering.labels import elided

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHADES = 5  # maximum number of grades with shades of their own
_MINUTES = 300  # seconds, from which on an axis of time has minutes
_SMALL, _NORMAL = 7, 8  # points, font sizes of labels in panels, and of axes and legends
_CHARACTER, _LINE = 0.55, 1.75  # width of a character and height of a line of a legend, in font sizes


class Key(NamedTuple):
    """Key of a legend: what it shows (a tuple: several patches side by side), and its text."""

    handle: Any
    label: str


def bar_key(colour: str, label: str) -> Key:
    """Return the key of bars of one colour."""
    from matplotlib.patches import Patch

    return Key(Patch(color=colour), label)


def panels_of(ax: Axes | None, heights: Sequence[float], inches: float) -> list[Axes]:
    """Divide the place of axes, or a new figure of 7 inches, into panels with a common axis of ranks.

    Parameters
    ----------
    ax : matplotlib.axes.Axes or None
        Axes that become the upper panel.
    heights : sequence of float
        Relative heights of the panels.
    inches : float
        Height of a new figure.
    """
    ax = axes_of(ax, (7, inches))
    figure: Any = ax.figure
    gaps = {} if figure.get_layout_engine() is not None else {"hspace": 0.5}
    spec = ax.get_subplotspec()
    if spec is None:
        box = ax.get_position()
        place = {"left": box.x0, "right": box.x1, "bottom": box.y0, "top": box.y1}
        grid: Any = figure.add_gridspec(len(heights), 1, height_ratios=heights, **place, **gaps)
    else:
        grid = spec.subgridspec(len(heights), 1, height_ratios=heights, **gaps)
    ax.set_subplotspec(grid[0])
    panels = [ax, *(axes_of(figure.add_subplot(grid[row], sharex=ax)) for row in range(1, len(heights)))]
    for panel in panels:
        panel.tick_params(labelsize=_NORMAL, labelbottom=panel is panels[-1])
    return panels


def draw_gains(ax: Axes, table: pd.DataFrame, values: Any, scale: float, colour: str, levels: Any) -> list[Key]:
    """Draw gains as wide grey bars, darker for higher grades, and values of ranks as narrow bars in front.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Panel to draw on.
    table : DataFrame
        Ranks to draw; see :class:`Explanation`.
    values : array_like
        Value of each rank, such as its share of the score.
    scale : float
        Height of a value of 1, in the unit of the gain.
    colour : str
        Colour of the values.
    levels : array_like
        Grades that have gains, for the shades; see :func:`graded`.

    Returns
    -------
    list of Key
        Keys of the legend.
    """
    from matplotlib.patches import Patch

    rank, grade, gain = (table[column].to_numpy() for column in ("rank", "grade", "gain"))
    keys, shades = [], []
    for number, level in enumerate(levels):
        shade = (number + 1) / (len(levels) + 1)
        look: Any = {"facecolor": (GAIN, shade), "edgecolor": GREY, "linewidth": 0.8}
        chosen = (gain > 0) & ((grade == level) | np.isnan(level))
        ax.bar(rank[chosen], gain[chosen], width=0.8, **look)
        shades.append(Patch(**look))
    if shades:
        keys.append(Key(tuple(shades), _grades(levels)))
    retrieved = table["docno"].to_numpy() != "" if "docno" in table else True
    unjudged = rank[np.isnan(grade) & retrieved]
    if len(unjudged):
        (marks,) = ax.plot(unjudged, np.zeros(len(unjudged)), linestyle="none", marker="x", markersize=3.5,
                           color=GREY, clip_on=False)  # fmt: skip
        keys.append(Key(marks, "not judged"))
    ax.bar(rank, np.asarray(values) * scale, width=0.4, color=colour)
    return keys


def graded(tables: Iterable[pd.DataFrame]) -> Any:
    """Return the grades that have gains, in increasing order; NaN alone if these are more than five."""
    ranks = pd.concat(list(tables))
    found = np.unique(ranks["grade"].to_numpy()[ranks["gain"].to_numpy() > 0])
    return found if len(found) <= _SHADES else np.array([np.nan])


def _grades(levels: Any) -> str:
    if np.isnan(levels).any():
        return "gain"
    return f"grade{'s' * (len(levels) > 1)} {', '.join(f'{level:g}' for level in levels)}"


def draw_users(ax: Axes, table: pd.DataFrame) -> None:
    """Draw the shares of users who see each rank (V), as steps, and who stop there (L), as bars."""
    rank = table["rank"].to_numpy()
    stops = COLOURS[2]
    ax.bar(rank, np.nan_to_num(table["L"]), width=0.4, color=stops)
    seen = draw_steps(ax, {"see the rank (V)": table["V"].to_numpy()}, {"see the rank (V)": {"color": STAY}})
    ax.set_ylabel("share of users who", fontsize=_NORMAL)
    set_heights(ax, 1.0, [*seen, bar_key(stops, "stop there (L)")], percent=True)


def draw_steps(ax: Axes, curves: Mapping[str, Any], looks: Mapping[str, Mapping[str, Any]]) -> list[Key]:
    """Draw values of ranks as steps, each one rank wide; return the keys of the legend."""
    from matplotlib.lines import Line2D

    for name, values in curves.items():
        look = {"color": looks[name]["color"], "linestyle": looks[name].get("linestyle", "-")}
        ax.stairs(values, np.arange(len(values) + 1) + 0.5, baseline=None, linewidth=1.8, **look)
    return [
        Key(
            Line2D([], [], color=looks[name]["color"], linestyle=looks[name].get("linestyle", "-"), linewidth=1.8), name
        )
        for name in curves
    ]


def set_heights(ax: Axes, highest: float, keys: Sequence[Key], lines: int = 0, percent: bool = False) -> float:
    """Set the limits of the y axis from 0 to `highest`, with room above for a legend and lines of text.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Panel.
    highest : float
        Highest value.
    keys : sequence of Key
        Keys of the legend, which has as many columns as fit.
    lines : int, default=0
        Number of lines of text below the legend.
    percent : bool, default=False
        Whether values are shares.

    Returns
    -------
    float
        Share of the height of the panel that is below the legend.
    """
    from matplotlib.legend_handler import HandlerTuple
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    width, height = _size(ax)
    labels = [in_picture(elided(key.label, int(width / (_CHARACTER * _NORMAL)) - 6)) for key in keys]
    longest = max(map(len, labels), default=0)
    columns = max(1, min(len(keys), int(width / ((_CHARACTER * longest + 3.5) * _NORMAL))))
    rows = -(-len(keys) // columns)
    above = _LINE * _NORMAL * (rows + lines) + 2
    ax.set_ylim(0, highest * (1 + min(above / max(height - above, 1), 3)))
    intervals = min(4, max(1, int((height - above) / (2.4 * _NORMAL))))
    ticks = MaxNLocator(intervals, steps=[1, 2, 2.5, 5, 10]).tick_values(0, highest)
    ax.set_yticks([tick for tick in ticks if 0 <= tick <= 1.001 * highest])
    if percent:
        ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    if keys:
        ax.legend([key.handle for key in keys], labels, loc="upper left", ncols=columns, fontsize=_NORMAL,
                  frameon=False, borderaxespad=0, borderpad=0.1, handlelength=1.5, columnspacing=1.5,
                  handler_map={tuple: HandlerTuple(ndivide=None, pad=0)})  # fmt: skip
    return max(1 - (_LINE * _NORMAL * rows + 2) / height, 0.0)


def write_above(ax: Axes, texts: Mapping[int, str], highest: float, colour: str) -> None:
    """Write texts of ranks, the most important first, in a line above the highest bar, as far as there is room."""
    per_rank = _points_per_rank(ax)
    widths = {rank: (_CHARACTER * len(text) + 0.3) * _SMALL / per_rank for rank, text in texts.items()}
    places = {rank: max(rank, ax.get_xlim()[0] + widths[rank] / 2) for rank in texts}  # right of the axis
    for rank in _apart(places, widths):
        ax.annotate(texts[rank], (places[rank], highest), xytext=(0, 2), textcoords="offset points", ha="center",
                    va="bottom", fontsize=_SMALL, color=colour)  # fmt: skip


def write_documents(ax: Axes, table: pd.DataFrame, importance: Any) -> None:
    """Write document ids below the axes, the most important first, as far as there is room."""
    names = dict(zip(table["rank"], table["docno"], strict=True))
    order = [rank for rank in table["rank"].iloc[np.argsort(-np.asarray(importance), kind="stable")] if names[rank]]
    for rank in _apart({rank: rank for rank in order}, dict.fromkeys(order, 1.3 * _SMALL / _points_per_rank(ax))):
        ax.annotate(in_picture(elided(names[rank], 24)), (rank, 0), xytext=(0, -5), textcoords="offset points",
                    ha="center", va="top", rotation=90, fontsize=_SMALL, annotation_clip=False)  # fmt: skip


def label_ranks(ax: Axes, last: int, note: str = "", size: int = _NORMAL) -> None:
    """Set the limits, the ticks (rank 1 and round ranks) and the label of the axis of ranks, with a note below."""
    ax.set_xlim(0.4, last + 0.6)
    width, _ = _size(ax)
    room = width / ((_CHARACTER * len(str(last)) + 1.2) * size)
    step = next(step for power in range(9) for step in (10**power, 2 * 10**power, 5 * 10**power) if last / step <= room)
    ax.set_xticks(range(1, last + 1, step) if step <= 2 else [1, *range(step, last + 1, step)])
    below = in_lines(note, int(width / (_CHARACTER * size)))
    ax.set_xlabel(f"rank (documents)\n{below}".rstrip(), fontsize=size)


def draw_time_above(ax: Axes, table: pd.DataFrame, unit: str) -> None:
    """Draw the effort before each rank on the upper edge, unless every document has the effort 1."""
    from matplotlib.ticker import MaxNLocator

    if (table["effort"] == 1).all():
        return
    T = np.append(table["T"], table["T"].iloc[-1] + table["effort"].iloc[-1])
    places = np.append(table["rank"], len(table) + 1) - 0.5
    what, per = "effort before the rank", 1
    if unit == "seconds":
        what, unit, per = "time before the rank", *(("minutes", 60) if T[-1] > _MINUTES else ("seconds", 1))
    width, _ = _size(ax)
    ticks = [t for t in MaxNLocator(max(1, int(width / 50))).tick_values(0, T[-1] / per) if 0 <= t * per <= T[-1]]
    at = dict(enumerate(np.interp(np.array(ticks) * per, T, places)))
    chosen = sorted(_apart(at, dict.fromkeys(at, 25 / _points_per_rank(ax))))
    upper = ax.twiny()
    upper.set_xlim(ax.get_xlim())
    upper.set_xticks([at[number] for number in chosen], [f"{ticks[number]:g}" for number in chosen])
    upper.tick_params(labelsize=_NORMAL)
    upper.spines["right"].set_visible(False)
    upper.set_xlabel(what if unit == "effort" else f"{what} ({unit})", fontsize=_NORMAL)


def _apart(places: Mapping[int, float], widths: Mapping[int, float]) -> list[int]:
    """Return those of some labels, the most important first, that do not overlap a more important one."""
    taken: list[int] = []
    for one, place in places.items():
        if all(abs(place - places[other]) >= (widths[one] + widths[other]) / 2 for other in taken):
            taken.append(one)
    return taken


def _points_per_rank(ax: Axes) -> float:
    left, right = ax.get_xlim()
    return _size(ax)[0] / (right - left)


def _size(ax: Axes) -> tuple[float, float]:
    """Return the size of axes in points; with the layout "constrained", it is known after the figure is drawn."""
    box = ax.get_window_extent()
    figure: Any = ax.figure
    points = 72 / figure.dpi
    return box.width * points, box.height * points
