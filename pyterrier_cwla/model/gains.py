"""Gain functions, which map relevance grades to gains. Unjudged documents and negative grades have gain 0."""

from __future__ import annotations

import sys
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from ..data.columns import Floats
from ..errors import BadJudgments, BadParameter
from .language import Grade, Grades, NotNegative, OneOf, Part, Probabilities, Probability, decorator, written

gain = decorator(
    "gain",
    """Register a function of grades as a gain.

    Use it as ``@gain`` or with keyword arguments, ``@gain(version=1)``. The function is called with an array of
    positive grades and returns an array of gains of the same shape. Its other arguments are parameters of the gain. If
    its second argument is named ``max_rel``, it receives the highest grade of the measure.

    Parameters
    ----------
    version : str or int, optional
        Version of the function. With a version, results may be cached (``cache_dir=``). Change it whenever the results
        of the function change.
    known_grades : callable, optional
        Function of the parameters that returns the grades for which the gain is defined, as in
        ``known_grades=lambda: [1, 2]``. In a measure without ``max_rel``, the best gain is the highest gain of these
        grades.
    signed : bool, default=False
        Whether gains may be negative, for documents that harm. The function then also gets grade 0, so that documents
        judged not relevant may have a gain or harm; unjudged documents and negative grades keep gain 0.

    Returns
    -------
    Part
        The gain. A call with parameters returns the gain with these parameters, for ``gain=`` of measures.

    Raises
    ------
    BadParameter
        If a built-in gain has the same name, or if a fact is unknown or of the wrong type.

    Examples
    --------
    >>> from pyterrier_cwla import gain, score
    >>> @gain
    ... def root(grade, max_rel):
    ...     return (grade / max_rel) ** 0.5
    >>> score([4, 0, 1], C="prec(3)", A="etg", gain="root", max_rel=4)
    1.5
    """,
)


@gain(unit="gain")
def binary(grade: ArrayLike, rel: Grade = 1) -> Floats:
    """Return gain 1 for every grade of at least ``rel``, otherwise 0.

    r = [g ≥ rel]. Range [0, 1].

    Parameters
    ----------
    rel : int of at least 1, default=1
        Lowest relevant grade.

    References
    ----------
    Moffat et al. (2022), section 2.

    Examples
    --------
    >>> binary()([1, 2, 3])
    array([1., 1., 1.])
    """
    return (np.asarray(grade) >= rel).astype(float)


@gain(unit="gain")
def linear(grade: ArrayLike, max_rel: float, min_rel: NotNegative = 0) -> Floats:
    """Return gains in proportion to the grade.

    r = (g − min_rel) / (max_rel − min_rel), and 0 below min_rel. Range [0, 1].

    Parameters
    ----------
    min_rel : float of at least 0, default=0
        Highest grade without gain.

    References
    ----------
    Moffat et al. (2022), section 4.

    Examples
    --------
    >>> linear()([1, 2, 3], max_rel=4)
    array([0.25, 0.5 , 0.75])
    """
    if not min_rel < max_rel:
        raise BadParameter(f"linear(min_rel={min_rel}) needs a max_rel above it, not {max_rel}.")
    return np.maximum(np.asarray(grade) - min_rel, 0) / (max_rel - min_rel)


@gain(unit="gain")
def exponential(grade: ArrayLike, max_rel: float) -> Floats:
    """Return the probability that a document of the grade satisfies the user.

    r = (2^g − 1) / 2^max_rel. Range [0, 1).

    References
    ----------
    Chapelle et al. (2009), Eq. 4.

    Examples
    --------
    >>> exponential()([1, 2], max_rel=2)
    array([0.25, 0.75])
    """
    if max_rel > 1000:
        raise BadParameter(f"exponential rounds to gain 0 for max_rel={max_rel}: give a max_rel of at most 1000.")
    gains: Floats = (np.exp2(grade) - 1) / 2.0**max_rel
    return gains


@gain
def raw(grade: ArrayLike) -> Floats:
    """Return the grade itself, as in nDCG of trec_eval.

    r = g. Range [0, ∞).

    References
    ----------
    Järvelin and Kekäläinen (2002).

    Examples
    --------
    >>> raw()([1, 2])
    array([1., 2.])
    """
    return np.asarray(grade, float)


