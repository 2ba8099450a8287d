"""Scores of sessions, and of sessions of a user model, compared with loops over every path through a session."""

import itertools
import math
import pickle

import ir_measures
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyterrier_cwla import CWLA, SessionCWLA, continuation, esNDCG, evaluate, evaluate_sessions, nsDCG, sDCG
from pyterrier_cwla.errors import BadJudgments, BadParameter, BadSessions, MissingLength, NoFiniteValue, UnknownSpec
from pyterrier_cwla.measures.named import measures_of
from pyterrier_cwla.model.aggregations import erg
from tests.model.test_against_reference import parsed
from tests.support import reference
from tests.support.generated import as_pyterrier, collection
from tests.support.messages import refused

pytestmark = pytest.mark.filterwarnings("ignore:run and judgments have no query in common")

# ---- the equations, as loops over the grades of each query's results, and the grades judged for the topic


def gain(grade):
    return 2 ** max(grade or 0, 0) - 1


def best_first(judged):
    return sorted((max(grade, 0) for grade in judged), reverse=True)


def slow_sdcg(lists, b=2, bq=4, k=None):
    """Return Σ_q (1/log_bq(q+bq−1)) Σ_i (2^{g_i}−1)/log_b(i+b−1)."""
    total = 0.0
    for q, grades in enumerate(lists, 1):
        for i, grade in enumerate(grades[:k], 1):
            total += gain(grade) / math.log(i + b - 1, b) / math.log(q + bq - 1, bq)
    return total


def slow_nsdcg(lists, judged, b=2, bq=4, k=None):
    best = slow_sdcg([best_first(judged)] * len(lists), b, bq, k)
    return slow_sdcg(lists, b, bq, k) / best if best else 0.0


def slow_esndcg(lists, judged, p_down=0.7, p_reform=0.8, discount="log2", k=None):
    """Return the sum over all paths through a session: the last query, and the depth read in each list up to it."""
    lists = [grades[:k] for grades in lists]
    total = 0.0
    for last in range(1, len(lists) + 1):
        ends = 1 if last == len(lists) else 1 - p_reform
        for depths in itertools.product(*(range(1, len(grades) + 1) or [0] for grades in lists[:last])):
            chance = p_reform ** (last - 1) * ends
            read = []
            for grades, depth in zip(lists, depths):
                if grades:
                    chance *= p_down ** (depth - 1) * (1 if depth == len(grades) else 1 - p_down)
                read += grades[:depth]
            total += chance * slow_path(read, judged, discount)
    return total


def slow_path(read, judged, discount):
    """Return nDCG of the documents read, divided by that of the best ranking of equal length."""
    d = [1 if discount == "none" else 1 / math.log2(position + 1) for position in range(1, len(read) + 1)]
    best = sum(gain(grade) * weight for grade, weight in zip(best_first(judged), d))
    return sum(gain(grade) * weight for grade, weight in zip(read, d)) / best if best else 0.0


# ---- random sessions


@st.composite
def logs(draw):
    """Sessions of one to three queries with up to four of ten documents each, with repeated and unjudged documents."""
    qrels, run, sessions = {}, {}, {}
    for number in range(draw(st.integers(1, 3))):
        name = f"s{number}"
        judged = draw(st.dictionaries(st.sampled_from([f"d{i}" for i in range(10)]), st.integers(-1, 3), min_size=1))
        qrels[name] = judged
        sessions[name] = [f"{name}-{q}" for q in range(draw(st.integers(1, 3)))]
        for query in sessions[name]:
            found = draw(st.lists(st.sampled_from([f"d{i}" for i in range(10)]), max_size=4, unique=True))
            run[query] = {document: -float(rank) for rank, document in enumerate(found)}
    return qrels, run, sessions


def lists_of(qrels, run, sessions):
    """Yield for each session the lists of grades of its queries, and all judged grades."""
    for name, queries in sessions.items():
        ranked = [sorted(run.get(q, {}), key=lambda d, q=q: -run[q][d]) for q in queries]
        yield [[qrels[name].get(d) for d in documents] for documents in ranked], list(qrels[name].values())


bases = st.sampled_from([1.5, 2, 3, 10])
chances = st.sampled_from([0, 0.2, 0.7, 0.95, 1])


@given(logs(), bases, bases, st.one_of(st.none(), st.integers(1, 5)))
def test_session_dcg_is_the_double_sum(log, b, bq, k):
    found = evaluate_sessions(*log, [sDCG(b=b, bq=bq, cutoff=k), nsDCG(b=b, bq=bq, cutoff=k)])
    slow = [(slow_sdcg(lists, b, bq, k), slow_nsdcg(lists, judged, b, bq, k)) for lists, judged in lists_of(*log)]
    assert found.to_numpy() == pytest.approx(np.array(slow), abs=1e-10)
    by_default = evaluate_sessions(*log, [sDCG])[str(sDCG)]
    assert by_default.tolist() == pytest.approx([slow_sdcg(lists) for lists, _ in lists_of(*log)], abs=1e-10)


