"""Caches of rankings that metrics share, functions that change, costs that are needed, bounds, and limits of floats."""

import pickle

import numpy as np
import pandas as pd
import pytest

from pyterrier_cwla import CWLA, continuation, effort, evaluate, gain, score
from pyterrier_cwla.data.alignment import Judgments
from pyterrier_cwla.data.rankings import Rankings
from pyterrier_cwla.errors import BadParameter, NoFiniteValue
from pyterrier_cwla.evaluation import residual
from pyterrier_cwla.model import residuals, scoring
from pyterrier_cwla.model.view import UnknownEffort
from pyterrier_cwla.model.view_columns import packed
from tests.support.messages import refused

WORDS = {f"d{n}": words for n, words in enumerate([0, 10, 40, 75, 120, 300, 900, 2000])}


def aligned(qrels, run):
    """Return the rankings of lists of documents in rank order."""
    rows = [(q, d, grade) for q, of in qrels.items() for d, grade in of.items()]
    ranked = [(q, d, -float(rank)) for q, documents in run.items() for rank, d in enumerate(documents)]
    judgments = Judgments(pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"]))
    return judgments.align(pd.DataFrame(ranked, columns=["query_id", "doc_id", "score"]), all_judged=True)


QRELS = {"a": {"d1": 1, "d2": 3, "d4": 2}, "b": {"d3": 2, "d6": 1}}
RUN = {"a": ["d2", "d5", "d1"], "b": ["d3"]}


def pair():
    return aligned(QRELS, RUN)


@pytest.mark.parametrize("C", ["rbp(0.5)", "ap1", "ap1(rel=2)", "ap1(rel=3)", "ap2"])
@pytest.mark.parametrize("norm", ["none", "all", "mean", "ideal"])
def test_metrics_that_share_rankings_have_totals_and_ideals_of_their_own(C, norm):
    rankings = pair()
    for kind in ("linear", "linear 6", "exponential", "binary", "binary(2)", "raw"):
        kind, _, max_rel = kind.partition(" ")
        metric = CWLA(C=C, A="erg", gain=kind, max_rel=int(max_rel or 3), norm=norm).metric
        assert scoring.score(metric, rankings).tolist() == scoring.score(metric, pair()).tolist()


def test_metrics_that_share_rankings_have_lengths_of_their_own():
    rankings, twice = pair(), {document: 2 * words for document, words in WORDS.items()}
    for lengths in (WORDS, twice):
        metric = CWLA(C="decay(25)", A="etg", max_rel=3, effort="time", lengths=lengths).metric
        assert scoring.score(metric, rankings).tolist() == scoring.score(metric, pair()).tolist()


def own(what, told):
    """Return a user's function whose values depend on the dict `told`."""

    @continuation
    def goes_on(view):
        return 1 - 0.5 * view.r if told["later"] else 0.5 + 0 * view.i

    @gain
    def powered(grade):
        return (grade / 3) ** (1 + told["later"])

    @effort
    def dearer(documents):
        return 2 + told["later"] + (documents.grade > 0)

    @effort
    def patient(documents):
        return documents.words if told["later"] else 1.0 + 0 * documents.grade

    return {"C": goes_on, "gain": powered, "effort": dearer, "effort by words": patient}[what]


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("what", "C", "A", "norm"),
    [("C", "own", "avg", "none"), ("effort", "ap2", "avg", "none"), ("effort", "decay(9)", "effort", "none"), ("effort by words", "decay(9)", "etg", "none"),
     *(("gain", C, "avg", norm) for C in ("rbp(0.5)", "ap2") for norm in ("none", "all", "mean", "ideal"))],
)  # fmt: skip
def test_what_a_users_function_says_and_reads_may_change(what, C, A, norm):
    """The same measure on the same rankings gives new values when the function changes."""
    told = {"later": False}
    parts = {"C": C, "A": A, "norm": norm, "max_rel": 3, "lengths": WORDS} | {what.split()[0]: own(what, told)}
    parts |= {"unseen": 5} if "words" in what else {}
    rankings, metric = pair(), CWLA(**parts).metric
    for compute in (scoring.score, *([] if "ap2" in C or A == "effort" else [residuals.residual])):
        told["later"] = False
        before = compute(metric, rankings).tolist()
        told["later"] = True
        after = compute(metric, rankings).tolist()
        assert after == compute(CWLA(**parts).metric, pair()).tolist() != before


def test_an_unlimited_supply_is_one_of_the_best_gain():
    """Grades 1 and 2 have the best gain; the supply has the higher one. Grade 3 has less gain."""
    parts = {
        "C": "decay(25)",
        "A": "etg",
        "gain": "table({1:0.8,2:0.8,3:0.2})",
        "effort": "by_grade({0:1,1:2,2:4,3:8})",
    }
    supply = 0.8 / (1 - 2 ** (-4 / 25))
    found = score([3, None, 1], **parts, norm="unlimited", max_rel=3)
    assert found == pytest.approx((0.2 + 0.8 * 2 ** (-9 / 25)) / supply, rel=1e-12)


