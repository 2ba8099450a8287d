"""Compare LightGBM trained on a measure M (TBG, ERR, RBP, INST) with lambdarank (nDCG), both scored by M.

All choices were fixed before training:

* Data: `lightgbm-lambdarank`, training and test queries together, 251 of them, grades 0 to 4.
* Lengths: the data has none. Each row gets round(exp(5.8 + 0.9·z)) words, z standard normal with seed 0, independent of
  its grade and features (median 330 words). log(words) is an additional feature for both models, as in collections
  for learning to rank.
* Folds: five, of whole queries, shuffled by the seed; seeds 0 to 4, which also seed LightGBM's bagging. Every query is
  scored by the model that was trained without its fold.
* Training: the parameters of LightGBM's own example for this data (100 trees, 31 leaves, rate 0.1, 50 rows a leaf,
  bagging of 0.9 in each round), except min_sum_hessian_in_leaf, which has its default of 0.001 for both models,
  because the hessians of other metrics have another scale. Truncation level 30, sigmoid 1 and lambdarank_norm for both;
  our objective also orders pairs of equal gain (pairs="all", its default), which lambdarank ignores.
* Test: paired t-test on the 251 queries of each seed, two-sided; twenty cells, corrected by Holm; the 95 % interval of
  the mean difference is a percentile bootstrap over queries, 10,000 resamples, seed 0.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import bootstrap, ttest_rel
from sklearn.datasets import load_svmlight_file
from sklearn.model_selection import GroupKFold

from benchmarks.report import Table, keep, progress, show
from pyterrier_cwla.evaluation.significance import corrected
from pyterrier_cwla.learning.lambdamart import LambdaMART
from pyterrier_cwla.learning.metrics import measure_score

SHARED = Path(os.environ.get("PYTERRIER_CWLA_DATA", Path(__file__).parents[2] / "shared" / "data"))
DATA = SHARED / "lightgbm-lambdarank"
MEASURES = {
    "TBG": "TBG",
    "ERR": "ERR",
    "RBP(0.8)": "CWLA(C='rbp(0.8)',A='erg',max_rel=4)",
    "INST": "INST(T=1,max_rel=4)",
}
SEEDS, FOLDS, LEVEL = range(5), 5, 30
LIGHTGBM: dict[str, Any] = {
    "n_estimators": 100, "num_leaves": 31, "learning_rate": 0.1, "min_child_samples": 50, "subsample": 0.9,
    "subsample_freq": 1, "n_jobs": 1, "verbose": -1, "deterministic": True, "force_row_wise": True,
}  # fmt: skip


def main() -> None:
    """Run the benchmark with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learning", description=__doc__.split("\n")[0])
    parser.add_argument("--markdown", type=Path, help="write the table to this Markdown file")
    chosen = parser.parse_args()
    table = cells()
    show([table])
    if chosen.markdown:
        keep(chosen.markdown, [table])


def rows() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return features (the last is log(words)), grades, queries and words of all rows."""
    parts = [load_svmlight_file(str(DATA / f"rank.{name}"), n_features=301) for name in ("train", "test")]
    sizes = np.concatenate([np.loadtxt(DATA / f"rank.{name}.query", dtype=int) for name in ("train", "test")])
    features, grades = np.vstack([X.toarray() for X, _ in parts]), np.concatenate([y for _, y in parts]).astype(int)
    words = np.round(np.exp(5.8 + 0.9 * np.random.default_rng(0).standard_normal(len(grades))))
    return np.column_stack([features, np.log(words)]), grades, np.repeat(np.arange(len(sizes)), sizes), words


def held_out(measure: str | None, seed: int) -> np.ndarray:
    """Return out-of-fold predictions for all rows; by lambdarank if `measure` is None."""
    from lightgbm import LGBMRanker

    X, y, query, words = rows()
    predicted = np.zeros(len(y))
    for train, test in GroupKFold(FOLDS, shuffle=True, random_state=seed).split(X, y, query):
        _, sizes = np.unique(query[train], return_counts=True)
        objective: Any = "lambdarank"
        if measure is not None:
            objective = LambdaMART(measure, truncation_level=LEVEL, doc_length=words[train])
        options = {**LIGHTGBM, "objective": objective, "lambdarank_truncation_level": LEVEL, "random_state": seed}
        ranker = LGBMRanker(**options, metric="None")
        predicted[test] = ranker.fit(X[train], y[train], group=sizes).predict(X[test])
    return predicted


def cells() -> Table:
    """Return a table with one row per metric and seed."""
    _, y, query, words = rows()
    found = []
    for seed in SEEDS:
        progress(f"seed {seed}")
        lambdarank = held_out(None, seed)
        for name, measure in MEASURES.items():
            ours, theirs = (
                np.asarray(measure_score(measure, y, predicted, qid=query, doc_length=words, average=False))
                for predicted in (held_out(measure, seed), lambdarank)
            )
            interval = bootstrap(
                (ours - theirs,), np.mean, n_resamples=10_000, method="percentile", rng=np.random.default_rng(0)
            ).confidence_interval
            found.append((name, seed, theirs.mean(), ours.mean(), interval, ttest_rel(ours, theirs).pvalue))
    found.sort(key=lambda cell: (list(MEASURES).index(cell[0]), cell[1]))
    holm = corrected(np.array([cell[-1] for cell in found]), "holm")
    table = [
        (name, f"seed {seed}", f"{theirs:.4f}", f"{ours:.4f}", f"{ours - theirs:+.4f}",
         f"{low:+.4f} to {high:+.4f}", f"{p:.3f}", f"{p_holm:.3f}")
        for (name, seed, theirs, ours, (low, high), p), p_holm in zip(found, holm)
    ]  # fmt: skip
    columns = ("M", "seed", "lambdarank (nDCG)", "trained on M", "difference", "95 % interval", "p", "p (Holm)")
    won = sum(ours > theirs for _, _, theirs, ours, _, _ in found)
    notes = [
        "251 queries of lightgbm-lambdarank, each scored by M with a model trained without it (five folds).",
        "Document lengths are generated; data, folds, seeds, rounds and test are fixed in benchmarks/learning.py.",
        f"Training on M scores higher in {won} of 20 cells; with p (Holm) below 0.05 in {sum(holm < 0.05)}.",
    ]
    return Table("Training on the metric, or on nDCG", columns, table, notes)


if __name__ == "__main__":
    main()
