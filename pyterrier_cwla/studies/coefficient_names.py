"""The names by which studies of users ask for coefficients; each name means the same number in all of them.

A plain name counts each rating once, whatever columns the ratings have. The same name after ``weighted_`` counts each
rating as often as its column ``n`` says.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from ..errors import BadParameter, near

if TYPE_CHECKING:
    from .users.ratings import Rated

#: The correlations of scores with ratings, as a sentence names them.
CORRELATIONS = {"pearson": "Pearson's r", "spearman": "Spearman's ρ", "tau_b": "Kendall's τ_b"}

NRMSE, AGREED = "nrmse", "agreement"
WEIGHTED = "weighted_"
_PLAIN = {**CORRELATIONS, NRMSE: "NRMSE", AGREED: "the share of agreement"}


def with_weighted(names: Iterable[str]) -> list[str]:
    """The names, and after them those of the same coefficients weighted by n."""
    names = list(names)
    return [*names, *(WEIGHTED + name for name in names)]


def plain_name(name: str) -> str:
    """The name of the same coefficient where each rating counts once."""
    return name.removeprefix(WEIGHTED)


def is_weighted(name: str) -> bool:
    return name.startswith(WEIGHTED)


#: Every name, as a sentence names the coefficient.
LABELS = {
    name: _PLAIN[plain_name(name)] + (" weighted by n" if is_weighted(name) else "") for name in with_weighted(_PLAIN)
}


#: Those that ``user_agreement`` has intervals and tests of, where the ratings have what they need.
WEIGHTED_PEARSON = f"{WEIGHTED}pearson"
TESTED = (*CORRELATIONS, WEIGHTED_PEARSON, AGREED)


def weights_of(name: str, rated: Rated) -> np.ndarray | None:
    """How often each rating counts for this coefficient; None where each counts once."""
    return rated.weights if is_weighted(name) else None


def check_coefficient(
    name: str, known: Iterable[str], rated: Rated, why_no_other: str, parameter: str = "coefficient"
) -> None:
    """Raise BadParameter where the study does not compute this coefficient, or the ratings have no weights for it.

    ``known``: the names that the study computes · ``why_no_other``: a sentence for names of other coefficients.
    """
    known = list(known)
    if name not in LABELS:
        raise BadParameter(f"no {parameter} {name!r}. {near(str(name), known)}")
    if name not in known:
        raise BadParameter(f"{parameter}={name!r}: {why_no_other} Give one of {', '.join(known)}.")
    if is_weighted(name) and rated.weights is None:
        raise BadParameter(f"{parameter}={name!r} needs a column 'n' of the ratings: how often each counts.")
