"""Parse texts such as ``"rbp(0.8)"`` into functions with checked parameters and facts: immutable and picklable."""

from __future__ import annotations

import ast
import importlib
import inspect
import pickle
import sys
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from itertools import zip_longest
from typing import Annotated, Any, Protocol, cast, get_args, get_origin, get_type_hints, overload

import numpy as np

from ..data.columns import Floats
from ..errors import BadParameter, CWLAError, UnknownFunction, UnknownSpec, near, shown
from .facts import Facts, check_stated_facts
from .view import read_only

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


Given = Mapping[str, Any]
"""Values of parameters, by name."""

#: Keyword of each kind of function in measures, for errors.
ROLES = {"gain": "gain", "effort": "effort", "continuation": "C", "aggregation": "A", "discount": "discount"}
#: First argument of each kind of function, for errors.
_INPUTS = {"gain": "grade", "effort": "documents", "continuation": "view", "aggregation": "view", "discount": "i"}
_MOST = sys.float_info.max
_PACKAGE = __name__.partition(".")[0]


def _as_given(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Kind:
    """Values that a parameter may have.

    Attributes
    ----------
    says : str
        The values in words, for errors and help.
    convert : callable
        Function that returns a value in canonical form, or None if the value is not allowed.
    interval : str, default=""
        Interval of a number in mathematical notation.
    whole : bool, default=False
        Whether a number must be an integer.
    choices : tuple of str, default=()
        Names to choose from.
    function : str, default=""
        Kind of a registered function: gain, effort, continuation, aggregation or discount.
    by_grade : bool, default=False
        Whether the value is a map from grades to numbers.
    text : callable, optional
        Function that returns the text of a converted value in a measure, for objects such as functions and tables.
    """

    says: str
    convert: Callable[[Any], Any] = field(default=_as_given, compare=False, repr=False)
    interval: str = ""
    whole: bool = False
    choices: tuple[str, ...] = ()
    function: str = ""
    by_grade: bool = False
    text: Callable[[Any], str | dict[str, str]] | None = field(default=None, compare=False, repr=False)

    def __contains__(self, value: object) -> bool:
        return self.convert(value) is not None

    def __str__(self) -> str:
        if not self.function:
            return self.says
        built_in = sorted(name for name, part in TABLES[self.function].items() if part.built_in)
        return f"{self.says}: one of {', '.join(built_in)}, or your own"


def In(interval: str, whole: bool = False) -> Kind:
    """Return the range of a number in mathematical notation: ``In("[0, 1)")``.

    Parameters
    ----------
    interval : str
        Interval; brackets include an end, parentheses exclude it.
    whole : bool, default=False
        Whether the number must be an integer.
    """
    says = f"a {'whole ' if whole else ''}number in {interval}"
    return Kind(says, partial(_number_within, interval, whole), interval, whole)


def _number_within(interval: str, whole: bool, value: Any) -> Any:
    number = _number(value)
    if number is None:
        return None
    low, high = (float(end) for end in interval[1:-1].split(","))
    above = number >= low if interval[0] == "[" else number > low
    below = number <= high if interval[-1] == "]" else number < high
    if not (above and below) or (whole and not float(number).is_integer()):
        return None
    return number if whole or abs(number) < 2**53 else float(number)


def OneOf(*names: str) -> Kind:
    """Return a choice of names: ``OneOf("judged", "ranking")``."""
    return Kind(" or ".join(map(repr, names)), partial(_choice, names), choices=names)


def _choice(names: tuple[str, ...], value: Any) -> str | None:
    return value if isinstance(value, str) and value in names else None


def Named(kind: str) -> Kind:
    """Return the kind of a parameter that is another registered function: ``Named("discount")``.

    Parameters
    ----------
    kind : str
        Kind of the function: gain, effort, continuation, aggregation or discount.
    """
    article = "an" if kind[0] in "ae" else "a"
    return Kind(f"{article} {kind}", partial(_function, kind), function=kind, text=str)


def _function(kind: str, value: Any) -> Spec | None:
    return parse(value, kind) if isinstance(value, str | Spec | Part) else None


def Grades(what: str, highest: float = _MOST, lowest: float = 0) -> Kind:
    """Return the kind of a map from grades to numbers: ``{1: 0.3, 2: 1}``.

    Parameters
    ----------
    what : str
        Name of the numbers, for errors.
    highest : float
        Highest number that is allowed.
    lowest : float, default=0
        Lowest number that is allowed for grades of 0 or more; for others it is 0.
    """
    says = f"a map from grades to {what}, such as {{1: 0.3, 2: 1}}"
    return Kind(says, partial(_numbers_by_grade, highest, lowest), by_grade=True)


def _numbers_by_grade(highest: float, lowest: float, value: Any) -> dict[float, float] | None:
    if not isinstance(value, Mapping):
        return None
    pairs = {_number(grade): _number(number) for grade, number in value.items()}
    numbers = [*pairs, *pairs.values()]
    if None in numbers or not all((0 if g < 0 else lowest) <= number <= highest for g, number in pairs.items()):
        return None
    return dict(sorted(pairs.items()))


#: Kind of True and False.
FLAG = Kind("True or False", lambda value: value if isinstance(value, bool) else None)


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) and getattr(tree_of(value), "id", None) == value else None


