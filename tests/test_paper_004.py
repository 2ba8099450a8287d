"""The worked examples of Moffat, Mackenzie, Thomas and Azzopardi (2022), to all printed digits."""

import pytest

from pyterrier_cwla import explain_gains, score

GAINS = [0.7, 0.4, 0.0, 1.0, 0.5, 0.3]
C = "fixed(0.8, 1, 1, 0.7, 0.4, 0)"


def printed(column, digits=3):
    return [f"{value:.{digits}f}" for value in column]


def test_table_1():
    explanation = explain_gains(GAINS, C=C, A="erg")
    table = explanation.table
    assert printed(table["V"]) == ["1.000", "0.800", "0.800", "0.800", "0.560", "0.224"]
    assert printed(table["L"]) == ["0.200", "0.000", "0.000", "0.240", "0.336", "0.224"]
    assert printed(table["W"]) == ["0.239", "0.191", "0.191", "0.191", "0.134", "0.054"]
    assert printed(table["W"] * table["gain"]) == ["0.167", "0.076", "0.000", "0.191", "0.067", "0.016"]
    assert f"{explanation.expected_items:.3f}" == "4.184"
    assert f"{explanation.score:.3f}" == "0.518"
    assert table["L"].sum() == pytest.approx(1)
    assert table["W"].sum() == pytest.approx(1)


def test_table_2():
    explanation = explain_gains(GAINS, C=C, A="avg")
    table = explanation.table
    assert printed(table["V"]) == ["1.000", "0.800", "0.800", "0.800", "0.560", "0.224"]
    assert printed(table["L"]) == ["0.200", "0.000", "0.000", "0.240", "0.336", "0.224"]
    assert printed(table["A"]) == ["0.700", "0.550", "0.367", "0.525", "0.520", "0.483"]
    assert printed(table["L·A"]) == ["0.140", "0.000", "0.000", "0.126", "0.175", "0.108"]
    assert f"{explanation.expected_items:.3f}" == "4.184"
    assert f"{explanation.score:.3f}" == "0.549"


def test_the_expected_exit_rank_is_v_plus():
    """Section 2: Σ i·L(i) = V⁺."""
    assert score(GAINS, C=C, A="items") == pytest.approx(4.184)


def test_forgetting_half_at_every_item():
    """Section 3: with δ = 0.5, A(4) = r_1/8 + r_2/4 + r_3/2 + r_4."""
    r = [0.8, 0.4, 0.6, 0.2]
    assert score(r, C="prec(4)", A="fgt(0.5)") == pytest.approx(0.8 / 8 + 0.4 / 4 + 0.6 / 2 + 0.2)


def test_the_ends_of_the_forgetting_and_the_peak_end_spectrum():
    """Section 3: fgt with δ = 0 is fin and with δ = 1 etg; pe blends max and fin."""
    for c in ("rbp(0.8)", "dcg(5)", "inst(2)", C):
        assert score(GAINS, C=c, A="fgt(0)") == pytest.approx(score(GAINS, C=c, A="fin"))
        assert score(GAINS, C=c, A="fgt(1)") == pytest.approx(score(GAINS, C=c, A="etg"))
        assert score(GAINS, C=c, A="pe(1)") == pytest.approx(score(GAINS, C=c, A="max"))
        assert score(GAINS, C=c, A="pe(0)") == pytest.approx(score(GAINS, C=c, A="fin"))
