"""Conversion of runs, judgments and tables in any form to Arrow and NumPy columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..errors import BadJudgments, BadRun, CWLAError, encodable, if_swapped, shown, some
from ..files import id_columns
from ..files.arrow_arrays import (
    Named,
    NotReal,
    as_arrow,
    first_row,
    is_binary,
    is_null,
    is_text,
    of_numbers,
    reals,
    the_only,
    without_dictionary,
)
from ..files.id_columns import Ids
from ..files.table_readers import CHANCES
from ..tasks.hashing import fingerprint, of_strings

Array = NDArray[Any]
"""Array of numbers of any type, such as grades, which are integers or floats."""
Floats = NDArray[np.float64]
"""Array of floats."""


def distinct(numbers: Array) -> Array:
    """Return the sorted distinct numbers of an array; unlike np.unique, this does not import numpy.ma."""
    ordered: Array = np.sort(numbers)
    found: Array = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
    return found


def descending_in_groups(group: Array, score: Array) -> Array:
    """Return the stable order of rows by group, ascending, and by score (float32), descending.

    Group and score become one integer, which is faster to sort than two columns. The bits of a float, read as an
    integer, ascend with the float if it is positive, and descend if it is negative. If the number of the row fits into
    the same integer, the integers are sorted themselves instead of their order, which is faster again.
    """
    bits = (np.float32(0) - score).view(np.int32)  # 0 − 0.0 and 0 − (−0.0) are equal, also in their bits
    keys = (group.astype(np.int64) << 32) + (bits ^ ((bits >> 31) & 0x7FFFFFFF))
    bits_of_row = len(keys).bit_length()
    order: Array
    if bits_of_row + int(group.max(initial=0)).bit_length() < 32:
        order = np.sort((keys << bits_of_row) | np.arange(len(keys))) & ((1 << bits_of_row) - 1)
    else:
        order = np.argsort(keys, kind="stable")
    return order


PYTERRIER = {"qid": "query_id", "docno": "doc_id", "label": "relevance"}


@dataclass(frozen=True)
class Columns:
    """Columns of a run or of judgments.

    Attributes
    ----------
    query_id, doc_id : Arrow array of str, shape (n_rows,)
        Ids; those of runs may be dictionary-encoded.
    value : ndarray of float or int, shape (n_rows,)
        Scores of a run, or grades of judgments; the highest possible grades if the judgments have no grades.
    doc_length : ndarray, optional
        Lengths of the documents of a run, in words.
    duplicate_of : Arrow array of str, optional
        Original of each document of a run; null for documents that are no duplicates.
    iteration : Arrow array of str, optional
        Intent of each judgment.
    doc_cost : ndarray, optional
        Known costs of the documents of a run.
    chances : ndarray, shape (n_rows, n_grades), optional
        Probabilities of the grades 0, 1, … of each judgment.
    graded : bool, default=True
        Whether judgments have grades; otherwise they have probabilities only.
    """

    query_id: Ids
    doc_id: Ids
    value: Array
    doc_length: Array | None = None
    duplicate_of: Ids | None = None
    iteration: Ids | None = None
    doc_cost: Array | None = None
    chances: Array | None = None
    graded: bool = True

    def __len__(self) -> int:
        return len(self.value)

    def queries(self) -> tuple[Array, list[str]]:
        """Return the first row and the id of each group of rows with the same query."""
        names = self.query_id
        if not len(names):
            return np.zeros(0, np.int64), []
        starts = np.concatenate([[0], np.flatnonzero(id_columns.changes(names)) + 1])
        return starts, names.take(of_numbers(starts)).to_pylist()

    def pair(self, row: int) -> tuple[str, str]:
        """Return the query and document of a row."""
        return self.query_id[row].as_py(), self.doc_id[row].as_py()

    def describe(self, row: int) -> str:
        """Return the query and document of a row, for error messages."""
        query, document = self.pair(row)
        return f"topic {query!r}: {document!r}"

    def uncertain(self, chances: Array) -> Columns:
        """Return the judgments with probabilities in place of grades; the values are the highest possible grades."""
        return replace(self, chances=chances, graded=False)

    def taken(self, order: Array) -> Columns:
        """Return some rows of a run or of judgments."""
        rows = of_numbers(order)
        columns = {name: column for name, column in vars(self).items() if column is not None and name != "graded"}
        return Columns(
            **{
                name: column[order] if isinstance(column, np.ndarray) else column.take(rows)
                for name, column in columns.items()
            },
            graded=self.graded,
        )


def run_columns(run: Any) -> Columns:
    """Return the columns of a run.

    Parameters
    ----------
    run : DataFrame, polars or Arrow table, dict of dicts, or iterable of named tuples
        Run.

    Raises
    ------
    BadRun
        If the run cannot be used, or if a column ``run`` names several runs.
    """
    return columns_of_pairs(run, "run", "score", BadRun)


def judgment_columns(qrels: Any, uncertain: bool = False) -> Columns:
    """Return the columns of judgments, in the same forms as runs.

    Parameters
    ----------
    qrels : DataFrame, polars or Arrow table, dict of dicts, or iterable of named tuples
        Judgments.
    uncertain : bool, default=False
        Whether probabilities may stand for grades; otherwise they are an error.

    Raises
    ------
    BadJudgments
        If the judgments cannot be used.
    """
    columns = columns_of_pairs(qrels, "judgments", "relevance", BadJudgments)
    if not uncertain:
        refuse_uncertain(columns)
    return columns


def refuse_uncertain(columns: Columns) -> None:
    """Raise BadJudgments if judgments have probabilities and no grades."""
    if not columns.graded:
        raise BadJudgments(
            "the judgments have probabilities and no column relevance: only Expected(measure=…) reads probabilities, in"
            " evaluate, compare, explain, pt.Experiment and scorers."
        )


def columns_of_pairs(data: Any, what: str, value: str, error: type[CWLAError]) -> Columns:
    """Return the columns of a run, of judgments, or of other numbers by query and document.

    Parameters
    ----------
    data : DataFrame, polars or Arrow table, dict of dicts, or iterable of named tuples
        Ids and numbers.
    what : str
        Description of the data, for error messages.
    value : str
        Name of the column of numbers; "score" for a run.
    error : type
        Class of errors to raise.
    """
    named = NamedColumns(data, what, value, error)
    of_run = value == "score"
    of_grades = [] if of_run else columns_of_chances(named, error)
    missing = [
        name for name in ("query_id", "doc_id", value) if name not in named and not (name == value and of_grades)
    ]
    if missing:
        raise error(
            f"the {what} {'has' if what == 'run' else 'have'} no column {expected_name(missing[0], named.given)!r};"
            f" there is {some(named.given, 8) or 'none'}."
            f"{if_swapped(missing[0], named)}"
        )

    def describe(row: int) -> str:
        return f"topic {shown(_cell(query_id, row))}: {shown(_cell(doc_id, row))}"

    query_id, doc_id = named["query_id"], named["doc_id"]
    chances = None
    if of_grades:
        given = [numbers(named[name], name, what, error, describe) for name in of_grades]
        chances = checked_chances(of_grades, given, error, describe)
    if value in named or chances is None:
        values = numbers(named[value], named.given_as(value), what, error, describe)
    else:
        values = highest_possible(chances)
    if not of_run and values.dtype.kind == "f":
        values = values.astype(np.float64, copy=False)  # gains of float32 grades would be rounded to float32
    if of_run and "run" in named:
        _refuse_several(named["run"])

    def optional(name: str) -> Array | None:
        column = named.get(name, of_run)
        return None if column is None else numbers(column, name, what, error, describe)

    originals = named.get("duplicate_of", of_run)
    intents = named.get("iteration", not of_run)
    as_ids = identifiers if of_run else strings
    return Columns(
        as_ids(query_id, named.given_as("query_id"), what, error),
        as_ids(doc_id, named.given_as("doc_id"), what, error),
        values,
        optional("doc_length"),
        None if originals is None else strings(originals, "duplicate_of", what, error, holes=True),
        None if intents is None else _as_text(intents, error),
        optional("doc_cost"),
        chances,
        value in named,
    )


_P_RELEVANT = "p_relevant"
_SUM = 1e-6  # largest difference of the sum of the probabilities of a document from 1


def columns_of_chances(given: Iterable[str], error: type[CWLAError]) -> list[str]:
    """Return the columns with probabilities of grades: ``p_relevant``, or ``p_0``, ``p_1``, …, or none.

    Raises
    ------
    error
        If a grade between 0 and the highest has no column, or if there are columns of both kinds.
    """
    found = [name for name in given if CHANCES.fullmatch(name)]
    numbered = {int(name[2:]): name for name in found if name != _P_RELEVANT}
    binary = [name for name in found if name == _P_RELEVANT]
    if numbered and binary:
        raise error(
            f"the judgments have the columns {_P_RELEVANT} and {some(numbered.values())}: keep one of the two kinds."
        )
    lacking = [f"p_{grade}" for grade in range(max(numbered, default=-1)) if grade not in numbered]
    if lacking:
        raise error(
            f"the judgments have the column {numbered[max(numbered)]}, and not {some(lacking)}: each grade from 0 to"
            f" the highest needs a column of probabilities; or give {_P_RELEVANT} alone."
        )
    return binary or [numbered[grade] for grade in sorted(numbered)]


def checked_chances(
    names: Sequence[str], given: Sequence[Array], error: type[CWLAError], describe: Callable[[int], str]
) -> Array:
    """Return the probabilities of the grades 0, 1, … of each judgment, of shape [judgments × grades].

    Parameters
    ----------
    names : sequence of str
        Columns from :func:`columns_of_chances`.
    given : sequence of ndarray
        Their values.
    error : type
        Class of errors to raise.
    describe : callable
        Function from a row to its description.
    """
    chances = np.array(given, float).T
    for row, column in np.argwhere(~((chances >= 0) & (chances <= 1)))[:1]:  # also NaN
        odd = float(chances[row, column])
        raise error(f"{describe(row)}: {names[column]} is {odd!r}: probabilities are from 0 to 1.")
    if names[0] == _P_RELEVANT:
        return np.column_stack([1 - chances[:, 0], chances[:, 0]])
    totals = chances.sum(axis=1)
    off = np.flatnonzero(np.abs(totals - 1) > _SUM)
    if len(off):
        raise error(f"{describe(off[0])}: {names[0]} to {names[-1]} sum to {totals[off[0]]:.8g}, and must to 1.")
    return chances


def highest_possible(chances: Array) -> Array:
    """Return the highest grade of each judgment with a probability above 0."""
    highest = np.zeros(len(chances), np.int64)
    for grade, of_grade in enumerate(chances.T):
        highest[of_grade > 0] = grade
    return highest


def _cell(column: Any, row: int) -> Any:
    value = column.iloc[row] if hasattr(column, "iloc") else column[row]
    return value.as_py() if isinstance(value, pa.Scalar) else value


def _refuse_several(names: Any) -> None:
    unique = names.unique() if hasattr(names, "unique") else dict.fromkeys(names)
    several = unique.to_pylist() if hasattr(unique, "to_pylist") else list(unique)
    if len(several) > 1:
        raise BadRun(
            f"the column 'run' names {len(several):,} runs ({some(several)}), and a frame is one run: give them by"
            " name, dict(tuple(frame.groupby('run'))), or the path of a Parquet file of these rows."
        )


def _as_text(column: Any, error: type[CWLAError]) -> Ids:
    """Return names of intents, which may be numbers, as Arrow strings."""
    try:
        return pc.fill_null(pc.cast(as_arrow(column), pa.large_string()), "")
    except (pa.ArrowException, TypeError, UnicodeEncodeError):
        raise error("iteration of the judgments must be strings or whole numbers, one kind in all rows.") from None


def expected_name(column: str, given: Iterable[str]) -> str:
    """Return the name of a missing column: PyTerrier's if the data have other names of PyTerrier."""
    of_pyterrier = {meant: name for name, meant in PYTERRIER.items()}
    return of_pyterrier.get(column, column) if PYTERRIER.keys() & {*given} else column


