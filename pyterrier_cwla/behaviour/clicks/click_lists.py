"""Result lists with clicks as arrays, and the expectation-maximisation algorithm of cascade click models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ...data.arrays import Array
from ...errors import BadLog

#: Name of the group of results without a grade.
UNJUDGED = "unjudged"
_TOLERANCE, _MOST_STEPS = 1e-9, 20_000


@dataclass(frozen=True, eq=False)
class ClickedLists:
    """Result lists with clicks, as arrays [ranks × lists].

    Attributes
    ----------
    row : ndarray of int, shape (n_ranks, n_lists)
        Row of the log; −1 if the log has none.
    code : ndarray of int, shape (n_ranks, n_lists)
        Index of the parameters in `names`; −1 for results that cannot be clicked.
    clicked : ndarray of bool, shape (n_ranks, n_lists)
        Whether the result was clicked.
    n : ndarray of int, shape (n_lists,)
        Length of the list.
    user : ndarray of int, shape (n_lists,)
        Number of the user.
    names : tuple
        Names of the groups with separate parameters, such as grades.
    users : int
        Number of users.
    """

    row: Array
    code: Array
    clicked: Array
    n: Array
    user: Array
    names: tuple[Any, ...]
    users: int

    @cached_property
    def last(self) -> Array:
        """Rank of the last click of each list; 0 without clicks."""
        return (self.clicked * self._ranks).max(axis=0)

    @cached_property
    def shown(self) -> Array:
        """Mask of the results in the lists."""
        return self._ranks <= self.n

    @property
    def cells(self) -> tuple[Array, Array]:
        """Masks of the results shown and of the results clicked."""
        return self.shown & (self.code >= 0), self.clicked

    @cached_property
    def last_code(self) -> Array:
        """Parameter index of the last click of each list; −1 without clicks."""
        return np.where(self.last > 0, self.code[np.maximum(self.last - 1, 0), np.arange(len(self.n))], -1)

    @property
    def _ranks(self) -> Array:
        return np.arange(1, len(self.clicked) + 1)[:, None]

    @cached_property
    def decided(self) -> Array:
        """Mask of the clicks above the end of the list, which are informative about satisfaction."""
        return self.clicked & (self._ranks < self.n)

    @cached_property
    def of_last(self) -> Array:
        """Mask of the clicks in `decided` that are the last of their list, and so may have satisfied."""
        return self.decided & (self._ranks == self.last)

    @cached_property
    def _known(self) -> tuple[Array, Array, Array, int]:
        """Observed counts by parameter: clicks, skips above a click, clicks that did not satisfy; and continuations."""
        passed = (self._ranks < self.last) & ~self.clicked & (self.code >= 0)
        earlier = self.decided & ~self.of_last
        moves = int(np.maximum(self.last - 1, 0).sum())
        return *(self.by(self.code, which).sum(axis=1) for which in (self.clicked, passed, earlier)), moves

    def expected(self, theta: Array) -> Expected:
        """Compute the expected hidden variables of all lists by the forward-backward algorithm (E step)."""
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
        """Compute the expected successes and trials of all parameters, [parameters × users]."""
        found = self.expected(theta)
        choices = found.examined * (self._ranks < self.n) - self.of_last * found.satisfied
        clicks, decided = self._clicks
        successes = (clicks, self.by(self.last_code, found.satisfied), self._by_user(found.examined[1:]))
        trials = (self.by(self.code, found.examined), decided, self._by_user(choices))
        return Sums(np.vstack(successes), np.vstack(trials), found.log_likelihood)

    @cached_property
    def _clicks(self) -> tuple[Array, Array]:
        """All clicks, and the clicks in `decided`, [parameters × users]."""
        return self.by(self.code, self.clicked), self.by(self.code, self.decided)

    def by(self, code: Array, weights: Array) -> Array:
        """Return sums of weights by parameter index and user, [parameters × users]."""
        place = (code + 1) * self.users + self.user
        sums = np.bincount(place.ravel(), weights.ravel(), minlength=(len(self.names) + 1) * self.users)
        return sums.reshape(-1, self.users)[1:]

    def _by_user(self, cells: Array) -> Array:
        return np.bincount(self.user, cells.sum(axis=0), minlength=self.users)[None, :]

    @property
    def together(self) -> ClickedLists:
        """The same lists with a single user."""
        return replace(self, user=np.zeros_like(self.user), users=1)


@dataclass(frozen=True, eq=False)
class Expected:
    """Expected hidden variables of lists.

    Attributes
    ----------
    log_likelihood : float
        Log-likelihood of the parameters.
    examined : ndarray, shape (n_ranks, n_lists)
        Probability that the result was examined.
    satisfied : ndarray, shape (n_lists,)
        Probability that the last click satisfied.
    """

    log_likelihood: float
    examined: Array
    satisfied: Array


@dataclass(frozen=True, eq=False)
class Sums:
    """Expected successes and trials of the parameters: a of all groups, s of all groups, γ.

    Attributes
    ----------
    on, of : ndarray, shape (2·n_groups + 1, n_users)
        Successes and trials.
    log_likelihood : float
        Log-likelihood of the parameters.
    """

    on: Array
    of: Array
    log_likelihood: float


def listed(rows: pd.DataFrame, code: Array, names: tuple, gaps: str) -> ClickedLists:
    """Return the lists of a log as arrays.

    Parameters
    ----------
    rows : DataFrame
        Rows of the log.
    code : ndarray of int, shape (n_rows,)
        Parameter index of each row.
    names : tuple
        Names of the groups.
    gaps : {"error", "passed", "closed"}
        Treatment of missing ranks.

    Returns
    -------
    ClickedLists

    Raises
    ------
    BadLog
        If a rank is missing and `gaps` is "error".
    """
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
            " with gaps='passed' they count as shown but not clickable, with gaps='closed' as not in the list."
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
    """Iterate EM; return the parameters, the log-likelihood of each step, and whether EM converged."""
    together, steps = lists.together, []
    for _ in range(_MOST_STEPS):
        sums = together.sums(theta)
        steps.append(sums.log_likelihood)
        new = update(theta, sums)
        converged = np.abs(new - theta).max() < _TOLERANCE
        theta = new
        if converged:
            return theta, np.array(steps), True
    return theta, np.array(steps), False


def four_digits(value: float) -> float:
    """Return a number with four significant digits, for the text of a measure."""
    return float(f"{value:.4g}")
