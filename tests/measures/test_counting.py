"""Measures that count, beside trec_eval, loops and examples: incomplete judgments, condensed lists, sets, Q, ESL and Compat."""

import math
from functools import partial

import ir_measures
import numpy as np
import pandas as pd
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import Compat, P, nDCG
from sklearn.linear_model import LinearRegression

from pyterrier_cwla import CWLA, GeometricMean, Residual, compare, evaluate, scorer, studies
from pyterrier_cwla.errors import BadParameter
from pyterrier_cwla.files.formats import find_runs, read_qrels, read_run
from pyterrier_cwla.learning.metrics import measure_score
from tests.measures.test_equations import topics
from tests.model.test_against_reference import parsed
from tests.support import reference
from tests.support.generated import collection, harmless
from tests.support.messages import refused

pytestmark = pytest.mark.filterwarnings("ignore:(no document of|run and judgments have no query in common)")
#: trec_eval's names and ours. nDCG is excluded for negative grades, for which pytrec_eval may not terminate.
NAMES = {"map": "AP({})", "map_cut_5": "AP({})@5", "P_5": "P({})@5", "Rprec": "Rprec({})", "recip_rank": "RR({})",
         "recall_10": "R({})@10", "success_5": "Success({})@5"}  # fmt: skip
JUDGED_ALL = {"bpref": "Bpref({})", "infAP": "infAP({})", "11pt_avg": "AP11pt({})", "num_rel_ret": "NumRet({})"}


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


def scores_of(*measures, qrels, run, **how):
    return evaluate(qrels, {"run": run}, list(measures), **how).loc["run"].to_numpy().tolist()


def by_topic(values):
    """Return a strategy for up to three topics with some documents each."""
    documents = st.dictionaries(st.sampled_from("abcdefgh"), values, min_size=1)
    return st.dictionaries(st.sampled_from("123"), documents, min_size=1)


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


# ---- sets, interpolated precision, accuracy and utility


def test_utility_of_trec_eval():
    frames = harmless(collection(3))
    same(frames.qrels, {"run": frames.run}, {"utility": "SetUtility"}, rel=1, judged_only=False)


@pytest.mark.slow
def test_utility_without_results_is_that_of_the_formula(prints, tmp_path):
    """One result that is not relevant is worse than no result."""
    qrels = {"1": {"a": 1, "b": 1, "c": 1, "n": 0}, "2": {"a": 1}, "3": {"a": 0}}
    given = ("missed=1", "missed=2,spared=0.5,documents=9", "missed=1,judged_only=True")
    names = [f"SetUtility({parameters})" for parameters in given]
    without = evaluate(qrels, {"2": {"a": 1.0}}, names, by_query=True)
    assert without.to_numpy().tolist() == [[-3, -2 * 3 + 6 / 2, -3], [1, 1 + 8 / 2, 1], [0, 9 / 2, 0]]
    assert evaluate(qrels, {"1": {"n": 1.0}}, names[:1], by_query=True).iloc[0, 0] == -1 - 3
    files = tmp_path / "qrels.txt", tmp_path / "run.txt"
    files[0].write_text("".join(f"{q} 0 {d} {grade}\n" for q, judged in qrels.items() for d, grade in judged.items()))
    files[1].write_text("2 Q0 a 1 1.0 x\n")
    said = " ".join(prints("evaluate", *files, "-m", names[0]).split())
    assert "score 0 (the worth of what is missed and spared for SetUtility): run (2)." in said
    assert "score 0: run (2)." in " ".join(prints("evaluate", *files, "-m", "SetUtility").split())


def test_accuracy_without_a_pair_is_not_defined():
    qrels = {"1": {"a": 1, "b": 0}, "2": {"a": 1}, "3": {"a": 1}, "4": {"a": 1}}
    run = {"1": {"a": 2.0, "b": 1.0}, "2": {"a": 1.0}, "3": {"b": 1.0}}
    found = evaluate(qrels, run, ["Accuracy", "AP"], by_query=True)
    assert found["Accuracy"].tolist()[0] == 1.0
    assert found["Accuracy"].isna().tolist() == [False, True, True, True]
    assert evaluate(qrels, run, ["Accuracy"]).iloc[0, 0] == 1.0
    assert np.isnan(evaluate(qrels, {"2": {"a": 1.0}}, ["Accuracy"]).iloc[0, 0])
    with pytest.raises(BadParameter, match="Accuracy has no value for query '2': leave the measure or the query out"):
        compare(qrels, run, ["AP", "Accuracy"])


