"""What does a user who leaves at rank i feel? One function an aggregation: A(i)."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ..data.rankings import Array
from .language import BelowOne, Named, NotNegative, Positive, Probability, Spec, decorator
from .view import Values, View

aggregation = decorator(
    "aggregation",
    """Makes a function of a view (:class:`pyterrier_cwla.model.view.View`) and parameters an aggregation.

    Facts about the function, all optional, make it faster or exact:

    ``linear_in_gain=True``
        A is linear in the gains.
    ``affine_beyond_list=True``
        Beyond the list A changes by the same amount with every item, or not at all.
    ``monotone_in_gain=True``
        A never falls when a gain rises.
    ``constant_without_gain=True``
        A does not change at an item without gain.
    ``credit_terms=lambda i, r, e, C, …: (φ, w)``
        Where all users leave, Σ L(i)·A(i) is Σ V(i)·φ(i)·w_i, divided by Σ V(i)·e_i where A reads ``expected_effort``.
        φ depends on the rank alone, and w on the gain, effort and C of the item. Where φ is the number 1, the ideal
        ranking under ``decay`` is exact. Learning to rank is faster.

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
    """Makes a function of the rank a discount φ, for ``utility(…)``.

    >>> from pyterrier_cwla import score
    >>> from pyterrier_cwla.model import discount
    >>> @discount
    ... def inverse_square(i):
    ...     return 1 / i**2
    >>> score([0, 1], C="prec(2)", A="utility(inverse_square)")
    0.25
    """,
)


def _gains(i: Array, r: Array, e: Array, C: Array | None) -> tuple[float, Array]:
    return 1.0, r


@aggregation(
    linear_in_gain=True, affine_beyond_list=True, monotone_in_gain=True, constant_without_gain=True, credit_terms=_gains
)
def etg(view: View) -> Values:
    """All that was found: expected total gain.

    A(i) = G(i).

    Source: Moffat et al. (2022), Eq. 16.
    """
    return view.G


@aggregation(linear_in_gain=True, affine_beyond_list=True, monotone_in_gain=True, credit_terms=_gains)
def erg(view: View) -> Values:
    """All that was found, over what all users together spend: expected rate of gain.

    A(i) = G(i) / Σ_j V(j)·e_j; with unit effort G(i)/V⁺.

    Source: Moffat et al. (2022), Eq. 17; Jiang and Allan (2016), M1.
    """
    return _rate(view.G, view.expected_effort)


def _rate(gain: Values, effort: Values) -> Values:
    """Gain per effort; 0 where nothing was gained, even if nothing was spent."""
    if np.min(effort, initial=np.inf) > 0:
        return gain / effort
    nothing = np.zeros(np.broadcast_shapes(np.shape(gain), np.shape(effort)))
    return np.divide(gain, effort, out=nothing, where=np.asarray(gain) > 0)


@aggregation(monotone_in_gain=True, credit_terms=lambda i, r, e, C: (1 / i, 1 - C))
def err(view: View) -> Values:
    """The less the more was spent.

    A(i) = 1/E(i); with unit effort 1/i.

    Source: Moffat et al. (2022), Eq. 18; Chapelle et al. (2009).
    """
    return 1 / view.E


@aggregation(linear_in_gain=True, monotone_in_gain=True)
def avg(view: View) -> Values:
    """The average of what this user saw.

    A(i) = G(i)/E(i); with unit effort G(i)/i.

    Source: Moffat et al. (2022), Eq. 19; Jiang and Allan (2016), M2.
    """
    return _rate(view.G, view.E)


@aggregation(affine_beyond_list=True, monotone_in_gain=True, constant_without_gain=True)
def max(view: View) -> Values:
    """The best item seen.

    A(i) = max_{j≤i} r_j.

    Source: Moffat et al. (2022), Eq. 20.
    """
    return view.best


@aggregation(linear_in_gain=True, affine_beyond_list=True, monotone_in_gain=True)
def fin(view: View) -> Values:
    """The last item seen.

    A(i) = r_i.

    Source: Moffat et al. (2022), Eq. 21; Carterette (2011), Model 1.
    """
    return view.r


@aggregation(linear_in_gain=True, monotone_in_gain=True)
def fgt(view: View, delta: Probability) -> Values:
    """What was found, of which a share is forgotten with every item.

    A(1) = r_1, A(i) = δ·A(i−1) + r_i.

    Source: Moffat et al. (2022), Eq. 23.
    """
    return view.fading(delta)


@aggregation(affine_beyond_list=True, monotone_in_gain=True)
def pe(view: View, beta: Probability) -> Values:
    """Peak and end: the best item and the last.

    A(i) = β·max_{j≤i} r_j + (1−β)·r_i.

    Source: Moffat et al. (2022), Eq. 24.
    """
    return beta * view.best + (1 - beta) * view.r


@aggregation(affine_beyond_list=True, monotone_in_gain=True)
def items(view: View) -> Values:
    """How many items were seen; its score is V⁺ where everybody leaves.

    A(i) = i. Unit: items.

    Source: Moffat et al. (2022), section 2.
    """
    return view.i


@aggregation(affine_beyond_list=True, monotone_in_gain=True)
def effort(view: View) -> Values:
    """What was spent: its score is the expected effort of a user.

    A(i) = E(i). Unit: that of the effort.

    Source: Jiang and Allan (2016).
    """
    return view.E


@aggregation(
    linear_in_gain=True,
    affine_beyond_list=True,
    monotone_in_gain=True,
    constant_without_gain=True,
    credit_terms=lambda i, r, e, C, phi: (np.broadcast_to(phi(i), i.shape), r),
)
def utility(view: View, phi: Annotated[Spec, Named("discount")]) -> Values:
    """All that was found, each item worth less the deeper it lay.

    A(i) = Σ_{j≤i} r_j·φ(j).

    Source: Chapelle et al. (2009), section 4.

    >>> score([0, 1], C="rr", A="utility(reciprocal)")
    0.5
    """
    return view.discounted(phi)


def _while_reading(effort: Values, half_life: float) -> Array:
    """The mean of 2^(−t/h) over the time t from 0 to the effort."""
    decays = np.asarray(effort) * (np.log(2) / half_life)
    return np.divide(-np.expm1(-decays), decays, out=np.ones_like(decays), where=decays > 0)


@aggregation(
    linear_in_gain=True,
    affine_beyond_list=True,
    monotone_in_gain=True,
    constant_without_gain=True,
    credit_terms=lambda i, r, e, C, half_life: (1.0, r * _while_reading(e, half_life)),
)
def smeared(view: View, half_life: Positive = 224) -> Values:
    """All that was found, each gain coming in evenly over its item's effort while users under decay(half_life) leave.

    A(i) = Σ_{j≤i} r_j·(h/(e_j·ln 2))·(1 − 2^(−e_j/h)).

    Source: Smucker and Clarke (2012), Eq. 2.

    >>> round(score([1], efforts=[224], C="decay", A="smeared", unseen=1), 4)
    0.7213
    """
    return view.credited(lambda effort: _while_reading(effort, half_life))


@discount
def reciprocal(i: Array) -> Array:
    """φ(i) = 1/i."""
    return 1 / i


@discount
def log2(i: Array) -> Array:
    """φ(i) = 1/log2(i+1)."""
    return 1 / np.log2(i + 1)


@discount
def power(i: Array, p: NotNegative) -> Array:
    """φ(i) = i^(−p)."""
    return i ** -float(p)


@discount
def geometric(i: Array, phi: BelowOne) -> Array:
    """φ(i) = φ^(i−1)."""
    return float(phi) ** (i - 1)
