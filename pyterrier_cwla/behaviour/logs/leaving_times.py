"""When the users of a log left: from what happened in each session to the interval in which its user was gone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from ...errors import BadLog, BadParameter, near
from .log import InteractionLog
from .survival import Stays

Array = np.ndarray

#: Where the time of leaving is taken from.
UNTIL = ("end", "click")
#: What becomes of sessions that last longer than max_seconds.
BEYOND = ("censor", "condition", "exclude")


_NOISE = 1e-6  # seconds: what sums of seconds may differ by that should be the same


class Events(NamedTuple):
    """What happened in sessions: first an entry for each session, then one for each event, in the order of time."""

    user: Array
    """The number of the session's user."""
    clicks_in_all: Array
    cut_off: Array
    deepest: Array
    """The rank of the last result that the session has."""
    session: Array
    """The number of the event's session; a result clicked or passed at a known time is an event."""
    clicked: Array
    begin: Array
    """When the item began: when the one before ended."""
    time: Array
    end: Array
    complete: Array
    """Whether the end is known: the document's seconds are, or it was not opened."""
    clicks: Array
    """How many clicks the session has had by then."""


def check(until: str, min_clicks: int, max_seconds: float, beyond: str) -> None:
    """Raises BadParameter for what ``stays`` cannot be asked."""
    for name, value, allowed in (("until", until, UNTIL), ("beyond", beyond, BEYOND)):
        if value not in allowed:
            raise BadParameter(f"no {name}={value!r}. {near(str(value), allowed)}")
    if min_clicks < 0 or (until == "click" and min_clicks < 1) or min_clicks != int(min_clicks):
        raise BadParameter(f"min_clicks={min_clicks!r} must be a whole number, from 0 (from 1 with until='click').")
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
    """When the user of each session left, as far as the log tells.

    ``until="end"``: a user of time-biased gain looks at item k if still there at its beginning T(k), so whoever looked
    at k and not at k+1 left between the two. The interval goes from where the last recorded item began (the one before
    ended) to where it ended (its document closed, or passed). Where the last thing known is a click, and not how long
    the document was read, the user left there.
    ``until="click"``: the user left at the last click; the paper's proxy, which misses what came after: with the
    paper's values (Table 1) half-lives come out 3 % too short.

    A session that was cut off is right-censored; so is one that came to ``last_rank``, the end of the lists, when that
    item began: nothing tells whether its user would have gone on. One with fewer than ``min_clicks`` clicks is left
    out; so others are known only because their users were still there for that click: they enter (``entry``) at its
    time (with ``until="end"``, where its item began). One that is longer than ``max_seconds``: ``beyond="censor"``
    keeps it as one who was still there then; ``"condition"`` leaves it out, and takes the others as seen because they
    were shorter (``limit``); ``"exclude"`` leaves it out, as if that said nothing.

    Raises BadLog where the log has no times.

    Source: Smucker and Clarke (2012), section 4.2 (the filter, until="click").
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


def as_the_paper(log: InteractionLog | Events, min_clicks: int = 5, max_seconds: float = 1800) -> Stays:
    """Sessions as the paper took them: until the last click, without those over 30 minutes, all from their beginning.

    That a session is there only because somebody clicked five times is not considered, so that short stays are missing,
    and half-lives too long.

    Source: Smucker and Clarke (2012), section 4.2.
    """
    found = stays(log, "click", min_clicks, max_seconds, "exclude")
    return Stays(found.user, found.lower, found.upper, np.zeros(len(found)), found.limit, found.excluded)


def numbered_sessions(log: InteractionLog) -> tuple[Array, Array]:
    """The number of each row's session, and the number of each session's user: both count in the order of the rows."""
    user, session = (pd.factorize(log.rows[column])[0] for column in ("user", "session"))
    first = np.ones(len(user), bool)
    first[1:] = (user[1:] != user[:-1]) | (session[1:] != session[:-1])
    return np.cumsum(first) - 1, user[first]


def elapsed(log: InteractionLog, sessions: Array) -> Array:
    """Seconds from the session's start until each result was clicked or passed; NaN where unknown.

    The column ``time``; or, in a log that lacks it and has seconds on summaries and on documents, what a user has spent
    who goes down the list rank by rank.

    Raises BadLog where the log tells neither.
    """
    if log.has("time"):
        return log.rows["time"].to_numpy(float)
    if not (log.has("summary_seconds") and log.has("document_seconds")):
        raise BadLog("the log has no column 'time' (nor both 'summary_seconds' and 'document_seconds', to add up).")
    summary = log.rows["summary_seconds"].to_numpy(float)
    clicked = log.rows["clicked"].to_numpy(bool)
    read = np.where(clicked, log.rows["document_seconds"].to_numpy(float), 0.0)
    untimed = np.bincount(sessions, ~np.isnan(summary))[sessions] == 0
    spent = pd.DataFrame({"until": np.where(untimed, np.nan, np.nan_to_num(summary)), "read": read})
    by_session = spent.groupby(sessions)
    before = by_session["read"].shift(fill_value=0.0)
    total = pd.Series(spent["until"] + before).groupby(sessions)
    # A sum over what is not known is not known, and neither is any after it.
    return total.cumsum(skipna=False).to_numpy()


def events_of(log: InteractionLog) -> Events:
    """The events of all sessions; one of which the time of some click is unknown has none."""
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
    last[events.session[events.clicked]] = events.time[events.clicked]  # in the order of time: the last one stays
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
