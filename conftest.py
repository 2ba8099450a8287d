"""What every docstring example may use without importing it, and a language that tests leave as they found it."""

import inspect
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _language_as_it_was() -> Any:
    """What a test adds to the language is gone after it."""
    from pyterrier_cwla.model.language import TABLES

    before = {kind: dict(parts) for kind, parts in TABLES.items()}
    yield
    for kind, parts in before.items():
        TABLES[kind].clear()
        TABLES[kind].update(parts)


@pytest.fixture(autouse=True)
def _doctest_names(doctest_namespace: dict[str, Any]) -> None:
    import pyterrier_cwla

    public = {name: getattr(pyterrier_cwla, name) for name in dir(pyterrier_cwla)}
    doctest_namespace.update({name: thing for name, thing in public.items() if not inspect.ismodule(thing)})
