"""Changes by swaps of items from paths through the ranking, for metrics that are not sums."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ..data.columns import Array
from ..data.rankings import Pool, Rankings
from ..model.browsing import Walk
from ..model.introspection import check_probabilities, reads
from ..model.metric import Metric
from ..model.scoring import raw_score
from ..model.view import UnknownEffort, View, before
from ..model.view_columns import totals_of
from .swap_views import Column, Item, Listed, Replaced, Stacked, Standing, Swaps

#: For each rank a, from 0: the changes of M·N, shape (n_queries, n_ranks − a − 1), by swaps of a with the later ranks.
Changes = Iterator[tuple[int, Array]]

Arrivals = tuple[Array, list[Array]]
"""Share of users who arrive at each rank, and contributions of users to each part of the score."""


@dataclass
class Ranked:
    """Rankings as padded matrices.

    Attributes
    ----------
    n : ndarray of int, shape (n_queries,)
        The number of items of each ranking.
    r, grade : ndarray, shape (n_queries, n_ranks)
        Gains and grades; 0 after the last item.
    e : ndarray, shape (n_queries, n_ranks), or None
        Efforts; None if the effort is uniform.
    topic : ndarray of int, shape (n_queries,)
        The query of each ranking in the pool.
    pool : Pool
        The judgments.
    dtype : dtype, default=float
        The type of values for pairs. Sums of gains and efforts are float64, since C may be discontinuous in them.
    """

    n: Array
    r: Array
    grade: Array
    e: Array | None
    topic: Array
    pool: Pool
    dtype: Any = float

    @cached_property
    def listed(self) -> Array:
        """Mask of the cells with items."""
        return np.asarray(np.arange(self.r.shape[1])[None, :] < self.n[:, None])

    @cached_property
    def gains(self) -> Array:
        """Gains in the type of values for pairs."""
        return self.r.astype(self.dtype)

    def differ(self, a: int) -> Array:
        """Return whether there are items at the ranks after a that differ from that at a in grade or effort."""
        differ = np.zeros(self.listed[:, a + 1 :].shape, bool)
        for values in (self.grade, self.e):
            if values is not None:
                differ |= values[:, a + 1 :] != values[:, a : a + 1]
        return differ & self.listed[:, a + 1 :]

    @cached_property
    def rankings(self) -> Rankings:
        """Rankings of the relevant items."""
        return self.swapped(np.arange(len(self.n)), None, None)

    def swapped(self, query: Array, a: int | None, b: Array | None) -> Rankings:
        """Return the rankings of queries with the items at ranks a and b swapped (from 0); None swaps nothing."""
        grade, e = self.grade[query], None if self.e is None else self.e[query]
        if a is not None:
            each = np.arange(len(query))
            for values in (grade, e):
                if values is not None:
                    values[each, a], values[each, b] = values[each, b], values[each, a]
        row, column = np.nonzero(grade > 0)
        efforts = None if e is None else lambda queries, width: _widened(e, width)[queries]
        return Rankings.of_hits(
            self.n[query], row, column + 1, grade[row, column], self.pool, efforts=efforts, topic=self.topic[query]
        )


def _widened(e: Array, width: int) -> Array:
    return e[:, :width] if width <= e.shape[1] else np.pad(e, ((0, 0), (0, width - e.shape[1])))


_AT_ONCE = 1 << 17  # maximum number of swapped rankings × ranks per chunk


def by_scoring_anew(metric: Metric, ranked: Ranked, depth: int) -> Changes:
    """Yield the changes by scoring all swapped rankings, except for pairs of equal items."""
    score = raw_score(metric, ranked.rankings)
    width = ranked.r.shape[1]
    for a in range(depth):
        change = np.zeros((len(score), width - a - 1))
        query, b = np.nonzero(ranked.differ(a))
        for start in range(0, len(query), max(_AT_ONCE // width, 1)):
            some = slice(start, start + max(_AT_ONCE // width, 1))
            again = raw_score(metric, ranked.swapped(query[some], a, b[some] + a + 1))
            change[query[some], b[some]] = again - score[query[some]]
        yield a, change


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

    def arriving(self) -> Arrivals:
        """Return V at each rank, and U at each rank and after the last one, for each part."""
        C, parts = self.of(self.seen)
        C, *parts = (np.broadcast_to(values, self.seen.r.shape) for values in (C, *parts))
        tails = self.beyond(self.seen)
        return before_product(C), [_from_the_end(C, part, tail) for part, tail in zip(parts, tails, strict=True)]

    def beyond(self, view: View) -> list[Array]:
        """Return the contribution of a user who arrives after the last rank; of all users for C that gives V."""
        nothing, survival = np.zeros((len(view.r), 1)), self.metric.C.fact("gives_survival")
        if self.metric.end != "open" or (survival and not self.rate):
            return [nothing] * (1 + self.rate)
        walk = Walk(self.metric, view)
        view.spend = lambda: 1.0
        if not survival:
            walk.reach = np.ones_like(nothing)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            gain = nothing if survival else walk.score_beyond + nothing
        return [gain, walk.effort_beyond + nothing] if self.rate else [gain]

    def tails(self, a: int, swaps: Swaps) -> list[Array]:
        """Return U after the last rank if each y, from a rank that does not count, replaces x at rank a."""
        column, shape = Column(self.seen, self.last - 1, slice(None)), np.shape(swaps.y.r)
        view = Replaced(column, swaps, self.last - 1 == a, (slice(None), slice(None)))
        return [tail.reshape(shape) for tail in self.beyond(Stacked(view, shape))]


def explicit(metric: Metric, shown: int) -> int:
    """Return the number of ranks to compute one by one, if ``shown`` ranks of the rankings count."""
    return shown if metric.end == "stop" else max(shown, metric.explicit_ranks)


def before_product(C: Array) -> Array:
    """Return V(i) = Π_{j<i} C(j)."""
    V = np.ones_like(C)
    np.cumprod(C[:, :-1], axis=1, out=V[:, 1:])
    return V


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


def by_pairs(metric: Metric, ranked: Ranked, depth: int) -> Changes:
    """Yield the changes by swaps of item x at rank a with item y at rank b.

    The set of items seen has y in place of x from a to before b, and is the same as before from b on. C and A are
    computed at these ranks only. If nobody leaves at items without gain, and A is constant there, these are left out.
    """
    pairs = _Pairs(metric, ranked)
    try:
        V, arriving = pairs.arriving()
    except UnknownEffort:  # it is not needed if the changes are the same for two efforts of unseen items
        score = np.abs(raw_score(metric, ranked.rankings))[:, None]
        cheap, dear = (by_pairs(replace(metric, unseen=cost), ranked, depth) for cost in (1.0, 100.0))
        for (a, change), (_, other) in zip(cheap, dear, strict=True):
            if (np.abs(change - other) > 1e-12 + 1e-10 * score).any():
                raise
            yield a, change
    else:
        yield from _by_moves(pairs, V, arriving, depth)


def _by_moves(paths: _Pairs | _GradePaths, V: Array, arriving: list[Array], depth: int) -> Changes:
    """Yield the changes from the change of U at each rank a, which V(a) of the users reach."""
    if not all(np.isfinite(U).all() for U in arriving):
        yield from by_scoring_anew(paths.metric, paths.ranked, depth)
        return
    whole = [U[:, :1] for U in arriving]
    for a in range(min(depth, paths.shown)):
        more = [V[:, a : a + 1] * moved for moved in paths.moved(a, arriving)]
        change = more[0] if len(more) == 1 else ratio(whole[0] + more[0], whole[1] + more[1]) - ratio(*whole)
        yield a, np.asfortranarray(change, paths.ranked.dtype)


class _Pairs(Paths):
    """Paths through rankings with two items swapped.

    Attributes
    ----------
    hits_decide : bool
        Whether ranks without gain neither contribute nor make users leave.
    """

    def __init__(self, metric: Metric, ranked: Ranked) -> None:
        super().__init__(metric, ranked)
        # Cells after the last item have an effort, since A may be infinite without one; their changes are not used.
        e = None if ranked.e is None else np.where(ranked.listed, ranked.e, 1.0)
        self.items = Item(np.ascontiguousarray(ranked.grade), np.ascontiguousarray(ranked.r), e)
        self.hits_decide = not self.rate and bool(metric.C.fact("ignores_zero_gain") or metric.C.fact("gives_survival"))
        rows: list[Any] = [slice(None)] * self.last  # in which the item of each rank can contribute or make users leave
        if self.hits_decide:
            counts = self.seen.grade > 0
            if metric.end != "open":
                counts |= self.seen.i == self.leaves[:, None]
            rows = [np.flatnonzero(of_rank) for of_rank in counts.T]
        self.columns = [Column(self.seen, j, of_rank) for j, of_rank in enumerate(rows)]

    def arriving(self) -> Arrivals:
        """Return V and U, as :meth:`Paths.arriving`; UnknownEffort is raised if an effort is needed and not known."""
        end, hits_decide = self.metric.end, self.hits_decide
        known = self.metric.unseen_effort is not None or end == "stop" or (end == "open" and hits_decide)
        if not (known or (np.minimum(self.ranked.n, self.shown) >= self.last).all()):
            raise UnknownEffort
        return super().arriving()

    def moved(self, a: int, arriving: list[Array]) -> list[Array]:
        """Return the change of U at rank a by swaps with the item of each later rank, for each part."""
        swaps = Swaps(self.items.at(slice(a, a + 1)), self.items.at(slice(a + 1, None)))
        inside = self.shown - a - 1
        share, found = self._down_to_y(a, swaps)
        C, parts = self.of(Standing(self.seen, swaps.x))
        at_b = slice(a + 1, self.shown)
        for values, part, U in zip(found, parts, arriving, strict=True):
            values[:, :inside] += share[:, :inside] * (part + C * U[:, 1:])[:, at_b]
        if share.shape[1] > inside:  # x moves to a rank that does not count
            from_below = Swaps(swaps.x, self.items.at(slice(self.shown, None)))
            for values, tail in zip(found, self.tails(a, from_below), strict=True):
                values[:, inside:] += share[:, inside:] * tail
        differ = self.ranked.differ(a)
        return [np.where(differ, values - U[:, a : a + 1], 0.0) for values, U in zip(found, arriving, strict=True)]

    def _down_to_y(self, a: int, swaps: Swaps) -> Arrivals:
        """Return the share of users at rank a who arrive at each later b, and what those who leave before contribute.

        For b at ranks that do not count, these are the users who arrive after the last rank.
        """
        share = np.ones((len(self.seen.r), self.items.r.shape[1] - a - 1))
        found = [np.zeros(share.shape) for _ in range(1 + self.rate)]
        for j in range(a, self.last):
            first = min(j, self.shown - 1) - a
            column = self.columns[j] if j > a else Column(self.seen, a, slice(None))
            if first >= share.shape[1] or not len(column.r):
                continue
            some = column.rows, slice(first, None)
            C, parts = self.of(Replaced(column, swaps, j == a, some), column.rows)
            arrived = share[some]
            for values, part in zip(found, parts, strict=True):
                values[some] += arrived * part
            share[some] = arrived * C
        return share, found


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
    items = Item(grades, metric.gains(grades), metric.effort_of(grades))
    paths = _GradePaths(metric, ranked, items, np.ascontiguousarray(level.reshape(ranked.grade.shape).T))
    yield from _by_moves(paths, *paths.arriving(), depth)


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
    grades : Item
        Items of all grades.
    items : list of Item
        One item of each grade.
    level : ndarray of int, shape (n_ranks, n_queries)
        The number of the grade of each item.
    listed : Listed
        View of the ranks with items that count.
    """

    def __init__(self, metric: Metric, ranked: Ranked, grades: Item, level: Array) -> None:
        super().__init__(metric, ranked)
        e = None if self.seen.efforts is None else self.seen.efforts[:, : self.shown]
        self.listed = self._view(self.seen.grade[:, : self.shown], self.seen.r[:, : self.shown], e)
        self.grades, self.level = grades, level
        self.items = [Item(*one) for one in zip(grades.grade, grades.r, grades.e, strict=True)]

    def arriving(self) -> Arrivals:
        """Return V and U, as :meth:`Paths.arriving`, in the type of values for pairs."""
        V, self.exact = super().arriving()
        return V.astype(self.ranked.dtype), [U.astype(self.ranked.dtype) for U in self.exact]

    @cached_property
    def at_b(self) -> list[Array]:
        """U(b) for each part with each item x at b, where y above has replaced x: the set of items is the same.

        The shape is (n_ranks, n_grades · n_queries).
        """
        found = [self._empty(len(self.items)) for _ in self.exact]
        for of_x, x in enumerate(self.items):
            C, parts = self.of(Standing(self.listed, x))
            for table, part, U in zip(found, parts, self.exact, strict=True):
                table[:, of_x] = self._by_rank(part + C * U[:, 1 : self.shown + 1])
        return [table.reshape(self.shown, -1) for table in found]

    @cached_property
    def between(self) -> list[_Table]:
        """Tables of C and of each part."""
        n, itself = len(self.items), Item(self.listed.grade, self.listed.r, self.listed.efforts)
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
            entering = Replaced(self.listed, Swaps(itself, y), enters=True, where=below)
            self._keep(entering, [table.entering[:, of_y : of_y + 1] for table in tables])
            for of_x, x in enumerate(self.items):
                between = below & above[of_x][:, : self.shown]
                view = self.listed if of_x == of_y else Replaced(self.listed, Swaps(x, y), False, where=between)
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

    def moved(self, a: int, arriving: list[Array]) -> list[Array]:
        """Return the change of U at rank a by swaps with the item of each later rank, for each part.

        U without a swap is computed in the same way, so that swaps of items with equal effects change nothing.
        """
        queries, inside, later = np.arange(len(self.seen.r)), self.shown - a - 1, self.level[a + 1 :]
        x, y = self.level[a], later[:inside]
        of_x, of_y = x * len(queries) + queries, y * len(queries) + queries
        C, *parts = (table.down_from(a, of_x) for table in self.between)
        share = np.ones((inside + 2, *C.shape[1:]), C.dtype)  # of users at a who arrive at each rank, by grade of y
        for j in range(inside + 1):
            np.multiply(share[j], C[j], out=share[j + 1])
        arrived = [_of_grades(share[1:-1], places) for places in (of_y, of_x)]
        tails = self._tails_of_grades(a) if len(later) > inside else []
        found = []
        for number, (part, standing, U) in enumerate(zip(parts, self.at_b, arriving, strict=True)):
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
            change[later == x] = 0
            found.append(change.T)
        return found

    def _tails_of_grades(self, a: int) -> list[Array]:
        """Return U after the last rank with an item of each grade at rank a, of shape (n_grades, n_queries)."""
        shape = len(self.seen.r), len(self.items)
        y = Item(*(np.broadcast_to(values, shape) for values in vars(self.grades).values()))
        x = Item(self.seen.grade, self.seen.r, np.broadcast_to(self.seen.e, self.seen.r.shape)).at(slice(a, a + 1))
        return [tail.T for tail in self.tails(a, Swaps(x, y))]


def _of_grades(table: Array, places: Array) -> Array:
    """Return the values of a table of shape (n_ranks, n_grades, n_queries) at some places in its last two axes.

    If the table does not depend on grades, its values at each rank are returned.
    """
    ranks, grades, queries = table.shape
    if grades == 1:
        return table[:, 0]
    return np.take(table.reshape(-1), np.arange(ranks)[:, None] * (grades * queries) + places, mode="clip")
