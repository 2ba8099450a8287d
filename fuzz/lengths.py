"""Text files of lengths: ``read_lengths`` and the slow reader return the same values, or both raise an error."""

from __future__ import annotations

import random

from pyterrier_cwla.files.formats import read_lengths

from . import plain, texts

EXAMPLES = [
    b"FT911-3\t250\nFT911-4\t12.5\n",
    b"docno\tdoc_length\r\nFT911-3\t250\r\nFT911-4\t12.5\r\n",
    b"\n \n words , id \n250,FT911-3\n12.5,FT911-4\n",
    b'"doc_id","length"\r\n"FT911-3","250"\r\n"FT""911,4",12.5\r\n',
    b"id length\nFT911-3 250\nFT911-4   12.5\n",
    b"a 1\rb 2\r",
]
NAMES = [b"docno", b"doc_id", b"id", b"words", b"length", b"doc_length", b"Words", b" id ", b'"id"', b"ID"]
TOKENS = [*NAMES, *texts.IDS, *texts.NUMBERS, *texts.BLANKS, *texts.ENDS]


def grammar(rng: random.Random) -> bytes:
    """Return random lengths."""
    return pairs(rng, NAMES, texts.NUMBERS)


def pairs(rng: random.Random, names: list[bytes], values: list[bytes]) -> bytes:
    """Return two columns separated by tabs, commas or blanks, with or without a header."""
    delimiter = rng.choice((b"\t", b",", b" "))
    columns = [texts.IDS, values] if rng.random() < 0.8 else [values, texts.IDS]
    if delimiter == b" ":
        body = texts.lines(columns, rng)
    else:
        body = b""
        for _ in range(rng.choice((0, 1, 2, 2, 3, 5))):
            cells = [rng.choice(column) for column in columns]
            if delimiter == b"," and rng.random() < 0.3:
                cells = [b'"' + cell.replace(b'"', b'""') + b'"' for cell in cells]
            body += delimiter.join(cells) + rng.choice(texts.ENDS)
    if rng.random() < 0.5:
        return body
    blank = rng.choice((b"", b"", b"", b" ", b"\r", b"\n"))
    return blank + delimiter.join(rng.choice(names) for _ in columns) + rng.choice(texts.ENDS) + body


def one_input(data: bytes) -> bool:
    """Test one input; return whether it is valid lengths."""
    return texts.read_alike(read_lengths, lambda text: plain.pairs(text, "lengths"), data)
