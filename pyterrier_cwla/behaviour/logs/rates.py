"""The numbers of time-biased gain that are ratios of sums over users, and the line of reading times: arrays in and out.

Whatever is estimated here follows from one column of sums for each user, so that resampling users costs no second look
at the log.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

Array = np.ndarray


class Ratio(NamedTuple):
    """An estimate Σ top / Σ bottom, with what each user adds to both [users]."""

    top: Array
    bottom: Array

    @property
    def value(self) -> float:
        """NaN where there is nothing to divide by.

        >>> Ratio(np.array([8.0, 2.0]), np.array([2.0, 0.5])).value
        4.0
        """
        bottom = float(self.bottom.sum())
        return float(self.top.sum()) / bottom if bottom > 0 else np.nan


def pooled(hits: Array, tries: Array) -> Ratio:
    """All observations alike, whoever made them: Σ_p hits_p / Σ_p tries_p.

    Of seconds and ranks it is T_S: Σ_p Σ_i S_ip / Σ_p M_p, the harmonic mean of the users' seconds for each rank where
    all have the same time, and so what a population needs for a rank.

    Source: Smucker and Clarke (2012), Eq. 5.

    >>> pooled(np.array([600.0, 600.0]), np.array([200.0, 100.0])).value  # 3 and 6 seconds for a rank
    4.0
    """
    return Ratio(np.asarray(hits, float), np.asarray(tries, float))


def weighted(hits: Array, tries: Array, weight: Array) -> Ratio:
    """The mean of the users' own ratios, weighted by how much each did: Σ_p w_p·(hits_p/tries_p) / Σ_p w_p.

    Over the users with tries: whoever saw no relevant document says nothing of P(C|R=1).

    Source: Smucker and Clarke (2012), section 3.2, where w is the largest clicked rank for P(C|R), and the number of
    documents viewed for P(S|R).

    >>> weighted(np.array([1.0, 1.0, 0.0]), np.array([1.0, 2.0, 0.0]), np.array([30.0, 10.0, 20.0])).value
    0.875
    """
    known = np.asarray(tries) > 0
    own = np.divide(hits, tries, out=np.zeros(len(known)), where=known)
    weight = np.where(known, weight, 0.0)
    return Ratio(own * weight, weight)


def unweighted(hits: Array, tries: Array) -> Ratio:
    """The mean over users of their own ratios, as user studies report it; of times it is too long for a population.

    >>> unweighted(np.array([600.0, 600.0]), np.array([200.0, 100.0])).value
    4.5
    """
    return weighted(hits, tries, np.ones(len(np.asarray(tries))))


def line_sums(user: Array, users: int, words: Array, seconds: Array) -> Array:
    """Each user's share of the normal equations of ``seconds = a·words + b`` [5 × users]: 1, l, t, l², l·t.

    ``user``: the number of the user who made each view.
    """
    views = (np.ones(len(words)), words, seconds, words * words, words * seconds)
    return np.array([np.bincount(user, weights=values, minlength=users) for values in views])


def line(sums: Array) -> tuple[Array, Array]:
    """Slope a and constant b of T_D(l) = a·l + b by least squares, neither below 0; ``sums`` [5 × any number].

    Reading takes no negative time. So where the line falls with length, a is 0 and b the mean; and where it would begin
    below 0, b is 0 and a the best slope through the origin. NaN where all lengths are the same.

    Source: Smucker and Clarke (2012), section 3.2.

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


@dataclass(frozen=True)
class Reading:
    """The least-squares line of reading times over lengths, as statistics packages report it, and duplicates beside it.

    ``slope``, ``intercept``: of the first views, with standard errors. ``duplicates_differ``: whether the mean seconds
    of duplicates and the intercept are further apart than their standard errors together, as the paper argues; None
    without duplicates.
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
        apart = abs(self.duplicate_mean - self.intercept)
        together = self.duplicate_error + self.intercept_error
        return None if math.isnan(apart - together) else apart > together


def least_squares(words: Array, seconds: Array, first: Array, again: Array) -> Reading | None:
    """The unconstrained line of first views; None where lengths do not differ, or where there are fewer than three."""
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
