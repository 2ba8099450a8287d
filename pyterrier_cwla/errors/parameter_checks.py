"""Checks of parameters that are numbers."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from . import BadParameter


def check_whole(least: int, **given: Any) -> None:
    """Raise BadParameter for a parameter that is no whole number, or is below ``least``."""
    for name, value in given.items():
        if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
            raise BadParameter(f"{name}={value!r} must be a whole number from {least}.")


def check_share(such_as: float, **given: float) -> None:
    """Raise BadParameter for a parameter that is not between 0 and 1; the error gives ``such_as`` as an example."""
    for name, value in given.items():
        if not 0 < value < 1:
            raise BadParameter(f"{name}={value!r} must be between 0 and 1, such as {such_as}.")
