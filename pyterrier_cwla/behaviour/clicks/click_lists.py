"""Lists of results with their clicks as arrays, and what a click model makes of them: one step of EM, and all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ...errors import BadLog
from ..logs.estimate import Array

#: Of results without a grade, where lists are by grade.
UNJUDGED = "unjudged"
_TOLERANCE, _MOST_STEPS = 1e-9, 20_000


@dataclass(frozen=True, eq=False)
class ClickedLists:
    """Lists of results side by side, [ranks × lists]: whose parameters each has (−1: cannot be clicked), and clicks."""

    row: Array
    """The row of the log that each is; −1 where the log has none."""
    code: Array
    clicked: Array
    n: Array
    user: Array
    names: tuple[Any, ...]
    users: int

    @cached_property
    def last(self) -> Array:
        """The rank of the last click, 0 without one."""
        return (self.clicked * self._ranks).max(axis=0)

    @cached_property
    def shown(self) -> Array:
        return self._ranks <= self.n

    @property
    def cells(self) -> tuple[Array, Array]:
        """Results that were shown, and those that were clicked."""
        return self.shown & (self.code >= 0), self.clicked

    @cached_property
    def last_code(self) -> Array:
        return np.where(self.last > 0, self.code[np.maximum(self.last - 1, 0), np.arange(len(self.n))], -1)

    @property
    def _ranks(self) -> Array:
        return np.arange(1, len(self.clicked) + 1)[:, None]

    @cached_property
    def decided(self) -> Array:
        """Clicks after which something lies below, so that it counts whether they satisfied."""
        return self.clicked & (self._ranks < self.n)

    @cached_property
    def of_last(self) -> Array:
        """Of these, the last of each list: it may have satisfied."""
        return self.decided & (self._ranks == self.last)

    @cached_property
    def _known(self) -> tuple[Array, Array, Array, int]:
        """What clicks tell, by parameter: clicks, passes above a click, clicks that did not satisfy; and moves."""
        passed = (self._ranks < self.last) & ~self.clicked & (self.code >= 0)
        earlier = self.decided & ~self.of_last
        moves = int(np.maximum(self.last - 1, 0).sum())
        return *(self.by(self.code, which).sum(axis=1) for which in (self.clicked, passed, earlier)), moves

    def expected(self, theta: Array) -> Expected:
        """What these parameters make of the lists: forward and backward through each, all lists at once."""
        from scipy.special import xlog1py, xlogy

        groups, ranks, lists = len(self.names), len(self.code), np.arange(len(self.n))
        a, s, gamma = np.append(theta[:groups], 0.0), np.append(theta[groups:-1], 0.0), theta[-1]
        passes, at_last = (1 - a)[self.code], s[self.last_code]
        silent = np.ones((ranks + 1, len(lists)))  # P(no click from this rank on | examined)
        below = np.ones((ranks, len(lists)))  # P(no click below this rank | examined, not satisfied)
        for i in range(ranks - 1, -1, -1):
            below[i] = np.where(i + 1 < self.n, 1 - gamma + gamma * silent[i + 1], 1.0)
            silent[i] = np.where(i < self.n, passes[i] * below[i], 1.0)
        tail = np.where(self.last > 0, below[np.maximum(self.last - 1, 0), lists], silent[0])
        decided = (self.last > 0) & (self.last < self.n)
        tail = np.where(decided, at_last + (1 - at_last) * tail, tail)
        clicks, passed, earlier, moves = self._known
        log_likelihood = (
            xlogy(clicks, a[:-1]).sum()
            + xlog1py(passed, -a[:-1]).sum()
            + xlog1py(earlier, -s[:-1]).sum()
            + xlogy(moves, gamma)
            + np.log(tail).sum()
        )
        satisfied = np.divide(at_last, tail, out=np.zeros(len(tail)), where=decided)
        goes_on = np.divide(gamma * silent[1:], below, out=np.zeros(below.shape), where=below > 0)
        goes_on *= self._ranks < self.n  # P(the next is examined | examined, not satisfied, no click below)
        examined = np.zeros(passes.shape)
        examined[0] = 1.0
        for i in range(1, ranks):
            left = np.where(i == self.last, 1 - satisfied, 1.0)
            examined[i] = np.where(i < self.last, 1.0, examined[i - 1] * left * goes_on[i - 1])
        return Expected(log_likelihood, examined, satisfied)

    def sums(self, theta: Array) -> Sums:
        """Expected successes and trials of every parameter, [parameters × users]."""
        found = self.expected(theta)
        choices = found.examined * (self._ranks < self.n) - self.of_last * found.satisfied
        clicks, decided = self._clicks
        successes = (clicks, self.by(self.last_code, found.satisfied), self._by_user(found.examined[1:]))
        trials = (self.by(self.code, found.examined), decided, self._by_user(choices))
        return Sums(np.vstack(successes), np.vstack(trials), found.log_likelihood)

    @cached_property
    def _clicks(self) -> tuple[Array, Array]:
        """All, and those after which something lies below, [parameters × users]."""
        return self.by(self.code, self.clicked), self.by(self.code, self.decided)

    def by(self, code: Array, weights: Array) -> Array:
        """Sums over cells, or lists, whose parameters these are, [parameters × users]."""
        place = (code + 1) * self.users + self.user
        sums = np.bincount(place.ravel(), weights.ravel(), minlength=(len(self.names) + 1) * self.users)
        return sums.reshape(-1, self.users)[1:]

    def _by_user(self, cells: Array) -> Array:
        return np.bincount(self.user, cells.sum(axis=0), minlength=self.users)[None, :]

    @property
    def together(self) -> ClickedLists:
        """The same as lists of one user."""
        return replace(self, user=np.zeros_like(self.user), users=1)


@dataclass(frozen=True, eq=False)
class Expected:
    """What clicks leave open, as far as parameters tell: who examined which result, and who was satisfied."""

    log_likelihood: float
    examined: Array
    satisfied: Array
    """By the last click."""


@dataclass(frozen=True, eq=False)
class Sums:
    """Successes (``on``) and trials (``of``) of every parameter: a of all names, s of all names, γ."""

    on: Array
    of: Array
    log_likelihood: float


def listed(rows: pd.DataFrame, code: Array, names: tuple, gaps: str) -> ClickedLists:
    """The lists of a log whose rows have these parameters; what their gaps are is said, or an error."""
    sessions = rows.groupby(["user", "session"], sort=False)
    number, place = sessions.ngroup().to_numpy(), sessions.cumcount().to_numpy()
    rank = rows["rank"].to_numpy()
    missing = rank - 1 - place
    if gaps == "error" and missing.any():
        first, last = int(np.flatnonzero(missing)[0]), sessions.tail(1).index.to_numpy()
        user, session = rows["user"][first], rows["session"][first]
        raise BadLog(
            f"{missing[last].sum():,} results are missing above the last rows of {(missing[last] > 0).sum():,} of"
            f" {len(last):,} lists (first above rank {rank[first]} of session {session!r} of user {user!r}):"
            " gaps='passed' takes them for shown and unable to be clicked, gaps='closed' for not on the list."
        )
    column = place if gaps == "closed" else rank - 1
    lists = int(number.max()) + 1
    row, clicked = np.full((column.max() + 1, lists), -1), np.zeros((column.max() + 1, lists), bool)
    row[column, number], clicked[column, number] = np.arange(len(rows)), rows["clicked"]
    n = np.zeros(lists, np.int64)
    np.maximum.at(n, number, column + 1)
    user, users = pd.factorize(rows["user"].to_numpy()[sessions.head(1).index])
    return ClickedLists(row, np.append(code, -1)[row], clicked, n, user, names, len(users))


def em(lists: ClickedLists, theta: Array, update: Callable[[Array, Sums], Array]) -> tuple[Array, Array, bool]:
    """EM until the parameters rest: the parameters, the log-likelihood of every step, and whether they came to rest."""
    together, steps = lists.together, []
    for _ in range(_MOST_STEPS):
        sums = together.sums(theta)
        steps.append(sums.log_likelihood)
        new = update(theta, sums)
        rests = np.abs(new - theta).max() < _TOLERANCE
        theta = new
        if rests:
            return theta, np.array(steps), True
    return theta, np.array(steps), False
