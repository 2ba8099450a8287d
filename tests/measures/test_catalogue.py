"""Named metrics beside their formulas: best orders, duplicates, gains between the grades of a table, and errors."""

from itertools import permutations

import numpy as np
import pytest

from pyterrier_cwla import CWLA, TBG, evaluate, gain, score
from pyterrier_cwla.errors import BadParameter
from pyterrier_cwla.evaluation import residual
from pyterrier_cwla.measures import MEASURES
from tests.measures.test_equations import SECONDS, discounted_by_time, on_arrival, reading_time, smeared
from tests.support.generated import collection
from tests.support.messages import refused


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


@pytest.mark.parametrize("judged_only", [False, True])
def test_duplicates_cost_no_reading_and_may_gain_nothing(judged_only):
    """Smucker and Clarke (2012), section 4: a duplicate of an earlier document of the ranking has length 0."""
    frames = collection(9, lengths=True)
    clusters = {f"d{i}": f"d{i % 7}" for i in range(60)}
    tbg = TBG(judged_only=judged_only)
    kept, none = (tbg(duplicates=clusters, duplicate_gain=gain) for gain in ("keep", "none"))
    by_column = frames.run.assign(duplicate_of=frames.run.doc_id.map(clusters))
    found = evaluate(frames.qrels, by_column, [kept, none, tbg(duplicates="run")], by_query=True).loc["run"]
    rows = frames.run.assign(score=frames.run.score.astype(np.float32)).merge(frames.qrels, how="left")
    rows = rows.sort_values(["score", "doc_id"], ascending=False)
    for query, values in found.iterrows():
        seen, seconds, gains, once = set(), [], [], []
        for row in rows[rows.query_id == query].itertuples():
            if not judged_only or row.relevance >= 0:
                relevant, again = row.relevance >= 1, clusters[row.doc_id] in seen
                seen.add(clusters[row.doc_id])
                seconds.append(reading_time(relevant, 0 if again else row.doc_length))
                gains.append(0.64 * 0.77 * relevant)
                once.append(0.64 * 0.77 * (relevant and not again))
        every = discounted_by_time(gains, seconds)
        assert values.tolist() == pytest.approx([every, discounted_by_time(once, seconds), every], abs=1e-10)
    assert (found.iloc[:, 1] < found.iloc[:, 0]).sum() > 3


