"""Interaction logs: validated rows of results shown and clicked, read from and written to files."""

from __future__ import annotations

import csv
import difflib
import io
import json
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property, partial
from html import escape
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from ...data.columns import Array, strings
from ...errors import BadLog, BadParameter, MalformedFile, many, near, shown, some
from ...errors.sanitise import sanitised
from ...files.atomic import AnyPath, written
from ...files.formats import format_of
from ...files.memory_limit import unpacked
from ...files.run_files import opened
from ...files.table_readers import check_parquet, in_parquet, in_text, open_parquet, read_csv, refuse_text, unmarked

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
    with opened(path):
        form = format_of(path)
        if form.name == "parquet":
            file = open_parquet(path)
            check_parquet(path, file, file.schema_arrow.names)
            table = file.read()
            place: Callable[[int], str] = partial(in_parquet, path)
            rows, about = table.replace_schema_metadata().to_pandas(), _about(path, table)
        else:
            (rows, place), about = _text(path, unmarked(path, unpacked(path, form.codec))), {}
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


#: Columns of a log, with descriptions. The first six are required.
COLUMNS = {
    "user": "id of the user",
    "session": "id of one search by this user, with one list of results",
    "topic": "id of the query in the judgments",
    "rank": "rank of the result, from 1",
    "docno": "id of the document",
    "clicked": "whether the document was opened",
    "grade": "relevance grade; empty if unjudged",
    "seen": "whether the user saw the result; without this column, all results count as seen",
    "clicks": "number of times that the document was opened",
    "saved": "whether the user saved the document or judged it relevant",
    "summary_seconds": "seconds on the summaries until this result was clicked or passed",
    "document_seconds": "seconds on the document; empty if not opened",
    "words": "length of the document in words; empty if unknown",
    "duplicate": "whether the user had seen another document with the same text",
    "time": "seconds from the start of the session until the result was clicked or passed, or dates",
    "cut_off": "whether the session was interrupted, for instance by a time limit; one value per session",
}
NEEDED = ("user", "session", "topic", "rank", "docno", "clicked")
SESSION = ["user", "session"]
"""Columns that identify a session."""

_IDS = ("user", "session", "topic", "docno")
_FLAGS = ("clicked", "saved", "seen", "duplicate", "cut_off")
_AMOUNTS = ("clicks", "summary_seconds", "document_seconds", "words", "time")
_BOOLEANS = {"true": True, "false": False, "1": True, "0": False, "1.0": True, "0.0": False}
_VALUES = (str, Real, Decimal, np.bool_, type(None), type(pd.NA), type(pd.NaT))
_UNKNOWN = ("", "NA", "NaN", "nan")
"""Representations of missing values in text files."""


def frame_of(rows: Any) -> pd.DataFrame:
    """Return rows as a pandas DataFrame; raise `BadLog` if they are not a table."""
    if hasattr(rows, "collect"):  # a lazy frame
        rows = rows.collect()
    if isinstance(rows, pd.DataFrame):
        return rows
    try:
        if hasattr(rows, "to_pandas"):  # polars, Arrow
            return rows.to_pandas()
        if isinstance(rows, Iterable) and not isinstance(rows, str | bytes):
            return pd.DataFrame(rows if isinstance(rows, dict) else list(rows))
    except (TypeError, ValueError, pa.ArrowException) as error:
        raise BadLog(f"a log needs a DataFrame or a list of dicts; these rows cannot be converted: {error}.") from error
    of_file = f" InteractionLog.read({str(rows)!r}) reads a file." if isinstance(rows, str | os.PathLike) else ""
    raise BadLog(f"a log needs a DataFrame or a list of dicts, not {type(rows).__name__}.{of_file}")


