"""Explanations of intent-aware measures: columns that add up to the score, by intent and in total."""

import numpy as np
import pandas as pd
import pytest

from pyterrier_cwla import TBG, IntentAware, evaluate, explain
from pyterrier_cwla.errors import BadParameter
from pyterrier_cwla.evaluation import stop_distribution
from tests.measures.test_intents import GRADED, diversity, given
from tests.support import reference
from tests.support.messages import refused

CELL = "CWLA(C='{}',A='{}',max_rel=3)"
MEASURES = ["ERR", "AP", "TBG@10", "nDCG@5", "INST(max_rel=3)", CELL.format("rbp(0.9)", "max"), "P@40", "RBP(rel=1)"]


def with_an_unjudged_intent(qrels):
    """Return shares by query, of which 0.3 are of an intent without judgments."""
    return {
        query: {**{intent: 0.7 * p for intent, p in intents.items()}, "unjudged": 0.3}
        for query, intents in given(qrels).items()
    }


def of_shares(inner, weights, qrels):
    tables = {"given": given, "unjudged": with_an_unjudged_intent}
    return IntentAware(measure=inner, weights=tables[weights](qrels) if weights in tables else "uniform")


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["uniform", "given", "unjudged"])
@pytest.mark.parametrize("inner", MEASURES)
def test_columns_add_up_to_the_score(inner, weights):
    run, qrels = diversity(4, GRADED)
    measure = of_shares(inner, weights, qrels)
    scores = evaluate(qrels, run, [measure], by_query=True).droplevel("run").iloc[:, 0]
    for query in ("2", "3", "4", "7"):
        found = explain(qrels, run, query, measure)
        assert found.score == pytest.approx(scores[query], abs=1e-12)
        table, totals = found.table, found.totals
        assert table["adds"].sum() + totals.loc["total", "beyond"] == pytest.approx(scores[query], abs=1e-12)
        assert totals.loc["total", "share"] == pytest.approx(1)
        for intent in found.shares:
            row = totals.loc[intent]
            assert table[f"adds: {intent}"].sum() + row["beyond"] == pytest.approx(row["adds"], abs=1e-12)
        assert ("no judged intent" in found.shares) == (weights == "unjudged")
    assert scores.max() > 0


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["uniform", "given", "unjudged"])
@pytest.mark.parametrize("inner", ["ERR", "INST(max_rel=3)", CELL.format("rbp(0.8)", "erg")])
def test_users_stop_where_stop_distribution_says(inner, weights):
    run, qrels = diversity(5, GRADED)
    measure = of_shares(inner, weights, qrels)
    stops = stop_distribution(qrels, run, measure)
    for query in stops.index[:4]:
        found = explain(qrels, run, query, measure).table["L"].iloc[:20]
        np.testing.assert_allclose(found, stops.loc[query, [*found.index]].astype(float), atol=1e-12)


@pytest.mark.slow
def test_the_explanation_of_an_intent_is_that_of_its_judgments_alone():
    run, qrels = diversity(6, GRADED)
    shares = given(qrels)
    found = explain(qrels, run, "3", IntentAware(measure="ERR", weights=shares))
    assert found.shares == pytest.approx(shares["3"])
    for intent, one in found.explanations.items():
        alone = explain(qrels[qrels.iteration == intent], run, "3", "ERR")
        pd.testing.assert_frame_equal(one.table, alone.table)
        assert found.totals.loc[intent, "score"] == alone.score