def test_an_unlimited_supply_is_the_same_for_condensed_lists():
    parts = {"C": "decay(25)", "A": "etg", "effort": "ratio(4)", "max_rel": 2, "norm": "unlimited"}
    of_judged, of_all = CWLA(**parts, judged_only=True), CWLA(**parts)
    run = {"q": {"a": 3.0, "b": 2.0}}
    scores = evaluate({"q": {"a": 1, "b": 2}}, run, [of_judged, of_all]).iloc[0]
    assert scores.iloc[0] == scores.iloc[1] > 0


@pytest.mark.parametrize("gains", [[0, 5, 0], [0, 1.5, 0], [0, 1e20, 1e21, 0]])
def test_users_whom_a_gain_satisfies_have_gains_up_to_1(gains):
    """Also where each value of C is a probability, as 0.16 = (0.1·(1 − 5))²; binary relevance for C leaves gains free."""
    words = f"gains of at most 1, and a gain is {max(gains):g}: use"
    for C in ("inst(2)", "rr", "cascade(0.1)", "product(cascade(0.1),cascade(0.1))", "product(rbp(0.5),inst(2))"):
        refused(lambda C=C: score(gains, C=C, A="erg", gain="raw"), BadParameter, words)
        assert score(np.array(gains) / max(gains), C=C, A="erg", gain="raw") < 1
    assert score(gains, C="rr(rel=1)", A="err", gain="raw") == 0.5
    assert score(gains, C="product(inst(2,rel=1),rbp(0.5))", A="etg", gain="raw") > 0


@pytest.mark.parametrize("bad", [-1.0, np.inf, np.nan])
@pytest.mark.parametrize("reads", ["grade", "words"])
def test_an_effort_that_is_none_is_refused(bad, reads):
    @effort
    def odd(documents):
        return np.where(documents.grade > 2 if reads == "grade" else documents.words > 30, bad, 1.0)

    with pytest.raises(BadParameter, match=r"effort='odd' gives a negative or infinite effort\."):
        scoring.score(CWLA(C="rbp(0.5)", A="erg", max_rel=3, effort="odd", lengths=WORDS, unseen=1).metric, pair())


def test_nothing_follows_a_short_list_that_needs_words():
    @effort
    def shorter(documents):
        with np.errstate(divide="ignore"):
            return 100 / documents.words

    metric = CWLA(C="rbp(0.5)", A="effort", max_rel=3, effort="shorter", lengths=WORDS, end="stop").metric
    rankings = aligned({"a": {"d1": 1}, "b": {"d1": 1}}, {"a": ["d1", "d2", "d4"], "b": ["d4"]})
    assert scoring.score(metric, rankings).tolist() == pytest.approx([10 + 2.5 / 2 + 100 / 120 / 4, 100 / 120])


def test_what_costs_nothing_is_allowed():
    assert score([1, 1], efforts=[0, 1], C="rbp(0.5)", A="effort", end="stop") == 0.5


def test_what_unseen_items_cost_is_asked_where_it_decides():
    def values(C, A, end, **unseen):
        metric = CWLA(C=C, A=A, max_rel=3, effort="time", lengths=WORDS, end=end, **unseen).metric
        return scoring.score(metric, pair())

    for case in (
        ("rbp(0.5)", "effort", 5), ("rbp(0.5)", "erg", 5), ("rbp(0.5)", "avg", 5), ("patience(60)", "items", 5), ("budget(60)", "effort", 5),
        ("decay(25)", "items", 5), ("decay(25)", "items", "open"), ("patience(60)", "items", "open"), ("budget(60,True)", "items", "open"),
        ("rbp(0.5)", "effort", "open"),
    ):  # fmt: skip
        with pytest.raises(UnknownEffort, match="give unseen="):
            values(*case)
        assert (values(*case, unseen=2) != values(*case, unseen=3)).all()
    for case in (
        ("rbp(0.5)", "etg", 5), ("decay(25)", "etg", 5), ("decay(25)", "etg", "open"), ("patience(60)", "items", "stop"),
        ("budget(60,True)", "etg", "open"), ("decay(25)", "items", "stop"), ("rbp(0.5)", "effort", "stop"),
    ):  # fmt: skip
        for unseen in (2, 300):
            assert values(*case, unseen=unseen).tolist() == pytest.approx(values(*case).tolist(), rel=1e-12)


