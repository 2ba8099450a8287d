"""Coefficients of agreement of scores with user ratings: resampled, tested against each other, and held out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd

from ...behaviour.clicks.click_positions import weighted_correlation
from ...errors import BadParameter, BadRatings, check_known, check_whole
from ...evaluation.significance import corrected, t_test
from ..correlation import (
    AGREED,
    AUC,
    CORRELATIONS,
    DEVIANCE,
    ERRORS,
    WEIGHTED_PEARSON,
    around,
    plain_name,
    rounded,
    standardised,
    tau,
    times_drawn,
    weights_of,
)
from .ratings import Rated

Array = np.ndarray


def nrmse(
    scores: Any,
    ratings: Any,
    span: float | None = None,
    cv: int = 10,
    repeats: int = 10,
    seed: int = 0,
    users: Any = None,
) -> Array:
    """Return errors of predicted ratings for each fold, as shares of the range of the ratings; their mean is the NRMSE.

    For each fold, a linear regression with intercept of the ratings on the scores of one measure is fitted to the other
    folds, and the error is √(mean (rating − predicted)²) / ``span``. All measures have the same folds, those of
    scikit-learn's RepeatedKFold. If the scores are constant in the training folds, the prediction is the mean rating.

    Parameters
    ----------
    scores : array_like, shape (n, n_measures)
        Scores of the rated lists or sessions.
    ratings : array_like, shape (n,)
        Ratings.
    span : float, optional
        Highest possible rating minus the lowest. By default the highest given rating minus the lowest.
    cv : int, default=10
        Number of folds, from 2.
    repeats : int, default=10
        Number of random partitions into folds, from 1.
    seed : int, default=0
        Seed of the folds.
    users : array_like, shape (n,), optional
        User of each rating. If given, a user's ratings stay in one fold (scikit-learn's GroupKFold), and the errors are
        those for ratings of other users. Otherwise ratings of one user may be in the training and in the test folds.

    Returns
    -------
    ndarray, shape (cv · repeats, n_measures)
        Error of each fold and measure.

    Raises
    ------
    BadParameter
        If there are fewer ratings or users than folds, or a parameter is out of range.
    BadRatings
        If all ratings are the same.

    References
    ----------
    Jiang and Allan (2016), section 4: 10 random partitions into 10 folds of sessions, regardless of their users, and a
    scale from 1 to 5 (``span=4``).

    Examples
    --------
    >>> nrmse([[1.0], [2.0], [3.0], [4.0]], [1, 2, 3, 4], cv=2, repeats=1).round(6).tolist()
    [[0.0], [0.0]]
    """
    x, y = rounded(scores), np.asarray(ratings, float)[:, None]
    check_whole(2, cv=cv)
    check_whole(1, repeats=repeats)
    if span is not None and not span > 0:
        raise BadParameter("must be above 0: the highest possible rating minus the lowest.", span=span)
    if np.ptp(y) == 0:
        raise BadRatings("all ratings are the same: there is nothing to predict.")
    weights = np.ones(len(y))
    errors = [error_on(test, train, x, y, weights) for train, test in folds(len(y), users, cv, repeats, seed)]
    return np.array(errors) / (np.ptp(y) if span is None else span)


def error_on(test: Array, train: Array, x: Array, y: Array, weights: Array) -> Array:
    """Return √(mean (rating − predicted)²) on ``test``, for regressions fitted to ``train``.

    Parameters
    ----------
    test, train : ndarray
        Indices or masks of ratings.
    x : ndarray, shape (n, n_measures)
        Scores.
    y : ndarray, shape (n, 1)
        Ratings.
    weights : ndarray, shape (n,)
        Weights of the ratings.

    Returns
    -------
    ndarray, shape (n_measures,)
    """
    x0, y0 = (np.average(values[train], axis=0, weights=weights[train]) for values in (x, y))
    dx, spread, w = x[train] - x0, np.ptp(x[train], axis=0) > 0, weights[train][:, None]
    above, below = (w * dx * (y[train] - y0)).sum(axis=0), (w * dx**2).sum(axis=0)
    slope = np.divide(above, below, out=np.zeros(len(x0)), where=spread)
    return np.sqrt(np.average((y0 + slope * (x[test] - x0) - y[test]) ** 2, axis=0, weights=weights[test]))


def logistic_deviance(x: Array, correct: Array, train: Array, test: Array | None = None) -> Array:
    """Return the mean deviance of answers from logistic regressions on one measure's scores, for each sample.

    D = −2·Σ n·ln P / Σ n over the answers of `test`, where P is the probability of what happened, P(correct) =
    1/(1 + exp(−a − b·score)), and a and b have the highest likelihood on `train`.

    Parameters
    ----------
    x : ndarray, shape (n,)
        Scores.
    correct : ndarray, shape (n,)
        1 for correct answers, 0 for wrong ones.
    train : ndarray, shape (n, samples)
        Weight of each answer in the regression.
    test : ndarray, shape (n, samples), optional
        Weight of each answer in the deviance; by default `train`.

    Returns
    -------
    ndarray, shape (samples,)
        NaN if all answers of `train` are correct or all are wrong, and, for other answers than those of `train`, if
        its scores separate correct from wrong answers, so that no slope has the highest likelihood.

    References
    ----------
    McCullagh and Nelder (1989), section 4.4.

    Examples
    --------
    >>> x, correct, once = np.array([0.1, 0.4, 0.3, 0.8]), np.array([0, 0, 1, 1]), np.ones((4, 1))
    >>> logistic_deviance(x, correct, once).round(4).tolist()
    [0.9797]
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    z, sign = np.nan_to_num(standardised(x))[:, None], 2 * correct[:, None] - 1
    share = train / train.sum(axis=0)

    def against(ab: Array) -> Array:
        a, b = ab.reshape(2, -1)
        return -sign * (a + b * z)

    def loss(ab: Array) -> tuple[float, Array]:
        odds = against(ab)
        pull = share * sign * expit(odds)
        return (share * np.logaddexp(0, odds)).sum(), -np.concatenate([pull.sum(axis=0), (z * pull).sum(axis=0)])

    exact = {"ftol": 0, "gtol": 1e-9, "maxcor": 20}
    best = minimize(loss, np.zeros(2 * train.shape[1]), jac=True, method="L-BFGS-B", options=exact).x
    counts = train if test is None else test
    found: Array = 2 * (counts / counts.sum(axis=0) * np.logaddexp(0, against(best))).sum(axis=0)
    undefined = correct @ share * ((1 - correct) @ share) == 0
    return np.where(undefined | (separated(x, correct, train) & (test is not None)), np.nan, found)