class NamedColumns:
    """Columns of a run or of judgments by the names of ir_measures.

    Several columns with the same meaning must be equal.

    Parameters
    ----------
    data : DataFrame, polars or Arrow table, dict of dicts, or iterable of named tuples
        Run or judgments.
    what : {"run", "judgments"}
        Description of the data, for error messages.
    value : str
        Name of the column of scores or grades.
    error : type
        Class of errors to raise.
    """

    def __init__(self, data: Any, what: str, value: str, error: type[CWLAError]) -> None:
        self._what, self._error = what, error
        self._columns: dict[str, list[Named]] = {}
        self.given: list[str] = []
        for name, column in _named_columns(data, what, value, error):
            self.given.append(name)
            self._columns.setdefault(PYTERRIER.get(name, name), []).append((name, column))
        for alike in self._columns.values():
            alike.sort(key=lambda named: named[0] in PYTERRIER)

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def get(self, name: str, wanted: bool = True) -> Any:
        """Return the column with this name, or None if there is none or it is not wanted."""
        return self[name] if wanted and name in self._columns else None

    def __getitem__(self, name: str) -> Any:
        def refuse(sentence: str, row: int) -> CWLAError:
            known = {"query_id": "query", "doc_id": "document"}
            ids = [
                f"{what} {shown(_cell(self._columns[one][0][1], row))}"
                for one, what in known.items()
                if one != name and one in self._columns
            ]
            verb = sentence if self._what == "run" else sentence.replace("has", "have", 1)
            return self._error(f"the {self._what} {verb} in row {row} ({', '.join(ids)}). Keep one of the two.")

        return the_only(self._columns[name], refuse)

    def given_as(self, name: str) -> str:
        """Return the name that a column has in the data."""
        return self._columns[name][0][0]


