"""The sums of the reference implementation beyond the list, compared with long lists and with mpmath.

`tests/model/test_open_end.py` compares the sums of the package with mpmath for unseen items without gain, and
`tests/model/test_against_reference.py` the package with the reference. Here, unseen items have gain and effort.
"""

import math

import mpmath
import pytest

from tests.support import reference
from tests.support.reference import residual, score

TABLE_1 = [7, 4, 0, 10, 5, 3]


def close(value):
    return pytest.approx(value, rel=1e-11, abs=1e-13)


def test_ap1_sees_the_limit_of_a_far_unretrieved_document():
    """With this document at rank N, V(i) = (Σ_{i≤j} r_j/j + 1/N)/S on the list and 1/(N·S) from there to N."""
    N, on_list = 10**9, [0, 1 / 2, 0, 1 / 4]
    S = math.fsum(on_list) + 1 / N
    items = math.fsum(math.fsum(on_list[i:]) + 1 / N for i in range(4)) / S + (N - 4) / (N * S)
    same = dict(C=("ap1", {}), judged=[1, 1, 0, 1], max_rel=1, unseen=7.0)
    for A, expected in (("items", items), ("effort", items + 6 * (N - 4) / (N * S))):
        assert score([0, 1, 0, 1], A=(A, {}), **same) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("C", [("rbp", {"phi": 0.8}), ("decay", {"half_life": 3}), ("cascade", {"gamma": 0.9})])
def test_the_longer_the_ranking_the_closer_to_the_open_end(C):
    for A in ("erg", "avg", "err", "fgt", "items", "effort", "fin"):
        same = dict(C=C, A=(A, {"delta": 0.9} if A == "fgt" else {}), unseen=2.0, max_rel=10)
        assert score(TABLE_1, end=400, **same) == close(score(TABLE_1, **same))
        if A in ("erg", "avg", "fgt", "fin"):
            assert residual(TABLE_1, end=400, **same) == close(residual(TABLE_1, **same))


def endless_sum(f):
    """Return Σ_{m≥1} f(m): 100 terms, then Euler-Maclaurin by mpmath's quadrature (in log t) and differentiation."""
    start = mpmath.mpf(101)
    total = mpmath.fsum(f(mpmath.mpf(m)) for m in range(1, 101)) + f(start) / 2
    total += mpmath.quad(lambda s: f(mpmath.exp(s)) * mpmath.exp(s), [mpmath.log(start), 8, 16, 50])
    return total - mpmath.diff(f, start) / 12 + mpmath.diff(f, start, 3) / 720 - mpmath.diff(f, start, 5) / 30240


def exact(r, c, v, A, u, b):
    """Return Σ L(i)·A(i), infinite ranking: C(i) = c(i) on the list, V(n+m)/V(n+1) = v(m) and gain b beyond it."""
    delta = mpmath.mpf(0.8)
    felt = {"etg": lambda G, E, F: G, "avg": lambda G, E, F: G / E, "fgt": lambda G, E, F: F}[A]
    V, G, F, total, n = mpmath.mpf(1), mpmath.mpf(0), mpmath.mpf(0), mpmath.mpf(0), len(r)
    for i in range(1, n + 1):
        G, F = G + r[i - 1], F * delta + r[i - 1]
        total += V * (1 - c(i)) * felt(G, i, F)
        V *= c(i)

    def leaving(m):
        faded = F * delta**m + b * (1 - delta**m) / (1 - delta)
        return (v(m) - v(m + 1)) * felt(G + m * b, n + m * u, faded)

    return float(total + V * endless_sum(leaving))


def of_inst(T):
    return lambda i, x: (1 - 1 / (i + 2 * T - sum(x[:i]))) ** 2


def by_gamma(y, a):
    """Return v(m) of inst where y grows by 1/a with each unseen item."""
    return lambda m: mpmath.gammaprod([y * a + m - a, y * a + 1], [y * a - a + 1, y * a + m]) ** 2


BEST_BEYOND = {  # grades, max_rel, C, best gain, C(i) with gains x, v(m) with G(n)
    "rbp": ([], 10, ("rbp", {"phi": 0.995}), 1, None, lambda G: lambda m: mpmath.mpf(0.995) ** (m - 1)),
    "rr": (TABLE_1[:3], 10, ("rr", {}), 1, lambda i, x: 1 - x[i - 1], lambda G: lambda m: mpmath.mpf(m == 1)),
    "inst, 1": (TABLE_1, 10, ("inst", {"T": 6}), 1, of_inst(6), lambda G: lambda m: (1 - 1 / (18 - G)) ** (2 * m - 2)),
    "inst, 1/2": ([1, 0, 1, 0], 1, ("inst", {"T": 1}), 0.5, of_inst(1), lambda G: by_gamma(6 - G, 2)),
    "inst, 15/16": ([2, 0, 4], 4, ("inst", {"T": 2}), 0.9375, of_inst(2), lambda G: by_gamma(7 - G, 16)),
}


@pytest.mark.slow
@pytest.mark.parametrize("A", [("avg", {}), ("fgt", {"delta": 0.8}), ("etg", {})])
@pytest.mark.parametrize("case", BEST_BEYOND)
def test_endless_best_items_against_mpmath(case, A):
    grades, max_rel, C, b, c, v = BEST_BEYOND[case]
    gain = ("exponential" if b < 1 else "linear", {})
    same = dict(C=C, A=A, gain=gain, max_rel=max_rel, unseen=0.3)
    with mpmath.workdps(24):
        x = [mpmath.mpf(reference.gain_of(g, gain, max_rel)) for g in grades]
        expected = exact(x, lambda i: c(i, x), v(mpmath.fsum(x)), A[0], mpmath.mpf(0.3), b)
    assert score(grades, **same) + residual(grades, **same) == close(expected)
