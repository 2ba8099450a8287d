"""Unseen items without cost: scores are the limit of ever smaller costs if effort makes users leave."""

from itertools import pairwise

import mpmath
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
from pyterrier_cwla.errors import BadParameter, NoFiniteValue
from pyterrier_cwla.evaluation.arrays import residual
from pyterrier_cwla.learning.lambdamart import LambdaMART

LENGTHS = {f"d{n}": 100 * n for n in range(8)}
QRELS = {"q": {"d1": 1, "d3": 2, "d4": 0, "d6": 1}}
RUN = {"q": {"d1": 6.0, "d2": 5.0, "d3": 4.0, "d4": 3.0}}


@continuation(gives_survival=True)
def own_weibull(view, shape: float, scale: float):
    return np.exp(-((view.E / scale) ** shape))


@continuation(gives_survival=True)
def budget(view, T: float):
    return (view.E <= T).astype(float)


@continuation(gives_survival=True)
def power_law(view, T: float, p: float):
    return (T / (T + view.E)) ** p


@continuation
def own_decay(view, h: float):
    return 2 ** (-view.e / h)


@continuation
def ever_faster(view, h: float):
    return np.exp(-view.e * (h + view.E) / h**2)


@continuation
def until(view, T: float):
    return np.where(view.E < T, 1 / (1 + view.e / 9), 0.0)


@aggregation
def second_thoughts(view, share: float):
    return share * view.best + (1 - share) * view.G / view.i


@aggregation
def rushed(view):
    return view.G * np.exp(-view.E / 50)


def value(measure, qrels=QRELS, run=RUN):
    return evaluate(qrels, run, [measure]).iloc[0, 0]


# ---- time-biased gain and related measures


@pytest.mark.parametrize("options", [{}, {"credit": "smeared"}, {"cutoff": 2}, {"norm": "ideal"}])
def test_time_biased_gain_is_the_same_whatever_unseen_documents_cost(options):
    """Smucker and Clarke (2012), Eq. 3: Σ g_k·D(T(k)) does not depend on the lengths of unseen documents."""
    values = {value(TBG(lengths=LENGTHS, **options, **unseen)) for unseen in ({}, {"unseen": 0.001}, {"unseen": 0})}
    assert len(values) == 1
    if not options:
        seconds = [4.4 + p * (0.018 * words + 7.8) for p, words in ((0.64, 100), (0.39, 200))]
        expected = 0.64 * 0.77 * (1 + 2 ** (-sum(seconds) / 224))
        assert values.pop() == pytest.approx(expected, rel=1e-14)


def test_graded_time_biased_gain_where_only_clicks_take_time():
    parts = {"summary_seconds": 0, "p_click": {0: 0, 1: 0.5, 2: 0.55}, "seconds": {0: 0, 1: 37.1, 2: 60.3}}
    measure = GradedTBG(**parts)
    p_save = measure.metric.gains(np.array([2.0]))[0]
    assert value(measure, {"q": {"a": 2, "b": 0}}, {"q": {"a": 2.0, "b": 1.0}}) == pytest.approx(p_save, rel=1e-14)


def test_the_last_unseen_items_cost_what_those_without_gain_cost():
    assert score([1, 0], C="decay(3)", A="etg", effort="by_grade({0:0,1:1})") == 1


# ---- every aggregation, as the limit of small costs

LAWS = [
    *("decay(9)", "patience(30)", "product(rr,decay(9))", "product(ap2,decay(9))", "product(decay(20),carterette3(0.3))"),
    *("weibull(0.7,20)", "weibull(1.5,20)", "log_logistic(2.5,20)", "log_normal(0.8,20)", "hyperbolic(2.5,20)"),
    *("own_weibull(0.7,20)", "own_weibull(1.5,20)", "power_law(10,2.5)", "own_decay(9)", "ever_faster(5)"),
]  # fmt: skip
FELT = ["etg", "erg", "err", "avg", "max", "fin", "fgt(0.5)", "fgt(1)", "pe(0.3)", "effort", "utility(log2)", "smeared(9)",
        "second_thoughts(0.3)", "rushed"]  # fmt: skip


