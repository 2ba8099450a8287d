"""Numbers of document lengths that measures with ``missing="mean"`` replace by the mean."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..errors import MissingLength, MissingSeconds, shown
from .quantities import LENGTH, Quantity


@dataclass(frozen=True)
class ReplacedLengths:
    """Number of documents of judged queries in a run whose lengths are replaced by the mean.

    Attributes
    ----------
    replaced, documents : int
        Number of these documents, and of all documents of judged queries.
    query, document : str
        First document without a length, and its query; empty if there is none.
    table : str, optional
        Name of the table of lengths for messages, empty if it has none; None for the column doc_length.
    quantity : Quantity, default=LENGTH
        What the numbers are: lengths, or known costs.
    """

    replaced: int
    documents: int
    query: str
    document: str
    table: str | None
    quantity: Quantity = LENGTH

    def __add__(self, other: ReplacedLengths) -> ReplacedLengths:
        first = self if self.replaced else other
        return replace(first, replaced=self.replaced + other.replaced, documents=self.documents + other.documents)

    def about(self, run: str = "the run") -> str | None:
        """Return a warning if lengths are replaced, else None.

        Raises
        ------
        MissingLength
            If no document is in a table of lengths.
        """
        if not self.replaced:
            return None
        example = f"{shown(self.document)} of query {shown(self.query)}"
        of = self.quantity
        source = f"the column {of.column}" if self.table is None else f"the table of {of.nouns} {self.table}".rstrip()
        if self.replaced == self.documents and self.table is not None:
            raise (MissingLength if of is LENGTH else MissingSeconds)(
                f"none of {self.documents:,} documents of {run} is in {source}, such as {example}. Is the table of"
                " another collection, or are the ids written differently?"
            )
        share = 100 * self.replaced / self.documents
        return (
            f"{self.replaced:,} of {self.documents:,} documents of {run} ({share:.1f} %) have no {of.noun} in {source},"
            f" such as {example}: missing='mean' replaces them by the mean."
        )
