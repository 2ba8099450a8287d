"""Reading and writing of files: runs, judgments and document tables, atomic writes, and memory limits."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