@gain
def burges(grade: ArrayLike) -> Floats:
    """Return gains that about double with every grade, as in nDCG for web search.

    r = 2^g − 1. Range [0, ∞).

    References
    ----------
    Burges et al. (2005).

    Examples
    --------
    >>> burges()([1, 2])
    array([1., 3.])
    """
    return np.exp2(grade) - 1


def _grades_of_table(gains: dict[float, float], others: str) -> list[float] | None:
    if others == "grade":
        return None
    return [grade for grade in gains if grade > 0]


def _is_signed(gains: dict[float, float], others: str = "error") -> bool:
    return bool(gains.get(0)) or any(gain < 0 for gain in gains.values())


@gain(known_grades=_grades_of_table, signed=_is_signed)
def table(
    grade: ArrayLike,
    gains: Annotated[dict[float, float], Grades("gains, of 0 or more for grades below 0", lowest=-sys.float_info.max)],
    others: Annotated[str, OneOf("error", "grade", "interpolate")] = "error",
) -> Floats:
    """Return the gain of each grade from a table.

    r = gains[g]. A grade that is not in the table raises an error (others="error"), has its own value as gain
    (others="grade"), or lies on the straight line between the gains of the grades next to it (others="interpolate").
    The last is for grades between the grades of the assessors, such as those predicted from clicks. Its line starts
    at gain 0 for grade 0, unless the table has a gain for grade 0. A grade above those of the table raises an error.

    Gains may be negative, for documents that harm (:doc:`/signed_gains`). In a table with a negative gain, or with a
    gain for grade 0, documents judged 0 have the gain of grade 0 (0 if the table has none). Unjudged documents and
    those of negative grades have gain 0 in all tables.

    Parameters
    ----------
    gains : dict of float
        Gain of each grade.
    others : {"error", "grade", "interpolate"}, default="error"
        Treatment of grades that are not in the table.

    Examples
    --------
    >>> table({1: 0.2, 2: 1})([2, 1])
    array([1. , 0.2])
    >>> table({1: 0.2, 2: 1}, others="interpolate")([2, 1.5, 0.5])
    array([1. , 0.6, 0.1])
    >>> table({0: -0.5, 1: 1})([1, 0])
    array([ 1. , -0.5])
    """
    if _is_signed(gains):
        gains = {0: 0, **gains}
    if others == "interpolate":
        return _interpolated(np.asarray(grade, float), {0: 0, **gains})
    if others == "grade":
        gains = {**{g: g for g in np.unique(grade).tolist()}, **gains}
    return looked_up(grade, gains, "gain='table(%s)'", "gain='table(%s,interpolate)'")


def _interpolated(grade: Floats, gains: dict[float, float]) -> Floats:
    levels = sorted(level for level in gains if level >= 0)
    if (above := grade[grade > levels[-1]]).size:
        raise BadJudgments(
            f"gain='table({written(gains)},interpolate)' has no value for grade {above[0]:g}, above its highest grade"
            f" {levels[-1]:g}; add the gain of a grade of at least {above[0]:g}."
        )
    return np.interp(grade, levels, [gains[level] for level in levels])


