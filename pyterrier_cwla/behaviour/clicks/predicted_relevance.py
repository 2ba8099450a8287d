"""Relevance of documents predicted from clicks, to fill holes in judgments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from ir_measures import Measure

from ...data.alignment import Judgments
from ...data.arrays import Array
from ...data.columns import judgment_columns
from ...errors import BadJudgments, BadLog, BadParameter, many
from ...files.inputs import loaded
from ...measures.of_ir_measures import followed
from ...measures.parsing import measures_of
from ...measures.provider import prepare
from ..logs.estimate import printed
from .click_lists import UNJUDGED, ClickedLists, Sums, em, four_digits

_PYTERRIERS = {"query_id": "qid", "doc_id": "docno", "relevance": "label"}
_HALVINGS, _NEAR = 60, 1e-9


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

    @property
    def gain(self) -> str:
        """R(g) as the gain of a measure, ``"table({1: 0.2, 2: 0.7}, interpolate)"``, with linear interpolation.

        It is for judgments with grades between those of the log. As in `ClickModel.gain`, R(0) is left out, so that a
        document between grade 0 and the next grade has less gain than its predicted relevance; ``measure=`` of
        `judgments` keeps it. Raises `BadLog` if R(g) of no grade above 0 is known.
        """
        known = {grade: four_digits(value) for grade, value in self.by_grade.items() if grade > 0}
        if not known:
            raise BadLog("R(g) of no grade above 0 is known: the log needs clicks on such grades.")
        return f"table({known}, interpolate)"

    def judgments(
        self, qrels: Any, least: int = 1, rounded: bool = False, measure: Measure | str | None = None
    ) -> pd.DataFrame:
        """Return judgments with predicted grades for unjudged documents.

        The grade g of a document is the one at which R(g) is its predicted relevance. Between two grades of the log,
        R(g) is interpolated linearly, so that grades are floats. A document whose relevance is below R(0) or above R(g)
        of the highest grade has grade 0 or the highest grade. R(0) is 0 if the log does not have grade 0. Grades below
        0 are used only with ``rounded=True``. Topics that are not in `qrels` are left out.

        Measures with binary relevance compare grades with ``rel``: a document of grade 0.9 is not relevant with rel=1.
        trec_eval, and thereby most measures of ir_measures in other packages than this one, refuses float grades. Both
        need ``rounded=True``.

        Parameters
        ----------
        qrels : DataFrame, dict of dicts, or path
            Judgments, as for :func:`evaluate`.
        least : int, default=1
            Minimum number of sessions that showed a document; others stay unjudged.
        rounded : bool, default=False
            Whether a document gets the grade of the log whose R(g) is nearest to its relevance.
        measure : Measure or str, optional
            Measure whose gain is used instead of R(g): the gain of a document in this measure is its predicted
            relevance, up to the gain of the highest grade. The gain must be a probability that rises continuously
            with the grade, as in ERR. Choose one whose gains of the judged documents are near the R(g) of the log.

        Returns
        -------
        DataFrame
            Judgments with the column names of `qrels`. ``.attrs["added"]`` contains the number of added judgments by
            the nearest grade of the log.

        Raises
        ------
        BadLog
            If the judgments have several intents, which clicks cannot distinguish, if the log has no grades, or if R(g)
            does not rise with the grade (without `rounded` and `measure`).
        BadParameter
            If `rounded` and `measure` are given together, or if the measure has no suitable gain.

        References
        ----------
        Chapelle et al. (2009), section 7.3.
        """
        if rounded and measure is not None:
            raise BadParameter(
                "rounded=True uses R(g) of the log, and measure= the gain of a measure: give one of both."
            )
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
        relevance = new["relevance"].to_numpy()
        nearest = self._nearest(relevance)
        if measure is not None:
            grade = _where_gain_is(relevance, measures_of([measure])[0], prepare(qrels))
        else:
            grade = nearest if rounded else self._interpolated(relevance)
        added = pd.DataFrame({"query_id": new["topic"], "doc_id": new["docno"], "relevance": grade})
        both = pd.concat([judged.astype({"query_id": str, "doc_id": str}), added], ignore_index=True)
        both.attrs["added"] = pd.Series(nearest).value_counts().sort_index().to_dict()
        return both.rename(columns=_PYTERRIERS) if "qid" in getattr(qrels, "columns", ()) else both

    def _nearest(self, relevance: Array) -> Array:
        grades, values = np.array(list(self.by_grade)), np.array(list(self.by_grade.values()))
        found: Array = grades[np.abs(relevance[:, None] - values).argmin(axis=1)]
        return found

    def _interpolated(self, relevance: Array) -> Array:
        levels = {0: 0.0, **{grade: value for grade, value in self.by_grade.items() if grade >= 0}}
        grades = sorted(levels)
        for lower, higher in pairwise(grades):
            if not levels[lower] < levels[higher]:
                raise BadLog(
                    f"R({higher:g}) = {levels[higher]:.3g} is not above R({lower:g}) = {levels[lower]:.3g}, so that no"
                    " grade can be interpolated: give rounded=True, or the gain of a measure (measure=)."
                )
        return np.interp(relevance, [levels[grade] for grade in grades], grades)


def _where_gain_is(relevance: Array, measure: Measure, judgments: Judgments) -> Array:
    """Return the grades at which the gain of a measure is the relevance."""
    metric = followed(measure, judgments)
    try:
        best, top = metric.best
        if best > 1:
            raise BadParameter(
                f"{metric.gain.keyword} is {best:g} for grade {top:g}, and predicted relevance is a probability."
            )
        found = _bisected(metric.gains, relevance, top)
        off = np.abs(metric.gains(found) - np.minimum(relevance, best)) > _NEAR
        if off.any():
            raise BadParameter(
                f"{metric.gain.keyword} has no grade with gain {relevance[off][0]:.3g}, the predicted relevance of a"
                " document."
            )
    except (BadParameter, BadJudgments) as error:
        raise type(error)(
            f"measure={str(measure)!r}: {error} Without measure=, grades are interpolated between the R(g) of the log."
        ) from None
    return np.where(relevance > 0, found, 0.0)


def _bisected(rising: Callable[[Array], Array], values: Array, highest: float) -> Array:
    """Return the arguments at which a function that rises from 0 to `highest` has the values, or `highest`."""
    low, high = np.zeros(len(values)), np.full(len(values), float(highest))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        below = rising(middle) < values
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return high


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
