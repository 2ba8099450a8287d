"""Metrics that model users and time, for ir_measures, PyTerrier and scikit-learn."""

from ._version import __version__
from .aggregation import aggregation, discount
from .arrays import explain_gains, residual, score
from .continuation import continuation
from .documents import register_lengths
from .effort import effort
from .errors import CWLAError
from .evaluate import evaluate
from .explain import Explanation, explain
from .gain import gain
from .measures import CWLA, TBG, Residual
from .provider import CWLAProvider, register
from .spec import parse
from .terrier import announce

__all__ = [
    "__version__",
    "CWLA",
    "TBG",
    "CWLAError",
    "CWLAProvider",
    "Explanation",
    "Residual",
    "aggregation",
    "continuation",
    "discount",
    "effort",
    "evaluate",
    "explain",
    "explain_gains",
    "gain",
    "parse",
    "register_lengths",
    "residual",
    "score",
]

register()
announce()
