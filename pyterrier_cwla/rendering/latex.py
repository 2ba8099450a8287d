"""Tables as LaTeX's booktabs sets them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..errors.sanitise import harmless

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    "∞": r"$\infty$",
    "[": "{[}",  # at the start of a row these two would belong to the \\ before
    "*": "{*}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


def escaped(text: str) -> str:
    r"""Text as LaTeX prints it.

    >>> print(escaped("BM25_RM3 & 100%"))
    BM25\_RM3 \& 100\%
    """
    return "".join(_SPECIAL.get(character, character) for character in harmless(text))


def tabular(alignment: str, head: Sequence[str], body: Iterable[str]) -> list[str]:
    """The lines of a tabular: cells of the head, and lines of the body, all escaped already."""
    return [
        f"\\begin{{tabular}}{{{alignment}}}",
        "\\toprule",
        table_row(head),
        "\\midrule",
        *body,
        "\\bottomrule",
        "\\end{tabular}",
    ]


def table_row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + " \\\\"
