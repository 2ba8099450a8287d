"""Tests of the pages "Train for it" and of LightGBM's example: their code prints what stands below it."""

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from pyterrier_cwla.learning import unregister_scorers
from tests.support.code_blocks import NUMBER, blocks, numbers, printed
from tests.support.tiny_reranker import write_model

TRAIN, TUNE = blocks("train.rst"), blocks("tune.rst")


@pytest.fixture(autouse=True)
def _nothing_stays_registered():
    yield
    unregister_scorers()


def prints_what_the_page_says(of_page, within):
    """Return the number of outputs; other versions of libraries train other models."""
    outputs = list(printed(of_page))
    for said, out in outputs:
        assert NUMBER.sub("_", out) == NUMBER.sub("_", said)
        assert numbers(out) == pytest.approx(numbers(said), abs=within)
    return len(outputs)


@pytest.mark.slow
@pytest.mark.nightly
def test_the_code_for_trees_prints_what_the_page_says():
    [first] = [place for place, (_, block) in enumerate(TRAIN) if "from datasets import" in block]
    assert prints_what_the_page_says(TRAIN[:first], 0.1) == 3


@pytest.mark.slow
@pytest.mark.nightly
def test_all_code_prints_what_the_page_says(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch", reason="torch, of the extra [torch], has wheels of 3 GB")
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is in the extra [torch]")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    write_model(tmp_path / "model")
    threads = torch.get_num_threads()
    try:
        assert prints_what_the_page_says(TRAIN, 0.1) == 4
    finally:
        torch.set_num_threads(threads)


@pytest.mark.nightly
@pytest.mark.real_data
def test_the_code_of_lightgbm_s_example_prints_what_the_page_says(data, tmp_path, monkeypatch):
    folder = data / "lightgbm-lambdarank"
    if not folder.is_dir():
        pytest.skip(f"no {folder}")
    (tmp_path / "lambdarank").symlink_to(folder.resolve())
    monkeypatch.chdir(tmp_path)
    prints_what_the_page_says(TUNE, 0.01)


@pytest.mark.slow
@pytest.mark.nightly
def test_the_code_runs_on_generated_data(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    (tmp_path / "lambdarank").mkdir()
    for part, queries in (("train", 201), ("test", 50)):
        sizes = rng.integers(3, 12, queries)
        X = rng.random((sizes.sum(), 20)).round(2)
        grades = np.clip(np.rint(4 * X[:, 0] + rng.normal(size=len(X))), 0, 4)
        dump_svmlight_file(X, grades, str(tmp_path / "lambdarank" / f"rank.{part}"), zero_based=False)
        np.savetxt(tmp_path / "lambdarank" / f"rank.{part}.query", sizes, fmt="%d")
    monkeypatch.chdir(tmp_path)
    for said, out in printed(TUNE):
        assert bool(numbers(out)) == bool(numbers(said))
        assert out


def test_output_stands_below_all_code_that_prints():
    for of_page in (TRAIN, TUNE):
        for (kind, block), (below, _) in zip(of_page, [*of_page[1:], ("end", "")], strict=True):
            assert kind == "text" or ("print(" in block) == (below == "text")
            assert "LGBMRanker(n_estimators" not in block or "n_jobs=1" in block
