"""Continuation probabilities and efforts by grade observed in a log, and survival curves of measures on its lists."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...data.columns import Array
from ...data.rankings import Pool, Rankings
from ...errors import BadLog, BadParameter, check_whole, many, some
from ...evaluation.explanation import stops_of
from ...measures.declarations import metric_of
from ...measures.named import measures_of
from ...model.language import float_or_int
from ...model.metric import Metric
from ...model.view import Documents
from ...model.view_columns import seen_part
from ...rendering.figures import (
    COLOURS,
    GAIN,
    GREY,
    STAY,
    axes_of,
    label_ends,
    measure_look,
    name_columns,
    saved,
    text_colour,
    titled,
)
from .calibration_estimates import LogEstimates
from .estimators import Bootstrap, Estimate, LogResult, Ratio, estimates_of, pooled, ratios
from .log import InteractionLog, as_log, highest, numbered_sessions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...files.atomic import AnyPath


@dataclass(frozen=True, eq=False, repr=False)
class Continuing(LogResult):
    """Continuation probabilities C(i) of a log.

    Attributes
    ----------
    table : DataFrame
        One row per rank, with the columns rank, at_risk and left (numbers of sessions), C, low, high (ends of the
        interval) and smoothed.
    source : str
        "views" or "last clicks".
    sessions : int
        Number of sessions.
    users : int
        Number of users.
    notes : tuple of str
        Remarks about the log and the estimates.
    log : InteractionLog
        The log.
    """

    table: pd.DataFrame
    source: str

    @property
    def title(self) -> str:
        """Title of the printed table."""
        return f"C(i) from {self.source}, {self.sizes}"

    def spec(self, depth: int | None = None) -> str:
        """Return the smoothed C(1), C(2), … as a continuation, for ``CWLA(C=…)``.

        Users of ``fixed`` who continue after the last of these ranks inspect one more item and leave.

        Parameters
        ----------
        depth : int, optional
            Number of ranks to keep, for logs with few sessions at the last ranks; by default all.

        Returns
        -------
        str
            ``"fixed(0.9, 0.8)"``.
        """
        known = self.table["smoothed"].head(depth).round(4)
        return f"fixed({', '.join(f'{value:g}' for value in known)})"


def continuing_from_views(
    log: Any,
    last_rank: int | None = None,
    prior: float = 10,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Continuing:
    """Estimate C(i) from the deepest rank that each session saw.

    C(i) is the number of sessions that saw a rank below i, divided by the number of sessions that saw rank i.
    Interrupted sessions (``cut_off``) and sessions that reached `last_rank` are censored: they count only down to the
    rank above their deepest one (Kaplan and Meier, 1958: ΠC(j) is the share of users who would be present without
    censoring). Ranks above the deepest one that have no row count as seen.

    ``smoothed`` is the posterior mean (continued + prior·C̄) / (at risk + prior) with a Beta prior at the mean C̄ of
    all ranks. An interval is NaN if a resample has no session at its rank.

    Parameters
    ----------
    log : InteractionLog, or rows of a log
        Log to estimate from.
    last_rank : int, optional
        Last rank of the result lists.
    prior : float, default=10
        Weight of the prior in sessions; 0 disables the smoothing.
    confidence : float in (0, 1), default=0.95
        Level of the intervals of C.
    resamples : int, default=1000
        Number of bootstrap resamples of users.
    seed : int, default=0
        Seed of the resamples.

    Returns
    -------
    Continuing

    Raises
    ------
    BadLog
        If no session has a known continuation or end.
    BadParameter
        If `prior` is negative, or a session goes below `last_rank`.

    References
    ----------
    Moffat et al. (2022), section 2, for C(i).

    Examples
    --------
    >>> rows = [dict(user=u, session="s", topic="t", rank=r, docno=f"d{r}", clicked=False)
    ...         for u, deepest in [("a", 1), ("b", 2), ("c", 3), ("d", 3)] for r in range(1, deepest + 1)]
    >>> found = continuing_from_views(InteractionLog.of(rows), last_rank=3, prior=0, resamples=50)
    >>> found.table[["rank", "at_risk", "left", "C"]].round(3)
       rank  at_risk  left      C
    0     1        4     1  0.750
    1     2        3     1  0.667
    >>> found.spec()
    'fixed(0.75, 0.6667)'
    """
    log = as_log(log)
    return _continuing(log, log.seen, "views", last_rank, prior, Bootstrap(confidence, resamples, seed), ())


def continuing_from_last_clicks(
    log: Any,
    last_rank: int | None = None,
    prior: float = 10,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Continuing:
    """Estimate C(i) from the deepest click of each session, for logs without the results seen.

    C(i) is the number of sessions whose deepest click is below rank i, divided by the number of sessions whose deepest
    click is at rank i or below. Users inspect results below their last click, so C is too low, particularly near the
    end of the lists. Sessions without a click are excluded and counted in the notes. Censoring and smoothing are those
    of :func:`continuing_from_views`.

    Parameters
    ----------
    log : InteractionLog, or rows of a log
        Log to estimate from.
    last_rank : int, optional
        Last rank that users can click; sessions with a click at this rank are censored.
    prior : float, default=10
        Weight of the prior in sessions; 0 disables the smoothing.
    confidence : float in (0, 1), default=0.95
        Level of the intervals of C.
    resamples : int, default=1000
        Number of bootstrap resamples of users.
    seed : int, default=0
        Seed of the resamples.

    Returns
    -------
    Continuing

    Raises
    ------
    BadLog
        If no session has a known continuation or end.
    BadParameter
        If `prior` is negative, or a session goes below `last_rank`.

    References
    ----------
    Moffat, Thomas and Scholer (2013).
    """
    log = as_log(log)
    clicked = log.flags("clicked")
    notes = ("users inspect results below their last click: C is too low, particularly near the end of the lists",)
    return _continuing(log, clicked, "last clicks", last_rank, prior, Bootstrap(confidence, resamples, seed), notes)


def _continuing(
    log: InteractionLog,
    which: Array,
    source: str,
    last_rank: int | None,
    prior: float,
    bootstrap: Bootstrap,
    notes: tuple[str, ...],
) -> Continuing:
    if not prior >= 0:
        raise BadParameter(f"prior={prior!r}: give a number of sessions, 0 or more.")
    number, user = numbered_sessions(log)
    deepest = highest(number[which], log.rows["rank"].to_numpy()[which], len(user))
    kept = np.zeros(len(user), bool)
    kept[number[log.flags("cut_off")]] = True
    if last_rank is not None:
        if (deepest > last_rank).any():
            raise BadParameter(f"last_rank={last_rank}: the log has sessions that go down to rank {deepest.max()}.")
        kept |= deepest == last_rank
    some, notes = deepest > 0, (*log.notes, *notes)
    if not some.all():
        notes += (f"{(~some).sum():,} of {len(some):,} sessions are excluded: they have no {source.split()[-1]}",)
    if (kept & some).any():
        notes += (f"{(kept & some).sum():,} sessions were interrupted or reached the end of their list (censored)",)
    user = np.unique(user[some], return_inverse=True)[1]
    left, went_on = _by_rank(deepest[some], user, kept[some])
    at_risk = went_on + left
    known = at_risk.sum(axis=1) > 0
    if not known.any():
        raise BadLog(f"the {source} of the log contain no continuation and no end of a session.")
    left, went_on, at_risk = left[known], went_on[known], at_risk[known]
    low, high = bootstrap.intervals(np.vstack([went_on, at_risk]), ratios)
    on, of = went_on.sum(axis=1), at_risk.sum(axis=1)
    table = pd.DataFrame(
        {
            "rank": np.flatnonzero(known) + 1,
            "at_risk": of.astype(int),
            "left": left.sum(axis=1).astype(int),
            "C": on / of,
            "low": low,
            "high": high,
            "smoothed": (on + prior * on.sum() / of.sum()) / (of + prior),
        }
    )
    return Continuing(len(user), left.shape[1], notes, log, table, source)


def _by_rank(deepest: Array, user: Array, kept: Array) -> tuple[Array, Array]:
    """Count the sessions that ended and that continued at each rank.

    Parameters
    ----------
    deepest, user : ndarray of int, shape (n_sessions,)
        Deepest rank and user number of each session.
    kept : ndarray of bool, shape (n_sessions,)
        Censored sessions, which do not count at their deepest rank.

    Returns
    -------
    left, went_on : ndarray, shape (n_ranks, n_users)
    """
    users, depth = int(user.max(initial=-1)) + 1, int(deepest.max(initial=0))

    def ended(sessions: Any) -> Array:
        place = deepest[sessions] * users + user[sessions]
        return np.bincount(place, minlength=(depth + 1) * users).reshape(depth + 1, users)[1:].astype(float)

    came_to = ended(slice(None))
    return ended(~kept), np.cumsum(came_to[::-1], axis=0)[::-1] - came_to


def survival_of_lists(log: Any, measures: Any, depth: int) -> pd.DataFrame:
    """Compute V(i), the share of users who inspect rank i, under each measure, averaged over the lists of a log.

    The grades are those of the log. Missing and unjudged results gain nothing, and the total gain of a topic is that of
    all its documents in the log. Measures that need lengths use the column ``words``. If the effort varies by document,
    the average is over the lists that reach `depth`, because the effort of missing results is unknown.

    Parameters
    ----------
    log : InteractionLog, or rows of a log
        Log with the lists.
    measures : sequence of Measure or str, or dict of these by label
        Measures that follow a user model.
    depth : int
        Last rank.

    Returns
    -------
    DataFrame, shape (depth, n_measures)
        One row per rank, one column per measure.

    Raises
    ------
    BadLog
        If the effort varies by document, and no list reaches `depth` or lengths are missing.

    References
    ----------
    Moffat et al. (2022), Eq. 2; Chapelle et al. (2009), Figure 1.

    Examples
    --------
    >>> rows = [dict(user="u", session="s", topic="t", rank=r, docno=f"d{r}", clicked=False, grade=g)
    ...         for r, g in [(1, 0), (2, 1), (3, 0)]]
    >>> survival_of_lists(InteractionLog.of(rows), ["RBP(rel=1)", "AdaptiveERR(max_rel=1)"], 3)
          RBP(rel=1)  AdaptiveERR(max_rel=1)
    rank
    1           1.00                     1.0
    2           0.80                     1.0
    3           0.64                     0.5
    """
    log = as_log(log)
    check_whole(1, depth=depth)
    rankings = _rankings(log)
    # metrics without a maximum grade, which static continuations do not need
    found = {str(one): _survival(metric_of(one), log, rankings, depth) for one in measures_of(measures)}
    return pd.DataFrame(found, index=pd.RangeIndex(1, depth + 1, name="rank"))


def _rankings(log: InteractionLog) -> Rankings:
    """Return the lists of all sessions as rankings."""
    number, user = numbered_sessions(log)
    rank = log.rows["rank"].to_numpy()
    n = highest(number, rank, len(user))
    topic, topics = pd.factorize(log.rows["topic"], sort=True)
    grade = log.floats("grade")
    judged = ~np.isnan(grade)
    known = pd.DataFrame({"topic": topic, "docno": log.rows["docno"], "grade": grade})[judged]
    known = known.drop_duplicates(["topic", "docno"]).sort_values("topic")
    pool = Pool(len(topics), known["topic"].to_numpy(), known["grade"].to_numpy())
    of_topic = np.zeros(len(n), np.int64)
    of_topic[number] = topic
    return Rankings.of_hits(n, number[judged], rank[judged], grade[judged], pool, topic=of_topic)


def _survival(metric: Metric, log: InteractionLog, rankings: Rankings, depth: int) -> Array:
    if metric.rank_only and metric.unit_effort and metric.end != "stop":
        rankings = Rankings.of_gains([np.zeros(1)])
    elif not metric.unit_effort:
        rankings = replace(rankings, efforts=_efforts(metric, log, rankings), views={})
    stops = stops_of(metric, seen_part(metric, rankings), depth)
    if not metric.unit_effort:
        known = rankings.n >= depth
        if not known.any():
            raise BadLog(f"no list of the log reaches rank {depth}: give a depth of {rankings.n.max()} or less.")
        stops = stops[known]
    return 1 - np.cumsum(stops[:, :depth], axis=1).mean(axis=0)


def _efforts(metric: Metric, log: InteractionLog, rankings: Rankings) -> Any:
    number, _ = numbered_sessions(log)
    rank = log.rows["rank"].to_numpy() - 1
    grade, words = np.nan_to_num(log.floats("grade")).clip(0), log.floats("words")
    results = int(rankings.n.sum())
    lacking = results - np.count_nonzero(~np.isnan(words))
    if metric.needs_words and lacking:
        raise BadLog(
            f"{metric.effort.keyword} needs the column words for every result; {lacking:,} of {results:,} results"
            " (including missing ranks) have no value."
        )
    if metric.needs_cost:
        raise BadLog(f"{metric.effort.keyword} reads known costs of documents, which logs do not have.")

    def efforts(queries: Array, width: int) -> Array:
        grades, lengths = np.zeros((2, len(rankings), width))
        inside = rank < width
        grades[number[inside], rank[inside]] = grade[inside]
        lengths[number[inside], rank[inside]] = words[inside]
        documents = Documents(grades[queries], lambda: lengths[queries], rank=np.arange(1.0, width + 1)[None, :])
        return np.broadcast_to(np.asarray(metric.effort(documents), float), (len(queries), width))

    return efforts


@dataclass(frozen=True, eq=False, repr=False)
class GradeEfforts(LogResult):
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
    sessions : int
        Number of sessions.
    users : int
        Number of users.
    notes : tuple of str
        Remarks about the log and the estimates.
    log : InteractionLog
        The log.
    """

    summary_seconds: Estimate
    p_click: dict[float, Estimate]
    seconds: dict[float, Estimate]
    total: dict[float, Estimate]
    relative: dict[float, Estimate]

    @property
    def title(self) -> str:
        """Title of the printed table."""
        return f"Efforts by grade of {many(self.users, 'user')}, in seconds"

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
    found = LogEstimates(log, "seen", rel=1)
    grade = np.maximum(found.grade, 0)
    grades = np.unique(grade[found.seen & found.judged])
    if not len(grades):
        raise BadLog("efforts by grade need grades: no result that was seen has a grade.")
    clicks, times = [], []
    for one in grades:
        alike = found.seen & (grade == one)
        clicks.append(pooled(found.by_user(alike & found.clicked), found.by_user(alike)))
        times.append(pooled(found.by_user(alike & found.read, found.on_document), found.by_user(alike & found.read)))
    labels = [float_or_int(g) for g in grades]
    silent = [label for label, ratio in zip(labels, times) if np.isnan(ratio.value)]
    if silent:
        raise BadLog(f"no clicked result of grade {some(silent)} has seconds, so t_click is unknown.")
    if summary_seconds is None:
        summary = pooled(*found.of_summaries())
        if np.isnan(summary.value):
            raise BadLog("no seen result is in a session with 'summary_seconds': give summary_seconds=.")
    else:  # the same in all resamples
        summary = pooled(np.full(found.users, summary_seconds), np.ones(found.users))
    found.note((found.seen & ~found.judged).sum(), "{:,} seen results are unjudged and contribute only to t_summary")
    found.note(
        (found.seen & found.judged & found.clicked & ~found.read).sum(),
        "{:,} clicked results have no seconds and contribute only to P_click",
    )
    estimates = _estimates(summary, clicks, times, summary_seconds, Bootstrap(confidence, resamples, seed))
    p_click, seconds, total, relative = (
        dict(zip(labels, estimates[at:])) for at in range(1, len(estimates), len(labels))
    )
    of_log = len(found.last), found.users, tuple(found.notes), log
    return GradeEfforts(*of_log, estimates[0], p_click, seconds, total, relative)


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
    summary: Ratio, clicks: list[Ratio], times: list[Ratio], given: float | None, bootstrap: Bootstrap
) -> list[Estimate]:
    """Return t_summary, then P_click, t_click, t and relative effort of each grade; `given` is a given t_summary."""
    grades, parts = len(clicks), [summary, *clicks, *times]

    def numbers(totals: Array) -> Array:
        shares = ratios(totals)
        t = shares[0] + shares[1 : grades + 1] * shares[grades + 1 :]
        return np.vstack([shares, t, t / t[-1:]])

    sums = np.vstack([[part.top for part in parts], [part.bottom for part in parts]])
    value = numbers(sums.sum(axis=1, keepdims=True))[:, 0]
    varies = np.ones(len(value), bool)
    varies[-1] = False  # the highest grade's effort is the unit
    n = np.array([part.bottom.sum() for part in (*parts, *clicks, *clicks)])
    if given is not None:
        value[0], varies[0], n[0] = given, False, 0  # without the rounding errors of sums
    low, high = np.full((2, len(value)), np.nan)
    low[varies], high[varies] = bootstrap.intervals(sums, lambda totals: numbers(totals)[varies])
    return estimates_of(value, low, high, n)


