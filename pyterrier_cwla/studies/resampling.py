"""What is drawn again: how often each query is in each resample, and how wide an interval resamples make."""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def times_drawn(queries: int, resamples: int, seed: int) -> Array:
    """How often each query is in each resample of as many queries: [queries × resamples]."""
    drawn = np.random.default_rng(seed).multinomial(queries, np.full(queries, 1 / queries), size=resamples)
    return drawn.T.astype(float)


def half_width(resampled: Array, confidence: float, queries: int) -> float:
    """Half the width of an interval about what was found: the bootstrap's standard error times Student's t.

    For shares of significant pairs and for τ of systems' orders the percentile bootstrap is biased: a resample, in
    which queries repeat, has more chance in it than other queries would have. Its spread is about right.

    Source: Efron and Tibshirani (1993), chapters 6 and 12.
    """
    from scipy.stats import t

    return float(t.ppf((1 + confidence) / 2, queries - 1) * np.std(resampled, ddof=1))


def percentiles(drawn: Array, confidence: float) -> Array:
    """Lower and upper ends of percentile intervals [2 × things] of [things × resamples]; NaN where there are none."""
    share = (1 - confidence) / 2
    found = np.full((2, len(drawn)), np.nan)
    some = ~np.isnan(drawn).all(axis=1)
    if some.any():
        found[:, some] = np.nanquantile(drawn[some], [share, 1 - share], axis=1)
    return found
