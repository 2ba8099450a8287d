"""Tables of documents: files followed by each call, the default table of lengths, and their display in notebooks."""

import copy
import hashlib
import os
import pickle
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import ir_measures
import numpy as np
import pandas as pd
import pytest
from joblib import Parallel, delayed
from matplotlib.figure import Figure
from sklearn.base import clone

from pyterrier_cwla import TBG, LambdaMART, Lengths, Residual, evaluate, explain, find_duplicates, register_lengths
from pyterrier_cwla.behaviour import simulate
from pyterrier_cwla.data import Costs, Duplicates, document_tables, lengths_of_texts, without_files
from pyterrier_cwla.data.resources import _with_digest
from pyterrier_cwla.errors import BadParameter, MalformedFile, MissingLength, NotPassed
from pyterrier_cwla.learning import measure_score, scorer
from pyterrier_cwla.measures.declarations import needs_of
from pyterrier_cwla.measures.provider import CWLAEvaluator, CWLAProvider, prepare
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


WORDS = {d: 100 + 90 * number for number, d in enumerate(DOCS)}
OTHER = {d: 900 - 50 * number for number, d in enumerate(DOCS)}


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


def value(measure, run=RUN, **more):
    return evaluate(QRELS, run, [measure(**more) if more else measure]).iloc[0, 0]


def with_lengths(words):
    return RUN.assign(doc_length=RUN.doc_id.map(words))


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
def test_a_measure_follows_its_file_and_the_default_table(use):
    """Some uses have a cache, which must not return values of the table of before."""
    lengths(10)
    timed = TBG(seconds_per_word=0.02)
    measure = timed(lengths="words.csv")
    found = []
    for step in (10, 90):
        named = register_lengths("as_the_file", lengths(step))
        register_lengths(named)
        expected = values(use, timed(lengths="as_the_file"))
        for of in (measure, timed(lengths="words.csv"), timed):
            np.testing.assert_array_equal(values(use, of), expected)
        found.append(expected)
    assert not np.array_equal(*found)


def test_files_that_go_or_change_are_errors(monkeypatch):
    lengths(10)
    measure = TBG(lengths="words.csv")
    evaluator = CWLAEvaluator([measure], prepare(QRELS))
    found = evaluator.calc_aggregate(RUNS["one"])
    lengths(50)
    other = CWLAEvaluator([measure], prepare(QRELS))
    lengths(90)
    assert evaluator.calc_aggregate(RUNS["one"]) == found
    changed = "words.csv: the file of lengths= was changed during the evaluation: start it again"
    refused(lambda: other.calc_aggregate(RUNS["one"]), MalformedFile, changed)
    os.remove("words.csv")
    gone = "words.csv: No such file or directory (the file of lengths=)"
    refused(lambda: evaluate(QRELS, RUNS, [measure]), MalformedFile, gone)
    _with_digest.cache_clear()
    lengths(10)
    real = Lengths._read

    def changing(path):
        found = real(path)
        lengths(90)
        return found

    monkeypatch.setattr(Lengths, "_read", staticmethod(changing))
    refused(lambda: evaluate(QRELS, RUNS, [measure]), MalformedFile, changed)


def test_measures_of_one_file_share_one_reading(monkeypatch):
    lengths(10)
    read, hashed, real = [], [], Lengths._read
    monkeypatch.setattr(Lengths, "_read", staticmethod(lambda path: read.append(path) or real(path)))
    digest = hashlib.file_digest
    monkeypatch.setattr(hashlib, "file_digest", lambda file, kind: hashed.append(1) or digest(file, kind))
    measures = [TBG(lengths="words.csv"), TBG(lengths="words.csv", half_life=60),
                Residual(measure=TBG(lengths=Path("words.csv"), unseen=12))]  # fmt: skip
    evaluate(QRELS, RUNS, measures)
    assert (len(read), len(hashed)) == (1, 2)  # hashed again after reading, to detect changes
    evaluate(QRELS, RUNS, measures)
    assert (len(read), len(hashed)) == (1, 3)


