"""Interface of ranked rows for measures: ranks of judged documents, words and duplicates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np

from .arrays import Array
from .duplicates import Duplicates
from .metric_like import MetricLike
from .quantities import LENGTH, Quantity
from .rankings import Pool, Rankings


class Judged(Protocol):
    """Judgments that measures are prepared for."""

    @property
    def qids(self) -> list[str]:
        """Ids of the judged queries."""

    @property
    def pool(self) -> Pool:
        """Grades of the judged documents."""

    @property
    def intents(self) -> Sequence[tuple[dict[int, str], Judged]]:
        """Judgments of each intent; see :attr:`Judgments.intents`."""

    def check_grades(self, max_rel: float, way_out: str = "") -> None:
        """Raise BadJudgments if a grade is above `max_rel`; the way out is a larger ``max_rel`` by default."""


class RankedRows(ABC):
    """Rows of one run, or of several, grouped by query.

    Attributes
    ----------
    judgments : Judged
        Judgments of the queries.
    query : ndarray of int, shape (n_groups,)
        Index of the query of each group in the judged queries, or -1 if it is not judged. For rows of several runs, the
        indices of the second run begin after those of the first one, and so on.
    starts, ends : ndarray of int, shape (n_groups,)
        First row of each group, and the row after the last.
    """

    judgments: Judged
    query: Array
    starts: Array
    ends: Array
    runs: int = 1
    """Number of runs."""

    @abstractmethod
    def rankings(self, all_judged: bool = False, judgments: Judged | None = None) -> Rankings:
        """Return the ranks and grades of relevant documents, or of all judged documents.

        Parameters
        ----------
        all_judged : bool, default=False
            Whether to include judged documents that are not relevant.
        judgments : Judged, optional
            Other judgments of the same queries.
        """

    @abstractmethod
    def in_rank_order(self, values: Array) -> Array:
        """Return the values of rows, grouped by query in rank order."""

    @property
    def sizes(self) -> Array:
        """Number of rows of each group."""
        return self.ends - self.starts

    @cached_property
    def first(self) -> Array:
        """First row of each judged query."""
        first = np.zeros(self.runs * len(self.judgments.qids), np.int64)
        first[self.query[self.query >= 0]] = self.starts[self.query >= 0]
        return first

    @property
    @abstractmethod
    def tied(self) -> Array:
        """Whether each row, in rank order, has the score of the row above it in its ranking."""

    @property
    @abstractmethod
    def scores(self) -> Array:
        """Score of each row as float64, in rank order."""

    @property
    def ties_are_by_id(self) -> bool:
        """Whether rows of equal scores are sorted by descending id; if not, documents have no ids."""
        return True

    @cached_property
    def places_by_exact_score(self) -> Array:
        """Place of each row, in rank order, if scores are compared as float64, and ties are broken by ascending id."""
        place = np.arange(len(self.tied))
        new = np.append(~self.tied, True)
        among = np.flatnonzero(~(new[:-1] & new[1:]))  # rows that tie as float32
        later = -among if self.ties_are_by_id else among
        order = np.lexsort((later, -self.scores[among], np.cumsum(new[:-1])[among]))
        place[among[order]] = among
        return place

    @property
    @abstractmethod
    def has_doc_length(self) -> bool:
        """Whether the rows have a column of document lengths."""

    def words(self, metric: MetricLike, quantity: Quantity = LENGTH) -> Array:
        """Return the words, or the seconds, of all documents, grouped by query in rank order."""
        key = (quantity.name, getattr(metric, quantity.parameter), metric.default_lengths, metric.missing)
        if key not in self._flat:
            self._flat[key] = self.in_rank_order(self.words_of_rows(metric, quantity))
        return self._flat[key]

    @abstractmethod
    def words_of_rows(self, metric: MetricLike, quantity: Quantity = LENGTH) -> Array:
        """Return the words, or the seconds, of all documents, in the order of the rows."""

    @abstractmethod
    def clusters(self, duplicates: Duplicates) -> Array:
        """Return a code per document, in the order of the rows, that is equal for duplicates."""

    def repeats(self, duplicates: Duplicates, listed: Array | None = None) -> Array:
        """Return whether each row, in rank order, duplicates an earlier row of its ranking.

        Parameters
        ----------
        duplicates : Duplicates
            Table of duplicates.
        listed : ndarray of int, optional
            Rows to compare; all by default.
        """
        key = ("clusters", duplicates)
        if key not in self._flat:
            self._flat[key] = self.in_rank_order(self.clusters(duplicates))
        rows = len(self._flat[key])
        listed = np.arange(rows) if listed is None else listed
        cluster = self._flat[key][listed]
        segment = np.searchsorted(self.starts, listed, side="right")
        _, first = np.unique(segment * (int(cluster.max(initial=0)) + 1) + cluster, return_index=True)
        repeats = np.zeros(rows, bool)
        repeats[np.delete(listed, first)] = True
        return repeats

    @cached_property
    def _flat(self) -> dict[Hashable, Array]:
        return {}
