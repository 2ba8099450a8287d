"""Calibrations as measures know them: under a name, with the values that they give to a measure's parameters."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

from ..data.document_tables import bind, hash_of_file, read_unchanged
from ..errors import BadParameter, near
from .calibration_files import graded_parameters_of, parameters_of, read_calibration

_NAMED: dict[str, BoundCalibration] = {}


@runtime_checkable
class Calibrated(Protocol):
    """What ``calibrate`` returns, as far as measures need it."""

    def parameters(self) -> dict[str, Any]:
        """The parameters of ``TBG``."""

    def graded_parameters(self) -> dict[str, Any]:
        """The parameters of ``GradedTBG``."""


@dataclass(frozen=True)
class BoundCalibration:
    """A calibration's values under the name that a measure's text has for it: a path, or a name by content.

    With a ``path`` it means the file as it is at each use; ``current`` is one reading of it.
    """

    name: str
    plain: dict[str, Any]
    graded: dict[str, Any]
    path: str | None = None

    @property
    def follows_a_file(self) -> bool:
        return self.path is not None

    @property
    def current(self) -> BoundCalibration:
        return self if self.path is None else replace(_read(self.path), path=None)

    def values(self, measure: str, names: Collection[str], given: Collection[str]) -> dict[str, Any]:
        """What it gives to a measure's parameters of these names; those that are given are not asked for."""
        known = self.graded if "p_click" in names else self.plain
        lacking = [name for name in names if name not in known and name not in given]
        if lacking:
            more = ", ".join(f"{name}=…" for name in lacking)
            raise BadParameter(
                f"{measure}(calibration={self.name!r}): its log did not tell {', '.join(lacking)}; give what it is:"
                f" {measure}(calibration={self.name!r}, {more})."
            )
        return {name: known[name] for name in names if name in known and name not in given}


def bind_calibration(value: Any) -> BoundCalibration:
    """The calibration that a measure's parameter means: the path of a saved one, or what ``calibrate`` returned."""
    if isinstance(value, BoundCalibration):
        return value

    def unknown(name: str) -> str:
        return (
            f"calibration={name!r} is no file; calibrate(log).save(path) writes one."
            f"{' ' + near(name, _NAMED) if _NAMED else ''}"
        )

    return bind(value, _NAMED, _named_by_content, unknown, _read, "calibration")


def _named_by_content(value: Any) -> BoundCalibration:
    if not isinstance(value, Calibrated):
        raise BadParameter(
            f"calibration= takes a file that calibrate(…).save wrote, or what calibrate returned, not"
            f" {type(value).__name__}."
        )
    plain, graded = value.parameters(), value.graded_parameters()
    content = json.dumps([plain, graded], sort_keys=True)
    name = f"calibration_{hashlib.sha256(content.encode()).hexdigest()[:12]}"
    return BoundCalibration(name, {"rel": 1, **plain}, graded)


def _read(path: str) -> BoundCalibration:
    return _reading(path, hash_of_file(path, "calibration"))


@lru_cache(maxsize=8)
def _reading(path: str, digest: str) -> BoundCalibration:
    """One for all measures that name the same file, until its content changes."""
    found = read_unchanged(path, digest, "calibration", read_calibration)
    plain = parameters_of(found["table"], found["about"])
    return BoundCalibration(path, {"rel": 1, **plain}, graded_parameters_of(found["table"], found["about"]), path)
