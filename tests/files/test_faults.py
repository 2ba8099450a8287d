"""Faults of files and processes: truncated or changed files, full disks, killed processes."""

import contextlib
import gzip
import os
import random
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import pyterrier_cwla
from pyterrier_cwla import CWLAError, evaluate, lengths_of_texts
from pyterrier_cwla.errors import MalformedFile, NotWritten
from pyterrier_cwla.evaluation import streaming
from pyterrier_cwla.files import run_files
from pyterrier_cwla.files.atomic import written
from pyterrier_cwla.tasks.result_cache import Pieces, ResultCache
from tests.support.killed import collection, stopped

MEASURES = ["AP", "nDCG@10"]
RNG = random.Random(0)
ROWS = [(f"q{q}", f"d{RNG.randrange(10**6)}", RNG.random()) for q in range(12) for _ in range(20)]
TEXT = "".join(f"{q} Q0 {d} {at} {s} run\n" for at, (q, d, s) in enumerate(ROWS))
FRAME = pd.DataFrame(ROWS, columns=["query_id", "doc_id", "score"])
QRELS = FRAME[["query_id", "doc_id"]].assign(relevance=[RNG.randrange(4) for _ in ROWS])
EXPECTED = evaluate(QRELS, FRAME, MEASURES, by_query=True)


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def packed(kind):
    if kind == "gz":
        return gzip.compress(TEXT.encode())
    sink = pa.BufferOutputStream()
    if kind == "parquet":
        pa.parquet.write_table(pa.Table.from_pandas(FRAME, preserve_index=False), sink, write_page_checksum=True)
    else:
        with pa.CompressedOutputStream(sink, "zstd") as stream:
            stream.write(TEXT.encode())
    return sink.getvalue().to_pybytes()


def outcome(path, content):
    """Return the error, or None if the scores equal those of the intact file; other scores fail."""
    Path(path).write_bytes(content)
    try:
        found = evaluate(QRELS, path, MEASURES, by_query=True)
    except MalformedFile as error:
        assert str(error).startswith(path)
        return error
    pd.testing.assert_frame_equal(found, EXPECTED, check_exact=True)
    return None


# ---- truncated and changed files


