"""Readers of runs, judgments and lengths: resulting tables, and errors for malformed files."""

import bz2
import gzip
import io
import lzma
import math
import re
import zipfile
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

from pyterrier_cwla import evaluate, stream
from pyterrier_cwla.errors import BadJudgments, BadRun, MalformedFile
from pyterrier_cwla.files import run_files
from pyterrier_cwla.files.formats import find_runs, read_lengths, read_qrels, read_run
from tests.support.messages import refused

RUN = b"301 Q0 FT911-3 1 7.5 bm25\n301 Q0 FT911-4 2 6 bm25\n302 Q0 FT911-3 1 -inf bm25\n"
QRELS = b"301 0 FT911-3 1\n301 0 FT911-4 -2\n302 0 FT911-3 0\n"
LENGTHS = b"FT911-3\t250\nFT911-4\t12.5\n"


def packed(data: bytes, codec: str) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, codec) as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


@pytest.fixture
def file(tmp_path):
    """Return a function that writes bytes to a new file and returns the path."""

    def write(data: bytes, name: str = "file.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


@pytest.fixture
def parquet(tmp_path):
    def write(columns: dict, name: str = "file.parquet") -> Path:
        pq.write_table(pa.table(columns), tmp_path / name, row_group_size=1)
        return tmp_path / name

    return write


def complaint(read, path) -> str:
    """Return the error message without the path that it must start with."""
    message = refused(lambda: read(path), MalformedFile)
    assert message.startswith(str(path))
    return message.removeprefix(str(path))


def test_runs_and_judgments_have_their_ids_values_and_order(file):
    table = read_run(file(RUN))
    assert table.schema == pa.schema({"query_id": pa.string(), "doc_id": pa.string(), "score": pa.float64()})
    assert table.to_pydict() == {"query_id": ["301", "301", "302"], "doc_id": ["FT911-3", "FT911-4", "FT911-3"],
                                 "score": [7.5, 6.0, -math.inf]}  # fmt: skip
    table = read_qrels(file(QRELS))
    assert table.schema == pa.schema({"query_id": pa.string(), "doc_id": pa.string(), "relevance": pa.int64()})
    assert table["relevance"].to_pylist() == [1, -2, 0]
    assert read_run(file(b"1 Q0 a 1 3 t\n2 Q0 a 1 3 t\n1 Q0 b 2 1 t\n")).num_rows == 3
    assert read_run(file(b"BZh9 Q0 a 1 3 t\nPK Q0 a 1 3 t\n"))["query_id"].to_pylist() == ["BZh9", "PK"]


@pytest.mark.parametrize("read, data", [(read_run, RUN), (read_qrels, QRELS), (read_lengths, LENGTHS)],
                         ids=["run", "qrels", "lengths"])  # fmt: skip
@pytest.mark.parametrize("write", [
    lambda data: data.rstrip(), lambda data: data.replace(b"\n", b"\r\n"), lambda data: b"\xef\xbb\xbf" + data,
    lambda data: b"\n  \n" + data.replace(b"\n", b"\n\n \t\n"),
    lambda data: b" \r\n" + data.replace(b"\n", b"\r\n \r\n"), lambda data: packed(data, "gzip"),
    lambda data: packed(data, "zstd"), lambda data: packed(data[:30], "gzip") + packed(data[30:], "gzip"),
], ids=["no last newline", "CRLF", "BOM", "blank lines", "blank CRLF lines", "gzip", "zstd", "two gzip members"])  # fmt: skip
def test_the_same_file_written_otherwise_reads_the_same(file, read, data, write):
    assert read(file(write(data))).equals(read(file(data, "plain")))


def test_lengths_come_as_tsv_or_csv_with_or_without_header(file):
    expected = pa.table({"doc_id": ["FT911-3", "FT911-4"], "doc_length": [250.0, 12.5]})
    for text in (
        "FT911-3\t250\nFT911-4\t12.5\n", "docno\tdoc_length\nFT911-3\t250\nFT911-4\t12.5\n",
        "\n \n words , id \n250,FT911-3\n12.5,FT911-4\n", '"doc_id","length"\r\n"FT911-3","250"\r\n"FT911-4",12.5\r\n',
        "FT911-3 250\nFT911-4   12.5\n", "id length\nFT911-3 250\nFT911-4 12.5\n",
    ):  # fmt: skip
        assert read_lengths(file(text.encode())).equals(expected)
    for spelling in ("Infinity", "inf", "+inf", "-Infinity", "1e-5", "1.0E3", "-.5", "+2", "1e999"):
        assert read_run(file(f"1 Q0 d 1 {spelling} t\n".encode()))["score"].to_pylist() == [float(spelling)]


def test_parquet_is_known_by_its_content_and_has_either_names(parquet):
    for query, document, grade in (("query_id", "doc_id", "relevance"), ("qid", "docno", "label")):
        path = parquet({"more": [1, 2], grade: pa.array([1, -1], pa.int8()), document: ["a", "b"], query: ["1", "1"]})
        assert read_qrels(path).to_pydict() == {"query_id": ["1", "1"], "doc_id": ["a", "b"], "relevance": [1, -1]}
        encoded = pa.array(["1", "1"]).dictionary_encode()
        path = parquet({"score": pa.array([1, 2]), document: ["a", "b"], query: encoded})
        assert read_run(path).to_pydict() == {"query_id": ["1", "1"], "doc_id": ["a", "b"], "score": [1.0, 2.0]}
    for docno, words in (("docno", "doc_length"), ("doc_id", "length"), ("id", "words")):
        table = read_lengths(parquet({words: [3, 0], docno: pa.array(["a", "b"], pa.large_string())}, "lengths"))
        assert table.equals(pa.table({"doc_id": ["a", "b"], "doc_length": [3.0, 0.0]}))
    columns = {"qid": ["1", "1"], "docno": ["a", "b"], "score": [2.0, 1.0], "doc_length": [250, None]}
    assert read_run(parquet(columns))["doc_length"].to_pylist() == [250.0, None]


def test_runs_are_found_in_order_of_name(tmp_path):
    for name in ("b.gz", "a.txt", ".hidden"):
        (tmp_path / name).touch()
    (tmp_path / "folder").mkdir()
    assert [path.name for path in find_runs(tmp_path)] == ["a.txt", "b.gz"]
    assert "no files" in complaint(find_runs, tmp_path / "folder")
    assert "No such file" in complaint(find_runs, tmp_path / "nowhere")


WRONG_LINES = [
    (read_run, RUN, b"301 Q0 FT911-3 7",
     ":4: expected 6 fields (topic Q0 docno rank score tag), found 4: '301 Q0 FT911-3 7'"),
    (read_run, RUN, b"301 Q0  FT911-9 1 7.5", ":4: expected 6 fields (topic Q0 docno rank score tag), found 5: "),
    (read_run, RUN, b"301 Q0 FT911-9 3 high bm25", ":4: score 'high' is no number: '301 Q0 FT911-9 3 high bm25'"),
    (read_run, RUN, b"301 Q0 FT911-9 3 1_0 bm25", ":4: score '1_0' is no number"),
    (read_run, RUN, b"301 Q0 FT911-9 3 NaN bm25", ":4: score is NaN for query '301', document 'FT911-9'"),
    (read_run, RUN, b"301 Q0 FT911-3 3 5 bm25",
     ":4: document 'FT911-3' stands twice in the ranking of query '301'"),
    (read_run, RUN, b"301 Q0 \xff\xfe 3 5 bm25", r":4: not UTF-8: '301 Q0 \\xff\\xfe 3 5 bm25'"),
    (read_run, b"1 Q0 a 1 3.5 my run\n", b"1 Q0 b 2 2.5", ":2: expected 6 fields (topic Q0 docno rank score tag), found 5: "),
    (read_run, b"1 Q0 a 1 3 t\n2 Q0 a 1 3 t\n1 Q0 b 2 1 t\n2 Q0 b 2 1 t\n1 Q0 c 2 1 t\n", b"2 Q0 a 2 1 t",
     ":6: document 'a' stands twice in the ranking of query '2'"),
    (read_qrels, QRELS, b"301 0 FT911-9", ":4: expected 4 fields (topic iteration docno relevance), found 3: "),
    (read_qrels, QRELS, b"301 0 FT911-9 1,5", ":4: relevance '1,5' is no number: '301 0 FT911-9 1,5'"),
    (read_qrels, QRELS, b"301 0 FT911-9 inf", ":4: relevance is inf for query '301', document 'FT911-9'"),
    (read_qrels, QRELS, b"301 0 FT911-9 -1e999", ":4: relevance is -inf for query '301', document 'FT911-9'"),
    (read_qrels, QRELS, b"301 0 FT911-9 nan", ":4: relevance is NaN for query '301', document 'FT911-9'"),
    (read_qrels, QRELS, b"302 0 FT911-3 0", ":4: document 'FT911-3' is judged twice for query '302'"),
    (read_lengths, LENGTHS, b"FT911-9", ":3: expected 2 fields (docno words), found 1: 'FT911-9'"),
    (read_lengths, LENGTHS, b"FT911-9\t", r":3: words '' is no number: 'FT911-9\t'"),
    (read_lengths, LENGTHS, b"FT911-9\tlong", r":3: words 'long' is no number: 'FT911-9\tlong'"),
    (read_lengths, LENGTHS, b"FT911-9\t-1", ":3: doc_length is -1.0 for document 'FT911-9'"),
    (read_lengths, LENGTHS, b"FT911-9\tinf", ":3: doc_length is inf for document 'FT911-9'"),
    (read_lengths, LENGTHS, b"FT911-9\tnan", ":3: doc_length is NaN for document 'FT911-9'"),
    (read_lengths, LENGTHS, b"FT911-3\t250", ":3: document 'FT911-3' has a second length"),
    (read_lengths, b"id,words\na,1\n", b"\xff,1", r":3: not UTF-8: '\\xff,1'"),
    (read_lengths, b"id,words\na,1\n", b"b,1,2", ":3: expected 2 fields (id words), found 3: 'b,1,2'"),
]  # fmt: skip


@pytest.mark.slow
def test_a_wrong_line_is_named(file):
    for read, good, bad, message in WRONG_LINES:
        assert complaint(read, file(good + bad + b"\n")).startswith(message)
    for bad, message in ((b"1 2", "expected 6"), (b"301 Q0 FT911-3 3 5 x", "document")):  # blank lines count
        blanks = b"\xef\xbb\xbf\r\n \r\n" + RUN + b"\r\n\t\n" + bad
        assert complaint(read_run, file(blanks)).startswith(f":8: {message}")
        assert complaint(read_run, file(packed(b"\n" + RUN + bad, "gzip"), "x.gz")).startswith(f":5: {message}")
    lines = [f"{q} Q0 d{i} {i} {-i}.25 tag\n" for q in range(300) for i in range(100)]
    lines[25_000] = "250 Q0 d0 0 1.5\n"
    assert complaint(read_run, file("".join(lines).encode())).startswith(":25001: expected 6 fields")
    lines[25_000] = "250 Q0 d7 0 1.5 tag\n"
    assert complaint(read_run, file("".join(lines).encode())).startswith(":25008: document 'd7' stands twice")


@pytest.mark.parametrize("read", [read_run, read_qrels, read_lengths])
def test_empty_and_missing_files_are_named(file, tmp_path, read):
    for data in (b"", b"\n \n", b"\xef\xbb\xbf", packed(b"", "gzip")):
        assert ": empty; expected lines of" in complaint(read, file(data))
    assert complaint(read, tmp_path / "none.txt") == ": No such file or directory"
    assert complaint(read, tmp_path).startswith(": is a folder. Give a file")


def zipped(data: bytes) -> bytes:
    with zipfile.ZipFile(sink := io.BytesIO(), "w") as archive:
        archive.writestr("run.txt", data)
    return sink.getvalue()


def test_other_packings_than_the_name_says_are_errors(file, parquet):
    """The content determines the format, even if the suffix names another."""
    for (name, pack), data in product({"bz2": bz2.compress, "xz": lzma.compress, "zip": zipped}.items(), (RUN, b"")):
        for suffix in (name, "gz", "txt"):
            found = complaint(read_run, file(pack(data), f"run.{suffix}"))
            assert found == f": is packed with {name}, which is not read: unpack it, or pack it with gzip or zstd."
    complaint(read_run, file(RUN, "run.parquet"))
    for end, kind in ((".gz", "gzip"), (".zst", "zstd")):
        says = f"is not packed with {kind}, as its name says. Remove {end}"
        assert says in complaint(read_run, file(RUN, "run" + end))
        for cut in (1, 10, -5, -1):
            assert "runcated" in complaint(read_run, file(packed(RUN, kind)[:cut], "run" + end))
    assert read_run(file(gzip.compress(RUN), "run.zst")).num_rows == 3
    assert "UTF-16" in complaint(read_run, file(RUN.decode().encode("utf-16")))
    path = parquet({"docno": ["a"], "words": [1]})
    path.write_bytes(path.read_bytes()[:-9])
    complaint(read_lengths, path)
    assert ": empty; expected lines of 2 fields" in complaint(read_lengths, file(b"docno,words\n"))


LATIN = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())
WRONG_COLUMNS = [
    ({"qid": ["1"], "docno": LATIN, "score": [1.0]}, "Invalid UTF8 sequence"),
    ({"run": ["x"], "qid": ["1"], "docno": LATIN, "score": [1.0]}, "Invalid UTF8 sequence"),
    ({"qid": [1, 2], "docno": ["a", "b"], "score": [1, 2]}, "column 'qid' holds int64, and ids must be strings"),
    ({"qid": ["1", "1"], "docno": [7, 8], "score": [1, 2]}, "column 'docno' holds int64, and ids must be strings"),
    ({"qid": ["1"], "score": [1.0]}, "no column doc_id or docno. There is: qid, score."),
    ({"qid": ["1"], "docno": ["a"], "score": ["high"]}, "high"),
    ({"qid": ["1", "1"], "docno": ["a", "b"], "score": [1.0, math.nan]}, "row 2: score is NaN for query '1', document 'b'"),
    ({"qid": ["1", "1"], "docno": ["a", "b"], "score": [1.0, None]}, "row 2: score is null for query '1'"),
    ({"qid": ["1", "1"], "docno": ["a", None], "score": [1.0, 2.0]}, "row 2: doc_id is null for query '1'"),
    ({"qid": ["1", "1"], "docno": ["a", "a"], "score": [1.0, 2.0]}, "row 2: document 'a' stands twice"),
    ({"qid": pa.array([], pa.string()), "docno": pa.array([], pa.string()), "score": pa.array([], pa.int8())},
     "empty"),
]  # fmt: skip


