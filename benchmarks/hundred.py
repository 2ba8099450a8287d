"""Time a hundred measures on all runs of TREC-COVID round 1 in one call, and the time per row of a measure."""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

import pyterrier_cwla
from benchmarks.memory import peak_above
from benchmarks.report import Table, keep, megabytes, progress, seconds, show
from pyterrier_cwla.data.rankings import Rankings
from pyterrier_cwla.files.formats import find_runs, read_qrels, read_run
from pyterrier_cwla.measures.declarations import metric_of
from pyterrier_cwla.measures.named import measures_of
from pyterrier_cwla.model.metric import Metric
from pyterrier_cwla.model.scoring import score

DATA = Path(os.environ.get("PYTERRIER_CWLA_DATA", Path(__file__).parents[2] / "shared" / "data")) / "trec-covid-r1"
EFFORTS = ("unit", "ratio(4)", "by_grade({0:0.25,1:0.6,2:1})")
PER_ROW = (
    *("P@10", "nDCG@10", "CWLA(C='rbp(0.8)',A='erg',max_rel=2)", "CWLA(C='insq(2)',A='erg',max_rel=2)"),
    *("AP", "ERR", "Cascade(gamma=0.9,max_rel=2)", "CWLA(C='inst(2)',A='erg',max_rel=2)", "NERR10(max_rel=2)"),
    *("AdaptiveRBP(effort='ratio(4)')", "AdaptiveGAP(effort='ratio(4)')", "AdaptivenDCG(effort='ratio(4)')"),
    *("GradedTBG", "GradedTBG(credit='smeared')", "UMeasure(T=5000,max_rel=2)", "DynamicBPM(T=1,K=10,max_rel=2)"),
    *("IFTGoal(T=2,max_rel=2)", "IFT(T=2,A=0.2,max_rel=2)"),
    *(
        f"CWLA(C='{law}',A='etg',effort='{effort}',max_rel=2)"
        for effort in ("unit", "grade_time")
        for law in ("decay(150)", "weibull(0.7,200)", "log_logistic(1.5,120)", "log_normal(1,120)", "hyperbolic(3,300)")
    ),
    "CWLA(C='decay(150)',A='etg',effort='by_rank(2,1)',max_rel=2)",
)
QUERIES, RETRIEVED, RELEVANT = 2000, 1000, 40


def hundred() -> list[str]:
    """Return measures of all kinds; adaptive measures with unit, parametric and tabulated efforts."""
    adaptive = [
        text
        for effort in EFFORTS
        for text in (
            *(f"Adaptive{name}(effort='{effort}')" for name in ("AP", "GAP", "RBP", "GRBP", "RR", "DCG", "nDCG")),
            *(f"Adaptive{name}(effort='{effort}')@9" for name in ("P", "GP")),
            f"AdaptiveERR(effort='{effort}',max_rel=2)",
        )
    ]
    return [
        *("AP", "AP(rel=2)", "RR", "RR(rel=2)", "nDCG", "nDCG(dcg='exp-log2')", "Rprec", "NumRet", "NumRel"),
        *("nDCG@100", "AP@100", "R@100", "Judged"),
        *(f"{name}@{k}" for name in ("P", "R", "Success", "nDCG", "AP", "RR", "ERR", "Judged") for k in (5, 10, 20)),
        *("Bpref", "infAP", "nDCG(judged_only=True)", "AP(judged_only=True)", "GeometricMean(measure='AP')"),
        *(f"RBP(p={p},rel={rel})" for p in (0.5, 0.8, 0.95) for rel in (1, 2)),
        *(f"{name}(max_rel=2)@10" for name in ("BPM", "NERR8", "NERR9", "SDCG")),
        *("GradedTBG", "GradedTBG(credit='smeared')", "UMeasure(T=99,max_rel=2)", "Residual(measure='RBP(rel=1)')"),
        *("Cascade(max_rel=2)", "Cascade(gamma=0.9,phi='log2',max_rel=2)", "DynamicBPM(T=1,K=10,max_rel=2)"),
        *("IFT(T=2,A=0.2,max_rel=2)", "IFTGoal(T=2,max_rel=2)", "IFTRate(A=0.2,max_rel=2)"),
        *(f"CWLA(C='{C}',A='{A}',max_rel=2)" for C in ("rbp(0.8)", "inst(2)") for A in ("erg", "avg", "max", "fin")),
        *adaptive,
    ]


