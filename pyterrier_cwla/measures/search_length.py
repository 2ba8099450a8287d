"""Expected search length: non-relevant documents before the wanted relevant ones, averaged over the orders of ties."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from ..data.rankings import Array, Rankings
from ..errors import BadParameter
from ..model.language import In, Parameter
from .catalogue import JUDGED_ONLY, REL
from .computing import Needs
from .counting import Count, number_relevant


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
    i = documents - rankings.n - r
    if (i < 0).any():
        raise BadParameter(
            f"documents={documents} of ESL is less than the {int(documents - i.min()):,} documents that are retrieved"
            " or relevant for a query. Give the number of documents in the collection."
        )
    lengths += i * np.minimum((wanted - found) / (r + 1), 1)
    return lengths


def scores_of_unanswered(measures: Iterable[str]) -> str:
    """Return the predicate of a sentence on queries without results, for the texts of the measures."""
    notes = {
        "ESL": "failed searches for ESL",
        "Accuracy": "no value for Accuracy",
        r"SetUtility\([^()]*(missed|spared)": "the worth of what is missed and spared for SetUtility",
    }
    texts = list(measures)
    known = [note for name, note in notes.items() if any(re.search(rf"\b{name}\b", text) for text in texts)]
    return f"score 0 ({'; '.join(known)})" if known else "score 0"


ESL = Count(
    search_length,
    (
        Parameter("wanted", In("[1, inf)", whole=True), 1),
        REL,
        Parameter("failed", In("[0, inf)", whole=True), 1000),
        Parameter("documents", In("[1, inf)", whole=True), None),
        JUDGED_ONLY,
    ),
    Needs(ties=True),
    better=lambda given: "lower",
    of_unanswered=True,
)
