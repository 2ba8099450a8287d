"""Tables of document lengths in words, from files, texts and indexes."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import BadParameter, MissingLength, shown
from ..files.arrow_arrays import to_numpy
from ..files.id_columns import Ids, places
from ..tasks.progress import bar
from .arrays import Floats
from .columns import numbers, strings
from .document_tables import DocumentTable
from .texts import Split, documents, tokeniser_named


class Lengths(DocumentTable):
    """Document lengths in words by document id, for ``TBG(lengths=…)``.

    Examples
    --------
    >>> Lengths.of({"d1": 100, "d2": 350}).mean
    225.0
    """

    what, meanings = "lengths", (("doc_length", "words", "length"),)

    def __len__(self) -> int:
        return len(self._columns[1])

    @property
    def mean(self) -> float:
        """Mean length of all documents of the table, in words."""
        return self.current._mean

    @cached_property
    def _mean(self) -> float:
        return float(self._columns[1].mean())

    def words(self, doc_id: Ids) -> Floats:
        """Return the lengths of documents in words.

        Parameters
        ----------
        doc_id : Arrow array of str, shape (n_rows,)
            Document ids, dictionary-encoded or not.

        Returns
        -------
        ndarray of float, shape (n_rows,)
            Lengths; NaN for documents that are not in the table.
        """
        ids, words = self._columns
        found: Floats = np.append(words, np.nan)[places(doc_id, ids)]
        return found

    @classmethod
    def _checked(cls, doc_id: Ids, values: Any, column: str) -> tuple[Ids, Floats]:
        words = np.array(numbers(values, column, cls.what, BadParameter, lambda row: shown(doc_id[row].as_py())), float)
        if len(words) and not (np.isfinite(words).all() and words.min() >= 0):
            odd = int(np.flatnonzero(~(np.isfinite(words) & (words >= 0)))[0])
            raise BadParameter(
                f"the length of {doc_id[odd].as_py()!r} is {words[odd]:g}: lengths are words, 0 or more."
            )
        return doc_id, words

    @classmethod
    def _content(cls, columns: tuple[Ids, Floats]) -> tuple[str, Ids, NDArray[np.uint64]]:
        return "table", columns[0], columns[1].view(np.uint64)

    @staticmethod
    def _read(path: str) -> tuple[Ids, Floats]:
        from ..files.formats import read_lengths

        table = read_lengths(path)
        return strings(table["doc_id"], "doc_id", "lengths", MissingLength), to_numpy(table["doc_length"])

    def _rows(self) -> pa.Table:
        return pa.table(dict(zip(("docno", "doc_length"), self._columns, strict=True)))


def register_lengths(name: str, table: Any) -> Lengths:
    """Register a table of lengths under a name, as in ``TBG(lengths="robust04")``.

    Parameters
    ----------
    name : str
        Name that measures use, an identifier.
    table : path, dict, Series, DataFrame, or Lengths
        Path of a CSV, TSV or Parquet file with docno and words; lengths by document id; a Series indexed by document
        id; a frame with the columns doc_id (or docno) and doc_length (or words); or a result of
        :func:`lengths_of_texts` or :func:`lengths_of_index`.

    Returns
    -------
    Lengths
        Registered table.

    Raises
    ------
    BadParameter
        If the name or the table cannot be used.

    Examples
    --------
    >>> from pyterrier_cwla import register_lengths
    >>> register_lengths("two", {"d1": 100, "d2": 350})
    <lengths 'two'>
    """
    return Lengths.register(name, table)


def lengths_of_texts(
    texts: Any, tokeniser: str | Split = "whitespace", fields: Sequence[str] | None = None, progress: bool = True
) -> Lengths:
    """Count the words of texts.

    Parameters
    ----------
    texts : dict, Series, DataFrame, dataset, or iterable
        Texts by document id; a frame with the columns doc_id (or docno) and text, such as the result of a PyTerrier
        pipeline; a dataset of ir_datasets; or an iterable of named tuples or dicts, such as ``docs_iter()``.
    tokeniser : {"whitespace", "words"} or callable, default="whitespace"
        Definition of words: "whitespace" for sequences of non-blank characters, "words" for sequences of letters and
        digits, or a function from a text to the list of its words.
    fields : sequence of str, optional
        Columns or fields that make up the text. The default is ``text``, or ``default_text()`` of ir_datasets.
    progress : bool, default=True
        Whether to show a progress bar.

    Returns
    -------
    Lengths
        Table for ``lengths=``, for :func:`register_lengths`, or for its method ``save``. Its attribute ``about`` names
        the tokeniser.

    Raises
    ------
    BadParameter
        If a text is missing, or if a document has two texts of different lengths.

    Examples
    --------
    >>> from pyterrier_cwla import lengths_of_texts
    >>> made = lengths_of_texts({"d1": "Time-biased gain.", "d2": ""})
    >>> made.mean, made.about
    (1.0, {'tokeniser': 'whitespace', 'documents': 2})
    >>> lengths_of_texts({"d1": "Time-biased gain."}, tokeniser="words").mean
    3.0
    """
    name, split = tokeniser_named(tokeniser)
    ids, words = [], array("d")
    for doc_id, text in documents(texts, fields, progress, "counting words"):
        ids.append(doc_id)
        words.append(len(split(text)))
    return Lengths.of(_two_columns(ids, words), about={"tokeniser": name, "documents": len(ids)})


def lengths_of_index(index: Any, progress: bool = True) -> Lengths:
    """Return the document lengths in a Terrier index.

    Terrier counts the words that it indexes, by default without stopwords.

    Parameters
    ----------
    index : pt.terrier.TerrierIndex or Java index
        Index with ``docno`` in its metadata; ``pt.IndexFactory.of`` returns Java indexes.
    progress : bool, default=True
        Whether to show a progress bar.

    Returns
    -------
    Lengths
        Table for ``lengths=``, for :func:`register_lengths`, or for its method ``save``.

    Raises
    ------
    BadParameter
        If `index` is not a Terrier index.
    """
    java = index.index_obj() if hasattr(index, "index_obj") else index
    if not hasattr(java, "getDocumentIndex"):
        raise BadParameter(f"lengths are read from a Terrier index, not from a {type(index).__name__}.")
    entries, meta, size = java.getDocumentIndex(), java.getMetaIndex(), java.getCollectionStatistics()
    ids, words = [], array("d")
    for number in bar(range(size.getNumberOfDocuments()), progress, "reading the index"):
        ids.append(meta.getItem("docno", number))
        words.append(entries.getDocumentLength(number))
    return Lengths.of(_two_columns(ids, words), about={"tokeniser": "Terrier index", "documents": len(ids)})


def _two_columns(ids: list[str], words: array[float]) -> pa.Table:
    return pa.table({"doc_id": pa.array(ids, pa.large_string()), "words": np.array(words)})
