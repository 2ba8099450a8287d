"""Changes by swaps from tables for each pair of grades, for C and A that forget the order of the items."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...data.rankings import Array
from ...model.metric import Metric
from ...model.view import View, before
from .pairs import by_pairs
from .paths import Paths, ratio
from .ranked import Changes, Ranked
from .scoring_anew import by_scoring_anew
from .views import Entering, Exchanged, Item, Standing

_MOST_GRADES = 16  # with more grades, one pass per pair of grades is not faster


def by_paths(metric: Metric, ranked: Ranked, depth: int) -> Changes:
    """Yield the changes by swaps of item x at rank a with item y at rank b.

    C and A at rank a depend on the grade of y, those between a and b on the grades of x and y but not on a or b, those
    at b on the grade of x, and those after b on neither.
    """
    grades, level = np.unique(ranked.grade, return_inverse=True)
    if len(grades) > _MOST_GRADES:
        yield from by_pairs(metric, ranked, depth)
        return
    paths = _GradePaths(metric, ranked)
    V, arriving = paths.arriving()
    if not all(np.isfinite(U).all() for U in arriving):
        yield from by_scoring_anew(metric, ranked, depth)
        return
    level, width, shown = level.reshape(ranked.grade.shape), ranked.r.shape[1], paths.shown
    items = [Item(*one) for one in zip(grades, metric.gains(grades), metric.effort_of(grades))]
    at_b = paths.arriving_at(items, arriving)
    between = [paths.between(items, number, level) for number in range(len(items))]
    whole = [U[:, :1] for U in arriving]
    for a in range(min(depth, shown)):
        of_x, later = level[:, a], level[:, a + 1 :]
        found = [np.repeat(U[:, a : a + 1], width - a - 1, axis=1) for U in arriving]
        for number, item in enumerate(items):
            wanted = (later == number) & (of_x != number)[:, None]
            rows = np.flatnonzero(wanted.any(axis=1))
            if not len(rows):
                continue
            x, pairs, inside = of_x[rows], wanted[rows], shown - a - 1
            tails = paths.beyond(paths.replaced(a, item) if shown < width else paths.seen)
            for values, at_rank, tail, (Q, passed) in zip(found, at_b, tails, between[number].down_from(a, rows, x)):
                moved = np.empty(pairs.shape)
                np.multiply(Q[:, :-1], at_rank[x, rows, a + 1 :], out=moved[:, :inside])
                moved[:, :inside] += passed[:, :-1]
                moved[:, inside:] = passed[:, -1:] + Q[:, -1:] * tail[rows]  # x moves to a rank that does not count
                values[rows] = np.where(pairs, moved, values[rows])
        more = [V[:, a : a + 1] * (values - U[:, a : a + 1]) for values, U in zip(found, arriving)]
        change = more[0] if len(more) == 1 else ratio(whole[0] + more[0], whole[1] + more[1]) - ratio(*whole)
        yield a, np.asfortranarray(change)


class _GradePaths(Paths):
    """Paths through rankings with an item of one grade in place of an item of another."""

    def arriving_at(self, items: list[Item], arriving: list[Array]) -> list[Array]:
        """Return for each part U(b) with each item x at b, where y above has replaced x: the set of items is the same.

        The shape is (n_grades, n_queries, n_ranks).
        """
        standing = [self._of_all(Standing(self.seen, x)) for x in items]
        return [
            np.stack([(parts[one] + C * U[:, 1:])[:, : self.shown] for C, parts in standing])
            for one, U in enumerate(arriving)
        ]

    def between(self, items: list[Item], number: int, level: Array) -> _Between:
        """Return C and contributions for y with a grade of this number in place of each x."""
        y, width = items[number], self.seen.r.shape[1]
        below = np.zeros(self.seen.r.shape, bool)
        there = np.cumsum((level == number)[:, ::-1], axis=1)[:, ::-1] > 0
        below[:, : level.shape[1] - 1] = there[:, 1 : width + 1]
        C_at, parts_at = self._of_all(Entering(self.seen, below, y))
        found = []
        for of_x, x in enumerate(items):
            above = before(np.logical_or.accumulate(level == of_x, axis=1).astype(float)) > 0
            between = below.copy()
            between[:, : self.shown] &= above[:, : self.shown]
            found.append(self._of_all(Exchanged(self.seen, between, x, y)))
        C, parts = [C for C, _ in found], zip(*(parts for _, parts in found))
        shown = slice(self.shown)
        return _Between(
            np.stack(C)[..., shown],
            [np.stack(of_part)[..., shown] for of_part in parts],
            C_at[:, shown],
            [part[:, shown] for part in parts_at],
        )

    def _of_all(self, view: View) -> tuple[Array, list[Array]]:
        """Return C and contributions at all ranks."""
        C, parts = self.of(view)
        C, *parts = (np.broadcast_to(values, self.seen.r.shape) for values in (C, *parts))
        return C, parts


@dataclass
class _Between:
    """C and contributions with an item y at rank a instead of x, by the grade of x; for one grade of y.

    Attributes
    ----------
    C : ndarray, shape (n_grades, n_queries, n_ranks)
        C between a and b.
    parts : list of ndarray, shape (n_grades, n_queries, n_ranks)
        Contributions between a and b.
    C_at : ndarray, shape (n_queries, n_ranks)
        C at each rank if y is there.
    parts_at : list of ndarray, shape (n_queries, n_ranks)
        Contributions at each rank if y is there.
    """

    C: Array
    parts: list[Array]
    C_at: Array
    parts_at: list[Array]

    def down_from(self, a: int, rows: Array, x: Array) -> Iterator[tuple[Array, Array]]:
        """Yield Q and the contribution of the ranks from a to before b, for each part, some rows, and b > a.

        Q is the share of users at a who arrive at b.
        """
        Q = self.C[x, rows, a:]
        Q[:, 0] = self.C_at[rows, a]
        np.cumprod(Q, axis=1, out=Q)
        for part, part_at in zip(self.parts, self.parts_at):
            passed = part[x, rows, a:]
            passed[:, 0] = part_at[rows, a]
            passed[:, 1:] *= Q[:, :-1]
            yield Q, np.cumsum(passed, axis=1, out=passed)
