"""Gains, grades and words of the documents of aligned rankings, as a metric counts them."""

from __future__ import annotations

import numpy as np

from ..data.columns import Array, Floats
from ..data.lengths import Lengths, NumberTable
from ..data.rankings import Rankings, remembered
from .metric import Metric


def gains_of_hits(metric: Metric, rankings: Rankings) -> Array:
    """Return the gains of the hits; those of built-in gain functions are cached."""
    key = ("gains", metric.gain, metric.max_rel, metric.idle_duplicates)
    return remembered(rankings.views, key, lambda: metric.gains(grades_of_hits(metric, rankings)))


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

    Known seconds are those of the item, also if it is a duplicate.

    Returns
    -------
    ndarray of shape (n_queries, width)
        Numbers of words, or of seconds.
    """
    copies = metric.duplicates if quantity is Lengths else None

    def words() -> Array:
        flat = rankings.row_words(metric, quantity)
        return flat if copies is None else np.where(rankings.repeats(copies), 0.0, flat)

    flat = remembered(rankings.views, (*quantity.key(metric), copies), words)
    return rankings.at_ranks(flat, queries, width)
