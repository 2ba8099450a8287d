"""Measure the memory peak of the evaluation of M above its loaded DataFrames, in a separate process."""

from __future__ import annotations

import argparse
import ctypes
import gc
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from benchmarks import peers, workloads

STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def measure(contestant: str, measures: str, seed: int) -> tuple[int, int] | None:
    """Return the bytes of the DataFrames and the peak above them; None on systems without VmHWM (not Linux)."""
    command = [sys.executable, "-m", "benchmarks.memory", contestant, measures, "--seed", str(seed)]
    root = Path(__file__).parent.parent
    answer = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    return (int(answer[0]), int(answer[1])) if answer else None


def main() -> None:
    """Print the two numbers of bytes for one contestant."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("contestant")
    parser.add_argument("measures", choices=peers.SETS)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()

    everyone = [peers.ours()] if chosen.contestant == "ours" else peers.peers()
    (contestant,) = (c for c in everyone if c.name == chosen.contestant)
    names = contestant.of(peers.SETS[chosen.measures])
    columns = [*workloads.RUN_COLUMNS, *(["doc_length"] if "TBG" in names else [])]
    warm = workloads.build("S", chosen.seed).fresh(columns)
    contestant.prepare(names, warm.qrels)(warm.runs[0])
    workload = workloads.build("M", chosen.seed).fresh(columns)
    peak = peak_above(lambda: contestant.prepare(names, workload.qrels)(workload.runs[0]))
    if peak is not None:
        print(int(workload.runs[0].memory_usage(deep=True).sum()), peak)


def peak_above(work: Callable[[], object]) -> int | None:
    """Return the growth of the memory peak, in bytes, during a call; None on systems without VmHWM."""
    _give_back()
    try:
        RESET.write_text("5")
    except OSError:
        return None
    before = _status("VmRSS")
    work()
    return _status("VmHWM") - before


def _give_back() -> None:
    """Return free memory to the system; otherwise its reuse would hide a part of the peak."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)


def _status(field: str) -> int:
    (line,) = (line for line in STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    main()
