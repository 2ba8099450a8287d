"""Measures that are no user model: functions of which documents are judged, relevant and retrieved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ..data.rankings import Array, Rankings, summed
from ..model.language import Parameter
from .catalogue import _CUTOFF, _JUDGED_ONLY, _REL
from .computing import Computation, Needs, OfRankings


def number_relevant(rankings: Rankings, rel: int) -> Array:
    """How many documents of each ranking's query are judged with at least rel, retrieved or not."""
    pool = rankings.pool
    return rankings.of_pool(summed(pool.query, pool.grade >= rel, pool.queries))


def num_q(rankings: Rankings) -> Array:
    """One for every query that was answered.

    Unit: queries.
    """
    return np.ones(len(rankings))


def num_rel(rankings: Rankings, rel: int = 1) -> Array:
    """How many documents are judged with at least rel; 0 where the run does not answer the query.

    This is ir_measures' count. That of ``trec_eval -c`` has the documents of unanswered queries as well.

    Unit: documents.
    """
    return number_relevant(rankings, rel)


def num_ret(rankings: Rankings, rel: int | None = None) -> Array:
    """How many documents were retrieved; with rel, how many of at least that grade.

    Unit: documents.
    """
    if rel is None:
        return rankings.n.astype(float)
    return summed(rankings.query, rankings.grade >= rel, len(rankings))


def r_precision(rankings: Rankings, rel: int = 1) -> Array:
    """The share of relevant documents among the first R, R the number of relevant documents.

    Range [0, 1].
    """
    R = number_relevant(rankings, rel)
    early = (rankings.grade >= rel) & (rankings.rank <= R[rankings.query])
    return share(summed(rankings.query, early, len(R)), R)


def judged(rankings: Rankings, cutoff: int | None = None) -> Array:
    """The share of judged documents among the first cutoff, or among all retrieved.

    Range [0, 1].
    """
    cut = rankings if cutoff is None else rankings.first(cutoff)
    hits = summed(cut.query, np.ones(len(cut.query)), len(cut))
    return share(hits, cut.n)


def bpref(rankings: Rankings, rel: int = 1) -> Array:
    """The share of preferences between judged documents that a ranking keeps; what is not judged is passed over.

    bpref = (1/R)·Σ_x (1 − min(R, n_x)/min(R, N)) over the retrieved relevant x, n_x how many judged non-relevant ones
    stand above x (the fraction is 0 where none does), R and N how many are judged relevant and not. Grades below 0 are
    not judged. Range [0, 1].

    Source: Buckley and Voorhees (2004), as trec_eval computes it.
    """
    pool, grade = rankings.pool, rankings.grade
    R = number_relevant(rankings, rel)
    N = rankings.of_pool(summed(pool.query, _not_relevant(pool.grade, rel), pool.queries))
    above = number_above(rankings, _not_relevant(grade, rel))
    lost = share(np.minimum(above, R[rankings.query]), np.minimum(R, N)[rankings.query])
    return share(summed(rankings.query, np.where(grade >= rel, 1 - lost, 0.0), len(R)), R)


def inf_ap(rankings: Rankings, rel: int = 1) -> Array:
    """Average precision as it can be inferred where only some of the pool is judged.

    infAP = (1/R)·Σ_x [1/p + (|J|/p)·(|Rel| + ε)/(|Rel| + |Non| + 2ε)] over the retrieved relevant x at rank p, J what
    stands above x and is in the pool, Rel and Non what of it is judged relevant or not, ε = 1e−5; 1 for p = 1. Grades
    below 0 are in the pool and not judged. Range [0, 1].

    Source: Yilmaz and Aslam (2006), as trec_eval computes it.
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
    """How many of these hits stand above each hit of the same ranking."""
    before = np.concatenate([[0], np.cumsum(which)])
    return before[:-1] - before[rankings.start[rankings.query]]


def share(part: Array, whole: Array) -> Array:
    """The ratio, 0 where the whole is 0."""
    return np.divide(part, whole, out=np.zeros(len(whole)), where=whole > 0)


@dataclass(frozen=True)
class Count:
    """A measure that is no user model: its function of rankings, the parameters of that, and what it needs.

    Where ``judged_only`` is among a measure's parameters and true, the function gets condensed rankings.
    """

    function: Callable[..., Array]
    parameters: tuple[Parameter, ...] = ()
    needs: Needs = field(default_factory=Needs)

    def computation(self, given: Mapping[str, Any]) -> Computation:
        """How the measure with these parameters is computed."""
        names = {p.name for p in self.parameters} - {_JUDGED_ONLY.name}
        score = partial(self.function, **{name: value for name, value in given.items() if name in names})
        if not given.get(_JUDGED_ONLY.name):
            return OfRankings(score, self.needs)
        return OfRankings(lambda rankings: score(rankings.condensed), Needs(all_judged=True))


#: The measures of ir_measures that are no user model, by their names there.
COUNTS = {
    "NumQ": Count(num_q),
    "NumRel": Count(num_rel, (_REL,)),
    "NumRet": Count(num_ret, (_REL,)),
    "Rprec": Count(r_precision, (_REL, _JUDGED_ONLY)),
    "Judged": Count(judged, (_CUTOFF,), Needs(all_judged=True)),
    "Bpref": Count(bpref, (_REL,), Needs(all_judged=True)),
    "infAP": Count(inf_ap, (_REL,), Needs(all_judged=True, pooled=True)),
}
