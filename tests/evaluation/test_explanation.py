"""Explanations of scores: contributions add up to the score, and effective discounts equal those of the papers."""

import math
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pytest

from pyterrier_cwla import CWLA, TBG, ByTopic, GainWithin, IntentAware, Mixture, evaluate, explain, explain_gains
from pyterrier_cwla.errors import BadParameter, BadRun, MissingCost, MissingLength
from pyterrier_cwla.evaluation import ExplainedMixture, ExplainedPair, explanation, plot_stops, stop_distribution
from pyterrier_cwla.rendering.numbers import percent
from tests.evaluation.test_arrays import traced
from tests.measures.test_intents import GRADED, diversity, given
from tests.support.generated import collection
from tests.support.messages import refused

QRELS = pd.DataFrame(
    [("1", "a", 2), ("1", "b", 0), ("1", "c", 1), ("1", "lost", 2), ("2", "x", 1)],
    columns=["query_id", "doc_id", "relevance"],
)
RUN = pd.DataFrame(
    [("1", "b", 9.0), ("1", "a", 8.0), ("1", "new", 7.0), ("1", "c", 7.0), ("2", "y", 1.0)],
    columns=["query_id", "doc_id", "score"],
)
LENGTHS = {"a": 100, "b": 700, "c": 40, "new": 10, "lost": 5, "x": 1, "y": 3}
MEASURES = [
    "AP", "RR", "nDCG", "nDCG@2", "INST(max_rel=2)", "ERR@3", "CWLA(C='inst(1)',A='avg',max_rel=2)",
    "CWLA(C='rbp(0.8)',A='fgt(0.5)',max_rel=2)@3", "CWLA(C='rbp(0.8)',A='pe(0.5)',max_rel=2,end='stop')",
    "CWLA(C='dcg(6)',A='erg',max_rel=2)", TBG(lengths=LENGTHS), TBG(lengths=LENGTHS, norm="ideal"),
    TBG(lengths=LENGTHS, norm="unlimited", half_life=30)(end="stop"),
]  # fmt: skip


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_it_adds_up_to_what_the_provider_says(measure):
    explanation = explain(QRELS, RUN, "1", measure)
    said = evaluate(QRELS, RUN, [measure], by_query=True).loc[("run", "1")].iloc[0]
    assert explanation.score == pytest.approx(said, abs=1e-12)
    collected = explanation.table["L·A"].sum() + explanation.beyond
    assert collected / explanation.divisor == pytest.approx(said, abs=1e-12)
    adds = explanation.contributions
    assert adds.index.tolist() == explanation.table["rank"].tolist()
    rest = 0 if explanation.adds_gains else explanation.beyond / explanation.divisor
    assert adds.sum() + rest == pytest.approx(said, abs=1e-12)
    assert explanation.table["discount"].isna().all() == (not explanation.adds_gains)


def test_rows_are_in_trec_order_and_time_adds_up_in_seconds():
    table = explain(QRELS, RUN, "1", "RR").table
    assert table["docno"].tolist() == ["b", "a", "new", "c"]  # ties are sorted by descending id
    assert table["grade"].isna().tolist() == [False, False, True, False]
    assert table["T"].tolist() == [0, 1, 2, 3]
    table = explain(QRELS, RUN, "1", TBG(lengths=LENGTHS)).table
    assert table["effort"].tolist() == pytest.approx(
        [4.4 + p * (0.018 * words + 7.8) for p, words in [(0.39, 700), (0.64, 100), (0.39, 10), (0.64, 40)]]
    )
    assert table["T"].tolist() == pytest.approx([0, *np.cumsum(table["effort"])[:-1]])
    assert table["V"].tolist() == pytest.approx([2 ** (-t / 224) for t in table["T"]])
    # Smucker and Clarke (2012), Eq. 2: while reading, the discount is the mean of D over the time of the document.
    table = explain(QRELS, RUN, "1", TBG(lengths=LENGTHS, credit="smeared")).table
    expected, T = [], 0.0
    for e in table["effort"]:
        steps = [T + e * (step + 0.5) / 20_000 for step in range(20_000)]
        expected.append(math.fsum(2 ** (-t / 224) for t in steps) / 20_000)
        T += e
    assert table["discount"].tolist() == pytest.approx(expected, abs=1e-10)


@pytest.mark.slow
def test_gains_times_discounts_are_the_score_where_a_is_linear(monkeypatch):
    """Jiang and Allan (2016), Eq. 8, for any linear aggregation; discounts of many ranks are those of few."""
    continuations = ["prec(4)", "rbp(0.8)", "inst(1)", "rr", "decay(3)", "dcg(9)", "ap2", "cascade(0.9)",
                     "weibull(0.7,3)", "bpm(2,9)", "budget(6)", "budget(7.5,partial=True)"]  # fmt: skip
    aggregations = ["etg", "erg", "avg", "fin", "fgt(0.7)", "utility(log2)", "smeared(3)"]
    for effort in ({}, {"efforts": [3, 1, 0, 2, 5], "unseen": 2}):
        for C, A, end in product(continuations, aggregations, ["open", "stop", 8]):
            ask = partial(explain_gains, [0.3, 0, 1, 0.5, 0.2], C=C, A=A, end=end, judged=[1, 0.5, 0.3, 0.2, 0.7])
            few = ask(**effort)
            total = (few.table["gain"] * few.table["discount"]).sum()
            assert total == pytest.approx(few.score), (C, A, end, effort)
            with monkeypatch.context() as patch:
                patch.setattr(explanation, "_SMALL", 0)
                many = ask(**effort).table["discount"]
            np.testing.assert_allclose(many, few.table["discount"], rtol=1e-10, atol=1e-13)


