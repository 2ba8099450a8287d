"""What users did with the results they saw: one row for each result that a user saw in a session, checked."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...errors import BadLog, many
from ...errors.sanitise import sanitised
from ...files.atomic import AnyPath
from . import log_files
from .validation import COLUMNS, SESSION, checked, frame_of


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
        return cls(*checked(frame.reset_index(drop=True), broken, lambda row: f"row {labels[row]}", "log"))

    @classmethod
    def read(cls, path: AnyPath, broken: str = "error") -> InteractionLog:
        """A log from a file: CSV, TSV (with a header line) or Parquet, compressed or not.

        Ids stay as they are written: ``007`` is not 7. Checked as by :meth:`of`, naming the file and its line.
        """
        frame, place, about = log_files.read(os.fsdecode(path))
        log = cls(*checked(frame, broken, place, f"log {os.fsdecode(path)}"))
        counts = pd.Series(about.get("excluded", {}), dtype=int).add(pd.Series(log.excluded, dtype=int), fill_value=0)
        return replace(log, excluded=counts.astype(int).to_dict(), notes=(*about.get("notes", ()), *log.notes))

    def save(self, path: AnyPath) -> None:
        """Writes a file that :meth:`read` reads: ``.parquet``, ``.csv`` or ``.tsv``, the last two also ``.gz``.

        Only Parquet also keeps ``excluded`` and ``notes``.
        """
        log_files.write(self.rows, {"excluded": self.excluded, "notes": self.notes}, Path(os.fsdecode(path)))

    def has(self, column: str) -> bool:
        """Whether anything is known under this name."""
        return column in self.rows and bool(self.rows[column].notna().any())

    def only(self, which: Any) -> InteractionLog:
        """The log of some rows: ``which`` is a boolean for each."""
        rows = self.rows[np.asarray(which, bool)].reset_index(drop=True)
        if rows.empty:
            raise BadLog("only(…) chooses none of the log's rows.")
        return replace(self, rows=rows)

    @property
    def seen(self) -> np.ndarray:
        """Whether the user saw each row's result: the column, or, without it, all."""
        return self.rows["seen"].to_numpy(bool) if self.has("seen") else np.ones(len(self), bool)

    def floats(self, column: str) -> np.ndarray:
        """The numbers of a column; NaN in each row where the log does not have it."""
        return self.rows[column].to_numpy(float) if self.has(column) else np.full(len(self), np.nan)

    def flags(self, column: str) -> np.ndarray:
        """The truths of a column; False in each row where the log does not have it."""
        return self.rows[column].to_numpy(bool) if self.has(column) else np.zeros(len(self), bool)

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


def as_log(log: Any) -> InteractionLog:
    """A log as it is, or one of rows that make one."""
    return log if isinstance(log, InteractionLog) else InteractionLog.of(log)
