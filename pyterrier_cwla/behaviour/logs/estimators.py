"""Estimates with bootstrap intervals over users: rates, correlations, reading times and survival curves."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, field, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ...data.columns import Array
from ...errors import BadParameter, check_share, check_whole, many, near
from ...evaluation.significance import intervals
from ...rendering.tables import Printed, Table

if TYPE_CHECKING:
    from .log import InteractionLog


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


@dataclass(frozen=True, eq=False, repr=False)
class LogResult(Printed):
    """Base of results of a log, which print as a title, a table and the number of notes.

    Attributes
    ----------
    sessions, users : int
        Numbers of sessions and users.
    notes : tuple of str
        Remarks about the log and the estimates.
    log : InteractionLog
        The log.
    """

    sessions: int
    users: int
    notes: tuple[str, ...]
    log: InteractionLog

    @property
    def sizes(self) -> str:
        """Numbers of sessions and users, as text."""
        return f"{many(self.sessions, 'session')} of {many(self.users, 'user')}"

    @property
    def remarks(self) -> list[str]:
        """The number of notes, as text."""
        return [f"({many(len(self.notes), 'note')}: see .notes)"] if self.notes else []

    def shown(self: Any) -> Table:
        """Return the printed table for people."""
        return Table.from_frame(self.table)


def estimates_of(*columns: Array) -> list[Estimate]:
    """Return estimates from their values, both ends of their intervals, and their numbers of observations."""
    rows = zip(*columns, strict=True)
    return [Estimate(float(value), float(low), float(high), round(float(n))) for value, low, high, n in rows]


def ratios(totals: Array) -> Array:
    """Return the first half of the totals divided by the second half; NaN for divisors of 0."""
    on, of = np.split(totals, 2)
    return np.divide(on, of, out=np.full(on.shape, np.nan), where=of > 0)


@dataclass(frozen=True)
class Bootstrap:
    """Percentile bootstrap over users.

    Attributes
    ----------
    confidence : float in (0, 1)
        Level of the intervals.
    resamples : int from 1
        Number of resamples of users.
    seed : int
        Seed of the resamples.
    """

    confidence: float
    resamples: int
    seed: int

    def __post_init__(self) -> None:
        check_share(0.95, confidence=self.confidence)
        check_whole(1, resamples=self.resamples)

    def intervals(self, sums: Any, statistic: Callable[[Array], Array]) -> tuple[Array, Array]:
        """Compute intervals of statistics of sums over users.

        Parameters
        ----------
        sums : array_like, shape (n_sums, n_users)
            Contribution of each user to each sum.
        statistic : callable
            Function from totals, shape (n_sums, n_resamples), to statistics, shape (n_statistics, n_resamples).

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
            warnings.simplefilter("ignore", DegenerateDataWarning)  # about BCa intervals, which are not used
            return intervals(sums / scale, lambda means: statistic(means * scale * users), *astuple(self))


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
    return _by_user(user, users, (np.ones(len(words)), words, seconds, words * words, words * seconds))


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
    return _by_user(user, users, (np.ones(len(x)), x, y, x * x, y * y, x * y))


def _by_user(user: Array, users: int, values: Iterable[Array]) -> Array:
    return np.array([np.bincount(user, weights=one, minlength=users) for one in values])


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
class ReadingTimeLine:
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


def least_squares(words: Array, seconds: Array, first: Array, again: Array) -> ReadingTimeLine | None:
    """Fit the unconstrained line of first views; return None with equal lengths or fewer than three views."""
    from scipy.stats import linregress

    if first.sum() < 3 or not np.ptp(words[first]):
        return None
    found = linregress(words[first], seconds[first])
    n, m = int(first.sum()), int(again.sum())
    mean = float(seconds[again].mean()) if m else math.nan
    known = again & ~np.isnan(words)
    r = linregress(words[known], seconds[known]).rvalue if known.sum() > 2 and np.ptp(words[known]) else math.nan
    return ReadingTimeLine(
        n, float(found.slope), float(found.intercept), float(found.stderr), float(found.intercept_stderr),
        _adjusted(found.rvalue, n), m, mean, standard_error(seconds[again]), _adjusted(r, int(known.sum())),
    )  # fmt: skip


