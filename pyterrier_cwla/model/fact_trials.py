"""Checks of the facts that users state about their functions, on short random lists, before the first use."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from ..data.arrays import Floats
from ..errors import BadParameter, CWLAError, RefutedFact
from . import aggregation_trials, continuation_trials
from .introspection import effort_reads
from .language import Part, Spec, checked_numbers
from .trial_lists import CannotTell, Difference, Lists, given_by, random_lists, told_apart
from .view import Documents


def check_facts(spec: Spec) -> None:
    """Check the facts that users state about a function and the functions among its parameters.

    Each function is checked once per values of its parameters.

    Raises
    ------
    RefutedFact
        If a fact does not hold for a list; the error shows the list.
    """
    for _, value in spec.values:
        if isinstance(value, Spec) and not value.built_in:
            check_facts(value)
    if not spec.part.built_in and (says := _objection(spec.part, spec)):
        raise RefutedFact(says)


def holds(spec: Spec, fact: str) -> bool:
    """Return whether a fact is stated and holds.

    A fact of a built-in function may not hold if one of its parameters is a user's function.
    """
    return bool(spec.fact(fact)) and (spec.built_in or not refutation(spec.part, spec, fact))


@lru_cache(maxsize=1024)
def _objection(part: Part, spec: Spec) -> str:
    """Return the message about the first fact that does not hold, or an empty text."""
    for fact in _TRIALS.get(part.kind, ()):
        if says := refutation(part, spec, fact):
            return (
                f"{spec.keyword}: its decorator states {fact}, which does not hold. {says}"
                f" Correct the function, or leave out {fact}=."
            )
    return ""


@lru_cache(maxsize=1024)
def refutation(part: Part, spec: Spec, fact: str) -> str:
    """Return a text that refutes a fact, or an empty text if the fact is not stated or not refuted.

    Parameters
    ----------
    part : Part
        Part of `spec`; it is a key of the cache, because a function that is decorated again may have other facts.
    spec : Spec
        Function with parameters.
    fact : str
        Name of the fact.
    """
    if not spec.fact(fact):
        return ""
    trial = _TRIALS[part.kind][fact]
    with np.errstate(all="ignore"):
        for lists in random_lists():
            try:
                different = trial(spec, lists)
            except CannotTell:
                continue
            if different:
                row, says = different
                return f"For {lists.text(row)}: {says}." if row >= 0 else f"{says}."
    return ""


# ---- efforts and gains


def _unit_effort(spec: Spec, lists: Lists) -> Difference | None:
    rng = np.random.default_rng(1)
    grade = lists.grade.ravel()
    words = rng.integers(0, 3000, grade.shape)
    effort_reads(spec)  # nothing else calls the function, so errors of the function are raised here
    try:
        found = spec(Documents(grade, lambda: words, lambda: words / 10, 1.0 + rng.integers(0, 100, grade.shape)))
    except CWLAError as error:
        raise CannotTell from error
    e = np.broadcast_to(checked_numbers(spec, found, words.shape), words.shape)
    if (wrong := np.flatnonzero(~(e == 1))).size:
        document = f"A document of grade {grade[wrong[0]]} and {words[wrong[0]]} words"
        return -1, f"{document} costs {told_apart(e[wrong[0]], 1)[0]}, and must cost 1"
    return None


def _constant_from(spec: Spec, lists: Lists) -> Difference | None:
    first = given_by(spec, "constant_from")
    if first is None:
        return None
    if isinstance(first, bool) or not isinstance(first, int | float) or not 1 <= first < 1 << 53:
        raise BadParameter(
            f"{spec.keyword}: constant_from= of its decorator gives {first!r:.80}, and must give a rank from 1."
        )
    rank = np.ceil(first) + np.array([0.0, 1, 2, 9, 100, 12345])
    for grade in (0.0, 1.0):
        same = np.ones(rank.shape)
        found = spec(Documents(grade * same, lambda: 300 * same, lambda: 30 * same, rank))  # noqa: B023
        e = np.broadcast_to(checked_numbers(spec, found, rank.shape), rank.shape)
        if (wrong := np.flatnonzero(e != e[0])).size:
            other, at_first = told_apart(e[wrong[0]], e[0])
            says = f"A document at rank {rank[wrong[0]]:g} costs {other}, and {at_first} at rank {rank[0]:g}"
            return -1, f"{says}: they must be equal"
    return None


def _known_grades(spec: Spec, lists: Lists) -> Difference | None:
    known = given_by(spec, "known_grades")
    if known is None:
        return None
    try:
        grades = np.unique(np.asarray(known, float))
    except (TypeError, ValueError):
        grades = np.zeros(1)
    if not grades.size:
        return None
    if not (np.isfinite(grades).all() and grades[0] > 0):
        raise BadParameter(
            f"{spec.keyword}: known_grades= of its decorator gives {known!r:.80}, and must give grades above 0."
        )
    best, top = _gains(spec, grades, grades[-1]).max(), grades[-1] + (0 if spec.part.wants_max_rel else 3)
    for grade in np.setdiff1d(np.arange(1, min(top, 64) + 1), grades):
        try:
            found = _gains(spec, np.array([grade]), grades[-1]).max()
        except CannotTell:
            continue
        if found > best * (1 + 1e-9):
            one, other = told_apart(found, best)
            return -1, f"Grade {grade:g}, which is not in known_grades, has gain {one}, and the best of these {other}"
    return None


def _gains(spec: Spec, grades: Floats, max_rel: float) -> Floats:
    more = {"max_rel": max_rel} if spec.part.wants_max_rel else {}
    try:
        found = spec(grades, **more)
    except CWLAError as error:
        raise CannotTell from error
    return np.broadcast_to(checked_numbers(spec, found, grades.shape), grades.shape)


#: Check of each fact. ``not_in_products``, ``gains_up_to_1`` and ``less_is_better`` state what is wanted, so they
#: cannot be refuted.
_TRIALS: dict[str, dict[str, Callable[[Spec, Lists], Difference | None]]] = {
    "continuation": {
        "gives_survival": continuation_trials.gives_survival,
        "last_rank": continuation_trials.last_rank,
        "jump_rank": continuation_trials.jump_rank,
        "constant_beyond_list": continuation_trials.constant_beyond_list,
        "ignores_zero_gain": continuation_trials.ignores_zero_gain,
        "items_between": continuation_trials.items_between,
        "vanishes": continuation_trials.goes_to_zero,
        "eventually_leaves": continuation_trials.goes_to_zero,
        "items_beyond": continuation_trials.items_beyond,
    },
    "aggregation": {
        "linear_in_gain": aggregation_trials.linear_in_gain,
        "affine_beyond_list": aggregation_trials.affine_beyond_list,
        "monotone_in_gain": aggregation_trials.monotone_in_gain,
        "constant_without_gain": aggregation_trials.constant_without_gain,
        "credit_terms": aggregation_trials.credit_terms,
    },
    "gain": {"known_grades": _known_grades},
    "effort": {"unit_effort": _unit_effort, "constant_from": _constant_from},
}
