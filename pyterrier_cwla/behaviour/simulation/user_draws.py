"""What users draw: patience, clicks, saves and reading times; the only place where chance comes in."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256

import numpy as np

from ...data.rankings import Rankings
from ...errors import BadParameter, near
from ...model.efforts import grade_time, time
from ...model.language import Spec
from ...model.metric import Metric
from ...model.view_columns import view_of_ranks

Array = np.ndarray

BLOCK = 1 << 15  # users who share a stream of draws; even, since antithetic users come in pairs
_STEP = np.float32(2.0**-24)  # between neighbouring draws
SAMPLINGS = ("plain", "antithetic", "stratified")
_PIECE = 16  # ranks that are drawn at a time


# ---- reading times


@dataclass(frozen=True)
class Reading:
    """How the time that one user reads a document scatters around its mean: a distribution with mean 1.

    ``quantile``: from [0, 1) to multiples of the mean. ``laplace``: s ↦ E[exp(−s·X)].
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
    "lognormal": (_lognormal, "sigma", 0.01, 1.5),  # beyond it the mean lies in a tail that draws hardly reach
}
_WRITTEN = ", ".join([*map(repr, _ALONE), *(f"'{name}({parameter})'" for name, (_, parameter, *_) in _WITH.items())])
_CELLS, _OUTER = 1 << 14, 32  # of a table of quantiles; those at either end where these bend too much


