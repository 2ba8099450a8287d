"""Compare the speed of two versions of the package in one run.

``python -m benchmarks.same_speed REVISION`` times a git revision and the working tree in turn: the tables of six and
fifteen measures through the provider, ``evaluate``, ``pt.Experiment``, and the import. It prints medians and ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.imports import CHILD
from benchmarks.report import Table, progress, seconds, show
from benchmarks.same_numbers import ROOT, files_of


def laps() -> dict[str, Callable[[], float]]:
    """Return the laps by name: functions that return their time in seconds."""
    from benchmarks import workloads
    from benchmarks.experiment import _experiment, _one_evaluator
    from benchmarks.peers import OURS_ONLY, SETS, ours
    from benchmarks.workloads import RUN_COLUMNS, Workload
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

    return {
        f"{measures} measures, provider, {size}": of_provider(workload, measures)
        for measures in ("six", "fifteen")
        for size, workload in (("one run of 50 queries", small), ("one run of 6,980 queries", large))
    } | {
        "six measures, evaluate, 20 runs": of_evaluate,
        "three measures, pt.Experiment, 20 runs": lambda: _experiment(
            list(OURS_ONLY), many.fresh([*RUN_COLUMNS, "doc_length"])
        ),
    }


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
