"""Survival analysis of session durations: half-lives, other distributions, Kaplan-Meier curves."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from ...data.arrays import Array
from ...errors import BadParameter, near

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
    def of(cls, lower: Any, upper: Any = None, entry: Any = 0.0, limit: Any = np.inf, user: Any = None) -> Stays:
        """Return stays from arrays of seconds; without `upper`, `lower` contains exact times of leaving.

        Examples
        --------
        >>> Stays.of([10, 20, 30], upper=[10, 25, np.inf]).left.tolist()
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
    >>> scores(Stays.of([100, 300]), [200 * np.log(2)]).sum()  # the mean stay is the estimate's 1/λ
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
    >>> round(half_life(Stays.of([100, 300])) / math.log(2), 9)
    200.0
    >>> round(half_life(Stays.of([100, 300], upper=[100, np.inf])) / math.log(2), 9)  # the second is still there
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
    own = np.bincount(stays.user, weights=scores(stays, around)[0], minlength=users)
    step = 1e-4
    slope = (scores(stays, around * np.exp(step)).sum() - scores(stays, around * np.exp(-step)).sum()) / (2 * step)
    error = np.sqrt((own**2).sum()) / slope if slope > 0 else np.inf
    at = around * np.exp(min(8 * error, 2.0) * np.linspace(-1, 1, points))
    of_sessions = scores(stays, at)
    return at, np.array([np.bincount(stays.user, weights=row, minlength=users) for row in of_sessions])


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
    >>> log_likelihood(Stays.of([100, 300]), "exponential", [200]) - stats.expon(scale=200).logpdf([100, 300]).sum()
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
class Fit:
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
    half_life: float
    log_likelihood: float
    aic: float
    distance: float
    r_squared: float

    @property
    def continuation(self) -> str:
        """The continuation with this distribution of leaving times, as the text of ``C=``.

        Examples
        --------
        >>> Fit("Weibull", (0.7, 323.0), 191.3, -2000.0, 4004.0, 0.05, 0.99).continuation
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


def _distribution(shape: str) -> Any:
    from scipy import stats

    return getattr(stats, SHAPES[shape])


def fit(stays: Stays, shape: str = "exponential") -> Fit:
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
    Fit
        Its values are NaN if there is no estimate.

    Raises
    ------
    BadParameter
        If the distribution is unknown.

    Examples
    --------
    >>> found = fit(Stays.of([100, 300]))
    >>> round(found.half_life / math.log(2), 6), round(found.aic, 3)
    (200.0, 27.193)
    """
    from scipy.optimize import minimize

    if shape not in SHAPES:
        raise BadParameter(f"no shape {shape!r}. {near(str(shape), SHAPES)}")
    h = half_life(stays)
    start = h if np.isfinite(h) else float(np.mean(stays.lower) + 1) if len(stays) else np.nan
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
    found = Fit(shape, parameters, np.nan, np.nan, np.nan, np.nan, np.nan)
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
    >>> survival_curve(Stays.of([100, 200, 300], upper=[100, np.inf, 300])).share.round(3).tolist()
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
    return pd.DataFrame(
        {"seconds": np.append(begin, at), "share": np.append(1.0, share), "at_risk": np.append(there, risk)}
    )
