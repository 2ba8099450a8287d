"""Ratios of sums over users, correlations, and the regression of reading time on document length.

Each estimate depends on one column of sums per user, so the bootstrap over users only needs these sums.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from ...data.arrays import Array

_VIEWS = 15  # per point of the plot of reading times
_MOST_POINTS = 300


class Ratio(NamedTuple):
    """Ratio of sums over users, Σ top / Σ bottom.

    Attributes
    ----------
    top, bottom : ndarray, shape (n_users,)
        Contribution of each user to the numerator and to the denominator.
    """

    top: Array
    bottom: Array

    @property
    def value(self) -> float:
        """Value of the ratio; NaN if the denominator is 0.

        >>> Ratio(np.array([8.0, 2.0]), np.array([2.0, 0.5])).value
        4.0
        """
        bottom = float(self.bottom.sum())
        return float(self.top.sum()) / bottom if bottom > 0 else np.nan


def pooled(hits: Array, tries: Array) -> Ratio:
    """Return the ratio over all observations: Σ_p hits_p / Σ_p tries_p.

    With seconds and ranks this is T_S = Σ_p Σ_i S_ip / Σ_p M_p. If all users spend the same total time, it is the
    harmonic mean of their seconds per rank.

    References
    ----------
    Smucker and Clarke (2012), Eq. 5.

    Examples
    --------
    >>> pooled(np.array([600.0, 600.0]), np.array([200.0, 100.0])).value  # 3 and 6 seconds for a rank
    4.0
    """
    return Ratio(np.asarray(hits, float), np.asarray(tries, float))


def weighted(hits: Array, tries: Array, weight: Array) -> Ratio:
    """Return the weighted mean of the ratios of users: Σ_p w_p·(hits_p/tries_p) / Σ_p w_p.

    Users without tries do not contribute: users who saw no relevant document provide no estimate of P(C|R=1).

    References
    ----------
    Smucker and Clarke (2012), section 3.2: w is the largest clicked rank for P(C|R), and the number of documents viewed
    for P(S|R).

    Examples
    --------
    >>> weighted(np.array([1.0, 1.0, 0.0]), np.array([1.0, 2.0, 0.0]), np.array([30.0, 10.0, 20.0])).value
    0.875
    """
    known = np.asarray(tries) > 0
    own = np.divide(hits, tries, out=np.zeros(len(known)), where=known)
    weight = np.where(known, weight, 0.0)
    return Ratio(own * weight, weight)


def unweighted(hits: Array, tries: Array) -> Ratio:
    """Return the unweighted mean of the ratios of users, as user studies report it.

    For times, it overestimates the mean of the population, because slow users contribute fewer observations.

    Examples
    --------
    >>> unweighted(np.array([600.0, 600.0]), np.array([200.0, 100.0])).value
    4.5
    """
    return weighted(hits, tries, np.ones(len(np.asarray(tries))))


def line_sums(user: Array, users: int, words: Array, seconds: Array) -> Array:
    """Return each user's sums for the normal equations of ``seconds = a·words + b``.

    Parameters
    ----------
    user : ndarray of int, shape (n_views,)
        Number of the user of each view.
    users : int
        Number of users.
    words, seconds : ndarray, shape (n_views,)

    Returns
    -------
    ndarray, shape (5, users)
        Sums of 1, l, t, l² and l·t.
    """
    views = (np.ones(len(words)), words, seconds, words * words, words * seconds)
    return np.array([np.bincount(user, weights=values, minlength=users) for values in views])


def line(sums: Array) -> tuple[Array, Array]:
    """Fit T_D(l) = a·l + b by least squares with non-negative a and b.

    If the unconstrained slope is negative, a is 0 and b the mean. If the intercept is negative, b is 0 and a the best
    slope through the origin.

    Parameters
    ----------
    sums : ndarray, shape (5, n)
        Sums of 1, l, t, l² and l·t, as those of :func:`line_sums`.

    Returns
    -------
    a, b : ndarray, shape (n,)
        Seconds per word, and seconds; NaN if all lengths are equal.

    References
    ----------
    Smucker and Clarke (2012), section 3.2.

    Examples
    --------
    >>> a, b = line(line_sums(np.zeros(3, int), 1, np.array([100.0, 200.0, 300.0]), np.array([9.0, 11.0, 13.0])))
    >>> [round(float(number[0]), 3) for number in (a, b)]
    [0.02, 7.0]
    """
    n, l, t, ll, lt = np.asarray(sums, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = ll - l * l / n
        slope = np.where(spread > 1e-9 * ll, (lt - l * t / n) / spread, np.nan)
        constant = (t - slope * l) / n
        falls, below = slope < 0, constant < 0
        a = np.where(falls, 0.0, np.where(below, lt / ll, slope))
        return a, np.where(falls, t / n, np.where(below, 0.0, constant))


def correlation_sums(user: Array, users: int, x: Array, y: Array) -> Array:
    """Return each user's sums for the correlation of x and y.

    x and y are first reduced by their means and divided by their largest deviations, which does not change the
    correlation and keeps the sums of squares accurate.

    Parameters
    ----------
    user : ndarray of int, shape (n_views,)
        Number of the user of each view.
    users : int
        Number of users.
    x, y : ndarray, shape (n_views,)
        Finite values.

    Returns
    -------
    ndarray, shape (6, users)
        Sums of 1, x, y, x², y² and x·y.
    """
    x, y = (values - values.mean() for values in (x, y))
    x, y = (values / (np.abs(values).max() or 1.0) for values in (x, y))
    views = (np.ones(len(x)), x, y, x * x, y * y, x * y)
    return np.array([np.bincount(user, weights=values, minlength=users) for values in views])


def correlation(sums: Array) -> Array:
    """Return Pearson's correlation of two quantities.

    r = (Σxy − Σx·Σy/n) / √((Σx² − (Σx)²/n)·(Σy² − (Σy)²/n)).

    Parameters
    ----------
    sums : ndarray, shape (6, n)
        Sums of 1, x, y, x², y² and x·y, as those of :func:`correlation_sums`.

    Returns
    -------
    ndarray, shape (n,)
        Correlation in [−1, 1]; NaN if all x or all y are equal.

    References
    ----------
    Jiang and Allan (2016), section 5.1.

    Examples
    --------
    >>> sums = correlation_sums(np.zeros(4, int), 1, np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 4.0]))
    >>> round(float(correlation(sums)[0]), 3)
    0.8
    """
    n, x, y, xx, yy, xy = np.asarray(sums, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread_x, spread_y = xx - x * x / n, yy - y * y / n
        varied = (spread_x > 1e-9 * xx) & (spread_y > 1e-9 * yy)
        r = (xy - x * y / n) / np.sqrt(np.where(varied, spread_x * spread_y, np.nan))
    return np.clip(r, -1.0, 1.0)


@dataclass(frozen=True)
class Reading:
    """Least-squares line of reading times over document lengths, and the reading times of duplicates.

    Attributes
    ----------
    views : int
        Number of first views.
    slope, intercept : float
        Seconds per word, and seconds, of first views.
    slope_error, intercept_error : float
        Standard errors.
    adjusted_r_squared : float
        Adjusted coefficient of determination.
    duplicate_views : int
        Number of views of duplicates.
    duplicate_mean, duplicate_error : float
        Mean seconds on duplicates, and its standard error; NaN without duplicates.
    duplicate_adjusted_r_squared : float
        Adjusted coefficient of determination of a line through the views of duplicates.
    """

    views: int
    slope: float
    intercept: float
    slope_error: float
    intercept_error: float
    adjusted_r_squared: float
    duplicate_views: int = 0
    duplicate_mean: float = math.nan
    duplicate_error: float = math.nan
    duplicate_adjusted_r_squared: float = math.nan

    @property
    def duplicates_differ(self) -> bool | None:
        """Whether the mean of duplicates and the intercept differ by more than the sum of their standard errors.

        None without duplicates. Smucker and Clarke (2012) use this comparison.
        """
        apart = abs(self.duplicate_mean - self.intercept)
        together = self.duplicate_error + self.intercept_error
        return None if math.isnan(apart - together) else apart > together


def least_squares(words: Array, seconds: Array, first: Array, again: Array) -> Reading | None:
    """Fit the unconstrained line of first views; return None with equal lengths or fewer than three views."""
    from scipy.stats import linregress

    if first.sum() < 3 or not np.ptp(words[first]):
        return None
    found = linregress(words[first], seconds[first])
    n, m = int(first.sum()), int(again.sum())
    mean = float(seconds[again].mean()) if m else math.nan
    error = float(seconds[again].std(ddof=1) / np.sqrt(m)) if m > 1 else math.nan
    known = again & ~np.isnan(words)
    r = linregress(words[known], seconds[known]).rvalue if known.sum() > 2 and np.ptp(words[known]) else math.nan
    return Reading(
        n, float(found.slope), float(found.intercept), float(found.stderr), float(found.intercept_stderr),
        _adjusted(found.rvalue, n), m, mean, error, _adjusted(r, int(known.sum())),
    )  # fmt: skip


def _adjusted(r: float, n: int) -> float:
    return float(1 - (1 - r * r) * (n - 1) / (n - 2)) if n > 2 else math.nan


def reading_points(words: Array, seconds: Array, duplicate: Array, views: int = _VIEWS) -> pd.DataFrame:
    """Average views of similar document length, for the plot of reading times.

    Each point averages about `views` views, as in Figure 1 of Smucker and Clarke (2012), or more if there were more
    than 300 points.

    Returns
    -------
    DataFrame
        Columns words, seconds, views and duplicate.

    Examples
    --------
    >>> reading_points([100, 200, 300], [8, 10, 12], [False, False, False], views=3).to_dict("records")
    [{'words': 200.0, 'seconds': 10.0, 'views': 3, 'duplicate': False}]
    """
    words, seconds, duplicate = np.asarray(words, float), np.asarray(seconds, float), np.asarray(duplicate, bool)
    parts = []
    for kind in (False, True):
        mine = np.flatnonzero((duplicate == kind) & ~np.isnan(words) & ~np.isnan(seconds))
        mine = mine[np.argsort(words[mine], kind="stable")]
        bins = int(np.clip(round(len(mine) / views), min(len(mine), 1), _MOST_POINTS))
        starts = np.arange(bins) * len(mine) // max(bins, 1)
        many = np.diff(np.append(starts, len(mine)))
        means = [np.add.reduceat(values[mine], starts) / many if bins else many for values in (words, seconds)]
        parts.append((*means, many, np.full(bins, kind)))
    columns = ("words", "seconds", "views", "duplicate")
    return pd.DataFrame({name: np.concatenate(both) for name, both in zip(columns, zip(*parts))})