#: Kind of a word, such as the unit of a cost.
WORD = Kind("a word, such as tokens", _word)

Probabilities = Annotated[dict[float, float], Grades("probabilities", 1)]
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
    """Parameter of a registered function or of a named metric.

    Attributes
    ----------
    name : str
        Name.
    allowed : Kind
        Values that are allowed.
    default : object
        Default value, if there is one.
    many : bool, default=False
        Whether the parameter takes any number of positional values.
    """

    name: str
    allowed: Kind = _ANY_NUMBER
    default: Any = _NOTHING
    many: bool = False

    @property
    def required(self) -> bool:
        """Whether a value must be given."""
        return self.default is _NOTHING and not self.many

    def check(self, value: Any, where: str) -> Any:
        """Return a value in canonical form.

        Parameters
        ----------
        value : object
            Value as the user gives it.
        where : str
            Place of the value, for errors.

        Raises
        ------
        BadParameter
            If the value is not allowed; the error lists the values that are.
        """
        if value is None and self.default is None:
            return None
        found = tuple(map(self.allowed.convert, value)) if self.many else self.allowed.convert(value)
        if found is None or (self.many and None in found):
            raise BadParameter(f"{where}: {self.name} must be {self.allowed}.")
        return found


def lacking(parameters: Iterable[Parameter], given: Container[str]) -> list[str]:
    """Return the names of the required parameters that are not given."""
    return [p.name for p in parameters if p.required and p.name not in given]


def _number(value: Any) -> Any:
    """Return a number in canonical form (2.0 and NumPy's 2 become 2), or None for NaN, infinities and other types."""
    if getattr(value, "size", None) == 1:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _MOST:
        return None
    return int(value) if float(value).is_integer() and abs(value) < 2**53 else value


def float_or_int(value: Any) -> Any:
    """Return a finite number in canonical form: integers as int.

    Raises
    ------
    BadParameter
        If the value is not a finite number.
    """
    number = _number(value)
    if number is None:
        raise BadParameter(f"{shortened(repr(value))} is not a finite number.")
    return number


