"""Measure the start of commands and of imports, beside those of ir_measures, in fresh processes.

``python -m benchmarks.startup QRELS RUN`` times the help of both commands, the evaluation of one run by two measures,
and the imports. With ``--before REVISION``, it also times the package of a git revision.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.report import Table, keep, progress, seconds, show
from benchmarks.same_numbers import ROOT, files_of

OURS = "import sys; sys.argv[0] = 'pyterrier-cwla'; from pyterrier_cwla.cli.app import main; main()"
THEIRS = "import sys; sys.argv[0] = 'ir_measures'; from ir_measures.__main__ import main_cli; main_cli()"
MEASURES = ("nDCG@10", "AP")

Times = tuple[float, float]
"""Seconds on the clock, and seconds of the processor, of one process."""


def tasks(qrels: Path, run: Path) -> dict[str, dict[str, list[str]]]:
    """Return the arguments of Python by task and package."""
    files = [str(qrels.resolve()), str(run.resolve())]
    of_measures = [word for measure in MEASURES for word in ("-m", measure)]
    return {
        "help of the command": {"theirs": ["-c", THEIRS, "--help"], "ours": ["-c", OURS, "--help"]},
        f"scores by {' and '.join(MEASURES)}": {
            "theirs": ["-c", THEIRS, *files, *MEASURES],
            "ours": ["-c", OURS, "evaluate", *files, *of_measures],
        },
        "import": {"theirs": ["-c", "import ir_measures"], "ours": ["-c", "import pyterrier_cwla"]},
    }


def timed(arguments: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Times:
    """Return the times of one Python process that imports the package from a folder."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**environment, "PYTHONPATH": str(folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=True,
    )
    after, end = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    return end - start, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(qrels: Path, run: Path, repeats: int, folders: Mapping[str, Path]) -> Table:
    """Time all tasks in turn, each round in the opposite order; the first round compiles and is not counted."""
    given = [
        (task, which, arguments, folder)
        for task, of_package in tasks(qrels, run).items()
        for which, arguments, folder in [
            ("ir_measures", of_package["theirs"], ROOT),
            *((name, of_package["ours"], folder) for name, folder in folders.items()),
        ]
    ]
    found: dict[tuple[str, str], list[Times]] = {(task, which): [] for task, which, *_ in given}
    with tempfile.TemporaryDirectory() as compiled:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for repeat in range(repeats + 1):
            progress(f"round {repeat} of {repeats}")
            for task, which, arguments, folder in given if repeat % 2 else reversed(given):
                times = timed(arguments, folder, environment)
                if repeat:
                    found[task, which].append(times)
    rows = []
    medians = {one: [statistics.median(of) for of in zip(*times, strict=True)] for one, times in found.items()}
    for (task, which), (clock, processor) in medians.items():
        theirs = medians[task, "ir_measures"]
        ratios = [f"{mine / their:.2f}" for mine, their in zip((clock, processor), theirs, strict=True)]
        rows.append((task, which, seconds(clock), ratios[0], seconds(processor), ratios[1]))
    columns = ("what", "package", "clock", "ratio", "processor", "ratio")
    notes = [f"Medians of {repeats} processes, in turn; ratios to ir_measures. Modules are compiled before."]
    return Table("Start", columns, rows, notes)


def main() -> None:
    """Run the benchmark with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.startup", description=__doc__)
    parser.add_argument("qrels", type=Path)
    parser.add_argument("run", type=Path)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--before", metavar="REVISION", help="also time this git revision")
    parser.add_argument("--markdown", type=Path, help="write the table to this Markdown file")
    chosen = parser.parse_args()
    with ExitStack() as stack:
        folders = {"pyterrier_cwla": ROOT}
        if chosen.before:
            folders = {f"pyterrier_cwla, {chosen.before}": stack.enter_context(files_of(chosen.before)), **folders}
        table = measure(chosen.qrels, chosen.run, chosen.repeats, folders)
    show([table])
    if chosen.markdown:
        keep(chosen.markdown, [table])


if __name__ == "__main__":
    main()
