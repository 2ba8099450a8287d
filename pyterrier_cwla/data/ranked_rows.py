"""Ranked documents as measures see them, whatever their rows are made of: judged ranks, words and duplicates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from .rankings import Array, Pool, Rankings


class Judged(Protocol):
    """Judgments that measures are prepared for."""

    @property
    def qids(self) -> list[str]:
        """The judged queries."""

    @property
    def pool(self) -> Pool:
        """The judged documents."""

    @property
    def intents(self) -> list[tuple[dict[int, str], Any]]:
        """The judgments of each intent; see :attr:`Judgments.intents`."""

    def check_grades(self, max_rel: float) -> None:
        """Raise BadJudgments where a grade is above the highest one."""


class RankedRows(ABC):
    """The rows of one run, query after query.

    Attributes
    ----------
    judgments : Judged
        The judgments of the queries.
    query : ndarray of int, shape (n_groups,)
        The number of each group's query among the judged queries, -1 where it is not judged.
    starts, ends : ndarray of int, shape (n_groups,)
        The rows of each group.
    """

    judgments: Judged
    query: Array
    starts: Array
    ends: Array

    @abstractmethod
    def rankings(self, all_judged: bool = False, judgments: Any = None) -> Rankings:
        """Which relevant (or judged) documents are at which ranks, by these judgments or others of the same queries."""

    @abstractmethod
    def in_rank_order(self, values: Array) -> Array:
        """Values of rows, query after query in rank order."""

    @property
    def sizes(self) -> Array:
        return self.ends - self.starts

    @cached_property
    def first(self) -> Array:
        """Where each judged query's rows begin."""
        first = np.zeros(len(self.judgments.qids), np.int64)
        first[self.query[self.query >= 0]] = self.starts[self.query >= 0]
        return first

    def words(self, metric: Any) -> Array:
        """Words of all documents, query after query in rank order."""
        key = (metric.lengths, metric.missing)
        if key not in self._flat:
            self._flat[key] = self.in_rank_order(self.words_of_rows(metric))
        return self._flat[key]

    @abstractmethod
    def words_of_rows(self, metric: Any) -> Array:
        """Words of all documents, in the order of the rows."""

    @abstractmethod
    def clusters(self, duplicates: Any) -> Array:
        """A number for each document, in the order of the rows, the same for those that repeat each other."""

    def repeats(self, duplicates: Any, listed: Array | None = None) -> Array:
        """Which rows, in rank order, are duplicates of an earlier one of their ranking (of its rows in ``listed``)."""
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
    def _flat(self) -> dict[Any, Array]:
        return {}
