"""Log files: read and write CSV, TSV and Parquet, optionally compressed."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from ...errors import BadParameter, MalformedFile
from ...files.atomic import written
from ...files.formats import packing_of
from ...files.memory_limit import unpacked
from ...files.parquet_tables import check_parquet, in_parquet, open_parquet
from ...files.text_tables import in_text, read_csv, refuse_text, unmarked

_KEY = b"pyterrier_cwla"


def read(path: str) -> tuple[pd.DataFrame, Callable[[int], str], dict[str, Any]]:
    """Read the rows of a file.

    Returns
    -------
    rows : DataFrame
    place : callable
        Function from a row number to its place in the file, for error messages.
    about : dict
        Excluded sessions and notes in the metadata of a Parquet file; empty for other files.

    Raises
    ------
    MalformedFile
        If the file cannot be read, or has two columns of one name. Columns without a name may be several.
    """
    try:
        packing = packing_of(path)
        if packing == "parquet":
            file = open_parquet(path)
            check_parquet(path, file, file.schema_arrow.names)
            table = file.read()
            place: Callable[[int], str] = partial(in_parquet, path)
            rows, about = table.replace_schema_metadata().to_pandas(), _about(path, table)
        else:
            (rows, place), about = _text(path, unmarked(path, unpacked(path, packing))), {}
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise MalformedFile(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    twice = rows.columns[rows.columns.duplicated()]
    if any(twice):
        raise MalformedFile(f"{path}: has the column {next(filter(None, twice))!r} twice: keep one.")
    return rows, place, about


def _about(path: str, table: pa.Table) -> dict[str, Any]:
    """Return the excluded sessions and notes in the metadata of a Parquet file."""
    try:
        about = json.loads((table.schema.metadata or {}).get(_KEY, b"{}"))
        excluded, notes = about.get("excluded", {}), about.get("notes", [])
    except (ValueError, AttributeError, RecursionError) as error:
        raise MalformedFile(f"{path}: the metadata of the log cannot be read: {error}") from error
    counts = isinstance(excluded, dict) and all(isinstance(n, int) and 0 <= n < 2**53 for n in excluded.values())
    if not counts or not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        raise MalformedFile(f"{path}: the metadata of the log must be counts of sessions and a list of notes.")
    return {"excluded": excluded, "notes": notes}


def _text(path: str, data: bytes) -> tuple[pd.DataFrame, Callable[[int], str]]:
    """Return all cells as text, because ids may look like numbers, and the place of each row."""
    if not data or data.isspace():
        raise MalformedFile(f"{path}: empty; expected a header line with column names, followed by rows.")
    head = data.lstrip(b"\r\n").split(b"\n", 1)[0].decode(errors="replace").strip("\r")
    delimiter = "\t" if "\t" in head else ","
    names = read_csv(head.encode() + b"\n", delimiter, {}).column_names
    if delimiter == "," and b'"' in data:
        _refuse_loose_quotes(path, data)
    try:
        table = read_csv(data, delimiter, dict.fromkeys(names, pa.large_string()))
    except pa.ArrowInvalid as error:
        refuse_text(path, data, dict.fromkeys(names, ""), delimiter, error)
    lines = sum(bool(line.strip()) for line in data.splitlines()) == table.num_rows + 1
    return table.to_pandas(), (lambda row: in_text(path, data, row + 1)) if lines else partial(in_parquet, path)


def _refuse_loose_quotes(path: str, data: bytes) -> None:
    """Raise `MalformedFile` for an unclosed quotation mark, which would merge the following values."""
    lines = csv.reader(io.StringIO(data.decode(), newline=""), strict=True)
    try:
        for _ in lines:
            pass
    except csv.Error as error:
        raise MalformedFile(f"{path}:{lines.line_num}: {error}: a quotation mark is not closed correctly") from error


def write(rows: pd.DataFrame, about: dict[str, Any], path: Path) -> None:
    """Write rows to a file; only Parquet files contain the excluded sessions and notes of `about`."""
    table = pa.Table.from_pandas(rows, preserve_index=False)
    packing = {".gz": "gzip", ".zst": "zstd"}.get(path.suffix.lower())
    kind = (path.with_suffix("") if packing else path).suffix.lower()
    if kind == ".parquet" and not packing:
        with written(path) as place:
            pa.parquet.write_table(
                table.replace_schema_metadata({_KEY: json.dumps(about)}), place, write_page_checksum=True
            )
    elif kind in (".csv", ".tsv"):
        tabs = kind == ".tsv"
        options = pa.csv.WriteOptions(
            include_header=not tabs, delimiter="\t" if tabs else ",", quoting_style="none" if tabs else "needed"
        )
        with written(path) as place, pa.output_stream(str(place), compression=packing) as stream:
            if tabs:  # Arrow would quote the column names
                stream.write("\t".join(table.column_names).encode() + b"\n")
            pa.csv.write_csv(table, stream, options)
    else:
        raise BadParameter(
            f"{path}: a log is saved as .parquet, .csv or .tsv; .csv and .tsv may be compressed (.gz, .zst)."
        )
