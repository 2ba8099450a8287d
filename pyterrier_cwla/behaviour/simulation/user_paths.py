"""Draws and paths of simulated users down a ranking, and the inputs of a simulation."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np

from ...data.alignment import Judgments
from ...data.columns import Array
from ...data.lengths import Costs
from ...data.rankings import Rankings
from ...errors import BadJudgments, BadParameter, BadRun, check_whole, many, naming, near, shown
from ...files.inputs import is_runs, loaded, runs_by_name
from ...files.memory_limit import refuse_beyond_memory
from ...measures.declarations import followed
from ...measures.named import measure_of
from ...measures.provider import CWLAEvaluator, prepare
from ...measures.wrappers import NOBODY, ByTopic, IntentAware, Mixture, pinned
from ...model.browsing import Walk
from ...model.document_values import words_of_items
from ...model.efforts import grade_time, time
from ...model.introspection import on_ranks, reads
from ...model.language import Spec
from ...model.metric import FARTHEST, Metric
from ...model.scoring import divisor
from ...model.view import UnknownEffort, View
from ...model.view_columns import seen_part, view_of_ranks
from ...tasks.parallel import checked, side_by_side
from ...tasks.progress import bar

BLOCK = 1 << 15  # users per random stream; even, because antithetic users come in pairs
_NEXT = np.float32(2.0**-24)  # distance of neighbouring draws
SAMPLINGS = ("plain", "antithetic", "stratified")
_PIECE = 16  # ranks per piece of draws
_CLASSES = (1 << 32) - 1  # number of the random stream that draws the classes of users


class ReadingTimes(NamedTuple):
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


def _gamma(shape: float) -> ReadingTimes:
    from scipy.special import gammaincinv

    quantile = _tabled(lambda u: gammaincinv(shape, u) / shape)
    return ReadingTimes(f"gamma({shape:g})", quantile, lambda s: (1 + s / shape) ** -shape)


def _lognormal(sigma: float) -> ReadingTimes:
    from scipy.special import ndtri

    nodes, weights = np.polynomial.hermite_e.hermegauss(180)
    values, weights = np.exp(sigma * nodes - sigma**2 / 2), weights / weights.sum()

    def exact(u: Array) -> Array:
        return np.exp(sigma * ndtri(np.maximum(u, _NEXT / 2)) - sigma**2 / 2)

    def laplace(s: Array) -> Array:
        return np.exp(-np.asarray(s, float)[..., None] * values) @ weights

    return ReadingTimes(f"lognormal({sigma:g})", _tabled(exact), laplace)


_ALONE = {
    "fixed": ReadingTimes("fixed", np.ones_like, lambda s: np.exp(-s)),
    "exponential": ReadingTimes("exponential", lambda u: -np.log(1 - u), lambda s: 1 / (1 + s)),
}
_WITH: dict[str, tuple[Callable[[float], ReadingTimes], str, float, float]] = {
    "gamma": (_gamma, "shape", 0.1, 1000),
    # For a larger sigma, the mean depends on a tail that draws rarely reach.
    "lognormal": (_lognormal, "sigma", 0.01, 1.5),
}
_WRITTEN = ", ".join([*map(repr, _ALONE), *(f"'{name}({parameter})'" for name, (_, parameter, *_) in _WITH.items())])
_QUANTILES = 1 << 14  # cells of a table of quantiles
_OUTER = 32  # cells at each end with exact values, because of their curvature


def _tabled(quantile: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Return a fast quantile function: linear between 16,384 values of the given one, which is exact at both ends."""
    table = np.zeros(_QUANTILES + 1)
    table[1:-1] = quantile(np.arange(1, _QUANTILES) / _QUANTILES)
    table = table.astype(np.float32)
    rise, table = np.diff(table).astype(float), table.astype(float)

    def looked_up(u: Array) -> Array:
        place = np.asarray(u, np.float32) * np.float32(_QUANTILES)
        cell = place.astype(np.intp)
        found = rise[cell]
        found *= place - cell
        found += table[cell]
        outer = np.flatnonzero((cell < _OUTER) | (cell >= _QUANTILES - _OUTER))
        found[outer] = quantile(u[outer].astype(float))
        return found

    return looked_up


