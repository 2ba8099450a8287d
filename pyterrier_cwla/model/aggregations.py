"""Aggregation functions: A(i), the value of the ranking to a user who leaves at rank i."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ..data.columns import Floats
from ..errors import BadParameter
from .language import BelowOne, Named, NotNegative, Positive, Probability, Spec, decorator
from .view import Values, View

aggregation = decorator(
    "aggregation",
    """Register a function of a view as an aggregation.

    Use it as ``@aggregation`` or with keyword arguments, ``@aggregation(linear_in_gain=True)``. The function is called
    with a view (:class:`pyterrier_cwla.model.view.View`) and returns A(i), the value of the ranking to a user who
    leaves at rank i, for every query and rank. Its other arguments are parameters of the aggregation. The keyword
    arguments are facts about the function. All are optional; they make scores faster or exact.

    Parameters
    ----------
    version : str or int, optional
        Version of the function. With a version, results may be cached (``cache_dir=``). Change it whenever the results
        of the function change.
    linear_in_gain : bool, default=False
        Whether A is linear in the gains.
    monotone_in_gain : bool, default=False
        Whether A never falls when a gain rises.
    less_is_better : bool, default=False
        Whether A is a cost, such as a time. Comparisons then mark the lowest score as the best. It changes no score.

    Returns
    -------
    Part
        The aggregation. A call with parameters returns the aggregation with these parameters, for ``A=`` of measures.

    Raises
    ------
    BadParameter
        If a built-in aggregation has the same name, or if a fact is unknown or of the wrong type.

    Examples
    --------
    >>> from pyterrier_cwla import aggregation, score
    >>> @aggregation
    ... def second_thoughts(view, share: float):
    ...     return share * view.best + (1 - share) * view.G / view.i
    >>> score([1, 0], C="prec(2)", A="second_thoughts(0.5)")
    0.75
    """,
)
discount = decorator(
    "discount",
    """Register a function of the rank as a discount φ, for the aggregation ``utility(…)``.

    Use it as ``@discount`` or with a version, ``@discount(version=1)``. The function is called with an array of ranks,
    from 1, and returns their discounts. Its other arguments are parameters of the discount.

    Parameters
    ----------
    version : str or int, optional
        Version of the function. With a version, results may be cached (``cache_dir=``). Change it whenever the results
        of the function change.

    Returns
    -------
    Part
        The discount. A call with parameters returns the discount with these parameters.

    Raises
    ------
    BadParameter
        If a built-in discount has the same name.

    Examples
    --------
    >>> from pyterrier_cwla import score
    >>> from pyterrier_cwla.model import discount
    >>> @discount
    ... def inverse_square(i):
    ...     return 1 / i**2
    >>> score([0, 1], C="prec(2)", A="utility(inverse_square)")
    0.25
    """,
)


def _gains(i: Floats, r: Floats, e: Floats, C: Floats | None) -> tuple[float, Floats]:
    return 1.0, r


@aggregation(
    unit="{gain}",
    linear_in_gain=True,
    affine_beyond_list=True,
    monotone_in_gain=True,
    constant_without_gain=True,
    credit_terms=_gains,
    weights_fall=lambda: True,
)
def etg(view: View) -> Values:
    """Return the sum of the gains seen (expected total gain).

    A(i) = G(i).

    References
    ----------
    Moffat et al. (2022), Eq. 16.
    """
    return view.G


@aggregation(
    unit="{gain} per {effort}",
    linear_in_gain=True,
    affine_beyond_list=True,
    monotone_in_gain=True,
    constant_without_gain=True,
    credit_terms=_gains,
    weights_fall=lambda: True,
)
def erg(view: View) -> Values:
    """Return the sum of the gains seen, divided by the expected effort of all users (expected rate of gain).

    A(i) = G(i) / Σ_j V(j)·e_j; with unit effort G(i)/V⁺.

    References
    ----------
    Moffat et al. (2022), Eq. 17; Jiang and Allan (2016), M1.
    """
    return _rate(view.G, view.expected_effort)


def _rate(gain: Values, effort: Values) -> Values:
    """Return gain divided by effort, and 0 without gain, even if the effort is 0."""
    if np.min(effort) > 0:
        return gain / effort
    nothing = np.zeros(np.broadcast_shapes(np.shape(gain), np.shape(effort)))
    return np.divide(gain, effort, out=nothing, where=np.asarray(gain) != 0)


@aggregation(
    unit="1/{effort}", monotone_in_gain=True, credit_terms=lambda i, r, e, C: (1 / i, 1 - C), weights_fall=lambda: True
)
def err(view: View) -> Values:
    """Return the reciprocal of the effort.

    A(i) = 1/E(i); with unit effort 1/i.

    References
    ----------
    Moffat et al. (2022), Eq. 18; Chapelle et al. (2009).
    """
    return 1 / view.E


@aggregation(unit="{gain} per {effort}", linear_in_gain=True, monotone_in_gain=True, weights_fall=lambda: True)
def avg(view: View) -> Values:
    """Return the gains seen, divided by the effort of this user.

    A(i) = G(i)/E(i); with unit effort G(i)/i.

    References
    ----------
    Moffat et al. (2022), Eq. 19; Jiang and Allan (2016), M2.
    """
    return _rate(view.G, view.E)


@aggregation(unit="{gain} per document", linear_in_gain=True, monotone_in_gain=True, weights_fall=lambda: True)
def per_item(view: View) -> Values:
    """Return the gains seen, divided by the number of items seen.

    A(i) = G(i)/i. With unit effort it is ``avg``, and for binary gains under ``prec(k)`` precision.

    Examples
    --------
    >>> score([1, 0, 1], C="prec(2)", A="per_item", efforts=[10, 30, 5], end="stop")
    0.5
    """
    return view.G / view.i


@aggregation(unit="{gain}", affine_beyond_list=True, monotone_in_gain=True, constant_without_gain=True)
def max(view: View) -> Values:
    """Return the highest gain seen.

    A(i) = max_{j≤i} r_j.

    References
    ----------
    Moffat et al. (2022), Eq. 20.
    """
    return view.best


@aggregation(unit="{gain}", linear_in_gain=True, affine_beyond_list=True, monotone_in_gain=True)
def fin(view: View) -> Values:
    """Return the gain of the last item seen.

    A(i) = r_i.

    References
    ----------
    Moffat et al. (2022), Eq. 21; Carterette (2011), Model 1.
    """
    return view.r


@aggregation(unit="{gain}", linear_in_gain=True, monotone_in_gain=True)
def fgt(view: View, delta: Probability) -> Values:
    """Return the gains seen, where a share of the sum is forgotten with every item.

    A(1) = r_1, A(i) = δ·A(i−1) + r_i.

    Parameters
    ----------
    delta : float in [0, 1]
        δ, the share of the sum that is remembered after one more item.

    References
    ----------
    Moffat et al. (2022), Eq. 23.
    """
    return view.fading(delta)


@aggregation(unit="{gain}", affine_beyond_list=True, monotone_in_gain=True)
def pe(view: View, beta: Probability) -> Values:
    """Return a weighted mean of the highest gain seen and the last one (peak and end).

    A(i) = β·max_{j≤i} r_j + (1−β)·r_i.

    Parameters
    ----------
    beta : float in [0, 1]
        β, the weight of the highest gain.

    References
    ----------
    Moffat et al. (2022), Eq. 24.
    """
    return beta * view.best + (1 - beta) * view.r


@aggregation(unit="documents", affine_beyond_list=True, monotone_in_gain=True, less_is_better=True)
def items(view: View) -> Values:
    """Return the number of items seen; the score is V⁺ if all users leave.

    A(i) = i. Unit: items.

    References
    ----------
    Moffat et al. (2022), section 2.
    """
    return view.i


@aggregation(unit="{effort}", affine_beyond_list=True, monotone_in_gain=True, less_is_better=True)
def effort(view: View) -> Values:
    """Return the effort spent; the score is the expected effort of a user.

    A(i) = E(i). Unit: that of the effort.

    References
    ----------
    Jiang and Allan (2016).
    """
    return view.E


@aggregation(
    unit="{gain} times a discount of ranks",
    linear_in_gain=True,
    affine_beyond_list=True,
    monotone_in_gain=True,
    constant_without_gain=True,
    credit_terms=lambda i, r, e, C, phi: (np.broadcast_to(phi(i), i.shape), r),
    weights_fall=lambda phi: bool((fall := phi.fact("weights_fall")) and fall()),
)
def utility(view: View, phi: Annotated[Spec, Named("discount")]) -> Values:
    """Return the sum of the gains seen, each times a discount of its rank.

    A(i) = Σ_{j≤i} r_j·φ(j).

    Parameters
    ----------
    phi : Spec or str
        φ, a discount: reciprocal, log2, power, geometric, table, or a function of your own.

    References
    ----------
    Chapelle et al. (2009), section 4.

    Examples
    --------
    >>> score([0, 1], C="rr", A="utility(reciprocal)")
    0.5
    """
    return view.discounted(phi)


def _while_reading(effort: Values, half_life: float) -> Floats:
    """Return the mean of 2^(−t/h) over the time t from 0 to the effort."""
    decays: Floats = np.asarray(effort) * (np.log(2) / half_life)
    return np.divide(-np.expm1(-decays), decays, out=np.ones_like(decays), where=decays > 0)


@aggregation(
    unit="{gain}",
    linear_in_gain=True,
    affine_beyond_list=True,
    monotone_in_gain=True,
    constant_without_gain=True,
    credit_terms=lambda i, r, e, C, half_life: (1.0, r * _while_reading(e, half_life)),
    weights_fall=lambda half_life: True,
)
def smeared(view: View, half_life: Positive = 224) -> Values:
    """Return the sum of the gains seen, each received evenly over its effort while users leave under decay(half_life).

    A(i) = Σ_{j≤i} r_j·(h/(e_j·ln 2))·(1 − 2^(−e_j/h)).

    Parameters
    ----------
    half_life : float above 0, default=224
        h, the effort after which half of the users have left, in the unit of the effort (for example seconds).

    References
    ----------
    Smucker and Clarke (2012), Eq. 2.

    Examples
    --------
    >>> round(score([1], efforts=[224], C="decay", A="smeared", unseen=1), 4)
    0.7213
    """
    return view.credited(lambda effort: _while_reading(effort, half_life))


@discount(weights_fall=lambda: True)
def reciprocal(i: Floats) -> Floats:
    """Return the reciprocal of the rank.

    φ(i) = 1/i.
    """
    return 1 / i


@discount(weights_fall=lambda: True)
def log2(i: Floats) -> Floats:
    """Return the reciprocal of the binary logarithm of the rank plus 1.

    φ(i) = 1/log2(i+1).
    """
    return 1 / np.log2(i + 1)


@discount(weights_fall=lambda p: True)
def power(i: Floats, p: NotNegative) -> Floats:
    """Return a negative power of the rank.

    φ(i) = i^(−p).

    Parameters
    ----------
    p : float of at least 0
        Exponent.
    """
    return i ** -float(p)


@discount(weights_fall=lambda phi: True)
def geometric(i: Floats, phi: BelowOne) -> Floats:
    """Return a discount that falls by the same factor with every rank.

    φ(i) = φ^(i−1).

    Parameters
    ----------
    phi : float in [0, 1)
        Factor.
    """
    return float(phi) ** (i - 1)


@discount(weights_fall=lambda values: list(values) == sorted(values, reverse=True))
def table(i: Floats, *values: NotNegative) -> Floats:
    """Return the discount of each rank from a table, and 0 after its last rank.

    φ(i) = values[i−1], and 0 after the last.

    The values may rise with the rank. Then no bounds are known for residuals under ``rr`` and ``cascade`` or over the
    ideal, and the ideal ranking, by falling gain, may not be the best one: with ``norm="ideal"``, scores can exceed 1.

    Parameters
    ----------
    *values : float of at least 0
        φ at ranks 1, 2, ….

    References
    ----------
    Chapelle et al. (2009), section 7.1.

    Examples
    --------
    >>> score([0, 1], C="rr", A="utility(table(1, 0.6, 0.4))")
    0.6
    """
    if not values:
        raise BadParameter("discount table() has no values: give φ at ranks 1, 2, …, as in table(1, 0.6, 0.4).")
    phi: Floats = np.append(np.asarray(values, float), 0.0)[np.minimum(i - 1, len(values)).astype(int)]
    return phi
