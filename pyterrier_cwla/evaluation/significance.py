"""Bootstrap intervals, significance tests of runs and pairs, effect sizes, and corrections for multiple comparisons.

The functions take and return arrays. Queries are on the last axis, in the same order in all arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..errors import check_known

Array = np.ndarray

#: Descriptions of corrections for multiple comparisons, by their names in statsmodels.
CORRECTIONS = {
    "bonferroni": "Bonferroni",
    "sidak": "Šidák",
    "holm": "Holm",
    "holm-sidak": "Holm-Šidák",
    "simes-hochberg": "Hochberg",
    "hommel": "Hommel",
    "fdr_bh": "Benjamini-Hochberg, false discovery rate",
    "fdr_by": "Benjamini-Yekutieli, false discovery rate",
}

_CELLS = 1 << 22  # numbers per batch of resamples
_FEW = 13  # largest number of queries for which all 2^n signs are enumerated if ranks are tied, as in scipy
_NOISE = 2e-13  # tolerance per difference; without_noise rounds to 13 digits, so equal sums of n differ by n·_NOISE
_TABLED = 50  # largest number of queries for which scipy uses the exact distribution if no ranks are tied


def without_noise(differences: Any, scores: Any) -> Array:
    """Return differences in units of about the largest score, rounded so that equal ones are equal and 0 is 0."""
    return np.round(differences / unit_of(scores), 13)


def rounded(differences: Any, scores: Any) -> Any:
    """Return differences in the unit of the scores, rounded as by :func:`without_noise`."""
    return without_noise(differences, scores) * unit_of(scores)


def unit_of(scores: Any) -> float:
    """Return the power of 2 above all scores, or above one number; division by it is exact."""
    return float(np.ldexp(1.0, int(np.frexp(np.abs(np.asarray(scores)).max(initial=0))[1])))


def intervals(
    scores: Array, statistic: Callable[[Array], Array], confidence: float, resamples: int, seed: int
) -> tuple[Array, Array]:
    """Return lower and upper ends of percentile bootstrap intervals over queries.

    The same queries are resampled for all runs, so that differences between runs are paired. The intervals are slightly
    too short for few queries: 95 % intervals of 30 queries cover 90 to 94 % in simulations.

    Parameters
    ----------
    scores : ndarray of shape (n_runs, n_queries)
        Scores of queries.
    statistic : callable
        Function from means of shape (n_runs, n_resamples) to statistics of shape (n_statistics, n_resamples).
    confidence : float
        Confidence level.
    resamples : int
        Number of resamples.
    seed : int
        Seed of the random numbers.

    Returns
    -------
    low, high : ndarray of shape (n_statistics,)
        Ends of the intervals.

    References
    ----------
    Efron and Tibshirani (1993), chapter 13.
    """
    from scipy.stats import bootstrap

    n = scores.shape[-1]
    grain = unit_of(scores) * 2.0**-40
    scores = np.round(scores / grain) * grain  # exact sums: runs with equal scores have equal means

    def of_resamples(drawn: Array, axis: int) -> Array:
        many = len(drawn)
        times = np.bincount((drawn + n * np.arange(many)[:, None]).ravel(), minlength=many * n).reshape(many, n)
        return statistic(scores @ times.T.astype(float) / n)

    found = bootstrap(
        (np.arange(n),),
        of_resamples,
        n_resamples=resamples,
        batch=max(1, _CELLS // n),
        vectorized=True,
        confidence_level=confidence,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return found.low, found.high


def t_test(differences: Array) -> Array:
    """Return two-sided p-values of the paired t-test (scipy's ``ttest_rel``).

    If all differences are 0, p = 1. If all are equal and not 0, t is infinite and p = 0.
    """
    from scipy.stats import ttest_1samp

    p = np.where(differences.any(axis=-1), 0.0, 1.0)
    vary = np.ptp(differences, axis=-1) > 0
    if vary.any():
        p[vary] = ttest_1samp(differences[vary], 0.0, axis=-1).pvalue
    return p


def wilcoxon_test(differences: Array) -> Array:
    """Return two-sided p-values of Wilcoxon's signed-rank test.

    Differences of 0 are left out (scipy's ``zero_method="wilcox"``). The test is exact for up to 50 other queries if
    no two differences tie, and for up to 13 if some tie; otherwise it is scipy's normal approximation, corrected for
    ties. These are the values of scipy's ``wilcoxon(method="auto")`` for the differences that are not 0. For more than
    13 differences, scipy itself uses the approximation if some are 0, even if the others do not tie. p = 1 if all
    differences are 0.

    References
    ----------
    Wilcoxon (1945).
    """
    p = np.ones(len(differences))
    changed = np.count_nonzero(differences, axis=-1)
    for count in np.unique(changed[changed > 1]).tolist():  # a single difference has p = 1
        rows = np.flatnonzero(changed == count)
        step = max(1, _CELLS // (8 * count))  # scipy allocates several arrays of this size
        for some_rows in np.split(rows, range(step, len(rows), step)):
            some = differences[some_rows]
            p[some_rows] = _signed_ranks(some[some != 0].reshape(-1, count))
    return p


def opposed(differences: Array) -> Array:
    """Return 1.0 if the mean does not have the sign of the sum of Wilcoxon's signed ranks, else 0.0.

    The sum is positive if the differences above 0 have the higher sum of ranks. Means may be 0 or have another sign.
    """
    from scipy.stats import rankdata

    ranks = rankdata(np.abs(differences), axis=-1) - np.count_nonzero(differences == 0, axis=-1)[:, None]
    means = differences.mean(axis=-1)
    means[np.abs(means) <= _NOISE] = 0.0
    return (np.sign((np.sign(differences) * ranks).sum(axis=-1)) != np.sign(means)).astype(float)


def _signed_ranks(differences: Array) -> Array:
    """Return Wilcoxon's p-values of differences that are not 0.

    scipy chooses between the exact and the approximate test once per array, so rows with ties are separate calls.
    """
    from scipy.stats import rankdata, wilcoxon

    count = differences.shape[-1]
    p = np.empty(len(differences))
    tied = (np.diff(np.sort(np.abs(differences), axis=-1), axis=-1) == 0).any(axis=-1)
    if not tied.all():
        p[~tied] = wilcoxon(differences[~tied], axis=-1, method="exact" if count <= _TABLED else "asymptotic").pvalue
    if tied.any():
        some = differences[tied]
        if count <= _FEW:
            ranks = np.sign(some) * rankdata(np.abs(some), axis=-1)
            # p depends only on the sorted ranks and their signed sum, so each distinct case is computed once.
            cases = np.column_stack([np.sort(np.abs(ranks), axis=-1), np.abs(ranks.sum(axis=-1))])
            _, first, case = np.unique(cases, axis=0, return_index=True, return_inverse=True)
            p[tied] = randomisation_test(ranks[first], 2**count, seed=0)[case]
        else:
            p[tied] = wilcoxon(some, axis=-1, method="asymptotic").pvalue
    return p


def randomisation_test(differences: Array, resamples: int, seed: int) -> Array:
    """Return two-sided p-values of the paired randomisation test.

    p is the share of sign vectors for which the absolute mean of the signed differences is at least as large as
    observed. All 2^n sign vectors are enumerated if these are not more than `resamples`. Otherwise `resamples` random
    sign vectors are drawn, the same for all comparisons, and p = (count + 1)/(resamples + 1), where the added 1 is the
    observed sign vector. See :func:`lowest_p_of_randomisation` for the smallest p.

    Parameters
    ----------
    differences : ndarray of shape (n_comparisons, n_queries)
        Differences as :func:`without_noise` returns them. Means count as equal if they differ only by rounding.
    resamples : int
        Number of random sign vectors.
    seed : int
        Seed of the random numbers.

    Returns
    -------
    ndarray of shape (n_comparisons,)
        p-values.

    References
    ----------
    Fisher (1935); Smucker et al. (2007); Phipson and Smyth (2010) for the added 1.
    """
    from scipy.stats import permutation_test

    n = differences.shape[-1]
    step = max(1, _CELLS // min(resamples, 2**n))  # comparisons per batch: each has one number per resample
    p = [
        permutation_test(
            (np.ones(n),),
            partial(_as_large, some, np.abs(some.sum(axis=-1)) - n * _NOISE),
            permutation_type="samples",
            vectorized=True,
            n_resamples=resamples,
            batch=max(1, _CELLS // n),
            alternative="greater",  # the observed signs have the largest value, 1
            rng=np.random.default_rng(seed),  # the same signs for every batch
        ).pvalue
        for some in np.split(differences, range(step, len(differences), step))
    ]
    return np.concatenate(p)


def _as_large(differences: Array, least: Array, signs: Array, axis: int) -> Array:
    """Return 1.0 if the absolute sum of the signed differences is at least `least`, else 0.0."""
    return (np.abs(signs @ differences.T) >= least).astype(float)


def lowest_p_of_randomisation(queries: int, resamples: int) -> tuple[str, float]:
    """Return the kind of sign vectors that :func:`randomisation_test` uses, and its smallest possible p.

    The kind is ``"all signs"`` or ``"random signs"``.

    Examples
    --------
    >>> lowest_p_of_randomisation(10, 10_000)
    ('all signs', 0.001953125)
    >>> lowest_p_of_randomisation(50, 999)
    ('random signs', 0.001)
    """
    if 2**queries <= resamples:
        return "all signs", min(1.0, 2 / 2**queries)  # the observed signs and their opposite
    return "random signs", 1 / (resamples + 1)


def effect_sizes(differences: Array) -> Array:
    """Return Cohen's d_z, the mean of the differences divided by their standard deviation (n − 1).

    Hence t = d_z·√n. The effect is 0 if all differences are 0, and ±∞ if all are equal and not 0. There is no
    correction for small samples: Hedges' factor, 1 − 3/(4n − 5), is 0.97 for 30 queries and 0.98 for 50.

    References
    ----------
    Cohen (1988), section 2.3.5.
    """
    spread = np.where(np.ptp(differences, axis=-1) > 0, differences.std(axis=-1, ddof=1), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(differences.any(axis=-1), differences.mean(axis=-1) / spread, 0.0)


def paired_tests(differences: Array, correction: str | None, resamples: int, seed: int) -> dict[str, Array]:
    """Return effect sizes, p-values of all paired tests, and the p-values corrected as one family.

    Parameters
    ----------
    differences : ndarray of shape (n_comparisons, n_queries)
        Differences as :func:`without_noise` returns them.
    correction : str or None
        Name of the correction; without one, corrected p-values are those of the tests.
    resamples, seed : int
        Settings of the tests.

    Returns
    -------
    dict of ndarray of shape (n_comparisons,)
        ``effect``, ``p_t``, ``p_wilcoxon``, ``p_randomisation``, ``p_t_corrected`` and so on.
    """
    p = {test.column: test.p_values(differences, resamples, seed) for test in PAIRED_TESTS.values()}
    together = {name: values if correction is None else corrected(values, correction) for name, values in p.items()}
    return {"effect": effect_sizes(differences), **p, **{f"{name}_corrected": of for name, of in together.items()}}


def check_correction(correction: str | None) -> None:
    """Raise BadParameter if there is no such correction."""
    if correction is not None:
        check_known("correction", CORRECTIONS, correction=correction)


def corrected(p: Array, correction: str) -> Array:
    """Return p-values corrected as one family; the array may have any shape.

    The values are those of statsmodels' ``multipletests``. With NaN among the p-values, methods that begin with the
    largest p-value (Hochberg's, Hommel's and the false discovery rates) return only NaN; the others return NaN for it.

    References
    ----------
    Holm (1979); Hochberg (1988); Hommel (1988); Benjamini and Hochberg (1995); Benjamini and Yekutieli (2001).
    """
    from scipy.stats import false_discovery_control

    order = np.argsort(p, axis=None)
    rising, n = p.ravel()[order], p.size
    # Hypotheses that are not rejected before this one; all of them if the correction has no steps.
    left = np.full(n, n) if correction in ("bonferroni", "sidak") else np.arange(n, 0, -1)
    with np.errstate(divide="ignore"):  # Šidák's log(1 − p) where p = 1
        found = -np.expm1(left * np.log1p(-rising)) if "sidak" in correction else left * rising
    match correction:
        case "bonferroni" | "sidak" | "holm" | "holm-sidak":
            found = np.maximum.accumulate(found)
        case "simes-hochberg":
            found = np.minimum.accumulate(found[::-1])[::-1]
        case "hommel":
            found = rising.copy()
            for m in range(n, 1, -1):
                least = np.min(m * rising[-m:] / np.arange(1, m + 1))
                found[-m:] = np.maximum(found[-m:], least)
                found[:-m] = np.maximum(found[:-m], np.minimum(m * rising[:-m], least))
        case _ if np.isnan(rising).any():  # scipy refuses NaN
            found = np.full(n, np.nan)
        case _:
            found = false_discovery_control(rising, method=correction.removeprefix("fdr_"))
    in_order = np.empty(n)
    in_order[order] = np.minimum(found, 1.0)
    return in_order.reshape(p.shape)


def wins_ties_losses(scores: Array, first: Array, second: Array, least: float, lower_is_better: bool) -> Array:
    """Return the numbers of queries that the first run of each pair wins, ties and loses, of shape [3 × pairs].

    Differences of at most `least` are ties, and so are those that are only rounding errors.
    """
    differences = without_noise(scores[first] - scores[second], scores) * (-1 if lower_is_better else 1)
    tie = without_noise(least, scores)
    wins, losses = (differences > tie).sum(axis=1), (differences < -tie).sum(axis=1)
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
    noise = (unit_of(scores) * 1e-13) ** 2
    error = float(np.sqrt(max((errors**2).sum() / freedom - noise, 0.0) / n))
    differences = np.abs(means[first] - means[second])
    apart = without_noise(differences, scores) > 0
    if error == 0:
        return np.where(apart, 0.0, 1.0), np.zeros(())
    p = np.where(apart, studentized_range.sf(differences / error, m, freedom), 1.0)
    return np.clip(p, 0.0, 1.0), np.asarray(studentized_range.ppf(confidence, m, freedom) * error)


def randomised_hsd(scores: Array, first: Array, second: Array, resamples: int, seed: int) -> Array:
    """Return p-values of the randomised version of Tukey's HSD test for pairs of runs.

    For each query, the scores of the runs are permuted. p = (k + 1)/(B + 1), where k of B permutations have a range of
    means, highest minus lowest, of at least |difference of means|. The p-values are already corrected for all pairs.

    References
    ----------
    Carterette (2012), section 3.2.
    """
    scaled = without_noise(scores, scores)
    means = scaled.mean(axis=1)
    rng, ranges = np.random.default_rng(seed), []
    step = max(1, _CELLS // scores.size)
    for start in range(0, resamples, step):
        several = np.repeat(scaled.T[None], min(step, resamples - start), axis=0)
        ranges.append(np.ptp(rng.permuted(several, axis=2).mean(axis=1), axis=1))
    ordered = np.sort(np.concatenate(ranges))
    reached = resamples - np.searchsorted(ordered, np.abs(means[first] - means[second]) - 1e-12)
    return np.asarray((reached + 1) / (resamples + 1))


@dataclass(frozen=True)
class SignificanceTest:
    """A two-sided test of differences between runs.

    Attributes
    ----------
    name : str
        Name of the test: a value of ``test=`` in :func:`compare`, and the end of the name of its column.
    heading : str
        Short name in the heads of columns.
    words : str
        Name with an article, as a part of a sentence.
    p_values : callable
        Function of differences of shape (n_comparisons, n_queries), resamples and seed that returns p-values. For a
        test of all pairs together: function of the scores of a measure, of shape (n_runs, n_queries), the first and
        the second run of each pair, confidence, resamples and seed that returns p-values and half the width of
        simultaneous intervals, or None.
    method : str
        Assumptions and method, for reports.
    of_all_pairs : bool
        Whether the test is one of all pairs of runs together, which needs no further correction.
    opposed : callable, optional
        Function of differences that returns where their mean does not have the sign that the test is about.
    lowest_p : callable, optional
        Function of the numbers of queries and resamples that returns the kind of resamples and the lowest p.
    """

    name: str
    heading: str
    words: str
    p_values: Callable[..., Any]
    method: str = ""
    of_all_pairs: bool = False
    opposed: Callable[[Array], Array] | None = None
    lowest_p: Callable[[int, int], tuple[str, float]] | None = None

    @property
    def column(self) -> str:
        """Name of the column of p-values as they are."""
        return f"p_{self.name}"

    @property
    def decisive(self) -> str:
        """Name of the column of the p-values that decide on significance."""
        return self.column if self.of_all_pairs else f"{self.column}_corrected"


TESTS = {
    test.name: test
    for test in (
        SignificanceTest("t", "t-test", "a paired t-test", lambda differences, *_: t_test(differences)),
        SignificanceTest(
            "wilcoxon",
            "Wilcoxon",
            "Wilcoxon's signed-rank test",
            lambda differences, *_: wilcoxon_test(differences),
            method="topics without a difference are left out; exact up to 13 others, or 50 without ties",
            opposed=opposed,
        ),
        SignificanceTest(
            "randomisation",
            "random",
            "a paired randomisation test",
            randomisation_test,
            lowest_p=lowest_p_of_randomisation,
        ),
        SignificanceTest(
            "tukey",
            "Tukey",
            "Tukey's HSD test, with topics as blocks",
            lambda scores, first, second, confidence, *_: tukey_hsd(scores, first, second, confidence),
            of_all_pairs=True,
        ),
        SignificanceTest(
            "randomised_hsd",
            "randomised HSD",
            "a randomised HSD test",
            lambda scores, first, second, _, *settings: (randomised_hsd(scores, first, second, *settings), None),
            of_all_pairs=True,
        ),
    )
}
"""Significance tests by name: a further entry adds a test to :func:`compare`, its tables and its command."""
PAIRED_TESTS = {name: test for name, test in TESTS.items() if not test.of_all_pairs}
