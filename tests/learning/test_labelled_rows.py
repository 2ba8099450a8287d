"""Tests of labelled rows for learners: where data of rows are read from, how they are checked, and their cache."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

from pyterrier_cwla import CWLAWarning
from pyterrier_cwla.errors import BadJudgments, BadParameter, BadRun, CannotScore, NotPassed
from pyterrier_cwla.learning import labelled_rows, scorer
from pyterrier_cwla.learning.labelled_rows import Samples, prepared
from pyterrier_cwla.learning.row_columns import known_of_rows, labels
from tests.support.messages import refused

QID, DOCNO, WORDS = ["a", "a", "b", "b"], ["x", "y", "x", "y"], [100.0, 300.0, 200.0, 50.0]
X, GRADES = np.zeros((4, 2)), [1, 0, 2, 1]


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    monkeypatch.setattr(labelled_rows, "_kept", {})


def indexed(values, **levels):
    """Return a Series, or a frame, with these levels of its index."""
    index = pd.MultiIndex.from_arrays(list(levels.values()), names=list(levels))
    return (pd.Series if np.ndim(values) == 1 else pd.DataFrame)(values, index)


def labelled(y=GRADES, **levels):
    levels = {"qid": QID, "docno": DOCNO, "doc_length": WORDS} | levels
    return indexed(y, **{name: values for name, values in levels.items() if values is not None})


class Model(RegressorMixin, BaseEstimator):
    """Estimator that predicts given scores."""

    def __init__(self, *scores):
        self.scores = scores

    def predict(self, X):
        return self.scores


def test_known_values_come_by_keyword_then_by_index():
    y, one = np.zeros(4), {"qid": QID}
    for X_, y_, passed, expected in (
        (X, y, {}, {}),
        (X, y, one, one),
        (X, indexed(y, qid=QID, docno=DOCNO, other=WORDS), {}, {"qid": QID, "docno": DOCNO}),
        (indexed(X, qid=QID), y, {}, one),
        (indexed(X, qid=DOCNO, doc_length=WORDS), indexed(y, qid=QID), {}, {"qid": QID, "doc_length": WORDS}),
        (X, indexed(y, qid=DOCNO), {"qid": QID, "docno": None}, one),
        (X, pd.Series(y, pd.Index(QID, name="qid")), {}, one),
        (X.tolist(), y.tolist(), {"judged": [True] * 4}, {"judged": [True] * 4}),
    ):
        assert {name: values.tolist() for name, values in known_of_rows(X_, y_, passed).items()} == expected
    for passed, *says in (
        ({"qid": [2, 2]}, "qid has 2 values, but there are 4 rows: ", "(not the sizes of groups)"),
        ({"docno": [["x"]] * 4}, "docno has the shape (4, 1)"),
    ):
        refused(lambda: known_of_rows(X, None, passed), BadParameter, *says)  # noqa: B023


def test_labels_of_none_are_unjudged_and_trecs_marks_are_kept():
    assert np.isnan(labels([None, np.nan])).all()
    assert np.isnan(labels(pd.Series([1, None], dtype="Int64"))).tolist() == [False, True]
    assert labels([-1, -2, 0.5]).tolist() == [-1, -2, 0.5]
    assert labels([True, False]).tolist() == [1, 0]


def test_judgments_are_of_the_rows_that_were_judged():
    samples = Samples.of(
        [1, np.nan, 2, 0],
        {"qid": np.array([3, 3, 3, 4]), "docno": np.array(list("wxyz")), "judged": np.array([1, 1, 0, 1])},
    )
    columns = samples.judgments.columns
    assert samples.judgments.qids == ["3", "4"]
    assert columns.doc_id.to_pylist() == ["w", "z"]
    assert columns.value.tolist() == [1, 0]
    assert columns.value.dtype.kind == "i"
    run = samples.run([4, 3, 2, 1])
    assert run.doc_id.to_pylist() == list("wxyz")
    assert run.doc_length is None


ONE = {"qid": ["a", "a"]}


@pytest.mark.every_case
@pytest.mark.parametrize(("label", "known", "error", "message"), [
    (["good", "bad"], ONE, BadJudgments, "labels must be grades, and 'good' is of type str"),
    ([[1, 0], [0, 1]], ONE, BadJudgments, "not of shape (2, 2)"), ([1, np.inf], ONE, BadJudgments, "row 1 has the label inf"),
    ([-3, 1], ONE, BadJudgments, "row 0 has the label -3"), (None, ONE, BadJudgments, "there are no labels"),
    ([1, 0], {"qid": QID}, BadParameter, "qid has 4 values, but there are 2 labels"), ([1, 0], {}, NotPassed, "qid is missing"),
    ([1, 0], {**ONE, "docno": ["d", "d"]}, BadJudgments, "topic 'a': 'd' is judged twice"),
    ([1, 0], {**ONE, "docno": ["d", "d"], "judged": [True, False]}, BadRun, "topic 'a': 'd' is retrieved twice"),
    ([1, 0], {**ONE, "judged": [True, None]}, BadParameter, "judged must be True or False, but row 1 has None"),
    ([1, 0], {**ONE, "judged": [2, 1]}, BadParameter, "row 0 has 2"),
    ([1, 0], {**ONE, "judged": ["yes", "no"]}, BadParameter, "row 0 has 'yes'"),
    ([1, 0], {**ONE, "doc_length": ["long", "short"]}, BadParameter, "doc_length must be numbers of words"),
])  # fmt: skip
def test_rows_that_cannot_be_used_are_named(label, known, error, message):
    arrays = {name: np.array(values, object) for name, values in known.items()}
    refused(lambda: Samples.of(label, arrays).judgments.scored([2, 1]), error, message)


@pytest.mark.parametrize(("score", "message"), [
    ([1, 2, 3], "there are 3 values for 2 rows"), ([[1, 2], [3, 4]], "the shape (2, 2) for 2 rows"),
    ([1, None], "row 1 has the score NaN"), ([1, "b"], "one number per row"),
])  # fmt: skip
def test_scores_are_one_number_for_each_row(score, message):
    samples = Samples.of([1, 0], {"qid": np.array(["a", "a"])})
    refused(lambda: samples.run(score), BadRun, message)
    assert samples.run([[1], [2]]).value.tolist() == [1, 2]


@pytest.mark.parametrize(
    "y",
    [labelled(), labelled(docno=None), labelled(qid=[7, 7, 8, 8]), labelled([1, np.nan, 2, 1]),
     labelled(doc_length=[1, np.nan, 2, 3]), pd.Series(GRADES, pd.Index(QID, name="qid")),
     pd.Series(GRADES, pd.Index(QID, name="qid", dtype=object))],
)  # fmt: skip
def test_equal_rows_are_prepared_once(y):
    first = prepared(X, y, {})
    rows = np.arange(4)
    twice = np.concatenate([rows, rows])
    for same in (y, y.iloc[rows], y.iloc[twice].iloc[rows], copy.deepcopy(y), pickle.loads(pickle.dumps(y))):
        assert prepared(X.copy(), same, {}) is first
    assert prepared(pd.DataFrame(X, y.index), y.to_numpy(), {}) is first


@pytest.mark.parametrize("kind", [str, object, np.dtypes.StringDType()], ids=str)
def test_rows_by_keyword(kind):
    """NumPy keeps long strings of StringDType outside the array."""
    ids = [f"the id of a long document, number {number}" for number in range(4)]
    known = {"qid": np.array(QID, kind), "docno": np.array(ids, kind), "doc_length": None, "judged": np.ones(4, bool)}
    first = prepared(X, np.array(GRADES), known)
    assert prepared(X, list(GRADES), {name: copy.copy(values) for name, values in known.items()}) is first
    assert prepared(X, np.array(GRADES), known | {"docno": np.array(ids[::-1], kind)}) is not first


@pytest.mark.parametrize(
    "other",
    [labelled([1, 0, 2, 0]), labelled([1.0, 0.0, 2.0, 1.0]), labelled([1, 0, 2, np.nan]), labelled(qid=["a", "a", "b", "c"]),
     labelled(docno=["x", "y", "x", "z"]), labelled(doc_length=[100.0, 300.0, 200.0, 51.0]), labelled(docno=None),
     labelled(doc_length=[100.0, 300.0, 200.0, np.nan]), labelled().rename_axis(index={"doc_length": "words"})],
)  # fmt: skip
def test_other_rows_are_prepared_anew(other):
    y = labelled()
    first, found = prepared(X, y, {}), prepared(X, other, {})
    assert found is not first
    np.testing.assert_array_equal(found.label, other)
    assert list(found.qid) == other.index.get_level_values("qid").tolist()
    assert (found.docno is None) == ("docno" not in other.index.names)
    unjudged = prepared(X, y, {"judged": [True, True, True, False]})
    assert unjudged.is_judged.tolist() == [True, True, True, False]
    assert prepared(X, y, {}).judged is None


def test_changes_in_place_are_noticed():
    grades, qid, words = np.array(GRADES), np.array(QID, object), np.array(WORDS)
    index = pd.MultiIndex.from_arrays([QID, WORDS, [1, 2, 3, 400]], names=["qid", "doc_length", "other"])
    y = pd.Series(GRADES, index)
    known, model, tbg = {"qid": qid, "doc_length": words}, Model(3, 2, 1, 0), scorer("TBG")
    before = tbg(model, X, grades, **known), tbg(model, X, y)
    assert before[0] == before[1]
    words[0], grades[1], qid[1], y.index.names = 30.0, 1, "b", ["qid", "other", "doc_length"]
    assert tbg(model, X, grades, **known) == tbg(model, X, grades, qid=qid.tolist(), doc_length=words.tolist())
    renamed = pd.Series(GRADES, index.rename(["qid", "other", "doc_length"]))
    assert tbg(model, X, y) == tbg(model, X, renamed) != before[1]
    words[0], grades[1], qid[1] = WORDS[0], GRADES[1], QID[1]
    assert tbg(model, X, grades, **known) == before[0]


def test_values_of_several_types_are_not_kept():
    """1 equals True and 1.0, and their texts differ."""
    for qid in ([1, 1, "b", "b"], [1.0, 1.0, 2, 2], [True, True, False, False]):
        prepared(X, np.array(GRADES), {"qid": np.array(qid, object)})
    assert not labelled_rows._kept
    one = prepared(X, np.array(GRADES), {"qid": np.array([1, 1, 0, 0])})
    assert prepared(X, np.array(GRADES), {"qid": np.array([True, True, False, False])}) is not one


def test_the_newest_rows_are_kept_up_to_a_size(monkeypatch):
    folds = [labelled([grade, 0, 1, 2]) for grade in range(5)]
    found = [prepared(X, y, {}) for y in folds]
    assert [samples for *_, samples in labelled_rows._kept.values()] == found[::-1]
    monkeypatch.setattr(labelled_rows, "_MOST", 2)
    last = prepared(X, labelled([3, 3, 3, 3]), {})
    assert [samples for *_, samples in labelled_rows._kept.values()] == [last, found[4]]
    monkeypatch.setattr(labelled_rows, "_SIZE", 20)
    prepared(np.vstack([X] * 5), pd.concat([folds[0].droplevel("docno")] * 5), {})
    assert not labelled_rows._kept


def test_each_scoring_warns_of_replaced_lengths():
    y = labelled(doc_length=[100.0, np.nan, 200.0, 50.0])
    mean = scorer("TBG(missing='mean')")
    found = set()
    for _ in range(3):
        with pytest.warns(CWLAWarning, match="1 of 4"):
            found.add(mean(Model(1, 2, 3, 4), X, y))
    assert len(found) == 1


def test_errors_are_the_same_each_time():
    y = labelled(docno=["x", "x", "x", "y"])
    for _ in range(2):
        refused(lambda: scorer("AP")(Model(1, 2, 3, 4), X, y), CannotScore, "'x'")
        without = labelled(doc_length=None, docno=None)
        refused(lambda: scorer("TBG")(Model(1, 2, 3, 4), X, without), CannotScore, "needs the length")  # noqa: B023


def test_a_table_that_changes(tmp_path):
    """Rows are prepared anew for measures with tables, which would stay in memory."""
    table, y = tmp_path / "lengths.tsv", labelled(doc_length=None)
    table.write_text("x\t100\ny\t200\n")
    tbg, model = scorer(f"TBG(lengths='{table}')"), Model(1, 2, 3, 4)
    before = tbg(model, X, y)
    table.write_text("x\t900\ny\t20000\n")
    assert tbg(model, X, y) == scorer("TBG")(model, X, labelled(doc_length=[900, 20000] * 2)) != before
    assert len(labelled_rows._kept) == 1


@pytest.mark.slow
def test_many_measures_of_the_same_rows(monkeypatch):
    """Values of measures that are cached for rows are dropped with the rows."""
    y, first = labelled(), prepared(X, labelled(), {})
    for cutoff in range(1, 200):
        scorer(f"nDCG@{cutoff}")(Model(1, 2, 3, 4), X, y)
        assert len(labelled_rows._kept) == 1
    assert prepared(X, y, {}) is not first
    assert len(prepared(X, y, {}).judgments.pool.memory) < 120


@pytest.mark.slow
def test_threads_score_the_same_rows():
    rng = np.random.default_rng(1)
    qid = np.repeat(np.arange(20), 30).astype(str)
    y = [pd.Series(rng.integers(0, 4, 600), pd.Index(qid, name="qid")) for _ in range(3)]
    models = [Model(*rng.random(600)) for _ in range(40)]
    work = [
        (scorer(name), model, np.zeros((600, 1)), y[n % 3])
        for name in ("nDCG@10", "ERR")
        for n, model in enumerate(models)
    ]
    alone = [one(*rest) for one, *rest in work]
    labelled_rows._kept.clear()
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda task: task[0](*task[1:]), work)) == alone
