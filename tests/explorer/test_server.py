"""The explorer's server: it answers its own page, and nobody else."""

import json
import re
import socket

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


def test_it_sends_the_page(server):
    status, headers, html = fetched(server.address)
    assert status == 200
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Frame-Options"] == "DENY"
    start = json.loads(re.search(r'id="start">(.*?)</script>', html, re.S)[1])
    assert start == server.exploration.start()
    assert not re.search(r'(?:src|href)\s*=\s*"', html)  # it loads nothing


def test_it_answers_requests(server):
    request = {"want": "state", "set": {"C.phi": "0.5"}}
    status, _, body = fetched(ask(server), request)
    assert status == 200
    assert json.loads(body) == server.exploration.answer(request)


def test_errors_of_requests_are_answers(server):
    status, _, body = fetched(ask(server), {"measure": "nothing"})
    assert status == 200
    assert "nothing" in json.loads(body)["error"]


@pytest.mark.parametrize("token", ["", "wrong", "%00", "é"])
def test_it_needs_the_token(server, token):
    address = ask(server, "/", "").removesuffix("?token=") + (
        "" if token == "" else f"?token={token!a}".replace("'", "")
    )
    assert fetched(address)[0] == 403
    assert fetched(address.replace("/?", "/ask?"), {})[0] == 403


def test_other_names_of_the_machine_are_refused(server):
    assert fetched(server.address, Host="evil.example")[0] == 403
    assert fetched(ask(server), {}, Host=f"evil.example:{server.server_port}")[0] == 403
    assert fetched(ask(server), {}, Host=f"localhost:{server.server_port}")[0] == 200


@pytest.mark.parametrize("path", ["/etc/passwd", "/../../etc/passwd", "/explorer.js", "/ask"])
def test_it_serves_no_files(server, path):
    assert fetched(ask(server, path))[0] == 404


@pytest.mark.parametrize("body", [b"{", b"[1]", b"\xff", b'"text"', b"[" * 100_000])
def test_other_bodies_are_refused(server, body):
    assert fetched(ask(server), body)[0] == 400


def test_other_kinds_and_large_bodies_are_refused(server):
    assert fetched(ask(server), {}, **{"Content-Type": "text/plain"})[0] == 415
    assert fetched(ask(server), b" ", **{"Content-Length": "5000000"})[0] == 413


def test_a_port_in_use_is_an_error_with_a_way_out():
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(BadParameter, match="free port"):
        ExplorerServer(Exploration.of_grades([1]), port=taken.getsockname()[1])


def test_it_listens_on_this_machine_alone(server):
    assert server.server_address[0] == "127.0.0.1"


def test_data_cannot_close_its_script_element():
    text = "</script><!-- \u2028 &amp;"
    assert "<" not in as_script({"id": text})
    assert json.loads(as_script({"id": text})) == {"id": text}
