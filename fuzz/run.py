"""TREC run files: ``read_run`` and the slow reader return the same values, or both raise an error."""

from pyterrier_cwla.files.formats import read_run

from . import plain, texts

EXAMPLES = [
    b"301 Q0 FT911-3 1 7.5 bm25\n301 Q0 FT911-4 2 6 bm25\n302 Q0 FT911-3 1 -inf bm25\n",
    b"\xef\xbb\xbf1\tQ0\ta\t1\t3.25e2\tt\r\n1\tQ0\tb\t2\t1\tt\r\n\r\n2  Q0 a 1 3 t",
    b"1 Q0 a 1 3 t\r2 Q0 a 1 3 t\r1 Q0 b 2 1 t",
    b"1 Q0 a 0 0.1 t\n2 Q0 a 0 0.1 t\n",
    b"1 Q0 a 0 0.1 two words\r1 Q0 b 0 0.2 t\r\n2 Q0 a 0 0.1  three\twords here \n",
]
TOKENS = [*texts.IDS, *texts.NUMBERS, *texts.BLANKS, *texts.ENDS]
grammar = texts.grammar(texts.IDS, [b"Q0", b"0", b"\xff"], texts.IDS, [b"1", b"2", b"x"], texts.NUMBERS, texts.IDS)


def one_input(data: bytes) -> bool:
    """Test one input; return whether it is a valid run."""
    return texts.read_alike(read_run, plain.run, data)
