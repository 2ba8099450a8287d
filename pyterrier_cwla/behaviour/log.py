"""What users did with the results they saw: one row for each result that a user saw in a session, checked."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from ..errors import BadLog, BadParameter, MalformedFile, many, near, some
from ..files import AnyPath, in_parquet, in_text, packing_of, refuse_text
from ..frames import strings

#: The columns of a log, and what each is; the first six are needed, the others by what reads them.
COLUMNS = {
    "user": "who searched",
    "session": "one search of this user: one list of results",
    "topic": "what was searched for: the query's id in the judgments",
    "rank": "the result's rank, from 1",
    "docno": "the result's document",
    "clicked": "whether the document was opened",
    "grade": "its relevance grade; empty where unjudged",
    "seen": "whether the user saw the result; without it, whatever has a row was seen",
    "clicks": "how often the document was opened, where that is counted",
    "saved": "whether the user saved the document, or judged it relevant",
    "summary_seconds": "seconds on the summaries until this result was clicked or passed",
    "document_seconds": "seconds on the document; empty where not opened",
    "words": "the document's length in words; empty where unknown",
    "duplicate": "whether the user had seen another document with the same text",
    "time": "seconds from the session's start until the result was clicked (or passed)",
    "cut_off": "whether the session ended from outside (time was up), not by the user's leaving; one value a session",
}
NEEDED = ("user", "session", "topic", "rank", "docno", "clicked")
SESSION = ["user", "session"]
"""What tells sessions apart."""

_IDS = ("user", "session", "topic", "docno")
_TRUTHS = ("clicked", "saved", "seen", "duplicate", "cut_off")
_AMOUNTS = ("clicks", "summary_seconds", "document_seconds", "words", "time")
_KEY = b"pyterrier_cwla"
_TRUTH = {"true": True, "false": False, "1": True, "0": False, "1.0": True, "0.0": False}
_UNKNOWN = ("", "NA", "NaN", "nan")
"""How files of text say that they know nothing."""


@dataclass(frozen=True, eq=False, repr=False)
class InteractionLog:
    """A checked log. ``rows``: a DataFrame with columns of ``COLUMNS``, sorted by user, session and rank.

    Ids are strings, ``rank`` is a whole number, what is true or false a bool, all else a float with NaN where nothing
    is known. Columns that ``COLUMNS`` does not have are kept as they are, to choose rows by, and nothing reads them.
    """

    rows: pd.DataFrame
    excluded: dict[str, int] = field(default_factory=dict)
    """Sessions that were left out, by reason; one with several under the first."""
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, rows: Any, broken: str = "error") -> InteractionLog:
        """A log from a pandas or polars frame, an Arrow table or a list of dicts with the columns of ``COLUMNS``.

        Truths may be booleans, 0 and 1, or "true" and "false". A column in which nothing stands is as if it were not
        there; ``saved`` may be empty where nothing was clicked, and 0 seconds on a document that was not opened are
        none. ``broken``: "error", or "exclude" to leave out whole sessions with rows that cannot be true; ``excluded``
        then says how many, and why.

        Raises BadLog, naming the row, its user, session and rank, where columns are missing or misspelt, ids are no
        strings, ranks no whole numbers from 1, seconds, lengths or times negative or infinite; where a session has a
        rank or a document twice, two topics, or two values of ``cut_off``; where a document has two grades for a topic,
        or two lengths; and where a document was saved, or took time, without a click, or was clicked without being
        seen. Times may fall with rank: users jump.

        >>> rows = [dict(user="ann", session="1", topic="q", rank=r, docno=d, clicked=c)
        ...         for r, d, c in [(1, "a", 0), (2, "b", 1)]]
        >>> InteractionLog.of(rows)
        A log of 1 user, 1 session, 2 results, 1 clicked.
        Known: user, session, topic, rank, docno, clicked.
        Not known: grade, seen (all are taken as seen), clicks, saved, summary_seconds, document_seconds, words,
        duplicate, time, cut_off.
        One user: nothing here has an interval.
        """
        frame = frame_of(rows)
        labels = frame.index.to_numpy()
        return _checked(cls, frame.reset_index(drop=True), broken, lambda row: f"row {labels[row]}", "log")

    @classmethod
    def read(cls, path: AnyPath, broken: str = "error") -> InteractionLog:
        """A log from a file: CSV, TSV (with a header line) or Parquet, compressed or not.

        Ids stay as they are written: ``007`` is not 7. Checked as by :meth:`of`, naming the file and its line.
        """
        frame, place, metadata = _read(os.fsdecode(path))
        log = _checked(cls, frame, broken, place, f"log {os.fsdecode(path)}")
        about = json.loads(metadata.get(_KEY, b"{}"))
        counts = pd.Series(about.get("excluded", {}), dtype=int).add(pd.Series(log.excluded, dtype=int), fill_value=0)
        return replace(log, excluded=counts.astype(int).to_dict(), notes=(*about.get("notes", ()), *log.notes))

    def save(self, path: AnyPath) -> None:
        """Writes a file that :meth:`read` reads: ``.parquet``, ``.csv`` or ``.tsv``, the last two also ``.gz``.

        Only Parquet also keeps ``excluded`` and ``notes``.
        """
        _write(self, Path(os.fsdecode(path)))

    def has(self, column: str) -> bool:
        """Whether anything is known under this name."""
        return column in self.rows and bool(self.rows[column].notna().any())

    def only(self, which: Any) -> InteractionLog:
        """The log of some rows: ``which`` is a boolean for each."""
        rows = self.rows[np.asarray(which, bool)].reset_index(drop=True)
        if rows.empty:
            raise BadLog("only(…) chooses none of the log's rows.")
        return replace(self, rows=rows)

    @cached_property
    def users(self) -> pd.Index:
        """The users, in the order of the rows."""
        return pd.Index(self.rows["user"].unique(), name="user")

    @cached_property
    def sessions(self) -> pd.DataFrame:
        """One row per session: what was seen and clicked, and how long it took.

        ``results`` seen, ``clicks``, ``depth`` (the deepest clicked rank, 0 without a click), ``summary_seconds``,
        ``document_seconds`` and ``last_click`` (the time of it), NaN where they are not known, and ``cut_off`` where
        the log has it. ``document_seconds`` are not known where they are missing for one of the clicked documents.
        """
        rows = self.rows
        nothing = pd.Series(np.nan, rows.index)
        clicked = rows["clicked"]
        seconds = rows.get("document_seconds", nothing)
        parts = pd.DataFrame(
            {
                "user": rows["user"],
                "session": rows["session"],
                "topic": rows["topic"],
                "results": rows.get("seen", pd.Series(True, rows.index)),
                "clicks": clicked,
                "depth": rows["rank"] * clicked,
                "summary_seconds": rows.get("summary_seconds", nothing),
                "document_seconds": seconds.fillna(0.0) if self.has("document_seconds") else nothing,
                "last_click": rows.get("time", nothing).where(clicked),
                "unknown": clicked & seconds.isna(),
                **({"cut_off": rows["cut_off"]} if "cut_off" in rows else {}),
            }
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

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(line)}</p>" for line in self._lines()) + self.rows.head().to_html(index=False)

    def _lines(self) -> list[str]:
        rows = self.rows
        sessions = rows.groupby(SESSION, sort=False).ngroups
        counts = [many(len(self.users), "user"), many(sessions, "session"), many(len(rows), "result")]
        known = [self._known(column) for column in COLUMNS if self.has(column)]
        unknown = ["seen (all are taken as seen)" if c == "seen" else c for c in COLUMNS if not self.has(c)]
        foreign = [str(column) for column in rows.columns if column not in COLUMNS]
        lines = [f"A log of {', '.join(counts)}, {int(rows['clicked'].sum()):,} clicked."]
        lines += [f"Known: {', '.join(known)}."]
        lines += [f"Not known: {', '.join(unknown)}."] if unknown else []
        lines += [f"Kept, not read: {', '.join(foreign)}."] if foreign else []
        if self.excluded:
            why = "; ".join(f"{reason}: {n:,}" for reason, n in self.excluded.items())
            lines.append(f"Left out: {many(sum(self.excluded.values()), 'session')} ({why}).")
        lines += ["One user: nothing here has an interval."] if len(self.users) == 1 else []
        return [*lines, *self.notes]

    def _known(self, column: str) -> str:
        """A column's name, and of how many rows it is known where that is not all that could be."""
        values = self.rows[column]
        of, what = (self.rows["clicked"], "clicks") if column == "document_seconds" else (slice(None), "results")
        known, all_ = int(values[of].notna().sum()), len(values[of])
        return column if known == all_ else f"{column} ({known:,} of {all_:,} {what})"


