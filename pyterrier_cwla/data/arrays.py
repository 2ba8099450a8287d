"""Types of NumPy arrays, and the distinct numbers of one."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
"""Array of numbers of any type, such as grades, which are integers or floats."""
Floats = NDArray[np.float64]
"""Array of floats."""


def distinct(numbers: Array) -> Array:
    """Return the sorted distinct numbers of an array; unlike np.unique, this does not import numpy.ma."""
    ordered: Array = np.sort(numbers)
    found: Array = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
    return found


def descending_in_groups(group: Array, score: Array) -> Array:
    """Return the stable order of rows by group, ascending, and by score (float32), descending.

    Group and score become one integer, which is faster to sort than two columns. The bits of a float, read as an
    integer, ascend with the float if it is positive, and descend if it is negative. If the number of the row fits into
    the same integer, the integers are sorted themselves instead of their order, which is faster again.
    """
    bits = (np.float32(0) - score).view(np.int32)  # 0 − 0.0 and 0 − (−0.0) are equal, also in their bits
    keys = (group.astype(np.int64) << 32) + (bits ^ ((bits >> 31) & 0x7FFFFFFF))
    bits_of_row = len(keys).bit_length()
    order: Array
    if bits_of_row + int(group.max(initial=0)).bit_length() < 32:
        order = np.sort((keys << bits_of_row) | np.arange(len(keys))) & ((1 << bits_of_row) - 1)
    else:
        order = np.argsort(keys, kind="stable")
    return order