def test_the_command_names_queries_without_accuracy(prints, tmp_path):
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 a 1\n3 0 a 0\n")
    (tmp_path / "run.txt").write_text("1 Q0 a 1 2.0 x\n1 Q0 b 2 1.0 x\n2 Q0 b 1 1.0 x\n")
    text = " ".join(prints("evaluate", tmp_path / "qrels", tmp_path / "run.txt", "-m", "Accuracy", "-m", "AP").split())
    assert "Accuracy has no value for some topics, which the means leave out: run (2)." in text
    by_query = prints("evaluate", tmp_path / "qrels", tmp_path / "run.txt", "-m", "Accuracy", "--by-query")
    assert "Accuracy has no value for some topics: run (2)." in " ".join(by_query.split())


# ---- Q-measure


GRADED = {"q": {"a": 2, "b": 1, "c": 1, "n": 0}}
GRADED_RUN = {"q": {"x": 5.0, "a": 4.0, "b": 3.0, "n": 2.0, "c": 1.0}}
LISTS = st.lists(
    st.tuples(
        st.lists(st.sampled_from([None, -1, 0, 1, 2, 3]), min_size=1, max_size=9),
        st.lists(st.integers(-1, 3), max_size=5),
    ),
    min_size=1,
    max_size=4,
)


q_of = partial(scores_of, qrels=GRADED, run=GRADED_RUN)


def test_q_measure_by_hand():
    """Ideal gains 2, 3, 4, 4, 4; relevant documents at ranks 2, 3 and 5, with cumulative gains 2, 3 and 4."""
    whole = ((1 + 2) / (2 + 3) + (2 + 3) / (3 + 4) + (3 + 4) / (5 + 4)) / 3
    condensed = ((1 + 2) / (1 + 2) + (2 + 3) / (2 + 3) + (3 + 4) / (4 + 4)) / 3
    burges = ((1 + 3) / (2 + 4) + (2 + 4) / (3 + 5) + (3 + 5) / (5 + 5)) / 3
    found = q_of("QMeasure", "QMeasure(judged_only=True)", "QMeasure(gain='burges')")
    assert found == pytest.approx([whole, condensed, burges], abs=1e-15)
    assert q_of("QMeasure(normalise=min(k,R))@2") == q_of("QMeasure@2")


def test_the_example_of_ntcireval():
    """sample.rel and sample.res of NTCIREVAL (Sakai 2014), with gains 1:2:3 and the cutoff 2."""
    grades = dict(zip((f"d{i:02}" for i in range(1, 12)), (3, 3, 3, 2, 2, 2, 1, 1, 1, 1, 0), strict=True))
    run = {"q": {"d11": 4.0, "d01": 3.0, "d12": 2.0, "d04": 1.0}}
    names = ["QMeasure", "QMeasure@1000", "QMeasure@2", "QMeasure(beta=0)@2", "AP", "nDCG@2"]
    found = q_of(*names, qrels={"q": grades}, run=run)
    assert found == pytest.approx([0.0967, 0.0967, 0.25, 0.25, 0.1, 0.3869], abs=5e-5)


def judged_and_ranked(lists):
    """Return judgments and a run per query, with grades of documents that were not retrieved."""
    qrels, run, judged = {}, {}, []
    for number, (ranking, others) in enumerate(lists):
        grades = {f"d{i}": grade for i, grade in enumerate(ranking) if grade is not None}
        grades |= {f"o{i}": grade for i, grade in enumerate(others)} | {"zero": 0}
        qrels[f"q{number}"] = grades
        run[f"q{number}"] = {f"d{i}": float(-i) for i in range(len(ranking))}
        judged.append(list(grades.values()))
    return qrels, run, judged


