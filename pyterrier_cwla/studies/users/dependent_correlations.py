"""Tests of the difference between the correlations of two measures with the same ratings."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import BadParameter, near
from ..coefficient_names import CORRELATIONS
from ..correlation import rounded, standardised
from .resampled_correlations import of_groups

Array = np.ndarray

#: Correlations that differ by less count as equal.
SAME = 1e-10

_CELLS = 1 << 22  # signs of pairs per chunk


def williams_test(r_xy: Any, r_zy: Any, r_xz: Any, n: int) -> tuple[Array, Array]:
    """Compute Williams' t test of the difference between Pearson's r_xy and r_zy.

    t = (r_xy − r_zy)·√((n−1)(1+r_xz) / (2·(n−1)/(n−3)·D + r̄²(1−r_xz)³)), where D = 1 − r_xy² − r_zy² − r_xz² +
    2·r_xy·r_zy·r_xz and r̄ is the mean of r_xy and r_zy. The test assumes independent ratings and normally distributed
    scores. If the correlations are equal, t = 0 and p = 1.

    Parameters
    ----------
    r_xy, r_zy : array_like
        Correlations of the scores of two measures with the ratings.
    r_xz : array_like
        Correlation of the scores of the two measures with each other.
    n : int
        Number of ratings, from 4.

    Returns
    -------
    t : ndarray
        Test statistic.
    p : ndarray
        Two-sided p-value (n − 3 degrees of freedom).

    Raises
    ------
    BadParameter
        If there are fewer than four ratings.

    References
    ----------
    Williams (1959); Steiger (1980). The example is that of R's psych::r.test.

    Examples
    --------
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
    """Return the influence of each rating on the correlation of scores with ratings.

    The influence is the derivative ∂/∂w_i of the coefficient, where w_i is the weight of rating i. The influences sum
    to 0, and the sum of their squares is the variance of the coefficient (infinitesimal jackknife). With standardised z
    and r = mean(z_x·z_y):

    * pearson: (z_x·z_y − r·(z_x² + z_y²)/2)/n. With ``weights``, the influence on the weighted correlation.
    * spearman: the influence on Pearson's r of midranks, plus the effect of the rating on the ranks of the others.
    * tau_b: s_i/√(X·Y) − τ_b·(a_i/X + b_i/Y)/2, where s_i is the number of concordant minus discordant pairs with
      rating i, a_i and b_i are the numbers of pairs with rating i that are not tied in x and in y, and X and Y are the
      total numbers of such pairs.

    Parameters
    ----------
    x : array_like, shape (..., n)
        Scores.
    y : array_like, shape (n,)
        Ratings.
    coefficient : {"pearson", "spearman", "tau_b"}, default="tau_b"
        Correlation coefficient.
    weights : ndarray, shape (n,), optional
        Weights of the ratings; only for "pearson".

    Returns
    -------
    ndarray, shape (..., n)
        NaN in constant rows of x.

    Raises
    ------
    BadParameter
        If there is no such coefficient, or if weights are given for a coefficient other than "pearson".

    References
    ----------
    Efron (1982), chapter 6.

    Examples
    --------
    >>> influence([1, 2, 3], [1, 2, 2], "pearson").round(3).tolist()
    [0.072, -0.072, 0.0]
    """
    x, y = rounded(x), rounded(y)
    if coefficient not in CORRELATIONS:
        raise BadParameter(f"no coefficient {coefficient!r}. {near(str(coefficient), CORRELATIONS)}")
    if weights is not None and coefficient != "pearson":
        raise BadParameter(f"coefficient={coefficient!r} does not take weights: only 'pearson' does.")
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
    """Return the effect of one more item like each: ranks above it rise by 1, those of its ties by ½."""
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
    """Return whether the given rows are above (1), below (−1) or tied with (0) each row."""
    some = values[rows, None]
    return (some > values).astype(np.int8) - (some < values)


def clustered_error(influences: Array, users: Array | None = None) -> Array:
    """Return standard errors computed from the influence of each rating.

    √(G/(G−1)·Σ_g (Σ_{i of g} ψ_i)²) over G users, where ψ_i is the influence of rating i. Without ``users``, each
    rating is a group of its own.

    Parameters
    ----------
    influences : ndarray, shape (..., n)
        Influence of each rating.
    users : ndarray of int, shape (n,), optional
        Number of the user of each rating, from 0.

    Returns
    -------
    ndarray, shape (...)

    Examples
    --------
    >>> clustered_error(np.array([0.1, -0.1, 0.2, -0.2]), np.array([0, 0, 1, 1])).item()
    0.0
    """
    if users is not None:
        influences = of_groups(influences.reshape(-1, len(users)).T, users).T.reshape(*influences.shape[:-1], -1)
    G = influences.shape[-1]
    return np.sqrt(G / (G - 1) * (influences**2).sum(axis=-1)) if G > 1 else np.full(influences.shape[:-1], np.nan)


def difference_test(differences: Any, influences: Array, users: Array | None = None) -> Array:
    """Return two-sided p-values of differences between correlations.

    t = difference / standard error, where the standard error is computed from the influences (infinitesimal jackknife,
    clustered by user). The number of degrees of freedom is the number of users (or ratings) minus 1. With fewer than
    about 20 users p is slightly too small.

    Parameters
    ----------
    differences : array_like, shape (...)
        Differences between two correlations with the same ratings.
    influences : ndarray, shape (..., n)
        Differences between the influences of each rating on the two correlations.
    users : ndarray of int, shape (n,), optional
        Number of the user of each rating, from 0. Without it, ratings count as independent.

    Returns
    -------
    ndarray, shape (...)
        p-values; 1 if the correlations are equal.

    References
    ----------
    Efron (1982), chapter 6; Cameron, Gelbach and Miller (2008) for few users.
    """
    from scipy.stats import t as student

    differences = np.asarray(differences, float)
    units = influences.shape[-1] if users is None else int(users.max()) + 1
    with np.errstate(divide="ignore", invalid="ignore"):
        t = differences / clustered_error(influences, users)
    return np.where(np.abs(differences) < SAME, 1.0, 2 * student.sf(np.abs(t), units - 1))
