"""Keys of measures in a result cache: hashes of text, parameters, tables, and versions of functions of users."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from ir_measures.measures import Measure

from ..data.document_tables import DocumentTable
from ..data.intents import IntentWeights
from ..errors.user_warnings import warn
from ..model.language import Spec
from ..tasks.hashing import fingerprint


def names_in_cache(measures: Iterable[Measure]) -> dict[Measure, str]:
    """Return the key in a result cache of each measure whose results can be cached.

    A function of a user may depend on values that change. Its results can be cached only if its decorator has a
    ``version=``. One warning names all functions without a version.

    Returns
    -------
    dict
        Keys by measure, without the measures whose results must be computed each time.
    """
    names, lacking = {}, {}
    for measure in measures:
        identity = _Identity()
        content = identity.of(measure)
        if identity.lacking:
            lacking.update(identity.lacking)
        else:
            names[measure] = fingerprint(content)
    if lacking:
        functions = ", ".join(lacking)
        cures = ", ".join(sorted({cure for cure in lacking.values() if cure}))
        warn(
            f"cache_dir=: results of {functions} are not cached, and are computed each time: it is unknown whether they"
            " have changed." + (f" Write {cures} to cache them, and change the version with the results." * bool(cures))
        )
    return names


class _Identity:
    """Identity of a measure, as values that JSON can represent.

    Attributes
    ----------
    lacking : dict
        Objects without an identity, each with the text that gives it one (empty if there is none).
    """

    def __init__(self) -> None:
        self.lacking: dict[str, str] = {}

    def of(self, value: Any, where: str = "") -> Any:
        match value:
            case None | bool() | int() | float() | str():
                return value
            case np.generic():
                return value.item()
            case tuple() | list():
                return [self.of(one, where) for one in value]
            case dict():
                return [[self.of(key, where), self.of(one, where)] for key, one in value.items()]
            case Spec():
                return self._of_spec(value)
            case DocumentTable() if _is_ours(value):
                return [value.what, value.name, value.content]
            case IntentWeights() if _is_ours(value):
                return [value.name, sorted((*key, weight) for key, weight in (value.table or {}).items())]
            case Measure() if _is_ours(value):
                return self._of_measure(value)
        self.lacking[where or f"{type(value).__name__} {value}"] = ""
        return None

    def _of_measure(self, measure: Measure) -> list[Any]:
        content = getattr(measure, "content", ())
        if isinstance(content, dict):
            return [repr(measure), {name: self.of(value) for name, value in content.items()}]
        return [repr(measure), *map(self.of, content)]

    def _of_spec(self, spec: Spec) -> list[Any]:
        part = spec.part
        what = f"{part.kind} {part.name!r}"
        if not part.built_in and part.version is None:
            self.lacking[what] = f'@{part.kind}(version="1")'
        own = [] if part.built_in else [part.__module__, part.version, sorted(part.facts.stated)]
        values = [[name, self.of(value, f"parameter {name} of {what}")] for name, value in spec.values]
        return [part.kind, part.name, *own, values]


def _is_ours(value: Any) -> bool:
    """Return whether the class of an object belongs to this package or to ir_measures."""
    return type(value).__module__.split(".")[0] in ("pyterrier_cwla", "ir_measures")
