"""Columns as NumPy and Arrow arrays, without pandas, whose import takes a second."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import accumulate
from numbers import Real
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import shown

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
    kind, column = column.type, one_chunk(column)
    if not column.null_count:
        if pa.types.is_integer(kind) or pa.types.is_floating(kind):
            return np.from_dlpack(column)
        if pa.types.is_boolean(kind):
            return _booleans(column)
    return column.to_numpy(zero_copy_only=False)


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


def chunks_of(column: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    """Return the Arrow arrays that a column consists of."""
    return getattr(column, "chunks", [column])


def one_chunk(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column as one Arrow array."""
    chunks = chunks_of(column)
    return chunks[0] if len(chunks) == 1 else pa.concat_arrays([*chunks, pa.nulls(0, column.type)])


def as_arrow(column: Any) -> pa.Array | pa.ChunkedArray:
    """Return a column of pandas, polars or Arrow, or a list, as an Arrow array; NaN becomes null."""
    if hasattr(column, "to_arrow"):
        column = column.to_arrow()
    return column if isinstance(column, pa.Array | pa.ChunkedArray) else pa.array(column, from_pandas=True)


def without_dictionary(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return a column with its values in place of dictionary codes."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def is_text(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is one of strings, dictionary-encoded or not."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def is_binary(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is one of bytes."""
    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind)


def _booleans(bits: pa.Array) -> Array:
    """Return Arrow's bits as booleans, in memory of their own."""
    packed, end = np.frombuffer(bits.buffers()[1], np.uint8), bits.offset + len(bits)
    return np.unpackbits(packed, count=end, bitorder="little")[bits.offset :].view(bool)


Named = tuple[str, Any]
"""Name of a column in the data, and the column: a pandas or polars Series, a list, or an Arrow array."""


def the_only(columns: Sequence[Named], refuse: Callable[[str, int], Exception]) -> Any:
    """Return the first column, after checking that the other columns are equal to it.

    Parameters
    ----------
    columns : sequence of Named
        Columns with the same meaning.
    refuse : callable
        Function that builds the error from a sentence about two columns and the first row in which they differ.
    """
    (name, column), *others = columns
    for other_name, other in others:
        first, second = _array(column), _array(other)
        row = _first_difference(first, second)
        if row is not None:
            two = f"has two columns {name!r}" if name == other_name else f"has the columns {name!r} and {other_name!r}"
            values = f"{shown(first[row].as_py())} and {shown(second[row].as_py())}"
            raise refuse(f"{two} with one meaning, and they differ: {values}", row)
    return column


def _first_difference(first: Any, second: Any) -> int | None:
    """Return the first row in which two arrays differ; missing values are equal only to missing values."""
    missing = [pc.is_null(array, nan_is_null=True) for array in (first, second)]
    try:
        same = pc.fill_null(pc.equal(first, second), False)
    except pa.ArrowException:  # numbers and texts are never equal
        same = pa.repeat(False, len(first))
    return first_row(pc.invert(pc.or_(same, pc.and_(*missing))))


def _array(column: Any) -> Any:
    """Return the column as an Arrow array with one type for texts and one for numbers."""
    try:
        array = without_dictionary(as_arrow(column))
    except (pa.ArrowException, TypeError, UnicodeEncodeError, OverflowError):  # mixed or unknown types
        array = pa.array([str(value).encode("utf-8", "backslashreplace").decode() for value in column])
    if pa.types.is_boolean(array.type):
        return array.cast(pa.int64())
    return array.cast(pa.large_string()) if is_text(array.type) else array


_TIMES = np.datetime64 | np.timedelta64  # NumPy counts timedelta64 among the integers
_REAL_TYPES = (
    *(pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean),
    *(pa.types.is_decimal, pa.types.is_null),
)


class NotReal(TypeError):
    """Error for a value that is not a real number.

    The message continues the sentence "must be numbers, and ".

    Attributes
    ----------
    row : int
        Row of the value.
    is_text : bool
        Whether the value is text.
    """

    def __init__(self, value: Any, row: int, what: str | None = None) -> None:
        value = value.item() if isinstance(value, np.str_ | np.bytes_) else value
        self.row = row
        self.is_text = isinstance(value, str | bytes)
        super().__init__(what or f"{shown(value)} is of type {type(value).__name__}")


def reals(values: Any) -> Array:
    """Return a column of real numbers as a NumPy array of one dimension.

    Integers and floats keep their types, and booleans become integers. Other real numbers (Decimal, Fraction) become
    the nearest float; None and pd.NA become NaN.

    Raises
    ------
    NotReal
        If a value is something else, such as text, a complex number, a time or a list.
    """
    is_arrow = isinstance(values, pa.Array | pa.ChunkedArray)
    if is_arrow:
        values = plain(values)
    elif isinstance(values, np.ma.MaskedArray):
        values = unwrapped(values)
    found = to_numpy(values) if is_arrow else _as_array(values)
    if found.ndim == 1 and found.dtype.kind in "iuf":
        return found
    if found.ndim == 1 and found.dtype.kind == "b":
        return found.astype(np.int64)
    if found.ndim == 0:
        raise NotReal(values, 0)
    items = values.to_pylist() if is_arrow else values
    if found.ndim == 1 and found.dtype.kind in "mMcSU" and not isinstance(values, list | tuple):  # of mixed types
        items = found
    return np.array([_real(value, row) for row, value in enumerate(items)], float)


def unwrapped(values: Any) -> Any:
    """Return Arrow and masked arrays as lists, with None for missing values, and columns and frames as NumPy arrays."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values.to_pylist()
    if isinstance(values, np.ma.MaskedArray):
        return values.tolist()
    return values.to_numpy() if hasattr(values, "to_numpy") else values


def is_null(value: Any) -> bool:
    """Return whether a value is None or pd.NA; pandas is not imported for this."""
    return value is None or value is getattr(sys.modules.get("pandas"), "NA", None)


def are_real(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is one of real numbers, or null."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return any(is_one(kind) for is_one in _REAL_TYPES)


def plain(values: Any) -> Any:
    """Return an Arrow column without dictionary, and with decimals as the nearest floats.

    Arrow's own cast of decimals does not always give the nearest float.
    """
    values = without_dictionary(values)
    return values.cast(pa.string()).cast(pa.float64()) if pa.types.is_decimal(values.type) else values


def _as_array(values: Any) -> Array:
    if type(values) is np.ndarray:
        return values
    if str(getattr(values, "dtype", "")) in ("Int128", "UInt128"):  # types of polars that NumPy does not have
        values = values.cast(float)
    try:
        return values.to_numpy() if hasattr(values, "to_numpy") else np.asarray(values)
    except ValueError:  # lists of several lengths
        return np.zeros(0, object)


def _real(value: Any, row: int) -> float:
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if is_null(value):
        return np.nan
    if not isinstance(value, Real | Decimal | np.bool_) or isinstance(value, _TIMES):
        raise NotReal(value, row)
    try:
        return float(value)
    except OverflowError:
        raise NotReal(value, row, f"{shown(value)} does not fit into a float") from None
    except ValueError:  # a signalling NaN
        return np.nan
