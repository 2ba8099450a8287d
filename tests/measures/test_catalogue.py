"""Named metrics, compared with loops over the equations of the papers that do not use C, W, L and A."""

import math
from itertools import permutations

import ir_measures
import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad

from pyterrier_cwla import CWLA, TBG, evaluate, gain, score
from pyterrier_cwla.errors import BadJudgments, BadParameter
from pyterrier_cwla.evaluation import residual
from pyterrier_cwla.measures import MEASURES
from pyterrier_cwla.measures.named import RowMeasure
from tests.measures.test_equations import (
    RATIO,
    VALUES,
    Topic,
    cascade,
    dynamic_bpm,
    expected_effort,
    graded_tbg,
    left,
    mean,
    ranks,
    u_measure,
)
from tests.support.generated import collection
from tests.support.messages import refused

#: Seconds of Table 2, by grade.
SECONDS = [4.4 + 0.26 * 20.6, 4.4 + 0.5 * 37.1, 4.4 + 0.55 * 60.3]
EFFORTS = {"unit": (1, 1, 1), "ratio(4)": (0.25, 1, 1), "by_grade({0:0.3,1:0.6,2:1})": (0.3, 0.6, 1),
           "grade_time": SECONDS}  # fmt: skip


def g(grade):
    """Return the grade, with 0 for unjudged documents and negative grades."""
    return max(grade or 0, 0)


def b(grade):
    return 1 if g(grade) >= 1 else 0


def graded_tbg_smeared(t, h=31):
    """Smucker and Clarke (2012), Eq. 2, ∫ G′(t)·D(t) dt, where the gain of an item accrues evenly over its effort."""
    total, T = 0.0, 0.0
    for grade in map(t.g, ranks(t.n)):
        e, gain = SECONDS[grade], (0, 0.5 * 0.2, 0.55 * 0.8)[grade]
        total += quad(lambda t, T=T, e=e, gain=gain: gain / e * 2 ** (-(T + t) / h), 0, e)[0] if gain else 0
        T += e
    return total


def foraging(t, T=1.5, b1=0.9, R1=10, A=0.2, b2=0.9, R2=10, goal=True, rate=True):
    """Azzopardi, Thomas and Craswell (2018), over many ranks. With the goal only, the rest is a geometric series."""
    V, gain, top, items = 1.0, 0.0, 0.0, 0.0
    for i in range(1, 4000):
        if not rate and i > t.n:
            return top / (items + V * (1 + b1 * math.exp((T - gain) * R1)))
        gain, top, items = gain + t.r(i), top + V * t.r(i), items + V
        if goal:
            V *= 1 - 1 / (1 + b1 * math.exp((T - gain) * R1))
        if rate:
            V *= 1 / (1 + b2 * math.exp((A - gain / i) * R2))
    return top / items


def economic(t, k, beta):
    """Azzopardi (2014) as in cwl_eval: the gain of each rank, weighted with the growth of (i+1)^β."""
    return mean(lambda i: (i + 1) ** beta - i**beta, t.r, last=k)


