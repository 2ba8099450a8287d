"""Residuals over the ideal: the best score that further judgments can give, compared with all judgments."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pyterrier_cwla import CWLA, TBG, Residual, aggregation, continuation, effort, evaluate, score
from pyterrier_cwla.errors import BadParameter
from pyterrier_cwla.evaluation import residual
from pyterrier_cwla.measures.named import RowMeasure, measures_of
from tests.doors.measures import of_rows
from tests.doors.rows import write_tables
from tests.support.messages import refused

CELLS = [  # C, A, and the last rank that counts
    ("dcg(2)", "etg", 2), ("dcg(3)", "etg", 3), ("dcg", "etg", None), ("dcg(3)", "erg", 3), ("dcg(4)", "utility(reciprocal)", 4),
    ("dcg(4)", "utility(table(1,0.5,0.5))", 3),
    ("prec(3)", "erg", 3), ("rbp(0.5)", "etg", None), ("rbp(0.8)", "erg", None), ("rbp(0.6)", "avg", None),
    ("insq(1)", "erg", None), ("decay(2)", "etg", None), ("fixed(0.5,1,0.2)", "etg", 4), ("patience(2.5)", "etg", 3),
    ("budget(2)", "etg", 2), ("budget(2.5,partial=True)", "etg", 3), ("budget(3)", "per_item", 3),
]  # fmt: skip
GAINS = ["binary", "linear", "exponential", "burges", "table({1:2,2:1,3:2})", "table({1:2,2:1,3:2},interpolate)"]


def every_judgment(grades, highest, unseen, not_retrieved):
    """Yield all possible rankings and judgments, with a grade or none for unjudged ranks and ranks after the list.

    A rank after the list may also contain a document that is already judged.
    """
    unjudged = [rank for rank, grade in enumerate(grades) if grade is None]
    new = [None, *range(highest + 1)]
    for grades_of_unjudged in itertools.product(new, repeat=len(unjudged)):
        ranking = list(grades)
        for rank, grade in zip(unjudged, grades_of_unjudged, strict=True):
            ranking[rank] = grade
        for after in itertools.product(
            [*((grade, True) for grade in new), *((g, False) for g in not_retrieved)], repeat=unseen
        ):
            known = [grade for grade, is_new in after if not is_new]
            if any(known.count(grade) > not_retrieved.count(grade) for grade in known):
                continue
            judged = [grade for grade in (*ranking, *(g for g, is_new in after if is_new)) if grade is not None]
            yield ranking + [grade for grade, _ in after], judged + not_retrieved


@pytest.mark.slow
@given(
    st.sampled_from(CELLS), st.sampled_from(GAINS), st.sampled_from(["open", "stop", 3]), st.integers(1, 3), st.data()
)
def test_no_judgments_lead_to_more_and_some_lead_to_as_much(cell, gain, end, highest, data):
    C, A, last = cell
    assume(end != "stop" or A not in ("erg", "avg", "per_item"))
    grade = st.integers(0, highest)
    grades = data.draw(st.lists(st.none() | grade, min_size=1, max_size=5))
    not_retrieved = data.draw(st.lists(grade, max_size=2))
    unseen = 0 if end == "stop" else data.draw(st.integers(0, 2))
    cases = list(itertools.islice(every_judgment(grades, highest, unseen, not_retrieved), 1501))
    assume(len(cases) <= 1500)
    same = {"C": C, "A": A, "gain": gain, "max_rel": highest, "end": end, "norm": "ideal"}
    cases = [(ranking, judged) for ranking, judged in cases if judged]
    assume(cases)
    judged = [g for g in grades if g is not None] + not_retrieved
    now = score(grades, judged=judged, **same)
    most = now + residual(grades, judged=judged, **same)
    highest_score = score([r for r, _ in cases], judged=[j for _, j in cases], **same).max()
    assert now <= highest_score <= most + 1e-12
    assert most <= 1
    ends = [rank for rank in (last, end) if isinstance(rank, int)]
    if end == "stop" or (ends and min(ends) <= len(grades)):
        assert highest_score == pytest.approx(most, abs=1e-12)


def test_the_best_gain_everywhere_is_not_the_best_case():
    """Grade 1 for the unjudged document gives .69 and grade 3 gives .66, because the ideal increases as well."""
    same = {"C": "dcg(3)", "A": "etg", "gain": "linear", "max_rel": 3, "norm": "ideal"}
    grades = [0, None, 1]
    assert score(grades, **same) + residual(grades, **same) == pytest.approx(score([0, 1, 1], **same))
    assert score([0, 3, 1], **same) < score([0, 1, 1], **same) - 0.02


def test_a_query_without_relevant_documents_may_turn_out_perfect():
    same = {"C": "dcg(10)", "A": "etg", "gain": "binary", "norm": "ideal"}
    assert residual([None, 0], **same) == 1
    assert residual([0, 0], **same, end="stop") == 0
    assert residual([0, None], **same) == pytest.approx(score([0, *[1] * 9], **same))


def test_endless_lists_come_near_the_ideal_as_weights_allow():
    """Without k, DCG's weights have an infinite sum. Those of RBP lose a factor φ for each rank without gain."""
    same = {"C": "dcg", "A": "etg", "norm": "ideal"}
    assert score([0, 1, None], **same) + residual([0, 1, None], **same) == 1
    for phi in (0.3, 0.5, 0.9):
        same = {"C": f"rbp({phi})", "A": "erg", "norm": "ideal"}
        assert residual([0], **same) == pytest.approx(phi, abs=1e-8)
        assert residual([0, 0, 0], **same) == pytest.approx(phi**3, abs=1e-8)


