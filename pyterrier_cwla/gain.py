"""What a grade is worth: one function a gain. Each maps grades above 0 to gains; all other documents gain 0."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from .errors import BadJudgments, BadParameter
from .spec import Grade, Grades, NotNegative, OneOf, Probability, decorator

gain = decorator(
    "gain",
    """Makes a function of grades a gain; a second input named ``max_rel`` gets the measure's highest grade.

    It is called with an array of grades, all above 0, and returns as many gains.

    >>> from pyterrier_cwla import gain, score
    >>> @gain
    ... def root(grade, max_rel):
    ...     return (grade / max_rel) ** 0.5
    >>> score([4, 0, 1], C="prec(3)", A="etg", gain="root", max_rel=4)
    1.5
    """,
)


@gain
def binary(grade: Any, rel: Grade = 1) -> Any:
    """1 for every grade of at least ``rel``.

    r = [g ≥ rel]. Range [0, 1].

    Source: Moffat et al. (2022), section 2.

    >>> binary()([1, 2, 3])
    array([1., 1., 1.])
    """
    return (np.asarray(grade) >= rel).astype(float)


@gain
def linear(grade: Any, max_rel: float, min_rel: NotNegative = 0) -> Any:
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
def exponential(grade: Any, max_rel: float) -> Any:
    """The probability that a document of this grade satisfies.

    r = (2^g − 1) / 2^max_rel. Range [0, 1).

    Source: Chapelle et al. (2009), Eq. 4.

    >>> exponential()([1, 2], max_rel=2)
    array([0.25, 0.75])
    """
    return (np.exp2(grade) - 1) / 2.0**max_rel


@gain
def raw(grade: Any) -> Any:
    """The grade itself, as trec_eval's nDCG has it.

    r = g. Range [0, ∞).

    Source: Järvelin and Kekäläinen (2002).

    >>> raw()([1, 2])
    array([1., 2.])
    """
    return np.asarray(grade, float)


@gain
def burges(grade: Any) -> Any:
    """Doubles with every grade, as in the nDCG of web search.

    r = 2^g − 1. Range [0, ∞).

    Source: Burges et al. (2005).

    >>> burges()([1, 2])
    array([1., 3.])
    """
    return np.exp2(grade) - 1


@gain
def table(
    grade: Any, gains: Annotated[dict, Grades()], others: Annotated[str, OneOf("error", "grade")] = "error"
) -> Any:
    """As given for each grade.

    r = gains[g]. A grade that the table lacks is an error, or (others="grade") gains what it is.

    >>> table({1: 0.2, 2: 1})([2, 1])
    array([1. , 0.2])
    """
    grade = np.asarray(grade)
    missing = [g for g in np.unique(grade).tolist() if g not in gains]
    if others == "grade":
        gains = {**{g: g for g in missing}, **gains}
    elif missing:
        raise BadJudgments(f"gain table({gains}) has no gain for grade {missing[0]:g}; add it to the table.")
    levels = np.array(sorted(gains), float)
    return np.array([gains[g] for g in sorted(gains)], float)[np.searchsorted(levels, grade)]


@gain
def clicksave(grade: Any, p_click: Probability = 0.64, p_save: Probability = 0.77, rel: Grade = 1) -> Any:
    """The probability that a relevant document is clicked and then saved.

    r = P(C=1|R=1)·P(S=1|R=1) where g ≥ rel, else 0. Range [0, 1].

    Source: Smucker and Clarke (2012), Eq. 6 and Table 1.

    >>> clicksave()([1])
    array([0.4928])
    """
    return p_click * p_save * binary.function(grade, rel)
