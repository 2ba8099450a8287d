"""What it costs to examine a document: one function an effort, reading the grade and the words of each document."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from .gains import P_CLICK, looked_up
from .language import Grade, Grades, NotNegative, Positive, Probabilities, Probability, decorator
from .view import Documents, UnknownEffort, Values

effort = decorator(
    "effort",
    """Makes a function of documents (``documents.grade``, ``documents.words``) an effort.

    An effort is not negative. One that never reads ``words`` needs no lengths, and tells by itself what an unseen
    document costs: what one of grade 0 does.

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
    """One for every document: effort counts documents.

    e = 1. Unit: documents.

    Source: Moffat et al. (2022), section 2.
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
    """Reads the summary, and the document if its summary is clicked.

    e = T_S + P(C=1|g)·(a·words + b). Unit: seconds.

    Source: Smucker and Clarke (2012), Eq. 4 and Table 1.
    """
    click = np.where(documents.grade >= rel, p_click_relevant, p_click_nonrelevant)
    reading = seconds_per_word * documents.words if seconds_per_word else 0.0  # no word takes time: no lengths needed
    return summary_seconds + click * (reading + seconds_per_document)


_SECONDS = {0: 20.6, 1: 37.1, 2: 60.3}


@effort
def grade_time(
    documents: Documents,
    summary_seconds: NotNegative = 4.4,
    p_click: Probabilities = P_CLICK,
    seconds: Annotated[dict, Grades("seconds")] = _SECONDS,
) -> Values:
    """Reads the summary, and if it is clicked the document, for as long as documents of its grade are read.

    e = T_S + P(C=1|g)·seconds[g]. Unit: seconds.

    Source: Jiang and Allan (2016), Eq. 6 and Table 2.

    >>> score([1], C="prec(1)", A="effort", effort="grade_time", end="stop")
    22.950000000000003
    """
    return summary_seconds + looked_up(documents.grade, p_click, "p_click=%s") * looked_up(
        documents.grade, seconds, "seconds=%s"
    )


@effort
def by_grade(documents: Documents, efforts: Annotated[dict, Grades("efforts")]) -> Values:
    """As given for each grade; grade 0 stands for all that is not relevant or not judged.

    e = efforts[g]. Unit: as given.

    Source: Jiang and Allan (2016), section 3.1.

    >>> score([1, 0], C="prec(2)", A="erg", effort="by_grade({0: 0.25, 1: 1})", end="stop")
    0.8
    """
    return looked_up(documents.grade, efforts, "effort='by_grade(%s)'")


@effort
def ratio(documents: Documents, times: Positive, rel: Grade = 1) -> Values:
    """A relevant document costs one, and so many times what another does.

    e = 1 where g ≥ rel, else 1/times. Unit: relevant documents.

    Source: Jiang and Allan (2016), section 3.1.

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
    """Reads the summary, and of the document, if its summary is clicked, a share of the text.

    e = summary_words + P(C=1|g)·share·words. Unit: words.

    Source: Sakai and Dou (2013).
    """
    click = np.where(documents.grade >= rel, p_click_relevant, p_click_nonrelevant)
    return summary_words + click * share * documents.words


@effort
def given(documents: Documents) -> Values:
    """As given with each item, for rankings that are arrays.

    >>> score([1, 1], efforts=[1, 3], C="prec(2)", A="avg", end="stop")
    0.5
    """
    raise UnknownEffort
