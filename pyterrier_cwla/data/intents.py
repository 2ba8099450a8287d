"""Probabilities of the intents of queries, the weights of intent-aware measures."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import BadJudgments, BadParameter, near, some
from .columns import Array
from .resources import Resource

if TYPE_CHECKING:
    from .alignment import Judgments


WEIGHTS = "'uniform', or a table of probabilities: a name, {query: {intent: p}}, or a DataFrame"
"""Allowed values of ``weights=`` of an intent-aware measure."""


class IntentWeights(Resource):
    """Probabilities of intents, P(t|q): uniform over the intents with relevant documents, or from a table.

    Content is the probabilities by (query, intent), or None for uniform ones.
    """

    _parameter, _has_files = "weights", False

    @classmethod
    def _from_content(cls, content: Any) -> IntentWeights:
        """Return probabilities that are named after the hash of their content."""
        table = _table(content)
        digest = blake2b(repr(sorted(table.items())).encode(), digest_size=8).hexdigest()
        return cls(f"weights_{digest}", table)

    @classmethod
    def _unknown(cls, name: str, registered: list[str]) -> str:
        return (
            f"no table of intents' probabilities {name!r}. {near(name, registered)}"
            " register_intent_weights(name, table) names one."
        )

    def __repr__(self) -> str:
        return f"<intent weights {self.name!r}>"

    def of(self, judgments: Judgments) -> list[Array]:
        """Return the probabilities of the first intent of every query, of the second intent, and so on.

        Parameters
        ----------
        judgments : Judgments
            Judgments with intents.

        Returns
        -------
        list of ndarray of shape (n_queries,)
            Probabilities, in the order of ``judgments.intents``.

        Raises
        ------
        BadJudgments
            If a judged query or intent has no weight.
        """
        table = self.loaded
        if table is None:
            relevant = [
                np.bincount(own.pool.positive[0], minlength=len(judgments.qids)) > 0 for _, own in judgments.intents
            ]
            intents = np.maximum(sum(relevant, np.zeros(len(judgments.qids))), 1)
            return [some_relevant / intents for some_relevant in relevant]
        weighted = {query for query, _ in table}
        unknown = [qid for qid in judgments.qids if qid not in weighted]
        if unknown:
            raise BadJudgments(
                f"the weights {self.name!r} have no entry for {len(unknown):,} of {len(judgments.qids):,} topics"
                f" ({some(unknown)}): every judged topic needs the probabilities of its intents."
            )
        weights = [np.zeros(len(judgments.qids)) for _ in judgments.intents]
        for P, (called, _) in zip(weights, judgments.intents, strict=True):
            for query, intent in called.items():
                qid = judgments.qids[query]
                if (qid, intent) not in table:
                    raise BadJudgments(
                        f"topic {qid!r}: the judged intent {intent!r} has no weight in {self.name!r}: give it one, 0"
                        " if no user has this intent."
                    )
                P[query] = table[qid, intent]
        return weights


IntentWeights._named["uniform"] = IntentWeights("uniform")


def register_intent_weights(name: str, table: Any) -> IntentWeights:
    """Register probabilities of intents under a name, as in ``IntentAware(measure="ERR@20", weights="trec")``.

    Parameters
    ----------
    name : str
        Name that measures use, an identifier other than "uniform".
    table : dict of dicts, or DataFrame
        ``{query: {intent: P(t|q)}}``, or a table with the columns query_id (or qid), iteration (or intent) and weight.
        The probabilities of each query sum to 1.

    Returns
    -------
    IntentWeights
        Registered probabilities.

    Raises
    ------
    BadParameter
        If the name cannot be used, if a probability is negative, or if those of a query do not sum to 1.

    Examples
    --------
    >>> from pyterrier_cwla.data import register_intent_weights
    >>> register_intent_weights("web", {"q1": {"1": 0.7, "2": 0.3}})
    <intent weights 'web'>
    """
    if not name.isidentifier() or name == "uniform":
        raise BadParameter(f"a table's name is a word other than 'uniform', such as 'web', not {name!r}.")
    found = IntentWeights._named[name] = IntentWeights(name, _table(table))
    return found


def _table(table: Any) -> dict[tuple[str, str], float]:
    if hasattr(table, "to_pandas"):  # polars, Arrow
        table = table.to_pandas()
    if isinstance(table, Mapping) and all(isinstance(intents, Mapping) for intents in table.values()):
        rows = [(query, intent, p) for query, intents in table.items() for intent, p in intents.items()]
    elif not hasattr(table, "columns"):
        raise BadParameter(f"intents' probabilities are {{query: {{intent: p}}}} or a DataFrame, not {table!r:.80}.")
    else:
        names = {"qid": "query_id", "intent": "iteration"}
        columns = {names.get(name, name): list(table[name]) for name in table.columns}
        if not {"query_id", "iteration", "weight"} <= {*columns}:
            raise BadParameter(
                f"a table of intents has columns query_id, iteration and weight; this one has {some(columns, 8)}."
            )
        rows = list(zip(columns["query_id"], columns["iteration"], columns["weight"], strict=True))
    found: dict[tuple[str, str], float] = {}
    sums: dict[str, float] = {}
    for query, intent, weight in rows:
        where = f"topic {query!r}, intent {intent!r}"
        if not isinstance(query, str):
            raise BadParameter(f"{where}: topics must be strings, as ids are: {str(query)!r}.")
        if not isinstance(weight, int | float | np.number) or not weight >= 0:
            raise BadParameter(f"{where}: weight {weight!r}: a probability must be a number, 0 or more.")
        if (query, str(intent)) in found:
            raise BadParameter(f"{where} has two weights: every intent of a topic has one.")
        found[query, str(intent)] = float(weight)
        sums[query] = sums.get(query, 0.0) + float(weight)
    for query, total in sums.items():
        if abs(total - 1) > 1e-6:
            raise BadParameter(f"topic {query!r}: the probabilities of its intents sum to {total:g}, and must to 1.")
    return found
