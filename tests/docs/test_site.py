"""Tests of what builds the pages of the site."""

import inspect
import json
import re
from pathlib import Path

import api_pages
import notebook_pages
import pages
import pytest
from formulas import first_formula, latex

import pyterrier_cwla
from pyterrier_cwla.measures import reference
from pyterrier_cwla.model.language import TABLES

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.slow
def test_the_package_has_no_blocks_of_the_site_or_removed_examples(tmp_path):
    shipped = pages.shipped()
    assert {"index.rst", "tutorials/index.rst", "tutorials/add_time.rst"} <= shipped.keys()
    assert not [name for name, text in shipped.items() if "only:: site" in text or "raw:: html" in text]
    assert "examples/index" not in shipped["index.rst"]
    assert "tutorials/index" in shipped["index.rst"]
    import gallery_pictures

    for file in ("gallery/a/kept.py", "examples/a/kept.rst", "examples/a/gone.rst", "examples/a/index.rst"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("")
    gallery_pictures.remove_stale(tmp_path / "gallery", tmp_path / "examples")
    assert sorted(path.name for path in (tmp_path / "examples" / "a").iterdir()) == ["index.rst", "kept.rst"]


def test_a_block_of_the_site_ends_where_its_indentation_ends():
    block = ".. only:: site\n\n   b\n\n"
    for text, rest in {"   c\n\nd\n": "d\n", "": "", f"{block}d\n": "d\n"}.items():
        assert pages._without_site(f"a\n\n{block}{text}") == f"a\n\n{rest}"


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
    written = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "from" / "one_x.ipynb").write_text(json.dumps(written))
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
    page = (tmp_path / "to" / "a_thousand_users.ipynb").read_text(encoding="utf-8")
    assert "[Calibrate time-biased gain from a log](calibrate_from_a_log.ipynb)" in page


@pytest.fixture(scope="module")
def written():
    return api_pages.written(site=True)


@pytest.fixture(scope="module")
def objects(written):
    """Each object's page, by path."""
    return {path: text for path, text in written.items() if ".. auto" in text}


def test_each_public_function_and_class_has_one_page(objects):
    documented = re.findall(r"^\.\. auto(?:function|class):: pyterrier_cwla\.(\S+)$", "\n".join(objects.values()), re.M)
    assert len(documented) == len(set(documented)) == len(objects)
    for name in dir(pyterrier_cwla):
        thing = getattr(pyterrier_cwla, name)
        assert (name in documented) == (inspect.isclass(thing) or inspect.isroutine(thing)), name
    some = {"behaviour.calibrate", "studies.Grid", "studies.grid", "evaluation.cluster.evaluate", "errors.BadRun"}
    assert some <= {*documented}
    assert "evaluation.evaluate" not in documented  # it is the function ``evaluate``


def test_a_page_names_the_import_and_the_import_works(objects):
    for text in objects.values():
        [line] = re.findall(r"^   (from .*)$", text, re.M)
        names = {}
        exec(line, names)
        [target] = re.findall(r"^\.\. auto(?:function|class):: (\S+)$", text, re.M)
        assert target == line.replace("from ", "").replace(" import ", ".")
        assert (".. autoclass" in text) == inspect.isclass(names[target.rpartition(".")[2]])


def test_each_page_is_in_one_group_with_a_title(written, objects):
    groups = [path for path in written if path.startswith("api/group-")]
    listed = [name for path in groups for name in re.findall(r"^   \S+ <(.*)>$", written[path], re.M)]
    assert sorted(f"api/{name}.rst" for name in listed) == sorted(objects)
    assert sorted(re.findall(r"^   .* <(api/group-.*)>$", written["api.rst"], re.M)) == sorted(p[:-4] for p in groups)
    for path in groups:
        assert "_" not in written[path].splitlines()[0]
        assert written[path].splitlines()[0] in api_pages._GROUPS.values(), f"{path} needs a title in _GROUPS"
    first = "     - Explain the score of one query rank by rank, for one run or for two runs side by side."
    assert first in written["api/group-evaluation.rst"]
    names = re.findall(r"^   (\S+) <", written["api/group-behaviour-clicks.rst"], re.M)
    kinds = [(name[0].isupper(), name.startswith("plot_")) for name in names]
    assert kinds == sorted(kinds)
    assert "cascade_from_clicks" == names[0]
    assert len({path.lower() for path in written}) == len(written)


def test_the_first_sentence_is_a_formula_or_none():
    for text, formula in {"C(i) = φ. Static. V⁺ = 1/(1−φ).": "C(i) = φ", "φ(i) = 1/i.": "φ(i) = 1/i", "": "",
                          "The k of @k.": "", "r = (g − 0.5)\n/ 2, and more. Then.": "r = (g − 0.5) / 2, and more"}.items():  # fmt: skip
        assert first_formula(text) == formula


def test_formulas_are_written_as_latex():
    for text, written in {
        "r_i": "r_{i}", "T_S + h_b·x": r"T_{S} + h_{b}\cdot x", "2^(−e_i/h)": "2^{-e_{i}/h}", "2^max_rel": r"2^{\text{max_rel}}",
        "2^10 + 2^g": "2^{10} + 2^{g}", "Σ_{j≤i} r_j": r"\sum _{j\le i} r_{j}", "max_{j≤i} r_j": r"\max _{j\le i} r_{j}",
        "log2(i+1)": r"\log_2 (i+1)", "a / b": r"\frac{a}{b}", "g ≥ rel": r"g \ge  \text{rel}",
        "(g − 1) / (max_rel − min_rel)": r"\frac{g - 1}{\text{max_rel} - \text{min_rel}}",
        "((i − 1) / (i + 1))²": r"\left(\frac{i - 1}{i + 1}\right)^2", "x = (a) + (b) / 2": r"x = \frac{(a) + (b)}{2}",
        "1 for i < k, else 0": r"1 \text{ for } i < k, \text{ else } 0", "max(0, 1 − E(i)/T)": r"\max (0, 1 - E(i)/T)",
        "P(C=1|g)·seconds[g]": r"P(C=1|g)\cdot \text{seconds}[g]",
    }.items():  # fmt: skip
        assert latex(text) == written


def test_the_formulas_of_functions_are_valid():
    parts = [e for e in reference.entries() if e.kind in TABLES and TABLES[e.kind][e.name].built_in]
    with_formula = [entry for entry in parts if first_formula(entry.formula)]
    assert {entry.name for entry in parts} - {entry.name for entry in with_formula} == {"given"}
    converter = pytest.importorskip("docutils.utils.math.latex2mathml", reason="docutils is in the extra [docs]")
    for entry in with_formula:
        for line in first_formula(entry.formula).split("; "):
            assert converter.tex2mathml(latex(line), as_block=True).startswith("<math"), entry.name
            assert not set(latex(line)) & set("φΣ−·≤≥²₁₂⁺γθδβ"), entry.name
    with pytest.raises(ValueError, match="not closed"):
        latex("C(i")
