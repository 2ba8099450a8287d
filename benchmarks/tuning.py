"""Measure settings per second of a grid search and of an Optuna study, and of retrieval and evaluation alone."""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import os
import re
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt
from sklearn.feature_extraction.text import CountVectorizer

from benchmarks.report import Table, keep, progress, seconds, show
from pyterrier_cwla import TBG, demo
from pyterrier_cwla.files.formats import read_qrels
from pyterrier_cwla.measures.provider import CWLAProvider
from pyterrier_cwla.pipelines.optuna_search import OptunaSearch

DATA = Path(os.environ.get("PYTERRIER_CWLA_DATA", Path(__file__).parents[2] / "shared" / "data")) / "vaswani"
K1, B = (0.1, 3.0), (0.0, 1.0)


@dataclass(frozen=True)
class Task:
    """Collection with topics and judgments, and a pipeline to tune on it."""

    name: str
    topics: pd.DataFrame
    qrels: pd.DataFrame
    pipeline: Reweighed

    side: int
    """Number of values of each parameter in the grid."""

    @classmethod
    def of(cls, name: str, documents: pd.DataFrame, topics: pd.DataFrame, qrels: pd.DataFrame, side: int) -> Task:
        """Build the pipeline for a collection."""
        return cls(name, topics, qrels, Reweighed(documents, topics), side)

    @property
    def grid(self) -> dict[str, list[float]]:
        """Values of each parameter."""
        return {"k1": np.linspace(*K1, self.side).tolist(), "b": np.linspace(*B, self.side).tolist()}

    @cached_property
    def runs(self) -> list[pd.DataFrame]:
        """Results of the pipeline for each setting of the grid."""
        return [self.retrieved(k1, b) for k1, b in product(*self.grid.values())]

    def retrieved(self, k1: float, b: float) -> pd.DataFrame:
        """Return the results for one setting."""
        self.pipeline.k1, self.pipeline.b = k1, b
        return self.pipeline.transform(self.topics)


class Reweighed(pt.Transformer):
    """Re-ranking of BM25 results by BM25 with other k1 and b, without a new index."""

    def __init__(self, documents: pd.DataFrame, topics: pd.DataFrame, k1: float = 1.2, b: float = 0.75) -> None:
        self.k1, self.b = k1, b
        self.candidates = demo.BM25(demo.Index.of(documents)).transform(topics)
        words = CountVectorizer()
        counts = words.fit_transform(documents["text"])
        asked = (words.transform(topics["query"]) > 0).astype(int)
        place = pd.Index(documents["docno"]).get_indexer(self.candidates["docno"])
        query = pd.Index(topics["qid"]).get_indexer(self.candidates["qid"])
        postings = counts[place].multiply(asked[query]).tocoo()
        documents_with = counts.getnnz(axis=0)
        self._row, self._tf = postings.row, postings.data
        self._idf = np.log1p((len(documents) - documents_with + 0.5) / (documents_with + 0.5))[postings.col]
        length = np.asarray(counts.sum(axis=1)).ravel()
        self._length = (length / length.mean())[place][self._row]

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the results for the topics of the constructor with the current k1 and b."""
        saturation = self.k1 * (1 - self.b + self.b * self._length)
        weight = self._idf * self._tf * (self.k1 + 1) / (self._tf + saturation)
        scores = np.bincount(self._row, weight, minlength=len(self.candidates))
        return pt.model.add_ranks(self.candidates.assign(score=scores))

    def __repr__(self) -> str:
        return "Reweighed()"


def main() -> None:
    """Run the benchmark with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tuning", description=__doc__)
    parser.add_argument("--side", type=int, default=6, help="number of values of each of the two parameters")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--markdown", type=Path, help="write the tables to this Markdown file")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    tables = [table(task, chosen.repeats, chosen.seed) for task in _tasks(chosen.side, chosen.seed)]
    show(tables)
    if chosen.markdown:
        keep(chosen.markdown, tables)


def table(task: Task, repeats: int, seed: int) -> Table:
    """Time all ways in turn."""
    settings = len(task.runs)
    ways: dict[str, Callable[[], float | None]] = {
        "pt.GridSearch": lambda: _grid(task),
        "OptunaSearch": lambda: _study(task, seed),
        "retrieval alone, with the settings of the grid": lambda: _retrieval(task),
        "evaluation alone, of these results": lambda: _evaluation(task),
    }
    times: dict[str, list[float]] = {way: [] for way in ways}
    best: dict[str, float | None] = {}
    for repeat in range(repeats):
        for way, work in ways.items():
            task.pipeline.k1, task.pipeline.b = 1.2, 0.75
            gc.collect()
            start = time.perf_counter()
            best[way] = work()
            times[way].append((time.perf_counter() - start) / settings)
            progress(f"{task.name} {repeat + 1}/{repeats}: {way} {seconds(times[way][-1])} a setting")
    medians = {way: statistics.median(taken) for way, taken in times.items()}
    rows = [
        (way, f"{1 / median:,.1f}", seconds(median), "" if best[way] is None else f"{best[way]:.4f}")
        for way, median in medians.items()
    ]
    notes = [
        f"{len(task.topics)} topics, {len(task.runs[0]):,} candidates; {settings} settings of k1 in {K1} and b in"
        f" {B}, from a grid or chosen by the study.",
        "Retrieval re-weights the postings of the candidates and ranks. Evaluation computes TBG with lengths from a"
        " column; evaluation alone prepares the judgments once.",
    ]
    return Table(f"Tuning on {task.name}", ("way", "settings a second", "a setting", "best TBG"), rows, notes)


def _tasks(side: int, seed: int) -> Iterator[Task]:
    progress("generating a collection")
    made = demo.collection(seed, documents=5000, topics=100)
    yield Task.of("generated data", made.documents, made.topics, made.qrels, side)
    if DATA.is_dir():
        progress("reading vaswani")
        yield Task.of("vaswani", *_vaswani(), side)


def _vaswani() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    texts = re.findall(r"<DOCNO>(.*?)</DOCNO>\n(.*?)</DOC>", (DATA / "doc-text.trec").read_text(), re.DOTALL)
    queries = re.findall(r"<num>(.*?)</num><title>\s*(.*?)\s*</title>", (DATA / "query-text.trec").read_text())
    documents = pd.DataFrame(texts, columns=["docno", "text"])
    return (
        documents.assign(doc_length=documents["text"].str.split().str.len()),
        pd.DataFrame(queries, columns=["qid", "query"]),
        pt.model.from_ir_measures(read_qrels(DATA / "qrels").to_pandas()),
    )


def _grid(task: Task) -> float:
    search: Any = pt.GridSearch  # its type annotations require all arguments
    with contextlib.redirect_stdout(io.StringIO()):
        grid = {task.pipeline: task.grid}
        best, _ = search(task.pipeline, grid, task.topics, task.qrels, TBG, return_type="best_setting")
    return best


def _study(task: Task, seed: int) -> float:
    params = {task.pipeline: {"k1": K1, "b": B}}
    given: dict[str, Any] = {"trials": len(task.runs), "seed": seed, "verbose": False}
    return OptunaSearch(task.pipeline, params, task.topics, task.qrels, TBG, **given).value


def _retrieval(task: Task) -> None:
    for k1, b in product(*task.grid.values()):
        task.retrieved(k1, b)


def _evaluation(task: Task) -> float:
    evaluator = CWLAProvider().evaluator([TBG], pt.model.to_ir_measures(task.qrels))
    return max(evaluator.calc_aggregate(pt.model.to_ir_measures(run))[TBG] for run in task.runs)


if __name__ == "__main__":
    main()
