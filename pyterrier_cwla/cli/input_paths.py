"""Paths of inputs as users write them: ``-`` for standard input, and patterns that the shell did not expand."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import typer

from ..errors import BadParameter, MalformedFile, near
from .options import STDIN, STDIN_FOLDER


def resolved(context: typer.Context, value: Any) -> Any:
    """Return the path or paths of an argument with standard input in a file, and with patterns expanded in lists."""
    if isinstance(value, list):
        return [path for one in value for path in _expanded(context, Path(one))]
    return value if value is None else _file_of(context, Path(value))


def check_exists(path: Path, more: str = "") -> None:
    """Raise MalformedFile with near names in its folder if a path does not exist."""
    if path.exists():
        return
    there = [place.name for place in path.parent.iterdir()] if path.parent.is_dir() else []
    hint = near(path.name, there)
    hint = f" {hint}" if hint.startswith("Near") else ""
    raise MalformedFile(f"{path}: no such file or directory.{more or hint}")


def _expanded(context: typer.Context, path: Path) -> Iterator[Path]:
    if path.exists() or not re.search(r"[*?[]", str(path)):
        yield _file_of(context, path)
        return
    import glob

    found = sorted(glob.glob(str(path), recursive=True))
    if not found:
        raise MalformedFile(f"{path}: no file matches this pattern.")
    yield from map(Path, found)


def _file_of(context: typer.Context, path: Path) -> Path:
    """Return the path, or a file with the content of standard input or a stream that exists until the command ends."""
    if _is_stream(path):
        with open(path, "rb") as stream:
            return _copied(context, stream, STDIN if path.name == STDIN else f"fd{path.name}")
    if str(path) != "-":
        return path
    if sys.stdin is None or sys.stdin.isatty():
        raise BadParameter("-: standard input is a terminal. Send a file to it, as in `zcat run.gz |`, or give a path.")
    if context.meta.setdefault(__name__, path) is not path:
        raise BadParameter("-: standard input can be given once only. Give a path for the other file.")
    return _copied(context, sys.stdin.buffer, STDIN)


def _is_stream(path: Path) -> bool:
    """Return whether a path is a pipe of the shell, such as that of ``<(zcat run.gz)``. Other pipes may never end."""
    return path.parent.as_posix() in ("/dev", "/dev/fd", "/proc/self/fd") and path.is_fifo()


def _copied(context: typer.Context, stream: IO[bytes], name: str) -> Path:
    import shutil
    import tempfile

    folder = tempfile.TemporaryDirectory(prefix=STDIN_FOLDER)
    context.call_on_close(folder.cleanup)
    place = Path(folder.name, name)
    with open(place, "wb") as file:
        shutil.copyfileobj(stream, file)
    return place