# ---- what is a log and what is not


def as_log(log: Any) -> InteractionLog:
    """A log as it is, or one of rows that make one."""
    return log if isinstance(log, InteractionLog) else InteractionLog.of(log)


def frame_of(rows: Any) -> pd.DataFrame:
    if hasattr(rows, "collect"):  # a lazy frame
        rows = rows.collect()
    if not isinstance(rows, pd.DataFrame):
        if hasattr(rows, "to_pandas"):  # polars, Arrow
            rows = rows.to_pandas()
        elif isinstance(rows, Iterable) and not isinstance(rows, str | bytes):
            rows = pd.DataFrame(rows if isinstance(rows, dict) else list(rows))
        else:
            raise BadLog(f"a log is made of a DataFrame or a list of dicts, not of {type(rows).__name__}.")
    return rows


def _checked(
    cls: type[InteractionLog], given: pd.DataFrame, broken: str, place: Callable[[int], str], what: str
) -> InteractionLog:
    """``given`` has the index 0, 1, …; ``place`` says where such a row comes from."""
    if broken not in ("error", "exclude"):
        raise BadParameter(f"broken={broken!r} must be 'error' or 'exclude'.")
    _check_columns(given, what)
    if given.empty:
        raise BadLog(f"the {what} is empty: it has columns and no rows.")
    given = _without_empty(given)
    check = _Check(given, broken == "exclude", place)
    check.read_ids(what)
    check.read_ranks()
    check.read_truths()
    check.read_numbers()
    check.sessions()
    check.clicks()
    check.documents()
    rows = _without_empty(check.rows)
    if rows.empty:
        raise BadLog(f"nothing is left of the {what}: each session has a row that cannot be true ({check.excluded}).")
    order = [*(c for c in COLUMNS if c in rows), *(c for c in rows if c not in COLUMNS)]
    rows = rows[order].sort_values([*SESSION, "rank"], kind="stable", ignore_index=True)
    return cls(rows, check.excluded)


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
        hint = near(missing[0], others) if others else f"There is {some(names, 8)}."
        lacking = f"{missing[0]!r} ({COLUMNS[missing[0]]})" if len(missing) == 1 else some(missing, 6)
        raise BadLog(f"the {what} has no column {lacking}. {hint} It needs {some(NEEDED, 6)}.")
    absent = {name.lower(): name for name in COLUMNS if name not in names}
    for name in names:
        if name not in COLUMNS:
            meant = _meant(str(name), absent)
            if meant:
                raise BadLog(
                    f"the {what} has a column {name!r} and none {meant!r}: rename it if it is that ({COLUMNS[meant]}),"
                    " or to something else if it is not."
                )


