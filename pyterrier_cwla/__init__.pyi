import typing

from . import (
    behaviour as behaviour,
    cli as cli,
    data as data,
    demo as demo,
    errors as errors,
    evaluation as evaluation,
    explorer as explorer,
    files as files,
    learning as learning,
    measures as measures,
    model as model,
    pipelines as pipelines,
    rendering as rendering,
    studies as studies,
    tasks as tasks,
)
from ._version import __version__ as __version__
from .data.duplicates import find_duplicates as find_duplicates, register_duplicates as register_duplicates
from .data.lengths import (
    Lengths as Lengths,
    lengths_of_index as lengths_of_index,
    lengths_of_texts as lengths_of_texts,
    register_lengths as register_lengths,
)
from .errors import CannotScore as CannotScore, CWLAError as CWLAError, CWLAWarning as CWLAWarning
from .evaluation.arrays import explain_gains as explain_gains, score as score
from .evaluation.driver import evaluate as evaluate, stream as stream
from .evaluation.run_comparison import compare as compare
from .evaluation.explanation import explain as explain
from .evaluation.run_overlap import rbo as rbo
from .explorer.notebook import explore as explore
from .learning.cross_validation import out_of_fold as out_of_fold
from .learning.lambdamart import EvalMeasure as EvalMeasure, LambdaMART as LambdaMART
from .learning.rankers import GroupedRanker as GroupedRanker
from .learning.scorers import register_scorers as register_scorers, scorer as scorer
from .measures.sessions import (
    SessionCWLA as SessionCWLA,
    esNDCG as esNDCG,
    evaluate_sessions as evaluate_sessions,
    nsDCG as nsDCG,
    sDCG as sDCG,
)
from .model.aggregations import aggregation as aggregation
from .model.continuations import continuation as continuation
from .model.efforts import effort as effort
from .model.gains import gain as gain
from .pipelines.transformers import DocLength as DocLength, DocCost as DocCost, DuplicateOf as DuplicateOf
from .pipelines.transformers import LearnedRanker as LearnedRanker
from .pipelines.optuna_search import Cost as Cost, KFoldOptunaSearch as KFoldOptunaSearch, OptunaSearch as OptunaSearch
from .pipelines.table_artifacts import DuplicatesArtifact as DuplicatesArtifact, LengthsArtifact as LengthsArtifact

def __getattr__(name: str) -> typing.Any: ...  # the named measures of the catalogue
