"""Runs read in small blocks: ``evaluate`` returns the same values for the path as for the whole run in memory."""

from __future__ import annotations

import random
import re

import pandas as pd

from pyterrier_cwla import evaluate
from pyterrier_cwla.errors import CWLAError
from pyterrier_cwla.files import run_files
from pyterrier_cwla.files.formats import run_with

from . import packed, parquet, run
from .found import Wrong, result_of, scratch

EXAMPLES = [*run.EXAMPLES, *packed.EXAMPLES, *parquet.EXAMPLES[:18]]
TOKENS = run.TOKENS
_QRELS = {
    "1": {"a": 1, "b": 0, "d2": 2},
    "2": {"a": 1, "d1": 1},
    "301": {"FT911-3": 2, "d1": 1},
    "q": {"d3": 1, "d39": 2},
}
#: A repetition in a query that is not scored: its rows may be scattered, and only neighbours are compared in blocks.
_REPEATED = re.compile(rf"stands twice in the ranking of query ['\"](?!({'|'.join(_QRELS)})')")
_MEASURES = ["AP", "nDCG@3", "CWLA(C='rbp(0.8)',A='max',max_rel=2)"]


def grammar(rng: random.Random) -> bytes:
    """Return a run as text, plain or compressed."""
    return packed.grammar(rng) if rng.random() < 0.2 else run.grammar(rng)


def one_input(data: bytes) -> bool:
    """Test one input; return whether it is a valid run."""
    path = scratch(data, "input.parquet" if data.startswith(b"PAR1") else "input")
    whole = result_of(lambda: run_with(path, ()))  # these measures ask for no other columns
    if not isinstance(whole, CWLAError):
        whole = result_of(lambda: evaluate(_QRELS, whole, _MEASURES, by_query=True, check=True))
    if isinstance(whole, CWLAError) and _REPEATED.search(str(whole)):
        return False
    usual = run_files.BLOCK, run_files.ROWS
    try:
        for run_files.BLOCK, run_files.ROWS in (usual, (64, 2)):
            streamed = result_of(lambda: evaluate(_QRELS, str(path), _MEASURES, by_query=True))
            if isinstance(streamed, CWLAError) and f"a line of more than {run_files.BLOCK:,} bytes" in str(streamed):
                continue
            if isinstance(streamed, CWLAError) != isinstance(whole, CWLAError):
                raise Wrong(f"in blocks of {run_files.BLOCK}: {streamed!r:.400}, and whole: {whole!r:.400}")
            if isinstance(whole, pd.DataFrame) and not streamed.reset_index(drop=True).equals(
                whole.reset_index(drop=True)
            ):
                raise Wrong(f"in blocks of {run_files.BLOCK}:\n{streamed}\nand whole:\n{whole}")
    finally:
        run_files.BLOCK, run_files.ROWS = usual
    return not isinstance(whole, CWLAError)
