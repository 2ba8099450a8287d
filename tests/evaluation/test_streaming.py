"""Streamed evaluation of runs in files: scores equal those of frames to the last bit, however the files are split."""

import gzip
import os
import subprocess
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyterrier_cwla import TBG, compare, evaluate
from pyterrier_cwla.behaviour import simulate
from pyterrier_cwla.behaviour.simulation.expectations import progress
from pyterrier_cwla.errors import BadRun, MalformedFile, MissingLength
from pyterrier_cwla.evaluation.driver import stream
from pyterrier_cwla.files import run_files
from pyterrier_cwla.files.run_files import sources
from tests.support.messages import refused

MEASURES = ["nDCG@3", "AP", "RR", "ESL(wanted=2)", "Compat", "RBP(rel=1)", "CWLA(C='inst(1)',A='erg',max_rel=3)", "GeometricMean(measure='AP')",
            "Judged@3", "TBG(duplicates='run')"]  # fmt: skip
pytestmark = pytest.mark.filterwarnings("ignore:run and judgments have no query in common")


def _run(rng, queries=12, depth=9):
    rows = [
        (f"q{query}", f"d{document}", float(rng.integers(0, 6)), float(rng.integers(1, 400)))
        for query in rng.permutation(queries)
        for document in rng.choice(40, rng.integers(1, depth), replace=False)
    ]
    frame = pd.DataFrame(rows, columns=["query_id", "doc_id", "score", "doc_length"])
    repeats = rng.random(len(frame)) < 0.2
    return frame.assign(duplicate_of=pd.array(np.where(repeats, "d7", None), "string"))


def _collection(seed, runs=3):
    rng = np.random.default_rng(seed)
    judged = [(f"q{query}", f"d{d}", int(rng.integers(-1, 4))) for query in range(2, 14) for d in range(0, 40, 3)]
    qrels = pd.DataFrame(judged, columns=["query_id", "doc_id", "relevance"])
    return qrels, {f"run {n}": _run(rng) for n in range(runs)}


def _all(runs):
    return pd.concat([frame.assign(run=name) for name, frame in runs.items()], ignore_index=True)


def _write(frame, path, rows=None, **how):
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path, row_group_size=rows, **how)
    return path


def _text(frame):
    return "".join(f"{q} Q0 {d} 0 {s} tag\n" for q, d, s in frame[["query_id", "doc_id", "score"]].values)


def same(found, expected):
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


@pytest.fixture
def small(monkeypatch):
    """Return a function that sets the maximum rows of a table and bytes of a block."""

    def pieces(rows, block=32 << 20):
        monkeypatch.setattr(run_files, "ROWS", rows)
        monkeypatch.setattr(run_files, "BLOCK", block)

    return pieces


@pytest.mark.slow
@given(st.data())
def test_every_cut_of_a_dataset_gives_the_values_of_frames(tmp_path_factory, data):
    """Varies the order of rows, row groups, files, dictionaries, sizes of pieces, and whether the rows fit into memory."""
    folder = tmp_path_factory.mktemp("cut") / "runs.parquet"
    folder.mkdir()
    qrels, runs = _collection(data.draw(st.integers(0, 1000)), runs=2)
    rows = _all(runs)
    fits = data.draw(st.booleans())
    if fits and data.draw(st.booleans()):
        rows = rows.sample(frac=1, random_state=data.draw(st.integers(0, 9)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=3)))
    for number, (a, b) in enumerate(zip([0, *cuts], [*cuts, len(rows)], strict=True)):
        how = {"use_dictionary": data.draw(st.booleans()), "data_page_size": data.draw(st.sampled_from([64, 1 << 20]))}
        _write(rows.iloc[a:b], folder / f"part.{number}.parquet", data.draw(st.integers(3, 200)), **how)
    expected = evaluate(qrels, runs, MEASURES, by_query=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_files, "ROWS", data.draw(st.sampled_from([12, 40, 1 << 20])))
        patch.setattr(run_files.RunFiles, "fits", fits)
        found = pd.concat(stream(qrels, folder, MEASURES))
    same(found.set_index(["run", "query_id"]).loc[expected.index], expected)
    assert len(found) == len(expected)


