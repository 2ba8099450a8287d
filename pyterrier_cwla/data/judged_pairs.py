"""Look-up of the judged documents of a run."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow.compute as pc

from ..files import id_columns
from ..files.arrow_arrays import to_numpy
from ..files.id_columns import KeyPlaces, PairKeys, may_repeat, of_queries, pieces
from .arrays import Array, distinct
from .columns import Columns
from .run_rows import RunRows, ranges

PIECE = 1 << 19  # number of rows that are looked up together


class JudgedPairs:
    """Judged pairs of query and document, for look-ups.

    Parameters
    ----------
    columns : Columns
        All judgments.
    row_query : ndarray of int, shape (n_judgments,)
        Number of the query of each judgment.
    pair_keys : PairKeys
        Keys of all judgments.
    rows : ndarray of int
        Rows of the judgments to include.
    queries : int
        Number of queries.
    """

    def __init__(self, columns: Columns, row_query: Array, pair_keys: PairKeys, rows: Array, queries: int) -> None:
        self.columns, self.row_query, self.salt = columns, row_query, pair_keys.salt
        self.rows, self.queries = rows, queries
        self.grade = columns.value[rows]
        self.keys = pair_keys.keys[rows]
        self._last_filter: tuple[Array, Array, np.uint64] | None = None  # queries, mask and shift

    def match(self, rows: RunRows) -> tuple[Array, Array]:
        """Return the rows of judged documents of a run, and the indices of their pairs.

        Raises
        ------
        BadRun
            If a document is retrieved twice, unless the search for these is switched off or done.
        """
        hashed = id_columns.hashing(rows.columns.doc_id, self.salt)
        query, added, apart, sizes = rows.judged_query, of_queries(rows.numbers), rows.apart, rows.sizes
        found = [(_NO_ROWS, _NO_ROWS)]
        for piece in pieces(rows.starts, PIECE):
            possible, shift = self._filter(query[piece])
            places, candidates = [], []
            for some in pieces(rows.starts, id_columns.BLOCK, piece):
                start, end = rows.between(some)
                keys = hashed(start, end) + np.repeat(added[some], sizes[some])
                if rows.unchecked:
                    alone = keys if apart is None else keys + np.repeat(apart[some], sizes[some])
                    if may_repeat(alone):
                        rows.refuse_repeats(some, alone)
                hit = np.flatnonzero(possible.take((keys >> shift).view(np.int64), mode="clip"))
                places.append(hit + start)
                candidates.append(keys[hit])
            found.append(self._confirmed(rows, np.concatenate(places), np.concatenate(candidates)))
        rows.unchecked = False
        return np.concatenate([row for row, _ in found]), np.concatenate([pair for _, pair in found])

    def _filter(self, queries: Array) -> tuple[Array, np.uint64]:
        """Return a mask of the upper bits in the keys of the pairs of some queries, and the shift to these bits.

        Most runs answer the queries of the run before, so the last mask is kept.
        """
        queries, last = distinct(queries[queries >= 0]), self._last_filter
        if last is not None and np.array_equal(last[0], queries):
            return last[1:]
        order, first = self._by_query
        keys = self.keys[order[ranges(first[queries], first[queries + 1])]]
        bits = min(max((64 * len(keys)).bit_length(), 10), 20)
        shift = np.uint64(64 - bits)
        possible = np.zeros(1 << bits, bool)
        possible[keys >> shift] = True
        self._last_filter = queries, possible, shift
        return possible, shift

    def _confirmed(self, rows: RunRows, row: Array, keys: Array) -> tuple[Array, Array]:
        """Return the candidate rows that are judged and their pairs; rows with the key of a pair are compared by id."""
        pair = self._places.of(keys)
        row, pair = row[pair >= 0], pair[pair >= 0]
        if not len(row):
            return row, pair
        judged = self.rows[pair]
        start = int(row[0])
        ours = id_columns.taken(rows.columns.doc_id.slice(start, int(row[-1]) - start + 1), row - start)
        same = to_numpy(pc.equal(ours, id_columns.taken(self.columns.doc_id, judged)))
        same &= rows.judged_query[rows.segment(row)] == self.row_query[judged]
        return row[same], pair[same]

    @cached_property
    def _places(self) -> KeyPlaces:
        return KeyPlaces(self.keys)

    @cached_property
    def _by_query(self) -> tuple[Array, Array]:
        """Indices of the pairs in order of queries, and the first one of each query."""
        query = self.row_query[self.rows]
        order = np.argsort(query, kind="stable")
        return order, np.searchsorted(query[order], np.arange(self.queries + 1))


_NO_ROWS = np.zeros(0, np.int64)
