"""Tests of rank correlations against scipy, loops from the definitions, and all ways to break ties."""

from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from pyterrier_cwla.errors import BadParameter
from pyterrier_cwla.studies import correlation
from pyterrier_cwla.studies.correlation import kendall_distance, rbo, tau
from tests.support.messages import refused


def pairs_of(least=2, most=9, values=4):
    """Generate two lists of scores of the same items, with many ties."""
    scores = st.integers(0, values - 1)
    return st.integers(least, most).flatmap(
        lambda n: st.tuples(*[st.lists(scores, min_size=n, max_size=n) for _ in range(2)])
    )


def shuffled(n, number, seed=0):
    rng = np.random.default_rng(seed)
    return rng.permuted(np.tile(np.arange(float(n)), (2, number, 1)), axis=-1)


def counts(x, y):
    """Count concordant pairs, discordant pairs, pairs tied in one list only, and pairs tied in both."""
    alike = opposite = one = both = 0
    for (xi, yi), (xj, yj) in combinations(zip(x, y), 2):
        both += xi == xj and yi == yj
        one += (xi == xj) != (yi == yj)
        alike += (xi - xj) * (yi - yj) > 0
        opposite += (xi - xj) * (yi - yj) < 0
    return alike, opposite, one, both


def order(scores):
    return sorted(range(len(scores)), key=lambda thing: -scores[thing])


def ap_of(x, y):
    """Yilmaz et al. (2008), Eq. 4, without ties."""
    ranked, n = order(x), len(x)
    total = 0.0
    for i in range(2, n + 1):
        right = sum(y[above] > y[ranked[i - 1]] for above in ranked[: i - 1])
        total += right / (i - 1)
    return 2 / (n - 1) * total - 1


def rbo_of(x, y, p, k):
    """Webber et al. (2010), Eq. 23, without ties."""
    one, other = order(x), order(y)
    agreement = [len(set(one[:d]) & set(other[:d])) / d for d in range(1, k + 1)]
    return agreement[-1] * p**k + (1 - p) / p * sum(a * p**d for d, a in enumerate(agreement, 1))


def broken(scores):
    """Return all orders without ties that are consistent with these scores."""
    above = [(i, j) for i, j in permutations(range(len(scores)), 2) if scores[i] > scores[j]]
    orders = permutations(range(len(scores)))  # order[i] is the rank of item i, from 0
    return [[-place for place in order] for order in orders if all(order[i] < order[j] for i, j in above)]


@given(pairs_of())
def test_tau_b_is_scipy_s_and_tau_a_counts_pairs(xy):
    assert tau(*xy) == pytest.approx(kendalltau(*xy).statistic, abs=1e-12, nan_ok=True)
    alike, opposite, one, both = counts(*xy)
    if len(set(xy[0])) > 1 or len(set(xy[1])) > 1:
        assert tau(*xy, "a") == pytest.approx((alike - opposite) / (alike + opposite + one + both), abs=1e-14)
    assert kendall_distance(*xy) == opposite + one / 2
    assert kendall_distance(*xy, tied=0) == opposite


def test_ap_correlation_and_overlap_without_ties_are_their_definitions():
    x, y = shuffled(12, 25)
    expected = [ap_of(*row) for row in zip(x, y, strict=True)]
    assert tau(x, y, "ap") == pytest.approx(expected, abs=1e-12)
    assert tau(x, y, "ap_symmetric") == pytest.approx((tau(x, y, "ap") + tau(y, x, "ap")) / 2)
    assert np.ptp(tau(x, y, "ap") - tau(y, x, "ap")) > 0.1, "it is not symmetric"
    for p, depth in [(0.5, None), (0.9, None), (0.9, 5), (0.98, 12)]:
        expected = [rbo_of(*row, p, depth or 12) for row in zip(x, y, strict=True)]
        assert rbo(x, y, p, depth) == pytest.approx(expected, abs=1e-12)


@given(pairs_of(most=4, values=3))
def test_ap_correlation_and_overlap_average_over_ties(xy):
    ways = list(product(*map(broken, xy)))
    assert rbo(*xy, p=0.8) == pytest.approx(np.mean([rbo_of(*way, 0.8, len(xy[0])) for way in ways]), abs=1e-12)
    if len(set(xy[0])) > 1 or len(set(xy[1])) > 1:
        assert tau(*xy, "ap") == pytest.approx(np.mean([ap_of(*way) for way in ways]), abs=1e-12)


