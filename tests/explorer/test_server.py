"""The explorer's server: it answers its own page, and nobody else."""

import json
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from http.client import HTTPException

import pytest

from pyterrier_cwla.errors import BadParameter
from pyterrier_cwla.explorer import Exploration, ExplorerServer
from pyterrier_cwla.explorer.page import as_script
from tests.explorer.serving import fetched, served


@pytest.fixture(scope="module")
def server():
    with served(Exploration.of_grades({"A": [1, 0, 2], "B": [2, 1, 0]})) as running:
        yield running


def ask(server, path="/ask", token=None):
    return f"http://127.0.0.1:{server.server_port}{path}?token={server.token if token is None else token}"


@pytest.mark.slow
def test_it_sends_the_page(server):
    status, headers, html = fetched(server.address)
    assert status == 200
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Frame-Options"] == "DENY"
    start = json.loads(re.search(r'id="start">(.*?)</script>', html, re.S)[1])
    assert start == server.exploration.start()
    assert not re.search(r'(?:src|href)\s*=\s*"', html)  # it loads nothing


def test_it_answers_requests_and_their_errors(server):
    request = {"want": "state", "set": {"C.phi": "0.5"}}
    status, _, body = fetched(ask(server), request)
    assert status == 200
    assert json.loads(body) == server.exploration.answer(request)
    status, _, body = fetched(ask(server), {"measure": "nothing"})
    assert status == 200
    assert "nothing" in json.loads(body)["error"]


def connected(server):
    return socket.create_connection(("127.0.0.1", server.server_port), timeout=10)


def head(server, length):
    """Return the start of a request with a body."""
    lines = [f"POST /ask?token={server.token} HTTP/1.1", f"Host: 127.0.0.1:{server.server_port}"]
    return "\r\n".join([*lines, "Content-Type: application/json", f"Content-Length: {length}", "", ""])


def test_other_tokens_files_bodies_kinds_and_hosts_are_refused(server):
    page, *_ = server.address.partition("?")
    for token in ("", "?token=wrong", "?token=%00", r"?token=\xe9"):
        assert fetched(page + token)[0] == fetched(f"{page}ask{token}", {})[0] == 403
    for path in ("/etc/passwd", "/../../etc/passwd", "/explorer.js", "/ask"):
        assert fetched(ask(server, path))[0] == 404
    for body in (b"{", b"[1]", b"\xff", b'"text"', b"[" * 100_000):
        status, _, text = fetched(ask(server), body)
        assert (status, json.loads(text)) == (400, {"error": "400 Bad Request. A request is one JSON object."})
    assert fetched(ask(server), {}, **{"Content-Type": "text/plain"})[0] == 415
    assert fetched(ask(server), b" ", **{"Content-Length": "5000000"})[0] == 413
    assert fetched(server.address, Host="evil.example")[0] == 403
    assert fetched(ask(server), {}, Host=f"evil.example:{server.server_port}")[0] == 403
    assert fetched(ask(server), {}, Host=f"localhost:{server.server_port}")[0] == 200
    status, headers, text = fetched(ask(server, "/", "wrong"))
    assert (status, headers["Cache-Control"]) == (403, "no-store")
    assert text == "403 Forbidden. Open the address that `pyterrier-cwla explore` printed last, with its token.\n"
    assert "printed last" in json.loads(fetched(ask(server, token="wrong"), {})[2])["error"]


