"""Which documents say the same: tables of clusters by document id, from files or found in texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import BadParameter
from ..files.id_columns import places, written
from .columns import strings
from .document_tables import DocumentTable
from .shingles import ShingleSets, check_similarity, first_alike
from .texts import Split, documents, tokeniser_named

Array = np.ndarray
RUN = "run"
"""The name that stands for the run's own column duplicate_of."""


class Duplicates(DocumentTable):
    """Which documents are duplicates of each other; one that the table does not have is alone in its cluster.

    >>> table = Duplicates.of({"d2": "d1", "d3": "d2"})
    >>> len(table)
    2
    """

    what, meanings, reserved = "duplicates", (("duplicate_of",), ("cluster",)), RUN

    def __len__(self) -> int:
        """How many documents repeat another: their originals are not among them."""
        doc_id, _, original = self._columns
        return len(doc_id) - len(original)

    def clusters(self, doc_id: Any, duplicate_of: Any = None) -> Array:
        """A code of each document's cluster [rows]: two rows have the same where one document repeats the other.

        ``doc_id`` and ``duplicate_of``, the run's own column with nulls where nothing is repeated, are Arrow strings
        [rows], ``doc_id`` maybe in a dictionary. Only the table "run" looks at the second: there two documents are of
        one cluster where they name the same original, or one names the other.

        Raises BadParameter where the run's column is asked for and there is none.
        """
        if self.name == RUN:
            if duplicate_of is None:
                raise BadParameter(
                    "duplicates='run' is the run's column duplicate_of, and it has none: add one"
                    " (pyterrier_cwla.pipelines.DuplicateOf does), or give duplicates= a table."
                )
            return _codes(pc.coalesce(_filled(duplicate_of), written(doc_id)))
        _, cluster, original = self._columns
        codes = np.append(cluster, -1)[self._places(doc_id)]
        alone = codes < 0
        codes[alone] = len(original) + _codes(written(pc.filter(doc_id, pa.array(alone))))
        return codes

    def originals(self, doc_id: Any) -> Any:
        """The document that each of these repeats, as Arrow strings [rows]; null where none."""
        _, cluster, original = self._columns
        codes = np.append(cluster, -1)[self._places(doc_id)]
        found = original.take(pa.array(codes, mask=codes < 0))
        return pc.if_else(pc.not_equal(found, doc_id), found, None)

    def repeated(self, doc_id: Any) -> Array:
        """Which of these documents have a copy [rows]."""
        if self.name == RUN:
            raise BadParameter(
                "norm='ideal' asks which judged documents have copies, retrieved or not: give duplicates= a table."
            )
        return self._places(doc_id) >= 0

    def _places(self, doc_id: Any) -> Array:
        return places(doc_id, self._columns[0])

    @classmethod
    def _checked(cls, doc_id: Any, values: Any, column: str) -> tuple[Any, Array, Any]:
        """The documents of clusters of two and more, the cluster of each, and each cluster's original."""
        if column == "cluster":  # names of its own, which may be those of other documents, too
            names = values.to_arrow() if hasattr(values, "to_arrow") else pa.array(values, from_pandas=True)
            codes = _codes(_filled(pc.cast(names, pa.large_string())))
            _, first, cluster = np.unique(codes, return_index=True, return_inverse=True)
            return _components(doc_id, doc_id.take(pa.array(first[cluster])))
        original = strings(values, column, cls.what, BadParameter, holes=True)
        return _components(doc_id, pc.coalesce(_filled(original), doc_id))

    @classmethod
    def _content(cls, columns: Any) -> tuple[str, Any, Array]:
        from pandas.util import hash_array

        doc_id, cluster, original = columns
        return cls.what, doc_id, hash_array(np.asarray(original.to_pylist(), object))[cluster]

    @classmethod
    def _read(cls, path: str) -> tuple[Any, Array, Any]:
        from ..files.formats import read_duplicates

        table = read_duplicates(path)
        column = next(name for name in cls.values if name in table.column_names)
        return cls._checked(strings(table["doc_id"], "doc_id", cls.what, BadParameter), table[column], column)

    def _rows(self) -> pa.Table:
        doc_id, cluster, original = self._columns
        rows = pa.table({"docno": doc_id, "duplicate_of": original.take(pa.array(cluster))})
        return rows.filter(pc.not_equal(rows["docno"], rows["duplicate_of"]))


_NOTHING = pa.array([], pa.large_string())
Duplicates._named[RUN] = Duplicates(RUN, (_NOTHING, np.array([], np.int64), _NOTHING))


