"""Q-measure, compared with an example by hand, a loop and average precision, and its use through other frameworks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyterrier_cwla import evaluate
from pyterrier_cwla.errors import BadParameter
from tests.support import reference
from tests.support.messages import refused

pytestmark = pytest.mark.filterwarnings("ignore:no document of:pyterrier_cwla.errors.CWLAWarning")
QRELS = {"q": {"a": 2, "b": 1, "c": 1, "n": 0}}
RUN = {"q": {"x": 5.0, "a": 4.0, "b": 3.0, "n": 2.0, "c": 1.0}}
LISTS = st.lists(
    st.tuples(
        st.lists(st.sampled_from([None, -1, 0, 1, 2, 3]), min_size=1, max_size=9),
        st.lists(st.integers(-1, 3), max_size=5),
    ),
    min_size=1,
    max_size=4,
)


def of(*measures, qrels=QRELS, run=RUN):
    return evaluate(qrels, {"run": run}, list(measures)).loc["run"].tolist()


def test_by_hand():
    """Ideal gains 2, 3, 4, 4, 4; relevant documents at ranks 2, 3 and 5, with cumulative gains 2, 3 and 4."""
    whole = ((1 + 2) / (2 + 3) + (2 + 3) / (3 + 4) + (3 + 4) / (5 + 4)) / 3
    condensed = ((1 + 2) / (1 + 2) + (2 + 3) / (2 + 3) + (3 + 4) / (4 + 4)) / 3
    burges = ((1 + 3) / (2 + 4) + (2 + 4) / (3 + 5) + (3 + 5) / (5 + 5)) / 3
    found = of("QMeasure", "QMeasure(judged_only=True)", "QMeasure(gain='burges')")
    assert found == pytest.approx([whole, condensed, burges], abs=1e-15)
    assert of("QMeasure(normalise=min(k,R))@2") == of("QMeasure@2")


def test_the_example_of_ntcireval():
    """sample.rel and sample.res of NTCIREVAL (Sakai 2014), with gains 1:2:3 and the cutoff 2."""
    grades = dict(zip((f"d{i:02}" for i in range(1, 12)), (3, 3, 3, 2, 2, 2, 1, 1, 1, 1, 0), strict=True))
    run = {"q": {"d11": 4.0, "d01": 3.0, "d12": 2.0, "d04": 1.0}}
    names = ["QMeasure", "QMeasure@1000", "QMeasure@2", "QMeasure(beta=0)@2", "AP", "nDCG@2"]
    found = of(*names, qrels={"q": grades}, run=run)
    assert found == pytest.approx([0.0967, 0.0967, 0.25, 0.25, 0.1, 0.3869], abs=5e-5)


def data(lists):
    """Return judgments and a run per query, with grades of documents that were not retrieved."""
    qrels, run, judged = {}, {}, []
    for number, (ranking, others) in enumerate(lists):
        grades = {f"d{i}": grade for i, grade in enumerate(ranking) if grade is not None}
        grades |= {f"o{i}": grade for i, grade in enumerate(others)} | {"zero": 0}
        qrels[f"q{number}"] = grades
        run[f"q{number}"] = {f"d{i}": float(-i) for i in range(len(ranking))}
        judged.append(list(grades.values()))
    return qrels, run, judged


@given(
    LISTS,
    st.sampled_from([0, 0.1, 1, 10]),
    st.integers(1, 3),
    st.sampled_from([None, 1, 4, 20]),
    st.sampled_from(["min(k,R)", "R"]),
)
def test_against_the_loop(lists, beta, rel, k, normalise):
    qrels, run, judged = data(lists)
    at = "" if k is None else f"@{k}"
    own = f"beta={beta},rel={rel},normalise='{normalise}'"
    measures = [f"QMeasure({own}{gain}){at}" for gain in ("", ",gain='table({1: 0.3, 2: 0.7, 3: 5})'")]
    found = evaluate(qrels, run, measures, by_query=True)
    gains = (float, {1: 0.3, 2: 0.7, 3: 5}.get)
    for (ranking, _), grades, qid in zip(lists, judged, qrels, strict=True):
        expected = [reference.q_measure(ranking, grades, beta, gain, rel, k, normalise) for gain in gains]
        assert found.loc["run", qid].tolist() == pytest.approx(expected, abs=1e-12)
        assert all(0 <= value <= 1 + 1e-12 for value in expected)


def test_the_ideal_ranking_scores_1_at_any_cutoff():
    names = ["QMeasure", "QMeasure@1", "QMeasure@2", "QMeasure@9"]
    assert of(*names, run={"q": {"a": 3.0, "c": 2.0, "b": 1.0}}) == [1, 1, 1, 1]


def test_what_it_refuses():
    for wrong, says in (
        ("beta=-1", "beta must be a number in [0, inf)"),
        ("gain='linear'", "max_rel"),
        ("rel=0", "rel must"),
        ("normalise='k'", "normalise must be"),
    ):
        refused(lambda wrong=wrong: of(f"QMeasure({wrong})"), BadParameter, says)
    refused(lambda: of("Residual(measure='QMeasure')"), BadParameter, "follows a user model")
