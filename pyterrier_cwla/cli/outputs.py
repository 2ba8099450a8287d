"""Checks of output paths: inputs are never overwritten, and other files only with ``--force``."""

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
