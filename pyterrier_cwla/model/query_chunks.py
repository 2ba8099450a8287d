"""Chunks of queries that are scored together: the number of explicit ranks per query, and queries of equal width."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..data.arrays import Array, Floats
from ..data.rankings import Rankings
from ..errors import BadParameter
from .introspection import reads
from .metric import FARTHEST, Metric

CELLS = 1 << 16  # queries × ranks per chunk, so that a chunk fits into the cache of the processor
_NODES = 144  # nodes after the list in most sums over them


def roomy(widths: Array) -> Array:
    """Return each width rounded up to 2, 4, 8, or one of four widths per octave (10, 12, 14, 16, 20, …).

    Many queries then have the same width.
    """
    widths = np.maximum(widths, 2)
    step = 1 << np.maximum(np.int64(np.ceil(np.log2(widths))) - 3, 0)
    return np.where(widths <= 8, power_of_two(widths), -(-widths // step) * step)


def power_of_two(widths: Array) -> Array:
    """Return each width rounded up to a power of two."""
    return np.exp2(np.ceil(np.log2(widths))).astype(np.int64)


def packed(order: Array, widths: Array, cells: int) -> Iterator[tuple[Array, int]]:
    """Yield chunks of queries with the largest width in each.

    Parameters
    ----------
    order : ndarray of int
        Queries in ascending order of their widths.
    widths : ndarray of int
        Width of each query.
    cells : int
        Largest number of queries × width per chunk, unless one query has more.

    Yields
    ------
    queries : ndarray of int
        Queries of the chunk.
    width : int
        Largest of their widths.
    """
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
    """Yield chunks of queries with equal widths that are small enough for the cache of the processor.

    Parameters
    ----------
    metric : Metric
        The metric.
    rankings : Rankings
        Rankings to score.
    widths : ndarray of int, shape (n_queries,)
        Number of columns that each query needs.
    which : ndarray of bool, shape (n_queries,), optional
        Queries to include; by default all.

    Yields
    ------
    queries : ndarray of int
        Queries of the chunk.
    width : int
        Number of columns.

    Raises
    ------
    BadParameter
        If a query needs more columns than the limit of memory allows.
    """
    refuse_too_many_ranks(metric, widths.max(initial=0))
    n = rankings.n
    kind = 2 * widths + (n > 0)  # empty rankings are separate: all their items are unseen
    kind = kind.astype(np.min_scalar_type(int(kind.max(initial=0))))  # NumPy sorts short integers in linear time
    order = np.argsort(kind, kind="stable")
    keep = np.ones(len(n), bool) if which is None else which
    if metric.end == "stop":
        keep = keep & (n > 0)  # an empty list has no items
    order = order[keep[order]]
    differs = np.flatnonzero(np.diff(kind[order])) + 1
    nodes = _NODES if metric.sums_at_nodes else 1
    for alike in np.split(order, differs) if len(order) else []:
        width = int(widths[alike[0]])
        step = max(CELLS // max(width, nodes), 1)
        for first in range(0, len(alike), step):
            yield alike[first : first + step], width


def refuse_too_many_ranks(metric: Metric, ranks: int) -> None:
    """Raise BadParameter if a number of explicit ranks is above the limit of memory."""
    if ranks > FARTHEST:
        raise BadParameter(
            f"{ranks:,} explicit ranks would be needed, and at most {FARTHEST:,} are possible: give a lower"
            f" rank in {metric.C.keyword}, as end= or as cutoff."
        )


def ranks_that_matter(metric: Metric, rankings: Rankings, unjudged_gain: float = 0.0) -> Floats:
    """Return the number of explicit ranks that each query needs.

    At the open end, items after the last hit are often equal to unseen items.

    Parameters
    ----------
    metric : Metric
        The metric.
    rankings : Rankings
        Rankings to score.
    unjudged_gain : float, default=0
        Gain of unjudged items.

    Returns
    -------
    ndarray of int, shape (n_queries,)
        Numbers of ranks.
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
        if metric.unseen_effort is None:  # columns after the list would need the unknown effort of unseen items
            widths = np.minimum(widths, np.maximum(needed, rankings.n))
    looks_ahead = (reads(metric.C) | reads(metric.A)) & {"found", "discounted"}
    return np.minimum(widths, last) if last and not looks_ahead else widths


def _settled_after_hits(metric: Metric) -> bool:
    """Return whether efforts after the last hit do not matter: all are equal, or A is constant and all users leave."""
    constant = metric.A.fact("constant_without_gain") and "expected_effort" not in reads(metric.A)
    stays = bool(constant) and bool(metric.C.fact("eventually_leaves"))
    return metric.flat_effort is not None or stays
