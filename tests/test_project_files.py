"""Files beside the code name the same versions as pyproject.toml."""

import tomllib
from pathlib import Path

import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import pyterrier_cwla

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def loaded(name):
    return yaml.safe_load((ROOT / name).read_text())


def test_pre_commit_runs_a_ruff_that_the_tests_allow():
    [ruff] = [one for one in map(Requirement, PROJECT["optional-dependencies"]["test"]) if one.name == "ruff"]
    [revision] = [repo["rev"] for repo in loaded(".pre-commit-config.yaml")["repos"] if "ruff" in repo["repo"]]
    assert revision.removeprefix("v") in ruff.specifier


def test_the_citation_has_the_version_of_the_package():
    citation = loaded("CITATION.cff")
    assert citation["version"] == pyterrier_cwla.__version__
    assert citation["license"] == PROJECT["license"]
    assert all({"type", "title", "authors", "year"} <= paper.keys() for paper in citation["references"])


def test_read_the_docs_installs_an_extra_and_a_python_that_exist():
    settings = loaded(".readthedocs.yaml")
    [installation] = settings["python"]["install"]
    assert set(installation["extra_requirements"]) <= PROJECT["optional-dependencies"].keys()
    assert settings["build"]["tools"]["python"] in SpecifierSet(PROJECT["requires-python"])
    assert (ROOT / settings["sphinx"]["configuration"]).is_file()


def test_the_classifiers_are_the_pythons_that_are_allowed():
    allowed = SpecifierSet(PROJECT["requires-python"])
    named = {one.rpartition(" ")[2] for one in PROJECT["classifiers"] if ":: 3." in one}
    assert named == {f"3.{minor}" for minor in range(8, 30) if f"3.{minor}" in allowed}
