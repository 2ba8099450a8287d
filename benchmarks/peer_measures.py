"""Time measures of ir_measures without a user model beside the providers of ir_measures that compute them."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
from ir_measures import ScoredDoc

import pyterrier_cwla  # noqa: F401  (registers the provider)
from benchmarks.report import Table, keep, progress, seconds, show
from benchmarks.workloads import Workload, build

#: Measures by their provider in ir_measures, with the name in its library, if it has one.
MEASURES: dict[str, dict[str, str | None]] = {
    "pytrec_eval": {"SetP": "set_P", "SetR": "set_recall", "SetF": "set_F", "SetAP": "set_map",
                    "IPrec@0.1": "iprec_at_recall.0.10"},
    "accuracy": {"Accuracy": None},
    "compat": {"Compat": None},
    "pyndeval": {"alpha_DCG@20": "alpha-DCG@20", "alpha_nDCG@20": "alpha-nDCG@20", "ERR_IA@20": "ERR-IA@20",
                 "nERR_IA@20": "nERR-IA@20", "NRBP": "NRBP", "nNRBP": "nNRBP", "AP_IA": "MAP-IA", "P_IA@20": "P-IA@20",
                 "StRecall@20": "strec@20"},
}  # fmt: skip
INTENTS = 8


def main() -> None:
    """Run the benchmark with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peer_measures", description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--markdown", type=Path, help="write the table to this Markdown file")
    chosen = parser.parse_args()
    table = measured(build("S", chosen.seed), chosen.repeats, chosen.seed)
    show([table])
    if chosen.markdown:
        keep(chosen.markdown, [table])


def measured(workload: Workload, repeats: int, seed: int) -> Table:
    """Return the times of each measure, in turns with those of its peer."""
    rng = np.random.default_rng(seed)
    rows = []
    for peer, measures in MEASURES.items():
        for text, name in measures.items():
            ours, theirs, alone, apart = [], [], [], 0.0
            for _ in range(repeats):
                (run,), qrels = (fresh := workload.fresh()).runs, fresh.qrels
                if peer == "pyndeval":
                    qrels = qrels.assign(iteration=rng.integers(1, INTENTS + 1, len(qrels)).astype(str))
                spent, value = _timed(partial(_mean, ir_measures.providers.registry["cwla"], text, qrels, run))
                other, their_value = _timed(partial(_mean, ir_measures.providers.registry[peer], text, qrels, run))
                ours.append(spent)
                theirs.append(other)
                apart = max(apart, abs(value - their_value))
                if name is not None:
                    alone.append(_timed(_library(peer, name, qrels, run))[0])
            rows.append((text, peer, seconds(statistics.median(ours)), _ratio(theirs, ours), _ratio(alone, ours),
                         f"{apart:.0e}"))  # fmt: skip
            progress(" ".join(rows[-1]))
    notes = [
        f"Workload S; for measures of intents, each judgment is for one of {INTENTS} intents. Judgments and run are new"
        f" in each of {repeats} turns, from DataFrames to the mean, in both packages.",
        "*Times ours* is the median of the ratios of the turns. *Library alone* is the same for the library that"
        " ir_measures calls, without the conversion of the run and the preparation of the judgments. Ours includes"
        " both.",
        "`python -m benchmarks.peer_measures` measures this.",
    ]
    columns = ("measure", "provider", "ours", "times ours", "library alone, times ours", "apart from ours")
    return Table("Measures of other providers", columns, rows, notes)


def _mean(provider: Any, text: str, qrels: pd.DataFrame, run: pd.DataFrame) -> float:
    measure = ir_measures.parse_measure(text)
    return float(provider.evaluator([measure], qrels).calc_aggregate(run)[measure])


def _library(peer: str, name: str, qrels: pd.DataFrame, run: pd.DataFrame) -> Callable[[], Any]:
    """Return a call of the library that scores a run in its own form."""
    if peer == "pytrec_eval":
        import pytrec_eval

        judgments, scores = _nested(qrels, "relevance"), _nested(run, "score")
        return partial(pytrec_eval.RelevanceEvaluator(judgments, {name}).evaluate, scores)
    import pyndeval

    rows = zip(*(qrels[c] for c in ("query_id", "iteration", "doc_id", "relevance")), strict=True)
    judged = [pyndeval.SubtopicQrel(*row) for row in rows]
    scored = [ScoredDoc(*row) for row in zip(*(run[c] for c in ("query_id", "doc_id", "score")), strict=True)]
    evaluator = pyndeval.RelevanceEvaluator(judged, [name])
    return lambda: list(evaluator.evaluate_iter(scored))


def _nested(frame: pd.DataFrame, value: str) -> dict[str, dict[str, Any]]:
    groups = frame.groupby("query_id")
    return {query: dict(zip(some["doc_id"], some[value].tolist(), strict=True)) for query, some in groups}


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    found = call()
    return time.perf_counter() - start, found


def _ratio(theirs: list[float], ours: list[float]) -> str:
    return f"{statistics.median(a / b for a, b in zip(theirs, ours, strict=True)):.1f}" if theirs else ""


if __name__ == "__main__":
    main()
