"""Invalid runs, judgments, lengths and measures: one error with place, cause and remedy. Empty rankings score 0."""

import ir_measures
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from ir_measures import AP

from pyterrier_cwla import CWLA, TBG, Mixture, Residual, continuation, evaluate, register_lengths
from pyterrier_cwla.errors import BadJudgments, BadParameter, BadRun, CWLAError, MissingLength, UnknownSpec
from tests.support.generated import collection
from tests.support.messages import complaint, refused

SEVERAL = "Several runs of one table are given by name: {'name': rows, …}."
RBP = CWLA(C="rbp(0.8)", A="erg", max_rel=2)


def run(*rows, **columns):
    """Return a run of (document, score) rows for topic 301, or of whole rows."""
    rows = [row if len(row) == 3 else ("301", *row) for row in rows]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "score"]).assign(**columns)


def qrels(*rows):
    rows = [row if len(row) == 3 else ("301", *row) for row in rows]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"])


GOOD_RUN = run(("a", 3.0), ("b", 2.0), ("c", 1.0))
GOOD_QRELS = qrels(("a", 1), ("x", 2), ("c", 0))


def of_provider(error, qrels, run, *measures):
    """Return the error message of the provider of ir_measures."""
    return complaint(error, ir_measures.cwla.calc_aggregate, measures or (AP,), qrels, run)


