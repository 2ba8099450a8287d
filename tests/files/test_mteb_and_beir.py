"""Files of MTEB, BEIR and pytrec_eval: values of these tools, splits, and hostile files.

``record_mteb.py`` wrote the files of the folder ``recorded`` with the classes of mteb and beir.
"""

import gzip
import json
from pathlib import Path

import pandas as pd
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyterrier_cwla import TBG, compare, evaluate, stream
from pyterrier_cwla.errors import BadParameter, MalformedFile, MissingLength, UnknownSpec
from pyterrier_cwla.evaluation import mteb_scores
from pyterrier_cwla.files import read_qrels, read_run
from tests.support.messages import refused

RECORDED = Path(__file__).parent / "recorded"
KNOWN = json.loads((RECORDED / "mteb.json").read_text())
SPLITS = ["de/dev", "de/test", "en/dev", "en/test"]
OF_MTEB = {"nDCG@10": "ndcg_at_10", "AP@10": "map_at_10", "R@10": "recall_at_10"}
PREDICTIONS = RECORDED / "Generated_predictions.json"
META = {"mteb_model_meta": {"model_name": "m", "revision": "1"}}
HEADER = "query-id\tcorpus-id\tscore\n"


@pytest.fixture
def file(tmp_path):
    """Return a function that writes text, bytes or a dict to a file and returns the path."""

    def write(data, name="run.json"):
        text = json.dumps(data) if isinstance(data, dict) else data
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.mark.parametrize("split", SPLITS)
def test_predictions_have_the_values_of_mteb(split):
    """Documents with the id of the query are filtered as the docs say."""
    known = KNOWN["Generated"][split]
    found = evaluate(known["qrels"], PREDICTIONS, [*OF_MTEB], split=split)
    assert found.index.tolist() == ["Generated_predictions"]
    for measure, name in OF_MTEB.items():
        assert round(found[measure].iloc[0], 5) == known["scores"][name]
    assert evaluate(known["qrels"], PREDICTIONS, ["RR@10"], split=split).iloc[0, 0] == known["scores"]["mrr_at_10"]
    ours = [name for name in known["scores"] if name not in (*OF_MTEB.values(), "mrr_at_10")]
    assert len(ours) == 3
    found = evaluate(known["qrels"], read_run(PREDICTIONS, split), ours).iloc[0]
    assert found.tolist() == pytest.approx([known["scores"][name] for name in ours], abs=1e-12)
    known, run = KNOWN["Identical"][split], read_run(RECORDED / "Identical_predictions.json", split)
    others = run.filter(pc.not_equal(run["query_id"], run["doc_id"]))
    assert others.num_rows < run.num_rows
    found = evaluate(known["qrels"], others, [*OF_MTEB]).iloc[0]
    for measure, name in OF_MTEB.items():
        assert round(found[measure], 5) == known["scores"][name]


def test_files_of_beir_have_the_values_of_beir():
    qrels, results = RECORDED / "beir/qrels/test.tsv", RECORDED / "beir/results.json"
    found = evaluate(qrels, results, ["nDCG@10", "AP@10", "R@10", "P@10"])
    assert found.round(5).iloc[0].tolist() == [*json.loads((RECORDED / "beir/scores.json").read_text()).values()]
    assert found.index.tolist() == ["results"]
    queries = read_qrels(qrels)["query_id"].to_pylist()
    assert queries[0] == 'a "quoted" q0'