def test_registered_paths_follow_their_files_and_loaded_tables_do_not():
    before = lengths(10)
    register_lengths("of_a_file", "words.csv")
    register_lengths("words.csv")
    loaded = Lengths.load("words.csv")
    evaluator = CWLAEvaluator([TBG], prepare(QRELS))
    evaluator.calc_aggregate(RUN)
    after = value(TBG, lengths=lengths(90))
    assert value(TBG) == value(TBG, lengths="of_a_file") == after != value(TBG, lengths=before)
    assert value(TBG, lengths=loaded) == evaluator.calc_aggregate(RUN)[TBG] == value(TBG, lengths=before)
    assert (loaded.mean, Lengths.of("words.csv").mean) == (125, 325)
    with without_files():
        assert value(TBG) == after
        refused(lambda: register_lengths("words.csv"), BadParameter, "files are not read here")
    both = [TBG(lengths=loaded), TBG(lengths="words.csv")]
    refused(lambda: evaluate(QRELS, RUNS, both), BadParameter, "two measures are called TBG", " and differ")
    lengths(30)
    table = TBG(lengths="words.csv").metric.lengths.current
    few, other = len(pickle.dumps(table)), pickle.loads(pickle.dumps(table))
    assert table.mean == 175
    assert len(pickle.dumps(table)) > few
    lengths(90)
    assert pickle.loads(pickle.dumps(table)).mean == 175
    refused(lambda: other.mean, MalformedFile, "words.csv")


def test_duplicates_and_transformers_follow_their_files():
    def written(table):
        rewritten("same.csv", "docno,duplicate_of\n" + "".join(f"{copy},{of}\n" for copy, of in table.items()))

    written({"d1": "d0"})
    measure = TBG(lengths=lengths(10), duplicates="same.csv", duplicate_gain="none")
    ranking = pd.DataFrame({"qid": "1", "docno": DOCS[:2]})
    length, duplicate, loaded = DocLength("words.csv"), DuplicateOf("same.csv"), DocLength(Lengths.load("words.csv"))
    assert length(ranking).doc_length.tolist() == [100, 110]
    found = []
    for table in ({"d1": "d0"}, {"d5": "d2", "d4": "d2", "d0": "d1"}):
        written(table)
        expected = evaluate(QRELS, RUNS, [measure(duplicates=table)], by_query=True).to_numpy()
        for cache_dir in (None, "kept"):
            cached = evaluate(QRELS, RUNS, [measure], by_query=True, cache_dir=cache_dir)
            np.testing.assert_array_equal(cached, expected)
        assert duplicate(ranking).duplicate_of.fillna("").tolist() == [table.get(d, "") for d in DOCS[:2]]
        found.append(expected)
    assert not np.array_equal(*found)
    lengths(90)
    assert length(ranking).doc_length.tolist() == [100, 190]
    assert loaded(ranking).doc_length.tolist() == [100, 110]


@pytest.mark.parametrize("kind", [Lengths, Duplicates, Costs])
def test_tables_are_not_made_by_their_constructor(kind):
    for given in ({"d1": 100}, "robust04", None):
        says = f"{kind.__name__}({given!r}) has no table: write {kind.__name__}.of(table)"
        refused(lambda given=given: kind(given), BadParameter, says)


def test_precedence():
    """The table of the measure, then the column of the run, then the default table."""
    register_lengths(WORDS)
    column, same = with_lengths(OTHER), dict.fromkeys(DOCS, 7)
    assert value(TBG, column, lengths=same) == value(TBG, lengths=same) != value(TBG, lengths=WORDS)
    assert value(TBG, column) == value(TBG, lengths=OTHER) != value(TBG, lengths=WORDS)
    found = evaluate(QRELS, {"column": column, "none": RUN}, [TBG]).TBG
    assert found.tolist() == [value(TBG, lengths=OTHER), value(TBG, lengths=WORDS)]
    register_lengths(None)
    refused(lambda: value(TBG), MissingLength, "or set a table for all measures with register_lengths(words)")


def test_gaps_are_errors_or_the_mean_of_their_source():
    register_lengths(WORDS)
    gap = with_lengths({d: n for d, n in OTHER.items() if d != "d2"})
    refused(lambda: value(TBG, gap), MissingLength, "3 of 18 have none")
    assert value(TBG, gap, missing="mean") == value(TBG, gap.fillna(gap.doc_length.mean()))
    table = {d: n for d, n in WORDS.items() if d != "d2"}
    register_lengths(table)
    refused(lambda: value(TBG), MissingLength, "3 of 18 have none")
    assert value(TBG, missing="mean") == value(TBG, lengths=table, missing="mean")
    register_lengths({"another": 1})
    says = "none of 18 documents of the run is in the table of lengths, such as"
    refused(lambda: value(TBG, missing="mean"), MissingLength, says)


def test_a_default_table_replaces_the_column_among_the_needs():
    provider = CWLAProvider()
    assert provider.run_inputs([TBG]) == ["query_id", "doc_id", "score", "doc_length"]
    table = register_lengths(WORDS)
    assert provider.run_inputs([TBG]) == ["query_id", "doc_id", "score"]
    assert (needs_of(TBG).lengths, needs_of(TBG).tables) == ("default", (table,))
    assert [needs_of(one).lengths for one in (TBG(lengths=OTHER), TBG(seconds_per_word=0))] == ["table", "none"]
    assert [str(measure) for measure in CWLAEvaluator([TBG], prepare(QRELS)).pinned] == ["TBG"]


