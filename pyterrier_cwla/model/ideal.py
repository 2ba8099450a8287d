"""Ideal ranking: the best ranking of the judged documents of a query, for norm="ideal"."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np

from ..data.arrays import Array, Floats, distinct
from ..data.document_words import words_of_pool
from ..data.quantities import COST, LENGTH
from ..data.rankings import Pool, Rankings, places_within
from .metric import Metric
from .view import Documents


def ideal_ranking(metric: Metric, rankings: Rankings) -> Rankings:
    """Return all judged documents of each query by falling gain.

    If C is ``decay`` and A is the total gain, an optimal order is used: by g/(1 − 2^(−e/h)), highest first, where g is
    the credited gain. With a cutoff k, the best k documents are chosen by dynamic programming. If efforts depend on
    ranks, the order is by falling gain for all metrics, and other orders can score higher.

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
    if metric.unit_effort:
        if not metric.gain.built_in:
            return _by_falling_gain(metric, rankings)
        key = ("ideal ranking", metric.gain.key, metric.max_rel)
        ideal: Rankings = pool.remembered(key, lambda: _by_falling_gain(metric, rankings))
        return ideal
    gains = metric.gains(pool.grade)
    if metric.effort_depends_on("rank"):
        order = np.lexsort((-pool.grade, -gains, pool.query))
        return _ranked(pool, pool.query[order], pool.grade[order], _efforts_at_ranks(metric, rankings, order))
    effort = pool_efforts(metric, rankings)
    worth = gains
    if metric.decays:
        _, gains = metric.A.fact("credit_terms")(np.ones(1), gains, effort, None)
        stays = np.exp2(-effort / metric.C["half_life"])
        with np.errstate(divide="ignore", invalid="ignore"):
            worth = np.where(gains > 0, gains / (1 - stays), 0.0)
        last = metric.last_that_counts
        if last is not None:
            chosen = np.zeros(len(gains), bool)
            start = np.searchsorted(pool.query, np.arange(pool.queries + 1))
            for a, b in pairwise(start.tolist()):
                order = a + np.argsort(-worth[a:b], kind="stable")
                order = order[gains[order] > 0]
                chosen[order[best_choice(gains[order], stays[order], last)]] = True
            worth = np.where(chosen, worth, -1.0)
    order = np.lexsort((-pool.grade, -worth, pool.query))
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
    return Rankings.of_hits(n, query, rank, grades[falling][places], pool, shared=rankings.shared)


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


def pool_efforts(metric: Metric, rankings: Rankings) -> Floats:
    """Return the efforts of all judged documents."""
    pool = rankings.pool
    if "efforts" in pool.memory:
        efforts: Floats = pool.memory["efforts"]
        return efforts
    words, seconds = (partial(words_of_pool, metric, rankings, quantity) for quantity in (LENGTH, COST))
    return metric.costs(Documents(np.maximum(pool.grade, 0), words, seconds))


def _efforts_at_ranks(metric: Metric, rankings: Rankings, order: Array) -> Floats:
    """Return the efforts of all judged documents in an order by query, each at its rank in this order."""
    pool = rankings.pool
    rank = places_within(np.bincount(pool.query, minlength=pool.queries)) + 1.0
    e = metric.costs(
        Documents(
            np.maximum(pool.grade, 0)[order],
            lambda: words_of_pool(metric, rankings, LENGTH)[order],
            lambda: words_of_pool(metric, rankings, COST)[order],
            rank,
        )
    )
    metric.refuse_odd_efforts(e)
    return e


def _ranked(pool: Pool, query: Array, grade: Array, effort: Floats) -> Rankings:
    n = np.bincount(query, minlength=pool.queries)
    first = np.cumsum(n) - n

    def efforts(queries: Array, width: int) -> Floats:
        place = np.arange(width)[None, :]
        inside = place < n[queries][:, None]
        return np.append(effort, 0.0)[np.where(inside, first[queries][:, None] + place, -1)]

    return Rankings.of_hits(n, query, places_within(n) + 1, grade, pool, efforts=efforts)