def test_a_split_is_one_of_several(file):
    both = file({**META, "en": {"dev": {"1": {"a": 1}}, "test": {"1": {"b": 1}}}})
    there = "has 2 splits: 'en/dev', 'en/test'. Choose one, such as split='en/dev'."
    assert refused(lambda: read_run(both), BadParameter) == f"{both}: {there}"
    refused(lambda: read_run(both, split="train"), BadParameter, "'train' names 0 of 2 splits: 'en/dev', 'en/test'.")
    refused(lambda: read_run(both, split="en"), BadParameter, "'en' names 2 of 2 splits: 'en/dev', 'en/test'.")
    for chosen in ("test", "en/test"):
        assert read_run(both, split=chosen)["doc_id"].to_pylist() == ["b"]
    alone = file({**META, "default": {"test": {"1": {"a": 1}}}}, "alone.json")
    assert read_run(alone).equals(read_run(alone, split="test"))
    assert read_qrels(both, split="test").to_pylist() == [{"query_id": "1", "doc_id": "b", "relevance": 1}]
    plain = file("1 Q0 b 1 2.5 x\n", "plain.txt")
    qrels = file({"1": {"b": 1}}, "qrels.json")
    for paths in ([both, plain], {"run": both, "plain": plain}):
        assert evaluate(qrels, paths, ["RR"], split="test")["RR"].tolist() == [1.0, 1.0]
    assert evaluate(qrels, {"memory": {"1": {"b": 1.0}}, "run": both}, ["RR"], split="dev")["RR"].tolist() == [1.0, 0.0]
    for one in (plain, {"1": {"b": 1.0}}):
        assert evaluate(both, one, ["RR"], split="test")["RR"].tolist() == [1.0]
        says = "split='test' chooses the split of a JSON file, and there is none."
        refused(lambda: evaluate({"1": {"b": 1}}, one, ["RR"], split="test"), BadParameter, says)  # noqa: B023
    refused(lambda: evaluate(qrels, both, ["RR"]), BadParameter, there)
    refused(lambda: list(stream(qrels, both, ["RR"])), BadParameter, there)


def test_splits_are_compared_and_cached_apart(tmp_path):
    known = KNOWN["Generated"]["en/dev"]["qrels"]
    paths = {"one": PREDICTIONS, "other": RECORDED / "Identical_predictions.json"}
    found = compare(known, paths, ["nDCG@10"], split="en/dev", resamples=100)
    assert found.scores["nDCG@10"].tolist() == evaluate(known, paths, ["nDCG@10"], split="en/dev")["nDCG@10"].tolist()
    values = [evaluate(known, PREDICTIONS, ["RR"], split=split, cache_dir=tmp_path).iloc[0, 0] for split in SPLITS]
    assert values == [evaluate(known, read_run(PREDICTIONS, split), ["RR"]).iloc[0, 0] for split in SPLITS]
    assert len(set(values)) > 1


def test_json_may_be_compressed(file, prints):
    both = {**META, "en": {"dev": {"1": {"a": 1}}, "test": {"1": {"a": 1, "b": 2}}}}
    packed = file(gzip.compress(json.dumps(both, indent=1).encode()), "T_predictions.json.gz")
    qrels = file(gzip.compress(b'{"1": {"b": 1}}'), "qrels.json.gz")
    assert read_run(packed, "test").equals(read_run(file(both), "test"))
    found = evaluate(qrels, packed, ["RR"], split="test")
    assert (found.index.tolist(), found["RR"].tolist()) == (["T_predictions"], [1.0])
    assert "1.0000" in prints("evaluate", qrels, packed, "-m", "RR", "--split", "test")
    alone = file(gzip.compress(b'{"1": {"b": 1}}'), "alone.json.gz")
    assert [row["RR"] for rows in stream(qrels, alone, ["RR"]) for _, row in rows.iterrows()] == [1.0]
    refused(lambda: read_run(file(gzip.compress(b"1 Q0 a 1 2 x"), "x.json.gz")), MalformedFile, "x.json.gz:1: not JSON")