@pytest.mark.slow
def test_one_table_from_frames_and_from_every_kind_of_folder(tmp_path, small):
    qrels, runs = _collection(1)
    runs = {name: frame[["query_id", "doc_id", "score"]] for name, frame in runs.items()}
    measures = MEASURES[:-1]
    for name, frame in runs.items():
        for folder in ("plain", "parquet", f"hive/run={name}"):
            (tmp_path / folder).mkdir(exist_ok=True, parents=True)
        text = "\ufeff" + _text(frame).replace("\n", "\r\n\n")
        if name == "run 1":
            (tmp_path / "plain" / f"{name}.txt.gz").write_bytes(gzip.compress(text.encode()))
        else:
            (tmp_path / "plain" / f"{name}.run").write_text(text)
        _write(frame, tmp_path / "parquet" / f"{name}.parquet", 20)
        _write(frame, tmp_path / "hive" / f"run={name}" / "0.parquet")
    _write(_all(runs), tmp_path / "all.parquet", 30)
    for by_query, rows, block in ((False, 1 << 20, 1 << 25), (True, 40, 500)):
        expected = evaluate(qrels, runs, measures, by_query)
        small(rows, block)
        for place in ("plain", "parquet", "hive", "all.parquet"):
            same(evaluate(qrels, tmp_path / place, measures, by_query), expected)
        mixed = {"run 0": tmp_path / "plain" / "run 0.run", "run 1": runs["run 1"],
                     "run 2": str(tmp_path / "parquet" / "run 2.parquet")}  # fmt: skip
        same(evaluate(qrels, mixed, measures, by_query), expected)
        same(evaluate(qrels, sorted((tmp_path / "parquet").iterdir()), measures, by_query), expected)
        alone = evaluate(qrels, {"run 2": runs["run 2"]}, measures, by_query)  # a file has the name of its stem
        same(evaluate(qrels, tmp_path / "parquet" / "run 2.parquet", measures, by_query), alone)


@pytest.mark.slow
def test_ids_in_dictionaries_give_what_strings_give():
    """Slices have dictionaries with more texts, and each chunk has a dictionary of its own."""
    qrels, runs = _collection(2)
    expected = evaluate(qrels, runs, MEASURES, by_query=True)

    def table(frame, words=()):
        ids = {"query_id", "doc_id", "duplicate_of"} & {*frame}
        encoded = {
            c: pa.array([*words, *frame[c]], from_pandas=True).dictionary_encode().slice(len(words)) for c in ids
        }
        return pa.table({c: encoded.get(c, frame[c]) for c in frame})

    for forms in (
        {name: table(frame, ["x", "y"] * 2000) for name, frame in runs.items()},
        {name: pa.concat_tables([table(frame[:20]), table(frame[20:])]) for name, frame in runs.items()},
    ):
        same(evaluate(qrels, forms, MEASURES, by_query=True, check=True), expected)
    qrels = {"q": {"a": 1}, "r": {"b": 1}}  # a dictionary may hold a string twice
    names = pa.array(["a", "b", "a", "b", "c", "d"] + ["e", "f"] * 3)
    queries = pa.array(["q", "q", "r"])
    run = pa.table({
        "query_id": pa.DictionaryArray.from_arrays([0, 1, 0, 1, 1] + [2] * 25, queries),
        "doc_id": pa.DictionaryArray.from_arrays([5, 2, 4, 7, 10][:4] + [11] + [3] + [4] * 24, names),
        "score": np.arange(30.0),
    })  # fmt: skip
    refused(lambda: evaluate(qrels, run, ["RR"]), BadRun, "'f' is retrieved twice")
    whole = run.take([0, 1, 2, 3, 5, 6])
    assert evaluate(qrels, whole, ["RR"], by_query=True)["RR"].tolist() == [1 / 3, 1 / 2]


