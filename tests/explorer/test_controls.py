"""Controls of measures: every measure with a user model and every function of the language has them, and they work."""

import pytest
from ir_measures import parse_measure

from pyterrier_cwla.explorer.controls import CHOICES, ROWS, changed, controls_of
from pyterrier_cwla.explorer.states import stories_of
from pyterrier_cwla.measures.named import measures_of
from pyterrier_cwla.model.language import TABLES

START = measures_of(["CWLA(C='rbp(0.8)',A='erg',max_rel=3)"])[0]
FUNCTIONS = [(role, name) for role, (kind, _) in CHOICES.items() for name in TABLES[kind] if name != "given"]


def check(measure):
    """Every slider has its value among its steps, and can be moved to its ends."""
    for control in controls_of(measure, 3):
        if control["kind"] == "number":
            assert control["steps"][control["at"]] == control["value"]
            for step in (control["steps"][0], control["steps"][-1]):
                changed(measure, control["path"], step, 3)
        elif control["kind"] == "choice":
            assert control["value"] in [option["value"] for option in control["options"]]


@pytest.mark.parametrize("name", ROWS)
def test_every_measure_has_controls(name):
    measure = changed(START, "measure", name, 3)
    check(measure)
    assert measures_of([repr(measure)])[0] == measure


@pytest.mark.parametrize(("role", "name"), FUNCTIONS)
def test_every_function_can_be_chosen(role, name):
    measure = changed(START, role, name, 3)
    assert getattr(measure.metric, role).name == name
    check(measure)


def test_choices_and_parameters_make_other_measures():
    same = changed(parse_measure("TBG(half_life=60)"), "norm", "ideal", 2)
    assert repr(same) == "TBG(half_life=60,norm='ideal')"
    other = changed(parse_measure("AP"), "A", "fin", 2)
    assert other.NAME == "CWLA"
    product = changed(START, "C", "product", 3)
    paths = [control["path"] for control in controls_of(product, 3)]
    assert "C.first.phi" in paths
    assert "C='product(rbp(0.5),rr)'" in repr(changed(product, "C.first.phi", "0.5", 3))


def test_sliders_have_meanings_and_few_steps():
    says = {control["path"]: control["says"] for control in controls_of(parse_measure("RBP(p=0.8,rel=1)"), 3)}
    assert says["p"] == "Persistence: the probability of going on to the next item."
    assert says["cutoff"].startswith("Only the first k results")
    controls = {control["path"]: control for control in controls_of(parse_measure("nDCG@1000000000"), 3)}
    assert len(controls["cutoff"]["steps"]) < 250
    assert controls["cutoff"]["steps"][controls["cutoff"]["at"]] == "1000000000"


def test_tables_and_lists_are_changed_as_texts():
    cascade = changed(parse_measure("Cascade(max_rel=3)"), "phi", "table(1, 0.6, 0.4)", 3)
    assert repr(cascade) == "Cascade(phi='table(1,0.6,0.4)',max_rel=3)"
    assert "table(1,0.6,0.4)" in " ".join(stories_of(cascade.metric))
    utility = parse_measure("CWLA(C='rr',A='utility(table(1,0.6))',max_rel=3)")
    assert "A.phi.values" in [control["path"] for control in controls_of(utility, 3)]
    assert "A='utility(table(1,0.5,0.1))'" in repr(changed(utility, "A.phi.values", "1, 0.5, 0.1", 3))
    fixed = changed(START, "C", "fixed", 3)
    assert "C='fixed(0.5,0.2)'" in repr(changed(fixed, "C.values", "0.5, 0.2", 3))
    table = changed(START, "gain", "table", 3)
    assert "{1:0.1,3:1}" in repr(changed(table, "gain.gains", "{1: 0.1, 3: 1}", 3)).replace(" ", "")
