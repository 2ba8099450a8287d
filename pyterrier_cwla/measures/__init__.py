"""Measures by name: the catalogue, counting measures, wrappers and the ir_measures provider.

The import of this package registers the measures with ir_measures and PyTerrier.
"""

import lazy_loader

from . import provider

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
provider.register()
provider.announce()
