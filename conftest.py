"""Fixtures for all tests: names in docstring examples, hypothesis profiles, removal of what a test has registered."""

import inspect
from typing import Any

import pytest
from hypothesis import settings

# No deadlines: the duration of an example depends on the load of the machine.
settings.register_profile("development", deadline=None, max_examples=5)
settings.register_profile("ci", deadline=None, max_examples=50)


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
