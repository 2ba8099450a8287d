"""Unusual values in frames, dicts, Arrow and Parquet: the same result or error of this package in every form."""

import datetime
import re
import warnings
from decimal import Decimal
from fractions import Fraction

import ir_measures
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression

from pyterrier_cwla import TBG, GroupedRanker, LambdaMART, out_of_fold, score, scorer
from pyterrier_cwla.behaviour import InteractionLog, simulate
from pyterrier_cwla.data.columns import judgment_columns
from pyterrier_cwla.errors import BadJudgments, BadLog, BadParameter, BadRun, CannotScore, CWLAError, MalformedFile
from pyterrier_cwla.evaluation import compare, evaluate, explain, explain_gains, residual, stop_distribution
from pyterrier_cwla.learning.lambdamart import EvalMeasure
from pyterrier_cwla.learning.metrics import measure_score

QRELS, RUN = {"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0, "b": 2.0}}
MEASURES = ["AP", "nDCG", "CWLA(C='rbp(0.5)',A='erg',max_rel=3)"]
KINDS = {"score": ("run", BadRun), "relevance": ("judgments", BadJudgments)}


def as_dict(columns, _):
    nested = {}
    for query, document, value in zip(*columns.values(), strict=True):
        nested.setdefault(query, {})[document] = value
    return nested


def as_tuples(columns, _):
    kind = ir_measures.ScoredDoc if "score" in columns else ir_measures.Qrel
    return [kind(*row) for row in zip(*columns.values(), strict=True)]


def as_parquet(columns, folder):
    pq.write_table(pa.table(columns), folder / "odd.parquet")
    return str(folder / "odd.parquet")


FORMS = {"objects": lambda columns, _: pd.DataFrame({name: pd.Series(x, dtype=object) for name, x in columns.items()}),
         "pandas": lambda columns, _: pd.DataFrame(columns), "dict": as_dict, "tuples": as_tuples,
         "arrow": lambda columns, _: pa.table(columns), "polars": lambda columns, _: pl.DataFrame(columns),
         "polars objects": lambda columns, _: pl.DataFrame({n: pl.Series(x, dtype=pl.Object) for n, x in columns.items()}),
         "parquet": as_parquet}  # fmt: skip


def tables(columns, folder, forms=FORMS, without=()):
    """Return the columns as (name of the form, table), for all forms that can hold such values."""
    found = []
    for form in forms:
        if form not in without:
            try:
                found.append((form, FORMS[form](columns, folder)))
            except BaseException as refused:  # panics of polars are no Exception
                if isinstance(refused, KeyboardInterrupt):
                    raise
    assert found
    return found


def evaluated(value, table):
    return evaluate(QRELS, table, MEASURES) if value == "score" else evaluate(table, RUN, MEASURES)


def refused(value, table, says):
    """Return the message of the package's error for a table with an unusual value."""
    with pytest.raises((KINDS[value][1], MalformedFile), match=says) as error:
        evaluated(value, table)
    return str(error.value)


NO_NUMBERS = [*(1 + 2j, np.complex128(1), datetime.timedelta(3), np.timedelta64(3, "s"), np.timedelta64(3, "ns")),
              *(datetime.datetime(2020, 1, 1), np.datetime64("2020-01-01", "ns"), datetime.date(2020, 1, 1), pd.NaT),
              *("1", b"1", [1], [1, 2], {"a": 1}, {1}, 10**400, -(10**400))]  # fmt: skip


@pytest.mark.parametrize("mixed", [False, True], ids=["alone", "mixed"])
@pytest.mark.parametrize("odd", NO_NUMBERS, ids=lambda odd: f"{odd!r:.30}")
@pytest.mark.parametrize("value", KINDS)
def test_a_value_that_is_no_number(value, odd, mixed, tmp_path):
    columns = {"query_id": ["q", "q"], "doc_id": ["a", "b"], value: [odd, 1 if mixed else odd]}
    without = ["polars", "arrow", "parquet"] if mixed else []  # these forms convert both to one type
    without += ["polars"] * isinstance(odd, int)  # polars converts integers out of range to null
    without += ["dict"] * (isinstance(odd, dict) and value == "score")  # a dict of dicts of dicts is several runs
    without += ["parquet"] * bool(odd == "1")  # see the next test
    for name, table in tables(columns, tmp_path, without=without):
        says = rf"{value} of the {KINDS[value][0]} must be numbers|{value}.* must hold numbers"
        error = refused(value, table, says)
        assert "topic 'q': 'a': " in error or "odd.parquet: column" in error, name


def test_texts_and_decimals_are_read_as_floats_are(tmp_path):
    """Text columns of Parquet files are converted to numbers, as in text files."""
    columns = {"query_id": ["q", "q"], "doc_id": ["a", "b"]}
    run, qrels = ({**columns, name: ["1", "2"]} for name in ("score", "relevance"))
    assert evaluate(as_parquet(qrels, tmp_path), {"q": {"b": 1.0}}, ["AP"]).iloc[0, 0] == 0.5
    assert evaluate(QRELS, as_parquet(run, tmp_path), ["AP"]).iloc[0, 0] == 0.5
    # Arrow's cast from decimal misses the nearest float for about one value in five.
    texts = ["0.0003", "8.41", "123456.789", "0.00000012345", "99999.99999"]
    decimals = pa.array(map(Decimal, texts), pa.decimal128(20, 11))
    table = pa.table({"query_id": ["q"] * 5, "doc_id": list("abcde"), "relevance": decimals})
    assert decimals.cast(pa.float64()).to_pylist() != list(map(float, texts))
    assert judgment_columns(table).value.tolist() == list(map(float, texts))


NOTHING = [None, float("nan"), pd.NA, Decimal("NaN"), Decimal("sNaN"), np.float32("nan")]


@pytest.mark.slow
@pytest.mark.parametrize("mixed", [False, True], ids=["alone", "mixed"])
@pytest.mark.parametrize("nothing", NOTHING, ids=repr)
@pytest.mark.parametrize("value", KINDS)
def test_a_value_that_is_missing(value, nothing, mixed, tmp_path):
    columns = {"query_id": ["q", "q"], "doc_id": ["a", "b"], value: [nothing, 1.0 if mixed else nothing]}
    said = {"score": "'a' has the score NaN", "relevance": r"'a' has no relevance \(NaN\)"}[value]
    for _, table in tables(columns, tmp_path):
        refused(value, table, rf"topic 'q': {said}|row 1: {value} is (NaN|null) for query 'q', document 'a'")


NUMBERS = [
    *([Decimal("1.5"), Decimal(3)], [Decimal("0.1"), Decimal(1)], [Fraction(3, 2), 2.0], [True, False], [1, 2.5]),
    *([10**30, 2 * 10**30], [2**63, 2**64 - 1], [np.float32(1.5), 2], [np.bool_(True), np.bool_(False)]),
    *([np.array(1.5), np.array(2)], [True, 2.5]),
]


@pytest.mark.parametrize("numbers", NUMBERS, ids=repr)
@pytest.mark.parametrize("value", KINDS)
def test_numbers_of_other_types_are_the_nearest_floats(value, numbers, tmp_path):
    def scores(table):
        return evaluate(QRELS, table, ["AP"]) if value == "score" else evaluate(table, RUN, ["AP", "nDCG"])

    expected = scores({"q": {"a": float(numbers[0]), "b": float(numbers[1])}})
    for _, table in tables({"query_id": ["q", "q"], "doc_id": ["a", "b"], value: numbers}, tmp_path):
        found = scores(table)
        assert found.to_numpy().tolist() == expected.to_numpy().tolist()


def test_a_grade_that_is_infinite(tmp_path):
    for grade in (float("inf"), float("-inf"), np.float32("inf")):
        columns = {"query_id": ["q", "q"], "doc_id": ["a", "b"], "relevance": [1.0, grade]}
        for _, table in tables(columns, tmp_path):
            refused("relevance", table, r"topic 'q': 'b' has the relevance -?inf: grades are finite|relevance is -?inf")


NO_TEXTS = ["a\ud800", None, b"a", 3, float("nan"), pd.NA, ("a",), ["a"], 1j, datetime.date(2020, 1, 1)]


@pytest.mark.parametrize("mixed", [False, True], ids=["alone", "mixed"])
@pytest.mark.parametrize("odd", NO_TEXTS, ids=repr)
@pytest.mark.parametrize("column", ["query_id", "doc_id"])
@pytest.mark.parametrize("value", KINDS)
def test_an_id_that_is_no_text(value, column, odd, mixed, tmp_path):
    columns = {"query_id": ["q", "q"], "doc_id": ["a", "b"], value: [1, 0]}
    columns[column] = [odd, columns[column][1] if mixed else odd]
    without = ["polars"] if mixed and not isinstance(odd, bytes | str) else []  # polars converts such ids to text
    of = f"{column} of the {KINDS[value][0]}"
    says = rf"{of} (must be strings|is missing in row 0|is 'a.{{1,2}}ud800' in row 0)|column '{column}' holds|{column} is null"
    for _, table in tables(columns, tmp_path, without=without):
        refused(value, table, says)


def test_an_id_in_two_columns():
    for odd in NO_TEXTS:
        ids = pd.Series([odd, "b"], dtype=object)
        with pytest.raises(BadRun, match=r"doc_id of the run (must be strings|is missing|is 'a)|two|differ"):
            evaluate(QRELS, pd.DataFrame({"qid": ["q", "q"], "docno": ids, "doc_id": ids, "score": [1, 2]}), ["AP"])


def test_odd_values_in_tables_of_lengths():
    for odd in ("a\ud800", b"a", None, ["a"]):
        with pytest.raises(CWLAError, match="doc_id of the lengths"):
            TBG(lengths=pd.DataFrame({"doc_id": pd.Series([odd], dtype=object), "doc_length": [3]}))
    for odd in ("3", 1j, datetime.timedelta(3), [3], 10**400):
        with pytest.raises(BadParameter, match=r"'d': (doc_length|words|length) of the lengths must be numbers"):
            TBG(lengths={"d": odd})
    with pytest.raises(BadParameter, match=r"'b': doc_length of the lengths must be numbers, and 'x' is of type str"):
        TBG(lengths={"a": 1, "b": "x"})


def test_a_dict_that_is_no_dict_of_dicts():
    for value, (name, error) in KINDS.items():
        for documents in (None, 3, [("a", 1)], "a", 1.5):
            with pytest.raises(error, match=rf"the {name} must be a dict of dicts .* query 'r' has"):
                evaluated(value, {"q": {"a": 1}, "r": documents})
        with pytest.raises(error, match=rf"topic 'q': 'a': {value} of the .* must be numbers, and \[1\] is of type"):
            evaluated(value, {"q": {"a": [1]}})


@pytest.mark.parametrize("nothing", [None, 3, 1.5, object()], ids=lambda nothing: type(nothing).__name__)
def test_arguments_that_are_nothing(nothing):
    for call, error, says in (
        (lambda: evaluate(nothing, RUN, MEASURES), BadJudgments, "the judgments must be a DataFrame"),
        (lambda: evaluate(QRELS, nothing, MEASURES), BadRun, "the run must be a DataFrame"),
        (lambda: evaluate(QRELS, {"run": nothing}, MEASURES), BadRun, "run: the run must be a DataFrame"),
        (lambda: evaluate(QRELS, RUN, nothing), BadParameter, "measures must be a measure or a list of them"),
        (lambda: evaluate(QRELS, RUN, [nothing]), BadParameter, "a measure is a text, .*, or an object of ir_measures"),
        (lambda: compare(QRELS, {"one": RUN, "other": RUN}, nothing), BadParameter, "measures must be"),
        (lambda: stop_distribution(QRELS, RUN, nothing), BadParameter, "a measure is a text"),
        (lambda: explain(QRELS, RUN, "q", nothing), BadParameter, "a measure is a text"),
        (lambda: simulate(QRELS, RUN, nothing), BadParameter, "a measure is a text"),
    ):
        with pytest.raises(error, match=says):
            call()


@pytest.mark.parametrize(
    "gains",
    [None, 3, "1", b"1", {1: 2}, {1, 2}, [1j], np.array([1j]), [datetime.timedelta(1)], np.array([1], "m8[s]"), np.array([1], "M8[s]"), ["1"],
     np.array(["1"]), [b"1"], [[1], None], [[1], 2], [1, [2]], [[[1]]], np.zeros((1, 1, 1)), [10**400], np.array(3.0), [{}], [float("inf")], [-float("inf")]],
    ids=lambda gains: f"{gains!r:.30}",
)  # fmt: skip
def test_gains_that_are_none(gains):
    for call in (score, residual, explain_gains):
        with pytest.raises(BadParameter, match=r"gains (must be|has)"):
            call(gains, C="rbp(0.5)", A="erg")
    for name in ("judged", "efforts"):
        if gains is not None:
            with pytest.raises(BadParameter, match=f"{name} (must be|has)"):
                score([1], C="rbp(0.5)", A="avg", **{name: gains})


def test_gains_of_other_types():
    for gains in (
        [Decimal("0.5"), 1],
        [Fraction(1, 2), True],
        [0.5, np.float32(1)],
        pd.Series([0.5, 1]),
        (0.5, 1),
        iter([0.5, 1]),
    ):
        assert score(gains, C="rbp(0.5)", A="erg") == 0.5
    with pytest.raises(BadParameter, match="must be finite numbers of 0 or more"):
        score([1], C="rbp(0.5)", A="avg", efforts=[-1])


def test_depths_that_are_no_ranks_or_that_no_memory_holds(monkeypatch):
    for depth in (10**12, 2**22 + 1, 0, -1, 1.5, True, "3", float("nan"), 10**400):
        with pytest.raises(BadParameter, match=r"depth=.*: give a rank from 1 to 4,194,304"):
            stop_distribution(QRELS, RUN, "RR", depth=depth)
    for users in (10**15, 10**30, 10**400):
        with pytest.raises(BadParameter, match=r"users=1000000000000000.* take .* are free: give a lower number"):
            simulate(QRELS, RUN, "RR", users=users)
    assert stop_distribution(QRELS, RUN, "RR", depth=np.int64(3)).shape == (1, 5)
    monkeypatch.setattr("pyterrier_cwla.files.memory_limit.free", lambda: 1 << 21)
    with pytest.raises(BadParameter, match=r"depth=1,000,000 for 1 queries take at least 15\.3 MiB .* 2\.0 MiB are"):
        stop_distribution(QRELS, RUN, "RR", depth=1_000_000)
    assert simulate(QRELS, RUN, "RR", users=20_000, progress=False).n_users == 20_000
    queries = {str(n): {"a": 1} for n in range(5)}
    with pytest.raises(BadParameter, match=r"users=20,000, kept for 5 rankings, take .* of memory"):
        simulate(queries, queries, "RR", users=20_000, keep=True, progress=False)


@pytest.mark.parametrize(
    "empty", [{}, [], pd.DataFrame(columns=["query_id", "doc_id", "relevance"]), {"q": {}}], ids=repr
)
def test_judgments_that_are_empty(empty):
    for call in (lambda: evaluate(empty, RUN, MEASURES), lambda: evaluate(empty, RUN, MEASURES, by_query=True),
                 lambda: compare(empty, {"one": RUN, "other": RUN}, MEASURES, baseline="one"),
                 lambda: stop_distribution(empty, RUN, "RR"), lambda: explain(empty, RUN, "q", "RR"),
                 lambda: simulate(empty, RUN, "RR")):  # fmt: skip
        with pytest.raises(BadJudgments, match=r"the judgments are empty|there are no judged queries"):
            call()


def test_the_provider_has_no_values_of_empty_judgments():
    """PyTerrier evaluates batches of queries, possibly without judgments; the results are those of ir_measures."""
    measures = [ir_measures.AP, ir_measures.NumRet, TBG]
    assert list(ir_measures.cwla.iter_calc(measures, {}, RUN)) == []
    found = ir_measures.cwla.calc_aggregate(measures, {}, RUN)
    theirs = ir_measures.pytrec_eval.calc_aggregate(measures[:2], {}, {"q": {"a": 1.0}})
    assert np.isnan(found[ir_measures.AP])
    assert np.isnan(theirs[ir_measures.AP])
    assert found[ir_measures.NumRet] == theirs[ir_measures.NumRet] == 0


X, Y, QID = np.arange(12.0)[:, None], np.array([0, 1, 2, 0] * 3), np.repeat(["a", "b", "c"], 4)
MISSING = {"NaN": np.array([np.nan, *range(11)]), "NaN among texts": np.array([np.nan, *"bbbbbcccccc"], object),
           "NaN in a list": [np.nan, *"bbbbbcccccc"], "None": np.array([None, *"bbbbbcccccc"], object),
           "NA": pd.array([pd.NA, *"bbbbbcccccc"], dtype="string"), "NaT": np.array(["NaT", *["2020"] * 11], "M8[Y]")}  # fmt: skip


@pytest.mark.parametrize("groups", MISSING.values(), ids=MISSING)
def test_a_row_without_a_group(groups):
    y = pd.Series(Y, index=pd.Index(groups, name="qid"))
    known, watched = pd.Series(Y, index=pd.Index(QID, name="qid")), {"eval_X": X, "eval_y": Y}
    for call, says in (
        (lambda: measure_score("nDCG", Y, X[:, 0], qid=groups), "row 0 has no qid"),
        (lambda: scorer("nDCG")(DummyRegressor().fit(X, Y), X, Y, qid=groups), "row 0 has no qid"),
        (lambda: scorer("nDCG")(DummyRegressor().fit(X, Y), X, y), "row 0 has no qid"),
        (lambda: out_of_fold(LinearRegression(), X, y, "nDCG", cv=2), "row 0 has no qid"),
        (lambda: out_of_fold(LinearRegression(), X, known, "nDCG", cv=2, groups=groups), "row 0 has no group"),
        (lambda: GroupedRanker(objective="nDCG").fit(X, Y, qid=groups), "row 0 has no qid"),
        (lambda: GroupedRanker(objective="nDCG").fit(X, Y, qid=QID, **watched, eval_qid=groups), "row 0 has no qid"),
    ):
        with pytest.raises((BadParameter, CannotScore), match=says):
            call()


def test_a_row_without_a_document():
    flat, lists, sizes = [np.nan, *"bcdefghijkl"], [[np.nan, *"bcd"], list("efgh"), [np.nan] * 4], [4, 4, 4]
    matrix = Y.reshape(3, 4)
    qrels = [(qid, "1", docno, 1) for qid, docno in zip(QID.tolist(), "abcdefghijkl", strict=True)]
    qrels = pd.DataFrame(qrels, columns=["query_id", "iteration", "doc_id", "relevance"])
    by_intent = "IntentAware(measure='RR')"
    for call in (lambda: measure_score("nDCG", Y, X[:, 0], qid=QID, docno=flat),
                 lambda: measure_score("nDCG", matrix, matrix, docno=lists),
                 lambda: scorer("nDCG")(DummyRegressor().fit(X, Y), X, Y, qid=QID, docno=flat),
                 lambda: GroupedRanker(objective="nDCG").fit(X, Y, qid=QID, docno=flat),
                 lambda: EvalMeasure("nDCG", docno=flat).value(Y, X[:, 0], sizes),
                 lambda: LambdaMART("nDCG", docno=flat).gradients(Y, X[:, 0], sizes),
                 lambda: LambdaMART(by_intent, docno=flat, qid=QID, qrels=qrels).gradients(Y, X[:, 0], sizes)):  # fmt: skip
        with pytest.raises((BadParameter, CannotScore), match="row 0 has no docno"):
            call()
    with pytest.raises(BadParameter, match="row 0 has no qid"):
        LambdaMART(by_intent, docno=list("abcdefghijkl"), qid=flat, qrels=qrels).gradients(Y, X[:, 0], sizes)


def test_groups_and_queries_that_no_one_can_tell_apart():
    for sizes in ([np.nan, 6], [None, 6], [6.0, 6.0], ["6", "6"], [[6, 6]], [6j, 6], [pd.NA, 6], [2**63, 6]):
        with pytest.raises(BadParameter, match="group must be whole numbers, the number of rows of each query"):
            LambdaMART("nDCG")(Y.astype(float), np.zeros(12), None, sizes)
    several = "qid has values of several types with equal texts"
    for qid, says in ((["a\ud800"] + ["b"] * 11, r"row 0: qid 'a\\ud800' contains a lone surrogate"), ([1, "1"] * 6, several),
                      ([1, 1.0] * 6, several), ([np.inf] + [1.0] * 11, "row 0: qid must be finite")):  # fmt: skip
        with pytest.raises(BadParameter, match=says):
            measure_score("nDCG", Y, X[:, 0], qid=np.array(qid, float if np.inf in qid else object))
    y = pd.Series(Y, index=pd.Index(QID, name="qid"))
    for groups, says in ((np.array([1, "1"] * 6, object), "cv=.* does not split these rows: "),
                         ([4, 4, 4], "groups has 3 values, but there are")):  # fmt: skip
        with pytest.raises(BadParameter, match=says):
            out_of_fold(LinearRegression(), X, y, "nDCG", cv=2, groups=groups)


ODD_COLUMNS = {"complex": np.array([1j] * 12), "durations": np.array([1] * 12, "m8[s]"),
               "times": np.array(["2020"] * 12, "M8[s]"), "texts": np.array(["1"] * 12), "bytes": np.array([b"1"] * 12),
               "huge": np.array([10**400] + [1] * 11, object), "complex objects": np.array([1j] * 12, object)}  # fmt: skip


@pytest.mark.parametrize("odd", ODD_COLUMNS.values(), ids=ODD_COLUMNS)
def test_labels_scores_and_lengths_that_are_no_numbers(odd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # NumPy warns if it discards imaginary parts
        for call, says in (
            (lambda: measure_score("nDCG", odd, X[:, 0], qid=QID), "row 0: labels must be grades, and"),
            (lambda: measure_score("nDCG", Y, odd, qid=QID), "row 0: scores must be one number per row, and"),
            (lambda: measure_score("TBG", Y, X[:, 0], qid=QID, doc_length=odd), "row 0: doc_length must be numbers"),
        ):
            with pytest.raises((BadParameter, BadJudgments, BadRun), match=re.escape(says)):
                call()


def test_labels_of_other_types():
    expected = measure_score("nDCG", Y, X[:, 0], qid=QID)
    for kind in (lambda y: Decimal(int(y)), lambda y: Fraction(int(y)), float, np.int8):
        assert measure_score("nDCG", [kind(y) for y in Y], X[:, 0], qid=QID) == expected
    for labels in (pd.Series(Y, dtype="Int64"), pl.Series(Y)):
        assert measure_score("nDCG", labels, X[:, 0], qid=QID) == expected
    # Labels above 2⁶³ must not overflow to negative 64-bit integers.
    assert measure_score("nDCG", [1e19, 0], [1.0, 2.0], qid=["a", "a"]) == pytest.approx(1 / np.log2(3))


LOG = {"user": ["a", "a"], "session": ["1", "1"], "topic": ["q", "q"], "rank": [1, 2], "docno": ["d", "e"], "clicked": [True, False],
       "grade": [1, 0], "words": [3, 4], "time": [1.0, 2.0], "saved": [False, False]}  # fmt: skip


DATE = datetime.datetime(2020, 1, 1)
ODD_CELLS = [[1], [1, 2], {"a": 1}, 1j, datetime.timedelta(1), DATE, b"1", "\ud800", 10**400]


@pytest.mark.parametrize(
    "column, odd",
    [(column, odd) for column in LOG for odd in ODD_CELLS if column != "time" or odd is not DATE],  # dates are times
    ids=lambda odd: f"{odd!r:.20}",
)
def test_odd_values_in_a_log(column, odd, tmp_path):
    forms = ["objects", "pandas", "arrow", *([] if isinstance(odd, int) else ["polars"])]
    for _, table in tables({**LOG, column: [odd, odd]}, tmp_path, forms):
        with pytest.raises(BadLog, match=column):
            InteractionLog.of(table)
    for rows in ({"user": 3}, {"user": [1], "session": [1, 2]}, [{"user": "\ud800"}]):
        # pandas 2 accepts a lone surrogate, and the other columns are then missing.
        with pytest.raises(BadLog, match=r"these rows cannot be converted|has no column"):
            InteractionLog.of(rows)
