"""Scores of users who are followed through the rankings, in chunks of queries: over hits only, or over all ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ..data.arrays import Array, Floats
from ..data.rankings import Rankings
from ..errors import NoFiniteValue
from .browsing import Walk
from .metric import Metric
from .query_chunks import chunks_of_equal_width, ranks_that_matter, roomy
from .view import UnknownEffort
from .view_columns import Seen, view_of_hits, view_of_ranks

RANKS_PER_COLUMN = 8  # a column of the route over hits with gaps takes the time of five to ten ranks


def passes_items_without_gain(metric: Metric) -> bool:
    """Return whether the hits alone give the score; all other items have the same effort.

    Either C is 1 at all items without gain, or it depends on efforts only and states V, and A is constant there, or C
    is constant or has a closed form between hits.
    """
    if metric.flat_effort is None:
        return False
    return bool(metric.C.fact("ignores_zero_gain")) or metric.survives_by_effort or metric.gaps_are_known


def over_hits(metric: Metric, rankings: Rankings) -> Floats:
    """Return Σ L(i)·A(i) per query from the hits only, for metrics under which nobody leaves at other items."""
    return _values_over_hits(metric, rankings, ("score",))[:, 0]


def over_all_ranks(
    metric: Metric, rankings: Rankings, unjudged: tuple[float, float] = (0.0, 0.0), which: Array | None = None
) -> Floats:
    """Return Σ L(i)·A(i) per query, computed rank by rank, for any metric.

    Parameters
    ----------
    metric : Metric
        The metric.
    rankings : Rankings
        Rankings from :func:`seen_part`.
    unjudged : tuple of float, default=(0, 0)
        Gain and grade of unjudged and unseen items.
    which : ndarray of bool, shape (n_queries,), optional
        Queries to score; the others get 0. By default all.

    Returns
    -------
    ndarray, shape (n_queries,)
        Scores before normalisation.
    """
    widths = ranks_that_matter(metric, rankings, unjudged[0])
    return _values(metric, rankings, widths, partial(view_of_ranks, unjudged=unjudged), which)[:, 0]


def walk_values(metric: Metric, rankings: Rankings, names: Sequence[str]) -> Floats:
    """Return several values of the users of each query, such as their expected effort, from one walk.

    Parameters
    ----------
    metric : Metric
        The metric.
    rankings : Rankings
        Rankings from :func:`seen_part`.
    names : sequence of str
        Names of values of shape [queries × 1] of :class:`pyterrier_cwla.model.browsing.Walk`.

    Returns
    -------
    ndarray, shape (n_queries, n_names)
        Values; 0 for empty rankings with ``end="stop"``.
    """
    if passes_items_without_gain(metric):
        return _values_over_hits(metric, rankings, names)
    return _values(metric, rankings, ranks_that_matter(metric, rankings), view_of_ranks, names=names)


def _values_over_hits(metric: Metric, rankings: Rankings, names: Sequence[str]) -> Floats:
    if not metric.gaps_are_known:
        return _values(metric, rankings, roomy(np.diff(rankings.start) + 1), view_of_hits, names=names)
    relevant = rankings.grade > 0
    rankings = rankings if relevant.all() else rankings.only(relevant)
    widths = roomy(np.diff(rankings.start) + 2)  # rank 1 and the last item have a column as well
    ranks = ranks_that_matter(metric, rankings)
    sparse = RANKS_PER_COLUMN * widths <= ranks
    values = _values(metric, rankings, widths, view_of_hits, sparse, names)
    return values if sparse.all() else values + _values(metric, rankings, ranks, view_of_ranks, ~sparse, names)


def _values(
    metric: Metric,
    rankings: Rankings,
    widths: Array,
    view_of: Callable[[Metric, Rankings, Array, int], Seen],
    which: Array | None = None,
    names: Sequence[str] = ("score",),
) -> Floats:
    values = np.zeros((len(rankings), len(names)))
    for queries, width in chunks_of_equal_width(metric, rankings, widths, which):
        try:
            found = _walked(metric, view_of(metric, rankings, queries, width), names)
        except UnknownEffort:
            # The effort of unseen items was read; it is needed only if values differ between two values of it.
            cheap, dear = (replace(metric, unseen=cost) for cost in (1.0, 100.0))
            try:
                found, other = (_walked(one, view_of(one, rankings, queries, width), names) for one in (cheap, dear))
            except NoFiniteValue as error:
                if metric.effort_only and not isinstance(error, UnknownEffort):
                    raise UnknownEffort from error
                raise
            if not np.allclose(found, other, rtol=1e-10, atol=1e-12):
                raise
        values[queries] = found
    return values


def _walked(metric: Metric, seen: Seen, names: Sequence[str]) -> Floats:
    """Return values of one walk, of shape [queries × names] or [1 × names]."""
    walk = Walk(metric, *seen)
    found = [np.asarray(getattr(walk, name)) for name in names]
    return found[0] if len(found) == 1 else np.hstack(np.broadcast_arrays(*found))
