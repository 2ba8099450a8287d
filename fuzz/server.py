"""Requests to the explorer's server: one answer, with the numbers of ``evaluate``; never a failure of the server."""

from __future__ import annotations

import json
import random
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from http.client import HTTPException, HTTPResponse
from typing import Any

import pandas as pd

from pyterrier_cwla import evaluate
from pyterrier_cwla.errors.sanitise import harmless
from pyterrier_cwla.explorer import Exploration, ExplorerServer
from pyterrier_cwla.explorer.controls import CHOICES
from pyterrier_cwla.measures.declarations import needs_of
from pyterrier_cwla.measures.named import measure_of
from pyterrier_cwla.model.language import TABLES

from . import measures
from .found import Wrong

_QRELS = {"q1": {"a": 2, "b": 0, "c": 1, "x": 1}, "q2": {"d": 1, "<b>": 3}, "q\u20283": {"a": 0, "b\x1b[31m": 1}}
_WORDS = {"a": 100, "b": 0, "c": 350, "d": 20, "<b>": 3, "b\x1b[31m": 70, "u": 500}
_RANKED = {"A": {"q1": ["a", "b", "c", "u"], "q2": ["d", "u", "<b>"], "q\u20283": ["b\x1b[31m", "a"]},
           "</script>": {"q1": ["c", "u", "a"], "q2": ["<b>", "d"], "q\u20283": ["a", "b"]}}  # fmt: skip
_TEXTS = {"a": "of a\x00", "b": "<script>", "c": "\u202eright"}
_MEASURES = ["RBP(p=0.5,rel=1)", "nDCG@3", "TBG(half_life=60)", "ERR", "AP(rel=2)", "CWLA(C='inst(2)',A='max',max_rel=3)",
             "CWLA(C='rbp(0.8)',A='erg',max_rel=3)", "UMeasure(T=300,max_rel=3)", "QMeasure", "P", "NumRel", "x", "TBG(lengths='/etc/passwd')"]  # fmt: skip
_PATHS = ["C", "A", "gain", "effort", "norm", "end", "measure", "C.phi", "C.T", "cutoff", "p", "rel", "half_life", "max_rel", "A.T",
          "unseen", "own.A", "C.values", "gain.gains", "T", "C.first", "x"]  # fmt: skip
_VALUES = ["0.5", "2", "1e9", "-1", "", "rr", "inst", "erg", "binary", "time", "ideal", "open", "stop", "AP", "TBG", "CWLA", "nan",
           "{1:1}", "0.9, 0.5, 0", "1e308", "\ud800", "product", "fixed", "table", "100", "4194305", "'"]  # fmt: skip
_USUAL = {
    "norm": ["none", "ideal", "all"],
    "end": ["open", "stop", "5"],
    "measure": ["AP", "TBG", "ERR", "CWLA", "RBP", "nDCG"],
}
_ODD: list[Any] = [None, True, 0, -1, 1001, 1e400, 10**30, "", "x", [], {}, [None], {"a": 1}, float("nan")]
_HEAD = b"%s HTTP/1.1\r\nHost: @HOST@\r\nContent-Type: application/json\r\nContent-Length: @LENGTH@\r\n\r\n"
TOKENS = [b"@HOST@", b"@TOKEN@", b"GET", b"POST", b"HEAD", b"/ask?token=@TOKEN@", b"HTTP/1.0", b"HTTP/9.9", b"Content-Length: 7\r\n",
          b"Transfer-Encoding: chunked\r\n", b"Expect: 100-continue\r\n", b"X: y\r\n" * 150, b"Host: evil\r\n", b"%00", b"../", b"?",
          *(json.dumps(one).encode() for one in (*_VALUES, *_MEASURES, *_PATHS, *_ODD)), b"[" * 3000, b'{"a":' * 500]  # fmt: skip


def _posted(request: bytes) -> bytes:
    return _HEAD % b"POST /ask?token=@TOKEN@" + request


EXAMPLES = [_posted(json.dumps(one).encode()) for one in (
    {}, {"want": "topics"}, {"want": "sweep", "sweep": "C.phi"}, {"measure": "TBG", "set": {"half_life": "30"}}, {"topic": "q2", "grades": {"d": None, "u": 2}},
    {"orders": {"A": ["b", "a"]}, "measure": "nDCG@2"}, {"set": {"C": "inst"}})]  # fmt: skip
EXAMPLES += [_HEAD % b"GET /?token=@TOKEN@", _HEAD % b"HEAD /"]


def grammar(rng: random.Random) -> bytes:
    """Return a request whose JSON is mostly one of the page."""
    request: dict[str, Any] = {"want": rng.choice(("state",) * 4 + ("sweep", "topics"))}
    if rng.random() < 0.7:
        request["measure"] = (
            rng.choice(_MEASURES[: 8 if rng.random() < 0.8 else None])
            if rng.random() < 0.8
            else measures.grammar(rng).decode(errors="replace")
        )
    if rng.random() < 0.5:
        path = rng.choice(_PATHS[:7])
        usual = [*TABLES.get(CHOICES[path][0], ())] if path in CHOICES else _USUAL.get(path, _VALUES)
        request["set"] = {path: rng.choice(usual)} if rng.random() < 0.7 else {rng.choice(_PATHS): rng.choice(_VALUES)}
    if rng.random() < 0.3:
        request["topic"] = rng.choice([*map(harmless, _QRELS), "q9"])
    if rng.random() < 0.4:
        request["grades"] = {
            rng.choice("abbccux"): rng.choice((0, 1, 2, 3, None, 2.5)) for _ in range(rng.randint(0, 3))
        }
    if rng.random() < 0.4:
        request["orders"] = {rng.choice(("A", "</script>", "B")): rng.sample("abcu", rng.randint(1, 2))}
    if request["want"] == "sweep":
        request["sweep"] = rng.choice(_PATHS)
    if rng.random() < 0.1:
        request[rng.choice([*request, "x"])] = rng.choice(_ODD)
    return _posted(json.dumps(request).encode())


