"""Tests of labelled rows for learners: where queries, documents and lengths are read from, and how labels are checked."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyterrier_cwla.errors import BadJudgments, BadParameter, BadRun, NotPassed
from pyterrier_cwla.learning.labelled_rows import Samples
from pyterrier_cwla.learning.row_columns import known_of_rows, labels
from tests.support.messages import refused

QID, NAMES = ["a", "a", "b"], ["d1", "d2", "d1"]


def indexed(data, **levels):
    index = pd.MultiIndex.from_arrays(list(levels.values()), names=list(levels))
    return (pd.Series if np.ndim(data) == 1 else pd.DataFrame)(data, index)


def found(X, y, **given):
    return {name: values.tolist() for name, values in known_of_rows(X, y, given).items()}


def test_known_values_come_by_keyword_then_by_index():
    X, y = np.zeros((3, 2)), np.zeros(3)
    assert found(X, y) == {}
    assert found(X, y, qid=QID) == {"qid": QID}
    assert found(X, indexed(y, qid=QID, docno=NAMES, other=[1, 2, 3])) == {"qid": QID, "docno": NAMES}
    assert found(indexed(X, qid=QID), y) == {"qid": QID}
    assert found(indexed(X, qid=QID, doc_length=[1, 2, 3]), indexed(y, qid=[7, 7, 8])) == {
        "qid": [7, 7, 8],
        "doc_length": [1, 2, 3],
    }
    assert found(X, indexed(y, qid=QID), qid=[7, 7, 8], docno=None) == {"qid": [7, 7, 8]}
    assert found(X, pd.Series(y, pd.Index(QID, name="qid"))) == {"qid": QID}
    assert found(X.tolist(), y.tolist(), judged=[True, False, True]) == {"judged": [True, False, True]}


def test_there_is_one_of_each_for_each_row():
    with pytest.raises(BadParameter, match=r"qid has 2 values, but there are 3 rows: .*\(not the sizes of groups\)"):
        known_of_rows(np.zeros((3, 2)), None, {"qid": [2, 1]})
    with pytest.raises(BadParameter, match=r"docno has the shape \(3, 1\)"):
        known_of_rows(np.zeros((3, 2)), None, {"docno": [["a"], ["b"], ["c"]]})
    with pytest.raises(BadParameter, match="qid has 3 values, but there are 2 labels"):
        Samples.of([1, 2], {"qid": np.array(QID)})


@pytest.mark.parametrize(
    "values",
    [[1, 0, 2], (1.0, 0.0, 2.0), np.array([[1], [0], [2]]), pd.Series([1, 0, 2], dtype="Int64"), pd.DataFrame({"y": [1, 0, 2]}), pd.Categorical([1, 0, 2])],
    ids=lambda v: type(v).__name__,
)  # fmt: skip
def test_labels_are_numbers_in_any_form(values):
    assert labels(values).tolist() == [1, 0, 2]


def test_labels_of_none_are_unjudged_and_trecs_marks_are_kept():
    assert np.isnan(labels([None, np.nan])).all()
    assert np.isnan(labels(pd.Series([1, None], dtype="Int64"))).tolist() == [False, True]
    assert labels([-1, -2, 0.5]).tolist() == [-1, -2, 0.5]
    assert labels([True, False]).tolist() == [1, 0]


@pytest.mark.parametrize(("values", "message"), [
    (["good", "bad"], "labels must be grades, and 'good' is of type str"),
    ([[1, 0], [0, 1]], r"not of shape \(2, 2\)"),
    ([1, np.inf], "row 1 has the label inf"),
    ([-3, 1], "row 0 has the label -3"),
])  # fmt: skip
def test_labels_that_are_no_grades(values, message):
    with pytest.raises(BadJudgments, match=message):
        labels(values)


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


@given(st.integers(1, 1200))
def test_ids_of_rows_fall_and_name_their_row(n):
    ids = Samples.of(np.zeros(n), {"qid": np.zeros(n)}).doc_id.to_pylist()
    assert ids == sorted(ids, reverse=True)
    assert [name.split(" ")[1:] for name in ids] == [["(row", f"{row})"] for row in range(n)]


@pytest.mark.parametrize(("known", "error", "message"), [
    ({}, NotPassed, "qid is missing"),
    ({"qid": ["a", None]}, BadParameter, "row 1 has no qid"),
    ({"qid": [np.nan, 1.0]}, BadParameter, "row 0 has no qid"),
    ({"qid": [pd.NA, "a"]}, BadParameter, "row 0 has no qid"),
    ({"qid": ["a", "a"], "docno": ["d", np.nan]}, BadParameter, "row 1 has no docno"),
    ({"qid": ["a", "a"], "docno": ["d", "d"]}, BadJudgments, "topic 'a': 'd' is judged twice"),
    ({"qid": ["a", "a"], "judged": [True, None]}, BadParameter, "judged must be True or False, but row 1 has None"),
    ({"qid": ["a", "a"], "judged": [2, 1]}, BadParameter, "row 0 has 2"),
    ({"qid": ["a", "a"], "judged": ["yes", "no"]}, BadParameter, "row 0 has 'yes'"),
    ({"qid": ["a", "a"], "doc_length": ["long", "short"]}, BadParameter, "doc_length must be numbers of words"),
])  # fmt: skip
def test_rows_that_cannot_be_used_are_named(known, error, message):
    arrays = {name: np.array(values, object) for name, values in known.items()}
    with pytest.raises(error, match=message):
        Samples.of([1, 0], arrays).judgments.scored([2, 1])


def test_no_labels_at_all():
    refused(lambda: Samples.of(None, {"qid": np.array(["a"])}), BadJudgments, "there are no labels")


@pytest.mark.parametrize(
    ("score", "message"),
    [([1, 2, 3], "there are 3 values for 2 rows"), ([[1, 2], [3, 4]], r"the shape \(2, 2\) for 2 rows"), ([1, None], "row 1 has the score NaN"), ([1, "b"], "one number per row")],
)  # fmt: skip
def test_scores_are_one_number_for_each_row(score, message):
    with pytest.raises(BadRun, match=message):
        Samples.of([1, 0], {"qid": np.array(["a", "a"])}).run(score)


def test_a_column_of_scores_will_do():
    assert Samples.of([1, 0], {"qid": np.array(["a", "a"])}).run([[1], [2]]).value.tolist() == [1, 2]
