"""Generated runs with a pool: judgments are exactly those of the documents that contributors put first."""

import pandas as pd
import pytest

from pyterrier_cwla import demo, evaluate


@pytest.mark.parametrize("contributing", [1, 3])
def test_the_pool_has_the_first_documents_of_contributors_and_no_others(contributing):
    pooled = demo.pooled_runs(systems=7, topics=4, pool_depth=5, contributing=contributing)
    assert pooled.contributors == list(pooled.runs)[::contributing]
    first = pd.concat(pooled.runs[name].groupby("query_id").head(5) for name in pooled.contributors)
    pool = set(zip(pooled.qrels["query_id"], pooled.qrels["doc_id"]))
    assert pool == set(zip(first["query_id"], first["doc_id"]))
    assert len(pool) == len(pooled.qrels)


def test_the_first_system_is_better_than_the_last():
    pooled = demo.pooled_runs()
    scores = evaluate(pooled.qrels, pooled.runs, ["nDCG"])["nDCG"]
    assert scores.iloc[0] > scores.iloc[-1]


def test_a_seed_gives_one_set_of_runs():
    one, same, other = (demo.pooled_runs(seed, systems=3, topics=2) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(one.qrels, same.qrels)
    pd.testing.assert_frame_equal(one.runs["system 02"], same.runs["system 02"])
    assert not one.qrels.equals(other.qrels)


def test_runs_have_at_most_all_documents():
    pooled = demo.pooled_runs(systems=2, topics=2, documents=10, depth=50)
    assert len(pooled.runs["system 00"]) == 20