@given(
    LISTS,
    st.sampled_from([0, 0.1, 1, 10]),
    st.integers(1, 3),
    st.sampled_from([None, 1, 4, 20]),
    st.sampled_from(["min(k,R)", "R"]),
)
def test_q_measure_against_the_loop(lists, beta, rel, k, normalise):
    qrels, run, judged = judged_and_ranked(lists)
    at = "" if k is None else f"@{k}"
    own = f"beta={beta},rel={rel},normalise='{normalise}'"
    measures = [f"QMeasure({own}{gain}){at}" for gain in ("", ",gain='table({1: 0.3, 2: 0.7, 3: 5})'")]
    found = evaluate(qrels, run, measures, by_query=True)
    gains = (float, {1: 0.3, 2: 0.7, 3: 5}.get)
    for (ranking, _), grades, qid in zip(lists, judged, qrels, strict=True):
        expected = [reference.q_measure(ranking, grades, beta, gain, rel, k, normalise) for gain in gains]
        assert found.loc["run", qid].tolist() == pytest.approx(expected, abs=1e-12)
        assert all(0 <= value <= 1 + 1e-12 for value in expected)


def test_the_ideal_ranking_has_the_q_measure_1_at_any_cutoff():
    names = ["QMeasure", "QMeasure@1", "QMeasure@2", "QMeasure@9"]
    assert q_of(*names, run={"q": {"a": 3.0, "c": 2.0, "b": 1.0}}) == [1, 1, 1, 1]


# ---- expected search length


TIED = {"q": {"a": 1, "b": 2, "c": 0, "z": 1}}
TIED_RUN = {"q": {"x": 5.0, "a": 4.0, "b": 4.0, "c": 4.0, "y": 4.0, "w": 3.0}}
#: A list of grades (None: unjudged) and of scores, of few values, and grades of documents that are not retrieved.
TOPIC = st.tuples(
    st.lists(st.tuples(st.sampled_from([None, -1, 0, 1, 2]), st.sampled_from([0.0, 1.0, 2.5])), max_size=6),
    st.lists(st.integers(0, 2), max_size=2),
)


esl_of = partial(scores_of, qrels=TIED, run=TIED_RUN)


def test_search_length_by_hand():
    """x is above four tied documents, of which a and b are relevant: 1 + 2·s/3 for s = 1 and 2."""
    assert esl_of("ESL", "ESL(wanted=2)") == pytest.approx([1 + 2 / 3, 1 + 4 / 3], abs=1e-15)
    assert esl_of("ESL(rel=2)") == [1 + 3 / 2]  # only b is relevant, among three others
    assert esl_of("ESL(judged_only=True)", "ESL(wanted=2,judged_only=True)") == pytest.approx([1 / 3, 2 / 3])
    assert esl_of("ESL(wanted=3)", "ESL(wanted=3,failed=50)", "ESL(wanted=3,failed=2)") == [1000, 50, 4]
    # 100 documents: z is one of the 94 that are not retrieved, and a user finds it after half of the other 93
    assert esl_of("ESL(wanted=3,documents=100)", "ESL(wanted=4,documents=100)") == [4 + 93 / 2, 4 + 93]
    assert esl_of("ESL(documents=7)", "ESL(wanted=3,documents=7)") == pytest.approx([1 + 2 / 3, 4])


def levels_of(rows, rel, judged_only=False):
    rows = [(grade, score) for grade, score in rows if not judged_only or (grade is not None and grade >= 0)]
    return [
        [grade is not None and grade >= rel for grade, other in rows if other == score]
        for score in sorted({score for _, score in rows}, reverse=True)
    ]


@given(st.lists(TOPIC, min_size=1, max_size=4), st.integers(1, 4), st.integers(1, 2), st.sampled_from([0, 3, 40]))
def test_search_length_is_the_mean_over_all_orders(topics, wanted, rel, failed):
    """With the documents that were not retrieved as the last level, and without; condensed, and not."""
    qrels, run, expected = {"other": {"a": 1}}, {"other": {"a": 1.0}}, {}
    for number, (rows, others) in enumerate(topics):
        qid = f"q{number}"
        judged = {f"d{place}": grade for place, (grade, _) in enumerate(rows) if grade is not None}
        qrels[qid] = judged | {f"o{place}": grade for place, grade in enumerate(others)} | {"zero": 0}
        run[qid] = {f"d{place}": score for place, (_, score) in enumerate(rows)}
        relevant = [grade >= rel for grade in others]
        unseen = relevant + [False] * (9 - len(rows) - len(others))
        levels = levels_of(rows, rel)
        expected[qid] = [
            reference.search_length(levels, wanted, failed),
            reference.search_length(levels_of(rows, rel, judged_only=True), wanted, failed),
            reference.search_length([*levels, sorted(unseen)[-6:]], wanted, 0) if len(unseen) <= 6 else None,
        ]
    own = f"wanted={wanted},rel={rel}"
    measures = [
        f"ESL({own},{more})" for more in (f"failed={failed}", f"failed={failed},judged_only=True", "documents=9")
    ]
    found = evaluate(qrels, {"run": {q: docs for q, docs in run.items() if docs}}, measures, by_query=True)
    for qid, values in expected.items():
        for value, expected_value in zip(found.loc["run", qid].tolist(), values, strict=True):
            assert expected_value is None or value == pytest.approx(expected_value, abs=1e-12)


