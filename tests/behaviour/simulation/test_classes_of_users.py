"""Simulated users of several classes (mixtures, intents, topics): scores and variances, against exact values and loops."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from pyterrier_cwla import TBG, ByTopic, IntentAware, Mixture, evaluate
from pyterrier_cwla.behaviour import calibrate
from pyterrier_cwla.behaviour.simulation.expectations import prefer
from pyterrier_cwla.behaviour.simulation.simulator import simulated_log
from pyterrier_cwla.behaviour.simulation.user_paths import Luck
from pyterrier_cwla.errors import BadParameter
from pyterrier_cwla.rendering.numbers import percent
from tests.behaviour.simulation.test_simulator import quietly
from tests.support.messages import refused

QRELS = {"q": {"a": 1, "c": 1}, "r": {"b": 1, "x": 1}}
RUNS = {
    "one": {"q": {"a": 4.0, "b": 3.0, "c": 2.0}, "r": {"a": 2.0, "b": 1.0}},
    "other": {"q": {"b": 4.0, "a": 3.0, "c": 2.0}, "r": {"b": 2.0, "a": 1.0}},
}
CELL = "CWLA(C='{}',A='{}',max_rel=1)"
HASTY = CELL.format("rbp(0.2)", "etg")
PATIENT = CELL.format("rbp(0.9)", "etg")
BOTH = Mixture(measures={"hasty": HASTY, "patient": PATIENT}, weights={"hasty": 0.25, "patient": 0.75})
USER = CELL.format("rbp(0.8)", "etg")
INTENTS = pd.DataFrame(
    [("q", "a", 1, "x"), ("q", "c", 1, "y"), ("q", "b", 0, "x"), ("r", "b", 1, "one"), ("r", "a", 0, "two")],
    columns=["query_id", "doc_id", "relevance", "iteration"],
)
SHARES = {"q": {"x": 0.25, "y": 0.45, "unjudged": 0.3}, "r": {"one": 0.9, "two": 0.1}}


@pytest.mark.parametrize("sampling", ["plain", "antithetic", "stratified"])
@pytest.mark.parametrize(("qrels", "measure"), [(QRELS, BOTH), (INTENTS, IntentAware(measure=USER, weights=SHARES))])
def test_scores_and_variances_are_those_of_the_users(qrels, measure, sampling):
    found = quietly(qrels, RUNS, measure, users=4000, keep=True, sampling=sampling)
    row = found.by_query
    assert row["analytic"].tolist() == evaluate(qrels, RUNS, [measure], by_query=True).iloc[:, 0].tolist()
    assert ((row["score"] - row["analytic"]).abs() <= 5 * row["error"] + 1e-12).all()
    users = found.users(run="other")
    groups = users.groupby(["query_id", "class"])["score"]
    shares = groups.size() / 4000
    overall = users.groupby("query_id")["score"].mean()
    within = (shares * groups.var(ddof=0)).groupby("query_id").sum()
    between = (shares * groups.mean().sub(overall, level="query_id") ** 2).groupby("query_id").sum()
    variance, by_class = found.variance.loc["other"], found.by_class.loc["other"].sort_index()
    np.testing.assert_allclose(variance["within"], within, rtol=1e-12)
    np.testing.assert_allclose(variance["between"], between, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(variance["total"], users.groupby("query_id")["score"].var(ddof=0), rtol=1e-12)
    np.testing.assert_allclose(by_class["share"], shares, rtol=1e-12)
    np.testing.assert_allclose(by_class["items"], users.groupby(["query_id", "class"])["items"].mean(), rtol=1e-12)
    assert list(by_class.index.names) == ["query_id", "class"]
    expected = SHARES["q"] if measure != BOTH else BOTH.params["weights"]
    given = [expected.get(name, 0.3) for name in by_class.loc["q"].index]
    assert by_class.loc["q", "share"].tolist() == pytest.approx(given, abs=0.03)
    mean = found.variance.groupby("run").mean()
    low, high = sorted((mean["between"] / mean["total"]).tolist())
    shown = f"{percent(low, 0)} to {percent(high, 0)}"
    assert f"{shown} of the variance of the scores is between the classes" in found.notes[-1]


def test_users_of_a_class_are_users_of_its_measure():
    """A user has the same draws as in a simulation of the measure of the class alone."""
    mixed = quietly(QRELS, RUNS["one"], BOTH, users=500, keep=True).users()
    for name, measure in BOTH.parts.items():
        alone = quietly(QRELS, RUNS["one"], measure, users=500, keep=True).users()
        mine = mixed["class"] == name
        assert mixed[mine].drop(columns="class").equals(alone[mine])
        assert mine.any()


@pytest.mark.slow
def test_users_who_click_and_mixtures_of_mixtures():
    words = {"a": 900, "b": 300, "c": 100, "x": 50}
    inner = Mixture(measures={"slow": TBG(half_life=600, lengths=words), "fast": TBG(half_life=30, lengths=words)})
    outer = Mixture(measures={"mixed": inner, "usual": TBG(lengths=words)}, weights={"mixed": 0.8, "usual": 0.2})
    found = quietly(QRELS, RUNS, outer, users=20_000, reading="exponential")
    assert found.reading == "exponential"
    assert found.unit == "seconds"
    shares = found.by_class["share"].groupby("class").mean()
    expected = {"mixed / slow": 0.4, "mixed / fast": 0.4, "usual": 0.2}
    assert shares.to_dict() == pytest.approx(expected, abs=0.02)
    assert (found.by_query["score"] >= found.by_query["analytic"] - 5 * found.by_query["error"]).all()
    same = quietly(QRELS, RUNS, outer, users=20_000, reading="exponential", n_jobs=2)
    assert same.by_query.equals(found.by_query)
    assert same.by_class.equals(found.by_class)


def test_a_class_without_users_and_users_of_one_score():
    found = quietly(QRELS, RUNS, BOTH(weights={"hasty": 0, "patient": 1}), users=50)
    alone = quietly(QRELS, RUNS, PATIENT, users=50)
    assert found.by_query.equals(alone.by_query)
    assert found.by_class.xs("hasty", level="class")["score"].isna().all()
    assert (found.variance["between"] == 0).all()
    still = quietly(QRELS, RUNS, Mixture(measures={"a": "P@1", "b": "P@1"}), users=10)
    assert still.notes[-1] == "All users of a run have the same score."


def test_drawn_classes_have_the_shares():
    for shares in ([0.2, 0.3, 0.5], [0, 1], [1, 0], [0.5, 0, 0.5], [1 / 3] * 3):
        drawn = Luck("q", 0, 30_000, 1, "plain").chosen(np.array(shares))
        np.testing.assert_allclose(np.bincount(drawn, minlength=len(shares)) / 30_000, shares, atol=0.01)
        assert not np.isin(np.flatnonzero(np.equal(shares, 0)), drawn).any()


def test_users_of_topics():
    """Each topic has the users of its own measure, alone and within a mixture."""
    parameters = {"q": {"p": 0.2}, "r": {"p": 0.9}}
    measure = ByTopic(measure="RBP(rel=1)", parameters=parameters)
    found = quietly(QRELS, RUNS, measure, users=2_000)
    alone = {qid: quietly(QRELS, RUNS, measure.parts[qid], users=2_000).by_query for qid in parameters}
    for run, qid in found.by_query.index:
        assert found.by_query.loc[run, qid].equals(alone[qid].loc[run, qid])
    assert found.measure == "ByTopic(measure='RBP(rel=1)')"
    mixed = quietly(QRELS, RUNS, Mixture(measures={"own": measure, "usual": "RBP(p=0.5,rel=1)"}), users=5_000)
    assert mixed.by_class.index.get_level_values("class").unique().tolist() == ["own", "usual"]
    difference = (mixed.by_query["score"] - mixed.by_query["analytic"]).abs()
    assert (difference <= 5 * mixed.by_query["error"]).all()


@pytest.mark.slow
def test_calibrations_of_simulated_topics_are_recovered():
    """Logs of users with a half-life by topic lead back to the half-lives, and to the score."""
    words = {f"d{number}": 300.0 for number in range(300)}
    qrels = {qid: {document: int(number % 3 == 0) for number, document in enumerate(words)} for qid in ("q", "r")}
    run = {qid: {document: -float(number) for number, document in enumerate(words)} for qid in ("q", "r")}
    truth = ByTopic(measure=TBG(lengths=words), parameters={"q": {"half_life": 90}, "r": {"half_life": 400}})
    log = simulated_log(qrels, run, truth, users=3_000, seed=2)
    found = calibrate(log, by="topic", min_clicks=1, depth="seen", resamples=1, shapes=["exponential"])
    half_lives = found.parameters["half_life"]
    assert half_lives.loc["q"] == pytest.approx(90, rel=0.15)
    assert half_lives.loc["r"] == pytest.approx(400, rel=0.15)
    calibrated = ByTopic(measure=TBG(lengths=words), parameters=found)
    scores = evaluate(qrels, run, {"truth": truth, "calibrated": calibrated}, by_query=True)
    np.testing.assert_allclose(scores["calibrated"], scores["truth"], rtol=0.15)


@pytest.mark.parametrize("inner", [USER, "ERR", "nDCG@5"])
def test_users_of_an_intent_are_users_of_the_inner_measure(inner):
    """A user has the same draws as in a simulation with the judgments of the intent alone."""
    measure = IntentAware(measure=inner, weights=SHARES)
    mixed = quietly(INTENTS, RUNS["one"], measure, users=500, keep=True).users("q")
    for intent in ("x", "y"):
        own = INTENTS[(INTENTS.query_id == "q") & (INTENTS.iteration == intent)].drop(columns="iteration")
        alone = quietly(own, RUNS["one"], inner, users=500, keep=True).users()
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
    found = quietly(INTENTS, RUNS, measure, users=50_000)
    for _, row in found.by_query.iterrows():
        assert row["score"] == pytest.approx(row["analytic"], abs=5 * row["error"] + 1e-12)
    assert (found.by_class.xs("no judged intent", level="class")["score"] == 0).all()


def test_preferences_of_classes():
    compared = partial(prefer, users=2_000, progress=False)
    hasty, patient = (compared(QRELS, RUNS, part).second.value for part in BOTH.parts.values())
    assert compared(QRELS, RUNS, BOTH).second.value == pytest.approx(0.25 * hasty + 0.75 * patient, abs=0.03)
    found = compared(INTENTS, RUNS, IntentAware(measure="RR"))
    assert found.first.value == pytest.approx(0.25, abs=0.03)  # users of intent x of query q see it first in one
    assert found.second.value == pytest.approx(0.5, abs=0.03)  # users of query r


def test_errors():
    words = {"a": 900, "b": 300, "c": 100, "x": 50}
    for timed in (Mixture(measures={"a": TBG(lengths=words)}), IntentAware(measure=TBG(lengths=words))):
        says = "a log has one class of users; simulate one log for the measure of each"
        refused(partial(simulated_log, INTENTS, RUNS["one"], timed), BadParameter, says)
    says = "has one class of users; give a Mixture for variances between classes"
    refused(lambda: quietly(QRELS, RUNS, HASTY, users=10).variance, BadParameter, says)
    for measure in (IntentAware(measure="Bpref"), Mixture(measures={"a": "IntentAware(measure=RR)"})):
        refused(partial(quietly, INTENTS, RUNS, measure), BadParameter, "follows no user model")
    refused(lambda: quietly(INTENTS, RUNS, "IntentAware"), BadParameter, "IntentAware needs measure=")
