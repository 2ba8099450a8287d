"""Changes of a score when two items of a ranking are swapped (LambdaMART's ΔM), for all pairs of ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..data.rankings import Array, Pool, Rankings
from ..model.aggregations import effort as EFFORT
from ..model.browsing import Walk
from ..model.introspection import check_probabilities, reads
from ..model.metric import Metric
from ..model.rank_weights import rank_weights, ranks_have_weights
from ..model.scoring import raw_score
from ..model.view import View, before
from ..model.view_columns import totals_of

#: For each rank a, from 0: the changes of M·N, shape (n_queries, n_ranks − a − 1), by swaps of a with the later ranks.
Changes = Iterator[tuple[int, Array]]
_AT_ONCE = 1 << 17  # maximum number of swapped rankings × ranks per chunk
_MOST_GRADES = 16  # with more grades, one pass per grade is not faster


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
        The type of values for pairs.
    """

    n: Array
    r: Array
    grade: Array
    e: Array | None
    topic: Array
    pool: Pool
    dtype: Any = float

    @cached_property
    def gains(self) -> Array:
        """Gains in the type of values for pairs."""
        return self.r.astype(self.dtype)

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


def way_to_swap(metric: Metric, longest: int) -> Callable[[Metric, Ranked, int], Changes]:
    """Return the fastest function that computes the changes of a metric by swaps.

    Parameters
    ----------
    metric : Metric
        The metric.
    longest : int
        The number of items of the longest ranking.

    Returns
    -------
    callable
        One of :func:`by_rank_weights`, :func:`by_sums`, :func:`by_paths` and :func:`by_scoring_anew`. The last one
        works for all metrics.
    """
    if ranks_have_weights(metric):
        return by_rank_weights
    if _is_made_of_sums(metric, longest):
        return by_sums
    if _forgets_the_order(metric, longest):
        return by_paths
    return by_scoring_anew


def equal_gains_are_equal(metric: Metric) -> bool:
    """Return whether swaps of items with equal gains do not change the score."""
    return metric.unit_effort and "grade" not in reads(metric.C) | reads(metric.A)


def _is_made_of_sums(metric: Metric, longest: int) -> bool:
    """Return whether M·N is Σ V(i)·φ(i)·w_i or a ratio of such sums, with V fixed or a product over single items."""
    C, A, last = metric.C, metric.A, metric.last_that_counts
    if C.fact("gives_survival") or A.fact("credit_terms") is None or ("E" in reads(A) and not metric.unit_effort):
        return False
    if reads(C) <= {"i"}:
        return bool(A.fact("linear_in_gain")) and _everybody_leaves(metric)
    if not reads(C) <= {"r", "e", "grade", "at_least"}:
        return False
    whole = (
        last is None or longest <= last
    )  # otherwise swaps bring in items from ranks that do not count, and V changes
    if not A.fact("linear_in_gain"):
        return whole or (metric.end == "open" and _goes_on_beyond(metric) == 1)
    if "expected_effort" in reads(A) and not (whole or metric.end in ("stop", last)):
        return False
    return _everybody_leaves(metric)


#: The names of a view that depend on the set of items so far, but not on their order.
_SET = {"i", "r", "grade", "e", "at_least", "G", "G_before", "E", "best", "total", "expected_effort"}
_SET |= {"totals", "spend", "background"}  # the inputs of these


def _forgets_the_order(metric: Metric, longest: int) -> bool:
    """Return whether C and A depend on the set of grades so far, but not on their order."""
    C, A, last = metric.C, metric.A, metric.last_that_counts
    survival, terms = C.fact("gives_survival"), A.fact("credit_terms") is not None
    if metric.flat_effort is None or not reads(C) <= _SET:
        return False
    if survival and not (A.fact("linear_in_gain") and terms and _everybody_leaves(metric)):
        return False
    if not survival and not (reads(A) <= _SET and (terms or "expected_effort" not in reads(A))):
        return False
    return last is None or longest <= last or _explicit(metric, last) <= last


def _explicit(metric: Metric, shown: int) -> int:
    """Return the number of ranks to compute one by one, if ``shown`` ranks of the rankings count."""
    return shown if metric.end == "stop" else max(shown, metric.explicit_ranks)


