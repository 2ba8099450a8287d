"""The command explore: it serves the page with the user's topics until Ctrl-C."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest

from pyterrier_cwla import explain
from tests.explorer.serving import fetched

pytest.importorskip("typer", reason="needs the extra [cli]")


@pytest.fixture
def files(tmp_path):
    (tmp_path / "qrels.txt").write_text("q1 0 a 2\nq1 0 b 0\nq2 0 a 1\n")
    (tmp_path / "old.txt").write_text("q1 Q0 a 1 9 old\nq1 Q0 b 2 8 old\nq2 Q0 b 1 9 old\nq2 Q0 a 2 8 old\n")
    (tmp_path / "new.txt").write_text("q1 Q0 b 1 9 new\nq1 Q0 a 2 8 new\nq2 Q0 a 1 9 new\n")
    (tmp_path / "words.tsv").write_text("docno\twords\na\t100\nb\t300\n")
    (tmp_path / "texts.csv").write_text("docno,text\na,the first text\nc,\n")
    return tmp_path


def run(folder, *words):
    command = [sys.executable, "-m", "pyterrier_cwla", "explore", *words, "--no-browser"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)


def test_it_serves_until_interrupted(files):
    words = [
        "qrels.txt",
        "old.txt",
        "new.txt",
        "--lengths",
        "words.tsv",
        "--texts",
        "texts.csv",
        "-m",
        "TBG(unseen=5)",
        "-q",
        "q2",
        "--no-browser",
    ]
    command = [sys.executable, "-m", "pyterrier_cwla", "explore", *words]
    with subprocess.Popen(command, cwd=files, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            address = re.search(r"http://\S+", process.stdout.readline())[0]
            status, _, html = fetched(address)
            assert status == 200
            state = json.loads(re.search(r'id="start">(.*?)</script>', html, re.S)[1])["state"]
            request = {"want": "state", "topic": "q1"}
            answer = json.loads(fetched(address.replace("/?", "/ask?"), request)[2])
            assert fetched(address.partition("?")[0])[0] == 403
        finally:
            os.killpg(process.pid, signal.SIGINT)
            rest = process.stdout.read()
    assert process.returncode == 0
    assert "Stopped." in rest
    assert state["topic"] == "q2"
    assert state["rankings"][0]["columns"]["text"] == ["", "the first text"]
    words_tsv = str(files / "words.tsv")
    both = {name: str(files / f"{name}.txt") for name in ("old", "new")}
    expected = explain(str(files / "qrels.txt"), both, "q1", f"TBG(unseen=5,lengths='{words_tsv}')").scores
    assert [ranking["score"] for ranking in answer["rankings"]] == [f"{value:.4f}" for value in expected]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("qrels.txt nothing.txt", "nothing.txt: no such file"),
        ("qrels.txt old.txt old.txt", "same file"),
        ("qrels.txt old.txt -m Bpref", "no user model"),
        ("qrels.txt old.txt -m TBG", "--lengths FILE"),
        ("qrels.txt old.txt -q q9", "q9"),
        ("qrels.txt old.txt --texts words.tsv", "docno and text"),
        ("qrels.txt old.txt --texts qrels.txt", ".jsonl"),
        ("qrels.txt old.txt --port 70000", "--port"),
    ],
)
def test_errors_come_before_the_page(files, words, message):
    done = run(files, *words.split())
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
