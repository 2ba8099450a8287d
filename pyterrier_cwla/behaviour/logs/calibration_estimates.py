"""Estimates of a calibration from a log: leaving times, order of clicks, decisions and reading times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..._version import __version__
from ...data.columns import Array
from ...errors import BadLog, BadParameter, check_known, many
from ...measures.calibrations import CURVE, NUMBERS, table_of
from ...rendering.numbers import percent
from .estimators import (
    UNDEFINED_AT_0,
    Bootstrap,
    Ratio,
    ReadingTimeLine,
    StayDistribution,
    Stays,
    correlation,
    correlation_sums,
    far_better,
    fit,
    grid,
    half_life,
    least_squares,
    line,
    line_sums,
    pooled,
    ratios,
    reading_points,
    standard_error,
    survival_curve,
    unweighted,
    weighted,
    zero_of_scores,
)
from .log import InteractionLog, highest, numbered_sessions

#: Times of leaving: end of the last item, or last click.
UNTIL = ("end", "click")
#: Treatments of sessions longer than max_seconds.
BEYOND = ("censor", "condition", "exclude")


_NOISE = 1e-6  # seconds: tolerance for equal sums of seconds


class Events(NamedTuple):
    """Events of sessions in the order of time; an event is a result that was clicked or passed at a known time.

    Attributes
    ----------
    user : ndarray of int, shape (n_sessions,)
        Number of the user of each session.
    clicks_in_all : ndarray, shape (n_sessions,)
        Number of clicks.
    cut_off : ndarray of bool, shape (n_sessions,)
        Whether the session was interrupted.
    deepest : ndarray of int, shape (n_sessions,)
        Rank of the last result seen.
    row : ndarray of int, shape (n_events,)
        Row of the log of each event.
    session : ndarray of int, shape (n_events,)
        Number of the session of each event.
    clicked : ndarray of bool, shape (n_events,)
        Whether the result was clicked.
    begin : ndarray, shape (n_events,)
        Time at which the item began, which is the end of the previous item; all times are seconds from the start of the
        session.
    time : ndarray, shape (n_events,)
        Time of the click or of passing the result.
    end : ndarray, shape (n_events,)
        Time at which the item ended.
    complete : ndarray of bool, shape (n_events,)
        Whether the end is known: the seconds on the document are known, or the document was not opened.
    clicks : ndarray of int, shape (n_events,)
        Number of clicks of the session up to and including this event.
    """

    user: Array
    clicks_in_all: Array
    cut_off: Array
    deepest: Array
    row: Array
    session: Array
    clicked: Array
    begin: Array
    time: Array
    end: Array
    complete: Array
    clicks: Array


def check(until: str, min_clicks: int, max_seconds: float, beyond: str) -> None:
    """Raise `BadParameter` for invalid arguments of :func:`stays`."""
    check_known("time of leaving", UNTIL, until=until)
    check_known("treatment of long sessions", BEYOND, beyond=beyond)
    if min_clicks < 0 or (until == "click" and min_clicks < 1) or min_clicks != int(min_clicks):
        raise BadParameter("must be a whole number, 0 or more (1 or more with until='click').", min_clicks=min_clicks)
    if not max_seconds > 0:
        raise BadParameter("must be above 0.", max_seconds=max_seconds)


def stays(
    log: InteractionLog | Events,
    until: str = "end",
    min_clicks: int = 5,
    max_seconds: float = 1800,
    beyond: str = "censor",
    last_rank: int | None = None,
) -> Stays:
    """Return the time or interval of leaving of each session.

    With ``until="end"``, users follow time-biased gain: a user inspects item k if still present at its beginning T(k),
    so a user who inspected item k and not k+1 left between T(k) and T(k+1). The interval starts at the beginning of the
    last recorded item and ends at its end (document closed, or result passed). If the last event is a click with an
    unknown reading time, the user left at the click.

    With ``until="click"``, the user left at the last click. This approximation of the paper ignores the time after the
    last click; with the values of the paper (Table 1), half-lives are 3 % too short.

    Parameters
    ----------
    log : InteractionLog or Events
    until : {"end", "click"}, default="end"
        Time of leaving.
    min_clicks : int, default=5
        Minimum number of clicks. Sessions with fewer clicks are excluded, so the others are truncated (``entry``) at
        the time of this click, or with ``until="end"`` at the beginning of its item.
    max_seconds : float, default=1800
        Longest duration in seconds.
    beyond : {"censor", "condition", "exclude"}, default="censor"
        Treatment of longer sessions. "censor": censored at `max_seconds`. "condition": excluded, and the others are
        truncated (``limit``). "exclude": excluded, without a correction.
    last_rank : int, optional
        Last rank of the result lists. A session that reaches it is right-censored at the beginning of that item, as are
        interrupted sessions at their end: their users might have continued.

    Returns
    -------
    Stays

    Raises
    ------
    BadLog
        If the log has no times.
    BadParameter
        If an argument is invalid.

    References
    ----------
    Smucker and Clarke (2012), section 4.2, for the minimum of clicks and ``until="click"``.
    """
    check(until, min_clicks, max_seconds, beyond)
    events = log if isinstance(log, Events) else events_of(log)
    enough, cut = events.clicks_in_all >= min_clicks, events.cut_off
    lower, reached, entry = _leaving_times(events, until, min_clicks)
    reached = np.where(reached - lower < _NOISE, lower, reached)
    at_end = events.deepest >= (np.inf if last_rank is None else last_rank)
    lower, upper = np.where(cut, reached, lower), np.where(cut | at_end, np.inf, reached)
    keep = enough & np.isfinite(lower) & np.isfinite(entry)
    excluded = {
        f"fewer than {min_clicks} clicks": int((~enough).sum()),
        "a click at an unknown time": int((enough & ~keep).sum()),
    }
    limit = np.full(len(keep), np.inf)
    if beyond == "censor":
        still_there = lower >= max_seconds
        lower, upper = np.where(still_there, max_seconds, lower), np.where(still_there, np.inf, upper)
        late = keep & (entry > lower)
        excluded[f"more than {max_seconds:g} seconds before click {min_clicks}"] = int(late.sum())
        keep &= ~late
    else:
        long = reached > max_seconds
        excluded[f"more than {max_seconds:g} seconds"] = int((keep & long).sum())
        keep &= ~long
        if beyond == "condition":
            limit[np.isfinite(upper)] = max_seconds
    excluded = {reason: many for reason, many in excluded.items() if many}
    return Stays(events.user[keep], lower[keep], upper[keep], entry[keep], limit[keep], excluded)


def stays_of_paper(log: InteractionLog | Events, min_clicks: int = 5, max_seconds: float = 1800) -> Stays:
    """Return stays as in the paper: times to the last click, sessions up to 30 minutes, no truncation.

    The selection of sessions with five clicks removes short stays, so half-lives are too long.

    References
    ----------
    Smucker and Clarke (2012), section 4.2.
    """
    found = stays(log, "click", min_clicks, max_seconds, "exclude")
    return replace(found, entry=np.zeros(len(found)))


def elapsed(log: InteractionLog, sessions: Array) -> Array:
    """Return the seconds from the start of the session until each result was clicked or passed; NaN if unknown.

    These are the values of the column ``time``. Without this column, they are sums of the seconds on summaries and
    documents of a user who inspects the results in rank order.

    Raises
    ------
    BadLog
        If the log has neither ``time`` nor both ``summary_seconds`` and ``document_seconds``.
    """
    if log.has("time"):
        return log.floats("time")
    if not (log.has("summary_seconds") and log.has("document_seconds")):
        raise BadLog("the log has no column 'time' and does not have both 'summary_seconds' and 'document_seconds'.")
    summary = log.floats("summary_seconds")
    read = pd.Series(np.where(log.flags("clicked"), log.floats("document_seconds"), 0.0))
    untimed = np.bincount(sessions, ~np.isnan(summary))[sessions] == 0
    spent = np.where(untimed, np.nan, np.nan_to_num(summary)) + read.groupby(sessions).shift(fill_value=0.0)
    # A sum with an unknown term is unknown, and so are the later sums.
    return spent.groupby(sessions).cumsum(skipna=False).to_numpy()


def events_of(log: InteractionLog) -> Events:
    """Return the events of all sessions; sessions with a click at an unknown time have no events."""
    sessions, user = numbered_sessions(log)
    rows = log.rows
    clicked, time = rows["clicked"].to_numpy(bool), elapsed(log, sessions)
    lost = np.bincount(sessions, weights=clicked & np.isnan(time)) > 0
    read = np.where(clicked, log.floats("document_seconds"), 0.0)
    kept = np.flatnonzero(~np.isnan(time) & ~lost[sessions])
    kept = kept[np.lexsort((time[kept], sessions[kept]))]
    clicks_in_all = np.bincount(sessions, clicked, len(user))
    cut_off = np.zeros(len(user), bool)
    cut_off[sessions] = log.flags("cut_off")
    deepest = highest(sessions[log.seen], rows["rank"].to_numpy()[log.seen], len(user))
    session, clicked, time, read = (values[kept] for values in (sessions, clicked, time, read))
    end = pd.Series(time + np.nan_to_num(read)).groupby(session).cummax().to_numpy()
    first = np.append(True, session[1:] != session[:-1])[: len(session)]
    begin = np.where(first, 0.0, np.append(0.0, end[:-1])[: len(end)])
    clicks = np.cumsum(clicked)
    before = np.maximum.accumulate(np.where(first, clicks - clicked, 0)) if len(clicks) else clicks
    complete, clicks = ~np.isnan(read), clicks - before
    return Events(user, clicks_in_all, cut_off, deepest, kept, session, clicked, begin, time, end, complete, clicks)


def _leaving_times(events: Events, until: str, min_clicks: int) -> tuple[Array, Array, Array]:
    """Return the last time at which each user was present, the first time of absence, and the time of entry."""
    lower, upper, entry = np.full((3, len(events.user)), np.nan)
    enters = events.clicked & (events.clicks == min_clicks)
    # Events are in the order of time, so the values of the last one of a session remain.
    if until == "click":
        clicks = events.session[events.clicked]
        lower[clicks] = upper[clicks] = events.time[events.clicked]
        entry[events.session[enters]] = events.time[enters]
    else:
        lower[events.session] = np.where(events.complete, events.begin, events.end)
        upper[events.session] = events.end
        entry[events.session[enters]] = events.begin[enters]
        if min_clicks == 0:
            entry[events.session] = 0.0
    return lower, upper, entry


def forward_clicks(log: InteractionLog, events: Events) -> tuple[Array, Array, list[str]]:
    """Compare the rank of each click with that of the previous click of its session, in the order of ``time``.

    The first click of a session has no previous click. Three kinds of clicks are excluded, because their order is
    unknown: all clicks of a session with a click at an unknown time; clicks at the same time as another click of the
    session, and the next click after them; and repeated clicks on a result, of which the log has only the first time.

    Returns
    -------
    row : ndarray of int, shape (n_pairs,)
        Row of the log of the later click.
    forward : ndarray of bool, shape (n_pairs,)
        Whether the later click is on a deeper rank.
    excluded : list of str
        Descriptions of the excluded clicks, with their numbers.

    References
    ----------
    Smucker and Clarke (2012), validation of T(k): 94 % of the clicks of the average participant go forward.

    Examples
    --------
    >>> log = InteractionLog.of([dict(user="ann", session="1", topic="q", rank=r, docno=f"d{r}", clicked=True, time=t)
    ...                          for r, t in [(1, 5), (2, 60), (3, 30)]])
    >>> forward_clicks(log, events_of(log))[1]  # from rank 1 to 3, and back to 2
    array([ True, False])
    """
    row, session, time = (values[events.clicked] for values in (events.row, events.session, events.time))
    rank, alike = log.rows["rank"].to_numpy()[row], session[1:] == session[:-1]
    together = alike & (time[1:] == time[:-1])
    tied = np.append(together, False) | np.append(False, together)
    ordered = alike & ~tied[1:] & ~tied[:-1]
    clicks = log.floats("clicks")
    repeated = int((clicks - log.flags("clicked"))[~np.isnan(clicks)].sum())
    unknown = events.clicks_in_all > np.bincount(session, minlength=len(events.user))
    counts = (
        (unknown.sum(), "session", "with clicks at unknown times"),
        ((alike & ~ordered).sum(), "click", "at the time of another click or next to one"),
        (repeated, "repeated click", "on the same results, whose times are unknown"),
    )
    excluded = [f"{many(int(number), what)} {why}" for number, what, why in counts if number]
    return row[1:][ordered], (rank[1:] > rank[:-1])[ordered], excluded


class Part(NamedTuple):
    """Estimates of a calibration that are computed from the same sums over users.

    Attributes
    ----------
    rows : list of dict
        Rows of the table, without the intervals.
    sums : ndarray, shape (n_sums, n_users)
        Contribution of each user to each sum.
    statistic : callable
        Function from totals of the sums to the values of the rows.
    """

    rows: list[dict[str, Any]]
    sums: Array
    statistic: Callable[[Array], Array]


class LogEstimates:
    """Results of the estimation, and the log as arrays over its rows.

    Results are estimates, reasons for missing parameters, and notes. Arrays are user, session, inspected, clicked,
    viewed and saved results.
    """

    def __init__(self, log: InteractionLog, depth: str, rel: float) -> None:
        self.parts: list[Part] = []
        self.missing: dict[str, str] = {}
        self.notes = list(log.notes)
        rows = log.rows
        self.log, self.depth = log, depth
        self.user, names = pd.factorize(rows["user"])
        self.users = len(names)
        self.session, sessions = numbered_sessions(log)
        self.clicked = log.flags("clicked")
        rank = rows["rank"].to_numpy()
        self.last = highest(self.session[self.clicked], rank[self.clicked], len(sessions))
        """Rank of the last click of each session (M)."""
        self.to_last = rank <= self.last[self.session]
        self.seen = log.seen
        self.looked_at = self.to_last if depth == "clicked" else self.seen
        self.on_document = np.where(self.clicked, log.floats("document_seconds"), np.nan)
        self.read = ~np.isnan(self.on_document)
        # In a log with document_seconds, a click without seconds does not count as a view.
        self.view = self.read if log.has("document_seconds") else self.clicked
        self.saved = log.flags("saved") if log.has("saved") else None
        self.on_summary = log.floats("summary_seconds")
        # Only sums over a session are meaningful.
        self.summaries_timed = np.bincount(self.session, ~np.isnan(self.on_summary))[self.session] > 0
        self.grade = log.floats("grade")
        self.judged = ~np.isnan(self.grade)
        self.relevant = self.grade >= rel

    @cached_property
    def events(self) -> Events:
        """Events of all sessions."""
        return events_of(self.log)

    def by_user(self, which: Any, values: Any = None) -> Array:
        """Return the number of these rows, or the sum of their values, for each user."""
        return np.bincount(self.user[which], None if values is None else values[which], self.users).astype(float)

    @property
    def summaries(self) -> Array:
        """Number of summaries per row: M in the first row of a session; with ``depth="seen"``, 1 per result seen."""
        if self.depth == "seen":
            return self.seen.astype(float)
        first_row = np.append(True, self.session[1:] != self.session[:-1])
        return np.where(first_row, self.last[self.session], 0).astype(float)

    def of_summaries(self) -> tuple[Array, Array]:
        """Return the seconds of each user on inspected summaries, and the number of these, in sessions with seconds."""
        spent = self.by_user(self.looked_at, np.nan_to_num(self.on_summary))
        return spent, self.by_user(self.summaries_timed, self.summaries)

    def weights(self) -> Array:
        """Return the number of summaries that each user inspected."""
        return self.by_user(slice(None), self.summaries)

    def add(self, name: str, way: str, ratio: Ratio, n: Any, used: bool = False, **more: float) -> bool:
        """Add an estimate; return False if it is undefined."""
        if np.isnan(ratio.value):
            return False
        row = estimate_row(name, way, used, ratio.value, n, **more)
        self.parts.append(Part([row], np.array(ratio), ratios))
        return True

    def two_ways(self, name: str, hits: Array, tries: Array, used: str | None = "pooled", n: Any = None) -> bool:
        """Add the pooled ratio and the unweighted mean of the ratios of users; return False if they are undefined."""
        n = tries.sum() if n is None else n
        self.add(name, "pooled", pooled(hits, tries), n, used == "pooled")
        return self.add(name, "unweighted", unweighted(hits, tries), n, used == "unweighted")

    def three_ways(self, name: str, hits: Array, tries: Array, weight: Array) -> bool:
        """Add the weighted mean of the paper (which is used), the pooled share and the unweighted mean."""
        self.two_ways(name, hits, tries, None)
        return self.add(name, "weighted", weighted(hits, tries, weight), tries.sum(), used=True)

    def note(self, number: Any, text: str) -> None:
        """Add a note that has a number in the place of ``{:,}``, unless the number is 0."""
        if number:
            self.notes.append(text.format(int(number)))

    def table(self, bootstrap: Bootstrap) -> pd.DataFrame:
        """Return the table of all estimates with their intervals."""
        rows = [row for part in self.parts for row in part.rows]
        if rows:
            ends = np.cumsum([len(part.sums) for part in self.parts])[:-1]

            def statistics(totals: Array) -> Array:
                split = zip(self.parts, np.split(totals, ends), strict=True)
                return np.vstack([part.statistic(own) for part, own in split])

            intervals = bootstrap.intervals(np.concatenate([part.sums for part in self.parts]), statistics)
            for row, low, high in zip(rows, *intervals, strict=True):
                row.update(low=low, high=high)
        places = {name: at for at, name in enumerate(NUMBERS)}
        rows.sort(key=lambda row: (places[row["name"]], np.nan_to_num(row["grade"]), not row["used"]))
        return table_of(rows)


def estimate_row(
    name: str, way: str, used: bool, value: float, n: Any, error: float = np.nan, grade: float = np.nan
) -> dict[str, Any]:
    """Return a row of the table of a calibration, without the interval."""
    return {"name": name, "grade": grade, "way": way, "used": used, "value": value, "error": error, "n": int(n)}


_MANY_AT_END = 0.05  # of the sessions
_FEWEST_VIEWS = 3  # for a correlation; the correlation of two views is always 1 or −1


def estimated(log: InteractionLog, arguments: dict[str, Any], shapes: tuple[str, ...]) -> dict[str, Any]:
    """Return the fields of a `Calibration` by name.

    Parameters
    ----------
    log : InteractionLog
    arguments : dict
        Arguments of `calibrate`.
    shapes : tuple of str
        Survival curves to fit.

    Returns
    -------
    dict
    """
    found = LogEstimates(log, arguments["depth"], arguments["rel"])
    _note_gaps(found)
    _summary_seconds(found)
    reading, points = _reading(found)
    _correlations(found)
    _shares_of_time(found)
    _forward_clicks(found)
    _decisions(found)
    _decisions_by_grade(found)
    corrected, excluded = _leaving(found, arguments)
    table = found.table(Bootstrap(*(arguments[name] for name in ("confidence", "resamples", "seed"))))
    if found.users == 1:
        found.notes.append("The log has only one user: there are no intervals.")
    fits = tuple(fit(corrected, shape) for shape in shapes) if corrected is not None else ()
    _note_better_shape(fits, found)
    curve = pd.DataFrame(columns=list(CURVE), dtype=float)
    if corrected is not None:
        curve = survival_curve(corrected)
        _note_weak_fits(fits, corrected, float(curve["seconds"].iloc[0]), found)
        # 500 steps are enough for a plot
        curve = curve.iloc[np.unique(np.linspace(0, len(curve) - 1, 500).astype(int))].reset_index(drop=True)
    sizes = {"users": found.users, "sessions": len(found.last), "rows": len(log)}
    return {
        "table": table,
        "about": {"package": __version__, **sizes, **arguments},
        "excluded": {"from the log": dict(log.excluded), "from the half-life": excluded},
        "missing": found.missing,
        "notes": tuple(found.notes),
        "reading": reading,
        "shapes": fits,
        "points": points,
        "curve": curve,
    }


def _note_gaps(found: LogEstimates) -> None:
    """Add notes about missing rows, unjudged results, and clicks without seconds."""
    if found.depth == "clicked":
        found.note(
            (np.bincount(found.session, found.to_last) < found.last).sum(),
            f"{{:,}} of {len(found.last):,} sessions lack rows above their last click. P(C|R) uses the rows in"
            " the log; it is too high if the missing results were seen and not clicked. T_S uses all ranks; it is"
            " too low if the missing results took time.",
        )
        found.note(
            found.judged.any() * (found.seen & ~found.to_last).sum(),
            "P(C|R) uses the results down to the last click, so it is too high. {:,} more results"
            " were seen after the last click; depth='seen' includes them.",
        )
    found.note(
        found.judged.any() * (found.looked_at & ~found.judged).sum(),
        f"{{:,}} of {int(found.looked_at.sum()):,} inspected results are unjudged; P(C|R), P(S|R)"
        " and the parameters by grade exclude them.",
    )
    found.note(
        (found.clicked & ~found.view).sum(),
        f"{{:,}} of {int(found.clicked.sum()):,} clicks have no seconds on the document; P(S|R) and T_D exclude them.",
    )


def _summary_seconds(found: LogEstimates) -> None:
    """Estimate T_S (Eq. 5)."""
    if not found.log.has("summary_seconds"):
        found.missing["summary_seconds"] = "the log has no column 'summary_seconds'"
        return
    found.note(
        (found.looked_at & np.isnan(found.on_summary) & found.summaries_timed).sum(),
        "{:,} inspected results have no seconds on the summary, in sessions with seconds on others. They"
        " count as 0, which is right if the next result includes them; otherwise T_S is too low.",
    )
    spent, ranks = found.of_summaries()
    found.add("summary_seconds", "unweighted", unweighted(spent, ranks), ranks.sum())
    if not found.add("summary_seconds", "weighted", pooled(spent, ranks), ranks.sum(), used=True):
        found.missing["summary_seconds"] = "no summary was inspected: no user clicked"


def _shares_of_time(found: LogEstimates) -> None:
    """Estimate the seconds per view and the share of the time spent on summaries."""
    if not found.read.any():
        return
    views, total = found.by_user(found.read), found.by_user(found.read, found.on_document)
    found.two_ways("seconds_per_view", total, views)
    if found.log.has("summary_seconds"):
        summaries = found.by_user(~np.isnan(found.on_summary), found.on_summary)
        found.two_ways("share_on_summaries", summaries, summaries + total, n=found.users)


def _correlations(found: LogEstimates) -> None:
    """Estimate the correlation of the seconds on documents with their lengths and grades; grades below 0 count as 0."""
    log, first = found.log, ~found.log.flags("duplicate")
    quantities = (
        ("length_correlation", "length", log.floats("words"), "the log has no column 'words'"),
        ("grade_correlation", "grade", np.maximum(found.grade, 0), "the log has no grades"),
    )
    for name, what, values, unknown in quantities:
        known = found.read & ~np.isnan(values)
        if not found.read.any():
            found.missing[name] = _why_unread(log)
        elif np.isnan(values).all():
            found.missing[name] = unknown
        elif known.sum() < _FEWEST_VIEWS:
            found.missing[name] = (
                f"documents of known {what} have {many(int(known.sum()), 'view')} with known seconds, fewer than"
                f" {_FEWEST_VIEWS}"
            )
        elif not _correlation(found, name, "all views", known, values):
            found.missing[name] = f"all documents viewed have the same {what}, or took the same seconds"
        elif not first[known].all():
            _correlation(found, name, "first views", known & first, values)


def _correlation(found: LogEstimates, name: str, way: str, which: Array, values: Array) -> bool:
    """Add the correlation of the seconds of views with values; return False if it is undefined."""
    if which.sum() < _FEWEST_VIEWS:
        return False
    sums = correlation_sums(found.user[which], found.users, values[which], found.on_document[which])
    r = float(correlation(sums.sum(axis=1, keepdims=True))[0])
    if np.isnan(r):
        return False
    row = estimate_row(name, way, way == "all views", r, which.sum())
    found.parts.append(Part([row], sums, correlation))
    return True


def _why_unread(log: InteractionLog) -> str:
    return "no user opened a document" if log.has("document_seconds") else "the log has no column 'document_seconds'"


def _forward_clicks(found: LogEstimates) -> None:
    """Estimate the share of clicks on a deeper rank than the previous click of the session."""
    name, log = "share_forward_clicks", found.log
    if not log.has("time"):
        found.missing[name] = "the log has no column 'time', so the order of clicks is unknown"
        return
    row, forward, excluded = forward_clicks(log, found.events)
    clicks, forward = (np.bincount(found.user[row], each, found.users) for each in (np.ones(len(row)), forward))
    if not found.two_ways(name, forward, clicks, "unweighted"):
        found.missing[name] = "no session has two clicks at different known times"
        return
    found.notes.extend(f"share_forward_clicks excludes {each}." for each in excluded)
    found.note((clicks == 0).sum(), f"{{:,}} of {found.users:,} users have no successive clicks; {name} excludes them.")


def _decisions(found: LogEstimates) -> None:
    """Estimate P(C|R) and P(S|R)."""
    ranks, viewed = found.weights(), found.by_user(found.view)
    groups = (
        ("relevant", "relevant", found.relevant),
        ("nonrelevant", "non-relevant", found.judged & ~found.relevant),
    )
    for suffix, kind, group in groups:
        nothing = None if found.judged.any() else "the log has no grades"
        name = f"p_click_{suffix}"
        looked = found.looked_at & group
        if found.three_ways(name, found.by_user(looked & found.clicked), found.by_user(looked), ranks):
            _add_other_click_shares(found, name, group)
            _note_users_without(found, looked, f"saw no {kind} summary", name)
        else:
            found.missing[name] = nothing or f"no {kind} summary was inspected"
        name = "p_save" if suffix == "relevant" else "p_save_nonrelevant"
        opened = found.view & group
        if found.saved is None:
            found.missing[name] = "the log has no column 'saved'"
        elif found.three_ways(name, found.by_user(opened & found.saved), found.by_user(opened), viewed):
            _note_users_without(found, opened, f"viewed no {kind} document", name)
        else:
            found.missing[name] = nothing or f"no {kind} document was viewed"


def _add_other_click_shares(found: LogEstimates, name: str, group: Array) -> None:
    for way, shown in (("down to the last click", found.to_last), ("all seen", found.seen)):
        which = shown & group
        share = pooled(found.by_user(which & found.clicked), found.by_user(which))
        found.add(name, f"pooled, {way}", share, which.sum())
    if found.log.has("clicks"):  # not a probability: a result can be clicked twice
        clicks = found.log.floats("clicks")
        which = found.seen & group & ~np.isnan(clicks)
        per_result = pooled(found.by_user(which, clicks), found.by_user(which))
        found.add(name, "clicks per result, all seen", per_result, which.sum())


def _note_users_without(found: LogEstimates, which: Array, what: str, name: str) -> None:
    found.note((found.by_user(which) == 0).sum(), f"{{:,}} of {found.users:,} users {what}; {name} excludes them.")


def _decisions_by_grade(found: LogEstimates) -> None:
    """Estimate P(C|g), P(S|g) and the seconds per view for each grade; grades below 0 count as 0."""
    ranks, viewed = found.weights(), found.by_user(found.view)
    grade = np.maximum(found.grade, 0)
    for one in np.unique(grade[found.judged & (found.looked_at | found.clicked)]):
        alike = grade == one
        looked, opened, timed = found.looked_at & alike, found.view & alike, found.read & alike
        share = weighted(found.by_user(looked & found.clicked), found.by_user(looked), ranks)
        found.add("p_click", "weighted", share, looked.sum(), used=True, grade=one)
        seconds = pooled(found.by_user(timed, found.on_document), found.by_user(timed))
        found.add("seconds", "pooled", seconds, timed.sum(), used=True, grade=one)
        if found.saved is not None and one > 0:
            share = weighted(found.by_user(opened & found.saved), found.by_user(opened), viewed)
            found.add("p_save_by_grade", "weighted", share, opened.sum(), used=True, grade=one)


def _reading(found: LogEstimates) -> tuple[ReadingTimeLine | None, pd.DataFrame]:
    """Fit the line of reading times; return it with its plot points."""
    log, read, seconds = found.log, found.read, found.on_document
    words = found.log.floats("words")
    duplicate = log.flags("duplicate")
    points = reading_points(words[read], seconds[read], duplicate[read])
    if not read.any():
        found.missing["seconds_per_word"] = found.missing["seconds_per_document"] = _why_unread(log)
        return None, points
    first, again = read & ~duplicate, read & duplicate
    if again.any():
        total, views = found.by_user(again, seconds), found.by_user(again)
        error = standard_error(seconds[again])
        found.add("duplicate_seconds", "unweighted", unweighted(total, views), again.sum())
        found.add("duplicate_seconds", "pooled", pooled(total, views), again.sum(), used=True, error=error)
    fitted = first & ~np.isnan(words)
    if fitted.any() and not fitted[first].all():
        found.notes.append(
            f"{int((first & ~fitted).sum()):,} of {int(first.sum()):,} first views are of documents without a length;"
            " T_D excludes them."
        )
    reading = least_squares(words, seconds, fitted, again)
    if reading is None:
        which = first if first.any() else read
        total, views = found.by_user(which, seconds), found.by_user(which)
        found.add("seconds_per_document", "unweighted", unweighted(total, views), which.sum())
        found.add("seconds_per_document", "constant", pooled(total, views), which.sum(), used=True)
        found.add("seconds_per_word", "constant", Ratio(np.zeros(found.users), views), which.sum(), used=True)
        why = "The log has no lengths" if not log.has("words") else "All lengths of first views are equal"
        found.notes.append(f"{why}: T_D is the mean time on a document, and a = 0.")
        return None, points
    if reading.slope < 0 or reading.intercept < 0:
        found.notes.append(
            f"Least squares gives T_D(l) = {reading.slope:.3g}·l + {reading.intercept:.3g}. Times cannot be negative,"
            f" so the fit uses {'a' if reading.slope < 0 else 'b'} = 0."
        )
    if reading.duplicates_differ:
        found.notes.append(
            f"Duplicates take {reading.duplicate_mean:.3g} ± {reading.duplicate_error:.2g} seconds and b is"
            f" {reading.intercept:.3g} ± {reading.intercept_error:.2g}: they differ, and TBG uses b for both."
        )
    sums = line_sums(found.user[fitted], found.users, words[fitted], seconds[fitted])
    a, b = (float(value[0]) for value in line(sums.sum(axis=1, keepdims=True)))
    errors = (np.nan, np.nan) if a == 0 or b == 0 else (reading.slope_error, reading.intercept_error)
    rows = [
        estimate_row(name, "least squares", True, value, reading.views, error)
        for name, value, error in zip(("seconds_per_word", "seconds_per_document"), (a, b), errors)
    ]
    found.parts.append(Part(rows, sums, lambda totals: np.array(line(totals))))
    return reading, points


def _note_better_shape(fits: tuple[StayDistribution, ...], found: LogEstimates) -> None:
    if better := far_better(fits):
        aic = next(one.aic for one in fits if one.shape == "exponential")
        found.notes.insert(
            0,
            f"The half-life describes these users badly: they do not leave at a constant rate. A {better.shape} curve"
            f" fits far better than an exponential one (AIC {better.aic:,.0f} against {aic:,.0f}), as the plot of"
            " survival shows.",
        )


def _note_weak_fits(fits: tuple[StayDistribution, ...], stays: Stays, begin: float, found: LogEstimates) -> None:
    """Add notes about distributions without an estimate and about medians before the first observed time."""
    undefined = [one.shape for one in fits if one.shape in UNDEFINED_AT_0]
    if undefined and stays.at_once.any():
        found.notes.append(
            f"{int(stays.at_once.sum()):,} sessions last 0 seconds, where the density of {' and '.join(undefined)} is 0"
            " or infinite: there is no fit. With min_clicks=1, these sessions are excluded."
        )
    early = [one for one in fits if one.half_life < begin]
    if early:
        medians = ", ".join(f"{one.shape} {one.half_life:.3g} s" for one in early)
        found.notes.append(
            f"Sessions are observed from {begin:.3g} seconds on. These fits have earlier medians, which are"
            f" extrapolated: {medians}. A lower min_clicks= includes earlier times."
        )


def _leaving(found: LogEstimates, arguments: dict[str, Any]) -> tuple[Stays | None, dict[str, int]]:
    """Estimate the half-life in both ways; return the corrected stays, and the sessions excluded from them."""
    log = found.log
    chosen = {key: arguments[key] for key in ("until", "min_clicks", "max_seconds", "beyond", "last_rank")}
    if not log.has("time"):
        if not (log.has("summary_seconds") and log.has("document_seconds")):
            found.missing["half_life"] = (
                "the log has no column 'time' and does not have both 'summary_seconds' and 'document_seconds'"
            )
            return None, {}
        found.notes.append(
            "The log has no column 'time': times are sums of the seconds on summaries and documents, which assumes that"
            " users inspect the results in rank order."
        )
    events = found.events
    corrected = stays(events, **chosen)
    h = half_life(corrected)
    reasons = "; ".join(f"{many:,} with {reason}" for reason, many in corrected.excluded.items())
    if not len(corrected):
        found.missing["half_life"] = f"no session is left ({reasons})"
    elif not corrected.left.any():
        found.missing["half_life"] = f"all {len(corrected):,} sessions are censored before their users left"
    elif np.isnan(h):
        found.missing["half_life"] = "the rate of leaving decreases with time, so no exponential decay fits"
    if "half_life" in found.missing:
        return None, corrected.excluded
    _half_life(found, "corrected", corrected, h)
    plain = stays_of_paper(events, max(arguments["min_clicks"], 1), arguments["max_seconds"])
    _half_life(found, "as the paper", plain, half_life(plain))
    if reasons:
        found.notes.append(f"The half-life uses {len(corrected):,} sessions. Left out: {reasons}.")
    last = int(events.deepest.max())
    at_end = float(np.mean((events.deepest == last) & ~events.cut_off))
    if arguments["last_rank"] is None and at_end >= _MANY_AT_END:
        found.notes.append(
            f"{percent(at_end, 0)} of the sessions end at rank {last}, the deepest of the log. If the lists end there,"
            f" the users may not have left, and the half-life is too short: give last_rank={last}, or mark interrupted"
            " sessions as cut_off."
        )
    if not log.has("cut_off"):
        found.notes.append("The log has no column 'cut_off': all sessions are assumed to end because the user left.")
    if arguments["until"] == "end" and not log.has("document_seconds"):
        found.notes.append("The log has no column 'document_seconds': the time after the last click is unknown.")
    return corrected, corrected.excluded


def _half_life(found: LogEstimates, way: str, each: Stays, value: float) -> None:
    """Add a half-life, unless it is NaN."""
    if not np.isnan(value):
        at, scores = grid(each, found.users, value)
        row = estimate_row("half_life", way, way == "corrected", value, len(each))
        found.parts.append(Part([row], scores, partial(zero_of_scores, at)))
