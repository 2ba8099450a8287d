"""Agreement of significance tests by few judgments with those by all: confusion, accuracy and g-mean."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from ..resampling import percentiles
from .system_order import compared, knee_table, level_table, mean_of_known

Array = np.ndarray
#: Result with all judgments, then with the remaining ones ("accepted" means H₀ accepted), as in the paper.
CELLS = ("accepted_accepted", "accepted_rejected", "rejected_accepted", "rejected_rejected")
_CHUNK = 1 << 21


@dataclass(frozen=True, eq=False)
class PairTests:
    """Significant differences between pairs of runs at each level of judgments.

    Attributes
    ----------
    levels : tuple of float
        Levels of judgments.
    measures : list of str
        Names of the measures.
    p : ndarray, shape (seeds, levels, measures, pairs)
        p-values; the last level has all judgments of the pair's pool.
    alpha, confidence : float
        Levels of significance and of the intervals.
    resamples, seed : int
        Number of bootstrap resamples and their seed.
    """

    levels: tuple[float, ...]
    measures: list[str]
    p: Array
    alpha: float
    confidence: float
    resamples: int
    seed: int

    @cached_property
    def rejected(self) -> Array:
        """Whether H₀ is rejected."""
        return self.p <= self.alpha

    @cached_property
    def by_seed(self) -> Array:
        """C(1,1), C(1,2), C(2,1), C(2,2) [4 × seeds × levels × measures]; row 1 is H₀ accepted at 100 %."""
        return self._cases.sum(axis=-1)

    @cached_property
    def _cases(self) -> Array:
        now, truly = self.rejected, self.rejected[:, -1:]
        return np.stack([~truly & ~now, ~truly & now, truly & ~now, truly & now])

    @cached_property
    def accuracy(self) -> Array:
        """Mean accuracy over the seeds [levels × measures]."""
        return accuracy(self.by_seed).mean(axis=0)

    @cached_property
    def _resampled(self) -> tuple[Array, Array]:
        """Accuracy and g-mean [resamples × levels × measures] of resampled pairs, each with a random seed."""
        _, seeds, levels, measures, pairs = self._cases.shape
        flat = np.moveaxis(self._cases, 1, -2).reshape(4 * levels * measures, seeds * pairs).astype(np.float32)
        of_pairs, of_seeds = (np.random.default_rng([self.seed, 3, what]) for what in range(2))
        found = []
        step = max(1, _CHUNK // (seeds * seeds * pairs))
        for start in range(0, self.resamples, step):
            drawn = of_pairs.integers(pairs, size=(min(step, self.resamples - start), 1, pairs))
            cells = drawn + pairs * of_seeds.integers(seeds, size=(len(drawn), seeds, pairs))
            cells = cells.reshape(-1, pairs) + seeds * pairs * np.arange(len(drawn) * seeds)[:, None]
            times = np.bincount(cells.ravel(), minlength=seeds * pairs * len(cells)).astype(np.float32)
            counts = flat @ times.reshape(len(cells), -1).T  # whole numbers, exact in single precision
            counts = counts.reshape(4, levels, measures, len(drawn), seeds).transpose(0, 3, 4, 1, 2).astype(float)
            found.append((accuracy(counts).mean(axis=1), mean_of_known(g_mean(counts), axis=1)))
        accurate, geometric = zip(*found, strict=True)
        return np.concatenate(accurate), np.concatenate(geometric)

    def table(self) -> pd.DataFrame:
        """Return a row for each level and measure: confusion, accuracy and g-mean, means over the seeds.

        False positives are C(2,1), H₀ rejected by all judgments and accepted by the remaining ones; false negatives are
        C(1,2). g-mean is the mean over the seeds for which it is defined; ``g_mean_undefined`` counts the others.
        """
        columns = dict(zip(CELLS, self.by_seed.mean(axis=1), strict=True))
        columns["false_positives"], columns["false_negatives"] = columns[CELLS[2]], columns[CELLS[1]]
        geometric = g_mean(self.by_seed)
        means = self.accuracy, mean_of_known(geometric, axis=0)
        for name, values, resampled in zip(("accuracy", "g_mean"), means, self._resampled):
            low, high = percentiles(resampled.reshape(len(resampled), -1).T, self.confidence)
            columns |= {name: values, f"{name}_low": low, f"{name}_high": high}
        columns["g_mean_undefined"] = np.isnan(geometric).sum(axis=0)
        return level_table(self.levels, self.measures, columns)

    def above(self, first: str, second: str) -> pd.DataFrame:
        """Compare the accuracy of two measures: its difference at each level, with interval and verdict."""
        one, other = self.measures.index(first), self.measures.index(second)
        accurate = self._resampled[0]
        low, high = percentiles((accurate[:, :, one] - accurate[:, :, other]).T, self.confidence)
        return compared(self.levels, self.accuracy[:, one] - self.accuracy[:, other], low, high)

    def confusion(self, level: int, seed: int = 0) -> pd.DataFrame:
        """Return numbers of pairs at the level and for the seed at these positions; two rows for each measure."""
        cells = self.by_seed[:, seed, level].T.reshape(-1, 2)
        truth = ["H₀ accepted by all judgments", "H₀ rejected by all judgments"]
        index = pd.MultiIndex.from_product([self.measures, truth], names=["measure", ""])
        return pd.DataFrame(cells, index, ["H₀ accepted", "H₀ rejected"])

    def knees(self) -> pd.DataFrame:
        """Return the smallest level with an accuracy above 0.9 for each measure."""
        return knee_table(self.levels, self.measures, self.accuracy, accuracy(self.by_seed))


def accuracy(counts: Array) -> Array:
    """Return (C₁₁ + C₂₂)/ΣC of counts [4 × …].

    Examples
    --------
    >>> float(accuracy(np.array([62, 5, 22, 176])).round(3))
    0.898
    """
    return (counts[0] + counts[3]) / counts.sum(axis=0)


def g_mean(counts: Array) -> Array:
    """Return √(TP·P) of counts [4 × …], with TP = C₁₁/(C₁₁ + C₁₂) and P = C₁₁/(C₁₁ + C₂₁).

    It is 0 if C₁₁ = 0 and there are errors. It is NaN if H₀ is never accepted, neither by all judgments nor by the
    remaining ones.

    References
    ----------
    Bompada et al. (2007), section 4.3.

    Examples
    --------
    >>> float(g_mean(np.array([62, 5, 22, 176])).round(3))
    0.826
    """
    accepted = (counts[0] + counts[1]) * (counts[0] + counts[2])
    found = np.where(counts[:3].any(axis=0), 0.0, np.nan)
    return np.divide(counts[0], np.sqrt(accepted), out=found, where=accepted > 0)
