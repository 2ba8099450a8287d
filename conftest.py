"""What every docstring example may use, without importing it."""

from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _doctest_names(doctest_namespace: dict[str, Any]) -> None:
    import pyterrier_cwla

    doctest_namespace.update({name: getattr(pyterrier_cwla, name) for name in pyterrier_cwla.__all__})