@pytest.mark.parametrize("kind", ["gz", "zst", "parquet"])
def test_a_packed_file_that_was_cut_is_an_error(kind):
    whole = packed(kind)
    assert outcome(f"run.{kind}", whole) is None
    for length in [*range(len(whole) - 12, len(whole)), *range(0, len(whole), len(whole) // 40)]:
        assert outcome(f"run.{kind}", whole[:length]) is not None


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gz", "parquet"])
def test_a_changed_byte_is_an_error_or_changes_nothing(kind):
    """gzip has a checksum at its end; Parquet has one per page if the writer enabled it."""
    whole, rng = packed(kind), random.Random(1)
    noticed = 0
    for _ in range(150):
        at = rng.randrange(len(whole))
        changed = whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1 :]
        noticed += outcome(f"run.{kind}", changed) is not None
    assert noticed > 100


def test_rows_of_row_groups_that_do_not_add_up(monkeypatch):
    """The footer of Parquet has no checksum, so a changed byte may give a wrong number of rows."""
    Path("run.parquet").write_bytes(packed("parquet"))
    real = pa.parquet.ParquetFile

    class Lying(real):
        @property
        def metadata(self):
            return type("Metadata", (), {"num_rows": 241, "num_row_groups": 1, "row_group": super().metadata.row_group})

    monkeypatch.setattr(pa.parquet, "ParquetFile", Lying)
    with pytest.raises(MalformedFile, match=r"run.parquet: broken: 241 rows, and 240 in its row groups"):
        evaluate(QRELS, "run.parquet", MEASURES)


@pytest.mark.slow
def test_a_last_line_that_was_cut_anywhere():
    """A line cut before its tag is an error; a line cut within its tag has the scores of the whole line."""
    last = TEXT.rindex("\n", 0, -1) + 1
    tag = TEXT.rindex(" ") + 2
    for length in range(last + 1, len(TEXT) + 1):
        error = outcome("run.txt", TEXT[:length].encode())
        assert (error is None) == (length >= tag)
        assert error is None or f"run.txt:{len(ROWS)}: expected 6 fields" in str(error)


def test_judgments_whose_last_line_was_cut():
    """A line cut before its grade is an error; a grade of one digit is complete."""
    text = "q1 0 d1 1\nq1 0 d2 -1\n"
    run = {"q1": {"d1": 1.0, "d2": 2.0}}
    for length in range(11, len(text) - 2):
        Path("qrels.txt").write_text(text[:length])
        with pytest.raises(MalformedFile, match=r"qrels.txt:2: "):
            evaluate("qrels.txt", run, MEASURES)
    for length in (len(text) - 1, len(text)):
        Path("qrels.txt").write_text(text[:length])
        assert evaluate("qrels.txt", run, ["AP"]).loc["run", "AP"] == 0.5


@pytest.mark.slow
@pytest.mark.parametrize("rows", [0, 100, 239])
def test_a_file_that_shrinks_while_it_is_read(monkeypatch, rows):
    def write(count):
        pa.parquet.write_table(pa.Table.from_pandas(FRAME[:count], preserve_index=False), "run.parquet", row_group_size=10)  # fmt: skip

    real = streaming._tables

    def shrinking(*given):
        write(rows)
        return real(*given)

    write(len(FRAME))
    monkeypatch.setattr(run_files, "ROWS", 10)
    monkeypatch.setattr(streaming, "_tables", shrinking)
    for cache_dir in (None, "kept"):
        write(len(FRAME))
        with pytest.raises(CWLAError, match=r"run.parquet"):
            evaluate(QRELS, "run.parquet", MEASURES, cache_dir=cache_dir)
    assert not list(Path("kept").rglob("*.npz"))


# ---- full disks


@contextlib.contextmanager
def room(size):
    """Limit the size of files, which has the effect of a full disk and needs no root rights."""
    resource = pytest.importorskip("resource", reason="limits of file sizes need POSIX")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


WRITERS = {
    "scores.csv": ("evaluate", "qrels.txt", "run.txt", "-m", "AP", "--by-query", "-o"),
    "scores.jsonl": ("evaluate", "qrels.txt", "run.txt", "-m", "AP", "--by-query", "-o"),
    "scores.parquet": ("evaluate", "qrels.txt", "run.txt", "-m", "AP", "--by-query", "-o"),
    "scores.txt": ("evaluate", "qrels.txt", "run.txt", "-m", "AP", "--by-query", "-o"),
    "scores.tex": ("evaluate", "qrels.txt", "run.txt", "-m", "AP", "--by-query", "-o"),
    "means.parquet": ("evaluate", "qrels.txt", "run.txt", "-m", "AP", "-o"),
    "compared.csv": ("compare", "qrels.txt", "run.txt", "more.txt", "-m", "AP", "-o"),
    "compared.parquet": ("compare", "qrels.txt", "run.txt", "more.txt", "-m", "AP", "-o"),
    "lived.csv": ("simulate", "qrels.txt", "run.txt", "-m", "RR", "--users", "20", "-o"),
}


@pytest.fixture
def files():
    Path("run.txt").write_text(TEXT)
    Path("more.txt").write_text(TEXT.replace(" 0.", " 1."))
    rows = QRELS.itertuples(index=False)
    Path("qrels.txt").write_text("".join(f"{q} 0 {d} {grade}\n" for q, d, grade in rows))


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITERS)
def test_a_command_without_room_leaves_what_was_there(files, says, name):
    Path(name).write_text("old")
    with room(100):
        line = says(*WRITERS[name], name, "--force")
    assert line == f"{name}: cannot be written (File too large): make room there, or give another place."
    assert Path(name).read_text() == "old"
    assert not list(Path().glob(".part-*"))


@pytest.mark.slow
def test_tables_logs_and_studies_without_room():
    table = lengths_of_texts({f"d{i}": "word " * i for i in range(50)})
    power = pyterrier_cwla.studies.discriminative_power(QRELS, {"a": FRAME, "b": FRAME[::2], "c": FRAME[1::2]}, ["RR"], resamples=100, progress=False)  # fmt: skip
    with room(100), pytest.raises(NotWritten, match=r"lengths.parquet: cannot be written"):
        table.save("lengths.parquet")
    power.report("study")
    with room(20_000), pytest.raises(NotWritten, match=r"study/.*: cannot be written"):
        power.report("study", force=True)
    assert not Path("study/report.html").exists()
    assert not list(Path().rglob(".part-*"))


def test_no_room_to_keep_what_is_done():
    names, squares = ["1", "2", "3"], lambda name: {"x": np.full(1000, float(name))}
    layout = {"x": ("f", (1000,))}
    kept = partial(Pieces, {"input": 1}, "kept", progress=False)
    with (
        room(5000),
        pytest.raises(NotWritten, match=r"cache_dir='kept': cannot be written .* make room there, or give"),
    ):
        kept().each(names, squares, "squaring", layout=layout)
    assert not [path for path in Path("kept").rglob("*") if path.name.startswith(".part-") or path.suffix == ".npz"]
    assert [piece["x"][0] for piece in kept().each(names, squares, "squaring", layout=layout)] == [1, 2, 3]
    frame = FRAME.assign(query_id=[f"q{at}" for at in range(len(FRAME))])
    qrels = frame[["query_id", "doc_id"]].assign(relevance=1)
    with room(500), pytest.raises(NotWritten, match=r"cache_dir='kept': cannot be written"):
        evaluate(qrels, frame, MEASURES, cache_dir="kept")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can make a small disk")
