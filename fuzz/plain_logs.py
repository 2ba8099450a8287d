"""Slow reader of logs in plain Python, independent of the package and of pandas."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from .plain import Refused, unpacked

_IDS = ("user", "session", "topic", "docno")
_TRUTHS = ("clicked", "saved", "seen", "duplicate", "cut_off")
_AMOUNTS = ("clicks", "summary_seconds", "document_seconds", "words", "time")
_KNOWN = ("user", "session", "topic", "rank", "docno", "clicked", "grade", "seen", "clicks", "saved", "summary_seconds",
          "document_seconds", "words", "duplicate", "time", "cut_off")  # fmt: skip
_NOTHING = (None, "", "NA", "NaN", "nan")
_NUMBER = re.compile(r"\s*[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf|infinity)\s*", re.IGNORECASE | re.ASCII)


class Foreign(Exception):
    """Log with an unknown column, which the package may reject as a misspelt name."""


def known(rows: Any) -> dict[str, list]:
    """Return the known columns of a log as plain values, with None for NaN."""
    return {
        name: [None if isinstance(value, float) and math.isnan(value) else value for value in rows[name].tolist()]
        for name in _KNOWN
        if name in rows
    }


def log(data: bytes) -> dict[str, list]:
    """Return the columns of a log, sorted by user, session and rank."""
    rows = _rows(data)
    names = [name for name in _KNOWN if name in rows[0]]
    names = [n for n in names if n in _KNOWN[:6] or any(row[n] not in _NOTHING for row in rows)]
    read = [_read(row, names) for row in rows]
    _check_sessions(read, names)
    _check_documents(read)
    if "document_seconds" in names:
        for row in read:
            row["document_seconds"] = row["document_seconds"] if row["clicked"] else None
    read.sort(key=lambda row: (row["user"], row["session"], row["rank"]))
    names = [n for n in names if n in _KNOWN[:6] or any(row[n] is not None for row in read)]
    return {name: [row[name] for row in read] for name in names}


def _rows(data: bytes) -> list[dict[str, str | None]]:
    data = unpacked(data).removeprefix(b"\xef\xbb\xbf")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise Refused("UTF-16")
    text = data.decode()
    first = re.search(r"[^\r\n]+", text)
    if first is None:
        raise Refused("empty")
    delimiter = "\t" if "\t" in first.group() else ","
    header, *lines = list(_split(text, delimiter))
    if len(set(header)) < len(header) or any(name not in header for name in _KNOWN[:6]):
        raise Refused("columns")
    if any(name not in _KNOWN for name in header):
        raise Foreign
    if not lines or any(len(line) != len(header) for line in lines):
        raise Refused("cells")
    return [dict(zip(header, (cell or None for cell in line), strict=True)) for line in lines]


def _split(text: str, delimiter: str) -> Iterator[list[str]]:
    """Rows of cells; quoted cells may span several lines."""
    if delimiter == "\t":
        yield from (line.split("\t") for line in re.split("\r\n|\r|\n", text) if line)
        return
    at = 0
    while at < len(text):
        if text[at] in "\r\n":
            at += 1
            continue
        cells: list[str] = []
        while True:
            cell = ""
            if text[at : at + 1] == '"':
                at += 1
                while text[at : at + 1] != '"' or text[at + 1 : at + 2] == '"':
                    if at >= len(text):
                        raise Refused("missing closing quotation mark")
                    cell += text[at]
                    at += 1 + (text[at] == '"')
                at += 1
                if at < len(text) and text[at] not in ",\r\n":
                    raise Refused("text after a closing quotation mark")
            else:
                end = re.compile("[,\r\n]|$").search(text, at)
                cell = text[at : end.start() if end else None]
                at += len(cell)
            cells.append(cell)
            if text[at : at + 1] != ",":
                break
            at += 1
        yield cells


def _read(row: dict[str, str | None], names: list[str]) -> dict[str, Any]:
    read: dict[str, Any] = {}
    for name in names:
        value = row[name]
        if name in _IDS:
            if value is None:
                raise Refused(f"no {name}")
            read[name] = value
        elif name in _TRUTHS:
            truth = {"true": True, "false": False, "1": True, "0": False, "1.0": True, "0.0": False}
            read[name] = None if value in _NOTHING else truth.get(str(value).strip().lower())
            if read[name] is None and not (name == "saved" and value in _NOTHING):
                raise Refused(f"{name} {value!r}")
        else:
            read[name] = None if value in _NOTHING and name != "rank" else _number(value)
    if read.get("saved", 0) is None:
        if read["clicked"]:
            raise Refused("saved is unknown")
        read["saved"] = False
    if not (read["rank"] >= 1 and read["rank"] < 2**53 and read["rank"] % 1 == 0):
        raise Refused("rank")
    read["rank"] = int(read["rank"])
    for name in ("grade", *_AMOUNTS):
        value = read.get(name)
        if value is not None and (math.isinf(value) or (value < 0 and name != "grade")):
            raise Refused(name)
    if read["clicked"] and read.get("seen") is False:
        raise Refused("a click on an unseen result")
    if read.get("clicks") is not None and (read["clicks"] > 0) != read["clicked"]:
        raise Refused("clicks")
    if read.get("saved") and not read["clicked"]:
        raise Refused("saved")
    if (read.get("document_seconds") or 0) > 0 and not read["clicked"]:
        raise Refused("seconds")
    return read


def _number(text: str | None) -> float:
    if text is None or not _NUMBER.fullmatch(text):
        raise Refused(f"no number: {text!r}")
    return float(text) + 0.0  # -0 is 0


def _check_sessions(rows: list[dict[str, Any]], names: list[str]) -> None:
    first: dict[tuple, dict] = {}
    seen: set[tuple] = set()
    for row in rows:
        session = (row["user"], row["session"])
        before = first.setdefault(session, row)
        if row["topic"] != before["topic"] or row.get("cut_off") != before.get("cut_off"):
            raise Refused("two topics or two values of cut_off")
        for key in ("rank", "docno"):
            if (*session, key, row[key]) in seen:
                raise Refused(f"duplicate {key}")
            seen.add((*session, key, row[key]))


def _check_documents(rows: list[dict[str, Any]]) -> None:
    known: dict[tuple, float] = {}
    for row in rows:
        for key, value in (
            (("g", row["topic"], row["docno"]), row.get("grade")),
            (("w", row["docno"]), row.get("words")),
        ):
            if value is not None and known.setdefault(key, value) != value:
                raise Refused("two grades, or two lengths")