def separated(x: Array, correct: Array, counts: Array) -> Array:
    """Return whether the scores of correct and of wrong answers in each sample overlap in one score at most."""
    scores = [np.where((counts > 0) & (correct == outcome)[:, None], x[:, None], np.nan) for outcome in (0, 1)]
    (low0, high0), (low1, high1) = ((np.fmin.reduce(own), np.fmax.reduce(own)) for own in scores)
    apart: Array = ((low1 >= high0) | (low0 >= high1)) & (np.fmin(low0, low1) < np.fmax(high0, high1))
    return apart


def deviance_by_fold(scores: Array, correct: Array, cv: int, repeats: int, seed: int, users: Any) -> Array:
    """Return the deviance of held-out answers, [folds × measures], as :func:`nrmse` returns errors of ratings."""
    parts = folds(len(correct), users, cv, repeats, seed)
    train = np.array([np.isin(np.arange(len(correct)), part) for part, _ in parts], float).T
    return np.array([logistic_deviance(x, correct, train, 1 - train) for x in rounded(scores).T]).T


def folds(ratings: int, users: Any, cv: int, repeats: int, seed: int) -> Iterator[tuple[Array, Array]]:
    """Yield the indices of the training ratings and of the test ratings of each fold."""
    from sklearn.model_selection import GroupKFold, RepeatedKFold

    units, what = (ratings, "ratings") if users is None else (len(np.unique(users)), "users")
    if units < cv:
        raise BadParameter(f": {units} {what} cannot be split into {cv} folds: give cv={max(2, units // 2)}.", cv=cv)
    rows = np.arange(ratings)
    if users is None:
        yield from RepeatedKFold(n_splits=cv, n_repeats=repeats, random_state=seed).split(rows)
        return
    for repeat in np.random.SeedSequence(seed).generate_state(repeats).tolist():
        yield from GroupKFold(cv, shuffle=True, random_state=repeat).split(rows, groups=users)


