"""Fixtures for all tests: names in docstring examples, hypothesis profiles, removal of what a test has registered."""

import base64
import hashlib
import inspect
import os
from collections import defaultdict
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

ROOT = Path(__file__).parent
CASES = 4  # of a parametrised test, from the first to the last; the slow or the nightly tests run the others

# No deadlines: the duration of an example depends on the load of the machine.
settings.register_profile("development", deadline=None, max_examples=5)
settings.register_profile("ci", deadline=None, max_examples=50)


def pytest_configure(config: pytest.Config) -> None:
    """Stop if the package was installed as a copy and changed since: other processes of tests import the copy."""
    os.environ.pop("COLUMNS", None)  # pytest-xdist sets it; results are printed as into a pipe, at their full width
    changed = None if hasattr(config, "workerinput") else changed_since_installation(ROOT)
    if changed:
        raise pytest.UsageError(
            f"{changed} has changed since the package was installed, and some tests run the installed package. Install"
            " it again: python -m pip install -e '.[test]'. With -e, later changes need no installation."
        )


@pytest.hookimpl(tryfirst=True)  # before tests are selected by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave all but some cases to the slow tests, and those of slow tests to nightly ones, but for ``every_case``."""
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("every_case") is None:
            cases[item.nodeid.partition("[")[0]].append(item)
    for several in cases.values():
        kept = {round(number * (len(several) - 1) / (CASES - 1)) for number in range(CASES)}
        for place, item in enumerate(several):
            if place not in kept:
                item.add_marker("slow" if item.get_closest_marker("slow") is None else "nightly")


def changed_since_installation(root: Path) -> str | None:
    """Return the first module in a folder that differs from its installed copy; None with ``pip install -e``."""
    try:
        installed = files("pyterrier-cwla") or []
    except PackageNotFoundError:
        return None
    for file in installed:
        if file.parts[0] == "pyterrier_cwla" and file.suffix == ".py" and file.hash is not None:
            here = root / file
            code = here.read_bytes() if here.is_file() else b""
            digest = base64.urlsafe_b64encode(hashlib.new(file.hash.mode, code).digest()).decode()
            if digest.rstrip("=") != file.hash.value:
                return str(file)
    return None


@pytest.fixture(autouse=True)
def _language_as_it_was() -> Any:
    """Remove parts that a test has added to the language."""
    from pyterrier_cwla.model.language import TABLES

    before = {kind: dict(parts) for kind, parts in TABLES.items()}
    yield
    for kind, parts in before.items():
        TABLES[kind].clear()
        TABLES[kind].update(parts)


@pytest.fixture(autouse=True)
def _no_default_lengths() -> Any:
    """Remove the default table of lengths that a test has set."""
    from pyterrier_cwla.data.lengths import Lengths

    Lengths.default = None
    yield
    Lengths.default = None


@pytest.fixture(autouse=True)
def _doctest_names(doctest_namespace: dict[str, Any]) -> None:
    import pyterrier_cwla

    public = {name: getattr(pyterrier_cwla, name) for name in dir(pyterrier_cwla)}
    doctest_namespace.update({name: thing for name, thing in public.items() if not inspect.ismodule(thing)})
