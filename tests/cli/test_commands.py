"""Command line: output equals the results of the package, and errors are one line."""

import gzip
import io
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
import typer

import pyterrier_cwla
from pyterrier_cwla import Residual
from pyterrier_cwla.cli import options
from pyterrier_cwla.cli.app import loaded_app
from pyterrier_cwla.cli.options import in_options
from pyterrier_cwla.errors import CWLAError, CWLAWarning
from pyterrier_cwla.evaluation import Explanation
from pyterrier_cwla.measures import reference
from pyterrier_cwla.model import language
from pyterrier_cwla.rendering.numbers import fixed_point
from pyterrier_cwla.rendering.tables import in_blocks
from pyterrier_cwla.rendering.terminal import broken
from pyterrier_cwla.tasks import progress
from tests.cli.conftest import BAD, GOOD, LENGTHS, QRELS

MAX = "CWLA(C='rbp(0.8)',A='max',max_rel=3)"
CELL = "CWLA(C='rbp(0.5)',A='erg',max_rel=3)"
PEAK = "CWLA(C='inst(1)',A='pe(0.5)',max_rel=3)"


def records(text):
    return [json.loads(line) for line in text.splitlines()]


def flags(measures):
    return [flag for measure in measures for flag in ("-m", measure)]


@pytest.mark.slow
def test_scores_are_those_of_the_package_under_the_given_names(files, prints):
    """Floats are restored exactly. A measure's own table takes precedence over --lengths. Names show no file."""
    Path("short.tsv").write_text("d1 0\nd2 0\nd3 0\nd4 0\nd9 0\n")
    given = ["AP(rel=2)", f"a cell={MAX}", "Judged@2", "NumRel", "TBG", "own=TBG(lengths='short.tsv')"]
    bound = {"AP(rel=2)": "AP(rel=2)", "a cell": MAX, "Judged@2": "Judged@2", "NumRel": "NumRel", "TBG": "TBG(lengths='words.tsv')",
             "own": "TBG(lengths='short.tsv')", "quick": "TBG(half_life=60,lengths='words.tsv')"}  # fmt: skip
    arguments = ("evaluate", "qrels.txt", "runs", *flags([*given, "quick=TBG(half_life=60)"]), "--lengths", "words.tsv")
    found = records(prints(*arguments, "--format", "jsonl"))
    for row, run in zip(found, ("bad.run", "good.txt"), strict=True):
        expected = pyterrier_cwla.evaluate("qrels.txt", f"runs/{run}", bound).iloc[0]
        assert list(row.items()) == [("run", run.split(".")[0]), *expected.items()]
    assert prints(*arguments, "--format", "csv").splitlines()[0] == ",".join(["run", *bound])
    (row, _) = records(prints("evaluate", "qrels.txt", "runs", "-m", given[1], "--residuals", "--format", "jsonl"))
    assert [*row] == ["run", "a cell", "Residual(measure='a cell')"]
    assert "NumRel & TBG & own & quick" in prints(*arguments, "--format", "latex")
    assert "\nTBG, quick: with the lengths of words.tsv." in prints(*arguments)
    compared = records(prints("compare", *arguments[1:], "--resamples", 100, "--format", "jsonl"))
    assert list(dict.fromkeys(row["measure"] for row in compared)) == [*bound]
    for command in (["explain", "qrels.txt", "runs/good.txt", "-q", "q1"], ["simulate", "qrels.txt", "runs/good.txt"]):
        out = prints(*command, "-m", "quick=TBG(half_life=60)", "--lengths", "words.tsv")
        assert "quick" in out
        assert "TBG(half_life" not in out
        assert "words.tsv')" not in out


@pytest.mark.slow
def test_every_format_tells_the_same_and_parquet_where_scores_come_from(files, prints):
    arguments = ("evaluate", "qrels.txt", "runs", "-m", "TBG", "-m", MAX, "--residuals", "--lengths", "words.tsv")
    expected = pd.DataFrame(records(prints(*arguments, "--format", "jsonl")))
    pd.testing.assert_frame_equal(pd.read_csv(io.StringIO(prints(*arguments, "--format", "csv"))), expected)
    assert prints(*arguments, "-o", "scores.parquet") == ""
    pd.testing.assert_frame_equal(pd.read_parquet("scores.parquet"), expected, check_dtype=False)
    table = [line.split() for line in prints(*arguments).splitlines()]
    latex = [line.removesuffix(" \\\\").split(" & ") for line in prints(*arguments, "--format", "latex").splitlines()]
    for run, *scores in expected.to_numpy().tolist():
        row = [run, *(f"{score:.4f}" for score in scores)]
        assert row in table
        assert row in latex
    origin = json.loads(pyarrow.parquet.read_schema("scores.parquet").metadata[b"pyterrier_cwla"])
    assert origin["version"] == pyterrier_cwla.__version__
    assert origin["measures"]["TBG"] == "TBG(lengths='words.tsv')"
    assert origin["lengths"]["path"] == "words.tsv"
    assert len(origin["lengths"]["sha256"]) == 64
    assert list(origin["residuals"].values()) == ["a bound"]


def test_names_of_runs_are_unique_and_escaped(files, prints):
    """Names are unique, only known suffixes are removed, and no run is scored twice."""
    Path("other").mkdir()
    Path("other/good.txt").write_text(GOOD)
    Path("runs/sab20.1.meta.docs.gz").write_bytes(gzip.compress(GOOD.encode()))
    found = records(prints("evaluate", "qrels.txt", "runs", "other/good.txt", "runs/bad.run", "--format", "jsonl"))
    assert [row["run"] for row in found] == ["bad", "runs/good.txt", "sab20.1.meta.docs", "other/good.txt"]
    Path("a_b%c.txt").write_text(GOOD)
    assert "a\\_b\\%c & 1.0000 \\\\" in prints("evaluate", "qrels.txt", "a_b%c.txt", "-m", "RR", "--format", "latex")


