"""Aligned rankings as arrays: how long each is, and where which judged documents stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import BadRun

Array = np.ndarray


@dataclass
class Pool:
    """Everything judged, as arrays: which query, and which grade; unjudged documents are not in it."""

    queries: int
    query: Array  # ascending
    grade: Array
    judgments: Any = None
    words: Callable[[Any], Array] | None = None
    """The words of all that is judged, as a metric takes them, where the rows of the run have their lengths."""
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

    @property
    def highest(self) -> int | float:
        """The highest grade, or 0: an integer where it is whole."""
        highest = float(self.grade.max(initial=0))
        return int(highest) if highest.is_integer() else highest

    def totals(self, worth: Callable[[Array], Array], key: Any, keep: bool = True) -> Array:
        """Σ worth(grade) over all judgments of each query, retrieved or not, uncut; kept where worth cannot change."""
        query, grade = self.positive

        def total() -> Array:
            return summed(query, worth(grade), self.queries)

        return self.remembered(("total", key), total) if keep else total()


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
    listed_rank: Array | None = None
    """Of a condensed ranking: the ranks that its items had."""
    topic: Array | None = None
    """Where the rankings of several runs are stacked: the query of the pool that each is for."""
    judgment: Array | None = None
    """Which judgment of the pool each hit has, where that is known."""
    place: Array | None = None
    """Where some were left out: the number that each ranking had among all."""
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
        rank = places_within(n) + 1
        judged = ~np.isnan(flat)
        return cls.of_hits(n, query[judged], rank[judged], flat[judged], pool, **more)

    @classmethod
    def stacked(cls, runs: Sequence[Rankings]) -> Rankings:
        """The rankings of several runs by the same judgments, run after run, so that all are scored at once."""
        if len(runs) == 1:
            return runs[0]
        queries = len(runs[0])
        judgment = None
        if all(run.judgment is not None for run in runs):
            judgment = np.concatenate([run.judgment for run in runs])  # type: ignore[misc]
        return cls.of_hits(
            np.concatenate([run.n for run in runs]),
            np.concatenate([run.query + queries * number for number, run in enumerate(runs)]),
            np.concatenate([run.rank for run in runs]),
            np.concatenate([run.grade for run in runs]),
            runs[0].pool,
            rows=StackedRows([run.rows for run in runs]),
            topic=np.tile(np.arange(queries), len(runs)),
            judgment=judgment,
        )

    def of_pool(self, values: Array) -> Array:
        """What is known of each query of the pool, for each ranking."""
        return values if self.topic is None else values[self.topic]

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
        listed = None if self.listed_rank is None else self.listed_rank[keep]
        return self._with(np.minimum(self.n, k), keep, self.rank[keep], listed_rank=listed)

    def only(self, keep: Array) -> Rankings:
        """The same rankings with some of the hits, all where they were."""
        listed = None if self.listed_rank is None else self.listed_rank[keep]
        return self._with(self.n, keep, self.rank[keep], listed_rank=listed)

    def _with(self, n: Array, keep: Array, rank: Array, **more: Any) -> Rankings:
        """The same with some of the hits, at these ranks."""
        judgment = None if self.judgment is None else self.judgment[keep]
        fewer = Rankings.of_hits(n, self.query[keep], rank, self.grade[keep], self.pool, judgment=judgment, **more)
        return replace(fewer, rows=self.rows, efforts=self.efforts, topic=self.topic, place=self.place)

    @cached_property
    def answered(self) -> Rankings:
        """The rankings that hold anything, with the ``place`` that each has among all of these."""
        place = np.flatnonzero(self.n)
        if len(place) == len(self):
            return self
        number = np.cumsum(self.n > 0) - 1
        return Rankings.of_hits(
            self.n[place],
            number[self.query],
            self.rank,
            self.grade,
            self.pool,
            rows=self.rows,
            topic=place if self.topic is None else self.topic[place],
            judgment=self.judgment,
            place=place,
        )

    @cached_property
    def condensed(self) -> Rankings:
        """The rankings without what is not judged, which makes room for the rest to move up.

        They must hold all judged documents. Documents with a grade below 0, trec_eval's mark of what is not judged, are
        left out as well.
        """
        keep = self.grade >= 0
        query = self.query[keep]
        n = np.bincount(query, minlength=len(self))
        rank = places_within(n) + 1
        if self.efforts is not None:
            raise BadRun("judged_only takes no efforts=: leave the unjudged items out of gains and efforts yourself.")
        return self._with(n, keep, rank, listed_rank=self.rank[keep])

    def hits_of(self, queries: Array) -> tuple[Array, Array, Array]:
        """Where the hits of these queries are, the row of each in the selection, and its number within its query."""
        counts = self.start[queries + 1] - self.start[queries]
        row, number = np.repeat(np.arange(len(queries)), counts), places_within(counts)
        return np.repeat(self.start[queries], counts) + number, row, number

    def listed_ranks(self, number: int) -> Array:
        """The ranks that the items of one query's condensed ranking had before."""
        assert self.listed_rank is not None
        return self.listed_rank[self.start[number] : self.start[number + 1]]

    def gains(self, metric: Any) -> Array:
        """The gains of the hits; kept where the function is ours."""
        if not metric.gain.built_in:
            return metric.gains(self.grades(metric))
        key = (metric.gain.key, metric.max_rel, metric.idle_duplicates)
        if key not in self._gains:
            self._gains[key] = metric.gains(self.grades(metric))
        return self._gains[key]

    def grades(self, metric: Any) -> Array:
        """The grades of the hits as far as they are worth something: 0 for duplicates that gain nothing."""
        if metric.idle_duplicates is None:
            return self.grade
        return np.where(self._repeats(metric.idle_duplicates)[self._place_of_hits], 0, self.grade)

    def words(self, metric: Any, queries: Array, width: int) -> Array:
        """The words of the items at ranks 1..width of these queries; 0 for duplicates and where nothing stands."""
        key = ("words", metric.lengths, metric.missing, metric.duplicates)
        if key not in self.views:
            flat = self._rows.words(metric)
            read = flat if metric.duplicates is None else np.where(self._repeats(metric.duplicates), 0.0, flat)
            self.views[key] = np.append(read, 0.0)
        flat = self.views[key]
        inside = np.arange(width)[None, :] < self.n[queries][:, None]
        place = self._first_rows[queries][:, None] + np.arange(width)[None, :]
        if self.listed_rank is not None:
            at, row, column = self.hits_of(queries)
            at, row, column = (values[column < width] for values in (at, row, column))
            place[row, column] = self._place_of_hits[at]
        return flat[np.where(inside, place, -1)]

    def _repeats(self, duplicates: Any) -> Array:
        listed = None if self.listed_rank is None else self._place_of_hits
        return self._rows.repeats(duplicates, listed)

    @cached_property
    def _place_of_hits(self) -> Array:
        """Where the hits stand among all rows in rank order."""
        rank = self.rank if self.listed_rank is None else self.listed_rank
        return self._first_rows[self.query] + rank - 1

    @cached_property
    def _first_rows(self) -> Array:
        """Where each ranking's rows begin."""
        return self._rows.first if self.place is None else self._rows.first[self.place]

    @property
    def _rows(self) -> Any:
        if self.rows is None:
            raise BadRun("documents have no lengths here: give efforts=, a number for each item.")
        return self.rows


class StackedRows:
    """The rows of several runs, run after run."""

    def __init__(self, runs: Sequence[Any]) -> None:
        self.runs = runs
        self.ends = np.cumsum([len(rows.columns) for rows in runs])

    @cached_property
    def first(self) -> Array:
        return np.concatenate([rows.first + end - len(rows.columns) for rows, end in zip(self.runs, self.ends)])

    def words(self, metric: Any) -> Array:
        return np.concatenate([rows.words(metric) for rows in self.runs])

    def repeats(self, duplicates: Any, listed: Array | None = None) -> Array:
        repeats, start = [], 0
        for rows, end in zip(self.runs, self.ends.tolist()):
            mine = None if listed is None else listed[(listed >= start) & (listed < end)] - start
            repeats.append(rows.repeats(duplicates, mine))
            start = end
        return np.concatenate(repeats)


def places_within(sizes: Array) -> Array:
    """0, 1, 2 and so on within each of consecutive groups of these sizes."""
    return np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def summed(query: Array, values: Array, queries: int) -> Array:
    """Σ values of each query, as floats even where there is nothing to sum."""
    return np.bincount(query, values, minlength=queries).astype(float, copy=False)
