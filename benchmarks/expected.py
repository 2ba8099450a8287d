"""Exact expected scores beside the scores of the same measures, on workload S.

``python -m benchmarks.expected`` prints the median seconds of both and their ratio.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

import numpy as np
import pandas as pd

from pyterrier_cwla import evaluate

from .workloads import build

ROUNDS = 9
MEASURES = (
    "CWLA(C='rbp(0.8)',A='erg',max_rel=3)",
    "CWLA(C='dcg(10)',A='etg',max_rel=3)",
    "CWLA(C='insq(2)',A='avg',max_rel=3)",
    "CWLA(C='rbp(0.8)',A='max',max_rel=3)",
    "ERR@20",
    "CWLA(C='cascade(0.9)',A='etg',max_rel=3)",
    "TBG",
)


def main() -> None:
    """Time each measure and its expected score in turn."""
    work = build("S", seed=1)
    run, qrels = work.runs[0], work.qrels
    rng = np.random.default_rng(2)
    run = run.assign(doc_length=rng.integers(20, 2000, len(run)).astype(float))
    p = rng.dirichlet(np.full(4, 0.25), len(qrels)) + 2 * np.eye(4)[qrels["relevance"].clip(0, 3)]
    chances = qrels.drop(columns="relevance").assign(**{f"p_{g}": p[:, g] / p.sum(axis=1) for g in range(4)})
    print(f"{'measure':<44}{'grades':>9}{'expected':>10}{'ratio':>7}")
    for measure in MEASURES:
        plain, expected = _medians([(qrels, measure), (chances, f'Expected(measure="{measure}")')], run)
        print(f"{measure:<44}{1000 * plain:>7.1f}ms{1000 * expected:>8.1f}ms{expected / plain:>7.2f}")


def _medians(calls: Sequence[tuple[pd.DataFrame, str]], run: pd.DataFrame) -> list[float]:
    seconds: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for of_call, (judgments, measure) in zip(seconds, calls, strict=True):
            began = time.perf_counter()
            evaluate(judgments, run, [measure])
            of_call.append(time.perf_counter() - began)
    return [statistics.median(of_call) for of_call in seconds]


if __name__ == "__main__":
    main()