def main() -> None:
    """Run the benchmark with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hundred", description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--markdown", type=Path, help="write the tables to this Markdown file")
    chosen = parser.parse_args()
    tables = [*([together(chosen.repeats)] if DATA.is_dir() else []), each(chosen.repeats)]
    show(tables)
    if chosen.markdown:
        keep(chosen.markdown, tables)


def together(repeats: int) -> Table:
    """Time all measures on all runs in one call, and the alignment alone."""
    qrels, measures = read_qrels(DATA / "qrels.txt"), hundred()
    runs = {path.name: read_run(path) for path in find_runs(DATA / "runs")}
    rows = sum(run.num_rows for run in runs.values())
    times = {
        what: _median(partial(pyterrier_cwla.evaluate, qrels, runs, some), repeats, what)
        for what, some in (("alignment alone (NumQ)", ["NumQ", "Judged"]), (f"{len(measures)} measures", measures))
    }
    alone, whole = times.values()
    peak = peak_above(lambda: pyterrier_cwla.evaluate(qrels, runs, measures))
    share = alone / whole
    return Table(
        "A hundred measures on trec-covid-r1",
        ("what", "median", "ns a row", "share"),
        [
            ("alignment alone", seconds(alone), f"{alone / rows * 1e9:.0f}", f"{share:.0%}"),
            (f"{len(measures)} measures", seconds(whole), f"{whole / rows * 1e9:.0f}", "100%"),
            ("each measure more", seconds((whole - alone) / len(measures)),
             f"{(whole - alone) / len(measures) / rows * 1e9:.1f}", f"{(1 - share) / len(measures):.1%}"),
        ],
        [
            f"{len(runs)} runs, {rows:,} rows, one `evaluate` call, from the tables in memory to the mean values.",
            "Alignment alone: NumQ and Judged, for which the relevant and all judged documents are looked up.",
            *([f"Memory peak above the loaded tables: {megabytes(peak)}."] if peak is not None else []),
        ],
    )  # fmt: skip


def each(repeats: int) -> Table:
    """Time single measures of aligned rankings."""
    rng = np.random.default_rng(1)
    ranks = np.sort(rng.permuted(np.tile(np.arange(1, RETRIEVED + 1), (QUERIES, 1)), axis=1)[:, :RELEVANT], axis=1)
    grade = rng.integers(1, 3, ranks.size)
    query, n = np.repeat(np.arange(QUERIES), RELEVANT), np.full(QUERIES, RETRIEVED)
    rows = []
    for text, measure in zip(PER_ROW, measures_of(PER_ROW), strict=True):
        metric: Metric = metric_of(measure)
        median = _median(partial(_fresh, metric, n, query, ranks.ravel(), grade), repeats, text)
        rows.append((text, "rank alone" if metric.rank_only and metric.unit_effort else "gains or efforts",
                     f"{median / n.sum() * 1e9:.1f}"))  # fmt: skip
    title = "One measure more"
    notes = [f"{QUERIES:,} queries x {RETRIEVED} retrieved, {RELEVANT} of them relevant; aligned before; one thread."]
    return Table(title, ("measure", "C and effort depend on", "ns a row"), rows, notes)


def _fresh(metric: Metric, n: np.ndarray, query: np.ndarray, rank: np.ndarray, grade: np.ndarray) -> np.ndarray:
    """Score new rankings, for which nothing is cached."""
    return score(metric, Rankings.of_hits(n, query, rank, grade))


def _median(work: Callable[[], object], repeats: int, what: str) -> float:
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    progress(f"{what}: {seconds(statistics.median(times))}")
    return statistics.median(times)


if __name__ == "__main__":
    main()
