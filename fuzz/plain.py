"""Slow readers of text files in plain Python, independent of the package and of Arrow."""

from __future__ import annotations

import csv
import json
import re
import zlib
from collections.abc import Iterator

BLANKS = b" \t\v\f"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE | re.ASCII)
_WHOLE = re.compile(r"-?\d+", re.ASCII)
_DOCUMENTS = {"doc_id", "docno", "id"}
_SECOND = {
    "lengths": {"doc_length": "doc_length", "length": "doc_length", "words": "doc_length"},
    "duplicates": {"duplicate_of": "duplicate_of", "cluster": "cluster"},
}


class Refused(ValueError):
    """Error of the slow readers for invalid input."""


def run(data: bytes) -> dict[str, list]:
    """Return the columns of a run."""
    rows = []
    for fields in _fields(data, 6, rest=True):
        rows.append((fields[0].decode(), fields[2].decode(), number(fields[4].decode())))
    _once([row[:2] for row in rows])
    return _columns(rows, "query_id", "doc_id", "score")


def qrels(data: bytes) -> dict[str, list]:
    """Return the columns of judgments; with ``iteration`` only if it has several values."""
    rows = []
    for fields in _fields(data, 4):
        rows.append((fields[0].decode(), fields[2].decode(), fields[1].decode(), fields[3].decode()))
    several = len({row[2] for row in rows}) > 1
    _once([row[: 3 if several else 2] for row in rows])
    graded = [(*row[:3], value) for row, value in zip(rows, grades([row[3] for row in rows]), strict=True)]
    columns = _columns(graded, "query_id", "doc_id", "iteration", "relevance")
    return columns if several else {name: values for name, values in columns.items() if name != "iteration"}


def qrels_of_beir(data: bytes) -> dict[str, list]:
    """Return the columns of judgments with a header of BEIR, or of others without it."""
    lines = _lines(data)
    first = next((number for number, line in enumerate(lines) if line.strip(BLANKS)), 0)
    if lines[first].lstrip(BLANKS).rstrip(b" \t").lower() != b"query-id\tcorpus-id\tscore":
        return qrels(data)
    rows = [_quoted(line.decode(), "\t") for line in lines[first + 1 :] if line]
    if not any(line.strip(BLANKS) for line in lines[first + 1 :]):
        raise Refused("only a header")
    if any(len(row) != 3 for row in rows):
        raise Refused("fields")
    _once([tuple(row[:2]) for row in rows])
    values = grades([row[2].strip(" \t") for row in rows])
    return _columns(
        [(*row[:2], value) for row, value in zip(rows, values, strict=True)], "query_id", "doc_id", "relevance"
    )


