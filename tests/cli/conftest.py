"""Files of the commands; commands print the same on every terminal."""

from pathlib import Path

import pytest

QRELS = "q1 0 d1 3\nq1 0 d2 0\nq1 0 d3 1\nq2 0 d1 0\nq2 0 d4 2\n"
GOOD = "q1 Q0 d1 1 9.5 good\nq1 Q0 d2 2 8.5 good\nq1 Q0 d9 3 7.5 good\nq2 Q0 d4 1 3.5 good\nq2 Q0 d1 2 2.5 good\n"
BAD = "q1 Q0 d2 1 9.5 bad\nq1 Q0 d3 2 8.5 bad\n"
LENGTHS = "docno\twords\nd1\t100\nd2\t200\nd3\t300\nd4\t400\nd9\t900\n"


@pytest.fixture(autouse=True)
def _no_terminal(monkeypatch):
    for name in ("COLUMNS", "LINES", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Folder with judgments, two runs and lengths; the working directory of the commands."""
    monkeypatch.chdir(tmp_path)
    Path("runs").mkdir()
    for name, text in {"qrels.txt": QRELS, "runs/good.txt": GOOD, "runs/bad.run": BAD, "words.tsv": LENGTHS}.items():
        Path(name).write_text(text)
    return tmp_path
