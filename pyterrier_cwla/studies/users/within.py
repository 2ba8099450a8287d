"""Deviations of values from the mean of their group (query, user or other part)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

Array = np.ndarray

_NOISE = 1e-10  # rounding error of standardised values in a group of equal values
_DIGITS = 1e-13  # rounding error of a constant column, relative to its largest value


def standardised(values: Array) -> Array:
    """Standardise columns of values: subtract the mean, divide by the standard deviation; constant columns become 0."""
    spread, largest = values.std(axis=0), np.abs(values).max(axis=0, initial=0)
    return np.divide(values - values.mean(axis=0), spread, out=np.zeros(values.shape), where=spread > _DIGITS * largest)


def above_group_means(values: Array, group: Any) -> Array:
    """Standardise values [rows × columns] and subtract the mean of their group.

    Values are exactly 0 in groups of equal values.

    Examples
    --------
    >>> above_group_means(np.array([[1.0], [1.0], [2.0], [4.0]]), ["a", "a", "b", "b"]).round(3).ravel().tolist()
    [0.0, 0.0, -0.816, 0.816]
    """
    values = standardised(values)
    above = values - pd.DataFrame(values).groupby(np.asarray(group)).transform("mean").to_numpy()
    return np.where(np.abs(above) > _NOISE, above, 0.0)
