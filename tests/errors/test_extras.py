"""Errors about packages that are not installed name a command that installs them, wherever the package came from."""

import ast
import importlib.metadata
import importlib.util
import re
import shlex
import shutil
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import pyterrier_cwla
from pyterrier_cwla.errors import CWLAError
from pyterrier_cwla.errors.extras import needed

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def message(extra, error=None):
    with pytest.raises(CWLAError) as caught, needed("this needs that", extra):
        raise error or ModuleNotFoundError("no module")
    return str(caught.value)


@pytest.fixture
def installed(monkeypatch):
    """Set the metadata of this package, the versions of all packages, and which installers there are."""

    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    def install(requirements, versions, pip=True, uv=False):
        def version(name):
            return versions[name] if name in versions else missing(name)

        monkeypatch.setattr(importlib.metadata, "requires", lambda name: requirements or missing(name))
        monkeypatch.setattr(importlib.metadata, "version", version)
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: pip or None)
        monkeypatch.setattr(shutil, "which", lambda name: uv or None)

    return install


REQUIRES = ["numpy>=2", "tomli; python_version < '3'", "alpha>=1.5; extra == 'one'", "beta[fast]<3,>=2; extra == 'one'",
            "gamma; (python_version < '3') and extra == 'one'", 'pyterrier-cwla[one]; extra == "two"',
            'delta; extra == "two"']  # fmt: skip


def test_the_command_installs_what_is_missing_or_too_old(installed):
    for extra, versions, packages in (
        ("one", {}, '"alpha>=1.5" "beta[fast]<3,>=2"'), ("one", {"alpha": "1.5"}, '"beta[fast]<3,>=2"'),
        ("one", {"alpha": "1.4", "beta": "2.0"}, '"alpha>=1.5"'), ("one", {"alpha": "2.0rc1"}, '"beta[fast]<3,>=2"'),
        ("two", {"beta": "2.1"}, '"alpha>=1.5" "delta"'),
    ):  # fmt: skip
        installed(REQUIRES, versions)
        assert message(extra) == f'this needs that. Install the extra "{extra}": python -m pip install {packages}'


def test_other_installers_folders_and_broken_packages_are_named(installed):
    installed(REQUIRES, {"alpha": "2", "beta": "2"})
    assert message("one", ImportError("libGL.so.1: no such file")) == (
        'this needs that (libGL.so.1: no such file). Install the extra "one": python -m pip install "alpha>=1.5"'
        ' "beta[fast]<3,>=2"'
    )
    for pip, uv, program in ((False, True, "uv"), (True, True, "python -m"), (False, False, "python -m")):
        installed(REQUIRES, {}, pip, uv)
        assert f': {program} pip install "alpha' in message("one")
    installed(None, {})
    assert message("plots") == (
        'this needs that. Install the extra "plots" of pyterrier-cwla: python -m pip install ".[plots]" in its clone.'
    )


def test_other_errors_and_the_cause_are_kept():
    with pytest.raises(KeyError), needed("this needs that", "plots"):
        raise KeyError("other")
    with pytest.raises(CWLAError) as caught, needed("this needs that", "plots"):
        import nothing.of.this.name  # noqa: F401
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)
    # Metadata and `packaging` are imported only for a message.
    assert sys.modules[needed.__module__].__dict__.keys().isdisjoint({"importlib", "Requirement", "shutil"})


EXTRAS_USED = {
    ast.literal_eval(node.keywords[0].value)
    for path in Path(pyterrier_cwla.__file__).parent.rglob("*.py")
    for node in ast.walk(ast.parse(path.read_text()))
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "needed"
}


@pytest.mark.slow
def test_every_extra_that_the_code_names_exists_and_is_documented():
    assert EXTRAS_USED == {"cli", "cluster", "demo", "duplicates", "explorer", "lightgbm", "parallel", "plots", "studies",
                           "torch", "tune"}  # fmt: skip
    assert EXTRAS_USED <= EXTRAS.keys()
    text = (Path(__file__).parents[2] / "docs" / "start.rst").read_text()
    users = EXTRAS.keys() - {"benchmarks", "docs", "mutation", "test"}
    assert set(re.findall(r"^``(\w+)``  ", text, re.M)) == users


@pytest.mark.parametrize("extra", sorted(EXTRAS_USED))
def test_the_command_is_one_that_a_shell_reads(extra):
    *_, command = message(extra).split(": ")
    words = shlex.split(command)
    assert "pip install" in " ".join(words)
    assert "pyterrier-cwla" not in words  # the package is installed from a clone as well, where its own name fails
    names = {Requirement(one).name for one in EXTRAS[extra]} - {"pyterrier-cwla"}
    assert names & {Requirement(word).name for word in words[words.index("install") + 1 :]}
