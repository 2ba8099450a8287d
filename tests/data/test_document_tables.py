"""Paths of tables in measures: each call uses the current content, even if size and time of the file are unchanged."""

import hashlib
import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pyterrier_cwla import TBG, Lengths, Residual, evaluate, explain, register_lengths
from pyterrier_cwla.behaviour import simulate
from pyterrier_cwla.data import Costs, Duplicates
from pyterrier_cwla.data.resources import _with_digest
from pyterrier_cwla.errors import BadParameter, MalformedFile
from pyterrier_cwla.measures.provider import CWLAEvaluator, prepare
from pyterrier_cwla.pipelines import DocLength, DuplicateOf
from pyterrier_cwla.studies import Rated, fit, robustness
from tests.doors.doors import DOORS, doors_of
from tests.doors.rows import Data
from tests.support.messages import refused

DOCS = [f"d{number}" for number in range(6)]
QRELS = {q: {d: (number + int(q)) % 2 for number, d in enumerate(DOCS)} for q in "123"}
RUNS = {
    name: {q: {d: (number * step + int(q)) % 7 + number / 10 for number, d in enumerate(DOCS)} for q in QRELS}
    for name, step in (("one", 3), ("two", 5))
}
RUN, JUDGED = (
    pd.DataFrame([(q, d, n) for q, docs in of.items() for d, n in docs.items()], columns=["query_id", "doc_id", value])
    for of, value in ((RUNS["one"], "score"), (QRELS, "relevance"))
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _with_digest.cache_clear()


def rewritten(path, text):
    """Rewrite the file with its previous size and modification time."""
    text = text.ljust(400)
    known = os.stat(path) if os.path.exists(path) else None
    Path(path).write_text(text)
    if known is not None:
        os.utime(path, ns=(known.st_atime_ns, known.st_mtime_ns))
        assert (os.stat(path).st_size, os.stat(path).st_mtime_ns) == (known.st_size, known.st_mtime_ns)


def lengths(step):
    table = {d: 100 + step * number for number, d in enumerate(DOCS)}
    rewritten("words.csv", "docno,words\n" + "".join(f"{d},{n:03}\n" for d, n in table.items()))
    return table


def timed(table):
    return TBG(lengths=table)


#: Functions of a measure that are no doors: their results are no scores of queries, or not only these.
OTHERS = {
    "calc_aggregate": lambda m: m.calc_aggregate(QRELS, RUNS["one"]),
    "explain": lambda m: explain(QRELS, RUNS["one"], "1", m(unseen=12)).table["discount"].to_numpy(),
    "simulate": lambda m: simulate(QRELS, RUNS["one"], m(unseen=12), users=10, progress=False).by_query["analytic"],
    "rated": lambda m: RATED.scores([m]).to_numpy(),
    "robustness": lambda m: robustness(QRELS, RUNS, [m], cache_dir="kept", **ROUGH).order.scores,
    "fit": lambda m: fit(repr(m).replace(")", ",half_life=$h)"), {"h": [60, 224]}, RATED, cache_dir="kept", cv=2, repeats=1,
                         progress=False).candidates["value"].to_numpy(),
}  # fmt: skip
RATED = Rated.lists(QRELS, RUNS["one"], {"1": 1, "2": 3, "3": 2})
ROUGH = {"fractions": (0.5,), "seeds": 1, "pairs": 0, "resamples": 50, "complete": None, "progress": False}
USES = [*doors_of(TBG(lengths={"d0": 1})), *OTHERS]


def values(use, measure):
    """Return what a door or another function gives for a measure."""
    if use in OTHERS:
        return OTHERS[use](measure)
    door = DOORS[use]
    return door.values(door.of(Data(RUN, JUDGED)), [measure], Path()).to_numpy()


@pytest.mark.slow
@pytest.mark.parametrize("use", USES)
def test_a_measure_follows_its_file(use):
    found = []
    first = lengths(10)
    measure = timed("words.csv")
    for step in (10, 90):
        table = lengths(step)
        expected = values(use, timed(register(table)))
        for of in (measure, timed("words.csv")):
            np.testing.assert_array_equal(values(use, of), expected)
        found.append(expected)
    assert first != table
    assert not np.array_equal(*found)


def register(table):
    register_lengths("as_the_file", table)
    return "as_the_file"


def test_files_that_go_or_change_are_errors(monkeypatch):
    lengths(10)
    evaluator = CWLAEvaluator([timed("words.csv")], prepare(QRELS))
    found = evaluator.calc_aggregate(RUNS["one"])
    lengths(50)
    other = CWLAEvaluator([timed("words.csv")], prepare(QRELS))
    lengths(90)
    assert evaluator.calc_aggregate(RUNS["one"]) == found
    with pytest.raises(MalformedFile, match=r"words\.csv: the file of lengths= was changed during the evaluation"):
        other.calc_aggregate(RUNS["one"])
    lengths(10)
    measure = timed("words.csv")
    evaluate(QRELS, RUNS, [measure])
    os.remove("words.csv")
    with pytest.raises(MalformedFile, match=r"words\.csv: No such file or directory \(the file of lengths=\)"):
        evaluate(QRELS, RUNS, [measure])
    _with_digest.cache_clear()
    lengths(10)
    real = Lengths._read

    def changing(path):
        found = real(path)
        lengths(90)
        return found

    monkeypatch.setattr(Lengths, "_read", staticmethod(changing))
    with pytest.raises(MalformedFile, match="was changed during the evaluation: start it again"):
        evaluate(QRELS, RUNS, [timed("words.csv")])


def test_measures_of_one_file_share_one_reading(monkeypatch):
    lengths(10)
    read, hashed, real = [], [], Lengths._read
    monkeypatch.setattr(Lengths, "_read", staticmethod(lambda path: read.append(path) or real(path)))
    digest = hashlib.file_digest
    monkeypatch.setattr(hashlib, "file_digest", lambda file, kind: hashed.append(1) or digest(file, kind))
    measures = [timed("words.csv"), TBG(lengths="words.csv", half_life=60),
                Residual(measure=TBG(lengths=Path("words.csv"), unseen=12))]  # fmt: skip
    evaluate(QRELS, RUNS, measures)
    assert (len(read), len(hashed)) == (1, 2)  # hashed again after reading, to detect changes
    evaluate(QRELS, RUNS, measures)
    assert (len(read), len(hashed)) == (1, 3)


def test_registered_paths_follow_their_files_and_loaded_tables_do_not():
    lengths(10)
    register_lengths("of_a_file", "words.csv")
    loaded = Lengths.load("words.csv")
    before = evaluate(QRELS, RUNS, [timed("of_a_file")]).to_numpy()
    table = lengths(90)
    after = evaluate(QRELS, RUNS, [timed(table)]).to_numpy()
    np.testing.assert_array_equal(evaluate(QRELS, RUNS, [timed("of_a_file")]).to_numpy(), after)
    np.testing.assert_array_equal(evaluate(QRELS, RUNS, [timed(loaded)]).to_numpy(), before)
    assert (loaded.mean, Lengths.of("words.csv").mean) == (125, 325)
    with pytest.raises(BadParameter, match=r"two measures are called TBG.* and differ"):
        evaluate(QRELS, RUNS, [timed(loaded), timed("words.csv")])
    lengths(30)
    table = timed("words.csv").metric.lengths.current
    few, other = len(pickle.dumps(table)), pickle.loads(pickle.dumps(table))
    assert table.mean == 175
    assert len(pickle.dumps(table)) > few
    lengths(90)
    assert pickle.loads(pickle.dumps(table)).mean == 175
    with pytest.raises(MalformedFile, match=r"words\.csv"):
        other.mean  # noqa: B018


def test_duplicates_and_transformers_follow_their_files():
    def written(text):
        rewritten("same.csv", "docno,duplicate_of\n" + text)

    written("d1,d0\n")
    measure = TBG(lengths=lengths(10), duplicates="same.csv", duplicate_gain="none")
    found = []
    for table in ({"d1": "d0"}, {"d5": "d2", "d4": "d2"}):
        written("".join(f"{copy},{of}\n" for copy, of in table.items()))
        expected = evaluate(QRELS, RUNS, [measure(duplicates=table)], by_query=True).to_numpy()
        for cache_dir in (None, "kept"):
            cached = evaluate(QRELS, RUNS, [measure], by_query=True, cache_dir=cache_dir)
            np.testing.assert_array_equal(cached, expected)
        found.append(expected)
    assert not np.array_equal(*found)
    ranking = pd.DataFrame({"qid": "1", "docno": DOCS[:2]})
    lengths(10)
    rewritten("same.csv", "docno,duplicate_of\nd1,d0\n")
    length, duplicate, loaded = DocLength("words.csv"), DuplicateOf("same.csv"), DocLength(Lengths.load("words.csv"))
    assert length(ranking).doc_length.tolist() == [100, 110]
    assert duplicate(ranking).duplicate_of.fillna("").tolist() == ["", "d0"]
    lengths(90)
    rewritten("same.csv", "docno,duplicate_of\nd0,d1\n")
    assert length(ranking).doc_length.tolist() == [100, 190]
    assert duplicate(ranking).duplicate_of.fillna("").tolist() == ["d1", ""]
    assert loaded(ranking).doc_length.tolist() == [100, 110]


@pytest.mark.parametrize("kind", [Lengths, Duplicates, Costs])
@pytest.mark.parametrize("given", [{"d1": 100}, "robust04", None])
def test_tables_are_not_made_by_their_constructor(kind, given):
    name = kind.__name__
    refused(lambda: kind(given), BadParameter, f"{name}({given!r}) has no table: write {name}.of(table)")
