"""Counting measures of ir_measures without a user model: R-precision, bpref, infAP, numbers of documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from ..data.rankings import Array, Rankings, summed
from ..model.language import Parameter
from ..model.view_columns import CELLS, packed
from .catalogue import JUDGED_ONLY
from .computing import Better, Computation, Needs, OfRankings, from_0_up, with_grades


def number_relevant(rankings: Rankings, rel: int) -> Array:
    """Return the number of judged documents of grade ``rel`` or above per ranking, retrieved or not."""
    pool = rankings.pool
    return rankings.of_pool(summed(pool.query, pool.grade >= rel, pool.queries))


def num_q(rankings: Rankings) -> Array:
    """Count the queries that the run answers: each has the value 1.

    Unit: queries.
    """
    return np.ones(len(rankings))


def num_rel(rankings: Rankings, rel: int = 1) -> Array:
    """Count the judged documents of grade rel or above; queries that the run does not answer have 0.

    The value is that of ir_measures. With ``trec_eval -c``, unanswered queries count their documents as well.

    Unit: documents.
    """
    return number_relevant(rankings, rel)


def num_ret(rankings: Rankings, rel: int | None = None) -> Array:
    """Count the retrieved documents; with rel, only those of grade rel or above.

    Unit: documents.
    """
    if rel is None:
        return rankings.n.astype(float)
    return summed(rankings.query, rankings.grade >= rel, len(rankings))


def r_precision(rankings: Rankings, rel: int = 1) -> Array:
    """Compute the share of relevant documents among the first R, where R is the number of relevant documents.

    Range [0, 1].
    """
    R = number_relevant(rankings, rel)
    early = (rankings.grade >= rel) & (rankings.rank <= R[rankings.query])
    return share(summed(rankings.query, early, len(R)), R)


def judged(rankings: Rankings, cutoff: int | None = None) -> Array:
    """Compute the share of judged documents among the retrieved ones, or among the first k.

    Range [0, 1].
    """
    cut = rankings if cutoff is None else rankings.first(cutoff)
    hits = summed(cut.query, np.ones(len(cut.query)), len(cut))
    return share(hits, cut.n)


def bpref(rankings: Rankings, rel: int = 1) -> Array:
    """Compute the share of pairs of a relevant and a judged non-relevant document that are ranked in this order.

    bpref = (1/R)·Σ_x (1 − min(R, n_x)/min(R, N)), a sum over the retrieved relevant documents x. R and N are the
    numbers of relevant and of judged non-relevant documents, and n_x is the number of judged non-relevant documents
    above x. The fraction is 0 if n_x is 0. Unjudged documents, and those of grades below 0, are ignored. Range [0, 1].

    References
    ----------
    Buckley and Voorhees (2004), as trec_eval computes it.
    """
    pool, grade = rankings.pool, rankings.grade
    R = number_relevant(rankings, rel)
    N = rankings.of_pool(summed(pool.query, _not_relevant(pool.grade, rel), pool.queries))
    above = number_above(rankings, _not_relevant(grade, rel))
    lost = share(np.minimum(above, R[rankings.query]), np.minimum(R, N)[rankings.query])
    return share(summed(rankings.query, np.where(grade >= rel, 1 - lost, 0.0), len(R)), R)


def inf_ap(rankings: Rankings, rel: int = 1) -> Array:
    """Estimate average precision from a pool of which only a sample is judged.

    infAP = (1/R)·Σ_x [1/p + (|J|/p)·(|Rel| + ε)/(|Rel| + |Non| + 2ε)], a sum over the retrieved relevant documents x,
    p the rank of x. J is the set of pooled documents above x, Rel and Non are the relevant and the non-relevant ones
    in it, and ε = 1e−5. The term is 1 for p = 1. Documents of grades below 0 are in the pool and unjudged. Range
    [0, 1].

    References
    ----------
    Yilmaz and Aslam (2006), as trec_eval computes it.
    """
    grade, p = rankings.grade, rankings.rank
    relevant = number_above(rankings, grade >= rel)
    others = number_above(rankings, _not_relevant(grade, rel))
    in_pool = number_above(rankings, np.ones(len(grade), bool))
    inferred = 1 / p + in_pool / p * (relevant + _EPSILON) / (relevant + others + 2 * _EPSILON)
    R = number_relevant(rankings, rel)
    return share(summed(rankings.query, np.where(grade >= rel, inferred, 0.0), len(R)), R)


_EPSILON = 1e-5


def _not_relevant(grade: Array, rel: int) -> Array:
    return (grade >= 0) & (grade < rel)


def number_above(rankings: Rankings, which: Array) -> Array:
    """Return the number of marked hits above each hit, in the same ranking; ``which`` is the mask of marked hits."""
    before = np.concatenate([[0], np.cumsum(which)])
    above: Array = before[:-1] - before[rankings.start[rankings.query]]
    return above


def share(part: Array, whole: Array) -> Array:
    """Return the ratios; 0 for a denominator of 0."""
    ratios: Array = np.divide(part, whole, out=np.zeros(len(whole)), where=whole > 0)
    return ratios


def running(start: Array, values: Array, function: Callable[[Array], Array]) -> Array:
    """Return running sums, highest values or the like within each query.

    Each query is computed separately. Its values therefore do not depend on other queries, to the last bit.

    Parameters
    ----------
    start : ndarray of int, shape (n_queries + 1,)
        Offset of the first value of each query.
    values : ndarray, shape (n_values,)
        Values, ordered by query.
    function : callable
        Function from values [queries × columns] to running values of the same shape; unused cells are 0.
    """
    found, widths = np.empty(len(values)), np.diff(start)
    for queries, width in packed(np.argsort(widths, kind="stable"), widths, CELLS):
        inside = np.arange(width) < widths[queries][:, None]
        place = (start[queries][:, None] + np.arange(width))[inside]
        cells = np.zeros(inside.shape)
        cells[inside] = values[place]
        found[place] = function(cells)[inside]
    return found


@dataclass(frozen=True)
class Count:
    """Declaration of a measure without a user model.

    Attributes
    ----------
    function : callable
        A function from rankings and parameters to one value per ranking. If the measure has a parameter
        ``judged_only`` and it is true, the rankings are condensed to judged documents.
    parameters : tuple of Parameter
        The parameters of the measure.
    needs : Needs
        The data that the function reads.
    better : callable
        A function from the parameters that are given to the scores that are better: "higher", "lower", or None if
        neither is, as for numbers of retrieved documents.
    of_unanswered : bool, default=False
        Whether the function scores queries without results as well; otherwise they have the value 0.
    """

    function: Callable[..., Array]
    parameters: tuple[Parameter, ...] = ()
    needs: Needs = field(default_factory=Needs)
    better: Callable[[Mapping[str, Any]], Better | None] = lambda given: "higher"
    of_unanswered: bool = False

    def computation(self, given: Mapping[str, Any]) -> Computation:
        """Return the computation of the measure with these parameters."""
        if given.get("rel") == 0:
            return with_grades(self._of_rankings({**given, "rel": 1}), from_0_up, "from 0 up")
        return self._of_rankings(given)

    def _of_rankings(self, given: Mapping[str, Any]) -> OfRankings:
        names = {p.name for p in self.parameters} - {JUDGED_ONLY.name}
        score = partial(self.function, **{name: value for name, value in given.items() if name in names})
        if not given.get(JUDGED_ONLY.name):
            return OfRankings(score, self.needs, self.of_unanswered)
        needs = replace(self.needs, all_judged=True)
        return OfRankings(lambda rankings: score(rankings.condensed), needs, self.of_unanswered)
