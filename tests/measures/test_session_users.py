"""Sessions of a user model, compared with all paths of a user through the lists."""

import itertools
import math
import pickle

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyterrier_cwla import CWLA, SessionCWLA, continuation, evaluate, evaluate_sessions
from pyterrier_cwla.errors import BadJudgments, BadParameter, BadSessions, MissingLength, NoFiniteValue
from pyterrier_cwla.model.aggregations import erg
from tests.measures.test_sessions import lists_of, logs
from tests.support import reference
from tests.support.messages import refused

pytestmark = pytest.mark.filterwarnings("ignore:run and judgments have no query in common")

CONTINUATIONS = {
    "rbp(0.7)": ("rbp", {"phi": 0.7}),
    "inst(1)": ("inst", {"T": 1}),
    "rr": ("rr", {}),
    "rr(rel=2)": ("rr", {"rel": 2}),
    "cascade(0.9)": ("cascade", {"gamma": 0.9}),
    "prec(2)": ("prec", {"k": 2}),
    "dcg(3)": ("dcg", {"k": 3}),
    "bpm(1, 4)": ("bpm", {"T": 1, "K": 4}),
    "decay(3)": ("decay", {"half_life": 3}),
    "ap2": ("ap2", {}),
    "product(rr, rbp(0.9))": ("product", {"first": ("rr", {}), "second": ("rbp", {"phi": 0.9})}),
}
EFFORTS = {
    "unit": ("unit", {}),
    "ratio(4)": ("ratio", {"times": 4}),
    "by_grade({0: 1, 1: 2, 2: 4, 3: 7})": ("by_grade", {"efforts": [1, 2, 4, 7]}),
}


# ---- every path through a session


class List:
    """Ways to leave one list: the share of users and their gain for each; the share who stay; and Σ V(i)·e_i."""

    def __init__(self, grades, judged, **model):
        self.outcomes, self.staying, self.effort = [], 0.0, 0.0
        if model["end"] == "stop" and not grades:
            self.outcomes = [(1.0, 0.0)]
            return
        walk = reference._walk(grades, reference.Setting(**model, max_rel=3, judged=judged))
        gained = 0.0
        for share, r in zip(reference._leaving(walk), walk.r):
            gained += r
            self.outcomes.append((share, gained))
        rest = 1 - math.fsum(share for share, _ in self.outcomes)
        tail = reference._tail(walk)
        if tail is not None and not tail.leave:
            self.staying = rest
        else:
            self.outcomes.append((rest, gained))
        self.effort = math.inf if self.staying > 1e-12 else reference._paid(walk)


def slow_session(lists, judged, A, rho, delta, **model):
    """Return the sum over the last query of a path and the rank at which each list up to it is left."""
    found = [List(grades, judged, **model) for grades in lists]
    goes_on = [rho] * (len(lists) - 1) if isinstance(rho, int | float) else list(rho)[: len(lists) - 1]
    gain = effort = 0.0
    for last in range(len(lists)):
        ends = 1 if last == len(lists) - 1 else 1 - goes_on[last]
        arrives = math.prod(goes_on[:last])
        for path in itertools.product(*(one.outcomes for one in found[: last + 1])):
            chance = math.prod(share for share, _ in path) * arrives * ends
            gain += chance * math.fsum(delta ** (last - q) * r for q, (_, r) in enumerate(path))
        reached = arrives * math.prod(math.fsum(share for share, _ in one.outcomes) for one in found[:last])
        effort += reached * found[last].effort if reached > 1e-12 else 0.0
    if A == "etg":
        return gain
    return gain / effort if gain else 0.0


chances = st.sampled_from([0, 0.3, 0.8, 1])


