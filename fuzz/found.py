"""Checks shared by the targets: input files, results and comparisons."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyterrier_cwla.errors import CWLAError

from . import place

SCRATCH = place.FOLDER


class Wrong(AssertionError):
    """Failure of a check for an input."""


def scratch(data: bytes, name: str = "input") -> Path:
    """Write the content to a file, always with the same path, and return its path."""
    path = SCRATCH / name
    with open(path, "wb") as file:
        file.write(data)
    return path


def result_of(read: Callable[[], Any], mark: str = "") -> Any:
    """Return the result of a reader, or its CWLAError, which must contain ``mark``; other errors propagate."""
    try:
        return read()
    except CWLAError as error:
        if mark not in str(error):
            raise Wrong(f"an error that does not name {mark!r}: {error}") from error
        return error


def same(found: Any, slow: Any, what: str) -> bool:
    """Compare a result with that of the slow reader and return whether the input is valid.

    Raises Wrong if the values differ, or if only one of the two is an error.
    """
    if isinstance(slow, CWLAError | ValueError):
        if not isinstance(found, Exception):
            raise Wrong(f"{what}: returned {found!r:.300}, expected an error: {slow}")
        return False
    if isinstance(found, Exception):
        raise Wrong(f"{what}: raised an error ({found!s:.300}), expected {slow!r:.300}")
    if repr(found) != repr(slow):
        raise Wrong(f"{what}: returned {found!r:.500}, expected {slow!r:.500}")
    return True
