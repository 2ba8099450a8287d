"""Coverage and width of intervals of differences that people's judgments of n topics correct, by resampling topics.

``python -m benchmarks.correction FOLDER`` reads the folder ``machine-judges`` of the real data, and prints rows of the
table in docs/machine_judges.rst: for each judge and measure, the mean over 60 random pairs of runs.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from scipy.stats import t

from pyterrier_cwla import evaluate
from pyterrier_cwla.evaluation.correction import estimated

PEOPLE = ("nDCG@10", "RBP(p=0.5,rel=2)", "RR(rel=2)", "P(rel=2)@10", "ERR@20")
EXAM = (*PEOPLE[:4], "CWLA(C='rr',A='err',gain='exponential',max_rel=5)@20")
BINARY = ("nDCG@10", "RBP(p=0.5)", "RR", "P@10", "ERR@20")
JUDGES = {"umbrela_gpt4": PEOPLE, "binary_gpt4": BINARY, "binary_gpt4o": BINARY, "binary_llama32": BINARY,
          "exam_mean": EXAM}  # fmt: skip
TRIALS, PAIRS, BEST = 400, 60, 15


def main(folder: Path) -> None:
    """Print a row for each judge, measure and number of topics."""
    people = _scores(folder / "people.qrels", folder / "runs.parquet", PEOPLE)
    for judge, measures in JUDGES.items():
        machine = _scores(folder / f"{judge}.qrels", folder / "runs.parquet", measures)
        for measure, h, m in zip(PEOPLE, people, machine, strict=True):
            for among in (len(h), BEST):
                best = np.argsort(-h.mean(axis=1), kind="stable")[:among]
                for n in (10, 20, 50) if among > BEST else (20,):
                    print(judge, measure, f"best {among}", f"n={n}", *_row(h[best], m[best], n), sep=" | ", flush=True)


def _scores(qrels: Path, runs: Path, measures: tuple[str, ...]) -> list[np.ndarray]:
    found = evaluate(qrels, runs, measures, by_query=True)
    return [found[name].to_numpy().reshape(len(found.index.unique("run")), -1) for name in found]


def _row(h: np.ndarray, m: np.ndarray, n: int) -> list[str]:
    """Return coverage and mean widths of people alone, and of the correction for topics like these and these topics."""
    rng = np.random.default_rng(0)
    first, second = np.transpose([rng.choice(len(h), 2, replace=False) for _ in range(PAIRS)])
    h, m = (scores[first] - scores[second] for scores in (h, m))
    truth, N = h.mean(axis=1), h.shape[1]
    covered, width = np.zeros(3), np.zeros(3)
    for _ in range(TRIALS):
        drawn, chosen = np.asarray(rng.integers(0, N, N)), rng.permutation(N)[:n]
        sample, everywhere = np.take(h, drawn[chosen], axis=1), np.take(m, drawn, axis=1)
        half = t.ppf(0.975, n - 1) * sample.std(axis=1, ddof=1) / np.sqrt(n)
        ends = [
            (sample.mean(axis=1) - half, sample.mean(axis=1) + half),
            estimated(sample, everywhere[:, chosen], everywhere).interval(0.95),
            estimated(h[:, chosen], m[:, chosen], m, these=True).interval(0.95),
        ]
        covered += [np.mean((low - 1e-12 <= truth) & (truth <= high + 1e-12)) for low, high in ends]
        width += [np.mean(high - low) for low, high in ends]
    return [*(f"{one:.3f}" for one in covered / TRIALS), *(f"{one:.3f}" for one in width / TRIALS)]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
