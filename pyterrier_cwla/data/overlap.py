"""How much of a run's top ten is judged: almost nothing is where ids are written differently on the two sides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ..errors import shown
from ..files import id_columns

if TYPE_CHECKING:
    from .alignment import Rows

TOP = 10
_LEAST = 0.01  # share of the top ten


@dataclass(frozen=True)
class Overlap:
    """How many documents a run has in the top ten of judged queries, and how many of these are judged.

    `anywhere`: the judged documents at any rank; `example`: where few are judged, a query, the first documents of the
    run and judged documents.
    """

    top: int = 0
    judged: int = 0
    anywhere: int = 0
    example: tuple[str, list[str], list[str]] | None = None

    @classmethod
    def of(cls, rows: Rows) -> Overlap:
        """Counts relevant documents first, and other judged documents only where these are few."""
        found = cls()
        for all_judged in (False, True):
            found = cls(*rows.counts(all_judged))
            if not found.is_low:
                return found
        return cls(found.top, found.judged, found.anywhere, _example(rows))

    def __add__(self, other: Overlap) -> Overlap:
        return Overlap(
            self.top + other.top,
            self.judged + other.judged,
            self.anywhere + other.anywhere,
            self.example or other.example,
        )

    @property
    def is_low(self) -> bool:
        return self.judged < _LEAST * self.top

    def about(self, run: str = "the run") -> str | None:
        """A sentence on a run of which almost nothing is judged; None for others."""
        if not self.is_low or self.example is None:
            return None
        query, retrieved, judged = self.example
        if not self.anywhere:
            what = f"no document of {run} is judged for its query, so that nothing is found"
        else:
            what = f"of the {self.top:,} documents in the top ten of {run} {self.judged:,} are judged, less than 1 %"
        return (
            f"{what}: for query {shown(query)} it has {_few(retrieved)}, and judged are {_few(judged)}. Are the ids of"
            " documents written alike?"
        )


def _few(documents: list[str]) -> str:
    return ", ".join(map(shown, documents[:3])) + ", …" * (len(documents) > 3)


def _example(rows: Rows) -> tuple[str, list[str], list[str]] | None:
    answered = np.flatnonzero(rows.query >= 0)
    if not len(answered):
        return None
    query, start = int(rows.query[answered[0]]), int(rows.starts[answered[0]])
    judgments = rows.judgments
    retrieved = id_columns.written(rows.columns.doc_id.slice(start, min(int(rows.sizes[answered[0]]), 4))).to_pylist()
    judged = judgments.columns.doc_id.take(pa.array(np.flatnonzero(judgments.row_query == query)[:4])).to_pylist()
    return judgments.qids[query], retrieved, judged
