"""Lengths in words of the documents of runs and pools, from the table of a metric, the run, or the default table."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np

from ..errors import MissingLength, shown, some
from .arrays import Array, Floats
from .lengths import Lengths
from .metric_like import MetricLike, PoolJudgments, RowsWithLengths
from .rankings import Rankings
from .replaced_lengths import ReplacedLengths


def words_of_rows(
    metric: MetricLike,
    rows: RowsWithLengths,
    read: Array | None = None,
    note: Callable[[str, ReplacedLengths], None] | None = None,
) -> Floats:
    """Return the words of the documents of a run in row order.

    They come from the table of the metric, else from the run's column doc_length, else from the default table. All
    lengths of a run have one source.

    Parameters
    ----------
    metric : MetricLike
        Metric that reads the lengths.
    rows : RowsWithLengths
        Rows of a run.
    read : ndarray of bool, shape (n_rows,), optional
        Mask of the rows whose length the metric reads; by default all. Other rows may have no length.
    note : callable, optional
        Function of the name of the table and the number of lengths that the mean replaces, for ``missing="mean"``.

    Raises
    ------
    MissingLength
        If a length is missing and ``metric.missing`` is "error", or if a length is negative or infinite.
    """
    needed = np.repeat(rows.query >= 0, rows.sizes)
    if read is not None:
        needed &= read
    if not needed.any():
        return np.zeros(len(needed))
    table = metric.lengths
    if table is None and rows.doc_length is None:
        table = metric.default_lengths
    if table is not None:
        words = table.words(rows.doc_id)
    elif rows.doc_length is not None:
        words = np.asarray(rows.doc_length, float)
    else:
        raise MissingLength(
            "the lengths of documents are needed: give lengths= (a table, a path or a name), or a column doc_length in"
            " the run (in PyTerrier, pt.cwla.DocLength() adds it), or set a table for all measures with"
            " register_lengths(words)."
        )
    if metric.missing == "mean" and note is not None:
        note("" if table is None else table.name, _replaced(words, needed, table, rows.pair))
    if metric.missing != "mean":  # lengths of unjudged queries are not used
        words = np.where(needed, words, 0.0)
    return _without_holes(words, needed, metric, table, rows.pair)


def words_of_pool(metric: MetricLike, rankings: Rankings) -> Floats:
    """Return the words of all judged documents in the order of the pool, for ideal rankings.

    Raises
    ------
    MissingLength
        If a length is missing and ``metric.missing`` is "error", or if a length is negative or infinite.
    """
    pool = rankings.pool
    judgments = cast(PoolJudgments, pool.judgments)
    table = metric.lengths
    if table is None and pool.words is None and rankings.rows is not None and not rankings.rows.has_doc_length:
        table = metric.default_lengths
    if table is None and pool.words is not None:
        words = pool.words(metric)
    elif table is None or rankings.rows is None:
        raise MissingLength(
            "norm='ideal' needs the length of every judged document, retrieved or not: give lengths=, a table. A column"
            " doc_length of the run has the lengths of retrieved documents only."
        )
    else:
        words = table.words(judgments.columns.doc_id)[judgments.pool_order]
    if metric.duplicates is not None and metric.duplicate_gain == "keep":  # an upper bound: copies take no time
        repeated = metric.duplicates.repeated(judgments.columns.doc_id)[judgments.pool_order]
        words = np.where(repeated, 0.0, words)
    if metric.missing == "mean" and table is not None and len(words) and np.isnan(words).all():
        raise MissingLength("no judged document is in the table of lengths. Is the table of another collection?")
    # In the ideal ranking of time-biased gain, documents without gain come last, where their time has no influence.
    needed = metric.gains(pool.grade) > 0 if metric.decays else np.ones(len(words), bool)

    def pair(at: int) -> tuple[str, str]:
        columns, row = judgments.columns, np.arange(len(words))[judgments.pool_order][at]
        return columns.query_id[row].as_py(), columns.doc_id[row].as_py()

    return _without_holes(words, needed, metric, table, pair)


def _replaced(
    words: Array, needed: Array, table: Lengths | None, describe: Callable[[int], tuple[str, str]]
) -> ReplacedLengths:
    """Return the number of required lengths that the mean replaces."""
    holes = np.flatnonzero(np.isnan(words) & needed)
    first = describe(int(holes[0])) if len(holes) else ("", "")
    name = None if table is None else "" if table.anonymous and table.path is None else shown(table.name)
    return ReplacedLengths(len(holes), int(needed.sum()), *first, name)


def _without_holes(
    words: Array,
    needed: Array,
    metric: MetricLike,
    table: Lengths | None,
    describe: Callable[[int], tuple[str, str]],
) -> Array:
    """Return the words with missing ones replaced as ``metric.missing`` requires; `needed` masks required lengths."""
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
        mean = table.mean if table is not None else known.mean() if len(known) else np.nan
        if np.isnan(mean):
            raise MissingLength("no document has a length, so there is no mean length for missing='mean'.")
        return np.where(holes, mean, words)
    lacking = np.flatnonzero(holes & needed)
    if not len(lacking):
        return np.where(holes, 0.0, words)
    topic, _ = describe(int(lacking[0]))
    examples = [document for t, document in (describe(int(at)) for at in lacking[:8]) if t == topic]
    almost_none = table is not None and len(lacking) > 0.9 * needed.sum() > 9
    question = " Is the table of another collection?" if almost_none else ""
    raise MissingLength(
        f"time as effort needs the length of every document, and {len(lacking):,} of {int(needed.sum()):,} have none"
        f" (topic {topic!r}: {some(examples, 2)}).{question} Give lengths= a table that has them, read fewer"
        " documents with @k, or give missing='mean'."
    )
