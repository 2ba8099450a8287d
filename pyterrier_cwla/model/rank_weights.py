"""Weights of ranks: if C depends on ranks only and A is linear, the score is a weighted sum of the gains."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..data.arrays import Floats, distinct
from ..data.rankings import Rankings, summed
from .language import Spec
from .metric import Metric, plain_metric
from .query_chunks import power_of_two
from .view_columns import seen_part
from .walk_scores import over_all_ranks

_DEEPEST = 4096  # last rank with a cached weight
_USUAL = [n for n in (digit * 10**zeros for zeros in range(4) for digit in range(1, 10)) if n <= _DEEPEST]
"""Usual lengths of rankings in runs. Rankings of these lengths are scored by weights at end="stop"."""


def ranks_have_weights(metric: Metric) -> bool:
    """Return whether C depends on ranks only and A is linear in the gains, so that every rank has a weight."""
    return metric.unit_effort and bool(metric.A.fact("linear_in_gain")) and metric.rank_only


def by_rank_weights(metric: Metric, rankings: Rankings) -> Floats:
    """Return Σ L(i)·A(i) per query as the sum of the gains times the weights of their ranks.

    Parameters
    ----------
    metric : Metric
        Metric for which :func:`ranks_have_weights` is true.
    rankings : Rankings
        Rankings from :func:`seen_part`.

    Returns
    -------
    ndarray, shape (n_queries,)
        Scores before normalisation.
    """
    weighed = np.isin(rankings.n, (0, *_USUAL)) if metric.end == "stop" else rankings.last_hit <= _DEEPEST
    if weighed.all():
        return _weighed_sums(metric, rankings)
    scores = _weighed_sums(metric, rankings.only(weighed[rankings.query]))
    return np.where(weighed, scores, over_all_ranks(metric, rankings, which=~weighed))


def _weighed_sums(metric: Metric, rankings: Rankings) -> Floats:
    weights, divisor = _weights_of_hits(metric, rankings)
    sums: Floats = summed(rankings.query, rankings.gains(metric) * weights, len(rankings)) / divisor
    return sums


def _weights_of_hits(metric: Metric, rankings: Rankings) -> tuple[Floats, float | Floats]:
    """Return the weight of the rank of each hit, and the divisor of their sums."""
    C, A = metric.C, metric.A
    if metric.end != "stop":
        deepest = 1 << (int(rankings.rank.max(initial=1)) - 1).bit_length()
        by_rank, divisor = _with_divisor(C, A, metric.end, deepest)
        return by_rank[rankings.rank - 1], divisor
    lengths = distinct(rankings.n).tolist()
    if len(lengths) == 1 and lengths[0]:
        by_rank, divisor = _with_divisor(C, A, "stop", lengths[0])
        return by_rank[rankings.rank - 1], divisor
    weights, n, divisors = np.zeros(len(rankings.rank)), rankings.n[rankings.query], np.ones(len(rankings))
    for length in set(lengths) & set(_USUAL):
        by_rank, divisors[rankings.n == length] = _with_divisor(C, A, "stop", length)
        weights[n == length] = by_rank[rankings.rank[n == length] - 1]
    return weights, divisors


def rank_weights(C: Spec, A: Spec, end: str | int, n: int) -> Floats:
    """Return the weights of ranks 1 to n: the score of a ranking with gain 1 at this rank only.

    Results are cached for built-in functions.

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
    weights, divisor = _with_divisor(C, A, end, n)
    return weights / divisor


def _with_divisor(C: Spec, A: Spec, end: str | int, n: int) -> tuple[Floats, float]:
    return _cached_weights(C, A, end, n) if C.built_in and A.built_in else _weights(C, A, end, n)


@lru_cache(maxsize=256)
def _cached_weights(C: Spec, A: Spec, end: str | int, n: int) -> tuple[Floats, float]:
    return _weights(C, A, end, n)


def _weights(C: Spec, A: Spec, end: str | int, n: int) -> tuple[Floats, float]:
    """Return the scores of rankings with one gain each, and a divisor of sums of gains times these weights.

    Weights of 0 and 1/m are returned as 0 and 1 with the divisor m, so that sums such as those of P@m are rounded once.
    The rankings have the next power of two as their length, so that a weight does not depend on n.
    """
    rank = np.arange(1, n + 1)
    length = np.full(n, n) if end == "stop" else power_of_two(rank)
    metric = plain_metric(C, A, end)
    weights = over_all_ranks(metric, seen_part(metric, Rankings.of_hits(length, rank - 1, rank, np.ones(n))))
    highest = weights.max(initial=0.0)
    m = np.rint(1 / highest) if 0 < highest < 1 else 1.0
    return (np.sign(weights), m) if ((weights == 0) | (weights == 1 / m)).all() else (weights, 1.0)