@given(TOPIC, st.integers(1, 3))
def test_documents_that_are_not_judged_count_as_not_retrieved(topic, wanted):
    """With ``judged_only``, they are in the last level, as if the run did not have them."""
    rows, others = topic
    judged = {f"d{place}": grade for place, (grade, _) in enumerate(rows) if grade is not None}
    qrels = {"q": judged | {f"o{place}": grade for place, grade in enumerate(others)} | {"zero": 0}}
    run = {f"d{place}": score for place, (_, score) in enumerate(rows)} | {"unjudged": 1.0}
    condensed = {docno: score for docno, score in run.items() if qrels["q"].get(docno, -1) >= 0} | {"zero": -1.0}
    given_text = f"wanted={wanted},documents=12"
    found = esl_of(f"ESL({given_text},judged_only=True)", qrels=qrels, run={"q": run | {"zero": -1.0}})
    assert found == esl_of(f"ESL({given_text})", qrels=qrels, run={"q": condensed})


@given(st.lists(TOPIC, min_size=1, max_size=4), st.integers(1, 3))
def test_without_ties_search_length_is_the_effort_of_users_of_bpm(topics, wanted):
    """A user of bpm(K, 1000) leaves at the K-th relevant document, and only the others cost one."""
    qrels = {f"q{n}": {f"d{i}": max(g or 0, 0) for i, (g, _) in enumerate(rows)} for n, (rows, _) in enumerate(topics)}
    qrels |= {"last": {"d0": 1}}
    run = {qid: {"d0": 0.0} | {d: -float(d[1:]) for d in documents} for qid, documents in qrels.items()}
    cell = CWLA(C=f"bpm({wanted},1000)", A="effort", gain="binary", effort="by_grade({0: 1, 1: 0, 2: 0})")
    ours, theirs = zip(*esl_of(f"ESL(wanted={wanted})", cell, qrels=qrels, run=run, by_query=True), strict=True)
    assert ours == pytest.approx(theirs, abs=1e-9)


def test_searched_scores_tie_as_float32_and_ids_have_no_effect():
    documents = ["x", "a", "y"]
    for scores in ([1 + 1e-9, 1.0, 1 - 1e-9], [np.inf] * 3, [1e39, np.inf, 1e40], [0.0, -0.0, 1e-50]):
        for names in (documents, documents[::-1]):
            run = {"q": dict(zip(names, scores))}
            assert esl_of("ESL", run=run) == [1]
    assert esl_of("ESL", run={"q": dict(zip(documents, [1 + 1e-6, 1.0, 1 - 1e-6]))}) == [1]
    assert esl_of("ESL", run={"q": dict(zip(documents, [1 - 1e-6, 1.0, 1.1]))}) == [1]
    assert esl_of("ESL", run={"q": dict(zip(documents, [1 + 1e-6, 1.0, 1.0]))}) == [1.5]


def test_the_last_document_does_not_tie_with_the_next_query():
    qrels = {"1": {"a": 1}, "2": {"a": 1}, "3": {"a": 1}}
    run = {q: {"a": 1.0, "n": 1.0} for q in ("1", "unjudged", "2", "3")}
    assert [value for (value,) in esl_of("ESL", qrels=qrels, run=run, by_query=True)] == [0.5] * 3


def test_queries_without_results_are_failed_searches():
    """Less is better, so that 0 would be the best value."""
    qrels = TIED | {"none": {"a": 1}, "nothing relevant": {"a": 0}}
    measures = ["ESL(failed=77)", "ESL(documents=10)", "ESL(judged_only=True)", "ESL(wanted=2,documents=10)"]
    found = esl_of(*measures, qrels=qrels, by_query=True)
    assert found[1:] == [[77, 9 / 2, 1000, 9], [77, 10, 1000, 10]]
    assert esl_of("ESL(failed=77)", qrels=qrels) == pytest.approx([(1 + 2 / 3 + 77 + 77) / 3])


