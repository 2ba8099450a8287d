"""Columns of query and document ids, as Arrow strings or as dictionary codes, and keys of their pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count, pairwise
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .arrow_arrays import chunks_of, filled, of_numbers, one_chunk, to_numpy

Array = np.ndarray
Ids: TypeAlias = pa.Array | pa.ChunkedArray
"""Column of ids: Arrow strings, or dictionary codes of strings."""
BLOCK = 1 << 14
"""Number of rows per block, such that hashes and intermediate results fit into the processor's cache."""
ODD = np.uint64(0x9E3779B97F4A7C15)


def are_encoded(ids: Ids) -> bool:
    """Return whether ids are dictionary-encoded."""
    return pa.types.is_dictionary(ids.type)


def of_one_dictionary(ids: Ids) -> Ids:
    """Return dictionary-encoded ids with one dictionary, or as strings if that costs less.

    The dictionary of each chunk must not contain a string twice. Dictionary codes pay off if the dictionary is clearly
    shorter than the column; merging two dictionaries costs ten times as much.
    """
    chunks = chunks_of(ids)
    words = sum(len(chunk.dictionary) for chunk in chunks)
    if words * (2 if len(chunks) == 1 else 16) > len(ids):
        return written(ids)
    one = chunks[0] if len(chunks) == 1 else ids.unify_dictionaries().combine_chunks()
    return pa.DictionaryArray.from_arrays(one.indices, one.dictionary.cast(pa.large_string()))


def checked(ids: Ids) -> Ids:
    """Return ids in any dictionaries as codes of one dictionary of distinct strings, or as strings.

    Ids and entries of dictionaries may be null.
    """
    words = [chunk.dictionary for chunk in chunks_of(ids)]
    if ids.null_count or any(w.null_count or len(w.unique()) < len(w) for w in words if len(w) <= len(ids)):
        return written(ids)
    return of_one_dictionary(ids)


def written(ids: Ids) -> Ids:
    """Return ids as plain strings."""
    return ids.cast(pa.large_string())


def longest(ids: Ids) -> int:
    """Return the length of the longest id in bytes, including unused entries of a dictionary."""
    return pc.max(pc.binary_length(ids.dictionary if are_encoded(ids) else ids)).as_py() or 0


def places(ids: Ids, among: Ids) -> Array:
    """Return the index of the first occurrence of each id in `among`, or -1."""
    if are_encoded(ids):
        return places(ids.dictionary, among)[to_numpy(ids.indices)]
    return filled(pc.index_in(ids, value_set=among))


def numbers(ids: Ids) -> tuple[Array, int]:
    """Return a code per id, and an upper bound of the number of codes; equal ids have equal codes."""
    if not are_encoded(ids):
        ids = pc.dictionary_encode(ids)
    if isinstance(ids, pa.ChunkedArray):
        ids = ids.chunk(0) if ids.num_chunks == 1 else ids.unify_dictionaries().combine_chunks()
    return to_numpy(ids.indices), max(len(ids.dictionary), 1)


def hashing(ids: Ids, salt: int = 0) -> Callable[[int, int], Array]:
    """Return a function of (start, end) that returns the 64-bit hashes of these rows.

    The next call may overwrite the hashes. Equal ids have equal hashes; different ids rarely do. Each `salt` gives
    another hash function.
    """
    if are_encoded(ids):
        codes, of_words = to_numpy(ids.indices), hashes(ids.dictionary, salt)
        return lambda start, end: of_words.take(codes[start:end])
    strings, memory = written(ids), np.empty((7, 0), np.int64)

    def hashed(start: int, end: int) -> Array:
        nonlocal memory
        if end - start > memory.shape[1]:
            memory = np.empty((7, end - start), np.int64)
        return _hashes_of_strings(one_chunk(strings.slice(start, end - start)), salt, memory)

    return hashed


def hashes(ids: Ids, salt: int = 0) -> Array:
    """Return the 64-bit hashes of all ids."""
    found, hashed = np.empty(len(ids), np.uint64), hashing(ids, salt)
    for start in range(0, len(ids), BLOCK):
        found[start : start + BLOCK] = hashed(start, min(start + BLOCK, len(ids)))
    return found


