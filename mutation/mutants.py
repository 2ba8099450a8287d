"""The mistakes: mutmut's changes of one node each, in what runs; not in documentation, annotations and messages."""

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
    """A module with one mistake in it."""

    module: str
    scope: str
    lines: range
    was: str
    now: str
    code: str
    inside: bool
    """Whether the mistake is in the body of a function, so that this function alone has to be replaced."""

    @property
    def key(self) -> str:
        return hashlib.sha256(self.code.encode()).hexdigest()[:16]


def mutants(package: Path, module: str) -> Iterator[Mutant]:
    """All mutants of a module (its path below the package), each once, in the order of its lines."""
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
            else:  # its parentheses and blanks are not in its place: dearer
                code = cst.ensure_type(wrapper.module.deep_replace(node, new), cst.Module).code  # type: ignore[arg-type]
            if code in known or not _compiles(code):
                continue
            known.add(code)
            scope, inside, statement = _scope(node, parents)
            lines = range(places[statement].start.line, places.get(node, places[statement]).end.line + 1)
            yield Mutant(module, scope, lines, *_difference(whole, code), code, inside)


def _running(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """This node and those in it, but not what is there for readers and type checkers alone."""
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
                found = found[:1]  # XX…XX says it, capitals no more
            elif changes is operator_arg_removal:
                found = [new for new in found if _is_worth_it(node, new)]
            yield from found


def _is_worth_it(node: Any, new: Any) -> bool:
    """None in the place of an argument says what leaving it out does, and of a truth value its opposite says it."""
    if len(new.args) < len(node.args):
        return False
    gone = [a.value for a, b in zip(node.args, new.args, strict=True) if a is not b]
    return not any(isinstance(value, cst.Name) and value.value in ("True", "False") for value in gone)


def _is_prose(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.SimpleString) and bool(_PROSE.search(node.value))


def _scope(node: cst.CSTNode, parents: Mapping) -> tuple[str, bool, cst.CSTNode]:
    """Class and function that the node is in, whether it is in the function's body, and its statement."""
    names: list[str] = []
    inside, statement = False, None
    while node in parents:
        parent = parents[node]
        if statement is None and isinstance(node, cst.BaseStatement | cst.BaseSmallStatement):
            statement = node
        if isinstance(parent, cst.FunctionDef):
            names, inside = [parent.name.value], node is parent.body  # functions within it come with it
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
    """The lines in which two texts differ, from the first to the last, as one line each."""
    a, b = one.split("\n"), other.split("\n")
    while a and b and a[0] == b[0]:
        a, b = a[1:], b[1:]
    while a and b and a[-1] == b[-1]:
        a, b = a[:-1], b[:-1]
    return tuple(" ".join(line.strip() for line in lines) for lines in (a, b))  # type: ignore[return-value]
