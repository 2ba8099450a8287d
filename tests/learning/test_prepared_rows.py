"""Tests of the cache of prepared rows: equal rows are prepared once, and all others anew."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

from pyterrier_cwla import CWLAWarning
from pyterrier_cwla.errors import CannotScore
from pyterrier_cwla.learning import labelled_rows, scorer
from pyterrier_cwla.learning.labelled_rows import prepared
from tests.support.messages import refused

QID, DOCNO, WORDS = ["a", "a", "b", "b"], ["x", "y", "x", "y"], [100.0, 300.0, 200.0, 50.0]
X, GRADES = np.zeros((4, 2)), [1, 0, 2, 1]


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    monkeypatch.setattr(labelled_rows, "_kept", {})


def labelled(y=GRADES, **levels):
    levels = {"qid": QID, "docno": DOCNO, "doc_length": WORDS} | levels
    arrays = [values for values in levels.values() if values is not None]
    return pd.Series(y, pd.MultiIndex.from_arrays(arrays, names=[name for name, v in levels.items() if v is not None]))


class Model(RegressorMixin, BaseEstimator):
    """Estimator that predicts given scores."""

    def __init__(self, *scores):
        self.scores = scores

    def predict(self, X):
        return self.scores


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
    known = {"qid": np.array(QID, kind), "docno": np.array(DOCNO), "doc_length": None, "judged": np.ones(4, bool)}
    first = prepared(X, np.array(GRADES), known)
    assert prepared(X, list(GRADES), {name: copy.copy(values) for name, values in known.items()}) is first


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


@pytest.mark.parametrize("kind", [str, object, np.dtypes.StringDType()], ids=str)
def test_long_ids_are_compared(kind):
    """NumPy keeps long strings of StringDType outside the array."""
    ids = ["the id of a long document, number 1", "the id of a long document, number 2"]
    known = {"qid": np.array(["a", "a"]), "docno": np.array(ids, kind)}
    first = prepared(X[:2], np.array([1, 0]), known)
    assert prepared(X[:2], np.array([1, 0]), known | {"docno": np.array(ids[::-1], kind)}) is not first


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
        with pytest.raises(CannotScore, match="needs the length"):
            scorer("TBG")(Model(1, 2, 3, 4), X, labelled(doc_length=None, docno=None))


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
