"""Tests on TREC-COVID (official scores), TREC 2019 deep learning (lengths from a table), and the examples of UDCG.

All measures on some of their runs are compared with other programs in tests/measures/test_equal_to_peers.py.
"""

import json

import numpy as np
import pandas as pd
import pytest
import pytrec_eval

from pyterrier_cwla import CWLA, TBG, evaluate
from pyterrier_cwla.errors import MissingLength
from pyterrier_cwla.files.formats import find_runs, read_lengths, read_qrels, read_run
from tests.measures.test_udcg import check_examples
from tests.support import reference
from tests.support.generated import Collection, harmless

pytestmark = pytest.mark.real_data

OFFICIAL = {"ndcg@10": "nDCG@10", "p@5": "P@5", "RBP(p=.5)": "CWLA(C='rbp(0.5)',A='erg',max_rel=2)"}
TREC_EVAL = {"map": "AP", "ndcg": "nDCG", "ndcg_cut_10": "nDCG@10", "P_5": "P@5", "P_10": "P@10", "recip_rank": "RR",
             "Rprec": "Rprec"}  # fmt: skip


@pytest.fixture(scope="module")
def covid(data):
    """Return the judgments, and the runs by their names on the leaderboard, which are the names of the files."""
    folder = data / "trec-covid-r1"
    runs = {path.name.removesuffix(".gz"): read_run(path) for path in find_runs(folder / "runs")}
    assert len(runs) == 143
    return read_qrels(folder / "qrels.txt").to_pandas(), runs


@pytest.mark.slow
def test_the_official_scores_of_all_runs(data, covid):
    leaderboard = pd.read_csv(data / "trec-covid-r1" / "leaderboard.csv", index_col="run")
    table = evaluate(*covid, OFFICIAL.values())
    assert sorted(leaderboard.index) == sorted(table.index)
    for official, measure in OFFICIAL.items():
        printed = leaderboard[official]
        off = (table[measure].reindex(printed.index) - printed).abs()
        assert off.max() <= 0.5e-4 + 1e-9, off.idxmax()


@pytest.mark.nightly
def test_all_runs_score_as_in_trec_eval(covid):
    for run in covid[1].values():
        qrels, run = covid[0], run.to_pandas()
        found = evaluate(qrels, run, TREC_EVAL.values(), by_query=True).loc["run"]
        run, qrels = harmless(Collection(run, qrels))
        judgments = {q: dict(zip(some.doc_id, some.relevance.tolist())) for q, some in qrels.groupby("query_id")}
        scores = {q: dict(zip(some.doc_id, some.score.tolist())) for q, some in run.groupby("query_id")}
        theirs = pytrec_eval.RelevanceEvaluator(judgments, set(TREC_EVAL)).evaluate(scores)
        expected = pd.DataFrame(theirs).T.reindex(found.index, fill_value=0.0)[list(TREC_EVAL)]
        assert len(found) == len(judgments)
        assert np.abs(found.to_numpy() - expected.to_numpy()).max() < 1e-9


TIMED = [TBG, CWLA(C="decay(60)", A="erg", effort="time", end="stop", max_rel=3)]
#: The same by the reference: Σ P(click)·P(save)·2^(−T/224), with T the time before each relevant document.
BY_LOOPS = [
    {"C": ("decay", {}), "A": ("etg", {}), "gain": ("clicksave", {})},
    {"C": ("decay", {"half_life": 60}), "A": ("erg", {}), "end": "stop", "max_rel": 3},
]


def assert_timed_as_by_loops(qrels, runs, words, **lengths):
    measures = [measure(**lengths) for measure in TIMED]
    by_query = evaluate(qrels, runs, measures, by_query=True)
    for name, run in runs.items():
        for topic, judged in qrels.groupby("query_id"):
            grade_of = dict(zip(judged.doc_id, judged.relevance.tolist()))
            rows = run[run.query_id == topic]
            order = reference.trec_order(list(zip(rows.doc_id, rows.score)))
            given = {
                "grades": [grade_of.get(d) for d in order],
                "words": [words[d] for d in order],
                "effort": ("time", {}),
            }
            expected = [reference.score(**given, **parts) for parts in BY_LOOPS]
            assert by_query.loc[name, topic].tolist() == pytest.approx(expected, abs=1e-9)


@pytest.mark.nightly
def test_runs_whose_lengths_are_known_or_the_mean(data):
    folder = data / "dl19"
    qrels, lengths = read_qrels(folder / "qrels.txt").to_pandas(), folder / "doclens.tsv"
    runs = {path.stem: read_run(path).to_pandas() for path in find_runs(folder / "runs")}
    assert len(runs) == 6
    words = read_lengths(lengths).to_pandas().set_index("doc_id").doc_length
    known = {name: run for name, run in runs.items() if name != "REP_LLAMA"}
    assert_timed_as_by_loops(qrels, known, words, lengths=lengths)
    with pytest.raises(MissingLength, match=r"of 43,000 have none \(topic '\d+': '\d+', '\d+', …\)"):
        evaluate(qrels, runs, [TBG(lengths=lengths)])
    filled = words.reindex(pd.concat(runs.values()).doc_id.unique()).fillna(words.mean())
    assert_timed_as_by_loops(qrels, runs, filled, lengths=lengths, missing="mean")


def test_the_scores_of_the_authors_of_udcg_to_all_digits(data):
    path = data / "udcg" / "dataset_with_udcg.json"
    if not path.is_file():
        pytest.skip(f"no examples of UDCG at {path}")
    examples = json.loads(path.read_text())
    assert len(examples) == 3
    assert next(iter(examples[0]["udcg"].values())) == 0.5553808928170055
    check_examples(examples)
