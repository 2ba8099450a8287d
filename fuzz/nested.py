"""Runs in JSON and judgments of BEIR: the readers and the slow ones return the same values, or both raise an error."""

from __future__ import annotations

import random

from pyterrier_cwla.files.formats import read_qrels, read_run

from . import plain, texts
from .found import result_of, same, scratch

HEADER = b"query-id\tcorpus-id\tscore"
EXAMPLES = [
    b'{"301": {"FT911-3": 7.5, "FT911-4": 6}, "302": {"FT911-3": -Infinity}}',
    b'{"mteb_model_meta": {"model_name": "m", "revision": null},\n "en": {"test": {"1": {"a": 0.25, "b": 1e-5}}}}',
    b'{"en": {"dev": {"1": {"a": 1}}, "test": {"2": {"a": 1}}}}',
    HEADER + b"\n301\tFT911-3\t1\n301\tFT911-4\t0\n",
    HEADER.upper() + b'\r\nq 1\t"a ""b"""\t2\r\n"q 1"\tc d\t0.5\r\n',
]
NAMES = [b'"1"', b'"2"', b'"a"', b'"b"', b'"\xc3\xa9"', b'"\\u00e9"', b'"\\ud800"', b'""', b'"mteb_model_meta"', b"1"]
VALUES = [b"true", b"null", b'"1"', b"[]", b"{}", b"NaN", b"-Infinity", b"1" + b"0" * 400, b"-0.0", *texts.NUMBERS]
TOKENS = [b"{", b"}", b":", b",", HEADER, HEADER + b"\n", *NAMES, *VALUES, *texts.IDS]


def grammar(rng: random.Random) -> bytes:
    """Return random dicts of two or four levels, or lines of judgments after a header."""
    if rng.random() < 0.3:
        rows = texts.lines([texts.IDS, texts.IDS, texts.NUMBERS], rng).replace(b" ", b"\t")
        return HEADER + rng.choice((b"\n", b"\r\n", b" \n")) + rows
    return _level(rng, rng.choice((2, 2, 4)))


def _level(rng: random.Random, levels: int) -> bytes:
    if not levels or rng.random() < 0.02:
        return rng.choice(VALUES if rng.random() < 0.1 else [b"1", b"0.5", b"2e3", b"-7"])
    pairs = [
        rng.choice(NAMES[: rng.choice((4, 6))]) + b": " + _level(rng, levels - 1) for _ in range(rng.randint(1, 3))
    ]
    return b"{" + b", ".join(pairs) + b"}"


def one_input(data: bytes) -> bool:
    """Test one input; return whether it is a valid run or valid judgments."""
    if HEADER in data.lower() and not data.startswith(b'{"'):
        return texts.read_alike(read_qrels, plain.qrels_of_beir, data)
    path = scratch(data, "input.json")
    found = result_of(lambda: read_run(path).to_pydict(), str(path))
    try:
        expected: object = plain.nested(data)
    except ValueError as refused:
        expected = refused
    return same(found, expected, "run in JSON")
