"""Scores with an open end, accurate to nine digits: compared with infinite sums at high precision."""

import math
import warnings
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from pyterrier_cwla import aggregation, continuation, explain_gains, score
from pyterrier_cwla.errors import CWLAWarning, NoFiniteValue
from tests.support.messages import refused

TABLE_1 = [0.7, 0.4, 0.0, 1.0, 0.5, 0.3]
LISTS = {"nothing": [], "Table 1": TABLE_1, "a late hit": [0] * 40 + [0.7]}


@continuation
def falling(view, p: float):
    """V(i) = i^−p."""
    return (view.i / (view.i + 1)) ** p


@continuation
def patient(view, by: float):
    """More gain makes users less likely to leave: V(n+m)/V(n+1) = ((n+1+G)/(n+m+G))^by."""
    y = view.i + view.G
    return (y / (y + 1)) ** by


@continuation
def fading_interest(view, rate: float):
    """V(n+m)/V(n+1) = exp(−rate·Σ_{n<j<n+m} √j), which has no closed form."""
    return np.exp(-rate * np.sqrt(view.i))


@aggregation
def second_thoughts(view, share: float):
    return share * view.best + (1 - share) * view.G / view.i


@aggregation
def by_the_root(view):
    return (view.G + 1) / np.sqrt(view.i)


@aggregation
def by_the_logarithm(view):
    return view.best / np.log2(view.i + 1)


@aggregation
def soon_forgotten(view, after: float):
    return view.fading(0.9) + np.exp(-view.i / after)


def power_of(y, p):
    """Return v(m) = (y/(y+m−1))^p."""
    return lambda m: (y / (y + m - 1)) ** p


# Text of the continuation, C(i, gains) on the list, and v(m) = V(n+m)/V(n+1) beyond it as a function of n and G(n).
GEOMETRIC = {
    "rbp(0.8)": (lambda i, r: 0.8, 0.8),
    "rbp(0.995)": (lambda i, r: 0.995, 0.995),
    "rbp(0.9999)": (lambda i, r: 0.9999, 0.9999),
    "cascade(0.9)": (lambda i, r: 0.9 * (1 - r[i - 1]), 0.9),
    "decay(30)": (lambda i, r: 2 ** (-1 / 30), 2 ** (-1 / 30)),
}
SLOW = {
    "insq(2.25)": (lambda i, r: (1 - 1 / (i + 4.5)) ** 2, lambda n, G: power_of(n + 4.5, 2)),
    "inst(2.25)": (lambda i, r: (1 - 1 / (i + 4.5 - sum(r[:i]))) ** 2, lambda n, G: power_of(n + 4.5 - G, 2)),
    "dcg": (lambda i, r: math.log(i + 1) / math.log(i + 2),
            lambda n, G: lambda m: mpmath.log(n + 2) / mpmath.log(n + m + 1)),
    "falling(1)": (lambda i, r: i / (i + 1), lambda n, G: power_of(n + 1, 1)),
    "falling(1.5)": (lambda i, r: (i / (i + 1)) ** 1.5, lambda n, G: power_of(n + 1, 1.5)),
    "falling(3)": (lambda i, r: (i / (i + 1)) ** 3, lambda n, G: power_of(n + 1, 3)),
    "patient(2)": (lambda i, r: ((i + sum(r[:i])) / (i + 1 + sum(r[:i]))) ** 2, lambda n, G: power_of(n + 1 + G, 2)),
}  # fmt: skip
AGGREGATIONS = {  # A(i) as a function of G, best, F(i) with δ = 0.8 and 0.9, and the module (mpmath or NumPy)
    "etg": lambda i, G, best, F, f: G + 0 * i,
    "max": lambda i, G, best, F, f: best + 0 * i,
    "avg": lambda i, G, best, F, f: G / i,
    "err": lambda i, G, best, F, f: 1 / i,
    "fgt(0.8)": lambda i, G, best, F, f: F[0],
    "items": lambda i, G, best, F, f: i,
    "second_thoughts(0.3)": lambda i, G, best, F, f: 0.3 * best + 0.7 * G / i,
    "by_the_root": lambda i, G, best, F, f: (G + 1) / f.sqrt(i),
    "by_the_logarithm": lambda i, G, best, F, f: best * f.log(2) / f.log(i + 1),
    "soon_forgotten(50)": lambda i, G, best, F, f: F[1] + f.exp(-i / 50),
}
TOO_SLOW = {
    *[("dcg", A) for A in ("items", "by_the_root", "by_the_logarithm")],
    *[(C, "items") for C in ("falling(1)", "falling(1.5)")],
}
LAST = 60  # users beyond rank e^60 leave with A at that rank


