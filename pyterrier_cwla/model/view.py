"""Inputs of efforts (Documents) and of continuations and aggregations (View), on the ranked list and beyond its end."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..data.columns import Array, Floats
from ..errors import NoFiniteValue

Values = Floats | float
"""Result of a function of a view: one number, or an array that broadcasts to [queries × ranks]."""


class UnknownEffort(NoFiniteValue):
    """The effort of unseen documents is needed and is not known."""

    def __init__(
        self,
        message: str = "the effort of unseen documents is needed for this value: give unseen=, their effort (such as 12"
        " seconds).",
    ) -> None:
        super().__init__(message)


class Documents:
    """Input of an effort: the documents of rankings.

    Parameters
    ----------
    grade : ndarray
        Grades; 0 for unjudged documents and those with a negative grade.
    words, cost : callable, optional
        Functions that return the lengths of the documents in words, and their known costs.
    rank : ndarray, optional
        Ranks of the documents, from 1, which broadcast to the shape of `grade`.
    """

    def __init__(
        self,
        grade: Array,
        words: Callable[[], Array] | None = None,
        cost: Callable[[], Array] | None = None,
        rank: Array | None = None,
    ) -> None:
        self.grade = grade
        self._words, self._cost, self._rank = words, cost, rank

    @cached_property
    def words(self) -> Array:
        """Lengths in words, of the shape of `grade`; ``UnknownEffort`` is raised if they are not known."""
        if self._words is None:
            raise UnknownEffort
        return self._words()

    @cached_property
    def cost(self) -> Array:
        """Known costs, of the shape of `grade`; ``UnknownEffort`` is raised if they are not known."""
        if self._cost is None:
            raise UnknownEffort
        return self._cost()

    @property
    def rank(self) -> Array:
        """Ranks, from 1, that broadcast to the shape of `grade`; ``UnknownEffort`` is raised without ranks."""
        if self._rank is None:
            raise UnknownEffort
        return self._rank


class View:
    """Input of a continuation or aggregation: rankings ``[queries × ranks]`` as seen by the user at rank i.

    All attributes are arrays that broadcast to ``[queries × ranks]``. Functions must not take cumulative sums of their
    own: after the end of the list, the same attributes are computed in closed form.

    Parameters
    ----------
    i : ndarray, shape (1 or n_queries, n_ranks)
        Ranks, from 1.
    r : ndarray, shape (n_queries, n_ranks)
        Gains.
    grade : array_like or callable
        Grades, or a function that returns them.
    totals : callable
        Function that returns the total gain over all judgments for None, and the number of documents with at least a
        grade for the grade, of shape (n_queries, 1).
    e : ndarray or float, optional
        Efforts; by default each is 1.
    unseen : float or None, default=1
        Effort of an unseen item; None if it is not known.
    background, background_grade : float, default=0
        Gain and grade of unseen items.
    E_before : ndarray, optional
        Cumulative efforts before each column; required if there are ranks between the columns.
    skipped : ndarray, optional
        Number of items without gain between each column and the next, if users may leave at them.

    Attributes
    ----------
    i
        Rank, from 1.
    r
        Gain of item i.
    grade
        Grade of item i.
    e
        Effort of item i.
    G, G_before
        Σ_{j≤i} r_j and Σ_{j<i} r_j.
    E, E_before
        Σ_{j≤i} e_j and Σ_{j<i} e_j.
    best
        max_{j≤i} r_j.
    total
        Total gain of the query over all judgments, without documents that harm.
    found
        Total gain of the ranking.
    expected_effort
        Σ_j V(j)·e_j; for aggregations only.
    """

    def __init__(
        self,
        i: Floats,
        r: Floats,
        grade: ArrayLike | Callable[[], Array],
        totals: Callable[[float | None], Any],
        e: Values | None = None,
        unseen: float | None = 1.0,
        background: float = 0.0,
        background_grade: float = 0.0,
        E_before: Floats | None = None,
        skipped: Floats | None = None,
    ) -> None:
        self.i, self.r = i, r
        self._grade, self._E_before = grade, E_before
        self.skipped, self.totals, self.unseen = skipped, totals, unseen
        self.background, self.background_grade = background, background_grade
        self._e = e
        self.spend: Callable[[], Values] | None = None  # returns expected_effort; set after V is computed

    @cached_property
    def grade(self) -> Array:
        """Grade of item i."""
        return self._grade() if callable(self._grade) else np.asarray(self._grade)

    @property
    def e(self) -> Values:
        """Effort of item i."""
        return 1.0 if self._e is None else self._e

    @cached_property
    def E(self) -> Floats:
        """Cumulative effort Σ_{j≤i} e_j."""
        if self._E_before is not None:
            return self._E_before + self.e
        return self.i if self._e is None else np.cumsum(self._e, axis=-1)

    @property
    def E_before(self) -> Floats:
        """Cumulative effort before item i, Σ_{j<i} e_j."""
        if self._E_before is not None:
            return self._E_before
        return self.E - self.e if self._e is None else before(self.E)

    @property
    def steps(self) -> Values:
        """Effort from one column to the next."""
        gaps = self._e is None or self._E_before is not None  # a rank may lie between two neighbouring columns
        return self.E - before(self.E) if gaps else self.e

    @cached_property
    def G(self) -> Floats:
        """Cumulative gain Σ_{j≤i} r_j."""
        return np.cumsum(self.r, axis=-1)

    @cached_property
    def G_before(self) -> Floats:
        """Cumulative gain before item i, Σ_{j<i} r_j."""
        return before(self.G)

    @cached_property
    def best(self) -> Floats:
        """Highest gain so far, max_{j≤i} r_j."""
        return np.maximum.accumulate(self.r, axis=-1)

    @cached_property
    def total(self) -> Values:
        """Total gain of the query over all judgments."""
        self._refuse_endless_gain("the total gain is infinite")
        total: Values = self.totals(None)
        return total

    @property
    def found(self) -> Floats:
        """Total gain of the ranking."""
        self._refuse_endless_gain("the total gain of a ranking is infinite")
        return self.G[..., -1:]

    def _refuse_endless_gain(self, what: str) -> None:
        if self.background:
            raise NoFiniteValue(f"with infinitely many unseen documents of one gain, {what}.")

    @property
    def expected_effort(self) -> Values:
        """Expected effort Σ_j V(j)·e_j of all users; for aggregations only."""
        if self.spend is None:
            raise NoFiniteValue("expected_effort is computed from C: read it in an aggregation, not in C.")
        return self.spend()

    def fading(self, delta: float) -> Floats:
        """Return F(i) = δ·F(i−1) + r_i.

        Parameters
        ----------
        delta : float in [0, 1]
            Share of F that remains after one item.
        """
        faded = np.array(np.broadcast_to(self.r, np.broadcast_shapes(self.r.shape, self.i.shape)), float)
        keep = delta ** np.diff(self.i, axis=-1)  # there may be ranks without gain between two columns
        for column in range(1, faded.shape[-1]):
            faded[..., column] += keep[..., column - 1] * faded[..., column - 1]
        return faded

    def discounted(self, phi: Callable[[Floats], Floats]) -> Floats:
        """Return Σ_{j≤i} r_j·φ(j).

        Parameters
        ----------
        phi : callable
            Discount: a function of an array of ranks.
        """
        return np.cumsum(self.r * phi(read_only(self.i)), axis=-1)

    def credited(self, share: Callable[[Values], Floats]) -> Floats:
        """Return Σ_{j≤i} r_j·s(e_j).

        Parameters
        ----------
        share : callable
            Function s of an array of efforts: the share of a gain that is credited.
        """
        r, e = np.broadcast_arrays(self.r, self.e)
        credited = np.zeros(r.shape)
        gains = np.nonzero(r)
        credited[gains] = r[gains] * share(e[gains])
        return np.cumsum(credited, axis=-1)

    def at_least(self, rel: float | None) -> View:
        """Return the view with binary gains r_i = [grade ≥ rel], or the same view for None.

        Parameters
        ----------
        rel : float or None
            Lowest relevant grade.
        """
        if rel is None:
            return self
        binary = (self.grade >= rel).astype(float)
        beyond = float(self.background != 0 and self.background_grade >= rel)
        known = self._e, self.unseen, beyond, self.background_grade, self._E_before
        return type(self)(self.i, binary, self.grade, lambda _: self.totals(rel), *known)

    def beyond(self, m: ArrayLike) -> ViewBeyond:
        """Return the view of the m-th ranks after the last one.

        Parameters
        ----------
        m : array_like
            Distances from the last rank, from 1.
        """
        return ViewBeyond(self, np.asarray(m, float))

    def after_each(self, m: ArrayLike) -> ViewBeyond:
        """Return the view of the m-th items after each column if none of the items up to there has a gain.

        Parameters
        ----------
        m : array_like
            Distances from the columns, from 1.
        """
        return ViewBeyond(self, np.asarray(m, float), slice(None))


class ViewBeyond(View):
    """View of ranks n+m after the end of a list, where all items are unseen.

    Their gain is 0 or the background gain, and their effort that of unseen items.

    Parameters
    ----------
    seen : View
        View of the list.
    m : ndarray
        Distances from the last rank of the list, from 1.
    end : slice, default=slice(-1, None)
        Columns of the view at which the list ends: the last one, or any of them.
    """

    def __init__(self, seen: View, m: Floats, end: slice = slice(-1, None)) -> None:
        best = seen.background, seen.background_grade
        super().__init__(seen.i[..., end] + m, best[0] + 0 * m, best[1] + 0 * m, seen.totals, None, seen.unseen, *best)
        self.seen, self.m, self.end = seen, m, end
        self.spend = lambda: seen.expected_effort

    @property
    def e(self) -> float:
        """Effort of an unseen item."""
        if self.unseen is None:
            raise UnknownEffort
        return self.unseen

    @cached_property
    def E(self) -> Floats:
        """Cumulative effort."""
        return self.seen.E[..., self.end] + self.e * self.m

    @property
    def E_before(self) -> Floats:
        """Cumulative effort before the item; before the first one it does not depend on the effort of unseen items."""
        E = self.seen.E[..., self.end]
        return E + 0 * self.m if (self.m == 1).all() else E + self.e * (self.m - 1)

    @cached_property
    def G(self) -> Floats:
        """Cumulative gain."""
        return self.seen.G[..., self.end] + self.background * self.m

    @property
    def G_before(self) -> Floats:
        """Cumulative gain before the item."""
        return self.G - self.background

    @cached_property
    def best(self) -> Floats:
        """Highest gain so far."""
        return np.maximum(self.seen.best[..., self.end], self.background) + 0 * self.m

    @property
    def found(self) -> Floats:
        """Total gain of the ranking."""
        return self.seen.found

    def fading(self, delta: float) -> Floats:
        """Return F, as :meth:`View.fading`."""
        kept = delta**self.m
        more = self.m if delta == 1 else (1 - kept) / (1 - delta)
        return self.seen.fading(delta)[..., self.end] * kept + self.background * more

    def discounted(self, phi: Callable[[Floats], Floats]) -> Floats:
        """Return the discounted gain, as :meth:`View.discounted`."""
        self._refuse_endless_gain("discounted gain has no closed form: give end='stop', or a rank as end=")
        return self.seen.discounted(phi)[..., self.end] + 0 * self.m

    def credited(self, share: Callable[[Values], Floats]) -> Floats:
        """Return the credited gain, as :meth:`View.credited`."""
        seen = self.seen.credited(share)[..., self.end] + 0 * self.m
        return seen + self.background * share(self.e) * self.m if self.background else seen

    def at_least(self, rel: float | None) -> View:
        """Return the view with binary gains, as :meth:`View.at_least`."""
        return ViewBeyond(self.seen.at_least(rel), self.m, self.end)


class ReadOnly:
    """View or documents as users' functions see them, with read-only arrays in the memory of the arrays."""

    def __init__(self, of: View | Documents) -> None:
        self._of = of

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(self._of, name)
        return (lambda *inputs, **more: read_only(value(*inputs, **more))) if callable(value) else read_only(value)


def read_only(value: Any) -> Any:
    """Return arrays, views and documents without write access, and all other values as they are."""
    if isinstance(value, np.ndarray):
        value = value.view()
        value.flags.writeable = False
    return ReadOnly(value) if isinstance(value, View | Documents) else value


def before(cumulative: Floats) -> Floats:
    """Return cumulative values of one rank earlier: 0 before the first."""
    earlier = np.zeros_like(cumulative)
    earlier[..., 1:] = cumulative[..., :-1]
    return earlier
