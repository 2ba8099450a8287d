"""The stop distribution: L(i) = V(i)·(1 − C(i)), Moffat et al. (2022), Eq. 5."""

import numpy as np
import pytest
from generated import collection

from pyterrier_cwla import CWLA, TBG, explain, stop_distribution
from pyterrier_cwla.errors import BadParameter

MEASURES = {
    "AdaptiveERR(max_rel=3)": lambda i, grade, G: 1 - (2 ** max(grade, 0) - 1) / 8,
    "CWLA(C='rbp(0.8)',A='erg',max_rel=3)": lambda i, grade, G: 0.8,
    "CWLA(C='inst(2)',A='erg',max_rel=3)": lambda i, grade, G: ((i + 3 - G / 3) / (i + 4 - G / 3)) ** 2,
    "P@7": lambda i, grade, G: float(i < 7),
}


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("depth", [None, 5, 45])
def test_against_loops(name, depth):
    """Rank by rank, on the list and below it."""
    frames = collection(4, queries=8)
    found = stop_distribution(frames.qrels, frames.run, name, depth=depth)
    assert list(found.columns) == [*range((depth or 30) + 1), "later"]
    grades = {(q, d): g for q, d, g in frames.qrels.itertuples(index=False)}
    answered = {*frames.run.query_id} & {*frames.qrels.query_id}
    assert {*found.index} == answered
    for query in answered:
        run = frames.run[frames.run.query_id == query]
        ranking = [d for _, d in sorted(zip(np.float32(run.score), run.doc_id, strict=True), reverse=True)]
        V, G = 1.0, 0
        for i in range(1, (depth or 30) + 1):
            grade = grades.get((query, ranking[i - 1]), 0) if i <= len(ranking) else 0
            G += max(grade, 0)
            C = MEASURES[name](i, grade, G)
            assert found.loc[query, i] == pytest.approx(V * (1 - C), abs=1e-12)
            V *= C
        assert found.loc[query, "later"] == pytest.approx(V, abs=1e-12)
    assert found[0].eq(0).all()


def test_rows_sum_to_one_and_are_what_explain_shows():
    frames = collection(9, lengths=True)
    for measure in (
        TBG,
        TBG @ 5,
        "UMeasure(T=120,max_rel=3,effort='ratio(4)')",
        "RR",
        CWLA(C="ap1", A="erg", max_rel=3, end="stop"),
    ):
        found = stop_distribution(frames.qrels, frames.run, measure)
        np.testing.assert_allclose(found.sum(axis=1), 1)
        query = found.index[3]
        table = explain(frames.qrels, frames.run, query, measure).table
        np.testing.assert_allclose(found.loc[query, list(table["rank"])], table["L"], atol=1e-12)


def test_who_has_no_patience_leaves_before_the_first():
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 2.0, "b": 1.0}}
    found = stop_distribution(qrels, run, "UMeasure(T=4,max_rel=1,effort='unit')", depth=4)
    assert found.loc["q"].tolist() == pytest.approx([0.25, 0.25, 0.25, 0.25, 0, 0])


@pytest.mark.parametrize("measure", ["NumRel", "Residual(measure='TBG')", "SetP"])
def test_what_follows_no_user_model(measure):
    with pytest.raises(BadParameter, match="follows no user model"):
        stop_distribution({"q": {"a": 1}}, {"q": {"a": 1.0}}, measure)
