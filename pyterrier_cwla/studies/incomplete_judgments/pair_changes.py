"""Changes of the differences of pairs of runs by the judgment of one more document, and pairs that are still open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .possible_changes import Candidates

Array = np.ndarray
DEVIATIONS = 3
"""Standard deviations by which the scores of two runs must differ for their order to count as settled."""
_CELLS = 1 << 22  # differences per chunk


@dataclass(frozen=True, eq=False)
class PairChanges:
    """Changes of mean scores if one document gets a grade.

    Attributes
    ----------
    documents : ndarray of int, shape (n,)
        Documents, as indices of judgments.
    grades : tuple of float
        Grades, the highest last.
    changes : ndarray, shape (grades, n, runs)
        Change of the mean score of each run.
    """

    documents: Array
    grades: tuple[float, ...]
    changes: Array

    @classmethod
    def of(cls, candidates: Candidates, judged: Array, which: Array, grades: Sequence[float]) -> PairChanges:
        """Compute the changes of all documents of the mask ``which`` if those of the mask ``judged`` are judged."""
        topics = candidates.masking.queries
        parts = [list(candidates.changes(judged, grade, which)) for grade in grades]
        nothing = np.zeros((0, len(candidates.masking.runs)))
        documents = np.concatenate([np.zeros(0, np.int64), *(found for found, _ in parts[0])])
        values = [np.concatenate([nothing, *(changes for _, changes in part)]) / topics for part in parts]
        return cls(documents, tuple(grades), np.stack(values))

    def sums(self) -> tuple[Array, Array, Array]:
        """Return, for each pair of runs, sums over documents of changes of the difference by the highest grade.

        Returns
        -------
        falls, rises : ndarray, shape (runs, runs)
            Sum of the negative and of the positive changes of the first run's score minus the second run's.
        squares : ndarray, shape (runs, runs)
            Sum of the squared changes.
        """
        runs = self.changes.shape[-1]
        rises, squares = np.zeros((2, runs, runs))
        for part in self._chunks(runs):
            changes = self.changes[-1, part]
            for run in range(runs):
                apart = changes[:, [run]] - changes
                rises[run] += np.maximum(apart, 0).sum(axis=0)
                squares[run] += (apart * apart).sum(axis=0)
        return -rises.T, rises, squares

    def largest(self, compared: Array) -> tuple[Array, Array, Array, Array]:
        """Return the largest and the mean change of a difference by each document.

        Parameters
        ----------
        compared : ndarray of int, shape (pairs, 2)
            Pairs of runs, ordered by the first run.

        Returns
        -------
        largest : ndarray, shape (grades, n)
            Largest absolute change of the difference of a pair.
        mean : ndarray, shape (grades, n)
            Mean of the absolute changes over the pairs.
        pair, grade : ndarray of int, shape (n,)
            Index of the pair whose difference changes most, and of the grade by which it does.
        """
        shape = self.changes.shape[:2]
        largest, mean, pair = np.full(shape, -1.0), np.zeros(shape), np.zeros(shape, np.int64)
        first, starts = np.unique(compared[:, 0], return_index=True)
        for level, changes in enumerate(self.changes):
            for part in self._chunks(changes.shape[-1]):
                for run, start, seconds in zip(first, starts, np.split(compared[:, 1], starts[1:]), strict=True):
                    apart = np.abs(changes[part][:, [run]] - changes[part][:, seconds])
                    best = apart.argmax(axis=1)
                    value = np.take_along_axis(apart, best[:, None], axis=1)[:, 0]
                    more = value > largest[level, part]
                    largest[level, part] = np.where(more, value, largest[level, part])
                    pair[level, part] = np.where(more, start + best, pair[level, part])
                    mean[level, part] += apart.sum(axis=1) / len(compared)
        grade = largest.argmax(axis=0)
        return largest, mean, pair[grade, np.arange(len(grade))], grade

    def _chunks(self, runs: int) -> list[slice]:
        step = max(_CELLS // max(runs, 1), 1)
        return [slice(start, start + step) for start in range(0, len(self.documents), step)]


def are_open(differences: Array, squares: Array) -> Array:
    """Return whether judgments may still change the order of two runs.

    A document that changes a difference by 0 to δ adds a variance of at most δ²/4. If judgments were independent, the
    standard deviation of what they add would be at most √(Σ δ²)/2. A pair is settled if its difference is larger than
    three times this number. This is a rule to choose documents by, not a test.

    Parameters
    ----------
    differences : ndarray
        Differences of the mean scores.
    squares : ndarray, of the same shape
        Σ δ² over the unjudged documents.
    """
    open_pairs: Array = np.abs(differences) < DEVIATIONS * np.sqrt(squares) / 2
    return open_pairs
