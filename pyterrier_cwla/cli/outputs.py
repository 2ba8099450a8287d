"""Where a command may write: never onto or among its inputs, and onto another existing file with ``--force`` only."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..errors import BadParameter
from ..files.atomic import AnyPath, is_open_stream


def check_outputs(
    outputs: Iterable[tuple[str, Path | None]],
    inputs: Iterable[AnyPath | None],
    force: bool,
    folders: Iterable[tuple[str, Path | None]] = (),
) -> None:
    """Raise BadParameter where a command would overwrite an input, a file without ``--force``, or its own output.

    Files and folders inside an input folder are refused, too: the next command would read them.

    Parameters
    ----------
    outputs : iterable of (str, Path or None)
        The options that name what will be written, and the paths.
    inputs : iterable of path or None
        What is read: files, and folders with all that is in them. Links are followed, and hard links are the same file.
    force : bool
        Whether other files may be replaced.
    folders : iterable of (str, Path or None)
        The options that name folders to write into, and the paths.
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
            raise BadParameter(f"{other} and {shown} are one file. Write to two.")
        if path.exists():
            existing.append((shown, path, os.stat(path)))
    for file in files_in(inputs) if existing else ():
        for shown, _, state in existing:
            if os.path.samestat(state, os.stat(file)):
                raise BadParameter(f"{shown}: is the input {file}. Write to another file.")
    check_outside([*folders, *outputs], inputs)
    for shown, path, _ in existing:
        if path.is_file() and not force and not is_open_stream(path):
            raise BadParameter(f"{shown}: there is such a file. Write to another one, or replace it with --force.")


def check_outside(outputs: Iterable[tuple[str, Path | None]], inputs: Iterable[AnyPath | None]) -> None:
    """Raise BadParameter where an output is a folder that is an input, or lies inside one. Links are followed."""
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
                    f"{option} {path}: {where} the input folder {os.fspath(folder)}, whose files are inputs."
                    " Write outside of this folder."
                )


def files_in(paths: Iterable[AnyPath | None]) -> Iterator[Path]:
    """The files at these paths, and those in folders at any depth; nothing where there is none."""
    for path in paths:
        if path is None:
            continue
        if os.path.isdir(path):
            for folder, _, names in os.walk(path):
                yield from (Path(folder, name) for name in names if os.path.exists(os.path.join(folder, name)))
        elif os.path.exists(path):
            yield Path(path)
