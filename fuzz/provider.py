"""Runs and judgments as DataFrames of all kinds: scores equal the slow reference, or there is an error."""

from __future__ import annotations

import math
import random
from typing import Any

import ir_measures
import pandas as pd
import polars as pl
import pyarrow as pa
from ir_measures.measures import Measure

from pyterrier_cwla import evaluate
from pyterrier_cwla.errors import CWLAError
from pyterrier_cwla.measures.provider import computed_here
from tests.support import reference

from . import slow
from .found import Wrong

EXAMPLES = [bytes([number]) * 8 for number in range(16)]
TOKENS: list[bytes] = []
_MEASURES = [
    "AP", "AP(rel=2)@3", "nDCG", "nDCG(dcg='exp-log2')@3", "RR", "P@5", "R@3", "Success@2", "RBP(p=0.6,rel=1)", "ERR@10",
    "CWLA(C='rbp(0.8)',A='erg',max_rel=3)", "CWLA(C='inst(1)',A='max',gain='exponential',max_rel=3)", "AP(judged_only=True)",
    "CWLA(C='ap1',A='avg',gain='binary')", "CWLA(C='prec(4)',A='pe(0.3)',gain='raw',norm='ideal')",
    "CWLA(C='product(rr(rel=1),carterette1(5))',A='fgt(0.5)',max_rel=3,end='stop')", "AdaptiveGAP", "ExpectedEffort",
    "CWLA(C='decay(60)',A='etg',effort='ratio(3)',gain='binary(2)')@4", "GeometricMean(measure='AP')", "TBG", "Residual(measure='RBP(rel=1)')",
    "CWLA(C='insq(2)',A='err',gain='threshold(0.2,0.5,0.3)',judged_only=True)", "UMeasure(T=100,gain='binary')",
    "QMeasure", "QMeasure(beta=10,gain='table({1:0.3,2:0.7,3:5})')@3", "QMeasure(rel=2,judged_only=True)",
]  # fmt: skip
_WANTED = {text: computed_here([text])[0] for text in _MEASURES}
_SCORES = [
    0.0,
    1.0,
    1.0,
    2.5,
    -3.0,
    7.25,
    1e10,
    1e10 + 1,
    1.00000001,
    1e39,
    -1e39,
    math.inf,
    -math.inf,
    1e-46,
    -0.0,
    5e-324,
]


def one_input(data: bytes) -> bool:
    """Test one input; return whether there are scores."""
    rng = random.Random(data)
    qrels, run, words, wrong = _rows(rng)
    texts = rng.sample(_MEASURES, 3)
    lengths = rng.random() < 0.9
    try:
        with_words = [(*row, words[row[1]]) for row in run] if lengths else run
        columns = ["query_id", "doc_id", "score", *(["doc_length"] if lengths else [])]
        table = evaluate(
            _framed(rng, qrels, ["query_id", "doc_id", "relevance"]),
            _framed(rng, with_words, columns),
            texts,
            by_query=True,
        )
    except CWLAError as error:
        if wrong or any(
            text in str(error)
            for text in (
                "lengths of documents are needed",
                "above max_rel",
                "infinite",
                "has no value for grade",
                "finite",
                "undefined",
            )
        ):
            return False
        raise Wrong(f"error for valid input: {error}") from error
    if wrong:
        raise Wrong(f"no error for {wrong}")
    for text in texts:
        for (_, qid), value in table[text if text in table else str(_WANTED[text])].items():
            expected = _slowly(_WANTED[text], str(qid), qrels, run, words)
            if expected is not None and not slow.close(value, expected):
                raise Wrong(f"{text} of {qid} is {value!r}, expected {expected!r}: {qrels} {run}")
    return True


def _rows(rng: random.Random) -> tuple[list[tuple], list[tuple], dict[str, float], str]:
    """Judgments, a run, document lengths, and a description of the error in them (or an empty text)."""
    queries, documents = ["1", "2", "q 3", "é", ""][: rng.randint(1, 5)], [f"d{n}" for n in range(rng.randint(1, 12))]
    qrels = [(q, d, rng.choice((-2, -1, 0, 0, 1, 1, 2, 3))) for q in queries for d in documents if rng.random() < 0.4]
    run = [
        (q, d, rng.choice(_SCORES)) for q in [*queries[1:], "other"] for d in [*documents, "z"] if rng.random() < 0.6
    ]
    for rows in (qrels, run):
        if rng.random() < 0.5:
            rng.shuffle(rows)
    wrong = ""
    if run and rng.random() < 0.05:
        run.append((*rng.choice(run)[:2], 3.0))
        wrong = "a duplicate document"
    if run and rng.random() < 0.05:
        at = rng.randrange(len(run))
        run[at] = (*run[at][:2], math.nan)
        wrong = "a NaN score"
    if len(qrels) > 2 and rng.random() < 0.05:
        pair = qrels[1][:2]
        qrels.append((*pair, 3))
        wrong = "a duplicate pair"
    if not qrels:
        qrels = [("1", "d0", 1)]
    words = {d: float(rng.choice((0, 1, 10, 300, 2000))) for d in [*documents, "z", "d0"]}
    return qrels, run, words, wrong


def _framed(rng: random.Random, rows: list[tuple], columns: list[str]) -> Any:
    """Return the rows in a random form that the package accepts."""
    choice = rng.randrange(8)
    frame = pd.DataFrame(rows, columns=columns)
    if not rows:
        return frame.astype({"query_id": str, "doc_id": str})
    if choice == 0:
        return pl.DataFrame(rows, schema=columns, orient="row", infer_schema_length=None)
    if choice == 1:
        return pa.Table.from_pandas(frame, preserve_index=False)
    if choice == 2:
        table = pa.Table.from_pandas(frame, preserve_index=False)
        return table.set_column(1, "doc_id", table["doc_id"].dictionary_encode())
    if choice == 3 and len(columns) == 3 and len({row[:2] for row in rows}) == len(rows):
        nested: dict[str, dict[str, Any]] = {}
        for q, d, value in rows:
            nested.setdefault(q, {})[d] = value
        return nested
    if choice == 4 and len(columns) == 3:
        kind = ir_measures.ScoredDoc if columns[2] == "score" else ir_measures.Qrel
        return [kind(*row) for row in rows]
    if choice == 5:
        return frame.astype({"query_id": "category", "doc_id": object})
    if choice == 6:
        return frame.rename(columns={"query_id": "qid", "doc_id": "docno", "relevance": "label"})
    return frame.set_index(pd.Index(rng.sample(range(1000), len(frame))))


def _slowly(measure: Measure, qid: str, qrels: list[tuple], run: list[tuple], words: dict[str, float]) -> float | None:
    judged = {d: g for q, d, g in qrels if q == qid}
    ranked = reference.trec_order([(d, s) for q, d, s in run if q == qid])
    grades, retrieved = [judged.get(d) for d in ranked], [words[d] for d in ranked]
    return slow.value(measure, grades, list(judged.values()), retrieved, [words[d] for d in judged], highest=3)
