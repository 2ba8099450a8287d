"""Providers of ir_measures: of all measures that are computed here, and of labelled measures."""

from __future__ import annotations

import re
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal

import ir_measures
import numpy as np
import pyarrow as pa
from ir_measures import CalcResults, providers
from ir_measures.measures import Measure, SumAgg
from ir_measures.util import parse_trec_measure

from ..data.alignment import Aligned, Judgments
from ..data.columns import Array, Columns, judgment_columns
from ..data.rows import Rows
from ..errors import BadJudgments, BadParameter, CWLAError, MissingLength, NoFiniteValue, UnknownSpec
from ..files.inputs import loaded
from .declarations import computation_of, declaration_of, needs_of
from .labels import LabelledMeasure, by_name, redefined, renamed, unknown_parameter
from .named import measures_of
from .wrappers import MEASURES, GeometricMeanOfLogs, innermost, innermost_measures, layers, pinned, reads_chances

ByMeasure = dict[Measure, Array]
"""Values of measures, one per query."""


class LabelProvider(providers.Provider):
    """Provider of measures of ir_measures with labels.

    Most providers compute one value for a measure that is asked for twice, under two names, and ir_measures then
    reports 0 for one of them. This provider asks the default pipeline for each measure once, without a label, and
    reports the values under all its names. It is the first one in the default pipeline, and leaves measures without
    labels to the others.
    """

    NAME = "cwla_labels"

    def supports(self, measure: Measure) -> bool:
        """Return whether the measure is one of ir_measures with a label, and the default pipeline computes it.

        Raises
        ------
        BadParameter
            If the label was given as ``label=``, which measures of ir_measures do not have.
        """
        if "label" in measure.params and "label" not in measure.SUPPORTED_PARAMS:
            raise unknown_parameter(measure, "label")
        is_labelled = isinstance(measure, LabelledMeasure)
        return is_labelled and ir_measures.DefaultPipeline.supports(renamed(measure, None))

    def _evaluator(self, measures: Iterable[Measure], qrels: Any) -> LabelEvaluator:
        return LabelEvaluator(by_name(measures).values(), qrels)

    def run_inputs(self, measures: Iterable[Measure]) -> list[str]:
        """Return the columns of a run that the measures need."""
        return ir_measures.run_inputs(_plain(measures))

    def qrel_inputs(self, measures: Iterable[Measure]) -> list[str]:
        """Return the columns of judgments that the measures need."""
        return ir_measures.qrel_inputs(_plain(measures))


class LabelEvaluator(providers.Evaluator):
    """Evaluator of ir_measures that reports the values of measures under their labels."""

    def __init__(self, measures: Iterable[Measure], qrels: Any) -> None:
        self.named: dict[Measure, list[Measure]] = {}
        for measure in measures:
            self.named.setdefault(renamed(measure, None), []).append(measure)
        self.inner = ir_measures.evaluator(list(self.named), qrels)
        super().__init__([one for same in self.named.values() for one in same], self.inner.qrel_qids)

    def _iter_calc(self, run: Any) -> Iterator[ir_measures.Metric]:
        for metric in self.inner.iter_calc(run):
            for measure in self.named[metric.measure]:
                yield ir_measures.Metric(metric.query_id, measure, metric.value)


def _plain(measures: Iterable[Measure]) -> list[Measure]:
    return list(dict.fromkeys(renamed(measure, None) for measure in measures))


_MOST_ASKED = 1_000  # measures whose order is noted
_REGISTERED = {**MEASURES, "GMAP": MEASURES["GeometricMean"](measure="AP")}
_prepared: list[tuple[object, Judgments]] = []  # the last two judgments, by their memory addresses


class _InThread(threading.local):
    """Order in which measures are asked for in a thread; copies and pickles start without it."""

    def __init__(self) -> None:
        self.asked: deque[str] = deque(maxlen=_MOST_ASKED)  # names of measures since the last call of `run_inputs`
        self.order: dict[str, int] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return _InThread, ()


