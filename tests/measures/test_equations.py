"""The formula of each measure: it exists, it is valid mathematics, and it gives the value of the measure."""

import re
from math import exp, inf, log, log2, prod

import numpy as np
import pytest
from scipy.integrate import quad

from pyterrier_cwla import evaluate
from pyterrier_cwla.measures import reference
from pyterrier_cwla.measures.computing import Declaration, Equation
from pyterrier_cwla.measures.equations import descriptions, equation_of
from pyterrier_cwla.measures.named import RowMeasure, measures_of
from tests.support.generated import collection

MEASURES = [entry for entry in reference.entries() if entry.kind in ("measure", "ir_measures", "session")]
FAR = 1000  # number of ranks of sums without an end
#: Seconds by grade of Jiang and Allan (2016), Table 2.
SECONDS = [4.4 + 0.26 * 20.6, 4.4 + 0.5 * 37.1, 4.4 + 0.55 * 60.3]
EFFORTS = {
    "ratio(4)": (1 / 4, 1, 1),
    "unit": (1, 1, 1),
    "by_grade({0:0.3,1:0.6,2:1})": (0.3, 0.6, 1),
    "grade_time": SECONDS,
}


class Topic:
    """Symbols of the formulas for one topic; a rank i is an argument, from 1."""

    def __init__(self, grades, judged, words=None, efforts=EFFORTS["ratio(4)"]):
        self.grades, self.judged, self.words, self.n, self.efforts = grades, judged, words, len(grades), efforts
        self.R = sum(grade >= 1 for grade in judged)

    def g(self, i):
        return max((self.grades[i - 1] if i <= self.n else 0) or 0, 0)

    def b(self, i):
        return int(self.g(i) >= 1)

    def j(self, i):
        return int(i <= self.n and self.grades[i - 1] is not None)

    def r(self, i, highest=2):
        """Linear gain."""
        return self.g(i) / highest

    def p(self, i, highest=2):
        """Probability that the grade satisfies."""
        return (2 ** self.g(i) - 1) / 2**highest

    def share(self, i):
        return sum((0.4, 0.6)[: self.g(i)])

    def e(self, i):
        """Effort by grade, here ratio(4)."""
        return self.efforts[self.g(i)]

    def length(self, i):
        return self.words[i - 1]

    @property
    def missing(self):
        """Grades of judged documents that are not retrieved."""
        rest = list(self.judged)
        for grade in self.grades:
            if grade is not None:
                rest.remove(grade)
        return rest

    @property
    def ideal(self):
        best = sorted((max(grade, 0) for grade in self.judged), reverse=True)
        return Topic(best, self.judged, efforts=self.efforts)


def ranks(last):
    return range(1, int(last) + 1)


def mean(V, top, bottom=lambda i: 1, last=FAR):
    return sum(V(i) * top(i) for i in ranks(last)) / sum(V(i) * bottom(i) for i in ranks(last))


def product(C, start=1.0):
    """Return V(i) = Π_{j<i} C(j) as a function."""
    shares = [start]
    for j in ranks(FAR):
        shares.append(shares[-1] * C(j))
    return lambda i: shares[i - 1]


def seen(t):
    """Return G(i) of linear gains as a function, and E(i) with effort 1 for all."""
    sums = [0.0]
    for i in ranks(FAR):
        sums.append(sums[-1] + t.r(i))
    return lambda i: sums[i]


def on_arrival(gain, e, T, h):
    return gain * 2 ** (-T / h)


def smeared(gain, e, T, h):
    """Gain that accrues evenly over the effort of the item."""
    return quad(lambda t: gain / e * 2 ** (-(T + t) / h), 0, e)[0] if gain else 0.0


def discounted_by_time(gains, seconds, h=224.0, credit=on_arrival):
    """Smucker and Clarke (2012), Eq. 3, or Eq. 2, ∫ G′(t)·D(t) dt."""
    T, total = 0.0, 0.0
    for gain, e in zip(gains, seconds, strict=True):
        total += credit(gain, e, T, h)
        T += e
    return total


