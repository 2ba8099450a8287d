from .document_columns import DocLength as DocLength, DocSeconds as DocSeconds, DuplicateOf as DuplicateOf
from .learned_ranker import LearnedRanker as LearnedRanker
from .study_search import KFoldStudySearch as KFoldStudySearch, StudySearch as StudySearch
from .table_artifacts import DuplicatesArtifact as DuplicatesArtifact, LengthsArtifact as LengthsArtifact
