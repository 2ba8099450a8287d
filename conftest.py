"""What every docstring example may use without importing it, and a language that tests leave as they found it."""

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

    doctest_namespace.update({name: getattr(pyterrier_cwla, name) for name in pyterrier_cwla.__all__})
