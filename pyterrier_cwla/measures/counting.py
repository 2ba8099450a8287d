"""Measures that follow no user model: they count, or compare with an ideal order."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from ir_measures.measures import Measure

from ..data.abstention import Abstention
from ..data.alignment import Judgments
from ..data.columns import Array, Floats
from ..data.rankings import Pool, Rankings, places_within, summed
from ..errors import BadParameter, NoFiniteValue
from ..model.document_values import note_unknown
from ..model.language import FLAG, Given, In, Named, OneOf, Parameter, Spec, lacking
from ..model.metric import Metric
from ..model.view_columns import CELLS, packed
from .catalogue import CUTOFF, JUDGED_ONLY, PLAIN, REL, REL_OR_0, kind_of
from .computing import Computation, Declaration, Needs, Values, computation_of_rankings, of_answered


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
    return _found(rankings, rel)


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
    return share(summed(cut.query, np.ones(len(cut.query)), len(cut)), cut.n)


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
    before = np.append(0, np.cumsum(which))
    above: Array = before[:-1] - before[rankings.start[rankings.query]]
    return above


def share(part: Array, whole: Array) -> Array:
    """Return the ratios; 0 for a denominator of 0."""
    return np.divide(part, whole, out=np.zeros(len(whole)), where=whole > 0)


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


def over_rankings(count: Count, given: dict[str, Any]) -> Computation:
    """Return what computes a measure whose function takes rankings, with these parameters."""
    judged_only = given.pop(JUDGED_ONLY.name, False)
    needs = replace(count.needs, all_judged=True) if judged_only or given.get("rel") == 0 else count.needs
    score = partial(count.function, **given)

    def of_judged(rankings: Rankings) -> Array:
        return score(rankings.condensed)

    return computation_of_rankings(of_judged if judged_only else score, needs, bool(count.of_unanswered))


@dataclass(frozen=True)
class Count(Declaration):
    """Declaration of a measure without a user model.

    Attributes
    ----------
    function : callable
        A function from rankings and parameters to one value per ranking. If the measure has a parameter
        ``judged_only`` and it is true, the rankings are condensed to judged documents.
    needs : Needs
        The data that the function reads.
    of_unanswered : str, default=""
        What the function returns for queries without results, in words; empty if these have the value 0.
    unanswered_by : tuple of str, optional
        The parameters without which queries without results have the value 0 nevertheless.
    computed_by : callable
        A function from the declaration and the values of parameters to what computes the measure; others than
        :func:`over_rankings` if the function of the measure does not take rankings.
    """

    function: Callable[..., Array]
    needs: Needs = field(default_factory=Needs)
    of_unanswered: str = ""
    unanswered_by: tuple[str, ...] = ()
    computed_by: Callable[[Count, dict[str, Any]], Computation] = over_rankings

    @property
    def docstring(self) -> str:
        """Docstring of the function."""
        return inspect.cleandoc(self.function.__doc__ or "")

    def computation(self, measure: Measure) -> Computation:
        """Return what computes a measure with this declaration.

        Raises
        ------
        BadParameter
            If a parameter is missing or out of its range.
        """
        given = {**measure.params, **getattr(measure, "bound", {})}
        if missing := lacking(self.parameters, given):
            raise BadParameter(f"{self.name} needs {', '.join(f'{name}=' for name in missing)}.")
        for parameter in self.parameters:
            if parameter.name in given and parameter.allowed.interval:
                value = given[parameter.name]
                parameter.check(value, f"{self.name}({parameter.name}={value!r})")
        return self.computed_by(self, {p.name: given[p.name] for p in self.parameters if p.name in given})


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

    Parameters
    ----------
    beta : float
        The weight of cumulated gains relative to counts of relevant documents, β.
    normalise : str
        The number that the sum is divided by.

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
        start = np.append(0, np.cumsum(judged))
        return judged, start, np.append(_cumulated(start, gains[np.lexsort((-gains, query))]), 0.0)

    judged, start, cumulated = pool.remembered(("cg*", metric.gain), ideal)
    topic = rankings.of_pool(np.arange(pool.queries))[rankings.query]
    last = np.minimum(rankings.rank, judged[topic])
    return cumulated[np.where(last > 0, start[topic] + last - 1, -1)]


def _cumulated(start: Array, values: Array) -> Array:
    """Return the running sums of values within each query."""
    return running(start, values, lambda cells: np.cumsum(cells, axis=1))


def search_length(
    rankings: Rankings, wanted: int = 1, rel: int = 1, failed: int = 1000, documents: int | None = None
) -> Array:
    """Compute the expected number of non-relevant documents that a user sees before the K-th relevant one.

    ESL = j + i·s/(r + 1), where the K-th relevant document (``wanted``) is among documents of one score, in any order
    of which all are equally likely: i of them are not relevant, r are relevant, and the user needs s of these. The
    documents of higher scores include j that are not relevant. Without ties, ESL is the number of non-relevant
    documents above the K-th relevant one. Scores tie if they are equal as float32. Unjudged documents are not relevant.

    If a run retrieves fewer than K relevant documents, or none at all for a query, the search fails, and ESL is
    ``failed``, or the number of retrieved non-relevant documents if it is higher. If ``documents`` is given, the number
    of documents in the collection, the documents that are not retrieved tie below the others, as in Cooper (1968), and
    ``failed`` is not used. A user who then needs more relevant documents than are judged sees all non-relevant ones.
    With ``judged_only``, retrieved documents without a judgment count as not retrieved.

    Less is better. Range [0, ∞). Unit: documents.

    References
    ----------
    Cooper (1968).
    """
    relevant = np.flatnonzero(rankings.grade >= rel)
    query = rankings.query[relevant]
    found = np.bincount(query, minlength=len(rankings))
    lengths = _of_failed(rankings, found, wanted, rel, failed, documents)
    enough = np.flatnonzero(found >= wanted)
    first, last = (ranks[relevant] for ranks in rankings.tied_ranks)
    start = (np.cumsum(found) - found)[enough]
    final = start + wanted - 1  # the K-th relevant document of each query, in one of the orders
    level = query * (rankings.n.max(initial=0) + 1) + first
    above = np.searchsorted(level, level[final], side="left") - start
    r = np.searchsorted(level, level[final], side="right") - start - above
    i = last[final] - first[final] + 1 - r
    lengths[enough] = first[final] - 1 - above + i * (wanted - above) / (r + 1)
    return lengths


def _of_failed(rankings: Rankings, found: Array, wanted: int, rel: int, failed: int, documents: int | None) -> Array:
    """Return the search lengths of rankings with fewer relevant documents than wanted; others have any number."""
    lengths = (rankings.n - found).astype(float)
    if documents is None:
        np.maximum(lengths, failed, out=lengths)
        return lengths
    r = number_relevant(rankings, rel) - found
    lengths += _others(documents, rankings.n + r, "ESL") * np.minimum((wanted - found) / (r + 1), 1)
    return lengths


def _others(documents: int, known: Array, measure: str) -> Array:
    """Return the numbers of documents of the collection besides the retrieved and the relevant ones of each query."""
    others = documents - known
    if (others < 0).any():
        raise BadParameter(
            f"documents={documents} of {measure} is less than the {int(known.max()):,} documents that are retrieved"
            " or relevant for a query. Give the number of documents in the collection."
        )
    return others


def scores_of_unanswered(measures: Iterable[str]) -> str:
    """Return the predicate of a sentence on queries without results, for the texts of the measures."""
    texts = list(measures)
    notes = []
    for count in COUNTS.values():
        only_with = rf"\([^()]*({'|'.join(count.unanswered_by)})" if count.unanswered_by else r"\b"
        if count.of_unanswered and any(re.search(rf"\b{count.name}{only_with}", text) for text in texts):
            notes.append(f"{count.of_unanswered} for {count.name}")
    return f"score 0 ({'; '.join(notes)})" if notes else "score 0"


def set_precision(rankings: Rankings, rel: int = 1, relative: bool = False) -> Array:
    """Compute the share of relevant documents among the retrieved ones.

    With ``relative``, it is divided by the highest possible share, so that the value is |relevant and retrieved| /
    min(|retrieved|, |relevant|). Range [0, 1].

    Parameters
    ----------
    relative : bool
        Whether the share is divided by the highest possible share.
    """
    found, most = _found(rankings, rel), rankings.n
    return share(found, np.minimum(most, number_relevant(rankings, rel)) if relative else most)


def set_recall(rankings: Rankings, rel: int = 1) -> Array:
    """Compute the share of the relevant documents that are retrieved.

    Range [0, 1].
    """
    return share(_found(rankings, rel), number_relevant(rankings, rel))


def set_f(rankings: Rankings, rel: int = 1, beta: float = 1.0) -> Array:
    """Compute the weighted harmonic mean of the precision and the recall of the retrieved set.

    F = (β + 1)·P·R / (R + β·P). Range [0, 1].

    Parameters
    ----------
    beta : float
        The weight of the recall relative to the precision, β.

    Notes
    -----
    β has the meaning of trec_eval: it is β² in the usual definition (van Rijsbergen, 1979). They are equal for β = 1.
    """
    P, R = set_precision(rankings, rel), set_recall(rankings, rel)
    return share((beta + 1) * P * R, R + beta * P)


def set_ap(rankings: Rankings, rel: int = 1) -> Array:
    """Compute the precision times the recall of the retrieved set.

    Range [0, 1].
    """
    return set_precision(rankings, rel) * set_recall(rankings, rel)


def interpolated_precision(rankings: Rankings, recall: float, rel: int = 1) -> Array:
    """Compute the highest precision at a rank at which the recall is reached.

    Let c = ⌊recall·R + 0.9⌋, where R is the number of relevant documents. The value is max_{j ≥ c} j/rank_j over the
    retrieved relevant documents j = 1, 2, …, and 0 if fewer than c are retrieved. Range [0, 1].
    """
    return _interpolated(rankings, (recall,), rel)[:, 0]


def eleven_point_precision(rankings: Rankings, rel: int = 1) -> Array:
    """Compute the mean of the interpolated precision at recall 0, 0.1, …, 1.

    AP11pt = (1/11)·Σ_{ρ = 0, 0.1, …, 1} IPrec@ρ. Range [0, 1].

    References
    ----------
    Salton and McGill (1983); 11pt_avg of trec_eval.
    """
    points: Floats = _interpolated(rankings, tuple(np.arange(11) / 10), rel).mean(axis=1)
    return points


def _interpolated(rankings: Rankings, recalls: tuple[float, ...], rel: int) -> Floats:
    """Return the interpolated precision at several recalls, of shape [queries × recalls]."""
    which = np.flatnonzero(rankings.grade >= rel)
    query, rank = rankings.query[which], rankings.rank[which]
    found = np.bincount(query, minlength=len(rankings))
    start = np.append(0, np.cumsum(found))
    highest = running(
        start, (places_within(found) + 1) / rank, lambda cells: np.maximum.accumulate(cells[:, ::-1], axis=1)[:, ::-1]
    )
    wanted = (np.outer(number_relevant(rankings, rel), recalls) + 0.9).astype(np.int64)
    reached = (wanted <= found[:, None]) & (found[:, None] > 0)
    place = start[:-1, None] + np.maximum(wanted, 1) - 1
    return np.where(reached, np.append(highest, 0.0)[np.where(reached, place, -1)], 0.0)


def accuracy(rankings: Rankings, cutoff: int | None = None, rel: int = 1) -> Array:
    """Compute the share of pairs of a relevant and a non-relevant retrieved document that are ranked in this order.

    Accuracy = 1 − Σ_x n_x / (N·r), a sum over the r relevant documents x among the first k retrieved (by default all),
    where n_x is the number of non-relevant documents above x, and N that of all non-relevant ones. Unjudged documents
    are not relevant. Queries without such a pair have no value (NaN), and means leave them out. Range [0, 1].
    """
    cut = rankings if cutoff is None else rankings.first(cutoff)
    relevant = cut.grade >= rel
    r = _found(cut, rel)
    others = (cut.n - r).astype(float)
    above = summed(cut.query, np.where(relevant, cut.rank - 1 - number_above(cut, relevant), 0.0), len(cut))
    pairs = others * r
    return np.where(pairs > 0, 1 - share(above, pairs), np.nan)


def set_utility(
    rankings: Rankings,
    relevant: float = 1,
    other: float = 1,
    missed: float = 0,
    spared: float = 0,
    documents: int | None = None,
    rel: int = 1,
) -> Array:
    """Compute the worth of the retrieved relevant documents minus the cost of the other retrieved ones.

    Utility = relevant·a − other·b − missed·c + spared·d, where a and b are the numbers of relevant and other documents
    that are retrieved, and c and d those that are not. d needs the number of documents in the collection
    (``documents``). Unjudged documents are not relevant. For a query without results, a and b are 0. Range (−∞, ∞).

    Parameters
    ----------
    relevant : float
        The worth of each retrieved relevant document.
    other : float
        The cost of each other retrieved document.
    missed : float
        The cost of each relevant document that is not retrieved.
    spared : float
        The worth of each other document that is not retrieved.
    documents : int
        The number of documents in the collection, which spared= needs.

    References
    ----------
    Utility of trec_eval with the coefficients (relevant, −other, −missed, spared); Lewis (1995).
    """
    a, R = _found(rankings, rel), number_relevant(rankings, rel)
    b, c = rankings.n - a, R - a
    utility: Floats = relevant * a - other * b - missed * c
    if not spared:
        return utility
    if documents is None:
        raise BadParameter("SetUtility(spared=…) needs documents=, the number of documents in the collection.")
    utility += spared * _others(documents, rankings.n + c, "SetUtility")
    return utility


def udcg(
    rankings: Rankings, abstention: Abstention, harm: float = 1 / 3, rel: int = 1, cutoff: int | None = None
) -> Array:
    """Compute the logistic function of the mean utility of the retrieved passages to a reader that may abstain.

    UDCG = 1/(1 + exp(−(1/n)·Σ_i u_i)), a sum over the first n retrieved passages, where u_i = 1 − a_i if the passage is
    relevant, and −harm·(1 − a_i) if it is not. a_i is the probability that the reader, such as a language model,
    declines to answer the question given this passage alone. A distracting passage that the reader would answer from
    is therefore worth less than one that it recognises as useless. The order of the passages does not count.

    Passages without a probability are left out of the sum, and counted in n; a warning has their number. Unjudged
    passages are not relevant: the authors label all passages, so judge all that have a probability. A query without
    results scores 0, the lowest value; its sum of 0 would score 1/2, more than an answer with harmful passages. Range
    (0, 1), 1/2 where passages neither help nor harm; 0 without results.

    If the reader never abstains and all passages are judged, UDCG@k with harm=0.5 is the Logistic of
    ``CWLA(C='prec(k)',A='per_item',gain='table({0: -0.5, 1: 1})',end='stop')``, a mean of signed gains.

    Parameters
    ----------
    abstention : dict of dicts, DataFrame or path
        The probabilities of abstention by query and document: ``{query: {document: a}}``; a table with the columns
        query_id (or qid), doc_id (or docno) and p_abstain, such as a run with this column; or the path of such a table.
    harm : float
        The cost of a passage that is not relevant, relative to the worth of a relevant one.

    References
    ----------
    Trappolini et al. (2025), UDCG with one cost of distracting passages.
    """
    cut = rankings if cutoff is None else rankings.first(cutoff)
    relevant = cut.grade >= rel
    worth = np.full(cut.n.sum(), -float(harm))
    worth[(np.cumsum(cut.n) - cut.n)[cut.query[relevant]] + cut.rank[relevant] - 1] = 1.0
    answers = 1 - rankings.of_rows(abstention.in_rank_order)[cut.place_of_items]
    note_unknown(abstention, cut, np.isnan(answers))
    utility = summed(np.repeat(np.arange(len(cut)), cut.n), np.nan_to_num(worth * answers), len(cut))
    return logistic(share(utility, cut.n))


def logistic(values: Array) -> Array:
    """Return 1/(1 + exp(−x)) of each value x."""
    from scipy.special import expit

    return np.asarray(expit(values))


def over_abstention(count: Count, given: dict[str, Any]) -> Computation:
    """Return what computes a measure whose function takes rankings and probabilities of abstention."""
    abstention: Abstention = given["abstention"]

    def prepare(judgments: Judgments) -> Values:
        abstention.refuse_other_topics(judgments.qids)
        return of_answered(partial(count.function, **given), False)

    return Computation(replace(count.needs, tables=(abstention,)), prepare)


def _found(rankings: Rankings, rel: int) -> Array:
    """Return the number of retrieved relevant documents of each query."""
    return summed(rankings.query, rankings.grade >= rel, len(rankings))


def check_persistence(p: float) -> None:
    """Raise BadParameter if the persistence of a rank-biased overlap is out of its range."""
    if not isinstance(p, int | float | np.number) or not 0 < p < 1:
        raise BadParameter(": the persistence must be between 0 and 1, such as 0.9.", p=p)


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

    Parameters
    ----------
    p : float
        The persistence: the weight of each depth relative to the one before.

    References
    ----------
    Clarke, Vtyurina and Smucker (2021), as ir_measures computes it.
    """
    relevant = rankings if (rankings.grade > 0).all() else rankings.only(rankings.grade > 0)
    ideal = relevant.pool.remembered(("ideal by grade",), lambda: _IdealByGrade(relevant.pool))
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
    return share(found, _overlap(np.repeat(np.arange(len(R)), R), places_within(R) + 1, depth, p)[same])


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