def test_scorers_minimise_search_length_and_rows_without_ids_tie():
    y = pd.Series([0, 1, 0, 1, 0, 1], index=pd.Index([1, 1, 1, 2, 2, 2], name="qid"))
    X = np.array([[3.0], [3.0], [1.0], [2.0], [1.0], [1.0]])
    assert scorer("ESL(wanted=1)")(LinearRegression().fit(X, X.ravel()), X, y) == pytest.approx(-(1 / 2 + 0) / 2)
    ids = {"docno": [["a", "b", "c", "d"]]}
    for known in ({}, ids):
        assert measure_score("ESL(wanted=2)", [[1, 0, 1, 0]], [[2, 1, 1, 1]], **known) == pytest.approx(1)
    two = measure_score("ESL", [1, 0, 0, 1, 0], [1, 1, 1, 0, 0], qid=["b", "b", "a", "b", "a"], average=False)
    assert two[0] == 1 / 2


def test_the_lowest_search_length_is_the_best():
    qrels = {f"q{n}": {"a": 1} for n in range(5)}
    runs = {"good": {q: {"a": 2.0, "b": 1.0} for q in qrels}, "bad": {q: {"a": 1.0, "b": 2.0} for q in qrels}}
    assert compare(qrels, runs, ["ESL", "RR"], resamples=100).about["better"] == {"ESL": "lower", "RR": "higher"}
    short = {**runs, "good": {q: runs["good"][q] for q in list(qrels)[1:]}}
    notes = compare(qrels, short, ["RR", "GeometricMean(measure='ESL')"], resamples=100).notes()
    assert "Topics that a run does not answer score 0 (failed searches for ESL): good (1)." in notes
    notes = compare(qrels, short, ["RR"], resamples=100).notes()
    assert "Topics that a run does not answer score 0: good (1)." in notes


def test_intents_are_searched_for_one_by_one():
    rows = [("q", "a", 1, "0"), ("q", "b", 1, "1"), ("q", "c", 0, "1"), ("none", "a", 1, "0")]
    qrels = pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance", "iteration"])
    found = esl_of("IntentAware(measure='ESL(failed=9)')", qrels=qrels, by_query=True)
    assert found == [[pytest.approx((1 + 3 / 2 + 1 + 3 / 2) / 2)], [9]]


# ---- compatibility


DOCUMENTS = st.sampled_from("abcdefghi")
RUNS = st.dictionaries(DOCUMENTS, st.sampled_from([-1.5, -0.0, 0.0, 1.0, 1 + 1e-12, 1 + 1e-7, 2.0]), min_size=1)
JUDGED = st.dictionaries(DOCUMENTS, st.sampled_from([-1, 0, 1, 2]), min_size=1)


def compat_of(qrels, run, measure="Compat"):
    return scores_of(measure, qrels={"q": qrels}, run={"q": run})[0]


@given(RUNS, JUDGED, st.sampled_from([0, 0.5, 0.95, 1]), st.booleans())
def test_compatibility_of_any_ranking(run, judged, p, normalize):
    """Ties, scores that differ as doubles only, scores of 0 and below it, and documents that are not retrieved."""
    found = compat_of(judged, run, f"Compat(p={p},normalize={normalize})")
    assert found == pytest.approx(reference.compatibility(run, judged, p, normalize), abs=1e-12)


@given(RUNS, JUDGED)
def test_the_ideal_ranking_has_the_compatibility_1(run, judged):
    """The documents with gain in descending order of grade, whatever follows them."""
    best = sorted((d for d in judged if judged[d] > 0), key=lambda d: -judged[d])
    listed = [*best, *(d for d in run if d not in best)]
    found = compat_of(judged, {d: float(len(listed) - place) for place, d in enumerate(listed)})
    assert found == (1 if best else 0)


def test_ties_of_compat_are_by_ascending_id_and_scores_are_doubles():
    """All other measures order ties by descending id, and compare scores as float32."""
    tied = {"a": 1.0, "b": 1.0}
    assert compat_of({"a": 1}, tied) == 1
    assert compat_of({"b": 1}, tied, "RR") == 1
    close = {"a": 1.0, "b": 1 + 1e-12}
    assert compat_of({"b": 1}, close) == 1
    assert compat_of({"a": 1}, {"a": 1e300, "b": 1e299}) == 1  # both are infinite as float32
    bytes_order = {"é": 1.0, "z": 1.0, "😀": 1.0, "Z": 1.0}
    assert compat_of({"Z": 3, "z": 2, "é": 1}, bytes_order) == 1


