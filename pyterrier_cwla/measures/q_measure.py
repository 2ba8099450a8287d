"""The Q-measure: average precision that combines counts of relevant documents with cumulated gains."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..data.rankings import Array, Rankings, summed
from ..errors import NoFiniteValue
from ..model.language import In, OneOf, Parameter, Spec
from ..model.metric import Metric
from .catalogue import CUTOFF, JUDGED_ONLY, PLAIN, REL, SpecOf
from .counting import Count, number_above, number_relevant, running, share


def q_measure(
    rankings: Rankings,
    beta: float = 1,
    gain: Spec = PLAIN.gain,
    rel: int = 1,
    normalise: str = "min(k,R)",
    cutoff: int | None = None,
) -> Array:
    """Compute average precision with each precision blended with the cumulated gain.

    Q = (1/R)·Σ_i [g_i ≥ rel]·(C(i) + β·cg(i)) / (i + β·cg*(i)), where R is the number of relevant documents, C(i) is
    the number of relevant documents at ranks 1 to i, cg(i) is the sum of the gains at these ranks, and cg*(i) is that
    sum for the ideal ranking, the judged documents in descending order of gain. A query without relevant documents
    scores 0. With β = 0, Q is average precision. Documents of grades below rel have their gains, but are not relevant.
    β is the weight of cumulated gains relative to counts of relevant documents. Range [0, 1].

    A cutoff truncates the ranking, and the sum is divided by min(k, R), as in NTCIREVAL; the ideal ranking scores 1.
    ``normalise="R"`` divides by R at any cutoff. R and cg* refer to all judged documents.

    References
    ----------
    Sakai (2004); with a cutoff, as NTCIREVAL computes it.
    """
    metric = replace(PLAIN, gain=gain)
    cut = rankings if cutoff is None else rankings.first(cutoff)
    relevant = cut.grade >= rel
    C = number_above(cut, relevant) + 1
    cg, ideal = _cumulated(cut.start, metric.gains(cut.grade)), _ideal(cut, metric)
    with np.errstate(over="ignore", invalid="ignore"):
        blended = np.where(relevant, (C + beta * cg) / (cut.rank + beta * ideal), 0.0)
    if not np.isfinite(blended).all():
        raise NoFiniteValue("gains are too high to be added up.")
    R = number_relevant(cut, rel)
    most = R if cutoff is None or normalise == "R" else np.minimum(cutoff, R)
    return share(summed(cut.query, blended, len(cut)), most)


def _ideal(rankings: Rankings, metric: Metric) -> Array:
    """Return the cumulated gain of the ideal ranking at the rank of each hit."""
    pool = rankings.pool

    def ideal() -> tuple[Array, Array, Array]:
        query, grade = pool.positive
        gains = metric.gains(grade)
        judged = np.bincount(query, minlength=pool.queries)
        start = np.concatenate([[0], np.cumsum(judged)])
        cumulated = _cumulated(start, gains[np.lexsort((-gains, query))])
        return judged, start, np.append(cumulated, 0.0)

    judged, start, cumulated = pool.remembered(("cg*", metric.gain.key), ideal) if metric.built_in else ideal()
    topic = rankings.of_pool(np.arange(pool.queries))[rankings.query]
    last = np.minimum(rankings.rank, judged[topic])
    return cumulated[np.where(last > 0, start[topic] + last - 1, -1)]


def _cumulated(start: Array, values: Array) -> Array:
    """Return the running sums of values within each query."""
    return running(start, values, lambda cells: np.cumsum(cells, axis=1))


Q_MEASURE = Count(
    q_measure,
    (
        Parameter("beta", In("[0, inf)"), 1),
        Parameter("gain", SpecOf("gain"), "raw"),
        REL,
        Parameter("normalise", OneOf("min(k,R)", "R"), "min(k,R)"),
        JUDGED_ONLY,
        CUTOFF,
    ),
)
