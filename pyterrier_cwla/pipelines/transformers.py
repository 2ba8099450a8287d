"""PyTerrier transformers: document lengths, costs and duplicates of results, and learned rankers."""

from __future__ import annotations

import inspect
import os
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyterrier as pt

from ..data.columns import strings
from ..data.document_tables import DocumentTable, Split, name_of, tokeniser_named
from ..data.duplicates import RUN, Duplicates, check_similarity, first_alike, shingle_sets
from ..data.lengths import Costs, Lengths, NumberTable
from ..data.resources import is_by_content
from ..errors import BadJudgments, BadParameter, BadRun, MissingLength, NotPassed, near, some
from ..files.arrow_arrays import one_chunk


class ByParameters(pt.Transformer):
    """Base of transformers whose behaviour depends only on the parameters of ``__init__``.

    Each parameter is an attribute of the same name. Two transformers of one class are equal if their parameters are
    equal; tables of documents are compared by content. PyTerrier uses the text of a transformer as the default name of
    a system, and equality for stages that pipelines share.
    """

    def set_parameter(self, name: str, value: Any) -> None:
        """Set a parameter to a new value, with the same checks as the constructor.

        Parameters
        ----------
        name : str
            Parameter of the constructor.
        value : object
            New value, such as one of ``pt.GridSearch``.

        Raises
        ------
        BadParameter
            If there is no such parameter, or if its value is invalid.
        """
        given = _parameters(self)
        if name not in given:
            raise BadParameter(f"{self} has no parameter {name!r}. {near(name, given)}")
        vars(self).update(vars(type(self)(**(given | {name: value}))))

    def schematic(self, *, input_columns: list[str] | None = None) -> dict[str, Any]:
        """Return the label and the settings that ``pt.schematic.draw`` shows.

        Parameters
        ----------
        input_columns : list of str, optional
            Columns of the results that the transformer receives; not used.

        Returns
        -------
        dict
            Label, settings by name, and no page of PyTerrier's online documentation.
        """
        settings = {name: _shown(value) for name, value in _parameters(self).items()}
        return {"label": type(self).__name__, "settings": settings, "help_url": None}

    def _docno(self, inp: pd.DataFrame) -> Any:
        """Return the document ids of rows, as Arrow strings."""
        pt.validate.columns(inp, includes=["docno"], context=self)
        return strings(inp["docno"], "docno", "run", BadRun)

    def _numbers(self, inp: pd.DataFrame, table: NumberTable | None, tokeniser: Any, way: str) -> np.ndarray:
        """Return the number of each row from a table, or the words of its text; `way` is the advice without texts."""
        if table is not None:
            return table.current.of_documents(self._docno(inp))
        try:
            pt.validate.columns(inp, includes=["docno", "text"], context=self)
        except pt.validate.InputValidationError as error:
            error.add_note(way)
            raise
        _, split = tokeniser_named(tokeniser)
        texts, place = _different_texts(inp)
        return np.array([len(split(text)) for text in texts], float)[place]

    def __repr__(self) -> str:
        given = []
        for parameter in pt.inspect.transformer_attributes(self):
            if parameter.init_default_value is inspect.Parameter.empty:
                given.append(_shown(parameter.value))
            elif parameter.value != parameter.init_default_value:
                given.append(f"{parameter.name}={_shown(parameter.value)}")
        return f"{type(self).__name__}({', '.join(given)})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(map(_equal, _parameters(self).values(), _parameters(other).values()))

    def __hash__(self) -> int:
        return hash(type(self))  # stays when a search sets parameters: transformers are keys of grids of parameters


def _parameters(transformer: pt.Transformer) -> dict[str, Any]:
    return {parameter.name: parameter.value for parameter in pt.inspect.transformer_attributes(transformer)}


def _shown(value: Any) -> str:
    """Return the text of a value in one line, without folders of files and without hashes."""
    if isinstance(value, DocumentTable) and value.function is not None:
        return name_of(value.function)
    if isinstance(value, DocumentTable):
        name = value.name if value.path is None else os.path.basename(value.path)
        unnamed = is_by_content(value.name) or name == f"{value._parameter}.parquet"  # the file of an artifact
        return f"<{len(value):,} {value._parameter}>" if unnamed else repr(name)
    if callable(value) and hasattr(value, "__qualname__"):
        return name_of(value)
    return " ".join(repr(value).split())


