"""Learning to rank in PyTerrier pipelines: training and prediction of rankers with query ids and document lengths."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt

from ..errors import BadJudgments, BadParameter, MissingLength, NotPassed, some
from .by_parameters import ByParameters


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