class Part:
    """Gain, effort, continuation, aggregation or discount: a function with a name and checked parameters.

    The decorators :func:`gain`, :func:`effort`, :func:`continuation`, :func:`aggregation` and :func:`discount` return
    it. A call with parameters returns a :class:`Spec`; measures accept it in place of a string.

    Parameters
    ----------
    kind : str
        Kind of the function: gain, effort, continuation, aggregation or discount.
    function : callable
        The function.
    version : str or int, optional
        Version of the function. With a version, results of a user's function may be cached.
    **facts
        Facts about the function, as for the decorator.

    Attributes
    ----------
    name : str
        Name of the function.
    parameters : list of Parameter
        Parameters, without the input of the function.
    many : str or None
        Name of the parameter that takes any number of values.
    wants_max_rel : bool
        Whether the function has the argument ``max_rel``.
    facts : Facts
        Facts about the function.

    Raises
    ------
    BadParameter
        If the version or a fact is not valid.
    """

    def __init__(self, kind: str, function: Callable[..., Any], version: str | int | None = None, **facts: Any) -> None:
        self.kind, self.function = kind, function
        self.name = function.__name__
        self.version = _version(version, f"{kind} {self.name!r}")
        self.__name__, self.__doc__, self.__module__ = self.name, function.__doc__, function.__module__ or "__main__"
        self.__wrapped__ = function
        hints = get_type_hints(function, include_extras=True)
        function.__annotations__ = hints  # resolved here, because the names in them are not pickled with the function
        given = list(inspect.signature(function).parameters.values())
        name = _INPUTS[kind]
        if not given or given[0].kind is inspect.Parameter.KEYWORD_ONLY or _is_parameter(given[0], hints, name):
            raise BadParameter(
                f"@{kind}: the first parameter of {self.name!r} must be {name}, the input of the function, as in"
                f" def {self.name}({name}, …)."
            )
        self.parameters = [p for p in parameters_of(function) if p.name != "max_rel"]
        self.many = next((p.name for p in self.parameters if p.many), None)
        self.wants_max_rel = any(p.name == "max_rel" for p in given)
        if not self.built_in:
            check_stated_facts(kind, self.name, [p.name for p in self.parameters], facts)
        self.facts = Facts(**facts)

    def __call__(self, *args: Any, **kwargs: Any) -> Spec:
        """Return this function with parameters."""
        return self.with_values(args, kwargs, f"{ROLES[self.kind]}={self.name}(…)")

    def with_values(self, args: Sequence[Any], kwargs: Given, where: str) -> Spec:
        """Return this function with parameters, which are checked and brought into canonical form.

        Parameters
        ----------
        args, kwargs
            Parameters, by position and by name.
        where : str
            Place of the parameters, for errors.

        Raises
        ------
        BadParameter
            If a parameter is unknown, missing, given twice or not allowed.
        """
        named = dict(kwargs)
        if self.many in named:
            raise BadParameter(
                f"{where}: give the {self.many} of {self.signature()} one after the other, without a name."
            )
        if self.many:
            named[self.many] = args
        elif len(args) > len(self.parameters):
            raise BadParameter(f"{where}: {self.signature()} takes {len(self.parameters)} parameters, got {len(args)}.")
        else:
            for parameter, value in zip(self.parameters, args, strict=False):
                if parameter.name in named:
                    raise BadParameter(f"{where}: {parameter.name} is given twice.")
                named[parameter.name] = value
        known = {p.name: p for p in self.parameters}
        for name in named:
            if name not in known:
                raise BadParameter(f"{where}: {self.signature()} has no parameter {name!r}. {near(name, known)}")
        if missing := lacking(self.parameters, named):
            raise BadParameter(f"{where}: {self.signature()} needs {', '.join(missing)}.")
        return Spec(self, tuple((p.name, p.check(named.get(p.name, p.default), where)) for p in self.parameters))

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"

    @cached_property
    def built_in(self) -> bool:
        """Whether the function is defined in this package."""
        return str(getattr(self.function, "__globals__", {}).get("__name__")).startswith(f"{_PACKAGE}.")

    def signature(self) -> str:
        """Return the signature as in a measure: ``rbp(phi)``, ``decay(half_life=224)``."""
        inside = ", ".join(
            f"*{p.name}" if p.many else p.name if p.required else f"{p.name}={written(p.default)}"
            for p in self.parameters
        )
        return f"{self.name}({inside})" if inside else self.name

    def __reduce__(self) -> tuple[Any, ...]:
        module = sys.modules.get(self.__module__)
        if self.__module__ != "__main__" and getattr(module, self.name, None) is self:
            return _imported, (self.__module__, self.name)
        # Functions of notebooks are pickled by value, because worker processes cannot import them.
        import cloudpickle

        return _rebuilt, (self.kind, cloudpickle.dumps((self.function, self.version, self.facts.stated)))


def _imported(module: str, name: str) -> Part:
    return cast(Part, getattr(importlib.import_module(module), name))


def _rebuilt(kind: str, pickled: bytes) -> Part:
    function, version, facts = pickle.loads(pickled)
    part = Part(kind, function, version, **facts)
    TABLES[kind].setdefault(part.name, part)
    return part


def _version(version: object, where: str) -> str | int | None:
    is_number = isinstance(version, int) and not isinstance(version, bool)
    if version is None or is_number or (isinstance(version, str) and version.strip()):
        return cast("str | int | None", version)
    raise BadParameter(
        f"{where}: version={version!r} must be a non-empty string or an integer; change it whenever the results of the"
        " function change."
    )


def _is_parameter(p: inspect.Parameter, hints: Given, called: str) -> bool:
    """Return whether an argument has a range, or a default value without the name of an input, as parameters have."""
    ranges = any(isinstance(option, Kind) for option in get_args(hints.get(p.name)))
    return ranges or (p.default is not _NOTHING and p.name != called)


