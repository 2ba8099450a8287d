"""Inputs made from examples; each input depends on the seed and its number only."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

_ODD = [b"", b"\0", b"\xff", b"\xc3\xa9", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xc2\xa0", b"\xc2\x85", b"\x1c", b"\x1a",
        b"\r", b"\n", b"\r\n", b"\v", b"\f", b"\t", b" ", b"  ", b'"', b'""', b"'", b",", b"\\", b"-", b"+", b".", b"0",
        b"1e999", b"-1e-999", b"nan", b"NaN", b"-inf", b"Infinity", b"1_0", b"0x10", b"1e5", b"9" * 25, b"NULL", b"null",
        b"None", b"\xd9\xa3", b"\xef\xbc\x91", b"9007199254740993", b"9223372036854775808", b"-9223372036854775808",
        b"0.1000000000000000055511151231257827", b"2.2250738585072011e-308", b"5e-324", b"1.7976931348623159e308",
        b"true", b"False", b"=1+1", b"<script>", b"\x1b[31m"]  # fmt: skip


class Source:
    """Inputs of a target by number: changed examples and, with ``grammar``, generated texts."""

    def __init__(
        self,
        examples: Sequence[bytes],
        tokens: Sequence[bytes] = (),
        grammar: Callable[[random.Random], bytes] | None = None,
        seed: int = 0,
    ) -> None:
        self.examples, self.tokens, self.grammar, self.seed = examples, [*tokens, *_ODD], grammar, seed

    def __getitem__(self, number: int) -> bytes:
        rng = random.Random((self.seed << 40) + number)
        if self.grammar is not None and rng.random() < 0.6:
            data = self.grammar(rng)
            return data if rng.random() < 0.6 else self.changed(rng, data, 1)
        return self.changed(rng, rng.choice(self.examples), rng.choice((1, 1, 1, 2, 2, 3, 5, 8)))

    def changed(self, rng: random.Random, data: bytes, times: int) -> bytes:
        """Return the data after a number of random changes."""
        for _ in range(times):
            data = rng.choice(_CHANGES)(self, rng, data)
        return data

    def _insert(self, rng: random.Random, data: bytes) -> bytes:
        at = rng.randint(0, len(data))
        return data[:at] + rng.choice(self.tokens) + data[at:]

    def _put(self, rng: random.Random, data: bytes) -> bytes:
        at, token = rng.randint(0, len(data)), rng.choice(self.tokens)
        return data[:at] + token + data[at + len(token) :]

    def _word(self, rng: random.Random, data: bytes) -> bytes:
        """Replace the text between two separators by a token."""
        at = rng.randint(0, len(data))
        start = max(data.rfind(mark, 0, at) for mark in (b" ", b"\t", b",", b"\n", b"(", b"=", b":")) + 1
        ends = [end for mark in (b" ", b"\t", b",", b"\n", b")", b"=", b":") if (end := data.find(mark, at)) >= 0]
        return data[:start] + rng.choice(self.tokens) + data[min(ends, default=len(data)) :]

    def _cut(self, rng: random.Random, data: bytes) -> bytes:
        at = rng.randint(0, len(data))
        return data[:at] + data[at + rng.choice((1, 1, 2, 4, 16)) :]

    def _end(self, rng: random.Random, data: bytes) -> bytes:
        return data[: rng.randint(0, len(data))]

    def _flip(self, rng: random.Random, data: bytes) -> bytes:
        if not data:
            return data
        at = rng.randrange(len(data))
        return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]

    def _byte(self, rng: random.Random, data: bytes) -> bytes:
        at = rng.randint(0, len(data))
        return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]

    def _again(self, rng: random.Random, data: bytes) -> bytes:
        a, b = sorted((rng.randint(0, len(data)), rng.randint(0, len(data))))
        at = rng.randint(0, len(data))
        return data[:at] + data[a : min(b, a + 200)] + data[at:]

    def _line(self, rng: random.Random, data: bytes) -> bytes:
        lines = data.split(b"\n")
        line = lines.pop(rng.randrange(len(lines)))
        if rng.random() < 0.7:
            lines.insert(rng.randint(0, len(lines)), line)
        if rng.random() < 0.4:
            lines.insert(rng.randint(0, len(lines)), line)
        return b"\n".join(lines)

    def _other(self, rng: random.Random, data: bytes) -> bytes:
        other = rng.choice(self.examples)
        return data[: rng.randint(0, len(data))] + other[rng.randint(0, len(other)) :]


_CHANGES = (
    *(Source._insert, Source._put, Source._word, Source._word, Source._cut, Source._end, Source._flip),
    *(Source._byte, Source._again, Source._line, Source._other),
)
