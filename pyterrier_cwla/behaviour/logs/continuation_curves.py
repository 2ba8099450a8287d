"""Continuation probabilities C(i) of a log, estimated from the results seen or from the last clicks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ...data.arrays import Array
from ...errors import BadLog, BadParameter, many
from .estimate import over_users, printed
from .log import InteractionLog, as_log, numbered_sessions


@dataclass(frozen=True, eq=False)
class Continuing:
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
    sessions: int
    users: int
    notes: tuple[str, ...]
    log: InteractionLog = field(repr=False)

    def __repr__(self) -> str:
        return printed(
            f"C(i) from {self.source}, {many(self.sessions, 'session')} of {many(self.users, 'user')}",
            self.table,
            self.notes,
        )

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
    return _continuing(log, log.seen, "views", last_rank, prior, (confidence, resamples, seed), ())


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
    clicked = log.rows["clicked"].to_numpy(bool)
    notes = ("users inspect results below their last click: C is too low, particularly near the end of the lists",)
    return _continuing(log, clicked, "last clicks", last_rank, prior, (confidence, resamples, seed), notes)


def _continuing(
    log: InteractionLog,
    which: Array,
    source: str,
    last_rank: int | None,
    prior: float,
    bootstrap: tuple[float, int, int],
    notes: tuple[str, ...],
) -> Continuing:
    if not prior >= 0:
        raise BadParameter(f"prior={prior!r}: give a number of sessions, 0 or more.")
    number, user = numbered_sessions(log)
    deepest, kept = np.zeros(len(user), np.int64), np.zeros(len(user), bool)
    np.maximum.at(deepest, number[which], log.rows["rank"].to_numpy()[which])
    kept[number[log.flags("cut_off")]] = True
    if last_rank is not None:
        if (deepest > last_rank).any():
            raise BadParameter(f"last_rank={last_rank}: the log has sessions that go down to rank {deepest.max()}.")
        kept |= deepest == last_rank
    some, lines = deepest > 0, list(notes)
    if not some.all():
        lines.append(
            f"{int((~some).sum()):,} of {len(some):,} sessions are excluded: they have no {source.split()[-1]}"
        )
    if (kept & some).any():
        lines.append(
            f"{int((kept & some).sum()):,} sessions were interrupted or reached the end of their list (censored)"
        )
    user = np.unique(user[some], return_inverse=True)[1]
    left, went_on = _by_rank(deepest[some], user, kept[some])
    at_risk = went_on + left
    known = at_risk.sum(axis=1) > 0
    if not known.any():
        raise BadLog(f"the {source} of the log contain no continuation and no end of a session.")
    left, went_on, at_risk = left[known], went_on[known], at_risk[known]
    low, high = over_users(np.vstack([went_on, at_risk]), _ratio, *bootstrap)
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
    return Continuing(table, source, len(user), left.shape[1], (*log.notes, *lines), log)


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

    def ended(sessions: Array) -> Array:
        place = deepest[sessions] * users + user[sessions]
        return np.bincount(place, minlength=(depth + 1) * users).reshape(depth + 1, users)[1:].astype(float)

    came_to = ended(np.ones(len(kept), bool))
    return ended(~kept), np.cumsum(came_to[::-1], axis=0)[::-1] - came_to


def _ratio(totals: Array) -> Array:
    on, of = np.split(totals, 2)
    return np.divide(on, of, out=np.full(on.shape, np.nan), where=of > 0)
