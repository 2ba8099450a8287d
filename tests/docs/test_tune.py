"""Tests of the page of LightGBM's example: its code prints what stands below it, and runs on generated data of the same form."""

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from pyterrier_cwla.learning import unregister_scorers
from tests.support.code_blocks import NUMBER, blocks, numbers, printed

BLOCKS = blocks("tune.rst")


@pytest.fixture(autouse=True)
def _nothing_stays_registered():
    yield
    unregister_scorers()


@pytest.mark.nightly
@pytest.mark.real_data
def test_the_code_prints_what_the_page_says(data, tmp_path, monkeypatch):
    folder = data / "lightgbm-lambdarank"
    if not folder.is_dir():
        pytest.skip(f"no {folder}")
    (tmp_path / "lambdarank").symlink_to(folder.resolve())
    monkeypatch.chdir(tmp_path)
    for said, out in printed(BLOCKS):
        assert NUMBER.sub("_", out) == NUMBER.sub("_", said)
        assert numbers(out) == pytest.approx(numbers(said), abs=0.01)  # other versions of LightGBM grow other trees


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
    for said, out in printed(BLOCKS):
        assert bool(numbers(out)) == bool(numbers(said))
        assert out


def test_output_stands_below_all_code_that_prints():
    for (kind, block), (below, _) in zip(BLOCKS, [*BLOCKS[1:], ("end", "")], strict=True):
        assert kind == "text" or ("print(" in block) == (below == "text")
        assert "LGBMRanker(n_estimators" not in block or "n_jobs=1" in block