def _everybody_leaves(metric: Metric) -> bool:
    """Return whether all users leave at some rank, so that Σ L(i)·G(i) = Σ V(i)·r_i."""
    C = metric.C
    if metric.end != "open" or metric.rank_at("last_rank") or C.fact("vanishes") or C.fact("eventually_leaves"):
        return True
    return bool(C.fact("constant_beyond_list")) and _goes_on_beyond(metric) < 1


def _goes_on_beyond(metric: Metric) -> float:
    """Return C at items without gain, if it is the same at all of them."""
    nothing = np.zeros((1, 1))
    seen = View(nothing + 1, nothing, nothing, lambda _: nothing, nothing + 1, metric.unseen_effort or 1.0)
    return float(np.max(metric.C(seen.beyond([[1.0]]))))


# Weights of ranks: M·N = Σ weight(i)·r_i.


def by_rank_weights(metric: Metric, ranked: Ranked, depth: int) -> Changes:
    """Yield the changes (weight_a − weight_b)·(r_b − r_a) for C that depends on the rank alone and linear A."""
    width = ranked.r.shape[1]
    weights = np.zeros((1, width))
    shown = min(width, metric.last_that_counts or width)
    if metric.end == "stop":
        weights = np.zeros(ranked.r.shape)
        for n in np.unique(ranked.n).tolist():
            weights[ranked.n == n, : min(n, shown)] = rank_weights(metric.C, metric.A, "stop", min(n, shown))
    else:
        weights[:, :shown] = rank_weights(metric.C, metric.A, metric.end, 1 << (shown - 1).bit_length())[:shown]
    return _with_fixed_weights(weights.astype(ranked.dtype), ranked.r.astype(ranked.dtype), depth)


def _with_fixed_weights(weights: Array, w: Array, depth: int) -> Changes:
    for a in range(depth):
        yield a, (weights[:, a : a + 1] - weights[:, a + 1 :]) * (w[:, a + 1 :] - w[:, a : a + 1])


# Sums over items: M·N = Σ V(i)·φ(i)·w_i, or a ratio of two such sums.


def by_sums(metric: Metric, ranked: Ranked, depth: int) -> Changes:
    """Yield the changes for V that is fixed, or a product over the items before."""
    r = ranked.r
    i = np.arange(1.0, r.shape[1] + 1)[None, :]
    view = View(i, r, ranked.grade, lambda _: None, ranked.e)
    C = np.broadcast_to(np.asarray(metric.C(view), float), r.shape)
    check_probabilities(metric.C, C)
    e = np.broadcast_to(np.asarray(view.e, float), r.shape)
    phi, w = metric.A.fact("credit_terms")(i, r, e, C)
    shown = i <= (metric.last_that_counts or np.inf)
    fixed = reads(metric.C) <= {"i"}
    V, dtype = before_product(C), ranked.dtype

    def changes(phi: Any, w: Array) -> Changes:
        phi = np.broadcast_to(phi * shown, i.shape)
        if fixed:
            return _with_fixed_weights((V * phi).astype(dtype), w.astype(dtype), depth)
        return _with_products(V.astype(dtype), C.astype(dtype), phi.astype(dtype), w.astype(dtype), depth)

    if "expected_effort" not in reads(metric.A):
        yield from changes(phi, w)
        return
    gain = (V * phi * shown * w).sum(axis=1, keepdims=True)
    spent = raw_score(replace(metric, A=EFFORT()), ranked.rankings)[
        :, None
    ]  # Σ V(i)·e_i, including ranks beyond the list
    gain, spent = gain.astype(dtype), spent.astype(dtype)
    for (a, more), (_, dearer) in zip(changes(phi, w), changes(1.0, e), strict=True):
        yield a, _rate(gain + more, spent + dearer) - _rate(gain, spent)


def _rate(gain: Array, spent: Array) -> Array:
    return np.divide(gain, spent, out=np.zeros_like(gain), where=spent > 0)


def before_product(C: Array) -> Array:
    """Return V(i) = Π_{j<i} C(j)."""
    V = np.ones_like(C)
    np.cumprod(C[:, :-1], axis=1, out=V[:, 1:])
    return V


