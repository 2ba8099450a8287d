"""How well a measure's scores predict ratings: the error of a regression on ratings that it was not fitted to."""

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
    """Errors of predicted ratings over the range of the ratings, [cv · repeats × measures]; the mean is the NRMSE.

    For each fold, a linear regression with intercept of the ratings on one measure's scores [ratings × measures] is
    fitted to the other folds, and NRMSE = √(mean (rating − predicted)²) / ``span``. All measures have the same folds,
    those of scikit-learn's RepeatedKFold. Scores that are constant where the regression is fitted predict the mean.

    ``span``: of the rating scale; without it the highest rating that there is, less the lowest · ``users``: of each
    rating who gave it. Then folds are of whole users (scikit-learn's GroupKFold): what is predicted are the ratings of
    other users. Without it folds are of ratings, and may have others of the same user on the other side.

    Raises BadParameter for fewer ratings or users than folds, BadRatings where all ratings are the same.

    Source: Jiang and Allan (2016), section 4: 10 random partitions into 10 folds (of sessions, whoever had them), a
    scale from 1 to 5 (``span=4``).

    >>> nrmse([[1.0], [2.0], [3.0], [4.0]], [1, 2, 3, 4], cv=2, repeats=1).round(6).tolist()
    [[0.0], [0.0]]
    """
    x, y = rounded(scores), np.asarray(ratings, float)[:, None]
    check_whole(2, cv=cv)
    check_whole(1, repeats=repeats)
    if span is not None and not span > 0:
        raise BadParameter(f"span={span!r} must be above 0: the highest that one can rate, less the lowest.")
    if np.ptp(y) == 0:
        raise BadRatings("all ratings are the same, so that there is nothing to predict.")
    weights = np.ones(len(y))
    errors = [error_on(test, train, x, y, weights) for train, test in folds(len(y), users, cv, repeats, seed)]
    return np.array(errors) / (np.ptp(y) if span is None else span)


def error_on(test: Array, train: Array, x: Array, y: Array, weights: Array) -> Array:
    """√(mean (rating − predicted)²) on ``test``, of regressions that are fitted to ``train`` [measures].

    ``x``: scores [ratings × measures] · ``y``: ratings [ratings × 1] · ``weights``: how often each counts [ratings].
    """
    x0, y0 = (np.average(values[train], axis=0, weights=weights[train]) for values in (x, y))
    dx, spread, w = x[train] - x0, np.ptp(x[train], axis=0) > 0, weights[train][:, None]
    above, below = (w * dx * (y[train] - y0)).sum(axis=0), (w * dx**2).sum(axis=0)
    slope = np.divide(above, below, out=np.zeros(len(x0)), where=spread)
    return np.sqrt(np.average((y0 + slope * (x[test] - x0) - y[test]) ** 2, axis=0, weights=weights[test]))


def folds(ratings: int, users: Any, cv: int, repeats: int, seed: int) -> Iterator[tuple[Array, Array]]:
    """Which ratings are fitted to, and which are predicted."""
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
    """Two-sided p-values of paired differences of folds [… × folds], corrected for what the folds have in common.

    t = mean / √((1/J + n_test/n_train)·s²), J folds, s² their variance (J − 1); J − 1 degrees of freedom. Fitted to
    mostly the same ratings, and tested on the same ones in every repeat, the folds are not independent: the paired
    t-test, without n_test/n_train, is much too sure. ``test_share``: n_test/n_train, of 10 folds 1/9. p = 1 where all
    differences are 0.

    Source: Nadeau and Bengio (2003); Bouckaert and Frank (2004), for repeated folds.

    >>> corrected_t_test(np.array([[0.1, 0.2, 0.1, 0.3]]), test_share=1 / 3).round(3).tolist()
    [0.096]
    """
    from scipy.stats import t as student

    J, error = differences.shape[-1], corrected_error(differences, test_share)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = differences.mean(axis=-1) / error
    return np.where(differences.any(axis=-1), 2 * student.sf(np.abs(t), J - 1), 1.0)


def corrected_error(differences: Array, test_share: float) -> Array:
    """The standard error of the mean of differences of folds [… × folds] in :func:`corrected_t_test`."""
    return np.sqrt((1 / differences.shape[-1] + test_share) * differences.var(axis=-1, ddof=1))
