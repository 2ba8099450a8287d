"""Records of parts and measures for the command line and the documentation, read from docstrings and the catalogue."""

import pytest

from pyterrier_cwla import gain
from pyterrier_cwla.measures import reference
from pyterrier_cwla.measures.declarations import declaration_of
from pyterrier_cwla.measures.entries import help_on
from pyterrier_cwla.measures.named import measure_of
from pyterrier_cwla.model.language import TABLES


def entry(kind, name):
    return next(entry for entry in reference.entries() if (entry.kind, entry.name) == (kind, name))


FIELDS = """Half of the grade.

    r = g/2, as ``grade``. Range [0, ∞). Unit: halves.

    Second paragraph.

    Source: Somebody (2020),
    Eq. 1.

    >>> halved()([2])
    array([1.])

    >>> 1 + 1
    2
    """
SECTIONS = """Half of the grade.

    r = g/2, as ``grade``. Range [0, ∞). Unit: halves.

    Parameters
    ----------
    grade : float
        The grade.

    Notes
    -----
    Second paragraph.

    References
    ----------
    Somebody (2020),
    Eq. 1.

    Examples
    --------
    >>> halved()([2])
    array([1.])

    >>> 1 + 1
    2
    """


@pytest.mark.parametrize("text", [FIELDS, SECTIONS], ids=["fields", "sections"])
def test_a_docstring_is_read(text):
    def halved(grade):
        return grade / 2

    halved.__doc__ = text
    gain(halved)
    found = entry("gain", "halved")
    assert found.says == "Half of the grade."
    assert found.formula == "r = g/2, as ``grade``.\n\nSecond paragraph."
    assert (found.range, found.units, found.source) == ("[0, ∞)", "halves", "Somebody (2020), Eq. 1")
    assert found.example == ">>> halved()([2])\narray([1.])\n\n>>> 1 + 1\n2"


def test_every_parameter_has_a_meaning():
    """The meaning stands in the docstring of a function, or in the table of meanings that many measures share."""
    for entry in reference.entries():
        part = TABLES.get(entry.kind, {}).get(entry.name)
        if part is None or part.built_in:  # other tests add functions of their own
            assert [parameter.name for parameter in entry.parameters if not parameter.means] == [], entry.name


def test_a_docstring_of_one_line_and_none_at_all():
    @gain
    def terse(grade):
        """What it is."""
        return grade

    @gain
    def silent(grade):
        return grade

    assert entry("gain", "terse").record() == {
        "kind": "gain", "name": "terse", "signature": "terse", "says": "What it is.", "parameters": ()}  # fmt: skip
    assert entry("gain", "silent").says == ""


@pytest.mark.parametrize(("role", "text", "found"), [
    ("C", "rbp(phi=p)", ["rbp"]),
    ("C", "product(ift_goal(T, b1, R1), rr)", ["product", "ift_goal", "rr"]),
    ("A", "utility(reciprocal)", ["utility", "reciprocal"]),
    ("gain", "threshold(0.4, 0.6)", ["threshold"]),
    ("norm", "ideal", ["ideal"]),
    ("C", "as given", []),
])  # fmt: skip
def test_what_a_part_is_made_of(role, text, found):
    assert [part.name for part in reference.made_of(role, text)] == found


def test_where_a_list_ends_is_said_in_words():
    (thousand,) = reference.made_of("end", "1000")
    assert thousand.says == "All users leave at rank 1000, retrieved or not."


@pytest.mark.parametrize(("name", "role", "text"), [
    ("AdaptiveRBP", "C", "rbp(phi=p)"),
    ("TBG", "C", "decay(half_life)"),
    ("TBG", "gain", "clicksave(p_click=p_click_relevant, p_save=p_save, rel=rel)"),
    ("Cascade", "A", "utility(reciprocal)"),
    ("CWLA", "C", "as given"),
    ("CWLA", "gain", "linear"),
])  # fmt: skip
def test_parts_say_which_parameter_is_which(name, role, text):
    assert entry("measure", name).parts[role] == text


def test_every_measure_says_what_it_is():
    for found in reference.entries():
        assert not (found.kind == "norm" and found.source)
        if found.kind in ("measure", "ir_measures"):
            assert found.says.endswith("."), found.name
            assert found.parts or found.kind == "ir_measures" or found.formula, found.name


@pytest.mark.parametrize(("name", "range_", "units", "source", "parameters"), [
    ("QMeasure", "[0, 1]", "", "Sakai (2004); with a cutoff, as NTCIREVAL computes it", "beta=1 gain='raw' rel=1 normalise='min(k,R)' judged_only=False cutoff=None label=None"),
    ("ESL", "[0, ∞)", "documents", "Cooper (1968)", "wanted=1 rel=1 failed=1000 documents=None judged_only=False label=None"),
])  # fmt: skip
def test_measures_without_user_model_are_known(name, range_, units, source, parameters):
    found = entry("measure", name)
    assert (found.range, found.units, found.source) == (range_, units, source)
    assert [p.written for p in found.parameters] == parameters.split()


@pytest.mark.slow
def test_a_summary_begins_with_the_full_name_once():
    for kind, name, start in (
        ("measure", "TBG", "Time-biased gain: expected number"),
        ("ir_measures", "RR", "Reciprocal rank (MRR)."),
        ("ir_measures", "nDCG", "Normalised discounted cumulative gain. Discounted"),
        ("continuation", "rbp", entry("continuation", "rbp").says),
    ):
        assert entry(kind, name).summary.startswith(start)


def test_ranges_of_measures_with_any_gain_are_those_without_negative_gains():
    assert "Range: [0, 1], with gains of 0 or more." in help_on(declaration_of(measure_of("PrecisionWithin(T=9)")))
    infAP = entry("ir_measures", "infAP")
    assert (infAP.range, "Range" in infAP.formula) == ("[0, 1]", False)
    assert "Range: [0, 1]." in help_on(declaration_of(measure_of("RBP(p=0.5)")))
