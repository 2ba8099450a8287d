"""What the estimates of a calibration share: the arrays of the log, and the collected results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from ...data.arrays import Array
from .log import InteractionLog, numbered_sessions
from .rates import Ratio, pooled, unweighted, weighted

Part = tuple[list[dict[str, Any]], Array, Callable[[Array], Array]]
"""Rows of the table, sums over users, and the function from totals of the sums to the values of the rows."""


class Results:
    """Results of the estimation: ratios, correlations, reasons for missing parameters, and notes."""

    def __init__(self, notes: tuple[str, ...]) -> None:
        self.ratios: list[Ratio] = []
        self.rows: list[dict[str, Any]] = []
        self.correlations: list[Part] = []
        self.missing: dict[str, str] = {}
        self.notes = list(notes)

    def add(
        self,
        name: str,
        way: str,
        ratio: Ratio,
        n: Any,
        used: bool = False,
        grade: float = np.nan,
        error: float = np.nan,
    ) -> bool:
        """Add an estimate; return False if it is undefined."""
        if np.isnan(ratio.value):
            return False
        self.ratios.append(ratio)
        self.rows.append(estimate_row(name, way, used, ratio.value, error, n, grade))
        return True

    def three_ways(self, name: str, hits: Array, tries: Array, weight: Array) -> bool:
        """Add the weighted mean of the paper (which is used), the pooled share and the unweighted mean."""
        n = tries.sum()
        self.add(name, "pooled", pooled(hits, tries), n)
        self.add(name, "unweighted", unweighted(hits, tries), n)
        return self.add(name, "weighted", weighted(hits, tries, weight), n, used=True)

    def parts(self, users: int) -> list[Part]:
        """Return the estimates as parts of the bootstrap."""
        sums = [*(ratio.top for ratio in self.ratios), *(ratio.bottom for ratio in self.ratios)]

        def shares(totals: Array) -> Array:
            top, bottom = np.split(totals, 2)
            return top / bottom

        return [(self.rows, np.reshape(sums, (-1, users)), shares), *self.correlations]


class LogArrays:
    """Log as arrays over its rows: user, session, inspected, clicked, viewed and saved results."""

    def __init__(self, log: InteractionLog, depth: str, rel: float) -> None:
        rows = log.rows
        self.log, self.depth = log, depth
        self.user, names = pd.factorize(rows["user"])
        self.users = len(names)
        self.session, _ = numbered_sessions(log)
        self.clicked = rows["clicked"].to_numpy(bool)
        rank = rows["rank"].to_numpy()
        self.last = np.zeros(self.session[-1] + 1, np.int64)
        """Rank of the last click of each session (M)."""
        np.maximum.at(self.last, self.session[self.clicked], rank[self.clicked])
        self.to_last = rank <= self.last[self.session]
        self.seen = log.seen
        self.looked_at = self.to_last if depth == "clicked" else self.seen
        self.on_document = np.where(self.clicked, log.floats("document_seconds"), np.nan)
        self.read = ~np.isnan(self.on_document)
        # In a log with document_seconds, a click without seconds does not count as a view.
        self.view = self.read if log.has("document_seconds") else self.clicked
        self.saved = rows["saved"].to_numpy(bool) if log.has("saved") else None
        self.grade = log.floats("grade")
        self.judged = ~np.isnan(self.grade)
        self.relevant = self.grade >= rel

    def by_user(self, which: Array, values: Any = None) -> Array:
        """Return the number of these rows, or the sum of their values, for each user."""
        return np.bincount(self.user[which], None if values is None else values[which], self.users).astype(float)

    @property
    def summaries(self) -> Array:
        """Number of summaries per row: M in the first row of a session; with ``depth="seen"``, 1 per result seen."""
        if self.depth == "seen":
            return self.seen.astype(float)
        first_row = np.append(True, self.session[1:] != self.session[:-1])
        return np.where(first_row, self.last[self.session], 0).astype(float)

    def weights(self) -> Array:
        """Return the number of summaries that each user inspected."""
        return self.by_user(np.ones(len(self.log), bool), self.summaries)


def estimate_row(
    name: str, way: str, used: bool, value: float, error: float, n: Any, grade: float = np.nan
) -> dict[str, Any]:
    """Return a row of the table of a calibration, without the interval."""
    return {"name": name, "grade": grade, "way": way, "used": used, "value": value, "error": error, "n": int(n)}
