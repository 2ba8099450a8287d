"""Generators of nearly valid text files, with lines and fields, for the targets that read text."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa

from . import plain
from .found import result_of, same, scratch

BLANKS = [b" "] * 12 + [b"\t", b"\t", b"  ", b" \t ", b"\v", b"\f", b",", b"\xc2\xa0", b"\x1c"]
ENDS = [b"\n"] * 12 + [b"\r\n", b"\r\n", b"\r", b"\n\n", b" \n", b"\t\r\n", b"\n \t\n", b"\r \r", b"", b"\v\n"]
IDS = [b"1", b"2", b"301", b"d1", b"d2", b"d3", b"FT911-3", b"a", b"b", b"c", b"\xc3\xa9", b"d\0", b'"a"', b"a,b", b"0x1",
       b"\xef\xbb\xbf1", b"nan", b"\xff", b"<script>", b"a\xe2\x80\xa8b", b"#", b"-", b"docno", b"null", b"\x1c"]  # fmt: skip
NUMBERS = [b"1", b"2", b"0", b"7.5", b"-3", b"1e-5", b"inf", b"-Infinity", b"+2", b".5", b"5.", b"1e999", b"nan", b"-nan",
           b"nan(1)", b"1_0", b"0x10", b"1e", b"e5", b"", b"-", b"1,5", b"12345678901234567890", b"1.5", b"007", b"-0",
           b"9223372036854775807", b"-9223372036854775808", b"9223372036854775808", b"2.0", b"1E5", b"1d5", b"1f",
           b"\xd9\xa3", b"0.1000000000000000055511151231257827021181583404541015625", b"infin", b"1e-400"]  # fmt: skip


def lines(fields: Sequence[Sequence[bytes]], rng: random.Random) -> bytes:
    """Return random lines of these fields; some lines have an additional or missing field, or other blanks."""
    loose = rng.random() < 0.5
    written = []
    for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 4, 6))):
        cells = [rng.choice(field[:3] if rng.random() < 0.7 else field) for field in fields]
        if rng.random() < 0.02:
            cells.pop(rng.randrange(len(cells)))
        if rng.random() < 0.02:
            cells.insert(rng.randrange(len(cells) + 1), rng.choice(IDS))
        gap = [rng.choice(BLANKS) if loose else b" " for _ in cells]
        written.append(b"".join(a + b for a, b in zip(cells, [*gap[1:], rng.choice(ENDS) if loose else b"\n"])))
    return b"".join(written)


def grammar(*fields: Sequence[bytes]) -> Callable[[random.Random], bytes]:
    """Return a generator of lines of these fields."""
    return lambda rng: lines(fields, rng)


def read_alike(read: Callable[[Path], pa.Table], slow: Callable[[bytes], dict[str, list]], data: bytes) -> bool:
    """Compare a reader with the slow reader and return whether the input is valid.

    Raises Wrong if the values differ, or if only one of the two raises an error.
    """
    path = scratch(data)
    found = result_of(lambda: read(path).to_pydict(), str(path))
    try:
        expected: object = slow(plain.unpacked(data))
    except ValueError as refused:
        expected = refused
    return same(found, expected, read.__name__)
