"""Known costs as effort: seconds of documents, costs by rank and sums, against plain loops and as users' inputs."""

import random

import numpy as np
import pandas as pd
import pytest

from pyterrier_cwla import CWLA, effort, evaluate, explain, score
from pyterrier_cwla.behaviour import progress, simulate
from pyterrier_cwla.errors import BadParameter, CWLAError, NoFiniteValue
from pyterrier_cwla.measures.wrappers import unit_of_metric
from tests.support.messages import refused

#: The cost of an item by its rank, grade, words and seconds.
EFFORTS = {
    "seconds": lambda i, grade, words, seconds: seconds,
    "by_rank(3,0.5,2)": lambda i, *_: (3, 0.5, 2)[min(i, 3) - 1],
    "by_rank(2)": lambda i, *_: 2,
    "plus(seconds,reading)": lambda i, grade, words, seconds: seconds + words,
    "plus(by_rank(4,1),by_grade({0:0.5,1:2}))": lambda i, grade, *_: (4 if i == 1 else 1) + (2 if grade else 0.5),
    "plus(plus(seconds,by_rank(5,4,3,2,1)),by_grade({0:0.25,1:1}))": lambda i, grade, words, seconds: (
        seconds + max(6 - i, 1) + (1 if grade else 0.25)
    ),
}


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("end", ["open", "stop", 7])
@pytest.mark.parametrize(
    ("C", "A"), [("rbp(0.7)", "etg"), ("rbp(0.7)", "erg"), ("decay(11)", "etg"), ("decay(11)", "erg")]
)
def test_costs_of_documents_and_ranks_are_those_of_items(effort, end, C, A):
    """Scores of lists with given efforts are compared with the reference; by ranks, the first 20 are given."""
    rng, cost, unseen = random.Random(f"{effort}{end}{C}{A}"), EFFORTS[effort], 1.75
    known = {} if "seconds" not in effort and "reading" not in effort else {"unseen": unseen}
    rows, judged, wanted = [], [], {}
    for q in map(str, range(12)):
        items = [
            (rng.choice([None, 0, 1, 1]), rng.randint(1, 30), rng.randint(0, 90) / 7) for _ in range(rng.randint(1, 12))
        ]
        rows += [(q, f"d{i}", -float(i), float(words), seconds) for i, (_, words, seconds) in enumerate(items)]
        judged += [(q, f"d{i}", grade) for i, (grade, *_) in enumerate(items) if grade is not None]
        judged.append((q, "elsewhere", 0))
        gains, efforts = [grade or 0 for grade, *_ in items], [cost(i, *item) for i, item in enumerate(items, 1)]
        if not known and end != "stop":
            later = range(len(items) + 1, 21)
            gains, efforts, unseen = gains + [0] * len(later), efforts + [cost(i, 0) for i in later], cost(21, 0)
        wanted[q] = score(gains, efforts=efforts, C=C, A=A, end=end, unseen=unseen)
    run = pd.DataFrame(rows, columns=["query_id", "doc_id", "score", "doc_length", "doc_cost"])
    qrels = pd.DataFrame(judged, columns=["query_id", "doc_id", "relevance"])
    measure = CWLA(C=C, A=A, gain="raw", effort=effort, end=end, **known)
    found = evaluate(qrels, run.sample(frac=1, random_state=1), [measure], by_query=True)
    assert found.droplevel("run").iloc[:, 0].to_dict() == pytest.approx(wanted, rel=1e-9)


def of_two(measure, order="ab", qrels=None):
    """Return the value of a measure for a ranking of two documents, the second of which is relevant."""
    run = {"q": dict(zip(order, (2.0, 1.0)))}
    return evaluate({"q": qrels or {"b": 1}}, run, [measure]).iloc[0, 0]


def test_users_efforts_read_ranks_and_seconds():
    @effort
    def tired(documents, rate: float):
        return documents.cost * (1 + rate * (documents.rank - 1))

    known = {"C": "prec(2)", "A": "erg", "gain": "raw", "costs": {"a": 10, "b": 20}}
    measure = CWLA(**known, effort=tired(0.5), end="stop")
    assert of_two(measure) == pytest.approx(1 / (10 + 30))
    words = "the effort of unseen documents is needed"
    refused(lambda: of_two(measure(C="rbp(0.5)", end="open")), NoFiniteValue, words)


