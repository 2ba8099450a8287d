"""Stop distribution: L(i) = V(i)·(1 − C(i)), Moffat et al. (2022), Eq. 5."""

import numpy as np
import pandas as pd
import pytest

from pyterrier_cwla import CWLA, TBG, IntentAware, Mixture, explain
from pyterrier_cwla.errors import BadParameter
from pyterrier_cwla.evaluation import plot_stops, stop_distribution
from pyterrier_cwla.rendering.numbers import percent
from tests.support.generated import collection
from tests.support.messages import refused

MEASURES = {
    "AdaptiveERR(max_rel=3)": lambda i, grade, G: 1 - (2 ** max(grade, 0) - 1) / 8,
    "CWLA(C='rbp(0.8)',A='erg',max_rel=3)": lambda i, grade, G: 0.8,
    "CWLA(C='inst(2)',A='erg',max_rel=3)": lambda i, grade, G: ((i + 3 - G / 3) / (i + 4 - G / 3)) ** 2,
    "P@7": lambda i, grade, G: float(i < 7),
    "INST(T=2,max_rel=3)": lambda i, grade, G: ((i + 3 - G / 3) / (i + 4 - G / 3)) ** 2 * (i < 1000),
}


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("depth", [None, 5, 45])
def test_against_loops(name, depth):
    """The reference computes each rank in turn, within the ranking and below it."""
    frames = collection(4, queries=8)
    found = stop_distribution(frames.qrels, frames.run, name, depth=depth)
    assert list(found.columns) == [*range((depth or 30) + 1), "later"]
    grades = {(q, d): g for q, d, g in frames.qrels.itertuples(index=False)}
    answered = {*frames.run.query_id} & {*frames.qrels.query_id}
    assert {*found.index} == answered
    for query in answered:
        run = frames.run[frames.run.query_id == query]
        ranking = [d for _, d in sorted(zip(np.float32(run.score), run.doc_id, strict=True), reverse=True)]
        expected = walked(MEASURES[name], [grades.get((query, d), 0) for d in ranking], depth or 30)
        assert found.loc[query].tolist() == pytest.approx([0, *expected], abs=1e-12)


def walked(C, grades, depth) -> list[float]:
    """Return the shares of users who stop at ranks 1 to depth, and later."""
    stops, V, G = [], 1.0, 0
    for i in range(1, depth + 1):
        grade = grades[i - 1] if i <= len(grades) else 0
        G += max(grade, 0)
        stops.append(V * (1 - C(i, grade, G)))
        V *= C(i, grade, G)
    return [*stops, V]


@pytest.mark.parametrize(
    "weights", ["uniform", {"q": {"a": 0.25, "b": 0.5, "unjudged": 0.25}, "none": {"a": 0.5, "b": 0.5}}]
)
def test_intent_aware(weights):
    """Chapelle et al. (2009), section 7.5: Σ_t P(t|q)·R_r^t·Π_{i<r}(1 − R_i^t), with 0.25 and 0.75 for grades 1 and 2."""
    judged = [("q", "d1", 1, "a"), ("q", "d3", 2, "a"), ("q", "d3", 1, "b")]
    judged += [("none", "d1", 0, "a"), ("none", "d2", 0, "b")]
    qrels = pd.DataFrame(judged, columns=["query_id", "doc_id", "relevance", "iteration"])
    run = {query: {"d1": 3.0, "d2": 2.0, "d3": 1.0} for query in ("q", "none")}
    ERR = CWLA(C="rr", A="err", gain="exponential", max_rel=2)
    found = stop_distribution(qrels, run, IntentAware(measure=ERR, weights=weights))
    a, b = [0.25, 0, 0.75 * 0.75, 0.75 * 0.25], [0, 0, 0.25, 0.75]
    shares = (0.5, 0.5, 0) if weights == "uniform" else (0.25, 0.5, 0.25)
    expected = [shares[0] * one + shares[1] * other for one, other in zip(a, b, strict=True)]
    assert found.loc["q"].tolist() == pytest.approx([0, *expected[:3], expected[3] + shares[2]], abs=1e-12)
    assert found.loc["none"].tolist() == [0, 0, 0, 0, 1]