GRADES = [None, 1, 0, 2, -1, 1, 0, 2, None, 1]
JUDGED = {f"d{i}": grade for i, grade in enumerate(GRADES) if grade is not None} | {"lost": 2, "elsewhere": 1}
RANKED = {f"d{i}": -float(i) for i in range(len(GRADES))}
TIMES = {"unit": (1, 1, 1), "ratio(4)": (0.25, 1, 1), "by_grade({0:0.3,1:0.6,2:1})": (0.3, 0.6, 1),
         "grade_time": (4.4 + 0.26 * 20.6, 4.4 + 0.5 * 37.1, 4.4 + 0.55 * 60.3)}  # fmt: skip
SATISFIED = [0, 0.25, 0, 0.75, 0, 0.25, 0, 0.75, 0, 0.25]  # (2^g − 1)/4
RELEVANT = [0, 1, 0, 1, 0, 1, 0, 1, 0, 1]
EXAMINED = {  # P_examine(i) of the measures of type M1
    "AdaptiveP(effort='{}')@7": lambda i: float(i <= 7),
    "AdaptiveGP(effort='{}')@7": lambda i: float(i <= 7),
    "AdaptiveRBP(p=0.6,effort='{}')": lambda i: 0.6 ** (i - 1),
    "AdaptiveGRBP(p=0.9,effort='{}')": lambda i: 0.9 ** (i - 1),
    "AdaptiveDCG(effort='{}')": lambda i: 1 / math.log2(i + 1),
    "AdaptiveDCG(effort='{}')@7": lambda i: float(i <= 7) / math.log2(i + 1),
}
STOPPED = {  # P_stop(i) of measures of type M2 (1/7 per relevant document), and the divisor of the score
    "AdaptiveAP(effort='{}')": ([b / 7 for b in RELEVANT], 1.0),
    "AdaptiveGAP(effort='{}')": ([b / 7 for b in RELEVANT], (4 * 0.4 + 3 * 1) / 7),
}
FIRST = {  # measures with the gain of the last item only: probability of stopping at each item reached
    "AdaptiveRR(effort='{}')": RELEVANT,
    "AdaptiveERR(effort='{}',max_rel=2)": SATISFIED,
}


def explained(text, effort):
    explanation = explain({"q": JUDGED}, {"q": RANKED}, "q", text.format(effort))
    table = explanation.table
    assert (table["gain"] * table["discount"]).sum() == pytest.approx(explanation.score, abs=1e-12)
    (said,) = evaluate({"q": JUDGED}, {"q": RANKED}, [text.format(effort)]).iloc[0]
    assert explanation.score == pytest.approx(said, abs=1e-12)
    assert said > 0
    return table["discount"].reindex(range(len(GRADES)), fill_value=0.0).tolist()  # 0 below a cutoff


@pytest.mark.slow
@pytest.mark.parametrize("effort", TIMES)
def test_the_effective_discounts_of_every_adaptive_row(effort):
    """Jiang and Allan (2016), Eq. 8: P_examine(i)/E(effort) for M1, Σ_{j≥i} P_stop(j)/e_stop(j) for M2."""
    e = [TIMES[effort][max(grade or 0, 0)] for grade in GRADES]
    E = [sum(e[: i + 1]) for i in range(len(e))]
    for text, examined in EXAMINED.items():
        examine = [examined(i) for i in range(1, len(e) + 1)]
        expected = sum(p * cost for p, cost in zip(examine, e, strict=True))
        assert explained(text, effort) == pytest.approx([p / expected for p in examine], abs=1e-12), text
    for text, (stop, N) in STOPPED.items():
        discounts = [sum(stop[j] / E[j] for j in range(i, len(e))) / N for i in range(len(e))]
        assert explained(text, effort) == pytest.approx(discounts, abs=1e-12), text
    for text, leave in FIRST.items():
        discounts = [math.prod(1 - s for s in leave[:i]) / E[i] for i in range(len(e))]
        assert explained(text, effort) == pytest.approx(discounts, abs=1e-12), text
    dcg, ndcg = (np.array(explained(f"Adaptive{name}(effort='{{}}')", effort)) for name in ("DCG", "nDCG"))
    best = sorted((max(grade, 0) for grade in JUDGED.values()), reverse=True)
    top = sum((2**grade - 1) / math.log2(i + 1) for i, grade in enumerate(best, 1))
    assert ndcg == pytest.approx(
        dcg / top * sum(TIMES[effort][grade] / math.log2(i + 1) for i, grade in enumerate(best, 1)), abs=1e-12
    )


