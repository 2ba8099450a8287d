"""Expected scores, compared with the enumeration of all labelings by the loops of tests/support/reference.py."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyterrier_cwla import CWLA, CWLAError, CWLAWarning, Expected, aggregation, evaluate, explain
from pyterrier_cwla.model.expected import is_exact
from tests.model.test_against_reference import AGGREGATIONS, CONTINUATIONS, parsed
from tests.support import reference
from tests.support.messages import refused

#: Probabilities of the grades 0, 1 and 2; "x" is not judged, and "far" is not retrieved.
P = {"a": (0.5, 0.2, 0.3), "b": (0.1, 0.9, 0.0), "c": (0.0, 0.0, 1.0), "far": (0.6, 0.1, 0.3)}
RANKING = ("a", "x", "b", "c")
RUN = {"q": {document: 10.0 - rank for rank, document in enumerate(RANKING)}}
QRELS = pd.DataFrame([("q", d, *p) for d, p in P.items()], columns=["query_id", "doc_id", "p_0", "p_1", "p_2"])
WORDS = {"a": 300, "x": 80, "b": 900, "c": 20, "far": 500}
PRIOR = (0.7, 0.1, 0.2)


def labelings(chances):
    """Yield the grades of the documents and their probability, for all labelings of a positive probability."""
    for grades in itertools.product(*(range(len(p)) for p in chances.values())):
        p = math.prod(of_one[grade] for of_one, grade in zip(chances.values(), grades))
        if p > 0:
            yield dict(zip(chances, grades)), p


def enumerated(C, A, prior=None, **options):
    """Return the expected score by the reference."""
    chances = P if prior is None else P | {"x": prior}
    return math.fsum(
        p
        * reference.score(
            [grade.get(document) for document in RANKING],
            C=C,
            A=A,
            max_rel=2,
            judged=[grade[document] for document in P],
            words=[WORDS[document] for document in RANKING],
            judged_words=[WORDS[document] for document in P],
            **options,
        )
        for grade, p in labelings(chances)
    )


def expected(measure, **more):
    return float(evaluate(QRELS, RUN, [Expected(measure=measure, **more)]).iloc[0, 0])


@pytest.mark.parametrize("end", ["open", "stop"])
@pytest.mark.parametrize("C", CONTINUATIONS)
def test_exact_scores_are_those_of_all_labelings(C, end):
    for text, A in AGGREGATIONS.items():
        measure = CWLA(C=C, A=text, max_rel=2, end=end)
        if not is_exact(measure.metric):
            continue
        try:
            wanted = enumerated(CONTINUATIONS[C], A, end=end)
        except ValueError:  # a score is not defined
            with pytest.raises(CWLAError):
                expected(measure)
            continue
        assert expected(measure) == pytest.approx(wanted, rel=1e-9 if "max" in str(measure) else 1e-12, abs=1e-13)


@pytest.mark.parametrize("A", ["etg", "utility(log2)", "smeared", "smeared(50)"])
@pytest.mark.parametrize("C", ["decay(200)", "product(decay(200),cascade(0.9))", "rbp(0.8)", "cascade(0.7,rel=2)"])
@pytest.mark.parametrize("effort", ["time", "ratio(4)"])
def test_efforts_may_depend_on_labels(C, A, effort):
    """Those of unseen items are not needed where gains end."""
    parts = {"C": C, "A": A, "effort": effort, "max_rel": 2} | ({"lengths": WORDS} if effort == "time" else {})
    same = {"effort": {"time": ("time", {}), "ratio(4)": ("ratio", {"times": 4})}[effort], "unseen": 5}
    C, A = parsed(C), AGGREGATIONS.get(A, ("smeared", {"half_life": 50}))
    for end, unseen in (("open", {"unseen": 5}), (7, {} if effort == "time" else {"unseen": 5})):
        measure = CWLA(**parts, end=end, **unseen)
        assert Expected(measure=measure).is_exact
        assert expected(measure) == pytest.approx(enumerated(C, A, **same, end=end), rel=1e-12)


@pytest.mark.parametrize("cutoff", ["", "@3"])
@pytest.mark.parametrize(
    ("C", "A"), [("rbp(0.8)", "fin"), ("rbp(0.8)", "max"), ("prec(3)", "pe(0.5)"), ("cascade(0.7)", "items")]
)
def test_efforts_of_grades_that_nothing_reads(C, A, cutoff):
    """Efforts by grade have no value for a mean grade, and are not needed."""
    measure = f"CWLA(C='{C}',A='{A}',effort='by_grade({{0:10,1:40,2:90}})',max_rel=2){cutoff}"
    assert expected(measure) == pytest.approx(expected(f"CWLA(C='{C}',A='{A}',max_rel=2){cutoff}"), rel=1e-12)
    efforts = [10 * p[0] + 40 * p[1] + 90 * p[2] for p in (P.get(d, (1, 0, 0)) for d in RANKING)]
    table = explain(QRELS, RUN, "q", f'Expected(measure="{measure}")').table
    listed = table[table["docno"].isin(RANKING)]
    shown = dict(zip(RANKING, efforts))
    assert listed["effort"].tolist() == pytest.approx([shown[d] for d in listed["docno"]], rel=1e-12)


def test_grades_without_probability_need_no_gain():
    binary = QRELS.assign(p_1=1 - QRELS.p_0, p_2=0.0)
    measure = Expected(measure="CWLA(C='rbp(0.8)',A='erg',gain='table({1:0.5})')", prior={0: 0.5, 1: 0.5, 2: 0.0})
    found = evaluate(binary, RUN, [measure]).iloc[0, 0]
    wanted = [0.5 * p for p in (0.5, 0.5, 0.9, 1)]
    assert found == pytest.approx(sum(0.2 * 0.8**rank * r for rank, r in enumerate(wanted)), rel=1e-12)


EXACT = {
    "rbp(0.8)": "etg erg err avg max fin fgt(0.8) pe(0.5) items per_item effort utility(log2) smeared",
    "cascade(0.7)": "etg err items effort utility(log2) smeared",
    "rr": "err items effort",
    **dict.fromkeys(("ap1", "ap2", "inst(1)"), ""),
}


@pytest.mark.parametrize("C", EXACT)
def test_cells_with_an_exact_form(C):
    """Those of rr for sums of gains are exact where the list ends."""
    found = {A for A in AGGREGATIONS if is_exact(CWLA(C=C, A=A, max_rel=2).metric)}
    also = {"fgt(0)", "fgt(1)", "utility(reciprocal)", "utility(table(1,0.7,0.3))", "smeared(5)"}
    assert found - also == {*EXACT[C].split()}
    if C == "rr":
        assert all(
            is_exact(CWLA(C=C, A=A, end=end, max_rel=2).metric) for A in ("etg", "smeared") for end in ("stop", 5)
        )


def test_functions_of_users_are_exact_by_their_facts():
    @aggregation(linear_in_gain=True)
    def halved(view):
        return view.G / 2

    measure = CWLA(C="dcg(3)", A="halved", max_rel=2)
    assert Expected(measure=measure).is_exact
    assert expected(measure) == pytest.approx(enumerated(("dcg", {"k": 3}), ("etg", {})) / 2, rel=1e-12)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("C", "A", "more"),
    [*((C, A, {}) for C, A in (("ap1", "erg"), ("ap2", "avg"), ("inst(1)", "erg"), ("inst(1)", "max"), ("rr", "fin"), ("cascade(0.7)", "avg"))),
     *(("dcg(7)", "etg", {"norm": norm}) for norm in ("ideal", "all", "mean")),
     *((C, A, {"prior": PRIOR}) for C, A in (("rbp(0.8)", "max"), ("rbp(0.8)", "erg"), ("cascade(0.7)", "etg"), ("inst(1)", "erg")))],
)  # fmt: skip
def test_sampled_scores_are_near_those_of_all_labelings(C, A, more):
    """Also with their ideals, and with a prior for unjudged documents."""
    measure = CWLA(C=C, A=A, max_rel=2, norm=more.get("norm", "none"))
    prior = {"prior": dict(enumerate(PRIOR))} if "prior" in more else {}
    found, error = (expected(measure, **prior, what=what) for what in ("mean", "error"))
    assert abs(found - enumerated(CONTINUATIONS[C], AGGREGATIONS[A], **more)) < max(4 * error, 1e-12)
    assert error < 0.02
    assert (error == 0) == is_exact(measure.metric)


def test_std_and_quantiles():
    measure = CWLA(C="rbp(0.8)", A="erg", max_rel=2)
    scores, p = np.array([
        (reference.score([grade.get(d) for d in RANKING], C=("rbp", {"phi": 0.8}), A=("erg", {}), max_rel=2), p)
        for grade, p in labelings(P)
    ]).T  # fmt: skip
    std = math.sqrt(p @ scores**2 - (p @ scores) ** 2)
    assert expected(measure, what="std", samples=20_000) == pytest.approx(std, rel=0.02)
    for share in (0.1, 0.5, 0.9):
        quantile = expected(measure, what=share, samples=20_000)
        below, at_most = p[scores < quantile - 1e-12].sum(), p[scores < quantile + 1e-12].sum()
        assert below - 0.02 < share < at_most + 0.02


@given(st.lists(st.sampled_from([0, 1, 2]), min_size=4, max_size=4), st.sampled_from(["inst(1)", "rbp(0.8)", "ap2"]))
def test_certain_labels_have_the_score_of_the_measure(grades, C):
    qrels = {"q": dict(zip(P, grades))}
    certain = QRELS.assign(**{f"p_{grade}": [float(one == grade) for one in grades] for grade in range(3)})
    measure = CWLA(C=C, A="avg", max_rel=2)
    mean, std = (Expected(measure=measure, what=what) for what in ("mean", "std"))
    plain, *of_grades = evaluate(qrels, RUN, [measure, mean, std]).iloc[0]
    assert of_grades == [plain, 0.0]
    assert evaluate(certain, RUN, [mean]).iloc[0, 0] == pytest.approx(plain, rel=1e-12)


def test_parts_of_mixtures_and_intents_are_expected():
    one, other = CWLA(C="rbp(0.5)", A="erg", max_rel=2), CWLA(C="rbp(0.9)", A="erg", max_rel=2)
    mixture = f"measures={{'a':{str(one)!r},'b':{str(other)!r}}},weights={{'a':0.25,'b':0.75}}"
    inside = f"Mixture(measures={{'a':{str(Expected(measure=one))!r},'b':{str(Expected(measure=other))!r}}},weights={{'a':0.25,'b':0.75}})"
    wanted = 0.25 * expected(one) + 0.75 * expected(other)
    found = evaluate(QRELS, RUN, [f"Expected(measure={f'Mixture({mixture})'!r})", inside]).iloc[0]
    assert found.tolist() == pytest.approx([wanted, wanted], rel=1e-12)

    intents = pd.concat([QRELS.assign(iteration="1"), QRELS.assign(iteration="2", p_0=1.0, p_1=0.0, p_2=0.0)])
    intents.loc[(intents.iteration == "2") & (intents.doc_id == "b"), ["p_0", "p_2"]] = [0.0, 1.0]
    both = evaluate(intents, RUN, [f"IntentAware(measure={str(Expected(measure=one))!r})",
                                   f"Expected(measure={f'IntentAware(measure={str(one)!r})'!r})"]).iloc[0]  # fmt: skip
    second = evaluate({"q": {"b": 2}}, RUN, [one]).iloc[0, 0]
    assert both.tolist() == pytest.approx([(expected(one) + second) / 2] * 2, rel=1e-12)


def test_by_topic_gives_parameters_to_the_inner_measure():
    by_topic = "ByTopic(measure=\"Expected(measure='RBP(rel=1)')\",parameters={'q':{'p':0.5}})"
    assert evaluate(QRELS, RUN, [by_topic]).iloc[0, 0] == expected("RBP(rel=1,p=0.5)")


def test_samples_depend_on_no_other_topic_and_no_order():
    two = pd.concat([QRELS.assign(query_id="other").iloc[::-1], QRELS.iloc[[2, 0, 3, 1]]])
    runs = {"q": RUN["q"], "other": RUN["q"]}
    measure = Expected(measure="nDCG@3", samples=50)
    found = evaluate(two, runs, [measure], by_query=True).iloc[:, 0]
    assert found["run", "q"] == expected("nDCG@3", samples=50)
    assert found["run", "other"] != found["run", "q"]
    assert expected("nDCG@3", samples=50, seed=1) != found["run", "q"]


REFUSED = {
    "measure='Bpref'": "takes a measure that follows a user model",
    "measure='nDCG@10',prior=0.2": "norm='ideal'",
    "measure='AP',prior=0.2": "reads the total gain",
    "measure='RBP(rel=1)',prior={0:0.5}": "sum to 1",
    "measure='RBP(rel=1)',what='median'": "'mean', 'std', 'error' or a quantile",
    "measure='Mixture(measures={\"a\":\"RBP(rel=1)\"})',what='std'": "share labels",
    "measure=\"CWLA(C='rbp(0.8)',A='erg',max_rel=2)\",prior={0:0.5,3:0.5}": "grade 3, above max_rel=2",
    "measure=\"CWLA(C='rr',A='err',gain='raw')\"": "gains of at most 1, and a gain is 2",
    "measure=\"CWLA(C='rr',A='err',max_rel=1)\"": "'a' has grade 2, above max_rel=1",
}
LABELS_REFUSED = {
    ("p_1", 1.0000000001): "'a': p_1 is 1.0000000001: probabilities",
    ("p_1", 1.5): "'a': p_1 is 1.5: probabilities are from 0 to 1",
    ("p_1", math.nan): "'a': p_1 is nan",
    ("p_2", 0.9): "'a': p_0 to p_2 sum to 1.6",
    ("p_relevant", 0.5): "p_relevant and 'p_0'",
    ("p_4", 0.0): "not 'p_3'",
}


def test_parameters_and_probabilities_that_are_refused():
    for parameters, words in REFUSED.items():
        refused(lambda given=parameters: evaluate(QRELS, RUN, [f"Expected({given})"]), words)
    for (name, value), words in LABELS_REFUSED.items():
        odd = QRELS.assign(**{name: value})
        refused(lambda odd=odd: evaluate(odd, RUN, ["Expected(measure='RBP(rel=1)')"]), words)
    for measure in ("nDCG@10", "Bpref", "Mixture(measures={'a':'RBP(rel=1)'})"):
        both = [measure, "Expected(measure='RBP(rel=1)')"]
        refused(lambda both=both: evaluate(QRELS, RUN, both), "only Expected", measure[:4])


def test_grades_that_no_document_can_have():
    binary = QRELS[["query_id", "doc_id"]].assign(p_relevant=0.5)
    refused(
        lambda: evaluate(binary, RUN, ["Expected(measure='RBP(rel=2)')"]), "p_relevant is the probability of grade 1"
    )
    with pytest.warns(CWLAWarning, match="gains are those of max_rel=3"):
        evaluate(binary, RUN, ["Expected(measure='INST(max_rel=3)')"])
    with pytest.warns(CWLAWarning, match="the judgments have no probabilities"):
        evaluate({"q": {"a": 1}}, RUN, ["Expected(measure='RBP(rel=1)')"])


def test_grades_and_probabilities_side_by_side():
    """Other measures read the grades, which may be of another scale, and expected ones the probabilities."""
    both = QRELS.assign(relevance=[2, 0, 1, 0])
    found = evaluate(both, RUN, ["RBP(rel=1)", "Expected(measure='RBP(rel=1)')"]).iloc[0]
    of_grades = evaluate(both.drop(columns=["p_0", "p_1", "p_2"]), RUN, ["RBP(rel=1)"]).iloc[0, 0]
    assert found.tolist() == [of_grades, expected("RBP(rel=1)")]
    high, low = (CWLA(C="rbp(0.8)", A="erg", max_rel=max_rel) for max_rel in (2, 1))
    assert evaluate(QRELS.assign(relevance=3), RUN, [Expected(measure=high)]).iloc[0, 0] == expected(high)
    ones = QRELS.assign(relevance=1)
    refused(lambda: evaluate(ones, RUN, [Expected(measure=low)]), "'a' has grade 2, above max_rel=1")
    refused(lambda: evaluate(QRELS.assign(relevance=3), RUN, [high]), "'a' has grade 3, above max_rel=2")
    evaluate(QRELS.assign(relevance=[2, 1, 2, 2]), RUN, ["RBP(rel=1)"])  # the highest possible grades
    refused(lambda: evaluate(QRELS, RUN, ["RBP(rel=1)"]), "only Expected")