class _Server(ExplorerServer):
    """Server that keeps the last request that it answered."""

    asked: Mapping[str, Any] | None = None

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        self.asked = request
        return super().answer(request)


@cache
def _runs() -> dict[str, pd.DataFrame]:
    columns = ["query_id", "doc_id", "score", "doc_length"]
    return {
        name: pd.DataFrame(
            [(qid, d, -float(rank), _WORDS[d]) for qid, of in ranked.items() for rank, d in enumerate(of)],
            columns=columns,
        )
        for name, ranked in _RANKED.items()
    }


def _exploration() -> Exploration:
    return Exploration(_QRELS, _runs(), texts=_TEXTS)


@cache
def _server() -> _Server:
    return _Server(_exploration())


def one_input(data: bytes) -> bool:
    """Test one request; return whether there is an answer without an error."""
    server = _server()
    server.asked = None
    length = len(data.partition(b"\r\n\r\n")[2])
    request = data.replace(b"@HOST@", f"127.0.0.1:{server.server_port}".encode()).replace(b"@LENGTH@", b"%d" % length)
    status, headers, body = _answered(server, request.replace(b"@TOKEN@", server.token.encode()))
    if status >= 500 and status not in (501, 505):
        raise Wrong(f"status {status}: {body!r:.300}")
    if status == 200 and b"@TOKEN@" not in data:
        raise Wrong("an answer to a request without the token")
    if status and (headers["X-Frame-Options"] != "DENY" or int(headers["Content-Length"]) != len(body)):
        raise Wrong(f"headers {dict(headers)} of {len(body):,} bytes")
    if status != 200 or server.asked is None:
        return status == 200
    answer = json.loads(body, parse_constant=_refuse)
    if odd := [text for text in _texts(answer) if harmless(text) != text]:
        raise Wrong(f"control characters in {odd[0]!r:.300}")
    if len(data) % 8 == 0 and (alone := _exploration().answer(server.asked)) != answer:
        raise Wrong(f"after other requests {answer!r:.500}, and alone {alone!r:.500}")
    if "error" in answer:
        return False
    _check(server, server.asked, answer, len(data))
    return True


def _answered(server: ExplorerServer, request: bytes) -> tuple[int, Any, bytes]:
    """Return status, headers and body of the response; status 0 if there is none, or one of HTTP/0.9."""
    here, there = socket.socketpair()
    with here:
        there.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_000_000)
        here.sendall(request)
        here.shutdown(socket.SHUT_WR)
        with suppress(ConnectionError):
            server.finish_request(there, ("", 0))
        server.shutdown_request(there)
        response = HTTPResponse(here)
        try:
            response.begin()
        except HTTPException:
            return 0, None, b""
        return response.status, response.headers, response.read()


def _refuse(text: str) -> None:
    raise Wrong(f"{text} is not JSON")


def _texts(answer: Any) -> Iterator[str]:
    """Yield all texts of an answer but those of the error page's ``measure``."""
    if isinstance(answer, str):
        yield answer
    elif isinstance(answer, dict | list):
        for one in answer.items() if isinstance(answer, dict) else answer:
            yield from _texts(list(one) if isinstance(one, tuple) else one)


def _check(server: ExplorerServer, request: Mapping[str, Any], answer: dict[str, Any], number: int) -> None:
    """Compare the numbers of an answer with those of ``evaluate``, and those of a sweep with those of a state."""
    want = request.get("want", "state")
    if want == "sweep":
        value = answer["values"][number % len(answer["values"])]
        state = server.answer(
            {**request, "want": "state", "set": {**(request.get("set") or {}), answer["path"]: value}}
        )
        at = [scores[answer["values"].index(value)] for scores in answer["scores"]]
        if "error" not in state and at != [one["score"] for one in state["rankings"]]:
            raise Wrong(f"{answer['path']}={value} gives {at} in the sweep, and {state['rankings']!r:.500}")
        return
    topics = {harmless(qid): qid for qid in _QRELS}
    if want == "topics":
        measure = measure_of(answer["measure"])
        tables = [evaluate(_QRELS, run, [measure], by_query=True) for run in _runs().values()]
        for row in answer["rows"]:
            expected = [f"{table.iloc[:, 0].xs(topics[row['topic']], level=-1).iloc[0]:.4f}" for table in tables]
            if row["scores"] != expected:
                raise Wrong(f"{measure} of {row['topic']!r} is {row['scores']}, and {expected} by evaluate")
        return
    measure = measure_of(answer["measure"]["text"])
    if needs_of(measure).mean_of:  # of whole runs
        return
    ids, qid = {harmless(d): d for d in _WORDS}, topics[answer["topic"]]
    grades: dict[str, Any] = dict(_QRELS[qid])
    for text, grade in (request.get("grades") or {}).items():
        grades[ids[text]] = grade
    judged = {qid: {d: float(grade) for d, grade in grades.items() if grade is not None}}
    for ranking in answer["rankings"]:
        ranked = [ids[text] for text in ranking["columns"]["id"]]
        rows = [(qid, d, -float(rank), _WORDS[d]) for rank, d in enumerate(ranked)]
        run = pd.DataFrame(rows, columns=["query_id", "doc_id", "score", "doc_length"])
        score = f"{evaluate(judged, run, [measure]).iloc[0, 0]:.4f}"
        if ranking["score"] != score:
            raise Wrong(f"{measure} of {ranked} is {ranking['score']}, and {score} by evaluate")