OTHERS = {
    "GradedTBG": graded_tbg,
    "GradedTBG(credit='smeared')": graded_tbg_smeared,
    "UMeasure(T=99,max_rel=2)": lambda t: u_measure(t, 99),
    "UMeasure(T=60,max_rel=2)": lambda t: u_measure(t, 60),
    "Cascade(max_rel=2)": cascade,
    "Cascade(gamma=0.9,max_rel=2)": lambda t: cascade(t, gamma=0.9),
    "Cascade(gamma=0.7,phi='power(2)',max_rel=2)": lambda t: cascade(t, lambda r: r**-2, 0.7),
    "Cascade(phi='log2',gain='table({1:0.25,2:0.75})')": lambda t: cascade(t, lambda r: 1 / math.log2(r + 1)),
    "DynamicBPM(T=0.8,K=6,h_b=0.7,h_c=2,m=0.25,max_rel=2)": dynamic_bpm,
    "DynamicBPM(T=0.5,K=9.5,h_b=0,h_c=0,max_rel=2)": lambda t: dynamic_bpm(t, 0.5, 9.5, 0, 0),
    "IFTGoal(T=1.5,max_rel=2)": lambda t: foraging(t, rate=False),
    "IFTRate(A=0.2,max_rel=2)": lambda t: foraging(t, goal=False),
    "IFT(T=1.5,A=0.2,max_rel=2)": foraging,
    "IFT(T=0.5,A=0.1,b1=2,R1=1,b2=0.5,R2=3,max_rel=2)": lambda t: foraging(t, 0.5, 2, 1, 0.1, 0.5, 3),
    "SET(max_rel=2)@9": lambda t: economic(t, 9, 0.5),
    "SET(beta=0.1,max_rel=2)@4": lambda t: economic(t, 4, 0.1),
    "TrAP": VALUES["TrAP"],
    "ExpectedUtility(C='rbp(0.8)',max_rel=2)": lambda t: left(t, t.r),  # Carterette (2011), Model 1
    "ExpectedTotalUtility(C='dcg(7)',max_rel=2)": lambda t: sum(t.r(i) / math.log2(i + 1) for i in ranks(7)),
    "ExpectedEffort": lambda t: expected_effort(t, 0.5),
    "ExpectedAverageUtility(C='ap2',gain='binary')": VALUES["AP"],
}
CASES = {
    text.replace(RATIO, f"effort='{name}'"): (formula, e)
    for text, formula in VALUES.items()
    if text.startswith(("Adaptive", "Gain", "PrecisionWithin", "RecallWithin"))
    for name, e in EFFORTS.items()
    if name != "grade_time" or text.startswith("Adaptive")  # no document takes less than the budgets
} | {text: (formula, SECONDS) for text, formula in OTHERS.items()}


def slow(text, grades, judged):
    formula, efforts = CASES[text]
    return formula(Topic(grades, judged, efforts=efforts)) if grades else 0.0


def lists(frames):
    """Yield each judged query with its grades in rank order (None: unjudged) and all judged grades."""
    grades = {q: dict(zip(some.doc_id, some.relevance, strict=True)) for q, some in frames.qrels.groupby("query_id")}
    for query in frames.qrels.query_id.unique():
        some = frames.run[frames.run.query_id == query]
        order = sorted(zip(some.score.astype(np.float32), some.doc_id, strict=True), reverse=True)
        yield query, [grades[query].get(document) for _, document in order], [*grades[query].values()]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_every_named_metric(seed):
    """Unjudged documents, grades of −1, topics missing from the run or without relevant documents."""
    frames = collection(seed, grades=(-1, 0, 0, 1, 2), depth=30 if seed else 5)
    found = evaluate(frames.qrels, frames.run, list(CASES), by_query=True).loc["run"]
    assert len(found) == frames.qrels.query_id.nunique()
    for query, grades, judged in lists(frames):
        for text in CASES:
            expected = slow(text, grades, judged)
            assert found.loc[query, str(ir_measures.parse_measure(text))] == pytest.approx(expected, abs=1e-10), text
    assert (found > 0).any().all()


@pytest.mark.slow
def test_a_cutoff_is_a_shorter_list():
    frames = collection(5, grades=(-1, 0, 1, 2))
    texts = [text for text in CASES if "@" not in text]
    # prec(k) and dcg(k) use k themselves, and the ideal of nDCG is cut as well
    texts = [text for text in texts if not text.startswith(("AdaptiveDCG", "AdaptivenDCG"))]
    found = evaluate(frames.qrels, frames.run, [f"{text}@9" for text in texts], by_query=True).loc["run"]
    for query, grades, judged in lists(frames):
        for text, value in zip(texts, found.loc[query], strict=True):
            assert value == pytest.approx(slow(text, grades[:9], judged), abs=1e-10), text
    dcg = "AdaptiveDCG(effort='ratio(4)')"
    found = evaluate(frames.qrels, frames.run, [f"{dcg}@9"], by_query=True).loc["run"].iloc[:, 0]
    for query, grades, judged in lists(frames):
        assert found[query] == pytest.approx(slow(dcg, grades[:9], judged), abs=1e-10)


