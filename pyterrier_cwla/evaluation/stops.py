"""Where users stop: the probability of each rank to be the last that is seen, for whole runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ..errors import BadParameter, shown
from .driver import loaded, measures_of
from .explanation import followed
from ..measures.named import IntentAware
from ..model.metric import _FARTHEST, Metric
from ..measures.provider import judged
from ..data.rankings import Array, Rankings
from ..files.memory_limit import refuse_beyond_memory
from ..model.browsing import Walk


def stop_distribution(qrels: Any, run: Any, measure: Any, depth: int | None = None) -> pd.DataFrame:
    """The probability to stop at each rank, query by query: L(i) = V(i)·(1 − C(i)).

    One row for each judged query that the run answers. Column 0: users who leave before the first item (under a C that
    says so); columns 1 to ``depth`` (by default as far as the longest ranking counts): those who stop there; "later":
    those who go on, to ranks below, for ever, or to unseen items of unknown effort that C asks for. Every row sums
    to 1. ``.mean()`` is the distribution over all queries, and :func:`plot_stops` draws it.

    ``qrels`` and ``run`` are as :func:`evaluate` takes them; ``measure`` is one that follows a user model. Under ERR
    this is the probability that a user is satisfied at rank r (Chapelle et al., 2009, Algorithm 2). Under an
    intent-aware measure it is that of all users, Σ_t P(t|q)·L_t(i) (there in section 7.5); those whose intent is not
    judged, or has nothing relevant in it, find nothing.

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
    whole = isinstance(depth, int | np.integer) and not isinstance(depth, bool)
    if depth is not None and not (whole and 1 <= depth <= _FARTHEST):
        raise BadParameter(f"depth={shown(depth)}: give a rank from 1 to {_FARTHEST:,}.")
    judgments = judged(loaded(qrels, "qrels"))
    users, by_intent = [np.ones(len(judgments.qids))], [judgments]
    aware = isinstance(measure, type(IntentAware))
    metric = followed(measure.inner if aware else measure, judgments)
    if aware:
        users, by_intent = measure.weights.of(judgments), [own for _, own in judgments.intents]
        users.append(np.maximum(1 - sum(users, np.zeros(len(judgments.qids))), 0))
        by_intent.append(judgments.only(np.zeros(0, np.int64)))
    rows = judgments.rows(loaded(run, "run"))
    seen = [metric.cut(rows.rankings(metric.judged_only, own)) for own in by_intent]
    depth = depth or max(1, *(int(rankings.n.max(initial=0)) for rankings in seen))
    refuse_beyond_memory(8 * len(judgments.qids) * (depth + 2), f"depth={depth:,} for {len(judgments.qids):,} queries")
    stops = sum(share[:, None] * stops_of(metric, rankings, depth) for share, rankings in zip(users, seen, strict=True))
    table = pd.DataFrame(stops, pd.Index(judgments.qids, name="query_id"), [*range(depth + 1), "later"])
    table.attrs["measure"] = str(measure)
    return table[np.isin(np.arange(len(table)), rows.query)]


_CELLS = 1 << 17  # queries × ranks that are worked on at a time


def stops_of(metric: Metric, rankings: Rankings, depth: int) -> Array:
    """The shares of users who stop at ranks 0 (before the first) to depth, and later, [queries × (depth + 2)]."""
    stops = np.zeros((len(rankings), depth + 2))
    width = metric.end if isinstance(metric.end, int) else max(depth, int(rankings.n.max(initial=0)))
    shown = min(depth, width)
    for queries in np.array_split(np.arange(len(rankings)), len(rankings) * width // _CELLS + 1):
        walk = Walk(metric, *metric.columns(rankings, queries, width))
        stops[queries, 0] = 1 - walk.V[:, 0]
        stops[queries, 1 : shown + 1] = np.broadcast_to(walk.L, (len(queries), width))[:, :shown]
    if metric.end == "stop":
        stops[rankings.n == 0] = np.eye(1, depth + 2)  # of nothing nobody sees anything
    stops[:, -1] = np.maximum(1 - stops[:, :-1].sum(axis=1), 0)
    return stops
