"""TREC judgment files: ``read_qrels`` and the slow reader return the same values, or both raise an error."""

from pyterrier_cwla.files.formats import read_qrels

from . import plain, texts

EXAMPLES = [
    b"301 0 FT911-3 1\n301 0 FT911-4 -2\n302 0 FT911-3 0\n",
    b"\xef\xbb\xbf1\t1\ta\t1\r\n1\t2\ta\t0\r\n\r\n2  1 a 3",
    b"1 0 a 1\r1 0 b 2\r2 0 a 9223372036854775807",
    b"1 Q0 a 1\n2 Q0 a 0\n",
    b"1 0 a 0.37\n1 0 b 0.0\n2 0 a 1\n",
    b"1 0 a 1.0\n1 0 b 0.0\n",
]
TOKENS = [*texts.IDS, *texts.NUMBERS, *texts.BLANKS, *texts.ENDS]
GRADES = [b"0", b"1", b"-1", b"2", b"+2", b"1.0", b"0.37", *texts.NUMBERS]
grammar = texts.grammar(texts.IDS, [b"0", b"0", b"1", b"\xff", b"2"], texts.IDS, GRADES)


def one_input(data: bytes) -> bool:
    """Test one input; return whether it is valid judgments."""
    return texts.read_alike(read_qrels, plain.qrels, data)
