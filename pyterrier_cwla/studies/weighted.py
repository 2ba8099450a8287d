"""Correlations of resamples: of the same ratings, each of which counts some number of times."""

from __future__ import annotations

from typing import Any

import numpy as np

from .correlation import rounded

Array = np.ndarray

_CELLS = 1 << 21  # numbers that are worked on at a time


def resample_counts(ratings: int, users: Array | None, resamples: int, seed: int) -> Array:
    """How often each rating is in each resample, [ratings × resamples]; drawn with all ratings of its user, if known.

    Source: Efron and Tibshirani (1993), chapter 6; Field and Welsh (2007), for the resampling of clusters.

    >>> resample_counts(4, np.array([0, 0, 1, 1]), 3, seed=1).tolist()
    [[1.0, 2.0, 0.0], [1.0, 2.0, 0.0], [1.0, 0.0, 2.0], [1.0, 0.0, 2.0]]
    """
    units = ratings if users is None else int(users.max()) + 1
    drawn = np.random.default_rng(seed).multinomial(units, np.full(units, 1 / units), resamples).T
    return (drawn if users is None else drawn[users]).astype(float)


def weighted_pearson(x: Any, y: Any, counts: Array) -> Array:
    """Pearson's r of each row of x [measures × ratings] with y in each resample, [measures × resamples].

    NaN where x or y does not vary. ``counts`` [ratings × resamples] need not be whole.
    """
    x, y = (_standard(values) for values in (x, y))
    counts = counts / counts.sum(axis=0)
    mx, my = x @ counts, y @ counts
    covariance = (x * y) @ counts - mx * my
    spread = ((x * x) @ counts - mx**2) * ((y * y) @ counts - my**2)
    return _ratio(covariance, np.sqrt(np.where(spread > 1e-13, spread, 0)))


def weighted_ranks(x: Any, y: Any, counts: Array) -> tuple[Array, Array]:
    """Spearman's ρ and Kendall's τ_b of x with y [ratings] in each resample, [resamples]; NaN where one does not vary.

    Both are functions of the table T of how often each score goes with each rating: ρ is Pearson's r of midranks, and
    τ_b = (concordant − discordant) / √(pairs not tied in x · pairs not tied in y). Copies of one rating are tied.
    ``counts`` [ratings × resamples] need not be whole.
    """
    from scipy.sparse import csr_array

    score, rating = (np.unique(rounded(values), return_inverse=True)[1] for values in (x, y))
    G, L = int(score.max()) + 1, int(rating.max()) + 1
    cells = csr_array((np.ones(len(score)), (score * L + rating, np.arange(len(score)))), (G * L, len(score)))
    parts = np.array_split(counts, -(-counts.shape[1] * G * L // _CELLS), axis=1)
    found = [_of_table((cells @ np.ascontiguousarray(part)).reshape(G, L, -1)) for part in parts if part.shape[1]]
    rho, tau = (np.concatenate(values) for values in zip(*found, strict=True))
    return rho, tau


def _of_table(T: Array) -> tuple[Array, Array]:
    """ρ and τ_b of tables [scores × ratings × resamples]."""
    of_score, of_rating = T.sum(axis=1), T.sum(axis=0)
    N = of_score.sum(axis=0)
    rx, ry = (np.cumsum(n, axis=0) - (n + N) / 2 for n in (of_score, of_rating))  # midranks, less their mean
    covariance = ((T * ry).sum(axis=1) * rx).sum(axis=0)
    rho = _ratio(covariance, np.sqrt((of_score * rx**2).sum(axis=0) * (of_rating * ry**2).sum(axis=0)))
    concordant = (T * signed_sums(signed_sums(T, 0), 1)).sum(axis=(0, 1))  # each pair twice
    untied = [np.maximum(N**2 - (n**2).sum(axis=0), 0) for n in (of_score, of_rating)]
    return rho, _ratio(concordant, np.sqrt(untied[0] * untied[1]))


def signed_sums(T: Array, axis: int) -> Array:
    """Of each place along an axis what stands before it, less what stands after it."""
    so_far = np.cumsum(T, axis=axis)
    return 2 * so_far - T - np.take(so_far, [-1], axis=axis)


def weighted_agreement(x: Any, y: Any, counts: Array) -> Array:
    """How often differences of scores have the sign of the preference, [resamples]; a difference of 0 counts half.

    Pairs without a preference (y = 0) do not count. NaN where there are no others.
    """
    preferred = (np.sign(y) != 0).astype(float)
    credit = preferred * (1 + np.sign(rounded(x)) * np.sign(y)) / 2
    return _ratio(credit @ counts, preferred @ counts)


def _standard(values: Any) -> Array:
    """Less the mean and over the standard deviation along the last axis: sums of squares lose no digits then."""
    values = rounded(values)
    values = values - values.mean(axis=-1, keepdims=True)
    spread = values.std(axis=-1, keepdims=True)
    return np.divide(values, spread, out=np.zeros_like(values), where=spread > 1e-12)


def _ratio(above: Array, below: Array) -> Array:
    return np.divide(above, below, out=np.full(np.broadcast_shapes(above.shape, below.shape), np.nan), where=below > 0)
