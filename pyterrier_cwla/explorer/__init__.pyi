from .exploration import Exploration as Exploration
