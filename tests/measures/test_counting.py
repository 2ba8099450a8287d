"""Measures for incomplete judgments, compared with trec_eval by topic: bpref, infAP, condensed lists, GMAP."""

import math

import numpy as np
import pandas as pd
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import P, nDCG

from pyterrier_cwla import CWLA, GeometricMean, Residual, evaluate
from pyterrier_cwla.errors import BadParameter, UnknownSpec
from pyterrier_cwla.files.formats import find_runs, read_qrels, read_run
from tests.measures.test_equations import topics
from tests.model.test_against_reference import parsed
from tests.support import reference
from tests.support.generated import collection
from tests.support.messages import refused

#: trec_eval's names and ours. nDCG is excluded for negative grades, for which pytrec_eval may not terminate.
NAMES = {"map": "AP({})", "map_cut_5": "AP({})@5", "P_5": "P({})@5", "Rprec": "Rprec({})", "recip_rank": "RR({})",
         "recall_10": "R({})@10", "success_5": "Success({})@5"}  # fmt: skip
JUDGED_ALL = {"bpref": "Bpref({})", "infAP": "infAP({})"}


def nested(frame, value):
    return {
        q: dict(zip(some.doc_id, some[value].tolist(), strict=True))
        for q, some in frame.groupby("query_id", sort=False)
    }


def trec_eval(qrels, names, rel=1, judged_only=False):
    """Return a function from a run to trec_eval's values, without topics that have negative grades only.

    The values of these topics are 0, and pytrec_eval writes outside its memory.
    """
    qrels = qrels[qrels.groupby("query_id").relevance.transform("max") >= 0]
    wanted = {name.replace("_5", ".5").replace("_10", ".10") for name in names}
    evaluator = pytrec_eval.RelevanceEvaluator(
        nested(qrels, "relevance"), wanted, relevance_level=rel, judged_docs_only_flag=judged_only
    )
    return lambda run: pd.DataFrame(evaluator.evaluate(nested(run, "score"))).T


def agree(qrels, runs, rel=1, judged_only=False):
    """Compare our values, computed for all runs in one call, with those of trec_eval for each run."""
    names = NAMES | ({} if judged_only else JUDGED_ALL)
    given = f"rel={rel}" + (",judged_only=True" if judged_only else "")
    return same(qrels, runs, {name: text.format(given) for name, text in names.items()}, rel, judged_only)


def same(qrels, runs, names, rel, judged_only):
    ours = evaluate(qrels, runs, list(names.values()), by_query=True)
    theirs = trec_eval(qrels, names, rel, judged_only)
    for name, run in runs.items():
        found = ours.loc[name]
        expected = theirs(run).reindex(index=found.index, columns=[*names], fill_value=0.0)
        np.testing.assert_allclose(found.to_numpy(), expected.to_numpy(), rtol=0, atol=1e-9)
    return ours


def framed(nested, value):
    rows = [(topic, document, number) for topic, some in nested.items() for document, number in some.items()]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", value])


def by_topic(values):
    """Return a strategy for up to three topics with some documents each."""
    documents = st.dictionaries(st.sampled_from("abcdefgh"), values, min_size=1)
    return st.dictionaries(st.sampled_from("123"), documents, min_size=1)


@pytest.mark.filterwarnings("ignore:run and judgments have no query in common")
@given(by_topic(st.integers(-2, 3)), by_topic(st.sampled_from([0.0, 0.5, 2.0])), st.integers(1, 3), st.booleans())
def test_any_judgments(qrels, run, rel, judged_only):
    """Ties, topics missing on one side, judgments without relevant or without other documents, grades of −1 and −2."""
    agree(framed(qrels, "relevance"), {"run": framed(run, "score")}, rel, judged_only)


NDCG = {"ndcg": "nDCG(judged_only=True)", "ndcg_cut_10": "nDCG(judged_only=True)@10"}


