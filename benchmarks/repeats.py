"""Time the check for duplicate documents in an evaluation, optionally also for another checkout."""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks import workloads
from benchmarks.report import Table, keep, progress, seconds, show
from benchmarks.workloads import RUN_COLUMNS

MEASURES = ("AP", "nDCG@10", "RR")
IDS = ("strings", "a dictionary")
_HERE = Path(__file__).parents[1]


def main() -> None:
    """Run the benchmark with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.repeats", description=__doc__)
    parser.add_argument("--before", type=Path, help="another checkout, timed in turn with this one")
    parser.add_argument("--queries", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=21)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--markdown", type=Path, help="write the table to this Markdown file")
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.answer:
        _answer(chosen.queries, chosen.seed)
        return
    table = measure(chosen.before, chosen.queries, chosen.repeats, chosen.seed)
    show([table])
    if chosen.markdown:
        keep(chosen.markdown, [table])


def measure(before: Path | None, queries: int, repeats: int, seed: int) -> Table:
    """Time all ways in turn, each checkout in a separate process."""
    folders = {"before": before, "now": _HERE} if before else {"now": _HERE}
    processes = {name: _process(folder, queries, seed) for name, folder in folders.items()}
    ways = [(ids, name, check) for ids in IDS for name in folders for check in (False, True)]
    times: dict[tuple[str, str, bool], list[float]] = {way: [] for way in ways}
    for repeat in range(-1, repeats):  # the first round warms up
        for ids, name, check in ways:
            taken = _asked(processes[name], ids, check)
            if repeat >= 0:
                times[ids, name, check].append(taken)
        progress(f"round {repeat + 1}/{repeats}")
    for process in processes.values():
        process.communicate()
    rows = []
    for ids, name, check in ways:
        first = times[ids, next(iter(folders)), False]
        ratio = statistics.median(a / b for a, b in zip(times[ids, name, check], first, strict=True))
        own = statistics.median(a / b for a, b in zip(times[ids, name, check], times[ids, name, False], strict=True))
        mine = times[ids, name, check]
        found = seconds(statistics.median(mine)), seconds(min(mine)), f"{ratio:.2f}", f"{own:.2f}"
        rows.append((ids, name, "all repeats" if check else "check=False", *found))
    notes = [
        f"{', '.join(MEASURES)} of M's first {queries:,} queries, {queries * workloads.DEPTH:,} rows, from frames to"
        f" means; seconds of the processor, {repeats} rounds, medians of ratios within a round.",
        "All repeats: all documents of all rankings are checked.",
        "Every evaluation also counts how much of the top ten is judged, and warns where nothing is:"
        f" {_overlap(queries, seed) * 1e6:.0f} µs.",
    ]
    columns = ("ids", "package", "search", "median", "fastest", "times the first", "times check=False")
    return Table("Repeated documents", columns, rows, notes)


def _overlap(queries: int, seed: int) -> float:
    """Seconds to count the judged documents in the top ten of an aligned run."""
    from pyterrier_cwla.measures.provider import prepare

    workload = workloads.build("M", seed).first(queries=queries)
    judgments = prepare(workload.qrels)
    rows = judgments.rows(workload.runs[0])
    judgments.rankings(rows)
    times = []
    for _ in range(50):
        start = time.process_time()
        assert judgments.overlaps(rows)[0].top
        times.append(time.process_time() - start)
    return min(times)


def _process(folder: Path, queries: int, seed: int) -> subprocess.Popen[str]:
    """Process with the package of a checkout and the workloads of this one."""
    paths = (
        f"import sys; sys.path.insert(0, {str(folder)!r}); import pyterrier_cwla; sys.path.insert(0, {str(_HERE)!r})"
    )
    code = f"{paths}; from benchmarks import repeats; repeats.main()"
    arguments = ["--answer", "--queries", str(queries), "--seed", str(seed)]
    command, pipe = [sys.executable, "-c", code, *arguments], subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, stdin=pipe, stdout=pipe, text=True)


def _asked(process: subprocess.Popen[str], ids: str, check: bool) -> float:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps([ids, check]) + "\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def _answer(queries: int, seed: int) -> None:
    """Time the evaluation that each line of standard input describes, on new buffers."""
    from pyterrier_cwla import evaluate

    workload = workloads.build("M", seed).first(queries=queries)
    for line in sys.stdin:
        ids, check = json.loads(line)
        fresh = workload.fresh(RUN_COLUMNS)
        (run,) = fresh.runs
        if ids != "strings":
            run = run.astype({"query_id": "category", "doc_id": "category"})
        start = time.process_time()
        evaluate(fresh.qrels, run, MEASURES, check=check)
        print(time.process_time() - start, flush=True)


if __name__ == "__main__":
    main()
