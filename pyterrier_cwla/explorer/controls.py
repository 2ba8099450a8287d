"""Controls of a measure: its choices and parameters, the values that each can take, and changes of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import ir_measures
import numpy as np
from ir_measures.measures import Measure

from ..errors import BadParameter, CWLAError, near
from ..measures.catalogue import ROWS
from ..measures.declarations import metric_of
from ..measures.entries import Entry, documented_parameters, norms, of_measure, of_part
from ..measures.named import CWLAMeasure, cwla_of, measure_of
from ..model.language import FLAG, ROLES, TABLES, In, Parameter, Part, Spec, float_or_int, parse, read_values, written
from ..model.metric import Metric

Control = dict[str, Any]
CHOICES = {
    "C": ("continuation", "Continuation C: does the user go on?"),
    "A": ("aggregation", "Aggregation A: what does the user value?"),
    "gain": ("gain", "Gain: what is a grade worth?"),
    "effort": ("effort", "Effort: what does a document cost?"),
}
_ENDS = {"open": "open: the list goes on without gain", "stop": "stop: all users leave at the last result"}
_NORM, _END = "Normaliser: what is the score divided by?", "End of the list"
_STEPS = 200  # values of a slider
_FEW = {"rel": 4, "min_rel": 2, "max_rel": 10}  # highest values of sliders of grades
_WIDE = 1e6  # an interval with a higher end is treated as one without an end
_SYMBOLS = {"phi": "φ", "gamma": "γ", "theta": "θ", "delta": "δ", "beta": "β"}
_LEFT_OUT = frozenset(
    {"lengths", "costs", "duplicates", "duplicate_gain", "calibration", "judged_only", "missing", "gains"}
)
#: Values of required parameters when a function or measure is chosen, and centres of sliders without an upper end.
START: dict[str, Any] = {
    "cutoff": 10, "k": 10, "T": 2, "K": 10, "A": 0.5, "phi": 0.8, "gamma": 0.9, "theta": 0.5, "delta": 0.8,
    "beta": 0.5, "p": 1, "times": 2, "values": (0.9, 0.5, 0), "C": "rbp(0.8)", "half_life": 224, "unseen": 10,
    "shape": 0.8, "scale": 224, "costs": (10, 5, 2), "first": "rbp(0.9)", "second": "rr",
}  # fmt: skip
_OWN_START: dict[str, dict[str, Any]] = {"CWLA": {"A": "erg"}, "RBP": {"rel": 1}, "UMeasure": {"T": 300}}


def _path(parameter: Parameter) -> str:
    """Return the path of a parameter of a measure; numbers named like a choice, as A of IFTRate, have a prefix."""
    return f"own.{parameter.name}" if parameter.name in CHOICES and parameter.allowed.interval else parameter.name


def controls_of(measure: Measure, highest: float) -> list[Control]:
    """Return the controls of a measure: the measure, its choices, and its parameters.

    Parameters
    ----------
    measure : ir_measures.Measure
        A measure with a user model.
    highest : float
        The highest grade of the judgments.
    """
    metric = metric_of(measure, highest)
    return [_measures(measure), *_choices(metric), *_parameters(measure, metric, highest)]


def control_of(measure: Measure, path: str, highest: float, kind: str = "") -> Control:
    """Return the control with a path, of a kind such as "number" or of any kind.

    Raises
    ------
    BadParameter
        If the measure has no such control.
    """
    known = {one["path"]: one for one in controls_of(measure, highest) if kind in ("", one["kind"])}
    if path not in known:
        raise BadParameter(f"{measure} has no {kind or 'control'} {path!r} to change. {near(path, known)}")
    return known[path]


# ---- the measure and its choices


def _measures(measure: Measure) -> Control:
    name = str(measure.NAME)
    says = _entry(name).summary
    return {**_choice("measure", "Measure", name, _names(), says), "group": "measure"}


@lru_cache
def _names() -> dict[str, str]:
    titles = {name: getattr(_entry(name).equation, "title", "") for name in ROWS}
    titles["CWLA"] = "any user model with any aggregation"
    return {name: _labelled(name, title) for name, title in titles.items()}


@lru_cache
def _entry(name: str) -> Entry:
    return of_measure(ROWS[name])


def _choices(metric: Metric) -> Iterator[Control]:
    for role, (kind, label) in CHOICES.items():
        spec = getattr(metric, role)
        parts = {name: part for name, part in TABLES[kind].items() if name not in {"given"} - {spec.name}}
        options = {name: _labelled(name, _summary(part)) for name, part in parts.items()}
        yield _choice(role, label, spec.name, options, _summary(spec.part))
    yield _choice("norm", _NORM, metric.norm, _norms(), "")
    shown = [*_ENDS, "5", "10", "20", "100", str(metric.end)]
    ends = {end: _ENDS.get(end, f"rank {end}: all users leave there") for end in shown}
    yield _choice("end", _END, str(metric.end), ends, "")


@lru_cache
def _norms() -> dict[str, str]:
    return {entry.name: _labelled(entry.name, entry.says) for entry in norms()}


def _choice(path: str, label: str, value: str, options: Mapping[str, str], says: str) -> Control:
    listed = [{"value": one, "label": shown} for one, shown in options.items()]
    choice = {"path": path, "kind": "choice", "group": "choices", "label": label, "value": value}
    return {**choice, "options": listed, "says": says}


def _labelled(name: str, says: str) -> str:
    return f"{name}: {says}" if says else name


@lru_cache(maxsize=256)
def _summary(part: Part) -> str:
    return of_part(part).says


# ---- parameters


def _parameters(measure: Measure, metric: Metric, highest: float) -> Iterator[Control]:
    """Yield the parameters of a named measure, or those of the functions that a CWLA measure names."""
    row = ROWS[str(measure.NAME)]
    for parameter in row.parameters:
        if parameter.name in CHOICES and not parameter.allowed.interval:
            spec = getattr(metric, parameter.name)
            yield from _of_spec(spec, parameter.name)
        elif parameter.name == "unseen" and metric.unit_effort:
            continue
        elif parameter.name not in (*_LEFT_OUT, "norm", "end"):
            value = measure.params.get(parameter.name, parameter.default)
            if parameter.name == "max_rel":
                parameter = Parameter("max_rel", In(f"[{max(highest, 1):g}, 1e15]", whole=True))
                value = metric.max_rel or highest
            yield _of_parameter(parameter, _path(parameter), value, str(measure.NAME), _meaning(measure, parameter))


def _of_spec(spec: Spec, path: str) -> Iterator[Control]:
    meanings = documented_parameters(spec.part.__doc__)
    for parameter, (name, value) in zip(spec.part.parameters, spec.values, strict=True):
        inner = f"{path}.{name}"
        if isinstance(value, Spec):
            yield from _of_spec(value, inner)
        else:
            yield _of_parameter(parameter, inner, value, spec.name, meanings.get(name, ""))


def _of_parameter(parameter: Parameter, path: str, value: Any, of: str, says: str) -> Control:
    symbol = _SYMBOLS.get(parameter.name, parameter.name.replace("_", " "))
    label = f"{symbol} ({parameter.name}) of {of}" if parameter.name in _SYMBOLS else f"{symbol} of {of}"
    if parameter.name == "cutoff":
        symbol, label = "k", f"k, the number of results that {of} scores (@k)"
    common = {"path": path, "group": "parameters", "label": label, "value": text_of(value), "says": says}
    if choices := parameter.allowed.choices or ("False", "True") * (parameter.allowed == FLAG):
        options = [{"value": name, "label": name} for name in choices]
        return {**common, "kind": "choice", "options": options}
    if parameter.allowed.interval and not parameter.many:
        steps = _steps(parameter, value)
        interval = parameter.allowed.interval.replace("inf", "∞").replace("1e15", "10¹⁵")
        whole = "whole number in " if parameter.allowed.whole else ""
        slider = {"steps": steps, "at": steps.index(text_of(value)), "range": whole + interval}
        return {**common, "kind": "number", **slider, "sweep": len([*filter(None, steps)]) > 2, "symbol": symbol}
    return {**common, "kind": "text"}


def text_of(value: Any) -> str:
    """Return a value of a parameter as text in the syntax of measures; no value is empty."""
    if value is None:
        return ""
    return ", ".join(map(written, value)) if isinstance(value, tuple) else written(value)


def _steps(parameter: Parameter, value: Any) -> list[str]:
    """Return the values of a slider, with the present value and, where it is allowed, none."""
    steps = {text_of(number): number for number in numbers_of(parameter, value)}
    if value is not None:
        steps.setdefault(text_of(value), value)
    ordered = sorted(steps, key=steps.__getitem__)
    return ["", *ordered] if parameter.default is None and not parameter.required else ordered


def numbers_of(parameter: Parameter, value: float | None = None) -> list[float]:
    """Return about 200 allowed values of a number: over its range, or around its default if the range has no end.

    They reach beyond the present value where it is far above the default.
    """
    low, high = (float(end) for end in parameter.allowed.interval[1:-1].split(","))
    default = parameter.default if isinstance(parameter.default, int | float) else START.get(parameter.name, 1)
    numbers: list[float]
    if parameter.name in _FEW:
        numbers = list(range(int(low), max(int(low), _FEW[parameter.name]) + 1))
    elif parameter.allowed.whole:
        numbers = [*range(int(low), 100), *range(100, 1001, 10)]
    elif high < _WIDE:
        numbers = [round(float(number), 6) for number in np.linspace(low, high, _STEPS + 1)]
    else:
        first, last = (default or 1) / 50, (default or 1) * 50
        last = last if value is None or value <= last else value * 50
        numbers = [low, *(float(f"{n:.3g}") for n in np.geomspace(max(low, first), last, _STEPS))]
    return [float_or_int(number) for number in numbers if number in parameter.allowed]


def _meaning(measure: Measure, parameter: Parameter) -> str:
    """Return what a parameter of a measure means."""
    if parameter.name == "cutoff":
        return "Only the first k results are scored; users may go on below them, where nothing has a gain."
    means = next((p.means for p in _entry(str(measure.NAME)).parameters if p.name == parameter.name), "")
    return f"{means[:1].upper()}{means[1:]}." if means else ""


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
        return _started(text, highest, measure)
    own = {_path(parameter): parameter.name for parameter in ROWS[str(measure.NAME)].parameters}
    if path in own and path not in CHOICES:
        return _given(measure, {own[path]: _value(text)})
    role, *inner = path.split(".")
    if role not in own:
        measure = _as_cwla(measure, highest)
    if inner:
        return _given(measure, {role: _with_value(getattr(metric_of(measure, highest), role), inner, text)})
    return _with_choice(measure, role, text, highest) if role in CHOICES else _given(measure, {role: _value(text)})


def _with_choice(measure: Measure, role: str, text: str, highest: float) -> Measure:
    """Return a measure with another function, and with what the function needs besides."""
    spec, metric = _first_spec(CHOICES[role][0], text, highest), metric_of(measure, highest)
    values: dict[str, Any] = {role: spec}
    if spec.part.wants_max_rel and metric.max_rel is None:
        values["max_rel"] = highest
    if role == "effort" and metric.unseen is None and replace(metric, effort=spec).unseen_effort is None:
        values["unseen"] = START["unseen"]
    return _given(measure, values)


def _started(name: str, highest: float, before: Measure) -> Measure:
    """Return the measure of a name, with values for the parameters that it needs, and the budget of the one before."""
    row = ROWS.get(name)
    if row is None:
        raise BadParameter(f"no measure {name!r} with a user model. {near(name, ROWS)}")
    values: dict[str, Any] = {p.name: START[p.name] for p in row.parameters if p.required and p.name in START}
    values |= _OWN_START.get(name, {})
    if any(p.name == "max_rel" for p in row.parameters):
        values["max_rel"] = highest
    made = _given(ir_measures.measures.registry[name], values)
    budgets = all("T" in one.params and metric_of(one, highest).C.name == "budget" for one in (made, before))
    return _given(made, {"T": before.params["T"]}) if budgets else made


def _given(measure: Measure, values: Mapping[str, Any]) -> Measure:
    """Return a measure with other values of parameters; None stands for the default."""
    if not isinstance(measure, CWLAMeasure):
        merged = {**measure.params, **values}
        return measure_of(type(measure)(**{name: value for name, value in merged.items() if value is not None}))
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
    needed = [parameter for parameter in part.parameters if parameter.many or parameter.required]
    values = {parameter.name: _first_value(parameter, highest) for parameter in needed}
    return _with_values(part, values)


def _first_value(parameter: Parameter, highest: float) -> Any:
    grades = range(1, int(highest) + 1)
    if parameter.allowed.by_grade:
        gains = {grade: grade / max(grades) for grade in grades}
        return gains if parameter.name == "gains" else {0: 1, **dict.fromkeys(grades, 2)}
    if parameter.name == "weights":
        return (1 / len(grades),) * len(grades)
    if parameter.allowed.function == "discount":
        return "log2"
    if parameter.allowed.function == "effort":
        return "by_rank(10,5,2)" if parameter.name == "first" else "unit"
    start = START.get(parameter.name)
    try:
        return parameter.check(start, parameter.name)
    except CWLAError:
        numbers = numbers_of(parameter)
        return numbers[len(numbers) // 2]


def _with_value(spec: Spec, path: list[str], text: str) -> Spec:
    """Return a function with one parameter changed; `path` leads to it through functions among the parameters."""
    name, *inner = path
    values = dict(spec.values)
    if inner:
        values[name] = _with_value(values[name], inner, text)
    else:
        values[name] = read_values(text) if name == spec.part.many else _value(text)
    return _with_values(spec.part, values)


def _with_values(part: Part, values: dict[str, Any]) -> Spec:
    many = values.pop(part.many) if part.many else ()
    return part.with_values(many, values, f"{ROLES[part.kind]}={part.name}")


def _value(text: str) -> Any:
    """Return a number or map from its text, None for an empty text, and other texts as they are."""
    values = read_values(text)
    return values[0] if len(values) == 1 else text.strip() or None