@pytest.mark.parametrize("cutoff", [None, 5])
@pytest.mark.parametrize(("C", "A", "more"), [
    ("rbp(phi=0.8)", "erg", {"gain": "exponential"}),
    ("inst(T=2)", "erg", {"gain": "linear"}),
    ("rr", "err", {"gain": "exponential"}),
    ("prec(k=5)", "max", {"gain": "linear"}),
    ("ap2", "avg", {"gain": "binary"}),
    ("dcg", "etg", {"gain": "raw", "norm": "ideal"}),
    ("decay(half_life=60)", "etg", {"gain": "clicksave", "effort": "time"}),
])  # fmt: skip
def test_any_metric_on_condensed_lists(C, A, more, cutoff):
    """Comparison with loops over the run without its unjudged documents."""
    frames = collection(8, lengths=True)
    measure = CWLA(C=C, A=A, max_rel=3, judged_only=True, cutoff=cutoff, **more)
    found = evaluate(frames.qrels, frames.run, [measure], by_query=True).loc["run"].iloc[:, 0]
    parts = {"C": parsed(C), "A": parsed(A)} | {role: (more[role], {}) for role in ("gain", "effort") if role in more}
    for query, topic in topics(frames):
        left = [(g, words) for g, words in zip(topic.grades, topic.words, strict=True) if g is not None and g >= 0]
        slow = reference.score(
            [g for g, _ in left], **parts, max_rel=3, k=cutoff, norm=more.get("norm", "none"),
            judged=[max(g, 0) for g in topic.judged], words=[words for _, words in left],
        ) if left else 0.0  # fmt: skip
        assert found[query] == pytest.approx(slow, abs=1e-10)
    assert (found > 0).sum() > 10


# ---- residuals


def test_residuals_of_generated_runs():
    """RBP: (1 − φ)φ^(i−1) for every unjudged rank, and φ^n for the ranks after the list."""
    frames = collection(6)
    found = (
        evaluate(frames.qrels, frames.run, [Residual(measure="RBP(rel=1,p=0.8)")], by_query=True).loc["run"].iloc[:, 0]
    )
    ranked = frames.run.merge(frames.qrels, how="left").sort_values(["score", "doc_id"], ascending=False)
    for query, some in ranked[ranked.query_id.isin(found.index)].groupby("query_id"):
        unknown = 0.2 * 0.8 ** np.flatnonzero(some.relevance.isna()).astype(float)
        assert found[query] == pytest.approx(unknown.sum() + 0.8 ** len(some), abs=1e-9)


@pytest.mark.slow
def test_a_rounding_error_is_no_negative_residual():
    """Five relevant documents at the first ranks: sums of fifths differ in the last bit if they are added otherwise."""
    documents = {f"d{rank}": 20.0 - rank for rank in range(20)}
    for judged in range(5, 12):
        for relevant in range(2**5):
            grades = {f"d{rank}": relevant >> rank & 1 for rank in range(5)}
            qrels = {"1": {**grades, **{f"d{rank}": 0 for rank in range(5, judged)}}}
            for measure in (P @ 5, CWLA(C="rbp(0.8)", A="erg", max_rel=1) @ 5):
                assert math.copysign(1.0, Residual(measure=measure).calc_aggregate(qrels, {"1": documents})) == 1


def test_residuals_of_condensed_lists_are_no_bounds():
    """A newly judged document moves others down. The score was 0 with a residual of 0.2, and becomes up to 0.8."""
    measure = CWLA(C="rbp(0.2)", A="erg", max_rel=1, judged_only=True)
    run = {"1": {"unjudged": 2.0, "judged": 1.0}}
    before, after = {"1": {"judged": 0, "other": 1}}, {"1": {"judged": 0, "other": 1, "unjudged": 1}}
    assert measure.calc_aggregate(before, run) == 0
    assert Residual(measure=measure).calc_aggregate(before, run) == pytest.approx(0.2)
    assert measure.calc_aggregate(after, run) == pytest.approx(0.8)
    assert not Residual(measure=measure).is_a_bound
    assert Residual(measure=measure(judged_only=False)).is_a_bound


# ---- geometric means


def test_gmap():
    """trec_eval excludes queries that the run does not answer. Ours counts them with the floor."""
    frames = collection(4)
    answered = frames.qrels[frames.qrels.query_id.isin(frames.run.query_id)]
    measure = GeometricMean(measure="AP")
    logs = trec_eval(answered, ["gm_map"])(frames.run).gm_map
    expected = pytrec_eval.compute_aggregated_measure("gm_map", logs.to_numpy())
    assert evaluate(answered, frames.run, [measure]).iloc[0, 0] == pytest.approx(expected, abs=1e-9)
    assert measure.calc_aggregate(answered, frames.run) == pytest.approx(expected, abs=1e-9)
    values = {m.query_id: m.value for m in measure.iter_calc(answered, frames.run)}
    ap = evaluate(answered, frames.run, ["AP"], by_query=True).loc["run"].AP
    assert values == pytest.approx(np.log(np.maximum(ap, 1e-5)).to_dict(), abs=1e-12)
    assert evaluate(frames.qrels, frames.run, [measure]).iloc[0, 0] < expected