def test_gains_times_discounts_are_the_score_of_other_rows():
    for text in (
        "GradedTBG", "GradedTBG(credit='smeared')", "UMeasure(T=150,max_rel=2)",
        "Cascade(gamma=0.9,phi='log2',max_rel=2)", "Cascade(gamma=0.9,phi='table(1,0.2,0.4)',max_rel=2)",
        "DynamicBPM(T=1.2,K=6.3,max_rel=2)", "DynamicBPM(T=0.4,K=2.5,max_rel=2,effort='ratio(4)')",
        "IFTGoal(T=1,R1=2,max_rel=2)", "IFTRate(A=0.2,max_rel=2,effort='ratio(4)')", "IFT(T=1,A=0.2,max_rel=2)",
        "ExpectedUtility(C='rbp(0.8)',max_rel=2)", "ExpectedTotalUtility(C='dcg(7)',max_rel=2)",
        "ExpectedAverageUtility(C='ap2',gain='binary')", "CWLA(C='product(rr,insq(1))',A='erg',max_rel=2,judged_only=True)",
        "CWLA(C='fixed(0.9,1,0.5,0.7)',A='avg',max_rel=2,effort='ratio(2)')", "NERR8(max_rel=2)@5", "NERR11(max_rel=2)",
    ):  # fmt: skip
        explained(text, "")


@pytest.mark.slow
def test_a_million_ranks_take_memory_for_a_million_ranks():
    evaluated = evaluate(QRELS, RUN, ["nDCG@1000000"], by_query=True).loc[("run", "1")].iloc[0]
    explained, peak = traced(lambda: explain(QRELS, RUN, "1", "nDCG@1000000"))
    assert explained.score == pytest.approx(evaluated, abs=1e-12)
    assert explained.contributions.sum() == pytest.approx(evaluated, abs=1e-12)
    assert len(explained.table) == 1_000_000
    assert peak < 400 * 1_000_000


@pytest.mark.slow
def test_notebooks_show_ten_ranks_units_and_the_picture(monkeypatch):
    gains = explain_gains([1] * 300, C="rbp(0.5)", A="erg")
    assert "… 280 more" in str(gains)
    assert "A: value for users who leave here" in str(gains)
    shown = gains._repr_html_()
    assert all(f"<span>{rank}<" in shown for rank in range(1, 11))
    assert "<span>11<" not in shown
    assert "… 290 more" in shown
    assert shown.count("<svg") == 1
    assert "gains and users by rank" in shown
    assert "score 1.0000. On average, a user sees 2.0 documents, gains 2.000." in shown
    assert "cost of examining" not in shown  # every document has the effort 1
    qrels = {"<q>": {f"<i>{number}": number % 3 for number in range(0, 100, 2)}}
    run = {"<q>": {f"<i>{number}": -float(number) for number in range(100)}}
    shown = explain(qrels, run, "<q>", "nDCG")._repr_html_()
    assert "<i>" not in shown
    assert "<q>" not in shown
    assert len(shown) < 54_000
    shown = explain(QRELS, RUN, "1", TBG(lengths=LENGTHS))._repr_html_()
    assert "<span>T<" not in shown
    assert "before: effort before this rank" in shown
    assert "expected effort of a user, in seconds" in repr(explain(QRELS, RUN, "1", TBG(lengths=LENGTHS)(end="stop")))
    assert "time before the rank (seconds)" in shown
    assert "a user gains" in shown  # without unseen=, nobody knows how long users stay
    for width, beyond in ((40, "2.5600 0.2048"), (100, "2.5600 0.5120 0.2048")):  # without and with W
        monkeypatch.setenv("COLUMNS", str(width))
        assert f"beyond {beyond}" in " ".join(str(explain_gains([1, 0, 1], C="rbp(0.8)", A="erg")).split())


def test_errors():
    for measure in ("P@999999999", "nDCG@999999999"):  # the error of evaluate
        says = "999,999,999 explicit ranks would be needed, and at most 4,194,304"
        message = refused(partial(evaluate, QRELS, RUN, [measure]), BadParameter, says)
        assert message.endswith(refused(partial(explain, QRELS, RUN, "1", measure), BadParameter))
    refused(lambda: explain(QRELS, RUN, "3", "RR"), "no query '3' in the judgments")
    refused(lambda: explain(QRELS, RUN, "1", "NumRet"), "no user model")
    for runs in (["a.txt", "b.txt"], {name: {"1": {"x": 1.0}} for name in "abc"}, {"a": {"1": {"x": 1.0}}}):
        says = "takes one run, or a dict of two runs by name, and was given"
        refused(partial(explain, {"1": {"x": 1}}, runs, "1", "AP"), says)
        refused(partial(stop_distribution, {"1": {"x": 1}}, runs, "AP"), "takes one run, and was given")
    refused(lambda: pair(new={"2": {"x": 1.0}}), "run 'new' has no documents for query '1'")
    refused(lambda: explain(JUDGED_TWO, {1: OLD, "1": NEW}, "1", "nDCG"), BadRun, "both runs have the name '1'")
    differ = Mixture(measures={"all": "P@5", "judged": "P(judged_only=True)@5"})
    refused(lambda: explain(QRELS, RUN, "1", differ), BadParameter, "different rankings, because judged_only= differs")
    run, qrels = diversity(4)
    intents, condensed = IntentAware(measure="RR"), IntentAware(measure=TBG(judged_only=True))
    for measure, query, some, says in (
        (intents, "3", {"one": run, "other": run}, "two runs side by side need"),
        (MIXTURES["long"], "3", {"one": run, "other": run}, "need a measure of one class of users"),
        (condensed, "3", run, "the users of each intent see another ranking"),
        (IntentAware(measure="Bpref"), "3", run, "follows no user model"),
        ("GeometricMean(measure=\"IntentAware(measure='RR')\")", "3", run, "follows no user model"),
        (intents, "33", run, "no query '33' in the judgments"),
        (intents, 3, run, "the query 3 must be a string"),
        (intents, "3", run[run.query_id != "3"], "has no documents for query '3'"),
    ):
        refused(partial(explain, qrels, some, query, measure), BadParameter, says)
    for depth in (0, -1, 2.5, "3"):
        refused(
            partial(stop_distribution, QRELS, RUN, "RR", depth=depth), BadParameter, f"depth={depth!r}", ": give a rank"
        )
    residual = "Residual(measure='TBG')"
    for measure in ("NumRel", residual, "SetP", IntentAware(measure=residual)):
        refused(partial(stop_distribution, QRELS, RUN, measure), BadParameter, "follows no user model")


