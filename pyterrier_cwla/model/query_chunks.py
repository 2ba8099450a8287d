"""Chunks of queries that are computed together: how many ranks of each matter, and which share a matrix."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..data.rankings import Rankings
from ..errors import BadParameter
from .introspection import reads
from .metric import FARTHEST, Array, Metric

CELLS = 1 << 17  # queries × ranks that are worked on at a time, so that they stay in cache


def roomy(widths: Array) -> Array:
    """The next of 2, 4, 8 and then four widths an octave (10, 12, 14, 16, 20, …): many queries share one."""
    widths = np.maximum(widths, 2)
    step = 1 << np.maximum(np.int64(np.ceil(np.log2(widths))) - 3, 0)
    return np.where(widths <= 8, power_of_two(widths), -(-widths // step) * step)


def power_of_two(widths: Array) -> Array:
    """The next power of two."""
    return np.exp2(np.ceil(np.log2(widths))).astype(np.int64)


def packed(order: Array, widths: Array, cells: int) -> Iterator[tuple[Array, int]]:
    """Queries in an order by rising widths, as many at a time as fit into the cells, each time with the greatest."""
    done = 0
    while done < len(order):
        ahead = widths[order[done : done + cells]]
        # The last of the chunk is the widest: as many rows as fit at its width.
        fits = int(np.searchsorted(ahead * np.arange(1, len(ahead) + 1), cells, side="right"))
        queries = order[done : done + max(fits, 1)]
        yield queries, int(widths[queries[-1]])
        done += len(queries)


def chunks_of_equal_width(
    metric: Metric, rankings: Rankings, widths: Array, which: Array | None = None
) -> Iterator[tuple[Array, int]]:
    """Split queries into chunks of equally many columns, as many queries at a time as stay in cache.

    Parameters
    ----------
    metric : Metric
    rankings : Rankings
    widths : ndarray of int, shape (n_queries,)
        How many columns each query needs.
    which : ndarray of bool, shape (n_queries,), optional
        The queries that are wanted; by default all.

    Yields
    ------
    queries : ndarray of int
    width : int

    Raises
    ------
    BadParameter
        If a query needs more columns than memory may hold.
    """
    if widths.max(initial=0) > FARTHEST:
        raise BadParameter(
            f"{widths.max():,} ranks would have to be looked at one by one, and {FARTHEST:,} can be: name a lower"
            f" rank in {metric.C.keyword}, as end= or as cutoff."
        )
    n = rankings.n
    order = np.lexsort((n > 0, widths))  # empty rankings by themselves: all of theirs is unseen
    keep = np.ones(len(n), bool) if which is None else which
    if metric.end == "stop":
        keep = keep & (n > 0)  # nobody sees anything of an empty list
    order = order[keep[order]]
    differs = np.flatnonzero((np.diff(widths[order]) != 0) | np.diff(n[order] > 0)) + 1
    for alike in np.split(order, differs) if len(order) else []:
        width = int(widths[alike[0]])
        step = max(CELLS // width, 1)
        for first in range(0, len(alike), step):
            yield alike[first : first + step], width


def ranks_that_matter(metric: Metric, rankings: Rankings, unjudged_gain: float = 0.0) -> Array:
    """Return how many ranks of each query have to be explicit.

    At the open end, what follows the last hit is often as good as unseen.

    Parameters
    ----------
    metric : Metric
    rankings : Rankings
    unjudged_gain : float
        The gain of items that are not judged.

    Returns
    -------
    ndarray of int, shape (n_queries,)
    """
    last = metric.rank_at("last_rank")
    if metric.end == "stop":
        widths = roomy(rankings.n)
    elif isinstance(metric.end, int):
        widths = np.full(len(rankings), metric.end)
    else:
        deepest = rankings.last_hit if _settled_after_hits(metric) and not unjudged_gain else rankings.n
        needed = np.maximum(deepest, metric.explicit_ranks)
        widths = roomy(needed)
        if metric.unseen_effort is None:  # as far as the list goes, where more would ask what is not known
            widths = np.minimum(widths, np.maximum(needed, rankings.n))
    looks_ahead = (reads(metric.C) | reads(metric.A)) & {"found", "discounted"}
    return np.minimum(widths, last) if last and not looks_ahead else widths


def _settled_after_hits(metric: Metric) -> bool:
    """Whether efforts after the last hit do not matter: where A stays and all who go on leave, sooner or later."""
    stays = bool(metric.A.fact("constant_without_gain")) and bool(metric.C.fact("eventually_leaves"))
    return metric.flat_effort is not None or stays