@pytest.mark.slow
def test_results_come_as_they_are_ready_and_the_unanswered_last(tmp_path, small):
    qrels = {f"q{n}": {"a": 1} for n in range(6)}
    rows = [(f"q{n}", d, s) for n in (3, 0, 1, 2) for d, s in (("a", 1.0), ("b", 2.0))]
    frame = pd.DataFrame(rows, columns=["query_id", "doc_id", "score"])
    small(3)
    batches = list(stream(qrels, _write(frame, tmp_path / "x.parquet", 3), ["RR"]))
    assert [list(batch["query_id"]) for batch in batches[:2]] == [["q3"], ["q0"]]
    assert list(batches[-1]["query_id"]) == ["q4", "q5"]
    assert batches[-1]["RR"].tolist() == [0, 0]
    assert {*pd.concat(batches)["run"]} == {"x"}
    with pytest.warns(UserWarning, match="x has 'q3', 'q0'") as said:
        (batch,) = stream({"r": {"a": 1}}, tmp_path / "x.parquet", ["AP"])
    assert len(said) == 1
    assert batch.values.tolist() == [["x", "r", 0.0]]


def _scattered(path):
    """Write a run, or two in all.parquet, in which the rows of a query are not consecutive."""
    ids = {"query_id": ["q1", "q2"] * 8, "doc_id": [f"d{n}" for n in range(16)]}
    frame = pd.DataFrame(ids | {"score": np.arange(16.0)})
    if path.suffix != ".parquet":
        text = _text(frame).encode()
        path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
        return path
    frame = frame.rename(columns={"query_id": "qid", "doc_id": "docno"}).astype({"qid": "category"})
    return _write(frame.assign(run=["a"] * 8 + ["b"] * 8) if path.name == "all.parquet" else frame, path, 4)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["x y.run", "x.run.gz", "x.parquet", "all.parquet"])
def test_runs_larger_than_memory_need_whole_queries(tmp_path, small, monkeypatch, name):
    """The error names the query, the run and the row, and its command sorts the file. Unjudged queries may be scattered."""
    monkeypatch.chdir(tmp_path)
    path = _scattered(Path(name))
    qrels = {"q1": {"d2": 1}, "q2": {"d9": 1, "d5": 1}}
    run = name.partition(".")[0]
    expected = pd.concat(stream(qrels, {run: path}, ["AP"])).set_index(["run", "query_id"])["AP"]
    unjudged = evaluate({"q": {"d1": 1}}, path, ["AP"])
    small(4, 80)
    monkeypatch.setattr(run_files.RunFiles, "fits", False)
    same(evaluate({"q": {"d1": 1}}, path, ["AP"]), unjudged)
    refused(lambda: evaluate(qrels, path, ["AP"]), MalformedFile, "one after the other")
    with pytest.raises(MalformedFile) as error:
        list(stream(qrels, path, ["AP"]))
    said, _, command = str(error.value).partition("Sort them, or use the cluster: ")
    assert said.startswith(f"{name}: row 3: query 'q1' of run {run.replace('all', 'a')!r} continues here")
    subprocess.run(command, shell=True, check=True)
    (sorted_file,) = Path().glob("sorted.*")
    found = pd.concat(stream(qrels, {run: sorted_file}, ["AP"])).set_index(["run", "query_id"])["AP"]
    assert found.to_dict() == expected.to_dict()


@pytest.mark.slow
def test_whether_a_run_fits_into_memory_is_known_first(tmp_path, monkeypatch):
    frame = pd.DataFrame({"query_id": "q", "doc_id": [f"d{n}" for n in range(200_000)], "score": 1.0})
    (tmp_path / "x.run").write_text(_text(frame))
    (tmp_path / "x.run.gz").write_bytes(gzip.compress(_text(frame).encode()))
    _write(frame, tmp_path / "x.parquet", 1000)
    for name in ("x.run", "x.run.gz", "x.parquet"):
        for limit, fits in (("40M", True), ("1M", False)):
            monkeypatch.setenv("PYTERRIER_CWLA_READ_LIMIT", limit)
            (source,) = sources(tmp_path / name)
            assert source.fits is fits