def test_nan_noise_and_infinite_scores():
    """Infinite scores are the best and the worst, NaN makes NaN of its row only, and noise in the last digits no order."""
    for kind in ("a", "b", "ap", "ap_symmetric"):
        with np.errstate(all="raise"):
            assert np.isnan(tau([1, 1, 1], [2, 2, 2], kind)), "two constants"
        assert np.isnan(tau([1, 1, 1], [1, 2, 3], kind)) == (kind == "b")
    x = [np.inf, 1, -np.inf]
    assert tau(x, [3, 2, 1], "ap") == tau(x, [3, 2, 1], "b") == 1
    assert rbo(x, [3, 2, 1]) == pytest.approx(1)
    assert tau([0.3, 0.1 + 0.2, 0.5], [1, 2, 3]) == tau([0.3, 0.3, 0.5], [1, 2, 3])
    x = np.array([[1.0, 2, 3], [1, np.nan, 3]])
    for found in (tau(x, [1, 2, 3], "b"), tau(x, [1, 2, 3], "ap"), kendall_distance(x, [1, 2, 3]), rbo(x, [1, 2, 3])):
        assert np.isnan(found).tolist() == [False, True]


@pytest.mark.parametrize("of", [tau, kendall_distance, rbo, lambda x, y: tau(x, y, "ap")])
def test_leading_axes_broadcast_and_cutting_into_rows_changes_nothing(of, monkeypatch):
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 6, (4, 1, 15)), rng.normal(size=(3, 15))
    expected = [[float(of(a[0], b)) for b in y] for a in x]
    monkeypatch.setattr(correlation, "_CELLS", 30)
    found = of(x, y)
    assert found.shape == (4, 3)
    assert found == pytest.approx(np.array(expected), abs=1e-14)
    assert of(x[0, 0], y[0]).shape == ()


@pytest.mark.parametrize("values", [2, 5, 1000])
def test_long_lists_that_scipy_sorts_agree_with_looking_at_all_pairs(values, monkeypatch):
    rng = np.random.default_rng(4)
    x, y = rng.integers(0, values, (2, 5, 60))
    x[4] = 1
    expected = [tau(x, y, "a"), tau(x, y, "b"), kendall_distance(x, y)]
    monkeypatch.setattr(correlation, "_LONG", 10)
    for found, wanted in zip([tau(x, y, "a"), tau(x, y, "b"), kendall_distance(x, y)], expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.slow
def test_counts_do_not_overflow_where_things_are_many():
    x = np.arange(33_000)
    assert tau(x, x, "ap") == pytest.approx(1, abs=1e-9)
    for few in (127, 128, 129, 130):  # the integer type of the counts changes near these lengths
        assert tau(np.arange(few), np.arange(few), "ap") == pytest.approx(1, abs=1e-12)
    x = np.arange(100_000)
    for kind in ("a", "b"):
        assert tau(x, x, kind) == pytest.approx(1, abs=1e-12)
        assert tau(x, -x // 2, kind) == pytest.approx(-1, abs=1e-4)


def test_an_overlap_is_never_above_one():
    x = np.arange(30.0)
    found = np.array([float(rbo(x[:n], x[:n], p)) for n in range(2, 31) for p in (0.5, 0.8, 0.9, 0.95)])
    assert found.max() == 1
    assert found.min() > 1 - 1e-12


def test_what_cannot_be_correlated_is_said():
    refused(lambda: tau([1, 2], [1, 2], "c"), "kind='c' is no kind of τ", BadParameter)
    refused(lambda: tau([1, 2, 3], [1, 2]), "(3,) and (2,)", "same length, two or more", BadParameter)
    refused(lambda: rbo([1], [1]), "two or more items", BadParameter)
    refused(lambda: rbo([1, 2], [1, 2], p=1), "between 0 and 1", BadParameter)
    refused(lambda: rbo([1, 2], [1, 2], depth=3), "from 1 to 2, the number", BadParameter)
