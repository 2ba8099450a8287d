"""Reduction of several labels of one pair of lists to one preference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd

from ...errors import BadRatings, many, some

Array = np.ndarray
OnePer = Literal["pair", "user", "label"]

ONE_PER: dict[str, list[str]] = {"pair": [], "user": ["user"]}  #: columns, besides the pair, that separate preferences

_ADDED = ("labels", "mean", "opposed")  # columns of a reduced table
_NOISE = 1e-12  # rounding error of a mean that is 0, relative to the mean of absolute values


def pair_numbers(table: pd.DataFrame, also: list[str]) -> Array:
    """Return the number of the pair of each row, from 0 in the order of first rows; (a, b) and (b, a) are one pair.

    Rows with different values of the columns ``also`` have different numbers.
    """
    first, second = (table[name].to_numpy(object) for name in ("first", "second"))  # categories have no order
    turned = second < first
    keys = [np.where(turned, second, first), np.where(turned, first, second), *(table[name] for name in also)]
    return table.groupby(keys, sort=False, observed=True).ngroup().to_numpy()


def reduced(table: pd.DataFrame, also: list[str]) -> tuple[pd.DataFrame, tuple[str, ...] | None]:
    """Reduce the labels of each pair to their mean.

    With the labels l_k of a pair, their weights n_k (column ``n``, or 1), and s_k = 1 if the label's lists are in the
    order of the pair's first row and −1 otherwise, the preference is Σ n_k·s_k·l_k / Σ n_k. A mean that differs from 0
    only by rounding is 0.

    Parameters
    ----------
    table : DataFrame
        A row for each label, with the columns ``first``, ``second``, ``rating`` (numbers), and optionally ``n``.
    also : list of str
        Columns, besides the pair, that separate preferences.

    Returns
    -------
    table : DataFrame
        A row for each preference: the first row of the pair, with the mean as ``rating`` and the sum of ``n``. A
        further column is kept if its value is the same for all labels of each pair. Added are ``labels`` (number of
        labels), ``mean`` (their mean) and ``opposed`` (whether there are labels for both lists). Without repeated
        pairs, the given table.
    left_out : tuple of str or None
        Columns that are not kept, or None if no pair is repeated.

    Raises
    ------
    BadRatings
        If pairs are repeated and a column has the name of an added one.

    References
    ----------
    Moffat et al. (2022), section 4, experiment 2.
    """
    pair = pair_numbers(table, also)
    first = np.flatnonzero(~pd.Series(pair).duplicated())
    if len(first) == len(table):
        return table, None
    taken = [name for name in _ADDED if name in table]
    if taken:
        raise BadRatings(
            f"several labels of a pair are reduced to one, which adds the columns {some(_ADDED)}, but the ratings"
            f" already have {some(taken)}: rename {'it' if len(taken) == 1 else 'them'}, or give one_per='label'."
        )
    weights = table["n"].to_numpy(float) if "n" in table else np.ones(len(table))
    total = np.bincount(pair, weights)
    same_order = (table["first"] == table["first"].iloc[first[pair]].to_numpy()).to_numpy()
    label = np.where(same_order, 1.0, -1.0) * table["rating"].to_numpy(float)
    share = weights / total[pair]
    mean = np.bincount(pair, share * label)
    mean = np.where(np.abs(mean) > _NOISE * np.bincount(pair, share * np.abs(label)), mean, 0.0)
    differing = _differing(table.drop(columns=["first", "second", "rating", "n"], errors="ignore"), first[pair])
    found = table.iloc[first].drop(columns=list(differing)).reset_index(drop=True).assign(rating=mean)
    if "n" in table:
        found["n"] = total
    opposed = (np.bincount(pair, label > 0) > 0) & (np.bincount(pair, label < 0) > 0)
    return found.assign(labels=np.bincount(pair), mean=mean, opposed=opposed), differing


def shared_by_users(table: pd.DataFrame) -> int:
    """Return the number of pairs labelled by several users, or 0 if no user labelled several pairs."""
    pair, user = pair_numbers(table, []), pd.factorize(table["user"])[0]
    each = pd.DataFrame({"pair": pair, "user": user}).drop_duplicates()
    if not each["user"].duplicated().any():
        return 0
    return int((each.groupby("pair").size() > 1).sum())


def labels_of(table: pd.DataFrame, left_out: tuple[str, ...] | None, users: bool) -> dict[str, Any] | None:
    """Return what a study reports about the labels of pairs, or None if each pair has one.

    Parameters
    ----------
    table : DataFrame
        Preferences.
    left_out : tuple of str or None
        Columns that :func:`reduced` did not keep, or None if labels were not reduced.
    users : bool
        Whether users are resampled.

    Returns
    -------
    dict or None
        ``labels``, ``preferences``, ``opposed`` (preferences with labels for both lists), ``undecided`` (those of them
        whose mean is 0) and ``left_out`` of reduced labels; or ``repeated``, the number of rows whose pair has a row
        before, if rows are resampled as if they were independent.
    """
    if left_out is not None:
        opposed = table["opposed"].to_numpy(bool)
        return {
            "labels": int(table["labels"].sum()),
            "preferences": len(table),
            "opposed": int(opposed.sum()),
            "undecided": int((opposed & (table["rating"] == 0)).sum()),
            "left_out": list(left_out),
        }
    repeated = 0 if users else len(table) - len(np.unique(pair_numbers(table, [])))
    return {"repeated": repeated} if repeated else None


def from_labels(labels: Mapping[str, Any] | None) -> str:
    """Format the number of reduced labels, from :func:`labels_of`: `` from 200 labels``, or an empty text."""
    return "" if labels is None or "repeated" in labels else f" from {many(labels['labels'], 'label')}"


def why_reduced(labels: Mapping[str, Any] | None) -> list[str]:
    """Return sentences on the labels of pairs, from :func:`labels_of`."""
    if labels is None:
        return []
    if "repeated" in labels:
        return [
            f"Several labels of one pair count as independent ({many(labels['repeated'], 'repeated pair')}): intervals"
            " are too short and p-values too small. Rated.preferences(…, one_per='pair') reduces the labels of a pair"
            " to one."
        ]
    how = (
        f"{many(labels['labels'], 'label')} of pairs are reduced to {many(labels['preferences'], 'preference')}, each"
        " the sign of the mean label"
    )
    if labels["opposed"]:
        opposed, undecided = labels["opposed"], labels["undecided"]
        how += f". {many(opposed, 'pair')} {'has' if opposed == 1 else 'have'} labels for both lists, of which"
        how += f" {undecided:,} {'has' if undecided == 1 else 'have'} a mean of 0 (no preference)"
    sentences = [f"{how}."]
    if "user" in labels["left_out"]:
        sentences.append(
            "Several users labelled the same pairs: intervals and tests resample pairs, and do not account for several"
            " pairs of one user. Rated.preferences(…, one_per='user') resamples users."
        )
    others = [name for name in labels["left_out"] if name != "user"]
    if others:
        columns = f"column {others[0]!r} is" if len(others) == 1 else f"columns {some(others)} are"
        sentences.append(f"The {columns} left out: the labels of one pair have different values.")
    return sentences


def _differing(table: pd.DataFrame, first: Array) -> tuple[str, ...]:
    """Return the columns with a value that differs from that of the row ``first``, shape (rows,)."""
    texts = {name: np.array([repr(value) for value in table[name]]) for name in table}  # missing values are equal
    return tuple(name for name, values in texts.items() if (values != values[first]).any())
