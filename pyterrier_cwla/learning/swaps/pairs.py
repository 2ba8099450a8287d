"""Changes by swaps for each pair of items, for C and A that forget the order of the items."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from ...data.rankings import Array
from ...model.introspection import reads
from ...model.metric import Metric
from ...model.scoring import raw_score
from ...model.view import UnknownEffort
from .pair_views import Column, Replaced, Stacked, Swaps
from .paths import Paths, ratio
from .ranked import Changes, Ranked
from .scoring_anew import by_scoring_anew
from .views import Carrying, Item, Standing


def by_pairs(metric: Metric, ranked: Ranked, depth: int) -> Changes:
    """Yield the changes by swaps of item x at rank a with item y at rank b.

    The set of items seen has y in place of x from a to before b, and is the same as before from b on. C and A are
    computed at these ranks only. If nobody leaves at items without gain, and A is constant there, these are left out.
    """
    pairs = _Pairs(metric, ranked)
    try:
        V, arriving = pairs.arriving()
    except UnknownEffort:
        yield from _with_unknown_efforts(metric, ranked, depth)
        return
    if not all(np.isfinite(U).all() for U in arriving) or (pairs.forgets and len(pairs.deltas) != 1):
        yield from by_scoring_anew(metric, ranked, depth)
        return
    whole = [U[:, :1] for U in arriving]
    for a in range(min(depth, pairs.shown)):
        moved = pairs.moved(a, arriving)
        more = [V[:, a : a + 1] * (values - U[:, a : a + 1]) for values, U in zip(moved, arriving, strict=True)]
        change = more[0] if len(more) == 1 else ratio(whole[0] + more[0], whole[1] + more[1]) - ratio(*whole)
        yield a, np.asfortranarray(np.where(pairs.differ(a) & ranked.listed[:, a + 1 :], change, 0.0), ranked.dtype)


def _with_unknown_efforts(metric: Metric, ranked: Ranked, depth: int) -> Changes:
    """Yield the changes if they are the same for two efforts of unseen items; otherwise raise UnknownEffort."""
    score = np.abs(raw_score(metric, ranked.rankings))[:, None]
    cheap, dear = (by_pairs(replace(metric, unseen=cost), ranked, depth) for cost in (1.0, 100.0))
    for (a, change), (_, other) in zip(cheap, dear, strict=True):
        if (np.abs(change - other) > 1e-12 + 1e-10 * score).any():
            raise UnknownEffort
        yield a, change


class _Pairs(Paths):
    """Paths through rankings with two items swapped.

    Attributes
    ----------
    hits_decide : bool
        Whether ranks without gain neither contribute nor make users leave.
    forgets : bool
        Whether A reads F of :meth:`View.fading`, which also differs after b.
    """

    def __init__(self, metric: Metric, ranked: Ranked) -> None:
        super().__init__(metric, ranked)
        # Cells after the last item have an effort, since A may be infinite without one; their changes are not used.
        e = None if ranked.e is None else np.where(ranked.listed, ranked.e, 1.0)
        self.items = Item(np.ascontiguousarray(ranked.grade), np.ascontiguousarray(ranked.r), e)
        self.hits_decide = not self.rate and bool(metric.C.fact("ignores_zero_gain") or metric.C.fact("gives_survival"))
        self.forgets = "fading" in reads(metric.A)
        self.columns = [Column(self.seen, j, rows) for j, rows in enumerate(self._rankings_that_count())]

    def _rankings_that_count(self) -> list[Any]:
        """Return for each rank the rankings in which its item can contribute or make users leave."""
        if not self.hits_decide:
            return [slice(None)] * self.last
        counts = self.seen.grade > 0
        if self.metric.end != "open":
            counts |= self.seen.i == self.leaves[:, None]
        return [np.flatnonzero(of_rank) for of_rank in counts.T]

    def arriving(self) -> tuple[Array, list[Array]]:
        """Return V and U, as :meth:`Paths.arriving`; UnknownEffort is raised if an effort is needed and not known."""
        end, hits_decide = self.metric.end, self.hits_decide
        known = self.metric.unseen_effort is not None or end == "stop" or (end == "open" and hits_decide)
        if not (known or (np.minimum(self.ranked.n, self.shown) >= self.last).all()):
            raise UnknownEffort
        return super().arriving()

    @cached_property
    def _carrying(self) -> tuple[Carrying, Carrying]:
        return Carrying(self.seen, 1.0), Carrying(self.seen, 0.0)

    @cached_property
    def deltas(self) -> set[float]:
        """The δ with which A calls :meth:`View.fading`."""
        self.metric.A(self._carrying[0])
        return self._carrying[0].deltas

    @cached_property
    def carried(self) -> tuple[Array, Array]:
        """Change of A at each rank, and of the contribution of the ranks after it, if F were 1 higher at this rank.

        A is linear in F. After the swap F(b) differs by (δ^(b−a) − 1)·(r_y − r_x), and F(j) after b by δ^(j−b) of it.
        """
        (delta,) = self.deltas
        C, _ = self.of(self.seen)
        one, none = self._carrying
        felt = np.broadcast_to(self.metric.A(one) - self.metric.A(none), self.seen.r.shape)
        C = np.broadcast_to(C, felt.shape)
        later = np.empty(felt.shape)
        later[:, -1:] = self.beyond(one)[0] - self.beyond(none)[0]
        for j in range(felt.shape[1] - 1, 0, -1):
            later[:, j - 1] = delta * ((1 - C[:, j]) * felt[:, j] + C[:, j] * later[:, j])
        return felt, later

    def _swaps(self, a: int) -> Swaps:
        x, y = (
            Item(*(None if values is None else values[:, at] for values in vars(self.items).values()))
            for at in (slice(a, a + 1), slice(a + 1, None))
        )
        return Swaps(a, x, y)

    def differ(self, a: int) -> Array:
        """Return whether items at later ranks differ from that at rank a in grade or effort."""
        grade, e = self.items.grade, self.items.e
        differ: Array = grade[:, a + 1 :] != grade[:, a : a + 1]
        return differ if e is None else differ | (e[:, a + 1 :] != e[:, a : a + 1])

    def moved(self, a: int, arriving: list[Array]) -> list[Array]:
        """Return U at rank a after a swap with the item of each later rank, for each part."""
        swaps, inside = self._swaps(a), self.shown - a - 1
        share, found = self._down_to_y(a, swaps)
        C, parts = self.of(Standing(self.seen, swaps.x))
        at_b = slice(a + 1, self.shown)
        for values, part, U in zip(found, parts, arriving, strict=True):
            standing = (part + C * U[:, 1:])[:, at_b]
            if self.forgets:
                felt, later = self.carried
                (delta,) = self.deltas
                change = swaps.gain[:, :inside] * (delta ** np.arange(1, inside + 1) - 1)
                standing += change * ((1 - C) * felt + C * later)[:, at_b]
            values[:, :inside] += share[:, :inside] * standing
        if share.shape[1] > inside:  # x moves to a rank that does not count
            for values, tail in zip(found, self._tails(a, swaps), strict=True):
                values[:, inside:] += share[:, inside:] * tail
        return found

    def _down_to_y(self, a: int, swaps: Swaps) -> tuple[Array, list[Array]]:
        """Return the share of users at rank a who arrive at each later b, and what those who leave before contribute.

        For b at ranks that do not count, these are the users who arrive after the last rank.
        """
        share = np.ones((len(self.seen.r), self.items.r.shape[1] - a - 1))
        found = [np.zeros(share.shape) for _ in range(1 + self.rate)]
        for j in range(a, self.last):
            first = min(j, self.shown - 1) - a
            column = self.columns[j] if j > a else Column(self.seen, a, slice(None))
            if first >= share.shape[1] or not len(column.r):
                continue
            some = column.rows, slice(first, None)
            C, parts = self.of(Replaced(column, swaps, first, j == a), column.rows)
            arrived = share[some]
            for values, part in zip(found, parts, strict=True):
                values[some] += arrived * part
            share[some] = arrived * C
        return share, found

    def _tails(self, a: int, swaps: Swaps) -> list[Array]:
        """Return U after the last rank if y, from a rank that does not count, replaces x."""
        if self.metric.end != "open":
            return self.beyond(self.seen)
        first, width = self.shown - a - 1, self.items.r.shape[1]
        view = Replaced(Column(self.seen, self.last - 1, slice(None)), swaps, first, self.last - 1 == a)
        shape = len(self.seen.r), width - self.shown
        return [tail.reshape(shape) for tail in self.beyond(Stacked(view, shape))]
