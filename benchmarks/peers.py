"""Contestants of the benchmarks: this package and its peers, as functions from DataFrames to mean values."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ir_measures
import pandas as pd
from ir_measures.providers import FallbackProvider, Provider

from benchmarks.report import progress

SIX = ("nDCG@10", "nDCG", "AP", "RR", "P@10", "R@100")
SHARED = (
    "RBP(p=0.8,rel=1)",
    "RBP(p=0.95,rel=1)",
    "SDCG(max_rel=3)@10",
    "ERR@20",
    "INST(max_rel=3)",
    "INSQ(max_rel=3)",
)
OURS_ONLY = ("TBG", 'CWLA(C="inst(1)",A="max",max_rel=3)', 'CWLA(C="rbp(0.8)",A="pe(0.5)",max_rel=3)')
SETS = {"six": SIX, "fifteen": SIX + SHARED + OURS_ONLY}

Means = dict[str, float]
Evaluate = Callable[[pd.DataFrame], Means]


@dataclass(frozen=True)
class Contestant:
    """Library that evaluates runs: `prepare(names, qrels)` returns a function that is called with each run."""

    name: str
    description: str
    supports: Callable[[str], bool]
    prepare: Callable[[Sequence[str], pd.DataFrame], Evaluate]
    needs_warming: bool = False

    def of(self, names: Sequence[str]) -> list[str]:
        """Return the supported measures."""
        return [name for name in names if self.supports(name)]


def ours() -> Contestant:
    """Return the full provider of this package."""
    import pyterrier_cwla  # noqa: F401  (registers the provider and the measures)

    description = "this package's full provider, `evaluator(measures, qrels).calc_aggregate(run)`"
    return _through(ir_measures.providers.registry["cwla"], "ours", description)


def peers() -> list[Contestant]:
    """Return the installed peers in the order in which they are measured."""
    there = []
    for make in (_pytrec_eval, _ir_measures, _ranx):
        try:
            there.append(make())
        except ImportError as error:
            progress(f"left out: {error}")
    return there


def _ir_measures() -> Contestant:
    """Return the default pipeline of ir_measures without the provider that the import of this package adds."""
    logging.getLogger("ir_measures.cwl_eval").setLevel("ERROR")
    own = [p for p in ir_measures.DefaultPipeline.providers if type(p).__module__.partition(".")[0] == "ir_measures"]
    description = (
        "ir_measures' default pipeline of its own providers: pytrec_eval for the six, cwl_eval for the others, "
        "gdeval for ERR@20 where there is Perl (to five decimals)"
    )
    return _through(FallbackProvider(own), "ir_measures", description)


def _through(provider: Provider, name: str, description: str) -> Contestant:
    def supports(measure: str) -> bool:
        try:
            return provider.supports(ir_measures.parse_measure(measure))
        except (NameError, ValueError, TypeError):
            return False

    def prepare(names: Sequence[str], qrels: pd.DataFrame) -> Evaluate:
        named = {ir_measures.parse_measure(name): name for name in names}
        evaluator = provider.evaluator(list(named), qrels)

        def evaluate(run: pd.DataFrame) -> Means:
            return {named[measure]: value for measure, value in evaluator.calc_aggregate(run).items()}

        return evaluate

    return Contestant(name, description, supports, prepare)


def _pytrec_eval() -> Contestant:
    import pytrec_eval

    theirs = dict(zip(SIX, ("ndcg_cut_10", "ndcg", "map", "recip_rank", "P_10", "recall_100"), strict=True))

    def prepare(names: Sequence[str], qrels: pd.DataFrame) -> Evaluate:
        evaluator = pytrec_eval.RelevanceEvaluator(_nested(qrels, "relevance"), {theirs[name] for name in names})

        def evaluate(run: pd.DataFrame) -> Means:
            values = evaluator.evaluate(_nested(run, "score")).values()
            return {name: sum(query[theirs[name]] for query in values) / len(values) for name in names}

        return evaluate

    description = (
        "pytrec_eval called directly; dicts by `dict(zip(ids, values))` on each query's slice of columns as lists"
    )
    return Contestant("pytrec_eval", description, theirs.__contains__, prepare)


def _nested(frame: pd.DataFrame, value: str) -> dict[str, dict[str, Any]]:
    """Nested dict for pytrec_eval, by the fastest of four conversions; rows of a query must be contiguous."""
    ids, values = frame["doc_id"].to_numpy(dtype=object).tolist(), frame[value].tolist()
    places = frame.groupby("query_id", sort=False).indices
    bounds = {query: (rows[0], rows[-1] + 1) for query, rows in places.items()}
    return {query: dict(zip(ids[a:b], values[a:b], strict=True)) for query, (a, b) in bounds.items()}


def _ranx() -> Contestant:
    import ranx

    theirs = dict(zip(SIX, ("ndcg@10", "ndcg", "map", "mrr", "precision@10", "recall@100"), strict=True))

    def prepare(names: Sequence[str], qrels: pd.DataFrame) -> Evaluate:
        metrics = [theirs[name] for name in names]
        judged = ranx.Qrels.from_df(_objects(qrels), "query_id", "doc_id", "relevance")

        def evaluate(run: pd.DataFrame) -> Means:
            ranked = ranx.Run.from_df(_objects(run), "query_id", "doc_id", "score")
            values = ranx.evaluate(judged, ranked, metrics, save_results_in_run=False)
            return {name: float(values[theirs[name]]) for name in names}

        return evaluate

    description = (
        "ranx `from_df` and `evaluate`, ids as objects (other types are not accepted), all threads, compiled beforehand"
    )
    return Contestant("ranx", description, theirs.__contains__, prepare, needs_warming=True)


def _objects(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.astype({"query_id": object, "doc_id": object})
