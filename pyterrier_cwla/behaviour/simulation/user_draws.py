"""Random draws of simulated users: patience, clicks, saves and reading times."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256

import numpy as np

from ...data.arrays import Array
from ...data.rankings import Rankings
from ...errors import BadParameter, near
from ...model.efforts import grade_time, time
from ...model.language import Spec
from ...model.metric import Metric
from ...model.view_columns import view_of_ranks

BLOCK = 1 << 15  # users per random stream; even, because antithetic users come in pairs
_STEP = np.float32(2.0**-24)  # distance of neighbouring draws
SAMPLINGS = ("plain", "antithetic", "stratified")
_PIECE = 16  # ranks per piece of draws
_CLASSES = (1 << 32) - 1  # number of the random stream that draws the classes of users


@dataclass(frozen=True)
class Reading:
    """Distribution of reading times around their mean, with mean 1.

    Attributes
    ----------
    name : str
        Name with parameters.
    quantile : callable
        Quantile function, from [0, 1) to multiples of the mean.
    laplace : callable
        Laplace transform, s ↦ E[exp(−s·X)].
    """

    name: str
    quantile: Callable[[Array], Array]
    laplace: Callable[[Array], Array]

    def __str__(self) -> str:
        return self.name


def _fixed() -> Reading:
    return Reading("fixed", np.ones_like, lambda s: np.exp(-s))


def _exponential() -> Reading:
    return Reading("exponential", lambda u: -np.log(1 - u), lambda s: 1 / (1 + s))


def _gamma(shape: float) -> Reading:
    from scipy.special import gammaincinv

    def exact(u: Array) -> Array:
        return gammaincinv(shape, u) / shape

    return Reading(f"gamma({shape:g})", _tabled(exact), lambda s: (1 + s / shape) ** -shape)


def _lognormal(sigma: float) -> Reading:
    from scipy.special import ndtri

    nodes, weights = np.polynomial.hermite_e.hermegauss(180)
    values, weights = np.exp(sigma * nodes - sigma**2 / 2), weights / weights.sum()

    def exact(u: Array) -> Array:
        return np.exp(sigma * ndtri(np.maximum(u, _STEP / 2)) - sigma**2 / 2)

    def laplace(s: Array) -> Array:
        return np.exp(-np.asarray(s, float)[..., None] * values) @ weights

    return Reading(f"lognormal({sigma:g})", _tabled(exact), laplace)


_ALONE: dict[str, Callable[[], Reading]] = {"fixed": _fixed, "exponential": _exponential}
_WITH: dict[str, tuple[Callable[[float], Reading], str, float, float]] = {
    "gamma": (_gamma, "shape", 0.1, 1000),
    "lognormal": (
        _lognormal,
        "sigma",
        0.01,
        1.5,
    ),  # for larger values, the mean depends on a tail that draws rarely reach
}
_WRITTEN = ", ".join([*map(repr, _ALONE), *(f"'{name}({parameter})'" for name, (_, parameter, *_) in _WITH.items())])
_CELLS, _OUTER = (
    1 << 14,
    32,
)  # cells of a table of quantiles; cells at each end with exact values, because of their curvature


def _tabled(quantile: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Return a fast quantile function: linear between 16,384 values of the given one, which is exact at both ends."""
    table = np.zeros(_CELLS + 1)
    table[1:-1] = quantile(np.arange(1, _CELLS) / _CELLS)
    table = table.astype(np.float32)
    rise, table = np.diff(table).astype(float), table.astype(float)

    def looked_up(u: Array) -> Array:
        place = np.asarray(u, np.float32) * np.float32(_CELLS)
        cell = place.astype(np.intp)
        found = rise[cell]
        found *= place - cell
        found += table[cell]
        outer = np.flatnonzero((cell < _OUTER) | (cell >= _CELLS - _OUTER))
        found[outer] = quantile(u[outer].astype(float))
        return found

    return looked_up


