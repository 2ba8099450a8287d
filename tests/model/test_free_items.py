"""Unseen items without cost: values that do not depend on this cost are computed, and others are errors."""

import numpy as np
import pytest

from pyterrier_cwla import (
    CWLA,
    TBG,
    GradedTBG,
    aggregation,
    continuation,
    effort,
    evaluate,
    explain,
    explain_gains,
    score,
)
from pyterrier_cwla.errors import NoFiniteValue
from pyterrier_cwla.learning.lambdamart import LambdaMART
from tests.support.messages import refused

LENGTHS = {f"d{n}": 100 * n for n in range(8)}
QRELS = {"q": {"d1": 1, "d3": 2, "d4": 0, "d6": 1}}
RUN = {"q": {"d1": 6.0, "d2": 5.0, "d3": 4.0, "d4": 3.0}}


@continuation(gives_survival=True, eventually_leaves=True)
def own_weibull(view, shape: float, scale: float):
    return np.exp(-((view.E / scale) ** shape))


@continuation(gives_survival=True, eventually_leaves=True)
def own_budget(view, T: float):
    return (view.E <= T).astype(float)


@continuation(gives_survival=True, eventually_leaves=True)
def power_law(view, T: float, p: float):
    return (T / (T + view.E)) ** p


@continuation(eventually_leaves=True)
def own_decay(view, h: float):
    return 2 ** (-view.e / h)


@continuation(eventually_leaves=True)
def ever_faster(view, h: float):
    return np.exp(-view.e * (h + view.E) / h**2)


@continuation(eventually_leaves=True)
def until(view, T: float):
    return np.where(view.E < T, 1 / (1 + view.e / 9), 0.0)


@aggregation
def second_thoughts(view, share: float):
    return share * view.best + (1 - share) * view.G / view.i


@aggregation
def best_or_last(view):
    return 0.7 * view.best + 0.3 * view.r


@aggregation
def rushed(view):
    return view.G * np.exp(-view.E / 50)


def value(measure, qrels=QRELS, run=RUN):
    return evaluate(qrels, run, [measure]).iloc[0, 0]


@pytest.mark.parametrize("options", [{}, {"credit": "smeared"}, {"cutoff": 2}, {"norm": "ideal"}])
def test_time_biased_gain_is_the_same_whatever_unseen_documents_cost(options):
    """Smucker and Clarke (2012), Eq. 3: Σ g_k·D(T(k)) does not depend on the lengths of unseen documents."""
    values = {value(TBG(lengths=LENGTHS, **options, **unseen)) for unseen in ({}, {"unseen": 0.001}, {"unseen": 0})}
    assert len(values) == 1
    if not options:
        seconds = [4.4 + p * (0.018 * words + 7.8) for p, words in ((0.64, 100), (0.39, 200))]
        assert values.pop() == pytest.approx(0.64 * 0.77 * (1 + 2 ** (-sum(seconds) / 224)), rel=1e-14)


def test_efforts_that_are_0_for_items_without_gain():
    @effort
    def relevant_alone(documents):
        return 2.0 * (documents.grade > 0)

    assert score([1, 0, 1], C="decay(2)", A="etg", effort=relevant_alone) == 1.5
    assert score([1, 0], C="decay(3)", A="etg", effort="by_grade({0:0,1:1})") == 1
    parts = {"summary_seconds": 0, "p_click": {0: 0, 1: 0.5, 2: 0.55}, "seconds": {0: 0, 1: 37.1, 2: 60.3}}
    measure = GradedTBG(**parts)
    p_save = measure.metric.gains(np.array([2.0]))[0]
    assert value(measure, {"q": {"a": 2, "b": 0}}, {"q": {"a": 2.0, "b": 1.0}}) == pytest.approx(p_save, rel=1e-14)


LAWS = """
    decay(9) patience(30) product(rr,decay(9)) product(ap2,decay(9)) product(decay(20),carterette3(0.3)) weibull(0.7,20)
    weibull(1.5,20) log_logistic(2.5,20) log_normal(0.8,20) hyperbolic(2.5,20) own_weibull(0.7,20) own_weibull(1.5,20)
    power_law(10,2.5) own_decay(9) ever_faster(5) own_budget(20) budget(20) budget(2.5,partial=True)
"""
STEADY = ["etg", "max", "fin", "pe(0.3)", "utility(log2)", "smeared(9)", "best_or_last"]
OTHERS = ["erg", "err", "avg", "per_item", "fgt(0.5)", "fgt(1)", "items", "effort", "second_thoughts(0.3)", "rushed"]
REFUSAL = r"depends on what unseen items cost.* give unseen= above 0 .* end='stop', or a rank as end="


