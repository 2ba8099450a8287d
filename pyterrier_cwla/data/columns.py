"""Runs, judgments and tables in any of the forms they come in, as Arrow and NumPy columns; nothing is computed here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import BadJudgments, BadRun, CWLAError, encodable, if_swapped, shown, some
from ..files import id_columns
from ..files.real_numbers import NotReal, reals
from ..files.same_columns import Named, the_only
from ..tasks.hashing import fingerprint, of_strings

PYTERRIER = {"qid": "query_id", "docno": "doc_id", "label": "relevance"}


@dataclass(frozen=True)
class Columns:
    """The columns of a run or of judgments: ids as Arrow strings, of runs also in a dictionary, numbers as NumPy."""

    query_id: Any
    doc_id: Any
    value: np.ndarray
    doc_length: np.ndarray | None = None
    duplicate_of: Any = None
    """Of a run: the document that each repeats, null where none, as Arrow strings."""
    iteration: Any = None
    """Of judgments: the intent that each is for, as Arrow strings."""

    def __len__(self) -> int:
        return len(self.value)


def run_columns(run: Any) -> Columns:
    """A run: DataFrame, polars or Arrow table, dict of dicts, or iterable of named tuples.

    Raises BadRun where a column ``run`` names several.
    """
    return _columns(run, "run", "score", BadRun)


def judgment_columns(qrels: Any) -> Columns:
    """Judgments, in the same forms."""
    return _columns(qrels, "judgments", "relevance", BadJudgments)


def _columns(data: Any, what: str, value: str, error: type[CWLAError]) -> Columns:
    named = NamedColumns(data, what, value, error)
    missing = [name for name in ("query_id", "doc_id", value) if name not in named]
    if missing:
        raise error(
            f"the {what} {'has' if what == 'run' else 'have'} no column {missing[0]!r};"
            f" there is {some(named, 8) or 'none'}."
            f"{if_swapped(missing[0], named)}"
        )

    def describe(row: int) -> str:
        return f"topic {shown(_cell(query_id, row))}: {shown(_cell(doc_id, row))}"

    of_run = value == "score"
    query_id, doc_id = named["query_id"], named["doc_id"]
    values = numbers(named[value], value, what, error, describe)
    if of_run and "run" in named:
        _refuse_several(named["run"])
    lengths = named.get("doc_length", of_run)
    originals = named.get("duplicate_of", of_run)
    intents = named.get("iteration", not of_run)
    as_ids = identifiers if of_run else strings
    return Columns(
        as_ids(query_id, "query_id", what, error),
        as_ids(doc_id, "doc_id", what, error),
        values,
        None if lengths is None else numbers(lengths, "doc_length", what, error, describe),
        None if originals is None else strings(originals, "duplicate_of", what, error, holes=True),
        None if intents is None else _as_text(intents, error),
    )


def _cell(column: Any, row: int) -> Any:
    value = column.iloc[row] if hasattr(column, "iloc") else column[row]
    return value.as_py() if isinstance(value, pa.Scalar) else value


def _refuse_several(names: Any) -> None:
    unique = names.unique() if hasattr(names, "unique") else dict.fromkeys(names)
    several = unique.to_pylist() if hasattr(unique, "to_pylist") else list(unique)
    if len(several) > 1:
        raise BadRun(
            f"the column 'run' names {len(several):,} runs ({some(several)}), and a frame is one: give them by name,"
            " dict(tuple(frame.groupby('run'))), or the path of a Parquet file of these rows."
        )


def _as_text(column: Any, error: type[CWLAError]) -> Any:
    """Names of intents, which may have been read as numbers, as Arrow strings."""
    if hasattr(column, "to_arrow"):
        column = column.to_arrow()
    try:
        array = column if isinstance(column, pa.Array | pa.ChunkedArray) else pa.array(column, from_pandas=True)
        return pc.fill_null(pc.cast(array, pa.large_string()), "")
    except (pa.ArrowException, TypeError, UnicodeEncodeError):
        raise error("iteration of the judgments must be strings or whole numbers, one kind in all rows.") from None


class NamedColumns:
    """The columns of a run or of judgments by the names of ir_measures; several for one thing must be equal."""

    def __init__(self, data: Any, what: str, value: str, error: type[CWLAError]) -> None:
        self._what, self._error = what, error
        self._columns: dict[str, list[Named]] = {}
        for name, column in _named_columns(data, what, value, error):
            self._columns.setdefault(PYTERRIER.get(name, name), []).append((name, column))
        for alike in self._columns.values():
            alike.sort(key=lambda named: named[0] in PYTERRIER)

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def get(self, name: str, wanted: bool = True) -> Any:
        """The column of this name; None where there is none, or none is wanted."""
        return self[name] if wanted and name in self._columns else None

    def __getitem__(self, name: str) -> Any:
        def refuse(sentence: str, row: int) -> CWLAError:
            known = {"query_id": "query", "doc_id": "document"}
            ids = [
                f"{known[one]} {shown(self._value(one, row))}" for one in known if one != name and one in self._columns
            ]
            verb = sentence if self._what == "run" else sentence.replace("has", "have", 1)
            return self._error(f"the {self._what} {verb} in row {row} ({', '.join(ids)}). Keep one of the two.")

        return the_only(self._columns[name], refuse)

    def _value(self, name: str, row: int) -> Any:
        return _cell(self._columns[name][0][1], row)


def _named_columns(data: Any, what: str, value: str, error: type[CWLAError]) -> Iterable[Named]:
    if isinstance(data, Mapping):
        odd = next(((q, documents) for q, documents in data.items() if not isinstance(documents, Mapping)), None)
        if odd is not None:
            raise error(
                f"the {what} must be a dict of dicts ({{query: {{document: {value}}}}}), and query {shown(odd[0])} has"
                f" {shown(odd[1])}, of type {type(odd[1]).__name__}."
            )
        pairs = [(q, d, v) for q, documents in data.items() for d, v in documents.items()]
        return zip(("query_id", "doc_id", value), zip(*pairs, strict=True) if pairs else ((), (), ()), strict=True)
    if hasattr(data, "dask"):
        raise error(f"the {what} are a Dask DataFrame: pyterrier_cwla.evaluation.cluster.evaluate takes those of runs.")
    if hasattr(data, "collect"):  # a lazy frame
        data = data.collect()
    if hasattr(data, "columns") and hasattr(data, "__getitem__"):
        return columns_of_table(data)
    if isinstance(data, Iterable) and not isinstance(data, str | bytes):
        rows = list(data)
        if rows and not hasattr(rows[0], "_fields"):
            raise error(
                f"the {what} must be a DataFrame, a dict of dicts or named tuples, not {type(rows[0]).__name__}s."
            )
        fields = rows[0]._fields if rows else ("query_id", "doc_id", value)
        return zip(fields, zip(*rows, strict=True) if rows else ((),) * len(fields), strict=True)
    raise error(f"the {what} must be a DataFrame, a dict of dicts or named tuples, not {type(data).__name__}.")


def columns_of_table(table: Any) -> list[Named]:
    """The columns of a pandas, polars or Arrow table, each with its name, which may stand twice."""
    if isinstance(table, pa.Table | pa.RecordBatch):
        return list(zip(table.column_names, table.columns, strict=True))
    if hasattr(table, "iloc"):
        return [(name, table.iloc[:, at]) for at, name in enumerate(table.columns)]
    return [(name, table[name]) for name in table.columns]


def identifiers(column: Any, name: str, what: str, error: type[CWLAError]) -> Any:
    """A column of ids as Arrow strings, or as numbers of a dictionary where it is made so and the dictionary short."""
    array = _arrow(column, name, what, error)
    if pa.types.is_dictionary(array.type) and _is_string(array.type.value_type) and len(array):
        array = id_columns.checked(array)
        if id_columns.are_encoded(array):
            return array
    return strings(array, name, what, error)


def strings(column: Any, name: str, what: str, error: type[CWLAError], holes: bool = False) -> Any:
    """A column of ids as Arrow strings, without a copy where it is one already; only with ``holes`` may some lack."""
    array = _arrow(column, name, what, error)
    if pa.types.is_dictionary(array.type):
        array = pc.cast(array, array.type.value_type)
    if not _is_string(array.type):
        if len(array) and array.null_count < len(array):
            raise error(
                f"{name} of the {what} must be strings, and this column is {array.type}: convert it with"
                f" {'.str.decode()' if _is_binary(array.type) else '.astype(str)'}{_on_both(what)}."
            )
        array = pc.cast(array, pa.large_string())
    if array.null_count and not holes:
        row = int(np.flatnonzero(pc.is_null(array).to_numpy(zero_copy_only=False))[0])
        raise error(f"{name} of the {what} is missing in row {row}.")
    return array if pa.types.is_large_string(array.type) else pc.cast(array, pa.large_string())


def _arrow(column: Any, name: str, what: str, error: type[CWLAError]) -> Any:
    try:
        if isinstance(column, pa.Array | pa.ChunkedArray):
            return column
        if str(getattr(column, "dtype", "")) == "Object":  # of polars, to which Arrow has nothing alike
            column = column.to_list()
        if hasattr(column, "to_arrow"):
            return column.to_arrow()
        if str(getattr(column, "dtype", "")) != "object" and not isinstance(column, tuple | list):
            return pa.array(column)
        array = pa.array(column, from_pandas=True)  # the type is found out: where it is given, bytes become strings
        if _is_string(array.type) or pa.types.is_null(array.type):
            return array
    except UnicodeEncodeError:
        row = next(row for row, v in enumerate(column) if isinstance(v, str) and not encodable(v))
        raise error(
            f"{name} of the {what} is {shown(_cell(column, row))} in row {row}, with half of a surrogate pair, which is"
            " no character: read the ids again as UTF-8."
        ) from None
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError, OverflowError):
        pass
    odd = next(v for v in column if not isinstance(v, str) and not _is_missing(v))
    raise error(
        f"{name} of the {what} must be strings, and {shown(odd)} is of type {type(odd).__name__}: convert the column"
        f" with {'.str.decode()' if isinstance(odd, bytes) else '.astype(str)'}{_on_both(what)}."
    )


def _is_missing(value: Any) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and value != value)


def _on_both(what: str) -> str:
    return " on both sides" if what in ("run", "judgments") else ""


def _is_string(kind: Any) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def _is_binary(kind: Any) -> bool:
    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind)


def numbers(
    column: Any, name: str, what: str, error: type[CWLAError], describe: Callable[[int], str] | None = None
) -> np.ndarray:
    """A column of numbers as NumPy; None becomes NaN. ``describe`` says for an error what a row is about."""
    try:
        return reals(column)
    except NotReal as wrong:
        row = f"row {wrong.row}" if describe is None else describe(wrong.row)
        way = ": convert the column with .astype(float)" if wrong.is_text else ""
        raise error(f"{row}: {name} of the {what} must be numbers, and {wrong}{way}.") from None


def of_columns(columns: Columns) -> str:
    """A hash of all that a run or judgments say, row by row."""
    ids = (columns.query_id, columns.doc_id, columns.duplicate_of, columns.iteration)
    numbers = (columns.value, columns.doc_length)
    return fingerprint([None if c is None else of_strings(c) for c in ids], list(numbers))
