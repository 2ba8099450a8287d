"""The kinds of tables in files: their fields in text, their columns in Parquet, and the types of these."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from ..errors import MalformedFile
from .same_columns import the_only

Place = Callable[[int], str]
"""Where in the file a row of the table comes from, for error messages."""


@dataclass(frozen=True)
class Kind:
    fields: dict[str, str]
    """The fields of a line of text and the column that each becomes: "" for those that nobody needs."""
    names: dict[str, str]
    """The column names that Parquet files and header lines may use for our columns, ours first."""
    optional: tuple[str, ...] = ()
    """Columns that Parquet files may lack, or leave empty."""

    def of(self, extras: Collection[str]) -> "Kind":
        """The same with these optional columns alone."""
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
    "duplicate_of": pa.string(),
    "cluster": pa.string(),
}
_IDS = {"query_id": "query_id", "doc_id": "doc_id", "qid": "query_id", "docno": "doc_id"}
RUN = Kind(
    fields={"topic": "query_id", "Q0": "", "docno": "doc_id", "rank": "", "score": "score", "tag": ""},
    names=_IDS | {"score": "score", "doc_length": "doc_length", "duplicate_of": "duplicate_of"},
    optional=("doc_length", "duplicate_of"),
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
DUPLICATES = Kind(
    fields={"docno": "doc_id", "duplicate_of": "duplicate_of"},
    names=_DOCUMENTS | {"duplicate_of": "duplicate_of", "cluster": "cluster"},
    optional=("duplicate_of", "cluster"),
)


def empty(path: str, kind: Kind) -> MalformedFile:
    return MalformedFile(f"{path}: empty; expected lines of {expected(kind.fields)}")


def expected(fields: dict[str, str]) -> str:
    return f"{len(fields)} fields ({' '.join(fields)})"


def one_of_each(
    found: Mapping[str, Sequence[str]], table: pa.Table, convert: Callable[[str, Any, str], Any], place: Place
) -> pa.Table:
    """Our columns from those of a file, which may have several for one thing if they are equal."""
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
    names = {"query_id": "query", "doc_id": "document"}
    return ", ".join(f"{name} {table[c][row].as_py()!r}" for c, name in names.items() if c in table.column_names)


def grades(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Grades as integers if all of them are whole, else as floats."""
    with suppress(pa.ArrowException):
        return values.cast(pa.int64())
    floats = values.cast(pa.float64(), safe=not pa.types.is_integer(values.type))
    with suppress(pa.ArrowException):
        return floats.cast(pa.int64())
    return floats


def is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
