"""Facts that decorators state about functions: names, types, and checks that they hold."""

import re
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyterrier_cwla import CWLA, aggregation, continuation, effort, evaluate, gain, score
from pyterrier_cwla.errors import BadParameter, NoFiniteValue, RefutedFact
from pyterrier_cwla.model import discount
from pyterrier_cwla.model.fact_trials import _TRIALS, check_facts, holds, refutation
from pyterrier_cwla.model.facts import STATED, Facts
from pyterrier_cwla.model.language import TABLES, Part, parse
from pyterrier_cwla.model.residuals import residual_is_a_bound
from tests.support import internal_facts
from tests.support.messages import refused
from tests.support.strategies import BUILT_IN, specs

pytestmark = pytest.mark.every_case

DECORATORS = {
    "continuation": continuation, "aggregation": aggregation, "gain": gain, "effort": effort, "discount": discount,
}  # fmt: skip


def some_function(view, k: int):
    return 1.0


@pytest.mark.every_case
@pytest.mark.parametrize(("kind", "stated", "says"), [
    ("aggregation", {"linaer": True}, "@aggregation(linaer=…) of 'some_function': no such fact. Near: 'linear_in_gain'."),
    ("continuation", {"constant_beyond_lst": True}, "Near: 'constant_beyond_list'"),
    ("continuation", {"credit_terms": True}, "no such fact."),
    ("continuation", {"jump_rank": lambda k: k}, "no such fact."),
    ("continuation", {"items_beyond": lambda view, V, k: V}, "All facts of users' functions: continuation: constant_beyond_list, "
     "ignores_zero_gain, eventually_leaves, gives_survival, last_rank; aggregation: linear_in_gain, monotone_in_gain, "
     "less_is_better; gain: known_grades, signed; effort: constant_from."),
    ("aggregation", {"affine_beyond_list": True}, "no such fact."),
    ("gain", {"unit_effort": True}, "no such fact. Available: known_grades, signed."),
    ("effort", {"constant_frm": True}, "Near: 'constant_from'"),
    ("discount", {"monotone_in_gain": True}, "no such fact. A discount has none."),
    ("aggregation", {"linear_in_gain": 1}, "must be True or False, not 1."),
    ("aggregation", {"linear_in_gain": None}, "must be True or False, not None."),
    ("continuation", {"constant_beyond_list": lambda k: True}, "must be True or False, not <function"),
    ("continuation", {"last_rank": 3}, "must be a function of (k), such as lambda k: …, not 3."),
    ("continuation", {"last_rank": lambda n: n}, "must be a function of (k): missing a required argument: 'n'."),
    ("gain", {"known_grades": [1, 2]}, "must be a function of (k), such as lambda k: …, not [1, 2]."),
])  # fmt: skip
def test_an_unknown_fact_or_one_of_a_wrong_type_is_refused(kind, stated, says):
    refused(lambda: DECORATORS[kind](**stated)(some_function), BadParameter, says)
    assert "some_function" not in TABLES[kind]


def spec_of(kind, function, facts, parameters=()):
    """Return a spec of a function with these facts that is in no table of functions."""
    return Part(kind, function, **facts)(*parameters)


def limited(view, k: int):
    return np.where(view.i < k, 0.9, 0.0)


def slower(view, k: int):
    return np.where(view.i < k, 0.9, 0.5)


def survives_with_gain(view):
    return np.where(view.found > 0, 0.5, 0.5 / view.i)


def survives_for_costs(view, k: int):
    return np.where(view.i <= k, 1.0, view.e > 1)


SOME_GAIN = r"For gains (?!0 0 0 0 0 0 0:).*"  # the first list that is tried has none

