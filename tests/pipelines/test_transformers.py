"""Tests of the transformers that add columns: values by loops and in experiments, and PyTerrier's own conventions."""

import pickle

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyterrier.testing import transformer_test_class

from pyterrier_cwla import TBG, find_duplicates, lengths_of_texts, register_duplicates, register_lengths
from pyterrier_cwla.data import Lengths
from pyterrier_cwla.errors import BadParameter, BadRun
from pyterrier_cwla.pipelines import DocCost, DocLength, DuplicateOf, LearnedRanker
from tests.support.generated import as_pyterrier, collection, harmless
from tests.support.messages import refused

pytestmark = pytest.mark.filterwarnings("ignore:INFO|You can hide")

WORDS = {"d0": 100, "d1": 350, "d2": 20}
REPEATED = {"d1": "d0", "d3": "d2"}
RANKING = pd.DataFrame([
    *[("1", "d1", "A fox jumps!", 1), ("1", "d0", "a fox jumps", 0), ("1", "d2", "dogs  sleep", 2)],
    *[("2", "d2", "dogs  sleep", 0), ("2", "d0", "a fox jumps", 1), ("2", "d3", "Dogs sleep.", 2)],
    *[("3", "d4", "", 1), ("3", "d5", "", 0)],
], columns=["qid", "docno", "text", "rank"]).assign(query="about animals", score=lambda r: -1.0 * r["rank"], url="x")  # fmt: skip
COUNTED = [3, 3, 2, 2, 3, 2, 0, 0]
TRANSFORMERS = {"words": (lambda: DocLength(), ["docno", "text"], "doc_length"),
                "table of words": (lambda: DocLength(WORDS), ["docno"], "doc_length"),
                "table of costs": (lambda: DocCost(WORDS), ["docno"], "doc_cost"),
                "tokens": (lambda: DocCost(tokeniser="words"), ["docno", "text"], "doc_cost"),
                "texts": (lambda: DuplicateOf(), ["qid", "docno", "text"], "duplicate_of"),
                "nearly": (lambda: DuplicateOf(similarity=0.5, shingle=2), ["qid", "docno", "text"], "duplicate_of"),
                "table of duplicates": (lambda: DuplicateOf(REPEATED), ["docno"], "duplicate_of")}  # fmt: skip
every = pytest.mark.parametrize("make, needs, adds", TRANSFORMERS.values(), ids=TRANSFORMERS)


@pytest.fixture(autouse=True)
def _offline(monkeypatch):
    """Replace PyTerrier's index of its online documentation, which checks and schematics would download."""
    monkeypatch.setattr(pt.documentation, "_cached_objects_inv", {})


class Zero:
    """Ranker that scores every row 0."""

    def fit(self, X, y, qid):
        return self

    def predict(self, X):
        return np.zeros(len(X))

    def __repr__(self):
        return "Zero(\n    seed=1)"


for kind, (of_kind, _, _) in {**TRANSFORMERS, "learned": (lambda: LearnedRanker(Zero()), [], "")}.items():
    globals()[f"Test{kind.title().replace(' ', '')}"] = transformer_test_class(of_kind)


@pytest.mark.every_case
@every
def test_inspection(make, needs, adds):
    made = make()
    assert pt.inspect.transformer_inputs(made) == [needs]
    assert pt.inspect.transformer_outputs(made, [*needs, "url"]) == [*needs, "url", adds]
    for lacking in needs:
        with pytest.raises(pt.validate.InputValidationError):
            pt.inspect.transformer_outputs(made, [c for c in needs if c != lacking])
    names = [attribute.name for attribute in pt.inspect.transformer_attributes(made)]
    assert "tokeniser" in names
    if adds != "doc_cost":  # of costs, a table or a tokeniser
        again = pt.inspect.transformer_apply_attributes(made, tokeniser="words")
        assert {n: getattr(again, n) for n in names} == {n: getattr(made, n) for n in names} | {"tokeniser": "words"}


@pytest.mark.every_case
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
        assert (len(after), after.columns.tolist()) == (0, [*empty.columns, adds])
    expected = make()(RANKING)
    for seed in range(5):
        found = make()(RANKING.sample(frac=1, random_state=seed)).sort_index()
        pd.testing.assert_frame_equal(found, expected)
    for same in (pickle.loads(pickle.dumps(make())), make().compile()):
        pd.testing.assert_frame_equal(same(RANKING), expected)


def originals(frame):
    return frame.duplicate_of.astype(object).where(frame.duplicate_of.notna(), None).tolist()


