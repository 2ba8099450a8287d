"""Explanations of scores: contributions add up to the score, and effective discounts equal those of the papers."""

import math

import numpy as np
import pandas as pd
import pytest

from pyterrier_cwla import TBG, evaluate, explain, explain_gains
from pyterrier_cwla.errors import BadParameter
from pyterrier_cwla.evaluation import explanation, stop_distribution
from tests.evaluation.test_arrays import traced
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


def test_rows_are_in_trec_order_with_grades_where_judged():
    table = explain(QRELS, RUN, "1", "RR").table
    assert table["docno"].tolist() == ["b", "a", "new", "c"]  # ties are sorted by descending id
    assert table["grade"].isna().tolist() == [False, False, True, False]
    assert table["T"].tolist() == [0, 1, 2, 3]


def test_time_adds_up_in_seconds():
    table = explain(QRELS, RUN, "1", TBG(lengths=LENGTHS)).table
    assert table["effort"].tolist() == pytest.approx(
        [4.4 + p * (0.018 * words + 7.8) for p, words in [(0.39, 700), (0.64, 100), (0.39, 10), (0.64, 40)]]
    )
    assert table["T"].tolist() == pytest.approx([0, *np.cumsum(table["effort"])[:-1]])
    assert table["V"].tolist() == pytest.approx([2 ** (-t / 224) for t in table["T"]])


@pytest.mark.parametrize("A", ["etg", "erg", "avg", "fin", "fgt(0.7)", "utility(log2)"])
@pytest.mark.parametrize("C", ["prec(4)", "rbp(0.8)", "inst(1)", "rr", "decay(3)", "dcg(9)", "ap2", "cascade(0.9)"])
@pytest.mark.parametrize("end", ["open", "stop"])
def test_gains_times_discounts_are_the_score_where_a_is_linear(C, A, end):
    """Jiang and Allan (2016), Eq. 8, for any linear aggregation."""
    explanation = explain_gains([0.3, 0, 1, 0.5, 0.2], C=C, A=A, end=end, judged=[1, 0.5, 0.3, 0.2, 0.7])
    assert (explanation.table["gain"] * explanation.table["discount"]).sum() == pytest.approx(explanation.score)


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


@pytest.mark.parametrize("text", [
    "GradedTBG", "GradedTBG(credit='smeared')", "UMeasure(T=150,max_rel=2)",
    "Cascade(gamma=0.9,phi='log2',max_rel=2)", "Cascade(gamma=0.9,phi='table(1,0.2,0.4)',max_rel=2)",
    "DynamicBPM(T=1.2,K=6.3,max_rel=2)", "DynamicBPM(T=0.4,K=2.5,max_rel=2,effort='ratio(4)')",
    "IFTGoal(T=1,R1=2,max_rel=2)", "IFTRate(A=0.2,max_rel=2,effort='ratio(4)')", "IFT(T=1,A=0.2,max_rel=2)",
    "ExpectedUtility(C='rbp(0.8)',max_rel=2)", "ExpectedTotalUtility(C='dcg(7)',max_rel=2)",
    "ExpectedAverageUtility(C='ap2',gain='binary')", "CWLA(C='product(rr,insq(1))',A='erg',max_rel=2,judged_only=True)",
    "CWLA(C='fixed(0.9,1,0.5,0.7)',A='avg',max_rel=2,effort='ratio(2)')", "NERR8(max_rel=2)@5", "NERR11(max_rel=2)",
])  # fmt: skip
def test_gains_times_discounts_are_the_score_of_other_rows(text):
    explained(text, "")


def test_the_effective_discount_of_time_biased_gain_while_reading():
    """Smucker and Clarke (2012), Eq. 2: the discount is the mean of D over the time in which the document is read."""
    table = explain(QRELS, RUN, "1", TBG(lengths=LENGTHS, credit="smeared")).table
    expected, T = [], 0.0
    for e in table["effort"]:
        steps = [T + e * (step + 0.5) / 20_000 for step in range(20_000)]
        expected.append(math.fsum(2 ** (-t / 224) for t in steps) / 20_000)
        T += e
    assert table["discount"].tolist() == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("A", ["etg", "erg", "utility(log2)", "smeared(3)"])
