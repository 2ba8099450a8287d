"""Facts that a decorator states about its function: one record per kind of function, with checked names and types."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any

from ..data.arrays import Floats
from ..errors import BadParameter, near

#: Positional arguments of the facts that are functions, before the parameters of the decorated function.
_INPUTS = {
    "of_parts": ("name",),
    "items_beyond": ("view", "V"),
    "items_between": ("view", "m"),
    "credit_terms": ("i", "r", "e", "C"),
}


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Facts that can be stated about every kind of function.

    Attributes
    ----------
    of_parts : callable, optional
        For functions with functions as parameters, such as ``product``: function of the name of a fact and the
        parameters that returns the fact.
    """

    of_parts: Callable[..., Any] | None = None

    @classmethod
    def names(cls) -> list[str]:
        """Return the names of all facts."""
        return [fact.name for fact in fields(cls)]

    @property
    def stated(self) -> dict[str, Any]:
        """Facts that were stated, by name."""
        return {name: value for name in self.names() if (value := getattr(self, name)) not in (False, None)}


@dataclass(frozen=True, kw_only=True)
class ContinuationFacts(Facts):
    """Facts about a continuation, as documented for the decorator :func:`continuation`."""

    constant_beyond_list: bool = False
    ignores_zero_gain: bool = False
    vanishes: bool = False
    eventually_leaves: bool = False
    gives_survival: bool = False
    not_in_products: bool = False
    gains_up_to_1: Callable[..., bool] | None = None
    last_rank: Callable[..., float | None] | None = None
    jump_rank: Callable[..., float | None] | None = None
    items_beyond: Callable[..., Floats] | None = None
    items_between: Callable[..., tuple[Floats, Floats]] | None = None


@dataclass(frozen=True, kw_only=True)
class AggregationFacts(Facts):
    """Facts about an aggregation, as documented for the decorator :func:`aggregation`."""

    linear_in_gain: bool = False
    affine_beyond_list: bool = False
    monotone_in_gain: bool = False
    constant_without_gain: bool = False
    less_is_better: bool = False
    credit_terms: Callable[..., tuple[Floats | float, Floats]] | None = None


@dataclass(frozen=True, kw_only=True)
class GainFacts(Facts):
    """Facts about a gain, as documented for the decorator :func:`gain`."""

    known_grades: Callable[..., Iterable[float] | None] | None = None


@dataclass(frozen=True, kw_only=True)
class EffortFacts(Facts):
    """Facts about an effort, as documented for the decorator :func:`effort`."""

    unit_effort: bool = False
    constant_from: Callable[..., float | None] | None = None


FACTS: dict[str, type[Facts]] = {
    "continuation": ContinuationFacts,
    "aggregation": AggregationFacts,
    "gain": GainFacts,
    "effort": EffortFacts,
    "discount": Facts,
}


def checked_facts(kind: str, name: str, parameters: Iterable[str], stated: dict[str, Any]) -> Facts:
    """Return the facts about a function as a record.

    Parameters
    ----------
    kind, name : str
        Kind and name of the function.
    parameters : iterable of str
        Parameters of the function. Facts that are functions get them by name.
    stated : dict
        Keyword arguments of the decorator.

    Raises
    ------
    BadParameter
        If a fact is unknown or of the wrong type.
    """
    record, parameters = FACTS[kind], list(parameters)
    known = {fact.name: fact for fact in fields(record)}
    for fact, value in stated.items():
        where = f"@{kind}({fact}=…) of {name!r}"
        if fact not in known:
            public = [other for other in known if other != "of_parts"]
            raise BadParameter(f"{where}: no such fact. {near(fact, public) if public else f'A {kind} has none.'}")
        if known[fact].default is False and not isinstance(value, bool):
            raise BadParameter(f"{where}: must be True or False, not {value!r:.80}.")
        if known[fact].default is None and value is not None:
            inputs = _INPUTS.get(fact, ())
            _check_function(value, (*inputs, *parameters), len(inputs), where)
    return record(**stated)


def _check_function(value: Any, names: tuple[str, ...], positional: int, where: str) -> None:
    inputs = ", ".join(names)
    takes = f"must be a function of ({inputs})" if names else "must be a function without parameters"
    if not callable(value):
        raise BadParameter(f"{where}: {takes}, such as lambda{f' {inputs}' if names else ''}: …, not {value!r:.80}.")
    try:
        signature = inspect.signature(value)
    except ValueError:  # some functions written in C have no signature
        return
    try:
        signature.bind(*names[:positional], **dict.fromkeys(names[positional:]))
    except TypeError as error:
        raise BadParameter(f"{where}: {takes}: {error}.") from None
