"""Tests of the fuzz targets, on up to 200 inputs each, and regression tests of the errors that fuzzing has found."""

import gzip
import importlib
import json
import os
import re
import subprocess
import sys
from functools import reduce
from operator import getitem
from pathlib import Path

import ir_measures
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fuzz
from fuzz import plain
from fuzz.__main__ import TARGETS, source
from pyterrier_cwla import TBG, evaluate
from pyterrier_cwla.behaviour import Calibration, InteractionLog
from pyterrier_cwla.behaviour.logs.adapters import chiir24_log
from pyterrier_cwla.data.lengths import Lengths
from pyterrier_cwla.errors import BadParameter, MalformedFile
from pyterrier_cwla.files.formats import read_duplicates, read_lengths, read_qrels, read_run
from pyterrier_cwla.measures.provider import computed_here
from tests.support.messages import refused

INPUTS = {"logs": 50, "adapters": 15, "provider": 50, "calibration": 100, "measures": 150, "streamed": 40}
pytestmark = pytest.mark.filterwarnings("ignore:run and judgments have no query in common")


@pytest.mark.every_case
@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_some_inputs_of_each_target(target):
    """More inputs: python -m fuzz TARGET --inputs 1000000."""
    one_input, inputs = importlib.import_module(f"fuzz.{target}").one_input, source(target, seed=1)
    accepted = [one_input(inputs[number]) for number in range(INPUTS.get(target, 200))]
    assert 0 < sum(accepted) < len(accepted)


def test_each_target_has_a_result_and_inputs_by_number():
    page = Path(fuzz.__file__).with_name("results.rst").read_text()
    listed = re.findall(r"\* - ``python -m fuzz (\w+) --(?:inputs|seconds) \d+[^`]*``", page)
    assert sorted(listed) == sorted(TARGETS)
    assert [source("run", 3)[number] for number in (7, 8)] == [source("run", 3)[number] for number in range(9)][7:]


@pytest.mark.parametrize("score", [[2**64 - 1], [1, 2**63 + 1], [2**53 + 1, 1]])
def test_integers_beyond_floats_in_parquet(score):
    """The nearest floats are the correct values; the fuzz target once rejected them."""
    columns = {"qid": ["1"] * len(score), "docno": ["a", "b"][: len(score)], "score": pa.array(score, pa.uint64())}
    pq.write_table(pa.table(columns), written := pa.BufferOutputStream())
    assert importlib.import_module("fuzz.parquet").one_input(written.getvalue().to_pybytes())


STUB = """
import os, sys, time, types
import fuzz.__main__ as command
from fuzz import place

def one_input(data):
    (place.FOLDER / "input").write_bytes(data)
    if data == b"3":
        time.sleep(60)
    if data == b"6":
        os.abort()
    return True

sys.modules["fuzz.stub"] = types.SimpleNamespace(one_input=one_input)
command.source = lambda target, seed: [str(number).encode() for number in range(10)]
command.HANG = 0.2
print(place.FOLDER, flush=True)
command.plainly("stub", 10, 0, 0)
"""


@pytest.mark.slow
def test_hangs_and_crashes_are_found_and_nothing_is_left(tmp_path):
    (tmp_path / "stub.py").write_text(STUB)
    environment = {**os.environ, "PYTHONPATH": str(Path(fuzz.__file__).parent.parent)}
    command = [sys.executable, "-S", tmp_path / "stub.py"]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    folder, *lines = found.stdout.splitlines()
    assert [line.split(": ")[:2] for line in lines[:-1]] == [
        ["input 3", "it took more than 0.2 s"],
        ["input 6", "the process ended with -6"],
    ]
    assert "10 inputs | 8 accepted | 2 wrong (1 crashes, 1 hangs, 0 slow)" in lines[-1]
    assert found.returncode == 1
    assert not Path(folder).exists()