def test_a_wrong_parquet_run_is_named(parquet, monkeypatch):
    """Also where the rows are read in pieces; scores of a repeated document may name no row."""
    for columns, message in WRONG_COLUMNS:
        path = parquet(columns)
        assert message in complaint(read_run, path)
        message = message.removeprefix("row 2: document ").replace(" stands twice", "")
        for rows in (1, 1 << 20):
            monkeypatch.setattr(run_files, "ROWS", rows)
            for call in (evaluate, lambda *given: list(stream(*given))):
                refused(partial(call, {"1": {"a": 1}}, path, ["AP"]), (MalformedFile, BadRun), message)


GRADES = [(["0.37", "0.0", "-1"], [0.37, 0.0, -1.0], pa.float64()), (["1.0", "0.0", "2e0"], [1, 0, 2], pa.int64()),
          (["9007199254740993", "0", "1"], [9007199254740993, 0, 1], pa.int64()),
          (["1", ".5", "1e-9"], [1, 0.5, 1e-9], pa.float64())]  # fmt: skip


@pytest.mark.parametrize(("written", "expected", "kind"), GRADES)
def test_grades_are_floats_if_one_is_and_else_integers(written, expected, kind, file, parquet):
    lines = "".join(f"1 0 d{number} {grade}\n" for number, grade in enumerate(written))
    columns = {"qid": ["1"] * 3, "docno": ["d0", "d1", "d2"]}
    numbers = [float(grade) if kind == pa.float64() else int(float(grade)) for grade in written]
    as_text = {**columns, "label": written}
    for path in (file(lines.encode()), file(gzip.compress(lines.replace("\n", "\r\n").encode())), parquet(as_text)):
        relevance = read_qrels(path)["relevance"]
        assert relevance.type == kind
        assert relevance.to_pylist() == expected
    if written[0] != "9007199254740993":
        assert read_qrels(parquet({**columns, "label": numbers}))["relevance"].to_pylist() == expected
    for value in (np.inf, np.nan, -np.inf):
        assert "row 2: relevance is" in complaint(read_qrels, parquet({**columns, "label": [1.0, value, 0.5]}))


