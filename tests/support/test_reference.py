"""The reference implementation, compared with numbers by hand, tables of the papers, and sums at high precision."""

import itertools
import math
import random

import mpmath
import pytest

from tests.support import reference
from tests.support.reference import residual, score, v_plus, weights

TABLE_1 = [7, 4, 0, 10, 5, 3]
TENTHS = {"max_rel": 10}
FIXED = ("fixed", {"values": [0.8, 1, 1, 0.7, 0.4, 0]})
TBG = {"C": ("decay", {}), "A": ("etg", {}), "gain": ("clicksave", {}), "effort": ("time", {})}


def close(value, **more):
    return pytest.approx(value, **({"rel": 1e-11, "abs": 1e-13} | more))


def test_tables_1_and_2_of_the_cwla_paper():
    """Moffat et al. (2022)."""
    assert score(TABLE_1, C=FIXED, A=("erg", {}), **TENTHS) == pytest.approx(0.518, abs=5e-4)
    assert score(TABLE_1, C=FIXED, A=("avg", {}), **TENTHS) == pytest.approx(0.549, abs=5e-4)
    assert v_plus(TABLE_1, C=FIXED, **TENTHS) == pytest.approx(4.184, abs=5e-4)
    table = weights(TABLE_1, C=FIXED, A=("avg", {}), **TENTHS)
    assert table["L"] == pytest.approx([0.2, 0, 0, 0.24, 0.336, 0.224])
    assert table["W"] == pytest.approx([0.239, 0.191, 0.191, 0.191, 0.134, 0.054], abs=6e-4)
    assert table["A"] == pytest.approx([0.7, 0.55, 0.367, 0.525, 0.52, 0.483], abs=5e-4)


def test_the_end_of_the_list():
    """The values of docs/conventions.rst, Open or closed, and V⁺ = 1/(1−φ)."""
    rbp = ("rbp", {"phi": 0.8})
    assert score(TABLE_1, C=rbp, A=("avg", {}), **TENTHS) == pytest.approx(0.4806, abs=5e-5)
    assert score(TABLE_1, C=rbp, A=("avg", {}), end="stop", **TENTHS) == pytest.approx(0.5297, abs=5e-5)
    assert score([1, 0, 1], C=("rbp", {"phi": 0.5}), A=("erg", {}), max_rel=1) == 0.625
    assert v_plus([], C=rbp, **TENTHS) == close(5)
    assert v_plus([], C=rbp, end="stop", **TENTHS) == 0
    assert score([], C=rbp, A=("items", {}), end="stop", **TENTHS) == 0
    assert score([], C=rbp, A=("items", {}), end=3, **TENTHS) == close(1 + 0.8 + 0.64)


def test_time_biased_gain():
    """Smucker and Clarke (2012), and N = 17.204."""
    first = 4.4 + 0.64 * (0.018 * 100 + 7.8)
    by_hand = 0.4928 * (1 + 2 ** (-(first + 4.4 + 0.39 * (0.018 * 50 + 7.8)) / 224))
    assert score([1, 0, 2], words=[100, 50, 900], **TBG) == close(by_hand)
    assert score([1, 0, 2], words=[100, 50, 900], norm="unlimited", **TBG) == pytest.approx(by_hand / 17.204, rel=1e-4)
    with pytest.raises(ValueError, match="unseen="):
        score([1, 0, 2], words=[100, 50, 900], **TBG | {"A": ("avg", {})})


@pytest.mark.parametrize("end", ["open", 9])
def test_unknown_efforts_of_unseen_items_matter_only_where_used(end):
    known = dict(C=("decay", {}), gain=("linear", {}), effort=("time", {}), max_rel=2, words=[10, 20], end=end)
    for A in [("etg", {}), ("max", {}), ("fin", {}), ("pe", {"beta": 0.5}), ("utility", {"phi": "log2"})]:
        assert score([2, 1], A=A, **known) == close(score([2, 1], A=A, unseen=6.0, **known))
    for A in [("erg", {}), ("avg", {}), ("err", {}), ("items", {}), ("effort", {}), ("fgt", {"delta": 0.8})]:
        with pytest.raises(ValueError, match="unseen="):
            score([2, 1], A=A, **known)


