"""Does the user go on? One function a continuation: C(i), the probability to go on from rank i to rank i+1."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from ..data.rankings import Array
from ..errors import BadParameter, NoFiniteValue
from .language import BelowOne, Grade, In, Named, NotNegative, OneOf, Positive, Probability, Rank, Spec, decorator
from .view import Values, View, before

continuation = decorator(
    "continuation",
    """Makes a function of a view (:class:`pyterrier_cwla.model.view.View`) and parameters a continuation.

    Facts about the function, all optional, make it faster or exact:

    ``constant_beyond_list=True``
        Beyond the list C is the same at every rank.
    ``ignores_zero_gain=True``
        C is 1 at every item without gain.
    ``vanishes=True``
        V goes to 0, though slowly.
    ``eventually_leaves=True``
        Whatever the ranking, V goes to 0 if every item costs something.
    ``last_rank=lambda k: k``
        The rank after which nobody sees an item, given the parameters.
    ``jump_rank=lambda k: k``
        A rank at which C jumps without being 0 from there on.
    ``items_beyond=lambda view, V, …``
        ΣV(j) over the ranks after the list in closed form, given the view of its last rank, V(n+1) and the parameters.
    ``gives_survival=True``
        The function gives V(i), the share of users who see item i, instead of C(i). V(1) may be below 1: the other
        users leave with nothing.
    ``not_in_products=True``
        The function cannot be a factor of ``product``.

    >>> from pyterrier_cwla import continuation, score
    >>> @continuation
    ... def bored(view, after: float):
    ...     return after / (after + view.i)
    >>> round(score([1, 0, 1], C="bored(2)", A="etg"), 4)
    1.3333
    """,
)

Wanted = Annotated[float, In("[0.5, inf)")]
Total = Annotated[str, OneOf("judged", "ranking")]


@continuation(constant_beyond_list=True, last_rank=lambda k: k)
def prec(view: View, k: Rank) -> Values:
    """Reads exactly k items.

    C(i) = 1 for i < k, else 0. Static. V⁺ = k.

    Source: Moffat et al. (2022), Eq. 7.

    >>> score([1, 0, 1], C="prec(4)", A="erg")
    0.5
    """
    return (view.i < k).astype(float)


@continuation(constant_beyond_list=True, eventually_leaves=True)
def rbp(view: View, phi: BelowOne) -> Values:
    """Goes on with the same probability after every item.

    C(i) = φ. Static. V⁺ = 1/(1−φ).

    Source: Moffat and Zobel (2008); Moffat et al. (2022), Eq. 8.

    >>> score([1, 0, 1], C="rbp(0.5)", A="erg")
    0.625
    """
    return phi


@continuation(vanishes=True, last_rank=lambda k: k)
def dcg(view: View, k: Rank | None = None) -> Values:
    """Goes on ever more readily, so that rank i is seen by 1/log2(i+1) of the users.

    C(i) = log2(i+1)/log2(i+2) for i < k, else 0. Static. V⁺ = Σ_{i≤k} 1/log2(i+1), infinite without k.

    Source: Järvelin and Kekäläinen (2002); Moffat et al. (2022), Eq. 9.

    >>> score([1, 0, 1], C="dcg", A="etg")
    1.5
    """
    C = np.log2(view.i + 1) / np.log2(view.i + 2)
    return C if k is None else np.where(view.i < k, C, 0.0)


def _ap1_beyond(view: View, V: Array, R: str, rel: int | None) -> Array:
    view = view.at_least(rel)
    mass = view.discounted(_reciprocal)[..., -1:]
    lacking = np.maximum(view.total - view.found, 0) if R == "judged" else 0 * mass
    return np.divide(lacking, mass, out=np.full_like(mass, np.inf), where=mass > 0)


def _reciprocal(i: Array) -> Array:
    return 1 / i


@continuation(constant_beyond_list=True, ignores_zero_gain=True, items_beyond=_ap1_beyond, not_in_products=True)
def ap1(view: View, R: Total = "judged", rel: Grade | None = None) -> Values:
    """Knows what is still to come, and goes on in proportion to it.

    C(i) = Σ_{j>i} r_j/j / Σ_{j≥i} r_j/j. V⁺ = R / Σ r_j/j. R="judged": gain that was not retrieved lies at infinity;
    R="ranking": only the ranking's gain exists. With no gain to find nobody stops.

    Source: Moffat et al. (2022), Eq. 10.

    >>> score([1, 0, 1], C="ap1", A="erg")
    0.8333333333333333
    """
    view = view.at_least(rel)
    sums = view.discounted(_reciprocal)
    whole = sums[..., -1:]
    left, left_before = whole - sums, whole - before(sums)
    nobody_stops = np.broadcast_to(view.found <= 0, left.shape).astype(float)
    return np.divide(left, left_before, out=nobody_stops, where=left_before > 0)


@continuation(constant_beyond_list=True, ignores_zero_gain=True)
def ap2(view: View, R: Total = "judged", rel: Grade | None = None) -> Values:
    """Has chosen one unit of all the gain there is, and leaves where it is found.

    C(i) = (R − G(i)) / (R − G(i−1)), R the total gain. R="judged": whoever chose what was not retrieved never leaves;
    R="ranking": only the ranking's gain exists. With no gain to find nobody stops.

    Source: Moffat et al. (2022), Eq. 22.

    >>> score([1, 0, 1], C="ap2", A="avg")
    0.8333333333333333
    """
    view = view.at_least(rel)
    total = view.total if R == "judged" else view.found
    left, left_before = total - view.G, total - view.G_before
    nobody_stops = np.broadcast_to(total <= 0, np.broadcast_shapes(np.shape(total), left.shape)).astype(float)
    return np.clip(np.divide(left, left_before, out=nobody_stops, where=left_before > 1e-12 * total), 0, 1)


@continuation(constant_beyond_list=True, ignores_zero_gain=True)
def rr(view: View, rel: Grade | None = None) -> Values:
    """Leaves when satisfied; the gain is the probability of that.

    C(i) = 1 − r_i. Adaptive. V⁺ is infinite where no r_i is 1.

    Source: Moffat et al. (2022), Eq. 12; Chapelle et al. (2009), Eq. 5.

    >>> score([0, 0.5, 1], C="rr", A="err")
    0.41666666666666663
    """
    return 1 - view.at_least(rel).r


@continuation(constant_beyond_list=True)
def cascade(view: View, gamma: Probability, rel: Grade | None = None) -> Values:
    """Leaves when satisfied, and otherwise gives up with probability 1 − γ.

    C(i) = γ(1 − r_i). Adaptive.

    Source: Chapelle et al. (2009), section 7.2.

    >>> score([0, 1], C="cascade(0.5)", A="etg")
    0.5
    """
    return gamma * (1 - view.at_least(rel).r)


def _inverse_square_beyond(y: Array, V: Array) -> Array:
    """ΣV where C at the m-th rank from here is ((y+m−1)/(y+m))²: V·y²·ψ′(y), ψ′ the trigamma function."""
    from scipy.special import polygamma

    return V * y**2 * polygamma(1, y)


@continuation(items_beyond=lambda view, V, T, rel: _inverse_square_beyond(_inst_y(view, T, rel)[..., -1:], V))
def inst(view: View, T: Wanted, rel: Grade | None = None) -> Values:
    """Wants gain T, and goes on the more readily the more of it is still missing.

    C(i) = ((i + T + T_i − 1) / (i + T + T_i))², T_i = T − G(i). Adaptive.

    Source: Moffat et al. (2017); Moffat et al. (2022), Eq. 13.

    >>> round(score([1, 0, 1], C="inst(1)", A="erg"), 4)
    0.7231
    """
    y = _inst_y(view, T, rel)
    return ((y - 1) / y) ** 2


def _inst_y(view: View, T: float, rel: int | None) -> Array:
    return view.i + 2 * T - view.at_least(rel).G


@continuation(items_beyond=lambda view, V, T: _inverse_square_beyond(view.i[..., -1:] + 2 * T, V))
def insq(view: View, T: Wanted) -> Values:
    """Wants T relevant documents, and goes on the more readily the further it has come.

    C(i) = ((i + 2T − 1) / (i + 2T))². Static.

    Source: Moffat, Scholer and Thomas (2012).

    >>> round(score([1, 0, 1], C="insq(1)", A="erg"), 4)
    0.4845
    """
    y = view.i + 2 * T
    return ((y - 1) / y) ** 2


@continuation(constant_beyond_list=True, eventually_leaves=True)
def decay(view: View, half_life: Positive = 224) -> Values:
    """Half of the users are gone after half_life, counted in effort (seconds where effort is time).

    C(i) = 2^(−e_i/h), so that V(i) = 2^(−E(i−1)/h).

    Source: Smucker and Clarke (2012), Eq. 7.

    >>> score([0, 1], C="decay(1)", A="etg")
    0.5
    """
    C = np.exp2(-view.e / half_life)
    if np.any((C == 1) & (view.e > 0)):
        raise NoFiniteValue(f"half_life={half_life}, and small efforts: nobody leaves, as far as floats can say.")
    return C


@continuation(constant_beyond_list=True, last_rank=lambda k: k)
def carterette1(view: View, k: Rank) -> Values:
    """Goes on ever more readily, so that rank i is seen by 1/i of the users, down to rank k.

    C(i) = i/(i+1) for i < k, else 0. Static. V⁺ = Σ_{i≤k} 1/i.

    Source: Carterette (2011); Moffat et al. (2022), section 3.

    >>> score([0, 1], C="carterette1(2)", A="etg")
    0.5
    """
    return np.where(view.i < k, view.i / (view.i + 1), 0.0)


@continuation(constant_beyond_list=True, last_rank=lambda k, rel: k)
def carterette2(view: View, k: Rank, rel: Grade | None = None) -> Values:
    """Goes on after every item without gain, and after the others the more readily the more was found.

    C(i) = 1 where r_i = 0, else G(i)/(G(i)+1); 0 from rank k on. Adaptive.

    Source: Carterette (2011); Moffat et al. (2022), section 3.

    >>> score([1, 1], C="carterette2(2)", A="etg")
    1.5
    """
    seen = view.at_least(rel)
    return np.where(view.i < k, np.where(seen.r == 0, 1.0, seen.G / (seen.G + 1)), 0.0)


@continuation(constant_beyond_list=True, ignores_zero_gain=True)
def carterette3(view: View, theta: Probability, rel: Grade | None = None) -> Values:
    """Leaves with the same probability at every item that gains something, and at no other.

    C(i) = 1 − θ where r_i > 0, else 1. Adaptive. (The paper prints 0 instead of 1.)

    Source: Carterette (2011), Model 3; Moffat et al. (2022), section 3.

    >>> score([0, 1, 1], C="carterette3(0.5)", A="err")
    0.3333333333333333
    """
    return np.where(view.at_least(rel).r > 0, 1 - theta, 1.0)


def _product_of_facts(name: str, first: Spec, second: Spec) -> Any:
    one, other = first.fact(name), second.fact(name)
    if name in ("constant_beyond_list", "ignores_zero_gain"):
        return one and other
    if name in ("vanishes", "eventually_leaves"):  # nobody is there whom either has lost
        return one or other
    if name in ("last_rank", "jump_rank") and (one or other):
        ranks = [rank for rank in (fact() for fact in (one, other) if fact) if rank]
        return lambda: (min(ranks) if name == "last_rank" else max(ranks)) if ranks else None
    if name == "items_beyond":  # of gains alone, as one is that lets pass what gains nothing: the other decides
        return other if first.fact("ignores_zero_gain") else one if second.fact("ignores_zero_gain") else None
    return None


@continuation(of_parts=_product_of_facts)
def product(
    view: View, first: Annotated[Spec, Named("continuation")], second: Annotated[Spec, Named("continuation")]
) -> Values:
    """Goes on where two reasons to leave both fail.

    C(i) = C₁(i)·C₂(i). ap1, whose missing gain lies at infinity, and patience, which gives V, cannot be factors.

    Source: Azzopardi, Mackenzie and Moffat (2021).

    >>> round(score([0.5, 1], C="product(rr, rbp(0.8))", A="erg"), 4)
    0.6429
    """
    for factor in (first, second):
        if factor.fact("not_in_products") or factor.fact("gives_survival"):
            raise BadParameter(
                f"C='product({first},{second})': {factor.name} says more than who goes on, and so cannot be a factor of"
                f" a product; use C='{factor}' alone."
            )
    return first(view) * second(view)


def _bpm_beyond(view: View, V: Array, T: float, K: float, h_b: float, h_c: float, m: float) -> Array:
    """How many items are seen until the limits, which fall with every one, are met: the first rank at which C is 0."""
    n, G, E, e = (np.asarray(values, float) for values in (view.i, view.G, view.E, view.beyond([[1.0]]).e))
    n, G, E = n[..., -1:], G[..., -1:], E[..., -1:]
    moved = G - m * (n - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_gain = np.where(h_b * m > 0, (T + h_b * moved - G) / (h_b * m), np.where(T + h_b * moved > G, np.inf, 1))
        by_effort = np.where(e + h_c * m > 0, (K + h_c * moved - E) / (e + h_c * m), np.inf)
        items = np.maximum(np.ceil(np.minimum(by_gain, by_effort)), 1)
    fewer = np.where(np.isfinite(items), np.maximum(items - 1, 1), 1)  # a quotient may be rounded over a whole number
    items = np.where(bpm.function(view.beyond(fewer), T, K, h_b, h_c, m) == 0, fewer, items)
    return np.where(V > 0, V * np.where(V > 0, items, 0), 0)


@continuation(items_beyond=_bpm_beyond)
def bpm(
    view: View, T: Positive, K: Positive, h_b: NotNegative = 0, h_c: NotNegative = 0, m: NotNegative = 0.5
) -> Values:
    """Goes on while it wants more gain and has effort left; both limits may move with what was found.

    C(i) = 1 while G(i) < T_i and E(i) < K_i, else 0; T_i = T + h_b·Σ_{j<i}(r_j − m), K_i = K + h_c·Σ_{j<i}(r_j − m).
    Static where h_b and h_c are 0, dynamic otherwise. Adaptive.

    Source: Zhang et al. (2017).

    >>> score([0, 1, 1], C="bpm(1, 10)", A="erg")
    0.5
    """
    moved = view.G_before - m * (view.i - 1)
    size = view.G_before + m * (view.i - 1)  # T=2 is six gains of 1/3, and K=6.3 21 efforts of 0.3, however summed
    wanted = T + h_b * moved - view.G - 1e-12 * (T + h_b * size)
    left = K + h_c * moved - view.E - 1e-12 * (K + h_c * size)
    return ((wanted > 0) & (left > 0)).astype(float)


@continuation(constant_beyond_list=True)
def ift_goal(view: View, T: Positive, b1: Positive = 0.9, R1: NotNegative = 10) -> Values:
    """Forages for gain T, and leaves the more readily the nearer it is.

    C(i) = 1 − 1/(1 + b₁·exp((T − G(i))·R₁)). Adaptive. (1 in floats, so that nobody leaves, where T − G(i) > 37/R₁.)

    Source: Azzopardi, Thomas and Craswell (2018).

    >>> round(score([1, 0, 1], C="ift_goal(1, 0.9, 1)", A="erg"), 4)
    0.6908
    """
    return _logistic(np.log(b1) + (T - view.G) * R1)


@continuation
def ift_rate(view: View, A: NotNegative, b2: Positive = 0.9, R2: NotNegative = 10) -> Values:
    """Forages as long as gain comes fast enough, at a rate of A for each unit of effort.

    C(i) = 1/(1 + b₂·exp((A − G(i)/E(i))·R₂)). Adaptive.

    Source: Azzopardi, Thomas and Craswell (2018).

    >>> round(score([1, 0, 1], C="ift_rate(0.2, 0.9, 1)", A="erg"), 4)
    0.5124
    """
    rate = np.divide(view.G, view.E, out=np.zeros(np.broadcast_shapes(view.G.shape, view.E.shape)), where=view.E > 0)
    return _logistic((rate - A) * R2 - np.log(b2))


def _logistic(x: Array) -> Array:
    from scipy.special import expit

    return expit(x)


def _patience_beyond(view: View, V: Array, T: float) -> Array:
    """Σ_m max(0, V − (m−1)·e/T) over the items after the list."""
    step = np.asarray(view.beyond([[1.0]]).e, float) / T
    with np.errstate(divide="ignore", invalid="ignore"):
        m = np.where(step > 0, np.ceil(V / step), np.where(V > 0, np.inf, 0.0))
        return np.where(np.isinf(m), np.inf, m * V - step * m * (m - 1) / 2)


@continuation(gives_survival=True, items_beyond=_patience_beyond, eventually_leaves=True, not_in_products=True)
def patience(view: View, T: Positive) -> Values:
    """Has patience for anything up to T, all as likely, and gains from an item only if it lasts to the item's end.

    V(i) = max(0, 1 − E(i)/T). Static. Whoever has none for the first item leaves with nothing.

    Source: Sakai and Dou (2013); Jiang and Allan (2016), section 5.1.

    >>> score([1, 0, 1], C="patience(4)", A="etg")
    1.0
    """
    return np.maximum(0.0, 1 - view.E / T)


@continuation(constant_beyond_list=True, last_rank=lambda values: len(values) + (not values or values[-1] > 0))
def fixed(view: View, *values: Probability) -> Values:
    """Goes on with the probabilities given, one a rank; whoever goes on after the last sees one more item.

    C(i) = values[i−1], and 0 after the last. Static.

    Source: Moffat et al. (2022), Table 1.

    >>> round(score([0.7, 0.4, 0.0, 1.0, 0.5, 0.3], C="fixed(0.8, 1, 1, 0.7, 0.4, 0)", A="erg"), 3)
    0.518
    """
    known = np.append(np.asarray(values, float), 0.0)
    return known[np.minimum(view.i - 1, len(values)).astype(int)]
