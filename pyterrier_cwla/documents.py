"""How long documents are: tables of words by document id, bound to measures by name, path or content."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .errors import BadParameter, MissingLength, near, some
from .frames import numbers, strings

Array = np.ndarray
_NAMED: dict[str, Lengths] = {}
_IDS, _WORDS = ("doc_id", "docno", "id"), ("doc_length", "words", "length")


class Lengths:
    """Words by document id. A table from a file is read when it is first asked for."""

    def __init__(self, name: str, doc_id: Any = None, words: Array | None = None, path: str | None = None) -> None:
        self.name, self.path = name, path
        self._given = (doc_id, words)

    @cached_property
    def _columns(self) -> tuple[Any, Array]:
        if self.path is None:
            return self._given  # type: ignore[return-value]
        from .files import read_lengths

        table = read_lengths(self.path)
        return strings(table["doc_id"], "doc_id", "lengths", MissingLength), table["doc_length"].to_numpy()

    def __len__(self) -> int:
        return len(self._columns[1])

    def __repr__(self) -> str:
        return f"<lengths {self.name!r}>"

    @cached_property
    def mean(self) -> float:
        return float(self._columns[1].mean())

    def words(self, doc_id: Any) -> Array:
        """The words of these documents; NaN where the table has none."""
        ids, words = self._columns
        at = pc.fill_null(pc.index_in(doc_id, value_set=ids), -1)
        at = at.to_numpy(zero_copy_only=False) if isinstance(at, pa.Array) else at.to_numpy()
        return np.append(words, np.nan)[at]


def register_lengths(name: str, table: Any) -> Lengths:
    """Gives a table of lengths a name that measures can use: ``TBG(lengths="robust04")``.

    ``table`` is a path (CSV, TSV, Parquet; docno and words), a dict, a Series indexed by document id, or a DataFrame
    with columns doc_id (or docno) and doc_length (or words).

    >>> from pyterrier_cwla import register_lengths
    >>> register_lengths("two", {"d1": 100, "d2": 350})
    <lengths 'two'>
    """
    if not name.isidentifier():
        raise BadParameter(f"a table's name is a word, such as 'robust04', not {name!r}.")
    _NAMED[name] = _table(table, name)
    return _NAMED[name]


def bind(lengths: Any) -> Lengths:
    """The table that a measure's ``lengths=`` means: a name, a path, or a table itself, then named by its content."""
    if isinstance(lengths, Lengths):
        return lengths
    if isinstance(lengths, str | Path):
        name = str(lengths)
        if name in _NAMED:
            return _NAMED[name]
        if Path(name).is_file():
            return _of_file(name, Path(name).stat().st_mtime_ns)
        raise BadParameter(
            f"lengths={name!r} is neither a file nor the name of a table. {near(name, _NAMED) if _NAMED else ''}"
            " register_lengths(name, table) names one."
        )
    table = _table(lengths, None)
    return _NAMED.setdefault(table.name, table)


@lru_cache(maxsize=4)
def _of_file(path: str, changed: int) -> Lengths:
    """One table for all measures that name the same file, until it changes."""
    return Lengths(path, path=path)


def _table(table: Any, name: str | None) -> Lengths:
    if isinstance(table, str | Path):
        return Lengths(name or str(table), path=str(table))
    if isinstance(table, Lengths):
        return Lengths(name or table.name, *table._columns)
    if isinstance(table, Mapping):
        ids, words = list(table), list(table.values())
    elif hasattr(table, "columns") or isinstance(table, pa.Table):
        names = list(table.column_names if isinstance(table, pa.Table) else table.columns)
        found = [next((c for c in wanted if c in names), None) for wanted in (_IDS, _WORDS)]
        if None in found:
            raise BadParameter(f"a table of lengths has columns doc_id and doc_length; this one has {some(names, 8)}.")
        ids, words = (table[c] for c in found)
    elif hasattr(table, "index") and hasattr(table, "dtype"):
        ids, words = table.index, table
    else:
        raise BadParameter(
            f"lengths= takes a name, a path, a dict, a Series or a DataFrame, not {type(table).__name__}."
        )
    return _checked(
        name,
        strings(ids, "doc_id", "lengths", BadParameter),
        np.array(numbers(words, "doc_length", "lengths", BadParameter), float),
    )


