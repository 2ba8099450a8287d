"""Changes of a score when two items of a ranking are swapped (LambdaMART's ΔM), by scoring anew or a faster route."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ..data.columns import Array
from ..data.rankings import Pool, Rankings
from ..model.aggregations import effort as EFFORT
from ..model.browsing import Walk
from ..model.introspection import check_probabilities, reads
from ..model.metric import Metric
from ..model.scoring import Route, fastest, rank_weights, ranks_have_weights, raw_score, route
from ..model.view import UnknownEffort, View, before
from ..model.view_columns import totals_of
from .swap_views import ItemValues, ReplacedView, Swaps, SwapView, ViewOfItem, stacked, view_of_rank

#: For each rank a, from 0: the changes of M·N, shape (n_queries, n_ranks − a − 1), by swaps of a with the later ranks.
Changes = Iterator[tuple[int, Array]]

Arrivals = tuple[Array, list[Array]]
"""Share of users who arrive at each rank, and contributions of users to each part of the score."""


@dataclass
class PaddedRankings:
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
    signed : bool, default=False
        Whether items of grade 0 may have a gain.
    """

    n: Array
    r: Array
    grade: Array
    e: Array | None
    topic: Array
    pool: Pool
    dtype: Any = float
    signed: bool = False

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
        """Rankings of the relevant items, or of all items if gains are signed."""
        return self.swapped(np.arange(len(self.n)), None, None)

    def swapped(self, query: Array, a: int | None, b: Array | None) -> Rankings:
        """Return the rankings of queries with the items at ranks a and b swapped (from 0); None swaps nothing."""
        grade, e = self.grade[query], None if self.e is None else self.e[query]
        if a is not None:
            each = np.arange(len(query))
            for values in (grade, e):
                if values is not None:
                    values[each, a], values[each, b] = values[each, b], values[each, a]
        row, column = np.nonzero(self.listed[query] if self.signed else grade > 0)
        efforts = None if e is None else lambda queries, width: _widened(e, width)[queries]
        return Rankings.of_hits(
            self.n[query], row, column + 1, grade[row, column], self.pool, efforts=efforts, topic=self.topic[query]
        )


def _widened(e: Array, width: int) -> Array:
    return e[:, :width] if width <= e.shape[1] else np.pad(e, ((0, 0), (0, width - e.shape[1])))


#: Routes to the changes of :func:`by_scoring_anew`, with the same parameters; their cases are metrics and the number of
#: items of the longest ranking.
SWAP_ROUTES: list[Route] = []

_AT_ONCE = 1 << 17  # maximum number of swapped rankings × ranks per chunk


def by_scoring_anew(metric: Metric, ranked: PaddedRankings, depth: int) -> Changes:
    """Yield the changes by scoring all swapped rankings, except for pairs of equal items: the definition."""
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


def _ranks_have_weights(metric: Metric, longest: int) -> bool:
    """C depends on ranks only, efforts are 1, and A is linear in the gains."""
    return ranks_have_weights(metric)


@route(SWAP_ROUTES, when=_ranks_have_weights, gain="19 % of an iteration for RBP(0.8)")
def by_rank_weights(metric: Metric, ranked: PaddedRankings, depth: int) -> Changes:
    """Yield the changes (weight_a − weight_b)·(r_b − r_a) for C that depends on the rank alone and linear A."""
    width = ranked.r.shape[1]
    shown = min(width, metric.last_that_counts or width)
    weights = np.zeros(ranked.r.shape if metric.end == "stop" else (1, width))  # M·N = Σ weight(i)·r_i
    if metric.end == "stop":
        for n in np.unique(ranked.n).tolist():
            weights[ranked.n == n, : min(n, shown)] = rank_weights(metric.C, metric.A, "stop", min(n, shown))
    else:
        weights[:, :shown] = rank_weights(metric.C, metric.A, metric.end, 1 << (shown - 1).bit_length())[:shown]
    return _with_fixed_weights(weights.astype(ranked.dtype), ranked.r.astype(ranked.dtype), depth)


