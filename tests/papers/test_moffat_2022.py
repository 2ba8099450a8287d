"""Worked examples of Moffat et al. (2022), "A Flexible Framework …", to all printed digits."""

import gzip
import textwrap
from pathlib import Path

import numpy as np
import pytest

from pyterrier_cwla import explain_gains, score, studies

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


#: Table 4: etg, erg, err, avg, max, fin, fgt(0.8), pe(0.5); NaN for X.
TABLE_4 = {
    "prec(5)": [0.328, 0.328, np.nan, 0.328, 0.418, -0.024, 0.285, 0.393],
    "rbp(0.8)": [0.326, 0.326, np.nan, 0.334, 0.398, 0.326, 0.326, 0.366],
    "dcg(5)": [0.334, 0.334, np.nan, 0.323, 0.390, 0.324, 0.332, 0.362],
    "ap1(ranking)": [0.369, 0.388, 0.001, 0.384, 0.435, 0.446, 0.384, 0.446],
    "rr(1)": [0.439, 0.381, 0.268, 0.381, 0.439, 0.439, 0.439, 0.439],
    "inst(2.25)": [0.335, 0.335, 0.321, 0.330, 0.365, 0.341, 0.333, 0.357],
    "ap2(ranking)": [0.351, 0.394, 0.007, 0.388, 0.435, 0.447, 0.371, 0.446],
}


@pytest.mark.slow
@pytest.mark.real_data
def test_table_4(data, tmp_path, monkeypatch):
    """With the data of the paper and the code of the page on papers: within 0.007, except three cells."""
    packed = data / "tiangong-qref" / "train_file.txt.gz"
    if not packed.exists():
        pytest.skip(f"no {packed}")
    (tmp_path / "train_file.txt").write_bytes(gzip.decompress(packed.read_bytes()))
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "papers.rst").read_text()
    lines = page.split(".. code-block:: python\n\n")[1].split("\n\nAll values")[0]
    code = textwrap.dedent(lines)
    names = {}
    exec(code[: code.index("print(")], names)
    rated, ratings = names["rated"], np.asarray(names["rated"].ratings)
    measures = studies.grid(studies.continuations(rel=1), max_rel=3)
    found = {cell: rated.scores({"one": measure})["one"].to_numpy() for cell, measure in measures.items()}
    empty = np.array([not any(grades.values()) for grades in names["qrels"].values()])
    for C, printed_row in TABLE_4.items():
        for A, expected in zip(measures.A, printed_row):
            scores = found[C, A]
            if C[:2] == "ap" and A == "err":  # users of the paper leave at rank 1 if nothing has gain
                assert studies.tau(scores, ratings) == pytest.approx({"ap1": 0.273, "ap2": 0.278}[C[:3]], abs=5e-4)
                scores = np.where(empty, 1, scores)
            if (C, A) == ("inst(2.25)", "max"):
                expected = 0.385
            if not np.isnan(expected):
                assert studies.tau(scores, ratings) == pytest.approx(expected, abs=0.0075), (C, A)
