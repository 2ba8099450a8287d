"""Hashes of contents: arrays and texts, tables, and files."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def fingerprint(*parts: Any) -> str:
    """A hash of arrays, texts and what JSON can write, arrays among it: equal for equal content.

    Raises TypeError for other objects, of which only an address or a part could be hashed.
    """
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            if part.dtype.hasobject:
                raise TypeError("an array of objects has no fingerprint: give texts as a list.")
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(np.ascontiguousarray(part).data)
        else:
            digest.update(json.dumps(part, sort_keys=True, default=plain).encode())
        digest.update(b"\0")
    return digest.hexdigest()


def of_table(table: pa.Table) -> str:
    """A hash of a table's columns of strings and of numbers, row by row."""
    columns = (table[name] for name in table.column_names)
    return fingerprint([of_strings(c) if pa.types.is_large_string(c.type) else c.to_numpy() for c in columns])


def of_strings(column: pa.Array | pa.ChunkedArray) -> str:
    """A hash of Arrow's strings, in whatever chunks and encoding they come; nulls are told from empty texts."""
    sizes, letters = hashlib.sha256(), hashlib.sha256()
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        chunk = chunk.cast(pa.large_string())
        sizes.update(pc.binary_length(chunk).fill_null(-1).to_numpy().data)
        chunk = chunk.fill_null("") if chunk.null_count else chunk
        _, offsets, data = chunk.buffers()
        if len(chunk):
            ends = np.frombuffer(offsets, np.int64, len(chunk) + 1, 8 * chunk.offset)
            letters.update(memoryview(data or b"")[ends[0] : ends[-1]])
    return fingerprint(sizes.hexdigest(), letters.hexdigest())


def of_files(paths: Iterable[str | os.PathLike[str]]) -> str:
    """A hash of the bytes of files, one after the other."""
    digests = []
    for path in paths:
        with open(path, "rb") as file:
            digests.append(hashlib.file_digest(file, "sha256").hexdigest())
    return fingerprint(digests)


def plain(value: Any) -> Any:
    """Convert what JSON cannot write: NumPy's numbers, and arrays to their hash."""
    if isinstance(value, np.ndarray):
        return fingerprint(value)
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} has no fingerprint: give numbers, texts, lists, dicts or arrays.")