def _checked(name: str | None, ids: Any, words: Array) -> Lengths:
    if len(words) and not (np.isfinite(words).all() and words.min() >= 0):
        odd = int(np.flatnonzero(~(np.isfinite(words) & (words >= 0)))[0])
        raise BadParameter(f"the length of {ids[odd].as_py()!r} is {words[odd]:g}: lengths are words, 0 or more.")
    if pc.count_distinct(ids).as_py() < len(ids):
        seen = pc.value_counts(ids)
        double = seen.field("values").filter(pc.greater(seen.field("counts"), 1))[0].as_py()
        raise BadParameter(f"the lengths have {double!r} twice: keep one row of each document.")
    return Lengths(name or _content_name(ids, words), ids, words)


def _content_name(ids: Any, words: Array) -> str:
    """A name that depends on the content alone, not on its order."""
    from pandas.util import hash_array

    keys = hash_array(np.asarray(ids.to_pylist(), object))
    each = hash_array(keys ^ words.view(np.uint64))
    return f"table_{np.add.reduce(each, dtype=np.uint64):016x}"


def words_of_rows(metric: Any, rows: Any) -> Array:
    """The words of a run's documents in row order: from the bound table, else from the run's doc_length."""
    columns = rows.columns
    needed = np.repeat(rows.query >= 0, rows.ends - rows.starts)
    if not needed.any():
        return np.zeros(len(needed))
    if metric.lengths is not None:
        words = metric.lengths.words(columns.doc_id)
    elif columns.doc_length is not None:
        words = np.asarray(columns.doc_length, float)
    else:
        raise MissingLength(
            "the lengths of documents are needed: give lengths= (a table, a path or a name), or a column doc_length in"
            " the run."
        )
    return _without_holes(
        words, needed, metric, lambda row: (columns.query_id[row].as_py(), columns.doc_id[row].as_py())
    )


def words_of_pool(metric: Any, rankings: Any) -> Array:
    """The words of all judged documents, in the order of the pool; ideal rankings need them."""
    if metric.lengths is None or rankings.rows is None:
        raise MissingLength("norm='ideal' needs the length of every judged document, retrieved or not: give lengths=.")
    judgments = rankings.pool.judgments
    columns, order = judgments.columns, np.arange(len(judgments.columns))[judgments.pool_order]
    words = metric.lengths.words(columns.doc_id)[order]
    # In time-biased gain what gains nothing comes last in the ideal, where nobody's time matters any more.
    only_gains = metric.C.name == "decay" and metric.A.name == "etg"
    needed = metric.gains(rankings.pool.grade) > 0 if only_gains else np.ones(len(words), bool)
    return _without_holes(
        words, needed, metric, lambda at: (columns.query_id[order[at]].as_py(), columns.doc_id[order[at]].as_py())
    )


def _without_holes(words: Array, needed: Array, metric: Any, describe: Any) -> Array:
    odd = np.flatnonzero((words < 0) | np.isinf(words))
    if len(odd):
        topic, document = describe(int(odd[0]))
        raise MissingLength(
            f"topic {topic!r}: the length of {document!r} is {words[odd[0]]:g}: lengths are words, 0 or more."
        )
    holes = np.isnan(words)
    if not holes.any():
        return words
    if metric.missing == "mean":
        known = words[~holes]
        if metric.lengths is not None and needed.any() and not len(known):
            raise MissingLength(
                f"none of {int(needed.sum()):,} documents is in the table of lengths: are the ids of the same kind?"
            )
        mean = metric.lengths.mean if metric.lengths is not None else known.mean() if len(known) else np.nan
        if np.isnan(mean):
            raise MissingLength("no document has a length, so that there is no mean to take for the others.")
        return np.where(holes, mean, words)
    lacking = np.flatnonzero(holes & needed)
    if not len(lacking):
        return np.where(holes, 0.0, words)
    topic, _ = describe(int(lacking[0]))
    examples = [document for t, document in (describe(int(at)) for at in lacking[:8]) if t == topic]
    raise MissingLength(
        f"time as effort needs the length of every document, and {len(lacking):,} of {int(needed.sum()):,} have none"
        f" (topic {topic!r}: {some(examples, 2)}). Give lengths= a table that has them, or missing='mean'."
    )
