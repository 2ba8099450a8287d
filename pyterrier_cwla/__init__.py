"""Metrics that model users and time, for ir_measures, PyTerrier and scikit-learn."""

import lazy_loader

from .measures.provider import announce, register
from .measures.wrappers import MEASURES

# The stub __init__.pyi lists the public names and packages. Each is imported when it is first used.
__getattr__, _, _listed = lazy_loader.attach_stub(__name__, __file__)
globals().update(MEASURES)  # the named measures, such as AdaptiveERR
_PUBLIC = sorted({*_listed, *MEASURES})
register()
announce()

#: Names that ``from pyterrier_cwla import *`` binds: the measures, and names that are not generic.
__all__ = [
    *MEASURES,
    "CWLAError",
    "CWLAWarning",
    "CannotScore",
    "GroupedRanker",
    "LambdaMART",
    "Lengths",
    "esNDCG",
    "nsDCG",
    "register_duplicates",
    "register_lengths",
    "sDCG",
]


def __dir__() -> list[str]:
    return _PUBLIC