def standard_error(values: Array) -> float:
    """Return the standard error of a mean; NaN for fewer than two values."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else math.nan


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
        columns = {"words": means[0], "seconds": means[1], "views": many, "duplicate": np.full(bins, kind)}
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


#: Distributions of session durations, with their names in scipy.
SHAPES = {
    "exponential": "expon",
    "Weibull": "weibull_min",
    "log-logistic": "fisk",
    "log-normal": "lognorm",
    "hyperbolic": "lomax",
}


#: Continuations with these distributions; their parameters are those of the fit, in the same order.
LAWS = {
    "Weibull": "weibull",
    "log-logistic": "log_logistic",
    "log-normal": "log_normal",
    "hyperbolic": "hyperbolic",
}

_FAR_BETTER = 10  # in AIC

#: Distributions whose density at 0 seconds is 0 or infinite. The likelihood of a stay of 0 seconds has no maximum.
UNDEFINED_AT_0 = ("Weibull", "log-logistic", "log-normal")


@dataclass(frozen=True)
class Stays:
    """Durations of sessions with censoring and truncation, in seconds from the start of the session.

    Attributes
    ----------
    user : ndarray of int, shape (n_sessions,)
        Number of the user among all users of the log.
    lower : ndarray, shape (n_sessions,)
        Last time at which the user was present.
    upper : ndarray, shape (n_sessions,)
        First time at which the user was absent. Equal to `lower` if the time of leaving is exact; infinite if the
        session is right-censored.
    entry : ndarray, shape (n_sessions,)
        Left truncation: the session is in the sample only because the user was present at this time; 0 without
        truncation.
    limit : ndarray, shape (n_sessions,)
        Right truncation: the session is in the sample only because the user left before this time; infinite without
        truncation.
    excluded : dict of str to int
        Number of excluded sessions by reason.
    """

    user: Array
    lower: Array
    upper: Array
    entry: Array
    limit: Array
    excluded: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.lower)

    @property
    def left(self) -> Array:
        """Mask of the sessions that are not right-censored."""
        return np.isfinite(self.upper)

    @property
    def at_once(self) -> Array:
        """Mask of the sessions that last exactly 0 seconds."""
        return self.upper == 0

    @classmethod
    def from_seconds(
        cls, lower: Any, upper: Any = None, entry: Any = 0.0, limit: Any = np.inf, user: Any = None
    ) -> Stays:
        """Return stays from arrays of seconds; without `upper`, `lower` contains exact times of leaving.

        Examples
        --------
        >>> Stays.from_seconds([10, 20, 30], upper=[10, 25, np.inf]).left.tolist()
        [True, True, False]
        """
        lower = np.asarray(lower, float)
        upper = lower if upper is None else np.asarray(upper, float)
        entry, limit = (np.broadcast_to(np.asarray(bound, float), lower.shape) for bound in (entry, limit))
        if (lower > upper).any() or (entry > lower).any() or (np.where(np.isfinite(upper), upper, lower) > limit).any():
            raise BadParameter("a stay must have entry ≤ lower ≤ upper ≤ limit.")
        return cls(np.arange(len(lower)) if user is None else np.asarray(user), lower, upper, entry, limit)


def _lost(u: Array) -> Array:
    """Return u / (e^u − 1), the derivative of log(1 − e^(−u)) with respect to log u; 1 at 0 and 0 at infinity."""
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        return np.where(u == 0, 1.0, np.where(u > 700, 0.0, u / np.expm1(u)))


def scores(stays: Stays, half_life: Any) -> Array:
    """Compute the derivative of each session's log-likelihood with respect to log λ, λ = ln 2/h.

    The likelihood of a stay is (S(lower) − S(upper)) / (S(entry) − S(limit)), with the density as numerator if lower =
    upper. For S(t) = e^(−λt) the derivative is −λ(lower − entry) + g(λ(upper − lower)) − g(λ(limit − entry)), with g(u)
    = u/(e^u − 1).

    Parameters
    ----------
    stays : Stays
    half_life : array_like, shape (n_half_lives,)
        Half-lives h in seconds.

    Returns
    -------
    ndarray, shape (n_half_lives, n_sessions)

    Examples
    --------
    >>> scores(Stays.from_seconds([100, 300]), [200 * np.log(2)]).sum()  # the mean stay is the estimate's 1/λ
    np.float64(0.0)
    """
    rate = np.log(2) / np.atleast_1d(np.asarray(half_life, float))[:, None]
    return (
        -rate * (stays.lower - stays.entry)
        + _lost(rate * (stays.upper - stays.lower))
        - _lost(rate * (stays.limit - stays.entry))
    )


def half_life(stays: Stays) -> float:
    """Estimate the half-life of exponential decay D(t) = 2^(−t/h) by maximum likelihood.

    With exact times of leaving and no truncation, h = ln 2 · (sum of the times) / (number of users who left).

    Returns
    -------
    float
        Half-life in seconds; NaN if the estimate is infinite.

    References
    ----------
    Smucker and Clarke (2012), Eq. 7.

    Examples
    --------
    >>> round(half_life(Stays.from_seconds([100, 300])) / math.log(2), 9)
    200.0
    >>> censored = Stays.from_seconds([100, 300], upper=[100, np.inf])  # the second is still there
    >>> round(half_life(censored) / math.log(2), 9)
    400.0
    """
    from scipy.optimize import brentq

    at = np.exp2(np.arange(-10.0, 40.0))  # half-lives from a millisecond to thousands of years
    totals = scores(stays, at).sum(axis=1) if len(stays) else np.zeros(len(at))
    rises = np.flatnonzero((totals[:-1] < 0) & (totals[1:] >= 0))
    if not len(rises) or not stays.left.any() or totals.max() < 1e-9 * len(stays):
        return np.nan
    found = at[rises[0]], at[rises[0] + 1]
    log = brentq(lambda log_h: scores(stays, np.exp(log_h)).sum(), *np.log(found), xtol=1e-13)
    return float(np.exp(log))


def grid(stays: Stays, users: int, around: float, points: int = 33) -> tuple[Array, Array]:
    """Compute the score of each user at half-lives around an estimate, for the bootstrap.

    The half-lives extend eight standard errors (over users) to either side, at most a factor of e².

    Returns
    -------
    at : ndarray, shape (points,)
        Half-lives in seconds.
    scores : ndarray, shape (points, users)
    """
    (own,) = _by_user(stays.user, users, scores(stays, around))
    step = 1e-4
    slope = (scores(stays, around * np.exp(step)).sum() - scores(stays, around * np.exp(-step)).sum()) / (2 * step)
    error = np.sqrt((own**2).sum()) / slope if slope > 0 else np.inf
    at = around * np.exp(min(8 * error, 2.0) * np.linspace(-1, 1, points))
    return at, _by_user(stays.user, users, scores(stays, at))


def zero_of_scores(at: Array, totals: Array) -> Array:
    """Return the half-life at which each column of `totals` is 0, by linear interpolation.

    Parameters
    ----------
    at : ndarray, shape (points,)
        Half-lives in seconds.
    totals : ndarray, shape (points, resamples)
        Scores, which increase with the half-life.

    Returns
    -------
    ndarray, shape (resamples,)
        0 or infinite if the zero lies outside the points.
    """
    above = totals > 0
    first = np.argmax(above, axis=0)
    k = np.maximum(first, 1)
    columns = np.arange(totals.shape[1])
    low, high = totals[k - 1, columns], totals[k, columns]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = -low / (high - low)
    found = np.exp(np.log(at[k - 1]) + share * (np.log(at[k]) - np.log(at[k - 1])))
    return np.where(above.any(axis=0), np.where(first == 0, 0.0, found), np.inf)


def log_likelihood(stays: Stays, shape: str, parameters: Any) -> float:
    """Compute the log-likelihood of stays under a distribution.

    Σ log[(S(lower) − S(upper)) / (S(entry) − S(limit))], with the density instead of S(lower) − S(upper) if both times
    are equal. `parameters` are those of scipy, with the scale last.

    Examples
    --------
    >>> from scipy import stats
    >>> stays = Stays.from_seconds([100, 300])
    >>> log_likelihood(stays, "exponential", [200]) - stats.expon(scale=200).logpdf([100, 300]).sum()
    np.float64(0.0)
    """
    distribution, (*more, scale) = _distribution(shape), parameters
    exact = stays.lower == stays.upper
    between = np.concatenate([stays.lower[~exact], stays.entry]), np.concatenate([stays.upper[~exact], stays.limit])
    known = len(stays) - int(exact.sum())
    with np.errstate(all="ignore"):  # shares can be 0 far from the optimum
        log_sf = distribution.logsf(np.array(between), *more, scale=scale)
        log_share = log_sf[0] + np.log1p(-np.exp(log_sf[1] - log_sf[0]))  # log(S(low) − S(high))
        density = distribution.logpdf(stays.lower[exact], *more, scale=scale)
        return float(density.sum() + log_share[:known].sum() - log_share[known:].sum())


@dataclass(frozen=True)
class StayDistribution:
    """Distribution fitted to stays.

    Attributes
    ----------
    shape : str
        Name of the distribution, a key of ``SHAPES``.
    parameters : tuple of float
        Parameters of scipy: the shape parameter (none for the exponential distribution) and the scale in seconds.
    half_life : float
        Median, in seconds.
    log_likelihood : float
        Log-likelihood at the estimate.
    aic : float
        Akaike information criterion; lower is better.
    distance : float
        Largest difference to the Kaplan-Meier curve (Kolmogorov's distance); NaN if no user left.
    r_squared : float
        Share of the variance of the Kaplan-Meier curve that the fit explains; NaN if no user left.
    """

    shape: str
    parameters: tuple[float, ...]
    half_life: float = math.nan
    log_likelihood: float = math.nan
    aic: float = math.nan
    distance: float = math.nan
    r_squared: float = math.nan

    @property
    def continuation(self) -> str:
        """The continuation with this distribution of leaving times, as the text of ``C=``.

        Examples
        --------
        >>> StayDistribution("Weibull", (0.7, 323.0), 191.3, -2000.0, 4004.0, 0.05, 0.99).continuation
        'weibull(0.7,323.0)'
        """
        if not np.isfinite(self.parameters).all():
            raise BadParameter(
                f"the {self.shape} distribution has no estimate here, so no continuation has its parameters. If"
                " sessions last 0 seconds, give calibrate(…, min_clicks=1)."
            )
        if self.shape == "exponential":
            return f"decay({self.half_life!r})"
        return f"{LAWS[self.shape]}({','.join(map(repr, self.parameters))})"

    def share(self, seconds: Any, begin: float = 0.0, limit: float = np.inf) -> Array:
        """Return the share of users who are still present, among those who stay until `begin` and leave before `limit`.

        Parameters
        ----------
        seconds : array_like, shape (n_times,)
            Times in seconds.
        begin, limit : float, default=0 and inf
            Truncation in seconds.

        Returns
        -------
        ndarray, shape (n_times,)
        """
        *more, scale = self.parameters
        there = _distribution(self.shape).sf([*np.atleast_1d(seconds), begin, limit], *more, scale=scale)
        return (there[:-2] - there[-1]) / (there[-2] - there[-1])


def far_better(fits: Sequence[StayDistribution]) -> StayDistribution | None:
    """Return the distribution with the lowest AIC if that of the exponential one is higher by more than 10."""
    by_shape = {one.shape: one for one in fits if np.isfinite(one.aic)}
    if "exponential" not in by_shape:
        return None
    best = min(by_shape.values(), key=attrgetter("aic"))
    return best if best.aic < by_shape["exponential"].aic - _FAR_BETTER else None


def _distribution(shape: str) -> Any:
    from scipy import stats

    return getattr(stats, SHAPES[shape])


def check_shape(shape: str) -> None:
    """Raise `BadParameter` if there is no such distribution."""
    if shape not in SHAPES:
        raise BadParameter(f"no shape {shape!r}. {near(str(shape), SHAPES)}")


def fit(stays: Stays, shape: str = "exponential") -> StayDistribution:
    """Fit a distribution to stays by maximum likelihood.

    If the times decrease as fast as those of an exponential distribution or faster, the hyperbolic fit approaches an
    exponential one. If a session lasts exactly 0 seconds, the Weibull, log-logistic and log-normal distributions have
    no estimate, because their density there is 0 or infinite.

    Parameters
    ----------
    stays : Stays
    shape : str, default="exponential"
        Name of the distribution, a key of ``SHAPES``.

    Returns
    -------
    StayDistribution
        Its values are NaN if there is no estimate.

    Raises
    ------
    BadParameter
        If the distribution is unknown.

    Examples
    --------
    >>> found = fit(Stays.from_seconds([100, 300]))
    >>> round(found.half_life / math.log(2), 6), round(found.aic, 3)
    (200.0, 27.193)
    """
    from scipy.optimize import minimize

    check_shape(shape)
    h = half_life(stays)
    start = h if np.isfinite(h) else float(np.mean(stays.lower) + 1)
    if shape == "exponential":
        parameters: tuple[float, ...] = (h / math.log(2),)
    elif shape in UNDEFINED_AT_0 and stays.at_once.any():
        parameters = (np.nan, np.nan)
    else:

        def loss(logs: Array) -> float:
            value = log_likelihood(stays, shape, np.exp(logs))
            return -value / len(stays) if np.isfinite(value) else 1e300

        first = np.log([2.0, 2 * start] if shape == "hyperbolic" else [1.0, start])
        bounds = [(-5.0, 8.0), (first[1] - 12, first[1] + 12)]
        best = minimize(loss, first, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-13, "gtol": 1e-7})
        parameters = tuple(np.exp(best.x).tolist()) if best.fun < 1e299 else (np.nan, np.nan)
    found = StayDistribution(shape, parameters)
    if not np.isfinite(parameters).all():
        return found
    value, curve = log_likelihood(stays, shape, parameters), survival_curve(stays)
    limit = stays.limit[stays.left].min(initial=np.inf)
    fitted = found.share(curve.seconds, curve.seconds.iloc[0], limit)
    off, spread = curve.share - fitted, curve.share - curve.share.mean()
    *more, scale = parameters
    return replace(
        found,
        half_life=float(_distribution(shape).median(*more, scale=scale)),
        log_likelihood=value,
        aic=2 * len(parameters) - 2 * value,
        distance=float(np.abs(np.append(off, curve.share.shift(fill_value=1.0) - fitted)).max()),
        r_squared=1 - float((off**2).sum() / (spread**2).sum()) if spread.any() else np.nan,
    )


def survival_curve(stays: Stays) -> pd.DataFrame:
    """Compute the observed survival curve by the product-limit method of Kaplan and Meier.

    S(t) = Π_{t_i ≤ t} (1 − d_i/n_i): d_i of n_i sessions at risk (entered and not yet ended) end at t_i.
    Interval-censored sessions end at the middle of their interval. With right truncation, the curve is conditional on
    leaving before the limit. With late entries, few sessions are at risk at first, so the curve begins, at share 1, at
    the first time with at least a tenth of the sessions (and at least five) at risk.

    Returns
    -------
    DataFrame
        Columns seconds, share and at_risk (number of sessions).

    References
    ----------
    Kaplan and Meier (1958); Tsai, Jewell and Wang (1987) for late entries.

    Examples
    --------
    >>> survival_curve(Stays.from_seconds([100, 200, 300], upper=[100, np.inf, 300])).share.round(3).tolist()
    [1.0, 0.667, 0.0]
    """
    time = np.where(stays.left, (stays.lower + np.where(stays.left, stays.upper, 0.0)) / 2, stays.lower)
    at, leave = np.unique(time[stays.left], return_counts=True)
    # Sessions that enter at a time of leaving count as at risk: the fifth click can be the last one.
    risk = np.searchsorted(np.sort(stays.entry), at, side="right") - np.searchsorted(np.sort(time), at, side="left")
    begin = 0.0
    if stays.entry.any() and len(at):
        enough = risk >= min(max(5, len(stays) / 10), risk.max())
        begin = float(at[np.argmax(enough)])
        at, leave, risk = (values[np.argmax(enough) :][1:] for values in (at, leave, risk))
    share = np.cumprod(1 - leave / risk)
    there = int((stays.entry <= begin).sum() - (time < begin).sum())
    columns = {"seconds": (begin, at), "share": (1.0, share), "at_risk": (there, risk)}
    return pd.DataFrame({name: np.append(*values) for name, values in columns.items()})
