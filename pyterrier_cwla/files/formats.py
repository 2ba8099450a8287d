"""Formats of files, and readers of runs, judgments, tables of documents and PISA indexes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import BadParameter, MalformedFile
from .arrow_arrays import filled, first_row, one_chunk, to_numpy
from .atomic import AnyPath
from .id_columns import PairKeys, written
from .memory_limit import open_file, unpacked
from .table_readers import (
    DUPLICATES,
    LENGTHS,
    QRELS,
    RUN,
    Place,
    TableKind,
    empty,
    json_table,
    pair_in,
    parquet_table,
    table_of_kind,
    text_table,
)


@dataclass(frozen=True)
class FileFormat:
    """Format of the files of runs, judgments and tables of documents.

    Attributes
    ----------
    name : str
        Name for error messages.
    suffix : str
        End of file names, which is no part of the name of a run.
    mark : bytes
        First bytes of a file.
    codec : str, optional
        Compression of text, as Arrow names it.
    read : callable, optional
        Function from a path and a kind of table to an Arrow table with the names and types of the file, which may have
        more columns than the kind. By default, the file is text. Text and Parquet are read in parts; files of other
        formats are read completely.
    """

    name: str
    suffix: str = ""
    mark: bytes = b""
    codec: str | None = None
    read: Callable[[str, TableKind], pa.Table] | None = None


TEXT = FileFormat("text")
JSON = FileFormat("json", ".json", b'{"', read=json_table)
FORMATS = [
    FileFormat("gzip", ".gz", b"\x1f\x8b", codec="gzip"),
    FileFormat("zstd", ".zst", b"\x28\xb5\x2f\xfd", codec="zstd"),
    FileFormat("parquet", ".parquet", b"PAR1", read=parquet_table),
    JSON,
]
"""Formats that are recognised by their first bytes, or else by their suffix; all other files are text."""
_UNREAD = {"bz2": rb"BZh[1-9](1AY&SY|\x17rE8P\x90)", "xz": rb"\xfd7zXZ\x00", "zip": rb"PK(\x03\x04|\x05\x06)"}


def read_run(path: AnyPath, split: str | None = None) -> pa.Table:
    """Read a run.

    Parameters
    ----------
    path : path
        TREC file (topic Q0 docno rank score tag), Parquet file, or JSON file of dicts: ``{query: {document: score}}``,
        or MTEB's predictions, which are such dicts by subset and split. The tag is the rest of the line and may contain
        blanks. Text and JSON may be compressed by gzip or zstd; names of compressed JSON end in .json.gz or .json.zst.
    split : str, optional
        Subset and split to read of a JSON file that has several: ``"en/test"``, or one of the two names if it is
        unique. Without effect on other files.

    Returns
    -------
    pyarrow.Table
        Columns query_id, doc_id and score, in the order of the file; also doc_length, duplicate_of and doc_cost if a
        Parquet file has them.

    Raises
    ------
    MalformedFile
        If the file is not a run, has a NaN score, or has a document twice in the ranking of a query. The message names
        the file and the line. Infinite scores are allowed.
    BadParameter
        If a file has several splits, and none or an unknown one is chosen. The message lists them.

    Examples
    --------
    >>> import json, tempfile
    >>> path = f"{tempfile.mkdtemp()}/Task_predictions.json"
    >>> with open(path, "w") as file:
    ...     json.dump({"en": {"dev": {"1": {"a": 0.5}}, "test": {"2": {"b": 0.75}}}}, file)
    >>> read_run(path, split="test").to_pylist()
    [{'query_id': '2', 'doc_id': 'b', 'score': 0.75}]
    """
    return read_table(path, replace(RUN, split=split))


def run_with(path: AnyPath, extras: Collection[str], check: bool = True) -> pa.Table:
    """Read a run with the optional columns `extras`; other optional columns are neither read nor checked.

    With ``check=False``, documents may occur twice in the ranking of a query.
    """
    return read_table(path, RUN.with_extras(extras), check)


def read_qrels(path: AnyPath, split: str | None = None) -> pa.Table:
    """Read judgments.

    Parameters
    ----------
    path : path
        TREC file (topic iteration docno relevance) or BEIR's TSV file with the header query-id, corpus-id, score, plain
        or compressed by gzip or zstd; Parquet file; or JSON file of dicts: ``{query: {document: grade}}``. Parquet and
        text with a header may have probabilities: a column p_relevant, or columns p_0, p_1, … of all grades.
    split : str, optional
        Subset and split to read of a JSON file that has several, as for :func:`read_run`.

    Returns
    -------
    pyarrow.Table
        Columns query_id, doc_id, relevance (integers if all grades are whole, else floats), iteration if the file has
        several intents, and probabilities if it has them.

    Raises
    ------
    MalformedFile
        If the file does not contain judgments, or if a pair is judged twice (for the same intent).
    """
    table = read_table(path, replace(QRELS, split=split))
    one_intent = "iteration" in table.column_names and len(table["iteration"].unique()) == 1
    return table.drop_columns("iteration") if one_intent else table


def read_lengths(path: AnyPath) -> pa.Table:
    """Read document lengths.

    Parameters
    ----------
    path : path
        Text file with two columns (separated by tabs, commas or blanks), with or without a header, or Parquet file.

    Returns
    -------
    pyarrow.Table
        Columns doc_id and doc_length.

    Raises
    ------
    MalformedFile
        If the file does not contain lengths, if a length is negative or not finite, or if a document has two.
    """
    return read_table(path, LENGTHS)


def read_duplicates(path: AnyPath) -> pa.Table:
    """Read a table of duplicate documents.

    Parameters
    ----------
    path : path
        File with two columns, in the formats of :func:`read_lengths`: docno and duplicate_of, or docno and cluster if a
        header names them. An empty field or null marks a document without duplicates.

    Returns
    -------
    pyarrow.Table
        Columns doc_id, and duplicate_of or cluster.

    Raises
    ------
    MalformedFile
        If the file does not contain duplicates, or if a document stands in two rows.
    """
    return read_table(path, DUPLICATES)


def find_runs(directory: AnyPath) -> list[Path]:
    """Return the run files of a directory, sorted by name.

    Parameters
    ----------
    directory : path
        Directory of runs.

    Returns
    -------
    list of Path
        All files, without folders, hidden files, and files such as ``_SUCCESS`` that start with an underscore.

    Raises
    ------
    MalformedFile
        If the directory cannot be read or has no files.
    """
    try:
        runs = sorted(p for p in Path(directory).iterdir() if p.is_file() and is_data(p.name))
    except OSError as error:
        raise MalformedFile(f"{directory}: {error.strerror}") from error
    if not runs:
        raise MalformedFile(f"{directory}: no files in it, and so no runs")
    return runs


def is_data(name: str) -> bool:
    """Return whether a file or folder is part of the data: its name starts with neither a dot nor an underscore."""
    return not name.startswith((".", "_"))


def read_table(path: AnyPath, kind: TableKind, check: bool = True) -> pa.Table:
    """Read a table of a kind from a file; the tables of :func:`read_run` and the other readers.

    Parameters
    ----------
    path : path
        Text file, plain or compressed by gzip or zstd, Parquet file, or JSON file of runs or judgments.
    kind : TableKind
        Kind of table, such as ``PAGES`` or ``COSTS``.
    check : bool, default=True
        Whether to search for pairs of query and document in two rows.

    Raises
    ------
    MalformedFile
        If the file does not have this format, has a number that is not allowed, or has a pair twice.
    """
    path = os.fsdecode(path)
    try:
        form = format_of(path)
        if form.read:
            table, place = table_of_kind(path, form.read(path, kind), kind)
        else:
            table, place = text_table(path, unpacked(path, form.codec), kind)
    except (OSError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or f"{error}. Is the file complete? If not, copy or write it again."
        raise MalformedFile(f"{path}: {reason}") from error
    if not table.num_rows and kind is not DUPLICATES:  # a collection may have no duplicates
        raise empty(path, kind)
    kind = kind.in_columns(table.column_names)
    refuse_missing(table, place, kind)
    if kind is DUPLICATES and table.num_columns < 2:
        raise MalformedFile(f"{path}: no column duplicate_of or cluster, or the column is empty.")
    if kind.least is not None:
        _refuse_infinite(table, place, *kind.least)
    row = _first_repeat(table) if check else None
    if row is not None:
        ids = {column: table[column][row].as_py() for column in table.column_names}
        raise MalformedFile(f"{place(row)}: {kind.twice.format(**ids)}")
    return table


def format_of(path: str) -> FileFormat:
    """Return the format of a file.

    Raises
    ------
    MalformedFile
        If the file has a format that is not read, or is not a regular file.
    """
    with open_file(path) as file:
        head = file.read(10)
    for name, mark in _UNREAD.items():
        if re.match(mark, head):
            codecs = " or ".join(form.name for form in FORMATS if form.codec)
            raise MalformedFile(
                f"{path}: is packed with {name}, which is not read: unpack it, or pack it with {codecs}."
            )
    marked = [form for form in FORMATS if head.startswith(form.mark)]
    named = next((form for form in FORMATS if path.endswith(form.suffix)), TEXT)
    found = named if named in marked else next(iter(marked), None)
    if found is None and named.codec and not named.mark.startswith(head[: len(named.mark)]):
        raise MalformedFile(
            f"{path}: is not packed with {named.name}, as its name says. Remove {named.suffix} from the name."
        )
    found = found or named
    if found.codec and path.removesuffix(found.suffix).endswith(JSON.suffix):
        return replace(JSON, codec=found.codec, read=partial(json_table, codec=found.codec))
    return found


def text_of(path: str) -> bytes:
    """Return the content of a text file, unpacked."""
    return unpacked(path, format_of(path).codec)


def refuse_missing(table: pa.Table, place: Place, kind: TableKind) -> None:
    """Raise MalformedFile if a required column has a null or NaN."""
    for column in table.column_names:
        row = first_row(pc.is_null(table[column], nan_is_null=True)) if column not in kind.optional else None
        if row is not None:
            value = "NaN" if table[column][row].is_valid else "null"
            raise MalformedFile(f"{place(row)}: {column} is {value} for {pair_in(table, row)}")


def _refuse_infinite(table: pa.Table, place: Place, column: str, least: float) -> None:
    """Raise MalformedFile if a number is infinite or below `least`."""
    values = to_numpy(table[column].cast(pa.float64(), safe=False))
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= least)))
    if len(wrong):
        row = int(wrong[0])
        raise MalformedFile(f"{place(row)}: {column} is {float(values[row])} for {pair_in(table, row)}")


def _first_repeat(table: pa.Table) -> int | None:
    """Return the first row with the same query and document as an earlier row, or None."""
    query = np.zeros(len(table), np.int64)
    for column in {"query_id", "iteration"} & {*table.column_names}:
        codes = filled(one_chunk(table[column]).dictionary_encode().indices)
        query = query * (int(codes.max()) + 2) + codes
    return PairKeys(one_chunk(written(table["doc_id"])), query).repeat


def read_pisa_index(folder: Path) -> pa.Table:
    """Return the columns doc_id and doc_length (words) of a PISA index.

    ``inv.sizes`` has the number of documents and their lengths as unsigned integers of 32 bits, ``fwd.documents`` a
    document id per line. The forward index ``fwd`` is missing if the index was made from token weights.

    Raises
    ------
    BadParameter
        If the index was made from token weights.
    MalformedFile
        If a file is missing, or if the files do not fit together.
    """
    try:
        with open_file(folder / "inv.sizes") as lengths, open_file(folder / "fwd.documents") as documents:
            sizes = np.fromfile(lengths, "<u4")
            text = pa.array([documents.read().decode()], pa.large_string())
    except (OSError, UnicodeDecodeError) as error:
        raise MalformedFile(f"{folder}: this PISA index is not built, or is damaged ({error}).") from error
    ids = pc.split_pattern(text, "\n").flatten()[:-1]
    if len(sizes) != 1 + len(ids) or sizes[0] != len(ids):
        raise MalformedFile(
            f"{folder}: inv.sizes has {max(len(sizes) - 1, 0):,} lengths of documents, and fwd.documents has"
            f" {len(ids):,} ids. Build the index again."
        )
    if not (folder / "fwd").exists():
        raise BadParameter(
            f"{folder}: this PISA index has no forward index, so it was made from token weights, whose sums are not"
            " words. Count the words of the texts with lengths_of_texts."
        )
    return pa.table({"doc_id": ids, "doc_length": sizes[1:].astype(float)})