@lru_cache(maxsize=64)
def reading_of(text: str) -> Reading:
    """Return a distribution of reading times by name.

    All have mean 1, so the mean reading times are those of the measure.

    Parameters
    ----------
    text : str
        "fixed", "exponential", "gamma(shape)" or "lognormal(sigma)".

    Returns
    -------
    Reading

    Raises
    ------
    BadParameter
        If the name is unknown or the number is out of range.

    Examples
    --------
    >>> reading_of("gamma(1)").laplace(1.0), reading_of("exponential").laplace(1.0)
    (0.5, 0.5)
    """
    match = re.fullmatch(r"\s*(\w+)\s*(?:\(\s*([^)]*?)\s*\))?\s*", text) if isinstance(text, str) else None
    if match is None or match[1] not in {**_ALONE, **_WITH}:
        nearest = f" {near(match[1], {**_ALONE, **_WITH})}" if match else ""
        raise BadParameter(f"no distribution of reading times reading={text!r}: give {_WRITTEN}.{nearest}")
    name, number = match[1], match[2] or ""
    if name in _ALONE:
        if number:
            raise BadParameter(f"reading={text!r}: {name} takes no number.")
        return _ALONE[name]()
    make, parameter, low, high = _WITH[name]
    try:
        value = float(number.removeprefix(f"{parameter}="))
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise BadParameter(f"reading={text!r}: {name} takes a {parameter} from {low:g} to {high:g}.")
    return make(value)


@dataclass(frozen=True)
class Habits:
    """Probabilities and times of users for each item of rankings, arrays [queries × ranks].

    Attributes
    ----------
    click : ndarray
        P(click).
    save : ndarray
        P(save) of a clicked document.
    summary : ndarray
        Seconds (or another unit of the effort) on the summary.
    document : ndarray
        Mean seconds on a clicked document.
    """

    click: Array
    save: Array
    summary: Array
    document: Array

    def of(self, row: int) -> Habits:
        """Return the habits for one ranking, with probabilities as float32."""
        one = self._each(lambda values: values[row])
        return replace(one, click=one.click.astype(np.float32), save=one.save.astype(np.float32))

    def light(self) -> Habits:
        """Return the habits as float32."""
        return self._each(lambda values: values.astype(np.float32))

    def first(self, width: int) -> Habits:
        """Return the habits for ranks 1 to `width`."""
        return self._each(lambda values: values[..., :width])

    def _each(self, part: Callable[[Array], Array]) -> Habits:
        return Habits(part(self.click), part(self.save), part(self.summary), part(self.document))

    def actions(self, draws: Array, reading: Reading) -> Actions:
        """Return the actions of users with these draws [users × ranks]; one draw decides click, save and reading time.

        A draw below P(click) is a click, and conditional on this it is uniform again; the same holds for P(save).
        """
        saves = self.click * self.save
        clicked, saved = draws < self.click, draws < saves
        if reading.name == "fixed":
            return Actions(clicked, saved, clicked * self.document)
        kept, left = (1 / np.maximum(share, _STEP) for share in (saves, self.click - saves))
        saves_at, passes_at = np.flatnonzero(saved), np.flatnonzero(clicked ^ saved)
        place = np.concatenate([(draws * kept).ravel()[saves_at], ((draws - saves) * left).ravel()[passes_at]])
        multiples = reading.quantile(np.where(place < 1, place, np.float32(0.5)))  # a place may be rounded up to 1
        read = np.zeros(draws.shape, multiples.dtype)
        read.ravel()[np.concatenate([saves_at, passes_at])] = multiples
        return Actions(clicked, saved, read * self.document)


@dataclass(frozen=True)
class Actions:
    """Actions of users, arrays [users × ranks].

    Attributes
    ----------
    clicked, saved : ndarray of bool
        Whether the result was clicked, and saved.
    read : ndarray
        Seconds on the document.
    """

    clicked: Array
    saved: Array
    read: Array


def clicks(metric: Metric) -> bool:
    """Return whether the users of a metric click, save and read."""
    return metric.gain.name in ("clicksave", "clicksave_by_grade") and metric.effort.name in (
        "time",
        "grade_time",
        "reading",
    )


def habits_of(metric: Metric, rankings: Rankings, queries: Array, width: int) -> Habits:
    """Return the habits of the users of a metric for ranks 1 to `width`; missing results are not clicked.

    All values derive from the gain and the effort of the metric with other parameters. The effort without clicks is the
    summary; the effort with P(click) = 1 adds the document. P(click) is the effort with one second per document.
    P(save) is the gain divided by P(click).

    Raises
    ------
    BadParameter
        If the gain exceeds the probability of a click.
    """
    seen, _ = view_of_ranks(metric, rankings, queries, width)
    shape = (len(queries), width)

    def effort(other: Spec) -> Array:
        view, _ = view_of_ranks(replace(metric, effort=other), rankings, queries, width)
        return np.broadcast_to(view.e, shape)

    retrieved = np.arange(width) < rankings.n[queries][:, None]
    click = np.where(retrieved, effort(_clicks_alone(metric.effort)), 0.0)
    summary, whole = (effort(_clicking(metric.effort, p)) for p in (0, 1))
    save = np.divide(seen.r, click, out=np.zeros(shape), where=click > 0)
    if (save > 1 + 1e-9).any() or (seen.r[click == 0] > 0).any():
        raise BadParameter(
            f"{metric.gain.keyword} has more saves than {metric.effort.keyword} has clicks: give"
            " both the same probabilities of a click."
        )
    summary = np.where(retrieved, summary, metric.unseen_effort or 0.0)
    return Habits(click, np.minimum(save, 1), summary, np.where(retrieved, whole - summary, 0.0))