def _with_products(V: Array, c: Array, phi: Array, w: Array, depth: int) -> Changes:
    """Yield the changes by swaps of item x at rank a with item y at rank b.

    With Q(i) = Π_{a<j<i} c_j and R(b) = Σ_{a<i<b} Q(i)·φ(i)·w_i, the change is

    V(a)·[φ(a)(w_y − w_x) + (c_y − c_x)·R(b) + φ(b)·Q(b)·(c_y·w_x − c_x·w_y)],

    since nothing changes after b. Q and R of a rank follow from those of the next rank, without a division.
    """
    Q, R = np.ones_like(c), np.zeros_like(c)
    np.cumprod(c[:, depth:-1], axis=1, out=Q[:, depth + 1 :])
    np.cumsum((Q[:, depth:] * phi[:, depth:] * w[:, depth:])[:, :-1], axis=1, out=R[:, depth + 1 :])
    for a in range(depth - 1, -1, -1):
        q, passed = Q[:, a + 1 :], R[:, a + 1 :]
        w_x, c_x, w_y, c_y = w[:, a : a + 1], c[:, a : a + 1], w[:, a + 1 :], c[:, a + 1 :]
        change = phi[:, a : a + 1] * (w_y - w_x)
        change += (c_y - c_x) * passed
        last = c_y * w_x
        last -= c_x * w_y
        last *= q
        last *= phi[:, a + 1 :]
        change += last
        change *= V[:, a : a + 1]
        yield a, change
        q *= c_x
        passed *= c_x
        passed += phi[:, a : a + 1] * w_x
        R[:, a] = 0
        Q[:, a] = 1


# C and A that depend on the set of items so far, but not on their order.


class Standing(View):
    """View in which a given item replaces the item at each rank, with the same set of items down to this rank."""

    def __init__(self, seen: View, r: float, grade: float, e: Any) -> None:
        super().__init__(seen.i, np.full_like(seen.r, r), np.full(seen.r.shape, grade), seen.totals, e, seen.unseen)
        self.seen = seen
        self.spend = lambda: 1.0

    @property
    def G(self) -> Any:
        """Gain down to each rank."""
        return self.seen.G

    @property
    def G_before(self) -> Any:
        """Gain before each rank."""
        return self.seen.G - self.r

    @property
    def E(self) -> Any:
        """Effort down to each rank."""
        return self.seen.E

    @property
    def best(self) -> Any:
        """Highest gain down to each rank."""
        return self.seen.best

    def at_least(self, rel: float | None) -> View:
        """Return the view with binary gains for grades of ``rel`` or above."""
        if rel is None:
            return self
        return Standing(self.seen.at_least(rel), float(self.grade.flat[0] >= rel), self.grade.flat[0], self._e)


class Exchanged(View):
    """View in which an item y, which is further down, has replaced an item x above, at the ranks between them.

    Parameters
    ----------
    seen : View
        View of the rankings.
    between : ndarray of bool, shape (n_queries, n_ranks)
        Ranks with such an x above and such a y below. Other ranks have the values of `seen`.
    x, y : Item
        The two items.
    """

    def __init__(self, seen: View, between: Array, x: Item, y: Item) -> None:
        super().__init__(seen.i, seen.r, seen.grade, seen.totals, seen._e, seen.unseen)
        self.seen, self.between, self.x, self.y = seen, between, x, y
        self.spend = lambda: 1.0

    @cached_property
    def G(self) -> Any:
        """Gain down to each rank."""
        return self.seen.G + (self.y.r - self.x.r) * self.between

    @property
    def G_before(self) -> Any:
        """Gain before each rank."""
        return self.seen.G_before + (self.y.r - self.x.r) * self.between

    @cached_property
    def E(self) -> Any:
        """Effort down to each rank."""
        return self.seen.E + (self.y.e - self.x.e) * self.between

    @property
    def E_before(self) -> Any:
        """Effort before each rank."""
        return self.seen.E_before + (self.y.e - self.x.e) * self.between

    @cached_property
    def best(self) -> Any:
        """Highest gain down to each rank."""
        best, r = self.seen.best, self.seen.r
        second = np.maximum.accumulate(np.minimum(r, before(best)), axis=-1)
        others = np.where(best == self.x.r, second, best)
        return np.where(self.between, np.maximum(others, self.y.r), best)

    def at_least(self, rel: float | None) -> View:
        """Return the view with binary gains for grades of ``rel`` or above."""
        if rel is None:
            return self
        x, y = (one.at_least(rel) for one in (self.x, self.y))
        return Exchanged(self.seen.at_least(rel), self.between, x, y)