@pytest.mark.slow
@given(
    logs(),
    st.sampled_from(sorted(CONTINUATIONS)),
    st.sampled_from(["etg", "erg"]),
    st.one_of(chances, st.tuples(chances, chances)),
    chances,
    st.sampled_from(["open", "stop", 3]),
    st.sampled_from(sorted(EFFORTS)),
    st.one_of(st.none(), st.integers(1, 3)),
)
def test_the_score_is_the_sum_over_all_paths(log, C, A, rho, delta, end, effort, k):
    measure = SessionCWLA(C=C, A=A, rho=rho, delta=delta, end=end, effort=effort, max_rel=3, cutoff=k)
    found = evaluate_sessions(*log, [measure]).iloc[:, 0]
    model = {"C": CONTINUATIONS[C], "effort": EFFORTS[effort], "end": end, "k": k}
    slow = [slow_session(*lists, A, rho, delta, **model) for lists in lists_of(*log)]
    assert found.tolist() == pytest.approx(slow, abs=1e-9)
    for name, queries in log[2].items():  # whatever other sessions are scored with it
        assert evaluate_sessions(*log[:2], {name: queries}, [measure]).iloc[0, 0] == found[name]


# ---- identities


@pytest.mark.parametrize("effort", ["by_rank(3)", "by_rank(1,2)"])
@pytest.mark.parametrize("C", ["rbp(0.5)", "prec(2)", "dcg(3)", "fixed(0.5,0.2)"])
def test_efforts_of_users_who_read_by_rank_alone(C, effort):
    """V has one row for all queries, and the gains have one each: with ρ = 0, the first query alone."""
    qrels, sessions = {"s": {"a": 1, "b": 1}}, {"s": ["q1", "q2"]}
    run = {"q1": {"a": 2.0, "x": 1.0}, "q2": {"y": 3.0, "b": 2.0, "a": 1.0}}
    for A, end in itertools.product(("etg", "erg"), ("open", "stop", 3)):
        same = {"C": C, "A": A, "gain": "binary", "effort": effort, "end": end}
        try:
            alone = evaluate({"q1": qrels["s"]}, {"q1": run["q1"]}, [CWLA(**same)]).iloc[0, 0]
        except NoFiniteValue:
            continue
        found = evaluate_sessions(qrels, run, sessions, [SessionCWLA(rho=0, **same)]).iloc[0, 0]
        assert found == pytest.approx(alone, abs=1e-12)


# ---- users who never leave, queries without results, and what is unseen

QRELS = {"s": {"a": 1, "b": 1}}
RUN = {"q1": {"x": 3.0, "y": 2.0}, "q2": {"a": 1.0}}
SESSIONS = {"s": ["q1", "q2"]}


def of_session(qrels=QRELS, run=RUN, sessions=SESSIONS, **parameters):
    measure = SessionCWLA(**{"C": "rbp(0.5)", "A": "etg", "rho": 1, "gain": "binary"} | parameters)
    return evaluate_sessions(qrels, run, sessions, [measure]).iloc[0, 0]


def test_users_who_never_leave_a_list_see_no_later_query():
    """Also of a query without results; at end="stop" it has no items, and costs nothing."""
    assert of_session(C="rr") == of_session(C="rr", A="erg") == of_session(sessions={"s": ["q0", "q2"]}, C="rr") == 0
    assert of_session(C="rr", A="erg", end="stop") == pytest.approx(1 / 3)
    assert of_session(sessions={"s": ["q0", "q2"]}, C="rr", A="erg", end="stop") == 1


def test_the_effort_of_unseen_documents_is_needed_for_a_rate_only():
    words = {"x": 100, "y": 300, "a": 50}
    same = {"C": "decay(60)", "effort": "time", "lengths": words}
    by_query = evaluate(dict.fromkeys(RUN, QRELS["s"]), RUN, [CWLA(A="etg", gain="binary", **same)], by_query=True)
    assert of_session(**same) == pytest.approx(by_query.sum().item())
    with pytest.raises(NoFiniteValue, match=r"SessionCWLA\(.*effort of unseen documents is needed .* unseen="):
        of_session(A="erg", **same)
    assert 0 < of_session(A="erg", unseen=12, **same) < of_session(A="erg", end="stop", **same)
    with pytest.raises(MissingLength, match=r"SessionCWLA\(.*1 of 3 have none"):
        of_session(**same | {"lengths": {"x": 100, "a": 50}})