@pytest.mark.slow
def test_with_lengths_the_default_measures_include_time_and_users(files, prints):
    """The highest grade of the judgments is max_rel. No column and no note but that of --lengths has a path."""
    cell = "CWLA(C='inst(2)',A='max',max_rel=3)"
    arguments = ("evaluate", "qrels.txt", "runs", "--lengths", "words.tsv")
    found = records(prints(*arguments, "--format", "jsonl"))
    assert list(found[0]) == ["run", "nDCG@10", "AP", "RR", "RBP(rel=1)", "TBG", cell]
    out = " ".join(prints(*arguments).split())
    assert "with document lengths also TBG" in out
    assert out.count("words.tsv") == 1
    assert "with document lengths" not in prints(*arguments, "-m", "AP")
    compared = prints("compare", *arguments[1:], "--no-baseline", "--resamples", 100)
    assert "with document lengths also TBG" in " ".join(compared.split())


@pytest.mark.slow
def test_columns_of_lengths_in_all_runs_need_no_option(files, prints):
    columns = {"qid": ["q1", "q2"], "docno": ["d1", "d2"], "score": [2.0, 1.0]}
    for lengths, timed in (([1.0, 2.0], True), ([1, 2], True), ([1.0, None], False), (np.array([5, np.nan]), False)):
        pa.parquet.write_table(pa.table(columns | {"doc_length": lengths}), "run.parquet")
        for runs, found in ((["run.parquet"], timed), (["run.parquet", "runs"], False)):
            row = records(prints("evaluate", "qrels.txt", *runs, "--format", "jsonl"))[0]
            assert ("TBG" in row) is found, (lengths, runs)


@pytest.mark.slow
def test_missing_lengths(files, prints, says):
    Path("few.tsv").write_text("d1 100\nd2 200\n")
    arguments = ("evaluate", "qrels.txt", "runs", "-m", "TBG", "--lengths", "few.tsv")
    line = says(*arguments)
    assert line.startswith("runs/bad.run: TBG: ")
    assert "1 of 2 have none (topic 'q1': 'd3')" in line
    assert "Give --lengths FILE, a table that has them, read" in line
    assert line.endswith("(all are known down to rank 1), or give --missing mean.")
    assert "TBG: documents without a value have the mean" in prints(*arguments, "--missing", "mean")


@pytest.mark.slow
def test_residuals_stand_next_to_their_measures(files, prints, cli):
    """A note names the measures whose residual is no bound: for C(rank) with a rising A it is; not for inst+pe."""
    measures = [MAX, PEAK, "P@5", "ERR@20", "RBP(rel=1)", "INST(max_rel=4)"]
    arguments = ("evaluate", "qrels.txt", "runs/good.txt", *flags(["AP", *measures]), "--residuals")
    _, out, err = cli(*arguments, "--format", "jsonl")
    (row,) = records(out)
    names = {name: str(Residual(measure=name)) for name in measures}
    assert list(row) == ["run", "AP", *(column for pair in names.items() for column in pair)]
    for residual in names.values():
        assert row[residual] == pyterrier_cwla.evaluate("qrels.txt", "runs/good.txt", [residual]).iloc[0, 0] > 0
    assert f"\nNo bound is known for {PEAK}, INST(max_rel=4): " in err
    out = prints(*arguments)
    assert "  residual" in out
    assert "No bound is known for " in out
    _, _, err = cli("evaluate", "qrels.txt", "runs/good.txt", *flags(["AP", "nDCG@10", "Bpref", "TBG"]), "--residuals",
                    "--lengths", "words.tsv", "--format", "csv")  # fmt: skip
    for note in ("AP: its score depends on the total gain of the query", "nDCG@10: it has no highest grade. Use the "
                 "residual of CWLA(C='dcg(10)',A='etg',gain='raw',", "Bpref: Residual(measure=) takes a measure that follows", "TBG: "):  # fmt: skip
        assert f"No residual of {note}" in err


@pytest.mark.slow
def test_notes_are_about_what_is_shown(files, prints):
    Path("none.txt").write_text("q1 0 d1 0\nq1 0 d2 -1\nq2 0 d4 0\n")
    no_effect = "None of these measures uses document lengths or known costs: --missing has no effect."
    alone = "Nothing is compared: there is only one run."
    no_gain = "none.txt: all grades are 0 or negative, so no document is relevant."
    for words, note, noted in (
        ("evaluate qrels.txt runs", "Without -m: nDCG@10, AP, RR, and RBP with p=0.8", True),
        ("evaluate qrels.txt runs -m AP", "Means over the 2 judged topics. Topics that a run does not answer score 0: bad (1).", True),
        ("evaluate qrels.txt runs -m AP,NumRet,gm_map", "Means over the 2 judged topics; of NumRet the sum; of GeometricMean("
         "measure='AP') the geometric mean.", True),
        ("evaluate qrels.txt runs -m NumRet --by-query", "Scores of the 2 judged topics.", True),
        ("evaluate qrels.txt runs -m AP --lengths words.tsv", "None of these measures uses the lengths of words.tsv.", True),
        ("evaluate qrels.txt runs -m AP --missing mean", no_effect, True),
        ("evaluate qrels.txt runs -m TBG --lengths words.tsv --missing mean", no_effect, False),
        ("compare qrels.txt runs/good.txt -m AP --resamples 100", alone, True),
        ("compare qrels.txt runs -m AP --resamples 100", alone, False),
        ("evaluate none.txt runs -m AP", no_gain, True), ("compare none.txt runs -m AP --resamples 100", no_gain, True),
        ("evaluate qrels.txt runs -m AP", "all grades", False),
    ):  # fmt: skip
        assert (note in " ".join(prints(*words.split()).split())) is noted, words


@pytest.mark.parametrize("width", [60, 80, 120, 200])
@pytest.mark.parametrize("more", [(), ("--by-query",), ("--residuals",)])
def test_tables_fit_the_screen(files, prints, monkeypatch, width, more):
    """Measures that do not fit side by side are printed in further tables with all runs."""
    monkeypatch.setenv("COLUMNS", str(width))
    measures = ["nDCG@10", "AP", "RR", MAX, PEAK, "CWLA(C='dcg(10)',A='etg',gain='raw',norm='ideal')", "NumRel", "P@5"]
    lines = prints("evaluate", "qrels.txt", "runs", *flags(measures), *more).splitlines()
    assert max(map(len, lines)) <= width
    assert "…" not in "".join(lines)
    names, columns = 1 + ("--by-query" in more), 0
    for at, line in enumerate(lines):
        if set(line) == {"─"}:
            heads, numbers = ({word.end() for word in re.finditer(r"\S+", lines[i])} for i in (at - 1, at + 1))
            assert len(numbers - heads) <= names  # names are aligned left
            columns += len(numbers) - names
    assert columns == len(measures) + 4 * ("--residuals" in more)  # RR, MAX, PEAK and P@5 have one


