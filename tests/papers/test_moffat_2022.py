"""Worked examples of Moffat et al. (2022), "A Flexible Framework …", to all printed digits."""

import pytest

from pyterrier_cwla import explain_gains, score

GAINS = [0.7, 0.4, 0.0, 1.0, 0.5, 0.3]
C = "fixed(0.8, 1.0, 1.0, 0.7, 0.4, 0.0)"
TABLE_1 = """
1 0.7 0.8 1.000 0.200 0.239 0.167
2 0.4 1.0 0.800 0.000 0.191 0.076
3 0.0 1.0 0.800 0.000 0.191 0.000
4 1.0 0.7 0.800 0.240 0.191 0.191
5 0.5 0.4 0.560 0.336 0.134 0.067
6 0.3 0.0 0.224 0.224 0.054 0.016
"""
TABLE_2 = """
1 0.7 0.8 1.000 0.200 0.700 0.140
2 0.4 1.0 0.800 0.000 0.550 0.000
3 0.0 1.0 0.800 0.000 0.367 0.000
4 1.0 0.7 0.800 0.240 0.525 0.126
5 0.5 0.4 0.560 0.336 0.520 0.175
6 0.3 0.0 0.224 0.224 0.483 0.108
"""


def printed(table):
    return [line.split() for line in table.split("\n") if line]


def as_printed(table, *columns):
    """Return rank, gain and C with the digits of the paper, and the other columns with three."""
    rows = zip(table["rank"], table["gain"], table["C"], *(table[c] for c in columns), strict=True)
    return [[str(i), f"{r:.1f}", f"{c:.1f}", *(f"{v:.3f}" for v in values)] for i, r, c, *values in rows]


def test_table_1():
    """Expected rate of gain, and its four sums: V⁺, ΣL, ΣW and the score."""
    found = explain_gains(GAINS, C=C, A="erg")
    table = found.table.assign(Wr=found.table["W"] * found.table["gain"])
    assert as_printed(table, "V", "L", "W", "Wr") == printed(TABLE_1)
    sums = (found.expected_items, table["L"].sum(), table["W"].sum(), table["Wr"].sum())
    assert [f"{value:.3f}" for value in sums] == ["4.184", "1.000", "1.000", "0.518"]
    assert found.score == pytest.approx(table["Wr"].sum(), rel=1e-12)
    assert found.score == pytest.approx(table["L·A"].sum(), rel=1e-12)


def test_table_2():
    """A_avg in place of A_ERG, and its three sums."""
    found = explain_gains(GAINS, C=C, A="avg")
    assert as_printed(found.table, "V", "L", "A", "L·A") == printed(TABLE_2)
    sums = (found.expected_items, found.table["L"].sum(), found.score)
    assert [f"{value:.3f}" for value in sums] == ["4.184", "1.000", "0.549"]


def test_expected_exit_rank():
    """After Eq. 5: Σ i·L(i) = V⁺."""
    table = explain_gains(GAINS, C=C, A="items").table
    assert (table["rank"] * table["L"]).sum() == pytest.approx(score(GAINS, C=C, A="items"))
    assert score(GAINS, C=C, A="items") == pytest.approx(4.184, abs=5e-4)


def test_forgetting():
    """After Eq. 23: with δ = 0.5, A(4) = r_1/8 + r_2/4 + r_3/2 + r_4. A is at most 1/(1−δ)."""
    A = explain_gains(GAINS, C=C, A="fgt(0.5)").table["A"]
    assert A[3] == pytest.approx(0.7 / 8 + 0.4 / 4 + 0.0 / 2 + 1.0)
    assert explain_gains([1.0] * 60, C="rbp(0.9)", A="fgt(0.8)").table["A"].max() == pytest.approx(5, rel=1e-5)


def test_peak_and_end():
    """Eq. 24."""
    A = explain_gains(GAINS, C=C, A="pe(0.5)").table["A"]
    assert A.tolist() == pytest.approx([0.7, 0.55, 0.35, 1.0, 0.75, 0.65])


@pytest.mark.parametrize("k", [1, 3, 5])
def test_ndcg_is_a_fixed_multiple_of_sdcg(k):
    """After Eq. 9: for any given topic, NDCG@k is larger than SDCG@k by a fixed multiple."""
    judged = [1.0, 0.7, 0.5, 0.4, 0.3, 0.0]
    rankings = [GAINS, GAINS[::-1], sorted(GAINS)]
    ndcg = score(rankings, judged=[judged] * 3, C=f"dcg({k})", A="etg", norm="ideal")
    sdcg = score(rankings, judged=[judged] * 3, C=f"dcg({k})", A="erg")
    assert (ndcg[sdcg > 0] / sdcg[sdcg > 0]).tolist() == pytest.approx([ndcg[0] / sdcg[0]] * (sdcg > 0).sum())
    assert ndcg[0] >= sdcg[0]


def test_directions_of_aggregations():
    """Table 3: three aggregations never decrease with the rank, one never increases, two do both."""

    def steps(A):
        return explain_gains(GAINS, C=C, A=A).table["A"].diff().dropna()

    for A in ("etg", "erg", "max"):
        assert (steps(A) >= 0).all()
    assert (steps("err") <= 0).all()
    for A in ("avg", "fin"):
        assert (steps(A) < 0).any()
        assert (steps(A) > 0).any()
