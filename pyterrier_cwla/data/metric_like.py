"""Protocols of the metrics and rows that functions of this package accept."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

from ..files.id_columns import Ids
from .arrays import Array, Floats
from .columns import Columns
from .duplicates import Duplicates
from .lengths import Lengths
from .quantities import LENGTH, Quantity
from .seconds import Seconds


class GainFunction(Protocol):
    """Gain function of a metric."""

    @property
    def built_in(self) -> bool:
        """Whether the function belongs to this package, so that its results can be cached."""

    @property
    def key(self) -> Hashable:
        """Key of the function in caches."""


class MetricLike(Protocol):
    """Choices of a metric that depend on documents: gains, lengths and duplicates."""

    @property
    def gain(self) -> GainFunction:
        """Gain function."""

    @property
    def max_rel(self) -> float | None:
        """Highest grade."""

    @property
    def lengths(self) -> Lengths | None:
        """Table of document lengths."""

    @property
    def default_lengths(self) -> Lengths | None:
        """Table for runs without a column doc_length, if ``lengths`` is None."""

    @property
    def doc_seconds(self) -> Seconds | None:
        """Table of known costs."""

    @property
    def missing(self) -> str:
        """Treatment of documents without length: "error" or "mean"."""

    @property
    def judged_only(self) -> bool:
        """Whether unjudged documents are left out before ranks are counted."""

    @property
    def last_that_counts(self) -> int | None:
        """Last rank with a document that counts, if there is one."""

    @property
    def duplicates(self) -> Duplicates | None:
        """Table of duplicate documents."""

    @property
    def duplicate_gain(self) -> str:
        """Gain of duplicates: "keep" or "none"."""

    @property
    def idle_duplicates(self) -> Duplicates | None:
        """Table of duplicates whose gain is 0, if any."""

    @property
    def decays(self) -> bool:
        """Whether users leave with effort alone and count all gains, as in time-biased gain."""

    def gains(self, grade: Array) -> Floats:
        """Return the gain of each grade."""


class PoolJudgments(Protocol):
    """Judgments of a pool, to look up document lengths."""

    @property
    def columns(self) -> Columns:
        """Columns of the judgments."""

    @property
    def pool_order(self) -> Array | slice:
        """Rows of the judgments in the order of the pool."""


class FlatRows(Protocol):
    """Rows of one or several runs, grouped by query in rank order."""

    @property
    def first(self) -> Array:
        """First row of each judged query."""

    @property
    def has_doc_length(self) -> bool:
        """Whether a run has a column of document lengths."""

    @property
    def tied(self) -> Array:
        """Whether each row has the score of the row above it in its ranking."""

    @property
    def scores(self) -> Array:
        """Score of each row as float64."""

    @property
    def places_by_exact_score(self) -> Array:
        """Place of each row if scores are compared as float64, and ties are broken by ascending id."""

    def words(self, metric: MetricLike, quantity: Quantity = LENGTH) -> Array:
        """Return the words, or the seconds, of all documents."""

    def repeats(self, duplicates: Duplicates, listed: Array | None = None) -> Array:
        """Return whether each row duplicates an earlier row of its ranking."""


class RowsOfRun(FlatRows, Protocol):
    """Rows of one run, grouped by query."""

    @property
    def columns(self) -> Columns:
        """Columns of the run."""


class RowsWithLengths(Protocol):
    """Rows of a run, grouped by query, with document lengths."""

    @property
    def query(self) -> Array:
        """Index of the query of each group in the judged queries, or -1."""

    @property
    def sizes(self) -> Array:
        """Number of rows of each group."""

    @property
    def doc_id(self) -> Ids:
        """Document ids."""

    @property
    def doc_length(self) -> Array | None:
        """Lengths of documents in words."""

    @property
    def doc_seconds(self) -> Array | None:
        """Known costs of documents in seconds."""

    def pair(self, row: int) -> tuple[str, str]:
        """Return the query and document of a row."""
