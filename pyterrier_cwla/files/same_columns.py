"""Columns with the same meaning, such as `label` and `relevance`, which must be equal in every row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import shown

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
    same = pc.or_(same, pc.and_(*missing))
    row = pc.index(same, False).as_py()
    return None if row < 0 else int(row)


def _array(column: Any) -> Any:
    """Return the column as an Arrow array with one type for texts and one for numbers."""
    try:
        if hasattr(column, "to_arrow"):
            column = column.to_arrow()
        array = column if isinstance(column, pa.Array | pa.ChunkedArray) else pa.array(column, from_pandas=True)
    except (pa.ArrowException, TypeError, UnicodeEncodeError, OverflowError):  # mixed or unknown types
        array = pa.array([str(value).encode("utf-8", "backslashreplace").decode() for value in column])
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if pa.types.is_boolean(array.type):
        return array.cast(pa.int64())
    text = pa.types.is_string(array.type) or pa.types.is_string_view(array.type)
    return array.cast(pa.large_string()) if text else array
