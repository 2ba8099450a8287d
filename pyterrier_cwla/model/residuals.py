"""Residuals: how much higher, or lower, scores could be if unjudged documents were judged."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..data.columns import Array, Floats
from ..data.rankings import Pool, Rankings
from ..errors import BadParameter, NoFiniteValue
from .document_values import gains_of_hits
from .fact_trials import holds
from .introspection import cached, effort_reads, reads
from .language import Spec
from .metric import Metric, plain_metric
from .scoring import normalised, rank_weights, raw_score, raw_score_with, score
from .view_columns import power_of_two, seen_part

_CELLS = 1 << 17  # queries × levels × documents at a time
_DEEPEST = 4096  # largest number of explicit ranks
_TAIL = 1e-9  # share of the sum of weights that may be after the explicit ranks
_ROUNDS = 100  # largest number of iterations; two to six are usual
_EFFORTS = {"e", "E", "expected_effort", "credited"}


def is_known(metric: Metric) -> bool:
    """Return whether the best case over the ideal is known.

    C must depend on ranks only, and A must be a sum of gains of 0 or more with falling weights.
    """
    A = metric.A
    if (
        metric.signed
        or metric.norm != "ideal"
        or not metric.rank_only
        or not (A.fact("linear_in_gain") and _weights_fall(A))
    ):
        return False
    if not metric.unit_effort and (reads(metric.C) | reads(A)) & _EFFORTS:
        return False
    by_length = A.fact("credit_terms") is None or "expected_effort" in reads(A)
    return not (by_length and metric.end == "stop")  # at "stop" the weights of erg and avg depend on the length


def _weights_fall(A: Spec) -> bool:
    fall = A.fact("weights_fall")
    return bool(fall and fall())


def best_scores(metric: Metric, rankings: Rankings) -> Floats:
    """Return an upper bound of each score over the ideal, at most 1.

    It is the maximum over all judgments if the list is long enough.

    Parameters
    ----------
    metric : Metric
        Metric for which :func:`is_known` is true.
    rankings : Rankings
        Rankings with all judged documents.

    Returns
    -------
    ndarray, shape (n_queries,)
        Bounds in [0, 1].

    Notes
    -----
    Let w_1 ≥ w_2 ≥ … be the weights of ranks: a gain of 1 at rank i adds w_i to the score. Let W(n) = w_1 + … + w_n.
    The score is Σ_i w_i·r_i / Σ_i w_i·r_(i), where r_(1) ≥ r_(2) ≥ … are the gains of all judged documents. A document
    that is judged raises the ideal as well as the score. Therefore the best gain at all ranks is not the best case.
    With the gains 0 = t_0 < t_1 < … < t_m that occur, both sums are sums over the levels of gain:

        score = Σ_l (t_l − t_(l−1))·w(S_l) / Σ_l (t_l − t_(l−1))·W(n_l)

    where S_l is the set of ranks with a gain of at least t_l, w(S_l) the sum of their weights, and n_l the number of
    documents that are judged with a gain of at least t_l. If j more documents reach level l, n_l grows by j, and w(S_l)
    grows at most by the weights of the first j unjudged ranks. The maximum of the ratio is the λ at which

        Σ_l (t_l − t_(l−1))·max_j [w(S_l with j more) − λ·W(n_l + j)] = 0.

    Dinkelbach's iteration finds it: λ is set to the ratio at the maximising j until it no longer changes. The levels
    can be maximised one by one. The increments of [..] in j fall with the level, because n_l falls with it. Therefore
    the maximising j fall with the level as well, as the j of an assignment of gains must. Between two levels nothing
    changes, so only the gains 0, those of judged documents, and the best gain are needed.

    The maximum is reached by an assignment if no judged document with a positive gain can be after the list. Ranks
    after the list may hold such documents, which are already part of the ideal; they come first there, at every level.
    These documents, and the ranks after the explicit ones (counted as if they had the best gain at no cost), can only
    raise the result, so it remains an upper bound. No score is above 1, because w falls.
    """
    rankings = seen_part(metric, rankings)
    found = _weights(metric, rankings)
    if found is None:
        return np.ones(len(rankings))
    weights, beyond = found
    pool, key = rankings.pool, ("levels of gain", metric.gain, metric.max_rel)
    levels, counts = pool.remembered(key, lambda: _levels(metric, pool))
    topic = np.arange(len(rankings)) if rankings.topic is None else rankings.topic
    scores = np.zeros(len(rankings))
    step = max(_CELLS // (levels.shape[1] * (len(weights) + 1)), 1)
    for first in range(0, len(rankings), step):
        queries = np.arange(first, min(first + step, len(rankings)))
        level = levels[topic[queries]]
        gained, cost = _choices(metric, rankings, queries, level, counts[topic[queries]], weights)
        scores[queries] = _greatest_ratio(gained + beyond, cost, np.diff(level, axis=1, prepend=0.0) * (level > 0))
    return np.minimum(scores, 1.0)


def _last_rank(metric: Metric, rankings: Rankings) -> int | None:
    """Return the last rank that counts, in a ranking or an ideal, or None if the list has no end."""
    ends = [metric.last_that_counts, metric.last_rank or None]
    if metric.end == "stop":
        ends.append(int(rankings.n.max(initial=0) + np.bincount(rankings.pool.query, minlength=1).max()) or 1)
    return min((end for end in ends if end is not None), default=None)


def _weights(metric: Metric, rankings: Rankings) -> tuple[Floats, float] | None:
    """Return the weights of the first ranks and the sum of all later weights, or None if the sum is infinite."""
    C, A = metric.C, metric.A
    last = _last_rank(metric, rankings)
    # If all users leave at the last item, the weight of a rank does not depend on the length of the list.
    end: str | int = int(power_of_two(np.array(last))) if metric.end == "stop" else metric.end
    if last is not None and last <= _DEEPEST:
        return rank_weights(C, A, end, 1 << (last - 1).bit_length())[:last], 0.0
    total = _sum_of_weights(C, A, end)
    if total is None:
        return None
    depth = 64
    weights = rank_weights(C, A, end, depth)
    while depth < _DEEPEST and total - weights.sum() > _TAIL * total:
        depth *= 2
        weights = rank_weights(C, A, end, depth)
    return weights, max(total - float(weights.sum()), 0.0)


@cached
def _sum_of_weights(C: Spec, A: Spec, end: str | int) -> float | None:
    """Return the sum of the weights of all ranks, or None if it does not converge."""
    metric = plain_metric(C, A, end, max_rel=1)
    try:
        return float(raw_score_with(metric, Rankings.of_gains([[]]), metric.best)[0])
    except NoFiniteValue:
        return None


def _levels(metric: Metric, pool: Pool) -> tuple[Floats, Floats]:
    """Return the gains that occur in each query, and the number of judged documents with at least each gain.

    Both have the shape [queries × levels]. The gains ascend and include the best gain. Queries with fewer levels have
    zeros at the end.
    """
    query, grade = pool.positive
    grades, which = np.unique(grade, return_inverse=True)
    pairs, judged = np.unique(query * max(len(grades), 1) + which, return_counts=True)
    query, which = np.divmod(pairs, max(len(grades), 1))
    gains = np.append(metric.gains(grades)[which], np.full(pool.queries, metric.best[0]))
    query, judged = np.append(query, np.arange(pool.queries)), np.append(judged, np.zeros(pool.queries, np.int64))
    order = np.lexsort((gains, query))
    order = order[gains[order] > 0]
    query, gains, judged = query[order], gains[order], judged[order]
    differs = (np.diff(query, prepend=-1) != 0) | (np.diff(gains, prepend=0.0) != 0)
    number = np.cumsum(differs) - 1
    first = np.searchsorted(query, np.arange(pool.queries))
    column = number - number[np.minimum(first, len(number) - 1)][query] if len(number) else number
    width = int(column.max(initial=0)) + 1
    levels = np.zeros((pool.queries, width))
    levels[query, column] = gains
    equal = np.bincount(query * width + column, judged, minlength=levels.size).reshape(levels.shape)
    return levels, equal[:, ::-1].cumsum(axis=1)[:, ::-1].astype(np.int64)


def _choices(
    metric: Metric, rankings: Rankings, queries: Array, level: Floats, count: Array, weights: Floats
) -> tuple[Floats, Floats]:
    """Return the sums of weights of the ranking and of the ideal if j more documents reach a level.

    Both have the shape [queries × levels × (j + 1)].
    """
    deep = len(weights)
    n = np.minimum(rankings.n[queries], deep)[:, None]
    room = np.zeros_like(n) if metric.end == "stop" else deep - n
    at, row, _ = rankings.hits_of(queries)
    if not room.any():  # hits after the explicit ranks count only if unretrieved documents may follow the list
        inside = rankings.rank[at] <= deep
        at, row = at[inside], row[inside]
    rank = rankings.rank[at]
    reaches = (gains_of_hits(metric, rankings)[at][:, None] >= level[row]) & (level[row] > 0)
    known, retrieved = np.zeros(level.shape), np.zeros(level.shape, np.int64)
    worth = np.append(weights, 0.0)[np.minimum(rank - 1, deep)]
    for column in range(level.shape[1]):
        known[:, column] = np.bincount(row, worth * reaches[:, column], minlength=len(queries))
        retrieved[:, column] = np.bincount(row, reaches[:, column], minlength=len(queries))

    unjudged = np.arange(deep)[None, :] < n
    listed = rank <= deep
    unjudged[row[listed], rank[listed] - 1] = False
    in_list = unjudged.sum(axis=1, keepdims=True)
    after = np.clip(count - retrieved, 0, room)  # judged documents that were not retrieved, right after the list
    sums = np.append(0.0, np.cumsum(weights))
    known = known + sums[n + after] - sums[n]

    most = int((in_list + room).max(initial=0))
    j = np.arange(most)[None, None, :]
    places = np.argsort(~unjudged, axis=1, kind="stable")[:, None, :most]
    beyond = np.where(room[:, None] > 0, (n + after)[:, :, None] + j - in_list[:, None], deep)
    place = np.where(j < in_list[:, None], places, np.minimum(beyond, deep))
    added = np.append(weights, 0.0)[place] * (level <= metric.best[0])[:, :, None]
    gained = np.concatenate([known[:, :, None], known[:, :, None] + np.cumsum(added, axis=2)], axis=2)
    return gained, sums[np.minimum(count[:, :, None] + np.arange(most + 1), deep)]


def _greatest_ratio(gained: Floats, cost: Floats, sizes: Floats) -> Floats:
    """Return the maximum over all j of Σ_l sizes·gained / Σ_l sizes·cost, by Dinkelbach's iteration."""
    ratio = np.zeros(len(sizes))
    for _ in range(_ROUNDS):
        chosen = np.argmax(gained - ratio[:, None, None] * cost, axis=2)[:, :, None]
        over, under = (
            (np.take_along_axis(values, chosen, axis=2)[:, :, 0] * sizes).sum(axis=1) for values in (gained, cost)
        )
        better = np.divide(over, under, out=np.zeros_like(ratio), where=under > 0)
        if not (better > ratio).any():
            break
        ratio = np.maximum(ratio, better)
    return ratio


