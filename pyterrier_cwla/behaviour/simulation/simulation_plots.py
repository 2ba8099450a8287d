"""Pictures of simulated users: how what they gain, spend and see is spread around its mean. Needs matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import BadParameter, near
from ...errors.sanitise import in_picture
from ...rendering.figures import GAIN, GREY, ON_WHITE, SCORE, STAY, axes_of
from .user_paths import WHAT

if TYPE_CHECKING:
    from .simulator import Simulation

_BARS = 60


def plot_users(
    simulation: Simulation, what: str = "score", query: str | None = None, run: str | None = None, ax: Any = None
) -> Any:
    """The share of users by gain, time, items or score, of one query or of all, on matplotlib axes.

    The blue line is the users' mean; the red one, where ``what`` is the score, the measure itself. The highest percent
    of the users is in the last bar. Needs users that were kept (``simulate(…, keep=True)``).
    """
    if what not in WHAT:
        raise BadParameter(f"no {what!r} of a user. {near(what, WHAT)}")
    users = simulation.users(query, run)
    values = users[what].to_numpy()
    endless = ~np.isfinite(values)
    if endless.all():
        raise BadParameter(f"the {what} of every user is infinite: there is nothing to draw.")
    ax = axes_of(ax)
    finite = values[~endless]
    bars = _bars(finite)
    gap = bars[1] - bars[0]
    in_bars = np.minimum(finite, bars[-1] - gap / 2)
    ax.hist(in_bars, bars, weights=np.full(len(finite), 1 / len(values)), color=GAIN, rwidth=0.9)
    if finite.max() > bars[-1]:
        last = np.mean(in_bars >= bars[-2]) * len(finite) / len(values)
        ax.annotate("and more", (bars[-1] - gap / 2, last), xytext=(0, 3), textcoords="offset points",
                    ha="center", fontsize=8, color=GREY)  # fmt: skip
    name = users.index[0][0]
    found = simulation.by_query.loc[[pair for pair in simulation.kept if pair[0] == name and query in (None, pair[1])]]
    marks = [("mean", float(found[what].mean()), STAY, "-")]
    if what == "score":
        marks.append(("the measure", float(found["analytic"].mean()), SCORE, "--"))
    marks = [mark for mark in marks if np.isfinite(mark[1])]
    right = len(marks) < 2 or marks[0][1] >= marks[1][1]
    for (label, value, colour, line), left in zip(marks, (not right, right), strict=False):
        ax.axvline(value, color=colour, linestyle=line, linewidth=1.6)
        ax.annotate(
            f"{label} {value:.4g}",
            (value, 0.97),
            xycoords=("data", "axes fraction"),
            xytext=(-4 if left else 4, 0),
            textcoords="offset points",
            ha="right" if left else "left",
            va="top",
            color=colour,
            bbox=ON_WHITE,
        )
    units = {"gain": "gain", "items": "documents seen", "score": "score that a user leaves with"}
    unit = f"time ({simulation.unit})" if simulation.unit == "seconds" else simulation.unit
    ax.set_xlabel(in_picture(units.get(what, unit)))
    ax.set_ylabel("share of users")
    if ax.get_ylim()[1] > 0:
        ax.set_ylim(0, 1.18 * ax.get_ylim()[1])
    if endless.any():
        ax.text(0.99, 0.8, f"{endless.mean():.1%} without end", transform=ax.transAxes, ha="right", color=GREY)
    whose = f"query {query}" if query is not None else f"{len(found):,} {'queries' if len(found) > 1 else 'query'}"
    title = f"{simulation.name} · {name} · {whose}, {simulation.n_users:,} users each"
    ax.set_title(in_picture(title), fontsize=10, loc="left")
    return ax


def _bars(values: Any) -> Any:
    """Edges of equal bars up to the last percent; whole numbers stand in the middle of theirs."""
    low, top = float(values.min()), float(np.quantile(values, 0.99, method="higher"))
    if (values == np.round(values)).all():
        width = max(1.0, np.ceil((top - low + 1) / _BARS))
        return low - 0.5 + width * np.arange(np.floor((top - low) / width) + 2)
    return np.linspace(low, top if top > low else low + 1, _BARS + 1)
