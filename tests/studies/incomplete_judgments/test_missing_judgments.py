"""Tests of removing judgments: nested f-qrels, pools of a depth, and the unique contributions of a group."""

from fractions import Fraction
from math import inf

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyterrier_cwla.errors import BadJudgments, BadParameter
from pyterrier_cwla.studies.incomplete_judgments.missing_judgments import (
    FRACTIONS,
    Depths,
    Fractions,
    checked_groups,
    f_qrels,
    lacking,
    plain_judgments,
)
from tests.support.generated import as_pyterrier, collection
from tests.support.messages import refused


def judged(relevant, others, unknown=0, topic="q"):
    grades = [1 + number % 2 for number in range(relevant)] + [0] * others + [-1] * unknown
    rows = [(topic, f"{topic}-{number}", grade) for number, grade in enumerate(grades)]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"])


def pairs(frame):
    return set(zip(frame.query_id, frame.doc_id))


SIZES = st.tuples(st.integers(0, 130), st.integers(0, 130), st.integers(0, 3))


@given(st.lists(SIZES, min_size=1, max_size=3), st.integers(1, 1000), st.integers(1, 1000), st.integers(0, 5))
def test_f_qrels_are_nested_and_as_large_as_they_should_be(topics, one, other, seed):
    """Sizes are max(1, ⌊fR⌋) and max(10, ⌊fN⌋), with f as a decimal; documents with grades below 0 are unjudged."""
    qrels = pd.concat([judged(*sizes, topic=str(number)) for number, sizes in enumerate(topics)], ignore_index=True)
    if not len(qrels):
        return
    smaller, larger = sorted([one, other])
    few, more = (f_qrels(qrels, thousandths / 1000, seed) for thousandths in (smaller, larger))
    assert pairs(few) <= pairs(more) <= pairs(qrels)
    for number, (R, N, unknown) in enumerate(topics):
        mine = few[few.query_id == str(number)].relevance
        exact = Fraction(smaller, 1000)
        assert (mine > 0).sum() == min(R, max(1, (exact * R).__floor__()))
        assert (mine == 0).sum() == min(N, max(10, (exact * N).__floor__()))
        assert (mine < 0).sum() == unknown


def test_the_levels_of_the_paper():
    assert Fractions(FRACTIONS).levels == FRACTIONS
    assert len(FRACTIONS) == 17
    assert Fractions((0.5, "0.1")).levels == (0.1, 0.5, 1.0)


@pytest.mark.parametrize("fraction", [0, 1.01, -0.5, "half", float("nan"), None])
def test_a_fraction_out_of_its_range(fraction):
    refused(lambda: f_qrels(judged(3, 3), fraction), "must be a number above 0 and up to 1", BadParameter)


@pytest.mark.slow
def test_a_seed_says_which_judgments_stay_and_all_are_as_likely():
    qrels = judged(20, 40)
    assert f_qrels(qrels, 0.3, 1).equals(f_qrels(qrels, 0.3, 1))
    assert not f_qrels(qrels, 0.3, 1).equals(f_qrels(qrels, 0.3, 2))
    times = sum(qrels.index.isin(f_qrels(qrels, 0.3, seed).index) for seed in range(400))
    expected = np.where(qrels.relevance > 0, 6 / 20, 12 / 40) * 400
    assert np.abs(times - expected).max() < 5 * np.sqrt(400 * 0.3 * 0.7)


def test_a_generator_gives_the_same_holes_however_parted():
    query, grade = np.repeat(np.arange(4), 30), np.tile([0, 1, 2], 40)
    whole = Fractions((0.2, 0.4)).kept(query, grade, query, np.random.default_rng(5))
    rng, less = np.random.default_rng(5), Fractions((0.4,))
    halves = [less.kept(query[part], grade[part], query[part], rng) for part in (slice(60), slice(60, None))]
    assert np.array_equal(np.concatenate(halves, axis=1), whole[1:])


def test_f_qrels_are_rows_of_what_was_given():
    frames = collection(0, queries=6, judged=40)
    kept = f_qrels(frames.qrels, 0.4, 3)
    pd.testing.assert_frame_equal(kept, frames.qrels.loc[kept.index])
    renamed = f_qrels(as_pyterrier(frames.qrels), 0.4, 3)
    assert list(renamed.columns) == ["qid", "docno", "label"]
    assert renamed.index.equals(kept.index)
    nested = {q: dict(zip(some.doc_id, some.relevance)) for q, some in frames.qrels.groupby("query_id", sort=False)}
    assert list(f_qrels(nested, 1.0).columns) == ["query_id", "doc_id", "relevance"]


def test_a_pair_that_is_judged_twice():
    twice = pd.concat([judged(1, 2), judged(1, 2).assign(relevance=2)])
    refused(lambda: f_qrels(twice, 0.5), "judged twice", BadJudgments)


def test_pools_of_a_depth_are_nested_and_end_with_all():
    holes = Depths((5, 1))
    assert holes.levels == (1.0, 5.0, inf)
    first = np.array([1, 2, 5, 6, np.iinfo(np.int64).max])
    kept = holes.kept(np.zeros(5, int), np.zeros(5, int), first, 0)
    assert kept.sum(axis=1).tolist() == [1, 3, 5]
    refused(lambda: Depths((0,)), "depth 0 must be a whole number", BadParameter)


def test_every_run_has_a_group():
    group, names = checked_groups({"a": "x", "b": "y", "c": "x", "d": "z"}, "abc")
    assert (group.tolist(), names) == ([0, 1, 0], ["x", "y"])
    refused(lambda: checked_groups({"a": "x", "b": "y"}, "abc"), "'c' has no group", BadParameter)
    refused(lambda: checked_groups({"a": "x", "b": "x"}, "ab"), "all runs are in one group", BadParameter)


def test_topics_that_fail_the_condition_of_bpref():
    qrels = pd.concat([judged(1, 10, topic="good"), judged(0, 20, topic="none"), judged(5, 9, 3, topic="nine")])
    assert lacking(plain_judgments(qrels)) == ["none", "nine"]
