"""Residuals: how much higher scores could be if unjudged documents were judged."""

from __future__ import annotations

import numpy as np

from ..data.arrays import Floats
from ..data.rankings import Rankings
from . import best_case
from .fact_trials import holds
from .introspection import effort_reads
from .metric import Metric
from .scoring import highest_raw_score, normalised, raw_score, score

_ROUNDING = 1e-14  # rounding error of a score, relative to the score


def residual(metric: Metric, rankings: Rankings) -> Floats:
    """Return the score if every unjudged and unseen item had the best gain, minus the score.

    Efforts stay as they are. With ``norm="ideal"`` judgments change the ideal as well: the residual is then the highest
    score that judgments can lead to, minus the score, if it is known. Otherwise the ideal stays as it is.

    Parameters
    ----------
    metric : Metric
        The metric.
    rankings : Rankings
        Rankings with all judged documents, not only the relevant ones.

    Returns
    -------
    ndarray, shape (n_queries,)
        Residuals of at least 0, in the unit of the score. Only a residual that is no bound may be negative.
    """
    metric = metric.fresh
    if best_case.is_known(metric):
        lowest = score(metric, rankings)
        return np.maximum(best_case.best_scores(metric, rankings) - lowest, 0.0)
    highest = highest_raw_score(metric, rankings)
    gained = highest - raw_score(metric, rankings)
    gained[(gained < 0) & (gained > -_ROUNDING * np.abs(highest))] = 0.0
    return normalised(metric, gained, rankings)


def residual_is_a_bound(metric: Metric) -> bool:
    """Return whether the residual is known to be an upper bound of what judgments can add to the score.

    It is a bound for pairs of C and A that are monotone in gain. It is not one for condensed lists, in which a judged
    document moves all later ones. With ``norm="ideal"`` it is a bound if the best case is known. No bound is known for
    scores that are divided by the total gain.

    Parameters
    ----------
    metric : Metric
        The metric.
    """
    C, A = metric.C, metric.A
    if metric.judged_only:
        return False
    if metric.norm == "ideal":
        return best_case.is_known(metric)
    rises = holds(A, "monotone_in_gain") and metric.norm in ("none", "unlimited")
    if metric.rank_only and (metric.unit_effort or "grade" not in effort_reads(metric.effort)):
        return rises
    satisfied = C.name in ("rr", "cascade") and C["rel"] is None and metric.unit_effort and metric.norm == "none"
    falling = best_case.discount_falls(A)
    return satisfied and (A.name in ("etg", "erg") or falling or (A.name == "err" and C.name == "rr"))
