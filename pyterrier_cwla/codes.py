"""What functions and measures do, as far as it can be told without running them: for fingerprints."""

from __future__ import annotations

import dis
import hashlib
import pickle
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any
from uuid import uuid4

import numpy as np
from ir_measures.measures import Measure

from .measures import CWLAMeasure, Wrapper, _IntentAware
from .metric import Metric
from .spec import Part, Spec
from .tables import DocumentTable


def code_of(function: FunctionType, inside: tuple = ()) -> list[Any]:
    """What a fingerprint can hold of a function: its instructions, defaults and closure, and what those names mean that
    it reads in its module: other functions, classes and values.

    What is installed is told by its name and version, and so is this package. What cannot be told is another every
    time.
    """
    inside = (*inside, function)
    given = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).items()]
    closure = [cell.cell_contents for cell in function.__closure__ or ()]
    known = function.__globals__
    read = {name: known[name] for name in sorted({*_reads(function.__code__)} & {*known})}
    return [_told(value, inside) for value in (function.__code__, *given, *closure, read)]


def of_measure(measure: Measure) -> list[Any]:
    """The same of a measure: its text, the user's own functions in it, and the contents of its tables."""
    if isinstance(measure, Wrapper):
        weights = measure.weights.table if isinstance(measure, _IntentAware) else None
        return [str(measure), of_measure(measure.inner), _told(weights, ())]
    if isinstance(measure, CWLAMeasure):
        return [str(measure), _of_metric(measure.metric)]
    return [str(measure)]


def _of_metric(metric: Metric) -> list[Any]:
    return [_told(vars(metric)[name], ()) for name in sorted(metric.__dataclass_fields__)]


def _told(value: Any, inside: tuple) -> Any:
    if any(value is outer for outer in inside):
        return "itself"
    inside = (*inside, value)

    def each(values: Any) -> list[Any]:
        return [_told(one, inside) for one in values]

    match value:
        case None | bool() | int() | float() | complex() | str() | bytes():
            return repr(value)
        case np.ndarray() if not value.dtype.hasobject:
            return value
        case list() | tuple():
            return [type(value).__name__, *each(value)]
        case set() | frozenset():
            return ["set", *sorted(map(repr, each(value)))]
        case Mapping():
            return ["dict", *each(value.items())]
        case CodeType():
            return [value.co_code.hex(), value.co_names, *each(value.co_consts)]
        case Spec():
            return [str(value), *([] if value.built_in else each([value.part, value.values]))]
        case Part():
            return [value.name, *([] if value.built_in else each([value.function, value.facts]))]
        case DocumentTable():
            return [value.name, value.content]
        case Measure():
            return of_measure(value)
        case partial():
            return each([value.func, value.args, value.keywords])
        case MethodType():
            return each([value.__func__, value.__self__])
    settled = _settled(getattr(value, "__module__", None) or "__main__")
    match value:
        case ModuleType():
            return _settled(value.__name__) or [value.__name__, _digest(Path(value.__file__ or "").read_bytes())]
        case FunctionType():
            return [*settled, value.__qualname__] if settled else code_of(value, inside[:-1])
        case type():
            return [*settled, value.__qualname__] if settled else [value.__qualname__, *each(_methods(value))]
    if settled or not hasattr(value, "__dict__"):
        return _pickled(value)
    return each([type(value), vars(value)])


def _reads(code: CodeType) -> Iterator[str]:
    """The names of its module that a function reads, and those of the functions in it."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _reads(constant)


def _methods(kind: type) -> list[Any]:
    """What a class can do: its functions, those behind its properties, and what its bases can do."""
    own = [getattr(value, "fget", None) or getattr(value, "__func__", value) for value in vars(kind).values()]
    return [*kind.__bases__, *(value for value in own if isinstance(value, FunctionType))]


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