LONG = "SPLADE_P_P_ENSEMBLE_DISTIL"


@pytest.mark.slow
@pytest.mark.parametrize("width", [60, 80, 120])
def test_names_of_runs_are_complete_where_there_is_room(files, prints, monkeypatch, width):
    """A table is divided before a name of up to half the width is broken; compare fills the whole width first."""
    monkeypatch.setenv("COLUMNS", str(width))
    Path(f"runs/{LONG}.txt").write_text(GOOD)
    Path("runs/bad.run").unlink()
    for more in ([], flags(["TBG", MAX, PEAK]), ["--by-query"]):
        out = prints("evaluate", "qrels.txt", "runs", *more, "--lengths", "words.tsv")
        assert LONG in out
        assert max(map(len, out.splitlines())) <= width
    Path(f"runs/{LONG * 4}.txt").write_text(GOOD)
    out = prints("evaluate", "qrels.txt", "runs")
    assert max(map(len, out.splitlines())) <= width
    assert "\nENSEMBLE" in out or "_ENSEMBLE" in out
    Path(f"runs/{LONG * 4}.txt").unlink()
    lines = prints("compare", "qrels.txt", "runs", "-m", "AP", "--baseline", "good", "--resamples", 100).splitlines()
    head = next(at for at, line in enumerate(lines) if line.startswith("──"))
    assert max(map(len, lines)) <= width
    if width == 120:
        assert lines[head + 1].startswith(LONG)
    elif LONG not in lines[head + 1] and len(lines[head]) != width:
        assert lines[head + 2].startswith(("DISTIL", "ENSEMBLE"))


def test_names_are_broken_after_punctuation_and_columns_divided():
    for name, width, lines in (
        (LONG, 26, [LONG]), (LONG, 25, ["SPLADE_P_P_ENSEMBLE_", "DISTIL"]), ("a.b-c d", 4, ["a.b-", "c d"]),
        ("abcdefgh", 4, ["abcdefgh"]), ("BM25, length ignored", 12, ["BM25, length ", "ignored"]), ("", 5, [""]),
    ):  # fmt: skip
        assert broken(name, width).split("\n") == lines
    assert in_blocks([], 10) == [slice(0, 0)]
    assert in_blocks([11, 3, 3, 4, 1], 10) == [slice(0, 1), slice(1, 4), slice(4, 5)]
    assert [fixed_point(v) for v in (0.12345, math.inf, -math.inf, math.nan)] == ["0.1235", "∞", "−∞", ""]


@pytest.mark.slow
def test_a_pipe_is_as_wide_as_the_table(files, prints):
    measures = ["nDCG@10", *(f"CWLA(C='rbp(0.{i})',A='max',max_rel=3)" for i in range(1, 20))]
    out = prints("evaluate", "qrels.txt", "runs", *flags(measures))
    assert sum(line.startswith("good ") for line in out.splitlines()) == 1
    assert "The list all_trec is read without Rndcg" in prints("evaluate", "qrels.txt", "runs", "-m", "all_trec")


@pytest.mark.slow
def test_there_is_a_bar_where_somebody_watches(files, cli, monkeypatch):
    monkeypatch.setattr(progress, "_DELAY", 0)
    for number in range(3):
        Path(f"runs/more{number}.txt").write_text(GOOD)
    _, expected, quiet = cli("evaluate", "qrels.txt", "runs", "-m", "AP")
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    _, out, _ = cli("evaluate", "qrels.txt", "runs", "-m", "AP")
    assert out == expected
    assert quiet == ""
    assert "0/5" in screen.getvalue()


@pytest.mark.slow
def test_the_first_run_is_the_baseline_and_a_note_says_so(files, prints, says, cli):
    Path("runs/bad.run").write_text(BAD + "q2 Q0 d1 1 1.0 bad\nq2 Q0 d4 2 0.5 bad\n")
    arguments = ("compare", "qrels.txt", "runs/good.txt", "runs/bad.run", "-m", "AP", "--resamples", 100)
    said = "The baseline is good, the first run; --baseline NAME chooses another."
    first, named = prints(*arguments), prints(*arguments, "--baseline", "good")
    assert first.replace(f"\n{said}\n", "") == named
    assert said in first
    assert said in cli(*arguments, "--format", "csv")[2]
    assert said not in prints(*arguments, "--baseline", "bad")
    assert prints(*arguments, "--baseline", "runs/bad.run") == prints(*arguments, "--baseline", "bad")
    without = prints(*arguments, "--no-baseline")
    assert "baseline" not in without
    assert "Δ" not in without
    assert "baseline" not in prints("compare", "qrels.txt", "runs/good.txt", "-m", "AP", "--resamples", 100)
    assert says(*arguments, "--baseline", "bad", "--no-baseline").startswith("give --baseline NAME or --no-baseline")


@pytest.fixture
def stdin(monkeypatch):
    """Return a function that puts bytes on standard input."""

    def put(data):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return put


@pytest.mark.slow
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_dash_is_standard_input(files, prints, stdin, pack):
    """A run is named like a file with the name stdin; results are those of the file."""
    run, qrels = (pack(text.encode()) for text in (GOOD, QRELS))
    for command, more in (("evaluate", ()), ("compare", ("--resamples", 100)), ("explain", ("-q", "q1")),
                          ("simulate", ("--users", 5))):  # fmt: skip
        expected = prints(command, "qrels.txt", "runs/good.txt", "-m", "AP", *more)
        stdin(run)
        found = prints(command, "qrels.txt", "-", "-m", "AP", *more)
        assert "stdin" in found
        assert set(re.findall(r"\d\.\d+", found)) == set(re.findall(r"\d\.\d+", expected))
        stdin(qrels)
        assert prints(command, "-", "runs/good.txt", "-m", "AP", *more) == expected


