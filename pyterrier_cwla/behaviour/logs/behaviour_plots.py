"""Plots of continuation probabilities and efforts by grade from a log, with those of measures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ...errors import BadParameter, many
from ...errors.sanitise import in_picture
from ...rendering.figures import GAIN, GREY, STAY, apart, axes_of, label_box, titled
from .user_model_curves import survival_of_lists

_LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))


def plot_continuing(found: Any, measures: Any = (), depth: int = 20, ax: Any = None) -> Any:
    """Plot the continuation probability C(i) by rank, of a log and of measures.

    Dots show C(i) of the log with its interval, the grey line the smoothed C. Lines show C = V(i+1)/V(i) of `measures`,
    with V averaged over the lists of the log.

    Parameters
    ----------
    found : Continuing
        Estimates of :func:`continuing_from_views` or :func:`continuing_from_last_clicks`.
    measures : sequence of Measure or str, or dict of these by label, default=()
        Measures that follow a user model, at most five.
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
    ax.plot(table.index, table["smoothed"], color=GAIN, linewidth=5, zorder=0, solid_capstyle="round")
    draw_dots(ax, table.index.to_numpy(), table["C"], table["low"], table["high"])
    draw_lines(ax, C, "C of ")
    draw_label(ax, f"C(i), from {in_picture(found.source)}", table["low"].fillna(table["C"]), below=True)
    lowest = min(float(np.nanmin(values)) for values in (table["low"].fillna(table["C"]), C) if np.size(values))
    ax.set_ylim(max(0.0, lowest - 0.1 * (1 - lowest)), 1.02)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("rank (documents)")
    ax.set_ylabel("share of users who continue")
    return titled(ax, f"Grey: smoothed · {sizes_of(found)}")


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
    ax.bar(x, table["t_summary"], width=0.5, color=GREY)
    reading = table["t"] - table["t_summary"]
    ax.bar(x, reading, width=0.5, bottom=table["t_summary"], color=GAIN)
    draw_dots(ax, x, table["t"], table["t low"], table["t high"], mark="")
    last = len(table) - 1
    middles = {"summary": table["t_summary"][last] / 2, "document,\nif clicked": table["t"][last] - reading[last] / 2}
    for text, height in middles.items():
        ax.annotate(text, (x[last] + 0.25, height), xytext=(4, 0), textcoords="offset points", va="center", color=GREY)
    for at, seconds, share in zip(x, table["t"], table["relative"], strict=True):
        ax.annotate(f"{seconds:.1f} s ({share:.2f})", (at - 0.02, seconds), xytext=(0, 3), textcoords="offset points",
                    ha="right", color=GREY)  # fmt: skip
    ax.set_xticks(x, [in_picture(grade) for grade in table["grade"]])
    ax.set_xlim(-0.6, last + 0.9)
    ax.set_ylim(0, 1.15 * float(np.nanmax(table["t high"].fillna(table["t"]))))
    ax.set_xlabel("grade")
    ax.set_ylabel("effort (seconds)")
    return titled(ax, f"Relative to the highest grade in brackets · {many(efforts.users, 'user')}")


def draw_dots(ax: Any, x: Any, y: Any, low: Any, high: Any, colour: str = STAY, mark: str = "o") -> None:
    """Draw points with their intervals; points without an interval have no line."""
    y = np.asarray(y, float)
    ends = np.vstack([y - np.asarray(low, float), np.asarray(high, float) - y])
    ends = np.maximum(np.nan_to_num(ends), 0)
    ax.errorbar(
        x, y, yerr=ends, fmt=mark or "none", color=colour, ecolor=colour, markersize=5, elinewidth=1.4, zorder=3
    )


def draw_lines(ax: Any, curves: pd.DataFrame, what: str) -> None:
    """Draw one line per measure, with its name at the right end."""
    if len(curves.columns) > len(_LINES):
        raise BadParameter(
            f"{len(curves.columns)} measures are too many to distinguish in a plot: give up to {len(_LINES)}."
        )
    ends = []
    for number, name in enumerate(curves):
        curve = curves[name].dropna()
        look = {"color": str(0.15 * number), "linestyle": _LINES[number]}
        ax.plot(curve.index, curve, **look, linewidth=1.4, zorder=1)
        ends.append((float(curve.iloc[-1]), f"{what}{in_picture(name)}", curve.index[-1], look["color"]))
    bottom, top = ax.get_ylim()
    ends.sort()
    heights = apart([end[0] for end in ends], 0.075 * (top - bottom))
    for height, (_, text, rank, colour) in zip(heights, ends, strict=True):
        ax.annotate(text, (rank, height), xytext=(8, 0), textcoords="offset points", va="center", color=colour,
                    fontsize=9, annotation_clip=False)  # fmt: skip


def draw_label(ax: Any, text: str, heights: pd.Series, below: bool = False) -> None:
    """Write a label at the middle of a curve."""
    known = heights.dropna()
    if len(known):
        at = known.index[len(known) // 2]
        ax.annotate(text, (at, known[at]), xytext=(0, -14 if below else 8), textcoords="offset points", ha="center",
                    color=STAY, bbox=label_box(ax), zorder=4)  # fmt: skip


def sizes_of(found: Any) -> str:
    """Return the numbers of sessions and users as text."""
    return f"{many(found.sessions, 'session')} of {many(found.users, 'user')}"
