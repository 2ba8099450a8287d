"""Routes: fast ways to a result, each declared with the case that it is for, beside the slow way that defines it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

Way = TypeVar("Way", bound=Callable[..., Any])


@dataclass(frozen=True)
class Route:
    """Fast way to a result in some cases.

    Attributes
    ----------
    compute : callable
        Function that computes the result, as the slow way does.
    when : callable
        Predicate: whether the route gives the result. Its docstring describes the case.
    gain : str
        What the route saves, as measured from end to end.
    """

    compute: Callable[..., Any]
    when: Callable[..., bool]
    gain: str


def route(routes: list[Route], *, when: Callable[..., bool], gain: str) -> Callable[[Way], Way]:
    """Return a decorator that adds a function to a list of routes, which are tried in order.

    Parameters
    ----------
    routes : list of Route
        Routes to the same result.
    when, gain
        See :class:`Route`.
    """

    def declare(compute: Way) -> Way:
        routes.append(Route(compute, when, gain))
        return compute

    return declare


def fastest(routes: Sequence[Route], slow: Way, *case: Any) -> Way:
    """Return the first route for a case, or the slow way.

    Parameters
    ----------
    routes : sequence of Route
        Routes in the order in which they are tried.
    slow : callable
        The definition of the result, for any case.
    *case
        Inputs of the predicates.
    """
    way: Way = next((route.compute for route in routes if route.when(*case)), slow)  # type: ignore[assignment]
    return way
