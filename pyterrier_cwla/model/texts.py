"""Read texts ``Name(argument, key=value)`` of measures, of functions of the language and of parameters."""

from __future__ import annotations

import ast
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any, cast

from ..errors import BadParameter, CWLAError

LONGEST = 10_000
"""Number of characters that a text of the language may have."""
Refused = Callable[[str, "ast.expr | ast.keyword"], CWLAError]
"""Function from a reason and the place in the text to an error."""


@lru_cache(maxsize=1024)
def tree_of(text: str) -> ast.expr | None:
    """Return the syntax tree of an expression, or None for other texts."""
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        if len(text) <= LONGEST:
            return ast.parse(text.strip(), mode="eval").body
    return None


def read_call(node: ast.expr, refused: Refused) -> tuple[ast.expr, list[ast.expr], dict[str, ast.expr]]:
    """Return the head of a call, its arguments by position, and those by name; other expressions have no arguments.

    Raises
    ------
    CWLAError
        If a parameter is given twice, or by ``**``.
    """
    if not isinstance(node, ast.Call):
        return node, [], {}
    named: dict[str, ast.expr] = {}
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg in named:
            raise refused("give every parameter once, by its name", keyword)
        named[keyword.arg] = keyword.value
    return node.func, node.args, named


def read_value(node: ast.expr, other: Callable[[ast.expr], Any], refused: Refused) -> Any:
    """Return the value of an expression: a number, True, False, None, a quoted text, or a map of these.

    Parameters
    ----------
    node : ast.expr
        Expression.
    other : callable
        Function that returns the value of every other expression, such as a name without quotes.
    refused : callable
        Error for a map in which a key is given twice.
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | None):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
        number = node.operand.value if isinstance(node.operand, ast.Constant) else None
        if isinstance(number, int | float) and not isinstance(number, bool):
            return -number if isinstance(node.op, ast.USub) else number
    if isinstance(node, ast.Dict) and all(isinstance(key, ast.Constant | ast.UnaryOp) for key in node.keys):
        keys = [read_value(cast(ast.expr, key), other, refused) for key in node.keys]
        if len(set(keys)) < len(keys):
            raise refused(f"give every {'name' if isinstance(keys[0], str) else 'grade'} once", node)
        return dict(zip(keys, (read_value(value, other, refused) for value in node.values), strict=True))
    return other(node)


def read_values(text: str) -> list[Any]:
    """Return the values of a text such as ``0.9, 0.5``, which are separated by commas; other expressions are texts."""

    def refused(reason: str, node: ast.expr | ast.keyword) -> CWLAError:
        return BadParameter(f"{text}: {reason}.")

    tree = tree_of(f"({text.strip()},)")
    if not isinstance(tree, ast.Tuple):
        return [text.strip()] if text.strip() else []
    return [read_value(node, ast.unparse, refused) for node in tree.elts]


def shortened(text: str) -> str:
    """Return at most 200 characters of a text."""
    return text if len(text) <= 200 else text[:200] + "…"
