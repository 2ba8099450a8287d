"""Rows of runs: documents grouped by query, sorted by score only as far as needed."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import Any, cast

import numpy as np
import pyarrow as pa

from ..errors import BadRun
from ..files import id_columns
from ..files.arrow_arrays import chunks_of, of_numbers
from ..files.id_columns import repeated
from .columns import Array, Columns, descending_in_groups, distinct, numbers, run_columns, strings
from .duplicates import RUN, Duplicates
from .lengths import ReplacedLengths


class Rows:
    """Documents of one run, or of several, grouped by query; those of a query are sorted only as far as needed.

    Documents are sorted by score (as float32) descending, ties by document id descending, or in the order of the rows
    if these have no ids.

    Parameters
    ----------
    columns : Columns
        Rows, where those of each query of each run are consecutive. Labelled rows need no ids.
    starts : ndarray of int, shape (n_groups,)
        First row of each query of each run.
    names : list of str
        Query of each group.
    index : mapping of str to int
        Number of each judged query by its id.
    run : ndarray of int, shape (n_groups,), optional
        Number of the run of each group, for several runs.
    runs : int, default=1
        Number of runs.
    check : bool, default=False
        Whether to search all rankings for repeated documents; the search is part of the look-up of documents.
    query : ndarray of int, shape (n_groups,), optional
        Number of the judged query of each group, or -1; by default looked up by name.
    order : ndarray of int, shape (n_rows,), optional
        For labelled rows: their numbers in the data of the user.
    memory : dict, optional
        Cached values that do not depend on scores. Labelled rows share it with the same rows of other scores.

    Attributes
    ----------
    query : ndarray of int, shape (n_groups,)
        Index of the query of each group in the judged queries, or -1 if it is not judged. The indices of the second run
        begin after those of the first one, and so on.
    judged_query : ndarray of int, shape (n_groups,)
        Number of the judged query of each group, or -1.
    starts, ends : ndarray of int, shape (n_groups,)
        First row of each group, and the row after the last.
    hits : dict
        Judged documents, by judgments; see :meth:`Judgments.hits`.

    Raises
    ------
    BadRun
        If a score is NaN.
    """

    def __init__(
        self,
        columns: Columns,
        starts: Array,
        names: list[str],
        index: Mapping[str, int],
        *,
        run: Array | None = None,
        runs: int = 1,
        check: bool = False,
        query: Array | None = None,
        order: Array | None = None,
        memory: dict[Hashable, Any] | None = None,
    ) -> None:
        self.columns, self.starts, self.names = columns, starts, names
        self.ends = np.append(starts[1:], len(columns)).astype(np.int64)
        self.queries, self.runs, self.unchecked, self.order = len(index), runs, check, order
        self.judged_query = np.array([index.get(name, -1) for name in names], np.int64) if query is None else query
        self.run = np.zeros(len(names), np.int64) if run is None else run
        self.query = np.where(self.judged_query < 0, -1, self.run * self.queries + self.judged_query)
        self.memory: dict[Hashable, Any] = {} if memory is None else memory
        self.in_order: dict[Hashable, Array] = {}  # cached values of the documents in rank order
        self.hits: dict[Hashable, tuple[Array, Array, Array]] = {}
        self.score: Array  # as float32, in rank order
        self._moved: tuple[Array, Array] | None  # rows that are not at the place of their rank, and these places
        self._sort()

    @classmethod
    def from_run(cls, run: Any, index: Mapping[str, int], check: bool = True) -> Rows:
        """Return the rows of a DataFrame, dict of dicts, iterable of named tuples, or Columns.

        Raises
        ------
        BadRun
            If the run cannot be used.
        """
        return cls(*_grouped(run), index, check=check)

    @classmethod
    def from_dicts(cls, runs: Sequence[Mapping[str, Mapping[str, Any]]], index: Mapping[str, int]) -> Rows:
        """Return the rows of several runs of the form ``{query: {document: score}}``, which are aligned together.

        Raises
        ------
        BadRun
            If a run cannot be used. The error does not name the run; that of :meth:`from_run` does.
        """
        rankings = _listed(run.values() for run in runs)
        queries = strings(_listed(runs), "query_id", "run", BadRun)
        doc_id = strings(_listed(rankings), "doc_id", "run", BadRun)
        value = numbers(_listed(documents.values() for documents in rankings), "score", "run", BadRun)
        sizes = np.array(list(map(len, rankings)), np.int64)
        query_id = pa.DictionaryArray.from_arrays(np.repeat(np.arange(len(sizes)), sizes), queries)
        some = np.flatnonzero(sizes)  # queries without documents have no group
        starts, names = (np.cumsum(sizes) - sizes)[some], queries.take(of_numbers(some)).to_pylist()
        run = np.repeat(np.arange(len(runs)), list(map(len, runs)))[some]
        # Keys of a dict do not repeat, so that there is nothing to check.
        return cls(Columns(query_id, doc_id, value), starts, names, index, run=run, runs=len(runs))

    @classmethod
    def from_tables(cls, runs: Sequence[Any], index: Mapping[str, int]) -> Rows:
        """Return the rows of several runs in tables, of which only ids and scores are read.

        Raises
        ------
        BadRun
            As for :meth:`from_dicts`.
        """
        parts, starts, names = zip(*map(_grouped, runs), strict=True)
        if len({part.value.dtype.kind for part in parts}) > 1:
            raise BadRun("some scores are whole numbers, and some are not: large ones would be rounded twice.")
        before = np.cumsum([0, *map(len, parts)])
        query_id, doc_id = (
            pa.concat_arrays(_listed(chunks_of(id_columns.written(column)) for column in ids))
            for ids in ([part.query_id for part in parts], [part.doc_id for part in parts])
        )
        columns = Columns(query_id, doc_id, np.concatenate([part.value for part in parts]))
        first = np.concatenate([of_run + start for of_run, start in zip(starts, before)])
        run = np.repeat(np.arange(len(runs)), list(map(len, starts)))
        return cls(columns, first, _listed(names), index, run=run, runs=len(runs), check=True)

    @property
    def sizes(self) -> Array:
        """Number of rows of each group."""
        return self.ends - self.starts

    @cached_property
    def first(self) -> Array:
        """First row of each judged query of each run."""
        first = np.zeros(self.runs * self.queries, np.int64)
        first[self.query[self.query >= 0]] = self.starts[self.query >= 0]
        return first

    @cached_property
    def answered(self) -> Array:
        """Mask of the judged queries that each run answers, of shape (n_runs, n_queries)."""
        found = np.zeros(self.runs * self.queries, bool)
        found[self.query[self.query >= 0]] = True
        return found.reshape(self.runs, -1)

    @property
    def numbers(self) -> Array:
        """Number of the query of each group; queries without judgments have higher numbers than judged ones."""
        query = self.judged_query
        return np.where(query < 0, self.queries + np.arange(len(query)), query)

    @property
    def replaced_lengths(self) -> dict[str, ReplacedLengths]:
        """Lengths that the mean replaces, by name of the table; "" for the column of the run."""
        return cast(dict[str, ReplacedLengths], self.memory.setdefault("replaced lengths", {}))

    @property
    def unknown_passages(self) -> dict[int, dict[str, ReplacedLengths]]:
        """Passages without a probability of abstention, by number of the run and name of the table."""
        return cast(dict[int, dict[str, ReplacedLengths]], self.memory.setdefault("unknown passages", {}))

    def between(self, groups: slice) -> tuple[int, int]:
        """Return the first row of a range of groups, and the row after the last."""
        return int(self.starts[groups.start]), int(self.ends[groups.stop - 1])

    def segment(self, row: Array) -> Array:
        """Return the group of each row; rows are in ascending order."""
        before = np.searchsorted(row, np.append(self.starts, len(self.score)))
        return np.repeat(np.arange(len(self.starts)), np.diff(before))

    def pair(self, row: int) -> tuple[str, str]:
        """Return the query and document of a row, or its number if documents have no ids."""
        query = self.names[int(np.searchsorted(self.starts, row, side="right")) - 1]
        if self.columns.doc_id is None:
            return query, f"row {row if self.order is None else self.order[row]}"
        return query, self.columns.doc_id[row].as_py()

    def with_scores(self, value: Array) -> Rows:
        """Return the same rows with other scores, such as predictions, which are in no order."""
        if "all rows" not in self.memory:
            self.memory["all rows"] = self._all_rows()
        other = copy(self)
        other.columns, other.in_order, other.hits = replace(self.columns, value=value), {}, {}
        other._sort(self.memory["all rows"])
        return other

    def _sort(self, some: tuple[Array, Array] | None = None) -> None:
        """Sort rows by score, given with their groups; by default those of the queries whose scores do not descend."""
        with np.errstate(over="ignore"):
            score = self.score = np.asarray(self.columns.value, np.float32)
        rows, group = some or self._unsorted()
        self._ordered, self._moved = self.columns.doc_id is None, None
        if not len(rows):
            return
        if len(rows) == len(score):
            order = descending_in_groups(group, score)
            self.score = score[order]
        else:
            order = descending_in_groups(group, score[rows])
            self.score = score.copy()
            self.score[rows] = score[rows[order]]
        places = np.empty(len(rows), np.int64)
        places[order] = rows
        self._moved = rows, places

    def _all_rows(self) -> tuple[Array, Array]:
        return np.arange(len(self.score)), np.repeat(np.arange(len(self.starts)), self.sizes)

    def _unsorted(self) -> tuple[Array, Array]:
        """Return the rows of the queries whose scores do not descend, and the group of each."""
        score, starts = self.score, self.starts
        descends = score[1:] <= score[:-1]
        descends[starts[1:] - 1] = True
        if descends.all() and not np.isnan(score[starts]).any():
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        if np.isnan(score).any():
            row = int(np.flatnonzero(np.isnan(score))[0])
            raise BadRun(
                f"{self.columns.describe(row)} has the score NaN: every document needs a number to be ranked by."
            )
        before = np.searchsorted(np.flatnonzero(~descends), np.append(starts, len(score)))
        unsorted = np.flatnonzero(np.diff(before))
        if 2 * len(unsorted) > len(starts):
            return self._all_rows()
        return ranges(starts[unsorted], self.ends[unsorted]), np.repeat(unsorted, self.sizes[unsorted])

    def place(self, row: Array) -> Array:
        """Return the places of rows once the rows of each query are in rank order."""
        if self._moved is None:
            return row
        rows, places = self._moved
        if len(rows) == len(self.score):
            return places[row]
        at = np.minimum(np.searchsorted(rows, row), len(rows) - 1)
        return np.where(rows[at] == row, places[at], row)

    def sort_ties(self, place: Array | None) -> None:
        """Sort equal scores by document id, descending, for ties with one of these places, or for all ties (None)."""
        if self._ordered:
            return
        if place is None or self.order is not None:  # predictions tie so often that looking for some ties takes longer
            below = self.tied
            tied = np.flatnonzero(below | np.append(below[1:], False)[: len(below)])
            level = np.cumsum(~below)[tied]
        else:
            tied = self._tied_with(np.sort(place))
            level = self._levels(tied)
        if len(tied):
            row_at = self.rows_at(tied)
            order = id_columns.order_in_groups(level, self.columns.doc_id.take(of_numbers(row_at)))
            self._move(row_at[order], tied)
        self._ordered = place is None or self.order is not None

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
        """Return numbers of groups of equal scores; places ascend, and contain each group of a query completely."""
        new = (self.score[place[1:]] != self.score[place[:-1]]) | (np.diff(self.segment(place)) > 0)
        return np.cumsum(np.append(True, new))

    def rows_at(self, places: Array) -> Array:
        """Return the rows at these places, as far as they are sorted."""
        if self._moved is None:
            return places
        rows, moved_to = self._moved
        if len(rows) == len(self.score):
            row_at = np.empty_like(rows)
            row_at[moved_to] = rows
            return row_at[places]
        order = np.argsort(moved_to)
        at = np.minimum(np.searchsorted(moved_to, places, sorter=order), len(order) - 1)
        candidate = order[at]
        return np.where(moved_to[candidate] == places, rows[candidate], places)

    def _move(self, rows: Array, places: Array) -> None:
        if self._moved is not None:
            old_rows, old_places = self._moved
            if len(old_rows) == len(self.score):
                new_places = old_places.copy()
                new_places[rows] = places
                self._moved = old_rows, new_places
                return
            stay = ~np.isin(old_rows, rows)
            rows, places = np.concatenate([rows, old_rows[stay]]), np.concatenate([places, old_places[stay]])
        order = np.argsort(rows)
        self._moved = rows[order], places[order]

    def in_rank_order(self, values: Array) -> Array:
        """Return the values of rows, grouped by query in rank order."""
        self.sort_ties(None)
        if self._moved is None:
            return values
        rows, places = self._moved
        ordered = values.copy()
        ordered[places] = values[rows]
        return ordered

    def of_query(self, query: int) -> Array:
        """Return the rows of a judged query in rank order, by its number; none if the run does not answer it."""
        group = np.flatnonzero(self.query == query)
        place = ranges(self.starts[group], self.ends[group])
        self.sort_ties(place)
        return self.rows_at(place)

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

    @cached_property
    def places_by_exact_score(self) -> Array:
        """Place of each row, in rank order, if scores are compared as float64, and ties are broken by ascending id."""
        tied = self.tied
        place = np.arange(len(tied))
        new = np.append(~tied, True)
        among = np.flatnonzero(~(new[:-1] & new[1:]))  # rows that tie as float32
        later = among if self.columns.doc_id is None else -among
        order = np.lexsort((later, -self.scores[among], np.cumsum(new[:-1])[among]))
        place[among[order]] = among
        return place

    def repeats(self, duplicates: Duplicates, listed: Array | None = None) -> Array:
        """Return whether each row, in rank order, duplicates an earlier row of its ranking.

        Parameters
        ----------
        duplicates : Duplicates
            Table of duplicates.
        listed : ndarray of int, optional
            Rows to compare; all by default.
        """
        key = ("clusters", duplicates)
        if key not in self.in_order:
            columns = self.columns
            codes = np.arange(len(columns))  # documents without ids are in no table
            if columns.doc_id is not None or duplicates.name == RUN:
                codes = duplicates.clusters(columns.doc_id, columns.duplicate_of)
            self.in_order[key] = self.in_rank_order(codes)
        clusters = self.in_order[key]
        listed = np.arange(len(clusters)) if listed is None else listed
        cluster = clusters[listed]
        segment = np.searchsorted(self.starts, listed, side="right")
        _, first = np.unique(segment * (int(cluster.max(initial=0)) + 1) + cluster, return_index=True)
        repeats = np.zeros(len(clusters), bool)
        repeats[np.delete(listed, first)] = True
        return repeats

    def refuse_twice(self, row: int) -> None:
        """Raise BadRun for a document that a run retrieves twice."""
        raise BadRun(
            f"{self.columns.describe(row)} is retrieved twice: keep one row of each document. Several runs of one table"
            " are given by name: {'name': rows, …}."
        )

    def refuse_repeats(self, groups: slice, keys: Array) -> None:
        """Raise BadRun if a document occurs twice in a ranking of these groups; `keys` are the keys of their pairs."""
        start, end = self.between(groups)
        segment = np.repeat(np.arange(groups.start, groups.stop), self.sizes[groups])
        repeat = repeated(keys, self.columns.doc_id.slice(start, end - start), segment)
        if repeat is not None:
            self.refuse_twice(start + repeat)


def _grouped(run: Any) -> tuple[Columns, Array, list[str]]:
    """Return the columns of a run with the rows of each query together, their first rows, and the queries."""
    columns = run if isinstance(run, Columns) else run_columns(run)
    starts, names = columns.queries()
    if len(set(names)) < len(names):  # rows of a query are not consecutive
        number = {name: i for i, name in enumerate(dict.fromkeys(names))}
        sizes = np.diff(np.append(starts, len(columns)))
        order = np.argsort(np.repeat([number[name] for name in names], sizes), kind="stable")
        columns = columns.taken(order)
        starts, names = columns.queries()
    return columns, starts, names


def _listed(parts: Iterable[Iterable[Any]]) -> list[Any]:
    return list(chain.from_iterable(parts))


def is_dict_of_dicts(run: Any) -> bool:
    """Return whether a run has the form ``{query: {document: score}}``."""
    return isinstance(run, Mapping) and all(isinstance(documents, Mapping) for documents in run.values())


def ranges(starts: Array, ends: Array) -> Array:
    """Return the numbers start..end − 1 of each range, concatenated."""
    sizes = ends - starts
    skipped = starts - (np.cumsum(sizes) - sizes)
    rows: Array = np.arange(sizes.sum())
    return rows + np.repeat(skipped, sizes) if skipped.any() else rows
