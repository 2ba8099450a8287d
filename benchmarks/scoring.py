"""Time a scikit-learn grid search scored by time-biased gain, and the share of scoring in it."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from threadpoolctl import threadpool_limits

from benchmarks.report import Table, keep, progress, seconds, show
from pyterrier_cwla.learning.scorers import Scorer, predicted, scorer

MEASURE = "TBG(half_life=120)"
QUERIES, FEATURES, FOLDS = 200, 50, 5


def main() -> None:
    """Run the benchmark with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scoring", description=__doc__)
    parser.add_argument("--candidates", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--markdown", type=Path, help="write the table to this Markdown file")
    chosen = parser.parse_args()
    tables = [search(chosen.candidates, chosen.seed)]
    show(tables)
    if chosen.markdown:
        keep(chosen.markdown, tables)


def search(candidates: int, seed: int) -> Table:
    """Time a search with each learner, split into fitting, prediction and scoring."""
    X, y = labelled(seed)
    rows = []
    for name, learner, grid in _learners(candidates):
        timed = _Timed(scorer(MEASURE))
        found = GridSearchCV(learner, grid, scoring=timed, cv=GroupKFold(FOLDS), refit=False)
        start = time.perf_counter()
        with threadpool_limits(1):
            found.fit(X, y, groups=y.index.get_level_values("qid"))
        whole = time.perf_counter() - start
        fits = candidates * FOLDS
        learning = float(found.cv_results_["mean_fit_time"].sum()) * FOLDS
        rows.append((name, seconds(whole), seconds(learning / fits), seconds(timed.predicting / fits),
                     seconds(timed.scoring / fits), f"{timed.scoring / whole:.1%}"))  # fmt: skip
        progress(f"{name}: {seconds(whole)}")
    return Table(
        "Scoring in a grid search",
        ("learner", "search", "one fit", "one prediction", "one scoring", "share of scoring"),
        rows,
        [
            f"{candidates} candidates x {FOLDS} folds, GridSearchCV, {MEASURE}; {QUERIES} queries, {len(y):,} rows,"
            f" {FEATURES} features; one process, one thread.",
            "Scoring: all steps of the scorer after the prediction (checks, alignment, measure and mean).",
        ],
    )


def labelled(seed: int) -> tuple[np.ndarray, pd.Series]:
    """Return features that predict the grades 0 to 3 in part, and the grades with query ids and lengths as index."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(QUERIES), rng.integers(20, 101, QUERIES))
    X = rng.normal(size=(len(qid), FEATURES))
    relevance = X[:, :5].sum(axis=1) + np.abs(X[:, 5]) * X[:, 6] + rng.normal(0, 2, len(qid))
    grades = np.digitize(relevance, [1, 3, 5])
    words = np.ceil(rng.lognormal(5.8, 0.8, len(qid)))
    return X, pd.Series(grades, pd.MultiIndex.from_arrays([qid.astype(str), words], names=["qid", "doc_length"]))


def _learners(candidates: int) -> list[tuple[str, Any, dict[str, Any]]]:
    from lightgbm import LGBMRegressor

    boosted = LGBMRegressor(n_estimators=100, n_jobs=1, verbose=-1)
    rates, leaves = np.geomspace(0.02, 0.3, max(candidates // 5, 1)), [7, 15, 31, 47, 63][: min(candidates, 5)]
    return [
        ("LGBMRegressor, 100 trees", boosted, {"learning_rate": rates, "num_leaves": leaves}),
        ("Ridge", Ridge(), {"alpha": np.geomspace(1e-3, 1e3, candidates)}),
    ]


class _Timed:
    """Scorer that adds up the seconds of predictions and of scoring."""

    def __init__(self, timed: Scorer) -> None:
        self.scorer, self.predicting, self.scoring = timed, 0.0, 0.0

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        start = time.perf_counter()
        known = Known(predicted(estimator, X))
        between = time.perf_counter()
        value = self.scorer(known, X, y)
        self.predicting += between - start
        self.scoring += time.perf_counter() - between
        return value

    def __deepcopy__(self, memo: Any) -> _Timed:
        return self


class Known(RegressorMixin, BaseEstimator):
    """Estimator that returns a given prediction."""

    def __init__(self, prediction: np.ndarray) -> None:
        self.prediction = prediction

    def predict(self, X: Any) -> np.ndarray:
        """Return the prediction."""
        return self.prediction


if __name__ == "__main__":
    main()
