"""What a grade is worth: one function a gain. Each maps grades above 0 to gains; all other documents gain 0."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from ..data.rankings import Array
from ..errors import BadJudgments, BadParameter
from .language import Grade, Grades, NotNegative, OneOf, Probabilities, Probability, decorator, written

gain = decorator(
    "gain",
    """Makes a function of grades a gain; a second input named ``max_rel`` gets the measure's highest grade.

    It is called with an array of grades, all above 0, and returns as many gains. One fact is optional:

    ``known_grades=lambda …: [1, 2]``
        The grades that it knows. Where a measure gives no max_rel, the best gain is the highest gain of these.

    >>> from pyterrier_cwla import gain, score
    >>> @gain
    ... def root(grade, max_rel):
    ...     return (grade / max_rel) ** 0.5
    >>> score([4, 0, 1], C="prec(3)", A="etg", gain="root", max_rel=4)
    1.5
    """,
)


@gain
def binary(grade: ArrayLike, rel: Grade = 1) -> Array:
    """1 for every grade of at least ``rel``.

    r = [g ≥ rel]. Range [0, 1].

    Source: Moffat et al. (2022), section 2.

    >>> binary()([1, 2, 3])
    array([1., 1., 1.])
    """
    return (np.asarray(grade) >= rel).astype(float)


@gain
def linear(grade: ArrayLike, max_rel: float, min_rel: NotNegative = 0) -> Array:
    """In proportion to the grade.

    r = (g − min_rel) / (max_rel − min_rel), and 0 below min_rel. Range [0, 1].

    Source: Moffat et al. (2022), section 4.

    >>> linear()([1, 2, 3], max_rel=4)
    array([0.25, 0.5 , 0.75])
    """
    if not min_rel < max_rel:
        raise BadParameter(f"linear(min_rel={min_rel}) needs a max_rel above it, not {max_rel}.")
    return np.maximum(np.asarray(grade) - min_rel, 0) / (max_rel - min_rel)


@gain
def exponential(grade: ArrayLike, max_rel: float) -> Array:
    """The probability that a document of this grade satisfies.

    r = (2^g − 1) / 2^max_rel. Range [0, 1).

    Source: Chapelle et al. (2009), Eq. 4.

    >>> exponential()([1, 2], max_rel=2)
    array([0.25, 0.75])
    """
    if max_rel > 1000:
        raise BadParameter(f"exponential is 0 in floats for a max_rel of {max_rel}: give one of 1000 or less.")
    return (np.exp2(grade) - 1) / 2.0**max_rel


@gain
def raw(grade: ArrayLike) -> Array:
    """The grade itself, as trec_eval's nDCG has it.

    r = g. Range [0, ∞).

    Source: Järvelin and Kekäläinen (2002).

    >>> raw()([1, 2])
    array([1., 2.])
    """
    return np.asarray(grade, float)


@gain
def burges(grade: ArrayLike) -> Array:
    """Doubles with every grade, as in the nDCG of web search.

    r = 2^g − 1. Range [0, ∞).

    Source: Burges et al. (2005).

    >>> burges()([1, 2])
    array([1., 3.])
    """
    return np.exp2(grade) - 1


def _grades_of_table(gains: dict, others: str) -> list | None:
    return [grade for grade in gains if grade > 0] if others == "error" else None


@gain(known_grades=_grades_of_table)
def table(
    grade: ArrayLike, gains: Annotated[dict, Grades()], others: Annotated[str, OneOf("error", "grade")] = "error"
) -> Array:
    """As given for each grade.

    r = gains[g]. A grade that the table lacks is an error, or (others="grade") gains what it is.

    >>> table({1: 0.2, 2: 1})([2, 1])
    array([1. , 0.2])
    """
    if others == "grade":
        gains = {**{g: g for g in np.unique(grade).tolist()}, **gains}
    return looked_up(grade, gains, "gain='table(%s)'")


def looked_up(grade: ArrayLike, numbers: dict, text: str) -> Array:
    """The number of each grade.

    Parameters
    ----------
    grade : array_like
        Grades of any shape.
    numbers : dict
        Numbers by grade.
    text : str
        The parameter as a user writes it, with ``%s`` in the place of ``numbers``.

    Raises
    ------
    BadJudgments
        If a grade has no number.
    """
    grade = np.asarray(grade)
    found = np.full(grade.shape, np.nan)
    for level, number in numbers.items():
        found[grade == level] = number
    if np.isnan(found).any():
        missing = f"{grade[np.isnan(found)][0]:g}"
        more = ",".join(filter(None, [written(numbers)[1:-1], f"{missing}:…"]))
        raise BadJudgments(
            f"{text % written(numbers)} has nothing for grade {missing}; add it, as in {text % f'{{{more}}}'}."
        )
    return found


@gain(known_grades=lambda weights: list(range(1, len(weights) + 1)))
def threshold(grade: ArrayLike, *weights: Probability) -> Array:
    """The probability that a user takes a document of this grade for relevant.

    r = Σ_{s≤g} weights[s−1], weights[s−1] the share of users for whom relevance begins at grade s. Range [0, 1].

    Source: Robertson, Kanoulas and Yilmaz (2010); Jiang and Allan (2016), Eq. 3.

    >>> threshold(0.4, 0.6)([1, 2])
    array([0.4, 1. ])
    """
    if sum(weights) > 1 + 1e-9:
        raise BadParameter(
            f"gain threshold{weights}: the weights sum to {sum(weights):g}, and shares of users may not."
        )
    grade, whole = np.asarray(grade), np.arange(1, len(weights) + 1)
    missing = grade[~np.isin(grade, whole)]
    if len(missing):
        given = [f"{weight:g}" for weight in weights]
        more = ",".join([*given, *["…"] * int(missing[0] - len(weights))])
        way_out = f"add it, one weight for each grade from 1, as in gain='threshold({more})'; the sum is 1 at most."
        if missing[0] % 1:
            way_out = "it takes whole grades only, and gain='table({…})' takes others."
        raise BadJudgments(f"gain='threshold({','.join(given)})' has nothing for grade {missing[0]:g}; {way_out}")
    return np.cumsum(weights)[grade.astype(int) - 1]


@gain
def clicksave(grade: ArrayLike, p_click: Probability = 0.64, p_save: Probability = 0.77, rel: Grade = 1) -> Array:
    """The probability that a relevant document is clicked and then saved.

    r = P(C=1|R=1)·P(S=1|R=1) where g ≥ rel, else 0. Range [0, 1].

    Source: Smucker and Clarke (2012), Eq. 6 and Table 1.

    >>> clicksave()([1])
    array([0.4928])
    """
    return p_click * p_save * binary.function(grade, rel)


P_CLICK = {0: 0.26, 1: 0.5, 2: 0.55}
_P_SAVE = {1: 0.2, 2: 0.8}


@gain(known_grades=lambda p_click, p_save: [grade for grade in p_save if grade > 0])
def clicksave_by_grade(grade: ArrayLike, p_click: Probabilities = P_CLICK, p_save: Probabilities = _P_SAVE) -> Array:
    """The probability that a document is clicked and then saved, grade by grade.

    r = P(C=1|g)·P(S=1|g). Range [0, 1].

    Source: Jiang and Allan (2016), Table 2 and section 5.1.

    >>> clicksave_by_grade()([1, 2])
    array([0.1 , 0.44])
    """
    return looked_up(grade, p_click, "p_click=%s") * looked_up(grade, p_save, "p_save=%s")
