"""Tests of the conversion of docstring formulas to LaTeX."""

import sys
from pathlib import Path

import pytest

from pyterrier_cwla.measures import reference
from pyterrier_cwla.model.language import TABLES

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))

from formulas import first_formula, latex

PARTS = [
    entry for entry in reference.entries()
    if first_formula(entry.formula) and entry.kind in TABLES and TABLES[entry.kind][entry.name].built_in
]  # fmt: skip


@pytest.mark.parametrize(("text", "formula"), [
    ("C(i) = φ. Static. V⁺ = 1/(1−φ).", "C(i) = φ"), ("φ(i) = 1/i.", "φ(i) = 1/i"),
    ("r = (g − 0.5)\n/ 2, and more. Then.", "r = (g − 0.5) / 2, and more"), ("The k of @k.", ""), ("", ""),
])  # fmt: skip
def test_the_first_sentence_is_a_formula_or_none(text, formula):
    assert first_formula(text) == formula


@pytest.mark.parametrize(("text", "written"), [
    ("r_i", "r_{i}"), ("T_S + h_b·x", r"T_{S} + h_{b}\cdot x"), ("2^(−e_i/h)", "2^{-e_{i}/h}"),
    ("2^max_rel", r"2^{\text{max_rel}}"), ("2^10 + 2^g", "2^{10} + 2^{g}"), ("Σ_{j≤i} r_j", r"\sum _{j\le i} r_{j}"),
    ("max_{j≤i} r_j", r"\max _{j\le i} r_{j}"), ("log2(i+1)", r"\log_2 (i+1)"), ("a / b", r"\frac{a}{b}"),
    ("(g − 1) / (max_rel − min_rel)", r"\frac{g - 1}{\text{max_rel} - \text{min_rel}}"),
    ("((i − 1) / (i + 1))²", r"\left(\frac{i - 1}{i + 1}\right)^2"), ("x = (a) + (b) / 2", r"x = \frac{(a) + (b)}{2}"),
    ("1 for i < k, else 0", r"1 \text{ for } i < k, \text{ else } 0"), ("g ≥ rel", r"g \ge  \text{rel}"),
    ("P(C=1|g)·seconds[g]", r"P(C=1|g)\cdot \text{seconds}[g]"), ("max(0, 1 − E(i)/T)", r"\max (0, 1 - E(i)/T)"),
])  # fmt: skip
def test_formulas_are_written_as_latex(text, written):
    assert latex(text) == written


def test_an_open_bracket_is_an_error():
    with pytest.raises(ValueError, match="not closed"):
        latex("C(i")


def test_nearly_all_functions_have_a_formula():
    parts = [e for e in reference.entries() if e.kind in TABLES and TABLES[e.kind][e.name].built_in]
    assert {entry.name for entry in parts} - {entry.name for entry in PARTS} == {"given"}


def test_the_formulas_of_functions_are_valid():
    converter = pytest.importorskip("docutils.utils.math.latex2mathml", reason="docutils is in the extra [docs]")
    for entry in PARTS:
        for line in first_formula(entry.formula).split("; "):
            assert converter.tex2mathml(latex(line), as_block=True).startswith("<math"), entry.name
            assert not set(latex(line)) & set("φΣ−·≤≥²₁₂⁺γθδβ"), entry.name
