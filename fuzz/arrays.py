"""Lists of grades in odd forms: scores equal the slow reference and those of row by row, or there is an error."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from pyterrier_cwla import CWLA, evaluate
from pyterrier_cwla.errors import CWLAError
from pyterrier_cwla.evaluation import explain_gains, residual, score

from . import slow
from .found import Wrong, result_of

EXAMPLES = [bytes([number]) * 8 for number in range(16)]
TOKENS: list[bytes] = []
_MEASURES = [
    "AP",
    "nDCG@2",
    "RBP(p=0.6,rel=1)",
    "P@3",
    "ERR",
    "QMeasure",
    "TBG",
    "Bpref",
    "NumRel",
    "AP(judged_only=True)",
]
_CHOICES: list[dict[str, Any]] = [
    {"C": "rbp(0.8)", "A": "erg", "max_rel": 3}, {"C": "inst(2)", "A": "avg", "max_rel": 3, "gain": "exponential"},
    {"C": "dcg", "A": "etg", "norm": "ideal", "max_rel": 3}, {"C": "rr", "A": "err", "gain": "binary", "end": "stop"},
    {"C": "ap1", "A": "max", "cutoff": 3, "max_rel": 3}, {"C": "prec(4)", "A": "pe(0.3)", "norm": "ideal", "max_rel": 3},
    {"C": "decay(4)", "A": "etg", "effort": "ratio(3)", "unseen": 2, "gain": "binary", "max_rel": 3},
]  # fmt: skip
_ODD: list[Any] = [-1, -0.5, np.inf, -np.inf, "x", "", 1j, 10**400, b"1", {}, np.datetime64("2020"), object]
_FORMS: list[Callable[[Any], Any]] = [
    list, tuple, iter, lambda x: np.array(x, object), np.array, lambda x: np.array(x, np.float32), lambda x: np.array(x, np.longdouble),
    lambda x: np.asfortranarray(x, float), lambda x: np.array(x, float)[..., ::-1][..., ::-1], pd.Series, pd.DataFrame,
    lambda x: pd.Series(x, dtype="Float64"), pa.array, pl.Series, lambda x: np.ma.masked_invalid(np.array(x, float)),
    lambda x: np.array(x, np.int8), lambda x: np.array(x, np.uint64), lambda x: np.array(x, bool), lambda x: np.array([x]),
    lambda x: np.array(x, str), lambda x: [Decimal(str(one)) for one in x], lambda x: [Fraction(one) for one in x], set, str,
    lambda x: dict(enumerate(x)), lambda x: [iter(one) for one in x], lambda x: [pd.Series(one) for one in x],
    lambda x: [np.array(one, object) for one in x], lambda x: np.array(x, "datetime64[s]"), pd.Categorical,
]  # fmt: skip
_EXACT = 4  # the first forms keep objects as they are


def one_input(data: bytes) -> bool:
    """Test one input; return whether there are scores."""
    rng = random.Random(data)
    lists = _lists(rng)
    wrong = ""
    if rng.random() < 0.15 and lists and lists[-1]:
        odd = rng.choice(_ODD)
        lists[-1][rng.randrange(len(lists[-1]))], wrong = odd, repr(odd)
    many = len(lists) != 1 or rng.random() < 0.5
    values: Any = lists if many else lists[0]
    form = rng.choice(_FORMS[:_EXACT] if wrong or rng.random() < 0.3 else _FORMS)
    try:
        with warnings.catch_warnings():  # pandas pads lists of several lengths
            warnings.simplefilter("ignore")
            given = form(values)
    except Exception:  # the library of the form has no such values
        return False
    options = dict(rng.choice(_CHOICES))
    if rng.random() < 0.3:
        return _by_measure(rng, given, lists, many, wrong)
    judged = _lists(rng, len(lists) if rng.random() < 0.9 else 2) if rng.random() < 0.2 else None
    if judged is not None and not many:
        judged = judged[0] if judged else []
    function = rng.choice((score, score, residual, explain_gains))
    found = result_of(lambda: function(given, judged=judged, **options))
    if isinstance(found, CWLAError):
        if function is score and form is list and not wrong and judged is None and any(lists):
            raise Wrong(f"{lists} with {options}: {found}")
        return False
    if wrong:
        raise Wrong(f"no error for {wrong} in {given!r}: {found!r}")
    if form is list and judged is None and any(lists):
        _compare(function, lists, many, options, found)
    return True


def _lists(rng: random.Random, number: int | None = None) -> list[list[Any]]:
    """Return lists of grades, of equal or different lengths, sometimes without grades or with unjudged items."""
    number = rng.choice((0, 1, 1, 2, 3, 5)) if number is None else number
    width, choice = rng.choice((0, 1, 2, 3, 5, 9)), rng.choice(((0, 1), (0, 1, 2, 3), (0, 0.5, 2.25, 3), (0, 1, None), (0, np.nan, 2), (True, False)))  # fmt: skip
    same = rng.random() < 0.5
    return [[rng.choice(choice) for _ in range(width if same else rng.randint(0, width))] for _ in range(number)]


def _compare(function: Any, lists: list[list[Any]], many: bool, options: dict[str, Any], found: Any) -> None:
    """Raise Wrong unless values are those of the slow reference, and to the last bit those of each list alone."""
    if function is explain_gains:
        expected = score(lists[0], **options)
        if not slow.close(found.score, expected):
            raise Wrong(f"{lists} with {options} is explained as {found.score!r}, not {expected!r}")
        return
    values = np.atleast_1d(found).tolist()
    if len(values) != len(lists) or many != isinstance(found, np.ndarray):
        raise Wrong(f"{len(lists)} lists, and {found!r}")
    metric = CWLA(**options).metric
    for one, value in zip(lists, values, strict=True):
        if (alone := function(one, **options)) != value:
            raise Wrong(f"{one} with {options} is {value!r}, and {alone!r} alone")
        grades = [None if grade is None or grade != grade else grade for grade in one]
        judged = [grade for grade in grades if grade is not None]
        expected = _slowly(metric, grades, judged, function is residual)
        if expected is not None and not slow.close(value, expected):
            raise Wrong(f"{function.__name__} of {one} with {options} is {value!r}, expected {expected!r}")


def _by_measure(rng: random.Random, given: Any, lists: list[list[Any]], many: bool, wrong: str) -> bool:
    """Score lists by a measure, and compare with ``evaluate`` of the same lists as frames."""
    measure = rng.choice(_MEASURES)
    lengths = [[rng.choice((0, 10, 300)) for _ in one] for one in lists] if rng.random() < 0.8 else None
    found = result_of(lambda: score(given, measure, lengths=lengths if many or not lengths else lengths[0]))
    if isinstance(found, CWLAError):
        return False
    if wrong:
        raise Wrong(f"no error for {wrong} in {given!r}: {found!r}")
    if (
        type(given) is not type(lists)
        or not all(isinstance(one, list | int) for one in given)
        or any(grade not in (0, 1, 2, 3) for one in lists for grade in one)
    ):
        return True
    words = lengths or [[0] * len(one) for one in lists]
    rows = [
        (str(query), f"d{rank}", float(-rank), grade, words[query][rank])
        for query, one in enumerate(lists)
        for rank, grade in enumerate(one)
    ]
    if not rows:
        return True
    frame = pd.DataFrame(rows, columns=["query_id", "doc_id", "score", "relevance", "doc_length"])
    frame["relevance"] = frame["relevance"].astype(int)
    table = evaluate(frame.drop(columns="score"), frame.drop(columns="relevance"), [measure], by_query=True)
    for (_, query), expected in table.iloc[:, 0].items():
        if (value := np.atleast_1d(found)[int(query)]) != expected:
            raise Wrong(f"{measure} of {lists[int(query)]} is {value!r}, and {expected!r} by evaluate")
    return True


def _slowly(metric: Any, grades: list[Any], judged: list[Any], of_residual: bool) -> float | None:
    """Score by the slow reference; None if it lacks the metric, or if the score is undefined."""
    try:
        return slow.score(metric, grades, judged, [0] * len(grades), [0] * len(judged), of_residual)
    except (ValueError, KeyError, OverflowError, ZeroDivisionError, NotImplementedError):
        return None
