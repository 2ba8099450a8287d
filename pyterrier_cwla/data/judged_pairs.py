"""Pairs of query and document as 64-bit keys: which are judged, and which stand twice; keys decide nothing alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import count, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow.compute as pc

from ..files import id_columns

if TYPE_CHECKING:
    from .alignment import Judgments, Rows

Array = np.ndarray
PIECE = 1 << 19  # rows whose queries' judged pairs are looked up together
_OF_QUERY = np.uint64(0xD6E8FEB86659FD93)


def of_queries(numbers: Array) -> Array:
    """What the number of a query adds to the hash of a document to make the key of the pair."""
    return numbers.astype(np.uint64) * _OF_QUERY


def pieces(starts: Array, size: int, within: slice = slice(None)) -> Iterator[slice]:
    """The groups of rows that begin at `starts`, as many at a time as have about `size` rows."""
    first, last, _ = within.indices(len(starts))
    ends = np.flatnonzero(np.diff(starts[first:last] // size)) + first + 1
    return (slice(a, b) for a, b in pairwise([first, *ends.tolist(), last] if last > first else []))


def first_repeat(documents: Any, starts: Array) -> int | None:
    """The first row whose document stands earlier in the same group of rows."""
    bounds = np.append(starts, len(documents))
    sizes, added = np.diff(bounds), of_queries(np.arange(len(starts)))
    hashed = id_columns.hashing(documents)
    for some in pieces(starts, id_columns.BLOCK):
        start, end = int(bounds[some.start]), int(bounds[some.stop])
        keys = hashed(start, end) + np.repeat(added[some], sizes[some])
        if may_repeat(keys):
            groups = np.repeat(np.arange(some.start, some.stop), sizes[some])
            repeat = repeated(keys, documents.slice(start, end - start), groups)
            if repeat is not None:
                return start + repeat
    return None


def may_repeat(keys: Array) -> bool:
    """Whether two of these keys may be equal. Halves of them, which differ as a rule, are sorted faster."""
    return not (_all_differ(keys.view(np.uint32)[1::2]) or _all_differ(keys))


def _all_differ(keys: Array) -> bool:
    in_order = np.sort(keys)
    return not (in_order[1:] == in_order[:-1]).any()


def repeated(keys: Array, documents: Any, query: Array) -> int | None:
    """The first row that has the query and the document of an earlier row: of rows of equal keys, by their ids."""
    rows = np.flatnonzero(pd.Series(keys).duplicated(keep=False))
    document = id_columns.taken(documents, rows).dictionary_encode().indices.to_numpy()
    again = pd.DataFrame({"document": document, "query": query[rows]}).duplicated()
    return int(rows[again.to_numpy()][0]) if again.any() else None


class PairKeys:
    """The keys of all judged pairs, by a hash function under which different pairs have different keys."""

    def __init__(self, documents: Any, query: Array) -> None:
        self.repeat: int | None = None
        for self.salt in count():
            self.keys = id_columns.hashes(documents, self.salt) + of_queries(query)
            if not may_repeat(self.keys):
                return
            self.repeat = repeated(self.keys, documents, query)
            if self.repeat is not None:
                return


class JudgedPairs:
    """Judged pairs, to be looked up: those above grade 0, or all."""

    def __init__(self, judgments: Judgments, all_judged: bool) -> None:
        self.judgments = judgments
        self.rows = np.arange(len(judgments.columns)) if all_judged else judgments.relevant
        self.grade = judgments.columns.value[self.rows]
        self.keys = judgments.pair_keys.keys[self.rows]

    def match(self, rows: Rows) -> tuple[Array, Array]:
        """Which documents of a run are judged for their query: their rows, and the places of their pairs.

        A document twice in a ranking is an error, where the run is checked and was not checked before.
        """
        hashed = id_columns.hashing(rows.columns.doc_id, self.judgments.pair_keys.salt)
        added, sizes = of_queries(rows.numbers), rows.sizes
        found = [(_NO_ROWS, _NO_ROWS)]
        for piece in pieces(rows.starts, PIECE):
            possible, shift = self._filter(rows.query[piece])
            places, candidates = [], []
            for some in pieces(rows.starts, id_columns.BLOCK, piece):
                start, end = rows.between(some)
                keys = hashed(start, end) + np.repeat(added[some], sizes[some])
                if rows.unchecked and may_repeat(keys):
                    rows.refuse_repeats(some, keys)
                hit = np.flatnonzero(possible.take((keys >> shift).view(np.int64), mode="clip"))
                places.append(hit + start)
                candidates.append(keys[hit])
            found.append(self._confirmed(rows, np.concatenate(places), np.concatenate(candidates)))
        rows.unchecked = False
        return np.concatenate([row for row, _ in found]), np.concatenate([pair for _, pair in found])

    def _filter(self, queries: Array) -> tuple[Array, np.uint64]:
        """A table of the upper bits that the keys of these queries' pairs have, and how far they are shifted."""
        order, first = self._by_query
        queries = np.unique(queries[queries >= 0])
        keys = self.keys[order[ranges(first[queries], first[queries + 1])]]
        bits = min(max((64 * len(keys)).bit_length(), 10), 20)
        shift = np.uint64(64 - bits)
        possible = np.zeros(1 << bits, bool)
        possible[keys >> shift] = True
        return possible, shift

    def _confirmed(self, rows: Rows, row: Array, keys: Array) -> tuple[Array, Array]:
        """Those of these rows that are judged, and their pairs: of rows that have a pair's key, by their ids."""
        pair = self._index.get_indexer(keys)
        row, pair = row[pair >= 0], pair[pair >= 0]
        if not len(row):
            return row, pair
        judged = self.rows[pair]
        start = int(row[0])
        ours = id_columns.taken(rows.columns.doc_id.slice(start, int(row[-1]) - start + 1), row - start)
        same = pc.equal(ours, id_columns.taken(self.judgments.columns.doc_id, judged)).to_numpy(zero_copy_only=False)
        same &= rows.query[rows.segment(row)] == self.judgments.row_query[judged]
        return row[same], pair[same]

    @cached_property
    def _index(self) -> pd.Index:
        return pd.Index(self.keys)

    @cached_property
    def _by_query(self) -> tuple[Array, Array]:
        """The pairs in order of their queries, and where each query's begin."""
        query = self.judgments.row_query[self.rows]
        order = np.argsort(query, kind="stable")
        return order, np.searchsorted(query[order], np.arange(len(self.judgments.qids) + 1))


_NO_ROWS = np.zeros(0, np.int64)


def ranges(starts: Array, ends: Array) -> Array:
    """start..end of each range, one after the other."""
    sizes = ends - starts
    return np.arange(sizes.sum()) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
