"""Calibrations as JSON: ``Calibration.load`` returns all values of the file, or raises an error."""

from __future__ import annotations

import json
import random
from copy import deepcopy
from functools import cache
from typing import Any

from pyterrier_cwla import TBG
from pyterrier_cwla.behaviour import Calibration, calibrate
from pyterrier_cwla.errors import BadParameter

from .found import Wrong, result_of, scratch

_LOG = {
    "user": list("aaabbbccdd"), "session": list("1112223344"), "topic": list("ttttttuuuu"), "rank": [1, 2, 3] * 2 + [1, 2] * 2,
    "docno": list("vwxvwxvwvw"), "clicked": [True, False, True, True, True, True, True, True, False, True],
    "grade": [1, 0, 1, 1, 0, 1, 0, 1, 0, 1], "summary_seconds": [4, 3, 5, 6, 2, 4, 5, 5, 3, 2],
    "document_seconds": [30, None, 20, 10, 30, 5, 9, 40, None, 12], "words": [9, 1, 5, 9, 1, 5, 9, 1, 9, 1],
    "time": [34, 37, 62, 16, 48, 60, 14, 60, 3, 20], "saved": [True, False, True, False, True, True, False, True, False, True],
}  # fmt: skip
_ODD: list[Any] = [None, True, False, 0, 1, -1, 2, 0.5, 1e308, 10**400, -0.0, 2**63, "", "x", "half_life", "<script>", "\u2028", "\ud800",
        [], {}, [1], {"a": 1}, [[]], "../x", "/etc/passwd", 1e-320, "NaN"]  # fmt: skip


@cache
def _examples() -> tuple[Any, ...]:
    whole = calibrate(_LOG, resamples=20, min_clicks=1, shapes=("exponential",)).as_dict()
    return whole, {**whole, "points": [], "curve": [], "shapes": [], "reading": None}


EXAMPLES = [json.dumps(one).encode() for one in _examples()]
TOKENS = [*(json.dumps(one).encode() for one in _ODD), b"NaN", b"Infinity", b"-Infinity", b"[" * 2000, b'{"a":' * 500, b"null",
          b'"used": true', b'"value": 1', b'"n": 3', b'"half_life"', b'"half_life": 3', b"\\u0000", b'\\"', b"1" * 5000, b"//"]  # fmt: skip


def grammar(rng: random.Random) -> bytes:
    """Return a calibration with a few changed values."""
    content = json.loads(rng.choice(EXAMPLES))
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        keys: list[Any] = []
        place = content
        while isinstance(place, dict | list) and place and (not keys or rng.random() < 0.8):
            keys.append(rng.choice(list(place)) if isinstance(place, dict) else rng.randrange(len(place)))
            parent, place = place, place[keys[-1]]
        choice = rng.random()
        if choice < 0.15:
            del parent[keys[-1]]
        elif choice < 0.25 and isinstance(parent, list):
            parent.append(deepcopy(place))
        elif choice < 0.6 and isinstance(place, int | float):
            parent[keys[-1]] = rng.choice((place + 1, place // 2, -place, place * 1000, place))
        else:
            parent[keys[-1]] = deepcopy(rng.choice(_ODD))  # a copy, because later changes may modify it
    return json.dumps(content).encode("utf-8", "surrogatepass")


def one_input(data: bytes) -> bool:
    """Test one input; return whether it is a valid calibration."""
    path = scratch(data, "calibration.json")
    found = result_of(lambda: Calibration.load(path), str(path))
    if isinstance(found, Exception):
        return False
    content = json.loads(data.decode(), object_pairs_hook=_once)
    if found.as_dict() != content:
        raise Wrong(f"returned {found.as_dict()!r:.300}, expected {content!r:.300}")
    if "<script>" in found._repr_html_() or not str(found):
        raise Wrong("the HTML page is not escaped")
    result_of(lambda: str(found.measure(half_life=3, lengths={"d": 1})))
    bound = result_of(lambda: TBG(calibration=str(path)), str(path))
    if not isinstance(bound, BadParameter):
        for name, value in found.parameters().items():
            if bound.metric.C["half_life"] != value and name == "half_life":
                raise Wrong(f"half_life={bound.metric.C['half_life']}, expected {value}")
    return True


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise Wrong("duplicate name in an object")
    return dict(pairs)
