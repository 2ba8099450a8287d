"""Rank-biased overlap of runs, compared with sums over continued lists, and its command."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyterrier_cwla import rbo, studies
from pyterrier_cwla.errors import BadParameter, BadRun, CWLAWarning
from tests.support import reference
from tests.support.generated import as_pyterrier, collection
from tests.support.messages import refused

LISTS = st.lists(st.sampled_from("abcdefghijkl"), min_size=1, unique=True)
ONE, OTHER = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, {"q": {"b": 3.0, "a": 2.0, "d": 1.0}}


def run_of(documents, query="q"):
    return {query: {document: -float(rank) for rank, document in enumerate(documents)}}


def write(runs, folder):
    for name, run in runs.items():
        (folder / f"{name}.txt").write_text("".join(f"q Q0 {d} 1 {s} t\n" for d, s in run["q"].items()))


@given(LISTS, LISTS, st.sampled_from([0.1, 0.5, 0.9]), st.sampled_from([None, 1, 3, 20]))
def test_any_two_lists(one, other, p, depth):
    """Lists of different lengths, with and without documents in common."""
    found = rbo(run_of(one), run_of(other), p, depth)
    assert found.columns.tolist() == ["rbo", "rbo_min", "rbo_res"]
    expected = reference.rank_biased_overlap(one[:depth], other[:depth], p)
    assert found.iloc[0].tolist() == pytest.approx(expected, abs=1e-12)
    extrapolated, least, residual = found.iloc[0]
    assert least - 1e-12 <= extrapolated <= least + residual + 1e-12 <= 1 + 1e-11
    swapped = rbo(run_of(other), run_of(one), p, depth)
    assert swapped.iloc[0].tolist() == pytest.approx(found.iloc[0].tolist(), abs=1e-15)


@given(LISTS, LISTS, st.lists(st.sampled_from("mnopqr"), unique=True))
def test_bounds_hold_for_longer_lists(one, other, more):
    """What is known of two lists bounds what is known of their continuations."""
    least, residual = rbo(run_of(one), run_of(other), 0.8).iloc[0, 1:]
    longer = rbo(run_of([*one, *more]), run_of([*other, *reversed(more)]), 0.8).iloc[0]
    assert least - 1e-12 <= longer["rbo_min"]
    assert longer["rbo_min"] + longer["rbo_res"] <= least + residual + 1e-12


def test_by_hand():
    """X = 0, 2, 2: Σ X_d/d·p^(d−1) = 0.8 + 2/3·0.64, and the last agreement 2/3 continues."""
    found = rbo(ONE, OTHER, p=0.8).loc["run"]
    assert found["rbo"] == pytest.approx(0.2 * (0.8 + 2 / 3 * 0.64) + 2 / 3 * 0.512, abs=1e-15)
    beyond = -np.log(0.2) / 0.8 - (1 + 0.8 / 2 + 0.64 / 3)
    assert found["rbo_min"] == pytest.approx(0.2 * (0.8 + 2 / 3 * 0.64 + 2 * beyond), abs=1e-15)
    assert rbo(ONE, ONE)["rbo"].tolist() == [1]
    assert rbo(ONE, run_of("xyz")).iloc[0].tolist()[:2] == [0, 0]
    tied = {"q": {"a": 1.0, "b": 1.0}}  # ties are broken by descending id
    assert rbo(tied, run_of("ba"))["rbo"].tolist() == [1]
    assert rbo(tied, run_of("ab"))["rbo"].iloc[0] < 1


@given(st.permutations("abcdefgh"), st.permutations("abcdefgh"), st.sampled_from([0.3, 0.9]))
def test_orders_of_the_same_documents_are_those_of_studies(one, other, p):
    scores = [[-order.index(document) for document in "abcdefgh"] for order in (one, other)]
    assert rbo(run_of(one), run_of(other), p)["rbo"].iloc[0] == pytest.approx(float(studies.rbo(*scores, p)), abs=1e-12)


@pytest.mark.parametrize("depth", [None, 7])
def test_generated_runs_with_ties(depth):
    """Rows in any order; a query that one run lacks has the overlap 0, and nothing is known of it."""
    one, other = (collection(seed, queries=8, depth=20).run for seed in (1, 2))
    other = other[~((other.query_id == "5") | ((other.query_id == "3") & (other.score < 0.5)))]
    says = r"only one of two runs has count as 0 in their overlap: run and other \(1 of 7\)"
    with pytest.warns(CWLAWarning, match=says):
        found = rbo(one, other, 0.85, depth, by_query=True).loc["run"]
    first, second = (
        {q: reference.trec_order([*zip(rows.doc_id, rows.score)])[:depth] for q, rows in run.groupby("query_id")}
        for run in (one, other)
    )
    assert sorted(found.index) == sorted(first)
    for query, ranking in first.items():
        known = query in second
        expected = reference.rank_biased_overlap(ranking, second[query], 0.85) if known else (0, 0, 1)
        assert found.loc[query].tolist() == pytest.approx(expected, abs=1e-12)
    with pytest.warns(CWLAWarning):
        means = rbo(as_pyterrier(one), as_pyterrier(other), 0.85, depth)
    assert means.loc["run"].tolist() == pytest.approx(found.mean().tolist(), abs=1e-15)


def test_several_runs_with_one_and_all_pairs(tmp_path):
    runs = {"x": ONE, "y": OTHER, "z": run_of("cab")}
    with_one = rbo(runs, ONE, p=0.8)
    assert with_one.index.tolist() == ["x", "y", "z"]
    pairs = rbo(runs, p=0.8)
    assert pairs.index.names == ["run", "other"]
    assert pairs.index.tolist() == [("x", "y"), ("x", "z"), ("y", "z")]
    assert pairs.loc[("x", "y")].tolist() == with_one.loc["y"].tolist()
    assert rbo(runs, by_query=True).index.names == ["run", "other", "query_id"]
    rows = [(name, "q", d, s) for name, run in runs.items() for d, s in run["q"].items()]
    pd.DataFrame(rows, columns=["run", "query_id", "doc_id", "score"]).to_parquet(tmp_path / "all.parquet")
    write(runs, tmp_path)
    for given_as in ([tmp_path / f"{name}.txt" for name in runs], tmp_path / "all.parquet"):
        pd.testing.assert_frame_equal(rbo(given_as, p=0.8), pairs)
    pd.testing.assert_frame_equal(rbo(runs, tmp_path / "x.txt", p=0.8), with_one)


def test_errors():
    twice = pd.DataFrame({"query_id": ["q"] * 3, "doc_id": list("aba"), "score": [3.0, 2.0, 1.0]})
    for runs, *says in (
        (({"empty": {}, "x": ONE},), "the runs empty and x have no topic in common: one has none, and one has 'q'"),
        (({"x": ONE, "y": twice},), "y: topic 'q': 'a' is retrieved twice: keep one row of each document."),
        ((ONE, run_of("ab", "r")), "the runs run and other have no topic in common: one has 'q', and one has 'r'."),
        ((ONE,), "there is 1 run: give a second one"),
        ((ONE, {"x": ONE, "y": OTHER}), "other= takes one run, and was given 2 by name"),
        ((ONE, {"q": {}}), "no topic in common"),
        ((ONE, {"q": {"a": float("nan")}}), "NaN"),
        (({}, ONE), "an overlap is that of two runs, and there is 1 run"),
    ):
        refused(partial(rbo, *runs), BadRun, *says)
    for p in (0, 1, -1, float("nan"), "0.5", None):
        refused(lambda p=p: rbo(ONE, OTHER, p), BadParameter, "the persistence must be between 0 and 1, such as 0.9")
    for depth in (0, 1.5, True):
        refused(partial(rbo, ONE, OTHER, depth=depth), BadParameter, f"depth={depth!r} must be a whole number from 1")


@pytest.mark.slow
def test_the_command_prints_and_writes_pairs(prints, says, tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    write({"x": ONE, "y_1": OTHER, "z": run_of("cab")}, folder)
    text = prints("rbo", folder, "-p", "0.8")
    lines = [line.split() for line in text.splitlines()]
    assert lines[0] == ["run", "other", "rbo", "rbo_min", "rbo_res"]
    assert lines[2] == ["x", "y_1", "0.5867", "0.4047", "0.3526"]
    assert "Means over the topics of either run. p = 0.8." in text
    with_one = prints("rbo", folder, "--baseline", "y_1", "--by-query", "--format", "csv").splitlines()
    assert with_one[0] == "run,other,query_id,rbo,rbo_min,rbo_res"
    assert [line.split(",")[:3] for line in with_one[1:]] == [["x", "y_1", "q"], ["z", "y_1", "q"]]
    latex = prints("rbo", folder, "--format", "latex", "--depth", "2")
    assert r"x & y\_1 & 1.0000 & " not in latex
    assert r"x & y\_1 & 0.9000 & " in latex
    prints("rbo", folder, "-o", tmp_path / "pairs.parquet")
    assert pd.read_parquet(tmp_path / "pairs.parquet").columns.tolist() == lines[0]
    assert "no run has this name. Near: 'y_1'" in says("rbo", folder, "--baseline", "y1")
    assert "the persistence must be between 0 and 1" in says("rbo", folder, "-p", "1")
    assert "there is 1 run: give a second one." in says("rbo", folder / "x.txt")
    assert "--baseline x: it is the only run" in says("rbo", folder / "x.txt", "--baseline", "x")
