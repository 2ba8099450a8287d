"""Writes tables that come one after the other as one file: CSV, lines of JSON, or Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import pandas as pd
import pyarrow as pa

from .atomic import written

FORMATS = ("csv", "jsonl", "parquet")
_TOGETHER = 1 << 18  # rows of a row group


def write_rows(tables: Iterable[pd.DataFrame], form: str, path: Path, origin: dict[str, Any]) -> None:
    """Writes a file of the rows of all tables, which have the same columns; ``origin`` goes along in Parquet.

    Nothing is there before all is.
    """
    with written(path) as place:
        if form == "parquet":
            _write_parquet(_gathered(tables), place, origin)
        else:
            with open(place, "w", encoding="utf-8", newline="\n") as file:
                for number, table in enumerate(tables):
                    write_text(table, form, file, head=number == 0)


def write_text(table: pd.DataFrame, form: str, stream: IO[str], head: bool = True) -> None:
    """CSV, or a line of JSON for each row."""
    if form == "csv":
        table.to_csv(stream, index=False, header=head, lineterminator="\n")
    else:
        stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in table.to_dict("records"))


def _write_parquet(tables: Iterable[pd.DataFrame], place: Path, origin: dict[str, Any]) -> None:
    import pyarrow.parquet

    writer = None
    try:
        for table in tables:
            columns = pa.Table.from_pandas(table, preserve_index=False)
            if writer is None:
                about = {b"pyterrier_cwla": json.dumps(origin, ensure_ascii=False)}
                schema = columns.schema.with_metadata({**(columns.schema.metadata or {}), **about})
                writer = pyarrow.parquet.ParquetWriter(place, schema, write_page_checksum=True)
            writer.write_table(columns.cast(writer.schema))
    finally:
        if writer is not None:
            writer.close()


def _gathered(tables: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """The same rows in larger tables."""
    some: list[pd.DataFrame] = []
    for table in tables:
        some.append(table)
        if sum(map(len, some)) >= _TOGETHER:
            yield pd.concat(some, ignore_index=True)
            some = []
    if some:
        yield pd.concat(some, ignore_index=True)
