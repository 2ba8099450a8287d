"""Demo: the generated collection resembles real collections, and its systems are ordinary PyTerrier transformers."""

import pickle
import sys

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from ir_measures import AP, Judged, nDCG

from pyterrier_cwla import CWLAError, demo
from tests.support.messages import refused

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def collection():
    return demo.collection()


@pytest.fixture(scope="module")
def systems(collection):
    return demo.systems(collection)


def test_a_seed_gives_one_collection():
    one, same, other = (demo.collection(seed, documents=150, topics=5) for seed in (7, 7, 8))
    for frame in ("documents", "topics", "qrels"):
        pd.testing.assert_frame_equal(getattr(one, frame), getattr(same, frame))
        assert not getattr(one, frame).equals(getattr(other, frame))


@pytest.mark.parametrize("documents, topics", [(2000, 50), (300, 7), (9, 1)])
def test_it_is_as_large_as_asked(documents, topics):
    made = demo.collection(documents=documents, topics=topics)
    assert made.documents.columns.tolist() == ["docno", "text", "doc_length", "duplicate_of"]
    assert made.topics.columns.tolist() == ["qid", "query"]
    assert made.qrels.columns.tolist() == ["qid", "docno", "label"]
    assert made.documents["docno"].nunique() == len(made.documents) == documents
    assert made.topics["qid"].nunique() == len(made.topics) == topics
    assert set(made.qrels["qid"]) == set(made.topics["qid"])
    assert not made.qrels.duplicated(["qid", "docno"]).any()


def test_lengths_copies_and_grades_are_as_in_real_collections(collection):
    lengths = collection.documents["doc_length"]
    assert (lengths == collection.documents["text"].str.split().str.len()).all()
    assert 200 < lengths.median() < 300
    assert lengths.max() > 5 * lengths.median()
    documents = collection.documents.set_index("docno")
    copies = documents[documents["duplicate_of"].notna()]
    assert len(copies) == 200
    assert not copies["duplicate_of"].isin(copies.index).any()
    for text, source in zip(copies["text"], copies["duplicate_of"]):
        words, original = (set(t.lower().replace(".", "").split()) for t in (text, documents.loc[source, "text"]))
        assert len(words & original) > 0.75 * len(words | original)
    assert (copies["text"].to_numpy() != documents.loc[copies["duplicate_of"], "text"].to_numpy()).mean() > 0.9
    grades = collection.qrels["label"].value_counts()
    assert set(grades.index) == {0, 1, 2, 3}
    assert grades[0] > grades[[1, 2, 3]].sum()
    assert collection.qrels.query("label > 0").groupby("qid").size().reindex(collection.topics["qid"]).min() >= 5
    judged = collection.qrels.merge(collection.documents, on="docno")
    length = judged["doc_length"]
    relevant = judged["label"] > 0
    assert relevant[length > length.median()].mean() > relevant[length < length.median()].mean()


def test_systems_return_ranked_documents_with_lengths(collection, systems):
    assert len(systems) == 3
    lengths = collection.documents.set_index("docno")["doc_length"]
    for system in systems.values():
        results = system(collection.topics)
        assert {"qid", "query", "docno", "score", "rank", "doc_length"} <= set(results.columns)
        assert set(results["qid"]) == set(collection.topics["qid"])
        assert (results["doc_length"].to_numpy() == lengths[results["docno"]].to_numpy()).all()
        assert not results.duplicated(["qid", "docno"]).any()
        for _, ranking in results.sort_values("rank").groupby("qid"):
            assert ranking["rank"].tolist() == list(range(len(ranking)))
            assert ranking["score"].is_monotonic_decreasing
    # validate="error" requires that every transformer declares its input and output columns.
    table = pt.Experiment(list(systems.values()), collection.topics, collection.qrels, [nDCG @ 10, AP],
                          names=list(systems), validate="error")  # fmt: skip
    assert table["nDCG@10"].nunique() == 3
    for system in systems.values():
        assert {"score", "doc_length"} <= set(pt.inspect.transformer_outputs(system, ["qid", "query"]))


def test_systems_beat_chance_pickle_cut_and_find_nothing_for_unknown_words(collection, systems):
    rng = np.random.default_rng(0)
    topics = collection.topics.head(5)
    for system in systems.values():
        results = system(collection.topics)
        shuffled = results.assign(score=rng.random(len(results)))
        found, chance = (pt.Evaluate(r, collection.qrels, [nDCG @ 10])["nDCG@10"] for r in (results, shuffled))
        assert 3 * chance < found < 0.8
        assert 0.7 < pt.Evaluate(results, collection.qrels, [Judged @ 10])["Judged@10"] < 0.95  # judgments have holes
        pd.testing.assert_frame_equal(pickle.loads(pickle.dumps(system))(topics), system(topics))
        assert system(pd.DataFrame({"qid": ["1", "2"], "query": ["x", ""]})).empty
    first = systems["BM25"] % 10
    assert first.compile()(topics).equals(first(topics).reset_index(drop=True))


def test_parameters_can_be_tuned(collection, monkeypatch):
    system = demo.systems(collection)["BM25"]
    topics = collection.topics.head(10)
    qrels = collection.qrels.merge(topics[["qid"]])
    grid = {system: {"k1": [0.4, 1.2], "b": [0.0, 0.75]}}
    scanned = pt.GridScan(system, grid, topics, qrels, ["ndcg"])
    assert len(scanned) == 4
    assert scanned["ndcg"].nunique() == 4

    tuned = pt.GridSearch(system, grid, topics, qrels, "ndcg")
    assert pt.Evaluate(tuned(topics), qrels, ["ndcg"])["ndcg"] == pytest.approx(scanned["ndcg"].max())
    monkeypatch.setitem(sys.modules, "bm25s", None)
    refused(lambda: demo.systems(collection), CWLAError, "the demo needs bm25s ", 'pip install "bm25s>=')
