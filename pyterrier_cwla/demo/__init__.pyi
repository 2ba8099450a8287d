from .demonstration import Demonstration as Demonstration, demonstrate as demonstrate
from .generated_collection import Collection as Collection, collection as collection
from .generated_runs import PooledRuns as PooledRuns, pooled_runs as pooled_runs
from .generated_users import clicks as clicks, rated_lists as rated_lists, rated_sessions as rated_sessions
from .retrieval_systems import BM25 as BM25, Index as Index, PreferShort as PreferShort, systems as systems
from .saved_files import save as save
