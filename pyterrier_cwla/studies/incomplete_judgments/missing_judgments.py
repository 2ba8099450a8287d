"""Which judgments stay when some are missing: random samples (f-qrels), shallower pools, and without a group's own."""

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

#: The shares of judgments that are kept: those of Buckley and Voorhees (2004).
FRACTIONS = tuple(percent / 100 for percent in (1, 2, 3, 4, 5, 10, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100))
LEAST = {"relevant": 1, "non-relevant": 10}
"""So many of a topic's judgments stay at every fraction, if there are so many: bpref needs them."""
NOWHERE = np.iinfo(np.int64).max
"""The best rank of a document that no run has."""


@dataclass(frozen=True)
class Fractions:
    """Random shares of each topic's judgments, each a part of the next."""

    levels: tuple[Any, ...]
    random = True

    def __post_init__(self) -> None:
        shares = [_fraction(level) for level in self.levels]
        object.__setattr__(self, "levels", tuple(float(share) for share in sorted({*shares, Fraction(1)})))

    def kept(self, query: Array, grade: Array, first: Array, seed: Any) -> Array:
        """[levels × judgments]: of one random permutation of each topic's relevant and non-relevant ones the first
        max(1, ⌊fR⌋) and max(10, ⌊fN⌋). Grades below 0 are no judgments, and stay. ``seed`` may be a generator, which
        is then drawn from once for each judgment, however many levels there are.
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
        return f"{100 * level:g} %"


@dataclass(frozen=True)
class Depths:
    """What the runs at hand have in their first k, for several k; the last level is all."""

    levels: tuple[Any, ...]
    random = False

    def __post_init__(self) -> None:
        for depth in self.levels:
            if not isinstance(depth, int | np.integer) or depth < 1:
                raise BadParameter(f"depth {depth!r} must be a whole number of documents, from 1 on.")
        object.__setattr__(self, "levels", (*sorted({float(depth) for depth in self.levels}), np.inf))

    def kept(self, query: Array, grade: Array, first: Array, seed: Any) -> Array:
        """[levels × judgments]: whether ``first``, the best rank of a document, is deep enough; all at the last."""
        return (first <= np.array(self.levels)[:, None]) | (np.array(self.levels) == np.inf)[:, None]

    def says(self, level: float) -> str:
        return "all" if np.isinf(level) else f"depth {level:g}"


def _fraction(level: Any) -> Fraction:
    """A share as it is written: 0.29 is 29/100, and not the number next to it that a float has."""
    try:
        share = Fraction(str(level))
    except (ValueError, ZeroDivisionError):
        share = Fraction(0)
    if not 0 < share <= 1:
        raise BadParameter(f"the fraction {level!r} must be a number above 0 and up to 1, such as 0.3.")
    return share


def f_qrels(qrels: Any, fraction: float, seed: int = 0) -> pd.DataFrame:
    """A random share of the judgments of each topic: Buckley and Voorhees' f-qrels.

    Of one random permutation of a topic's R relevant judgments (grades above 0) the first max(1, ⌊fR⌋) are kept, and of
    its N non-relevant ones (grade 0) the first max(10, ⌊fN⌋), or all if there are fewer. f is taken as it is written:
    of 100, 0.29 keeps 29. Grades below 0 are no judgments, and are kept. Of the same judgments and seed, those of a
    smaller fraction are among those of a greater one.

    ``qrels``: judgments in any form, or a path · ``fraction``: f, above 0 and up to 1 · ``seed``: of the permutations,
    which depend on the order of the rows. Returns rows of the frame that was given, or a frame with query_id, doc_id
    and relevance. (In the paper, max is printed as min.)

    Raises :class:`BadParameter` for a fraction out of its range, :class:`BadJudgments` where a document is judged
    twice for a topic, as it is where there are intents.

    Source: Buckley and Voorhees (2004), section 3; Bompada et al. (2007), section 4.1.

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
    """Judgments, each pair of topic and document once."""
    judgments = prepare(loaded(qrels, "qrels"))
    judgments.side(all_judged=True)  # says where a pair is judged twice
    return judgments


def lacking(judgments: Judgments) -> list[str]:
    """The topics that fail bpref's condition: at least 1 relevant and 10 non-relevant judgments."""
    pool = judgments.pool
    fails = np.zeros(pool.queries, bool)
    for which, least in ((pool.grade > 0, LEAST["relevant"]), (pool.grade == 0, LEAST["non-relevant"])):
        fails |= np.bincount(pool.query[which], minlength=pool.queries) < least
    return [judgments.qids[query] for query in np.flatnonzero(fails)]


def checked_groups(groups: Mapping[str, Any], runs: Iterable[str]) -> dict[str, list[str]]:
    """The runs of each group, by its name; every run has a group."""
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
        raise BadParameter(f"all runs are of one group, {next(iter(found))!r}: what it alone found is all there is.")
    return found


def without_group(has: Array, group: Array, groups: int) -> Array:
    """[groups × judgments]: whether a judgment stays when all that only this group's runs have is lost.

    ``has`` [runs × judgments]: whether a run has the document (deep enough to have put it into the pool); ``group``:
    the number of each run's group. What no run has stays.
    """
    by_group = np.stack([has[group == number].any(axis=0) for number in range(groups)])
    return ~(by_group & (by_group.sum(axis=0) == 1))
