from .demonstration import Demonstration as Demonstration, demonstrate as demonstrate
from .generated_data import Collection as Collection, collection as collection
from .generated_data import PooledRuns as PooledRuns, pooled_runs as pooled_runs
from .generated_data import clicks as clicks, rated_lists as rated_lists, rated_sessions as rated_sessions
from .retrieval_systems import BM25 as BM25, Index as Index, PreferShort as PreferShort, systems as systems
from .generated_data import save as save
