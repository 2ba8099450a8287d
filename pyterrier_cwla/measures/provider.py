"""Computes measures for ir_measures: whole mixed lists in one pass, and what no other provider computes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import ir_measures
import numpy as np
from ir_measures import CalcResults, providers
from ir_measures.measures import Measure, SumAgg

from ..data.alignment import Aligned, Judgments, Rows
from ..data.columns import judgment_columns
from ..data.intents import IntentWeights
from ..data.rankings import Array, Rankings
from ..errors import BadJudgments, BadParameter, CWLAError, NoFiniteValue, UnknownSpec
from .catalogue import THEIRS
from .counting import COUNTS, NEED_ALL_JUDGED
from .named import CWLAMeasure
from .parsing import measures_of
from .wrappers import MEASURES, Wrapper, _GeometricMean, _IntentAware, _Residual, innermost, metric_of, pinned

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
        if isinstance(measure, Wrapper):
            return CWLAProvider().supports(measure.inner)
        if isinstance(measure, CWLAMeasure):
            return True
        if not self.full and measure.NAME not in _NOT_EVERYWHERE:
            return False
        given = measure.params
        if measure.NAME in COUNTS:
            return given.get("rel", 1) >= 1
        row = THEIRS.get(str(measure.NAME))
        if row is None:
            return False
        known = {p.name for p in row.parameters}
        if any(name not in known and value != measure.SUPPORTED_PARAMS[name].default for name, value in given.items()):
            return False
        try:
            metric_of(measure)
        except CWLAError:  # a parameter out of the range in which the equations hold
            return False
        return not given.get("gains") or _supports_gains(given)

    def _evaluator(self, measures: Iterable[Measure], qrels: Any) -> CWLAEvaluator:
        wanted = list(measures)
        refuse_unsupported(wanted)
        return CWLAEvaluator(wanted, prepare(qrels))

    def run_inputs(self, measures: Iterable[Measure]) -> list[str]:
        inputs = ["query_id", "doc_id", "score"]
        metrics = [m.metric for m in map(innermost, measures) if isinstance(m, CWLAMeasure)]
        if any(metric.needs_words and metric.lengths is None for metric in metrics):
            inputs.append("doc_length")
        if any(metric.duplicates is not None and metric.duplicates.name == "run" for metric in metrics):
            inputs.append("duplicate_of")
        return inputs


def _supports_gains(given: dict[str, Any]) -> bool:
    """Whether nDCG's ``gains`` can be computed here.

    Gains of grades below 1 cannot: unjudged documents would gain as well. trec_eval takes documents of negative gain
    for unjudged, which matters where the unjudged are left out.
    """
    gains, judged_only = given["gains"], given.get("judged_only", False)
    return min(gains) > 0 and given.get("dcg", "log2") == "log2" and not (judged_only and min(gains.values()) < 0)


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
        if inner.NAME in THEIRS:
            metric_of(inner)  # raises the error that names a parameter out of range
        what = f"{inner}, in {measure}," if inner is not measure else str(measure)
        raise UnknownSpec(
            f"{what} is a measure of ir_measures that is not computed here: use ir_measures.calc_aggregate, which asks"
            " all providers. `pyterrier-cwla measures` lists all that are computed here."
        )


class CWLAEvaluator(providers.Evaluator):
    """Scores runs: each is aligned once for all measures, all of which the provider supports.

    Files that measures name are read as they are when the evaluator is made.
    """

    def __init__(self, measures: list[Measure], judgments: Judgments) -> None:
        measures = pinned(measures)
        super().__init__(measures, judgments.qids)
        self.judgments = judgments
        self._work = [(measure, _work(measure, judgments)) for measure in measures]
        by_text: dict[str, Any] = {}
        for part in (part for measure in measures for part in _layers(measure)):
            content = _named_only(part)
            if by_text.setdefault(str(part), content) != content:
                raise BadParameter(
                    f"two measures are called {part} and differ: one has a function or a table that was redefined"
                    " since; give it another name."
                )

    def table(self, run: Any) -> dict[Measure, Array]:
        """Per measure one value per judged query, in the order of ``qrel_qids``; 0 where the run has no such query."""
        rows = self.judgments.rows(run)
        values = self.tables([rows])[0]
        rows.warn_of_overlap()
        return values

    def tables(self, runs: list[Rows]) -> list[dict[Measure, Array]]:
        """The same of several runs, all scored at once: what NumPy costs by the call is then paid but once."""
        values = {measure: found.reshape(len(runs), -1) for measure, found in self.values(Aligned(runs)).items()}
        return [{measure: found[number] for measure, found in values.items()} for number in range(len(runs))]

    def values(self, aligned: Aligned) -> dict[Measure, Array]:
        """Per measure one value per query, run after run."""
        values: dict[Measure, Array] = {}
        for measure, work in self._work:
            try:
                values[measure] = work(aligned)
            except (BadJudgments, NoFiniteValue) as error:
                raise type(error)(f"{measure}: {error}") from None
        return values

    def means(self, table: dict[Measure, Array]) -> dict[Measure, float]:
        """The aggregate of each measure."""
        return {measure: aggregated(measure, values) for measure, values in table.items()}

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


def _layers(measure: Measure) -> Iterator[Measure]:
    yield measure
    if isinstance(measure, Wrapper):
        yield from _layers(measure.inner)


def _named_only(measure: Measure) -> Any:
    """The functions and tables of a measure, of which its text tells no more than names."""
    if isinstance(measure, _IntentAware):
        return measure.weights.table
    return measure.metric.key if isinstance(measure, CWLAMeasure) and not isinstance(measure, Wrapper) else None


def aggregated(measure: Measure, values: np.ndarray) -> float:
    """What is made of a measure's values of all queries: their mean, sum or geometric mean."""
    aggregator = measure.aggregator()
    if not len(values):
        return aggregator.result()
    if isinstance(aggregator, SumAgg):
        return float(values.sum())
    mean = float(values.mean())
    return float(np.exp(mean)) if isinstance(measure, _GeometricMean) else mean


