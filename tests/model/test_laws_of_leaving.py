"""Users who leave by their effort: laws against distributions of scipy and closed forms, and readers with a budget."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import special, stats

from pyterrier_cwla import CWLA, evaluate, explain_gains, score
from pyterrier_cwla.behaviour.simulation.simulator import simulate
from pyterrier_cwla.errors import BadParameter, NoFiniteValue
from pyterrier_cwla.measures.named import measure_of
from tests.support.messages import refused
from tests.support.strategies import numbers

#: Distributions of the time of leaving in scipy.
LAWS = {
    "weibull": stats.weibull_min,
    "log_logistic": stats.fisk,
    "log_normal": stats.lognorm,
    "hyperbolic": stats.lomax,
}
POSITIVE = st.floats(0.2, 5)
EFFORTS = st.lists(st.sampled_from([0.0, 0.5, 1.0, 7.0, 40.0]), min_size=1, max_size=6)


@pytest.mark.parametrize("law", LAWS)
@given(shape=POSITIVE, scale=st.floats(0.1, 100), efforts=EFFORTS)
def test_item_i_is_seen_by_those_who_stay_longer(law, shape, scale, efforts):
    seen = explain_gains([1.0] * len(efforts), efforts=efforts, C=f"{law}({shape},{scale})", A="etg", unseen=1)
    spent = np.concatenate([[0.0], np.cumsum(efforts)])
    S = LAWS[law](shape, scale=scale).sf(spent)
    np.testing.assert_allclose(seen.table["V"], S[:-1], rtol=1e-9, atol=1e-12)
    assert seen.score == pytest.approx(S[:-1].sum(), rel=1e-9)
    found = explain_gains([1.0] * len(efforts), efforts=efforts, C=f"{law}({shape},{scale})", A="fin")  # any unseen=
    assert found.score == pytest.approx(1 - S[-1], rel=1e-9, abs=1e-12)


def hyperbolic_tail(shape, scale, unseen):
    """Σ_{j≥0} (1 + j·e/s)^(−c) = (e/s)^(−c)·ζ(c, s/e), with Hurwitz' zeta function."""
    return (unseen / scale) ** -shape * special.zeta(shape, scale / unseen)


def log_logistic_tail(shape, scale, unseen):
    """20,000 ranks, and after them (by Euler and Maclaurin) ∫S/e + S/2, with an incomplete beta function as integral."""
    S = 1 / (1 + (np.arange(20_001) * unseen / scale) ** shape)
    a, b = 1 - 1 / shape, 1 / shape
    rest = scale / shape * special.beta(a, b) * special.betainc(a, b, S[-1]) / unseen + S[-1] / 2
    return S[:-1].sum() + rest


@pytest.mark.every_case
@pytest.mark.parametrize("tail", [hyperbolic_tail, log_logistic_tail])
@pytest.mark.parametrize(("shape", "scale", "unseen"), [(1.05, 30, 1), (1.2, 30, 7), (2.5, 300, 0.01), (3, 50, 2)])
def test_tails_of_laws_are_known_functions(tail, shape, scale, unseen):
    C = f"{tail.__name__.removesuffix('_tail')}({shape},{scale})"
    found = score([1], efforts=[unseen], C=C, A="items", unseen=unseen)
    assert found == pytest.approx(tail(shape, scale, unseen), rel=1e-9)


@pytest.mark.parametrize("C", ["hyperbolic(1,30)", "hyperbolic(0.5,30)", "log_logistic(1,30)", "log_logistic(0.7,30)"])
def test_no_gain_per_item_without_a_finite_number_of_items(C):
    for A in ("erg", "items", "effort"):
        refused(lambda A=A: score([1, 0], C=C, A=A), NoFiniteValue, "infinite V⁺")
    for A in ("etg", "avg", "err", "max"):
        assert 0 < score([1, 0], C=C, A=A) <= 1
    assert score([1, 0], C=C, A="erg", end="stop") > 0


@pytest.mark.parametrize(
    "C", ["log_normal(3.2,10)", "log_normal(6,10)", "weibull(0.1,5)", "weibull(0.05,5)", "hyperbolic(1.001,3)"]
)
def test_a_finite_number_of_items_is_not_called_infinite(C):
    """V⁺ = 1,673.9 for the first: the mean is scale·exp(shape²/2)."""
    words = "too slowly to sum V⁺, which may be finite: give ", "end='stop'"
    for A in ("erg", "items", "effort"):
        refused(lambda A=A: score([1], C=C, A=A), NoFiniteValue, *words)
    assert np.isnan(explain_gains([1], C=C, A="etg").expected_items)


@pytest.mark.parametrize("law", LAWS)
def test_parameters_are_checked(law):
    for values in ("0,1", "1,0", "-1,2"):
        with pytest.raises(BadParameter, match=r"shape|scale"):
            score([1], C=f"{law}({values})", A="etg")
    refused(lambda: score([1], C=f"product(rr,{law}(1,2))", A="etg"), BadParameter, "cannot be a factor of a product")


QRELS, RUN = {"q": {"a": 1, "b": 0, "c": 2}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}


@pytest.mark.parametrize("C", ["hyperbolic(1.3,60)", "log_logistic(1.2,60)", "weibull(0.3,60)", "log_normal(2,60)"])
def test_simulated_users_leave_by_the_law_however_late(C):
    """The time of users is the first end of an item after the time of leaving, also after thousands of items."""
    name, parameters = C.split("(")[0], eval(C[C.index("(") :])
    measure = CWLA(C=C, A="etg", gain="linear", effort="by_grade({0:2,1:5,2:9})", max_rel=2)
    users = simulate(QRELS, RUN, measure, users=4000, sampling="stratified", keep=True, progress=False).users()
    time = users["time"].to_numpy()
    assert np.isfinite(time).all()
    for t in (16.0, 100.0, 1e4, 1e5):
        expected = LAWS[name](parameters[0], scale=parameters[1]).sf(t)
        assert (time > t).mean() == pytest.approx(expected, abs=2e-3)
    assert time.max() > 4e4


