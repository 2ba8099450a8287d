"""What scores over queries tell of systems: bootstrap intervals, paired tests, effect sizes, and corrections for many.

Arrays in, arrays out; the last axis is that of the queries, in the same order everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ..errors import CWLAError

Array = np.ndarray

#: The tests, as a sentence names them.
TESTS = {
    "t": "a paired t-test",
    "wilcoxon": "Wilcoxon's signed-rank test",
    "randomisation": "a paired randomisation test",
}

#: The corrections for many comparisons, statsmodels' names first.
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

_CELLS = 1 << 22  # numbers that are resampled at a time
_FEW = 13  # queries whose 2^n signs are all tried where ranks are tied, as scipy does
_NOISE = (
    2e-13  # of a difference, which without_noise rounds to 13 digits: sums of n that are equal may be n of it apart
)
_TABLED = 50  # queries up to which scipy takes the exact distribution where no ranks are tied


def without_noise(differences: Array, largest: float) -> Array:
    """Differences in units of about the largest score, without what floats add to them: they may be 0, and may tie."""
    return np.round(differences / unit_of(largest), 13)


def unit_of(largest: float) -> float:
    """The power of 2 above a number: to divide by it changes no digit."""
    return float(np.ldexp(1.0, int(np.frexp(largest)[1])))


def intervals(
    scores: Array, statistic: Callable[[Array], Array], confidence: float, resamples: int, seed: int
) -> tuple[Array, Array]:
    """Lower and upper ends of the percentile bootstrap's intervals.

    ``statistic``: from means [runs, resamples] to whatever is to be bounded [things, resamples]. Queries are
    resampled, for all runs the same ones, so that a difference of two runs is one between the same queries. The
    intervals are a little short where queries are few: with 30, those of 95 % cover 90 to 94 % in simulations.

    Source: Efron and Tibshirani (1993), chapter 13.
    """
    from scipy.stats import bootstrap

    n = scores.shape[-1]
    grain = unit_of(float(np.abs(scores).max())) * 2.0**-40
    scores = np.round(scores / grain) * grain  # whose sums are exact, and so the same for runs that score the same

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
    """Two-sided p-values of the paired t-test, scipy's ``ttest_rel``.

    Where all differences are 0 there is nothing to reject: p = 1. Where all are the same and not 0, t is infinite and
    p = 0.
    """
    from scipy.stats import ttest_1samp

    p = np.where(differences.any(axis=-1), 0.0, 1.0)
    vary = np.ptp(differences, axis=-1) > 0
    if vary.any():
        p[vary] = ttest_1samp(differences[vary], 0.0, axis=-1).pvalue
    return p


def wilcoxon_test(differences: Array) -> Array:
    """Two-sided p-values of Wilcoxon's signed-rank test.

    Queries on which both score the same are left out (scipy's ``zero_method="wilcox"``). Of the others, up to 50 make
    an exact test where their differences do not tie, and up to 13 where they do; more make scipy's normal
    approximation, corrected for ties: what scipy's ``wilcoxon(method="auto")`` gives for the differences that are not
    0. Given more than 13 with zeros among them, scipy approximates even where the others do not tie; but what is left
    out is no reason not to be exact. p = 1 where all differences are 0.

    Source: Wilcoxon (1945).
    """
    p = np.ones(len(differences))
    changed = np.count_nonzero(differences, axis=-1)
    for count in np.unique(changed[changed > 1]).tolist():  # a single sign says nothing: p = 1
        rows = np.flatnonzero(changed == count)
        step = max(1, _CELLS // (8 * count))  # several arrays of this size are at work in scipy
        for some_rows in np.split(rows, range(step, len(rows), step)):
            some = differences[some_rows]
            p[some_rows] = _signed_ranks(some[some != 0].reshape(-1, count))
    return p


def _signed_ranks(differences: Array) -> Array:
    """Wilcoxon's p-values of differences of which none is 0.

    For an array, scipy takes one decision between exact and approximate for all: so those with and without ties go
    there apart.
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
            # Nothing but the ranks and their sum decides: each case once.
            cases = np.column_stack([np.sort(np.abs(ranks), axis=-1), np.abs(ranks.sum(axis=-1))])
            _, first, case = np.unique(cases, axis=0, return_index=True, return_inverse=True)
            p[tied] = randomisation_test(ranks[first], 2**count, seed=0)[case]
        else:
            p[tied] = wilcoxon(some, axis=-1, method="asymptotic").pvalue
    return p


def randomisation_test(differences: Array, resamples: int, seed: int) -> Array:
    """Two-sided p-values of the paired randomisation test.

    p is the share of signs of the differences with which the absolute value of their mean is at least as large as it
    is with the signs as they are. All 2^n signs are tried where these are no more than ``resamples``. Otherwise
    ``resamples`` signs are drawn at random, the same for all comparisons, and p = (count + 1)/(resamples + 1): the
    signs as they are count as one more. See :func:`lowest_p_of_randomisation` for the smallest p.

    Means that differ by no more than rounding are equal. Differences are in units of about the largest score, as
    :func:`without_noise` makes them.

    Source: Fisher (1935); Smucker et al. (2007); Phipson and Smyth (2010), for the 1 that is added.
    """
    from scipy.stats import permutation_test

    n = differences.shape[-1]
    step = max(1, _CELLS // min(resamples, 2**n))  # comparisons at a time: each has a number for every resample
    p = [
        permutation_test(
            (np.ones(n),),
            partial(_as_large, some, np.abs(some.sum(axis=-1)) - n * _NOISE),
            permutation_type="samples",
            vectorized=True,
            n_resamples=resamples,
            batch=max(1, _CELLS // n),
            alternative="greater",  # 1 is the largest value, and that of the signs as they are
            rng=np.random.default_rng(seed),  # anew: the same signs for all
        ).pvalue
        for some in np.split(differences, range(step, len(differences), step))
    ]
    return np.concatenate(p)


def _as_large(differences: Array, least: Array, signs: Array, axis: int) -> Array:
    """1.0 where the sum of the differences with these signs is at least ``least`` in absolute value, else 0.0."""
    return (np.abs(signs @ differences.T) >= least).astype(float)


def lowest_p_of_randomisation(queries: int, resamples: int) -> tuple[str, float]:
    """Which signs :func:`randomisation_test` tries, "all signs" or "random signs", and its smallest possible p.

    >>> lowest_p_of_randomisation(10, 10_000)
    ('all signs', 0.001953125)
    >>> lowest_p_of_randomisation(50, 999)
    ('random signs', 0.001)
    """
    if 2**queries <= resamples:
        return "all signs", min(1.0, 2 / 2**queries)  # the signs as they are, and all of them turned
    return "random signs", 1 / (resamples + 1)


def effect_sizes(differences: Array) -> Array:
    """Cohen's d_z: the mean difference over the standard deviation of the differences (n − 1), so that t = d_z·√n.

    0 where all differences are 0, ±∞ where they are all the same otherwise. There is no correction for small samples:
    Hedges' factor, 1 − 3/(4n − 5), is 0.97 for 30 queries and 0.98 for 50.

    Source: Cohen (1988), section 2.3.5.
    """
    spread = np.where(np.ptp(differences, axis=-1) > 0, differences.std(axis=-1, ddof=1), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(differences.any(axis=-1), differences.mean(axis=-1) / spread, 0.0)


def corrected(p: Array, correction: str) -> Array:
    """p-values corrected as one family, whatever the shape of the array."""
    try:
        from statsmodels.stats.multitest import multipletests
    except ImportError:
        raise CWLAError(
            "corrections for many comparisons need statsmodels: pip install 'pyterrier-cwla[stats]'; or write"
            " correction=None."
        ) from None
    with np.errstate(divide="ignore"):  # Šidák's log(1 − p) where p = 1
        return multipletests(p.ravel(), method=correction)[1].reshape(p.shape)
