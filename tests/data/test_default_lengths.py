"""Default table of lengths: same numbers as a bound table, precedence, changes, other processes, and errors."""

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import ir_measures
import numpy as np
import pandas as pd
import pytest
from joblib import Parallel, delayed
from sklearn.base import clone

from pyterrier_cwla import TBG, IntentAware, LambdaMART, Lengths, Residual, evaluate, register_lengths, scorer
from pyterrier_cwla.data import lengths_of_texts, without_files
from pyterrier_cwla.errors import BadParameter, MalformedFile, MissingLength, NotPassed
from pyterrier_cwla.learning import measure_score
from pyterrier_cwla.measures.declarations import needs_of
from pyterrier_cwla.measures.provider import CWLAEvaluator, CWLAProvider, prepare
from tests.support.messages import refused

from .test_document_tables import DOCS, QRELS, RUN, RUNS, USES, rewritten, values

WORDS = {d: 100 + 90 * number for number, d in enumerate(DOCS)}
OTHER = {d: 900 - 50 * number for number, d in enumerate(DOCS)}


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """Run each test in a folder of its own."""
    monkeypatch.chdir(tmp_path)


def with_lengths(words):
    return RUN.assign(doc_length=RUN.doc_id.map(words))


def value(measure, run=RUN, qrels=QRELS):
    return evaluate(qrels, run, [measure]).iloc[0, 0]


def bound(table, **more):
    return value(TBG(lengths=table, **more))


@pytest.mark.slow
@pytest.mark.parametrize("use", USES)
def test_default_lengths_equal_a_bound_table_and_change_at_once(use):
    """Some uses have a cache, which must not return values of the table of before."""
    found = []
    for number, table in enumerate((WORDS, OTHER)):
        named = register_lengths(f"of_step_{number}", table)
        register_lengths(table)
        expected = values(use, TBG(lengths=named, seconds_per_word=0.02))
        np.testing.assert_array_equal(values(use, TBG(seconds_per_word=0.02)), expected)
        found.append(expected)
    assert not np.array_equal(*found)


def test_precedence():
    """The table of the measure, then the column of the run, then the default table."""
    register_lengths(WORDS)
    column = with_lengths(OTHER)
    assert value(TBG(lengths=dict.fromkeys(DOCS, 7)), column) == bound(dict.fromkeys(DOCS, 7)) != bound(WORDS)
    assert value(TBG, column) == bound(OTHER) != bound(WORDS)
    assert value(TBG) == bound(WORDS)
    register_lengths(None)
    refused(lambda: value(TBG), MissingLength, "or set a table for all measures with register_lengths(words)")
    register_lengths(WORDS)
    found = evaluate(QRELS, {"column": with_lengths(OTHER), "none": RUN}, [TBG]).TBG
    assert found.tolist() == [bound(OTHER), bound(WORDS)]


@pytest.mark.parametrize("wrapped", [lambda m: m, lambda m: Residual(measure=m), lambda m: IntentAware(measure=m)])
def test_wrapped_measures_read_it(wrapped):
    register_lengths(WORDS)
    qrels = [ir_measures.Qrel(q, d, g, str(n % 2)) for q in QRELS for n, (d, g) in enumerate(QRELS[q].items())]
    expected = value(wrapped(TBG(lengths=WORDS, unseen=3)), qrels=qrels)
    assert value(wrapped(TBG(unseen=3)), qrels=qrels) == expected


def test_gaps_are_errors_or_the_mean_of_their_source():
    register_lengths(WORDS)
    gap = with_lengths({d: n for d, n in OTHER.items() if d != "d2"})
    refused(lambda: value(TBG, gap), MissingLength, "3 of 18 have none")
    assert value(TBG(missing="mean"), gap) == value(TBG, gap.fillna(gap.doc_length.mean()))
    table = {d: n for d, n in WORDS.items() if d != "d2"}
    register_lengths(table)
    refused(lambda: value(TBG), MissingLength, "3 of 18 have none")
    assert value(TBG(missing="mean")) == bound(table, missing="mean")
    register_lengths({"another": 1})
    with pytest.raises(MissingLength, match="none of 18 documents of the run is in the table of lengths, such as"):
        value(TBG(missing="mean"))


