"""What values have above the mean of their group: of their query, their user, or another part."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

Array = np.ndarray

_NOISE = 1e-10  # of standardised values: what is left of rounding where all of a group are the same
_DIGITS = 1e-13  # of a column's largest value: what is left where the whole column is


def standardised(values: Array) -> Array:
    """Values [rows × columns] less their mean and over their standard deviation; 0 in columns that do not vary."""
    spread, largest = values.std(axis=0), np.abs(values).max(axis=0, initial=0)
    return np.divide(values - values.mean(axis=0), spread, out=np.zeros(values.shape), where=spread > _DIGITS * largest)


def above_group_means(values: Array, group: Any) -> Array:
    """Values [rows × columns], standardised, less the mean of their group; exactly 0 where a group's are all the same.

    >>> above_group_means(np.array([[1.0], [1.0], [2.0], [4.0]]), ["a", "a", "b", "b"]).round(3).ravel().tolist()
    [0.0, 0.0, -0.816, 0.816]
    """
    values = standardised(values)
    above = values - pd.DataFrame(values).groupby(np.asarray(group)).transform("mean").to_numpy()
    return np.where(np.abs(above) > _NOISE, above, 0.0)
