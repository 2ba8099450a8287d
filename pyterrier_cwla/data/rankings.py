"""Aligned rankings as arrays, and the interface of ranked rows for measures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from ..errors import BadRun
from ..files.id_columns import Ids
from .columns import Array, Columns, Floats
from .duplicates import Duplicates
from .lengths import Lengths, NumberTable, Seconds


class MetricLike(Protocol):
    """Choices of a metric that depend on documents: gains, lengths and duplicates."""

    @property
    def gain(self) -> Hashable:
        """Gain function; ``built_in`` says whether its results may be cached."""

    @property
    def max_rel(self) -> float | None:
        """Highest grade."""

    @property
    def lengths(self) -> Lengths | None:
        """Table of document lengths."""

    @property
    def default_lengths(self) -> Lengths | None:
        """Table for runs without a column doc_length, if ``lengths`` is None."""

    @property
    def doc_seconds(self) -> Seconds | None:
        """Table of known costs."""

    @property
    def missing(self) -> str:
        """Treatment of documents without length: "error" or "mean"."""

    @property
    def judged_only(self) -> bool:
        """Whether unjudged documents are left out before ranks are counted."""

    @property
    def last_that_counts(self) -> int | None:
        """Last rank with a document that counts, if there is one."""

    @property
    def duplicates(self) -> Duplicates | None:
        """Table of duplicate documents."""

    @property
    def duplicate_gain(self) -> str:
        """Gain of duplicates: "keep" or "none"."""

    @property
    def idle_duplicates(self) -> Duplicates | None:
        """Table of duplicates whose gain is 0, if any."""

    @property
    def decays(self) -> bool:
        """Whether users leave with effort alone and count all gains, as in time-biased gain."""

    def gains(self, grade: Array) -> Floats:
        """Return the gain of each grade."""


class PoolJudgments(Protocol):
    """Judgments of a pool, to look up document lengths."""

    @property
    def columns(self) -> Columns:
        """Columns of the judgments."""

    @property
    def pool_order(self) -> Array | slice:
        """Rows of the judgments in the order of the pool."""


class RowsWithLengths(Protocol):
    """Rows of a run, grouped by query, with document lengths."""

    @property
    def query(self) -> Array:
        """Index of the query of each group in the judged queries, or -1."""

    @property
    def sizes(self) -> Array:
        """Number of rows of each group."""

    @property
    def doc_id(self) -> Ids:
        """Document ids."""

    @property
    def doc_length(self) -> Array | None:
        """Lengths of documents in words."""

    @property
    def doc_seconds(self) -> Array | None:
        """Known costs of documents in seconds."""

    def pair(self, row: int) -> tuple[str, str]:
        """Return the query and document of a row."""


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
    judgments : Judgments, optional
        Judgments of the grades.
    words : callable, optional
        Function from a metric to the words of all judged documents, for rows that contain document lengths.
    memory : dict
        Cached values.
    """

    queries: int
    query: Array
    grade: Array
    judgments: PoolJudgments | None = None
    words: Callable[[MetricLike], Array] | None = None
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
    """Aligned rankings: the number of items of each, and the ranks and grades of judged items ("hits").

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
    rows : RankedRows or StackedRows, optional
        Rows of the run, for words and duplicates.
    efforts : callable, optional
        Function from rankings and a width to given efforts in rank order, of shape (n_queries, width).
    listed_rank : ndarray of int, shape (n_hits,), optional
        For condensed rankings: the rank of each hit before unjudged items were removed.
    topic : ndarray of int, shape (n_rankings,), optional
        For stacked rankings of several runs: the query in the pool of each ranking.
    judgment : ndarray of int, shape (n_hits,), optional
        Index in the pool of the judgment of each hit.
    place : ndarray of int, shape (n_rankings,), optional
        Index of each ranking before some were left out.
    views : dict
        Cached values.
    """

    n: Array
    query: Array
    rank: Array
    grade: Array
    start: Array
    pool: Pool
    rows: RankedRows | StackedRows | None = None
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
            rows=StackedRows([cast(RankedRows, run.rows) for run in runs]),
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
        """Rankings that are not empty; ``place`` is the index of each in these rankings."""
        return self if self.n.all() else self.some_answered

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
            place=place,
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
        if self.rows is None or not len(self.rank):
            return self.rank, self.rank
        tied = self.rows.tied
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
        places: Array = self._rows.places_by_exact_score[self.place_of_hits]
        return places - self._first_rows[self.query] + 1

    @cached_property
    def exact_scores(self) -> Array:
        """Score of each hit as float64."""
        return self._rows.scores[self.place_of_hits]

    def row_words(self, metric: MetricLike, quantity: type[NumberTable]) -> Array:
        """Return the words, or the seconds, of all rows in rank order."""
        return self._rows.words(metric, quantity)

    def repeats(self, duplicates: Duplicates) -> Array:
        """Return whether each row, in rank order, duplicates an earlier row of its ranking."""
        return self._rows.repeats(duplicates, None if self.listed_rank is None else self.place_of_hits)

    @cached_property
    def place_of_hits(self) -> Array:
        """Indices of the hits in all rows in rank order."""
        rank = self.rank if self.listed_rank is None else self.listed_rank
        places: Array = self._first_rows[self.query] + rank - 1
        return places

    @cached_property
    def _first_rows(self) -> Array:
        """First row of each ranking."""
        return self._rows.first if self.place is None else self._rows.first[self.place]

    @property
    def _rows(self) -> RankedRows | StackedRows:
        if self.rows is None:
            raise BadRun("documents have neither lengths nor known costs here: give efforts=, a number for each item.")
        return self.rows


