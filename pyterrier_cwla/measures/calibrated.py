"""Calibrations as parameters of measures: a name, and values for other parameters of the measure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Protocol, runtime_checkable

from ..data.document_tables import bind, hash_of_file, read_unchanged
from ..errors import BadParameter, near
from .calibration_files import graded_parameters_of, parameters_of, read_calibration

_NAMED: dict[str, BoundCalibration] = {}


@runtime_checkable
class Calibrated(Protocol):
    """Protocol of the objects that ``calibrate`` returns."""

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of ``TBG``."""

    def graded_parameters(self) -> dict[str, Any]:
        """Return the parameters of ``GradedTBG``."""


@dataclass(frozen=True)
class BoundCalibration:
    """A calibration under the name that it has in the text of a measure.

    Attributes
    ----------
    name : str
        The path of the file, or a name that contains a hash of the content.
    plain, graded : dict of str to object
        The parameters of ``TBG`` and of ``GradedTBG``.
    path : str, optional
        The path of the file, which is read again at each use. None for a calibration in memory.
    """

    name: str
    plain: dict[str, Any]
    graded: dict[str, Any]
    path: str | None = None
    anonymous: ClassVar[bool] = True
    """The name is a path or contains a hash, so that tables of scores do not show it."""

    @property
    def follows_a_file(self) -> bool:
        """Whether the values are those of a file, which may change."""
        return self.path is not None

    @property
    def current(self) -> BoundCalibration:
        """Calibration with the present content of its file, and without a path."""
        return self if self.path is None else replace(_read(self.path), path=None)

    def values(self, measure: str, names: Collection[str], given: Collection[str]) -> dict[str, Any]:
        """Return the values for parameters of a measure.

        Parameters
        ----------
        measure : str
            The name of the measure, for errors.
        names : collection of str
            The parameters that the calibration estimates.
        given : collection of str
            The parameters that the user gives, which are left out.

        Returns
        -------
        dict of str to object

        Raises
        ------
        BadParameter
            If the calibration has no value for a parameter that the user does not give.
        """
        known = self.graded if "p_click" in names else self.plain
        lacking = [name for name in names if name not in known and name not in given]
        if lacking:
            more = ", ".join(f"{name}=…" for name in lacking)
            raise BadParameter(
                f"{measure}(calibration={self.name!r}): its log had no data for {', '.join(lacking)}. Give the value:"
                f" {measure}(calibration={self.name!r}, {more})."
            )
        return {name: known[name] for name in names if name in known and name not in given}


def bind_calibration(value: Any) -> BoundCalibration:
    """Return the calibration for a value of the parameter ``calibration``.

    Parameters
    ----------
    value : str, path, Calibrated or BoundCalibration
        The path of a saved calibration, or an object that ``calibrate`` returned.

    Returns
    -------
    BoundCalibration

    Raises
    ------
    BadParameter
        If there is no such file, or the value has another type.
    """
    if isinstance(value, BoundCalibration):
        return value

    def unknown(name: str) -> str:
        return (
            f"calibration={name!r} is not a file; calibrate(log).save(path) writes one."
            f"{' ' + near(name, _NAMED) if _NAMED else ''}"
        )

    return bind(value, _NAMED, _named_by_content, unknown, _read, "calibration")


def _named_by_content(value: Any) -> BoundCalibration:
    if not isinstance(value, Calibrated):
        raise BadParameter(
            f"calibration= takes a file that calibrate(…).save wrote, or an object that calibrate returned, not"
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
    """Return one object for all measures with this file, until its content changes."""
    found = read_unchanged(path, digest, "calibration", read_calibration)
    plain = parameters_of(found["table"], found["about"])
    return BoundCalibration(path, {"rel": 1, **plain}, graded_parameters_of(found["table"], found["about"]), path)
