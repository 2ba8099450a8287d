"""Faults of files and processes: truncated or changed files, full disks, killed processes, and power cuts."""

import contextlib
import errno
import gzip
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from pyterrier_cwla import CWLAError, evaluate, lengths_of_texts
from pyterrier_cwla.errors import MalformedFile, NotWritten
from pyterrier_cwla.evaluation import streaming
from pyterrier_cwla.files import run_files
from pyterrier_cwla.files.atomic import written
from pyterrier_cwla.studies import discriminative_power
from pyterrier_cwla.tasks.result_cache import Pieces, ResultCache
from tests.support.killed import collection, stopped, trial
from tests.support.messages import refused

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


def same(found, expected):
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


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
    same(found, EXPECTED)
    return None


# ---- truncated and changed files


@pytest.mark.parametrize("kind", ["gz", "zst", "parquet"])
def test_a_packed_file_that_was_cut_is_an_error(kind, monkeypatch):
    """Read whole, and in pieces of 10 rows or 300 bytes."""
    whole = packed(kind)
    for rows, block in ((run_files.ROWS, run_files.BLOCK), (10, 300)):
        monkeypatch.setattr(run_files, "ROWS", rows)
        monkeypatch.setattr(run_files, "BLOCK", block)
        assert outcome(f"run.{kind}", whole) is None
        for length in [*range(len(whole) - 12, len(whole)), *range(0, len(whole), len(whole) // 40)]:
            assert outcome(f"run.{kind}", whole[:length]) is not None


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gz", "parquet"])
def test_a_changed_byte_is_an_error_or_changes_nothing(kind):
    """gzip has a checksum at its end; Parquet has one per page if the writer enabled it."""
    whole, rng, noticed = packed(kind), random.Random(1), 0
    for at in rng.choices(range(len(whole)), k=150):
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
    """A line cut before its tag is an error; a line cut within its tag has the scores of the whole line.

    Of judgments, a line cut before its grade is an error; a grade of one digit is complete.
    """
    last = TEXT.rindex("\n", 0, -1) + 1
    tag = TEXT.rindex(" ") + 2
    for length in range(last + 1, len(TEXT) + 1):
        error = outcome("run.txt", TEXT[:length].encode())
        assert (error is None) == (length >= tag)
        assert error is None or f"run.txt:{len(ROWS)}: expected 6 fields" in str(error)
    text, run = "q1 0 d1 1\nq1 0 d2 -1\n", {"q1": {"d1": 1.0, "d2": 2.0}}
    for length in range(11, len(text) + 1):
        Path("qrels.txt").write_text(text[:length])
        if length < len(text) - 2:
            refused(lambda: evaluate("qrels.txt", run, MEASURES), MalformedFile, "qrels.txt:2: ")
        elif length > len(text) - 2:
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


BY_QUERY = ("evaluate", "qrels.txt", "run.txt", "-m", "AP", "--by-query")
COMPARED = ("compare", "qrels.txt", "run.txt", "more.txt", "-m", "AP")
WRITERS = {f"scores.{suffix}": BY_QUERY for suffix in ("csv", "jsonl", "parquet", "txt", "tex")} | {
    "means.parquet": BY_QUERY[:-1],
    "compared.csv": COMPARED,
    "compared.parquet": COMPARED,
    "lived.csv": ("simulate", "qrels.txt", "run.txt", "-m", "RR", "--users", "20"),
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
        line = says(*WRITERS[name], "-o", name, "--force")
    assert line == f"{name}: cannot be written (File too large): make room there, or give another place."
    assert Path(name).read_text() == "old"
    assert not list(Path().glob(".part-*"))


@pytest.mark.slow
def test_tables_studies_and_caches_without_room():
    table = lengths_of_texts({f"d{i}": "word " * i for i in range(50)})
    runs = {"a": FRAME, "b": FRAME[::2], "c": FRAME[1::2]}
    power = discriminative_power(QRELS, runs, ["RR"], resamples=100, progress=False)
    with room(100), pytest.raises(NotWritten, match=r"lengths.parquet: cannot be written"):
        table.save("lengths.parquet")
    power.report("study")
    with room(20_000), pytest.raises(NotWritten, match=r"study/.*: cannot be written"):
        power.report("study", force=True)
    assert not Path("study/report.html").exists()
    assert not list(Path().rglob(".part-*"))
    names, squares = ["1", "2", "3"], lambda name: {"x": np.full(1000, float(name))}
    layout = {"x": ("f", (1000,))}
    kept = partial(Pieces, {"input": 1}, "kept", progress=False)
    says = r"cache_dir='kept': cannot be written .* make room there, or give"
    with room(5000), pytest.raises(NotWritten, match=says):
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


# ---- faults at random moments, twenty seeded trials each


TRIALS = pytest.mark.parametrize("seed", range(20))
CHANGES = {"open", "os.mkdir", "os.remove", "os.rename"}


class Watched:
    """A hook of the interpreter that calls a function before each change of a file under a folder."""

    def __init__(self):
        self.folder, self.before = "", None
        sys.addaudithook(self._hook)

    def _hook(self, event, given):
        if self.before is None or event not in CHANGES or not str(given[0]).startswith(self.folder):
            return
        if event == "open" and not given[2] & (os.O_WRONLY | os.O_RDWR):
            return
        before, self.before = self.before, None  # what the function itself does is not watched
        try:
            before(event, given[0])
        finally:
            self.before = before

    @contextlib.contextmanager
    def calling(self, before, folder):
        self.folder, self.before = str(folder), before
        try:
            yield
        finally:
            self.before = None


WATCHED = Watched()


SHUFFLED = {name: FRAME.assign(doc_id=np.roll(FRAME["doc_id"], n)) for n, name in enumerate("abc")}


def scores(**how):
    return evaluate(QRELS, SHUFFLED, MEASURES, by_query=True, **how)


@pytest.fixture(scope="module")
def operations(tmp_path_factory):
    """Return the number of changes that an evaluation makes in its cache."""
    folder, seen = tmp_path_factory.mktemp("counted"), []
    with WATCHED.calling(lambda *change: seen.append(change), folder):
        scores(cache_dir=folder / "kept")
    assert len({event for event, _ in seen}) == len(CHANGES)
    return len(seen)


@TRIALS
@pytest.mark.parametrize("fault", ["vanishes", "denied", "full"])
def test_a_fault_of_the_cache_is_named_or_changes_nothing(fault, seed, tmp_path, operations):
    """The folder vanishes once; the disk denies or is full from then on. The cache is used again afterwards."""
    at, seen = random.Random(seed).randrange(operations), []

    def strike(event, path):
        seen.append(event)
        if fault == "vanishes" and len(seen) == at + 1:
            shutil.rmtree(tmp_path / "kept", ignore_errors=True)
        elif fault != "vanishes" and len(seen) > at and event != "os.remove":
            number = errno.EACCES if fault == "denied" else errno.ENOSPC
            raise OSError(number, os.strerror(number), str(path))

    expected = scores()
    with WATCHED.calling(strike, tmp_path):
        try:
            same(scores(cache_dir=tmp_path / "kept"), expected)
        except CWLAError as error:
            assert str(error).startswith(f"cache_dir={str(tmp_path / 'kept')!r}")
            assert "cannot be written" in str(error)
    assert len(seen) > at
    same(scores(cache_dir=tmp_path / "kept"), expected)
    assert not list(tmp_path.rglob(".part-*"))


@TRIALS
def test_a_power_cut_between_two_changes_of_the_cache(seed, tmp_path):
    """The state before each change is kept: as it is, and with the newest files empty, cut or of zeros."""
    rng, states = random.Random(seed), []

    def snapshot(event, path):
        states.append(tmp_path / f"state{len(states)}")
        if (tmp_path / "kept").exists():
            shutil.copytree(tmp_path / "kept", states[-1])

    expected = scores()
    with WATCHED.calling(snapshot, tmp_path / "kept"):
        scores(cache_dir=tmp_path / "kept")
    for state in states:
        same(scores(cache_dir=state), expected)
        written = sorted((path for path in state.rglob("*") if path.is_file()), key=lambda path: path.stat().st_mtime)
        for path in written[-3:]:  # renamed before their content reached the disk
            content = path.read_bytes()
            path.write_bytes(rng.choice([b"", content[: rng.randrange(len(content) + 1)], bytes(len(content))]))
        same(scores(cache_dir=state), expected)
        same(scores(cache_dir=state), expected)


@pytest.mark.slow
@TRIALS
def test_killed_evaluations_go_on(seed, tmp_path):
    collection(tmp_path)
    found, expected = trial(tmp_path, random.Random(seed), kills=3)
    same(found, expected)


def started(folder, *arguments):
    command = [sys.executable, "-m", "pyterrier_cwla", *arguments]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.slow
@TRIALS
def test_two_processes_on_one_cache(seed, tmp_path):
    """The second starts up to half a second after the first; both print what a process without a cache prints."""
    collection(tmp_path)
    evaluation = ["evaluate", "qrels.txt", "runs", "-m", "AP", "-m", "nDCG@10", "--by-query"]
    first = started(tmp_path, *evaluation, "--cache-dir", "kept")
    time.sleep(random.Random(seed).random() / 2)
    second = started(tmp_path, *evaluation, "--cache-dir", "kept")
    expected = started(tmp_path, *evaluation).communicate()
    assert expected[0].count(b"\n") > 600
    assert first.communicate() == second.communicate() == expected
    assert not list((tmp_path / "kept").rglob(".part-*"))


@pytest.mark.slow
@TRIALS
def test_a_study_that_is_killed_goes_on(seed, tmp_path):
    """It is killed while it computes or writes its report; afterwards, the same command writes the whole report."""
    collection(tmp_path, runs=4)
    study = ["study", "power", "qrels.txt", "runs", "-m", "AP", "-m", "RR", "--resamples", "500", "-o"]
    started(tmp_path, *study, "whole").communicate()
    process = started(tmp_path, *study, "cut")
    files, wanted = random.Random(seed).randrange(2, 40), tmp_path / "cut"
    while process.poll() is None and sum(path.is_file() for path in wanted.rglob("*")) < files:
        time.sleep(0.002)
    process.kill()
    process.communicate()
    _, err = started(tmp_path, *study, "cut", "--force").communicate()
    assert b"Traceback" not in err
    assert contents(tmp_path / "cut") == contents(tmp_path / "whole")


def contents(folder):
    """Return the files of a report by name, without the cache and what a killed process left."""
    found = {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name: data for name, data in found.items() if not any(part.startswith(".") for part in name.parts)}
