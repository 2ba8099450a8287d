"""Runs and judgments in any row order and any form give the scores of a slow, plain reference implementation."""

import math

import ir_measures
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.doors.doors import as_tuples
from tests.doors.rows import Data
from tests.support import reference
from tests.support.generated import collection

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:run and judgments have no query in common")]


def own(C, A, **more):
    return lambda grades, judged: reference.score(grades, C=C, A=A, judged=judged, **more)


def relevant(grades, rel=1):
    return [grade is not None and grade >= rel for grade in grades]


def gains(grades):
    return [max(grade or 0, 0) for grade in grades]


#: Reference score of each measure from the grades of a ranking (None: unjudged) and all judged grades of its query.
SLOW = {
    "AP": lambda grades, judged: reference.ap(relevant(grades), sum(relevant(judged))),
    "AP(rel=2)@4": lambda grades, judged: reference.ap(relevant(grades, 2)[:4], sum(relevant(judged, 2))),
    "RR": lambda grades, judged: 1 / (1 + relevant(grades).index(True)) if any(relevant(grades)) else 0.0,
    "nDCG@3": lambda grades, judged: reference.ndcg(gains(grades), gains(judged), 3),
    "ERR@3": lambda grades, judged: reference.err_gdeval(grades, 3),
    "Judged@3": lambda grades, judged: sum(grade is not None for grade in grades[:3]) / min(3, len(grades)),
    "NumRet": lambda grades, judged: len(grades),
    "CWLA(C='rbp(0.8)',A='erg',max_rel=3)": own(("rbp", {"phi": 0.8}), ("erg", {}), max_rel=3),
    "CWLA(C='rbp(0.8)',A='max',end='stop',max_rel=3)": own(("rbp", {"phi": 0.8}), ("max", {}), max_rel=3, end="stop"),
    "CWLA(C='inst(2)',A='avg',max_rel=3)@4": own(("inst", {"T": 2}), ("avg", {}), max_rel=3, k=4),
    "CWLA(C='ap1',A='erg',gain='raw')": own(("ap1", {}), ("erg", {}), gain=("raw", {})),
    "Residual(measure=\"CWLA(C='rbp(0.8)',A='erg',max_rel=3)\")": lambda grades, judged: reference.residual(
        grades, C=("rbp", {"phi": 0.8}), A=("erg", {}), max_rel=3, judged=judged
    ),
}

#: Measures with time as effort, which depend on the order of all documents, including ties.
SLOW_WITH_WORDS = {
    "TBG": (("decay", {"half_life": 224}), ("etg", {}), {}),
    "TBG(half_life=30)@3": (("decay", {"half_life": 30}), ("etg", {}), {"k": 3}),
    "CWLA(C='rbp(0.8)',A='avg',gain='clicksave',effort='time',unseen=12)": (("rbp", {"phi": 0.8}), ("avg", {}), {}),
    "CWLA(C='prec(4)',A='erg',gain='clicksave',effort='time',end='stop')": (
        ("prec", {"k": 4}),
        ("erg", {}),
        {"end": "stop"},
    ),
}


def per_query(measures, qrels, run):
    found = ir_measures.cwla.calc([ir_measures.parse_measure(m) for m in measures], qrels, run).per_query
    return {(metric.query_id, str(metric.measure)): metric.value for metric in found}


def slowly(measures, qrels, run):
    """Return the reference scores of (query, document, value) rows."""
    values = {}
    for query in dict.fromkeys(q for q, _, _ in qrels):
        grade_of = {d: g for q, d, g in qrels if q == query}
        grades = [grade_of.get(d) for d in reference.trec_order([(d, s) for q, d, s in run if q == query])]
        for name, value in measures.items():
            values[query, name] = value(grades, list(grade_of.values())) if grades else 0.0
    return values


def rows_of(frame):
    return list(frame.itertuples(index=False, name=None))


QUERIES = st.sampled_from(["1", "2", "10", "q"])
DOCUMENTS = st.sampled_from(["d1", "d10", "d2", "D2", "d", "é", "z", "ａ", "😀", "a b"])
COLLIDING = [math.inf, -math.inf, 0.0, -0.0, 1.0, 1 + 1e-9, 1 - 1e-9, 2.0, 1e300, -1e300, 1e-50, 16777216, 16777217]
SCORES = st.sampled_from(COLLIDING) | st.floats(allow_nan=False)
GRADES = st.integers(-2, 3)


@st.composite
def triples(draw, values):
    """Draw (query, document, value) rows in any order."""
    nested = draw(st.dictionaries(QUERIES, st.dictionaries(DOCUMENTS, values, min_size=1), min_size=1))
    return draw(st.permutations([(q, d, v) for q, documents in nested.items() for d, v in documents.items()]))


def run_frame(rows):
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "score"])


def qrels_frame(rows):
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"])


@given(triples(SCORES), triples(GRADES), st.randoms(use_true_random=False))
def test_any_order_of_rows_ties_and_infinities(run, qrels, random):
    found = per_query(SLOW, qrels_frame(qrels), run_frame(run))
    assert found == pytest.approx(slowly(SLOW, qrels, run), abs=1e-9)
    random.shuffle(run)
    assert per_query(SLOW, qrels_frame(qrels), run_frame(run)) == found


