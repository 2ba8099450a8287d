"""Server of the explorer's page for one user on this machine: it answers from one exploration and reads no files."""

from __future__ import annotations

import hmac
import json
import secrets
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ..errors import BadParameter
from .exploration import Exploration
from .page import page

_HOST = "127.0.0.1"
_MOST = 4_000_000  # bytes of a request
_ASK = """async (request) => {
  const response = await fetch("ask" + location.search, {
    method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(request)});
  if (!response.ok) throw new Error(`${response.status} ${response.statusText}`);
  return response.json();
}"""


class ExplorerServer(ThreadingHTTPServer):
    """Server of the page of one exploration, on 127.0.0.1 alone.

    Every request needs the random token that :attr:`address` contains; others are answered with 403.

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

    daemon_threads = True

    def __init__(self, exploration: Exploration, port: int = 0) -> None:
        self.exploration, self.token = exploration, secrets.token_urlsafe(24)
        self.lock = threading.Lock()
        try:
            super().__init__((_HOST, port), _Requests)
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise BadParameter(
                f"port={port} cannot be used ({why}). Leave it out, and a free port is chosen."
            ) from None

    @property
    def address(self) -> str:
        """Address of the page, with the token."""
        return f"http://{_HOST}:{self.server_port}/?token={self.token}"

    def answer(self, request: Any) -> dict[str, Any]:
        """Return the answer to a request of the page, one request at a time."""
        if not isinstance(request, dict):
            raise ValueError("a request is a JSON object")
        with self.lock:
            return self.exploration.answer(request)

    def html(self) -> str:
        """Return the page."""
        with self.lock:
            start = self.exploration.start()
        return page(start, _ASK, f"User models: {start['title']}", connect="'self'")


class _Requests(BaseHTTPRequestHandler):
    server: ExplorerServer
    server_version, sys_version = "pyterrier-cwla", ""
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer with the page."""
        if self._allowed("/"):
            self._send(HTTPStatus.OK, self.server.html().encode(), "text/html; charset=utf-8")

    def do_POST(self) -> None:
        """Answer a request of the page with JSON."""
        if not self._allowed("/ask"):
            return
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _MOST:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return
        if self.headers.get_content_type() != "application/json":
            self._refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
            return
        try:
            answer = self.server.answer(json.loads(self.rfile.read(int(length))))
        except (ValueError, RecursionError):
            self._refuse(HTTPStatus.BAD_REQUEST)
            return
        self._send(HTTPStatus.OK, json.dumps(answer, allow_nan=False).encode(), "application/json")

    def _allowed(self, path: str) -> bool:
        """Return whether a request names this server, has the token and asks for the path; otherwise refuse it.

        Other names than 127.0.0.1 and localhost are refused, since pages of other sites could use them.
        """
        port = self.server.server_port
        asked = urlsplit(self.path)
        token = (parse_qs(asked.query).get("token") or [""])[0]
        known = self.headers.get("Host") in (f"{_HOST}:{port}", f"localhost:{port}")
        if not known or not hmac.compare_digest(token.encode(), self.server.token.encode()):
            self._refuse(HTTPStatus.FORBIDDEN)
            return False
        if asked.path != path:
            self._refuse(HTTPStatus.NOT_FOUND)
            return False
        return True

    def _refuse(self, status: HTTPStatus) -> None:
        self.close_connection = True
        self._send(status, f"{status.value} {status.phrase}\n".encode(), "text/plain; charset=utf-8")

    def _send(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: requests are those of the user's own page."""
