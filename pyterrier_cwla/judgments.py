"""Measures that are no user model: counts of what was judged, relevant and retrieved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .rankings import Rankings, summed

Array = np.ndarray


def _relevant(rankings: Rankings, rel: int) -> Array:
    pool = rankings.pool
    return rankings.of_pool(summed(pool.query, pool.grade >= rel, pool.queries))


def num_q(rankings: Rankings) -> Array:
    """One for every query that was answered."""
    return np.ones(len(rankings))


def num_rel(rankings: Rankings, rel: int = 1) -> Array:
    """How many documents are judged with at least rel."""
    return _relevant(rankings, rel)


def num_ret(rankings: Rankings, rel: int | None = None) -> Array:
    """How many documents were retrieved; with rel, how many of at least that grade."""
    if rel is None:
        return rankings.n.astype(float)
    return summed(rankings.query, rankings.grade >= rel, len(rankings))


def r_precision(rankings: Rankings, rel: int = 1) -> Array:
    """The share of relevant documents among the first R, R the number of relevant documents."""
    R = _relevant(rankings, rel)
    early = (rankings.grade >= rel) & (rankings.rank <= R[rankings.query])
    return np.divide(summed(rankings.query, early, len(R)), R, out=np.zeros(len(R)), where=R > 0)


def judged(rankings: Rankings, cutoff: int | None = None) -> Array:
    """The share of judged documents among the first cutoff, or among all retrieved."""
    cut = rankings if cutoff is None else rankings.first(cutoff)
    hits = summed(cut.query, np.ones(len(cut.query)), len(cut))
    return np.divide(hits, cut.n, out=np.zeros(len(hits)), where=cut.n > 0)


#: Those that ask for more than the relevant documents.
NEED_ALL_JUDGED = {"Judged"}

#: What ir_measures calls them.
COUNTS: dict[str, Callable[..., Any]] = {
    "NumQ": num_q,
    "NumRel": num_rel,
    "NumRet": num_ret,
    "Rprec": r_precision,
    "Judged": judged,
}
