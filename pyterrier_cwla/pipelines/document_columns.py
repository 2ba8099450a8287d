"""PyTerrier transformers that add document lengths and duplicates to results.

This module imports PyTerrier. ``import pyterrier_cwla`` does not import this module.
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
from ..data.seconds import Seconds
from ..data.shingles import ShingleSets, check_similarity, first_alike
from ..data.texts import Split, tokeniser_named
from ..errors import BadParameter, BadRun
from .by_parameters import ByParameters


class DocLength(ByParameters):
    """Add the column ``doc_length`` (words), from a table of lengths or counted in the column ``text``.

    Parameters
    ----------
    lengths : str, path, dict, Series, DataFrame or Lengths, optional
        Table of lengths in any form that ``TBG(lengths=…)`` accepts, such as the result of ``lengths_of_texts``.
        Documents without a length get NaN, which measures treat as an error or replace by the mean
        (``missing="mean"``). Without a table, words of the column ``text`` are counted. Rows without this column have
        the lengths of the default table (``register_lengths(words)``).
    tokeniser : str or callable, default="whitespace"
        Tokeniser of texts, as in ``lengths_of_texts``; unused with a table.

    Raises
    ------
    BadParameter
        If the table or the tokeniser is unknown.

    Examples
    --------
    >>> import pandas as pd
    >>> import pyterrier as pt
    >>> ranking = pd.DataFrame({"qid": ["1", "1"], "docno": ["d1", "d2"], "text": ["a fox jumps", "dogs sleep"]})
    >>> pt.cwla.DocLength()(ranking).doc_length.tolist()
    [3.0, 2.0]
    >>> pt.cwla.DocLength({"d1": 100})(ranking).doc_length.tolist()
    [100.0, nan]
    """

    def __init__(self, lengths: Any = None, tokeniser: str | Split = "whitespace") -> None:
        self.lengths = None if lengths is None else Lengths.bind(lengths)
        self.tokeniser = tokeniser
        tokeniser_named(tokeniser)  # an unknown name is an error here

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the rows with the column ``doc_length``.

        Parameters
        ----------
        inp : DataFrame
            Rows with the column ``docno`` and, without a table, ``text``.

        Returns
        -------
        DataFrame
            Same rows; lengths in words as floats.
        """
        table = self.lengths if self.lengths is not None or "text" in inp.columns else Lengths.default
        if table is not None:
            pt.validate.columns(inp, includes=["docno"], context=self)
            return inp.assign(doc_length=table.current.words(_strings(inp, "docno")))
        try:
            pt.validate.columns(inp, includes=["docno", "text"], context=self)
        except pt.validate.InputValidationError as error:
            error.add_note("Give DocLength a table, such as DocLength(words), or set one with register_lengths(words).")
            raise
        _, split = tokeniser_named(self.tokeniser)
        texts, place = _different(_strings(inp, "text"))
        words = np.array([len(split(text)) for text in texts], float)
        return inp.assign(doc_length=words[place])

    def fuse_rank_cutoff(self, k: int) -> pt.Transformer:
        """Return an equivalent pipeline for ``DocLength() % k``, in which the cutoff comes first.

        Parameters
        ----------
        k : int
            Number of results to keep for each query.

        Returns
        -------
        pt.Transformer
            Pipeline of the cutoff and this transformer; ``compile()`` passes the cutoff on to the stage before.
        """
        return pt.RankCutoff(k) >> self


