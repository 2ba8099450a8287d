"""Studies that evaluate metrics: robustness, discriminative power, agreement with other metrics and with users."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