def parameters_of(function: Callable[..., Any]) -> list[Parameter]:
    """Return the parameters of a function after its input, with the ranges in its annotations."""
    hints, found = get_type_hints(function, include_extras=True), []
    for p in [*inspect.signature(function).parameters.values()][1:]:
        hint = hints.get(p.name)
        ranges = [option for option in (hint, *get_args(hint)) if get_origin(option) is Annotated]
        allowed = ranges[0].__metadata__[0] if ranges else _ANY_NUMBER
        if not isinstance(allowed, Kind):
            allowed = Kind(str(allowed), partial(_member, allowed))
        found.append(Parameter(p.name, allowed, p.default, p.kind is p.VAR_POSITIONAL))
    return found


def _member(values: Any, value: Any) -> Any:
    """Return a value that is in a user's container of allowed values."""
    return value if hasattr(values, "__contains__") and value in values else None


#: All registered functions by kind and name; the decorators add to it.
TABLES: dict[str, dict[str, Part]] = {kind: {} for kind in ROLES}


class Decorator(Protocol):
    """Decorator of functions of a kind, with or without keyword arguments."""

    @overload
    def __call__(self, function: Callable[..., Any], /) -> Part: ...

    @overload
    def __call__(
        self, function: None = None, /, *, version: str | int | None = None, **facts: Any
    ) -> Callable[[Callable[..., Any]], Part]: ...


def decorator(kind: str, doc: str) -> Decorator:
    """Return the decorator of a kind of functions.

    It is used as ``@continuation``, or with facts about the function, ``@continuation(…)``.

    Parameters
    ----------
    kind : str
        Kind of the functions: gain, effort, continuation, aggregation or discount.
    doc : str
        Docstring of the decorator.
    """

    def decorate(function: Any = None, *, version: str | int | None = None, **facts: Any) -> Any:
        def register(function: Callable[..., Any]) -> Part:
            if not callable(function) or not getattr(function, "__name__", "").isidentifier():
                raise BadParameter(f"@{kind} must decorate a function with a name, not {shown(function)}.")
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


def checked_numbers(spec: Spec, values: Any, shape: tuple[int, ...]) -> Floats:
    """Return the result of a user's function as floats that broadcast to a shape.

    The result of a continuation or aggregation must have two axes or be one number. A single axis would be ambiguous:
    it could be the axis of queries or of ranks.

    Parameters
    ----------
    spec : Spec
        The user's function.
    values : array_like
        Its result.
    shape : tuple of int
        Shape of the input.

    Returns
    -------
    ndarray of float
        Values that broadcast to `shape`.

    Raises
    ------
    BadParameter
        If the values are not numbers, or do not broadcast to `shape`.
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
    """Registered function with values of its parameters, such as ``rbp(0.8)``.

    Two specs are equal if their functions and canonical texts are.

    Attributes
    ----------
    part : Part
        The function.
    values : tuple of (str, object)
        Name and canonical value of every parameter.
    """

    part: Part
    values: tuple[tuple[str, Any], ...]

    @property
    def name(self) -> str:
        """Name of the function."""
        return self.part.name

    def __getitem__(self, parameter: str) -> Any:
        return dict(self.values)[parameter]

    def __call__(self, *inputs: Any, **more: Any) -> Any:
        """Return the value of the function for its input (a view, grades, documents or ranks).

        Raises
        ------
        BadParameter
            If a user's function raises an exception.
        """
        if not self.part.built_in:
            inputs = tuple(map(read_only, inputs))
        values = dict(self.values)
        rest = values.pop(self.part.many) if self.part.many else ()
        try:
            return self.part.function(*inputs, *rest, **values, **more)
        except CWLAError:
            raise
        except Exception as error:
            if self.part.built_in:
                raise
            # Name the user's function in the error.
            names = (name for name in dir(getattr(error, "obj", None)) if name[0] != "_")
            hint = near(error.name, names) if isinstance(error, AttributeError) and error.name else ""
            raise BadParameter(
                f"{self.keyword} fails: {error or type(error).__name__}.{f' {hint}' * hint.startswith('Near')} Its"
                " inputs are read-only arrays with one value per query and rank (for C and A the names i, r, G, e, E,"
                " best, total, … of the view): use numpy.where instead of if and of assignments."
            ) from error

    def fact(self, name: str) -> Any:
        """Return the value of a fact about the function; facts that are functions get the parameters of this spec."""
        if name not in self._facts:
            facts, values = self.part.facts, dict(self.values)
            fact = facts.of_parts(name, **values) if facts.of_parts is not None else getattr(facts, name)
            ours = facts.of_parts is None and callable(fact)
            self._facts[name] = (lambda *inputs: fact(*inputs, **values)) if ours else fact
        return self._facts[name]

    @cached_property
    def _facts(self) -> dict[str, Any]:
        """Facts that were asked for; every chunk of rankings asks for a dozen."""
        return {}

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
        """Keyword argument with this function in a measure: ``C='rbp(0.8)'``."""
        return f"{ROLES[self.part.kind]}={str(self)!r}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spec) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __reduce__(self) -> tuple[Any, ...]:
        return Spec, (self.part, self.values)

    @cached_property
    def built_in(self) -> bool:
        """Whether this function and all functions among its parameters are built in.

        Only results of built-in functions are cached in memory; functions of users may depend on values that change.
        """
        return self.part.built_in and all(v.built_in for _, v in self.values if isinstance(v, Spec))

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """Key in caches. It contains the functions themselves, because a notebook may define a name again."""
        return (self.part.function, str(self), tuple(v.key for _, v in self.values if isinstance(v, Spec)))


def written(value: Any) -> str:
    """Return a value as text in the syntax of measures."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{k}:{v}" for k, v in value.items()) + "}"
    return str(value)