class StackedRows:
    """Concatenated rows of several runs."""

    def __init__(self, runs: Sequence[RankedRows]) -> None:
        self.runs = runs
        sizes = [int(rows.sizes.sum()) for rows in runs]
        self.ends = np.cumsum(sizes)
        self._starts = self.ends - sizes

    @cached_property
    def first(self) -> Array:
        """First row of each judged query of each run."""
        return np.concatenate([rows.first + start for rows, start in zip(self.runs, self._starts)])

    @property
    def has_doc_length(self) -> bool:
        """Whether a run has a column of document lengths."""
        return any(rows.has_doc_length for rows in self.runs)

    @cached_property
    def tied(self) -> Array:
        """Whether each row has the score of the row above it in its ranking."""
        return np.concatenate([rows.tied for rows in self.runs])

    @cached_property
    def scores(self) -> Array:
        """Score of each row as float64."""
        return np.concatenate([rows.scores for rows in self.runs])

    @cached_property
    def places_by_exact_score(self) -> Array:
        """Place of each row if scores are compared as float64, and ties are broken by ascending id."""
        return np.concatenate([rows.places_by_exact_score + start for rows, start in zip(self.runs, self._starts)])

    def words(self, metric: MetricLike, quantity: type[NumberTable] = Lengths) -> Array:
        """Return the words, or the seconds, of all documents, in rank order."""
        return np.concatenate([rows.words(metric, quantity) for rows in self.runs])

    def repeats(self, duplicates: Duplicates, listed: Array | None = None) -> Array:
        """Return whether each row duplicates an earlier row of its ranking; see :meth:`RankedRows.repeats`."""
        repeats = []
        for rows, start, end in zip(self.runs, self._starts, self.ends):
            mine = None if listed is None else listed[(listed >= start) & (listed < end)] - start
            repeats.append(rows.repeats(duplicates, mine))
        return np.concatenate(repeats)


def may_be_cached(key: tuple[Hashable, ...]) -> bool:
    """Return whether all functions of the language in a key are built in; functions of users may change."""
    return all(getattr(part, "built_in", True) for part in key)


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


class Judged(Protocol):
    """Judgments that measures are prepared for."""

    @property
    def qids(self) -> list[str]:
        """Ids of the judged queries."""

    @property
    def pool(self) -> Pool:
        """Grades of the judged documents."""

    @property
    def intents(self) -> Sequence[tuple[dict[int, str], Judged]]:
        """Judgments of each intent; see :attr:`Judgments.intents`."""

    def check_grades(self, max_rel: float, way_out: str = "") -> None:
        """Raise BadJudgments if a grade is above `max_rel`; the way out is a larger ``max_rel`` by default."""


