"""Tests of the transformers that add doc_length and duplicate_of: by PyTerrier's own checks, by loops, in experiments."""

import pickle

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from pyterrier.testing import transformer_test_class

from pyterrier_cwla import TBG, find_duplicates, lengths_of_texts, register_lengths
from pyterrier_cwla.data import Duplicates
from pyterrier_cwla.errors import BadParameter, BadRun
from pyterrier_cwla.pipelines import DocLength, DuplicateOf
from tests.support.generated import as_pyterrier, collection, harmless
from tests.support.messages import refused

pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword", "ignore:INFO|You can hide|There are shared")

WORDS = {"d1": 100, "d2": 350}
REPEATED = {"d2": "d1", "d4": "d3"}
RANKING = pd.DataFrame([
    *[("1", "d2", "A fox jumps!", 1), ("1", "d1", "a fox jumps", 0), ("1", "d3", "dogs  sleep", 2)],
    *[("2", "d3", "dogs  sleep", 0), ("2", "d1", "a fox jumps", 1), ("2", "d4", "Dogs sleep.", 2)],
    *[("3", "d5", "", 1), ("3", "d6", "", 0)],
], columns=["qid", "docno", "text", "rank"]).assign(query="about animals", score=lambda r: -1.0 * r["rank"], url="x")  # fmt: skip

TRANSFORMERS = {"words": (lambda: DocLength(), ["docno", "text"], "doc_length"),
                "table of words": (lambda: DocLength(WORDS), ["docno"], "doc_length"),
                "texts": (lambda: DuplicateOf(), ["qid", "docno", "text"], "duplicate_of"),
                "nearly": (lambda: DuplicateOf(similarity=0.5, shingle=2), ["qid", "docno", "text"], "duplicate_of"),
                "table of duplicates": (lambda: DuplicateOf(REPEATED), ["docno"], "duplicate_of")}  # fmt: skip
every = pytest.mark.parametrize("make, needs, adds", TRANSFORMERS.values(), ids=TRANSFORMERS)


@pytest.fixture(autouse=True)
def _offline(monkeypatch):
    """Replace PyTerrier's index of its online documentation, which the checks would download."""
    monkeypatch.setattr(pt.documentation, "_cached_objects_inv", {})


for kind, (of_kind, _, _) in TRANSFORMERS.items():
    globals()[f"Test{kind.title().replace(' ', '')}"] = transformer_test_class(of_kind)


@every
def test_inspection(make, needs, adds):
    assert pt.inspect.transformer_inputs(make()) == [needs]
    assert pt.inspect.transformer_outputs(make(), [*needs, "url"]) == [*needs, "url", adds]
    for lacking in needs:
        with pytest.raises(pt.validate.InputValidationError):
            pt.inspect.transformer_outputs(make(), [c for c in needs if c != lacking])
    made = make()
    names = [attribute.name for attribute in pt.inspect.transformer_attributes(made)]
    assert set(names) >= {"tokeniser"}
    again = pt.inspect.transformer_apply_attributes(made, tokeniser="words")
    pd.testing.assert_frame_equal(again(RANKING).drop(columns=adds), RANKING)
    changed = {name: getattr(made, name) for name in names} | {"tokeniser": "words"}
    assert {name: getattr(again, name) for name in names} == changed


@every
def test_columns_are_added_and_everything_else_stays_as_it_was(make, needs, adds):
    before = RANKING.copy(deep=True)
    after = make()(RANKING.set_index(pd.Index(range(100, 108))))
    pd.testing.assert_frame_equal(RANKING, before)
    assert after.columns.tolist() == [*RANKING.columns, adds]
    assert after.index.tolist() == [*range(100, 108)]
    pd.testing.assert_frame_equal(after.drop(columns=adds).reset_index(drop=True), before)
    pd.testing.assert_frame_equal(make()(make()(RANKING)), make()(RANKING))  # an existing column is computed again
    for empty in (RANKING[:0], pd.DataFrame(columns=[*needs, "score"])):
        after = make()(empty)
        assert len(after) == 0
        assert after.columns.tolist() == [*empty.columns, adds]
    expected = make()(RANKING).set_index(["qid", "docno"])[adds].sort_index()
    for seed in range(5):
        found = make()(RANKING.sample(frac=1, random_state=seed)).set_index(["qid", "docno"])[adds].sort_index()
        pd.testing.assert_series_equal(found, expected)
    expected = make()(RANKING)
    for same in (pickle.loads(pickle.dumps(make())), make().compile(), pt.Transformer.from_df(RANKING) >> make()):
        topics = RANKING if same.__class__ is make().__class__ else RANKING[["qid", "query"]].drop_duplicates()
        found = same(topics)
        columns = ["qid", "docno", adds]
        pd.testing.assert_frame_equal(found[columns].reset_index(drop=True), expected[columns])


def originals(frame):
    return frame.duplicate_of.astype(object).where(frame.duplicate_of.notna(), None).tolist()


def test_the_words_of_a_text_or_of_a_table():
    assert DocLength()(RANKING).doc_length.tolist() == [3, 3, 2, 2, 3, 2, 0, 0]
    assert DocLength(tokeniser=len)(RANKING[:0]).doc_length.tolist() == []
    assert DocLength(tokeniser=list)(RANKING[:2]).doc_length.tolist() == [12, 11]
    assert DocLength(WORDS)(RANKING[:3]).doc_length.tolist() == pytest.approx([350, 100, np.nan], nan_ok=True)
    assert DocLength(lengths_of_texts(RANKING))(RANKING).doc_length.tolist() == [3, 3, 2, 2, 3, 2, 0, 0]
    ranking = RANKING.drop(columns="text")
    with pytest.raises(pt.validate.InputValidationError) as found:
        DocLength()(ranking)
    assert "register_lengths(words)" in found.value.__notes__[0]
    register_lengths(dict.fromkeys(ranking.docno, 10))
    assert (DocLength()(ranking).doc_length == 10).all()
    assert DocLength()(RANKING).doc_length.tolist() == [3, 3, 2, 2, 3, 2, 0, 0]


