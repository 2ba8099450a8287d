"""Objectives of fits: the agreement of scores with ratings on samples of them, and on held-out folds."""

from __future__ import annotations

import numpy as np

from ..coefficient_names import AGREED, NRMSE, plain_name, weights_of
from ..correlation import rounded
from ..users.prediction import error_on, folds
from ..users.ratings import Rated
from ..users.resampled_correlations import correlations, weighted_agreement, weighted_pearson

Array = np.ndarray


def training_folds(rated: Rated, cv: int, repeats: int, seed: int) -> Array:
    """Return whether each rating is in the training set of each fold, [ratings × folds]."""
    rows = np.arange(len(rated))
    return np.array([np.isin(rows, train) for train, _ in folds(len(rated), rated.users, cv, repeats, seed)], float).T


def objective_values(objective: str, scores: Array, rated: Rated, samples: Array) -> Array:
    """Return the objective of candidates on samples, [candidates × samples]; for NRMSE its negative."""
    y, weights, name = rated.ratings, weights_of(objective, rated.weights), plain_name(objective)
    counts = samples if weights is None else samples * weights[:, None]
    if name == NRMSE:  # the residual variance of a regression is 1 − r² of the variance
        share = counts / counts.sum(axis=0)
        spread = np.sqrt(np.maximum((y**2) @ share - (y @ share) ** 2, 0))
        r = np.nan_to_num(weighted_pearson(scores, y, counts))
        return -spread * np.sqrt(1 - r**2) / np.ptp(y)
    if name == AGREED:
        return np.array([weighted_agreement(row, y, counts) for row in scores])
    return correlations([name], scores, y, counts)[name]


def held_out_values(objective: str, scores: Array, rated: Rated, train: Array) -> Array:
    """Return the objective of the scores of each fold, [folds × ratings], on its held-out ratings."""
    if plain_name(objective) != NRMSE:
        rows = zip(scores, (1 - train).T)
        return np.array([objective_values(objective, row[None], rated, test[:, None])[0, 0] for row, test in rows])
    y, weights = rated.ratings[:, None], weights_of(objective, rated.weights)
    weights = np.ones(len(rated)) if weights is None else weights
    x = rounded(scores)[:, :, None]
    errors = [error_on(~chosen, chosen, row, y, weights)[0] for row, chosen in zip(x, train.T > 0)]
    return np.array(errors) / np.ptp(y)
