"""Provider of ir_measures for its own measures with labels, which computes them without their labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import ir_measures
from ir_measures import providers
from ir_measures.measures import Measure

from .labels import by_name, is_labelled_other, renamed
from .text_reader import unknown_parameter


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
        return is_labelled_other(measure) and ir_measures.DefaultPipeline.supports(renamed(measure, None))

    def _evaluator(self, measures: Iterable[Measure], qrels: Any) -> LabelEvaluator:
        return LabelEvaluator(by_name(measures).values(), qrels)

    def run_inputs(self, measures: Iterable[Measure]) -> list[str]:
        """Return the columns of a run that the measures need."""
        inputs: list[str] = ir_measures.run_inputs(_plain(measures))
        return inputs

    def qrel_inputs(self, measures: Iterable[Measure]) -> list[str]:
        """Return the columns of judgments that the measures need."""
        inputs: list[str] = ir_measures.qrel_inputs(_plain(measures))
        return inputs


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