@lru_cache(maxsize=64)
def reading_of(text: str) -> ReadingTimes:
    """Return a distribution of reading times by name.

    All have mean 1, so the mean reading times are those of the measure.

    Parameters
    ----------
    text : str
        "fixed", "exponential", "gamma(shape)" or "lognormal(sigma)".

    Returns
    -------
    ReadingTimes

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
    name, number = (match[1], match[2] or "") if match else ("", "")
    if name in _ALONE:
        if number:
            raise BadParameter(f": {name} takes no number.", reading=text)
        return _ALONE[name]
    if name not in _WITH:
        nearest = f" {near(name, [*_ALONE, *_WITH])}" if name else ""
        raise BadParameter(f"is no distribution of reading times: give {_WRITTEN}.{nearest}", reading=text)
    make, parameter, low, high = _WITH[name]
    try:
        value = float(number.removeprefix(f"{parameter}="))
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise BadParameter(f": {name} takes a {parameter} from {low:g} to {high:g}.", reading=text)
    return make(value)


class Habits(NamedTuple):
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

    def first(self, width: int) -> Habits:
        """Return the habits for ranks 1 to `width`."""
        return Habits(*(values[..., :width] for values in self))

    def actions(self, draws: Array, reading: ReadingTimes) -> tuple[Array, Array, Array]:
        """Return what users with these draws [users × ranks] click and save, and their seconds on each document.

        One draw decides click, save and reading time.
        A draw below P(click) is a click, and conditional on this it is uniform again; the same holds for P(save).
        """
        saves = self.click * self.save
        clicked, saved = draws < self.click, draws < saves
        if reading.name == "fixed":
            return clicked, saved, clicked * self.document
        kept, left = (1 / np.maximum(share, _NEXT) for share in (saves, self.click - saves))
        saves_at, passes_at = np.flatnonzero(saved), np.flatnonzero(clicked ^ saved)
        place = np.concatenate([(draws * kept).ravel()[saves_at], ((draws - saves) * left).ravel()[passes_at]])
        multiples = reading.quantile(np.where(place < 1, place, np.float32(0.5)))  # a place may be rounded up to 1
        read = np.zeros(draws.shape, multiples.dtype)
        read.ravel()[np.concatenate([saves_at, passes_at])] = multiples
        return clicked, saved, read * self.document


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
    values = dict(effort.values)
    for name in values:
        if name.startswith("p_click"):
            values[name] = dict.fromkeys(values[name], p) if isinstance(values[name], dict) else p
    return effort.part(**values)


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
            drawn = self._stream(1 + len(self._drawn)).random((self.here, _PIECE), np.float32)
            if self.mirrored:
                drawn[1::2] = 1 - _NEXT - drawn[::2]
            self._drawn.append(drawn)
        pieces = [piece.take(users, axis=0) for piece in self._drawn[: -(-width // _PIECE)]]
        return np.concatenate(pieces, axis=1)[:, :width]

    def chosen(self, shares: Array) -> Array:
        """Return the number of the class of each user, drawn with these probabilities, independently of other draws."""
        return np.searchsorted(np.cumsum(shares)[:-1], self._stream(_CLASSES).random(self.here), side="right")

    def _stream(self, number: int) -> np.random.Generator:
        """Return the random stream of the patience (0), of a piece of ranks (1, 2, …), or of the classes."""
        return np.random.Generator(np.random.SFC64(np.random.SeedSequence([*self._key, number])))


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


#: Values of each simulated user.
WHAT = ("gain", "time", "items", "score")
_FIRST = 16  # ranks that all users are simulated for
_CELLS = 1 << 16  # users × ranks per chunk
_PATIENT = 1e-6  # share of users who may inspect more items below the list than the limit
_EFFORTS = frozenset({"e", "E", "E_before"})  # names of a view


class Course:
    """One ranking with the user model of a metric, for simulating paths."""

    def __init__(self, metric: Metric, rankings: Rankings, number: int, divisor: float, reading: ReadingTimes) -> None:
        self.metric, self.reading = metric, reading
        self.scale = 1 / divisor if divisor > 0 else 0.0
        self.n = int(rankings.n[number])
        self.width = max(self.n, metric.explicit_ranks)
        one = np.array([number])
        self.view, self.leaves = view_of_ranks(metric, rankings, one, self.width)
        self.walk = Walk(metric, self.view, self.leaves)
        self.habits = None
        if clicks(metric):
            click, save, summary, document = (values[0] for values in habits_of(metric, rankings, one, self.width))
            self.habits = Habits(click.astype(np.float32), save.astype(np.float32), summary, document)

    def outcome(self, luck: Luck) -> tuple[Array, Array, Array]:
        """Simulate the users with these draws.

        Returns
        -------
        values : ndarray, shape (4, n_users)
            Gain, time, items and score.
        beyond, never : ndarray of bool, shape (n_users,)
            Whether the user continued below the retrieved results, and whether the user never leaves.
        """
        if self.habits is not None:
            return self._own_paths(luck)
        seen = _seen(self._survival, luck.patience)
        values = self._after[:, np.minimum(seen, self.width)]
        further, never = seen > self.width, np.zeros(len(seen), bool)
        if further.any():
            values[:, further], never[further] = self._beyond(self.walk, luck.patience[None, further])
        return values, seen > self.n, never

    @cached_property
    def _survival(self) -> Array:
        """V(1), …, V(width + 1)."""
        return np.concatenate([self.walk.V[0], self.walk.reach[0]])

    @cached_property
    def _after(self) -> Array:
        """Gain, time, items and score after 0, 1, …, width items."""
        after = np.zeros((len(WHAT), self.width + 1))
        after[:, 1:] = self._values_at(self.walk.view, np.zeros(self.width, int), np.arange(self.width))
        return after

    def _values_at(self, view: View, row: Array, column: Array) -> Array:
        """Return gain, time, items and score of users in these rows who stop in these columns, [4 × users]."""
        items = view.i if counts_unseen(self.metric) else np.minimum(view.i, self.n)
        with np.errstate(divide="ignore", invalid="ignore"):
            each = view.G, view.E, items, self.metric.A(view)
            values = np.stack([np.broadcast_to(of, view.r.shape)[row, column] for of in each], dtype=float)
            values[WHAT.index("score")] *= self.scale
        return values

    def _own_paths(self, luck: Luck) -> tuple[Array, Array, Array]:
        """Simulate users with individual gains and efforts, as deep as necessary.

        The first depth is a guess from V of the measure; users who have not stopped are simulated to twice the depth.
        """
        values = np.zeros((len(WHAT), luck.here))
        beyond, never = np.zeros((2, luck.here), bool)
        far = self._guessed(luck.patience)
        waiting = [pair for width in np.unique(far) for pair in _in_parts(np.flatnonzero(far == width), int(width))]
        for users, width in waiting:
            patience, walk = luck.patience[users, None], self._walk(luck, users, width)
            ends = width == self.width
            gone = patience >= walk.V
            seen = np.where(gone[:, -1], gone.argmax(axis=1), width)
            stopped = (seen < width) | (ends & (walk.reach <= patience)[:, 0])
            row = np.flatnonzero(stopped)
            results = self._values_at(walk.view, row, seen[row] - 1)
            values[:, users[row]] = np.where(seen[row] > 0, results, 0.0)
            beyond[users[row]] = seen[row] > self.n
            rest = users[~stopped]
            if not ends:
                waiting += _in_parts(rest, min(2 * width, self.width))
            elif len(rest):
                beyond[rest] = True
                values[:, rest], never[rest] = self._beyond(self._rows(walk, ~stopped), patience[~stopped])
        return values, beyond, never

    def sessions(self, luck: Luck, speeds: Array, limit: float) -> dict[str, Array]:
        """Return the actions of users on the retrieved results, as columns of a log.

        One row per user and result inspected. Users who have not left after `limit` seconds, or at the end of the list,
        are cut off.

        Parameters
        ----------
        luck : Luck
            Draws of the users.
        speeds : ndarray, shape (n_users,)
            Factors on the seconds of the users.
        limit : float
            Time limit in seconds.

        Returns
        -------
        dict of str to ndarray
        """
        assert self.habits is not None
        habits = self.habits.first(self.n)
        clicked, saved, read = habits.actions(luck.draws(self.n, np.arange(luck.here)), self.reading)
        summary, read = habits.summary * speeds[:, None], read * speeds[:, None]
        walk = self._walk_of(saved.astype(float), summary + read)
        done = np.cumsum(walk.view.e, axis=1)
        decided = done - read  # end of reading the summary: click or pass
        wanted = np.less(luck.patience[:, None], walk.V)
        goes_on = luck.patience < walk.reach[:, 0]  # below the retrieved results
        user, place = np.nonzero(wanted & (decided <= limit))
        in_time = np.minimum(done, limit)
        return {
            "user": user,
            "rank": place + 1,
            "clicked": clicked[user, place],
            "saved": (saved & (done <= limit))[user, place],
            "summary_seconds": np.broadcast_to(summary, done.shape)[user, place],
            "document_seconds": np.where(clicked, in_time - decided, np.nan)[user, place],
            "time": decided[user, place],
            "cut_off": ((wanted & (done > limit)).any(axis=1) | goes_on)[user],
        }

    def _guessed(self, patience: Array) -> Array:
        """Return the number of ranks to draw at first for each user."""
        if self._looks_ahead:
            return np.full(len(patience), self.width)
        items = _seen(self._survival, patience)
        doublings = np.ceil(np.log2(np.maximum((items + np.sqrt(items)) / _FIRST, 1)))
        return np.minimum(_FIRST * 2 ** doublings.astype(int), self.width)

    def _walk(self, luck: Luck, users: Array, width: int) -> Walk:
        """Return the walk of some users down to a rank."""
        assert self.habits is not None
        habits = Habits(*(values.astype(np.float32) for values in self.habits.first(width)))
        _, saved, read = habits.actions(luck.draws(width, users), self.reading)
        return self._walk_of(saved.astype(np.float32), habits.summary + read)

    def _rows(self, walk: Walk, rows: Array) -> Walk:
        return self._walk_of(walk.view.r[rows], np.asarray(walk.view.e)[rows])

    def _walk_of(self, r: Array, e: Array) -> Walk:
        width = r.shape[1]
        view = View(self.view.i[:, :width], r, self.view.grade[:, :width], self.view.totals, e, self.view.unseen)
        leaves = None if self.leaves is None or width < self.width else np.repeat(self.leaves, len(r))
        walk = Walk(self.metric, view, leaves)
        view.spend = lambda: self.walk.expected_effort  # expected effort over all users
        return walk

    @cached_property
    def _looks_ahead(self) -> bool:
        """Whether C or A depends on items below the current one, so that the whole list must be drawn first."""
        ahead = reads(self.metric.C)
        return "found" in ahead | reads(self.metric.A) or "discounted" in ahead

    def _beyond(self, walk: Walk, patience: Array) -> tuple[Array, Array]:
        """Return values [4 × users] and `never` of users who continue below the list.

        `patience` has the shape [1 × users] if all users have the same path, and [users × 1] otherwise.
        """
        never = np.broadcast_to(walk.staying > 0, patience.shape)
        m = np.where(never, np.inf, self._ranks_beyond(walk, patience))
        patient = np.full_like(patience[:, :1], _PATIENT)
        if ((self._ranks_beyond(walk, patient) > FARTHEST) & (walk.staying <= 0)).any():
            raise BadParameter(
                f"more than one in {1 / _PATIENT:,.0f} users would inspect more than {FARTHEST:,} items below the"
                f" results under {self.metric.C.keyword}: give a cutoff (such as @1000), C a k, end='stop', a rank as"
                " end=, or a C under which users leave earlier."
            )
        m = np.where(never, m, np.minimum(m, FARTHEST))
        known = not np.isnan(m).any()
        with np.errstate(divide="ignore", invalid="ignore"):
            felt = np.asarray(self.metric.A(walk.view.beyond(m if known else [[1.0, 2.0]])), float)
        if not known:  # A must not depend on the number of items
            felt = np.broadcast_to(felt, (len(walk.reach), 2))
            if not np.array_equal(felt[:, 0], felt[:, 1]):
                raise UnknownEffort
            felt = felt[:, :1]
        score = np.where(never, 0.0, felt * self.scale)
        gain, time, items = (values[..., -1:] for values in (walk.view.G, walk.view.E, walk.view.i))
        if counts_unseen(self.metric):
            cost = float(self.view.unseen or 0.0)
            time, items = time + (cost * m if cost else 0.0), items + m
        else:
            items = np.minimum(items, self.n)
        results = np.stack([np.broadcast_to(values, m.shape) for values in (gain, time, items, score)])
        return results.reshape(len(WHAT), -1), never.ravel()

    def _ranks_beyond(self, walk: Walk, patience: Array) -> Array:
        """Return the number of items that each user inspects below the list; NaN if it depends on unknown efforts.

        A user stops after the first m items with V(n+1)·Π_{j≤m} C(n+j) ≤ u.
        """
        C = self.metric.C
        if not self.view.unseen and reads(C) & _EFFORTS:
            return np.full(patience.shape, np.nan)
        if C.fact("constant_beyond_list"):
            c = walk.goes_on([[1.0]])
            with np.errstate(divide="ignore"):
                return np.where(c < 1, np.maximum(np.ceil(np.log(patience / walk.reach) / np.log(c)), 1.0), np.inf)
        return self._bisected(walk, patience) if C.fact("gives_survival") else self._step_by_step(walk, patience)

    def _bisected(self, walk: Walk, patience: Array) -> Array:
        """Return the numbers of items below the list where C returns V; infinite above the limit."""

        def stay(m: Array) -> Array:
            return on_ranks(self.metric.C, walk.view.beyond(m + 1), len(walk.reach)) > patience

        low, high = np.zeros(patience.shape), np.full(patience.shape, float(FARTHEST))
        for _ in range(FARTHEST.bit_length()):
            middle = (low + high) // 2
            further = stay(middle)
            low, high = np.where(further, middle, low), np.where(further, high, middle)
        return np.where(stay(high), np.inf, high)

    def _step_by_step(self, walk: Walk, patience: Array) -> Array:
        """Return the numbers of items below the list from C at one rank after another; infinite above the limit."""
        left, m = patience / walk.reach, np.full(patience.shape, np.inf)
        survival = np.ones((1, 1))
        start, there = 0, np.arange(len(left))
        while start < FARTHEST and len(there):
            ranks = np.arange(start + 1, start + 1 + min(max(start, 64), max(_CELLS // len(there), 64)), dtype=float)
            C = walk.goes_on(ranks[None, :])
            V = survival * np.cumprod(np.broadcast_to(C, (len(C), len(ranks))), axis=1)
            survival, start = V[:, -1:], start + len(ranks)
            own = len(V) > 1
            further = np.count_nonzero(left[there] < V, axis=1)[:, None] if own else _seen(V[0], left[there])
            found = np.where(further < len(ranks), ranks[np.minimum(further, len(ranks) - 1)], np.inf)
            m[there] = np.minimum(m[there], found)
            going = np.isinf(m[there]).any(axis=1)
            if len(left) > 1 and not going.all():  # individual paths: keep only users who have not stopped
                there = there[going]
                walk = self._rows(walk, going)
                survival = survival if len(survival) == 1 else survival[going]
            elif not going.any():
                break
        return m


def counts_unseen(metric: Metric) -> bool:
    """Return whether the items that users inspect below the list are known, with their efforts."""
    free = metric.end == "open" and metric.unseen_effort == 0 and reads(metric.C) & _EFFORTS
    return metric.effort_beyond_known and not free


def _in_parts(users: Array, width: int) -> list[tuple[Array, int]]:
    """Split users who are simulated down to a rank into parts that fit into the cache."""
    return [(some, width) for some in np.array_split(users, len(users) * width // _CELLS + 1) if len(some)]


def _seen(V: Array, patience: Array) -> Array:
    """Count the values of a decreasing V above the draw of each user."""
    return np.searchsorted(-V, -patience, side="left")


@dataclass(frozen=True)
class UserModel:
    """User model of a measure, with the rankings that its users inspect.

    Attributes
    ----------
    metric : Metric
        The user model.
    judgments : Judgments
        Judgments; those of an intent for the users of the intent.
    rankings : dict of str to Rankings
        Rankings of each run.
    """

    metric: Metric
    judgments: Judgments
    rankings: dict[str, Rankings]

    def courses(self, qid: str, reading: ReadingTimes) -> list[Course | None]:
        """Return the ranking of each run for a query; None without results."""
        number = self.judgments.index[qid]
        found: list[Course | None] = []
        for name, rankings in self.rankings.items():
            cut = self.cut[name]
            nothing = not rankings.n[number] or (self.metric.end == "stop" and not cut.n[number])
            divisor = self.divisors[name][number]
            found.append(None if nothing else Course(self.metric, cut, number, float(divisor), reading))
        return found

    def listed(self, name: str, qid: str) -> dict[str, Array]:
        """Return the documents of a ranking as columns of a log: docno, grade, and what efforts read: words, costs."""
        rankings, number = self.cut[name], self.judgments.index[qid]
        n, (rows,) = int(rankings.n[number]), rankings.rows
        one = np.array([number])
        at, _, _ = rankings.hits_of(one)
        first = int(rows.first[number])
        listed = first + np.arange(n) if rankings.listed_rank is None else first + rankings.listed_ranks(number) - 1
        places = rows.in_rank_order(np.arange(len(rows.columns)))[listed]
        grade = np.full(n, np.nan)
        grade[rankings.rank[at] - 1] = rankings.grade[at]
        columns = {"docno": np.array(rows.columns.doc_id.take(places).to_pylist(), object), "grade": grade}
        if self.metric.needs_words:
            (columns["words"],) = words_of_items(self.metric, rankings, one, n)
        if self.metric.needs_cost:
            (columns["doc_cost"],) = words_of_items(self.metric, rankings, one, n, Costs)
        return columns

    @property
    def unit(self) -> str:
        """Unit of the efforts."""
        return self.metric.effort_unit

    @cached_property
    def cut(self) -> dict[str, Rankings]:
        """Rankings of each run, cut at the last rank that users of the metric inspect."""
        return {name: seen_part(self.metric, rankings) for name, rankings in self.rankings.items()}

    @cached_property
    def divisors(self) -> dict[str, Array]:
        """Normalisation N of the queries of each run."""
        return {name: divisor(self.metric, rankings) for name, rankings in self.rankings.items()}


class UserClass(NamedTuple):
    """Class of the users of a query.

    Attributes
    ----------
    name : str
        Name of the class or intent; empty if all users have one model.
    share : float
        Probability of the class.
    model : UserModel
        User model of the class.
    scored : bool
        False for users whose intent has no judgments: they score 0.
    """

    name: str
    share: float
    model: UserModel
    scored: bool = True


@dataclass(frozen=True)
class Task:
    """Inputs of a simulation: classes of users and sampling.

    Attributes
    ----------
    measure : Measure
        The measure.
    judgments : Judgments
        Judgments.
    analytic : dict of str to ndarray
        Scores of the measure for each run, shape (n_queries,).
    classes : dict of str to list of UserClass
        Classes of the users of each query.
    users : int
        Number of users per topic.
    seed : int
        Seed of the draws.
    reading : ReadingTimes
        Distribution of reading times.
    sampling : str
        Sampling of the users.
    """

    measure: Any
    judgments: Judgments
    analytic: dict[str, Array]
    classes: dict[str, list[UserClass]]
    users: int
    seed: int
    reading: ReadingTimes
    sampling: str

    @classmethod
    def from_arguments(
        cls, qrels: Any, runs: Any, measure: Any, users: int, seed: int, reading: str, sampling: str
    ) -> Task:
        """Return a task from arguments of :func:`simulate`; raise `CWLAError` if they are invalid."""
        _check(users, seed, sampling)
        chance = reading_of(reading)
        (measure,) = pinned([measure_of(measure)])
        judgments = prepare(loaded(qrels, "qrels"))
        named = {str(name): run for name, run in runs_by_name(runs).items()}
        if not named:
            raise BadRun("there is no run; a simulation needs at least one.")
        if not judgments.qids:
            raise BadJudgments("there are no judged queries; a simulation needs at least one.")
        rows = {}
        for name, run in named.items():
            with naming(name if is_runs(runs) else None):
                rows[name] = judgments.rows(loaded(run, "run"))

        def model(one: Any, own: Judgments) -> UserModel:
            metric = followed(one, own)
            return UserModel(metric, own, {name: own.rankings(run, all_judged=True) for name, run in rows.items()})

        intents = isinstance(measure, type(IntentAware))
        classes = _of_intents(measure, judgments, model) if intents else _of_classes(measure, judgments, model)
        evaluator, analytic = CWLAEvaluator([measure], judgments), {}
        for name in named:
            with naming(name if is_runs(runs) else None):
                analytic[name] = evaluator.tables([rows[name]])[0][measure]
        size = 8 * len(named) * len(WHAT) * users
        refuse_beyond_memory(size, f"users={shown(users)}, simulated on {many(len(named), 'run')},")
        return cls(measure, judgments, analytic, classes, users, seed, chance, sampling)

    @property
    def queries(self) -> list[str]:
        """Ids of the judged queries."""
        return self.judgments.qids

    @property
    def mixed(self) -> bool:
        """Whether users of a query belong to classes or have intents."""
        return isinstance(self.measure, type(Mixture) | type(IntentAware))

    @cached_property
    def models(self) -> list[UserModel]:
        """User models of all classes."""
        models = (one.model for of_query in self.classes.values() for one in of_query)
        return list({id(model): model for model in models}.values())

    @property
    def unit(self) -> str:
        """Unit of the efforts, or "effort" if that of the classes differs."""
        units = {model.unit for model in self.models}
        return units.pop() if len(units) == 1 else "effort"

    def blocks(self, qid: str) -> Iterator[tuple[slice, Luck]]:
        """Yield the users of a query in blocks: their slice and their draws."""
        for block in range(-(-self.users // BLOCK)):
            luck = Luck(qid, block, self.users, self.seed, self.sampling)
            yield slice(block * BLOCK, block * BLOCK + luck.here), luck

    def outcomes(self, qid: str) -> Outcomes:
        """Simulate all users of a query on each run, each user as one of the class that is drawn for this user."""
        classes, runs = self.classes[qid], len(self.analytic)
        of_class = np.zeros(self.users, int)
        if len(classes) > 1:
            shares = np.array([one.share for one in classes])
            of_class = np.concatenate([luck.chosen(shares) for _, luck in self.blocks(qid)])
        values = np.zeros((runs, len(WHAT), self.users))
        beyond, never = np.zeros((2, runs), np.int64)
        for number in np.unique(of_class).tolist():
            mine, courses = of_class == number, classes[number].model.courses(qid, self.reading)
            for block, luck in self.blocks(qid):
                here = mine[block]
                for run, course in enumerate(courses if here.any() else ()):
                    if course is not None:
                        found, further, staying = course.outcome(luck)
                        values[run, :, block][:, here] = found[:, here]
                        beyond[run] += np.count_nonzero(further[here])
                        never[run] += np.count_nonzero(staying[here])
            if not classes[number].scored:
                values[:, WHAT.index("score"), mine] = 0.0
        return Outcomes(values, beyond, never, of_class)

    def of_queries(self, of: Callable[[Task, str], Any], progress: bool, n_jobs: int) -> list[Any]:
        """Return the values of a function of each query, in the order of the queries."""
        work = {qid: partial(of, self, qid) for qid in self.queries}
        found = dict(bar(side_by_side(work, checked(n_jobs)), progress, "simulating", len(work), "topics"))
        return [found[qid] for qid in self.queries]


class Outcomes(NamedTuple):
    """Simulated users of a query.

    Attributes
    ----------
    values : ndarray, shape (n_runs, 4, n_users)
        Gain, time, items and score.
    beyond, never : ndarray of int, shape (n_runs,)
        Number of users who continue below the list, and who never leave.
    of_class : ndarray of int, shape (n_users,)
        Number of the class of each user among the classes of the query.
    """

    values: Array
    beyond: Array
    never: Array
    of_class: Array


def _of_classes(
    measure: Any, judgments: Judgments, model: Callable[[Any, Judgments], UserModel]
) -> dict[str, list[UserClass]]:
    """Return the classes of users of each query: those of a Mixture, or one, by topic for a ByTopic."""
    if isinstance(measure, type(Mixture)):
        classes: dict[str, list[UserClass]] = {qid: [] for qid in judgments.qids}
        for name, (one, share) in measure.classes.items():
            for qid, (alone,) in _of_classes(one, judgments, model).items():
                classes[qid].append(alone._replace(name=name, share=share))
        return classes
    own = {qid: measure.of_topic(qid) if isinstance(measure, type(ByTopic)) else measure for qid in judgments.qids}
    models = {one: model(one, judgments) for one in dict.fromkeys(own.values())}
    return {qid: [UserClass("", 1.0, models[one])] for qid, one in own.items()}


def _of_intents(
    measure: Any, judgments: Judgments, model: Callable[[Any, Judgments], UserModel]
) -> dict[str, list[UserClass]]:
    """Return the intents of each query that have users; the last ones have no judgments."""
    inner = measure.inner
    intents = [(names, shares, model(inner, own)) for names, shares, own in measure.users_by_intent(judgments)]
    return {
        qid: [
            UserClass(names[query], float(shares[query]), one, one is not intents[-1][2])
            for names, shares, one in intents
            if shares[query] > NOBODY
        ]
        for query, qid in enumerate(judgments.qids)
    }


def _check(users: int, seed: int, sampling: str) -> None:
    if not isinstance(users, int | np.integer) or isinstance(users, bool) or users < 1:
        raise BadParameter(": give a number of users, 1 or more.", users=users)
    check_whole(0, seed=seed)
    if sampling not in SAMPLINGS:
        raise BadParameter(f"no sampling {sampling!r}: write {', '.join(map(repr, SAMPLINGS))}.")
    if sampling == "antithetic" and users % 2:
        raise BadParameter(": antithetic users come in pairs; give an even number.", users=users)
