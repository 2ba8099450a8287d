"""Plots of explanations and of the ranks at which users stop. They need matplotlib."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..errors import BadParameter, check_whole
from ..errors.sanitise import in_picture
from ..files.atomic import AnyPath
from ..rendering.figures import (
    COLOURS,
    GAIN,
    GREY,
    SCORE,
    STAY,
    axes_of,
    elided,
    in_lines,
    room_of,
    saved,
    system_looks,
    titled,
    too_low,
)
from ..rendering.numbers import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHADES = 5  # maximum number of grades with shades of their own
_MINUTES = 300  # seconds, from which on an axis of time has minutes
_SMALL, _NORMAL = 7, 8  # points, font sizes of labels in panels, and of axes and legends
_CHARACTER, _LINE = 0.55, 1.75  # width of a character and height of a line of a legend, in font sizes
_FEWEST, _MOST = 10, 50  # ranks of a plot whose depth is not given
_PANEL = 1.1  # lowest height of a panel in inches
_SEEN = 0.01  # share of users who see the last rank of such a plot
_VISIBLE = 0.02  # difference of shares of users that can be seen in a plot


Keys = dict[str, Any]
"""Keys of a legend: what they show (a tuple: several patches side by side), by their texts."""


def plot_explanation(explanation: Any, ax: Axes | None, depth: int | None, docnos: bool) -> Axes:
    """Draw gains and what they add to the score, and below the shares of users who see and who stop at each rank.

    Parameters
    ----------
    explanation : Explanation
        What to draw.
    ax : matplotlib.axes.Axes or None
        Axes whose place the two panels take; None for a new figure.
    depth : int or None
        Last rank; None for that of :func:`last_shown`.
    docnos : bool
        Whether to write the document ids below the upper panel.

    Returns
    -------
    matplotlib.axes.Axes
        The upper panel.

    Raises
    ------
    BadParameter
        If `depth` is not a positive integer, or there are no document ids.
    CWLAError
        If matplotlib is not installed.
    """
    last = last_shown([explanation], depth)
    table = explanation.table.head(last)
    if docnos and "docno" not in table:
        raise BadParameter("docnos=True: this explanation has no document ids, since it was made from gains.")
    share = _shares(explanation).to_numpy()[:last]
    upper, lower = panels_of(ax, (1.2, 1), 5.4 if docnos else 4.6)
    label_ranks(lower, last, _part_shown([explanation], last))
    values = {"% of the score" if explanation.adds_gains else "% of the score (L·A)": share}
    _draw_gains([upper], [explanation], values, [SCORE], "{:.0%}", docnos)
    upper.set_ylabel("gain of the document", fontsize=8)
    draw_users(lower, table)
    draw_time_above(lower, table, explanation.unit)
    return titled(upper, in_picture(f"{explanation.title}: score {explanation.score:.3f}"))


def plot_pair(pair: Any, ax: Axes | None, depth: int | None, docnos: bool) -> Axes:
    """Draw the gains of two runs one below the other, their scores so far, and the shares of users if they differ.

    Parameters
    ----------
    pair : ExplainedPair
        What to draw.
    ax, depth, docnos
        As for :func:`plot_explanation`.

    Returns
    -------
    matplotlib.axes.Axes
        The upper panel.

    Raises
    ------
    BadParameter
        If `depth` is not a positive integer.
    CWLAError
        If matplotlib is not installed.
    """
    runs = pair.explanations
    last = last_shown(list(runs.values()), depth)
    V = {name: one.table["V"].to_numpy()[:last] for name, one in runs.items()}
    apart = [abs(one - other) for one, other in zip(*V.values(), strict=False)]  # up to the end of the shorter list
    users_differ = max(apart) > _VISIBLE
    heights, inches = ((1.2, 1, 1, 1), 8.0) if users_differ else ((1.2, 1, 1), 6.4)
    panels = panels_of(ax, heights, inches + 1.6 * docnos)
    label_ranks(panels[-1], last, _part_shown(list(runs.values()), last))
    looks = system_looks(list(runs))
    adds = {
        f"{elided(name, 36)}, score {one.score:.3f}": one.contributions.to_numpy()[:last] for name, one in runs.items()
    }
    colours = [looks[name]["color"] for name in runs]
    below = _draw_gains(panels[:2], list(runs.values()), adds, colours, "{:.2f}", docnos)  # the legends
    for panel in panels[:2]:
        panel.set_ylabel("gain of the document", fontsize=8)
    so_far = dict(zip(runs, [values.cumsum() for values in adds.values()]))
    lowest, highest = _span([*so_far.values()])
    below.append(set_heights(panels[2], highest, draw_steps(panels[2], so_far, looks), lowest=lowest))
    panels[2].set_ylabel("score so far", fontsize=8)
    if users_differ:
        below.append(set_heights(panels[3], 1, draw_steps(panels[3], V, looks), shares=True))
        panels[3].set_ylabel("share of users who\nsee the rank (V)", fontsize=8)
    marked = pair.first_gain_difference or pair.first_difference
    note = ""
    if marked is not None and marked <= last:
        for one, top in zip(panels, below, strict=True):
            one.axvspan(marked - 0.5, marked + 0.5, ymax=top, color=GAIN, alpha=0.3, linewidth=0, zorder=0)
        note = f"; rank {marked:,} is shaded"
    elif marked is not None:
        note = f"; ranks below {last:,} are not shown"
    return titled(panels[0], in_picture(f"{pair.title}: {pair.where_different}{note}"))


def plot_stops(stops: pd.DataFrame, ax: Axes | None = None, path: AnyPath | None = None) -> Axes:
    """Draw the share of users who stop at each rank, averaged over topics.

    Bars are the shares, down to the rank after which less than 1 % of the users are left (at least ten ranks, if there
    are as many). Texts give the share of users who leave before the first item, and of those who go on after the last
    rank shown, unless it is below 0.05 %.

    Parameters
    ----------
    stops : DataFrame
        Result of :func:`pyterrier_cwla.evaluation.stop_distribution`.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.
    path : path, optional
        File to which the figure is saved.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    BadParameter
        If ``stops`` is another table or has no rows.
    CWLAError
        If matplotlib is not installed.
    """
    if "later" not in getattr(stops, "columns", ()):
        raise BadParameter("plot_stops needs the result of stop_distribution(qrels, run, measure).")
    if not len(stops):
        raise BadParameter("there are no topics to draw.")
    ax = axes_of(ax)
    share = stops.mean()
    stopped = share.iloc[:-1].cumsum().to_numpy()[1:]
    last = min(max(int((stopped < 1 - _SEEN).sum()) + 1, _FEWEST), len(stopped))
    ranks, later = share.iloc[1 : last + 1], 1 - stopped[last - 1]
    ax.bar(ranks.index.astype(int), ranks, width=0.8, color=STAY)
    label_ranks(ax, last, size=10)
    ax.set_ylabel("users who stop there")
    ax.set_ylim(0, 1.2 * max(float(ranks.max()), 1e-9))
    ax.yaxis.set_major_formatter(lambda share, _: percent(share))
    sides = {
        "left": (0.02, "leave before rank 1", share.iloc[0]),
        "right": (0.98, f"go on after rank {last:,}", later),
    }
    for side, (x, text, users) in sides.items():
        if users >= 5e-4:
            ax.text(x, 0.98, f"{percent(users, 1)} {text}", transform=ax.transAxes, ha=side, va="top", color=GREY)
    whose = f"mean of {len(stops):,} topics" if len(stops) > 1 else f"topic {stops.index[0]}"
    measure = stops.attrs.get("measure")
    titled(ax, in_picture(f"Where users{f' of {measure}' if measure else ''} stop: {whose}"))
    return saved(ax, path)


def last_shown(explanations: Sequence[Any], depth: int | None = None) -> int:
    """Return the last rank to draw.

    Without `depth`, it is the last rank that 1 % of the users see, but at least 10 and at most 50, if there are as many
    ranks.

    Parameters
    ----------
    explanations : sequence of Explanation
        Explanations in one picture.
    depth : int, optional
        Last rank that the user wants.
    """
    ranks = max(len(one.table) for one in explanations)
    if depth is not None:
        check_whole(1, depth=depth)
        return min(depth, ranks)
    seen = max(int((one.table["V"] >= _SEEN).sum()) for one in explanations)
    return min(max(seen, _FEWEST), _MOST, ranks)


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

    Raises
    ------
    BadParameter
        If the panels would be too low to read.
    """
    ax = axes_of(ax, (7, inches))
    figure: Any = ax.figure
    needed = 0.8 + _PANEL * len(heights)
    if room_of(ax)[1] / 72 < needed - 0.05:  # as printed
        raise too_low(ax, f"{len(heights)} panels", needed)
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