def test_needs_and_names_of_measures():
    provider = CWLAProvider()
    assert provider.run_inputs([TBG]) == ["query_id", "doc_id", "score", "doc_length"]
    assert needs_of(TBG).lengths == "run"
    table = register_lengths(WORDS)
    assert provider.run_inputs([TBG]) == ["query_id", "doc_id", "score"]
    assert (needs_of(TBG).lengths, needs_of(TBG).tables) == ("default", (table,))
    assert needs_of(TBG(lengths=OTHER)).lengths == "table"
    assert (needs_of(ir_measures.AP).lengths, needs_of(TBG(seconds_per_word=0)).lengths) == ("none", "none")
    assert needs_of(TBG(seconds_per_word=0)).tables == ()
    register_lengths(WORDS)
    columns = evaluate(QRELS, RUNS, ["TBG", Residual(measure=TBG(unseen=3))]).columns.tolist()
    assert columns == ["TBG", "Residual(measure='TBG(unseen=3)')"]
    assert [str(measure) for measure in CWLAEvaluator([TBG], prepare(QRELS)).pinned] == ["TBG"]


def test_the_forms_of_the_default():
    path = "words.csv"
    rewritten(path, "docno,words\n" + "".join(f"{d},{n}\n" for d, n in WORDS.items()))
    named = register_lengths("by_its_name", WORDS)
    forms = [WORDS, pd.Series(WORDS), path, named, "by_its_name"]
    for form in forms:
        assert register_lengths(form) is Lengths.default
        assert value(TBG) == bound(WORDS)
    assert register_lengths(table=WORDS, name="by_keyword").name == "by_keyword"
    assert Lengths.default is named
    with pytest.raises(BadParameter, match="lengths='no_such' is neither a file nor the name of a table"):
        register_lengths("no_such")
    refused(lambda: register_lengths("by_its_name", None), BadParameter, "not NoneType")
    assert Lengths.default is named


def test_a_default_that_follows_a_file():
    lines = "docno,words\n" + "".join(f"{d},{n}\n" for d, n in WORDS.items())
    rewritten("words.csv", lines)
    register_lengths("words.csv")
    assert value(TBG) == bound(WORDS)
    evaluator = CWLAEvaluator([TBG], prepare(QRELS))
    evaluator.calc_aggregate(RUN)
    rewritten("words.csv", lines.replace("d0,100", "d0,999"))
    assert value(TBG) == bound(WORDS | {"d0": 999})
    assert evaluator.calc_aggregate(RUN)[TBG] == bound(WORDS)
    with without_files():
        assert value(TBG) == bound(WORDS | {"d0": 999})
        refused(lambda: register_lengths("words.csv"), BadParameter, "files are not read here")


def test_an_evaluator_keeps_the_table_of_its_start():
    register_lengths(WORDS)
    evaluator = CWLAEvaluator([TBG, Residual(measure=TBG(unseen=3))], prepare(QRELS))
    objective = LambdaMART("TBG")
    register_lengths(OTHER)
    assert evaluator.calc_aggregate(RUN)[TBG] == bound(WORDS)
    assert value(objective.measure) == bound(WORDS)
    assert value(objective.measure(half_life=60)) == bound(WORDS, half_life=60)
    assert value(objective.measure(lengths=OTHER)) == bound(OTHER)
    with pytest.raises(BadParameter, match="two measures are called TBG and differ"):
        evaluate(QRELS, RUN, [objective.measure, TBG])
    register_lengths(WORDS)
    ideal = TBG(norm="ideal")
    assert value(ideal) == bound(WORDS, norm="ideal")
    with pytest.raises(MissingLength, match="A column doc_length of the run has the lengths of retrieved documents"):
        value(ideal, with_lengths(WORDS))
    with pytest.raises(MissingLength, match="norm='ideal' needs"):
        evaluate(QRELS, {"none": RUN, "column": with_lengths(WORDS)}, [ideal])


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
        with pytest.raises(MissingLength):
            value(measure)
    assert value(pickle.loads(plain[2])) == expected[2]


