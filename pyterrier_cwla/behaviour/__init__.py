"""Users of retrieval systems: estimates from interaction logs, click models, and simulated users of a metric."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