# ---- two runs side by side


JUDGED_TWO = {"1": {"a": 2, "b": 0, "c": 1, "d": 0}, "2": {"x": 1}}
OLD = {"1": {"b": 4.0, "d": 3.0, "c": 2.0, "a": 1.0}}
NEW = {"1": {"d": 4.0, "b": 3.0, "a": 2.0}}


def pair(old=OLD, new=NEW, measure="nDCG"):
    return explain(JUDGED_TWO, {"old": old, "new": new}, "1", measure)


@pytest.mark.slow
def test_both_runs_stand_side_by_side_and_where_they_first_differ(tmp_path):
    found = pair()
    assert isinstance(found, ExplainedPair)
    for name, run in {"old": OLD, "new": NEW}.items():
        alone = explain(JUDGED_TWO, run, "1", "nDCG")
        pd.testing.assert_frame_equal(found.explanations[name].table, alone.table)
        assert found.scores[name] == alone.score
        lines = [f"1 Q0 {doc} {rank} {score} t" for rank, (doc, score) in enumerate(run["1"].items(), 1)]
        (tmp_path / name).write_text("\n".join(lines))
    assert (found.measure, found.query, found.title) == ("nDCG", "1", "nDCG of topic 1")
    assert "a difference of −0.1373." in str(found)
    table = found.table
    assert table.index.tolist() == [1, 2, 3, 4]
    assert table["old"]["docno"].tolist() == ["b", "d", "c", "a"]
    assert table["new"]["docno"].tolist() == ["d", "b", "a", np.nan]
    assert table["old"].columns.tolist() == ["docno", "grade", "gain", "V", "adds"]
    assert table["old"]["adds"].sum() == pytest.approx(found.scores["old"])
    assert str(pair(tmp_path / "old", str(tmp_path / "new"))) == str(found)
    assert list(explain(JUDGED_TWO, {1: OLD, 2: NEW}, "1", "nDCG").explanations) == ["1", "2"]
    found = pair()
    assert (found.first_difference, found.first_gain_difference) == (1, 3)
    assert found.where_different == "documents differ from rank 1, gains differ from rank 3"
    there = found.at(3)
    assert there.index.tolist() == ["old", "new"]
    assert there["docno"].tolist() == ["c", "a"]
    assert there["gain"].tolist() == [1, 2]
    ideal = 2 + 1 / np.log2(3)
    assert there["adds"].tolist() == pytest.approx([1 / 2 / ideal, 2 / 2 / ideal])
    text = " ".join(str(found).split())
    assert "Rank 3: old has c (grade 1), which gains 1 and adds 0.19" in text
    assert "; new has a (grade 2), which gains 2 and adds 0.38" in text
    refused(lambda: found.at(5), BadParameter, "rank=5: give one of the ranks 1 to 4")
    found = pair(measure="CWLA(C='rbp(0.8)',A='max',max_rel=2)")
    assert "which gains 0.5 and has L·A / N = " in str(found)
    assert "adds" not in str(found)
    text = " ".join(str(pair(OLD, {"1": {"u": 1.0}})).split())
    assert "new has u (not judged), which gains 0 and adds 0 to the score" in text


@pytest.mark.slow
def test_ranks_that_no_user_sees_are_not_compared():
    assert pair(measure="CWLA(C='prec(2)',A='erg',max_rel=2)").first_gain_difference is None
    assert pair(measure="nDCG@2").where_different == "documents differ from rank 1, all gains are the same"
    found = pair(OLD, OLD)
    assert found.first_difference is found.first_gain_difference is None
    assert "The same documents at all ranks." in str(found)
    found = pair(OLD, {"1": {"b": 4.0, "d": 3.0}})  # a shorter list differs where it ends
    assert found.first_difference == 3
    assert "old has c (grade 1), which gains 1" in str(found)
    assert "; new has no document." in " ".join(str(found).split())
    assert "nan" not in str(found).lower()


@pytest.mark.slow
def test_texts_and_notebooks_show_the_first_ranks_of_two_runs():
    one, other = ({"1": {f"{name}{n}": -float(n) for n in range(30)}} for name in ("one", "other"))
    text = str(pair(one, other, "RBP(p=0.5,rel=1)"))
    assert "one19" in text
    assert "one20" not in text
    assert text.count("… 980 more") == 2
    run = {"1": {f"d{number}": -float(number) for number in range(40)}}
    html = explain(JUDGED_TWO, {"<i>": run, "<u>": {"1": run["1"] | {"d7": 9.0}}}, "1", "nDCG")._repr_html_()
    assert "Documents differ from rank 1" in html
    assert all(f"<span>{rank}<" in html for rank in range(1, 11))
    assert "<span>11<" not in html
    assert html.count("… 30 more") == 2
    assert html.count("<svg") == 1
    assert "<i>" not in html
    assert "<u>" not in html


# ---- mixtures and measures by topic