@pytest.mark.parametrize("pack", [gzip.compress, lambda text: pa.compress(text, "zstd", asbytes=True)])
def test_the_slow_reader_unpacks_by_itself(pack, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("as the package does it")

    if pack is not gzip.compress:
        pytest.importorskip("cramjam", reason="zstd is unpacked by Arrow where cramjam is not installed")
    monkeypatch.setattr(pa, "input_stream", refuse)
    packed = pack(b"one ") + pack(b"two")
    assert plain.unpacked(packed) == b"one two"
    for broken in (packed[:-1], packed + packed[:5], packed + b"more"):
        with pytest.raises(plain.Refused):
            plain.unpacked(broken)


@pytest.fixture
def file(tmp_path):
    def write(data: bytes):
        (tmp_path / "file").write_bytes(data)
        return tmp_path / "file"

    return write


# ---- text files


@pytest.mark.parametrize("read, data, where", [
    (read_qrels, b"1 0 a 0x10\n", ":1: relevance '0x10' is no number"),  # once read as 16
    (read_qrels, b"1 0 0xa 1\n1 0 b 0X1\n", ":2: relevance '0X1' is no number"),
    (read_lengths, b'id,words\n"a\nb",3\n', ":2: a quotation mark that neither begins nor ends a field"),
    (read_duplicates, b'id,cluster\nd1,"a\n', ":2: a quotation mark that neither begins nor ends a field"),  # as 'a'
    (read_duplicates, b'd1,a\nd2,b"\n', ":2: a quotation mark that neither begins nor ends a field"),
    (read_lengths, b'"FT9"1-3,250\n', ":1: a quotation mark that neither begins nor ends a field"),  # once FT91-3
])  # fmt: skip
def test_what_was_read_as_something_else(file, read, data, where):
    path = file(data)
    assert refused(lambda: read(path), MalformedFile).startswith(f"{path}{where}")


@pytest.mark.parametrize("read, data, ids", [
    (read_duplicates, b"d1\td2\n\r\t\n", ["d1"]),  # the blank line was once read as a document with an empty id
    (read_lengths, b"a\t7.5\r \rb\t2\r\n", ["a", "b"]),  # once rejected
    (read_run, b"\v\xef\xbb\xbf1 Q0 a 1 3 t\n", ["a"]),
    (read_qrels, b"1 0 0x10 1\n", ["0x10"]),
    (read_lengths, b'"a""b",1\n"c,d",2\n', ['a"b', "c,d"]),
])  # fmt: skip
def test_what_is_read_as_it_is_written(file, read, data, ids):
    assert read(file(data))["doc_id"].to_pylist() == ids


def test_a_mark_that_is_none_stays_part_of_the_query(file):
    """U+FEFF is a byte order mark only once, at the very beginning of a file."""
    assert read_run(file(b"\v\xef\xbb\xbf1 Q0 a 1 3 t\n"))["query_id"].to_pylist() == ["\ufeff1"]
    assert read_run(file(b"\xef\xbb\xbf\xef\xbb\xbf1 Q0 a 1 3 t\n"))["query_id"].to_pylist() == ["\ufeff1"]


# ---- measures


@pytest.mark.parametrize("text, says", [
    ("GeometricMean(measure='R')", "R needs cutoff="),  # once an AssertionError of ir_measures
    ("GeometricMean(measure='NERR11(min_rel=1,max_rel=2)@20')", "no parameter 'cutoff'"),
    ("IntentAware(measure='NERR11(T=2,max_rel=19.5)')", "max_rel must be"),
    (f"GeometricMean(measure='NERR10(p={'9' * 400},max_rel=3)')", "p must be"),  # once an OverflowError
    (f"CWLA(C='decay',A='etg',{'[' * 300}", "cannot read the measure"),  # once a MemoryError of Python's parser
    (f"TBG(lengths='{'x' * 300}')", "is neither a file nor the name of a table"),  # once an OSError
    (f"TBG(duplicates='{'x' * 300}')", "is neither a file nor the name of a table"),
    (f"TBG(calibration='{'x' * 300}')", "is not a file"),
    ("CWLA(C='rr',A='effort',norm='all',max_rel=1e308)", "max_rel must be a number in (0, 1e15]"),  # once inf
    ("nDCG(gains={0:0,1:3j})", "at character 19: gains= must be a number, "),  # once a TypeError
    ("nDCG(gains={'a':1})", "nDCG: gains must be a map from grades to numbers"),
    ("nDCG(gains={1e999:1})", "nDCG: gains must be a map from grades to numbers"),  # once an OverflowError
])  # fmt: skip
def test_a_measure_that_raised_something_else(text, says):
    refused(lambda: computed_here([text]), says)


TOO_FAR = "4,194,304"
#: Measures, and the score or the words of the error.
EXTREME = {
    "nDCG(judged_only=True)@1000000000": TOO_FAR,  # such ranks once used up the memory
    "CWLA(C='prec(1000000000)',A='max',max_rel=2)": "give a lower rank",
    "CWLA(C='rr',A='err',gain='binary',end=10000000000)": TOO_FAR,
    f"nDCG@1{'0' * 30}": TOO_FAR,
    "CWLA(C='carterette2(1e308)',A='etg',max_rel=2)": "give a lower rank",
    f"CWLA(C='rr',A='err',max_rel=2,end=1{'0' * 30})": TOO_FAR,
    "UMeasure(T=0.5,max_rel=1e9,effort='unit')": "give a max_rel of at most 1000",
    ir_measures.R: "R needs cutoff=",
    f"CWLA(C='ift_rate(0.2,1{'0' * 300})',A='etg',max_rel=2)": 1,  # once a TypeError of NumPy
    ir_measures.nDCG(gains={1.5: 9, 2: 1}): 1,  # 9 was once the gain of grade 1
    "Residual(measure=\"CWLA(C='rbp(0.5)',A='erg',max_rel=1e15)\")": 0.25,
}


@pytest.mark.every_case
@pytest.mark.parametrize("measure", EXTREME)
def test_numbers_beyond_all_lists_and_grades(measure):
    def scored():
        return evaluate({"q": {"a": 1, "b": 2}}, {"q": {"a": 1.0, "b": 2.0}}, [measure]).iloc[0, 0]

    if isinstance(EXTREME[measure], str):
        refused(scored, EXTREME[measure])
    else:
        assert scored() == pytest.approx(EXTREME[measure])


# ---- logs and calibrations


LOG = {"user": ["a"], "session": ["1"], "topic": ["q"], "rank": [1], "docno": ["d"], "clicked": [True]}
HEAD = ",".join(LOG).encode()
WORDS = {"docno": ["a"], "doc_length": [3.0]}
#: Functions that read a file, its name, its content (or the columns and the metadata of Parquet), and words of the error.
DAMAGED = [
    (InteractionLog.read, "log.csv", HEAD + b",wor\xcds\na,1,q,1,d,1,3\n", "log.csv"),  # a name that is not UTF-8
    (InteractionLog.read, "log.csv", HEAD + b'\n"a"n,1,q,1,d,1\n', "log.csv"),  # more after a quotation
    (InteractionLog.read, "log.csv", HEAD + b',note\na,1,q,1,d,1,"x\n', "log.csv"),  # a quotation that does not end
    *[
        (InteractionLog.read, "log.parquet", (LOG, about), "the metadata of the log")
        for about in (b"{", b"[]", b'{"excluded": 3}', b'{"excluded": {"x": "y"}}', b'{"notes": "n"}', b"[" * 9999)
    ],
    *[(lambda path: Lengths.load(path).about, "words.parquet", (WORDS, a), "origin of the table") for a in (b"{", b"[1]")],
    *[
        (lambda path: chiir24_log(path.parent), "serp_annotation.csv", content, "serp_annotation.csv")
        for content in (b"", b"id,us\xffer\n", b'id,user\n1,"x\n', b"id\n1,2,3\n4,5\n6,7,8,9\n")
    ],
    (lambda path: chiir24_log(path.parent), "serp_annotation.csv.gz", gzip.compress(b"id,user\n" * 50, mtime=0)[:-9], "csv.gz"),
]  # fmt: skip


@pytest.mark.every_case
@pytest.mark.parametrize(("read", "name", "content", "says"), DAMAGED)
def test_damaged_logs_and_tables(tmp_path, read, name, content, says):
    if isinstance(content, bytes):
        (tmp_path / name).write_bytes(content)
    else:
        columns, about = content
        pq.write_table(pa.table(columns).replace_schema_metadata({b"pyterrier_cwla": about}), tmp_path / name)
    refused(lambda: read(tmp_path / name), MalformedFile, says)


@pytest.fixture
def calibration(tmp_path):
    """Return the content of a calibration and a function that writes such a content to a file."""

    def write(content):
        path = tmp_path / "calibration.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return json.loads(source("calibration", 0).examples[0]), write


def test_a_calibration_that_says_something_twice(calibration):
    """JSON parsers take the last of two equal keys, although readers may see the first."""
    content, write = calibration
    path = write(json.dumps(content).replace('"version": 1,', '"version": 1, "version": 1,'))
    refused(lambda: Calibration.load(path), MalformedFile, "'version' occurs twice")
    refused(lambda: TBG(calibration=str(path)), MalformedFile, "'version' occurs twice")


@pytest.mark.every_case
@pytest.mark.parametrize("place, value, says", [
    (("table", 1, "grade"), 10**25 - 1, "an integer that a 64-bit float cannot represent"),  # once a TypeError
    (("table", 0, "grade"), 2**53 + 1, "an integer that a 64-bit float cannot represent"),  # was 9007199254740992.0
    (("table", 1, "high"), 10**400, "must be a number"),
    (("table", 1, "way"), "\ud800", "contains a lone surrogate"),  # once a UnicodeEncodeError
    (("notes", 0), "a\udfff", "contains a lone surrogate"),
    (("about", "rel"), -1, "must be a grade above 0, not -1"),  # the error once lacked the name of the file
    (("about", "rel"), -0.0, "must be a grade above 0, not -0.0"),
    (("about", "rel"), None, "must be a grade above 0, not nan"),
    (("missing", "\ud800"), "x", "\\ud800"),
    (("excluded", "from the log", "\ud800"), 3, "\\ud800"),
    (("about", "\ud800"), "x", "\\ud800"),
])  # fmt: skip
def test_calibrations_that_fuzzing_found(calibration, place, value, says):
    content, write = calibration
    *parents, last = place
    reduce(getitem, parents, content)[last] = value
    path = write(content)
    assert refused(lambda: Calibration.load(path), MalformedFile, says).startswith(f"{path}: {place[0]}")


def test_a_calibration_whose_threshold_no_measure_takes(calibration):
    """``calibrate(rel=0.5)`` is valid, but TBG's rel is an integer; the error contains the origin of 0.5."""
    content, write = calibration
    content["about"]["rel"] = 0.5
    path = str(write(content))
    assert Calibration.load(path).parameters()["rel"] == 0.5
    refused(lambda: TBG(calibration=path), BadParameter, f"TBG(calibration={path!r}, rel=0.5): rel must be")
