"""How long documents are: tables of words by document id, from files, texts and indexes."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import BadParameter, MissingLength, shown, some
from ..files.id_columns import places
from ..tasks.progress import bar
from .columns import numbers, strings
from .document_tables import DocumentTable
from .texts import Split, documents, tokeniser_named

Array = np.ndarray


class Lengths(DocumentTable):
    """Words by document id, as ``TBG(lengths=…)`` takes them.

    >>> Lengths.of({"d1": 100, "d2": 350}).mean
    225.0
    """

    what, meanings = "lengths", (("doc_length", "words", "length"),)

    def __len__(self) -> int:
        return len(self._columns[1])

    @property
    def mean(self) -> float:
        return self.current._mean

    @cached_property
    def _mean(self) -> float:
        return float(self._columns[1].mean())

    def words(self, doc_id: Any) -> Array:
        """The words of these documents [rows, Arrow strings, in a dictionary or not]; NaN where the table has none."""
        ids, words = self._columns
        return np.append(words, np.nan)[places(doc_id, ids)]

    @classmethod
    def _checked(cls, doc_id: Any, values: Any, column: str) -> tuple[Any, Array]:
        words = np.array(numbers(values, column, cls.what, BadParameter, lambda row: shown(doc_id[row].as_py())), float)
        if len(words) and not (np.isfinite(words).all() and words.min() >= 0):
            odd = int(np.flatnonzero(~(np.isfinite(words) & (words >= 0)))[0])
            raise BadParameter(
                f"the length of {doc_id[odd].as_py()!r} is {words[odd]:g}: lengths are words, 0 or more."
            )
        return doc_id, words

    @classmethod
    def _content(cls, columns: Any) -> tuple[str, Any, Array]:
        return "table", columns[0], columns[1].view(np.uint64)

    @staticmethod
    def _read(path: str) -> tuple[Any, Array]:
        from ..files.formats import read_lengths

        table = read_lengths(path)
        return strings(table["doc_id"], "doc_id", "lengths", MissingLength), table["doc_length"].to_numpy()

    def _rows(self) -> pa.Table:
        return pa.table(dict(zip(("docno", "doc_length"), self._columns, strict=True)))


def register_lengths(name: str, table: Any) -> Lengths:
    """Gives a table of lengths a name that measures can use: ``TBG(lengths="robust04")``.

    ``table`` is a path (CSV, TSV, Parquet; docno and words), a dict, a Series indexed by document id, a DataFrame with
    columns doc_id (or docno) and doc_length (or words), or what ``lengths_of_texts`` or ``lengths_of_index`` made.

    >>> from pyterrier_cwla import register_lengths
    >>> register_lengths("two", {"d1": 100, "d2": 350})
    <lengths 'two'>
    """
    return Lengths.register(name, table)


def lengths_of_texts(
    texts: Any, tokeniser: str | Split = "whitespace", fields: Sequence[str] | None = None, progress: bool = True
) -> Lengths:
    """Counts the words of texts: a table for ``lengths=``, for ``register_lengths``, or to ``save``.

    ``texts`` is a dict or Series of texts by document id; a DataFrame with columns doc_id (or docno) and text, such as
    a PyTerrier pipeline returns; an ir_datasets dataset; or an iterable of named tuples or dicts, such as
    ``docs_iter()``. ``fields`` names the columns or fields that make up the text (without it ``text``, or what
    ir_datasets takes for it). A word is what ``tokeniser`` says: "whitespace" (runs of what is not blank), "words"
    (runs of letters and digits), or a function from a text to the list of its words. ``about`` of the table states it.

    Raises BadParameter, naming the document, where a text is missing or a document has two of different lengths.

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
    """The lengths that a Terrier index knows: a table for ``lengths=``, for ``register_lengths``, or to ``save``.

    ``index`` is a ``pt.terrier.TerrierIndex`` or the Java index that ``pt.IndexFactory.of`` returns; it needs ``docno``
    among its metadata. Terrier counts the words that it indexed: without stopwords, unless it was told to keep them.
    """
    java = index.index_obj() if hasattr(index, "index_obj") else index
    if not hasattr(java, "getDocumentIndex"):
        raise BadParameter(f"a Terrier index knows lengths, and this is a {type(index).__name__}.")
    entries, meta, size = java.getDocumentIndex(), java.getMetaIndex(), java.getCollectionStatistics()
    ids, words = [], array("d")
    for number in bar(range(size.getNumberOfDocuments()), progress, "reading the index"):
        ids.append(meta.getItem("docno", number))
        words.append(entries.getDocumentLength(number))
    return Lengths.of(_two_columns(ids, words), about={"tokeniser": "Terrier index", "documents": len(ids)})


