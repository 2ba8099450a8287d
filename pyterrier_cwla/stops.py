"""Where users stop: the probability of each rank to be the last that is seen, for whole runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from .evaluate import loaded, measures_of
from .explain import followed
from .metric import Metric
from .provider import prepare
from .rankings import Array, Rankings
from .walk import Walk


def stop_distribution(qrels: Any, run: Any, measure: Any, depth: int | None = None) -> pd.DataFrame:
    """The probability to stop at each rank, query by query: L(i) = V(i)·(1 − C(i)).

    One row for each judged query that the run answers. Column 0: users who leave before the first item (under a C that
    says so); columns 1 to ``depth`` (by default the length of the longest ranking): those who stop there; "later":
    those who go on, to ranks below or for ever. Every row sums to 1. ``.mean()`` is the distribution over all queries.

    ``qrels`` and ``run`` are as :func:`evaluate` takes them; ``measure`` is one that follows a user model. Under ERR
    this is the probability that a user is satisfied at rank r (Chapelle et al., 2009, Algorithm 2).

    Raises BadParameter for a measure that follows no user model.

    >>> from pyterrier_cwla import stop_distribution
    >>> qrels, run = {"q": {"a": 2, "b": 1}}, {"q": {"b": 3.0, "x": 2.0, "a": 1.0}}
    >>> stop_distribution(qrels, run, "AdaptiveERR(max_rel=2)")
               0     1    2       3   later
    query_id
    q        0.0  0.25  0.0  0.5625  0.1875

    Source: Moffat et al. (2022), Eq. 5.
    """
    (measure,) = measures_of([measure])
    judgments = prepare(loaded(qrels, "qrels"))
    metric = followed(measure, judgments)
    rankings = metric.cut(judgments.align(loaded(run, "run"), all_judged=metric.judged_only))
    depth = depth or max(int(rankings.n.max(initial=0)), 1)
    stops = stops_of(metric, rankings, depth)
    index = pd.Index(judgments.qids, name="query_id")
    return pd.DataFrame(stops, index=index, columns=[*range(depth + 1), "later"])[rankings.n > 0]


_CELLS = 1 << 17  # queries × ranks that are worked on at a time


def stops_of(metric: Metric, rankings: Rankings, depth: int) -> Array:
    """The shares of users who stop at ranks 0 (before the first) to depth, and later, [queries × (depth + 2)]."""
    stops = np.zeros((len(rankings), depth + 2))
    width = max(depth, int(rankings.n.max(initial=0)))
    for queries in np.array_split(np.arange(len(rankings)), len(rankings) * width // _CELLS + 1):
        walk = Walk(metric, *metric.columns(rankings, queries, width))
        stops[queries, 0] = 1 - walk.V[:, 0]
        stops[queries, 1:-1] = np.broadcast_to(walk.L, (len(queries), width))[:, :depth]
    stops[:, -1] = np.maximum(1 - stops[:, :-1].sum(axis=1), 0)
    return stops
