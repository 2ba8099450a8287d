"""Read runs, judgments, lengths and duplicates from text, gzip, zstd and Parquet; errors name file and line."""

import os
import re
from collections.abc import Collection
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import MalformedFile
from .atomic import AnyPath
from .memory_limit import check_file, unpacked
from .pair_keys import first_repeat
from .parquet_tables import in_parquet, parquet_table
from .table_kinds import DUPLICATES, LENGTHS, QRELS, RUN, Kind, Place, empty, pair_in
from .text_tables import in_text, text_table

_MARKS = {"gzip": (".gz", b"\x1f\x8b"), "zstd": (".zst", b"\x28\xb5\x2f\xfd"), "parquet": (".parquet", b"PAR1")}
_UNREAD = {"bz2": rb"BZh[1-9](1AY&SY|\x17rE8P\x90)", "xz": rb"\xfd7zXZ\x00", "zip": rb"PK(\x03\x04|\x05\x06)"}


def read_run(path: AnyPath) -> pa.Table:
    """Reads a run: a TREC file (topic Q0 docno rank score tag) or Parquet, compressed or not.

    Returns query_id, doc_id, score, and doc_length and duplicate_of where a Parquet file has them, in the order of the
    file.

    The tag is the rest of the line, blanks included. Raises MalformedFile, with file and line, for whatever is not a
    run: a NaN score and a document twice in a query's ranking are among it, infinite scores are not.
    """
    return run_with(path, RUN.optional)


def run_with(path: AnyPath, extras: Collection[str]) -> pa.Table:
    """The same with these optional columns: what nobody asks for is not read, and may be broken."""
    table, place = _read(path, RUN.of(extras))
    _refuse_repeats(table, place, "document {doc_id!r} stands twice in the ranking of query {query_id!r}")
    return table


def read_qrels(path: AnyPath) -> pa.Table:
    """Reads judgments: a TREC file (topic iteration docno relevance) or Parquet, compressed or not.

    Returns query_id, doc_id, relevance (integers where all are whole, else floats), and iteration where it tells
    several intents apart. Raises MalformedFile, also where a pair is judged twice (for the same intent).
    """
    table, place = _read(path, QRELS)
    _refuse_infinite(table, place, "relevance", -np.inf)
    if "iteration" in table.column_names and len(table["iteration"].unique()) == 1:
        table = table.drop_columns("iteration")
    _refuse_repeats(table, place, "document {doc_id!r} is judged twice for query {query_id!r}")
    return table


def read_lengths(path: AnyPath) -> pa.Table:
    """Reads document lengths: two columns of text (tabs, commas or blanks), with a header or without, or Parquet.

    Returns doc_id, doc_length. Raises MalformedFile, also where a length is negative or not finite, or a document
    has two.
    """
    table, place = _read(path, LENGTHS)
    _refuse_infinite(table, place, "doc_length", 0.0)
    _refuse_repeats(table, place, "document {doc_id!r} has a second length")
    return table


def read_duplicates(path: AnyPath) -> pa.Table:
    """Reads which documents repeat others: two columns as for lengths, docno and duplicate_of or (by a header) cluster.

    Returns doc_id and either; nothing, or in text an empty field, stands where a document repeats none. Raises
    MalformedFile, also where a document stands twice.
    """
    table, place = _read(path, DUPLICATES)
    if table.num_columns < 2:
        raise MalformedFile(f"{os.fsdecode(path)}: no column duplicate_of or cluster, or nothing in it.")
    _refuse_repeats(table, place, "document {doc_id!r} stands there for a second time")
    return table


def find_runs(directory: AnyPath) -> list[Path]:
    """The files of a directory, sorted by name; hidden ones, ``_SUCCESS`` and its like, and folders are no runs."""
    try:
        runs = sorted(p for p in Path(directory).iterdir() if p.is_file() and is_data(p.name))
    except OSError as error:
        raise MalformedFile(f"{directory}: {error.strerror}") from error
    if not runs:
        raise MalformedFile(f"{directory}: no files in it, and so no runs")
    return runs