def _with_fixed_weights(weights: Array, w: Array, depth: int) -> Changes:
    for a in range(depth):
        change = w[:, a + 1 :] - w[:, a : a + 1]
        change *= weights[:, a : a + 1] - weights[:, a + 1 :]
        yield a, change


def _is_made_of_sums(metric: Metric, longest: int) -> bool:
    """M·N is Σ V(i)·φ(i)·w_i or a ratio of such sums, with V fixed or a product over single items."""
    C, A, last = metric.C, metric.A, metric.last_that_counts
    if C.fact("gives_survival") or A.fact("credit_terms") is None or ("E" in reads(A) and not metric.unit_effort):
        return False
    if reads(C) <= {"i"}:
        return bool(A.fact("linear_in_gain")) and _everybody_leaves(metric)
    if not reads(C) <= {"r", "e", "grade", "at_least"}:
        return False
    whole = last is None or longest <= last  # otherwise items come in from ranks that do not count, and V changes
    if not A.fact("linear_in_gain"):
        return whole or (metric.end == "open" and _goes_on_beyond(metric) == 1)
    if "expected_effort" in reads(A) and not (whole or metric.end in ("stop", last)):
        return False
    return _everybody_leaves(metric)


def _everybody_leaves(metric: Metric) -> bool:
    """Return whether all users leave at some rank, so that Σ L(i)·G(i) = Σ V(i)·r_i."""
    C = metric.C
    if metric.end != "open" or metric.last_rank or C.fact("vanishes") or C.fact("eventually_leaves"):
        return True
    return bool(C.fact("constant_beyond_list")) and _goes_on_beyond(metric) < 1


def _goes_on_beyond(metric: Metric) -> float:
    """Return C at unseen items, if it is the same at all of them; NaN if it depends on an unknown effort."""
    if metric.unseen_effort is None and "e" in reads(metric.C):
        return np.nan
    nothing = np.zeros((1, 1))
    seen = View(nothing, nothing, nothing, lambda _: nothing, nothing, metric.unseen_effort)
    return float(np.max(metric.C(seen.beyond([[1.0]]))))


@route(SWAP_ROUTES, when=_is_made_of_sums, gain="two thirds of an iteration for RR or ERR, nine tenths for TBG")
def by_sums(metric: Metric, ranked: PaddedRankings, depth: int) -> Changes:
    """Yield the changes for V that is fixed, or a product over the items before."""
    r = ranked.r
    i = np.arange(1.0, r.shape[1] + 1)[None, :]
    view = View(i, r, ranked.grade, lambda _: None, ranked.e)
    C = np.broadcast_to(np.asarray(metric.C(view), float), r.shape)
    check_probabilities(metric.C, C, r)
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
    # Σ V(i)·e_i, including ranks beyond the list
    spent = raw_score(replace(metric, A=EFFORT()), ranked.rankings)[:, None]
    gain, spent = gain.astype(dtype), spent.astype(dtype)
    rate = ratio(gain, spent)
    for (a, more), (_, dearer) in zip(changes(phi, w), changes(1.0, e), strict=True):
        more += gain
        dearer += spent
        change = ratio(more, dearer)
        change -= rate
        yield a, change


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


#: The names of a view that depend on the set of items so far, but not on their order.
_SET = {"i", "r", "grade", "e", "at_least", "G", "G_before", "E", "E_before", "best", "total", "expected_effort"}
_SET |= {"totals", "spend", "background"}  # the inputs of these


def _forgets_the_order(metric: Metric, longest: int) -> bool:
    """C and A depend on the set of items so far, but not on their order."""
    C, A = metric.C, metric.A
    survival, terms = C.fact("gives_survival"), A.fact("credit_terms") is not None
    if not reads(C) <= _SET or metric.reads_signed({"best", "G_before"}):
        return False
    if survival:
        return bool(A.fact("linear_in_gain")) and terms and _everybody_leaves(metric)
    return reads(A) <= _SET and (terms or "expected_effort" not in reads(A))


