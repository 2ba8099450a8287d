"""Times at which the users of a log left: intervals of leaving from the events of each session."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from ...data.arrays import Array
from ...errors import BadLog, BadParameter, near
from .log import InteractionLog, numbered_sessions
from .survival import Stays

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
    session: Array
    clicked: Array
    begin: Array
    time: Array
    end: Array
    complete: Array
    clicks: Array


def check(until: str, min_clicks: int, max_seconds: float, beyond: str) -> None:
    """Raise `BadParameter` for invalid arguments of :func:`stays`."""
    for name, value, allowed in (("until", until, UNTIL), ("beyond", beyond, BEYOND)):
        if value not in allowed:
            raise BadParameter(f"no {name}={value!r}. {near(str(value), allowed)}")
    if min_clicks < 0 or (until == "click" and min_clicks < 1) or min_clicks != int(min_clicks):
        raise BadParameter(
            f"min_clicks={min_clicks!r} must be a whole number, 0 or more (1 or more with until='click')."
        )
    if not max_seconds > 0:
        raise BadParameter(f"max_seconds={max_seconds!r} must be above 0.")


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
    lower, upper, entry = (_last_clicks if until == "click" else _last_items)(events, min_clicks)
    upper = np.where(upper - lower < _NOISE, lower, upper)
    reached = upper
    at_end = events.deepest >= (np.inf if last_rank is None else last_rank)
    lower, upper = np.where(cut, reached, lower), np.where(cut | at_end, np.inf, upper)
    known = np.isfinite(lower) & np.isfinite(entry)
    long = reached > max_seconds
    excluded = {
        f"fewer than {min_clicks} clicks": int((~enough).sum()),
        "the time of a click is unknown": int((enough & ~known).sum()),
    }
    keep = enough & known
    limit = np.full(len(keep), np.inf)
    if beyond == "censor":
        still_there = lower >= max_seconds
        lower, upper = np.where(still_there, max_seconds, lower), np.where(still_there, np.inf, upper)
        late = keep & (entry > lower)
        excluded[f"clicked too late: {min_clicks} clicks took more than {max_seconds:g} seconds"] = int(late.sum())
        keep &= ~late
    else:
        excluded[f"longer than {max_seconds:g} seconds"] = int((keep & long).sum())
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
    return Stays(found.user, found.lower, found.upper, np.zeros(len(found)), found.limit, found.excluded)


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
        return log.rows["time"].to_numpy(float)
    if not (log.has("summary_seconds") and log.has("document_seconds")):
        raise BadLog("the log has no column 'time' and does not have both 'summary_seconds' and 'document_seconds'.")
    summary = log.rows["summary_seconds"].to_numpy(float)
    clicked = log.rows["clicked"].to_numpy(bool)
    read = np.where(clicked, log.rows["document_seconds"].to_numpy(float), 0.0)
    untimed = np.bincount(sessions, ~np.isnan(summary))[sessions] == 0
    spent = pd.DataFrame({"until": np.where(untimed, np.nan, np.nan_to_num(summary)), "read": read})
    by_session = spent.groupby(sessions)
    before = by_session["read"].shift(fill_value=0.0)
    total = pd.Series(spent["until"] + before).groupby(sessions)
    # A sum with an unknown term is unknown, and so are the later sums.
    return total.cumsum(skipna=False).to_numpy()


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
    deepest = np.zeros(len(user), np.int64)
    np.maximum.at(deepest, sessions[log.seen], rows["rank"].to_numpy()[log.seen])
    session, clicked, time, read = sessions[kept], clicked[kept], time[kept], read[kept]
    end = pd.Series(time + np.nan_to_num(read)).groupby(session).cummax().to_numpy()
    first = np.append(True, session[1:] != session[:-1])[: len(session)]
    begin = np.where(first, 0.0, np.append(0.0, end[:-1])[: len(end)])
    clicks = np.cumsum(clicked)
    before = np.maximum.accumulate(np.where(first, clicks - clicked, 0)) if len(clicks) else clicks
    complete, clicks = ~np.isnan(read), clicks - before
    return Events(user, clicks_in_all, cut_off, deepest, session, clicked, begin, time, end, complete, clicks)


def _last_clicks(events: Events, min_clicks: int) -> tuple[Array, Array, Array]:
    last, entry = np.full(len(events.user), np.nan), np.full(len(events.user), np.nan)
    last[events.session[events.clicked]] = events.time[events.clicked]  # in the order of time, so the last one remains
    enters = events.clicked & (events.clicks == min_clicks)
    entry[events.session[enters]] = events.time[enters]
    return last, last, entry


def _last_items(events: Events, min_clicks: int) -> tuple[Array, Array, Array]:
    lower, upper, entry = (np.full(len(events.user), np.nan) for _ in range(3))
    lower[events.session] = np.where(events.complete, events.begin, events.end)
    upper[events.session] = events.end
    enters = events.clicked & (events.clicks == min_clicks)
    entry[events.session[enters]] = events.begin[enters]
    if min_clicks == 0:
        entry[events.session] = 0.0
    return lower, upper, entry
