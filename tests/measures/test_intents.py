"""Intent-aware measures: Σ_t P(t|q)·M_t (Chapelle et al., 2009, 7.5), each M_t with the judgments of one intent."""

import pickle
import subprocess
import sys

import ir_measures
import numpy as np
import pandas as pd
import pytest
from ir_measures import INST, RR

from pyterrier_cwla import CWLA, TBG, GeometricMean, IntentAware, evaluate
from pyterrier_cwla.data import register_intent_weights
from pyterrier_cwla.errors import BadJudgments, BadParameter
from tests.measures.test_equations import topics
from tests.support import reference
from tests.support.generated import Collection, collection
from tests.support.messages import refused

GRADED = (-1, 0, 0, 1, 2, 3)


def diversity(seed: int, grades=(0, 0, 1), ties=False) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a run and judgments of one to four intents per query. Some intents have no relevant documents."""
    frames = collection(seed, queries=9, ties=ties, lengths=True)
    rng = np.random.default_rng(seed)
    rows = []
    for query in map(str, range(1, 9)):
        for intent in range(1 + int(query) % 4):
            documents = rng.permutation([f"d{number}" for number in range(60)])[:20]
            rows += [(query, document, int(rng.choice(grades)) * (intent < 3), str(intent)) for document in documents]
    qrels = pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance", "iteration"])
    return frames.run, qrels.sample(frac=1, random_state=seed).reset_index(drop=True)


def by_query(qrels, run, measure) -> dict[str, float]:
    return evaluate(qrels, run, [measure], by_query=True).droplevel("run").iloc[:, 0].to_dict()


def slow(qrels, run, weights, **parts) -> dict[str, float]:
    """Return the value from loops over queries, intents and ranks."""
    values = dict.fromkeys(qrels.query_id, 0.0)
    for intent, judged in qrels.groupby("iteration"):
        for query, topic in topics(Collection(run, judged)):
            if topic.n:
                score = reference.score(topic.grades, judged=topic.judged, words=topic.words, **parts)
                values[query] += weights[query].get(intent, 0) * score
    return values


def uniform(qrels) -> dict[str, dict[str, float]]:
    relevant = qrels[qrels.relevance > 0].groupby("query_id").iteration.unique()
    return {query: {t: 1 / len(relevant[query]) for t in relevant[query]} for query in relevant.index}


def given(qrels, seed=1) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(seed)
    intents = qrels.groupby("query_id").iteration.unique()
    shares = {query: rng.dirichlet(np.ones(len(intents[query]))) for query in intents.index}
    return {query: dict(zip(intents[query], shares[query].tolist(), strict=True)) for query in intents.index}


INST_2 = {"C": ("inst", {"T": 2}), "A": ("erg", {}), "gain": ("linear", {}), "max_rel": 3}
CASES = {
    "TBG": (TBG, {"C": ("decay", {}), "A": ("etg", {}), "gain": ("clicksave", {}), "effort": ("time", {})}),
    "INST": (CWLA(C="inst(2)", A="erg", max_rel=3), INST_2),
    "INST over 1000 ranks": (INST(T=2.0, max_rel=3), {**INST_2, "end": 1000}),
    "ERR": (
        CWLA(C="rr", A="err", gain="exponential", max_rel=3),
        {"C": ("rr", {}), "A": ("err", {}), "gain": ("exponential", {}), "max_rel": 3},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("make", [uniform, given])
def test_any_measure_of_ours(name, make):
    run, qrels = diversity(11, GRADED)
    weights = {query: {} for query in qrels.query_id.unique()} | make(qrels)
    measure, parts = CASES[name]
    found = by_query(qrels, run, IntentAware(measure=measure, weights="uniform" if make is uniform else weights))
    assert found == pytest.approx(slow(qrels, run, weights, **parts), abs=1e-10)
    assert max(found.values()) > 0


def test_names_that_no_two_queries_share():
    run, qrels = diversity(6)
    other = qrels.assign(iteration=qrels.query_id + "/" + qrels.iteration)
    for make in (lambda qrels: "uniform", given):
        found = [by_query(q, run, IntentAware(measure="AP", weights=make(q))) for q in (qrels, other)]
        assert found[0] == pytest.approx(found[1], abs=1e-12)


def test_intents_of_some_queries_only():
    """Only query 3 has a second intent. Intents without judgments or relevant documents contribute 0."""
    qrels = pd.DataFrame(
        [("3", "b", 1, "y"), ("1", "a", 1, "x"), ("2", "a", 0, "x"), ("3", "a", 1, "x"), ("3", "c", -1, "z")],
        columns=["query_id", "doc_id", "relevance", "iteration"],
    )
    run = {q: {"a": 3.0, "b": 2.0} for q in "123"}
    assert by_query(qrels, run, "IntentAware(measure='RR')") == {"3": 0.75, "1": 1, "2": 0}
    weights = {"1": {"x": 0.4, "unjudged": 0.6}, "2": {"x": 1}, "3": {"x": 0.5, "y": 0.2, "z": 0.3}}
    found = by_query(qrels, run, IntentAware(measure="RR", weights=weights))
    assert found == pytest.approx({"3": 0.5 + 0.2 / 2, "1": 0.4, "2": 0})


def test_plain_measures_stand_beside_where_no_pair_is_judged_twice():
    run, qrels = diversity(8)
    unique = qrels.drop_duplicates(["query_id", "doc_id"])
    both = evaluate(unique, run, ["AP", IntentAware(measure="AP"), "nDCG@10"], by_query=True)
    plain = evaluate(unique.drop(columns="iteration"), run, ["AP", "nDCG@10"], by_query=True)
    pd.testing.assert_frame_equal(both[["AP", "nDCG@10"]], plain)
    assert (both.iloc[:, 1] != both["AP"]).any()


def test_forms_of_weights_are_one_measure():
    run, qrels = diversity(2)
    weights = given(qrels)
    frame = pd.DataFrame(
        [(query, intent, p) for query, intents in weights.items() for intent, p in intents.items()],
        columns=["qid", "intent", "weight"],
    )
    measures = [IntentAware(measure="RR", weights=form) for form in (weights, frame)]
    assert measures[0] == measures[1]
    named = IntentAware(measure="RR", weights=register_intent_weights("of_tests", weights).name)
    assert str(named) == "IntentAware(measure='RR',weights='of_tests')"
    for measure in (*measures, named, IntentAware(measure="TBG @ 10")):
        assert ir_measures.parse_measure(repr(measure)) == measure == pickle.loads(pickle.dumps(measure))
    values = [by_query(qrels, run, measure) for measure in (*measures, named, pickle.loads(pickle.dumps(measures[0])))]
    assert values[0] == values[1] == values[2] == values[3]


@pytest.mark.slow
def test_a_table_without_a_name_goes_to_other_processes(tmp_path):
    run, qrels = diversity(2)
    measure = IntentAware(measure=TBG, weights=given(qrels))
    (tmp_path / "all").write_bytes(pickle.dumps((measure, qrels, run)))
    program = (
        "import pickle, pyterrier_cwla; measure, *frames = pickle.load(open('all', 'rb'));"
        "print(measure, repr(pyterrier_cwla.evaluate(*frames, [measure]).iloc[0, 0].item()))"
    )
    found = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == f"{measure} {evaluate(qrels, run, [measure]).iloc[0, 0].item()!r}"


def test_errors():
    run, qrels = diversity(1)
    weights = given(qrels)

    def ask(qrels=qrels, weights="uniform"):
        return lambda: evaluate(qrels, run, [IntentAware(measure=RR, weights=weights)])

    refused(lambda: evaluate(qrels, run, ["AP"]), BadJudgments, "is judged twice (for intents, use IntentAware)")
    twice = pd.concat([qrels, qrels[qrels.relevance > 0][:1]])
    refused(ask(twice), BadJudgments, "is judged twice: keep one row")
    numbers = qrels.assign(iteration=[1, "1"] * (len(qrels) // 2))
    refused(ask(numbers), BadJudgments, "iteration of the judgments must be strings or whole numbers")
    without = qrels.drop(columns="iteration").drop_duplicates(["query_id", "doc_id"])
    refused(ask(without), BadJudgments, "have no column 'iteration'")
    less = {query: shares for query, shares in weights.items() if query != "3"}
    refused(ask(weights=less), BadJudgments, "have no entry for 1 of 8 topics")
    refused(ask(weights=less | {"3": {"0": 1}}), BadJudgments, "topic '3': the judged intent '1' has no weight")
    for odd, says in (
        (less | {"3": {"0": 0.5}}, "topic '3': the probabilities of its intents sum to"),
        ({"3": {"0": -1, "1": 2}}, "weight -1: a probability must be"),
        ("uniformly", "no table of intents' probabilities 'uniformly'"),
        (__file__, "no table of intents' probabilities"),
        *(
            (odd, "are {query: {intent: p}} or a DataFrame, not")
            for odd in (None, 5, {"3": 0.5}, pd.Series({"3": 1.0}))
        ),
        *(({"3": {"0": odd}}, "topic '3', intent '0': weight") for odd in ("1", None, float("nan"))),
    ):
        refused(lambda odd=odd: IntentAware(measure=RR, weights=odd), BadParameter, says)
    of_means = GeometricMean(measure=RR)
    refused(
        lambda: IntentAware(measure=of_means), BadParameter, "not itself a mean over intents or queries", "not Geom"
    )
    odd = pd.DataFrame({"qid": ["1"], "p": [1.0]})
    refused(lambda: register_intent_weights("odd", odd), BadParameter, "a table of intents has columns")


def test_a_name_that_means_two_tables():
    run, qrels = diversity(1)
    measures = []
    for seed in (1, 2):
        register_intent_weights("twice", given(qrels, seed))
        measures.append(IntentAware(measure="RR", weights="twice"))
    for both in (measures, [GeometricMean(measure=measure) for measure in measures]):
        refused(lambda both=both: evaluate(qrels, run, both), BadParameter, "two measures are called", "and differ")


def test_no_judgments_at_all():
    run, qrels = diversity(1)
    for measure in (IntentAware(measure="AP"), IntentAware(measure="AP", weights=given(qrels))):
        refused(lambda measure=measure: by_query(qrels[:0], run, measure), BadJudgments, "the judgments are empty")