KIND = {fact: kind for kind, facts in STATED.items() for fact in facts}
#: A fact, a function for which it does not hold, the words of the error, and what is stated with which parameters.
LIES = [
    ("constant_beyond_list", lambda view: 1 / (1 + view.i), r"C\(8\) is 0.111111, and C\(9\) is 0.1\."),
    ("constant_beyond_list", lambda view: np.where(view.i < 500_000, 0.9, 0.5), r"C\(8\) is 0.9, and C\(1,000,007\) is 0.5"),
    ("constant_beyond_list", lambda view: 1 - view.r / (1 + view.i), r"where every item gains 1, C\(8\) is 0.888889, and"),
    ("constant_beyond_list", lambda view: np.where(view.at_least(1).total > view.at_least(1).found, 1 / view.i, 0.5), r"C\(9\) is 0.111"),
    ("constant_beyond_list", survives_with_gain, r"C\(8\) is 0.888889, and C\(9\) is 0.9\."),
    ("ignores_zero_gain", lambda view: 0.9 - view.r / 2, r"C\(1\) is 0.9 at an item without gain, and must be 1"),
    ("ignores_zero_gain", lambda view: np.where(view.i > 5000, 0.9, 1), r"C\(9,980\) is 0.9 at an item without gain"),
    ("eventually_leaves", lambda view: np.where(view.G > 2, 1, 0.5), r"about the rank 10\^3 C is 1, about 10\^6 1"),
    ("eventually_leaves", lambda view: 1 - 1 / (1 + view.i) ** 2, "10\\^3 C is 0.9999989.*, about 10.6 0.999999999999"),
    ("eventually_leaves", lambda view: np.where(view.found > 0, 1, 0.5), SOME_GAIN + r"about the rank 10\^3 C is 1, about 10\^6 1"),
    ("eventually_leaves", lambda view: np.exp(-1 / view.i**1.5), r"some users never leave"),
    ("eventually_leaves", survives_with_gain, SOME_GAIN + r"V\(1,007\) is 0.5, and V at 1e307 0.5"),
    ("gives_survival", lambda view: 1 - view.r, r"V\(4\) is 0.333333, and at the rank before it is 0; V never rises"),
    ("last_rank", slower, r"V\(6\) is 0.32805, and must be 0 after the last rank, 5", lambda k: k, 5),
    ("last_rank", limited, r"V\(5\) is 0.6561", lambda k: k - 1, 5),
    ("last_rank", lambda view: np.where(view.found > 0, 0.5, 0), SOME_GAIN + r"V\(4\) is 0.125", lambda: 3),
    ("last_rank", survives_for_costs, r"V\(11\) is 1, and must be 0 after the last rank, 10", lambda k: k, 10),
    ("last_rank", lambda view, k: (view.E < k).astype(float), r"efforts .* V\(6\) is 1", lambda k: k, 5),
    ("linear_in_gain", lambda view: view.G**2, r"A\(1\) of 0.5·x \+ 0.3·y is .*, and 0.5·A\(x\) \+ 0.3·A\(y\) is "),
    ("linear_in_gain", lambda view: view.best, "which does not hold"),
    ("linear_in_gain", lambda view: view.G / view.total, "which does not hold"),
    ("linear_in_gain", lambda view: view.at_least(1).G, "which does not hold"),
    ("monotone_in_gain", lambda view: view.total - view.G, r"A\(1\) is 7, and falls to .* when the gain of item 1, to 0"),
    ("monotone_in_gain", lambda view: np.where(view.r > 0, view.r, 0.5), "is 0.5, and falls to 0"),
    ("monotone_in_gain", lambda view: view.best / (1 + view.found), "and falls to"),
    ("monotone_in_gain", lambda view: np.where(view.i > 7, -view.r, view.G), "when the gain of unseen items rises"),
    ("known_grades", lambda grade: grade / 2, "Grade 3, which is not in known_grades, has gain 1.5, and the best of these 1", lambda: [1, 2]),
    ("constant_from", lambda documents: 1 / documents.rank, r"rank 6 costs 0.166667, and 0.2 at rank 5", lambda: 5),
    ("constant_from", lambda documents: np.maximum(documents.rank, 50), r"costs 109, and 50 at rank 9: they must", lambda: 9),
]  # fmt: skip
TRUTHS = [
    ("constant_beyond_list", lambda view: 0.9 - view.r / 2),
    ("constant_beyond_list", lambda view: 1 / (1 + view.G)),
    ("ignores_zero_gain", lambda view: np.where(view.r > 0, 0.5, 1)),
    ("eventually_leaves", lambda view: np.exp2(-view.e / 1e12)),
    ("eventually_leaves", lambda view: np.where(view.i % 10 == 0, 0.5, 1)),
    ("eventually_leaves", lambda view: np.where(view.i == 3, 0.0, 1.0)),
    ("eventually_leaves", lambda view: 1 - 1e-9 / view.i),
    ("eventually_leaves", lambda view: np.log(view.i + 1) / np.log(view.i + 2)),
    ("gives_survival", lambda view: 0.7 / view.i),
    ("gives_survival", lambda view: np.maximum(0, 1 - view.E / 40)),
    ("last_rank", limited, lambda k: k, 5),
    ("last_rank", limited, lambda k: k, 10**7),
    ("last_rank", limited, lambda k: None, 5),
    ("linear_in_gain", lambda view: view.G / view.E),
    ("linear_in_gain", lambda view: view.found - view.fading(0.5)),
    ("monotone_in_gain", lambda view: view.best / view.E),
    ("monotone_in_gain", lambda view: view.G**2),
    ("known_grades", lambda grade: np.minimum(grade, 2) / 2, lambda: [1, 2]),
    ("known_grades", lambda grade: grade, lambda: None),
    ("constant_from", lambda documents: np.minimum(documents.rank, 4), lambda: 4),
]


