"""Warnings and errors of runs: few judged documents, no judged query, documents without length or cost."""

from functools import partial
from itertools import product

import ir_measures
import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from ir_measures import AP, NumRet, nDCG
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Ridge

from pyterrier_cwla import CWLA, TBG, UDCG, evaluate, explain, out_of_fold, scorer, stream
from pyterrier_cwla.errors import MissingLength, NotPassed
from pyterrier_cwla.evaluation import stop_distribution
from pyterrier_cwla.learning import EvalMeasure
from tests.doors.doors import DOORS, doors_of
from tests.doors.rows import Data
from tests.support import messages
from tests.support.generated import as_pyterrier, collection, harmless
from tests.support.messages import refused

RBP = CWLA(C="rbp(0.8)", A="erg", max_rel=3)
QRELS, RUN = (harmless(collection(4, queries=13, depth=40))._asdict()[name] for name in ("qrels", "run"))
JUDGED = RUN[RUN.query_id.isin(set(QRELS.query_id))]
QUERY = JUDGED.query_id.iloc[0]
UNKNOWN = RUN.assign(doc_id="x" + RUN.doc_id)
"""The run with document ids that do not occur in the judgments."""
WORDS = {doc_id: 100 + 7 * number for number, doc_id in enumerate(sorted(set(RUN.doc_id)))}

told = partial(messages.told, file=__file__)


def few(judged):
    """Return the run with `judged` judged documents among the 110 in the top ten; the others get new ids."""
    ranked = RUN.sort_values(["query_id", "score"], ascending=[True, False], kind="stable", ignore_index=True)
    known = ranked.merge(QRELS[["query_id", "doc_id"]]).groupby("query_id").head(1).head(judged)
    kept = ranked.index.isin(ranked.reset_index().merge(known, on=["query_id", "doc_id"])["index"])
    return ranked.assign(doc_id=ranked.doc_id.where(kept, "x" + ranked.doc_id), score=ranked.score.where(~kept, 1000.0))


#: Functions of a run that are no doors.
OTHERS = {"unchecked": lambda run, measures: evaluate(QRELS, run, ["Judged@10", *measures], check=False),
          "iter_calc": lambda run, measures: list(ir_measures.iter_calc([*measures, NumRet], QRELS, run)),
          "explain": lambda run, measures: explain(QRELS, run, QUERY, measures[0]),
          "stop_distribution": lambda run, measures: stop_distribution(QRELS, run, measures[0])}  # fmt: skip
NAMES = [*doors_of(RBP, whole=True), *OTHERS]


def warned(name, run, measures, folder):
    if name in OTHERS:
        return told(lambda: OTHERS[name](run, measures))
    door = DOORS[name]
    return door.told(Data(run, QRELS), [measure for measure in measures if door.takes(measure)], folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_run_with_few_judged_documents(name, tmp_path):
    asked = partial(warned, name, measures=[RBP, AP, nDCG], folder=tmp_path)
    (message,) = asked(UNKNOWN)
    run = DOORS[name].named if name in DOORS else "the run"
    assert message.startswith(f"no document of {run} is judged for its query, so that nothing is found: for query ")
    assert "it has 'xd" in message
    assert "judged are 'd" in message
    assert message.endswith("Are the ids of documents written alike?")
    (message,) = asked(few(1))
    assert "of the 110 documents in the top ten of" in message
    assert " 1 are judged, less than 1 %: for query" in message
    assert not asked(few(2))  # one of the two is relevant
    assert not asked(RUN)


def test_a_run_that_answers_less_than_half_of_the_topics(tmp_path):
    qrels, half = {query: {"a": 1} for query in "1234"}, {query: {"a": 1.0} for query in "12"}
    says = ["x answers 1 of 4 judged topics, and the others score 0 (failed searches for ESL)."]
    for cache_dir, (run, expected) in product((None, tmp_path, tmp_path), (({"1": half["1"]}, says), (half, []))):
        assert told(lambda: evaluate(qrels, {"x": run}, ["AP", "ESL"], cache_dir=cache_dir)) == expected  # noqa: B023


def test_judged_documents_that_are_not_relevant_count():
    assert not told(lambda: evaluate(QRELS.assign(relevance=0), RUN, ["AP"]))
    assert not told(lambda: evaluate(QRELS.assign(relevance=-1), RUN, ["Judged@10"]))
    odd = RUN.assign(doc_id="\x1b[2J" + "x" * 1000 + RUN.doc_id)
    (message,) = told(lambda: evaluate(QRELS, odd, ["AP"]))
    assert len(told(lambda: explain({"q": {"a": 1}}, {"q": {"b": 1.0}}, "q", "AP"))) == 1
    assert len(message) < 500
    assert "\x1b" not in message


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("compared", "explain")])
def test_no_query_in_common(name, tmp_path):
    other = RUN.assign(query_id="x" + RUN.query_id)
    message, *again = warned(name, other, [RBP, AP, nDCG], tmp_path)
    assert again == [message] * name.endswith("_twice")  # also where scores are those of a cache
    assert message.startswith("run and judgments have no query in common: ")


