"""Hashes of contents: arrays, texts and tables."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..files.arrow_arrays import chunks_of, filled, to_numpy
from ..files.id_columns import written


def fingerprint(*parts: Any) -> str:
    """Return a hash of arrays and of objects that JSON can represent, also if these contain arrays.

    Equal contents have equal hashes.

    Raises
    ------
    TypeError
        If an object has no such content.
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
    """Return a hash of a table whose columns are strings and numbers."""
    columns = (table[name] for name in table.column_names)
    return fingerprint([of_strings(c) if pa.types.is_large_string(c.type) else to_numpy(c) for c in columns])


def of_strings(column: pa.Array | pa.ChunkedArray) -> str:
    """Return a hash of Arrow strings that does not depend on chunks and encoding; nulls differ from empty texts."""
    sizes, letters = hashlib.sha256(), hashlib.sha256()
    for chunk in map(written, chunks_of(column)):
        sizes.update(filled(pc.binary_length(chunk)).data)
        chunk = chunk.fill_null("") if chunk.null_count else chunk
        _, offsets, data = chunk.buffers()
        if len(chunk):
            ends = np.frombuffer(offsets, np.int64, len(chunk) + 1, 8 * chunk.offset)
            letters.update(memoryview(data or b"")[ends[0] : ends[-1]])
    return fingerprint(sizes.hexdigest(), letters.hexdigest())


def plain(value: Any) -> Any:
    """Return NumPy numbers as Python numbers and arrays as hashes, as ``default`` of ``json.dumps``."""
    if isinstance(value, np.ndarray):
        return fingerprint(value)
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} has no fingerprint: give numbers, texts, lists, dicts or arrays.")