def test_the_command_reads_a_split(file, prints, says, tmp_path):
    qrels = file(HEADER + "1\tb\t1\n2\tb\t1\n", "qrels.tsv")
    both = {"en": {"dev": {"1": {"a": 1}}, "test": {"1": {"a": 1, "b": 2}, "2": {"a": 1, "b": 0.5}}}}
    one, two = file(both, "one/T_predictions.json"), file(both, "two/T_predictions.json")
    command = ("evaluate", qrels, one, two, "-m", "RR", "--format", "csv")
    assert "has 2 splits: 'en/dev', 'en/test'. Choose one, such as --split en/dev." in says(*command)
    assert [line.rpartition(",")[2] for line in prints(*command, "--split", "test").splitlines()[1:3]] == ["0.75"] * 2
    assert "T_predictions: 'no' names 0 of 2" in says(*command, "--split", "no").replace(".json", "")
    explained = ("explain", qrels, one, "-q", "1", "-m", "RR", "--split", "test")
    for more in ((), ("--run", "T_predictions")):
        assert "1.0" in prints(*explained, *more)
    assert "0.75" in prints("compare", qrels, one, two, "-m", "RR", "--split", "test", "--resamples", 100)
    judged = file({"en": {"dev": {"1": {"a": 1}}, "test": {"1": {"b": 1}}}}, "q.json")
    assert "1.0000" in prints("evaluate", judged, file("1 Q0 b 1 2 x", "p.txt"), "-m", "RR", "--split", "test")
    assert "0.75" in prints("evaluate", qrels, one, "-m", "RR", "--split", "test", "--cache-dir", tmp_path / "cache")
    assert "rbo" in prints("rbo", one, two, "--split", "test")


@pytest.mark.slow
def test_a_split_is_also_that_of_other_judgments(file, prints, tmp_path):
    queries = [f"q{number}" for number in range(8)]
    of_run = {
        name: {query: {"a": n % 3, "b": 1, "c": 0.5} for n, query in enumerate(queries, at)}
        for at, name in enumerate("xyz")
    }
    runs = [file({"en": {"dev": {}, "test": run}}, f"{name}.json") for name, run in of_run.items()]
    grades = {query: {"a": 1, "b": n % 2, "c": 0} for n, query in enumerate(queries)}
    people, plain = file(grades, "people.json"), file(grades, "plain/judge.json")
    machine = file({"en": {"dev": {"q0": {"a": 1}}, "test": grades}}, "splits/judge.json")
    for command, option in (("correct", "--machine"), ("study judges", "--machine"), ("study next", "--predicted")):
        given = (*command.split(), people, *runs, "-m", "RR", "--split", "test")
        out = [("-o", tmp_path / f"{command}{n}") if "study" in command else () for n in range(2)]
        found = [prints(*given, option, path, *to) for path, to in zip((machine, plain), out)]
        assert found[0] == found[1]


IDS = st.text(st.characters(blacklist_categories=["Cs"]), min_size=1, max_size=3)
RANKINGS = st.dictionaries(
    IDS, st.dictionaries(IDS, st.floats(allow_nan=False) | st.integers(-9, 9), min_size=1), min_size=1
)


@given(RANKINGS)
def test_any_dict_reads_as_it_was_written(tmp_path_factory, rankings):
    path = tmp_path_factory.mktemp("any") / "run.json"
    path.write_text(json.dumps({"s": {"t": rankings}} if len(rankings) % 2 else rankings))
    rows = [(query, one, float(score)) for query, ranking in rankings.items() for one, score in ranking.items()]
    assert [tuple(row.values()) for row in read_run(path).to_pylist()] == rows


