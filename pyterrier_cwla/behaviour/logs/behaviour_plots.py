"""Plots of continuation probabilities and efforts by grade from a log, with those of measures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ...errors import BadParameter, many
from ...rendering.figures import COLOURS, GAIN, GREY, STAY, axes_of, text_colour, titled
from ...rendering.labels import label_ends, measure_look, name_columns
from .user_model_curves import survival_of_lists


def plot_continuing(found: Any, measures: Any = (), depth: int = 20, ax: Any = None) -> Any:
    """Plot the continuation probability C(i) by rank, of a log and of measures.

    Dots show C(i) of the log with its interval, the broad line the smoothed C. Thin lines show C = V(i+1)/V(i) of
    `measures`, with V averaged over the lists of the log.

    Parameters
    ----------
    found : Continuing
        Estimates of :func:`continuing_from_views` or :func:`continuing_from_last_clicks`.
    measures : sequence of Measure or str, or dict of these by label, default=()
        Measures that follow a user model, at most eight.
    depth : int, default=20
        Last rank.
    ax : matplotlib Axes, optional
        Axes to draw on; by default new ones.

    Returns
    -------
    matplotlib Axes
    """
    table = found.table[found.table["rank"] <= depth].set_index("rank").reindex(range(1, depth + 1))
    V = survival_of_lists(found.log, measures, depth + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        C = pd.DataFrame(V.to_numpy()[1:] / V.to_numpy()[:-1], index=table.index, columns=V.columns)
    ax = axes_of(ax)
    ax.plot(table.index, table["smoothed"], color=GAIN, linewidth=5, alpha=0.5, zorder=0, solid_capstyle="round")
    draw_dots(ax, table.index.to_numpy(), table["C"], table["low"], table["high"], text_colour())
    draw_lines(ax, labelled(C, measures), f"users of the log, from {found.source}", table["smoothed"])
    lowest = min(float(np.nanmin(values)) for values in (table["low"].fillna(table["C"]), C) if np.size(values))
    ax.set_ylim(max(0.0, lowest - 0.1 * (1 - lowest)), 1.02)
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel("rank (documents)")
    ax.set_ylabel("share who continue (C)")
    return titled(ax, f"How many users continue after each rank (broad line: smoothed) · {sizes_of(found)}")


def plot_grade_efforts(efforts: Any, ax: Any = None) -> Any:
    """Plot the seconds to examine a result of each grade, on its summary and on the document.

    Parameters
    ----------
    efforts : GradeEfforts
        Estimates of :func:`grade_efforts`.
    ax : matplotlib Axes, optional
        Axes to draw on; by default new ones.

    Returns
    -------
    matplotlib Axes
    """
    table = efforts.table
    ax = axes_of(ax)
    x = np.arange(len(table))
    edge = {"width": 0.5, "edgecolor": ax.get_facecolor()}
    ax.bar(x, table["t_summary"], color=GAIN, **edge)
    reading = table["t"] - table["t_summary"]
    ax.bar(x, reading, bottom=table["t_summary"], color=STAY, **edge)
    draw_dots(ax, x, table["t"], table["t low"], table["t high"], text_colour(), mark="")
    last = len(table) - 1
    middles = {"summary": table["t_summary"][last] / 2, "document, if clicked": table["t"][last] - reading[last] / 2}
    for at, seconds, share in zip(x, table["t"], table["relative"], strict=True):
        ax.annotate(f"{seconds:.1f} s ({share:.2f})", (at - 0.02, seconds), xytext=(0, 3), textcoords="offset points",
                    ha="right", fontsize=8)  # fmt: skip
    ax.set_xlim(-0.75, last + 0.35)
    name_columns(ax, x, [str(grade) for grade in table["grade"]])
    ax.set_ylim(0, 1.15 * float(np.nanmax(table["t high"].fillna(table["t"]))))
    ax.set_xlabel("grade")
    ax.set_ylabel("effort (seconds)")
    what = "Seconds to examine a result (in brackets: relative to the highest grade)"
    titled(ax, f"{what} · {many(efforts.users, 'user')}")
    looks = {"summary": {"color": GREY}, "document, if clicked": {"color": STAY}}
    label_ends(ax, {text: ([last + 0.25], [height]) for text, height in middles.items()}, looks)
    return ax


def draw_dots(ax: Any, x: Any, y: Any, low: Any, high: Any, colour: str = STAY, mark: str = "o") -> None:
    """Draw points with their intervals; points without an interval have no line."""
    y = np.asarray(y, float)
    ends = np.vstack([y - np.asarray(low, float), np.asarray(high, float) - y])
    ends = np.maximum(np.nan_to_num(ends), 0)
    ax.errorbar(
        x, y, yerr=ends, fmt=mark or "none", color=colour, ecolor=colour, markersize=5, elinewidth=1.4, zorder=3
    )


def labelled(curves: pd.DataFrame, measures: Any) -> pd.DataFrame:
    """Return curves of measures with the texts by which these were given, which show all parameters."""
    given = [measures] if isinstance(measures, str) else list(measures)
    if len(given) != len(curves.columns):
        return curves
    return curves.set_axis(
        [one if isinstance(one, str) else name for one, name in zip(given, curves.columns, strict=True)], axis=1
    )


def draw_lines(ax: Any, curves: pd.DataFrame, of_log: str, logged: pd.Series) -> None:
    """Draw one line per measure, with its name at the right end, beside the name of the curve of the log."""
    if len(curves.columns) > len(COLOURS):
        raise BadParameter(
            f"{len(curves.columns)} measures are too many to distinguish in a plot: give up to {len(COLOURS)}."
        )
    looks = {name: measure_look(number) for number, name in enumerate(curves)}
    for name, look in looks.items():
        ax.plot(curves.index, curves[name], **look | {"marker": ""}, linewidth=1.4, zorder=1)
    ends = {name: (curves.index, curves[name]) for name in curves}
    label_ends(ax, {of_log: (logged.index, logged), **ends}, {of_log: {"color": text_colour()}, **looks})


def sizes_of(found: Any) -> str:
    """Return the numbers of sessions and users as text."""
    return f"{many(found.sessions, 'session')} of {many(found.users, 'user')}"
