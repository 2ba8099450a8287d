"""Three retrieval systems for the generated collection, as PyTerrier transformers; no download is needed.

The engine is bm25s. It is pure Python with NumPy, runs on all platforms and Python versions, and its index lies in
memory, can be pickled, and is built in 0.3 s for 2,000 documents. PISA is faster for millions of documents. However, it
has wheels for Linux on x86-64 only, its index lies on disk, and used retrievers cannot be pickled.
"""

import functools
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import pandas as pd
import pyterrier as pt

from ..errors.extras import needed
from .generated_data import Collection


def systems(collection: Collection) -> dict[str, pt.Transformer]:
    """Return three systems that treat document length differently, so that measures can disagree on them.

    Parameters
    ----------
    collection : Collection
        Documents to retrieve from.

    Returns
    -------
    dict of str to pt.Transformer
        BM25, BM25 with b = 0, and BM25 followed by :class:`PreferShort`, by name.
    """
    index = Index.of(collection.documents)
    return {
        "BM25": BM25(index),
        "BM25, length ignored": BM25(index, b=0.0),
        "BM25, then short first": BM25(index, num_results=100) >> PreferShort(),
    }


@dataclass(frozen=True, eq=False)
class Index:
    """Tokens of a collection, from which an engine is built for each setting of the parameters of BM25.

    Attributes
    ----------
    docnos : ndarray of str, shape (n_documents,)
        Document ids.
    lengths : ndarray of int, shape (n_documents,)
        Document lengths in words.
    tokens : list of list of int
        Token ids of each document.
    vocabulary : dict of str to int
        Token ids by word.
    """

    docnos: np.ndarray
    lengths: np.ndarray
    tokens: list[list[int]]
    vocabulary: dict[str, int]

    @classmethod
    def of(cls, documents: pd.DataFrame) -> "Index":
        """Tokenise documents.

        Parameters
        ----------
        documents : DataFrame, shape (n_documents, n_columns)
            Documents with the columns ``docno``, ``text`` and ``doc_length`` (words).

        Returns
        -------
        Index
            Tokens, document ids and document lengths.
        """
        tokens, vocabulary = _bm25s().tokenize(documents["text"].tolist(), stopwords=None, show_progress=False)
        return cls(documents["docno"].to_numpy(), documents["doc_length"].to_numpy(), tokens, vocabulary)


class BM25(pt.Transformer):
    """BM25 retrieval; ``k1`` and ``b`` can be tuned, as with ``pt.GridSearch``.

    Parameters
    ----------
    index : Index
        Tokens of the documents.
    k1 : float, default=1.2
        Saturation of term frequency.
    b : float, default=0.75
        Strength of length normalisation, from 0 to 1.
    method : str, default="lucene"
        Variant of BM25 by its name in bm25s.
    num_results : int, default=1000
        Maximum number of results per query; documents with a score of 0 are never retrieved.
    """

    def __init__(
        self, index: Index, k1: float = 1.2, b: float = 0.75, method: str = "lucene", num_results: int = 1000
    ) -> None:
        self.index = index
        self.k1 = k1
        self.b = b
        self.method = method
        self.num_results = num_results

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Retrieve documents for queries.

        Parameters
        ----------
        inp : DataFrame
            Queries with the columns ``qid`` and ``query``.

        Returns
        -------
        DataFrame
            A row for each retrieved document, with the columns of ``inp`` and ``docno``, ``score``, ``rank`` (from 0)
            and ``doc_length`` (words).
        """
        pt.validate.query_frame(inp, extra_columns=["query"], context=self)
        documents = np.zeros((len(inp), 0), int)
        scores = np.zeros((len(inp), 0))
        if len(inp):
            queries = _bm25s().tokenize(inp["query"].tolist(), stopwords=None, return_ids=False, show_progress=False)
            documents, scores = _engine(self.index, self.k1, self.b, self.method).retrieve(
                queries, k=len(self.index.docnos), show_progress=False, backend_selection="numpy"
            )
            # Equal scores are in descending order of ids: which of them bm25s puts first depends on the processor.
            descending = np.lexsort((-np.argsort(np.argsort(self.index.docnos))[documents], -scores))
            best = descending[:, : self.num_results]
            documents, scores = (np.take_along_axis(values, best, axis=1) for values in (documents, scores))
        query, rank = np.nonzero(scores > 0)
        found = documents[query, rank]
        return inp.iloc[query].reset_index(drop=True).assign(
            docno=self.index.docnos[found],
            score=scores[query, rank].astype(float),
            rank=rank + pt.model.FIRST_RANK,
            doc_length=self.index.lengths[found],
        )  # fmt: skip

    def fuse_rank_cutoff(self, k: int) -> pt.Transformer:
        """Return the same transformer with at most ``k`` results, which PyTerrier uses for ``bm25 % k``.

        Parameters
        ----------
        k : int
            Maximum number of results per query.

        Returns
        -------
        Transformer
            This transformer if it returns at most ``k`` results already, otherwise a copy with ``num_results=k``.
        """
        return self if self.num_results <= k else pt.inspect.transformer_apply_attributes(self, num_results=k)

    def __repr__(self) -> str:
        # Without k1 and b, because transformers are hashed by their repr and are keys of grids of parameters.
        return f"BM25({self.method!r})"


class PreferShort(pt.Transformer):
    """Re-ranking that divides each score by (words in the document) ** ``strength``.

    Parameters
    ----------
    strength : float, default=0.05
        Exponent; 0 leaves the ranking unchanged.
    """

    def __init__(self, strength: float = 0.05) -> None:
        self.strength = strength

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Re-rank results.

        Parameters
        ----------
        inp : DataFrame
            Results with the columns ``qid``, ``docno``, ``score`` and ``doc_length`` (words).

        Returns
        -------
        DataFrame
            The same rows with new values in the columns ``score`` and ``rank``.
        """
        pt.validate.result_frame(inp, extra_columns=["score", "doc_length"], context=self)
        return pt.model.add_ranks(inp.assign(score=inp["score"] / inp["doc_length"] ** self.strength))

    def __repr__(self) -> str:
        return "PreferShort()"


def _bm25s() -> ModuleType:
    with needed("the demo needs bm25s", extra="demo"):
        import bm25s
    return bm25s


@functools.lru_cache(maxsize=8)
def _engine(index: Index, k1: float, b: float, method: str):
    """Engine, cached outside the transformers, which share it and are pickled without it."""
    engine = _bm25s().BM25(k1=k1, b=b, method=method)
    # A copy of the vocabulary, because indexing adds an empty word to it.
    engine.index((index.tokens, dict(index.vocabulary)), show_progress=False)
    return engine