@pytest.mark.slow
def test_names_of_runs(tmp_path):
    """A file has one name, however it is given."""
    qrels, runs = _collection(5, runs=1)
    (frame,) = runs.values()
    for folder in ("a", "b", "c.parquet"):
        (tmp_path / folder).mkdir()
    for path in ("a/x.parquet", "b/x.parquet", "b/y.parquet", "c.parquet/part.0.parquet"):
        _write(frame, tmp_path / path)
    (tmp_path / "c.parquet" / "_SUCCESS").touch()
    named = [s.name for s in sources([tmp_path / "a", tmp_path / "b", tmp_path / "c.parquet"])]
    assert named == [str(tmp_path / "a" / "x.parquet"), str(tmp_path / "b" / "x.parquet"), "y", "c"]
    same(evaluate(qrels, tmp_path / "c.parquet", ["AP"]), evaluate(qrels, {"c": frame}, ["AP"]))
    for place in (path := tmp_path / "b" / "y.parquet", str(path), [path]):
        assert [*evaluate(qrels, place, ["AP"]).index] == ["y"]
        assert [*pd.concat(stream(qrels, place, ["AP"]))["run"].unique()] == ["y"]
        assert compare(qrels, place, ["AP"], resamples=100).runs == ["y"]
        assert [*simulate(qrels, place, "AP", users=2, progress=False).mean.index] == ["y"]
        assert [*progress(qrels, place, TBG, [1.0]).table.index.unique("run")] == ["y"]
    assert sources(tmp_path / "a")[0].digest() == sources(tmp_path / "b")[0].digest()
    refused(lambda: evaluate(qrels, {"x": tmp_path / "b"}, ["AP"]), BadRun, "folder of runs")
    _write(frame.drop(columns="score"), tmp_path / "c.parquet" / "part.1.parquet")
    refused(lambda: evaluate(qrels, tmp_path / "c.parquet", ["AP"]), MalformedFile, "part.1.parquet: no column score")
    both = _write(frame.assign(run="y"), tmp_path / "both.parquet")
    refused(lambda: list(stream(qrels, [tmp_path / "b" / "y.parquet", both], ["AP"])), BadRun, "name 'y'")
    _write(pd.concat([frame.assign(run=name) for name in "yz"]), both)
    with pytest.raises(BadRun, match=r"two runs have the name 'y' \(in [^ ]*both.parquet\): give one of them another"):
        evaluate(qrels, {"y": frame, "x": both}, ["AP"])
    (tmp_path := tmp_path / "named").mkdir()  # names in files and in a dict
    one = _write(ROWS.assign(run="theirs"), tmp_path / "one.parquet")
    two = _write(pd.concat([ROWS.assign(run=name) for name in ("a", "b")]), tmp_path / "two.parquet")
    qrels = {"q": {"a": 1}}
    assert [*evaluate(qrels, {"ours": one, "theirs": two}, ["AP"]).index] == ["ours", "a", "b"]
    assert [*pd.concat(stream(qrels, {"ours": one}, ["AP"]))["run"]] == ["ours"]
    for note in ("_SUCCESS", "_metadata", ".x.crc"):  # no runs
        (tmp_path / note).write_bytes(b"PAR1")
    for runs, names in ((one, ["theirs"]), ([one], ["theirs"]), (tmp_path, ["theirs", "a", "b"])):
        assert [*evaluate(qrels, runs, ["AP"]).index] == names
    again = _write(ROWS.assign(run="theirs"), tmp_path / "two.parquet")
    says = "'theirs' (in ", "one.parquet and ", "two.parquet): ", " folder ", " ends in .parquet"
    for runs, cache_dir in product((tmp_path, [one, again]), (None, path.parent / "kept")):
        refused(partial(evaluate, qrels, runs, ["AP"], cache_dir=cache_dir), BadRun, *says)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1 << 20, 2])
