"""Checks of the facts that users state about their functions, on short random lists, before the first use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.columns import Array, Floats
from ..errors import BadParameter, CWLAError, RefutedFact, warn
from .introspection import SUMS, on_ranks, reads
from .language import Part, Spec, checked_numbers
from .view import Documents, View, before

ROWS, RANKS = 8, 7
FAR = np.array([[1, 2, 3, 5, 12, 40, 130, 1e3, 9_973, 120_011, 1e6]])  # ranks after a list
RUN = np.arange(1.0, 1025)[None, :]
DEEPEST = 2.0**53  # largest rank that floats represent exactly
#: Row of the list for which a fact fails, and a text that says what differs.
Difference = tuple[int, str]


@dataclass(frozen=True)
class RandomLists:
    """Random rankings.

    Attributes
    ----------
    r, grade : ndarray, shape (n_rows, n_ranks)
        Gains and grades.
    e : ndarray, shape (n_rows, n_ranks), optional
        Efforts; None for unit effort.
    unseen : float
        Effort of unseen items.
    missing : ndarray, shape (n_rows, 1)
        Grade of one document that was not retrieved.
    """

    r: Floats
    grade: Array
    e: Floats | None
    unseen: float
    missing: Array

    @property
    def best(self) -> float:
        """Gain of the highest grade."""
        return 3.0 if self.r.max() > 1 else 1.0

    def view(self, far: float = 0, background: bool = False) -> View:
        """Return the view of the lists.

        Parameters
        ----------
        far : float, default=0
            Rank of one more column, if it is after the last rank.
        background : bool, default=False
            Whether unseen items have the best gain instead of 0.
        """
        i = np.arange(1.0, RANKS + 1)[None, :]
        r, grade, e, spent = self.r, self.grade, self.e, None
        if far > RANKS:
            i = np.append(i, [[far]], axis=1)
            r, grade = (np.pad(values, ((0, 0), (0, 1))) for values in (r, grade))
            if e is not None:
                spent = np.append(before(np.cumsum(e, axis=1)), e.sum(axis=1, keepdims=True), axis=1)
                spent[:, -1] += self.unseen * (far - RANKS - 1)
                e = np.append(e, np.full((ROWS, 1), self.unseen), axis=1)
        more = (self.best, 3.0) if background else (0.0, 0.0)
        view = View(i, r, grade, self.total, e, self.unseen, *more, E_before=spent)
        view.spend = lambda: np.linspace(1.5, 4, ROWS)[:, None]
        return view

    def total(self, rel: float | None) -> Floats:
        """Return the total gain of each row, or the number of documents with at least the grade ``rel``."""
        if rel is None:
            gain: Floats = self.r.sum(axis=1, keepdims=True) + self.missing * self.best / 3
            return gain
        number: Floats = (self.grade >= rel).sum(axis=1, keepdims=True) + (self.missing >= rel)
        return number

    def text(self, row: int) -> str:
        """Return the gains and efforts of a row as text, for errors."""
        gains = f"gains {written_list(self.r[row])}"
        return gains if self.e is None else f"{gains}, efforts {written_list(self.e[row])}, {self.unseen:g} if unseen"


@lru_cache(maxsize=2)
def random_lists(signed: bool = False) -> tuple[RandomLists, ...]:
    """Return lists with grade/3 as gain at unit effort, with any gains up to 1, and with the grade as gain.

    With `signed`, the same lists follow with some gains negative.
    """
    rng = np.random.default_rng(2022)
    made = []
    for number, (short, long) in enumerate([(1, 1), (0.2, 3), (2, 60)]):
        shape = (ROWS, RANKS)
        grade = rng.integers(1, 4, shape) * (rng.random(shape) < 0.5)
        grade[0], grade[1] = 0, rng.integers(1, 4, RANKS)
        gain = [grade / 3, np.where(grade > 0, rng.uniform(0.05, 1, shape).round(2), 0.0), grade.astype(float)][number]
        missing = rng.integers(-2, 4, (ROWS, 1)).clip(0)
        missing[0] = 0
        e = rng.uniform(short, long, shape).round(1) if number else None
        made.append(RandomLists(gain, grade, e, float([1, 0.7, 20][number]), missing))
    harm = np.random.default_rng(1).random((ROWS, RANKS)) < 0.4
    return (*made, *(replace(lists, r=np.where(harm, -lists.r, lists.r)) for lists in made if signed))


class CannotTell(Exception):
    """The function raises an error for this list, so that the list neither confirms nor refutes a fact."""


def values_of(spec: Spec, view: View) -> Floats:
    """Return the values of a continuation or aggregation at each rank of a view."""
    try:
        values = np.broadcast_to(on_ranks(spec, view, ROWS), (ROWS, view.i.shape[-1]))
    except ValueError as error:  # also every CWLAError
        raise CannotTell from error
    if spec.part.kind == "continuation" and not (values.min() >= 0 and values.max() <= 1):
        raise CannotTell  # some continuations do not accept gains above 1, for example
    return values


def given_by(spec: Spec, fact: str) -> Any:
    """Return the result of a fact that is a function."""
    try:
        return spec.fact(fact)()
    except CWLAError as error:
        raise CannotTell from error
    except Exception as error:
        raise BadParameter(f"{spec.keyword}: {fact}= of its decorator fails: {error}.") from error


def unlike(
    found: Floats, wanted: Floats | float, relative: float = 1e-9, absolute: Floats | float = 1e-12
) -> NDArray[np.bool_]:
    """Return where two arrays differ by more than rounding; elements that are not finite never differ."""
    size = np.maximum(np.abs(found), np.abs(wanted))
    return np.isfinite(size) & (np.abs(found - wanted) > absolute + relative * size)


def written_list(numbers: Floats) -> str:
    """Return numbers as text, with three digits."""
    return " ".join(f"{number:.3g}" for number in numbers)


def told_apart(first: float, second: float) -> tuple[str, str]:
    """Return two numbers as text, with enough digits to differ."""
    one, other = f"{first:.6g}", f"{second:.6g}"
    return (one, other) if one != other else (repr(float(first)), repr(float(second)))


def differing(
    wrong: NDArray[np.bool_], found: Floats, wanted: Floats | float, ranks: Floats, says: str
) -> Iterator[Difference]:
    """Yield the first difference, if there is one.

    Parameters
    ----------
    wrong : ndarray of bool, shape (n_rows, n_ranks)
        Whether a value differs from the value that the fact implies.
    found, wanted : ndarray or float
        These two values, which broadcast to the shape of `wrong`.
    ranks : ndarray, shape (n_ranks,)
        Ranks of the columns.
    says : str
        Text of the difference, with the fields ``{rank}``, ``{found}`` and ``{wanted}``.
    """
    for row, column in np.argwhere(wrong)[:1].tolist():
        values = (float(np.broadcast_to(value, wrong.shape)[row, column]) for value in (found, wanted))
        one, other = told_apart(*values)
        yield row, says.format(rank=f"{ranks[column]:,.0f}", found=one, wanted=other)


def _last_rank(spec: Spec) -> float:
    """Return the last rank that a continuation states, or 0."""
    rank = given_by(spec, "last_rank") if spec.fact("last_rank") else None
    if rank is None:
        return 0
    if not isinstance(rank, int | float | np.integer | np.floating) or not rank >= 0 or rank % 1:
        raise BadParameter(
            f"{spec.keyword}: last_rank= of its decorator gives {rank!r:.80}, and must give a rank, or None."
        )
    return float(min(rank, DEEPEST))


@lru_cache(maxsize=1024)
def warn_if_nobody_leaves(spec: Spec) -> None:
    """Warn of a continuation that is 1 at every rank for all gains, so that no user ever leaves."""
    far = np.append(FAR, [[1e12]], axis=1)
    for lists in random_lists():
        for background in (False, True):
            view = lists.view(background=background)
            try:
                with np.errstate(all="ignore"):
                    found = values_of(spec, view), values_of(spec, view.beyond(far))
            except CannotTell:
                return
            if min(values.min() for values in found) < 1:
                return
    warn(
        f"{spec.keyword} is 1 at every rank, for all gains, so that no user ever leaves and the score is 0: give C a"
        " k, a last rank, or end='stop', or a rank as end=."
    )


def _deep(spec: Spec, lists: RandomLists, background: bool = False) -> View:
    """Return the view of the lists, with one more column at the last rank that the continuation states."""
    return lists.view(_last_rank(spec), background)


def _goes_on(spec: Spec, view: View, m: Floats) -> Floats:
    """Return C at the m-th ranks after the list; NaN where no user is left."""
    if not spec.fact("gives_survival"):
        return values_of(spec, view.beyond(m))
    V, later = (values_of(spec, view.beyond(ranks)) for ranks in (m, m + 1))
    return np.where(V > 1e-280, later / np.maximum(V, 1e-280), np.nan)


def _on_list(spec: Spec, view: View) -> tuple[Floats, Floats]:
    """Return C at the ranks of the list, and V at these ranks and the next one."""
    if not spec.fact("gives_survival"):
        C = values_of(spec, view)
        return C, np.concatenate([np.ones((ROWS, 1)), np.cumprod(C, axis=1)], axis=1)
    V = np.concatenate([values_of(spec, view), values_of(spec, view.beyond([[1.0]]))], axis=1)
    return np.where(V[:, :-1] > 0, V[:, 1:] / np.where(V[:, :-1] > 0, V[:, :-1], 1), np.nan), V


def constant_beyond_list(spec: Spec, lists: RandomLists) -> Iterator[Difference]:
    """Yield a difference between values of C after the list, if there is one."""
    for background in (False, True)[: 1 if reads(spec) & SUMS else 2]:
        view = _deep(spec, lists, background)
        C, ranks = _goes_on(spec, view, FAR), view.i[0, -1] + FAR[0]
        gain = f", where every item gains {lists.best:g}," if background else ""
        says = f"beyond the list{gain} C({ranks[0]:,.0f}) is {{wanted}}, and C({{rank}}) is {{found}}"
        yield from differing(unlike(C, C[:, :1], 1e-8, 1e-9), C, C[:, :1], ranks, says)


def ignores_zero_gain(spec: Spec, lists: RandomLists) -> Iterator[Difference]:
    """Yield an item without gain at which C is not 1, if there is one."""
    view = lists.view()
    C, V = _on_list(spec, view)
    seen = np.append(V[:, :-1], np.repeat(V[:, -1:], FAR.shape[1], axis=1), axis=1) > 1e-12
    nothing = np.pad(lists.r, ((0, 0), (0, FAR.shape[1]))) == 0
    C = np.append(C, _goes_on(spec, view, FAR), axis=1)
    says = "C({rank}) is {found} at an item without gain, and must be {wanted}"
    yield from differing(nothing & seen & unlike(C, 1.0, absolute=1e-9), C, 1.0, _ranks_and_far(view), says)


def goes_to_zero(spec: Spec, lists: RandomLists) -> Iterator[Difference]:
    """Yield a list for which V does not go to 0, if there is one.

    V goes to a positive limit if 1 − C falls much faster than 1/i.
    """
    view = _deep(spec, lists)
    if spec.fact("gives_survival"):
        far, farthest = (values_of(spec, view.beyond([[m]])) for m in (1e3, 1e307))
        says = "V({rank}) is {wanted}, and V at 1e307 {found}"
        yield from differing((far > 1e-9) & (farthest > 0.5 * far), farthest, far, view.i[0, -1:] + 1e3, says)
        return
    near, late = (-np.log(np.minimum(values_of(spec, view.beyond(m)), 1)) for m in (RUN, 1e6 + RUN[:, :128] - 1))
    gone = _on_list(spec, view)[1][:, -1:] * np.exp(-near.sum(axis=1, keepdims=True)) <= 1e-12
    early, late = (m * loss.mean(axis=1, keepdims=True) for m, loss in ((1e3, near[:, -128:]), (1e6, late)))
    for row in np.flatnonzero(~gone & (late <= 0.2 * early))[:1].tolist():
        C = 1 - np.append(early[row] / 1e3, late[row] / 1e6)
        yield row, f"about the rank 10^3 C is {C[0]:.12g}, about 10^6 {C[1]:.12g}, and so some users never leave"


def last_rank(spec: Spec, lists: RandomLists) -> Iterator[Difference]:
    """Yield a list for which V is not 0 after the last rank, if there is one."""
    last = _last_rank(spec)
    if not last:
        return
    view = lists.view()
    if spec.fact("gives_survival"):
        deep = lists.view(last + 1)
        left = values_of(spec, deep)[:, min(int(last), deep.i.shape[1] - 1)][:, None]
    else:
        after = last - RANKS
        ranks = np.unique(np.concatenate([np.arange(1, min(after, 1024) + 1), after - np.arange(64.0)]))
        left = values_of(spec, view)[:, : int(min(last, RANKS))].prod(axis=1, keepdims=True)
        if (ranks > 0).any():
            left = left * values_of(spec, view.beyond(ranks[None, ranks > 0])).prod(axis=1, keepdims=True)
    says = f"V({{rank}}) is {{found}}, and must be {{wanted}} after the last rank, {last:,.0f}"
    yield from differing(left > 1e-12, left, 0.0, np.array([last + 1]), says)


def gives_survival(spec: Spec, lists: RandomLists) -> Iterator[Difference]:
    """Yield a rank at which V rises, if there is one."""
    view, m = lists.view(), np.append(RUN[:, :64], [[1e3, 1e6]], axis=1)
    V = np.append(values_of(spec, view), values_of(spec, view.beyond(m)), axis=1)
    before, V = V[:, :-1], V[:, 1:]
    ranks = np.append(view.i, view.i[:, -1:] + m)[1:]
    says = "V({rank}) is {found}, and at the rank before it is {wanted}; V never rises"
    yield from differing(before * (1 + 1e-9) + 1e-12 < V, V, before, ranks, says)


def _ranks_and_far(view: View) -> Floats:
    """Return ranks on the list and after it."""
    return np.append(view.i, view.i[:, -1:] + FAR)


def _here_and_beyond(spec: Spec, view: View) -> Floats:
    """Return A at ranks on the list and after it."""
    return np.append(values_of(spec, view), values_of(spec, view.beyond(FAR)), axis=1)


def linear_in_gain(spec: Spec, lists: RandomLists) -> Iterator[Difference]:
    """Yield gains for which A of a linear combination is not the combination of the values of A, if there are any."""
    rng = np.random.default_rng(1)
    others = replace(lists, r=np.where(lists.r > 0, rng.uniform(0, lists.best, lists.r.shape).round(2), 0.0))
    mixed = replace(lists, r=0.5 * lists.r + 0.3 * others.r)
    x, y, both = (_here_and_beyond(spec, one.view()) for one in (lists, others, mixed))
    wanted = 0.5 * x + 0.3 * y
    says = "A({rank}) of 0.5·x + 0.3·y is {found}, and 0.5·A(x) + 0.3·A(y) is {wanted}"
    wrong, ranks = unlike(both, wanted, absolute=1e-9), _ranks_and_far(lists.view())
    for row, text in differing(wrong, both, wanted, ranks, says):
        yield row, f"with these gains x and the gains y = {written_list(others.r[row])}, {text}"


def monotone_in_gain(spec: Spec, lists: RandomLists) -> Iterator[Difference]:
    """Yield a list for which A falls when a gain rises, if there is one."""
    for lower, higher, item in _rises(lists):
        try:
            low, high = (_here_and_beyond(spec, view) for view in (lower, higher))
        except CannotTell:
            continue
        says = "A({rank}) is {wanted}, and falls to {found} when the gain "
        for row, text in differing(unlike(low, high) & (high < low), high, low, _ranks_and_far(lower), says):
            what = "of unseen items" if item is None else f"of item {item + 1}, to {higher.r[row, item]:.3g},"
            yield row, f"{text}{what} rises"


def _rises(lists: RandomLists) -> Iterator[tuple[View, View, int | None]]:
    """Yield views before and after a gain rises, of one item or of all unseen items; the total gain stays the same."""
    total = lists.total(None) + RANKS * lists.best

    def seen(lists: RandomLists, background: bool = False) -> View:
        view = lists.view(background=background)
        view.totals = lambda rel: total
        return view

    share = np.random.default_rng(1).uniform(0.05, 1, lists.r.shape)
    for j in range(RANKS):
        r, grade = lists.r.copy(), lists.grade.copy()
        r[:, j] += (share * (lists.best - r))[:, j]
        grade[:, j] = np.maximum(grade, np.ceil(3 * r / lists.best))[:, j]
        yield seen(lists), seen(replace(lists, r=r, grade=grade)), j
    yield seen(lists), seen(lists, background=True), None


def check_facts(spec: Spec, signed: bool = False) -> None:
    """Check the facts that users state about a function and the functions among its parameters.

    Each function is checked once per values of its parameters; with `signed`, also for negative gains.

    Raises
    ------
    RefutedFact
        If a fact does not hold for a list; the error shows the list.
    """
    for _, value in spec.values:
        if isinstance(value, Spec) and not value.built_in:
            check_facts(value, signed)
    if not spec.part.built_in and (says := _objection(spec.part, spec, signed)):
        raise RefutedFact(says)


def holds(spec: Spec, fact: str, signed: bool = False) -> bool:
    """Return whether a fact is stated and holds, with `signed` also for negative gains.

    A fact of a built-in function may not hold if one of its parameters is a user's function.
    """
    return bool(spec.fact(fact)) and (spec.built_in or not refutation(spec.part, spec, fact, signed))


@lru_cache(maxsize=1024)
def _objection(part: Part, spec: Spec, signed: bool) -> str:
    """Return the message about the first fact that does not hold, or an empty text."""
    for fact in _TRIALS.get(part.kind, ()):
        if says := refutation(part, spec, fact, signed):
            return (
                f"{spec.keyword}: its decorator states {fact}, which does not hold. {says}"
                f" Correct the function, or leave out {fact}=."
            )
    return ""


@lru_cache(maxsize=1024)
def refutation(part: Part, spec: Spec, fact: str, signed: bool = False) -> str:
    """Return a text that refutes a fact, or an empty text if the fact is not stated or not refuted.

    Parameters
    ----------
    part : Part
        Part of `spec`; it is a key of the cache, because a function that is decorated again may have other facts.
    spec : Spec
        Function with parameters.
    fact : str
        Name of the fact.
    signed : bool, default=False
        Whether gains may be negative.
    """
    if not spec.fact(fact):
        return ""
    trial = _TRIALS[part.kind][fact]
    with np.errstate(all="ignore"):
        for lists in random_lists(signed):
            try:
                different = next(trial(spec, lists), None)
            except CannotTell:
                continue
            if different:
                row, says = different
                return f"For {lists.text(row)}: {says}." if row >= 0 else f"{says}."
    return ""


# ---- efforts and gains


def _constant_from(spec: Spec, lists: RandomLists) -> Iterator[Difference]:
    first = given_by(spec, "constant_from")
    if first is None:
        return
    if isinstance(first, bool) or not isinstance(first, int | float) or not 1 <= first < 1 << 53:
        raise BadParameter(
            f"{spec.keyword}: constant_from= of its decorator gives {first!r:.80}, and must give a rank from 1."
        )
    rank = np.ceil(first) + np.array([0.0, 1, 2, 9, 100, 12345])
    for grade in (0.0, 1.0):
        same = np.ones(rank.shape)
        found = spec(Documents(grade * same, lambda: 300 * same, lambda: 30 * same, rank))  # noqa: B023
        e = np.broadcast_to(checked_numbers(spec, found, rank.shape), rank.shape)
        says = f"A document at rank {{rank}} costs {{found}}, and {{wanted}} at rank {rank[0]:g}: they must be equal"
        for _, text in differing((e != e[0])[None], e, e[0], rank, says):
            yield -1, text


def _known_grades(spec: Spec, lists: RandomLists) -> Iterator[Difference]:
    known = given_by(spec, "known_grades")
    if known is None:
        return
    try:
        grades = np.unique(np.asarray(known, float))
    except (TypeError, ValueError):
        grades = np.zeros(1)
    if not grades.size:
        return
    if not (np.isfinite(grades).all() and (grades[0] >= 0 if spec.fact("signed") else grades[0] > 0)):
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
            yield -1, f"Grade {grade:g}, which is not in known_grades, has gain {one}, and the best of these {other}"


def _gains(spec: Spec, grades: Floats, max_rel: float) -> Floats:
    more = {"max_rel": max_rel} if spec.part.wants_max_rel else {}
    try:
        found = spec(grades, **more)
    except CWLAError as error:
        raise CannotTell from error
    return np.broadcast_to(checked_numbers(spec, found, grades.shape), grades.shape)


#: Check of each fact. ``less_is_better`` states what is wanted, so it cannot be refuted.
_TRIALS: dict[str, dict[str, Callable[[Spec, RandomLists], Iterator[Difference]]]] = {
    "continuation": {
        "gives_survival": gives_survival,
        "last_rank": last_rank,
        "constant_beyond_list": constant_beyond_list,
        "ignores_zero_gain": ignores_zero_gain,
        "eventually_leaves": goes_to_zero,
    },
    "aggregation": {"linear_in_gain": linear_in_gain, "monotone_in_gain": monotone_in_gain},
    "gain": {"known_grades": _known_grades},
    "effort": {"constant_from": _constant_from},
}
