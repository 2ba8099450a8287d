"""How each measure is computed, those of ir_measures included."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

from ir_measures.measures import Measure

from ..data.ranked_rows import Judged
from ..errors import BadParameter, UnknownSpec
from ..model.metric import Metric
from .catalogue import THEIRS
from .computing import Computation, Needs, OfUserModel
from .counting import COUNTS, Count


def is_computed_here(measure: Measure) -> bool:
    """Whether this package computes measures of this name, some parameters apart."""
    return hasattr(type(measure), "computation") or measure.NAME in {**THEIRS, **COUNTS}


def computation_of(measure: Measure) -> Computation:
    """How a measure, of this package or of ir_measures, is computed here.

    Raises
    ------
    BadParameter
        If a parameter is out of the range in which the equations hold.
    UnknownSpec
        If the measure, or one of its parameters, is supported by other providers of ir_measures only.
    """
    own = getattr(measure, "computation", None)
    if own is not None:
        return own()
    name = str(measure.NAME)
    if name in THEIRS:
        return _of_row(measure)
    if name in COUNTS:
        return _of_count(measure, COUNTS[name])
    raise _not_here(measure)


def needs_of(measure: Measure) -> Needs:
    """What a measure needs; what is not computed here needs nothing that is known."""
    try:
        return computation_of(measure).needs
    except UnknownSpec:
        return Needs()


def user_model_of(measure: Measure) -> OfUserModel:
    """The computation of a measure that follows a user model.

    Raises
    ------
    BadParameter
        If the measure follows none, or is not computed here.
    """
    try:
        found = computation_of(measure)
    except UnknownSpec:
        found = None
    if not isinstance(found, OfUserModel):
        raise BadParameter(f"{measure} follows no user model here: there are no ranks to look at.")
    return found


def metric_of(measure: Measure, highest: float | None = None) -> Metric:
    """The metric that a measure of a user model means now, its files being as they are.

    ``highest`` is the highest grade of the judgments.
    """
    return user_model_of(measure).current(highest)


def followed(measure: Measure, judgments: Judged) -> Metric:
    """The metric behind a measure of a user model, for judgments that it can score."""
    return user_model_of(measure).metric_for(judgments)


@lru_cache(maxsize=1024)  # several parts of a call ask for the same few measures
def _of_row(measure: Measure) -> OfUserModel:
    row = THEIRS[str(measure.NAME)]
    known = {p.name for p in row.parameters}
    given = measure.params
    own = {name: value for name, value in given.items() if name in known}
    metric = row.metric(own) if "gains" in own else _kept_metric(row.name, **own)  # a dict of gains is no key
    if any(name not in known and value != measure.SUPPORTED_PARAMS[name].default for name, value in given.items()):
        raise _not_here(measure)
    if given.get("gains") and not _supports_gains(given):
        raise _not_here(measure)
    return OfUserModel(metric, partial(_graded_within, measure, metric))


@lru_cache(maxsize=1024, typed=True)
def _kept_metric(row: str, **values: Any) -> Metric:
    """The metric of a row: one call of the package asks for it several times."""
    return THEIRS[row].metric(values)


def _graded_within(measure: Measure, metric: Metric, highest: float | None) -> Metric:
    """The metric, where it has a highest grade if the judgments are graded."""
    if measure.NAME == "RBP" and "rel" not in measure.params and highest is not None and highest > 1:
        raise BadParameter(
            f"{measure} without rel= is graded, and ir_measures' RBP has no highest grade: write"
            f" CWLA(C='rbp({measure['p']})',A='erg',max_rel={highest})."
        )
    return metric


def _supports_gains(given: dict[str, Any]) -> bool:
    """Whether nDCG's ``gains`` can be computed here.

    Gains of grades below 1 cannot: unjudged documents would gain as well. trec_eval takes documents of negative gain
    for unjudged, which matters where the unjudged are left out.
    """
    gains, judged_only = given["gains"], given.get("judged_only", False)
    return min(gains) > 0 and given.get("dcg", "log2") == "log2" and not (judged_only and min(gains.values()) < 0)


def _of_count(measure: Measure, count: Count) -> Computation:
    if measure.params.get("rel", 1) < 1:
        raise _not_here(measure)
    return count.computation(measure.params)


def _not_here(measure: Measure) -> UnknownSpec:
    return UnknownSpec(
        f"{measure} is a measure of ir_measures that is not computed here: use ir_measures.calc_aggregate, which asks"
        " all providers. `pyterrier-cwla measures` lists all that are computed here."
    )
