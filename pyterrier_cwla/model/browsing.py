"""Users of rankings at every rank and after the list: V, L and sums over endless lists."""

from __future__ import annotations

from functools import cache, cached_property
from itertools import pairwise
from weakref import ref

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..data.columns import Array, Floats
from ..errors import NoFiniteValue
from .fact_trials import warn_if_nobody_leaves
from .introspection import SUMS, check_probabilities, matrix, on_ranks, reads, try_out
from .language import Spec
from .metric import Metric
from .tail_sums import Grid, grid
from .view import UnknownEffort, Values, View, before

_EDGES = np.concatenate([[0.0], 2.0 ** np.arange(-64, 129)])  # edges of the blocks of efforts for integrals
_ROWS = 16  # rankings per batch of integrals
_HALVINGS = 60  # halvings of a block of efforts in which a share of users is looked for
_NEVER = 1e-10  # share of users that is neglected


@cache
def _gauss() -> tuple[Floats, Floats]:
    """Return nodes in [0, 1] and weights of the Gauss-Legendre quadrature."""
    from numpy.polynomial import legendre

    nodes, weights = legendre.leggauss(16)
    return (nodes + 1) / 2, weights / 2


class Endless(View):
    """Rows of a view after infinitely many unseen items with a total effort of t: E = E(n) + t.

    Continuations may read all but the rank and sums over ranks.

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
        nothing = np.zeros(t.shape)
        super().__init__(nothing + np.inf, nothing, nothing, lambda rel: self._of(seen.totals(rel)), e, seen.unseen)
        self.seen, self.rows, self.t = seen, rows, t

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
        return self._of(self.seen.G) + 0 * self.t

    @property
    def G_before(self) -> Floats:
        """Cumulative gain before the item."""
        return self.G

    @cached_property
    def best(self) -> Floats:
        """Highest gain so far."""
        return self._of(self.seen.best) + 0 * self.t

    @property
    def total(self) -> Values:
        """Total gain of the query over all judgments."""
        return self._of(self.seen.total)

    @property
    def found(self) -> Floats:
        """Total gain of the ranking."""
        return self._of(self.seen.found)

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
        if self.names & {"i", "fading", "discounted", "credited"}:
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

    Attributes
    ----------
    C : ndarray
        Probability of going on at each rank.
    V : ndarray
        Share of users who see each rank.
    reach : ndarray, shape (n_queries, 1)
        V at the first rank after the list.
    """

    def __init__(self, metric: Metric, view: View, leaves: Array | None = None) -> None:
        self.metric, self.view = metric, view
        if not metric.C.built_in:
            try_out(metric.C)
            if self._open:
                warn_if_nobody_leaves(metric.C)
        C, first = self._of_survival() if metric.C.fact("gives_survival") else (self._given(metric.C, view), 1.0)
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
                if not self.metric.A.fact("constant_without_gain"):
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
    def _listed(self) -> NDArray[np.bool_]:
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
            raise NoFiniteValue(f"{self.metric.C.keyword} with {self.metric.A.keyword} has no finite value here.")
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
        on_list: Floats = (L * G).sum(axis=-1, keepdims=True)
        return on_list + (self.reach - self.staying) * G[:, -1:] if self._open else on_list

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
        keeps = not background and bool(A.fact("constant_without_gain"))
        steady = keeps or reads(A) <= (_STEADY if background else _STEADY | _SUMMED)
        if not steady:
            self.refuse_free_items()
        if not (steady or A.fact("affine_beyond_list")):
            return np.zeros(self.reach.shape) if self._all_stay else self._sum_from_nodes(A)
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
    def spending(self) -> EffortBeyond:
        """Effort that users spend after the list."""
        return EffortBeyond(self.metric.C, self.view)

    @cached_property
    def free(self) -> NDArray[np.bool_]:
        """Whether users leave after infinitely many unseen items without effort, of shape [queries × 1]."""
        nobody = np.zeros((1, 1), bool)
        if not self._open or self.view.unseen != 0 or not self.metric.leaves_with_effort:
            return nobody
        free = (self.reach > 0) & (self.goes_on([[1.0]]) >= 1)
        return free & (self._left_for_ever < 1) if free.any() else nobody

    @cached_property
    def _left_for_ever(self) -> Floats:
        """1 for users who never leave for any effort, otherwise 0, of shape [queries × 1]."""
        return self.spending.left_for_ever(np.arange(len(self.reach)))

    @cached_property
    def stay(self) -> NDArray[np.bool_]:
        """Whether users never leave, of shape [queries × 1]; such users contribute nothing."""
        C = self.metric.C
        if C.fact("eventually_leaves"):
            return np.zeros((1, 1), bool)
        if C.fact("ignores_zero_gain") and not self.view.background:  # C is 1 at all items after the list
            return np.ones((1, 1), bool)
        if self.metric.effort_only and (C.fact("gives_survival") or not self.view.unseen):
            if self.view.unseen is None and not C.fact("gives_survival") and self._left_for_ever.any():
                raise UnknownEffort
            return self._left_for_ever > 0
        if self.metric.effort_only and not self._left_for_ever.any() and (self.goes_on([[_FAR]]) < 1).all():
            return np.zeros((1, 1), bool)
        if self.constant_beyond:
            return self.goes_on([[1.0]]) >= 1
        if C.fact("items_beyond") is not None:
            return np.isinf(self.items_beyond)
        if not C.fact("vanishes") and self.reach.any():
            return np.isinf(self._sum_from_nodes(None, vanish_only=True))
        return np.zeros((1, 1), bool)

    @property
    def _all_stay(self) -> bool:
        return self.constant_beyond and bool(np.all(self.stay | (self.reach == 0)))

    def _sum_from_nodes(self, A: Spec | None, vanish_only: bool = False) -> Floats:
        """Return ΣV, or ΣL·A, over the ranks after the list, from values at sparse nodes.

        Each ranking uses the first grid of nodes that is accurate enough.
        """
        found, done, far = np.zeros((1, 1)), np.zeros((1, 1), bool), np.zeros((1, 1), bool)
        for start, doublings in ((16, 8), (16, 40), (1024, 34), (16384, 30)):
            sums, smooth, whole = self._sum(grid(start, doublings), A, vanish_only)
            found = np.where(smooth & whole & ~done, sums, found)
            done = done | (smooth & whole)
            if start + doublings > 16 + 8:
                far = far | (smooth & ~done)
            if (done | far).all():
                break
        else:
            jump = "if C jumps there, state the rank with @continuation(jump_rank=lambda …: k); otherwise give"
            raise NoFiniteValue(
                f"{self.metric.C.keyword} with {self.metric.A.keyword} is not smooth far beyond the list:"
                f" {'give a greater unseen=,' if self.metric.effort_only else jump} end='stop', or a rank as end=."
            )
        if done.all():
            return found
        slowly = "does not go to 0, or goes to 0 too slowly for a sum"
        if A is None and self.metric.C.fact("vanishes"):
            slowly = "goes to 0 too slowly to sum V⁺, which may be finite"
        raise NoFiniteValue(
            f"under {self.metric.C.keyword} the share of users who are left {slowly}: give C a k, or end='stop', or a"
            " rank as end=."
        )

    def _sum(
        self, nodes: Grid, A: Spec | None, vanish_only: bool
    ) -> tuple[Floats, NDArray[np.bool_], NDArray[np.bool_]]:
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
            known = any(self.metric.C.fact(fact) for fact in ("vanishes", "constant_beyond_list", "items_beyond"))
            if known and nodes.m[0, -1] > _FAR:
                # All users leave in the end; if A hardly changes after the nodes, they leave with its last value.
                steady = left * np.abs(last - felt[:, -17:-16]) <= allowed
                whole, rest = whole + np.where(steady & ~stay, rest, 0.0), np.where(steady, 0.0, rest)
        return whole, smooth, stay | (np.abs(rest) <= allowed)

    @cached_property
    def _at_nodes(self) -> dict[Grid, tuple[Floats, Floats, Floats, NDArray[np.bool_], NDArray[np.bool_]]]:
        return {}

    def _browsed(self, nodes: Grid) -> tuple[Floats, Floats, Floats, NDArray[np.bool_], NDArray[np.bool_]]:
        """Return V and L at these nodes, V after the last, whether V is smooth, and whether C is 1 at all nodes.

        Users who never leave contribute nothing.
        """
        reach, shape = self.reach, nodes.m.shape
        if self.metric.C.fact("gives_survival"):
            V, later = (self._given(self.metric.C, self.view.beyond(m)) for m in (nodes.m, nodes.m + 1))
            V, later = (
                np.where(reach > 0, np.broadcast_to(values, (len(values), shape[1])), 0.0) for values in (V, later)
            )
            stay = np.asarray((later == V).all(axis=-1, keepdims=True))
            return V, V - later, later[:, -1:], nodes.follows(V), stay
        C = self.goes_on(nodes.m)
        C = np.broadcast_to(C, (len(C), shape[1]))
        survival, left, smooth = nodes.survival(C)
        V = reach * survival
        return V, V * (1 - C), reach * left, smooth, np.asarray((C >= 1).all(axis=-1, keepdims=True))


def _ratio(later: Floats, V: Floats) -> Floats:
    return np.divide(later, V, out=np.zeros(np.broadcast_shapes(later.shape, V.shape)), where=V > 0)
