"""Count the judgments that orders of judging need on TREC-COVID round 1, until runs are ranked as by all judgments."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np

from benchmarks.report import Table, keep, progress, show
from pyterrier_cwla.files.formats import find_runs, read_qrels, read_run
from pyterrier_cwla.studies import simulated_judging

DATA = Path(os.environ.get("PYTERRIER_CWLA_DATA", Path(__file__).parents[2] / "shared" / "data")) / "trec-covid-r1"
MEASURES = {"RBP(0.8)": "CWLA(C='rbp(0.8)',A='erg',max_rel=2)", "nDCG@10": "nDCG@10", "AP": "AP"}


def main() -> None:
    """Run the benchmark with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.judging", description=__doc__)
    parser.add_argument("--samples", type=int, default=20, help="random samples of runs")
    parser.add_argument("--runs", type=int, nargs="+", default=[5, 10, 20])
    parser.add_argument("--batch", type=int, default=50)
    parser.add_argument("--markdown", type=Path, help="write the table to this Markdown file")
    chosen = parser.parse_args()
    if not DATA.is_dir():
        parser.error(f"no runs at {DATA}. Set PYTERRIER_CWLA_DATA to the folder of the data.")
    tables = [needed(chosen.samples, chosen.runs, chosen.batch)]
    show(tables)
    if chosen.markdown:
        keep(chosen.markdown, tables)


def needed(samples: int, sizes: list[int], batch: int) -> Table:
    """Simulate judging for random samples of runs."""
    qrels = read_qrels(DATA / "qrels.txt")
    paths = sorted(find_runs(DATA / "runs"))
    rows = []
    for size in sizes:
        chosen = [np.random.default_rng([size, n]).choice(len(paths), size, replace=False) for n in range(samples)]
        drawn = [{paths[at].name: read_run(paths[at]) for at in numbers} for numbers in chosen]
        for label, measure in MEASURES.items():
            found = [simulated_judging(qrels, runs, measure, batch=batch, seed=n) for n, runs in enumerate(drawn)]
            judged = np.mean([one.about["judgments"] for one in found])
            tables = [one.needed.set_index("order") for one in found]
            by_rank = np.array([table.loc["best rank"].to_numpy(float) for table in tables])
            for order in tables[0].index:
                mine = np.array([table.loc[order].to_numpy(float) for table in tables])
                saved = 1 - mine.mean(axis=0) / by_rank.mean(axis=0)
                error = (by_rank - mine).std(axis=0, ddof=1) / np.sqrt(samples) / by_rank.mean(axis=0)
                cells = [f"{mean:,.0f} ({s:+.0%} ± {e:.0%})" for mean, s, e in zip(mine.mean(axis=0), saved, error)]
                rows.append((label, str(size), f"{judged:,.0f}", order, *cells))
            progress(f"{label}, {size} runs")
    return Table(
        "Judgments needed until runs are ordered as by all judgments",
        ("measure", "runs", "judgments", "order of judging", "τ stays above 0.9", "same order"),
        rows,
        [
            f"TREC-COVID round 1: means over {samples} random samples of runs; judged {batch} at a time.",
            "In brackets: judgments saved in comparison with the best rank (a pool judged by depth), ± one standard"
            " error over the samples.",
        ],
    )


if __name__ == "__main__":
    main()