class CWLAProvider(providers.Provider):
    """Provider of ir_measures for the measures of this package.

    Columns of this provider stand in the order in which ``pt.Experiment`` is given its measures, after those of other
    providers. ir_measures hands over a set of measures without their order. Before that, PyTerrier validates its
    pipelines, and ir_measures then asks :meth:`supports` in the order of the list. If the measures are not
    exactly those that were validated last in this thread, they are in alphabetical order.

    Parameters
    ----------
    full : bool, default=True
        Whether to provide the measures of ir_measures that are computed here as well, with the values of
        ir_measures. Otherwise only those that its default pipeline may lack.
    """

    NAME = "cwla"
    SUPPORTED_MEASURES = list(MEASURES.values())

    def __init__(self, full: bool = True) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.full = full
        self._here = _InThread()

    def supports(self, measure: Measure) -> bool:
        """Return whether the provider computes the measure with its parameters.

        Parameters
        ----------
        measure : Measure
            Measure of ir_measures.

        Returns
        -------
        bool
            False for measures of other providers and for parameters outside their range.

        Raises
        ------
        AssertionError
            If ir_measures finds that a parameter is unknown, missing or of another type.
        """
        self._here.asked.append(str(measure))
        measure.validate_params()
        declaration = declaration_of(measure)
        if declaration is None or (not self.full and declaration.kind == "ir_measures" and declaration.elsewhere):
            return False
        try:
            computation_of(measure)
        except CWLAError:  # a parameter out of its range, or a measure of other providers
            return False
        return True

    def _evaluator(self, measures: Iterable[Measure], qrels: Any) -> CWLAEvaluator:
        wanted = self._in_order(measures) if isinstance(measures, Set) else list(measures)
        self._here.asked.clear()
        refuse_unsupported(wanted)
        return CWLAEvaluator(wanted, prepare(qrels, uncertain=True))

    def _in_order(self, measures: Iterable[Measure]) -> list[Measure]:
        """Return measures of a set in the order of the last list if it had the same measures, or else by name."""
        alphabetical = sorted(measures, key=str)
        order = self._here.order
        known = order.keys() == {*map(str, alphabetical)}
        return sorted(alphabetical, key=lambda measure: order[str(measure)]) if known else alphabetical

    def run_inputs(self, measures: Iterable[Measure]) -> list[str]:
        """Return the columns of a run that the measures need.

        Parameters
        ----------
        measures : iterable of Measure
            Measures of this provider.

        Returns
        -------
        list of str
            ``query_id``, ``doc_id`` and ``score``; ``doc_length`` if a measure reads lengths from the run and there is
            no default table; and ``duplicate_of`` and ``doc_cost`` if a measure reads duplicates or known costs from
            the run.
        """
        measures = list(measures)
        asked = dict.fromkeys(reversed(list(self._here.asked)))
        own = {*map(str, measures)}
        self._here.order = {name: -place for place, name in enumerate(asked) if name in own}
        self._here.asked.clear()
        needs = [needs_of(measure) for measure in measures]
        columns = {"doc_length": "lengths", "duplicate_of": "duplicates", "doc_cost": "costs"}
        of_run = [column for column, of in columns.items() if any(getattr(need, of) == "run" for need in needs)]
        return ["query_id", "doc_id", "score", *of_run]


def refuse_unsupported(measures: Iterable[Measure]) -> None:
    """Raise an error for the first measure that is not computed here.

    Raises
    ------
    BadParameter
        If a parameter is out of its range.
    UnknownSpec
        If only other providers of ir_measures support the measure or one of its parameters.
    """
    for measure in measures:
        measure.validate_params()
        try:
            computation_of(measure)
        except UnknownSpec as error:
            inner = innermost(measure)
            what = f"{inner}, in {measure}," if inner is not measure else str(inner)
            raise UnknownSpec(str(error).replace(str(inner), what, 1)) from None


@contextmanager
def naming(measure: Measure) -> Iterator[None]:
    """Add the name of the measure to errors about judgments, lengths and values that are not finite."""
    try:
        yield
    except BadJudgments as error:
        raise BadJudgments(f"{measure}: {error}") from None
    except MissingLength as error:
        # These errors name parameters of the measure, which are no parameters of the call.
        inner = innermost_measures(measure)
        reading = [one for one in inner if (needs_of(one).lengths, needs_of(one).costs) != ("none", "none")]
        name = (reading or inner)[0].NAME
        text = re.sub(r"(?<=[Gg]ive )(\w+)=('mean')?", lambda way: f"{name}({way[1]}={way[2] or '…'})", str(error))
        raise type(error)(f"{measure}: {text}") from None
    except NoFiniteValue as error:
        raise NoFiniteValue(f"{measure}: {error}") from None


