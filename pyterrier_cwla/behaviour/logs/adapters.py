"""Adapters that convert other log formats: the tables of a user study, and the clicks of a search engine."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from ...data.columns import judgment_columns, strings
from ...errors import BadLog, BadParameter, MalformedFile, many, near, some
from ...files.atomic import AnyPath
from ...files.formats import text_of
from .log import InteractionLog, dates_in, frame_of, read

_IMPRESSIONS = (
    *("id", "user", "topic_id", "query", "qid", "doc_id", "rank", "click", "time_spent", "actual_qrel_value"),
    "interface_type",
)
_OPENED = ("user", "topic_id", "qid", "doc_id", "judgement", "doc_decision_time", "doc_mark_item_time", "total_time")
_NAMES = {
    "topic_id": "topic",
    "rank": "rank",
    "doc_id": "docno",
    "actual_qrel_value": "grade",
    "time_spent": "summary_seconds",
    "total_time": "document_seconds",
    "query": "query",
    "interface_type": "interface",
    "click": "clicks",
    "doc_decision_time": "decision_seconds",
    "doc_mark_item_time": "marking_seconds",
    "qid_opened": "opened_query",
}
"""Columns of the tables with their names in the log."""
_TEXT = ("user", "topic_id", "qid", "doc_id", "query", "interface_type")
_SHOWN = ("user", "query", "time", "rank", "docno", "clicked")
_CLICK_TIME = "click_time"
_NO_TABLE = (OSError, pa.ArrowException, UnicodeDecodeError, pd.errors.EmptyDataError, pd.errors.ParserError)
"""Exceptions for files that are not tables or cannot be decompressed."""


def chiir24_log(folder: AnyPath) -> InteractionLog:
    """Read the log of the user study of Pathak, Azzopardi and Halvey (CHIIR 2024).

    The tables are in the GitHub repository KanaadPathak/presentation-performance-satisfaction: 165 users, 4 topics with
    6 queries each, binary judgments of TREC. The rows are the impressions of ``serp_annotation``, joined with the
    opened documents of ``document_annotation``:

    * The study records each document *once* per user and topic, under the query for which the user first saw it. Later
      impressions of the document have no row (hence the gaps in the ranks), and clicks on them count in the recorded
      row. The tables are joined by user, topic and document id, so each opened document has an impression;
      ``opened_query`` is the query under which it was opened.
    * The column ``click`` is a count, kept as ``clicks``. In clicks per impression, P(C|R) is 0.385 and P(C|N) 0.225;
      with ``clicked`` (a count above 0), they are 0.353 and 0.199.
    * ``saved`` is true if the user judged the document relevant; judging and saving were one action. P(S|R) is 0.663
      and P(S|N) 0.351 over the 5,713 opened documents. Another 51 documents were clicked and not opened: their seconds
      are unknown, and they are not saved. Over all clicked documents, the values are 0.659 and 0.347.
    * A list is shuffled again when its query is repeated. Impressions are recorded by increasing rank, so a rank that
      does not increase starts another list and another session: ``363-5``, then ``363-5/2``. (A new list that starts at
      a deeper rank cannot be distinguished from the previous one.)
    * ``document_seconds`` is ``total_time``, from opening to leaving the document. It includes ``decision_seconds``
      (until the judgment) and ``marking_seconds`` (copying a relevant passage). ``summary_seconds`` is ``time_spent``
      on the card of a result, and often 0. No times are removed, even if longer than an hour.

    Parameters
    ----------
    folder : str or Path
        Folder with the tables as CSV files, optionally compressed with gzip.

    Returns
    -------
    InteractionLog

    Raises
    ------
    MalformedFile
        If a table or a column is missing, or a numeric column contains other values.
    BadLog
        If a user has a document of a topic twice.
    """
    document, query = ["user", "topic_id", "doc_id"], ["user", "topic_id", "qid"]
    shown = study_table(Path(folder), "serp_annotation", _IMPRESSIONS).sort_values("id", ignore_index=True)
    opened = study_table(Path(folder), "document_annotation", _OPENED)
    _check_study(shown, "impression", document, folder)
    _check_study(opened, "opened document", document, folder)
    rows = shown.merge(opened, "left", document, suffixes=("", "_opened"))
    anew = rows.groupby(query, sort=False)["rank"].diff() <= 0
    number = anew.groupby([rows[column] for column in query], sort=False).cumsum() + 1
    session = rows["topic_id"] + "-" + rows["qid"]
    log = InteractionLog.of(
        rows[["user", *_NAMES]]
        .rename(columns=_NAMES)
        .assign(
            session=session.where(number == 1, session + "/" + number.astype(str)),
            clicked=rows["click"] > 0,
            saved=rows["judgement"] > 0,
        )
    )
    was_opened, seconds = rows["total_time"].notna(), rows["total_time"]
    later = int((was_opened & (rows["qid"] != rows["qid_opened"])).sum())
    unopened, unplaced = int(((rows["click"] > 0) & ~was_opened).sum()), len(opened) - int(was_opened.sum())
    notes = [
        "A row means that the page of the result was opened, not that the user inspected the result.",
        f"Clicked more than once: {many(int((rows['click'] > 1).sum()), 'row')} (see the column clicks).",
        f"Opened under a later query than the recorded one: {many(later, 'document')}.",
        f"Clicked and not opened (seconds unknown, not saved): {many(unopened, 'row')}.",
        f"In a list that was shuffled again, and so in a session of its own: {many(int((number > 1).sum()), 'row')}.",
        f"Above 10 minutes on a document: {many(int((seconds > 600).sum()), 'row')}, at most {seconds.max():,.0f} s.",
    ]
    if unplaced:
        notes.append(f"Excluded, without an impression and hence without a rank: {many(unplaced, 'document')}.")
    return replace(log, notes=tuple(notes))


def _check_study(table: pd.DataFrame, name: str, document: list[str], folder: AnyPath) -> None:
    """Convert the numeric columns to numbers; refuse other values and duplicate documents."""
    for column in table.columns.difference(_TEXT):
        numbers = pd.to_numeric(table[column], errors="coerce")
        odd = table[column][numbers.isna() & table[column].notna()]
        if len(odd):
            raise MalformedFile(f"{folder}: {column} of an {name} is {odd.iloc[0]!r}; it must be a number.")
        table[column] = numbers
    twice = table.duplicated(document)
    if twice.any():
        user, topic, doc = table.loc[twice.idxmax(), document]
        raise BadLog(f"{folder}: user {user!r} has, for topic {topic!r}, {doc!r} twice as {name}: keep one.")


def study_table(folder: Path, name: str, columns: Sequence[str]) -> pd.DataFrame:
    """Return columns of a CSV table in a folder.

    Raises
    ------
    MalformedFile
        If the table or a column is missing.
    """
    path = next((p for p in (folder / f"{name}.csv.gz", folder / f"{name}.csv") if p.is_file()), None)
    if path is None:
        raise MalformedFile(f"{folder}: this folder contains no {name}.csv or {name}.csv.gz.")
    try:
        table = pd.read_csv(io.BytesIO(text_of(str(path))), dtype=dict.fromkeys(_TEXT, str))
    except _NO_TABLE as error:
        raise MalformedFile(f"{path}: cannot be read as a table: {error}") from error
    missing = [column for column in columns if column not in table]
    if missing:
        raise MalformedFile(f"{path}: no column {missing[0]!r}. {near(missing[0], map(str, table.columns))}")
    return table[list(columns)]


def click_log(shown: Any, idle_minutes: float = 60.0, qrels: Any = None) -> InteractionLog:
    """Return a log of sessions from the result lists and clicks of a search engine.

    A session belongs to one user and one query, and ends after `idle_minutes` without an impression or a click.
    Impressions of a session are merged: other pages, and repetitions of a page; a result counts as clicked if it was
    clicked at least once. A session has one list of results, so an impression with another document at a rank, or a
    document at another rank, starts a new session. Clicks after the end of the session are ignored; ``notes`` contains
    their number. Sessions are named ``query/1``, ``query/2``, … for each user; ``time`` is the time of the first click.

    Parameters
    ----------
    shown : DataFrame of pandas or polars, Arrow table, or list of dicts
        One row per result shown, with the columns user, query, time (of the impression; dates, or seconds), rank, docno
        and clicked, and optionally click_time (empty without a click).
    idle_minutes : float, default=60
        Duration in minutes without an impression or a click after which a session ends.
    qrels : DataFrame, dict of dicts, or path, optional
        Judgments of the same queries, as for :func:`evaluate`, for the grades.

    Returns
    -------
    InteractionLog

    Raises
    ------
    BadLog
        As :meth:`InteractionLog.of`; and if a row has no time, a click time without a click, a click before the
        impression, or if an impression has a rank or a document twice.
    BadParameter
        If `idle_minutes` is not positive.

    References
    ----------
    Chapelle et al. (2009), section 6.1, for 60 minutes.

    Examples
    --------
    >>> shown = [dict(user="ann", query="q", time=t, rank=r, docno=d, clicked=c)
    ...          for t, r, d, c in [(0, 1, "a", 1), (0, 2, "b", 0), (5000, 1, "a", 0), (5000, 2, "b", 1)]]
    >>> click_log(shown).rows[["user", "session", "topic", "rank", "docno", "clicked"]]
      user session topic  rank docno  clicked
    0  ann     q/1     q     1     a     True
    1  ann     q/1     q     2     b    False
    2  ann     q/2     q     1     a    False
    3  ann     q/2     q     2     b     True
    """
    if not idle_minutes > 0:
        raise BadParameter(f"idle_minutes={idle_minutes!r} must be above 0.")
    rows, foreign = _showings(frame_of(shown))
    rows["part"], late = _parts(rows, idle_minutes * 60.0)
    rows.loc[late, ["clicked", _CLICK_TIME]] = [False, np.nan]
    rows["list"], changed = _lists(rows)
    lists = rows.groupby("list")["start"].min().sort_values(kind="stable").reset_index()
    lists = lists.merge(rows[["list", "user", "topic"]].drop_duplicates("list"))
    lists["session"] = lists["topic"] + "/" + (lists.groupby(["user", "topic"]).cumcount() + 1).astype(str)
    rows = rows.drop(columns=["session", "start"]).merge(lists[["list", "session", "start"]])
    rows["time"] = rows[_CLICK_TIME] - rows["start"]
    key = ["user", "session", "topic", "rank", "docno"]
    rows = rows.groupby(key, as_index=False, sort=False).agg({"clicked": "any", "time": "min"})
    if qrels is not None:
        columns = judgment_columns(qrels)
        judged = {"topic": columns.query_id.to_pandas(), "docno": columns.doc_id.to_pandas(), "grade": columns.value}
        grades = pd.DataFrame(judged)
        twice = grades.duplicated(["topic", "docno"])
        if twice.any():
            topic, docno = grades.loc[twice.idxmax(), ["topic", "docno"]]
            raise BadLog(f"the judgments have document {docno!r} twice for query {topic!r}: keep one.")
        rows = rows.merge(grades, "left", ["topic", "docno"])
    notes = ["The log contains all results shown; which of them were seen is unknown."]
    if changed:
        notes.append(f"Started because the list of results changed: {many(changed, 'session')}.")
    if late.any():
        notes.append(f"Ignored, after the end of the session: {many(int(late.sum()), 'click')}.")
    if foreign:
        notes.append(f"Unused columns: {some(foreign, 8)}.")
    return InteractionLog(rows, notes=tuple(notes))


def read_clicks(path: AnyPath, broken: str = "error") -> InteractionLog:
    """Read a log of sessions from the clicks in a file.

    Parameters
    ----------
    path : str or Path
        CSV, TSV or Parquet file with the columns session, query, document, rank and click, and optionally user, time
        and others of :class:`InteractionLog`; or, without sessions, with those of :func:`click_log`. Without users,
        each session has its own.
    broken : {"error", "exclude"}, default="error"
        Treatment of impossible rows of sessions, as for :meth:`InteractionLog.of`.

    Raises
    ------
    MalformedFile
        If the file cannot be read, or has no such columns.
    BadLog
        As :meth:`InteractionLog.of` and :func:`click_log`.
    """
    rows = read(str(path))[0].rename(columns={"document": "docno", "click": "clicked"})
    needed = ("query", "docno", "rank", "clicked", *(("session",) if "time" not in rows else ()))
    if missing := [name for name in needed if name not in rows]:
        raise MalformedFile(
            f"{path}: no column {some(missing, 5)}; there is {some(rows.columns, 8)}. A log of clicks has the columns"
            " session, query, document (or docno), rank and click (or clicked); or user, query, time, document, rank"
            " and click."
        )
    if "session" not in rows:
        return click_log(rows)
    users = rows.get("user", rows["session"])
    return InteractionLog.of(rows.rename(columns={"query": "topic"}).assign(user=users), broken)


def _showings(given: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows with ids as strings and times in seconds, and the names of unused columns."""
    missing = [name for name in _SHOWN if name not in given]
    if missing:
        raise BadLog(
            f"the results shown have no column {missing[0]!r}. {near(missing[0], map(str, given.columns))}"
            f" Required columns: {some(_SHOWN, 6)}; optional: {_CLICK_TIME!r}."
        )
    shown_at = dates_in(given["time"])
    clicked_at = dates_in(given.get(_CLICK_TIME, pd.Series(np.nan, given.index)))
    start, click = _seconds(shown_at), _seconds(clicked_at)
    if click.notna().any() and (shown_at.dtype.kind == "M") != (clicked_at.dtype.kind == "M"):
        raise BadLog("time and click_time must both be dates, or both be seconds.")
    if start.isna().any():
        raise BadLog(
            f"row {start.index[start.isna().to_numpy().argmax()]} has no time: give the time of the impression."
        )
    query = strings(given["query"], "query", "results shown", BadLog).to_pandas().set_axis(given.index)
    # Each impression is a session here, so that the validation of logs finds duplicates within it.
    showing = query + " at " + start.map(repr)
    rows = given[["user", "rank", "docno", "clicked"]]
    rows = InteractionLog(rows.assign(session=showing, topic=query, start=start, click_time=click)).rows
    for wrong, what in (
        (rows[_CLICK_TIME].notna() & ~rows["clicked"], "a click time without a click"),
        (rows[_CLICK_TIME] < rows["start"], "a click before the impression"),
    ):
        if wrong.any():
            row = rows.loc[wrong.idxmax()]
            raise BadLog(
                f"user {row['user']!r}, query {row['topic']!r}, rank {row['rank']}: {what}; {int(wrong.sum()):,} rows."
                " Correct them, or leave out the column click_time."
            )
    return rows, [str(c) for c in given.columns if c not in (*_SHOWN, _CLICK_TIME)]


