"""Compare runs streamed from files with the same runs in memory: time, memory, and all values."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from benchmarks import large
from benchmarks.report import Table, keep, megabytes, progress, show

MEASURES = ["nDCG@10", "AP", "RR", "RBP(rel=1)", "ERR@20", "INST(max_rel=1)"]
COLLECTIONS = {"100,000 documents": 49_999, "8.8 million documents": 4_420_903}
ROW_GROUP = 1 << 22


def main() -> None:
    """Run the benchmark with the options of the command line."""
    chosen = _arguments()
    if chosen.one:
        print(json.dumps(_measured(chosen.one, chosen.folder, Path(chosen.scores))))
        return
    with tempfile.TemporaryDirectory() as folder:
        tables = [
            _table(name, prime, chosen.folder or Path(folder), chosen)
            for name, prime in COLLECTIONS.items()
            if name.split()[0] not in chosen.skip
        ]
    show(tables)
    if chosen.markdown:
        keep(chosen.markdown, tables)


def _table(name: str, prime: int, folder: Path, chosen: argparse.Namespace) -> Table:
    """Fastest times in memory and streamed, measured in turn for each size."""
    rows, each = [], {}
    for queries in chosen.queries:
        where = folder / f"{prime}_{queries}"
        if not (where / "qrels.parquet").exists():
            progress(f"{name}: writing {chosen.runs * queries * large.DEPTH:,} rows")
            qrels = large.write(where / "runs", chosen.runs, queries, row_group=chosen.row_group, prime=prime)
            qrels.to_parquet(where / "qrels.parquet")
        laps: dict[str, list[dict]] = {"memory": [], "stream": [], "stream, all cores": []}
        for repeat in range(chosen.repeats):
            for how, found in laps.items():
                found.append(_in_own_process(how, where))
                progress(f"{name} {queries:,} queries {repeat + 1}/{chosen.repeats}: {how} {found[-1]}")
        equal = _same(where / "memory.parquet", where / "stream.parquet")
        best = {how: min(found, key=lambda lap: lap["cpu"]) for how, found in laps.items()}
        peak = max(lap["peak"] for lap in laps["stream"])
        ns = {how: lap["cpu"] / lap["rows"] * 1e9 for how, lap in best.items()}
        fastest = min(lap["wall"] / lap["rows"] * 1e9 for lap in laps.pop("stream, all cores"))
        each[queries] = ns["stream"]
        rows.append(
            (
                f"{best['stream']['rows']:,}",
                *(f"{ns[how]:.1f} ns" for how in laps),
                *(f"{1e3 / ns[how]:.1f} million" for how in laps),
                f"{ns['memory'] / ns['stream']:.0%}",
                f"{fastest:.1f} ns",
                f"{ns['memory'] / fastest:.0%}",
                f"{best['stream']['wall']:.1f} s",
                megabytes(peak),
                f"{each[queries] / each[chosen.queries[0]]:.2f}",
                f"{equal:,}",
            )
        )
    columns = (
        *("rows", "in memory, a row", "streamed, a row", "in memory, rows a second", "streamed, rows a second"),
        *("of the rate in memory", "streamed on all cores, a row", "of the rate in memory, all cores"),
        *("streamed, in all", "peak of the whole process", "a row, times the first"),
        "values equal to the last bit",
    )
    notes = [
        f"{chosen.runs} runs, a Parquet file each with row groups of {chosen.row_group:,} rows and pyarrow's defaults"
        f" otherwise, of queries with {large.DEPTH:,} documents each, out of {name}; {', '.join(MEASURES)}.",
        "One core, each measurement in a separate process, the fastest of"
        f' {chosen.repeats}; CPU seconds, except wall-clock seconds in the columns "on all cores" and "in all".'
        " On a second core, a thread reads the next rows while rows are scored.",
        "In memory: from pandas frames, one run after the other, without reading. Streamed: from the files in the"
        " system's cache to the scores of all queries; query ids are read twice, and all documents are checked for"
        " duplicates, which is not done in memory.",
    ]
    return Table(f"Streamed, {name}", columns, rows, notes)


def _in_own_process(how: str, where: Path) -> dict:
    command = [sys.executable, "-m", "benchmarks.streaming", "--one", how, "--folder", str(where)]
    command += ["--scores", str(where / f"{how}.parquet")]
    root = Path(__file__).parent.parent
    return json.loads(subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, check=True).stdout)


def _measured(how: str, where: Path, scores: Path) -> dict:
    """Evaluate once, on one core unless on all, and write all scores; return rows, seconds and peak memory."""
    import pyarrow as pa

    if "all cores" not in how:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        pa.set_cpu_count(1)
        pa.set_io_thread_count(1)
    from pyterrier_cwla import evaluate

    qrels = pd.read_parquet(where / "qrels.parquet")
    with tempfile.TemporaryDirectory() as folder:  # import lazy modules before timing
        few = large.write(Path(folder), 1, 2)
        evaluate(few, Path(folder) / "run0.parquet", MEASURES)
        evaluate(few, pd.read_parquet(Path(folder) / "run0.parquet"), MEASURES)
    files = sorted((where / "runs").iterdir())
    rows = sum(pa.parquet.read_metadata(file).num_rows for file in files)
    cpu = wall = 0.0
    found = []
    for runs in _frames(files) if how == "memory" else [where / "runs"]:
        started = time.process_time(), time.perf_counter()
        found.append(evaluate(qrels, runs, MEASURES, by_query=True))
        cpu, wall = cpu + time.process_time() - started[0], wall + time.perf_counter() - started[1]
    peak = _peak()
    pd.concat(found).to_parquet(scores)
    return {"rows": rows, "cpu": cpu, "wall": wall, "peak": peak}


def _frames(files: list[Path]) -> Iterator[dict[str, pd.DataFrame]]:
    for file in files:
        yield {file.stem: pd.read_parquet(file)}


def _peak() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) * 1024


def _same(one: Path, other: Path) -> int:
    """Return the number of values in both files, which must be equal to the last bit."""
    tables = pd.read_parquet(one), pd.read_parquet(other)
    pd.testing.assert_frame_equal(*tables, check_exact=True)
    return tables[0].size


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streaming", description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument(
        "--queries", type=int, nargs="+", default=[1000, 10_000], help="queries per run, one number per size"
    )
    parser.add_argument("--row-group", type=int, default=ROW_GROUP, help="rows of a row group")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--skip", nargs="*", default=[], help="collections to leave out: 100,000 or 8.8")
    parser.add_argument("--folder", type=Path, help="folder for the runs, which are reused: 3 GB for 100 million rows")
    parser.add_argument("--markdown", type=Path, help="write the tables to this Markdown file")
    parser.add_argument("--one", choices=("memory", "stream", "stream, all cores"), help=argparse.SUPPRESS)
    parser.add_argument("--scores", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
