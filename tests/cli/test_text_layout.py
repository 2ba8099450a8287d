"""Texts that commands print: columns, widths, and notes that hold for what is shown."""

from pathlib import Path

import pytest


@pytest.mark.slow
def test_narrow_gaps_save_a_table(files, prints, monkeypatch):
    arguments = ("simulate", "qrels.txt", "runs/good.txt", "-m", "RBP(rel=1)", "--users", 5)
    width = max(len(line) for line in prints(*arguments).splitlines() if line.startswith("──"))
    for columns, tables in ((width, 1), (width - 1, 1), (width - 14, 1), (width - 15, 2)):
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = prints(*arguments).splitlines()
        assert sum(line.startswith("──") for line in lines) == tables
        assert max(map(len, lines)) <= columns


@pytest.mark.slow
def test_bold_is_explained_where_it_is_shown(files, prints, monkeypatch):
    """Pipes and files have no bold type; no score is bold if all are equal."""
    Path("same.txt").write_bytes(Path("runs/good.txt").read_bytes())
    for colours, other in (("", "runs/bad.run"), ("1", "runs/bad.run"), ("1", "same.txt")):
        if colours:
            monkeypatch.setenv("FORCE_COLOR", colours)
            monkeypatch.setenv("TERM", "xterm")
        arguments = ("compare", "qrels.txt", "runs/good.txt", other, "-m", "RR", "--resamples", 100)
        differ = other != "same.txt"
        assert prints(*arguments).count("Bold: the highest.") == (differ and bool(colours))
        latex = prints(*arguments, "--format", "latex")
        assert ("Bold" in latex) == ("textbf" in latex) == differ


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


def test_help_fits_the_screen(prints, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for command in ("fit", "users"):
        lines = prints("study", command, "--help").splitlines()
        assert max(map(len, lines)) <= 80
        assert "weighted_pearson" in " ".join(lines)
