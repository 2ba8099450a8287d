"""Known costs from the column of a run or a table: all ways to evaluate, gaps, errors, and the command line."""

import pickle
import re
from collections import UserDict
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import parse_measure

from pyterrier_cwla import CWLA, evaluate, find_duplicates, lengths_of_texts, scorer
from pyterrier_cwla.data import Costs, register_costs, without_files
from pyterrier_cwla.errors import BadParameter, CWLAWarning, MalformedFile, MissingCost, MissingLength, NotPassed
from pyterrier_cwla.files.formats import read_table
from pyterrier_cwla.files.table_readers import COSTS as OF_COSTS
from pyterrier_cwla.learning import LambdaMART, measure_score
from pyterrier_cwla.pipelines import DocCost, DocLength
from tests.doors.doors import DOORS, as_trec_files, doors_of
from tests.doors.rows import Data
from tests.support.generated import collection, harmless
from tests.support.messages import refused

QRELS, RUN = (harmless(collection(4, queries=13, depth=40))._asdict()[name] for name in ("qrels", "run"))
QRELS = QRELS.assign(relevance=QRELS.relevance.clip(upper=1))
DOCS = sorted({*RUN.doc_id, *QRELS.doc_id})
COSTS = {doc_id: (7 * number % 23) / 2 for number, doc_id in enumerate(DOCS)}
COLUMN = RUN.assign(doc_cost=RUN.doc_id.map(COSTS))
MEASURE = CWLA(C="decay(30)", A="etg", gain="raw", effort="seconds", unseen=6)


def by_loops(costs=COSTS, qrels=QRELS, run=RUN):
    """The mean over judged queries of Σ 2^(−E(i−1)/30)·r_i, with ties by document id."""
    relevant = {(q, d): g for q, d, g in qrels[["query_id", "doc_id", "relevance"]].itertuples(index=False)}
    queries = {q for q, _ in relevant}
    paid, total = dict.fromkeys(queries, 0.0), 0.0
    for q, doc_id in run.sort_values(["score", "doc_id"], ascending=False)[["query_id", "doc_id"]].to_numpy().tolist():
        if q in queries:
            total += 2 ** (-paid[q] / 30) * max(relevant.get((q, doc_id), 0), 0)
            paid[q] += costs[doc_id]
    return total / len(queries)


def last(frame):
    return frame.iloc[:, -1].iloc[0]


def value(name, run, measure, folder):
    return DOORS[name].values(DOORS[name].of(Data(run, QRELS)), [measure], folder).to_numpy().mean()


@pytest.mark.slow
@pytest.mark.parametrize("effort", ["seconds", "cost", "cost(tokens)"])
@pytest.mark.parametrize("door", doors_of(MEASURE(costs=COSTS)))
def test_all_doors_read_the_column_the_table_and_the_function(door, effort, tmp_path):
    part, measure = DOORS[door].of(Data(RUN, QRELS)), MEASURE(effort=effort)
    expected = by_loops(qrels=part.qrels, run=part.run)
    for costs in (COSTS, COSTS.get):
        assert value(door, RUN, measure(costs=costs), tmp_path) == pytest.approx(expected, rel=1e-12)
    if DOORS[door].columns:
        assert value(door, COLUMN, measure, tmp_path) == pytest.approx(expected, rel=1e-12)


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 9), min_size=6), st.sampled_from(["etg", "erg", "avg"])
)
def test_all_sources_of_costs_give_equal_scores(costs, A):
    """A run's column, each form of a table, words of texts and a function; the unit changes no number."""
    qrels, run = {"q": {"b": 1, "e": 2, "f": 1}}, {"q": {doc_id: -float(i) for i, doc_id in enumerate("adbce")}}
    measure = CWLA(C="rbp(0.7)", A=A, gain="raw", effort="cost", unseen=2)
    column = pd.DataFrame({"query_id": "q", "doc_id": list(run["q"]), "score": run["q"].values()})
    values = [last(evaluate(qrels, column.assign(doc_cost=column.doc_id.map(costs)), [measure]))]
    series = pd.Series(costs)
    words = lengths_of_texts({doc_id: "x " * cost for doc_id, cost in costs.items()}, progress=False)
    for source in (
        *(costs, series, words, Costs.of(costs), costs.__getitem__),
        *(series.rename_axis("docno").reset_index(name=name) for name in ("doc_cost", "cost", "seconds")),
    ):
        bound = measure(costs=source)
        values += [last(evaluate(qrels, run, [one])) for one in (bound, bound(effort="cost(joules)"))]
        values.append(last(evaluate(qrels, run, [bound(effort="seconds")])))
        values.append(last(evaluate(qrels, run, [parse_measure(repr(bound))])))
    assert len({*values}) == 1
    if A == "etg":
        assert values[0] == pytest.approx(0.7**2 + 2 * 0.7**4)


