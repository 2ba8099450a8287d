"""Time each way to evaluate with 1, 8 and 64 times the work, to see where the time is not proportional to it."""

from __future__ import annotations

import argparse
import gc
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pyterrier as pt
from ir_measures import parse_measure

from benchmarks import experiment, large, small, workloads
from benchmarks.report import Table, brief, keep, progress, show
from pyterrier_cwla import TBG, evaluate, score
from pyterrier_cwla.behaviour.simulation.simulator import simulate
from pyterrier_cwla.learning.lambdamart import LambdaMART
from pyterrier_cwla.learning.scorers import scorer

FACTORS = (1, 8, 64)
MEASURES = ["nDCG@10", "AP", "RR", "RBP(rel=1)", "ERR@20", "INST(max_rel=3)"]
Call = Callable[[], Any]


def main() -> None:
    """Run the benchmark with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=[], help="words that occur in the entries to measure")
    parser.add_argument("--markdown", type=Path, help="write the table to this Markdown file")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table = growth(Path(folder), chosen.repeats, chosen.only)
    show([table])
    if chosen.markdown:
        keep(chosen.markdown, [table])


def growth(folder: Path, repeats: int, only: list[str]) -> Table:
    """Measure all entries, or those with one of the words in their name."""
    rows = []
    for name, unit, least, make in Entries(folder).all():
        if only and not any(word in name for word in only):
            continue
        each = [_median(make(least * factor), repeats) / (least * factor) for factor in FACTORS]
        last = f"{each[-1] / each[1]:.2f}"
        rows.append((name, f"{least:,}, {8 * least:,}, {64 * least:,} {unit}", *map(brief, each), last))
        progress(" | ".join(rows[-1]))
    columns = ("entry", "work", "a unit, 1 times", "8 times", "64 times", "64 times over 8 times")
    notes = [
        f"Medians of {repeats} calls; processor time divided by the units of work.",
        "The first column of times contains the fixed cost of a call; the last column is 1 where time is proportional.",
        f"Frames and files: {', '.join(MEASURES)}. Dicts: {', '.join(small.MEASURES)}.",
        "Scorer: the same labels at each call, as in a search, whose rows are prepared once (up to a million values).",
    ]
    return Table("Growth of each entry", columns, rows, notes)


class Entries:
    """Entries to measure; files are written to a folder, and generated data is cut from the largest.

    Parameters
    ----------
    folder : Path
        Folder for files.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def all(self) -> Iterator[tuple[str, str, int, Callable[[int], Call]]]:
        """Yield the name of each entry, its unit of work, the least work, and a function from the work to a call."""
        yield "frames, M", "queries of 1,000", 100, self.frame
        yield "dicts, many small runs", "runs of 10 × 10", 250, self.dicts
        yield "score of a matrix, inst/erg", "lists of 40", 1000, self.matrix
        yield "TREC files", "files of 5,000 lines", 1, self.trec
        yield "one Parquet file, by run", "runs of 5,000", 1, self.parquet
        yield "one Parquet file, streamed", "queries of 1,000", 200, self.streamed
        yield "pt.Experiment", "runs of 50,000", 1, self.experiment
        yield "scikit-learn scorer, AP", "queries of 100", 40, self.scorer
        yield "LambdaMART, gradients of ERR", "queries of 100", 25, self.lambdas
        yield "simulated users, TBG", "users", 15_625, self.users

    @cached_property
    def _m(self) -> workloads.Workload:
        return workloads.build("M", 1)

    @cached_property
    def _l(self) -> workloads.Workload:
        return workloads.build("L", 1).first(runs=FACTORS[-1])

    def frame(self, queries: int) -> Call:
        """Evaluate a run in a frame."""
        some = self._m.first(queries=queries)
        return lambda: evaluate(some.qrels, some.runs[0], MEASURES)

    def dicts(self, runs: int) -> Call:
        """Evaluate runs in dicts."""
        return partial(evaluate, *small.made(runs), small.MEASURES)

    def matrix(self, lists: int) -> Call:
        """Score a matrix of gains."""
        gains = np.random.default_rng(0).random((lists, 40)).round(1)
        return lambda: score(gains, C="inst(2)", A="erg")

    def trec(self, files: int) -> Call:
        """Evaluate TREC files with five queries each."""
        options = pa.csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
        some = self._l.first(queries=5, runs=files)
        paths = [self.folder / f"run{number}.txt" for number in range(files)]
        for path, run in zip(paths, some.runs):
            fields = run.assign(Q0="Q0", rank=range(len(run)), run=path.stem)
            lines = pa.Table.from_pandas(fields[["query_id", "Q0", "doc_id", "rank", "score", "run"]])
            pa.csv.write_csv(lines.replace_schema_metadata(), path, options)
        return lambda: evaluate(some.qrels, paths, MEASURES)

    def parquet(self, runs: int) -> Call:
        """Evaluate a Parquet file of runs with five queries each."""
        some = self._l.first(queries=5, runs=runs)
        path = self.folder / f"{runs}.parquet"
        pd.concat([run.assign(run=f"run{number}") for number, run in enumerate(some.runs)]).to_parquet(path)
        return lambda: evaluate(some.qrels, path, MEASURES)

    def streamed(self, queries: int) -> Call:
        """Evaluate a large file table by table."""
        qrels = large.write(self.folder / f"large{queries}", 1, queries)
        return lambda: evaluate(qrels, self.folder / f"large{queries}", MEASURES)

    def experiment(self, runs: int) -> Call:
        """Evaluate frames in an experiment of PyTerrier."""
        results, topics, qrels = experiment.as_pyterrier(self._l.first(runs=runs))
        names = [f"run {number}" for number in range(runs)]
        measures = [parse_measure("CWLA(C='inst(1)',A='max',max_rel=3)")]
        return lambda: pt.Experiment(results, topics, qrels, measures, names=names)

    def scorer(self, queries: int) -> Call:
        """Score predictions."""
        from benchmarks.scoring import Known

        rng = np.random.default_rng(0)
        qid = np.repeat(np.arange(queries), 100)
        y = pd.Series(rng.integers(0, 2, len(qid)), pd.Index(qid.astype(str), name="qid"))
        return partial(scorer("AP"), Known(rng.random(len(y))), np.zeros((len(y), 1)), y)

    def lambdas(self, queries: int) -> Call:
        """Compute the gradients of LambdaMART."""
        rng = np.random.default_rng(0)
        y, predicted, group = rng.integers(0, 5, 100 * queries), rng.random(100 * queries), np.full(queries, 100)
        return lambda: LambdaMART("ERR", truncation_level=30).gradients(y, predicted, group)

    def users(self, number: int) -> Call:
        """Simulate users of one ranking of 100 documents."""
        qrels, run = {"q": {f"d{i}": int(i % 3 == 0) for i in range(100)}}, {"q": {f"d{i}": -i for i in range(100)}}
        measure = TBG(lengths={f"d{i}": 50 + 10 * i for i in range(100)})
        return partial(simulate, qrels, run, measure, number, progress=False)


def _median(call: Call, repeats: int) -> float:
    call()
    times = []
    for _ in range(repeats):
        gc.collect()
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return statistics.median(times)


if __name__ == "__main__":
    main()