def test_every_run_without_a_judged_query_is_named(tmp_path):
    other = RUN.assign(query_id="x" + RUN.query_id)
    for kept in ({}, {"cache_dir": tmp_path / "kept"}):
        messages = told(lambda: evaluate(QRELS, {"one": other, "two": other, "good": RUN}, ["AP"], **kept))  # noqa: B023
        assert [message.partition(" has 'x")[0] for message in messages] == [
            f"run and judgments have no query in common: {name}" for name in ("one", "two")
        ]


@pytest.mark.slow
def test_runs_have_names_and_parts_of_a_run_add_up(tmp_path, monkeypatch):
    (message,) = told(lambda: evaluate(QRELS, {"good": RUN, "bad": UNKNOWN}, ["AP"]))
    assert message.startswith("no document of bad is judged")
    monkeypatch.setattr("pyterrier_cwla.files.run_files._Lines.is_small", False)
    monkeypatch.setattr("pyterrier_cwla.files.run_files.BLOCK", 1 << 10)
    half = RUN.assign(doc_id=RUN.doc_id.where(RUN.query_id > "4", "x" + RUN.doc_id))
    for run, expected in ((UNKNOWN, 1), (half, 0)):
        lines = [f"{row.query_id} Q0 {row.doc_id} 1 {row.score} tag\n" for row in run.itertuples()]
        (tmp_path / "run.txt").write_text("".join(lines))
        for call in (lambda: pd.concat(stream(QRELS, tmp_path / "run.txt", ["AP"])),
                     lambda: evaluate(QRELS, tmp_path / "run.txt", ["AP"])):  # fmt: skip
            assert len(told(call)) == expected
    lines = [f"{query} Q0 d{document} 1 {-document} tag\n" for query in ("other", "q") for document in range(99)]
    (tmp_path / "run.txt").write_text("".join(lines))
    udcg = UDCG(abstention={"q": {"d1": 0.5}})
    (message,) = told(lambda: pd.concat(stream({"q": {"d1": 1}}, tmp_path / "run.txt", [udcg])))
    assert message.startswith("98 of 99 documents")
    topics = pd.DataFrame({"qid": QRELS.query_id.unique()}).assign(query="words")
    runs = [as_pyterrier(UNKNOWN), as_pyterrier(RUN)]
    (message,) = told(lambda: pt.Experiment(runs, topics, as_pyterrier(QRELS), [RBP, RBP(C="rr"), nDCG @ 10]))
    assert message.startswith("no document of the run is judged")


@pytest.mark.slow
@pytest.mark.parametrize("name", [*doors_of(TBG, whole=True), "stop_distribution"])
def test_lengths_that_the_mean_of_a_table_replaces_are_counted(name, tmp_path):
    def asked(table):
        measure = TBG(lengths=table, missing="mean")
        return warned(name, RUN, [measure, measure(half_life=9)], tmp_path)

    some = {doc_id: words for number, (doc_id, words) in enumerate(WORDS.items()) if number % 3}
    (message,) = asked(some)
    lacking = int((~JUDGED.doc_id.isin(some)).sum())
    assert message.startswith(f"{lacking:,} of {len(JUDGED):,} documents of ")
    share = f"{100 * lacking / len(JUDGED):.1f}\N{NO-BREAK SPACE}%"
    assert f"({share}) have no length in the table of lengths, such as 'd" in message
    assert message.endswith(": they have the mean.")
    assert not asked(WORDS)
    says = f"none of {len(JUDGED)} documents of ", " is in the table of lengths, such"
    refused(lambda: asked({"elsewhere": 5}), MissingLength, *says)
    (message,) = asked({JUDGED.doc_id.iloc[0]: 5})
    assert "documents of" in message


