"""Texts from files as a terminal may show them: what would move its cursor or turn its letters is spelled out."""

_ORDERS = [
    *range(0x00, 0x09),
    *range(0x0B, 0x20),
    *range(0x7F, 0xA0),
    0x2028,
    0x2029,
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
]
_SPELLED = {code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in _ORDERS}


def harmless(text: str) -> str:
    r"""The text with control characters (but tabs and line ends) and marks of direction as Python writes them.

    >>> print(harmless("run\x1b[2J"))
    run\x1b[2J
    """
    return text.translate(_SPELLED)
