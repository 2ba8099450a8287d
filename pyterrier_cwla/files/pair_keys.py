"""64-bit keys of pairs of query and document, to find repeated pairs and to look pairs up."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, pairwise
from typing import Any

import numpy as np

from . import id_columns

Array = np.ndarray


_OF_QUERY = np.uint64(0xD6E8FEB86659FD93)
_OF_RUN = np.uint64(0x9E3779B97F4A7C15)
_HIGHEST = np.uint64(2**64 - 1)


def of_queries(numbers: Array) -> Array:
    """Return the summands of queries in the keys of pairs; a key is this plus the hash of the document."""
    return numbers.astype(np.uint64) * _OF_QUERY


def of_runs(numbers: Array) -> Array:
    """Return the summands of runs, for keys of triples of run, query and document."""
    return numbers.astype(np.uint64) * _OF_RUN


def pieces(starts: Array, size: int, within: slice = slice(None)) -> Iterator[slice]:
    """Yield slices of groups with about `size` rows each; `starts` are the first rows of the groups."""
    first, last, _ = within.indices(len(starts))
    ends = np.flatnonzero(np.diff(starts[first:last] // size)) + first + 1
    return (slice(a, b) for a, b in pairwise([first, *ends.tolist(), last] if last > first else []))


def first_repeat(documents: Any, starts: Array) -> int | None:
    """Return the first row whose document occurs earlier in the same group, or None."""
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
    """Return whether two keys may be equal; the upper halves usually differ and are faster to sort."""
    return not (_all_differ(keys.view(np.uint32)[1::2]) or _all_differ(keys))


def _all_differ(keys: Array) -> bool:
    in_order = np.sort(keys)
    return not (in_order[1:] == in_order[:-1]).any()


def repeated(keys: Array, documents: Any, query: Array) -> int | None:
    """Return the first row with the query and document of an earlier row; rows of equal keys are compared by id."""
    _, of_row, times = np.unique(keys, return_inverse=True, return_counts=True)
    rows = np.flatnonzero(times[of_row] > 1)
    document, documents_found = id_columns.numbers(id_columns.taken(documents, rows))
    pairs = query[rows].astype(np.int64) * documents_found + document
    _, first = np.unique(pairs, return_index=True)
    again = np.delete(rows, first)
    return int(again[0]) if len(again) else None


class PairKeys:
    """Keys of all judged pairs, from a hash function without collisions among these pairs.

    Attributes
    ----------
    keys : ndarray of uint64, shape (n_pairs,)
        Keys of the pairs.
    salt : int
        Salt of the hash function.
    repeat : int or None
        First row with the pair of an earlier row.
    """

    def __init__(self, documents: Any, query: Array) -> None:
        self.repeat: int | None = None
        for self.salt in count():
            self.keys = id_columns.hashes(documents, self.salt) + of_queries(query)
            if not may_repeat(self.keys):
                return
            self.repeat = repeated(self.keys, documents, query)
            if self.repeat is not None:
                return


class KeyPlaces:
    """Places of distinct keys, for look-ups.

    The keys are sorted. A table contains the first key of each of many ranges of equal width. The upper bits of a key
    are the number of its range, and few keys share a range.
    """

    def __init__(self, keys: Array) -> None:
        order = np.argsort(keys)
        bits = (2 * len(keys) + 1).bit_length()
        self._shift = np.uint64(64 - bits)
        sizes = np.bincount((keys >> self._shift).view(np.int64), minlength=1 << bits)
        self._first = np.cumsum(sizes) - sizes
        self._keys = np.append(keys[order], _HIGHEST)  # no key is above the last one
        self._order = np.append(order, -1)

    def of(self, keys: Array) -> Array:
        """Return the place of each key, or -1."""
        at = self._first.take((keys >> self._shift).view(np.int64), mode="clip")
        found = self._keys.take(at, mode="clip")
        while (lower := found < keys).any():
            at += lower
            found = self._keys.take(at, mode="clip")
        return np.where(found == keys, self._order.take(at, mode="clip"), -1)
