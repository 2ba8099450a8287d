"""Text files of duplicates: ``read_duplicates`` and the slow reader return the same values, or both raise an error."""

from __future__ import annotations

import random

from pyterrier_cwla.files.formats import read_duplicates

from . import lengths, plain, texts

EXAMPLES = [
    b"d1\td2\nd3\td2\nd4\t\n",
    b"docno\tcluster\r\nd1\t7\r\nd2\t7\r\n",
    b"\n \nduplicate_of,id\nd1,d2\n,d3\n",
    b'"doc_id","cluster"\r\n"d1","a ""b"""\r\nd2,"a,b"\r\n',
    b"id duplicate_of\nd1 d2\nd3   d4\n",
]
NAMES = [b"docno", b"doc_id", b"id", b"duplicate_of", b"cluster", b"Cluster", b" id ", b'"id"']
TOKENS = [*NAMES, *texts.IDS, *texts.BLANKS, *texts.ENDS]


def grammar(rng: random.Random) -> bytes:
    """Return random duplicates."""
    return lengths.pairs(rng, NAMES, [*texts.IDS, b""])


def one_input(data: bytes) -> bool:
    """Test one input; return whether it is valid duplicates."""
    return texts.read_alike(read_duplicates, lambda text: plain.pairs(text, "duplicates"), data)
