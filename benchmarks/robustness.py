"""Measure time and memory of the study of incomplete judgments on all runs of TREC-COVID round 1."""

from __future__ import annotations

import argparse
import os
import threading
import time
from pathlib import Path

from benchmarks.report import Table, keep, megabytes, progress, seconds, show
from pyterrier_cwla.files.formats import find_runs, read_qrels, read_run
from pyterrier_cwla.studies.incomplete_judgments.robustness_study import MEASURES, robustness

DATA = Path(os.environ.get("PYTERRIER_CWLA_DATA", Path(__file__).parents[2] / "shared" / "data")) / "trec-covid-r1"
ALL = {**MEASURES, "RBP(rel=1)": "RBP(rel=1)", "ERR": "ERR", "INST": "INST(max_rel=2)"}


def main() -> None:
    """Run the benchmark with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.robustness", description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--markdown", type=Path, help="write the table to this Markdown file")
    chosen = parser.parse_args()
    if not DATA.is_dir():
        parser.error(f"no runs at {DATA}. Set PYTERRIER_CWLA_DATA to the folder of the data.")
    tables = [studied(chosen.seeds, chosen.pairs, chosen.jobs)]
    show(tables)
    if chosen.markdown:
        keep(chosen.markdown, tables)


def studied(seeds: int, pairs: int, jobs: list[int]) -> Table:
    """Time the whole study with and without tests of pairs, for each number of processes."""
    qrels = read_qrels(DATA / "qrels.txt")
    runs = {path.name.removesuffix(".gz"): read_run(path) for path in find_runs(DATA / "runs")}
    rows = []
    for number in jobs:
        for tested in (0, pairs):
            with _Memory() as memory:
                start = time.perf_counter()
                found = robustness(
                    qrels, runs, ALL, seeds=seeds, pairs=tested, complete=None, progress=False, n_jobs=number
                )
                spent = time.perf_counter() - start
            rows.append((str(number), f"{tested:,}", seconds(spent), megabytes(memory.peak) if memory.peak else ""))
            progress(f"{number} processes, {tested} pairs: {rows[-1][2]}")
    levels = len(found.about["levels"])
    notes = [
        f"{len(runs)} runs, {found.about['queries']} topics, {len(ALL)} measures, {levels} levels of judgments, {seeds}"
        f" seeds, {found.about['resamples']} resamples of topics.",
        "Memory: the highest sum of resident memory of all processes, including the runs; sampled every 0.1 s.",
    ]
    return Table("Robustness to incomplete judgments", ("processes", "pairs of runs", "time", "memory"), rows, notes)


class _Memory:
    """Peak memory of this process and its children, in bytes; 0 on systems without /proc (not Linux)."""

    def __enter__(self) -> _Memory:
        self.peak, self._done = 0, threading.Event()
        self._watch = threading.Thread(target=self._look)
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._watch.join()

    def _look(self) -> None:
        while not self._done.wait(0.1):
            self.peak = max(self.peak, _resident(os.getpid()))


def _resident(process: int) -> int:
    """Resident memory of a process and its descendants, in bytes."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
        children = [
            child
            for task in Path(f"/proc/{process}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(_resident(int(child)) for child in children)


if __name__ == "__main__":
    main()
