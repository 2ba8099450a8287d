"""Compressed runs (gzip and zstd): valid ones have the values of their content, all others are errors."""

from __future__ import annotations

import gzip
import random

import pyarrow as pa

from pyterrier_cwla.files.formats import read_run

from . import plain, run
from .found import result_of, same, scratch


def _zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


EXAMPLES = [pack(text) for text in (*run.EXAMPLES, b"1 Q0 a 1 2 t\n" + b" " * 9000) for pack in (gzip.compress, _zstd)]
TOKENS = [b"\x1f\x8b\x08\0", b"\x28\xb5\x2f\xfd", b"\0" * 8, b"\xff" * 8, gzip.compress(b""), _zstd(b""), _zstd(b"x")]


def grammar(rng: random.Random) -> bytes:
    """Return a run compressed as one member or as two."""
    text, pack = run.grammar(rng), rng.choice((gzip.compress, _zstd))
    cut = rng.randint(0, len(text)) if rng.random() < 0.3 else len(text)
    return pack(text[:cut]) + (pack(text[cut:]) if cut < len(text) else b"")


def one_input(data: bytes) -> bool:
    """Test one input; return whether it is a valid run."""
    path = scratch(data)
    found = result_of(lambda: read_run(path).to_pydict(), str(path))
    try:
        expected: object = plain.run(plain.unpacked(data))
    except ValueError as refused:
        expected = refused
    return same(found, expected, "packed run")
