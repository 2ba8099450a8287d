"""Views of aligned rankings, with the ranks of some queries, or their hits only, as columns, in chunks of queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

import numpy as np

from ..data.columns import Array, Floats
from ..data.lengths import Costs
from ..data.rankings import Pool, Rankings, summed
from ..errors import BadParameter
from .document_values import gains_of_hits, grades_of_hits, words_of_items
from .introspection import effort_reads, reads
from .metric import FARTHEST, Metric
from .view import Documents, UnknownEffort, View, before

Seen = tuple[View, Array | None]
"""View, and last column that the users of each query see (None if the list has no end)."""


def seen_part(metric: Metric, rankings: Rankings) -> Rankings:
    """Return the part of rankings that a metric scores: condensed if ``judged_only``, and up to rank k or end."""
    if metric.judged_only:
        rankings = rankings.condensed
    last = metric.last_that_counts
    return rankings if last is None else rankings.first(last)


def view_of_ranks(
    metric: Metric, rankings: Rankings, queries: Array, width: int, unjudged: tuple[float, float] = (0.0, 0.0)
) -> Seen:
    """Return the view of ranks 1 to width of some queries.

    Parameters
    ----------
    metric : Metric
        The metric.
    rankings : Rankings
        Rankings from :func:`seen_part`.
    queries : ndarray of int
        Queries of the view.
    width : int
        Number of ranks.
    unjudged : tuple of float, default=(0, 0)
        Gain and grade of unjudged and unseen items.

    Returns
    -------
    view : View
        View of shape [queries × width].
    leaves : ndarray of int or None
        Last column that the users of each query see; None if the list has no end.

    Raises
    ------
    UnknownEffort
        If the effort of unseen items is needed and is not known.
    """
    at, row, _ = rankings.hits_of(queries)
    column = rankings.rank[at] - 1
    if column.max(initial=0) >= width:
        inside = column < width
        at, row, column = at[inside], row[inside], column[inside]
    r = np.full((len(queries), width), unjudged[0]) if unjudged[0] else np.zeros((len(queries), width))
    place = row * width + column
    r.ravel()[place] = gains_of_hits(metric, rankings)[at]

    def grade() -> Floats:
        grades = np.full(r.shape, unjudged[1], float if unjudged[0] else rankings.grade.dtype)
        grades.ravel()[place] = grades_of_hits(metric, rankings)[at]
        return grades

    e = None if metric.unit_effort else _efforts(metric, rankings, queries, row, column, at, width)
    leaves = None
    if metric.end != "open":
        leaves = np.minimum(_last_items(metric, rankings, queries), width) - 1
    i = np.arange(1.0, width + 1)[None, :]
    return View(i, r, grade, totals_of(metric, rankings, queries), e, metric.unseen_effort, *unjudged), leaves


def _efforts(
    metric: Metric, rankings: Rankings, queries: Array, row: Array, column: Array, at: Array, width: int
) -> Floats:
    grades_alone = effort_reads(metric.effort) <= {"grade"}
    if rankings.efforts is None and metric.effort.fact("given_with_items"):
        raise BadParameter(
            "effort='given' needs the effort of each item: pass efforts=, a number for each item, to score(…),"
            " residual(…) or explain_gains(…); for runs, write a function of documents with @effort."
        )
    if rankings.efforts is not None:
        e = rankings.efforts(queries, width)
    elif grades_alone:
        e = np.full((len(queries), width), metric.effort_of(np.zeros(1))[0])
        e[row, column] = metric.effort_of(rankings.grade[at])
    else:
        grade = np.zeros((len(queries), width))
        grade[row, column] = np.maximum(rankings.grade[at], 0)
        e = metric.efforts(
            Documents(
                grade,
                lambda: words_of_items(metric, rankings, queries, width),
                lambda: words_of_items(metric, rankings, queries, width, Costs),
                np.arange(1.0, width + 1)[None, :],
            )
        )
    listed = np.arange(width)[None, :] < rankings.n[queries][:, None]
    if not grades_alone or rankings.efforts is not None:
        metric.refuse_odd_efforts(e, where=listed)
    if rankings.n[queries].min(initial=width) >= width:
        return e
    if metric.effort_depends_on("rank"):
        with suppress(UnknownEffort):  # words or costs of unseen items are not known
            return np.where(listed, e, metric.costs_by_rank(np.arange(1.0, width + 1)[None, :]))
    if metric.unseen_effort is None and _needs_unseen_efforts(metric):
        raise UnknownEffort
    return np.where(listed, e, metric.unseen_effort or 0.0)


def _needs_unseen_efforts(metric: Metric) -> bool:
    """Return whether the score depends on efforts of unseen items in columns after the end of a short list.

    At the open end C alone does not: users who spend nothing there reach the ranks for which C is evaluated later.
    """
    efforts = {"e", "E", "expected_effort"}
    of_C = {"E"} if metric.end == "open" else efforts
    return metric.end != "stop" and bool(reads(metric.A) & efforts or reads(metric.C) & of_C)


def view_of_hits(metric: Metric, rankings: Rankings, queries: Array, width: int) -> Seen:
    """Return a view of the hits of some queries and, after them, the last item of the list.

    Parameters
    ----------
    metric : Metric
        The metric.
    rankings : Rankings
        Rankings from :func:`seen_part`.
    queries : ndarray of int
        Queries of the view.
    width : int
        Number of columns, above the number of hits of each query.

    Returns
    -------
    view : View
        View of shape [queries × width].
    leaves : ndarray of int or None
        Last column that the users of each query see; None if the list has no end.
    """
    at, row, column = rankings.hits_of(queries)
    hits, last_hit = np.bincount(row, minlength=len(queries)), rankings.last_hit[queries]
    # Users who leave between hits also leave at the item after the last hit, which stands for all later ones.
    last, leaves = np.maximum(last_hit, 1) if metric.C.fact("ignores_zero_gain") else last_hit + 1, None
    if metric.end != "open":
        last = _last_items(metric, rankings, queries)
        leaves = np.where(last_hit == last, hits, width) - 1
    i, place = np.repeat(last[:, None].astype(float), width, axis=1), row * width + column
    i.ravel()[place] = rankings.rank[at]
    r = _scattered(i.shape, place, gains_of_hits(metric, rankings)[at])
    grade = _scattered(i.shape, place, grades_of_hits(metric, rankings)[at])
    view = partial(View, i, r, grade, totals_of(metric, rankings, queries))
    if metric.unit_effort:
        return view(), leaves
    e_of_hits = _scattered(i.shape, place, metric.effort_of(rankings.grade[at]))
    e = np.full(i.shape, metric.flat_effort)
    e.ravel()[place] = e_of_hits.ravel()[place]
    hits_above = np.minimum(np.arange(width), hits[:, None])
    E_before = metric.flat_effort * np.maximum(i - 1 - hits_above, 0) + before(np.cumsum(e_of_hits, axis=1))
    return view(e, metric.unseen_effort, E_before=E_before), leaves


def _last_items(metric: Metric, rankings: Rankings, queries: Array) -> Array:
    """Return the last rank that users of each query can see, for lists with an end."""
    return rankings.n[queries] if metric.end == "stop" else np.full(len(queries), metric.end)


def _scattered(shape: tuple[int, ...], place: Array, values: Array) -> Array:
    """Return an array with values at some places, and 0 elsewhere."""
    found = np.zeros(shape, values.dtype)
    found.ravel()[place] = values
    return found


def view_of_hits_and_gaps(metric: Metric, rankings: Rankings, queries: Array, width: int) -> Seen:
    """Return a view of rank 1, the hits, and the last item if the list has an end, with the items between skipped.

    Columns after the last item repeat its rank, and cost nothing.
    """
    at, row, column = rankings.hits_of(queries)
    is_open, rank = metric.end == "open", rankings.rank[at]
    last = np.maximum(rankings.last_hit[queries], 1) if is_open else _last_items(metric, rankings, queries)
    at_first = np.bincount(row[rank == 1], minlength=len(queries)) > 0
    i, place = np.repeat(last[:, None].astype(float), width, axis=1), row * width + column + ~at_first[row]
    i[:, 0] = 1
    i.ravel()[place] = rank
    r = _scattered(i.shape, place, gains_of_hits(metric, rankings)[at])
    grade = _scattered(i.shape, place, grades_of_hits(metric, rankings)[at])
    listed = i > before(i)
    skipped = np.zeros(i.shape)
    skipped[:, :-1] = np.maximum(np.diff(i) - 1, 0)
    cost = metric.flat_effort or 0.0  # of an item without gain; above 0
    e = np.where(listed, cost, 0.0)
    e.ravel()[place] = metric.effort_of(rankings.grade[at])
    E_before = before(np.cumsum(e + cost * skipped, axis=1))
    leaves = None if is_open else listed.sum(axis=1) - 1
    totals = totals_of(metric, rankings, queries)
    return View(i, r, grade, totals, e, metric.unseen_effort, E_before=E_before, skipped=skipped), leaves


def totals_of(metric: Metric, rankings: Rankings, queries: Array) -> Callable[[float | None], Floats]:
    """Return the function ``totals`` of a view of some queries, with results of shape [queries × 1]."""
    pool, topics = rankings.pool, queries if rankings.topic is None else rankings.topic[queries]
    return lambda rel: pool_totals(metric, pool, rel)[topics][:, None]


def pool_totals(metric: Metric, pool: Pool, rel: float | None = None) -> Floats:
    """Return the total gain over all judgments per query, or the number of documents of grade ``rel`` or higher.

    Documents that harm are left out of the total.
    """
    if rel is None and metric.signed:
        key = ("total", metric.gain, metric.max_rel)
        return pool.remembered(key, lambda: summed(pool.query, np.maximum(metric.gains(pool.grade), 0.0), pool.queries))
    if rel is None:
        return pool.totals(metric.gains, (metric.gain, metric.max_rel))
    return pool.totals(lambda grade: (np.asarray(grade) >= rel).astype(float), (rel,))


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
    nodes = _NODES if _sums_at_nodes(metric) else 1
    for alike in np.split(order, differs) if len(order) else []:
        width = int(widths[alike[0]])
        step = max(CELLS // max(width, nodes), 1)
        for first in range(0, len(alike), step):
            yield alike[first : first + step], width


def _sums_at_nodes(metric: Metric) -> bool:
    """Return whether sums over the ranks after the list may have no closed form; values at nodes are then added up."""
    C, A = metric.C, metric.A
    items = C.fact("constant_beyond_list") or C.fact("items_beyond")
    closed = C.fact("ignores_zero_gain") or (A.fact("affine_beyond_list") and items)
    return metric.end == "open" and not closed


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
    last = metric.last_rank
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
    constant = metric.constant_without_gain and "expected_effort" not in reads(metric.A)
    return metric.flat_effort is not None or bool(constant and metric.C.fact("eventually_leaves"))
