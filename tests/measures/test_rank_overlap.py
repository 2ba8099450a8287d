"""Compatibility, compared with loops over all depths, and its use through other frameworks."""

import ir_measures
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import Compat
from sklearn.linear_model import LinearRegression

from pyterrier_cwla import evaluate, scorer, studies
from pyterrier_cwla.errors import BadParameter
from pyterrier_cwla.learning.metrics import measure_score
from tests.support import reference
from tests.support.generated import collection
from tests.support.messages import refused

pytestmark = pytest.mark.filterwarnings("ignore:no document of:pyterrier_cwla.errors.CWLAWarning")
DOCUMENTS = st.sampled_from("abcdefghi")
RUNS = st.dictionaries(DOCUMENTS, st.sampled_from([-1.5, -0.0, 0.0, 1.0, 1 + 1e-12, 1 + 1e-7, 2.0]), min_size=1)
JUDGED = st.dictionaries(DOCUMENTS, st.sampled_from([-1, 0, 1, 2]), min_size=1)


def of(qrels, run, measure):
    return evaluate({"q": qrels}, {"run": {"q": run}}, [measure]).iloc[0, 0]


@given(RUNS, JUDGED, st.sampled_from([0, 0.5, 0.95, 1]), st.booleans())
def test_any_ranking(run, judged, p, normalize):
    """Ties, scores that differ as doubles only, scores of 0 and below it, and documents that are not retrieved."""
    found = of(judged, run, f"Compat(p={p},normalize={normalize})")
    assert found == pytest.approx(reference.compatibility(run, judged, p, normalize), abs=1e-12)


@given(RUNS, JUDGED)
def test_the_ideal_ranking_scores_one(run, judged):
    """The documents with gain in descending order of grade, whatever follows them."""
    best = sorted((d for d in judged if judged[d] > 0), key=lambda d: -judged[d])
    listed = [*best, *(d for d in run if d not in best)]
    found = of(judged, {d: float(len(listed) - place) for place, d in enumerate(listed)}, "Compat")
    assert found == (1 if best else 0)


def test_ties_are_by_ascending_id_and_scores_are_doubles():
    """All other measures order ties by descending id, and compare scores as float32."""
    tied = {"a": 1.0, "b": 1.0}
    assert of({"a": 1}, tied, "Compat") == 1
    assert of({"b": 1}, tied, "RR") == 1
    close = {"a": 1.0, "b": 1 + 1e-12}
    assert of({"b": 1}, close, "Compat") == 1
    assert of({"a": 1}, {"a": 1e300, "b": 1e299}, "Compat") == 1  # both are infinite as float32
    bytes_order = {"é": 1.0, "z": 1.0, "😀": 1.0, "Z": 1.0}
    assert of({"Z": 3, "z": 2, "é": 1}, bytes_order, "Compat") == 1


def test_the_order_of_judgments_breaks_ties_of_scores_of_zero():
    run = {"a": 0.0, "x": -1.0}
    first, last = {"a": 1, "z": 1}, {"z": 1, "a": 1}
    assert of(first, run, "Compat") > of(last, run, "Compat")
    for qrels in (first, last):
        assert of(qrels, run, "Compat") == pytest.approx(reference.compatibility(run, qrels), abs=1e-15)


def test_queries_without_results_or_relevant_documents():
    qrels = {"1": {"a": 1}, "2": {"a": 1}, "3": {"a": 0}, "4": {"a": 1}}
    run = {"1": {"a": 1.0}, "3": {"a": 1.0}, "4": {"b": 1.0}, "5": {"a": 1.0}}
    found = evaluate(qrels, run, [Compat], by_query=True)["Compat"]
    assert found.tolist() == [1, 0, 0, 0]
    assert ir_measures.calc_aggregate([Compat], qrels, run) == {Compat: found.mean()}


def test_rows_of_a_learner():
    """Rows without ids keep their order if they tie; rows with ids are in ascending order."""
    X, y = np.array([[0.0], [1.0], [2.0]]), pd.Series([0, 1, 2], pd.Index(["q"] * 3, name="qid"))
    assert scorer("Compat", min_queries=1)(LinearRegression().fit(X, X.ravel()), X, y) == 1
    assert measure_score("Compat", [[1, 0]], [[1, 1]]) == 1
    assert measure_score("Compat", [[0, 1]], [[1, 1]]) == measure_score("Compat", [[0, 1]], [[2, 1]]) < 1
    assert measure_score("Compat", [[0, 1]], [[1, 1]], docno=[["b", "a"]]) == 1
    assert measure_score("Compat", [[0, 1]], [[1, 1 + 1e-12]]) == 1


def test_next_judgments_are_refused():
    frames = collection(1, queries=6, grades=(0, 1, 2))
    says = "Compat depends on the order of the judgments"
    refused(lambda: studies.next_judgments(frames.qrels, {"a": frames.run, "b": collection(2).run}, "Compat"), says)


def test_parameters():
    for wrong, says in (("p=1.5", "p must be a number in [0, 1]"), ("normalize=2", "normalize")):
        refused(lambda wrong=wrong: of({"a": 1}, {"a": 1.0}, f"Compat({wrong})"), BadParameter, says)