def reading_time(relevant, length):
    return 4.4 + (0.64 if relevant else 0.39) * (0.018 * length + 7.8)


def tbg(t, credit=on_arrival):
    seconds = [reading_time(t.b(k), t.length(k)) for k in ranks(t.n)]
    return discounted_by_time([0.64 * 0.77 * t.b(k) for k in ranks(t.n)], seconds, credit=credit)


def graded_tbg(t, credit=on_arrival):
    gains = [(0, 0.5 * 0.2, 0.55 * 0.8)[t.g(k)] for k in ranks(t.n)]
    return discounted_by_time(gains, [SECONDS[t.g(k)] for k in ranks(t.n)], 31, credit)


def u_measure(t, T, effort):
    """Σ r_i·max(0, 1 − t_i/T), with t_i the effort up to the end of item i (Sakai and Dou, 2013)."""
    return sum(t.p(i) * max(0, 1 - sum(map(effort, ranks(i))) / T) for i in ranks(t.n))


def average_precision(t, gain, effort, whole):
    """Jiang and Allan (2016), Eq. 2 and 3."""
    total = 0.0
    for k in ranks(t.n):
        total += t.b(k) * sum(map(gain, ranks(k))) / sum(map(effort, ranks(k)))
    return total / whole if whole else 0.0


def dcg(t, gain, effort=None):
    """Jiang and Allan (2016), Eq. 5, where items have an effort."""
    top = sum(gain(t, i) / log2(i + 1) for i in ranks(t.n))
    return top if effort is None else top / sum(effort(t, i) / log2(i + 1) for i in ranks(t.n))


def of_ideal(t, *parts):
    best = dcg(t.ideal, *parts)
    return dcg(t, *parts) / best if best else 0.0


def first_relevant(t):
    return next((i for i in ranks(t.n) if t.b(i)), inf)


def cascade(t, phi=lambda i: 1 / i, gamma=1.0, highest=2):
    """Chapelle et al. (2009), sections 4 and 7.2: Σ_r φ(r)·γ^(r−1)·R_r·Π_{i<r}(1−R_i)."""
    return sum(
        phi(i) * gamma ** (i - 1) * t.p(i, highest) * prod(1 - t.p(j, highest) for j in ranks(i - 1))
        for i in ranks(t.n)
    )


def dynamic_bpm(t, T=0.8, K=6.0, h_b=0.7, h_c=2.0, m=0.25):
    """Zhang et al. (2017): gain over effort of the items seen. Each item moves the limits for later items."""
    G = seen(t)
    s = next(
        i for i in ranks(FAR)
        if G(i) >= T + h_b * sum(t.r(j) - m for j in ranks(i - 1)) or i >= K + h_c * sum(t.r(j) - m for j in ranks(i - 1))
    )  # fmt: skip
    return G(s) / s


def foraging(t, T=None, b1=0.9, R1=10, A=None, b2=0.9, R2=10):
    """Azzopardi, Thomas and Craswell (2018), over many ranks. With the goal only, the rest is a geometric series."""
    V, gain, top, items = 1.0, 0.0, 0.0, 0.0
    for i in ranks(4000):
        if A is None and i > t.n:
            return top / (items + V * (1 + b1 * exp((T - gain) * R1)))
        gain, top, items = gain + t.r(i), top + V * t.r(i), items + V
        if T is not None:
            V *= 1 - 1 / (1 + b1 * exp((T - gain) * R1))
        if A is not None:
            V *= 1 / (1 + b2 * exp((A - gain / i) * R2))
    return top / items


def inst(t, T=1.0):
    G = seen(t)
    return mean(product(lambda j: ((j + 2 * T - G(j) - 1) / (j + 2 * T - G(j))) ** 2), t.r)


def nerr(t, patience, last=FAR):
    V = product(lambda j: 1 - t.r(j))
    return mean(lambda i: patience(i) * V(i), t.r, last=last)


def left(t, value, phi=0.8):
    """Σ L(i)·value(i), with the users of RBP."""
    return sum(phi ** (i - 1) * (1 - phi) * value(i) for i in ranks(300))