@pytest.mark.slow
@given(logs(), chances, chances, st.sampled_from(["log2", "none"]), st.one_of(st.none(), st.integers(1, 5)))
def test_expected_session_ndcg_is_the_sum_over_all_ways(log, p_down, p_reform, discount, k):
    measure = esNDCG(p_down=p_down, p_reform=p_reform, discount=discount, cutoff=k)
    found = evaluate_sessions(*log, [measure])
    slow = [slow_esndcg(*lists, p_down, p_reform, discount, k) for lists in lists_of(*log)]
    assert found.iloc[:, 0].tolist() == pytest.approx(slow, abs=1e-10)


@pytest.mark.slow
@given(logs())
def test_any_measure_of_a_session_is_the_mean_over_its_queries(log):
    qrels, run, sessions = log
    ratio = "effort='ratio(4)'"
    measures = ["nDCG@3", "AP", f"AdaptiveRBP({ratio})", "Judged@3", f"UMeasure(T=99,max_rel=3,{ratio})"]
    by_query = {query: qrels[name] for name, queries in sessions.items() for query in queries}
    found = evaluate_sessions(qrels, run, sessions, measures)
    values = evaluate(by_query, run, measures, by_query=True).loc["run"]
    for name, queries in sessions.items():
        assert found.loc[name].tolist() == pytest.approx(values.loc[queries].mean().tolist(), abs=1e-12)


# ---- properties that hold without a reference


@pytest.mark.slow
def test_long_lists_are_read_as_deep_as_anybody_does():
    rng = np.random.default_rng(3)
    judged = {f"d{i}": int(rng.integers(0, 3)) for i in range(400)}
    log = {"s": judged}, {q: {d: float(rng.random()) for d in judged} for q in ("q1", "q2")}, {"s": ["q1", "q2"]}
    found = evaluate_sessions(*log, [esNDCG(p_down=0.3), esNDCG(p_down=0.3) @ 30]).loc["s"]
    lists, _ = next(lists_of(*log))
    assert found.tolist() == pytest.approx([slow_esndcg(lists, judged.values(), p_down=0.3, k=30)] * 2, abs=1e-12)


def test_many_sessions_are_worked_on_in_parts(monkeypatch):
    run, qrels = collection(5, queries=40, grades=(0, 1, 2))
    sessions = {"1": ["1", "40"]} | {name: [name] for name in map(str, range(2, 40))}
    found = evaluate_sessions(qrels, run, sessions, [esNDCG])
    monkeypatch.setattr("pyterrier_cwla.measures.sessions._CELLS", 100)
    pd.testing.assert_frame_equal(evaluate_sessions(qrels, run, sessions, [esNDCG]), found, rtol=1e-13)


# ---- the table of sessions


@pytest.fixture
def log():
    """Return five sessions of three queries, with judgments under the names of the sessions."""
    run, qrels = collection(4, queries=16, depth=12, grades=(-1, 0, 1, 2))
    queries = [str(number) for number in range(2, 17)]
    table = pd.DataFrame(
        {"session": np.repeat([f"s{i}" for i in range(5)], 3), "query_id": queries, "order": [1, 2, 3] * 5}
    )
    topics = qrels[qrels.query_id.isin([str(number) for number in range(1, 6)])]
    return topics.assign(query_id="s" + (topics.query_id.astype(int) - 1).astype(str)), run, table


MEASURES = ["nDCG@5", "AdaptiveGAP(effort='ratio(4)',gain='threshold(0.4,0.6)')", "sDCG@5", "nsDCG", "esNDCG"]


@pytest.mark.slow
def test_tables_in_any_form_and_order(log):
    qrels, run, table = log
    found = evaluate_sessions(qrels, run, table, MEASURES)
    assert found.index.name == "session"
    assert list(found.columns) == [str(ir_measures.parse_measure(text)) for text in MEASURES]
    assert found.gt(0).all(axis=None)
    shuffled = table.sample(frac=1, random_state=1)
    when = pd.to_datetime("2024-05-01").tz_localize("UTC") + pd.to_timedelta(shuffled["order"], "min")
    forms = [
        shuffled,
        shuffled.assign(order=when),
        shuffled.rename(columns={"query_id": "qid"}).assign(text="what else there is", order=shuffled["order"] * 7.5),
        pl.from_pandas(table),
        pl.from_pandas(table).to_arrow(),
        {name: some.query_id.tolist() for name, some in table.groupby("session")},
    ]
    for form in forms:
        again = evaluate_sessions(qrels, run, form, MEASURES)
        pd.testing.assert_frame_equal(again.loc[found.index], found, check_exact=True)
    again = evaluate_sessions(as_pyterrier(qrels), as_pyterrier(run), table, MEASURES)
    pd.testing.assert_frame_equal(again, found, check_exact=True)


def test_the_order_decides(log):
    qrels, run, table = log
    times = pd.Timestamp("2024-05-01") - pd.to_timedelta(table["order"], "min")
    backwards = evaluate_sessions(qrels, run, table.assign(order=times), ["nDCG@5", sDCG, nsDCG, esNDCG])
    found = evaluate_sessions(qrels, run, table, ["nDCG@5", sDCG, nsDCG, esNDCG])
    assert backwards["nDCG@5"].tolist() == pytest.approx(found["nDCG@5"].tolist())
    assert (backwards.iloc[:, 1:] != found.iloc[:, 1:]).all(axis=None)


