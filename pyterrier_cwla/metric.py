"""The framework: from gain, effort, C, A and normaliser to V, W, L, the tail beyond the list, and scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any
from weakref import ref

import numpy as np

from .errors import BadParameter, NoFiniteValue, UnknownSpec, near
from .probe import check_probabilities, effort_reads, reads, try_out
from .rankings import Rankings, summed
from .spec import Spec
from .tail import Grid, NotSmooth, grid
from .view import Documents, UnknownEffort, View, before

NORMS = ("none", "ideal", "all", "unlimited")
_CELLS = 1 << 16  # queries × ranks that are worked on at a time, so that they stay in cache
_FAR = 1e12  # what has not happened down to this rank never will
_DEEPEST = 4096  # weights are kept for ranks down to here
Array = np.ndarray


@dataclass(frozen=True)
class Metric:
    """Five choices: gain, effort, continuation, aggregation, normaliser; and where the list ends.

    ``end`` is "open" (an infinite list; unseen items gain nothing), "stop" (everybody leaves at the last item), or a
    rank at which everybody leaves, retrieved or not. ``k`` keeps the first k items of a ranking. ``unseen`` is the
    effort of an unseen item where the effort function cannot tell.
    """

    C: Spec
    A: Spec
    gain: Spec
    effort: Spec
    norm: str = "none"
    end: str | int = "open"
    k: int | None = None
    max_rel: float | None = None
    unseen: float | None = None
    lengths: Any = field(default=None, compare=False)
    missing: str = "error"

    def __post_init__(self) -> None:
        if self.norm not in NORMS:
            raise UnknownSpec(f"no normaliser norm={self.norm!r}. {near(str(self.norm), NORMS)}")
        whole = isinstance(self.end, int) and not isinstance(self.end, bool) and self.end >= 1
        if self.end not in ("open", "stop") and not whole:
            raise BadParameter(f"end={self.end!r}: end must be 'open', 'stop' or a rank from 1.")
        if self.gain.part.wants_max_rel and self.max_rel is None:
            raise BadParameter(f"gain={str(self.gain)!r} needs max_rel=, the highest grade of the judgments.")

    # ---- what the parts say of themselves

    @property
    def uniform(self) -> bool:
        """Every document costs one: the effort of a rank is the rank."""
        return bool(self.effort.fact("uniform"))

    @property
    def needs_words(self) -> bool:
        return not self.uniform and "words" in effort_reads(self.effort)

    @property
    def rank_only(self) -> bool:
        """C depends on ranks (and efforts) alone: no gain moves a user."""
        return reads(self.C) <= {"i", "e", "E"}

    def gains(self, grade: Array) -> Array:
        """The gain of each grade; grades that are not above 0 gain nothing."""
        grade = np.asarray(grade)
        more = {"max_rel": self.max_rel} if self.gain.part.wants_max_rel else {}
        positive = grade > 0
        if positive.all():
            r = np.asarray(self.gain(grade, **more), float)
        else:
            r = np.zeros(grade.shape)
            r[positive] = self.gain(grade[positive], **more)
        if not self.gain.part.built_in and not (np.isfinite(r).all() and (r >= 0).all()):
            raise BadParameter(f"gain={str(self.gain)!r} gives a negative or infinite gain.")
        return r

    @cached_property
    def best(self) -> tuple[float, float]:
        """The best gain there can be, and the highest grade that has it."""
        rels = [value for spec in (self.gain, self.C) for name, value in spec.values if name == "rel" and value]
        if self.gain.name == "table" and self.gain["others"] == "error":
            grades = np.array([g for g in self.gain["gains"] if 0 < g <= (self.max_rel or g)])
        elif self.max_rel is not None:
            grades = np.append(np.arange(1, self.max_rel), self.max_rel)
        elif any(name == "rel" for name, _ in self.gain.values):
            grades = np.array([max(rels)])
        else:
            raise BadParameter(f"gain={str(self.gain)!r} has a best gain only with max_rel=, the highest grade.")
        r = self.gains(grades)
        return float(r.max()), float(grades[r == r.max()].max())

    @cached_property
    def unseen_effort(self) -> float | None:
        """What an item costs that was not retrieved, or None where nothing tells."""
        if self.uniform:
            return 1.0
        if self.unseen is not None:
            return float(self.unseen)
        try:
            return float(np.max(self.effort(Documents(np.zeros(1)))))
        except UnknownEffort:
            return None

    @property
    def residual_is_a_bound(self) -> bool:
        """Whether no judgment can lift the score by more than its residual: known for pairs monotone in gain."""
        rises = bool(self.A.fact("rises")) and self.norm in ("none", "unlimited")
        if self.rank_only and (self.uniform or "grade" not in effort_reads(self.effort)):
            return rises
        satisfied = self.C.name in ("rr", "cascade") and self.C["rel"] is None and self.uniform and self.norm == "none"
        falling = self.A.name == "utility" and self.A["phi"].part.built_in
        return satisfied and (
            self.A.name in ("etg", "erg") or falling or (self.A.name == "err" and self.C.name == "rr")
        )

    @property
    def key(self) -> tuple:
        return (self.C.key, self.A.key, self.gain.key, self.effort.key, *self._rest)

    @property
    def _rest(self) -> tuple:
        return (self.norm, self.end, self.k, self.max_rel, self.unseen, self.lengths, self.missing)

    # ---- scores

    def score(self, rankings: Rankings) -> Array:
        """One score per query: Σ L(i)·A(i) / N, and 0 where N is 0."""
        return self.normalised(self.raw(rankings), rankings)

    def residual(self, rankings: Rankings) -> Array:
        """The score if every unjudged and unseen item had the best gain, minus the score.

        Efforts stay as they are. The rankings must hold all judged documents, not just the relevant ones.
        """
        best = self.raw(rankings, background=self.best[0])
        return self.normalised(best - self.raw(rankings), rankings)

    def normalised(self, raw: Array, rankings: Rankings) -> Array:
        if self.norm == "none":
            return raw
        N = self.divisor(rankings)
        return np.divide(raw, N, out=np.zeros_like(raw), where=N > 0)

    def divisor(self, rankings: Rankings) -> Array:
        """N per query."""
        if self.norm == "all":
            return rankings.pool.totals(self.gains, (self.gain.key, self.max_rel))
        if self.norm == "ideal":
            return rankings.pool.remembered(("ideal", self.key), lambda: self._ideal_scores(rankings))
        nothing = Rankings.of_gains([[]], efforts=lambda queries, width: np.zeros((len(queries), width)))
        return np.full(len(rankings), self._unlimited().raw(nothing, background=self.best[0])[0])

    def _unlimited(self) -> Metric:
        """The same metric where what is unseen costs what a document of the best grade and no words does."""
        documents = Documents(np.array([self.best[1]]), lambda: np.zeros(1))
        unseen = float(np.max(self.effort(documents)))
        return replace(self, unseen=unseen, norm="none", end="open", k=None)

    def _ideal_scores(self, rankings: Rankings) -> Array:
        from .ideal import ideal_ranking

        return replace(self, norm="none").raw(ideal_ranking(self, rankings))

    def raw(self, rankings: Rankings, background: float = 0.0) -> Array:
        """Σ L(i)·A(i) per query, unseen and (where not 0) unjudged items gaining ``background``."""
        if self.k is not None:
            rankings = rankings.first(self.k)
        if isinstance(self.end, int):
            rankings = rankings.first(self.end)
        try:
            return self._summed(rankings, background)
        except UnknownEffort:
            # What an unseen item costs was asked for; it matters if the scores differ with it.
            cheap, dear = (replace(self, unseen=cost)._summed(rankings, background) for cost in (1.0, 100.0))
            if not np.allclose(cheap, dear, rtol=1e-10, atol=1e-12):
                raise
            return cheap

    def _summed(self, rankings: Rankings, background: float) -> Array:
        if self.uniform and not background:
            if self.A.fact("linear") and self.rank_only:
                scores = self._by_weights(rankings)
                if scores is not None:
                    return scores
            if self.C.fact("passes"):
                return self._by_chunks(rankings, self._hit_columns)
        return self._by_chunks(rankings, self._all_columns, background)

    # First way: where C depends on the rank alone and A is linear, every rank has a weight, once for all queries.

    def _by_weights(self, rankings: Rankings) -> Array | None:
        deepest = int(rankings.rank.max(initial=1))
        if deepest > _DEEPEST:
            return None
        r = rankings.gains(self)
        if self.end != "stop":
            weights = rank_weights(self.C, self.A, self.end, 1 << (deepest - 1).bit_length())
            return summed(rankings.query, r * weights[rankings.rank - 1], len(rankings))
        lengths = np.unique(rankings.n)
        if len(lengths) > 4 or lengths.max(initial=0) > _DEEPEST:
            return None
        worth = np.zeros(len(r))
        for n in lengths[lengths > 0].tolist():
            mine = rankings.n[rankings.query] == n
            worth[mine] = rank_weights(self.C, self.A, "stop", n)[rankings.rank[mine] - 1]
        return summed(rankings.query, r * worth, len(rankings))

    # Second way: where C is 1 at every item without gain, only the others have an L; third way: all ranks.

    def _by_chunks(
        self, rankings: Rankings, columns: Callable[..., tuple[View, Array | None]], background: float = 0.0
    ) -> Array:
        scores = np.zeros(len(rankings))
        for queries, width in self._chunks(rankings, compressed=columns == self._hit_columns, background=background):
            view, leaves = columns(rankings, queries, width, background)
            scores[queries] = np.broadcast_to(Walk(self, view, leaves).score, (len(queries), 1))[:, 0]
        return scores

    def _chunks(self, rankings: Rankings, compressed: bool, background: float) -> Iterator[tuple[Array, int]]:
        """Queries with about as many columns each, as many at a time as stay in cache."""
        if compressed:
            widths = np.bincount(rankings.query, minlength=len(rankings)) + 1
        else:
            widths = self._ranks_that_matter(rankings, background)
        widths = np.maximum(widths, 1)
        order = np.argsort(widths, kind="stable")
        if self.end == "stop":
            order = order[rankings.n[order] > 0]  # nobody sees anything of an empty list
        done = 0
        while done < len(order):
            ahead = widths[order[done : done + _CELLS]]
            # The last of the chunk is the widest: as many rows as fit at its width.
            fits = int(np.searchsorted(ahead * np.arange(1, len(ahead) + 1), _CELLS, side="right"))
            queries = order[done : done + max(fits, 1)]
            yield queries, int(widths[queries[-1]])
            done += len(queries)

    def _ranks_that_matter(self, rankings: Rankings, background: float) -> Array:
        """Down to where the list is explicit; at the open end what follows the last hit is as good as unseen."""
        if self.end == "stop":
            return rankings.n
        if isinstance(self.end, int):
            return np.full(len(rankings), self.end)
        deepest = rankings.last_hit if self._settled_after_hits and not background else rankings.n
        return np.maximum(deepest, self.C.fact("depth")() or 1 if self.C.fact("depth") else 1)

    @property
    def _settled_after_hits(self) -> bool:
        """Efforts after the last hit do not matter where A stays and all who go on leave, sooner or later."""
        stays = self.A.name in ("etg", "max", "utility") and self.C.name in ("decay", "rbp")
        return self.uniform or (stays and self.unseen_effort != 0)

    def _hit_columns(self, rankings: Rankings, queries: Array, width: int, _: float) -> tuple[View, Array | None]:
        # AP, RR and their like see the same hits, and so the same G, best, …
        key = (self.gain.key, self.max_rel, self.end, int(queries[0]), len(queries))
        if key not in rankings.views:
            rankings.views[key] = self._hits_only(rankings, queries, width)
        return rankings.views[key]

    def _hits_only(self, rankings: Rankings, queries: Array, width: int) -> tuple[View, Array | None]:
        at, row, column = rankings.hits_of(queries)
        last = np.maximum(rankings.last_hit[queries], 1)
        leaves = None
        if self.end != "open":
            last = rankings.n[queries] if self.end == "stop" else np.full(len(queries), self.end)
            hits = rankings.start[queries + 1] - rankings.start[queries]
            leaves = np.where(rankings.last_hit[queries] == last, hits, width) - 1
        i = np.repeat(last[:, None].astype(float), width, axis=1)
        grade = np.zeros(i.shape, rankings.grade.dtype)
        i[row, column], grade[row, column] = rankings.rank[at], rankings.grade[at]
        r = np.zeros(i.shape)
        r[row, column] = rankings.gains(self)[at]
        return View(i, r, grade, self._totals(rankings, queries)), leaves

    def _all_columns(
        self, rankings: Rankings, queries: Array, width: int, background: float
    ) -> tuple[View, Array | None]:
        at, row, _ = rankings.hits_of(queries)
        column = rankings.rank[at] - 1
        inside = column < width
        at, row, column = at[inside], row[inside], column[inside]
        best = self.best if background else (0.0, 0.0)
        r = np.full((len(queries), width), best[0])
        grade = np.full(r.shape, best[1], float if background else rankings.grade.dtype)
        grade[row, column], r[row, column] = rankings.grade[at], rankings.gains(self)[at]
        e = None if self.uniform else self._efforts(rankings, queries, row, column, at, width)
        leaves = None
        if self.end != "open":
            leaves = (rankings.n[queries] if self.end == "stop" else np.full(len(queries), width)) - 1
        i = np.arange(1.0, width + 1)[None, :]
        return View(i, r, grade, self._totals(rankings, queries), e, self.unseen_effort, *best), leaves

    def _efforts(self, rankings: Rankings, queries: Array, row: Array, column: Array, at: Array, width: int) -> Array:
        if rankings.efforts is not None:
            e = rankings.efforts(queries, width)
        else:
            grade = np.zeros((len(queries), width))
            grade[row, column] = np.maximum(rankings.grade[at], 0)
            documents = Documents(grade, lambda: rankings.words(self, queries, width))
            e = np.broadcast_to(np.asarray(self.effort(documents), float), grade.shape)
        retrieved = np.arange(width)[None, :] < rankings.n[queries][:, None]
        if np.any((e < 0) | ~np.isfinite(e), where=retrieved):
            raise BadParameter(f"effort={str(self.effort)!r} gives a negative or infinite effort.")
        if self.unseen_effort is None and self._asks_for_unseen_efforts and not retrieved.all():
            raise UnknownEffort("what an unseen document costs decides this value: give unseen= (its effort).")
        return np.where(retrieved, e, self.unseen_effort or 0.0)

    @property
    def _asks_for_unseen_efforts(self) -> bool:
        """Whether the efforts of unseen items decide anything in the columns after the end of a short list.

        At the open end C alone does not: whoever pays nothing there goes on to where C is asked again.
        """
        efforts = {"e", "E", "expected_effort"}
        of_C = {"E"} if self.end == "open" else efforts
        return self.end != "stop" and bool(reads(self.A) & efforts or reads(self.C) & of_C)

    def _totals(self, rankings: Rankings, queries: Array) -> Callable[[float | None], Array]:
        def total(rel: float | None) -> Array:
            worth = self.gains if rel is None else lambda grade: (np.asarray(grade) >= rel).astype(float)
            key = (self.gain.key, self.max_rel) if rel is None else rel
            return rankings.pool.totals(worth, key)[queries][:, None]

        return total


class Walk:
    """Users on their way down rankings: C, V, L, A and what follows from them, for one view."""

    def __init__(self, metric: Metric, view: View, leaves: Array | None = None) -> None:
        self.metric, self.view = metric, view
        C = _matrix(metric.C(view))
        if not (metric.C.part.built_in and metric.rank_only):
            check_probabilities(metric.C, C)
        if not metric.C.part.built_in:
            try_out(metric.C)
        if leaves is not None:
            C = np.array(np.broadcast_to(C, view.r.shape))
            C[np.arange(len(C)), leaves] = 0.0
        elif C.shape[-1] < view.r.shape[-1]:
            C = np.broadcast_to(C, (len(C), view.r.shape[-1]))
        self.C = C
        self.V = np.ones(C.shape)
        np.cumprod(C[:, :-1], axis=-1, out=self.V[:, 1:])
        self.reach = self.V[:, -1:] * C[:, -1:]
        me = ref(self)  # weakly, so that chunks are freed as they are done
        view.spend = lambda: me().expected_effort  # type: ignore[union-attr]

    @cached_property
    def L(self) -> Array:
        return self.V * (1 - self.C)

    @cached_property
    def A(self) -> Array:
        if not self.metric.A.part.built_in:
            try_out(self.metric.A)
        return _matrix(self.metric.A(self.view))

    @cached_property
    def score(self) -> Array:
        """Σ L(i)·A(i), [queries × 1]."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            score = (self.L * self.A).sum(axis=-1, keepdims=True)
            if not np.isfinite(score).all():  # A may be infinite where nobody leaves
                score = np.where(self.L > 0, self.L * self.A, 0.0).sum(axis=-1, keepdims=True)
            score = score + self.score_beyond
        if not np.isfinite(score).all():
            raise NoFiniteValue(f"C={str(self.metric.C)!r} with A={str(self.metric.A)!r} has no finite value here.")
        return score

    @cached_property
    def expected_items(self) -> Array:
        """V⁺ = Σ V(i), [queries × 1]."""
        gaps = self.view.i - before(self.view.i)
        return (self.V * gaps).sum(axis=-1, keepdims=True) + self.items_beyond

    @cached_property
    def expected_effort(self) -> Array:
        """Σ V(i)·e_i, [queries × 1]; infinite where users never leave."""
        spent = (self.V * (self.view.E - before(self.view.E))).sum(axis=-1, keepdims=True)
        items = self.items_beyond
        self._refuse_endless_means(items)
        if not items.any():
            return spent
        cost = _matrix(self.view.beyond([[1.0]]).e)
        return spent + np.multiply(items, cost, out=np.where(items > 0, np.inf, 0.0), where=np.isfinite(items))

    def _refuse_endless_means(self, items: Array) -> None:
        """Where all leave in the end but so late that V⁺ is infinite, nothing per item is defined."""
        if (np.isinf(items) & ~self._stay).any():
            raise NoFiniteValue(
                f"C={str(self.metric.C)!r} has an infinite V⁺, so A={str(self.metric.A)!r} is not defined: give k, a"
                " cutoff (@k), or end='stop'."
            )

    # ---- beyond the list

    def goes_on(self, m: Any) -> Array:
        """C at the m-th ranks after the list."""
        return _matrix(self.metric.C(self.view.beyond(m)))

    @cached_property
    def items_beyond(self) -> Array:
        """ΣV(j) over the ranks after the list."""
        closed = self.metric.C.fact("items_beyond")
        if closed is not None and (self.metric.rank_only or not self.view.background):
            return np.where(self._open, closed(self.view, self.reach), 0.0)
        if not self.reach.any():
            return np.zeros(self.reach.shape)
        if self.metric.C.fact("settles"):
            c = self.goes_on([[1.0]])
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.where(self.reach > 0, self.reach / (1 - c), 0.0)
        return self._at_nodes(None)

    @property
    def _open(self) -> bool:
        return self.metric.end == "open"

    @cached_property
    def score_beyond(self) -> Array:
        """Σ L(j)·A(j) over the ranks after the list."""
        C, A = self.metric.C, self.metric.A
        nobody = np.zeros(self.reach.shape)
        if not self._open or (not self.reach.any() and C.fact("items_beyond") is None):
            return nobody
        if not A.fact("even"):
            return nobody if self._all_stay or not self.reach.any() else self._at_nodes(A)
        leaving = np.where(self._stay, 0.0, self.reach)
        first, second = (_matrix(A(self.view.beyond([[m]]))) for m in (1.0, 2.0))
        step = second - first
        if not step.any():
            return leaving * first
        items = self.items_beyond
        self._refuse_endless_means(items)
        with np.errstate(invalid="ignore"):
            return leaving * first + np.where(np.isinf(items), 0.0, step * (items - leaving))

    @cached_property
    def _stay(self) -> Array:
        """Who goes on for ever, [queries × 1]: those never leave and contribute nothing."""
        C = self.metric.C
        if C.fact("settles"):
            try:
                return self.goes_on([[1.0]]) >= 1
            except UnknownEffort:
                return np.zeros((1, 1), bool)  # every further item costs something, so that all leave in the end
        if C.fact("items_beyond") is None and not C.fact("vanishes") and self.reach.any():
            return np.isinf(self._at_nodes(None, vanish_only=True))
        return np.zeros((1, 1), bool)

    @property
    def _all_stay(self) -> bool:
        return bool(self.metric.C.fact("settles")) and bool(np.all(self._stay | (self.reach == 0)))

    def _at_nodes(self, A: Spec | None, vanish_only: bool = False) -> Array:
        """ΣV, or ΣL·A, over the ranks beyond, from the values at sparse nodes."""
        for start, doublings in ((16, 8), (16, 40), (1024, 34), (16384, 30)):
            try:
                found = self._sum(grid(start, doublings), A, vanish_only)
            except NotSmooth:
                continue
            if found is not None:
                return found
            if start + doublings > 16 + 8:
                break
        else:
            raise NoFiniteValue(
                f"C={str(self.metric.C)!r} with A={str(self.metric.A)!r} is not smooth far beyond the list: if C jumps"
                " there, say where, with @continuation(depth=lambda …: k); else give a cutoff (@k), or end='stop'."
            )
        if A is None and not vanish_only and self.metric.C.fact("vanishes"):
            return np.full(self.reach.shape, np.inf)
        raise NoFiniteValue(
            f"under C={str(self.metric.C)!r} the share of users who are still there does not go to 0, or too slowly to"
            " sum: give a cutoff (@k), a k that ends C, or end='stop'."
        )

    def _sum(self, nodes: Grid, A: Spec | None, vanish_only: bool) -> Array | None:
        """One sum at these nodes; None where the ranks after the last node still count."""
        C = self.goes_on(nodes.m)
        C = np.broadcast_to(C, (len(C), nodes.m.shape[1]))
        survival, left = nodes.survival(C)
        V, left = self.reach * survival, self.reach * left
        stay = (C >= 1).all(axis=-1, keepdims=True)  # whoever never leaves contributes nothing
        if A is None:
            whole = np.where(stay & (self.reach > 0), np.inf, nodes.total(V))
            rest = left if vanish_only else left * nodes.m[0, -1]
            allowed = np.full(whole.shape, 1e-10) if vanish_only else 1e-10 * np.maximum(whole, 1e-3)
        else:
            with np.errstate(divide="ignore", over="ignore"):
                felt = _matrix(A(self.view.beyond(nodes.m)))
            felt = np.broadcast_to(felt, (len(felt), nodes.m.shape[1]))
            last = felt[:, -1:]
            # All get what A is at last, if it does not grow for ever; so it matters less that 1 − C is lost in rounding.
            base = np.where(np.abs(last) <= 100 * np.abs(felt[:, :1]), last, 0.0)
            values = V * (1 - C) * (felt - base)
            whole, rest = nodes.total(values) + base * (self.reach - left), left * last
            allowed = 1e-13 + 1e-10 * np.abs(whole + rest)
            if np.any(nodes.doubt(values) > 10 * allowed):
                raise NotSmooth
            known = any(self.metric.C.fact(fact) for fact in ("vanishes", "settles", "items_beyond"))
            if known and nodes.m[0, -1] > _FAR:
                # All leave in the end, and where A hardly changes any more they leave with what it is.
                steady = left * np.abs(last - felt[:, -17:-16]) <= allowed
                whole, rest = whole + np.where(steady & ~stay, rest, 0.0), np.where(steady, 0.0, rest)
        return whole if np.all(stay | (np.abs(rest) <= allowed)) else None


def _matrix(values: Any) -> Array:
    values = np.asarray(values, float)
    return values.reshape(1, 1) if values.ndim == 0 else values


@lru_cache(maxsize=256)
def rank_weights(C: Spec, A: Spec, end: str | int, n: int) -> Array:
    """What a gain of 1 at each of the ranks 1..n adds to the score: the metric itself, on n rankings with one gain."""
    from .catalogue import PLAIN

    metric = replace(PLAIN, C=C, A=A, end=end)
    one_each = Rankings.of_hits(np.full(n, n), np.arange(n), np.arange(1, n + 1), np.ones(n))
    if isinstance(end, int):
        one_each = one_each.first(end)
    return metric._by_chunks(one_each, metric._all_columns)
