"""Scores of rankings given as arrays: accepted forms, and errors for invalid input."""

import tracemalloc
from functools import partial

import numpy as np
import pandas as pd
import pytest

from pyterrier_cwla import TBG, continuation, score
from tests.support.messages import refused

RBP = {"C": "rbp(0.5)", "A": "erg"}


def test_one_list_many_lists_matrices_and_frames():
    assert score([1, 0], **RBP) == 0.5
    assert score((1, 0), **RBP) == 0.5
    assert score(pd.Series([1, 0]), **RBP) == 0.5
    for many in ([[1, 0], [0, 1]], np.eye(2), pd.DataFrame(np.eye(2), columns=[7, 8]), [pd.Series([1, 0]), [0, 1]]):
        assert score(many, **RBP).tolist() == [0.5, 0.25]
    assert score([[1], [], [0, 0, 1]], **RBP).tolist() == [0.5, 0, 0.125]
    assert score([3, 0, 1], max_rel=3, **RBP) == score([3, 0, 1], gain="linear", max_rel=3, **RBP)
    assert score([1, None, np.nan], **RBP) == 0.5
    # 1, 1.0 and True are equal keys of a dict.
    assert score([0, 1], cutoff=1, **RBP) == score([0, 1], end=1, **RBP) == 0
    for wrong in ({"cutoff": True}, {"end": True}, {"C": True, "A": "erg"}):
        refused(lambda wrong=wrong: score([0, 1], **RBP | wrong))


MATRIX = "a matrix"  # with a number for each item
OPTIONS = [
    dict(C="rbp(0.8)", A="erg"), dict(C="inst(2)", A="avg", max_rel=2), dict(C="ap2", A="avg", gain="binary"),
    dict(C="dcg", A="etg", norm="ideal", end="stop", gain="exponential", max_rel=2), dict(C="ap1", A="max", cutoff=3),
    dict(C="rr", A="err", norm="mean", max_rel=2), dict(C="ap2", A="avg", norm="mean", judged=MATRIX),
    dict(C="decay(4)", A="etg", effort="by_grade({0: 2, 1: 3, 2: 5})", norm="ideal", max_rel=2),
    dict(C="decay(4)", A="erg", end="stop", norm="ideal", efforts=MATRIX), dict(C="rbp(0.5)", A="erg", efforts=MATRIX, unseen=1),
]  # fmt: skip


@pytest.mark.slow
def test_a_matrix_of_any_type_scores_as_its_rows():
    rng = np.random.default_rng(2)
    grades = rng.integers(0, 3, (20, 9))
    holes = np.where(rng.random(grades.shape) < 0.2, np.nan, grades)
    kinds = [int, np.uint8, np.float16, np.float32, np.longdouble, float, list]
    for options in OPTIONS:
        more = {name: rng.integers(0, 3, grades.shape) for name, value in options.items() if value is MATRIX}
        for matrix, some_kinds in ((grades, kinds), (holes, [float, list])):
            numbers = {"grades": matrix, **more}
            rows = [options | {name: one[row].astype(float) for name, one in numbers.items()} for row in range(20)]
            expected = [score(**row) for row in rows]
            for kind in some_kinds:
                given = {name: one.tolist() if kind is list else one.astype(kind) for name, one in numbers.items()}
                found = score(**options | given)
                np.testing.assert_array_equal(found, expected, f"{options}, {kind}")
                assert found.dtype == float


def traced(call):
    """Return the result of a call, and the most bytes that it held."""
    tracemalloc.start()
    found = call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found, peak


def test_ideals_of_many_different_grades_need_no_table():
    """500 queries × 40,000 grades would be 160 MB."""
    gains = np.random.default_rng(0).random((500, 80))
    found, peak = traced(lambda: score(gains, C="dcg", A="etg", norm="ideal"))
    weights = 1 / np.log2(np.arange(2, 82))
    assert found == pytest.approx(gains @ weights / (-np.sort(-gains, axis=1) @ weights), rel=1e-12)
    assert peak < 40 * gains.nbytes


def test_a_matrix_takes_less_than_four_times_its_memory():
    """Chunks are smaller if sums after the list have many nodes, and no view outlives its chunk."""
    rng = np.random.default_rng(0)
    grades = (rng.random((8000, 40)) < 0.2) * rng.integers(1, 4, (8000, 40))
    for C, A, norm in (("dcg", "etg", "ideal"), ("rr", "err", "ideal"), ("cascade(0.9)", "avg", "none")):
        call = partial(score, C=C, A=A, norm=norm, gain="exponential", max_rel=3)
        call(grades[:1])
        assert traced(lambda: call(grades))[1] < 4 * grades.nbytes  # noqa: B023


