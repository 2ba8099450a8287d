"""Files that are whole or not there: written beside their place, and put there when the last byte is on the disk."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from ..errors import NotWritten

AnyPath = str | os.PathLike[str]
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def written(path: AnyPath) -> Iterator[Path]:
    """Where to write a file that is to be ``path``: it has that name when it is whole, and not before.

    What stood there stays until then, and for good where writing fails or is interrupted. What is no file, such as
    /dev/stdout or a named pipe, is written to directly. Where a shell sends /dev/stdout, /dev/stderr or /dev/fd/3 to a
    file, what is written comes behind what stands there, when it is whole.

    Raises NotWritten where the system refuses: no such folder, no right to write there, no space left.

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
    """Whether this is a stream that the shell has opened, such as /dev/stdout."""
    return _descriptor(path) is not None


def _descriptor(path: AnyPath) -> int | None:
    """The number of the open file of this process that /dev/stdout, /dev/fd/3 and their like mean.

    Opened by their name, they would be emptied, and written to from the beginning.
    """
    name = os.path.abspath(path)
    if name in ("/dev/stdout", "/dev/stderr"):
        return ("/dev/stdout", "/dev/stderr").index(name) + 1
    folder, number = os.path.split(name)
    mine = ("/dev/fd", "/proc/self/fd", f"/proc/{os.getpid()}/fd")
    return int(number) if folder in mine and number.isdecimal() else None


def beside(place: Path) -> Path:
    """A hidden name in the same folder, with the same suffixes, that nobody else has."""
    return place.with_name(f".part-{os.getpid()}-{uuid4().hex[:8]}-{place.name[-100:]}")


@contextmanager
def moved(part: Path, place: Path) -> Iterator[None]:
    """What is written to the one name takes the place of the other; it is gone where writing fails."""
    try:
        yield
        os.replace(part, place)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def refusing(path: AnyPath, *places: Path, way_out: str = "give another place") -> Iterator[None]:
    """Says of which file an error of the system speaks, and what to do; those of other files pass."""
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
