"""Plots of explanations and of the ranks at which users stop. They need matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..errors import BadParameter
from ..errors.sanitise import in_picture
from ..rendering.figures import GAIN, GREY, SCORE, STAY, axes_of, label_box, titled

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_explanation(
    table: pd.DataFrame, score: float, divisor: float, title: str, ax: Axes | None, depth: int | None
) -> Axes:
    """Draw the gains, the share of users, and the cumulative score at each rank.

    Grey bars are gains. Blue steps are the share of users who see the rank (V). The red line, with its scale on the
    right, is the cumulative score: discounted gains, or (if the aggregation is no weighted sum of gains) L·A of users
    who have left.

    Parameters
    ----------
    table : DataFrame
        Values of the framework at each rank; see :class:`Explanation`.
    score, divisor : float
        Score of the query, and the value by which it was divided.
    title : str
        Title of the plot.
    ax : matplotlib.axes.Axes or None
        Axes to draw on; None for those of a new figure.
    depth : int or None
        Number of ranks to draw; None for all.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    CWLAError
        If matplotlib is not installed.
    """
    ax = axes_of(ax)
    table = table if depth is None else table.head(depth)
    rank = table["rank"].to_numpy()
    scale = 1 / divisor if divisor > 0 else 0.0
    credited = table["gain"] * table["discount"]
    if credited.isna().any():  # A is no weighted sum of gains
        credited = table["L·A"] * scale
    collected = np.cumsum(credited.to_numpy())
    ax.bar(rank, table["gain"], width=0.8, color=GAIN)
    ax.step(rank, table["V"], where="mid", color=STAY, linewidth=1.8)
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel("rank (documents)")
    ax.set_ylabel("share of users, gain")
    ax.set_ylim(0, 1.08 * max(1.0, float(table["gain"].max())))
    ax.set_xlim(0.4, rank[-1] + 0.6)
    right = ax.twinx()
    right.plot(rank, collected, color=SCORE, linewidth=1.8, linestyle="--")
    right.set_ylim(0, 1.08 * max(score, float(collected[-1]), 1e-9))
    right.set_ylabel("score so far", color=SCORE)
    for axes in (ax, right):
        axes.spines["top"].set_visible(False)
    middle = min(int(np.argmin(np.abs(table["V"].to_numpy() - 0.6))), len(table) * 2 // 3)
    ax.annotate("still there (V)", (rank[middle], table["V"].iloc[middle]), xytext=(6, 6), textcoords="offset points",
                color=STAY, bbox=label_box(ax))  # fmt: skip
    best = int(table["gain"].to_numpy().argmax())
    ax.annotate("gain", (rank[best], table["gain"].iloc[best]), xytext=(0, 3), textcoords="offset points",
                ha="center" if best else "left", color=GREY)  # fmt: skip
    whole = np.isclose(collected[-1], score, atol=5e-4)
    reached = f"score {score:.3f}" if whole else f"{collected[-1]:.3f} of {score:.3f}"
    right.annotate(reached, (rank[-1], collected[-1]), xytext=(0, -15), textcoords="offset points",
                   ha="right", color=SCORE, bbox=label_box(right))  # fmt: skip
    return titled(ax, in_picture(title))


def plot_stops(stops: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the share of users who stop at each rank, averaged over queries.

    Blue bars are the shares. Text labels give the share of users who leave before the first item, and of those who
    continue after the last rank shown, unless it is below 0.05 %.

    Parameters
    ----------
    stops : DataFrame
        Result of :func:`pyterrier_cwla.evaluation.stop_distribution`.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

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
        raise BadParameter("there are no queries to draw.")
    ax = axes_of(ax)
    share = stops.mean()
    ranks = share.iloc[1:-1]
    ax.bar(ranks.index.astype(int), ranks, width=0.8, color=STAY)
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel("rank (documents)")
    ax.set_ylabel("share of users who stop here")
    ax.set_xlim(0.4, len(ranks) + 0.6)
    ax.set_ylim(0, 1.2 * max(float(ranks.max()), 1e-9))
    sides = {
        "left": (0.02, "{:.1%} leave before the first", share.iloc[0]),
        "right": (0.98, "{:.1%} go on", share.iloc[-1]),
    }
    for side, (x, text, users) in sides.items():
        if users >= 5e-4:
            ax.text(x, 0.98, text.format(users), transform=ax.transAxes, ha=side, va="top", color=GREY)
    whose = f"mean of {len(stops):,} queries" if len(stops) > 1 else f"query {stops.index[0]}"
    title = f"{stops.attrs.get('measure', '')} · {whose}".lstrip(" ·")
    return titled(ax, in_picture(title))
