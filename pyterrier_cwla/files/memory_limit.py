"""Inputs are regular files, and those that are read completely have a memory limit.

By default, the limit is the free memory; an environment variable sets another.
"""

from __future__ import annotations

import os
import re
import stat
from io import BufferedReader
from pathlib import Path

import pyarrow as pa

from ..errors import BadParameter, MalformedFile, some
from .atomic import AnyPath

SETTING = "PYTERRIER_CWLA_READ_LIMIT"
"""Environment variable with the largest number of bytes of a file that is read completely: ``8G``, ``500M``."""

_BLOCK = 1 << 24
_SMALL = 1 << 20  # bytes that are always allowed
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_UNKNOWN = 4 << 30  # bytes of free memory to assume if the system does not report it
_CGROUPS = (  # files with the memory limit, the usage, and the statistics of a container
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes",
     "/sys/fs/cgroup/memory/memory.stat"),
)  # fmt: skip


class NoRoom(MalformedFile):
    """Error for a file that exceeds the memory limit."""


def check_file(path: str) -> int:
    """Return the size of a file in bytes; raise MalformedFile for pipes and devices, which cannot be read twice."""
    found = os.stat(path)
    if stat.S_ISDIR(found.st_mode):
        files = sorted(entry.name for entry in os.scandir(path) if entry.is_file() and entry.name[0] not in "._")
        raise MalformedFile(f"{path}: is a folder. Give a file{f' in it, such as {some(files)}' if files else ''}.")
    if not stat.S_ISREG(found.st_mode):
        raise MalformedFile(
            f"{path}: no regular file but a pipe or a device: save its content to a file first; on the command line,"
            " - is standard input."
        )
    return found.st_size


def open_file(path: AnyPath) -> BufferedReader:
    """Open an input to read its bytes; raise MalformedFile for pipes and devices, which may have no end."""
    check_file(os.fsdecode(path))
    return open(path, "rb")


def unpacked(path: str, packing: str | None = None, held: int = 3) -> bytes:
    """Return the content of a file.

    Parameters
    ----------
    path : str
        Path of the file.
    packing : {"gzip", "zstd", None}, default=None
        Compression of the file.
    held : int, default=3
        Number of copies of the content in memory while it is parsed.

    Raises
    ------
    MalformedFile
        If the file is not a regular file, or if its content exceeds the memory limit; reading then stops.
    """
    check_room(path, check_file(path), held)
    with pa.input_stream(path, compression=packing) as stream:
        if packing is None:
            return stream.read()
        blocks: list[bytes] = []
        total = 0
        while block := stream.read(_BLOCK):
            blocks.append(block)
            total += len(block)
            check_room(path, total, held)
        return b"".join(blocks)


def check_room(path: str, size: int, held: int = 3) -> None:
    """Raise NoRoom, a MalformedFile, if a content of `size` bytes exceeds the memory limit."""
    if not has_room(size, held):
        raise NoRoom(
            f"{path}: {_said(size)} or more once it is unpacked (the file has {_said(os.path.getsize(path))}). The"
            f" limit for files that are read completely is {_said(most(held))} here. evaluate reads runs in parts"
            f" if it is given their path. Or set another limit, such as {limit_for(size)}."
        )


def refuse_beyond_memory(size: int, what: str) -> None:
    """Raise BadParameter if an array of `size` bytes and a copy of it do not fit into free memory."""
    if size > _SMALL and 2 * size > (there := free()):
        least = _said(min(2 * size, 1 << 60))
        raise BadParameter(f"{what} take at least {least} of memory, and {_said(there)} are free: give a lower number.")


def has_room(size: int, held: int = 3) -> bool:
    """Return whether a content of `size` bytes is within the memory limit."""
    return size <= _SMALL or size <= most(held)


def most(held: int = 3) -> int:
    """Return the memory limit in bytes: the value of ``SETTING``, or the free memory divided by `held`."""
    text = os.environ.get(SETTING, "").strip()
    if not text:
        return free() // held
    found = re.fullmatch(r"(\d{1,15})([KMGT]?)B?", text.upper(), re.ASCII)
    if found is None:
        raise BadParameter(f"{SETTING}={text!r} must be a number of bytes, such as 8G, 500M or 1000000.")
    return int(found[1]) * _UNITS[found[2]]


def free() -> int:
    """Return the free memory in bytes, including the limits of containers."""
    found = [_free_of(*paths) for paths in _CGROUPS]
    found.append(_numbers("/proc/meminfo").get("MemAvailable:", 0) << 10)
    known = [size for size in found if size]
    if known:
        return min(known)
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return _UNKNOWN


def _free_of(limit: str, usage: str, details: str) -> int:
    """Return the free memory of a cgroup, including droppable file pages; 0 without a limit."""
    try:
        allowed, taken = int(Path(limit).read_text()), int(Path(usage).read_text())
    except (OSError, ValueError):
        return 0
    kept = _numbers(details)
    return max(1, allowed - taken + kept.get("inactive_file", 0) + kept.get("active_file", 0))


def _numbers(path: str) -> dict[str, int]:
    """Return the first number of each line by the word before it."""
    try:
        lines = [line.split() for line in Path(path).read_text().splitlines()]
    except OSError:
        return {}
    return {words[0]: int(words[1]) for words in lines if len(words) > 1 and words[1].isdigit()}


def _said(size: int) -> str:
    unit = next((unit for unit in "TGMK" if size >= _UNITS[unit]), None)
    return f"{size:,} bytes" if unit is None else f"{size / _UNITS[unit]:.1f} {unit}iB"


def limit_for(size: int) -> str:
    """Return a setting with a limit of twice `size` bytes, for error messages."""
    return f"{SETTING}={-(-2 * size // _UNITS['G'])}G"
