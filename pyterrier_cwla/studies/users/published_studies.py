"""Published studies of users: readers of three public datasets, and the grid of metrics of Moffat et al. (2022).

Question: do the metrics agree with the users of the published studies as their papers say?

Method: the ratings, lists and judgments of CHIIR 2024, of Jiang and Allan (2016) and of TianGong-QRef are read as they
were published; :func:`grid` has every continuation with every aggregation (Moffat et al., 2022, Table 4).

Not to conclude: the users of these studies worked on a few tasks; yours may differ.
"""

from __future__ import annotations

import csv
import io
import json
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...behaviour.logs.adapters import study_table
from ...errors import BadParameter, BadRatings, MalformedFile, check_whole, many, near, some
from ...evaluation.driver import evaluate
from ...files.atomic import AnyPath
from ...files.formats import text_of
from ...measures.named import CWLA, RowMeasure
from ...model.language import parse
from ...model.metric import Metric
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
    for name in ("Performance", "Difficulty"):
        rated[name] = _numbers(rated, name, folder / "session")
    judged = _lines(folder / "qrels", "SessionID", "URL", "Relevance")
    judged["relevance"] = _numbers(judged, "Relevance", folder / "qrels").astype(int)
    found = _lines(folder / "results", "SessionID", "Qno", "rank", "URL").rename(columns={"SessionID": "session"})
    found["query_id"] = found["session"] + "-" + found["Qno"]
    found["order"] = _numbers(found, "Qno", folder / "results")
    results = found[found["rank"] != _NO_RESULTS]
    score = -_numbers(results, "rank", folder / "results")
    return Rated.sessions(
        _columns(judged, query_id="SessionID", doc_id="URL", relevance="relevance"),
        _columns(results, query_id="query_id", doc_id="URL").assign(score=score),
        found[["session", "query_id", "order"]].drop_duplicates(),
        _columns(rated, session="SessionID", rating="Performance", user="User", topic="Topic", difficulty="Difficulty"),
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
    kept = kept.assign(
        query_id=kept["user"] + "/" + kept["topic_id"] + "-" + kept["qid"], query=kept["query"].str.strip()
    )
    shown = pd.concat([recorded[_has_query_of(recorded, feedback[whole])], there])
    lists = kept[[*_QUERY, "query_id"]]
    run = shown[shown["rank"] <= depth].merge(lists, on=_QUERY)
    qrels = lists.merge(grades, on="topic_id")
    rated = Rated.lists(
        _columns(qrels, query_id="query_id", doc_id="doc_id", relevance="actual_qrel_value"),
        run.assign(score=-run["rank"].astype(float))[["query_id", "doc_id", "score"]],
        _columns(kept, query_id="query_id", rating="feedback", user="user", topic="topic_id",
                 interface="interface_type", query="query", number="number", original_ndcg_10="ndcg_10"),
    )  # fmt: skip
    return replace(rated, left_out={reason: int(rows.sum()) for reason, rows in reasons.items() if rows.any()})


def tiangong_ratings(path: AnyPath) -> Rated:
    """Read rated result pages of TianGong-QRef, the dataset of Table 4 of Moffat et al. (2022).

    A line of the file is a rated page of ten results with four tab-separated fields: the type of query reformulation (a
    letter), the clicks on the results, their usefulness to the user (0 to 3, the grades), and the satisfaction of the
    user with the page (0 to 4, the rating). The queries of the run are the numbers of the lines, of equal lines that of
    the first one, and the documents the ranks. The properties are ``reformulation`` and ``clicks`` (number of clicked
    results).

    ``train_file`` is a bootstrap sample: 7,479 pages drawn with replacement from as many. ``test_file`` has the 2,777
    pages that were not drawn. How often a page of the sample occurs in the whole dataset is not known. Coefficients of
    the sample therefore differ from those of the whole dataset: τ_b has a standard error of about 0.009. Intervals of
    studies count copies of a page as independent: they are about the dataset, and too short by a factor of √2 for
    conclusions about other users. Fits keep all copies of a page in one fold.

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
    short = table.index[table["satisfaction"] == ""]
    if len(short):
        raise MalformedFile(
            f"{path}:{short[0] + 1}: a line needs four tab-separated fields: reformulation, clicks, usefulness,"
            f" satisfaction ({many(len(short), 'such line')})."
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
    page = table.index.to_series().groupby([table[name] for name in table]).transform("first") + 1
    clicked, usefulness = (clicks > 0).groupby(level=0).sum(), usefulness[~table.duplicated()[usefulness.index]]
    rank = usefulness.groupby(level=0).cumcount().to_numpy() + 1
    shown = pd.DataFrame({"query_id": (usefulness.index + 1).astype(str), "doc_id": rank.astype(str)})
    return Rated.lists(
        shown.assign(relevance=usefulness.to_numpy()),
        shown.assign(score=-rank.astype(float)),
        table.assign(query_id=page.astype(str), rating=satisfaction, clicks=clicked)[
            ["query_id", "rating", "reformulation", "clicks"]
        ],
    )


def _columns(table: pd.DataFrame, **names: str) -> pd.DataFrame:
    """Return columns of the table under new names."""
    return table[list(names.values())].set_axis(list(names), axis=1)


def _labels(table: pd.DataFrame, column: str, path: Path) -> pd.Series:
    """Return the labels of lists such as ``[0, 2, 1]``, one after another, by row."""
    wrong = table.loc[~table[column].str.fullmatch(r"\[ *\d+(?: *, *\d+)* *\]"), column]
    if len(wrong):
        raise MalformedFile(
            f"{path}:{wrong.index[0] + 1}: {column} is {wrong.iloc[0]!r}, and must be a list of whole numbers such as"
            f" [0, 2, 1] ({many(len(wrong), 'such line')})."
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
                io.BytesIO(text_of(str(path))),
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
    wrong = table.loc[~np.isfinite(values.to_numpy(float)), column]
    if len(wrong):
        raise MalformedFile(
            f"{path}:{wrong.index[0] + first}: {column} is {wrong.iloc[0]!r}, and must be a number"
            f" ({many(len(wrong), 'such line')})."
        )
    return values


Array = np.ndarray

#: The aggregations of Moffat et al. (2022), Table 4.
AGGREGATIONS = ("etg", "erg", "err", "avg", "max", "fin", "fgt(0.8)", "pe(0.5)")

#: Aggregation of the best-known metric of each continuation, by the continuation's name.
CANONICAL = {"prec": "erg", "rbp": "erg", "dcg": "erg", "ap1": "erg", "rr": "err", "inst": "erg", "ap2": "avg"}

_SETS, _ORDERS = 12, 6  # number of random document sets on which a cell is tested, and number of orders of each
_SHORTEST = 24  # documents


def continuations(k: int = 5, phi: float = 0.8, T: float = 2.25, rel: int | None = None) -> list[str]:
    """Return the continuations of Moffat et al. (2022), Tables 4 and 5: prec, rbp, dcg, ap1, rr, inst, ap2.

    The defaults are the parameters of Table 4; Table 5 has k=3, φ=0.5, T=1. In both tables, the total gain is that of
    the ranking only (``R="ranking"``).

    Parameters
    ----------
    k : int, default=5
        Cutoff of prec and dcg, in ranks.
    phi : float, default=0.8
        Persistence of rbp.
    T : float, default=2.25
        Target of inst.
    rel : int, optional
        Grade at which the users of rr leave. ``rel=1`` gives the rr of these tables, whose users leave at the first
        result of that grade. Without it, rr is Eq. 12 of the paper.

    Returns
    -------
    list of str
        Canonical texts of the continuations.

    References
    ----------
    Moffat et al. (2022), Tables 4 and 5.

    Examples
    --------
    >>> continuations(k=3, phi=0.5, T=1)
    ['prec(3)', 'rbp(0.5)', 'dcg(3)', 'ap1(ranking)', 'rr', 'inst(1)', 'ap2(ranking)']
    """
    rr = "rr" if rel is None else f"rr({rel})"
    texts = (f"prec({k})", f"rbp({phi})", f"dcg({k})", "ap1(ranking)", rr, f"inst({T})", "ap2(ranking)")
    return [str(parse(text, "continuation")) for text in texts]


def grid(
    C: Iterable[Any] | None = None,
    A: Iterable[Any] = AGGREGATIONS,
    *,
    canonical: Mapping[str, str] | None = None,
    **options: Any,
) -> Grid:
    """Create a CWLA measure for each pair of C and A, as in Tables 4 and 5 of Moffat et al. (2022).

    Parameters
    ----------
    C : iterable, optional
        Continuations, as texts or functions. By default those of :func:`continuations`.
    A : iterable, default=AGGREGATIONS
        Aggregations, as texts or functions.
    canonical : mapping, optional
        Aggregation with which the others of the row are compared, by the text or name of the continuation. It adds to
        or replaces entries of ``CANONICAL``.
    **options
        Options of every measure: ``max_rel``, without which grades have no linear gain, ``gain``, ``effort``, ``norm``,
        ``end``, ``cutoff`` and other options of CWLA.

    Returns
    -------
    Grid

    Raises
    ------
    UnknownSpec
        If there is no such continuation or aggregation.
    BadParameter
        If a function occurs twice, or if an option is invalid.

    References
    ----------
    Moffat et al. (2022), section 4.

    Examples
    --------
    >>> metrics = grid(["prec(5)", "rbp(0.8)", "ap2"], ["erg", "err", "avg", "fin"], max_rel=3)
    >>> metrics
    <3 C × 4 A>
    >>> metrics["rbp(0.8)", "fin"]
    CWLA(C='rbp(0.8)',A='fin',max_rel=3)
    >>> {cell: kind for cell, kind in metrics.kinds.items() if kind}
    {('prec(5)', 'err'): 'X', ('rbp(0.8)', 'err'): 'X', ('ap2', 'fin'): 'XX'}
    >>> metrics.canonical
    {'prec(5)': 'erg', 'rbp(0.8)': 'erg', 'ap2': 'avg'}
    """
    rows = _parsed(continuations() if C is None else C, "continuation", "C")
    columns = _parsed(A, "aggregation", "A")
    measures = {(c, a): CWLA(C=rows[c], A=columns[a], **options) for c in rows for a in columns}
    return Grid(list(rows), list(columns), measures, _canonical(rows, columns, canonical or {}))


@dataclass(frozen=True, eq=False, repr=False)
class Grid(Mapping[tuple[str, str], RowMeasure]):
    """Measures by the canonical texts of (C, A).

    Attributes
    ----------
    C, A : list of str
        Canonical texts of the continuations and aggregations.
    measures : dict
        Measure of each cell (C, A).
    canonical : dict
        Aggregation of the canonical metric of each continuation.
    """

    C: list[str]
    A: list[str]
    measures: dict[tuple[str, str], RowMeasure]
    canonical: dict[str, str]

    def __getitem__(self, cell: tuple[str, str]) -> RowMeasure:
        return self.measures[cell]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self.measures)

    def __len__(self) -> int:
        return len(self.measures)

    def __repr__(self) -> str:
        return f"<{len(self.C)} C × {len(self.A)} A>"

    @cached_property
    def named(self) -> dict[str, RowMeasure]:
        """Measures by the names of their cells, such as ``rbp(0.8) + max``."""
        return {cell_name(c, a): measure for (c, a), measure in self.items()}

    @cached_property
    def kinds(self) -> dict[tuple[str, str], str]:
        """Kind of each cell: "X", "XX", or "" for a metric of rankings.

        X: the score is the same for all gains. XX: the score is the same for all orders of the same documents, if there
        are more documents than the metric considers. The kinds are found by scoring random lists in several orders, so
        that they are also known for user-defined C and A. They agree with Table 3 of the paper, with one addition: rr +
        etg of Eq. 12, 1 − Π(1 − r_i)·(1 + Σ r_i), but not with ``rel=1``, as in Tables 4 and 5 of the paper. If all
        gains are 0 or 1 there are more such cells: then ap1, ap2 and rr with max, fin and pe score 1 whenever there is
        any gain.

        References
        ----------
        Moffat et al. (2022), Table 3.
        """
        return dict(zip(self, _kinds(self.values()), strict=True))


def cell_name(c: str, a: str) -> str:
    """Return the name of a cell."""
    return f"{c} + {a}"


def _parsed(functions: Iterable[Any], kind: str, role: str) -> dict[str, Any]:
    if isinstance(functions, str):
        raise BadParameter(f"{role} of a grid must be a list: write {role}=[{functions!r}, …].")
    specs: dict[str, Any] = {}
    for spec in (parse(function, kind) for function in functions):
        if str(spec) in specs:
            raise BadParameter(f"{role} has {str(spec)!r} twice.")
        specs[str(spec)] = spec
    if not specs:
        raise BadParameter(f"the grid has no {role}.")
    return specs


def _canonical(C: Mapping[str, Any], A: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, str]:
    chosen = dict(CANONICAL)
    by_name = {spec.name for spec in C.values()}
    for key, a in given.items():
        c = key if key in by_name else str(parse(key, "continuation"))
        if c not in by_name and c not in C:
            raise BadParameter(f"canonical: the grid has no C={key!r}. {near(key, C)}")
        chosen[c] = str(parse(a, "aggregation"))
        if chosen[c] not in A:
            raise BadParameter(f"canonical: the grid has no A={a!r}; there is {some(A, 12)}.")
    found = {c: chosen.get(c, chosen.get(spec.name, "")) for c, spec in C.items()}
    return {c: a for c, a in found.items() if a in A}


def _kinds(measures: Iterable[RowMeasure]) -> list[str]:
    """Return the kind of each measure, found by scoring sets of random documents in several orders."""
    plain = [measure(lengths=None, duplicates=None) for measure in measures]  # tables do not contain these documents
    alike: dict[tuple[int, int], list[RowMeasure]] = {}
    for measure in plain:
        metric = measure.metric
        depth = max(_SHORTEST, 2 * max(metric.last_rank, metric.last_that_counts or 0))  # well beyond what it considers
        alike.setdefault((depth, _highest(metric)), []).append(measure)
    scores: dict[str, pd.Series] = {}
    for (depth, highest), of_lists in alike.items():
        scores |= evaluate(*_random_lists(depth, highest), of_lists, by_query=True)
    by_set = [scores[str(measure)].to_numpy().reshape(_SETS, _ORDERS) for measure in plain]
    return ["X" if _same(of.ravel()) else "XX" if _same(of) else "" for of in by_set]


def _random_lists(depth: int, highest: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return judgments and a run: for each set of documents, one query for each order."""
    rng = np.random.default_rng(0)
    shares = np.linspace(0.1, 1, _SETS)[:, None]  # shares of relevant documents
    grades = np.where(rng.random((_SETS, depth)) < shares, rng.integers(1, highest + 1, (_SETS, depth)), 0)
    grades[:3] = 0
    # Three sets: no relevant document, one of grade 1, one of the highest grade.
    grades[1, 0], grades[2, 0] = 1, highest
    words = rng.integers(1, 1000, (_SETS, depth))
    order = rng.permuted(np.tile(np.arange(depth), (_SETS, _ORDERS, 1)), axis=2)
    at = np.arange(_SETS)[:, None, None]
    lists = np.repeat([f"{number:04d}" for number in range(_SETS * _ORDERS)], depth)
    named = pd.DataFrame({"query_id": lists, "doc_id": [f"d{number}" for number in order.ravel()]})
    falling = -np.tile(np.arange(depth, dtype=float), _SETS * _ORDERS)
    run = named.assign(score=falling, doc_length=words[at, order].ravel())
    return named.assign(relevance=grades[at, order].ravel()), run


def _highest(metric: Metric) -> int:
    """Return the highest grade that makes a difference, or 1 if it is not known."""
    try:
        return int(metric.best[1])
    except BadParameter:
        return 1


def _same(scores: Array) -> bool:
    """Return whether the scores of each row are equal up to rounding."""
    return bool((np.ptp(scores, axis=-1) <= 1e-9 * np.maximum(np.abs(scores).max(axis=-1), 1)).all())
