"""Measures of ir_measures, listed from its registry, and the providers of ir_measures that compute them."""

import itertools
from contextlib import suppress

import ir_measures
import numpy as np

from pyterrier_cwla.measures.named import CWLAMeasure
from tests.support.generated import Collection, harmless

#: Values of each parameter besides its default. A test holds that every parameter of ir_measures is here.
OTHER_VALUES = {
    "cutoff": [5], "rel": [0, 2], "judged_only": [True], "p": [0.5], "T": [2.0], "min_rel": [1], "max_rel": [3, 4],
    "gains": [{0: 1, 1: 4}, {1: 3, 2: 5, 3: 11}, {1: -1}, {3: 0}], "dcg": ["exp-log2"], "recall": [0.3],
    "alpha": [0.3], "beta": [0.3, 2.0], "relative": [True], "normalize": [False],
}  # fmt: skip
REGISTERED = {m.NAME: m for m in ir_measures.measures.registry.values() if not isinstance(m, CWLAMeasure)}
_OURS = ("cwla", "cwla_labels")
_NO_PEERS = ("ranx",)  # refuses the strings of pandas 3
PEERS = [p for p in ir_measures.DefaultPipeline.providers if p.NAME not in (*_OURS, *_NO_PEERS) and p.is_available()]
OF_INTENTS = {measure.NAME for measure in ir_measures.pyndeval.SUPPORTED_MEASURES}
OF_INTENTS_AT_K = OF_INTENTS - {"AP_IA", "NRBP", "nNRBP"}
#: These break ties in other ways than trec_eval.
_FOLLOW_ROWS = ("cwl_eval", "pyndeval", "accuracy", "judged", "msmarco", "gdeval")


def with_other_parameters(name):
    """Yield the measure with every combination of its defaults and other values that ir_measures accepts."""
    measure = REGISTERED[name]
    known = measure.SUPPORTED_PARAMS
    values = [([] if info.required else [None]) + OTHER_VALUES[parameter] for parameter, info in known.items()]
    for chosen in itertools.product(*values):
        given = {parameter: value for parameter, value in zip(known, chosen, strict=True) if value is not None}
        if all(known[parameter].validate(value) for parameter, value in given.items()):
            yield measure(**given)


def computes(peer, measure):
    """Return whether a provider has a value of the measure.

    pytrec_eval says that it supports rel=0, and pyndeval that it supports judged_only and rankings without a cutoff;
    both raise errors. cwl_eval's AP is another measure, over the retrieved relevant documents only.
    """
    if not peer.supports(measure):
        return False
    given = measure.params
    if peer.NAME == "pytrec_eval":
        return given.get("rel") != 0
    if peer.NAME == "pyndeval":
        return not given.get("judged_only") and ("cutoff" in given or measure.NAME not in OF_INTENTS_AT_K)
    return not (peer.NAME == "cwl_eval" and measure.NAME == "AP")


def for_peer(peer, measure, frames):
    """Return the data in a form in which the provider orders ties as we do, and reads no memory of others.

    pytrec_eval's nDCG reads outside its memory for negative grades, and all its measures do for queries with nothing
    else. gdeval has no negative grades, and cwl_eval takes them for 0. pyndeval needs the rows of a query together.
    """
    run, qrels = frames
    if peer.NAME == "pytrec_eval":
        highest = qrels.groupby("query_id").relevance.transform("max")
        qrels = qrels.assign(relevance=qrels.relevance.where(highest >= 0, 0))
    from_0_up = measure.params.get("rel") == 0 and measure.NAME != "RBP"
    if peer.NAME == "gdeval" or measure.NAME == "nDCG" or (peer.NAME == "cwl_eval" and from_0_up):
        run, qrels = harmless(Collection(run, qrels))
    if peer.NAME == "pyndeval":
        run = run.sort_values("query_id", kind="stable")
    return Collection(by_rank(run) if peer.NAME in _FOLLOW_ROWS else run, qrels)


def by_rank(run):
    """Return the run in the order of trec_eval (score in float32, then id, descending), with different scores."""
    ordered = run.assign(score=run.score.astype(np.float32)).sort_values(["query_id", "score", "doc_id"])
    scores = ordered.groupby("query_id").cumcount().astype(float)
    return ordered.assign(score=scores)[["query_id", "doc_id", "score"]].iloc[::-1].reset_index(drop=True)


def tolerance(peer):
    """Return how far values of the provider may be from ours; gdeval prints five decimals."""
    return 6e-6 if peer.NAME == "gdeval" else 1e-9


def per_query(provider, measure, frames):
    """Return the values of a measure by query."""
    return {m.query_id: m.value for m in provider.iter_calc([measure], frames.qrels, frames.run)}


def values_of(peer, measure, frames):
    """Return the values of a measure by query, and their aggregate as ir_measures computes it from them.

    The provider of Accuracy divides by zero if all documents of a query are relevant; this query then has no value.
    trec_eval's IPrec and ndeval's nNRBP are NaN for some queries without relevant documents; they count as 0.
    """
    parts, values = [frames], {}
    if peer.NAME == "accuracy":
        parts = [Collection(run, frames.qrels[frames.qrels.query_id == q]) for q, run in frames.run.groupby("query_id")]
    for part in parts:
        with suppress(*([ZeroDivisionError] if peer.NAME == "accuracy" else [])):
            values |= per_query(peer, measure, part)
    if measure.NAME in ("IPrec", "nNRBP"):
        values = {query: 0.0 if np.isnan(value) else value for query, value in values.items()}
    aggregator = measure.aggregator()
    for value in values.values():
        aggregator.add(value)
    return values, aggregator.result()
