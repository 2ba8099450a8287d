"""Runs that are aligned together: the values, masks, warnings and errors of each run alone."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyterrier_cwla import evaluate
from pyterrier_cwla.data.alignment import Judgments
from pyterrier_cwla.data.columns import descending_in_groups
from pyterrier_cwla.data.rows import Rows
from pyterrier_cwla.errors import BadRun
from pyterrier_cwla.evaluation import driver
from pyterrier_cwla.evaluation import scored as in_memory
from pyterrier_cwla.evaluation.driver import scores_by_query
from tests.support.messages import refused

MEASURES = ["AP", "nDCG@3", "RR", "RBP(rel=1)", "ESL", "Compat", "bpref", "NumRet", "Accuracy", "Judged@2"]
DOCUMENTS = st.sampled_from("abcdefgh")
SCORES = st.one_of(st.integers(-2, 3), st.sampled_from([-0.0, 0.0, 1.5, -1e30, 2.0**-140, 1 / 3]))
RANKING = st.dictionaries(DOCUMENTS, SCORES, max_size=8)
RUN = st.dictionaries(st.sampled_from(["1", "2", "3", "other"]), RANKING, max_size=4)
QRELS = {"1": {"a": 1, "b": 0, "c": 2}, "2": {"d": -1, "e": 1}, "3": {"f": 0}}


def table_of(run, seed=0):
    rows = [(query, document, score) for query, of in run.items() for document, score in of.items()]
    table = pd.DataFrame(rows, columns=["query_id", "doc_id", "score"]).astype({"query_id": "str", "doc_id": "str"})
    return table.astype({"score": float}).sample(frac=1, random_state=seed)  # queries are scattered


def scored(runs):
    """Return scores, masks and the number of warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found, answered = scores_by_query(QRELS, runs, MEASURES)
    return found.to_numpy(), answered, len(caught)


@pytest.mark.slow
@given(st.lists(RUN.filter(bool), min_size=2, max_size=5), st.sampled_from([dict, table_of]))
def test_values_are_those_of_each_run_alone(runs, form):
    runs = [{"1": {"a": 1.0}}, *runs]
    found = scored({f"run{number}": form(run) for number, run in enumerate(runs)})
    values, answered, caught = zip(*(scored({"run": table_of(run)}) for run in runs))
    assert np.array_equal(found[0], np.concatenate(values), equal_nan=True)
    assert np.array_equal(found[1], np.concatenate(answered))
    assert found[2] == sum(caught)


def test_repeated_documents_and_large_scores_of_several_runs():
    good = pd.DataFrame({"query_id": ["1", "1"], "doc_id": ["a", "x"], "score": [2.0, 1.0]})
    twice = pd.concat([good, good])
    runs, says = {"good": good, "wrong": twice, "also good": good}, "' is retrieved twice: keep one row"
    assert refused(lambda: evaluate(QRELS, runs, ["AP"]), BadRun, says).startswith("wrong: topic '1': '")
    whole = good.assign(score=[2, 1])
    pd.testing.assert_frame_equal(evaluate(QRELS, {"good": good, "whole": whole}, MEASURES).loc[["whole"]],
                                  evaluate(QRELS, {"whole": whole}, MEASURES))  # fmt: skip
    # As float64, 2⁶⁰ + 2³⁶ + 1 is 2⁶⁰ + 2³⁶, which float32 rounds to 2⁶⁰. Rounded once, it is 2⁶⁰ + 2³⁷.
    whole = pd.DataFrame({"query_id": ["1", "1"], "doc_id": ["c", "b"], "score": [2**60 + 2**36 + 1, 2**60 + 2**37]})
    other = whole.assign(score=[1.0, 0.5])
    found = evaluate(QRELS, {"whole": whole, "other": other}, ["RR"], by_query=True).loc["whole"]
    assert found.loc["1", "RR"] == 1  # equal scores: c is first
    pd.testing.assert_frame_equal(found, evaluate(QRELS, {"whole": whole}, ["RR"], by_query=True).loc["whole"])


def test_overlap_and_parts_are_those_of_each_run(monkeypatch):
    judgments = Judgments(QRELS)
    runs = [{"1": {"a": 2.0, "b": 1.0}, "2": {"e": 1.0}}, {"1": {"x": 1.0}}, {"other": {"a": 1.0}}, {"3": {"f": 1}}, {}]
    together, alone = Rows.from_dicts(runs, judgments.index), [Rows.from_run(run, judgments.index) for run in runs]
    assert judgments.overlaps(together) == [overlap for rows in alone for overlap in judgments.overlaps(rows)]
    assert together.answered.tolist() == [answered for rows in alone for answered in rows.answered.tolist()]
    runs = {f"{number}": {q: {"a": 1.0, "b": float(number % 3)} for q in "123"} for number in range(9)}
    expected = evaluate(QRELS, runs, MEASURES)
    monkeypatch.setattr(in_memory, "_TOGETHER", 15)
    monkeypatch.setattr(driver, "_VALUES", 4)
    pd.testing.assert_frame_equal(evaluate(QRELS, runs, MEASURES), expected, check_exact=True)


@given(st.lists(st.tuples(st.integers(0, 5), st.floats(width=32, allow_nan=False)), max_size=40))
def test_descending_in_groups(rows):
    rows.sort(key=lambda row: row[0])
    group = np.array([g for g, _ in rows], np.int64)
    score = np.array([s for _, s in rows], np.float32)
    expected = sorted(range(len(rows)), key=lambda at: (rows[at][0], -rows[at][1]))
    assert descending_in_groups(group, score).tolist() == expected
    assert descending_in_groups(group << 26, score).tolist() == expected  # too large to be one integer with the row