def endless_sum(f):
    """Return Σ_{m≥1} f(m): 60 terms, then Euler-Maclaurin with mpmath's quadrature (in log t) and differentiation."""
    start = mpf(61)
    total = mpmath.fsum(f(mpf(m)) for m in range(1, 61)) + f(start) / 2
    total += mpmath.quad(lambda s: f(mpmath.exp(s)) * mpmath.exp(s), [mpmath.log(start), 5, 6, 8, 12, 24, LAST])
    return total - mpmath.diff(f, start) / 12 + mpmath.diff(f, start, 3) / 720


def exact(r, C, A):
    """Return Σ L(i)·A(i) over an infinite ranking, for names of the tables above."""
    c, beyond = (GEOMETRIC | SLOW)[C]
    felt = AGGREGATIONS[A]
    V, G, best, F, total, n = 1.0, 0.0, 0.0, (0.0, 0.0), 0.0, len(r)
    for i in range(1, n + 1):
        G, best, F = G + r[i - 1], max(best, r[i - 1]), (F[0] * 0.8 + r[i - 1], F[1] * 0.9 + r[i - 1])
        total += V * (1 - c(i, r)) * felt(i, G, best, F, math)
        V *= c(i, r)
    if C in GEOMETRIC:
        m = np.arange(1.0, 45 / (1 - beyond))
        L = (1 - beyond) * beyond ** (m - 1)
        return total + V * (L * felt(n + m, G, best, (F[0] * 0.8**m, F[1] * 0.9**m), np)).sum()
    v = beyond(n, G)

    def leaving(m):
        faded = F[0] * mpf("0.8") ** m, F[1] * mpf("0.9") ** m
        return (v(m) - v(m + 1)) * felt(n + m, G, best, faded, mpmath)

    far = mpmath.exp(LAST)
    return total + V * float(endless_sum(leaving) + v(far) * felt(far, G, best, (0, 0), mpmath))


@pytest.mark.slow
@pytest.mark.parametrize("gains", LISTS)
@pytest.mark.parametrize("C", [*GEOMETRIC, *SLOW])
def test_scores_are_the_infinite_sums(C, gains):
    """Accuracy 1e-9 against the infinite sum, for any C and A of users."""
    with mpmath.workdps(50 if C == "dcg" else 20):  # V decreases so slowly that differences lose digits
        for A in AGGREGATIONS:
            if (C, A) in TOO_SLOW:
                if gains != "nothing":
                    with pytest.raises(NoFiniteValue, match=r"give .*end='stop'"):
                        score(LISTS[gains], C=C, A=A)
                continue
            near = pytest.approx(exact(LISTS[gains], C, A), rel=1e-9, abs=1e-9 if C == "dcg" else 1e-12)
            assert score(LISTS[gains], C=C, A=A) == near, A


def test_table_1_under_rbp():
    """Unseen items lower the average; users who stop at the last item do not see them (docs/conventions.rst)."""
    assert score(TABLE_1, C="rbp(0.8)", A="avg") == pytest.approx(0.4806, abs=5e-5)
    assert score(TABLE_1, C="rbp(0.8)", A="avg", end="stop") == pytest.approx(0.5297, abs=5e-5)


FELT = {"etg": lambda i, G: G, "avg": lambda i, G: G / i, "items": lambda i, G: i, "err": lambda i, G: 1 / i}