@pytest.mark.parametrize("text, says", [
    ("", ":1: not JSON: Expecting value (column 1)."), ('{"1":\n{"a": 2}', ":2: not JSON: Expecting ',' delimiter"),
    ('{"1": {"a": 2}} {}', ":1: not JSON: Extra data"), ("[1]", ": must be a dict by query, and is [1]."),
    ("{}", ": empty; no query has a document."), ('{"1": {}}', ": empty; no query has a document."),
    ('{"1": {"a": 1, "a": 2}}', ": 'a' stands twice in one dict"), ('{"1": {"a": 1}, "1": {}}', ": '1' stands twice"),
    ('{"1": {"a": NaN}}', ": row 1: score is NaN for query '1', document 'a'"),
    ('{"1": {"b": 1}, "2": {"c": 1, "a": "2"}}', ": score of query '2', document 'a' is no number: '2'."),
    ('{"1": {"a": true}}', "is no number: True."), ('{"1": {"a": null}}', "is no number: None."),
    ('{"1": {"a": 1}, "2": {"b": {"c": 1}}}', "query '2', document 'b' is no number: {'c': 1}."),
    ('{"1": {"a": 1}, "2": ["b"]}', ": query '2' must have a dict of documents, and has ['b']."),
    ('{"1": {"a": 1%s}}' % ("0" * 400), ": a score is too large"),
    ('{"1": {"a": 1%s}}' % ("0" * 5000), ": not JSON of runs or judgments: Exceeds the limit"),
    ('{"1": {"\\ud800": 1}}', ": an id is no Unicode text"), (b'{"1": {"\xff": 1}}', ": not JSON of runs or judgments"),
    ('{"1": ' * 100_000, ": not JSON of runs or judgments: maximum recursion"),
    ('{"1": {"a": 1}}'.encode("utf-16"), ": not UTF-8 but UTF-16"),
    ('{"mteb_model_meta": {}}', ": empty"), ('{"mteb_model_meta": {}, "en": []}', "subset 'en' must be a dict by split"),
    ('{"mteb_model_meta": {}, "en": {"test": [0, 1]}}', "split 'en/test' must be a dict by query, and is [0, 1]."),
], ids=str)  # fmt: skip
def test_hostile_json_has_one_error(file, text, says):
    path = file(text)
    message = refused(lambda: read_run(path), MalformedFile, says)
    assert message.startswith(str(path))
    assert len(message) < len(str(path)) + 250
    refused(lambda: evaluate({"1": {"a": 1}}, path, ["RR"]), MalformedFile, says)


def test_judgments_of_beir_may_have_blanks_quotes_and_decimal_grades(file):
    header = "BEIR's judgments begin with a line of their columns, separated by tabs: query-id, corpus-id"
    for text, *says in (
        (HEADER, ": empty"),
        (HEADER + "1\ta\n", ":2: expected 3 fields (query-id corpus-id score), found 2"),
        ("\n" + HEADER + "\n1\ta\t1\n1\tb\tx\n", ":5: score 'x' is no number"),
        (HEADER + "1\ta\tnan\n", ":2: relevance is NaN"),
        (HEADER + "1\ta\t1\n1\ta\t0\n", ":3: document 'a' is judged twice for query '1'"),
        (HEADER + '1\t"a\t1\n1\tb\t2\n', ":2: a quotation mark that neither begins nor ends a field"),
        (HEADER.encode() + b"1\t\xff\t1\n", ":2: not UTF-8"),
        ("1\ta\t1\n", ":1: expected 4 fields", f"found 3: '1\\ta\\t1'. {header}"),
    ):
        path = file(text, "test.tsv")
        assert refused(lambda: read_qrels(path), MalformedFile, *says).startswith(f"{path}{says[0][:2]}")  # noqa: B023
    lines = 'Query-ID\tCorpus-ID\tScore\r\nq 1\t"a ""b"""\t2\r\nq 1\tc d\t0.5\r\n'
    found = read_qrels(file(lines, "test.tsv"))
    assert found.to_pydict() == {"query_id": ["q 1"] * 2, "doc_id": ['a "b"', "c d"], "relevance": [2.0, 0.5]}
    refused(lambda: read_run(file(lines, "test.tsv")), MalformedFile, "Are these judgments?")


def test_mteb_calls_the_function_of_a_class_or_of_a_task():
    qrels, results = {"q": {"b": 1}, "p": {"a": 1}}, {"q": {"a": 0.9, "b": 0.7}}
    words = {"a": 100, "b": 300}
    score = mteb_scores({"time": TBG(lengths=pd.Series(words)), "RR": "RR"})
    task, kind = type("Task", (), {})(), type("Task", (), {"task_specific_scores": score})
    task.task_specific_scores = score
    expected = evaluate(qrels, results, {"time": TBG(lengths=pd.Series(words)), "RR": "RR"}).iloc[0].to_dict()
    for one in (task, kind()):
        found = one.task_specific_scores({}, qrels, results, hf_split="test", hf_subset="en")
        assert found == expected
        assert json.loads(json.dumps(found)) == expected
    assert expected["RR"] == 0.25
    refused(lambda: mteb_scores(["nDGC@10"]), UnknownSpec)
    refused(lambda: mteb_scores(["TBG"])({}, qrels, results, hf_split="test", hf_subset="en"), MissingLength)