def test_the_ideal_of_tbg_is_the_best_of_all_orders():
    random.seed(4)
    for k in (1, 2, 3, 5, None):
        grades = [random.choice([0, 1, 2, 3]) for _ in range(5)]
        words = [random.choice([0, 100, 3000, 40000]) for _ in range(5)]
        shared = TBG | {"gain": ("linear", {}), "max_rel": 3, "k": k, "judged": grades}
        orders = list(itertools.permutations(range(5)))
        best = max(score([grades[i] for i in o], words=[words[i] for i in o], **shared) for o in orders)
        mine = score(grades, words=words, **shared)
        assert score(grades, words=words, judged_words=words, norm="ideal", **shared) == close(
            mine / best if best else 0
        )


@pytest.mark.parametrize(
    "rels, missing", [([0, 1, 1, 0, 1], 0), ([1, 0, 0, 1, 0, 1], 2), ([0, 0], 3), ([], 1), ([0], 0)]
)
def test_both_forms_of_average_precision(rels, missing):
    """Moffat et al. (2022), Eq. 10 with 17 and Eq. 22 with 19, with relevant documents that were not retrieved."""
    judged = rels + [1] * missing
    by_hand = reference.ap(rels, sum(judged))
    shared = {"judged": judged, "max_rel": 1}
    assert score(rels, C=("ap1", {}), A=("erg", {}), **shared) == close(by_hand)
    assert score(rels, C=("ap2", {}), A=("avg", {}), **shared) == close(by_hand)
    S = sum(1 / i for i, rel in enumerate(rels, start=1) if rel)
    assert v_plus(rels, C=("ap1", {}), **shared) == (close(sum(judged) / S) if S else math.inf)
    assert score(rels, C=("ap1", {}), A=("items", {}), **shared) == (close(sum(judged) / S) if S else 0)


def test_ap1_sees_the_limit_of_a_far_unretrieved_document():
    """With this document at rank N, V(i) = (Σ_{i≤j} r_j/j + 1/N)/S on the list and 1/(N·S) from there to N."""
    N, on_list = 10**9, [0, 1 / 2, 0, 1 / 4]
    S = math.fsum(on_list) + 1 / N
    items = math.fsum(math.fsum(on_list[i:]) + 1 / N for i in range(4)) / S + (N - 4) / (N * S)
    shared = dict(C=("ap1", {}), judged=[1, 1, 0, 1], max_rel=1)
    assert score([0, 1, 0, 1], A=("items", {}), **shared) == pytest.approx(items, rel=1e-8)
    assert score([0, 1, 0, 1], A=("effort", {}), unseen=7.0, **shared) == pytest.approx(
        items + 6 * (N - 4) / (N * S), rel=1e-8
    )


def test_users_who_never_leave_contribute_nothing():
    shared = {"max_rel": 1, "judged": [0, 1, 0, 1]}
    assert score([0, 0], C=("rr", {}), A=("erg", {}), **shared) == 0
    assert score([0, 0], C=("rr", {}), A=("items", {}), **shared) == 0
    assert v_plus([0, 0], C=("rr", {}), **shared) == math.inf
    assert score([0, 1], C=("ap2", {}), A=("items", {}), **shared) == 1  # half of the users, at rank 2
    assert score([0, 1], C=("ap2", {}), A=("erg", {}), **shared) == 0
    assert score([0, 1], C=("ap2", {"R": "ranking"}), A=("items", {}), **shared) == 2
    for A in ("erg", "items", "effort"):
        with pytest.raises(ValueError, match="infinite"):
            score([0, 1], C=("dcg", {}), A=(A, {}), **shared)


def endless_sum(f):
    """Return Σ_{m≥1} f(m): 100 terms, then Euler-Maclaurin by mpmath's quadrature (in log t) and differentiation."""
    start = mpmath.mpf(101)
    total = mpmath.fsum(f(mpmath.mpf(m)) for m in range(1, 101)) + f(start) / 2
    total += mpmath.quad(lambda s: f(mpmath.exp(s)) * mpmath.exp(s), [mpmath.log(start), 8, 16, 50])
    return total - mpmath.diff(f, start) / 12 + mpmath.diff(f, start, 3) / 720 - mpmath.diff(f, start, 5) / 30240


