"""A metric: the record of its choices (gain, effort, C, A, normaliser, end) and what follows from them alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..data.rankings import Array
from ..errors import BadParameter, UnknownSpec, near
from .efforts import unit
from .fact_trials import check_facts
from .gains import raw
from .introspection import effort_reads, reads
from .language import Spec, checked_numbers, shortened
from .view import Documents, UnknownEffort

NORMS = ("none", "ideal", "all", "mean", "unlimited")
FARTHEST = 1 << 22  # ranks that are looked at one by one at most: an error comes before memory runs out
_BEYOND = 1 << 53  # a rank that no list has, which arrays can hold
_GRADES = 1 << 12  # grades that are asked one by one which gains most


@dataclass(frozen=True)
class Metric:
    """Five choices: gain, effort, continuation, aggregation, normaliser; and where the list ends.

    Attributes
    ----------
    C, A, gain, effort : Spec
        The functions, with their parameters.
    norm : {"none", "ideal", "all", "mean", "unlimited"}
        What the score is divided by.
    end : {"open", "stop"} or int
        Where the list ends: never (unseen items gain nothing), after the last item, at which everybody leaves, or at
        a rank at which everybody leaves, retrieved or not.
    k : int or None
        How many items of a ranking are kept.
    max_rel : float or None
        The highest grade.
    unseen : float or None
        The effort of an unseen item where the effort function cannot tell.
    lengths, missing
        The table of document lengths, and what is done where it has none.
    judged_only : bool
        Whether items that are not judged, or have a negative grade, are taken out of the rankings first.
    duplicates, duplicate_gain
        A table of clusters of documents that repeat an earlier one of their ranking. Such documents have no words to
        read, and (``duplicate_gain="none"``) gain nothing. With duplicates the ideal is only a bound, in which
        documents with a copy cost no reading.

    Raises
    ------
    UnknownSpec, BadParameter
        If there is no such normaliser or end, or if the gain needs ``max_rel``.
    RefutedFact
        If a user's own function does not have a property that its decorator states.
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
        whole = isinstance(self.end, int) and not isinstance(self.end, bool) and 1 <= self.end <= FARTHEST
        if self.end not in ("open", "stop") and not whole:
            end = shortened(repr(self.end))
            raise BadParameter(f"end={end}: end must be 'open', 'stop' or a rank from 1 to {FARTHEST:,}.")
        if self.gain.part.wants_max_rel and self.max_rel is None:
            raise BadParameter(f"{self.gain.keyword} needs max_rel=, the highest grade of the judgments.")
        for spec in (self.C, self.A, self.gain, self.effort):
            if not spec.built_in:
                check_facts(spec)

    @property
    def built_in(self) -> bool:
        """Whether results may be kept: a user's own function may read what changes."""
        return all(part.built_in for part in (self.C, self.A, self.gain, self.effort))

    @property
    def fresh(self) -> Metric:
        """The same metric, which does not remember what a user's own functions returned before."""
        return self if self.built_in else replace(self)

    @property
    def key(self) -> tuple:
        """The key of the metric in caches."""
        return (
            *(self.C.key, self.A.key, self.gain.key, self.effort.key),
            *(self.norm, self.end, self.k, self.max_rel, self.unseen, self.lengths, self.missing),
            *(self.judged_only, self.duplicates, self.duplicate_gain),
        )

    @property
    def last_that_counts(self) -> int | None:
        """The last rank of an item that counts, where k or end says so."""
        return min((cut for cut in (self.k, self.end) if isinstance(cut, int)), default=None)

    @property
    def idle_duplicates(self) -> Any:
        """The clusters of which only the first in a ranking gains anything, or None."""
        return self.duplicates if self.duplicate_gain == "none" else None

    # ---- who moves the users

    @property
    def rank_only(self) -> bool:
        """Whether C depends on ranks (and efforts) alone, so that no gain moves a user."""
        return reads(self.C) <= {"i", "e", "E"}

    @property
    def effort_only(self) -> bool:
        """Whether C depends on efforts alone: neither on ranks nor on gains."""
        names = reads(self.C)
        return bool(names) and names <= {"e", "E"}

    @property
    def leaves_with_effort(self) -> bool:
        """Whether efforts make users leave: unseen items at no cost are then the limit of ever smaller costs."""
        return bool(self.C.fact("eventually_leaves")) or self.effort_only

    @property
    def decays(self) -> bool:
        """Whether users leave with effort alone, and count all gains: the case with an exact ideal ranking."""
        return self.C.name == "decay" and self._adds_up

    @property
    def _adds_up(self) -> bool:
        """Whether A is a sum of what each item contributes, whatever its rank: φ(i) of its terms is the number 1."""
        terms = self.A.fact("credit_terms")
        if terms is None or "expected_effort" in reads(self.A):
            return False
        phi, _ = terms(np.ones(1), np.ones(1), np.ones(1), np.zeros(1))
        return np.ndim(phi) == 0 and bool(phi == 1)

    def rank_at(self, fact: str) -> int:
        """Return the rank that C names as its last (``"last_rank"``), or where it jumps; 0 where it names none."""
        rank = self.C.fact(fact)
        return min(rank() or 0, _BEYOND) if rank else 0

    @property
    def named_rank(self) -> int:
        """The highest rank that C names, its last one or where it jumps; 0 where it names none."""
        return max(self.rank_at("last_rank"), self.rank_at("jump_rank"))

    @property
    def explicit_ranks(self) -> int:
        """How many ranks a view needs at least: down to where everybody leaves, or to the highest that C names."""
        return self.end if isinstance(self.end, int) else max(self.named_rank, 1)

    # ---- gains

    def gains(self, grade: Array) -> Array:
        """Return the gain of each grade; grades that are not above 0 gain nothing.

        Raises
        ------
        BadParameter
            If a user's own function gives a negative or infinite gain.
        """
        grade = np.asarray(grade)
        positive = grade > 0
        if positive.all():
            r = self._gained(grade)
        else:
            r = np.zeros(grade.shape)
            r[positive] = self._gained(grade[positive])
        if not self.gain.part.built_in and not (np.isfinite(r).all() and (r >= 0).all()):
            raise BadParameter(f"{self.gain.keyword} gives a negative or infinite gain.")
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
                raise BadParameter(f"{self.gain.keyword} has no grade up to max_rel={self.max_rel}.")
        elif self.max_rel is not None:
            grades = np.append(np.arange(1, min(self.max_rel, _GRADES)), self.max_rel)
        elif any(name == "rel" for name, _ in self.gain.values):
            grades = np.array([max(rels)])
        else:
            raise BadParameter(f"{self.gain.keyword} has a best gain only with max_rel=, the highest grade.")
        r = self.gains(grades)
        return float(r.max()), float(grades[r == r.max()].max())

    # ---- efforts

    @property
    def unit_effort(self) -> bool:
        """Whether every document costs one: the effort of a rank is the rank."""
        return bool(self.effort.fact("unit_effort"))

    @property
    def needs_words(self) -> bool:
        """Whether efforts depend on the lengths of documents."""
        return not self.unit_effort and "words" in effort_reads(self.effort)

    def costs(self, documents: Documents) -> Array:
        """Return the effort of each document."""
        found, shape = self.effort(documents), np.shape(documents.grade)
        found = np.asarray(found, float) if self.effort.built_in else checked_numbers(self.effort, found, shape)
        return np.broadcast_to(found, shape)

    def cost_of_one(self, grade: float = 0.0, words: Callable[[], Array] | None = None) -> float:
        """Return the effort of one document; UnknownEffort is raised where it needs words that are not given."""
        return float(np.max(self.costs(Documents(np.array([grade]), words))))

    def effort_of(self, grade: Array) -> Array:
        """Return the efforts of documents of these grades, where nothing else decides."""
        e = self.costs(Documents(np.maximum(grade, 0)))
        self.refuse_odd_efforts(e)
        return e

    def refuse_odd_efforts(self, e: Array, where: Array | bool = True) -> None:
        """Raise BadParameter if an effort is negative or infinite."""
        if np.any((e < 0) | ~np.isfinite(e), where=where):
            raise BadParameter(f"{self.effort.keyword} gives a negative or infinite effort.")

    @cached_property
    def unseen_effort(self) -> float | None:
        """The effort of an item that was not retrieved, or None where nothing tells."""
        if self.unit_effort:
            return 1.0
        if self.unseen is not None:
            return float(self.unseen)
        try:
            return self.cost_of_one()
        except UnknownEffort:
            return None

    @cached_property
    def flat_effort(self) -> float | None:
        """The effort of all items that are not relevant, seen or unseen; None where more than the grade decides it."""
        if self.unit_effort:
            return 1.0
        reads_grade_alone = effort_reads(self.effort) <= {"grade"} and self.effort.name != "given"
        if not reads_grade_alone or self.unseen_effort != self.cost_of_one():
            return None
        return self.unseen_effort


def plain_metric(C: Spec, A: Spec, end: str | int, max_rel: float | None = None) -> Metric:
    """Return the metric of a continuation and an aggregation whose gain is the grade, at unit effort."""
    return Metric(C, A, raw(), unit(), end=end, max_rel=max_rel)


def _rels(spec: Spec) -> Iterator[int]:
    """The grades from which on a document is relevant to a function, or to those within it."""
    for name, value in spec.values:
        if isinstance(value, Spec):
            yield from _rels(value)
        elif name == "rel" and value:
            yield value
