"""Visits of the users of a metric to each list: their gain, their effort, and the share who never leave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np

from ..data.arrays import Floats, distinct
from ..data.rankings import Rankings
from ..errors import NoFiniteValue
from .aggregations import erg, etg
from .browsing import Walk
from .metric import Metric
from .scoring import raw_score
from .view_columns import seen_part
from .walk_scores import over_all_ranks, over_hits, passes_items_without_gain


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
    total, rate = (replace(metric.fresh, A=A(), norm="none") for A in (etg, erg))
    gain = raw_score(total, rankings)
    if not np.isfinite(gain).all():
        raise NoFiniteValue("the gain is too large for a floating-point number.")
    leaves = metric.end != "open" or metric.C.fact("eventually_leaves")
    staying = np.zeros(len(rankings)) if leaves else _of_walks(total, rankings, attrgetter("staying"))
    effort = _of_walks(rate, rankings, attrgetter("expected_effort")) if with_effort else None
    return Visits(gain, staying, effort)


def _of_walks(metric: Metric, rankings: Rankings, of_walk: Callable[[Walk], Floats]) -> Floats:
    """Return a value of the users of each list that depends on C and efforts, but on gains only through C."""
    rankings = seen_part(metric, rankings)
    if metric.rank_only and metric.unit_effort:
        return _of_lengths(metric, rankings, of_walk)
    if passes_items_without_gain(metric):
        return over_hits(metric, rankings, of_walk)
    return over_all_ranks(metric, rankings, of_walk=of_walk)


def _of_lengths(metric: Metric, rankings: Rankings, of_walk: Callable[[Walk], Floats]) -> Floats:
    """Return the same for users whom only the end of the list distinguishes: one walk for each length of a list."""
    lengths = distinct(rankings.n) if metric.end == "stop" else np.zeros(1, np.int64)
    none = np.zeros(0, np.int64)
    values = over_all_ranks(metric, Rankings.of_hits(lengths, none, none, none), of_walk=of_walk)
    return values[np.searchsorted(lengths, rankings.n)] if metric.end == "stop" else np.repeat(values, len(rankings))
