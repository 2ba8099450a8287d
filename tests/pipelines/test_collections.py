"""Tests of what PyTerrier users do first, on a generated collection: experiments, significance, and tuning."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from ir_measures import nDCG

from pyterrier_cwla import CWLA, TBG, demo

IGNORED = ("ignore:The inplace keyword", "ignore:There are shared", "ignore:Evaluation meas")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings(*IGNORED)]

RBP = CWLA(C="rbp(0.8)", A="erg", max_rel=3)
MEASURES = [nDCG @ 10, TBG, RBP, TBG @ 5]


@pytest.fixture(scope="module")
def world():
    """Topics, judgments, and two retrievers whose results have texts but no lengths."""
    found = demo.collection(seed=2, documents=400, topics=20)
    index, texts = demo.Index.of(found.documents), found.documents[["docno", "text"]]
    with_texts = pt.apply.generic(lambda run: run.drop(columns="doc_length").merge(texts, on="docno"))
    bm25 = demo.BM25(index, num_results=50)
    retrievers = {"bm25": bm25 >> with_texts, "ignored": demo.BM25(index, b=0.0, num_results=50) >> with_texts}
    words = dict(zip(found.documents.docno, found.documents.doc_length, strict=True))
    return SimpleNamespace(topics=found.topics, qrels=found.qrels, bm25=bm25, retrievers=retrievers, words=words)


def experiment(world, **given):
    systems = {name: one >> pt.cwla.DocLength() for name, one in world.retrievers.items()}
    return pt.Experiment(systems, world.topics, world.qrels, MEASURES, **given)


def test_values_per_query_and_significance(world):
    means, table = experiment(world, perquery="both")
    wide = table.pivot(index=["name", "qid"], columns="measure", values="value")
    assert set(wide.index.get_level_values("qid")) == set(world.topics.qid)
    for measure in map(str, MEASURES):
        by_system = wide[measure].groupby("name").mean()
        np.testing.assert_allclose(by_system[means.name], means[measure], atol=1e-12)
    tested = experiment(world, baseline="bm25", correction="holm", round={str(TBG): 2}).set_index("name")
    for measure in map(str, MEASURES):
        difference = wide.loc["ignored", measure] - wide.loc["bm25", measure]
        assert tested.loc["ignored", f"{measure} +"] == (difference > 0).sum()
        assert tested.loc["ignored", f"{measure} -"] == (difference < 0).sum()
        assert 0 <= tested.loc["ignored", f"{measure} p-value"] <= tested.loc["ignored", f"{measure} p-value corrected"]
    assert (tested["TBG"] * 100 % 1).round(6).isin([0, 1]).all()


def test_a_parameter_of_a_transformer_is_tuned(world):
    copies = pt.cwla.DuplicateOf(shingle=1)
    pipeline = world.retrievers["bm25"] % 10 >> pt.cwla.DocLength() >> copies
    measure = TBG(duplicates="run", duplicate_gain="none")
    table = pt.GridScan(pipeline, {copies: {"shingle": [1, 10]}}, world.topics, world.qrels, [measure])
    for shingle, value in zip(table.tran_0_shingle, table[str(measure)], strict=True):
        alone = world.retrievers["bm25"] % 10 >> pt.cwla.DocLength() >> pt.cwla.DuplicateOf(shingle=int(shingle))
        assert value == pytest.approx(pt.Experiment([alone], world.topics, world.qrels, [measure])[str(measure)][0])


def test_texts_are_names_of_measures_and_ids_are_strings(world):
    run = pd.DataFrame({"qid": ["1"], "docno": ["a"], "score": [1.0], "rank": [0]})
    topics, qrels = run[["qid"]], pd.DataFrame({"qid": ["1"], "docno": ["a"], "label": [1]})
    table = pt.Experiment([run], topics, qrels, ["map", "RBP(rel=1)", RBP])
    assert table.columns.tolist() == ["name", "map", "RBP(rel=1)", str(RBP)]
    assert table.loc[0, "RBP(rel=1)"] == pytest.approx(0.2)
    with pytest.raises(ValueError, match=r"give TBG\(lengths=…\)"):
        pt.Experiment([run], topics, qrels, ["TBG"])
    source = pt.Transformer.from_df(run)
    with pytest.raises(ValueError, match=r"no measure 'TBC'.*TBG"):
        pt.GridSearch(source, {source: {"df": [run]}}, topics, qrels, "TBC")
    topics, qrels = (frame.assign(qid=np.arange(len(frame))) for frame in (world.topics, world.qrels))
    with pytest.raises(ValueError, match=r"query_id of the judgments must be strings.*convert it with \.astype\(str\)"):
        pt.Experiment([world.bm25], topics, qrels, [TBG])
