"""Writers of consecutive tables to one file: CSV, JSON lines, or Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa

from ..errors import BadParameter, near
from .atomic import written

if TYPE_CHECKING:
    import pandas as pd

_ROWS_TOGETHER = 1 << 18  # rows per row group


def write_rows(tables: Iterable[pd.DataFrame], form: str, path: Path, origin: dict[str, Any]) -> None:
    """Write the rows of tables with the same columns to one file, atomically.

    Parameters
    ----------
    tables : iterable of DataFrame
        Tables in order.
    form : {"csv", "jsonl", "parquet"}
        Format of the file.
    path : Path
        File to write.
    origin : dict
        Description of the computation, stored in the metadata of a Parquet file.

    Raises
    ------
    BadParameter
        If there is no such format.
    """
    if form not in FORMATS:
        raise BadParameter(f"no format {form!r} of rows. {near(form, FORMATS)}")
    with written(path) as place:
        if form == "parquet":
            _write_parquet(_gathered(tables), place, origin)
        else:
            with open(place, "w", encoding="utf-8", newline="\n") as file:
                for number, table in enumerate(tables):
                    _TEXT[form](table, file, number == 0)


def write_csv(table: pd.DataFrame, stream: IO[str], head: bool = True) -> None:
    """Write a table as CSV; without `head`, only its rows."""
    table.to_csv(stream, index=False, header=head, lineterminator="\n")


def write_json_lines(table: pd.DataFrame, stream: IO[str], _: bool = True) -> None:
    """Write one JSON object per row and line; numbers that are not finite become null."""
    table = table.replace([float("inf"), float("-inf")], float("nan"))
    if table.isna().any(axis=None):
        table = table.astype(object).where(table.notna(), None)
    stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in table.to_dict("records"))


_TEXT = {"csv": write_csv, "jsonl": write_json_lines}
FORMATS = (*_TEXT, "parquet")


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
    """Yield the same rows in larger tables."""
    import pandas as pd

    some: list[pd.DataFrame] = []
    for table in tables:
        some.append(table)
        if sum(map(len, some)) >= _ROWS_TOGETHER:
            yield pd.concat(some, ignore_index=True)
            some = []
    if some:
        yield pd.concat(some, ignore_index=True)