class Entering(View):
    """View in which the item at each rank is an item y from further down, where there is one.

    Parameters
    ----------
    seen : View
        View of the rankings.
    above : ndarray of bool, shape (n_queries, n_ranks)
        Ranks with such a y below. Other ranks have the values of `seen`.
    y : Item
        The item.
    """

    def __init__(self, seen: View, above: Array, y: Item) -> None:
        e = None if seen._e is None else np.where(above, y.e, seen._e)
        super().__init__(
            seen.i, np.where(above, y.r, seen.r), np.where(above, y.grade, seen.grade), seen.totals, e, seen.unseen
        )
        self.seen, self.above, self.y = seen, above, y
        self.spend = lambda: 1.0

    @cached_property
    def G(self) -> Any:
        """Gain down to each rank."""
        return np.where(self.above, self.G_before + self.y.r, self.seen.G)

    @property
    def G_before(self) -> Any:
        """Gain before each rank."""
        return self.seen.G_before

    @cached_property
    def E(self) -> Any:
        """Effort down to each rank."""
        return self.E_before + self.e

    @property
    def E_before(self) -> Any:
        """Effort before each rank."""
        return self.seen.E_before

    @cached_property
    def best(self) -> Any:
        """Highest gain down to each rank."""
        return np.maximum(before(self.seen.best), self.r)

    def at_least(self, rel: float | None) -> View:
        """Return the view with binary gains for grades of ``rel`` or above."""
        return self if rel is None else Entering(self.seen.at_least(rel), self.above, self.y.at_least(rel))


@dataclass(frozen=True)
class Item:
    """Grade, gain and effort of an item."""

    grade: float
    r: float
    e: float

    def at_least(self, rel: float) -> Item:
        """Return the item with a binary gain for grades of ``rel`` or above."""
        return replace(self, r=float(self.grade >= rel))


def by_paths(metric: Metric, ranked: Ranked, depth: int) -> Changes:
    """Yield the changes by swaps of item x at rank a with item y at rank b.

    C and A at rank a depend on the grade of y, those between a and b on the grades of x and y but not on a or b, those
    at b on the grade of x, and those after b on neither.
    U(i) is the contribution to the score of a user who arrives at rank i: U(i) = (1 − C(i))·A(i) + C(i)·U(i+1).
    """
    grades, level = np.unique(ranked.grade, return_inverse=True)
    paths = _Paths(metric, ranked)
    ends = paths.beyond(paths.seen)
    if len(grades) > _MOST_GRADES or not all(np.isfinite(end).all() for end in ends):
        yield from by_scoring_anew(metric, ranked, depth)
        return
    level, width, shown = level.reshape(ranked.grade.shape), ranked.r.shape[1], paths.shown
    C, parts = paths.of(paths.seen)
    arriving = [_arriving(C, part, end) for part, end in zip(parts, ends)]
    items = [Item(*one) for one in zip(grades, metric.gains(grades), metric.effort_of(grades))]
    at_b = paths.arriving_at(items, arriving)
    between = [paths.between(items, number, level) for number in range(len(items))]
    V = before_product(C[:, :shown])
    whole = [U[:, :1] for U in arriving]
    for a in range(min(depth, shown)):
        of_x, later = level[:, a], level[:, a + 1 :]
        found = [np.repeat(U[:, a : a + 1], width - a - 1, axis=1) for U in arriving]
        for number, item in enumerate(items):
            wanted = (later == number) & (of_x != number)[:, None]
            rows = np.flatnonzero(wanted.any(axis=1))
            if not len(rows):
                continue
            x, pairs, inside = of_x[rows], wanted[rows], shown - a - 1
            tails = paths.beyond(paths.replaced(a, item)) if shown < width else ends
            for values, at_rank, tail, (Q, passed) in zip(found, at_b, tails, between[number].down_from(a, rows, x)):
                moved = np.empty(pairs.shape)
                np.multiply(Q[:, :-1], at_rank[x, rows, a + 1 :], out=moved[:, :inside])
                moved[:, :inside] += passed[:, :-1]
                moved[:, inside:] = passed[:, -1:] + Q[:, -1:] * tail[rows]  # x moves to a rank that does not count
                values[rows] = np.where(pairs, moved, values[rows])
        more = [V[:, a : a + 1] * (values - U[:, a : a + 1]) for values, U in zip(found, arriving)]
        change = more[0] if len(more) == 1 else _rate(whole[0] + more[0], whole[1] + more[1]) - _rate(*whole)
        yield a, np.asfortranarray(change)


