"""Explanations of the scores of runs, rank by rank."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..data.alignment import Judgments
from ..errors import BadParameter, near
from ..files.inputs import loaded, named_pair, one_run
from ..measures.mixtures import Mixture
from ..measures.named import measures_of
from ..measures.of_ir_measures import followed
from ..measures.provider import judged
from ..measures.wrappers import NO_INTENT, NOBODY, ByTopic, IntentAware
from .explained_mixture import ExplainedIntents, ExplainedMixture
from .explained_pair import ExplainedPair
from .explanation import Explanation, explained

_TAKES = "explain takes one run, or a dict of two runs by name"


def explain(qrels: Any, run: Any, query: str, measure: Any) -> Explanation | ExplainedPair | ExplainedMixture:
    """Explain the score of one query rank by rank, for one run or for two runs side by side.

    Parameters
    ----------
    qrels : DataFrame, dict of dicts, iterable of named tuples, or path
        Judgments, as for :func:`evaluate`.
    run : DataFrame, dict of dicts, iterable of named tuples, or path; or a dict of two of these by name
        One run, as for :func:`evaluate`, or two runs by name.
    query : str
        Query id.
    measure : Measure or str
        Measure of this package, or of ir_measures if this package computes it, that follows a user model; or, for one
        run, a Mixture of such measures, or an IntentAware of such a measure.

    Returns
    -------
    Explanation, ExplainedPair or ExplainedMixture
        Values of the framework at each rank, and the score. For two runs, an :class:`ExplainedPair` of both with the
        first rank at which they have different documents. For a Mixture, an :class:`ExplainedMixture` with what each
        rank adds by class of users and in total; for an IntentAware, the same by intent.

    Raises
    ------
    BadParameter
        If the query is not judged or a run has no documents for it, or if the measure follows no user model.
    BadRun
        If there are more than two runs, or both have the same name.

    Examples
    --------
    >>> qrels = {"q": {"a": 1, "b": 0, "c": 1}}
    >>> explain(qrels, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, "q", "RR").score
    1.0
    >>> runs = {"old": {"q": {"a": 3.0, "b": 2.0}}, "new": {"q": {"a": 3.0, "c": 2.0}}}
    >>> both = explain(qrels, runs, "q", "P@2")
    >>> both.first_difference
    2
    >>> both.at(2)
        docno  grade  gain    V  adds
    run
    old     b    0.0   0.0  1.0   0.0
    new     c    1.0   1.0  1.0   0.5
    """
    runs = named_pair(run)
    judgments = judged(loaded(qrels, "qrels"))
    (measure,) = measures_of([measure])
    if runs is None:
        return explain_one(judgments, one_run(run, _TAKES), query, measure)
    if isinstance(measure, type(Mixture) | type(IntentAware)):
        raise BadParameter(f"{measure}: two runs side by side need a measure of one class of users; give one run.")
    return ExplainedPair(
        {name: explain_run(judgments, one, query, measure, f"run {name!r}") for name, one in runs.items()}
    )


def explain_run(
    judgments: Judgments, run: Any, query: str, measure: Any, name: str = "the run", of_intent: Judgments | None = None
) -> Explanation:
    """Explain the score of one query of one run, whose name errors give; `of_intent` are judgments of one intent."""
    (measure,) = measures_of([measure])
    own = measure.of_topic(query) if isinstance(measure, type(ByTopic)) else measure
    metric = followed(own, of_intent or judgments)
    number = _number(judgments, query)
    rows = judgments.rows(run)
    rankings = rows.rankings(True, of_intent)
    if not rankings.n[number]:
        raise BadParameter(f"{name} has no documents for query {query!r}.")
    segment = int(np.flatnonzero(rows.query == number)[0])
    order = rows.in_rank_order(np.arange(len(rows.columns)))[rows.starts[segment] : rows.ends[segment]]
    names = rows.columns.doc_id.take(order).to_pylist()
    if metric.judged_only:
        names = [names[rank - 1] for rank in rankings.condensed.listed_ranks(number).tolist()]
    explanation = explained(metric, rankings, number, measure=str(measure), query=query, names=names)
    rows.warn_of_overlap()
    return explanation


def explain_one(judgments: Judgments, run: Any, query: str, measure: Any) -> Explanation | ExplainedMixture:
    """Explain the score of one query of one run by a measure with a user model, a Mixture or an IntentAware."""
    if isinstance(measure, type(IntentAware)):
        return _explain_intents(judgments, run, query, measure)
    if not isinstance(measure, type(Mixture)):
        return explain_run(judgments, run, query, measure)
    classes = measure.classes
    found = {name: explain_run(judgments, run, query, part) for name, (part, _) in classes.items()}
    return ExplainedMixture(str(measure), query, found, {name: share for name, (_, share) in classes.items()})


def _explain_intents(judgments: Judgments, run: Any, query: str, measure: Any) -> ExplainedIntents:
    if followed(measure.inner, judgments).judged_only:
        raise BadParameter(
            f"{measure}: with judged_only=True, the users of each intent see another ranking. Explain the measure"
            " without judged_only=."
        )
    number = _number(judgments, query)
    found, shares = {}, {}
    for called, share, own in measure.users_by_intent(judgments):
        if share[number] > NOBODY:
            name = called[number]
            found[name] = explain_run(judgments, run, query, measure.inner, of_intent=own)
            shares[name] = float(share[number])
    if NO_INTENT in found:  # users who find nothing, also by a cost such as A="effort"
        found[NO_INTENT] = replace(found[NO_INTENT], score=0.0, divisor=0.0)
    return ExplainedIntents(str(measure), query, found, shares)


def _number(judgments: Judgments, query: Any) -> int:
    """Return the number of a query among the judged ones."""
    if not isinstance(query, str):
        raise BadParameter(f"the query {query!r} must be a string, as ids are: {str(query)!r}.")
    if query not in judgments.index:
        raise BadParameter(f"no query {query!r} in the judgments. {near(str(query), judgments.qids)}")
    return judgments.index[query]
