"""Computes measures for ir_measures: whole mixed lists in one pass, and what no other provider computes."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal

import ir_measures
import numpy as np
import pyarrow as pa
from ir_measures import CalcResults, providers
from ir_measures.measures import Measure, SumAgg

from ..data.alignment import Aligned, Judgments, Rows
from ..data.columns import Columns, judgment_columns
from ..data.ranked_rows import Judged, RankedRows
from ..data.rankings import Array
from ..errors import BadJudgments, BadParameter, CWLAError, NoFiniteValue, UnknownSpec
from .of_ir_measures import computation_of, needs_of
from .parsing import measures_of
from .wrappers import MEASURES, GeometricMeanOfLogs, innermost, layers, pinned

#: What ir_measures' default pipeline computes only where Perl or cwl_eval are installed; we come last in it.
_NOT_EVERYWHERE = ("RBP", "ERR", "nDCG", "SDCG", "INST", "INSQ")
_prepared: list[tuple[Any, Judgments]] = []  # the last judgments, by the memory they lie in


class CWLAProvider(providers.Provider):
    """Every measure of this package, and (``full``) ir_measures' own names at ir_measures' own values."""

    NAME = "cwla"
    SUPPORTED_MEASURES = list(MEASURES.values())

    def __init__(self, full: bool = True) -> None:
        super().__init__()
        self.full = full

    def supports(self, measure: Measure) -> bool:
        measure.validate_params()
        if not self.full and measure.NAME not in {*MEASURES, *_NOT_EVERYWHERE}:
            return False
        try:
            computation_of(measure)
        except CWLAError:  # a parameter out of the range in which the equations hold, or a measure of others
            return False
        return True

    def _evaluator(self, measures: Iterable[Measure], qrels: Any) -> CWLAEvaluator:
        wanted = list(measures)
        refuse_unsupported(wanted)
        return CWLAEvaluator(wanted, prepare(qrels))

    def run_inputs(self, measures: Iterable[Measure]) -> list[str]:
        inputs = ["query_id", "doc_id", "score"]
        needs = [needs_of(measure) for measure in measures]
        if any(need.lengths == "run" for need in needs):
            inputs.append("doc_length")
        if any(need.duplicates == "run" for need in needs):
            inputs.append("duplicate_of")
        return inputs


def refuse_unsupported(measures: Iterable[Measure]) -> None:
    """Raise an error that names the first measure that is not computed here.

    Raises
    ------
    BadParameter
        If a parameter is out of the range in which the equations hold.
    UnknownSpec
        If the measure, or one of its parameters, is supported by other providers of ir_measures only.
    """
    provider = CWLAProvider()
    for measure in measures:
        if provider.supports(measure):
            continue
        inner = innermost(measure)
        try:
            computation_of(inner)
        except UnknownSpec as error:
            what = f"{inner}, in {measure}," if inner is not measure else str(inner)
            raise UnknownSpec(str(error).replace(str(inner), what, 1)) from None


class PreparedMeasures:
    """Measures that are prepared for judgments, all of which the provider supports.

    Files that measures name are read as they are when the object is made.
    """

    def __init__(self, measures: Iterable[Measure], judgments: Judged) -> None:
        self.pinned = pinned(measures)
        self._work = [(measure, computation_of(measure).prepare(judgments)) for measure in self.pinned]
        by_text: dict[str, Any] = {}
        for part in (part for measure in self.pinned for part in layers(measure)):
            content = getattr(part, "named_content", None)
            if by_text.setdefault(str(part), content) != content:
                raise BadParameter(
                    f"two measures are called {part} and differ: one has a function or a table that was redefined"
                    " since; give it another name."
                )

    def tables(self, runs: Sequence[RankedRows]) -> list[dict[Measure, Array]]:
        """Per measure one value per judged query, in the order of ``qids``, for each of several runs.

        All runs are scored at once: what NumPy costs by the call is then paid but once.
        """
        values = {measure: found.reshape(len(runs), -1) for measure, found in self.values(Aligned(runs)).items()}
        return [{measure: found[number] for measure, found in values.items()} for number in range(len(runs))]

    def values(self, aligned: Aligned) -> dict[Measure, Array]:
        """Per measure one value per query, run after run."""
        values: dict[Measure, Array] = {}
        for measure, work in self._work:
            try:
                values[measure] = work(aligned)
            except BadJudgments as error:
                raise BadJudgments(f"{measure}: {error}") from None
            except NoFiniteValue as error:
                raise NoFiniteValue(f"{measure}: {error}") from None
        return values

    def means(self, table: dict[Measure, Array]) -> dict[Measure, float]:
        """The aggregate of each measure."""
        return {measure: aggregated(measure, values) for measure, values in table.items()}


class CWLAEvaluator(PreparedMeasures, providers.Evaluator):
    """Scores runs: each is aligned once for all measures."""

    def __init__(self, measures: list[Measure], judgments: Judgments) -> None:
        PreparedMeasures.__init__(self, measures, judgments)
        providers.Evaluator.__init__(self, self.pinned, judgments.qids)
        self.judgments = judgments

    def table(self, run: Any) -> dict[Measure, Array]:
        """Per measure one value per judged query, in the order of ``qrel_qids``; 0 where the run has no such query."""
        rows = Rows(self.judgments, run)
        values = self.tables([rows])[0]
        rows.warn_of_overlap()
        return values

    @cached_property
    def unanswered(self) -> dict[Measure, Array]:
        """Per measure the values of the judged queries for a run without documents."""
        ids = pa.array([], pa.large_string())
        return self.tables([Rows(self.judgments, Columns(ids, ids, np.zeros(0), np.zeros(0)))])[0]

    def _iter_calc(self, run: Any) -> Iterator[ir_measures.Metric]:
        return self.iter_calc(run)

    def iter_calc(self, run: Any) -> Iterator[ir_measures.Metric]:
        for measure, values in self.table(run).items():
            for qid, value in zip(self.judgments.qids, values.tolist(), strict=True):
                yield ir_measures.Metric(qid, measure, value)

    def calc_aggregate(self, run: Any) -> dict[Measure, float]:
        """The aggregate of each measure; of no judged query NaN, or 0 where it is a sum, as of ir_measures' own."""
        return self.means(self.table(run))

    def calc(self, run: Any) -> CalcResults:
        table = self.table(run)
        metrics = [
            ir_measures.Metric(qid, measure, value)
            for measure, values in table.items()
            for qid, value in zip(self.judgments.qids, values.tolist(), strict=True)
        ]
        return CalcResults(self.means(table), metrics)