TAGGED = b"1 Q0 a 1 3.5 my run of today\n1 Q0 b 2 2.5 my\trun  of today \r\n2 Q0 a 1 1 t\n"


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("block", [None, 64])
def test_the_tag_of_a_run_is_the_rest_of_the_line(pack, block, file, monkeypatch):
    expected = {"query_id": ["1", "1", "2"], "doc_id": ["a", "b", "a"], "score": [3.5, 2.5, 1.0]}
    path = file(pack(TAGGED))
    assert read_run(path).to_pydict() == expected
    if block is not None:
        monkeypatch.setattr(run_files, "BLOCK", block)
    tables = [table for part in run_files.sources(str(path))[0].parts for table in part.tables()]
    assert pa.concat_tables(tables).drop_columns("run").to_pydict() == expected
    qrels = {"1": {"b": 1}, "2": {"a": 1}}
    one_word = re.sub(rb"my\s+run\s+of today", b"t", TAGGED)
    expected_scores = evaluate(qrels, file(one_word, "one_word"), ["AP", "RR"])
    assert evaluate(qrels, path, ["AP", "RR"]).to_numpy().tolist() == expected_scores.to_numpy().tolist()


def test_files_with_commas_name_how_to_read_them(file):
    for read, line, value in ((read_run, b"qid,docno,score", "score"), (read_qrels, b"301,0,FT911-3,1", "relevance")):
        says = complaint(read, file(line + b"\n", "file.csv"))
        assert "not commas: read the file with pandas.read_csv" in says
        assert f"name its columns query_id, doc_id and {value}, and save it with to_parquet()." in says