def _grades_suffice(metric: Metric, longest: int) -> bool:
    """C and A depend on the set of items so far, efforts on grades alone, and all items count."""
    last = metric.last_that_counts
    all_count = last is None or longest <= last or explicit(metric, last) <= last
    return all_count and metric.flat_effort is not None and _forgets_the_order(metric, longest)


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
    seen : SwapView
        View of these ranks.
    """

    def __init__(self, metric: Metric, ranked: PaddedRankings) -> None:
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

    def _view(self, grade: Array, r: Array, e: Array | None) -> SwapView:
        i = np.arange(1.0, r.shape[1] + 1)[None, :]
        totals = lru_cache(totals_of(self.metric, self.ranked.rankings, np.arange(len(r))))
        return SwapView(i, r, grade, totals, e, self.metric.unseen_effort)

    def of(self, view: View, rows: Any = slice(None)) -> list[Any]:
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
        list of ndarray or float
            Values that broadcast to the shape of the view: C, then one or two contributions.
        """
        C = np.asarray(self.metric.C(view), float)
        check_probabilities(self.metric.C, C, view.r)
        if self.metric.C.fact("gives_survival"):
            phi, w = self.metric.A.fact("credit_terms")(view.i, view.r, view.e, None)
            V = self._while_listed(C, view.i, rows)
            return [1.0, V * phi * w, *[V * view.e] * self.rate]
        C = self._while_listed(C, view.i + 1, rows)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            leaving = (1 - C) * np.asarray(self.metric.A(view), float)
        if not np.isfinite(leaving).all():  # A may be infinite at ranks at which no user leaves
            leaving = np.where(C >= 1, 0.0, leaving)
        return [C, leaving, *[view.e] * self.rate]

    def _while_listed(self, values: Array, i: Array, rows: Any) -> Array:
        """Return values at ranks that users can reach, and 0 at others."""
        return values if self.metric.end == "open" else np.where(i <= self.leaves[rows, None], values, 0.0)

    def arriving(self) -> Arrivals:
        """Return V at each rank, and U at each rank and after the last one, for each part."""
        C, *parts = (np.broadcast_to(values, self.seen.r.shape) for values in self.of(self.seen))
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
        column, shape = view_of_rank(self.seen, self.last - 1), np.shape(swaps.y.r)
        view = ReplacedView(column, swaps, self.last - 1 == a, (slice(None), slice(None)))
        return [tail.reshape(shape) for tail in self.beyond(stacked(view, shape))]


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
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(effort > 0, gain / effort, 0.0)


def _by_moves(paths: _PairPaths | _GradePaths, V: Array, arriving: list[Array], depth: int) -> Changes:
    """Yield the changes from the change of U at each rank a, which V(a) of the users reach."""
    if not all(np.isfinite(U).all() for U in arriving):
        yield from by_scoring_anew(paths.metric, paths.ranked, depth)
        return
    whole = [U[:, :1] for U in arriving]
    for a in range(min(depth, paths.shown)):
        more = [V[:, a : a + 1] * moved for moved in paths.moved(a, arriving)]
        change = more[0] if len(more) == 1 else ratio(whole[0] + more[0], whole[1] + more[1]) - ratio(*whole)
        yield a, np.asfortranarray(change, paths.ranked.dtype)


