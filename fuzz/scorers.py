"""Labelled rows in odd forms: scorers, ``measure_score`` and group arrays give the values of ``evaluate``, or an error."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from sklearn.base import BaseEstimator

from pyterrier_cwla import LambdaMART, evaluate, scorer
from pyterrier_cwla.errors import CannotScore, CWLAError
from pyterrier_cwla.learning.lambdamart import EvalMeasure
from pyterrier_cwla.learning.metrics import measure_score

from . import slow
from .found import Wrong, result_of

EXAMPLES = [bytes([number]) * 8 for number in range(16)]
TOKENS: list[bytes] = []
_MEASURES = [
    "AP",
    "nDCG@3",
    "RBP(p=0.6,rel=1)",
    "TBG",
    "ERR",
    "CWLA(C='inst(2)',A='max',max_rel=3)",
    "P@2",
    "NumRel",
    "QMeasure",
]
_LEARNED = ("RBP(p=0.6,rel=1)", "nDCG@3", "ERR", "TBG", "CWLA(C='inst(2)',A='max',max_rel=3)")
_FORMS: list[Callable[[list[Any]], Any]] = [
    list, tuple, lambda x: np.array(x, object), np.array, pd.Series, lambda x: pd.Series(x, range(5, 5 + len(x))), pa.array, pl.Series,
    lambda x: pd.Series(x).convert_dtypes(), pd.Categorical, lambda x: pd.Series(pd.Categorical(x)), lambda x: np.array(x, np.float32),
    lambda x: pd.Series(pd.array(x, dtype=pd.ArrowDtype(pa.array(x).type))), lambda x: [Decimal(str(one)) for one in x], pd.Index,
    lambda x: np.ma.masked_array(x, [one != one for one in x]), lambda x: np.array(x)[:, None], lambda x: np.array(x)[None], lambda x: pd.DataFrame({"x": x}),
    lambda x: np.array(x, np.uint8), lambda x: np.array(x, bool), lambda x: np.array(x, str), lambda x: np.array(x, bytes), iter, set, len, str,
    lambda x: np.array(x, "datetime64[s]"), lambda x: x[:-1], lambda x: [*x, *x[-1:]], lambda x: [[one] for one in x], lambda x: np.array(x).reshape(2, -1),
]  # fmt: skip
_EXACT, _SAME = 3, 9  # the first forms keep objects as they are, and the first ones keep values
_ODD: dict[str, list[Any]] = {
    "label": [math.inf, -3, "x", 1j, 10**400, [1], np.datetime64("2020"), b"2"], "score": [math.nan, None, "x", 1j, [1], 10**400],
    "qid": [None, math.nan, [1], {}], "docno": [None, math.nan, [1], "again"], "doc_length": [],
}  # fmt: skip
_ID_FORMS: list[Callable[[int], Any]] = [
    str,
    int,
    float,
    "é{}".format,
    np.int64,
    lambda n: n - 2,
    "<{}>".format,
    lambda n: f"0{n}",
]


class _Column(BaseEstimator):
    """Estimator that predicts values of its own."""

    def __init__(self, values: Any = ()) -> None:
        self.values = values

    def predict(self, X: Any) -> Any:
        return self.values


def one_input(data: bytes) -> bool:
    """Test one input; return whether there is a value."""
    rng = random.Random(data)
    rows = _rows(rng)
    measure = rng.choice(_MEASURES)
    wrong = ""
    name = rng.choice([*_ODD])
    if rng.random() < 0.15 and rows.qid and _ODD[name]:
        odd, values, at = rng.choice(_ODD[name]), getattr(rows, name), rng.randrange(len(rows.qid))
        if odd != "again":
            values[at], wrong = odd, f"{name} {odd!r}"
        elif (twin := next((i for i, qid in enumerate(rows.qid) if qid == rows.qid[at] and i != at), None)) is not None:
            values[at], wrong = values[twin], "a document twice"
    with_docno, with_words = (name == "docno" and bool(wrong)) or rng.random() < 0.5, rng.random() < 0.9
    plain = wrong or rng.random() < 0.5
    forms = {column: rng.choice(_FORMS[:_EXACT] if plain else _FORMS) for column in _ODD}
    try:
        given = {column: form(getattr(rows, column)) for column, form in forms.items()}
    except Exception:  # the library of the form has no such values
        return False
    known = {"qid": given["qid"], **({"docno": given["docno"]} if with_docno else {}), **({"doc_length": given["doc_length"]} if with_words else {})}  # fmt: skip
    if rng.random() < 0.25:
        return _grouped(rng, rows, given, forms, with_docno, with_words, wrong)
    found = _result(lambda: measure_score(measure, given["label"], given["score"], **known))
    again = _result(lambda: scorer(measure, min_queries=1)(_Column(given["score"]), np.zeros((len(rows.qid), 1)), given["label"], **known))  # fmt: skip
    if isinstance(found, float) and isinstance(again, float) and found != again:
        raise Wrong(f"{measure} of {rows} is {found!r}, and {again!r} by a scorer")
    if plain and not wrong and isinstance(found, float) != isinstance(again, float):
        raise Wrong(f"{measure} of {rows}: {found!r}, and by a scorer {again!r}")
    if not isinstance(found, float):
        told = any(label == label for label in rows.label) and (with_words or measure != "TBG")
        if plain and not wrong and told:
            raise Wrong(f"{measure} of {rows}: {found}")
        return False
    if wrong:
        raise Wrong(f"{measure} of {rows} is {found!r}, but there is {wrong}")
    if all(form in _FORMS[:_SAME] for form in forms.values()):
        expected = _expected(measure, rows, with_docno)
        if not slow.close(found, expected):
            raise Wrong(f"{measure} of {rows} is {found!r}, and {expected!r} by evaluate")
    return True


def _result(read: Callable[[], Any]) -> Any:
    """Return a value, or its CWLAError or CannotScore."""
    try:
        return result_of(read)
    except CannotScore as error:
        return error


def _rows(rng: random.Random) -> SimpleNamespace:
    """Return the columns of rows of some queries, with ids of one type."""
    sizes = [rng.randint(1, 5) for _ in range(rng.choice((0, 1, 1, 2, 3, 4)))]
    of_query, of_document = rng.choice(_ID_FORMS), rng.choice(_ID_FORMS)
    labels = rng.choice(((0, 1), (0, 1, 2, 3), (0, 1.5, 3), (0, 1, math.nan), (-2, -1, 1, 2)))
    rows = [(query, document) for query, size in enumerate(sizes) for document in rng.sample(range(1, 30), size)]
    if rng.random() < 0.5:
        rng.shuffle(rows)
    scores = rng.choice(((0.0, 1.0, 2.0), (0.1, -5.25, 3.0, 1e10), (1, 2, 3), (math.inf, -math.inf, 0.5)))
    return SimpleNamespace(
        qid=[of_query(query) for query, _ in rows],
        docno=[of_document(document) for _, document in rows],
        label=[rng.choice(labels) for _ in rows],
        score=[rng.choice(scores) for _ in rows],
        doc_length=[rng.choice((0, 10, 300, 2.5)) for _ in rows],
        sizes=sizes,
        sorted=rows == sorted(rows, key=lambda row: row[0]),
    )


def _expected(measure: str, rows: SimpleNamespace, with_docno: bool) -> float:
    """Return the value of frames; without ids, documents with equal scores keep their order."""
    ids = [_text(one) for one in rows.docno] if with_docno else [f"{9999 - row}" for row in range(len(rows.qid))]
    frame = pd.DataFrame({"query_id": [_text(one) for one in rows.qid], "doc_id": ids, "relevance": rows.label, "score": rows.score, "doc_length": rows.doc_length})  # fmt: skip
    judged = frame[frame["relevance"].notna()]
    return float(
        evaluate(judged[["query_id", "doc_id", "relevance"]], frame.drop(columns="relevance"), [measure]).iloc[0, 0]
    )


def _text(one: Any) -> str:
    return str(int(one)) if isinstance(one, float) and math.isfinite(one) else str(one)


def _grouped(rng: random.Random, rows: SimpleNamespace, given: dict[str, Any], forms: dict[str, Any], with_docno: bool, with_words: bool, wrong: str) -> bool:  # fmt: skip
    """Test sizes of groups, as LightGBM passes them: an evaluation measure, and the gradients of LambdaMART."""
    sizes: list[Any] = list(rows.sizes)
    odd = rng.random() < 0.2
    if odd:
        sizes = rng.choice(
            ([*sizes, 0], [*sizes, -1, 1], sizes[1:], [float(one) for one in sizes], [sizes], ["a"], [2**63], [None])
        )
    try:
        group = rng.choice(_FORMS[:_SAME])(sizes) if rng.random() < 0.9 else rng.choice((None, len(rows.qid), "x"))
    except OverflowError:  # Arrow has no such values
        return False
    known = {
        **({"docno": given["docno"]} if with_docno else {}),
        **({"doc_length": given["doc_length"]} if with_words else {}),
    }
    measure = rng.choice(_LEARNED)
    y, pred = given["label"], given["score"]
    value = result_of(lambda: EvalMeasure(measure, **known).value(y, pred, group))
    gradients = result_of(lambda: LambdaMART(measure, **known).gradients(y, pred, group))
    if isinstance(value, CWLAError):
        return False
    if (wrong and not wrong.startswith("qid") and wrong != "score [1]") or (
        odd and group is not None and sizes != rows.sizes
    ):
        raise Wrong(
            f"EvalMeasure({measure!r}) of {rows} with groups {group!r} is {value!r}, but there is {wrong or 'another group'}"
        )
    if not isinstance(gradients, CWLAError) and not all(
        np.isfinite(one).all() and np.shape(one) == (len(rows.qid),) for one in gradients
    ):
        raise Wrong(f"LambdaMART({measure!r}) of {rows}: {gradients!r}")
    if not wrong and rows.sorted and all(forms[name] in _FORMS[:_SAME] for name in forms):
        expected = _expected(measure, rows, with_docno)
        if not slow.close(value, expected):
            raise Wrong(f"EvalMeasure({measure!r}) of {rows} is {value!r}, and {expected!r} by evaluate")
    return True
