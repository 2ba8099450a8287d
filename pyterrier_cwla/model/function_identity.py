"""Comparison of users' functions by their code, which stays the same when a function is pickled by value."""

from __future__ import annotations

from collections.abc import Mapping
from types import CodeType, FunctionType
from typing import Any

from .language import Spec


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
