"""Measures by name: the catalogue, counting measures, wrappers and the ir_measures provider."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