def checked(
    given: pd.DataFrame, broken: str, place: Callable[[int], str], what: str
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Return validated rows, sorted and converted to their types, and the excluded sessions.

    Parameters
    ----------
    given : DataFrame
        Rows with the index 0, 1, ….
    broken : {"error", "exclude"}
        Whether an impossible row raises `BadLog` or excludes its session.
    place : callable
        Function from a row number to its description in error messages, such as "log.csv:3".
    what : str
        Name of the log in error messages.

    Returns
    -------
    rows : DataFrame
    excluded : dict of str to int
        Number of excluded sessions by reason.
    """
    if broken not in ("error", "exclude"):
        raise BadParameter(f"broken={broken!r} must be 'error' or 'exclude'.")
    _check_columns(given, what)
    if given.empty:
        raise BadLog(f"the {what} is empty: it has columns but no rows.")
    _check_types(given, place)
    given = _without_empty(given)
    check = _Check(given, broken == "exclude", place)
    check.read_ids(what)
    check.read_ranks()
    check.read_flags()
    check.read_numbers()
    check.sessions()
    check.clicks()
    check.documents()
    rows = _without_empty(check.rows)
    if rows.empty:
        raise BadLog(f"the {what} has no valid session: each session has an impossible row ({check.excluded}).")
    order = [*(c for c in COLUMNS if c in rows), *(c for c in rows if c not in COLUMNS)]
    rows = rows[order].sort_values([*SESSION, "rank"], kind="stable", ignore_index=True)
    return rows, check.excluded


def _validated(given: Any, broken: str) -> tuple[pd.DataFrame, dict[str, int]]:
    """Return rows of any form, validated, and the excluded sessions; errors contain the labels of rows."""
    frame = frame_of(given)
    labels = frame.index.to_numpy()
    return checked(frame.reset_index(drop=True), broken, lambda row: f"row {labels[row]}", "log")


def _without_empty(rows: pd.DataFrame) -> pd.DataFrame:
    optional = (column for column in COLUMNS if column in rows and column not in NEEDED)
    return rows.drop(columns=[column for column in optional if _unknown(rows[column]).all()])


def _check_columns(given: pd.DataFrame, what: str) -> None:
    names = list(given.columns)
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise BadLog(f"the {what} has the column {twice[0]!r} twice: keep one.")
    missing = [name for name in NEEDED if name not in names]
    if missing:
        others = [str(name) for name in names if name not in COLUMNS]
        if not names:
            raise BadLog(f"the {what} is empty: it has no columns.")
        hint = near(missing[0], others) if others else f"The columns are {some(names, 8)}."
        lacking = f"{missing[0]!r} ({COLUMNS[missing[0]]})" if len(missing) == 1 else some(missing, 6)
        raise BadLog(f"the {what} has no column {lacking}. {hint} Required columns: {some(NEEDED, 6)}.")
    absent = {name.lower(): name for name in COLUMNS if name not in names}
    for name in names:
        if name not in COLUMNS:
            for close in difflib.get_close_matches(str(name).lower(), absent, 1, cutoff=0.8):
                meant = absent[close]
                raise BadLog(
                    f"the {what} has a column {name!r} and no column {meant!r} ({COLUMNS[meant]}): rename the column,"
                    f" to {meant!r} if it has this meaning and to a different name otherwise."
                )


def _check_types(given: pd.DataFrame, place: Callable[[int], str]) -> None:
    """Raise `BadLog` unless all values are texts, numbers, booleans or missing."""
    for column in (c for c in given if c in COLUMNS and given[c].dtype.kind in "Oc"):
        odd = [
            kind for kind in set(map(type, given[column])) if not issubclass(kind, _VALUES) or kind is np.timedelta64
        ]
        if odd:
            row = next(row for row, value in enumerate(given[column]) if type(value) in odd)
            value = given[column].iloc[row]
            raise BadLog(
                f"{place(row)}: {column} is {shown(value)}, of type {type(value).__name__}; give a text, a number or a"
                " boolean."
            )


def _unknown(column: pd.Series) -> pd.Series:
    return column.isna() if column.dtype.kind in "biuf" else column.isna() | column.isin(_UNKNOWN)


#: Column, columns to show, mask of rows that contradict themselves, reason and way out.
_CONTRADICTIONS: tuple[tuple[str, tuple[str, ...], Callable[[pd.DataFrame], pd.Series], str, str], ...] = (
    (
        "seen",
        ("clicked", "seen"),
        lambda rows: rows["clicked"] & ~rows["seen"],
        "a click on a result that was not seen",
        "Clicked results must be seen.",
    ),
    (
        "clicks",
        ("clicks", "clicked"),
        lambda rows: rows["clicks"].notna() & ((rows["clicks"] > 0) != rows["clicked"]),
        "clicks and clicked do not agree",
        "clicks must be above 0 exactly if clicked is true.",
    ),
    (
        "saved",
        ("saved", "clicked"),
        lambda rows: rows["saved"] & ~rows["clicked"],
        "saved without a click",
        "Only documents that were opened can have been saved.",
    ),
    (
        "document_seconds",
        ("document_seconds", "clicked"),
        lambda rows: (rows["document_seconds"] > 0) & ~rows["clicked"],
        "seconds on a document that was not clicked",
        "Leave document_seconds empty if the document was not opened.",
    ),
)


class _Check:
    """Rows during validation. An impossible row raises `BadLog`, or excludes its session if `exclude` is true."""

    def __init__(self, given: pd.DataFrame, exclude: bool, place: Callable[[int], str]) -> None:
        self.given, self.rows, self.exclude, self.place = given, given.copy(), exclude, place
        self.excluded: dict[str, int] = {}

    def read_ids(self, what: str) -> None:
        """Convert the columns of ids to strings; refuse missing ids."""
        for column in _IDS:
            values = strings(self.given[column], column, what, BadLog, holes=True).to_pandas()
            self.rows[column] = values.set_axis(self.rows.index)
        for column in _IDS:
            missing = self.rows[column].isna() | (self.rows[column] == "")
            if missing.any() and column in SESSION:
                row = int(missing.to_numpy().argmax())
                raise BadLog(f"{self.place(row)}: no {column}; every row needs a user and a session.")
            self.refuse(missing, f"no {column}", f"Every row needs a {column}.")

    def read_ranks(self) -> None:
        """Convert the ranks to integers; refuse all but positive integers."""
        rank = self._number("rank")
        wrong = ~((rank >= 1) & (rank < 2**53) & (rank % 1 == 0))
        self.refuse(wrong, "the rank is not a positive integer", "Ranks start at 1.", ("rank",))
        self.rows["rank"] = rank.loc[self.rows.index].astype(np.int64)

    def read_flags(self) -> None:
        """Convert the columns of flags to booleans; refuse other values."""
        for column in (c for c in _FLAGS if c in self.rows and self.rows[c].dtype != bool):
            given = self.rows[column].where(~_unknown(self.rows[column]))
            # pandas 2 cannot make an index of objects that contain an integer above 64 bits.
            codes, values = pd.factorize(given.to_numpy() if given.dtype == object else given)
            meant = [_BOOLEANS.get(str(value).strip().lower()) for value in values]
            truth = pd.Series(np.array([*meant, None], object)[codes], self.rows.index)
            self.refuse(
                given.notna() & truth.isna(),
                f"{column} is neither true nor false",
                "Give a boolean, 0 or 1, or 'true' or 'false'.",
                (column,),
            )
            truth = truth.loc[self.rows.index]
            if column == "saved":
                truth = truth.where(truth.notna() | self.rows["clicked"], False)
            self.refuse(truth.isna(), f"{column} is missing", "Give a value in every row, or leave out the column.")
            self.rows[column] = truth.loc[self.rows.index].astype(bool)

    def read_numbers(self) -> None:
        """Convert the columns of numbers to floats; refuse infinite values and negative amounts."""
        for column in (c for c in ("grade", *_AMOUNTS) if c in self.rows):
            values = self._number(column)
            wrong = values.isna() & ~_unknown(self.rows[column])
            self.refuse(wrong, f"{column} is not a number", "Leave unknown values empty.", (column,))
            wrong = np.isinf(values) | ((values < 0) & (column in _AMOUNTS))
            kind = "infinite" if column == "grade" else "negative or infinite"
            self.refuse(wrong, f"{column} is {kind}", "Leave unknown values empty.", (column,))
            self.rows[column] = values.loc[self.rows.index]

    def sessions(self) -> None:
        """Refuse sessions with two topics, or with a rank or a document twice."""
        for column, plural in (("topic", "topics"), ("cut_off", "values of cut_off")):
            if column in self.rows:
                first = self.rows.groupby(SESSION, sort=False)[column].transform("first")
                self.refuse(
                    self.rows[column] != first,
                    f"a session with two {plural}",
                    f"A session is one search: {column} must be the same in all its rows.",
                    (column,),
                    SESSION,
                )
        for column, name in (("rank", "a rank"), ("docno", "a document")):
            self.refuse(
                self.rows.duplicated([*SESSION, column]),
                f"{name} twice in a session",
                "A session is one list of results: use one session per list, or keep one of the rows.",
                (column,),
                [*SESSION, column],
            )

    def clicks(self) -> None:
        """Refuse rows whose clicks contradict their other values."""
        for column, columns, broken, reason, way_out in _CONTRADICTIONS:
            if column in self.rows:
                self.refuse(broken(self.rows), reason, way_out, columns)
        if "document_seconds" in self.rows:
            self.rows["document_seconds"] = self.rows["document_seconds"].where(self.rows["clicked"])

    def documents(self) -> None:
        """Refuse documents with two grades for a topic or with two lengths."""
        for column, key, name in (
            ("grade", ["topic", "docno"], "a document with two grades for a topic"),
            ("words", ["docno"], "a document with two lengths"),
        ):
            if column in self.rows:
                values = self.rows.groupby(key, sort=False)[column]
                self.refuse(
                    values.transform("max") > values.transform("min"),
                    name,
                    f"Correct the values of {column}: they must be equal.",
                    (*key, column),
                    at=self.rows[column].notna() & (self.rows[column] != values.transform("first")),
                    like=key,
                )

    def refuse(
        self,
        broken: pd.Series,
        reason: str,
        way_out: str,
        shown: tuple[str, ...] = (),
        like: list[str] | None = None,
        at: pd.Series | None = None,
    ) -> None:
        """Raise `BadLog` for the first broken row, or exclude the sessions of all broken rows.

        Parameters
        ----------
        broken : Series of bool
            Mask of the broken rows.
        reason, way_out : str
            Cause and remedy for the error message.
        shown : tuple of str, default=()
            Columns whose values the message contains.
        like : list of str, optional
            Columns in which the broken row equals an earlier row; the message then contains that row.
        at : Series of bool, optional
            Mask of the broken rows that the message may show; by default all.
        """
        if not broken.to_numpy().any():
            return
        broken = broken.loc[self.rows.index].astype(bool)
        if not broken.any():
            return
        sessions = self.rows.groupby(SESSION, sort=False).ngroup()
        out = sessions.isin(sessions[broken])
        if not self.exclude:
            raise BadLog(self._message(broken if at is None else at, reason, way_out, shown, like, int(broken.sum())))
        self.excluded[reason] = int(sessions[out].nunique())
        self.rows = self.rows[~out].copy()

    def _message(
        self, at: pd.Series, reason: str, way_out: str, shown: tuple[str, ...], like: list[str] | None, rows: int
    ) -> str:
        row = int(at.index[at.to_numpy().argmax()])
        given = self.given.loc[row]
        who = ", ".join(f"{column} {_plain(given[column])!r}" for column in (*SESSION, "rank"))
        values = ", ".join(f"{column}={_plain(given[column])!r}" for column in shown if column != "rank")
        other = ""
        if like:
            same = (self.rows[like] == self.rows.loc[row, like]).all(axis=1)
            earlier = int(same.index[same.to_numpy().argmax()])
            value = f"{shown[-1]}={_plain(self.given.loc[earlier, shown[-1]])!r}"
            other = f", and {self.place(earlier)} has {value}"
        more = f"; {rows:,} rows in all" if rows > 1 else ""
        return (
            f"{self.place(row)} ({who}): {reason}{f' ({values})' if values else ''}{other}{more}."
            f" {way_out} broken='exclude' leaves out all sessions with such rows."
        )

    def _number(self, column: str) -> pd.Series:
        given = self.rows[column]
        if column == "time":
            given = dates_in(given)
            if given.dtype.kind == "M":
                first = given.groupby([self.rows[name] for name in SESSION], sort=False).transform("min")
                return (given - first).dt.total_seconds()
        if given.dtype.kind in "mM":
            raise BadLog(f"{column} of the log contains dates; it must contain seconds.")
        given = given.astype(object) if given.dtype == bool else given
        try:
            values = pd.to_numeric(given, errors="coerce")
        except OverflowError:  # integers beyond the range of floats count as invalid
            huge = given.map(lambda value: isinstance(value, int) and abs(value) > sys.float_info.max)
            values = pd.to_numeric(given.mask(huge), errors="coerce")
        return pd.Series(values.to_numpy(float, na_value=np.nan), given.index)


def dates_in(times: pd.Series) -> pd.Series:
    """Return texts of dates (ISO 8601) as dates; all other values unchanged, such as numbers and texts of numbers."""
    if times.dtype.kind in "biufmM":
        return times
    known = times.where(~_unknown(times))
    try:
        numbers = pd.to_numeric(known, errors="coerce").notna().any()
        return times if numbers else pd.to_datetime(known, format="ISO8601", utc=True)
    except (TypeError, ValueError, OverflowError):
        return times


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True, eq=False, repr=False)
class InteractionLog:
    """Validated log of what users did with results.

    One row is one result that one user saw in one session. ``behaviour.logs.log.COLUMNS`` lists the columns. Rows are
    always validated: by :meth:`of`, by :meth:`read`, and by the constructor, as by :meth:`of`.

    Attributes
    ----------
    rows : DataFrame
        The rows, sorted by user, session and rank. Ids are strings, ``rank`` is an integer, flags are booleans, and all
        other columns are floats with NaN for unknown values. Columns with other names are kept unchanged, for selecting
        rows; nothing else reads them.
    excluded : dict of str to int
        Number of excluded sessions by reason. A session with several reasons counts under the first.
    notes : tuple of str
        Remarks about the data, such as those of an adapter.
    """

    rows: pd.DataFrame
    excluded: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    _valid: pd.DataFrame | None = field(default=None, kw_only=True)
    """The rows that were validated, which are not validated again."""

    def __post_init__(self) -> None:
        if self.rows is not self._valid:
            try:
                rows, _ = _validated(self.rows, "error")
            except BadLog as error:  # broken= is a parameter of the other ways to make a log
                way_out = "broken='exclude' leaves", "InteractionLog.of(rows, broken='exclude') leaves"
                raise BadLog(str(error).replace(*way_out)) from None
            object.__setattr__(self, "rows", rows)
            object.__setattr__(self, "_valid", rows)

    @classmethod
    def of(cls, rows: Any, broken: str = "error") -> InteractionLog:
        """Return a log made of rows.

        Parameters
        ----------
        rows : DataFrame of pandas or polars, Arrow table, list of dicts, or dict of lists
            Rows with the columns user, session, topic, rank, docno and clicked, and optional columns (see the
            documentation of the log format). Flags are booleans, 0 and 1, or "true" and "false". A column without any
            value is ignored. ``saved`` may be empty in rows without a click. ``document_seconds`` of 0 in rows without
            a click are ignored.
        broken : {"error", "exclude"}, default="error"
            Treatment of impossible rows. "error" raises an exception. "exclude" leaves out each session with an
            impossible row and counts it in :attr:`excluded`.

        Returns
        -------
        InteractionLog

        Raises
        ------
        BadLog
            If a column is missing or misspelt, or if a row is impossible. The message contains the row and its user,
            session and rank. These rows are impossible: an id that is not a string; a rank that is not a positive
            integer; negative or infinite seconds, lengths or times; a rank or a document twice in a session; two topics
            or two values of ``cut_off`` in a session; two grades of a document for the same topic; two lengths of a
            document; a document that was saved or took time without a click; a click on a result that was not seen.
            Times may decrease with rank, because users can jump. Dates count as seconds from the first of the session.
        BadParameter
            If `broken` has another value.

        Examples
        --------
        >>> rows = [dict(user="ann", session="1", topic="q", rank=r, docno=d, clicked=c)
        ...         for r, d, c in [(1, "a", 0), (2, "b", 1)]]
        >>> InteractionLog.of(rows)
        A log of 1 user, 1 session, 2 results, 1 clicked.
        Known: user, session, topic, rank, docno, clicked.
        Not known: grade, seen (all results count as seen), clicks, saved, summary_seconds, document_seconds, words,
        duplicate, time, cut_off.
        Only one user: estimates have no intervals.
        """
        valid, excluded = _validated(rows, broken)
        return cls(valid, excluded, _valid=valid)

    @classmethod
    def read(cls, path: AnyPath, broken: str = "error") -> InteractionLog:
        """Return the log in a file.

        Parameters
        ----------
        path : str or Path
            CSV or TSV file with a header line, or Parquet file; may be compressed (gzip or zstd). Ids are read as text,
            so ``007`` is different from ``7``.
        broken : {"error", "exclude"}, default="error"
            Treatment of impossible rows, as for :meth:`of`.

        Returns
        -------
        InteractionLog

        Raises
        ------
        MalformedFile
            If the file cannot be read.
        BadLog
            As :meth:`of`; the message contains the file and the line.
        """
        frame, place, about = read(os.fsdecode(path))
        rows, excluded = checked(frame, broken, place, f"log {os.fsdecode(path)}")
        counts = pd.Series(about.get("excluded", {}), dtype=int).add(pd.Series(excluded, dtype=int), fill_value=0)
        return cls(rows, counts.astype(int).to_dict(), tuple(about.get("notes", ())), _valid=rows)

    def save(self, path: AnyPath) -> None:
        """Write the log to a file that :meth:`read` reads.

        Parameters
        ----------
        path : str or Path
            The suffix selects the format: ``.parquet``, or ``.csv`` or ``.tsv``, optionally followed by ``.gz`` or
            ``.zst``. Only Parquet files contain ``excluded`` and ``notes``.

        Raises
        ------
        BadParameter
            If the suffix is another.
        """
        write(self.rows, {"excluded": self.excluded, "notes": self.notes}, Path(os.fsdecode(path)))

    def has(self, column: str) -> bool:
        """Return whether the log has at least one value in a column.

        Parameters
        ----------
        column : str
            Name of a column; it need not exist.

        Returns
        -------
        bool
            False if the column does not exist, or if all its values are missing.
        """
        return column in self.rows and bool(self.rows[column].notna().any())

    def only(self, which: Any) -> InteractionLog:
        """Return a log of selected rows.

        Parameters
        ----------
        which : array_like of bool, shape (n_rows,)
            Mask of the rows to keep.

        Returns
        -------
        InteractionLog

        Raises
        ------
        BadLog
            If no row is selected.
        """
        rows = self.rows[np.asarray(which, bool)].reset_index(drop=True)
        if rows.empty:
            raise BadLog("only(…) selects none of the log's rows.")
        return replace(self, rows=rows, _valid=rows)

    @property
    def seen(self) -> Array:
        """Mask of the rows whose result was seen; all rows if the log has no column ``seen``."""
        return self.flags("seen") if self.has("seen") else np.ones(len(self), bool)

    def floats(self, column: str) -> Array:
        """Return the values of a numeric column.

        Parameters
        ----------
        column : str
            Name of a numeric column; it need not exist.

        Returns
        -------
        ndarray of float, shape (n_rows,)
            One value per row of the log, with NaN for unknown values. All values are NaN if the log does not have the
            column.
        """
        return self.rows[column].to_numpy(float) if self.has(column) else np.full(len(self), np.nan)

    def flags(self, column: str) -> Array:
        """Return the values of a boolean column.

        Parameters
        ----------
        column : str
            Name of a boolean column; it need not exist.

        Returns
        -------
        ndarray of bool, shape (n_rows,)
            One value per row of the log. All values are False if the log does not have the column.
        """
        return self.rows[column].to_numpy(bool) if self.has(column) else np.zeros(len(self), bool)

    @cached_property
    def users(self) -> pd.Index:
        """Ids of the users, in the order of the rows."""
        return pd.Index(self.rows["user"].unique(), name="user")

    @cached_property
    def sessions(self) -> pd.DataFrame:
        """Summary of each session: results seen, clicks, depth and seconds.

        DataFrame with one row per session and the columns user, session, topic, results (number of results seen),
        clicks (number of results clicked), depth (deepest clicked rank, 0 without clicks), summary_seconds,
        document_seconds and last_click (time of the last click, in seconds), and cut_off if the log has it. Unknown
        values are NaN. document_seconds is NaN if it is missing for a clicked document.
        """
        rows, clicked, seconds = self.rows, self.rows["clicked"], self.floats("document_seconds")
        parts = rows[[*SESSION, "topic", *(["cut_off"] if "cut_off" in rows else [])]].assign(
            results=self.seen,
            clicks=clicked,
            depth=rows["rank"] * clicked,
            summary_seconds=self.floats("summary_seconds"),
            document_seconds=np.nan_to_num(seconds) if self.has("document_seconds") else seconds,
            last_click=np.where(clicked, self.floats("time"), np.nan),
            unknown=clicked & np.isnan(seconds),
        )
        groups = parts.groupby(SESSION, sort=False)
        sessions = groups.agg({"topic": "first", "results": "sum", "clicks": "sum", "depth": "max"})
        sessions["summary_seconds"] = groups["summary_seconds"].sum(min_count=1)
        sessions["document_seconds"] = groups["document_seconds"].sum(min_count=1).mask(groups["unknown"].any())
        sessions["last_click"] = groups["last_click"].max()
        if "cut_off" in parts:
            sessions["cut_off"] = groups["cut_off"].first()
        return sessions.reset_index()

    def __len__(self) -> int:
        return len(self.rows)

    @sanitised
    def __repr__(self) -> str:
        return "\n".join(self._lines())

    @sanitised
    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(line)}</p>" for line in self._lines()) + self.rows.head().to_html(index=False)

    def _lines(self) -> list[str]:
        rows = self.rows
        sessions = rows.groupby(SESSION, sort=False).ngroups
        counts = [many(len(self.users), "user"), many(sessions, "session"), many(len(rows), "result")]
        columns = {
            "Known": [self._known(column) for column in COLUMNS if self.has(column)],
            "Not known": [
                "seen (all results count as seen)" if column == "seen" else column
                for column in COLUMNS
                if not self.has(column)
            ],
            "Other columns": [str(column) for column in rows.columns if column not in COLUMNS],
        }
        lines = [f"A log of {', '.join(counts)}, {int(rows['clicked'].sum()):,} clicked."]
        lines += [f"{head}: {', '.join(names)}." for head, names in columns.items() if names]
        lines += left_out(self.excluded)
        lines += ["Only one user: estimates have no intervals."] if len(self.users) == 1 else []
        return [*lines, *self.notes]

    def _known(self, column: str) -> str:
        """Return the name of a column, with the number of known values if some are missing."""
        values = self.rows[column]
        of, what = (self.rows["clicked"], "clicks") if column == "document_seconds" else (slice(None), "results")
        known = values[of].notna()
        return column if known.all() else f"{column} ({int(known.sum()):,} of {len(known):,} {what})"


def as_log(log: Any) -> InteractionLog:
    """Return a log unchanged, or build one from rows."""
    return log if isinstance(log, InteractionLog) else InteractionLog.of(log)


def numbered_sessions(log: InteractionLog) -> tuple[Array, Array]:
    """Return the session number of each row and the user number of each session, both in the order of the rows."""
    user, _ = pd.factorize(log.rows["user"])
    first = ~log.rows.duplicated(SESSION).to_numpy()
    return np.cumsum(first) - 1, user[first]


def highest(group: Array, values: Array, groups: int) -> Array:
    """Return the highest of the whole numbers of each group; 0 for a group without any."""
    found = np.zeros(groups, np.int64)
    np.maximum.at(found, group, values)
    return found


def left_out(excluded: dict[str, int]) -> list[str]:
    """Return a line with the number of excluded sessions and the reasons, if there are any."""
    why = "; ".join(f"{reason}: {n:,}" for reason, n in excluded.items())
    return [f"Left out: {many(sum(excluded.values()), 'session')} ({why})."] if excluded else []
