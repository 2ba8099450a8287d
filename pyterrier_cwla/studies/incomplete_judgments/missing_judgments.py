"""Subsets of judgments: random samples (f-qrels), shallower pools, and judgments without those of one group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from ...data.alignment import Judgments
from ...errors import BadParameter, some
from ...files.inputs import loaded
from ...measures.provider import prepare

Array = np.ndarray

#: Shares of judgments that are kept, as in Buckley and Voorhees (2004).
FRACTIONS = tuple(percent / 100 for percent in (1, 2, 3, 4, 5, 10, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100))
LEAST = {"relevant": 1, "non-relevant": 10}
"""Minimum numbers of a topic's judgments that are kept at every fraction, if available; bpref needs them."""
NOWHERE = np.iinfo(np.int64).max
"""Best rank of a document that no run has."""


@dataclass(frozen=True)
class Fractions:
    """Random shares of each topic's judgments; each share is a subset of the next."""

    levels: tuple[Any, ...]
    random = True

    def __post_init__(self) -> None:
        shares = [_fraction(level) for level in self.levels]
        object.__setattr__(self, "levels", tuple(float(share) for share in sorted({*shares, Fraction(1)})))

    def kept(self, query: Array, grade: Array, first: Array, seed: Any) -> Array:
        """Return a mask [levels × judgments] of the kept judgments.

        The relevant and the non-relevant judgments of each topic are permuted at random; the first max(1, ⌊fR⌋) and
        max(10, ⌊fN⌋) are kept. Grades below 0 are not judgments and are always kept. ``seed`` may be a generator; it is
        drawn from once for each judgment, for any number of levels.
        """
        kind = 3 * query + np.sign(grade).astype(int) + 1
        order = np.lexsort((np.random.default_rng(seed).random(len(kind)), kind))
        sizes = np.bincount(kind, minlength=3)
        place = np.empty(len(kind), np.int64)
        place[order] = np.arange(len(kind)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        most = np.array([share.numerator * sizes // share.denominator for share in map(_fraction, self.levels)])
        most[:, 0::3] = len(kind)
        most[:, 1::3] = np.maximum(most[:, 1::3], LEAST["non-relevant"])
        most[:, 2::3] = np.maximum(most[:, 2::3], LEAST["relevant"])
        return place < most[:, kind]

    def says(self, level: float) -> str:
        """Format a level."""
        return f"{100 * level:g} %"


@dataclass(frozen=True)
class Depths:
    """Judgments of documents that the given runs have in their first k ranks, for several k; the last level has all."""

    levels: tuple[Any, ...]
    random = False

    def __post_init__(self) -> None:
        for depth in self.levels:
            if not isinstance(depth, int | np.integer) or depth < 1:
                raise BadParameter(f"depth {depth!r} must be a whole number of documents, 1 or more.")
        object.__setattr__(self, "levels", (*sorted({float(depth) for depth in self.levels}), np.inf))

    def kept(self, query: Array, grade: Array, first: Array, seed: Any) -> Array:
        """Return a mask [levels × judgments]: whether ``first``, the best rank of a document, is at most k."""
        return (first <= np.array(self.levels)[:, None]) | (np.array(self.levels) == np.inf)[:, None]

    def says(self, level: float) -> str:
        """Format a level."""
        return "all" if np.isinf(level) else f"depth {level:g}"


def _fraction(level: Any) -> Fraction:
    """Return a share exactly as written: 0.29 is 29/100, not the nearest float."""
    try:
        share = Fraction(str(level))
    except (ValueError, ZeroDivisionError):
        share = Fraction(0)
    if not 0 < share <= 1:
        raise BadParameter(f"the fraction {level!r} must be a number above 0 and up to 1, such as 0.3.")
    return share


def f_qrels(qrels: Any, fraction: float, seed: int = 0) -> pd.DataFrame:
    """Return a random share of the judgments of each topic: the f-qrels of Buckley and Voorhees.

    The R relevant judgments (grades above 0) and the N non-relevant judgments (grade 0) of a topic are permuted at
    random. The first max(1, ⌊fR⌋) relevant and the first max(10, ⌊fN⌋) non-relevant judgments are kept, or all if there
    are fewer. (In the paper, max is misprinted as min.) f is used exactly as written: 0.29 keeps 29 of 100. Grades
    below 0 are not judgments and are kept. With the same judgments and seed, the judgments of a smaller fraction are a
    subset of those of a larger one.

    Parameters
    ----------
    qrels : DataFrame, dict, iterable or path
        Judgments in any form.
    fraction : float in (0, 1]
        Share f of the judgments.
    seed : int, default=0
        Seed of the permutations. They also depend on the order of the rows.

    Returns
    -------
    DataFrame
        Rows of the given frame, or a frame with query_id, doc_id and relevance.

    Raises
    ------
    BadParameter
        If the fraction is out of range.
    BadJudgments
        If a document is judged twice for a topic, for example for several intents.

    References
    ----------
    Buckley and Voorhees (2004), section 3; Bompada et al. (2007), section 4.1.

    Examples
    --------
    >>> qrels = {"q": {f"d{number:02}": int(number < 20) for number in range(60)}}
    >>> f_qrels(qrels, 0.3).relevance.value_counts().to_dict()
    {0: 12, 1: 6}
    >>> f_qrels(qrels, 0.01).relevance.value_counts().to_dict()
    {0: 10, 1: 1}
    """
    judgments = plain_judgments(qrels)
    holes = Fractions((_fraction(fraction),))
    pool = judgments.pool
    stays = holes.kept(pool.query, pool.grade, pool.query, seed)[0]
    rows = np.sort(np.arange(len(stays))[judgments.pool_order][stays])
    if isinstance(qrels, pd.DataFrame) and len(qrels) == len(stays):
        return qrels.iloc[rows]
    columns = judgments.columns
    frame = {"query_id": columns.query_id.to_pylist(), "doc_id": columns.doc_id.to_pylist()}
    return pd.DataFrame({**frame, "relevance": columns.value}).iloc[rows].reset_index(drop=True)


def plain_judgments(qrels: Any) -> Judgments:
    """Return judgments in which each pair of topic and document occurs once."""
    judgments = prepare(loaded(qrels, "qrels"))
    judgments.side(all_judged=True)  # raises an error if a pair is judged twice
    return judgments


def lacking(judgments: Judgments) -> list[str]:
    """Return the topics that fail bpref's condition: at least 1 relevant and 10 non-relevant judgments."""
    pool = judgments.pool
    fails = np.zeros(pool.queries, bool)
    for which, least in ((pool.grade > 0, LEAST["relevant"]), (pool.grade == 0, LEAST["non-relevant"])):
        fails |= np.bincount(pool.query[which], minlength=pool.queries) < least
    return [judgments.qids[query] for query in np.flatnonzero(fails)]


def checked_groups(groups: Mapping[str, Any], runs: Iterable[str]) -> dict[str, list[str]]:
    """Return the runs of each group by its name; every run must have a group."""
    runs = list(runs)
    without = [run for run in runs if run not in groups or groups[run] is None or groups[run] != groups[run]]
    if without:
        raise BadParameter(
            f"{some(without)} {'has' if len(without) == 1 else 'have'} no group: groups= must name one for each run."
        )
    found: dict[str, list[str]] = {}
    for run in runs:
        found.setdefault(str(groups[run]), []).append(run)
    if len(found) < 2:
        raise BadParameter(f"all runs are in one group, {next(iter(found))!r}: give two or more groups.")
    return found


def without_group(has: Array, group: Array, groups: int) -> Array:
    """Return a mask [groups × judgments] of the judgments kept without the documents that only this group has.

    Judgments of documents that no run has are kept.

    Parameters
    ----------
    has : ndarray of bool, shape (runs, judgments)
        Whether a run has the document at a rank that contributes to the pool.
    group : ndarray of int, shape (runs,)
        Number of the group of each run.
    groups : int
        Number of groups.
    """
    by_group = np.stack([has[group == number].any(axis=0) for number in range(groups)])
    return ~(by_group & (by_group.sum(axis=0) == 1))
