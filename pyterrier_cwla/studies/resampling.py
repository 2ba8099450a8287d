"""What is drawn again: how often each query is in each resample, and what intervals resamples make."""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def times_drawn(queries: int, resamples: int, seed: int) -> Array:
    """How often each query (user, rating) is in each resample of as many: [queries × resamples]."""
    drawn = np.random.default_rng(seed).multinomial(queries, np.full(queries, 1 / queries), size=resamples)
    return drawn.T.astype(float)


def half_width(resampled: Array, confidence: float, units: int) -> Array:
    """Half the width of intervals about what was found: the bootstrap's standard error times Student's t.

    ``resampled`` [… × resamples] of so many ``units``, queries, users or ratings. For shares of significant pairs and
    for τ of systems' orders the percentile bootstrap is biased: a resample, in which queries repeat, has more chance in
    it than other queries would have. And it is too short where units are few: of correlations with the ratings of 3, 5,
    8 or 20 users, intervals of 95 % held the truth in 71 to 79, 88 to 91, 90 to 92 and 91 to 93 % of simulations, and
    these in 92 to 97 %.

    Source: Efron and Tibshirani (1993), chapters 6 and 12.
    """
    from scipy.stats import t

    some = np.isfinite(resampled)
    n = np.where(some.sum(axis=-1) > 1, some.sum(axis=-1), np.nan)
    drawn = np.where(some, resampled, 0.0)
    above = np.where(some, drawn - (drawn.sum(axis=-1) / n)[..., None], 0.0)
    return t.ppf((1 + confidence) / 2, max(units - 1, 1)) * np.sqrt((above**2).sum(axis=-1) / (n - 1))


def around(
    value: Array, resampled: Array, confidence: float, units: int, lowest: float = -1.0, highest: float = 1.0
) -> Array:
    """Lower and upper ends [2 × things] of intervals about ``value`` [things], cut off where there can be no value."""
    half = half_width(resampled, confidence, units)
    return np.clip([value - half, value + half], lowest, highest)


def percentiles(drawn: Array, confidence: float) -> Array:
    """Lower and upper ends of percentile intervals [2 × things] of [things × resamples]; NaN where there are none."""
    share = (1 - confidence) / 2
    found = np.full((2, len(drawn)), np.nan)
    some = ~np.isnan(drawn).all(axis=1)
    if some.any():
        found[:, some] = np.nanquantile(drawn[some], [share, 1 - share], axis=1)
    return found
