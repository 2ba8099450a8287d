"""A metric: gain, effort, continuation, aggregation, normaliser and end of the list, and derived properties."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.columns import Array, Floats
from ..data.duplicates import Duplicates
from ..data.lengths import Costs, Lengths
from ..errors import BadParameter, UnknownSpec, near
from .efforts import unit
from .fact_trials import check_facts
from .gains import GIVEN, raw
from .introspection import effort_reads, reads
from .language import Spec, checked_numbers, shortened
from .view import Documents, UnknownEffort

NORMS = ("none", "ideal", "all", "mean", "unlimited")
FARTHEST = 1 << 22  # largest number of explicit ranks, which limits the memory
_BEYOND = 1 << 53  # largest integer that floats represent exactly; no list is that long
_GRADES = 1 << 12  # number of grades that are tried for the highest gain


def _unit_of(effort: Spec) -> str:
    """Return the unit of an effort: its parameter ``unit``, that of all its parts, or what its docstring states."""
    values = dict(effort.values)
    if isinstance(values.get("unit"), str):
        return str(values["unit"])
    if parts := {_unit_of(value) for value in values.values() if isinstance(value, Spec)}:
        known = parts - {"effort"}
        return known.pop() if len(known) == 1 else "effort"
    found = re.search(r"Unit: ([^.]+)\.", effort.part.__doc__ or "")
    return found.group(1) if found and found.group(1) != "as given" else "effort"


@dataclass(frozen=True)
class Metric:
    """Gain, effort, continuation, aggregation and normaliser, the end of the list, and options for documents.

    Attributes
    ----------
    C, A, gain, effort : Spec
        Functions with their parameters.
    norm : {"none", "ideal", "all", "mean", "unlimited"}, default="none"
        Divisor of the score.
    end : {"open", "stop"} or int, default="open"
        End of the list. "open": the list is infinite, and unseen items have no gain. "stop": all users leave at the
        last retrieved item. An int: all users leave at this rank, retrieved or not.
    cutoff : int, optional
        Number of items of a ranking that are scored; by default all.
    max_rel : float, optional
        Highest grade.
    unseen : float, optional
        Effort of an unseen item, if the effort function cannot compute it.
    lengths, costs, missing
        Tables of document lengths and of known costs, and treatment of documents without: "error" or "mean".
    default_lengths
        Table for runs without a column ``doc_length``, if `lengths` is None.
    judged_only : bool, default=False
        Whether items that are unjudged or have a negative grade are removed from the rankings first.
    duplicates, duplicate_gain
        Table of clusters of duplicates. An item that repeats an earlier item of its ranking has no words to read, and
        with ``duplicate_gain="none"`` no gain. With duplicates the ideal score is an upper bound, computed as if
        documents with a copy had no words.

    Raises
    ------
    UnknownSpec
        If there is no such normaliser.
    BadParameter
        If there is no such end, if the gain needs ``max_rel``, or if the gain is signed and C or the normaliser needs
        gains of 0 or more.
    RefutedFact
        If a user's function does not have a property that its decorator states.
    """

    C: Spec
    A: Spec
    gain: Spec
    effort: Spec
    norm: str = "none"
    end: str | int = "open"
    cutoff: int | None = None
    max_rel: float | None = None
    unseen: float | None = None
    lengths: Lengths | None = field(default=None, compare=False)
    default_lengths: Lengths | None = field(default=None, compare=False)
    missing: str = "error"
    judged_only: bool = False
    duplicates: Duplicates | None = field(default=None, compare=False)
    duplicate_gain: str = "keep"
    costs: Costs | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.norm not in NORMS:
            raise UnknownSpec(f"no normaliser norm={self.norm!r}. {near(str(self.norm), NORMS)}")
        whole = isinstance(self.end, int) and not isinstance(self.end, bool) and 1 <= self.end <= FARTHEST
        if self.end not in ("open", "stop") and not whole:
            end = shortened(repr(self.end))
            raise BadParameter(f"end={end}: end must be 'open', 'stop' or a rank from 1 to {FARTHEST:,}.")
        if self.gain.part.wants_max_rel and self.max_rel is None:
            raise BadParameter(f"{self.gain.keyword} needs max_rel=, the highest grade of the judgments.")
        if self.signed:
            self._refuse_signed()
        for spec in (self.C, self.A, self.gain, self.effort):
            if not spec.built_in:
                check_facts(spec, self.signed)

    def _refuse_signed(self) -> None:
        """Raise BadParameter if C or the normaliser is not defined for negative gains."""
        from_0 = self.C.fact("gains_from_0")
        if from_0 and from_0():
            raise BadParameter(
                f"{self.C.keyword} is defined for gains of 0 or more, and {self.gain.keyword} is signed: it has"
                " negative gains, or a gain for grade 0. Give C rel=, the lowest relevant grade, as in C='rr(rel=1)',"
                " or another C, such as 'rbp(0.8)' or 'inst(1)'."
            )
        if self.norm == "mean":
            raise BadParameter(
                f"norm='mean' is defined for gains of 0 or more, and {self.gain.keyword} is signed: give norm='none'."
            )

    @cached_property
    def built_in(self) -> bool:
        """Whether results may be cached. Functions of users may depend on values that change."""
        return all(part.built_in for part in (self.C, self.A, self.gain, self.effort))

    @property
    def fresh(self) -> Metric:
        """Same metric, without cached results of users' functions."""
        return self if self.built_in else replace(self)

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """Key of the metric in caches; unlike in comparisons, tables of documents are a part of it."""
        return tuple(getattr(self, name) for name in self.__dataclass_fields__)

    @cached_property
    def last_that_counts(self) -> int | None:
        """Last rank with an item that counts, according to `cutoff` and `end`; None if there is none."""
        return min((cut for cut in (self.cutoff, self.end) if isinstance(cut, int)), default=None)

    @property
    def idle_duplicates(self) -> Duplicates | None:
        """Clusters of duplicates in which only the first item of a ranking has gain, or None."""
        return self.duplicates if self.duplicate_gain == "none" else None

    # ---- continuation

    @cached_property
    def rank_only(self) -> bool:
        """Whether C depends on ranks and efforts only, and not on gains."""
        return reads(self.C) <= {"i", "e", "E", "E_before"}

    @cached_property
    def effort_only(self) -> bool:
        """Whether C depends on efforts only, and not on ranks or gains."""
        names = reads(self.C)
        return bool(names) and names <= {"e", "E", "E_before"}

    @property
    def loss(self) -> Callable[[Floats], Floats] | None:
        """Function f of efforts if the ideal ranking is exact: by falling w/f(e), where w is the credited gain.

        C must state the function, and A must be a sum over items whose terms do not depend on the rank: φ is 1.
        """
        stated, terms = self.C.fact("loss"), self.A.fact("credit_terms")
        if not (stated and terms) or "expected_effort" in reads(self.A):
            return None
        phi, _ = terms(np.ones(1), np.ones(1), np.ones(1), np.zeros(1))
        exact = np.ndim(phi) == 0 and phi == 1 and not (self.C.fact("gives_survival") and self.last_that_counts)
        return stated() if exact else None

    @cached_property
    def last_rank(self) -> int:
        """Last rank that any user sees, as C states it, or 0 if it states none."""
        rank = self.C.fact("last_rank")
        return min(rank() or 0, _BEYOND) if rank else 0

    @property
    def explicit_ranks(self) -> int:
        """Lowest number of ranks in a view.

        It is the rank at which all users leave, or the later of C's last rank and the rank from which efforts are
        constant.
        """
        return self.end if isinstance(self.end, int) else max(self.last_rank, self.constant_from or 1)

    # ---- gains

    @cached_property
    def signed(self) -> bool:
        """Whether gains may be negative, and those of grade 0 may differ from 0."""
        signed = self.gain.fact("signed")
        return bool(signed() if callable(signed) else signed)

    @property
    def all_judged(self) -> bool:
        """Whether the score depends on documents judged not relevant."""
        return self.judged_only or self.signed

    @cached_property
    def constant_without_gain(self) -> bool:
        """Whether A does not change at an item without gain; the highest gain does after negative ones."""
        return bool(self.A.fact("constant_without_gain")) and not self.reads_signed({"best"})

    def reads_signed(self, names: set[str]) -> bool:
        """Return whether gains are signed, and C or A reads one of some attributes of a view."""
        return self.signed and not names.isdisjoint(reads(self.C) | reads(self.A))

    def gains(self, grade: Array) -> Floats:
        """Return the gain of each grade; negative grades have gain 0, and grade 0 as well if the gain is not signed.

        Raises
        ------
        BadParameter
            If a user's function returns an infinite gain, or a negative one and is not signed.
        """
        grade = np.asarray(grade)
        if self.gain.part is GIVEN.part:
            return self._gained(grade)
        positive = grade >= 0 if self.signed else grade > 0
        if positive.all():
            r = self._gained(grade)
        else:
            r = np.zeros(grade.shape)
            r[positive] = self._gained(grade[positive])
        if not self.gain.part.built_in and not (np.isfinite(r).all() and (self.signed or (r >= 0).all())):
            raise BadParameter(
                f"{self.gain.keyword} gives {'an' if self.signed else 'a negative or'} infinite gain"
                f"{'' if self.signed else ': for negative gains, state @gain(signed=True)'}."
            )
        return r

    def _gained(self, grade: Array) -> Floats:
        found = self.gain(grade, **{"max_rel": self.max_rel} if self.gain.part.wants_max_rel else {})
        if self.gain.part.built_in:
            return np.asarray(found, float)
        return np.array(np.broadcast_to(checked_numbers(self.gain, found, grade.shape), grade.shape))

    @cached_property
    def best(self) -> tuple[float, float]:
        """Highest possible gain, and the highest grade with this gain."""
        grades, r = self._possible
        return float(r.max()), max(float(grades[r == r.max()].max()), 0.0)

    @cached_property
    def lowest(self) -> tuple[float, float]:
        """Lowest possible gain, at most 0, and the highest grade with this gain."""
        if not self.signed:
            return 0.0, 0.0
        grades, r = self._possible
        return float(r.min()), float(grades[r == r.min()].max())

    @cached_property
    def _possible(self) -> tuple[Floats, Floats]:
        """Grades that documents may have, and their gains; if these are signed, with gain 0 for unjudged documents."""
        rels = rels_of(self)
        known = self.gain.fact("known_grades") and self.gain.fact("known_grades")()
        if known:
            grades = np.array([g for g in known if g <= (self.max_rel or g)])
            if self.max_rel is not None and ("others", "interpolate") in self.gain.values:
                grades = np.append(grades, min(self.max_rel, max(known)))
            if not len(grades):
                raise BadParameter(f"{self.gain.keyword} has no grade up to max_rel={self.max_rel}.")
        elif self.max_rel is not None:
            grades = np.append(np.arange(1, min(self.max_rel, _GRADES)), self.max_rel)
        elif any(name == "rel" for name, _ in self.gain.values):
            grades = np.array([max(rels)])
        else:
            raise BadParameter(f"{self.gain.keyword} needs max_rel=, the highest grade, for its best gain.")
        if self.signed:
            grades = np.concatenate([[-1.0, 0.0], grades])
        return grades, self.gains(grades)

    # ---- efforts

    @cached_property
    def unit_effort(self) -> bool:
        """Whether every document has effort 1, so that the cumulative effort is the rank."""
        return bool(self.effort.fact("unit_effort"))

    @property
    def needs_words(self) -> bool:
        """Whether efforts depend on the lengths of documents."""
        return self.effort_depends_on("words")

    @property
    def needs_cost(self) -> bool:
        """Whether efforts depend on known costs of documents."""
        return self.effort_depends_on("cost")

    def effort_depends_on(self, name: str) -> bool:
        """Return whether efforts read an attribute of documents: "grade", "words", "cost" or "rank"."""
        return not self.unit_effort and name in effort_reads(self.effort)

    @cached_property
    def constant_from(self) -> int | None:
        """Rank from which efforts no longer depend on ranks, as the effort states it; 1 if it does not read ranks."""
        if not self.effort_depends_on("rank"):
            return 1
        stated = self.effort.fact("constant_from")
        rank = stated() if stated else None
        return None if rank is None or rank > FARTHEST else int(rank)

    @property
    def effort_unit(self) -> str:
        """Unit of the efforts, such as documents, seconds or tokens; "effort" if it is not known."""
        return "documents" if self.unit_effort else _unit_of(self.effort)

    def efforts(self, documents: Documents) -> Floats:
        """Return the effort of each document."""
        found, shape = self.effort(documents), np.shape(documents.grade)
        found = np.asarray(found, float) if self.effort.built_in else checked_numbers(self.effort, found, shape)
        return np.broadcast_to(found, shape)

    def cost_of_one(self, grade: float = 0.0, known: Callable[[], Array] | None = None) -> float:
        """Return the effort of one document, at a rank from which efforts no longer depend on ranks.

        Parameters
        ----------
        grade : float, default=0
            Grade of the document.
        known : callable, optional
            Function that returns the length of the document, in words, and its known cost, as an array of one element.

        Raises
        ------
        UnknownEffort
            If the length or the known cost is needed and not given, or if efforts change with all ranks.
        """
        rank = None if self.constant_from is None else np.array([float(self.constant_from)])
        return float(np.max(self.efforts(Documents(np.array([grade]), known, known, rank))))

    def costs_by_rank(self, rank: Floats) -> Floats:
        """Return the efforts of unseen items at some ranks, in an array of the shape of `rank`.

        Raises
        ------
        UnknownEffort
            If efforts depend on more than the grade and the rank.
        """
        if self.unseen is not None:
            return np.full(rank.shape, float(self.unseen))
        e = self.efforts(Documents(np.zeros(rank.shape), rank=rank))
        self.refuse_odd_efforts(e)
        return e

    def effort_of(self, grade: Array) -> Floats:
        """Return the efforts of documents by grade, for efforts that depend on grades only."""
        e = self.efforts(Documents(np.maximum(grade, 0)))
        self.refuse_odd_efforts(e)
        return e

    def refuse_odd_efforts(self, e: Floats, where: NDArray[np.bool_] | bool = True) -> None:
        """Raise BadParameter if an effort is negative or infinite."""
        if np.any((e < 0) | ~np.isfinite(e), where=where):
            raise BadParameter(f"{self.effort.keyword} gives a negative or infinite effort.")

    @cached_property
    def unseen_effort(self) -> float | None:
        """Effort of an item that was not retrieved, or None if it is not known."""
        if self.unit_effort:
            return 1.0
        if self.unseen is not None:
            return float(self.unseen)
        try:
            return self.cost_of_one()
        except UnknownEffort:
            return None

    @property
    def effort_beyond_known(self) -> bool:
        """Whether the effort of unseen items is known, or not needed because the list has an end."""
        return self.end != "open" or self.unseen_effort is not None

    @cached_property
    def flat_effort(self) -> float | None:
        """Effort of all nonrelevant items, seen or unseen, or None if it depends on more than the grade."""
        if self.unit_effort:
            return 1.0
        reads_grade_alone = effort_reads(self.effort) <= {"grade"} and not self.effort.fact("given_with_items")
        if not reads_grade_alone or self.unseen_effort != self.cost_of_one():
            return None
        return self.unseen_effort


def plain_metric(C: Spec, A: Spec, end: str | int, max_rel: float | None = None) -> Metric:
    """Return the metric of a continuation and an aggregation with gain ``raw`` and effort ``unit``."""
    return Metric(C, A, raw(), unit(), end=end, max_rel=max_rel)


def rels_of(metric: Metric) -> list[int]:
    """Return the lowest relevant grades (``rel``) of the gain and the continuation of a metric."""
    return [rel for spec in (metric.gain, metric.C) for rel in _rels(spec)]


def _rels(spec: Spec) -> Iterator[int]:
    """Yield the lowest relevant grades (``rel``) of a function and of the functions among its parameters."""
    for name, value in spec.values:
        if isinstance(value, Spec):
            yield from _rels(value)
        elif name == "rel" and value:
            yield value