def corrected_t_test(differences: Array, test_share: float) -> Array:
    """Return two-sided p-values of paired differences over folds, corrected for the overlap of training sets.

    t = mean / √((1/J + n_test/n_train)·s²) with J folds, variance s² (J − 1) and J − 1 degrees of freedom. The folds
    are not independent: they are fitted to mostly the same ratings, and tested on the same ratings in every repeat. The
    plain paired t-test, without n_test/n_train, is far too liberal.

    Parameters
    ----------
    differences : ndarray, shape (..., J)
        Differences between the errors of two measures, by fold.
    test_share : float
        n_test/n_train; 1/9 for 10 folds.

    Returns
    -------
    ndarray, shape (...)
        p-values; 1 if all differences are 0.

    References
    ----------
    Nadeau and Bengio (2003); Bouckaert and Frank (2004) for repeated folds.

    Examples
    --------
    >>> corrected_t_test(np.array([[0.1, 0.2, 0.1, 0.3]]), test_share=1 / 3).round(3).tolist()
    [0.096]
    """
    from scipy.stats import t as student

    J, error = differences.shape[-1], corrected_error(differences, test_share)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = differences.mean(axis=-1) / error
    return np.where(differences.any(axis=-1), 2 * student.sf(np.abs(t), J - 1), 1.0)


def corrected_error(differences: Array, test_share: float) -> Array:
    """Return the standard error of the mean difference over folds, as used in :func:`corrected_t_test`."""
    return np.sqrt((1 / differences.shape[-1] + test_share) * differences.var(axis=-1, ddof=1))


_NOISE = 1e-10  # rounding error of standardised values in a group of equal values
_DIGITS = 1e-13  # rounding error of a constant column, relative to its largest value
_PAIRS = 1 << 20  # pairs of ratings per chunk
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


def sample_and_resamples(ratings: int, users: Array | None, resamples: int, seed: int) -> Array:
    """Return a column of ones, the sample, followed by the resamples of :func:`resample_counts`."""
    return np.column_stack([np.ones(ratings), resample_counts(ratings, users, resamples, seed)])


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


def weighted_ranks(x: Any, y: Any, counts: Array) -> tuple[Array, Array, Array]:
    """Return Spearman's ρ, Kendall's τ_b and the AUC of x with y [ratings] in each resample, [resamples].

    ρ is Pearson's r of midranks, and τ_b = (concordant − discordant) / √(pairs not tied in x · pairs not tied in y).
    For two different ratings, AUC = ½ + (concordant − discordant) / (2 · pairs not tied in y).
    Copies of one rating are tied. A coefficient is NaN if x or y is constant. ``counts`` [ratings × resamples] may be
    fractional.
    """
    score, rating = (np.unique(rounded(values), return_inverse=True)[1] for values in (x, y))
    kinds, kind = np.unique(score * len(score) + rating, return_inverse=True)
    score, rating = np.divmod(kinds, len(kind))
    counts = of_groups(counts, kind)  # equal pairs are merged
    N = counts.sum(axis=0)
    covariance, spread, untied = counts, 1.0, 1.0
    for group in (score, rating):
        n = of_groups(counts, group)
        rank = np.cumsum(n, axis=0) - (n + N) / 2  # midranks minus their mean
        covariance = covariance * rank[group]
        spread = spread * (n * rank**2).sum(axis=0)
        of_one = np.maximum(N**2 - (n**2).sum(axis=0), 0)
        untied = untied * of_one
    rho, concordant = _ratio(covariance.sum(axis=0), np.sqrt(spread)), counts * _concordance(score, rating, counts)
    above = concordant.sum(axis=0)
    return rho, _ratio(above, np.sqrt(untied)), (1 + _ratio(above, np.where(untied > 0, of_one, 0))) / 2