def test_duplicates_of_what_is_above_in_the_same_ranking():
    assert originals(DuplicateOf()(RANKING)) == ["d1", None, None, None, None, "d3", None, None]
    without = RANKING.drop(columns="rank")
    assert originals(DuplicateOf()(without)) == [None, "d2", None, None, None, "d3", None, None]
    assert originals(DuplicateOf(tokeniser="whitespace")(RANKING)) == [None] * 8
    assert originals(DuplicateOf(REPEATED)(RANKING)) == ["d1", None, None, None, None, "d3", None, None]
    # As ``find_duplicates`` with the texts of one query in rank order; b links a and c if it is retrieved.
    texts = {"a": "1 2 3 4 5 6", "b": "3 4 5 6 7 8", "c": "5 6 7 8 9 0"}
    rankings = [("1", "abc"), ("2", "ac"), ("3", "cba"), ("4", "ba")]
    frame = pd.DataFrame([(q, d, texts[d]) for q, documents in rankings for d in documents])
    found = DuplicateOf(similarity=0.3, shingle=2)(frame.set_axis(["qid", "docno", "text"], axis=1))
    assert originals(found) == [None, "a", "a", None, None, None, "c", "c", None, "b"]


@pytest.mark.slow
@pytest.mark.parametrize("similarity", [1.0, 0.5])
def test_rankings_of_random_texts(similarity):
    rng = np.random.default_rng(3)
    texts = {f"d{at}": " ".join(rng.choice(["a", "b"], rng.integers(0, 5))) for at in range(60)}
    documents = [d for _ in range(10) for d in rng.choice([*texts], 20, replace=False)]
    frame = pd.DataFrame({"qid": np.repeat([*"0123456789"], 20), "docno": documents, "rank": [*range(20)] * 10})
    frame["text"] = frame.docno.map(texts)
    found = DuplicateOf(similarity=similarity, shingle=2)(frame.sample(frac=1, random_state=1)).sort_values("rank")
    for _, ranking in found.groupby("qid"):
        alone = find_duplicates(dict(zip(ranking.docno, ranking.text)), similarity, 2)
        expected = DuplicateOf(alone)(ranking)
        assert originals(ranking) == originals(expected)
        assert any(originals(ranking))


def test_pyterrier_has_them_and_they_refuse_wrong_settings():
    refused(lambda: DocLength("nowhere"), BadParameter, "'nowhere' is neither a file nor the name")
    refused(lambda: DuplicateOf("run"), BadParameter, "'run' is the column that DuplicateOf adds")
    refused(lambda: DuplicateOf(similarity=2), BadParameter, "similarity=2")
    refused(lambda: DocLength(tokeniser="word"), BadParameter, "no tokeniser 'word'")
    refused(lambda: DocLength()(RANKING.assign(text=["x", None] * 4)), BadRun, "text of the run is missing in row 1")
    for name in ("DocLength", "DuplicateOf", "LearnedRanker", "OptunaSearch", "KFoldOptunaSearch"):
        assert name in dir(pt.cwla)
        assert getattr(pt.cwla, name) is getattr(pt.cwla.pipelines, name)
    assert isinstance(pt.cwla.pipelines.DuplicateOf(REPEATED).duplicates, Duplicates)


@pytest.mark.slow
def test_measures_read_what_they_add():
    """TBG with the added columns equals TBG with the tables that they were made from."""
    frames = harmless(collection(5, queries=8, depth=12, lengths=True))
    run, qrels = as_pyterrier(frames.run).drop(columns="doc_length"), as_pyterrier(frames.qrels)
    rng = np.random.default_rng(1)
    kinds = [" ".join(f"w{n}" for n in rng.integers(0, 9, size)) for size in rng.integers(5, 2000, 12)]
    texts = {d: str(rng.choice(kinds)) for d in run.docno.unique()}
    topics = pd.DataFrame({"qid": sorted(set(qrels.qid))}).assign(query="x")
    ranker = pt.Transformer.from_df(run.assign(text=run.docno.map(texts)))
    words, clusters = lengths_of_texts(texts), find_duplicates(texts)
    pipelines = [ranker >> DocLength() >> DuplicateOf(), ranker >> DuplicateOf(clusters) >> DocLength(words)]
    measures = [TBG, TBG(duplicates="run"), TBG(duplicates="run", duplicate_gain="none")]
    found = pt.Experiment(pipelines, topics, qrels, measures, names=["counted", "looked up"], validate="error")
    bound = [TBG(lengths=words), TBG(lengths=words, duplicates=clusters, label="TBG with duplicates")]
    bound.append(bound[1](duplicate_gain="none"))
    expected = pt.Experiment([ranker], topics, qrels, bound)
    assert len(clusters) > 10
    keep, fast, idle = (expected[str(measure)][0] for measure in bound)
    assert idle < keep < fast  # a duplicate takes almost no time, and may gain nothing
    for measure, value in zip(measures, (keep, fast, idle), strict=True):
        assert found[str(measure)].tolist() == pytest.approx([value] * 2, abs=1e-12)
    with pytest.raises(ValueError, match="duplicate_of"):
        pt.Experiment([ranker >> DocLength()], topics, qrels, [measures[1]], validate="error")
