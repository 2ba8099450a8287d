"""Chapelle, Metzler, Zhang and Grinspan (2009): the algorithms, the example and the relations between metrics."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyterrier_cwla import evaluate, explain_gains, score
from pyterrier_cwla.behaviour import chiir24_log, click_metrics, weighted_correlation

GRADES = st.lists(st.integers(0, 4), min_size=1, max_size=12)
ERR = {"C": "rr", "A": "err", "gain": "exponential", "max_rel": 4}
DCG = {"C": "dcg", "A": "etg", "gain": "burges"}


def R(grade, highest=4):
    """Eq. 4."""
    return (2**grade - 1) / 2**highest


def stops(grades):
    """Eq. 2: the probability that the user stops at rank r, for each r."""
    found = []
    for r, grade in enumerate(grades):
        not_before = 1.0
        for before in grades[:r]:
            not_before *= 1 - R(before)
        found.append(not_before * R(grade))
    return found


def algorithm_2(grades):
    """ERR in linear time, line by line."""
    p, found = 1.0, 0.0
    for r, grade in enumerate(grades, start=1):
        found += p * R(grade) / r
        p *= 1 - R(grade)
    return found


@given(GRADES)
def test_err_is_algorithm_2_and_equation_5(grades):
    expected = sum(stop / r for r, stop in enumerate(stops(grades), start=1))
    assert algorithm_2(grades) == pytest.approx(expected)
    assert score(grades, **ERR) == pytest.approx(expected)
    judged = {f"d{r}": grade for r, grade in enumerate(grades)}
    run = {"q": {docno: -float(r) for r, docno in enumerate(judged)}}
    assert evaluate({"q": judged}, run, ["ERR"]).iloc[0, 0] == pytest.approx(expected)


@given(GRADES)
def test_the_cascade_model_and_the_effective_discount(grades):
    """Eq. 2, and after Eq. 5: the discount of rank r is (1/r)·Π_{i<r} (1 − R_i)."""
    table = explain_gains(grades, **ERR).table
    assert table["L"].tolist() == pytest.approx(stops(grades))
    not_before = [math.prod(1 - R(before) for before in grades[:r]) for r in range(len(grades))]
    assert table["discount"].tolist() == pytest.approx([p / r for r, p in enumerate(not_before, start=1)])


def test_twenty_good_documents_and_one_perfect_document():
    """Section 1: DCG prefers 20 good documents, and ERR one perfect document above 19 bad ones."""
    good, perfect = [2] * 20, [4] + [0] * 19
    assert score(good, **DCG) > score(perfect, **DCG)
    assert score(good, **ERR) < score(perfect, **ERR) == R(4)


@given(st.lists(st.integers(0, 1), min_size=1, max_size=12))
def test_with_relevance_of_0_or_1_err_is_the_reciprocal_rank(binary):
    """Section 5."""
    expected = 1 / (binary.index(1) + 1) if 1 in binary else 0
    assert score(binary, C="rr", A="err") == pytest.approx(expected)


@given(GRADES)
def test_with_small_relevance_err_is_an_additive_metric(grades):
    """Section 5: if all R_i are small, ERR is about Σ R_i/i, which does not depend on documents above.

    With max_rel = 40, each R_i is at most 2^−36, and so is the relative difference, times the number of ranks.
    """
    additive = sum(R(grade, 40) / r for r, grade in enumerate(grades, start=1))
    assert score(grades, **{**ERR, "max_rel": 40}) == pytest.approx(additive, rel=len(grades) * 2**-36)


@given(GRADES)
def test_normalised_cumulative_utility(grades):
    """Section 5: Σ p(r)·NU(r), where NU is 1/r, the precision of the first r documents, or their cumulative gain."""
    p, gains = stops(grades), [R(grade) for grade in grades]
    precision = [sum(gains[:r]) / r for r in range(1, len(gains) + 1)]
    for A, utility in (("avg", precision), ("err", [1 / r for r in range(1, len(gains) + 1)]), ("etg", None)):
        utility = utility or [sum(gains[:r]) for r in range(1, len(gains) + 1)]
        expected = sum(share * value for share, value in zip(p, utility, strict=True))
        assert score(grades, C="rr", A=A, gain="exponential", max_rel=4) == pytest.approx(expected)


#: Correlations on the page of papers: columns DCG@5, AP@5, RR@5 and ERR@5.
TABLE_2 = {
    "UCTR": [0.16, 0.17, 0.15, 0.16],
    "MaxRR": [0.14, 0.17, 0.18, 0.17],
    "MeanRR": [0.12, 0.14, 0.17, 0.16],
    "MinRR": [0.07, 0.07, 0.11, 0.11],
    "PLC": [0.14, 0.15, 0.15, 0.15],
    "SS": [0.49, 0.43, 0.46, 0.48],
}


@pytest.mark.slow
@pytest.mark.real_data
def test_table_2_with_other_clicks(data):
    path = data / "chiir24-satisfaction"
    if not path.is_dir():
        pytest.skip(f"no {path}")
    found = click_metrics(chiir24_log(path), depth=5, good=1)
    measures = ["nDCG(dcg='exp-log2')@5", "AP@5", "RR@5", "CWLA(C='rr',A='err',gain='exponential',max_rel=1)@5"]
    scores = evaluate(found.qrels, found.run, measures, by_query=True).droplevel("run")
    clicks = found.configurations.loc[scores.index]
    assert len(clicks) == 747
    for metric, expected in TABLE_2.items():
        r = [weighted_correlation(scores[name], clicks[metric], clicks["n"]) for name in scores]
        assert np.round(r, 2).tolist() == expected
