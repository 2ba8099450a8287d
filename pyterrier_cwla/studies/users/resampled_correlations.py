"""Correlations of resamples: of the same ratings, each of which counts some number of times."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..correlation import rounded, standardised
from ..resampling import times_drawn

Array = np.ndarray

_CELLS = 1 << 17  # numbers that are worked on at a time: they stay in the processor's cache
_PAIRS = 1 << 20  # pairs of ratings that are looked at at a time
_PER_LEVEL = 40  # ratings, below which looking at all pairs is faster than going level by level
_WHOLE = 1 << 23  # below it, sums of whole numbers are exact in single precision


def resample_counts(ratings: int, users: Array | None, resamples: int, seed: int) -> Array:
    """How often each rating is in each resample, [ratings × resamples]; drawn with all ratings of its user, if known.

    Source: Efron and Tibshirani (1993), chapter 6; Field and Welsh (2007), for the resampling of clusters.

    >>> resample_counts(4, np.array([0, 0, 1, 1]), 3, seed=1).tolist()
    [[1.0, 2.0, 0.0], [1.0, 2.0, 0.0], [1.0, 0.0, 2.0], [1.0, 0.0, 2.0]]
    """
    units = ratings if users is None else int(users.max()) + 1
    drawn = times_drawn(units, resamples, seed)
    return drawn if users is None else drawn[users]


def weighted_pearson(x: Any, y: Any, counts: Array) -> Array:
    """Pearson's r of each row of x [measures × ratings] with y in each resample, [measures × resamples].

    NaN where x or y does not vary. ``counts`` [ratings × resamples] need not be whole.
    """
    x, y = (np.nan_to_num(standardised(rounded(values))) for values in (x, y))  # sums of squares lose no digits then
    counts = counts / counts.sum(axis=0)
    mx, my = x @ counts, y @ counts
    covariance = (x * y) @ counts - mx * my
    spread = ((x * x) @ counts - mx**2) * ((y * y) @ counts - my**2)
    return _ratio(covariance, np.sqrt(np.where(spread > 1e-13, spread, 0)))


def weighted_ranks(x: Any, y: Any, counts: Array) -> tuple[Array, Array]:
    """Spearman's ρ and Kendall's τ_b of x with y [ratings] in each resample, [resamples]; NaN where one does not vary.

    ρ is Pearson's r of midranks, and τ_b = (concordant − discordant) / √(pairs not tied in x · pairs not tied in y).
    Copies of one rating are tied. ``counts`` [ratings × resamples] need not be whole.
    """
    score, rating = (np.unique(rounded(values), return_inverse=True)[1] for values in (x, y))
    if score.max() < rating.max():  # either way round is the same: fewer levels are faster
        score, rating = rating, score
    L = int(rating.max()) + 1
    kinds, kind = np.unique(score * L + rating, return_inverse=True)
    score, rating, counts = kinds // L, kinds % L, of_groups(counts, kind)  # of those that are the same, together
    N = counts.sum(axis=0)
    ranks, spreads, untied = [], [], []
    for group in (score, rating):
        n = of_groups(counts, group)
        rank = np.cumsum(n, axis=0) - (n + N) / 2  # midranks, less their mean
        ranks.append(rank[group])
        spreads.append((n * rank**2).sum(axis=0))
        untied.append(np.maximum(N**2 - (n**2).sum(axis=0), 0))
    rho = _ratio((counts * ranks[0] * ranks[1]).sum(axis=0), np.sqrt(spreads[0] * spreads[1]))
    concordant = _by_pairs if len(kinds) < _PER_LEVEL * L else _by_levels
    return rho, _ratio(concordant(score, rating, counts), np.sqrt(untied[0] * untied[1]))


def correlations(names: Iterable[str], x: Any, y: Any, counts: Array) -> dict[str, Array]:
    """The correlations of these names of each row of x [measures × ratings] with y, each [measures × resamples].

    ``names``: of ``"pearson"``, ``"spearman"`` and ``"tau_b"``.
    """
    names = list(names)
    found = {"pearson": weighted_pearson(x, y, counts)} if "pearson" in names else {}
    if {"spearman", "tau_b"} & {*names}:
        ranks = np.array([weighted_ranks(row, y, counts) for row in np.asarray(x)])
        found |= {"spearman": ranks[:, 0], "tau_b": ranks[:, 1]}
    return {name: found[name] for name in names}


def of_groups(values: Array, group: Array) -> Array:
    """Sums of the rows of values [things × …] in each group; groups are numbered from 0."""
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(group)), (group, np.arange(len(group))))) @ values


def _by_levels(score: Array, rating: Array, counts: Array) -> Array:
    """Concordant less discordant pairs in each resample, each pair twice; ``score`` rises."""
    first, end = (np.searchsorted(score, score, side) for side in ("left", "right"))
    found = np.zeros(counts.shape[1])
    for part in np.array_split(np.arange(len(found)), min(len(found), counts.size // _CELLS + 1)):
        of_part = np.ascontiguousarray(counts[:, part])
        below = np.zeros((len(score) + 1, len(part)))  # of those of lower scores: lower ratings less higher ones
        for level in range(int(rating.max()) + 1):
            here = rating == level
            np.cumsum(np.sign(level - rating)[:, None] * of_part, axis=0, out=below[1:])
            found[part] += (of_part[here] * (below[first[here]] + below[end[here]] - below[-1])).sum(axis=0)
    return found


def _by_pairs(score: Array, rating: Array, counts: Array) -> Array:
    """The same, of many ratings: the signs of all pairs, some rows at a time, with the counts."""
    whole = (counts == np.round(counts)).all() and counts.sum(axis=0).max() < _WHOLE
    others = counts.astype(np.float32 if whole else float)
    found = np.zeros(counts.shape[1])
    for rows in np.array_split(np.arange(len(score)), min(len(score), len(score) ** 2 // _PAIRS + 1)):
        signs = np.full((len(rows), len(score) - rows[0]), 2, others.dtype)
        for values in (score, rating):
            signs *= np.sign(values[rows, None] - values[rows[0] :])
        signs[:, : len(rows)] /= 2  # pairs within these rows come twice
        found += (counts[rows] * (signs @ others[rows[0] :])).sum(axis=0)
    return found


def weighted_agreement(x: Any, y: Any, counts: Array) -> Array:
    """How often differences of scores have the sign of the preference, [resamples]; a difference of 0 counts half.

    Pairs without a preference (y = 0) do not count. NaN where there are no others.
    """
    preferred = (np.sign(y) != 0).astype(float)
    credit = preferred * (1 + np.sign(rounded(x)) * np.sign(y)) / 2
    return _ratio(credit @ counts, preferred @ counts)


def _ratio(above: Array, below: Array) -> Array:
    return np.divide(above, below, out=np.full(np.broadcast_shapes(above.shape, below.shape), np.nan), where=below > 0)
