"""Runs and judgments for the benchmarks, generated from a seed without Python strings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

DEPTH = 1000
RUN_COLUMNS = ("query_id", "doc_id", "score")
QREL_COLUMNS = ("query_id", "doc_id", "relevance")


@dataclass(frozen=True)
class Workload:
    """Runs with common judgments; rows are sorted by query and decreasing score, without ties."""

    name: str
    description: str
    qrels: pd.DataFrame
    runs: Sequence[pd.DataFrame]

    @property
    def queries(self) -> int:
        """Number of queries per run."""
        return len(self.runs[0]) // DEPTH

    @property
    def rows(self) -> int:
        """Number of rows of all runs."""
        return sum(map(len, self.runs))

    def first(self, queries: int | None = None, runs: int | None = None) -> Workload:
        """Return the part with the first queries or the first runs only."""
        frames, qrels = self.runs[:runs], self.qrels
        if queries is not None:
            frames = [run.iloc[: queries * DEPTH] for run in frames]
            qrels = qrels[qrels["query_id"].isin(frames[0]["query_id"].iloc[::DEPTH])]
        return replace(self, qrels=qrels, runs=frames)

    def fresh(self, run_columns: Sequence[str] = RUN_COLUMNS) -> Workload:
        """Return the same values in new buffers, so that no cached result applies."""
        runs = [_fresh(run, run_columns) for run in self.runs]
        return replace(self, qrels=_fresh(self.qrels, QREL_COLUMNS), runs=runs)


def build(name: str, seed: int) -> Workload:
    """Build the workload S, M or L."""
    return {"S": _small, "M": _large, "L": _many}[name](seed)


def times_larger(factor: int, seed: int) -> Workload:
    """Build M with `factor` times its queries and rows."""
    return _large(seed, queries=6980 * factor, name=f"{factor} x M")


def text(column: pd.Series) -> pa.Array:
    """Return the strings of a column as one Arrow array."""
    array = pa.array(column)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _small(seed: int) -> Workload:
    qrels, (run,) = _pooled(seed, runs=1)
    return Workload("S", "1 run, 50 queries x 1000 retrieved, 1500 judgments a query", qrels, [run])


def _many(seed: int) -> Workload:
    qrels, runs = _pooled(seed, runs=100)
    return Workload("L", "100 runs like S over the same judgments", qrels, runs)


def _pooled(seed: int, runs: int, queries: int = 50, judged: int = 1500) -> tuple[pd.DataFrame, list[pd.DataFrame]]:
    """Pooled collection: 30 % of judged documents are relevant; about 60 % of retrieved documents are judged."""
    rng = np.random.default_rng(seed)
    collection, unjudged = 528_155, 3000
    words = np.ceil(rng.lognormal(5.8, 0.8, collection))
    known = np.stack([rng.choice(collection, judged + unjudged, replace=False) for _ in range(queries)])
    grade = rng.choice(4, size=(queries, judged), p=(0.70, 0.15, 0.10, 0.05))
    topic = np.arange(301, 301 + queries)
    qrels = pd.DataFrame(
        {
            "query_id": _strings(np.repeat(topic, judged)),
            "doc_id": _strings(known[:, :judged].ravel(), prefix="FT911-"),
            "relevance": grade.ravel(),
        }
    )
    liking = np.zeros(known.shape)
    liking[:, :judged] = 0.9 + 0.25 * grade
    frames = []
    for _ in range(runs):
        best = np.argsort(-(liking + rng.normal(size=known.shape)), axis=1)[:, :DEPTH]
        frames.append(_run(rng, topic, np.take_along_axis(known, best, axis=1), words, prefix="FT911-"))
    return qrels, frames


def _large(seed: int, queries: int = 6980, name: str = "M") -> Workload:
    """Similar to MS MARCO passages: numeric ids, 1 to 3 relevant documents per query, 87 % of them retrieved."""
    rng = np.random.default_rng(seed)
    collection = 8_841_823
    words = np.ceil(rng.lognormal(3.9, 0.5, collection))
    query = rng.choice(1_200_000, queries, replace=False)
    docs = rng.integers(0, collection, (queries, DEPTH))
    while len(again := _rows_with_repeats(docs)):
        docs[again] = rng.integers(0, collection, (len(again), DEPTH))

    row = np.repeat(np.arange(queries), rng.choice((1, 2, 3), queries, p=(0.94, 0.05, 0.01)))
    rank = (DEPTH ** rng.random(len(row))).astype(int) - 1
    retrieved = rng.random(len(row)) < 0.87
    relevant = np.where(retrieved, docs[row, rank], rng.integers(0, collection, len(row)))
    row, relevant = np.unique(np.stack([row, relevant]), axis=1)
    grade = np.ones_like(row)
    qrels = pd.DataFrame({"query_id": _strings(query[row]), "doc_id": _strings(relevant), "relevance": grade})
    description = f"1 run, {queries:,} queries x {DEPTH} retrieved, 1 to 3 judgments a query"
    return Workload(name, description, qrels, [_run(rng, query, docs, words)])


def _rows_with_repeats(docs: np.ndarray) -> np.ndarray:
    ordered = np.sort(docs, axis=1)
    return np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))


def _run(
    rng: np.random.Generator, query: np.ndarray, docs: np.ndarray, words: np.ndarray, prefix: str = ""
) -> pd.DataFrame:
    """Run that retrieves `docs`, shape (queries, ranks); `words` are the lengths of all documents."""
    steps = rng.uniform(0.005, 0.015, docs.shape)
    scores = rng.uniform(20, 30, (len(query), 1)) - np.cumsum(steps, axis=1)
    return pd.DataFrame(
        {
            "query_id": _strings(np.repeat(query, docs.shape[1])),
            "doc_id": _strings(docs.ravel(), prefix),
            "score": scores.ravel(),
            "doc_length": words[docs.ravel()],
        }
    )


def _strings(numbers: np.ndarray, prefix: str = "") -> pd.Series:
    digits = pa.array(numbers).cast(pa.large_string())
    start, between = pa.scalar(prefix, pa.large_string()), pa.scalar("", pa.large_string())
    return _series(pc.binary_join_element_wise(start, digits, between))


def _fresh(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    return pd.DataFrame({name: _new_buffers(frame[name]) for name in columns})


def _new_buffers(column: pd.Series) -> pd.Series:
    """Deep copy of a column; the deep copy of pandas shares the buffers of strings."""
    if column.dtype != "str":
        return pd.Series(column.to_numpy(copy=True))
    array = text(column)
    return _series(pa.concat_arrays([array[:1], array[1:]]))


def _series(array: pa.Array) -> pd.Series:
    return pa.table({"text": array}).to_pandas()["text"]
