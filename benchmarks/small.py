"""Compare the evaluation of many small runs in dicts with other packages, and average precision of integer arrays."""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytrec_eval

from benchmarks.report import Table, brief, keep, progress, seconds, show
from pyterrier_cwla import evaluate, score

MEASURES = ["AP", "nDCG@10", "RR"]
QUERIES, DOCUMENTS, LISTED = 10, 20, 10
Runs = dict[str, dict[str, dict[str, float]]]


def main() -> None:
    """Run the benchmark with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.small", description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--markdown", type=Path, help="write the tables to this Markdown file")
    chosen = parser.parse_args()
    tables = [small_runs(chosen.runs, chosen.repeats), arrays(chosen.repeats)]
    show(tables)
    if chosen.markdown:
        keep(chosen.markdown, tables)


def small_runs(number: int, repeats: int) -> Table:
    """Compare the time of all packages for the same dicts."""
    qrels, runs = made(number)
    ways: dict[str, Callable[[], Any]] = {
        "pytrec_eval": lambda: _by_pytrec_eval(qrels, runs),
        "evaluate(qrels, runs)": lambda: evaluate(qrels, runs, MEASURES),
        "ranx, first call": lambda: _by_ranx(qrels, runs),
        "ranx": lambda: _by_ranx(qrels, runs),
    }
    times = _timed({way: run for way, run in ways.items() if not way.endswith("first call")}, repeats, ways)
    notes = [f"{number:,} runs of {QUERIES} queries with {LISTED} documents each, as dicts; {', '.join(MEASURES)}."]
    return _table("Many small runs", times, notes)


def arrays(repeats: int, rows: int = 8000, columns: int = 40) -> Table:
    """Compare average precision of integer arrays with that of a matrix of grades."""
    import ir_eval_numba
    from numba.typed import List

    grades = (np.random.default_rng(0).random((rows, columns)) < 0.2).astype(np.int64)
    grades[:, -1] = 1  # ir-eval-numba needs a relevant item
    items = np.arange(columns)
    relevant, ranked = List(map(np.flatnonzero, grades)), List([items] * rows)
    mean: Any = ir_eval_numba.metrics.mean_average_precision
    ways: dict[str, Callable[[], Any]] = {
        "ir-eval-numba": lambda: mean(relevant, ranked, columns),
        'score(grades, C="ap2", A="avg")': lambda: score(grades, C="ap2", A="avg", gain="binary").mean(),
    }
    notes = [f"{rows:,} rankings of {columns} integers, compiled beforehand."]
    return _table("Average precision of integers", _timed(ways, repeats), notes)


def made(number: int) -> tuple[dict[str, dict[str, int]], Runs]:
    """Return judgments and a number of small runs."""
    rng = np.random.default_rng(0)
    documents = [f"d{place}" for place in range(DOCUMENTS)]
    qrels = {f"q{q}": {d: int(rng.random() < 0.3) for d in documents} for q in range(QUERIES)}
    runs = {
        f"run {run}": {
            f"q{q}": {documents[at]: float(rng.random()) for at in rng.permutation(DOCUMENTS)[:LISTED]}
            for q in range(QUERIES)
        }
        for run in range(number)
    }
    return qrels, runs


def _by_pytrec_eval(qrels: dict[str, dict[str, int]], runs: Runs) -> None:
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, ["map", "ndcg_cut_10", "recip_rank"])
    for run in runs.values():
        evaluator.evaluate(run)


def _by_ranx(qrels: dict[str, dict[str, int]], runs: Runs) -> None:
    import ranx

    judged = ranx.Qrels(qrels)
    for run in runs.values():
        ranx.evaluate(judged, ranx.Run(run), ["map", "ndcg@10", "mrr"])


def _timed(
    ways: dict[str, Callable[[], Any]], repeats: int, first: dict[str, Callable[[], Any]] | None = None
) -> dict[str, list[float]]:
    """Return the CPU times of all ways, measured in turn; those of `first` alone are measured once, before."""
    times = {way: [_clock(run)] for way, run in (first or {}).items() if way not in ways}
    for run in ways.values():
        run()
    for repeat in range(repeats):
        for way, run in ways.items():
            times.setdefault(way, []).append(_clock(run))
            progress(f"{repeat + 1}/{repeats}: {way} {seconds(times[way][-1])}")
    return times


def _clock(run: Callable[[], Any]) -> float:
    gc.collect()
    start = time.process_time()
    run()
    return time.process_time() - start


def _table(title: str, times: dict[str, list[float]], notes: list[str]) -> Table:
    medians = {way: statistics.median(taken) for way, taken in times.items()}
    base = next(medians[way] for way in medians if "first" not in way)
    rows = [(way, brief(median), f"{median / base:.2f}") for way, median in medians.items()]
    return Table(title, ("way", "CPU time", "ratio"), rows, notes)


if __name__ == "__main__":
    main()
