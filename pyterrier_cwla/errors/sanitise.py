"""Escapes for texts from data before they are shown on terminals, in HTML pages and in figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any

_ORDERS = [
    *range(0x00, 0x09),
    *range(0x0B, 0x20),
    *range(0x7F, 0xA0),
    0x061C,
    0x200E,
    0x200F,
    0x2028,
    0x2029,
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
    *range(0xD800, 0xE000),
]
_SPELLED = {code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in _ORDERS}


def harmless(text: str) -> str:
    r"""Escape control characters (except tabs and newlines), direction marks and lone surrogates.

    >>> print(harmless("run\x1b[2J"))
    run\x1b[2J
    """
    return text.translate(_SPELLED)


def in_picture(value: Any) -> str:
    r"""Escape a text for a label of matplotlib, including dollar signs, which start formulas.

    >>> print(in_picture("A$x$\x00"))
    A\$x\$\x00
    """
    return harmless(str(value)).replace("$", r"\$")


def sanitised(method: Callable[[Any], str]) -> Callable[[Any], str]:
    r"""Decorate ``__str__``, ``__repr__`` or ``_repr_html_`` to escape control characters in its result.

    >>> class Run:
    ...     @sanitised
    ...     def __str__(self):
    ...         return "run\x1b[2J"
    >>> print(Run())
    run\x1b[2J
    """

    @wraps(method)
    def wrapper(self: Any) -> str:
        return harmless(method(self))

    return wrapper


def harmless_segments(segments: Iterable[Any]) -> Iterator[Any]:
    """Yield segments of rich with escaped control characters."""
    for segment in segments:
        yield segment if segment.control else segment._replace(text=harmless(segment.text))
