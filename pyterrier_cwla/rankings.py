"""Aligned rankings as arrays: how long each is, and where which judged documents stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from .errors import BadRun

Array = np.ndarray


@dataclass
class Pool:
    """Everything judged, as arrays: which query, and which grade; unjudged documents are not in it."""

    queries: int
    query: Array  # ascending
    grade: Array
    memory: dict = field(default_factory=dict)

    def remembered(self, key: Any, make: Callable[[], Any]) -> Any:
        if key not in self.memory:
            self.memory[key] = make()
        return self.memory[key]

    @cached_property
    def positive(self) -> tuple[Array, Array]:
        """Query and grade of what is judged above 0: all that can gain anything."""
        above = self.grade > 0
        return (self.query, self.grade) if above.all() else (self.query[above], self.grade[above])

    def totals(self, worth: Callable[[Array], Array], key: Any) -> Array:
        """Σ worth(grade) over all judgments of each query, retrieved or not, uncut."""
        query, grade = self.positive
        return self.remembered(("total", key), lambda: summed(query, worth(grade), self.queries))


@dataclass
class Rankings:
    """Aligned rankings: how many items each query has, and rank and grade of the judged ones ("hits").

    ``start`` are the offsets of each query's hits in ``rank`` and ``grade``; ``words`` and ``efforts`` give
    ``[queries × width]`` values in rank order where rows are at hand.
    """

    n: Array
    query: Array
    rank: Array
    grade: Array
    start: Array
    pool: Pool
    rows: Any = None
    efforts: Callable[[Array, int], Array] | None = None
    views: dict = field(default_factory=dict)
    _gains: dict = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.n)

    @classmethod
    def of_hits(
        cls, n: Array, query: Array, rank: Array, grade: Array, pool: Pool | None = None, **more: Any
    ) -> Rankings:
        """From hits that are in order of query and rank."""
        start = np.concatenate([[0], np.cumsum(np.bincount(query, minlength=len(n)))])
        return cls(n, query, rank, grade, start, pool or Pool(len(n), query, grade), **more)

    @classmethod
    def of_gains(cls, gains: Sequence[Any], pool: Pool | None = None, **more: Any) -> Rankings:
        """From one array of grades or gains per query, in rank order; NaN is an unjudged item."""
        n = np.array([len(ranking) for ranking in gains], np.int64)
        flat = np.concatenate([np.asarray(ranking, float) for ranking in gains]) if len(gains) else np.zeros(0)
        query = np.repeat(np.arange(len(n)), n)
        rank = np.arange(len(flat)) - np.repeat(np.cumsum(n) - n, n) + 1
        judged = ~np.isnan(flat)
        return cls.of_hits(n, query[judged], rank[judged], flat[judged], pool, **more)

    @cached_property
    def last_hit(self) -> Array:
        last = np.zeros(len(self), np.int64)
        some_hits = self.start[1:] > self.start[:-1]
        last[some_hits] = self.rank[self.start[1:][some_hits] - 1]
        return last

    def first(self, k: int) -> Rankings:
        """The same rankings cut after rank k; the judgments stay whole."""
        if self.n.max(initial=0) <= k:
            return self
        keep = self.rank <= k
        cut = Rankings.of_hits(np.minimum(self.n, k), self.query[keep], self.rank[keep], self.grade[keep], self.pool)
        return replace(cut, rows=self.rows, efforts=self.efforts)

    def hits_of(self, queries: Array) -> tuple[Array, Array, Array]:
        """Where the hits of these queries are, the row of each in the selection, and its number within its query."""
        counts = self.start[queries + 1] - self.start[queries]
        row = np.repeat(np.arange(len(queries)), counts)
        number = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        return np.repeat(self.start[queries], counts) + number, row, number

    def gains(self, metric: Any) -> Array:
        """The gains of the hits."""
        key = (metric.gain.key, metric.max_rel)
        if key not in self._gains:
            self._gains[key] = metric.gains(self.grade)
        return self._gains[key]

    def words(self, metric: Any, queries: Array, width: int) -> Array:
        if self.rows is None:
            raise BadRun("documents have no lengths here: give efforts=, a number for each item.")
        return self.rows.words(metric, queries, width)


def summed(query: Array, values: Array, queries: int) -> Array:
    """Σ values of each query, as floats even where there is nothing to sum."""
    return np.bincount(query, values, minlength=queries).astype(float, copy=False)