ERRORS = [
    ([1, -1], {**RBP, "max_rel": 1}, "gains must be finite numbers of 0 or more"),
    ([1, -1], {**RBP, "gain": "raw"}, "gains must be finite numbers of 0 or more"),
    ([1, np.inf], RBP, "gains must be finite numbers in rank order"),
    ([1, -np.inf], RBP, "gains must be finite numbers in rank order"),
    ([1, -1], {"C": "rr", "A": "err"}, "C='rr' is defined for gains of 0 or more"),
    (["a"], RBP, "gains must be numbers"),
    ({1, 2}, RBP, "gains must be numbers: one list, or a list of lists, not {1, 2}"),
    (np.zeros((2, 3, 4)), RBP, "gains must be one list, or a list of lists, not 3 dimensions"),
    ([4], {**RBP, "max_rel": 3}, "a grade of 4 is above max_rel=3"),
    ([1], {**RBP, "judged": [4], "max_rel": 3, "norm": "ideal"}, "a grade of 4 is above max_rel=3"),
    ([1], {**RBP, "efforts": [1], "effort": "unit"}, "not both"),
    ([1], {**RBP, "efforts": [1, 2]}, "efforts must have one number for each item of gains"),
    ([1], {**RBP, "judged": [1, 1], "efforts": [2], "norm": "ideal"}, "leave judged= out"),
    ([1], {**RBP, "effort": "time"}, "give efforts="),
    ([1], {**RBP, "k": 3}, "no option 'k'"),
    ([2], {"C": "rr", "A": "err"}, "for gains of at most 1, and a gain is 2: use gain="),
    ([[1], [1]], {**RBP, "judged": [[1]]}, "judged has 1 lists for 2 rankings"),
    ([[1, 1], [1, -1]], {"measure": "AP"}, "finite numbers of 0 or more in rank order; see list 1"),
    (np.diag([1, np.inf]), {"measure": "AP"}, "finite numbers of 0 or more in rank order; see list 1"),
    (
        [[1], np.ones((2, 2))],
        {"measure": "AP"},
        "list 1 of grades must be numbers, and array([1., 1.]) is of type ndarray",
    ),
    ([1], {}, "give a measure, as in score([1, 0, 1], 'nDCG@10'), or C= and A="),
    ([1], {"C": "rr"}, "A= is missing: give a measure"),
    ([1], {"measure": "AP", "C": "rr"}, "give a measure, or C= and A=, not both"),
    ([1], {"measure": "AP", "max_rel": 3}, "max_rel= belongs to C= and A=: give the measure its parameters"),
    ([1], {"measure": "TBG", "length": [3]}, "no option 'length'. Near: 'lengths'"),
    ([1], {"C": "rr", "A": "err", "lengths": [5]}, "lengths= needs a measure that reads them"),
    ([1], {"measure": "TBG"}, "TBG needs lengths=, the number of words of each item"),
    ([1], {"measure": "TBG", "lengths": [5, 6]}, "lengths must have one number for each item"),
    ([1], {"measure": "TBG", "lengths": [None]}, "lengths must have one number for each item"),
    ([1], {"measure": "TBG(norm='ideal')", "lengths": [5], "judged": [1, 1]}, "leave judged= out"),
    ([1], {"measure": "alpha_nDCG@5"}, "is not defined by lists of grades: it reads intents, scores, or a table"),
    ([1], {"measure": TBG(lengths={"a": 5}), "lengths": [5]}, "pass lengths= to score, not to the measure"),
    ([1], {"measure": "NERR8(max_rel=1)@5", "judged": [[1], [1]]}, "judged has 2 lists for 1 rankings"),
    ([1], {"measure": "INST(max_rel=1)", "judged": [1, 2]}, "a grade of 2 is above max_rel=1: give max_rel=2"),
    ([1], {"measure": "nDCGG"}, "no measure 'nDCGG'. Near: 'nDCG'"),
]


def test_what_cannot_be_scored():
    for gains, options, message in ERRORS:
        refused(partial(score, gains, **options), message)


def test_own_functions_that_fail_or_are_defined_again():
    """Metrics from texts are cached, and the functions of users are not."""

    @continuation
    def scalar(view):
        return 0.9 if view.r > 0 else 0.5

    refused(lambda: score([1, 0, 1], C="scalar", A="etg"), "C='scalar' fails: The truth value")
    for stays in (0.5, 0.25):

        @continuation
        def leaving_soon(view, p=stays):
            return p

        assert score([0, 1], C="leaving_soon", A="erg") == pytest.approx(stays * (1 - stays))

    @continuation
    def moody(view):
        return stays

    for stays in (0.5, 0.9):
        expected = (1 - stays) * (1 + stays + stays**2)
        assert score([1, 1, 1], C="moody", A="erg") == pytest.approx(expected)


def test_measures_of_lists_of_grades():
    """The values of trec_eval and of Eq. 3 of Smucker and Clarke (2012)."""
    assert score([1, 0, 1], "Rprec", judged=[1, 1, 1, 0]) == 2 / 3
    assert score([[1, 0], [0, 1]], "RR").tolist() == [1, 0.5]
    assert score([0, 2], "P(rel=2)@2") == 0.5
    assert score([[], [1]], "nDCG", judged=[[1], [1]]).tolist() == [0, 1]
    ideal = 3 + 1 / np.log2(3)
    assert score([1, None, 3], "nDCG", judged=[3, 1, 0]) == pytest.approx((1 + 3 / 2) / ideal, abs=1e-12)
    seconds = 4.4 + 0.64 * (0.018 * 100 + 7.8)  # of a relevant document of 100 words
    of_two = 0.64 * 0.77 * (1 + 2 ** (-seconds / 60))
    assert score([1, 1], "TBG(half_life=60)", lengths=[100, 250]) == pytest.approx(of_two, abs=1e-12)
