"""Scores of aligned rankings: Σ L(i)·A(i) over all ranks or by a faster route, divided by the normaliser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from ..data.columns import Array, Floats, distinct
from ..data.lengths import Costs, Lengths
from ..data.rankings import Pool, Rankings, places_within, summed
from ..errors import NoFiniteValue
from .aggregations import erg, etg
from .browsing import Walk
from .document_values import gains_of_hits, words_of_pool
from .introspection import SUMS, cached, reads
from .language import Spec
from .metric import Metric, plain_metric
from .view import Documents, UnknownEffort
from .view_columns import (
    Seen,
    chunks_of_equal_width,
    pool_totals,
    power_of_two,
    ranks_that_matter,
    roomy,
    seen_part,
    view_of_hits,
    view_of_hits_and_gaps,
    view_of_ranks,
)

Way = TypeVar("Way", bound=Callable[..., Any])


@dataclass(frozen=True)
class Route:
    """Fast way to a result in some cases.

    Attributes
    ----------
    compute : callable
        Function that computes the result, as the slow way does.
    when : callable
        Predicate: whether the route gives the result. Its docstring describes the case.
    gain : str
        What the route saves, as measured from end to end.
    """

    compute: Callable[..., Any]
    when: Callable[..., bool]
    gain: str


def route(routes: list[Route], *, when: Callable[..., bool], gain: str) -> Callable[[Way], Way]:
    """Return a decorator that adds a function to a list of routes, which are tried in order.

    Parameters
    ----------
    routes : list of Route
        Routes to the same result.
    when, gain
        See :class:`Route`.
    """

    def declare(compute: Way) -> Way:
        routes.append(Route(compute, when, gain))
        return compute

    return declare


def fastest(routes: Sequence[Route], slow: Way, *case: Any) -> Way:
    """Return the first route for a case, or the slow way.

    Parameters
    ----------
    routes : sequence of Route
        Routes in the order in which they are tried.
    slow : callable
        The definition of the result, for any case.
    *case
        Inputs of the predicates.
    """
    way: Way = next((route.compute for route in routes if route.when(*case)), slow)  # type: ignore[assignment]
    return way


def ideal_ranking(metric: Metric, rankings: Rankings) -> Rankings:
    """Return the judged documents of each query by falling gain, without those of negative gain.

    If C is ``decay`` and A is the total gain, an optimal order is used: by g/(1 − 2^(−e/h)), highest first, where g is
    the credited gain. With a cutoff k, the best k documents are chosen by dynamic programming. If C is ``budget`` with
    ``partial``, the optimal order is by g/e, without a cutoff; with one, and for all users who read whole items only,
    the best choice of documents is a knapsack problem, and the order is by falling gain. If efforts depend on ranks,
    the order is by falling gain for all metrics, and other orders can score higher.

    Parameters
    ----------
    metric : Metric
        The metric.
    rankings : Rankings
        Rankings with the judgments and document lengths of the queries.

    Returns
    -------
    Rankings
        One ranking per query of the pool.
    """
    pool = rankings.pool
    if metric.unit_effort and not metric.signed:
        key = ("ideal ranking", metric.gain, metric.max_rel)
        return pool.remembered(key, lambda: _by_falling_gain(metric, rankings))
    gains = metric.gains(pool.grade)
    harmless = gains >= 0
    if metric.effort_depends_on("rank"):
        order = np.lexsort((-pool.grade, -gains, pool.query))
        effort = pool_efforts(metric, rankings, order)[harmless[order]]
        metric.refuse_odd_efforts(effort)
        order = order[harmless[order]]
        return _ranked(pool, pool.query[order], pool.grade[order], effort)
    effort = pool_efforts(metric, rankings)
    worth = gains
    if metric.loss:
        _, gains = metric.A.fact("credit_terms")(np.ones(1), gains, effort, None)
        loss = metric.loss(effort)
        with np.errstate(divide="ignore", invalid="ignore"):
            worth = np.where(gains > 0, gains / loss, 0.0)
        last = metric.last_that_counts
        if last is not None:
            chosen = np.zeros(len(gains), bool)
            start = np.searchsorted(pool.query, np.arange(pool.queries + 1))
            for a, b in pairwise(start.tolist()):
                order = a + np.argsort(-worth[a:b], kind="stable")
                order = order[gains[order] > 0]
                chosen[order[best_choice(gains[order], 1 - loss[order], last)]] = True
            worth = np.where(chosen, worth, -1.0)
    order = np.lexsort((-pool.grade, -worth, pool.query))
    order = order[harmless[order]]
    return _ranked(pool, pool.query[order], pool.grade[order], effort[order])


def _by_falling_gain(metric: Metric, rankings: Rankings) -> Rankings:
    """Return judged documents by falling gain. Equal grades have equal efforts, so that their order does not matter."""
    pool = rankings.pool
    query, grade = pool.positive
    grades = distinct(grade)
    falling = np.lexsort((-grades, -metric.gains(grades)))
    place = np.empty_like(falling)
    place[falling] = np.arange(len(falling))
    first = query * len(grades)
    places = np.sort(first + place[np.searchsorted(grades, grade)]) - first  # queries are in ascending order
    n = np.bincount(pool.query, minlength=pool.queries)  # documents without gain come last
    rank = places_within(np.bincount(query, minlength=pool.queries)) + 1
    return Rankings.of_hits(n, query, rank, grades[falling][places], pool)


def best_choice(gains: Floats, stays: Floats, k: int) -> Array:
    """Return the items of the best list of at most k items, for items in a given order.

    f(j, c) = max(f(j+1, c), g_j + s_j·f(j+1, c−1)), where s_j is the share of users who go on after item j.

    Parameters
    ----------
    gains : ndarray, shape (n_items,)
        Gains g of the items.
    stays : ndarray, shape (n_items,)
        Shares s of users who go on after each item.
    k : int
        Largest number of items.

    Returns
    -------
    ndarray of int
        Ascending positions of the chosen items.
    """
    n = len(gains)
    if n <= k:
        return np.arange(n)
    value = np.zeros(k + 1)
    taken = np.zeros((n, k + 1), bool)
    for j in range(n - 1, -1, -1):
        with_it = gains[j] + stays[j] * value[:-1]
        taken[j, 1:] = with_it > value[1:]
        value[1:] = np.where(taken[j, 1:], with_it, value[1:])
    chosen, left = [], k
    for j in range(n):
        if taken[j, left]:
            chosen.append(j)
            left -= 1
    return np.array(chosen, int)


def pool_efforts(metric: Metric, rankings: Rankings, order: Array | None = None) -> Floats:
    """Return the efforts of all judged documents; with `order`, sorted by query, those at their ranks in this order."""
    pool = rankings.pool
    if "efforts" in pool.memory:
        efforts: Floats = pool.memory["efforts"]
        return efforts
    rank = None if order is None else places_within(np.bincount(pool.query, minlength=pool.queries)) + 1.0
    which = slice(None) if order is None else order
    words, costs = (lambda of=of: words_of_pool(metric, rankings, of)[which] for of in (Lengths, Costs))
    return metric.efforts(Documents(np.maximum(pool.grade, 0)[which], words, costs, rank))


def _ranked(pool: Pool, query: Array, grade: Array, effort: Floats) -> Rankings:
    n = np.bincount(query, minlength=pool.queries)
    first = np.cumsum(n) - n

    def efforts(queries: Array, width: int) -> Floats:
        place = np.arange(width)[None, :]
        inside = place < n[queries][:, None]
        return np.append(effort, 0.0)[np.where(inside, first[queries][:, None] + place, -1)]

    return Rankings.of_hits(n, query, places_within(n) + 1, grade, pool, efforts=efforts)


def over_all_ranks(
    metric: Metric,
    rankings: Rankings,
    names: Sequence[str] = ("score",),
    unjudged: tuple[float, float] = (0.0, 0.0),
    which: Array | None = None,
) -> Floats:
    """Return values of the users of each query, computed rank by rank, for any metric: their definition.

    Parameters
    ----------
    metric : Metric
        The metric.
    rankings : Rankings
        Rankings from :func:`seen_part`.
    names : sequence of str, default=("score",)
        Names of values of shape [queries × 1] of :class:`pyterrier_cwla.model.browsing.Walk`.
    unjudged : tuple of float, default=(0, 0)
        Gain and grade of unjudged and unseen items.
    which : ndarray of bool, shape (n_queries,), optional
        Queries to score; the others get 0. By default all.

    Returns
    -------
    ndarray, shape (n_queries, n_names)
        Values, before normalisation; 0 for empty rankings with ``end="stop"``.
    """
    widths = ranks_that_matter(metric, rankings, unjudged[0])
    return values_of_views(metric, rankings, names, widths, partial(view_of_ranks, unjudged=unjudged), which)


def values_of_views(
    metric: Metric,
    rankings: Rankings,
    names: Sequence[str],
    widths: Array,
    view_of: Callable[[Metric, Rankings, Array, int], Seen],
    which: Array | None = None,
) -> Floats:
    """Return values of :func:`over_all_ranks` from views of chunks of queries with a number of columns each."""
    values = np.zeros((len(rankings), len(names)))
    for queries, width in chunks_of_equal_width(metric, rankings, widths, which):
        try:
            found = _walked(metric, view_of(metric, rankings, queries, width), names)
        except UnknownEffort:
            # The effort of unseen items was read; it is needed only if values differ between two values of it.
            cheap, dear = (replace(metric, unseen=cost) for cost in (1.0, 100.0))
            try:
                found, other = (_walked(one, view_of(one, rankings, queries, width), names) for one in (cheap, dear))
            except NoFiniteValue as error:
                if metric.effort_only and not isinstance(error, UnknownEffort):
                    raise UnknownEffort from error
                raise
            if not np.allclose(found, other, rtol=1e-10, atol=1e-12):
                raise
        values[queries] = found
    return values


def _walked(metric: Metric, seen: Seen, names: Sequence[str]) -> Floats:
    """Return values of one walk, of shape [queries × names] or [1 × names]."""
    walk = Walk(metric, *seen)
    found = [np.asarray(getattr(walk, name)) for name in names]
    return found[0] if len(found) == 1 else np.hstack(np.broadcast_arrays(*found))


#: Routes to the values of :func:`over_all_ranks`, with the same parameters metric, rankings and names.
ROUTES: list[Route] = []

_DEEPEST = 4096  # last rank with a cached weight
_USUAL = [n for n in (digit * 10**zeros for zeros in range(4) for digit in range(1, 10)) if n <= _DEEPEST]
"""Usual lengths of rankings in runs. Rankings of these lengths are scored by weights at end="stop"."""


def ranks_have_weights(metric: Metric, names: Sequence[str] = ("score",)) -> bool:
    """Only scores are wanted, C depends on ranks only, efforts are 1, and A is linear in the gains."""
    return (
        tuple(names) == ("score",) and metric.unit_effort and bool(metric.A.fact("linear_in_gain")) and metric.rank_only
    )


@route(ROUTES, when=ranks_have_weights, gain="13 to 15 % of the time of six measures of 2,000 or 6,980 queries")
def by_rank_weights(metric: Metric, rankings: Rankings, names: Sequence[str] = ("score",)) -> Floats:
    """Return Σ L(i)·A(i) as the sum of the gains times the weights of their ranks."""
    weighed = np.isin(rankings.n, (0, *_USUAL)) if metric.end == "stop" else rankings.last_hit <= _DEEPEST
    few = rankings if weighed.all() else rankings.only(weighed[rankings.query])
    weights, divisor = _weights_of_hits(metric, few)
    scores = (summed(few.query, gains_of_hits(metric, few) * weights, len(few)) / divisor)[:, None]
    return scores if weighed.all() else scores + over_all_ranks(metric, rankings, names, which=~weighed)


def _weights_of_hits(metric: Metric, rankings: Rankings) -> tuple[Floats, float | Floats]:
    """Return the weight of the rank of each hit, and the divisor of their sums."""
    C, A = metric.C, metric.A
    if metric.end != "stop":
        by_rank, divisor = _weights(C, A, metric.end, 1 << (int(rankings.rank.max(initial=1)) - 1).bit_length())
        return by_rank[rankings.rank - 1], divisor
    weights, n, divisors = np.zeros(len(rankings.rank)), rankings.n[rankings.query], np.ones(len(rankings))
    for length in set(distinct(rankings.n).tolist()) & set(_USUAL):
        by_rank, divisors[rankings.n == length] = _weights(C, A, "stop", length)
        weights[n == length] = by_rank[rankings.rank[n == length] - 1]
    return weights, divisors


def rank_weights(C: Spec, A: Spec, end: str | int, n: int) -> Floats:
    """Return the weights of ranks 1 to n: the score of a ranking with gain 1 at this rank only.

    Parameters
    ----------
    C, A : Spec
        A continuation that depends on ranks only, and an aggregation that is linear in the gains.
    end : {"open", "stop"} or int
        End of the list; "stop" is after rank n.
    n : int
        Number of ranks.

    Returns
    -------
    ndarray, shape (n,)
        Weights.
    """
    weights, divisor = _weights(C, A, end, n)
    return weights / divisor


@cached
def _weights(C: Spec, A: Spec, end: str | int, n: int) -> tuple[Floats, float]:
    """Return the scores of rankings with one gain each, and a divisor of sums of gains times these weights.

    Weights of 0 and 1/m are returned as 0 and 1 with the divisor m, so that sums such as those of P@m are rounded once.
    The rankings have the next power of two as their length, so that a weight does not depend on n.
    """
    rank = np.arange(1, n + 1)
    length = np.full(n, n) if end == "stop" else power_of_two(rank)
    metric = plain_metric(C, A, end)
    hits = Rankings.of_hits(length, rank - 1, rank, np.ones(n))
    weights = over_all_ranks(metric, seen_part(metric, hits))[:, 0]
    highest = weights.max(initial=0.0)
    m = np.rint(1 / highest) if 0 < highest < 1 else 1.0
    return (np.sign(weights), m) if ((weights == 0) | (weights == 1 / m)).all() else (weights, 1.0)


def hits_decide(metric: Metric, names: Sequence[str]) -> bool:
    """Items without gain cost the same and C is 1 there, or V follows from efforts alone and A is constant there."""
    if metric.C.fact("ignores_zero_gain"):
        return metric.flat_effort is not None and not metric.reads_signed({"best"})
    by_effort = metric.C.fact("gives_survival") and reads(metric.C) <= {"E", "E_before"} and not metric.unit_effort
    # The number of items that users see, and its sums, are not known from the hits alone.
    of_gains = "expected_effort" not in reads(metric.A) and {"score", "total_gain", "staying"}.issuperset(names)
    return bool(by_effort and of_gains and _constant_without_gain(metric))


@route(ROUTES, when=hits_decide, gain="14 to 17 % of the time of six measures of 2,000 or 6,980 queries")
def over_hits(metric: Metric, rankings: Rankings, names: Sequence[str]) -> Floats:
    """Return values from the hits only, if nobody leaves at other items, or V at the hits is known without them."""
    return values_of_views(metric, rankings, names, roomy(np.diff(rankings.start) + 1), view_of_hits)


RANKS_PER_COLUMN = 8  # a column of the route over hits and gaps takes the time of five to ten ranks


def gaps_are_known(metric: Metric, names: Sequence[str] = ("score",)) -> bool:
    """Efforts of items without gain are equal, A is constant there, and C is constant or has a closed form there."""
    C = metric.C
    if C.fact("ignores_zero_gain") or not _constant_without_gain(metric):
        return False
    constant = C.built_in and C.fact("constant_beyond_list") and not C.fact("last_rank")
    return bool(constant or C.fact("items_between"))


def _constant_without_gain(metric: Metric) -> bool:
    """Return whether items without gain have the same effort, above 0, and leave A as it is."""
    return metric.A.built_in and bool(metric.constant_without_gain and metric.flat_effort)


@route(ROUTES, when=gaps_are_known, gain="25 % of the time of fifteen measures of 2,000 or 6,980 queries")
def over_hits_and_gaps(metric: Metric, rankings: Rankings, names: Sequence[str]) -> Floats:
    """Return values from the hits, and from closed forms for the users who leave between them."""
    relevant = rankings.grade > 0
    if metric.signed:
        relevant = relevant | (gains_of_hits(metric, rankings) != 0)
    rankings = rankings if relevant.all() else rankings.only(relevant)
    widths = roomy(np.diff(rankings.start) + 2)  # rank 1 and the last item have a column as well
    sparse = RANKS_PER_COLUMN * widths <= ranks_that_matter(metric, rankings)
    values = values_of_views(metric, rankings, names, widths, view_of_hits_and_gaps, sparse)
    return values if sparse.all() else values + over_all_ranks(metric, rankings, names, which=~sparse)


def walk_values(metric: Metric, rankings: Rankings, names: Sequence[str]) -> Floats:
    """Return values of the users of each query, such as their expected effort, by the first route that applies.

    To the last bit, the values of a query do not depend on the queries that are scored with it: the route and the
    explicit ranks follow from the ranking alone.

    Parameters
    ----------
    metric, rankings, names
        See :func:`over_all_ranks`.

    Returns
    -------
    ndarray, shape (n_queries, n_names)
        Values, before normalisation.
    """
    return fastest(ROUTES, over_all_ranks, metric, names)(metric, rankings, names)


TOO_LARGE = "the score or its normaliser is too large for a floating-point number."


def score(metric: Metric, rankings: Rankings) -> Floats:
    """Return one score per query: Σ L(i)·A(i) / N, and 0 if N is 0.

    Parameters
    ----------
    metric : Metric
        The metric.
    rankings : Rankings
        Aligned rankings of n queries.

    Returns
    -------
    ndarray, shape (n,)
        Scores.

    Raises
    ------
    NoFiniteValue
        If a score or its normaliser is infinite.
    UnknownEffort
        If the effort of unseen items is needed and is not known.
    """
    metric = metric.fresh
    return normalised(metric, raw_score(metric, rankings), rankings)


def raw_score(metric: Metric, rankings: Rankings) -> Floats:
    """Return Σ L(i)·A(i) per query.

    Parameters
    ----------
    metric : Metric
        The metric.
    rankings : Rankings
        Aligned rankings of n queries.

    Returns
    -------
    ndarray, shape (n,)
        Scores before normalisation.
    """
    return walk_values(metric, seen_part(metric, rankings), ("score",))[:, 0]


def raw_score_with(metric: Metric, rankings: Rankings, unjudged: tuple[float, float]) -> Floats:
    """Return Σ L(i)·A(i) per query if every unjudged and unseen item had a gain and a grade."""
    if not unjudged[0]:
        return raw_score(metric, rankings)
    return over_all_ranks(metric, seen_part(metric, rankings), unjudged=unjudged)[:, 0]


def normalised(metric: Metric, raw: Floats, rankings: Rankings) -> Floats:
    """Return raw scores divided by N, and 0 if N is 0.

    Parameters
    ----------
    metric : Metric
        The metric.
    raw : ndarray, shape (n,)
        Scores before normalisation.
    rankings : Rankings
        Their rankings.

    Raises
    ------
    NoFiniteValue
        If a score or N is infinite or NaN.
    """
    N = divisor(metric, rankings)
    with np.errstate(over="ignore", invalid="ignore"):
        score = np.divide(raw, N, out=np.zeros_like(raw), where=N > 0)
    if not (np.isfinite(score).all() and np.isfinite(N).all()):
        raise NoFiniteValue(TOO_LARGE)
    return score


def topics_without_gain(metric: Metric, pool: Pool) -> str | None:
    """Return a warning if signed gains are divided by the best that a topic has to gain, and that is nothing."""
    if not metric.signed or metric.norm not in ("ideal", "all") or not reads(metric.A) & (SUMS | {"r", "best"}):
        return None
    of_judged = np.bincount(pool.query, minlength=pool.queries) > 0
    nothing, topics = int((pool_totals(metric, pool) == 0)[of_judged].sum()), int(of_judged.sum())
    if not nothing:
        return None
    return (
        f"{nothing:,} of {topics:,} topics have no document of positive gain, so that they score 0 with"
        f" norm={metric.norm!r}, whatever harm is retrieved: use norm='none' for signed gains."
    )


def divisor(metric: Metric, rankings: Rankings) -> Floats:
    """Return the normaliser N of each query."""
    pool = rankings.pool
    if metric.norm == "none":
        return np.ones(len(rankings))
    if metric.norm in ("all", "mean"):
        totals = pool_totals(metric, pool)
        if metric.norm == "mean":
            relevant = pool.totals(lambda grade: np.ones(len(grade)), ("relevant",))
            totals = np.divide(totals, relevant, out=np.zeros(len(totals)), where=relevant > 0)
        return rankings.of_pool(totals)
    if metric.norm == "ideal":
        of_column = metric.default_lengths is not None and rankings.have_doc_length
        key = ("ideal", *metric.key, of_column)  # such runs are refused, also after a run without the column
        return rankings.of_pool(pool.remembered(key, lambda: _ideal_scores(metric, rankings)))
    if metric.effort_depends_on("rank"):
        raise NoFiniteValue(
            f"norm='unlimited' is not defined for {metric.effort.keyword}, which depends on ranks: use norm='ideal'."
        )
    # An infinite list of documents with the best grade, no words and no known costs.
    unseen = metric.cost_of_one(metric.best[1], lambda: np.zeros(1))
    endless = replace(metric, unseen=unseen, norm="none", end="open", cutoff=None, judged_only=False)
    nothing = Rankings.of_gains([[]], efforts=lambda queries, width: np.zeros((len(queries), width)))
    return np.full(len(rankings), raw_score_with(endless, nothing, endless.best)[0])


def _ideal_scores(metric: Metric, rankings: Rankings) -> Floats:
    plain = replace(metric, norm="none", judged_only=False, duplicates=None)
    return raw_score(plain, ideal_ranking(metric, rankings))


def visits(metric: Metric, rankings: Rankings, with_effort: bool) -> tuple[Floats, Floats, Floats | None]:
    """Return what the users of a metric gain and spend at each list, if all see the first item.

    An empty list with ``end="stop"`` costs nothing.

    Parameters
    ----------
    metric : Metric
        The metric; its aggregation and normaliser do not matter.
    rankings : Rankings
        Aligned rankings of n queries.
    with_effort : bool
        Whether to compute the effort, which may be unknown or infinite where the gain is not.

    Returns
    -------
    gain : ndarray, shape (n,)
        Σ L(i)·G(i): the gain of the users who leave, divided by the number of all users.
    staying : ndarray, shape (n,)
        Share of users who never leave.
    effort : ndarray, shape (n,) or None
        Σ V(i)·e_i, infinite if some users never leave.

    Raises
    ------
    NoFiniteValue
        If all users leave, but their gain or effort is infinite.
    UnknownEffort
        If the effort of unseen items is needed and is not known.
    """
    metric = metric.fresh
    total = replace(metric, A=etg(), norm="none")
    walked = replace(metric, A=erg(), norm="none") if with_effort else total  # erg needs the effort of unseen items
    names = ["staying", *["expected_effort"] * with_effort]
    if metric.rank_only and metric.unit_effort:
        gain, values = raw_score(total, rankings), _of_lengths(walked, seen_part(metric, rankings), names)
    else:
        found = walk_values(walked, seen_part(metric, rankings), ["total_gain", *names])
        gain, values = found[:, 0], found[:, 1:]
    if not np.isfinite(gain).all():
        raise NoFiniteValue("the gain is too large for a floating-point number.")
    return gain, values[:, 0], values[:, 1] if with_effort else None


def _of_lengths(metric: Metric, rankings: Rankings, names: Sequence[str]) -> Floats:
    """Return values of users whom only the end of the list distinguishes, from one walk for each length of a list."""
    lengths = distinct(rankings.n) if metric.end == "stop" else np.zeros(1, np.int64)
    none = np.zeros(0, np.int64)
    values = walk_values(metric, Rankings.of_hits(lengths, none, none, none), names)
    return values[np.searchsorted(lengths, rankings.n) if metric.end == "stop" else [0] * len(rankings)]