def _named_columns(data: Any, what: str, value: str, error: type[CWLAError]) -> Iterable[Named]:
    if isinstance(data, Mapping):
        if what != "run" and any(hasattr(one, "columns") for one in data.values()):
            raise error("the judgments are tables by name, as runs are: judgments are given first, then runs.")
        odd = next(((q, documents) for q, documents in data.items() if not isinstance(documents, Mapping)), None)
        if odd is not None:
            raise error(
                f"the {what} must be a dict of dicts ({{query: {{document: {value}}}}}), and query {shown(odd[0])} has"
                f" {shown(odd[1])}, of type {type(odd[1]).__name__}."
            )
        scores = [(q, d, v) for q, documents in data.items() for d, v in documents.items()]
        return _transposed(("query_id", "doc_id", value), scores)
    if hasattr(data, "dask"):
        raise error(
            f"the {what} are a Dask DataFrame: pyterrier_cwla.evaluation.cluster.evaluate accepts those of runs."
        )
    if hasattr(data, "collect"):  # a lazy frame
        data = data.collect()
    if hasattr(data, "columns") and hasattr(data, "__getitem__"):
        return columns_of_table(data)
    if isinstance(data, Iterable) and not isinstance(data, str | bytes):
        rows = list(data)
        if rows and not hasattr(rows[0], "_fields"):
            record = isinstance(rows[0], Mapping) and {"query_id", "qid"} & rows[0].keys()
            several = not record and (isinstance(rows[0], Mapping) or hasattr(rows[0], "columns"))
            way_out = " Several runs need names: {'name': run, …}." if several and what == "run" else ""
            raise error(
                f"the {what} must be a DataFrame, a dict of dicts or named tuples, not a list of"
                f" {type(rows[0]).__name__}s.{way_out}"
            )
        return _transposed(rows[0]._fields if rows else ("query_id", "doc_id", value), rows)
    raise error(f"the {what} must be a DataFrame, a dict of dicts or named tuples, not {type(data).__name__}.")


