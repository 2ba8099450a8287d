"""All ways to give data to the package and to get values from it: the doors.

A door is a function from data, measures and a folder to a frame with one row per query and one column per measure, or
one row, "mean", if it aggregates. Doors whose input cannot say everything (labelled rows have no documents that were
not retrieved) declare with ``of`` which part of the data they score.
"""

from __future__ import annotations

import atexit
import io
import json
import pickle
import re
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from unittest.mock import patch

import ir_measures
import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pyterrier as pt
from ir_measures.measures import Measure
from sklearn.base import BaseEstimator, RegressorMixin

from pyterrier_cwla import LambdaMART, compare, evaluate, evaluate_sessions, explain, score, scorer, stream
from pyterrier_cwla.errors import CWLAError
from pyterrier_cwla.files import run_files
from pyterrier_cwla.learning.metrics import measure_score
from pyterrier_cwla.measures.declarations import needs_of, user_model_of
from pyterrier_cwla.measures.wrappers import Mixture
from tests.support import messages
from tests.support.generated import as_pyterrier

from .rows import WORDS, Data

Measures = list[Measure]


def everything(data: Data) -> Data:
    return data


def any_measure(measure: Measure) -> bool:
    return True


@dataclass(frozen=True)
class Door:
    """A door, with the data and the measures for which it is used."""

    values: Callable[[Data, Measures, Path], pd.DataFrame]
    of: Callable[[Data], Data] = everything  # the part of the data that the door scores
    takes: Callable[[Measure], bool] = any_measure  # whether the door computes a measure
    within: float = 0.0  # largest difference from the values of frames; 0 if they are equal to the bit
    refuses_nan: bool = False  # whether the door refuses measures that have no value for a query
    # whether one call in Python gets the whole run and all its judgments; errors and warnings have the numbers of both
    whole: bool = True
    columns: bool = True  # whether the package gets lengths and costs that are columns of the run
    named: str = "the run"  # how messages name the run

    def told(self, data: Data, measures: Measures, folder: Path) -> list[str]:
        """Return the warnings about the run without those about other runs; all point at the call in this module."""
        found = messages.told(lambda: self.values(data, measures, folder), file=__file__)
        return [message for message in found if not re.search(" (other|part) ", message)]


DOORS: dict[str, Door] = {}


def door(**declared):
    """Return a decorator that adds a door under the name of its function."""

    def add(values):
        DOORS[values.__name__] = Door(values, **declared)
        return values

    return add


def doors_of(*measures: Measure, **declared: bool) -> list[str]:
    """Return the names of the doors that compute all these measures and have these attributes."""
    return [
        name
        for name, door in DOORS.items()
        if all(map(door.takes, measures)) and all(getattr(door, key) == value for key, value in declared.items())
    ]


def by_query(scores: pd.DataFrame, run: str = "run") -> pd.DataFrame:
    return scores.loc[run]


def frames(data: Data, measures: Measures, folder: Path | None = None) -> pd.DataFrame:
    """The values with which those of all doors are compared."""
    return by_query(evaluate(data.qrels, data.run, measures, by_query=True))


def accepted(score: Callable[[Measures], object], measures: Measures) -> Measures:
    """Return the measures that a function can score, found by halving."""
    try:
        score(measures)
        return measures
    except CWLAError:
        half = len(measures) // 2
        return [*accepted(score, measures[:half]), *accepted(score, measures[half:])] if half else []


# ---- forms of runs and judgments


def as_dict(frame: pd.DataFrame, value: str) -> dict:
    return {q: dict(zip(rows.doc_id, rows[value].tolist())) for q, rows in frame.groupby("query_id", sort=False)}


def as_dicts(data: Data, folder: Path) -> tuple:
    return as_dict(data.qrels, "relevance"), as_dict(data.run, "score")


def as_tuples(data: Data, folder: Path) -> tuple:
    qrels, run = (f.itertuples(index=False) for f in (data.qrels, data.run[["query_id", "doc_id", "score"]]))
    return [ir_measures.Qrel(*row) for row in qrels], [ir_measures.ScoredDoc(*row) for row in run]