def test_swapped_files_and_frames_are_noticed(file, parquet, cli, monkeypatch):
    qrels, run = file(QRELS, "qrels.txt"), file(RUN, "run.txt")
    assert complaint(read_qrels, run).endswith("Is this a run? Judgments are given first, then runs.")
    swapped = "Are these judgments? Commands that take judgments take them first, then runs."
    assert complaint(read_run, qrels).endswith(swapped)
    assert "Is this a run?" in complaint(read_qrels, file(TAGGED))
    for block in (1 << 20, 64):
        monkeypatch.setattr(run_files, "BLOCK", block)
        refused(lambda: evaluate({"1": {"a": 1}}, str(qrels), ["AP"]), MalformedFile, "Are these judgments?")
    assert "Is this a run?" not in complaint(read_qrels, file(QRELS + b"301 0 FT911-9 1 2 3"))
    assert "judgments?" not in complaint(read_run, file(RUN + b"301 Q0 FT911-9 7"))
    columns = {"qid": ["1"], "docno": ["a"]}
    assert "Is this a run?" in complaint(read_qrels, parquet({**columns, "score": [1.0]}))
    for name in ("label", "relevance"):
        assert "Are these judgments?" in complaint(read_run, parquet({**columns, name: [1]}))
    code, out, err = cli("evaluate", run, qrels, "-m", "AP")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "Is this a run?" in err
    qrels = pd.DataFrame({"qid": ["1"], "docno": ["a"], "label": [1]})
    run = pd.DataFrame({"qid": ["1"], "docno": ["a"], "score": [0.5]})
    for as_table in (lambda frame: frame, pa.Table.from_pandas):
        with pytest.raises(BadJudgments, match=r"no column 'label'.*Is this a run\?"):
            evaluate(as_table(run), as_table(qrels), ["AP"])
        with pytest.raises(BadRun, match=r"no column 'score'.*Are these judgments\?"):
            evaluate(as_table(qrels), as_table(qrels), ["AP"])


