"""From behaviour to numbers and back: what logs say of users, and what users of a metric would live through."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