def as_trec_files(data: Data, folder: Path) -> tuple:
    qrels = data.qrels.assign(iteration=data.qrels.get("iteration", "0"))
    judged = zip(qrels.query_id, qrels.iteration, qrels.doc_id, qrels.relevance.tolist())
    retrieved = zip(data.run.query_id, data.run.doc_id, data.run.score.tolist())
    (folder / "qrels").write_text("".join(f"{q} {intent} {d} {grade}\n" for q, intent, d, grade in judged))
    (folder / "run").write_text("".join(f"{q} Q0 {d} 0 {s!r} tag\n" for q, d, s in retrieved))
    return folder / "qrels", folder / "run"


def as_json_files(data: Data, folder: Path) -> tuple:
    for name, rankings in zip(("qrels.json", "run.json"), as_dicts(data, folder), strict=True):
        (folder / name).write_text(json.dumps(rankings))
    return folder / "qrels.json", folder / "run.json"


def parquet(rows: pd.DataFrame, folder: Path, row_group_size: int = 40) -> Path:
    path = folder / "run.parquet"
    rows.to_parquet(path, index=False, row_group_size=row_group_size)
    return path


def of_two_runs(data: Data, by: list[str]) -> pd.DataFrame:
    other = data.run.assign(score=-data.run.score, run="other")
    return sorted_by(pd.concat([other, data.run.assign(run="run")]), by)