ids = st.text(st.characters(codec="utf-8", exclude_characters=" \t\n\v\f\r"), min_size=1, max_size=8)
ids = ids.filter(lambda text: not text.startswith("\ufeff"))
pairs = st.tuples(ids, ids)
blanks = st.sampled_from([" ", "  ", "\t", " \t"])
ends = st.sampled_from(["\n", "\r\n", "\n\n", " \n"])


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("scratch") / "file"


@given(st.dictionaries(pairs, st.floats(allow_nan=False), min_size=1), st.integers(-(2**63), 2**63 - 1), blanks, ends,
       st.sampled_from([bytes, gzip.compress]))  # fmt: skip
def test_runs_and_judgments_survive_being_written(scratch, run, most, blank, end, pack):
    grades = {pair: most - number * (most > 0) for number, pair in enumerate(run)}
    for read, values, rows in (
        (read_run, run, [(q, "Q0", d, 1, s, "tag") for (q, d), s in run.items()]),
        (read_qrels, grades, [(q, 0, d, g) for (q, d), g in grades.items()]),
    ):
        scratch.write_bytes(pack("".join(blank.join(map(str, row)) + end for row in rows).encode()))
        *ids, found = read(scratch).to_pydict().values()
        assert list(zip(*ids)) == list(values)
        assert found == list(values.values())


