"""The little language of metrics: ``"rbp(0.8)"`` ⇄ a function with its parameters, frozen, canonical and picklable."""

from __future__ import annotations

import ast
import importlib
import inspect
import pickle
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np

from ..errors import BadParameter, CWLAError, UnknownFunction, UnknownSpec, near, shown
from .facts import checked_facts

#: What each kind of function is called in a measure, for the errors.
ROLES = {"gain": "gain", "effort": "effort", "continuation": "C", "aggregation": "A", "discount": "discount"}
_LONGEST = 10_000
_MOST = sys.float_info.max
_PACKAGE = __name__.partition(".")[0]


@dataclass(frozen=True)
class In:
    """The range of a number, written as in mathematics: ``In("[0, 1)")``."""

    interval: str
    whole: bool = False

    def __contains__(self, value: float) -> bool:
        low, high = (float(end) for end in self.interval[1:-1].split(","))
        above = value >= low if self.interval[0] == "[" else value > low
        below = value <= high if self.interval[-1] == "]" else value < high
        return above and below and (not self.whole or float(value).is_integer())

    def __str__(self) -> str:
        return f"a {'whole ' if self.whole else ''}number in {self.interval}"


@dataclass(frozen=True)
class OneOf:
    """A choice between names: ``OneOf("judged", "ranking")``."""

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        object.__setattr__(self, "names", names)

    def __contains__(self, value: object) -> bool:
        return isinstance(value, str) and value in self.names

    def __str__(self) -> str:
        return " or ".join(repr(name) for name in self.names)


@dataclass(frozen=True)
class Named:
    """Another function of the language, of this kind: ``Named("discount")``."""

    kind: str

    def __str__(self) -> str:
        return f"the name of a {self.kind}"


@dataclass(frozen=True)
class Grades:
    """A map from grades to numbers: ``{1: 0.3, 2: 1}``."""

    what: str = "gains of 0 or more"
    highest: float = _MOST

    def __str__(self) -> str:
        return f"a map from grades to {self.what}, such as {{1: 0.3, 2: 1}}"


Probabilities = Annotated[dict, Grades("probabilities", 1)]
Probability = Annotated[float, In("[0, 1]")]
BelowOne = Annotated[float, In("[0, 1)")]
Positive = Annotated[float, In("(0, inf)")]
NotNegative = Annotated[float, In("[0, inf)")]
Rank = Annotated[int, In("[1, inf)", whole=True)]
Grade = Annotated[int, In("[1, inf)", whole=True)]

_NOTHING = inspect.Parameter.empty
_ANY_NUMBER = In("(-inf, inf)")


@dataclass(frozen=True)
class Parameter:
    """A parameter of a function of the language, or of a named metric: its name, what it may be, and its default."""

    name: str
    allowed: Any = _ANY_NUMBER
    default: Any = _NOTHING
    many: bool = False

    @property
    def required(self) -> bool:
        return self.default is _NOTHING and not self.many

    def check(self, value: Any, where: str) -> Any:
        """The value in its canonical form, or an error that says what is allowed."""
        if self.many:
            return tuple(Parameter(self.name, self.allowed).check(v, where) for v in value)
        if value is None and self.default is None:
            return None
        if isinstance(self.allowed, Named) and isinstance(value, str | Spec | Part):
            return parse(value, self.allowed.kind)
        if isinstance(self.allowed, Grades) and isinstance(value, Mapping):
            with suppress(BadParameter):
                pairs = {float_or_int(k): float_or_int(v) for k, v in value.items()}
                if all(0 <= number <= self.allowed.highest for number in pairs.values()):
                    return dict(sorted(pairs.items()))
        if isinstance(self.allowed, In):
            value = _number(value)
            if value is not None and value in self.allowed:
                return value if self.allowed.whole or abs(value) < 2**53 else float(value)
        elif hasattr(self.allowed, "__contains__") and value in self.allowed:
            return value
        raise BadParameter(f"{where}: {self.name} must be {self.allowed}.")


def _number(value: Any) -> Any:
    """2.0 and numpy's 2 become 2; what is no number, or NaN, becomes None."""
    if getattr(value, "size", None) == 1:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _MOST:
        return None
    return int(value) if float(value).is_integer() and abs(value) < 2**53 else value


def float_or_int(value: Any) -> Any:
    """A finite number in canonical form, or an error."""
    number = _number(value)
    if number is None:
        raise BadParameter(f"{shortened(repr(value))} is not a finite number.")
    return number