CELL = "CWLA(C='{}',A='{}',max_rel=3)"
MIXTURES = {
    "time": Mixture(measures={"hasty": "TBG(half_life=60)", "patient": TBG}, weights={"hasty": 0.25, "patient": 0.75}),
    "ideal": Mixture(measures={"low": "nDCG@3", "deep": "nDCG"}),
    "adaptive": Mixture(measures={"goal": CELL.format("inst(2)", "erg"), "static": CELL.format("rbp(0.8)", "erg")}),
    "not linear": Mixture(measures={"best": CELL.format("rbp(0.9)", "max"), "last": CELL.format("prec(4)", "fin")}),
    "long": Mixture(measures={"cut": "RBP(p=0.5,rel=1)", "open": CELL.format("rbp(0.8)", "erg")}),
    "nested": Mixture(measures={"two": Mixture(measures={"a": "P@3", "b": "P@5"}), "one": "P@10"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MIXTURES)
@pytest.mark.parametrize("seed", [1, 2])
def test_columns_of_mixtures_add_up_to_the_score(name, seed):
    frames, measure = collection(seed, lengths=True), MIXTURES[name]
    scores = evaluate(frames.qrels, frames.run, [measure], by_query=True).droplevel("run").iloc[:, 0]
    for query in ("2", "3", "4"):
        found = explain(frames.qrels, frames.run, query, measure)
        assert isinstance(found, ExplainedMixture)
        assert found.score == pytest.approx(scores[query], abs=1e-12)
        totals, table = found.totals, found.table
        assert table["adds"].sum() + totals.loc["total", "beyond"] == pytest.approx(found.score, abs=1e-12)
        for one, part in found.explanations.items():
            row = totals.loc[one]
            assert table[f"adds: {one}"].sum() + row["beyond"] == pytest.approx(row["adds"], abs=1e-12)
            assert row["adds"] == pytest.approx(found.shares[one] * part.score, abs=1e-15)
        own = [column for column in table if column.startswith("adds: ")]
        np.testing.assert_allclose(table[own].sum(axis=1), table["adds"], atol=1e-15)
        assert totals.loc["total", "score"] == pytest.approx(found.score, abs=1e-12)
        assert totals.loc["total", "share"] == pytest.approx(1)


@pytest.mark.slow
def test_classes_with_and_without_discounts_add_values_of_users_who_stop():
    """Weighted gains and values for users who stop are two decompositions of a score: one column has only one."""
    measures = {"linear": CELL.format("rbp(0.8)", "etg"), "best": CELL.format("rbp(0.9)", "max")}
    frames = collection(1)
    found = explain(frames.qrels, frames.run, "2", Mixture(measures=measures))
    for name, one in found.explanations.items():
        expected = 0.5 * one.table["L·A"] / one.divisor
        assert found.table[f"adds: {name}"].tolist() == pytest.approx(expected.tolist())
    totals, table = found.totals, found.table
    assert table["adds"].sum() + totals.loc["total", "beyond"] == pytest.approx(found.score, abs=1e-12)
    assert "L·A / N: linear" in str(found)
    assert "adds: linear" not in str(found)


def test_shares_of_users_by_rank():
    qrels, run = {"q": {"a": 1, "c": 1}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    cells = {name: f"CWLA(C='rbp({phi})',A='etg',max_rel=1)" for name, phi in (("low", 0.5), ("high", 0.9))}
    found = explain(qrels, run, "q", Mixture(measures=cells, weights={"low": 0.2, "high": 0.8}, label="users"))
    assert found.table["V"].tolist() == pytest.approx([1, 0.2 * 0.5 + 0.8 * 0.9, 0.2 * 0.25 + 0.8 * 0.81])
    assert found.table["L"].tolist()[0] == pytest.approx(0.2 * 0.5 + 0.8 * 0.1)
    assert found.table["docno"].tolist() == ["a", "b", "c"]
    assert found.table["adds"].tolist() == pytest.approx([1, 0, 0.2 * 0.25 + 0.8 * 0.81])
    assert found.totals.loc["total", ["items", "effort"]].tolist() == pytest.approx([0.2 * 2 + 0.8 * 10] * 2)
    assert found.title == "users of topic q"
    assert "adds: high" in str(found)
    assert "adds: high" in found._repr_html_()
    # Classes of several units and of longer lists.
    words, run = {"a": 100, "b": 300}, {"q": {"a": 2.0, "b": 1.0}}
    timed = "CWLA(C='rbp(0.5)',A='etg',effort='time',max_rel=1,unseen=12)"
    counted = "CWLA(C='prec(4)',A='etg',max_rel=1)"
    measure = Mixture(measures={"seconds": TBG(lengths=words), "more": TBG(lengths=words, half_life=9)})
    found = explain({"q": {"a": 1}}, run, "q", measure)
    assert found.totals.loc["total", "effort"] == pytest.approx(found.totals["effort"].iloc[:2].mean(), nan_ok=True)
    both = Mixture(measures={"seconds": timed, "documents": counted})
    rows = [("q", d, s, float(words[d])) for d, s in run["q"].items()]
    frame = pd.DataFrame(rows, columns=["query_id", "doc_id", "score", "doc_length"])
    found = explain({"q": {"a": 1}}, frame, "q", both)
    assert np.isnan(found.totals.loc["total", "effort"])
    assert len(found.table) == 4
    assert np.isnan(found.table["V"].iloc[3])  # unknown for users of the class whose table is shorter
    assert found.table["adds"].sum() == pytest.approx(found.score)


@pytest.mark.slow
def test_by_topic_is_explained_by_the_measure_of_the_topic():
    frames = collection(3)
    measure = ByTopic(measure="RBP(rel=1)", parameters={"2": {"p": 0.5}}, other="measure", label="own")
    for query, same in (("2", "RBP(p=0.5,rel=1)"), ("3", "RBP(rel=1)")):
        found, expected = (explain(frames.qrels, frames.run, query, one) for one in (measure, same))
        assert found.table.equals(expected.table)
        assert found.measure == "own"
    both = explain(frames.qrels, frames.run, "2", Mixture(measures={"own": measure, "usual": "RBP(rel=1)"}))
    assert both.score == pytest.approx(np.mean([one.score for one in both.explanations.values()]))
    own = measure(other="error")
    says = "topic '3' has no parameters. ", "Add its parameters, or write other='measure'"
    refused(lambda: explain(frames.qrels, frames.run, "3", own), BadParameter, *says)


@pytest.mark.slow
def test_mixtures_and_intents_on_the_command_line(tmp_path, cli):
    (tmp_path / "qrels").write_text("q 0 a 1\nq 0 b 1\n")
    (tmp_path / "run").write_text("q Q0 a 0 2 t\nq Q0 x 0 1.5 t\nq Q0 b 0 1 t\n")
    text = "users=Mixture(measures={'hasty':P@1,'patient':P@4})"
    arguments = ("explain", tmp_path / "qrels", tmp_path / "run", "-q", "q", "-m", text)
    code, out, told = cli(*arguments, "--depth", "2")
    assert code == 0, told
    assert "users of topic q in run: 0.7500" in out
    for line in ("hasty 0.5000 1.0000 1.0000 1.0000 1.0000 0.5000", "… 2 more 0.1250 0.0000 0.1250",
                 "1 a 1 1.0000 0.5000 0.6250 0.5000 0.1250", "total 0.7500 0.5000 0.2500"):  # fmt: skip
        assert line in " ".join(out.split())
    assert "a measure of one class of users" in cli(*arguments, "--plot", tmp_path / "x.svg")[2]
    (tmp_path / "intents").write_text("q x a 1\nq y b 1\n")
    by_intent = ("explain", tmp_path / "intents", *arguments[2:5], "-m", "IntentAware(measure='RR')")
    assert "adds: y" in cli(*by_intent)[1]


# ---- intents


OF_INTENTS = ["ERR", "AP", "TBG@10", "nDCG@5", "INST(max_rel=3)", CELL.format("rbp(0.9)", "max"), "P@40", "RBP(rel=1)"]


def with_an_unjudged_intent(qrels):
    """Return shares by query, of which 0.3 are of an intent without judgments."""
    return {
        query: {**{intent: 0.7 * p for intent, p in intents.items()}, "unjudged": 0.3}
        for query, intents in given(qrels).items()
    }


def of_shares(inner, weights, qrels):
    tables = {"given": given, "unjudged": with_an_unjudged_intent}
    return IntentAware(measure=inner, weights=tables[weights](qrels) if weights in tables else "uniform")


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["uniform", "given", "unjudged"])
@pytest.mark.parametrize("inner", OF_INTENTS)
def test_columns_of_intents_add_up_to_the_score(inner, weights):
    run, qrels = diversity(4, GRADED)
    measure = of_shares(inner, weights, qrels)
    scores = evaluate(qrels, run, [measure], by_query=True).droplevel("run").iloc[:, 0]
    stops = stop_distribution(qrels, run, measure)
    for query in ("2", "3", "4", "7"):
        found = explain(qrels, run, query, measure)
        assert found.score == pytest.approx(scores[query], abs=1e-12)
        table, totals = found.table, found.totals
        assert table["adds"].sum() + totals.loc["total", "beyond"] == pytest.approx(scores[query], abs=1e-12)
        assert totals.loc["total", "share"] == pytest.approx(1)
        for intent in found.shares:
            row = totals.loc[intent]
            assert table[f"adds: {intent}"].sum() + row["beyond"] == pytest.approx(row["adds"], abs=1e-12)
        assert ("no judged intent" in found.shares) == (weights == "unjudged")
        shares = table["L"].iloc[:20]  # where stop_distribution says that users stop
        np.testing.assert_allclose(shares, stops.loc[query, [*shares.index]].astype(float), atol=1e-12)
    assert scores.max() > 0


@pytest.mark.slow
def test_the_explanation_of_an_intent_is_that_of_its_judgments_alone():
    run, qrels = diversity(6, GRADED)
    shares = given(qrels)
    words = dict(zip(run.doc_id, run.doc_length.tolist(), strict=True))
    by_column, by_table = (explain(qrels, run, "3", IntentAware(measure=one)) for one in (TBG, TBG(lengths=words)))
    pd.testing.assert_frame_equal(by_column.table, by_table.table)
    found = explain(qrels, run, "3", IntentAware(measure="ERR", weights=shares))
    assert found.shares == pytest.approx(shares["3"])
    for intent, one in found.explanations.items():
        alone = explain(qrels[qrels.iteration == intent], run, "3", "ERR")
        pd.testing.assert_frame_equal(one.table, alone.table)
        assert found.totals.loc[intent, "score"] == alone.score


@pytest.mark.slow
def test_intents_by_loops():
    """ERR-IA of two intents (Chapelle et al., 2009, section 7.5), with grades 1 of 4 levels and R = (2^g − 1)/2^4."""
    judged = [("q", "a", 4, "x"), ("q", "b", 2, "y"), ("q", "a", 0, "y"), ("q", "c", 3, "y")]
    qrels = pd.DataFrame(judged, columns=["query_id", "doc_id", "relevance", "iteration"])
    run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    measure = IntentAware(measure="ERR", weights={"q": {"x": 0.25, "y": 0.75}})
    found = explain(qrels, run, "q", measure)
    R = {4: 15 / 16, 2: 3 / 16, 3: 7 / 16}
    adds = [0.25 * R[4], 0.75 * R[2] / 2, 0.75 * (1 - R[2]) * R[3] / 3]
    assert found.table["adds"].tolist() == pytest.approx(adds)
    assert found.table["V"].tolist() == pytest.approx([1, 0.25 * (1 - R[4]) + 0.75, 0.25 / 16 + 0.75 * (1 - R[2])])
    assert found.table["grade: y"].tolist() == [0, 2, 3]
    assert np.isnan(found.table["grade: x"].iloc[1:]).all()
    assert "adds: y" in str(found)
    assert "grade: x" in found._repr_html_()


def test_users_who_find_nothing_add_nothing():
    """Without a relevant document of any intent, no intent has users; nor does a cost count, as in evaluate."""
    judged, run = [("q", "a", 0, "x"), ("q", "b", 0, "y")], {"q": {"a": 2.0, "b": 1.0}}
    qrels = pd.DataFrame(judged, columns=["query_id", "doc_id", "relevance", "iteration"])
    for inner in ("ERR", "CWLA(C='rbp(0.5)',A='items',max_rel=1)"):
        measure = IntentAware(measure=inner)
        found = explain(qrels, run, "q", measure)
        assert list(found.shares) == ["no judged intent"]
        assert found.score == 0 == evaluate(qrels, run, [measure]).iloc[0, 0]
        assert (found.table["adds"] == 0).all()
        assert found.totals.loc["total", "beyond"] == 0
        assert found.table["V"].iloc[0] == 1


# ---- where users stop: L(i) = V(i)·(1 − C(i)), Moffat et al. (2022), Eq. 5


STOPPING = {
    "AdaptiveERR(max_rel=3)": lambda i, grade, G: 1 - (2 ** max(grade, 0) - 1) / 8,
    "CWLA(C='rbp(0.8)',A='erg',max_rel=3)": lambda i, grade, G: 0.8,
    "CWLA(C='inst(2)',A='erg',max_rel=3)": lambda i, grade, G: ((i + 3 - G / 3) / (i + 4 - G / 3)) ** 2,
    "P@7": lambda i, grade, G: float(i < 7),
    "INST(T=2,max_rel=3)": lambda i, grade, G: ((i + 3 - G / 3) / (i + 4 - G / 3)) ** 2 * (i < 1000),
}


@pytest.mark.parametrize("name", STOPPING)
@pytest.mark.parametrize("depth", [None, 5, 45])
def test_shares_of_users_who_stop_against_loops(name, depth):
    """The reference computes each rank in turn, within the ranking and below it."""
    frames = collection(4, queries=8)
    found = stop_distribution(frames.qrels, frames.run, name, depth=depth)
    assert list(found.columns) == [*range((depth or 30) + 1), "later"]
    grades = {(q, d): g for q, d, g in frames.qrels.itertuples(index=False)}
    answered = {*frames.run.query_id} & {*frames.qrels.query_id}
    assert {*found.index} == answered
    for query in answered:
        run = frames.run[frames.run.query_id == query]
        ranking = [d for _, d in sorted(zip(np.float32(run.score), run.doc_id, strict=True), reverse=True)]
        expected = walked(STOPPING[name], [grades.get((query, d), 0) for d in ranking], depth or 30)
        assert found.loc[query].tolist() == pytest.approx([0, *expected], abs=1e-12)


def walked(C, grades, depth) -> list[float]:
    """Return the shares of users who stop at ranks 1 to depth, and later."""
    stops, V, G = [], 1.0, 0
    for i in range(1, depth + 1):
        grade = grades[i - 1] if i <= len(grades) else 0
        G += max(grade, 0)
        stops.append(V * (1 - C(i, grade, G)))
        V *= C(i, grade, G)
    return [*stops, V]


@pytest.mark.parametrize(
    "weights", ["uniform", {"q": {"a": 0.25, "b": 0.5, "unjudged": 0.25}, "none": {"a": 0.5, "b": 0.5}}]
)
def test_shares_of_users_by_intent_who_stop(weights):
    """Chapelle et al. (2009), section 7.5: Σ_t P(t|q)·R_r^t·Π_{i<r}(1 − R_i^t), with 0.25 and 0.75 for grades 1 and 2."""
    judged = [("q", "d1", 1, "a"), ("q", "d3", 2, "a"), ("q", "d3", 1, "b")]
    judged += [("none", "d1", 0, "a"), ("none", "d2", 0, "b")]
    qrels = pd.DataFrame(judged, columns=["query_id", "doc_id", "relevance", "iteration"])
    run = {query: {"d1": 3.0, "d2": 2.0, "d3": 1.0} for query in ("q", "none")}
    ERR = CWLA(C="rr", A="err", gain="exponential", max_rel=2)
    found = stop_distribution(qrels, run, IntentAware(measure=ERR, weights=weights))
    a, b = [0.25, 0, 0.75 * 0.75, 0.75 * 0.25], [0, 0, 0.25, 0.75]
    shares = (0.5, 0.5, 0) if weights == "uniform" else (0.25, 0.5, 0.25)
    expected = [shares[0] * one + shares[1] * other for one, other in zip(a, b, strict=True)]
    assert found.loc["q"].tolist() == pytest.approx([0, *expected[:3], expected[3] + shares[2]], abs=1e-12)
    assert found.loc["none"].tolist() == [0, 0, 0, 0, 1]


@pytest.mark.parametrize("depth", [None, 3])
def test_stops_of_a_mixture_are_the_mean_of_its_classes(depth):
    frames = collection(2)
    classes, shares = {"first": "P@2", "deep": "RBP(p=0.5,rel=1)"}, {"first": 0.25, "deep": 0.75}
    measure = Mixture(measures={"all": Mixture(measures=classes, weights=shares)}, label="users")
    found = stop_distribution(frames.qrels, frames.run, measure, depth)
    deepest = len(found.columns) - 2
    parts = [stop_distribution(frames.qrels, frames.run, part, deepest) for part in classes.values()]
    pd.testing.assert_frame_equal(found, 0.25 * parts[0] + 0.75 * parts[1], rtol=1e-12)
    assert found.attrs["measure"] == "users"
    assert deepest == (depth or 30)


def test_stops_by_hand_of_answered_queries(tmp_path):
    """With end=3, everybody leaves at the end; of U-measure, some leave before the first document."""
    (tmp_path / "qrels").write_text("q 0 a 1\nlost 0 a 1\n")
    for measure, depth, shares in (
        ("CWLA(C='rbp(0.5)',A='erg',max_rel=1,end=3)", 5, [0, 0.5, 0.25, 0.25, 0, 0, 0]),
        ("UMeasure(T=4,max_rel=1,effort='unit')", 4, [0.25, 0.25, 0.25, 0.25, 0, 0]),
    ):
        found = stop_distribution(tmp_path / "qrels", {"q": {"a": 2.0, "b": 1.0}}, measure, depth=depth)
        assert found.index.tolist() == ["q"]
        assert found.loc["q"].tolist() == pytest.approx(shares)


def test_the_picture_of_stops_ends_where_one_percent_are_left():
    frames = collection(4, queries=8)
    found = stop_distribution(frames.qrels, frames.run, "AdaptiveERR(max_rel=3)", depth=12)
    ax = plot_stops(found)
    assert [bar.get_height() for bar in ax.patches] == pytest.approx(found.mean().iloc[1:-1].tolist())
    assert ax.get_xlabel() == "rank (documents)"
    assert ax.get_title(loc="left") == f"Where users of AdaptiveERR(max_rel=3) stop: mean of {len(found)} topics"
    assert [text.get_text() for text in ax.texts] == [f"{percent(found['later'].mean(), 1)} go on after rank 12"]
    assert plot_stops(found[:1], ax=ax).get_title(loc="left").endswith(f"topic {found.index[0]}")
    refused(lambda: plot_stops(found[:0]), BadParameter, "no topics")
    run = {"q": {f"d{number}": -float(number) for number in range(200)}}
    found = stop_distribution({"q": {"d1": 1}}, run, "CWLA(C='rbp(0.8)',A='erg',max_rel=1)")
    ax = plot_stops(found)
    assert len(ax.patches) == 21  # 0.8^21 = 0.0092
    assert [text.get_text() for text in ax.texts] == ["0.9\N{NO-BREAK SPACE}% go on after rank 21"]


def test_shares_of_stops_sum_to_one_and_are_what_explain_shows():
    frames = collection(9, lengths=True)
    closed = CWLA(C="ap1", A="erg", max_rel=3, end="stop")
    for measure in (TBG, TBG @ 5, "UMeasure(T=120,max_rel=3,effort='ratio(4)')", "RR", closed):
        found = stop_distribution(frames.qrels, frames.run, measure)
        np.testing.assert_allclose(found.sum(axis=1), 1)
        query = found.index[3]
        table = explain(frames.qrels, frames.run, query, measure).table
        np.testing.assert_allclose(found.loc[query, list(table["rank"])], table["L"], atol=1e-12)


def test_only_the_documents_of_the_topic_need_lengths_and_costs():
    qrels, run = {"1": {"a": 1}, "2": {"b": 1}}, {"1": {"a": 2.0, "x": 1.0}, "2": {"b": 1.0}}
    assert explain(qrels, run, "1", GainWithin(T=5, costs={"a": 3, "x": 4})).score == 1
    assert explain(qrels, run, "1", TBG(lengths={"a": 300, "x": 40})).score > 0
    says = "1 of 2 have none (topic '1': 'x')", "or give {}(missing='mean')"
    refused(
        lambda: explain(qrels, run, "1", GainWithin(T=5, costs={"a": 3})),
        MissingCost,
        says[0],
        says[1].format("GainWithin"),
    )
    refused(lambda: explain(qrels, run, "1", TBG(lengths={"a": 300})), MissingLength, says[0], says[1].format("TBG"))
    by_mean = CWLA(
        C="rbp(0.5)", A="avg", effort="reading", lengths={"a": 300, "b": 100}, missing="mean", max_rel=1, unseen=9
    )
    assert (
        explain(qrels, run, "1", by_mean).score == evaluate(qrels, run, by_mean, by_query=True).loc[("run", "1")].item()
    )
