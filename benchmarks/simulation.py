"""Time the simulation of users: many users of one ranking, and fewer users of all rankings of real runs."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import Table, keep, progress, seconds, show
from pyterrier_cwla import TBG
from pyterrier_cwla.behaviour.simulation.expectations import prefer
from pyterrier_cwla.behaviour.simulation.simulator import simulate
from pyterrier_cwla.files.formats import find_runs, read_qrels, read_run

DATA = Path(os.environ.get("PYTERRIER_CWLA_DATA", Path(__file__).parents[2] / "shared" / "data"))
READINGS = ("fixed", "exponential", "gamma(2)", "lognormal(0.8)")
OTHERS = ("RBP(rel=1,p=0.8)", "AP", "ERR@20", "INST(T=2,max_rel=1)")


def main() -> None:
    """Run the benchmark with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.simulation", description=__doc__)
    parser.add_argument("--users", type=int, default=1_000_000, help="users of the single ranking")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--markdown", type=Path, help="write the tables to this Markdown file")
    chosen = parser.parse_args()
    tables = [one_ranking(chosen.users, chosen.repeats)]
    if (DATA / "dl19").is_dir():
        tables.append(real_runs(DATA / "dl19"))
    show(tables)
    if chosen.markdown:
        keep(chosen.markdown, tables)


def one_ranking(users: int, repeats: int) -> Table:
    """Time users of one ranking: 100 documents of 50 to 1,500 words, 30 % relevant."""
    rng = np.random.default_rng(1)
    names = [f"d{i}" for i in range(100)]
    qrels = {"q": {name: int(rng.random() < 0.3) for name in names}}
    run = {"q": {name: -float(i) for i, name in enumerate(names)}}
    measure = TBG(lengths={name: float(rng.integers(50, 1500)) for name in names})
    rows = []
    for name, what, reading in [*(("TBG", measure, one) for one in READINGS), *((one, one, "fixed") for one in OTHERS)]:
        call = partial(simulate, qrels, run, what, users, reading=reading, progress=False)
        spent, found = _timed(call, repeats)
        row = found.by_query.iloc[0]
        said = reading if name == "TBG" else ""
        items = f"{row['items']:.1f}" if np.isfinite(row["items"]) else ""
        rows.append((name, said, f"{users:,}", items, seconds(spent), f"{users / spent / 1e6:.2f}"))
        progress(f"{name} {said}: {rows[-1][4]}")
    notes = [
        "One ranking of 100 documents, three in ten relevant, 50 to 1,500 words each; one process, one thread.",
        f"Smallest processor time of {repeats} calls; with mean, deviation and five quantiles of gain, time, items"
        " and score.",
    ]
    return Table(
        "Simulated users", ("measure", "reading", "users", "items seen", "time", "million users a second"), rows, notes
    )


def real_runs(folder: Path) -> Table:
    """Time users of all runs and topics of TREC 2019 deep learning (passages)."""
    runs = {path.stem: read_run(path) for path in find_runs(folder / "runs")}
    qrels = read_qrels(folder / "qrels.txt")
    measure = TBG(lengths=folder / "doclens.tsv", missing="mean")
    two = dict(list(runs.items())[:2])
    rows = []
    work: list[tuple[str, int, Callable[[], Any]]] = [
        ("simulate", len(runs), lambda: simulate(qrels, runs, measure, reading="exponential", progress=False)),
        ("prefer", 2, lambda: prefer(qrels, two, measure, reading="exponential", progress=False)),
    ]
    for name, many, call in work:
        spent, _ = _timed(call, 1)
        rows.append((name, str(many), "43", "10,000", seconds(spent)))
        progress(f"{name}: {rows[-1][4]}")
    notes = ["TBG, exponential reading times; TREC 2019 deep learning passages, five runs to depth 100, one to 1,000.",
             "Processor time of one process, one thread."]  # fmt: skip
    return Table("Simulated users on dl19", ("call", "runs", "topics", "users on each", "time"), rows, notes)


def _timed(call: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Smallest processor time of several calls, and the result of the last call."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        found = call()
        times.append(time.process_time() - start)
    return min(times), found


if __name__ == "__main__":
    main()