@pytest.mark.slow
@pytest.mark.parametrize("C", LAWS.split())
def test_scores_are_those_of_any_cost_or_errors(C):
    gains = [[0.5, 0, 0.25], [1, 0], [0, 0.75, 0, 0, 0.5]]
    efforts = [[1, 2, 0.5], [0.5, 0], [3, 1, 1, 0, 2]]
    for A in STEADY:
        free = score(gains, efforts=efforts, C=C, A=A, unseen=0)
        last_gain = A in ("fin", "pe(0.3)", "best_or_last")  # the share who leave at the last item depends on the cost
        small = score(gains, efforts=efforts, C=C, A=A, unseen=1e-4 if last_gain else 1)
        assert free == pytest.approx(small, rel=1e-3 if last_gain else 1e-9), A
        for n in range(3):
            one = score(gains[n], efforts=efforts[n], C=C, A=A, unseen=0)
            assert one == pytest.approx(free[n], rel=1e-13), A
    for A in OTHERS:
        if C == "product(ap2,decay(9))":  # without unretrieved gain nobody goes on after the list
            assert np.isfinite(score(gains, efforts=efforts, C=C, A=A, unseen=0)).all()
            continue
        with pytest.raises(NoFiniteValue, match=REFUSAL):
            score(gains, efforts=efforts, C=C, A=A, unseen=0)
        for way_out in ({"unseen": 5}, {"unseen": 0, "end": 9}):
            assert np.isfinite(score(gains, efforts=efforts, C=C, A=A, **way_out)).all(), (A, way_out)


def test_a_list_without_gain_or_without_effort_is_no_exception():
    for gains, efforts in (([0], [3]), ([1], [0]), ([], [])):
        for A in ("avg", "erg", "effort"):
            with pytest.raises(NoFiniteValue, match=REFUSAL):
                score(gains, efforts=efforts, C="decay(3)", A=A, unseen=0)
    nobody_goes_on = {"efforts": [10, 99], "C": "patience(30)", "unseen": 0}
    assert score([1, 0], A="avg", **nobody_goes_on) == pytest.approx(2 / 30)


def test_users_leave_at_an_item_or_after_infinitely_many():
    found = score([[1, 0], [1, 0]], efforts=[[1, 1], [1, 9]], C="until(5)", A="pe(0.5)", unseen=0)
    goes_on = 1 / (1 + 1 / 9)
    assert found == pytest.approx([(1 - goes_on) + goes_on * 0.5] * 2, rel=1e-12)
    assert score([1, 0], efforts=[1, 1], C="until(5)", A="etg", unseen=0) == 1


def test_nobody_is_left_for_the_first_item():
    """Users whose patience ends before rank 1 score 0, whatever other rankings the batch contains."""
    expected = (1 - 10 / 300) / sum((1 - E / 300) * e for E, e in [(10, 10), *((10 + 7 * m, 7) for m in range(1, 42))])
    found = score([[1], [1]], efforts=[[300], [10]], C="patience(300)", A="erg", unseen=7)
    assert found == pytest.approx([0, expected], abs=1e-12)


def test_whoever_leaves_for_other_reasons_never_leaves():
    """Under ap2, rr and cascade, users who never leave contribute 0 (docs/conventions.rst, Unseen items)."""
    same = {"efforts": [1, 1], "judged": [0.5, 0.5]}
    for C in ("ap2", "rr", "cascade(1)", "carterette3(0.5)"):
        found, expected = (score([0.5, 0], C=C, A="etg", unseen=unseen, **same) for unseen in (0, 1))
        assert found == pytest.approx(expected)
    for A in ("etg", "erg", "avg", "max", "smeared(3)"):
        assert score([0.5, 0], C="bpm(5,10)", A=A, unseen=0, **same) == 0


@pytest.mark.parametrize(
    ("function", "parameters", "facts"), [(own_decay, [9], {}), (own_weibull, [0.7, 20], {"gives_survival": True})]
)
def test_whether_users_leave_own_functions_must_say(function, parameters, facts):
    C = continuation(**facts)(function.function)(*parameters)
    same = {"grades": [0.5, 0], "efforts": [1, 2], "C": C}
    for A in ("etg", "avg", "effort"):
        with pytest.raises(NoFiniteValue, match=r"unseen= above 0 .*, end='stop', .* state eventually_leaves=True"):
            score(**same, A=A, unseen=0)
        for way_out in ({"unseen": 5}, {"unseen": 0, "end": 9}, {"unseen": 0, "end": "stop"}):
            assert np.isfinite(score(**same, A=A, **way_out)), way_out


@pytest.mark.parametrize("A", STEADY)
def test_ideals_are_those_of_any_cost(A):
    measure = {"C": "decay(40)", "A": A, "gain": "clicksave", "effort": "time", "lengths": LENGTHS, "norm": "ideal"}
    assert value(CWLA(**measure, unseen=0)) == pytest.approx(value(CWLA(**measure, unseen=1)), rel=1e-12)