def aggregate_of(measure: Measure) -> Literal["mean", "sum", "geometric mean"]:
    """What is made of a measure's values of all queries."""
    aggregator = measure.aggregator()
    if isinstance(aggregator, GeometricMeanOfLogs):
        return "geometric mean"
    return "sum" if isinstance(aggregator, SumAgg) else "mean"


def aggregated(measure: Measure, values: np.ndarray) -> float:
    """The mean, sum or geometric mean of a measure's values of all queries."""
    if not len(values):
        return measure.aggregator().result()
    kind = aggregate_of(measure)
    if kind == "sum":
        return float(values.sum())
    mean = float(values.mean())
    return GeometricMeanOfLogs.of_mean(mean) if kind == "geometric mean" else mean


def prepare(qrels: Any) -> Judgments:
    """Judgments ready to align runs with. PyTerrier asks anew for every run, so the last ones are kept: those whose
    ids lie in the same (immutable) memory, with the same grades."""
    if isinstance(qrels, Judgments):
        return qrels
    columns = judgment_columns(qrels)
    where = tuple(
        (buffer.address, buffer.size, chunk.offset, len(chunk))
        for ids in (columns.query_id, columns.doc_id, columns.iteration)
        if ids is not None
        for chunk in (ids.chunks if hasattr(ids, "chunks") else [ids])
        for buffer in chunk.buffers()
        if buffer is not None
    )
    for known, judgments in _prepared:
        if known == where and np.array_equal(judgments.columns.value, columns.value):
            return judgments
    kept = replace(columns, value=columns.value.copy())  # NumPy's memory may change; Arrow's does not
    judgments = Judgments(kept)
    _prepared[:] = [(where, judgments), *_prepared[:1]]
    return judgments


def judged(qrels: Any) -> Judgments:
    """Judgments ready to align runs with; BadJudgments where no query is judged, so that there is no mean."""
    judgments = prepare(qrels)
    if not judgments.qids:
        raise BadJudgments("the judgments are empty: no query is judged, so that there is nothing to average over.")
    return judgments


def register() -> None:
    """Makes the measures known to ir_measures: by name, as a provider, and in the default pipeline.

    A second call (the package was imported anew) replaces what the first one set.
    """
    for name, measure in MEASURES.items():
        ir_measures.measures.registry[name] = measure
        setattr(ir_measures, name, measure)
        setattr(ir_measures.measures, name, measure)
    ir_measures.measures.registry["GMAP"] = MEASURES["GeometricMean"](measure="AP")
    ir_measures.cwla = providers.register(CWLAProvider())  # type: ignore[attr-defined]
    others = [p for p in ir_measures.DefaultPipeline.providers if p.NAME != CWLAProvider.NAME]
    ir_measures.DefaultPipeline.providers[:] = [*others, CWLAProvider(full=False)]


def announce() -> None:
    """Sets our measures on ``pyterrier.measures`` where PyTerrier came first; where it comes later, it finds them."""
    module = sys.modules.get("pyterrier.measures")
    if module is not None:
        for name, measure in MEASURES.items():
            setattr(module, name, measure)


def computed_here(measures: Iterable[Any]) -> list[Measure]:
    """Measures from text or objects, all of which this package computes."""
    wanted = measures_of(measures)
    refuse_unsupported(wanted)
    return wanted
