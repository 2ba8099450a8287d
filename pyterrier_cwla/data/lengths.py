"""Tables of a number of each document: lengths in words, and known costs."""

from __future__ import annotations

import pickle
from array import array
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from pathlib import Path
from secrets import token_hex
from typing import Any, ClassVar, Self, cast, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import BadParameter, CWLAError, MissingCost, MissingLength, many, shown
from ..errors.sanitise import harmless, sanitised
from ..files.arrow_arrays import NotReal, reals, to_numpy
from ..files.formats import read_pisa_index, read_table
from ..files.id_columns import Ids, places, written
from ..files.table_readers import COSTS, LENGTHS
from ..rendering.numbers import percent
from ..tasks.progress import bar
from .columns import Floats, numbers
from .document_tables import DocumentTable, Split, documents, lengths_html, name_of, tokeniser_named


class NumberTable(DocumentTable):
    """Numbers of 0 or more by document id: lengths in words, or known costs.

    The classes of tables also stand for the number itself, which efforts read from a table or from a column of runs.
    """

    _noun: ClassVar[str]
    """Name of one number."""
    _nouns: ClassVar[str]
    """Name of several numbers."""
    _unit: ClassVar[str]
    """Unit of the numbers."""
    _readers: ClassVar[str]
    """Efforts that read the numbers, as the subject of a sentence."""
    _ways: ClassVar[str]
    """Ways to give the numbers, besides a table."""
    _error: ClassVar[type[MissingLength]]
    """Class of errors about documents without a number."""
    _replaced: ClassVar[str] = "have the mean"
    """Predicate of sentences about documents without a number."""

    @classmethod
    def _key(cls, metric: Any) -> tuple[Hashable, ...]:
        """Return the key of these numbers in caches of values of a metric."""
        return cls._column, cls._of_metric(metric), metric.default_lengths, metric.missing

    @classmethod
    def _of_metric(cls, metric: Any, prefix: str = "") -> Self | None:
        """Return the table of a metric with these numbers; with the prefix "default_", that for runs without column."""
        return cast("Self | None", getattr(metric, prefix + cls._parameter, None))

    def __len__(self) -> int:
        return len(self.loaded[1])

    def __repr__(self) -> str:
        try:
            number = len(self.current)
            mean = self.mean if number else np.nan
        except CWLAError:  # the file is missing or is not a table
            return f"<{self._nouns} {self.name!r}: the file cannot be read>"
        of_mean = f", mean {mean:,.1f} {self._unit}".rstrip() if number else ""
        of = [f" ({harmless(str(self.about[key]))})" for key in ("tokeniser", "function") if key in self.about]
        content = f"{many(number, 'document')}{of_mean}{''.join(of)}"
        return f"<{self._nouns} {self.name!r}: {content}>"

    @cached_property
    def asked(self) -> dict[str, Any]:
        """Results of a function by document, of the documents that were needed so far."""
        return {}

    @property
    def mean(self) -> float:
        """Mean of the numbers of all documents of the table."""
        return float(self.loaded[1].mean())

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
        ids, values = self.loaded
        return np.append(values, np.nan).take(places(doc_id, ids))

    @classmethod
    def _checked(cls, doc_id: Ids, values: Any, column: str) -> tuple[Ids, Floats]:
        found = np.array(
            numbers(values, column, cls._parameter, BadParameter, lambda row: shown(doc_id[row].as_py())), float
        )
        if len(found) and not (np.isfinite(found).all() and found.min() >= 0):
            odd = int(np.flatnonzero(~(np.isfinite(found) & (found >= 0)))[0])
            raise BadParameter(
                f"the {cls._noun} of {doc_id[odd].as_py()!r} is {found[odd]:g}: {cls._nouns} are numbers, 0 or more."
            )
        return doc_id, found

    @classmethod
    def _content(cls, columns: tuple[Ids, Floats]) -> tuple[str, Ids, NDArray[np.uint64]]:
        return "table", columns[0], columns[1].view(np.uint64)

    @classmethod
    def _read(cls, path: str) -> tuple[Ids, Floats]:
        table = read_table(path, cls._kind)
        return written(table["doc_id"]), to_numpy(table[cls._column])

    def _rows(self) -> pa.Table:
        return pa.table(dict(zip(("docno", self._column), self.loaded, strict=True)))