@given(triples(SCORES), triples(GRADES), st.data())
def test_time_as_effort_knows_the_order_within_ties(run, qrels, data):
    """Document lengths from the run's column and from a table give the same scores."""
    words = {d: data.draw(st.integers(0, 3000)) for d in sorted({d for _, d, _ in run})}
    expected = {}
    for query in dict.fromkeys(q for q, _, _ in qrels):
        grade_of = {d: g for q, d, g in qrels if q == query}
        order = reference.trec_order([(d, s) for q, d, s in run if q == query])
        for name, (C, A, more) in SLOW_WITH_WORDS.items():
            if "unseen" in name:
                more = more | {"unseen": 12.0}
            expected[query, name] = (
                reference.score([grade_of.get(d) for d in order], C=C, A=A, gain=("clicksave", {}), effort=("time", {}),
                                words=[words[d] for d in order], judged=list(grade_of.values()), **more)
                if order else 0.0
            )  # fmt: skip
    frame = run_frame(run).assign(doc_length=[words[d] for _, d, _ in run])
    found = per_query(SLOW_WITH_WORDS, qrels_frame(qrels), frame)
    assert found == pytest.approx(expected, abs=1e-9)
    bound = [ir_measures.parse_measure(m)(lengths=words) for m in SLOW_WITH_WORDS]
    values = ir_measures.cwla.calc(bound, qrels_frame(qrels), run_frame(run)).per_query
    again = {(v.query_id, m): v.value for m, b in zip(SLOW_WITH_WORDS, bound) for v in values if v.measure == b}
    assert again == found


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_frame_too_large_to_be_checked_in_full(seed, shuffled):
    """In a run of 30,000 rows, only tie groups with a judged document are sorted."""
    run, qrels = collection(seed, queries=301, depth=100, judged=40, shuffled=shuffled)
    measures = {name: SLOW[name] for name in ("AP", "nDCG@3", "RR", "NumRet", "Judged@3")}
    by_query = dict(list(run.groupby("query_id")))
    expected = {}
    for query, some in qrels.groupby("query_id"):
        expected |= slowly(measures, rows_of(some), rows_of(by_query.get(query, run[:0])))
    assert per_query(measures, qrels, run) == pytest.approx(expected, abs=1e-9)


def chunked(frame):
    """Return an Arrow table in chunks of 7 rows."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    return pa.concat_tables([table.slice(start, 7) for start in range(0, len(table), 7)])


def arrow(kind):
    def convert(frame):
        table = pa.Table.from_pandas(frame, preserve_index=False)
        for name in ("query_id", "doc_id"):
            table = table.set_column(table.column_names.index(name), name, table[name].cast(kind))
        return table

    return convert


FORMS = {
    **{
        f"pandas {kind}": lambda frame, kind=kind: frame.astype({"query_id": kind, "doc_id": kind})
        for kind in ("str", "object", "string[python]", "string[pyarrow]", "category")
    },
    "pandas over Arrow": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    "pandas with an odd index": lambda frame: frame.set_axis(np.arange(len(frame)) * 3 + 5),
    "pandas of two concatenated": lambda frame: pd.concat([frame[:11], frame[11:]]),
    "polars categorical": lambda frame: pl.from_pandas(frame).with_columns(
        pl.col("query_id", "doc_id").cast(pl.Categorical)
    ),
    "polars in chunks": lambda frame: pl.concat([pl.from_pandas(frame[:9]), pl.from_pandas(frame[9:])], rechunk=False),
    "Arrow large_string": arrow(pa.large_string()),
    "Arrow string_view": arrow(pa.string_view()),
    "Arrow dictionary": arrow(pa.dictionary(pa.int32(), pa.string())),
    "Arrow in chunks": chunked,
    "Arrow record batch": lambda frame: pa.RecordBatch.from_pandas(frame, preserve_index=False),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_bits(form):
    """The doors have more forms: frames of polars and of Arrow, dicts, named tuples, and files."""
    run, qrels = collection(1, queries=12, lengths=True)
    measures = [*SLOW, *SLOW_WITH_WORDS]
    assert per_query(measures, FORMS[form](qrels), FORMS[form](run)) == per_query(measures, qrels, run)


@pytest.mark.parametrize("kind", ["int64", "int8", "uint8", "float16", "float32", "float64", "Int64", "Float64"])
def test_numbers_of_every_kind(kind):
    run, qrels = collection(5, queries=12, grades=(0, 1, 2, 3))
    run = run.assign(score=(run.score * 8).round())
    expected = per_query(SLOW, qrels, run)
    assert per_query(SLOW, *map(iter, as_tuples(Data(run, qrels), None))) == expected
    # Other ids in memory: judgments that share their ids with the last ones are not read again.
    run, qrels = run.assign(doc_id="x" + run.doc_id), qrels.assign(doc_id="x" + qrels.doc_id)
    assert per_query(SLOW, qrels.astype({"relevance": kind}), run.astype({"score": kind})) == expected


def test_changed_judgments_are_read_and_large_runs_matched_in_pieces(monkeypatch):
    """The provider caches the last judgments, but the arrays of a DataFrame may change in place."""
    run, qrels = collection(6, queries=5)
    before = per_query(["AP"], qrels, run)
    qrels.loc[:, "relevance"] = 0
    assert set(per_query(["AP"], qrels, run).values()) == {0.0} != set(before.values())
    # Scores do not depend on the number of rows per piece.
    frames = collection(3, queries=40, depth=30)
    shuffled = frames.run.sample(frac=1, random_state=2)
    measures = [ir_measures.AP, ir_measures.nDCG, ir_measures.RR, ir_measures.Judged @ 10]
    whole = [ir_measures.cwla.calc(measures, frames.qrels, run) for run in (frames.run, shuffled)]
    for rows in (1, 7, 64, 500):
        monkeypatch.setattr("pyterrier_cwla.data.alignment.PIECE", rows)
        assert [ir_measures.cwla.calc(measures, frames.qrels, run) for run in (frames.run, shuffled)] == whole
        scattered = frames.qrels.sample(frac=1, random_state=3)
        means = ir_measures.cwla.calc_aggregate(measures, scattered, shuffled)
        assert means == pytest.approx(whole[0].aggregated)