def test_other_types_of_numbers_are_read_or_named(tmp_path, small, rows):
    small(rows)
    qrels, path = {"q": {"a": 1, "f": 2}}, tmp_path / "x.parquet"
    large = 2**53 + np.arange(6)
    for score in (large, large.astype(np.uint64), pa.array(large.tolist(), pa.decimal128(20))):
        table = pa.table({"query_id": ROWS["query_id"], "doc_id": ROWS["doc_id"], "score": score})
        pq.write_table(table, path, row_group_size=2)
        same(evaluate(qrels, {"run": path}, ["AP", "RR"]), evaluate(qrels, ROWS.assign(score=large), ["AP", "RR"]))
    dates = pd.to_datetime(["2020-01-01"] * 6).astype("datetime64[us]")
    for values, says in ((["high"] * 6, "string"), ([[1.0]] * 6, "list<"), (dates, "timestamp[")):
        for column in ("score", "doc_length"):
            _write(ROWS.assign(**{"doc_length": 1.0, column: pd.Series(list(values))}), path, 2)
            words = f"x.parquet: column '{column}' holds ", "as float64", says
            assert "whole" not in refused(lambda: evaluate(qrels, path, ["TBG"]), MalformedFile, *words)
    _write(ROWS.assign(doc_length=None, duplicate_of=None), path, 2)
    same(evaluate(qrels, {"run": path}, ["AP"]), evaluate(qrels, ROWS, ["AP"]))
    refused(lambda: evaluate(qrels, path, ["TBG"]), MissingLength, "the lengths of documents are needed")


@pytest.mark.parametrize("by_query", [False, True])
def test_reading_large_files_shows_its_progress(tmp_path, small, monkeypatch, capsys, by_query):
    small(2)
    monkeypatch.setattr("pyterrier_cwla.tasks.progress._DELAY", 0)
    evaluate({"q": {"a": 1}}, _write(ROWS, tmp_path / "x.parquet", 2), ["AP"], by_query, progress=True)
    assert "evaluating" in capsys.readouterr().err


MEANS = ["TBG(missing='mean')", "AP"]
ROWS = pd.DataFrame({"query_id": ["q"] * 6, "doc_id": list("abcdef"), "score": np.arange(6.0)})


def test_what_is_wrong_in_text_is_said_with_its_line(tmp_path, small):
    small(10, 300)
    lines = [f"q Q0 d{n} 1 {n} tag" for n in range(40)]
    for line, says in (
        ("q Q0 z 1 high tag", "x.run:41: score 'high' is no number"),
        ("q Q0 z 1 nan tag", "x.run:41: score is NaN for query 'q', document 'z'"),
        ("q Q0 z 1", "x.run:41: expected 6 fields"),
        ("q Q0 z 1 2 " + "t" * 700, "a line of more than 300 bytes"),
        ("q Q0 d1 1 2 tag", "'d1' is retrieved twice"),
    ):
        (tmp_path / "x.run").write_text("\n".join([*lines, line, "q Q0 y 1 0 tag\n"]))
        (tmp_path / "x.run.gz").write_bytes(gzip.compress((tmp_path / "x.run").read_bytes()))
        for name in ("x.run", "x.run.gz"):
            ask = partial(list, stream({"q": {"d1": 1}}, tmp_path / name, ["AP"]))
            refused(ask, (MalformedFile, BadRun), says.replace("x.run", name))
    path, qrels = _write(ROWS, tmp_path / "x.parquet"), {"q": {"a": 1}}
    refused(lambda: evaluate(qrels, {"x": [path]}, ["RR"]), BadRun, "a run by name is one path, and not list")
    with open(path) as opened:
        for runs, says in ((opened, "an open file"), ([path, opened], "an open file"), ([3], "3")):
            ask = partial(next, stream(qrels, runs, ["RR"]))
            refused(ask, BadRun, f"given by their paths, not as {says}: give the path of each")
    for none in ([], (), {}):
        for ask in (evaluate, partial(evaluate, cache_dir=tmp_path), lambda *given: list(stream(*given))):
            refused(partial(ask, qrels, none, ["AP"]), BadRun, "there is no run to evaluate")
    assert evaluate(qrels, ROWS[:0], ["AP"]).to_dict() == {"AP": {"run": 0.0}}