@pytest.mark.slow
def test_standard_input_is_copied_for_the_time_of_a_command(files, prints, says, stdin, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(files / "copies"))
    Path("copies").mkdir()
    stdin(GOOD.encode())
    prints("evaluate", "qrels.txt", "-", "runs/bad.run", "-m", "AP")
    assert list(Path("copies").iterdir()) == []
    stdin(QRELS.encode())
    prints("evaluate", "-", "runs/good.txt", "-m", "AP", "-o", "s.parquet")
    origin = json.loads(pyarrow.parquet.read_schema("s.parquet").metadata[b"pyterrier_cwla"])
    assert origin["qrels"] == "stdin"
    timed = ("evaluate", "qrels.txt", "runs", "-m", "TBG", "--lengths")
    stdin(LENGTHS.partition("\n")[2].encode())  # a header is optional
    assert prints(*timed, "-") == prints(*timed, "words.tsv").replace("words.tsv", "stdin")
    for given, runs, message in (
        (b"q1 Q0 d1 1 9.5\n", ["qrels.txt", "-"], "stdin:1: expected 6 fields"), (b"", ["qrels.txt", "-"], "stdin: empty"),
        (b"7 Q0 d1 1 9.5 x\n", ["qrels.txt", "-"], "stdin: no query in common with qrels.txt"),
        (b"x", ["-", "-"], "-: standard input can be given once only."),
        (b"x", ["qrels.txt", "-", "-"], "-: standard input can be given once only."),
    ):  # fmt: skip
        stdin(given)
        assert says("evaluate", *runs, "-m", "AP").startswith(message)
    stdin(GOOD.encode())
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    assert says("evaluate", "qrels.txt", "-").startswith("-: standard input is a terminal.")
    monkeypatch.setattr(sys, "stdin", None)
    assert says("evaluate", "qrels.txt", "-").startswith("-: standard input is a terminal.")


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="the system has no /dev/fd")
def test_streams_of_the_shell_are_read_like_files(files, prints):
    """A run in a pipe, as in ``<(zcat run.gz)``."""
    arguments = ("evaluate", "qrels.txt", "-m", "AP", "--format", "csv")
    expected = prints(*arguments, "runs/good.txt")
    there, back = os.pipe()
    os.write(back, GOOD.encode())
    os.close(back)
    try:
        found = prints(*arguments, f"/dev/fd/{there}")
    finally:
        os.close(there)
    assert found == expected.replace("good,", f"fd{there},")


@pytest.mark.slow
def test_patterns_and_folders_stand_for_the_files_in_them(files, prints, says):
    """A path is a path first: brackets may be part of a name."""
    expected = prints("evaluate", "qrels.txt", "runs/bad.run", "runs/good.txt", "-m", "AP")
    assert prints("evaluate", "qrels.txt", "runs/*", "-m", "AP") == expected
    assert prints("evaluate", "qrels.txt", "run?/[bg]*d.*", "-m", "AP") == expected
    assert says("evaluate", "qrels.txt", "runs/*.txtt") == "runs/*.txtt: no file matches this pattern."
    Path("runs/a[1].txt").write_text(GOOD)
    assert "a[1]" in prints("evaluate", "qrels.txt", "runs/a[1].txt", "-m", "AP")
    assert "this file is the input" in says("evaluate", "qrels.txt", "runs/*", "-o", "runs/bad.run", "--format", "csv")
    Path("runs/README.md").write_text("# Runs of 2026\n")
    message = says("evaluate", "qrels.txt", "runs/", "-m", "AP")
    assert message.startswith("runs/README.md:1: expected 6 fields")
    assert "All files of the folder runs are read as runs, except those whose names begin with '.' or '_'." in message
    Path("runs/README.md").rename("runs/_README.md")
    assert "good" in prints("evaluate", "qrels.txt", "runs/", "-m", "AP")
    assert "folder" not in says("evaluate", "qrels.txt", "runs/_README.md", "-m", "AP")


def test_a_repeated_path_is_mentioned(files, cli):
    code, out, err = cli("evaluate", "qrels.txt", "runs", "runs/bad.run", "-m", "AP")
    assert code == 0
    assert err == "Given more than once, and read once: runs/bad.run.\n"
    assert out.count("\nbad ") == 1
    with pytest.warns(CWLAWarning, match="given more than once, and read once: runs/good.txt"):
        assert len(pyterrier_cwla.evaluate("qrels.txt", ["runs", "runs/good.txt"], ["AP"])) == 2


@pytest.mark.slow
def test_folders_in_place_of_files_are_named_with_files(files, says):
    folder = "runs: is a folder. Give a file in it, such as 'bad.run', 'good.txt'."
    Path("empty").mkdir()
    for command, *more in (("evaluate",), ("explain", "-q", "q1"), ("simulate",), ("compare",)):
        assert says(command, "runs", "runs/good.txt", "-m", "AP", *more) == folder
        assert says(command, "empty", "runs/good.txt", "-m", "AP", *more) == "empty: is a folder. Give a file."
    assert says("explain", "qrels.txt", "runs", "-m", "AP", "-q", "q1") == folder


@pytest.mark.slow
def test_an_explanation_says_which_ranks_it_leaves_out(files, prints):
    out = prints("explain", "qrels.txt", "runs/good.txt", "-q", "q1", "-m", "nDCG", "--depth", "1")
    assert "… 2 more" in out
    assert "d2" not in out
    out = prints("explain", "qrels.txt", "runs/bad.run", "-q", "q1", "-m", "P@4")
    assert out.count("not retrieved") == 2
    for others in ((), ("runs/bad.run",)):
        lines = prints("explain", "qrels.txt", "runs/good.txt", *others, "-q", "q1", "-m", "nDCG@2").splitlines()
        ranks = [line.split()[0] for line in lines if re.match(r" +\d+  d", line)]
        assert ranks == ["1", "2"]
        assert not [line for line in lines if "more" in line.split()]
    Path("other.txt").write_text("q1 Q0 d1 1 3 r\nq1 Q0 d9 2 2 r\n")
    arguments = ("explain", "qrels.txt", "runs/good.txt", "other.txt", "-q", "q1", "-m", CELL)
    whole, short = prints(*arguments).splitlines(), prints(*arguments, "--depth", 1).splitlines()
    assert whole[2] == "good scores 0.5000 and other 0.5000, a difference of 0.0000."
    assert "… 2 more" in "".join(short)
    first = [[line.split() for line in lines if line.split()[:2] == ["1", "d1"]] for lines in (whole, short)]
    assert first[0] == first[1] != []