@dataclass
class _Between:
    """C and contributions with an item y at rank a instead of x, by the grade of x; for one grade of y.

    Attributes
    ----------
    C : ndarray, shape (n_grades, n_queries, n_ranks)
        C between a and b.
    parts : list of ndarray, shape (n_grades, n_queries, n_ranks)
        Contributions between a and b.
    C_at : ndarray, shape (n_queries, n_ranks)
        C at each rank if y is there.
    parts_at : list of ndarray, shape (n_queries, n_ranks)
        Contributions at each rank if y is there.
    """

    C: Array
    parts: list[Array]
    C_at: Array
    parts_at: list[Array]

    def down_from(self, a: int, rows: Array, x: Array) -> Iterator[tuple[Array, Array]]:
        """Yield Q and the contribution of the ranks from a to before b, for each part, some rows, and b > a.

        Q is the share of users at a who arrive at b.
        """
        Q = self.C[x, rows, a:]
        Q[:, 0] = self.C_at[rows, a]
        np.cumprod(Q, axis=1, out=Q)
        for part, part_at in zip(self.parts, self.parts_at):
            passed = part[x, rows, a:]
            passed[:, 0] = part_at[rows, a]
            passed[:, 1:] *= Q[:, :-1]
            yield Q, np.cumsum(passed, axis=1, out=passed)


def _arriving(C: Array, part: Array, end: Array) -> Array:
    """Return U at each rank and after the last one."""
    U = np.empty((len(C), C.shape[1] + 1), C.dtype)
    U[:, -1:] = end
    for i in range(C.shape[1] - 1, -1, -1):
        U[:, i] = part[:, i] + C[:, i] * U[:, i + 1]
    return U


