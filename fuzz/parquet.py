"""Parquet files with changed bytes: accepted files hold valid values, equal to those that polars reads."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from pyterrier_cwla.files.formats import read_duplicates, read_lengths, read_qrels, read_run

from .found import Wrong, result_of, scratch

_READERS: dict[str, Callable[[Any], pa.Table]] = {
    "score": read_run,
    "relevance": read_qrels,
    "doc_length": read_lengths,
    "duplicate_of": read_duplicates,
}
_TABLES = [
    {"qid": ["1", "1", "2"], "docno": ["a", "b", "a"], "score": [3.0, 2.5, -1.0]},
    {"query_id": ["q"] * 40, "doc_id": [f"d{n}" for n in range(40)], "score": [n / 7 for n in range(40)]},
    {
        "qid": ["1", "1"],
        "docno": ["a", "b"],
        "score": [3.0, 2.5],
        "doc_length": [10.0, None],
        "duplicate_of": [None, "a"],
    },
    {"qid": ["1", "1", "2"], "docno": ["a", "b", "a"], "label": [1, 0, -2]},
    {"docno": ["a", "b"], "words": [100, 20]},
    {"docno": ["a", "b", "c"], "duplicate_of": ["b", None, "b"]},
]
_OPTIONS: list[dict[str, Any]] = [{}, {"compression": "zstd"}, {"compression": "none", "use_dictionary": False},
            {"compression": "gzip", "row_group_size": 1}, {"data_page_version": "2.0"}, {"write_page_checksum": True}]  # fmt: skip


def _written(table: Any, options: dict[str, Any]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(table), sink, **options)
    return sink.getvalue()


EXAMPLES = [_written(table, options) for table in _TABLES for options in _OPTIONS]
TOKENS = [
    b"PAR1",
    b"\xff\xff\xff\x7f",
    b"\xff\xff\xff\xff\x07",
    b"\x15\x04",
    b"\0" * 4,
    b"\x80\x80\x80\x80\x10",
    b"qid",
    b"docno",
]


def grammar(rng: random.Random) -> bytes:
    """Return a valid file with columns of many types."""
    n = rng.choice((0, 1, 2, 3, 5))
    ids = [
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.int64(),
        pa.binary(),
        pa.dictionary(pa.int8(), pa.string()),
    ]
    kinds = [pa.float64(), pa.float32(), pa.int8(), pa.int64(), pa.uint64(), pa.string(), pa.bool_(), pa.float16(),
             pa.timestamp("s"), pa.list_(pa.float64()), pa.decimal128(20, 3)]  # fmt: skip
    columns: dict[str, pa.Array] = {}
    for name in rng.choice(
        (("qid", "docno", "score"), ("qid", "docno", "label"), ("docno", "words"), ("docno", "cluster"))
    ):
        usual = name in ("qid", "docno", "cluster")
        kind = rng.choice(ids if usual else kinds) if rng.random() < 0.5 else pa.string() if usual else pa.float64()
        values = [rng.choice(("a", "b", "c", "d", "1", None if rng.random() < 0.1 else "e")) for _ in range(n)]
        with suppress(pa.ArrowException, ValueError, TypeError):
            if usual:
                columns[name] = pa.array(values, pa.string()).cast(kind)
            else:
                numbers = [rng.choice((0, 1, 2, 3.5, -1, None, float("nan"), 2**60)) for _ in range(n)]
                columns[name] = pa.array(numbers, pa.float64()).cast(kind, safe=False)
    try:
        return _written(columns, rng.choice(_OPTIONS)) if columns else rng.choice(EXAMPLES)
    except (pa.ArrowException, ValueError):
        return rng.choice(EXAMPLES)


def one_input(data: bytes) -> bool:
    """Test one input; return whether it is a valid run, judgments, lengths or duplicates."""
    path = scratch(data, "input.parquet")
    accepted = False
    for value, read in _READERS.items():
        found = result_of(lambda read=read: read(path).to_pydict(), str(path))  # type: ignore[misc]
        if isinstance(found, Exception):
            continue
        accepted = True
        ids = [name for name in ("query_id", "doc_id", "iteration") if name in found]
        rows = list(zip(*(found[name] for name in ids), strict=True))
        if len(set(rows)) < len(rows) or any(not isinstance(one, str) for row in rows for one in row):
            raise Wrong(f"{read.__name__}: {found}")
        if (
            value in found
            and value != "duplicate_of"
            and not all(one == one and one is not None for one in found[value])
        ):
            raise Wrong(f"{read.__name__}: no number in {found}")
        _like_polars(data, found)
    return accepted


def _like_polars(data: bytes, found: dict[str, list]) -> None:
    names = {"query_id": ("query_id", "qid"), "doc_id": ("doc_id", "docno", "id"), "score": ("score",),
             "relevance": ("relevance", "label"), "doc_length": ("doc_length", "length", "words")}  # fmt: skip
    try:
        frame = pl.read_parquet(io.BytesIO(data), use_pyarrow=False)
    except BaseException as error:  # panics of Rust are no Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        return
    for column, values in found.items():
        name = next((name for name in names.get(column, ()) if name in frame.columns), None)
        if name is None or frame[name].dtype.to_python() not in (str, float, int):
            continue
        theirs = frame[name].to_list()
        if column not in ("query_id", "doc_id"):  # numbers stored as text, and integers read as floats
            theirs = [
                given if None in (value, given) else type(value)(given)
                for value, given in zip(values, theirs, strict=True)
            ]
        if values != theirs and not (column == "doc_length" and "score" in found):
            raise Wrong(f"{column} is {values!r:.300}, and {theirs!r:.300} in polars")
