"""Scores of users who are followed through the rankings, in chunks of queries: over hits only, or over all ranks.

``of_walk`` is the value that is returned for each query, by default the score.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from operator import attrgetter

import numpy as np

from ..data.arrays import Array, Floats
from ..data.rankings import Rankings
from ..errors import NoFiniteValue
from .browsing import Walk
from .metric import Metric
from .query_chunks import chunks_of_equal_width, ranks_that_matter, roomy
from .view import UnknownEffort
from .view_columns import Seen, view_of_hits, view_of_ranks

OfWalk = Callable[[Walk], Floats]
_score: OfWalk = attrgetter("score")


def passes_items_without_gain(metric: Metric) -> bool:
    """Return whether C is 1 at every item without gain, and all these items have the same effort."""
    return metric.flat_effort is not None and bool(metric.C.fact("ignores_zero_gain"))


def over_hits(metric: Metric, rankings: Rankings, of_walk: OfWalk = _score) -> Floats:
    """Return Σ L(i)·A(i) per query from the hits only, for metrics under which nobody leaves at other items."""
    return _values(metric, rankings, roomy(np.diff(rankings.start) + 1), view_of_hits, of_walk=of_walk)


def over_all_ranks(
    metric: Metric,
    rankings: Rankings,
    unjudged: tuple[float, float] = (0.0, 0.0),
    which: Array | None = None,
    of_walk: OfWalk = _score,
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
    of_walk : callable, optional
        Value of a walk, of shape [queries × 1]; by default its score.

    Returns
    -------
    ndarray, shape (n_queries,)
        Scores before normalisation.
    """
    widths = ranks_that_matter(metric, rankings, unjudged[0])
    return _values(metric, rankings, widths, partial(view_of_ranks, unjudged=unjudged), which, of_walk)


def _values(
    metric: Metric,
    rankings: Rankings,
    widths: Array,
    view_of: Callable[[Metric, Rankings, Array, int], Seen],
    which: Array | None = None,
    of_walk: OfWalk = _score,
) -> Floats:
    values = np.zeros(len(rankings))
    for queries, width in chunks_of_equal_width(metric, rankings, widths, which):
        try:
            found = of_walk(Walk(metric, *view_of(metric, rankings, queries, width)))
        except UnknownEffort:
            # The effort of unseen items was read; it is needed only if values differ between two values of it.
            cheap, dear = (replace(metric, unseen=cost) for cost in (1.0, 100.0))
            try:
                found, other = (of_walk(Walk(one, *view_of(one, rankings, queries, width))) for one in (cheap, dear))
            except NoFiniteValue as error:
                if metric.effort_only and not isinstance(error, UnknownEffort):
                    raise UnknownEffort from error
                raise
            if not np.allclose(found, other, rtol=1e-10, atol=1e-12):
                raise
        values[queries] = np.broadcast_to(found, (len(queries), 1))[:, 0]
    return values
