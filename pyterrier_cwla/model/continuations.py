"""Continuation functions: C(i), the probability that a user goes on from rank i to rank i+1."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from ..data.columns import Floats
from ..errors import BadParameter, NoFiniteValue
from .language import (
    FLAG,
    BelowOne,
    Grade,
    In,
    Named,
    NotNegative,
    OneOf,
    Positive,
    Probability,
    Rank,
    Spec,
    decorator,
)
from .view import Values, View, before

continuation = decorator(
    "continuation",
    """Register a function of a view as a continuation.

    Use it as ``@continuation`` or with keyword arguments, ``@continuation(constant_beyond_list=True)``. The function is
    called with a view (:class:`pyterrier_cwla.model.view.View`) and returns C(i), the probability of going on from rank
    i to rank i+1, for every query and rank. Its other arguments are parameters of the continuation. The keyword
    arguments are facts about the function. All are optional; they make scores faster or exact.

    Parameters
    ----------
    version : str or int, optional
        Version of the function. With a version, results may be cached (``cache_dir=``). Change it whenever the results
        of the function change.
    constant_beyond_list : bool, default=False
        Whether C is the same at every rank after the list.
    ignores_zero_gain : bool, default=False
        Whether C is 1 at every item without gain.
    eventually_leaves : bool, default=False
        Whether V goes to 0 for every ranking in which all efforts are positive.
    last_rank : callable, optional
        Function of the parameters that returns the last rank that any user sees, as in ``last_rank=lambda k: k``.
    gives_survival : bool, default=False
        Whether the function returns V(i), the share of users who see item i, instead of C(i). V(1) may be below 1: the
        other users leave with nothing.

    Returns
    -------
    Part
        The continuation. A call with parameters returns the continuation with these parameters, for ``C=`` of measures.

    Raises
    ------
    BadParameter
        If a built-in continuation has the same name, or if a fact is unknown or of the wrong type.

    Examples
    --------
    >>> from pyterrier_cwla import continuation, score
    >>> @continuation
    ... def bored(view, after: float):
    ...     return after / (after + view.i)
    >>> round(score([1, 0, 1], C="bored(2)", A="etg"), 4)
    1.3333
    """,
)

Wanted = Annotated[float, In("[0.5, inf)")]
#: Bernoulli numbers B₂, B₄, …
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
Total = Annotated[str, OneOf("judged", "ranking")]


@continuation(constant_beyond_list=True, last_rank=lambda k: k)
def prec(view: View, k: Rank) -> Values:
    """Read exactly k items.

    C(i) = 1 for i < k, else 0. Static. V⁺ = k.

    Parameters
    ----------
    k : int of at least 1
        Last rank.

    References
    ----------
    Moffat et al. (2022), Eq. 7.

    Examples
    --------
    >>> score([1, 0, 1], C="prec(4)", A="erg")
    0.5
    """
    return (view.i < k).astype(float)


@continuation(constant_beyond_list=True, eventually_leaves=True)
def rbp(view: View, phi: BelowOne) -> Values:
    """Continue with the same probability after every item.

    C(i) = φ. Static. V⁺ = 1/(1−φ).

    Parameters
    ----------
    phi : float in [0, 1)
        Persistence: the probability of going on to the next item.

    References
    ----------
    Moffat and Zobel (2008); Moffat et al. (2022), Eq. 8.

    Examples
    --------
    >>> score([1, 0, 1], C="rbp(0.5)", A="erg")
    0.625
    """
    return phi


@continuation(vanishes=True, last_rank=lambda k: k)
def dcg(view: View, k: Rank | None = None) -> Values:
    """Continue with a probability that rises with the rank, so that a share of 1/log2(i+1) of the users sees rank i.

    C(i) = log2(i+1)/log2(i+2) for i < k, else 0. Static. V⁺ = Σ_{i≤k} 1/log2(i+1), infinite without k.

    Parameters
    ----------
    k : int of at least 1, optional
        Last rank; by default there is none.

    References
    ----------
    Järvelin and Kekäläinen (2002); Moffat et al. (2022), Eq. 9.

    Examples
    --------
    >>> score([1, 0, 1], C="dcg", A="etg")
    1.5
    """
    C = np.log2(view.i + 1) / np.log2(view.i + 2)
    return C if k is None else np.where(view.i < k, C, 0.0)


def _ap1_beyond(view: View, V: Floats, R: str, rel: int | None) -> Floats:
    view = view.at_least(rel)
    mass = view.discounted(_reciprocal)[..., -1:]
    lacking = np.maximum(view.total - view.found, 0) if R == "judged" else 0 * mass
    return np.divide(lacking, mass, out=np.full_like(mass, np.inf), where=mass > 0)


def _reciprocal(i: Floats) -> Floats:
    return 1 / i


@continuation(
    constant_beyond_list=True,
    ignores_zero_gain=True,
    items_beyond=_ap1_beyond,
    gains_from_0=lambda R, rel: rel is None,
)
def ap1(view: View, R: Total = "judged", rel: Grade | None = None) -> Values:
    """Continue with the share of the remaining gain that is after rank i, where each gain is divided by its rank.

    C(i) = Σ_{j>i} r_j/j / Σ_{j≥i} r_j/j. V⁺ = R / Σ r_j/j. R="judged": gain that was not retrieved is at infinite rank;
    R="ranking": only gain in the ranking counts. Without any gain nobody stops.

    Parameters
    ----------
    R : {"judged", "ranking"}, default="judged"
        Gain that counts: the gain of all judged documents, or of the ranking alone.
    rel : int of at least 1, optional
        Lowest relevant grade, if gains are replaced by binary relevance.

    References
    ----------
    Moffat et al. (2022), Eq. 10.

    Examples
    --------
    >>> score([1, 0, 1], C="ap1", A="erg")
    0.8333333333333333
    """
    view = view.at_least(rel)
    sums = view.discounted(_reciprocal)
    whole = sums[..., -1:]
    left, left_before = whole - sums, whole - before(sums)
    C: Floats = np.broadcast_to(view.found <= 0, left.shape).astype(float)  # without gain nobody stops
    return np.divide(left, left_before, out=C, where=left_before > 0)


_OUT_OF_REACH = 1e30  # total gain of queries without any gain, so that nobody stops; also as float32


@continuation(constant_beyond_list=True, ignores_zero_gain=True, gains_from_0=lambda R, rel: rel is None)
def ap2(view: View, R: Total = "judged", rel: Grade | None = None) -> Values:
    """Choose one unit of the total gain at random, and leave at its item.

    C(i) = (R − G(i)) / (R − G(i−1)), R the total gain. R="judged": users who choose gain that was not retrieved never
    leave; R="ranking": only gain in the ranking counts. Without any gain nobody stops.

    Parameters
    ----------
    R : {"judged", "ranking"}, default="judged"
        Gain that counts: the gain of all judged documents, or of the ranking alone.
    rel : int of at least 1, optional
        Lowest relevant grade, if gains are replaced by binary relevance.

    References
    ----------
    Moffat et al. (2022), Eq. 22.

    Examples
    --------
    >>> score([1, 0, 1], C="ap2", A="avg")
    0.8333333333333333
    """
    view = view.at_least(rel)
    total = view.total if R == "judged" else view.found
    total = np.where(total > 0, total, _OUT_OF_REACH)
    rounding = 1e-12 * total
    left, left_before = total - view.G, np.maximum(total - view.G_before, rounding)
    left *= left > rounding
    return left / left_before


@continuation(
    constant_beyond_list=True,
    ignores_zero_gain=True,
    satisfied_by_gain=True,
    gains_up_to_1=lambda rel: rel is None,
    gains_from_0=lambda rel: rel is None,
)
def rr(view: View, rel: Grade | None = None) -> Values:
    """Leave when satisfied, with the gain as probability.

    C(i) = 1 − r_i. Adaptive. V⁺ is infinite where no r_i is 1.

    Parameters
    ----------
    rel : int of at least 1, optional
        Lowest relevant grade, if gains are replaced by binary relevance.

    References
    ----------
    Moffat et al. (2022), Eq. 12; Chapelle et al. (2009), Eq. 5.

    Examples
    --------
    >>> score([0, 0.5, 1], C="rr", A="err")
    0.41666666666666663
    """
    return 1 - view.at_least(rel).r


@continuation(
    constant_beyond_list=True,
    satisfied_by_gain=True,
    gains_up_to_1=lambda gamma, rel: rel is None,
    gains_from_0=lambda gamma, rel: rel is None,
)
def cascade(view: View, gamma: Probability, rel: Grade | None = None) -> Values:
    """Leave when satisfied, and otherwise give up with probability 1 − γ.

    C(i) = γ(1 − r_i). Adaptive.

    Parameters
    ----------
    gamma : float in [0, 1]
        Probability that an unsatisfied user goes on.
    rel : int of at least 1, optional
        Lowest relevant grade, if gains are replaced by binary relevance.

    References
    ----------
    Chapelle et al. (2009), section 7.2.

    Examples
    --------
    >>> score([0, 1], C="cascade(0.5)", A="etg")
    0.5
    """
    return gamma * (1 - view.at_least(rel).r)


def _trigamma(y: Floats) -> Floats:
    """Return ψ′(y) = Σ_{k≥0} 1/(y+k)² for y > 0: ten terms, and the others by the Euler-Maclaurin formula.

    It is ten times as fast as scipy.special.polygamma(1, y).
    """
    far = y + 10
    rest = sum(number / far ** (2 * k + 1) for k, number in enumerate(BERNOULLI, start=1))
    return sum(1 / (y + k) ** 2 for k in range(10)) + 1 / far + 1 / (2 * far**2) + rest


def _inverse_square_beyond(y: Floats, V: Floats) -> Floats:
    """Return ΣV for C = ((y+m−1)/(y+m))² at the m-th rank after the list: V·y²·ψ′(y), ψ′ the trigamma function."""
    return V * y**2 * _trigamma(y)


def _inverse_square_between(y: Floats, m: Floats) -> tuple[Floats, Floats]:
    """Return Π C and ΣV for C = ((y+j−1)/(y+j))² at the j-th of m items: (y/(y+m))² and y²·(ψ′(y) − ψ′(y+m))."""
    return (y / (y + m)) ** 2, y**2 * (_trigamma(y) - _trigamma(y + m))


@continuation(
    items_beyond=lambda view, V, T, rel: _inverse_square_beyond(_inst_y(view.beyond([[0.0]]), T, rel), V),
    items_between=lambda view, m, T, rel: _inverse_square_between(_inst_y(view, T, rel), m),
    gains_up_to_1=lambda T, rel: rel is None,
)
def inst(view: View, T: Wanted, rel: Grade | None = None) -> Values:
    """Continue with a probability that rises with the rank and with the part of gain T that is still missing.

    C(i) = ((i + T + T_i − 1) / (i + T + T_i))², T_i = T − G(i). Adaptive.

    Parameters
    ----------
    T : float of at least 0.5
        Gain that the user wants.
    rel : int of at least 1, optional
        Lowest relevant grade, if gains are replaced by binary relevance.

    References
    ----------
    Moffat et al. (2017); Moffat et al. (2022), Eq. 13.

    Examples
    --------
    >>> round(score([1, 0, 1], C="inst(1)", A="erg"), 4)
    0.7231
    """
    y = _inst_y(view, T, rel)
    return ((y - 1) / y) ** 2


def _inst_y(view: View, T: float, rel: int | None) -> Floats:
    return view.i + 2 * T - view.at_least(rel).G


@continuation(
    items_beyond=lambda view, V, T: _inverse_square_beyond(view.i[..., -1:] + 2 * T, V),
    items_between=lambda view, m, T: _inverse_square_between(view.i + 2 * T, m),
)
def insq(view: View, T: Wanted) -> Values:
    """Continue with a probability that rises with the rank and with T, the number of relevant documents wanted.

    C(i) = ((i + 2T − 1) / (i + 2T))². Static.

    Parameters
    ----------
    T : float of at least 0.5
        Number of relevant documents that the user wants.

    References
    ----------
    Moffat, Scholer and Thomas (2012).

    Examples
    --------
    >>> round(score([1, 0, 1], C="insq(1)", A="erg"), 4)
    0.4845
    """
    y = view.i + 2 * T
    return ((y - 1) / y) ** 2


@continuation(
    constant_beyond_list=True,
    eventually_leaves=True,
    loss=lambda half_life: lambda effort: 1 - np.exp2(-effort / half_life),
)
def decay(view: View, half_life: Positive = 224) -> Values:
    """Continue with a probability that halves with every half_life of effort.

    C(i) = 2^(−e_i/h), so that V(i) = 2^(−E(i−1)/h).

    Parameters
    ----------
    half_life : float above 0, default=224
        h, the effort after which half of the users have left, in the unit of the effort (for example seconds).

    References
    ----------
    Smucker and Clarke (2012), Eq. 7.

    Examples
    --------
    >>> score([0, 1], C="decay(1)", A="etg")
    0.5
    """
    C: Values = np.exp2(-view.e / half_life)
    if np.any((C == 1) & (view.e > 0)):
        raise NoFiniteValue(
            f"half_life={half_life} is too large for these efforts: 2^(−effort/half_life) rounds to 1, so that nobody"
            " leaves."
        )
    return C


_law = continuation(gives_survival=True, vanishes=True, eventually_leaves=True)


@_law
def weibull(view: View, shape: Positive, scale: Positive) -> Values:
    """Leave after an effort with a Weibull distribution; for shapes below 1, users leave ever more slowly.

    V(i) = exp(−(E(i−1)/scale)^shape), C(i) = V(i+1)/V(i). Static. With shape 1 it is ``decay(scale·ln 2)``.

    Parameters
    ----------
    shape : float above 0
        Shape. Below 1 the rate of leaving falls with the effort spent; above 1 it rises.
    scale : float above 0
        Effort after which a share 1/e of the users is left, in the unit of the effort (for example seconds).

    References
    ----------
    Liu, White and Dumais (2010), on the time that users stay on pages.

    Examples
    --------
    >>> round(score([0, 1], C="weibull(2, 1)", A="etg"), 4)
    0.3679
    """
    with np.errstate(over="ignore"):
        return np.exp(-((view.E_before / scale) ** shape))


@_law
def log_logistic(view: View, shape: Positive, scale: Positive) -> Values:
    """Leave after an effort that has a log-logistic distribution; half of the users leave before the effort scale.

    V(i) = 1/(1 + (E(i−1)/scale)^shape), C(i) = V(i+1)/V(i). Static. V⁺ is infinite for a shape of at most 1.

    Parameters
    ----------
    shape : float above 0
        Shape: the share of users who are left falls like E^(−shape) in the end.
    scale : float above 0
        Effort after which half of the users have left, in the unit of the effort (for example seconds).

    References
    ----------
    Bennett (1983), on the distribution.

    Examples
    --------
    >>> score([0, 1], C="log_logistic(1, 3)", A="etg")
    0.75
    """
    with np.errstate(over="ignore"):
        return 1 / (1 + (view.E_before / scale) ** shape)


@_law
def log_normal(view: View, shape: Positive, scale: Positive) -> Values:
    """Leave after an effort whose logarithm has a normal distribution, with half of the users before the effort scale.

    V(i) = Φ(−ln(E(i−1)/scale)/shape), Φ the normal distribution function; C(i) = V(i+1)/V(i). Static.

    Parameters
    ----------
    shape : float above 0
        Standard deviation of the logarithm of the effort.
    scale : float above 0
        Effort after which half of the users have left, in the unit of the effort (for example seconds).

    References
    ----------
    Aitchison and Brown (1957), on the distribution.

    Examples
    --------
    >>> score([0, 1], C="log_normal(1.5, 1)", A="etg")
    0.5
    """
    from scipy.special import ndtr

    with np.errstate(divide="ignore", over="ignore"):
        V: Floats = ndtr(-np.log(view.E_before / scale) / shape)
    return V


@_law
def hyperbolic(view: View, shape: Positive, scale: Positive) -> Values:
    """Leave at a rate that falls hyperbolically with the effort spent: some users are patient, others are not.

    V(i) = (1 + E(i−1)/scale)^(−shape), C(i) = V(i+1)/V(i). Static. The users of ``decay`` with gamma-distributed rates
    of leaving. V⁺ is infinite for a shape of at most 1.

    Parameters
    ----------
    shape : float above 0
        Shape: the share of users who are left falls like E^(−shape) in the end.
    scale : float above 0
        Scale, in the unit of the effort (for example seconds). The rate of leaving is shape/(scale + E).

    References
    ----------
    Lomax (1954), on the distribution.

    Examples
    --------
    >>> score([0, 1], C="hyperbolic(1, 3)", A="etg")
    0.75
    """
    return np.exp(-shape * np.log1p(view.E_before / scale))


@continuation(constant_beyond_list=True, last_rank=lambda k: k)
def carterette1(view: View, k: Rank) -> Values:
    """Continue with a probability that rises with the rank, so that a share of 1/i of the users sees rank i, up to k.

    C(i) = i/(i+1) for i < k, else 0. Static. V⁺ = Σ_{i≤k} 1/i.

    Parameters
    ----------
    k : int of at least 1
        Last rank.

    References
    ----------
    Carterette (2011); Moffat et al. (2022), section 3.

    Examples
    --------
    >>> score([0, 1], C="carterette1(2)", A="etg")
    0.5
    """
    return np.where(view.i < k, view.i / (view.i + 1), 0.0)


@continuation(constant_beyond_list=True, last_rank=lambda beta, k: k)
def economic(view: View, beta: Annotated[float, In("(0, 1]")], k: Rank) -> Values:
    """Continue down to rank k so that each further item is worth less: i equally good items are worth (i+1)^β − 1.

    C(i) = w(i+1)/w(i) for i < k, else 0, where w(i) = (i+1)^β − i^β. Static. V⁺ = ((k+1)^β − 1)/(2^β − 1). With β = 1
    it is ``prec(k)``. The ranks of Azzopardi's total gain g(i) = i^β are counted from 2, as in cwl_eval.

    Parameters
    ----------
    beta : float in (0, 1]
        Exponent: the lower, the faster the returns of further items diminish.
    k : int of at least 1
        Last rank.

    References
    ----------
    Azzopardi (2014), as SETCWLMetric of cwl_eval computes it.

    Examples
    --------
    >>> round(score([1, 0, 1], C="economic(0.5, 3)", A="erg"), 4)
    0.6822
    """

    def w(i: Values) -> Values:  # a difference of powers would lose digits at high ranks
        return i**beta * np.expm1(beta * np.log1p(1 / i))

    return np.where(view.i < k, np.minimum(w(view.i + 1) / w(view.i), 1.0), 0.0)  # without rounding above 1


@continuation(constant_beyond_list=True, last_rank=lambda k, rel: k, gains_from_0=lambda k, rel: rel is None)
def carterette2(view: View, k: Rank, rel: Grade | None = None) -> Values:
    """Continue after every item without gain, and after others with a probability that rises with the gain found.

    C(i) = 1 where r_i = 0, else G(i)/(G(i)+1); 0 from rank k on. Adaptive.

    Parameters
    ----------
    k : int of at least 1
        Last rank.
    rel : int of at least 1, optional
        Lowest relevant grade, if gains are replaced by binary relevance.

    References
    ----------
    Carterette (2011); Moffat et al. (2022), section 3.

    Examples
    --------
    >>> score([1, 1], C="carterette2(2)", A="etg")
    1.5
    """
    seen = view.at_least(rel)
    return np.where(view.i < k, np.where(seen.r == 0, 1.0, seen.G / (seen.G + 1)), 0.0)


@continuation(constant_beyond_list=True, ignores_zero_gain=True, gains_from_0=lambda theta, rel: rel is None)
def carterette3(view: View, theta: Probability, rel: Grade | None = None) -> Values:
    """Leave with the same probability at every item with gain, and at no other item.

    C(i) = 1 − θ where r_i > 0, else 1. Adaptive. (The paper prints 0 instead of 1.)

    Parameters
    ----------
    theta : float in [0, 1]
        Probability of leaving at an item with gain.
    rel : int of at least 1, optional
        Lowest relevant grade, if gains are replaced by binary relevance.

    References
    ----------
    Carterette (2011), Model 3; Moffat et al. (2022), section 3.

    Examples
    --------
    >>> score([0, 1, 1], C="carterette3(0.5)", A="err")
    0.3333333333333333
    """
    return np.where(view.at_least(rel).r > 0, 1 - theta, 1.0)


def _product_of_facts(name: str, first: Spec, second: Spec) -> Any:
    one, other = first.fact(name), second.fact(name)
    if name in ("constant_beyond_list", "ignores_zero_gain"):
        return one and other
    if name in ("gains_up_to_1", "gains_from_0"):
        return lambda: any(fact() for fact in (one, other) if fact)
    if name in ("vanishes", "eventually_leaves"):  # users who leave under either factor leave under the product
        return one or other
    if name == "last_rank":
        ranks = [rank for rank in (fact() for fact in (one, other) if fact) if rank]
        return (lambda: min(ranks)) if ranks else None
    if name in ("items_beyond", "items_between"):  # a factor that is 1 at items without gain does not count there
        return other if first.fact("ignores_zero_gain") else one if second.fact("ignores_zero_gain") else None
    return None


@continuation(of_parts=_product_of_facts)
def product(
    view: View, first: Annotated[Spec, Named("continuation")], second: Annotated[Spec, Named("continuation")]
) -> Values:
    """Continue if two independent decisions are both to continue.

    C(i) = C₁(i)·C₂(i). ap1 (missing gain at infinite rank), patience and budget (they define V) cannot be factors.

    Parameters
    ----------
    first, second : Spec or str
        Continuations C₁ and C₂.

    References
    ----------
    Azzopardi, Mackenzie and Moffat (2021).

    Examples
    --------
    >>> round(score([0.5, 1], C="product(rr, rbp(0.8))", A="erg"), 4)
    0.6429
    """
    for factor in (first, second):
        passes_to_infinity = factor.fact("ignores_zero_gain") and factor.fact("items_beyond")  # to unretrieved gain
        if factor.fact("gives_survival") or passes_to_infinity:
            raise BadParameter(
                f"C='product({first},{second})': {factor.name} defines more than the probability C, and so cannot be a"
                f" factor of a product; use C='{factor}' alone."
            )
    C: Values = first(view) * second(view)
    return C


def _bpm_further(view: View, T: float, K: float, h_b: float, h_c: float, m: float) -> Floats:
    """Return the number of items without gain that users see after each item: up to the first with C = 0."""
    n, G, E, e = (np.asarray(values, float) for values in (view.i, view.G, view.E, view.after_each(1).e))
    moved = G - m * (n - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_gain = np.where(h_b * m > 0, (T + h_b * moved - G) / (h_b * m), np.where(T + h_b * moved > G, np.inf, 1))
        by_effort = np.where(e + h_c * m > 0, (K + h_c * moved - E) / (e + h_c * m), np.inf)
        items = np.maximum(np.ceil(np.minimum(by_gain, by_effort)), 1)
    fewer = np.where(np.isfinite(items), np.maximum(items - 1, 1), 1)  # rounding may raise a quotient above an integer
    return np.where(bpm.function(view.after_each(fewer), T, K, h_b, h_c, m) == 0, fewer, items)


def _bpm_beyond(view: View, V: Floats, **limits: float) -> Floats:
    items = _bpm_further(view.beyond([[0.0]]), **limits)
    return np.where(V > 0, V * np.where(V > 0, items, 0), 0)


def _bpm_between(view: View, gap: Floats, **limits: float) -> tuple[Floats, Floats]:
    items = _bpm_further(view, **limits)
    return (items > gap).astype(float), np.minimum(items, gap)


@continuation(items_beyond=_bpm_beyond, items_between=_bpm_between)
def bpm(
    view: View, T: Positive, K: Positive, h_b: NotNegative = 0, h_c: NotNegative = 0, m: NotNegative = 0.5
) -> Values:
    """Continue while the gain is below one limit and the effort below another; both may change with the gain found.

    C(i) = 1 while G(i) < T_i and E(i) < K_i, else 0; T_i = T + h_b·Σ_{j<i}(r_j − m), K_i = K + h_c·Σ_{j<i}(r_j − m).
    Static where h_b and h_c are 0, dynamic otherwise. Adaptive.

    Parameters
    ----------
    T : float above 0
        Limit of the gain.
    K : float above 0
        Limit of the effort, in the unit of the effort.
    h_b, h_c : float of at least 0, default=0
        Changes of the limits of gain and effort per unit of gain above `m`.
    m : float of at least 0, default=0.5
        Gain of an item that changes no limit.

    References
    ----------
    Zhang et al. (2017).

    Examples
    --------
    >>> score([0, 1, 1], C="bpm(1, 10)", A="erg")
    0.5
    """
    # The tolerance makes six gains of 1/3 equal T=2, and 21 efforts of 0.3 equal K=6.3, despite rounding. It is a
    # share of the sum of all amounts, so that the gains before and m count with different factors.
    less, more = 1 - 1e-12, 1 + 1e-12
    lowered = m * more * (view.i - 1)
    raised = np.minimum(less * view.G_before, more * view.G_before)  # also if the sum is negative
    wanted = h_b * raised + (T * less - h_b * lowered) > view.G
    left = h_c * raised + (K * less - h_c * lowered) > view.E
    return (wanted & left).astype(float)


@continuation(constant_beyond_list=True)
def ift_goal(view: View, T: Positive, b1: Positive = 0.9, R1: NotNegative = 10) -> Values:
    """Continue with a probability that falls as the gain approaches the goal T.

    C(i) = 1 − 1/(1 + b₁·exp((T − G(i))·R₁)). Adaptive. (C is exactly 1 in floating-point numbers, so that nobody
    leaves, where T − G(i) > 37/R₁.)

    Parameters
    ----------
    T : float above 0
        Gain that the user wants.
    b1 : float above 0, default=0.9
        b₁ of the logistic function.
    R1 : float of at least 0, default=10
        R₁, the steepness of the logistic function.

    References
    ----------
    Azzopardi, Thomas and Craswell (2018).

    Examples
    --------
    >>> round(score([1, 0, 1], C="ift_goal(1, 0.9, 1)", A="erg"), 4)
    0.6908
    """
    return _logistic(view.G * R1 - (T * R1 + np.log(b1)))


@continuation
def ift_rate(view: View, A: NotNegative, b2: Positive = 0.9, R2: NotNegative = 10) -> Values:
    """Continue with a probability that rises with the gain per effort, relative to an expected rate A.

    C(i) = 1/(1 + b₂·exp((A − G(i)/E(i))·R₂)). Adaptive.

    Parameters
    ----------
    A : float of at least 0
        Expected gain per unit of effort.
    b2 : float above 0, default=0.9
        b₂ of the logistic function.
    R2 : float of at least 0, default=10
        R₂, the steepness of the logistic function.

    References
    ----------
    Azzopardi, Thomas and Craswell (2018).

    Examples
    --------
    >>> round(score([1, 0, 1], C="ift_rate(0.2, 0.9, 1)", A="erg"), 4)
    0.5124
    """
    slope = -R2 / np.where(view.E > 0, view.E, np.inf)  # per gain; without effort the rate counts as 0
    return _logistic(view.G * slope + (A * R2 + np.log(b2)))


def _logistic(x: Floats) -> Floats:
    """Return 1/(1 + exp(x)) in the memory of x, several times as fast as scipy.special.expit of −x."""
    with np.errstate(over="ignore"):
        np.exp(x, out=x)
    x += 1
    return np.divide(1, x, out=x)


def _patience_beyond(view: View, V: Floats, T: float) -> Floats:
    """Return Σ_m max(0, V − (m−1)·e/T) over the items after the list."""
    if not V.any():
        return V  # the cost of unseen items may be unknown
    step = np.asarray(view.beyond([[1.0]]).e, float) / T
    with np.errstate(divide="ignore", invalid="ignore"):
        m = np.where(step > 0, np.ceil(V / step), np.where(V > 0, np.inf, 0.0))
        return np.where(np.isinf(m), np.inf, m * V - step * m * (m - 1) / 2)


@continuation(gives_survival=True, items_beyond=_patience_beyond, eventually_leaves=True)
def patience(view: View, T: Positive) -> Values:
    """Stop when the effort exceeds a patience that is uniform in [0, T]; only items read to their end have gain.

    V(i) = max(0, 1 − E(i)/T). Static. Users without patience for the first item leave with nothing. They leave at all
    times before T; under ``budget(T)``, all users go on until an item does not fit into T.

    Parameters
    ----------
    T : float above 0
        Highest patience, in the unit of the effort.

    References
    ----------
    Sakai and Dou (2013); Jiang and Allan (2016), section 5.1.

    Examples
    --------
    >>> score([1, 0, 1], C="patience(4)", A="etg")
    1.0
    """
    return np.maximum(0.0, 1 - view.E / T)


_FITS = 1 + 1e-12  # 21 efforts of 0.3 fit into T=6.3, despite rounding


def _budget_beyond(view: View, V: Floats, T: float, partial: bool) -> Floats:
    """Return how often the effort of an unseen item fits into what is left of T after the list."""
    if not V.any():
        return V  # the cost of unseen items may be unknown
    e = np.asarray(view.beyond([[1.0]]).e, float)
    left = np.maximum(T * (1 if partial else _FITS) - view.E[..., -1:], 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        items = np.where(e > 0, left / e, np.inf)
    return np.where(V > 0, items if partial else np.floor(items), 0.0)


@continuation(
    gives_survival=True,
    items_beyond=_budget_beyond,
    eventually_leaves=True,
    loss=lambda T, partial: (lambda effort: effort) if partial else None,
)
def budget(view: View, T: Positive, partial: Annotated[bool, FLAG] = False) -> Values:
    """Read the items that fit into a budget T of effort, such as a context window; stop at the first that does not fit.

    V(i) = 1 where E(i) ≤ T, else 0. With partial: V(i) = (T − E(i−1))/e_i, at least 0 and at most 1. Static. If the
    first item does not fit, users leave with nothing. All users have the same T; under ``patience(T)``, users leave at
    all times before T.

    Parameters
    ----------
    T : float above 0
        Budget, in the unit of the effort (for example tokens).
    partial : bool, default=False
        Whether a share of the users, (T − E(i−1))/e_i, reads the first item that does not fit. With etg and
        erg, the score is the same as if all users read this share of the item.

    Notes
    -----
    The ideal ranking is a knapsack problem. It is exact with ``partial`` and ``etg`` or ``smeared`` if there is no
    cutoff: by falling gain per effort. In all other cases it is by falling gain, and a score may exceed it.

    Examples
    --------
    >>> score([1, 0, 1], C="budget(5)", A="etg", efforts=[2, 1, 4], end="stop")
    1.0
    >>> score([1, 0, 1], C="budget(5, partial=True)", A="etg", efforts=[2, 1, 4], end="stop")
    1.5
    """
    fits = view.E <= T * _FITS
    if not partial:
        return fits.astype(float)
    left, e = T - view.E_before, view.E - view.E_before
    share = np.clip(np.divide(left, e, out=np.zeros(np.shape(e)), where=e > 0), 0, 1)
    return np.where(fits, 1.0, share)


@continuation(constant_beyond_list=True, last_rank=lambda values: len(values) + (not values or values[-1] > 0))
def fixed(view: View, *values: Probability) -> Values:
    """Continue with given probabilities, one per rank; users who go on after the last one see one more item.

    C(i) = values[i−1], and 0 after the last. Static.

    Parameters
    ----------
    *values : float in [0, 1]
        C at ranks 1, 2, ….

    References
    ----------
    Moffat et al. (2022), Table 1.

    Examples
    --------
    >>> round(score([0.7, 0.4, 0.0, 1.0, 0.5, 0.3], C="fixed(0.8, 1, 1, 0.7, 0.4, 0)", A="erg"), 3)
    0.518
    """
    C: Floats = np.append(np.asarray(values, float), 0.0)[np.minimum(view.i - 1, len(values)).astype(int)]
    return C
