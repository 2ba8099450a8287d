"""The table of all measures that are computed here, and what computes each measure."""

from __future__ import annotations

from functools import lru_cache

from ir_measures.measures import Measure

from ..data.alignment import Judgments
from ..errors import BadParameter, UnknownSpec
from ..model.language import lacking
from ..model.metric import Metric
from .catalogue import ROWS, Row, not_computed_here
from .computing import Better, Computation, Declaration, Needs, OfUserModel
from .counting import COUNTS
from .diversity import DIVERSITY

DECLARATIONS: dict[str, Declaration] = {**ROWS, **COUNTS, **DIVERSITY}
"""Declarations of all measures by name; `wrappers` and `sessions` add those of other measures and of sessions."""


def declaration_of(measure: Measure) -> Declaration | None:
    """Return the declaration of a measure, or None if it is not computed here."""
    own: Declaration | None = getattr(type(measure), "DECLARATION", None)
    return own or DECLARATIONS.get(str(measure.NAME))


def row_of(measure: Measure) -> Row | None:
    """Return the declaration of a measure that follows one user model, or None for others."""
    declaration = declaration_of(measure)
    return declaration if isinstance(declaration, Row) else None


def is_computed_here(measure: Measure) -> bool:
    """Return whether this package computes measures of this name, at least with some parameters."""
    return declaration_of(measure) is not None


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
    return measure.computation() if hasattr(measure, "computation") else _of_ir_measures(measure)


@lru_cache(maxsize=1024)  # one call of the package needs the same few measures several times
def _of_ir_measures(measure: Measure) -> Computation:
    declaration = declaration_of(measure)
    if declaration is None:
        raise not_computed_here(measure)
    refuse_missing_parameters(measure)
    return declaration.computation(measure)


_EXAMPLES = {"max_rel": 3, "cutoff": 10, "recall": 0.1}


def refuse_missing_parameters(measure: Measure) -> None:
    """Raise BadParameter if a parameter of a measure of ir_measures is missing that has no default value."""
    declaration = declaration_of(measure)
    declared = () if declaration is None else lacking(declaration.parameters, measure.params)
    known = measure.SUPPORTED_PARAMS
    missing = [name for name in known if name not in measure.params and (known[name].required or name in declared)]
    if not missing or hasattr(measure, "DECLARATION"):
        return
    example = ""
    if {*missing} <= {*_EXAMPLES}:
        example = f", as in {measure(**{name: _EXAMPLES[name] for name in missing})!r}"
        if "max_rel" in missing:
            example += ", with the highest grade of the judgments in place of 3"
    raise BadParameter(f"{measure.NAME} needs {' and '.join(f'{name}=' for name in missing)}{example}.")


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
    declaration = declaration_of(measure)
    declared = "higher" if declaration is None else declaration.better(measure.params)
    return getattr(measure, "better", declared)


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


def followed(measure: Measure, judgments: Judgments) -> Metric:
    """Return the metric of a measure with a user model, after a check that it can score the judgments."""
    return user_model_of(measure).metric_for(judgments)