@pytest.mark.parametrize(("tokeniser", "tokens", "name"), [
    (str.split, [3, 2, 0], "str.split"),
    (re.compile(r"\w+|[^\w\s]").findall, [7, 3, 0], "Pattern.findall"),
    ("words", [4, 2, 0], "words"),
])  # fmt: skip
def test_a_tokeniser_counts_the_tokens_of_texts(tokeniser, tokens, name):
    texts = {"d1": "Ask, don't guess.", "d2": "Read it!", "d3": ""}
    costs = Costs.bind(lengths_of_texts(texts, tokeniser, progress=False))
    assert costs.about == {"tokeniser": name, "documents": 3}
    assert repr(costs) == f"<costs {costs.name!r}: 3 documents, mean {sum(tokens) / 3:.1f} ({name})>"
    frame = pd.DataFrame({"qid": "q", "docno": list(texts), "text": list(texts.values())})
    for made in (DocCost(tokeniser=tokeniser), DocCost(costs)):
        assert made(frame).doc_cost.tolist() == tokens


def test_costs_have_the_columns_of_lengths(tmp_path):
    """Unless there is a column of costs, such as in a run with both."""
    frame = pd.DataFrame({"docno": ["d1", "d2"], "doc_length": [3.0, 5.0]})
    (tmp_path / "tokens.tsv").write_text("docno\ttokens\nd1\t3\nd2\t5\n")
    for costs in (frame, tmp_path / "tokens.tsv"):
        assert Costs.bind(costs).mean == 4
    both = frame.assign(doc_cost=[1.0, 2.0])
    both.to_parquet(tmp_path / "both.parquet")
    assert Costs.bind(both).mean == Costs.bind(tmp_path / "both.parquet").mean == 1.5
    refused(lambda: Costs.bind(5), BadParameter, "a DataFrame, Lengths, or a function of a document id, not int")


def test_a_header_with_unknown_names_is_told_the_known_ones(tmp_path):
    path = tmp_path / "costs.tsv"
    path.write_text("docno\tprompt\nd1\t3\n")
    says = ("costs.tsv:1: cost 'prompt' is no number: 'docno\\tprompt'. If it is a line of column names, the known ones are"
            " doc_id, docno, id, doc_cost, cost, seconds, tokens")  # fmt: skip
    refused(lambda: len(Costs.bind(path)), MalformedFile, says)
    path.write_text("3\tfew\n")
    assert refused(lambda: len(Costs.bind(path)), MalformedFile).endswith("is no number: '3\\tfew'")


@pytest.mark.parametrize(("tokeniser", "message"), [
    (lambda text: UserDict(input_ids=[1, 2, 3], attention_mask=[1, 1, 1]),
     'returns UserDict, not the list of the tokens of a text. Give a function that returns the list: lambda text: tokeniser(text)["input_ids"].'),
    (str.lower, "tokeniser=str.lower returns str, not the list of the tokens of a text. Give a function that returns the list: str.split, for example."),
    (len, "tokeniser=len returns int, not the list"),
    (lambda text: np.ones((1, 3)), "returns ndarray, not the list"),
])  # fmt: skip
def test_a_tokeniser_returns_a_list(tokeniser, message):
    texts = {"d1": "Three short words"}
    frame = pd.DataFrame({"qid": "q", "docno": texts.keys(), "text": texts.values()})
    for call in (partial(lengths_of_texts, texts), partial(find_duplicates, texts),
                 lambda tokeniser: DocLength(tokeniser=tokeniser)(frame),
                 lambda tokeniser: DocCost(tokeniser=tokeniser)(frame)):  # fmt: skip
        refused(lambda call=call: call(tokeniser=tokeniser), BadParameter, message)


