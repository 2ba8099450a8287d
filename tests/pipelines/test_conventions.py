"""Tests of what PyTerrier expects of transformers: names, equality, tuning, schematics, and rank cutoffs."""

import pickle

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyterrier.testing import transformer_test_class

from pyterrier_cwla import TBG, register_duplicates, register_lengths
from pyterrier_cwla.data import Lengths
from pyterrier_cwla.errors import BadParameter
from pyterrier_cwla.pipelines import DocCost, DocLength, DuplicateOf, LearnedRanker
from tests.support.messages import refused

pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword", "ignore:INFO|You can hide|There are shared")

WORDS = {"d0": 100, "d1": 350, "d2": 20}
REPEATED = {"d1": "d0", "d3": "d2"}


def characters(text):
    return list(text)


def test_the_name_shows_what_differs_from_the_defaults(tmp_path):
    register_lengths("named_here", WORDS)
    register_duplicates("named_here", REPEATED)
    (tmp_path / "words.csv").write_text("d0,100\n")
    names = {"DocLength()": DocLength(), "DocLength(tokeniser='words')": DocLength(tokeniser="words"),
             "DocLength(tokeniser=characters)": DocLength(tokeniser=characters),
             "DocLength(lengths='named_here')": DocLength("named_here"),
             "DocLength(lengths='words.csv')": DocLength(tmp_path / "words.csv"),
             "DocLength(lengths=<3 lengths>)": DocLength(WORDS), "DocCost(costs=<3 costs>)": DocCost(WORDS),
             "DocCost(costs=len)": DocCost(len), "DocCost(tokeniser='words')": DocCost(tokeniser="words"),
             "DuplicateOf(similarity=0.5, shingle=2)": DuplicateOf(similarity=0.5, shingle=2),
             "DuplicateOf(duplicates='named_here')": DuplicateOf("named_here"),
             "DuplicateOf(duplicates=<2 duplicates>)": DuplicateOf(REPEATED)}  # fmt: skip
    for name, transformer in names.items():
        assert repr(transformer) == str(transformer) == name
    assert str(DocLength() >> DuplicateOf() % 3) == "(DocLength() >> DuplicateOf() >> RankCutoff(3))"


DIFFERENT = [lambda: DocLength(), lambda: DocLength(tokeniser="words"), lambda: DocLength(tokeniser=characters),
             lambda: DocLength(WORDS), lambda: DocLength(WORDS | {"d0": 101}), lambda: DocLength(WORDS | {"d9": 1}),
             lambda: DocCost(WORDS), lambda: DocCost(WORDS | {"d0": 101}),
             lambda: DocCost(len), lambda: DocCost(ord), lambda: DocCost(tokeniser="words"), lambda: DuplicateOf(),
             lambda: DuplicateOf(similarity=0.5), lambda: DuplicateOf(shingle=2), lambda: DuplicateOf(REPEATED),
             lambda: DuplicateOf({"d1": "d0"})]  # fmt: skip


@pytest.mark.slow
def test_equal_parameters_or_tables_make_equal_transformers(tmp_path):
    for at, make in enumerate(DIFFERENT):
        assert make() == make()
        assert hash(make()) == hash(make())
        assert pickle.loads(pickle.dumps(make())) == make()
        for other in DIFFERENT[at + 1 :]:
            assert make() != other()
    assert len({make() for make in DIFFERENT * 2}) == len(DIFFERENT)
    assert DocLength() != "DocLength()"
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_text("d0,100\nd1,350\n")
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    assert DocLength(one) == DocLength(one)
    assert DocLength(one) != DocLength(two)  # each may change alone
    assert DocLength(one) != DocLength(Lengths.load(one))
    assert DocLength(Lengths.load(one)) == DocLength(Lengths.load(two)) == DocLength({"d0": 100, "d1": 350})
    register_lengths("changing", {"d0": 1})
    before = DocLength("changing")
    register_lengths("changing", {"d0": 2})
    assert before != DocLength("changing")


class Counting(pt.Transformer):
    """Transformer that counts how often it retrieves."""

    def __init__(self):
        self.calls = 0

    def transform(self, inp):
        self.calls += len(inp) > 0
        rows = [(q, f"d{at}", -at, at, f"text {at}") for q in inp["qid"] for at in range(4)]
        return pd.DataFrame(rows, columns=["qid", "docno", "score", "rank", "text"])


