"""Measures that are no user model: counts of what was judged, relevant and retrieved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..data.rankings import Rankings, summed

Array = np.ndarray


def _relevant(rankings: Rankings, rel: int) -> Array:
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
    return _relevant(rankings, rel)


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
    R = _relevant(rankings, rel)
    early = (rankings.grade >= rel) & (rankings.rank <= R[rankings.query])
    return _share(summed(rankings.query, early, len(R)), R)


def judged(rankings: Rankings, cutoff: int | None = None) -> Array:
    """The share of judged documents among the first cutoff, or among all retrieved.

    Range [0, 1].
    """
    cut = rankings if cutoff is None else rankings.first(cutoff)
    hits = summed(cut.query, np.ones(len(cut.query)), len(cut))
    return _share(hits, cut.n)


def bpref(rankings: Rankings, rel: int = 1) -> Array:
    """The share of preferences between judged documents that a ranking keeps; what is not judged is passed over.

    bpref = (1/R)·Σ_x (1 − min(R, n_x)/min(R, N)) over the retrieved relevant x, n_x how many judged non-relevant ones
    stand above x (the fraction is 0 where none does), R and N how many are judged relevant and not. Grades below 0 are
    not judged. Range [0, 1].

    Source: Buckley and Voorhees (2004), as trec_eval computes it.
    """
    pool, grade = rankings.pool, rankings.grade
    R = _relevant(rankings, rel)
    N = rankings.of_pool(summed(pool.query, _not_relevant(pool.grade, rel), pool.queries))
    above = _above(rankings, _not_relevant(grade, rel))
    lost = _share(np.minimum(above, R[rankings.query]), np.minimum(R, N)[rankings.query])
    return _share(summed(rankings.query, np.where(grade >= rel, 1 - lost, 0.0), len(R)), R)


def inf_ap(rankings: Rankings, rel: int = 1) -> Array:
    """Average precision as it can be inferred where only some of the pool is judged.

    infAP = (1/R)·Σ_x [1/p + (|J|/p)·(|Rel| + ε)/(|Rel| + |Non| + 2ε)] over the retrieved relevant x at rank p, J what
    stands above x and is in the pool, Rel and Non what of it is judged relevant or not, ε = 1e−5; 1 for p = 1. Grades
    below 0 are in the pool and not judged. Range [0, 1].

    Source: Yilmaz and Aslam (2006), as trec_eval computes it.
    """
    grade, p = rankings.grade, rankings.rank
    relevant = _above(rankings, grade >= rel)
    others = _above(rankings, _not_relevant(grade, rel))
    in_pool = _above(rankings, np.ones(len(grade), bool))
    inferred = 1 / p + in_pool / p * (relevant + _EPSILON) / (relevant + others + 2 * _EPSILON)
    R = _relevant(rankings, rel)
    return _share(summed(rankings.query, np.where(grade >= rel, inferred, 0.0), len(R)), R)


_EPSILON = 1e-5


def _not_relevant(grade: Array, rel: int) -> Array:
    return (grade >= 0) & (grade < rel)


def _above(rankings: Rankings, which: Array) -> Array:
    """How many of these hits stand above each hit of the same ranking."""
    before = np.concatenate([[0], np.cumsum(which)])
    return before[:-1] - before[rankings.start[rankings.query]]


def _share(part: Array, whole: Array) -> Array:
    return np.divide(part, whole, out=np.zeros(len(whole)), where=whole > 0)


#: Those that ask for more than the relevant documents.
NEED_ALL_JUDGED = {"Judged", "Bpref", "infAP"}

#: What ir_measures calls them.
COUNTS: dict[str, Callable[..., Any]] = {
    "NumQ": num_q,
    "NumRel": num_rel,
    "NumRet": num_ret,
    "Rprec": r_precision,
    "Judged": judged,
    "Bpref": bpref,
    "infAP": inf_ap,
}