def set_by_rank(t, k, beta, effort=lambda i: 1):
    """Azzopardi (2014) as in cwl_eval: the gain of each rank, weighted with the growth of (i+1)^β."""
    return mean(lambda i: (i + 1) ** beta - i**beta, t.r, effort, k)


def expected_effort(t, theta):
    """Carterette (2011), Model 3: Σ_k P(k)/k, where one relevant document satisfies with probability θ."""
    return sum(1 / i * theta * t.b(i) * (1 - theta) ** sum(map(t.b, ranks(i - 1))) for i in ranks(t.n))


def bpref(t):
    N = sum(0 <= grade < 1 for grade in t.judged)

    def n(x):
        return sum(t.grades[i - 1] == 0 for i in ranks(x - 1))

    def lost(x):
        return min(t.R, n(x)) / min(t.R, N) if n(x) else 0

    return sum(t.b(x) * (1 - lost(x)) for x in ranks(t.n)) / t.R if t.R else 0.0


def inf_ap(t, epsilon=1e-5):
    total = 0.0
    for p in ranks(t.n):
        above = [grade for grade in t.grades[: p - 1] if grade is not None]
        rel, non = sum(grade >= 1 for grade in above), sum(grade == 0 for grade in above)
        inferred = len(above) / p * (rel + epsilon) / (rel + non + 2 * epsilon)
        total += t.b(p) * (1 / p + inferred)
    return total / t.R if t.R else 0.0


def found_by(t):
    return sum(map(t.b, ranks(t.n)))


def interpolated(t, recall):
    at = [k for k in ranks(t.n) if t.b(k)]
    c = int(recall * t.R + 0.9)
    return max((j / at[j - 1] for j in range(max(c, 1), len(at) + 1)), default=0)


def in_order(t):
    a = found_by(t)
    wrong = sum(t.b(k) * sum(1 - t.b(j) for j in ranks(k - 1)) for k in ranks(t.n))
    return 1 - wrong / (a * (t.n - a)) if 0 < a < t.n else float("nan")


def q_measure(t, k, beta=2.0):
    def cg(t, i):
        return sum(t.g(j) for j in ranks(i))

    def B(i):
        return sum(t.b(j) for j in ranks(i))

    total = sum(t.b(i) * (B(i) + beta * cg(t, i)) / (i + beta * cg(t.ideal, i)) for i in ranks(min(t.n, k)))
    return total / min(k, t.R) if t.R else 0.0


def compat(t, p=0.9):
    ideal = sorted((-grade, i) for i, grade in enumerate([*t.grades, *t.missing], 1) if grade and grade > 0)
    places = [i for _, i in ideal]

    def rbo(listed):
        D = max(t.n, len(places))
        X = [len(set(listed[:d]) & set(places[:d])) for d in ranks(D)]
        return sum(p ** (d - 1) * X[d - 1] / d for d in ranks(D)) / sum(p ** (d - 1) for d in ranks(D))

    return rbo(list(ranks(t.n))) / rbo(places) if places else 0.0


def search_length(t, wanted=2, failed=7):
    """Without ties, each group is one document."""
    relevant = [i for i in ranks(t.n) if t.b(i)]
    if len(relevant) < wanted:
        return max(failed, t.n - len(relevant))
    return relevant[wanted - 1] - 1 - (wanted - 1)


def r_share(t, value, last):
    return sum(map(value, ranks(last))) / t.R if t.R else 0.0


def fitting(t, T):
    """m, the number of documents whose efforts add up to at most T."""
    return sum(sum(map(t.e, ranks(m))) <= T for m in ranks(t.n))


def gained(t, T):
    return sum(map(t.b, ranks(fitting(t, T))))