def test_all_of_them_are_tested():
    ours = {name for name, measure in MEASURES.items() if isinstance(measure, RowMeasure)} - {"CWLA", "TBG"}
    assert ours <= {text.split("(")[0].split("@")[0] for text in CASES}


# ---- printed numbers


@pytest.mark.parametrize("ratio", [1, 2, 4, 8])
def test_equation_7(ratio):
    """Jiang and Allan (2016), Eq. 7."""
    qrels = {"q": {"c": 1, "d": 2}}
    run = {"q": dict(zip("abcde", (5.0, 4.0, 3.0, 2.0, 1.0), strict=True))}
    found = evaluate(qrels, run, [f"AdaptiveP(effort='ratio({ratio})')@5", f"AdaptiveRR(effort='ratio({ratio})')"])
    assert found.iloc[0].tolist() == pytest.approx([2 / (2 + 3 / ratio), 1 / (1 / ratio + 1 / ratio + 1)], abs=1e-12)


def test_a_worked_list():
    """[0, 0, 1, 2, 0] of a topic with [2, 2, 2, 1, 1, 0, 0], effort [.25, 1, 1], thresholds (.4, .6)."""
    qrels = {"q": {"c": 1, "d": 2, "x": 2, "y": 2, "z": 1, "a": 0, "b": 0}}
    run = {"q": dict(zip("abcde", (5.0, 4.0, 3.0, 2.0, 1.0), strict=True))}
    found = evaluate(qrels, run, ["AdaptiveGAP(effort='ratio(4)')", "AdaptiveERR(effort='ratio(4)',max_rel=2)"])
    assert found.iloc[0].tolist() == pytest.approx([0.2175, 0.3917], abs=5e-5)


def test_table_2():
    """Jiang and Allan (2016), Table 2: seconds by grade."""
    found = [score([grade], C="prec(1)", A="effort", effort="grade_time", end="stop") for grade in (0, 1, 2)]
    assert found == pytest.approx([9.8, 23.0, 37.6], abs=0.05)


def test_the_cascade_with_reciprocal_ranks_is_err():
    frames = collection(3, grades=(0, 1, 2, 3, 4))
    found = evaluate(frames.qrels, frames.run, ["Cascade(max_rel=4)@20", "ERR@20"], by_query=True)
    np.testing.assert_allclose(found.iloc[:, 0], found.iloc[:, 1], atol=1e-12)


@pytest.mark.parametrize("phi", [(1, 0.6, 0.4), (0.2, 1, 0.9, 0, 0.5)])
def test_the_cascade_with_a_table_is_the_sum_of_definition_1(phi):
    """Chapelle et al. (2009), Definition 1 and section 7.2: Σ φ(i)·γ^(i−1)·R_i·Π_{j<i}(1 − R_j), with φ = 0 later."""
    frames = collection(3, grades=(0, 1, 2), ties=False)
    text = f"Cascade(gamma=0.9,phi='table({','.join(map(str, phi))})',max_rel=2)"
    found = evaluate(frames.qrels, frames.run, [text, f"{text}@2"], by_query=True)
    grade = frames.qrels.set_index(["query_id", "doc_id"])["relevance"].to_dict()
    run = frames.run.sort_values("score", ascending=False, kind="stable")
    for (_, query), row in found.iterrows():
        docs = run["doc_id"][run["query_id"] == query]
        scores, looking = [], 1.0
        for i, doc in enumerate(docs):
            R = (2 ** max(grade.get((query, doc), 0), 0) - 1) / 4
            scores.append((phi[i] if i < len(phi) else 0) * looking * R)
            looking *= 0.9 * (1 - R)
        assert row.tolist() == pytest.approx([sum(scores), sum(scores[:2])], abs=1e-12)