@pytest.mark.slow
def test_long_lists_have_a_bound_too():
    """Ranks after the 4096th count as if they had the best gain."""
    grades = [0.0, *[None] * 5000]
    for C in ("rbp(0.999)", "dcg(4500)", "insq(2)"):
        same = {"C": C, "A": "etg", "norm": "ideal"}
        most = residual(grades, **same)
        assert score([0.0, *[1.0] * 5000], **same) <= most <= 1


@pytest.mark.slow
def test_gains_need_not_be_grades():
    """Each value of an array of gains is a level."""
    rng, same = np.random.default_rng(5), {"C": "dcg(20)", "A": "etg", "norm": "ideal"}
    lists = [np.where(rng.random(25) < 0.4, np.nan, rng.random(25)).round(3) for _ in range(30)]
    judged = [[*gains[~np.isnan(gains)], *rng.random(9)] for gains in lists]
    most = score(lists, judged=judged, **same) + residual(lists, judged=judged, **same)
    for gains, known, bound in zip(lists, judged, most.tolist(), strict=True):
        alone = score(gains, judged=known, **same) + residual(gains, judged=known, **same)
        assert alone == pytest.approx(bound, rel=1e-14)
        for _ in range(40):
            revealed = np.where(np.isnan(gains), rng.choice([0.0, 1.0, *known, rng.random()], size=25), gains)
            assert score(revealed, judged=[*revealed, *known[-9:]], **same) <= bound <= 1


@pytest.mark.slow
def test_results_do_not_depend_on_what_is_scored_together():
    rng = np.random.default_rng(2)
    lists = [np.where(rng.random(n) < 0.5, np.nan, rng.integers(0, 4, n)) for n in rng.integers(0, 40, 60)]
    for C in ("dcg(10)", "rbp(0.9)"):
        same = {"C": C, "A": "etg", "gain": "linear", "max_rel": 3, "norm": "ideal"}
        assert residual(lists, **same).tolist() == [residual(one, **same) for one in lists]


@aggregation
def last_gain(view):
    return view.r


@continuation
def tired(view, after: float):
    return after / (after + view.i)


@effort
def by_words(documents):
    return documents.words / 4


def test_where_a_residual_is_a_bound():
    """That they are bounds is in test_signed_gains, and where gain lowers scores in test_identities."""
    ideal, time = {"C": "dcg(10)", "norm": "ideal"}, {"effort": "time"}
    bounds = [
        {}, {"norm": "ideal"}, {"norm": "unlimited"}, ideal, ideal | {"C": "dcg"}, ideal | {"C": "decay"}, ideal | time,
        ideal | {"end": "stop"}, ideal | {"C": "rbp(0.5)", "A": "erg"}, ideal | {"C": "insq(2)", "A": "avg"},
        *({"gain": "table({0: -0.5, 1: 1})", "A": A} for A in ("etg", "erg", "avg", "max", "fin", "pe(0.5)")),
        *({"A": A} for A in ("erg", "err", "avg", "max", "fin", "items", "effort", "fgt(0.5)", "pe(0.5)", "smeared(60)")),
        *({"C": "rr", "A": A} for A in ("etg", "err", "utility(reciprocal)", "utility(table(1,0.5,0.5))")), {"A": "utility(table(0.5,1))"},
        *({"C": "cascade(0.5)", "A": A} for A in ("erg", "smeared", "utility(log2)")),
        {"C": "weibull(0.7,40)"}, {"effort": "by_words"}, ideal | {"C": "tired(3)"}, ideal | {"A": "utility(log2)"}, ideal | {"A": "utility(table(1,0.5,0.5))"},
    ]  # fmt: skip
    none = [
        {"gain": "table({0: -0.5, 1: 1})", "C": "inst(1)"}, {"norm": "all"}, {"norm": "mean"}, {"judged_only": True}, {"effort": "ratio(3)"}, time,
        *({"C": C} for C in ("inst(1)", "rr(2)", "carterette2(3)", "carterette3(0.5)", "bpm(1,9)", "ift_rate(0.2)")),
        *({"C": "rr", "A": A} for A in ("max", "avg", "utility(table(0.5,1))")), {"C": "cascade(0.5)", "A": "err"},
        {"C": "rr", "norm": "unlimited"}, {"C": "rr", "effort": "ratio(3)"}, ideal | {"C": "rr"}, ideal | {"C": "inst(1)"},
        *(ideal | {"A": A} for A in ("max", "fin", "fgt(0.5)", "last_gain", "utility(table(0.5,1))")),
        *(ideal | {"A": A, "end": "stop"} for A in ("erg", "avg", "per_item")), ideal | {"judged_only": True}, ideal | time | {"A": "erg"}, ideal | time | {"C": "decay"},
    ]  # fmt: skip
    for is_bound, cells in ((True, bounds), (False, none)):
        for cell in cells:
            measure = CWLA(**{"C": "rbp(0.5)", "A": "etg", "max_rel": 3} | cell)
            assert Residual(measure=measure).is_a_bound == is_bound, cell


