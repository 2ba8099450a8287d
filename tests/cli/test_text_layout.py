"""Texts that commands print: columns, widths, and notes that hold for what is shown."""

from pathlib import Path

import pytest

from pyterrier_cwla.errors import CWLAError
from pyterrier_cwla.evaluation import Explanation


@pytest.fixture
def two_runs(tmp_path, monkeypatch):
    """Judgments and two runs, of which the first is better."""
    monkeypatch.chdir(tmp_path)
    Path("qrels.txt").write_text("q1 0 a 1\nq1 0 b 0\nq2 0 a 1\nq2 0 b 0\n")
    Path("one.txt").write_text("q1 Q0 a 1 2 x\nq1 Q0 b 2 1 x\nq2 Q0 a 1 2 x\n")
    Path("two.txt").write_text("q1 Q0 b 1 2 x\nq1 Q0 a 2 1 x\nq2 Q0 a 1 2 x\n")


@pytest.mark.slow
def test_sums_are_no_means_and_narrow_gaps_save_a_table(two_runs, prints, monkeypatch):
    out = prints("evaluate", "qrels.txt", "one.txt", "-m", "AP,NumRet,gm_map")
    expected = "Means over the 2 judged topics; of NumRet the sum; of GeometricMean(measure='AP') the geometric mean."
    assert expected in " ".join(out.split())
    out = prints("evaluate", "qrels.txt", "one.txt", "-m", "NumRet", "--by-query")
    assert "Scores of the 2 judged topics." in out
    assert out.split()[:3] == ["run", "topic", "NumRet"]
    arguments = ("simulate", "qrels.txt", "one.txt", "-m", "RBP(rel=1)", "--users", 5)
    width = max(len(line) for line in prints(*arguments).splitlines() if line.startswith("──"))
    for columns, tables in ((width, 1), (width - 1, 1), (width - 14, 1), (width - 15, 2)):
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = prints(*arguments).splitlines()
        assert sum(line.startswith("──") for line in lines) == tables
        assert max(map(len, lines)) <= columns


@pytest.mark.slow
@pytest.mark.parametrize(("colours", "runs", "said"), [("1", "two.txt", 1), ("", "two.txt", 0), ("1", "same.txt", 0)])
def test_bold_is_explained_where_it_is_shown(two_runs, prints, monkeypatch, colours, runs, said):
    """Pipes and files have no bold type; no score is bold if all are equal."""
    Path("same.txt").write_bytes(Path("one.txt").read_bytes())
    if colours:
        monkeypatch.setenv("FORCE_COLOR", colours)
        monkeypatch.setenv("TERM", "xterm")
    out = prints("compare", "qrels.txt", "one.txt", runs, "-m", "RR", "--resamples", 100)
    assert out.count("Bold: the highest.") == said
    latex = prints("compare", "qrels.txt", "one.txt", runs, "-m", "RR", "--resamples", 100, "--format", "latex")
    assert ("Bold" in latex) == ("textbf" in latex) == (runs == "two.txt")


@pytest.mark.slow
def test_a_figure_is_drawn_before_the_table_is_printed(two_runs, cli, monkeypatch):
    """A reader such as `head` may close the pipe at the table."""

    def closed(*_):
        raise CWLAError

    monkeypatch.setattr(Explanation, "tables", closed)
    code, *_ = cli("explain", "qrels.txt", "one.txt", "-q", "q1", "-m", "RR", "--plot", "x.svg")
    assert code == 2
    assert Path("x.svg").stat().st_size > 0


@pytest.mark.parametrize("width", [60, 80])
def test_texts_are_wrapped_once_and_names_stay_in_their_column(prints, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    lines = prints("measures").split("\n\n")[1].splitlines()
    starts = {line.rindex("  ", 0, 30) + 2 for line in map(str.rstrip, lines)}
    assert len(starts) == 1
    assert max(map(len, lines)) <= width
    lines = [line.strip() for line in prints("measures", "map").splitlines()]
    assert not {"leave;", "was not retrieved never"} & set(lines)
    assert "was not retrieved never leave; R=" in " ".join(lines)


@pytest.mark.parametrize("command", [("fit", "objective"), ("users", "coefficient")])
def test_help_fits_the_screen(prints, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    lines = prints("study", command[0], "--help").splitlines()
    assert max(map(len, lines)) <= 80
    assert "weighted_pearson" in " ".join(lines)