def exact(gains, c, v, A, u, b):
    """Return Σ L(i)·A(i), infinite ranking: C(i) = c(i) on the list, V(n+m)/V(n+1) = v(m) and gain b beyond it."""
    delta, half = mpmath.mpf(0.8), mpmath.mpf(0.5)

    def felt(i, G, E, best, F, r):
        return {
            "etg": lambda: G,
            "avg": lambda: G / E,
            "err": lambda: 1 / E,
            "max": lambda: best,
            "fin": lambda: r,
            "fgt": lambda: F,
            "pe": lambda: half * (best + r),
            "items": lambda: i,
            "effort": lambda: E,
        }[A]()

    V, G, best, F, total, n = mpmath.mpf(1), mpmath.mpf(0), mpmath.mpf(0), mpmath.mpf(0), mpmath.mpf(0), len(gains)
    for i, r in enumerate(gains, start=1):
        G, best, F = G + r, max(best, r), F * delta + r
        total += V * (1 - c(i)) * felt(i, G, i, best, F, r)
        V *= c(i)

    def beyond(m):
        faded = F * delta**m + b * (1 - delta**m) / (1 - delta)
        return (v(m) - v(m + 1)) * felt(n + m, G + m * b, n + m * u, max(best, b), faded, b)

    return float(total + V * endless_sum(beyond))


