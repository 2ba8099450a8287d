"""Correlations of bootstrap resamples, in which each rating has a count, and deviations from means of groups."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from ..correlation import rounded, standardised
from ..resampling import times_drawn

Array = np.ndarray

_NOISE = 1e-10  # rounding error of standardised values in a group of equal values
_DIGITS = 1e-13  # rounding error of a constant column, relative to its largest value
_CELLS = 1 << 17  # numbers per chunk: a chunk fits into the processor's cache
_PAIRS = 1 << 20  # pairs of ratings per chunk
_PER_LEVEL = 40  # ratings per level below which comparing all pairs is faster than processing level by level
_WHOLE = 1 << 23  # limit below which sums of whole numbers are exact in single precision


def resample_counts(ratings: int, users: Array | None, resamples: int, seed: int) -> Array:
    """Draw bootstrap resamples; return how often each rating is in each resample, shape (ratings, resamples).

    If users are known, a user is drawn with all of their ratings.

    References
    ----------
    Efron and Tibshirani (1993), chapter 6; Field and Welsh (2007) for the resampling of clusters.

    Examples
    --------
    >>> resample_counts(4, np.array([0, 0, 1, 1]), 3, seed=1).tolist()
    [[1.0, 2.0, 0.0], [1.0, 2.0, 0.0], [1.0, 0.0, 2.0], [1.0, 0.0, 2.0]]
    """
    units = ratings if users is None else int(users.max()) + 1
    drawn = times_drawn(units, resamples, seed)
    return drawn if users is None else drawn[users]


def weighted_pearson(x: Any, y: Any, counts: Array) -> Array:
    """Return Pearson's r of each row of x [measures × ratings] with y in each resample, [measures × resamples].

    r is NaN if x or y is constant. ``counts`` [ratings × resamples] may be fractional.
    """
    x, y = (np.nan_to_num(standardised(rounded(values))) for values in (x, y))  # avoids cancellation in sums of squares
    counts = counts / counts.sum(axis=0)
    mx, my = x @ counts, y @ counts
    covariance = (x * y) @ counts - mx * my
    spread = ((x * x) @ counts - mx**2) * ((y * y) @ counts - my**2)
    return _ratio(covariance, np.sqrt(np.where(spread > 1e-13, spread, 0)))


def weighted_ranks(x: Any, y: Any, counts: Array) -> tuple[Array, Array]:
    """Return Spearman's ρ and Kendall's τ_b of x with y [ratings] in each resample, [resamples].

    ρ is Pearson's r of midranks, and τ_b = (concordant − discordant) / √(pairs not tied in x · pairs not tied in y).
    Copies of one rating are tied. A coefficient is NaN if x or y is constant. ``counts`` [ratings × resamples] may be
    fractional.
    """
    score, rating = (np.unique(rounded(values), return_inverse=True)[1] for values in (x, y))
    if score.max() < rating.max():  # the coefficients are symmetric, and fewer levels are faster
        score, rating = rating, score
    L = int(rating.max()) + 1
    kinds, kind = np.unique(score * L + rating, return_inverse=True)
    score, rating, counts = kinds // L, kinds % L, of_groups(counts, kind)  # equal pairs are merged
    N = counts.sum(axis=0)
    ranks, spreads, untied = [], [], []
    for group in (score, rating):
        n = of_groups(counts, group)
        rank = np.cumsum(n, axis=0) - (n + N) / 2  # midranks minus their mean
        ranks.append(rank[group])
        spreads.append((n * rank**2).sum(axis=0))
        untied.append(np.maximum(N**2 - (n**2).sum(axis=0), 0))
    rho = _ratio((counts * ranks[0] * ranks[1]).sum(axis=0), np.sqrt(spreads[0] * spreads[1]))
    concordant = _by_pairs if len(kinds) < _PER_LEVEL * L else _by_levels
    return rho, _ratio(concordant(score, rating, counts), np.sqrt(untied[0] * untied[1]))


def correlations(names: Iterable[str], x: Any, y: Any, counts: Array) -> dict[str, Array]:
    """Return the named correlations of each row of x [measures × ratings] with y, each [measures × resamples].

    ``names`` are among ``"pearson"``, ``"spearman"`` and ``"tau_b"``.
    """
    names = list(names)
    found = {"pearson": weighted_pearson(x, y, counts)} if "pearson" in names else {}
    if {"spearman", "tau_b"} & {*names}:
        ranks = np.array([weighted_ranks(row, y, counts) for row in np.asarray(x)])
        found |= {"spearman": ranks[:, 0], "tau_b": ranks[:, 1]}
    return {name: found[name] for name in names}


def of_groups(values: Array, group: Array) -> Array:
    """Return the sums of the rows of values [rows × …] in each group; groups are numbered from 0."""
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(group)), (group, np.arange(len(group))))) @ values


def standardised_columns(values: Array) -> Array:
    """Standardise columns of values: subtract the mean, divide by the standard deviation; constant columns become 0."""
    spread, largest = values.std(axis=0), np.abs(values).max(axis=0, initial=0)
    return np.divide(values - values.mean(axis=0), spread, out=np.zeros(values.shape), where=spread > _DIGITS * largest)


def above_group_means(values: Array, group: Any) -> Array:
    """Standardise values [rows × columns] and subtract the mean of their group.

    Values are exactly 0 in groups of equal values.

    Examples
    --------
    >>> above_group_means(np.array([[1.0], [1.0], [2.0], [4.0]]), ["a", "a", "b", "b"]).round(3).ravel().tolist()
    [0.0, 0.0, -0.816, 0.816]
    """
    values = standardised_columns(values)
    above = values - pd.DataFrame(values).groupby(np.asarray(group)).transform("mean").to_numpy()
    return np.where(np.abs(above) > _NOISE, above, 0.0)


def _by_levels(score: Array, rating: Array, counts: Array) -> Array:
    """Return concordant minus discordant pairs in each resample, each pair counted twice; ``score`` is ascending."""
    first, end = (np.searchsorted(score, score, side) for side in ("left", "right"))
    found = np.zeros(counts.shape[1])
    for part in np.array_split(np.arange(len(found)), min(len(found), counts.size // _CELLS + 1)):
        of_part = np.ascontiguousarray(counts[:, part])
        below = np.zeros((len(score) + 1, len(part)))  # among lower scores: number of lower ratings minus higher ones
        for level in range(int(rating.max()) + 1):
            here = rating == level
            np.cumsum(np.sign(level - rating)[:, None] * of_part, axis=0, out=below[1:])
            found[part] += (of_part[here] * (below[first[here]] + below[end[here]] - below[-1])).sum(axis=0)
    return found


def _by_pairs(score: Array, rating: Array, counts: Array) -> Array:
    """Return the same as :func:`_by_levels`, from the signs of all pairs; faster for many levels."""
    whole = (counts == np.round(counts)).all() and counts.sum(axis=0).max() < _WHOLE
    others = counts.astype(np.float32 if whole else float)
    found = np.zeros(counts.shape[1])
    for rows in np.array_split(np.arange(len(score)), min(len(score), len(score) ** 2 // _PAIRS + 1)):
        signs = np.full((len(rows), len(score) - rows[0]), 2, others.dtype)
        for values in (score, rating):
            signs *= np.sign(values[rows, None] - values[rows[0] :])
        signs[:, : len(rows)] /= 2  # pairs within these rows occur twice
        found += (counts[rows] * (signs @ others[rows[0] :])).sum(axis=0)
    return found


def weighted_agreement(x: Any, y: Any, counts: Array) -> Array:
    """Return the share of preferences whose sign is that of the difference of scores, [resamples].

    A difference of 0 counts half. Pairs without a preference (y = 0) do not count. NaN if there are no other pairs.
    """
    preferred = (np.sign(y) != 0).astype(float)
    credit = preferred * (1 + np.sign(rounded(x)) * np.sign(y)) / 2
    return _ratio(credit @ counts, preferred @ counts)


def _ratio(above: Array, below: Array) -> Array:
    return np.divide(above, below, out=np.full(np.broadcast_shapes(above.shape, below.shape), np.nan), where=below > 0)
