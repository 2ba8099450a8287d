"""Effort by relevance grade, estimated from a log, for adaptive-effort metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...data.arrays import Array
from ...errors import BadLog, BadParameter, many, some
from ...model.language import float_or_int
from .estimate import Estimate, over_users, printed
from .log import InteractionLog, as_log, numbered_sessions
from .rates import Ratio, pooled


@dataclass(frozen=True, eq=False)
class GradeEfforts:
    """Effort to examine a result of each grade, t(r) = t_summary + P_click(r)·t_click(r).

    The keys of the dicts are grades; grades below 0 count as 0.

    Attributes
    ----------
    summary_seconds : Estimate
        t_summary, in seconds.
    p_click : dict of float to Estimate
        P_click(r), the probability of a click.
    seconds : dict of float to Estimate
        t_click(r), seconds on a clicked document.
    total : dict of float to Estimate
        t(r), in seconds.
    relative : dict of float to Estimate
        t(r)/t(r_max), relative to the effort of the highest grade.
    users : int
        Number of users.
    notes : tuple of str
        Remarks about the log and the estimates.
    """

    summary_seconds: Estimate
    p_click: dict[float, Estimate]
    seconds: dict[float, Estimate]
    total: dict[float, Estimate]
    relative: dict[float, Estimate]
    users: int
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return printed(f"Efforts by grade of {many(self.users, 'user')}, in seconds", self.table, self.notes)

    @property
    def table(self) -> pd.DataFrame:
        """Estimates and ends of their intervals, one row per grade, as Table 2 of Jiang and Allan (2016)."""
        columns: dict[str, Any] = {"grade": list(self.total), "t_summary": self.summary_seconds.value}
        named = (("P_click", self.p_click), ("t_click", self.seconds), ("t", self.total), ("relative", self.relative))
        for name, numbers in named:
            columns[name] = [estimate.value for estimate in numbers.values()]
        for name, numbers in named:
            for end in ("low", "high"):
                columns[f"{name} {end}"] = [getattr(estimate, end) for estimate in numbers.values()]
        return pd.DataFrame(columns)

    def by_grade(self, digits: int = 4) -> str:
        """Return the relative efforts as an effort of a measure: ``"by_grade({0: 0.26, 1: 0.61, 2: 1})"``.

        Parameters
        ----------
        digits : int, default=4
            Number of decimal places.

        Returns
        -------
        str
        """
        return f"by_grade({_written(self.relative, digits)})"

    def grade_time(self, digits: int = 4) -> str:
        """Return the efforts in seconds as an effort of a measure.

        Parameters
        ----------
        digits : int, default=4
            Number of decimal places.

        Returns
        -------
        str
            ``"grade_time(summary_seconds=4.4, p_click={…}, seconds={…})"``.
        """
        summary = f"{round(self.summary_seconds.value, digits):g}"
        p_click, seconds = _written(self.p_click, digits), _written(self.seconds, digits)
        return f"grade_time(summary_seconds={summary}, p_click={p_click}, seconds={seconds})"


def grade_efforts(
    log: Any,
    summary_seconds: float | None = None,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> GradeEfforts:
    """Estimate the expected seconds to examine a result of each grade, t(r) = t_summary + P_click(r)·t_click(r).

    P_click(r) is the share of seen results of grade r that were clicked (without a column ``seen``, of all results).
    t_click(r) is the mean ``document_seconds`` of clicked results. t_summary is the sum of ``summary_seconds`` of seen
    results divided by their number (in sessions with seconds), unless it is given. Observations of all users are
    pooled. Clicked results without seconds contribute only to P_click, and unjudged results only to t_summary.

    Parameters
    ----------
    log : InteractionLog, or rows of a log
        Log to estimate from.
    summary_seconds : float, optional
        t_summary in seconds, such as the 4.4 s of Smucker and Clarke that the paper uses; a given value has no
        interval.
    confidence : float in (0, 1), default=0.95
        Level of the intervals.
    resamples : int, default=1000
        Number of bootstrap resamples of users.
    seed : int, default=0
        Seed of the resamples.

    Returns
    -------
    GradeEfforts

    Raises
    ------
    BadLog
        If grades, seconds or the clicks of a grade are missing.
    BadParameter
        If `summary_seconds` is negative or infinite.

    References
    ----------
    Jiang and Allan (2016), Eq. 6 and Table 2.

    Examples
    --------
    >>> rows = [dict(user=f"u{n}", session="s", topic="t", rank=r, docno=f"d{r}", clicked=n % 2 == 0, grade=g,
    ...              document_seconds=s if n % 2 == 0 else None)
    ...         for n in range(10) for r, g, s in [(1, 0, 20.0), (2, 1, 40.0)]]
    >>> efforts = grade_efforts(InteractionLog.of(rows), summary_seconds=5, resamples=100)
    >>> efforts.table[["grade", "t_summary", "P_click", "t_click", "t", "relative"]]
       grade  t_summary  P_click  t_click     t  relative
    0      0        5.0      0.5     20.0  15.0       0.6
    1      1        5.0      0.5     40.0  25.0       1.0
    >>> efforts.by_grade()
    'by_grade({0: 0.6, 1: 1})'
    """
    log = as_log(log)
    _check(log, summary_seconds)
    user, names = pd.factorize(log.rows["user"])
    clicked, seconds = log.rows["clicked"].to_numpy(bool), log.floats("document_seconds")
    seen, timed = log.seen, clicked & ~np.isnan(seconds)
    grade = log.rows["grade"].clip(lower=0).to_numpy(float)
    grades = np.unique(grade[seen & ~np.isnan(grade)])
    if not len(grades):
        raise BadLog("efforts by grade need grades: no result that was seen has a grade.")

    def by_user(which: Array, values: Array | None = None) -> Array:
        return np.bincount(user[which], None if values is None else values[which], len(names)).astype(float)

    clicks, times = [], []
    for one in grades:
        alike = seen & (grade == one)
        clicks.append(pooled(by_user(alike & clicked), by_user(alike)))
        times.append(pooled(by_user(alike & timed, seconds), by_user(alike & timed)))
    labels = [float_or_int(g) for g in grades]
    silent = [label for label, ratio in zip(labels, times) if np.isnan(ratio.value)]
    if silent:
        raise BadLog(f"no clicked result of grade {some(silent)} has seconds, so t_click is unknown.")
    if summary_seconds is None:
        on_summaries, (session, _) = log.floats("summary_seconds"), numbered_sessions(log)
        known = np.bincount(session, ~np.isnan(on_summaries))[session] > 0  # only sums over a session are meaningful
        summary = pooled(by_user(seen & known, np.nan_to_num(on_summaries)), by_user(seen & known))
        if np.isnan(summary.value):
            raise BadLog("no seen result is in a session with 'summary_seconds': give summary_seconds=.")
    else:  # the same in all resamples
        summary = pooled(summary_seconds * np.ones(len(names)), np.ones(len(names)))
    found = _estimates(summary, clicks, times, summary_seconds, (confidence, resamples, seed))
    p_click, reading, total, relative = (dict(zip(labels, found[at:])) for at in range(1, len(found), len(labels)))
    notes = _notes(log, seen, grade, clicked, timed)
    return GradeEfforts(found[0], p_click, reading, total, relative, len(names), notes)


def _check(log: InteractionLog, summary_seconds: float | None) -> None:
    if not log.has("grade"):
        raise BadLog("efforts by grade need grades: the log has no column 'grade'.")
    if not log.has("document_seconds"):
        raise BadLog("efforts by grade need the seconds on clicked documents: the log has no 'document_seconds'.")
    if summary_seconds is None and not log.has("summary_seconds"):
        raise BadLog(
            "the log has no 'summary_seconds': give summary_seconds=, such as 4.4, the value of Smucker and Clarke."
        )
    if summary_seconds is not None and not 0 <= summary_seconds < np.inf:
        raise BadParameter(f"summary_seconds={summary_seconds!r}: give seconds, 0 or more.")


def _estimates(
    summary: Ratio, clicks: list[Ratio], times: list[Ratio], given: float | None, bootstrap: tuple[float, int, int]
) -> list[Estimate]:
    """Return t_summary, then P_click, t_click, t and relative effort of each grade; `given` is a given t_summary."""
    grades, ratios = len(clicks), [summary, *clicks, *times]

    def numbers(totals: Array) -> Array:
        top, bottom = np.split(totals, 2)
        shares = np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0)
        t = shares[0] + shares[1 : grades + 1] * shares[grades + 1 :]
        return np.vstack([shares, t, t / t[-1:]])

    sums = np.vstack([[r.top for r in ratios], [r.bottom for r in ratios]])
    value = numbers(sums.sum(axis=1, keepdims=True))[:, 0]
    varies = np.ones(len(value), bool)
    varies[-1] = False  # the highest grade's effort is the unit
    n = np.array([r.bottom.sum() for r in ratios] + [c.bottom.sum() for c in clicks] * 2)
    if given is not None:
        value[0], varies[0], n[0] = given, False, 0  # without the rounding errors of sums
    low, high = np.full((2, len(value)), np.nan)
    low[varies], high[varies] = over_users(sums, lambda totals: numbers(totals)[varies], *bootstrap)
    return [Estimate(float(v), float(a), float(b), int(c)) for v, a, b, c in zip(value, low, high, n, strict=True)]


def _notes(log: InteractionLog, seen: Array, grade: Array, clicked: Array, timed: Array) -> tuple[str, ...]:
    counts = {
        "seen results are unjudged and contribute only to t_summary": seen & np.isnan(grade),
        "clicked results have no seconds and contribute only to P_click": seen & clicked & ~timed & ~np.isnan(grade),
    }
    return (*log.notes, *(f"{which.sum():,} {what}" for what, which in counts.items() if which.any()))


def _written(numbers: dict[float, Estimate], digits: int) -> str:
    return "{" + ", ".join(f"{g}: {round(e.value, digits):g}" for g, e in numbers.items()) + "}"
