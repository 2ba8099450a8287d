"""Generated runs with a pool, and users: estimates agree with the parameters that the data were generated with."""

import numpy as np
import pandas as pd
import pytest

from pyterrier_cwla import demo, evaluate
from pyterrier_cwla.behaviour import dbn_from_clicks
from pyterrier_cwla.errors import BadParameter
from tests.support.messages import refused


@pytest.mark.parametrize("contributing", [1, 3])
def test_the_pool_has_the_first_documents_of_contributors_and_no_others(contributing):
    pooled = demo.pooled_runs(systems=7, topics=4, pool_depth=5, contributing=contributing)
    assert pooled.contributors == list(pooled.runs)[::contributing]
    first = pd.concat(pooled.runs[name].groupby("query_id").head(5) for name in pooled.contributors)
    pool = set(zip(pooled.qrels["query_id"], pooled.qrels["doc_id"]))
    assert pool == set(zip(first["query_id"], first["doc_id"]))
    assert len(pool) == len(pooled.qrels)


def test_the_first_system_is_better_and_a_seed_gives_one_set():
    pooled = demo.pooled_runs()
    scores = evaluate(pooled.qrels, pooled.runs, ["nDCG"])["nDCG"]
    assert scores.iloc[0] > scores.iloc[-1]
    one, same, other = (demo.pooled_runs(seed, systems=3, topics=2) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(one.qrels, same.qrels)
    pd.testing.assert_frame_equal(one.runs["system 02"], same.runs["system 02"])
    assert not one.qrels.equals(other.qrels)
    pooled = demo.pooled_runs(systems=2, topics=2, documents=10, depth=50)
    assert len(pooled.runs["system 00"]) == 20


def assert_ratings_follow(rated, measure):
    order = np.argsort(rated.scores([measure]).iloc[:, 0].to_numpy(), kind="stable")
    assert (np.diff(rated.ratings[order]) >= 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("generated", [demo.rated_sessions, demo.rated_lists])
def test_ratings_without_noise_follow_the_measure(generated):
    rated = generated("RBP(p=0.7,rel=1)", noise=0)
    assert_ratings_follow(rated, "RBP(p=0.7,rel=1)")
    assert set(rated.ratings) == {1, 2, 3, 4, 5}
    little, much = (generated(noise=noise) for noise in (0.2, 3))
    correlations = [np.corrcoef(r.scores(["RBP(p=0.8,rel=1)"]).iloc[:, 0], r.ratings)[0, 1] for r in (little, much)]
    assert correlations[0] > correlations[1] + 0.2


def test_lists_have_grades_and_users_other_orders():
    rated = demo.rated_lists()
    by_query = rated.scores({"RBP": "RBP(p=0.8,rel=1)", "P": "P@10"}).groupby(rated.table["query"].to_numpy())
    different = by_query.nunique()
    assert (different["P"] == 1).all()
    assert (different["RBP"][by_query["P"].first() > 0] > 1).all()
    assert (rated.table.groupby("user")["query"].nunique() == 6).all()
    graded, binary = (demo.rated_lists("RBP(p=0.8,rel=1)", noise=0, **more) for more in ({"max_rel": 3}, {}))
    found = [graded.scores([f"NumRel(rel={grade})"]).iloc[:, 0].sum() for grade in (1, 2, 3, 4)]
    assert found[0] > found[1] > found[2] > found[3] == 0
    assert_ratings_follow(graded, "RBP(p=0.8,rel=1)")
    assert (binary.ratings == graded.ratings).all()  # the relevant documents are the same


@pytest.mark.slow
def test_the_parameters_of_clicks_are_estimated():
    model = dbn_from_clicks(demo.clicks(unjudged=0), resamples=100)
    truth = {"attraction": {0: 0.2, 1: 0.5, 2: 0.8}, "satisfaction": {0: 0.1, 1: 0.4, 2: 0.7}}
    for name, by_grade in truth.items():
        for grade, value in by_grade.items():
            assert getattr(model, name)[grade].value == pytest.approx(value, abs=0.06)
    assert model.gamma.value == pytest.approx(0.9, abs=0.03)


def test_unjudged_documents_lack_only_their_grades():
    some, whole = demo.clicks(sessions=200).rows, demo.clicks(sessions=200, unjudged=0).rows
    judged = some["grade"].notna()
    assert 0.6 < judged.mean() < 0.95
    assert whole["grade"].notna().all()
    assert (some["grade"] == whole["grade"])[judged].all()
    pd.testing.assert_frame_equal(some.drop(columns="grade"), whole.drop(columns="grade"))
    assert (some.groupby(["topic", "docno"])["grade"].nunique(dropna=False) == 1).all()
    refused(lambda: demo.rated_lists(queries=5), BadParameter, "queries")
    refused(lambda: demo.rated_lists(max_rel=0), BadParameter, "max_rel")
    refused(lambda: demo.clicks(attraction={0: 0.1}, satisfaction={1: 0.1}), BadParameter, "same")