def parse(text: str | Spec | Part, kind: str, names: Given | None = None) -> Spec:
    """Parse a text such as ``"rbp(0.8)"`` into a function of a kind.

    Parameters
    ----------
    text : str, Spec or Part
        Function with its parameters.
    kind : str
        Kind of the function: gain, effort, continuation, aggregation or discount.
    names : mapping, optional
        Values of names that the text may contain.

    Returns
    -------
    Spec
        Function with checked parameters.

    Raises
    ------
    UnknownSpec
        If the text cannot be parsed, or if there is no function of this kind and name (UnknownFunction).
    BadParameter
        If a parameter is not allowed.

    Examples
    --------
    >>> from pyterrier_cwla.model import parse
    >>> parse("inst(T=2.0)", "continuation")
    inst(2)
    """
    role = ROLES[kind]
    if isinstance(text, Part):
        text = text()
    if isinstance(text, Spec):
        if text.part.kind != kind:
            raise UnknownSpec(f"{role}={str(text)!r}: {role} must be a {kind}, not of kind {text.part.kind}.")
        return text
    if not isinstance(text, str):
        of_table = kind == "gain" and isinstance(text, dict)
        hint = f"Write gain='table({text!r})'." if of_table else f"Write @{kind} above its def."
        raise UnknownSpec(
            f"{role} must be {Named(kind).says}, as text or as a decorated function, not {text!r}. {hint}"
        )
    return _spec(tree_of(text), kind, f"{role}={shortened(text)!r}", names or {})


def _spec(tree: ast.expr | None, kind: str, where: str, names: Given) -> Spec:
    def refused(reason: str, node: ast.expr | ast.keyword) -> BadParameter:
        return BadParameter(f"{where}: {reason}.")

    def other(node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            return names.get(node.id, node.id)
        raise refused("parameters are numbers, names, or maps such as {1: 0.5}", node)

    def value(node: ast.expr, parameter: Parameter | None) -> Any:
        if parameter and parameter.allowed.function and isinstance(node, ast.Name | ast.Call):
            return _spec(node, parameter.allowed.function, where, names)
        return read_value(node, other, refused)

    head, args, named = (None, [], {}) if tree is None else read_call(tree, refused)
    if not isinstance(head, ast.Name):
        raise UnknownSpec(f"{where} cannot be read: write a name and its parameters, as in 'rbp(0.8)'.")
    if head.id not in TABLES[kind]:
        raise UnknownFunction(
            f"no {kind} {head.id!r} in {where}. {near(head.id, TABLES[kind])} `pyterrier-cwla measures` lists all."
        )
    part = TABLES[kind][head.id]
    known = {p.name: p for p in part.parameters}
    by_place = zip_longest(args, part.parameters[: len(args)])
    return part.with_values(
        tuple(value(node, parameter) for node, parameter in by_place),
        {name: value(node, known.get(name)) for name, node in named.items()},
        where,
    )
