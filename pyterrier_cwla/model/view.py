"""What efforts, continuations and aggregations may read: a ranking as far as it was retrieved, and beyond."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..data.rankings import Array
from ..errors import NoFiniteValue

Values = Array | float
"""What functions of a view return: one number, or an array that broadcasts to [queries × ranks]."""


class UnknownEffort(NoFiniteValue):
    """What an unseen document costs is asked for, and not known."""

    def __init__(self) -> None:
        super().__init__(
            "what an unseen document costs decides this value: give unseen=, its effort (such as 12 seconds)."
        )


class Documents:
    """What an effort may read of documents: ``grade`` (0 where unjudged or judged with less) and ``words``."""

    def __init__(self, grade: Array, words: Callable[[], Array] | None = None) -> None:
        self.grade = grade
        self._words = words

    @cached_property
    def words(self) -> Array:
        if self._words is None:
            raise UnknownEffort
        return self._words()


class View:
    """Rankings ``[queries × ranks]`` as the user has seen them when at rank i.

    Names to read, all arrays that broadcast to ``[queries × ranks]``:

    ``i``  the rank, from 1 · ``r``  the gain of item i · ``G``  Σ_{j≤i} r_j, ``G_before``  Σ_{j<i} r_j ·
    ``e``  the effort of item i · ``E``  Σ_{j≤i} e_j · ``best``  max_{j≤i} r_j · ``grade``  the grade of item i ·
    ``total``  the query's total gain over all judgments · ``found``  the ranking's total gain ·
    ``fading(δ)``  F(i) = δF(i−1) + r_i · ``discounted(φ)``  Σ_{j≤i} r_j φ(j) · ``credited(s)``  Σ_{j≤i} r_j s(e_j) ·
    ``expected_effort``  Σ_j V(j)e_j (for aggregations) · ``at_least(rel)``  the same view with r_i = [grade ≥ rel].

    Never take cumulative sums yourself: beyond the end of the list the same names are answered in closed form.
    """

    def __init__(
        self,
        i: Array,
        r: Array,
        grade: ArrayLike | Callable[[], Array],
        totals: Callable[[float | None], Any],
        e: Values | None = None,
        unseen: float | None = 1.0,
        background: float = 0.0,
        background_grade: float = 0.0,
        E: Array | None = None,
    ) -> None:
        self.i, self.r = i, r
        self._grade, self._E = grade, E  # E where there are ranks between the columns
        self.totals, self.unseen = totals, unseen
        self.background, self.background_grade = background, background_grade  # of what is unseen
        self._e = e
        self.spend: Callable[[], Any] | None = None  # what expected_effort is, known once V is

    @cached_property
    def grade(self) -> Any:
        return self._grade() if callable(self._grade) else self._grade

    @property
    def e(self) -> Any:
        return 1.0 if self._e is None else self._e

    @cached_property
    def E(self) -> Array:
        if self._E is not None:
            return self._E
        return self.i if self._e is None else np.cumsum(self._e, axis=-1)

    @property
    def steps(self) -> Values:
        """What is spent from one column to the next."""
        if self._e is not None and self._E is None:
            return self._e
        return self.E - before(self.E)

    @cached_property
    def G(self) -> Array:
        return np.cumsum(self.r, axis=-1)

    @cached_property
    def G_before(self) -> Array:
        return before(self.G)

    @cached_property
    def best(self) -> Array:
        return np.maximum.accumulate(self.r, axis=-1)

    @cached_property
    def total(self) -> Array:
        self._refuse_endless_gain("the total gain is infinite")
        return self.totals(None)

    @property
    def found(self) -> Array:
        self._refuse_endless_gain("what a ranking finds in all is infinite")
        return self.G[..., -1:]

    def _refuse_endless_gain(self, what: str) -> None:
        if self.background:
            raise NoFiniteValue(f"with unseen documents of the best gain for ever, {what}.")

    @property
    def expected_effort(self) -> Array:
        if self.spend is None:
            raise NoFiniteValue("expected_effort is known only after C: read it in an aggregation, not in C.")
        return self.spend()

    def fading(self, delta: float) -> Array:
        faded = np.array(np.broadcast_to(self.r, np.broadcast_shapes(self.r.shape, self.i.shape)), float)
        keep = delta ** np.diff(self.i, axis=-1)  # between two columns may lie ranks without gain
        for column in range(1, faded.shape[-1]):
            faded[..., column] += keep[..., column - 1] * faded[..., column - 1]
        return faded

    def discounted(self, phi: Callable[[Array], Array]) -> Array:
        return np.cumsum(self.r * phi(self.i), axis=-1)

    def credited(self, share: Callable[[Values], Array]) -> Array:
        r, e = np.broadcast_arrays(self.r, self.e)
        credited = np.zeros(r.shape)
        gains = np.nonzero(r)
        credited[gains] = r[gains] * share(e[gains])
        return np.cumsum(credited, axis=-1)

    def at_least(self, rel: float | None) -> View:
        if rel is None:
            return self
        binary = (self.grade >= rel).astype(float)
        beyond = float(self.background > 0 and self.background_grade >= rel)
        known = self._e, self.unseen, beyond, self.background_grade, self._E
        return type(self)(self.i, binary, self.grade, lambda _: self.totals(rel), *known)

    def beyond(self, m: ArrayLike) -> Beyond:
        """The view of the m-th ranks after the last one."""
        return Beyond(self, np.asarray(m, float))


class Beyond(View):
    """The same names for ranks n+m that were not retrieved: gain 0 (or the background's), G and best frozen."""

    def __init__(self, seen: View, m: Array) -> None:
        best = seen.background, seen.background_grade
        super().__init__(seen.i[..., -1:] + m, best[0] + 0 * m, best[1] + 0 * m, seen.totals, None, seen.unseen, *best)
        self.seen, self.m = seen, m
        self.spend = lambda: seen.expected_effort

    @property
    def e(self) -> Any:
        if self.unseen is None:
            raise UnknownEffort
        return self.unseen

    @cached_property
    def E(self) -> Array:
        return self.seen.E[..., -1:] + self.e * self.m

    @cached_property
    def G(self) -> Array:
        return self.seen.G[..., -1:] + self.background * self.m

    @property
    def G_before(self) -> Array:
        return self.G - self.background

    @cached_property
    def best(self) -> Array:
        return np.maximum(self.seen.best[..., -1:], self.background) + 0 * self.m

    @property
    def total(self) -> Array:
        return self.seen.total

    @property
    def found(self) -> Array:
        return self.seen.found

    def fading(self, delta: float) -> Array:
        kept = delta**self.m
        more = self.m if delta == 1 else (1 - kept) / (1 - delta)
        return self.seen.fading(delta)[..., -1:] * kept + self.background * more

    def discounted(self, phi: Callable[[Array], Array]) -> Array:
        self._refuse_endless_gain("discounted gain has no closed form: give end='stop', or a rank as end=")
        return self.seen.discounted(phi)[..., -1:] + 0 * self.m

    def credited(self, share: Callable[[Values], Array]) -> Array:
        seen = self.seen.credited(share)[..., -1:] + 0 * self.m
        return seen + self.background * share(self.e) * self.m if self.background else seen

    def at_least(self, rel: float | None) -> View:
        return self if rel is None else self.seen.at_least(rel).beyond(self.m)


def before(cumulative: Array) -> Array:
    """The cumulative values one rank earlier: 0 before the first."""
    earlier = np.zeros_like(cumulative)
    earlier[..., 1:] = cumulative[..., :-1]
    return earlier