RATIO = "effort='ratio(4)'"
#: The formula of each measure as a function of the symbols, term by term.
VALUES = {
    "CWLA(C='rbp(0.8)',A='max',max_rel=2)": lambda t: left(t, lambda i: max(map(t.r, ranks(i)))),
    "TBG": tbg,
    "TBG(credit='smeared')": lambda t: tbg(t, smeared),
    "GradedTBG": graded_tbg,
    "GradedTBG(credit='smeared')": lambda t: graded_tbg(t, smeared),
    "UMeasure(T=6,effort='ratio(4)',max_rel=2)": lambda t: u_measure(t, 6, t.e),
    "UMeasure(T=99,max_rel=2)": lambda t: u_measure(t, 99, lambda i: SECONDS[t.g(i)]),
    "UMeasure(T=9000,max_rel=2,effort='reading')": lambda t: u_measure(t, 9000, t.length),
    "UMeasure(T=2500,max_rel=2,effort='reading(30,0.2,p_click_nonrelevant=0)')":
        lambda t: u_measure(t, 2500, lambda i: 30 + t.b(i) * 0.2 * t.length(i)),
    f"GainWithin(T=4,{RATIO},gain='linear',max_rel=2)": lambda t: sum(map(t.r, ranks(fitting(t, 4)))),
    f"PrecisionWithin(T=4,{RATIO})": lambda t: gained(t, 4) / max(fitting(t, 4), 1),
    f"RecallWithin(T=4,{RATIO})": lambda t: gained(t, 4) / t.R if t.R else 0.0,
    f"GainPerCost(T=4,{RATIO})": lambda t: gained(t, 4) / max(sum(map(t.e, ranks(fitting(t, 4)))), 1e-9),
    f"AdaptiveP({RATIO})@9": lambda t: mean(lambda i: 1, t.b, t.e, min(t.n, 9)),
    f"AdaptiveGP({RATIO})@9": lambda t: mean(lambda i: 1, t.share, t.e, min(t.n, 9)),
    f"AdaptiveAP({RATIO})": lambda t: average_precision(t, t.b, t.e, t.R),
    f"AdaptiveGAP({RATIO})": lambda t: average_precision(
        t, t.share, t.e, sum(sum((0.4, 0.6)[: max(grade, 0)]) for grade in t.judged)
    ),
    f"AdaptiveRBP({RATIO})": lambda t: mean(lambda i: 0.8 ** (i - 1), t.b, t.e, t.n),
    f"AdaptiveRBP(p=0.6,{RATIO})": lambda t: mean(lambda i: 0.6 ** (i - 1), t.b, t.e, t.n),
    f"AdaptiveGRBP({RATIO})": lambda t: mean(lambda i: 0.8 ** (i - 1), t.share, t.e, t.n),
    f"AdaptiveGRBP(p=0.6,{RATIO})": lambda t: mean(lambda i: 0.6 ** (i - 1), t.share, t.e, t.n),
    f"AdaptiveRR({RATIO})": lambda t: 1 / sum(map(t.e, ranks(first_relevant(t)))) if first_relevant(t) < inf else 0,
    f"AdaptiveERR({RATIO},max_rel=2)": lambda t: cascade(t, lambda k: 1 / sum(map(t.e, ranks(k)))),
    f"AdaptiveDCG({RATIO})": lambda t: dcg(t, lambda t, i: 2 ** t.g(i) - 1, Topic.e),
    f"AdaptivenDCG({RATIO})": lambda t: of_ideal(t, lambda t, i: 2 ** t.g(i) - 1, Topic.e),
    "Cascade(max_rel=2)": cascade,
    "Cascade(gamma=0.9,phi='log2',max_rel=2)": lambda t: cascade(t, lambda i: 1 / log2(i + 1), 0.9),
    "Cascade(gamma=0.7,phi='power(2)',max_rel=2)": lambda t: cascade(t, lambda i: i**-2, 0.7),
    "Cascade(gamma=0.9,phi='table(0.2,1,0.9,0,0.5)',max_rel=2)":
        lambda t: cascade(t, lambda i: dict(enumerate((0.2, 1, 0.9, 0, 0.5), 1)).get(i, 0), 0.9),
    "Cascade(phi='log2',gain='table({1:0.25,2:0.75})')": lambda t: cascade(t, lambda i: 1 / log2(i + 1)),
    "DynamicBPM(T=0.8,K=6,h_b=0.7,h_c=2,m=0.25,max_rel=2)": dynamic_bpm,
    "DynamicBPM(T=0.5,K=9.5,h_b=0,h_c=0,max_rel=2)": lambda t: dynamic_bpm(t, 0.5, 9.5, 0, 0),
    "IFTGoal(T=1.5,max_rel=2)": lambda t: foraging(t, T=1.5),
    "IFTRate(A=0.2,max_rel=2)": lambda t: foraging(t, A=0.2),
    "IFT(T=1.5,A=0.2,max_rel=2)": lambda t: foraging(t, T=1.5, A=0.2),
    "IFT(T=0.5,A=0.1,b1=2,R1=1,b2=0.5,R2=3,max_rel=2)": lambda t: foraging(t, 0.5, 2, 1, 0.1, 0.5, 3),
    "ExpectedUtility(C='rbp(0.8)',max_rel=2)": lambda t: left(t, t.r),  # Carterette (2011), Model 1
    "ExpectedTotalUtility(C='rbp(0.8)',max_rel=2)": lambda t: left(t, seen(t)),
    "ExpectedTotalUtility(C='dcg(7)',max_rel=2)": lambda t: sum(t.r(i) / log2(i + 1) for i in ranks(7)),
    "ExpectedEffort(theta=0.3)": lambda t: expected_effort(t, 0.3),
    "ExpectedEffort": lambda t: expected_effort(t, 0.5),
    "ExpectedAverageUtility(C='rbp(0.8)',max_rel=2)": lambda t: (lambda G: left(t, lambda i: G(i) / i))(seen(t)),
    f"SET({RATIO},max_rel=2)@9": lambda t: set_by_rank(t, 9, 0.5, t.e),
    "SET(beta=0.1,max_rel=2)@4": lambda t: set_by_rank(t, 4, 0.1),
    "TrAP": lambda t: average_precision(t, t.b, lambda i: 1, sum(map(t.b, ranks(t.n)))),
    "ESL(wanted=2,failed=7)": search_length,
    "QMeasure(beta=2)": lambda t: q_measure(t, k=FAR),
    "QMeasure(beta=2)@3": lambda t: q_measure(t, k=3),
    "SetP": lambda t: found_by(t) / t.n,
    "SetR": lambda t: found_by(t) / t.R if t.R else 0,
    "SetF(beta=2)": lambda t: 3 * found_by(t) / (t.n + 2 * t.R),
    "SetAP": lambda t: found_by(t) ** 2 / (t.n * t.R) if t.R else 0,
    "IPrec@0.3": lambda t: interpolated(t, 0.3),
    "AP11pt": lambda t: sum(interpolated(t, tenth / 10) for tenth in range(11)) / 11,
    "Accuracy": lambda t: in_order(t),
    "SetUtility(relevant=2,other=0.5,missed=1)": lambda t: (
        2 * found_by(t) - (t.n - found_by(t)) / 2 - (t.R - found_by(t))
    ),
    "Logistic(measure=AP)": lambda t: 1 / (1 + exp(-average_precision(t, t.b, lambda i: 1, t.R))),
    "GeometricMean(measure=AP)": lambda t: log(max(average_precision(t, t.b, lambda i: 1, t.R), 1e-5)),
    "AP": lambda t: average_precision(t, t.b, lambda i: 1, t.R),
    "P@5": lambda t: sum(map(t.b, ranks(5))) / 5,
    "R@5": lambda t: r_share(t, t.b, 5),
    "RR": lambda t: 1 / first_relevant(t),
    "Success@3": lambda t: max(map(t.b, ranks(3))),
    "nDCG@10": lambda t: of_ideal(Topic(t.grades[:10], t.judged), lambda t, i: t.g(i) if i <= 10 else 0),
    "nDCG(dcg='exp-log2')": lambda t: of_ideal(t, lambda t, i: 2 ** t.g(i) - 1),
    "SDCG(max_rel=2)@9": lambda t: mean(lambda i: 1 / log2(i + 1), t.r, last=9),
    "RBP(p=0.9,rel=1)": lambda t: 0.1 * sum(0.9 ** (i - 1) * t.b(i) for i in ranks(t.n)),
    "INST(max_rel=2)": inst,
    "INSQ(T=2,max_rel=2)": lambda t: mean(lambda i: 1 / (i + 3) ** 2, t.r),
    "BPM(max_rel=2)@5": lambda t: dynamic_bpm(t, 1, 5, 0, 0),
    "NERR8(max_rel=2)@9": lambda t: nerr(t, lambda i: 1, 9),
    "NERR9(max_rel=2)@9": lambda t: nerr(t, lambda i: 1 / i, 9),
    "NERR10(max_rel=2)": lambda t: nerr(t, lambda i: 0.9 ** (i - 1)),
    "NERR11(max_rel=2)": lambda t: nerr(t, lambda i: (2 / (i + 1)) ** 2),
    "ERR": lambda t: cascade(t, lambda i: 1 / i, highest=4),
    "Compat(p=0.9)": compat,
    "NumQ": lambda t: 1,
    "NumRel": lambda t: t.R,
    "NumRet": lambda t: t.n,
    "NumRet(rel=1)": lambda t: sum(map(t.b, ranks(t.n))),
    "Rprec": lambda t: r_share(t, t.b, t.R),
    "Judged@10": lambda t: sum(map(t.j, ranks(10))) / min(t.n, 10),
    "Bpref": bpref,
    "infAP": inf_ap,
}  # fmt: skip
#: Measures of other measures and of sessions, whose formulas are in other modules of this folder.
OF_INTENTS = {"alpha_DCG", "alpha_nDCG", "ERR_IA", "nERR_IA", "NRBP", "nNRBP", "AP_IA", "P_IA", "StRecall"}
ELSEWHERE = OF_INTENTS | {
    "UDCG", "Residual", "Expected", "IntentAware", "Mixture", "ByTopic", "sDCG", "nsDCG", "esNDCG", "SessionCWLA",
}  # fmt: skip
#: Each formula with every effort that its documents may have; the budgets of other measures are for efforts up to 1.
CASES = {
    text.replace(RATIO, f"effort='{effort}'"): (formula, e)
    for text, formula in VALUES.items()
    for effort, e in EFFORTS.items()
    if effort == "ratio(4)" or (RATIO in text and (effort != "grade_time" or text.startswith("Adaptive")))
}
IN_STRICT_ORDER = ("ESL", "Compat")