LONG = [2] * 30
OPEN_ENDS = [  # grades, max_rel, C, gain of an unseen item, c(i) and v(m)
    (TABLE_1, 10, ("rbp", {"phi": 0.8}), 0, lambda i, x: 0.8, lambda m, n, G: mpmath.mpf(0.8) ** (m - 1)),
    ([], 10, ("rbp", {"phi": 0.995}), 1, lambda i, x: 0.995, lambda m, n, G: mpmath.mpf(0.995) ** (m - 1)),
    (TABLE_1[:3], 10, ("rr", {}), 1, lambda i, x: 1 - x[i - 1], lambda m, n, G: 1 if m == 1 else mpmath.mpf(0)),
    (
        LONG,
        10,
        ("cascade", {"gamma": 0.9}),
        0,
        lambda i, x: 0.9 * (1 - x[i - 1]),
        lambda m, n, G: mpmath.mpf(0.9) ** (m - 1),
    ),
    ([], 10, ("insq", {"T": 2.25}), 0, None, lambda m, n, G: (4.5 / (m + 3.5)) ** 2),
    (
        TABLE_1,
        10,
        ("insq", {"T": 2.25}),
        0,
        lambda i, x: ((i + 3.5) / (i + 4.5)) ** 2,
        lambda m, n, G: ((n + 4.5) / (n + m + 3.5)) ** 2,
    ),
    ([], 10, ("dcg", {}), 0, None, lambda m, n, G: mpmath.log(2) / mpmath.log(m + 1)),
    (
        LONG,
        10,
        ("dcg", {}),
        0,
        lambda i, x: mpmath.log(i + 1) / mpmath.log(i + 2),
        lambda m, n, G: mpmath.log(n + 2) / mpmath.log(n + m + 1),
    ),
    (
        LONG,
        10,
        ("inst", {"T": 6}),
        0,
        lambda i, x: (1 - 1 / (i + 12 - sum(x[:i]))) ** 2,
        lambda m, n, G: ((n + 12 - G) / (n + 12 - G + m - 1)) ** 2,
    ),
    (
        TABLE_1,
        10,
        ("inst", {"T": 6}),
        1,
        lambda i, x: (1 - 1 / (i + 12 - sum(x[:i]))) ** 2,
        lambda m, n, G: (1 - 1 / (n + 12 - G)) ** (2 * m - 2),
    ),
    (
        [1, 0, 1, 0],
        1,
        ("inst", {"T": 1}),
        0.5,
        lambda i, x: (1 - 1 / (i + 2 - sum(x[:i]))) ** 2,
        lambda m, n, G: (
            mpmath.gammaprod([(6 - G) * 2 + m - 2, (6 - G) * 2 + 1], [(6 - G) * 2 - 1, (6 - G) * 2 + m]) ** 2
        ),
    ),
    (
        [2, 0, 4],
        4,
        ("inst", {"T": 2}),
        0.9375,
        lambda i, x: (1 - 1 / (i + 4 - sum(x[:i]))) ** 2,
        lambda m, n, G: (
            mpmath.gammaprod([(7 - G) * 16 + m - 16, (7 - G) * 16 + 1], [(7 - G) * 16 - 15, (7 - G) * 16 + m]) ** 2
        ),
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "A", [("err", {}), ("avg", {}), ("fgt", {"delta": 0.8}), ("items", {}), ("effort", {}), ("etg", {})]
)
@pytest.mark.parametrize("grades, max_rel, C, b, c, v", OPEN_ENDS)
def test_open_ends_against_mpmath(grades, max_rel, C, b, c, v, A):
    """Unseen items have gain 0, or the best gain b as in residuals."""
    if b and A[0] not in ("avg", "fgt", "etg") or C[0] == "dcg" and A[0] in ("items", "effort", "etg"):
        return
    gain = ("exponential" if 0 < b < 1 else "linear", {})
    shared = dict(C=C, A=A, gain=gain, max_rel=max_rel, unseen=0.3)
    value = score(grades, **shared) + (residual(grades, **shared) if b else 0)
    with mpmath.workdps(24):
        gains = [mpmath.mpf(reference.gain_of(g, gain, max_rel)) for g in grades]
        G = mpmath.fsum(gains)
        assert value == close(
            exact(gains, lambda i: c(i, gains), lambda m: v(m, len(gains), G), A[0], mpmath.mpf(0.3), b)
        )


def test_the_longer_the_ranking_the_closer_to_the_open_end():
    for C in [("rbp", {"phi": 0.8}), ("decay", {"half_life": 3}), ("cascade", {"gamma": 0.9})]:
        for A in [
            ("erg", {}),
            ("avg", {}),
            ("err", {}),
            ("fgt", {"delta": 0.9}),
            ("items", {}),
            ("effort", {}),
            ("fin", {}),
        ]:
            shared = dict(C=C, A=A, unseen=2.0, **TENTHS)
            assert score(TABLE_1, end=400, **shared) == close(score(TABLE_1, **shared))
            if A[0] in ("erg", "avg", "fgt", "fin"):
                assert residual(TABLE_1, end=400, **shared) == close(residual(TABLE_1, **shared))


def test_textbook_measures():
    assert score(
        [3, 0, 2], C=("dcg", {"k": 3}), A=("etg", {}), gain=("raw", {}), norm="ideal", judged=[3, 0, 2, 2]
    ) == close(reference.ndcg([3, 0, 2], [3, 0, 2, 2], 3))
    assert score([3, 0, 2], C=("dcg", {}), A=("etg", {}), gain=("raw", {}), norm="ideal", judged=[3, 0, 2, 2]) == close(
        reference.ndcg([3, 0, 2], [3, 0, 2, 2])
    )
    assert score([3, 0, 2, 4], C=("rr", {}), A=("err", {}), gain=("exponential", {}), max_rel=4, k=3) == close(
        reference.err_gdeval([3, 0, 2, 4], 3)
    )


def test_the_order_of_trec_eval():
    """Scores as float32; ties by docno, descending."""
    rows = [
        ("a", 1.0),
        ("b", 1.0 + 1e-9),
        ("c", 2.0),
        ("d", 1e300),
        ("e", math.inf),
        ("f", -math.inf),
        ("g", -0.0),
        ("h", 0.0),
    ]
    assert reference.trec_order(rows) == ["e", "d", "c", "b", "a", "h", "g", "f"]


def test_the_residual_counts_unjudged_and_unseen_items():
    rbp = dict(C=("rbp", {"phi": 0.5}), A=("erg", {}), max_rel=2)
    assert residual([2, None, 0], **rbp) == close(0.25 + 0.125)
    assert residual([2, None, 0], end="stop", **rbp) == close(0.5 / 1.75)
