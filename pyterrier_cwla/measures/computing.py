"""Declarations of measures, the data that a measure needs, and the function from aligned rankings to values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Literal

import numpy as np
from ir_measures.measures import Measure

from ..data.abstention import Abstention
from ..data.alignment import Aligned, Judgments
from ..data.columns import Array
from ..data.document_tables import DocumentTable
from ..data.lengths import Costs, Lengths, NumberTable
from ..data.rankings import Rankings
from ..errors import warn
from ..model import scoring
from ..model.language import Given, Parameter
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
    costs : {"none", "run", "table"}
        The source of known costs of documents.
    judged_lengths : bool
        The lengths of all judged documents in the run, for an ideal ranking.
    mean_of : type of NumberTable, optional
        The number of documents, length or cost, whose mean over a whole run is needed, because the run has the numbers.
        The value of a query then depends on other queries.
    tables : tuple of DocumentTable or Abstention
        The tables of lengths, of known costs, of duplicates and of abstention, including a default table that may be
        read.
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
    costs: Origin = "none"
    judged_lengths: bool = False
    mean_of: type[NumberTable] | None = None
    tables: tuple[DocumentTable | Abstention, ...] = ()
    intents: bool = False
    ties: bool = False
    scores: bool = False
    user_model: bool = False

    @property
    def abstention(self) -> bool:
        """Whether probabilities of abstention by query and document are needed."""
        return any(isinstance(table, Abstention) for table in self.tables)

    @classmethod
    def of_metric(cls, metric: Metric) -> Needs:
        """Return the needs of a metric with a user model."""
        needs_words = metric.needs_words
        run_lengths = needs_words and metric.lengths is None
        lengths: OriginOfLengths = "none"
        if needs_words:
            lengths = "table" if metric.lengths is not None else "run" if metric.default_lengths is None else "default"
        duplicates: Origin = "none"
        if metric.duplicates is not None:
            duplicates = "run" if metric.duplicates.name == "run" else "table"
        costs: Origin = "none"
        if metric.needs_cost:
            costs = "run" if metric.costs is None else "table"
        tables = (metric.lengths, metric.default_lengths, metric.duplicates, metric.costs)
        return cls(
            all_judged=metric.all_judged,
            lengths=lengths,
            duplicates=duplicates,
            costs=costs,
            judged_lengths=run_lengths and metric.norm == "ideal",
            mean_of=None if metric.missing != "mean" else Lengths if run_lengths else Costs if costs == "run" else None,
            tables=tuple(table for table in tables if table is not None),
            user_model=True,
        )


@dataclass
class Computation:
    """Measure that is ready to compute: the data that it needs, and the function that prepares it for judgments.

    Attributes
    ----------
    needs : Needs
        The data that the measure reads.
    prepare : callable
        Function from judgments to the function that maps rankings, aligned with these judgments, to values.
    """

    needs: Needs
    prepare: Callable[[Judgments], Values]


class OfUserModel(Computation):
    """Measure with a user model that is ready to compute.

    Attributes
    ----------
    metric : Metric
        The metric, as its files were when the measure was made.
    current : callable
        A function from the highest grade of the judgments to the metric with the present content of its files.
    way_out : callable
        A function from the highest grade of the judgments to what a user can write instead if it is above the highest
        grade of the measure; an empty text stands for a larger ``max_rel``.
    """

    def __init__(
        self,
        metric: Metric,
        current: Callable[[float | None], Metric],
        way_out: Callable[[float], str] = lambda highest: "",
    ) -> None:
        super().__init__(Needs.of_metric(metric), self._prepare)
        self.metric, self.current, self.way_out = metric, current, way_out

    def metric_for(self, judgments: Judgments, uncertain: bool = False) -> Metric:
        """Return the metric with the present content of its files.

        Parameters
        ----------
        judgments : Judgments
            The judgments.
        uncertain : bool, default=False
            Whether they may have probabilities in place of grades.

        Raises
        ------
        BadJudgments
            If a judgment has a grade above ``max_rel``, or probabilities that are not read.
        """
        if uncertain:
            judgments = judgments.possible
        else:
            judgments.refuse_uncertain()
        highest = judgments.pool.highest
        metric = self.current(highest)
        if metric.max_rel is not None:
            judgments.check_grades(metric.max_rel, self.way_out(highest))
        return metric

    def _prepare(self, judgments: Judgments) -> Values:
        metric = self.metric_for(judgments)
        if about := scoring.topics_without_gain(metric, judgments.pool):
            warn(about)
        return of_answered(partial(scoring.score, metric), metric.all_judged)


def of_answered(score: Callable[[Rankings], Array], all_judged: bool) -> Values:
    """Return a function that scores the queries that the run answers and gives 0 to the others."""

    def values(aligned: Aligned) -> Array:
        rankings = aligned.rankings(all_judged)
        answered = rankings.answered
        if answered is rankings:
            return score(rankings)
        scores = np.zeros(len(rankings))
        scores[rankings.n > 0] = score(answered)
        return scores

    return values


KindOfMeasure = Literal["measure", "ir_measures", "session"]


@dataclass(frozen=True)
class Equation:
    r"""Full name and usual formula of a measure.

    Attributes
    ----------
    title : str
        The name in words, such as "time-biased gain".
    latex : str
        The formula as LaTeX mathematics; ``\\`` separates lines, which are aligned at ``&``.
    symbols : str
        The meaning of the symbols, as text with ``code`` and with mathematics between ``$``.
    """

    title: str
    latex: str
    symbols: str

    @property
    def displayed(self) -> str:
        """The formula in an environment ``aligned`` if it has several lines."""
        return rf"\begin{{aligned}}{self.latex}\end{{aligned}}" if r"\\" in self.latex else self.latex


@dataclass(frozen=True)
class Declaration:
    """A measure that is computed here, as the command line, the documentation and ir_measures read it.

    Attributes
    ----------
    name : str
        The name, as in ir_measures.
    parameters : tuple of Parameter
        The parameters of the measure.
    kind : {"measure", "ir_measures", "session"}, default="measure"
        Whether the measure is one of this package, one of ir_measures with the value that ir_measures gives, or one of
        sessions.
    elsewhere : bool, default=True
        For measures of ir_measures: whether the other providers of its default pipeline compute the measure, without
        Perl and cwl_eval. The default pipeline asks this package for the measures for which this is False.
    better : callable
        A function from the parameters that are given to the scores that are better: "higher", "lower", or None if
        neither is, as for numbers of retrieved documents.
    calibrated : tuple of str, default=()
        The parameters that a calibration estimates.
    equation : Equation, optional
        Full name and usual formula, if they are not in the file ``measures/descriptions.toml``.
    text : str, default=""
        The docstring of a class that is written by hand.
    """

    name: str
    _: KW_ONLY
    parameters: tuple[Parameter, ...] = ()
    kind: KindOfMeasure = "measure"
    elsewhere: bool = True
    better: Callable[[Given], Better | None] = lambda given: "higher"
    calibrated: tuple[str, ...] = ()
    equation: Equation | None = None
    text: str = ""

    @property
    def docstring(self) -> str:
        """Summary, formula and sections."""
        return self.text

    def computation(self, measure: Measure) -> Computation:
        """Return what computes a measure with this declaration.

        Raises
        ------
        BadParameter
            If a parameter is out of its range.
        UnknownSpec
            If only other providers of ir_measures support one of the parameters.
        """
        raise NotImplementedError


def computation_of_rankings(
    score: Callable[[Rankings], Array], needs: Needs, of_unanswered: bool = False
) -> Computation:
    """Return what computes a measure that is a function of rankings alone.

    Parameters
    ----------
    score : callable
        A function from rankings to one value per ranking.
    needs : Needs
        The data that the function reads.
    of_unanswered : bool, default=False
        Whether the function scores queries without results as well; otherwise they have the value 0.
    """
    if of_unanswered:
        return Computation(needs, lambda judgments: lambda aligned: score(aligned.rankings(needs.all_judged)))
    return Computation(needs, lambda judgments: of_answered(score, needs.all_judged))


def from_0_up(grade: Array) -> Array:
    """Return grades with which ``rel=1`` means what ``rel=0`` does with the given ones: relevant from grade 0 up."""
    return np.where(grade >= 0, grade + 1, grade)


def clipped_from_0_up(grade: Array) -> Array:
    """Return grades from 0 up, with negative grades as grade 0, as in cwl_eval."""
    return np.maximum(grade, 0) + 1