class Part:
    """A gain, effort, continuation, aggregation or discount: a small function with a name and checked parameters.

    Calling a part with parameters gives a :class:`Spec`, which measures take wherever they take a string.
    """

    def __init__(self, kind: str, function: Callable, version: str | int | None = None, **facts: Any) -> None:
        self.kind, self.function = kind, function
        self.name = function.__name__
        self.version = _version(version, f"{kind} {self.name!r}")
        self.__name__, self.__doc__, self.__module__ = self.name, function.__doc__, function.__module__ or "__main__"
        self.__wrapped__ = function
        hints = get_type_hints(function, include_extras=True)
        function.__annotations__ = hints  # read here, since the names in them do not travel with a pickled function
        given = list(inspect.signature(function).parameters.values())
        self.parameters = [_parameter(p, hints.get(p.name)) for p in given[1:] if p.name != "max_rel"]
        self.many = next((p.name for p in self.parameters if p.many), None)
        """The parameter that takes any number of values."""
        self.wants_max_rel = any(p.name == "max_rel" for p in given)
        self.facts = checked_facts(kind, self.name, [p.name for p in self.parameters], facts)

    def __call__(self, *args: Any, **kwargs: Any) -> Spec:
        return Spec.of(self, args, kwargs, f"{ROLES[self.kind]}={self.name}(…)")

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"

    @property
    def built_in(self) -> bool:
        """Whether the function is defined in this package; ``functools.wraps`` copies ``__module__``, not globals."""
        known = getattr(self.function, "__globals__", {})
        return str(known.get("__name__")).startswith(f"{_PACKAGE}.")

    def signature(self) -> str:
        """As it is written in a measure: ``rbp(phi)``, ``decay(half_life=224)``."""
        inside = ", ".join(
            f"*{p.name}" if p.many else p.name if p.required else f"{p.name}={written(p.default)}"
            for p in self.parameters
        )
        return f"{self.name}({inside})" if inside else self.name

    def __reduce__(self) -> tuple:
        module = sys.modules.get(self.__module__)
        if self.__module__ != "__main__" and getattr(module, self.name, None) is self:
            return _imported, (self.__module__, self.name)
        # A notebook's own function travels with the measure: no worker process could import it.
        import cloudpickle

        return _rebuilt, (self.kind, cloudpickle.dumps((self.function, self.version, self.facts.stated)))


def _imported(module: str, name: str) -> Part:
    return getattr(importlib.import_module(module), name)


def _rebuilt(kind: str, pickled: bytes) -> Part:
    function, version, facts = pickle.loads(pickled)
    part = Part(kind, function, version, **facts)
    TABLES[kind].setdefault(part.name, part)
    return part


def _version(version: Any, where: str) -> str | int | None:
    is_text, is_number = isinstance(version, str), isinstance(version, int) and not isinstance(version, bool)
    if version is None or is_number or (is_text and version.strip()):
        return version
    raise BadParameter(
        f"{where}: version={version!r} must be a text that is not empty, or a whole number; change it whenever the"
        " function's results change."
    )


def _parameter(p: inspect.Parameter, hint: Any) -> Parameter:
    many = p.kind is inspect.Parameter.VAR_POSITIONAL
    for option in (hint, *get_args(hint)):
        if get_origin(option) is Annotated:
            return Parameter(p.name, option.__metadata__[0], p.default, many)
    return Parameter(p.name, _ANY_NUMBER, p.default, many)


#: All functions of the language by kind and name; the decorators below fill it.
TABLES: dict[str, dict[str, Part]] = {kind: {} for kind in ROLES}


def decorator(kind: str, doc: str) -> Callable:
    """The decorator of a kind, used as ``@continuation`` or with facts about the function, ``@continuation(…)``.

    ``version``: a text or a whole number under which results of the function may be cached (``cache_dir=``), to be
    changed whenever they change.
    """

    def decorate(function: Any = None, *, version: str | int | None = None, **facts: Any) -> Any:
        def register(function: Callable) -> Part:
            if not callable(function) or not hasattr(function, "__name__"):
                raise BadParameter(f"@{kind} decorates a function with a name, and {shown(function)} is none.")
            new = Part(kind, function, version, **facts)
            old = TABLES[kind].get(new.name)
            if old is not None and old.built_in and not new.built_in:
                raise BadParameter(f"{kind} {new.name!r} is built in; give yours another name.")
            TABLES[kind][new.name] = new
            return new

        return register if function is None else register(function)

    decorate.__name__ = decorate.__qualname__ = kind
    decorate.__doc__ = doc
    return decorate


