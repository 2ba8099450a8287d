"""Tables of document lengths in words, from files, texts and indexes."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, ClassVar, overload

import numpy as np
import pyarrow as pa

from ..errors import BadParameter, CWLAError, MissingLength
from ..errors.sanitise import sanitised
from ..files.arrow_arrays import to_numpy
from ..files.formats import read_pisa_index
from ..files.id_columns import Ids
from ..tasks.progress import bar
from .arrays import Floats
from .columns import strings
from .number_tables import NumberTable
from .quantities import LENGTH
from .table_display import lengths_html
from .texts import Split, documents, tokeniser_named

_NOT_GIVEN: Any = object()


class Lengths(NumberTable):
    """Document lengths in words by document id, for ``TBG(lengths=…)``.

    Examples
    --------
    >>> Lengths.of({"d1": 100, "d2": 350}).mean
    225.0
    """

    quantity, what, meanings = LENGTH, "lengths", (("doc_length", "words", "length"),)
    default: ClassVar[Lengths | None] = None
    """Table of measures without ``lengths=`` for runs without a column ``doc_length``."""

    @sanitised
    def _repr_html_(self) -> str:
        try:
            return lengths_html(repr(self), self._columns[1], self.mean if len(self) else np.nan)
        except CWLAError:  # the file is missing or is not a table
            return f"<p>{escape(repr(self))}</p>"

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
        return self.of_documents(doc_id)

    @staticmethod
    def _read(path: str) -> tuple[Ids, Floats]:
        from ..files.formats import read_lengths

        table = read_lengths(path)
        return strings(table["doc_id"], "doc_id", "lengths", MissingLength), to_numpy(table["doc_length"])


@overload
def register_lengths(name: None) -> None: ...
@overload
def register_lengths(name: Any, table: Any = ...) -> Lengths: ...
def register_lengths(name: Any, table: Any = _NOT_GIVEN) -> Lengths | None:
    """Register a table of lengths as the default table, or under a name.

    ``register_lengths(words)`` sets the default table of all measures with time as effort, such as ``TBG``.
    ``register_lengths("robust04", words)`` names a table for ``TBG(lengths="robust04")``.
    ``register_lengths(None)`` removes the default table.

    A measure reads lengths from its own table (``lengths=``), else from the column ``doc_length`` of the run, else
    from the default table. All lengths of a run have one source: if a document has no length in the column, the
    default table does not fill the gap. The same holds for the lengths of judged documents with ``norm="ideal"``. Each
    call uses the default table as it is when the call starts, also in other processes and on a cluster. A pickled
    measure carries the default table, and so does a ``GroupedRanker`` that is not fitted, for texts such as ``"TBG"``
    in a grid of parameters.

    Parameters
    ----------
    name : str, or a table
        Name that measures use, an identifier. As the only argument: the default table, in one of the forms of `table`
        or the name of a registered table, or None for no default table.
    table : path, dict, Series, DataFrame, or Lengths
        Path of a CSV, TSV or Parquet file with docno and words; lengths by document id; a Series indexed by document
        id; a frame with the columns doc_id (or docno) and doc_length (or words); or a result of
        :func:`lengths_of_texts` or :func:`lengths_of_index`.

    Returns
    -------
    Lengths or None
        Registered table; None if the default table was removed.

    Raises
    ------
    BadParameter
        If the name or the table cannot be used.
    MalformedFile
        If the file is not a table of lengths. Nothing is registered then.

    Examples
    --------
    >>> from pyterrier_cwla import register_lengths
    >>> register_lengths("two", {"d1": 100, "d2": 350})
    <lengths 'two': 2 documents, mean 225.0 words>
    >>> from pyterrier_cwla import evaluate
    >>> default = register_lengths({"d1": 100, "d2": 350})
    >>> evaluate({"q": {"d2": 1}}, {"q": {"d1": 2.0, "d2": 1.0}}, ["TBG"]).round(4)
            TBG
    run
    run  0.4805
    >>> register_lengths(None)
    """
    if table is not _NOT_GIVEN:
        if isinstance(table, str | Path):
            len(Lengths.of(table))  # raises if the file is not a table
        return Lengths.register(name, table)
    default = None if name is None else Lengths.bind(name)
    if default is not None:
        len(default)
    Lengths.default = default
    return default


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
    """Return the document lengths in an index of Terrier or PISA.

    Both engines count the words that they index: Terrier by default without stopwords, PISA with them. Neither engine
    counts words that its tokeniser leaves out.

    Parameters
    ----------
    index : pt.terrier.TerrierIndex, Java index, or pyterrier_pisa.PisaIndex
        Index of documents; in Terrier with ``docno`` in its metadata. ``pt.IndexFactory.of`` returns Java indexes.
    progress : bool, default=True
        Whether to show a progress bar while a Terrier index is read.

    Returns
    -------
    Lengths
        Table for ``lengths=``, for :func:`register_lengths`, or for its method ``save``.

    Raises
    ------
    BadParameter
        If `index` is neither a Terrier nor a PISA index, or if a PISA index was made from token weights.
    MalformedFile
        If files of a PISA index are missing, or do not fit together.
    """
    folder = getattr(index, "path", None)
    if hasattr(index, "index_encoding") and isinstance(folder, Path):
        rows = read_pisa_index(folder)
        return Lengths.of(rows, about={"tokeniser": "PISA index", "documents": len(rows)})
    java = index.index_obj() if hasattr(index, "index_obj") else index
    if not hasattr(java, "getDocumentIndex"):
        raise BadParameter(f"lengths are read from an index of Terrier or PISA, not from a {type(index).__name__}.")
    entries, meta, size = java.getDocumentIndex(), java.getMetaIndex(), java.getCollectionStatistics()
    ids, words = [], array("d")
    for number in bar(range(size.getNumberOfDocuments()), progress, "reading the index"):
        ids.append(meta.getItem("docno", number))
        words.append(entries.getDocumentLength(number))
    return Lengths.of(_two_columns(ids, words), about={"tokeniser": "Terrier index", "documents": len(ids)})


def _two_columns(ids: list[str], words: array[float]) -> pa.Table:
    return pa.table({"doc_id": pa.array(ids, pa.large_string()), "words": np.array(words)})
