"""Rows of a run, grouped by query and sorted in rank order, with the lengths of their documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np

from ..errors import BadRun, MissingLength, shown, some
from ..files import id_columns
from ..files.arrow_arrays import of_numbers
from ..files.id_columns import repeated
from .columns import Array, Columns, Floats, descending_in_groups, distinct, run_columns
from .duplicates import Duplicates
from .lengths import Lengths, NumberTable, ReplacedLengths
from .rankings import Judged, MetricLike, PoolJudgments, RankedRows, Rankings, RowsWithLengths, remembered


def words_of_rows(
    metric: MetricLike,
    rows: RowsWithLengths,
    read: Array | None = None,
    note: Callable[[str, ReplacedLengths], None] | None = None,
    quantity: type[NumberTable] = Lengths,
) -> Floats:
    """Return the words of the documents of a run in row order, or their seconds.

    They come from the table of the metric, else from the run's column doc_length, else from the default table. All
    lengths of a run have one source. Seconds come from the table of the metric, else from the column doc_seconds.

    Parameters
    ----------
    metric : MetricLike
        Metric that reads the lengths.
    rows : RowsWithLengths
        Rows of a run.
    read : ndarray of bool, shape (n_rows,), optional
        Mask of the rows whose length the metric reads; by default all. Other rows may have no length.
    note : callable, optional
        Function of the name of the table and the number of lengths that the mean replaces, for ``missing="mean"``.
    quantity : type of NumberTable, default=Lengths
        Number to return for each document.

    Raises
    ------
    MissingLength
        If a length is missing and ``metric.missing`` is "error", or if a length is negative or infinite.
    MissingSeconds
        The same for seconds.
    """
    needed = np.repeat(rows.query >= 0, rows.sizes)
    if read is not None:
        needed &= read
    if not needed.any():
        return np.zeros(len(needed))
    table, column = quantity.table_of(metric), getattr(rows, quantity.column)
    if table is None and column is None:
        table = quantity.default_of(metric)
    if table is not None:
        words = table.of_documents(rows.doc_id)
    elif column is not None:
        words = np.asarray(column, float)
    else:
        raise quantity.error(
            f"the {quantity.nouns} of documents are needed: give {quantity.what}=, a table, a path or a name,"
            f" {quantity.ways}"
        )
    if metric.missing == "mean" and note is not None:
        holes = np.flatnonzero(np.isnan(words) & needed)
        first = rows.pair(int(holes[0])) if len(holes) else ("", "")
        key, name = "", None
        if table is not None:
            key, name = table.name, "" if table.anonymous and table.path is None else shown(table.name)
        key = key if quantity is Lengths else f"{quantity.column} {key}"
        note(key, ReplacedLengths(len(holes), int(needed.sum()), *first, name, quantity))
    if metric.missing != "mean" and not needed.all():  # lengths of unjudged queries are not used
        words = np.where(needed, words, 0.0)
    return _without_holes(words, needed, metric, table, rows.pair, quantity)


def words_of_pool(metric: MetricLike, rankings: Rankings, quantity: type[NumberTable] = Lengths) -> Floats:
    """Return the words, or the seconds, of all judged documents in the order of the pool, for ideal rankings.

    Raises
    ------
    MissingLength
        If a length is missing and ``metric.missing`` is "error", or if a length is negative or infinite.
    """
    pool = rankings.pool
    judgments = cast(PoolJudgments, pool.judgments)
    table, known = quantity.table_of(metric), pool.words if quantity is Lengths else None
    if table is None and known is None and rankings.rows is not None and not rankings.rows.has_doc_length:
        table = quantity.default_of(metric)
    if table is None and known is not None:
        words = known(metric)
    elif table is None or rankings.rows is None:
        raise quantity.error(
            f"norm='ideal' needs the {quantity.noun} of every judged document, retrieved or not: give"
            f" {quantity.what}=, a table. A column {quantity.column} of the run has the {quantity.nouns} of"
            " retrieved documents only."
        )
    else:
        words = table.of_documents(judgments.columns.doc_id)[judgments.pool_order]
    duplicates = metric.duplicates
    if duplicates is not None and metric.duplicate_gain == "keep" and quantity is Lengths:
        repeated = duplicates.repeated(judgments.columns.doc_id)[judgments.pool_order]
        words = np.where(repeated, 0.0, words)  # an upper bound: copies take no time
    if metric.missing == "mean" and table is not None and len(words) and np.isnan(words).all():
        raise quantity.error(
            f"no judged document is in the table of {quantity.nouns}. Is the table of another collection?"
        )
    # In the ideal ranking of time-biased gain, documents without gain come last, where their time has no influence.
    needed = metric.gains(pool.grade) > 0 if metric.decays else np.ones(len(words), bool)

    row = np.arange(len(words))[judgments.pool_order]
    return _without_holes(words, needed, metric, table, lambda at: judgments.columns.pair(row[at]), quantity)


def _without_holes(
    words: Array,
    needed: Array,
    metric: MetricLike,
    table: NumberTable | None,
    describe: Callable[[int], tuple[str, str]],
    quantity: type[NumberTable],
) -> Array:
    """Return the words with missing ones replaced as ``metric.missing`` requires; `needed` masks required lengths."""
    if words.min(initial=0) >= 0 and words.max(initial=0) < np.inf:  # false if a number is NaN
        return words
    odd = np.flatnonzero((words < 0) | np.isinf(words))
    if len(odd):
        topic, document = describe(int(odd[0]))
        raise quantity.error(
            f"topic {topic!r}: the {quantity.noun} of {document!r} is {words[odd[0]]:g}: {quantity.nouns} are"
            f" {quantity.unit}, 0 or more."
        )
    holes = np.isnan(words)
    if not holes.any():
        return words
    if metric.missing == "mean":
        known = words[~holes]
        mean = table.mean if table is not None else known.mean() if len(known) else np.nan
        if np.isnan(mean):
            noun = quantity.noun
            raise quantity.error(f"no document has a {noun}, so there is no mean {noun} for missing='mean'.")
        return np.where(holes, mean, words)
    lacking = np.flatnonzero(holes & needed)
    if not len(lacking):
        return np.where(holes, 0.0, words)
    topic, _ = describe(int(lacking[0]))
    examples = [document for t, document in (describe(int(at)) for at in lacking[:8]) if t == topic]
    almost_none = table is not None and len(lacking) > 0.9 * needed.sum() > 9
    question = " Is the table of another collection?" if almost_none else ""
    raise quantity.error(
        f"{quantity.readers} needs the {quantity.noun} of every document, and {len(lacking):,} of"
        f" {int(needed.sum()):,} have none (topic {topic!r}: {some(examples, 2)}).{question} Give"
        f" {quantity.what}=, a table that has them, read fewer documents with @k, or give missing='mean'."
    )


class Groups(NamedTuple):
    """Rows of a run, where the rows of each query are consecutive.

    Attributes
    ----------
    columns : Columns
        Rows.
    starts : ndarray of int, shape (n_groups,)
        First row of each query.
    names : list of str
        Queries.
    query : ndarray of int, shape (n_groups,)
        Number of each query, or -1 if it is not judged.
    """

    columns: Columns
    starts: Array
    names: list[str]
    query: Array

    @classmethod
    def of(cls, run: Any, index: Mapping[str, int]) -> Groups:
        """Return the rows of a run; `index` has the number of each judged query."""
        columns = run if isinstance(run, Columns) else run_columns(run)
        starts, names = columns.queries()
        if len(set(names)) < len(names):  # rows of a query are not consecutive
            number = {name: i for i, name in enumerate(dict.fromkeys(names))}
            sizes = np.diff(np.append(starts, len(columns)))
            order = np.argsort(np.repeat([number[name] for name in names], sizes), kind="stable")
            columns = columns.taken(order)
            starts, names = columns.queries()
        return cls(columns, starts, names, np.array([index.get(name, -1) for name in names], np.int64))


class RunRows(RankedRows):
    """Rows of a run, grouped by query; rows within a query are sorted only as far as needed.

    Parameters
    ----------
    judgments : Judged
        Judgments of the queries.
    groups : Groups
        Rows of the run.
    check : bool
        Whether to search all rankings for repeated documents.
    """

    def __init__(self, judgments: Judged, groups: Groups, check: bool) -> None:
        self.judgments = judgments
        self.columns, self.names, self.query = groups.columns, groups.names, groups.query
        self.doc_id, self.doc_length = self.columns.doc_id, self.columns.doc_length
        self.doc_seconds = self.columns.doc_seconds
        self.replaced_lengths: dict[str, ReplacedLengths] = {}  # by name of the table; "" for the column
        self.starts = groups.starts
        self.ends = np.append(groups.starts[1:], len(self.columns)).astype(np.int64)
        with np.errstate(over="ignore"):
            self.score = np.asarray(self.columns.value, np.float32)
        self._moved: tuple[Array, Array] | None = None  # rows that are not at the place of their rank, and these places
        self._sort_scores()
        self._ordered = False
        self.unchecked = check
        """Whether the search for repeated documents is pending; it is part of the look-up of documents."""

    @property
    def apart(self) -> Array | None:
        """Summand of each group in the keys of pairs by which repeated documents are found; None for a single run."""
        return None

    @property
    def judged_query(self) -> Array:
        """Number of the judged query of each group, or -1."""
        return self.query

    @property
    def numbers(self) -> Array:
        """Number of the query of each group; queries without judgments have higher numbers than judged ones."""
        query = self.judged_query
        return np.where(query < 0, len(self.judgments.qids) + np.arange(len(query)), query)

    def between(self, queries: slice) -> tuple[int, int]:
        """Return the first row of a range of queries, and the row after the last."""
        return int(self.starts[queries.start]), int(self.ends[queries.stop - 1])

    def segment(self, row: Array) -> Array:
        """Return the index in the run of the query of each row; rows are in ascending order."""
        before = np.searchsorted(row, np.append(self.starts, len(self.columns)))
        return np.repeat(np.arange(len(self.starts)), np.diff(before))

    def _sort_scores(self) -> None:
        """Sort the queries whose scores do not descend; ties keep their order."""
        score, starts = self.score, self.starts
        if not len(score):
            return
        descends = score[1:] <= score[:-1]
        descends[starts[1:] - 1] = True
        if not descends.all() or np.isnan(score[starts]).any():
            if np.isnan(score).any():
                row = int(np.flatnonzero(np.isnan(score))[0])
                raise BadRun(
                    f"{self.columns.describe(row)} has the score NaN: every document needs a number to be ranked by."
                )
            unsorted = distinct(self.segment(np.flatnonzero(~descends)))
            rows = ranges(starts[unsorted], self.ends[unsorted])
            group = np.repeat(unsorted, self.sizes[unsorted])
            places = np.empty(len(rows), np.int64)
            places[descending_in_groups(group, score[rows])] = rows
            self._moved = rows, places
            self.score = score.copy()
            self.score[places] = score[rows]

    def _place(self, row: Array) -> Array:
        """Return the places of rows once the rows of each query are in rank order."""
        if self._moved is None:
            return row
        rows, places = self._moved
        at = np.minimum(np.searchsorted(rows, row), len(rows) - 1)
        return np.where(rows[at] == row, places[at], row)

    def _sort_ties(self, place: Array | None) -> None:
        """Sort equal scores by document id, descending, for ties with one of these places, or for all ties (None)."""
        if self._ordered:
            return
        if place is None:
            below = self.tied
            tied = np.flatnonzero(below | np.append(below[1:], False)[: len(below)])
        else:
            tied = self._tied_with(np.sort(place))
        if len(tied):
            row_at = self._rows_at(tied)
            order = id_columns.order_in_groups(self._levels(tied), self.doc_id.take(of_numbers(row_at)))
            self._move(row_at[order], tied)
        self._ordered = place is None

    def _tied_with(self, place: Array) -> Array:
        """Return the places whose score ties with one of the given places in the same query."""
        score, last = self.score, len(self.score) - 1
        segment = self.segment(place)
        up = (place > self.starts[segment]) & (score[np.maximum(place - 1, 0)] == score[place])
        down = (place < self.ends[segment] - 1) & (score[np.minimum(place + 1, last)] == score[place])
        if not (up | down).any():
            return np.zeros(0, np.int64)
        segments = distinct(segment[up | down])
        rows = ranges(self.starts[segments], self.ends[segments])
        group = self._levels(rows)
        wanted = np.zeros(group[-1] + 1, bool)
        wanted[group[np.searchsorted(rows, place[up | down])]] = True
        places: Array = rows[wanted[group]]
        return places

    def _levels(self, place: Array) -> Array:
        """Return the number of the score of each place; places ascend, and have all documents of their scores."""
        new = (self.score[place[1:]] != self.score[place[:-1]]) | (np.diff(self.segment(place)) > 0)
        return np.cumsum(np.append(True, new))

    def _rows_at(self, places: Array) -> Array:
        if self._moved is None:
            return places
        rows, moved_to = self._moved
        order = np.argsort(moved_to)
        at = np.minimum(np.searchsorted(moved_to, places, sorter=order), len(order) - 1)
        candidate = order[at]
        return np.where(moved_to[candidate] == places, rows[candidate], places)

    def _move(self, rows: Array, places: Array) -> None:
        if self._moved is not None:
            old_rows, old_places = self._moved
            stay = ~np.isin(old_rows, rows)
            rows, places = np.concatenate([rows, old_rows[stay]]), np.concatenate([places, old_places[stay]])
        order = np.argsort(rows)
        self._moved = rows[order], places[order]

    def in_rank_order(self, values: Array) -> Array:
        """Return the values of rows, grouped by query in rank order."""
        self._sort_ties(None)
        if self._moved is None:
            return values
        rows, places = self._moved
        ordered = values.copy()
        ordered[places] = values[rows]
        return ordered

    @property
    def tied(self) -> Array:
        """Whether each row, in rank order, has the score (as float32) of the row above it in its ranking."""
        tied = np.append(False, self.score[1:] == self.score[:-1])[: len(self.score)]
        tied[self.starts[self.starts < len(tied)]] = False
        return tied

    @cached_property
    def scores(self) -> Array:
        """Score of each row as float64, in rank order."""
        return self.in_rank_order(np.asarray(self.columns.value, float))

    @property
    def answered(self) -> Array:
        """Mask of the judged queries that the run answers."""
        return np.isin(np.arange(len(self.judgments.qids)), self.query)

    @property
    def has_doc_length(self) -> bool:
        """Whether the run has a column of document lengths."""
        return self.doc_length is not None

    def words(self, metric: MetricLike, quantity: type[NumberTable] = Lengths) -> Array:
        """Return the words, or the seconds, of all documents, grouped by query in rank order.

        Below the last rank that the metric reads, documents may have no length. Their words are then 0.
        """
        last = None if metric.judged_only or metric.missing == "mean" else metric.last_that_counts
        try:
            return super().words(metric, quantity)
        except MissingLength:
            if last is None:
                raise

        def words() -> Array:
            row = self.in_rank_order(np.arange(len(self.columns)))
            read = np.zeros(len(row), bool)
            read[row] = np.arange(len(row)) - np.repeat(self.starts, self.sizes) < last
            return self.in_rank_order(words_of_rows(metric, self, read, quantity=quantity))

        return remembered(self._flat, (*quantity.key(metric), "up to", last), words)

    def words_of_rows(self, metric: MetricLike, quantity: type[NumberTable] = Lengths) -> Array:
        """Return the words, or the seconds, of all documents, in the order of the rows."""
        return words_of_rows(metric, self, note=self.replaced_lengths.__setitem__, quantity=quantity)

    def clusters(self, duplicates: Duplicates) -> Array:
        """Return a code per document, in the order of the rows, that is equal for duplicates."""
        return duplicates.clusters(self.columns.doc_id, self.columns.duplicate_of)

    def pair(self, row: int) -> tuple[str, str]:
        """Return the query and document of a row."""
        return self.columns.pair(row)

    def _refuse_twice(self, row: int) -> None:
        raise BadRun(f"{self.columns.describe(row)} is retrieved twice: keep one row of each document.")

    def refuse_repeats(self, queries: slice, keys: Array) -> None:
        """Raise BadRun if a document occurs twice in a ranking of these queries; `keys` are the keys of their pairs."""
        start, end = self.between(queries)
        segment = np.repeat(np.arange(queries.start, queries.stop), self.sizes[queries])
        repeat = repeated(keys, self.columns.doc_id.slice(start, end - start), segment)
        if repeat is not None:
            self._refuse_twice(start + repeat)


def ranges(starts: Array, ends: Array) -> Array:
    """Return the numbers start..end − 1 of each range, concatenated."""
    sizes = ends - starts
    rows: Array = np.arange(sizes.sum()) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
    return rows