def _equal(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if not isinstance(one, DocumentTable) or type(one) is not type(other):
        return bool(one == other)
    if one.function is not None or other.function is not None:
        return one.name == other.name
    if one.follows_a_file or other.follows_a_file:
        return one.follows_a_file and other.follows_a_file and one.path == other.path
    return len(one) == len(other) and one.content == other.content


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
        way = "Give DocLength a table, such as DocLength(words), or set one with register_lengths(words)."
        return inp.assign(doc_length=self._numbers(inp, table, self.tokeniser, way))

    def fuse_rank_cutoff(self, k: int) -> pt.Transformer:
        """Return an equivalent pipeline for this transformer and ``% k``, in which the cutoff comes first.

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


class DocCost(ByParameters):
    """Add the column ``doc_cost``, the known cost of each document, or the tokens counted in the column ``text``.

    Parameters
    ----------
    costs : str, path, dict, Series, DataFrame, Lengths, Costs, or callable, optional
        Costs in any form that ``costs=`` of measures accepts. Documents without a cost get NaN, which measures treat as
        an error or replace by the mean (``missing="mean"``).
    tokeniser : str or callable, optional
        Tokeniser of texts, as in ``lengths_of_texts``, instead of `costs`.

    Raises
    ------
    BadParameter
        If the table or the tokeniser is unknown, or if both or neither is given.

    Examples
    --------
    >>> import pandas as pd
    >>> import pyterrier as pt
    >>> ranking = pd.DataFrame({"qid": ["1", "1"], "docno": ["d1", "d2"], "text": ["a fox jumps", "dogs sleep"]})
    >>> pt.cwla.DocCost({"d1": 30})(ranking).doc_cost.tolist()
    [30.0, nan]
    >>> pt.cwla.DocCost(tokeniser=list)(ranking).doc_cost.tolist()
    [11.0, 10.0]
    """

    def __init__(self, costs: Any = None, tokeniser: str | Split | None = None) -> None:
        if (costs is None) == (tokeniser is None):
            raise BadParameter("DocCost takes costs, such as a table, or tokeniser=, which counts tokens of texts.")
        self.costs = None if costs is None else Costs.bind(costs)
        self.tokeniser = tokeniser
        if tokeniser is not None:
            tokeniser_named(tokeniser)  # an unknown name is an error here

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the rows with the column ``doc_cost``.

        Parameters
        ----------
        inp : DataFrame
            Rows with the column ``docno`` and, with a tokeniser, ``text``.

        Returns
        -------
        DataFrame
            Same rows; costs as floats.
        """
        way = "Give DocCost a table, such as DocCost(costs)."
        return inp.assign(doc_cost=self._numbers(inp, self.costs, self.tokeniser, way))

    fuse_rank_cutoff = DocLength.fuse_rank_cutoff


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
            originals = self.duplicates.current.originals(self._docno(inp))
        else:
            pt.validate.result_frame(inp, extra_columns=["text"], context=self)
            first = self._first(inp)
            originals = self._docno(inp).take(pa.array(first, mask=first == np.arange(len(inp))))
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
        texts, place = _different_texts(inp)
        _, split = tokeniser_named(self.tokeniser)
        shingles = shingle_sets(texts, split, self.shingle)
        first = np.arange(len(inp))
        ranks = inp["rank"].to_numpy(float, na_value=np.nan) if "rank" in inp else first  # missing ranks are last
        order = np.argsort(ranks, kind="stable")
        for rows in inp.iloc[order].reset_index(drop=True).groupby("qid", sort=False).indices.values():
            ranking = order[rows]
            first[ranking] = ranking[first_alike([shingles[place[row]] for row in ranking], self.similarity)]
        return first


def _different_texts(inp: pd.DataFrame) -> tuple[list[str], np.ndarray]:
    """Distinct texts, and the index of the text of each row."""
    encoded = one_chunk(strings(inp["text"], "text", "run", BadRun)).dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy()


class LearnedRanker(ByParameters, pt.Estimator):
    """Rank documents with a :class:`GroupedRanker`, which receives query ids, document ids and document lengths.

    ``pt.ltr.apply_learned_model`` passes sorted features and labels only to its learner. Measures that need
    ``doc_length`` can therefore be neither objectives nor criteria for early stopping. This class passes the columns
    ``qid``, ``docno``, ``features`` and (if present) ``doc_length`` of the results to ``ranker.fit``.

    Parameters
    ----------
    ranker : GroupedRanker
        Ranker whose ``fit`` has the parameter ``qid``.

    Raises
    ------
    BadParameter
        If ``ranker.fit`` has no parameter ``qid``.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from lightgbm import LGBMRanker
    >>> from pyterrier_cwla.learning.rankers import GroupedRanker
    >>> features, words = np.random.default_rng(0).random((200, 2)), np.tile([50, 3000], 100)
    >>> results = pd.DataFrame({"qid": np.repeat(list("abcdefghij"), 20), "docno": np.arange(200).astype(str)})
    >>> results = results.assign(features=list(np.column_stack([features, words])), doc_length=words)
    >>> qrels = results[["qid", "docno"]].assign(label=(features[:, 0] > 0.6).astype(int))
    >>> ranker = LearnedRanker(GroupedRanker(LGBMRanker(n_estimators=20, n_jobs=1, verbosity=-1), objective="TBG"))
    >>> ranker.fit(results, qrels)(results).merge(qrels).query("rank == 0").label.tolist()
    [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    """

    def __init__(self, ranker: Any) -> None:
        if "qid" not in inspect.signature(ranker.fit).parameters:
            raise BadParameter(
                f"{type(ranker).__name__}.fit has no parameter qid. Wrap the ranker: give GroupedRanker(…) of it."
            )
        self.ranker = ranker

    def fit(
        self,
        topics_or_res_tr: pd.DataFrame,
        qrels_tr: pd.DataFrame,
        topics_or_res_va: pd.DataFrame | None = None,
        qrels_va: pd.DataFrame | None = None,
    ) -> LearnedRanker:
        """Train the ranker; usually called by ``pipeline.fit``.

        Parameters
        ----------
        topics_or_res_tr : DataFrame
            Results for the training topics, with the columns ``qid``, ``docno``, ``features`` and optionally
            ``doc_length`` (words).
        qrels_tr : DataFrame
            Judgments with the columns ``qid``, ``docno`` and ``label``. Unjudged results have grade 0, as in
            ``pt.ltr``.
        topics_or_res_va, qrels_va : DataFrame, optional
            Results and judgments for early stopping.

        Returns
        -------
        LearnedRanker
            This transformer.

        Raises
        ------
        BadParameter
            If there are no results, or no judgments of validation results.
        BadJudgments
            If no result is judged, or a document has two different labels.
        MissingLength
            If a measure of the ranker needs lengths and the results have no column ``doc_length``.
        """
        rows = self._rows(topics_or_res_tr, qrels_tr, "training")
        if topics_or_res_va is not None:
            if qrels_va is None:
                raise BadParameter("there are validation topics without judgments: give qrels_va=.")
            validation = self._rows(topics_or_res_va, qrels_va, "validation")
            rows |= {f"eval_{name}": values for name, values in validation.items()}
        try:
            self.ranker.fit(rows.pop("X"), rows.pop("y"), **rows)
        except NotPassed as error:  # the document ids are always passed
            raise MissingLength(
                "a measure of the ranker needs the length of every document, and the training results have no column"
                " doc_length: put pt.cwla.DocLength(…) before the features, or give the measure a table with lengths=."
            ) from error
        return self

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Re-rank results by the predictions of the ranker.

        Parameters
        ----------
        inp : DataFrame
            Results with the columns ``qid``, ``docno`` and ``features`` (an array of numbers per row).

        Returns
        -------
        DataFrame
            The same rows with new values in the columns ``score`` and ``rank``.
        """
        pt.validate.result_frame(inp, extra_columns=["features"], context=self)
        scores = self.ranker.predict(np.stack(inp["features"])) if len(inp) else np.zeros(0)
        return pt.model.add_ranks(inp.assign(score=scores))

    def _rows(self, results: pd.DataFrame, qrels: pd.DataFrame, what: str) -> dict[str, Any]:
        """Arguments of ``ranker.fit`` by name: features, grades, and ids and lengths of the rows."""
        pt.validate.result_frame(results, extra_columns=["features"], context=self)
        if not len(results):
            raise BadParameter(f"there are no {what} results for the topics.")
        known = {name: results[name].to_numpy() for name in ("qid", "docno", "doc_length") if name in results}
        return {"X": np.stack(results["features"]), "y": _grades(results, qrels, what), **known}


def _grades(results: pd.DataFrame, qrels: pd.DataFrame, what: str) -> np.ndarray:
    """Grade of each result; 0 for unjudged ones."""
    columns = ["qid", "docno", "label"]
    if lacking := [name for name in columns if name not in qrels]:
        raise BadJudgments(f"the {what} qrels have no column {lacking[0]!r}; there is {some(qrels, 8)}.")
    judged = qrels[columns].drop_duplicates().set_index(["qid", "docno"])["label"]
    twice = judged.index[judged.index.duplicated()]
    if len(twice):
        query, document = twice[0]
        raise BadJudgments(f"topic {query!r}: {document!r} has two different labels in the {what} qrels. Remove one.")
    pairs = pd.MultiIndex.from_frame(results[["qid", "docno"]])
    if not pairs.isin(judged.index).any():
        raise BadJudgments(
            f"no {what} result is judged: the results are for the topics {some(results['qid'].unique())}, the judgments"
            f" for {some(qrels['qid'].unique())}."
        )
    return judged.reindex(pairs, fill_value=0).to_numpy()
