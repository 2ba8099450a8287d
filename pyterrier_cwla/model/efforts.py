"""Effort functions: the cost of examining a document, from its grade, length, known cost and rank."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from ..errors import BadParameter
from .gains import P_CLICK, looked_up
from .introspection import effort_reads
from .language import WORD, Grade, Grades, Named, NotNegative, Positive, Probabilities, Probability, Spec, decorator
from .view import Documents, UnknownEffort, Values

effort = decorator(
    "effort",
    """Register a function of documents as an effort.

    Use it as ``@effort`` or with keyword arguments, ``@effort(version=1)``. The function is called with
    ``documents``, which has the arrays ``documents.grade`` (0 for unjudged documents), ``documents.words``,
    ``documents.cost`` (known costs) and ``documents.rank`` (from 1, of a shape that broadcasts). It returns the
    effort of each document, at least 0. Its other arguments are parameters of the effort. If the function does not read
    ``words``, document lengths are not needed, and the same holds for ``cost``. Without both, unseen documents have
    the effort of grade 0, at their rank.

    Parameters
    ----------
    version : str or int, optional
        Version of the function. With a version, results may be cached (``cache_dir=``). Change it whenever the results
        of the function change.
    constant_from : callable, optional
        Function of the parameters that returns a rank from which efforts no longer depend on ranks. Without it, a
        function that reads ``rank`` does not give the effort of unseen documents far beyond the list; measures then
        need ``unseen=`` where this effort matters.

    Returns
    -------
    Part
        The effort. A call with parameters returns the effort with these parameters, for ``effort=`` of measures.

    Raises
    ------
    BadParameter
        If a built-in effort has the same name, or if a fact is unknown or of the wrong type.

    Examples
    --------
    >>> from pyterrier_cwla import effort, score
    >>> @effort
    ... def twice_if_relevant(documents):
    ...     return 1 + (documents.grade > 0)
    >>> score([1, 0], C="prec(2)", A="avg", effort="twice_if_relevant", end="stop")
    0.3333333333333333
    """,
)


@effort(unit_effort=True)
def unit(documents: Documents) -> Values:
    """Return effort 1 for every document.

    e = 1. Unit: documents.

    References
    ----------
    Moffat et al. (2022), section 2.
    """
    return 1.0


@effort
def time(
    documents: Documents,
    summary_seconds: NotNegative = 4.4,
    seconds_per_word: NotNegative = 0.018,
    seconds_per_document: NotNegative = 7.8,
    p_click_relevant: Probability = 0.64,
    p_click_nonrelevant: Probability = 0.39,
    rel: Grade = 1,
) -> Values:
    """Return the expected time to read the summary and, after a click, the document.

    e = T_S + P(C=1|g)·(a·words + b). Unit: seconds.

    Parameters
    ----------
    summary_seconds : float of at least 0, default=4.4
        T_S, the time to read a summary, in seconds.
    seconds_per_word : float of at least 0, default=0.018
        a, the time to read one word, in seconds. With 0, document lengths are not needed.
    seconds_per_document : float of at least 0, default=7.8
        b, the time per document in addition to the time for its words, in seconds.
    p_click_relevant : float in [0, 1], default=0.64
        P(C=1|R=1), the probability of a click on the summary of a relevant document.
    p_click_nonrelevant : float in [0, 1], default=0.39
        P(C=1|R=0), the probability of a click on the summary of a nonrelevant document.
    rel : int of at least 1, default=1
        Lowest relevant grade.

    References
    ----------
    Smucker and Clarke (2012), Eq. 4 and Table 1.
    """
    click = np.where(documents.grade >= rel, p_click_relevant, p_click_nonrelevant)
    reading = seconds_per_word * documents.words if seconds_per_word else 0.0  # without it, lengths are not needed
    return summary_seconds + click * (reading + seconds_per_document)


_SECONDS: dict[float, float] = {0: 20.6, 1: 37.1, 2: 60.3}


@effort
def grade_time(
    documents: Documents,
    summary_seconds: NotNegative = 4.4,
    p_click: Probabilities = P_CLICK,
    seconds: Annotated[dict[float, float], Grades("seconds")] = _SECONDS,
) -> Values:
    """Return the expected time to read the summary and, after a click, a document of the grade.

    e = T_S + P(C=1|g)·seconds[g]. Unit: seconds.

    Parameters
    ----------
    summary_seconds : float of at least 0, default=4.4
        T_S, the time to read a summary, in seconds.
    p_click : dict of float in [0, 1], default={0: 0.26, 1: 0.5, 2: 0.55}
        P(C=1|g), the probability of a click for each grade.
    seconds : dict of float, default={0: 20.6, 1: 37.1, 2: 60.3}
        Time to read a clicked document of each grade, in seconds.

    References
    ----------
    Jiang and Allan (2016), Eq. 6 and Table 2.

    Examples
    --------
    >>> score([1], C="prec(1)", A="effort", effort="grade_time", end="stop")
    22.950000000000003
    """
    return summary_seconds + looked_up(documents.grade, p_click, "p_click=%s") * looked_up(
        documents.grade, seconds, "seconds=%s"
    )


@effort
def by_grade(documents: Documents, efforts: Annotated[dict[float, float], Grades("efforts")]) -> Values:
    """Return the effort of each grade from a table; grade 0 includes unjudged documents.

    e = efforts[g]. Unit: as given.

    Parameters
    ----------
    efforts : dict of float
        Effort of each grade, at least 0.

    References
    ----------
    Jiang and Allan (2016), section 3.1.

    Examples
    --------
    >>> score([1, 0], C="prec(2)", A="erg", effort="by_grade({0: 0.25, 1: 1})", end="stop")
    0.8
    """
    return looked_up(documents.grade, efforts, "effort='by_grade(%s)'")


@effort
def ratio(documents: Documents, times: Positive, rel: Grade = 1) -> Values:
    """Return effort 1 for relevant documents and a constant fraction of it for all others.

    e = 1 where g ≥ rel, else 1/times. Unit: relevant documents.

    Parameters
    ----------
    times : float above 0
        Effort of a relevant document, divided by the effort of another document.
    rel : int of at least 1, default=1
        Lowest relevant grade.

    References
    ----------
    Jiang and Allan (2016), section 3.1.

    Examples
    --------
    >>> score([0, 0, 1, 1, 0], C="prec(5)", A="erg", effort="ratio(4)", end="stop")
    0.7272727272727273
    """
    return np.where(documents.grade >= rel, 1.0, 1 / times)


@effort
def reading(
    documents: Documents,
    summary_words: NotNegative = 0,
    share: Probability = 1,
    p_click_relevant: Probability = 1,
    p_click_nonrelevant: Probability = 1,
    rel: Grade = 1,
) -> Values:
    """Return the words of the summary and, after a click, of a share of the document.

    e = summary_words + P(C=1|g)·share·words. Unit: words.

    Parameters
    ----------
    summary_words : float of at least 0, default=0
        Number of words in a summary.
    share : float in [0, 1], default=1
        Share of a clicked document that is read.
    p_click_relevant, p_click_nonrelevant : float in [0, 1], default=1
        P(C=1|R=1) and P(C=1|R=0), the probabilities of a click on the summary.
    rel : int of at least 1, default=1
        Lowest relevant grade.

    References
    ----------
    Sakai and Dou (2013).
    """
    click = np.where(documents.grade >= rel, p_click_relevant, p_click_nonrelevant)
    return summary_words + click * share * documents.words


@effort
def cost(documents: Documents, unit: Annotated[str, WORD] = "cost") -> Values:
    """Return the known cost of each document, from ``costs=`` of the measure or the run's column ``doc_cost``.

    e = cost. Unit: as given.

    Parameters
    ----------
    unit : str, default="cost"
        Unit of the costs, a word such as tokens, money or joules. It labels results and changes no number.

    References
    ----------
    Azzopardi, Thomas and Moffat (2019).

    Examples
    --------
    >>> from pyterrier_cwla import CWLA, evaluate
    >>> rate = CWLA(C="prec(2)", A="erg", gain="raw", effort="cost(tokens)", end="stop", costs={"a": 120, "b": 80})
    >>> evaluate({"q": {"b": 1}}, {"q": {"a": 2.0, "b": 1.0}}, [rate]).iloc[0, 0]
    np.float64(0.005)
    """
    return documents.cost


@effort
def seconds(documents: Documents) -> Values:
    """Return the known cost of each document in seconds, as ``cost(seconds)`` does.

    e = seconds. Unit: seconds.

    References
    ----------
    Azzopardi, Thomas and Moffat (2019).
    """
    return documents.cost


@effort(constant_from=lambda costs: max(len(costs), 1))
def by_rank(documents: Documents, *costs: NotNegative) -> Values:
    """Return the cost of each rank; all later ranks have the last cost.

    e(i) = c_i for i ≤ m, and c_m for i > m, where m is the number of costs. Unit: as given.

    Parameters
    ----------
    *costs : float of at least 0
        Costs c_1, …, c_m of the first ranks.

    References
    ----------
    Azzopardi, Thomas and Moffat (2019).

    Examples
    --------
    >>> score([1, 0, 1], C="prec(3)", A="erg", effort="by_rank(3, 1)", end="stop")
    0.4
    """
    if not costs:
        raise BadParameter("effort='by_rank' needs the cost of at least one rank, such as by_rank(10, 5).")
    e: Values = np.asarray(costs, float)[np.minimum(np.asarray(documents.rank, int), len(costs)) - 1]
    return e


def _sum_of_facts(name: str, first: Spec, second: Spec) -> Any:
    """Return the value of a fact for the sum of two efforts, of which only ``constant_from`` can be known."""

    def later() -> float | None:
        ranks: list[float] = [1]
        for each in (first, second):
            if "rank" in effort_reads(each):
                stated = each.fact("constant_from")
                rank = stated() if stated else None
                if rank is None:
                    return None
                ranks.append(rank)
        return max(ranks)

    return later if name == "constant_from" else None


@effort(of_parts=_sum_of_facts)
def plus(
    documents: Documents, first: Annotated[Spec, Named("effort")], second: Annotated[Spec, Named("effort")]
) -> Values:
    """Return the sum of two efforts, such as known costs and the time to read.

    e = e₁ + e₂. Unit: that of both.

    Parameters
    ----------
    first, second : Spec or str
        Efforts e₁ and e₂.

    References
    ----------
    Azzopardi, Thomas and Moffat (2019).

    Examples
    --------
    >>> score([1, 0], C="prec(2)", A="erg", effort="plus(by_rank(2, 1), by_grade({0: 1, 1: 4}))", end="stop")
    0.125
    """
    for each in (first, second):
        if each.fact("given_with_items"):
            raise BadParameter(f"effort='plus({first},{second})': given efforts cannot be a part of a sum.")
    total: Values = first(documents) + second(documents)
    return total


@effort(given_with_items=True)
def given(documents: Documents) -> Values:
    """Use the efforts that are given with the items of rankings in arrays.

    Examples
    --------
    >>> score([1, 1], efforts=[1, 3], C="prec(2)", A="avg", end="stop")
    0.5
    """
    raise UnknownEffort