@pytest.mark.slow
def test_an_explanation_has_the_score_of_the_evaluation(files, prints):
    """The mean length is that of the whole run, including d9, which only another query retrieves."""
    frame = pd.DataFrame({"qid": ["q1", "q1", "q2"], "docno": ["d2", "d3", "d9"], "score": [2.0, 1.0, 1.0],
                          "doc_length": [None, 100.0, 9000.0]})  # fmt: skip
    frame.to_parquet("run.parquet")
    arguments = ("qrels.txt", "run.parquet", "-m", "TBG", "--missing", "mean")
    scores = records(prints("evaluate", *arguments, "--by-query", "--format", "jsonl"))
    assert f"in run: {scores[0]['TBG']:.4f}\n" in prints("explain", *arguments, "-q", "q1")
    Path("own.tsv").write_text("d1 100\nd2 200\nd9 900\n")  # of the documents that the query retrieves
    out = prints("explain", "qrels.txt", "runs/good.txt", "-q", "q1", "-m", "TBG", "--lengths", "own.tsv")
    assert out.startswith("TBG of topic q1 in good: 0.4928")
    assert "TBG: with the lengths of own.tsv." in out


@pytest.mark.slow
@pytest.mark.parametrize("width", [50, 60, 80, 120, 200])
@pytest.mark.parametrize("measure", ["nDCG@10", "AP", "RR", MAX, PEAK, "RBP(rel=1)"])
def test_explanations_fit_the_screen(files, prints, monkeypatch, width, measure):
    monkeypatch.setenv("COLUMNS", str(width))
    name = "a_run_with_a_name_of_many_words_that_is_longer_than_a_column.txt"
    Path(name).write_text("q1 Q0 clueweb09-en0000-00-00001 1 3 r\nq1 Q0 d9 2 2 r\n")
    one = prints("explain", "qrels.txt", "runs/good.txt", "-q", "q1", "-m", measure)
    two = prints("explain", "qrels.txt", "runs/good.txt", name, "-q", "q1", "-m", measure)
    assert max(map(len, f"{one}{two}".splitlines())) <= width
    assert not re.search(r"\w…", one)


@pytest.mark.slow
def test_an_explanation_is_drawn_before_its_table_is_printed(files, prints, cli, monkeypatch):
    """A reader such as `head` may close the pipe at the table."""
    Path("long.txt").write_text("".join(f"q1 Q0 n{rank} {rank} {-rank} r\n" for rank in range(1, 101)))
    arguments = ("explain", "qrels.txt", "long.txt", "-q", "q1", "-m", "nDCG", "--plot")
    prints(*arguments, "score.svg")
    for depth in (5, 60):
        prints(*arguments, f"{depth}.png", "--depth", depth)
    assert Path("60.png").read_bytes().startswith(b"\x89PNG")
    assert Path("5.png").stat().st_size != Path("60.png").stat().st_size

    def closed(*_):
        raise CWLAError

    monkeypatch.setattr(Explanation, "tables", closed)
    assert cli(*arguments, "before.svg")[0] == 2
    assert Path("before.svg").read_bytes().startswith(b"<?xml")


@pytest.mark.nightly
def test_every_entry_can_be_shown(prints):
    own = {name for parts in language.TABLES.values() for name, part in parts.items() if not part.built_in}
    for entry in (entry for entry in reference.entries() if entry.name not in own):  # registered by other tests
        assert entry.says
        assert prints("measures", entry.name)


@pytest.mark.slow
@pytest.mark.parametrize("width", [60, 80, 200, None])
def test_listings_have_a_row_for_everything_there_is(prints, monkeypatch, width):
    """Summaries are wrapped at the width of a terminal, and are in one line in a pipe."""
    if width is not None:
        monkeypatch.setenv("COLUMNS", str(width))
    everything = prints("measures")
    assert width is None or max(map(len, everything.splitlines())) <= width
    words = set(re.split(r"[\s(\[@,]+", everything))
    assert {entry.name for entry in reference.entries()} <= words
    assert {part for table in language.TABLES.values() for part in table} <= words
    for name, kind in {"C": "continuation", "c": "continuation", "continuation": "continuation", "Aggregations": "aggregation",
                       "efforts": "effort", "normaliser": "norm", "measures": "measure"}.items():  # fmt: skip
        text = (everything if kind == "measure" else prints("measures", name)).split("\n\n")[1]
        entries = [entry for entry in reference.entries() if entry.kind == kind]
        for entry, row in zip(entries, re.findall(r"^\S.*", text, re.M), strict=True):
            assert row.split()[0].startswith(entry.briefly.split()[0])
            assert width is not None or row.rstrip().endswith(entry.says)
        assert {word for entry in entries for word in entry.says.split()} <= {*text.split()}
        assert width is None or max(map(len, text.splitlines())) <= width


def test_functions_are_listed_and_recorded_with_what_they_need(prints):
    found = {entry.name: entry.briefly for entry in reference.entries()}
    names = ["bpm", "rbp", "etg", "time", "TBG", "pe"]
    assert [found[name] for name in names] == ["bpm(T, K, …)", "rbp(phi)", "etg", "time(…)", "TBG[@k]", "pe(beta)"]
    found = {(one["kind"], one["name"]): one for one in records(prints("measures", "--format", "jsonl"))}
    assert len(found) == len(reference.entries())
    half_life = found["measure", "TBG"]["parameters"][0]
    assert half_life.pop("means").startswith("h, the effort after which half of the users have left")
    assert half_life == {"name": "half_life", "allowed": "a number in (0, ∞)", "required": False, "default": 224}
    assert found["measure", "TBG"]["parts"]["C"] == "decay(half_life)"
    assert found["continuation", "rbp"]["signature"] == "rbp(phi)"


