"""Names in scikit-learn's registry of scorers. The registry is private, and only this module reads or changes it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Set
from types import FunctionType
from typing import Any

import sklearn
from sklearn import metrics
from sklearn.dummy import DummyRegressor

from ..errors import CWLAError


def registered(kind: type) -> dict[str, Any]:
    """Return the registered scorers of a type by name; none if this version of scikit-learn has another registry."""
    return {name: scorer for name, scorer in (_registry() or {}).items() if isinstance(scorer, kind)}


def put(scorers: Mapping[str, Any]) -> None:
    """Add scorers to the registry of scikit-learn, or change those of the same name.

    Parameters
    ----------
    scorers : mapping of str to callable
        The scorers by name.

    Raises
    ------
    CWLAError
        If this version of scikit-learn does not allow it. The registry is then unchanged.
    """
    registry = _registry()
    if registry is None:
        raise _refusal()
    before = dict(registry)
    registry.update(scorers)
    _allow(registry, scorers)
    if not all(map(_is_accepted, list(scorers)[:1])):
        registry.clear()
        registry.update(before)
        _allow(registry, scorers)
        raise _refusal()


def remove(names: Iterable[str]) -> None:
    """Remove names from the registry of scikit-learn."""
    registry = _registry() or {}
    names = [name for name in names if registry.pop(name, None) is not None]
    _allow(registry, names)


def _registry() -> dict[str, Any] | None:
    """Return the scorers of scikit-learn by name: ``sklearn.metrics._scorer._SCORERS``."""
    found = getattr(sys.modules.get("sklearn.metrics._scorer"), "_SCORERS", None)
    return found if isinstance(found, dict) and set(found) == set(metrics.get_scorer_names()) else None


def _is_accepted(name: str) -> bool:
    try:
        return callable(metrics.check_scoring(DummyRegressor(), scoring=name))
    except (KeyError, TypeError, ValueError):
        return False


def _refusal() -> CWLAError:
    return CWLAError(
        f"scikit-learn {sklearn.__version__} does not allow new names of scorers in the way that register_scorers uses."
        " Pass scorers instead of names: scoring=scorer('TBG')."
    )


def _allow(registry: Mapping[str, Any], changed: Iterable[str]) -> None:
    """Make all checks of ``scoring=`` accept those of the changed names that are registered, and no other of them."""
    changed = set(changed)
    wanted = changed & set(registry)
    for check in _checks():
        check.options = (check.options - changed) | wanted


def _checks() -> Iterator[Any]:
    """Yield the objects that check ``scoring=`` in scikit-learn's functions and classes imported so far.

    They contain a copy of the names at the time when their module was imported. Modules that are imported later copy
    the names as they are then.
    """
    for path, module in list(sys.modules.items()):
        if not path.startswith("sklearn."):
            continue
        for thing in list(getattr(module, "__dict__", {}).values()):
            if isinstance(thing, FunctionType | type):
                known = vars(thing).get("_skl_parameter_constraints") or vars(thing).get("_parameter_constraints")
                checks = known.get("scoring") if isinstance(known, dict) else None
                for check in checks if isinstance(checks, list) else ():
                    if isinstance(getattr(check, "options", None), Set) and "r2" in check.options:
                        yield check
