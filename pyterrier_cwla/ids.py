"""Ids of queries and documents in rows: Arrow strings, or the numbers of one dictionary that has each string once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Array = np.ndarray


def are_encoded(ids: Any) -> bool:
    """Whether these are numbers of a dictionary."""
    return pa.types.is_dictionary(ids.type)


def of_one_dictionary(ids: Any) -> Any:
    """Ids in dictionaries, each of which has a string once, as numbers of one; as strings where that costs less.

    Looking up a dictionary pays where it is clearly shorter than the rows; to merge two costs ten times as much.
    """
    chunks = ids.chunks if isinstance(ids, pa.ChunkedArray) else [ids]
    words = sum(len(chunk.dictionary) for chunk in chunks)
    if words * (2 if len(chunks) == 1 else 16) > len(ids):
        return written(ids)
    one = chunks[0] if len(chunks) == 1 else ids.unify_dictionaries().combine_chunks()
    return pa.DictionaryArray.from_arrays(one.indices, one.dictionary.cast(pa.large_string()))


def checked(ids: Any) -> Any:
    """Ids in any dictionaries as numbers of one that has each string once, or as strings; either may be null."""
    chunks = ids.chunks if isinstance(ids, pa.ChunkedArray) else [ids]
    words = [chunk.dictionary for chunk in chunks]
    if ids.null_count or any(w.null_count or len(w.unique()) < len(w) for w in words if len(w) <= len(ids)):
        return written(ids)
    return of_one_dictionary(ids)


def written(ids: Any) -> Any:
    """The ids as strings."""
    return ids.cast(pa.large_string())


def longest(ids: Any) -> int:
    """The bytes of the longest id, of those among them that are in a dictionary and in no row."""
    return pc.max(pc.binary_length(ids.dictionary if are_encoded(ids) else ids)).as_py() or 0


def places(ids: Any, among: Any) -> Array:
    """Where each id first stands among these strings, or -1."""
    if are_encoded(ids):
        return places(ids.dictionary, among)[ids.indices.to_numpy()]
    found = pc.index_in(ids, value_set=among).fill_null(-1)
    return found.to_numpy(zero_copy_only=False) if isinstance(found, pa.Array) else found.to_numpy()


def numbers(ids: Any) -> tuple[Array, int]:
    """A number for each id, the same where the ids are, and how many numbers there may be."""
    if not are_encoded(ids):
        ids = pc.dictionary_encode(ids)
    if isinstance(ids, pa.ChunkedArray):
        ids = ids.chunk(0) if ids.num_chunks == 1 else ids.unify_dictionaries().combine_chunks()
    return ids.indices.to_numpy(), max(len(ids.dictionary), 1)


def marks(ids: Any) -> tuple[Array, Any]:
    """A number for each id, the same where the ids are, and rarely the same where they are not; and a step that leads
    from all of them to others. Where ids are strings it costs a fifth of ``numbers``."""
    if are_encoded(ids):
        return numbers(ids)
    ids = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
    _, offsets, data = written(ids).buffers()
    offsets = np.frombuffer(offsets, np.int64)[ids.offset : ids.offset + len(ids) + 1]
    size = np.diff(offsets)
    text = np.zeros((offsets[-1] - offsets[0]) // 8 + 2, "<u8")
    text.view(np.uint8)[: offsets[-1] - offsets[0]] = np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]]
    word, bits = np.divmod(8 * (offsets[:-1] - offsets[0]), 64)
    found, bits = size.astype(np.uint64), bits.astype(np.uint64)
    for number in range(-(-int(size.max(initial=0)) // 8)):
        rows = slice(None) if 8 * number < size.min() else np.flatnonzero(8 * number < size)
        at, skip = word[rows] + number, bits[rows]
        eight = (text[at] >> skip) | ((text[at + 1] << np.uint64(1)) << (np.uint64(63) - skip))
        eight <<= 8 * (8 - np.minimum(size[rows] - 8 * number, 8)).astype(np.uint64)
        mixed = found[rows] ^ eight
        mixed = (mixed ^ (mixed >> np.uint64(32))) * _ODD
        found[rows] = mixed ^ (mixed >> np.uint64(29))
    return found, _ODD


_ODD = np.uint64(0x9E3779B97F4A7C15)


def changes(ids: Any) -> Array:
    """Whether each id but the first differs from the one before it."""
    if are_encoded(ids):
        codes, size = numbers(ids)
        return codes[1:] != codes[:-1] if size > 1 else np.zeros(max(len(codes) - 1, 0), bool)
    differs = pc.not_equal(ids.slice(1), ids.slice(0, max(len(ids) - 1, 0)))
    return differs.to_numpy(zero_copy_only=False) if isinstance(differs, pa.Array) else differs.to_numpy()
