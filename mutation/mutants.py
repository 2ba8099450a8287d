"""Mutants: changes by mutmut of one syntax node each, except in docstrings, annotations and error messages."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import libcst as cst
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider
from mutmut.mutation.mutators import mutation_operators, operator_arg_removal

_EMPTY = cst.Module([])
_PROSE = re.compile(r"""^.?['"]{3}|[A-Za-z]{2,} [a-z]{2,}""")


@dataclass(frozen=True)
class Mutant:
    """Source code of a module with one change."""

    module: str
    scope: str
    lines: range
    was: str
    now: str
    code: str
    inside: bool
    """Whether the change is in the body of a function, so that only this function needs to be replaced."""

    @property
    def text(self) -> tuple[str, str, str, str]:
        """What identifies the mutant, also after its code moved."""
        return self.module, self.scope, self.was, self.now


def mutants(package: Path, module: str) -> Iterator[Mutant]:
    """Yield the distinct mutants of a module (given by its path below the package) in the order of its lines."""
    wrapper = MetadataWrapper(cst.parse_module((package / f"{module}.py").read_text()))
    places, parents = wrapper.resolve(PositionProvider), wrapper.resolve(ParentNodeProvider)
    whole = wrapper.module.code
    starts = [0, *(found.end() for found in re.finditer("\n", whole))]
    known = {whole}
    for node in _running(wrapper.module):
        place = places.get(node)
        begin, end = (starts[at.line - 1] + at.column for at in (place.start, place.end)) if place else (0, 0)
        text = _EMPTY.code_for_node(node)  # with parentheses, which the position excludes
        at = whole.find(text, max(end - len(text), 0), begin + len(text))
        for new in _changes(node):
            if at >= 0:
                code = whole[:at] + _EMPTY.code_for_node(new) + whole[at + len(text) :]
            else:  # with lines that are indented: slower
                code = cst.ensure_type(wrapper.module.deep_replace(node, new), cst.Module).code  # type: ignore[arg-type]
            if code in known:
                continue
            known.add(code)
            scope, inside, statement = _scope(node, parents)
            lines = range(places[statement].start.line, places.get(node, places[statement]).end.line + 1)
            yield Mutant(module, scope, lines, *_difference(whole, code), code, inside)


def drawn(package: Path, module: str, wanted: int) -> list[Mutant]:
    """Return mutants of a module: the first by a hash of their text, so that other changes of the code keep them."""
    found: list[Mutant] = []
    some = {mutant.text: mutant for mutant in mutants(package, module)}
    for text in sorted(some, key=lambda text: sha256(repr(text).encode()).digest()):
        if len(found) == wanted:
            break
        same = applied(package, *text)  # another mutant where the text is not enough
        try:
            if same and ast.dump(ast.parse(same.code)) == ast.dump(ast.parse(some[text].code)):
                found.append(some[text])
        except SyntaxError:
            continue
    return found


def applied(package: Path, module: str, scope: str, was: str, now: str) -> Mutant | None:
    """Return a mutant by its text: the first lines of its scope that have it; None if they are gone."""
    path = package / f"{module}.py"
    lines, tree = _parsed(path.read_text() if path.exists() else "")
    node: Any = tree
    for name in filter(None, scope.split(".")):
        node = next((inner for inner in ast.iter_child_nodes(node) if getattr(inner, "name", None) == name), None)
        if node is None:
            return None
    decorators = [inner.lineno for inner in getattr(node, "decorator_list", ())]
    first, last = (1, len(lines)) if node is tree else (min([node.lineno, *decorators]), node.end_lineno)
    for begin, end in _with_text(lines[:last], first - 1, was):
        indent = lines[begin][: -len(lines[begin].lstrip())]
        code = "\n".join([*lines[:begin], indent + now, *lines[end:]])
        inside = isinstance(node, ast.FunctionDef) and begin + 1 >= node.body[0].lineno
        around = [inner.lineno for inner in ast.walk(tree) if isinstance(inner, ast.stmt)
                  and inner.lineno <= begin + 1 <= (inner.end_lineno or 0)]  # fmt: skip
        return Mutant(module, scope, range(max(around, default=begin + 1), end + 1), was, now, code, inside)
    return None


@lru_cache(maxsize=4)
def _parsed(text: str) -> tuple[list[str], ast.Module]:
    return text.split("\n"), ast.parse(text)


def _with_text(lines: list[str], first: int, text: str) -> Iterator[tuple[int, int]]:
    """Yield beginnings and ends of lines that are this text once they are joined."""
    for begin in range(first, len(lines)):
        joined = lines[begin].strip()
        end = begin + 1
        while joined and text.startswith(joined) and joined != text and end < len(lines):
            joined = f"{joined} {lines[end].strip()}"
            end += 1
        if joined == text:
            yield begin, end


def _running(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield a node and its descendants, except annotations, ``raise`` statements and imports for type checkers."""
    if isinstance(node, cst.Annotation | cst.Raise):
        return
    if isinstance(node, cst.If) and isinstance(node.test, cst.Name) and node.test.value == "TYPE_CHECKING":
        return
    yield node
    for child in node.children:
        yield from _running(child)


def _changes(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    if _is_prose(node):
        return
    for kind, changes in mutation_operators:
        if isinstance(node, kind):
            if isinstance(node, cst.Call) and any(_is_prose(arg.value) for arg in node.args):
                continue
            found = list(changes(node))
            if isinstance(node, cst.SimpleString):
                found = found[:1]  # only the mutant XX…XX; capital letters test nothing more
            elif changes is operator_arg_removal:
                found = [new for new in found if _is_worth_it(node, new)]
            yield from found


def _is_worth_it(node: Any, new: Any) -> bool:
    """Whether a changed call tests more than others: no removed arguments, and no None in place of True or False."""
    if len(new.args) < len(node.args):
        return False
    gone = [a.value for a, b in zip(node.args, new.args, strict=True) if a is not b]
    return not any(isinstance(value, cst.Name) and value.value in ("True", "False") for value in gone)


def _is_prose(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.SimpleString) and bool(_PROSE.search(node.value))


def _scope(node: cst.CSTNode, parents: Mapping) -> tuple[str, bool, cst.CSTNode]:
    """Class and function of a node, whether it is in the body of the function, and its statement."""
    names: list[str] = []
    inside, statement = False, None
    while node in parents:
        parent = parents[node]
        if statement is None and isinstance(node, cst.BaseStatement | cst.BaseSmallStatement):
            statement = node
        if isinstance(parent, cst.FunctionDef):
            names, inside = [parent.name.value], node is parent.body  # nested functions belong to it
        elif isinstance(parent, cst.ClassDef) and node is parent.body:
            names = [parent.name.value, *names]
        node = parent
    return ".".join(names), inside, statement or node


def _difference(one: str, other: str) -> tuple[str, str]:
    """Differing lines of two texts, from the first to the last difference, each joined into one line."""
    a, b = one.split("\n"), other.split("\n")
    most = min(len(a), len(b))
    first = next((n for n in range(most) if a[n] != b[n]), most)
    last = next((n for n in range(most - first) if a[-1 - n] != b[-1 - n]), most - first)
    return tuple(" ".join(map(str.strip, lines[first : len(lines) - last])) for lines in (a, b))  # type: ignore[return-value]
