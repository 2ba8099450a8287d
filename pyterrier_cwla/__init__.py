"""Metrics that model users and time, for ir_measures, PyTerrier and scikit-learn."""

from typing import TYPE_CHECKING, Any

from ._version import __version__
from .data.document_tables import without_files
from .data.duplicates import Duplicates, find_duplicates, register_duplicates
from .data.intents import register_intent_weights
from .data.lengths import Lengths, lengths_of_index, lengths_of_texts, register_lengths
from .errors import CannotScore, CWLAError
from .evaluation.arrays import explain_gains, residual, score
from .evaluation.comparison import Comparison
from .evaluation.driver import evaluate
from .evaluation.explanation import Explanation, explain, stop_distribution
from .evaluation.run_comparison import compare
from .learning.lambdamart import EvalMeasure, LambdaMART
from .learning.metrics import cwla_score, err_score, measure_score, tbg_score
from .measures.named import CWLA, TBG
from .measures.provider import CWLAProvider, announce, register
from .measures.sessions import esNDCG, evaluate_sessions, nsDCG, sDCG
from .measures.wrappers import MEASURES, Residual
from .model.aggregations import aggregation, discount
from .model.continuations import continuation
from .model.efforts import effort
from .model.gains import gain
from .model.language import parse
from .rendering.figures import plot_stops

if TYPE_CHECKING:
    from .evaluation.streaming import stream
    from .learning.cross_validation import out_of_fold
    from .learning.rankers import GroupedRanker
    from .learning.scorers import get_scorer, get_scorer_names, scorer
    from .pipelines.document_columns import DocLength, DuplicateOf
    from .pipelines.learned_ranker import LearnedRanker
    from .pipelines.study_search import KFoldStudySearch, StudySearch

#: What needs PyTerrier, scikit-learn or Parquet is imported when it is first asked for: its module.
_LATER = {
    "DocLength": "pipelines.document_columns",
    "DuplicateOf": "pipelines.document_columns",
    "GroupedRanker": "learning.rankers",
    "KFoldStudySearch": "pipelines.study_search",
    "LearnedRanker": "pipelines.learned_ranker",
    "StudySearch": "pipelines.study_search",
    "get_scorer": "learning.scorers",
    "get_scorer_names": "learning.scorers",
    "out_of_fold": "learning.cross_validation",
    "scorer": "learning.scorers",
    "stream": "evaluation.streaming",
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
