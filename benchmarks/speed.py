"""Compare the evaluation time of this package and its peers, from DataFrames to mean values."""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks import memory, workloads
from benchmarks.peers import SETS, SIX, Contestant, Means, ours, peers
from benchmarks.report import Table, keep, megabytes, progress, seconds, show
from benchmarks.workloads import RUN_COLUMNS, Workload

PARTS = {("ir_measures", "fifteen", "M"): {"queries": 500}, ("ir_measures", "fifteen", "L"): {"runs": 5}}
WARM_QUERIES = 200
LARGER = 8


@dataclass
class Lap:
    """Times of one contestant, scaled to the whole workload, and its mean values for the first run."""

    names: list[str]
    part: str
    times: list[float] = field(default_factory=list)
    means: Means = field(default_factory=dict)
    apart: str = ""

    @property
    def median(self) -> float:
        """Median time in seconds."""
        return statistics.median(self.times)


def main() -> None:
    """Run the benchmark with the options of the command line."""
    chosen = _arguments()
    rivals = [c for c in peers() if c.name in chosen.peers]
    us = None if chosen.peers_only else ours()
    tables: list[Table] = []
    medians: dict[tuple[str, str, str], float] = {}
    for name in chosen.workloads:
        progress(f"building {name}")
        workload = workloads.build(name, chosen.seed)
        for measures in chosen.sets:
            table, laps = compare(workload, measures, us, rivals, chosen.repeats, chosen.patience)
            tables.append(table)
            medians |= {(name, measures, who): lap.median for who, lap in laps.items()}
        if name == "M" and "floor" not in chosen.skip:
            tables.append(_floor_table(workload, medians.get(("M", "six", "ours")), chosen.repeats))
        del workload
    if us and "M" in chosen.workloads and "linearity" not in chosen.skip:
        tables.append(_linearity_table(us, chosen.seed, chosen.repeats))
    if "M" in chosen.workloads and "memory" not in chosen.skip:
        tables.append(_memory_table([c for c in (us, *rivals) if c and c.name in ("ours", "pytrec_eval")], chosen))
    show(tables)
    if chosen.markdown:
        keep(chosen.markdown, tables)


def compare(
    workload: Workload,
    measures: str,
    us: Contestant | None,
    rivals: Sequence[Contestant],
    repeats: int,
    patience: float,
) -> tuple[Table, dict[str, Lap]]:
    """Time all contestants in turn for one workload and set of measures.

    Contestants slower than `patience` seconds are timed once, the others `repeats` times.
    """
    beyond = [c for c in rivals if measures == "six" or set(c.of(SETS[measures])) - set(SIX)]
    everyone = [c for c in (us, *beyond) if c]
    for contestant in everyone:
        if contestant.needs_warming:
            progress(f"{workload.name} {measures}: warming {contestant.name}")
            few = workload.first(queries=WARM_QUERIES, runs=1).fresh()
            _clock(contestant, contestant.of(SETS[measures]), few)
    laps: dict[str, Lap] = {}
    racing = everyone
    for repeat in range(repeats):
        for contestant in racing:
            lap = _lap(contestant, workload, measures, laps)
            progress(f"{workload.name} {measures} {repeat + 1}/{repeats}: {contestant.name} {seconds(lap.times[-1])}")
        racing = [c for c in racing if laps[c.name].times[-1] <= patience and not laps[c.name].part]
    if us:
        for contestant in beyond:
            part = PARTS.get((contestant.name, measures, workload.name), {})
            _hold_against(us, laps[contestant.name], workload.first(**part).first(runs=1))
    return _table(workload, measures, laps, everyone), laps


def _lap(contestant: Contestant, workload: Workload, measures: str, laps: dict[str, Lap]) -> Lap:
    """Time one contestant on new buffers; times for a part of the workload are scaled."""
    part = PARTS.get((contestant.name, measures, workload.name), {})
    lap = laps.setdefault(contestant.name, Lap(contestant.of(SETS[measures]), _part_in_words(part, workload)))
    fresh = workload.first(**part).fresh(_columns(lap.names))
    prepared, evaluated, lap.means = _clock(contestant, lap.names, fresh)
    scale = workload.rows / fresh.rows
    lap.times.append(prepared * (workload.queries / fresh.queries) + evaluated * scale)
    return lap


def _clock(contestant: Contestant, names: Sequence[str], fresh: Workload) -> tuple[float, float, Means]:
    """Return the seconds to prepare the judgments and to evaluate all runs, and the means of the first run."""
    gc.collect()
    start = time.perf_counter()
    evaluate = contestant.prepare(names, fresh.qrels)
    prepared = time.perf_counter()
    means = [evaluate(run) for run in fresh.runs]
    return prepared - start, time.perf_counter() - prepared, means[0]


def _hold_against(us: Contestant, lap: Lap, same: Workload) -> None:
    """Store the largest difference between the means of a peer and ours for the same run."""
    if names := us.of(lap.names):
        fresh = same.fresh(_columns(names))
        mine = us.prepare(names, fresh.qrels)(fresh.runs[0])
        apart = {name: abs(float(lap.means[name]) - float(mine[name])) for name in names}
        worst = max(apart, key=apart.__getitem__)
        lap.apart = f"{apart[worst]:.0e}" + (f" ({worst})" if apart[worst] > 1e-9 else "")