@pytest.mark.parametrize("cache_dir", [None, "kept"])
@pytest.mark.parametrize("suffix", ["run", "parquet"])
def test_rows_added_to_a_file_before_its_turn_count(tmp_path, monkeypatch, small, suffix, cache_dir):
    monkeypatch.chdir(tmp_path)
    small(2, 40)
    qrels = {"q": {"a": 1}, "r": {"a": 1}}

    def write(name, frame):
        if suffix == "parquet":
            return _write(frame, tmp_path / "runs" / f"{name}.parquet", 2)
        return (tmp_path / "runs" / f"{name}.run").write_text(_text(frame))

    (tmp_path / "runs").mkdir()
    write("first", ROWS)
    write("second", ROWS)
    batches = stream(qrels, "runs", ["RR"], cache_dir=cache_dir)
    assert set(next(batches)["run"]) == {"first"}
    if cache_dir is None:  # also a file of the same size; the cache would know its content
        os.utime(tmp_path / "runs" / f"second.{suffix}", (0, 0))
        refused(lambda: list(batches), MalformedFile, "second", "has changed since")
        next(batches := stream(qrels, "runs", ["RR"]))
    write("second", pd.concat([ROWS, ROWS.assign(query_id="r")]))
    refused(lambda: list(batches), MalformedFile, "second", "has changed since")
    again = pd.concat(stream(qrels, "runs", ["RR"], cache_dir=cache_dir)).set_index(["run", "query_id"])["RR"]
    assert again["second"].to_dict() == {"q": 1 / 6, "r": 1 / 6}


@pytest.mark.slow
def test_queries_may_be_split_over_files_of_other_columns(tmp_path):
    """In one file document ids repeat; in the other each occurs once."""
    often = pd.DataFrame(
        [(f"q{q}", f"document-number-{d}", -float(d), 30.0) for q in range(40) for d in range(50)],
        columns=["query_id", "doc_id", "score", "doc_length"],
    )
    once = pd.DataFrame({"query_id": "q1", "doc_id": [f"other-{n}" for n in range(3000)], "score": -np.arange(3e3) / 9,
                         "duplicate_of": "document-number-3"})  # fmt: skip
    (tmp_path / "x.parquet").mkdir()
    for number, frame in enumerate([often, once]):
        _write(frame, tmp_path / "x.parquet" / f"{number}.parquet")
    (source,) = sources(tmp_path / "x.parquet")
    assert len({part.encoded for part in source.parts}) == 2
    qrels = {"q1": {"other-7": 1, "document-number-3": 2}, "q2": {"document-number-9": 1}}
    measures, rows = ["RR", "nDCG", "TBG(missing='mean',duplicates='run')"], pd.concat([often, once])
    for some_measures in (measures[:2], measures):
        paths = {"run": tmp_path / "x.parquet"}
        same(evaluate(qrels, paths, some_measures, True), evaluate(qrels, rows, some_measures, True))
    with pytest.raises(MissingLength, match=r"3,000 of 3,[01]\d\d have none"):
        list(stream(qrels, tmp_path / "x.parquet", ["TBG"]))


@pytest.mark.slow
def test_what_no_measure_asks_for_is_not_read(tmp_path, small):
    """Unused columns and lengths of unjudged queries may be anything, whether the file is read whole or in pieces."""
    rows = _run(np.random.default_rng(0)).assign(duplicate_of=1)
    path = _write(rows, tmp_path / "x.parquet")
    odd = rows.assign(doc_length=rows["doc_length"].where(rows["query_id"] != "q9", -1)).drop(columns="duplicate_of")
    of_odd = _write(odd, tmp_path / "odd.parquet")
    qrels, one = {"q1": {"d1": 1, "d7": 2}, "q5": {"d4": 1}}, {"q1": {"d1": 1}}
    expected = evaluate(one, odd[odd["query_id"] == "q1"], ["TBG"], True)
    for number in (1 << 20, 20):
        small(number)
        for measures in (["RR", "TBG"], ["RR", "TBG(missing='mean')"]):
            wanted = evaluate(qrels, rows.drop(columns="duplicate_of"), measures, True)
            same(evaluate(qrels, {"run": path}, measures, True), wanted)
            ask = partial(evaluate, qrels, path, [*measures, "TBG(duplicates='run')"])
            refused(ask, MalformedFile, "'duplicate_of' holds int64, and ids must be strings")
        for run in ({"run": of_odd}, odd):
            same(evaluate(one, run, ["TBG"], True), expected)
        for measure in ("TBG", "TBG(missing='mean')"):
            ask = partial(evaluate, {**one, "q9": {"d2": 1}}, of_odd, [measure])
            refused(ask, MissingLength, "is -1: lengths are numbers, 0 or more")


