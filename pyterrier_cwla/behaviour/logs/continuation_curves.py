"""Who goes on, rank by rank: C(i) as a log has it, from the results that were seen or from the last clicks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ...errors import BadLog, BadParameter, many
from .estimate import Array, over_users, printed
from .leaving_times import numbered_sessions
from .log import InteractionLog, as_log


@dataclass(frozen=True, eq=False)
class Continuing:
    """C(i) of a log. ``table``: rank, at_risk, left, C, low, high, smoothed; one row a rank, sessions in the counts."""

    table: pd.DataFrame
    source: str
    """What C was taken from, in words."""
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
        """The smoothed C(1), C(2), … as a continuation, ``"fixed(0.9, 0.8)"``: to be used as ``CWLA(C=…)``.

        Under ``fixed`` all who go on after the last of these ranks see one more item, and leave. ``depth`` keeps the
        first ranks, where the last have few sessions.
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
    """C(i) = sessions that saw a rank below i / sessions that saw rank i, from the deepest rank that each saw.

    Who was kept from going on says nothing of wanting to: a session that was cut off from outside counts down to the
    rank above the one where that happened, and so does one that came to the end of all there was, ``last_rank``
    (Kaplan and Meier's estimate, 1958: ΠC(j) is the share that would be there without either). A rank that lacks a row
    above the deepest one counts as seen.

    ``smoothed``: (those who went on + prior·C̄) / (at risk + prior), the mean under a Beta distribution that weighs as
    much as ``prior`` sessions at the mean C̄ over all ranks; 0 leaves C as it is. Intervals are those of C, over users;
    NaN at a rank where some resample has nobody.

    Raises BadLog where no session could be seen to go on or leave.

    >>> rows = [dict(user=u, session="s", topic="t", rank=r, docno=f"d{r}", clicked=False)
    ...         for u, deepest in [("a", 1), ("b", 2), ("c", 3), ("d", 3)] for r in range(1, deepest + 1)]
    >>> found = continuing_from_views(InteractionLog.of(rows), last_rank=3, prior=0, resamples=50)
    >>> found.table[["rank", "at_risk", "left", "C"]].round(3)
       rank  at_risk  left      C
    0     1        4     1  0.750
    1     2        3     1  0.667
    >>> found.spec()
    'fixed(0.75, 0.6667)'

    Source: Moffat et al. (2022), section 2, for C(i).
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
    """C(i) = sessions whose last click lies below rank i / sessions whose last click lies at i or below.

    For logs that do not know what was seen: the last click stands for the end of looking. It lies above it, so that
    C is too low, most of all near the end of what was shown, where nothing is left to be clicked. Sessions without
    a click are left out and counted. "Last" is the deepest; ``last_rank`` is the last that can be clicked, and whoever
    clicked it was kept from going on. Otherwise as :func:`continuing_from_views`.

    Source: Moffat, Thomas and Scholer (2013).
    """
    log = as_log(log)
    clicked = log.rows["clicked"].to_numpy(bool)
    notes = ("the last click lies above where users stop looking: C is too low, most of all near the end of the lists",)
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
            f"{int((~some).sum()):,} of {len(some):,} sessions are left out: they have no {source.split()[-1]}"
        )
    if (kept & some).any():
        lines.append(f"{int((kept & some).sum()):,} sessions were cut off, or at the end of their list: censored there")
    user = np.unique(user[some], return_inverse=True)[1]
    left, went_on = _by_rank(deepest[some], user, kept[some])
    at_risk = went_on + left
    known = at_risk.sum(axis=1) > 0
    if not known.any():
        raise BadLog(f"no session could be seen to go on or leave, by its {source}.")
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
    """How many sessions of each user left at each rank, and how many went on, [ranks × users].

    ``kept``: sessions that were kept from going on, which do not count at their deepest rank.
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
