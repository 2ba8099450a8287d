"""Numbers from a log with their intervals: users are resampled, since what one user does hangs together."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import many
from ...errors.sanitise import harmless
from ...evaluation.significance import intervals

Array = np.ndarray


@dataclass(frozen=True)
class Estimate:
    """A number from a log, the ends of its interval (NaN where there is none), and how many observations are behind it.

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
    """How what was estimated prints, sanitised: a line, its table, and that there are notes."""
    lines = [title, table.to_string(index=False, float_format=lambda value: f"{value:.4g}")]
    return harmless("\n".join([*lines, *([f"({many(len(notes), 'note')}: see .notes)"] if notes else [])]))


def over_users(
    sums: Array, statistic: Callable[[Array], Array], confidence: float, resamples: int, seed: int
) -> tuple[Array, Array]:
    """Ends of the percentile bootstrap's intervals of whatever follows from sums over users.

    ``sums`` [sums × users]: each user's share. ``statistic``: from totals [sums × resamples], over as many users as
    there are, to the numbers that are to be bounded [numbers × resamples]. One user has no interval: NaN; nor has a
    number that some resample leaves undefined.
    """
    from scipy.stats import DegenerateDataWarning

    sums = np.asarray(sums, float)
    users = sums.shape[1]
    if users < 2:
        nothing = np.full(len(np.atleast_1d(statistic(sums))), np.nan)
        return nothing, nothing
    scale = np.abs(sums).max(axis=1, keepdims=True)
    scale[scale == 0] = 1.0  # each sum in its own unit, so that none is lost beside a large one
    with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)  # which speaks of BCa
        return intervals(sums / scale, lambda means: statistic(means * scale * users), confidence, resamples, seed)
