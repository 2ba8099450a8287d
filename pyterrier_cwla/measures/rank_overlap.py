"""Overlap of two rankings at every depth, with geometric weights: Compat, and the sums of rank-biased overlap."""

from __future__ import annotations

import numpy as np

from ..data.rankings import Array, Pool, Rankings, summed
from ..errors import BadParameter
from ..model.language import In, Parameter
from ..model.view_columns import CELLS, packed
from .catalogue import Flag
from .computing import Needs
from .counting import Count, share


def check_persistence(p: float) -> None:
    """Raise BadParameter if the persistence of a rank-biased overlap is out of its range."""
    if not isinstance(p, int | float | np.number) or not 0 < p < 1:
        raise BadParameter(f"p={p!r}: the persistence must be between 0 and 1, such as 0.9.")


class OverlapSums:
    """Sums over depths d of the overlap of two rankings, each weighted with p^(d−1)/d.

    A document that both rankings have in their first d places counts from this depth on.

    Parameters
    ----------
    p : float in [0, 1]
        Persistence: the probability of going on to the next depth.
    depth : int
        Largest depth.
    """

    def __init__(self, p: float, depth: int) -> None:
        i = np.arange(1, depth + 1)
        self._sums = np.append(0.0, np.cumsum(float(p) ** (i - 1) / i))

    def weight(self, start: Array, end: Array) -> Array:
        """Return the sums of p^(d−1)/d over the depths start < d ≤ end."""
        sums: Array = self._sums[end] - self._sums[start]
        return sums

    def of(self, query: Array, entry: Array, depth: Array) -> Array:
        """Return the weighted sum of overlaps down to a depth, for each query.

        Parameters
        ----------
        query : ndarray of int, shape (n_common,)
            Query of each document that both rankings have.
        entry : ndarray of int, shape (n_common,)
            The larger of its two ranks.
        depth : ndarray of int, shape (n_queries,)
            Depth of each query, at least that of its entries.
        """
        return summed(query, self.weight(entry - 1, depth[query]), len(depth))


def compatibility(rankings: Rankings, p: float = 0.95, normalize: bool = True) -> Array:
    """Compute the rank-biased overlap of a ranking with the ideal ranking that is most similar to it.

    Compat = Σ_d p^(d−1)·X_d/d / Σ_d p^(d−1), d = 1 to D. X_d is the number of documents that are among the first d of
    both rankings, and D is the length of the longer one. The ideal ranking has the R documents of grades above 0 in
    descending order of grade. Documents of one grade are in the order of their scores in the run, with score 0 for
    documents that are not retrieved; equal scores are in the order of the judgments. With ``normalize``, the value is
    divided by that of the ideal ranking with itself, which is below 1 if D > R. A query without relevant documents
    scores 0. Range [0, 1].

    Scores are compared as float64, and ties in the run are broken by ascending id. Both are as in ir_measures, and
    differ from other measures of this package. The authors' script sums to D = 1000 instead, which gives other values
    for shorter lists. A run that is filled up to 1000 documents with unjudged ones has the value of the script.

    References
    ----------
    Clarke, Vtyurina and Smucker (2021), as ir_measures computes it.
    """
    relevant = rankings if (rankings.grade > 0).all() else rankings.only(rankings.grade > 0)
    ideal = relevant.pool.remembered("ideal by grade", lambda: _IdealByGrade(relevant.pool))
    R = relevant.of_pool(ideal.relevant)
    depth = np.maximum(relevant.n, R)
    if "entry" not in relevant.views:  # other parameters need the same ranks
        relevant.views["entry"] = np.maximum(relevant.exact_ranks, ideal.ranks_of_hits(relevant))
    found = _overlap(relevant.query, relevant.views["entry"], depth, p)
    if not normalize:
        return found
    pair = R * (int(depth.max(initial=0)) + 1) + depth  # rankings with equal R and D have equal ideals
    _, first, same = np.unique(pair, return_index=True, return_inverse=True)
    R, depth = R[first], depth[first]
    places = np.arange(R.sum()) - np.repeat(np.cumsum(R) - R, R)
    return share(found, _overlap(np.repeat(np.arange(len(R)), R), places + 1, depth, p)[same])


