"""Conversions between NumPy and Arrow that do not import pandas; those of Arrow do, which takes a second."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Array = np.ndarray


def of_numbers(values: Array) -> pa.Array:
    """Return an array of integers or floats as an Arrow array that shares its memory."""
    values = np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])


def of_booleans(values: Array) -> pa.Array:
    """Return an array of booleans as an Arrow array."""
    bits = np.packbits(values, bitorder="little")
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, pa.py_buffer(bits)])


def of_strings(texts: Sequence[str]) -> pa.Array:
    """Return texts as Arrow strings."""
    letters = [text.encode() for text in texts]
    ends = np.fromiter(accumulate(map(len, letters), initial=0), np.int64, len(letters) + 1)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(letters))]
    return pa.Array.from_buffers(pa.large_string(), len(letters), buffers)


def to_numpy(column: pa.Array | pa.ChunkedArray) -> Array:
    """Return an Arrow column as a NumPy array."""
    kind = column.type
    if not column.null_count:
        if pa.types.is_integer(kind) or pa.types.is_floating(kind):
            return np.from_dlpack(one_chunk(column))
        if pa.types.is_boolean(kind):
            return _booleans(one_chunk(column))
    return column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column.to_numpy()


def filled(numbers: pa.Array | pa.ChunkedArray) -> Array:
    """Return integers as a NumPy array of the same type; null becomes -1."""
    numbers = one_chunk(numbers)
    if not numbers.null_count:
        return np.from_dlpack(numbers)
    kind = np.dtype(numbers.type.to_pandas_dtype())
    values = np.frombuffer(numbers.buffers()[1], kind, len(numbers), kind.itemsize * numbers.offset)
    return np.where(_booleans(pc.is_valid(numbers)), values, kind.type(-1))


def first_row(mask: pa.Array | pa.ChunkedArray) -> int | None:
    """Return the first row in which a column of booleans is true, or None."""
    rows = to_numpy(mask)
    row = int(rows.argmax()) if len(rows) else 0
    return row if len(rows) and rows[row] else None


def one_chunk(column: Any) -> Any:
    """Return a column as one Arrow array."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays([*column.chunks, pa.nulls(0, column.type)])


def _booleans(bits: pa.Array) -> Array:
    """Return Arrow's bits as booleans, in memory of their own."""
    packed, end = np.frombuffer(bits.buffers()[1], np.uint8), bits.offset + len(bits)
    return np.unpackbits(packed, count=end, bitorder="little")[bits.offset :].view(bool)
