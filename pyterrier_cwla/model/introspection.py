"""Names that functions of a view or of documents read, identity of functions, and checks of users' functions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache, wraps
from types import CodeType, FunctionType
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..data.columns import Floats
from ..data.rankings import may_be_cached
from ..errors import BadParameter
from .language import Spec, checked_numbers
from .view import Documents, UnknownEffort, View

#: Attributes of a view that are sums of gains. They grow after the list if unseen items have a gain.
SUMS = frozenset({"G", "G_before", "total", "found", "discounted", "fading", "credited"})


P = ParamSpec("P")
T = TypeVar("T")


def cached(function: Callable[P, T]) -> Callable[P, T]:
    """Cache the results of a function of the language's functions, if they are built in; those of users may change."""
    kept = lru_cache(maxsize=1024)(function)

    @wraps(function)
    def result(*key: P.args, **more: P.kwargs) -> T:
        return (kept if may_be_cached((*key, *more.values())) else function)(*key, **more)  # type: ignore[arg-type]

    return result


@cached
def reads(spec: Spec) -> frozenset[str]:
    """Return the names of the attributes of a view that a continuation or aggregation reads.

    Parameters
    ----------
    spec : Spec
        Function with parameters.
    """
    seen: set[str] = set()

    class Watched(View):
        def __getattribute__(self, name: str) -> Any:
            if not name.startswith("_"):
                seen.add(name)
            return super().__getattribute__(name)

        def at_least(self, rel: float | None) -> View:
            so_far = set(seen)
            binary = super().at_least(rel)
            seen.intersection_update(so_far)  # leave out the names that at_least itself reads
            seen.update(["grade"] if rel is not None else [])
            return binary

    Watched.__name__ = View.__name__  # for error messages
    i = np.arange(1.0, 13)[None, :]
    r = np.array([[0, 1, 0.5, 0, 0, 0.25, 0, 1, 0, 0, 0.5, 0]])
    watched = Watched(i, r, r, lambda _: np.array([[4.0]]), np.ones_like(r))
    watched.spend = lambda: np.array([[2.0]])
    seen.clear()
    with np.errstate(all="ignore"):
        spec(watched)
    return frozenset(seen)


@cached
def effort_reads(spec: Spec) -> frozenset[str]:
    """Return the names of the attributes of documents (grade, words, cost, rank) that an effort reads."""
    seen: set[str] = set()

    class Watched(Documents):
        def __getattribute__(self, name: str) -> Any:
            seen.add(name)
            return super().__getattribute__(name)

    documents = Watched(np.zeros(1), lambda: np.ones(1), lambda: np.ones(1), np.ones(1))
    seen.clear()
    with suppress(UnknownEffort):  # raised by the effort "given"
        spec(documents)
    return frozenset(seen)


def check_probabilities(spec: Spec, C: Floats, r: Floats) -> None:
    """Raise BadParameter if a value of C is not a probability, or if C is not defined for gains above 1."""
    limited = spec.fact("gains_up_to_1")
    if limited and limited() and r.max(initial=0) > 1 + 1e-9:
        raise BadParameter(
            f"{spec.keyword} is defined for gains of at most 1, and a gain is {r.max():g}: use gain='linear' or"
            " 'exponential' with max_rel=."
        )
    if C.size and not (C.min() >= 0 and C.max() <= 1):
        odd = np.asarray(C)[~((C >= 0) & (C <= 1))].flat[0]
        raise BadParameter(f"{spec.keyword} must return probabilities from 0 to 1, and returned {odd:g}.")


def on_ranks(spec: Spec, view: View, queries: int = 1) -> Floats:
    """Return the value of a continuation or aggregation at each rank of a view.

    Parameters
    ----------
    spec : Spec
        Continuation or aggregation.
    view : View
        Input of the function.
    queries : int, default=1
        Number of queries of the view.

    Returns
    -------
    ndarray of float
        Values that broadcast to [queries × ranks].

    Raises
    ------
    BadParameter
        If a user's function returns anything else.
    """
    values = spec(view)
    if not spec.part.built_in:
        return checked_numbers(spec, values, (queries, view.i.shape[-1]))
    return matrix(values)


def matrix(values: ArrayLike) -> Floats:
    """Return values as floats; a single number gets two axes."""
    array: Floats = np.asarray(values, float)
    return array.reshape(1, 1) if array.ndim == 0 else array