def _draw_gains(
    panels: Sequence[Axes],
    explanations: Sequence[Any],
    values: Mapping[str, Any],
    colours: Sequence[str],
    text: str,
    docnos: bool,
) -> list[float]:
    """Draw gains of rankings, each in its panel, and a value of each rank in front, with common scales.

    Gains are wide grey bars, darker for higher grades; values are narrow bars.

    Parameters
    ----------
    panels : sequence of matplotlib.axes.Axes
        Panels to draw on.
    explanations : sequence of Explanation
        The rankings.
    values : mapping of str to array_like
        Values of the ranks of each ranking, such as their shares of the score, by the text of their key.
    colours : sequence of str
        Colour of the values of each ranking.
    text : str
        Format of values above the bars.
    docnos : bool
        Whether to write document ids below the panels.

    Returns
    -------
    list of float
        Share of the height below the legend, for each panel.
    """
    from matplotlib.patches import Patch
    from matplotlib.ticker import MaxNLocator

    tables = [one.table.head(len(of)) for one, of in zip(explanations, values.values(), strict=True)]
    gains, levels = [table["gain"].to_numpy() for table in tables], _graded(tables)
    scale = _scale(gains, [*values.values()], all(one.adds_gains for one in explanations))
    lowest, highest = _span(gains)
    drawn = [_draw_bars(ax, table, levels) for ax, table in zip(panels, tables, strict=True)]
    keys: Keys = {label: handle for of_panel in drawn for label, handle in of_panel.items()}  # in the upper panel
    below = []
    for ax, table, (label, of), colour in zip(panels, tables, values.items(), colours, strict=True):
        ax.bar(table["rank"], of * scale, width=0.4, color=colour)
        if scale:
            own = ax.secondary_yaxis(
                "right", functions=(lambda y: np.divide(y, scale), lambda y: np.multiply(y, scale))
            )
            top = float(np.max(of))  # above is the legend, and low panels have room for one number
            own.set_yticks([max(tick for tick in MaxNLocator(3).tick_values(0, top) if tick <= top * 1.001)])
            if "%" in text:
                own.yaxis.set_major_formatter(lambda value, _: percent(value, 0))
            own.tick_params(labelsize=_NORMAL, colors=colour)
            own.set_ylabel("share of the score" if "%" in text else "added to the score", fontsize=8, color=colour)
        below.append(set_heights(ax, highest, {**keys, label: Patch(color=colour)}, lines=1, lowest=lowest))
        size = np.abs(of)
        order = [int(place) for place in np.argsort(-size, kind="stable") if size[place] >= 0.005]
        written = {place + 1: text.format(of[place]).rstrip("%").replace("-", "−") for place in order}
        write_above(ax, written, highest, colour)
        if docnos:
            write_documents(ax, table, size)
        keys = {}
    return below


