"""Prediction of ratings from scores: cross-validated error of a linear regression (NRMSE), and tests over folds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...errors import BadParameter, BadRatings
from ...errors.parameter_checks import check_whole
from ..correlation import rounded

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
        raise BadParameter(f"span={span!r} must be above 0: the highest possible rating minus the lowest.")
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


def folds(ratings: int, users: Any, cv: int, repeats: int, seed: int) -> Iterator[tuple[Array, Array]]:
    """Yield the indices of the training ratings and of the test ratings of each fold."""
    from sklearn.model_selection import GroupKFold, RepeatedKFold

    units, what = (ratings, "ratings") if users is None else (len(np.unique(users)), "users")
    if units < cv:
        raise BadParameter(f"{units} {what} cannot be split into {cv} folds: give cv={max(2, units // 2)}.")
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