def _overlap(query: Array, entry: Array, depth: Array, p: float) -> Array:
    """Return Σ_d p^(d−1)·X_d/d / Σ_d p^(d−1) of each query, with sums in the order of the depths, as in ir_measures."""
    found, depth = np.zeros(len(depth)), np.maximum(depth, 1)
    d = np.arange(1, depth.max(initial=1) + 1)
    weights = np.cumprod(np.where(d == 1, 1.0, p))
    total = np.cumsum(weights)
    order = np.argsort(depth, kind="stable")
    place = np.argsort(order)[query]
    by_place, row = np.argsort(place, kind="stable"), 0
    place, entry = place[by_place], entry[by_place]
    for queries, width in packed(order, depth, CELLS):
        start, end = np.searchsorted(place, (row, row + len(queries)))
        cells = (place[start:end] - row) * width + entry[start:end] - 1
        new = np.bincount(cells, minlength=len(queries) * width).reshape(len(queries), width)
        sums = np.cumsum(weights[:width] * np.cumsum(new, axis=1) / d[:width], axis=1)
        last = depth[queries] - 1
        found[queries] = sums[np.arange(len(queries)), last] / total[last]
        row += len(queries)
    return found


class _IdealByGrade:
    """Relevant documents of a pool in the order of query, descending grade and row; each grade of a query is a level.

    Attributes
    ----------
    relevant : ndarray of int, shape (n_queries,)
        Number of relevant documents of each query.
    """

    def __init__(self, pool: Pool) -> None:
        document = np.flatnonzero(pool.grade > 0)
        query, grade = pool.query[document], pool.grade[document]
        order = np.lexsort((-grade, query))
        query, grade = query[order], grade[order]
        self.relevant = np.bincount(query, minlength=pool.queries)
        new = np.append(True, (np.diff(query) > 0) | (np.diff(grade) != 0))[: len(order)]
        level, starts = np.cumsum(new) - 1, np.flatnonzero(new)
        self.sizes = np.diff(np.append(starts, len(order)))
        first = np.cumsum(self.relevant) - self.relevant
        self.above = starts - first[query[starts]]  # documents of higher grades
        self.level, self.place = np.full((2, len(pool.grade)), -1)
        self.level[document[order]] = level
        self.place[document[order]] = np.arange(len(order)) - starts[level]  # among the documents of the level

    def ranks_of_hits(self, rankings: Rankings) -> Array:
        """Return the rank of each hit in the ideal ranking that is in the order of the run where grades are equal."""
        assert rankings.judgment is not None
        level, place = self.level[rankings.judgment], self.place[rankings.judgment]
        score = rankings.exact_scores
        group = rankings.query * len(self.sizes) + level
        order = np.lexsort((place, -score, group))
        number = np.arange(len(order))
        first = np.searchsorted(group[order], group)  # hits of earlier groups
        rank = np.empty(len(order), np.int64)
        rank[order] = number + 1
        rank += self.above[level] - first
        low = np.flatnonzero(score <= 0)
        if len(low):  # documents that are not retrieved have the score 0
            by_row = np.lexsort((place, group))
            earlier = np.empty(len(order), np.int64)
            earlier[by_row] = number
            missing_in_earlier_rows = (place - (earlier - first))[low]
            hits = np.searchsorted(group[order], group[low], side="right") - first[low]
            missing = self.sizes[level[low]] - hits
            rank[low] += np.where(score[low] < 0, missing, missing_in_earlier_rows)
        return rank


COMPAT = Count(
    compatibility,
    (Parameter("p", In("[0, 1]"), 0.95), Parameter("normalize", Flag(), True)),
    Needs(scores=True),
)
