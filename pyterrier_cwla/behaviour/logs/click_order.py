"""Order of the clicks of a session: which of them are on a deeper rank than the previous click."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...data.arrays import Array
from ...errors import many
from .log import InteractionLog, numbered_sessions


class ClickPairs(NamedTuple):
    """Clicks that have a previous click in their session.

    Attributes
    ----------
    row : ndarray of int, shape (n_pairs,)
        Row of the log of the later click.
    forward : ndarray of bool, shape (n_pairs,)
        Whether the later click is on a deeper rank.
    excluded : tuple of str
        Descriptions of the excluded clicks, with their numbers.
    """

    row: Array
    forward: Array
    excluded: tuple[str, ...]


def click_pairs(log: InteractionLog) -> ClickPairs:
    """Return the pairs of successive clicks of each session, in the order of ``time``.

    The first click of a session has no previous click. Three kinds of clicks are excluded, because their order is
    unknown: all clicks of a session with a click at an unknown time; clicks at the same time as another click of the
    session, and the next click after them; and repeated clicks on a result, of which the log has only the first time.

    References
    ----------
    Smucker and Clarke (2012), validation of T(k): 94 % of the clicks of the average participant go forward.

    Examples
    --------
    >>> log = InteractionLog.of([dict(user="ann", session="1", topic="q", rank=r, docno=f"d{r}", clicked=True, time=t)
    ...                          for r, t in [(1, 5), (2, 60), (3, 30)]])
    >>> click_pairs(log).forward  # from rank 1 to 3, and back to 2
    array([ True, False])
    """
    session, _ = numbered_sessions(log)
    clicked, time, rank = log.flags("clicked"), log.floats("time"), log.rows["rank"].to_numpy()
    unknown = np.bincount(session, clicked & np.isnan(time)) > 0
    row = np.flatnonzero(clicked & ~unknown[session])
    row = row[np.lexsort((time[row], session[row]))]
    before, after = row[:-1], row[1:]
    alike = session[before] == session[after]
    tied = np.zeros(len(log), bool)
    together = alike & (time[before] == time[after])
    tied[before[together]] = tied[after[together]] = True
    ordered = alike & ~tied[before] & ~tied[after]
    clicks = log.floats("clicks")
    repeated = int((clicks - clicked)[~np.isnan(clicks)].sum())
    excluded = []
    if unknown.any():
        excluded.append(f"{many(int(unknown.sum()), 'session')} with clicks at unknown times")
    if (alike & ~ordered).any():
        excluded.append(f"{many(int((alike & ~ordered).sum()), 'click')} at the time of another click or next to one")
    if repeated:
        excluded.append(f"{many(repeated, 'repeated click')} on the same results, whose times are unknown")
    return ClickPairs(after[ordered], rank[after[ordered]] > rank[before[ordered]], tuple(excluded))