# ---- gain that accrues while reading


def tbg_by_hand(grades, words, h=224.0, credit=False, gains=None):
    """Smucker and Clarke (2012), Eq. 3, or Eq. 2 by quadrature."""
    total = T = 0.0
    for number, (grade, length) in enumerate(zip(grades, words, strict=True)):
        gain = (0.64 * 0.77 if g(grade) >= 1 else 0) if gains is None else gains[number]
        e = 4.4 + (0.64 if g(grade) >= 1 else 0.39) * (0.018 * length + 7.8)
        if credit and gain:
            total += quad(lambda t, T=T, e=e, gain=gain: gain / e * 2 ** (-(T + t) / h), 0, e)[0]
        else:
            total += gain * 2 ** (-T / h)
        T += e
    return total


def ranked(frames):
    for query, grades, _ in lists(frames):
        some = frames.run[frames.run.query_id == query]
        order = sorted(zip(some.score.astype(np.float32), some.doc_id, some.doc_length, strict=True), reverse=True)
        yield query, grades, [d for _, d, _ in order], [length for _, _, length in order]


def test_smeared_time_biased_gain():
    frames = collection(6, lengths=True)
    found = evaluate(frames.qrels, frames.run, [TBG, TBG(credit="smeared")], by_query=True).loc["run"]
    for query, grades, _, words in ranked(frames):
        assert found.loc[query].tolist() == pytest.approx(
            [tbg_by_hand(grades, words), tbg_by_hand(grades, words, credit=True)], abs=1e-9
        )
    assert (found.iloc[:, 1] <= found.iloc[:, 0]).all()


