"""Tests of the API reference: a page for each public function and class, in groups."""

import inspect
import re
import sys
from pathlib import Path

import pytest

import pyterrier_cwla

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))

import api_pages


@pytest.fixture(scope="module")
def written():
    return api_pages.written()


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
    assert {"behaviour.calibrate", "studies.Grid", "studies.grid", "evaluation.cluster.evaluate", "errors.BadRun"} <= {
        *documented
    }
    assert "evaluation.evaluate" not in documented  # it is the function ``evaluate``


def test_a_page_names_the_import_and_the_import_works(objects):
    for text in objects.values():
        [line] = re.findall(r"^   (from .*)$", text, re.M)
        names = {}
        exec(line, names)
        [target] = re.findall(r"^\.\. auto(?:function|class):: (\S+)$", text, re.M)
        assert target == line.replace("from ", "").replace(" import ", ".")
        assert (".. autoclass" in text) == inspect.isclass(names[target.rpartition(".")[2]])


def test_files_differ_where_case_is_ignored(written):
    assert len({path.lower() for path in written}) == len(written)


def test_each_page_is_in_one_group_with_a_title(written, objects):
    groups = [path for path in written if path.startswith("api/group-")]
    listed = [name for path in groups for name in re.findall(r"^   \S+ <(.*)>$", written[path], re.M)]
    assert sorted(f"api/{name}.rst" for name in listed) == sorted(objects)
    assert sorted(re.findall(r"^   .* <(api/group-.*)>$", written["api.rst"], re.M)) == sorted(p[:-4] for p in groups)
    for path in groups:
        assert "_" not in written[path].splitlines()[0]
        assert written[path].splitlines()[0] in api_pages._GROUPS.values(), f"{path} needs a title in _GROUPS"


def test_functions_come_before_pictures_and_classes(written):
    names = re.findall(r"^   (\S+) <", written["api/group-behaviour-clicks.rst"], re.M)
    kinds = [(name[0].isupper(), name.startswith("plot_")) for name in names]
    assert kinds == sorted(kinds)
    assert "cascade_from_clicks" == names[0]


def test_lists_show_the_first_sentence_of_the_docstring(written):
    assert (
        "     - Explain the score of one query rank by rank, for one run or for two runs side by side."
        in written["api/group-evaluation.rst"]
    )
