"""Tests run modules of the folder; they stop if other processes would run an older copy."""

import importlib.metadata
from pathlib import Path

import pytest

import conftest

RECORD = """\
pyterrier_cwla/__init__.py,sha256=LPJNul-wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ,5
pyterrier_cwla/__pycache__/__init__.cpython-311.pyc,,
pyterrier_cwla/report.css,sha256=LPJNul-wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ,5
../../../bin/pyterrier-cwla,sha256=LPJNul-wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ,5
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Set the record of the installed package and return the folder of its source."""

    def install(record):
        (tmp_path / "x.dist-info").mkdir()
        (tmp_path / "x.dist-info" / "RECORD").write_text(record)
        there = importlib.metadata.PathDistribution(tmp_path / "x.dist-info")
        monkeypatch.setattr(conftest, "files", lambda name: there.files)
        (tmp_path / "pyterrier_cwla").mkdir()
        (tmp_path / "pyterrier_cwla" / "__init__.py").write_text("hello")
        return tmp_path

    return install


def test_a_copy_of_the_folder_is_tested(installed):
    assert conftest.changed_since_installation(installed(RECORD)) is None


@pytest.mark.parametrize("change", [lambda file: file.write_text("hallo"), Path.unlink])
def test_a_changed_or_removed_module_is_named(installed, change):
    root = installed(RECORD)
    change(root / "pyterrier_cwla" / "__init__.py")
    assert conftest.changed_since_installation(root) == "pyterrier_cwla/__init__.py"


def test_an_editable_installation_never_changes(installed):
    assert conftest.changed_since_installation(installed("_pyterrier_cwla.pth,sha256=abc,5\n")) is None


def test_without_an_installation_nothing_can_be_old(tmp_path, monkeypatch):
    def files(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(conftest, "files", files)
    assert conftest.changed_since_installation(tmp_path) is None


def test_the_session_stops_with_the_way_out(monkeypatch):
    monkeypatch.setattr(conftest, "changed_since_installation", lambda root: "pyterrier_cwla/x.py")
    with pytest.raises(pytest.UsageError, match=r"x\.py has changed .* pip install -e"):
        conftest.pytest_configure(object())