def test_efforts_of_all_ranks_state_their_end_or_need_unseen():
    def growing(documents):
        return 1 + np.minimum(documents.rank, 5.0)

    asked, without_end = {"C": "rbp(0.5)", "A": "erg"}, effort(growing)
    refused(lambda: score([0, 1], **asked, effort=without_end), NoFiniteValue, "give unseen=")
    assert score([0, 1], **asked, effort=without_end, end=2) == pytest.approx(0.5 / (2 + 0.5 * 3))
    assert score([1], **asked, effort=without_end, end=3) == pytest.approx(1 / (2 + 0.5 * 3 + 0.25 * 4))
    wanted = 0.5 / sum(0.5**i * (1 + min(i + 1, 5)) for i in range(60))
    assert score([0, 1], **asked, effort=effort(constant_from=lambda: 5)(growing)) == pytest.approx(wanted)
    assert score([0, 1], **asked, effort="by_rank(2,3,4,5,6)") == pytest.approx(wanted)
    # unseen= replaces the cost of ranks below the list
    assert score([1], **asked, effort="by_rank(4, 2)", unseen=8) == pytest.approx(1 / (4 + 8))


def test_ranks_are_counted_after_unjudged_items_are_removed():
    measure = CWLA(C="prec(1)", A="erg", gain="raw", effort="by_rank(4, 2)", end="stop", judged_only=True)
    assert of_two(measure) == pytest.approx(1 / 4)


def test_the_ideal_ranking_pays_the_cost_of_each_rank():
    decay = {"C": "decay(10)", "A": "etg", "gain": "raw", "norm": "ideal", "unseen": 4}
    measure = CWLA(**decay, effort="plus(seconds, by_rank(3, 1, 1))", costs={"a": 5, "b": 7, "c": 1})
    ideal = 2 + 2 ** (-(1 + 3) / 10)  # c, then b
    assert of_two(measure, qrels={"a": 0, "b": 1, "c": 2}) == pytest.approx(2 ** (-(5 + 3) / 10) / ideal)
    by_seconds = CWLA(**decay, effort="seconds", costs={"a": 30, "b": 3})  # the ideal order is b, a
    for order, found in (("ab", 1 + 2**-3), ("ba", 1 + 2**-0.3)):
        assert of_two(by_seconds, order, {"a": 1, "b": 1}) == pytest.approx(found / (1 + 2**-0.3))


UNITS = {
    "unit": "documents", "time": "seconds", "grade_time": "seconds", "reading": "words", "ratio(2)": "relevant documents",
    "seconds": "seconds", "cost": "cost", "cost(tokens)": "tokens", "cost(unit='joules')": "joules", "by_rank(2,1)": "effort",
    "by_grade({0: 1, 1: 2})": "effort", "plus(cost(tokens),by_rank(2,1))": "tokens", "plus(cost(tokens),seconds)": "effort",
    "plus(by_rank(2),plus(cost(euro),cost(euro)))": "euro", "plus(by_rank(1),by_rank(2))": "effort", "plus(unit,unit)": "documents",
}  # fmt: skip


@pytest.mark.parametrize("effort", UNITS)
def test_all_results_say_the_unit_of_the_effort(effort):
    known = {"lengths": {"a": 9, "b": 9}, "costs": {"a": 8, "b": 2}}
    measure = CWLA(C="prec(2)", A="avg", gain="raw", effort=effort, end="stop", **known)
    qrels, run, unit = {"q": {"a": 1}}, {"q": {"a": 2.0, "b": 1.0}}, UNITS[effort]
    explained = explain(qrels, run, "q", measure)
    found = {explained.unit, simulate(qrels, run, measure, users=2).unit, progress(qrels, run, measure, times=[1]).unit}
    assert found == {unit}
    spent = f"{explained.expected_effort:,.1f} {unit}"
    assert f"{'sees' if effort == 'unit' else 'spends'} {spent}" in str(explained)
    of = unit if unit != "effort" else f"effort '{measure.metric.effort.name}'"
    assert unit_of_metric(measure.metric) == f"gain 'raw' per {of}"