class RankedRows(ABC):
    """Rows of one run, or of several, grouped by query.

    Attributes
    ----------
    judgments : Judged
        Judgments of the queries.
    query : ndarray of int, shape (n_groups,)
        Index of the query of each group in the judged queries, or -1 if it is not judged. For rows of several runs, the
        indices of the second run begin after those of the first one, and so on.
    starts, ends : ndarray of int, shape (n_groups,)
        First row of each group, and the row after the last.
    """

    judgments: Judged
    query: Array
    starts: Array
    ends: Array
    runs: int = 1
    """Number of runs."""

    @abstractmethod
    def rankings(self, all_judged: bool = False, judgments: Judged | None = None) -> Rankings:
        """Return the ranks and grades of relevant documents, or of all judged documents.

        Parameters
        ----------
        all_judged : bool, default=False
            Whether to include judged documents that are not relevant.
        judgments : Judged, optional
            Other judgments of the same queries.
        """

    @abstractmethod
    def in_rank_order(self, values: Array) -> Array:
        """Return the values of rows, grouped by query in rank order."""

    @property
    def sizes(self) -> Array:
        """Number of rows of each group."""
        return self.ends - self.starts

    @cached_property
    def first(self) -> Array:
        """First row of each judged query."""
        first = np.zeros(self.runs * len(self.judgments.qids), np.int64)
        first[self.query[self.query >= 0]] = self.starts[self.query >= 0]
        return first

    @property
    @abstractmethod
    def tied(self) -> Array:
        """Whether each row, in rank order, has the score of the row above it in its ranking."""

    @property
    @abstractmethod
    def scores(self) -> Array:
        """Score of each row as float64, in rank order."""

    @property
    def ties_are_by_id(self) -> bool:
        """Whether rows of equal scores are sorted by descending id; if not, documents have no ids."""
        return True

    @cached_property
    def places_by_exact_score(self) -> Array:
        """Place of each row, in rank order, if scores are compared as float64, and ties are broken by ascending id."""
        place = np.arange(len(self.tied))
        new = np.append(~self.tied, True)
        among = np.flatnonzero(~(new[:-1] & new[1:]))  # rows that tie as float32
        later = -among if self.ties_are_by_id else among
        order = np.lexsort((later, -self.scores[among], np.cumsum(new[:-1])[among]))
        place[among[order]] = among
        return place

    @property
    @abstractmethod
    def has_doc_length(self) -> bool:
        """Whether the rows have a column of document lengths."""

    def words(self, metric: MetricLike, quantity: type[NumberTable] = Lengths) -> Array:
        """Return the words, or the seconds, of all documents, grouped by query in rank order."""
        return remembered(
            self._flat, quantity.key(metric), lambda: self.in_rank_order(self.words_of_rows(metric, quantity))
        )

    @abstractmethod
    def words_of_rows(self, metric: MetricLike, quantity: type[NumberTable] = Lengths) -> Array:
        """Return the words, or the seconds, of all documents, in the order of the rows."""

    @abstractmethod
    def clusters(self, duplicates: Duplicates) -> Array:
        """Return a code per document, in the order of the rows, that is equal for duplicates."""

    def repeats(self, duplicates: Duplicates, listed: Array | None = None) -> Array:
        """Return whether each row, in rank order, duplicates an earlier row of its ranking.

        Parameters
        ----------
        duplicates : Duplicates
            Table of duplicates.
        listed : ndarray of int, optional
            Rows to compare; all by default.
        """
        clusters = remembered(
            self._flat, ("clusters", duplicates), lambda: self.in_rank_order(self.clusters(duplicates))
        )
        rows = len(clusters)
        listed = np.arange(rows) if listed is None else listed
        cluster = clusters[listed]
        segment = np.searchsorted(self.starts, listed, side="right")
        _, first = np.unique(segment * (int(cluster.max(initial=0)) + 1) + cluster, return_index=True)
        repeats = np.zeros(rows, bool)
        repeats[np.delete(listed, first)] = True
        return repeats

    @cached_property
    def _flat(self) -> dict[Hashable, Array]:
        return {}
