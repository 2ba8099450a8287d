"""Readers of three public datasets of user ratings: Jiang and Allan (2016), CHIIR 2024, and TianGong-QRef."""

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
from ...errors import BadRatings, MalformedFile, check_whole, many, near
from ...files.atomic import AnyPath
from ...files.formats import packing_of
from ...files.memory_limit import unpacked
from .ratings import Rated

_NO_RESULTS = "no results"
_QUERY = ["user", "topic_id", "qid"]
_FEEDBACK = ("id", *_QUERY, "query", "feedback", "interface_type", "ndcg_10")
_IMPRESSIONS = ("id", *_QUERY, "doc_id", "rank", "actual_qrel_value")
_LISTS = ("user", "topic", "qid", "dict_shuffled_ranks")
_PAGES = ["reformulation", "clicks", "usefulness", "satisfaction"]


def jiang_ratings(folder: AnyPath) -> Rated:
    """Read the 80 rated sessions of Jiang and Allan (2016).

    The dataset has 388 queries with up to 9 results; two queries have no results. Grades were judged for each session
    and range from −1 (spam, which gains nothing) to 2. The rating is the column ``Performance``, from 1 to 5. The
    properties are ``user``, ``topic`` and ``difficulty``.

    Parameters
    ----------
    folder : str or Path
        Folder ``data`` of the GitHub repository jiepujiang/ir_metrics, with the files ``session``, ``results`` and
        ``qrels``.

    Returns
    -------
    Rated

    Raises
    ------
    MalformedFile
        If a file is missing or a line is malformed.
    BadRatings
        If a session is rated twice.

    References
    ----------
    Jiang and Allan (2016), section 4.
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
    """Read users' ratings of queries, from 1 to 6, in the study of Pathak, Azzopardi and Halvey (CHIIR 2024).

    The study has 165 users and 4 topics with 6 queries each. A rated list consists of the first ``depth`` results (or
    of all results, if there are fewer) as they were shown to the user, with binary judgments. Ideal rankings use all
    documents found by the six queries of the topic.

    * Every list was *shuffled* for every user: the rank of a shown document is ``rank``, not ``original_rank``. Three
      observations support this: completely recorded lists (``dict_shuffled_ranks``) agree with ``rank`` in the
      impressions of all queries that were issued once; users click less at higher values of ``rank``; impressions were
      written in order of ``rank``. The recorded ``ndcg_10`` is computed from the original list of the query and graded
      judgments. It is the same for all users and does not describe the lists that they saw (column
      ``original_ndcg_10``).
    * The complete list is recorded only for the last query that a user issued for a topic. For other queries there are
      impressions, one for each document that the user *had not been shown before* for the topic. Their ranks have gaps.

    A rating is left out if its list is not known down to ``depth``: if the query was issued more than once with
    different orders, if the user left before that rank, or if there are gaps. ``left_out`` counts these ratings by
    reason. The documents in gaps cannot be recovered: of 1,165 gaps in lists that are also recorded completely, 103
    contain a document that was recorded nowhere else. The remaining ratings are therefore not a random sample: users'
    first and last queries are known more often than those between.

    The properties are ``user``, ``topic``, ``interface``, ``query`` (text), ``number`` (position of the rating among
    those of the user for the topic, from 1) and ``original_ndcg_10``.

    Parameters
    ----------
    folder : str or Path
        Folder with the tables of the GitHub repository KanaadPathak/presentation-performance-satisfaction as CSV files,
        gzipped or not.
    depth : int, default=10
        Number of results of a rated list, from 1.

    Returns
    -------
    Rated

    Raises
    ------
    MalformedFile
        If a table or a column is missing or malformed.
    BadRatings
        If no list is known down to ``depth``.
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
    whole = last & _has_query_of(feedback, recorded)
    anew = noted.groupby(_QUERY)["rank"].diff() <= 0
    again = feedback.duplicated(_QUERY, keep=False) | _has_query_of(feedback, noted[anew])
    deepest = feedback[_QUERY].merge(noted.groupby(_QUERY, as_index=False)["rank"].max(), "left")["rank"]
    there = noted[(noted["rank"] <= depth) & _has_query_of(noted, feedback[~whole & ~again])]
    there = there[there.groupby(_QUERY)["rank"].transform("size") == depth]
    known = _has_query_of(feedback, there)
    short = ~(deepest >= depth)
    reasons = {
        "query issued more than once, in different orders": ~whole & again,
        f"not recorded down to rank {depth}": ~whole & ~again & short,
        "shown with results seen before, which were not recorded": ~whole & ~again & ~short & ~known,
    }
    kept = feedback[whole | known]
    if kept.empty:
        raise BadRatings(f"{folder}: no rated list is known down to rank {depth}: give a smaller depth.")
    name = kept["user"] + "/" + kept["topic_id"] + "-" + kept["qid"]
    shown = pd.concat([recorded[_has_query_of(recorded, feedback[whole])], there])
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


