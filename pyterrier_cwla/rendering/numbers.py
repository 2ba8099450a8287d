"""Numbers as texts for people: decimals, signs, intervals, p-values and percent."""

from __future__ import annotations

import math

import numpy as np


def decimals(largest: float) -> int:
    """Return the number of decimals of scores: 3, fewer for larger scores, and three digits if all are below 0.01.

    >>> decimals(0.7), decimals(123.4), decimals(0.00812)
    (3, 1, 5)
    """
    if 0 < largest < 0.01:
        return min(8, 2 - math.floor(math.log10(largest)))
    return max(0, 3 - int(np.log10(np.fmax(largest, 1))))


def fixed_point(value: float, places: int = 4, signed: bool = False) -> str:
    """Return a number with `places` decimals, `signed` also with a plus; zeros have no sign, and NaN is empty."""
    if np.isnan(value):
        return ""
    text = f"{value:{'+' if signed else '-'}.{places}f}"
    return text.replace("-", "−").replace("inf", "∞") if float(text) else text.lstrip("+-")


def interval_of(low: float, high: float, places: int, signed: bool = False) -> str:
    """Return an interval with `places` decimals; empty if it is unknown."""
    return "" if np.isnan(low) else f"[{fixed_point(low, places, signed)}, {fixed_point(high, places, signed)}]"


def with_interval(value: float, low: float, high: float, places: int = 3, signed: bool = False) -> str:
    """Return a number and its interval with `places` decimals; empty if the number is NaN.

    >>> with_interval(0.5, -0.25, 1.0)
    '0.500 [−0.250, 1.000]'
    """
    return f"{fixed_point(value, places, signed)} {interval_of(low, high, places, signed)}".strip()


def p_value(p: float, name: str = "", digits: int | None = None) -> str:
    """Return a p-value without the 0 before the point, for sentences with its `name`; NaN is empty.

    It has three decimals, or for levels of significance up to `digits` significant digits.

    >>> p_value(0.0004), p_value(0.001), p_value(0.0004, "p"), p_value(0.05, "p")
    ('<.001', '.001', 'p < .001', 'p = .050')
    >>> p_value(0.05, digits=6), p_value(1 / 3000, digits=2)
    ('.05', '.00033')
    """
    if np.isnan(p):
        return ""
    if digits is not None:
        return f"{p:.{digits}g}".removeprefix("0")
    sign, number = ("<", ".001") if p < 0.001 else ("=", f"{p:.3f}".removeprefix("0"))
    return f"{name} {sign} {number}" if name else f"{sign}{number}".removeprefix("=")


def percent(share: float, places: int | None = None) -> str:
    r"""Return a share in percent, with a no-break blank; without `places`, with as many decimals as it needs.

    >>> percent(0.95), percent(0.5, 1)
    ('95\xa0%', '50.0\xa0%')
    """
    number = f"{100 * share:g}" if places is None else f"{100 * share:.{places}f}"
    return f"{number}\N{NO-BREAK SPACE}%"