def topics(frames, efforts=EFFORTS["ratio(4)"]):
    """Yield each judged query with its symbols; ties are in descending order of ids."""
    order = frames.run.assign(score=frames.run.score.astype(np.float32)).sort_values(
        ["score", "doc_id"], ascending=False
    )
    for query, judged in frames.qrels.groupby("query_id"):
        grades = dict(zip(judged.doc_id, judged.relevance, strict=True))
        some = order[order.query_id == query]
        yield query, Topic([grades.get(d) for d in some.doc_id], [*grades.values()], [*some.doc_length], efforts)


def test_all_formulas_are_those_of_measures():
    """tests/test_extension_points.py names measures without a formula."""
    names = {entry.name for entry in MEASURES}
    assert set(descriptions()["measures"]) <= names
    assert {re.split(r"[(@]", name)[0] for name in VALUES} == names - ELSEWHERE


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_the_formulas_give_the_values_of_the_measures(seed):
    """Ties, unjudged documents, grades of −1, topics without relevant documents or without results, where users score 0."""
    frames = collection(seed, depth=30 if seed else 5, grades=(-1, 0, 0, 1, 2), ties=seed > 0, lengths=True)
    names = [name for name in CASES if not (seed and name.startswith(IN_STRICT_ORDER))]
    of_users = {name for name, one in zip(names, measures_of(names), strict=True) if isinstance(one, RowMeasure)}
    found = evaluate(frames.qrels, frames.run, {name: name for name in names}, by_query=True).loc["run"]
    for name in names:
        formula, efforts = CASES[name]
        for query, topic in topics(frames, efforts):
            if topic.n or name in of_users:
                expected = formula(topic) if topic.n else 0.0
                assert found.loc[query, name] == pytest.approx(expected, rel=1e-9, abs=1e-12, nan_ok=True), (
                    query,
                    name,
                )
    assert (found > 0).any()[sorted(of_users)].all()


