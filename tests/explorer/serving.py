"""A server of the explorer in a thread, for tests."""

import json
import threading
from contextlib import contextmanager
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from pyterrier_cwla.explorer import ExplorerServer


@contextmanager
def served(exploration):
    """Serve an exploration on a free port."""
    with ExplorerServer(exploration) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def fetched(address, data=None, **headers):
    """Return the status, the headers and the text of a response."""
    body = data if data is None or isinstance(data, bytes) else json.dumps(data).encode()
    try:
        with urlopen(Request(address, body, {"Content-Type": "application/json", **headers})) as response:
            return response.status, response.headers, response.read().decode()
    except HTTPError as error:
        return error.code, error.headers, error.read().decode()
