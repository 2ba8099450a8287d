"""Names of the coefficients of user studies; each name has the same meaning in every study.

A plain name counts each rating once, whatever columns the ratings have. The same name with the prefix ``weighted_``
counts each rating as often as its column ``n`` specifies.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..errors import BadParameter, near

Array = np.ndarray

#: Display names of the correlations of scores with ratings.
CORRELATIONS = {"pearson": "Pearson's r", "spearman": "Spearman's ρ", "tau_b": "Kendall's τ_b"}

NRMSE, AGREED = "nrmse", "agreement"
WEIGHTED = "weighted_"
_PLAIN = {**CORRELATIONS, NRMSE: "NRMSE", AGREED: "the share of agreement"}


def with_weighted(names: Iterable[str]) -> list[str]:
    """Return the names, followed by the names of the same coefficients weighted by n."""
    names = list(names)
    return [*names, *(WEIGHTED + name for name in names)]


def plain_name(name: str) -> str:
    """Return the name of the same coefficient where each rating counts once."""
    return name.removeprefix(WEIGHTED)


def is_weighted(name: str) -> bool:
    """Return whether the name is that of a coefficient weighted by n."""
    return name.startswith(WEIGHTED)


#: Display names of all coefficients.
LABELS = {
    name: _PLAIN[plain_name(name)] + (" weighted by n" if is_weighted(name) else "") for name in with_weighted(_PLAIN)
}


#: Coefficients for which ``user_agreement`` computes intervals and tests, if the ratings have the required columns.
WEIGHTED_PEARSON = f"{WEIGHTED}pearson"
TESTED = (*CORRELATIONS, WEIGHTED_PEARSON, AGREED)


def weights_of(name: str, weights: Array | None) -> Array | None:
    """Return how often each rating counts for this coefficient, or None if each counts once."""
    return weights if is_weighted(name) else None


def check_coefficient(
    name: str, known: Iterable[str], weights: Array | None, why_no_other: str, parameter: str = "coefficient"
) -> None:
    """Raise BadParameter if the study cannot compute this coefficient.

    Either the study does not offer it, or it needs weights and the ratings have none.

    Parameters
    ----------
    name : str
        Name of the coefficient.
    known : iterable of str
        Names that the study computes.
    weights : ndarray or None
        Weights of the ratings of the study, None if they have none.
    why_no_other : str
        Sentence of the error message for coefficients that the study does not compute.
    parameter : str, default="coefficient"
        Name of the parameter in the error message.
    """
    known = list(known)
    if name not in LABELS:
        raise BadParameter(f"no {parameter} {name!r}. {near(str(name), known)}")
    if name not in known:
        raise BadParameter(f"{parameter}={name!r}: {why_no_other} Give one of {', '.join(known)}.")
    if is_weighted(name) and weights is None:
        raise BadParameter(f"{parameter}={name!r} needs a column 'n' in the ratings: how often each rating counts.")
