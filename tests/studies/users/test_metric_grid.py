"""Tests of the C × A grid of Moffat et al. (2022), and of cells that cannot distinguish rankings."""

import numpy as np
import pytest

from pyterrier_cwla import aggregation, continuation, score
from pyterrier_cwla.errors import BadParameter, UnknownSpec
from pyterrier_cwla.studies.users.published_studies import AGGREGATIONS, continuations, grid
from tests.support.messages import refused


def of_kind(metrics, kind):
    return {(c.partition("(")[0], a.partition("(")[0]) for (c, a), found in metrics.kinds.items() if found == kind}


TABLE_3_X = {(c, "err") for c in ("prec", "rbp", "dcg")}
TABLE_3_XX = {("ap2", "etg"), ("ap2", "fin")}


@pytest.mark.slow
@pytest.mark.parametrize("parameters", [{}, {"k": 3, "phi": 0.5, "T": 1}], ids=["Table 4", "Table 5"])
def test_exactly_the_cells_of_the_papers_table_3_are_found(parameters):
    """Satisfaction is binary, as in the paper's tables."""
    metrics = grid(continuations(**parameters, rel=1), max_rel=4)
    assert (of_kind(metrics, "X"), of_kind(metrics, "XX")) == (TABLE_3_X, TABLE_3_XX)


def test_total_gain_of_the_satisfied_ignores_the_order():
    """By Eq. 12, rr + etg is 1 − V(∞)·(1 + Σ r_i), V(∞) = Π(1 − r_i): one cell more than in the paper's Table 3."""
    metrics = grid(["rr"], max_rel=4)
    assert (of_kind(metrics, "X"), of_kind(metrics, "XX")) == (set(), {("rr", "etg")})
    gains = [0.25, 0, 0.5, 0.75]
    assert score(gains, C="rr", A="etg") == pytest.approx(1 - 0.75 * 0.5 * 0.25 * (1 + 1.5), abs=1e-12)


@pytest.mark.parametrize(("C", "A", "more", "cells"), [
    # users who stop at a gain of 1 leave with the same gain at any rank
    (["ap1('ranking')", "rr"], ["max", "fin", "pe(0.5)"], {"max_rel": 1}, set()),
    (["prec(60)"], ["etg"], {"max_rel": 2}, {("prec", "etg")}),  # probed beyond the last rank
    # 1/E(i) depends on the documents seen
    (["rbp(0.5)"], ["err"], {"max_rel": 1, "effort": "time", "unseen": 10}, {("rbp", "err")}),
])  # fmt: skip
def test_cells_that_distinguish_rankings(C, A, more, cells):
    assert of_kind(grid(C, A, **more), "") == cells


def test_the_grid_of_tables_4_and_5():
    metrics = grid(max_rel=3)
    assert len(metrics) == len(metrics.C) * len(metrics.A) == 56
    assert list(metrics) == [(c, a) for c in metrics.C for a in AGGREGATIONS]
    assert [metrics.canonical[c] for c in metrics.C] == ["erg", "erg", "erg", "erg", "err", "erg", "avg"]
    assert str(metrics["rbp(0.8)", "max"]) == "CWLA(C='rbp(0.8)',A='max',max_rel=3)"
    assert metrics.named["rbp(0.8) + max"] is metrics["rbp(0.8)", "max"]


def test_options_are_those_of_every_measure():
    metrics = grid(["rbp(0.8)"], ["erg"], gain="exponential", max_rel=2, end="stop", cutoff=9)
    assert str(*metrics.values()) == "CWLA(C='rbp(0.8)',A='erg',gain='exponential',end='stop',max_rel=2)@9"


def test_users_own_functions_are_probed_like_the_others():
    @continuation
    def probed_far(view, k: float = 60):
        return (view.i < k).astype(float)

    @aggregation
    def probed_constant(view):
        return np.ones_like(view.i)

    metrics = grid([probed_far, "rbp(0.5)"], ["etg", probed_constant], max_rel=2)
    kinds = {cell: kind for cell, kind in metrics.kinds.items() if kind}
    constant = dict.fromkeys([("probed_far", "probed_constant"), ("rbp(0.5)", "probed_constant")], "X")
    assert kinds == {("probed_far", "etg"): "XX", **constant}, "k = 60: all 24 probed documents are seen"


def test_another_canonical_metric_or_one_for_ones_own():
    given = {"rbp": "max", "insq(2)": "erg"}
    metrics = grid(["rbp(0.8)", "rbp(0.5)", "insq(2.0)", "insq(3)"], ["erg", "max"], canonical=given, max_rel=1)
    assert metrics.canonical == {"rbp(0.8)": "max", "rbp(0.5)": "max", "insq(2)": "erg"}
    assert grid(["rbp(0.8)"], ["max"], max_rel=1).canonical == {}


@pytest.mark.parametrize("arguments, options, error, message", [
    (["rbp(0.8)"], {}, BadParameter, "C of a grid must be a list: write C=['rbp(0.8)', …]."),
    ([["rbp(.8)", "rbp(0.8)"]], {}, BadParameter, "C has 'rbp(0.8)' twice."),
    ([["rbp(0.8)"], []], {}, BadParameter, "the grid has no A."),
    ([["rpb(0.8)"]], {}, UnknownSpec, "Near: 'rbp'"),
    ([["rbp(0.8)"]], {"canonical": {"rr": "err"}}, BadParameter, "the grid has no C='rr'"),
    ([["rbp(0.8)"], ["erg"]], {"canonical": {"rbp": "max"}}, BadParameter, "the grid has no A='max'; there is 'erg'."),
    ([["rbp(0.8)"]], {"max_rel": None}, BadParameter, "needs max_rel="),
])  # fmt: skip
def test_what_is_no_grid(arguments, options, error, message):
    refused(lambda: grid(*arguments, **{"max_rel": 1, **options}), message, error)