@pytest.mark.parametrize(("request_line", "length", "status"), [
    ("GET http://[ HTTP/1.1", "0", 403), ("GET /\xb2?token=\xb2 HTTP/1.1", "0", 403),
    ("POST /ask?token={token} HTTP/1.1", "9" * 6000, 413), ("POST /ask?token={token} HTTP/1.1", "-1", 413),
    ("POST /ask?token={token} HTTP/1.1", "\xb2", 413), ("POST /ask?token={token} HTTP/1.1", None, 411),
    ("HEAD /?token={token} HTTP/1.1", "0", 501), ("OPTIONS /ask?token={token} HTTP/1.1", "0", 501),
    ("GET /" + "x" * 70_000 + " HTTP/1.1", "0", 414),
], ids=lambda value: str(value)[:30])  # fmt: skip
def test_malformed_requests_are_refused(server, capfd, request_line, length, status):
    lines = [request_line.format(token=server.token), f"Host: 127.0.0.1:{server.server_port}"]
    lines += ["Content-Type: application/json", *([] if length is None else [f"Content-Length: {length}"]), "", ""]
    with connected(server) as connection:
        connection.sendall("\r\n".join(lines).encode("latin-1"))
        response = connection.makefile("rb").readline()
    assert response.split()[1] == str(status).encode()
    assert capfd.readouterr().err == ""


def test_failures_are_told_to_the_page_and_the_terminal(server, monkeypatch, capfd):
    def fails(request):
        raise ZeroDivisionError("in a function of a user")

    monkeypatch.setattr(server.exploration, "answer", fails)
    status, _, text = fetched(ask(server), {})
    assert status == 500
    assert "terminal" in json.loads(text)["error"]
    assert "in a function of a user" in capfd.readouterr().err


@pytest.mark.slow
def test_a_page_that_was_closed_is_no_error(server, monkeypatch, capfd):
    answered = threading.Event()
    monkeypatch.setattr(server.exploration, "answer", lambda request: {"long": "x" * 20_000_000})
    monkeypatch.setattr(server, "shutdown_request", lambda request: (request.close(), answered.set()))
    with connected(server) as connection:
        connection.sendall(f"{head(server, 2)}{{}}".encode())
        connection.recv(10)
    assert answered.wait(10)
    assert capfd.readouterr().err == ""


@pytest.mark.slow
def test_one_request_is_answered_at_a_time(server, monkeypatch):
    busy, most = [], []

    def slow(request):
        busy.append(1)
        most.append(len(busy))
        time.sleep(0.02)
        busy.pop()
        return {}

    monkeypatch.setattr(server.exploration, "answer", slow)
    with ThreadPoolExecutor(4) as threads:
        assert {status for status, *_ in threads.map(lambda _: fetched(ask(server), {}), range(8))} == {200}
    assert most == [1] * 8


@pytest.mark.slow
def test_requests_that_do_not_arrive_are_closed(server, monkeypatch):
    """Also one of which a byte arrives from time to time."""
    monkeypatch.setattr("pyterrier_cwla.explorer.page._SECONDS", 0.2)
    for start in ("", "GET ", head(server, 1000), head(server, 1000) + "{"):
        with connected(server) as connection:
            connection.sendall(start.encode())
            assert connection.recv(10) == b"", start
    begin = time.monotonic()
    with connected(server) as connection, suppress(ConnectionError):
        while time.monotonic() < begin + 5:
            connection.sendall(b"G")
            time.sleep(0.05)
    assert time.monotonic() < begin + 5


@pytest.mark.slow
def test_few_requests_are_open_at_a_time():
    with served(Exploration.of_grades([1])) as server, ExitStack() as several:
        before = threading.active_count()
        for _ in range(36):
            several.enter_context(connected(server))
        with pytest.raises((OSError, HTTPException)):
            fetched(server.address)
        assert threading.active_count() - before <= 32
        several.close()
        while threading.active_count() > before:
            time.sleep(0.01)
        assert fetched(server.address)[0] == 200


def test_it_listens_on_this_machine_alone(server):
    assert server.server_address[0] == "127.0.0.1"
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(BadParameter, match="free port"):
        ExplorerServer(Exploration.of_grades([1]), port=taken.getsockname()[1])
    text = "</script><!-- \u2028 &amp;"
    assert "<" not in as_script({"id": text})
    assert json.loads(as_script({"id": text})) == {"id": text}
