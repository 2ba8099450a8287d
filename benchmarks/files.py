"""Compare the evaluation of files with that of the same runs in memory, and with reading the files alone."""

from __future__ import annotations

import argparse
import gc
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet

from benchmarks.report import Table, keep, progress, seconds, show
from benchmarks.tuning import DATA as VASWANI
from pyterrier_cwla import evaluate

DATA = VASWANI.parent
MEASURES = ["nDCG@10", "AP", "RR", "RBP(rel=1)", "ERR@20", "INST(max_rel=2)"]


def main() -> None:
    """Run the benchmark with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.files", description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--markdown", type=Path, help="write the tables to this Markdown file")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tables = [trec_files(chosen.repeats), parquet_files(Path(folder), chosen.repeats)]
    show(tables)
    if chosen.markdown:
        keep(chosen.markdown, tables)


def trec_files(repeats: int) -> Table:
    """Compare the evaluation of compressed TREC files with reading them by pyarrow's CSV reader."""
    files, qrels = sorted((DATA / "trec-covid-r1" / "runs").iterdir()), DATA / "trec-covid-r1" / "qrels.txt"

    def read() -> None:
        names = pa.csv.ReadOptions(autogenerate_column_names=True)
        for file in files:
            pa.csv.read_csv(file, names, pa.csv.ParseOptions(delimiter=" "))

    ways = {"pyarrow reads the fields": read, "evaluate(qrels, files)": lambda: evaluate(qrels, files, MEASURES)}
    return _compared(f"{len(files)} TREC files, gzip", ways, repeats, [f"Measures: {', '.join(MEASURES)}."])


def parquet_files(folder: Path, repeats: int) -> Table:
    """Compare the evaluation of one Parquet file with many runs, in two orders of rows, with that of frames."""
    qrels, given = DATA / "trec8" / "qrels.txt.gz", pa.parquet.read_table(DATA / "trec8" / "runs.parquet")
    by_run, by_query = folder / "by_run.parquet", folder / "by_query.parquet"
    pa.parquet.write_table(given.sort_by("run"), by_run)
    ordered = given.sort_by([("query_id", "ascending"), ("run", "ascending")])
    with pa.parquet.ParquetWriter(by_query, ordered.schema) as file:
        for query in ordered["query_id"].unique().to_pylist():
            file.write_table(ordered.filter(pa.compute.equal(ordered["query_id"], query)))
    frames = {name: pd.DataFrame(rows) for name, rows in given.to_pandas().groupby("run")}
    ways: dict[str, Callable[[], object]] = {
        "frames in memory": lambda: evaluate(qrels, frames, MEASURES),
        "file sorted by run": lambda: evaluate(qrels, by_run, MEASURES),
        "file sorted by query and run, a row group for each query": lambda: evaluate(qrels, by_query, MEASURES),
    }
    title = f"One Parquet file with {len(frames)} runs, {len(given):,} rows"
    return _compared(title, ways, repeats, [f"Measures: {', '.join(MEASURES)}."])


def _compared(title: str, ways: dict[str, Callable[[], object]], repeats: int, notes: list[str]) -> Table:
    times: dict[str, list[float]] = {way: [] for way in ways}
    for repeat in range(repeats):
        for way, run in ways.items():
            gc.collect()
            start = time.process_time()
            run()
            times[way].append(time.process_time() - start)
            progress(f"{repeat + 1}/{repeats}: {way} {seconds(times[way][-1])}")
    medians = {way: statistics.median(taken) for way, taken in times.items()}
    base = next(iter(medians.values()))
    rows = [(way, seconds(median), f"{median / base:.2f}") for way, median in medians.items()]
    return Table(title, ("way", "CPU time", "times the first"), rows, [*notes, f"Medians of {repeats}."])


if __name__ == "__main__":
    main()
