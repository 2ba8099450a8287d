"""Measures of novelty and diversity from judgments of intents, as ndeval computes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..data.alignment import Aligned, Judgments
from ..data.columns import Array, Floats
from ..data.rankings import places_within, summed
from ..errors import BadParameter, warn
from ..files import id_columns
from ..files.arrow_arrays import of_numbers, to_numpy
from ..model.language import In, Parameter
from ..model.metric import FARTHEST
from ..model.view_columns import CELLS, packed
from .catalogue import JUDGED_ONLY, REL_OR_0
from .computing import Computation, Needs, Values
from .counting import Count, ir_count, share

Worth = Callable[[Array], Floats]
"""A function from ranks to the worth of a document with a new intent at these ranks."""


class JudgedIntents:
    """Judgments of the intents of each query, prepared once for all runs.

    Parameters
    ----------
    judgments : Judgments
        Judgments with intents. Judgments without intents count as one intent per query, with a warning.

    Attributes
    ----------
    each : list of Judgments
        Judgments of the first intent of every query, of the second intent, and so on.
    queries : int
        Number of queries.
    """

    def __init__(self, judgments: Judgments) -> None:
        self.queries = len(judgments.qids)
        self.has_intents = getattr(getattr(judgments, "columns", None), "iteration", True) is not None
        self.each = cast(list[Judgments], [own for _, own in judgments.intents] if self.has_intents else [judgments])
        if len(self.each) < 2:
            warn(
                "all queries have one intent: measures of intents are meant for judgments with a column 'iteration' (in"
                " a TREC file the second field) that names several."
            )
        self.remembered = judgments.pool.remembered

    def relevant(self, rel: int) -> Array:
        """Return the numbers of relevant documents, of shape [intents × queries]."""

        def counted() -> Array:
            some = [np.bincount(own.row_query[own.columns.value >= rel], minlength=self.queries) for own in self.each]
            return np.array(some).reshape(len(self.each), self.queries)

        return self.remembered(("relevant to intents", rel), counted)

    def intents(self, rel: int) -> Array:
        """Return the number of intents with a relevant document, for each query."""
        intents: Array = (self.relevant(rel) > 0).sum(axis=0)
        return intents

    def ideal(self, rel: int, alpha: float, depth: int) -> Floats:
        """Return the gains Σ_t (1 − α)^{m_t} at each rank of the greedy ideal ranking, [queries × ranks].

        At each rank stands the document with the highest gain, of several the one with the highest id. Documents that
        are relevant to no intent are left out.
        """
        count, of_intent = self.remembered(("documents of intents", rel), lambda: self._documents(rel))
        depth = min(depth, int(count.max(initial=0)))
        return self.remembered(("ideal of intents", rel, alpha, depth), lambda: _greedy(count, of_intent, alpha, depth))

    def _documents(self, rel: int) -> tuple[Array, Array]:
        """Return the number of distinct documents of each query, and for each document and intent if it is relevant.

        Documents that are relevant to no intent are left out; the others are ordered by query and descending id.
        """
        intents = self.each
        rows = [np.flatnonzero(own.columns.value >= rel) for own in intents]
        query = np.concatenate([own.row_query[some] for own, some in zip(intents, rows, strict=True)])
        intent = np.repeat(np.arange(len(intents)), list(map(len, rows)))
        ids = pa.concat_arrays(
            [id_columns.taken(own.columns.doc_id, some) for own, some in zip(intents, rows, strict=True)]
        )
        by_query = np.argsort(query, kind="stable")
        order = by_query[id_columns.order_in_groups(query[by_query], ids.take(of_numbers(by_query)))]
        query, intent, code = query[order], intent[order], to_numpy(pc.dictionary_encode(ids).indices)[order]
        new = np.append(True, (np.diff(query) != 0) | (np.diff(code) != 0))[: len(order)]
        of_intent = np.zeros((int(new.sum()), len(intents)), bool)
        of_intent[np.cumsum(new) - 1, intent] = True
        return np.bincount(query[new], minlength=self.queries), of_intent


def _greedy(count: Array, of_intent: Array, alpha: float, depth: int) -> Floats:
    """Return the gain at each rank of the greedy ideal ranking, of shape [queries × depth].

    Parameters
    ----------
    count : ndarray of int, shape (n_queries,)
        Number of documents of each query.
    of_intent : ndarray of bool, shape (n_documents, n_intents)
        Whether each document is relevant to each intent; documents are ordered by query and descending id.
    """
    gains = np.zeros((len(count), depth))
    start = np.cumsum(count) - count
    relevant = np.append(of_intent, np.zeros((1, of_intent.shape[1]), bool), axis=0)
    for queries, width in packed(np.argsort(count, kind="stable"), count, CELLS):
        place = np.arange(width)
        left_over = place < count[queries][:, None]
        new = relevant[np.where(left_over, start[queries][:, None] + place, -1)]
        fresh, row = np.ones((len(queries), new.shape[2])), np.arange(len(queries))
        for rank in range(min(depth, width)):
            score = np.where(left_over, 0.0, -1.0)
            for intent in range(new.shape[2]):  # one after the other, as ndeval adds them
                score += new[:, :, intent] * fresh[:, intent, None]
            best = score.argmax(axis=1)
            gains[queries, rank] = np.maximum(score[row, best], 0.0)
            fresh = np.where(new[row, best], fresh * (1 - alpha), fresh)
            new[row, best], left_over[row, best] = False, False
    return gains


class FoundIntents:
    """Relevant documents of each intent in aligned runs.

    Scores are compared as float64, and ties are broken by ascending id, as in pyndeval.

    Parameters
    ----------
    judged : JudgedIntents
        Judgments of the intents.
    aligned : Aligned
        Runs.
    rel : int
        Lowest relevant grade.
    judged_only : bool
        Whether documents without a judgment for any intent are removed from the rankings.
    """

    def __init__(self, judged: JudgedIntents, aligned: Aligned, rel: int, judged_only: bool) -> None:
        self.judged, self.rel, self.runs = judged, rel, aligned.n_runs
        each = [aligned.of_intent(number) for number in range(len(judged.each))] if judged.has_intents else [aligned]
        found = [one.rankings(judged_only or rel < 1) for one in each]
        query, rank = (np.concatenate([getattr(own, name) for own in found]) for name in ("query", "exact_ranks"))
        grade = np.concatenate([own.grade for own in found])
        intent = np.repeat(np.arange(len(found)), [len(own.query) for own in found])
        if judged_only:
            base = int(rank.max(initial=0)) + 1  # ranks among the documents that are judged for any intent
            kept = np.unique((query * base + rank)[grade >= 0])
            rank = np.searchsorted(kept, query * base + rank) - np.searchsorted(kept, query * base) + 1
        order = np.lexsort((rank, query, intent))
        order = order[grade[order] >= rel]
        self.query, self.rank, self.intent = query[order], rank[order], intent[order]
        group = self.intent * len(found[0]) + self.query if found else self.intent
        self.number = places_within(np.bincount(group)[np.bincount(group) > 0])

    def __len__(self) -> int:
        return self.runs * self.judged.queries

    def of_queries(self, values: Array) -> Array:
        """Return values of queries, repeated for each run."""
        return np.tile(values, self.runs)

    @property
    def intents(self) -> Array:
        """Number of intents with a relevant document, for each ranking."""
        return self.of_queries(self.judged.intents(self.rel))

    def total(self, alpha: float, worth: Worth, cutoff: int | None = None) -> Array:
        """Return Σ (1 − α)^m·worth(rank) over the documents of each intent; m is the number of earlier ones."""
        kept = slice(None) if cutoff is None else self.rank <= cutoff
        fresh = _fading(alpha, int(self.number.max(initial=0)) + 1)[self.number[kept]]
        return summed(self.query[kept], fresh * worth(self.rank[kept]), len(self))

    def ideal(self, alpha: float, worth: Worth, cutoff: int) -> Array:
        """Return the total of the greedy ideal ranking."""
        gains = self.judged.ideal(self.rel, alpha, cutoff)
        sums = np.cumsum(gains * worth(np.arange(1, gains.shape[1] + 1)), axis=1)  # queries with fewer ranks end in 0
        return self.of_queries(sums[:, -1] if sums.size else np.zeros(self.judged.queries))

    def highest(self, alpha: float, worth: Worth, cutoff: int) -> Array:
        """Return the total if each document were relevant to all intents; 1 for a cutoff of 1, as in ndeval."""
        if cutoff == 1:
            return np.ones(len(self))
        if cutoff > FARTHEST:
            raise BadParameter(
                f"@{cutoff}: the highest value is a sum over all these ranks, at most {FARTHEST:,}: give a lower one."
            )
        return self.intents * float(_fading(alpha, cutoff) @ worth(np.arange(1, cutoff + 1)))


def _fading(alpha: float, n: int) -> Floats:
    return np.cumprod(np.append(1.0, np.full(n - 1, 1.0 - alpha)))


def _reciprocal(rank: Array) -> Floats:
    return np.asarray(1 / rank, float)


def _logarithmic(rank: Array) -> Floats:
    return np.asarray(np.log(2.0) / np.log(rank + 1.0), float)


def _one(rank: Array) -> Floats:
    return np.ones(len(rank))


def err_ia(found: FoundIntents, cutoff: int) -> Array:
    """Compute expected reciprocal rank over the intents, divided by its highest possible value.

    ERR-IA@k = Σ_t Σ_{i ≤ k} b_ti·(1/2)^{m_ti}/i / (T·Σ_{i ≤ k} (1/2)^{i−1}/i). b_ti is 1 if the document at rank i is
    relevant to intent t, m_ti is the number of such documents above it, and T is the number of intents with a relevant
    document. With a cutoff of 1, the value is not divided. Unit: share of the highest value. Range [0, 1]; at a cutoff
    of 1 [0, T].

    References
    ----------
    Chapelle et al. (2009), section 7.2; Clarke et al. (2011); as ndeval computes it.
    """
    return share(found.total(0.5, _reciprocal, cutoff), found.highest(0.5, _reciprocal, cutoff))


def nerr_ia(found: FoundIntents, cutoff: int) -> Array:
    """Compute expected reciprocal rank over the intents, divided by that of the greedy ideal ranking.

    The ideal ranking is that of ``alpha_nDCG`` with α = 1/2. Unit: share of the greedy ideal. Range [0, 1] (slightly
    more where the greedy ranking is not the best one).

    References
    ----------
    Chapelle et al. (2009), section 7.2; as ndeval computes it.
    """
    return share(found.total(0.5, _reciprocal, cutoff), found.ideal(0.5, _reciprocal, cutoff))


def alpha_dcg(found: FoundIntents, cutoff: int, alpha: float = 0.5) -> Array:
    """Compute discounted cumulative gain of novel intents, divided by its highest possible value.

    α-DCG@k = Σ_t Σ_{i ≤ k} b_ti·(1 − α)^{m_ti}/log2(i + 1) / (T·Σ_{i ≤ k} (1 − α)^{i−1}/log2(i + 1)). b_ti is 1 if the
    document at rank i is relevant to intent t, m_ti is the number of such documents above it, and T is the number of
    intents with a relevant document. With a cutoff of 1, the value is not divided. Unit: share of the highest value.
    Range [0, 1]; at a cutoff of 1 [0, T].

    References
    ----------
    Clarke et al. (2008); as ndeval computes it.
    """
    return share(found.total(alpha, _logarithmic, cutoff), found.highest(alpha, _logarithmic, cutoff))


def alpha_ndcg(found: FoundIntents, cutoff: int, alpha: float = 0.5) -> Array:
    """Compute discounted cumulative gain of novel intents, divided by that of the greedy ideal ranking.

    At each rank of the ideal ranking stands the judged document with the highest gain Σ_t b_ti·(1 − α)^{m_ti}, of
    several the one with the highest id. Unit: share of the greedy ideal. Range [0, 1] (slightly more where the greedy
    ranking is not the best one).

    References
    ----------
    Clarke et al. (2008); as ndeval computes it.
    """
    return share(found.total(alpha, _logarithmic, cutoff), found.ideal(alpha, _logarithmic, cutoff))


def nrbp(found: FoundIntents, alpha: float = 0.5, beta: float = 0.5) -> Array:
    """Compute novelty- and rank-biased precision.

    NRBP = (1 − (1 − α)·β)/T·Σ_t Σ_i b_ti·(1 − α)^{m_ti}·β^{i−1}. b_ti is 1 if the document at rank i is relevant to
    intent t, m_ti is the number of such documents above it, and T is the number of intents with a relevant document.
    Unit: share of the highest value. Range [0, 1].

    Parameters
    ----------
    beta : float
        The persistence: the probability of going on to the next document.

    References
    ----------
    Clarke, Kolla and Vechtomova (2009); as ndeval computes it.
    """
    return share(found.total(alpha, partial(_persistent, beta)) * (1 - (1 - alpha) * beta), found.intents)


def nnrbp(found: FoundIntents, alpha: float = 0.5, beta: float = 0.5) -> Array:
    """Compute novelty- and rank-biased precision, divided by that of the greedy ideal ranking.

    Unit: share of the greedy ideal. Range [0, 1] (slightly more where the greedy ranking is not the best one). A query
    without a relevant document scores 0, where ndeval divides by 0.

    Parameters
    ----------
    beta : float
        The persistence: the probability of going on to the next document.

    References
    ----------
    Clarke, Kolla and Vechtomova (2009); as ndeval computes it.
    """
    worth = partial(_persistent, beta)
    # The rank after which β^(i−1) no longer changes a sum.
    last = 1 << 62 if beta >= 1 else 1 if beta <= 0 else int(np.ceil(np.log(1e-20) / np.log(beta))) + 1
    return share(found.total(alpha, worth), found.ideal(alpha, worth, last))


def _persistent(beta: float, rank: Array) -> Floats:
    return np.asarray(float(beta) ** (rank - 1), float)


def ap_ia(found: FoundIntents) -> Array:
    """Compute the mean of average precision over the intents with a relevant document.

    It is ``IntentAware(measure="AP")`` without ties. Unit: gain per document. Range [0, 1].

    References
    ----------
    Agrawal et al. (2009); as ndeval computes it.
    """
    R = found.judged.relevant(found.rel)[found.intent, found.query % found.judged.queries]
    return share(summed(found.query, (found.number + 1) / found.rank / R, len(found)), found.intents)


def p_ia(found: FoundIntents, cutoff: int) -> Array:
    """Compute the mean of precision over the intents with a relevant document.

    It is ``IntentAware(measure="P@k")`` without ties. Unit: gain per document. Range [0, 1].

    References
    ----------
    Agrawal et al. (2009); as ndeval computes it.
    """
    return share(found.total(0.0, _one, cutoff), cutoff * found.intents)


def subtopic_recall(found: FoundIntents, cutoff: int) -> Array:
    """Compute the share of the intents for which a relevant document is among the first k.

    Only intents with a relevant document count. Unit: share of the intents. Range [0, 1].

    References
    ----------
    Zhai, Cohen and Lafferty (2003); as ndeval computes it.
    """
    return share(found.total(1.0, _one, cutoff), found.intents)


def over_intents(count: Count, given: dict[str, Any]) -> Computation:
    """Return what computes a measure whose function takes :class:`FoundIntents` in the place of rankings."""
    rel, judged_only = int(given.pop("rel", 1)), bool(given.pop(JUDGED_ONLY.name, False))

    def prepare(judgments: Judgments) -> Values:
        judged = judgments.pool.remembered(("judged intents",), lambda: JudgedIntents(judgments))

        def values(aligned: Aligned) -> Array:
            alike = aligned.of_intent(0).rankings() if judged.has_intents else aligned.rankings(False)
            key = ("intents", rel, judged_only)
            if key not in alike.views:  # measures share the ranks
                alike.views[key] = FoundIntents(judged, aligned, rel, judged_only)
            return count.function(alike.views[key], **given)

        return values

    return Computation(replace(count.needs, all_judged=judged_only or rel < 1), prepare)


_ALPHA = Parameter("alpha", In("[0, 1]"), 0.5)
_BETA = Parameter("beta", In("[0, 1]"), 0.5)
_CUTOFF = Parameter("cutoff", In("[1, inf)", whole=True))
_of_intents = partial(ir_count, needs=Needs(intents=True), computed_by=over_intents)

#: Measures of intents, by their names in ir_measures.
DIVERSITY = {
    count.name: count
    for count in (
        _of_intents("ERR_IA", err_ia, _CUTOFF, REL_OR_0, JUDGED_ONLY),
        _of_intents("nERR_IA", nerr_ia, _CUTOFF, REL_OR_0, JUDGED_ONLY),
        _of_intents("alpha_DCG", alpha_dcg, _CUTOFF, REL_OR_0, _ALPHA, JUDGED_ONLY),
        _of_intents("alpha_nDCG", alpha_ndcg, _CUTOFF, REL_OR_0, _ALPHA, JUDGED_ONLY),
        _of_intents("NRBP", nrbp, REL_OR_0, _ALPHA, _BETA),
        _of_intents("nNRBP", nnrbp, REL_OR_0, _ALPHA, _BETA),
        _of_intents("AP_IA", ap_ia, REL_OR_0, JUDGED_ONLY),
        _of_intents("P_IA", p_ia, _CUTOFF, REL_OR_0, JUDGED_ONLY),
        _of_intents("StRecall", subtopic_recall, _CUTOFF, REL_OR_0),
    )
}