def _draw_bars(ax: Axes, table: pd.DataFrame, levels: Any) -> Keys:
    """Draw the gains of some ranks, darker for higher grades, and crosses at documents that are not judged."""
    from matplotlib.patches import Patch

    rank, grade, gain = (table[column].to_numpy() for column in ("rank", "grade", "gain"))
    keys: Keys = {}
    shades = []
    for number, level in enumerate(levels):
        shade = (number + 1) / (len(levels) + 1)
        look: Any = {"facecolor": (GAIN, shade), "edgecolor": GREY, "linewidth": 0.8}
        chosen = (gain != 0) & ((grade == level) | np.isnan(level))
        ax.bar(rank[chosen], gain[chosen], width=0.8, **look)
        shades.append(Patch(**look))
    if shades:
        named = ", ".join(f"{level:g}" for level in levels)
        keys["gain" if np.isnan(levels).any() else f"grade{'s' * (len(levels) > 1)} {named}"] = tuple(shades)
    retrieved = table["docno"].to_numpy() != "" if "docno" in table else True
    unjudged = rank[np.isnan(grade) & retrieved]
    if len(unjudged):
        (keys["not judged"],) = ax.plot(unjudged, np.zeros(len(unjudged)), linestyle="none", marker="x", markersize=3.5,
                                        color=GREY, clip_on=False)  # fmt: skip
    return keys


