"""Output for people: figures, labels, LaTeX tables and terminal text; independent of metrics."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
