"""Changes of a score when two items of a ranking are swapped (LambdaMART's ΔM): choice of the fastest way, and sums."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..data.columns import Array
from ..model.aggregations import effort as EFFORT
from ..model.introspection import check_probabilities, reads
from ..model.metric import Metric
from ..model.scoring import rank_weights, ranks_have_weights, raw_score
from ..model.view import View
from .swap_paths import Changes, Ranked, before_product, by_pairs, by_paths, by_scoring_anew, explicit, ratio

# Weights of ranks: M·N = Σ weight(i)·r_i.


def by_rank_weights(metric: Metric, ranked: Ranked, depth: int) -> Changes:
    """Yield the changes (weight_a − weight_b)·(r_b − r_a) for C that depends on the rank alone and linear A."""
    width = ranked.r.shape[1]
    shown = min(width, metric.last_that_counts or width)
    weights = np.zeros(ranked.r.shape if metric.end == "stop" else (1, width))
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


# Sums over items: M·N = Σ V(i)·φ(i)·w_i, or a ratio of two such sums.


def by_sums(metric: Metric, ranked: Ranked, depth: int) -> Changes:
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
        One of :func:`by_rank_weights`, :func:`by_sums`, :func:`by_paths`, :func:`by_pairs` and
        :func:`by_scoring_anew`. The last one works for all metrics.
    """
    if ranks_have_weights(metric):
        return by_rank_weights
    if _is_made_of_sums(metric, longest):
        return by_sums
    if _forgets_the_order(metric):
        last = metric.last_that_counts
        all_count = last is None or longest <= last or explicit(metric, last) <= last
        return by_paths if metric.flat_effort is not None and all_count else by_pairs
    return by_scoring_anew


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
_SET = {"i", "r", "grade", "e", "at_least", "G", "G_before", "E", "E_before", "best", "total", "expected_effort"}
_SET |= {"totals", "spend", "background"}  # the inputs of these


def _forgets_the_order(metric: Metric) -> bool:
    """Return whether C and A depend on the set of items so far, but not on their order."""
    C, A = metric.C, metric.A
    survival, terms = C.fact("gives_survival"), A.fact("credit_terms") is not None
    if not reads(C) <= _SET:
        return False
    if survival:
        return bool(A.fact("linear_in_gain")) and terms and _everybody_leaves(metric)
    return reads(A) <= _SET and (terms or "expected_effort" not in reads(A))


def _everybody_leaves(metric: Metric) -> bool:
    """Return whether all users leave at some rank, so that Σ L(i)·G(i) = Σ V(i)·r_i."""
    C = metric.C
    if metric.end != "open" or metric.last_rank or C.fact("vanishes") or C.fact("eventually_leaves"):
        return True
    return bool(C.fact("constant_beyond_list")) and _goes_on_beyond(metric) < 1


def _goes_on_beyond(metric: Metric) -> float:
    """Return C at items without gain, if it is the same at all of them."""
    nothing = np.zeros((1, 1))
    seen = View(nothing + 1, nothing, nothing, lambda _: nothing, nothing + 1, metric.unseen_effort or 1.0)
    return float(np.max(metric.C(seen.beyond([[1.0]]))))