def test_the_geometric_mean_of_any_measure():
    frames = collection(5)
    for measure, floor in ((CWLA(C="inst(1)", A="erg", max_rel=3), 1e-5), ("Rprec", 0.01), ("Bpref", 1e-3)):
        each = evaluate(frames.qrels, frames.run, [measure], by_query=True).iloc[:, 0]
        found = evaluate(frames.qrels, frames.run, [GeometricMean(measure=measure, floor=floor)]).iloc[0, 0]
        assert found == pytest.approx(np.prod(np.maximum(each, floor) ** (1 / len(each))), rel=1e-9)


# ---- runs of TREC-COVID


@pytest.fixture(scope="module")
def covid(data):
    """The judgments, and all 143 runs."""
    folder = data / "trec-covid-r1"
    runs = {path.name: read_run(path).to_pandas() for path in find_runs(folder / "runs")}
    assert len(runs) == 143
    return read_qrels(folder / "qrels.txt").to_pandas(), runs


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize("judged_only", [False, True])
@pytest.mark.parametrize("rel", [1, 2])
def test_all_runs_of_trec_covid(covid, rel, judged_only):
    agree(*covid, rel, judged_only)


@pytest.mark.slow
@pytest.mark.real_data
def test_ndcg_of_the_condensed_runs_of_trec_covid(covid):
    same(*covid, NDCG, rel=1, judged_only=True)


FROM_0 = ["AP", "AP@5", "P@5", "RR", "R@5", "Success@3", "Rprec", "NumRel", "NumRet", "Bpref", "infAP", "RBP(p=0.5)"]


@pytest.mark.parametrize("measure", FROM_0)
@pytest.mark.parametrize("seed", [1, 2])
def test_rel_0_excludes_negative_grades_alone(measure, seed):
    """A grade that is higher by one, with rel=1, says the same. RBP is cwl_eval's, which takes negative grades for 0."""
    frames = collection(seed)
    grade = frames.qrels.relevance
    raised = grade.clip(lower=0) + 1 if measure.startswith("RBP") else grade + (grade >= 0)
    name, at, k = measure.partition("@")
    given = [name.replace(")", f",rel={rel})") if ")" in name else f"{name}(rel={rel})" for rel in (0, 1)]
    for more in ["", ",judged_only=True"][: 2 if name in ("AP", "P", "RR", "R", "Success", "Rprec") else 1]:
        zero, one = (f"{text[:-1]}{more}){at}{k}" for text in given)
        found = evaluate(frames.qrels, frames.run, [zero], by_query=True)
        expected = evaluate(frames.qrels.assign(relevance=raised), frames.run, [one], by_query=True)
        assert found.iloc[:, 0].tolist() == expected.iloc[:, 0].tolist()


def test_rel_0_with_one_retrieved_document_that_is_judged_not_relevant():
    qrels, run = {"q": {"a": 0, "b": -1, "c": 2}}, {"q": {"b": 3.0, "x": 2.0, "a": 1.0}}
    found = evaluate(qrels, run, ["AP(rel=0)", "RR(rel=0)", "P(rel=0)@3", "NumRel(rel=0)", "RBP(rel=0,p=0.5)"])
    assert found.loc["run"].tolist() == pytest.approx([1 / 6, 1 / 3, 1 / 3, 2, 0.5 + 0.125])


@pytest.mark.parametrize("measure", ["AP(rel=-1)", "P(rel=-1)@5", "NumRel(rel=-1)", "Bpref(rel=-2)", "RBP(rel=-1)"])
def test_rel_below_0_is_an_error(measure):
    refused(lambda: evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, [measure]), BadParameter, "rel")


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("judged_only", [False, True])
@pytest.mark.parametrize("gains", [{0: 1, 1: 4}, {1: -1, 2: 3}, {-1: 2, 0: 0, 3: 1}, {2: -1, 3: -2, 1: 0}])
def test_gains_of_any_grades_replace_them_as_in_ir_measures(gains, judged_only, cut):
    frames = collection(5, ties=True)
    replaced = frames.qrels.assign(relevance=frames.qrels.relevance.replace(gains))
    plain = nDCG(judged_only=judged_only) @ 5 if cut else nDCG(judged_only=judged_only)
    measure = plain(gains=gains)
    found = evaluate(frames.qrels, frames.run, [measure], by_query=True)
    for all_of_them in (replaced, replaced.assign(relevance=replaced.relevance.clip(lower=-1))):
        expected = evaluate(all_of_them, frames.run, [plain], by_query=True)
        assert found.iloc[:, 0].tolist() == pytest.approx(expected.iloc[:, 0].tolist(), abs=1e-12)


def test_exponential_gains_are_an_error_with_the_way_out():
    with pytest.raises(UnknownSpec, match=r"ir_measures defines gains= for dcg='log2' only. Give the gains .*3:7"):
        evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["nDCG(dcg='exp-log2',gains={1:2})"])
