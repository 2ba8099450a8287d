"""Ways out of first mistakes: options of trec_eval, formats of other tools, options without effect, and streams."""

import io
import os
import sys
from pathlib import Path

import pytest

QRELS = "q1 0 d1 3\nq1 0 d2 0\nq2 0 d4 2\nq2 0 d1 0\n"
RUN = "q1 Q0 d1 1 9.5 x\nq1 Q0 d2 2 8.5 x\nq2 Q0 d4 1 3.5 x\n"
LENGTHS = "d1\t100\nd2\t200\nd4\t400\n"


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """Folder with judgments, two equal runs, and lengths."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    for name, text in {"qrels.txt": QRELS, "a.txt": RUN, "b.txt": RUN, "words.tsv": LENGTHS}.items():
        Path(name).write_text(text)


@pytest.mark.parametrize(("options", "hint"), [
    (["-q"], "`pyterrier-cwla evaluate … --by-query`"), (["-n"], "--by-query --format csv`"),
    (["-c"], "means are always over all judged topics"), (["-l", "2"], "-m 'AP(rel=2)'"),
    (["-J"], "-m 'AP(judged_only=True)'"), (["-M", "100"], "-m AP@100"),
])  # fmt: skip
@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_options_of_trec_eval_come_with_what_to_write(says, command, options, hint):
    message = says(command, *options, "qrels.txt", "a.txt")
    assert message.startswith(f"No such option: {options[0]}. ")
    assert hint in message


def test_what_the_hints_say_works(prints):
    for measure in ("AP(rel=2)", "AP(judged_only=True)", "AP@100"):
        assert measure.split("(")[0] in prints("evaluate", "qrels.txt", "a.txt", "-m", measure)
    for words in ("time biased", "Time-biased"):
        assert "TBG" in prints("measures", words)


@pytest.mark.slow
def test_other_files_in_a_folder_of_runs_are_named(says, prints):
    Path("runs").mkdir()
    Path("runs/a.txt").write_text(RUN)
    expected = prints("evaluate", "qrels.txt", "runs/", "-m", "AP")
    Path("runs/README.md").write_text("# Runs of 2026\n")
    message = says("evaluate", "qrels.txt", "runs/", "-m", "AP")
    assert message.startswith("runs/README.md:1: expected 6 fields")
    assert "All files of the folder runs are read as runs, except those whose names begin with '.' or '_'." in message
    assert prints("evaluate", "qrels.txt", "runs/*.txt", "-m", "AP") == expected
    Path("runs/README.md").rename("runs/_README.md")
    assert prints("evaluate", "qrels.txt", "runs/", "-m", "AP") == expected
    assert "folder" not in says("evaluate", "qrels.txt", "runs/_README.md", "-m", "AP")


def test_lengths_may_have_a_header_or_be_standard_input(prints, monkeypatch):
    arguments = ("evaluate", "qrels.txt", "a.txt", "-m", "TBG", "--lengths")
    expected = prints(*arguments, "words.tsv")
    Path("words.tsv").write_text("docno\twords\n" + LENGTHS)
    assert prints(*arguments, "words.tsv") == expected
    Path("words.tsv").write_text(LENGTHS)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LENGTHS.encode())))
    assert prints(*arguments, "-") == expected.replace("words.tsv", "stdin")


@pytest.mark.slow
@pytest.mark.parametrize("option", [("--test", "t"), ("--correction", "holm")])
def test_options_of_tests_without_a_baseline_are_an_error(says, prints, option):
    arguments = ("compare", "qrels.txt", "a.txt", "b.txt", "-m", "AP", "--resamples", 100)
    message = says(*arguments, "--no-baseline", *option)
    assert message == f"{option[0]} has no effect with --no-baseline: leave out one of them."
    assert prints(*arguments, *option) == prints(*arguments)


@pytest.mark.slow
def test_notes_say_what_has_no_effect(prints):
    note = "None of these measures uses document lengths or known costs: --missing has no effect."
    assert note in prints("evaluate", "qrels.txt", "a.txt", "-m", "AP", "--missing", "mean")
    timed = ("-m", "TBG", "--lengths", "words.tsv")
    assert note not in prints("evaluate", "qrels.txt", "a.txt", *timed, "--missing", "mean")
    note = "Nothing is compared: there is only one run."
    assert note in prints("compare", "qrels.txt", "a.txt", "-m", "AP", "--resamples", 100)
    assert note not in prints("compare", "qrels.txt", "a.txt", "b.txt", "-m", "AP", "--resamples", 100)
    Path("none.txt").write_text("q1 0 d1 0\nq1 0 d2 -1\nq2 0 d4 0\n")
    note = "none.txt: all grades are 0 or negative, so no document is relevant."
    assert note in prints("evaluate", "none.txt", "a.txt", "-m", "AP")
    assert note in prints("compare", "none.txt", "a.txt", "b.txt", "-m", "AP", "--resamples", 100)
    assert "all grades" not in prints("evaluate", "qrels.txt", "a.txt", "-m", "AP")


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="the system has no /dev/fd")
def test_streams_of_the_shell_are_read_like_files(prints):
    """A run in a pipe, as in ``<(zcat run.gz)``."""
    expected = prints("evaluate", "qrels.txt", "a.txt", "-m", "AP", "--format", "csv").splitlines()[1]
    there, back = os.pipe()
    os.write(back, RUN.encode())
    os.close(back)
    try:
        found = prints("evaluate", "qrels.txt", f"/dev/fd/{there}", "-m", "AP", "--format", "csv").splitlines()[1]
    finally:
        os.close(there)
    assert found == expected.replace("a,", f"fd{there},")


def test_missing_tables_have_the_message_of_missing_runs(says):
    assert says("calibrate", "word.tsv") == "word.tsv: no such file or directory. Near: 'words.tsv'."
    message = says("study", "users", "qrels.txt", "a.txt", "word.tsv", "-m", "AP", "-o", "out")
    assert message == "word.tsv: no such file or directory. Near: 'words.tsv'."
    if hasattr(os, "mkfifo"):
        os.mkfifo("pipe")
        assert says("evaluate", "qrels.txt", "pipe", "-m", "AP").endswith("on the command line, - is standard input.")