@pytest.mark.parametrize(
    "C",
    [
        "prec(4)",
        "rbp(0.8)",
        "inst(1)",
        "rr",
        "decay(3)",
        "dcg(9)",
        "ap2",
        "weibull(0.7,3)",
        "bpm(2,9)",
        "budget(6)",
        "budget(7.5,partial=True)",
    ],
)
@pytest.mark.parametrize("end", ["open", "stop", 8])
@pytest.mark.parametrize("effort", [{}, {"efforts": [3, 1, 0, 2, 5], "unseen": 2}])
def test_discounts_of_many_ranks_are_those_of_few(C, A, end, effort, monkeypatch):
    few = explain_gains([0.3, 0, 0, 0.5, 0.2], C=C, A=A, end=end, **effort).table["discount"]
    monkeypatch.setattr(explanation, "_SMALL", 0)
    many = explain_gains([0.3, 0, 0, 0.5, 0.2], C=C, A=A, end=end, **effort).table["discount"]
    np.testing.assert_allclose(many, few, rtol=1e-10, atol=1e-13)


@pytest.mark.slow
def test_a_million_ranks_take_memory_for_a_million_ranks():
    evaluated = evaluate(QRELS, RUN, ["nDCG@1000000"], by_query=True).loc[("run", "1")].iloc[0]
    explained, peak = traced(lambda: explain(QRELS, RUN, "1", "nDCG@1000000"))
    assert explained.score == pytest.approx(evaluated, abs=1e-12)
    assert explained.contributions.sum() == pytest.approx(evaluated, abs=1e-12)
    assert len(explained.table) == 1_000_000
    assert peak < 400 * 1_000_000


@pytest.mark.parametrize("measure", ["P@999999999", "nDCG@999999999"])
def test_more_ranks_than_evaluate_takes_are_the_same_error(measure):
    says = "999,999,999 explicit ranks would be needed, and at most 4,194,304"
    message = refused(lambda: evaluate(QRELS, RUN, [measure]), BadParameter, says)
    assert message.endswith(refused(lambda: explain(QRELS, RUN, "1", measure), BadParameter))


def test_what_has_no_explanation_or_no_discount():
    refused(lambda: explain(QRELS, RUN, "3", "RR"), "no query '3' in the judgments")
    refused(lambda: explain(QRELS, RUN, "1", "NumRet"), "no user model")
    assert explain_gains([1, 0.5], C="rbp(0.5)", A="max").table["discount"].isna().all()  # no weighted sum


@pytest.mark.slow
def test_html_is_escaped():
    qrels = {"<q>": {"<b>a</b>": 1}}
    html = explain(qrels, {"<q>": {"<b>a</b>": 1.0}}, "<q>", "RR")._repr_html_()
    assert "<b>a</b>" not in html
    assert "<q>" not in html


def test_a_long_explanation_prints_its_first_ranks():
    shown = str(explain_gains([1] * 30, C="rbp(0.5)", A="erg"))
    assert "… 10 more" in shown
    assert "A: value for users who leave here" in shown


@pytest.mark.slow
def test_notebooks_show_ten_ranks_and_the_picture():
    shown = explain_gains([1] * 300, C="rbp(0.5)", A="erg")._repr_html_()
    assert all(f"<span>{rank}<" in shown for rank in range(1, 11))
    assert "<span>11<" not in shown
    assert "… 290 more" in shown
    assert shown.count("<svg") == 1
    assert "gains and users by rank" in shown
    assert "score 1.0000. On average, a user sees 2.0 documents, gains 2.000." in shown
    assert "cost of examining" not in shown  # every document has the effort 1


@pytest.mark.slow
def test_notebooks_show_time_with_its_unit():
    shown = explain(QRELS, RUN, "1", TBG(lengths=LENGTHS))._repr_html_()
    assert "<span>T<" not in shown
    assert "before: effort before this rank" in shown
    assert "expected effort of a user, in seconds" in repr(explain(QRELS, RUN, "1", TBG(lengths=LENGTHS)(end="stop")))
    assert "time before the rank (seconds)" in shown
    assert "a user gains" in shown  # without unseen=, nobody knows how long users stay


@pytest.mark.slow
def test_a_picture_in_a_notebook_is_small():
    qrels = {"q": {f"d{number}": number % 3 for number in range(0, 100, 2)}}
    run = {"q": {f"d{number}": -float(number) for number in range(100)}}
    assert len(explain(qrels, run, "q", "nDCG")._repr_html_()) < 53_000


@pytest.mark.parametrize(
    "runs",
    [["a.txt", "b.txt"], {name: {"1": {"x": 1.0}} for name in "abc"}, {"a": {"1": {"x": 1.0}}}],
    ids=["paths", "three", "one by name"],
)
def test_several_runs_are_refused(runs):
    says = "takes one run, or a dict of two runs by name, and was given"
    refused(lambda: explain({"1": {"x": 1}}, runs, "1", "AP"), says)
    refused(lambda: stop_distribution({"1": {"x": 1}}, runs, "AP"), "takes one run, and was given")