@pytest.mark.slow
def test_new_processes_need_no_default_of_their_own():
    register_lengths(WORDS)
    found = Parallel(n_jobs=2)(delayed(evaluate)(QRELS, RUN, [TBG, TBG(half_life=h)]) for h in (30, 60))
    for h, table in zip((30, 60), found):
        assert table.iloc[0].tolist() == [bound(WORDS), bound(WORDS, half_life=h)]
    code = "import pickle, sys; from pyterrier_cwla import Lengths; print(pickle.load(sys.stdin.buffer).metric.default_lengths, Lengths.default)"
    done = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(TBG), capture_output=True, check=True)
    assert done.stdout.decode().split()[-1] == "None"
    assert "6 documents" in done.stdout.decode()


def rows():
    docno = [d for _ in range(4) for d in DOCS]
    qid = np.repeat(list("abcd"), len(DOCS))
    score = np.random.default_rng(0).normal(size=len(docno))
    return np.arange(len(docno)) % 3, score, {"qid": qid, "docno": docno}


def test_rows_and_objectives_read_the_default_by_docno():
    y, score, known = rows()
    words = [WORDS[d] for d in known["docno"]]
    with pytest.raises(NotPassed, match=r"or all measures one with register_lengths\(words\)"):
        measure_score("TBG", y, score, qid=known["qid"])
    register_lengths(WORDS)
    expected = measure_score(TBG(lengths=WORDS), y, score, **known)
    assert measure_score("TBG", y, score, **known) == expected
    ideal = measure_score(TBG(lengths=WORDS, norm="ideal"), y, score, **known)
    assert measure_score("TBG(norm='ideal')", y, score, **known) == ideal
    with pytest.raises(NotPassed, match="TBG needs the length of every document: pass doc_length="):
        measure_score("TBG", y, score, qid=known["qid"])
    register_lengths(OTHER)
    assert measure_score("TBG", y, score, **known, doc_length=words) == expected
    assert measure_score("TBG", y, score, qid=known["qid"], doc_length=words) == pytest.approx(expected)
    y, score, known = rows()
    group = [len(DOCS)] * 4
    register_lengths(WORDS)
    expected = LambdaMART(TBG(lengths=WORDS), docno=known["docno"]).gradients(y, score, group)
    for found, wanted in zip(LambdaMART("TBG", docno=known["docno"]).gradients(y, score, group), expected):
        np.testing.assert_array_equal(found, wanted)
    with pytest.raises(MissingLength, match=r"register_lengths\(words\) first, and pass docno="):
        LambdaMART("TBG").gradients(y, score, group)


def test_repr_of_lengths_does_not_fail():
    assert repr(register_lengths("robust", WORDS)) == "<lengths 'robust': 6 documents, mean 325.0 words>"
    counted = lengths_of_texts({f"d{n}": "one two three" for n in range(1200)}, progress=False)
    assert repr(Lengths.of(counted, "made")) == "<lengths 'made': 1,200 documents, mean 3.0 words (whitespace)>"
    assert repr(Lengths.of({"a": 12}, "one")) == "<lengths 'one': 1 document, mean 12.0 words>"
    assert repr(Lengths.of({}, "none")) == "<lengths 'none': 0 documents>"
    counted = lengths_of_texts({"a": "one two"}, progress=False)
    counted.save("saved.parquet")
    table = Lengths.of("saved.parquet")
    assert repr(table) == "<lengths 'saved.parquet': 1 document, mean 2.0 words (whitespace)>"
    Path("saved.parquet").write_text("no table")
    assert repr(table) == "<lengths 'saved.parquet': the file cannot be read>"
    assert repr(Lengths.of("missing.csv")) == "<lengths 'missing.csv': the file cannot be read>"
    refused(lambda: len(Lengths.of("missing.csv")), MalformedFile)