def _written(numbers: dict[float, Estimate], digits: int) -> str:
    return "{" + ", ".join(f"{g}: {round(e.value, digits):g}" for g, e in numbers.items()) + "}"


def plot_continuing(
    found: Any, measures: Any = (), depth: int = 20, ax: Any = None, path: AnyPath | None = None
) -> Axes:
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
    path : path, optional
        File to which the figure is saved.

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
    draw_ranks(ax, table, "C", C, measures, table["smoothed"], found.source)
    lowest = min(float(np.nanmin(values)) for values in (table["low"].fillna(table["C"]), C) if np.size(values))
    ax.set(ylim=(max(0.0, lowest - 0.1 * (1 - lowest)), 1.02), ylabel="share who continue (C)")
    return saved(titled(ax, f"How many users continue after each rank (broad line: smoothed) · {found.sizes}"), path)


def plot_grade_efforts(efforts: Any, ax: Any = None, path: AnyPath | None = None) -> Axes:
    """Plot the seconds to examine a result of each grade, on its summary and on the document.

    Parameters
    ----------
    efforts : GradeEfforts
        Estimates of :func:`grade_efforts`.
    ax : matplotlib Axes, optional
        Axes to draw on; by default new ones.
    path : path, optional
        File to which the figure is saved.

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
    highest = np.nanmax(table["t high"].fillna(table["t"]))
    ax.set(ylim=(0, 1.15 * highest), xlabel="grade", ylabel="effort (seconds)")
    what = "Seconds to examine a result (in brackets: relative to the highest grade)"
    titled(ax, f"{what} · {many(efforts.users, 'user')}")
    looks = {"summary": {"color": GREY}, "document, if clicked": {"color": STAY}}
    label_ends(ax, {text: ([last + 0.25], [height]) for text, height in middles.items()}, looks)
    return saved(ax, path)


def draw_dots(ax: Any, x: Any, y: Any, low: Any, high: Any, colour: str = STAY, mark: str = "o") -> None:
    """Draw points with their intervals; points without an interval have no line."""
    y = np.asarray(y, float)
    ends = np.vstack([y - np.asarray(low, float), np.asarray(high, float) - y])
    ends = np.maximum(np.nan_to_num(ends), 0)
    ax.errorbar(
        x, y, yerr=ends, fmt=mark or "none", color=colour, ecolor=colour, markersize=5, elinewidth=1.4, zorder=3
    )


def draw_ranks(
    ax: Any, table: pd.DataFrame, value: str, curves: pd.DataFrame, measures: Any, named: pd.Series, source: str
) -> None:
    """Draw a column of a table over the ranks, with its intervals, and a line per measure.

    The name of the log is at the right end of `named`, those of the measures at the right ends of their curves: the
    texts by which these were given, which show all parameters.
    """
    if len(curves.columns) > len(COLOURS):
        raise BadParameter(
            f"{len(curves.columns)} measures are too many to distinguish in a plot: give up to {len(COLOURS)}."
        )
    given = [measures] if isinstance(measures, str) else list(measures)
    if len(given) == len(curves.columns):
        curves = curves.set_axis([one if isinstance(one, str) else name for one, name in zip(given, curves)], axis=1)
    draw_dots(ax, table.index.to_numpy(), table[value], table["low"], table["high"], text_colour())
    of_log = f"users of the log, from {source}"
    ends, looks = {of_log: (named.index, named)}, {of_log: {"color": text_colour()}}
    for number, name in enumerate(curves):
        ends[name], looks[name] = (curves.index, curves[name]), measure_look(number)
        ax.plot(*ends[name], **looks[name] | {"marker": ""}, linewidth=1.4, zorder=1)
    label_ends(ax, ends, looks)
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel("rank (documents)")
