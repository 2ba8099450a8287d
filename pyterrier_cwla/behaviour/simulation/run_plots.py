"""Plot of the simulated users of several runs, one row a run. It needs matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import BadParameter, many
from ...errors.sanitise import in_picture
from ...rendering.figures import GREY, axes_of, titled
from ...rendering.labels import elided, key, name_rows, system_looks

_SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
_LESS_IS_BETTER = ("time", "items")


def plot_runs(simulation: Any, what: str, qid: str | None = None, ax: Any = None) -> Any:
    """Plot the ranges of gain, time, items or score of the users of each run.

    A thin line contains the middle 90 % of the users, a thick line the middle half; the vertical mark is the median and
    the point the mean, which is written at the right. Runs are sorted by the mean.

    Parameters
    ----------
    simulation : Simulation
        Result of ``simulate(…, keep=True)``.
    what : {"score", "gain", "time", "items"}
        Value to plot.
    qid : str, optional
        Query id; by default all queries.
    ax : matplotlib Axes, optional
        Axes to draw on; by default new ones.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    BadParameter
        If there is no such query, or if the values are infinite for all users.
    """
    axis = simulation.axis(what)
    users = {run: simulation.users(qid, run)[what].to_numpy() for run in simulation.mean.index}
    if not any(np.isfinite(values).any() for values in users.values()):
        raise BadParameter(f"the {what} of every user is infinite, so it cannot be plotted.")
    looks = system_looks(list(users))
    sign = 1 if what in _LESS_IS_BETTER else -1
    names = sorted(users, key=lambda run: sign * float(users[run].mean()))
    ax = axes_of(ax, (7, 1.6 + 0.2 * len(names)))
    ends = [_draw_users(ax, number, users[name], looks[name]["color"]) for number, name in enumerate(names)]
    name_rows(ax, range(len(names)), [elided(str(name), 40) for name in names])
    ax.set_ylim(len(names) - 0.5, -0.6)
    low, high = min(0.0, *(low for low, _ in ends)), max(high for _, high in ends)
    ax.set_xlim(low, low + 1.04 * (high - low or 1.0))
    ax.set_xlabel(axis)
    queries = simulation.by_query.index.get_level_values("query_id").nunique()
    whose = f"query {qid}" if qid is not None else f"each of {queries:,} queries" if queries > 1 else "one query"
    title = f"{what} of {simulation.n_users:,} users of {simulation.name} on {whose}, {many(len(names), 'system')}"
    titled(ax, in_picture(title[0].upper() + title[1:]))
    marks: dict[str, dict[str, Any]] = {
        "nine of ten users": {"linewidth": 1.2},
        "half of the users": {"linewidth": 4.5},
        "median": {"linestyle": "none", "marker": "|", "markersize": 11, "markeredgewidth": 1.8},
        "mean (also at the right)": {"linestyle": "none", "marker": "o", "markersize": 5},
    }
    key(ax, {name: {**look, "color": GREY} for name, look in marks.items()})
    return ax


def _draw_users(ax: Any, y: int, values: Any, colour: str) -> tuple[float, float]:
    """Draw the row of a run, as far as its values are finite; return the ends of what is drawn."""
    marks = np.quantile(values, _SHARES, method="inverted_cdf")
    mean = float(values.mean())
    ends = np.array([*marks, mean])
    ends = ends[np.isfinite(ends)]
    low, high = (float(ends.min()), float(ends.max())) if ends.size else (0.0, 0.0)
    for begin, end, width in ((marks[0], marks[4], 1.2), (marks[1], marks[3], 4.5)):
        if np.isfinite(begin):
            ax.hlines(y, begin, min(end, high), color=colour, linewidth=width)
            if not np.isfinite(end):
                ax.plot([high], [y], ">", color=colour, markersize=4, clip_on=False)
    if np.isfinite(marks[2]):
        ax.plot([marks[2]], [y], "|", color=colour, markersize=11, markeredgewidth=1.8)
    if np.isfinite(mean):
        ax.plot([mean], [y], "o", markersize=5, color=colour, markeredgecolor=ax.get_facecolor())
    written = f"{mean:.3g}" if np.isfinite(mean) else "∞"
    ax.text(1.02, y, written, transform=ax.get_yaxis_transform(), va="center", fontsize=8)
    return low, high