def test_a_function_is_called_once_for_each_document_that_is_needed():
    asked = []

    def cost(doc_id):
        asked.append(doc_id)
        return COSTS[doc_id]

    measure = MEASURE(costs=cost)
    judged = RUN[RUN.query_id.isin(QRELS.query_id)]
    found = evaluate(QRELS, {"one": RUN, "two": RUN}, [measure(A="effort"), measure])
    assert last(found) == pytest.approx(by_loops(), rel=1e-12)
    assert sorted(asked) == sorted({*judged.doc_id})
    measure = MEASURE(costs=lambda doc_id: cost(doc_id)) @ 3
    asked.clear()
    first = judged.sort_values(["score", "doc_id"], ascending=False).groupby("query_id").head(3)
    evaluate(QRELS, RUN, [measure, measure(missing="mean")])
    assert sorted(asked) == sorted({*first.doc_id})
    evaluate(QRELS, RUN, [measure(norm="ideal")])
    assert sorted(asked) == sorted({*first.doc_id, *QRELS.doc_id})


def test_a_function_that_is_given_again_is_asked_again():
    price = {"d1": 1.0}
    measures = []
    for cost in (1.0, 7.0):
        price["d1"] = cost
        measures.append(MEASURE(costs=price.__getitem__, A="effort", end="stop"))
        assert last(evaluate({"q": {"d1": 1}}, {"q": {"d1": 1.0}}, measures[-1:])) == cost
    assert measures[0] == measures[1]


def test_functions_are_named_and_travel_with_the_measure(tmp_path):
    one, other = (MEASURE(costs=function) for function in (COSTS.__getitem__, lambda doc_id: 0.0))
    assert one == MEASURE(costs=COSTS.__getitem__) != other
    assert re.fullmatch("function_[0-9a-f]{16}", one.params["costs"])
    assert str(one) == str(MEASURE)
    forms = [lambda doc_id, form=form: form(COSTS[doc_id]) for form in (Decimal, Fraction, np.float32)]
    assert {last(evaluate(QRELS, RUN, [MEASURE(costs=form)])) for form in forms} == {last(evaluate(QRELS, RUN, [one]))}
    copied = pickle.loads(pickle.dumps(one))
    assert copied == one == parse_measure(repr(one))
    assert last(evaluate(QRELS, RUN, [copied])) == last(evaluate(QRELS, RUN, [one])) == pytest.approx(by_loops())
    price = register_costs("price", COSTS.get)
    assert repr(price) == "<costs 'price': 0 documents (dict.get)>"
    assert MEASURE(costs="price").params["costs"] == "price"
    with pytest.warns(CWLAWarning, match=r"results of Costs <costs 'price': 0 documents \(dict.get\)> are not cached"):
        found = evaluate(QRELS, RUN, [MEASURE(costs="price")], cache_dir=tmp_path)
    price.save(tmp_path / "known.parquet")
    assert Costs.load(tmp_path / "known.parquet").about["function"] == "dict.get"
    assert last(evaluate(QRELS, RUN, [MEASURE(costs=tmp_path / "known.parquet")])) == last(found)


