"""Checks of numeric parameters."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from . import BadParameter


def check_whole(least: int, **given: Any) -> None:
    """Raise BadParameter for parameters that are no whole numbers, or are below ``least``."""
    for name, value in given.items():
        if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
            raise BadParameter(f"{name}={value!r} must be a whole number from {least}.")


def check_share(such_as: float, **given: float) -> None:
    """Raise BadParameter for parameters that are not between 0 and 1; the message gives the example ``such_as``."""
    for name, value in given.items():
        if not 0 < value < 1:
            raise BadParameter(f"{name}={value!r} must be between 0 and 1, such as {such_as}.")
