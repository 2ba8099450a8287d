"""Tests of ``better_of``: whether higher or lower scores of a measure are better, or neither."""

import ir_measures
import pytest

from pyterrier_cwla import CWLA, TBG, GeometricMean, IntentAware, Residual, aggregation
from pyterrier_cwla.errors import BadParameter
from pyterrier_cwla.measures.declarations import better_of
from pyterrier_cwla.measures.named import measures_of
from pyterrier_cwla.measures.wrappers import MEASURES

SECONDS = CWLA(C="prec(10)", A="effort", gain="binary", effort="time", end="stop")


@pytest.mark.parametrize(("measure", "better"), [
    (TBG, "higher"),
    ("nDCG@10", "higher"),
    ("QMeasure", "higher"),
    ("ESL", "lower"),
    ("ESL(wanted=2,documents=100)", "lower"),
    (GeometricMean(measure="ESL"), "lower"),
    (SECONDS, "lower"),
    (CWLA(C="rr", A="items", gain="binary"), None),  # 0, the lowest score, is of users who find nothing
    (CWLA(C="rbp(0.8)", A="items", gain="binary"), "lower"),
    (CWLA(C="inst(2)", A="items", gain="binary"), "lower"),
    (CWLA(C="decay(224)", A="effort", gain="binary", effort="time"), "lower"),
    (IntentAware(measure=SECONDS), "lower"),
    (GeometricMean(measure=SECONDS), "lower"),
    (GeometricMean(measure="AP"), "higher"),
    (Residual(measure="RBP(rel=1)"), None),
    ("NumRet", None),
    ("NumRet(rel=1)", "higher"),
    ("NumRel", None),
    ("NumQ", None),
    ("Judged@10", None),
    ("SetF", "higher"),
])  # fmt: skip
def test_the_direction_of(measure, better):
    (measure,) = measures_of([measure])
    assert better_of(measure) == better
    assert better_of(measure.with_label("mine") if hasattr(measure, "with_label") else measure) == better


def test_an_aggregation_of_a_user_may_be_a_cost():
    @aggregation(less_is_better=True)
    def regret(view):
        return view.total - view.G

    @aggregation
    def praise(view):
        return view.G

    assert better_of(CWLA(C="prec(5)", A=regret, gain="binary")) == "lower"
    assert better_of(CWLA(C="prec(5)", A=praise, gain="binary")) == "higher"


def test_every_measure_without_required_parameters_has_a_direction():
    known = {name for name, one in {**MEASURES, **ir_measures.measures.registry}.items() if _complete(one)}
    lower = {name for name in known if better_of({**ir_measures.measures.registry, **MEASURES}[name]) == "lower"}
    assert len(known) > 30
    assert lower == {"ESL"}, "add the measures of which lower scores are better, as better= of their declarations says"


def _complete(measure):
    try:
        measure.validate_params()
    except (AssertionError, BadParameter):
        return False
    return True