@pytest.mark.parametrize("lie", LIES)
def test_a_fact_that_does_not_hold_is_an_error(lie):
    """The error shows the function, the fact, and the values that differ, with the gains of the list."""
    fact, function, says, *stated = lie
    survival = {"gives_survival": True} if function in (survives_with_gain, survives_for_costs) else {}
    spec = spec_of(KIND[fact], function, {fact: stated[0] if stated else True} | survival, stated[1:])
    with pytest.raises(RefutedFact, match=says) as error:
        check_facts(spec)
    assert f"{str(spec)!r}: its decorator states {fact}, which does not hold." in str(error.value)
    assert str(error.value).endswith(f" Correct the function, or leave out {fact}=.")
    assert KIND[fact] in ("gain", "effort") or re.search(r"For gains( [\d.]+){7}", str(error.value))


@pytest.mark.parametrize("truth", TRUTHS)
def test_a_fact_that_holds_is_accepted(truth):
    fact, function, *stated = truth
    check_facts(spec_of(KIND[fact], function, {fact: stated[0] if stated else True}, stated[1:]))


def test_every_fact_of_users_is_tried():
    """Except less_is_better and signed, which state what is wanted."""
    tried = {fact for trials in _TRIALS.values() for fact in trials}
    assert tried == {fact for fact, *_ in LIES} == {fact for fact, *_ in TRUTHS}
    assert {fact for facts in STATED.values() for fact in facts} - tried == {"less_is_better", "signed"}


ELSEWHERE = ("gains_from_0", "unit_effort", "given_with_items")


def test_every_other_fact_is_checked_here():
    """Except of_parts, which returns other facts, unit, which is a text, and two that forbid a use.

    ``gains_from_0`` is checked in test_signed_gains; the scores of test_against_reference need the others.
    """
    internal = {fact.name for fact in fields(Facts)} - {fact for facts in STATED.values() for fact in facts}
    checked = {fact for checks in internal_facts.CHECKS.values() for fact in checks}
    assert internal - checked == {*ELSEWHERE, "of_parts", "gains_up_to_1", "unit"}
    assert checked <= internal


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in _TRIALS for name in BUILT_IN[kind]])
@given(data=st.data())
def test_the_facts_of_built_in_functions_hold(kind, name, data):
    spec = data.draw(specs(kind, (name,)))
    for fact in _TRIALS[kind]:
        assert refutation(spec.part, spec, fact) == "", fact
    for fact in internal_facts.CHECKS.get(kind, ()):
        assert not internal_facts.is_wrong(spec, fact), fact


@pytest.mark.parametrize("text", [
    "rbp(0.999999999)", "decay(1e13)", "patience(1e9)",
    "budget(1e9)", "budget(1e9,partial=True)", "prec(9007199254740993)",
    "dcg(100000000)", "inst(1e6)",
])  # fmt: skip
def test_the_facts_of_extreme_parameters_hold(text):
    spec = parse(text, "continuation")
    assert [fact for fact in _TRIALS["continuation"] if refutation(spec.part, spec, fact)] == []
    assert [fact for fact in internal_facts.CHECKS["continuation"] if internal_facts.is_wrong(spec, fact)] == []


