"""Similarity of orders (τ, rank-biased overlap), names of coefficients, directions of measures, and intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from ir_measures.measures import Measure

from ..errors import BadParameter, check_known
from ..measures.counting import check_persistence
from ..measures.declarations import better_of
from ..measures.named import measure_of

Array = np.ndarray

#: Display names of the kinds of τ.
TAUS = {
    "a": "Kendall's τ_a",
    "b": "Kendall's τ_b",
    "ap": "AP correlation, τ_AP",
    "ap_symmetric": "the mean of τ_AP both ways",
}

_LONG = 1000  # number of items above which sorting (scipy, row by row) is faster than comparing all pairs
_CELLS = 1 << 15  # scores per chunk: a chunk and its signs fit into the processor's cache


def rounded(scores: Any) -> Array:
    """Return the scores rounded to 10 decimals, which removes floating-point noise."""
    return np.round(np.asarray(scores, float), 10)


def tau(x: Any, y: Any, kind: str = "b") -> Array:
    """Return Kendall's τ of two arrays of scores, from −1 (opposite order) to 1 (same order).

    With C concordant pairs, D discordant pairs, and n₂ = n(n − 1)/2 pairs in all:

    * "a": (C − D) / n₂. A tied pair counts as neither concordant nor discordant.
    * "b": (C − D) / √((n₂ − T_x)(n₂ − T_y)), where T_x and T_y are the numbers of pairs tied in x and in y. NaN if x or
      y is constant. Equal to scipy's ``kendalltau``.
    * "ap": 2/(n − 1) · Σ_{i=2..n} C(i)/(i − 1) − 1, where y is the true order. Of the i − 1 items above the i-th item
      of x, C(i) are also above it in y. Errors at the top of x therefore cost more. With ties, the mean over all ways
      to break the ties of x and of y; a tied pair contributes 0 to this mean.
    * "ap_symmetric": the mean of "ap" for (x, y) and "ap" for (y, x).

    τ is NaN if both x and y are constant. The time grows with n·log n, except for "ap", where it grows with n²: about
    2 s for 40,000 items and 9 s for 100,000.

    Parameters
    ----------
    x, y : array_like, shape (..., n)
        Scores of the same n items (n ≥ 2).
    kind : {"a", "b", "ap", "ap_symmetric"}, default="b"
        Kind of τ.

    Returns
    -------
    ndarray, shape (...)
        τ, in [−1, 1] or NaN.

    Raises
    ------
    BadParameter
        If there is no such kind, or if the last axes differ in length or have fewer than two items.

    References
    ----------
    Kendall (1945); Yilmaz, Aslam and Robertson (2008), Eq. 4 and section 3; Urbano and Marrero (2017) for ties in AP.

    Examples
    --------
    >>> x, y = [4, 3, 2, 1], [3, 4, 2, 1]  # the first two are swapped
    >>> [round(float(tau(x, y, kind)), 3) for kind in ("a", "b", "ap")]
    [0.667, 0.667, 0.333]
    """
    check_known("kind of τ", TAUS, kind=kind)
    if kind == "ap_symmetric":
        return (tau(x, y, "ap") + tau(y, x, "ap")) / 2
    x, y = _scores(x, y)
    if kind == "ap":
        found = _by_rows(_ap, x, y)
    else:
        pairs = _pairs(x)
        untied = (pairs - _tied(x)) * (pairs - _tied(y)) if kind == "b" else np.array(pairs * pairs)
        with np.errstate(invalid="ignore"):
            found = _agreement(x, y) / np.sqrt(untied)
    nothing = (x == x[..., :1]).all(axis=-1) & (y == y[..., :1]).all(axis=-1)
    return np.where(nothing | _unknown(x, y), np.nan, found)


def kendall_distance(x: Any, y: Any, tied: float = 0.5) -> Array:
    """Return Kendall's distance: the number of pairs that x and y put in opposite orders.

    A pair tied in only one of them counts as ``tied``; a pair tied in both counts as 0. With ``tied=0.5`` this distance
    is a metric, and without ties τ_a = 1 − 4K/(n(n − 1)). With ``tied=0`` only discordant pairs count.

    Parameters
    ----------
    x, y : array_like, shape (..., n)
        Scores of the same n items (n ≥ 2).
    tied : float, default=0.5
        Weight of a pair that is tied in only one of x and y.

    Returns
    -------
    ndarray, shape (...)
        Number of pairs, from 0 to n(n − 1)/2, or NaN.

    Raises
    ------
    BadParameter
        If the last axes differ in length or have fewer than two items.

    References
    ----------
    Kendall (1938); Fagin et al. (2006), section 4.

    Examples
    --------
    >>> float(kendall_distance([4, 3, 2, 1], [3, 4, 2, 1])), float(kendall_distance([2, 1], [1, 1]))
    (1.0, 0.5)
    """
    x, y = _scores(x, y)
    one, other, both = _tied(x), _tied(y), _by_rows(_tied_in_both, x, y)
    opposite = (_pairs(x) - one - other + both - _agreement(x, y)) / 2
    return np.where(_unknown(x, y), np.nan, opposite + tied * (one + other - 2 * both))


def rbo(x: Any, y: Any, p: float = 0.9, depth: int | None = None) -> Array:
    """Return the rank-biased overlap RBO_EXT of two orders of the same items, from 0 (disjoint) to 1 (identical).

    RBO = A_k·p^k + (1 − p)/p · Σ_{d=1..k} A_d·p^d, where A_d is the share of items that the first d of both orders have
    in common, and k is ``depth``. It is the expected agreement for a user who continues to the next depth with
    probability ``p``. p = 0.9 puts 86 % of the weight on the first ten ranks.

    With ties, the mean over all ways to break the ties of x and, independently, of y. An order with ties therefore
    overlaps with itself by less than 1.

    Parameters
    ----------
    x, y : array_like, shape (..., n)
        Scores of the same n items (n ≥ 2).
    p : float in (0, 1), default=0.9
        Persistence: the probability of continuing to the next depth.
    depth : int, optional
        Evaluation depth k, from 1 to n. By default n.

    Returns
    -------
    ndarray, shape (...)
        Overlap, in [0, 1] or NaN.

    Raises
    ------
    BadParameter
        If ``p`` or ``depth`` is out of range, or if the last axes differ in length or have fewer than two items.

    See Also
    --------
    pyterrier_cwla.rbo : Overlap of the rankings of documents of two runs, with bounds.

    References
    ----------
    Webber, Moffat and Zobel (2010), Eq. 23; Corsi and Urbano (2024) for ties.

    Examples
    --------
    >>> from pyterrier_cwla import studies
    >>> round(float(studies.rbo([4, 3, 2, 1], [3, 4, 2, 1])), 3)
    0.9
    """
    x, y = _scores(x, y)
    n = x.shape[-1]
    check_persistence(p)
    k = n if depth is None else depth
    if not isinstance(k, int | np.integer) or not 1 <= k <= n:
        raise BadParameter(f"depth={depth!r} must be a whole number from 1 to {n:,}, the number of ordered items.")

    found = _by_rows(lambda x, y: _overlap(*_places(x), *_places(y), _weights(p, n, int(k))), x, y)
    return np.where(_unknown(x, y), np.nan, np.clip(found, 0, 1))  # rounding may exceed the range slightly


def _scores(x: Any, y: Any) -> tuple[Array, Array]:
    x, y = rounded(x), rounded(y)
    if not x.ndim or not y.ndim or x.shape[-1] != y.shape[-1] or x.shape[-1] < 2:
        raise BadParameter(
            f"scores of shapes {x.shape} and {y.shape}: the last axes must have the same length, two or more items."
        )
    return x, y


def standardised(values: Array, weights: Array | None = None) -> Array:
    """Return values minus their mean, divided by their standard deviation, along the last axis.

    Parameters
    ----------
    values : ndarray, shape (..., n)
    weights : ndarray, shape (n,), optional
        Weights that sum to 1.

    Returns
    -------
    ndarray, shape (..., n)
        NaN if the standard deviation is 0.
    """
    w = np.full(values.shape[-1], 1 / values.shape[-1]) if weights is None else weights
    values = values - (w * values).sum(axis=-1, keepdims=True)
    spread = np.sqrt((w * values**2).sum(axis=-1, keepdims=True))
    return np.divide(values, spread, out=np.full_like(values, np.nan), where=spread > 1e-12)


def _unknown(x: Array, y: Array) -> Array:
    return np.isnan(x).any(axis=-1) | np.isnan(y).any(axis=-1)


def _pairs(x: Array) -> float:
    n = x.shape[-1]
    return n * (n - 1) / 2  # a float, because the product of two such numbers overflows an integer


def parts(number: int, at_a_time: int) -> Iterator[slice]:
    """Yield slices of at most ``at_a_time`` (at least one) that cover 0 to ``number``."""
    step = max(1, at_a_time)
    for start in range(0, number, step):
        yield slice(start, min(start + step, number))


def _by_rows(of_rows: Callable[[Array, Array], Array], x: Array, y: Array) -> Array:
    """Apply ``of_rows`` to chunks of x and y, passed as [n × rows]; map [… × n] to [...]."""
    shape, n = np.broadcast_shapes(x.shape[:-1], y.shape[:-1]), x.shape[-1]
    flat = []
    for values in (x, y):
        rows = np.arange(values.size // n).reshape(values.shape[:-1])
        flat.append((values.reshape(-1, n), np.broadcast_to(rows, shape).ravel()))
    found = np.empty(int(np.prod(shape)))
    for here in parts(len(found), _CELLS // n):
        found[here] = of_rows(*(np.ascontiguousarray(table[rows[here]].T) for table, rows in flat))
    return found.reshape(shape)


def _agreement(x: Array, y: Array) -> Array:
    """Return C − D, the number of concordant pairs minus that of discordant pairs."""
    if x.shape[-1] <= _LONG:
        return _by_rows(lambda x, y: _signs(x, y).sum(axis=0), x, y)
    from scipy.stats import kendalltau

    def of_row(x: Array, y: Array) -> float:
        untied = (_pairs(x) - _tied(x)) * (_pairs(y) - _tied(y))
        return np.round(kendalltau(x, y).statistic * np.sqrt(untied)) if untied else 0.0

    return _by_rows(lambda x, y: np.array([of_row(*row) for row in zip(x.T, y.T, strict=True)]), x, y)


def _signs(x: Array, y: Array) -> Array:
    """Count, for each item of [n × rows], the concordant minus the discordant pairs with the items before it."""
    found = np.zeros(x.shape, np.min_scalar_type(-len(x)))  # smallest integer type that holds the counts
    for apart in range(1, len(x)):
        found[apart:] += _sign(x, apart) * _sign(y, apart)
    return found


def _sign(x: Array, apart: int) -> Array:
    one, other = x[:-apart], x[apart:]
    return (one > other).view(np.int8) - (one < other).view(np.int8)


def _ap(x: Array, y: Array) -> Array:
    """Return τ_AP of [n × rows]."""
    x, y = _ordered(np.argsort(-x, axis=0, kind="stable"), x, y)
    weights = np.zeros(x.shape)
    weights[1:] = 1 / np.arange(1, len(x))[:, None]
    group = _new(x).ravel(order="F").cumsum() - 1  # groups of ties within a row
    tied = np.bincount(group, weights.ravel(order="F")) / np.bincount(group)
    return (tied[group].reshape(x.shape, order="F") * _signs(x, y)).sum(axis=0) / (len(x) - 1)


def _ordered(order: Array, *of: Array) -> tuple[Array, ...]:
    return tuple(np.take_along_axis(values, order, axis=0) for values in of)


def _new(ordered: Array) -> Array:
    """Return a mask of the positions along the first axis where the score differs from the one before."""
    new = np.ones(ordered.shape, bool)
    new[1:] = ordered[1:] != ordered[:-1]
    return new


def _tied(x: Array) -> Array:
    """Return the number of tied pairs of scores [… × n]."""
    ordered = np.moveaxis(np.sort(x, axis=-1), -1, 0)
    return _offsets(_new(ordered)).sum(axis=0)


def _offsets(new: Array) -> Array:
    """Return the position of each item within its group of ties, from 0."""
    place = np.arange(len(new)).reshape(-1, *[1] * (new.ndim - 1))
    return place - np.maximum.accumulate(np.where(new, place, 0), axis=0)


def _tied_in_both(x: Array, y: Array) -> Array:
    x, y = _ordered(np.lexsort((y, x), axis=0), x, y)
    return _offsets(_new(x) | _new(y)).sum(axis=0)


def _weights(p: float, n: int, k: int) -> Array:
    """Return cumulative weights of the depths d = 0 to n, times d⁰, d¹ and d²."""
    d = np.arange(1, n + 1)
    weights = np.where(d <= k, (1 - p) * p ** (d - 1.0) / d, 0)
    weights[k - 1] += p**k / k
    sums = np.zeros((3, n + 1))
    sums[:, 1:] = np.cumsum(weights * np.stack([d**0, d, d**2]), axis=1)
    return sums


def _overlap(above: Array, ends: Array, above_too: Array, ends_too: Array, sums: Array) -> Array:
    """Return the RBO of [n × rows].

    If an item is tied over positions a to e, a share (d − a)/(e − a) of the ways to break the tie puts it among the
    first d. For both orders together the share is the product of the two, and 1 beyond both e.
    """
    start = np.maximum(above, above_too)
    first, last = np.minimum(ends, ends_too), np.maximum(ends, ends_too)
    middle = np.maximum(start, first)
    late = np.where(ends > ends_too, above, above_too)
    nil, one, two = sums[:, middle] - sums[:, start]
    both = (two - (above + above_too) * one + above * above_too * nil) / ((ends - above) * (ends_too - above_too))
    nil, one, _ = sums[:, last] - sums[:, middle]
    return (both + (one - late * nil) / (last - late) + sums[0, -1] - sums[0, last]).sum(axis=0)


def _places(x: Array) -> tuple[Array, Array]:
    """Return, for each item of [n × rows], the number of items above it, and of those above or tied with it."""
    order = np.argsort(-x, axis=0, kind="stable")
    (ordered,), place = _ordered(order, x), np.arange(len(x))[:, None]
    above, ends = np.empty_like(order), np.empty_like(order)
    np.put_along_axis(above, order, place - _offsets(_new(ordered)), axis=0)
    np.put_along_axis(ends, order, place + 1 + _offsets(_new(ordered[::-1]))[::-1], axis=0)
    return above, ends


def times_drawn(queries: int, resamples: int, seed: int) -> Array:
    """Draw bootstrap resamples; return how often each query (user, rating) is in each: shape (queries, resamples)."""
    drawn = np.random.default_rng(seed).multinomial(queries, np.full(queries, 1 / queries), size=resamples)
    return drawn.T.astype(float)


def half_width(resampled: Array, confidence: float, units: int) -> Array:
    """Return half the width of intervals: the bootstrap standard error times the quantile of Student's t.

    For shares of significant pairs and for τ of orders of systems, the percentile bootstrap is biased: queries repeat
    in a resample, so a resample varies more by chance than a sample of other queries would. Percentile intervals are
    also too short if there are few units. In simulations of correlations with the ratings of 3, 5, 8 and 20 users,
    percentile intervals of 95 % covered the truth in 71 to 79, 88 to 91, 90 to 92 and 91 to 93 % of cases; the
    intervals computed here covered it in 92 to 97 %.

    Parameters
    ----------
    resampled : ndarray, shape (..., resamples)
        Values of the statistic in the resamples; NaN is ignored.
    confidence : float in (0, 1)
        Level of the intervals.
    units : int
        Number of resampled units: queries, users or ratings.

    Returns
    -------
    ndarray, shape (...)

    References
    ----------
    Efron and Tibshirani (1993), chapters 6 and 12.
    """
    from scipy.stats import t

    some = np.isfinite(resampled)
    n = some.sum(axis=-1)
    n = np.where(n > 1, n, np.nan)
    drawn = np.where(some, resampled, 0.0)
    above = np.where(some, drawn - (drawn.sum(axis=-1) / n)[..., None], 0.0)
    return t.ppf((1 + confidence) / 2, max(units - 1, 1)) * np.sqrt((above**2).sum(axis=-1) / (n - 1))


def around(
    value: Array | float, resampled: Array, confidence: float, units: int, lowest: float = -1.0, highest: float = 1.0
) -> Array:
    """Return intervals around ``value`` [n]: lower and upper ends [2 × n], clipped to the possible range."""
    half = half_width(resampled, confidence, units)
    return np.clip([value - half, value + half], lowest, highest)


def percentiles(drawn: Array, confidence: float) -> Array:
    """Return lower and upper ends, shape (2, n), of percentile intervals of ``drawn``, shape (n, resamples).

    Ends are NaN where all resamples are NaN.
    """
    share = (1 - confidence) / 2
    found = np.full((2, len(drawn)), np.nan)
    some = ~np.isnan(drawn).all(axis=1)
    if some.any():
        found[:, some] = np.nanquantile(drawn[some], [share, 1 - share], axis=1)
    return found


#: Display names of the correlations of scores with ratings.
CORRELATIONS = {"pearson": "Pearson's r", "spearman": "Spearman's ρ", "tau_b": "Kendall's τ_b"}

NRMSE, AGREED, AUC, DEVIANCE = "nrmse", "agreement", "auc", "deviance"
ERRORS = (NRMSE, DEVIANCE)
"""Coefficients for which a lower value is better."""
WEIGHTED = "weighted_"
_PLAIN = {**CORRELATIONS, NRMSE: "NRMSE", AGREED: "the share of agreement", AUC: "AUC", DEVIANCE: "the deviance"}


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
TESTED = (*CORRELATIONS, WEIGHTED_PEARSON, AGREED, AUC)


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
    known, given = list(known), {parameter: name}
    if name not in LABELS:
        check_known(parameter, known, **given)
    if name not in known:
        raise BadParameter(f": {why_no_other} Give one of {', '.join(known)}.", **given)
    if is_weighted(name) and weights is None:
        raise BadParameter("needs a column 'n' in the ratings: how often each rating counts.", **given)


def where_less_is_better(measures: Mapping[str, Measure]) -> list[str]:
    """Return the names of the measures of which less is better, such as costs and search lengths.

    Examples
    --------
    >>> from pyterrier_cwla import ESL, TBG
    >>> where_less_is_better({"length": ESL, "gain": TBG})
    ['length']
    """
    return [name for name, measure in measures.items() if sign_of_scores(measure) < 0]


def sign_of_scores(measure: Measure) -> float:
    """Return −1 if less is better, and 1 otherwise: scores times this factor are greater where they are better."""
    return -1.0 if better_of(measure) == "lower" else 1.0


def columns_where_less_is_better(columns: Iterable[str]) -> list[str]:
    """Return the names of columns that are texts of measures of which less is better.

    Examples
    --------
    >>> columns_where_less_is_better(["ESL(wanted=2)", "nDCG@10", "clicks"])
    ['ESL(wanted=2)']
    """
    found: dict[str, Measure] = {}
    for name in columns:
        with suppress(ValueError):  # the name of a column need not be the text of a measure
            if isinstance(name, str):
                found[name] = measure_of(name)
    return where_less_is_better(found)


def signs_of(names: Iterable[str], less_is_better: Iterable[str]) -> Array:
    """Return factors that turn scores so that greater is better: −1 where less is better, and 1 elsewhere."""
    lower = set(less_is_better)
    return np.array([-1.0 if name in lower else 1.0 for name in names])


def why_negated(less_is_better: list[str]) -> list[str]:
    """Return a sentence on measures whose scores are negated, if there are any."""
    named = ", ".join(less_is_better[:4]) + (", …" if len(less_is_better) > 4 else "")
    sentence = (
        f"Of {named}, less is better: the scores count negatively, so that a greater coefficient and a higher"
        " rank are better for all measures. Tables and axes of scores show the scores as they are."
    )
    return [sentence] if less_is_better else []


def with_direction(name: str, about: Mapping[str, Any]) -> str:
    """Return the name of a measure for the axis of its scores, which says if less is better."""
    return f"{name}, less is better" if name in about["less_is_better"] else name
