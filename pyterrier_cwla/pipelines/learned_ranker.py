"""Learning to rank in PyTerrier pipelines: results and judgments become rows for a ranker; imports PyTerrier."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt

from ..errors import BadJudgments, BadParameter, some


class LearnedRanker(pt.Estimator):
    """Ranks by a :class:`GroupedRanker`, which sees the query, the id and the length of each document.

    In training, ``pt.ltr.apply_learned_model`` shows its learner features and labels only, sorted anew; so no measure
    can be learned, or watched for early stopping, that needs ``doc_length``. Here the columns ``qid``, ``docno``,
    ``features`` and (where there is one) ``doc_length`` of the results go to ``ranker.fit``.

    ``pipeline.fit(train_topics, train_qrels, valid_topics, valid_qrels)`` trains; the validation topics are for early
    stopping and may be left out. Retrieved documents that are not judged have grade 0 in both, as in pt.ltr.

    Raises BadJudgments where no retrieved document is judged, or one is judged twice and not alike.

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
            raise BadParameter(f"{type(ranker).__name__} takes no queries of rows: give GroupedRanker(…) of it.")
        self.ranker = ranker

    def fit(
        self,
        topics_or_res_tr: pd.DataFrame,
        qrels_tr: pd.DataFrame,
        topics_or_res_va: pd.DataFrame | None = None,
        qrels_va: pd.DataFrame | None = None,
    ) -> LearnedRanker:
        rows = self._rows(topics_or_res_tr, qrels_tr, "training")
        if topics_or_res_va is not None:
            if qrels_va is None:
                raise BadParameter("there are validation topics, and no judgments of them: give qrels_va=.")
            validation = self._rows(topics_or_res_va, qrels_va, "validation")
            rows |= {f"eval_{name}": values for name, values in validation.items()}
        self.ranker.fit(rows.pop("X"), rows.pop("y"), **rows)
        return self

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        pt.validate.result_frame(inp, extra_columns=["features"], context=self)
        scores = self.ranker.predict(np.stack(inp["features"])) if len(inp) else np.zeros(0)
        return pt.model.add_ranks(inp.assign(score=scores))

    def _rows(self, results: pd.DataFrame, qrels: pd.DataFrame, what: str) -> dict[str, Any]:
        """Features, grades and what is known of each row, by the names that the ranker gives them."""
        pt.validate.result_frame(results, extra_columns=["features"], context=self)
        if not len(results):
            raise BadParameter(f"there are no {what} results: nothing was retrieved for the topics.")
        known = {name: results[name].to_numpy() for name in ("qid", "docno", "doc_length") if name in results}
        return {"X": np.stack(results["features"]), "y": _grades(results, qrels, what), **known}

    def __repr__(self) -> str:
        return f"LearnedRanker({self.ranker!r})"


def _grades(results: pd.DataFrame, qrels: pd.DataFrame, what: str) -> np.ndarray:
    """The grade of each result, 0 where it is not judged."""
    columns = ["qid", "docno", "label"]
    if lacking := [name for name in columns if name not in qrels]:
        raise BadJudgments(f"the {what} qrels have no column {lacking[0]!r}; there is {some(qrels, 8)}.")
    judged = qrels[columns].drop_duplicates().set_index(["qid", "docno"])["label"]
    twice = judged.index[judged.index.duplicated()]
    if len(twice):
        query, document = twice[0]
        raise BadJudgments(f"topic {query!r}: {document!r} has two different labels in the {what} qrels: keep one.")
    pairs = pd.MultiIndex.from_frame(results[["qid", "docno"]])
    if not pairs.isin(judged.index).any():
        raise BadJudgments(
            f"no {what} result is judged: there are results for the topics {some(results['qid'].unique())}, and"
            f" judgments of {some(qrels['qid'].unique())}."
        )
    return judged.reindex(pairs, fill_value=0).to_numpy()