def test_named_measures_that_are_other_measures():
    """If all relevant documents are retrieved, TrAP is AP; without β, Q-measure is AP; with β = 1, SET is precision."""
    frames = collection(7, grades=(0, 1, 2, 3, 4), lengths=True)
    pairs = {
        "SET(beta=1,gain='binary')@9": "P@9", "QMeasure(beta=0,rel=2)": "AP(rel=2)", "Cascade(max_rel=4)@20": "ERR@20",
        "DynamicBPM(T=1,K=10,h_b=0,h_c=0,m=0.9,max_rel=4)": "BPM(max_rel=4)@10",
    }  # fmt: skip
    found = evaluate(frames.qrels, frames.run, [*pairs, *pairs.values(), "TrAP", "R@10000", "AP"], by_query=True)
    for (one, other), (left, right) in zip(pairs.items(), zip(range(4), range(4, 8))):
        assert found.iloc[:, left].tolist() == pytest.approx(found.iloc[:, right].tolist(), abs=1e-12), (one, other)
    assert (found["TrAP"] * found["R@10000"]).tolist() == pytest.approx(found["AP"].tolist(), abs=1e-12)


@pytest.mark.slow
def test_a_cutoff_is_a_shorter_list():
    frames = collection(5, grades=(-1, 0, 1, 2), lengths=True)
    texts = [text for text in CASES if "@" not in text]
    uncut = ("AdaptivenDCG", "nDCG")  # whose ideal is cut as well
    names = [
        text for text, one in zip(texts, measures_of(texts), strict=True)
        if isinstance(one, RowMeasure) and one.NAME not in uncut
    ]  # fmt: skip
    found = evaluate(frames.qrels, frames.run, {name: f"{name}@9" for name in names}, by_query=True).loc["run"]
    for name in names:
        formula, efforts = CASES[name]
        for query, topic in topics(frames, efforts):
            first = Topic(topic.grades[:9], topic.judged, topic.words[:9], efforts)
            expected = formula(first) if topic.n else 0.0
            assert found.loc[query, name] == pytest.approx(expected, abs=1e-10), (query, name)


