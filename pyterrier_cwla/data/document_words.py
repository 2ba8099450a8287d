"""Lengths and known costs of the documents of runs and pools, from the table of a metric, the run, or a default."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np

from ..errors import MissingLength, MissingSeconds, shown, some
from .arrays import Array, Floats
from .metric_like import MetricLike, PoolJudgments, RowsWithLengths
from .number_tables import NumberTable
from .quantities import LENGTH, Quantity
from .rankings import Rankings
from .replaced_lengths import ReplacedLengths


def words_of_rows(
    metric: MetricLike,
    rows: RowsWithLengths,
    read: Array | None = None,
    note: Callable[[str, ReplacedLengths], None] | None = None,
    quantity: Quantity = LENGTH,
) -> Floats:
    """Return the words of the documents of a run in row order, or their seconds.

    They come from the table of the metric, else from the run's column doc_length, else from the default table. All
    lengths of a run have one source. Seconds come from the table of the metric, else from the column doc_seconds.

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
    quantity : Quantity, default=LENGTH
        Number to return for each document.

    Raises
    ------
    MissingLength
        If a length is missing and ``metric.missing`` is "error", or if a length is negative or infinite.
    MissingSeconds
        The same for seconds.
    """
    needed = np.repeat(rows.query >= 0, rows.sizes)
    if read is not None:
        needed &= read
    if not needed.any():
        return np.zeros(len(needed))
    table, column = table_of(metric, quantity), getattr(rows, quantity.column)
    if table is None and column is None:
        table = _default_of(metric, quantity)
    if table is not None:
        words = table.of_documents(rows.doc_id)
    elif column is not None:
        words = np.asarray(column, float)
    else:
        raise _error(quantity)(
            f"the {quantity.nouns} of documents are needed: give {quantity.parameter}= (a table, a path or a name),"
            f" {quantity.ways}"
        )
    if metric.missing == "mean" and note is not None:
        name = "" if table is None else table.name
        key = name if quantity is LENGTH else f"{quantity.column} {name}"
        note(key, _replaced(words, needed, table, rows.pair, quantity))
    if metric.missing != "mean" and not needed.all():  # lengths of unjudged queries are not used
        words = np.where(needed, words, 0.0)
    return _without_holes(words, needed, metric, table, rows.pair, quantity)


def table_of(metric: MetricLike, quantity: Quantity) -> NumberTable | None:
    """Return the table of a metric with its numbers of documents, if it has one."""
    return cast("NumberTable | None", getattr(metric, quantity.parameter))


def _default_of(metric: MetricLike, quantity: Quantity) -> NumberTable | None:
    return cast("NumberTable | None", getattr(metric, quantity.default)) if quantity.default else None


def _error(quantity: Quantity) -> type[MissingLength]:
    return MissingLength if quantity is LENGTH else MissingSeconds


def words_of_pool(metric: MetricLike, rankings: Rankings, quantity: Quantity = LENGTH) -> Floats:
    """Return the words, or the seconds, of all judged documents in the order of the pool, for ideal rankings.

    Raises
    ------
    MissingLength
        If a length is missing and ``metric.missing`` is "error", or if a length is negative or infinite.
    """
    pool = rankings.pool
    judgments = cast(PoolJudgments, pool.judgments)
    table, known = table_of(metric, quantity), pool.words if quantity is LENGTH else None
    if table is None and known is None and rankings.rows is not None and not rankings.rows.has_doc_length:
        table = _default_of(metric, quantity)
    if table is None and known is not None:
        words = known(metric)
    elif table is None or rankings.rows is None:
        raise _error(quantity)(
            f"norm='ideal' needs the {quantity.noun} of every judged document, retrieved or not: give"
            f" {quantity.parameter}=, a table. A column {quantity.column} of the run has the {quantity.nouns} of"
            " retrieved documents only."
        )
    else:
        words = table.of_documents(judgments.columns.doc_id)[judgments.pool_order]
    keeps_copies = metric.duplicates is not None and metric.duplicate_gain == "keep" and quantity is LENGTH
    if metric.duplicates is not None and keeps_copies:  # an upper bound: copies take no time
        repeated = metric.duplicates.repeated(judgments.columns.doc_id)[judgments.pool_order]
        words = np.where(repeated, 0.0, words)
    if metric.missing == "mean" and table is not None and len(words) and np.isnan(words).all():
        raise _error(quantity)(
            f"no judged document is in the table of {quantity.nouns}. Is the table of another collection?"
        )
    # In the ideal ranking of time-biased gain, documents without gain come last, where their time has no influence.
    needed = metric.gains(pool.grade) > 0 if metric.decays else np.ones(len(words), bool)

    def pair(at: int) -> tuple[str, str]:
        columns, row = judgments.columns, np.arange(len(words))[judgments.pool_order][at]
        return columns.query_id[row].as_py(), columns.doc_id[row].as_py()

    return _without_holes(words, needed, metric, table, pair, quantity)


def _replaced(
    words: Array,
    needed: Array,
    table: NumberTable | None,
    describe: Callable[[int], tuple[str, str]],
    quantity: Quantity,
) -> ReplacedLengths:
    """Return the number of required lengths that the mean replaces."""
    holes = np.flatnonzero(np.isnan(words) & needed)
    first = describe(int(holes[0])) if len(holes) else ("", "")
    name = None if table is None else "" if table.anonymous and table.path is None else shown(table.name)
    return ReplacedLengths(len(holes), int(needed.sum()), *first, name, quantity)


def _without_holes(
    words: Array,
    needed: Array,
    metric: MetricLike,
    table: NumberTable | None,
    describe: Callable[[int], tuple[str, str]],
    quantity: Quantity,
) -> Array:
    """Return the words with missing ones replaced as ``metric.missing`` requires; `needed` masks required lengths."""
    if words.min(initial=0) >= 0 and words.max(initial=0) < np.inf:  # false if a number is NaN
        return words
    odd = np.flatnonzero((words < 0) | np.isinf(words))
    if len(odd):
        topic, document = describe(int(odd[0]))
        raise _error(quantity)(
            f"topic {topic!r}: the {quantity.noun} of {document!r} is {words[odd[0]]:g}: {quantity.nouns} are"
            f" {quantity.unit}, 0 or more."
        )
    holes = np.isnan(words)
    if not holes.any():
        return words
    if metric.missing == "mean":
        known = words[~holes]
        mean = table.mean if table is not None else known.mean() if len(known) else np.nan
        if np.isnan(mean):
            noun = quantity.noun
            raise _error(quantity)(f"no document has a {noun}, so there is no mean {noun} for missing='mean'.")
        return np.where(holes, mean, words)
    lacking = np.flatnonzero(holes & needed)
    if not len(lacking):
        return np.where(holes, 0.0, words)
    topic, _ = describe(int(lacking[0]))
    examples = [document for t, document in (describe(int(at)) for at in lacking[:8]) if t == topic]
    almost_none = table is not None and len(lacking) > 0.9 * needed.sum() > 9
    question = " Is the table of another collection?" if almost_none else ""
    raise _error(quantity)(
        f"{quantity.readers} needs the {quantity.noun} of every document, and {len(lacking):,} of"
        f" {int(needed.sum()):,} have none (topic {topic!r}: {some(examples, 2)}).{question} Give"
        f" {quantity.parameter}= a table that has them, read fewer documents with @k, or give missing='mean'."
    )
