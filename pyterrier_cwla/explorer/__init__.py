"""Explorer of user models: the page on which measures, their users and rankings can be changed and seen at once."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
