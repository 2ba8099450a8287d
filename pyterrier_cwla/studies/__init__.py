"""Which metric to trust: robustness, discriminative power, agreement with each other and with users."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
