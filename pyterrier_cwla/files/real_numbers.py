"""Conversion of columns of real numbers of any type to NumPy arrays."""

from __future__ import annotations

import sys
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import shown
from .arrow_arrays import to_numpy

Array = np.ndarray
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
    if isinstance(values, pa.Array | pa.ChunkedArray):
        values = plain(values)
        found = to_numpy(values)
    else:
        found = _as_array(values)
    if found.ndim == 1 and found.dtype.kind in "iuf":
        return found
    if found.ndim == 1 and found.dtype.kind == "b":
        return found.astype(np.int64)
    if found.ndim == 0:
        raise NotReal(values, 0)
    if found.ndim == 1 and found.dtype.kind in "mMcSU":
        items = found
    else:
        items = values.to_pylist() if isinstance(values, pa.Array | pa.ChunkedArray) else values
    return np.array([_real(value, row) for row, value in enumerate(items)], float)


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
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
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
