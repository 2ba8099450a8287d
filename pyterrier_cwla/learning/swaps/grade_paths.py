"""Changes by swaps from tables for each pair of grades, for C and A that forget the order of the items."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...data.rankings import Array
from ...model.introspection import reads
from ...model.metric import Metric
from ...model.view import View, before
from .pairs import by_pairs
from .paths import Paths, ratio
from .ranked import Changes, Ranked
from .scoring_anew import by_scoring_anew
from .views import Entering, Exchanged, Item, Standing

_MOST_GRADES = 16  # with more grades, tables for each pair of grades are not faster


def by_paths(metric: Metric, ranked: Ranked, depth: int) -> Changes:
    """Yield the changes by swaps of item x at rank a with item y at rank b.

    C and A at rank a depend on the grade of y, those between a and b on the grades of x and y but not on a or b, those
    at b on the grade of x, and those after b on neither.
    """
    grades, level = np.unique(ranked.grade, return_inverse=True)
    if len(grades) > _MOST_GRADES:
        yield from by_pairs(metric, ranked, depth)
        return
    items = [Item(*one) for one in zip(grades, metric.gains(grades), metric.effort_of(grades))]
    paths = _GradePaths(metric, ranked, items, np.ascontiguousarray(level.reshape(ranked.grade.shape).T))
    V, arriving = paths.arriving()
    if not all(np.isfinite(U).all() for U in arriving):
        yield from by_scoring_anew(metric, ranked, depth)
        return
    at_b, between = paths.at_b(arriving), paths.between()
    V, arriving = V.astype(ranked.dtype), [U.astype(ranked.dtype) for U in arriving]
    whole = [U[:, :1] for U in arriving]
    for a in range(min(depth, paths.shown)):
        more = [V[:, a : a + 1] * moved.T for moved in paths.moved(a, at_b, between, arriving)]
        change = more[0] if len(more) == 1 else ratio(whole[0] + more[0], whole[1] + more[1]) - ratio(*whole)
        change[(paths.level[a + 1 :] == paths.level[a]).T] = 0
        yield a, change


@dataclass
class _Table:
    """C, or contributions, at each rank with y in place of x, by their grades.

    Values that do not depend on grades have the shapes (n_ranks, 1, 1) and (n_ranks, 1).

    Attributes
    ----------
    between : ndarray, shape (n_ranks, n_grades_of_y, n_grades_of_x · n_queries)
        Values at ranks between x and y.
    entering : ndarray, shape (n_ranks, n_grades_of_y, n_queries)
        Values at each rank if y is there.
    """

    between: Array
    entering: Array

    def down_from(self, a: int, of_x: Array) -> Array:
        """Return the values at rank a and the ranks after it, with the places of x in the last axis."""
        fixed = self.between.shape[1:] == (1, 1)
        found = self.between[a:].copy() if fixed else np.take(self.between[a:], of_x, axis=2, mode="clip")
        found[0] = self.entering[a]
        return found


class _GradePaths(Paths):
    """Paths through rankings with an item of one grade in place of an item of another.

    Attributes
    ----------
    items : list of Item
        One item of each grade.
    level : ndarray of int, shape (n_ranks, n_queries)
        The number of the grade of each item.
    listed : Listed
        View of the ranks with items that count.
    """

    def __init__(self, metric: Metric, ranked: Ranked, items: list[Item], level: Array) -> None:
        super().__init__(metric, ranked)
        self.items, self.level, self.listed = items, level, self.first

    def at_b(self, arriving: list[Array]) -> list[Array]:
        """Return for each part U(b) with each item x at b, where y above has replaced x: the set of items is the same.

        The shape is (n_ranks, n_grades · n_queries).
        """
        found = [self._empty(len(self.items)) for _ in arriving]
        for of_x, x in enumerate(self.items):
            C, parts = self.of(Standing(self.listed, x))
            for table, part, U in zip(found, parts, arriving, strict=True):
                table[:, of_x] = self._by_rank(part + C * U[:, 1 : self.shown + 1])
        return [table.reshape(self.shown, -1) for table in found]

    def between(self) -> list[_Table]:
        """Return tables of C and of each part."""
        n = len(self.items)
        tables = [
            _Table(self._by_rank(values)[:, :1, None], self._by_rank(values)[:, :1])
            if fixed
            else _Table(self._empty(n, n), self._empty(n))
            for values, fixed in zip(self._values(self.listed), self._fixed, strict=True)
        ]
        above = [before(np.logical_or.accumulate(x == self.level.T, axis=1).astype(float)) > 0 for x in range(n)]
        for of_y, y in enumerate(self.items):
            below: Array = np.zeros(self.listed.r.shape, bool)
            there = np.logical_or.accumulate(self.level[::-1] == of_y, axis=0)[::-1].T
            below[:, : len(self.level) - 1] = there[:, 1 : self.shown + 1]
            self._keep(Entering(self.listed, below, y), [table.entering[:, of_y : of_y + 1] for table in tables])
            for of_x, x in enumerate(self.items):
                between = below & above[of_x][:, : self.shown]
                view = self.listed if of_x == of_y else Exchanged(self.listed, between, x, y)
                self._keep(view, [table.between[:, of_y : of_y + 1, of_x : of_x + 1] for table in tables])
        return [replace(table, between=table.between.reshape(*table.between.shape[:2], -1)) for table in tables]

    @property
    def _fixed(self) -> list[bool]:
        """Return whether C, and each part, has the same values for all grades and rankings."""
        survival, stops = self.metric.C.fact("gives_survival"), self.metric.end == "stop"
        C = survival or (reads(self.metric.C) <= {"i"} and not stops)
        return [C, False, self.metric.unit_effort and not survival] if self.rate else [C, False]

    def _values(self, view: View) -> list[Any]:
        C, parts = self.of(view)
        return [C, *parts]

    def _empty(self, *grades: int) -> Array:
        return np.empty((self.shown, *grades, len(self.seen.r)), self.ranked.dtype)

    def _keep(self, view: View, places: list[Array]) -> None:
        for place, values, fixed in zip(places, self._values(view), self._fixed, strict=True):
            if not fixed:
                place[...] = self._by_rank(values).reshape(place.shape)

    def _by_rank(self, values: Any) -> Array:
        """Return values at the ranks with items that count, with the ranks as the first axis."""
        return np.broadcast_to(values, self.listed.r.shape).T.astype(self.ranked.dtype, copy=False)

    def moved(self, a: int, at_b: list[Array], between: list[_Table], arriving: list[Array]) -> list[Array]:
        """Return the change of U at rank a by swaps with the item of each later rank, for each part, by rank.

        U without a swap is computed in the same way, so that swaps of items with equal effects change nothing.
        """
        queries, inside, later = np.arange(len(self.seen.r)), self.shown - a - 1, self.level[a + 1 :]
        x, y = self.level[a], later[:inside]
        of_x, of_y = x * len(queries) + queries, y * len(queries) + queries
        C, *parts = (table.down_from(a, of_x) for table in between)
        share = np.ones((inside + 2, *C.shape[1:]), C.dtype)  # of users at a who arrive at each rank, by grade of y
        for j in range(inside + 1):
            np.multiply(share[j], C[j], out=share[j + 1])
        arrived = [_of_grades(share[1:-1], places) for places in (of_y, of_x)]
        tails = self._tails(a) if len(later) > inside else []
        found = []
        for number, (part, standing, U) in enumerate(zip(parts, at_b, arriving, strict=True)):
            passed = part * share[:-1]
            for j in range(inside):
                passed[j + 1] += passed[j]
            moved, stayed = (_of_grades(passed[:inside], places) for places in (of_y, of_x))
            moved = moved + arrived[0] * np.take(standing[a + 1 :], of_x, axis=1, mode="clip")
            stayed = stayed + arrived[1] * U[:, a + 1 : self.shown].T
            change = np.empty(later.shape, C.dtype)
            change[:inside] = moved - stayed
            if tails:  # x moves to a rank that does not count
                after = [passed[-1] + share[-1] * tail for tail in (tails[number], U[:, self.shown])]
                change[inside:] = after[0][later[inside:], queries] - after[1][x, queries]
            found.append(change)
        return found

    def _tails(self, a: int) -> list[Array]:
        """Return U after the last rank with an item of each grade at rank a, of shape (n_grades, n_queries)."""
        of_items = (self.beyond(self.replaced(a, y)) for y in self.items)
        return [np.hstack(tails).T for tails in zip(*of_items, strict=True)]


def _of_grades(table: Array, places: Array) -> Array:
    """Return the values of a table of shape (n_ranks, n_grades, n_queries) at some places in its last two axes.

    If the table does not depend on grades, its values at each rank are returned.
    """
    ranks, grades, queries = table.shape
    if grades == 1:
        return table[:, 0]
    found: Array = np.take(table.reshape(-1), np.arange(ranks)[:, None] * (grades * queries) + places, mode="clip")
    return found
