"""Atomic file writes: a temporary file in the same folder, fsync, and rename."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import NotWritten

AnyPath = str | os.PathLike[str]
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def is_path(data: Any) -> bool:
    """Return whether an object is a path."""
    return isinstance(data, str | os.PathLike)


@contextmanager
def written(path: AnyPath) -> Iterator[Path]:
    """Write a file atomically, as a context manager: it is renamed to `path` once it is complete.

    An existing file stays until then, and remains if writing fails or is interrupted. Devices and named pipes are
    written to directly. If a shell redirects /dev/stdout, /dev/stderr or /dev/fd/3 to a file, the complete content is
    appended to it.

    Parameters
    ----------
    path : path
        Name of the finished file.

    Yields
    ------
    Path
        Temporary file to write to.

    Raises
    ------
    NotWritten
        If the folder does not exist, is not writable, or has no space left.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "scores.csv"
    >>> with written(path) as place:
    ...     _ = place.write_text("run,AP")
    ...     path.exists()
    False
    >>> path.read_text()
    'run,AP'
    """
    place = Path(os.path.realpath(path))  # a link stays one
    if place.exists() and not place.is_file():
        with refusing(path, place):
            yield place
        return
    descriptor = _descriptor(path)
    if descriptor is not None and place.exists():
        from tempfile import TemporaryDirectory

        with TemporaryDirectory() as folder, refusing(path, place, Path(folder, "part")):
            yield Path(folder, "part")
            with open(Path(folder, "part"), "rb") as file, open(descriptor, "wb", closefd=False) as stream:
                shutil.copyfileobj(file, stream)
        return
    part = beside(place)
    with refusing(path, place, part), moved(part, place):
        yield part
        with open(part, "rb+") as file:
            os.fsync(file.fileno())
        if place.exists():
            shutil.copymode(place, part)


def is_open_stream(path: AnyPath) -> bool:
    """Return whether a path is an open stream of this process, such as /dev/stdout."""
    return _descriptor(path) is not None


def _descriptor(path: AnyPath) -> int | None:
    """Return the file descriptor of a path such as /dev/stdout or /dev/fd/3, or None.

    Opening these by name would truncate a redirected file.
    """
    name = os.path.abspath(path)
    if name in ("/dev/stdout", "/dev/stderr"):
        return ("/dev/stdout", "/dev/stderr").index(name) + 1
    folder, number = os.path.split(name)
    mine = ("/dev/fd", "/proc/self/fd", f"/proc/{os.getpid()}/fd")
    return int(number) if folder in mine and number.isdecimal() else None


def beside(place: Path) -> Path:
    """Return a unique hidden name in the same folder, with the same suffixes."""
    return place.with_name(f".part-{os.getpid()}-{os.urandom(4).hex()}-{place.name[-100:]}")


@contextmanager
def moved(part: Path, place: Path) -> Iterator[None]:
    """Rename `part` to `place` after the block; delete it if the block fails."""
    try:
        yield
        os.replace(part, place)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def refusing(path: AnyPath, *places: Path, way_out: str = "give another place") -> Iterator[None]:
    """Turn errors of the system about `places` into NotWritten, with the name of the file and a way out."""
    try:
        yield
    except (BrokenPipeError, NotWritten):
        raise
    except OSError as error:
        if error.filename is not None and Path(error.filename) not in places:
            raise
        why = os.strerror(error.errno) if error.errno else str(error)
        room = "make room there, or " if error.errno in NO_ROOM else ""
        raise NotWritten(f"{os.fspath(path)}: cannot be written ({why}): {room}{way_out}.") from error
