"""Lessons of the explorer: questions about users, each with a measure to look at."""

from __future__ import annotations

from typing import Any

_TIME = """\
nDCG counts documents: a long one costs its users no more than a short one. TBG counts seconds, and half of its users
have left after the half-life. So a ranking with long documents can win by nDCG and lose by TBG: the sentence below the
scores says which one wins by each. Both measures are drawn for one ranking: look at how many users reach rank 5, and
then choose the other ranking."""
_RANK = """\
Under RBP, the share of users who see rank 10 is the same for every ranking: they leave by chance. Users of AP leave at
relevant documents only, so that the answer depends on the ranking: choose the other one. With runs of your own, click
on a grade to change it: the users of AP change, those of RBP do not."""
_PATIENCE = """\
φ is the probability that a user of RBP goes on to the next document. With φ = 0.5, one user in 16 sees rank 5; with
φ = 0.95, four in five do. Impatient users prefer the ranking with a good first document, patient ones that with more
good documents. Move φ: a mark on the slider shows where the order changes."""


def lessons(highest: float) -> list[dict[str, Any]]:
    """Return the lessons: a title, a text, and the measure, the measure beside it and the rank that the page shows.

    Parameters
    ----------
    highest : float
        The highest grade of the judgments.
    """
    patient = "CWLA(C='rbp({})',A='erg',max_rel=" + f"{highest:g})"
    rows = (
        ("nDCG and TBG disagree", _TIME, "TBG", "nDCG@10", 5),
        ("Who reads rank 10?", _RANK, "AP", patient.format(0.8), 10),
        ("What does patience do?", _PATIENCE, patient.format(0.5), "", 5),
    )
    names = ("title", "text", "measure", "beside", "rank")
    return [dict(zip(names, row, strict=True)) for row in rows]