def test_the_words_of_a_text_or_of_a_table():
    assert DocLength()(RANKING).doc_length.tolist() == COUNTED
    assert DocLength(tokeniser=len)(RANKING[:0]).doc_length.tolist() == []
    assert DocLength(tokeniser=list)(RANKING[:2]).doc_length.tolist() == [12, 11]
    assert DocLength(WORDS)(RANKING[2:6]).doc_length.tolist() == pytest.approx([20, 20, 100, np.nan], nan_ok=True)
    assert DocLength(lengths_of_texts(RANKING))(RANKING).doc_length.tolist() == COUNTED
    ranking = RANKING.drop(columns="text")
    with pytest.raises(pt.validate.InputValidationError) as found:
        DocLength()(ranking)
    assert "register_lengths(words)" in found.value.__notes__[0]
    register_lengths(dict.fromkeys(ranking.docno, 10))
    assert (DocLength()(ranking).doc_length == 10).all()
    assert DocLength()(RANKING).doc_length.tolist() == COUNTED


def test_duplicates_of_what_is_above_in_the_same_ranking():
    assert originals(DuplicateOf()(RANKING)) == ["d0", None, None, None, None, "d2", None, None]
    without = RANKING.drop(columns="rank")
    assert originals(DuplicateOf()(without)) == [None, "d1", None, None, None, "d2", None, None]
    assert originals(DuplicateOf(tokeniser="whitespace")(RANKING)) == [None] * 8
    assert originals(DuplicateOf(REPEATED)(RANKING)) == ["d0", None, None, None, None, "d2", None, None]


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


#: Transformers by name, which shows what differs from the defaults; all are different.
NAMED = {
    "DocLength()": [lambda: DocLength()], "DocLength(tokeniser='words')": [lambda: DocLength(tokeniser="words")],
    "DocLength(tokeniser=list)": [lambda: DocLength(tokeniser=list)],
    "DocLength(lengths='named_here')": [lambda: DocLength("named_here")],
    "DocLength(lengths='one.csv')": [lambda: DocLength("one.csv")], "DocLength(lengths='two.csv')": [lambda: DocLength("two.csv")],
    "DocLength(lengths=<3 lengths>)": [lambda: DocLength(WORDS), lambda: DocLength(WORDS | {"d0": 101})],
    "DocLength(lengths=<4 lengths>)": [lambda: DocLength(WORDS | {"d9": 1})],
    "DocCost(costs=<3 costs>)": [lambda: DocCost(WORDS), lambda: DocCost(WORDS | {"d0": 101})],
    "DocCost(costs=len)": [lambda: DocCost(len)], "DocCost(costs=ord)": [lambda: DocCost(ord)],
    "DocCost(tokeniser='words')": [lambda: DocCost(tokeniser="words")], "DuplicateOf()": [lambda: DuplicateOf()],
    "DuplicateOf(similarity=0.5, shingle=2)": [lambda: DuplicateOf(similarity=0.5, shingle=2)],
    "DuplicateOf(shingle=2)": [lambda: DuplicateOf(shingle=2)],
    "DuplicateOf(duplicates='named_here')": [lambda: DuplicateOf("named_here")],
    "DuplicateOf(duplicates=<2 duplicates>)": [lambda: DuplicateOf(REPEATED)],
    "DuplicateOf(duplicates=<1 duplicates>)": [lambda: DuplicateOf({"d1": "d0"})],
}  # fmt: skip


@pytest.mark.slow
def test_names_and_equality_follow_the_parameters_and_tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("one.csv", "two.csv"):  # equal, but each may change alone
        (tmp_path / name).write_text("d0,100\nd1,350\n")
    register_lengths("named_here", {"d0": 3})
    register_duplicates("named_here", REPEATED | {"d8": "d7"})
    made = [make for several in NAMED.values() for make in several]
    for at, make in enumerate(made):
        assert make() == make() == pickle.loads(pickle.dumps(make()))
        assert hash(make()) == hash(make())
        for other in made[at + 1 :]:
            assert make() != other()
    for name, several in NAMED.items():
        assert {repr(make()) for make in several} == {str(make()) for make in several} == {name}
    assert len({make() for make in made * 2}) == len(made)
    assert DocLength() != "DocLength()"
    one, two = Lengths.load("one.csv"), Lengths.load("two.csv")
    assert DocLength("one.csv") != DocLength(one)
    assert DocLength(one) == DocLength(two) == DocLength({"d0": 100, "d1": 350})
    before = DocLength("named_here")
    register_lengths("named_here", {"d0": 2})
    assert before != DocLength("named_here")


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
    pipeline = ranker >> DocLength() >> (copies := DuplicateOf(similarity=0.1, shingle=3))
    table = pt.GridScan(pipeline, {copies: {"similarity": [0.1, 1.0]}}, topics, qrels, measures[1:2])
    for similarity, value in zip(table.tran_0_similarity, table[str(measures[1])], strict=True):
        alone = ranker >> DocLength() >> DuplicateOf(similarity=similarity, shingle=3)
        assert value == pt.Experiment([alone], topics, qrels, measures[1:2])[str(measures[1])][0]
    assert len(set(table[str(measures[1])])) == 2


