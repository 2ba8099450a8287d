"""Preference between two systems: the probability that a random simulated user gets more from one than the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ..._version import __version__
from ...errors import BadParameter
from ...errors.parameter_checks import check_share, check_whole
from ...errors.sanitise import sanitised
from ...evaluation.significance import without_noise
from ..logs.estimate import Estimate, over_users
from .mixed_tasks import task_of
from .user_draws import standard_error
from .user_paths import WHAT, Task

TIES = "ties"


@dataclass(frozen=True, repr=False)
class Preference:
    """Shares of users who get more from the first system, more from the second, and the same from both.

    Attributes
    ----------
    names : tuple of str
        Names of the two systems.
    first, second, ties : Estimate
        Shares of users, with intervals over queries.
    by_query : DataFrame
        One row per query, with the shares and error, the standard error of the first share minus the second.
    error : float
        Standard error of the difference over all queries, due to the simulation.
    measure : str
        Name of the measure.
    what : str
        "score" or "gain".
    n_users : int
        Number of users per query.
    seed : int
        Seed of the draws.
    confidence : float
        Level of the intervals.
    version : str
        Version of the package.
    """

    names: tuple[str, str]
    first: Estimate
    second: Estimate
    ties: Estimate
    by_query: pd.DataFrame
    error: float
    measure: str
    what: str
    n_users: int
    seed: int
    confidence: float
    version: str = __version__

    @sanitised
    def __repr__(self) -> str:
        shares = ((*self.names, "no difference"), (self.first, self.second, self.ties))
        lines = [
            f"  {name:<{max(map(len, shares[0]))}}  {one.value:6.1%}"
            + (f"  [{one.low:.1%}, {one.high:.1%}]" if np.isfinite(one.low) else "")
            for name, one in zip(*shares, strict=True)
        ]
        return "\n".join(
            [
                f"{self.n_users:,} users of {self.measure} on each of {len(self.by_query):,} queries: share with more"
                f" {self.what} from",
                *lines,
                f"  ({self.confidence:.0%} intervals over queries; simulation error of the difference"
                f" {self.error:.2%}; seed {self.seed}, version {self.version})",
            ]
        )


def prefer(
    qrels: Any,
    runs: Mapping[str, Any],
    measure: Any,
    users: int = 10_000,
    seed: int = 0,
    reading: str = "fixed",
    sampling: str = "stratified",
    what: str = "score",
    confidence: float = 0.95,
    resamples: int = 1000,
    progress: bool = True,
    n_jobs: int = 1,
) -> Preference:
    """Estimate the probability that a random user gets more from one of two systems than from the other.

    A random user consists of a query (all equally likely) and a user of the measure as in :func:`simulate`. The same
    user, with the same draws at each rank, inspects both rankings. A system that is slightly better for most users and
    much worse for few users can have the lower mean and still be preferred.

    Parameters
    ----------
    qrels : DataFrame, dict of dicts, or path
        Judgments, as for :func:`evaluate`.
    runs : mapping
        Two runs, by name.
    measure : Measure or str
        Measure that follows a user model.
    users : int, default=10_000
        Number of users per query.
    seed : int, default=0
        Seed of the draws, 0 or more.
    reading : str, default="fixed"
        Distribution of reading times, as for :func:`simulate`.
    sampling : {"stratified", "plain", "antithetic"}, default="stratified"
        Sampling of the users, as for :func:`simulate`.
    what : {"score", "gain"}, default="score"
        Value to compare.
    confidence : float in (0, 1), default=0.95
        Level of the intervals.
    resamples : int, default=1000
        Number of bootstrap resamples of queries.
    progress : bool, default=True
        Whether to show a progress bar.
    n_jobs : int, default=1
        Number of processes.

    Returns
    -------
    Preference

    Raises
    ------
    BadParameter
        If there are not two runs, or a parameter is invalid; other errors as :func:`simulate`.

    Examples
    --------
    >>> from pyterrier_cwla.behaviour.simulation.preferences import prefer
    >>> qrels = {"q": {"a": 1}}
    >>> A, B = {"q": {"a": 2.0, "x": 1.0}}, {"q": {"x": 2.0, "a": 1.0}}
    >>> found = prefer(qrels, {"A": A, "B": B}, "CWLA(C='rbp(0.75)',A='etg',max_rel=1)")
    >>> print(found.first, found.second, found.ties)
    0.25 0 0.75
    """
    if not isinstance(runs, Mapping) or len(runs) != 2:
        raise BadParameter("prefer compares two systems: give runs={'A': …, 'B': …}.")
    if what not in ("score", "gain"):
        raise BadParameter(f"what={what!r} must be 'score' or 'gain'.")
    check_share(0.95, confidence=confidence)
    check_whole(1, resamples=resamples)
    task = task_of(qrels, {name: runs[name] for name in runs}, measure, users, seed, reading, sampling)
    names = tuple(task.rankings)
    rows = task.of_queries(partial(_of_query, what=what), progress, n_jobs)
    table = np.array(rows, float).reshape(-1, 4)
    low, high = over_users(table[:, :3].T, lambda sums: sums / len(table), confidence, resamples, seed)
    estimates = [
        Estimate(float(value), float(a), float(b), len(table))
        for value, a, b in zip(table[:, :3].mean(axis=0), low, high, strict=True)
    ]
    index = pd.Index(task.queries, name="query_id")
    by_query = pd.DataFrame(table, index, [*names, TIES, "error"])
    error = float(np.linalg.norm(table[:, 3])) / len(table)
    first, second, ties = estimates
    settings = str(task.measure), what, users, seed, confidence
    return Preference((names[0], names[1]), first, second, ties, by_query, error, *settings)


def _of_query(task: Task, qid: str, what: str) -> list[float]:
    """Return the shares of users with more from the first, from the second, and ties, and the error."""
    one, other = task.outcomes(qid)[0][:, WHAT.index(what)]
    better = np.sign(without_noise(one - other, max(float(np.abs([one, other]).max()), 1e-300)))
    return [*(float(np.mean(better == sign)) for sign in (1, -1, 0)), standard_error(better, task.sampling)]