@lru_cache(maxsize=1024)
def try_out(spec: Spec) -> None:
    """Check a user's function on a short list and beyond its end, before the first use."""
    view = _short_list(np.zeros((1, 30)))
    found = on_ranks(spec, view)
    warn_of_own_sums(spec)
    if spec.part.kind == "continuation":
        check_probabilities(spec, found, view.r)


def warn_of_own_sums(spec: Spec) -> None:
    """Warn of a function whose values after the list differ from those on a list with explicit items without gain."""
    zeros = 8
    r = np.array([[0.5, 0, 1, 0, 0.25]])
    r_longer = np.concatenate([r, np.zeros((1, zeros))], axis=1)

    longer, beyond = _short_list(r_longer), _short_list(r).beyond(np.arange(1.0, zeros + 1)[None, :])
    try:
        with np.errstate(all="ignore"):
            explicit, unseen = on_ranks(spec, longer), on_ranks(spec, beyond)
    except ValueError:
        same = False
    else:
        explicit = np.broadcast_to(explicit, r_longer.shape)[:, r.shape[1] :]
        same = np.allclose(explicit, unseen, rtol=1e-9, atol=1e-12, equal_nan=True)
    if not same:
        warnings.warn(
            f"{spec} has other values after the list than for explicit items without gain: use G, E, best, fading(δ) or"
            " discounted(φ) of the view instead of sums of your own.",
            stacklevel=2,
        )


def _short_list(gains: Floats) -> View:
    view = View(np.arange(1.0, gains.shape[1] + 1)[None, :], gains, gains, lambda _: np.array([[3.0]]))
    view.spend = lambda: np.array([[2.0]])
    return view


def same_functions(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether functions of the language, by the names of parameters, are the same functions.

    Other values are not compared.

    Parameters
    ----------
    one, other : mapping of str to object
        Parameters of two measures with the same text.
    """
    return all(_same_specs(one.get(name), other.get(name)) for name in {*one, *other})


def _same_specs(one: object, other: object) -> bool:
    """Return whether functions are the same; one that is not given is a default, which is built in."""
    if not isinstance(one, Spec) or not isinstance(other, Spec):
        return not any(isinstance(value, Spec) and not value.built_in for value in (one, other))
    return same_function(one.part.function, other.part.function) and same_functions(
        dict(one.values), dict(other.values)
    )


def same_function(one: Any, other: Any) -> bool:
    """Return whether two functions have the same code, default values and closures, wherever their code stands.

    Examples
    --------
    >>> def half(i):
    ...     return 0.5
    >>> def third(i):
    ...     return 1 / 3
    >>> same_function(half, half), same_function(half, third)
    (True, False)
    """
    if one is other:
        return True
    if not isinstance(one, FunctionType) or not isinstance(other, FunctionType):
        return type(one) is type(other) and not isinstance(one, FunctionType) and _same_object(one, other)
    return (
        _content(one.__code__) == _content(other.__code__)
        and _same(one.__defaults__, other.__defaults__)
        and _same(one.__kwdefaults__, other.__kwdefaults__)
        and _same(_closure(one), _closure(other))
    )


def _content(code: CodeType) -> tuple[Any, ...]:
    """Return the content of code without its place in a file; types distinguish 1, 1.0 and True."""
    constants = tuple(
        _content(value) if isinstance(value, CodeType) else (type(value).__name__, repr(value))
        for value in code.co_consts
    )
    return (code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars, code.co_argcount)


def _closure(function: FunctionType) -> list[Any]:
    """Return the values of a closure; a function that calls itself stands for itself by its name."""
    values = []
    for cell in function.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:  # the cell is empty
            value = None
        values.append(function.__name__ if value is function else value)
    return values


def _same(one: Any, other: Any) -> bool:
    """Return whether default values or values of closures are the same."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, FunctionType):
        return same_function(one, other)
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(_same, one, other))
    return _same_object(one, other)


def _same_object(one: Any, other: Any) -> bool:
    """Return whether two objects have the same pickle, which does not depend on their operator ``==``."""
    import cloudpickle

    try:
        return bool(cloudpickle.dumps(one) == cloudpickle.dumps(other))
    except Exception:  # an object that cannot be pickled is equal to itself only
        return False
