"""Metrics that model users and time, for ir_measures, PyTerrier and scikit-learn.

Start here::

    evaluate(qrels, run, ["nDCG@10", "TBG"])          scores of runs: files, tables or dicts
    compare(qrels, runs, measures)                    tables with intervals and tests
    explain(qrels, run, qid, "TBG")                   a score, rank by rank
    help(TBG), or `pyterrier-cwla measures`           measures and their parameters
    scorer("TBG"), LambdaMART("TBG"), OptunaSearch    learning and tuning for a measure
"""

import os
import sys
from importlib import import_module
from typing import Any

import lazy_loader

# The stub __init__.pyi lists the public names and packages but for the named measures, such as AdaptiveERR. Each is
# imported when it is first used.
_of_stub, _, _listed = lazy_loader.attach_stub(__name__, __file__)

# Names besides the measures that `from pyterrier_cwla import *` binds: those that are not generic.
_SPECIFIC = [
    "CWLAError",
    "CWLAWarning",
    "CannotScore",
    "EvalMeasure",
    "GroupedRanker",
    "LambdaMART",
    "Lengths",
    "SessionCWLA",
    "esNDCG",
    "nsDCG",
    "register_duplicates",
    "register_lengths",
    "sDCG",
]
#: Packages without functions that many users need.
_INTERNAL = {"cli", "files", "rendering", "tasks"}
_PACKAGES = (
    "behaviour",
    "data",
    "demo",
    "evaluation",
    "explorer",
    "learning",
    "measures",
    "model",
    "pipelines",
    "studies",
)


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return [*_measures(), *_SPECIFIC]
    if name in _listed or name.startswith("_"):
        return _of_stub(name)
    if name in _measures():
        return _measures()[name]
    raise AttributeError(f"{__name__} has no attribute {name!r}. {_elsewhere(name)}".rstrip())


def __dir__() -> list[str]:
    return sorted({*_listed, *_measures()} - _INTERNAL)


def load_ipython_extension(shell: Any) -> None:
    """Show measures of ir_measures in notebooks with their formula, as those of this package: %load_ext pyterrier_cwla.

    Measures that this package does not compute are shown as before. ``%unload_ext pyterrier_cwla`` undoes it.
    """
    from ir_measures.measures import Measure

    from .measures.equations import measure_html

    shell.display_formatter.formatters["text/html"].for_type(Measure, measure_html)


def unload_ipython_extension(shell: Any) -> None:
    """Undo :func:`load_ipython_extension`."""
    from ir_measures.measures import Measure

    shell.display_formatter.formatters["text/html"].pop(Measure, None)


def _elsewhere(name: str) -> str:
    """Return which subpackage has a name, or similar names, as a sentence for an error."""
    from .errors import elsewhere

    places: dict[str, str] = {}
    for package in _PACKAGES:
        path = f"{__name__}.{package}"
        places |= dict.fromkeys(getattr(import_module(path), "__all__", ()), path)
    return elsewhere(name, places | dict.fromkeys(__dir__(), __name__))


def _measures() -> dict[str, Any]:
    """Return the named measures by name, and make them attributes of this package."""
    from .measures.wrappers import MEASURES

    globals().update(MEASURES)
    return MEASURES


def _is_command() -> bool:
    """Return whether this process is pyterrier-cwla or python -m pyterrier_cwla, and not a program that imports us."""
    name = os.path.splitext(os.path.basename("".join(sys.argv[:1])))[0]
    return name == "pyterrier-cwla" or (name == "-m" and __name__ in sys.orig_argv)


# The command's help and version need no measures, whose import takes longer than all else. Its other commands import
# and so register them when they use them; a program may use them through ir_measures alone.
if not _is_command():
    _measures()