@pytest.mark.parametrize("depth", [None, 3])
def test_a_mixture_is_the_mean_of_its_classes(depth):
    frames = collection(2)
    classes, shares = {"first": "P@2", "deep": "RBP(p=0.5,rel=1)"}, {"first": 0.25, "deep": 0.75}
    measure = Mixture(measures={"all": Mixture(measures=classes, weights=shares)}, label="users")
    found = stop_distribution(frames.qrels, frames.run, measure, depth)
    deepest = len(found.columns) - 2
    parts = [stop_distribution(frames.qrels, frames.run, part, deepest) for part in classes.values()]
    pd.testing.assert_frame_equal(found, 0.25 * parts[0] + 0.75 * parts[1], rtol=1e-12)
    assert found.attrs["measure"] == "users"
    assert deepest == (depth or 30)


@pytest.mark.parametrize(("measure", "depth", "shares"), [
    ("CWLA(C='rbp(0.5)',A='erg',max_rel=1,end=3)", 5, [0, 0.5, 0.25, 0.25, 0, 0, 0]),  # everybody leaves at the end
    ("UMeasure(T=4,max_rel=1,effort='unit')", 4, [0.25, 0.25, 0.25, 0.25, 0, 0]),  # some leave before the first
])  # fmt: skip
def test_shares_by_hand_of_answered_queries(measure, depth, shares):
    found = stop_distribution({"q": {"a": 1}, "lost": {"a": 1}}, {"q": {"a": 2.0, "b": 1.0}}, measure, depth=depth)
    assert found.index.tolist() == ["q"]
    assert found.loc["q"].tolist() == pytest.approx(shares)


def test_the_picture_says_of_whom_it_is():
    frames = collection(4, queries=8)
    found = stop_distribution(frames.qrels, frames.run, "AdaptiveERR(max_rel=3)", depth=12)
    ax = plot_stops(found)
    assert [bar.get_height() for bar in ax.patches] == pytest.approx(found.mean().iloc[1:-1].tolist())
    assert ax.get_xlabel() == "rank (documents)"
    assert ax.get_title(loc="left") == f"Where users of AdaptiveERR(max_rel=3) stop: mean of {len(found)} topics"
    assert [text.get_text() for text in ax.texts] == [f"{percent(found['later'].mean(), 1)} go on after rank 12"]
    assert plot_stops(found[:1], ax=ax).get_title(loc="left").endswith(f"topic {found.index[0]}")
    refused(lambda: plot_stops(found[:0]), BadParameter, "no topics")


def test_the_picture_ends_where_one_percent_of_the_users_are_left():
    run = {"q": {f"d{number}": -float(number) for number in range(200)}}
    found = stop_distribution({"q": {"d1": 1}}, run, "CWLA(C='rbp(0.8)',A='erg',max_rel=1)")
    ax = plot_stops(found)
    assert len(ax.patches) == 21  # 0.8^21 = 0.0092
    assert [text.get_text() for text in ax.texts] == ["0.9\N{NO-BREAK SPACE}% go on after rank 21"]


@pytest.mark.parametrize("depth", [0, -1, 2.5, "3"])
def test_a_depth_is_a_rank(depth):
    says = f"depth={depth!r}", ": give a rank"
    refused(lambda: stop_distribution({"q": {"a": 1}}, {"q": {"a": 1.0}}, "RR", depth=depth), BadParameter, *says)


def test_rows_sum_to_one_and_are_what_explain_shows():
    frames = collection(9, lengths=True)
    closed = CWLA(C="ap1", A="erg", max_rel=3, end="stop")
    for measure in (TBG, TBG @ 5, "UMeasure(T=120,max_rel=3,effort='ratio(4)')", "RR", closed):
        found = stop_distribution(frames.qrels, frames.run, measure)
        np.testing.assert_allclose(found.sum(axis=1), 1)
        query = found.index[3]
        table = explain(frames.qrels, frames.run, query, measure).table
        np.testing.assert_allclose(found.loc[query, list(table["rank"])], table["L"], atol=1e-12)


@pytest.mark.parametrize(
    "measure", ["NumRel", "Residual(measure='TBG')", "SetP", IntentAware(measure="Residual(measure='TBG')")]
)
def test_what_follows_no_user_model(measure):
    says = "follows no user model"
    refused(lambda: stop_distribution({"q": {"a": 1}}, {"q": {"a": 1.0}}, measure), BadParameter, says)