def test_judgments_of_topics_and_of_queries(log):
    qrels, run, table = log
    found = evaluate_sessions(qrels, run, table, MEASURES)
    topics = dict(zip(sorted(table["session"].unique()), ["t1", "t2", "t3", "t4", "t5"]))
    by_topic = qrels.assign(query_id=qrels.query_id.map(topics))
    named = table.assign(topic=table["session"].map(topics))
    pd.testing.assert_frame_equal(evaluate_sessions(by_topic, run, named, MEASURES, judged_by="topic"), found)
    by_query = table.merge(qrels.rename(columns={"query_id": "session"}), on="session")
    same = evaluate_sessions(by_query, run, table, MEASURES[:-1], judged_by="query_id")
    pd.testing.assert_frame_equal(same, found[same.columns])
    with pytest.raises(
        BadSessions, match=r"esNDCG compares .* one topic, but session 's0' has queries of '2', '3', '4'"
    ):
        evaluate_sessions(by_query, run, table.rename(columns={"query_id": "qid"}), [esNDCG], judged_by="qid")


@pytest.mark.every_case
@pytest.mark.parametrize(("change", "message"), [
    (lambda t: t.drop(columns="order"), "no column 'order'; there is 'session', 'query_id'"),
    (lambda t: t.drop(columns="query_id"), "no column 'query_id'"),
    (lambda t: t.iloc[:0], "sessions are empty"),
    (lambda t: pd.concat([t, t.tail(2).assign(session="s9")]), "2 queries occur more than once in the sessions ('15', '16')"),
    (lambda t: t.assign(order=t["order"].where(t.query_id != "4")), "1 of 15 queries have no order ('4')"),
    (lambda t: t.assign(order=t["order"].clip(upper=2)), "session 's0': the queries '3', '4' have the same order 2"),
    (lambda t: t.assign(order=t["order"].astype(str)), "order of the sessions must contain numbers or times, not"),
    (lambda t: t.assign(query_id=t.query_id.astype(int)), "query_id of the sessions must be strings"),
    (lambda t: t.assign(session=t.session.where(t.query_id != "4")), "session of the sessions is missing in row 2"),
    (lambda t: t.assign(session="x" + t.session), "5 of 5 sessions or topics have no judgments ('xs0', 'xs1', 'xs2', …); the judgments have"),
    (lambda t: {"s0": ["2", "3"], "s1": []}, "session 's1' must have a list of one or more queries, not []"),
    (lambda t: {"s0": "23"}, "of one or more queries, not '23'"),
    (lambda t: [("s0", "2")], "a DataFrame or a dict of lists, not list"),
])  # fmt: skip
def test_tables_that_cannot_be_used(log, change, message):
    qrels, run, table = log
    refused(lambda: evaluate_sessions(qrels, run, change(table), ["RR"]), BadSessions, message)


def test_other_errors_are_those_of_evaluate(log):
    qrels, run, table = log
    refused(lambda: evaluate_sessions(qrels, run, table, ["RR"], judged_by="topic"), BadSessions, "no column 'topic'")
    refused(lambda: evaluate_sessions(qrels, run, table, ["sDCGG"]), UnknownSpec, "no measure 'sDCGG'")
    for text, message in {
        "sDCG(b=1)": "b must be a number in (1, inf)",
        "esNDCG(p_down=1.2)": "p_down must be",
        "esNDCG(discount='log')": "discount must be 'log2' or 'none'",
        "nsDCG(base=2)": "no parameter 'base'",
        "nsDCG@0": "cutoff must be",
    }.items():
        refused(lambda text=text: evaluate_sessions(*log, [text]), BadParameter, message)
    with pytest.raises(BadJudgments, match=r"'s0': '\w+' is judged twice"):
        evaluate_sessions(pd.concat([qrels, qrels]).sort_values("query_id").head(40), run, {"s0": ["2"]}, ["RR"])


# ---- session measures in ir_measures


def test_whoever_scores_queries_is_told_the_way(log):
    qrels, run, _ = log
    for text in ("nsDCG@9", "SessionCWLA(C='rbp(0.8)',A='etg',rho=0.5,gain='binary')"):
        (measure,) = measures_of([text])
        for ask in (
            lambda measure=measure: ir_measures.calc_aggregate([measure], qrels, run),
            lambda text=text: evaluate(qrels, run, [text]),
            lambda text=text: evaluate(qrels, run, [f"GeometricMean(measure={text})"]),
        ):
            refused(ask, BadParameter, f"{text} is a session measure: evaluate_sessions(qrels, run, sess")


# ---- sessions of a user model

CONTINUATIONS = {
    text: parsed(text)
    for text in ("rbp(0.7)", "inst(1)", "rr", "rr(rel=2)", "cascade(0.9)", "prec(2)", "dcg(3)", "bpm(1, 4)", "decay(3)", "ap2",
                 "product(rr, rbp(0.9))")
}  # fmt: skip
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