def _seconds(times: pd.Series) -> pd.Series:
    """Return times as seconds since an arbitrary origin; NaN if missing."""
    if times.dtype.kind == "M":
        return (pd.to_datetime(times, utc=True) - pd.Timestamp(0, tz="UTC")).dt.total_seconds()
    times = times.mask(times == "", None)
    seconds = pd.to_numeric(times, errors="coerce").astype(float)
    wrong = ((seconds.isna() & times.notna()) | np.isinf(seconds)).to_numpy()
    if wrong.any():
        row = wrong.argmax()
        raise BadLog(
            f"row {times.index[row]}: {times.name} {times.iloc[row]!r} is neither a date nor a number of seconds;"
            " convert texts of dates other than 2026-01-31T10:00:00 with pandas.to_datetime."
        )
    return seconds


def _parts(rows: pd.DataFrame, idle: float) -> tuple[pd.Series, pd.Series]:
    """Split the rows by idle times.

    Returns
    -------
    part : Series of int
        Part of each row, a period without idle times.
    late : Series of bool
        Whether the click of the row is in a later part.
    """
    search = ["user", "topic"]
    times = (rows[search].assign(at=rows[time], of=time) for time in ("start", _CLICK_TIME))
    events = pd.concat(times).dropna(subset="at").sort_values([*search, "at"], kind="stable")
    events["part"] = (~(events.groupby(search, sort=False)["at"].diff() <= idle)).cumsum()
    of_showing, of_click = (
        events.loc[events["of"] == time, "part"].reindex(rows.index) for time in ("start", _CLICK_TIME)
    )
    return of_showing, of_click.notna() & (of_click != of_showing)


def _lists(rows: pd.DataFrame) -> tuple[pd.Series, int]:
    """Assign each row to a list of results, so that no list contradicts itself.

    The first impression that contradicts an earlier one of its list starts a new list.

    Returns
    -------
    lists : Series of int
        Number of the list of each row.
    changed : int
        Number of lists that start because of a contradiction.
    """
    part = rows["part"]
    lists, changed = part.to_numpy().astype(np.int64), 0
    while True:
        frame = rows.assign(list=lists).sort_values(["list", "start"], kind="stable")
        first_document = frame.groupby(["list", "rank"], sort=False)["docno"].transform("first")
        first_rank = frame.groupby(["list", "docno"], sort=False)["rank"].transform("first")
        wrong = frame[(frame["docno"] != first_document) | (frame["rank"] != first_rank)]
        if wrong.empty:
            return pd.Series(lists, rows.index), changed
        since = rows.assign(list=lists)["list"].map(wrong.groupby("list")["start"].min())
        begun = (rows["start"] >= since).to_numpy()
        _, fresh = np.unique(lists[begun], return_inverse=True)
        changed += int(fresh.max()) + 1
        lists = lists.copy()
        lists[begun] = lists.max() + 1 + fresh