@pytest.mark.parametrize("C", ["log_logistic(0.8,3)", "hyperbolic(1,3)"])
@pytest.mark.parametrize("unseen", [0, 1e-3, 2])
def test_infinite_mean_times_are_errors_for_unseen_items(C, unseen):
    for A in ("erg", "effort"):
        refused(lambda A=A: score([1, 0, 1], C=C, A=A, efforts=[1, 2, 1], unseen=unseen), NoFiniteValue)


# ---- budgets


BUDGETS = st.one_of(st.integers(1, 30), numbers(0.001, 40))
COSTS = st.one_of(st.sampled_from([0.0, 0.3, 1.0, 2.0, 50.0]), numbers(0, 12))
MEASURES = [f"{name}(T={{}},{{}})" for name in ("GainWithin", "PrecisionWithin", "RecallWithin", "GainPerCost")]


def V(r, e, T, partial=False):
    said = explain_gains(r, C=f"budget({T}, partial={partial})", A="etg", efforts=e, end="stop")
    return said.table["V"].to_numpy(), said


@pytest.mark.parametrize("partial", [False, True])
def test_what_adds_up_to_the_budget_fits(partial):
    """Sums are rounded: 0.3 + … (21 times) is 6.299999999999998 or 6.300000000000002."""
    for e in ([0.3] * 21, [2.1, *[0.3] * 14], [*[0.3] * 14, 2.1]):
        r = [1] * len(e)
        assert score(r, C=f"budget(6.3, partial={partial})", A="items", efforts=e, end="stop") == len(e)
    assert score([1] * 30, C=f"budget(6.3, {partial})", A="items", efforts=[0.3] * 30, unseen=0.3) == pytest.approx(21)
    assert score([], C=f"budget(6.3, {partial})", A="items", efforts=[], unseen=0.3) == pytest.approx(21, rel=1e-14)


def test_shares_of_readers():
    """With efforts 2, 1, 4 and a budget of 5, two items fit, and half of the third; items without effort fit also later."""
    assert V([1, 0, 0.5], [2, 1, 4], 5)[0].tolist() == [1, 1, 0]
    assert V([1, 0, 0.5], [2, 1, 4], 5, True)[0].tolist() == [1, 1, 0.5]
    for partial in (False, True):
        assert V([1, 1, 1, 1], [3, 0, 2, 0], 3, partial)[0].tolist() == [1, 1, 0, 0]
        assert V([1, 1], [4, 0], 3, partial)[0].tolist() == [0.75 * partial, 0]


@given(st.lists(st.tuples(numbers(0, 1), COSTS), min_size=1, max_size=8), BUDGETS, st.sampled_from(["etg", "erg"]))
def test_a_share_of_the_users_is_a_share_of_the_item(listed, T, A):
    """If all users read the part of the last item that fits, for this part of its gain, the score is the same."""
    r, e = zip(*listed)
    shares, said = V(r, e, T, True)
    assume(said.expected_effort > 0)
    cut = [share * gain for share, gain in zip(shares, r, strict=True)]
    part = [share * cost for share, cost in zip(shares, e, strict=True)]
    whole = score(cut, efforts=part, C=f"prec({len(r)})", A=A, end="stop")
    assert score(r, efforts=e, C=f"budget({T}, True)", A=A, end="stop") == pytest.approx(whole, rel=1e-9, abs=1e-9)
    assert said.expected_effort == pytest.approx(min(T, math.fsum(e)), rel=1e-9)


def test_more_unseen_items_than_sums_take_are_refused():
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


QRELS_OF_4 = {"q": {"a": 2, "b": 0, "c": 1, "d": 1}}
RUN_OF_4 = {"q": {"b": 4.0, "a": 3.0, "x": 2.0, "c": 1.0}}
WORDS = {"a": 1500, "b": 500, "c": 3000, "d": 100, "x": 1000}


def measured(T, effort="effort='reading'"):
    texts = [text.format(T, effort) for text in MEASURES]
    rows = [{"query_id": "q", "doc_id": d, "score": s, "doc_length": WORDS[d]} for d, s in RUN_OF_4["q"].items()]
    return evaluate(QRELS_OF_4, pd.DataFrame(rows), texts).iloc[0].tolist()


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
    known = evaluate(QRELS_OF_4, RUN_OF_4, ["P@3", "R@3"]).iloc[0].tolist()
    assert found[1:3] == pytest.approx(known)
    assert found[3] == found[1]


def test_an_explanation_where_no_document_fits():
    said = explain_gains([1, 0.5], C="budget(20)", A="per_item", efforts=[40, 40], end="stop")
    assert "gains 0.000" in repr(said)
    assert "share of attention" not in repr(said)  # of nobody


def test_errors_of_measures_name_the_cause():
    costs = {"a": 0, "b": 0, "x": 0, "c": 50}
    with pytest.raises(NoFiniteValue, match=r"only documents that cost nothing: give these a cost above 0, or choose"):
        evaluate(QRELS_OF_4, RUN_OF_4, [measure_of("GainPerCost(T=40)")(costs=costs)])
    with pytest.raises(BadParameter, match=r"GainWithin has no parameter 'rel'\. Write gain='binary\(2\)'\."):
        measure_of("GainWithin(T=2000,rel=2)")
