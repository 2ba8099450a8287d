"""Smucker and Clarke (2012): Table 2 with the runs of TREC-8, and the relation of Eq. 3 to Eq. 1."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyterrier_cwla import effort, score
from pyterrier_cwla.studies import discriminative_power

#: Shares of significant pairs on the page of papers, in percent: t-test, and as printed in Table 2 for TREC 2005 Robust.
TREC_8 = {"AP": 72.5, "P@10": 64.4, "nDCG@10": 64.8, "nDCG@20": 66.8}
TABLE_2 = {"AP": 66.0, "P@10": 51.6, "nDCG@10": 49.5, "nDCG@20": 54.5}


@pytest.mark.slow
@pytest.mark.real_data
def test_table_2_with_the_runs_of_trec_8(data):
    """AP finds the most pairs, nDCG@20 more than nDCG@10, and the tests agree within 2 % of the pairs, as in print."""
    path = data / "trec8"
    if not path.is_dir():
        pytest.skip(f"no {path}")
    table = pd.read_parquet(path / "runs.parquet", dtype_backend="pyarrow")
    runs = {str(name): run for name, run in table.groupby("run")}
    found = discriminative_power(path / "qrels.txt.gz", runs, list(TREC_8), resamples=500, progress=False)
    shares = found.table.set_index("measure")
    assert (100 * shares["t"]).round(1).to_dict() == TREC_8
    assert ((shares["randomisation"] - shares["t"]).abs() < 0.02).all()
    assert ((shares["bootstrap"] - shares["t"]).abs() < 0.02).all()
    for of in (TREC_8, TABLE_2):
        assert max(of, key=of.get) == "AP"
        assert of["nDCG@20"] > of["nDCG@10"]


@given(st.lists(st.sampled_from([0, 0.5, 1]), min_size=1, max_size=10), st.floats(0.5, 100), st.floats(1, 500))
def test_a_constant_time_per_document_is_a_discount_by_rank(r, seconds, half_life):
    """Section 1: T(k) = c(k − 1) reduces Eq. 3 to Eq. 1, here with the discount φ^(k−1) of RBP, φ = 2^(−c/h)."""

    @effort(version=1)
    def alike(documents):
        return seconds + 0 * documents.grade

    found = score(r, C=f"decay({half_life})", A="etg", effort=alike)
    phi = 2 ** (-seconds / half_life)
    assert found == pytest.approx(sum(g * phi ** (k - 1) for k, g in enumerate(r, start=1)))
    assert found == pytest.approx(score(r, C=f"rbp({phi!r})", A="etg"))
