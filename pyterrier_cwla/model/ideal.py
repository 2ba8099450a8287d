"""The best ranking that the judgments of a query allow: what norm="ideal" divides by."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..data.lengths import words_of_pool
from ..data.rankings import Pool, Rankings, places_within
from .metric import Array, Metric
from .view import Documents


def ideal_ranking(metric: Metric, rankings: Rankings) -> Rankings:
    """All judged documents of each query by falling gain.

    Where C decays with effort and A is the total gain, an order that is best: by g/(1 − 2^(−e/h)), largest first, g the
    gain as it is credited, and with a cutoff the best k of them (dynamic programme).
    """
    pool = rankings.pool
    if metric.unit_effort:
        if not metric.gain.built_in:
            return _by_falling_gain(metric, pool)
        key = ("ideal ranking", metric.gain.key, metric.max_rel)
        return pool.remembered(key, lambda: _by_falling_gain(metric, pool))
    gains = metric.gains(pool.grade)
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


def _by_falling_gain(metric: Metric, pool: Pool) -> Rankings:
    """From the counts of each grade alone: where documents cost the same, nothing else tells them apart."""
    query, grade = pool.positive
    grades, level = np.unique(grade, return_inverse=True)
    falling = np.lexsort((-grades, -metric.gains(grades)))
    place = np.empty_like(falling)
    place[falling] = np.arange(len(falling))
    counts = np.bincount(query * len(grades) + place[level], minlength=pool.queries * len(grades))
    n = np.bincount(pool.query, minlength=pool.queries)  # those without gain come last
    relevant = counts.reshape(pool.queries, len(grades)).sum(axis=1)
    in_order = np.repeat(np.tile(grades[falling], pool.queries), counts)
    return Rankings.of_hits(
        n, np.repeat(np.arange(pool.queries), relevant), places_within(relevant) + 1, in_order, pool
    )


def best_choice(gains: Array, stays: Array, k: int) -> Array:
    """Which of these items, in this order, make the best list of at most k.

    f(j, c) = max(f(j+1, c), g_j + s_j·f(j+1, c−1)), s_j the share of users whom item j does not lose.
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


def pool_efforts(metric: Metric, rankings: Rankings) -> Array:
    """The efforts of all judged documents."""
    pool = rankings.pool
    if "efforts" in pool.memory:
        return pool.memory["efforts"]
    documents = Documents(np.maximum(pool.grade, 0), lambda: words_of_pool(metric, rankings))
    return metric.costs(documents)


def _ranked(pool: Pool, query: Array, grade: Array, effort: Array) -> Rankings:
    n = np.bincount(query, minlength=pool.queries)
    first = np.cumsum(n) - n

    def efforts(queries: Array, width: int) -> Array:
        place = np.arange(width)[None, :]
        inside = place < n[queries][:, None]
        return np.append(effort, 0.0)[np.where(inside, first[queries][:, None] + place, -1)]

    return Rankings.of_hits(n, query, places_within(n) + 1, grade, pool, efforts=efforts)
