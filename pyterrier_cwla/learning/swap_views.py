"""Views of rankings in which an item has replaced another, at all ranks or at one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..data.columns import Array
from ..model.view import View, before


@dataclass(frozen=True)
class ItemValues:
    """Grade, gain and effort of an item, or of many items.

    Attributes
    ----------
    grade, r, e : float or ndarray
        Grades, gains and efforts.
    """

    grade: Any
    r: Any
    e: Any

    def at(self, ranks: slice) -> ItemValues:
        """Return the items at some ranks, of arrays of shape (n_queries, n_ranks)."""
        return ItemValues(*(None if values is None else values[:, ranks] for values in (self.grade, self.r, self.e)))

    def at_least(self, rel: float) -> ItemValues:
        """Return the item with a binary gain for grades of ``rel`` or above."""
        return replace(self, r=np.asarray(self.grade >= rel, float))


class Swaps:
    """Items x, and the items y further down that replace them.

    Parameters
    ----------
    x, y : ItemValues
        One item each, or items of shape (n_queries, 1) and (n_queries, n_later_ranks).
    """

    def __init__(self, x: ItemValues, y: ItemValues) -> None:
        self.x, self.y = x, y
        self._binary: dict[float, Swaps] = {}

    @cached_property
    def gain(self) -> Any:
        """Change of the gain by y in place of x."""
        return self.y.r - self.x.r

    @cached_property
    def effort(self) -> Any:
        """Change of the effort by y in place of x."""
        return self.y.e - self.x.e

    def at_least(self, rel: float) -> Swaps:
        """Return the items with binary gains for grades of ``rel`` or above."""
        if rel not in self._binary:
            self._binary[rel] = Swaps(self.x.at_least(rel), self.y.at_least(rel))
        return self._binary[rel]


class SwapView(View):
    """View of rankings, with an expected effort of 1: contributions to gain and to effort are added up separately."""

    def __init__(self, i: Array, r: Array, grade: Any, totals: Callable[..., Any], efforts: Any, unseen: Any) -> None:
        super().__init__(i, r, grade, totals, efforts, unseen)
        self.efforts, self.spend = efforts, lambda: 1.0
        self._binary: dict[float, Any] = {}

    @cached_property
    def second(self) -> Any:
        """Second highest gain down to each rank."""
        return np.maximum.accumulate(np.minimum(self.r, before(self.best)), axis=-1)

    def at_least(self, rel: float | None) -> Any:
        """Return the view with binary gains for grades of ``rel`` or above."""
        if rel is None:
            return self
        if rel not in self._binary:
            self._binary[rel] = self._with_binary_gains(rel)
        return self._binary[rel]

    def _with_binary_gains(self, rel: float) -> View:
        r = (self.grade >= rel).astype(float)
        return SwapView(self.i, r, self.grade, lambda _: self.totals(rel), self.efforts, self.unseen)


class ViewOfItem(SwapView):
    """View in which an item x replaces the item at each rank, with the same set of items down to this rank.

    Parameters
    ----------
    seen : SwapView
        View of the rankings.
    x : ItemValues
        One item for all rankings, or for each.
    """

    def __init__(self, seen: SwapView, x: ItemValues) -> None:
        r, grade = np.full_like(seen.r, x.r), np.full(seen.r.shape, x.grade)
        e = None if seen.efforts is None else np.full(seen.r.shape, x.e)
        super().__init__(seen.i, r, grade, seen.totals, e, seen.unseen)
        self.seen, self.x = seen, x
        self.G, self.E, self.best = seen.G, seen.E, seen.best

    @property
    def G_before(self) -> Any:
        """Gain before each rank."""
        return np.maximum(self.G - self.r, 0.0)  # x may not be among the items down to a rank

    @property
    def E_before(self) -> Any:
        """Effort before each rank."""
        return np.maximum(self.E - self.e, 0.0)

    def _with_binary_gains(self, rel: float) -> View:
        return ViewOfItem(self.seen.at_least(rel), self.x.at_least(rel))


def _mapped(name: str) -> Any:
    """Return a property with the value of the source, mapped to the shape of the view."""
    return cached_property(lambda view: view.mapped(getattr(view.source, name)))


class MappedView(SwapView):
    """View with the values of another view in another shape.

    Parameters
    ----------
    source : SwapView
        The other view.
    i : ndarray
        Ranks.
    mapped : callable
        Function that returns values of the source in the shape of the view.
    """

    G, G_before, E, E_before = _mapped("G"), _mapped("G_before"), _mapped("E"), _mapped("E_before")
    best, second = _mapped("best"), _mapped("second")

    def __init__(self, source: SwapView, i: Array, mapped: Callable[[Array], Array]) -> None:
        self.source, self.mapped = source, mapped
        e = None if source.efforts is None else mapped(source.efforts)
        r, grade = mapped(source.r), mapped(source.grade)
        super().__init__(i, r, grade, lambda rel: mapped(source.totals(rel)), e, source.unseen)

    def _with_binary_gains(self, rel: float) -> View:
        return MappedView(self.source.at_least(rel), self.i, self.mapped)


def view_of_rank(seen: SwapView, j: int, rows: Any = slice(None)) -> MappedView:
    """Return the view of rank j, from 0, of some rankings."""
    shape = seen.r.shape
    return MappedView(seen, seen.i[:, j : j + 1], lambda values: np.broadcast_to(values, shape)[rows, j : j + 1])


class ReplacedView(SwapView):
    """View of ranks at which an item y has replaced an item x, which was there or above; y is from further down.

    Parameters
    ----------
    seen : SwapView
        View of the rankings, or of one rank of them.
    swaps : Swaps
        The items. Those for the view of one rank are at `place`, with one column for each y.
    enters : bool
        Whether x was at the rank itself, not above.
    place : tuple, optional
        Rankings and ranks of y for the view of one rank.
    where : ndarray of bool, shape (n_queries, n_ranks), optional
        Ranks of the rankings where there are such an x and such a y. Values at other ranks are not used.
    """

    def __init__(self, seen: Any, swaps: Swaps, enters: bool, place: Any = None, where: Any = None) -> None:
        self.seen, self.swaps, self.enters, self.place, self.where = seen, swaps, enters, place, where
        r, grade, e = seen.r, seen.grade, seen.efforts
        if enters:
            r, grade = self._of_y(swaps.y.r, r), self._of_y(swaps.y.grade, grade)
            e = None if e is None else self._of_y(swaps.y.e, e)
        super().__init__(seen.i, r, grade, seen.totals, e, seen.unseen)

    def _of_y(self, values: Any, otherwise: Any) -> Array:
        return values[self.place] if self.where is None else np.where(self.where, values, otherwise)

    def _changed(self, values: Array, change: Any) -> Array:
        return values + (change[self.place] if self.where is None else change * self.where)

    @cached_property
    def G(self) -> Any:
        """Gain down to the rank."""
        return self.G_before + self.r if self.enters else self._changed(self.seen.G, self.swaps.gain)

    @property
    def G_before(self) -> Any:
        """Gain before the rank."""
        return self.seen.G_before if self.enters else self._changed(self.seen.G_before, self.swaps.gain)

    @cached_property
    def E(self) -> Any:
        """Effort down to the rank."""
        if self.efforts is None:
            return self.i
        return self.E_before + self.e if self.enters else self._changed(self.seen.E, self.swaps.effort)

    @property
    def E_before(self) -> Any:
        """Effort before the rank."""
        if self.enters or self.efforts is None:
            return self.seen.E_before
        return self._changed(self.seen.E_before, self.swaps.effort)

    @cached_property
    def best(self) -> Any:
        """Highest gain down to the rank."""
        x = self.swaps.x.r[self.place[0]] if self.where is None else self.swaps.x.r
        others = np.where(self.seen.best == x, self.seen.second, self.seen.best)
        return np.maximum(others, self._of_y(self.swaps.y.r, x))

    def _with_binary_gains(self, rel: float) -> View:
        return ReplacedView(self.seen.at_least(rel), self.swaps.at_least(rel), self.enters, self.place, self.where)


def stacked(view: ReplacedView, shape: tuple[int, int]) -> MappedView:
    """Return the view of one rank with the columns of another view below each other: each is a ranking there."""
    return MappedView(view, view.i, lambda values: np.broadcast_to(values, shape).reshape(-1, 1))
