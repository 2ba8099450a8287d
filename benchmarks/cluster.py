"""Time the evaluation of run files on Dask workers; with --kill, kill workers at random moments during it."""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pandas as pd
from dask.distributed import Client, LocalCluster

from benchmarks import large
from benchmarks.report import Table, keep, megabytes, progress, seconds, show
from pyterrier_cwla import evaluate
from pyterrier_cwla.evaluation import cluster

MEASURES = ("nDCG@10", "AP", "RR", "RBP(rel=1)", "ERR@20")


def main() -> None:
    """Run the benchmark with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=__doc__)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--queries", type=int, default=5000, help="queries per run, with 1000 documents each")
    parser.add_argument(
        "--workers", type=int, nargs="+", default=[1, 2], help="numbers of worker processes, with one thread each"
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--kill", type=int, metavar="TRIALS", help="kill a worker in each of this number of trials instead"
    )
    parser.add_argument("--data", type=Path, help="folder for the runs; by default a temporary one")
    parser.add_argument("--markdown", type=Path, help="write the tables to this Markdown file")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.data or Path(temporary)
        qrels = large.write(folder / "runs", chosen.runs, chosen.queries)
        progress(f"{chosen.runs * chosen.queries * large.DEPTH:,} rows are written")
        if chosen.kill:
            table = killed(qrels, folder / "runs", chosen.workers[-1], chosen.kill)
        else:
            table = speed(qrels, folder / "runs", chosen.workers, chosen.repeats)
    show([table])
    if chosen.markdown:
        keep(chosen.markdown, [table])


def speed(qrels: pd.DataFrame, runs: Path, workers: list[int], repeats: int) -> Table:
    """Time the same runs with each number of workers, with the processor time of workers and client."""
    rows, tables, alone = [], [], 0.0
    size = 0
    for number in workers:
        with _cluster(number) as client:
            size = len(cluster.evaluate(qrels, runs, MEASURES, by_query=True, client=client)) * large.DEPTH  # warm
            spent = []
            for _ in range(repeats):
                busy, own, start = _processor(client), time.process_time(), time.perf_counter()
                tables.append(cluster.evaluate(qrels, runs, MEASURES, client=client))
                spent.append((time.perf_counter() - start, time.process_time() - own, _processor(client) - busy))
            wall, client_time, worker_time = min(spent)
            alone = alone or wall
            peak, moved = _peak(client), _moved(client) / (repeats + 1)
        times, rate = f"{alone / wall:.2f}", f"{size / wall / 1e6:.2f}"
        spent_by = seconds(worker_time), seconds(client_time)
        rows.append((str(number), seconds(wall), times, rate, *spent_by, megabytes(peak), megabytes(moved)))
        progress(f"{number} workers: {rows[-1][1]}, load {os.getloadavg()[0]:.1f}")
    for table in tables[1:]:
        pd.testing.assert_frame_equal(table, tables[0], check_exact=True)
    notes = [
        f"{len(tables[0])} runs, {size:,} rows, {len(list(runs.iterdir()))} Parquet files; {', '.join(MEASURES)}.",
        f"Best of {repeats}, after one that is not counted; workers are processes of one thread. All tables are equal.",
        "The client's time includes the scheduler's, which is in its process.",
    ]
    columns = ("workers", "time", "times one", "million rows a second", "processor time of workers",
               "of client and scheduler", "most memory of a worker", "sent by workers")  # fmt: skip
    return Table("Dask workers", columns, rows, notes)


def killed(qrels: pd.DataFrame, runs: Path, workers: int, trials: int) -> Table:
    """Time evaluations during which a worker is killed at a seeded random moment, each on a new cluster."""
    rows, times = [], []
    expected = evaluate(qrels, runs, MEASURES)
    for seed in range(trials):
        rng = random.Random(seed)
        share, victim = rng.uniform(0, 0.9), rng.randrange(workers)
        with _cluster(workers) as client:
            cluster.evaluate(qrels, runs, MEASURES, client=client)  # import lazy modules
            start = time.perf_counter()
            cluster.evaluate(qrels, runs, MEASURES, client=client)
            times.append(time.perf_counter() - start)
            killer = threading.Timer(
                share * times[-1], os.kill, (list(client.run(os.getpid).values())[victim], SIGKILL)
            )
            start = time.perf_counter()
            killer.start()
            found = cluster.evaluate(qrels, runs, MEASURES, client=client)
            spent = time.perf_counter() - start
            when = "after its end" if killer.is_alive() else "meanwhile"
            killer.join()
        numbers = "equal" if found.equals(expected) else "DIFFERENT"
        rows.append((str(seed), f"{share:.0%}", when, seconds(times[-1]), seconds(spent), numbers))
        progress(" ".join(rows[-1]))
    columns = ("seed", "killed after so much of the usual time", "which was", "usual time", "time", "numbers")
    return Table("Killed workers", columns, rows, [f"{len(expected)} runs on {workers} workers, one of them killed."])


@contextmanager
def _cluster(workers: int) -> Iterator[Client]:
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0", local_directory=folder) as local,
        Client(local) as client,
    ):
        yield client


def _processor(client: Client) -> float:
    return sum(client.run(time.process_time).values())


def _peak(client: Client) -> float:
    import resource

    return max(client.run(lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss).values()) * 1024


def _moved(client: Client) -> float:
    """Bytes sent by workers to each other or to the client."""

    def sent(dask_worker: Any) -> int:
        return dask_worker.transfer_outgoing_bytes_total

    return sum(client.run(sent).values())


if __name__ == "__main__":
    main()