def test_the_forms_of_the_default():
    rewritten("words.csv", "docno,words\n" + "".join(f"{d},{n}\n" for d, n in WORDS.items()))
    named = register_lengths("by_its_name", WORDS)
    for form in (WORDS, pd.Series(WORDS), "words.csv", named, "by_its_name"):
        assert register_lengths(form) is Lengths.default
        assert value(TBG) == value(TBG, lengths=WORDS)
    assert register_lengths(table=WORDS, name="by_keyword").name == "by_keyword"
    refused(lambda: register_lengths("no_such"), BadParameter, "lengths='no_such' is neither a file nor the name")
    refused(lambda: register_lengths("by_its_name", None), BadParameter, "not NoneType")
    assert Lengths.default is named


def test_an_evaluator_keeps_the_table_of_its_start():
    register_lengths(WORDS)
    evaluator = CWLAEvaluator([TBG, Residual(measure=TBG(unseen=3))], prepare(QRELS))
    measure = LambdaMART("TBG").measure
    register_lengths(OTHER)
    assert evaluator.calc_aggregate(RUN)[TBG] == value(measure) == value(TBG, lengths=WORDS)
    assert value(measure, half_life=60) == value(TBG, lengths=WORDS, half_life=60)
    assert value(measure, lengths=OTHER) == value(TBG, lengths=OTHER)
    says = "two measures are called TBG and differ"
    refused(lambda: evaluate(QRELS, RUN, [measure, TBG]), BadParameter, says)
    register_lengths(WORDS)
    ideal, column = TBG(norm="ideal"), with_lengths(WORDS)
    assert value(ideal) == value(ideal, lengths=WORDS)
    says = "A column doc_length of the run has the lengths of retrieved documents"
    refused(lambda: value(ideal, column), MissingLength, says)
    both = {"none": RUN, "column": column}
    refused(lambda: evaluate(QRELS, both, [ideal]), MissingLength, "norm='ideal' needs")


def test_pickles_carry_it_and_copies_do_not():
    measures = [TBG, Residual(measure=TBG(unseen=3)), TBG(lengths=OTHER)]
    plain = list(map(pickle.dumps, measures))
    register_lengths(WORDS)
    expected = [value(measure) for measure in measures]
    carried = pickle.loads(pickle.dumps(measures))
    copied = [copy.deepcopy(TBG), copy.copy(TBG), clone(scorer(TBG), safe=False).measure]
    incomplete = pickle.loads(pickle.dumps(ir_measures.measures.registry["CWLA"]))
    register_lengths(None)
    assert [value(measure) for measure in carried] == expected
    assert (carried, str(incomplete)) == (measures, "CWLA")
    for measure in [*copied, pickle.loads(plain[0])]:
        refused(lambda measure=measure: value(measure), MissingLength)
    assert value(pickle.loads(plain[2])) == expected[2]


@pytest.mark.slow
def test_new_processes_need_no_default_of_their_own():
    register_lengths(WORDS)
    found = Parallel(n_jobs=2)(delayed(evaluate)(QRELS, RUN, [TBG(half_life=h)]) for h in (30, 60))
    assert [table.iloc[0, 0] for table in found] == [value(TBG, lengths=WORDS, half_life=h) for h in (30, 60)]
    code = "import pickle, sys; from pyterrier_cwla import Lengths; print(pickle.load(sys.stdin.buffer).metric.default_lengths, Lengths.default)"
    done = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(TBG), capture_output=True, check=True)
    assert done.stdout.decode().split()[-1] == "None"
    assert "6 documents" in done.stdout.decode()


def test_rows_and_objectives_read_the_default_by_docno():
    docno, qid = DOCS * 4, np.repeat(list("abcd"), len(DOCS))
    y, score = np.arange(24) % 3, np.random.default_rng(0).normal(size=24)
    scored = partial(measure_score, y_true=y, y_score=score, qid=qid)
    refused(lambda: scored("TBG"), NotPassed, "or all measures one with register_lengths(words)")
    register_lengths(WORDS)
    expected = scored(TBG(lengths=WORDS), docno=docno)
    assert scored("TBG", docno=docno) == expected
    ideal = "TBG(norm='ideal')"
    assert scored(ideal, docno=docno) == scored(TBG(lengths=WORDS, norm="ideal"), docno=docno)
    refused(lambda: scored("TBG"), NotPassed, "TBG needs the length of every document: pass doc_length=")
    gradients = LambdaMART(TBG(lengths=WORDS), docno=docno).gradients(y, score, [6] * 4)
    np.testing.assert_array_equal(LambdaMART("TBG", docno=docno).gradients(y, score, [6] * 4), gradients)
    says = "register_lengths(words) first, and pass docno="
    refused(lambda: LambdaMART("TBG").gradients(y, score, [6] * 4), MissingLength, says)
    register_lengths(OTHER)
    words = [WORDS[d] for d in docno]
    assert scored("TBG", docno=docno, doc_length=words) == expected
    assert scored("TBG", doc_length=words) == pytest.approx(expected)


