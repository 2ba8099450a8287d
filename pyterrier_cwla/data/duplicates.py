"""Tables of duplicate documents, from files or from texts with similar sets of shingles."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import count
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..errors import BadParameter, CWLAError
from ..errors.extras import needed
from ..errors.sanitise import sanitised
from ..files.arrow_arrays import as_arrow, chunks_of, filled, of_booleans, of_numbers, to_numpy
from ..files.formats import read_table
from ..files.id_columns import Ids, hashes, places, written
from ..files.table_readers import DUPLICATES
from ..tasks.progress import bar
from .columns import Array, strings
from .document_tables import DocumentTable, Split, documents, duplicates_html, tokeniser_named

_PERMUTATIONS, _SEED, _MISSED = 256, 1, 1e-9


def check_similarity(similarity: float) -> None:
    """Raise BadParameter if a similarity is outside [0.1, 1], the range in which MinHash is reliable."""
    if not isinstance(similarity, int | float) or not 0.1 <= similarity <= 1:
        raise BadParameter(f"similarity={similarity!r} is out of range: it must be in [0.1, 1].")


def shingle_sets(texts: Iterable[str], split: Split, size: int) -> list[Array]:
    """Return the set of shingles of each text, as sorted integer codes.

    Parameters
    ----------
    texts : iterable of str
        Texts.
    split : callable
        Tokeniser.
    size : int
        Number of words of a shingle.

    Raises
    ------
    BadParameter
        If `size` is not a whole number of 1 or more.
    """
    import pandas as pd

    if not isinstance(size, int) or size < 1:
        raise BadParameter(f"shingle={size!r}: it must be a whole number of words, 1 or more.")
    vocabulary: defaultdict[str, int] = defaultdict(count(1).__next__)  # 0 is padding after the last word
    codes, bounds = array("q"), array("q", [0])
    for text in texts:
        codes.extend(map(vocabulary.__getitem__, split(text)))
        bounds.append(len(codes))
    words, ends = np.append(np.array(codes), 0), np.array(bounds)
    sizes = np.diff(ends)
    shingles = np.maximum(sizes - size + 1, np.minimum(sizes, 1))
    of_text = np.repeat(np.arange(len(sizes)), shingles)
    first = np.arange(len(of_text)) + (ends[:-1] - np.cumsum(shingles) + shingles)[of_text]
    end = ends[1:][of_text]
    code = np.zeros(len(of_text), np.int64)
    for place in range(size):
        at = np.minimum(first + place, end)
        word = np.where(at < end, words[at], 0)
        code, _ = pd.factorize(code * (len(vocabulary) + 1) + word)
    different = int(code.max(initial=0)) + 1
    keys = np.unique(of_text * different + code)
    return np.split(keys % different, np.searchsorted(keys, np.arange(1, len(sizes)) * different))[: len(sizes)]


def first_alike(sets: Sequence[Array], similarity: float, progress: bool = False) -> Array:
    """Return the index of the first similar set for each set.

    A set without an earlier similar set has its own index, and so do empty sets.

    Parameters
    ----------
    sets : sequence of ndarray
        Sorted codes of shingles.
    similarity : float in [0.1, 1]
        Smallest Jaccard similarity of similar sets; similarity is transitive.
    progress : bool, default=False
        Whether to show a progress bar.
    """
    seen: dict[bytes, int] = {}
    first = np.array([seen.setdefault(s.tobytes(), at) if len(s) else at for at, s in enumerate(sets)], np.int64)
    if similarity < 1 and seen:
        places, alike = np.array([*seen.values()]), np.arange(len(sets))
        for cluster in _alike_in_part([sets[at] for at in places], similarity, progress):
            alike[places[list(cluster)]] = places[min(cluster)]
        first = alike[first]
    return first


def _alike_in_part(sets: Sequence[Array], similarity: float, progress: bool) -> Iterable[set[int]]:
    """Return clusters of distinct sets, as sets of their indices."""
    from scipy.cluster.hierarchy import DisjointSet
    from scipy.sparse import csr_array

    with needed("a similarity below 1 needs datasketch", extra="duplicates"):
        from datasketch import MinHash, MinHashLSH

    sizes, shingles = np.array([len(s) for s in sets]), np.concatenate(sets)
    rows = csr_array((np.ones(len(shingles), np.int32), shingles, np.append(0, np.cumsum(sizes))))
    index = MinHashLSH(num_perm=_PERMUTATIONS, params=_bands(similarity))
    given = {"num_perm": _PERMUTATIONS, "seed": _SEED, "hashfunc": int}
    hashes = MinHash.generator((s.tolist() for s in sets), **given)
    clusters = DisjointSet(range(len(sets)))
    mine = np.zeros(rows.shape[1], np.int32)
    for at, minhash in enumerate(bar(hashes, progress, "comparing", len(sets))):
        others = np.array(index.query(minhash), np.int64)
        if len(others):
            mine[sets[at]] = 1
            shared = rows[others] @ mine
            mine[sets[at]] = 0
            for other in others[shared / (sizes[at] + sizes[others] - shared) >= similarity]:
                clusters.merge(at, int(other))
        index.insert(at, minhash)
    subsets: Iterable[set[int]] = clusters.subsets()
    return subsets


def _bands(similarity: float) -> tuple[int, int]:
    """Return the number and size of bands: the largest size with which similar pairs are missed with p ≤ 1e-9."""
    sizes = range(_PERMUTATIONS // 2, 0, -1)
    size = next(r for r in sizes if (1 - similarity**r) ** (_PERMUTATIONS // r) <= _MISSED)
    return _PERMUTATIONS // size, size


Clusters: TypeAlias = tuple[Ids, Array, Ids]
"""Ids of documents, the code of the cluster of each, and the original of each cluster."""
RUN = "run"
"""Name of the table for the column duplicate_of of the run."""


class Duplicates(DocumentTable):
    """Clusters of duplicate documents; a document that is not in the table has no duplicates.

    Examples
    --------
    >>> table = Duplicates.of({"d2": "d1", "d3": "d2"})
    >>> len(table)
    2
    """

    _parameter, _kind, _column, _reserved = "duplicates", DUPLICATES, "duplicate_of", RUN

    def __len__(self) -> int:
        """Return the number of duplicates, without their originals."""
        doc_id, _, original = self.loaded
        return len(doc_id) - len(original)

    @sanitised
    def _repr_html_(self) -> str:
        if self.name == RUN:
            return f"<p>{escape(repr(self))}: the column duplicate_of of the run</p>"
        try:
            return duplicates_html(repr(self), *self.loaded)
        except CWLAError:  # the file is missing or is not a table
            return f"<p>{escape(repr(self))}: the file cannot be read</p>"

    def clusters(self, doc_id: Ids, duplicate_of: Ids | None = None) -> Array:
        """Return the code of the cluster of each document; the codes of duplicates are equal.

        Parameters
        ----------
        doc_id : Arrow array of str, shape (n_rows,)
            Document ids, dictionary-encoded or not.
        duplicate_of : Arrow array of str, shape (n_rows,), optional
            Column of the run, null for documents without original. Only the table "run" uses it: two documents belong
            to one cluster if they have the same original, or if one is the original of the other.

        Returns
        -------
        ndarray of int, shape (n_rows,)
            Codes of clusters.

        Raises
        ------
        BadParameter
            If the table "run" is used and the run has no such column.
        """
        if self.name == RUN:
            if duplicate_of is None:
                raise BadParameter(
                    "duplicates='run' is the run's column duplicate_of, and it has none: add one"
                    " (pt.cwla.DuplicateOf() does), or give duplicates= a table."
                )
            return _codes(_named_or(duplicate_of, written(doc_id)))
        _, _, original = self.loaded
        codes = self._clusters(doc_id)
        alone = codes < 0
        codes[alone] = len(original) + _codes(written(pc.filter(doc_id, of_booleans(alone))))
        return codes

    def originals(self, doc_id: Ids) -> Ids:
        """Return the original of each document.

        Parameters
        ----------
        doc_id : array of str, shape (n_documents,)
            Document ids, as an Arrow array.

        Returns
        -------
        array of str, shape (n_documents,)
            Document ids of the originals, as an Arrow array. Null for originals and for documents without duplicates.
        """
        _, _, original = self.loaded
        codes = self._clusters(doc_id)
        found = original.take(pa.array(codes, mask=codes < 0))
        return _only(pc.not_equal(found, doc_id), found)

    def repeated(self, doc_id: Ids) -> Array:
        """Return whether each document has a duplicate.

        Parameters
        ----------
        doc_id : array of str, shape (n_documents,)
            Document ids, as an Arrow array.

        Returns
        -------
        ndarray of bool, shape (n_documents,)
            True for all documents of clusters, originals included.

        Raises
        ------
        BadParameter
            If the duplicates come from a column of the run, which lacks documents that are not retrieved.
        """
        if self.name == RUN:
            raise BadParameter(
                "norm='ideal' needs the duplicates of all judged documents, retrieved or not: give a table as"
                " duplicates=."
            )
        return self._places(doc_id) >= 0

    def _clusters(self, doc_id: Ids) -> Array:
        """Return the number of the cluster of each document, -1 for documents without duplicates."""
        return np.append(self.loaded[1], -1).take(self._places(doc_id))

    def _places(self, doc_id: Ids) -> Array:
        return places(doc_id, self.loaded[0])

    @classmethod
    def _checked(cls, doc_id: Ids, values: Any, column: str) -> Clusters:
        """Return the documents of clusters of two or more, the cluster of each, and the original of each cluster."""
        if column == "cluster":  # names of clusters may also be document ids
            names = pc.cast(as_arrow(values), pa.large_string())
            codes = _codes(_only(pc.not_equal(names, ""), names))
            _, first, cluster = np.unique(codes, return_index=True, return_inverse=True)
            return _components(doc_id, doc_id.take(of_numbers(first[cluster])))
        original = strings(values, column, cls._parameter, BadParameter, holes=True)
        return _components(doc_id, _named_or(original, doc_id))

    @classmethod
    def _content(cls, columns: Clusters) -> tuple[str, Ids, NDArray[np.uint64]]:
        doc_id, cluster, original = columns
        return cls._parameter, doc_id, hashes(original, salt=1)[cluster]

    @classmethod
    def _read(cls, path: str) -> Clusters:
        table = read_table(path, DUPLICATES)
        column = table.column_names[1]  # duplicate_of, if there are both
        return cls._checked(written(table["doc_id"]), table[column], column)

    def _rows(self) -> pa.Table:
        doc_id, cluster, original = self.loaded
        rows = pa.table({"docno": doc_id, "duplicate_of": original.take(of_numbers(cluster))})
        return rows.filter(pc.not_equal(rows["docno"], rows["duplicate_of"]))


_NOTHING = pa.nulls(0, pa.large_string())
Duplicates._named[RUN] = Duplicates(RUN, (_NOTHING, np.array([], np.int64), _NOTHING))


def register_duplicates(name: str, table: Any) -> Duplicates:
    """Register a table of duplicates under a name, as in ``TBG(duplicates="robust04")``.

    Parameters
    ----------
    name : str
        Name that measures use, an identifier other than "run".
    table : path, dict, Series, DataFrame, or Duplicates
        Path of a CSV, TSV or Parquet file; originals by document id; a frame with the columns doc_id (or docno) and
        duplicate_of or cluster; or a result of :func:`find_duplicates`. Documents with the same original, directly or
        through other documents, form one cluster. Names of clusters are arbitrary; documents without one have no
        duplicates.

    Returns
    -------
    Duplicates
        Registered table.

    Raises
    ------
    BadParameter
        If the name or the table cannot be used.

    Examples
    --------
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
    """Find documents whose texts have the same, or nearly the same, shingles.

    A shingle is a sequence of `shingle` words, and S(d) the set of shingles of a text; a shorter text is one shingle.
    Two documents are duplicates if their resemblance ``|S(a) ∩ S(b)| / |S(a) ∪ S(b)|`` is at least `similarity`, or if
    both are duplicates of a third document. The first of them in `texts` is the original. Texts without words have no
    duplicates.

    Parameters
    ----------
    texts : dict, Series, DataFrame, dataset, or iterable
        Texts, as for :func:`lengths_of_texts`.
    similarity : float in [0.1, 1], default=1.0
        Smallest resemblance of duplicates. The search is exact for 1. Below 1, datasketch's MinHash (256 permutations,
        fixed seed) proposes pairs, whose resemblance is then computed exactly; a pair is missed with a probability
        below 1e-9.
    shingle : int, default=10
        Number of words of a shingle.
    tokeniser : {"words", "whitespace"} or callable, default="words"
        Definition of words: "words" for sequences of letters and digits in lower case.
    fields : sequence of str, optional
        Columns or fields that make up the text, as for :func:`lengths_of_texts`.
    progress : bool, default=True
        Whether to show a progress bar.

    Returns
    -------
    Duplicates
        Table for ``duplicates=``, for :func:`register_duplicates`, or for its method ``save``.

    Raises
    ------
    BadParameter
        If `similarity` or `shingle` is out of range, or if the texts cannot be read.

    References
    ----------
    Smucker and Clarke (2012) use similarity 1: "the highest possible similarity …, i.e. all shared shingles are
    identical". They do not state the length of shingles; those of Broder (1997) have ten words.

    Examples
    --------
    >>> from pyterrier_cwla import find_duplicates
    >>> texts = {"d1": "A fox jumps.", "d2": "A dog sleeps.", "d3": "a fox  jumps"}
    >>> found = find_duplicates(texts)
    >>> len(found), found.about["similarity"]
    (1, 1.0)
    """
    check_similarity(similarity)
    name, split = tokeniser_named(tokeniser)
    ids = []

    def read() -> Iterator[str]:
        for doc_id, text in documents(texts, fields, progress, "reading"):
            ids.append(doc_id)
            yield text

    sets = shingle_sets(read(), split, shingle)
    doc_id = pa.array(ids, pa.large_string())
    original = doc_id.take(pa.array(first_alike(sets, similarity, progress)))
    about = {"similarity": similarity, "shingle": shingle, "tokeniser": name, "documents": len(ids)}
    return Duplicates.of(pa.table({"doc_id": doc_id, "duplicate_of": original}), about=about)


