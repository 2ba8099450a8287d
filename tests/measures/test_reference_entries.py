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


def test_a_docstring_is_read_field_by_field():
    @gain
    def halved(grade):
        """Half of the grade.

        r = g/2, as ``grade``. Range [0, ∞). Unit: halves.

        Second paragraph.

        Source: Somebody (2020),
        Eq. 1.

        >>> halved()([2])
        array([1.])

        >>> 1 + 1
        2
        """
        return grade / 2

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


def test_normalisers_have_no_source():
    assert {found.source for found in reference.entries() if found.kind == "norm"} == {""}


def test_a_docstring_is_read_section_by_section():
    @gain
    def doubled(grade):
        """Double the grade.

        r = 2g. Range [0, ∞). Unit: doubles.

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
        >>> doubled()([2])
        array([4.])

        >>> 1 + 1
        2
        """
        return grade * 2

    found = entry("gain", "doubled")
    assert found.says == "Double the grade."
    assert found.formula == "r = 2g.\n\nSecond paragraph."
    assert (found.range, found.units, found.source) == ("[0, ∞)", "doubles", "Somebody (2020), Eq. 1")
    assert found.example == ">>> doubled()([2])\narray([4.])\n\n>>> 1 + 1\n2"


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
        if found.kind in ("measure", "ir_measures"):
            assert found.says.endswith("."), found.name
            assert found.parts or found.kind == "ir_measures" or found.formula, found.name


def test_a_range_may_stand_at_the_end_of_a_line():
    found = entry("ir_measures", "infAP")
    assert found.range == "[0, 1]"
    assert "Range" not in found.formula


@pytest.mark.slow
def test_a_summary_begins_with_the_full_name_once():
    assert entry("measure", "TBG").summary.startswith("Time-biased gain: expected number")
    assert entry("ir_measures", "RR").summary == "Reciprocal rank (MRR)."
    assert entry("ir_measures", "nDCG").summary.startswith("Normalised discounted cumulative gain. Discounted")
    assert entry("continuation", "rbp").summary == entry("continuation", "rbp").says


def test_ranges_of_measures_with_a_choice_of_gains_are_those_of_gains_of_0_or_more():
    assert "Range: [0, 1], with gains of 0 or more." in help_on(declaration_of(measure_of("PrecisionWithin(T=9)")))
    assert "Range: [0, 1]." in help_on(declaration_of(measure_of("RBP(p=0.5)")))
