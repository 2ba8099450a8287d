"""User models: gain, effort, continuation, aggregation and normaliser, and the scores of rankings under them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
