"""Aligned rankings as arrays: the ranks and grades of judged documents, and columns of all documents in rank order."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, chain
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from ..errors import BadParameter, BadRun
from .columns import Array, Columns, distinct
from .duplicates import Duplicates
from .rows import Rows

T = TypeVar("T")


@dataclass
class Pool:
    """Grades of all judged documents, ordered by query.

    Attributes
    ----------
    queries : int
        Number of queries.
    query : ndarray of int, shape (n_judged,)
        Index of the query of each judged document, ascending.
    grade : ndarray, shape (n_judged,)
        Grades.
    columns : Columns, optional
        Judged documents, to look up their lengths; for labelled rows all rows.
    rows : ndarray of int, shape (n_judged,)
        Row of each judged document in these columns.
    memory : dict
        Cached values.
    """

    queries: int
    query: Array
    grade: Array
    columns: Columns | None = None
    rows: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    memory: dict[Hashable, Any] = field(default_factory=dict)

    def remembered(self, key: tuple[Hashable, ...], make: Callable[[], T]) -> T:
        """Return the value of a key, computed by `make` the first time, as :func:`remembered`."""
        return remembered(self.memory, key, make)

    @cached_property
    def positive(self) -> tuple[Array, Array]:
        """Query and grade of all documents with a grade above 0, which alone can have a gain."""
        above = self.grade > 0
        if above.all():
            return self.query, self.grade
        at = np.flatnonzero(above)  # faster than two arrays by a mask
        return self.query[at], self.grade[at]

    @cached_property
    def chances(self) -> Array | None:
        """Probabilities of grades, of shape [judged documents × grades], or None if all grades are certain."""
        chances = None if self.columns is None else self.columns.chances
        return None if chances is None else chances[self.rows]

    @property
    def highest(self) -> int | float:
        """Highest grade, or 0 without judgments; an integer if it is whole."""
        highest = float(self.grade.max(initial=0))
        return int(highest) if highest.is_integer() else highest

    def totals(self, worth: Callable[[Array], Array], key: tuple[Hashable, ...]) -> Array:
        """Return Σ worth(grade) over all judged documents of each query, retrieved or not.

        Parameters
        ----------
        worth : callable
            Function from grades to gains.
        key : tuple of hashable
            Key of the cached totals, with the functions of the language that `worth` calls.
        """
        query, grade = self.positive
        return self.remembered(("total", *key), lambda: summed(query, worth(grade), self.queries))


@dataclass
class Rankings:
    """Aligned rankings: the number of items of each, and the ranks and grades of its hits.

    Hits are the items of grades above 0, or all judged items if all were matched with the judgments.

    Attributes
    ----------
    n : ndarray of int, shape (n_rankings,)
        Number of items of each ranking.
    query, rank, grade : ndarray, shape (n_hits,)
        Ranking, rank (from 1) and grade of each hit, ordered by ranking and rank.
    start : ndarray of int, shape (n_rankings + 1,)
        Index of the first hit of each ranking.
    pool : Pool
        Grades of all judged documents.
    rows : tuple of Rows
        Rows of the runs, for words, scores and duplicates; empty for lists of gains.
    efforts : callable, optional
        Function from rankings and a width to given efforts in rank order, of shape (n_queries, width).
    listed_rank : ndarray of int, shape (n_hits,), optional
        For condensed rankings: the rank of each hit before unjudged items were removed.
    topic : ndarray of int, shape (n_rankings,), optional
        For stacked rankings of several runs: the query in the pool of each ranking.
    judgment : ndarray of int, shape (n_hits,), optional
        Index in the pool of the judgment of each hit.
    place : ndarray of int, shape (n_rankings,), optional
        Index of each ranking in the rows, if some were left out or repeated.
    views : dict
        Cached values.
    """

    n: Array
    query: Array
    rank: Array
    grade: Array
    start: Array
    pool: Pool
    rows: tuple[Rows, ...] = ()
    efforts: Callable[[Array, int], Array] | None = None
    listed_rank: Array | None = None
    topic: Array | None = None
    judgment: Array | None = None
    place: Array | None = None
    views: dict[Hashable, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.n)

    @classmethod
    def of_hits(
        cls, n: Array, query: Array, rank: Array, grade: Array, pool: Pool | None = None, **more: Any
    ) -> Rankings:
        """Return rankings from hits that are ordered by query and rank."""
        return cls(n, query, rank, grade, _starts(query, len(n)), pool or Pool(len(n), query, grade), **more)

    @classmethod
    def of_gains(cls, gains: Sequence[ArrayLike], pool: Pool | None = None, **more: Any) -> Rankings:
        """Return rankings from one array of grades or gains per query, in rank order; NaN marks an unjudged item."""
        lists = [np.asarray(ranking, float) for ranking in gains]
        n = np.array([len(ranking) for ranking in lists], np.int64)
        flat = np.concatenate(lists) if lists else np.zeros(0)
        query = np.repeat(np.arange(len(n)), n)
        rank = places_within(n) + 1
        judged = ~np.isnan(flat)
        return cls.of_hits(n, query[judged], rank[judged], flat[judged], pool, **more)

    @classmethod
    def stacked(cls, runs: Sequence[Rankings]) -> Rankings:
        """Return the concatenated rankings of several runs with the same judgments."""
        if len(runs) == 1:
            return runs[0]
        queries = len(runs[0])
        names = ["n", "rank", "grade", *(["judgment"] if all(run.judgment is not None for run in runs) else [])]
        return cls.of_hits(
            query=np.concatenate([run.query + queries * number for number, run in enumerate(runs)]),
            pool=runs[0].pool,
            rows=tuple(chain.from_iterable(run.rows for run in runs)),
            topic=np.tile(np.arange(queries), len(runs)),
            **{name: np.concatenate([getattr(run, name) for run in runs]) for name in names},
        )

    def of_pool(self, values: Array) -> Array:
        """Return values of queries of the pool, repeated for each ranking."""
        return values if self.topic is None else values[self.topic]

    @cached_property
    def last_hit(self) -> Array:
        """Rank of the last hit of each ranking, or 0."""
        last = np.zeros(len(self), np.int64)
        some_hits = self.start[1:] > self.start[:-1]
        last[some_hits] = self.rank[self.start[1:][some_hits] - 1]
        return last

    def first(self, k: int) -> Rankings:
        """Return the rankings cut after rank k, with all judgments."""
        if self.n.max(initial=0) <= k:
            return self
        return self._kept(np.minimum(self.n, k), self.rank <= k)

    def only(self, keep: Array) -> Rankings:
        """Return the rankings with some of the hits, at the same ranks."""
        return self._kept(self.n, keep)

    def regraded(self, grades: Callable[[Array], Array], key: Hashable) -> Rankings:
        """Return the rankings with other grades of the same judgments.

        The rankings must contain all judged documents, because grades of 0 and below may become positive.

        Parameters
        ----------
        grades : callable
            Function from grades to the new grades.
        key : hashable
            Key under which the new grades of all judged documents are cached.
        """
        pool, whole = self.pool, ("regraded", key)

        def regrade() -> Rankings:
            other = pool.remembered(whole, lambda: replace(pool, grade=grades(pool.grade), memory={}))
            return replace(self, grade=grades(self.grade), pool=other, views={})

        return remembered(self.views, whole, regrade)

    def emptied(self, which: Array) -> Rankings:
        """Return the rankings, without the items of those where `which` is true."""
        return self._kept(np.where(which, 0, self.n), ~which[self.query])

    def _kept(self, n: Array, keep: Array) -> Rankings:
        """Return the rankings with these numbers of items and some of the hits, at the same ranks."""
        names = ("query", "rank", "grade", "listed_rank", "judgment")
        known = {name: values[keep] for name in names if (values := getattr(self, name)) is not None}
        return replace(self, n=n, start=_starts(known["query"], len(n)), views={}, **known)

    @property
    def answered(self) -> Rankings:
        """Rankings that are not empty."""
        return self if self.n.all() else self.some_answered

    @property
    def place_in_rows(self) -> Array:
        """Index of each ranking among those of the rows; rankings of the same rows may repeat."""
        return np.arange(len(self)) if self.place is None else self.place

    @cached_property
    def some_answered(self) -> Rankings:
        """Rankings that are not empty, as new rankings."""
        place = np.flatnonzero(self.n)
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
            place=self.place_in_rows[place],
        )

    @cached_property
    def condensed(self) -> Rankings:
        """Rankings without unjudged items; the remaining items move up.

        The rankings must contain all judged documents. Documents with a grade below 0, which trec_eval uses for
        unjudged documents, are left out as well.
        """
        if self.efforts is not None:
            raise BadRun("judged_only takes no efforts=: leave the unjudged items out of gains and efforts yourself.")
        keep = self.grade >= 0
        n = np.bincount(self.query[keep], minlength=len(self))
        fewer = self._kept(n, keep)
        return replace(fewer, rank=places_within(n) + 1, listed_rank=fewer.rank)

    def hits_of(self, queries: Array) -> tuple[Array, Array, Array]:
        """Return the indices of the hits of some queries, the position of each query, and the number within it."""
        first = self.start[queries]
        counts = self.start[queries + 1] - first
        number = places_within(counts)
        return np.repeat(first, counts) + number, np.repeat(np.arange(len(queries)), counts), number

    def listed_ranks(self, number: int) -> Array:
        """Return the ranks of the items of one condensed ranking before unjudged items were removed."""
        assert self.listed_rank is not None
        return self.listed_rank[self.start[number] : self.start[number + 1]]

    def at_ranks(self, values: Array, queries: Array, width: int) -> Array:
        """Return values of rows, in rank order, at ranks 1..width of some queries; 0 below the last item.

        Returns
        -------
        ndarray of shape (n_queries, width)
            Values.
        """
        inside = np.arange(width)[None, :] < self.n[queries][:, None]
        place = self._first_rows[queries][:, None] + np.arange(width)[None, :]
        if self.listed_rank is not None:
            at, row, column = self.hits_of(queries)
            at, row, column = (found[column < width] for found in (at, row, column))
            place[row, column] = self.place_of_hits[at]
        if not len(values):
            return np.zeros(place.shape)
        return np.where(inside, values[np.where(inside, place, 0)], 0.0)

    @cached_property
    def tied_ranks(self) -> tuple[Array, Array]:
        """First and last rank of the documents that tie with each hit; rankings without scores have no ties."""
        if not self.rows or not len(self.rank):
            return self.rank, self.rank
        tied = self.of_rows(lambda rows: rows.tied)
        starts = np.flatnonzero(~tied)  # the first row of each level, of documents with one score
        ends = np.append(starts[1:], len(tied))
        level = np.searchsorted(starts, self.place_of_hits, side="right") - 1
        if self.listed_rank is None:
            offset = self._first_rows[self.query] - 1
            return starts[level] - offset, ends[level] - 1 - offset
        new = np.append(True, (np.diff(level) != 0) | (np.diff(self.query) != 0))
        group = np.cumsum(new) - 1  # all items of a condensed ranking are hits
        return self.rank[new][group], self.rank[np.append(new[1:], True)][group]

    @cached_property
    def exact_ranks(self) -> Array:
        """Rank of each hit if scores are compared as float64, and ties are broken by ascending id."""
        places = [rows.places_by_exact_score + before for before, rows in self._rows_after]
        return np.concatenate(places)[self.place_of_hits] - self._first_rows[self.query] + 1

    @cached_property
    def exact_scores(self) -> Array:
        """Score of each hit as float64."""
        return self.of_rows(lambda rows: rows.scores)[self.place_of_hits]

    @property
    def have_doc_length(self) -> bool:
        """Whether the rows of a run have a column of document lengths."""
        return any(rows.columns.doc_length is not None for rows in self.rows)

    def repeats(self, duplicates: Duplicates) -> Array:
        """Return whether each row, in rank order, duplicates an earlier row of its ranking."""
        if self.listed_rank is None:
            return self.of_rows(lambda rows: rows.repeats(duplicates))
        if self.place is not None and len(distinct(self.place)) < len(self.place):
            raise BadParameter("duplicates= and judged_only= cannot be combined when judgments are missing.")
        repeats = []
        for before, rows in self._rows_after:
            listed = self.place_of_hits - before
            listed = listed[(listed >= 0) & (listed < len(rows.columns))]
            repeats.append(rows.repeats(duplicates, listed))
        return np.concatenate(repeats)

    def of_rows(self, column: Callable[[Rows], Array]) -> Array:
        """Return a column of all documents, in rank order, run after run."""
        columns = [column(rows) for _, rows in self._rows_after]
        return columns[0] if len(columns) == 1 else np.concatenate(columns)

    @cached_property
    def place_of_hits(self) -> Array:
        """Indices of the hits in all rows in rank order."""
        rank = self.rank if self.listed_rank is None else self.listed_rank
        places: Array = self._first_rows[self.query] + rank - 1
        return places

    @property
    def place_of_items(self) -> Array:
        """Indices of the items of all rankings, one ranking after the other, in all rows in rank order."""
        return np.repeat(self._first_rows, self.n) + places_within(self.n)

    @cached_property
    def _first_rows(self) -> Array:
        """First row of each ranking."""
        first = np.concatenate([rows.first + before for before, rows in self._rows_after])
        return first if self.place is None else first[self.place]

    @property
    def _rows_after(self) -> list[tuple[int, Rows]]:
        """Rows of the runs, each with the number of rows before them."""
        if not self.rows:
            raise BadRun("documents have neither lengths nor known costs here: give efforts=, a number for each item.")
        before = accumulate((len(rows.columns) for rows in self.rows), initial=0)
        return list(zip(before, self.rows))


def may_be_cached(key: tuple[Hashable, ...]) -> bool:
    """Return whether all functions of the language in a key are built in; functions of users may change."""
    return all(may_be_cached(part) if isinstance(part, tuple) else getattr(part, "built_in", True) for part in key)


def remembered(memory: dict[Hashable, Any], key: tuple[Hashable, ...], make: Callable[[], T]) -> T:
    """Return the value of a key in a cache, computed by `make` the first time, or always if it must not be cached."""
    if not may_be_cached(key):
        return make()
    if key not in memory:
        memory[key] = make()
    return cast(T, memory[key])


def _starts(query: Array, queries: int) -> Array:
    """Return the index of the first hit of each ranking, and the number of hits; hits are ordered by ranking."""
    return np.append(0, np.cumsum(np.bincount(query, minlength=queries)))


def places_within(sizes: Array) -> Array:
    """Return the numbers 0, 1, 2 … within consecutive groups of the given sizes."""
    places: Array = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return places


def summed(query: Array, values: Array, queries: int) -> Array:
    """Return the sum of values per query, as floats even if there are no values."""
    return np.bincount(query, values, minlength=queries).astype(float, copy=False)