@given(st.dictionaries(ids.filter(lambda text: not set(',"') & set(text)), st.floats(0, 1e9), min_size=1),
       st.sampled_from([",", "\t", " "]), st.booleans())  # fmt: skip
def test_lengths_survive_being_written(scratch, lengths, delimiter, header):
    rows = [("docno", "words")] * header + list(lengths.items())
    scratch.write_text("".join(f"{docno}{delimiter}{words}\n" for docno, words in rows), "utf-8")
    assert dict(zip(*read_lengths(scratch).to_pydict().values())) == lengths


cells = st.sampled_from(["301", "Q0", "0", "-1", "1.5", "nan", "inf", "-", '"', ",", "é", "\0", "\ufeff", "docno"])
gaps = st.sampled_from([" ", " ", " ", "  ", "\t", "\n", "\r\n", "\r", "\n\n", "\v", ",", "\x1c", "\x85", "\xa0"])
loose_text = st.lists(st.tuples(cells, gaps)).map(lambda parts: "".join(map("".join, parts)).encode())
packed_bytes = st.binary().map(b"\x1f\x8b\x08".__add__) | st.binary().map(b"PAR1".__add__)
contents = loose_text | st.text().map(str.encode) | st.binary() | packed_bytes


@given(contents, st.sampled_from([read_run, read_qrels, read_lengths]))
def test_any_content_is_a_table_or_a_malformed_file(scratch, data, read):
    scratch.write_bytes(data)
    try:
        table = read(scratch)
    except MalformedFile as error:
        assert str(error).startswith(str(scratch))
    else:
        assert table.num_rows
        table.validate(full=True)


fields = st.tuples(st.just("1"), cells, st.uuids().map(str), cells, st.sampled_from(["1", "-2.5", "inf"]), cells)


@given(st.lists(
    st.tuples(fields, st.lists(blanks, min_size=7, max_size=7), ends), min_size=1, unique_by=lambda line: line[0][2],
), st.lists(st.integers(0, 60), max_size=2))  # fmt: skip
def test_lines_are_split_as_python_splits_them(scratch, lines, cuts):
    """Intact lines are read as written. With a byte removed, fields never move to other columns."""
    data = "".join(b[6] + "".join(map("".join, zip(f, b[:5]))) + f[5] + end for f, b, end in lines).encode()
    for cut in cuts:
        data = data[:cut] + data[cut + 1 :]
    rows = [line.split() for line in data.splitlines() if line.strip()]
    scratch.write_bytes(data)
    try:
        table = read_run(scratch)
    except MalformedFile:
        assert cuts
    else:
        assert table["doc_id"].to_pylist() == [row[2].decode() for row in rows]
        assert table["score"].to_pylist() == [float(row[4]) for row in rows]
        assert all(len(row) >= 6 for row in rows)


def test_short_ids_of_many_rows_have_room(tmp_path, monkeypatch):
    """A rough bound of the bytes of all texts is above the limit; the longest text of a column decides."""
    run = pd.DataFrame({"query_id": "q", "doc_id": [f"d{n}" for n in range(3000)], "score": range(3000)})
    run.to_parquet(tmp_path / "run.parquet")
    monkeypatch.setenv("PYTERRIER_CWLA_READ_LIMIT", "2M")
    (found,) = stream({"q": {"d2999": 1}}, tmp_path / "run.parquet", ["RR"])
    assert found["RR"].tolist() == [1]
