"""Tests of the notebooks: each runs completely without real data, or with it if the notebook uses it and it exists."""

from pathlib import Path

import pytest

from tests.conftest import DATA

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
ASK_FOR_DATA = [path for path in NOTEBOOKS if "PYTERRIER_CWLA_DATA" in path.read_text(encoding="utf-8")]


def run(path, data, monkeypatch):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    monkeypatch.setenv("PYTERRIER_CWLA_DATA", str(data.resolve()))
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(path.parent)}}).execute()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_without_data(path, tmp_path, monkeypatch):
    if path in ASK_FOR_DATA and DATA.is_dir():
        pytest.skip("runs on real data")
    run(path, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize("path", ASK_FOR_DATA, ids=lambda path: path.stem)
def test_a_notebook_runs_on_real_data(path, data, monkeypatch):
    run(path, data, monkeypatch)
