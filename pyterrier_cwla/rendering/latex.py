"""LaTeX tables with the package booktabs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..errors.sanitise import harmless

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    "\N{NO-BREAK SPACE}": r"\,",
    "∞": r"$\infty$",
    "Δ": r"$\Delta$",
    "·": r"$\cdot$",
    "[": "{[}",  # at the start of a row, LaTeX would read [ and * as options of the preceding \\
    "*": "{*}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


def escaped(text: str) -> str:
    r"""Escape the special characters of LaTeX.

    >>> print(escaped("BM25_RM3 & 100%, 95 %"))
    BM25\_RM3 \& 100\%, 95\,\%
    """
    text = "".join(_SPECIAL.get(character, character) for character in harmless(text))
    return re.sub(r"(?<=\d) \\%", r"\\,\\%", text)


def typeset(text: str) -> str:
    r"""Return numbers and notes in LaTeX, with minus signs, arrows, and p in italics.

    >>> print(typeset("-0.1, p < .05"))
    $-$0.1, $p <$ .05
    """
    text = re.sub(r"\bp (\$<\$|=)", lambda found: f"$p {found[1].strip('$')}$", escaped(text))
    return re.sub(r"(?<![\w.])-(?=\d)|−", "$-$", text).replace("↑", r"$\uparrow$").replace("↓", r"$\downarrow$")


def tabular(alignment: str, head: Sequence[str], body: Iterable[str]) -> list[str]:
    """Return the lines of a tabular, given escaped cells of the head and escaped rows of the body."""
    return [
        f"\\begin{{tabular}}{{{alignment}}}",
        "\\toprule",
        table_row(head),
        "\\midrule",
        *body,
        "\\bottomrule",
        "\\end{tabular}",
    ]


def floating_table(lines: Iterable[str], caption: str, label: str, about: Mapping[str, Any]) -> str:
    """Return a table environment with a tabular, a caption in LaTeX and an optional label.

    A comment names the version and the seed in `about`, and the package that is needed.
    """
    parts = [
        f"% pyterrier_cwla {about['version']}, seed {about['seed']}; \\usepackage{{booktabs}}",
        "\\begin{table}",
        "\\centering",
        f"\\caption{{{caption}}}",
        *([f"\\label{{{label}}}"] if label else []),
        *lines,
        "\\end{table}",
    ]
    return "\n".join(parts) + "\n"


def table_row(cells: Iterable[str]) -> str:
    """Join escaped cells into a row."""
    return " & ".join(cells) + " \\\\"
