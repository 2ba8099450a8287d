"""Paths of users through rankings in which an item y has replaced an item x: C and contributions to the score."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ...data.rankings import Array
from ...model.browsing import Walk
from ...model.introspection import check_probabilities, reads
from ...model.metric import Metric
from ...model.view import View
from ...model.view_columns import totals_of
from .ranked import Ranked
from .views import Item, Listed


class Paths:
    """C and contributions at the ranks that count.

    U(i) is the contribution to the score of a user who arrives at rank i: U(i) = (1 − C(i))·A(i) + C(i)·U(i+1).

    Attributes
    ----------
    rate : bool
        Whether the score is a ratio of gain and effort. Contributions to both are computed.
    shown : int
        Number of ranks with items that count.
    last : int
        Number of ranks that are computed one by one; later ones are unseen, and have no gain.
    seen : Listed
        View of these ranks.
    """

    def __init__(self, metric: Metric, ranked: Ranked) -> None:
        self.metric, self.ranked = metric, ranked
        self.rate = "expected_effort" in reads(metric.A)
        self.shown = min(ranked.r.shape[1], metric.last_that_counts or ranked.r.shape[1])
        self.last = explicit(metric, self.shown)
        self.leaves = np.minimum(ranked.n, self.shown) if metric.end == "stop" else np.full(len(ranked.n), self.last)
        self.seen = self._view(self._padded(ranked.grade), self._padded(ranked.r), self._efforts())

    def _padded(self, values: Array, further: float = 0.0) -> Array:
        more = ((0, 0), (0, self.last - self.shown))
        return np.pad(np.ascontiguousarray(values[:, : self.shown]), more, constant_values=further)

    def _efforts(self) -> Array | None:
        """Return the effort of each item; that of items which were not retrieved counts as 0 if it is not known."""
        if self.ranked.e is None:
            return None
        unseen = self.metric.unseen_effort or 0.0
        return self._padded(np.where(self.ranked.listed, self.ranked.e, unseen), unseen)

    def _view(self, grade: Array, r: Array, e: Array | None) -> Listed:
        i = np.arange(1.0, r.shape[1] + 1)[None, :]
        totals = lru_cache(totals_of(self.metric, self.ranked.rankings, np.arange(len(r))))
        return Listed(i, r, grade, totals, e, self.metric.unseen_effort)

    @property
    def first(self) -> Listed:
        """View of the ranks with items that count."""
        e = None if self.seen._e is None else np.asarray(self.seen._e)[:, : self.shown]
        return self._view(self.seen.grade[:, : self.shown], self.seen.r[:, : self.shown], e)

    def replaced(self, a: int, y: Item) -> Listed:
        """Return a view with an item at rank a of each ranking, which changes the set of items at later ranks."""
        grade, r, e = (np.array(values) for values in (self.seen.grade, self.seen.r, self.seen.e))
        grade[:, a], r[:, a] = y.grade, y.r
        if e.ndim:
            e[:, a] = y.e
        return self._view(grade, r, e if e.ndim else None)

    def of(self, view: View, rows: Any = slice(None)) -> tuple[Any, list[Any]]:
        """Return C and the contribution of a user at each rank; for gain per effort, contributions to both sums.

        For continuations that give V, the contributions contain V, and C is 1.

        Parameters
        ----------
        view : View
            View of some rankings.
        rows : ndarray of int or slice, default=slice(None)
            These rankings; by default all.

        Returns
        -------
        C : ndarray or float
            Values that broadcast to the shape of the view.
        parts : list of ndarray or float
            Values that broadcast to the shape of the view.
        """
        C = np.asarray(self.metric.C(view), float)
        check_probabilities(self.metric.C, C, view.r)
        if self.metric.C.fact("gives_survival"):
            phi, w = self.metric.A.fact("credit_terms")(view.i, view.r, view.e, None)
            V = self._while_listed(C, view.i, rows)
            return 1.0, [V * phi * w, V * view.e] if self.rate else [V * phi * w]
        C = self._while_listed(C, view.i + 1, rows)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            leaving = (1 - C) * np.asarray(self.metric.A(view), float)
        if not np.isfinite(leaving).all():  # A may be infinite at ranks at which no user leaves
            leaving = np.where(C >= 1, 0.0, leaving)
        return C, [leaving, view.e] if self.rate else [leaving]

    def _while_listed(self, values: Array, i: Array, rows: Any) -> Array:
        """Return values at ranks that users can reach, and 0 at others."""
        return values if self.metric.end == "open" else np.where(i <= self.leaves[rows, None], values, 0.0)

    def arriving(self) -> tuple[Array, list[Array]]:
        """Return V at each rank, and U at each rank and after the last one, for each part."""
        C, parts = self.of(self.seen)
        C, *parts = (np.broadcast_to(values, self.seen.r.shape) for values in (C, *parts))
        V = np.ones(C.shape)
        np.cumprod(C[:, :-1], axis=1, out=V[:, 1:])
        return V, [_from_the_end(C, part, tail) for part, tail in zip(parts, self.beyond(self.seen), strict=True)]

    def beyond(self, view: View) -> list[Array]:
        """Return the contribution of a user who arrives after the last rank; of all users for C that gives V."""
        nothing = np.zeros((len(view.r), 1))
        if self.metric.end != "open":
            return [nothing, nothing] if self.rate else [nothing]
        if self.metric.C.fact("gives_survival"):
            return [nothing, self._walk(view).effort_beyond + nothing] if self.rate else [nothing]
        walk = self._walk(view)
        walk.reach = np.ones_like(nothing)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            gain = walk.score_beyond + nothing
        return [gain, walk.effort_beyond + nothing] if self.rate else [gain]

    def _walk(self, view: View) -> Walk:
        walk = Walk(self.metric, view)
        view.spend = lambda: 1.0
        return walk


def explicit(metric: Metric, shown: int) -> int:
    """Return the number of ranks to compute one by one, if ``shown`` ranks of the rankings count."""
    return shown if metric.end == "stop" else max(shown, metric.explicit_ranks)


def _from_the_end(C: Array, part: Array, end: Array) -> Array:
    """Return U at each rank and after the last one."""
    U = np.empty((len(C), C.shape[1] + 1))
    U[:, -1:] = end
    with np.errstate(invalid="ignore"):  # the end may be infinite where nobody arrives
        for i in range(C.shape[1] - 1, -1, -1):
            U[:, i] = part[:, i] + C[:, i] * U[:, i + 1]
    return U


def ratio(gain: Array, effort: Array) -> Array:
    """Return gain divided by effort, and 0 without effort."""
    if effort.min(initial=np.inf) > 0:
        return gain / effort
    return np.divide(gain, effort, out=np.zeros_like(gain), where=effort > 0)
