"""Metrics that model users and time, for ir_measures, PyTerrier and scikit-learn."""

from typing import TYPE_CHECKING, Any

from ._version import __version__
from .aggregation import aggregation, discount
from .announce import announce
from .arrays import explain_gains, residual, score
from .compare import compare
from .comparison import Comparison
from .continuation import continuation
from .documents import Lengths, lengths_of_index, lengths_of_texts, register_lengths
from .duplicates import Duplicates, find_duplicates, register_duplicates
from .effort import effort
from .errors import CannotScore, CWLAError
from .evaluate import evaluate
from .explain import Explanation, explain
from .gain import gain
from .intents import register_intent_weights
from .label_scores import cwla_score, err_score, measure_score, tbg_score
from .measures import CWLA, MEASURES, TBG, Residual
from .objectives import EvalMeasure, LambdaMART
from .plots import plot_stops
from .provider import CWLAProvider, register
from .sessions import esNDCG, evaluate_sessions, nsDCG, sDCG
from .spec import parse
from .stops import stop_distribution
from .tables import without_files

if TYPE_CHECKING:
    from .held_out import out_of_fold
    from .ltr import LearnedRanker
    from .rankers import GroupedRanker
    from .scorers import get_scorer, get_scorer_names, scorer
    from .streaming import stream
    from .terrier import DocLength, DuplicateOf
    from .tuning import KFoldStudySearch, StudySearch

#: What needs PyTerrier, scikit-learn or Parquet is imported when it is first asked for: its module.
_LATER = {
    "DocLength": "terrier",
    "DuplicateOf": "terrier",
    "GroupedRanker": "rankers",
    "KFoldStudySearch": "tuning",
    "LearnedRanker": "ltr",
    "StudySearch": "tuning",
    "get_scorer": "scorers",
    "get_scorer_names": "scorers",
    "out_of_fold": "held_out",
    "scorer": "scorers",
    "stream": "streaming",
}

__all__ = [
    "__version__",
    "CWLA",
    "TBG",
    "CWLAError",
    "CWLAProvider",
    "CannotScore",
    "Comparison",
    "DocLength",
    "DuplicateOf",
    "Duplicates",
    "EvalMeasure",
    "Explanation",
    "GroupedRanker",
    "KFoldStudySearch",
    "LambdaMART",
    "LearnedRanker",
    "Lengths",
    "Residual",
    "StudySearch",
    "aggregation",
    "compare",
    "continuation",
    "cwla_score",
    "discount",
    "effort",
    "err_score",
    "esNDCG",
    "evaluate",
    "evaluate_sessions",
    "explain",
    "explain_gains",
    "find_duplicates",
    "gain",
    "get_scorer",
    "get_scorer_names",
    "lengths_of_index",
    "lengths_of_texts",
    "measure_score",
    "nsDCG",
    "out_of_fold",
    "parse",
    "plot_stops",
    "register_duplicates",
    "register_intent_weights",
    "register_lengths",
    "residual",
    "sDCG",
    "score",
    "scorer",
    "stop_distribution",
    "stream",
    "tbg_score",
    "without_files",
]

globals().update(MEASURES)  # every named measure, as `from pyterrier_cwla import AdaptiveERR`
__all__ += [name for name in MEASURES if name not in __all__]
register()
announce()


def __getattr__(name: str) -> Any:
    """What waits in ``_LATER``."""
    if name in _LATER:
        from importlib import import_module

        found = globals()[name] = getattr(import_module(f".{_LATER[name]}", __name__), name)
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