@pytest.mark.slow
def test_a_rate_without_a_finite_number_of_items_is_refused():
    assert of_session(C="dcg") > 0
    says = "SessionCWLA(C='dcg',A='erg',rho=1", "infinite V⁺, so A='erg' is not defined"
    refused(lambda: of_session(C="dcg", A="erg"), NoFiniteValue, *says)
    assert of_session(C="dcg", A="erg", end="stop") > 0


def test_condensed_lists_and_functions_of_users():
    run = {"q1": {"x": 3.0, "b": 2.0}, "q2": {"y": 2.0, "a": 1.0}}
    assert of_session(run=run) == 1
    assert of_session(run=run, judged_only=True) == 2

    @continuation(eventually_leaves=True)
    def third_chance(view):
        return 1 / 3

    assert of_session(run=run, C=third_chance) == pytest.approx(of_session(run=run, C="rbp(0.3333333333333333)"))


# ---- parameters and texts


@pytest.mark.parametrize(("parameters", "text"), [
    ({"rho": 0.5}, "SessionCWLA(C='rbp(0.8)',A='etg',rho=0.5)"),
    ({"rho": np.float64(1), "A": erg, "delta": 1.0}, "SessionCWLA(C='rbp(0.8)',A='erg',rho=1)"),
    ({"rho": [0.5, 1.0]}, "SessionCWLA(C='rbp(0.8)',A='etg',rho={1:0.5,2:1})"),
    ({"rho": {2: 0, 1: 0.5}, "delta": 0.1, "cutoff": 9}, "SessionCWLA(C='rbp(0.8)',A='etg',rho={1:0.5,2:0},delta=0.1)@9"),
])  # fmt: skip
def test_texts_are_read_as_they_are_written(parameters, text):
    measure = SessionCWLA(**{"C": "rbp(0.8)", "A": "etg", "gain": "binary"} | parameters)
    head, _, cutoff = text.partition("@")
    text = f"{head[:-1]},gain='binary'){'@' * bool(cutoff)}{cutoff}"
    assert repr(measure) == text
    assert ir_measures.parse_measure(text) == measure == pickle.loads(pickle.dumps(measure))
    (column,) = evaluate_sessions(QRELS, RUN, SESSIONS, {"mine": text}).columns
    assert column == "mine"
    assert evaluate_sessions(QRELS, RUN, SESSIONS, [text]).equals(evaluate_sessions(QRELS, RUN, SESSIONS, [measure]))


@pytest.mark.every_case
@pytest.mark.parametrize(("parameters", "message"), [
    ({"rho": 1.2}, "rho=1.2): rho must be a number in [0, 1], or a list or map of such numbers"),
    ({"rho": []}, "rho=[]): rho must be"),
    ({"rho": "often"}, "rho='often'): rho must be"),
    ({"rho": [0.5, 2]}, "rho must be"),
    ({"rho": {1: 0.5, 3: 0.5}}, "rho must be"),
    ({"delta": -1}, "delta must be a number in [0, 1]"),
    ({"A": "avg"}, "A must be 'etg' or 'erg'"),
    ({"norm": "ideal"}, "SessionCWLA has no parameter 'norm'"),
    ({"end": "far"}, "): end='far': end must be"),
    ({"gain": "linear"}, "): gain='linear' needs max_rel="),
    ({"C": "rbp"}, "rbp"),
])  # fmt: skip
def test_parameters_out_of_range(parameters, message):
    refused(lambda: of_session(**parameters), BadParameter, message)


def test_what_is_missing_is_named():
    with pytest.raises(BadParameter, match=r"SessionCWLA needs C= and A= and rho=, as in SessionCWLA\(C='rbp"):
        evaluate_sessions(QRELS, RUN, SESSIONS, ["SessionCWLA"])
    with pytest.raises(BadSessions, match=r"session 's' has 3 queries, .* give 2, one for every query but the last"):
        of_session(rho=[0.5], sessions={"t": ["q3"], "s": ["q1", "q2", "q4"]}, qrels=QRELS | {"t": {"a": 1}})
    assert of_session(rho=[0.5, 0.1, 0.2]) == of_session(rho=0.5)
    refused(lambda: of_session(gain="linear", max_rel=0.5), BadJudgments, "SessionCWLA(", "grade 1, above max_rel")
