"""Time scores of a matrix of grades beside plain NumPy that is written for the same metric, and scikit-learn's nDCG."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import ndcg_score

from benchmarks.report import Table, keep, show
from pyterrier_cwla import score

QUERIES, RANKS = 8000, 40
_RANK = np.arange(1.0, RANKS + 1)

Floats = np.ndarray


def main() -> None:
    """Run the benchmark with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.arrays", description=__doc__)
    parser.add_argument("--repeats", type=int, default=25)
    parser.add_argument("--markdown", type=Path, help="write the table to this Markdown file")
    chosen = parser.parse_args()
    tables = [matrix(chosen.repeats)]
    show(tables)
    if chosen.markdown:
        keep(chosen.markdown, tables)


def matrix(repeats: int) -> Table:
    """Time each metric and its peer in turn, by the processor's time."""
    rng = np.random.default_rng(0)
    grades = (rng.random((QUERIES, RANKS)) < 0.2) * rng.integers(1, 4, (QUERIES, RANKS))
    rows = []
    for name, (ours, peer) in _contests(grades).items():
        laps = [(_seconds(ours), _seconds(peer)) for _ in range(repeats + 1)][1:]
        mine, theirs = (statistics.median(lap) for lap in zip(*laps, strict=True))
        ratio = statistics.median(a / b for a, b in laps)
        rows.append((name, f"{1e3 * mine:.2f} ms", f"{1e3 * theirs:.2f} ms", f"{ratio:.1f}"))
    return Table(
        f"Scores of a matrix of {QUERIES:,} × {RANKS}",
        ("metric, and its peer", "score", "peer", "ratio"),
        rows,
        ["One call; a fifth of the items have a grade from 1 to 3; processor time; medians of ratios."],
    )


def _contests(grades: Floats) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    linear, satisfied = grades / 3, (2.0**grades - 1) / 8
    weights = 0.2 * 0.8 ** (_RANK - 1)
    order = np.tile(-_RANK, (len(grades), 1))
    graded: dict[str, Any] = {"gain": "exponential", "max_rel": 3}
    return {
        "rbp/erg, matrix product": (lambda: score(linear, C="rbp(0.8)", A="erg"), lambda: linear @ weights),
        "rr/err, NumPy": (lambda: score(grades, C="rr", A="err", **graded), lambda: _err(grades)),
        "nDCG, scikit-learn": (
            lambda: score(grades, C="dcg", A="etg", norm="ideal", **graded),
            lambda: ndcg_score(grades, order, ignore_ties=True),
        ),
        "inst/erg, NumPy": (lambda: score(linear, C="inst(2)", A="erg", end="stop"), lambda: _inst(linear, 2.0)),
        "ap2/avg, NumPy": (lambda: score(grades, C="ap2", A="avg", gain="binary"), lambda: _precision(grades)),
        "cascade/avg, NumPy": (
            lambda: score(grades, C="cascade(0.9)", A="avg", end="stop", **graded),
            lambda: _cascade(satisfied, 0.9),
        ),
        "rbp/max, NumPy": (lambda: score(linear, C="rbp(0.8)", A="max", end="stop"), lambda: _best(linear)),
    }


def _seconds(call: Callable[[], Any]) -> float:
    begin = time.process_time()
    call()
    return time.process_time() - begin


def _seen(C: Floats) -> Floats:
    V = np.ones_like(C)
    V[:, 1:] = np.cumprod(C[:, :-1], axis=1)
    return V


def _err(grades: Floats) -> Floats:
    satisfied = (2.0**grades - 1) / 8
    found: Floats = (_seen(1 - satisfied) * satisfied / _RANK).sum(axis=1)
    return found


def _inst(gains: Floats, T: float) -> Floats:
    y = _RANK + T + T - np.cumsum(gains, axis=1)
    V = _seen(((y - 1) / y) ** 2)
    found: Floats = (V * gains).sum(axis=1) / V.sum(axis=1)
    return found


def _precision(grades: Floats) -> Floats:
    relevant = (grades > 0).astype(float)
    found: Floats = (relevant * np.cumsum(relevant, axis=1) / _RANK).sum(axis=1)
    return found / np.maximum(relevant.sum(axis=1), 1)


def _cascade(satisfied: Floats, gamma: float) -> Floats:
    C = gamma * (1 - satisfied)
    C[:, -1] = 0
    found: Floats = (_seen(C) * (1 - C) * np.cumsum(satisfied, axis=1) / _RANK).sum(axis=1)
    return found


def _best(gains: Floats) -> Floats:
    C = np.full_like(gains, 0.8)
    C[:, -1] = 0
    found: Floats = (_seen(C) * (1 - C) * np.maximum.accumulate(gains, axis=1)).sum(axis=1)
    return found


if __name__ == "__main__":
    main()
