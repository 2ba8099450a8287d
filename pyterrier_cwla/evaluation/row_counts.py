"""Numbers of rows per query and run in tables of runs, counted before the tables are scored."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..files import id_columns
from ..files.arrow_arrays import of_numbers, of_strings, to_numpy
from ..files.run_files import Part

Array = NDArray[Any]
_NONE = pa.nulls(0, pa.large_string())
_NO_ROWS = np.zeros(0, np.int64)


class Counts:
    """Number of rows per query and run, with the first and last table that contains them.

    Queries are numbered in order of first occurrence, run after run.

    Attributes
    ----------
    runs, queries : Arrow array of str
        Names of runs and ids of queries.
    pairs : ndarray of int, shape (n_pairs,)
        Sorted codes of the pairs of run and query: the number of the run times ``len(queries)``, plus the number of the
        query.
    rows, first, last : ndarray of int, shape (n_pairs,)
        Number of rows of each pair, and the numbers of the first and last table with rows of it.
    tables : int
        Number of tables.
    """

    def __init__(self, runs: Any, queries: Any, pairs: Array, rows: Array, first: Array, last: Array, tables: int):
        self.runs, self.queries = runs, queries
        self.pairs, self.rows, self.first, self.last, self.tables = pairs, rows, first, last, tables

    @classmethod
    def of(cls, part: Part) -> Counts:
        """Return the counts of a part; only its ids are read."""
        return cls.total(cls.of_table(table) for table in part.ids())

    @classmethod
    def of_table(cls, table: pa.Table) -> Counts:
        """Return the counts of one table with the columns run and query_id."""
        segments = Segments(table)
        pairs, of_segment = np.unique(segments.pairs, return_inverse=True)
        rows = np.bincount(of_segment, segments.sizes, len(pairs)).astype(np.int64)
        zeros = np.zeros(len(pairs), np.int64)
        return cls(segments.runs, segments.queries, pairs, rows, zeros, zeros, 1)

    @classmethod
    def total(cls, counts: Iterable[Counts]) -> Counts:
        """Return the sum of the counts of consecutive parts."""
        counts = list(counts)
        runs, queries = (
            pa.concat_arrays([_NONE, *(getattr(c, names) for c in counts)]).unique() for names in ("runs", "queries")
        )
        before = np.cumsum([0, *(c.tables for c in counts)])
        pairs = np.concatenate([_NO_ROWS, *(c._pairs_in(runs, queries) for c in counts)])
        order = np.argsort(pairs, kind="stable")
        rows, first, last = (
            np.concatenate([_NO_ROWS, *columns])[order]
            for columns in (
                [c.rows for c in counts],
                [c.first + n for c, n in zip(counts, before)],
                [c.last + n for c, n in zip(counts, before)],
            )
        )
        pairs = pairs[order]
        new = np.append(True, pairs[1:] != pairs[:-1])[: len(pairs)]
        starts = np.flatnonzero(new)
        ends = np.append(starts[1:], len(pairs))[: len(starts)] - 1
        summed = np.add.reduceat(rows, starts) if len(starts) else _NO_ROWS
        return cls(runs, queries, pairs[starts], summed, first[starts], last[ends], int(before[-1]))

    def __add__(self, other: Counts) -> Counts:
        return Counts.total([self, other])

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self.rows.sum())

    def _pairs_in(self, runs: Any, queries: Any) -> Array:
        """Return the codes of the pairs for another numbering of runs and queries."""
        run, query = np.divmod(self.pairs, max(len(self.queries), 1))
        return id_columns.places(self.runs, runs)[run] * len(queries) + id_columns.places(self.queries, queries)[query]

    def places(self, segments: Segments) -> Array:
        """Return the index of each segment's pair in `pairs`, or -1 if it is not there."""
        run, query = id_columns.places(segments.runs, self.runs), id_columns.places(segments.queries, self.queries)
        run, query = run[segments.run], query[segments.query]
        pairs = np.where((run < 0) | (query < 0), -1, run * len(self.queries) + query)
        if not len(self.pairs):
            return np.full(len(pairs), -1)
        at = np.minimum(np.searchsorted(self.pairs, pairs), len(self.pairs) - 1)
        return np.where(self.pairs[at] == pairs, at, -1)

    def of_run(self, run: str) -> tuple[Any, Array]:
        """Return the query ids of a run as Arrow strings, and the number of rows of each."""
        number = id_columns.places(of_strings([run]), self.runs)[0]
        mine = slice(*np.searchsorted(self.pairs, [number * len(self.queries), (number + 1) * len(self.queries)]))
        return self.queries.take(of_numbers(self.pairs[mine] % max(len(self.queries), 1))), self.rows[mine]

    def turns(self, most: int) -> Array:
        """Return the number of the pass over the tables in which the rows of each pair are collected.

        At most `most` rows are held at a time, or twice the length of the longest ranking if that is more.
        """
        cut = np.flatnonzero(self.first < self.last)
        cut = cut[np.argsort(self.first[cut], kind="stable")]
        turn = np.zeros(len(self.pairs), np.int64)
        most = max(most, 2 * int(self.rows[cut].max(initial=0)))
        passes = -(-self._most_held(cut, turn, 1) // most)
        while passes > 1:
            turn[cut] = np.arange(len(cut)) % passes
            if self._most_held(cut, turn, passes) <= most:
                break
            passes += 1
        return turn

    def _most_held(self, cut: Array, turn: Array, passes: int) -> int:
        change = np.zeros((passes, self.tables + 1), np.int64)
        np.add.at(change, (turn[cut], self.first[cut]), self.rows[cut])
        np.add.at(change, (turn[cut], self.last[cut]), -self.rows[cut])
        return int(change.cumsum(axis=1).max())


class Segments:
    """Segments of consecutive rows of a table that belong to one query of one run."""

    def __init__(self, table: pa.Table) -> None:
        runs, queries = table["run"], table["query_id"]
        new = np.ones(len(table), bool)
        new[1:] = id_columns.changes(runs) | id_columns.changes(queries)
        self.starts = np.flatnonzero(new)
        self.sizes = np.diff(np.append(self.starts, len(table)))
        self.run, self.runs = codes_and_names(runs, self.starts)
        self.query, self.queries = codes_and_names(queries, self.starts)
        self.pairs = self.run * max(len(self.queries), 1) + self.query

    def only(self, which: Array, table: pa.Table) -> pa.Table:
        """Return the rows of selected segments, without a copy if these are consecutive.

        Parameters
        ----------
        which : ndarray of bool, shape (n_segments,)
            Mask of the segments.
        table : Table
            Table of the segments.
        """
        chosen = np.flatnonzero(which)
        if not len(chosen):
            return table.slice(0, 0)
        first, last = int(chosen[0]), int(chosen[-1])
        if last - first + 1 > len(chosen):
            return table.take(of_numbers(np.flatnonzero(np.repeat(which, self.sizes))))
        return table.slice(int(self.starts[first]), int(self.sizes[first : last + 1].sum()))

    def name(self, number: int) -> str:
        """Return the run and query of a segment, for error messages."""
        return f"{self.runs[self.run[number]].as_py()}: query {self.queries[self.query[number]].as_py()!r}"


def codes_and_names(names: pa.ChunkedArray, rows: Array) -> tuple[Array, Any]:
    """Return the names of the rows as numbers in order of first occurrence, and the distinct names."""
    encoded = id_columns.written(names.take(of_numbers(rows))).combine_chunks().dictionary_encode()
    return to_numpy(encoded.indices).astype(np.int64), encoded.dictionary
