"""Count the functions and modules of the package that a call passes: how much a reader has to follow.

``python -m benchmarks.calls`` prints, for some typical calls and the second time that each is made, the number of
different functions (without comprehensions and lambdas), the number of modules, and the changes of module between one
call and the next.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import ir_measures
import pandas as pd

import pyterrier_cwla
from benchmarks.report import Table, show
from pyterrier_cwla import TBG, evaluate

PACKAGE = str(Path(pyterrier_cwla.__file__).parent)


class Counted(NamedTuple):
    """Numbers of different functions, of their modules, and of changes of module."""

    functions: int
    modules: int
    changes: int


def counted(call: Callable[[], Any]) -> Counted:
    """Count the functions of the package that a call passes when it is made the second time."""
    call()
    passed: list[tuple[str, str]] = []

    def record(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE):
            passed.append((code.co_filename, code.co_qualname))

    sys.setprofile(record)
    try:
        call()
    finally:
        sys.setprofile(None)
    modules = [module for module, _ in passed]
    functions = {one for one in passed if "<" not in one[1].split(".")[-1]}
    return Counted(len(functions), len(set(modules)), sum(a != b for a, b in pairwise(modules)))


def main() -> None:
    """Print the table of typical calls."""
    qrels = pd.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "relevance": [1, 0]})
    run = pd.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [2.0, 1.0], "doc_length": [90, 300]})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.txt")
        path.write_text("q Q0 a 1 2.0 tag\nq Q0 b 2 1.0 tag\n")
        calls: dict[str, Callable[[], Any]] = {
            'evaluate(frame, frame, ["nDCG@10"])': lambda: evaluate(qrels, run, ["nDCG@10"]),
            "ir_measures.calc_aggregate([TBG], frame, frame)": lambda: ir_measures.calc_aggregate([TBG], qrels, run),
            'evaluate(frame, "run.txt", ["nDCG@10", "AP"])': lambda: evaluate(qrels, path, ["nDCG@10", "AP"]),
        }
        rows = [(name, *map(str, counted(call))) for name, call in calls.items()]
    show([Table("Calls, the second time", ("call", "functions", "modules", "changes of module"), rows)])


if __name__ == "__main__":
    main()
