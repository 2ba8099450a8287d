"""The command explore: it serves the page with the user's topics until Ctrl-C."""

import gzip
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading

import pyarrow as pa
import pyarrow.parquet
import pytest

from pyterrier_cwla import explain
from pyterrier_cwla.cli.explanation_commands import texts_of
from pyterrier_cwla.errors import MalformedFile
from tests.explorer.serving import fetched
from tests.support.messages import refused


@pytest.fixture
def files(tmp_path):
    (tmp_path / "qrels.txt").write_text("q1 0 a 2\nq1 0 b 0\nq2 0 a 1\n")
    (tmp_path / "old.txt").write_text("q1 Q0 a 1 9 old\nq1 Q0 b 2 8 old\nq2 Q0 b 1 9 old\nq2 Q0 a 2 8 old\n")
    (tmp_path / "new.txt").write_text("q1 Q0 b 1 9 new\nq1 Q0 a 2 8 new\nq2 Q0 a 1 9 new\n")
    (tmp_path / "words.tsv").write_text("docno\twords\na\t100\nb\t300\n")
    (tmp_path / "texts.csv").write_text("docno,text\na,the first text\nc,\n")
    return tmp_path


@pytest.mark.slow
def test_it_serves_until_interrupted(files):
    words = ["qrels.txt", "old.txt", "new.txt", "--lengths", "words.tsv", "--texts", "texts.csv", "-m", "TBG(unseen=5)",
             "-q", "q2", "--no-browser"]  # fmt: skip
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


@pytest.mark.slow
def test_errors_come_before_the_page(files, says, monkeypatch):
    monkeypatch.chdir(files)
    for words, message in {
        "nothing.txt": "nothing.txt: no such file", "old.txt old.txt": "same file", "old.txt -m Bpref": "no user model",
        "old.txt -m TBG": "--lengths FILE", "old.txt -q q9": "q9", "old.txt -m AP,nDCG@3": "several measures",
        "old.txt --texts words.tsv": "words.tsv: needs the columns docno and text, and has docno, words",
        "old.txt --texts nothing.csv": "nothing.csv: no such file",
        "old.txt --lengths nothing.tsv": "nothing.tsv: no such file", "old.txt --port 70000": "--port",
    }.items():  # fmt: skip
        assert message in says("explore", "qrels.txt", *words.split(), "--no-browser")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        message = says("explore", "qrels.txt", "old.txt", "--no-browser", "--port", taken.getsockname()[1])
    assert re.fullmatch(r"--port \d+ cannot be used .*in use.*a free port is chosen\.", message)


@pytest.fixture
def explored(cli, files, monkeypatch):
    """Return a function that runs the command in this process until its server has started."""
    monkeypatch.chdir(files)

    def interrupted(server):
        raise KeyboardInterrupt

    monkeypatch.setattr("pyterrier_cwla.explorer.ExplorerServer.serve_forever", interrupted)
    return lambda *words: cli("explore", *words)


@pytest.mark.slow
def test_the_browser_is_opened_beside_the_server(explored, monkeypatch):
    addresses, begun, done = [], threading.Event(), threading.Event()

    def open_browser(address):
        addresses.append(address)
        begun.set()
        done.wait(10)  # a browser that returns when it is closed
        return True

    monkeypatch.setattr("webbrowser.open", open_browser)
    before = set(threading.enumerate())
    code, out, err = explored("qrels.txt", "old.txt")
    assert begun.wait(10)
    assert (code, err) == (0, "")
    assert addresses == re.findall(r"http://127\.0\.0\.1:\d+/\?token=\S+", out)
    done.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(10)


@pytest.mark.slow
def test_each_missing_browser_or_relevance_is_mentioned(monkeypatch, capsys, explored, files):
    from pyterrier_cwla.cli.explanation_commands import _open

    monkeypatch.setattr("webbrowser.open", lambda address: False)
    _open("http://127.0.0.1/")
    assert "open the address yourself" in capsys.readouterr().err
    monkeypatch.setattr("webbrowser.open", lambda address: pytest.fail("opened"))
    code, out, err = explored("qrels.txt", "old.txt", "--no-browser")
    assert (code, err) == (0, "")
    assert out.endswith("Stop it with Ctrl-C.\nStopped.\n")
    (files / "qrels.txt").write_text("q1 0 a 0\nq1 0 b 0\n")
    assert "no document is relevant" in explored("qrels.txt", "old.txt", "--no-browser")[2]


def test_texts_in_each_format(tmp_path):
    """The metadata of pandas in Parquet files are not read, and may be broken."""
    for name, content in {
        "t.csv": b'docno,text\n01,"one, two"\na,\n', "t.tsv": b"text\tdocno\none, two\t01\n\ta\n",
        "t.jsonl": b'{"docno": "01", "text": "one, two", "more": 1}\n\n{"docno": "a", "text": null}\n',
        "t.jsonl.gz": gzip.compress(b'{"id": "01", "text": "one, two"}\n{"id": "a"}\n', mtime=0),
        "t.csv.gz": gzip.compress(b'doc_id,text\n01,"one, two"\na,\na,\n', mtime=0),
    }.items():  # fmt: skip
        (tmp_path / name).write_bytes(content)
        assert texts_of(tmp_path / name) == {"01": "one, two", "a": ""}
    table = pa.table({"docno": pa.array([1, 2]), "text": ["one", None]}).replace_schema_metadata({"pandas": "{no JSON"})
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    assert texts_of(tmp_path / "t.parquet") == {"1": "one", "2": ""}


def test_texts_that_cannot_be_read(tmp_path):
    for name, content, message in (
        ("t.jsonl", b'{"docno": "a", "text": "x"}\nnothing\n', "t.jsonl:2: not a JSON object"),
        ("t.jsonl", b"[1]\n", "t.jsonl:1: not a JSON object"), ("t.jsonl", b"", "has none"),
        ("t.jsonl", b'\n{"docno": "a", "text": 5}\n', "t.jsonl:2: needs a document id and a text"),
        ("t.jsonl.gz", b"nothing", "not packed with gzip"),
        ("t.csv", b"docno,text\na,x\na,y\n", "t.csv:3: another text of document 'a'"),
        ("t.csv", b"docno,text,text\na,x,x\n", "t.csv: has the column 'text' twice: keep one"),
        ("t.csv", b"docno,,,docno,text\na,,,b,x\n", "t.csv: has the column 'docno' twice: keep one"),
        ("t.csv", b"docno,text\n,x\n", "t.csv:2: needs a document id"), ("t.csv", b"docno,text\na,\xff\n", "t.csv:2: not UTF-8"),
        ("t.csv", b"", "empty"), ("t.parquet", b"nothing", "t.parquet"),
    ):  # fmt: skip
        (tmp_path / name).write_bytes(content)
        refused(lambda place=tmp_path / name: texts_of(place), MalformedFile, message)
