from .demonstration import Demonstration as Demonstration, demonstrate as demonstrate
from .generated_collection import Collection as Collection, collection as collection
from .retrieval_systems import BM25 as BM25, Index as Index, PreferShort as PreferShort, systems as systems
from .saved_files import save as save