def _graded(tables: Iterable[pd.DataFrame]) -> Any:
    """Return the grades that have gains, in increasing order; NaN alone if these are more than five."""
    ranks = pd.concat(list(tables))
    found = np.unique(ranks["grade"].to_numpy()[ranks["gain"].to_numpy() != 0])
    return found if len(found) <= _SHADES else np.array([np.nan])


def draw_users(ax: Axes, table: pd.DataFrame) -> None:
    """Draw the shares of users who see each rank (V), as steps, and who stop there (L), as bars."""
    from matplotlib.patches import Patch

    ax.bar(table["rank"], np.nan_to_num(table["L"]), width=0.4, color=COLOURS[2])
    seen = draw_steps(ax, {"see the rank (V)": table["V"].to_numpy()}, {"see the rank (V)": {"color": STAY}})
    ax.set_ylabel("share of users who", fontsize=_NORMAL)
    set_heights(ax, 1.0, {**seen, "stop there (L)": Patch(color=COLOURS[2])}, shares=True)


def draw_steps(ax: Axes, curves: Mapping[str, Any], looks: Mapping[str, Mapping[str, Any]]) -> Keys:
    """Draw values of ranks as steps, each one rank wide; return the keys of the legend."""
    from matplotlib.lines import Line2D

    keys: Keys = {}
    for name, values in curves.items():
        look = {"color": looks[name]["color"], "linestyle": looks[name].get("linestyle", "-"), "linewidth": 1.8}
        ax.stairs(values, np.arange(len(values) + 1) + 0.5, baseline=None, **look)
        keys[name] = Line2D([], [], **look)
    return keys


