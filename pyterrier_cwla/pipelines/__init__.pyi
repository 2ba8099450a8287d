from .transformers import DocLength as DocLength, DocSeconds as DocSeconds, DuplicateOf as DuplicateOf
from .transformers import LearnedRanker as LearnedRanker
from .study_search import KFoldStudySearch as KFoldStudySearch, StudySearch as StudySearch
from .table_artifacts import DuplicatesArtifact as DuplicatesArtifact, LengthsArtifact as LengthsArtifact