def of_small_costs(of):
    """Return the limit for cost 0, extrapolated from four costs, each half of the previous one."""
    values = [of(unseen) for unseen in (0.04, 0.02, 0.01, 0.005)]
    for order in (1, 2, 3):
        values = [b + (b - a) / (2**order - 1) for a, b in pairwise(values)]
    return values[0]


def at_small_cost(rankings, C, A, unseen):
    """Return the score with an open end, or with explicit items where V decreases too fast for the open end."""
    if C != "ever_faster(5)":
        return score(**rankings, C=C, A=A, unseen=unseen)
    more = int(40 / unseen)
    gains, efforts = (
        [[*row, *[item] * more] for row in rankings[name]] for name, item in (("gains", 0), ("efforts", unseen))
    )
    return score(gains, efforts=efforts, C=C, A=A, end="stop")


@pytest.mark.slow
@pytest.mark.parametrize("C", LAWS)
def test_scores_are_limits(C):
    rankings = {
        "gains": [[0.5, 0, 0.25], [1, 0], [0, 0.75, 0, 0, 0.5]],
        "efforts": [[1, 2, 0.5], [0.5, 0], [3, 1, 1, 0, 2]],
    }
    for A in FELT:
        if C in ("patience(30)", "ever_faster(5)") and A == "second_thoughts(0.3)":
            continue  # not smooth at small costs
        exact = score(**rankings, C=C, A=A, unseen=0)
        limit = of_small_costs(lambda unseen, A=A: at_small_cost(rankings, C, A, unseen))
        if A.startswith("second"):  # G/i converges to 0 like u·log u
            limit = score(**rankings, C=C, A=A, unseen=1e-6)
        assert exact == pytest.approx(limit, rel=3e-5, abs=1e-6), A
        for n in range(3):
            one = score(rankings["gains"][n], efforts=rankings["efforts"][n], C=C, A=A, unseen=0)
            assert one == pytest.approx(exact[n], rel=1e-13), A


def test_averages_are_integrals():
    """Under decay ∫ G/(E+t)·λe^{−λt} dt = G·λ·e^{λE}·E₁(λE). With remaining patience T, t is uniform."""
    rate = mpmath.log(2) / 9
    beyond = rate * mpmath.exp(rate * 3) * mpmath.e1(rate * 3)
    for A in ("avg", "err"):
        expected = (1 - 2 ** (-3 / 9)) / 3 + 2 ** (-3 / 9) * float(beyond)
        assert score([1], efforts=[3], C="decay(9)", A=A, unseen=0) == pytest.approx(expected, rel=1e-11)
        uniform = float(mpmath.log(30 / mpmath.mpf(3)) / 30)
        assert score([1], efforts=[3], C="patience(30)", A=A, unseen=0) == pytest.approx(uniform, rel=1e-11)
    weibull_tail = mpmath.quad(
        lambda t: mpmath.diff(lambda s: -mpmath.exp(-(((3 + s) / 20) ** 0.7)), t) / (3 + t), [0, 1, 10, 100, 1000, 5000]
    )
    assert score([1], efforts=[3], C="own_weibull(0.7,20)", A="avg", unseen=0) == pytest.approx(
        float(weibull_tail), rel=1e-9
    )
    assert score([1], efforts=[3], C="decay(9)", A="effort", unseen=0) == pytest.approx(
        3 * (1 - 2 ** (-3 / 9)) + 2 ** (-3 / 9) * (3 + 9 / np.log(2)), rel=1e-12
    )


@pytest.mark.parametrize("A", ["avg", "err", "effort", "rushed"])
def test_all_may_leave_at_once(A):
    """All users have the same budget and leave when it is spent."""
    felt = {"avg": 1 / 20, "err": 1 / 20, "effort": 20, "rushed": np.exp(-20 / 50)}[A]
    assert score([1], efforts=[3], C="budget(20)", A=A, unseen=0) == pytest.approx(felt, rel=1e-9)


