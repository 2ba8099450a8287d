from .exploration import Exploration as Exploration
from .notebook import explore as explore
from .server import ExplorerServer as ExplorerServer