@pytest.mark.parametrize(("kind", "text", "fact", "wrong"), [
    ("continuation", "insq(1)", "items_beyond", lambda view, V, T: 3 * V),
    ("continuation", "insq(1)", "items_between", lambda view, m, T: (0.5**m, 2 * (1 - 0.5**m))),
    ("continuation", "rr", "vanishes", True),
    ("aggregation", "avg", "affine_beyond_list", True),
    ("aggregation", "fin", "constant_without_gain", True),
    ("aggregation", "etg", "credit_terms", lambda i, r, e, C: (1 / i, r)),
    ("aggregation", "etg", "credit_terms", lambda i, r, e, C: (1.0, (1 - C) * np.cumsum(r, axis=1))),
    ("continuation", "decay(60)", "loss", lambda half_life: np.sqrt),
    ("continuation", "budget(60)", "loss", lambda T, partial: lambda effort: effort),
    ("continuation", "budget(60)", "items_beyond", lambda view, V, T, partial: 3 * V),
    ("continuation", "inst(1)", "satisfied_by_gain", True),
    ("aggregation", "utility(table(0.5,1))", "weights_fall", lambda phi: True),
    ("aggregation", "fgt(0.5)", "weights_fall", lambda delta: True),
])  # fmt: skip
def test_wrong_internal_facts_are_found(kind, text, fact, wrong):
    spec = parse(text, kind)
    part = Part(kind, spec.part.function, **{**spec.part.facts.stated, fact: wrong})
    assert internal_facts.is_wrong(part(**dict(spec.values)), fact)


@pytest.mark.slow
def test_a_wrong_fact_gives_no_wrong_score():
    """Without the check, these scores were 1.5 instead of 2.5, and 1.722 instead of 1.718."""

    @aggregation(linear_in_gain=True)
    def squared(view):
        return view.G**2

    @continuation(constant_beyond_list=True)
    def tiring(view):
        return 1 / (1 + view.i)

    refused(lambda: score([1, 1], C="rbp(0.5)", A="squared"), RefutedFact, "squared")
    words = "CWLA(C='tiring',", ": C='tiring': its decorator states constant_beyond_list"
    refused(lambda: score([1], C="tiring", A="items"), RefutedFact, *words)
    refused(lambda: score([1], C="product(rr, tiring)", A="items"), RefutedFact, "tiring")
    with pytest.raises(RefutedFact, match="tiring"):
        evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["CWLA(C='tiring',A='etg',max_rel=1)"])

    assert aggregation(squared.function) is TABLES["aggregation"]["squared"]  # the same function without the fact
    assert score([1, 1], C="rbp(0.5)", A="squared") == 2.5
    continuation(tiring.function)
    assert score([1], C="tiring", A="items") == pytest.approx(np.e - 1)


def test_a_function_that_refuses_lists_is_not_refuted():
    """Lists for which a function raises an error do not refute its facts."""

    def unsure(view):
        if view.r.max() <= 1:
            raise NoFiniteValue("no.")
        return view.G

    check_facts(spec_of("aggregation", unsure, {"linear_in_gain": True}))
    check_facts(spec_of("aggregation", lambda view: view.nothing, {"linear_in_gain": True}))


@pytest.mark.parametrize(("kind", "function", "facts", "says"), [
    ("continuation", limited, {"last_rank": lambda k: "x"}, r"C='limited\(5\)': last_rank= .* gives 'x', and must give a rank"),
    ("continuation", limited, {"last_rank": lambda k: -k}, "gives -5, and must give a rank"),
    ("continuation", limited, {"last_rank": lambda k: k / 2}, r"gives 2\.5, and must give a rank"),
    ("gain", lambda grade, k: grade, {"known_grades": lambda k: [0, 1]}, r"gives \[0, 1\], and must give grades above 0"),
    ("gain", lambda grade, k: grade, {"known_grades": lambda k: "few"}, "gives 'few', and must give grades above 0"),
])  # fmt: skip
def test_a_fact_that_gives_nonsense_is_an_error(kind, function, facts, says):
    with pytest.raises(BadParameter, match=says):
        check_facts(spec_of(kind, function, facts, (5,)))


def test_facts_of_built_in_functions_of_users_own():
    """``utility`` is monotone in gain if the discount is not negative. Otherwise, its residual is not a bound."""

    @discount
    def regret(i):
        return 1.5 - i

    @discount
    def steady(i):
        return 0.5 + 0 * i

    for name, so in (("regret", False), ("steady", True)):
        A = parse(f"utility({name})", "aggregation")
        assert holds(A, "monotone_in_gain") is so
        assert residual_is_a_bound(CWLA(C="rbp(0.5)", A=A, max_rel=1).metric) is so
