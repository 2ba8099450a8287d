"""Scores of rankings given as arrays: accepted forms, and errors for invalid input."""

import numpy as np
import pandas as pd
import pytest

from pyterrier_cwla import CWLAError, continuation, score
from pyterrier_cwla.evaluation import residual

RBP = {"C": "rbp(0.5)", "A": "erg"}


def test_one_list_many_lists_matrices_and_frames():
    assert score([1, 0], **RBP) == 0.5
    assert score((1, 0), **RBP) == 0.5
    assert score(pd.Series([1, 0]), **RBP) == 0.5
    for many in ([[1, 0], [0, 1]], np.eye(2), pd.DataFrame(np.eye(2), columns=[7, 8]), [pd.Series([1, 0]), [0, 1]]):
        assert score(many, **RBP).tolist() == [0.5, 0.25]
    assert score([[1], [], [0, 0, 1]], **RBP).tolist() == [0.5, 0, 0.125]


def test_a_highest_grade_alone_means_linear_gain():
    assert score([3, 0, 1], max_rel=3, **RBP) == score([3, 0, 1], gain="linear", max_rel=3, **RBP)


def test_unjudged_items_gain_nothing_and_count_in_the_residual():
    assert score([1, None, np.nan], **RBP) == 0.5
    assert residual([1, None, 0], **RBP) == pytest.approx(0.25 + 0.125)


@pytest.mark.parametrize(
    ("gains", "options", "message"),
    [
        ([1, -1], RBP, "gains must be finite numbers of 0 or more"),
        ([1, np.inf], RBP, "gains must be finite numbers of 0 or more"),
        (["a"], RBP, "gains must be numbers"),
        ([4], {**RBP, "max_rel": 3}, "a grade of 4 is above max_rel=3"),
        ([1], {**RBP, "judged": [4], "max_rel": 3, "norm": "ideal"}, "a grade of 4 is above max_rel=3"),
        ([1], {**RBP, "efforts": [1], "effort": "unit"}, "not both"),
        ([1], {**RBP, "efforts": [1, 2]}, "one number for each item"),
        ([1], {**RBP, "judged": [1, 1], "efforts": [2], "norm": "ideal"}, "leave judged= out"),
        ([1], {**RBP, "effort": "time"}, "give efforts="),
        ([1], {**RBP, "k": 3}, "no option 'k'"),
        ([2], {"C": "rr", "A": "err"}, "for gains above 1, use gain="),
        ([[1], [1]], {**RBP, "judged": [[1]]}, "judged has 1 lists for 2 rankings"),
    ],
)
def test_what_cannot_be_scored(gains, options, message):
    with pytest.raises(CWLAError, match=message):
        score(gains, **options)


def test_a_users_function_that_fails_is_named():
    @continuation
    def scalar(view):
        return 0.9 if view.r > 0 else 0.5

    with pytest.raises(CWLAError, match="C='scalar' fails: The truth value"):
        score([1, 0, 1], C="scalar", A="etg")


def test_a_users_function_may_read_what_changes():
    patience = {"now": 0.5}

    @continuation
    def moody(view):
        return patience["now"]

    assert score([1, 1, 1], C="moody", A="erg") == pytest.approx(0.875)
    patience["now"] = 0.9
    assert score([1, 1, 1], C="moody", A="erg") == pytest.approx(0.1 * (1 + 0.9 + 0.81))
