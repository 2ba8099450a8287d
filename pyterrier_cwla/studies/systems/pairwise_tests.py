"""Significance tests of all pairs of runs by one measure, and Sakai's bootstrap test."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...evaluation.significance import randomisation_test, t_test, unit_of, wilcoxon_test, without_noise
from ...tasks.result_cache import Layout, Piece
from ..resampling import times_drawn

Array = np.ndarray

_CELLS = 1 << 20  # resampled numbers per chunk
_FEWER = 1000  # resamples that suffice for a standard error


def pairs_tested(name: str, values: Mapping[str, Array], alpha: float, resamples: int, seed: int) -> Piece:
    """Test all pairs of runs by one measure.

    Parameters
    ----------
    name : str
        Key of the measure in ``values``.
    values : mapping of str to ndarray, shape (runs, queries)
        Scores by each measure.
    alpha : float
        Level of significance.
    resamples, seed : int
        Number of resamples and their seed.

    Returns
    -------
    dict of str to ndarray
        Arrays described by :func:`layout_of_pairs`.
    """
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
    """Return the types and shapes of the arrays of :func:`pairs_tested`."""
    pairs = runs * (runs - 1) // 2
    of_pairs = ("p_t", "p_wilcoxon", "p_randomisation", "p_bootstrap", "needed")
    others: Layout = {"same": ("b", (pairs,)), "resampled": ("f", (min(resamples, _FEWER),))}
    return {**dict.fromkeys(of_pairs, ("f", (pairs,))), **others}


def bootstrap_test(differences: Array, resamples: int, seed: int, alpha: float = 0.05) -> tuple[Array, Array]:
    """Return two-sided p-values of Sakai's paired bootstrap test, and the difference required for significance.

    With q(z) = (Σz)²/(n·Σz²), t² = (n − 1)·q/(1 − q): q increases with t, and is 1 if t is infinite.

    Parameters
    ----------
    differences : ndarray, shape (pairs, queries)
        Differences between scores, in units of about the largest score, as :func:`without_noise` returns them.
    resamples, seed : int
        Number of resamples and their seed.
    alpha : float, default=0.05
        Level of significance.

    Returns
    -------
    p : ndarray, shape (pairs,)
        p-values.
    needed : ndarray, shape (pairs,)
        Mean difference required at level ``alpha``; NaN if all queries have the same difference.

    References
    ----------
    Sakai (2006), Figures 1 and 5.
    """
    n = differences.shape[-1]
    times = times_drawn(n, resamples, seed)
    at = resamples - rank_at(resamples, alpha)
    p, needed = np.empty(len(differences)), np.full(len(differences), np.nan)
    step = max(1, _CELLS // resamples)
    for first in range(0, len(differences), step):
        z = differences[first : first + step]
        w = np.round(z - z.mean(axis=-1, keepdims=True), 13)  # 0 for queries at the mean
        sums = w @ times
        q = _of_t(sums, (w * w) @ times, n)
        least = _of_t(z.sum(axis=-1), (z * z).sum(axis=-1), n) - 1e-12  # counts values that are equal up to rounding
        p[first : first + step] = np.count_nonzero(q >= least[:, None], axis=-1) / resamples
        which = np.argpartition(q, at, axis=-1)[:, at]
        vary = w.any(axis=-1)
        needed[first : first + step][vary] = np.abs(sums[np.arange(len(w)), which] / n)[vary]
    return p, needed


def rank_at(resamples: int, alpha: float) -> int:
    """Return B·α, rounded down."""
    return int(resamples * alpha + 1e-9)


def resampled_power(differences: Array, alpha: float, times: Array) -> Array:
    """Return the share of pairs that are significant by the t-test in each resample of the queries."""
    from scipy.stats import t

    n = differences.shape[-1]
    critical = t.ppf(1 - alpha / 2, n - 1) ** 2
    found = np.zeros(times.shape[1])
    for z in np.array_split(differences, 1 + differences.shape[0] * times.shape[1] // _CELLS):
        q = _of_t(z @ times, (z * z) @ times, n)
        found += np.count_nonzero(q > critical / (n - 1 + critical), axis=0)
    return found / len(differences)


def _of_t(sums: Array, squares: Array, n: int) -> Array:
    """Return q, or 0 if all differences are 0."""
    return np.divide(sums * sums, n * squares, out=np.zeros_like(sums), where=squares > 0)
