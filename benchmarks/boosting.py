"""Time a boosting iteration of LightGBM with our objectives, and with its own lambdarank."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import Table, keep, progress, seconds, show
from pyterrier_cwla.learning.lambdamart import LambdaMART
from pyterrier_cwla.learning.swaps import way_to_swap
from pyterrier_cwla.measures.declarations import metric_of

QUERIES, DOCUMENTS, FEATURES = 2000, 100, 50
LEVELS = (10, 30)
ITERATIONS = 6
CLOSED = {
    "nDCG": "nDCG(dcg='exp-log2')",
    "RBP(0.8)": "CWLA(C='rbp(0.8)',A='erg',max_rel=4)",
    "RR": "RR(rel=3)",
    "ERR": "ERR",
    "cascade, utility": "Cascade(gamma=0.9,max_rel=4)",
    "TBG": "TBG",
    "RBP(0.8), effort by grade": "CWLA(C='rbp(0.8)',A='erg',max_rel=4,effort='ratio(4)')",
}
OTHERS = {
    "INST": "CWLA(C='inst(1)',A='erg',max_rel=4)",
    "AP": "AP(rel=2)",
    "INST to rank 10": "CWLA(C='inst(1)',A='erg',max_rel=4)@10",
    "RBP(0.8) with max": "CWLA(C='rbp(0.8)',A='max',max_rel=4)",
    "U-measure by grade": "UMeasure(T=99,max_rel=4,effort='ratio(4)')",
    "RR with avg by time": "CWLA(C='rr',A='avg',max_rel=4,effort='time')",
    "U-measure by words": "UMeasure(T=3000,max_rel=4,effort='reading')",
}
WAYS = {
    "by_rank_weights": "weights of ranks",
    "by_sums": "sums",
    "by_paths": "sets of items seen",
    "by_pairs": "pairs of items",
    "by_scoring_anew": "every swap scored anew",
}


def main() -> None:
    """Run the benchmark with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.boosting", description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1, help="threads of LightGBM and of our objectives")
    parser.add_argument("--markdown", type=Path, help="write the table to this Markdown file")
    chosen = parser.parse_args()
    table = iterations(chosen.repeats, chosen.threads)
    show([table])
    if chosen.markdown:
        keep(chosen.markdown, [table])


def iterations(repeats: int, threads: int) -> Table:
    """Time iterations by truncation level, absolutely and relative to lambdarank."""
    X, y, words, sizes = rows()
    taken: dict[str, list[str]] = {name: [] for name in ("lambdarank", *CLOSED, *OTHERS)}
    ways = {"lambdarank": "built in"}
    for level in LEVELS:
        objectives: dict[str, Any] = {"lambdarank": "lambdarank"}
        for name, measure in {**CLOSED, **OTHERS}.items():
            objectives[name] = LambdaMART(measure, truncation_level=level, doc_length=words, n_jobs=threads)
        clocks = {
            name: _Clock(objective, X, y, sizes, level, threads, ITERATIONS) for name, objective in objectives.items()
        }
        times: dict[str, list[float]] = {name: [] for name in objectives}
        for repeat in range(repeats):  # in turn, so that other load of the machine affects all equally
            for name, clock in clocks.items():
                times[name].append(clock())
            progress(f"truncation level {level}: {repeat + 1}/{repeats}")
        base = times["lambdarank"]
        for name, own in times.items():
            ratio = statistics.median(a / b for a, b in zip(own, base))
            taken[name] += [seconds(statistics.median(own)), f"{ratio:.1f}"]
            if name != "lambdarank":
                ways[name] = WAYS[way_to_swap(metric_of(objectives[name].measure), DOCUMENTS).__name__]
    columns = ["objective", "way"]
    for level in LEVELS:
        columns += [f"iteration, level {level}", "times lambdarank"]
    notes = [
        f"{QUERIES:,} queries x {DOCUMENTS} documents, {FEATURES} features, five grades; 31 leaves; {threads}"
        f" thread{'s' if threads > 1 else ''}, of LightGBM and of the objective.",
        f"Median of {repeats} turns of {ITERATIONS} iterations each; ratios within a turn. The level applies to both"
        " objectives.",
    ]
    return Table(f"A boosting iteration, {threads} thread{'s' if threads > 1 else ''}", columns,
                 [(name, ways[name], *cells) for name, cells in taken.items()], notes)  # fmt: skip


class _Clock:
    """Booster whose call runs further iterations and returns the seconds per iteration."""

    def __init__(self, objective: Any, X: Any, y: Any, sizes: Any, level: int, threads: int, iterations: int) -> None:
        import lightgbm

        self.iterations = iterations
        own = None if isinstance(objective, str) else objective
        options = {
            "objective": own.lightgbm if own else objective, "lambdarank_truncation_level": level, "verbose": -1,
            "metric": "None", "num_threads": threads, "num_leaves": 31,
        }  # fmt: skip
        data = lightgbm.Dataset(X, y, group=sizes)
        self.step: Callable[[], Any]
        if own is None:
            booster = lightgbm.Booster(options, data)
            self.step = booster.update
        else:
            booster = lightgbm.Booster({**options, "objective": "none"}, data)
            self.step = lambda: booster.update(fobj=own.lightgbm)
        self.step()  # bins features, prepares rows

    def __call__(self) -> float:
        start = time.perf_counter()
        for _ in range(self.iterations):
            self.step()
        return (time.perf_counter() - start) / self.iterations


def rows() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return features, grades that depend on five features, words, and group sizes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(QUERIES * DOCUMENTS, FEATURES)).astype(np.float32)
    y = np.digitize(X[:, :5].sum(axis=1) + 2 * rng.normal(size=len(X)), [2, 3.5, 5, 6.5])
    return X, y, np.ceil(rng.lognormal(5.8, 0.9, len(y))), np.full(QUERIES, DOCUMENTS)


if __name__ == "__main__":
    main()
