"""All pairs of runs tested by one measure, and Sakai's bootstrap test."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...evaluation.significance import randomisation_test, t_test, unit_of, wilcoxon_test, without_noise
from ...tasks.result_cache import Layout, Piece
from ..resampling import times_drawn

Array = np.ndarray

_CELLS = 1 << 20  # numbers that are resampled at a time
_FEWER = 1000  # resamples that are enough for a standard error


def pairs_tested(name: str, values: Mapping[str, Array], alpha: float, resamples: int, seed: int) -> Piece:
    """All pairs of runs by one measure, of scores [runs × queries]."""
    scores = values[name]
    first, second = np.triu_indices(len(scores), 1)
    largest = float(np.abs(scores).max())
    differences = without_noise(scores[first] - scores[second], largest)
    p, needed = bootstrap_test(differences, resamples, seed, alpha)
    return {
        "p_t": t_test(differences),
        "p_wilcoxon": wilcoxon_test(differences),
        "p_randomisation": randomisation_test(differences, resamples, seed),
        "p_bootstrap": p,
        "needed": needed * unit_of(largest),
        "same": np.asarray(~differences.any(axis=-1)),
        "resampled": resampled_power(differences, alpha, times_drawn(scores.shape[-1], min(resamples, _FEWER), seed)),
    }


def layout_of_pairs(runs: int, resamples: int) -> Layout:
    """The arrays that :func:`pairs_tested` gives."""
    pairs = runs * (runs - 1) // 2
    of_pairs = ("p_t", "p_wilcoxon", "p_randomisation", "p_bootstrap", "needed")
    others: Layout = {"same": ("b", (pairs,)), "resampled": ("f", (min(resamples, _FEWER),))}
    return {**dict.fromkeys(of_pairs, ("f", (pairs,))), **others}


def bootstrap_test(differences: Array, resamples: int, seed: int, alpha: float = 0.05) -> tuple[Array, Array]:
    """Two-sided p-values of Sakai's paired bootstrap test, and the difference that it needs at level ``alpha``.

    ``differences`` [pairs × queries], in units of about the largest score, as :func:`without_noise` makes them. The
    differences needed are NaN where all queries differ by the same.

    With q(z) = (Σz)²/(n·Σz²), t² = (n − 1)·q/(1 − q): q rises with t, and is 1 where t is infinite.

    Source: Sakai (2006), Figures 1 and 5.
    """
    n = differences.shape[-1]
    times = times_drawn(n, resamples, seed)
    at = resamples - rank_at(resamples, alpha)
    p, needed = np.empty(len(differences)), np.full(len(differences), np.nan)
    step = max(1, _CELLS // resamples)
    for first in range(0, len(differences), step):
        z = differences[first : first + step]
        w = np.round(z - z.mean(axis=-1, keepdims=True), 13)  # 0 where a query is as the mean
        sums = w @ times
        q = _of_t(sums, (w * w) @ times, n)
        least = _of_t(z.sum(axis=-1), (z * z).sum(axis=-1), n) - 1e-12  # what is equal but for rounding counts
        p[first : first + step] = np.count_nonzero(q >= least[:, None], axis=-1) / resamples
        which = np.argpartition(q, at, axis=-1)[:, at]
        vary = w.any(axis=-1)
        needed[first : first + step][vary] = np.abs(sums[np.arange(len(w)), which] / n)[vary]
    return p, needed


def rank_at(resamples: int, alpha: float) -> int:
    """B·α, rounded down."""
    return int(resamples * alpha + 1e-9)


def resampled_power(differences: Array, alpha: float, times: Array) -> Array:
    """The t-test's share of significant pairs in each resample of the queries."""
    from scipy.stats import t

    n = differences.shape[-1]
    critical = t.ppf(1 - alpha / 2, n - 1) ** 2
    found = np.zeros(times.shape[1])
    for z in np.array_split(differences, 1 + differences.shape[0] * times.shape[1] // _CELLS):
        q = _of_t(z @ times, (z * z) @ times, n)
        found += np.count_nonzero(q > critical / (n - 1 + critical), axis=0)
    return found / len(differences)


def _of_t(sums: Array, squares: Array, n: int) -> Array:
    """q, 0 where all is 0."""
    return np.divide(sums * sums, n * squares, out=np.zeros_like(sums), where=squares > 0)
