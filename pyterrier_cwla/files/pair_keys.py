"""64-bit keys of pairs of query and document, to find repeated pairs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, pairwise
from typing import Any

import numpy as np
import pandas as pd

from . import id_columns

Array = np.ndarray


_OF_QUERY = np.uint64(0xD6E8FEB86659FD93)


def of_queries(numbers: Array) -> Array:
    """Return the summands of queries in the keys of pairs; a key is this plus the hash of the document."""
    return numbers.astype(np.uint64) * _OF_QUERY


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
    rows = np.flatnonzero(pd.Series(keys).duplicated(keep=False))
    document = id_columns.taken(documents, rows).dictionary_encode().indices.to_numpy()
    again = pd.DataFrame({"document": document, "query": query[rows]}).duplicated()
    return int(rows[again.to_numpy()][0]) if again.any() else None


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
