"""Brings logs as others keep them into the one format: a study's tables, and the clicks of a search engine."""

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
from ...files.formats import packing_of
from ...files.memory_limit import unpacked
from .log import InteractionLog
from .validation import frame_of

_IMPRESSIONS = (
    *("id", "user", "topic_id", "query", "qid", "doc_id", "rank", "click", "time_spent", "actual_qrel_value"),
    "interface_type",
)
_OPENED = ("user", "topic_id", "qid", "doc_id", "judgement", "doc_decision_time", "doc_mark_item_time", "total_time")
_TEXT = ("user", "topic_id", "qid", "doc_id", "query", "interface_type")
_SHOWN = ("user", "query", "time", "rank", "docno", "clicked")
_CLICK_TIME = "click_time"
_NO_TABLE = (OSError, pa.ArrowException, UnicodeDecodeError, pd.errors.EmptyDataError, pd.errors.ParserError)
"""What pandas says of a file that is no table, or is packed and broken."""


def chiir24_log(folder: AnyPath) -> InteractionLog:
    """Read the log of Pathak, Azzopardi and Halvey's study (CHIIR 2024) from the folder with its tables.

    They stand in the GitHub repository KanaadPathak/presentation-performance-satisfaction: 165 users, 4 topics with 6
    queries each, binary judgments of TREC. The rows are the impressions of ``serp_annotation``, with what
    ``document_annotation`` says of the documents that were opened:

    * The study notes a document *once* for a user and topic, under the query for which the user first saw it. Results
      that were shown again have no row (hence gaps in the ranks), and clicks on them count where they are noted.
      Documents are joined by user, topic and id, so that all that were opened find their impression; ``opened_query``
      is the query under which they were.
    * The column ``click`` is a count, kept as ``clicks``. In clicks per impression P(C|R) is 0.385 and P(C|N) 0.225; by
      ``clicked``, a count above 0, they are 0.353 and 0.199.
    * ``saved`` says that the user judged the document relevant, which was one act with saving it: P(S|R) is 0.663 and
      P(S|N) 0.351 over the 5,713 documents that were opened. 51 more were clicked and not opened, which leaves their
      seconds unknown and nothing saved: over all that were clicked it is 0.659 and 0.347.
    * A list is shuffled anew when its query is asked again. Impressions were written by rising rank; where the rank
      does not rise, another list begins, and with it another session: ``363-5``, then ``363-5/2``. (A new list that
      goes on at a deeper rank cannot be told from the old one.)
    * ``document_seconds`` is ``total_time``, from opening to leaving: ``decision_seconds`` until the judgment, and
      ``marking_seconds``, in which users copied a passage that shows the relevance. ``summary_seconds`` is
      ``time_spent`` on a result's card, 0 for many. All times are kept, also of more than an hour.

    Parameters
    ----------
    folder : str or Path
        The folder with the tables as CSV, gzipped or not.

    Returns
    -------
    InteractionLog

    Raises
    ------
    MalformedFile
        If a table or a column is missing, or has no numbers where it should.
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
        pd.DataFrame(
            {
                "user": rows["user"],
                "session": session.where(number == 1, session + "/" + number.astype(str)),
                "topic": rows["topic_id"],
                "rank": rows["rank"],
                "docno": rows["doc_id"],
                "clicked": rows["click"] > 0,
                "grade": rows["actual_qrel_value"],
                "saved": rows["judgement"] > 0,
                "summary_seconds": rows["time_spent"],
                "document_seconds": rows["total_time"],
                "query": rows["query"],
                "interface": rows["interface_type"],
                "clicks": rows["click"],
                "decision_seconds": rows["doc_decision_time"],
                "marking_seconds": rows["doc_mark_item_time"],
                "opened_query": rows["qid_opened"],
            }
        )
    )
    was_opened, seconds = rows["total_time"].notna(), rows["total_time"]
    later = int((was_opened & (rows["qid"] != rows["qid_opened"])).sum())
    unopened, unplaced = int(((rows["click"] > 0) & ~was_opened).sum()), len(opened) - int(was_opened.sum())
    notes = [
        "A row says that a result's page was opened, not that the user looked at it.",
        f"Clicked more than once: {many(int((rows['click'] > 1).sum()), 'row')} (clicks has the counts).",
        f"Opened under a later query than the one they are noted under: {many(later, 'document')}.",
        f"Clicked and not opened (seconds not known, not saved): {many(unopened, 'row')}.",
        f"In a list that was shuffled anew, a session of its own: {many(int((number > 1).sum()), 'row')}.",
        f"Above 10 minutes on a document: {many(int((seconds > 600).sum()), 'row')}, at most {seconds.max():,.0f} s.",
        *([f"Left out, since no impression tells their rank: {many(unplaced, 'document')}."] if unplaced else []),
    ]
    return replace(log, notes=tuple(notes))


def _check_study(table: pd.DataFrame, name: str, document: list[str], folder: AnyPath) -> None:
    """Turn the columns of numbers into numbers; nothing else may stand there, and no document twice."""
    for column in table.columns.difference(_TEXT):
        numbers = pd.to_numeric(table[column], errors="coerce")
        odd = table[column][numbers.isna() & table[column].notna()]
        if len(odd):
            raise MalformedFile(f"{folder}: {column} of an {name} is {odd.iloc[0]!r}, and must be a number.")
        table[column] = numbers
    twice = table.duplicated(document)
    if twice.any():
        user, topic, doc = table.loc[twice.idxmax(), document]
        raise BadLog(f"{folder}: user {user!r} has, for topic {topic!r}, {doc!r} twice as {name}: keep one.")


def study_table(folder: Path, name: str, columns: Sequence[str]) -> pd.DataFrame:
    path = next((p for p in (folder / f"{name}.csv.gz", folder / f"{name}.csv") if p.is_file()), None)
    if path is None:
        raise MalformedFile(f"{folder}: there is no {name}.csv or {name}.csv.gz in it.")
    try:
        content = unpacked(str(path), packing_of(str(path)))
        table = pd.read_csv(io.BytesIO(content), dtype=dict.fromkeys(_TEXT, str))
    except _NO_TABLE as error:
        raise MalformedFile(f"{path}: cannot be read as a table: {error}") from error
    missing = [column for column in columns if column not in table]
    if missing:
        raise MalformedFile(f"{path}: no column {missing[0]!r}. {near(missing[0], map(str, table.columns))}")
    return table[list(columns)]


def click_log(shown: Any, idle_minutes: float = 60.0, qrels: Any = None) -> InteractionLog:
    """A log of sessions from what a search engine keeps: the lists that it showed, and the clicks on them.

    ``shown`` (a pandas or polars frame, an Arrow table, a list of dicts) has one row for each result that was shown:
    ``user``, ``query``, ``time`` of the showing (dates, or seconds), ``rank``, ``docno``, ``clicked``, and, where it is
    known, ``click_time``, empty without a click. ``qrels`` (as :func:`pyterrier_cwla.evaluate` takes them, by the same
    queries) give the grades.

    A session is of one user and one query, and ends after ``idle_minutes`` without a showing or a click. Showings of
    one session are put together: further pages, and the same page again, of which a result counts as clicked when it
    was clicked once. A showing that puts another document at a rank, or a document at another rank, opens a new
    session, since a session is one list. A click after the session has ended is not counted; ``notes`` say how many of
    these there are. Sessions are named ``query/1``, ``query/2``, … of each user; ``time`` is that of the first click.

    Raises BadLog for what :meth:`InteractionLog.of` refuses, for rows without a time, for a click time without a click
    and before the showing, and for a rank or a document twice in one showing.

    >>> shown = [dict(user="ann", query="q", time=t, rank=r, docno=d, clicked=c)
    ...          for t, r, d, c in [(0, 1, "a", 1), (0, 2, "b", 0), (5000, 1, "a", 0), (5000, 2, "b", 1)]]
    >>> click_log(shown).rows[["user", "session", "topic", "rank", "docno", "clicked"]]
      user session topic  rank docno  clicked
    0  ann     q/1     q     1     a     True
    1  ann     q/1     q     2     b    False
    2  ann     q/2     q     1     a    False
    3  ann     q/2     q     2     b     True

    Source: Chapelle et al. (2009), section 6.1, for 60 minutes.
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
        if grades.duplicated(["topic", "docno"]).any():
            topic, docno = grades.loc[grades.duplicated(["topic", "docno"]).idxmax(), ["topic", "docno"]]
            raise BadLog(f"the judgments have document {docno!r} twice for query {topic!r}: keep one.")
        rows = rows.merge(grades, "left", ["topic", "docno"])
    log = InteractionLog.of(rows)
    notes = ["Which results were seen is not known: all that were shown have a row."]
    if changed:
        notes.append(f"Begun because the list of results changed: {many(changed, 'session')}.")
    if late.any():
        notes.append(f"Not counted, since the session had ended: {many(int(late.sum()), 'click')}.")
    if foreign:
        notes.append(f"Columns that were not read: {some(foreign, 8)}.")
    return replace(log, notes=tuple(notes))