def mixed(numbers: Array) -> Array:
    """Return 64-bit numbers in which every bit depends on all bits of the given ones (finaliser of SplitMix64)."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    return numbers ^ (numbers >> np.uint64(31))


def _hashes_of_strings(ids: Ids, salt: int, memory: Array) -> Array:
    """Return the hashes of strings, eight bytes at a time, in arrays of `memory`, shape (7, n_rows or more).

    The arrays are reused from block to block, since allocation would cost half as much as the hashes.
    """
    place, size, found, *of_words = memory[:, : len(ids)]
    _, offsets, data = ids.buffers()
    offsets = np.frombuffer(offsets, np.int64)[ids.offset : ids.offset + len(ids) + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    words = np.empty((last - first) // 8 + 2, "<u8")
    words[-2:] = 0
    if last > first:
        words.view(np.uint8)[: last - first] = np.frombuffer(data, np.uint8)[first:last]
    np.subtract(offsets[:-1], first, out=place)
    np.subtract(offsets[1:], offsets[:-1], out=size)
    np.add(size, salt << 32, out=found)
    shortest, longest = int(size.min(initial=last)), int(size.max(initial=0))
    for start in range(0, longest, 8):
        if start:
            place += 8
            size -= 8
        if start < shortest:
            _mix(found.view(np.uint64), words, place, size, of_words)
            continue
        longer = size > 0
        if 2 * np.count_nonzero(longer) > len(size):  # faster than to select rows
            mixed = found.copy()
            _mix(mixed.view(np.uint64), words, place, size, of_words)
            np.copyto(found, mixed, where=longer)
        else:
            rows = np.flatnonzero(longer)
            mixed = found[rows]
            _mix(mixed.view(np.uint64), words, place[rows], size[rows], np.empty((4, len(rows)), np.int64))
            found[rows] = mixed
    return found.view(np.uint64)


def _mix(found: Array, words: Array, place: Array, size: Array, memory: Any) -> None:
    """Mix the eight bytes at each place, or fewer if `size` is smaller, into the hashes `found`."""
    word, skip = memory[:2]
    eight, more = (part.view(np.uint64) for part in memory[2:])
    np.right_shift(place, 3, out=word)
    words.take(word, out=eight, mode="clip")
    word += 1
    words.take(word, out=more, mode="clip")
    np.bitwise_and(place, 7, out=skip)
    skip <<= 3
    eight >>= skip.view(np.uint64)
    more <<= np.uint64(1)
    np.subtract(63, skip, out=skip)
    more <<= skip.view(np.uint64)
    eight |= more
    np.subtract(8, size, out=skip)
    np.maximum(skip, 0, out=skip)
    skip <<= 3
    eight <<= skip.view(np.uint64)
    found ^= eight
    np.right_shift(found, np.uint64(32), out=eight)
    found ^= eight
    found *= ODD


def order_in_groups(group: Array, ids: Ids) -> Array:
    """Return the row order by group (ascending) and by id within a group (descending)."""
    table = pa.table({"group": of_numbers(group), "id": written(ids)})
    return to_numpy(pc.sort_indices(table, sort_keys=[("group", "ascending"), ("id", "descending")]))


def taken(ids: Ids, rows: Array) -> Ids:
    """Return the ids of some rows as Arrow strings."""
    return written(one_chunk(ids).take(of_numbers(rows)))


def changes(ids: Ids) -> Array:
    """Return whether each id differs from the previous one, for all rows but the first."""
    if are_encoded(ids):
        codes, size = numbers(ids)
        return codes[1:] != codes[:-1] if size > 1 else np.zeros(max(len(codes) - 1, 0), bool)
    return to_numpy(pc.not_equal(ids.slice(1), ids.slice(0, max(len(ids) - 1, 0))))


_OF_QUERY = np.uint64(0xD6E8FEB86659FD93)
_OF_RUN = np.uint64(0x9E3779B97F4A7C15)
_HIGHEST = np.uint64(2**64 - 1)


def of_queries(numbers: Array) -> Array:
    """Return a number per query; the key of a query and document is its sum with the hash of the document."""
    return numbers.astype(np.uint64) * _OF_QUERY


def of_runs(numbers: Array) -> Array:
    """Return a number per run; the key of a run, query and document is its sum with the key of query and document."""
    return numbers.astype(np.uint64) * _OF_RUN


def pieces(starts: Array, size: int, within: slice = slice(None)) -> Iterator[slice]:
    """Yield slices of groups with about `size` rows each; `starts` are the first rows of the groups."""
    first, last, _ = within.indices(len(starts))
    ends = np.flatnonzero(np.diff(starts[first:last] // size)) + first + 1
    return (slice(a, b) for a, b in pairwise([first, *ends.tolist(), last] if last > first else []))


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
    document, documents_found = numbers(taken(documents, rows))
    pairs = query[rows].astype(np.int64) * documents_found + document
    _, first = np.unique(pairs, return_index=True)
    again = np.delete(rows, first)
    return int(again[0]) if len(again) else None


class PairKeys:
    """Keys of all pairs of query and document, from a hash function without collisions among these pairs.

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
            self.keys = hashes(documents, self.salt) + of_queries(query)
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

    def find(self, keys: Array) -> Array:
        """Return the place of each key, or -1."""
        at = self._first.take((keys >> self._shift).view(np.int64))
        found = self._keys.take(at)
        while (lower := found < keys).any():
            at += lower
            found = self._keys.take(at)
        return np.where(found == keys, self._order.take(at), -1)