def _transposed(names: Sequence[str], rows: list[Any]) -> Iterable[Named]:
    return zip(names, zip(*rows, strict=True) if rows else ((),) * len(names), strict=True)


def columns_of_table(table: Any) -> list[Named]:
    """Return the columns of a pandas, polars or Arrow table with their names, which may repeat."""
    if isinstance(table, pa.Table | pa.RecordBatch):
        return list(zip(table.column_names, table.columns, strict=True))
    if hasattr(table, "iloc"):
        return [(name, table.iloc[:, at]) for at, name in enumerate(table.columns)]
    return [(name, table[name]) for name in table.columns]


def identifiers(column: Any, name: str, what: str, error: type[CWLAError]) -> Ids:
    """Return a column of ids as Arrow strings; columns with a short dictionary keep it."""
    array = _arrow(column, name, what, error)
    if pa.types.is_dictionary(array.type) and is_text(array.type) and len(array):
        array = id_columns.checked(array)
        if id_columns.are_encoded(array):
            return array
    return strings(array, name, what, error)


def strings(column: Any, name: str, what: str, error: type[CWLAError], holes: bool = False) -> Ids:
    """Return a column of ids as Arrow strings.

    Parameters
    ----------
    column : Series, list, or Arrow array
        Ids.
    name : str
        Name of the column, for error messages.
    what : str
        Description of the data, for error messages.
    error : type
        Class of errors to raise.
    holes : bool, default=False
        Whether ids may be missing.
    """
    array = _arrow(column, name, what, error)
    if pa.types.is_large_string(array.type) and not array.null_count:
        return array
    array = without_dictionary(array)
    if not is_text(array.type):
        if len(array) and array.null_count < len(array):
            way = ".astype('Int64').astype(str)" if pa.types.is_floating(array.type) else ".astype(str)"  # not "1.0"
            raise error(
                f"{name} of the {what} must be strings, and this column is {array.type}: convert it with"
                f" {_DECODED if is_binary(array.type) else way}{_on_both(what)}."
            )
        array = pc.cast(array, pa.large_string())
    if array.null_count and not holes:
        raise error(f"{name} of the {what} is missing in row {first_row(pc.is_null(array))}.")
    return array if pa.types.is_large_string(array.type) else pc.cast(array, pa.large_string())


