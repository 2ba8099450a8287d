from .transformers import DocLength as DocLength, DocCost as DocCost, DuplicateOf as DuplicateOf
from .transformers import LearnedRanker as LearnedRanker
from .optuna_search import Cost as Cost, KFoldOptunaSearch as KFoldOptunaSearch, OptunaSearch as OptunaSearch
from .optuna_search import Tuned as Tuned
from .table_artifacts import DuplicatesArtifact as DuplicatesArtifact, LengthsArtifact as LengthsArtifact
