"""Search for the best parameter values, for all ratings and for many samples of them at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import numpy as np

from ...errors import BadParameter
from ..template import Range, Values, parameters_text

Array = np.ndarray

_SCAN = 257  # initial values of a single parameter
_SCATTERED = 512  # initial points of several parameters
_WIDEST, _FINEST = 2.0**-3, 2.0**-9  # largest and smallest step, as shares of a range
_ROUNDS = 8  # maximum number of rounds with each step
_LITTLE = 1e-4  # gain below which no further round is started


class Search:
    """Search for the best candidate of each sample; each candidate is scored once for all samples.

    The search starts with all combinations (lists of values, up to ``most``), an even scan (one parameter), or the
    points of a scrambled Sobol sequence. It then tries steps of decreasing size, along each parameter and in random
    directions, around the best candidate of *every* sample. For the first sample, it also does so around the best
    candidates of the lower and the upper half of each range. Candidates are shared by all samples, so that a hundred
    folds cost little more than one. Equal seeds give equal candidates. The search ends after ``most`` candidates.

    Parameters
    ----------
    ranges : mapping of str to Range
        Range of each parameter.
    worth : callable
        Function from a list of candidates to an array [candidates × samples] of objective values; NaN is never the
        best.
    where : callable, optional
        Condition on the parameters.
    most : int, default=4000
        Maximum number of candidates.
    seed : int, default=0
        Seed of the search.
    """

    def __init__(
        self,
        ranges: Mapping[str, Range],
        worth: Callable[[list[Values]], Array],
        where: Callable[..., bool] | None = None,
        most: int = 4000,
        seed: int = 0,
    ) -> None:
        self.ranges, self.worth, self.where, self.most = ranges, worth, where, most
        self.rng = np.random.default_rng(seed)
        self.values: list[Values] = []
        self.places = np.zeros((0, len(ranges)))
        self.found = np.zeros((0, 0))
        self._known: set[str] = set()

    def run(self, start: list[Values]) -> None:
        """Search; the candidates ``start`` are always scored."""
        self.try_values(start)
        sizes = [len(of.choices) or np.inf for of in self.ranges.values()]
        if np.prod(sizes) <= self.most:
            self.try_values([dict(zip(self.ranges, v)) for v in product(*(r.choices for r in self.ranges.values()))])
            self._need_some()
            return
        if len(sizes) == 1:
            (name, only), *_ = self.ranges.items()
            self.try_values([{name: value} for value in only.grid(_SCAN)[:: -(-len(only.grid(_SCAN)) // self.most)]])
        else:
            self._try(self._scattered())
        self._need_some()
        step = _WIDEST if len(sizes) > 1 else 0.5 / _SCAN
        while step >= (_FINEST if len(sizes) > 1 else _FINEST / 4):
            for _ in range(_ROUNDS):
                before = self._highest()
                self._try(self._around(np.unique([*self.best(), *self._best_in_halves()]), step))
                if len(self.values) >= self.most or not (self._highest() > before + _LITTLE).any():
                    break
            step /= 2

    def best(self) -> Array:
        """Return the number of the best candidate of each sample; the first of equal ones, 0 if all are NaN."""
        return np.argmax(np.where(np.isnan(self.found), -np.inf, self.found), axis=0)

    def _highest(self) -> Array:
        return np.fmax.reduce(self.found, axis=0)  # all-NaN samples give NaN without a warning

    def _best_in_halves(self) -> list[int]:
        """Return the best candidates of the first sample in the lower and in the upper half of each parameter."""
        worth = np.where(np.isnan(self.found[:, 0]), -np.inf, self.found[:, 0])
        upper = self.places >= 0.5
        halves = [np.flatnonzero(side) for column in upper.T for side in (column, ~column)]
        return [int(half[np.argmax(worth[half])]) for half in halves if len(half)]

    def try_values(self, candidates: list[Values]) -> None:
        """Score the candidates that are allowed and not yet known."""
        fresh = []
        for values in candidates:
            if parameters_text(values) not in self._known and (self.where is None or self.where(**values)):
                self._known.add(parameters_text(values))
                fresh.append(values)
        fresh = fresh[: max(self.most - len(self.values), 0)]
        if fresh:
            found = self.worth(fresh)
            self.found = np.concatenate([self.found, found]) if len(self.values) else found
            self.values += fresh
            places = [[_place(self.ranges[name], values[name]) for name in self.ranges] for values in fresh]
            self.places = np.concatenate([self.places, np.array(places, float)])

    def _try(self, places: Array) -> None:
        self.try_values([{n: r.value(x) for (n, r), x in zip(self.ranges.items(), row)} for row in places.tolist()])

    def _scattered(self) -> Array:
        """Return the points of a Sobol sequence that satisfy the condition."""
        from scipy.stats import qmc

        points = qmc.Sobol(len(self.ranges), seed=self.rng).random(8 * _SCATTERED)
        if self.where is None:
            return points[:_SCATTERED]
        names, ranges = list(self.ranges), list(self.ranges.values())
        allowed = [self.where(**{n: r.value(x) for n, r, x in zip(names, ranges, row)}) for row in points.tolist()]
        return points[allowed][:_SCATTERED]

    def _around(self, numbers: Array, step: float) -> Array:
        """Return the positions one step away from those of these candidates."""
        d = len(self.ranges)
        directions = np.concatenate([np.eye(d), -np.eye(d)])
        if d > 1:
            random = self.rng.standard_normal((d, d))
            directions = np.concatenate([directions, random / np.linalg.norm(random, axis=1, keepdims=True)])
        least = np.array([step if not r.choices else max(step, 1 / len(r.choices)) for r in self.ranges.values()])
        places = self.places[numbers][:, None] + directions * least
        return np.clip(places, 0, 1).reshape(-1, d)

    def _need_some(self) -> None:
        if not self.values:
            raise BadParameter("no candidate satisfies where=.")
        if np.isnan(self.found[:, 0]).all():
            raise BadParameter("the scores are constant for every candidate: the objective is not defined.")


def _place(of: Range, value: Any) -> float:
    """Return the position of a value in its range."""
    if of.choices:
        return (of.choices.index(value) + 0.5) / len(of.choices) if value in of.choices else 0.5
    if of.log:
        return float(np.log(value / of.low) / np.log(of.high / of.low))
    return (value - of.low) / (of.high - of.low)
