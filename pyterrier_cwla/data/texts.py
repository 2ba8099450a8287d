"""Texts of documents in any form, and tokenisers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any

import pyarrow as pa

from ..errors import BadParameter, near, some
from ..tasks.progress import bar
from .columns import strings
from .document_tables import IDS

Split = Callable[[str], Sequence[str]]
"""Tokeniser: function from a text to its words."""


def words_of(text: str) -> list[str]:
    """Return the maximal sequences of letters, digits and underscores, in lower case."""
    return re.findall(r"\w+", text.lower())


TOKENISERS: dict[str, Split] = {"whitespace": str.split, "words": words_of}
"""Tokenisers by name; "whitespace" splits at blanks and changes nothing else."""


def tokeniser_named(tokeniser: str | Split) -> tuple[str, Split]:
    """Return the name of a tokeniser, for saved tables, and the function."""
    if callable(tokeniser):
        return getattr(tokeniser, "__qualname__", type(tokeniser).__name__), tokeniser
    if tokeniser not in TOKENISERS:
        raise BadParameter(f"no tokeniser {tokeniser!r}. {near(str(tokeniser), TOKENISERS)} Or give a function.")
    return tokeniser, TOKENISERS[tokeniser]


def documents(
    texts: Any, fields: Sequence[str] | None = None, progress: bool = True, label: str = "reading"
) -> Iterator[tuple[str, str]]:
    """Yield document ids and texts, with a progress bar after one second.

    Parameters
    ----------
    texts : dict, Series, DataFrame, dataset, or iterable
        Texts by document id; a frame with the columns doc_id (or docno) and text; an object with ``docs_iter()``, such
        as a dataset of ir_datasets; or an iterable of named tuples or dicts.
    fields : sequence of str, optional
        Columns or fields whose values, joined by blanks, are the text. The default is ``text``, or ``default_text()``
        of ir_datasets.
    progress : bool, default=True
        Whether to show a progress bar.
    label : str, default="reading"
        Text of the progress bar.

    Yields
    ------
    tuple of str
        Document id and text.

    Raises
    ------
    BadParameter
        If the texts cannot be read, or if an id or text is not a string.
    """
    total = texts.docs_count() if hasattr(texts, "docs_count") else len(texts) if isinstance(texts, Sized) else None
    if isinstance(texts, Mapping):
        texts = texts.items()
    elif hasattr(texts, "docs_iter"):
        texts = _of_records(texts.docs_iter(), fields)
    elif hasattr(texts, "columns") or isinstance(texts, pa.Table):
        texts = _of_frame(texts, fields or ("text",))
    elif hasattr(texts, "index") and hasattr(texts, "dtype"):
        texts = list(zip(*(_column(c, name) for c, name in ((texts.index, "doc_id"), (texts, "text"))), strict=True))
    elif isinstance(texts, Iterable) and not isinstance(texts, str | bytes):
        texts = _of_records(texts, fields)
    else:
        raise BadParameter(
            f"texts are a dict, a Series, a DataFrame, a dataset or an iterable of documents, not"
            f" {type(texts).__name__}."
        )
    for doc_id, text in bar(texts, progress, label, total):
        if not isinstance(doc_id, str):
            raise BadParameter(f"the document id {doc_id!r} must be a string, as ids are: {str(doc_id)!r}.")
        if not isinstance(text, str):
            raise BadParameter(f"the text of {doc_id!r} is a {type(text).__name__}, not a str.")
        yield doc_id, text


def _of_frame(frame: Any, fields: Sequence[str]) -> list[tuple[str, str]]:
    """Return ids and texts; documents in several rankings occur once."""
    names = list(frame.column_names if isinstance(frame, pa.Table) else frame.columns)
    ids = next((name for name in IDS if name in names), None)
    missing = [field for field in fields if field not in names]
    if ids is None or missing:
        raise BadParameter(f"texts have columns doc_id and {', '.join(fields)}; these have {some(names, 8)}.")
    parts = zip(*(_column(frame[field], field) for field in fields), strict=True)
    return list(dict.fromkeys(zip(_column(frame[ids], "doc_id"), map(" ".join, parts), strict=True)))


def _column(column: Any, name: str) -> list[str]:
    texts: list[str] = strings(column, name, "texts", BadParameter).to_pylist()
    return texts


def _of_records(records: Iterable[Any], fields: Sequence[str] | None) -> Iterator[tuple[str, str]]:
    for record in records:
        if not (isinstance(record, Mapping) or hasattr(record, "_asdict")):
            raise BadParameter(f"documents are named tuples or dicts with doc_id and text, not {record!r:.80}.")
        values = record if isinstance(record, Mapping) else record._asdict()
        try:
            doc_id = next(values[name] for name in IDS if name in values)
            if fields is None and hasattr(record, "default_text"):
                yield doc_id, record.default_text()
            else:
                yield doc_id, " ".join(values[field] for field in fields or ("text",))
        except (StopIteration, KeyError) as error:
            raise BadParameter(
                f"a document has no {error.args[0] if error.args else 'doc_id'!r}; there is {some(values, 8)}."
                " Name the fields of the text in fields=."
            ) from None