@dataclass(frozen=True)
class ReplacedLengths:
    """Number of documents of judged queries in a run whose lengths, or other numbers, are missing and replaced.

    Attributes
    ----------
    replaced, documents : int
        Number of these documents, and of all documents of judged queries.
    query, document : str
        First document without a length, and its query; empty if there is none.
    table : str, optional
        Name of the table of lengths for messages, empty if it has none; None for the column doc_length.
    of : type
        Class of tables of the numbers: lengths, known costs, or probabilities of abstention.
    known : str, default=""
        Examples of what the table has, for the error.
    """

    replaced: int
    documents: int
    query: str
    document: str
    table: str | None
    of: Any
    known: str = ""

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
        of = self.of
        source = f"the column {of._column}" if self.table is None else f"the table of {of._nouns} {self.table}".rstrip()
        if self.replaced == self.documents and self.table is not None:
            raise of._error(
                f"none of {self.documents:,} documents of {run} is in {source}, such as {example}{self.known}. Is the"
                " table of another collection, or are the ids written differently?"
            )
        share = percent(self.replaced / self.documents, 1)
        return (
            f"{self.replaced:,} of {self.documents:,} documents of {run} ({share}) have no {of._noun} in"
            f" {source}, such as {example}: they {of._replaced}."
        )


_NOT_GIVEN: Any = object()


class Lengths(NumberTable):
    """Document lengths in words by document id, for ``TBG(lengths=…)``.

    Attributes
    ----------
    default : Lengths or None
        Table of measures without ``lengths=`` for runs without a column doc_length; :func:`register_lengths` sets it.

    Examples
    --------
    >>> Lengths.of({"d1": 100, "d2": 350}).mean
    225.0
    """

    _parameter, _kind, _column = "lengths", LENGTHS, "doc_length"
    _noun, _nouns, _unit, _readers, _error = "length", "lengths", "words", "time as effort", MissingLength
    _ways = (
        "or a column doc_length in the run (in PyTerrier, pt.cwla.DocLength() adds it), or set a table for all measures"
        " with register_lengths(words)."
    )
    default: ClassVar[Lengths | None] = None

    @sanitised
    def _repr_html_(self) -> str:
        try:
            return lengths_html(repr(self), self.loaded[1], self.mean if len(self) else np.nan)
        except CWLAError:  # the file is missing or is not a table
            return f"<p>{escape(repr(self))}</p>"

    words = NumberTable.of_documents


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
        digits, or a function from a text to the list of its words; of a Hugging Face tokeniser,
        ``lambda text: tokeniser(text)["input_ids"]``.
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
    read = documents(texts, fields, progress, "counting words")
    return _counted(((doc_id, len(split(text))) for doc_id, text in read), name)


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
    progress_bar = bar(range(size.getNumberOfDocuments()), progress, "reading the index")
    words = ((meta.getItem("docno", number), entries.getDocumentLength(number)) for number in progress_bar)
    return _counted(words, "Terrier index")


def _counted(words: Iterable[tuple[str, int]], tokeniser: str) -> Lengths:
    """Return a table of numbers of words; the numbers of millions of documents are not held as Python's."""
    ids, counts = [], array("d")
    for doc_id, count in words:
        ids.append(doc_id)
        counts.append(count)
    table = pa.table({"doc_id": pa.array(ids, pa.large_string()), "words": np.array(counts)})
    return Lengths.of(table, about={"tokeniser": tokeniser, "documents": len(ids)})


