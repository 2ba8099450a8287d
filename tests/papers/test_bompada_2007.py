"""Tables 3 and 5 of Bompada et al. (2007): on the runs of TREC-8, and by loops on generated runs."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from pyterrier_cwla.studies import f_qrels, robustness
from pyterrier_cwla.studies.incomplete_judgments.robustness_study import MEASURES

from ..studies.incomplete_judgments.test_robustness import generated, loops

OF_PAPER = {name: MEASURES[name] for name in ("bpref", "infAP", "nDCG")}
TABLE_3 = {"bpref": 0.4, "infAP": 0.3, "nDCG": 0.3}  # TREC-8
SHARES = (0.2, 0.3, 0.4, 0.5)
FAST = {"resamples": 50, "progress": False}


@pytest.mark.slow
def test_table_3_by_loops():
    """The knees are those of measures computed term by term, of scipy's τ, and of its mean over the samples."""
    qrels, runs = generated(2, queries=10, runs=5, depth=30, documents=60, judged=55)
    levels = (0.2, 0.4, 0.6, 0.8)
    order = robustness(qrels, runs, OF_PAPER, fractions=levels, seeds=3, pairs=0, complete=None, **FAST).order
    full = means(qrels, qrels, runs)
    kept = [[f_qrels(qrels, level, seed) for level in levels] for seed in range(3)]
    taus = [
        [[kendalltau(x, y).statistic for x, y in zip(means(some, qrels, runs), full)] for some in of] for of in kept
    ]
    curves = np.mean(taus, axis=0).T
    assert order.tau[:-1].T == pytest.approx(curves, abs=1e-12)
    knees = [next((f for f, value in zip(levels, curve) if value > 0.9), 1.0) for curve in curves]
    assert order.knees()["knee"].tolist() == knees
    assert len(set(knees)) > 1


def means(kept, qrels, runs):
    """Return the mean of each measure for each run; documents whose judgment was removed stay in the pool of infAP."""
    if isinstance(kept, pd.DataFrame):
        kept = {q: dict(zip(some["doc_id"], some["relevance"])) for q, some in kept.groupby("query_id")}
    scores = [
        [loops(run[q], kept[q], set(qrels[q]) - set(kept[q]))[:3] if q in run else [0.0] * 3 for q in qrels]
        for run in runs.values()
    ]
    return np.round(np.mean(scores, axis=1), 10).T


@pytest.fixture(scope="module")
def trec8(data):
    """Return the judgments and the 129 runs of TREC-8."""
    path = data / "trec8"
    if not path.is_dir():
        pytest.skip(f"no {path}")
    table = pd.read_parquet(path / "runs.parquet", dtype_backend="pyarrow")
    return path / "qrels.txt.gz", {str(name): run for name, run in table.groupby("run")}


@pytest.mark.nightly
@pytest.mark.real_data
def test_table_3_on_trec_8(trec8):
    """The printed knees, from the mean of ten samples of the judgments."""
    study = robustness(*trec8, OF_PAPER, fractions=SHARES, seeds=10, pairs=0, **FAST)
    assert len(study.runs) == 122
    assert sorted(study.about["left_out"].values()) == [3060, 5785, 31340, 32061, 37141, 42765, 47182]
    found = study.order.knees().set_index("measure")
    assert found["knee"].to_dict() == TABLE_3
    assert (found["lowest_seed"] >= 0.2).all()
    assert (found["highest_seed"] <= 0.4).all()
    assert study.order.mean_above("infAP", "bpref", 0.5)[1] > 0  # infAP is above bpref, as in the paper
    _, low, high = study.order.mean_above("nDCG", "infAP", 0.5)
    assert low < 0 < high  # nDCG is not


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.nightly
def test_infap_without_a_pool_has_another_knee(trec8):
    qrels, runs = trec8
    some = {"infAP": "infAP", "AP": "AP"}
    unknown = robustness(qrels, runs, some, fractions=(0.3, 0.4, 0.5), seeds=2, pairs=0, pool="judged", **FAST)
    assert unknown.order.tau[:, 0] == pytest.approx(unknown.order.tau[:, 1], abs=1e-3)
    assert unknown.order.knees()["knee"].tolist() == [0.5, 0.5]


@pytest.mark.nightly
@pytest.mark.real_data
def test_table_5_on_trec_8(trec8):
    """The printed knees or the next share, by the draw of pairs: accuracy is near 0.9 at 30 %, and clearly below at 10 %."""
    tests = robustness(*trec8, OF_PAPER, fractions=(0.1, 0.3, 0.4, 0.5), seeds=3, pairs=60, **FAST).tests
    assert (tests.accuracy[0] < 0.89).all()
    assert tests.accuracy[1] == pytest.approx(0.9, abs=0.03)  # the printed knee of all three
    assert (tests.accuracy[3] > 0.91).all()
    assert set(tests.knees()["knee"]) <= {0.3, 0.4}