@pytest.mark.parametrize("returned", [-1, np.nan, np.inf, None, "3", 1j])
@pytest.mark.parametrize("norm", ["none", "ideal"])
def test_a_function_that_returns_no_cost_is_an_error(returned, norm):
    qrels, run = {"q": {"b": 1, "c": 1}}, {"q": {"a": 2.0, "b": 1.0}}
    document = "b" if norm == "none" else "c"
    for missing in ("error", "mean"):
        measure = MEASURE(costs=lambda doc_id: returned if doc_id == document else 5, missing=missing, norm=norm)
        says = f"topic 'q': the cost of '{document}' is {returned!r}: costs are numbers, 0 or more"
        refused(partial(evaluate, qrels, run, [measure]), MissingCost, says)
    fails = partial(evaluate, qrels, run, [MEASURE(costs={"a": 2}.__getitem__)])
    refused(fails, BadParameter, "costs=: dict.__getitem__ fails for document 'b': KeyError('b')")


def test_a_run_has_one_column_of_costs_and_a_table_too(tmp_path):
    """Columns with other names are not read of runs; of a table, two columns must be equal."""
    old = COLUMN.assign(doc_seconds=1.0, seconds=1.0)
    assert last(evaluate(QRELS, old, [MEASURE])) == pytest.approx(by_loops())
    without = old.drop(columns="doc_cost")
    refused(lambda: evaluate(QRELS, without, [MEASURE]), MissingCost, "or a column doc_cost in the")
    table = pd.DataFrame({"docno": ["a", "b"], "doc_cost": [1, 2], "seconds": [1, 2]})
    assert len(Costs.of(table)) == 2
    refused(lambda: Costs.of(table.assign(seconds=[1, 3])), BadParameter, "'b'", "Keep one of the two")
    kept = [last(evaluate(QRELS, COLUMN.assign(doc_cost=cost), [MEASURE], cache_dir=tmp_path)) for cost in (3.0, 9.0)]
    assert kept == pytest.approx([by_loops(dict.fromkeys(DOCS, cost)) for cost in (3.0, 9.0)]), "of a cache"
    table.assign(seconds=[1, 3]).to_csv(tmp_path / "costs.csv", index=False)
    refused(lambda: Costs.load(tmp_path / "costs.csv"), MalformedFile, "Keep one of the two")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Experiment Pipeline Validation Report")  # PyTerrier's, of the missing column
@pytest.mark.parametrize("door", doors_of(MEASURE, whole=True))
def test_missing_costs_are_errors_or_the_mean_of_a_table(door, tmp_path):
    some = {doc_id: cost for number, (doc_id, cost) in enumerate(COSTS.items()) if number % 3}
    says = ("needs the cost of every document, and ", " Give ", "costs=", ", a table")
    refused(lambda: value(door, RUN, MEASURE(costs=some), tmp_path), MissingCost, *says)
    says = "the costs of documents are needed: give ", "costs="
    refused(lambda: value(door, RUN, MEASURE, tmp_path), MissingCost, *says)
    filled = {doc_id: some.get(doc_id, np.mean([*some.values()])) for doc_id in DOCS}
    mean = MEASURE(costs=some, missing="mean")
    (message,) = DOORS[door].told(Data(RUN, QRELS), [mean], tmp_path)
    assert "have no cost in the table of costs, such as 'd" in message
    assert value(door, RUN, mean, tmp_path) == pytest.approx(by_loops(filled), rel=1e-12)


def test_gaps_in_the_column(tmp_path):
    gaps = COLUMN.assign(doc_cost=COLUMN.doc_cost.where(COLUMN.index % 3 > 0))
    mean = MEASURE(missing="mean")
    says = "needs the mean cost of a whole run, and runs are read in parts"
    refused(lambda: value("streamed", gaps, mean, tmp_path), MissingCost, says)
    whole, file = (value(door, gaps, mean, tmp_path) for door in ("means", "as_parquet"))
    assert whole == pytest.approx(file, rel=1e-12)
    assert issubclass(MissingCost, MissingLength)
    negative, says = COLUMN.assign(doc_cost=-1.0), "' is -1: costs are numbers, 0 or more"
    refused(lambda: evaluate(QRELS, negative, [MEASURE]), MissingCost, "topic '", ": the cost of '", says)
    says = "norm='ideal' needs the cost of every judged document"
    refused(lambda: evaluate(QRELS, COLUMN, [MEASURE(norm="ideal")]), MissingCost, says)
    ordered = COLUMN.sort_values(["query_id", "score", "doc_id"], ascending=[True, False, False])
    rank = ordered.groupby("query_id").cumcount().reindex(COLUMN.index) + 1
    gaps = COLUMN.assign(doc_cost=COLUMN.doc_cost.where(rank <= 5))
    assert last(evaluate(QRELS, gaps, [MEASURE @ 5])) == last(evaluate(QRELS, COLUMN, [MEASURE @ 5]))


