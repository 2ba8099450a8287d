"""Files beside the code name the same versions as pyproject.toml."""

import importlib.metadata
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import conftest
import pyterrier_cwla

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def loaded(name):
    return yaml.safe_load((ROOT / name).read_text())


def test_other_files_have_the_versions_of_the_project():
    citation = loaded("CITATION.cff")
    assert citation["version"] == pyterrier_cwla.__version__
    assert citation["license"] == PROJECT["license"]
    assert all({"type", "title", "authors", "year"} <= paper.keys() for paper in citation["references"])
    settings = loaded(".readthedocs.yaml")
    [installation] = settings["python"]["install"]
    assert set(installation["extra_requirements"]) <= PROJECT["optional-dependencies"].keys()
    assert settings["build"]["tools"]["python"] in SpecifierSet(PROJECT["requires-python"])
    assert (ROOT / settings["sphinx"]["configuration"]).is_file()
    allowed = SpecifierSet(PROJECT["requires-python"])
    named = {one.rpartition(" ")[2] for one in PROJECT["classifiers"] if ":: 3." in one}
    assert named == {f"3.{minor}" for minor in range(8, 30) if f"3.{minor}" in allowed}
    [ruff] = [one for one in map(Requirement, PROJECT["optional-dependencies"]["test"]) if one.name == "ruff"]
    [revision] = [repo["rev"] for repo in loaded(".pre-commit-config.yaml")["repos"] if "ruff" in repo["repo"]]
    assert revision.removeprefix("v") in ruff.specifier


RECORD = """\
pyterrier_cwla/__init__.py,sha256=LPJNul-wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ,5
pyterrier_cwla/__pycache__/__init__.cpython-311.pyc,,
pyterrier_cwla/report.css,sha256=LPJNul-wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ,5
../../../bin/pyterrier-cwla,sha256=LPJNul-wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ,5
"""


def no_installation(name):
    raise importlib.metadata.PackageNotFoundError(name)


@pytest.mark.every_case
@pytest.mark.parametrize(("record", "change", "changed"), [
    (RECORD, lambda file: None, None),
    ("_pyterrier_cwla.pth,sha256=abc,5\n", lambda file: None, None),  # an editable installation
    (None, lambda file: None, None),
    (RECORD, lambda file: file.write_text("hallo"), "pyterrier_cwla/__init__.py"),
    (RECORD, Path.unlink, "pyterrier_cwla/__init__.py"),
])  # fmt: skip
def test_modules_that_changed_since_the_installation_are_named(record, change, changed, tmp_path, monkeypatch):
    for name, text in (("x.dist-info/RECORD", record or ""), ("pyterrier_cwla/__init__.py", "hello")):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    there = importlib.metadata.PathDistribution(tmp_path / "x.dist-info")
    monkeypatch.setattr(conftest, "files", (lambda name: there.files) if record else no_installation)
    change(tmp_path / "pyterrier_cwla" / "__init__.py")
    assert conftest.changed_since_installation(tmp_path) == changed


def test_the_session_stops_with_the_way_out(monkeypatch):
    monkeypatch.setattr(conftest, "changed_since_installation", lambda root: "pyterrier_cwla/x.py")
    with pytest.raises(pytest.UsageError, match=r"x\.py has changed .* pip install -e"):
        conftest.pytest_configure(object())