def assert_sums_by_rank(C, V, aggregations, gains=TABLE_1):
    """Check Σ (V(i) − V(i+1))·A(i) over the ranks of V without the last."""
    i, r = np.arange(1.0, len(V)), np.zeros(len(V) - 1)
    r[: len(gains)] = gains
    for A in aggregations:
        expected = ((V[:-1] - V[1:]) * FELT[A](i, np.cumsum(r))).sum()
        assert score(gains, C=C, A=A) == pytest.approx(expected, rel=1e-9), A


def survival(C):
    return np.cumprod(np.append(1.0, C))


def test_a_continuation_that_falls_faster_than_blocks_can_follow():
    """V decreases like exp(−rate·i^1.5), so that after a few ranks all users have left."""
    V = survival(np.exp(-0.01 * np.sqrt(np.arange(1.0, 2000))))
    assert_sums_by_rank("fading_interest(0.01)", V, ("etg", "avg", "items"))


@continuation
def leap(view, k: float):
    return np.where(view.i < k, 0.9999, 0.5)


@aggregation
def disappointed(view, after: float):
    return np.where(view.i < after, view.best, 0.0)


@pytest.mark.parametrize("k", [3, 100, 500, 10_000])
def test_a_continuation_that_jumps(k):
    """Jumps at moderate ranks are detected; far beyond the list the error explains the solution."""
    assert_sums_by_rank(f"leap({k})", survival(np.where(np.arange(1, k + 80) < k, 0.9999, 0.5)), ("avg", "items"))
    words = "C='leap(30000)' ", " is not smooth far beyond the list: give end='stop'"
    refused(lambda: score(TABLE_1, C="leap(30000)", A="avg"), NoFiniteValue, *words)


@pytest.mark.parametrize(("C", "V"), [
    ("prec(30000)", lambda i: 1 + 0 * i),
    ("dcg(30000)", lambda i: 1 / np.log2(i + 1)),
    ("carterette1(30000)", lambda i: 1 / i),
    ("carterette2(30000)", lambda i: 1 + 0 * i),
    ("product(rbp(0.9999),prec(30000))", lambda i: 0.9999 ** (i - 1)),
])  # fmt: skip
def test_a_last_rank_far_beyond_the_list(C, V):
    """All remaining users leave at rank 30,000, also for short lists."""
    assert_sums_by_rank(C, np.append(V(np.arange(1.0, 30_001)), 0.0), ["err"], [0])


@pytest.mark.parametrize("after", [100, 700, 5000])
def test_an_aggregation_that_jumps(after):
    expected = 1 - 0.999 ** (after - 1)
    assert score([1], C="rbp(0.999)", A=f"disappointed({after})") == pytest.approx(expected, rel=1e-9)


@continuation
def loyal(view):
    """Σ 1/i² of all users leave; the others never leave."""
    return 1 - 0.5 / view.i**2


@continuation
def stays_on(view):
    return np.where(view.i < 3, 0.5, 1.0)


def test_users_who_never_leave_are_an_error_with_a_way_out():
    """A continuation whose V does not converge to 0 needs a k, or end='stop'."""
    for A in ("etg", "erg", "items", "second_thoughts(0.5)"):
        refused(lambda A=A: score(TABLE_1, C="loyal", A=A), NoFiniteValue, "C='loyal'", "give", "end='stop'")
        assert score(TABLE_1, C="loyal", A=A, end="stop") > 0
        assert score(TABLE_1, C="loyal", A=A, end=20) > 0


def test_whoever_never_leaves_contributes_nothing():
    """Σ L(i)·G/i of `loyal` is finite although V does not converge to 0."""
    assert_sums_by_rank("loyal", survival(1 - 0.5 / np.arange(1.0, 10**6) ** 2), ["avg"], [1])
    assert score([1, 1, 1], C="stays_on", A="etg") == pytest.approx(0.5 * 1 + 0.25 * 2)
    assert score([1, 1, 1], C="stays_on", A="avg") == pytest.approx(0.75)
    assert score([1, 1, 1], C="stays_on", A="erg") == 0


def test_endless_means_under_dcg_are_refused():
    """Without k, V⁺ of dcg is infinite (docs/conventions.rst, Infinite V⁺); the total gain is not."""
    for A in ("erg", "items", "effort"):
        refused(lambda A=A: score(TABLE_1, C="dcg", A=A), NoFiniteValue, "infinite V⁺", "give", "end='stop'")
        assert np.isfinite(score(TABLE_1, C="dcg(10)", A=A))
    assert score([1, 0, 1], C="dcg", A="etg") == 1.5