def test_the_order_of_judgments_breaks_ties_of_scores_of_zero():
    run = {"a": 0.0, "x": -1.0}
    first, last = {"a": 1, "z": 1}, {"z": 1, "a": 1}
    assert compat_of(first, run) > compat_of(last, run)
    for qrels in (first, last):
        assert compat_of(qrels, run) == pytest.approx(reference.compatibility(run, qrels), abs=1e-15)


def test_compatibility_of_queries_without_results_or_relevant_documents():
    qrels = {"1": {"a": 1}, "2": {"a": 1}, "3": {"a": 0}, "4": {"a": 1}}
    run = {"1": {"a": 1.0}, "3": {"a": 1.0}, "4": {"b": 1.0}, "5": {"a": 1.0}}
    found = evaluate(qrels, run, [Compat], by_query=True)["Compat"]
    assert found.tolist() == [1, 0, 0, 0]
    assert ir_measures.calc_aggregate([Compat], qrels, run) == {Compat: found.mean()}


def test_compatibility_of_rows_of_a_learner():
    """Rows without ids keep their order if they tie; rows with ids are in ascending order."""
    X, y = np.array([[0.0], [1.0], [2.0]]), pd.Series([0, 1, 2], pd.Index(["q"] * 3, name="qid"))
    assert scorer("Compat", min_queries=1)(LinearRegression().fit(X, X.ravel()), X, y) == 1
    assert measure_score("Compat", [[1, 0]], [[1, 1]]) == 1
    assert measure_score("Compat", [[0, 1]], [[1, 1]]) == measure_score("Compat", [[0, 1]], [[2, 1]]) < 1
    assert measure_score("Compat", [[0, 1]], [[1, 1]], docno=[["b", "a"]]) == 1
    assert measure_score("Compat", [[0, 1]], [[1, 1 + 1e-12]]) == 1


def test_next_judgments_are_refused_for_compat():
    frames = collection(1, queries=6, grades=(0, 1, 2))
    says = "Compat depends on the order of the judgments"
    refused(lambda: studies.next_judgments(frames.qrels, {"a": frames.run, "b": collection(2).run}, "Compat"), says)


@pytest.mark.every_case
@pytest.mark.parametrize(("measure", "says"), [
    *((text, "rel") for text in ("AP(rel=-1)", "P(rel=-1)@5", "NumRel(rel=-1)", "Bpref(rel=-2)", "RBP(rel=-1)")),
    ("nDCG(dcg='exp-log2',gains={1:2})", "ir_measures defines gains= for dcg='log2' only. Give the gains "),
    ("SetUtility(spared=1)", "needs documents="),
    ("SetUtility(spared=1,documents=2)", "documents=2 of SetUtility is less than the 3 documents"),
    ("SetUtility(other=-1)", "other must be a number in [0, inf)"),
    ("IPrec", "IPrec needs recall=, as in IPrec@0.1"),
    ("IPrec@1.5", "recall"),
    ("SetF(beta=-1)", "beta must be a number in [0, inf)"),
    ("QMeasure(beta=-1)", "beta must be a number in [0, inf)"),
    ("QMeasure(gain='linear')", "max_rel"),
    ("QMeasure(rel=0)", "rel must"),
    ("QMeasure(normalise='k')", "normalise must be"),
    ("Residual(measure='QMeasure')", "follows a user model"),
    ("ESL(wanted=0)", "wanted must"),
    ("ESL(wanted=1.5)", "wanted must"),
    ("ESL(failed=-1)", "failed must"),
    ("ESL(documents=2)", "documents=2 of ESL is less than the 3 documents"),
    ("ESL@10", "no parameter 'cutoff'"),
    ("Residual(measure='ESL')", "follows a user model"),
    ("expected_search_length", "Near: 'ESL'"),
    ("Compat(p=1.5)", "p must be a number in [0, 1]"),
    ("Compat(normalize=2)", "normalize"),
])  # fmt: skip
def test_errors(measure, says):
    message = refused(
        lambda: evaluate({"q": {"a": 1, "b": 0, "c": 0}}, {"q": {"a": 1.0, "b": 0.5, "c": 0.1}}, [measure]), says
    )
    assert "dcg=" not in measure or "3:7" in message
