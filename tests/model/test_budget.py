"""Readers with a budget of effort: worked numbers, shares of items, the ideal as a knapsack, and named measures."""

import math

import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pyterrier_cwla import evaluate, explain_gains, score
from pyterrier_cwla.errors import BadParameter, NoFiniteValue
from pyterrier_cwla.measures.named import measure_of
from tests.support.strategies import gains, numbers

BUDGETS = st.one_of(st.integers(1, 30), numbers(0.001, 40))
EFFORTS = st.one_of(st.sampled_from([0.0, 0.3, 1.0, 2.0, 50.0]), numbers(0, 12))
MEASURES = [f"{name}(T={{}},{{}})" for name in ("GainWithin", "PrecisionWithin", "RecallWithin", "GainPerCost")]


@st.composite
def items(draw, least=1, most=8):
    """Return gains and efforts of the items of one list."""
    r = draw(gains(most, least))
    return r, draw(st.lists(EFFORTS, min_size=len(r), max_size=len(r)))


def V(r, e, T, partial=False):
    said = explain_gains(r, C=f"budget({T}, partial={partial})", A="etg", efforts=e, end="stop")
    return said.table["V"].to_numpy(), said


def test_worked_numbers():
    """Efforts 2, 1, 4 and a budget of 5: two items fit, and half of the third."""
    r, e = [1, 0, 0.5], [2, 1, 4]
    same = {"efforts": e, "end": "stop"}
    assert V(r, e, 5)[0].tolist() == [1, 1, 0]
    assert V(r, e, 5, True)[0].tolist() == [1, 1, 0.5]
    found = {A: score(r, C="budget(5)", A=A, **same) for A in ("etg", "erg", "avg", "per_item", "max", "err")}
    assert found == pytest.approx({"etg": 1, "erg": 1 / 3, "avg": 1 / 3, "per_item": 1 / 2, "max": 1, "err": 1 / 3})
    found = {A: score(r, C="budget(5, True)", A=A, **same) for A in ("etg", "erg", "avg", "per_item")}
    shares = {"etg": 1.25, "erg": 1.25 / 5, "avg": (1 / 3 + 1.5 / 7) / 2, "per_item": (1 / 2 + 1.5 / 3) / 2}
    assert found == pytest.approx(shares)


@pytest.mark.parametrize("partial", [False, True])
def test_what_adds_up_to_the_budget_fits(partial):
    """Sums are rounded: 0.3 + … (21 times) is 6.299999999999998 or 6.300000000000002."""
    for e in ([0.3] * 21, [2.1, *[0.3] * 14], [*[0.3] * 14, 2.1]):
        r = [1] * len(e)
        assert score(r, C=f"budget(6.3, partial={partial})", A="items", efforts=e, end="stop") == len(e)
    assert score([1] * 30, C=f"budget(6.3, {partial})", A="items", efforts=[0.3] * 30, unseen=0.3) == pytest.approx(21)
    assert score([], C=f"budget(6.3, {partial})", A="items", efforts=[], unseen=0.3) == pytest.approx(21, rel=1e-14)


def test_items_without_effort_after_a_full_budget_are_read():
    for partial in (False, True):
        assert V([1, 1, 1, 1], [3, 0, 2, 0], 3, partial)[0].tolist() == [1, 1, 0, 0]
        assert V([1, 1], [4, 0], 3, partial)[0].tolist() == [0.75 * partial, 0]


@given(items(), BUDGETS, st.sampled_from(["etg", "erg"]))
def test_a_share_of_the_users_is_a_share_of_the_item(listed, T, A):
    """If all users read the part of the last item that fits, for this part of its gain, the score is the same."""
    r, e = listed
    shares, said = V(r, e, T, True)
    assume(said.expected_effort > 0)
    cut = [share * gain for share, gain in zip(shares, r, strict=True)]
    part = [share * cost for share, cost in zip(shares, e, strict=True)]
    whole = score(cut, efforts=part, C=f"prec({len(r)})", A=A, end="stop")
    assert score(r, efforts=e, C=f"budget({T}, True)", A=A, end="stop") == pytest.approx(whole, rel=1e-9, abs=1e-9)
    assert said.expected_effort == pytest.approx(min(T, math.fsum(e)), rel=1e-9)


