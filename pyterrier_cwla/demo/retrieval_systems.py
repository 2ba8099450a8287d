"""Three retrieval systems over the generated collection, which need no download.

The engine is bm25s: one wheel of pure Python and NumPy for every platform and Python version, an index in memory that
pickles, 0.3 s for 2,000 documents. PISA is faster on millions of documents, but has wheels for Linux on x86-64 only,
keeps its index on disk, and its retrievers do not pickle once used.
"""

import functools
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import pandas as pd
import pyterrier as pt

from .generated_collection import Collection


def systems(collection: Collection) -> dict[str, pt.Transformer]:
    """Three systems that differ in what they make of length, so that measures can disagree about them."""
    index = Index.of(collection.documents)
    return {
        "BM25": BM25(index),
        "BM25, length ignored": BM25(index, b=0.0),
        "BM25, then short first": BM25(index, num_results=100) >> PreferShort(),
    }


@dataclass(frozen=True, eq=False)
class Index:
    """The tokens of a collection, from which an engine is built for each setting of its parameters."""

    docnos: np.ndarray
    lengths: np.ndarray
    tokens: list[list[int]]
    vocabulary: dict[str, int]

    @classmethod
    def of(cls, documents: pd.DataFrame) -> "Index":
        tokens, vocabulary = _bm25s().tokenize(documents["text"].tolist(), stopwords=None, show_progress=False)
        return cls(documents["docno"].to_numpy(), documents["doc_length"].to_numpy(), tokens, vocabulary)


class BM25(pt.Transformer):
    """Retrieves with BM25; k1 and b may be set at any time, as pt.GridSearch does."""

    def __init__(
        self, index: Index, k1: float = 1.2, b: float = 0.75, method: str = "lucene", num_results: int = 1000
    ) -> None:
        self.index = index
        self.k1 = k1
        self.b = b
        self.method = method
        self.num_results = num_results

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        pt.validate.query_frame(inp, extra_columns=["query"], context=self)
        documents = np.zeros((len(inp), 0), int)
        scores = np.zeros((len(inp), 0))
        if len(inp):
            queries = _bm25s().tokenize(inp["query"].tolist(), stopwords=None, return_ids=False, show_progress=False)
            documents, scores = _engine(self.index, self.k1, self.b, self.method).retrieve(
                queries,
                k=min(self.num_results, len(self.index.docnos)),
                show_progress=False,
                backend_selection="numpy",
            )
        query, rank = np.nonzero(scores > 0)
        found = documents[query, rank]
        return inp.iloc[query].reset_index(drop=True).assign(
            docno=self.index.docnos[found],
            score=scores[query, rank].astype(float),
            rank=rank + pt.model.FIRST_RANK,
            doc_length=self.index.lengths[found],
        )  # fmt: skip

    def fuse_rank_cutoff(self, k: int) -> pt.Transformer:
        return self if self.num_results <= k else pt.inspect.transformer_apply_attributes(self, num_results=k)

    def __repr__(self) -> str:
        # Without k1 and b: a transformer is hashed by its repr, and a grid of parameters is a dict of transformers.
        return f"BM25({self.method!r})"


class PreferShort(pt.Transformer):
    """Divides each score by words^strength: at equal scores, the document that is sooner read comes first."""

    def __init__(self, strength: float = 0.05) -> None:
        self.strength = strength

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        pt.validate.result_frame(inp, extra_columns=["score", "doc_length"], context=self)
        return pt.model.add_ranks(inp.assign(score=inp["score"] / inp["doc_length"] ** self.strength))

    def __repr__(self) -> str:
        return "PreferShort()"


def _bm25s() -> ModuleType:
    try:
        import bm25s
    except ImportError as error:
        raise ImportError("The demo retrieves with bm25s. Install it: pip install 'pyterrier-cwla[demo]'") from error
    return bm25s


@functools.lru_cache(maxsize=8)
def _engine(index: Index, k1: float, b: float, method: str):
    """Cached outside the transformers, so that they share it and pickle without it."""
    engine = _bm25s().BM25(k1=k1, b=b, method=method)
    # A copy of the vocabulary, because indexing adds an empty word to it.
    engine.index((index.tokens, dict(index.vocabulary)), show_progress=False)
    return engine
