"""Option --run: one run of a file with several."""

import pandas as pd
import pytest

from tests.cli.conftest import BAD, GOOD


def parquet(path, **runs):
    rows = [(name, *line.split()) for name, text in runs.items() for line in text.splitlines()]
    frame = pd.DataFrame(rows, columns=["run", "query_id", "Q0", "doc_id", "rank", "score", "tag"])
    frame = frame.astype({"score": float})[["run", "query_id", "doc_id", "score"]]
    frame.to_parquet(path, row_group_size=2)  # runs begin within a row group


@pytest.mark.slow
@pytest.mark.parametrize("command", [("explain", "-q", "q1"), ("simulate", "--users", 5)])
def test_one_run_of_a_file_is_as_in_its_own_file(files, prints, says, command):
    def arguments(path, *more):
        return command[0], "qrels.txt", path, "-m", "AP", *command[1:], *more

    parquet("both.parquet", good=GOOD, bad=BAD)
    for name, path in {"good": "runs/good.txt", "bad": "runs/bad.run"}.items():
        expected = prints(*arguments(path))
        assert name in expected
        assert prints(*arguments("both.parquet", "--run", name)) == expected
        assert prints(*arguments(path, "--run", name)) == expected
    several = "both.parquet contains 2 runs: choose one of 'good', 'bad' with --run NAME."
    assert says(*arguments("both.parquet")) == several
    unknown = "--run god: both.parquet has no such run. Near: 'good'."
    assert says(*arguments("both.parquet", "--run", "god")) == unknown
    alone = "--run best: runs/good.txt has no such run. Available: good."
    assert says(*arguments("runs/good.txt", "--run", "best")) == alone


def test_a_file_with_one_named_run_needs_no_name(files, prints, says):
    explain = ("explain", "qrels.txt", "-m", "AP", "-q", "q1")
    parquet("one.parquet", good=GOOD)
    (title, *lines) = prints(*explain, "one.parquet").splitlines()
    assert title.startswith("AP of topic q1 in one: ")
    assert lines == prints(*explain, "runs/good.txt").splitlines()[1:]
    parquet("twice.parquet", a=GOOD, b=BAD + BAD.splitlines()[0])
    assert "'d2'" in says(*explain, "twice.parquet", "--run", "b")
    message = says("simulate", "qrels.txt", "runs", "--run", "good", "-m", "AP")
    assert message == "--run good chooses a run of one file, and 2 are given."
