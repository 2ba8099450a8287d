"""How well a measure's scores predict ratings: the error of a regression on ratings that it was not fitted to."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import BadParameter, BadRatings
from .correlation import rounded

Array = np.ndarray


def nrmse(
    scores: Any, ratings: Any, span: float | None = None, cv: int = 10, repeats: int = 10, seed: int = 0
) -> Array:
    """Errors of predicted ratings over the range of the ratings, [cv · repeats × measures]; the mean is the NRMSE.

    For each fold, a linear regression with intercept of the ratings on one measure's scores [ratings × measures] is
    fitted to the other folds, and NRMSE = √(mean (rating − predicted)²) / ``span``. All measures have the same folds,
    those of scikit-learn's RepeatedKFold. Scores that are constant where the regression is fitted predict the mean.

    ``span``: of the rating scale; without it the highest rating that there is, less the lowest.

    Raises BadParameter for fewer ratings than folds, BadRatings where all ratings are the same.

    Source: Jiang and Allan (2016), section 4: 10 random partitions into 10 folds, a scale from 1 to 5 (``span=4``).

    >>> nrmse([[1.0], [2.0], [3.0], [4.0]], [1, 2, 3, 4], cv=2, repeats=1).round(6).tolist()
    [[0.0], [0.0]]
    """
    from sklearn.model_selection import RepeatedKFold

    x, y = rounded(scores), np.asarray(ratings, float)[:, None]
    for name, value, least in (("cv", cv, 2), ("repeats", repeats, 1)):
        if not isinstance(value, int | np.integer) or value < least:
            raise BadParameter(f"{name}={value!r} must be a whole number from {least}.")
    if len(y) < cv:
        raise BadParameter(f"{len(y)} ratings cannot be split into {cv} folds: give cv={max(2, len(y) // 2)}.")
    span = float(np.ptp(y)) if span is None else span
    if not span > 0:
        raise BadRatings("all ratings are the same, so that there is nothing to predict.")
    splits = RepeatedKFold(n_splits=cv, n_repeats=repeats, random_state=seed)
    errors = []
    for train, test in splits.split(x):
        x0, y0 = x[train].mean(axis=0), y[train].mean(axis=0)
        dx, spread = x[train] - x0, np.ptp(x[train], axis=0) > 0
        slope = np.divide((dx * (y[train] - y0)).sum(axis=0), (dx**2).sum(axis=0), out=np.zeros(len(x0)), where=spread)
        errors.append(np.sqrt(((y0 + slope * (x[test] - x0) - y[test]) ** 2).mean(axis=0)))
    return np.array(errors) / span


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

    J = differences.shape[-1]
    error = np.sqrt((1 / J + test_share) * differences.var(axis=-1, ddof=1))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = differences.mean(axis=-1) / error
    return np.where(differences.any(axis=-1), 2 * student.sf(np.abs(t), J - 1), 1.0)