def test_an_experiment_names_systems_and_shares_their_first_stages():
    class Split:
        """Tokeniser that counts its calls."""

        calls = 0

        def __call__(self, text):
            self.calls += 1
            return text.split()

    split, first = Split(), Counting()
    pipelines = [first >> DocLength(tokeniser=split) >> pt.RankCutoff(k) for k in (1, 2)]
    topics = pd.DataFrame({"qid": ["1", "2"], "query": "x"})
    qrels = pd.DataFrame({"qid": ["1", "2"], "docno": ["d1", "d0"], "label": 1})
    found = pt.Experiment(pipelines, topics, qrels, [TBG], plan="tree", verbose=False)
    assert first.calls == 1
    assert split.calls == 4  # distinct texts, for one of the two pipelines
    assert [name.partition(" >> ")[2][:10] for name in found.name] == ["DocLength("] * 2
    assert found.TBG[0] < found.TBG[1]


def test_a_grid_search_sets_what_the_transformer_uses():
    frame = pd.DataFrame({"qid": "1", "docno": ["d0", "d1"], "text": ["it's so", "It's so!"], "rank": [0, 1]})
    length, same = DocLength(), DuplicateOf()
    length.set_parameter("tokeniser", "words")
    assert length(frame).doc_length.tolist() == [3, 3]
    length.set_parameter("lengths", WORDS)
    assert length(frame).doc_length.tolist() == [100, 350]
    assert length == DocLength(WORDS, tokeniser="words")
    assert DocCost(WORDS)(frame).doc_cost.tolist() == [100, 350]
    assert DocCost(len)(frame).doc_cost.tolist() == [2, 2]
    for both in ({}, {"costs": WORDS, "tokeniser": "words"}):
        refused(lambda both=both: DocCost(**both), BadParameter, "costs, such as a table, or tokeniser=")
    refused(lambda: DocCost(tokeniser="word"), BadParameter, "no tokeniser 'word'")
    with pytest.raises(pt.validate.InputValidationError) as found:
        DocCost(tokeniser="words")(frame.drop(columns="text"))
    assert found.value.__notes__ == ["Give DocCost a table, such as DocCost(costs)."]
    grid = {length: {"tokeniser": ["whitespace"]}}
    length.set_parameter("tokeniser", "whitespace")
    assert grid[length] == {"tokeniser": ["whitespace"]}
    assert same(frame).duplicate_of.tolist() == [None, "d0"]
    same.set_parameter("tokeniser", "whitespace")
    assert same(frame).duplicate_of.tolist() == [None, None]
    for transformer, name, value, message in [
        (length, "tokeniser", "word", "no tokeniser 'word'"),
        (length, "tokenizer", "words", "has no parameter 'tokenizer'. Near: 'tokeniser'"),
        (same, "similarity", 2, "similarity=2"),
    ]:
        before = repr(transformer)
        with pytest.raises(BadParameter, match=message):
            transformer.set_parameter(name, value)
        assert repr(transformer) == before


class Zero:
    """Ranker that scores every row 0."""

    def fit(self, X, y, qid):
        return self

    def predict(self, X):
        return np.zeros(len(X))

    def __repr__(self):
        return "Zero(\n    seed=1)"


TestLearnedRanker = transformer_test_class(lambda: LearnedRanker(Zero()))


@pytest.fixture(autouse=True)
def _offline(monkeypatch):
    """Replace PyTerrier's index of its online documentation, which schematics of its own transformers download."""
    monkeypatch.setattr(pt.documentation, "_cached_objects_inv", {})


def test_a_learned_ranker_in_a_pipeline_is_named_and_drawn(monkeypatch):
    pipeline = DocLength(WORDS) >> LearnedRanker(Zero()) % 5
    assert str(pipeline) == "(DocLength(lengths=<3 lengths>) >> LearnedRanker(Zero( seed=1)) >> RankCutoff(5))"
    assert pipeline.compile() == pipeline  # the cutoff is by the new ranks
    columns = ["qid", "docno", "features"]
    assert pt.inspect.transformer_outputs(pipeline, columns) == [*columns, "doc_length", "score", "rank"]
    assert "LearnedRanker" in pt.schematic.draw(pipeline, input_columns=columns)
    empty = pipeline(pd.DataFrame(columns=columns))
    assert (len(empty), list(empty)) == (0, [*columns, "doc_length", "score", "rank"])

    def refuse(*_):
        raise OSError("no network")

    monkeypatch.setattr(pt.documentation, "objects_inv", refuse)
    made = DocLength(WORDS) >> DuplicateOf(similarity=0.5)
    drawn = pt.schematic.draw(made, input_columns=["qid", "docno", "text"])
    for text in ("DocLength", "&lt;3 lengths&gt;", "DuplicateOf", "<td>0.5</td>", "<td>&#x27;words&#x27;</td>"):
        assert text in drawn
    schematic = pt.schematic.transformer_schematic(made, input_columns=["qid", "docno", "text"])
    assert [stage["label"] for stage in schematic["transformers"]] == ["DocLength", "DuplicateOf"]
    assert schematic["output_columns"] == ["qid", "docno", "text", "doc_length", "duplicate_of"]


