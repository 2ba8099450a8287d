"""Tests of weighted correlations, influences of ratings, and tests of the difference of two dependent correlations."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, pearsonr, spearmanr

from pyterrier_cwla.errors import BadParameter
from pyterrier_cwla.studies.users import rating_correlations as resampled_correlations
from pyterrier_cwla.studies.users.rating_correlations import (
    clustered_error,
    difference_test,
    influence,
    resample_counts,
    weighted_pearson,
    weighted_ranks,
    williams_test,
)
from tests.support.messages import refused

SCIPY = {"pearson": pearsonr, "spearman": spearmanr, "tau_b": kendalltau}


def resampled(coefficient, x, y, counts):
    if coefficient == "pearson":
        return weighted_pearson(x, y, counts)
    return weighted_ranks(x, y, counts)[coefficient == "tau_b"]


def peak(call):
    tracemalloc.start()
    found, (_, most) = call(), tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return found, most


def ratings_and_scores(seed, n=40, levels=5):
    """Generate ordinal ratings, and two measures with ties that are correlated with them."""
    rng = np.random.default_rng(seed)
    worth = rng.normal(size=n)
    y = np.digitize(worth + 0.5 * rng.normal(size=n), np.linspace(-1, 1, levels - 1)).astype(float)
    x = np.round(worth + rng.normal(size=(2, n)), 1)
    return x, y


@given(rows=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 3)), min_size=3, max_size=12))
def test_counts_are_as_good_as_copies(rows):
    """Coefficients with counts equal scipy's coefficients of a sample with as many copies of each rating."""
    x, y, n = np.array(rows, float).T
    copies = [np.repeat(values, n.astype(int)) for values in (x, y)]
    varies = n.sum() > 1 and all(np.ptp(values) > 0 for values in copies)
    for name, function in SCIPY.items():
        if n.sum() == 0:
            continue
        found = np.ravel(resampled(name, x, y, n[:, None]))[0]
        assert np.isfinite(found) == varies
        if varies:
            assert found == pytest.approx(function(*copies).statistic, abs=1e-12), name


@pytest.mark.parametrize("levels", [3, 30])
def test_pairs_are_counted_in_parts(levels, monkeypatch):
    x, y = ratings_and_scores(1, levels=levels)
    counts = resample_counts(len(y), None, 50, seed=3)
    whole, moved = weighted_ranks(x[0], y, counts)[1], influence(x, y, "tau_b")
    for pairs in (300, 1):
        monkeypatch.setattr(resampled_correlations, "_PAIRS", pairs)
        assert weighted_ranks(x[0], y, counts)[1].tolist() == whole.tolist()
        assert influence(x, y, "tau_b").tolist() == moved.tolist()
    fractions = counts * np.linspace(0.3, 0.7, 50)  # weights that are not integers
    assert weighted_ranks(x[0], y, fractions)[1] == pytest.approx(whole, abs=1e-12)


def test_ratings_that_all_differ_need_no_table():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 2000))
    counts = resample_counts(2000, None, 3, seed=0)
    expected = [kendalltau(*(np.repeat(of, n.astype(int)) for of in (x, y))).statistic for n in counts.T]
    found, most = peak(lambda: weighted_ranks(x, y, counts)[1])
    assert found == pytest.approx(expected, abs=1e-12)
    assert most < 40e6, "bytes; a table would need 96 million, and copies of it"
    influences, users = np.random.default_rng(0).normal(size=(2, 3000)), np.arange(3000) // 2
    found, most = peak(lambda: clustered_error(influences, users))
    by_user = influences[:, ::2] + influences[:, 1::2]
    assert found == pytest.approx(np.sqrt(1500 / 1499 * (by_user**2).sum(axis=1)))
    assert clustered_error(influences[0], users) == pytest.approx(found[0])
    assert most < 2e6, "bytes; a table would need 36 million"


