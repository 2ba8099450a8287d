"""Measures of ir_measures that are computed here, and what computes each measure."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

from ir_measures.measures import Measure

from ..data.columns import Array
from ..data.rankings import Judged
from ..errors import BadParameter, UnknownSpec
from ..model.language import lacking
from ..model.metric import Metric
from . import counting
from .catalogue import THEIRS, gains_of_ndcg
from .computing import Better, Computation, Needs, OfRankings, OfUserModel, clipped_from_0_up, from_0_up, with_grades
from .diversity import DIVERSITY

COUNTS = {**counting.COUNTS, **DIVERSITY}


def is_computed_here(measure: Measure) -> bool:
    """Return whether this package computes measures of this name, at least with some parameters."""
    return hasattr(type(measure), "computation") or measure.NAME in {**THEIRS, **COUNTS}


def computation_of(measure: Measure) -> Computation:
    """Return the computation of a measure.

    Parameters
    ----------
    measure : ir_measures.Measure
        A measure of this package or of ir_measures.

    Returns
    -------
    Computation

    Raises
    ------
    BadParameter
        If a parameter is out of its range.
    UnknownSpec
        If only other providers of ir_measures support the measure or one of its parameters.
    """
    own: Callable[[], Computation] | None = getattr(measure, "computation", None)
    if own is not None:
        return own()
    name = str(measure.NAME)
    if name in THEIRS:
        return _of_row(measure)
    if name in COUNTS:
        return _of_count(measure, COUNTS[name])
    raise _not_here(measure)


def better_of(measure: Measure) -> Better | None:
    """Return which scores of a measure are better: "higher", "lower", or None if neither is.

    Higher scores are better for all measures of ir_measures except numbers of documents and of queries, and the share
    of judged documents.

    Examples
    --------
    >>> from ir_measures import nDCG, NumRet
    >>> better_of(nDCG @ 10), better_of(NumRet), better_of(NumRet(rel=1))
    ('higher', None, 'higher')
    """
    name = str(measure.NAME)
    if name in COUNTS:
        return COUNTS[name].better(measure.params)
    return getattr(measure, "better", "higher")


def needs_of(measure: Measure) -> Needs:
    """Return the needs of a measure; empty needs for measures that are not computed here."""
    own: Needs | None = getattr(measure, "needs", None)  # of session measures, which have no computation
    if own is not None:
        return own
    try:
        return computation_of(measure).needs
    except UnknownSpec:
        return Needs()


def user_model_of(measure: Measure) -> OfUserModel:
    """Return the computation of a measure with a user model.

    Raises
    ------
    BadParameter
        If the measure has no user model, or is not computed here.
    """
    try:
        found = computation_of(measure)
    except UnknownSpec:
        found = None
    if not isinstance(found, OfUserModel):
        raise BadParameter(
            f"{measure} follows no user model, or several. Choose another measure, such as 'TBG' or 'nDCG'."
        )
    return found


def metric_of(measure: Measure, highest: float | None = None) -> Metric:
    """Return the metric of a measure with a user model, with the present content of its files.

    Parameters
    ----------
    measure : ir_measures.Measure
        A measure with a user model.
    highest : float, optional
        The highest grade of the judgments.
    """
    return user_model_of(measure).current(highest)


def followed(measure: Measure, judgments: Judged) -> Metric:
    """Return the metric of a measure with a user model, after a check that it can score the judgments."""
    return user_model_of(measure).metric_for(judgments)


@lru_cache(maxsize=1024)  # one call of the package needs the same few measures several times
def _of_row(measure: Measure) -> OfUserModel | OfRankings:
    row = THEIRS[str(measure.NAME)]
    known = {p.name for p in row.parameters}
    given = measure.params
    if given.get("rel") == 0:
        rule = clipped_from_0_up if row.name == "RBP" else from_0_up  # RBP is cwl_eval's
        return with_grades(_of_row(measure(rel=1)), rule, rule.__name__)
    if given.get("gains") and given.get("dcg", "log2") != "log2":
        raise UnknownSpec(
            f"{measure}: ir_measures defines gains= for dcg='log2' only. Give the gains of dcg='exp-log2', 2^g − 1,"
            " for your grades g, such as nDCG(gains={1:1,2:3,3:7})."
        )
    if given.get("gains") and not _in_gain_function(given):
        return _of_gains(measure)
    metric = row.metric({name: value for name, value in given.items() if name in known})
    if any(name not in known and value != measure.SUPPORTED_PARAMS[name].default for name, value in given.items()):
        raise _not_here(measure)
    way_out = None if "max_rel" in measure.SUPPORTED_PARAMS else partial(_for_higher_grades, measure)
    return OfUserModel(metric, partial(_graded_within, measure, metric), way_out)


def _graded_within(measure: Measure, metric: Metric, highest: float | None) -> Metric:
    """Return the metric; RBP without ``rel`` and graded judgments raise BadParameter."""
    if measure.NAME == "RBP" and "rel" not in measure.params and highest is not None and highest > 1:
        raise BadParameter(
            f"{measure} without rel= uses grades as gains, and RBP of ir_measures has no parameter for the highest"
            f" grade. Write CWLA(C='rbp({measure['p']})',A='erg',max_rel={highest})."
        )
    return metric


def _for_higher_grades(measure: Measure, highest: float) -> str:
    """Return what stands for a measure whose highest grade is fixed, for judgments with a higher one."""
    cutoff = f"@{measure['cutoff']}" if "cutoff" in measure.params else ""
    row = THEIRS[str(measure.NAME)]
    return f"write CWLA(C={row.C!r},A={row.A!r},gain={row.gain!r},max_rel={highest}){cutoff}"


def _in_gain_function(given: dict[str, Any]) -> bool:
    """Return whether a gain function can give grades the ``gains`` of nDCG.

    Gains of grades below 1 are those of judged documents, while a gain function gives unjudged documents the gain of
    grade 0. trec_eval treats documents of negative gain as unjudged, which makes a difference with ``judged_only``.
    """
    gains, judged_only = given["gains"], given.get("judged_only", False)
    if not all(isinstance(number, int | float) for pair in gains.items() for number in pair):
        return True  # the gain function refuses them
    return min(gains) > 0 and not (judged_only and min(gains.values()) < 0)


def _of_gains(measure: Measure) -> OfRankings:
    """Return the computation of nDCG with gains in place of the grades of the judgments, as in ir_measures."""
    given = {name: value for name, value in measure.params.items() if name != "gains"}
    gains = gains_of_ndcg(measure.params["gains"])

    def replaced(grade: Array) -> Array:
        found = grade.astype(float)
        for one, worth in gains.items():
            found[grade == one] = worth
        return found

    return with_grades(_of_row(type(measure)(**given)), replaced, ("gains", tuple(sorted(gains.items()))))


def refuse_missing_parameters(measure: Measure) -> None:
    """Raise BadParameter if a parameter of a measure is missing that has no default value."""
    count = COUNTS.get(str(measure.NAME))
    for name in lacking(count.parameters, measure.params) if count else ():
        raise BadParameter(f"{measure.NAME} needs {name}=, as in {measure.NAME}@{0.1 if name == 'recall' else 20}.")


def _of_count(measure: Measure, count: counting.Count) -> Computation:
    refuse_missing_parameters(measure)
    for parameter in count.parameters:
        if parameter.name in measure.params and parameter.allowed.interval:
            value = measure.params[parameter.name]
            parameter.check(value, f"{measure.NAME}({parameter.name}={value!r})")
    return count.computation(measure.params)


def _not_here(measure: Measure) -> UnknownSpec:
    return UnknownSpec(
        f"{measure} is a measure of ir_measures that is not computed here: use ir_measures.calc_aggregate, which uses"
        " all providers. `pyterrier-cwla measures` lists all that are computed here."
    )