def tiangong_ratings(path: AnyPath) -> Rated:
    """Read rated result pages of TianGong-QRef, the dataset of Table 4 of Moffat et al. (2022).

    A line of the file is a rated page of ten results with four tab-separated fields: the type of query reformulation (a
    letter), the clicks on the results, their usefulness to the user (0 to 3, the grades), and the satisfaction of the
    user with the page (0 to 4, the rating). The queries of the run are the numbers of the lines, and the documents the
    ranks. The properties are ``reformulation`` and ``clicks`` (number of clicked results).

    ``train_file`` is a bootstrap sample: 7,479 pages drawn with replacement from as many. ``test_file`` has the 2,777
    pages that were not drawn. How often a page of the sample occurs in the whole dataset is not known. Coefficients of
    the sample therefore differ from those of the whole dataset: τ_b has a standard error of about 0.009. Intervals of
    studies count copies of a page as independent: they are about the dataset, and too short by a factor of √2 for
    conclusions about other users.

    Parameters
    ----------
    path : str or Path
        File ``train_file.txt`` or ``test_file.txt`` of the GitHub repository xuanyuan14/Reformulation-Aware-Metrics,
        packed with gzip or not.

    Returns
    -------
    Rated

    Raises
    ------
    MalformedFile
        If the file is missing, a line is malformed, or a label or rating is out of range.

    References
    ----------
    Chen et al. (2021), Towards a better understanding of query reformulation behavior in web search, *WWW*; Moffat et
    al. (2022), section 4.
    """
    table = _lines(Path(path), names=_PAGES)
    short = (table["satisfaction"] == "").to_numpy()
    if short.any():
        raise MalformedFile(
            f"{path}:{short.argmax() + 1}: a line needs four tab-separated fields: reformulation, clicks, usefulness,"
            f" satisfaction ({many(int(short.sum()), 'such line')})."
        )
    usefulness, clicks = (_labels(table, column, Path(path)) for column in ("usefulness", "clicks"))
    satisfaction = _numbers(table, "satisfaction", Path(path), first=1)
    for name, values, highest in (("usefulness", usefulness, 3), ("satisfaction", satisfaction, 4)):
        wrong = values[(values < 0) | (values > highest)]
        if len(wrong):
            raise MalformedFile(
                f"{path}:{wrong.index[0] + 1}: {name} is {wrong.iloc[0]:g}, and must be 0 to {highest}."
            )
    unequal = usefulness.groupby(level=0).size() != clicks.groupby(level=0).size()
    if unequal.any():
        raise MalformedFile(
            f"{path}:{unequal.idxmax() + 1}: clicks and usefulness must have one value for each result."
        )
    rank = usefulness.groupby(level=0).cumcount().to_numpy() + 1
    shown = pd.DataFrame({"query_id": (usefulness.index + 1).astype(str), "doc_id": rank.astype(str)})
    return Rated.lists(
        shown.assign(relevance=usefulness.to_numpy()),
        shown.assign(score=-rank.astype(float)),
        pd.DataFrame(
            {
                "query_id": (table.index + 1).astype(str),
                "rating": satisfaction,
                "reformulation": table["reformulation"],
                "clicks": (clicks > 0).groupby(level=0).sum().to_numpy(),
            }
        ),
    )


def _labels(table: pd.DataFrame, column: str, path: Path) -> pd.Series:
    """Return the labels of lists such as ``[0, 2, 1]``, one after another, by row."""
    lists = table[column].str.fullmatch(r"\[ *\d+(?: *, *\d+)* *\]")
    if not lists.all():
        row = int((~lists).to_numpy().argmax())
        raise MalformedFile(
            f"{path}:{row + 1}: {column} is {table[column].iloc[row]!r}, and must be a list of whole numbers such as"
            f" [0, 2, 1] ({many(int((~lists).sum()), 'such line')})."
        )
    return table[column].str.strip("[]").str.split(",").explode().astype(int)


def _recorded(folder: Path) -> pd.DataFrame:
    """Return the completely recorded lists: a row for each result, with the rank at which it was shown."""
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
    whole["doc_id"] = whole["doc_id"].astype(str).str.replace(" ", "-")  # as in the impressions
    return whole.reset_index(drop=True)


def _has_query_of(rows: pd.DataFrame, others: pd.DataFrame) -> pd.Series:
    """Return whether the query of each row is among the queries of the other rows."""
    theirs = pd.MultiIndex.from_frame(others[_QUERY])
    return pd.Series(pd.MultiIndex.from_frame(rows[_QUERY]).isin(theirs), rows.index)


def _lines(path: Path, *columns: str, names: list[str] | None = None) -> pd.DataFrame:
    """Read a file of tab-separated fields, with a header unless ``names`` are given; a line may have fewer fields."""
    try:
        with warnings.catch_warnings(action="error", category=pd.errors.ParserWarning):  # fields without a name
            table = pd.read_csv(
                io.BytesIO(unpacked(str(path), packing_of(str(path)))),
                sep="\t",
                names=names,
                quoting=csv.QUOTE_NONE,
                dtype=str,
                keep_default_na=False,
                index_col=False,
                skip_blank_lines=names is None,
            ).fillna("")
    except OSError as error:
        raise MalformedFile(f"{path}: {error.strerror}") from error
    except (UnicodeDecodeError, pd.errors.EmptyDataError, pd.errors.ParserError, pd.errors.ParserWarning) as error:
        raise MalformedFile(f"{path}: cannot be read as tab-separated fields: {error}") from error
    for column in columns:
        if column not in table:
            raise MalformedFile(f"{path}: no column {column!r}. {near(column, map(str, table.columns))}")
    return table


def _numbers(table: pd.DataFrame, column: str, path: Path, first: int = 2) -> Any:
    """Return the numbers of a column; raise an error that names the first line without one.

    ``first`` is the number of the table's first line.
    """
    values = pd.to_numeric(table[column], errors="coerce")
    wrong = ~np.isfinite(values.to_numpy(float))
    if wrong.any():
        row = int(wrong.argmax())
        raise MalformedFile(
            f"{path}:{table.index[row] + first}: {column} is {table[column].iloc[row]!r}, and must be a number"
            f" ({many(int(wrong.sum()), 'such line')})."
        )
    return values
