"""What it costs to examine a document: one function an effort, reading the grade and the words of each document."""

from __future__ import annotations

from typing import Any

import numpy as np

from .spec import Grade, NotNegative, Probability, decorator
from .view import UnknownEffort

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


@effort(uniform=True)
def unit(documents: Any) -> Any:
    """One for every document: effort counts documents.

    e = 1. Unit: documents.

    Source: Moffat et al. (2022), section 2.
    """
    return 1.0


@effort
def time(
    documents: Any,
    summary_seconds: NotNegative = 4.4,
    seconds_per_word: NotNegative = 0.018,
    seconds_per_document: NotNegative = 7.8,
    p_click_relevant: Probability = 0.64,
    p_click_nonrelevant: Probability = 0.39,
    rel: Grade = 1,
) -> Any:
    """Reads the summary, and the document if its summary is clicked.

    e = T_S + P(C=1|g)·(a·words + b). Unit: seconds.

    Source: Smucker and Clarke (2012), Eq. 4 and Table 1.
    """
    click = np.where(documents.grade >= rel, p_click_relevant, p_click_nonrelevant)
    return summary_seconds + click * (seconds_per_word * documents.words + seconds_per_document)


@effort
def given(documents: Any) -> Any:
    """As given with each item, for rankings that are arrays.

    >>> score([1, 1], efforts=[1, 3], C="prec(2)", A="avg", end="stop")
    0.5
    """
    raise UnknownEffort
