"""The numbers of agreement with users: coefficients of each measure, their intervals, and tests of what is better."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..behaviour.clicks import weighted_correlation
from ..significance import corrected, t_test
from .correlation import tau
from .dependent import COEFFICIENTS, difference_test, influence, williams_test
from .prediction import corrected_t_test
from .rated import Rated
from .resampling import percentiles
from .weighted import resample_counts, weighted_agreement, weighted_pearson, weighted_ranks

Array = np.ndarray
Columns = dict[str, Array]

WEIGHTED = "weighted"
AGREED = "agreement"
NAMES = {**COEFFICIENTS, WEIGHTED: "the weighted correlation", AGREED: "the share of agreement"}


def agreement_columns(
    rated: Rated, x: Array, reference: Array, confidence: float, correction: str | None, resamples: int, seed: int
) -> Columns:
    """Columns of one number for each measure; ``x`` are rounded scores [measures × ratings].

    ``reference``: the number of the measure that each is compared with, or −1. Of each coefficient there are its value,
    ``_low``, ``_high``, ``_p``, and where there are references ``_difference``, ``_difference_low`` and ``_high``,
    ``_difference_p`` and ``_difference_p_corrected``. Measures that are constant have NaN. ``resamples``: in how many
    neither the scores nor the ratings are constant.
    """
    counts = resample_counts(len(rated), rated.users, resamples, seed)
    against = np.where(reference < 0, np.arange(len(x)), reference)
    columns: Columns = {}
    for name, value, resampled, p in _coefficients(rated, x, counts):
        columns[name] = value
        columns |= _interval(name, resampled, value, confidence)
        columns.setdefault("resamples", np.isfinite(resampled).sum(axis=1))
        if p is not None:
            columns[f"{name}_p"] = p
        if (reference < 0).all():
            continue
        difference = np.where(reference < 0, np.nan, value - value[against])
        columns[f"{name}_difference"] = difference
        columns |= _interval(f"{name}_difference", resampled - resampled[against], difference, confidence)
        columns |= _tested(
            f"{name}_difference_p", _difference_p(rated, name, x, value, against, difference), correction
        )
    return columns


def prediction_columns(errors: Array, constant: Array, reference: Array, cv: int, correction: str | None) -> Columns:
    """NRMSE from errors [folds × measures], and its tests over folds; measures that are ``constant`` have NaN."""
    error = np.where(constant, np.nan, errors.mean(axis=0))
    columns = {"nrmse": error}
    if (reference >= 0).any():
        difference = np.where(reference < 0, np.nan, error - error[reference])
        tested = np.flatnonzero(np.isfinite(difference))
        by_fold = np.round((errors - errors[:, reference]).T[tested], 12)
        columns["nrmse_difference"] = difference
        for name, p in (("p_t", t_test(by_fold)), ("p", corrected_t_test(by_fold, 1 / (cv - 1)))):
            found = np.full(len(error), np.nan)
            found[tested] = p
            columns |= (
                _tested(f"nrmse_difference_{name}", found, correction)
                if name == "p"
                else {f"nrmse_difference_{name}": found}
            )
    return columns


def _coefficients(rated: Rated, x: Array, counts: Array) -> Iterator[tuple[str, Array, Array, Array | None]]:
    """Name, values [measures], those of resamples [measures × resamples], and p-values where there are any."""
    from scipy.stats import kendalltau, pearsonr, spearmanr

    y = rated.ratings
    varies = np.ptp(x, axis=1) > 0

    def each(function: Any) -> Array:
        return np.array([function(row) if some else np.nan for row, some in zip(x, varies, strict=True)], float)

    r = each(lambda row: pearsonr(row, y).statistic)
    yield "pearson", r, weighted_pearson(x, y, counts), each(lambda row: pearsonr(row, y).pvalue)
    nothing = np.full(counts.shape[1], np.nan)
    ranks = [
        weighted_ranks(row, y, counts) if some else (nothing, nothing) for row, some in zip(x, varies, strict=True)
    ]
    rho, tau_b = (np.array(of) for of in zip(*ranks, strict=True))
    tests = [each(lambda row, test=test: test(row, y).pvalue) for test in (spearmanr, kendalltau)]
    yield "spearman", each(lambda row: spearmanr(row, y).statistic), rho, tests[0]
    yield "tau_b", each(lambda row: tau(row, y, "b")), tau_b, tests[1]
    if rated.weights is not None:
        n = rated.weights
        value = each(lambda row: weighted_correlation(row, y, n))
        p = difference_test(value, influence(x, y, "pearson", n), rated.users)
        yield WEIGHTED, value, weighted_pearson(x, y, counts * n[:, None]), p
    if rated.what == "pair":
        once = np.ones((len(y), 1))
        share = each(lambda row: weighted_agreement(row, y, once)[0])
        yield AGREED, share, np.array([weighted_agreement(row, y, counts) for row in x]), None


def _interval(name: str, resampled: Array, value: Array, confidence: float) -> Columns:
    """The percentile bootstrap's, of the resamples that have a value."""
    ends = np.where(np.isfinite(value), percentiles(resampled, confidence), np.nan)
    return {f"{name}_low": ends[0], f"{name}_high": ends[1]}


def _difference_p(rated: Rated, name: str, x: Array, value: Array, against: Array, difference: Array) -> Array:
    y, users = rated.ratings, rated.users
    if name == "pearson" and users is None:
        alike = np.array([np.mean(a * b) for a, b in zip(_standard(x), _standard(x[against]), strict=True)])
        p = williams_test(value, value[against], alike, len(y))[1] if len(y) > 3 else np.full(len(x), np.nan)
    elif name == AGREED:
        preferred = y != 0
        moved = np.where(preferred, (1 + np.sign(x) * np.sign(y)) / 2 - value[:, None], 0) / preferred.sum()
        p = difference_test(difference, moved - moved[against], users)
    else:
        moved = influence(x, y, "pearson" if name == WEIGHTED else name, rated.weights if name == WEIGHTED else None)
        p = difference_test(difference, moved - moved[against], users)
    return np.where(np.isfinite(difference) & (against != np.arange(len(x))), p, np.nan)


def _standard(x: Array) -> Array:
    with np.errstate(invalid="ignore"):
        return (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)


def _tested(name: str, p: Array, correction: str | None) -> Columns:
    """p-values, and corrected ones, all of them as one family."""
    adjusted, tested = p.copy(), np.isfinite(p)
    if correction is not None and tested.any():
        adjusted[tested] = corrected(p[tested], correction)
    return {name: p, f"{name}_corrected": adjusted}