def _work(measure: Measure, judgments: Judgments, intent: int | None = None) -> Callable[[Aligned], Array]:
    """The function from an aligned run to values, by all judgments or those of one intent."""
    if isinstance(measure, _GeometricMean):
        inner = _work(measure.inner, judgments)
        return lambda aligned: measure.per_query(inner(aligned))
    if isinstance(measure, _IntentAware):
        return _over_intents(measure.inner, measure.weights, judgments)
    if measure.NAME in COUNTS:
        supported = {name: value for name, value in measure.params.items() if name in ("rel", "cutoff")}
        count: Callable[[Rankings], Array] = partial(COUNTS[measure.NAME], **supported)
        judged_only = bool(measure.params.get("judged_only"))
        score = (lambda rankings: count(rankings.condensed)) if judged_only else count
        all_judged = judged_only or measure.NAME in NEED_ALL_JUDGED
    else:
        metric = metric_of(innermost(measure), judgments.pool.highest)
        if metric.max_rel is not None:
            judgments.check_grades(metric.max_rel)
        score = metric.residual if isinstance(measure, _Residual) else metric.score
        all_judged = metric.judged_only or isinstance(measure, _Residual)

    def values(aligned: Aligned) -> Array:
        rankings = aligned.rankings(all_judged, intent)
        answered = rankings.answered
        if answered is rankings:
            return score(rankings)
        scores = np.zeros(len(rankings))
        scores[answered.place] = score(answered)
        return scores

    return values


def _over_intents(measure: Measure, weights: IntentWeights, judgments: Judgments) -> Callable[[Aligned], Array]:
    works = [_work(measure, own, number) for number, (_, own) in enumerate(judgments.intents)]
    P = weights.of(judgments)

    def values(aligned: Aligned) -> Array:
        scores = np.zeros(len(aligned.runs) * len(judgments.qids))
        return sum((np.tile(p, len(aligned.runs)) * work(aligned) for p, work in zip(P, works, strict=True)), scores)

    return values


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