def test_lengths_that_the_mean_of_the_column_replaces_are_counted():
    run = RUN.assign(doc_length=RUN.doc_id.map(WORDS).where(np.arange(len(RUN)) % 4 > 0))
    (message,) = told(lambda: explain(QRELS, run, QUERY, TBG(missing="mean")))
    assert f"{int(run.loc[JUDGED.index].doc_length.isna().sum())} of {len(JUDGED)} documents of the run" in message
    assert "in the column doc_length" in message
    index = pd.MultiIndex.from_arrays([["a", "a", "b"], [10, np.nan, 5]], names=["qid", "doc_length"])
    X, y = np.zeros((3, 1)), pd.Series([1, 0, 1], index=index)
    model = DummyRegressor().fit(X, y)
    (message,) = told(lambda: scorer("TBG(missing='mean')")(model, X, y))
    assert message.startswith("1 of 3 documents of these rows (33.3\xa0%)")
    assert "such as 'row 1' of query 'a'" in message


def ranks(run):
    ordered = run.sort_values(["query_id", "score", "doc_id"], ascending=[True, False, False])
    return ordered.groupby("query_id").cumcount().reindex(run.index) + 1


@pytest.mark.slow
@pytest.mark.parametrize("by_table, door", [
    (table, door) for table in (True, False) for door in doors_of(TBG(end=3), whole=True, columns=not table)
])  # fmt: skip
def test_ranks_that_are_not_read_need_no_length(door, by_table, tmp_path):
    """Some doors have a second run, with the scores negated; its first ranks are read as well."""
    run, k = RUN.assign(doc_length=RUN.doc_id.map(WORDS).astype(float)), 3
    is_read = (ranks(run) <= k) | (ranks(run.assign(score=-run.score)) <= k)
    gaps, with_gaps = TBG, run.assign(doc_length=run.doc_length.where(is_read))
    if by_table:
        gaps = TBG(lengths={doc_id: WORDS[doc_id] for doc_id in set(run.doc_id[is_read])})
        assert len(gaps.metric.lengths.current) < len(WORDS)
        run = with_gaps = run.drop(columns="doc_length")
    (tmp_path / "full").mkdir()
    for some in ([gaps @ k, gaps @ (k - 2)], [gaps(end=k)]):
        every = [measure(lengths=WORDS) for measure in some] if by_table else some
        found = DOORS[door].values(Data(with_gaps, QRELS), some, tmp_path)
        expected = DOORS[door].values(Data(run, QRELS), every, tmp_path / "full")
        assert np.array_equal(found, expected)
    for measure in (gaps @ (k + 1), gaps, (gaps @ k)(judged_only=True)):
        values = partial(DOORS[door].values, Data(with_gaps, QRELS), [measure], tmp_path)
        refused(values, MissingLength, "have none")


def test_errors_name_run_and_measure_once_and_are_not_chained(tmp_path):
    RUN.to_parquet(tmp_path / "one.parquet", index=False)
    lacking = TBG(lengths={"elsewhere": 5})
    for runs, measure, says in (
        ({"one": RUN}, "TBG(half_life=9)", r"^one: TBG\(half_life=9\): the lengths of documents are"),
        ({"one": tmp_path / "one.parquet"}, "TBG(half_life=9)", r"^one: TBG\(half_life=9\): the lengths of documents"),
        (RUN, lacking, r"^TBG: time as effort needs .* have none"),
        (RUN, lacking(norm="ideal", missing="mean"), "no judged document is in the table of lengths"),
    ):
        with pytest.raises(MissingLength, match=says) as found:
            evaluate(QRELS, runs, [measure])
        assert found.value.__cause__ is None
        assert found.value.__suppress_context__
    says = "TBG needs the length of every row: EvalMeasure('TBG', doc_length=…)"
    refused(lambda: EvalMeasure("TBG")([0, 1], [1.0, 2.0], None, [2]), MissingLength, says)
    y = pd.Series([0, 1, 0, 1], index=pd.Index([*"aabb"], name="qid"))
    says = "TBG needs ", ": pass the index level 'doc_length'", " Or pass the index level"
    refused(lambda: out_of_fold(Ridge(), np.zeros((4, 1)), y, "TBG", cv=2), NotPassed, *says)
