"""Short random rankings for checks of facts about users' functions, and values of the functions on them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.arrays import Array, Floats
from ..errors import BadParameter, CWLAError
from .introspection import on_ranks
from .language import Spec
from .view import View, before

ROWS, RANKS = 8, 7
FAR = np.array([[1, 2, 3, 5, 12, 40, 130, 1e3, 9_973, 120_011, 1e6]])  # ranks after a list
RUN = np.arange(1.0, 1025)[None, :]
DEEPEST = 2.0**53  # largest rank that floats represent exactly
#: Row of the list for which a fact fails, and a text that says what differs.
Difference = tuple[int, str]


@dataclass(frozen=True)
class Lists:
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


@lru_cache(maxsize=1)
def random_lists() -> tuple[Lists, ...]:
    """Return lists with grade/3 as gain at unit effort, with any gains up to 1, and with the grade as gain."""
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
        made.append(Lists(gain, grade, e, float([1, 0.7, 20][number]), missing))
    return tuple(made)


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


def given_by(spec: Spec, fact: str, *inputs: Any) -> Any:
    """Return the result of a fact that is a function."""
    try:
        return spec.fact(fact)(*inputs)
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


def first_place(wrong: NDArray[np.bool_]) -> tuple[int, int] | None:
    """Return row and column of the first true element, or None."""
    places = np.argwhere(wrong)
    return (int(places[0, 0]), int(places[0, 1])) if len(places) else None


def rank_after(view: View, m: Floats, column: int) -> str:
    """Return the rank of a column of distances `m` from the end of the list, as text."""
    return f"{view.i[0, -1] + m[0, column]:,.0f}"


def written_list(numbers: Floats) -> str:
    """Return numbers as text, with three digits."""
    return " ".join(f"{number:.3g}" for number in numbers)


def told_apart(first: float, second: float) -> tuple[str, str]:
    """Return two numbers as text, with enough digits to differ."""
    one, other = f"{first:.6g}", f"{second:.6g}"
    return (one, other) if one != other else (repr(float(first)), repr(float(second)))
