"""Types of NumPy arrays."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
"""Array of numbers of any type, such as grades, which are integers or floats."""
Floats = NDArray[np.float64]
"""Array of floats."""