def register_duplicates(name: str, table: Any) -> Duplicates:
    """Gives a table of duplicates a name that measures can use: ``TBG(duplicates="robust04")``.

    ``table`` is a path (CSV, TSV, Parquet), a dict or Series from document id to the document that it repeats, a
    DataFrame with columns doc_id (or docno) and duplicate_of or cluster, or what ``find_duplicates`` makes. Whatever
    repeats the same document, be it by way of others, is one cluster. Names in a column cluster can be any, and a
    document without one is alone.

    >>> from pyterrier_cwla import register_duplicates
    >>> register_duplicates("few", {"d2": "d1", "d3": "d1"})
    <duplicates 'few'>
    """
    return Duplicates.register(name, table)


def find_duplicates(
    texts: Any,
    similarity: float = 1.0,
    shingle: int = 10,
    tokeniser: str | Split = "words",
    fields: Sequence[str] | None = None,
    progress: bool = True,
) -> Duplicates:
    """Finds the documents whose texts share all their shingles, or nearly all.

    A shingle is ``shingle`` words in a row, and S(d) the set of those of a text; a shorter text is one shingle. Two
    documents are duplicates where their resemblance ``|S(a) ∩ S(b)| / |S(a) ∪ S(b)|`` is at least ``similarity``, and
    so are two duplicates of a third; the first of them in ``texts`` is the original. A text without words repeats
    nothing.

    The default, 1, is the definition of Smucker and Clarke (2012), "the highest possible similarity …, i.e. all shared
    shingles are identical", and exact. They do not say how long their shingles are; Broder's (1997) have ten words.
    Below 1 datasketch's MinHash (256 permutations, always the same) proposes pairs, which are then compared in full:
    what is found is right, and a pair is overlooked with a probability below 1e-9.

    ``texts`` and ``fields`` are as for ``lengths_of_texts``; ``tokeniser`` is by default "words": runs of letters and
    digits, in lower case.

    Raises BadParameter for a ``similarity`` outside [0.1, 1], a ``shingle`` below 1, and texts that cannot be read.

    >>> from pyterrier_cwla import find_duplicates
    >>> texts = {"d1": "A fox jumps.", "d2": "A dog sleeps.", "d3": "a fox  jumps"}
    >>> found = find_duplicates(texts)
    >>> len(found), found.about["similarity"]
    (1, 1.0)
    """
    check_similarity(similarity)
    name, split = tokeniser_named(tokeniser)
    sets = ShingleSets(split, shingle)
    ids = []
    for doc_id, text in documents(texts, fields, progress, "reading"):
        ids.append(doc_id)
        sets.add(text)
    doc_id = pa.array(ids, pa.large_string())
    original = doc_id.take(pa.array(first_alike(sets.all(), similarity, progress)))
    about = {"similarity": similarity, "shingle": shingle, "tokeniser": name, "documents": len(ids)}
    return Duplicates.of(pa.table({"doc_id": doc_id, "duplicate_of": original}), about=about)


def _components(doc_id: Any, original: Any) -> tuple[Any, Array, Any]:
    """The documents of clusters of two and more, the cluster of each, and each cluster's original.

    The original is the first that repeats nothing, or else the first.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    names = pa.chunked_array([*_chunks(doc_id), *_chunks(original)], pa.large_string())
    names = names.combine_chunks().dictionary_encode()
    repeating, repeated = np.split(names.indices.to_numpy(), 2)
    n = len(names.dictionary)
    edges = coo_array((np.ones(len(repeating), bool), (repeating, repeated)), shape=(n, n))
    _, component = connected_components(edges, directed=False)
    repeats = np.zeros(n, bool)
    repeats[repeating[repeating != repeated]] = True
    order = np.lexsort((repeats, component))
    _, starts, sizes = np.unique(component[order], return_index=True, return_counts=True)
    cluster = np.where(sizes > 1, np.cumsum(sizes > 1) - 1, -1)[component]
    members = np.flatnonzero(cluster >= 0)
    originals = names.dictionary.take(pa.array(order[starts[sizes > 1]]))
    return names.dictionary.take(pa.array(members)), cluster[members], originals


def _filled(names: Any) -> Any:
    """Null where a name is empty."""
    return pc.if_else(pc.not_equal(names, ""), names, None)


def _codes(names: Any) -> Array:
    """Numbers from 0, the same where the names are; one of its own for each null."""
    codes = _numpy(pc.fill_null(pc.index_in(names, value_set=pc.unique(names), skip_nulls=True), -1)).astype(np.int64)
    holes = codes < 0
    codes[holes] = codes.max(initial=-1) + 1 + np.arange(holes.sum())
    return codes


def _chunks(column: Any) -> list[Any]:
    return column.chunks if isinstance(column, pa.ChunkedArray) else [column]


def _numpy(column: Any) -> Array:
    return column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column.to_numpy()
