"""Templates of measures with open parameters, and ranges of parameter values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from string import Template as Text
from typing import Any

import numpy as np
from ir_measures.measures import Measure

from ..errors import BadParameter, CWLAError, near, some
from ..measures.sessions import of_sessions

Array = np.ndarray
Values = dict[str, Any]

_DIGITS = 4  # significant digits of searched values: their uncertainty is much larger


@dataclass(frozen=True)
class Template:
    """A measure as a function of parameters.

    Parameters
    ----------
    source : str or callable
        Text with a ``$name`` for each parameter, such as ``"RBP(p=$phi,rel=1)"``, or a function that takes the
        parameters by name and returns a measure or its text. Texts follow ``string.Template``, because specs themselves
        contain braces.

    Examples
    --------
    >>> Template("TBG(half_life=$h)").measure({"h": 31})
    TBG(half_life=31)
    """

    source: str | Callable[..., Any]

    @classmethod
    def of(cls, given: str | Callable[..., Any] | Template) -> Template:
        """Return a template made from its source; a template is returned unchanged."""
        return given if isinstance(given, Template) else cls(given)

    def measure(self, values: Mapping[str, Any]) -> Measure:
        """Return the measure with these parameter values; errors name the values."""
        try:
            made = Text(self.source).substitute(values) if isinstance(self.source, str) else self.source(**values)
            return of_sessions([made])[0]
        except CWLAError as error:
            raise type(error)(f"with {parameters_text(values)}: {error}") from error

    def check(self, names: Sequence[str]) -> None:
        """Check that each parameter has a placeholder in the text, and each placeholder a parameter."""
        if not isinstance(self.source, str):
            if not callable(self.source):
                raise BadParameter(f"a template is a text with $names or a function, not {self.source!r}.")
            return
        text = Text(self.source)
        if not text.is_valid():
            raise BadParameter(f"{self.source!r}: write a parameter as $name, and a dollar sign as $$.")
        places = text.get_identifiers()
        for name in places:
            if name not in names:
                raise BadParameter(f"{self.source!r} has ${name}, but no range is given for it. {near(name, names)}")
        for name in names:
            if name not in places:
                raise BadParameter(f"{self.source!r} has no ${name}; it has {some(f'${p}' for p in places) or 'none'}.")

    def __str__(self) -> str:
        return self.source if isinstance(self.source, str) else getattr(self.source, "__qualname__", repr(self.source))


@dataclass(frozen=True)
class Range:
    """Values of a parameter: the numbers between two ends, or a list of choices.

    A position in a range is a number from 0 to 1. For numbers it is the relative distance from the lower end to the
    upper end, on a logarithmic scale if the upper end is at least 100 times the lower. For a list it is proportional to
    the index of the value.

    Parameters
    ----------
    low, high : float
        Ends of the range.
    choices : tuple, default=()
        Values of a list; if there are any, ``low`` and ``high`` are ignored.
    """

    low: float = 0.0
    high: float = 1.0
    choices: tuple[Any, ...] = ()

    @classmethod
    def of(cls, given: Any, name: str) -> Range:
        """Return the range given by (low, high), a ``range`` of whole numbers, or a list of values."""
        if isinstance(given, Range):
            return given
        if isinstance(given, tuple) and len(given) == 2 and all(isinstance(end, int | float) for end in given):
            if not (np.isfinite(given).all() and given[0] < given[1]):
                raise BadParameter(f"the range of {name}, {given!r}, must go from a number to a higher number.")
            return cls(float(given[0]), float(given[1]))
        if isinstance(given, range | list | np.ndarray):
            choices = tuple(v.item() if isinstance(v, np.generic) else v for v in given)
            if len(set(map(repr, choices))) == len(choices) > 0:
                return cls(choices=choices)
            raise BadParameter(f"the values of {name} must be a non-empty list without duplicates, not {given!r}.")
        raise BadParameter(
            f"the range of {name} must be (low, high) for numbers, range(…) for whole numbers, or a list of values; not"
            f" {given!r}."
        )

    @property
    def log(self) -> bool:
        """Whether the scale is logarithmic."""
        return not self.choices and self.low > 0 and self.high / self.low >= 100

    def value(self, place: float) -> Any:
        """Return the value at a position in [0, 1]."""
        if self.choices:
            return self.choices[min(int(place * len(self.choices)), len(self.choices) - 1)]
        along = self.low * (self.high / self.low) ** place if self.log else self.low + (self.high - self.low) * place
        return min(max(float(f"{along:.{_DIGITS}g}"), self.low), self.high)

    def grid(self, points: int) -> list[Any]:
        """Return ``points`` evenly spaced values; for a list, all values in order."""
        return list(self.choices) or list(dict.fromkeys(self.value(place) for place in np.linspace(0, 1, points)))

    def __contains__(self, value: Any) -> bool:
        if self.choices:
            return value in self.choices
        return isinstance(value, int | float | np.number) and bool(self.low <= value <= self.high)

    def __str__(self) -> str:
        if not self.choices:
            return f"{self.low:g} to {self.high:g}" + (" (logarithmic)" if self.log else "")
        if len(self.choices) > 5:
            return f"{self.choices[0]}, {self.choices[1]}, …, {self.choices[-1]}"
        return ", ".join(map(str, self.choices))


def parameters_text(values: Mapping[str, Any]) -> str:
    """Format parameters for display: ``h=31, s1=0.2``."""
    return ", ".join(f"{name}={value}" for name, value in values.items())