def test_own_sums_are_warned_of():
    """At first use, the view beyond the list is compared with explicit zeros."""

    @continuation
    def sums_itself(view):
        return 1 / (1.5 + np.cumsum(view.r, axis=-1))

    @aggregation
    def also_sums(view):
        return np.cumsum(view.r, axis=-1)

    with pytest.warns(UserWarning, match="sums_itself has other values after the list.*use G, E, best"):
        score([1, 0, 1], C="sums_itself", A="etg")
    with pytest.warns(UserWarning, match="also_sums has other values after the list"):
        score([1, 0, 1], C="rbp(0.5)", A="also_sums")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        score([1, 0, 1], C="patient(2)", A="second_thoughts(0.5)")


def seen_until_a_limit(r, e, unseen, T, K, h_b, h_c, m):
    """Count the items seen until G(i) ≥ T_i or E(i) ≥ K_i (Zhang et al., 2017); infinite if this never happens."""
    G = E = moved = 0
    for i in range(1, 5000):
        gain, cost = (r[i - 1], e[i - 1]) if i <= len(r) else (0, unseen)
        G, E = G + gain, E + cost
        if G >= T + h_b * moved or E >= K + h_c * moved:
            return i
        moved += gain - m
    return math.inf


@pytest.mark.slow
@pytest.mark.parametrize("parts", [4, 10])
def test_limits_on_gain_and_effort_see_counted_items(parts):
    """Gains, efforts and limits in quarters, and in tenths, which floats round: K=6.3 is 21 efforts of 0.3."""
    rng, counted = np.random.default_rng(parts), []
    for _ in range(120):
        draw = lambda low, high: Fraction(int(rng.integers(low, high)), parts)  # noqa: E731
        n = rng.integers(1, 5)
        r, e = ([draw(0, high) * int(rng.integers(0, 2)) for _ in range(n)] for high in (parts + 1, 3 * parts))
        unseen, T, K = draw(0, parts), draw(1, 10 * parts), draw(1, 50 * parts)
        h_b, h_c, m = (draw(0, 2 * parts) * int(rng.integers(0, 2)) for _ in range(3))
        counted.append(seen_until_a_limit(r, e, unseen, T, K, h_b, h_c, m))
        C = "bpm({},{},{},{},{})".format(*map(float, (T, K, h_b, h_c, m)))
        for more in (0, 7):  # items without gain, explicit or unseen
            gains, efforts = [*map(float, r), *[0.0] * more], [*map(float, e), *[float(unseen)] * more]
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                said = explain_gains(gains, efforts=efforts, unseen=float(unseen), C=C, A="etg").expected_items
            assert said == pytest.approx(counted[-1], rel=1e-12), (r, e, unseen, C, more)
    assert {min(count, 20) for count in counted} >= {1, 2, 3, 5, 8, 13, 20}
    assert math.inf in counted
    assert score([1 / 3] * 9, C="bpm(2, 99)", A="etg") == pytest.approx(2, rel=1e-15)


def test_a_user_model_that_nobody_leaves_is_a_warning(recwarn):
    @continuation
    def until_found(view, goal: float):
        return np.where(view.G >= goal, 0.0, 1.0)

    @continuation
    def until_spent(view, budget: float):
        return np.where(view.E >= budget, 0.0, 1.0)

    assert score([1, 0, 1], C="until_found(9)", A="etg") == 0
    assert score([1, 0, 1], C="until_spent(99)", A="etg") == 2
    assert score([0], C="rr", A="etg") == 0
    for facts in ({}, {"gives_survival": True}):

        @continuation(**facts)
        def tireless(view):
            return 1.0

        assert score([1, 0, 1], C=tireless, A="etg", end="stop") == 2
        assert not recwarn
        with pytest.warns(CWLAWarning, match="C='tireless' is 1 at every rank.*no user ever leaves.*end='stop'"):
            assert score([1, 0, 1], C=tireless, A="etg") == 0
