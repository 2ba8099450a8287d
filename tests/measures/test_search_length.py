"""Expected search length, compared with all orders of tied documents, and its use through other frameworks."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from pyterrier_cwla import CWLA, compare, evaluate, scorer
from pyterrier_cwla.errors import BadParameter, UnknownSpec
from pyterrier_cwla.learning.metrics import measure_score
from tests.support import reference
from tests.support.messages import refused

pytestmark = pytest.mark.filterwarnings("ignore:no document of:pyterrier_cwla.errors.CWLAWarning")
QRELS = {"q": {"a": 1, "b": 2, "c": 0, "z": 1}}
RUN = {"q": {"x": 5.0, "a": 4.0, "b": 4.0, "c": 4.0, "y": 4.0, "w": 3.0}}
#: A list of grades (None: unjudged) and of scores, of few values, and grades of documents that are not retrieved.
TOPIC = st.tuples(
    st.lists(st.tuples(st.sampled_from([None, -1, 0, 1, 2]), st.sampled_from([0.0, 1.0, 2.5])), max_size=6),
    st.lists(st.integers(0, 2), max_size=2),
)


def of(*measures, qrels=QRELS, run=RUN, **how):
    return evaluate(qrels, {"run": run}, list(measures), **how).loc["run"].to_numpy().tolist()


def test_by_hand():
    """x is above four tied documents, of which a and b are relevant: 1 + 2·s/3 for s = 1 and 2."""
    assert of("ESL", "ESL(wanted=2)") == pytest.approx([1 + 2 / 3, 1 + 4 / 3], abs=1e-15)
    assert of("ESL(rel=2)") == [1 + 3 / 2]  # only b is relevant, among three others
    assert of("ESL(judged_only=True)", "ESL(wanted=2,judged_only=True)") == pytest.approx([1 / 3, 2 / 3])
    assert of("ESL(wanted=3)", "ESL(wanted=3,failed=50)", "ESL(wanted=3,failed=2)") == [1000, 50, 4]
    # 100 documents: z is one of the 94 that are not retrieved, and a user finds it after half of the other 93
    assert of("ESL(wanted=3,documents=100)", "ESL(wanted=4,documents=100)") == [4 + 93 / 2, 4 + 93]
    assert of("ESL(documents=7)", "ESL(wanted=3,documents=7)") == pytest.approx([1 + 2 / 3, 4])


def levels_of(rows, rel, judged_only=False):
    rows = [(grade, score) for grade, score in rows if not judged_only or (grade is not None and grade >= 0)]
    return [
        [grade is not None and grade >= rel for grade, other in rows if other == score]
        for score in sorted({score for _, score in rows}, reverse=True)
    ]


@given(st.lists(TOPIC, min_size=1, max_size=4), st.integers(1, 4), st.integers(1, 2), st.sampled_from([0, 3, 40]))
def test_it_is_the_mean_over_all_orders(topics, wanted, rel, failed):
    """With the documents that were not retrieved as the last level, and without; condensed, and not."""
    qrels, run, expected = {"other": {"a": 1}}, {"other": {"a": 1.0}}, {}
    for number, (rows, others) in enumerate(topics):
        qid = f"q{number}"
        judged = {f"d{place}": grade for place, (grade, _) in enumerate(rows) if grade is not None}
        qrels[qid] = judged | {f"o{place}": grade for place, grade in enumerate(others)} | {"zero": 0}
        run[qid] = {f"d{place}": score for place, (_, score) in enumerate(rows)}
        relevant = [grade >= rel for grade in others]
        unseen = relevant + [False] * (9 - len(rows) - len(others))
        levels = levels_of(rows, rel)
        expected[qid] = [
            reference.search_length(levels, wanted, failed),
            reference.search_length(levels_of(rows, rel, judged_only=True), wanted, failed),
            reference.search_length([*levels, sorted(unseen)[-6:]], wanted, 0) if len(unseen) <= 6 else None,
        ]
    own = f"wanted={wanted},rel={rel}"
    measures = [
        f"ESL({own},{more})" for more in (f"failed={failed}", f"failed={failed},judged_only=True", "documents=9")
    ]
    found = evaluate(qrels, {"run": {q: docs for q, docs in run.items() if docs}}, measures, by_query=True)
    for qid, values in expected.items():
        for value, expected_value in zip(found.loc["run", qid].tolist(), values, strict=True):
            assert expected_value is None or value == pytest.approx(expected_value, abs=1e-12)


@given(TOPIC, st.integers(1, 3))
def test_documents_that_are_not_judged_count_as_not_retrieved(topic, wanted):
    """With ``judged_only``, they are in the last level, as if the run did not have them."""
    rows, others = topic
    judged = {f"d{place}": grade for place, (grade, _) in enumerate(rows) if grade is not None}
    qrels = {"q": judged | {f"o{place}": grade for place, grade in enumerate(others)} | {"zero": 0}}
    run = {f"d{place}": score for place, (_, score) in enumerate(rows)} | {"unjudged": 1.0}
    condensed = {docno: score for docno, score in run.items() if qrels["q"].get(docno, -1) >= 0} | {"zero": -1.0}
    given_text = f"wanted={wanted},documents=12"
    found = of(f"ESL({given_text},judged_only=True)", qrels=qrels, run={"q": run | {"zero": -1.0}})
    assert found == of(f"ESL({given_text})", qrels=qrels, run={"q": condensed})


@given(st.lists(TOPIC, min_size=1, max_size=4), st.integers(1, 3))
def test_without_ties_it_is_the_effort_of_users_of_bpm(topics, wanted):
    """A user of bpm(K, 1000) leaves at the K-th relevant document, and only the others cost one."""
    qrels = {f"q{n}": {f"d{i}": max(g or 0, 0) for i, (g, _) in enumerate(rows)} for n, (rows, _) in enumerate(topics)}
    qrels |= {"last": {"d0": 1}}
    run = {qid: {"d0": 0.0} | {d: -float(d[1:]) for d in documents} for qid, documents in qrels.items()}
    cell = CWLA(C=f"bpm({wanted},1000)", A="effort", gain="binary", effort="by_grade({0: 1, 1: 0, 2: 0})")
    ours, theirs = zip(*of(f"ESL(wanted={wanted})", cell, qrels=qrels, run=run, by_query=True), strict=True)
    assert ours == pytest.approx(theirs, abs=1e-9)


def test_scores_tie_as_float32_and_ids_have_no_effect():
    documents = ["x", "a", "y"]
    for scores in ([1 + 1e-9, 1.0, 1 - 1e-9], [np.inf] * 3, [1e39, np.inf, 1e40], [0.0, -0.0, 1e-50]):
        for names in (documents, documents[::-1]):
            run = {"q": dict(zip(names, scores))}
            assert of("ESL", run=run) == [1]
    assert of("ESL", run={"q": dict(zip(documents, [1 + 1e-6, 1.0, 1 - 1e-6]))}) == [1]
    assert of("ESL", run={"q": dict(zip(documents, [1 - 1e-6, 1.0, 1.1]))}) == [1]
    assert of("ESL", run={"q": dict(zip(documents, [1 + 1e-6, 1.0, 1.0]))}) == [1.5]


def test_the_last_document_does_not_tie_with_the_next_query():
    qrels = {"1": {"a": 1}, "2": {"a": 1}, "3": {"a": 1}}
    run = {q: {"a": 1.0, "n": 1.0} for q in ("1", "unjudged", "2", "3")}
    assert [value for (value,) in of("ESL", qrels=qrels, run=run, by_query=True)] == [0.5] * 3


def test_queries_without_results_are_failed_searches():
    """Less is better, so that 0 would be the best value."""
    qrels = QRELS | {"none": {"a": 1}, "nothing relevant": {"a": 0}}
    measures = ["ESL(failed=77)", "ESL(documents=10)", "ESL(judged_only=True)", "ESL(wanted=2,documents=10)"]
    found = of(*measures, qrels=qrels, by_query=True)
    assert found[1:] == [[77, 9 / 2, 1000, 9], [77, 10, 1000, 10]]
    assert of("ESL(failed=77)", qrels=qrels) == pytest.approx([(1 + 2 / 3 + 77 + 77) / 3])


def test_scorers_minimise_it_and_rows_without_ids_tie():
    y = pd.Series([0, 1, 0, 1, 0, 1], index=pd.Index([1, 1, 1, 2, 2, 2], name="qid"))
    X = np.array([[3.0], [3.0], [1.0], [2.0], [1.0], [1.0]])
    assert scorer("ESL(wanted=1)")(LinearRegression().fit(X, X.ravel()), X, y) == pytest.approx(-(1 / 2 + 0) / 2)
    ids = {"docno": [["a", "b", "c", "d"]]}
    for known in ({}, ids):
        assert measure_score("ESL(wanted=2)", [[1, 0, 1, 0]], [[2, 1, 1, 1]], **known) == pytest.approx(1)
    two = measure_score("ESL", [1, 0, 0, 1, 0], [1, 1, 1, 0, 0], qid=["b", "b", "a", "b", "a"], average=False)
    assert two[0] == 1 / 2


def test_the_lowest_is_the_best():
    qrels = {f"q{n}": {"a": 1} for n in range(5)}
    runs = {"good": {q: {"a": 2.0, "b": 1.0} for q in qrels}, "bad": {q: {"a": 1.0, "b": 2.0} for q in qrels}}
    assert compare(qrels, runs, ["ESL", "RR"], resamples=100).about["better"] == {"ESL": "lower", "RR": "higher"}
    short = {**runs, "good": {q: runs["good"][q] for q in list(qrels)[1:]}}
    notes = compare(qrels, short, ["RR", "GeometricMean(measure='ESL')"], resamples=100).notes()
    assert "Topics that a run does not answer score 0 (failed searches for ESL): good (1)." in notes
    notes = compare(qrels, short, ["RR"], resamples=100).notes()
    assert "Topics that a run does not answer score 0: good (1)." in notes


def test_intents_are_searched_for_one_by_one():
    rows = [("q", "a", 1, "0"), ("q", "b", 1, "1"), ("q", "c", 0, "1"), ("none", "a", 1, "0")]
    qrels = pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance", "iteration"])
    found = of("IntentAware(measure='ESL(failed=9)')", qrels=qrels, by_query=True)
    assert found == [[pytest.approx((1 + 3 / 2 + 1 + 3 / 2) / 2)], [9]]


def test_what_it_refuses():
    for wrong, says in (("wanted=0", "wanted must"), ("wanted=1.5", "wanted must"), ("failed=-1", "failed must")):
        refused(lambda wrong=wrong: of(f"ESL({wrong})"), BadParameter, says)
    refused(lambda: of("ESL(documents=6)"), BadParameter, "documents=6 of ESL is less than the 7 documents")
    refused(lambda: of("ESL@10"), BadParameter, "no parameter 'cutoff'")
    refused(lambda: of("Residual(measure='ESL')"), BadParameter, "follows a user model")
    refused(lambda: of("expected_search_length"), UnknownSpec, "Near: 'ESL'")