def set_heights(
    ax: Axes, highest: float, keys: Keys, lines: int = 0, shares: bool = False, lowest: float = 0.0
) -> float:
    """Set the limits of the y axis from `lowest` to `highest`, with room above for a legend and lines of text.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Panel.
    highest : float
        Highest value.
    keys : dict
        Keys of the legend, which has as many columns as fit.
    lines : int, default=0
        Number of lines of text below the legend.
    shares : bool, default=False
        Whether values are shares.
    lowest : float, default=0.0
        Lowest value, at most 0; a line is drawn at 0 if it is lower.

    Returns
    -------
    float
        Share of the height of the panel that is below the legend.
    """
    from matplotlib.legend_handler import HandlerTuple
    from matplotlib.ticker import MaxNLocator

    width, height = _size(ax)
    labels = [in_picture(elided(label, int(width / (_CHARACTER * _NORMAL)) - 9)) for label in keys]
    longest = max(map(len, labels))
    columns = max(1, min(len(keys), int(width / ((_CHARACTER * longest + 3.5) * _NORMAL))))
    rows = -(-len(keys) // columns)
    above = _LINE * _NORMAL * (rows + lines) + 2
    ax.set_ylim(lowest, highest + (highest - lowest) * min(above / max(height - above, 1), 3))
    if lowest < 0:
        ax.axhline(0, color=GREY, linewidth=0.8)
    intervals = min(4, max(1, int((height - above) / (2.4 * _NORMAL))))
    ticks = MaxNLocator(intervals, steps=[1, 2, 2.5, 5, 10]).tick_values(lowest, highest)
    ax.set_yticks([tick for tick in ticks if 1.001 * lowest <= tick <= 1.001 * highest])
    if shares:
        ax.yaxis.set_major_formatter(lambda share, _: percent(share, 0))
    ax.legend([*keys.values()], labels, loc="upper left", ncols=columns, fontsize=_NORMAL,
              frameon=False, borderaxespad=0, borderpad=0.1, handlelength=1.5, columnspacing=1.5,
              handler_map={tuple: HandlerTuple(ndivide=None, pad=0)})  # fmt: skip
    return max(1 - (_LINE * _NORMAL * rows + 2) / height, 0.0)


def write_above(ax: Axes, texts: Mapping[int, str], highest: float, colour: str) -> None:
    """Write texts of ranks, the most important first, in a line above the highest bar, as far as there is room."""
    per_rank = _points_per_rank(ax)
    widths = {rank: (_CHARACTER * len(text) + 0.8) * _SMALL / per_rank for rank, text in texts.items()}
    places = {rank: max(rank, ax.get_xlim()[0] + widths[rank] / 2) for rank in texts}  # right of the axis
    for rank in _apart(places, widths):
        ax.annotate(texts[rank], (places[rank], highest), xytext=(0, 2), textcoords="offset points", ha="center",
                    va="bottom", fontsize=_SMALL, color=colour)  # fmt: skip


def write_documents(ax: Axes, table: pd.DataFrame, importance: Any) -> None:
    """Write document ids below the axes, the most important first, as far as there is room."""
    names = table.set_index("rank")["docno"].iloc[np.argsort(-importance, kind="stable")]
    order = names.index[names != ""]
    for rank in _apart(dict(zip(order, order)), dict.fromkeys(order, 1.3 * _SMALL / _points_per_rank(ax))):
        ax.annotate(in_picture(elided(names[rank], 24)), (rank, 0), xycoords=ax.get_xaxis_transform(), xytext=(0, -5),
                    textcoords="offset points", ha="center", va="top", rotation=90, fontsize=_SMALL,
                    annotation_clip=False)  # fmt: skip


def label_ranks(ax: Axes, last: int, note: str = "", size: int = _NORMAL) -> None:
    """Set the limits, the ticks (rank 1 and round ranks) and the label of the axis of ranks, with a note below."""
    ax.set_xlim(0.4, last + 0.6)
    width, _ = _size(ax)
    room = width / ((_CHARACTER * len(str(last)) + 1.2) * size)
    step = next(step for power in range(9) for step in (10**power, 2 * 10**power, 5 * 10**power) if last / step <= room)
    ax.set_xticks(range(1, last + 1, step) if step <= 2 else [1, *range(step, last + 1, step)])
    below = in_lines(note, int(width / (_CHARACTER * size)))
    ax.set_xlabel(f"rank (documents)\n{below}".rstrip(), fontsize=size)


def all_efforts_are_1(table: pd.DataFrame) -> bool:
    """Return whether every document of an explanation's table has the effort 1."""
    return bool((table["effort"] == 1).all())


def draw_time_above(ax: Axes, table: pd.DataFrame, unit: str) -> None:
    """Draw the effort before each rank on the upper edge, unless every document has the effort 1."""
    from matplotlib.ticker import MaxNLocator

    if all_efforts_are_1(table):
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


def _part_shown(explanations: Sequence[Any], last: int) -> str:
    """Return which part of the rankings and scores the ranks up to `last` are; an empty text if they are all."""
    ranks = max(one.last_seen for one in explanations)
    shares = [_shares(one).iloc[:last].sum() for one in explanations]
    if last >= ranks and all(share > 0.995 or one.score == 0 for share, one in zip(shares, explanations, strict=True)):
        return ""
    of = f" of {ranks:,}" if ranks > last else ""
    added = " and ".join(percent(share, 0) for share in shares)
    return f"ranks 1 to {last:,}{of} add {added} of the score{'s' * (len(explanations) > 1)}"


def _shares(explanation: Any) -> pd.Series:
    """Return the share of the score that each rank adds; 0 if the score is 0."""
    adds = explanation.contributions
    return adds / explanation.score if explanation.score > 0 else 0 * adds


def _span(values: Sequence[Any]) -> tuple[float, float]:
    """Return the lowest of some values and 0, and the highest of them and 0; 0 and 1 if all are 0."""
    every = np.concatenate(values)
    lowest, highest = float(every.min(initial=0)), float(every.max(initial=0))
    return lowest, highest if highest > lowest else 1.0


def _scale(gains: Sequence[Any], values: Sequence[Any], adds_gains: bool) -> float:
    """Return the height of a value of 1: no value is above its gain, or, if no gains are added, the highest gain."""
    gain, value = np.concatenate(gains), np.concatenate(values)
    if adds_gains:
        return float((gain[value != 0] / value[value != 0]).min()) if value.any() else 0.0
    if not (value > 0).any():
        return 0.0
    return float(gain.max() / value.max()) or 1.0
