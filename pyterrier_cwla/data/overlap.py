"""Overlap of a run with its judgments: common queries, and judged documents in the top ten."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..errors import shown, some
from .replaced_lengths import ReplacedLengths

TOP = 10
_LEAST = 0.01  # share of the top ten


@dataclass(frozen=True)
class Overlap:
    """Numbers of documents and of judged documents in the top ten of judged queries.

    Attributes
    ----------
    top, judged : int
        Number of documents in the top ten, and number of judged ones among them.
    anywhere : int
        Number of judged documents at any rank.
    example : tuple, optional
        If few documents are judged: a query, its first documents in the run, and judged documents.
    apart : tuple, optional
        If the run answers no judged query: the first queries of the run, and the first judged queries.
    lengths : mapping of str to ReplacedLengths
        Lengths that are replaced by the mean, by name of the table.
    """

    top: int = 0
    judged: int = 0
    anywhere: int = 0
    example: tuple[str, list[str], list[str]] | None = None
    apart: tuple[list[str], list[str]] | None = None
    lengths: Mapping[str, ReplacedLengths] = field(default_factory=dict, hash=False)

    def __add__(self, other: Overlap) -> Overlap:
        return Overlap(
            self.top + other.top,
            self.judged + other.judged,
            self.anywhere + other.anywhere,
            self.example or other.example,
            lengths={
                **self.lengths,
                **{name: self.lengths[name] + n if name in self.lengths else n for name, n in other.lengths.items()},
            },
        )

    @property
    def is_low(self) -> bool:
        """Whether less than 1 % of the documents in the top ten are judged."""
        return self.judged < _LEAST * self.top

    def notes(self, run: str = "the run") -> list[str]:
        """Return warnings about judgments and lengths of the run.

        Raises
        ------
        MissingLength
            If no document of the run is in a table of lengths whose mean would replace all lengths.
        """
        found = [self.about(run), *(of_table.about(run) for of_table in self.lengths.values())]
        return [about for about in found if about is not None]

    def about(self, run: str = "the run") -> str | None:
        """Return a warning if the run answers no judged query or has hardly any judged document, else None."""
        if self.apart is not None:
            retrieved, judged = map(some, self.apart)
            return (
                f"run and judgments have no query in common: {run} has {retrieved or 'none'}, the judgments {judged}."
            )
        if not self.is_low or self.example is None:
            return None
        query, found, wanted = self.example
        if not self.anywhere:
            what = f"no document of {run} is judged for its query, so that nothing is found"
        else:
            what = f"of the {self.top:,} documents in the top ten of {run} {self.judged:,} are judged, less than 1 %"
        return (
            f"{what}: for query {shown(query)} it has {_few(found)}, and judged are {_few(wanted)}. Are the ids of"
            " documents written alike?"
        )


def _few(documents: list[str]) -> str:
    return ", ".join(map(shown, documents[:3])) + ", …" * (len(documents) > 3)