def _showings(given: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The rows with ids as strings and times as seconds (``start``, ``click_time``), and the columns not read."""
    missing = [name for name in _SHOWN if name not in given]
    if missing:
        raise BadLog(
            f"the results that were shown have no column {missing[0]!r}. {near(missing[0], map(str, given.columns))}"
            f" They need {some(_SHOWN, 6)}, and may have {_CLICK_TIME!r}."
        )
    start = _seconds(given["time"], "time")
    click = _seconds(given[_CLICK_TIME], _CLICK_TIME) if _CLICK_TIME in given else pd.Series(np.nan, given.index)
    if click.notna().any() and (given["time"].dtype.kind == "M") != (given[_CLICK_TIME].dtype.kind == "M"):
        raise BadLog("time and click_time must both be dates, or both be seconds.")
    if start.isna().any():
        raise BadLog(f"row {start.index[start.isna().to_numpy().argmax()]} has no time: when was the result shown?")
    query = strings(given["query"], "query", "results that were shown", BadLog).to_pandas().set_axis(given.index)
    # With each showing as a session, the checks of a log find what stands twice in one.
    showing = query + " at " + start.map(repr)
    rows = given[["user", "rank", "docno", "clicked"]].assign(
        session=showing, topic=query, start=start, click_time=click
    )
    rows = InteractionLog.of(rows).rows
    for wrong, what in (
        (rows[_CLICK_TIME].notna() & ~rows["clicked"], "a click time and no click"),
        (rows[_CLICK_TIME] < rows["start"], "a click before the showing"),
    ):
        if wrong.any():
            row = rows.loc[wrong.idxmax()]
            raise BadLog(
                f"user {row['user']!r}, query {row['topic']!r}, rank {row['rank']}: {what}; {int(wrong.sum()):,} rows."
                " Mend them, or leave out the column click_time."
            )
    return rows, [str(c) for c in given.columns if c not in (*_SHOWN, _CLICK_TIME)]


def _seconds(times: pd.Series, name: str) -> pd.Series:
    """Times as seconds from some moment, NaN where there is none."""
    if times.dtype.kind == "M":
        return (pd.to_datetime(times, utc=True) - pd.Timestamp(0, tz="UTC")).dt.total_seconds()
    seconds = pd.to_numeric(times, errors="coerce").astype(float)
    wrong = ((seconds.isna() & times.notna()) | np.isinf(seconds)).to_numpy()
    if wrong.any():
        row = wrong.argmax()
        raise BadLog(
            f"row {times.index[row]}: {name} {times.iloc[row]!r} is neither a date nor a number of seconds;"
            " pandas.to_datetime converts texts."
        )
    return seconds


def _parts(rows: pd.DataFrame, idle: float) -> tuple[pd.Series, pd.Series]:
    """Of each row the part between two idle times in which it was shown, and whether its click came in a later one."""
    showing = rows[["user", "topic", "start"]].rename(columns={"start": "at"}).assign(row=rows.index, click=False)
    click = rows[["user", "topic", _CLICK_TIME]].rename(columns={_CLICK_TIME: "at"}).assign(row=rows.index, click=True)
    events = pd.concat([showing, click[click["at"].notna()]]).sort_values(["user", "topic", "at"], kind="stable")
    begins = ~(events.groupby(["user", "topic"], sort=False)["at"].diff() <= idle)
    events["part"] = begins.cumsum()
    of_showing = events.loc[~events["click"]].set_index("row")["part"].reindex(rows.index)
    of_click = events.loc[events["click"]].set_index("row")["part"].reindex(rows.index)
    return of_showing, of_click.notna() & (of_click != of_showing)


def _lists(rows: pd.DataFrame) -> tuple[pd.Series, int]:
    """Of each row the list that it belongs to, a number; and how many lists were begun because one changed.

    The first showing of a list that contradicts an earlier one begins the next list, until none does.
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