@pytest.mark.slow
def test_several_are_described_and_words_are_searched_for(prints, says):
    assert prints("measures", "TBG", "ERR") == f"{prints('measures', 'TBG')}\n{prints('measures', 'ERR')}"
    of_aggregation = prints("measures", "effort(1)")  # the aggregation ``effort`` has the name of a kind
    assert prints("measures", "effort") == f"{prints('measures', 'efforts')}{of_aggregation}"
    assert "'continuation'" in says("measures", "contination")
    kinds = [record["kind"] for record in records(prints("measures", "gains", "TBG", "--format", "jsonl"))]
    assert kinds == [*["gain"] * (len(kinds) - 1), "measure"]
    assert "Also with 'time' in the description: TBG," in prints("measures", "time")
    assert "TBG" in prints("measures", "time biased")
    assert {"ERR", "RR"} <= {*re.findall(r"^\w+", prints("measures", "reciprocal rank"), re.M)}
    found = {row["name"] for row in records(prints("measures", "reciprocal rank", "--format", "jsonl"))}
    assert {"RR", "ERR"} <= found
    assert "AP" not in found
    for word in ("RAG", "LLM", "prompt", "retrieval-augmented"):
        found = {row["name"] for row in records(prints("measures", word, "--format", "jsonl"))}
        assert found >= {"GainWithin", "PrecisionWithin", "RecallWithin", "GainPerCost", "UDCG", "budget"}
        assert "TBG" not in found
    for name, texts in {
        "rbp": ("C(i) = φ. Static. V⁺ = 1/(1−φ).", '>>> score([1, 0, 1], C="rbp(0.5)", A="erg")', "a number in [0, 1)",
                "In a measure: C='rbp(phi)'", "Source: Moffat and Zobel (2008)"),
        "TBG": ("C(i) = 2^(−e_i/h)", "half_life=224", "Source: Smucker and Clarke (2012), Eq. 3 and Table 1", "Unit: documents saved."),
    }.items():  # fmt: skip
        assert [text for text in texts if text not in prints("measures", name)] == []
    for asked, found in {"MAP": "AP", "map": "AP", "ndcg_cut_10": "nDCG", "P_5": "P", "recip_rank": "RR", "tbg": "TBG",
                         "nDCG@10": "nDCG", "rbp(0.8)": "rbp", "RBP": "RBP", "ideal": "ideal"}.items():  # fmt: skip
        assert prints("measures", asked).startswith(found)


@pytest.mark.slow
def test_the_demonstration_and_its_files(files, prints, monkeypatch, says):
    """The table has one row per system and nine columns of measures, and fits into 80 columns of text."""
    monkeypatch.setenv("COLUMNS", "80")
    lines = prints("demo", "--documents", "300", "--topics", "8", "--save", "made").splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[1].split() == [
        "system", "nDCG@10", "AP", "RR", "ERR@20", "RBP(rel=1)", "INST", "TBG", "+", "max", "+", "pe(0.5)"]  # fmt: skip
    text = " ".join(" ".join(lines).split())
    assert "8 topics, 300 generated documents (seed 0)." in text
    assert "significantly higher or lower than BM25, p < .05 in a paired t-test" in text
    assert "Result:" in text
    own = ("demo", "--runs", "made/runs", "--qrels", "made/qrels.txt")
    again = prints(*own, "--lengths", "made/doclens.tsv").splitlines()
    numbers = [re.findall(r"\d+\.\d+", line) for line in lines if line.startswith("BM25")]
    assert numbers == [re.findall(r"\d+\.\d+", line) for line in again if line.startswith("bm25")]
    assert [*map(len, numbers)] == [9, 9, 9]
    assert "leave out --runs" in says(*own, "--save", "x")
    monkeypatch.setitem(sys.modules, "bm25s", None)
    assert 'pip install "bm25s>=' in says("demo", "--documents", "20", "--topics", "2")


@pytest.mark.slow
def test_the_demonstration_of_own_runs(files, prints, says):
    Path("runs/bad.run").write_text(BAD + "q2 Q0 d1 1 1.0 bad\nq2 Q0 d4 2 0.5 bad\n")
    arguments = ("demo", "--runs", "runs", "--qrels", "qrels.txt")
    out = prints(*arguments, "--lengths", "words.tsv")
    assert "2 topics, 2 runs from runs." in out
    assert "lower than bad" in out
    assert "TBG" in out.splitlines()[1]
    out = prints(*arguments, "--baseline", "good")
    assert "lower than good" in out
    assert "TBG" not in out.splitlines()[1]
    assert "--lengths FILE" in out
    Path("few.tsv").write_text("d1 100\n")
    assert says(*arguments, "--lengths", "few.tsv").startswith("bad: ")
    assert "--baseline gud is no run. Near: 'good'." in says(*arguments, "--baseline", "gud")
    assert says("demo", "--runs", "runs") == "--runs DIR and --qrels FILE go together."
    assert "go with --runs" in says("demo", "--lengths", "words.tsv")
    Path("runs/bad.run").unlink()
    out = prints("demo", "--runs", "runs", "--qrels", "qrels.txt", "--lengths", "words.tsv")
    assert "2 topics, 1 run from runs." in out
    assert "significantly" not in out


def test_a_run_that_is_wrong(files, says):
    apart = "run.txt: no query in common with qrels.txt: the run has '7', '8', the judgments 'q1', 'q2'."
    for text, place in (("q1 Q0 d1 1 nan x\n", "run.txt:1: score is NaN for query 'q1', document 'd1'"), ("", "run.txt: empty"),
                        ("7 Q0 d1 1 2 x\n8 Q0 d1 1 2 x\n", apart)):  # fmt: skip
        Path("run.txt").write_text(text)
        for command, *more in (("evaluate",), ("explain", "-q", "q1")):
            assert says(command, "qrels.txt", "run.txt", "-m", "AP", *more).startswith(place)
    pa.parquet.write_table(pa.table({"qid": [""], "docno": [""], "score": [1.0]})[:0], "nothing.parquet")
    for more in ((), ("--residuals",)):
        message = says("evaluate", "qrels.txt", "nothing.parquet", "-m", MAX, *more)
        assert "nothing.parquet: empty; there are no rows in it." in message


