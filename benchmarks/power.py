"""Time the studies of pairs of runs and of measures, and simulate the coverage of their intervals."""

from __future__ import annotations

import argparse
import os
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.memory import peak_above
from benchmarks.report import Table, keep, megabytes, progress, seconds, show
from pyterrier_cwla.evaluation.significance import t_test
from pyterrier_cwla.files.formats import find_runs, read_qrels, read_run
from pyterrier_cwla.studies.correlation import half_width, kendall_distance, rbo, tau, times_drawn
from pyterrier_cwla.studies.systems.metric_correlations import Cube, metric_agreement
from pyterrier_cwla.studies.systems.power import discriminative_power, resampled_power

DATA = Path(os.environ.get("PYTERRIER_CWLA_DATA", Path(__file__).parents[2] / "shared" / "data")) / "trec-covid-r1"
MEASURES = ["nDCG@10", "AP", "P@10", "RR", "ERR@10", "RBP(rel=1)", "INST(max_rel=2)", "Bpref", "infAP",
            "CWLA(C='rbp(0.8)',A='max',max_rel=2)"]  # fmt: skip
CORRELATIONS = {
    "τ_a": lambda x, y: tau(x, y, "a"),
    "τ_b": tau,
    "τ_AP": lambda x, y: tau(x, y, "ap"),
    "Kendall's distance": kendall_distance,
    "rank-biased overlap": rbo,
}


def main() -> None:
    """Run the benchmark with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.power", description=__doc__)
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--simulated", type=int, default=200, help="number of simulated sets of queries, for the coverage"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--markdown", type=Path, help="write the tables to this Markdown file")
    chosen = parser.parse_args()
    qrels, runs = _read() if DATA.is_dir() else _generated(chosen.seed)
    tables = [
        speed(qrels, runs, chosen.resamples, chosen.jobs),
        correlations(len(runs), chosen.seed),
        coverage(Cube.from_runs(qrels, runs, ["nDCG@10", "AP", "P@10", "RR"]), chosen.simulated, chosen.seed),
    ]
    show(tables)
    if chosen.markdown:
        keep(chosen.markdown, tables)


def speed(qrels: Any, runs: Any, resamples: int, jobs: int) -> Table:
    """Time the whole studies, including the evaluation of the runs."""
    studies = {
        "discriminative_power": lambda: discriminative_power(
            qrels, runs, MEASURES, resamples=resamples, n_jobs=jobs, progress=False
        ),
        "metric_agreement": lambda: metric_agreement(qrels, runs, MEASURES, resamples=1000),
    }
    rows = []
    for name, study in studies.items():
        start = time.perf_counter()
        peak = peak_above(study)
        took = seconds(time.perf_counter() - start)
        rows.append((name, took, "" if peak is None else megabytes(peak)))
        progress(f"{name}: {took}")
    pairs = len(runs) * (len(runs) - 1) // 2
    notes = [
        f"{len(runs):,} runs, {pairs:,} pairs, {len(MEASURES)} measures; {resamples:,} resamples and as many random"
        f" signs, in {jobs} process(es); 1,000 resamples for the agreement of measures.",
        "Memory: the peak above the loaded runs, in this process.",
    ]
    return Table("Studies of pairs", ("study", "time", "memory"), rows, notes)


def correlations(n: int, seed: int) -> Table:
    """Time rank correlations of 5,000 pairs of rankings of n items."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, 5000, n))
    rows = []
    for name, of in CORRELATIONS.items():
        start = time.perf_counter()
        of(x, np.round(y, 2))
        rows.append((name, f"{(time.perf_counter() - start) / len(x) * 1e6:.0f} µs"))
    return Table("Rank correlations", ("correlation", "each"), rows, [f"5,000 pairs of rankings of {n:,} items."])


def coverage(cube: Cube, simulated: int, seed: int) -> Table:
    """Simulate how often 95 % intervals contain the mean over sets of queries of the same size.

    Queries are drawn from the normal distribution with the means and covariances of the runs' scores.
    """
    rng = np.random.default_rng(seed)
    n = len(cube.queries)
    means = cube.values.mean(axis=-1, keepdims=True)
    spread = (cube.values - means) / np.sqrt(n - 1)
    first, second = np.triu_indices(len(cube.runs), 1)
    names = list(cube.measures)
    found: dict[str, list[tuple[float, ...]]] = {}
    for number in range(simulated):
        scores = means + spread @ rng.normal(size=(n, n))
        times = times_drawn(n, 200, number)
        differences = scores[:, first] - scores[:, second]
        power = [float((t_test(z) < 0.05).mean()) for z in differences]
        resampled = [resampled_power(z, 0.05, times) for z in differences]
        for i, name in enumerate(names):
            found.setdefault(f"power of {name}", []).append(_ends(power[i], resampled[i], n))
        orders = np.moveaxis(scores @ times / n, -1, 1)
        for i, j in combinations(range(len(names)), 2):
            one, other = names[i], names[j]
            difference = _ends(power[i] - power[j], resampled[i] - resampled[j], n)
            found.setdefault(f"power of {one} less that of {other}", []).append(difference)
            value = float(tau(scores[i].mean(axis=-1), scores[j].mean(axis=-1)))
            found.setdefault(f"τ_b of {one} and {other}", []).append(_ends(value, tau(orders[i], orders[j]), n))
        if number % 20 == 19:
            progress(f"simulated {number + 1}/{simulated}")
    rows = []
    for what in sorted(found):
        of = found[what]
        value, low, high, lower, upper = np.array(of).T
        held = [
            np.mean((ends[0] <= value.mean()) & (value.mean() <= ends[1])) for ends in ((low, high), (lower, upper))
        ]
        rows.append((what, f"{value.mean():.3f}", f"{value.std():.3f}", *(f"{share:.1%}" for share in held)))
    notes = [
        f"{simulated:,} sets of {n:,} queries for {len(cube.runs):,} runs. Expected: the mean over the sets. Ours:"
        " the estimate ± the bootstrap's standard error times the quantile of Student's t. Percentile: the"
        " bootstrap's.",
    ]
    return Table("Coverage of intervals", ("of", "expected", "deviation", "ours", "percentile"), rows, notes)


def _ends(found: float, resampled: np.ndarray, queries: int) -> tuple[float, ...]:
    """Estimate, ends of our interval, and ends of the interval of the percentile bootstrap."""
    half = half_width(resampled, 0.95, queries)
    return (found, found - half, found + half, *np.quantile(resampled, [0.025, 0.975]))


def _read() -> tuple[Any, dict[str, Any]]:
    return read_qrels(DATA / "qrels.txt"), {path.name: read_run(path) for path in find_runs(DATA / "runs")}


def _generated(seed: int) -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    """As many runs and queries as in TREC-COVID round 1; runs have increasing quality."""
    rng = np.random.default_rng(seed)
    queries, documents = (
        text.ravel() for text in np.meshgrid([f"q{q}" for q in range(30)], [f"d{d}" for d in range(100)])
    )
    grades = rng.choice(3, len(queries), p=[0.6, 0.25, 0.15])
    rows = pd.DataFrame({"query_id": queries, "doc_id": documents})
    qualities = {f"run{number}": number / 143 for number in range(143)}
    runs = {name: rows.assign(score=of * grades + rng.normal(size=len(rows))) for name, of in qualities.items()}
    return rows.assign(relevance=grades), runs


if __name__ == "__main__":
    main()