class _PairPaths(Paths):
    """Paths through rankings with two items swapped.

    Attributes
    ----------
    hits_decide : bool
        Whether ranks without gain neither contribute nor make users leave.
    """

    def __init__(self, metric: Metric, ranked: PaddedRankings) -> None:
        super().__init__(metric, ranked)
        # Cells after the last item have an effort, since A may be infinite without one; their changes are not used.
        e = None if ranked.e is None else np.where(ranked.listed, ranked.e, 1.0)
        self.items = ItemValues(np.ascontiguousarray(ranked.grade), np.ascontiguousarray(ranked.r), e)
        self.hits_decide = not self.rate and bool(metric.C.fact("ignores_zero_gain") or metric.C.fact("gives_survival"))
        rows: list[Any] = [slice(None)] * self.last  # in which the item of each rank can contribute or make users leave
        if self.hits_decide:
            counts = (self.seen.grade > 0) | (self.seen.r != 0)
            if metric.end != "open":
                counts |= self.seen.i == self.leaves[:, None]
            rows = [np.flatnonzero(of_rank) for of_rank in counts.T]
        self.columns = [(of_rank, view_of_rank(self.seen, j, of_rank)) for j, of_rank in enumerate(rows)]

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
        C, *parts = self.of(ViewOfItem(self.seen, swaps.x))
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
            rows, column = self.columns[j] if j > a else (slice(None), view_of_rank(self.seen, a))
            if first >= share.shape[1] or not len(column.r):
                continue
            some = rows, slice(first, None)
            C, *parts = self.of(ReplacedView(column, swaps, j == a, some), rows)
            arrived = share[some]
            for values, part in zip(found, parts, strict=True):
                values[some] += arrived * part
            share[some] = arrived * C
        return share, found


_MOST_GRADES = 16  # with more grades, tables for each pair of grades are not faster


@route(
    SWAP_ROUTES,
    when=_grades_suffice,
    gain="two thirds to three quarters of an iteration for INST, AP and the U-measure by grade",
)
def by_paths(metric: Metric, ranked: PaddedRankings, depth: int) -> Changes:
    """Yield the changes by swaps of item x at rank a with item y at rank b.

    After the swap, C and A at rank a depend on the grade of y alone, and at rank b on that of x alone. Between the two
    ranks they depend on both grades, but not on a or b. After b they do not change.
    """
    grades, level = np.unique(ranked.grade, return_inverse=True)
    if len(grades) > _MOST_GRADES:
        yield from by_pairs(metric, ranked, depth)
        return
    items = ItemValues(grades, metric.gains(grades), metric.effort_of(grades))
    paths = _GradePaths(metric, ranked, items, np.ascontiguousarray(level.reshape(ranked.grade.shape).T))
    yield from _by_moves(paths, *paths.arriving(), depth)


@dataclass
class _ValuesByGrade:
    """C, or contributions, at each rank with y in place of x, by their grades.

    Values that do not depend on grades have the shapes (n_ranks, 1, 1, 1) and (n_ranks, 1, 1).

    Attributes
    ----------
    between : ndarray, shape (n_ranks, n_grades_of_y, n_grades_of_x, n_queries)
        Values at ranks between x and y.
    entering : ndarray, shape (n_ranks, n_grades_of_y, n_queries)
        Values at each rank if y is there.
    """

    between: Array
    entering: Array

    def down_from(self, a: int, of_x: Array) -> Array:
        """Return the values at rank a and the ranks after it, with the places of x in the last axis."""
        between = self.between[a:].reshape(len(self.between) - a, self.between.shape[1], -1)
        found = between.copy() if between.shape[1:] == (1, 1) else np.take(between, of_x, axis=2, mode="clip")
        found[0] = self.entering[a]
        return found