def test_users_of_some_rankings_leave_at_an_item_and_of_others_after_infinitely_many():
    found = score([[1, 0], [1, 0]], efforts=[[1, 1], [1, 9]], C="until(5)", A="fgt(0.5)", unseen=0)
    goes_on = 1 / (1 + 1 / 9)
    assert found == pytest.approx([(1 - goes_on) * (1 + goes_on * 0.5), (1 - goes_on) + goes_on * 0.5], rel=1e-12)
    assert score([1, 0], efforts=[1, 1], C="until(5)", A="etg", unseen=0) == 1


@pytest.mark.parametrize(
    ("C", "A", "gains"),
    [("decay(3)", "items", [1]), ("patience(9)", "items", [0]), ("decay(3)", "err", []), ("own_weibull(0.7,20)", "items", [1]),
     ("power_law(10,0.9)", "effort", [1])],
)  # fmt: skip
def test_infinite_limits_are_errors(C, A, gains):
    with pytest.raises(NoFiniteValue, match=r"no effort: give unseen= above 0 .* end='stop', or a rank as end="):
        score(gains, efforts=[1.0] * len(gains), C=C, A=A, unseen=0)


def test_an_average_over_no_effort_is_an_error():
    with pytest.raises(NoFiniteValue, match="give unseen= above 0 "):
        score([1], efforts=[0], C="decay(3)", A="avg", unseen=0)


@pytest.mark.parametrize("C", ["ap2", "rr", "cascade(1)", "carterette3(0.5)", "bpm(5,10)"])
def test_whoever_leaves_for_other_reasons_never_leaves(C):
    """Under ap2, rr and cascade, users who never leave contribute 0 (docs/conventions.rst, Unseen items)."""
    same = {"efforts": [1, 1], "A": "etg", "judged": [0.5, 0.5]}
    assert score([0.5, 0], C=C, unseen=0, **same) == pytest.approx(
        score([0.5, 0], C=C, unseen=1, **same) * (C != "bpm(5,10)")
    )


# ---- metrics to which the same rule applies


@pytest.mark.slow
def test_residuals_are_limits():
    same = {"gains": [[0.5, None, 0.25]], "efforts": [[1, 2, 0.5]]}
    for C in ("decay(9)", "patience(30)", "own_weibull(0.7,20)"):
        for A in ("max", "fin", "pe(0.3)", "fgt(0.5)", "err"):
            limit = of_small_costs(lambda unseen, C=C, A=A: residual(**same, C=C, A=A, unseen=unseen))
            assert residual(**same, C=C, A=A, unseen=0) == pytest.approx(limit, rel=2e-3), (C, A)
        for A in ("etg", "erg", "avg", "items", "smeared(9)"):
            with pytest.raises(NoFiniteValue):
                residual(**same, C=C, A=A, unseen=0)


@pytest.mark.slow
def test_ideals_are_those_of_small_costs():
    for A in FELT:
        measure = {"C": "decay(40)", "A": A, "gain": "clicksave", "effort": "time", "lengths": LENGTHS, "norm": "ideal"}
        limit = of_small_costs(lambda unseen, measure=measure: value(CWLA(**measure, unseen=unseen)))
        assert value(CWLA(**measure, unseen=0)) == pytest.approx(limit, rel=2e-5), A


def test_an_unlimited_supply_of_documents_that_cost_nothing_is_infinite():
    free = {"summary_seconds": 0, "p_click": {0: 0, 1: 0.5}, "seconds": {0: 0, 1: 0}}
    with pytest.raises(NoFiniteValue):
        value(GradedTBG(**free, p_save={0: 0, 1: 0.5}, norm="unlimited"), {"q": {"d1": 1}})


def test_explanations_show_the_limit():
    explained = explain_gains([1, 0], efforts=[3, 1], C="decay(9)", A="etg", unseen=0)
    left = 2 ** (-4 / 9)
    assert explained.beyond == pytest.approx(left)
    assert explained.score == 1
    assert explained.expected_items == np.inf
    assert explained.expected_effort == pytest.approx(3 + 2 ** (-3 / 9) + left * 9 / np.log(2))
    assert explained.expected_total_gain == 1
    assert explained.table["discount"].tolist() == pytest.approx([1, 2 ** (-3 / 9)])
    averaged = explain_gains([1, 0], efforts=[3, 1], C="decay(9)", A="avg", unseen=0)
    gains = [score(gains, efforts=[3, 1], C="decay(9)", A="avg", unseen=0) for gains in ([1, 0], [0, 1])]
    assert averaged.table["discount"].tolist() == pytest.approx(gains)
    assert explain(QRELS, RUN, "q", TBG(lengths=LENGTHS, unseen=0)).score == value(TBG(lengths=LENGTHS))


