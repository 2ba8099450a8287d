"""Write the formulas of docstrings, such as ``C(i) = log2(i+1)/log2(i+2) for i < k``, as LaTeX mathematics."""

from __future__ import annotations

import re

_SYMBOLS = {
    "φ": r"\varphi ", "γ": r"\gamma ", "θ": r"\theta ", "δ": r"\delta ", "β": r"\beta ", "Σ": r"\sum ", "Π": r"\prod ",
    "−": "-", "·": r"\cdot ", "≤": r"\le ", "≥": r"\ge ", "∞": r"\infty ", "²": "^2", "⁺": "^+", "₁": "_1", "₂": "_2",
}  # fmt: skip
_FUNCTIONS = {"exp": r"\exp ", "ln": r"\ln ", "log": r"\log ", "log2": r"\log_2 ", "max": r"\max ", "min": r"\min "}
_OPEN, _CLOSE, _OPERATORS = "([{", ")]}", tuple("=<>≤≥+−·/|")
_FUNCTION = re.compile(rf"(?:{'|'.join(sorted(_FUNCTIONS, key=len, reverse=True))})(?![A-Za-z]|_[a-z][a-z])")
_WORD = rf"(?!{_FUNCTION.pattern})[A-Za-z]{{2,}}(?:_[a-z]+)*"
_WORDS = re.compile(rf"(?<![A-Za-z]){_WORD}(?: {_WORD})*")


def first_formula(text: str) -> str:
    """Return the first sentence of a docstring's formula if it is an equation, else an empty text.

    >>> first_formula("C(i) = φ. Static. V⁺ = 1/(1−φ).")
    'C(i) = φ'
    """
    sentence = re.split(r"\.(?=\s|$)", " ".join(text.split()), maxsplit=1)[0]
    return sentence if re.match(r"^[A-Za-zφ](\(\w\))? = ", sentence) else ""


def latex(text: str) -> str:
    r"""Write a formula in plain characters as LaTeX; words are text, and ``a / b`` with spaces is a fraction.

    >>> latex("r = (2^g − 1) / 2^max_rel, and 0 below min_rel")
    'r = \\frac{2^{g} - 1}{2^{\\text{max_rel}}},\\text{ and }0\\text{ below min_rel}'
    """
    return ",".join(_with_fractions(part) for part in _split(text, ","))


def _split(text: str, at: str) -> list[str]:
    """Split a text at a separator outside of brackets."""
    parts, depth, start = [], 0, 0
    for place, sign in enumerate(text):
        depth += (sign in _OPEN) - (sign in _CLOSE)
        if depth == 0 and text.startswith(at, place):
            parts.append(text[start:place])
            start = place + len(at)
    return [*parts, text[start:]]


def _with_fractions(text: str) -> str:
    """Write an expression without commas; the numerator of a fraction starts after the equals sign."""
    head, equals, last = text.rpartition(" = ") if len(_split(text, " = ")) > 1 else ("", "", text)
    parts = _split(last, " / ")
    if len(parts) != 2:
        return _tokens(text)
    return rf"{_tokens(head)}{equals}\frac{{{_bare(parts[0])}}}{{{_bare(parts[1])}}}"


def _bare(text: str) -> str:
    """Write the numerator or denominator of a fraction without the brackets around it."""
    text = text.strip()
    return latex(text[1:-1]) if text[:1] == "(" and _closing(text, 0) == len(text) - 1 else latex(text)


def _closing(text: str, start: int) -> int:
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] in _OPEN) - (text[place] in _CLOSE)
        if depth == 0:
            return place
    raise ValueError(f"a bracket is not closed in {text!r}")


def _tokens(text: str) -> str:
    """Write an expression token by token; neighbouring words form one text."""
    found: list[str] = []
    place = 0
    while place < len(text):
        words = _WORDS.match(text, place)
        if words:
            found.append(_as_text(text, *words.span()))
            place = words.end()
            continue
        token, start, place = text[place], place, place + 1
        if token == "(":
            place = _closing(text, start) + 1
            inside = latex(text[start + 1 : place - 1])
            found.append(rf"\left({inside}\right)" if r"\frac" in inside else f"({inside})")
        elif token in "^_":
            inside, place = _argument(text, place)
            found.append(f"{token}{{{inside}}}")
        elif function := _FUNCTION.match(text, start):
            found.append(_FUNCTIONS[function[0]])
            place = function.end()
        else:
            found.append(_SYMBOLS.get(token, token))
    return "".join(found)


def _argument(text: str, start: int) -> tuple[str, int]:
    """Return what stands below or above, and the place after it: a bracket, a word or a number, or a character."""
    if text[start] in "({":
        end = _closing(text, start)
        return latex(text[start + 1 : end]), end + 1
    words = _WORDS.match(text, start) or re.compile(r"\d+|.").match(text, start)
    assert words is not None
    return _tokens(words[0]), words.end()


def _as_text(text: str, start: int, end: int) -> str:
    """Return words as text, with the spaces around them except beside operators, which have their own."""
    ahead, behind = text[:start], text[end:]
    before = " " if ahead[-1:] == " " and not ahead.strip().endswith(_OPERATORS) else ""
    after = " " if behind[:1] == " " and not behind.strip().startswith(_OPERATORS) else ""
    return rf"\text{{{before}{text[start:end]}{after}}}"