def _two_columns(ids: list[str], words: array[float]) -> pa.Table:
    return pa.table({"doc_id": pa.array(ids, pa.large_string()), "words": np.array(words)})


def words_of_rows(metric: Any, rows: Any) -> Array:
    """The words of a run's documents in row order: from the bound table, else from the run's doc_length."""
    needed = np.repeat(rows.query >= 0, rows.sizes)
    if not needed.any():
        return np.zeros(len(needed))
    if metric.lengths is not None:
        words = metric.lengths.words(rows.doc_id)
    elif rows.doc_length is not None:
        words = np.asarray(rows.doc_length, float)
    else:
        raise MissingLength(
            "the lengths of documents are needed: give lengths= (a table, a path or a name), or a column doc_length in"
            " the run."
        )
    if metric.missing != "mean":  # what no query needs may have any
        words = np.where(needed, words, 0.0)
    return _without_holes(words, needed, metric, rows.pair)


def words_of_pool(metric: Any, rankings: Any) -> Array:
    """The words of all judged documents, in the order of the pool; ideal rankings need them."""
    pool = rankings.pool
    judgments = pool.judgments
    if metric.lengths is None and pool.words is not None:
        words = pool.words(metric)
    elif metric.lengths is None or rankings.rows is None:
        raise MissingLength("norm='ideal' needs the length of every judged document, retrieved or not: give lengths=.")
    else:
        words = metric.lengths.words(judgments.columns.doc_id)[judgments.pool_order]
    if metric.duplicates is not None and metric.duplicate_gain == "keep":  # a bound: any copy may be read for nothing
        repeated = metric.duplicates.repeated(judgments.columns.doc_id)[judgments.pool_order]
        words = np.where(repeated, 0.0, words)
    # In time-biased gain what gains nothing comes last in the ideal, where nobody's time matters any more.
    needed = metric.gains(pool.grade) > 0 if metric.decays else np.ones(len(words), bool)

    def pair(at: int) -> tuple[str, str]:
        columns, row = judgments.columns, np.arange(len(words))[judgments.pool_order][at]
        return columns.query_id[row].as_py(), columns.doc_id[row].as_py()

    return _without_holes(words, needed, metric, pair)


def _without_holes(words: Array, needed: Array, metric: Any, describe: Any) -> Array:
    odd = np.flatnonzero((words < 0) | np.isinf(words))
    if len(odd):
        topic, document = describe(int(odd[0]))
        raise MissingLength(
            f"topic {topic!r}: the length of {document!r} is {words[odd[0]]:g}: lengths are words, 0 or more."
        )
    holes = np.isnan(words)
    if not holes.any():
        return words
    if metric.missing == "mean":
        known = words[~holes]
        if metric.lengths is not None and needed.any() and not len(known):
            raise MissingLength(
                f"none of {int(needed.sum()):,} documents is in the table of lengths: are the ids of the same kind?"
            )
        mean = metric.lengths.mean if metric.lengths is not None else known.mean() if len(known) else np.nan
        if np.isnan(mean):
            raise MissingLength("no document has a length, so that there is no mean to take for the others.")
        return np.where(holes, mean, words)
    lacking = np.flatnonzero(holes & needed)
    if not len(lacking):
        return np.where(holes, 0.0, words)
    topic, _ = describe(int(lacking[0]))
    examples = [document for t, document in (describe(int(at)) for at in lacking[:8]) if t == topic]
    raise MissingLength(
        f"time as effort needs the length of every document, and {len(lacking):,} of {int(needed.sum()):,} have none"
        f" (topic {topic!r}: {some(examples, 2)}). Give lengths= a table that has them, or missing='mean'."
    )
