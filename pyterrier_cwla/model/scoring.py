"""Scores of aligned rankings: Σ L(i)·A(i) by the fastest of three methods, divided by the normaliser."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..data.arrays import Floats
from ..data.rankings import Rankings
from ..errors import NoFiniteValue
from .ideal import ideal_ranking
from .metric import Metric
from .rank_weights import by_rank_weights, ranks_have_weights
from .view_columns import pool_totals, seen_part
from .walk_scores import over_all_ranks, over_hits, passes_items_without_gain

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

    The score of a query is the same to the last bit for any other queries that are scored with it: the method and the
    explicit ranks depend on the ranking only.

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
    rankings = seen_part(metric, rankings)
    if ranks_have_weights(metric):
        return by_rank_weights(metric, rankings)
    if passes_items_without_gain(metric):
        return over_hits(metric, rankings)
    return over_all_ranks(metric, rankings)


def highest_raw_score(metric: Metric, rankings: Rankings) -> Floats:
    """Return Σ L(i)·A(i) per query if every unjudged and unseen item had the best gain."""
    if not metric.best[0]:
        return raw_score(metric, rankings)
    return over_all_ranks(metric, seen_part(metric, rankings), metric.best)


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


def divisor(metric: Metric, rankings: Rankings) -> Floats:
    """Return the normaliser N of each query."""
    pool = rankings.pool
    if metric.norm == "none":
        return np.ones(len(rankings))
    if metric.norm in ("all", "mean"):
        totals = pool_totals(metric, pool)
        if metric.norm == "mean":
            relevant = pool.totals(lambda grade: np.ones(len(grade)), "relevant")
            totals = np.divide(totals, relevant, out=np.zeros(len(totals)), where=relevant > 0)
        return rankings.of_pool(totals)
    if metric.norm == "ideal":
        if not metric.built_in:
            return rankings.of_pool(_ideal_scores(metric, rankings))
        of_column = metric.default_lengths is not None and rankings.rows is not None and rankings.rows.has_doc_length
        key = ("ideal", metric.key, of_column)  # such runs are refused, also after a run without the column
        return rankings.of_pool(pool.remembered(key, lambda: _ideal_scores(metric, rankings)))
    return np.full(len(rankings), _unlimited_score(metric))


def _ideal_scores(metric: Metric, rankings: Rankings) -> Floats:
    plain = replace(metric, norm="none", judged_only=False, duplicates=None)
    return raw_score(plain, ideal_ranking(metric, rankings))


def _unlimited_score(metric: Metric) -> float:
    """Return the score of an infinite list of documents with the best grade, no words and no known costs."""
    if metric.effort_depends_on("rank"):
        raise NoFiniteValue(
            f"norm='unlimited' is not defined for {metric.effort.keyword}, which depends on ranks: use norm='ideal'."
        )
    unseen = metric.cost_of_one(metric.best[1], lambda: np.zeros(1))
    endless = replace(metric, unseen=unseen, norm="none", end="open", cutoff=None)
    nothing = Rankings.of_gains([[]], efforts=lambda queries, width: np.zeros((len(queries), width)))
    return float(highest_raw_score(endless, nothing)[0])
