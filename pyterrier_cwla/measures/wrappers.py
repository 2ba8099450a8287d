"""Measures of other measures: residuals, geometric means and means over intents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from ir_measures.measures import MeanAgg, Measure, ParamInfo

from ..data.alignment import Aligned
from ..data.document_tables import DocumentTable
from ..data.intents import IntentWeights, Weights, bind_weights
from ..data.ranked_rows import Judged
from ..data.rankings import Array
from ..errors import BadParameter
from ..model.introspection import reads
from ..model.language import In, Parameter
from ..model.metric import Metric
from ..model.residuals import residual, residual_is_a_bound
from .calibrated import BoundCalibration
from .catalogue import THEIRS
from .computing import Computation, Needs, OfUserModel, Values, of_answered
from .named import _NAMED, CWLA, CWLAMeasure, RowMeasure
from .of_ir_measures import computation_of, is_computed_here, metric_of, user_model_of
from .parsing import measures_of


def pinned(measures: Iterable[Measure]) -> list[Measure]:
    """The same measures with tables and calibrations as their files are now, whatever becomes of the files later.

    Each file is hashed once, and read where its content is new.
    """
    known: dict[Any, Any] = {}
    return [measure._pinned(known) if isinstance(measure, CWLAMeasure) else measure for measure in measures]


class Wrapper(CWLAMeasure):
    """A measure of another measure, ``measure=``, that is computed here."""

    PARAMETERS: tuple[Parameter, ...] = (Parameter("measure"),)

    def _canonical(self, parameter: Parameter, value: Any) -> Any:
        if parameter.name != "measure":
            return super()._canonical(parameter, value)
        inner = measures_of([value])[0] if isinstance(value, str | Measure) else value
        if not isinstance(inner, Measure) or not self._takes(inner):
            raise BadParameter(f"{self.__name__}(measure=) takes {self.TAKES}, not {value!r}.")
        self._bound["measure"] = inner
        return str(inner)

    TAKES = "a measure that is computed here, such as 'TBG' or 'AP'"

    def _takes(self, inner: Measure) -> bool:
        return is_computed_here(inner)

    def validate_params(self) -> None:
        self.inner  # noqa: B018  (an error now where there is no measure)

    @property
    def inner(self) -> Measure:
        if "measure" not in self._bound:
            raise BadParameter(f"{self.__name__} needs measure=, such as {self.__name__}(measure='TBG').")
        return self._bound["measure"]

    @property
    def metric(self) -> Metric:
        """The metric behind the wrapped measure."""
        inner = innermost(self)
        return inner.metric if isinstance(inner, RowMeasure) else metric_of(inner)

    @property
    def content(self) -> list[Any]:
        return [self.inner, None]


def innermost(measure: Measure) -> Measure:
    """What is left when all wrappers are taken off."""
    return innermost(measure.inner) if isinstance(measure, Wrapper) else measure


def known_as(measure: Measure) -> str:
    """The name in the literature of the innermost measure: "nDCG" as well where a CWLA discounts gains as nDCG does."""
    inner = innermost(measure)
    if isinstance(inner, type(CWLA)) and inner.metric.C.name == "dcg" and inner.metric.norm == "ideal":
        return "nDCG"
    return str(inner.NAME)


def changed_inside(measure: Measure, change: Callable[[Measure], Measure]) -> Measure:
    """The measure with its innermost one changed."""
    return measure(measure=changed_inside(measure.inner, change)) if isinstance(measure, Wrapper) else change(measure)


def layers(measure: Measure) -> Iterator[Measure]:
    """The measure, the one that it wraps, and so on."""
    yield measure
    if isinstance(measure, Wrapper):
        yield from layers(measure.inner)


def files_of(measures: Iterable[Measure]) -> Iterator[str]:
    """The files that measures name: tables of lengths and of duplicates, and calibrations."""
    for measure in measures:
        for part in measure._bound.values() if isinstance(measure, CWLAMeasure) else ():
            if isinstance(part, Measure):
                yield from files_of([part])
            elif isinstance(part, DocumentTable) and part.path is not None:
                yield part.path
            elif isinstance(part, BoundCalibration):
                yield part.name


def _wrapper(**info: ParamInfo) -> dict[str, ParamInfo]:
    return {"measure": ParamInfo(dtype=str, required=True, desc="a measure"), **info}


_OTHER_RESIDUALS = "'RBP(rel=1)' or \"CWLA(C='rbp(0.8)',A='erg',max_rel=3)\""


def _as_cell(metric: Metric) -> CWLAMeasure:
    """The same metric in the language of CWLA, with grades up to 3."""
    names = ("C", "A", "gain", "effort", "norm", "end", "unseen", "judged_only")
    return CWLA(**{name: getattr(metric, name) for name in names}, cutoff=metric.k, max_rel=3)


class _Residual(Wrapper):
    """How much higher the score could be: that if every unjudged and unseen item had the best gain, minus the score.

    Over the ideal (``norm="ideal"``), which judgments raise as well, it is the highest score that judgments can lead
    to, minus the score, where C and A are of ranks alone, as in nDCG: then score and residual are at most 1.
    ``is_a_bound`` says whether no judgment can lift the score by more; of most other normalised measures no bound is
    known.

    Source: Moffat and Zobel (2008), section 3.4.
    """

    __name__ = NAME = PRETTY_NAME = "Residual"
    SHORT_DESC = "How much higher the score could be if every unjudged and unseen item had the best gain."
    SUPPORTED_PARAMS = _wrapper()
    TAKES = f"a measure that follows a user model, such as {_OTHER_RESIDUALS}"

    def _takes(self, inner: Measure) -> bool:
        return inner.NAME in THEIRS or isinstance(inner, RowMeasure)

    def validate_params(self) -> None:
        """Raise BadParameter where there is no best case."""
        metric = self.metric
        if (reads(metric.C) | reads(metric.A)) & {"total", "found"}:
            raise BadParameter(
                f"no residual of {self.inner}: its score depends on how much there is to find, and unjudged documents"
                f" may add any amount. Ask for that of {_OTHER_RESIDUALS}."
            )
        try:
            metric.best  # noqa: B018  (an error now where there is no best gain)
        except BadParameter:
            if "max_rel" in self.inner.SUPPORTED_PARAMS:
                raise
            raise BadParameter(
                f"no residual of {self.inner}: it has no highest grade. Ask for that of {_as_cell(metric)}, with the"
                " highest grade as max_rel, or of 'RBP(rel=1)'."
            ) from None

    def computation(self) -> Computation:
        return _OfResidual(user_model_of(self.inner))

    @property
    def is_a_bound(self) -> bool:
        """Whether no judgment can lift the score by more than the residual; False where that is not known."""
        return residual_is_a_bound(self.metric)


class _GeometricMean(Wrapper):
    """The geometric mean over the queries of another measure: low scores weigh more.

    GM = exp((1/|Q|) Σ_q ln max(M_q, floor)). The value of a query is ln max(M_q, floor), as trec_eval has it for its
    gm_map; so whatever averages by itself, as PyTerrier's experiments do, shows ln GM.

    Source: Robertson (2006).
    """

    __name__ = NAME = PRETTY_NAME = "GeometricMean"
    SHORT_DESC = "The geometric mean over the queries of another measure: low scores weigh more."
    PARAMETERS = (*Wrapper.PARAMETERS, Parameter("floor", In("(0, 1]"), 1e-5))
    SUPPORTED_PARAMS = _wrapper(floor=ParamInfo(dtype=(int, float), default=1e-5, desc="what lower scores count as"))

    def _takes(self, inner: Measure) -> bool:
        return super()._takes(inner) and not isinstance(inner, _GeometricMean)

    def computation(self) -> Computation:
        return _OfLogarithms(computation_of(self.inner), self["floor"])

    def aggregator(self) -> Any:
        return GeometricMeanOfLogs()


class GeometricMeanOfLogs(MeanAgg):
    """The geometric mean of values whose logarithms are given."""

    def result(self) -> float:
        return self.of_mean(super().result())

    @staticmethod
    def of_mean(mean: float) -> float:
        """The geometric mean, from the mean of the logarithms."""
        return float(np.exp(mean))


class _IntentAware(Wrapper):
    """The expected score of another measure over the intents that a query may have.

    M_IA = Σ_t P(t|q)·M_t, M_t the score by the judgments of intent t alone, which the qrels' column ``iteration``
    tells apart. ``weights="uniform"``: every intent of which anything is relevant is as likely.

    Source: Agrawal et al. (2009); Chapelle et al. (2009), section 7.5.
    """

    __name__ = NAME = PRETTY_NAME = "IntentAware"
    SHORT_DESC = "The expected score of another measure over the intents that a query may have."
    PARAMETERS = (*Wrapper.PARAMETERS, Parameter("weights", Weights(), "uniform"))
    SUPPORTED_PARAMS = _wrapper(weights=ParamInfo(dtype=str, default="uniform", desc=str(Weights())))

    def _canonical(self, parameter: Parameter, value: Any) -> Any:
        if parameter.name != "weights":
            return super()._canonical(parameter, value)
        self._bound["weights"] = weights = bind_weights(value)
        return weights.name

    TAKES = "a measure that is computed here and itself no mean over intents or queries, such as 'TBG' or 'AP'"

    def _takes(self, inner: Measure) -> bool:
        return super()._takes(inner) and not isinstance(inner, _GeometricMean | _IntentAware)

    @property
    def weights(self) -> IntentWeights:
        return self._bound.get("weights") or bind_weights("uniform")

    def computation(self) -> Computation:
        return _OverIntents(computation_of(self.inner), self.weights)

    @property
    def named_content(self) -> Any:
        return self.weights.table

    @property
    def content(self) -> list[Any]:
        return [self.inner, self.weights]


def residual_of(measure: Measure) -> _Residual | None:
    """The residual of a measure; None where the measure is a residual itself, BadParameter where there is none."""
    return None if isinstance(measure, _Residual) else Residual(measure=measure)


@dataclass(frozen=True)
class _OfResidual:
    inner: OfUserModel

    @property
    def needs(self) -> Needs:
        return replace(self.inner.needs, all_judged=True, user_model=False)

    def prepare(self, judgments: Judged) -> Values:
        return of_answered(partial(residual, self.inner.metric_for(judgments)), all_judged=True)


@dataclass(frozen=True)
class _OfLogarithms:
    inner: Computation
    floor: float

    @property
    def needs(self) -> Needs:
        return replace(self.inner.needs, user_model=False)

    def prepare(self, judgments: Judged) -> Values:
        values = self.inner.prepare(judgments)
        return lambda aligned: np.log(np.maximum(values(aligned), self.floor))


@dataclass(frozen=True)
class _OverIntents:
    inner: Computation
    weights: IntentWeights

    @property
    def needs(self) -> Needs:
        return replace(self.inner.needs, intents=True, user_model=False)

    def prepare(self, judgments: Judged) -> Values:
        by_intent = [self.inner.prepare(own) for _, own in judgments.intents]
        P = self.weights.of(judgments)

        def values(aligned: Aligned) -> Array:
            scores = np.zeros(len(aligned.runs) * len(judgments.qids))
            for number, (p, of_intent) in enumerate(zip(P, by_intent, strict=True)):
                scores = scores + np.tile(p, len(aligned.runs)) * of_intent(aligned.of_intent(number))
            return scores

        return values


Residual, GeometricMean, IntentAware = _Residual(), _GeometricMean(), _IntentAware()


MEASURES: dict[str, CWLAMeasure] = {
    name: kind()
    for name, kind in {
        **_NAMED,
        "Residual": _Residual,
        "GeometricMean": _GeometricMean,
        "IntentAware": _IntentAware,
    }.items()
}
