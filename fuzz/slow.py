"""Scores of one ranking by the loops of tests/support/reference.py, for the metrics that it supports."""

from __future__ import annotations

import inspect
import math
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from ir_measures.measures import Measure

from pyterrier_cwla.measures.declarations import metric_of, needs_of
from pyterrier_cwla.measures.wrappers import innermost, layers
from pyterrier_cwla.model.language import parse
from tests.support import reference

_MOST = 500  # largest parameter for which the loops are fast
_KNOWN: dict[str, dict[str, Any]] = {
    "gain": reference.GAINS,
    "effort": reference.EFFORTS,
    "continuation": reference.CONTINUATIONS,
    "aggregation": reference.AGGREGATIONS,
}
_PLAIN = {("table", "gains"): "map"}  # parameters with another name in the reference
_LEFT_OUT = {"min_rel": 0, "others": "error"}  # parameters that the reference lacks, with the values that it assumes


def value(
    measure: Measure, grades: Sequence[int | None], judged: Sequence[int], words: Sequence[float],
    judged_words: Sequence[float], highest: int,
) -> float | None:  # fmt: skip
    """Return the score of a ranking, 0 for an empty one; None if it is undefined or the reference lacks the measure."""
    if measure.NAME == "GeometricMean":
        _, inner, *_ = layers(measure)
        found = value(inner, grades, judged, words, judged_words, highest)
        return None if found is None else math.log(max(found, measure["floor"]))
    if measure.NAME == "ESL":  # needs the ties, not only the grades
        return None
    if not grades:
        return 0.0
    try:
        if measure.NAME == "QMeasure":
            return _q_measure(measure, grades, judged)
        if needs_of(measure).intents or not needs_of(innermost(measure)).user_model:
            return None
        metric = metric_of(innermost(measure), highest)
        return score(metric, grades, judged, words, judged_words, measure.NAME == "Residual")
    except (ValueError, KeyError, OverflowError, ZeroDivisionError):  # undefined, or outside the range of floats
        return None


def _q_measure(measure: Measure, grades: Sequence[int | None], judged: Sequence[int]) -> float | None:
    beta, rel, cutoff = measure["beta"], measure["rel"], measure["cutoff"]
    gain = _part(parse(measure["gain"], "gain"))
    if gain is None or not all(map(_moderate, (beta, rel, cutoff or 0))):
        return None
    if measure["judged_only"]:
        grades = [grade for grade in grades if grade is not None and grade >= 0]
    gain_of = partial(reference.gain_of, gain=gain, max_rel=None)
    return reference.q_measure(grades, judged, beta, gain_of, rel, cutoff, measure["normalise"])


def score(
    metric: Any, grades: Sequence[int | None], judged: Sequence[int], words: Sequence[float], judged_words: Sequence[float],
    residual: bool = False,
) -> float | None:  # fmt: skip
    """Return the score of a ranking with these grades (None: unjudged); None if the reference lacks the metric.

    Raises ValueError if the score is undefined.
    """
    parts = {role: _part(getattr(metric, role)) for role in ("C", "A", "gain", "effort")}
    frame = (metric.cutoff, metric.max_rel, metric.unseen, 0 if isinstance(metric.end, str) else metric.end - 500)
    if None in parts.values() or metric.duplicates is not None or any(abs(n) > _MOST for n in frame if n is not None):
        return None
    if metric.judged_only:  # negative grades count as unjudged
        kept = [at for at, grade in enumerate(grades) if grade is not None and grade >= 0]
        grades, words = [grades[at] for at in kept], [words[at] for at in kept]
    options: dict[str, Any] = {
        **parts, "max_rel": metric.max_rel, "end": metric.end, "k": metric.cutoff, "norm": metric.norm, "judged": judged,
        "words": words, "judged_words": judged_words, "unseen": None if metric.unit_effort else metric.unseen,
    }  # fmt: skip
    with _soon():
        reference.normaliser(grades, **options)
        return (reference.residual if residual else reference.score)(grades, **options)
    return None


class _TooLong(BaseException):
    pass


@contextmanager
def _soon(seconds: float = 0.2) -> Iterator[None]:
    """Interrupt loops that take longer."""

    def leave(*_: object) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGALRM, leave)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except _TooLong:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def close(found: float, slow: float) -> bool:
    """Return whether two scores agree within rounding errors."""
    return math.isclose(found, slow, rel_tol=1e-8, abs_tol=1e-9)


def _part(spec: Any) -> tuple[str, dict[str, Any]] | None:
    """Name and parameters of a function in the reference, or None if the reference lacks it."""
    name = spec.name
    if spec.part.kind == "discount" or name == "by_rank":  # the reference has one effort for all unseen items
        return None
    if (spec.part.kind, name) == ("aggregation", "erg"):
        return name, {}
    function = _KNOWN[spec.part.kind].get(name)
    if function is None or not spec.part.built_in:
        return None
    if name == "ift_goal" and spec["T"] * spec["R1"] > 18:  # cancellation leaves few correct digits of L
        return None
    parameters: dict[str, Any] = {}
    for parameter, value in spec.values:
        known = _PLAIN.get((name, parameter), parameter)
        if _LEFT_OUT.get(parameter, ...) == value or value is None:
            continue
        if parameter in _LEFT_OUT or not _moderate(value):
            return None
        if hasattr(value, "part"):
            inner = (value.name, {}) if value.name in ("reciprocal", "log2") else _part(value)
            if inner is None or "rel" in inner[1] or "R" in inner[1]:  # functions in products depend on gains there
                return None
            value = inner[0] if value.part.kind == "discount" else inner
        parameters[known] = list(value) if isinstance(value, tuple) and parameter in ("values", "weights") else value
    takes = {*inspect.signature(function).parameters, "rel", "R"}
    return (name, parameters) if {*parameters} <= takes else None


def _moderate(value: Any) -> bool:
    """Whether sums with this number converge fast and are accurate to nine digits."""
    if isinstance(value, Mapping):
        return all(map(_moderate, [*value, *value.values()]))
    if isinstance(value, tuple):
        return len(value) <= 50 and all(map(_moderate, value))
    return not isinstance(value, int | float) or value == 0 or 1e-3 <= abs(value) <= _MOST
