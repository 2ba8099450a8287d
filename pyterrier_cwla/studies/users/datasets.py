"""Two public datasets of users' ratings, read into :class:`Rated`: sessions of Jiang and Allan, lists of CHIIR 2024."""

from __future__ import annotations

import csv
import io
import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...behaviour.logs.adapters import study_table
from ...errors import BadRatings, MalformedFile, many, near
from ...errors.parameter_checks import check_whole
from ...files.atomic import AnyPath
from ...files.memory_limit import unpacked
from .ratings import Rated

_NO_RESULTS = "no results"
_QUERY = ["user", "topic_id", "qid"]
_FEEDBACK = ("id", *_QUERY, "query", "feedback", "interface_type", "ndcg_10")
_IMPRESSIONS = ("id", *_QUERY, "doc_id", "rank", "actual_qrel_value")
_LISTS = ("user", "topic", "qid", "dict_shuffled_ranks")


def jiang_ratings(folder: AnyPath) -> Rated:
    """The 80 rated sessions of Jiang and Allan (2016), from the folder with ``session``, ``results`` and ``qrels``.

    They stand in the GitHub repository jiepujiang/ir_metrics (data): 388 queries with up to 9 results, two without;
    grades −1 (spam, gains nothing) to 2, judged for each session. ``rating`` is ``Performance``, 1 to 5; ``user``,
    ``topic`` and ``difficulty`` are properties.

    Raises MalformedFile where a file is missing or a line of it is not what it should be, BadRatings for a session that
    is rated twice.

    Source: Jiang and Allan (2016), section 4.
    """
    folder = Path(folder)
    rated = _lines(folder / "session", "SessionID", "User", "Topic", "Performance", "Difficulty")
    judged = _lines(folder / "qrels", "SessionID", "URL", "Relevance")
    found = _lines(folder / "results", "SessionID", "Qno", "rank", "URL")
    found["query_id"] = found["SessionID"] + "-" + found["Qno"]
    found["order"] = _numbers(found, "Qno", folder / "results")
    results = found[found["rank"] != _NO_RESULTS]
    return Rated.sessions(
        pd.DataFrame(
            {
                "query_id": judged["SessionID"],
                "doc_id": judged["URL"],
                "relevance": _numbers(judged, "Relevance", folder / "qrels").astype(int),
            }
        ),
        pd.DataFrame(
            {
                "query_id": results["query_id"],
                "doc_id": results["URL"],
                "score": -_numbers(results, "rank", folder / "results"),
            }
        ),
        found.rename(columns={"SessionID": "session"})[["session", "query_id", "order"]].drop_duplicates(),
        pd.DataFrame(
            {
                "session": rated["SessionID"],
                "rating": _numbers(rated, "Performance", folder / "session"),
                "user": rated["User"],
                "topic": rated["Topic"],
                "difficulty": _numbers(rated, "Difficulty", folder / "session"),
            }
        ),
    )


def chiir24_ratings(folder: AnyPath, depth: int = 10) -> Rated:
    """Read users' ratings of queries, 1 to 6, in the study of Pathak, Azzopardi and Halvey (CHIIR 2024).

    They stand in the GitHub repository KanaadPathak/presentation-performance-satisfaction: 165 users, 4 topics with 6
    queries each. A rated list is the first ``depth`` results as they were shown to this user (or all that it had), with
    binary judgments; ideal rankings know what the topic's six queries found.

    * Every list was *shuffled* for every user: what was shown at a rank is ``rank``, not ``original_rank``. Lists that
      are recorded whole (``dict_shuffled_ranks``) have the impressions at their ``rank`` wherever a query was asked
      once, users click less the higher the ``rank``, and impressions were written by rising ``rank``. The recorded
      ``ndcg_10`` is that of the query's original list by graded judgments, the same for all users; it tells nothing of
      what they saw (the column ``original_ndcg_10``).
    * The whole list is recorded of the last query only that a user asked for a topic. Of others there are impressions,
      one for each document *that the user had not been shown before* for the topic, hence gaps in the ranks.

    Left out, and counted in ``left_out`` by reason, are ratings of lists that are not known down to
    ``depth``: asked more than once in another order, left before that rank, or with gaps. (What stood in a gap cannot
    be told: of 1,165 gaps in lists that are also recorded whole, 103 have a document that was noted nowhere.) What is
    left is thus no random sample: users' first and last queries are more often known than those between.

    Properties: ``user``, ``topic``, ``interface``, ``query`` (text), ``number`` (the how-manieth rating of the user for
    the topic), ``original_ndcg_10``.

    Parameters
    ----------
    folder : str or Path
        The folder with the tables as CSV, gzipped or not.
    depth : int
        Results of a rated list, from 1.

    Returns
    -------
    Rated

    Raises
    ------
    MalformedFile
        If a table or a column is missing or not what it should be.
    BadRatings
        If no list is known.
    """
    check_whole(1, depth=depth)
    folder = Path(folder)
    feedback = study_table(folder, "query_feedback", _FEEDBACK).sort_values("id", ignore_index=True)
    noted = study_table(folder, "serp_annotation", _IMPRESSIONS).sort_values("id", ignore_index=True)
    noted["rank"] = _numbers(noted, "rank", folder / "serp_annotation.csv").astype(int)
    recorded = _recorded(folder)
    grades = noted.drop_duplicates(["topic_id", "doc_id"])[["topic_id", "doc_id", "actual_qrel_value"]]
    grades["actual_qrel_value"] = _numbers(grades, "actual_qrel_value", folder / "serp_annotation.csv").astype(int)
    feedback["number"] = feedback.groupby(["user", "topic_id"]).cumcount() + 1
    last = ~feedback.duplicated(["user", "topic_id"], keep="last")
    whole = last & _is_among(feedback, recorded)
    anew = noted.groupby(_QUERY)["rank"].diff() <= 0
    again = feedback.duplicated(_QUERY, keep=False) | _is_among(feedback, noted[anew])
    deepest = feedback[_QUERY].merge(noted.groupby(_QUERY, as_index=False)["rank"].max(), "left")["rank"]
    there = noted[(noted["rank"] <= depth) & _is_among(noted, feedback[~whole & ~again])]
    there = there[there.groupby(_QUERY)["rank"].transform("size") == depth]
    known = _is_among(feedback, there)
    short = ~(deepest >= depth)
    reasons = {
        "asked more than once, in another order each time": ~whole & again,
        f"not noted down to rank {depth}": ~whole & ~again & short,
        "shown also what the user had seen before, which was not noted": ~whole & ~again & ~short & ~known,
    }
    kept = feedback[whole | known]
    if kept.empty:
        raise BadRatings(f"{folder}: no rated list is known down to rank {depth}: take a smaller depth.")
    name = kept["user"] + "/" + kept["topic_id"] + "-" + kept["qid"]
    shown = pd.concat([recorded[_is_among(recorded, feedback[whole])], there])
    shown = shown[shown["rank"] <= depth]
    lists = kept[_QUERY].assign(query_id=name)
    run = shown.merge(lists, on=_QUERY)
    qrels = lists.merge(grades, on="topic_id")
    rated = Rated.lists(
        qrels.rename(columns={"actual_qrel_value": "relevance"})[["query_id", "doc_id", "relevance"]],
        pd.DataFrame({"query_id": run["query_id"], "doc_id": run["doc_id"], "score": -run["rank"].astype(float)}),
        pd.DataFrame(
            {
                "query_id": name,
                "rating": kept["feedback"],
                "user": kept["user"],
                "topic": kept["topic_id"],
                "interface": kept["interface_type"],
                "query": kept["query"].str.strip(),
                "number": kept["number"],
                "original_ndcg_10": kept["ndcg_10"],
            }
        ),
    )
    return replace(rated, left_out={reason: int(rows.sum()) for reason, rows in reasons.items() if rows.any()})