_ROUNDING = 1e-14  # rounding error of a score, relative to the score


Side = Literal["upper", "lower"]


def refuse_unknown_case(metric: Metric, side: Side = "upper") -> None:
    """Raise BadParameter if no best, or no worst, case is computed for a normaliser that depends on the judgments."""
    if metric.norm not in ("none", "unlimited") and (side == "lower" or metric.signed):
        what = "side='lower'" if side == "lower" else f"signed gains ({metric.gain.keyword})"
        raise BadParameter(
            f"no residual with {what} and norm={metric.norm!r}: judgments change what the score is divided by. Use"
            " norm='none'."
        )


def residual(metric: Metric, rankings: Rankings, side: Side = "upper") -> Floats:
    """Return the score if every unjudged and unseen item had the best gain, minus the score.

    For the lower side it is the score, minus the score if all these items had the lowest possible gain, which is 0 if
    no gain is negative.

    Efforts stay as they are. With ``norm="ideal"`` judgments change the ideal as well: the residual is then the highest
    score that judgments can lead to, minus the score, if it is known. Otherwise the ideal stays as it is.

    Parameters
    ----------
    metric : Metric
        The metric.
    rankings : Rankings
        Rankings with all judged documents, not only the relevant ones.
    side : {"upper", "lower"}, default="upper"
        Whether the residual is how much higher or how much lower the score could be.

    Returns
    -------
    ndarray, shape (n_queries,)
        Residuals of at least 0, in the unit of the score. Only a residual that is no bound may be negative.

    Raises
    ------
    BadParameter
        If the side is the lower one or gains are signed, and the score is divided by a number that judgments change.
    """
    metric = metric.fresh
    refuse_unknown_case(metric, side)
    if is_known(metric):
        return np.maximum(best_scores(metric, rankings) - score(metric, rankings), 0.0)
    extreme = raw_score_with(metric, rankings, metric.best if side == "upper" else metric.lowest)
    gained = extreme - raw_score(metric, rankings)
    if side == "lower":
        gained = 0.0 - gained
    gained[(gained < 0) & (gained > -_ROUNDING * np.abs(extreme))] = 0.0
    return normalised(metric, gained, rankings)


def residual_is_a_bound(metric: Metric) -> bool:
    """Return whether the residual is known to bound what judgments can add to the score, or on its lower side take.

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
        return is_known(metric)
    rises = holds(A, "monotone_in_gain", metric.signed) and metric.norm in ("none", "unlimited")
    if metric.rank_only and (metric.unit_effort or "grade" not in effort_reads(metric.effort)):
        return rises
    satisfied = C.fact("satisfied_by_gain") and C.fact("gains_up_to_1")()
    if not (satisfied and metric.unit_effort and metric.norm == "none"):
        return False
    credited = A.fact("linear_in_gain") or C.fact("ignores_zero_gain")  # err credits 1 − C, which is the gain under rr
    return bool(A.fact("credit_terms") and credited and _weights_fall(A))
