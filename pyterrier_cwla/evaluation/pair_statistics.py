"""Statistics of pairs of runs: tests, intervals, wins and losses by topic, and Tukey's HSD over all pairs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .significance import Array, intervals, unit_of, without_noise

_CELLS = 1 << 22  # numbers per batch of permutations


def pair_intervals(
    scores: Array,
    first: Array,
    second: Array,
    aggregate: Callable[[Array], Array],
    confidence: float,
    resamples: int,
    seed: int,
) -> tuple[Array, Array]:
    """Return the ends of bootstrap intervals for differences of aggregates; settings as in :func:`intervals`."""

    def statistic(means: Array) -> Array:
        of_runs = aggregate(means)
        return of_runs[first] - of_runs[second]

    return intervals(scores, statistic, confidence, resamples, seed)


def wins_ties_losses(scores: Array, first: Array, second: Array, least: float, lower_is_better: bool) -> Array:
    """Return the numbers of queries that the first run of each pair wins, ties and loses, of shape [3 × pairs].

    Differences of at most `least` are ties, and so are those that are only rounding errors.
    """
    largest = float(np.abs(scores).max())
    differences = without_noise(scores[first] - scores[second], largest)
    least = float(np.round(least / unit_of(largest), 13)) if largest > 0 else 0.0
    higher, lower = (differences > least).sum(axis=1), (differences < -least).sum(axis=1)
    wins, losses = (lower, higher) if lower_is_better else (higher, lower)
    return np.array([wins, scores.shape[1] - wins - losses, losses])


def tukey_hsd(scores: Array, first: Array, second: Array, confidence: float) -> tuple[Array, Array]:
    """Return p-values of Tukey's HSD test for pairs of runs, and half the width of its simultaneous intervals.

    Queries are blocks: score = run + query + error. With m runs, n queries and the mean square of the errors MSE, which
    has (m − 1)(n − 1) degrees of freedom, p is the probability that the studentised range of m means is at least
    |difference of means| / √(MSE/n). The p-values are already corrected for all pairs of runs.

    Parameters
    ----------
    scores : ndarray, shape (n_runs, n_queries)
        Scores of queries.
    first, second : ndarray of int, shape (n_pairs,)
        Runs of each pair.
    confidence : float
        Confidence level of the intervals, which hold for all pairs together.

    Returns
    -------
    p : ndarray, shape (n_pairs,)
    half_width : float

    References
    ----------
    Tukey (1953); Carterette (2012), section 3.1.
    """
    from scipy.stats import studentized_range

    m, n = scores.shape
    means = scores.mean(axis=1)
    errors = scores - means[:, None] - scores.mean(axis=0) + scores.mean()
    freedom = (m - 1) * (n - 1)
    noise = (unit_of(float(np.abs(scores).max())) * 1e-13) ** 2
    error = float(np.sqrt(max((errors**2).sum() / freedom - noise, 0.0) / n))
    apart = np.abs(without_noise(means[first] - means[second], float(np.abs(scores).max()))) > 0
    if error == 0:
        return np.where(apart, 0.0, 1.0), np.zeros(())
    q = np.abs(means[first] - means[second]) / error
    p = np.where(apart, studentized_range.sf(q, m, freedom), 1.0)
    return np.clip(p, 0.0, 1.0), np.asarray(studentized_range.ppf(confidence, m, freedom) * error)


def randomised_hsd(scores: Array, first: Array, second: Array, resamples: int, seed: int) -> Array:
    """Return p-values of the randomised version of Tukey's HSD test for pairs of runs.

    For each query, the scores of the runs are permuted. p = (k + 1)/(B + 1), where k of B permutations have a range of
    means, highest minus lowest, of at least |difference of means|. The p-values are already corrected for all pairs.

    References
    ----------
    Carterette (2012), section 3.2.
    """
    scaled = without_noise(scores, float(np.abs(scores).max()))
    means = scaled.mean(axis=1)
    rng, ranges = np.random.default_rng(seed), []
    step = max(1, _CELLS // scores.size)
    for start in range(0, resamples, step):
        several = np.repeat(scaled.T[None], min(step, resamples - start), axis=0)
        ranges.append(np.ptp(rng.permuted(several, axis=2).mean(axis=1), axis=1))
    ordered = np.sort(np.concatenate(ranges))
    observed = np.abs(means[first] - means[second])
    reached = resamples - np.searchsorted(ordered, observed - 1e-12, side="left")
    return np.asarray((reached + 1) / (resamples + 1), float)
