"""Interaction logs of users: one validated row per result that a user saw in a session."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...data.arrays import Array
from ...errors import BadLog, many
from ...errors.sanitise import sanitised
from ...files.atomic import AnyPath
from . import log_files
from .validation import COLUMNS, SESSION, checked, frame_of


@dataclass(frozen=True, eq=False, repr=False)
class InteractionLog:
    """Validated log of what users did with results.

    One row is one result that one user saw in one session. ``behaviour.logs.validation.COLUMNS`` lists the columns.
    Build logs with :meth:`of` or :meth:`read`, which validate the rows.

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
            Times may decrease with rank, because users can jump.
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
        frame = frame_of(rows)
        labels = frame.index.to_numpy()
        return cls(*checked(frame.reset_index(drop=True), broken, lambda row: f"row {labels[row]}", "log"))

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
        frame, place, about = log_files.read(os.fsdecode(path))
        log = cls(*checked(frame, broken, place, f"log {os.fsdecode(path)}"))
        counts = pd.Series(about.get("excluded", {}), dtype=int).add(pd.Series(log.excluded, dtype=int), fill_value=0)
        return replace(log, excluded=counts.astype(int).to_dict(), notes=(*about.get("notes", ()), *log.notes))

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
        log_files.write(self.rows, {"excluded": self.excluded, "notes": self.notes}, Path(os.fsdecode(path)))

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
        return replace(self, rows=rows)

    @property
    def seen(self) -> np.ndarray:
        """Mask of the rows whose result was seen; all rows if the log has no column ``seen``."""
        return self.rows["seen"].to_numpy(bool) if self.has("seen") else np.ones(len(self), bool)

    def floats(self, column: str) -> np.ndarray:
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

    def flags(self, column: str) -> np.ndarray:
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
        unknown = ["seen (all results count as seen)" if c == "seen" else c for c in COLUMNS if not self.has(c)]
        foreign = [str(column) for column in rows.columns if column not in COLUMNS]
        lines = [f"A log of {', '.join(counts)}, {int(rows['clicked'].sum()):,} clicked."]
        lines += [f"Known: {', '.join(known)}."]
        lines += [f"Not known: {', '.join(unknown)}."] if unknown else []
        lines += [f"Other columns: {', '.join(foreign)}."] if foreign else []
        if self.excluded:
            why = "; ".join(f"{reason}: {n:,}" for reason, n in self.excluded.items())
            lines.append(f"Left out: {many(sum(self.excluded.values()), 'session')} ({why}).")
        lines += ["Only one user: estimates have no intervals."] if len(self.users) == 1 else []
        return [*lines, *self.notes]

    def _known(self, column: str) -> str:
        """Return the name of a column, with the number of known values if some are missing."""
        values = self.rows[column]
        of, what = (self.rows["clicked"], "clicks") if column == "document_seconds" else (slice(None), "results")
        known, all_ = int(values[of].notna().sum()), len(values[of])
        return column if known == all_ else f"{column} ({known:,} of {all_:,} {what})"


def as_log(log: Any) -> InteractionLog:
    """Return a log unchanged, or build one from rows."""
    return log if isinstance(log, InteractionLog) else InteractionLog.of(log)


def numbered_sessions(log: InteractionLog) -> tuple[Array, Array]:
    """Return the session number of each row and the user number of each session, both in the order of the rows."""
    user, session = (pd.factorize(log.rows[column])[0] for column in ("user", "session"))
    first = np.ones(len(user), bool)
    first[1:] = (user[1:] != user[:-1]) | (session[1:] != session[:-1])
    return np.cumsum(first) - 1, user[first]