def test_gains_alone_may_forget_duplicates():
    same = CWLA(C="prec(3)", A="erg", gain="binary", duplicates={"b": "a"}, duplicate_gain="none")
    found = evaluate({"q": {"a": 1, "b": 1, "c": 1}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, [same])
    assert found.iloc[0, 0] == pytest.approx(2 / 3)


@pytest.mark.every_case
@pytest.mark.parametrize(("text", "grade", "words"), [
    ("AdaptiveERR", 1, "AdaptiveERR needs max_rel="),
    ("AdaptiveP", 1, "AdaptiveP needs cutoff="),
    ("Cascade(gamma=0.5)", 1, "needs max_rel="),
    ("Cascade(gamma=2,max_rel=2)", 1, "gamma must be a number in"),
    ("AdaptiveGP(gain='threshold(0.8,0.6)')@9", 1, "sum to 1.4"),
    ("GradedTBG(p_save={1:2})", 1, "p_save must be a map from grades to probabilities"),
    ("IFTGoal(T=0,max_rel=2)", 1, "T must be a number in"),
    ("CWLA(C='rr',A='etg',gain='clicksave_by_grade({1:0.5},{1:1})')", 2, ": p_click={1:0.5} has no value for grade 2; add it, as in "
     "p_click={1:0.5,2:…}."),
    ("AdaptiveGP(gain='threshold(0.4,0.6)')@9", 3, "gain='threshold(0.4,0.6)' has no value for grade 3; add it, one weight "
     "for each grade from 1, as in gain='threshold(0.4,0.6,…)'; the sum is at most 1."),
    ("AdaptiveGP(gain='table({1:0.2,2:1})')@9", 3,
     "gain='table({1:0.2,2:1})' has no value for grade 3; add it, as in gain='table({1:0.2,2:1,3:…})'."),
    ("AdaptiveGRBP(gain='binary',effort='by_grade({0:1})')", 3,
     "effort='by_grade({0:1})' has no value for grade 3; add it, as in effort='by_grade({0:1,3:…})'."),
    ("AdaptiveGP(gain='threshold(0.4,0.6)')@9", 1.5,
     "has no value for grade 1.5; it accepts integer grades only; for other grades, use gain='table"),
    ("CWLA(C='rr',A='etg',gain='table({1:0.2,2:1})')", 1.5, "add it, as in gain='table({1:0.2,2:1,1.5:…})', or interpolate, "
     "as in gain='table({1:0.2,2:1},interpolate)'."),
    ("CWLA(C='rr',A='etg',gain='table({1:0.2})')", 1.5, "has no value for grade 1.5; add it, as in "
     "gain='table({1:0.2,1.5:…})', or round the grades of the judgments."),
    ("CWLA(C='rr',A='etg',gain='table({1:0.2},interpolate)')", 1.5, "has no value for grade 1.5, above its highest grade 1; "
     "add the gain of a grade of at least 1.5."),
])  # fmt: skip
def test_errors(text, grade, words):
    message = refused(lambda: evaluate({"q": {"a": grade}}, {"q": {"a": 1.0}}, [text]), words)
    assert message.startswith((text.split("(")[0], "gain threshold(0.8, 0.6): "))


def test_the_best_gain_of_a_table_between_its_grades():
    """The residual of an unjudged item is the best gain, here that of grade 1.5."""
    same = {"C": "prec(1)", "A": "etg", "gain": "table({1: 0.2, 2: 1}, interpolate)"}
    assert residual([None], **same) == pytest.approx(1)
    assert residual([None], **same, max_rel=1.5) == pytest.approx(0.6)
    assert residual([None], **same, max_rel=0.5) == pytest.approx(0.1)
    falling = {**same, "gain": "table({0: 2, 1: 0.2}, interpolate)"}
    assert residual([None], **falling) == pytest.approx(2)  # of grades just above 0


def test_what_is_no_factor_of_a_product():
    for C in ("product(rr, ap1)", "product(ap1, rr)", "product(rbp(0.5), patience(4))"):
        refused(lambda C=C: score([1, 0, 1], C=C, A="etg"), BadParameter, "cannot be a factor")


@pytest.mark.parametrize("credit", ["arrival", "smeared"])
def test_an_unlimited_supply_of_the_best_grade(credit):
    """Smucker and Clarke (2012), section 4: N = g/(1 − 2^(−T_x/h)), with T_x the seconds of a document of grade 2."""
    h, qrels, run = 31, {"q": {"a": 1, "b": 2}}, {"q": {"x": 3.0, "a": 2.0, "b": 1.0}}
    g = {"arrival": on_arrival, "smeared": smeared}[credit](0.44, SECONDS[2], 0, h)
    plain, over_N = (MEASURES["GradedTBG"](credit=credit, norm=norm) for norm in ("none", "unlimited"))
    found = evaluate(qrels, run, [plain, over_N]).iloc[0]
    assert found.iloc[1] == pytest.approx(found.iloc[0] * (1 - 2 ** (-SECONDS[2] / h)) / g, abs=1e-10)


def test_a_player_who_has_left_sees_no_more():
    """The remaining effort ends with the first item, or the desired gain is reached there."""
    for C in ("bpm(10, 1)", "bpm(1, 10)", "product(bpm(10, 100), rr)", "product(rr, bpm(10, 100))"):
        for A, expected in {"items": 1, "effort": 1, "etg": 1, "erg": 1, "avg": 1, "err": 1}.items():
            assert score([1, 0], C=C, A=A, effort="by_grade({0: 0, 1: 1})") == pytest.approx(expected), (C, A)


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