def test_a_unit_is_a_word_and_errors_name_the_effort():
    word = r"unit must be a word, such as tokens|cannot be read|parameters are numbers"
    for text, says in {
        **dict.fromkeys(("cost(is)", "cost('is')", "cost('two words')", "cost(3)", "cost(None)", "cost('μ'+'J')", "cost(')')"), word),
        "by_rank": "needs the cost of at least one rank",
        "by_rank(1, -2)": r"costs must be a number in \[0, inf\)",
        "plus(given, unit)": "given efforts cannot be a part of a sum",
        "plus(unit)": "needs second",
    }.items():  # fmt: skip
        with pytest.raises(CWLAError, match=says):
            score([1, 0], C="rbp(0.5)", A="etg", effort=text)
    with pytest.raises(NoFiniteValue, match="depends on ranks: use norm='ideal'"):
        score([1, 0], C="rbp(0.5)", A="etg", effort="by_rank(2, 1)", norm="unlimited", max_rel=1)
    assert CWLA(C="prec(2)", A="erg", gain="raw", effort="cost(unit='euro')").params["effort"] == "cost(euro)"


def test_efforts_that_are_given_have_to_be_given():
    one = {"effort": "given", "C": "decay(3)", "A": "etg"}
    refused(lambda: score([1, 0], unseen=5, **one), BadParameter, "effort='given'", "efforts=, a number for each item")
    words = "write a function of documents with @effort"
    refused(lambda: evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, [CWLA(**one, max_rel=2)]), BadParameter, words)
    given = score([1, 1], efforts=[3, 1], **one)
    assert given == score([1, 1], efforts=[3, 1], C="decay(3)", A="etg") == 1.5


COSTLY = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "score": [2.0, 1.0], "doc_cost": [10.0, 20.0]})


def test_the_explanation_shows_the_costs():
    measure = CWLA(C="rbp(0.5)", A="erg", gain="raw", effort="plus(seconds,by_rank(2,1))", end="stop")
    found = explain({"q": {"a": 1}}, COSTLY, "q", measure)
    assert found.score == pytest.approx(1 / (12 + 0.5 * 21))
    assert found.table["effort"].tolist() == pytest.approx([12, 21])


def test_the_measure_s_table_comes_before_the_run_s_column():
    """They have one source: documents that the table lacks do not have the cost of the column."""
    measure = CWLA(C="decay(10)", A="etg", gain="raw", effort="seconds", unseen=1)
    for table, found in ((None, 0.5), ({"a": 20, "b": 1}, 0.25)):
        assert evaluate({"q": {"b": 1}}, COSTLY, [measure(costs=table)]).iloc[0, 0] == pytest.approx(found)


@pytest.mark.parametrize("form", ["seconds", "by_rank(9,2,1)", "plus(seconds,by_rank(9,2,1))"])
@pytest.mark.parametrize(("C", "A"), [("decay(25)", "etg"), ("rbp(0.6)", "erg")])
def test_simulated_users_pay_the_costs(form, C, A):
    """The mean score of users is the score for A=etg; their times are those of the loop."""
    costs = {f"d{i}": 3.0 + 2 * (i % 4) for i in range(12)}
    qrels = {"q": {f"d{i}": 1 for i in (1, 2, 6, 9)}}
    run = {"q": {f"d{i}": -float(i) for i in range(12)}}
    measure = CWLA(C=C, A=A, gain="raw", effort=form, end="stop", costs=costs)
    found = simulate(qrels, run, measure, users=40_000, seed=3)
    if A == "etg":
        assert found.mean["score"].iloc[0] == pytest.approx(evaluate(qrels, run, [measure]).iloc[0, 0], rel=0.03)
    spent = evaluate(qrels, run, [measure(A="effort")]).iloc[0, 0]
    assert found.mean["time"].iloc[0] == pytest.approx(spent, rel=0.03)