def _recorded(folder: Path) -> pd.DataFrame:
    """The lists that are recorded whole: a row for each result, with the rank at which it was shown."""
    table = study_table(folder, "topic_annotation", _LISTS).rename(columns={"topic": "topic_id"})
    table["topic_id"] = table["topic_id"].astype(str)
    table = table[table["dict_shuffled_ranks"].notna()].reset_index(drop=True)
    try:
        ranks = [json.loads(text) for text in table["dict_shuffled_ranks"]]
        whole = table[_QUERY].loc[table.index.repeat([len(of) for of in ranks])]
        whole["doc_id"] = [doc for of in ranks for doc in of]
        whole["rank"] = [int(rank) for of in ranks for rank in of.values()]
    except (TypeError, ValueError, AttributeError) as error:
        raise MalformedFile(
            f"{folder}/topic_annotation.csv: dict_shuffled_ranks must hold ranks by document, as JSON."
        ) from error
    whole["doc_id"] = whole["doc_id"].astype(str).str.replace(" ", "-")  # as the impressions have them
    return whole.reset_index(drop=True)


def _is_among(rows: pd.DataFrame, others: pd.DataFrame) -> pd.Series:
    """Whether the query of each row is one of theirs."""
    theirs = pd.MultiIndex.from_frame(others[_QUERY])
    return pd.Series(pd.MultiIndex.from_frame(rows[_QUERY]).isin(theirs), rows.index)


def _lines(path: Path, *columns: str) -> pd.DataFrame:
    """A file of fields between tabs, with a header; a line may have fewer fields than it."""
    try:
        with warnings.catch_warnings(action="error", category=pd.errors.ParserWarning):  # of fields without a name
            table = pd.read_csv(
                io.BytesIO(unpacked(str(path))),
                sep="\t",
                quoting=csv.QUOTE_NONE,
                dtype=str,
                keep_default_na=False,
                index_col=False,
            )
    except OSError as error:
        raise MalformedFile(f"{path}: {error.strerror}") from error
    except (UnicodeDecodeError, pd.errors.EmptyDataError, pd.errors.ParserError, pd.errors.ParserWarning) as error:
        raise MalformedFile(f"{path}: cannot be read as fields between tabs: {error}") from error
    for column in columns:
        if column not in table:
            raise MalformedFile(f"{path}: no column {column!r}. {near(column, map(str, table.columns))}")
    return table


def _numbers(table: pd.DataFrame, column: str, path: Path) -> Any:
    """A column's numbers; the first row that has none is named."""
    values = pd.to_numeric(table[column], errors="coerce")
    wrong = ~np.isfinite(values.to_numpy(float))
    if wrong.any():
        row = int(wrong.argmax())
        raise MalformedFile(
            f"{path}:{table.index[row] + 2}: {column} is {table[column].iloc[row]!r}, and must be a number"
            f" ({many(int(wrong.sum()), 'such line')})."
        )
    return values
