"""Tests of the notebooks: rules that all share, and complete runs on generated data and on real data."""

import ast
import json
import re
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
WIDGET = "application/vnd.jupyter.widget-view+json"


def each_notebook(test):
    return pytest.mark.every_case(pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)(test))


def cells(path, kind):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return [{**cell, "source": "".join(cell["source"])} for cell in notebook["cells"] if cell["cell_type"] == kind]


def outputs(path):
    return [output for cell in cells(path, "code") for output in cell["outputs"]]


def texts(output):
    """All textual forms of an output."""
    forms = [output.get("text", ""), *(value for kind, value in output.get("data", {}).items() if "text" in kind)]
    return ["".join(form) for form in forms]


def kinds(cell):
    """Kinds of the outputs of a cell; pieces of printed text count as one, and widgets are not stored."""
    shown = [output for output in cell["outputs"] if output.get("data", {}).get("text/html") != ""]  # removed bars
    found = [sorted({*output.get("data", [output.get("name")])} - {WIDGET}) for output in shown]
    return [kind for place, kind in enumerate(found) if place == 0 or kind != ["stdout"] or found[place - 1] != kind]


def sizes(html):
    """Return the rows of the bodies of tables, and the cells of the longest row, header included."""
    for table in re.findall(r"<table.*?</table>", html, re.S):
        rows = [re.findall(r"<t[dh]\b([^>]*)", row) for row in re.findall(r"<tr.*?</tr>", table, re.S)]
        spans = [[int(one[1]) if (one := re.search(r"colspan=\W?(\d+)", cell)) else 1 for cell in row] for row in rows]
        yield table.partition("<tbody")[2].count("<tr"), max(map(sum, spans))


@each_notebook
def test_first_cells_licences_and_code_follow_the_rules(path):
    first = cells(path, "markdown")[0]["source"]
    assert first.startswith("# ")
    assert "pip install '.[demo,studies" in first
    assert "licence" in " ".join(cell["source"] for cell in cells(path, "markdown"))
    assert sum("PYTERRIER_CWLA_DATA" in cell["source"] for cell in cells(path, "code")) <= 1
    assert "../shared" not in path.read_text(encoding="utf-8")
    source = cells(path, "code")[0]["source"]
    imports = [line for line in ast.parse(source).body if isinstance(line, ast.Import | ast.ImportFrom)]
    assert len(imports) <= 8
    assert len(source.splitlines()) <= 25
    assert [line for cell in cells(path, "code") for line in cell["source"].splitlines() if len(line) > 120] == []


@each_notebook
def test_the_stored_outputs_are_of_one_complete_run(path):
    assert [cell["execution_count"] for cell in cells(path, "code")] == list(range(1, len(cells(path, "code")) + 1))
    assert [output for output in outputs(path) if output["output_type"] == "error"] == []
    assert [output for output in outputs(path) if output.get("name") == "stderr"] == []
    assert path.stat().st_size < 400_000
    found = [re.search(r"/(home|tmp|work|root|Users)/|site-packages", text) for o in outputs(path) for text in texts(o)]
    assert list(filter(None, found)) == []
    shown = [text for output in outputs(path) for text in texts(output) if "<table" in text]
    found = [size for text in shown for size in sizes(text)]
    assert [(rows, columns) for rows, columns in found if rows > 15 or columns > 9] == []  # 8 columns and the index


def test_sizes_of_tables_are_counted():
    html = "<table><thead><tr><th></th><th colspan='3'>a</th></tr></thead><tbody><tr><th>1</th></tr></tbody></table>"
    assert [*sizes(html * 2)] == [(1, 4), (1, 4)]
    assert "compare_your_own_runs" in {path.stem for path in NOTEBOOKS}


def run(path, data, monkeypatch, folder):
    """Run a notebook in an empty folder, as it stands in the repository, and return it."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    if "import torch" in path.read_text(encoding="utf-8"):
        pytest.importorskip("torch", reason="torch, of the extra [torch], has wheels of 3 GB")
    monkeypatch.setenv("PYTERRIER_CWLA_DATA", str(data.resolve()))
    monkeypatch.delenv("MPLBACKEND", raising=False)  # under another backend, cells show no pictures
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    return notebook


@pytest.mark.slow
@each_notebook
def test_a_notebook_runs_without_data_and_gives_its_stored_outputs(path, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONWARNINGS", "ignore:IProgress not found")  # tqdm without ipywidgets
    (tmp_path / "no data").mkdir()
    notebook = run(path, tmp_path / "no data", monkeypatch, tmp_path)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [kinds(cell) for cell in code] == [kinds(cell) for cell in cells(path, "code")]


@pytest.mark.nightly
@pytest.mark.real_data
@pytest.mark.parametrize("path",
                         [path for path in NOTEBOOKS if "PYTERRIER_CWLA_DATA" in path.read_text(encoding="utf-8")],
                         ids=lambda path: path.stem)  # fmt: skip
def test_a_notebook_runs_on_real_data(path, data, tmp_path, monkeypatch):
    run(path, data, monkeypatch, tmp_path)
