"""Do two measures agree with the same ratings equally well? Tests of the difference of two dependent correlations."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import BadParameter, near
from ..coefficient_names import CORRELATIONS
from ..correlation import rounded, standardised
from .resampled_correlations import of_groups

Array = np.ndarray

#: Correlations that differ by less are the same.
SAME = 1e-10

_CELLS = 1 << 22  # signs of pairs that are looked at at a time


def williams_test(r_xy: Any, r_zy: Any, r_xz: Any, n: int) -> tuple[Array, Array]:
    """Williams' t for the difference of Pearson's r_xy and r_zy, and its two-sided p-value (n − 3 degrees of freedom).

    t = (r_xy − r_zy)·√((n−1)(1+r_xz) / (2·(n−1)/(n−3)·D + r̄²(1−r_xz)³)), D = 1 − r_xy² − r_zy² − r_xz² +
    2·r_xy·r_zy·r_xz, r̄ the mean of r_xy and r_zy. It holds for independent ratings and normal scores. t = 0 and p = 1
    where the correlations are the same.

    Source: Williams (1959); Steiger (1980). The example is that of R's psych::r.test.

    >>> t, p = williams_test(0.4, 0.5, 0.1, n=103)
    >>> round(float(t), 2), round(float(p), 2)
    (-0.89, 0.37)
    """
    from scipy.stats import t as student

    if n < 4:
        raise BadParameter(f"Williams' test needs at least four ratings, not {n}.")
    r_xy, r_zy, r_xz = (np.asarray(r, float) for r in (r_xy, r_zy, r_xz))
    D = 1 - r_xy**2 - r_zy**2 - r_xz**2 + 2 * r_xy * r_zy * r_xz
    below = 2 * (n - 1) / (n - 3) * np.maximum(D, 0) + ((r_xy + r_zy) / 2) ** 2 * np.maximum(1 - r_xz, 0) ** 3
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (r_xy - r_zy) * np.sqrt((n - 1) * (1 + r_xz) / below)
    t = np.where(np.abs(r_xy - r_zy) < SAME, 0.0, t)
    return t, 2 * student.sf(np.abs(t), n - 3)


def influence(x: Any, y: Any, coefficient: str = "tau_b", weights: Array | None = None) -> Array:
    """How much each rating moves the correlation of scores [… × ratings] with ratings: ∂/∂w_i, w_i how often it counts.

    The derivatives sum to 0, and the sum of their squares is the variance of the coefficient (the infinitesimal
    jackknife). With z standardised, r = mean(z_x·z_y):

    * pearson: (z_x·z_y − r·(z_x² + z_y²)/2)/n; with ``weights`` that of the weighted correlation;
    * spearman: that of midranks, and what the rating moves the ranks of the others;
    * tau_b: s_i/√(X·Y) − τ_b·(a_i/X + b_i/Y)/2: s_i are the concordant less the discordant pairs with this rating,
      a_i and b_i those not tied in x and y, X and Y how many there are of them in all.

    Rows of x that are constant have NaN. Source: Efron (1982), chapter 6.

    >>> influence([1, 2, 3], [1, 2, 2], "pearson").round(3).tolist()
    [0.072, -0.072, 0.0]
    """
    x, y = rounded(x), rounded(y)
    if coefficient not in CORRELATIONS:
        raise BadParameter(f"no coefficient {coefficient!r}. {near(str(coefficient), CORRELATIONS)}")
    if weights is not None and coefficient != "pearson":
        raise BadParameter(f"coefficient={coefficient!r} has no weights here: 'pearson' has.")
    if coefficient == "pearson":
        return _of_values(x, y, weights)
    rows = x.reshape(-1, x.shape[-1])
    if coefficient == "tau_b":
        return _of_signs(rows, y).reshape(x.shape)
    return np.array([_of_ranks(row, y) for row in rows]).reshape(x.shape)


def _of_values(x: Array, y: Array, weights: Array | None) -> Array:
    w = np.ones(len(y)) if weights is None else np.asarray(weights, float)
    w = w / w.sum()
    zx, zy = (standardised(values, w) for values in (x, y))
    r = (w * zx * zy).sum(axis=-1, keepdims=True)
    return w * (zx * zy - r * (zx**2 + zy**2) / 2)


def _of_ranks(x: Array, y: Array) -> Array:
    from scipy.stats import rankdata

    n = len(y)
    ranks = [rankdata(values) for values in (x, y)]
    zx, zy = (standardised(rank) for rank in ranks)
    rho = (zx * zy).mean()
    moved = [
        _ranks_above(rank, (other - rho * own) / (n * rank.std()))
        for rank, own, other in ((ranks[0], zx, zy), (ranks[1], zy, zx))
        if rank.std() > 0
    ]
    return _of_values(ranks[0], ranks[1], None) + sum(moved)


def _ranks_above(rank: Array, gradient: Array) -> Array:
    """One more item like this lifts the ranks of all above it by 1, and those of its ties by ½: what comes of it."""
    _, group = np.unique(rank, return_inverse=True)
    of_group = np.bincount(group, gradient)
    return (of_group.sum() - np.cumsum(of_group) + of_group / 2)[group]


def _of_signs(x: Array, y: Array) -> Array:
    n = len(y)
    x = np.array([np.unique(row, return_inverse=True)[1] for row in x], np.int32)
    y = np.unique(y, return_inverse=True)[1].astype(np.int32)
    s = np.empty(x.shape)
    for rows in np.array_split(np.arange(n), n * n // _CELLS + 1):
        of_y = _signs(y, rows)
        for number, row in enumerate(x):
            s[number, rows] = (_signs(row, rows) * of_y).sum(axis=1, dtype=np.int64)
    a = np.array([n - np.bincount(row)[row] for row in x], float)
    b = n - np.bincount(y)[y].astype(float)
    X, Y = a.sum(axis=-1, keepdims=True) / 2, b.sum() / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(X * Y)
        tau = s.sum(axis=-1, keepdims=True) / 2 / root
        return s / root - tau * (a / X + b / Y) / 2


def _signs(values: Array, rows: Array) -> Array:
    """Which of these rows are above (1), below (−1) or tied with all others."""
    some = values[rows, None]
    return (some > values).astype(np.int8) - (some < values)


def clustered_error(influences: Array, users: Array | None = None) -> Array:
    """Standard errors from what each rating [… × ratings] moves; ratings of one user move together where users are
    known.

    √(G/(G−1)·Σ_g (Σ_{i of g} ψ_i)²) over G users, or over all ratings as independent ones.

    >>> clustered_error(np.array([0.1, -0.1, 0.2, -0.2]), np.array([0, 0, 1, 1])).item()
    0.0
    """
    if users is not None:
        influences = of_groups(influences.reshape(-1, len(users)).T, users).T.reshape(*influences.shape[:-1], -1)
    G = influences.shape[-1]
    return np.sqrt(G / (G - 1) * (influences**2).sum(axis=-1)) if G > 1 else np.full(influences.shape[:-1], np.nan)


def difference_test(differences: Any, influences: Array, users: Array | None = None) -> Array:
    """Two-sided p-values of differences of correlations, given the differences of their :func:`influence`.

    t = difference / :func:`clustered_error`, with as many degrees of freedom as there are users (or ratings), less 1.
    p = 1 where the correlations are the same. With few users (below about 20) p is somewhat too small.

    Source: Efron (1982), chapter 6; Cameron, Gelbach and Miller (2008), for the few.
    """
    from scipy.stats import t as student

    differences = np.asarray(differences, float)
    units = influences.shape[-1] if users is None else int(users.max()) + 1
    with np.errstate(divide="ignore", invalid="ignore"):
        t = differences / clustered_error(influences, users)
    return np.where(np.abs(differences) < SAME, 1.0, 2 * student.sf(np.abs(t), units - 1))
