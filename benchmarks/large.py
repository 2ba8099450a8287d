"""Generation of runs of any size as Parquet files, in chunks, and of judgments for them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

DEPTH = 1000
PRIME = 4_420_903  # documents with even numbers; prime, so that multiples of any step differ
_PIECE = 500  # queries per chunk


def write(
    folder: Path, runs: int, queries: int, seed: int = 0, row_group: int = 1 << 20, prime: int = PRIME
) -> pd.DataFrame:
    """Write runs with 1000 documents per query, one file per run; return judgments, two per query.

    Most row groups end in the middle of a query.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(runs):
        _write_run(folder / f"run{number}.parquet", queries, np.random.default_rng([seed, number]), row_group, prime)
    relevant = np.stack([_relevant(np.arange(queries), nth, prime) for nth in range(2)], axis=1)
    return pd.DataFrame(
        {"query_id": _text(np.repeat(np.arange(queries), 2)), "doc_id": _text(relevant.ravel()), "relevance": 1}
    )


def _write_run(path: Path, queries: int, rng: np.random.Generator, row_group: int, prime: int) -> None:
    schema = pa.schema({"query_id": pa.string(), "doc_id": pa.string(), "score": pa.float64()})
    with pa.parquet.ParquetWriter(path, schema) as file:
        waiting = schema.empty_table()
        for start in range(0, queries, _PIECE):
            waiting = pa.concat_tables([waiting, _rows(np.arange(start, min(start + _PIECE, queries)), rng, prime)])
            while len(waiting) >= row_group:
                file.write_table(waiting.slice(0, row_group), row_group)
                waiting = waiting.slice(row_group)
        if len(waiting):
            file.write_table(waiting, row_group)


def _rows(query: np.ndarray, rng: np.random.Generator, prime: int) -> pa.Table:
    """Rows without duplicates within a query; relevant documents have odd numbers, others even numbers."""
    start, step = rng.integers(1, prime, (2, len(query), 1))
    docs = 2 * ((start + step * np.arange(DEPTH)) % prime)
    for nth in range(2):
        rank = (DEPTH // 2 * nth + (DEPTH / 2) ** rng.random(len(query))).astype(int) - 1
        docs[np.arange(len(query)), rank] = _relevant(query, nth, prime)
    scores = rng.uniform(20, 30, (len(query), 1)) - np.cumsum(rng.uniform(0.005, 0.015, docs.shape), axis=1)
    columns = {"query_id": np.repeat(query, DEPTH), "doc_id": docs.ravel()}
    return pa.table({**{name: _text(ids) for name, ids in columns.items()}, "score": scores.ravel()})


def _relevant(query: np.ndarray, nth: int, prime: int) -> np.ndarray:
    return 2 * ((query * 7919 + nth * 104_729) % prime) + 1


def _text(numbers: np.ndarray) -> pa.Array:
    return pa.array(numbers).cast(pa.string())
