"""Changes by swaps from weights of ranks and from sums over items."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...data.rankings import Array
from ...model.aggregations import effort as EFFORT
from ...model.introspection import check_probabilities, reads
from ...model.metric import Metric
from ...model.rank_weights import rank_weights
from ...model.scoring import raw_score
from ...model.view import View
from .paths import ratio
from .ranked import Changes, Ranked

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
    V, dtype = _before_product(C), ranked.dtype

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


def _before_product(C: Array) -> Array:
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
