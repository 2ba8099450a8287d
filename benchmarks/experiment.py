"""Compare the time of `pt.Experiment` for many runs with that of the provider alone, for the same measures."""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyterrier as pt
from ir_measures import parse_measure

from benchmarks import workloads
from benchmarks.peers import OURS_ONLY, SIX, Contestant, ours, peers
from benchmarks.report import Table, keep, progress, seconds, show
from benchmarks.workloads import RUN_COLUMNS, Workload

TO_PYTERRIER = {"query_id": "qid", "doc_id": "docno", "relevance": "label"}


def main() -> None:
    """Run the benchmark with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.experiment", description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--peers-only", action="store_true", help="six measures by the providers of ir_measures")
    parser.add_argument("--markdown", type=Path, help="write the table to this Markdown file")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()

    progress("building L")
    workload = workloads.build("L", chosen.seed).first(runs=chosen.runs)
    if chosen.peers_only:
        (contestant,), names = [c for c in peers() if c.name == "ir_measures"], list(SIX)
    else:
        contestant, names = ours(), list(OURS_ONLY)
    table = compare(workload, contestant, names, chosen.repeats)
    show([table])
    if chosen.markdown:
        keep(chosen.markdown, [table])


def compare(workload: Workload, contestant: Contestant, names: list[str], repeats: int) -> Table:
    """Measure the CPU time of all ways in turn, each time on new buffers."""
    ways: dict[str, Callable[[Workload], float]] = {
        "provider, one evaluator for all runs": lambda fresh: _one_evaluator(contestant, names, fresh),
        "provider, an evaluator for each run": lambda fresh: _many_evaluators(contestant, names, fresh),
        "pt.Experiment of pipelines": lambda fresh: _experiment(names, fresh, pipelines=True),
        "pt.Experiment of result frames": lambda fresh: _experiment(names, fresh),
    }
    times: dict[str, list[float]] = {way: [] for way in ways}
    for repeat in range(repeats):
        for way, clock in ways.items():
            fresh = workload.fresh([*RUN_COLUMNS, "doc_length"])
            gc.collect()
            times[way].append(clock(fresh))
            progress(f"{repeat + 1}/{repeats}: {way} {seconds(times[way][-1])}")
    medians = {way: statistics.median(taken) for way, taken in times.items()}
    base = medians["provider, one evaluator for all runs"]
    rows = [
        (way, seconds(median), seconds(median / len(workload.runs)), f"{median / base:.2f}")
        for way, median in medians.items()
    ]
    notes = [
        f"{len(workload.runs)} runs as result frames, {workload.rows:,} rows; measures: {'; '.join(names)}.",
        f"Provider: {contestant.description}. pt.Experiment evaluates each run anew, by query, and averages itself.",
        "CPU time. The pipelines return the frames. Frames in the place of pipelines are also formatted as text, twice"
        " each, in PyTerrier's checks.",
    ]
    return Table("pt.Experiment over the provider", ("way", "total", "a run", "times the provider"), rows, notes)


def _one_evaluator(contestant: Contestant, names: list[str], fresh: Workload) -> float:
    start = time.process_time()
    evaluate = contestant.prepare(names, fresh.qrels)
    for run in fresh.runs:
        evaluate(run)
    return time.process_time() - start


def _many_evaluators(contestant: Contestant, names: list[str], fresh: Workload) -> float:
    start = time.process_time()
    for run in fresh.runs:
        contestant.prepare(names, fresh.qrels)(run)
    return time.process_time() - start


def _experiment(names: list[str], fresh: Workload, pipelines: bool = False) -> float:
    results, topics, qrels = as_pyterrier(fresh)
    systems = list(map(Returning, results)) if pipelines else results
    measures = [parse_measure(name) for name in names]
    labels = [f"run {number}" for number in range(len(results))]
    start = time.process_time()
    pt.Experiment(systems, topics, qrels, measures, names=labels)
    return time.process_time() - start


class Returning(pt.Transformer):
    """Pipeline that returns given results."""

    def __init__(self, results: pd.DataFrame) -> None:
        self.results = results

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the results."""
        return self.results

    def __repr__(self) -> str:
        return "Returning()"


def as_pyterrier(workload: Workload) -> tuple[list[pd.DataFrame], pd.DataFrame, pd.DataFrame]:
    """Return the runs as result frames, the topics and the judgments, with the columns of PyTerrier."""
    results = [
        run.rename(columns=TO_PYTERRIER).assign(rank=run.groupby("query_id", sort=False).cumcount())
        for run in workload.runs
    ]
    qrels = workload.qrels.rename(columns=TO_PYTERRIER)
    return results, pd.DataFrame({"qid": qrels["qid"].unique()}).assign(query=""), qrels


if __name__ == "__main__":
    main()
