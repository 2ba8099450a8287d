"""How alike two orders are: Kendall's τ (a, b, AP-weighted), Kendall's distance, and rank-biased overlap.

Scores are rounded to 1e-10 first: noise in their last digits would break ties that are exact. Arrays in, arrays out;
the last axis is that of the things that are ordered, the highest score first, and the others broadcast. NaN among the
scores makes NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import BadParameter, near

Array = np.ndarray

#: Kinds of τ, as a sentence names them.
TAUS = {
    "a": "Kendall's τ_a",
    "b": "Kendall's τ_b",
    "ap": "AP correlation, τ_AP",
    "ap_symmetric": "the mean of τ_AP both ways",
}

_LONG = 1000  # things from which on sorting (scipy, row by row) is faster than looking at all pairs
_CELLS = 1 << 15  # scores that are at work at a time: they and their signs stay in the processor's cache


def rounded(scores: Any) -> Array:
    """Scores without what floats add to them."""
    return np.round(np.asarray(scores, float), 10)


def tau(x: Any, y: Any, kind: str = "b") -> Array:
    """Kendall's τ of scores [… × n], from −1, the opposite order, to 1, the same.

    With C pairs that x and y order alike, D that they order oppositely, and n₂ = n(n − 1)/2 pairs in all:

    * "a": (C − D) / n₂. A pair that is tied counts as neither.
    * "b": (C − D) / √((n₂ − T_x)(n₂ − T_y)), T_x and T_y the pairs that are tied in x and in y. NaN where x or y has
      only one value. scipy's ``kendalltau``.
    * "ap": 2/(n − 1) · Σ_{i=2..n} C(i)/(i − 1) − 1, y the truth: of the i − 1 things above the i-th of x, C(i) are
      rightly above it, so that errors at the top of x cost more. Ties: the mean over all ways to break those of x and
      those of y, which is 0 for the pairs that are tied.
    * "ap_symmetric": the mean of "ap" for x, y and for y, x.

    Where both have only one value there is no order, and τ is NaN. Time grows with n·log n, but of "ap" with n²: 40,000
    things take some 2 s, 100,000 some 9 s.

    Source: Kendall (1945); Yilmaz, Aslam and Robertson (2008), Eq. 4 and section 3; Urbano and Marrero (2017) for ties
    in AP.

    >>> x, y = [4, 3, 2, 1], [3, 4, 2, 1]  # the first two are swapped
    >>> [round(float(tau(x, y, kind)), 3) for kind in ("a", "b", "ap")]
    [0.667, 0.667, 0.333]
    """
    if kind not in TAUS:
        raise BadParameter(f"no τ of kind {kind!r}. {near(str(kind), TAUS)}")
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
    """Kendall's distance: the number of pairs that x and y [… × n] order oppositely.

    A pair that only one of them ties counts as ``tied``, and one that both tie as 0. With ½ this is a metric, and
    without ties τ_a = 1 − 4K/(n(n − 1)); with 0, only discordant pairs count.

    Source: Kendall (1938); Fagin et al. (2006), section 4.

    >>> float(kendall_distance([4, 3, 2, 1], [3, 4, 2, 1])), float(kendall_distance([2, 1], [1, 1]))
    (1.0, 0.5)
    """
    x, y = _scores(x, y)
    one, other, both = _tied(x), _tied(y), _by_rows(_tied_in_both, x, y)
    opposite = (_pairs(x) - one - other + both - _agreement(x, y)) / 2
    return np.where(_unknown(x, y), np.nan, opposite + tied * (one + other - 2 * both))


def rbo(x: Any, y: Any, p: float = 0.9, depth: int | None = None) -> Array:
    """Rank-biased overlap of two orders [… × n] of the same things, from 0, disjoint, to 1, the same: RBO_EXT.

    RBO = A_k·p^k + (1 − p)/p · Σ_{d=1..k} A_d·p^d, A_d the share that the first d of both have in common, and k the
    ``depth``, of all n things where there is none: what someone expects to agree who goes one deeper with probability
    ``p``. p = 0.9 puts 86 % of the weight on the first ten.

    Ties: the mean over all ways to break them in x and, independently, in y. So an order with ties does not wholly
    overlap with itself.

    Source: Webber, Moffat and Zobel (2010), Eq. 23; Corsi and Urbano (2024) for ties.

    >>> round(float(rbo([4, 3, 2, 1], [3, 4, 2, 1])), 3)
    0.9
    """
    x, y = _scores(x, y)
    n = x.shape[-1]
    if not 0 < p < 1:
        raise BadParameter(f"p={p!r}: the persistence is between 0 and 1, such as 0.9.")
    k = n if depth is None else depth
    if not isinstance(k, int | np.integer) or not 1 <= k <= n:
        raise BadParameter(f"depth={depth!r} must be a whole number from 1 to the {n:,} things that are ordered.")

    found = _by_rows(lambda x, y: _overlap(*_places(x), *_places(y), _weights(p, n, int(k))), x, y)
    return np.where(_unknown(x, y), np.nan, np.clip(found, 0, 1))  # sums of floats may end a little beyond


def _scores(x: Any, y: Any) -> tuple[Array, Array]:
    x, y = rounded(x), rounded(y)
    if not x.ndim or not y.ndim or x.shape[-1] != y.shape[-1] or x.shape[-1] < 2:
        raise BadParameter(
            f"scores of shapes {x.shape} and {y.shape}: the last axis must be that of the same two or more things."
        )
    return x, y


def standardised(values: Array, weights: Array | None = None) -> Array:
    """Less the mean and over the standard deviation along the last axis, NaN where that is 0; ``weights`` sum to 1."""
    w = np.full(values.shape[-1], 1 / values.shape[-1]) if weights is None else weights
    values = values - (w * values).sum(axis=-1, keepdims=True)
    spread = np.sqrt((w * values**2).sum(axis=-1, keepdims=True))
    return np.divide(values, spread, out=np.full_like(values, np.nan), where=spread > 1e-12)


def _unknown(x: Array, y: Array) -> Array:
    return np.isnan(x).any(axis=-1) | np.isnan(y).any(axis=-1)


def _pairs(x: Array) -> float:
    n = x.shape[-1]
    return n * (n - 1) / 2  # no integer: the product of two such numbers would be too large for one


def _by_rows(of_rows: Callable[[Array, Array], Array], x: Array, y: Array) -> Array:
    """From x and y [… × n] to numbers […]: ``of_rows`` sees some rows at a time, as [n × rows]."""
    shape, n = np.broadcast_shapes(x.shape[:-1], y.shape[:-1]), x.shape[-1]
    flat = [values.reshape(-1, n) for values in (x, y)]
    rows = [
        np.broadcast_to(np.arange(len(table)).reshape(values.shape[:-1]), shape).ravel()
        for table, values in zip(flat, (x, y), strict=True)
    ]
    found = np.empty(int(np.prod(shape)))
    step = max(1, _CELLS // n)
    for first in range(0, len(found), step):
        here = slice(first, first + step)
        found[here] = of_rows(*(np.ascontiguousarray(t[r[here]].T) for t, r in zip(flat, rows, strict=True)))
    return found.reshape(shape)


def _agreement(x: Array, y: Array) -> Array:
    """C − D."""
    if x.shape[-1] <= _LONG:
        return _by_rows(lambda x, y: _signs(x, y).sum(axis=0), x, y)
    from scipy.stats import kendalltau

    def of_row(x: Array, y: Array) -> float:
        untied = (_pairs(x) - _tied(x)) * (_pairs(y) - _tied(y))
        return np.round(kendalltau(x, y).statistic * np.sqrt(untied)) if untied else 0.0

    return _by_rows(lambda x, y: np.array([of_row(*row) for row in zip(x.T, y.T, strict=True)]), x, y)


def _signs(x: Array, y: Array) -> Array:
    """For each thing of [n × rows], with how many of those before it its pair is ordered alike, less oppositely."""
    found = np.zeros(x.shape, np.min_scalar_type(-len(x)))  # the smallest integers that can count so many
    for apart in range(1, len(x)):
        found[apart:] += _sign(x, apart) * _sign(y, apart)
    return found


def _sign(x: Array, apart: int) -> Array:
    one, other = x[:-apart], x[apart:]
    return (one > other).view(np.int8) - (one < other).view(np.int8)


def _ap(x: Array, y: Array) -> Array:
    """τ_AP of [n × rows]."""
    order = np.argsort(-x, axis=0, kind="stable")
    x, y = np.take_along_axis(x, order, axis=0), np.take_along_axis(y, order, axis=0)
    weights = np.zeros(x.shape)
    weights[1:] = 1 / np.arange(1, len(x))[:, None]
    group = _new(x).ravel(order="F").cumsum() - 1  # ties of a row
    tied = np.bincount(group, weights.ravel(order="F")) / np.bincount(group)
    return (tied[group].reshape(x.shape, order="F") * _signs(x, y)).sum(axis=0) / (len(x) - 1)


def _new(ordered: Array) -> Array:
    """Where, along the first axis, another score begins."""
    new = np.ones(ordered.shape, bool)
    new[1:] = ordered[1:] != ordered[:-1]
    return new


def _tied(x: Array) -> Array:
    """How many pairs are tied in scores [… × n]."""
    ordered = np.moveaxis(np.sort(x, axis=-1), -1, 0)
    return _offsets(_new(ordered)).sum(axis=0)


def _offsets(new: Array) -> Array:
    """How many things that are tied with it come before a thing."""
    place = np.arange(len(new)).reshape(-1, *[1] * (new.ndim - 1))
    return place - np.maximum.accumulate(np.where(new, place, 0), axis=0)


def _tied_in_both(x: Array, y: Array) -> Array:
    order = np.lexsort((y, x), axis=0)
    x, y = np.take_along_axis(x, order, axis=0), np.take_along_axis(y, order, axis=0)
    return _offsets(_new(x) | _new(y)).sum(axis=0)


def _weights(p: float, n: int, k: int) -> Array:
    """What a thing counts that both orders have among their first d: sums over d from 0 to n, times d⁰, d¹, d²."""
    d = np.arange(1, n + 1)
    weights = np.where(d <= k, (1 - p) * p ** (d - 1.0) / d, 0)
    weights[k - 1] += p**k / k
    sums = np.zeros((3, n + 1))
    sums[:, 1:] = np.cumsum(weights * np.stack([d**0, d, d**2]), axis=1)
    return sums


def _overlap(above: Array, ends: Array, above_too: Array, ends_too: Array, sums: Array) -> Array:
    """RBO of [n × rows]: where things tie from a to e, (d − a)/(e − a) of the ways to break ties have one among the
    first d; of both orders together the product, and 1 beyond both e.
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
    """For each thing of [n × rows], how many are above it, and how many are above what is below it."""
    order = np.argsort(-x, axis=0, kind="stable")
    ordered = np.take_along_axis(x, order, axis=0)
    place = np.arange(len(x))[:, None]
    above, ends = np.empty_like(order), np.empty_like(order)
    np.put_along_axis(above, order, place - _offsets(_new(ordered)), axis=0)
    np.put_along_axis(ends, order, place + 1 + _offsets(_new(ordered[::-1]))[::-1], axis=0)
    return above, ends
