"""Users of rankings at every rank and after the list: V, L and sums over endless lists."""

from __future__ import annotations

from functools import cached_property, lru_cache
from math import factorial
from weakref import ref

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..data.columns import Array, Floats
from ..errors import NoFiniteValue
from .continuations import BERNOULLI
from .fact_trials import warn_if_nobody_leaves
from .introspection import SUMS, check_probabilities, matrix, on_ranks, reads, try_out
from .language import Spec
from .metric import Metric
from .view import UnknownEffort, View, before

Mask = NDArray[np.bool_]
Browsed = tuple[Floats, Floats, Floats, Mask, Mask]
"""V and L at nodes, V after the last node, whether V is smooth, and whether C is 1 at all nodes."""

_POINTS = 16  # nodes per block (a, 2a]; functions such as i^-p are then accurate to 12 digits
_NOBODY = np.zeros((1, 1), bool)
_FAR = 1e12  # rank that is treated as infinity
_STEADY = {"r", "grade", "best"}  # attributes of a view that are the same at all unseen items, whatever their gain
_SUMMED = {"G", "G_before", "total", "found"}  # and those that are if these items have no gain


class Walk:
    """Continuation, survival, leaving and score of the users of a metric, computed from one view of rankings.

    Parameters
    ----------
    metric : Metric
        The metric.
    view : View
        View of the rankings.
    leaves : ndarray of int, optional
        Column at which all users of each query leave, at the latest.
    C : ndarray, optional
        Probabilities of going on; by default those of the metric's continuation.

    Attributes
    ----------
    C : ndarray
        Probability of going on at each rank.
    V : ndarray
        Share of users who see each rank.
    reach : ndarray, shape (n_queries, 1)
        V at the first rank after the list.
    """

    def __init__(self, metric: Metric, view: View, leaves: Array | None = None, C: Floats | None = None) -> None:
        self.metric, self.view = metric, view
        if not metric.C.built_in:
            try_out(metric.C)
            if self._open:
                warn_if_nobody_leaves(metric.C)
        first: Floats | float = 1.0
        if metric.C.fact("gives_survival"):
            C, first = self._of_survival()
        elif C is None:
            C = self._given(metric.C, view)
        if not (metric.C.built_in and metric.rank_only):
            check_probabilities(metric.C, C, view.r)
        self._between: Floats | None = None  # items seen between the columns, per user who sees the column before
        if view.skipped is not None:
            share, items = self._past_gaps(view.skipped)
            self._between = C * items
            C = np.where(self._listed, C * share, 1.0)
        if leaves is not None:
            rows = len(C) if (leaves == leaves[0]).all() else len(view.r)  # one row if C is the same for all queries
            C = np.array(np.broadcast_to(C, (rows, view.r.shape[-1])))
            C[np.arange(rows), leaves[:rows]] = 0.0
        elif C.shape[-1] < view.r.shape[-1]:
            C = np.broadcast_to(C, (len(C), view.r.shape[-1]))
        self.C = C
        self.V = np.empty(C.shape)
        self.V[:, :1] = first
        np.cumprod(C[:, :-1], axis=-1, out=self.V[:, 1:])
        if np.ndim(first):
            self.V[:, 1:] *= first
        self.reach = self.V[:, -1:] * C[:, -1:]
        me = ref(self)  # weak reference, so that the memory of finished chunks is freed
        view.spend = lambda: me().expected_effort  # type: ignore[union-attr]

    def _given(self, spec: Spec, view: View) -> Floats:
        return on_ranks(spec, view, len(self.view.r))

    def _of_survival(self) -> tuple[Floats, Floats]:
        """Return C and V at the first column, from V."""
        V = np.broadcast_to(self._given(self.metric.C, self.view), self.view.r.shape)
        after = np.zeros((1, 1))
        C = self.metric.C
        if self._open and self.view.unseen == 0 and self.metric.effort_only and "E_before" not in reads(C):
            after = V[:, -1:]
        elif self._open:
            try:
                after = self._given(self.metric.C, self.view.beyond([[1.0]]))
            except UnknownEffort:
                if not self.metric.constant_without_gain:
                    raise
                after = V[:, -1:]  # nobody is assumed to leave at the last item; A is constant after it
        later = np.concatenate([V[:, 1:], np.broadcast_to(after, (len(V), 1))], axis=1)
        return _ratio(later, V), V[:, :1]

    def _past_gaps(self, m: Floats) -> tuple[Floats, Floats]:
        """Return the share of users who pass m items without gain after each column, and how many of them they see."""
        closed = self.metric.C.fact("items_between")
        if closed:
            found: tuple[Floats, Floats] = closed(self.view, m)
            return found
        c = self._given(self.metric.C, self.view.after_each([[1.0]]))  # constant up to the next gain
        with np.errstate(divide="ignore", invalid="ignore"):
            items = np.where(c < 1, -np.expm1(m * np.log(np.maximum(c, 1e-300))) / (1 - c), m)
        return c**m, items

    @property
    def _listed(self) -> Mask:
        """Whether each column is an item, and not a repetition of the last one."""
        return np.asarray(self.view.i > before(self.view.i))

    @cached_property
    def L(self) -> Floats:
        """Share of users who leave at each rank."""
        return self.V * (1 - self.C)

    @cached_property
    def A(self) -> Floats:
        """Aggregation at each rank."""
        if not self.metric.A.built_in:
            try_out(self.metric.A)
        return self._given(self.metric.A, self.view)

    @cached_property
    def score(self) -> Floats:
        """Σ L(i)·A(i), of shape [queries × 1]."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            score: Floats = (self.L * self.A).sum(axis=-1, keepdims=True)
            if not np.isfinite(score).all():  # A may be infinite at ranks where nobody leaves
                score = np.where(self.L > 0, self.L * self.A, 0.0).sum(axis=-1, keepdims=True)
            score = score + self.score_beyond
        if not np.isfinite(score).all():
            message = f"{self.metric.C.keyword} with {self.metric.A.keyword} has no finite value here."
            if ((self.L > 0) & (self.view.E == 0) & ~np.isfinite(self.A)).any():
                message += (
                    " It divides by the effort, which is 0 for users who see only documents that cost nothing:"
                    " give these a cost above 0, or choose gain per document (A='per_item', PrecisionWithin)."
                )
            raise NoFiniteValue(message)
        return score

    @cached_property
    def expected_items(self) -> Floats:
        """V⁺ = Σ V(i), of shape [queries × 1]."""
        gaps = self.view.i - before(self.view.i) if self._between is None else self._listed + self._between
        on_list: Floats = (self.V * gaps).sum(axis=-1, keepdims=True)
        return on_list + self.items_beyond

    @cached_property
    def expected_effort(self) -> Floats:
        """Σ V(i)·e_i, of shape [queries × 1]; infinite if users never leave."""
        costs = self.view.steps if self._between is None else self.view.e + self._between * self.view.beyond([[1.0]]).e
        units = np.size(costs) <= self.view.i.shape[-1] and np.all(costs == 1)
        on_list: Floats = (self.V if units else self.V * costs).sum(axis=-1, keepdims=True)
        return on_list + self.effort_beyond

    @cached_property
    def effort_beyond(self) -> Floats:
        """ΣV(j)·e_j over the ranks after the list."""
        items = self.items_beyond
        if not items.any():
            return np.zeros((1, 1))
        self.refuse_free_items()
        self._refuse_endless_means(items)
        cost = matrix(self.view.beyond([[1.0]]).e)
        return np.multiply(items, cost, out=np.where(items > 0, np.inf, 0.0), where=np.isfinite(items))

    @cached_property
    def staying(self) -> Floats:
        """Share of users who never leave, of shape [queries × 1]."""
        return np.where(self.stay & ~self.free, self.reach, 0.0) if self._open else np.zeros((1, 1))

    @cached_property
    def total_gain(self) -> Floats:
        """Σ L(i)·G(i), of shape [queries × 1], where unseen items have no gain: the score with the aggregation etg."""
        L, G = np.broadcast_arrays(self.L, self.view.G)  # either has one row if it is the same for all queries
        gain: Floats = (L * G).sum(axis=-1, keepdims=True) + (self.reach - self.staying) * G[:, -1:]
        return gain

    def _refuse_endless_means(self, items: Floats) -> None:
        """Raise NoFiniteValue if all users leave, but V⁺ is infinite, so that no mean over items is defined."""
        if (np.isinf(items) & ~self.stay).any():
            raise NoFiniteValue(
                f"{self.metric.C.keyword} has an infinite V⁺, so {self.metric.A.keyword} is not defined: give"
                " C a k, or end='stop', or a rank as end=."
            )

    # ---- after the list

    def goes_on(self, m: ArrayLike) -> Floats:
        """Return C at the m-th ranks after the list."""
        if self.metric.C.fact("gives_survival"):
            V, later = (self._given(self.metric.C, self.view.beyond(rank)) for rank in (m, np.asarray(m) + 1))
            return _ratio(later, V)
        return self._given(self.metric.C, self.view.beyond(m))

    @cached_property
    def items_beyond(self) -> Floats:
        """ΣV(j) over the ranks after the list."""
        closed = self.metric.C.fact("items_beyond")
        if closed is not None and (self.metric.rank_only or not self.view.background):
            return np.where(self._open, closed(self.view, self.reach), 0.0)
        if not self.reach.any():
            return np.zeros(self.reach.shape)
        if self.constant_beyond:
            c = self.goes_on([[1.0]])
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.where(self.reach > 0, self.reach / (1 - c), 0.0)
        return self._sum_from_nodes(None)

    @property
    def constant_beyond(self) -> bool:
        """Whether C is the same at all ranks after the list. Sums of gains vary there if unseen items have a gain."""
        C = self.metric.C
        if self.view.unseen == 0 and self.metric.effort_only:
            return True
        return bool(C.fact("constant_beyond_list")) and not (self.view.background and reads(C) & SUMS)

    @property
    def _open(self) -> bool:
        return self.metric.end == "open"

    @cached_property
    def score_beyond(self) -> Floats:
        """Σ L(j)·A(j) over the ranks after the list."""
        C = self.metric.C
        if not self._open or not (self.reach.any() or (C.fact("items_beyond") and self.items_beyond.any())):
            return np.zeros(self.reach.shape)
        A, background = self.metric.A, bool(self.view.background)
        keeps = not background and self.metric.constant_without_gain
        steady = keeps or reads(A) <= (_STEADY if background else _STEADY | _SUMMED)
        if not steady:
            self.refuse_free_items()
        if not (steady or A.fact("affine_beyond_list")):
            all_stay = self.constant_beyond and bool(np.all(self.stay | (self.reach == 0)))
            return np.zeros(self.reach.shape) if all_stay else self._sum_from_nodes(A)
        leaving = np.where(self.stay, 0.0, self.reach)
        if keeps:
            with np.errstate(invalid="ignore"):  # A may be infinite if nobody leaves there
                return np.where(leaving > 0, leaving * self.A[:, -1:], 0.0)
        first, second = (self._given(A, self.view.beyond([[m]])) for m in (1.0, 2.0))
        with np.errstate(invalid="ignore"):  # A may be infinite at ranks that nobody sees
            at_once = np.where(leaving > 0, leaving * first, 0.0)
            step = np.where(np.isfinite(first), second - first, 0.0)
        if not step.any():
            return at_once
        self._refuse_endless_means(self.items_beyond)
        with np.errstate(invalid="ignore"):
            return at_once + np.where(np.isinf(self.items_beyond), 0.0, step * (self.items_beyond - leaving))

    def refuse_free_items(self) -> None:
        """Raise NoFiniteValue if users leave after infinitely many unseen items without effort."""
        if self.free.any():
            raise NoFiniteValue(
                f"{self.metric.A.keyword} depends on what unseen items cost, and they have no effort here: give unseen="
                " above 0 (the effort of an unseen item), end='stop', or a rank as end=."
            )

    @cached_property
    def free(self) -> Mask:
        """Whether users leave after infinitely many unseen items without effort, of shape [queries × 1]."""
        # Efforts make users leave: free unseen items are then the limit of efforts that go to 0.
        if not self._open or self.view.unseen != 0 or not self.metric.C.fact("eventually_leaves"):
            return _NOBODY
        return np.asarray((self.reach > 0) & (self.goes_on([[1.0]]) >= 1))

    @cached_property
    def stay(self) -> Mask:
        """Whether users never leave, of shape [queries × 1]; such users contribute nothing."""
        C = self.metric.C
        if C.fact("eventually_leaves"):
            return _NOBODY
        if C.fact("ignores_zero_gain") and not self.view.background:  # C is 1 at all items after the list
            return np.ones((1, 1), bool)
        if self.constant_beyond:
            stay = self.goes_on([[1.0]]) >= 1
            if self.metric.effort_only and self.view.unseen == 0 and (stay & (self.reach > 0)).any():
                raise NoFiniteValue(
                    f"{C.keyword} depends on efforts, and unseen items have none here: give unseen= above 0 (the effort"
                    " of an unseen item), end='stop', or a rank as end=; or state eventually_leaves=True in its"
                    " decorator, if all users leave in the end."
                )
            return stay
        if C.fact("items_beyond") is not None and self.view.background >= 0:
            return np.isinf(self.items_beyond)
        if not C.fact("vanishes") and self.reach.any():
            return np.isinf(self._sum_from_nodes(None, vanish_only=True))
        return _NOBODY

    def _sum_from_nodes(self, A: Spec | None, vanish_only: bool = False) -> Floats:
        """Return ΣV, or ΣL·A, over the ranks after the list, from values at sparse nodes.

        Each ranking uses the first grid of nodes that is accurate enough.
        """
        found, done, far = np.zeros((1, 1)), _NOBODY, _NOBODY
        for start, doublings in ((16, 8), (16, 40), (1024, 34), (16384, 30)):
            sums, smooth, whole = self._sum(grid(start, doublings), A, vanish_only)
            found = np.where(smooth & whole & ~done, sums, found)
            done = done | (smooth & whole)
            if start + doublings > 16 + 8:
                far = far | (smooth & ~done)
            if (done | far).all():
                break
        else:
            raise NoFiniteValue(
                f"{self.metric.C.keyword} with {self.metric.A.keyword} is not smooth far beyond the list:"
                f" give {'a greater unseen=, ' if self.metric.effort_only else ''}end='stop', or a rank as end=."
            )
        if done.all():
            return found
        slowly = "does not go to 0, or goes to 0 too slowly for a sum"
        if A is None and any(self.metric.C.fact(fact) for fact in ("vanishes", "eventually_leaves")):
            slowly = "goes to 0 too slowly to sum V⁺, which may be finite"
        raise NoFiniteValue(
            f"under {self.metric.C.keyword} the share of users who are left {slowly}: give C a k, or end='stop', or a"
            " rank as end=."
        )

    def _sum(self, nodes: Grid, A: Spec | None, vanish_only: bool) -> tuple[Floats, Mask, Mask]:
        """Return the sum at these nodes, whether V is smooth between them, and whether the rest is negligible."""
        if nodes not in self._at_nodes:  # ΣV and the question whether V goes to 0 have the same nodes
            self._at_nodes[nodes] = self._browsed(nodes)
        V, L, left, smooth, stay = self._at_nodes[nodes]
        reach = self.reach
        if A is None:
            whole = np.where(stay & (reach > 0), np.inf, nodes.total(V))
            rest = left if vanish_only else left * nodes.m[0, -1]
            if not vanish_only and nodes.m[0, -1] > _FAR:
                after, doubt = nodes.power_law_after(V)
                known = (rest > 1e-10 * np.maximum(whole, 1e-3)) & (doubt <= 1e-10 * whole)
                whole, rest = np.where(known, whole + after, whole), np.where(known, 0.0, rest)
            allowed = np.full(whole.shape, 1e-10) if vanish_only else 1e-10 * np.maximum(whole, 1e-3)
        else:
            with np.errstate(divide="ignore", over="ignore"):
                felt = self._given(A, self.view.beyond(nodes.m))
            felt = np.broadcast_to(felt, (len(felt), nodes.m.shape[1]))
            last = felt[:, -1:]
            # If A converges, sum differences to its last value: rounding of 1 − C then matters less.
            base = np.where(np.abs(last) <= 100 * np.abs(felt[:, :1]), last, 0.0)
            values = L * (felt - base)
            whole, rest = nodes.total(values) + base * (reach - left), left * last
            allowed = 1e-13 + 1e-10 * np.abs(whole + rest)
            smooth = smooth & (nodes.doubt(values) <= 10 * allowed)
            leave = ("vanishes", "eventually_leaves", "constant_beyond_list", "items_beyond")
            known = any(self.metric.C.fact(fact) for fact in leave)
            if known and nodes.m[0, -1] > _FAR:
                # All users leave in the end; if A hardly changes after the nodes, they leave with its last value.
                steady = left * np.abs(last - felt[:, -17:-16]) <= allowed
                whole, rest = whole + np.where(steady & ~stay, rest, 0.0), np.where(steady, 0.0, rest)
        return whole, smooth, stay | (np.abs(rest) <= allowed)

    @cached_property
    def _at_nodes(self) -> dict[Grid, Browsed]:
        return {}

    def _browsed(self, nodes: Grid) -> Browsed:
        """Return V and L at these nodes, V after the last, whether V is smooth, and whether C is 1 at all nodes.

        Users who never leave contribute nothing.
        """
        reach, shape = self.reach, nodes.m.shape
        if self.metric.C.fact("gives_survival"):
            V, later = (self._given(self.metric.C, self.view.beyond(m)) for m in (nodes.m, nodes.m + 1))
            V, later = (
                np.where(reach > 0, np.broadcast_to(values, (len(values), shape[1])), 0.0) for values in (V, later)
            )
            same = np.asarray((later == V).all(axis=-1, keepdims=True))
            stay = _NOBODY if self.metric.C.fact("eventually_leaves") else same
            return V, V - later, later[:, -1:], nodes.follows(V), stay
        C = self.goes_on(nodes.m)
        C = np.broadcast_to(C, (len(C), shape[1]))
        survival, left, smooth = nodes.survival(C)
        V = reach * survival
        return V, V * (1 - C), reach * left, smooth, np.asarray((C >= 1).all(axis=-1, keepdims=True))


def _ratio(later: Floats, V: Floats) -> Floats:
    return np.divide(later, V, out=np.zeros(np.broadcast_shapes(later.shape, V.shape)), where=V > 0)


class Grid:
    """Nodes after a ranking: ranks 1 to start, then Chebyshev points in blocks (a, 2a].

    Matrices give sums over all ranks of a block from the values at its points.

    Parameters
    ----------
    start : int
        Number of ranks before the first block.
    doublings : int
        Number of blocks.

    Attributes
    ----------
    m : ndarray, shape (1, n_nodes)
        Nodes, as distances from the last rank of the ranking.
    """

    def __init__(self, start: int, doublings: int) -> None:
        self.start = start
        blocks = [_block(start * 2**j) for j in range(doublings)]
        self.sums = [sums for _, sums, _ in blocks]
        self.spectra = [spectrum for _, _, spectrum in blocks]
        self.m = np.concatenate([np.arange(1, start + 1, dtype=float), *(points for points, _, _ in blocks)])[None, :]

    def blocks(self, values: Floats) -> list[Floats]:
        """Return the values at the nodes of each block."""
        rest = values[..., self.start :]
        return [rest[..., _POINTS * j : _POINTS * (j + 1)] for j in range(len(self.sums))]

    def survival(self, C: Floats) -> tuple[Floats, Floats, Mask]:
        """Return V at the nodes relative to V at the first, V after the last node, and whether C is smooth.

        V is the product of C, computed with logarithms in the blocks. If C is not smooth, it may jump between the
        nodes.
        """
        log = np.log(np.maximum(C, 1e-300))
        smooth = np.ones((len(log), 1), bool)
        for block, spectrum in zip(self.blocks(log), self.spectra, strict=True):
            # The highest coefficients are near 0 for smooth functions, and not for functions with a jump.
            coefficients = np.abs(_sums(block, spectrum))
            highest = coefficients[..., -3:].max(axis=-1, keepdims=True)
            smooth &= highest <= 1e-7 * (1e-3 + coefficients.max(axis=-1, keepdims=True))
        explicit = np.cumsum(log[..., : self.start], axis=-1)
        parts = [explicit - log[..., : self.start]]
        reached = explicit[..., -1:]
        for block, sums in zip(self.blocks(log), self.sums, strict=True):
            parts.append(reached + _sums(block, sums[:-1]) - block)
            reached = reached + _sums(block, sums[-1:])
        return np.exp(np.concatenate(parts, axis=-1)), np.exp(reached), smooth

    def follows(self, V: Floats) -> Mask:
        """Return whether polynomials approximate a falling V between the nodes, where it may jump."""
        smooth = np.ones((len(V), 1), bool)
        for block, spectrum in zip(self.blocks(V), self.spectra, strict=True):
            smooth &= np.abs(_sums(block, spectrum[-3:])).max(axis=-1, keepdims=True) <= 1e-9 * V[..., :1]
        return smooth

    def total(self, values: Floats) -> Floats:
        """Return the sum over all ranks from the first to the end of the last block."""
        whole: Floats = values[..., : self.start].sum(axis=-1, keepdims=True)
        for block, sums in zip(self.blocks(values), self.sums, strict=True):
            whole = whole + _sums(block, sums[-1:])
        return whole

    def power_law_after(self, V: Floats) -> tuple[Floats, Floats]:
        """Return the sum of V over the ranks after the last block if V is a power law there, and its possible error.

        Σ_{i>n} V(n)·(i/n)^(−p) = V(n)·(n/(p−1) − 1/2) for p > 1 and large n, with p from the last block. The error is
        estimated from the p of the block before. For p ≤ 1, the sum is infinite if p hardly rises, and otherwise the
        error is.
        """
        last = self.m[0, -1]
        with np.errstate(divide="ignore", invalid="ignore"):
            earlier, p = (
                np.log(V[..., [a]] / V[..., [b]]) / np.log(self.m[0, b] / self.m[0, a])
                for a, b in ((-1 - 2 * _POINTS, -1 - _POINTS), (-1 - _POINTS, -1))
            )
            rise = p - earlier
            endless = (p <= 1) & (p + rise <= 1 + 1e-12) & (rise <= 1e-3 * p)
            after = np.where(endless, np.inf, V[..., -1:] * (last / (p - 1) - 0.5))
            return after, np.where(endless, 0.0, np.where(p > 1, after * np.abs(rise) / (p - 1), np.inf))

    def doubt(self, values: Floats) -> Floats:
        """Return an estimate of the error of the total: the contribution of the highest coefficients."""
        doubts = [
            np.abs(_sums(block, spectrum[-2:])).max(axis=-1, keepdims=True) * sums[-1].sum()
            for block, sums, spectrum in zip(self.blocks(values), self.sums, self.spectra, strict=True)
        ]
        largest: Floats = np.max(doubts, axis=0)
        return largest


def _sums(block: Floats, matrix: Floats) -> Floats:
    """Return block @ matrix.T; unlike with BLAS, the last bit of a row does not depend on the number of rows."""
    product: Floats = np.einsum("qk,jk->qj", block, matrix)
    return product


@lru_cache(maxsize=16)
def grid(start: int, doublings: int) -> Grid:
    """Return a cached grid."""
    return Grid(start, doublings)


def _block(a: int) -> tuple[Floats, Floats, Floats]:
    """Return nodes in (a, 2a], the matrix to sums Σ_{a<i≤node} (last row: to 2a), and the matrix to coefficients."""
    from numpy.polynomial import chebyshev

    angles = np.pi * (np.arange(_POINTS) + 0.5) / _POINTS
    points: Floats = np.unique(np.round(1.5 * a + 0.5 - 0.5 * (a - 1) * np.cos(angles) / np.cos(angles[0])))
    if len(points) < _POINTS:  # in a short block, two points may be rounded to the same rank
        points = np.arange(a + 1, 2 * a + 1, dtype=float)
    half = a / 2

    def scaled(i: Floats) -> Floats:
        return (i - 1.5 * a) / half

    basis = chebyshev.chebvander(scaled(points), _POINTS - 1)
    ends = scaled(np.append(points, 2.0 * a))
    sums = np.empty((len(ends), _POINTS))
    for degree in range(_POINTS):
        # The Euler-Maclaurin formula is exact for polynomials, for blocks of any length.
        polynomial = np.eye(_POINTS)[degree]
        antiderivative = half * chebyshev.chebint(polynomial, lbnd=-1)
        sums[:, degree] = chebyshev.chebval(ends, antiderivative) + 0.5 * (
            chebyshev.chebval(ends, polynomial) - chebyshev.chebval(-1, polynomial)
        )
        derivative = polynomial
        for k, bernoulli in enumerate(BERNOULLI, start=1):
            derivative = chebyshev.chebder(derivative, 1 if k == 1 else 2)
            factor = bernoulli / factorial(2 * k) / half ** (2 * k - 1)
            sums[:, degree] += factor * (chebyshev.chebval(ends, derivative) - chebyshev.chebval(-1, derivative))
    spectrum = np.asarray(np.linalg.inv(basis), float)
    return points, sums @ spectrum, spectrum