def checked_numbers(spec: Spec, values: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return what a user's own function gave, as floats that broadcast to a shape.

    The result of a continuation or aggregation has two axes or one number: with one axis it would not say whether that
    is of queries or of ranks.

    Raises
    ------
    BadParameter
        If they are no numbers, or of another shape.
    """
    ranked = spec.part.kind in ("continuation", "aggregation")
    where = spec.keyword
    array = "an array [queries × ranks] with two axes that broadcasts" if ranked else "an array that broadcasts"
    wanted = f"must return one number, or {array} to the shape {shape} here"
    try:
        found = np.asarray(values)
        numeric = found.dtype.kind in "biufO" and values is not None
        found = np.asarray(found, float) if numeric else found
    except (TypeError, ValueError):
        numeric = False
    if not numeric:
        raise BadParameter(f"{where} returned {shown(values)}, of type {type(values).__name__}, and {wanted}.")
    if found.size == 1 and found.ndim < len(shape):
        return found.reshape((1,) * len(shape))
    last_axes = shape[len(shape) - found.ndim :]
    fits = found.ndim == len(shape) or (found.ndim < len(shape) and not ranked)
    if not (fits and all(n in (1, most) for n, most in zip(found.shape, last_axes, strict=True))):
        raise BadParameter(f"{where} returned an array of the shape {found.shape}, and {wanted}.")
    return found


@dataclass(frozen=True, eq=False)
class Spec:
    """A function of the language with its parameters. Equal where the function and its canonical text are."""

    part: Part
    values: tuple[tuple[str, Any], ...]

    @classmethod
    def of(cls, part: Part, args: tuple, kwargs: Mapping[str, Any], where: str) -> Spec:
        """Binds parameters, checks them, and writes them in their canonical form."""
        named = dict(kwargs)
        if part.many in named:
            raise BadParameter(
                f"{where}: the {part.many} of {part.signature()} are written one after the other, without name."
            )
        if part.many:
            named[part.many] = args
        elif len(args) > len(part.parameters):
            raise BadParameter(f"{where}: {part.signature()} takes {len(part.parameters)} parameters, got {len(args)}.")
        else:
            for parameter, value in zip(part.parameters, args, strict=False):
                if parameter.name in named:
                    raise BadParameter(f"{where}: {parameter.name} is given twice.")
                named[parameter.name] = value
        known = {p.name: p for p in part.parameters}
        for name in named:
            if name not in known:
                raise BadParameter(f"{where}: {part.signature()} has no parameter {name!r}. {near(name, known)}")
        missing = [p.name for p in part.parameters if p.required and p.name not in named]
        if missing:
            raise BadParameter(f"{where}: {part.signature()} needs {', '.join(missing)}.")
        return cls(part, tuple((p.name, p.check(named.get(p.name, p.default), where)) for p in part.parameters))

    @property
    def name(self) -> str:
        return self.part.name

    def __getitem__(self, parameter: str) -> Any:
        return dict(self.values)[parameter]

    def __call__(self, *inputs: Any, **more: Any) -> Any:
        """The function's value, given what it reads (a view, or grades)."""
        values = dict(self.values)
        rest = values.pop(self.part.many) if self.part.many else ()
        try:
            return self.part.function(*inputs, *rest, **values, **more)
        except CWLAError:
            raise
        except Exception as error:
            if self.part.built_in:
                raise
            # A user's own function: say whose error it is.
            raise BadParameter(
                f"{self.keyword} fails: {error}. It is given arrays, one value for each query"
                " and rank (for C and A i, r, G, e, E, best, total, … of the view): use numpy.where instead of if."
            ) from error

    def fact(self, name: str) -> Any:
        """What the decorator states about the function, with this spec's parameters."""
        facts = self.part.facts
        if facts.of_parts is not None:
            return facts.of_parts(name, **dict(self.values))
        fact = getattr(facts, name)
        if not callable(fact):
            return fact
        return lambda *inputs: fact(*inputs, **dict(self.values))

    def __str__(self) -> str:
        words, by_name = [], False
        for parameter, (_, value) in zip(self.part.parameters, self.values, strict=True):
            if parameter.many:
                words += [written(v) for v in value]
            elif value == parameter.default:
                by_name = True
            else:
                words.append(f"{parameter.name}={written(value)}" if by_name else written(value))
        return f"{self.name}({','.join(words)})" if words else self.name

    __repr__ = __str__

    @property
    def keyword(self) -> str:
        """The keyword argument that gives this function to a measure: ``C='rbp(0.8)'``."""
        return f"{ROLES[self.part.kind]}={str(self)!r}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spec) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __reduce__(self) -> tuple:
        return Spec, (self.part, self.values)

    @cached_property
    def built_in(self) -> bool:
        """Whether the function and all in its parameters are ours: a user's own may read what changes."""
        return self.part.built_in and all(v.built_in for _, v in self.values if isinstance(v, Spec))

    @cached_property
    def key(self) -> tuple:
        """The key in caches: the functions themselves, since a notebook may give an old name a new function."""
        inner = tuple(v.key for _, v in self.values if isinstance(v, Spec))
        return (self.part.function, str(self), inner)


def written(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{k}:{v}" for k, v in value.items()) + "}"
    return str(value)


def parse(text: str | Spec | Part, kind: str, names: Mapping[str, Any] | None = None) -> Spec:
    """Reads ``"rbp(0.8)"`` as a function of this kind; ``names`` are values that the text may refer to.

    >>> from pyterrier_cwla.model import parse
    >>> parse("inst(T=2.0)", "continuation")
    inst(2)
    """
    role = ROLES[kind]
    if isinstance(text, Part):
        text = text()
    if isinstance(text, Spec):
        if text.part.kind != kind:
            raise UnknownSpec(f"{role}={str(text)!r}: {role} must be a {kind}, and this is of kind {text.part.kind}.")
        return text
    if not isinstance(text, str):
        raise UnknownSpec(
            f"{role} must be {'an' if kind[0] in 'ae' else 'a'} {kind}, as text or as a decorated function,"
            f" not {text!r}."
        )
    where = f"{role}={shortened(text)!r}"
    return _spec(_tree(text), kind, where, names or {})


@lru_cache(maxsize=1024)
def _tree(text: str) -> ast.expr | None:
    """The syntax tree of an expression, or None where the text is no expression."""
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        if len(text) <= _LONGEST:
            return ast.parse(text.strip(), mode="eval").body
    return None


def shortened(text: str) -> str:
    return text if len(text) <= 200 else text[:200] + "…"


def _spec(tree: ast.expr | None, kind: str, where: str, names: Mapping[str, Any]) -> Spec:
    call = tree if isinstance(tree, ast.Call) else None
    head = call.func if call else tree
    if not isinstance(head, ast.Name):
        raise UnknownSpec(f"{where} cannot be read: write a name and its parameters, as in 'rbp(0.8)'.")
    if head.id not in TABLES[kind]:
        raise UnknownFunction(
            f"no {kind} {head.id!r} in {where}. {near(head.id, TABLES[kind])} `pyterrier-cwla measures` lists all."
        )
    part = TABLES[kind][head.id]
    allowed = {p.name: p.allowed for p in part.parameters}
    order = [p.name for p in part.parameters]
    args, kwargs = [], {}
    for position, node in enumerate(call.args if call else []):
        wanted = allowed.get(order[position]) if position < len(order) else None
        args.append(_value(node, wanted, where, names))
    for keyword in call.keywords if call else []:
        if keyword.arg is None or keyword.arg in kwargs:
            raise BadParameter(f"{where}: every parameter is given once, by its name.")
        kwargs[keyword.arg] = _value(keyword.value, allowed.get(keyword.arg), where, names)
    return Spec.of(part, tuple(args), kwargs, where)


def _value(node: ast.expr, wanted: Any, where: str, names: Mapping[str, Any]) -> Any:
    if isinstance(wanted, Named) and isinstance(node, ast.Name | ast.Call):
        return _spec(node, wanted.kind, where, names)
    if isinstance(node, ast.Name):
        return names.get(node.id, node.id)
    if isinstance(node, ast.Dict) and all(isinstance(key, ast.Constant | ast.UnaryOp) for key in node.keys):
        keys = [_value(key, None, where, names) for key in node.keys if key is not None]
        if len(set(keys)) < len(keys):
            raise BadParameter(f"{where}: every grade is given once.")
        return dict(zip(keys, (_value(value, None, where, names) for value in node.values), strict=True))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = node.operand.value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return -value
    if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, str | int | float)):
        return node.value
    raise BadParameter(f"{where}: parameters are numbers, names, or maps such as {{1: 0.5}}.")
