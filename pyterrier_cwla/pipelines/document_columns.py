"""PyTerrier transformers that add what measures ask of a run: the lengths of its documents, and which are duplicates.

This module imports PyTerrier, and ``import pyterrier_cwla`` does not import this module.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyterrier as pt

from ..data.columns import strings
from ..data.duplicates import RUN, Duplicates
from ..data.lengths import Lengths
from ..data.shingles import ShingleSets, check_similarity, first_alike
from ..data.texts import Split, tokeniser_named
from ..errors import BadParameter, BadRun


class DocLength(pt.Transformer):
    """Adds ``doc_length``: the words of each document, from a table, or else counted in its ``text``.

    ``lengths`` is what ``TBG(lengths=…)`` takes: a registered name, a path, a dict, a Series, a DataFrame, or what
    ``lengths_of_texts`` or ``lengths_of_index`` made. A document that it does not have gets NaN, of which measures
    complain, or make the mean (``missing="mean"``). Without ``lengths``, ``tokeniser`` says what a word of the text is,
    as in ``lengths_of_texts``.

    >>> import pandas as pd
    >>> from pyterrier_cwla.pipelines import DocLength
    >>> ranking = pd.DataFrame({"qid": ["1", "1"], "docno": ["d1", "d2"], "text": ["a fox jumps", "dogs sleep"]})
    >>> DocLength()(ranking).doc_length.tolist()
    [3.0, 2.0]
    >>> DocLength({"d1": 100})(ranking).doc_length.tolist()
    [100.0, nan]
    """

    def __init__(self, lengths: Any = None, tokeniser: str | Split = "whitespace") -> None:
        self.lengths = None if lengths is None else Lengths.bind(lengths)
        self.tokeniser = tokeniser
        _, self._split = tokeniser_named(tokeniser)

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        if self.lengths is not None:
            pt.validate.columns(inp, includes=["docno"], context=self)
            return inp.assign(doc_length=self.lengths.current.words(_strings(inp, "docno")))
        pt.validate.columns(inp, includes=["docno", "text"], context=self)
        texts, place = _different(_strings(inp, "text"))
        words = np.array([len(self._split(text)) for text in texts], float)
        return inp.assign(doc_length=words[place])


class DuplicateOf(pt.Transformer):
    """Adds ``duplicate_of``: the document that each repeats, from a table, or else found in the texts of each ranking.

    ``duplicates`` is what ``TBG(duplicates=…)`` takes: a registered name, a path, a dict, a Series, a DataFrame, or
    what ``find_duplicates`` made. Without it, documents are compared with those above them in the same ranking, by
    ``rank`` where there is one and else in the order of the rows; ``similarity``, ``shingle`` and ``tokeniser`` are as
    in ``find_duplicates``. Measures read the column with ``duplicates="run"``.

    >>> import pandas as pd
    >>> from pyterrier_cwla.pipelines import DuplicateOf
    >>> texts = ["a fox jumps", "dogs sleep", "A fox jumps!"]
    >>> ranking = pd.DataFrame({"qid": "1", "docno": ["d1", "d2", "d3"], "text": texts})
    >>> DuplicateOf()(ranking).duplicate_of.fillna("").tolist()
    ['', '', 'd1']
    """

    def __init__(
        self,
        duplicates: Any = None,
        similarity: float = 1.0,
        shingle: int = 10,
        tokeniser: str | Split = "words",
    ) -> None:
        check_similarity(similarity)
        self.duplicates = None if duplicates is None else Duplicates.bind(duplicates)
        if self.duplicates is not None and self.duplicates.name == RUN:
            raise BadParameter("duplicates='run' is the column that DuplicateOf adds: it takes a table, or texts.")
        self.similarity, self.shingle, self.tokeniser = similarity, shingle, tokeniser
        _, self._split = tokeniser_named(tokeniser)

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        if self.duplicates is not None:
            pt.validate.columns(inp, includes=["docno"], context=self)
            originals = self.duplicates.current.originals(_strings(inp, "docno"))
        else:
            pt.validate.result_frame(inp, extra_columns=["text"], context=self)
            first = self._first(inp)
            docno = _strings(inp, "docno")
            originals = docno.take(pa.array(first, mask=first == np.arange(len(inp))))
        return inp.assign(duplicate_of=np.array(originals.to_pylist(), object))

    def _first(self, inp: pd.DataFrame) -> np.ndarray:
        """For each row the row of the first of its ranking that has the same text, or nearly the same."""
        texts, place = _different(_strings(inp, "text"))
        sets = ShingleSets(self._split, self.shingle)
        for text in texts:
            sets.add(text)
        shingles = sets.all()
        first = np.arange(len(inp))
        order = np.argsort(inp["rank"].to_numpy(), kind="stable") if "rank" in inp else first.copy()
        for rows in inp.iloc[order].reset_index(drop=True).groupby("qid", sort=False).indices.values():
            ranking = order[rows]
            first[ranking] = ranking[first_alike([shingles[place[row]] for row in ranking], self.similarity)]
        return first


def _strings(inp: pd.DataFrame, name: str) -> Any:
    return strings(inp[name], name, "run", BadRun)


def _different(texts: Any) -> tuple[list[str], np.ndarray]:
    """Each text once, however many rankings it is in, and which of them stands in each row."""
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    encoded = texts.dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy()