def test_long_shared_texts_do_not_fill_memory(tmp_path, small, monkeypatch):
    monkeypatch.setenv("PYTERRIER_CWLA_READ_LIMIT", "20M")
    texts, rows = pa.array(["x" * 40_000 + str(n) for n in range(4)]), 3000
    for column in ("query_id", "doc_id", "duplicate_of"):
        table = {name: pa.array([f"{n}" for n in range(rows)]) for name in ("query_id", "doc_id", "duplicate_of")}
        table[column] = pa.DictionaryArray.from_arrays(np.arange(rows, dtype=np.int32) % 4, texts)
        path = tmp_path / "x.parquet"
        pq.write_table(pa.table(table | {"score": np.arange(rows)}), path, store_schema=False)
        assert path.stat().st_size < 200_000
        for many in (1 << 20, 1000):
            small(many)
            ask = partial(evaluate, {"1": {"1": 1}}, path, ["TBG(duplicates='run')"])
            refused(ask, MalformedFile, "x.parquet: ", "READ_LIMIT=")


def test_a_small_file_that_holds_much_is_read_in_pieces(tmp_path, monkeypatch):
    """The order of runs is that of the files, although one of the small files is read in pieces."""
    for name in "abc":
        long = name == "b"
        text = "".join(f"q Q0 d{n} 1 {n} t{'t' * 2_000_000 * long}\n" for n in range(4))
        (tmp_path / f"{name}.run.gz").write_bytes(gzip.compress(text.encode(), 1))
    monkeypatch.setenv("PYTERRIER_CWLA_READ_LIMIT", "6M")
    found = evaluate({"q": {"d1": 1}}, tmp_path, ["RR"])
    assert found["RR"].to_dict() == {"a": 1 / 3, "b": 1 / 3, "c": 1 / 3}
    assert list(found.index) == ["a", "b", "c"]


@pytest.mark.slow
def test_runs_are_whole_for_the_mean_of_missing_lengths(tmp_path, monkeypatch):
    qrels, runs = _collection(8)
    rows = _all({n: f.assign(doc_length=f["doc_length"].where(f.index % 5 > 0)) for n, f in runs.items()})
    rows = rows.sample(frac=1, random_state=1)
    expected = evaluate(qrels, {n: f.drop(columns="run") for n, f in rows.groupby("run", sort=False)}, MEANS, True)
    same(evaluate(qrels, {"run": (path := _write(rows, tmp_path / "x.parquet", 10))}, MEANS, True), expected)
    one = _write(rows[rows["run"] == "run 0"].drop(columns="run"), tmp_path / "run 0.parquet", 10)
    with monkeypatch.context() as patch:
        patch.setattr(run_files, "ROWS", 10)
        same(evaluate(qrels, one, MEANS, True), expected.loc[["run 0"]])
        refused(lambda: list(stream(qrels, one, MEANS)), MissingLength, "give lengths=")
    many = pd.concat([rows.assign(query_id=rows["query_id"] + f".{n}") for n in range(400)])
    monkeypatch.setenv("PYTERRIER_CWLA_READ_LIMIT", "2M")
    with pytest.raises(MalformedFile, match=r"means in place of missing lengths, .* give a table"):
        evaluate(qrels, _write(many, path), MEANS)
