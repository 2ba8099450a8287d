"""Compare the speed of two versions of the package in one run.

``python -m benchmarks.same_speed REVISION`` times a git revision and the working tree in turn: the tables of six and
fifteen measures through the provider, ``evaluate``, ``pt.Experiment``, one lap for each other entry of the
documentation's summary (dicts, matrices, files, streams, Dask, scorers, LambdaMART, simulated users), and the import.
It prints medians and ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.imports import CHILD
from benchmarks.report import Table, progress, seconds, show
from benchmarks.same_numbers import ROOT, files_of

if TYPE_CHECKING:
    from benchmarks.workloads import Workload


def laps() -> dict[str, Callable[[], float]]:
    """Return the laps by name: functions that return their time in seconds."""
    from benchmarks import workloads
    from benchmarks.experiment import _experiment, _one_evaluator
    from benchmarks.peers import OURS_ONLY, SETS, ours
    from benchmarks.workloads import RUN_COLUMNS
    from pyterrier_cwla import evaluate

    contestant = ours()
    small, large = workloads.build("S", 1), workloads.build("M", 1)
    many = workloads.build("L", 1).first(runs=20)

    def of_provider(workload: Workload, measures: str) -> Callable[[], float]:
        names = list(SETS[measures])
        return lambda: _one_evaluator(contestant, names, workload.fresh([*RUN_COLUMNS, "doc_length"]))

    def of_evaluate() -> float:
        fresh = many.fresh()
        start = time.perf_counter()
        evaluate(fresh.qrels, {f"run {number}": run for number, run in enumerate(fresh.runs)}, list(SETS["six"]))
        return time.perf_counter() - start

    return (
        other_entries(many)
        | {
            f"{measures} measures, provider, {size}": of_provider(workload, measures)
            for measures in ("six", "fifteen")
            for size, workload in (("one run of 50 queries", small), ("one run of 6,980 queries", large))
        }
        | {
            "six measures, evaluate, 20 runs": of_evaluate,
            "three measures, pt.Experiment, 20 runs": lambda: _experiment(
                list(OURS_ONLY), many.fresh([*RUN_COLUMNS, "doc_length"])
            ),
        }
    )


def other_entries(many: Workload) -> dict[str, Callable[[], float]]:
    """Return a lap for each entry of the summary that is no table of measures; all use public functions only."""
    import numpy as np
    import pandas as pd
    from sklearn.base import BaseEstimator, RegressorMixin

    from benchmarks import scoring, small
    from pyterrier_cwla import compare, evaluate, score, scorer, stream
    from pyterrier_cwla.behaviour import simulate
    from pyterrier_cwla.evaluation import cluster
    from pyterrier_cwla.learning import LambdaMART

    rng = np.random.default_rng(0)
    folder = Path(tempfile.mkdtemp())
    dict_qrels, dicts = small.made(1000)
    grades = rng.choice([0, 0, 0, 1, 2, 3], (8000, 40))
    runs = [run.assign(run=f"run {number}") for number, run in enumerate(many.runs)]
    for run in runs[:5]:
        rows = run.assign(Q0="Q0", rank=1)[["query_id", "Q0", "doc_id", "rank", "score", "run"]]
        rows.to_csv(folder / f"{run['run'].iloc[0]}.txt.gz", sep=" ", header=False, index=False)
    pd.concat(runs).to_parquet(folder / "runs.parquet")
    X, labels = scoring.labelled(0)
    predicted = rng.random(len(labels))

    class Ranker(RegressorMixin, BaseEstimator):
        def __sklearn_is_fitted__(self) -> bool:
            return True

        def predict(self, X: Any) -> Any:
            return predicted

    six = ["nDCG@10", "nDCG", "AP", "RR", "P@10", "R@100"]
    y, pred, words = rng.choice(5, 20_000), rng.normal(size=20_000), np.ceil(rng.lognormal(5.8, 0.9, 20_000))
    training = y, pred, None, np.full(200, 100)  # 200 queries of 100 documents
    one = {"q": {f"d{i}": int(rng.random() < 0.3) for i in range(100)}}
    named, client = dict(enumerate(many.runs)), None

    def on_two_workers() -> None:
        nonlocal client
        if client is None:
            from dask.distributed import Client

            client = Client(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None)
        cluster.evaluate(many.qrels, folder / "runs.parquet", six, client=client)

    calls: dict[str, Callable[[], object]] = {
        "1,000 runs of 10 x 10 documents in dicts": lambda: evaluate(dict_qrels, dicts, ["AP", "nDCG@10", "RR"]),
        **{
            f"matrix of 8,000 x 40, {C} {A}": partial(score, grades, C=C, A=A, max_rel=3, norm=norm)
            for C, A, norm in (
                *(("rbp(0.8)", "erg", "none"), ("rr", "err", "none"), ("inst(2)", "erg", "none")),
                *(("ap2", "avg", "none"), ("rbp(0.8)", "max", "none"), ("dcg", "etg", "ideal")),
            )
        },
        "5 TREC files, gzip": lambda: evaluate(many.qrels, sorted(folder.glob("*.gz")), six),
        "20 runs in a Parquet file": lambda: evaluate(many.qrels, folder / "runs.parquet", six),
        "20 runs, streamed": lambda: list(stream(many.qrels, folder / "runs.parquet", six)),
        "20 runs, two Dask workers": on_two_workers,
        "20 runs, Residual": lambda: evaluate(many.qrels, named, ["Residual(measure='RBP(rel=1)')"]),
        "20 runs, compare": lambda: compare(many.qrels, named, six, baseline=0, resamples=1000),
        **{
            f"a scoring, {name}": partial(scorer(name), Ranker(), X, labels) for name in ("AP", "nDCG@10", "ERR", "TBG")
        },
        **{
            f"LambdaMART, {name}": partial(LambdaMART(measure, truncation_level=10, doc_length=words), *training)
            for name, measure in {
                **{"nDCG": "nDCG(dcg='exp-log2')", "ERR": "ERR", "TBG": "TBG", "AP": "AP(rel=2)"},
                "INST": "CWLA(C='inst(1)',A='erg',max_rel=4)",
                "max": "CWLA(C='rbp(0.8)',A='max',max_rel=4)",
                "lengths": "UMeasure(T=3000,max_rel=4,effort='reading')",
            }.items()
        },
        "100,000 users of ERR": lambda: simulate(
            one, {"q": {name: -float(i) for i, name in enumerate(one["q"])}}, "ERR", 100_000, progress=False
        ),
    }
    return {name: partial(_timed, call) for name, call in calls.items()}


def _timed(call: Callable[[], object]) -> float:
    """Return the mean seconds of calls that take a tenth of a second together, or of one call."""
    start, calls = time.perf_counter(), 0
    while calls == 0 or time.perf_counter() - start < 0.1:
        call()
        calls += 1
    return (time.perf_counter() - start) / calls


def answer() -> None:
    """Time the laps named on standard input, one per line, and print their seconds."""
    timed = laps()
    print(json.dumps(list(timed)), flush=True)
    for line in sys.stdin:
        print(timed[line.strip()](), flush=True)


class Version:
    """Process that times laps with the package in a folder."""

    def __init__(self, folder: Path) -> None:
        self.environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
        command = [sys.executable, __file__, "--answer"]
        self.process = subprocess.Popen(
            command, env=self.environment, cwd=folder, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.names: list[str] = json.loads(self._line())

    def lap(self, name: str) -> float:
        """Return the seconds of one lap."""
        print(name, file=self.process.stdin, flush=True)
        return float(self._line())

    def import_time(self) -> float:
        """Return the seconds of the import after PyTerrier."""
        command = [sys.executable, "-c", CHILD, "both"]
        done = subprocess.run(command, env=self.environment, stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(done.stdout)[1]

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()


def main() -> None:
    """Print a table of medians and ratios."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.same_speed", description=__doc__)
    options.add_argument("revision", nargs="?", help="the git revision to compare the working tree with")
    options.add_argument("--repeats", type=int, default=7)
    options.add_argument("--answer", action="store_true", help="time the imported package")
    asked = options.parse_args()
    if asked.answer:
        answer()
        return
    if not asked.revision:
        options.error("name the revision to compare with.")
    with files_of(asked.revision) as folder:
        versions = {"before": Version(folder), "after": Version(ROOT)}
        names = [*versions["before"].names, "import after pyterrier"]
        times: dict[str, dict[str, list[float]]] = {name: {"before": [], "after": []} for name in names}
        for repeat in range(asked.repeats + 1):
            progress(f"round {repeat} of {asked.repeats}")
            for name in names:
                for which, version in versions.items():
                    taken = version.import_time() if name == names[-1] else version.lap(name)
                    if repeat:  # the first round warms up
                        times[name][which].append(taken)
        for version in versions.values():
            version.process.communicate()
    rows = []
    for name, of in times.items():
        before, after = statistics.median(of["before"]), statistics.median(of["after"])
        rows.append((name, seconds(before), seconds(after), f"{after / before:.2f}"))
    show([Table(f"Before ({asked.revision}) and after", ("what", "before", "after", "after / before"), rows)])


if __name__ == "__main__":
    main()
