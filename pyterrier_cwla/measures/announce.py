"""What PyTerrier needs beyond ir_measures: our measures under pt.measures."""

import sys

from .named import MEASURES


def announce() -> None:
    """Sets our measures on ``pyterrier.measures`` where PyTerrier came first; where it comes later, it finds them."""
    module = sys.modules.get("pyterrier.measures")
    if module is not None:
        for name, measure in MEASURES.items():
            setattr(module, name, measure)
