"""Measures of the retrieved set, and of recall levels, as trec_eval and ir_measures compute them."""

from __future__ import annotations

import numpy as np

from ..data.arrays import Array, Floats
from ..data.rankings import Rankings, summed
from ..errors import BadParameter
from ..model.language import In, Parameter
from .catalogue import CUTOFF, JUDGED_ONLY, REL, REL_OR_0, Flag
from .counting import Count, number_above, number_relevant, running, share

_RECALLS = tuple(np.arange(11) / 10)


def set_precision(rankings: Rankings, rel: int = 1, relative: bool = False) -> Array:
    """Compute the share of relevant documents among the retrieved ones.

    With ``relative``, it is divided by the highest possible share, so that the value is |relevant and retrieved| /
    min(|retrieved|, |relevant|). Range [0, 1].
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
    points: Floats = _interpolated(rankings, _RECALLS, rel).mean(axis=1)
    return points


def _interpolated(rankings: Rankings, recalls: tuple[float, ...], rel: int) -> Floats:
    """Return the interpolated precision at several recalls, of shape [queries × recalls]."""
    which = np.flatnonzero(rankings.grade >= rel)
    query, rank = rankings.query[which], rankings.rank[which]
    found = np.bincount(query, minlength=len(rankings))
    start = np.concatenate([[0], np.cumsum(found)])
    number = np.arange(len(which)) - start[query] + 1
    highest = running(start, number / rank, _from_the_end)
    wanted = (np.outer(number_relevant(rankings, rel), recalls) + 0.9).astype(np.int64)
    reached = (wanted <= found[:, None]) & (found[:, None] > 0)
    place = start[:-1, None] + np.maximum(wanted, 1) - 1
    return np.where(reached, np.append(highest, 0.0)[np.where(reached, place, -1)], 0.0)


def _from_the_end(values: Floats) -> Floats:
    return np.maximum.accumulate(values[:, ::-1], axis=1)[:, ::-1]


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

    References
    ----------
    Utility of trec_eval with the coefficients (relevant, −other, −missed, spared); Lewis (1995).
    """
    a, R = _found(rankings, rel), number_relevant(rankings, rel)
    b, c = rankings.n - a, R - a
    if not spared:
        return relevant * a - other * b - missed * c
    if documents is None:
        raise BadParameter("SetUtility(spared=…) needs documents=, the number of documents in the collection.")
    d = documents - a - b - c
    if (d < 0).any():
        raise BadParameter(
            f"documents={documents} of SetUtility is less than the {int(documents - d.min()):,} documents that are"
            " retrieved or relevant for a query. Give the number of documents in the collection."
        )
    utility: Floats = relevant * a - other * b - missed * c + spared * d
    return utility


def _found(rankings: Rankings, rel: int) -> Array:
    """Return the number of retrieved relevant documents of each query."""
    return summed(rankings.query, rankings.grade >= rel, len(rankings))


_RECALL = Parameter("recall", In("[0, 1]"))

#: The measures of ir_measures in this module, by their names there.
OF_IR_MEASURES = {
    "SetP": Count(set_precision, (REL_OR_0, Parameter("relative", Flag(), False), JUDGED_ONLY)),
    "SetR": Count(set_recall, (REL_OR_0,)),
    "SetF": Count(set_f, (REL_OR_0, Parameter("beta", In("[0, inf)"), 1.0), JUDGED_ONLY)),
    "SetAP": Count(set_ap, (REL_OR_0, JUDGED_ONLY)),
    "IPrec": Count(interpolated_precision, (_RECALL, REL_OR_0, JUDGED_ONLY)),
    "Accuracy": Count(accuracy, (CUTOFF, REL), of_unanswered=True),
}

#: The measures of this module that ir_measures does not have.
OWN = {
    "AP11pt": Count(eleven_point_precision, (REL, JUDGED_ONLY)),
    "SetUtility": Count(
        set_utility,
        (
            Parameter("relevant", In("[0, inf)"), 1),
            Parameter("other", In("[0, inf)"), 1),
            Parameter("missed", In("[0, inf)"), 0),
            Parameter("spared", In("[0, inf)"), 0),
            Parameter("documents", In("[1, inf)", whole=True), None),
            REL,
            JUDGED_ONLY,
        ),
        of_unanswered=True,
    ),
}
