"""Relevance of documents predicted from clicks, to fill holes in judgments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ...data.columns import judgment_columns
from ...errors import BadLog, many
from ...files.inputs import loaded
from ..logs.estimate import Array, printed
from .click_lists import UNJUDGED, ClickedLists, Sums, em

_PYTERRIERS = {"query_id": "qid", "doc_id": "docno", "relevance": "label"}


@dataclass(frozen=True, eq=False)
class PredictedRelevance:
    """Relevance of documents, predicted from clicks.

    Attributes
    ----------
    table : DataFrame
        One row per topic and document, with the columns topic, docno, grade, a (attraction), s (satisfaction),
        relevance (a·s), error (its standard error) and sessions (number of sessions that showed the document).
    by_grade : dict of float to float
        R(g) of the grades of the log.
    converged : bool
        Whether EM converged.
    """

    table: pd.DataFrame
    by_grade: dict[float, float]
    """R(g) of the grades that the log has."""
    converged: bool

    def __repr__(self) -> str:
        return printed(f"Relevance of {many(len(self.table), 'document')}", self.table.head(20))

    def judgments(self, qrels: Any, least: int = 1) -> pd.DataFrame:
        """Return judgments with predicted grades for unjudged documents.

        An unjudged document gets the grade whose R(g) is nearest to its predicted relevance. Topics that are not in
        `qrels` are left out.

        Parameters
        ----------
        qrels : DataFrame, dict of dicts, or path
            Judgments, as for :func:`evaluate`.
        least : int, default=1
            Minimum number of sessions that showed a document; others stay unjudged.

        Returns
        -------
        DataFrame
            Judgments with the column names of `qrels`. ``.attrs["added"]`` contains the number of added judgments by
            grade.

        Raises
        ------
        BadLog
            If the judgments have several intents, which clicks cannot distinguish, or the log has no grades.
        """
        qrels = loaded(qrels, "qrels")
        given = judgment_columns(qrels)
        judged = pd.DataFrame({"query_id": given.query_id, "doc_id": given.doc_id, "relevance": given.value})
        if given.iteration is not None and len(given.iteration.unique()) > 1:
            raise BadLog("clicks do not distinguish intents: give the judgments of one intent at a time.")
        if not self.by_grade:
            raise BadLog(
                "R(g) is unknown for all grades, so relevance cannot be converted to grades: the log needs grades."
            )
        shown = self.table[(self.table["sessions"] >= least) & self.table["topic"].isin(judged["query_id"].astype(str))]
        known = pd.MultiIndex.from_frame(judged[["query_id", "doc_id"]].astype(str))
        new = shown[~pd.MultiIndex.from_frame(shown[["topic", "docno"]].astype(str)).isin(known)]
        new = new[new["relevance"].notna()]
        grades, relevance = np.array(list(self.by_grade)), np.array(list(self.by_grade.values()))
        nearest = grades[np.abs(new["relevance"].to_numpy()[:, None] - relevance).argmin(axis=1)]
        added = pd.DataFrame({"query_id": new["topic"], "doc_id": new["docno"], "relevance": nearest})
        both = pd.concat([judged.astype({"query_id": str, "doc_id": str}), added], ignore_index=True)
        both.attrs["added"] = added["relevance"].value_counts().sort_index().to_dict()
        return both.rename(columns=_PYTERRIERS) if "qid" in getattr(qrels, "columns", ()) else both


def predicted(model: Any, prior: float) -> PredictedRelevance:
    """Compute the predictions of `ClickModel.predicted`."""
    by_grade, rows, theta, groups = model._lists, model._log.rows, model._theta, len(model.attraction)
    document = rows.groupby(["topic", "docno"]).ngroup().to_numpy()
    documents = int(document.max()) + 1
    lists = replace(by_grade, code=np.append(document, -1)[by_grade.row], names=tuple(range(documents)))
    grade = np.zeros(documents, np.int64)
    grade[lists.code[lists.code >= 0]] = by_grade.code[lists.code >= 0]

    sums = by_grade.together.sums(theta)
    centres = []
    for at, numbers in ((0, model.attraction), (groups, model.satisfaction)):
        identified = np.isfinite([e.value for e in numbers.values()])
        here = slice(at, at + groups)
        pooled = sums.on[here][identified].sum() / max(sums.of[here][identified].sum(), 1)
        given = numbers is model.satisfaction and sums.of[here].sum() == 0  # every click satisfies
        centre = np.where(identified, theta[here], pooled)
        centres.append((centre if given else np.clip(centre, 0.01, 0.99))[grade])
    middle = np.append(np.concatenate(centres), theta[-1])

    def maximised(theta: Array, sums: Sums) -> Array:
        return np.append((sums.on[:-1, 0] + prior * middle[:-1]) / (sums.of[:-1, 0] + prior), middle[-1])

    found, _, converged = em(lists, middle, maximised)
    a, s = found[:documents], found[documents:-1]
    table = rows.loc[pd.Series(document).drop_duplicates().index, ["topic", "docno", "grade"]]
    table = table.sort_values(["topic", "docno"], ignore_index=True)
    sessions = np.bincount(lists.code[lists.cells[0]], minlength=documents)
    table = table.assign(a=a, s=s, relevance=a * s, error=_errors(lists, found, prior, middle), sessions=sessions)
    values = {g: e.value for g, e in model.relevance.items() if g != UNJUDGED and np.isfinite(e.value)}
    return PredictedRelevance(table, values, converged)


def _errors(lists: ClickedLists, theta: Array, prior: float, middle: Array) -> Array:
    """Compute standard errors of a·s: expected complete-data information minus missing information (Louis, 1982).

    A result that was examined with probability e and not clicked contributes e²/(1 − a)² of e/(1 − a)². A click that
    satisfied with probability σ contributes (σ − s)²/(s(1 − s))².
    """
    lists, documents = lists.together, len(lists.names)
    found, clicked = lists.expected(theta), lists.clicked
    a, s = theta[:documents], theta[documents:-1]
    passed = lists.by(lists.code, ~clicked * found.examined**2)[:, 0]
    clicks, earlier = (lists.by(lists.code, which)[:, 0] for which in (clicked, lists.decided & ~lists.of_last))
    apart = (found.satisfied - np.append(s, 0.0)[lists.last_code]) ** 2
    at_last = lists.by(lists.code, lists.of_last * apart)[:, 0]
    m_a, m_s = middle[:documents], middle[documents:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        of_a = (clicks + prior * m_a) / a**2 + (passed + prior * (1 - m_a)) / (1 - a) ** 2
        of_s = at_last / (s * (1 - s)) ** 2 + prior * m_s / s**2 + (earlier + prior * (1 - m_s)) / (1 - s) ** 2
        variance = np.where(a < 1, s**2 / of_a, 0.0) + np.where((s > 0) & (s < 1), a**2 / of_s, 0.0)
    return np.sqrt(variance)