def of_size(rows, document="other"):
    """Return judgments and a run of `rows` rows in which one document is retrieved twice."""
    filling = [(str(number // 100), f"d{number}", 1.0) for number in range(rows - 2)]
    return qrels(("7", "d700", 1), ("8", "d800", 0)), run(*filling, ("7", document, 0.9), ("7", document, 0.5))


FORMS = {"pandas": lambda frame: frame, "objects": lambda frame: frame.astype({"query_id": object, "doc_id": object}),
         "categories": lambda frame: frame.astype({"query_id": "category", "doc_id": "category"}),
         "polars": pl.from_pandas, "arrow": pa.Table.from_pandas,
         "chunks": lambda frame: pa.concat_tables([pa.Table.from_pandas(frame[at::3]) for at in range(3)])}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("measures", [["AP"], ["AP", "Judged@10"], ["NumRet"]])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rows", [1000, 10_000, 10_001, 40_000])
def test_a_document_twice_is_an_error_at_any_size(rows, form, measures):
    for document in ("other", "d700"):
        judgments, frame = of_size(rows, document)
        expected = f"topic '7': '{document}' is retrieved twice: keep one row of each document. {SEVERAL}"
        given = FORMS[form](frame)
        assert of_provider(BadRun, judgments, given, *map(ir_measures.parse_measure, measures)) == expected
        assert complaint(BadRun, evaluate, judgments, given, measures) == expected
        assert complaint(BadRun, evaluate, judgments, {"a": given}, measures) == f"a: {expected}"
        assert expected == of_provider(BadRun, judgments[judgments["query_id"] == "8"], frame)


def test_repeats_in_other_queries_or_without_the_check():
    judgments, frame = of_size(1000)
    evaluate(judgments, frame, ["AP", "Judged@10"], check=False)
    relevant = pd.concat([frame, run(("7", "d700", 0.1))])
    for check in (False, True):
        assert "is retrieved twice" in complaint(BadRun, evaluate, judgments, relevant, ["AP"], check=check)
    _, frame = of_size(1000)
    frame = pd.concat([frame[:-2].assign(query_id=query) for query in "abc"])
    found = evaluate(qrels(("a", "d7", 1)), frame.assign(score=range(len(frame), 0, -1)), ["RR"])
    assert found.loc["run", "RR"] == 1 / 8


def test_ids_of_equal_hashes_are_told_apart(monkeypatch):
    """The first hash function gives all ids one hash, so another is used, which gives four documents the same hash."""

    def frames(*more):
        rows = [(query, f"d{number}", 200.0 - number) for query in "ab" for number in range(200)]
        return qrels(*[(q, f"d{n}", n % 3) for q in "ab" for n in range(10)]), run(*rows, *more)

    def hashed(ids, salt, _):
        numbers = [0 if salt == 0 else int(name[1:]) % 50 for name in ids.to_pylist()]
        return np.array(numbers, np.uint64)

    measures = ["AP", "nDCG@10", "Judged@100", "Bpref"]
    expected = evaluate(*frames(), measures)
    monkeypatch.setattr("pyterrier_cwla.files.id_columns._hashes_of_strings", hashed)
    pd.testing.assert_frame_equal(evaluate(*frames(), measures), expected)
    message = complaint(BadRun, evaluate, *frames(("b", "d77", 0.5)), measures)
    assert message == f"topic 'b': 'd77' is retrieved twice: keep one row of each document. {SEVERAL}"
    judgments, frame = frames()
    judgments = pd.concat([judgments, qrels(("a", "d3", 0))])
    assert "topic 'a': 'd3' is judged twice" in complaint(BadJudgments, evaluate, judgments, frame, measures)


@pytest.mark.slow
@pytest.mark.parametrize("queries", [10, 801])
def test_a_pair_judged_twice_is_an_error_or_counts_once(queries):
    """PyTerrier's KFoldGridSearch passes the whole frame of judgments once per fold."""
    frames = collection(2, queries=queries, depth=20)
    assert (len(frames.qrels) > 10_000) == (queries > 10)
    for grades in ((1, 2), (1, 0), (0, 1), (2, -1), (0, -1), (2, -2)):
        twice = qrels(("5", "new", grades[0]), ("5", "new", grades[1]))
        judgments = pd.concat([frames.qrels, twice]).sample(frac=1, random_state=1)
        assert of_provider(BadJudgments, judgments, frames.run) == "topic '5': 'new' is judged twice: keep one row."
    repeated = pd.concat([frames.qrels] * 3)
    measures = [AP, ir_measures.nDCG, ir_measures.Rprec, ir_measures.NumRel, ir_measures.Judged @ 10, RBP(max_rel=3)]
    found = list(ir_measures.cwla.iter_calc(measures, repeated, frames.run))
    assert found == list(ir_measures.cwla.iter_calc(measures, frames.qrels, frames.run))


ON_BOTH_SIDES = "with .astype(str) on both sides."
PYTERRIER = {"query_id": "qid", "doc_id": "docno", "relevance": "label"}
OWN_RUN, OWN_QRELS = GOOD_RUN.rename(columns=PYTERRIER), GOOD_QRELS.rename(columns=PYTERRIER)
TWICE = f"topic '301': 'b' is retrieved twice: keep one row of each document. {SEVERAL}"
A_RUN = {"q": {"a": 1.0}}


WRONG = [
    (GOOD_QRELS, run(("a", 1.0), ("9", "a", np.nan)), "topic '9': 'a'"),
    (GOOD_QRELS, run(("a", "3.0"), ("b", "2.0")), "topic '301': 'a': score of the run must be numbers, and '3.0' is of"
     " type str: convert the column with .astype(float)."),
    (GOOD_QRELS, run(("b", 3.0), ("302", "b", 2.0), ("b", 1.0)), TWICE),
    (GOOD_QRELS, GOOD_RUN.assign(doc_id=pd.Series([1, 2, 3], dtype=object)), ["doc_id of the run must be strings, and ", ON_BOTH_SIDES]),
    (GOOD_QRELS.assign(query_id=301), GOOD_RUN, ["query_id of the judgments must be", ON_BOTH_SIDES]),
    (GOOD_QRELS.assign(query_id=301.0), GOOD_RUN, ["query_id of the judgments must be", "double: convert it with .astype('Int64').astype(str)"]),
    ({"301": {"a": 1, 7: 0}}, GOOD_RUN, "7 is of type int"),
    (GOOD_QRELS, GOOD_RUN.assign(doc_id=pd.Series(["a", "b", None], dtype="category")), "doc_id of the run is missing in row 2."),
    (GOOD_QRELS, GOOD_RUN.drop(columns="query_id"), "no column 'query_id'; there is 'doc_id', 'score'."),
    (GOOD_QRELS, GOOD_RUN.drop(columns="score"), "no column 'score'; there is 'query_id', 'doc_id'."),
    (GOOD_QRELS.rename(columns={"relevance": "grade"}), GOOD_RUN,
     "the judgments have no column 'relevance'; there is 'query_id', 'doc_id', 'grade'."),
    (pd.DataFrame(), GOOD_RUN, "the judgments have no column 'query_id'; there is none."),
    (OWN_QRELS, OWN_RUN.rename(columns={"docno": "docid"}), "no column 'docno'; there is 'qid', 'docid', 'score'."),
    (OWN_QRELS.drop(columns="label"), OWN_RUN, "the judgments have no column 'label'; there is 'qid', 'docno'."),
    (OWN_QRELS, OWN_RUN.assign(qid=1), "qid of the run must be strings, and "),
    (OWN_QRELS, OWN_RUN.assign(docno=None), "docno of the run is missing in row 0."),
    (OWN_QRELS.assign(label="x"), OWN_RUN, "label of the judgments must be numbers, and 'x'"),
    (pd.DataFrame({"qid": ["q"], "docno": ["a"], "label": ["1"]}), {}, ": convert the column with .astype(float)."),
    ({"q": {"a": "1"}}, A_RUN, ": convert each of them with float()."),
    ({"q": {1: 1}}, A_RUN, ": convert each of them with str() on both sides."),
    (pd.DataFrame({"qid": ["q"], "docno": [b"a"], "label": 1}), A_RUN, "the column with .str.decode('utf-8') on both"),
    (pd.DataFrame({"qid": ["q", "q"], "docno": ["a", b"b"], "label": 1}), A_RUN, ("b'b' is of type bytes", ".map(lambda x: x.dec")),
    (pd.DataFrame({"qid": ["q"], "docno": [["a"]], "label": 1}), A_RUN, "docno of the judgments must be strings, and ['a'] is"),
    ({"q": {b"a": 1}}, A_RUN, ": convert each of them with .decode() on both sides."),
    (GOOD_QRELS, "run.txt", "the run must be a DataFrame, a dict of dicts or named tuples, not "),
    (GOOD_QRELS, [("301", "a", 1.0)], "the run must be a DataFrame, a dict of dicts or named tuples, not a list of tuples."),
]  # fmt: skip


def test_frames_that_are_wrong_say_what_and_where():
    for judged, retrieved, words in WRONG:
        error = BadRun if judged is GOOD_QRELS or judged is OWN_QRELS else BadJudgments
        message = of_provider(error, judged, retrieved)
        assert all(word in message for word in ([words] if isinstance(words, str) else words)), message


def test_measures_that_the_data_do_not_fit():
    without, three = GOOD_RUN.assign(doc_length=np.nan), {"a": 1, "b": 1, "c": 1}
    for error, judged, retrieved, measure, words in (
        (BadJudgments, qrels(("a", 1), ("b", 3)), GOOD_RUN, RBP,
         "topic '301': 'b' has grade 3, above max_rel=2: give max_rel=3, or correct the judgments."),
        (BadJudgments, qrels(("a", 1), ("b", 5)), GOOD_RUN, ir_measures.ERR @ 10, "'b' has grade 5, above max_rel=4"),
        (BadParameter, GOOD_QRELS, GOOD_RUN, ir_measures.RBP(p=0.5), "CWLA(C='rbp(0.5)',A='erg',max_rel=2)"),
        (MissingLength, GOOD_QRELS, without, TBG(missing="mean"), "no document has a length"),
        (MissingLength, GOOD_QRELS, GOOD_RUN, TBG(lengths={"of another collection": 5}, missing="mean"), "none of"),
        (MissingLength, GOOD_QRELS, GOOD_RUN, TBG(norm="ideal", lengths=three), "'x'"),
    ):  # fmt: skip
        assert words in of_provider(error, judged, retrieved, measure)


def test_no_lengths_at_all():
    for measure in (TBG, TBG(half_life=60) @ 5, Residual(measure="TBG"), Mixture(measures={"a": "TBG"})):
        message = of_provider(MissingLength, GOOD_QRELS, GOOD_RUN, measure)
        assert "give TBG(lengths=…), a table, a path or a name, or a column doc_length" in message
    unit, timed = "ExpectedTotalUtility(C='rbp(0.8)',max_rel=2)", "UMeasure(T=30,effort='time',max_rel=2)"
    mixed = Mixture(measures={"without lengths": unit, "with lengths": timed})
    assert "give UMeasure(lengths=…), a table" in of_provider(MissingLength, GOOD_QRELS, GOOD_RUN, mixed)


def test_some_documents_without_a_length_are_counted_and_named():
    for measure in (TBG, CWLA(C="rbp(0.5)", A="avg", gain="clicksave", effort="time", unseen=9)):
        message = of_provider(MissingLength, GOOD_QRELS, GOOD_RUN, measure(lengths={"a": 100}))
        assert "2 of 3 have none (topic '301': 'b', 'c')" in message
        name, fewer = measure.NAME, "read fewer documents with @k (all are known down to rank 1)"
        assert f"Give {name}(lengths=…), a table that has them, {fewer}, or give {name}(missing='mean')." in message
        many = {"q": {f"d{number}": 1 for number in range(20)}}
        of_another = of_provider(MissingLength, many, many, measure(lengths={"d0": 100}))
        assert "19 of 20 have none" in of_another
        assert "Is the table of another collection?" in of_another
        assert "another collection" not in message
        column = GOOD_RUN.assign(doc_length=[100, np.nan, 5])
        assert "1 of 3 have none (topic '301': 'b')" in of_provider(MissingLength, GOOD_QRELS, column, measure)


def test_unknown_names_give_the_right_one():
    from pyterrier_cwla import ByTopic, LambdaMART, scorer

    refused(lambda: LambdaMART(truncation=10), BadParameter, "no parameter 'truncation'. Near: 'truncation_level'.")
    refused(LambdaMART, BadParameter, "LambdaMART needs a measure")
    with pytest.raises(BadParameter, match=r"write scoring=\{'nDCG@10': scorer\('nDCG@10'\), 'ERR': scorer\('ERR'\)\}"):
        scorer("nDCG@10,ERR")
    refused(lambda: ByTopic(measure="TBG", parameters=pd.DataFrame()), BadParameter, "this table has no topics")


def test_negative_and_infinite_lengths_name_the_document():
    for odd in (-1, np.inf):
        of_run = of_provider(MissingLength, GOOD_QRELS, GOOD_RUN.assign(doc_length=[10.0, odd, 3.0]), TBG)
        assert of_run == f"TBG: topic '301': the length of 'b' is {odd}: lengths are numbers, 0 or more."
    for odd in (-1, np.inf, np.nan):
        assert f"the length of 'b' is {odd}" in complaint(BadParameter, TBG, lengths={"a": 3, "b": odd})
    more = pd.concat([GOOD_RUN.assign(doc_length=10.0), run(("302", "z", 1.0), doc_length=np.nan)])
    assert ir_measures.cwla.calc_aggregate([TBG], GOOD_QRELS, more)[TBG] > 0
    assert ir_measures.cwla.calc_aggregate([TBG], GOOD_QRELS, GOOD_RUN[:0])[TBG] == 0.0


def test_tables_of_lengths_that_are_none():
    assert "have 'a' twice" in complaint(BadParameter, TBG, lengths=pd.Series([1, 2], index=["a", "a"]))
    assert "1 is of type int" in complaint(BadParameter, TBG, lengths={1: 2})
    assert "is neither a file nor the name of a table" in complaint(BadParameter, TBG, lengths="no/such.tsv")
    without_ids, without_words = pd.DataFrame({"a": [1]}), pd.DataFrame({"docno": ["a"], "len": [1]})
    assert "has no column doc_id or docno or id; there is 'a'." in complaint(BadParameter, TBG, lengths=without_ids)
    message = complaint(BadParameter, TBG, lengths=without_words)
    assert message == "the table of lengths has no column doc_length or words or length; there is 'docno', 'len'."
    numbered = pd.DataFrame({"docno": [1], "words": [1]})
    assert complaint(BadParameter, TBG, lengths=numbered).startswith("docno of the lengths must be strings")
    register_lengths("cranfield", {"a": 1})
    assert "Near: 'cranfield'" in complaint(BadParameter, TBG, lengths="cranfeld")
    assert "a Series or a DataFrame, not int" in complaint(BadParameter, TBG, lengths=3)


def test_a_measure_that_cannot_be():
    size = ir_measures.define_byquery(lambda qrels, run: len(run), name="Size")
    rbp = "CWLA(C='rbp(0.8)',A='erg'"
    for measure, error, *words in (
        ("CWLA(C='rbp(0.8)',A='etrg',max_rel=1)", UnknownSpec, "no aggregation 'etrg' in A='etrg'", "'etg'"),
        (f"{rbp},gain='lineal')", UnknownSpec, "no gain 'lineal'", "'linear'"),
        (f"{rbp},effort='tine')", UnknownSpec, "no effort 'tine'", "'time'"),
        ("CWLA(C='rr',A='utility(log)',max_rel=1)", UnknownSpec, "no discount 'log'", "'log2'"),
        ("CWLA(C=3,A='erg',max_rel=1)", UnknownSpec, "C must be a continuation", "not 3"),
        (f"{rbp})", BadParameter, "gain='linear' needs max_rel=, the highest grade"),
        (f"{rbp},gain='exponential')", BadParameter, "gain='exponential' needs max_rel="),
        ("CWLA(A='erg',max_rel=1)", BadParameter, "CWLA needs C="),
        (f"{rbp},max_rel=0)", BadParameter, "max_rel must be a number in (0, 1e15]"),
        (f"{rbp},maxrel=1)", BadParameter, "CWLA has no parameter 'maxrel'", "'max_rel'"),
        (f"{rbp},max_rel=1,norm='best')", BadParameter, "norm must be 'none' or 'ideal' or"),
        (f"{rbp},max_rel=1,end='close')", BadParameter, "end must be 'open', 'stop' or a rank"),
        (f"{rbp},max_rel=1)@0", BadParameter, "cutoff must be a whole number in [1, inf)"),
        ("TBG(half_life='long')", BadParameter, "TBG(half_life='long')", "half_life must be a number in (0, inf)"),
        ("TBG(half_life=inf)", BadParameter, "TBG(half_life=inf): half_life must be"),
        ("TBG(p_save=2)", BadParameter, "p_save must be a number in [0, 1]"),
        ("TBG(missing='zero')", BadParameter, "missing must be 'error' or 'mean'"),
        ("Residual", BadParameter, "Residual needs measure="),
        ("Residual(measure='Rprec')", BadParameter, "a measure that follows a user model", "not 'Rprec'"),
        (size, UnknownSpec, "Size is a measure of ir_measures"),
    ):
        refused(lambda measure=measure: evaluate(GOOD_QRELS, GOOD_RUN, [measure]), error, *words)


def test_a_continuation_of_ones_own_that_is_no_probability():
    @continuation
    def eager(view, boost: float):
        return boost * view.i

    message = of_provider(CWLAError, qrels(("c", 1)), GOOD_RUN, CWLA(C=eager(0.6), A="etg", gain="raw"))
    assert "eager(0.6)" in message
    assert "max_rel=" in complaint(BadParameter, Residual, measure=CWLA(C="rbp(0.8)", A="erg", gain="raw"))


@pytest.mark.parametrize("empty", [
    GOOD_RUN[:0], pd.DataFrame([], columns=["query_id", "doc_id", "score"]),
    pl.DataFrame(schema={"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}), {}, [], iter(()),
], ids=lambda empty: type(empty).__name__)  # fmt: skip
def test_an_empty_run_scores_nothing(empty):
    qrels_of_two = pd.concat([GOOD_QRELS, qrels(("302", "a", 1))])
    measures = [AP, RBP, ir_measures.nDCG @ 10, TBG(lengths={"a": 1}), CWLA(C="inst(2)", A="err", max_rel=2)]
    found = list(ir_measures.cwla.iter_calc(measures, qrels_of_two, empty))
    assert {(m.query_id, m.value) for m in found} == {("301", 0.0), ("302", 0.0)}
    assert len(found) == 2 * len(measures)
    assert isinstance(found[0].value, float)


def test_runs_or_judgments_without_anything_relevant():
    assert list(ir_measures.cwla.iter_calc([AP, RBP], GOOD_QRELS[:0], GOOD_RUN)) == []
    assert np.isnan(ir_measures.cwla.calc_aggregate([AP], GOOD_QRELS[:0], GOOD_RUN)[AP])
    parts = [("ap1", "erg", "none"), ("rr", "err", "none"), ("ap2", "avg", "all"), ("rbp(0.5)", "erg", "ideal")]
    own = [CWLA(C=C, A=A, max_rel=1, norm=norm) for C, A, norm in parts]
    theirs = [AP, ir_measures.nDCG, ir_measures.nDCG @ 3, ir_measures.Rprec, ir_measures.ERR @ 10]
    measures = [*own, *theirs, TBG(norm="ideal", lengths={"a": 1, "b": 1, "c": 1})]
    found = ir_measures.cwla.calc_aggregate(measures, qrels(("a", 0), ("b", -2)), GOOD_RUN)
    assert set(found.values()) == {0.0}
    frame = qrels(("a", 1), ("b", 0)).astype({"relevance": bool})
    assert evaluate(frame, GOOD_RUN, ["AP"]).equals(evaluate(qrels(("a", 1), ("b", 0)), GOOD_RUN, ["AP"]))


def test_topics_in_common_are_enough_or_both_sides_are_shown(recwarn):
    with pytest.warns(UserWarning, match="no query in common") as warned:
        found = ir_measures.cwla.calc_aggregate([AP, RBP], GOOD_QRELS, run(("301.0", "a", 1.0), ("302.0", "b", 1.0)))
    assert set(found.values()) == {0.0}
    assert "the run has '301.0', '302.0', the judgments '301'" in str(warned[0].message)
    more = pd.concat([GOOD_RUN, run(("302", "b", 1.0))])
    ir_measures.cwla.calc_aggregate([AP, RBP], GOOD_QRELS, more)
    assert not [w for w in recwarn if "in common" in str(w.message)]


def test_one_name_is_one_table_and_ideals_take_all_times():
    one = TBG(lengths=register_lengths("same_name", {"a": 1, "b": 1}))
    other = TBG(lengths=register_lengths("same_name", {"a": 900, "b": 900}))
    message = complaint(BadParameter, ir_measures.cwla.evaluator, [one, other], GOOD_QRELS)
    assert "two measures are called TBG(lengths='same_name')" in message
    judged = qrels(("a", 1), ("b", 1), ("n", 0))
    run = pd.DataFrame({"query_id": "301", "doc_id": ["a", "b", "n"], "score": [3.0, 2.0, 1.0]})
    measure = CWLA(C="prec(3)", A="erg", gain="clicksave", effort="time", unseen=20, norm="ideal",
                   lengths={"a": 100, "b": 300, "n": 5000})  # fmt: skip
    assert evaluate(judged, run, [measure]).iloc[0, 0] == pytest.approx(1)


@pytest.mark.parametrize("form", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "Arrow"])
def test_a_frame_of_several_runs(form):
    rows = {"run": ["A", "B"], "query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [1.0, 2.0]}
    with pytest.raises(BadRun, match=r"the column 'run' names 2 runs \('[AB]', '[AB]'\).*groupby"):
        evaluate({"q": {"a": 1}}, form(rows), ["RR"])
    assert evaluate({"q": {"a": 1}}, form(rows | {"run": ["A", "A"]}), ["RR"])["RR"].tolist() == [0.5]
    dataframe = pytest.importorskip("dask.dataframe")
    rows = pd.DataFrame({"query_id": ["q"], "doc_id": ["a"], "score": [1.0]})
    with pytest.raises(BadRun, match=r"Dask DataFrame: pyterrier_cwla\.evaluation\.cluster\.evaluate"):
        evaluate({"q": {"a": 1}}, dataframe.from_pandas(rows, npartitions=1), ["RR"])
