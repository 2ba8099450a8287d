"""Protocol of measures: the data that a measure needs, and the function from aligned rankings to values."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, Protocol

import numpy as np

from ..data.alignment import Aligned
from ..data.columns import Array
from ..data.document_tables import DocumentTable
from ..data.rankings import Judged, Rankings
from ..model import scoring
from ..model.metric import Metric

Values = Callable[[Aligned], Array]
"""A function from the aligned rankings of one or several runs to one value per query, run after run."""
Origin = Literal["none", "run", "table"]
Better = Literal["higher", "lower"]
"""Scores of a measure that are better."""
OriginOfLengths = Literal["none", "run", "table", "default"]


@dataclass(frozen=True)
class Needs:
    """Data that a measure reads besides the ranks and grades of relevant documents.

    Attributes
    ----------
    all_judged : bool
        The documents judged non-relevant.
    pooled : bool
        The pooled documents without a judgment (grades below 0).
    lengths : {"none", "run", "table", "default"}
        The source of document lengths; with "default" it is the run if it has a column ``doc_length``, else the
        default table.
    duplicates : {"none", "run", "table"}
        The source of clusters of duplicates.
    seconds : {"none", "run", "table"}
        The source of known costs of documents.
    judged_lengths : bool
        The lengths of all judged documents in the run, for an ideal ranking.
    mean_length : bool
        The mean length over a whole run, if the run has the lengths. The value of a query then depends on other
        queries.
    mean_seconds : bool
        The mean known cost over a whole run, if the run has the costs.
    tables : tuple of DocumentTable
        The tables of lengths, of known costs and of duplicates, including a default table that may be read.
    intents : bool
        The intent of each judgment.
    ties : bool
        Equal scores.
    scores : bool
        Scores as float64, and the order of the judgments.
    user_model : bool
        Whether the measure follows a user model from rank to rank.
    """

    all_judged: bool = False
    pooled: bool = False
    lengths: OriginOfLengths = "none"
    duplicates: Origin = "none"
    seconds: Origin = "none"
    judged_lengths: bool = False
    mean_length: bool = False
    mean_seconds: bool = False
    tables: tuple[DocumentTable, ...] = ()
    intents: bool = False
    ties: bool = False
    scores: bool = False
    user_model: bool = False

    @classmethod
    def of_metric(cls, metric: Metric) -> Needs:
        """Return the needs of a metric with a user model."""
        run_lengths = metric.needs_words and metric.lengths is None
        lengths: OriginOfLengths = "none"
        if metric.needs_words:
            lengths = "table" if metric.lengths is not None else "run" if metric.default_lengths is None else "default"
        duplicates: Origin = "none"
        if metric.duplicates is not None:
            duplicates = "run" if metric.duplicates.name == "run" else "table"
        seconds: Origin = "none"
        if metric.needs_seconds:
            seconds = "run" if metric.doc_seconds is None else "table"
        tables = (metric.lengths, metric.default_lengths, metric.duplicates, metric.doc_seconds)
        return cls(
            all_judged=metric.judged_only,
            lengths=lengths,
            duplicates=duplicates,
            seconds=seconds,
            judged_lengths=run_lengths and metric.norm == "ideal",
            mean_length=run_lengths and metric.missing == "mean",
            mean_seconds=seconds == "run" and metric.missing == "mean",
            tables=tuple(table for table in tables if table is not None),
            user_model=True,
        )


class Computation(Protocol):
    """Computation of one measure."""

    @property
    def needs(self) -> Needs:
        """Data that the measure reads."""

    def prepare(self, judgments: Judged) -> Values:
        """Return the function that maps rankings, aligned with these judgments, to values."""


@dataclass(frozen=True)
class Prepared:
    """Computation of a measure by a function.

    Attributes
    ----------
    needs : Needs
        The data that the measure reads.
    prepare : callable
        Function from judgments to the function that maps aligned rankings to values.
    """

    needs: Needs
    prepare: Callable[[Judged], Values]


@dataclass(frozen=True)
class OfUserModel:
    """Computation of a measure with a user model.

    Attributes
    ----------
    metric : Metric
        The metric, as its files were when the measure was made.
    current : callable
        A function from the highest grade of the judgments to the metric with the present content of its files.
    way_out : callable, optional
        A function from the highest grade of the judgments to what a user can write instead if it is above the highest
        grade of the measure. By default, it is a larger ``max_rel``.
    """

    metric: Metric
    current: Callable[[float | None], Metric]
    way_out: Callable[[float], str] | None = None

    @property
    def needs(self) -> Needs:
        """Data that the metric reads."""
        return Needs.of_metric(self.metric)

    def metric_for(self, judgments: Judged) -> Metric:
        """Return the metric with the present content of its files.

        Raises
        ------
        BadJudgments
            If a judgment has a grade above ``max_rel``.
        """
        metric = self.current(judgments.pool.highest)
        if metric.max_rel is not None:
            judgments.check_grades(metric.max_rel, "" if self.way_out is None else self.way_out(judgments.pool.highest))
        return metric

    def prepare(self, judgments: Judged) -> Values:
        """Return the function that maps rankings, aligned with these judgments, to scores."""
        metric = self.metric_for(judgments)
        return of_answered(partial(scoring.score, metric), metric.judged_only)


@dataclass(frozen=True)
class OfRankings:
    """Computation of a measure that is a function of rankings alone.

    Attributes
    ----------
    score : callable
        A function from rankings to one value per ranking.
    needs : Needs
        The data that the function reads.
    of_unanswered : bool, default=False
        Whether the function scores queries without results as well; otherwise they have the value 0.
    """

    score: Callable[[Rankings], Array]
    needs: Needs
    of_unanswered: bool = False

    def prepare(self, judgments: Judged) -> Values:
        """Return the function that maps aligned rankings to values."""
        if self.of_unanswered:
            return lambda aligned: self.score(aligned.rankings(self.needs.all_judged))
        return of_answered(self.score, self.needs.all_judged)


def with_grades(computation: OfUserModel | OfRankings, grades: Callable[[Array], Array], key: Hashable) -> OfRankings:
    """Return the computation of a measure over other grades of the same judgments.

    Parameters
    ----------
    computation : OfUserModel or OfRankings
        The computation over the new grades.
    grades : callable
        Function from the grades of judged documents to the new grades. Those below 0 stand for unjudged documents.
    key : hashable
        Key under which the new grades are cached.
    """
    needs = replace(computation.needs, all_judged=True, user_model=False)
    if isinstance(computation, OfRankings):
        score = computation.score
        return OfRankings(lambda rankings: score(rankings.regraded(grades, key)), needs, computation.of_unanswered)
    metric = computation.metric

    def of_metric(rankings: Rankings) -> Array:
        regraded = rankings.regraded(grades, key)
        return scoring.score(metric, regraded if metric.judged_only else regraded.only(regraded.grade > 0))

    return OfRankings(of_metric, needs)


def from_0_up(grade: Array) -> Array:
    """Return grades with which ``rel=1`` means what ``rel=0`` does with the given ones: relevant from grade 0 up."""
    return np.where(grade >= 0, grade + 1, grade)


def clipped_from_0_up(grade: Array) -> Array:
    """Return grades from 0 up, with negative grades as grade 0, as in cwl_eval."""
    return np.maximum(grade, 0) + 1


def of_answered(score: Callable[[Rankings], Array], all_judged: bool) -> Values:
    """Return a function that scores the queries that the run answers and gives 0 to the others."""

    def values(aligned: Aligned) -> Array:
        rankings = aligned.rankings(all_judged)
        answered = rankings.answered
        if answered is rankings:
            return score(rankings)
        scores = np.zeros(len(rankings))
        scores[answered.place] = score(answered)
        return scores

    return values
