"""Users after the end of a list whose unseen items have no effort: the limit of efforts that go to 0."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from itertools import pairwise

import numpy as np

from ..data.arrays import Array, Floats
from ..errors import NoFiniteValue
from .introspection import reads
from .language import Spec
from .view import Values, View

_EDGES = np.concatenate([[0.0], 2.0 ** np.arange(-64, 129)])  # edges of the blocks of efforts for integrals
_ROWS = 16  # rankings per batch of integrals
_MOST_ROUGH = 256  # largest number of blocks per ranking that are split
_HALVINGS = 60  # largest number of halvings of a block in which a function is not smooth
_X = (1 - np.cos(np.pi * np.arange(17) / 16)) / 2  # Chebyshev points in [0, 1], ends included
_NEVER = 1e-10  # share of users that is neglected


@cache
def _gauss() -> tuple[Floats, Floats]:
    """Return nodes in [0, 1] and weights of the Gauss-Legendre quadrature."""
    from numpy.polynomial import legendre

    nodes, weights = legendre.leggauss(16)
    return (nodes + 1) / 2, weights / 2


@cache
def _stieltjes() -> Floats:
    """Return M with Σ_jk f_j·M_jk·S_k = −∫ f dS for polynomials through the values at the points."""
    from numpy.polynomial import chebyshev, legendre

    points = 2 * _X - 1
    basis = chebyshev.chebvander(points, 16)
    to_coefficients = np.linalg.inv(basis)
    nodes, weights = legendre.leggauss(20)
    values = chebyshev.chebvander(nodes, 16) @ to_coefficients
    slopes = np.stack([chebyshev.chebval(nodes, chebyshev.chebder(column)) for column in to_coefficients.T], axis=1)
    return -(values * weights[:, None]).T @ slopes


class Endless(View):
    """Rows of a view after infinitely many unseen items with a total effort of t: E = E(n) + t.

    Parameters
    ----------
    seen : View
        View of the list.
    rows : ndarray of int
        Rows of the view.
    t : ndarray, shape (n_rows, n_times)
        Total efforts of the unseen items.
    e : float or ndarray, default=0
        Effort of an item.
    """

    def __init__(self, seen: View, rows: Array, t: Floats, e: Values = 0.0) -> None:
        best = seen.background, seen.background_grade
        i, r, grade = np.full(t.shape, np.inf), np.full(t.shape, best[0]), np.full(t.shape, best[1])
        super().__init__(i, r, grade, lambda rel: self._of(seen.totals(rel)), e, seen.unseen, *best)
        self.seen, self.rows, self.t = seen, rows, t
        self.spend = lambda: self._of(seen.expected_effort)

    def _of(self, values: Values) -> Floats:
        """Return the values of these rows at the end of the list."""
        last: Floats = np.atleast_2d(values)[:, -1:]
        return last if len(last) == 1 else last[self.rows]

    @cached_property
    def E(self) -> Floats:
        """Cumulative effort."""
        return self._of(self.seen.E) + self.t

    @property
    def E_before(self) -> Floats:
        """Cumulative effort before the item."""
        return self.E

    @cached_property
    def G(self) -> Floats:
        """Cumulative gain."""
        more: Floats = np.full(self.t.shape, np.inf if self.background else 0.0)
        return self._of(self.seen.G) + more

    @property
    def G_before(self) -> Floats:
        """Cumulative gain before the item."""
        return self.G

    @cached_property
    def best(self) -> Floats:
        """Highest gain so far."""
        return np.maximum(self._of(self.seen.best), self.r)

    @property
    def total(self) -> Values:
        """Total gain of the query over all judgments."""
        return self._of(self.seen.total)

    @property
    def found(self) -> Floats:
        """Total gain of the ranking."""
        return self._of(self.seen.found)

    def fading(self, delta: float) -> Floats:
        """Return F, as :meth:`View.fading`."""
        return self.G if delta == 1 else self.r / (1 - delta)

    def discounted(self, phi: Callable[[Floats], Floats]) -> Floats:
        """Return the discounted gain, as :meth:`View.discounted`."""
        self._refuse_endless_gain("discounted gain has no closed form: give end='stop', or a rank as end=")
        return self._of(self.seen.discounted(phi)) + 0 * self.t

    def credited(self, share: Callable[[Values], Floats]) -> Floats:
        """Return the credited gain, as :meth:`View.credited`."""
        grows = self.background and share(np.zeros(1))[0] > 0
        more: Floats = np.full(self.t.shape, np.inf if grows else 0.0)
        return self._of(self.seen.credited(share)) + more

    def at_least(self, rel: float | None) -> View:
        """Return the view with binary gains, as :meth:`View.at_least`."""
        return self if rel is None else Endless(self.seen.at_least(rel), self.rows, self.t, self.e)


class EffortBeyond:
    """Distribution of the effort t that users spend after the list: S(t) is the share of them who spend more than t.

    If C returns V, S(t) is V(E(n) + t)/V(E(n)). Otherwise S(t) = exp(−∫λ), with the rate of leaving λ = lim −log C(e)/e
    for e → 0.

    Parameters
    ----------
    C : Spec
        Continuation.
    view : View
        View of the list.
    """

    def __init__(self, C: Spec, view: View) -> None:
        self.C, self.view = C, view
        self.names = reads(C)

    def more_than(self, t: Floats, rows: Array) -> Floats:
        """Return S(t) of these rows, of shape [rows × times]."""
        self._refuse_ranks()
        with np.errstate(all="ignore"):
            if self.C.fact("gives_survival"):
                V, first = self._V(t, rows), self._V(np.zeros((len(rows), 1)), rows)
                return np.divide(V, first, out=np.zeros(V.shape), where=first > 0)
            if "E" not in self.names:
                return np.exp(-np.where(t > 0, self._rate(np.zeros((len(rows), 1)), rows) * t, 0.0))
            return np.exp(-self._summed_rate(t, rows))

    def left_for_ever(self, rows: Array) -> Floats:
        """Return the share of users (0 or 1) who never leave for any effort, of shape [rows × 1]."""
        if self.C.fact("eventually_leaves"):
            return np.zeros((len(rows), 1))
        if "E" in self.names and not self.C.fact("gives_survival"):
            with np.errstate(all="ignore"):  # a rough sum is nearly always sufficient
                points = np.broadcast_to(_EDGES[1:], (len(rows), len(_EDGES) - 1))
                summed: Floats = (self._rate(points, rows) * np.diff(_EDGES)).sum(axis=1, keepdims=True)
            if ((summed == 0) | (summed > 1000)).all():
                return np.asarray(summed == 0, float)
        left = self.more_than(np.full((len(rows), 1), _EDGES[-1]), rows)
        if ((left > _NEVER) & (left < 1)).any() and not self.C.fact("vanishes"):
            raise NoFiniteValue(
                f"under {self.C.keyword} the share of users who are left does not go to 0 with the effort, or goes to"
                " 0 too slowly for a sum: give end='stop', or a rank as end=."
            )
        return (left >= 1).astype(float)

    def mean(self, felt: Callable[[Floats, Array], Floats], n: int) -> Floats:
        """Return −∫ felt(t) dS(t), of shape [n × 1]; infinite if there is no finite value.

        Parameters
        ----------
        felt : callable
            Function of t and rows.
        n : int
            Number of rows of the view.
        """
        found = np.zeros((n, 1))
        for rows in np.array_split(np.arange(n), n // _ROWS + 1):
            if len(rows):
                found[rows] = self._mean(felt, rows)
        return found

    def _mean(self, felt: Callable[[Floats, Array], Floats], rows: Array) -> Floats:
        S = self.more_than(np.broadcast_to(_EDGES, (len(rows), len(_EDGES))), rows)
        place, block = np.nonzero(S[:, :-1] > S[:, 1:])
        a, b = _EDGES[block], _EDGES[block + 1]
        found = np.zeros(len(rows))
        whole, _ = self._integral(felt, rows[place], a, b)
        scale = np.zeros(len(rows))
        np.add.at(scale, place, np.abs(whole))
        for _ in range(_HALVINGS):
            middle = (a + b) / 2
            (left, allowed), (right, more) = (
                self._integral(felt, rows[place], *ends) for ends in ((a, middle), (middle, b))
            )
            with np.errstate(invalid="ignore"):
                rough = np.abs(left + right - whole) > allowed + more + 1e-14 * scale[place]
            np.add.at(found, place[~rough], (left + right)[~rough])
            if not rough.any():
                break
            if rough.sum() > _MOST_ROUGH * len(rows):
                raise self._not_smooth()
            place, whole = np.repeat(place[rough], 2), np.stack([left, right], axis=1)[rough].ravel()
            a, b = (np.stack(ends, axis=1)[rough].ravel() for ends in ((a, middle), (middle, b)))
        else:
            np.add.at(found, place, whole)
        with np.errstate(all="ignore"):
            first, last = (np.asarray(felt(np.full((len(rows), 1), t), rows), float) for t in (0.0, _EDGES[-1]))
            negligible = np.abs(S[:, -1:] * last) <= _NEVER * np.maximum(np.abs(found[:, None]), 1e-3)
        return np.where(np.isfinite(first) & negligible, found[:, None], np.inf)

    def _integral(
        self, felt: Callable[[Floats, Array], Floats], rows: Array, a: Floats, b: Floats
    ) -> tuple[Floats, Floats]:
        """Return −∫ felt dS from a to b, and a bound of its error."""
        t = a[:, None] + (b - a)[:, None] * _X
        S = self.more_than(t, rows)
        with np.errstate(all="ignore"):
            values = np.broadcast_to(np.asarray(felt(t, rows), float), t.shape)
            size, spread, drop = np.abs(values).max(axis=1), np.ptp(values, axis=1), S[:, 0] - S[:, -1]
            found = values[:, 0] * drop + np.einsum("qj,jk,qk->q", values - values[:, :1], _stieltjes(), S - S[:, -1:])
            return found, 1e-11 * size * drop + 1e-14 * spread * S[:, 0]

    def spent_by(self, left: Floats, rows: Array) -> Floats:
        """Return the effort t with S(t) = left, of shape [rows × users]; infinite if S never falls to `left`."""
        if "E" not in self.names:
            self._refuse_ranks()
            with np.errstate(divide="ignore"):
                return -np.log(left) / self._rate(np.zeros((len(rows), 1)), rows)
        low, high = np.zeros(left.shape), np.full(left.shape, np.inf)
        for edge in _EDGES[1:]:
            more = self.more_than(np.full((len(rows), 1), edge), rows) > left
            low, high = np.where(more, edge, low), np.where(more, high, np.minimum(high, edge))
        found = np.isfinite(high)
        for _ in range(_HALVINGS):
            middle = np.where(found, low + (high - low) / 2, 0.0)
            more = self.more_than(middle, rows) > left
            low, high = np.where(more & found, middle, low), np.where(more | ~found, high, middle)
        return high

    def _refuse_ranks(self) -> None:
        if "i" in self.names:
            raise NoFiniteValue(
                f"unseen items have no effort, so that users see infinitely many, and {self.C.keyword} depends on the"
                " rank: give unseen= above 0 (the effort of an unseen item), end='stop', or a rank as end=."
            )

    # ---- continuations that return V

    def _V(self, t: Floats, rows: Array) -> Floats:
        return np.broadcast_to(np.asarray(self.C(Endless(self.view, rows, t)), float), t.shape)

    # ---- other continuations: the rate at which users leave

    def _rate(self, t: Floats, rows: Array) -> Floats:
        """Return λ at E(n) + t.

        −log C(e)/e is extrapolated to e = 0 from six small efforts, each half of the previous one.
        """

        def rate(e: Floats) -> Floats:
            C: Floats = np.broadcast_to(np.asarray(self.C(Endless(self.view, rows, t, e)), float), t.shape)
            return -np.log(C) / e

        # Bisect for the largest effort 16^k at which at most about a quarter of the users leaves.
        low, high = np.full(t.shape, -17), np.full(t.shape, 49)
        for _ in range(7):
            middle = (low + high) // 2
            few = rate(16.0**middle) * 16.0**middle <= 0.25
            low, high = np.where(few, middle, low), np.where(few, high, middle)
        at_once, e = low < -16, 16.0 ** np.maximum(low, -16)
        rates = [rate(np.where(at_once, 1.0, e) / 2**j) for j in range(6)]
        at_once = at_once | (rates[-1] > 1.5 * rates[0])
        better = rates
        for order in range(1, 6):
            rates, better = better, [b + (b - a) / (2**order - 1) for a, b in pairwise(better)]
        if (~at_once & (np.abs(better[0] - rates[1]) > 1e-8 * np.abs(better[0]) + 1e-12 / e)).any():
            raise self._not_smooth()
        return np.where(at_once, np.inf, np.where(better[0] * e > 1e-12, better[0], 0.0))

    def _summed_rate(self, t: Floats, rows: Array) -> Floats:
        """Return ∫λ from 0 to t."""
        block = np.maximum(np.searchsorted(_EDGES, t, side="right") - 1, 0)
        before = self._at_edges[rows if len(self._at_edges) > 1 else np.zeros(len(rows), int)]
        return np.take_along_axis(before, block, axis=1) + self._integrated_rate(_EDGES[block], t, rows)

    @cached_property
    def _at_edges(self) -> Floats:
        """∫λ from 0 to each edge, for all rows of the view."""
        n = len(np.atleast_2d(self.view.E))
        sums = np.zeros((n, len(_EDGES)))
        for rows in np.array_split(np.arange(n), n // _ROWS + 1):
            a, b = (np.broadcast_to(ends, (len(rows), len(ends))) for ends in (_EDGES[:-1], _EDGES[1:]))
            whole = self._integrated_rate(a, b, rows)
            halves = self._integrated_rate(a, (a + b) / 2, rows) + self._integrated_rate((a + b) / 2, b, rows)
            if not np.isclose(whole, halves, rtol=1e-10, atol=1e-12).all():
                raise self._not_smooth()
            sums[rows, 1:] = np.cumsum(halves, axis=1)
        return sums

    def _integrated_rate(self, a: Floats, b: Floats, rows: Array) -> Floats:
        """Return ∫λ from a to b, of shape [rows × intervals]; infinite if all users leave at once at a node."""
        nodes, weights = _gauss()
        t = (a[..., None] + (b - a)[..., None] * nodes).reshape(len(rows), -1)
        inside = (self._rate(t, rows).reshape(*a.shape, -1) * weights).sum(axis=-1)
        return np.where(np.isinf(self._rate(b, rows)), np.inf, np.where(b > a, (b - a) * inside, 0.0))

    def _not_smooth(self) -> NoFiniteValue:
        return NoFiniteValue(
            f"unseen items have no effort, and {self.C.keyword} is not smooth in the effort, so that the limit for"
            " efforts that go to 0 is not known: give unseen= above 0 (the effort of an unseen item), end='stop', or a"
            " rank as end=."
        )
