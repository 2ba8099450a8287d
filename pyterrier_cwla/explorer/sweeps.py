"""Scores of two rankings over the range of one parameter, and the values at which their order changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
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
from .controls import Control
from .states import Topic

_NOISE = 1e-12  # relative difference of scores that are taken as equal


def sweep_of(slider: Control, at: Callable[[str], Measure], topic: Topic) -> dict[str, Any]:
    """Return the scores of the rankings of a topic over the values of one parameter, ready for JSON.

    Parameters
    ----------
    slider : dict
        The slider of the parameter, from :func:`control_of`.
    at : callable
        Function from a value of the parameter to the measure.
    topic : Topic
        The topic.
    """
    values = [value for value in slider["steps"] if value]
    scores = np.array([_scores(at(value), topic) for value in values]).T
    names = [*map(harmless, topic.runs)]
    answer: dict[str, Any] = {
        "path": slider["path"],
        "label": slider["label"],
        "values": values,
        "now": slider["value"],
        "scores": [_texts(of) for of in scores],
        "difference": None,
        "flips": [],
        "sentence": "",
    }
    if len(scores) == 2:
        symbol, whole = slider["symbol"], slider["range"].startswith("whole")
        answer["difference"] = _texts(scores[1] - scores[0], "+.4f")
        flips = _flips(scores, values, at, topic, whole)
        answer["flips"] = [{"value": flip.value, "sentence": flip.sentence(names, symbol)} for flip in flips]
        answer["sentence"] = _who_wins(names, symbol, values, scores, flips)
    return answer


@dataclass(frozen=True)
class _Flip:
    """Values at which the order changes.

    Attributes
    ----------
    below : int
        The ranking that wins below them.
    first, last : str
        The first and the last of these values, at which the scores are equal.
    wins_there : bool
        Whether the other ranking wins at the value already, instead of equal scores.
    """

    below: int
    first: str
    last: str
    wins_there: bool = False

    @property
    def value(self) -> str:
        return self.first if self.first == self.last else f"{self.first} to {self.last}"

    @property
    def since(self) -> str:
        return f"from {self.last} on" if self.wins_there else f"above {self.last}"

    def sentence(self, names: Sequence[str], symbol: str) -> str:
        since = "from there on" if self.wins_there else "above"
        who = f"{names[self.below]} wins below, {names[1 - self.below]} {since}"
        return f"At {symbol} = {self.value} the order changes: {who}."


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
) -> list[_Flip]:
    """Return the values at which the order changes."""
    signs = _signs(scores)
    known = np.flatnonzero(np.isfinite(signs) & (signs != 0)).tolist()

    def difference(value: float) -> float:
        first, second = _scores(at(repr(value)), topic)
        return float(second - first)

    def edge(signed: float, equal: float) -> str:
        """Return where equal scores begin or end, between a value with a difference and one without."""
        for _ in range(40):
            middle = (signed + equal) / 2
            signed, equal = (middle, equal) if abs(difference(middle)) > _NOISE else (signed, middle)
        return f"{equal:.4g}"

    numbers = [float(value) for value in values]
    found = []
    for low, high in pairwise(known):
        if signs[low] == signs[high]:
            continue
        below = int(signs[low] > 0)
        if np.isnan(signs[low:high]).any():  # no scores in between
            found.append(_Flip(below, values[low], values[high]))
        elif high > low + 1 and whole:  # equal scores in between
            found.append(_Flip(below, values[low + 1], values[high - 1]))
        elif high > low + 1:
            first, last = edge(numbers[low], numbers[low + 1]), edge(numbers[high], numbers[high - 1])
            found.append(_Flip(below, first, last))
        elif whole:
            found.append(_Flip(below, values[high], values[high], wins_there=True))
        else:
            with suppress(ValueError):  # a user's function that gives other values each time
                root = f"{brentq(difference, numbers[low], numbers[high], xtol=1e-10):.4g}"
                found.append(_Flip(below, root, root))
    return found


def _who_wins(names: Sequence[str], symbol: str, values: Sequence[str], scores: Floats, flips: Sequence[_Flip]) -> str:
    """Return which ranking scores higher over the range, in words."""
    signs = _signs(scores)
    known = np.flatnonzero(np.isfinite(signs))
    if not len(known):
        return f"There are no scores for {symbol} from {values[0]} to {values[-1]}."
    span = f"{symbol} from {values[known[0]]} to {values[known[-1]]}"
    signs = signs[known]
    if not signs.any():
        return f"{names[0]} and {names[1]} have equal scores for {span}."
    if not flips:
        at = int(signs.sum() > 0)
        never = f"never scores lower than {names[1 - at]}" if (signs == 0).any() else "scores higher"
        return f"{names[at]} {never} for {span}: the order never changes."
    parts = [f"{names[flips[0].below]} scores higher for {symbol} below {flips[0].first}"]
    parts += [
        f"{names[after.below]} for {symbol} {flip.since} and below {after.first}" for flip, after in pairwise(flips)
    ]
    last = flips[-1]
    return "; ".join([*parts, f"{names[1 - last.below]} for {symbol} {last.since}."])


def _texts(values: Floats, digits: str = ".4f") -> list[str | None]:
    return [format(value, digits) if np.isfinite(value) else None for value in values]