class CWLAEvaluator(providers.Evaluator):
    """Evaluator of ir_measures that aligns each run once for all measures.

    The files that the measures name are read once, when the object is created.

    Parameters
    ----------
    measures : iterable of ir_measures.Measure
        Measures that the provider supports.
    judgments : Judgments
        The judgments.

    Attributes
    ----------
    pinned : list of ir_measures.Measure
        The measures with the content of their files.

    Raises
    ------
    BadParameter
        If two different measures have the same name.
    """

    def __init__(self, measures: Iterable[Measure], judgments: Judgments) -> None:
        wanted = pinned(measures)
        self.pinned = list(by_name(wanted).values())
        computed = [(measure, computation_of(measure)) for measure in self.pinned]
        for measure in self.pinned:
            if not reads_chances(measure):
                with naming(measure):
                    judgments.refuse_uncertain()
        self._needs = [computation.needs for _, computation in computed]
        self._work = [(measure, computation.prepare(judgments)) for measure, computation in computed]
        by_text: dict[tuple[str, str], object] = {}
        for part in (part for measure in wanted for part in layers(measure)):
            content = getattr(part, "named_content", None)
            if by_text.setdefault((str(part), repr(part)), content) != content:
                raise redefined(part)
        super().__init__(self.pinned, judgments.qids)
        self.judgments = judgments

    def tables(self, runs: Sequence[Rows]) -> list[ByMeasure]:
        """Return the values of several runs: per run and measure, one value per judged query in the order of ``qids``.

        All runs are scored together, which saves calls of NumPy.
        """
        aligned = Aligned(self.judgments, runs)
        values = {measure: found.reshape(aligned.n_runs, -1) for measure, found in self.values(aligned).items()}
        return [{measure: found[number] for measure, found in values.items()} for number in range(aligned.n_runs)]

    def values(self, aligned: Aligned) -> ByMeasure:
        """Return one value per query for each measure, run after run."""
        values: ByMeasure = {}
        for measure, work in self._work:
            with naming(measure):
                values[measure] = work(aligned)
        return values

    def means(self, table: ByMeasure) -> dict[Measure, float]:
        """Return the aggregate of each measure over its queries."""
        return {measure: aggregated(measure, values) for measure, values in table.items()}

    def table(self, run: Any) -> ByMeasure:
        """Return one value per judged query for each measure, in the order of ``qrel_qids``.

        Queries that the run does not answer have the value 0, except for ESL: they are failed searches.
        """
        rows = Rows.from_run(run, self.judgments.index)
        values = self.tables([rows])[0]
        self.judgments.warn_of_overlap(rows)
        return values

    @cached_property
    def reads_ranks_only(self) -> bool:
        """Whether the measures read neither lengths, known costs nor duplicates; these may depend on the whole run."""
        return all(need.lengths == need.costs == need.duplicates == "none" for need in self._needs)

    @cached_property
    def unanswered(self) -> ByMeasure:
        """Values of the judged queries for a run without documents, by measure."""
        ids = pa.nulls(0, pa.large_string())
        return self.tables([Rows.from_run(Columns(ids, ids, np.zeros(0), np.zeros(0)), self.judgments.index)])[0]

    def _iter_calc(self, run: Any) -> Iterator[ir_measures.Metric]:
        return self.iter_calc(run)

    def iter_calc(self, run: Any) -> Iterator[ir_measures.Metric]:
        """Yield the value of each measure and judged query, where the measure is defined."""
        return self._by_query(self.table(run))

    def _by_query(self, table: ByMeasure) -> Iterator[ir_measures.Metric]:
        for measure, values in table.items():
            for qid, value in zip(self.judgments.qids, values.tolist(), strict=True):
                if value == value:  # not NaN
                    yield ir_measures.Metric(qid, measure, value)

    def calc_aggregate(self, run: Any) -> dict[Measure, float]:
        """Return the aggregate of each measure.

        Without judged queries it is NaN, or 0 for sums, as in ir_measures.
        """
        return self.means(self.table(run))

    def calc(self, run: Any) -> CalcResults:
        """Return the aggregates and the values of all queries."""
        table = self.table(run)
        return CalcResults(self.means(table), list(self._by_query(table)))


def aggregate_of(measure: Measure) -> Literal["mean", "sum", "geometric mean"]:
    """Return the kind of aggregate of a measure over queries."""
    aggregator = measure.aggregator()
    if isinstance(aggregator, GeometricMeanOfLogs):
        return "geometric mean"
    return "sum" if isinstance(aggregator, SumAgg) else "mean"


def aggregated_rows(measure: Measure, values: np.ndarray) -> list[float]:
    """Return the aggregate of each row of values, of shape (n_runs, n_queries); see :func:`aggregated`."""
    if not values.size or np.isnan(values).any():
        return [aggregated(measure, row) for row in values]
    kind = aggregate_of(measure)
    found = values.sum(axis=1) if kind == "sum" else values.mean(axis=1)
    return list(map(GeometricMeanOfLogs.of_mean, found)) if kind == "geometric mean" else found.tolist()


def aggregated(measure: Measure, values: np.ndarray) -> float:
    """Return the mean, sum or geometric mean of a measure's values over queries."""
    if not len(values):
        return measure.aggregator().result()
    kind = aggregate_of(measure)
    if kind == "sum":
        return float(values.sum())
    if np.isnan(values).any():
        values = values[~np.isnan(values)]  # queries for which the measure is not defined
    mean = float(values.mean()) if len(values) else np.nan
    return GeometricMeanOfLogs.of_mean(mean) if kind == "geometric mean" else mean


