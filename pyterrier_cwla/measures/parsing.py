"""Parse measures from text; errors suggest near matches for unknown names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import ir_measures
from ir_measures.measures import Measure

from ..errors import BadParameter, CWLAError, UnknownSpec, near, shown
from ..model.language import shortened
from .catalogue import THEIRS
from .labels import by_name, checked_label, label_in, labelled
from .named import CWLAMeasure
from .of_ir_measures import is_computed_here


def measures_of(texts: Iterable[object]) -> list[Measure]:
    """Return measures of ir_measures from their texts or objects.

    Parameters
    ----------
    texts : iterable of str or ir_measures.Measure, one of them, or dict of these by label
        The measures, such as ``"nDCG@10"``, or ``"early=nDCG@10"`` for a measure with a label.

    Returns
    -------
    list of ir_measures.Measure
        The measures in the order given. ``str`` of each is the name of its column.

    Raises
    ------
    BadParameter
        If a parameter is unknown, missing or out of its range; or if two different measures have the same name.
    UnknownSpec
        If a name is unknown; the error suggests near matches.
    """
    if isinstance(texts, Mapping):
        measures = [_labelled(_measure_of(text), checked_label(label)) for label, text in texts.items()]
    else:
        measures = [_measure_of(text) for text in listed(texts)]
    by_name(measures)
    return measures


def _measure_of(text: object) -> Measure:
    label = None
    if not isinstance(text, Measure):
        label, text = label_in(_text_of(text))
    measure = text if isinstance(text, Measure) else _parsed(text)
    if not isinstance(measure, CWLAMeasure):
        measure = _validated(measure)
    return measure if label is None else _labelled(measure, checked_label(label))


def _labelled(measure: Measure, label: str) -> Measure:
    return measure if str(measure) == label else labelled(measure, label)


def listed(measures: object) -> list[object]:
    """Return one or several measures as a list."""
    if isinstance(measures, str | Measure):
        return [measures]
    if not isinstance(measures, Iterable):
        raise BadParameter(
            f"measures must be a measure or a list of them, such as ['nDCG@10', 'TBG'], not {shown(measures)}."
        )
    return list(measures)


def _text_of(measure: object) -> str:
    if not isinstance(measure, str):
        raise BadParameter(
            f"a measure is a text, such as 'nDCG@10', or an object of ir_measures, not {shown(measure)}, of type"
            f" {type(measure).__name__}."
        )
    return measure


def _parsed(text: str) -> Measure:
    try:
        measure = ir_measures.parse_measure(text)
    except NameError:
        name = shortened(text.split("(")[0].split("@")[0].strip())
        known = near(name, _computed())
        raise UnknownSpec(f"no measure {name!r}. {known} `pyterrier-cwla measures` lists all.") from None
    except CWLAError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, MemoryError) as error:
        if re.search(r"=\s*-", text):
            raise BadParameter(f"{shortened(text)}: parameters must not be negative.") from error
        text = shortened(text)
        raise UnknownSpec(f"cannot read the measure {text!r}: write Name(parameter=value)@cutoff.") from error
    return measure


def _computed() -> list[str]:
    """Return the names of measures that are computed here, including aliases of ir_measures."""
    return [name for name, measure in ir_measures.measures.registry.items() if is_computed_here(measure)]


def _validated(measure: Measure) -> Measure:
    """Return a measure of ir_measures with valid parameters.

    ir_measures itself raises AssertionError without a message for some of them, and rejects whole numbers such as T=2.
    """
    known = measure.SUPPORTED_PARAMS
    for name, value in list(measure.params.items()):
        if name not in known:
            raise BadParameter(f"{measure.NAME} has no parameter {name!r}. {near(name, known)}")
        small = isinstance(value, int) and abs(value) < 2**53
        if small and not known[name].validate(value) and known[name].validate(float(value)):
            measure = measure(**{name: float(value)})
    allowed = {p.name: p.allowed for p in THEIRS[measure.NAME].parameters} if measure.NAME in THEIRS else {}
    for name, parameter in known.items():
        if parameter.required and name not in measure.params:
            example = f", as in {measure.NAME}@10" if name == "cutoff" else ""
            raise BadParameter(f"{measure.NAME} needs {name}={example}.")
        if name in measure.params and not parameter.validate(measure.params[name]):
            what = allowed.get(name) or parameter.desc or "of another type"
            raise BadParameter(f"{measure.NAME}({name}={measure.params[name]!r}): {name} must be {what}.")
    return measure