def _clicking(effort: Spec, p: float) -> Spec:
    """Return the effort with all probabilities of a click equal to p."""
    names = [name for name, _ in effort.values if name.startswith("p_click")]
    values = {name: dict.fromkeys(effort[name], p) if isinstance(effort[name], dict) else p for name in names}
    return effort.part(**{**dict(effort.values), **values})


def _clicks_alone(effort: Spec) -> Spec:
    """Return an effort that equals P(click)."""
    if effort.name == "grade_time":
        return grade_time(0, effort["p_click"], dict.fromkeys(effort["seconds"], 1))
    return time(0, 0, 1, effort["p_click_relevant"], effort["p_click_nonrelevant"], effort["rel"])


class Luck:
    """Draws of one block of users for one query, the same for all rankings.

    The random stream of a block depends only on the seed, the query and the block. "antithetic": users 2k and 2k + 1
    have the draws u and 1 − u. "stratified": the patience of user j is in [j, j + 1)/users, where users is their number
    in all blocks.

    Attributes
    ----------
    here : int
        Number of users of the block.
    mirrored : bool
        Whether the sampling is antithetic.
    patience : ndarray, shape (here,)
        Uniform draws that decide the stops.
    """

    def __init__(self, qid: str, block: int, users: int, seed: int, sampling: str) -> None:
        self.here = min(BLOCK, users - block * BLOCK)
        self.mirrored = sampling == "antithetic"
        self._key = [seed, int.from_bytes(sha256(qid.encode()).digest()[:16], "big"), block]
        self.patience = self._stream(0).random(self.here)
        if self.mirrored:
            self.patience[1::2] = 1 - 2.0**-53 - self.patience[::2]
        elif sampling == "stratified":
            self.patience = (np.arange(self.here) + block * BLOCK + self.patience) / users
        self._drawn: list[Array] = []

    def draws(self, width: int, users: Array) -> Array:
        """Return uniform draws of some users for ranks 1 to `width`, [users × width]; multiples of 2⁻²⁴ in [0, 1)."""
        while len(self._drawn) * _PIECE < width:
            self._drawn.append(self._piece())
        pieces = [piece.take(users, axis=0) for piece in self._drawn[: -(-width // _PIECE)]]
        return np.concatenate(pieces, axis=1)[:, :width]

    def chosen(self, shares: Array) -> Array:
        """Return the number of the class of each user, drawn with these probabilities, independently of other draws."""
        return np.searchsorted(np.cumsum(shares)[:-1], self._stream(_CLASSES).random(self.here), side="right")

    def _stream(self, number: int) -> np.random.Generator:
        """Return the random stream of the patience (0), of a piece of ranks (1, 2, …), or of the classes."""
        return np.random.Generator(np.random.SFC64(np.random.SeedSequence([*self._key, number])))

    def _piece(self) -> Array:
        drawn = self._stream(1 + len(self._drawn)).random((self.here, _PIECE), np.float32)
        if self.mirrored:
            drawn[1::2] = 1 - _STEP - drawn[::2]
        return drawn


def standard_error(values: Array, sampling: str) -> float:
    """Compute the standard error of the mean over simulated users.

    "plain": s/√n. "antithetic": from the means of the pairs. "stratified": from the differences of neighbouring users,
    who are in neighbouring strata, √(Σ_j (x_{j+1} − x_j)² / (2(n−1)n)), which is slightly too large.

    Parameters
    ----------
    values : ndarray, shape (n_users,)
    sampling : {"plain", "antithetic", "stratified"}

    Returns
    -------
    float
        NaN with fewer than two users (four if antithetic).

    References
    ----------
    Cochran (1977), section 5A.12, on one draw per stratum.
    """
    n = len(values)
    if n < 2 or (sampling == "antithetic" and n < 4):
        return np.nan
    if sampling == "stratified":
        return float(np.sqrt(np.mean(np.diff(values) ** 2) / 2 / n))
    means = values.reshape(-1, 2).mean(axis=1) if sampling == "antithetic" else values
    return float(means.std(ddof=1) / np.sqrt(len(means)))
