"""What a target finds wrong, and where it writes the file that a reader is to read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyterrier_cwla.errors import CWLAError

from . import place

SCRATCH = place.FOLDER


class Wrong(AssertionError):
    """An input with which something is not as it should be."""


def scratch(data: bytes, name: str = "input") -> Path:
    """A file with this content; the same one every time."""
    path = SCRATCH / name
    with open(path, "wb") as file:
        file.write(data)
    return path


def result_of(read: Callable[[], Any], mark: str = "") -> Any:
    """What is read, or the error of ours, which must hold this text; any other error goes through."""
    try:
        return read()
    except CWLAError as error:
        if mark not in str(error):
            raise Wrong(f"an error that does not name {mark!r}: {error}") from error
        return error


def same(found: Any, slow: Any, what: str) -> bool:
    """Whether something was read, and the same as slowly; an error where the other has none is wrong."""
    if isinstance(slow, CWLAError | ValueError):
        if not isinstance(found, Exception):
            raise Wrong(f"{what}: read as {found!r:.300}, where it is to be refused: {slow}")
        return False
    if isinstance(found, Exception):
        raise Wrong(f"{what}: refused ({found!s:.300}), where it is {slow!r:.300}")
    if repr(found) != repr(slow):
        raise Wrong(f"{what}: read as {found!r:.500}, and is {slow!r:.500}")
    return True
