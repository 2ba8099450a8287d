"""Time residuals of measures normalised by the ideal: searched best case, and best gain for all unjudged items."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.report import Table, keep, progress, seconds, show
from benchmarks.workloads import build
from pyterrier_cwla import CWLA, Residual, evaluate
from pyterrier_cwla.data.alignment import Judgments
from pyterrier_cwla.data.rankings import Rankings
from pyterrier_cwla.model.metric import Metric
from pyterrier_cwla.model.residuals import residual
from pyterrier_cwla.model.scoring import normalised, raw_score, raw_score_with

CELLS = (("dcg(10)", "etg"), ("dcg(100)", "etg"), ("rbp(0.8)", "erg"))


def main() -> None:
    """Run the benchmark with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.residuals", description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--markdown", type=Path, help="write the table to this Markdown file")
    chosen = parser.parse_args()
    tables = [residuals(chosen.repeats, chosen.seed)]
    show(tables)
    if chosen.markdown:
        keep(chosen.markdown, tables)


def residuals(repeats: int, seed: int) -> Table:
    """Time both computations of each measure on one run, in turn."""
    rows = []
    for name in ("S", "M"):
        load = build(name, seed)
        rankings = Judgments(load.qrels).align(load.runs[0], all_judged=True)
        for C, A in CELLS:
            measure = CWLA(C=C, A=A, max_rel=3, norm="ideal")
            ways = [
                partial(residual, measure.metric, rankings),
                partial(best_gain_everywhere, measure.metric, rankings),
                partial(evaluate, load.qrels, load.runs[0], [Residual(measure=measure)]),
            ]
            times = in_turns(ways, repeats)
            ratio = statistics.median(new / old for new, old in zip(times[0], times[1], strict=True))
            medians = list(map(statistics.median, times))
            rows.append((name, f"{C}, {A}", *map(seconds, medians[:2]), f"{ratio:.2f}", seconds(medians[2])))
            progress(f"{name}, {C}: {ratio:.2f}")
    return Table(
        "Residuals over the ideal",
        ("workload", "C, A", "best case searched", "best gain everywhere", "median ratio", "evaluate, from the frames"),
        rows,
        [
            f"One run of S and M, norm='ideal', max_rel=3; {repeats} times each, in turns; aligned before, except in"
            " the last column, which includes reading and aligning the frames.",
            "Best gain everywhere: every unjudged item gets the best gain, and the ideal stays the same; this is no"
            " bound.",
        ],
    )


def in_turns(ways: Sequence[Callable[[], Any]], repeats: int) -> list[list[float]]:
    """Return the times of functions that are called in turn; the first round is not counted."""
    times: list[list[float]] = [[] for _ in ways]
    for round_ in range(repeats + 1):
        for way, of_way in zip(ways, times, strict=True):
            start = time.perf_counter()
            way()
            if round_:
                of_way.append(time.perf_counter() - start)
    return times


def best_gain_everywhere(metric: Metric, rankings: Rankings) -> Any:
    """Return the change of the score if every unjudged item has the best gain and the ideal stays the same."""
    return normalised(metric, raw_score_with(metric, rankings, metric.best) - raw_score(metric, rankings), rankings)


if __name__ == "__main__":
    main()