def coefficients(
    names: Iterable[str], x: Any, y: Array, samples: Array, weights: Array | None = None
) -> dict[str, Array]:
    """Return the named coefficients of each row of x [measures × ratings] with y, each [measures × samples].

    Names are the keys of ``LABELS``. ``samples`` [ratings × samples] is the weight of each rating in each sample, which
    is multiplied by ``weights`` for coefficients with the prefix ``weighted_``. Errors (NRMSE, deviance) are negative,
    so that greater is better.
    """
    found: dict[str, Array] = {}
    names = list(names)
    for name in names:
        own = weights_of(name, weights)
        counts = samples if own is None else samples * own[:, None]
        match plain_name(name):
            case "pearson":
                found[name] = weighted_pearson(x, y, counts)
            case "nrmse":  # the residual variance of a regression is 1 − r² of the variance
                share = counts / counts.sum(axis=0)
                spread = np.sqrt(np.maximum((y**2) @ share - (y @ share) ** 2, 0))
                r = np.nan_to_num(weighted_pearson(x, y, counts))
                found[name] = -spread * np.sqrt(1 - r**2) / np.ptp(y)
            case "agreement":
                found[name] = weighted_agreement(x, y, counts)
            case "deviance":
                found[name] = -np.array([logistic_deviance(row, y, counts) for row in rounded(x)])
            case plain if name not in found:  # both coefficients of ranks are computed together
                of_ranks = np.array([weighted_ranks(row, y, counts) for row in np.asarray(x)])
                prefix = name.removesuffix(plain)
                found |= zip((prefix + one for one in ("spearman", "tau_b", AUC)), of_ranks.swapaxes(0, 1))
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


