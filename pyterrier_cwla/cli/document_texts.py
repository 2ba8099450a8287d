"""Texts of documents in the file of the option ``--texts``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import MalformedFile
from .input_paths import check_exists


def texts_of(path: Path) -> dict[str, str]:
    """Return texts by document id; empty cells are empty texts.

    Parameters
    ----------
    path : Path
        CSV or TSV file with a header, Parquet file, or JSON lines (".jsonl"), with ids of documents and ``text``.
        Text files may be packed with gzip or zstd.

    Raises
    ------
    MalformedFile
        If the file cannot be read or has no such columns, or if two rows give different texts to one document.
    """
    from ..behaviour.logs.log import read
    from ..data.document_tables import IDS

    check_exists(path)
    columns, place = _json_lines(str(path)) if ".jsonl" in path.suffixes else read(str(path))[:2]
    ids = next((name for name in IDS if name in columns), None)
    if ids is None or "text" not in columns:
        raise MalformedFile(
            f"{path}: needs the columns docno and text, and has {', '.join(map(str, columns)) or 'none'}."
        )
    texts: dict[str, str] = {}
    for row, (doc_id, cell) in enumerate(zip(columns[ids], columns["text"], strict=True)):
        text = "" if cell is None or cell != cell else cell  # pandas has NaN for empty cells
        if not isinstance(doc_id, str | int) or not isinstance(text, str) or doc_id == "":
            raise MalformedFile(f"{place(row)}: needs a document id and a text, and has {doc_id!r} and {text!r:.80}.")
        if texts.setdefault(str(doc_id), text) != text:
            raise MalformedFile(f"{place(row)}: another text of document {str(doc_id)!r}. Give each document one text.")
    return texts


def _json_lines(path: str) -> tuple[Mapping[str, Sequence[Any]], Callable[[int], str]]:
    """Return the members of the objects of all lines as columns, and the place of each row."""
    import pyarrow as pa

    from ..files.formats import packing_of
    from ..files.memory_limit import unpacked

    rows, numbers = [], []
    try:
        lines = unpacked(path, packing_of(path)).split(b"\n")
    except (OSError, pa.ArrowException) as error:
        raise MalformedFile(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise MalformedFile(f"{path}:{number}: not a JSON object ({error}).") from error
        if not isinstance(row, dict):
            raise MalformedFile(f"{path}:{number}: not a JSON object.")
        rows.append(row)
        numbers.append(number)
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}, lambda row: f"{path}:{numbers[row]}"