def test_repr_of_lengths_does_not_fail():
    counted = lengths_of_texts({f"d{n}": "one two three" for n in range(1200)}, progress=False)
    counted.save("saved.parquet")
    saved = Lengths.of("saved.parquet")
    for table, says in (
        (register_lengths("robust", WORDS), "'robust': 6 documents, mean 325.0 words"),
        (Lengths.of(counted, "made"), "'made': 1,200 documents, mean 3.0 words (whitespace)"),
        (Lengths.of({"a": 12}, "one"), "'one': 1 document, mean 12.0 words"),
        (Lengths.of({}, "none"), "'none': 0 documents"),
        (saved, "'saved.parquet': 1,200 documents, mean 3.0 words (whitespace)"),
        (Lengths.of("missing.csv"), "'missing.csv': the file cannot be read"),
    ):
        assert repr(table) == f"<lengths {says}>"
    Path("saved.parquet").write_text("no table")
    assert repr(saved) == "<lengths 'saved.parquet': the file cannot be read>"
    refused(lambda: len(Lengths.of("missing.csv")), MalformedFile)


def cells(page, kind="td"):
    return re.findall(f'<{kind}(?: class="number")?>(?:<span>)?(.*?)(?:</span>)?</{kind}>', page)


@pytest.mark.slow
def test_lengths_show_their_quantiles_and_duplicates_their_largest_clusters(monkeypatch):
    page = Lengths.of({f"d{number}": number for number in range(1, 101)}, name="mine")._repr_html_()
    assert "&lt;lengths &#x27;mine&#x27;: 100 documents, mean 50.5 words&gt;" in page
    assert cells(page, "th") == ["shortest", "5 %", "25 %", "median", "75 %", "95 %", "longest"]
    assert cells(page) == ["1", "5", "25", "50", "75", "95", "100"]
    assert 'aria-label="Lengths of 100 documents in words: median 50, mean 50."' in page
    empty = Lengths.of({})._repr_html_()
    assert "0 documents" in empty
    assert not cells(empty)
    monkeypatch.setattr(document_tables, "_MOST", 10)
    page = Lengths.of({f"d{number}": number for number in range(101)})._repr_html_()
    assert "one document in 11." in page
    assert (cells(page)[0], cells(page)[-1]) == ("0", "100")
    originals = {f"{cluster}-{number}": cluster for cluster in "abcdefg" for number in range(ord(cluster) - 95)}
    page = Duplicates.of(originals, name="few")._repr_html_()
    assert f"{len(originals):,} duplicates of 7 documents" in page
    assert cells(page)[:3] == ["g", "8", "g-0, g-1, g-2, …"]
    assert len(cells(page)) == 5 * 3
    assert "The 5 largest clusters of 7." in page
    one = find_duplicates({"d1": "a b", "d2": "a b", "d3": "c"}, progress=False)._repr_html_()
    assert cells(one) == ["d1", "1", "d2"]
    assert "largest" not in one
    assert "0 duplicates of 0 documents" in find_duplicates({"d": "x"}, progress=False)._repr_html_()
    assert "column duplicate_of of the run" in Duplicates._named["run"]._repr_html_()
    for kind in (Lengths, Duplicates):
        assert "the file cannot be read" in kind("x", path="/no/such/file")._repr_html_()


def test_ids_and_names_are_escaped():
    page = Duplicates.of({"<script>\x1b": "<b>"}, name="run_x")._repr_html_()
    page += Lengths.of(pd.Series({"d": 3.0}), name="<i>x")._repr_html_()
    assert not [text for text in ("<script", "<b>", "<i>", "\x1b") if text in page]


@pytest.mark.slow
def test_the_picture_has_all_documents(monkeypatch):
    drawn = []

    def picture(draw, inches, label):
        draw(ax := Figure().subplots())
        drawn.append(sum(bar.get_height() for bar in ax.patches))
        return ""

    monkeypatch.setattr(document_tables, "notebook_picture", picture)
    rng = np.random.default_rng(0)
    for words in (rng.integers(0, 4000, 500), rng.lognormal(5, 2, 500), np.zeros(3)):
        Lengths.of({f"d{number}": length for number, length in enumerate(words.tolist())})._repr_html_()
    assert drawn == pytest.approx([1.0, 1.0, 1.0])
