"""Keys of 64 bits for pairs of query and document, by which repeated pairs are found."""

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
