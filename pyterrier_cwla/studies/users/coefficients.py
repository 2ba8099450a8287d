"""Coefficients of agreement with users for each measure, their intervals, and tests of differences."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np

from ...behaviour.clicks.click_positions import weighted_correlation
from ...evaluation.significance import corrected, t_test
from ..coefficient_names import AGREED, WEIGHTED_PEARSON, plain_name, weights_of
from ..correlation import standardised, tau
from ..resampling import around
from .dependent_correlations import SAME, difference_test, influence, williams_test
from .prediction import corrected_t_test
from .ratings import Rated
from .resampled_correlations import resample_counts, weighted_agreement, weighted_pearson, weighted_ranks

Array = np.ndarray
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
    for name, value, resampled, p in _coefficients(rated, x, counts):
        columns[name] = value
        columns |= _interval(name, resampled, value, confidence, rated.units)
        if name == coefficient:
            columns["resamples"] = np.isfinite(resampled).sum(axis=1)
        influences = cache(partial(_influences, rated, name, x, value))
        if name != AGREED:
            columns[f"{name}_p"] = difference_test(value, influences(), rated.users) if p is None else p
        if not compared:
            continue
        difference = np.where(reference < 0, np.nan, _difference_of(value, value[against]))
        columns[f"{name}_difference"] = difference
        apart = _difference_of(resampled, resampled[against])
        columns |= _interval(f"{name}_difference", apart, difference, confidence, rated.units)
        tested = np.isfinite(difference) & (against != np.arange(len(x)))
        if name == "pearson" and rated.users is None:
            p = _williams(x, rated.ratings, value, against)
        else:
            p = difference_test(difference, influences() - influences()[against], rated.users)
        columns |= _p_columns(f"{name}_difference_p", np.where(tested, p, np.nan), correction)
    return columns


def prediction_columns(errors: Array, constant: Array, reference: Array, cv: int, correction: str | None) -> Columns:
    """Return NRMSE from errors [folds × measures], and its tests over folds; ``constant`` measures have NaN."""
    error = np.where(constant, np.nan, errors.mean(axis=0))
    columns = {"nrmse": error}
    if (reference >= 0).any():
        difference = np.where(reference < 0, np.nan, _difference_of(error, error[reference]))
        tested = np.flatnonzero(np.isfinite(difference))
        by_fold = _difference_of(errors, errors[:, reference]).T[tested]
        p_t, p = np.full((2, len(error)), np.nan)
        p_t[tested], p[tested] = t_test(by_fold), corrected_t_test(by_fold, 1 / (cv - 1))
        columns |= {"nrmse_difference": difference, "nrmse_difference_p_t": p_t}
        columns |= _p_columns("nrmse_difference_p", p, correction)
    return columns


def _coefficients(rated: Rated, x: Array, counts: Array) -> Iterator[tuple[str, Array, Array, Array | None]]:
    """Yield name, values [measures], resampled values [measures × resamples], and p-values or None."""
    from scipy.stats import kendalltau, pearsonr, spearmanr

    y = rated.ratings
    shown = np.ptp(x, axis=1) > 0
    varies = shown & (np.ptp(y) > 0)

    def each(function: Any, which: Array = varies) -> Array:
        return np.array([function(row) if some else np.nan for row, some in zip(x, which, strict=True)], float)

    def tested(test: Any) -> Array | None:
        return each(lambda row: test(row, y).pvalue) if rated.users is None else None

    yield "pearson", each(lambda row: pearsonr(row, y).statistic), weighted_pearson(x, y, counts), tested(pearsonr)
    nothing = np.full(counts.shape[1], np.nan)
    ranks = [
        weighted_ranks(row, y, counts) if some else (nothing, nothing) for row, some in zip(x, varies, strict=True)
    ]
    rho, tau_b = (np.array(of) for of in zip(*ranks, strict=True))
    yield "spearman", each(lambda row: spearmanr(row, y).statistic), rho, tested(spearmanr)
    yield "tau_b", each(lambda row: tau(row, y, "b")), tau_b, tested(kendalltau)
    if rated.weights is not None:
        n = rated.weights
        value = each(lambda row: weighted_correlation(row, y, n))
        yield WEIGHTED_PEARSON, value, weighted_pearson(x, y, counts * n[:, None]), None
    if rated.what == "pair":
        once = np.ones((len(y), 1))
        share = each(lambda row: weighted_agreement(row, y, once)[0], shown)
        yield AGREED, share, np.array([weighted_agreement(row, y, counts) for row in x]), None


def _interval(name: str, resampled: Array, value: Array, confidence: float, units: int) -> Columns:
    lowest, highest = (0, 1) if name == AGREED else (-2, 2) if name.endswith("_difference") else (-1, 1)
    ends = np.round(around(value, resampled, confidence, units, lowest, highest), 10)  # removes rounding noise
    return {f"{name}_low": ends[0], f"{name}_high": ends[1]}


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