class Costs(NumberTable):
    """Known costs of documents by document id, for ``costs=`` of measures: tokens, money, joules, seconds.

    The costs of a function are asked for when they are needed, once for each document; they are asked for again if the
    function is given again.

    Examples
    --------
    >>> from pyterrier_cwla.data import Costs
    >>> Costs.of({"d1": 10, "d2": 35}).mean
    22.5
    """

    _parameter, _kind, _column = "costs", COSTS, "doc_cost"
    _forms = "a name, a path, a dict, a Series, a DataFrame, Lengths, or a function of a document id"
    _noun, _nouns, _unit, _readers, _error = "cost", "costs", "", "an effort of known costs", MissingCost
    _ways = "or a column doc_cost in the run (in PyTerrier, pt.cwla.DocCost(table) adds it)."

    @classmethod
    def of(cls, table: Any, name: str | None = None, about: dict[str, Any] | None = None) -> Self:
        """Return costs from a table in any of its forms, from lengths, or from a function of a document id."""
        if callable(table):
            return cls(name or f"function_{token_hex(8)}", table, about={"function": name_of(table)})
        lengths = Lengths._held(table)
        if isinstance(lengths, Lengths):
            return cls(name or cls._content_name(lengths.loaded), lengths.loaded, about=about or lengths.about)
        return super().of(table, name, about)

    @classmethod
    def _from_content(cls, content: Any) -> Self:
        for one in cls._named.values() if callable(content) else ():
            if isinstance(one, cls) and one.anonymous and one.function == content:
                one.asked.clear()
                return one
        return cls.of(content)

    @property
    def loaded(self) -> Any:
        """Present content; of a function, the costs of the documents that were needed so far."""
        if self.function is None:
            return super().loaded
        return pa.array(list(self.asked), pa.large_string()), _as_floats(list(self.asked.values()))

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self.function is None:
            return super().__reduce_ex__(protocol)
        import cloudpickle

        return _with_function, (self.name, cloudpickle.dumps(self.function))

    def of_documents(self, doc_id: Ids) -> Floats:
        """Return the costs of documents; NaN for documents that are not in the table, and for what is no number."""
        if self.function is None:
            return super().of_documents(doc_id)
        ids = doc_id.to_pylist()
        for one in ids:
            if one not in self.asked:
                try:
                    self.asked[one] = self.function(one)
                except Exception as error:
                    name = name_of(self.function)
                    raise BadParameter(f"costs=: {name} fails for document {shown(one)}: {error!r}.") from error
        return _as_floats([self.asked[one] for one in ids])


def _with_function(name: str, pickled: bytes) -> Costs:
    return Costs.of(pickle.loads(pickled), name)


def _as_floats(values: list[Any]) -> Floats:
    """Return values as floats; NaN for those that are no numbers."""
    try:
        return np.array(reals(values), float)
    except NotReal:
        return np.concatenate([_as_floats([one]) for one in values]) if len(values) > 1 else np.array([np.nan])


def register_costs(name: str, table: Any) -> Costs:
    """Register known costs of documents under a name, for ``costs=`` of measures.

    A measure whose effort reads costs takes them from its own table or function (``costs=``), else from the column
    ``doc_cost`` of the run. All costs of a run have one source.

    Parameters
    ----------
    name : str
        Name that measures use, an identifier.
    table : path, dict, Series, DataFrame, Lengths, Costs, or callable
        Path of a CSV, TSV or Parquet file with docno and cost; costs by document id; a Series indexed by document id; a
        frame with the columns doc_id (or docno) and doc_cost (or cost, seconds, tokens, or a name of lengths); lengths,
        such as the tokens that :func:`lengths_of_texts` counts; or a function from a document id to its cost, which is
        called once for each document that is needed. Results that depend on a function are not cached in
        ``cache_dir=``.

    Returns
    -------
    Costs
        Registered costs.

    Raises
    ------
    BadParameter
        If the name or the table cannot be used.
    MalformedFile
        If the file is not a table of costs. Nothing is registered then.

    Examples
    --------
    >>> from pyterrier_cwla import CWLA, evaluate, lengths_of_texts
    >>> from pyterrier_cwla.data import register_costs
    >>> register_costs("prompts", lengths_of_texts({"d1": "three short words", "d2": "one-two"}, tokeniser="words"))
    <costs 'prompts': 2 documents, mean 2.5 (words)>
    >>> measure = CWLA(C="decay(3)", A="etg", gain="raw", effort="cost(tokens)", unseen=3, costs="prompts")
    >>> evaluate({"q": {"d2": 1}}, {"q": {"d1": 2.0, "d2": 1.0}}, [measure]).iloc[0, 0]
    np.float64(0.5)
    """
    return Costs.register(name, table)
