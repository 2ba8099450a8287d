"""How large a file may be that is read whole, once it is unpacked: as large as memory has room for, or as one says."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import pyarrow as pa

from ..errors import BadParameter, MalformedFile

SETTING = "PYTERRIER_CWLA_READ_LIMIT"
"""The environment variable that says how many bytes a file may have when it is read whole: ``8G``, ``500M``."""

_BLOCK = 1 << 24
_SMALL = 1 << 20  # bytes for which there is always room
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_UNKNOWN = 4 << 30  # bytes that are taken to be free where the system does not say it
_CGROUPS = (  # where containers are told what they may have, what they have, and what that counts
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes",
     "/sys/fs/cgroup/memory/memory.stat"),
)  # fmt: skip


class NoRoom(MalformedFile):
    """A file that is larger than may be read whole."""


def check_file(path: str) -> int:
    """The bytes of a file. Pipes and devices, which cannot be read twice, or never end, raise MalformedFile."""
    found = os.stat(path)
    if stat.S_ISDIR(found.st_mode):
        raise MalformedFile(f"{path}: Is a directory")
    if not stat.S_ISREG(found.st_mode):
        raise MalformedFile(f"{path}: no regular file but a pipe or a device: save what it gives to a file first.")
    return found.st_size


def unpacked(path: str, packing: str | None = None, held: int = 3) -> bytes:
    """What a file holds, plain or packed by ``gzip`` or ``zstd``.

    ``held``: how often its content is in memory while it is made into rows.

    Raises MalformedFile for what is no regular file, and for more than there is room for: the file is then not read
    any further.
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
    """Raises NoRoom, a MalformedFile, where there are more bytes than may be."""
    if not has_room(size, held):
        raise NoRoom(
            f"{path}: {_said(size)} or more once it is unpacked (the file has {_said(os.path.getsize(path))}), and one"
            f" file that is read whole may have {_said(most(held))} here. A run need not be read whole: give evaluate"
            f" its path. Or set another limit, such as {limit_for(size)}."
        )


def refuse_beyond_memory(size: int, what: str) -> None:
    """Raises BadParameter where an array of so many bytes, and a copy of it, do not fit into free memory."""
    if size > _SMALL and 2 * size > (there := free()):
        least = _said(min(2 * size, 1 << 60))
        raise BadParameter(f"{what} take at least {least} of memory, and {_said(there)} are free: give a lower number.")


def has_room(size: int, held: int = 3) -> bool:
    """Whether there may be so many bytes."""
    return size <= _SMALL or size <= most(held)


def most(held: int = 3) -> int:
    """How many bytes a file may have: what ``SETTING`` says, or else as fits in free memory this many times."""
    text = os.environ.get(SETTING, "").strip()
    if not text:
        return free() // held
    found = re.fullmatch(r"(\d{1,15})([KMGT]?)B?", text.upper(), re.ASCII)
    if found is None:
        raise BadParameter(f"{SETTING}={text!r} must be a number of bytes, such as 8G, 500M or 1000000.")
    return int(found[1]) * _UNITS[found[2]]


def free() -> int:
    """Bytes of memory that a process here may still take, in a container or out of it."""
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
    """What a cgroup has left, the pages of files that it can drop among it; 0 where it has no limit."""
    try:
        allowed, taken = int(Path(limit).read_text()), int(Path(usage).read_text())
    except (OSError, ValueError):
        return 0
    kept = _numbers(details)
    return max(1, allowed - taken + kept.get("inactive_file", 0) + kept.get("active_file", 0))


def _numbers(path: str) -> dict[str, int]:
    """The first number of each line by the word before it."""
    try:
        lines = [line.split() for line in Path(path).read_text().splitlines()]
    except OSError:
        return {}
    return {words[0]: int(words[1]) for words in lines if len(words) > 1 and words[1].isdigit()}


def _said(size: int) -> str:
    for unit in ("T", "G", "M", "k"):
        if size >= (one := _UNITS[unit.upper()]):
            return f"{size / one:.1f} {unit}iB".replace("ki", "Ki")
    return f"{size:,} bytes"


def limit_for(size: int) -> str:
    """The setting that leaves twice the room for so many bytes, as an error names it."""
    return f"{SETTING}={-(-2 * size // _UNITS['G'])}G"
