"""A metric: five choices, and the three ways in which aligned rankings are scored with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ..data.rankings import Rankings, summed
from ..errors import BadParameter, NoFiniteValue, UnknownSpec, near
from . import best_case
from .browsing import Walk
from .efforts import unit
from .fact_trials import check_facts, holds
from .gains import raw
from .introspection import effort_reads, reads
from .language import Spec, checked_numbers, shortened
from .view import Documents, UnknownEffort, View

NORMS = ("none", "ideal", "all", "mean", "unlimited")
_CELLS = 1 << 17  # queries × ranks that are worked on at a time, so that they stay in cache
_FARTHEST = 1 << 22  # ranks: whoever asks for more is told so, before memory runs out
_BEYOND = 1 << 53  # a rank that no list has, which arrays can hold
_GRADES = 1 << 12  # grades that are asked one by one which gains most
_DEEPEST = 4096  # weights are kept for ranks down to here
_USUAL = [n for n in (digit * 10**zeros for zeros in range(4) for digit in range(1, 10)) if n <= _DEEPEST]
"""How many documents runs are cut at, mostly: rankings of so many have weights of their own at end="stop"."""
Array = np.ndarray


@dataclass(frozen=True)
class Metric:
    """Five choices: gain, effort, continuation, aggregation, normaliser; and where the list ends.

    ``end`` is "open" (an infinite list; unseen items gain nothing), "stop" (everybody leaves at the last item), or a
    rank at which everybody leaves, retrieved or not. ``k`` keeps the first k items of a ranking. ``unseen`` is the
    effort of an unseen item where the effort function cannot tell. ``judged_only`` takes what is not judged, or has a
    negative grade, out of the rankings first. ``duplicates``, a table of clusters, says which documents repeat an
    earlier one of their ranking: they have no words to read, and (``duplicate_gain="none"``) gain nothing. With
    duplicates the ideal is only a bound, in which whatever has a copy costs no reading.
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
    judged_only: bool = False
    duplicates: Any = field(default=None, compare=False)
    duplicate_gain: str = "keep"

    def __post_init__(self) -> None:
        if self.norm not in NORMS:
            raise UnknownSpec(f"no normaliser norm={self.norm!r}. {near(str(self.norm), NORMS)}")
        whole = isinstance(self.end, int) and not isinstance(self.end, bool) and 1 <= self.end <= _FARTHEST
        if self.end not in ("open", "stop") and not whole:
            end = shortened(repr(self.end))
            raise BadParameter(f"end={end}: end must be 'open', 'stop' or a rank from 1 to {_FARTHEST:,}.")
        if self.gain.part.wants_max_rel and self.max_rel is None:
            raise BadParameter(f"gain={str(self.gain)!r} needs max_rel=, the highest grade of the judgments.")
        for spec in (self.C, self.A, self.gain, self.effort):
            if not spec.built_in:
                check_facts(spec)

    # ---- what the parts say of themselves

    @property
    def built_in(self) -> bool:
        """Whether results may be kept: a user's own function may read what changes."""
        return all(part.built_in for part in (self.C, self.A, self.gain, self.effort))

    @property
    def unit_effort(self) -> bool:
        """Every document costs one: the effort of a rank is the rank."""
        return bool(self.effort.fact("unit_effort"))

    @property
    def needs_words(self) -> bool:
        return not self.unit_effort and "words" in effort_reads(self.effort)

    @property
    def decays(self) -> bool:
        """Users leave with effort alone, and count all gains: the case with an exact ideal ranking."""
        return self.C.name == "decay" and self._adds_up

    @property
    def _adds_up(self) -> bool:
        """Whether A is a sum of what each item contributes, whatever its rank: φ(i) of its terms is the number 1."""
        terms = self.A.fact("credit_terms")
        if terms is None or "expected_effort" in reads(self.A):
            return False
        phi, _ = terms(np.ones(1), np.ones(1), np.ones(1), np.zeros(1))
        return np.ndim(phi) == 0 and bool(phi == 1)

    @property
    def rank_only(self) -> bool:
        """C depends on ranks (and efforts) alone: no gain moves a user."""
        return reads(self.C) <= {"i", "e", "E"}

    @property
    def effort_only(self) -> bool:
        """C depends on efforts alone: neither on ranks nor on gains."""
        names = reads(self.C)
        return bool(names) and names <= {"e", "E"}

    @property
    def leaves_with_effort(self) -> bool:
        """What items cost makes users leave: unseen items that cost nothing are the limit of ever smaller costs."""
        return bool(self.C.fact("eventually_leaves")) or self.effort_only

    def gains(self, grade: Array) -> Array:
        """The gain of each grade; grades that are not above 0 gain nothing."""
        grade = np.asarray(grade)
        positive = grade > 0
        if positive.all():
            r = self._gained(grade)
        else:
            r = np.zeros(grade.shape)
            r[positive] = self._gained(grade[positive])
        if not self.gain.part.built_in and not (np.isfinite(r).all() and (r >= 0).all()):
            raise BadParameter(f"gain={str(self.gain)!r} gives a negative or infinite gain.")
        return r

    def _gained(self, grade: Array) -> Array:
        more = {"max_rel": self.max_rel} if self.gain.part.wants_max_rel else {}
        found = self.gain(grade, **more)
        if self.gain.part.built_in:
            return np.asarray(found, float)
        return np.array(np.broadcast_to(checked_numbers(self.gain, found, grade.shape), grade.shape))

    @cached_property
    def best(self) -> tuple[float, float]:
        """The best gain there can be, and the highest grade that has it."""
        rels = [rel for spec in (self.gain, self.C) for rel in _rels(spec)]
        known = self.gain.fact("known_grades") and self.gain.fact("known_grades")()
        if known:
            grades = np.array([g for g in known if g <= (self.max_rel or g)])
            if not len(grades):
                raise BadParameter(f"gain={str(self.gain)!r} has no grade up to max_rel={self.max_rel}.")
        elif self.max_rel is not None:
            grades = np.append(np.arange(1, min(self.max_rel, _GRADES)), self.max_rel)
        elif any(name == "rel" for name, _ in self.gain.values):
            grades = np.array([max(rels)])
        else:
            raise BadParameter(f"gain={str(self.gain)!r} has a best gain only with max_rel=, the highest grade.")
        r = self.gains(grades)
        return float(r.max()), float(grades[r == r.max()].max())

    @cached_property
    def unseen_effort(self) -> float | None:
        """What an item costs that was not retrieved, or None where nothing tells."""
        if self.unit_effort:
            return 1.0
        if self.unseen is not None:
            return float(self.unseen)
        try:
            return float(np.max(self.costs(Documents(np.zeros(1)))))
        except UnknownEffort:
            return None

    @cached_property
    def flat_effort(self) -> float | None:
        """What costs whatever is not relevant, seen or unseen, where the grade alone decides what a document costs."""
        if self.unit_effort:
            return 1.0
        reads_grade_alone = effort_reads(self.effort) <= {"grade"} and self.effort.name != "given"
        if not reads_grade_alone or self.unseen_effort != float(np.max(self.costs(Documents(np.zeros(1))))):
            return None
        return self.unseen_effort

    @property
    def residual_is_a_bound(self) -> bool:
        """Whether no judgment can lift the score by more than its residual: known for pairs monotone in gain.

        Not of condensed lists, in which a document that gets judged moves all below it. Over the ideal it is known
        where the best case is; of what is divided by the total gain no bound is known.
        """
        if self.judged_only:
            return False
        if self.norm == "ideal":
            return best_case.is_known(self)
        rises = holds(self.A, "monotone_in_gain") and self.norm in ("none", "unlimited")
        if self.rank_only and (self.unit_effort or "grade" not in effort_reads(self.effort)):
            return rises
        satisfied = (
            self.C.name in ("rr", "cascade") and self.C["rel"] is None and self.unit_effort and self.norm == "none"
        )
        falling = self.A.name == "utility" and self.A["phi"].part.built_in
        return satisfied and (
            self.A.name in ("etg", "erg") or falling or (self.A.name == "err" and self.C.name == "rr")
        )

    @property
    def last_that_counts(self) -> int | None:
        """The last rank of an item that counts, where k or end says so."""
        return min((cut for cut in (self.k, self.end) if isinstance(cut, int)), default=None)

    @property
    def key(self) -> tuple:
        return (self.C.key, self.A.key, self.gain.key, self.effort.key, *self._rest)

    @property
    def _rest(self) -> tuple:
        return (
            *(self.norm, self.end, self.k, self.max_rel, self.unseen, self.lengths, self.missing),
            *(self.judged_only, self.duplicates, self.duplicate_gain),
        )

    @property
    def idle_duplicates(self) -> Any:
        """The clusters of which only the first in a ranking gains anything, or None."""
        return self.duplicates if self.duplicate_gain == "none" else None

    # ---- scores

    def score(self, rankings: Rankings) -> Array:
        """One score per query: Σ L(i)·A(i) / N, and 0 where N is 0."""
        metric = self._asked_anew
        return metric.normalised(metric.raw(rankings), rankings)

    def residual(self, rankings: Rankings) -> Array:
        """The score if every unjudged and unseen item had the best gain, minus the score.

        Efforts stay as they are. Over the ideal, which judgments raise as well, it is the highest score that they can
        lead to, minus the score, where that is known; else the ideal stays as it is. The rankings must hold all judged
        documents, not just the relevant ones.
        """
        metric = self._asked_anew
        if best_case.is_known(metric):
            score = metric.score(rankings)
            return np.maximum(best_case.best_scores(metric, rankings) - score, 0.0)
        best = metric.raw(rankings, background=metric.best[0])
        return metric.normalised(best - metric.raw(rankings), rankings)

    @property
    def _asked_anew(self) -> Metric:
        """A metric that does not remember what a user's own functions said before."""
        return self if self.built_in else replace(self)

    def normalised(self, raw: Array, rankings: Rankings) -> Array:
        N = np.ones(1) if self.norm == "none" else self.divisor(rankings)
        score = np.divide(raw, N, out=np.zeros_like(raw), where=N > 0)
        if not (np.isfinite(score).all() and np.isfinite(N).all()):
            raise NoFiniteValue("the score, or what it is divided by, is greater than floats can be.")
        return score

    def divisor(self, rankings: Rankings) -> Array:
        """N per query."""
        if self.norm in ("all", "mean"):
            totals = rankings.pool.totals(self.gains, (self.gain.key, self.max_rel), self.gain.built_in)
            if self.norm == "mean":
                relevant = rankings.pool.totals(lambda grade: np.ones(len(grade)), "relevant")
                totals = np.divide(totals, relevant, out=np.zeros(len(totals)), where=relevant > 0)
            return rankings.of_pool(totals)
        if self.norm == "ideal":
            if not self.built_in:
                return rankings.of_pool(self._ideal_scores(rankings))
            ideal = rankings.pool.remembered(("ideal", self.key), lambda: self._ideal_scores(rankings))
            return rankings.of_pool(ideal)
        nothing = Rankings.of_gains([[]], efforts=lambda queries, width: np.zeros((len(queries), width)))
        return np.full(len(rankings), self._unlimited().raw(nothing, background=self.best[0])[0])

    def _unlimited(self) -> Metric:
        """The same metric where what is unseen costs what a document of the best grade and no words does."""
        documents = Documents(np.array([self.best[1]]), lambda: np.zeros(1))
        unseen = float(np.max(self.costs(documents)))
        return replace(self, unseen=unseen, norm="none", end="open", k=None)

    def _ideal_scores(self, rankings: Rankings) -> Array:
        from .ideal import ideal_ranking

        plain = replace(self, norm="none", judged_only=False, duplicates=None)
        return plain.raw(ideal_ranking(self, rankings))

    def raw(self, rankings: Rankings, background: float = 0.0) -> Array:
        """Σ L(i)·A(i) per query, unseen and (where not 0) unjudged items gaining ``background``."""
        rankings = self.cut(rankings)
        if not background:
            if self.unit_effort and self.A.fact("linear_in_gain") and self.rank_only:
                return self._by_weights(rankings)
            if self.flat_effort is not None and self.C.fact("ignores_zero_gain"):
                return self._by_chunks(rankings, compressed=True)
        return self._by_chunks(rankings, background=background)

    def cut(self, rankings: Rankings) -> Rankings:
        """What the metric looks at: without the unjudged if it wants so, down to k or to where everybody leaves."""
        if self.judged_only:
            rankings = rankings.condensed
        for last in (self.k, self.end):
            if isinstance(last, int):
                rankings = rankings.first(last)
        return rankings

    # A score is the same to the last bit whatever else is scored with it: the way, and the ranks that are explicit,
    # follow from the ranking alone.

    # First way: where C depends on the rank alone and A is linear, every rank has a weight, once for all queries.

    def _by_weights(self, rankings: Rankings) -> Array:
        weighed = np.isin(rankings.n, (0, *_USUAL)) if self.end == "stop" else rankings.last_hit <= _DEEPEST
        if weighed.all():
            return summed(rankings.query, rankings.gains(self) * self._worth(rankings), len(rankings))
        known = rankings.only(weighed[rankings.query])
        scores = summed(known.query, known.gains(self) * self._worth(known), len(rankings))
        return np.where(weighed, scores, self._by_chunks(rankings, which=~weighed))

    def _worth(self, rankings: Rankings) -> Array:
        """What a gain of 1 adds to the score at the rank of each hit."""
        if self.end != "stop":
            deepest = 1 << (int(rankings.rank.max(initial=1)) - 1).bit_length()
            return rank_weights(self.C, self.A, self.end, deepest)[rankings.rank - 1]
        lengths = np.unique(rankings.n).tolist()
        if len(lengths) == 1 and lengths[0]:
            return rank_weights(self.C, self.A, "stop", lengths[0])[rankings.rank - 1]
        worth, n = np.zeros(len(rankings.rank)), rankings.n[rankings.query]
        for length in set(lengths) & set(_USUAL):
            worth[n == length] = rank_weights(self.C, self.A, "stop", length)[rankings.rank[n == length] - 1]
        return worth

    # Second way: where C is 1 at every item without gain, only the others have an L; third way: all ranks.

    def _by_chunks(
        self, rankings: Rankings, compressed: bool = False, background: float = 0.0, which: Array | None = None
    ) -> Array:
        scores = np.zeros(len(rankings))
        for queries, width in self._chunks(rankings, compressed, background, which):
            try:
                found = self._walked(rankings, queries, width, compressed, background)
            except UnknownEffort:
                # What an unseen item costs was asked for; it matters if the scores differ with it.
                try:
                    found, dear = (
                        replace(self, unseen=cost)._walked(rankings, queries, width, compressed, background)
                        for cost in (1.0, 100.0)
                    )
                except NoFiniteValue as error:
                    if self.effort_only and not isinstance(error, UnknownEffort):
                        raise UnknownEffort from error
                    raise
                if not np.allclose(found, dear, rtol=1e-10, atol=1e-12):
                    raise
            scores[queries] = np.broadcast_to(found, (len(queries), 1))[:, 0]
        return scores

    def _walked(self, rankings: Rankings, queries: Array, width: int, compressed: bool, background: float) -> Array:
        if compressed:
            return Walk(self, *self._hit_columns(rankings, queries, width)).score
        return Walk(self, *self.columns(rankings, queries, width, background)).score

    def _chunks(
        self, rankings: Rankings, compressed: bool, background: float, which: Array | None
    ) -> Iterator[tuple[Array, int]]:
        """Queries with equally many columns, as many at a time as stay in cache."""
        n = rankings.n
        widths = roomy(np.diff(rankings.start) + 1) if compressed else self._ranks_that_matter(rankings, background)
        if widths.max(initial=0) > _FARTHEST:
            raise BadParameter(
                f"{widths.max():,} ranks would have to be looked at one by one, and {_FARTHEST:,} can be: name a lower"
                f" rank in C={str(self.C)!r}, as end= or as cutoff."
            )
        order = np.lexsort((n > 0, widths))  # empty rankings by themselves: all of theirs is unseen
        keep = np.ones(len(n), bool) if which is None else which
        if self.end == "stop":
            keep = keep & (n > 0)  # nobody sees anything of an empty list
        order = order[keep[order]]
        differs = np.flatnonzero((np.diff(widths[order]) != 0) | np.diff(n[order] > 0)) + 1
        for alike in np.split(order, differs) if len(order) else []:
            width = int(widths[alike[0]])
            step = max(_CELLS // width, 1)
            for first in range(0, len(alike), step):
                yield alike[first : first + step], width

    def _ranks_that_matter(self, rankings: Rankings, background: float) -> Array:
        """Down to where the list is explicit; at the open end what follows the last hit is as good as unseen."""
        last = self.rank_at("last_rank")
        if self.end == "stop":
            widths = roomy(rankings.n)
        elif isinstance(self.end, int):
            widths = np.full(len(rankings), self.end)
        else:
            deepest = rankings.last_hit if self._settled_after_hits and not background else rankings.n
            needed = np.maximum(deepest, max(last, self.rank_at("jump_rank"), 1))
            widths = roomy(needed)
            if self.unseen_effort is None:  # as far as the list goes, where more would ask what is not known
                widths = np.minimum(widths, np.maximum(needed, rankings.n))
        looks_ahead = (reads(self.C) | reads(self.A)) & {"found", "discounted"}
        return np.minimum(widths, last) if last and not looks_ahead else widths

    def rank_at(self, fact: str) -> int:
        """The rank that a continuation names as its last, or where it jumps; 0 where it names none."""
        rank = self.C.fact(fact)
        return min(rank() or 0, _BEYOND) if rank else 0

    @property
    def _settled_after_hits(self) -> bool:
        """Efforts after the last hit do not matter where A stays and all who go on leave, sooner or later."""
        stays = bool(self.A.fact("constant_without_gain")) and bool(self.C.fact("eventually_leaves"))
        return self.flat_effort is not None or stays

    def _hit_columns(self, rankings: Rankings, queries: Array, width: int) -> tuple[View, Array | None]:
        # AP, RR and their like see the same hits, and so the same G, best, …
        if not (self.gain.built_in and self.effort.built_in):
            return self._hits_only(rankings, queries, width)
        what = (self.gain.key, self.max_rel, self.idle_duplicates, self.effort.key, self.end)
        key = (*what, int(queries[0]), len(queries))
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
        grade, r = np.zeros(i.shape, rankings.grade.dtype), np.zeros(i.shape)
        place = row * width + column
        i.ravel()[place], grade.ravel()[place] = rankings.rank[at], rankings.grades(self)[at]
        r.ravel()[place] = rankings.gains(self)[at]
        if self.unit_effort:
            return View(i, r, grade, self.totals_of(rankings, queries)), leaves
        e = np.full(i.shape, self.flat_effort)
        e.ravel()[place] = self.effort_of(rankings.grade[at])
        E = self.flat_effort * i + np.cumsum(e - self.flat_effort, axis=1)
        return View(i, r, grade, self.totals_of(rankings, queries), e, self.unseen_effort, E=E), leaves

    def columns(
        self, rankings: Rankings, queries: Array, width: int, background: float = 0.0
    ) -> tuple[View, Array | None]:
        """Ranks 1 to width of these queries, and the last that each user sees (None where the list has no end)."""
        at, row, _ = rankings.hits_of(queries)
        column = rankings.rank[at] - 1
        inside = column < width
        at, row, column = at[inside], row[inside], column[inside]
        best = self.best if background else (0.0, 0.0)
        r = np.full((len(queries), width), best[0])
        place = row * width + column
        r.ravel()[place] = rankings.gains(self)[at]

        def grade() -> Array:
            grades = np.full(r.shape, best[1], float if background else rankings.grade.dtype)
            grades.ravel()[place] = rankings.grades(self)[at]
            return grades

        e = None if self.unit_effort else self._efforts(rankings, queries, row, column, at, width)
        leaves = None
        if self.end != "open":
            n = rankings.n[queries] if self.end == "stop" else np.full(len(queries), width)
            leaves = np.minimum(n, width) - 1
        i = np.arange(1.0, width + 1)[None, :]
        return View(i, r, grade, self.totals_of(rankings, queries), e, self.unseen_effort, *best), leaves

    def _efforts(self, rankings: Rankings, queries: Array, row: Array, column: Array, at: Array, width: int) -> Array:
        grades_alone = effort_reads(self.effort) <= {"grade"}
        if rankings.efforts is None and self.effort.name == "given":
            raise BadParameter(
                "effort='given' needs the effort of each item: give score(…), residual(…) or explain_gains(…) efforts=,"
                " a number for each item; for runs, write a function of documents with @effort."
            )
        if rankings.efforts is not None:
            e = rankings.efforts(queries, width)
        elif grades_alone:
            e = np.full((len(queries), width), self.effort_of(np.zeros(1))[0])
            e[row, column] = self.effort_of(rankings.grade[at])
        else:
            grade = np.zeros((len(queries), width))
            grade[row, column] = np.maximum(rankings.grade[at], 0)
            documents = Documents(grade, lambda: rankings.words(self, queries, width))
            e = self.costs(documents)
        if not grades_alone or rankings.efforts is not None:
            self.refuse_odd_efforts(e, where=np.arange(width)[None, :] < rankings.n[queries][:, None])
        if rankings.n[queries].min(initial=width) >= width:
            return e
        if self.unseen_effort is None and self._asks_for_unseen_efforts:
            raise UnknownEffort
        return np.where(np.arange(width)[None, :] < rankings.n[queries][:, None], e, self.unseen_effort or 0.0)

    def costs(self, documents: Documents) -> Array:
        """The effort of each document."""
        found, shape = self.effort(documents), np.shape(documents.grade)
        found = np.asarray(found, float) if self.effort.built_in else checked_numbers(self.effort, found, shape)
        return np.broadcast_to(found, shape)

    def effort_of(self, grade: Array) -> Array:
        """The efforts of documents of these grades, where nothing else decides."""
        e = self.costs(Documents(np.maximum(grade, 0)))
        self.refuse_odd_efforts(e)
        return e

    def refuse_odd_efforts(self, e: Array, where: Any = True) -> None:
        if np.any((e < 0) | ~np.isfinite(e), where=where):
            raise BadParameter(f"effort={str(self.effort)!r} gives a negative or infinite effort.")

    @property
    def _asks_for_unseen_efforts(self) -> bool:
        """Whether the efforts of unseen items decide anything in the columns after the end of a short list.

        At the open end C alone does not: whoever pays nothing there goes on to where C is asked again.
        """
        efforts = {"e", "E", "expected_effort"}
        of_C = {"E"} if self.end == "open" else efforts
        return self.end != "stop" and bool(reads(self.A) & efforts or reads(self.C) & of_C)

    def totals_of(self, rankings: Rankings, queries: Array) -> Callable[[float | None], Array]:
        def total(rel: float | None) -> Array:
            worth = self.gains if rel is None else lambda grade: (np.asarray(grade) >= rel).astype(float)
            key = (self.gain.key, self.max_rel) if rel is None else rel
            keep = self.gain.built_in or rel is not None
            return rankings.of_pool(rankings.pool.totals(worth, key, keep))[queries][:, None]

        return total


def _rels(spec: Spec) -> Iterator[int]:
    """The grades from which on a document is relevant to a function, or to those within it."""
    for name, value in spec.values:
        if isinstance(value, Spec):
            yield from _rels(value)
        elif name == "rel" and value:
            yield value


def roomy(widths: Array) -> Array:
    """The next of 2, 4, 8 and then four widths an octave (10, 12, 14, 16, 20, …): many queries share one."""
    widths = np.maximum(widths, 2)
    step = 1 << np.maximum(np.int64(np.ceil(np.log2(widths))) - 3, 0)
    return np.where(widths <= 8, power_of_two(widths), -(-widths // step) * step)


def power_of_two(widths: Array) -> Array:
    """The next power of two."""
    return np.exp2(np.ceil(np.log2(widths))).astype(np.int64)


def packed(order: Array, widths: Array, cells: int) -> Iterator[tuple[Array, int]]:
    """Queries in an order by rising widths, as many at a time as fit into the cells, each time with the greatest."""
    done = 0
    while done < len(order):
        ahead = widths[order[done : done + cells]]
        # The last of the chunk is the widest: as many rows as fit at its width.
        fits = int(np.searchsorted(ahead * np.arange(1, len(ahead) + 1), cells, side="right"))
        queries = order[done : done + max(fits, 1)]
        yield queries, int(widths[queries[-1]])
        done += len(queries)


def plain_metric(C: Spec, A: Spec, end: str | int, max_rel: float | None = None) -> Metric:
    """Return the metric of a continuation and an aggregation whose gain is the grade, at unit effort."""
    return Metric(C, A, raw(), unit(), end=end, max_rel=max_rel)


def rank_weights(C: Spec, A: Spec, end: str | int, n: int) -> Array:
    """What a gain of 1 at each of the ranks 1..n adds to the score; kept where the functions are ours."""
    return _kept_weights(C, A, end, n) if C.built_in and A.built_in else _weights(C, A, end, n)


@lru_cache(maxsize=256)
def _kept_weights(C: Spec, A: Spec, end: str | int, n: int) -> Array:
    return _weights(C, A, end, n)


def _weights(C: Spec, A: Spec, end: str | int, n: int) -> Array:
    """The metric itself, on rankings with one gain each, as long as the next power of two: so n changes no weight."""
    rank = np.arange(1, n + 1)
    length = np.full(n, n) if end == "stop" else power_of_two(rank)
    metric = plain_metric(C, A, end)
    return metric._by_chunks(metric.cut(Rankings.of_hits(length, rank - 1, rank, np.ones(n))))
