"""The explorer's page, and the local server that shows it in a browser."""

from __future__ import annotations

import hmac
import io
import json
import secrets
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from string import Template
from typing import Any
from urllib.parse import parse_qs

from ..errors import BadParameter
from .exploration import Exploration

STYLE = "explorer.css"
_SCRIPTS = ("elements", "requests", "charts", "controls", "documents", "scores", "topics", "keep", "explorer")
_LINK = '<p class="about"><a href="{0}">What this page shows, and how to open it on your runs</a></p>'
_NONE = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; script-src 'nonce-{0}'; style-src 'nonce-{0}';"
    " img-src blob:"
)


def page(start: Mapping[str, Any], ask: str, title: str, connect: str = "'none'", about: str = "") -> str:
    """Return the page as HTML.

    Parameters
    ----------
    start : mapping
        What the page shows first; see :meth:`Exploration.start`.
    ask : str
        JavaScript expression of the function that answers requests.
    title : str
        Title of the page.
    connect : str, default="'none'"
        Where the page may send requests to, as in a Content-Security-Policy.
    about : str, default=""
        Address of a page about the explorer, for a link.
    """
    nonce = secrets.token_urlsafe(16)
    run = f"""const start = JSON.parse(document.getElementById("start").textContent);
cwlaExplorer(document.getElementById("explorer"), start, {ask}, location.hash);"""
    return Template(source("page.html")).substitute(
        title=escape(title),
        link=_LINK.format(escape(about)) if about else "",
        nonce=nonce,
        policy=escape(f"{_NONE.format(nonce)}; connect-src {connect}"),
        style=source(STYLE),
        script=f"{script()}\n{run}",
        start=as_script(start),
    )


def source(name: str) -> str:
    """Return the text of a file of the page: its script, style or HTML."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def script() -> str:
    """Return the script of the page: its files one after the other."""
    return "".join(source(f"{name}.js") for name in _SCRIPTS)


def as_script(data: Any) -> str:
    """Return data as JSON that can stand in a script element: no text of it can close the element."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False).translate(_ESCAPED)


_ESCAPED = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
_HOST = "127.0.0.1"
_MOST = 4_000_000  # bytes of a request
_SECONDS = 30.0  # within which a request must arrive; also for sending its answer
_OPEN = 32  # requests that are open at a time; browsers send six
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Connection": "close",
}
#: What the user reads when a request is refused.
_WHY = {
    HTTPStatus.FORBIDDEN: "Open the address that `pyterrier-cwla explore` printed last, with its token.",
    HTTPStatus.NOT_FOUND: "The explorer has one page and no files.",
    HTTPStatus.BAD_REQUEST: "A request is one JSON object.",
    HTTPStatus.LENGTH_REQUIRED: "A request says its length in bytes.",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: f"A request has at most {_MOST:,} bytes.",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "A request is application/json.",
    HTTPStatus.INTERNAL_SERVER_ERROR: "The explorer failed; the terminal in which it runs shows where.",
}


class ExplorerServer(ThreadingHTTPServer):
    """Server of the page of one exploration, on 127.0.0.1 alone.

    Every request needs the random token that :attr:`address` contains; others are answered with 403. A request that has
    not arrived after 30 seconds is closed, and so is a request while 32 others are open.

    Parameters
    ----------
    exploration : Exploration
        The exploration.
    port : int, default=0
        Port; by default a free one.

    Attributes
    ----------
    token : str
        Token of this server.

    Raises
    ------
    BadParameter
        If the port cannot be used.
    """

    daemon_threads, request_queue_size = True, _OPEN

    def __init__(self, exploration: Exploration, port: int = 0) -> None:
        self.exploration, self.token = exploration, secrets.token_urlsafe(24)
        self.lock, self.free = threading.Lock(), threading.Semaphore(_OPEN)
        try:
            super().__init__((_HOST, port), _RequestHandler)
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise BadParameter(
                f"port={port} cannot be used ({why}). Leave it out, and a free port is chosen."
            ) from None

    @property
    def address(self) -> str:
        """Address of the page, with the token."""
        return f"http://{_HOST}:{self.server_port}/?token={self.token}"

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a request of the page, one request at a time."""
        with self.lock:
            return self.exploration.answer(request)

    def html(self) -> str:
        """Return the page."""
        with self.lock:
            start = self.exploration.start()
        return page(start, source("server.js"), f"User models: {start['title']}", connect="'self'")

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a request in a new thread, or close it if too many are open."""
        if self.free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer a request in its thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report an error, unless it is a page that was closed before its answer came."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Arriving(io.RawIOBase):
    """Bytes of a request; reading them raises TimeoutError after 30 seconds, however slowly they arrive."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection, self.end = connection, time.monotonic() + _SECONDS

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self.end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.connection.settimeout(left)
        return self.connection.recv_into(buffer)


class _RequestHandler(BaseHTTPRequestHandler):
    server: ExplorerServer
    server_version, sys_version = "pyterrier-cwla", ""
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        """Limit the time in which the request is read."""
        super().setup()
        self.rfile = io.BufferedReader(_Arriving(self.connection))

    def do_GET(self) -> None:
        """Answer with the page."""
        if self._allowed("/"):
            self._respond(self.server.html, "text/html; charset=utf-8")

    def do_POST(self) -> None:
        """Answer a request of the page with JSON."""
        if not self._allowed("/ask"):
            return
        length = self.headers.get("Content-Length")
        if length is None:
            self._refuse(HTTPStatus.LENGTH_REQUIRED)
        elif not length.isdecimal() or len(length) > len(str(_MOST)) or int(length) > _MOST:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        elif self.headers.get_content_type() != "application/json":
            self._refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        else:
            self._answer(self.rfile.read(int(length)))

    def _answer(self, body: bytes) -> None:
        try:
            request = json.loads(body)
        except (ValueError, RecursionError):
            request = None
        if isinstance(request, dict):
            self._respond(lambda: json.dumps(self.server.answer(request), allow_nan=False), "application/json")
        else:
            self._refuse(HTTPStatus.BAD_REQUEST)

    def _respond(self, made: Callable[[], str], kind: str) -> None:
        """Send a text; if making it raises an error, print the error in the terminal and refuse the request."""
        try:
            body = made().encode()
        except Exception:
            traceback.print_exc()
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR)
        else:
            self._send(HTTPStatus.OK, body, kind)

    def _allowed(self, path: str) -> bool:
        """Return whether a request names this server, has the token and asks for the path; otherwise refuse it.

        Other names than 127.0.0.1 and localhost are refused, since pages of other sites could use them.
        """
        port = self.server.server_port
        asked, _, query = self.path.partition("?")
        token = (parse_qs(query).get("token") or [""])[0]
        known = self.headers.get("Host") in (f"{_HOST}:{port}", f"localhost:{port}")
        if not known or not hmac.compare_digest(token.encode(), self.server.token.encode()):
            self._refuse(HTTPStatus.FORBIDDEN)
            return False
        if asked != path:
            self._refuse(HTTPStatus.NOT_FOUND)
            return False
        return True

    def _refuse(self, status: HTTPStatus) -> None:
        why = f"{status.value} {status.phrase}. {_WHY.get(status, '')}".rstrip()
        if self.command == "POST":
            self._send(status, json.dumps({"error": why}).encode(), "application/json")
        else:
            self._send(status, f"{why}\n".encode(), "text/plain; charset=utf-8")

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse a request that is not one of HTTP, or has another method."""
        self._refuse(HTTPStatus(code))

    def _send(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **_HEADERS}.items():
            self.send_header(name, value)
        self.connection.settimeout(_SECONDS)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: requests are those of the user's own page."""
