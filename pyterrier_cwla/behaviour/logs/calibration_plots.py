"""Plots of a calibration and their data: reading times, progress down the list, and survival."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ...data.arrays import Array
from ...errors import BadLog, BadParameter, many, near
from ...errors.sanitise import in_picture
from ...rendering.figures import COLOURS, GAIN, SCORE, STAY, axes_of, text_colour, titled
from ...rendering.labels import key, label_ends

_FEW_LEFT = 0.01  # share of users below which the plot of survival ends
_HALVES = float(np.log2(1 / _FEW_LEFT))
_FEWEST = 5  # sessions per point of the plot of progress


def plot_reading_times(calibration: Any, ax: Any = None) -> Any:
    """Plot reading time against document length: averaged views, the fitted line, and the mean of duplicates."""
    points, reading = calibration.points, calibration.reading
    if not len(points) or reading is None:
        raise BadParameter("no reading times to draw: the log has no lengths, or no seconds on documents.")
    ax = axes_of(ax)
    first, again = points[~points.duplicate], points[points.duplicate]
    ax.scatter(first.words, first.seconds, s=14, color=GAIN, linewidth=0)
    ends = np.array([0.0, float(points.words.max()) * 1.02])
    a, b = (calibration[name].value for name in ("seconds_per_word", "seconds_per_document"))
    ax.plot(ends, a * ends + b, color=STAY, linewidth=1.8)
    ax.set_xlim(0, ends[1])
    ax.set_ylim(0, 1.12 * max(float(points.seconds.max()), a * ends[1] + b))
    dots = {"linestyle": "none", "marker": "o", "markersize": 4, "color": GAIN}
    looks: dict[str, dict[str, Any]] = {
        "first views": dots,
        f"{a:.3g} s per word + {b:.3g} s": {"color": STAY, "linestyle": "-"},
    }
    if len(again):
        ax.scatter(again.words, again.seconds, s=16, color=SCORE, marker="^")
        mean = reading.duplicate_mean
        ax.plot(ends, [mean, mean], color=SCORE, linewidth=1.4, linestyle="--")
        looks[f"duplicates, mean {mean:.3g} s"] = {"color": SCORE, "linestyle": "--", "marker": "^", "markersize": 4}
    ax.set_xlabel("length (words)")
    ax.set_ylabel("time on the document (seconds)")
    views = int(points.views.sum())
    titled(
        ax,
        f"Reading time by length · {views:,} views by {many(calibration.about['users'], 'user')}, about"
        f" {round(views / len(points)):,} per point · adjusted R² {reading.adjusted_r_squared:.2f}",
    )
    key(ax, looks)
    return ax


def progress(calibration: Any, log: Any, by: str | None = None, seconds: Any = None) -> pd.DataFrame:
    """Compute the observed and the predicted mean rank of users over time.

    The observed rank of a session is one more than the deepest rank that the user has passed or read. The predicted
    rank is the last rank k with T(k) not later than the time, with the efforts of ``calibration.measure()`` on the list
    of the session; results below the last logged rank take the mean time of the logged ones. Both are means over the
    sessions that have not ended. Documents of unknown length have the mean length; unjudged documents count as not
    relevant.

    Parameters
    ----------
    calibration : Calibration
    log : InteractionLog, or rows of a log
    by : str, optional
        Grouping of the sessions: "precision" (share of relevant documents in the list), "topic" or another column; by
        default one group.
    seconds : array_like, optional
        Times in seconds; by default 61 times up to the 95 % quantile of the durations.

    Returns
    -------
    DataFrame
        Columns group, seconds, observed, predicted and sessions (number of sessions that have not ended).

    References
    ----------
    Smucker and Clarke (2012), Eq. 4 and Figure 2.
    """
    from .leaving_times import elapsed
    from .log import as_log, numbered_sessions

    log = as_log(log)
    rows = log.rows
    session, _ = numbered_sessions(log)
    group = _groups(rows, session, by, calibration.about["rel"])
    effort = _efforts(calibration, log)
    count = session[-1] + 1
    end = elapsed(log, session) + np.nan_to_num(log.floats("document_seconds"))
    last = np.zeros(count)
    np.fmax.at(last, session, end)
    if seconds is None:
        seconds = np.linspace(0, np.quantile(last, 0.95), 61)
    seconds = np.asarray(seconds, float)
    observed = _reached(session, rows["rank"].to_numpy(), end, count, seconds)
    predicted = _predicted(session, effort, count, seconds)
    there = last[:, None] >= seconds[None, :]
    parts = []
    for name in sorted(group.unique()):
        mine = (group.to_numpy() == name)[:, None] & there
        many = mine.sum(axis=0)
        with np.errstate(invalid="ignore"):
            means = [np.where(mine, values, 0).sum(axis=0) / many for values in (observed, predicted)]
        parts.append(pd.DataFrame({"group": name, "seconds": seconds, "observed": means[0], "predicted": means[1],
                                   "sessions": many}))  # fmt: skip
    return pd.concat(parts, ignore_index=True)


def _groups(rows: pd.DataFrame, session: Array, by: str | None, rel: float) -> pd.Series:
    """Return the group of each session."""
    if by is None:
        return pd.Series("", index=range(session[-1] + 1))
    if by != "precision":
        if by not in rows:
            raise BadParameter(f"no by={by!r}. {near(str(by), ['precision', *rows.columns])}")
        return rows.groupby(session)[by].first().astype(str)
    if "grade" not in rows:
        raise BadLog("the log has no grades, so the precision of its lists is unknown.")
    precision = (rows["grade"].fillna(0) >= rel).groupby(session).mean()
    tenths = precision.round(1)
    if tenths.nunique() <= 3:
        return tenths.map("precision {:.1f}".format)
    third = pd.qcut(precision.rank(method="first"), 3, labels=False)
    return third.map(precision.groupby(third).mean().map("precision {:.2f}".format))


def _efforts(calibration: Any, log: Any) -> Array:
    """Return the seconds that time-biased gain assigns to each row of the log."""
    from ...model.view import Documents

    rows = log.rows
    lacking = {"half_life": 224.0, "p_save": 0.0}  # T(k) does not depend on these parameters
    metric = calibration.measure(**{k: v for k, v in lacking.items() if k not in calibration.parameters()}).metric
    grade = np.nan_to_num(log.floats("grade")).clip(0)

    def words() -> Array:
        if not log.has("words"):
            raise BadLog("the log has no column 'words', which the reading times of this calibration need.")
        found = rows["words"].fillna(rows["words"].mean()).to_numpy(float)
        return np.where(log.flags("duplicate"), 0.0, found)

    return np.broadcast_to(metric.effort(Documents(grade, words)), len(rows))


def _reached(session: Array, rank: Array, end: Array, count: int, seconds: Array) -> Array:
    """Return one more than the deepest rank that has ended at each time, [sessions × seconds]."""
    known = ~np.isnan(end)
    at = np.searchsorted(seconds, end[known])  # the first time that is not earlier
    deepest = np.zeros((count, len(seconds) + 1))
    np.maximum.at(deepest, (session[known], at), rank[known])
    return np.maximum.accumulate(deepest, axis=1)[:, :-1] + 1


def _predicted(session: Array, effort: Array, count: int, seconds: Array) -> Array:
    """Return the last rank k with T(k) not later than each time, [sessions × seconds]."""
    n = np.bincount(session, minlength=count)
    total = np.cumsum(effort)
    start = np.cumsum(n) - n
    before = np.append(0.0, total)[start]
    whole = total[start + n - 1] - before
    # Concatenate the times of all lists, so that one binary search finds the ranks in all of them.
    inside = before[:, None] + np.minimum(seconds[None, :], whole[:, None])
    passed = np.clip(np.searchsorted(total, inside, side="right") - start[:, None], 0, n[:, None])
    more = np.maximum(seconds[None, :] - whole[:, None], 0) / (whole / n)[:, None]
    return passed + np.floor(more) + 1


def plot_progress(calibration: Any, log: Any, ax: Any = None, by: str | None = None) -> Any:
    """Plot the rank of users over time: observed as steps, T(k) dashed; up to four groups, the largest ones."""
    table = progress(calibration, log, by)
    ax = axes_of(ax)
    largest = table.groupby("group")["sessions"].max().sort_values(ascending=False, kind="stable")
    names = list(largest.index[:4])
    curves, looks, top = {}, {}, 2.0
    for name, colour in zip(sorted(names), COLOURS):
        one = table[(table["group"] == name) & (table["sessions"] >= max(_FEWEST, 0.2 * largest[name]))]
        if not len(one):
            continue
        ax.step(one.seconds, one.observed, where="post", color=colour, linewidth=1.8)
        ax.plot(one.seconds, one.predicted, color=colour, linewidth=1.4, linestyle="--")
        label = f"{name} ({largest[name]:,})" if by else "observed"
        curves[label], looks[label] = (one.seconds, one.observed), {"color": colour}
        if not by:
            curves["predicted"], looks["predicted"] = (one.seconds, one.predicted), {"color": colour}
        top = max(top, one.observed.max(), one.predicted.max())
    if not curves:
        raise BadLog(f"no group has the {_FEWEST} sessions that a plot of means needs.")
    ax.set_ylim(0, 1.05 * top)
    ax.set_xlim(0, max(float(seconds.iloc[-1]) for seconds, _ in curves.values()))
    ax.set_xlabel("time (seconds)")
    ax.set_ylabel("rank reached (documents)")
    groups = f", by {in_picture(by)}" + (f" (4 of {len(largest):,})" if len(largest) > 4 else "") if by else ""
    sessions = many(int(largest.sum()), "session")
    titled(ax, f"How deep users are after some time · {sessions}{groups} · dashed: predicted by T(k)")
    label_ends(ax, curves, looks)
    return ax


def plot_survival(calibration: Any, ax: Any = None) -> Any:
    """Plot the share of users still present: observed steps, fitted D(t), thin lines for other distributions.

    The axis ends where less than 1 % of the users are left.
    If sessions enter late, the observed curve is conditional on staying until its beginning, and begins on D(t).
    """
    curve = calibration.curve
    if "half_life" in calibration.missing or not len(curve):
        raise BadParameter(f"no half-life to draw: {calibration.missing.get('half_life', 'no user left')}.")
    ax = axes_of(ax)
    h = calibration["half_life"].value
    begin = float(curve.seconds.iloc[0])
    left = curve.seconds[curve.share >= _FEW_LEFT]
    end = float(max(left.iloc[-1] if len(left) else 0.0, min(max(curve.seconds.iloc[-1], 1.5 * h), h * _HALVES)))
    t = np.linspace(0, end, 300)
    limit = calibration.about["max_seconds"] if calibration.about["beyond"] == "condition" else np.inf
    low, high = 0.5 ** (limit / h), 0.5 ** (begin / h)
    later = t[t >= begin]
    for other in calibration.shapes:
        if other.shape != "exponential" and np.isfinite(other.half_life):
            ax.plot(later, low + (high - low) * other.share(later, begin, limit), color=GAIN, linewidth=1)
    observed = low + (high - low) * curve.share.to_numpy()
    ax.step(curve.seconds, observed, where="post", color=text_colour(), linewidth=1.4)
    ax.plot(t, 0.5 ** (t / h), color=STAY, linewidth=1.8)
    ax.plot([h, h, 0], [0, 0.5, 0.5], color=STAY, linewidth=0.8, linestyle=":")
    ax.set_xlim(0, end)
    ax.set_ylim(0, 1.02)
    ax.set_xlabel("time since the query (seconds)")
    ax.set_ylabel("share of users still present")
    titled(ax, f"How long users stay · {many(calibration['half_life'].n, 'session')}")
    looks = {"observed": {"color": text_colour()}, f"fitted: half-life {calibration['half_life']} s": {"color": STAY}}
    if len(calibration.shapes) > 1:
        looks["other distributions"] = {"color": GAIN, "linewidth": 1}
    key(ax, looks)
    return ax
