"""Readers of tables in Parquet files; errors name the row."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import MalformedFile, if_swapped
from .memory_limit import check_room, has_room
from .real_numbers import are_real, plain
from .table_kinds import TYPES, Kind, grades, is_text, one_of_each

if TYPE_CHECKING:
    import pyarrow.parquet


def parquet_table(path: str, kind: Kind) -> pa.Table:
    """Return the columns of a kind of table from a Parquet file."""
    file = open_parquet(path)
    found = columns_of(path, file.schema_arrow, kind)
    check_parquet(path, file, names_in(found))
    table = file.read(names_in(found))
    table.validate(full=True)
    return one_of_each(found, table, partial(converted, path), partial(in_parquet, path))


def open_parquet(path: str, **options: Any) -> pyarrow.parquet.ParquetFile:
    """Open a Parquet file with verification of page checksums, and check its number of rows."""
    from pyarrow.parquet import ParquetFile

    try:
        file = ParquetFile(path, page_checksum_verification=True, **options)
        file.schema_arrow.names  # noqa: B018
    except UnicodeDecodeError as error:
        raise MalformedFile(f"{path}: broken: the name of a column is not UTF-8.") from error
    metadata = file.metadata
    rows = sum(metadata.row_group(group).num_rows for group in range(metadata.num_row_groups))
    if rows != metadata.num_rows:
        raise MalformedFile(f"{path}: broken: {metadata.num_rows:,} rows, and {rows:,} in its row groups.")
    return file


def columns_of(path: str, schema: pa.Schema, kind: Kind) -> dict[str, list[str]]:
    """Return the names in the file of each column of the kind; raise MalformedFile if a column is missing."""
    found: dict[str, list[str]] = {}
    types = {name: [field.type for field in schema if field.name == name] for name in schema.names}
    for name, column in kind.names.items():
        if name in types and not (column in kind.optional and all(map(pa.types.is_null, types[name]))):
            found.setdefault(column, []).append(name)
    for column in kind.names.values():
        if column not in found and column not in kind.optional:
            names = " or ".join(name for name, meant in kind.names.items() if meant == column)
            raise MalformedFile(
                f"{path}: no column {names}. There is: {', '.join(schema.names)}.{if_swapped(column, schema.names)}"
            )
    for column, name in ((column, name) for column, names in found.items() for name in names):
        there = next((one for one in types[name] if not (is_text(one) or pa.types.is_null(one))), None)
        if TYPES[column] == pa.string() and there is not None:
            way = "astype(int).astype(str)" if pa.types.is_floating(there) else "astype(str)"
            raise MalformedFile(
                f"{path}: column {name!r} holds {there}, and ids must be strings. Save the file again after"
                f" df[{name!r}].{way}."
            )
    return found


def names_in(found: Mapping[str, Collection[str]]) -> list[str]:
    """Return all names in the file of some columns."""
    return [name for names in found.values() for name in names]


def converted(path: str, column: str, values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Return a column of a Parquet file in the type of the package; large integers become the nearest float.

    Parameters
    ----------
    path : str
        Path of the file, for error messages.
    column : str
        Name of the column in the package.
    values : ChunkedArray
        Values of the column.
    name : str
        Name of the column in the file.
    """
    kind = TYPES[column]
    if kind != pa.string():
        if not (are_real(values.type) or is_text(values.type)):
            raise MalformedFile(
                f"{path}: column {name!r} holds {values.type}, and must hold numbers. Save the file again with this"
                " column as float64."
            )
        values = plain(values)
    try:
        if column == "relevance":
            return grades(values)
        return values.cast(kind, safe=not (pa.types.is_integer(values.type) and pa.types.is_floating(kind)))
    except pa.ArrowException as error:
        raise MalformedFile(
            f"{path}: column {name!r} holds {values.type}, which does not become float64 ({error}). Save the file again"
            f" with this column as float64."
        ) from error


def check_parquet(path: str, file: pyarrow.parquet.ParquetFile, names: list[str]) -> None:
    """Raise MalformedFile if columns exceed the memory limit, by an estimate from the metadata.

    A dictionary contains a text once, even if it occurs in 10⁹ rows.
    """
    groups = [file.metadata.row_group(group) for group in range(file.metadata.num_row_groups)]
    size = sum(group.total_byte_size + 8 * len(names) * group.num_rows for group in groups)
    check_room(path, size, held=2)
    texts = [field.name for field in file.schema_arrow if field.name in names and _is_long(field.type)]
    if has_room(sum(len(texts) * group.total_byte_size * group.num_rows for group in groups), held=2):
        return
    encoded = open_parquet(path, read_dictionary=texts, pre_buffer=False)
    for number, group in enumerate(groups):
        for first in encoded.iter_batches(1, [number], texts, use_threads=False):
            for column in first.columns:
                longest = pc.max(pc.binary_length(getattr(column, "dictionary", column))).as_py()
                size += (longest or 0) * group.num_rows
            break
        check_room(path, size, held=2)


def _is_long(kind: pa.DataType) -> bool:
    """Return whether one value may take many bytes."""
    return is_text(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)


def in_parquet(path: str, row: int) -> str:
    """Return the place of a row, for error messages."""
    return f"{path}: row {row + 1}"
