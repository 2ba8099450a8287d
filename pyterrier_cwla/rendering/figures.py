"""Figures with a common style: direct labels, units on the axes, readable in grey. They need matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import BadParameter, CWLAError
from ..errors.sanitise import in_picture

STAY, GAIN, SCORE, GREY = "#1b6ca8", "#c9c9c9", "#b5451b", "#555555"
ON_WHITE = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1}
"""Background box of labels that lie on lines."""


def plot_explanation(explanation: Any, ax: Any = None, depth: int | None = None) -> Any:
    """Draw the gains, the share of users, and the cumulative score at each rank.

    Grey bars are gains. Blue steps are the share of users who see the rank (V). The red line, with its scale on the
    right, is the cumulative score: discounted gains, or (if the aggregation is no weighted sum of gains) L·A of users
    who have left.

    Parameters
    ----------
    explanation : Explanation
        Result of :func:`pyterrier_cwla.explain` or :func:`pyterrier_cwla.explain_gains`.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.
    depth : int, optional
        Number of ranks to draw; by default all.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    CWLAError
        If matplotlib is not installed.
    """
    ax = axes_of(ax)
    table = explanation.table if depth is None else explanation.table.head(depth)
    rank = table["rank"].to_numpy()
    scale = 1 / explanation.divisor if explanation.divisor > 0 else 0.0
    credited = table["gain"] * table["discount"]
    if credited.isna().any():  # A is no weighted sum of gains
        credited = table["L·A"] * scale
    collected = np.cumsum(credited.to_numpy())
    ax.bar(rank, table["gain"], width=0.8, color=GAIN)
    ax.step(rank, table["V"], where="mid", color=STAY, linewidth=1.8)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("rank (documents)")
    ax.set_ylabel("share of users, gain")
    ax.set_ylim(0, 1.08 * max(1.0, float(table["gain"].max())))
    ax.set_xlim(0.4, rank[-1] + 0.6)
    right = ax.twinx()
    right.plot(rank, collected, color=SCORE, linewidth=1.8, linestyle="--")
    right.set_ylim(0, 1.08 * max(explanation.score, float(collected[-1]), 1e-9))
    right.set_ylabel("score so far", color=SCORE)
    for axes in (ax, right):
        axes.spines["top"].set_visible(False)
    middle = min(int(np.argmin(np.abs(table["V"].to_numpy() - 0.6))), len(table) * 2 // 3)
    ax.annotate("still there (V)", (rank[middle], table["V"].iloc[middle]), xytext=(6, 6), textcoords="offset points",
                color=STAY, bbox=ON_WHITE)  # fmt: skip
    best = int(table["gain"].to_numpy().argmax())
    ax.annotate("gain", (rank[best], table["gain"].iloc[best]), xytext=(0, 3), textcoords="offset points",
                ha="center" if best else "left", color=GREY)  # fmt: skip
    whole = np.isclose(collected[-1], explanation.score, atol=5e-4)
    reached = f"score {explanation.score:.3f}" if whole else f"{collected[-1]:.3f} of {explanation.score:.3f}"
    right.annotate(reached, (rank[-1], collected[-1]), xytext=(0, -15), textcoords="offset points",
                   ha="right", color=SCORE, bbox=ON_WHITE)  # fmt: skip
    about = f" of query {explanation.query}" if explanation.query else ""
    return titled(ax, in_picture(f"{explanation.measure}{about}"))


def plot_stops(stops: Any, ax: Any = None) -> Any:
    """Draw the share of users who stop at each rank, averaged over queries.

    Blue bars are the shares. Text labels give the share of users who leave before the first item, and of those who
    continue after the last rank shown, unless it is below 0.05 %.

    Parameters
    ----------
    stops : DataFrame
        Result of :func:`pyterrier_cwla.behaviour.stop_distribution`.
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
    ax.xaxis.get_major_locator().set_params(integer=True)
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


def axes_of(ax: Any) -> Any:
    """Return the axes, or those of a new figure (7 × 3.2 inches), without the upper and right spine."""
    if ax is None:
        _, ax = _pyplot().subplots(figsize=(7, 3.2), layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def titled(ax: Any, title: str) -> Any:
    """Set a title in the common style and return the axes."""
    ax.set_title(title, fontsize=10, loc="left")
    return ax


def apart(heights: Any, least: float) -> Any:
    """Shift increasing heights of labels upwards, so that neighbours are at least ``least`` apart."""
    steps = least * np.arange(len(heights))
    return np.maximum.accumulate(np.asarray(heights, float) - steps) + steps


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError:
        raise CWLAError("figures need matplotlib: pip install 'pyterrier-cwla[plots]'.") from None
    return pyplot