def sorted_by(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    return rows.sort_values(by, kind="stable")


def one_judgment(measure: Measure) -> bool:
    """Whether a measure can be computed from one judgment of each document."""
    return not needs_of(measure).intents


def known_row_by_row(measure: Measure) -> bool:
    """Whether no value depends on other queries of the run, through the mean length or cost of its documents."""
    return needs_of(measure).mean_of is None


arrow = partial(pa.Table.from_pandas, preserve_index=False)
#: Forms of data, the measures that each can say everything for, and whether it has columns of lengths and costs.
FORMS: dict[str, tuple[Callable[[Data, Path], tuple], Callable[[Measure], bool], bool]] = {
    "as_polars": (lambda data, _: (polars.from_pandas(data.qrels), polars.from_pandas(data.run)), any_measure, True),
    "as_arrow": (lambda data, _: (arrow(data.qrels), arrow(data.run)), any_measure, True),
    "as_dicts": (as_dicts, one_judgment, False),
    "as_tuples": (as_tuples, any_measure, False),
    "as_trec_files": (as_trec_files, any_measure, False),
    "as_json_files": (as_json_files, one_judgment, False),
    "as_parquet": (lambda data, at: (data.qrels, parquet(sorted_by(data.run, ["query_id"]), at)), any_measure, True),
    "as_parquet_by_run": (lambda data, at: (data.qrels, parquet(of_two_runs(data, ["run"]), at)), known_row_by_row, True),
    "as_parquet_by_query": (
        lambda data, at: (data.qrels, parquet(of_two_runs(data, ["query_id", "run"]), at)), known_row_by_row, True
    ),
}  # fmt: skip


def evaluated(form: Callable) -> Callable:
    return lambda data, measures, folder: by_query(evaluate(*form(data, folder), measures, by_query=True))


DOORS |= {name: Door(evaluated(form), takes=takes, columns=columns) for name, (form, takes, columns) in FORMS.items()}


# ---- other entries of evaluation


@door()
def means(data, measures, folder):
    """Measures are pickled after their first use, whose warnings are those of the second."""
    with warnings.catch_warnings(action="ignore"):
        evaluate(data.qrels, data.run, measures)
    return evaluate(data.qrels, data.run, pickle.loads(pickle.dumps(measures))).set_axis(["mean"])


@door(named="run")
def several_runs(data, measures, folder):
    part = data.run[data.run.query_id == data.run.query_id.iloc[0]]
    runs = {"other": data.run.assign(score=-data.run.score), "run": data.run, "part": part}
    return by_query(evaluate(data.qrels, runs, measures, by_query=True))


# parameters by topic must be those of some judged topic
@door(takes=lambda m: known_row_by_row(m) and "parameters" not in m.params, within=1e-12, whole=False)
def queries_alone(data, measures, folder):
    parts = [Data(data.run[data.run.query_id == q], of_query) for q, of_query in data.qrels.groupby("query_id")]
    return pd.concat(frames(part, measures) for part in parts)


@door(refuses_nan=True, named="run")
def compared(data, measures, folder):
    runs = {"run": data.run, "other": data.run.assign(score=-data.run.score)}
    return by_query(compare(data.qrels, runs, measures, baseline="other").by_query)


def twice(values: Callable[[], pd.DataFrame]) -> pd.DataFrame:
    """Return values that are computed, and then come from a cache."""
    pd.testing.assert_frame_equal(first := values(), values(), check_exact=True)
    return by_query(first)


@door()
def cached_twice(data, measures, folder):
    return twice(lambda: evaluate(data.qrels, data.run, measures, by_query=True, cache_dir=folder / "cache"))


def of_stream(data: Data, path: Path, measures: Measures, **more: Path) -> pd.DataFrame:
    return pd.concat(stream(data.qrels, path, measures, **more)).set_index(["run", "query_id"])


@door(takes=known_row_by_row, named="run")
def streamed(data, measures, folder):
    """Rows in pieces, as of a file that is larger than memory."""
    path = parquet(of_two_runs(data, ["run", "query_id"]), folder, 30)
    with patch.object(run_files, "ROWS", 30), patch.object(run_files.RunFiles, "fits", False):
        return by_query(of_stream(data, path, measures))


@door(takes=known_row_by_row, named="run")
def streamed_twice(data, measures, folder):
    """Rows in random order, in pieces that fit into memory together, and then scores from the cache."""
    path = parquet(of_two_runs(data, ["run"]).sample(frac=1, random_state=1), folder, 37)
    with patch.object(run_files, "ROWS", 37):
        return twice(lambda: of_stream(data, path, measures, cache_dir=folder / "kept"))


@cache
def client():
    """A Dask client within this process."""
    from dask.distributed import Client

    found = Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0", set_as_default=False)
    atexit.register(found.close)
    return found


@door(takes=known_row_by_row, named="run")
def dask_partitions(data, measures, folder):
    from dask import dataframe

    from pyterrier_cwla.evaluation import cluster

    with client().as_current():
        rows = dataframe.from_pandas(of_two_runs(data, ["query_id"]), npartitions=3, sort=False)
        found = cluster.evaluate(data.qrels, rows, measures, by_query=True).compute()
    return by_query(found.set_index(["run", "query_id"]))


# ---- ir_measures and PyTerrier


def pivoted(found: pd.DataFrame, index: str, measures: Measures) -> pd.DataFrame:
    """Return values by query; measures without a value for any query have a column without values."""
    values = found.assign(measure=found.measure.astype(str)).pivot(index=index, columns="measure", values="value")
    return values.reindex(columns=[str(measure) for measure in measures])


@door()
def provider(data, measures, folder):
    return pivoted(pd.DataFrame(ir_measures.cwla.iter_calc(measures, data.qrels, data.run)), "query_id", measures)


@door(columns=False)
def provider_of_tuples(data, measures, folder):
    return provider(Data(*as_tuples(data, folder)[::-1]), measures, folder)


@door()
def provider_means(data, measures, folder):
    found = ir_measures.cwla.calc_aggregate(measures, data.qrels, data.run)
    return pd.DataFrame({str(measure): [found[measure]] for measure in measures}, index=["mean"])


@door(takes=lambda measure: hasattr(type(measure), "computation"))
def experiment(data, measures, folder):
    """In experiments, other providers compute the measures of ir_measures."""
    topics = pd.DataFrame({"qid": sorted(set(data.qrels.query_id))}).assign(query="words")
    found = pt.Experiment(
        [as_pyterrier(data.run)], topics, as_pyterrier(data.qrels), measures, names=["run"], perquery=True
    )
    return pivoted(found, "qid", measures)


# ---- scikit-learn


class Column(RegressorMixin, BaseEstimator):
    """Estimator whose predictions are the first column of X."""

    def predict(self, X):
        return X[:, 0]


def every_retrieved(data: Data) -> Data:
    """Return the part of the data that labelled rows can say: judgments of retrieved documents."""
    qrels = data.run[["query_id", "doc_id"]].merge(data.qrels)
    return Data(data.run[data.run.query_id.isin(qrels.query_id)].reset_index(drop=True), qrels)


def labelled(data: Data) -> pd.DataFrame:
    return data.run.merge(data.qrels, how="left")


def known(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the columns beside grades and scores by the names of the parameters for them."""
    names = {"query_id": "qid", "doc_id": "docno", "doc_length": "doc_length"}
    return rows[[name for name in names if name in rows]].rename(columns=names)


@door(of=every_retrieved, takes=one_judgment, within=1e-12, refuses_nan=True, whole=False, columns=False)
def arrays_by_query(data, measures, folder):
    rows = labelled(data)
    values = {str(m): measure_score(m, rows.relevance, rows.score, average=False, **known(rows)) for m in measures}
    return pd.DataFrame(values, index=rows.query_id.unique())


@door(of=every_retrieved, takes=one_judgment, within=1e-12, refuses_nan=True, whole=False, columns=False)
def scorers(data, measures, folder):
    rows = labelled(data)
    y = pd.Series(rows.relevance.to_numpy(), pd.MultiIndex.from_frame(known(rows)))
    values = {
        str(m): scorer(m, min_queries=1, greater_is_better=True)(Column(), rows[["score"]].to_numpy(), y)
        for m in measures
    }
    return pd.DataFrame(values, index=["mean"])


def ranked(data: Data) -> pd.DataFrame:
    """All rows of judged queries in rank order, with their grades: scores as float32, then ids, both descending."""
    rows = labelled(data).assign(score=lambda rows: rows.score.astype("float32"))
    return rows.sort_values(["query_id", "score", "doc_id"], ascending=[True, False, False])


def is_of_lists(measure: Measure) -> bool:
    """Whether grades and lengths in rank order define a measure, which knows no ids of topics (in samples of labels)."""
    needs = needs_of(measure)
    more = needs.intents or needs.scores or needs.judged_lengths or needs.abstention or "parameters" in measure.params
    tables = needs.lengths in ("none", "run", "default") and needs.duplicates == needs.costs == "none"
    return tables and not more and getattr(measure, "is_exact", True)


def as_lists(data: Data) -> Data:
    """Return the data without what lists of grades cannot say: ties, and grades below 0."""
    run = ranked(data).drop(columns="relevance")
    qrels = data.qrels.assign(relevance=data.qrels.relevance.clip(lower=0))
    return Data(run.assign(score=-np.arange(len(run), dtype=float)), qrels)


@door(of=as_lists, takes=is_of_lists, within=1e-12, whole=False, columns=False)
def lists_of_grades(data, measures, folder):
    rows = dict(iter(ranked(data).groupby("query_id")))
    judged = {q: one.relevance.tolist() for q, one in data.qrels.groupby("query_id")}
    grades, lengths = (
        [rows[q][name].tolist() if q in rows else [] for q in judged] for name in ("relevance", "doc_length")
    )
    values = {str(m): score(grades, m, judged=list(judged.values()), lengths=lengths) for m in measures}
    return pd.DataFrame(values, index=list(judged))


# ---- explanations, learning, and the command line


def is_explained(measure: Measure) -> bool:
    """Whether users follow a model and the time at each rank up to the end is known, which `explain` shows."""
    follows_users = isinstance(measure, type(Mixture)) or needs_of(measure).user_model
    is_timed_to_rank = isinstance(measure.params.get("end"), int) and needs_of(measure).lengths != "none"
    return one_judgment(measure) and follows_users and not is_timed_to_rank


def some_queries(data: Data) -> Data:
    """Return the part of the data with every third of the judged queries that have results, from the second."""
    queries = sorted({*data.qrels.query_id} & {*data.run.query_id})[1::3]
    return Data(*(frame[frame.query_id.isin(queries)] for frame in (data.run, data.qrels)))


@door(of=some_queries, takes=is_explained, within=1e-12, whole=False)
def explanations(data, measures, folder):
    queries = data.qrels.query_id.unique()
    values = {str(m): [explain(data.qrels, data.run, query, m).score for query in queries] for m in measures}
    return pd.DataFrame(values, index=queries)


def first_and_last_swapped(data: Data) -> Data:
    """Return the judged results, which training rows are, with the first and the last one of each query swapped."""
    part = every_retrieved(data)
    run = ranked(part).dropna(subset="relevance")
    query = run.groupby("query_id", sort=False)
    new = run.doc_id.where(~(first := query.cumcount() == 0), query.doc_id.transform("last"))
    new = new.where(first | (query.cumcount(ascending=False) > 0), query.doc_id.transform("first"))
    falling = -np.arange(len(run), dtype=float)
    lengths = {"doc_length": new.map(WORDS)} if "doc_length" in run else {}
    return Data(run.assign(doc_id=new, score=falling, **lengths).drop(columns="relevance"), part.qrels)


def is_learnable(measure: Measure) -> bool:
    try:
        LambdaMART(measure)
    except CWLAError:
        return False
    return not user_model_of(measure).metric.effort_depends_on("rank")


@door(of=first_and_last_swapped, takes=is_learnable, within=1e-12, whole=False, columns=False)
def changes_by_swaps(data, measures, folder):
    """The scores of the rankings with the swap undone, plus the changes of LambdaMART."""
    before = first_and_last_swapped(data)
    rows = ranked(before)
    sizes = rows.groupby("query_id").size()
    ids = {name: column.to_numpy() for name, column in known(rows).items() if name != "qid"}
    grades, falling = rows.relevance.to_numpy(), -np.arange(len(rows), dtype=float)
    measures = accepted(partial(frames, before), measures)
    start, values = frames(before, measures), {}
    for measure in measures:
        changes = LambdaMART(measure, **ids).changes(grades, falling, sizes)
        values[str(measure)] = start[str(measure)].loc[sizes.index] + [change[0, -1] for change in changes]
    return pd.DataFrame(values, index=sizes.index)


def printed(command: str, measures: Measures, arguments: list[object]) -> pd.DataFrame:
    """Return the scores that a command prints."""
    from pyterrier_cwla.cli.app import main

    options = [option for measure in measures for option in ("-m", repr(measure))]
    read = Path("words.tsv").exists() and any(needs_of(m).lengths in ("run", "default") for m in measures)
    lengths = ["--lengths", "words.tsv"] if read else []
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main([command, *map(str, [*arguments, *options, *lengths, "--format", "jsonl"])])
        except SystemExit as ended:
            if ended.code:
                raise CWLAError(err.getvalue()) from None
    return pd.DataFrame(list(map(json.loads, out.getvalue().splitlines())))


@door(whole=False, columns=False)
def command_line(data, measures, folder):
    rows = printed("evaluate", measures, [*as_trec_files(data, folder), "--by-query"])
    return rows.set_index("query_id")[[str(measure) for measure in measures]]


# ---- sessions


def of_session(data: Data) -> dict[str, list[str]]:
    """Return sessions of two judged queries, of three, and of all others."""
    judged = sorted({*data.qrels.query_id})
    return {"s1": judged[:2], "s2": judged[2:5], "s3": judged[5:]}


def sessions(data: Data, measures: Measures, form: Callable | None = None, folder: Path | None = None) -> pd.DataFrame:
    """Return values by session; ``form`` gives the data in another form."""
    qrels, run = (data.qrels, data.run) if form is None else form(data, folder)
    return evaluate_sessions(qrels, run, of_session(data), measures, judged_by="query_id")


def sessions_by_command(data: Data, measures: Measures, folder: Path) -> pd.DataFrame:
    rows = [f"{name},{q},{n}\n" for name, queries in of_session(data).items() for n, q in enumerate(queries)]
    (folder / "sessions.csv").write_text("session,query_id,order\n" + "".join(rows))
    given = ["--sessions", folder / "sessions.csv", "--judged-by", "query_id", "--by-session"]
    found = printed("sessions", measures, [*as_trec_files(data, folder), *given])
    return found.set_index("session")[[str(measure) for measure in measures]]


#: Functions from data, measures and a folder to values by session: those of one run.
SESSION_DOORS = {"sessions_by_command": sessions_by_command} | {
    name: partial(sessions, form=form) for name, (form, takes, _) in FORMS.items() if takes is not known_row_by_row
}
