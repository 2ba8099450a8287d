"""Tests on TREC 2019 deep learning: ten measures of six runs, including time-biased gain with lengths from a table."""

import ir_measures
import pandas as pd
import pyterrier as pt
import pytest

from pyterrier_cwla import TBG, evaluate
from pyterrier_cwla.errors import MissingLength
from pyterrier_cwla.files.formats import find_runs, read_lengths, read_qrels, read_run
from tests.support import reference
from tests.support.generated import as_pyterrier, collection, harmless

pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")

TEN = ["AP(rel=2)", "nDCG@10", "RR(rel=2)", "ERR@10", "RBP(rel=2,p=0.8)", "INST(max_rel=3)", "Judged@10", "TBG",
       "CWLA(C='rbp(0.8)',A='max',max_rel=3)",
       "CWLA(C='decay(60)',A='erg',gain='linear',effort='time',end='stop',max_rel=3)"]  # fmt: skip

#: ir_measures' default providers order ties differently; gdeval also rounds ERR to five decimals.
ORDER_TIES_OTHERWISE = ("RBP", "INST", "Judged")


def ten_measures(lengths, **more):
    measures = [ir_measures.parse_measure(text) for text in TEN]
    needing = [TBG, measures[-1]]
    return [m(lengths=lengths, **more) if m in needing else m for m in measures]


def slow_tbg(qrels, run, words):
    """Compute Σ P(click)·P(save)·2^(−T/224) per topic, with T the time before each relevant document."""
    tbg = {"C": ("decay", {}), "A": ("etg", {}), "gain": ("clicksave", {}), "effort": ("time", {})}
    scores = {}
    for topic, some in qrels.groupby("query_id"):
        grade_of = dict(zip(some.doc_id, some.relevance.tolist()))
        rows = run[run.query_id == topic]
        order = reference.trec_order(list(zip(rows.doc_id, rows.score)))
        scores[topic] = reference.score([grade_of.get(d) for d in order], words=[words[d] for d in order], **tbg)
    return scores


def scores_well(qrels, runs, words, measures):
    """Check that evaluate, pt.Experiment and, for TBG, the reference equations agree, per topic and in the mean."""
    table = evaluate(qrels, runs, measures)
    by_query = evaluate(qrels, runs, measures, by_query=True)
    assert list(table.columns) == list(by_query.columns) == list(map(str, measures))
    assert table.gt(0).all().all()
    pd.testing.assert_frame_equal(by_query.groupby(level=0, sort=False).mean(), table, rtol=1e-12)
    topics = pd.DataFrame({"qid": qrels.query_id.unique()}).assign(query="a question")
    systems = [as_pyterrier(run) for run in runs.values()]
    experiment = pt.Experiment(systems, topics, as_pyterrier(qrels), measures, names=list(runs)).set_index("name")
    for name, run in runs.items():
        tied = run.duplicated(["query_id", "score"]).any()
        same = [m for m in table.columns if not (tied and m.startswith(ORDER_TIES_OTHERWISE))]
        assert experiment.loc[name, same].to_dict() == pytest.approx(table.loc[name, same].to_dict(), abs=6e-6)
        tbg = str(measures[TEN.index("TBG")])
        assert by_query.loc[name, tbg].to_dict() == pytest.approx(slow_tbg(qrels, run, words), abs=1e-9)


@pytest.fixture(scope="module")
def qrels(data):
    return read_qrels(data / "dl19" / "qrels.txt").to_pandas()


@pytest.fixture(scope="module")
def runs(data):
    return {path.stem: read_run(path).to_pandas() for path in find_runs(data / "dl19" / "runs")}


@pytest.fixture(scope="module")
def lengths(data):
    return data / "dl19" / "doclens.tsv"


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.nightly
def test_runs_whose_lengths_are_known_or_the_mean(qrels, runs, lengths):
    words = read_lengths(lengths).to_pandas().set_index("doc_id").doc_length
    known = {name: run for name, run in runs.items() if name != "REP_LLAMA"}
    scores_well(qrels, known, words, ten_measures(lengths))
    assert len(runs) == 6
    with pytest.raises(MissingLength, match=r"of 43,000 have none \(topic '\d+': '\d+', '\d+', …\)"):
        evaluate(qrels, runs, ten_measures(lengths))
    retrieved = pd.concat(runs.values()).doc_id.unique()
    filled = words.reindex(retrieved).fillna(words.mean())
    assert words.reindex(retrieved).isna().any()
    scores_well(qrels, runs, filled, ten_measures(lengths, missing="mean"))


@pytest.fixture
def generated():
    """Generate judgments, three runs, and the length of every document."""
    frames = [harmless(collection(seed, queries=15, depth=40, ties=False, shuffled=False)) for seed in (1, 2, 3)]
    words = {f"d{number}": 20.0 + 37 * number % 211 for number in range(80)}
    judged = frames[0].qrels.query_id.unique()
    runs = {f"run{i}": some.run[some.run.query_id.isin(judged)] for i, some in enumerate(frames)}
    return frames[0].qrels[frames[0].qrels.query_id != "1"], runs, words


@pytest.mark.slow
def test_generated_runs_whose_lengths_are_known(generated, tmp_path):
    qrels, runs, words = generated
    pd.Series(words).to_csv(tmp_path / "doclens.tsv", sep="\t", header=False)
    scores_well(qrels, runs, words, ten_measures(tmp_path / "doclens.tsv"))


def test_deeper_is_never_worse_and_unknown_lengths_are_the_mean(generated):
    qrels, runs, words = generated
    known = {document: n for document, n in words.items() if document != "d7"}
    with pytest.raises(MissingLength, match=r"have none \(topic '\d+': 'd7'"):
        evaluate(qrels, runs, ten_measures(known))
    filled = known | {"d7": sum(known.values()) / len(known)}
    mean = evaluate(qrels, runs, ten_measures(known, missing="mean"))
    assert mean.to_numpy() == pytest.approx(evaluate(qrels, runs, ten_measures(filled)).to_numpy(), abs=1e-12)
    by_depth = evaluate(qrels, runs, [TBG(lengths=words) @ k for k in (1, 5, 20, 100)] + [TBG(lengths=words)])
    assert by_depth.diff(axis=1).iloc[:, 1:].ge(0).all(axis=None)
    assert by_depth.iloc[:, -1].equals(by_depth.iloc[:, -2])