def looked_up(grade: ArrayLike, numbers: dict[float, float], text: str, between: str = "") -> Floats:
    """Return the number of each grade.

    Parameters
    ----------
    grade : array_like
        Grades, of any shape.
    numbers : dict of float
        Number of each grade.
    text : str
        Parameter as the user writes it, with ``%s`` in place of `numbers`; used in errors.
    between : str, optional
        The parameter, in the same form, as a user can write it for grades between those of `numbers`.

    Returns
    -------
    ndarray
        Numbers, of the shape of `grade`.

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
        way_out = f"add it, as in {text % f'{{{more}}}'}"
        if float(missing) % 1 and between and float(missing) < max(numbers, default=0):
            way_out += f", or interpolate, as in {between % written(numbers)}"
        elif float(missing) % 1:
            way_out += ", or round the grades of the judgments"
        raise BadJudgments(f"{text % written(numbers)} has no value for grade {missing}; {way_out}.")
    return found


@gain(unit="gain", known_grades=lambda weights: list(range(1, len(weights) + 1)))
def threshold(grade: ArrayLike, *weights: Probability) -> Floats:
    """Return the probability that a user considers a document of the grade relevant.

    r = Σ_{s≤g} weights[s−1], weights[s−1] the share of users whose lowest relevant grade is s. Range [0, 1].

    Parameters
    ----------
    *weights : float in [0, 1]
        Share of users for each lowest relevant grade 1, 2, …; the sum is at most 1.

    References
    ----------
    Robertson, Kanoulas and Yilmaz (2010); Jiang and Allan (2016), Eq. 3.

    Examples
    --------
    >>> threshold(0.4, 0.6)([1, 2])
    array([0.4, 1. ])
    """
    if sum(weights) > 1 + 1e-9:
        raise BadParameter(
            f"gain threshold{weights}: the weights sum to {sum(weights):g}; shares of users must sum to at most 1."
        )
    grade, whole = np.asarray(grade), np.arange(1, len(weights) + 1)
    missing = grade[~np.isin(grade, whole)]
    if len(missing):
        given = [f"{weight:g}" for weight in weights]
        more = ",".join([*given, *["…"] * int(missing[0] - len(weights))])
        way_out = f"add it, one weight for each grade from 1, as in gain='threshold({more})'; the sum is at most 1."
        if missing[0] % 1:
            way_out = "it accepts integer grades only; for other grades, use gain='table({…},interpolate)'."
        raise BadJudgments(f"gain='threshold({','.join(given)})' has no value for grade {missing[0]:g}; {way_out}")
    gains: Floats = np.cumsum(weights)[grade.astype(int) - 1]
    return gains


@gain(unit="documents saved")
def clicksave(grade: ArrayLike, p_click: Probability = 0.64, p_save: Probability = 0.77, rel: Grade = 1) -> Floats:
    """Return the probability that a relevant document is clicked and then saved.

    r = P(C=1|R=1)·P(S=1|R=1) where g ≥ rel, else 0. Range [0, 1].

    Parameters
    ----------
    p_click : float in [0, 1], default=0.64
        P(C=1|R=1), the probability of a click on the summary of a relevant document.
    p_save : float in [0, 1], default=0.77
        P(S=1|R=1), the probability that a clicked relevant document is saved.
    rel : int of at least 1, default=1
        Lowest relevant grade.

    References
    ----------
    Smucker and Clarke (2012), Eq. 6 and Table 1.

    Examples
    --------
    >>> clicksave()([1])
    array([0.4928])
    """
    relevant: Floats = binary.function(grade, rel)
    return p_click * p_save * relevant


P_CLICK: dict[float, float] = {0: 0.26, 1: 0.5, 2: 0.55}
_P_SAVE: dict[float, float] = {1: 0.2, 2: 0.8}


@gain(unit="documents saved", known_grades=lambda p_click, p_save: [grade for grade in p_save if grade > 0])
def clicksave_by_grade(grade: ArrayLike, p_click: Probabilities = P_CLICK, p_save: Probabilities = _P_SAVE) -> Floats:
    """Return the probability, by grade, that a document is clicked and then saved.

    r = P(C=1|g)·P(S=1|g). Range [0, 1].

    Parameters
    ----------
    p_click : dict of float in [0, 1], default={0: 0.26, 1: 0.5, 2: 0.55}
        P(C=1|g), the probability of a click for each grade.
    p_save : dict of float in [0, 1], default={1: 0.2, 2: 0.8}
        P(S=1|g), the probability that a clicked document is saved, for each grade.

    References
    ----------
    Jiang and Allan (2016), Table 2 and section 5.1.

    Examples
    --------
    >>> clicksave_by_grade()([1, 2])
    array([0.1 , 0.44])
    """
    return looked_up(grade, p_click, "p_click=%s") * looked_up(grade, p_save, "p_save=%s")


def given(grade: ArrayLike) -> Floats:
    """Return the numbers, which are gains."""
    return np.asarray(grade, float)


#: Gain of lists whose numbers are gains, also negative ones. Judgments have grades: it has no name in texts.
GIVEN = Part("gain", given, signed=True)()