def _count(name: str, function: Callable[..., Array], *parameters: Parameter, **more: Any) -> Count:
    """Return the declaration of a measure of this package; a measure is one function and one line below."""
    return Count(name, function, parameters=parameters, **more)


ir_count = partial(_count, kind="ir_measures")
_DOCUMENTS = Parameter("documents", In("[1, inf)", whole=True), None)


def _neither(given: Given) -> None:
    """Return None: neither higher nor lower scores are better."""


#: The measures of this module, by name.
COUNTS = {
    count.name: count
    for count in (
        ir_count("NumQ", num_q, better=_neither),
        ir_count("NumRel", num_rel, REL_OR_0, better=_neither),
        ir_count("NumRet", num_ret, REL_OR_0, better=lambda given: "higher" if "rel" in given else None),
        ir_count("Rprec", r_precision, REL_OR_0, JUDGED_ONLY),
        ir_count("Judged", judged, CUTOFF, needs=Needs(all_judged=True), better=_neither),
        ir_count("Bpref", bpref, REL_OR_0, needs=Needs(all_judged=True)),
        ir_count("infAP", inf_ap, REL_OR_0, needs=Needs(all_judged=True, pooled=True)),
        ir_count(
            "Compat",
            compatibility,
            Parameter("p", In("[0, 1]"), 0.95),
            Parameter("normalize", FLAG, True),
            needs=Needs(scores=True),
        ),
        ir_count("SetP", set_precision, REL_OR_0, Parameter("relative", FLAG, False), JUDGED_ONLY),
        ir_count("SetR", set_recall, REL_OR_0),
        ir_count("SetF", set_f, REL_OR_0, Parameter("beta", In("[0, inf)"), 1.0), JUDGED_ONLY),
        ir_count("SetAP", set_ap, REL_OR_0, JUDGED_ONLY),
        ir_count("IPrec", interpolated_precision, Parameter("recall", In("[0, 1]")), REL_OR_0, JUDGED_ONLY),
        _count(
            "ESL",
            search_length,
            Parameter("wanted", In("[1, inf)", whole=True), 1),
            REL,
            Parameter("failed", In("[0, inf)", whole=True), 1000),
            _DOCUMENTS,
            JUDGED_ONLY,
            needs=Needs(ties=True),
            better=lambda given: "lower",
            of_unanswered="failed searches",
        ),
        ir_count("Accuracy", accuracy, CUTOFF, REL, of_unanswered="no value"),
        _count(
            "QMeasure",
            q_measure,
            Parameter("beta", In("[0, inf)"), 1),
            Parameter("gain", Named("gain"), "raw"),
            REL,
            Parameter("normalise", OneOf("min(k,R)", "R"), "min(k,R)"),
            JUDGED_ONLY,
            CUTOFF,
        ),
        _count("AP11pt", eleven_point_precision, REL, JUDGED_ONLY),
        _count(
            "SetUtility",
            set_utility,
            *(Parameter(name, In("[0, inf)"), 1) for name in ("relevant", "other")),
            *(Parameter(name, In("[0, inf)"), 0) for name in ("missed", "spared")),
            _DOCUMENTS,
            REL,
            JUDGED_ONLY,
            of_unanswered="the worth of what is missed and spared",
            unanswered_by=("missed", "spared"),
        ),
        _count(
            "UDCG",
            udcg,
            Parameter("abstention", kind_of(Abstention, "a dict of dicts, a DataFrame or a path")),
            Parameter("harm", In("[0, inf)"), 1 / 3),
            REL,
            CUTOFF,
            computed_by=over_abstention,
        ),
    )
}
