"""Gains, grades and words of the documents of aligned rankings, as a metric counts them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..data.abstention import Abstention
from ..data.columns import Array, Floats
from ..data.lengths import Lengths, NumberTable, ReplacedLengths
from ..data.rankings import Rankings, remembered
from ..data.rows import Rows
from ..errors import MissingLength, shown, some, warn
from ..files.arrow_arrays import of_booleans, of_numbers
from .metric import Metric


def gains_of_hits(metric: Metric, rankings: Rankings) -> Array:
    """Return the gains of the hits; those of built-in gain functions are cached."""
    copies = metric.idle_duplicates if metric.signed else None  # grade 0 may have a gain

    def gains() -> Array:
        found = metric.gains(grades_of_hits(metric, rankings))
        return found if copies is None else np.where(rankings.repeats(copies)[rankings.place_of_hits], 0.0, found)

    return remembered(rankings.views, ("gains", metric.gain, metric.max_rel, metric.idle_duplicates), gains)


def grades_of_hits(metric: Metric, rankings: Rankings) -> Array:
    """Return the grades of the hits, with 0 for duplicates without gain."""
    copies = metric.idle_duplicates
    if copies is None:
        return rankings.grade

    def grades() -> Array:
        return np.where(rankings.repeats(copies)[rankings.place_of_hits], 0, rankings.grade)

    return remembered(rankings.views, ("grades", copies), grades)


def words_of_items(
    metric: Metric, rankings: Rankings, queries: Array, width: int, quantity: type[NumberTable] = Lengths
) -> Floats:
    """Return the words of items at ranks 1..width of some queries; 0 for duplicates and below the last item.

    Known costs are those of the item, also if it is a duplicate.

    Returns
    -------
    ndarray of shape (n_queries, width)
        Numbers of words, or costs.
    """
    return rankings.at_ranks(_words_of_rows(metric, rankings, quantity), queries, width)


def words_of_hits(metric: Metric, rankings: Rankings, quantity: type[NumberTable] = Lengths) -> Floats:
    """Return the words of the hits, as :func:`words_of_items`."""
    return _words_of_rows(metric, rankings, quantity)[rankings.place_of_hits]


def _words_of_rows(metric: Metric, rankings: Rankings, quantity: type[NumberTable]) -> Floats:
    copies = metric.duplicates if quantity is Lengths else None

    def words() -> Array:
        flat = rankings.of_rows(lambda rows: words_in_rank_order(metric, rows, quantity))
        return flat if copies is None else np.where(rankings.repeats(copies), 0.0, flat)

    return remembered(rankings.views, (*quantity._key(metric), copies), words)


def words_in_rank_order(metric: Metric, rows: Rows, quantity: type[NumberTable] = Lengths) -> Floats:
    """Return the words, or the costs, of all documents, grouped by query in rank order.

    Below the last rank that the metric reads, documents of a run may have no length. Their words are then 0. Labelled
    rows need all lengths, so that it does not depend on the scores whether these can be evaluated.
    """
    key, table = quantity._key(metric), quantity._of_metric(metric)
    last = None if metric.judged_only or _by_mean(metric, table) else metric.last_that_counts
    needs_all = last is None or rows.order is not None
    if needs_all or table is None or table.function is None:
        try:
            return remembered(rows.in_order, key, lambda: rows.in_rank_order(words_of_rows(metric, rows, quantity)))
        except MissingLength:
            if needs_all:
                raise

    def words() -> Floats:
        row = rows.in_rank_order(np.arange(len(rows.columns)))
        read = np.zeros(len(row), bool)
        read[row] = _ranks(rows) <= last
        return rows.in_rank_order(_words_of_columns(metric, rows, quantity, read))

    return remembered(rows.in_order, (*key, "up to", last), words)


def _by_mean(metric: Metric, table: NumberTable | None) -> bool:
    """Return whether the mean replaces missing numbers; a function misses none."""
    return metric.missing == "mean" and (table is None or table.function is None)


def _ranks(rows: Rows) -> Array:
    """Return the ranks of documents in rank order, from 1."""
    ranks: Array = np.arange(len(rows.columns)) - np.repeat(rows.starts, rows.sizes) + 1
    return ranks


def words_of_rows(metric: Metric, rows: Rows, quantity: type[NumberTable] = Lengths) -> Floats:
    """Return the words, or the costs, of all documents in the order of the rows.

    They come from the table of the metric, else from the run's column doc_length, else from the default table. All
    lengths of a run have one source. Costs come from the table of the metric, else from the column doc_cost.

    Raises
    ------
    MissingLength
        If a length is missing and ``metric.missing`` is "error", or if a length is negative or infinite.
    MissingCost
        The same for costs.
    """
    return remembered(rows.memory, quantity._key(metric), lambda: _words_of_columns(metric, rows, quantity))


def _words_of_columns(metric: Metric, rows: Rows, quantity: type[NumberTable], read: Array | None = None) -> Floats:
    """Return the words, or the costs, of all documents; those outside the mask `read` may be missing."""
    needed = np.repeat(rows.query >= 0, rows.sizes)
    if read is not None:
        needed &= read
    if not needed.any():
        return np.zeros(len(needed))
    doc_id, column = rows.columns.doc_id, getattr(rows.columns, quantity._column)
    table = quantity._of_metric(metric)
    if table is None and column is None:
        table = quantity._of_metric(metric, "default_")
    if table is not None:
        words = np.full(len(needed), np.nan)
        if doc_id is not None and table.function is None:
            words = table.of_documents(doc_id)
        elif doc_id is not None:
            words[needed] = table.of_documents(doc_id.filter(of_booleans(needed)))
    elif column is not None:
        words = np.asarray(column, float)
    else:
        raise quantity._error(
            f"the {quantity._nouns} of documents are needed: give {quantity._parameter}=, a table, a path or a name,"
            f" {quantity._ways}"
        )
    by_mean = _by_mean(metric, table)
    if by_mean and read is None:
        _note_replaced(rows, np.isnan(words) & needed, int(needed.sum()), table, quantity)
    if not by_mean and not needed.all():  # lengths of unjudged queries are not used
        words = np.where(needed, words, 0.0)

    def known_to(lacking: Array) -> int:
        """Return the last rank down to which no document lacks the number."""
        return int(_ranks(rows)[np.isin(rows.in_rank_order(np.arange(len(words))), lacking)].min()) - 1

    return _without_holes(words, needed, metric, table, rows.pair, quantity, known_to if rows.order is None else None)


def _note_replaced(
    rows: Rows, missing: Array, documents: int, table: NumberTable | None, quantity: type[NumberTable]
) -> None:
    """Note in the rows how many numbers the mean replaces; of labelled rows, warn at once."""
    holes = np.flatnonzero(missing)
    first = rows.pair(int(holes[0])) if len(holes) else ("", "")
    key, name = "", None
    if table is not None:
        key, name = table.name, "" if table.anonymous and table.path is None else shown(table.name)
    replaced = ReplacedLengths(len(holes), documents, *first, name, quantity)
    if rows.order is not None and (about := replaced.about("these rows")):
        warn(about)
    rows.replaced_lengths[key if quantity is Lengths else f"{quantity._column} {key}"] = replaced


def note_unknown(abstention: Abstention, items: Rankings, unknown: Array) -> None:
    """Note in the rows of each run how many passages have no probability; `unknown` is the mask of them."""
    runs = [(rows, number) for rows in items.rows for number in range(rows.runs)]
    run = np.repeat(items.place_in_rows // items.rows[0].queries, items.n)
    passages, holes = np.bincount(run, minlength=len(runs)), np.flatnonzero(unknown)
    replaced = np.bincount(run[holes], minlength=len(runs))
    first: dict[int, tuple[str, str]] = {}
    if len(holes):
        row = items.of_rows(lambda rows: rows.in_rank_order(np.arange(len(rows.columns))))[items.place_of_items]
        which, at = np.unique(run[holes], return_index=True)
        first = {one: runs[one][0].pair(int(row[holes[place]])) for one, place in zip(which.tolist(), at)}
    key = f"p_abstain {abstention.name}"
    table = "" if abstention.anonymous and abstention.path is None else shown(abstention.name)
    for one in np.flatnonzero(passages).tolist():
        rows, number = runs[one]
        notes = rows.unknown_passages.setdefault(number, {})
        new = ReplacedLengths(
            int(replaced[one]), int(passages[one]), *first.get(one, ("", "")), table, Abstention, abstention.example
        )
        if key not in notes or notes[key].documents < new.documents:  # of the largest cutoff
            notes[key] = new


def words_of_pool(metric: Metric, rankings: Rankings, quantity: type[NumberTable] = Lengths) -> Floats:
    """Return the words, or the costs, of all judged documents in the order of the pool, for ideal rankings.

    Raises
    ------
    MissingLength
        If a length is missing and ``metric.missing`` is "error", or if a length is negative or infinite.
    """
    pool = rankings.pool
    columns, table = pool.columns, quantity._of_metric(metric)
    retrieved = None if columns is None else getattr(columns, quantity._column)  # of labelled rows
    if table is None and not rankings.have_doc_length:
        table = quantity._of_metric(metric, "default_")
    if columns is None or (table is None and retrieved is None):
        raise quantity._error(
            f"norm='ideal' needs the {quantity._noun} of every judged document, retrieved or not: give"
            f" {quantity._parameter}=, a table. A column {quantity._column} of the run has the {quantity._nouns} of"
            " retrieved documents only."
        )
    if table is None or columns.doc_id is None:
        words = words_of_rows(metric, rankings.rows[0], quantity)[pool.rows]
    else:
        words = table.of_documents(columns.doc_id.take(of_numbers(pool.rows)))
    duplicates = None if columns.doc_id is None else metric.duplicates
    if duplicates is not None and metric.duplicate_gain == "keep" and quantity is Lengths:
        repeated = duplicates.repeated(columns.doc_id)[pool.rows]
        words = np.where(repeated, 0.0, words)  # an upper bound: copies take no time
    if _by_mean(metric, table) and table is not None and len(words) and np.isnan(words).all():
        raise quantity._error(
            f"no judged document is in the table of {quantity._nouns}. Is the table of another collection?"
        )
    # In ideal rankings by gain and effort, documents without gain come last, where their effort has no influence.
    needed = metric.gains(pool.grade) > 0 if metric.loss else np.ones(len(words), bool)
    rows = rankings.rows[0]
    pair = columns.pair if rows.order is None else rows.pair
    return _without_holes(words, needed, metric, table, lambda at: pair(int(pool.rows[at])), quantity)


def _without_holes(
    words: Array,
    needed: Array,
    metric: Metric,
    table: NumberTable | None,
    describe: Callable[[int], tuple[str, str]],
    quantity: type[NumberTable],
    known_to: Callable[[Array], int] | None = None,
) -> Array:
    """Return the words with missing ones replaced as ``metric.missing`` requires; `needed` masks required lengths."""
    if words.min(initial=0) >= 0 and words.max(initial=0) < np.inf:  # false if a number is NaN
        return words
    holes, by_function = np.isnan(words), table is not None and table.function is not None
    odd = np.flatnonzero((words < 0) | np.isinf(words) | (by_function & holes & needed))
    if len(odd):
        topic, document = describe(int(odd[0]))
        given = shown(table.asked[document]) if table is not None and by_function else f"{words[odd[0]]:g}"
        raise quantity._error(
            f"topic {topic!r}: the {quantity._noun} of {document!r} is {given}: {quantity._nouns} are numbers, 0 or"
            " more."
        )
    if not holes.any():
        return words
    if _by_mean(metric, table):
        known = words[~holes]
        mean = table.mean if table is not None else known.mean() if len(known) else np.nan
        if np.isnan(mean):
            noun = quantity._noun
            raise quantity._error(f"no document has a {noun}, so there is no mean {noun} for missing='mean'.")
        return np.where(holes, mean, words)
    lacking = np.flatnonzero(holes & needed)
    if not len(lacking):
        return np.where(holes, 0.0, words)
    topic, _ = describe(int(lacking[0]))
    examples = [document for t, document in (describe(int(at)) for at in lacking[:8]) if t == topic]
    almost_none = table is not None and len(lacking) > 0.9 * needed.sum() > 9
    question = " Is the table of another collection?" if almost_none else ""
    rank = known_to(lacking) if known_to is not None else 0
    limit = f" (all are known down to rank {rank:,})" if rank else ""
    raise quantity._error(
        f"{quantity._readers} needs the {quantity._noun} of every document, and {len(lacking):,} of"
        f" {int(needed.sum()):,} have none (topic {topic!r}: {some(examples, 2)}).{question} Give"
        f" {quantity._parameter}=, a table that has them, read fewer documents with @k{limit}, or give missing='mean'."
    )