def _arrow(column: Any, name: str, what: str, error: type[CWLAError]) -> Ids:
    try:
        if isinstance(column, pa.Array | pa.ChunkedArray):
            return column
        if str(getattr(column, "dtype", "")) == "Object":  # a type of polars without counterpart in Arrow
            column = column.to_list()
        if hasattr(column, "to_arrow"):
            return column.to_arrow()
        if str(getattr(column, "dtype", "")) != "object" and not isinstance(column, tuple | list):
            return pa.array(column)
        array = pa.array(column, from_pandas=True)  # with an explicit type, Arrow would turn bytes into strings
        if is_text(array.type) or pa.types.is_null(array.type):
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
        f"{name} of the {what} must be strings, and {shown(odd)} is of type {type(odd).__name__}: convert"
        f" {_conversion(column, 'bytes' if isinstance(odd, bytes) else 'str')}{_on_both(what)}."
    )


def _is_missing(value: Any) -> bool:
    return is_null(value) or (isinstance(value, float) and value != value)


_DECODED = ".str.decode('utf-8')"


def _conversion(column: Any, to: str) -> str:
    """Return how to convert the values of a frame's column or of a dict, for error messages."""
    if isinstance(column, tuple | list):
        return f"each of them with {'.decode()' if to == 'bytes' else f'{to}()'}"
    if to == "bytes" and not all(isinstance(value, bytes) for value in column):
        return "the column with .map(lambda x: x.decode() if isinstance(x, bytes) else str(x))"
    return f"the column with {_DECODED if to == 'bytes' else f'.astype({to})'}"


def _on_both(what: str) -> str:
    return " on both sides" if what in ("run", "judgments") else ""


def numbers(
    column: Any, name: str, what: str, error: type[CWLAError], describe: Callable[[int], str] | None = None
) -> Array:
    """Return a column of numbers as a NumPy array; None becomes NaN.

    Parameters
    ----------
    column : Series, list, or array
        Numbers.
    name : str
        Name of the column, for error messages.
    what : str
        Description of the data, for error messages.
    error : type
        Class of errors to raise.
    describe : callable, optional
        Function from a row to its description, for error messages.
    """
    try:
        return reals(column)
    except NotReal as wrong:
        row = f"row {wrong.row}" if describe is None else describe(wrong.row)
        way = f": convert {_conversion(column, 'float')}" if wrong.is_text else ""
        raise error(f"{row}: {name} of the {what} must be numbers, and {wrong}{way}.") from None


def of_columns(columns: Columns) -> str:
    """Return a hash of the columns of a run or of judgments."""
    ids = (columns.query_id, columns.doc_id, columns.duplicate_of, columns.iteration)
    numbers = [columns.value, columns.doc_length]
    numbers += [more for more in (columns.doc_cost, columns.chances) if more is not None]
    return fingerprint([None if c is None else of_strings(c) for c in ids], numbers)
