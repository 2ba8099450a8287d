from .exploration import Exploration as Exploration
from .notebook import explore as explore
from .page import ExplorerServer as ExplorerServer
