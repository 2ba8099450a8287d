"""Readers with a budget of effort: worked numbers, identities, the ideal as a knapsack, and named measures."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pyterrier_cwla import CWLA, evaluate, explain_gains, score
from pyterrier_cwla.errors import BadParameter, NoFiniteValue
from pyterrier_cwla.measures.named import measure_of
from pyterrier_cwla.model.language import parse
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


@given(items(), BUDGETS, st.booleans(), st.sampled_from(["open", "stop", 3]))
def test_all_users_leave_or_have_nothing(listed, T, partial, end):
    """Σ L + (1 − V(1)) = 1, with the users who leave after the list."""
    (r, e), C = listed, f"budget({T}, partial={partial})"
    users = explain_gains(r, efforts=e, C=C, A="etg", end=end, unseen=1).table
    later = (users["V"] * users["C"]).iloc[-1]
    assert later == 0 or end == "open"
    assert users["L"].sum() + later + 1 - users["V"].iloc[0] == pytest.approx(1, abs=1e-12)


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


@given(gains(), st.integers(1, 30), st.booleans(), st.sampled_from(["open", "stop", 4]))
@pytest.mark.parametrize("A", ["etg", "erg", "avg", "per_item", "err", "max", "fin", "fgt(0.5)", "items", "effort"])
def test_with_unit_effort_it_is_precision_at_k(A, r, k, partial, end):
    found, known = (score(r, C=C, A=A, end=end) for C in (f"budget({k},{partial})", f"prec({k})"))
    assert found == pytest.approx(known, rel=1e-12, abs=1e-12)


@given(gains(), st.sampled_from(["rbp(0.7)", "prec(4)", "dcg(6)", "budget(3.5,True)", "inst(1)", "rr"]))
@pytest.mark.parametrize("end", ["open", "stop", 7])
def test_with_unit_effort_gain_per_item_is_gain_per_effort(end, r, C):
    assert score(r, C=C, A="per_item", end=end) == pytest.approx(score(r, C=C, A="avg", end=end), rel=1e-10, abs=1e-12)


@given(items(), st.integers(1, 60), st.booleans(), st.sampled_from([0.25, 1.0, 3.7]))
@pytest.mark.parametrize("A", ["etg", "erg", "avg", "per_item", "err", "fgt(0.5)", "items", "effort", "pe(0.4)"])
def test_unseen_items_are_items_without_gain(A, listed, T, partial, unseen):
    """At an open end, scores are those of the list with explicit items without gain."""
    r, e = listed
    assume(e[0] > 0 or A == "etg")  # otherwise some gain per effort is infinite
    further = int(T / unseen) + 2
    C = f"budget({T},{partial})"
    longer = score(r + [0] * further, efforts=e + [unseen] * further, C=C, A=A, end="stop")
    assert score(r, efforts=e, C=C, A=A, unseen=unseen) == pytest.approx(longer, rel=1e-9, abs=1e-11)


def test_more_unseen_items_than_sums_take_are_an_error_and_no_0():
    same = {"efforts": [2, 1, 4], "unseen": 1}
    assert score([1, 0, 1], C="budget(200000)", A="items", **same) == 199_996
    assert score([1, 0, 1], C="budget(2000)", A="avg", **same) == pytest.approx(2 / 2000, rel=1e-12)
    with pytest.raises(NoFiniteValue, match="give a greater unseen="):
        score([1, 0, 1], C="budget(200000)", A="avg", **same)


# ---- ideal rankings


@given(items(1, 6), BUDGETS, st.sampled_from(["etg", "smeared(9)"]), st.sampled_from(["open", "stop"]))
def test_the_ideal_is_exact_if_items_are_read_in_part(listed, T, A, end):
    """By falling gain per effort; brute force over all orders of the judged documents."""
    r, e = listed
    same = {"C": f"budget({T}, partial=True)", "A": A, "unseen": 1, "end": end}
    orders = [*itertools.permutations(range(len(r)))]
    values = score([[r[i] for i in o] for o in orders], efforts=[[e[i] for i in o] for o in orders], **same)
    shares = score([r], efforts=[e], norm="ideal", **same)
    first = score([r], efforts=[e], **same)
    assert shares[0] == pytest.approx(first[0] / values.max() if values.max() else 0, rel=1e-9, abs=1e-12)
    assert shares[0] <= 1 + 1e-12


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
    lengths = [{"query_id": "q", "doc_id": d, "score": s, "doc_length": WORDS[d]} for d, s in RUN["q"].items()]
    import pandas as pd

    return evaluate(QRELS, pd.DataFrame(lengths), texts).iloc[0].tolist()


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


def test_a_reader_of_whole_documents_gains_less_than_one_of_parts():
    rng = np.random.default_rng(1)
    r, e = rng.random((20, 12)), rng.uniform(1, 9, (20, 12))
    whole, part, uniform = (
        score(r, efforts=e, C=C, A="etg", end="stop") for C in ("budget(20)", "budget(20,True)", "patience(20)")
    )
    assert (part > whole).any()
    assert ((part >= whole) & (whole >= uniform)).all()


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


def test_the_notation():
    assert str(parse("budget(4000, partial=False)", "continuation")) == "budget(4000)"
    assert str(CWLA(C="budget(T=4000, partial=True)", A="etg", max_rel=1)["C"]) == "budget(4000,True)"
