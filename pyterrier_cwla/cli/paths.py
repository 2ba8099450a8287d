"""Paths of inputs, as users write them, and checks of output paths."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import typer

from ..errors import BadParameter, MalformedFile, near
from ..files.atomic import AnyPath, is_open_stream
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


def temporary(at_end: Callable[[Callable[[], None]], Any], name: str) -> Path:
    """Return the path of a new file that messages show by its name alone; `at_end` registers its removal."""
    import tempfile

    folder = tempfile.TemporaryDirectory(prefix=STDIN_FOLDER)
    at_end(folder.cleanup)
    return Path(folder.name, name)


def _copied(context: typer.Context, stream: IO[bytes], name: str) -> Path:
    import shutil

    place = temporary(context.call_on_close, name)
    with open(place, "wb") as file:
        shutil.copyfileobj(stream, file)
    return place


def check_outputs(
    outputs: Iterable[tuple[str, Path | None]],
    inputs: Iterable[AnyPath | None],
    force: bool,
    folders: Iterable[tuple[str, Path | None]] = (),
) -> None:
    """Check that a command overwrites neither an input, nor its own output, nor (without ``--force``) any file.

    Outputs inside an input folder are errors too, because the next command would read them as inputs.

    Parameters
    ----------
    outputs : iterable of (str, Path or None)
        Options and paths of output files.
    inputs : iterable of path or None
        Input files and folders, including all files in these folders. Symbolic and hard links are resolved.
    force : bool
        If True, other existing files may be replaced.
    folders : iterable of (str, Path or None)
        Options and paths of output folders.

    Raises
    ------
    BadParameter
        If a check fails; the message names the option and the path.
    """
    outputs, inputs = [*outputs], [*inputs]
    written: dict[str, str] = {}
    existing = []
    for option, path in outputs:
        if path is None:
            continue
        shown = f"{option} {path}"
        other = written.setdefault(os.path.realpath(path), shown)
        if other is not shown:
            raise BadParameter(f"{other} and {shown} are the same file. Write to two files.")
        if path.exists():
            existing.append((shown, path, os.stat(path)))
    for file in files_in(inputs) if existing else ():
        for shown, _, state in existing:
            if os.path.samestat(state, os.stat(file)):
                raise BadParameter(f"{shown}: this file is the input {file}. Write to another file.")
    check_outside([*folders, *outputs], inputs)
    for shown, path, _ in existing:
        if path.is_file() and not force and not is_open_stream(path):
            raise BadParameter(f"{shown}: the file exists. Write to another file, or replace it with --force.")


def check_outside(outputs: Iterable[tuple[str, Path | None]], inputs: Iterable[AnyPath | None]) -> None:
    """Raise BadParameter if an output is an input folder, or lies inside one. Links are resolved."""
    read = [
        (folder, Path(os.path.realpath(folder))) for folder in inputs if folder is not None and os.path.isdir(folder)
    ]
    for option, path in outputs:
        if path is None:
            continue
        place = Path(os.path.realpath(path))
        for folder, real in read:
            if place == real or real in place.parents:
                where = "is" if place == real else "lies inside"
                raise BadParameter(
                    f"{option} {path}: {where} the input folder {os.fspath(folder)}, and all files in it are"
                    " inputs. Write to another folder."
                )


def files_in(paths: Iterable[AnyPath | None]) -> Iterator[Path]:
    """Yield the existing files among the paths, and all files in folders among them, at any depth."""
    for path in paths:
        if path is None:
            continue
        if os.path.isdir(path):
            for folder, _, names in os.walk(path):
                yield from (Path(folder, name) for name in names if os.path.exists(os.path.join(folder, name)))
        elif os.path.exists(path):
            yield Path(path)