def nested(data: bytes) -> dict[str, list]:
    """Return the columns of a run in JSON, of a file with one split at most."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise Refused("UTF-16")
    try:
        found = json.loads(data.removeprefix(b"\xef\xbb\xbf").decode(), object_pairs_hook=_each_name_once)
    except RecursionError as error:
        raise Refused("nested too deeply") from error
    if not isinstance(found, dict):
        raise Refused("no dict")
    parts = [part for name, part in found.items() if name != "mteb_model_meta"]
    values = [value for part in parts if isinstance(part, dict) for value in part.values()]
    if len(parts) < len(found) or isinstance((values or [0])[0], dict):
        if len(values) != 1 or not all(isinstance(part, dict) for part in [*parts, *values]):
            raise Refused("no split, or several")
        found = values[0]
    rows = []
    for query, ranking in found.items():
        if not isinstance(ranking, dict):
            raise Refused("no ranking")
        for document, score in ranking.items():
            if isinstance(score, bool) or not isinstance(score, int | float) or score != score:
                raise Refused("no number")
            try:
                rows.append((query, document, float(score)))
            except OverflowError as error:
                raise Refused("too large") from error
            (query + document).encode()
    if not rows:
        raise Refused("empty")
    return _columns(rows, "query_id", "doc_id", "score")


def _each_name_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len(dict(pairs)) < len(pairs):
        raise Refused("a name stands twice")
    return dict(pairs)


def pairs(data: bytes, kind: str) -> dict[str, list]:
    """Return the columns of lengths or duplicates."""
    lines = [line for line in _lines(data) if line.strip(BLANKS)]
    if not lines:
        raise Refused("empty")
    delimiter = next((d for d in "\t," if d.encode() in lines[0]), " ")
    names = next(csv.reader([lines[0].decode(errors="replace")])) if delimiter == "," else _cells(lines[0], delimiter)
    meant = [_meaning(name.strip().lower(), kind) for name in names]
    if len(meant) > 1 and set(meant) == {"doc_id"}:
        raise Refused("only document columns")
    usual = {"lengths": "doc_length", "duplicates": "duplicate_of"}[kind]
    if "doc_id" in meant and "" not in meant and len(set(meant)) == 2:
        lines = lines[1:]
    else:
        meant = ["doc_id", usual]
    column = next(name for name in meant if name != "doc_id")
    rows = []
    for line in lines:
        cells = _cells(line, delimiter)
        if len(cells) != len(meant):
            raise Refused(f"{len(cells)} fields")
        documents = {cell for cell, name in zip(cells, meant, strict=True) if name == "doc_id"}
        texts = [cell for cell, name in zip(cells, meant, strict=True) if name != "doc_id"]
        values = {_length(text) for text in texts} if kind == "lengths" else {*texts}
        if len(documents) > 1 or len(values) > 1:
            raise Refused("different values in columns of the same meaning")
        rows.append((*documents, *values))
    if not rows:
        raise Refused("only a header")
    _once([row[0] for row in rows])
    return _columns(rows, "doc_id", column)


def _meaning(name: str, kind: str) -> str:
    return "doc_id" if name in _DOCUMENTS else _SECOND[kind].get(name, "")


def _length(text: str) -> float:
    value = number(text.strip(" \t"))
    if not 0 <= value < float("inf"):
        raise Refused("invalid length")
    return value


def unpacked(data: bytes) -> bytes:
    """Decompress gzip or zstd data; other data are returned unchanged.

    Data that begin with the magic number of a format but are invalid are an error.
    """
    if data[:4] == b"PAR1":
        raise Refused("incomplete Parquet file")
    try:
        if data[:4] == b"\x28\xb5\x2f\xfd":
            return _of_zstd(data)
        return _of_gzip(data) if data[:2] == b"\x1f\x8b" else data
    except (OSError, EOFError, zlib.error) as error:
        raise Refused(str(error)) from error


def _of_gzip(data: bytes) -> bytes:
    """Content of consecutive gzip members, without other data after them."""
    found = b""
    while data:
        piece = zlib.decompressobj(wbits=31)
        found += piece.decompress(data)
        if not piece.eof:
            raise EOFError("incomplete gzip member")
        data = piece.unused_data
    return found


def _of_zstd(data: bytes) -> bytes:
    """Content of zstd data, by cramjam, or by Arrow (as in the package) if cramjam is not installed."""
    try:
        from cramjam import DecompressionError, zstd
    except ImportError:
        import pyarrow as pa

        return pa.input_stream(pa.py_buffer(data), compression="zstd").read()
    try:
        return bytes(zstd.decompress(data))
    except DecompressionError as error:
        raise OSError(str(error)) from error


def number(text: str) -> float:
    """Parse a number other than NaN."""
    if not _NUMBER.fullmatch(text):
        raise Refused(f"no number: {text!r}")
    return float(text)


def grades(texts: list[str]) -> list[int] | list[float]:
    """Parse finite numbers; integers of 64 bits if all are whole."""
    if all(_WHOLE.fullmatch(text) and len(text) < 400 and -(2**63) <= int(text) < 2**63 for text in texts):
        return [int(text) for text in texts]
    values = [number(text) for text in texts]
    if any(abs(value) == float("inf") for value in values):
        raise Refused("an infinite grade")
    whole = all(value.is_integer() and -(2.0**63) <= value < 2.0**63 for value in values)
    return [int(value) for value in values] if whole else values


def _lines(data: bytes) -> list[bytes]:
    data = data.removeprefix(b"\xef\xbb\xbf")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise Refused("UTF-16")
    return re.split(rb"\r\n|\r|\n", data)


def _fields(data: bytes, count: int, rest: bool = False) -> Iterator[list[bytes]]:
    """Fields of each line. With ``rest``, the last field is the rest of the line."""
    some = False
    for line in _lines(data):
        fields = line.split(None, count - 1 if rest else -1)
        if fields and len(fields) != count:
            raise Refused(f"{len(fields)} fields")
        if fields:
            some = True
            yield fields
    if not some:
        raise Refused("empty")


def _cells(line: bytes, delimiter: str) -> list[str]:
    if delimiter == " ":
        return [cell.decode() for cell in line.split()]
    text = line.decode()
    if delimiter == "\t":
        return text.split("\t")
    return _quoted(text)


def _quoted(text: str, delimiter: str = ",") -> list[str]:
    """Fields between commas or tabs; within a quoted field, two quotation marks stand for one."""
    cells, at = [], 0
    while True:
        if text[at : at + 1] == '"':
            cell, at = "", at + 1
            while text[at : at + 1] != '"' or text[at + 1 : at + 2] == '"':
                if at >= len(text):
                    raise Refused("missing closing quotation mark")
                cell += text[at]
                at += 1 + (text[at] == '"')
            at += 1
        else:
            end = text.find(delimiter, at)
            cell = text[at:] if end < 0 else text[at:end]
            if '"' in cell:
                raise Refused("quotation mark within a field")
            at += len(cell)
        cells.append(cell)
        if at == len(text):
            return cells
        if text[at] != delimiter:
            raise Refused("text after a closing quotation mark")
        at += 1


def _once(rows: list) -> None:
    if len(set(rows)) < len(rows):
        raise Refused("duplicate row")


def _columns(rows: list[tuple], *names: str) -> dict[str, list]:
    return {name: [row[at] for row in rows] for at, name in enumerate(names)}
