"""Changes of a measure by one control: another measure, function, or value of a parameter."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import ir_measures
from ir_measures.measures import Measure

from ..errors import BadParameter, CWLAError, near
from ..measures.named import CWLAMeasure, cwla_of
from ..measures.of_ir_measures import metric_of
from ..measures.parsing import measures_of
from ..model.language import ROLES, TABLES, Grades, Named, Parameter, Spec, parse
from .controls import CHOICES, OWN, ROWS, START, clashing, numbers_of

_OWN_START: dict[str, dict[str, Any]] = {"CWLA": {"A": "erg"}, "RBP": {"rel": 1}}


def changed(measure: Measure, path: str, text: str, highest: float) -> Measure:
    """Return a measure with one control changed.

    Parameters
    ----------
    measure : ir_measures.Measure
        A measure with a user model.
    path : str
        The control: ``measure``, a choice such as ``C``, a parameter of a choice such as ``C.phi``, or a parameter of
        the measure such as ``half_life``.
    text : str
        The new value, in the syntax of measures; an empty text stands for no value.
    highest : float
        The highest grade of the judgments, for parameters that are not given.

    Raises
    ------
    BadParameter
        If the value is not allowed.
    UnknownSpec
        If there is no measure or function of this name.
    """
    if path == "measure":
        return _started(text, highest)
    role, _, inner = path.partition(".")
    if role == OWN:
        return _given(measure, {inner: _literal(text)})
    own = {p.name for p in ROWS[str(measure.NAME)].parameters} - clashing(measure)
    if inner:
        spec = _with_value(getattr(metric_of(measure, highest), role), inner.split("."), text)
        return _given(measure if role in own else _as_cwla(measure, highest), {role: spec})
    if role in CHOICES:
        return _with_choice(measure if role in own else _as_cwla(measure, highest), role, text, highest)
    if role in ("norm", "end") and role not in own:
        measure = _as_cwla(measure, highest)
    return _given(measure, {role: _literal(text)})


def _with_choice(measure: Measure, role: str, text: str, highest: float) -> Measure:
    """Return a measure with another function, and with what the function needs besides."""
    spec, metric = _first_spec(CHOICES[role][0], text, highest), metric_of(measure, highest)
    values: dict[str, Any] = {role: spec}
    if spec.part.wants_max_rel and metric.max_rel is None:
        values["max_rel"] = highest
    if role == "effort" and metric.unseen is None and replace(metric, effort=spec).unseen_effort is None:
        values["unseen"] = START["unseen"]
    return _given(measure, values)


def _started(name: str, highest: float) -> Measure:
    """Return the measure of a name, with values for the parameters that it needs."""
    row = ROWS.get(name)
    if row is None:
        raise BadParameter(f"no measure {name!r} with a user model. {near(name, ROWS)}")
    values: dict[str, Any] = {p.name: START[p.name] for p in row.parameters if p.required and p.name in START}
    values |= _OWN_START.get(name, {})
    if any(p.name == "max_rel" for p in row.parameters):
        values["max_rel"] = highest
    return _given(ir_measures.measures.registry[name], values)


def _given(measure: Measure, values: Mapping[str, Any]) -> Measure:
    """Return a measure with other values of parameters; None stands for the default."""
    if not isinstance(measure, CWLAMeasure):
        merged = {**measure.params, **values}
        return measures_of([type(measure)(**{name: value for name, value in merged.items() if value is not None})])[0]
    return measure(**values)


def _as_cwla(measure: Measure, highest: float) -> Measure:
    """Return the CWLA measure with the choices of a named measure."""
    metric = metric_of(measure, highest)
    return cwla_of(metric, max_rel=metric.max_rel or highest)


def _first_spec(kind: str, text: str, highest: float) -> Spec:
    """Return a function from its text, or from its name with values for the parameters that it needs."""
    part = TABLES[kind].get(text.strip())
    if part is None:
        return parse(text, kind)
    values, many = {}, ()
    for parameter in part.parameters:
        if parameter.many:
            many = _first_value(parameter, highest)
        elif parameter.required:
            values[parameter.name] = _first_value(parameter, highest)
    return part(*many, **values)


def _first_value(parameter: Parameter, highest: float) -> Any:
    grades = range(1, int(highest) + 1)
    if isinstance(parameter.allowed, Grades):
        return (
            {grade: grade / max(grades) for grade in grades}
            if parameter.name == "gains"
            else {0: 1, **dict.fromkeys(grades, 2)}
        )
    if parameter.name == "weights":
        return tuple(1 / len(grades) for _ in grades)
    if isinstance(parameter.allowed, Named) and parameter.allowed.kind == "discount":
        return "log2"
    if isinstance(parameter.allowed, Named) and parameter.allowed.kind == "effort":
        return "by_rank(10,5,2)" if parameter.name == "first" else "unit"
    start = START.get(parameter.name)
    try:
        return parameter.check(start, parameter.name)
    except CWLAError:
        numbers = numbers_of(parameter)
        return numbers[len(numbers) // 2]


def _with_value(spec: Spec, path: list[str], text: str) -> Spec:
    """Return a function with one parameter changed; `path` leads to it through functions among the parameters."""
    values = dict(spec.values)
    name, *inner = path
    if name not in values or (inner and not isinstance(values[name], Spec)):
        raise BadParameter(f"{spec} has no parameter {'.'.join(path)!r}. {near(name, values)}")
    if inner:
        values[name] = _with_value(values[name], inner, text)
    elif name == spec.part.many:
        numbers = _literal(f"({text},)") if text.strip() else ()
        return Spec.of(spec.part, numbers, {}, f"{ROLES[spec.part.kind]}={spec.name}")
    else:
        values[name] = _literal(text)
    many = values.pop(spec.part.many) if spec.part.many else ()
    return Spec.of(spec.part, many, values, f"{ROLES[spec.part.kind]}={spec.name}")


def _literal(text: str) -> Any:
    """Return a number, map or tuple from its text, None for an empty text, and other texts as they are."""
    text = text.strip()
    if not text:
        return None
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