EXPLAIN, PAIR = "explain qrels.txt runs/good.txt -q q1 -m", "explain qrels.txt runs/good.txt runs/bad.run -m AP -q"
JOBS = "--jobs is an option of study robustness, study power, study fit."


@pytest.mark.slow
def test_commands_that_are_wrong(files, says):
    Path("empty").mkdir()
    for words, line in {
        "evaluate": "Missing argument 'QRELS'.", "evaluate qrels.txt": "Missing argument 'RUN'.", "evaluat": "No such command 'evaluat'.",
        "evaluate qrels.txt runs --format cvs": "Invalid value for '--format': 'cvs' is not one of",
        "evaluate qrels.txt runs --format parquet": "--format parquet needs a file: -o FILE.",
        "evaluate qrels.txt runs -o no/scores.csv": "no/scores.csv: there is no directory 'no'.",
        "evaluate qrels.txt runs -o runs": "-o runs: the name must end in .csv",
        "evaluate none.qrels runs": "none.qrels: no such file or directory.",
        "evaluate qrel.txt runs": "qrel.txt: no such file or directory. Near: 'qrels.txt'",
        "evaluate qrels.txt runs/Good.txt": "runs/Good.txt: no such file or directory. Near: 'good.txt'",
        "evaluate qrels.txt runs -m TBG --lengths word.tsv": "word.tsv: no such file or directory. Near: 'words.tsv'",
        "calibrate word.tsv": "word.tsv: no such file or directory. Near: 'words.tsv'",
        "study users qrels.txt runs/bad.run word.tsv -m AP -o out": "word.tsv: no such file or directory. Near: 'words.tsv'",
        "evaluate qrels.txt runs -m RR AP": "AP: no such file or directory. If it is a measure, write -m AP.",
        "evaluate qrels.txt empty": "empty: no files in it, and so no runs",
        "evaluate qrels.txt runs -m TBG --lengths qrels.txt": "qrels.txt:1: expected 2 fields",
        "evaluate qrels.txt runs -m TBG": "runs/bad.run: TBG: the lengths of documents are needed",
        "evaluate qrels.txt runs -m CWLA(C='dcg',A='erg',max_rel=3)":
            "runs/bad.run: CWLA(C='dcg',A='erg',max_rel=3): C='dcg' has an infinite V⁺",
        "evaluate qrels.txt runs -m RBP": "RBP without --rel uses grades as gains",
        "evaluate qrels.txt runs -m AP(rel='x')": "AP(rel='x'): rel must be a whole number in [0, inf).",
        "evaluate qrels.txt runs -m IntentAware": "IntentAware needs measure=, such as IntentAware(measure=",
        "explain qrels.txt runs/good.txt -m AP": "Missing option '--query'",
        "explain qrels.txt runs/good.txt -m AP -q 7": "qrels.txt: no query '7'. It has 'q1'",
        "explain qrels.txt runs/bad.run -m AP -q q2": "runs/bad.run: no documents for query 'q2'",
        f"{PAIR} q2": "runs/bad.run: no documents for query 'q2'",
        f"{PAIR} q1 --run x": "--run x chooses a run of one file: leave out the second run.",
        "explain qrels.txt runs/good.txt runs/bda.run -q q1 -m AP": "runs/bda.run: no such file",
        "explain qrels.txt runs/good.txt runs/../runs/good.txt -q q1 -m AP":
            "runs/../runs/good.txt: is the same file as the first run. Give another run, or one alone.",
        f"{EXPLAIN} Judged": "Judged follows no user model, or several", f"{EXPLAIN} AP --plot x.gif": "--plot x.gif: ",
        f"{EXPLAIN} Residual(measure='TBG')": "Residual(measure='TBG')",
        f"{EXPLAIN} AP,RR": "this command takes one measure, and -m gives 2",
        "compare qrels.txt runs --confidence 2": "--confidence 2.0 must be between 0 and 1",
        "compare qrels.txt runs --resamples 0": "--resamples 0 must be a whole number",
        "compare qrels.txt runs --seed -1": "--seed -1 must be a whole number",
        "compare qrels.txt runs -m AP --no-baseline --test t": "--test has no effect with --no-baseline: leave out one of them.",
        "compare qrels.txt runs -m AP --no-baseline --correction holm": "--correction has no effect with --no-baseline: leave out",
        "simulate qrels.txt runs -m RR --reading foo": "--reading foo is no distribution of reading times",
        "measures rbpp": "nothing has the name 'rbpp'. Near: 'rbp'",
        "measures zzzz": "nothing has the name 'zzzz'. `pyterrier-cwla measures` lists all names.",
        # older versions of typer have a message of their own
        "demo --topics 1": ("--topics 1 must be greater than or equal to 2.", "Invalid value for '--topics': 1"),
        "evaluate --keep x": "No such option: --keep. Near: '--cache-dir'.",
        "evaluate --by_query": "No such option: --by_query. Near: '--by-query'.",
        "evaluate --measures AP": "No such option: --measures. Near: '--measure'.",
        "evaluate --lenghts x": "No such option: --lenghts. Near: '--lengths', '--costs'.",
        "evaluate --jobs 2": f"No such option: --jobs. {JOBS}", "evaluate --n-jobs 2": f"No such option: --n-jobs. {JOBS}",
        "study power --n-jobs 2": "No such option: --n-jobs. Near: '--jobs'.",
        "compare --zzzz": "No such option: --zzzz. `pyterrier-cwla compare -h` lists all.",
        "--zzzz": "No such option: --zzzz. `pyterrier-cwla -h` lists all.",
        "evaluate -q": "No such option: -q. Scores of topics: `pyterrier-cwla evaluate … --by-query`.",
        "compare -n": "No such option: -n. Scores of topics alone: `pyterrier-cwla evaluate … --by-query --format csv`.",
        "evaluate -c": "No such option: -c. Leave it out: means are always over all judged topics.",
        "evaluate -l 2": "No such option: -l. Write the lowest relevant grade into the measure: -m 'AP(rel=2)'.",
        "compare -J": "No such option: -J. Write it into the measure: -m 'AP(judged_only=True)'.",
        "evaluate -M 100": "No such option: -M. Write the number of documents into the measure: -m AP@100.",
    }.items():  # fmt: skip
        assert says(*words.split()).startswith(line), words
    own = says("evaluate", "qrels.txt", "runs", "-m", "CWLA(C='bored(2)',A='etg',max_rel=3)")
    assert own.startswith("no continuation 'bored' in C='bored(2)'.")
    assert own.endswith("Your own functions are available in Python only.")
    assert "Python" not in says("evaluate", "qrels.txt", "runs", "-m", "nDGC")


