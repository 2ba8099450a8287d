from .exploration import Exploration as Exploration
from .server import ExplorerServer as ExplorerServer