class DocSeconds(ByParameters):
    """Add the column ``doc_seconds``, the known cost of each document, from a table.

    Parameters
    ----------
    seconds : str, path, dict, Series, DataFrame or Seconds
        Table of costs in any form that ``doc_seconds=`` of measures accepts. Documents without a cost get NaN, which
        measures treat as an error or replace by the mean (``missing="mean"``).

    Raises
    ------
    BadParameter
        If the table is unknown.

    Examples
    --------
    >>> import pandas as pd
    >>> import pyterrier as pt
    >>> ranking = pd.DataFrame({"qid": ["1", "1"], "docno": ["d1", "d2"]})
    >>> pt.cwla.DocSeconds({"d1": 30})(ranking).doc_seconds.tolist()
    [30.0, nan]
    """

    def __init__(self, seconds: Any) -> None:
        self.seconds = Seconds.bind(seconds)

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the rows with the column ``doc_seconds``.

        Parameters
        ----------
        inp : DataFrame
            Rows with the column ``docno``.

        Returns
        -------
        DataFrame
            Same rows; costs in seconds as floats.
        """
        pt.validate.columns(inp, includes=["docno"], context=self)
        return inp.assign(doc_seconds=self.seconds.current.of_documents(_strings(inp, "docno")))

    def fuse_rank_cutoff(self, k: int) -> pt.Transformer:
        """Return an equivalent pipeline for ``DocSeconds(table) % k``, in which the cutoff comes first.

        Parameters
        ----------
        k : int
            Number of results to keep for each query.

        Returns
        -------
        pt.Transformer
            Pipeline of the cutoff and this transformer; ``compile()`` passes the cutoff on to the stage before.
        """
        return pt.RankCutoff(k) >> self


class DuplicateOf(ByParameters):
    """Add the column ``duplicate_of``, from a table of duplicates or by comparing the texts of each ranking.

    Without a table, each document is compared with those above it in the same ranking, in the order of the column
    ``rank`` or, without it, of the rows. Measures read the column with ``duplicates="run"``.

    Parameters
    ----------
    duplicates : str, path, dict, Series or DataFrame, optional
        Table of duplicates in any form that ``TBG(duplicates=…)`` accepts, such as the result of ``find_duplicates``.
    similarity : float in [0.1, 1], default=1.0
        Smallest Jaccard similarity of duplicates, as in ``find_duplicates``; unused with a table.
    shingle : int, default=10
        Words per shingle, as in ``find_duplicates``; unused with a table.
    tokeniser : str or callable, default="words"
        Tokeniser of texts, as in ``find_duplicates``; unused with a table.

    Raises
    ------
    BadParameter
        If the table, the similarity or the tokeniser is invalid.

    Examples
    --------
    >>> import pandas as pd
    >>> import pyterrier as pt
    >>> texts = ["a fox jumps", "dogs sleep", "A fox jumps!"]
    >>> ranking = pd.DataFrame({"qid": "1", "docno": ["d1", "d2", "d3"], "text": texts})
    >>> pt.cwla.DuplicateOf()(ranking).duplicate_of.fillna("").tolist()
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
            raise BadParameter(
                "duplicates='run' is the column that DuplicateOf adds. Give a table, or leave it out to compare texts."
            )
        self.similarity, self.shingle, self.tokeniser = similarity, shingle, tokeniser
        tokeniser_named(tokeniser)  # an unknown name is an error here

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the rows with the column ``duplicate_of``.

        Parameters
        ----------
        inp : DataFrame
            Rows with the column ``docno`` and, without a table, ``qid`` and ``text``.

        Returns
        -------
        DataFrame
            Same rows; ``duplicate_of`` is the docno of the original, or None.
        """
        if self.duplicates is not None:
            pt.validate.columns(inp, includes=["docno"], context=self)
            originals = self.duplicates.current.originals(_strings(inp, "docno"))
        else:
            pt.validate.result_frame(inp, extra_columns=["text"], context=self)
            first = self._first(inp)
            docno = _strings(inp, "docno")
            originals = docno.take(pa.array(first, mask=first == np.arange(len(inp))))
        return inp.assign(duplicate_of=pd.Series(originals.to_pylist(), inp.index, dtype=object))

    def fuse_rank_cutoff(self, k: int) -> pt.Transformer | None:
        """Return an equivalent pipeline for ``DuplicateOf() % k``, in which the cutoff comes first.

        Parameters
        ----------
        k : int
            Number of results to keep for each query.

        Returns
        -------
        pt.Transformer or None
            Pipeline of the cutoff and this transformer. None if texts are compared with a similarity below 1: a
            document below the cutoff can then link two documents above it.
        """
        return pt.RankCutoff(k) >> self if self.duplicates is not None or self.similarity == 1 else None

    def _first(self, inp: pd.DataFrame) -> np.ndarray:
        """For each row, the first row of its ranking with the same or nearly the same text."""
        texts, place = _different(_strings(inp, "text"))
        _, split = tokeniser_named(self.tokeniser)
        sets = ShingleSets(split, self.shingle)
        for text in texts:
            sets.add(text)
        shingles = sets.all()
        first = np.arange(len(inp))
        ranks = inp["rank"].to_numpy(float, na_value=np.nan) if "rank" in inp else first  # missing ranks are last
        order = np.argsort(ranks, kind="stable")
        for rows in inp.iloc[order].reset_index(drop=True).groupby("qid", sort=False).indices.values():
            ranking = order[rows]
            first[ranking] = ranking[first_alike([shingles[place[row]] for row in ranking], self.similarity)]
        return first


def _strings(inp: pd.DataFrame, name: str) -> Any:
    return strings(inp[name], name, "run", BadRun)


def _different(texts: Any) -> tuple[list[str], np.ndarray]:
    """Distinct texts, and the index of the text of each row."""
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    encoded = texts.dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy()
