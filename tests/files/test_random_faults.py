"""Faults at random moments, twenty seeded trials each: processes, folders, disks, and power cuts."""

import errno
import os
import random
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

from pyterrier_cwla import evaluate
from pyterrier_cwla.errors import CWLAError
from tests.support.killed import collection, trial

TRIALS = pytest.mark.parametrize("seed", range(20))
MEASURES = ["AP", "nDCG@10"]
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

    @contextmanager
    def calling(self, before, folder):
        self.folder, self.before = str(folder), before
        try:
            yield
        finally:
            self.before = None


WATCHED = Watched()


def input_of(seed):
    """Return judgments and three runs of eight queries."""
    rng = np.random.default_rng(seed)
    pairs = [(f"q{q}", f"d{d}") for q in range(8) for d in range(12)]
    qrels = pd.DataFrame(pairs, columns=["query_id", "doc_id"]).assign(relevance=rng.integers(0, 4, len(pairs)))
    runs = {name: qrels[["query_id", "doc_id"]].assign(score=rng.random(len(pairs))) for name in ("a", "b", "c")}
    return qrels, runs


def scores(seed, **how):
    return evaluate(*input_of(seed), MEASURES, by_query=True, **how)


def same(found, expected):
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


@pytest.fixture(scope="module")
def operations(tmp_path_factory):
    """Return the number of changes that an evaluation makes in its cache."""
    folder, seen = tmp_path_factory.mktemp("counted"), []
    with WATCHED.calling(lambda *change: seen.append(change), folder):
        scores(0, cache_dir=folder / "kept")
    assert len({event for event, _ in seen}) == len(CHANGES)
    return len(seen)


@TRIALS
@pytest.mark.parametrize("fault", ["vanishes", "denied", "full"])
def test_a_fault_of_the_cache_is_an_error_that_names_it_or_changes_nothing(fault, seed, tmp_path, operations):
    """The folder vanishes once; the disk denies or is full from then on. The cache is used again afterwards."""
    at, seen = random.Random(seed).randrange(operations), []

    def strike(event, path):
        seen.append(event)
        if fault == "vanishes" and len(seen) == at + 1:
            shutil.rmtree(tmp_path / "kept", ignore_errors=True)
        elif fault != "vanishes" and len(seen) > at and event != "os.remove":
            number = errno.EACCES if fault == "denied" else errno.ENOSPC
            raise OSError(number, os.strerror(number), str(path))

    expected = scores(seed)
    with WATCHED.calling(strike, tmp_path):
        try:
            same(scores(seed, cache_dir=tmp_path / "kept"), expected)
        except CWLAError as error:
            assert str(error).startswith(f"cache_dir={str(tmp_path / 'kept')!r}")
            assert "cannot be written" in str(error)
    assert len(seen) > at
    same(scores(seed, cache_dir=tmp_path / "kept"), expected)
    assert not list(tmp_path.rglob(".part-*"))


@TRIALS
def test_a_power_cut_between_two_changes_of_the_cache(seed, tmp_path):
    """The state before each change is kept: as it is, and with the newest files empty, cut or of zeros."""
    rng, states = random.Random(seed), []

    def snapshot(event, path):
        states.append(tmp_path / f"state{len(states)}")
        if (tmp_path / "kept").exists():
            shutil.copytree(tmp_path / "kept", states[-1])

    expected = scores(seed)
    with WATCHED.calling(snapshot, tmp_path / "kept"):
        scores(seed, cache_dir=tmp_path / "kept")
    for state in states:
        same(scores(seed, cache_dir=state), expected)
    for state in states:
        written = sorted((path for path in state.rglob("*") if path.is_file()), key=lambda path: path.stat().st_mtime)
        for path in written[-3:]:  # renamed before their content reached the disk
            content = path.read_bytes()
            path.write_bytes(rng.choice([b"", content[: rng.randrange(len(content) + 1)], bytes(len(content))]))
        same(scores(seed, cache_dir=state), expected)
        same(scores(seed, cache_dir=state), expected)


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
    found = {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
    return {
        name: path.read_bytes() for name, path in found.items() if not any(part.startswith(".") for part in name.parts)
    }