@pytest.mark.slow
def test_options_of_other_commands_are_known_in_a_new_process():
    words = [sys.executable, "-m", "pyterrier_cwla", "evaluate", "--jobs", "2"]
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (2, "")
    assert "--jobs is an option of study robustness, study power, study fit." in found.stderr


def test_options_in_the_words_of_the_command_line():
    group = typer.main.get_command(loaded_app())
    known = {name for _, names in options._by_command(group) for name in names}
    assert set(options._EARLIER.values()) <= known
    assert not {f"--{name.replace('_', '-')}" for name in options._EARLIER} & known
    known = {"alpha": "--alpha", "cv": "--cv", "p": "-p", "max_seconds": "--max-seconds"}
    for python, written in [
        ("alpha=2.0 must be", "--alpha 2.0 must be"), ("give cv=5.", "give --cv 5."), ("set cv=, or", "set --cv, or"),
        ("max_seconds=-1 is", "--max-seconds -1 is"), ("RBP(p=2): wrong", "RBP(p=2): wrong"), ("A(x=1,p=2)", "A(x=1,p=2)"),
        ("R($p=1)", "R($p=1)"), ("C='f(alpha=1)'", "C='f(alpha=1)'"), ("beta=1", "beta=1"), ("my_cv=3", "my_cv=3"),
        ("cv='x y' is no number", "--cv x y is no number"),
    ]:  # fmt: skip
        assert in_options(python, known) == written


def test_ctrl_c_is_quiet_and_what_to_install_is_said(cli, monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(reference, "entries", interrupted)
    assert cli("measures") == (130, "", "")
    monkeypatch.setitem(sys.modules, "typer", None)
    code, out, err = cli("--help")
    assert (code, out) == (2, "")
    assert err.startswith("the command line needs typer (")
    assert re.search(r'pip install "typer>=[0-9.]+"\n$', err)


@pytest.mark.slow
def test_without_arguments_and_with_help(cli):
    code, out, err = cli()
    assert (code, err) == (0, "")
    for command in ("evaluate", "explain", "measures", "demo"):
        assert command in out
        assert "Usage" in cli(command, "--help")[1]
    assert cli("--version")[1] == f"pyterrier-cwla {pyterrier_cwla.__version__}\n"


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="broken pipes differ on Windows")
def test_a_reader_that_leaves_is_no_error(files):
    """Example: ``pyterrier-cwla measures | head -1``."""
    for command in (["--help"], ["measures"], ["evaluate", "qrels.txt", "runs", "--format", "csv"]):
        words = [sys.executable, "-m", "pyterrier_cwla", *command]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.close()
        err = process.stderr.read().decode()
        process.wait(timeout=60)
        process.stderr.close()
        assert process.returncode == 0
        assert "Traceback" not in err
        assert "BrokenPipe" not in err


@pytest.mark.slow
def test_one_lowest_relevant_grade_for_all_measures(files, prints):
    """Measures with their own rel keep it, also inside others; measures without the parameter are as before."""
    given = prints("evaluate", "qrels.txt", "runs", "-m", "AP,RR(rel=1),nDCG,GeometricMean(measure=P@2)", "--rel", 3)
    written = ["AP(rel=3)", "RR(rel=1)", "nDCG", "GeometricMean(measure='P(rel=3)@2')"]
    unchanged = "RR, nDCG: --rel has no effect.\n"
    assert unchanged in given
    assert given.replace(unchanged, "") == prints("evaluate", "qrels.txt", "runs", *flags(written))
    without = prints("evaluate", "qrels.txt", "runs", "--rel", 3)
    same = prints("evaluate", "qrels.txt", "runs", "-m", "nDCG@10,AP(rel=3),RR(rel=3),RBP(rel=3)")
    assert without.split("\n\n")[0] == same.split("\n\n")[0]
    assert "\nnDCG@10: --rel has no effect.\n" in without
    assert "grades from 3 are relevant" in without
    unchanged = "nDCG, NumRet: --rel has no effect."
    assert unchanged in prints("evaluate", "qrels.txt", "runs", "-m", "nDCG,NumRet", "--rel", 3)
    assert "no effect" not in prints("evaluate", "qrels.txt", "runs", "-m", "P@2", "--rel", 3)
    note = "PrecisionWithin(T=9,effort='unit'): --rel has no effect. Where a measure has gain=, write gain='binary(3)'."
    found = prints("evaluate", "qrels.txt", "runs", "-m", "P@2,PrecisionWithin(T=9,effort='unit')", "--rel", 3)
    assert note in " ".join(found.split())
    assert "early" in prints("compare", "qrels.txt", "runs", "-m", "early=P@2", "--rel", 3, "--resamples", 100)


def test_notes_on_many_runs_are_few(files, prints):
    """Each run has two notes: few judged documents, and missing lengths."""
    Path("few.tsv").write_text("a 100\n")
    for number in range(8):
        Path(f"run{number}.txt").write_text("q1 Q0 a 1 2.5 x\nq1 Q0 b 2 1.5 x\n")
    table = prints("evaluate", "qrels.txt", "run?.txt", "-m", "TBG", "--lengths", "few.tsv", "--missing", "mean")
    assert re.findall(r"^run\d", table, re.M) == [f"run{run}" for run in range(8)]
    assert table.count("have no length in the table") == 5
    assert "3 more runs have such notes." in table
