"""Scores of two rankings over the range of one parameter, and the values at which their order changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from ir_measures.measures import Measure
from scipy.optimize import brentq

from ..data.arrays import Floats
from ..errors import CWLAError
from ..errors.sanitise import harmless
from ..measures.of_ir_measures import followed
from ..model.scoring import normalised
from ..model.view_columns import seen_part
from ..model.walk_scores import over_all_ranks
from .controls import controls_of
from .states import Topic

_NOISE = 1e-12  # relative difference of scores that are taken as equal


def sweep_of(
    measure: Measure, path: str, values: Sequence[str], at: Callable[[str], Measure], topic: Topic
) -> dict[str, Any]:
    """Return the scores of the rankings of a topic over the values of one parameter, ready for JSON.

    Parameters
    ----------
    measure : ir_measures.Measure
        The measure.
    path : str
        The parameter, such as ``C.phi``.
    values : sequence of str
        Values of the parameter in ascending order.
    at : callable
        Function from a value of the parameter to the measure.
    topic : Topic
        The topic.
    """
    control = next(one for one in controls_of(measure, topic.highest) if one["path"] == path)
    scores = np.array([_scores(at(value), topic) for value in values]).T
    names = [*map(harmless, topic.runs)]
    answer: dict[str, Any] = {
        "path": path,
        "label": control["label"],
        "values": [*values],
        "now": control["value"],
        "scores": [_texts(of) for of in scores],
        "difference": None,
        "flips": [],
        "sentence": "",
    }
    if len(scores) == 2:
        symbol, whole = control["symbol"], control["range"].startswith("whole")
        answer["difference"] = _texts(scores[1] - scores[0], "+.4f")
        flips = _flips(scores, values, at, topic, whole)
        answer["flips"] = [{"value": value, "sentence": _of_flip(names, symbol, value, low)} for value, low in flips]
        answer["sentence"] = _who_wins(names, symbol, values, scores, answer["flips"])
    return answer


def _of_flip(names: Sequence[str], symbol: str, value: str, low: int) -> str:
    return f"At {symbol} = {value} the order changes: {names[low]} wins below, {names[1 - low]} above."


def _scores(measure: Measure, topic: Topic) -> Floats:
    """Return the score of each ranking, computed rank by rank; NaN where a measure has no finite value."""
    try:
        metric = followed(measure, topic.judgments)
        rankings = topic.aligned.rankings(metric.judged_only)
        return normalised(metric, over_all_ranks(metric, seen_part(metric, rankings)), rankings)
    except CWLAError:
        return np.full(len(topic.runs), np.nan)


def _signs(scores: Floats) -> Floats:
    """Return 1 where the second ranking scores higher, −1 where the first does, 0 if they are equal up to rounding."""
    difference = scores[1] - scores[0]
    equal = np.abs(difference) <= _NOISE * np.abs(scores).max(axis=0)
    signs: Floats = np.where(equal, 0.0, np.sign(difference))
    return signs


def _flips(
    scores: Floats, values: Sequence[str], at: Callable[[str], Measure], topic: Topic, whole: bool
) -> list[tuple[str, int]]:
    """Return the values at which the order changes, each with the number of the ranking that wins below it."""
    signs = _signs(scores)
    known = np.flatnonzero(np.isfinite(signs) & (signs != 0)).tolist()

    def difference(value: float) -> float:
        first, second = _scores(at(repr(value)), topic)
        return float(second - first)

    found = []
    for low, high in pairwise(known):
        if signs[low] == signs[high] or np.isnan(signs[low:high]).any():
            continue
        if whole or high > low + 1:  # equal scores in between
            value = values[high] if high == low + 1 else f"{values[low + 1]} to {values[high - 1]}"
        else:
            value = f"{brentq(difference, float(values[low]), float(values[high]), xtol=1e-10):.4g}"
        found.append((value, int(signs[low] > 0)))
    return found


def _who_wins(
    names: Sequence[str], symbol: str, values: Sequence[str], scores: Floats, flips: Sequence[dict[str, str]]
) -> str:
    """Return which ranking scores higher over the range, in words."""
    signs = _signs(scores)
    signs = signs[np.isfinite(signs)]
    span = f"{symbol} from {values[0]} to {values[-1]}"
    if not len(signs):
        return f"There are no scores for {span}."
    if not signs.any():
        return f"{names[0]} and {names[1]} have equal scores for {span}."
    if not flips:
        winner = names[int(signs.sum() > 0)]
        ties = " or the same" if (signs == 0).any() else ""
        return f"{winner} scores higher{ties} for {span}: the order never changes."
    first = int(signs[signs != 0][0] > 0)
    parts, below = [], first
    edges = [flip["value"] for flip in flips]
    for number, edge in enumerate(edges):
        start = f"from {edges[number - 1]} to {edge}" if number else f"below {edge}"
        parts.append(f"{names[below]} scores higher for {symbol} {start}")
        below = 1 - below
    return f"{'; '.join(parts)}; {names[below]} for {symbol} above {edges[-1]}."


def _texts(values: Floats, digits: str = ".4f") -> list[str | None]:
    return [format(value, digits) if np.isfinite(value) else None for value in values]