@pytest.mark.parametrize("C", ["decay(9)", "patience(30)", "product(rr,decay(9))", "own_weibull(0.7,20)"])
@pytest.mark.parametrize("A", ["etg", "erg", "avg", "max", "effort"])
def test_swaps_change_scores_as_they_say(C, A):
    grades, words = [2, 0, 1, 0, 2], [40, 0, 300, 900, 40]
    for measured in ("by_grade({0:0,1:2,2:5})", "time(0,0.01,1)"):
        measure = CWLA(C=C, A=A, effort=measured, max_rel=2, unseen=0)
        found = LambdaMART(measure, doc_length=words).changes(grades, [5, 4, 3, 2, 1], [5])[0]
        lengths = {str(d): n for d, n in enumerate(words)}
        qrels = {"q": {str(d): grade for d, grade in enumerate(grades)}}
        for a, b in ((0, 1), (1, 4), (2, 3), (3, 4)):
            order = [0, 1, 2, 3, 4]
            order[a], order[b] = b, a
            before, after = (
                value(measure(lengths=lengths), qrels, {"q": {str(d): float(-rank) for rank, d in enumerate(o)}})
                for o in (range(5), order)
            )
            assert found[a, b] == pytest.approx(after - before, abs=1e-10), (measured, a, b)


# ---- continuations of users that are survival functions of time


@pytest.mark.parametrize(
    "C", ["own_weibull(0.7,323)", "budget(60)", "power_law(100,2)", "own_decay(60)", "ever_faster(60)"]
)
@pytest.mark.parametrize("A", ["etg", "max", "smeared(60)"])
def test_own_laws_of_time_need_no_cost_of_unseen_documents(C, A):
    parts = {"C": C, "A": A, "effort": "time", "gain": "clicksave", "lengths": LENGTHS}
    values = [
        value(CWLA(**parts, **unseen))
        for unseen in ({}, {"unseen": 0}, {"unseen": 0.001}, {"unseen": 1}, {"unseen": 12})
    ]
    assert values == pytest.approx([values[0]] * 5, rel=1e-9)


@pytest.mark.parametrize("C", ["own_weibull(0.7,323)", "own_weibull(2,323)", "own_weibull(2,1e6)", "own_decay(60)"])
@pytest.mark.parametrize("A", ["avg", "effort", "items", "fgt(0.5)"])
def test_where_the_cost_of_unseen_documents_matters_the_error_says_so(C, A):
    parts = {"C": C, "A": A, "effort": "time", "gain": "clicksave", "lengths": LENGTHS}
    with pytest.raises(NoFiniteValue, match="give unseen=, their effort"):
        value(CWLA(**parts))
    if C != "own_weibull(2,1e6)":  # not smooth at such small costs
        assert value(CWLA(**parts, unseen=12)) > 0


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


def test_efforts_that_are_given_have_to_be_given():
    with pytest.raises(BadParameter, match=r"effort='given' .* efforts=, a number for each item"):
        score([1, 0], effort="given", unseen=5, C="decay(3)", A="etg")
    with pytest.raises(BadParameter, match="write a function of documents with @effort"):
        value(CWLA(C="decay(3)", A="etg", effort="given", max_rel=2))
    given = score([1, 1], efforts=[3, 1], effort="given", C="decay(3)", A="etg")
    assert given == score([1, 1], efforts=[3, 1], C="decay(3)", A="etg") == 1.5


def test_an_effort_of_ones_own_may_cost_nothing_beyond_the_list():
    @effort
    def relevant_alone(documents):
        return 2.0 * (documents.grade > 0)

    assert score([1, 0, 1], C="decay(2)", A="etg", effort=relevant_alone) == 1.5
