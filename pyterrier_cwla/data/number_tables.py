"""Tables of a number of each document, such as its length or its cost."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import BadParameter, CWLAError, shown
from ..errors.sanitise import harmless
from ..files.id_columns import Ids, places
from .arrays import Floats
from .columns import numbers
from .document_tables import DocumentTable
from .quantities import Quantity


class NumberTable(DocumentTable):
    """Numbers of 0 or more by document id."""

    quantity: ClassVar[Quantity]
    """What the numbers are."""
    meanings: ClassVar[tuple[tuple[str, ...], ...]] = ()

    def __len__(self) -> int:
        return len(self._columns[1])

    def __repr__(self) -> str:
        try:
            number = len(self.current)
            mean = self.mean if number else np.nan
        except CWLAError:  # the file is missing or is not a table
            return f"<{self.quantity.nouns} {self.name!r}: the file cannot be read>"
        of_mean = f", mean {mean:,.1f} {self.quantity.unit}" if number else ""
        tokeniser = f" ({harmless(str(self.about['tokeniser']))})" if "tokeniser" in self.about else ""
        content = f"{number:,} document{'s' * (number != 1)}{of_mean}{tokeniser}"
        return f"<{self.quantity.nouns} {self.name!r}: {content}>"

    @property
    def mean(self) -> float:
        """Mean of the numbers of all documents of the table."""
        return self.current._mean

    @cached_property
    def _mean(self) -> float:
        return float(self._columns[1].mean())

    def of_documents(self, doc_id: Ids) -> Floats:
        """Return the numbers of documents.

        Parameters
        ----------
        doc_id : Arrow array of str, shape (n_rows,)
            Document ids, dictionary-encoded or not.

        Returns
        -------
        ndarray of float, shape (n_rows,)
            Numbers; NaN for documents that are not in the table.
        """
        ids, values = self._columns
        found: Floats = np.append(values, np.nan)[places(doc_id, ids)]
        return found

    @classmethod
    def _checked(cls, doc_id: Ids, values: Any, column: str) -> tuple[Ids, Floats]:
        found = np.array(numbers(values, column, cls.what, BadParameter, lambda row: shown(doc_id[row].as_py())), float)
        if len(found) and not (np.isfinite(found).all() and found.min() >= 0):
            odd = int(np.flatnonzero(~(np.isfinite(found) & (found >= 0)))[0])
            of = cls.quantity
            raise BadParameter(
                f"the {of.noun} of {doc_id[odd].as_py()!r} is {found[odd]:g}: {of.nouns} are {of.unit}, 0 or more."
            )
        return doc_id, found

    @classmethod
    def _content(cls, columns: tuple[Ids, Floats]) -> tuple[str, Ids, NDArray[np.uint64]]:
        return "table", columns[0], columns[1].view(np.uint64)

    def _rows(self) -> pa.Table:
        return pa.table(dict(zip(("docno", self.quantity.column), self._columns, strict=True)))