def test_what_no_float_holds_is_an_error():
    large = "too large for a floating-point number"
    for frame, grades, words in (
        ({"gain": "table({1:1e308,2:1e308})"}, [1, 2], large), ({"gain": "table({1:1e308,2:1e308})", "norm": "ideal"}, [1, 2], large),
        ({"gain": "table({1:1e308,2:1e308})", "norm": "all", "A": "erg"}, [1, 2], large), ({"gain": "burges"}, [1023, 1023, 1023], large),
        ({"gain": "table({1:1e-307})", "norm": "all", "A": "items", "C": "prec(9999)", "end": 1000}, [1], large),
        ({"C": "decay(1e17)", "max_rel": 1}, [1], "rounds to 1, so that nobody leaves"),
        ({"C": "decay(25)", "effort": "ratio(4)", "unseen": 5e-324, "max_rel": 1}, [1], "rounds to 1, so that nobody leaves"),
    ):  # fmt: skip
        metric = CWLA(**{"C": "prec(3)", "A": "etg"} | frame).metric
        refused(lambda metric=metric, of=grades: scoring.score(metric, Rankings.of_gains([of])), NoFiniteValue, words)


def test_an_end_that_nobody_can_be_followed_to():
    assert CWLA(C="rr", A="etg", max_rel=1, end=1 << 22).metric.end == 1 << 22
    words = "end must be 'open', 'stop' or a rank from 1 to 4,194,304"
    for end in ((1 << 22) + 1, 10**400, 0, True, 2.5):
        assert len(refused(lambda end=end: CWLA(C="rr", A="etg", max_rel=1, end=end), BadParameter, words)) < 1000


def test_a_gain_without_a_grade_that_there_may_be():
    given = {"C": "rbp(0.5)", "A": "etg", "gain": "table({3:1})", "max_rel": 2}
    refused(lambda: residual([1, None], **given), BadParameter, "gain='table({3:1})' has no grade up to max_rel=2")


def test_the_best_of_several_grades_satisfies_whoever_asks_for_a_grade():
    """rel= may be a parameter of C or of a function within C."""
    for C in ("rr(rel=2)", "product(rr(rel=2),rbp(1e-9))", "product(rbp(0.9),product(rr(rel=2),rbp(0.9)))"):
        same = {"gains": [1, None, 2], "C": C, "A": "etg", "gain": "binary", "end": 3}
        assert residual(**same) == residual(**same, max_rel=2)
    assert residual([1, None], C="rr(2)", A="etg", gain="binary", max_rel=1) == 0


@pytest.mark.parametrize("end", ["open", "stop", 5])
@pytest.mark.parametrize("parts", [("rbp(0.5)", "erg"), ("ap2", "avg"), ("inst(1)", "max"), ("decay(9)", "effort")])
def test_no_rankings_have_no_scores_and_empty_ones_have_some(parts, end):
    C, A = parts
    for efforts in ("unit", "ratio(3)", "grade_time"):
        for norm in ("none", "ideal", "all", "mean"):
            metric = CWLA(C=C, A=A, max_rel=3, end=end, effort=efforts, norm=norm, cutoff=3).metric
            assert scoring.score(metric, Rankings.of_gains([])).tolist() == []
            assert scoring.score(metric, Rankings.of_gains([[], []])).shape == (2,)


def test_rankings_that_hold_something_are_as_among_all():
    qrels = {"unanswered": {"d1": 1}, "a": QRELS["a"], "neither": {"d3": 2}, "b": QRELS["b"], "nor": {"d0": 0}}
    rankings = aligned(qrels, RUN)
    answered = rankings.answered
    assert answered.place.tolist() == [1, 3]
    assert answered.pool.grade[answered.judgment].tolist() == answered.grade.tolist()
    for frame in ({"norm": "ideal"}, {"judged_only": True}, {"cutoff": 2}):
        metric = CWLA(C="rbp(0.7)", A="erg", max_rel=3, effort="time", lengths=WORDS, unseen=5, **frame).metric
        assert scoring.score(metric, answered).tolist() == scoring.score(metric, rankings)[answered.place].tolist()


@pytest.mark.parametrize("norm", ["none", "ideal", "unlimited"])
def test_a_measure_is_pickled_after_its_use(norm):
    measure = CWLA(C="decay(9)", A="etg", max_rel=1, effort="time", lengths=WORDS, unseen=5, norm=norm)
    found = evaluate({"q": {"d2": 1}}, {"q": {"d1": 1.0, "d2": 0.5}}, [measure])
    again = pickle.loads(pickle.dumps(measure))
    assert again.metric == measure.metric
    assert evaluate({"q": {"d2": 1}}, {"q": {"d1": 1.0, "d2": 0.5}}, [again]).equals(found)


@pytest.mark.parametrize("cells", [1, 12, 100, 10**6])
def test_chunks_are_full_and_have_room_for_their_widest(cells):
    widths = np.random.default_rng(0).integers(1, 30, 50)
    order = np.argsort(widths, kind="stable")
    chunks = [(queries.tolist(), width) for queries, width in packed(order, widths, cells)]
    assert [query for queries, _ in chunks for query in queries] == order.tolist()
    for (queries, width), (following, _) in zip(chunks, [*chunks[1:], ([], 0)], strict=True):
        assert width == widths[queries].max()
        assert len(queries) * width <= cells or len(queries) == 1
        assert not following or (len(queries) + 1) * widths[following[0]] > cells