TOTAL = ("no residual of ", "the total gain of the query", "'RBP(rel=1)' or \"CWLA(")
FOLLOWS = "takes a measure that follows a user model, such as 'RBP(rel=1)' or \"CWLA("


@pytest.mark.parametrize(
    ("words", "names"),
    [(TOTAL, ["AP", "AP(rel=2)@10", "AdaptiveAP", "CWLA(C='ap1',A='erg',max_rel=1)"]),
     ((FOLLOWS,), ["Bpref", "NumRel", "Judged@10", "infAP", "Rprec", "SetP", "GeometricMean(measure='RR')"])],
)  # fmt: skip
def test_measures_without_a_residual(words, names):
    for name in names:
        refused(lambda name=name: Residual(measure=name), BadParameter, *words)


def test_all_our_other_measures_have_one(tmp_path, monkeypatch):
    without = {"AdaptiveAP": TOTAL[1], "AdaptiveGAP": TOTAL[1], "TrAP": TOTAL[1], "AdaptiveDCG": "no highest grade",
               "AdaptivenDCG": "no highest grade"}  # fmt: skip
    write_tables(tmp_path)
    monkeypatch.chdir(tmp_path)
    of_users = [m for m in measures_of(of_rows()) if isinstance(m, RowMeasure) and m.NAME != "CWLA"]
    assert {measure.NAME for measure in of_users} > without.keys()
    for measure in of_users:
        if measure.NAME in without:
            refused(lambda measure=measure: Residual(measure=measure), BadParameter, without[measure.NAME])
        else:
            assert isinstance(Residual(measure=measure).is_a_bound, bool)
    assert not Residual(measure=TBG).is_a_bound


@pytest.mark.parametrize(
    ("name", "cell"),
    [("nDCG@10", "CWLA(C='dcg(10)',A='etg',gain='raw',norm='ideal',max_rel=3)"),
     ("nDCG(dcg='exp-log2')", "CWLA(C='dcg',A='etg',gain='burges',norm='ideal',max_rel=3)"),
     ("nDCG(gains={1:5,2:9,3:9},judged_only=True)@5",
      "CWLA(C='dcg(5)',A='etg',gain='table({1:5,2:9,3:9},grade)',norm='ideal',max_rel=3,judged_only=True)"),
     ("AdaptivenDCG(effort='ratio(3)')@5",
      "CWLA(C='dcg(5)',A='erg',gain='burges',effort='ratio(3)',norm='ideal',end='stop',max_rel=3)")],
)  # fmt: skip
def test_measures_without_a_highest_grade_name_the_cell(name, cell):
    """The error of a measure without a highest grade names a CWLA measure with the same score and a residual."""
    words = f"no residual of {name}: it has no highest grade. Use the residual of {cell}, with"
    refused(lambda: Residual(measure=name), BadParameter, words)
    qrels, run = {"q": {"a": 1, "b": 3, "c": 0, "d": 2}}, {"q": {"x": 6.0, "c": 5.0, "b": 4.0, "a": 3.0}}
    row = evaluate(qrels, run, [name, cell, Residual(measure=cell)]).iloc[0]
    assert row[name] == pytest.approx(row[cell], abs=1e-12)
    assert row.iloc[2] > 0
