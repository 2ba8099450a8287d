"""Warnings that point at the line of the user's code."""

from __future__ import annotations

import sys
import warnings

from . import CWLAWarning
from .sanitise import harmless

_BETWEEN = {"pyterrier_cwla", "ir_measures", "pyterrier", "pandas", "functools"}


def warn(message: str) -> None:
    """Issue a CWLAWarning at the innermost line outside this package, ir_measures, PyTerrier and pandas."""
    frame, level = sys._getframe(1), 2
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        frame, level = frame.f_back, level + 1  # type: ignore[assignment]
    warnings.warn(harmless(message), CWLAWarning, stacklevel=level if frame is not None else 2)
