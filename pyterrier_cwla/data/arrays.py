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
