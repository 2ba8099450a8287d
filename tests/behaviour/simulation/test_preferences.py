"""Tests of preferences of random users between two systems, against exact integrals over patience, and by symmetries."""

import math
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from pyterrier_cwla import TBG, explain
from pyterrier_cwla.behaviour.simulation.expectations import prefer
from pyterrier_cwla.behaviour.simulation.simulator import simulate
from pyterrier_cwla.errors import BadParameter
from tests.support.generated import collection
from tests.support.messages import refused


def quietly(*args, **more):
    return prefer(*args, progress=False, **more)


def integrated(qrels, one, other, query, measure):
    """Return the shares of users for whom each score is higher, and of ties; patience is uniform on [0, 1)."""
    tables = [explain(qrels, run, query, measure).table for run in (one, other)]
    edges = np.unique(np.concatenate([[0.0, 1.0], *(table["V"] for table in tables)]))
    shares = np.zeros(3)
    for low, high in pairwise(edges):
        scores = []
        for table in tables:
            seen = int((table["V"] > (low + high) / 2).sum())
            scores.append(table["A"].iloc[seen - 1] if seen else 0.0)
        difference = scores[0] - scores[1]
        shares[2 if abs(difference) < 1e-12 else 0 if difference > 0 else 1] += high - low
    return shares


@pytest.mark.slow
@pytest.mark.parametrize(
    "measure",
    ["CWLA(C='rbp(0.8)',A='etg',max_rel=3,end='stop')", "CWLA(C='inst(2)',A='avg',max_rel=3,end='stop')",
     "CWLA(C='cascade(0.95)',A='max',max_rel=3,gain='exponential',end='stop')"],
)  # fmt: skip
@pytest.mark.parametrize("sampling", ["plain", "antithetic", "stratified"])
def test_where_only_stopping_is_random_shares_are_integrals_over_patience(measure, sampling):
    frames = collection(5, queries=6, depth=12)
    other = collection(8, queries=6, depth=12).run
    users = 10_000 if sampling == "stratified" else 20_000
    found = quietly(frames.qrels, {"A": frames.run, "B": other}, measure, users=users, sampling=sampling)
    answered = [query for query in found.by_query.index if query != "1"]
    for query in answered:
        expected = integrated(frames.qrels, frames.run, other, query, measure)
        row = found.by_query.loc[query]
        allowed = 40 / users if sampling == "stratified" else 5 * np.sqrt(expected * (1 - expected) / users) + 1e-9
        assert (np.abs(row[["A", "B", "ties"]].to_numpy() - expected) <= allowed).all()
    assert found.by_query.loc["1", "ties"] == 1  # neither run has results for this query
    assert found.first.value == pytest.approx(found.by_query["A"].mean())
    assert found.first.low <= found.first.value <= found.first.high


@pytest.mark.slow
def test_shares_are_those_of_the_simulated_users():
    frames = collection(5, queries=6, lengths=True)
    other = collection(8, queries=6, lengths=True).run
    runs = {"A": frames.run, "B": other}
    found = quietly(frames.qrels, runs, TBG, users=1000, reading="gamma(2)", what="gain")
    simulated = simulate(
        frames.qrels, runs, TBG, users=1000, reading="gamma(2)", sampling="stratified", keep=True, progress=False
    )
    for query in found.by_query.index:
        A, B = (simulated.users(query, run)["gain"].to_numpy() for run in "AB")
        assert found.by_query.loc[query, ["A", "B", "ties"]].tolist() == pytest.approx(
            [np.mean(A > B), np.mean(A < B), np.mean(A == B)]
        )


def test_who_is_preferred_may_have_the_lower_mean():
    """A is better for the many users who see one result, B is much better for the few who see ten."""
    qrels = {"q": {"a": 1, **{f"b{i}": 1 for i in range(9)}}}
    A = {"q": {"a": 9.0, **{f"x{i}": -float(i) for i in range(9)}}}
    B = {"q": {"x": 9.0, **{f"b{i}": -float(i) for i in range(9)}}}
    measure = "CWLA(C='rbp(0.7)',A='etg',max_rel=1,end='stop')"
    found = quietly(qrels, {"A": A, "B": B}, measure)
    assert found.by_query.loc["q", ["A", "B", "ties"]].tolist() == pytest.approx([0.3, 0.49, 0.21], abs=1e-3)
    measure = "CWLA(C='rbp(0.6)',A='etg',max_rel=1,end='stop')"
    found = quietly(qrels, {"A": A, "B": B}, measure)
    means = simulate(qrels, {"A": A, "B": B}, measure, progress=False).mean["analytic"]
    assert found.first.value > found.second.value
    assert means["A"] < means["B"]


@pytest.mark.slow
def test_errors_and_intervals_shrink_as_they_should():
    frames = collection(5, queries=12, lengths=True)
    other = collection(8, queries=12, lengths=True).run
    runs = {"A": frames.run, "B": other}
    few, many = (quietly(frames.qrels, runs, TBG, users=users, sampling="plain") for users in (200, 3200))
    assert few.error / many.error == pytest.approx(4, rel=0.25)
    wide, narrow = (quietly(frames.qrels, runs, TBG, users=200, confidence=level).first for level in (0.99, 0.8))
    assert wide.low < narrow.low < narrow.high < wide.high
    assert "95\N{NO-BREAK SPACE}% intervals over topics" in str(few)
    back = quietly(frames.qrels, {"B": other, "A": frames.run}, TBG, users=200, sampling="plain")
    pd.testing.assert_frame_equal(few.by_query, back.by_query[["A", "B", "ties", "error"]])
    assert (back.names, back.second.value) == (("B", "A"), few.first.value)
    same = quietly(frames.qrels, {"A": frames.run, "copy": frames.run}, TBG, users=500)
    assert (same.ties.value, same.error) == (1, 0)


def test_one_query_has_no_interval():
    found = quietly({"q": {"a": 1}}, {"A": {"q": {"a": 1.0}}, "B": {"q": {"b": 1.0}}}, "RR", users=10)
    assert found.first.value == 1
    assert math.isnan(found.first.low)
    assert "nan" not in str(found)


@pytest.mark.parametrize("runs, more, message", [
    ({"A": {}}, {}, "compares two systems"),
    ({"A": {}, "B": {}, "C": {}}, {}, "compares two systems"),
    ("run.txt", {}, "compares two systems"),
    ({"A": {}, "B": {}}, {"what": "time"}, "what='time'"),
    ({"A": {}, "B": {}}, {"confidence": 95}, "confidence=95"),
    ({"A": {}, "B": {}}, {"resamples": 0}, "resamples=0"),
    ({"A": {}, "B": {}}, {"users": 0}, "users=0"),
])  # fmt: skip
def test_what_cannot_be_compared_says_why(runs, more, message):
    refused(lambda: quietly({"q": {"a": 1}}, runs, "RR", **more), BadParameter, message)
