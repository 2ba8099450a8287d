"""Rankings as padded matrices, of which two items are swapped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...data.rankings import Array, Pool, Rankings

#: For each rank a, from 0: the changes of M·N, shape (n_queries, n_ranks − a − 1), by swaps of a with the later ranks.
Changes = Iterator[tuple[int, Array]]


@dataclass
class Ranked:
    """Rankings as padded matrices.

    Attributes
    ----------
    n : ndarray of int, shape (n_queries,)
        The number of items of each ranking.
    r, grade : ndarray, shape (n_queries, n_ranks)
        Gains and grades; 0 after the last item.
    e : ndarray, shape (n_queries, n_ranks), or None
        Efforts; None if the effort is uniform.
    topic : ndarray of int, shape (n_queries,)
        The query of each ranking in the pool.
    pool : Pool
        The judgments.
    dtype : dtype, default=float
        The type of values for pairs. Sums of gains and efforts are float64, since C may be discontinuous in them.
    """

    n: Array
    r: Array
    grade: Array
    e: Array | None
    topic: Array
    pool: Pool
    dtype: Any = float

    @cached_property
    def listed(self) -> Array:
        """Mask of the cells with items."""
        return np.asarray(np.arange(self.r.shape[1])[None, :] < self.n[:, None])

    @cached_property
    def gains(self) -> Array:
        """Gains in the type of values for pairs."""
        return self.r.astype(self.dtype)

    @cached_property
    def rankings(self) -> Rankings:
        """Rankings of the relevant items."""
        return self.swapped(np.arange(len(self.n)), None, None)

    def swapped(self, query: Array, a: int | None, b: Array | None) -> Rankings:
        """Return the rankings of queries with the items at ranks a and b swapped (from 0); None swaps nothing."""
        grade, e = self.grade[query], None if self.e is None else self.e[query]
        if a is not None:
            each = np.arange(len(query))
            for values in (grade, e):
                if values is not None:
                    values[each, a], values[each, b] = values[each, b], values[each, a]
        row, column = np.nonzero(grade > 0)
        efforts = None if e is None else lambda queries, width: _widened(e, width)[queries]
        return Rankings.of_hits(
            self.n[query], row, column + 1, grade[row, column], self.pool, efforts=efforts, topic=self.topic[query]
        )


def _widened(e: Array, width: int) -> Array:
    return e[:, :width] if width <= e.shape[1] else np.pad(e, ((0, 0), (0, width - e.shape[1])))
