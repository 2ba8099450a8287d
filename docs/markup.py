"""Writes reStructuredText: titles, tables, and the formulas of docstrings with indices set low and powers high."""

from __future__ import annotations

import re
from collections.abc import Sequence

_LOW = str.maketrans("ijgRS", "ᵢⱼgRS")
_MATHEMATICS = re.compile(
    r"(?P<literal>``.*?``)"
    r"|\^(?P<high>\{[^}]*\}|\((?:[^()]|\([^()]*\))*\)|\w+)"
    r"|_(?P<low>\{[^}]*\}|(?<=(?<!\w)\w_)[A-Za-z0-9]{1,2}(?!\w))"
    r"|(?<=log)(?P<base>2)(?=\()"
    r"|(?P<special>[\\*`|_])",
    re.S,
)


def escaped(text: str) -> str:
    """Plain text, of which only ``code`` is markup."""
    return re.sub(r"(``.*?``)|([\\*`|_])", lambda found: found[1] or f"\\{found[2]}", text)


def mathematics(text: str) -> str:
    """A docstring's text: ``code`` stays, indices (r_i, Σ_{j≤i}) are set low and powers (2^g, 2^(−e/h)) high.

    >>> print(mathematics("V(i) = 2^(−e_i/h), Σ_{j≤i} r_j, max_rel, ``a_b``"))
    V(i) = 2\\ :sup:`−eᵢ/h`\\ , Σ\\ :sub:`j≤i`\\  r\\ :sub:`j`\\ , max\\_rel, ``a_b``
    """

    def write(found: re.Match) -> str:
        if found["literal"]:
            return found["literal"]
        for role, inside in (("sup", found["high"]), ("sub", found["low"] or found["base"])):
            if inside:
                inside = inside[1:-1] if inside[0] in "{(" else inside
                inside = re.sub(r"(?<=\w)_([ij])(?!\w)", lambda low: low[1].translate(_LOW), inside)
                return rf"\ :{role}:`{inside}`\ "
        return "\\" + found["special"]

    return _MATHEMATICS.sub(write, " ".join(text.split()))


def with_formulas(text: str) -> str:
    """A text in which ``code`` stays, and mathematics stands between dollars.

    >>> print(with_formulas("$r_i$ is the gain (``gain=``), max_rel"))
    :math:`r_i` is the gain (``gain=``), max\\_rel
    """
    parts = re.split(r"(``.*?``|\$.*?\$)", text)
    return "".join(
        part if part.startswith("``") else f":math:`{part[1:-1]}`" if part.startswith("$") else escaped(part)
        for part in parts
    )


def displayed(latex: str) -> str:
    """A formula in a line of its own."""
    return ".. math::\n\n" + indented(latex.replace(r"\\ ", "\\\\\n"))


def title(text: str, line: str = "-") -> str:
    return f"{text}\n{line * len(text)}"


def indented(text: str, by: str = "   ") -> str:
    return "\n".join(by + line if line else line for line in text.split("\n"))


def table(rows: Sequence[Sequence[str]], widths: Sequence[int]) -> str:
    """A table whose first row is its head; cells may have paragraphs."""
    lines = [".. list-table::", "   :header-rows: 1", f"   :widths: {' '.join(map(str, widths))}", ""]
    for row in rows:
        for number, cell in enumerate(row):
            first, *others = (cell or "\\ ").split("\n")
            lines.append(f"   {' ' if number else '*'} - {first}")
            lines += [f"       {line}" if line else "" for line in others]
    return "\n".join(lines)


def numbers(rows: Sequence[Sequence[str]]) -> str:
    """A table of short values whose first row is its head."""
    quoted = ("   " + ", ".join(f'"{cell}"' for cell in row) for row in rows)
    return "\n".join([".. csv-table::", "   :header-rows: 1", "   :widths: auto", "", *quoted])


def page(parts: Sequence[str]) -> str:
    """Blocks with a blank line between any two."""
    return "\n\n".join(part for part in parts if part) + "\n"
