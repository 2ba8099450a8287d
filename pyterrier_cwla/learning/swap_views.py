"""Views of rankings in which an item has replaced another, at all ranks or at one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..data.columns import Array
from ..model.view import View, before


@dataclass(frozen=True)
class Item:
    """Grade, gain and effort of an item, or of many items.

    Attributes
    ----------
    grade, r, e : float or ndarray
        Grades, gains and efforts.
    """

    grade: Any
    r: Any
    e: Any

    def at_least(self, rel: float) -> Item:
        """Return the item with a binary gain for grades of ``rel`` or above."""
        return replace(self, r=np.asarray(self.grade >= rel, float))


class Unscaled(View):
    """View with an expected effort of 1, since contributions to gain and to effort are added up separately."""

    def __init__(self, *values: Any) -> None:
        super().__init__(*values)
        self.spend = lambda: 1.0


class Listed(Unscaled):
    """View of rankings, with what is needed if an item is replaced."""

    @cached_property
    def second(self) -> Any:
        """Second highest gain down to each rank."""
        return np.maximum.accumulate(np.minimum(self.r, before(self.best)), axis=-1)

    @cached_property
    def _faded(self) -> dict[float, Any]:
        return {}

    def fading(self, delta: float) -> Any:
        """Return F, as :meth:`View.fading`."""
        if delta not in self._faded:
            self._faded[delta] = super().fading(delta)
        return self._faded[delta]

    @cached_property
    def _binary(self) -> dict[float, Any]:
        return {}

    def at_least(self, rel: float | None) -> Any:
        """Return the view with binary gains for grades of ``rel`` or above."""
        if rel is None:
            return self
        if rel not in self._binary:
            self._binary[rel] = super().at_least(rel)
        return self._binary[rel]


class Carrying(Listed):
    """View of rankings in which F of :meth:`View.fading` has another value, the same at all ranks.

    Parameters
    ----------
    seen : Listed
        View of the rankings.
    value : float
        The value.
    """

    def __init__(self, seen: Listed, value: float) -> None:
        super().__init__(seen.i, seen.r, seen.grade, seen.totals, seen._e, seen.unseen)
        self.seen, self.value, self.deltas = seen, value, set[float]()

    def fading(self, delta: float) -> Any:
        """Return the value, and remember δ."""
        self.deltas.add(delta)
        return np.full(self.r.shape, self.value)

    def at_least(self, rel: float | None) -> Any:
        """Return the view with binary gains for grades of ``rel`` or above."""
        return self if rel is None else self.seen.at_least(rel)


class Standing(Unscaled):
    """View in which an item x replaces the item at each rank, with the same set of items down to this rank.

    Parameters
    ----------
    seen : Listed
        View of the rankings.
    x : Item
        One item for all rankings, or for each.
    """

    def __init__(self, seen: Listed, x: Item) -> None:
        r, grade = np.full_like(seen.r, x.r), np.full(seen.r.shape, x.grade)
        e = None if seen._e is None else np.full(seen.r.shape, x.e)
        super().__init__(seen.i, r, grade, seen.totals, e, seen.unseen)
        self.seen, self.x = seen, x

    @property
    def G(self) -> Any:
        """Gain down to each rank."""
        return self.seen.G

    @property
    def G_before(self) -> Any:
        """Gain before each rank."""
        return np.maximum(self.seen.G - self.r, 0.0)  # x may not be among the items down to a rank

    @property
    def E(self) -> Any:
        """Effort down to each rank."""
        return self.seen.E

    @property
    def E_before(self) -> Any:
        """Effort before each rank."""
        return np.maximum(self.seen.E - self.e, 0.0)

    @property
    def best(self) -> Any:
        """Highest gain down to each rank."""
        return self.seen.best

    def fading(self, delta: float) -> Any:
        """Return F before the exchange, as :meth:`View.fading`."""
        return self.seen.fading(delta)

    def at_least(self, rel: float | None) -> View:
        """Return the view with binary gains for grades of ``rel`` or above."""
        return self if rel is None else Standing(self.seen.at_least(rel), self.x.at_least(rel))


class Exchanged(Unscaled):
    """View in which an item y, which is further down, has replaced an item x above, at the ranks between them.

    Parameters
    ----------
    seen : Listed
        View of the rankings.
    between : ndarray of bool, shape (n_queries, n_ranks)
        Ranks with such an x above and such a y below. Other ranks have the values of `seen`.
    x, y : Item
        The two items.
    """

    def __init__(self, seen: Listed, between: Array, x: Item, y: Item) -> None:
        super().__init__(seen.i, seen.r, seen.grade, seen.totals, seen._e, seen.unseen)
        self.seen, self.between, self.x, self.y = seen, between, x, y

    @cached_property
    def G(self) -> Any:
        """Gain down to each rank."""
        return self.seen.G + (self.y.r - self.x.r) * self.between

    @property
    def G_before(self) -> Any:
        """Gain before each rank."""
        return self.seen.G_before + (self.y.r - self.x.r) * self.between

    @cached_property
    def E(self) -> Any:
        """Effort down to each rank."""
        return self.seen.E + (self.y.e - self.x.e) * self.between

    @property
    def E_before(self) -> Any:
        """Effort before each rank."""
        return self.seen.E_before + (self.y.e - self.x.e) * self.between

    @cached_property
    def best(self) -> Any:
        """Highest gain down to each rank."""
        best = self.seen.best
        others = np.where(best == self.x.r, self.seen.second, best)
        return np.where(self.between, np.maximum(others, self.y.r), best)

    def at_least(self, rel: float | None) -> View:
        """Return the view with binary gains for grades of ``rel`` or above."""
        if rel is None:
            return self
        x, y = (one.at_least(rel) for one in (self.x, self.y))
        return Exchanged(self.seen.at_least(rel), self.between, x, y)


class Entering(Unscaled):
    """View in which the item at each rank is an item y from further down, where there is one.

    Parameters
    ----------
    seen : Listed
        View of the rankings.
    above : ndarray of bool, shape (n_queries, n_ranks)
        Ranks with such a y below. Other ranks have the values of `seen`.
    y : Item
        The item.
    """

    def __init__(self, seen: Listed, above: Array, y: Item) -> None:
        e = None if seen._e is None else np.where(above, y.e, seen._e)
        super().__init__(
            seen.i, np.where(above, y.r, seen.r), np.where(above, y.grade, seen.grade), seen.totals, e, seen.unseen
        )
        self.seen, self.above, self.y = seen, above, y

    @cached_property
    def G(self) -> Any:
        """Gain down to each rank."""
        return np.where(self.above, self.G_before + self.y.r, self.seen.G)

    @property
    def G_before(self) -> Any:
        """Gain before each rank."""
        return self.seen.G_before

    @cached_property
    def E(self) -> Any:
        """Effort down to each rank."""
        return self.E_before + self.e

    @property
    def E_before(self) -> Any:
        """Effort before each rank."""
        return self.seen.E_before

    @cached_property
    def best(self) -> Any:
        """Highest gain down to each rank."""
        return np.maximum(before(self.seen.best), self.r)

    def at_least(self, rel: float | None) -> View:
        """Return the view with binary gains for grades of ``rel`` or above."""
        return self if rel is None else Entering(self.seen.at_least(rel), self.above, self.y.at_least(rel))


class Swaps:
    """The items x at a rank of rankings, and the items y at the ranks after it.

    Parameters
    ----------
    a : int
        The rank of the items x, from 0.
    x : Item
        Items of shape (n_queries, 1).
    y : Item
        Items of shape (n_queries, n_later_ranks).
    """

    def __init__(self, a: int, x: Item, y: Item) -> None:
        self.a, self.x, self.y = a, x, y
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
            self._binary[rel] = Swaps(self.a, self.x.at_least(rel), self.y.at_least(rel))
        return self._binary[rel]


class _Mapped(Unscaled):
    """View with the values of another view, ``source``, each mapped by ``_of``."""

    source: Any

    def _of(self, values: Any) -> Array:
        raise NotImplementedError

    @cached_property
    def G(self) -> Any:
        """Gain down to the rank."""
        return self._of(self.source.G)

    @cached_property
    def G_before(self) -> Any:
        """Gain before the rank."""
        return self._of(self.source.G_before)

    @cached_property
    def E(self) -> Any:
        """Effort down to the rank."""
        return self._of(self.source.E)

    @cached_property
    def E_before(self) -> Any:
        """Effort before the rank."""
        return self._of(self.source.E_before)

    @cached_property
    def best(self) -> Any:
        """Highest gain down to the rank."""
        return self._of(self.source.best)

    def fading(self, delta: float) -> Any:
        """Return F, as :meth:`View.fading`."""
        return self._of(self.source.fading(delta))


class Column(_Mapped):
    """View of one rank of some rankings.

    Parameters
    ----------
    seen : Listed
        View of the rankings.
    j : int
        The rank, from 0.
    rows : ndarray of int or slice
        The rankings.
    """

    def __init__(self, seen: Listed, j: int, rows: Any) -> None:
        self.source, self.j, self.rows = seen, j, rows
        self._binary: dict[float, Column] = {}
        e = None if seen._e is None else self._of(seen._e)
        super().__init__(seen.i[:, j : j + 1], self._of(seen.r), self._of(seen.grade), self._totals, e, seen.unseen)

    def _of(self, values: Any) -> Array:
        return values[self.rows, self.j : self.j + 1]

    def _totals(self, rel: float | None) -> Any:
        return self.source.totals(rel)[self.rows]

    @cached_property
    def E(self) -> Any:
        """Effort down to the rank."""
        return self.i if self._e is None else super().E

    @cached_property
    def E_before(self) -> Any:
        """Effort before the rank."""
        return self.i - 1 if self._e is None else super().E_before

    @cached_property
    def second(self) -> Any:
        """Second highest gain down to the rank."""
        return self._of(self.source.second)

    def at_least(self, rel: float | None) -> Any:
        """Return the view with binary gains for grades of ``rel`` or above."""
        if rel is None:
            return self
        if rel not in self._binary:
            self._binary[rel] = Column(self.source.at_least(rel), self.j, self.rows)
        return self._binary[rel]


class Replaced(Unscaled):
    """View of one rank at which y has replaced x, which was at this rank or above; with one column for each y.

    Parameters
    ----------
    column : Column
        View of the rank.
    swaps : Swaps
        The items.
    first : int
        The first y.
    enters : bool
        Whether x was at this rank.
    """

    def __init__(self, column: Column, swaps: Swaps, first: int, enters: bool) -> None:
        self.column, self.swaps, self.first, self.enters = column, swaps, first, enters
        r, grade, e = column.r, column.grade, column._e
        if enters:
            r, grade = self._of_y(swaps.y.r), self._of_y(swaps.y.grade)
            e = None if e is None else self._of_y(swaps.y.e)
        super().__init__(column.i, r, grade, column.totals, e, column.unseen)

    def _of_y(self, values: Array) -> Array:
        return values[self.column.rows, self.first :]

    @cached_property
    def G(self) -> Any:
        """Gain down to the rank."""
        return self.G_before + self.r if self.enters else self.column.G + self._of_y(self.swaps.gain)

    @property
    def G_before(self) -> Any:
        """Gain before the rank."""
        before = self.column.G_before
        return before if self.enters else before + self._of_y(self.swaps.gain)

    @cached_property
    def E(self) -> Any:
        """Effort down to the rank."""
        if self._e is None:
            return self.i
        return self.E_before + self.e if self.enters else self.column.E + self._of_y(self.swaps.effort)

    @property
    def E_before(self) -> Any:
        """Effort before the rank."""
        before = self.column.E_before
        return before if self.enters or self._e is None else before + self._of_y(self.swaps.effort)

    @cached_property
    def best(self) -> Any:
        """Highest gain down to the rank."""
        best = self.column.best
        others = np.where(best == self.swaps.x.r[self.column.rows], self.column.second, best)
        return np.maximum(others, self._of_y(self.swaps.y.r))

    def fading(self, delta: float) -> Any:
        """Return F, as :meth:`View.fading`."""
        return self.column.fading(delta) + self._of_y(self.swaps.gain) * delta ** (self.column.j - self.swaps.a)

    def at_least(self, rel: float | None) -> Any:
        """Return the view with binary gains for grades of ``rel`` or above."""
        if rel is None:
            return self
        return Replaced(self.column.at_least(rel), self.swaps.at_least(rel), self.first, self.enters)


class Stacked(_Mapped):
    """View of one rank with the columns of another view below each other: each is a ranking that ends there."""

    def __init__(self, view: Replaced, shape: tuple[int, int]) -> None:
        self.source, self.shape = view, shape
        e = None if view._e is None else self._of(view.e)
        super().__init__(
            view.i, self._of(view.r), self._of(view.grade), lambda rel: self._of(view.totals(rel)), e, view.unseen
        )

    def _of(self, values: Any) -> Array:
        return np.broadcast_to(values, self.shape).reshape(-1, 1)

    def at_least(self, rel: float | None) -> View:
        """Return the view with binary gains for grades of ``rel`` or above."""
        return self if rel is None else Stacked(self.source.at_least(rel), self.shape)
