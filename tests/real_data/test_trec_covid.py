"""Tests on TREC-COVID, round 1: official scores of all 143 runs, and scores of trec_eval and cwl_eval per topic."""

import ir_measures
import numpy as np
import pandas as pd
import pytest
import pytrec_eval

from pyterrier_cwla import evaluate
from pyterrier_cwla.files.formats import find_runs, read_qrels, read_run
from tests.support import reference
from tests.support.generated import Collection, collection, harmless

OFFICIAL = {"ndcg@10": "nDCG@10", "p@5": "P@5", "RBP(p=.5)": "CWLA(C='rbp(0.5)',A='erg',max_rel=2)"}
TREC_EVAL = {"map": "AP", "ndcg": "nDCG", "ndcg_cut_10": "nDCG@10", "P_5": "P@5", "P_10": "P@10", "recip_rank": "RR",
             "Rprec": "Rprec"}  # fmt: skip
CWL_EVAL = ["RBP(rel=1)", "RBP(rel=2,p=0.5)", "INST(max_rel={})", "INST(T=2.5,max_rel={})"]
INFINITE = {"CWLA(C='inst(1)',A='erg',max_rel={})": ("inst", {"T": 1}, ("linear", {})),
            "CWLA(C='inst(2.5)',A='erg',max_rel={})": ("inst", {"T": 2.5}, ("linear", {})),
            "CWLA(C='rbp(0.8)',A='erg',gain='binary',max_rel={})": ("rbp", {"phi": 0.8}, ("binary", {}))}  # fmt: skip


def without_ties(run):
    return not run.assign(score=run.score.astype(np.float32)).duplicated(["query_id", "score"]).any()


def agrees_with_trec_eval(qrels, run):
    found = evaluate(qrels, run, TREC_EVAL.values(), by_query=True).loc["run"]
    run, qrels = harmless(Collection(run, qrels))
    judgments = {q: dict(zip(some.doc_id, some.relevance.tolist())) for q, some in qrels.groupby("query_id")}
    scores = {q: dict(zip(some.doc_id, some.score.tolist())) for q, some in run.groupby("query_id")}
    theirs = pytrec_eval.RelevanceEvaluator(judgments, set(TREC_EVAL)).evaluate(scores)
    expected = pd.DataFrame(theirs).T.reindex(found.index, fill_value=0.0)[list(TREC_EVAL)]
    assert len(found) == len(judgments)
    assert np.abs(found.to_numpy() - expected.to_numpy()).max() < 1e-9


def agrees_with_cwl_eval(qrels, run, max_rel):
    measures = [ir_measures.parse_measure(text.format(max_rel)) for text in CWL_EVAL]
    ours, theirs = (
        {(m.query_id, m.measure): m.value for m in provider.iter_calc(measures, qrels, run)}
        for provider in (ir_measures.cwla, ir_measures.cwl_eval)
    )
    assert ours == pytest.approx(theirs, abs=1e-9)


def agrees_with_the_infinite_sum(qrels, run, max_rel):
    found = evaluate(qrels, run, [text.format(max_rel) for text in INFINITE], by_query=True).loc["run"]
    for topic, some in qrels.groupby("query_id"):
        grade_of = dict(zip(some.doc_id, some.relevance.tolist()))
        rows = run[run.query_id == topic]
        grades = [grade_of.get(d) for d in reference.trec_order(list(zip(rows.doc_id, rows.score)))]
        for (text, (C, parameters, gain)), value in zip(INFINITE.items(), found.loc[topic], strict=True):
            expected = reference.score(grades, C=(C, parameters), A=("erg", {}), gain=gain, max_rel=max_rel)
            assert value == pytest.approx(expected if grades else 0.0, abs=1e-9), text


@pytest.fixture(scope="module")
def qrels(data):
    return read_qrels(data / "trec-covid-r1" / "qrels.txt").to_pandas()


@pytest.fixture(scope="module")
def runs(data):
    """Return the runs by their names on the leaderboard, which are the names of the files."""
    return {path.name.removesuffix(".gz"): read_run(path) for path in find_runs(data / "trec-covid-r1" / "runs")}


@pytest.fixture(scope="module")
def some_runs(runs):
    """Return five runs whose scores do not depend on the order of ties."""
    frames = (run.to_pandas() for run in runs.values())
    chosen = [frame for _, frame in zip(range(5), filter(without_ties, frames))]
    assert len(chosen) == 5
    return chosen


@pytest.mark.slow
@pytest.mark.real_data
def test_the_official_scores_of_all_runs(data, qrels, runs):
    leaderboard = pd.read_csv(data / "trec-covid-r1" / "leaderboard.csv", index_col="run")
    table = evaluate(qrels, runs, OFFICIAL.values())
    assert sorted(leaderboard.index) == sorted(table.index)
    assert len(table) == 143
    for official, measure in OFFICIAL.items():
        printed = leaderboard[official]
        off = (table[measure].reindex(printed.index) - printed).abs().drop("BERT")
        assert off.max() <= 0.5e-4 + 1e-9, off.idxmax()


@pytest.mark.nightly
@pytest.mark.real_data
def test_all_runs_score_as_in_trec_eval(qrels, runs):
    assert len(runs) == 143
    for run in runs.values():
        agrees_with_trec_eval(qrels, run.to_pandas())


@pytest.mark.slow
@pytest.mark.real_data
def test_some_runs_score_as_in_cwl_eval_and_as_infinite_sums(qrels, some_runs):
    for run in some_runs:
        agrees_with_cwl_eval(qrels, run, max_rel=2)
        agrees_with_the_infinite_sum(qrels, run, max_rel=2)


@pytest.mark.parametrize("seed", [1, 2])
def test_generated_runs_score_as_in_cwl_eval_and_as_infinite_sums(seed):
    agrees_with_cwl_eval(*collection(seed, queries=10, ties=False, shuffled=False)[::-1], max_rel=3)
    agrees_with_the_infinite_sum(*collection(seed, queries=10)[::-1], max_rel=3)
