"""What functions and measures do, as far as it can be told without running them: for fingerprints."""

from __future__ import annotations

import dis
import hashlib
import pickle
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Set
from functools import cache, partial
from pathlib import Path
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any
from uuid import uuid4

import numpy as np
from ir_measures.measures import Measure

from .measures import CWLAMeasure, Wrapper, _IntentAware
from .metric import Metric
from .spec import Part, Spec
from .tables import DocumentTable


def code_of(function: FunctionType) -> list[Any]:
    """What a fingerprint can hold of a function: its instructions, defaults and closure, and what those names mean that
    it reads in its module: other functions, classes and values.

    What is installed is told by its name and version, and so is this package. What cannot be told is another every
    time. What is met again is told by its number.
    """
    return _code_of(function, {id(function): (0, function)})


def of_measure(measure: Measure) -> list[Any]:
    """The same of a measure: its text, the user's own functions in it, and the contents of its tables."""
    return _of_measure(measure, {})


Met = dict[int, tuple[int, Any]]
"""What is told already, by id: its number, and itself, so that no other object takes the id."""


def _code_of(function: FunctionType, met: Met) -> list[Any]:
    given = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).items()]
    known = function.__globals__
    read = {name: known[name] for name in sorted({*_reads(function.__code__)} & {*known})}
    return [_told(value, met) for value in (function.__code__, *given, *(function.__closure__ or ()), *read.items())]


def _of_measure(measure: Measure, met: Met) -> list[Any]:
    if isinstance(measure, Wrapper):
        weights = measure.weights.table if isinstance(measure, _IntentAware) else None
        return [str(measure), _of_measure(measure.inner, met), _told(weights, met)]
    if isinstance(measure, CWLAMeasure):
        return [str(measure), _of_metric(measure.metric, met)]
    return [str(measure)]


def _of_metric(metric: Metric, met: Met) -> list[Any]:
    return [_told(vars(metric)[name], met) for name in sorted(metric.__dataclass_fields__)]


def _told(value: Any, met: Met) -> Any:
    def each(values: Any) -> list[Any]:
        return [_told(one, met) for one in values]

    match value:
        case None | bool() | int() | float() | complex() | str() | bytes():
            return repr(value)
        case np.ndarray() if not value.dtype.hasobject:
            return value
        case tuple():
            return ["tuple", *each(value)]
        case CodeType():
            return [value.co_code.hex(), value.co_names, *each(value.co_consts)]
        case CellType():
            return _in_cell(value, met)
        case frozenset():
            return _of_set(value, met)
    if id(value) in met:
        return ["again", met[id(value)][0]]
    met[id(value)] = (len(met), value)
    match value:
        case list():
            return ["list", *each(value)]
        case set():
            return _of_set(value, met)
        case Mapping():
            return ["dict", *each(value.items())]
        case Spec():
            return [str(value), *([] if value.built_in else each([value.part, value.values]))]
        case Part():
            return [value.name, *([] if value.built_in else each([value.function, value.facts.stated]))]
        case DocumentTable():
            return [value.name, value.content]
        case Measure():
            return _of_measure(value, met)
        case partial():
            return each([value.func, value.args, value.keywords])
        case MethodType():
            return each([value.__func__, value.__self__])
    settled = _settled(getattr(value, "__module__", None) or "__main__")
    match value:
        case ModuleType():
            return _settled(value.__name__) or [value.__name__, _digest(Path(value.__file__ or "").read_bytes())]
        case FunctionType():
            return [*settled, value.__qualname__] if settled else _code_of(value, met)
        case type():
            return [*settled, value.__qualname__] if settled else [value.__qualname__, *each(_of_class(value))]
    if settled:
        return _pickled(value)
    return each([type(value), vars(value) if hasattr(value, "__dict__") else _pickled(value)])


def _of_set(values: Set[Any], met: Met) -> list[Any]:
    """Each as if it were the first, for a set has another order in every process."""
    return ["set", *sorted(repr(_told(value, dict(met))) for value in values)]


def _in_cell(cell: CellType, met: Met) -> Any:
    """What a closure holds; nothing where a function is told before what it reads is defined."""
    try:
        return _told(cell.cell_contents, met)
    except ValueError:
        return "empty"


def _reads(code: CodeType) -> Iterator[str]:
    """The names of its module that a function reads, and those of the functions in it."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _reads(constant)


def _of_class(kind: type) -> Iterator[Any]:
    """What a class can do and knows: its bases, its functions and those behind its properties, and its values."""
    yield from kind.__bases__
    for name, value in vars(kind).items():
        behind = (getattr(value, what, None) for what in ("fget", "__func__", "func"))
        function = next(filter(None, behind), value)
        made_by_python = name.startswith(("__", "_abc_")) or hasattr(type(value), "__get__")
        if isinstance(function, FunctionType) or not made_by_python:
            yield name, function


@cache
def _settled(module: str) -> list[str]:
    """Name and version of the package that this is a module of, where it does not change while people work."""
    top = module.partition(".")[0]
    package = sys.modules.get(top)
    place = getattr(package, "__file__", None)
    if top == "__main__" or package is None:
        return []
    if top == __package__ or place is None or any(Path(place).is_relative_to(folder) for folder in _INSTALLED):
        return [module, str(getattr(package, "__version__", sys.version))]
    return []


_INSTALLED = [Path(path) for name, path in sysconfig.get_paths().items() if name in ("stdlib", "purelib", "platlib")]


def _pickled(value: Any) -> str:
    try:
        return _digest(pickle.dumps(value))
    except Exception:  # whatever an object raises that cannot be pickled
        return uuid4().hex


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