def _meant(name: str, absent: dict[str, str]) -> str | None:
    found = difflib.get_close_matches(name.lower(), absent, 1, cutoff=0.8)
    return absent[found[0]] if found else None


def _unknown(column: pd.Series) -> pd.Series:
    return column.isna() if column.dtype.kind in "biuf" else column.isna() | column.isin(_UNKNOWN)


class _Check:
    """The rows of a log while they are checked: a broken one is an error, or goes with its whole session."""

    def __init__(self, given: pd.DataFrame, exclude: bool, place: Callable[[int], str]) -> None:
        self.given, self.rows, self.exclude, self.place = given, given.copy(), exclude, place
        self.excluded: dict[str, int] = {}

    def read_ids(self, what: str) -> None:
        for column in _IDS:
            values = strings(self.given[column], column, what, BadLog, holes=True).to_pandas()
            self.rows[column] = values.set_axis(self.rows.index)
        for column in _IDS:
            missing = self.rows[column].isna() | (self.rows[column] == "")
            if missing.any() and column in SESSION:
                row = int(missing.to_numpy().argmax())
                raise BadLog(f"{self.place(row)}: no {column}, and so no session that the row could belong to.")
            self.refuse(missing, f"no {column}", f"Every row needs its {column}.")

    def read_ranks(self) -> None:
        rank = self._number("rank")
        wrong = ~((rank >= 1) & (rank < 2**53) & (rank % 1 == 0))
        self.refuse(wrong, "the rank is no whole number from 1", "Ranks count from 1.", ("rank",))
        self.rows["rank"] = rank.loc[self.rows.index].astype(np.int64)

    def read_truths(self) -> None:
        for column in (c for c in _TRUTHS if c in self.rows and self.rows[c].dtype != bool):
            given = self.rows[column].where(~_unknown(self.rows[column]))
            codes, values = pd.factorize(given)
            meant = [_TRUTH.get(str(value).strip().lower()) for value in values]
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
            self.refuse(truth.isna(), f"{column} is not known", "It must be known in every row, or have no column.")
            self.rows[column] = truth.loc[self.rows.index].astype(bool)

    def read_numbers(self) -> None:
        for column in (c for c in ("grade", *_AMOUNTS) if c in self.rows):
            values = self._number(column)
            wrong = values.isna() & ~_unknown(self.rows[column])
            self.refuse(wrong, f"{column} is no number", "Leave it empty where it is not known.", (column,))
            wrong = np.isinf(values) | ((values < 0) & (column in _AMOUNTS))
            kind = "infinite" if column == "grade" else "negative or infinite"
            self.refuse(wrong, f"{column} is {kind}", "Leave it empty where it is not known.", (column,))
            self.rows[column] = values.loc[self.rows.index]

    def sessions(self) -> None:
        for column, plural in (("topic", "topics"), ("cut_off", "values of cut_off")):
            if column in self.rows:
                first = self.rows.groupby(SESSION, sort=False)[column].transform("first")
                self.refuse(
                    self.rows[column] != first,
                    f"a session with two {plural}",
                    f"A session is one search: {column} is the same in all its rows.",
                    (column,),
                    SESSION,
                )
        for column, name in (("rank", "a rank"), ("docno", "a document")):
            self.refuse(
                self.rows.duplicated([*SESSION, column]),
                f"{name} twice in a session",
                "A session is one list of results: give each list a session of its own, or keep one of the rows.",
                (column,),
                [*SESSION, column],
            )

    def clicks(self) -> None:
        if "seen" in self.rows:
            self.refuse(
                self.rows["clicked"] & ~self.rows["seen"],
                "a click on what was not seen",
                "Whatever was clicked was seen.",
                ("clicked", "seen"),
            )
        if "clicks" in self.rows:
            self.refuse(
                self.rows["clicks"].notna() & ((self.rows["clicks"] > 0) != self.rows["clicked"]),
                "clicks and clicked do not agree",
                "What was clicked was opened once or more often, and nothing else was.",
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
                "Leave them empty where the document was not opened.",
                ("document_seconds", "clicked"),
            )
            self.rows["document_seconds"] = self.rows["document_seconds"].where(self.rows["clicked"])

    def documents(self) -> None:
        for column, key, name in (
            ("grade", ["topic", "docno"], "a document with two grades for a topic"),
            ("words", ["docno"], "a document with two lengths"),
        ):
            if column in self.rows:
                values = self.rows.groupby(key, sort=False)[column]
                self.refuse(
                    values.transform("max") > values.transform("min"),
                    name,
                    f"One of its values of {column} is wrong, and nothing here says which.",
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
        """``at``: which of the broken rows to name; ``like``: what it has in common with an earlier row."""
        if not broken.to_numpy().any():
            return
        broken = broken.loc[self.rows.index].astype(bool)
        if not broken.any():
            return
        sessions = self.rows.groupby(SESSION, sort=False).ngroup()
        out = sessions.isin(sessions[broken])
        if not self.exclude:
            raise BadLog(self._said(broken if at is None else at, reason, way_out, shown, like, int(broken.sum())))
        self.excluded[reason] = int(sessions[out].nunique())
        self.rows = self.rows[~out].copy()

    def _said(
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
            f" {way_out} broken='exclude' leaves out all sessions that have such rows."
        )

    def _number(self, column: str) -> pd.Series:
        given = self.rows[column]
        if given.dtype.kind in "mM":
            raise BadLog(f"{column} of the log holds dates, and must hold numbers: seconds from the session's start.")
        values = pd.to_numeric(given.astype(object) if given.dtype == bool else given, errors="coerce")
        return pd.Series(values.to_numpy(float, na_value=np.nan), given.index)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


# ---- files


def _read(path: str) -> tuple[pd.DataFrame, Callable[[int], str], dict[bytes, bytes]]:
    try:
        packing = packing_of(path)
        if packing == "parquet":
            table = pa.parquet.ParquetFile(path).read()
            return table.to_pandas(ignore_metadata=True), partial(in_parquet, path), table.schema.metadata or {}
        with pa.input_stream(path, compression=packing) as stream:
            data = stream.read().removeprefix(b"\xef\xbb\xbf")
        return *_text(path, data), {}
    except (OSError, pa.ArrowException) as error:
        raise MalformedFile(f"{path}: {getattr(error, 'strerror', None) or error}") from error


def _text(path: str, data: bytes) -> tuple[pd.DataFrame, Callable[[int], str]]:
    """Every cell as it is written, since a column of ids may look like numbers; and where each row stands."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise MalformedFile(f"{path}: not UTF-8 but UTF-16. Save it again as UTF-8.")
    if not data or data.isspace():
        raise MalformedFile(f"{path}: empty; expected a line with the names of the columns, and rows below it.")
    head = data.lstrip(b"\r\n").split(b"\n", 1)[0].decode(errors="replace").strip("\r")
    delimiter = "\t" if "\t" in head else ","
    parse = pa.csv.ParseOptions(delimiter=delimiter, quote_char='"' if delimiter == "," else False)
    names = pa.csv.read_csv(pa.BufferReader(head.encode() + b"\n"), parse_options=parse).column_names
    as_text = pa.csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.large_string()), null_values=[""], strings_can_be_null=True
    )
    parse.newlines_in_values = delimiter == ","
    try:
        table = pa.csv.read_csv(pa.BufferReader(data), parse_options=parse, convert_options=as_text)
    except pa.ArrowInvalid as error:
        refuse_text(path, data, dict.fromkeys(names, ""), delimiter, error)
    lines = sum(bool(line.strip()) for line in data.splitlines()) == table.num_rows + 1
    return table.to_pandas(), (lambda row: in_text(path, data, row + 1)) if lines else partial(in_parquet, path)


def _write(log: InteractionLog, path: Path) -> None:
    table = pa.Table.from_pandas(log.rows, preserve_index=False)
    packing = {".gz": "gzip", ".zst": "zstd"}.get(path.suffix.lower())
    kind = (path.with_suffix("") if packing else path).suffix.lower()
    if kind == ".parquet" and not packing:
        about = json.dumps({"excluded": log.excluded, "notes": log.notes})
        pa.parquet.write_table(table.replace_schema_metadata({_KEY: about}), path)
    elif kind in (".csv", ".tsv"):
        tabs = kind == ".tsv"
        options = pa.csv.WriteOptions(
            include_header=not tabs, delimiter="\t" if tabs else ",", quoting_style="none" if tabs else "needed"
        )
        with pa.output_stream(str(path), compression=packing) as stream:
            if tabs:  # since Arrow puts quotes around names even where it must not
                stream.write("\t".join(table.column_names).encode() + b"\n")
            pa.csv.write_csv(table, stream, options)
    else:
        raise BadParameter(f"{path}: a log is saved as .parquet, or as .csv or .tsv, which may be packed: .gz, .zst.")
