"""Kinds of tables in files: fields of text lines, column names in Parquet, and types."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from ..errors import MalformedFile
from .same_columns import the_only

Place = Callable[[int], str]
"""Function from a row of a table to its place in the file, for error messages."""


@dataclass(frozen=True)
class Kind:
    """Kind of table, such as a run.

    Attributes
    ----------
    fields : dict
        Fields of a text line, each with its column, or "" if the field is not used.
    names : dict
        Column names in Parquet files and header lines, each with the column of the package. The names of the package
        come first.
    optional : tuple of str
        Columns that may be missing or empty in Parquet files.
    """

    fields: dict[str, str]
    names: dict[str, str]
    optional: tuple[str, ...] = ()

    def of(self, extras: Collection[str]) -> "Kind":
        """Return the kind with only these optional columns."""
        names = {name: column for name, column in self.names.items() if column in extras or column not in self.optional}
        return replace(self, names=names)


TYPES = {
    "run": pa.string(),
    "query_id": pa.string(),
    "doc_id": pa.string(),
    "iteration": pa.string(),
    "score": pa.float64(),
    "relevance": pa.int64(),
    "doc_length": pa.float64(),
    "doc_seconds": pa.float64(),
    "duplicate_of": pa.string(),
    "cluster": pa.string(),
    "element": pa.string(),
}
_EXTRAS = ("doc_length", "duplicate_of", "doc_seconds")
_IDS = {"query_id": "query_id", "doc_id": "doc_id", "qid": "query_id", "docno": "doc_id"}
RUN = Kind(
    fields={"topic": "query_id", "Q0": "", "docno": "doc_id", "rank": "", "score": "score", "tag": ""},
    names=_IDS | {name: name for name in ("score", *_EXTRAS)},
    optional=_EXTRAS,
)
QRELS = Kind(
    fields={"topic": "query_id", "iteration": "iteration", "docno": "doc_id", "relevance": "relevance"},
    names=_IDS | {"relevance": "relevance", "label": "relevance", "iteration": "iteration"},
    optional=("iteration",),
)
_DOCUMENTS = {"doc_id": "doc_id", "docno": "doc_id", "id": "doc_id"}
LENGTHS = Kind(
    fields={"docno": "doc_id", "words": "doc_length"},
    names=_DOCUMENTS | {"doc_length": "doc_length", "length": "doc_length", "words": "doc_length"},
)
SECONDS = Kind(
    fields={"docno": "doc_id", "seconds": "doc_seconds"},
    names=_DOCUMENTS | {"doc_seconds": "doc_seconds", "seconds": "doc_seconds"},
)
PAGES = Kind(
    fields={"topic": "query_id", "element": "element", "docno": "doc_id", "rank": "", "score": "", "tag": ""},
    names=_IDS | {"element": "element"},
)
ELEMENT_COSTS = Kind(
    fields={"element": "doc_id", "cost": "doc_seconds"}, names={"element": "doc_id", "cost": "doc_seconds"}
)
DUPLICATES = Kind(
    fields={"docno": "doc_id", "duplicate_of": "duplicate_of"},
    names=_DOCUMENTS | {"duplicate_of": "duplicate_of", "cluster": "cluster"},
    optional=("duplicate_of", "cluster"),
)


def empty(path: str, kind: Kind) -> MalformedFile:
    """Return the error for an empty file."""
    return MalformedFile(f"{path}: empty; expected lines of {expected(kind.fields)}")


def expected(fields: dict[str, str]) -> str:
    """Return the number and names of fields, for error messages."""
    return f"{len(fields)} fields ({' '.join(fields)})"


def one_of_each(
    found: Mapping[str, Sequence[str]], table: pa.Table, convert: Callable[[str, Any, str], Any], place: Place
) -> pa.Table:
    """Return a table with one column per meaning; several columns of a file for one must be equal.

    Parameters
    ----------
    found : dict
        Names in the file for each column.
    table : Table
        Table with the names of the file.
    convert : callable
        Function of a column's name, its values, and its name in the file, that returns the values to keep.
    place : callable
        Function from a row to its place in the file, for error messages.
    """
    columns: dict[str, Any] = {}

    def refuse(sentence: str, row: int) -> MalformedFile:
        pair = pair_in(pa.table(columns), row)
        return MalformedFile(f"{place(row)}: the file {sentence}{pair and f' for {pair}'}. Keep one of the two.")

    for column, names in found.items():
        given = [
            (name, convert(column, table.column(at), name))
            for name in names
            for at in table.schema.get_all_field_indices(name)
        ]
        columns[column] = the_only(given, refuse)
    return pa.table(columns)


def pair_in(table: pa.Table, row: int) -> str:
    """Return the query and document of a row, for error messages."""
    names = {"query_id": "query", "doc_id": "document"}
    return ", ".join(f"{name} {table[c][row].as_py()!r}" for c, name in names.items() if c in table.column_names)


def grades(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return grades as integers if all are whole, else as floats."""
    with suppress(pa.ArrowException):
        return values.cast(pa.int64())
    floats = values.cast(pa.float64(), safe=not pa.types.is_integer(values.type))
    with suppress(pa.ArrowException):
        return floats.cast(pa.int64())
    return floats


def is_text(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is one of strings, dictionary-encoded or not."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
