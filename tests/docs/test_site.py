"""Tests of what builds the pages of the site."""

import json
import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))

import notebook_pages  # noqa: E402
import pages  # noqa: E402


@pytest.mark.slow
def test_pages_in_the_package_have_no_blocks_of_the_site():
    shipped = pages.shipped()
    assert {"index.rst", "tutorials/index.rst", "tutorials/add_time.rst"} <= shipped.keys()
    assert not [name for name, text in shipped.items() if "only:: site" in text or "raw:: html" in text]
    assert "examples/index" not in shipped["index.rst"]
    assert "tutorials/index" in shipped["index.rst"]


@pytest.mark.parametrize(("text", "rest"), [
    ("a\n\n.. only:: site\n\n   b\n\n   c\n\nd\n", "a\n\nd\n"), ("a\n\n.. only:: site\n\n   b\n", "a\n\n"),
    ("a\n\n.. only:: site\n\n   b\n\n.. only:: site\n\n   c\n\nd\n", "a\n\nd\n"),
])  # fmt: skip
def test_a_block_of_the_site_ends_where_its_indentation_ends(text, rest):
    assert pages._without_site(text) == rest


def notebook(*cells):
    return {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def test_notebook_pages_link_the_file_and_name_pictures(tmp_path):
    shown = {"output_type": "display_data", "data": {"image/png": "aGk="}, "metadata": {}}
    own = {"mystnb": {"image": {"alt": "gain by rank"}}}
    cells = [
        {"cell_type": "markdown", "source": ["# A title\n", "\n", "What *is* learnt. More.\n"], "metadata": {}},
        {"cell_type": "markdown", "source": "## A section", "metadata": {}},
        {"cell_type": "code", "source": "plot()", "outputs": [shown], "metadata": {"tags": ["x"]}},
        {"cell_type": "code", "source": "plot()", "outputs": [shown], "metadata": own},
        {"cell_type": "code", "source": "1", "outputs": [], "metadata": {}},
    ]
    (tmp_path / "from").mkdir()
    (tmp_path / "from" / "one_x.ipynb").write_text(json.dumps(notebook(*cells)))
    notebook_pages.write(tmp_path / "from", tmp_path / "to")
    first, _, named, other, last = json.loads((tmp_path / "to" / "one_x.ipynb").read_text())["cells"]
    assert first["source"].startswith("# A title\n\n{download}`Download this notebook <../../notebooks/one_x.ipynb>`")
    assert "A section" in named["metadata"]["mystnb"]["image"]["alt"]
    assert named["metadata"]["tags"] == ["x"]
    assert other["metadata"]["mystnb"]["image"]["alt"] == "gain by rank"
    assert last == cells[-1]
    listed = (tmp_path / "to" / "index.rst").read_text()
    assert ":doc:`one_x`\n   What is learnt." in listed  # a notebook that no group names is listed, too


def test_the_list_of_notebooks_names_each_of_them(tmp_path):
    notebook_pages.write(DOCS.parent / "notebooks", tmp_path / "to")
    listed = re.findall(r"^:doc:`(\w+)`$", (tmp_path / "to" / "index.rst").read_text(), re.M)
    assert sorted(listed) == sorted(path.stem for path in (DOCS.parent / "notebooks").glob("*.ipynb"))
    described = re.findall(r"^   (.+)$", (tmp_path / "to" / "index.rst").read_text().replace(":hidden:", ""), re.M)
    assert {text[-1] for text in described if " " in text.strip()} == {"."}  # none ends before a list


def test_links_between_notebooks_show_titles(tmp_path):
    notebook_pages.write(DOCS.parent / "notebooks", tmp_path / "to")
    page = (tmp_path / "to" / "a_thousand_users.ipynb").read_text(encoding="utf-8")
    assert "[Calibrate time-biased gain from a log](calibrate_from_a_log.ipynb)" in page


def test_pages_of_removed_examples_go_and_others_stay(tmp_path):
    import gallery_pictures

    for file in ("gallery/a/kept.py", "examples/a/kept.rst", "examples/a/gone.rst", "examples/a/index.rst"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("")
    gallery_pictures.remove_stale(tmp_path / "gallery", tmp_path / "examples")
    assert sorted(path.name for path in (tmp_path / "examples" / "a").iterdir()) == ["index.rst", "kept.rst"]
