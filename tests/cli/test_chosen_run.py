"""Option --run: one run of a file with several."""

from pathlib import Path

import pandas as pd
import pytest

QRELS = "q1 0 d1 3\nq1 0 d2 0\nq1 0 d3 1\nq2 0 d1 0\nq2 0 d4 2\n"
ROWS = {
    "good": [("q1", "d1", 9.5), ("q1", "d2", 8.5), ("q1", "d9", 7.5), ("q2", "d4", 3.5), ("q2", "d1", 2.5)],
    "bad": [("q1", "d2", 9.5), ("q1", "d3", 8.5)],
}


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Folder with judgments, a text file per run, and a Parquet file of both."""
    monkeypatch.chdir(tmp_path)
    Path("qrels.txt").write_text(QRELS)
    for name, rows in ROWS.items():
        lines = (f"{query} Q0 {document} 1 {score} {name}\n" for query, document, score in rows)
        Path(f"{name}.txt").write_text("".join(lines))
    parquet("both.parquet", ROWS)
    return tmp_path


def parquet(path, runs):
    rows = [(name, *row) for name, of_run in runs.items() for row in of_run]
    frame = pd.DataFrame(rows, columns=["run", "query_id", "doc_id", "score"])
    frame.to_parquet(path, row_group_size=2)  # runs begin within a row group


@pytest.mark.slow
@pytest.mark.parametrize("command", [("explain", "-q", "q1"), ("simulate", "--users", 5)])
def test_one_run_of_a_file_is_as_in_its_own_file(files, prints, command):
    for name in ROWS:
        expected = prints(command[0], "qrels.txt", f"{name}.txt", "-m", "AP", *command[1:])
        assert name in expected
        assert prints(command[0], "qrels.txt", "both.parquet", "--run", name, "-m", "AP", *command[1:]) == expected
        assert prints(command[0], "qrels.txt", f"{name}.txt", "--run", name, "-m", "AP", *command[1:]) == expected


@pytest.mark.slow
@pytest.mark.parametrize("command", [("explain", "-q", "q1"), ("simulate",)])
def test_a_file_of_several_runs_needs_a_name(files, says, command):
    def message(path, *more):
        return says(command[0], "qrels.txt", path, "-m", "AP", *command[1:], *more)

    assert message("both.parquet") == "both.parquet contains 2 runs: choose one of 'good', 'bad' with --run NAME."
    assert message("both.parquet", "--run", "god") == "--run god: both.parquet has no such run. Near: 'good'."
    assert message("good.txt", "--run", "best") == "--run best: good.txt has no such run. Available: good."


def test_a_file_with_one_named_run_needs_no_name(files, prints, says):
    parquet("one.parquet", {"good": ROWS["good"]})
    (title, *lines) = prints("explain", "qrels.txt", "one.parquet", "-m", "AP", "-q", "q1").splitlines()
    assert title.startswith("AP of topic q1 in one: ")
    assert lines == prints("explain", "qrels.txt", "good.txt", "-m", "AP", "-q", "q1").splitlines()[1:]
    parquet("twice.parquet", {"a": ROWS["good"], "b": [*ROWS["bad"], ROWS["bad"][0]]})
    message = says("explain", "qrels.txt", "twice.parquet", "--run", "b", "-m", "AP", "-q", "q1")
    assert "'d2'" in message
    message = says("simulate", "qrels.txt", "good.txt", "bad.txt", "--run", "good", "-m", "AP")
    assert message == "--run good chooses a run of one file, and 2 are given."