def test_a_disk_that_is_really_full():
    Path("disk").mkdir()
    mounted = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "disk"]
    if shutil.which("mount") is None or subprocess.run(mounted, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        says = r"scores.csv: cannot be written \(No space left on device\): make room"
        with pytest.raises(NotWritten, match=says), written("disk/scores.csv") as place:
            place.write_bytes(bytes(100_000))
        kept = ResultCache("disk", {})
        with pytest.raises(NotWritten, match=r"cache_dir='disk': cannot be written \(No space left on device\)"):
            kept.put("piece", {"x": np.zeros(10_000)})
        assert [path.name for path in Path("disk").rglob("*") if path.is_file()] == ["identity.json"]
        kept.put("piece", {"x": np.zeros(10)})
        assert kept.get("piece", {"x": ("f", (10,))})["x"].tolist() == [0] * 10
    finally:
        subprocess.run(["umount", "disk"], check=True)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_standard_output_without_room(files):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "pyterrier_cwla", "evaluate", "qrels.txt", "run.txt"]
        found = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (found.returncode, found.stderr) == (2, "standard output: cannot be written (No space left on device).\n")


def test_what_is_no_file_and_links_are_written_as_they_are(tmp_path):
    with written(os.devnull) as place:
        assert place == Path(os.devnull)
    Path("real.txt").write_text("old")
    Path("link.txt").symlink_to("real.txt")
    Path("real.txt").chmod(0o600)
    with written("link.txt") as place:
        place.write_text("new")
    assert Path("link.txt").is_symlink()
    assert Path("real.txt").read_text() == "new"
    assert Path("real.txt").stat().st_mode & 0o777 == 0o600
    for wrong in ("none/file.txt", "real.txt/file.txt", "."):
        with pytest.raises(NotWritten, match="cannot be written"), written(wrong) as place:
            place.write_text("")
    with pytest.raises(FileNotFoundError), written("other.txt"):
        Path("input.txt").read_text()
    assert sorted(os.listdir()) == ["link.txt", "real.txt"]


@pytest.mark.skipif(not Path("/dev/fd/1").exists(), reason="no /dev/fd")
@pytest.mark.parametrize("mode", ["w", "a"])
@pytest.mark.parametrize("name", ["/dev/fd/{}", "/proc/self/fd/{}"])
def test_an_open_file_of_a_shell_is_appended_to(tmp_path, mode, name):
    Path("all.csv").write_text("before\n")
    with open("all.csv", mode) as all_of_it:
        all_of_it.write("first\n")
        all_of_it.flush()
        path = name.format(all_of_it.fileno())
        if not Path(path).exists():
            pytest.skip(f"no {path} on this system")
        with written(path) as place:
            place.write_text("run,AP\n")
        with contextlib.suppress(ZeroDivisionError), written(path) as place:
            place.write_text("half")
            1 / 0  # noqa: B018
        all_of_it.write("last\n")
    assert Path("all.csv").read_text() == ("before\n" if mode == "a" else "") + "first\nrun,AP\nlast\n"
    assert os.listdir() == ["all.csv"]


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="no /dev/stdout")
def test_standard_output_that_is_a_file(tmp_path):
    kept = os.dup(1)
    with open("all.csv", "wb") as all_of_it:
        os.dup2(all_of_it.fileno(), 1)
        try:
            os.write(1, b"first ")
            with written("/dev/stdout") as place:
                place.write_text("AP")
            os.write(1, b" last")
        finally:
            os.dup2(kept, 1)
            os.close(kept)
    assert Path("all.csv").read_text() == "first AP last"


# ---- killed and interrupted processes


@pytest.mark.slow
@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_command_leaves_no_output_and_goes_on(tmp_path, how, code):
    collection(tmp_path, runs=300)  # most of them are left to score, also where the signal comes late
    process = stopped(tmp_path, 4, how, ["--by-query", "-o", "scores.csv"])
    assert (process.returncode, process.out) == (code, b"")
    assert b"Traceback" not in process.err
    assert (b"Finished work is stored in kept" in process.err) == (how == signal.SIGINT)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "qrels.txt", "runs"]
    found = evaluate("qrels.txt", "runs", ["AP"], cache_dir="kept")
    pd.testing.assert_frame_equal(found, evaluate("qrels.txt", "runs", ["AP"]), check_exact=True)


def once(killed, name):
    """Kill the process that works on the second piece, the first time only.

    The path is absolute, because processes that earlier tests started have another working directory.
    """
    if name == "2" and not killed.exists():
        killed.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"x": np.array(float(name))}


@pytest.mark.slow
def test_a_worker_of_a_study_that_is_killed(tmp_path):
    names, work = ["1", "2", "3", "4"], partial(once, tmp_path / "killed")
    pieces = Pieces({"input": 1}, tmp_path / "kept", progress=False, n_jobs=2)
    with pytest.raises(CWLAError, match=r"one of 2 processes was killed.*cache_dir="):
        pieces.each(names, work, "working", layout={"x": ("f", ())})
    assert [float(piece["x"]) for piece in pieces.each(names, work, "working", layout={"x": ("f", ())})] == [1, 2, 3, 4]