def refuse_undefined(measure: Any, values: Array, qids: Sequence[str]) -> None:
    """Raise BadParameter if a measure is not defined for a query, as Accuracy without a relevant document."""
    without = np.flatnonzero(np.isnan(values))
    if len(without):
        raise BadParameter(
            f"{measure} has no value for query {qids[without[0]]!r}: leave the measure or the query out."
        )


def prepare(qrels: Any, uncertain: bool = False) -> Judgments:
    """Return judgments in the form to which runs are aligned.

    The last two results are cached, because PyTerrier passes the same judgments with every run. They are recognised by
    the addresses of their ids, which lie in immutable memory, and by equal grades.

    Parameters
    ----------
    qrels : DataFrame, dict of dicts, iterable of named tuples, or Judgments
        Judgments.
    uncertain : bool, default=False
        Whether probabilities may stand for grades; otherwise they are an error.
    """
    judgments = qrels if isinstance(qrels, Judgments) else _prepare(qrels)
    if not uncertain:
        judgments.refuse_uncertain()
    return judgments


def _prepare(qrels: Any) -> Judgments:
    columns = judgment_columns(qrels, uncertain=True)
    where = tuple(
        (buffer.address, buffer.size, chunk.offset, len(chunk))
        for ids in (columns.query_id, columns.doc_id, columns.iteration)
        if ids is not None
        for chunk in (ids.chunks if hasattr(ids, "chunks") else [ids])
        for buffer in chunk.buffers()
        if buffer is not None
    )
    for known, judgments in _prepared:
        if known == where and _same_labels(judgments.columns, columns):
            return judgments
    kept = replace(columns, value=columns.value.copy())  # memory of NumPy is mutable, that of Arrow is not
    judgments = Judgments(kept)
    _prepared[:] = [(where, judgments), *_prepared[:1]]
    return judgments


def _same_labels(one: Columns, other: Columns) -> bool:
    """Return whether judgments of the same pairs have the same grades and probabilities."""
    pairs = ((one.value, other.value), (one.chances, other.chances))
    return one.graded == other.graded and all(np.array_equal(*pair) for pair in pairs)  # type: ignore[arg-type]


def judged(qrels: Any, uncertain: bool = False) -> Judgments:
    """Return judgments in the form to which runs are aligned, as :func:`prepare`.

    Raises
    ------
    BadJudgments
        If no query is judged.
    """
    judgments = prepare(qrels, uncertain)
    if not judgments.qids:
        raise BadJudgments("the judgments are empty: without judged queries there is no mean.")
    return judgments


def register() -> None:
    """Register the measures with ir_measures: their names, the provider, and the provider in the default pipeline.

    A second call, after a new import of the package, replaces the entries of the first one.
    """
    for name, measure in _REGISTERED.items():
        ir_measures.measures.registry[name] = measure
        setattr(ir_measures, name, measure)
        setattr(ir_measures.measures, name, measure)
    ir_measures.parse_trec_measure = _named_in_experiments
    ir_measures.cwla = providers.register(CWLAProvider())  # type: ignore[attr-defined]
    own = (CWLAProvider.NAME, LabelProvider.NAME)
    others = [p for p in ir_measures.DefaultPipeline.providers if p.NAME not in own]
    ir_measures.DefaultPipeline.providers[:] = [LabelProvider(), *others, CWLAProvider(full=False)]  # type: ignore[no-untyped-call]


def _named_in_experiments(measure: str) -> list[Measure]:
    """Return the measures of a name of trec_eval, or else of this package; pt.Experiment reads texts with this."""
    try:
        return parse_trec_measure(measure)
    except ValueError:
        return measures_of(measure)


def announce() -> None:
    """Set the measures as attributes of ``pyterrier.measures`` if PyTerrier is already imported.

    If PyTerrier is imported later, it finds the measures in ir_measures.
    """
    module = sys.modules.get("pyterrier.measures")
    if module is not None:
        for name, measure in _REGISTERED.items():
            setattr(module, name, measure)


def computed_here(measures: Iterable[object]) -> list[Measure]:
    """Return measures from texts, objects or a dict of these by label, if this package computes them.

    Raises
    ------
    BadParameter
        If a parameter is unknown or out of its range, or if two different measures have the same name.
    UnknownSpec
        If a name is unknown, or only other providers of ir_measures compute the measure.
    """
    wanted = measures_of(measures)
    refuse_unsupported(wanted)
    return wanted


def evaluator_of(qrels: Any, measures: Iterable[object]) -> CWLAEvaluator:
    """Return the evaluator of measures that this package computes, for judgments in a file or a table."""
    return CWLAEvaluator(computed_here(measures), judged(loaded(qrels, "qrels"), uncertain=True))