class _Paths:
    """Views of the ranks that count, for rankings and for rankings with one item replaced."""

    def __init__(self, metric: Metric, ranked: Ranked) -> None:
        self.metric, self.ranked = metric, ranked
        self.rate = "expected_effort" in reads(metric.A)
        self.shown = min(ranked.r.shape[1], metric.last_that_counts or ranked.r.shape[1])
        self.grade, self.r = (np.ascontiguousarray(values[:, : self.shown]) for values in (ranked.grade, ranked.r))
        last = _explicit(metric, self.shown)
        self.leaves = np.minimum(ranked.n, self.shown) if metric.end == "stop" else np.full(len(ranked.n), last)
        more = ((0, 0), (0, last - self.shown))
        self.seen = self._view(np.pad(self.grade, more), np.pad(self.r, more))

    def _view(self, grade: Array, r: Array) -> View:
        i = np.arange(1, r.shape[1] + 1, dtype=r.dtype)[None, :]
        totals = totals_of(self.metric, self.ranked.rankings, np.arange(len(r)))
        view = View(i, r, grade, lambda rel: totals(rel).astype(r.dtype), self._e(grade), self.metric.unseen_effort)
        view.spend = lambda: 1.0
        return view

    def _e(self, grade: Array) -> Array | None:
        return None if self.metric.unit_effort else self.metric.effort_of(grade).astype(self.r.dtype)

    def arriving_at(self, items: list[Item], arriving: list[Array]) -> list[Array]:
        """Return for each part U(b) with each item x at b, where y above has replaced x: the set of items is the same.

        The shape is (n_grades, n_queries, n_ranks).
        """
        shape = self.seen.r.shape
        views = (Standing(self.seen, x.r, x.grade, self._e(np.full(shape, x.grade))) for x in items)
        standing = [self.of(view) for view in views]
        return [
            np.stack([(parts[one] + C * U[:, 1:])[:, : self.shown] for C, parts in standing])
            for one, U in enumerate(arriving)
        ]

    def between(self, items: list[Item], number: int, level: Array) -> _Between:
        """Return C and contributions for y with a grade of this number in place of each x."""
        y, width = items[number], self.seen.r.shape[1]
        below = np.zeros(self.seen.r.shape, bool)
        there = np.cumsum((level == number)[:, ::-1], axis=1)[:, ::-1] > 0
        below[:, : level.shape[1] - 1] = there[:, 1 : width + 1]
        C_at, parts_at = self.of(Entering(self.seen, below, y))
        found = []
        for of_x, x in enumerate(items):
            above = before(np.logical_or.accumulate(level == of_x, axis=1).astype(float)) > 0
            between = below.copy()
            between[:, : self.shown] &= above[:, : self.shown]
            found.append(self.of(Exchanged(self.seen, between, x, y)))
        C, parts = [C for C, _ in found], zip(*(parts for _, parts in found))
        shown = slice(self.shown)
        return _Between(
            np.stack(C)[..., shown],
            [np.stack(of_part)[..., shown] for of_part in parts],
            C_at[:, shown],
            [part[:, shown] for part in parts_at],
        )

    def replaced(self, a: int, y: Item) -> View:
        """Return a view with an item at rank a, which changes the set of items at later ranks."""
        grades, gains = self.grade.copy(), self.r.copy()
        grades[:, a], gains[:, a] = y.grade, y.r
        return self._view(grades, gains)

    def of(self, view: View) -> tuple[Array, list[Array]]:
        """Return C and the contribution of a user at each rank; for gain per effort, contributions to both sums.

        For continuations that give V, the contributions contain V, and C is 1.
        """
        C = self._broadcast(self.metric.C(view), view)
        check_probabilities(self.metric.C, C)
        e = self._broadcast(view.e, view)
        if self.metric.C.fact("gives_survival"):
            phi, w = self.metric.A.fact("credit_terms")(view.i, view.r, view.e, None)
            V = np.where(self._goes_on(view, 0), C, C.dtype.type(0))
            parts, C = [V * phi * w, V * e], np.ones_like(C)
        else:
            if self.metric.end != "open":
                C = np.where(self._goes_on(view, 1), C, C.dtype.type(0))
            A = self._broadcast(self.metric.A(view), view)
            leaving = (1 - C) * A
            if not np.isfinite(leaving).all():  # A may be infinite at ranks at which no user leaves
                leaving[C >= 1] = 0
            parts = [leaving, e]
        return C, parts if self.rate else parts[:1]

    def _broadcast(self, values: Any, view: View) -> Array:
        return np.broadcast_to(np.asarray(values, view.r.dtype), view.r.shape)

    def _goes_on(self, view: View, ahead: int) -> Array:
        """Return whether users can still be in the list ``ahead`` ranks later."""
        if self.metric.end == "open":
            return np.ones((1, 1), bool)
        return np.arange(1 + ahead, view.r.shape[1] + 1 + ahead)[None, :] <= self.leaves[:, None]

    def beyond(self, view: View) -> list[Array]:
        """Return the contribution of a user who arrives after the last rank; of all users for C that gives V."""
        nothing = np.zeros((len(self.leaves), 1), view.r.dtype)
        tails = [nothing, nothing]
        if self.metric.end == "open":
            walk = Walk(self.metric, view)
            view.spend = lambda: 1.0
            if self.metric.C.fact("gives_survival"):
                tails = [nothing]
            else:
                walk.reach = np.ones_like(nothing)
                tails = [walk.score_beyond + nothing]
            tails += [walk.effort_beyond + nothing] if self.rate else []
        return tails if self.rate else tails[:1]


# All other metrics.


def by_scoring_anew(metric: Metric, ranked: Ranked, depth: int) -> Changes:
    """Yield the changes by scoring all swapped rankings, except for pairs of equal items."""
    score = raw_score(metric, ranked.rankings)
    width = ranked.r.shape[1]
    for a in range(depth):
        change = np.zeros((len(score), width - a - 1))
        differ = ranked.grade[:, a + 1 :] != ranked.grade[:, a : a + 1]
        if ranked.e is not None:
            differ |= ranked.e[:, a + 1 :] != ranked.e[:, a : a + 1]
        query, b = np.nonzero(differ & (np.arange(a + 1, width)[None, :] < ranked.n[:, None]))
        for start in range(0, len(query), max(_AT_ONCE // width, 1)):
            some = slice(start, start + max(_AT_ONCE // width, 1))
            again = raw_score(metric, ranked.swapped(query[some], a, b[some] + a + 1))
            change[query[some], b[some]] = again - score[query[some]]
        yield a, change