@pytest.mark.slow
def test_worked_example_by_loops():
    """ERR-IA of two intents (Chapelle et al., 2009, section 7.5), with grades 1 of 4 levels and R = (2^g − 1)/2^4."""
    judged = [("q", "a", 4, "x"), ("q", "b", 2, "y"), ("q", "a", 0, "y"), ("q", "c", 3, "y")]
    qrels = pd.DataFrame(judged, columns=["query_id", "doc_id", "relevance", "iteration"])
    run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    measure = IntentAware(measure="ERR", weights={"q": {"x": 0.25, "y": 0.75}})
    found = explain(qrels, run, "q", measure)
    grades = {"x": [4, None, None], "y": [0, 2, 3]}
    parts = {"C": ("rr", {}), "A": ("err", {}), "gain": ("exponential", {}), "max_rel": 4}
    for intent, listed in grades.items():
        expected = reference.score(listed, judged=[one for one in listed if one], words=[1] * 3, **parts)
        assert found.explanations[intent].score == pytest.approx(expected)
    R = {4: 15 / 16, 2: 3 / 16, 3: 7 / 16}
    adds = [0.25 * R[4], 0.75 * R[2] / 2, 0.75 * (1 - R[2]) * R[3] / 3]
    assert found.table["adds"].tolist() == pytest.approx(adds)
    assert found.table["V"].tolist() == pytest.approx([1, 0.25 * (1 - R[4]) + 0.75, 0.25 / 16 + 0.75 * (1 - R[2])])
    assert found.table["grade: y"].tolist() == [0, 2, 3]
    assert np.isnan(found.table["grade: x"].iloc[1:]).all()
    assert "adds: y" in str(found)
    assert "grade: x" in found._repr_html_()


def test_users_who_find_nothing_add_nothing():
    """Without a relevant document of any intent, no intent has users; nor does a cost count, as in evaluate."""
    qrels = pd.DataFrame(
        [("q", "a", 0, "x"), ("q", "b", 0, "y")], columns=["query_id", "doc_id", "relevance", "iteration"]
    )
    run = {"q": {"a": 2.0, "b": 1.0}}
    for inner in ("ERR", "CWLA(C='rbp(0.5)',A='items',max_rel=1)"):
        measure = IntentAware(measure=inner)
        found = explain(qrels, run, "q", measure)
        assert list(found.shares) == ["no judged intent"]
        assert found.score == 0 == evaluate(qrels, run, [measure]).iloc[0, 0]
        assert (found.table["adds"] == 0).all()
        assert found.totals.loc["total", "beyond"] == 0
        assert found.table["V"].iloc[0] == 1


@pytest.mark.slow
def test_lengths_and_on_the_command_line(tmp_path, prints, says, monkeypatch):
    run, qrels = diversity(4)
    words = dict(zip(run.doc_id, run.doc_length.tolist(), strict=True))
    pair = [explain(qrels, run, "3", IntentAware(measure=one)) for one in (TBG, TBG(lengths=words))]
    pd.testing.assert_frame_equal(pair[0].table, pair[1].table)
    lines = [f"{q} {t} {d} {g}\n" for q, d, g, t in qrels.itertuples(index=False)]
    (tmp_path / "qrels").write_text("".join(lines))
    lines = [f"{q} Q0 {d} 0 {s!r} tag\n" for q, d, s in zip(run.query_id, run.doc_id, run.score.tolist(), strict=True)]
    (tmp_path / "run").write_text("".join(lines))
    paths = [tmp_path / "qrels", tmp_path / "run"]
    monkeypatch.setenv("COLUMNS", "200")  # narrower terminals show fewer columns
    asked = ["-q", "3", "-m", "IntentAware(measure='RR')"]
    shown = prints("explain", *paths, *asked)
    assert "adds: 2" in shown
    assert "total" in shown
    assert "two runs side by side need" in says("explain", *paths, paths[1], *asked)


def test_errors():
    run, qrels = diversity(4)

    def ask(measure="IntentAware(measure='RR')", query="3", run=run):
        return lambda: explain(qrels, run, query, measure)

    refused(ask(run={"one": run, "other": run}), BadParameter, "two runs side by side need")
    condensed = IntentAware(measure=TBG(judged_only=True))
    refused(ask(condensed), BadParameter, "the users of each intent see another ranking")
    for measure in (IntentAware(measure="Bpref"), "GeometricMean(measure=\"IntentAware(measure='RR')\")"):
        refused(ask(measure), BadParameter, "follows no user model")
    refused(ask(query="33"), BadParameter, "no query '33' in the judgments")
    refused(ask(query=3), BadParameter, "the query 3 must be a string")
    refused(ask(run=run[run.query_id != "3"]), BadParameter, "has no documents for query '3'")
