"""Writers of consecutive tables to one file: CSV, JSON lines, or Parquet."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from ..errors import BadParameter, near
from .arrow_arrays import is_null
from .atomic import written

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

TableData: TypeAlias = "pd.DataFrame | Mapping[str, Sequence[Any] | np.ndarray]"
"""Frame, or columns of equal length by name; these need no pandas."""
_ROWS_TOGETHER = 1 << 18  # rows per row group


def write_rows(tables: Iterable[TableData], form: str, path: Path, origin: dict[str, Any]) -> None:
    """Write the rows of tables with the same columns to one file, atomically.

    Parameters
    ----------
    tables : iterable of DataFrame, or of dict of columns by name
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
    if form not in ROW_FORMATS:
        raise BadParameter(f"no format {form!r} of rows. {near(form, ROW_FORMATS)}")
    with written(path) as place:
        if form == "parquet":
            _write_parquet(_gathered(tables), place, origin)
        else:
            with open(place, "w", encoding="utf-8", newline="\n") as file:
                for number, table in enumerate(tables):
                    _TEXT[form](table, file, number == 0)


def joined(tables: Iterable[TableData]) -> TableData:
    """Return the rows of all tables, as columns by name."""
    tables = list(tables)
    return {name: [value for table in tables for value in column_of(table, name)] for name in tables[0]}


def column_of(table: TableData, name: str) -> list[Any]:
    """Return a column of a table as a list."""
    column = table[name]
    return list(column) if isinstance(column, Sequence) else column.tolist()


def records(table: TableData) -> list[dict[str, Any]]:
    """Return the rows of a table, with values by the name of their column."""
    return [dict(zip(table, row)) for row in zip(*(column_of(table, name) for name in table), strict=True)]


def write_csv(table: TableData, stream: IO[str], head: bool = True) -> None:
    """Write a table as CSV; without `head`, only its rows. Cells of missing values are empty."""
    writer = csv.writer(stream, lineterminator="\n")
    if head:
        writer.writerow(table)
    columns = (["" if _is_missing(value) else value for value in column_of(table, name)] for name in table)
    writer.writerows(zip(*columns, strict=True))


def write_json_lines(table: TableData, stream: IO[str], _: bool = True) -> None:
    """Write one JSON object per row and line; missing values and numbers that are not finite become null."""
    rows = records({name: [_for_json(value) for value in column_of(table, name)] for name in table})
    stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _is_missing(value: Any) -> bool:
    return is_null(value) or bool(value != value)  # NaN and NaT differ from themselves


def _for_json(value: Any) -> Any:
    return None if _is_missing(value) or (isinstance(value, float) and math.isinf(value)) else value


_TEXT = {"csv": write_csv, "jsonl": write_json_lines}
ROW_FORMATS = (*_TEXT, "parquet")


def _write_parquet(tables: Iterable[pd.DataFrame], place: Path, origin: dict[str, Any]) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    parts = (pa.Table.from_pandas(table, preserve_index=False) for table in tables)
    first = next(parts)
    about = {b"pyterrier_cwla": json.dumps(origin, ensure_ascii=False)}
    schema = first.schema.with_metadata({**(first.schema.metadata or {}), **about})
    with pyarrow.parquet.ParquetWriter(place, schema, write_page_checksum=True) as writer:
        for part in chain([first], parts):
            writer.write_table(part.cast(schema))


def _gathered(tables: Iterable[TableData]) -> Iterator[pd.DataFrame]:
    """Yield the same rows in larger frames."""
    import pandas as pd

    some: list[pd.DataFrame] = []
    for table in tables:
        some.append(pd.DataFrame(table))
        if sum(map(len, some)) >= _ROWS_TOGETHER:
            yield pd.concat(some, ignore_index=True)
            some = []
    if some:
        yield pd.concat(some, ignore_index=True)
