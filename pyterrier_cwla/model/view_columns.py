"""Views of aligned rankings, with the ranks of some queries, or their hits only, as columns."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial

import numpy as np

from ..data.arrays import Array, Floats
from ..data.quantities import COST
from ..data.rankings import Pool, Rankings
from ..errors import BadParameter
from .introspection import effort_reads, reads
from .metric import Metric
from .view import Documents, UnknownEffort, View, before

_SPARSE = 8  # ranks per hit from which cumulative gains are taken from the hits

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
    at, row, number = rankings.hits_of(queries)
    column = rankings.rank[at] - 1
    if column.max(initial=0) >= width:
        inside = column < width
        at, row, number, column = at[inside], row[inside], number[inside], column[inside]
    r = np.full((len(queries), width), unjudged[0]) if unjudged[0] else np.zeros((len(queries), width))
    place, gains = row * width + column, rankings.gains(metric)[at]
    r.ravel()[place] = gains
    sparse = _SPARSE * len(at) <= r.size and not unjudged[0]
    G = partial(_sums_at_hits, gains, row, number, column, r.shape) if sparse else None

    def grade() -> Floats:
        grades = np.full(r.shape, unjudged[1], float if unjudged[0] else rankings.grade.dtype)
        grades.ravel()[place] = rankings.grades(metric)[at]
        return grades

    e = None if metric.unit_effort else _efforts(metric, rankings, queries, row, column, at, width)
    leaves = None
    if metric.end != "open":
        n = rankings.n[queries] if metric.end == "stop" else np.full(len(queries), width)
        leaves = np.minimum(n, width) - 1
    i = np.arange(1.0, width + 1)[None, :]
    totals = totals_of(metric, rankings, queries)
    return View(i, r, grade, totals, e, metric.unseen_effort, *unjudged, G=G), leaves


def _sums_at_hits(gains: Floats, row: Array, number: Array, column: Array, shape: tuple[int, int]) -> Floats:
    """Return the cumulative gain at each rank: sums at the hits, each repeated up to the next hit.

    The values are those of the sum over all ranks, to the last bit. It is four times as fast where hits are rare.
    """
    most = int(number.max(initial=-1)) + 1
    sums, edges = np.zeros((shape[0], most + 1)), np.full((shape[0], most + 2), shape[1])
    place = row * (most + 1) + number + 1
    sums.ravel()[place], edges.ravel()[place + row], edges[:, 0] = gains, column, 0
    return np.repeat(np.cumsum(sums, axis=1).ravel(), np.diff(edges).ravel()).reshape(shape)


def _efforts(
    metric: Metric, rankings: Rankings, queries: Array, row: Array, column: Array, at: Array, width: int
) -> Floats:
    grades_alone = effort_reads(metric.effort) <= {"grade"}
    if rankings.efforts is None and metric.effort.name == "given":
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
        e = metric.costs(
            Documents(
                grade,
                lambda: rankings.words(metric, queries, width),
                lambda: rankings.words(metric, queries, width, COST),
                np.arange(1.0, width + 1)[None, :],
            )
        )
    listed = np.arange(width)[None, :] < rankings.n[queries][:, None]
    if not grades_alone or rankings.efforts is not None:
        metric.refuse_odd_efforts(e, where=listed)
    if rankings.n[queries].min(initial=width) >= width:
        return e
    if metric.effort_depends_on("rank"):
        with suppress(UnknownEffort):  # words or seconds of unseen items are not known
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

    Hits are the judged items in a ranking. If several measures score the rankings, the view is cached in
    ``rankings.views``, because AP, RR and similar measures share it.

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
    if metric.gaps_are_known:
        return _hits_and_gaps(metric, rankings, queries, width)
    if not (rankings.shared and metric.gain.built_in and metric.effort.built_in):
        return _hits_alone(metric, rankings, queries, width)
    between = metric.survives_by_effort
    what = (metric.gain.key, metric.max_rel, metric.idle_duplicates, metric.effort.key, metric.end, between)
    key = (*what, int(queries[0]), len(queries))
    if key not in rankings.views:
        rankings.views[key] = _hits_alone(metric, rankings, queries, width)
    view: Seen = rankings.views[key]
    return view


def _hits_alone(metric: Metric, rankings: Rankings, queries: Array, width: int) -> Seen:
    first, end = rankings.start[queries], rankings.start[queries + 1]
    # Users who leave between hits also leave at the item after the last hit, which stands for all later ones.
    last = rankings.last_hit[queries] + 1 if metric.survives_by_effort else np.maximum(rankings.last_hit[queries], 1)
    leaves = None
    if metric.end != "open":
        last = rankings.n[queries] if metric.end == "stop" else np.full(len(queries), metric.end)
        leaves = np.where(rankings.last_hit[queries] == last, end - first, width) - 1
    at = first[:, None] + np.arange(width)
    is_hit = at < end[:, None]

    def of_hits(values: Array, otherwise: Array | float) -> Array:
        """Return the value of the hit in each column, and another value in the columns after the hits."""
        if not len(values):
            return np.full(at.shape, otherwise)
        return np.where(is_hit, values.take(at, mode="clip"), otherwise)

    i, r = of_hits(rankings.rank, last[:, None].astype(float)), of_hits(rankings.gains(metric), 0.0)
    totals = totals_of(metric, rankings, queries)
    grades = rankings.grades(metric)
    view = partial(View, i, r, lambda: of_hits(grades, 0), totals)
    if metric.unit_effort:
        return view(), leaves
    e, e_of_hits = np.full(i.shape, metric.flat_effort), np.zeros(i.shape)
    place = np.flatnonzero(is_hit)
    e.ravel()[place] = e_of_hits.ravel()[place] = metric.effort_of(rankings.grade[at.ravel()[place]])
    hits_above = np.minimum(np.arange(width), np.diff(rankings.start)[queries][:, None])
    E_before = metric.flat_effort * np.maximum(i - 1 - hits_above, 0) + before(np.cumsum(e_of_hits, axis=1))
    return view(e, metric.unseen_effort, E_before=E_before), leaves


def _hits_and_gaps(metric: Metric, rankings: Rankings, queries: Array, width: int) -> Seen:
    """Return a view of rank 1, the hits, and the last item if the list has an end, with the items between skipped.

    Columns after the last item repeat its rank, and cost nothing.
    """
    at, row, column = rankings.hits_of(queries)
    last = np.maximum(rankings.last_hit[queries], 1)
    if metric.end != "open":
        last = rankings.n[queries] if metric.end == "stop" else np.full(len(queries), metric.end)
    rank = rankings.rank[at]
    at_first = np.bincount(row[rank == 1], minlength=len(queries)) > 0
    i = np.empty((len(queries), width))
    i[:], i[:, 0] = last[:, None], 1
    place = row * width + column + ~at_first[row]
    i.ravel()[place] = rank
    grade, r = np.zeros(i.shape, rankings.grade.dtype), np.zeros(i.shape)
    grade.ravel()[place], r.ravel()[place] = rankings.grades(metric)[at], rankings.gains(metric)[at]
    listed = i > before(i)
    skipped = np.zeros(i.shape)
    skipped[:, :-1] = np.maximum(np.diff(i) - 1, 0)
    cost = metric.flat_effort or 0.0  # of an item without gain; above 0
    e = np.where(listed, cost, 0.0)
    e.ravel()[place] = metric.effort_of(rankings.grade[at])
    E_before = before(np.cumsum(e + cost * skipped, axis=1))
    leaves = None if metric.end == "open" else listed.sum(axis=1) - 1
    totals = totals_of(metric, rankings, queries)
    return View(i, r, grade, totals, e, metric.unseen_effort, E_before=E_before, skipped=skipped), leaves


def totals_of(metric: Metric, rankings: Rankings, queries: Array) -> Callable[[float | None], Floats]:
    """Return the function ``totals`` of a view of some queries, with results of shape [queries × 1]."""
    pool, topics = rankings.pool, queries if rankings.topic is None else rankings.topic[queries]
    return lambda rel: pool_totals(metric, pool, rel)[topics][:, None]


def pool_totals(metric: Metric, pool: Pool, rel: float | None = None) -> Floats:
    """Return the total gain over all judgments per query, or the number of documents of grade ``rel`` or higher."""
    if rel is None:
        return pool.totals(metric.gains, (metric.gain.key, metric.max_rel), metric.gain.built_in)
    return pool.totals(lambda grade: (np.asarray(grade) >= rel).astype(float), rel)