def _components(doc_id: Ids, original: Ids) -> Clusters:
    """Return the documents of clusters of two or more, the cluster of each, and the original of each cluster.

    The original is the first document that has no original itself, or else the first document.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    names = pa.chunked_array([*chunks_of(doc_id), *chunks_of(original)], pa.large_string())
    names = names.combine_chunks().dictionary_encode()
    repeating, repeated = np.split(to_numpy(names.indices), 2)
    n = len(names.dictionary)
    edges = coo_array((np.ones(len(repeating), bool), (repeating, repeated)), shape=(n, n))
    _, component = connected_components(edges, directed=False)
    repeats = np.zeros(n, bool)
    repeats[repeating[repeating != repeated]] = True
    order = np.lexsort((repeats, component))
    _, starts, sizes = np.unique(component[order], return_index=True, return_counts=True)
    cluster = np.where(sizes > 1, np.cumsum(sizes > 1) - 1, -1)[component]
    members = np.flatnonzero(cluster >= 0)
    originals = names.dictionary.take(of_numbers(order[starts[sizes > 1]]))
    return names.dictionary.take(of_numbers(members)), cluster[members], originals


def _named_or(names: Ids, others: Ids) -> Ids:
    """Return names with those of `others` in place of null and of empty names."""
    return pc.if_else(pc.fill_null(pc.not_equal(names, ""), False), names, others)


def _only(mask: Ids, names: Ids) -> Ids:
    """Return names with null where the mask is false or null."""
    # With None in place of the array of nulls, pyarrow before 24 returns wrong strings for slices and chunks.
    return pc.if_else(mask, names, pa.nulls(len(names), names.type))


def _codes(names: Ids) -> Array:
    """Return codes from 0 that are equal for equal names, and distinct for nulls."""
    codes = filled(pc.index_in(names, value_set=pc.unique(names), skip_nulls=True)).astype(np.int64)
    holes = codes < 0
    codes[holes] = codes.max(initial=-1) + 1 + np.arange(holes.sum())
    return codes