def is_data(name: str) -> bool:
    """Whether a file or folder of this name is part of the data, and neither hidden nor a note on them."""
    return not name.startswith((".", "_"))


def _read(path: AnyPath, kind: Kind) -> tuple[pa.Table, Place]:
    path = os.fsdecode(path)
    try:
        packing = packing_of(path)
        if packing == "parquet":
            table = parquet_table(path, kind)
            place: Place = partial(in_parquet, path)
        else:
            table, data = text_table(path, unpacked(path, packing), kind)
            place = partial(in_text, path, data)
    except (OSError, pa.ArrowException) as error:
        raise unreadable(path, error) from error
    if not table.num_rows and kind is not DUPLICATES:  # where nothing is repeated
        raise empty(path, kind)
    refuse_missing(table, place, kind)
    return table, place


def unreadable(path: str, error: Exception) -> MalformedFile:
    """What the system says of a file, or what Arrow does, of which not all know what it means."""
    reason = getattr(error, "strerror", None)
    return MalformedFile(f"{path}: {reason or f'{error}. Is it whole? If not, copy or write it again.'}")


def packing_of(path: str) -> str | None:
    """How a file is packed: gzip, zstd or parquet. Raises MalformedFile for other packings, and for no regular file."""
    check_file(path)
    with open(path, "rb") as file:
        head = file.read(10)
    other = next((name for name, mark in _UNREAD.items() if re.match(mark, head)), None)
    if other is not None:
        raise MalformedFile(
            f"{path}: is packed with {other}, which is not read: unpack it, or pack it with gzip or zstd."
        )
    return next((name for name, (end, mark) in _MARKS.items() if path.endswith(end) or head.startswith(mark)), None)


def refuse_missing(table: pa.Table, place: Place, kind: Kind) -> None:
    for column in table.column_names:
        row = pc.index(pc.is_null(table[column], nan_is_null=True), True).as_py()
        if row >= 0 and column not in kind.optional:
            value = "NaN" if table[column][row].is_valid else "null"
            raise MalformedFile(f"{place(row)}: {column} is {value} for {pair_in(table, row)}")


def _refuse_infinite(table: pa.Table, place: Place, column: str, least: float) -> None:
    """Raise MalformedFile where a number is infinite, or below the least."""
    values = table[column].cast(pa.float64(), safe=False)
    row = pc.index(pc.and_(pc.is_finite(values), pc.greater_equal(values, least)), False).as_py()
    if row >= 0:
        raise MalformedFile(f"{place(row)}: {column} is {values[row]} for {pair_in(table, row)}")


def _refuse_repeats(table: pa.Table, place: Place, message: str) -> None:
    row = _first_repeat(table)
    if row is not None:
        ids = {column: table[column][row].as_py() for column in table.column_names}
        raise MalformedFile(f"{place(row)}: {message.format(**ids)}")


def _first_repeat(table: pa.Table) -> int | None:
    """The row that repeats the query and the document of an earlier one."""
    documents = table["doc_id"].cast(pa.large_string()).combine_chunks()
    order, queries = None, np.zeros(len(documents), np.int32)
    for column in {"query_id", "iteration"} & {*table.column_names}:
        codes = table[column].combine_chunks().dictionary_encode().indices.to_numpy()
        queries = np.unique(queries * (int(codes.max()) + 1) + codes, return_inverse=True)[1].astype(np.int32)
    starts = _starts(queries)
    if len(starts) > queries.max(initial=0) + 1:
        order = np.argsort(queries, kind="stable")
        documents, starts = documents.take(pa.array(order)), _starts(queries[order])
    row = first_repeat(documents, starts)
    return row if row is None or order is None else int(order[row])


def _starts(queries: np.ndarray) -> np.ndarray:
    return np.append(0, np.flatnonzero(queries[1:] != queries[:-1]) + 1)