def in_all_orders(documents):
    return {str(order): {"q": {d: -float(i) for i, d in enumerate(order)}} for order in permutations(documents)}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_no_order_beats_the_smeared_ideal(seed):
    """Comparison with all orders of five documents, with and without a cutoff."""
    rng = np.random.default_rng(seed)
    grades = dict(zip("abcde", [1, *rng.integers(0, 3, 4).tolist()], strict=True))
    lengths = {d: float(words) for d, words in zip(grades, rng.integers(0, 4000, 5), strict=True)}
    reading = TBG(credit="smeared", lengths=lengths, norm="ideal", half_life=20)
    impatient = CWLA(C="decay(9)", A="smeared(40)", gain="linear", max_rel=2, effort="time", norm="ideal")(
        lengths=lengths
    )
    graded = [MEASURES["GradedTBG"](credit=credit, norm="ideal") for credit in ("arrival", "smeared")]
    best = [reading, impatient, impatient(end=2), *graded]
    best += [measure @ k for measure in (reading, impatient, *graded) for k in (1, 2, 3)]
    found = evaluate({"q": grades}, in_all_orders(grades), best)
    assert found.max().tolist() == pytest.approx([1] * len(best), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("duplicate_gain", ["keep", "none"])
@pytest.mark.parametrize("credit", ["arrival", "smeared"])
def test_no_order_with_duplicates_beats_the_ideal(credit, duplicate_gain):
    """Duplicates cost no reading time, so the ideal is a bound."""
    grades = {"a": 1, "b": 1, "c": 1, "d": 0, "e": 1}
    lengths = {"a": 3000.0, "b": 3000.0, "c": 2000.0, "d": 10.0, "e": 3000.0}
    same = {"duplicates": {"b": "a", "e": "a"}, "duplicate_gain": duplicate_gain}
    best = TBG(lengths=lengths, norm="ideal", half_life=30, credit=credit, **same)
    found = evaluate({"q": grades}, in_all_orders(grades), [best, best @ 2])
    assert (found.max() <= 1 + 1e-12).all()


def test_u_measure_by_text_length():
    """Sakai and Dou (2013): each gain is discounted by the words read up to the end of its document."""
    frames = collection(13, grades=(-1, 0, 1, 2), lengths=True)
    whole = "UMeasure(T=9000,max_rel=2,effort='reading')"
    some = "UMeasure(T=2500,max_rel=2,effort='reading(30,0.2,p_click_nonrelevant=0)')"
    found = evaluate(frames.qrels, frames.run, [whole, some], by_query=True).loc["run"]
    for query, grades, _, words in ranked(frames):
        expected = []
        for T, cost in ((9000, lambda grade, n: n), (2500, lambda grade, n: 30 + b(grade) * 0.2 * n)):
            total = position = 0.0
            for grade, n in zip(grades, words, strict=True):
                position += cost(grade, n)
                total += (2 ** g(grade) - 1) / 4 * max(0, 1 - position / T)
            expected.append(total)
        assert found.loc[query].tolist() == pytest.approx(expected, abs=1e-10)
    assert (found > 0).any().all()


# ---- duplicates


@pytest.mark.parametrize("judged_only", [False, True])
def test_duplicates_cost_no_reading_and_may_gain_nothing(judged_only):
    """Smucker and Clarke (2012), section 4: a duplicate of an earlier document of the ranking has length 0."""
    frames = collection(9, lengths=True)
    clusters = {f"d{i}": f"d{i % 7}" for i in range(60)}
    tbg = TBG(judged_only=judged_only)
    kept, none = (tbg(duplicates=clusters, duplicate_gain=gain) for gain in ("keep", "none"))
    by_column = frames.run.assign(duplicate_of=frames.run.doc_id.map(clusters))
    found = evaluate(frames.qrels, by_column, [kept, none, tbg(duplicates="run")], by_query=True).loc["run"]
    fewer = 0
    for query, *rows in ranked(frames):
        seen, left, read, gains = set(), [], [], []
        for grade, document, length in zip(*rows, strict=True):
            if not judged_only or (grade is not None and grade >= 0):
                again = clusters[document] in seen
                seen.add(clusters[document])
                left.append(grade)
                read.append(0 if again else length)
                gains.append(0.64 * 0.77 if g(grade) >= 1 and not again else 0)
        expected = [tbg_by_hand(left, read), tbg_by_hand(left, read, gains=gains), tbg_by_hand(left, read)]
        assert found.loc[query].tolist() == pytest.approx(expected, abs=1e-10)
        fewer += expected[1] < expected[0]
    assert fewer > 3


def test_duplicates_in_condensed_lists_follow_what_is_left():
    """If the first copy is unjudged and removed, the second one is not a duplicate."""
    qrels = {"q": {"b": 1, "c": 1}}
    run = pd.DataFrame(
        {"query_id": "q", "doc_id": ["a", "b", "c"], "score": [3.0, 2.0, 1.0], "doc_length": [500.0, 500.0, 500.0]}
    )
    same = {"a": "x", "b": "x", "c": "x"}
    measures = [TBG(judged_only=judged_only, duplicates=same, duplicate_gain="none") for judged_only in (False, True)]
    found = evaluate(qrels, run, measures).iloc[0]
    assert found.tolist() == pytest.approx([0, 0.64 * 0.77], abs=1e-12)


def test_gains_alone_may_forget_duplicates():
    same = CWLA(C="prec(3)", A="erg", gain="binary", duplicates={"b": "a"}, duplicate_gain="none")
    found = evaluate({"q": {"a": 1, "b": 1, "c": 1}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, [same])
    assert found.iloc[0, 0] == pytest.approx(2 / 3)


# ---- C as a vector of numbers, and errors


def test_a_vector_of_continuation_probabilities():
    vector = (0.9, 0.7, 0.75, 0.4)
    measure = MEASURES["ExpectedUtility"](C=f"fixed{vector}", max_rel=2)
    found = evaluate({"q": {"a": 2, "b": 1}}, {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}, [measure]).iloc[0, 0]
    assert found == pytest.approx(1 * (1 - 0.9) + 0.9 * 0.7 * (1 - 0.75) * 0.5, abs=1e-12)


@pytest.mark.parametrize(("text", "words"), [
    ("AdaptiveERR", "AdaptiveERR needs max_rel="),
    ("AdaptiveP", "AdaptiveP needs cutoff="),
    ("Cascade(gamma=0.5)", "needs max_rel="),
    ("Cascade(gamma=2,max_rel=2)", "gamma must be a number in"),
    ("AdaptiveGP(gain='threshold(0.8,0.6)')@9", "sum to 1.4"),
    ("GradedTBG(p_save={1:2})", "p_save must be a map from grades to probabilities"),
    ("IFTGoal(T=0,max_rel=2)", "T must be a number in"),
])  # fmt: skip
def test_errors(text, words):
    with pytest.raises((BadParameter, ValueError, AssertionError), match=words):
        evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, [text])


@pytest.mark.parametrize(("measure", "words"), [
    (
        "AdaptiveGP(gain='threshold(0.4,0.6)')@9",
        "gain='threshold(0.4,0.6)' has no value for grade 3; add it, one weight for each grade from 1, as in"
        " gain='threshold(0.4,0.6,…)'; the sum is at most 1.",
    ),
    (
        "AdaptiveGP(gain='table({1:0.2,2:1})')@9",
        "gain='table({1:0.2,2:1})' has no value for grade 3; add it, as in gain='table({1:0.2,2:1,3:…})'.",
    ),
    (
        "AdaptiveGRBP(gain='binary',effort='by_grade({0:1})')",
        "effort='by_grade({0:1})' has no value for grade 3; add it, as in effort='by_grade({0:1,3:…})'.",
    ),
])  # fmt: skip
def test_errors_of_missing_grades_name_measure_and_parameter(measure, words):
    message = refused(lambda: evaluate({"q": {"a": 3}}, {"q": {"a": 1.0}}, [measure]), BadJudgments)
    assert message.startswith(measure.split("(")[0])
    assert message.endswith(words)


def test_thresholds_take_whole_grades():
    text = "AdaptiveGP(gain='threshold(0.4,0.6)')@9"
    says = "has no value for grade 1.5; it accepts integer grades only; for other grades, use gain='table"
    refused(lambda: evaluate({"q": {"a": 1.5}}, {"q": {"a": 1.0}}, [text]), BadJudgments, says)


def test_a_table_between_its_grades():
    """Gains lie on straight lines from grade 0, where the gain is 0 unless the table has one; then it is signed."""
    grades = [0.5, 1, 1.5, 2.5, 3, 0]
    for gains, expected in (
        ("{1: 0.2, 3: 1}", [0.1, 0.2, 0.4, 0.8, 1, 0]),
        ("{3: 1, 1: 0.2, 0: 0.1}", [0.15, 0.2, 0.4, 0.8, 1, 0.1]),
    ):
        each = [score([grade], C="prec(1)", A="etg", gain=f"table({gains}, others='interpolate')") for grade in grades]
        assert each == pytest.approx(expected)


def test_the_best_gain_of_a_table_between_its_grades():
    """The residual of an unjudged item is the best gain, here that of grade 1.5."""
    same = {"C": "prec(1)", "A": "etg", "gain": "table({1: 0.2, 2: 1}, interpolate)"}
    assert residual([None], **same) == pytest.approx(1)
    assert residual([None], **same, max_rel=1.5) == pytest.approx(0.6)
    assert residual([None], **same, max_rel=0.5) == pytest.approx(0.1)
    falling = {**same, "gain": "table({0: 2, 1: 0.2}, interpolate)"}
    assert residual([None], **falling) == pytest.approx(2)  # of grades just above 0


def test_a_grade_outside_a_table():
    for table, words in (
        ("table({1:0.2,2:1})", "add it, as in gain='table({1:0.2,2:1,1.5:…})', or interpolate, as in"
         " gain='table({1:0.2,2:1},interpolate)'."),
        ("table({1:0.2})", "has no value for grade 1.5; add it, as in gain='table({1:0.2,1.5:…})', or round the grades"
         " of the judgments."),
        ("table({1:0.2},interpolate)", "has no value for grade 1.5, above its highest grade 1; add the gain of a grade"
         " of at least 1.5."),
    ):  # fmt: skip
        message = refused(lambda table=table: score([1.5], C="prec(1)", A="etg", gain=table), BadJudgments)
        assert message.endswith(words)


def test_what_is_no_factor_of_a_product():
    for C in ("product(rr, ap1)", "product(ap1, rr)", "product(rbp(0.5), patience(4))"):
        refused(lambda C=C: score([1, 0, 1], C=C, A="etg"), BadParameter, "cannot be a factor")


def test_patience_ends_however_little_unseen_items_cost():
    """Half of the users remain after the first item."""
    assert score([1], C="patience(4)", A="etg", efforts=[2], unseen=0) == 0.5
    assert score([1], C="patience(4)", A="etg", efforts=[2], unseen=1) == 0.5


@pytest.mark.parametrize("credit", ["arrival", "smeared"])
def test_an_unlimited_supply_of_the_best_grade(credit):
    """Smucker and Clarke (2012), section 4: N = g/(1 − 2^(−T_x/h)), with T_x the seconds of a document of grade 2."""
    h, qrels, run = 31, {"q": {"a": 1, "b": 2}}, {"q": {"x": 3.0, "a": 2.0, "b": 1.0}}
    g = 0.44 if credit == "arrival" else quad(lambda t: 0.44 / SECONDS[2] * 2 ** (-t / h), 0, SECONDS[2])[0]
    plain, over_N = (MEASURES["GradedTBG"](credit=credit, norm=norm) for norm in ("none", "unlimited"))
    found = evaluate(qrels, run, [plain, over_N]).iloc[0]
    assert found.iloc[1] == pytest.approx(found.iloc[0] * (1 - 2 ** (-SECONDS[2] / h)) / g, abs=1e-10)


FREE = {"effort": "by_grade({0: 0, 1: 1})"}


def test_players_whom_nothing_more_costs_anything_never_leave():
    """bpm: non-relevant items are free, so neither limit is reached. Users who never leave contribute 0."""
    for A in ("etg", "erg", "avg", "max", "err", "fgt(0.5)", "effort"):
        assert score([1, 0, 0], C="bpm(10, 100)", A=A, **FREE) == 0, A
    assert score([1, 0, 0], C="bpm(10, 2)", A="etg", efforts=[1, 0, 0], unseen=1) == 1


def test_a_player_who_has_left_sees_no_more():
    """The remaining effort ends with the first item, or the desired gain is reached there."""
    for C in ("bpm(10, 1)", "bpm(1, 10)", "product(bpm(10, 100), rr)", "product(rr, bpm(10, 100))"):
        for A, expected in {"items": 1, "effort": 1, "etg": 1, "erg": 1, "avg": 1, "err": 1}.items():
            assert score([1, 0], C=C, A=A, **FREE) == pytest.approx(expected), (C, A)


def test_a_users_gain_may_change_between_calls():
    """Gains of functions that may change are not cached."""
    worth = {1: 0.1, 2: 0.3}

    @gain
    def of_the_day(grade):
        return np.array([worth[g] for g in np.asarray(grade).tolist()])

    qrels, run = {"q": {"a": 2, "b": 1}}, {"q": {"a": 2.0, "b": 1.0}}
    measures = [CWLA(C="prec(2)", A="etg", gain=of_the_day, norm=norm) for norm in ("none", "all", "mean", "ideal")]
    assert evaluate(qrels, run, measures).iloc[0].tolist() == pytest.approx([0.4, 1, 2, 1])
    worth.update({1: 4, 2: 1})
    assert evaluate(qrels, run, measures).iloc[0].tolist() == pytest.approx([5, 1, 2, 1])


def test_gmap_is_a_name_for_the_geometric_mean_of_ap():
    assert str(ir_measures.parse_measure("GMAP")) == "GeometricMean(measure='AP')"
