"""Cache of prepared labelled rows: a search scores the same folds with each of its candidates."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from .labelled_rows import Samples
from .row_columns import KNOWN, index_with, known_of_rows, level_and_codes, number_of_rows, of_rows, one_column

Array = np.ndarray
Columns = dict[str, "Array | pd.Index"]

_MOST = 32  # sets of rows
_SIZE = 1_000_000  # values in the columns of all sets of rows, about 80 MB with what is computed from them
_kept: dict[bytes, tuple[Columns, int, Samples]] = {}  # columns, their size and rows by the bytes of the labels


def prepared(X: Any, y: Any, given: Mapping[str, Any]) -> Samples:
    """Return labelled rows, from the cache if labels and data of rows equal those of an earlier call.

    Contents are compared, because scikit-learn takes the rows of a fold out of the data at each scoring. Of rows with
    equal labels the last ones are in the cache.

    Parameters
    ----------
    X, y : array_like or DataFrame or Series
        Features and labels.
    given : mapping of str to array_like or None
        The keyword arguments; see :func:`known_of_rows`.

    Returns
    -------
    Samples
    """
    columns = _columns(X, y, given)
    key = columns["label"].tobytes()
    if key in (kept := _kept):
        known, _, samples = kept[key]
        if _equal(known, columns) and samples.judgments.reusable:
            return samples
    samples = Samples.of(y, {name: np.array(values) for name, values in known_of_rows(X, y, given).items()})
    if samples.judgments.qids and all(map(_comparable, columns.values())):
        _keep(key, copy.deepcopy(columns), samples)
    return samples


def _columns(X: Any, y: Any, given: Mapping[str, Any]) -> Columns:
    """Return labels and data of rows as they are given: as arrays, or as levels of an index and their codes."""
    columns: Columns = {"label": one_column(y), "rows": np.array(number_of_rows(X, y))}
    for name in KNOWN:
        if given.get(name) is not None:
            columns[name] = of_rows(given[name])
        elif (index := index_with(name, y, X)) is not None:
            columns[name], columns[f"{name} codes"] = level_and_codes(index, name)
    return columns


def _equal(one: Columns, other: Columns) -> bool:
    return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)


def _same(one: Array | pd.Index, other: Array | pd.Index) -> bool:
    """Return whether columns have equal types and values; NaN equals NaN."""
    if type(one) is not type(other) or one.dtype != other.dtype or one.shape != other.shape:
        return False
    if isinstance(one, pd.Index):
        return bool(one.equals(other))
    return one.tobytes() == other.tobytes() if one.dtype.kind in "iufb" else np.array_equal(one, other)


def _comparable(values: Array | pd.Index) -> bool:
    """Return whether equal values have equal texts: numbers of one type, or texts only."""
    return values.dtype.kind in "iufbU" or pd.api.types.infer_dtype(values, skipna=False) == "string"


def _keep(key: bytes, columns: Columns, samples: Samples) -> None:
    """Put rows into the cache, and drop the oldest ones."""
    global _kept
    size = sum(len(values) for values in columns.values() if values.ndim)
    newest_first = [(key, (columns, size, samples)), *(one for one in _kept.items() if one[0] != key)]
    total = itertools.accumulate(size for _, (_, size, _) in newest_first)
    # A new dict, since other threads may read the old one.
    _kept = dict(one for one, size in zip(newest_first[:_MOST], total, strict=False) if size <= _SIZE)