CUT = {"words": lambda: DocLength(), "table of words": lambda: DocLength(WORDS),
       "table of costs": lambda: DocCost(WORDS), "tokens": lambda: DocCost(tokeniser="words"), "texts": lambda: DuplicateOf(),
       "table of duplicates": lambda: DuplicateOf(REPEATED),
       "both": lambda: DocLength(WORDS) >> DuplicateOf(tokeniser="whitespace")}  # fmt: skip


@st.composite
def results(draw):
    """Rankings with ties and gaps of ranks, missing ranks, and equal texts, in any order of rows."""
    rows = []
    for qid in draw(st.lists(st.sampled_from("abc"), unique=True)):
        n = draw(st.integers(0, 6))
        rank = st.one_of(st.integers(0, 5).map(float), st.just(np.nan)) if draw(st.booleans()) else None
        for at in range(n):
            text = draw(st.sampled_from(["a fox", "A fox!", "dogs sleep", ""]))
            rows.append((qid, f"d{at}", text, float(at) if rank is None else draw(rank), -float(at)))
    frame = pd.DataFrame(draw(st.permutations(rows)), columns=["qid", "docno", "text", "rank", "score"])
    kind = draw(st.sampled_from(["float64", "Float64"]))
    return frame.astype({"rank": kind, "score": "float64", **dict.fromkeys(("qid", "docno", "text"), object)})


@given(results(), st.sampled_from(sorted(CUT)), st.integers(0, 7))
def test_a_cutoff_comes_first_after_compile(frame, kind, k):
    pipeline = CUT[kind]() % k
    compiled = pipeline.compile()
    assert compiled[0] == pt.RankCutoff(k)
    assert list(compiled)[1:] == list(pipeline)[:-1]
    pd.testing.assert_frame_equal(compiled(frame), pipeline(frame))


class Retriever(pt.Transformer):
    """Retriever with a native cutoff, as PyTerrier's engines have it."""

    def __init__(self, frame, num_results=1000):
        self.frame, self.num_results = frame, num_results

    def transform(self, inp):
        found = self.frame.merge(inp[["qid"]], on="qid")
        return found[found["rank"] < self.num_results].reset_index(drop=True)

    def fuse_rank_cutoff(self, k):
        return Retriever(self.frame, min(k, self.num_results))


@pytest.mark.slow
@given(results(), st.sampled_from(sorted(CUT)), st.integers(0, 7))
def test_a_cutoff_reaches_the_retriever(frame, kind, k):
    topics = pd.DataFrame({"qid": list("abc")})
    pipeline = Retriever(frame) >> CUT[kind]() % k
    compiled = pipeline.compile()
    assert isinstance(compiled[0], Retriever)
    assert compiled[0].num_results == k
    assert not any(isinstance(stage, pt.RankCutoff) for stage in compiled)
    pd.testing.assert_frame_equal(compiled(topics), pipeline(topics))


@pytest.mark.slow
def test_cutoffs_stay_where_documents_below_or_ranks_matter():
    """With a similarity below 1, a document below the cutoff links two above it."""
    texts = ["1 2 3 4 5 6", "5 6 7 8 9 0", "3 4 5 6 7 8"]
    frame = pd.DataFrame({"qid": "1", "docno": list("acb"), "text": texts, "rank": range(3)})
    near = DuplicateOf(similarity=0.3, shingle=2)
    assert (near % 2)(frame).duplicate_of.tolist() == [None, "a"]
    assert near(frame[:2]).duplicate_of.tolist() == [None, None]
    assert (near % 2).compile() == near % 2
    assert (DocLength() >> near % 2).compile() == DocLength() >> near % 2
    first, ranks = Counting(), pt.apply.doc_score(lambda row: row["doc_length"])
    compiled = (first >> DocLength() >> ranks % 2).compile()
    assert [type(stage) for stage in compiled] == [Counting, DocLength, type(ranks), pt.RankCutoff]
    for pipeline in (DocLength(WORDS) % 2, (DocLength(WORDS) % 2).compile()):
        with pytest.raises(AssertionError, match="require rank"):
            pipeline(pd.DataFrame({"qid": "1", "docno": ["d0"]}))