def test_tables_have_names_files_and_errors(tmp_path):
    path = tmp_path / "costs.tsv"
    path.write_text("docno\tseconds\na\t2\nb\t3.5\n")
    table = Costs.load(path)
    assert (len(table), table.mean, repr(table)) == (2, 2.75, f"<costs {str(path)!r}: 2 documents, mean 2.8>")
    table.save(tmp_path / "saved.parquet")
    for saved in (path, tmp_path / "saved.parquet"):
        assert read_table(saved, OF_COSTS).to_pydict() == {"doc_id": ["a", "b"], "doc_cost": [2.0, 3.5]}
    register_costs("videos", path)
    assert MEASURE(costs="videos").params["costs"] == "videos"
    says = "neither a file nor the name of a table. Near: 'videos'"
    refused(lambda: MEASURE(costs="video"), BadParameter, says)
    refused(lambda: MEASURE(costs={"a": -1}), BadParameter, "the cost of 'a' is -1: costs are numbers, 0 or more")
    for text, says in (("a\t-2\n", "doc_cost is -2"), ("a\t1\na\t2\n", "has a second cost"), ("a\n", "2 fields")):
        path.write_text(text)
        refused(lambda: register_costs("videos", path), MalformedFile, says)
    with without_files():
        refused(lambda: MEASURE(costs=str(path)), BadParameter, "files are not read here")


def test_rows_of_learning_need_a_table_and_ids():
    measure = MEASURE(costs={"a": 10, "b": 20, "c": 5})
    y, s, ids = [[1, 0, 1]], [[3, 2, 1]], [["a", "b", "c"]]
    assert measure_score(measure, y, s, docno=ids) == pytest.approx(1 + 2 ** (-30 / 30))
    refused(lambda: measure_score(measure, y, s), NotPassed, "needs the ids of documents for its table")
    says = "rows have no known costs: give costs= a table and pass docno="
    refused(lambda: measure_score(MEASURE, y, s, docno=ids), BadParameter, says)
    for one, error, says in (
        (MEASURE, MissingCost, "needs the cost of every training row"),
        (MEASURE(effort="by_rank(2,1)"), BadParameter, "LambdaMART takes no efforts that depend on ranks"),
    ):
        refused(lambda one=one: LambdaMART(one).gradients([1.0, 0, 1], np.zeros(3), [3]), error, says)
    assert scorer(measure)


@pytest.mark.slow
def test_commands_take_a_file_of_costs(cli, tmp_path):
    (qrels, run), costs = as_trec_files(Data(RUN, QRELS), tmp_path), tmp_path / "costs.tsv"
    costs.write_text("".join(f"{doc_id}\t{cost}\n" for doc_id, cost in COSTS.items()))
    measure = "known=CWLA(C='decay(30)',A='etg',gain='raw',effort='seconds',unseen=6)"
    code, out, told = cli("evaluate", qrels, run, "-m", measure, "--costs", costs, "--format", "csv")
    assert code == 0, told
    assert float(out.splitlines()[1].split(",")[1]) == pytest.approx(by_loops(), rel=1e-9)
    unwrapped = "".join(told.split())  # line breaks depend on the width of the terminal
    assert f"known:withthecostsof{costs}." in unwrapped
    code, _, told = cli("evaluate", qrels, run, "-m", measure)
    assert code != 0
    assert told.endswith("give --costs FILE, or a column doc_cost in the run.\n")
    unused = "".join("".join(cli("evaluate", qrels, run, "-m", "AP", "--costs", costs)[1:]).split())
    assert f"Noneofthesemeasuresusesthecostsof{costs}." in unused