def _table(workload: Workload, measures: str, laps: dict[str, Lap], order: Sequence[Contestant]) -> Table:
    base = laps["ours"].median if "ours" in laps else None
    rows = []
    for contestant in order:
        lap = laps[contestant.name]
        ratio = f"{lap.median / base:,.1f}" if base else "-"
        rows.append(
            (
                contestant.name,
                f"{len(lap.names)} of {len(SETS[measures])}",
                seconds(lap.median),
                seconds(min(lap.times)),
                str(len(lap.times)),
                ratio,
                lap.apart,
                lap.part or "all",
            )
        )
    title = f"{workload.name}, {measures} measures"
    notes = [
        f"{workload.description}; {workload.rows:,} rows. From the frames to the mean values, judgments included.",
        *(f"{contestant.name}: {contestant.description}." for contestant in order),
    ]
    columns = ("who", "measures", "median", "fastest", "repeats", "times ours", "apart from ours", "measured on")
    return Table(title, columns, rows, notes)


def _floor_table(workload: Workload, ours_on_six: float | None, repeats: int) -> Table:
    """Compare with the lower bound: one pass over the bytes of ids, offsets and scores."""
    times: dict[str, list[float]] = {"floor, 64-bit words": [], "floor, ids byte by byte": []}
    for repeat in range(repeats):
        for (name, taken), width in zip(times.items(), (8, 1), strict=True):
            (run,) = workload.fresh().runs
            start = time.perf_counter()
            _touch(run, width)
            taken.append(time.perf_counter() - start)
            progress(f"{name} {repeat + 1}/{repeats}: {seconds(taken[-1])}")
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    if ours_on_six:
        medians["ours"] = ours_on_six
    rows = []
    for name, median in medians.items():
        over = [f"{median / medians[floor]:.1f}" for floor in times]
        rows.append((name, seconds(median), f"{median / workload.rows * 1e9:.1f} ns", *over))
    notes = [
        "The floor sums the buffers of both id columns (bytes and offsets) and the scores once: all as 64-bit words"
        " (the speed of memory), or the bytes of ids one by one (the speed of NumPy for single bytes)."
    ]
    columns = ("what", "median", "a row", "times words", "times bytes")
    return Table("M, six measures, over the floor", columns, rows, notes)


def _touch(run: pd.DataFrame, width: int) -> float:
    total = float(run["score"].to_numpy().sum())
    for column in ("query_id", "doc_id"):
        _, offsets, data = workloads.text(run[column]).buffers()
        total += float(np.frombuffer(offsets, np.int64).sum())
        total += float(np.frombuffer(data, f"u{width}", data.size // width).sum())
    return total


def _linearity_table(us: Contestant, seed: int, repeats: int) -> Table:
    """Time this package on M and on a multiple of its rows, in turn."""
    progress(f"building M and {LARGER} x M")
    both = [workloads.build("M", seed), workloads.times_larger(LARGER, seed)]
    laps: list[dict[str, Lap]] = [{}, {}]
    for repeat in range(repeats):
        for workload, lap in zip(both, laps, strict=True):
            took = _lap(us, workload, "six", lap).times[-1]
            progress(f"linearity {repeat + 1}/{repeats}: {workload.name} {seconds(took)}")
    rows = []
    for workload, lap in zip(both, laps, strict=True):
        median = lap["ours"].median
        each, ratio = f"{median / workload.rows * 1e9:.1f} ns", f"{median / laps[0]['ours'].median:.2f}"
        rows.append((workload.name, f"{workload.rows:,}", seconds(median), each, ratio))
    notes = [f"Ours, six measures; {LARGER}.00 would be linear."]
    return Table("Linearity", ("workload", "rows", "median", "a row", "times M"), rows, notes)


def _memory_table(contestants: Sequence[Contestant], chosen: argparse.Namespace) -> Table:
    rows = []
    for contestant in contestants:
        for measures in chosen.sets:
            if measures != "six" and contestant.name != "ours":
                continue
            progress(f"memory of {contestant.name}, {measures}, in a process of its own")
            if answer := memory.measure(contestant.name, measures, chosen.seed):
                frames, above = answer
                rows.append((contestant.name, measures, megabytes(frames), megabytes(above), f"{above / frames:.2f}"))
    notes = ["M once, after S to warm up; growth of peak resident memory (VmHWM) above that with the loaded frames."]
    return Table("Memory on M", ("who", "measures", "the run's frame", "peak above it", "times the frame"), rows, notes)


def _columns(names: Sequence[str]) -> list[str]:
    """Columns of the run; doc_length only if a measure needs it."""
    return [*RUN_COLUMNS, *(["doc_length"] if "TBG" in names else [])]


def _part_in_words(part: dict[str, int], workload: Workload) -> str:
    if "queries" in part:
        return f"{part['queries']} of {workload.queries:,} queries, once, scaled"
    return f"{part['runs']} of {len(workload.runs)} runs, once, scaled" if part else ""


def _arguments() -> argparse.Namespace:
    def listed(text: str) -> list[str]:
        return [item for item in text.split(",") if item]

    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("--workloads", type=listed, default=["S", "M", "L"], help="S, M, L (default: all)")
    parser.add_argument("--sets", type=listed, default=list(SETS), help="six, fifteen (default: both)")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--peers", type=listed, default=["pytrec_eval", "ir_measures", "ranx"], help="'' for none")
    parser.add_argument("--peers-only", action="store_true", help="do not time this package")
    parser.add_argument("--skip", type=listed, default=[], help="any of floor, linearity, memory")
    parser.add_argument("--patience", type=float, default=15, help="seconds; slower contestants are timed once")
    parser.add_argument("--markdown", type=Path, help="write the tables to this Markdown file")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    for option, known in (("workloads", "SML"), ("sets", SETS), ("skip", ("floor", "linearity", "memory"))):
        if unknown := set(getattr(chosen, option)) - set(known):
            parser.error(f"--{option}: unknown value {', '.join(sorted(unknown))}; choose from {', '.join(known)}")
    return chosen


if __name__ == "__main__":
    main()
