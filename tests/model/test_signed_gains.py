"""Negative gains, of documents that harm, and gains of documents judged 0; each row of docs/signed_gains.rst."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyterrier_cwla import (
    CWLA,
    ByTopic,
    Expected,
    GeometricMean,
    IntentAware,
    LambdaMART,
    Mixture,
    QMeasure,
    Residual,
    SessionCWLA,
    aggregation,
    continuation,
    evaluate,
    evaluate_sessions,
    explain,
    gain,
    score,
)
from pyterrier_cwla.behaviour import simulate
from pyterrier_cwla.behaviour.clicks.click_models import _where_gain_is
from pyterrier_cwla.data.alignment import Judgments
from pyterrier_cwla.errors import BadParameter, CWLAWarning, NoFiniteValue, RefutedFact
from pyterrier_cwla.evaluation import residual
from pyterrier_cwla.learning import LambdaScheme
from pyterrier_cwla.measures.declarations import needs_of
from pyterrier_cwla.measures.named import measures_of
from pyterrier_cwla.model.fact_trials import random_lists
from pyterrier_cwla.model.language import parse
from pyterrier_cwla.model.residuals import residual_is_a_bound
from tests.model.test_against_reference import takes_signed_gains
from tests.support.messages import refused
from tests.support.strategies import BUILT_IN, aggregations, continuations, numbers

HARM = "table({0: -0.5, 1: 1})"
QRELS = {"q": {"good": 1, "bad": 0, "pooled": -1}}
RBP = f"CWLA(C='rbp(0.5)',A='etg',gain='{HARM}')"


def of_one(measure, *run, qrels=QRELS):
    """Return the value of a measure for one ranking of documents."""
    return evaluate(qrels, {"q": {d: float(-rank) for rank, d in enumerate(run)}}, [measure]).iloc[0, 0]


def test_a_document_judged_0_harms_and_an_unjudged_one_does_not():
    for measure in (RBP, CWLA(C="rbp(0.5)", A="etg", gain=HARM, max_rel=1)):
        assert of_one(measure, "bad", "good") == -0.5 + 0.5
        assert of_one(measure, "unknown", "good") == of_one(measure, "pooled", "good") == 0.5
    assert score([0, 1, None], C="rbp(0.5)", A="etg", gain=HARM) == 0


def test_tables_without_harm_need_relevant_documents_only():
    unsigned = ("table({1: 0.2, 2: 1})", "table({0: 0, 1: 1})", "table({-1: 0.5, 1: 1})", "raw")
    signed = ("table({0: 0.1, 1: 1})", "table({1: -1, 2: 1})", "table({0: 0.1, 1: 1}, interpolate)")
    for text in (*unsigned, *signed):
        measure = CWLA(C="rbp(0.5)", A="erg", gain=text, max_rel=2)
        assert measure.metric.signed == needs_of(measure).all_judged == (text in signed), text


def test_grade_0_has_gain_0_unless_the_table_has_one():
    for others in ("error", "grade", "interpolate"):
        assert score([0, 1], C="prec(2)", A="etg", gain=f"table({{1: -1, 2: 1}}, {others})") == -1
    assert score([0.5], C="prec(1)", A="etg", gain="table({0: -0.5, 1: 1}, interpolate)") == 0.25
    found = score([1, *[None] * 198, 0], C="inst(9)", A="etg", gain="table({0: 1, 1: 0.5})")
    assert found == pytest.approx(score([0.5, *[0] * 198, 1], C="inst(9)", A="etg"))


def test_functions_of_users():
    seen = []

    @gain(signed=True)
    def balance(grade):
        seen.extend(np.ravel(grade).tolist())
        return np.asarray(grade) - 0.5

    @gain
    def unsigned(grade):
        return np.asarray(grade) - 2.0

    @gain(signed=True)
    def endless(grade):
        return np.full(np.shape(grade), -np.inf)

    rbp = CWLA(C="rbp(0.5)", A="etg", gain="balance")
    assert of_one(rbp, "bad", "good", "pooled", "unknown") == -0.5 + 0.25
    assert set(seen) == {0, 1}
    assert of_one(rbp(gain=balance()), "unknown", "bad") == -0.25
    refused(lambda: of_one(rbp(gain="unsigned"), "good"), BadParameter, "@gain(signed=True)")
    refused(lambda: of_one(rbp(gain="endless"), "good"), BadParameter, "an infinite gain.")
    refused(lambda: gain(signed=1)(lambda grade: grade), BadParameter)


# ---- continuations and facts


@pytest.mark.parametrize(
    "C", ["rr", "cascade(0.9)", "ap1", "ap2", "ap2(ranking)", "carterette2(5)", "carterette3(0.5)"]
)
def test_continuations_of_gains_from_0_are_refused(C):
    for text in (C, *(f"product({pair})" for pair in (f"{C},rbp(0.8)", f"rbp(0.8),{C}") if "ap1" not in pair)):
        words = f"C='{parse(text, 'continuation')}' is defined for gains of 0 or more", "C='rr(rel=1)'"
        for gains in (HARM, "table({1: -1, 2: 1})"):
            made = {"C": text, "A": "etg", "gain": gains}
            refused(lambda made=made: CWLA(**made).metric, BadParameter, *words)
    refused(lambda: score([1, -0.5], C=C, A="etg"), BadParameter, "is defined for gains of 0 or more")


def test_binary_relevance_takes_their_place():
    """Users of rr(rel=1) leave at the first relevant document, and are harmed on the way."""
    assert score([0, None, 1, 0], C="rr(rel=1)", A="etg", gain=HARM) == -0.5 + 1
    assert score([0, None, 1, 0], C="ap2(rel=1)", A="max", gain=HARM) == 1
    assert score([0, 2, 1], C="carterette3(1,rel=2)", A="etg", gain="table({0:-0.5,1:1,2:1})") == 0.5


@pytest.mark.slow
@pytest.mark.parametrize("name", BUILT_IN["continuation"])
@given(data=st.data())
def test_other_continuations_are_probabilities_for_all_gains(name, data):
    """The fact ``gains_from_0`` is derived for products, and is stated where a C could leave [0, 1] or lose its mean."""
    spec = data.draw(continuations(name))
    from_0 = spec.fact("gains_from_0")

    def parsed(one):
        given = dict(one.values)
        return one.name, {k: parsed(v) if k in ("first", "second") else v for k, v in given.items()}

    assert bool(from_0 and from_0()) == (not takes_signed_gains(parsed(spec)))
    if from_0 and from_0():
        return
    for lists in random_lists(signed=True)[3:]:
        if lists.r.max() > 1 and spec.fact("gains_up_to_1"):
            continue
        C = np.broadcast_to(spec(lists.view()), lists.r.shape)
        assert C.min() >= 0
        assert C.max() <= 1


def test_facts_are_tried_with_negative_gains():
    @aggregation(linear_in_gain=True, monotone_in_gain=True)
    def no_debt(view):
        return view.G if view.r.min() >= 0 else np.maximum(view.G, 0)

    assert score([1, 0.5], C="prec(2)", A="no_debt") == 1.5
    refused(lambda: score([1, -0.5], C="prec(2)", A="no_debt"), RefutedFact, "linear_in_gain")

    @continuation(ignores_zero_gain=True)
    def harmed(view):
        return np.where(view.r < 0, 0.5, 1.0)

    assert score([-1, 0, -1], C="harmed", A="etg") == -0.5 - 2 * 0.25


def test_the_highest_gain_is_0_after_an_item_without_gain():
    """It may be negative before, so that max is not constant at items without gain."""
    assert score([-1], C="prec(1)", A="max") == -1
    assert score([-1], C="prec(2)", A="max") == 0
    for end, expected in (("open", 0.5 * -1), ("stop", -1)):
        assert score([-1], C="rbp(0.5)", A="max", end=end) == expected
    # users of rr(rel=1) leave at a document of grade 1, which harms; the route over hits leaves out rank 1
    harm = {"C": "rr(rel=1)", "A": "max", "gain": "table({1: -1, 2: 1})"}
    assert (score([None, 1], **harm), score([1, None], **harm)) == (0, -1)


def test_harm_without_effort_has_no_finite_rate():
    """As gain without effort."""
    same = {"C": "prec(1)", "A": "avg", "efforts": [0], "unseen": 1}
    for gains in ([-1], [1]):
        refused(lambda gains=gains: score(gains, **same), NoFiniteValue, "no finite")
    assert score([0, -1], **same | {"C": "prec(2)", "efforts": [0, 2]}) == -0.5


def test_limits_of_dynamic_bpm_with_a_negative_sum():
    """T_3 = T + h_b·(G(2) − 2m) = 1 + (−3 + 0) = −2 = G(3): reached, despite rounding."""
    assert score([-1.1, -1.9, 1, 9], C="bpm(1, 100, 1, 0, 0)", A="etg") == pytest.approx(-2)


# ---- normalisers and residuals


def test_ideals_leave_harm_out():
    """Documents of negative gain are in no ideal, also at end="stop", where they would be read, and below a cutoff."""
    qrels = {"q": {"a": 2, "b": 1, "c": 0, "d": 0}}
    for end, k in (("open", None), ("stop", None), ("stop", 3), (4, 2)):
        same = {"C": "rbp(0.5)", "A": "erg", "gain": "table({0: -1, 1: 0.5, 2: 1})", "end": end, "cutoff": k}
        found = of_one(CWLA(**same, norm="ideal"), "a", "b", "c", "d", qrels=qrels)
        best = score([1, 0.5], C="rbp(0.5)", A="erg", end=end, cutoff=k)
        assert found == pytest.approx(of_one(CWLA(**same), "a", "b", "c", "d", qrels=qrels) / best, rel=1e-12)


def test_totals_leave_harm_out():
    qrels = {"q": {"good": 1, "bad": 0, "x": 1, "y": 0}}
    found = of_one(CWLA(C="prec(2)", A="etg", gain=HARM, norm="all"), "good", "bad", qrels=qrels)
    assert found == (1 - 0.5) / 2

    @aggregation
    def share_of_total(view):
        return view.G / view.total

    assert score([1, -0.5], C="prec(2)", A="share_of_total", judged=[1, -0.5, 1]) == 0.25


def test_topics_with_nothing_to_gain_are_counted():
    qrels = {"q": {"a": 1, "b": 0}, "harm": {"a": 0}, "empty": {"a": -1}}
    run = {q: {"a": 2.0, "b": 1.0} for q in qrels}

    def by_topic(norm):
        measure = CWLA(C="prec(2)", A="etg", gain=HARM, norm=norm)
        return evaluate(qrels, run, [measure], by_query=True).iloc[:, 0].tolist()

    for norm in ("ideal", "all"):
        with pytest.warns(CWLAWarning, match="2 of 3 topics have no document of positive gain.*norm='none'"):
            assert by_topic(norm) == [0.5, 0, 0]
    assert by_topic("none") == [0.5, -0.5, 0]


def test_the_lower_side_of_a_residual():
    """The lowest gain is that of grade 0, also below the list; without negative gains nothing can fall."""
    same = {"C": "prec(3)", "A": "etg", "gain": HARM}
    assert residual([1, None], **same, side="lower") == 1
    assert residual([1, None], **same) == 2
    assert residual([1, None], C="prec(3)", A="etg", gain="binary", side="lower") == 0
    lower = Residual(measure=f"CWLA(C='prec(3)',A='etg',gain='{HARM}')", side="lower")
    assert of_one(lower, "good", "unknown") == 1
    assert lower.is_a_bound
    assert not Residual(measure=CWLA(C="rr(rel=1)", A="etg", gain=HARM), side="lower").is_a_bound
    assert measures_of([repr(lower)]) == [lower]
    assert "side='lower'" in str(lower)
    assert of_one(Residual(measure="RBP(rel=1)", side="lower"), "unknown") == 0


@pytest.mark.slow
@pytest.mark.every_case
@pytest.mark.parametrize("C", BUILT_IN["continuation"])
@given(data=st.data())
def test_no_judgment_moves_a_score_by_more_than_its_residuals(C, data):
    """Where ``is_a_bound`` is true, by any judgments of unjudged and unseen items; also without negative gains."""
    low = data.draw(st.sampled_from([-1, 0]))
    gains = {grade: data.draw(numbers(low, 1)) for grade in range(3)} | ({} if low else {0: 0})
    same = {"C": str(data.draw(continuations(C))), "A": str(data.draw(aggregations())), "gain": f"table({gains})"}
    same["end"] = data.draw(st.sampled_from(["open", "stop", 12]))
    try:
        if not residual_is_a_bound(CWLA(**same).metric):
            return
        grades = data.draw(st.lists(st.sampled_from([None, 0, 1, 2]), min_size=1, max_size=6))
        judged = [data.draw(st.sampled_from([0, 1, 2])) if grade is None else grade for grade in grades]
        unseen = data.draw(st.lists(st.sampled_from([0, 1, 2]), max_size=4)) if same["end"] != "stop" else []
        upper, lower = (residual(grades, **same, side=side) for side in ("upper", "lower"))
        now, later = score(grades, **same), score(judged + unseen, **same)
    except (BadParameter, NoFiniteValue):
        return
    assert now - lower - 1e-9 <= later <= now + upper + 1e-9


def test_inst_with_endless_harm_has_no_lower_side():
    """With gain −1 at every unseen item, V falls like 1/i, so that V⁺ is infinite; the users leave all the same."""
    same = {"C": "inst(1)", "gain": "table({0: -1, 1: 1})", "side": "lower"}
    for A in ("etg", "erg", "items"):
        refused(lambda A=A: residual([1], A=A, **same), NoFiniteValue, "V⁺")
    found = residual([1, None, 0, 1], A="avg", **same)
    assert found == pytest.approx(0.131392, abs=1e-6)  # by 4 million ranks


def test_sessions():
    """A session of two queries, the second of which harms: Σ_q ρ^(q−1)·M_q."""
    measure = SessionCWLA(C="prec(1)", A="etg", rho=0.5, gain=HARM)
    qrels = {"s": {"good": 1, "bad": 0}}
    runs = {"q1": {"good": 1.0}, "q2": {"bad": 1.0}}
    table = pd.DataFrame({"session": ["s", "s"], "query_id": ["q1", "q2"], "order": [1, 2]})
    found = evaluate_sessions(qrels, runs, table, [measure], judged_by="session")
    assert found.iloc[0, 0] == 1 + 0.5 * -0.5
    per_item = evaluate_sessions(qrels, {**runs, "q1": {"bad": 1.0}}, table, [measure(A="erg")], judged_by="session")
    assert per_item.iloc[0, 0] == pytest.approx(-0.75 / 1.5)


def test_intents_and_mixtures():
    """A document that is judged for one intent only has no gain for the others."""
    qrels = pd.DataFrame(
        [("q", "0", "a", 1), ("q", "0", "b", 0), ("q", "1", "b", 1)],
        columns=["query_id", "iteration", "doc_id", "relevance"],
    )
    users = IntentAware(measure=CWLA(C="prec(2)", A="etg", gain=HARM))
    assert of_one(users, "a", "b", qrels=qrels) == 0.5 * (1 - 0.5) + 0.5 * 1
    both = Mixture(measures={"one": RBP, "other": f"CWLA(C='prec(2)',A='etg',gain='{HARM}')"})
    assert of_one(both, "bad", "good") == (0 + 0.5) / 2
    by_topic = ByTopic(measure=RBP, parameters={"q": {"end": "stop"}})
    assert of_one(by_topic, "bad", "good") == 0


def test_expected_scores():
    """An exact mean is that over all labelings; an unjudged document with a prior gains what its grades do."""
    qrels = pd.DataFrame({"query_id": ["q"] * 2, "doc_id": ["a", "b"], "p_relevant": [0.3, 0.8]})
    pairs = [
        ("rbp(0.5)", "etg"),
        ("rr(rel=1)", "err"),
        ("cascade(0.5,rel=1)", "etg"),
        ("rr(rel=1)", "utility(reciprocal)"),
    ]
    for C, A in pairs:
        measure, mean = CWLA(C=C, A=A, gain=HARM, end="stop"), 0.0
        for a, b in ((0, 0), (0, 1), (1, 0), (1, 1)):
            p = (0.3 if a else 0.7) * (0.8 if b else 0.2)
            mean += p * of_one(measure, "a", "b", qrels={"q": {"a": a, "b": b}})
        expected = Expected(measure=measure)
        assert expected.is_exact
        assert of_one(expected, "a", "b", qrels=qrels) == pytest.approx(mean, abs=1e-12)
    sampled = Expected(measure=CWLA(C="prec(2)", A="max", gain=HARM), samples=20_000)
    assert not sampled.is_exact
    assert of_one(sampled, "a", "b", qrels=qrels) == pytest.approx(1 - 0.7 * 0.2 * 1.5, abs=0.02)
    with_prior = Expected(measure=CWLA(C="prec(2)", A="etg", gain=HARM), prior=0.25)
    assert of_one(with_prior, "unknown", "pooled") == pytest.approx(0.25 * 1 - 0.75 * 0.5)


def test_geometric_means():
    measure = GeometricMean(measure=CWLA(C="prec(1)", A="etg", gain=HARM), floor=0.01)
    assert of_one(measure, "bad") == pytest.approx(0.01)


def test_simulation():
    """The mean of simulated users is the score."""
    run = {"q": {"bad": 3.0, "good": 2.0, "unknown": 1.0}}
    found = simulate(QRELS, run, CWLA(C="rbp(0.5)", A="erg", gain=HARM), users=20_000, seed=1).by_query.iloc[0]
    assert found["analytic"] == pytest.approx(score([0, 1, None], C="rbp(0.5)", A="erg", gain=HARM))
    assert found["gain"] == pytest.approx(score([0, 1, None], C="rbp(0.5)", A="etg", gain=HARM), abs=0.02)


def test_explanations_have_negative_gains():
    found = explain(QRELS, {"q": {"good": 3.0, "bad": 2.0, "unknown": 1.0}}, "q", RBP)
    assert found.table["gain"].tolist()[:3] == [1, -0.5, 0]
    assert found.contributions.tolist()[:3] == [1, -0.25, 0]
    assert found.score == 0.75


def test_duplicates_without_gain_do_no_harm():
    clusters = {"bad": "c", "bad2": "c"}
    qrels = {"q": {"bad": 0, "bad2": 0}}
    same = {"C": "prec(2)", "A": "etg", "gain": HARM, "duplicates": clusters}
    assert of_one(CWLA(**same), "bad", "bad2", qrels=qrels) == -1
    assert of_one(CWLA(**same, duplicate_gain="none"), "bad", "bad2", qrels=qrels) == -0.5


# ---- learning


def test_harm_goes_down():
    """The harmful document is pushed below an unjudged-like one of gain 0, and this below the good one."""
    gains = "table({0: 0, 1: 1, 2: -1})"
    objective = LambdaMART(CWLA(C="rbp(0.8)", A="erg", gain=gains), norm=False)
    gradient, _ = objective.gradients([2, 0, 1], [3.0, 2.0, 1.0], [3])
    assert gradient[0] > 0 > gradient[2]
    weights = objective.pair_weights([2, 0, 1], [3.0, 2.0, 1.0], [3])[0]
    assert (weights > 0).tolist() == [[False] * 3, [True, False, False], [True, True, False]]
    labels = objective.gradients([-1, 0, 1], [3.0, 2.0, 1.0], [3])[0]
    assert labels[0] == pytest.approx(labels[1]) or (labels[:2] > 0).all()


# ---- refusals and the page


def test_what_has_no_signed_gains():
    one = {"C": "prec(2)", "A": "etg", "gain": HARM}
    pair = Judgments(pd.DataFrame({"query_id": ["q"], "doc_id": ["a"], "relevance": [1]}))
    predicted = CWLA(C="rbp(0.5)", A="erg", gain="table({0: -0.5, 1: 1}, interpolate)")
    for call, *words in (
        (lambda: score([1], **one | {"gain": "table({-1: -0.5, 1: 1})"}), "for grades below 0"),
        (lambda: CWLA(**one, norm="mean").metric, "norm='mean'", "norm='none'"),
        (lambda: residual([1, None], C="prec(2)", A="etg", side="lower"), "needs gain="),
        (lambda: residual([1], **one, side="both"), "'upper' or 'lower'"),
        *((lambda norm=norm: Residual(measure=CWLA(**one, norm=norm)).computation(), "signed gains", "norm='none'") for norm in ("ideal", "all")),
        *((lambda norm=norm: Residual(measure=CWLA(C="prec(2)", A="etg", max_rel=1, norm=norm), side="lower").computation(), "side='lower'")
          for norm in ("ideal", "all")),
        (lambda: QMeasure(gain=HARM).validate_params(), "is defined for gains of 0 or more"),
        (lambda: _where_gain_is(np.array([0.5]), predicted, pair), "is signed, and predicted relevance is a probability"),
    ):  # fmt: skip
        refused(call, BadParameter, *words)
    pytest.importorskip("torch")
    refused(lambda: LambdaScheme(CWLA(**one)), BadParameter, "pads lists")


def test_the_page_names_the_tests_of_all_rows():
    """Each row of the table names a test of this folder, or a file of tests."""
    root = Path(__file__).parents[2]
    rows = re.findall(r"``((?:tests/)?[\w/]*test_\w+)(?:\.py)?``", (root / "docs" / "signed_gains.rst").read_text())
    known = {
        name
        for path in (root / "tests").rglob("test_*.py")
        for name in [path.stem, *re.findall(r"def (test_\w+)", path.read_text())]
    }
    assert len(rows) > 20
    assert [name for name in rows if name.rpartition("/")[2] not in known] == []