def test_a_coefficient_of_what_does_not_vary_is_nan():
    counts = np.array([[1.0, 2.0], [1.0, 0.0], [1.0, 0.0]])
    assert np.isnan(weighted_pearson([0.1 + 0.2, 0.3, 0.3], [1, 2, 3], counts)).all()
    assert np.isnan(weighted_pearson([1, 2, 3], [1, 2, 3], counts)).tolist() == [False, True]
    for found in weighted_ranks([0.1 + 0.2, 0.3, 0.3], [1, 2, 3], counts):
        assert np.isnan(found).all()
    for coefficient in SCIPY:
        assert np.isnan(influence([1, 1, 1], [1, 2, 3], coefficient)).all()
    refused(lambda: influence([1, 2, 3], [1, 2, 3], "tau_a"), "Near: 'tau_b'", BadParameter)
    refused(lambda: influence([1, 2, 3], [1, 2, 3], "tau_b", np.ones(3)), "does not take weights", BadParameter)


@pytest.mark.parametrize("coefficient", [*SCIPY, "weighted_pearson"])
def test_influences_are_derivatives(coefficient):
    """Compared with ∂/∂w_i by finite differences of the weight of one rating."""
    x, y = ratings_and_scores(2, n=25)
    n, name = np.random.default_rng(3).integers(1, 50, len(y)).astype(float), coefficient.removeprefix("weighted_")
    n, given = (n, [n]) if name != coefficient else (np.ones(len(y)), [])
    for row in x:
        h = 1e-5
        steps = [np.ravel(resampled(name, row, y, (n * (1 + sign * h * np.eye(len(y)))).T)) for sign in (1, -1)]
        found = influence(row, y, name, *given)
        assert found == pytest.approx((steps[0] - steps[1]) / (2 * h), abs=1e-8)
        assert found.sum() == pytest.approx(0, abs=1e-12)


def slow_williams(r12, r13, r23, n):
    """Compute Williams's test by the formula of Steiger (1980); r12 and r13 share the first variable."""
    D = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    mean = (r12 + r13) / 2
    return (r12 - r13) * ((n - 1) * (1 + r23) / (2 * (n - 1) / (n - 3) * D + mean**2 * (1 - r23) ** 3)) ** 0.5


def test_williams_test_is_the_formula_for_arrays():
    r12, r13, r23 = np.array([0.4, 0.1, -0.3]), np.array([0.5, 0.3, 0.1]), np.array([0.1, 0.9, 0.2])
    found, p = williams_test(r12, r13, r23, 50)
    assert found == pytest.approx([slow_williams(*of, 50) for of in zip(r12, r13, r23)])
    turned, same = williams_test(r13, r12, r23, 50)
    assert turned == pytest.approx(-found)
    assert same == pytest.approx(p)
    assert williams_test(0.5, 0.5, 1.0, 20)[1] == 1
    assert difference_test([0.0, 1e-17], np.zeros((2, 9))).tolist() == [1, 1]
    refused(lambda: williams_test(0.5, 0.4, 0.1, 3), "at least four ratings, not 3", BadParameter)


@pytest.mark.slow
@pytest.mark.parametrize("coefficient", SCIPY)
def test_only_the_test_over_users_keeps_its_level_where_users_differ(coefficient):
    """Each user prefers one of the measures; on average both measures are equally good."""
    rejected = np.zeros(2)
    for seed in range(200):
        rng = np.random.default_rng(seed)
        users = np.repeat(np.arange(40), 5)
        x = rng.normal(size=(2, 200))
        y = x.sum(axis=0) + rng.normal(size=40)[users] * (x[0] - x[1])
        value = [SCIPY[coefficient](row, y).statistic for row in x]
        moved = influence(x, y, coefficient)
        for place, who in enumerate((users, None)):
            rejected[place] += difference_test(value[0] - value[1], moved[0] - moved[1], who) < 0.05
    over_users, over_ratings = rejected / 200
    assert 0.015 < over_users < 0.1
    assert over_ratings > 0.15