def _tabled(quantile: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """A quantile function that costs much: linear between 16,384 of its values, and itself at both ends."""
    table = np.zeros(_CELLS + 1)
    table[1:-1] = quantile(np.arange(1, _CELLS) / _CELLS)
    table = table.astype(np.float32)
    rise = np.diff(table)

    def looked_up(u: Array) -> Array:
        place = np.asarray(u, np.float32) * np.float32(_CELLS)
        cell = place.astype(np.int32)
        found = table[cell] + rise[cell] * (place - cell)
        outer = (cell < _OUTER) | (cell >= _CELLS - _OUTER)
        found[outer] = quantile(np.asarray(u, float)[outer])
        return found

    return looked_up


@lru_cache(maxsize=64)
def reading_of(text: str) -> Reading:
    """A distribution of reading times from its name: "fixed", "exponential", "gamma(shape)" or "lognormal(sigma)".

    Each has mean 1, so that the metric's own reading times stay what they are on average. Raises BadParameter.

    >>> reading_of("gamma(1)").laplace(1.0), reading_of("exponential").laplace(1.0)
    (0.5, 0.5)
    """
    match = re.fullmatch(r"\s*(\w+)\s*(?:\(\s*([^)]*?)\s*\))?\s*", text) if isinstance(text, str) else None
    if match is None or match[1] not in {**_ALONE, **_WITH}:
        nearest = f" {near(match[1], {**_ALONE, **_WITH})}" if match else ""
        raise BadParameter(f"no distribution of reading times reading={text!r}: write {_WRITTEN}.{nearest}")
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


# ---- what a metric says of clicks


@dataclass(frozen=True)
class Habits:
    """What users do with each item of rankings [queries × ranks]: all that a metric whose users click says of them.

    ``click``: P(click). ``save``: P(save) of what is clicked. ``summary``: seconds (the effort's unit) on a summary.
    ``document``: mean seconds on a clicked document.
    """

    click: Array
    save: Array
    summary: Array
    document: Array

    def of(self, row: int) -> Habits:
        """The habits for one ranking, probabilities in the precision of the draws."""
        one = self._each(lambda values: values[row])
        return replace(one, click=one.click.astype(np.float32), save=one.save.astype(np.float32))

    def light(self) -> Habits:
        """All in the precision of the draws, which is less to move about."""
        return self._each(lambda values: values.astype(np.float32))

    def first(self, width: int) -> Habits:
        """The habits for ranks 1 to ``width``."""
        return self._each(lambda values: values[..., :width])

    def _each(self, part: Callable[[Array], Array]) -> Habits:
        return Habits(part(self.click), part(self.save), part(self.summary), part(self.document))

    def lived(self, draws: Array, reading: Reading) -> Lived:
        """What users with these draws [users × ranks] do: one draw decides click, save and reading time.

        A draw below P(click) is a click, and its place below is uniform again; so is its place below or above P(save).
        """
        saves = self.click * self.save
        clicked, saved = draws < self.click, draws < saves
        if reading.name == "fixed":
            return Lived(clicked, saved, np.where(clicked, self.document, np.float32(0)))
        kept, left = (1 / np.maximum(share, _STEP) for share in (saves, self.click - saves))
        place = np.where(saved, draws * kept, (draws - saves) * left)
        place = np.where(place < 1, place, np.float32(0.5))  # of what is not clicked: any will do
        return Lived(clicked, saved, np.where(clicked, reading.quantile(place) * self.document, np.float32(0)))


@dataclass(frozen=True)
class Lived:
    """What users did, [users × ranks]: clicked and saved, and their seconds on documents."""

    clicked: Array
    saved: Array
    read: Array


def clicks(metric: Metric) -> bool:
    """Whether the metric says of its users what they click, save and read."""
    return metric.gain.name in ("clicksave", "clicksave_by_grade") and metric.effort.name in (
        "time",
        "grade_time",
        "reading",
    )


def habits_of(metric: Metric, rankings: Rankings, queries: Array, width: int) -> Habits:
    """The habits of a metric's users for ranks 1 to width; what was not retrieved is not clicked.

    All of it is the metric's own gain and effort, with other parameters: the effort if nothing, and if everything is
    clicked, and P(click) as the time of documents that take a second. P(save) is what is left of the gain.
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
            f"{metric.gain.keyword} lets more be saved than {metric.effort.keyword} lets be clicked: give"
            " both the same probabilities of a click."
        )
    summary = np.where(retrieved, summary, metric.unseen_effort or 0.0)
    return Habits(click, np.minimum(save, 1), summary, np.where(retrieved, whole - summary, 0.0))


def _clicking(effort: Spec, p: float) -> Spec:
    """The same effort where everything is clicked with probability p."""
    names = [name for name, _ in effort.values if name.startswith("p_click")]
    values = {name: dict.fromkeys(effort[name], p) if isinstance(effort[name], dict) else p for name in names}
    return effort.part(**{**dict(effort.values), **values})


def _clicks_alone(effort: Spec) -> Spec:
    """An effort that is P(click)."""
    if effort.name == "grade_time":
        return grade_time(0, effort["p_click"], dict.fromkeys(effort["seconds"], 1))
    return time(0, 0, 1, effort["p_click_relevant"], effort["p_click_nonrelevant"], effort["rel"])


# ---- draws


class Luck:
    """The draws of one block of users for one query: the same whatever ranking they get, and whoever else is asked.

    A block's stream follows from seed, query and block alone; ``users`` is how many there are in all blocks together.
    ``patience`` [users] is uniform, and so is the draw for each item that a user comes to. "antithetic": users 2k and
    2k + 1 are each other's mirror images (u and 1 − u). "stratified": the patience of user j is in [j, j + 1)/users.
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
        """Uniform draws, multiples of 2⁻²⁴ in [0, 1), of some users for ranks 1 to ``width``, [users × width]."""
        while len(self._drawn) * _PIECE < width:
            self._drawn.append(self._piece())
        draws = np.empty((len(users), -(-width // _PIECE) * _PIECE), np.float32)
        for number, start in enumerate(range(0, width, _PIECE)):
            draws[:, start : start + _PIECE] = self._drawn[number][users]
        return draws[:, :width]

    def _stream(self, number: int) -> np.random.Generator:
        """One stream for the patience and one for each piece: its first draws are those of the first users."""
        return np.random.Generator(np.random.SFC64(np.random.SeedSequence([*self._key, number])))

    def _piece(self) -> Array:
        drawn = self._stream(1 + len(self._drawn)).random((self.here, _PIECE), np.float32)
        if self.mirrored:
            drawn[1::2] = 1 - _STEP - drawn[::2]
        return drawn


def standard_error(values: Array, sampling: str) -> float:
    """The simulation's standard error of the mean over users, by how they were drawn.

    "plain": s/√n. "antithetic": from the means of the pairs. "stratified": from the differences of neighbours, who are
    in neighbouring strata: √(Σ_j (x_{j+1} − x_j)² / (2(n−1)n)), a little too large.

    Source: Cochran (1977), section 5A.12, on one draw in each stratum.
    """
    n = len(values)
    if n < 2 or (sampling == "antithetic" and n < 4):
        return np.nan
    if sampling == "stratified":
        return float(np.sqrt(np.mean(np.diff(values) ** 2) / 2 / n))
    means = values.reshape(-1, 2).mean(axis=1) if sampling == "antithetic" else values
    return float(means.std(ddof=1) / np.sqrt(len(means)))
