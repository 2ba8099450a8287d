"""Which metric to trust: robustness, discriminative power, agreement with each other and with users."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .rated import Rated
    from .study import Picture, Study, Table

#: Where each public name is: imported when it is first asked for, so that evaluating a run waits for none of this.
_PLACES = {
    "rated": ("Rated",),
    "study": ("Picture", "Study", "Table"),
}
_LATER = {name: place for place, names in _PLACES.items() for name in names}

__all__ = sorted(_LATER)


def __getattr__(name: str) -> Any:
    """What waits in ``_PLACES``."""
    if name in _LATER:
        found = globals()[name] = getattr(import_module(f".{_LATER[name]}", __name__), name)
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
