"""Measures in a process of its own by how much evaluating M raises the memory peak above the loaded frames."""

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
    """Bytes of the frames and bytes above them at the peak; None where the system keeps no such mark (not Linux)."""
    command = [sys.executable, "-m", "benchmarks.memory", contestant, measures, "--seed", str(seed)]
    root = Path(__file__).parent.parent
    answer = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    return (int(answer[0]), int(answer[1])) if answer else None


def main() -> None:
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
    """By how many bytes the memory peak rises while this works; None where the system keeps no such mark."""
    _give_back()
    try:
        RESET.write_text("5")
    except OSError:
        return None
    before = _status("VmRSS")
    work()
    return _status("VmHWM") - before


def _give_back() -> None:
    """Returns what building the frames left free to the system, so that it cannot be used again unnoticed."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)


def _status(field: str) -> int:
    (line,) = (line for line in STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    main()
