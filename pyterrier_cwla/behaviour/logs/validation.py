"""Validation of interaction logs: column types, ids, ranks, and checks for impossible rows."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Iterable
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from ...data.columns import strings
from ...errors import BadLog, BadParameter, near, shown, some

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
    "time": "seconds from the start of the session until the result was clicked or passed",
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
    raise BadLog(f"a log needs a DataFrame or a list of dicts, not {type(rows).__name__}.")


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
            meant = _similar(str(name), absent)
            if meant:
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


def _similar(name: str, absent: dict[str, str]) -> str | None:
    found = difflib.get_close_matches(name.lower(), absent, 1, cutoff=0.8)
    return absent[found[0]] if found else None


def _unknown(column: pd.Series) -> pd.Series:
    return column.isna() if column.dtype.kind in "biuf" else column.isna() | column.isin(_UNKNOWN)


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
        if "seen" in self.rows:
            self.refuse(
                self.rows["clicked"] & ~self.rows["seen"],
                "a click on a result that was not seen",
                "Clicked results must be seen.",
                ("clicked", "seen"),
            )
        if "clicks" in self.rows:
            self.refuse(
                self.rows["clicks"].notna() & ((self.rows["clicks"] > 0) != self.rows["clicked"]),
                "clicks and clicked do not agree",
                "clicks must be above 0 exactly if clicked is true.",
                ("clicks", "clicked"),
            )
        if "saved" in self.rows:
            self.refuse(
                self.rows["saved"] & ~self.rows["clicked"],
                "saved without a click",
                "Only documents that were opened can have been saved.",
                ("saved", "clicked"),
            )
        if "document_seconds" in self.rows:
            self.refuse(
                (self.rows["document_seconds"] > 0) & ~self.rows["clicked"],
                "seconds on a document that was not clicked",
                "Leave document_seconds empty if the document was not opened.",
                ("document_seconds", "clicked"),
            )
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
        if given.dtype.kind in "mM":
            raise BadLog(f"{column} of the log contains dates; it must contain seconds from the start of the session.")
        given = given.astype(object) if given.dtype == bool else given
        try:
            values = pd.to_numeric(given, errors="coerce")
        except OverflowError:  # integers beyond the range of floats count as invalid
            values = pd.to_numeric(given.mask(given.map(_is_huge)), errors="coerce")
        return pd.Series(values.to_numpy(float, na_value=np.nan), given.index)


def _is_huge(value: Any) -> bool:
    return isinstance(value, int) and abs(value) > sys.float_info.max


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