def test_an_experiment_runs_equal_stages_once():
    texts = []

    def split(text):
        texts.append(text)
        return text.split()

    rows = [(q, f"d{at}", -at, at, f"text {at}") for q in "12" for at in range(4)]
    first = pt.Transformer.from_df(pd.DataFrame(rows, columns=["qid", "docno", "score", "rank", "text"]))
    pipelines = [first >> DocLength(tokeniser=split) >> pt.RankCutoff(k) for k in (1, 2)]
    topics = pd.DataFrame({"qid": ["1", "2"], "query": "x"})
    qrels = pd.DataFrame({"qid": ["1", "2"], "docno": ["d1", "d0"], "label": 1})
    found = pt.Experiment(pipelines, topics, qrels, [TBG], plan="tree", verbose=False)
    assert len(texts) == 4  # distinct texts, for one of the two pipelines
    assert [name.partition(" >> ")[2][:10] for name in found.name] == ["DocLength("] * 2
    assert found.TBG[0] < found.TBG[1]


def test_wrong_settings_are_refused():
    refused(lambda: DocLength("nowhere"), BadParameter, "'nowhere' is neither a file nor the name")
    refused(lambda: DuplicateOf("run"), BadParameter, "'run' is the column that DuplicateOf adds")
    refused(lambda: DuplicateOf(similarity=2), BadParameter, "similarity=2")
    refused(lambda: DocLength()(RANKING.assign(text=["x", None] * 4)), BadRun, "text of the run is missing in row 1")
    for make in (DocLength, DocCost, DuplicateOf):
        refused(lambda: make(tokeniser="word"), BadParameter, "no tokeniser 'word'")  # noqa: B023
    for both in ({}, {"costs": WORDS, "tokeniser": "words"}):
        refused(lambda: DocCost(**both), BadParameter, "costs, such as a table, or tokeniser=")  # noqa: B023
    with pytest.raises(pt.validate.InputValidationError) as found:
        DocCost(tokeniser="words")(RANKING.drop(columns="text"))
    assert found.value.__notes__ == ["Give DocCost a table, such as DocCost(costs)."]


def test_a_grid_search_sets_what_the_transformer_uses():
    frame = pd.DataFrame({"qid": "1", "docno": ["d0", "d1"], "text": ["it's so", "It's so!"], "rank": [0, 1]})
    length, same = DocLength(), DuplicateOf()
    length.set_parameter("tokeniser", "words")
    assert length(frame).doc_length.tolist() == [3, 3]
    length.set_parameter("lengths", WORDS)
    assert length(frame).doc_length.tolist() == [100, 350]
    assert length == DocLength(WORDS, tokeniser="words")
    assert DocCost(len)(frame).doc_cost.tolist() == [2, 2]
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
        refused(lambda: transformer.set_parameter(name, value), BadParameter, message)  # noqa: B023
        assert repr(transformer) == before


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
    schematic = pt.schematic.transformer_schematic(made, input_columns=["qid", "docno", "text"])
    assert [stage["label"] for stage in schematic["transformers"]] == ["DocLength", "DuplicateOf"]
    assert schematic["output_columns"] == ["qid", "docno", "text", "doc_length", "duplicate_of"]
    drawn = pt.schematic.draw(made, input_columns=["qid", "docno", "text"])
    for text in ("DocLength", "&lt;3 lengths&gt;", "DuplicateOf", "<td>0.5</td>", "<td>&#x27;words&#x27;</td>"):
        assert text in drawn


CUT = {**{kind: make for kind, (make, _, _) in TRANSFORMERS.items() if kind != "nearly"},
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
def test_a_cutoff_comes_first_after_compile_and_reaches_the_retriever(frame, kind, k):
    pipeline = CUT[kind]() % k
    compiled = pipeline.compile()
    assert list(compiled) == [pt.RankCutoff(k), *list(pipeline)[:-1]]
    pd.testing.assert_frame_equal(compiled(frame), pipeline(frame))
    topics, pipeline = pd.DataFrame({"qid": list("abc")}), Retriever(frame) >> pipeline
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
    first, ranks = Retriever(frame), pt.apply.doc_score(lambda row: row["doc_length"])
    compiled = (first >> DocLength() >> ranks % 2).compile()
    assert [type(stage) for stage in compiled] == [Retriever, DocLength, type(ranks), pt.RankCutoff]
    for pipeline in (DocLength(WORDS) % 2, (DocLength(WORDS) % 2).compile()):
        with pytest.raises(AssertionError, match="require rank"):
            pipeline(pd.DataFrame({"qid": "1", "docno": ["d0"]}))