class _GradePaths(Paths):
    """Paths through rankings with an item of one grade in place of an item of another.

    Attributes
    ----------
    grades : ItemValues
        Items of all grades.
    items : list of ItemValues
        One item of each grade.
    level : ndarray of int, shape (n_ranks, n_queries)
        The number of the grade of each item.
    listed : SwapView
        View of the ranks with items that count.
    """

    def __init__(self, metric: Metric, ranked: PaddedRankings, grades: ItemValues, level: Array) -> None:
        super().__init__(metric, ranked)
        e = None if self.seen.efforts is None else self.seen.efforts[:, : self.shown]
        self.listed = self._view(self.seen.grade[:, : self.shown], self.seen.r[:, : self.shown], e)
        self.grades, self.level = grades, level
        self.items = [ItemValues(*one) for one in zip(grades.grade, grades.r, grades.e, strict=True)]

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
            C, *parts = self.of(ViewOfItem(self.listed, x))
            for table, part, U in zip(found, parts, self.exact, strict=True):
                table[:, of_x] = self._by_rank(part + C * U[:, 1 : self.shown + 1])
        return [table.reshape(self.shown, -1) for table in found]

    @cached_property
    def between(self) -> list[_ValuesByGrade]:
        """Tables of C and of each part."""
        n, itself = len(self.items), ItemValues(self.listed.grade, self.listed.r, self.listed.efforts)
        tables = []
        for values, fixed in zip(self.of(self.listed), self._fixed, strict=True):
            of_rank = self._by_rank(values)[:, :1, None]
            fixed_table = _ValuesByGrade(of_rank[..., None], of_rank)
            tables.append(fixed_table if fixed else _ValuesByGrade(self._empty(n, n), self._empty(n)))
        above = [before(np.logical_or.accumulate(x == self.level.T, axis=1).astype(float)) > 0 for x in range(n)]
        for of_y, y in enumerate(self.items):
            below: Array = np.zeros(self.listed.r.shape, bool)
            there = np.logical_or.accumulate(self.level[::-1] == of_y, axis=0)[::-1].T
            below[:, : len(self.level) - 1] = there[:, 1 : self.shown + 1]
            entering = ReplacedView(self.listed, Swaps(itself, y), enters=True, where=below)
            self._keep(entering, [table.entering for table in tables], of_y)
            for of_x, x in enumerate(self.items):
                between = below & above[of_x][:, : self.shown]
                view = self.listed if of_x == of_y else ReplacedView(self.listed, Swaps(x, y), False, where=between)
                self._keep(view, [table.between for table in tables], of_y, of_x)
        return tables

    @property
    def _fixed(self) -> list[bool]:
        """Return whether C, and each part, has the same values for all grades and rankings."""
        survival, stops = self.metric.C.fact("gives_survival"), self.metric.end == "stop"
        C = survival or (reads(self.metric.C) <= {"i"} and not stops)
        return [C, False, self.metric.unit_effort and not survival] if self.rate else [C, False]

    def _empty(self, *grades: int) -> Array:
        return np.empty((self.shown, *grades, len(self.seen.r)), self.ranked.dtype)

    def _keep(self, view: View, tables: list[Array], *grades: int) -> None:
        place: Any = slice(None), *grades
        for table, values, fixed in zip(tables, self.of(view), self._fixed, strict=True):
            if not fixed:
                table[place] = self._by_rank(values)

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
        y = ItemValues(*(np.broadcast_to(values, shape) for values in vars(self.grades).values()))
        x = ItemValues(self.seen.grade, self.seen.r, np.broadcast_to(self.seen.e, self.seen.r.shape)).at(
            slice(a, a + 1)
        )
        return [tail.T for tail in self.tails(a, Swaps(x, y))]


def _of_grades(table: Array, places: Array) -> Array:
    """Return the values of a table of shape (n_ranks, n_grades, n_queries) at some places in its last two axes.

    If the table does not depend on grades, its values at each rank are returned.
    """
    ranks, grades, queries = table.shape
    if grades == 1:
        return table[:, 0]
    return np.take(table.reshape(-1), np.arange(ranks)[:, None] * (grades * queries) + places, mode="clip")


@route(
    SWAP_ROUTES,
    when=_forgets_the_order,
    gain="nine tenths of an iteration for RR with avg by time and the U-measure by words",
)
def by_pairs(metric: Metric, ranked: PaddedRankings, depth: int) -> Changes:
    """Yield the changes by swaps of item x at rank a with item y at rank b.

    The set of items seen has y in place of x from a to before b, and is the same as before from b on. C and A are
    computed at these ranks only. If nobody leaves at items without gain, and A is constant there, these are left out.
    """
    pairs = _PairPaths(metric, ranked)
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


def way_to_swap(metric: Metric, longest: int) -> Callable[[Metric, PaddedRankings, int], Changes]:
    """Return the function that computes the changes of a metric by swaps: the first route for it, or the definition.

    Parameters
    ----------
    metric : Metric
        The metric.
    longest : int
        The number of items of the longest ranking.
    """
    return fastest(SWAP_ROUTES, by_scoring_anew, metric, longest)
