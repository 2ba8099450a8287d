"""Estimates from interaction logs, with bootstrap intervals over users."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data.arrays import Array
from ...errors import many
from ...errors.sanitise import harmless
from ...evaluation.significance import intervals


@dataclass(frozen=True)
class Estimate:
    """Estimate with a confidence interval.

    Attributes
    ----------
    value : float
        The estimate.
    low, high : float
        Ends of the interval; NaN without an interval.
    n : int
        Number of observations.

    Examples
    --------
    >>> print(Estimate(4.4, 4.1, 4.7, 48))
    4.4 [4.1, 4.7]
    """

    value: float
    low: float = np.nan
    high: float = np.nan
    n: int = 0

    def __contains__(self, value: float) -> bool:
        rounding = 1e-9 * abs(value)
        return self.low - rounding <= value <= self.high + rounding

    def __str__(self) -> str:
        known = np.isfinite(self.low) and np.isfinite(self.high)
        return f"{self.value:.3g} [{self.low:.3g}, {self.high:.3g}]" if known else f"{self.value:.3g}"


def printed(title: str, table: Any, notes: Sized = ()) -> str:
    """Return a title, a table and the number of notes as sanitised text."""
    lines = [title, table.to_string(index=False, float_format=lambda value: f"{value:.4g}")]
    return harmless("\n".join([*lines, *([f"({many(len(notes), 'note')}: see .notes)"] if notes else [])]))


def over_users(
    sums: Array, statistic: Callable[[Array], Array], confidence: float, resamples: int, seed: int
) -> tuple[Array, Array]:
    """Compute percentile-bootstrap intervals of statistics of sums over users.

    Parameters
    ----------
    sums : array_like, shape (n_sums, n_users)
        Contribution of each user to each sum.
    statistic : callable
        Function from totals, shape (n_sums, n_resamples), to statistics, shape (n_statistics, n_resamples).
    confidence : float in (0, 1)
        Level of the intervals.
    resamples : int
        Number of resamples of users.
    seed : int
        Seed of the resamples.

    Returns
    -------
    low, high : ndarray, shape (n_statistics,)
        Ends of the intervals. NaN with a single user, and for a statistic that is undefined in a resample.
    """
    from scipy.stats import DegenerateDataWarning

    sums = np.asarray(sums, float)
    users = sums.shape[1]
    if users < 2:
        nothing = np.full(len(np.atleast_1d(statistic(sums))), np.nan)
        return nothing, nothing
    scale = np.abs(sums).max(axis=1, keepdims=True)
    scale[scale == 0] = 1.0  # scale each sum, so that rounding does not lose small ones
    with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)  # a warning about BCa intervals, which are not used
        return intervals(sums / scale, lambda means: statistic(means * scale * users), confidence, resamples, seed)
