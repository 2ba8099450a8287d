"""Mutants: changes by mutmut of one syntax node each, except in docstrings, annotations and error messages."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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
    def key(self) -> str:
        """Hash of the code, by which results are stored."""
        return hashlib.sha256(self.code.encode()).hexdigest()[:16]


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
        plain = whole[begin:end] == _EMPTY.code_for_node(node)
        for new in _changes(node):
            if plain:
                code = whole[:begin] + _EMPTY.code_for_node(new) + whole[end:]
            else:  # the position excludes parentheses and blanks: slower
                code = cst.ensure_type(wrapper.module.deep_replace(node, new), cst.Module).code  # type: ignore[arg-type]
            if code in known or not _compiles(code):
                continue
            known.add(code)
            scope, inside, statement = _scope(node, parents)
            lines = range(places[statement].start.line, places.get(node, places[statement]).end.line + 1)
            yield Mutant(module, scope, lines, *_difference(whole, code), code, inside)


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


def _compiles(code: str) -> bool:
    try:
        compile(code, "mutant", "exec")
    except SyntaxError:
        return False
    return True


def _difference(one: str, other: str) -> tuple[str, str]:
    """Differing lines of two texts, from the first to the last difference, each joined into one line."""
    a, b = one.split("\n"), other.split("\n")
    while a and b and a[0] == b[0]:
        a, b = a[1:], b[1:]
    while a and b and a[-1] == b[-1]:
        a, b = a[:-1], b[:-1]
    return tuple(" ".join(line.strip() for line in lines) for lines in (a, b))  # type: ignore[return-value]