def test_an_unlimited_supply_of_documents_that_cost_nothing_is_infinite():
    free = {"summary_seconds": 0, "p_click": {0: 0, 1: 0.5}, "seconds": {0: 0, 1: 0}}
    refused(lambda: value(GradedTBG(**free, p_save={0: 0, 1: 0.5}, norm="unlimited"), {"q": {"d1": 1}}), NoFiniteValue)


def test_explanations_give_no_effort():
    explained = explain_gains([1, 0], efforts=[3, 1], C="decay(9)", A="etg", unseen=0)
    assert explained.beyond == pytest.approx(2 ** (-4 / 9))
    assert explained.score == 1
    assert explained.expected_items == np.inf
    assert np.isnan(explained.expected_effort)
    assert explained.expected_total_gain == 1
    assert explained.table["discount"].tolist() == pytest.approx([1, 2 ** (-3 / 9)])
    with pytest.raises(NoFiniteValue, match=REFUSAL):
        explain_gains([1, 0], efforts=[3, 1], C="decay(9)", A="avg", unseen=0)
    assert explain(QRELS, RUN, "q", TBG(lengths=LENGTHS, unseen=0)).score == value(TBG(lengths=LENGTHS))
    with np.errstate(all="raise"):  # no warnings of NumPy
        patient = explain_gains([1, 0], efforts=[3, 1], C="patience(9)", A="etg", unseen=0)
    assert patient.expected_items == np.inf


@pytest.mark.slow
@pytest.mark.parametrize("measured", ["by_grade({0:0,1:2,2:5})", "time(0,0.01,1)"])
@pytest.mark.parametrize("C", ["decay(9)", "budget(9,True)", "product(rr,decay(9))", "own_weibull(0.7,20)"])
def test_swaps_change_scores_as_they_say(C, measured):
    grades, words = [2, 0, 1, 0, 2], [40, 0, 300, 900, 40]
    qrels, falling = {"q": dict(zip("abcde", grades))}, (5.0, 4.0, 3.0, 2.0, 1.0)
    for A in ("etg", "max"):
        measure = CWLA(C=C, A=A, effort=measured, max_rel=2, unseen=0)
        found = LambdaMART(measure, doc_length=words).changes(grades, falling, [5])[0]
        bound = measure(lengths=dict(zip("abcde", words)))
        orders = ("abcde", "bacde", "aecdb", "abdce", "abced")
        before, *after = (value(bound, qrels, {"q": dict(zip(order, falling))}) for order in orders)
        assert found[[0, 1, 2, 3], [1, 4, 3, 4]] == pytest.approx(np.array(after) - before, abs=1e-10), A


@pytest.mark.parametrize("C", [
    "own_weibull(0.7,323)", "own_budget(60)", "budget(60)",
    "budget(60,True)", "power_law(100,2)", "own_decay(60)",
    "ever_faster(60)",
])  # fmt: skip
@pytest.mark.parametrize("A", ["etg", "max", "smeared(60)"])
def test_own_laws_of_time_need_no_cost_of_unseen_documents(C, A):
    """But for the aggregations of which the cost of unseen documents is a part."""
    parts = {"C": C, "A": A, "effort": "time", "gain": "clicksave", "lengths": LENGTHS}
    values = [value(CWLA(**parts)), *(value(CWLA(**parts, unseen=cost)) for cost in (0, 0.001, 1, 12))]
    assert values == pytest.approx([values[0]] * 5, rel=1e-9)
    for timed in ("avg", "effort", "items", "fgt(0.5)") if A == "etg" else ():
        measure = CWLA(**parts | {"A": timed})
        if (C, timed) == ("budget(60,True)", "effort"):
            assert value(measure) == pytest.approx(60)  # seconds: the whole budget is spent
        else:
            refused(lambda measure=measure: value(measure), NoFiniteValue, "give unseen=, their effort")
        assert value(measure(unseen=12)) > 0


@pytest.mark.parametrize("unseen", [0.02, 1, 30])
@pytest.mark.parametrize("A", ["avg", "effort", "items", "fgt(0.5)"])
def test_laws_that_fall_below_the_smallest_float_are_summed(A, unseen):
    """Sum over ranks, with L(i) = V(i) − V(i+1)."""
    i = np.arange(1.0, 400_000)
    E = np.where(i > 1, 3 + unseen * (i - 1), 3)
    V = np.exp(-((E / 20) ** 0.7))
    felt = {"avg": 1 / E, "effort": E, "items": i, "fgt(0.5)": 0.5 ** (i - 1)}[A]
    expected = ((V[:-1] - V[1:]) * felt[:-1]).sum()
    assert score([1], efforts=[3], C="own_weibull(0.7,20)", A=A, unseen=unseen) == pytest.approx(expected, rel=1e-8)
