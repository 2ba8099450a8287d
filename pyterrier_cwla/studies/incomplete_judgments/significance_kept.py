"""Whether a test of two runs by few judgments concludes what it does by all: confusion, accuracy and g-mean."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from ..resampling import percentiles
from .system_order import compared, knee_table, level_table, mean_of_known

Array = np.ndarray
#: H₀ at 100 % first, then with the judgments at hand; the paper's names of the two errors.
CELLS = ("accepted_accepted", "accepted_rejected", "rejected_accepted", "rejected_rejected")
_CHUNK = 1 << 21


@dataclass(frozen=True, eq=False)
class PairTests:
    """Which of the pairs of runs differ significantly at each level of judgments.

    ``p`` [seeds × levels × measures × pairs], all judgments of the pair's pool at the last level.
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
        return self.p <= self.alpha

    @cached_property
    def by_seed(self) -> Array:
        """C(1,1), C(1,2), C(2,1), C(2,2) [4 × seeds × levels × measures]: rows H₀ accepted, rejected at 100 %."""
        return self._cases.sum(axis=-1)

    @cached_property
    def _cases(self) -> Array:
        now, truly = self.rejected, self.rejected[:, -1:]
        return np.stack([~truly & ~now, ~truly & now, truly & ~now, truly & now])

    @cached_property
    def accuracy(self) -> Array:
        """Its mean over the seeds [levels × measures]."""
        return accuracy(self.by_seed).mean(axis=0)

    @cached_property
    def _resampled(self) -> tuple[Array, Array]:
        """Accuracy and g-mean [resamples × levels × measures] of pairs that are drawn anew, and of each pair drawn the
        holes of one seed.
        """
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
            counts = flat @ times.reshape(len(cells), -1).T  # whole numbers, which even these floats hold
            counts = counts.reshape(4, levels, measures, len(drawn), seeds).transpose(0, 3, 4, 1, 2).astype(float)
            found.append((accuracy(counts).mean(axis=1), mean_of_known(g_mean(counts), axis=1)))
        accurate, geometric = zip(*found, strict=True)
        return np.concatenate(accurate), np.concatenate(geometric)

    def table(self) -> pd.DataFrame:
        """A row for each level and measure: the confusion, accuracy and g-mean, means over the seeds.

        False positives are C(2,1), H₀ rejected by all judgments and accepted now; false negatives C(1,2). g-mean is
        the mean over the seeds for which it is defined; ``g_mean_undefined`` says for how many it is not.
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
        """Whether a measure is the more accurate: the difference of accuracy at each level, and yes or no."""
        one, other = self.measures.index(first), self.measures.index(second)
        accurate = self._resampled[0]
        low, high = percentiles((accurate[:, :, one] - accurate[:, :, other]).T, self.confidence)
        return compared(self.levels, self.accuracy[:, one] - self.accuracy[:, other], low, high)

    def confusion(self, level: int, seed: int = 0) -> pd.DataFrame:
        """Numbers of pairs at the level of this number and for the seed of this number; two rows for each measure."""
        cells = self.by_seed[:, seed, level].T.reshape(-1, 2)
        truth = ["H₀ accepted by all judgments", "H₀ rejected by all judgments"]
        index = pd.MultiIndex.from_product([self.measures, truth], names=["measure", ""])
        return pd.DataFrame(cells, index, ["H₀ accepted", "H₀ rejected"])

    def knees(self) -> pd.DataFrame:
        """The smallest level with an accuracy above 0.9, for each measure."""
        return knee_table(self.levels, self.measures, self.accuracy, accuracy(self.by_seed))


def accuracy(counts: Array) -> Array:
    """(C₁₁ + C₂₂)/ΣC of counts [4 × …].

    >>> float(accuracy(np.array([62, 5, 22, 176])).round(3))
    0.898
    """
    return (counts[0] + counts[3]) / counts.sum(axis=0)


def g_mean(counts: Array) -> Array:
    """√(TP·P) of counts [4 × …], TP = C₁₁/(C₁₁ + C₁₂), P = C₁₁/(C₁₁ + C₂₁).

    0 where C₁₁ = 0 and there are errors; NaN where there is nothing to find: H₀ is never accepted, by all judgments or
    now.

    Source: Bompada et al. (2007), section 4.3.

    >>> float(g_mean(np.array([62, 5, 22, 176])).round(3))
    0.826
    """
    accepted = (counts[0] + counts[1]) * (counts[0] + counts[2])
    found = np.where(counts[:3].any(axis=0), 0.0, np.nan)
    return np.divide(counts[0], np.sqrt(accepted), out=found, where=accepted > 0)
