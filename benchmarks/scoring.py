"""Time a scikit-learn grid search scored by time-biased gain, the share of scoring in it, and single scorings."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from threadpoolctl import threadpool_limits

from benchmarks.report import Table, keep, progress, seconds, show
from pyterrier_cwla import score
from pyterrier_cwla.learning.scorers import Scorer, predicted, scorer
from pyterrier_cwla.measures.declarations import metric_of
from pyterrier_cwla.measures.named import measures_of
from pyterrier_cwla.model.view import Documents

MEASURE = "TBG(half_life=120)"
QUERIES, FEATURES, FOLDS = 200, 50, 5
MEASURES = ("AP", "ERR", "nDCG@10", "INST(max_rel=3)", "RBP(rel=1)", "TBG")
DOCUMENTS = 100  # of each query in a single scoring


def main() -> None:
    """Run the benchmark with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scoring", description=__doc__)
    parser.add_argument("--candidates", type=int, default=100)
    parser.add_argument("--scorings", type=int, default=300, help="single scorings with each measure")
    parser.add_argument("--skip", choices=["search"], help="leave the searches out")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--markdown", type=Path, help="write the tables to this Markdown file")
    chosen = parser.parse_args()
    tables = [] if chosen.skip == "search" else [search(chosen.candidates, chosen.seed)]
    with threadpool_limits(1):
        tables.append(single(chosen.scorings, chosen.seed))
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


def single(scorings: int, seed: int) -> Table:
    """Time scorings of one fold beside scores of arrays that are sorted already, in turn."""
    rng = np.random.default_rng(seed)
    shape = (QUERIES, DOCUMENTS)
    grades = (rng.random(shape) < 0.2) * rng.integers(1, 4, shape)
    words = np.ceil(rng.lognormal(5.8, 0.8, shape))
    qid = np.repeat(np.arange(QUERIES), DOCUMENTS).astype(str)
    y = pd.Series(grades.ravel(), pd.MultiIndex.from_arrays([qid, words.ravel()], names=["qid", "doc_length"]))
    queries = QUERIES // FOLDS
    test, X = np.arange(queries * DOCUMENTS), np.zeros((queries * DOCUMENTS, 1))
    rows, more = [], []
    for measure in MEASURES:
        laps, scored = [], scorer(measure)
        for lap in range(-2, scorings):  # the first two do not count
            prediction = rng.normal(size=len(test)).astype(np.float32)  # scorers compare predictions as such
            order = np.argsort(-prediction.reshape(queries, DOCUMENTS), axis=1, kind="stable")
            of_arrays = _of_arrays(measure, *(np.take_along_axis(one[:queries], order, 1) for one in (grades, words)))
            labels = y.iloc[test]  # a search takes them out of the data for each scoring
            others = pd.Series(rng.permutation(labels), labels.index)  # rows that were not scored before
            again, first = (partial(scored, Known(prediction), X, one) for one in (labels, others))
            assert np.isclose(again(), of_arrays().mean(), rtol=1e-12)
            times = [_timed(call) for call in (again, of_arrays, first)]
            if lap >= 0:
                laps.append(times)
        usual, ready, new = (statistics.median(lap) for lap in zip(*laps, strict=True))
        ratio = statistics.median(lap[0] / lap[1] for lap in laps)
        rows.append((measure, f"{1e3 * usual:.2f} ms", f"{1e3 * ready:.2f} ms", f"{ratio:.1f}"))
        more.append(new - usual)
    return Table(
        f"A scoring of {queries} queries x {DOCUMENTS} documents",
        ("measure", "scorer", "ready arrays", "ratio"),
        rows,
        [
            "One call of a scorer, with labels of a fold that was scored before and with new predictions, and one of"
            " `score` with matrices of grades (for TBG also of efforts) in rank order.",
            f"The first scoring of a fold takes {1e3 * min(more):.1f} to {1e3 * max(more):.1f} ms more.",
            f"A fifth of the documents have grades from 1 to 3; processor time; medians of {scorings} calls.",
        ],
    )


def _timed(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def _of_arrays(measure: str, grades: np.ndarray, words: np.ndarray) -> Callable[[], np.ndarray]:
    """Return the call of `score` for a measure, with all options as texts and numbers."""
    metric = metric_of(measures_of([measure])[0], int(grades.max()))
    names = [
        name for name in ("C", "A", "gain", "norm", "end", "cutoff", "max_rel") if getattr(metric, name) is not None
    ]
    choices = {name: getattr(metric, name) for name in names}
    options: dict[str, Any] = {name: value if isinstance(value, int) else str(value) for name, value in choices.items()}
    if not metric.unit_effort:
        options["efforts"] = metric.efforts(Documents(grades, lambda: words))
    return partial(score, grades, **options)


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