def test_more_unseen_items_than_sums_take_are_an_error_and_no_0():
    same = {"efforts": [2, 1, 4], "unseen": 1}
    assert score([1, 0, 1], C="budget(200000)", A="items", **same) == 199_996
    assert score([1, 0, 1], C="budget(2000)", A="avg", **same) == pytest.approx(2 / 2000, rel=1e-12)
    with pytest.raises(NoFiniteValue, match="give a greater unseen="):
        score([1, 0, 1], C="budget(200000)", A="avg", **same)


def test_other_ideals_are_by_falling_gain():
    """The best choice of whole documents is a knapsack problem, and a cutoff is one with parts, too."""
    r, e = [[2, 2, 3]], [[1, 1, 2]]
    for C, more in (("budget(2)", {}), ("budget(2,True)", {"end": 2})):
        assert score(r, efforts=e, C=C, A="etg", norm="ideal", unseen=1, **more).tolist() == [4 / 3]
    assert score(r, efforts=e, C="budget(2,True)", A="etg", norm="ideal", unseen=1).tolist() == [1]


# ---- measures


QRELS = {"q": {"a": 2, "b": 0, "c": 1, "d": 1}}
RUN = {"q": {"b": 4.0, "a": 3.0, "x": 2.0, "c": 1.0}}
WORDS = {"a": 1500, "b": 500, "c": 3000, "d": 100, "x": 1000}


def measured(T, effort="effort='reading'"):
    texts = [text.format(T, effort) for text in MEASURES]
    rows = [{"query_id": "q", "doc_id": d, "score": s, "doc_length": WORDS[d]} for d, s in RUN["q"].items()]
    return evaluate(QRELS, pd.DataFrame(rows), texts).iloc[0].tolist()


def test_measures_by_hand():
    """b, a and x have 3,000 words, and c has as many again; 3 documents are relevant."""
    assert measured(4000) == pytest.approx([1, 1 / 3, 1 / 3, 1 / 3000])
    assert measured(3000) == measured(4000)
    assert measured(2000) == pytest.approx([1, 1 / 2, 1 / 3, 1 / 2000])
    assert measured(6000) == pytest.approx([2, 2 / 4, 2 / 3, 2 / 6000])
    assert measured(499) == [0, 0, 0, 0]
    graded = measured(4000, "effort='reading',gain='linear',max_rel=2")
    assert graded == pytest.approx([1, 1 / 3, 1 / 2, 1 / 3000])


def test_with_unit_effort_they_are_precision_and_recall():
    found = measured(3, "effort='unit'")
    known = evaluate(QRELS, RUN, ["P@3", "R@3"]).iloc[0].tolist()
    assert found[1:3] == pytest.approx(known)
    assert found[3] == found[1]


def test_an_explanation_where_no_document_fits():
    said = explain_gains([1, 0.5], C="budget(20)", A="per_item", efforts=[40, 40], end="stop")
    assert "gains 0.000" in repr(said)
    assert "share of attention" not in repr(said)  # of nobody


def test_gain_per_cost_of_documents_that_cost_nothing_names_the_cause():
    costs = {"a": 0, "b": 0, "x": 0, "c": 50}
    with pytest.raises(NoFiniteValue, match=r"only documents that cost nothing: give these a cost above 0, or choose"):
        evaluate(QRELS, RUN, [measure_of("GainPerCost(T=40)")(costs=costs)])


def test_a_grade_that_is_relevant_is_chosen_by_the_gain():
    with pytest.raises(BadParameter, match=r"GainWithin has no parameter 'rel'\. Write gain='binary\(2\)'\."):
        measure_of("GainWithin(T=2000,rel=2)")