def _concordance(x: Array, y: Array, counts: Array) -> Array:
    """Return the number of concordant minus that of discordant ratings for each rating, [ratings × resamples]."""
    whole = (counts == np.round(counts)).all() and counts.sum(axis=0).max() < _WHOLE
    counts = counts.astype(np.float32 if whole else float)
    found = np.empty(counts.shape)
    for rows in np.array_split(np.arange(len(x)), len(x) ** 2 // _PAIRS + 1):
        signs = np.sign(x[rows, None] - x) * np.sign(y[rows, None] - y)
        found[rows] = signs.astype(counts.dtype) @ counts
    return found


def weighted_agreement(x: Any, y: Any, counts: Array) -> Array:
    """Return the share of preferences whose sign is that of the differences of scores, [(measures ×) resamples].

    A difference of 0 counts half. Pairs without a preference (y = 0) do not count. NaN if there are no other pairs.
    """
    preferred = (np.sign(y) != 0).astype(float)
    credit = preferred * (1 + np.sign(rounded(x)) * np.sign(y)) / 2
    return _ratio(credit @ counts, preferred @ counts)


def _ratio(above: Array, below: Array) -> Array:
    return np.divide(above, below, out=np.full(np.broadcast_shapes(above.shape, below.shape), np.nan), where=below > 0)


#: Correlations that differ by less count as equal.
SAME = 1e-10


def williams_test(r_xy: Any, r_zy: Any, r_xz: Any, n: int) -> tuple[Array, Array]:
    """Compute Williams' t test of the difference between Pearson's r_xy and r_zy.

    t = (r_xy − r_zy)·√((n−1)(1+r_xz) / (2·(n−1)/(n−3)·D + r̄²(1−r_xz)³)), where D = 1 − r_xy² − r_zy² − r_xz² +
    2·r_xy·r_zy·r_xz and r̄ is the mean of r_xy and r_zy. The test assumes independent ratings and normally distributed
    scores. If the correlations are equal, t = 0 and p = 1.

    Parameters
    ----------
    r_xy, r_zy : array_like
        Correlations of the scores of two measures with the ratings.
    r_xz : array_like
        Correlation of the scores of the two measures with each other.
    n : int
        Number of ratings, from 4.

    Returns
    -------
    t : ndarray
        Test statistic.
    p : ndarray
        Two-sided p-value (n − 3 degrees of freedom).

    Raises
    ------
    BadParameter
        If there are fewer than four ratings.

    References
    ----------
    Williams (1959); Steiger (1980). The example is that of R's psych::r.test.

    Examples
    --------
    >>> t, p = williams_test(0.4, 0.5, 0.1, n=103)
    >>> round(float(t), 2), round(float(p), 2)
    (-0.89, 0.37)
    """
    from scipy.stats import t as student

    if n < 4:
        raise BadParameter(f"Williams' test needs at least four ratings, not {n}.")
    r_xy, r_zy, r_xz = (np.asarray(r, float) for r in (r_xy, r_zy, r_xz))
    D = 1 - r_xy**2 - r_zy**2 - r_xz**2 + 2 * r_xy * r_zy * r_xz
    below = 2 * (n - 1) / (n - 3) * np.maximum(D, 0) + ((r_xy + r_zy) / 2) ** 2 * np.maximum(1 - r_xz, 0) ** 3
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (r_xy - r_zy) * np.sqrt((n - 1) * (1 + r_xz) / below)
    t = np.where(np.abs(r_xy - r_zy) < SAME, 0.0, t)
    return t, 2 * student.sf(np.abs(t), n - 3)


def influence(x: Any, y: Any, coefficient: str = "tau_b", weights: Array | None = None) -> Array:
    """Return the influence of each rating on the correlation of scores with ratings.

    The influence is the derivative ∂/∂w_i of the coefficient, where w_i is the weight of rating i. The influences sum
    to 0, and the sum of their squares is the variance of the coefficient (infinitesimal jackknife). With standardised z
    and r = mean(z_x·z_y):

    * pearson: (z_x·z_y − r·(z_x² + z_y²)/2)/n. With ``weights``, the influence on the weighted correlation.
    * spearman: the influence on Pearson's r of midranks, plus the effect of the rating on the ranks of the others.
    * auc: (s_i − S·b_i/Y)/(2·Y), where S is the number of concordant minus discordant pairs, with the names of τ_b.
    * tau_b: s_i/√(X·Y) − τ_b·(a_i/X + b_i/Y)/2, where s_i is the number of concordant minus discordant pairs with
      rating i, a_i and b_i are the numbers of pairs with rating i that are not tied in x and in y, and X and Y are the
      total numbers of such pairs.

    Parameters
    ----------
    x : array_like, shape (..., n)
        Scores.
    y : array_like, shape (n,)
        Ratings.
    coefficient : {"pearson", "spearman", "tau_b", "auc"}, default="tau_b"
        Correlation coefficient, or the area under the ROC curve for ratings of two values.
    weights : ndarray, shape (n,), optional
        Weights of the ratings; only for "pearson".

    Returns
    -------
    ndarray, shape (..., n)
        NaN in constant rows of x.

    Raises
    ------
    BadParameter
        If there is no such coefficient, or if weights are given for a coefficient other than "pearson".

    References
    ----------
    Efron (1982), chapter 6.

    Examples
    --------
    >>> influence([1, 2, 3], [1, 2, 2], "pearson").round(3).tolist()
    [0.072, -0.072, 0.0]
    """
    x, y = rounded(x), rounded(y)
    check_known("coefficient", [*CORRELATIONS, AUC], coefficient=coefficient)
    if coefficient == "pearson":
        return _of_values(x, y, weights)
    if weights is not None:
        raise BadParameter(f"coefficient={coefficient!r} does not take weights: only 'pearson' does.")
    of_row = _of_ranks if coefficient == "spearman" else partial(_of_signs, auc=coefficient == AUC)
    return np.array([of_row(row, y) for row in x.reshape(-1, len(y))]).reshape(x.shape)


def _of_values(x: Array, y: Array, weights: Array | None) -> Array:
    w = np.ones(len(y)) if weights is None else np.asarray(weights, float)
    w = w / w.sum()
    zx, zy = (standardised(values, w) for values in (x, y))
    r = (w * zx * zy).sum(axis=-1, keepdims=True)
    return w * (zx * zy - r * (zx**2 + zy**2) / 2)


def _of_ranks(x: Array, y: Array) -> Array:
    from scipy.stats import rankdata

    of_x, of_y = (rankdata(values) for values in (x, y))
    zx, zy = standardised(of_x), standardised(of_y)
    rho = (zx * zy).mean()
    moved = [
        _ranks_above(rank, (other - rho * own) / (len(y) * rank.std()))
        for rank, own, other in ((of_x, zx, zy), (of_y, zy, zx))
        if rank.std() > 0
    ]
    return _of_values(of_x, of_y, None) + sum(moved)


def _ranks_above(rank: Array, gradient: Array) -> Array:
    """Return the effect of one more item like each: ranks above it rise by 1, those of its ties by ½."""
    _, group = np.unique(rank, return_inverse=True)
    of_group = np.bincount(group, gradient)
    return (of_group.sum() - np.cumsum(of_group) + of_group / 2)[group]


def _of_signs(x: Array, y: Array, auc: bool) -> Array:
    s = _concordance(x, y, np.ones((len(y), 1)))[:, 0]
    levels = [np.unique(values, return_inverse=True, return_counts=True) for values in (x, y)]
    a, b = (len(y) - tied[level] for _, level, tied in levels)
    X, Y = a.sum() / 2, b.sum() / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        if auc:
            return (s - s.sum() / 2 / Y * b) / (2 * Y)
        root = np.sqrt(X * Y)
        return s / root - s.sum() / 2 / root * (a / X + b / Y) / 2


def clustered_error(influences: Array, users: Array | None = None) -> Array:
    """Return standard errors computed from the influence of each rating.

    √(G/(G−1)·Σ_g (Σ_{i of g} ψ_i)²) over G users, where ψ_i is the influence of rating i. Without ``users``, each
    rating is a group of its own.

    Parameters
    ----------
    influences : ndarray, shape (..., n)
        Influence of each rating.
    users : ndarray of int, shape (n,), optional
        Number of the user of each rating, from 0.

    Returns
    -------
    ndarray, shape (...)

    Examples
    --------
    >>> clustered_error(np.array([0.1, -0.1, 0.2, -0.2]), np.array([0, 0, 1, 1])).item()
    0.0
    """
    if users is not None:
        influences = of_groups(influences.reshape(-1, len(users)).T, users).T.reshape(*influences.shape[:-1], -1)
    G = influences.shape[-1]
    return np.sqrt(G / (G - 1) * (influences**2).sum(axis=-1)) if G > 1 else np.full(influences.shape[:-1], np.nan)


def difference_test(differences: Any, influences: Array, users: Array | None = None) -> Array:
    """Return two-sided p-values of differences between correlations.

    t = difference / standard error, where the standard error is computed from the influences (infinitesimal jackknife,
    clustered by user). The number of degrees of freedom is the number of users (or ratings) minus 1. With fewer than
    about 20 users p is slightly too small.

    Parameters
    ----------
    differences : array_like, shape (...)
        Differences between two correlations with the same ratings.
    influences : ndarray, shape (..., n)
        Differences between the influences of each rating on the two correlations.
    users : ndarray of int, shape (n,), optional
        Number of the user of each rating, from 0. Without it, ratings count as independent.

    Returns
    -------
    ndarray, shape (...)
        p-values; 1 if the correlations are equal.

    References
    ----------
    Efron (1982), chapter 6; Cameron, Gelbach and Miller (2008) for few users.
    """
    from scipy.stats import t as student

    differences = np.asarray(differences, float)
    units = influences.shape[-1] if users is None else int(users.max()) + 1
    with np.errstate(divide="ignore", invalid="ignore"):
        t = differences / clustered_error(influences, users)
    return np.where(np.abs(differences) < SAME, 1.0, 2 * student.sf(np.abs(t), units - 1))


def training_folds(rated: Rated, cv: int, repeats: int, seed: int) -> Array:
    """Return whether each rating is in the training set of each fold, [ratings × folds]."""
    rows = np.arange(len(rated))
    together = pd.factorize(rated.table["query_id"])[0] if rated.repeated else rated.users
    return np.array([np.isin(rows, train) for train, _ in folds(len(rated), together, cv, repeats, seed)], float).T


def objective_values(objective: str, scores: Array, rated: Rated, samples: Array) -> Array:
    """Return the objective of candidates on samples, [candidates × samples]; for errors its negative."""
    return coefficients([objective], scores, rated.ratings, samples, rated.weights)[objective]


def held_out_values(objective: str, scores: Array, rated: Rated, train: Array) -> Array:
    """Return the objective of the scores of each fold, [folds × ratings], on its held-out ratings."""
    if plain_name(objective) not in ERRORS:
        rows = zip(scores, (1 - train).T)
        return np.array([objective_values(objective, row[None], rated, test[:, None])[0, 0] for row, test in rows])
    y, weights = rated.ratings[:, None], weights_of(objective, rated.weights)
    weights = np.ones(len(rated)) if weights is None else weights
    x = rounded(scores)[:, :, None]
    if plain_name(objective) == DEVIANCE:
        counts = zip(*((weights * part)[:, :, None] for part in (train.T, 1 - train.T)))
        return np.array([logistic_deviance(row, rated.ratings, *part)[0] for row, part in zip(rounded(scores), counts)])
    errors = [error_on(~chosen, chosen, row, y, weights)[0] for row, chosen in zip(x, train.T > 0)]
    return np.array(errors) / np.ptp(y)


Columns = dict[str, Array]


def agreement_columns(
    rated: Rated,
    x: Array,
    reference: Array,
    coefficient: str,
    confidence: float,
    correction: str | None,
    resamples: int,
    seed: int,
) -> Columns:
    """Return columns with one number for each measure.

    Each coefficient has the columns value, ``_low``, ``_high`` and ``_p``, and if there are references also
    ``_difference``, ``_difference_low``, ``_difference_high``, ``_difference_p`` and ``_difference_p_corrected``.
    Constant measures have NaN. The column ``resamples`` counts the resamples in which ``coefficient`` is defined, that
    is, neither the scores nor the ratings are constant.

    Parameters
    ----------
    rated : Rated
        Ratings.
    x : ndarray, shape (measures, ratings)
        Rounded scores.
    reference : ndarray of int, shape (measures,)
        Number of the measure with which each measure is compared, or −1.
    coefficient : str
        Coefficient of the column ``resamples``.
    confidence : float in (0, 1)
        Level of the intervals.
    correction : str, optional
        Correction for multiple comparisons.
    resamples, seed : int
        Number of bootstrap resamples and their seed.

    Returns
    -------
    dict of str to ndarray, shape (measures,)
    """
    counts = resample_counts(len(rated), rated.users, resamples, seed)
    against = np.where(reference < 0, np.arange(len(x)), reference)
    columns: Columns = {}
    compared = (reference >= 0).any()
    values = _values(rated, x)
    drawn = coefficients(values, x, rated.ratings, counts, rated.weights)
    for name, (value, p) in values.items():
        resampled = drawn[name]
        columns |= _with_interval(name, resampled, value, confidence, rated.units)
        if name == coefficient:
            columns["resamples"] = np.isfinite(resampled).sum(axis=1)
        influences = cache(partial(_influences, rated, name, x, value))
        if name != AGREED:
            beyond_chance = value - 0.5 * (name == AUC)
            columns[f"{name}_p"] = difference_test(beyond_chance, influences(), rated.users) if p is None else p
        if not compared:
            continue
        difference = np.where(reference < 0, np.nan, _difference_of(value, value[against]))
        apart = _difference_of(resampled, resampled[against])
        columns |= _with_interval(f"{name}_difference", apart, difference, confidence, rated.units)
        tested = np.isfinite(difference) & (against != np.arange(len(x)))
        if name == "pearson" and rated.users is None:
            p = _williams(x, rated.ratings, value, against)
        else:
            p = difference_test(difference, influences() - influences()[against], rated.users)
        columns |= _p_columns(f"{name}_difference_p", np.where(tested, p, np.nan), correction)
    return columns


def prediction_columns(
    name: str, errors: Array, constant: Array, reference: Array, cv: int, correction: str | None
) -> Columns:
    """Return mean errors [folds × measures] under a name, with tests over folds; ``constant`` measures have NaN."""
    error = np.where(constant, np.nan, errors.mean(axis=0))
    columns = {name: error}
    if (reference >= 0).any():
        difference = np.where(reference < 0, np.nan, _difference_of(error, error[reference]))
        tested = np.flatnonzero(np.isfinite(difference))
        by_fold = _difference_of(errors, errors[:, reference]).T[tested]
        p_t, p = np.full((2, len(error)), np.nan)
        p_t[tested], p[tested] = t_test(by_fold), corrected_t_test(by_fold, 1 / (cv - 1))
        columns |= {f"{name}_difference": difference, f"{name}_difference_p_t": p_t}
        columns |= _p_columns(f"{name}_difference_p", p, correction)
    return columns


def _values(rated: Rated, x: Array) -> dict[str, tuple[Array, Array | None]]:
    """Return the values of each coefficient [measures], and scipy's p-values if it has some for these ratings."""
    from scipy.stats import kendalltau, pearsonr, spearmanr

    y, n, constant = rated.ratings, rated.weights, np.ptp(x, axis=1) == 0
    found: dict[str, tuple[Array, Array | None]] = {}
    for name, test in (("pearson", pearsonr), ("spearman", spearmanr), ("tau_b", kendalltau)):
        undefined = constant | (np.ptp(y) == 0)
        value, p = np.array([(np.nan, np.nan) if none else test(row, y) for row, none in zip(x, undefined)]).T
        found[name] = tau(x, y) if name == "tau_b" else value, p if rated.users is None else None
    if n is not None:
        found[WEIGHTED_PEARSON] = np.array([weighted_correlation(row, y, n) for row in x]), None
    if rated.what == "answer":
        from sklearn.metrics import roc_auc_score

        found[AUC] = np.array([np.nan if none else roc_auc_score(y, row) for row, none in zip(x, constant)]), None
    if rated.what == "pair":
        share = weighted_agreement(x, y, np.ones((len(y), 1)))[:, 0]
        found[AGREED] = np.where(constant, np.nan, share), None
    return found


def _with_interval(name: str, resampled: Array, value: Array, confidence: float, units: int) -> Columns:
    lowest, highest = (0, 1) if name in (AGREED, AUC) else (-2, 2) if name.endswith("_difference") else (-1, 1)
    low, high = np.round(around(value, resampled, confidence, units, lowest, highest), 10)  # removes rounding noise
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def _difference_of(one: Array, other: Array) -> Array:
    """Return differences, with rounding noise set to 0."""
    difference = one - other
    return np.where(np.abs(difference) < SAME, 0.0, difference)


def _influences(rated: Rated, name: str, x: Array, value: Array) -> Array:
    """Return the influence of each rating on the coefficient, [measures × ratings]."""
    y = rated.ratings
    if name == AGREED:
        preferred = y != 0
        return np.where(preferred, (1 + np.sign(x) * np.sign(y)) / 2 - value[:, None], 0) / preferred.sum()
    return influence(x, y, plain_name(name), weights_of(name, rated.weights))


def _williams(x: Array, y: Array, r: Array, against: Array) -> Array:
    if len(y) < 4:
        return np.full(len(x), np.nan)
    z = standardised(x)
    return williams_test(r, r[against], (z * z[against]).mean(axis=1), len(y))[1]


def _p_columns(name: str, p: Array, correction: str | None) -> Columns:
    """Return columns of p-values and of p-values corrected as one family."""
    adjusted, tested = p.copy(), np.isfinite(p)
    if correction is not None and tested.any():
        adjusted[tested] = corrected(p[tested], correction)
    return {name: p, f"{name}_corrected": adjusted}