@pytest.mark.parametrize("name", [entry.name for entry in MEASURES])
def test_formulas_are_valid_and_their_symbols_are_explained(name):
    converter = pytest.importorskip("docutils.utils.math.latex2mathml", reason="docutils is in the extra [docs]")
    equation = next(entry.equation for entry in MEASURES if entry.name == name)
    assert converter.tex2mathml(equation.displayed, as_block=True).startswith("<math")
    inline = re.findall(r"\$(.*?)\$", equation.symbols)
    assert all(converter.tex2mathml(part).startswith("<math") for part in inline)
    assert equation.symbols.count("$") % 2 == equation.symbols.count("``") % 2 == 0
    symbols = set(
        re.findall(r"(?<![\\A-Za-z{])[A-Za-z](?![A-Za-z])", re.sub(r"\\[a-z]+(\{[^}]*\})?", " ", equation.latex))
    )
    said = " ".join([*inline, equation.latex.partition("quad")[2]])
    assert {s for s in symbols if not re.search(rf"(?<![A-Za-z]){s}(?![A-Za-z])", said)} <= set("MQUkije")


def test_lines_are_aligned():
    assert Equation("", "a &= 1 \\\\ b &= 2", "").displayed == r"\begin{aligned}a &= 1 \\ b &= 2\end{aligned}"
    assert Equation("", "a = 1", "").displayed == "a = 1"


def test_a_declaration_may_give_its_own_formula():
    own = Equation("mine", "m = 1", "$m$ is 1")
    assert equation_of(Declaration("Mine", equation=own)) is equation_of(Declaration("AP", equation=own)) is own
    assert equation_of(Declaration("Mine")) is None


def test_every_shared_symbol_is_used():
    described = descriptions()
    used = {one for own in described["measures"].values() for one in own["symbols"]}
    assert {*described["symbols"]} <= used
