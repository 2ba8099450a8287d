"""Changes by swaps from the scores of all swapped rankings, for any metric."""

from __future__ import annotations

import numpy as np

from ...model.metric import Metric
from ...model.scoring import raw_score
from .ranked import Changes, Ranked

_AT_ONCE = 1 << 17  # maximum number of swapped rankings × ranks per chunk


def by_scoring_anew(metric: Metric, ranked: Ranked, depth: int) -> Changes:
    """Yield the changes by scoring all swapped rankings, except for pairs of equal items."""
    score = raw_score(metric, ranked.rankings)
    width = ranked.r.shape[1]
    for a in range(depth):
        change = np.zeros((len(score), width - a - 1))
        differ = ranked.grade[:, a + 1 :] != ranked.grade[:, a : a + 1]
        if ranked.e is not None:
            differ |= ranked.e[:, a + 1 :] != ranked.e[:, a : a + 1]
        query, b = np.nonzero(differ & ranked.listed[:, a + 1 :])
        for start in range(0, len(query), max(_AT_ONCE // width, 1)):
            some = slice(start, start + max(_AT_ONCE // width, 1))
            again = raw_score(metric, ranked.swapped(query[some], a, b[some] + a + 1))
            change[query[some], b[some]] = again - score[query[some]]
        yield a, change
