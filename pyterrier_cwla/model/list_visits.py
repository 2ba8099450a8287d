"""Visits of the users of a metric to each list: their gain, their effort, and the share who never leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..data.arrays import Floats, distinct
from ..data.rankings import Rankings
from ..errors import NoFiniteValue
from .aggregations import erg, etg
from .metric import Metric
from .scoring import raw_score
from .view_columns import seen_part
from .walk_scores import walk_values


@dataclass(frozen=True)
class Visits:
    """Expected visits to lists, by users who all see the first item unless C says otherwise.

    Attributes
    ----------
    gain : ndarray, shape (n,)
        Σ L(i)·G(i): the gain of the users who leave, divided by the number of all users.
    staying : ndarray, shape (n,)
        Share of users who never leave.
    effort : ndarray, shape (n,) or None
        Σ V(i)·e_i, infinite if some users never leave; None if it was not asked for.
    """

    gain: Floats
    staying: Floats
    effort: Floats | None


def visits(metric: Metric, rankings: Rankings, with_effort: bool) -> Visits:
    """Return the visits of the users of a metric to each list. An empty list with ``end="stop"`` costs nothing.

    Parameters
    ----------
    metric : Metric
        The metric; its aggregation and normaliser do not matter.
    rankings : Rankings
        Aligned rankings of n queries.
    with_effort : bool
        Whether to compute the effort, which may be unknown or infinite where the gain is not.

    Raises
    ------
    NoFiniteValue
        If all users leave, but their gain or effort is infinite.
    UnknownEffort
        If the effort of unseen items is needed and is not known.
    """
    metric = metric.fresh
    total = replace(metric, A=etg(), norm="none")
    walked = replace(metric, A=erg(), norm="none") if with_effort else total  # erg needs the effort of unseen items
    names = ["staying", *["expected_effort"] * with_effort]
    if metric.rank_only and metric.unit_effort:
        gain, values = raw_score(total, rankings), _of_lengths(walked, seen_part(metric, rankings), names)
    elif not with_effort and (metric.end != "open" or metric.C.fact("eventually_leaves")):
        gain, values = raw_score(total, rankings), np.zeros((len(rankings), 1))
    else:
        found = walk_values(walked, seen_part(metric, rankings), ["total_gain", *names])
        gain, values = found[:, 0], found[:, 1:]
    if not np.isfinite(gain).all():
        raise NoFiniteValue("the gain is too large for a floating-point number.")
    return Visits(gain, values[:, 0], values[:, 1] if with_effort else None)


def _of_lengths(metric: Metric, rankings: Rankings, names: Sequence[str]) -> Floats:
    """Return values of users whom only the end of the list distinguishes, from one walk for each length of a list."""
    lengths = distinct(rankings.n) if metric.end == "stop" else np.zeros(1, np.int64)
    none = np.zeros(0, np.int64)
    values = walk_values(metric, Rankings.of_hits(lengths, none, none, none), names)
    of_lists: Floats = values[np.searchsorted(lengths, rankings.n) if metric.end == "stop" else [0] * len(rankings)]
    return of_lists
