"""Metrics that model users and time, for ir_measures, PyTerrier and scikit-learn."""

from typing import TYPE_CHECKING, Any

from ._version import __version__
from .aggregation import aggregation, discount
from .announce import announce
from .arrays import explain_gains, residual, score
from .continuation import continuation
from .documents import Lengths, lengths_of_index, lengths_of_texts, register_lengths
from .duplicates import Duplicates, find_duplicates, register_duplicates
from .effort import effort
from .errors import CWLAError
from .evaluate import evaluate
from .explain import Explanation, explain
from .gain import gain
from .intents import register_intent_weights
from .measures import CWLA, MEASURES, TBG, Residual
from .plots import plot_stops
from .provider import CWLAProvider, register
from .sessions import esNDCG, evaluate_sessions, nsDCG, sDCG
from .spec import parse
from .stops import stop_distribution

if TYPE_CHECKING:
    from .terrier import DocLength, DuplicateOf

__all__ = [
    "__version__",
    "CWLA",
    "TBG",
    "CWLAError",
    "CWLAProvider",
    "DocLength",
    "DuplicateOf",
    "Duplicates",
    "Explanation",
    "Lengths",
    "Residual",
    "aggregation",
    "continuation",
    "discount",
    "effort",
    "esNDCG",
    "evaluate",
    "evaluate_sessions",
    "explain",
    "explain_gains",
    "find_duplicates",
    "gain",
    "lengths_of_index",
    "lengths_of_texts",
    "nsDCG",
    "parse",
    "plot_stops",
    "register_duplicates",
    "register_intent_weights",
    "register_lengths",
    "residual",
    "sDCG",
    "score",
    "stop_distribution",
]

globals().update(MEASURES)  # every named measure, as `from pyterrier_cwla import AdaptiveERR`
__all__ += [name for name in MEASURES if name not in __all__]
register()
announce()


def __getattr__(name: str) -> Any:
    """The transformers, which need PyTerrier, when they are first asked for."""
    if name in ("DocLength", "DuplicateOf"):
        from . import terrier

        return getattr(terrier, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
