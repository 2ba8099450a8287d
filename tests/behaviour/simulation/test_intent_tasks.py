"""Simulated users of intent-aware measures: each draws an intent."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from pyterrier_cwla import TBG, IntentAware, Mixture, evaluate
from pyterrier_cwla.behaviour.simulation.expectations import prefer
from pyterrier_cwla.behaviour.simulation.simulator import simulated_log
from pyterrier_cwla.errors import BadParameter
from tests.behaviour.simulation.test_mixed_tasks import RUNS, moments, quietly
from tests.measures.test_intents import GRADED, diversity, given
from tests.support.messages import refused

CELL = "CWLA(C='{}',A='{}',max_rel=3)"
COLUMNS = ["query_id", "doc_id", "relevance", "iteration"]
QRELS = pd.DataFrame(
    [("q", "a", 1, "x"), ("q", "c", 1, "y"), ("q", "b", 0, "x"), ("r", "b", 1, "one"), ("r", "a", 0, "two")],
    columns=COLUMNS,
)
SHARES = {"q": {"x": 0.25, "y": 0.45, "unjudged": 0.3}, "r": {"one": 0.9, "two": 0.1}}
USER = "CWLA(C='rbp(0.8)',A='etg',max_rel=1)"


@pytest.mark.slow
@pytest.mark.parametrize("sampling", ["plain", "antithetic", "stratified"])
@pytest.mark.parametrize("inner", ["ERR", CELL.format("inst(2)", "erg"), CELL.format("rbp(0.8)", "max"), "nDCG@5"])
def test_the_mean_of_the_users_is_the_measure(inner, sampling):
    run, qrels = diversity(7, GRADED)
    keep = qrels.query_id.isin(["1", "2", "3"])
    weights = given(qrels)
    for measure in (IntentAware(measure=inner), IntentAware(measure=inner, weights=weights)):
        found = quietly(qrels[keep], run, measure, users=20_000, sampling=sampling, seed=1)
        expected = evaluate(qrels[keep], run, [measure], by_query=True).droplevel("run").iloc[:, 0]
        for (_, query), row in found.by_query.iterrows():
            assert row["analytic"] == expected[query]
            assert row["score"] == pytest.approx(expected[query], abs=5 * row["error"] + 1e-12)
        p, mean = found.by_class["share"], found.by_class["score"]
        np.testing.assert_allclose(
            (p * mean).groupby("query_id").sum(), found.by_query["score"].droplevel("run").sort_index()
        )
        variance = found.by_query["score_sd"] ** 2 * (1 - 1 / 20_000)
        np.testing.assert_allclose(found.variance["total"], variance, rtol=1e-9, atol=1e-15)
    assert expected.max() > 0


@pytest.mark.slow
def test_shares_and_variance_within_and_between_intents():
    found = quietly(QRELS, RUNS, IntentAware(measure=USER, weights=SHARES), users=200_000, seed=3)
    grades = {
        ("one", "q"): {"x": (1, 0, 0), "y": (0, 0, 1), "no judged intent": (0, 0, 0)},
        ("other", "q"): {"x": (0, 1, 0), "y": (0, 0, 1), "no judged intent": (0, 0, 0)},
        ("one", "r"): {"one": (0, 1), "two": (0, 0)},
        ("other", "r"): {"one": (1, 0), "two": (0, 0)},
    }
    for pair, of_intents in grades.items():
        rows = found.by_class.loc[pair]
        shares = {"no judged intent": 0.3, **SHARES[pair[1]]}
        assert set(rows.index) == set(of_intents)
        p = np.array([shares[intent] for intent in of_intents])
        exact = np.array([moments(0.8, listed) for listed in of_intents.values()])
        np.testing.assert_allclose(rows.loc[[*of_intents], "share"], p, atol=0.005)
        np.testing.assert_allclose(rows.loc[[*of_intents], "score"], exact[:, 0], atol=0.01)
        mean = p @ exact[:, 0]
        assert found.by_query.loc[pair, "analytic"] == pytest.approx(mean)
        assert found.variance.loc[pair, "within"] == pytest.approx(p @ exact[:, 1], abs=0.01)
        assert found.variance.loc[pair, "between"] == pytest.approx(p @ (exact[:, 0] - mean) ** 2, abs=0.01)


def test_users_of_an_intent_are_users_of_the_inner_measure():
    """A user has the same draws as in a simulation with the judgments of the intent alone."""
    mixed = quietly(QRELS, RUNS["one"], IntentAware(measure=USER, weights=SHARES), users=500, keep=True).users("q")
    for intent in ("x", "y"):
        own = QRELS[(QRELS.query_id == "q") & (QRELS.iteration == intent)].drop(columns="iteration")
        alone = quietly(own, RUNS["one"], USER, users=500, keep=True).users()
        mine = mixed["class"] == intent
        assert mixed[mine].drop(columns="class").equals(alone[mine])
        assert mine.any()
    nothing = mixed["class"] == "no judged intent"
    assert nothing.any()
    assert (mixed.loc[nothing, ["gain", "score"]] == 0).all(axis=None)
    assert (mixed.loc[nothing, "items"] > 1).any()


def test_users_without_a_judged_intent_score_nothing_by_a_cost():
    """As in evaluate, where such an intent adds nothing."""
    measure = IntentAware(measure="CWLA(C='rbp(0.5)',A='items',max_rel=1)", weights=SHARES)
    found = quietly(QRELS, RUNS, measure, users=50_000)
    for _, row in found.by_query.iterrows():
        assert row["score"] == pytest.approx(row["analytic"], abs=5 * row["error"] + 1e-12)
    assert (found.by_class.xs("no judged intent", level="class")["score"] == 0).all()


def test_one_intent_is_the_measure_itself():
    qrels = QRELS[QRELS.iteration.isin(["x", "one"])]
    aware, alone = (quietly(qrels, RUNS, one, users=300) for one in (IntentAware(measure=USER), USER))
    pd.testing.assert_frame_equal(aware.by_query, alone.by_query)
    assert (aware.by_class["share"] == 1).all()


def test_preferences():
    found = prefer(QRELS, RUNS, IntentAware(measure="RR"), users=2_000, progress=False)
    assert found.first.value == pytest.approx(0.25, abs=0.03)  # users of intent x of query q see it first in one
    assert found.second.value == pytest.approx(0.5, abs=0.03)  # users of query r


def test_errors():
    for measure in (IntentAware(measure="Bpref"), Mixture(measures={"a": "IntentAware(measure=RR)"})):
        refused(partial(quietly, QRELS, RUNS, measure), BadParameter, "follows no user model")
    refused(lambda: quietly(QRELS, RUNS, "IntentAware"), BadParameter, "IntentAware needs measure=")
    timed = IntentAware(measure=TBG(lengths={"a": 1, "b": 1, "c": 1}))
    refused(lambda: simulated_log(QRELS, RUNS["one"], timed), BadParameter, "a log has one class of users")
    refused(lambda: quietly(QRELS, RUNS, IntentAware(measure="RR"), users=0), BadParameter, "give a number of users")
