"""Exact expectations of time-biased gain over users with random clicks, saves and reading times."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ...data.arrays import Array
from ...data.rankings import Rankings
from ...errors import BadParameter
from ...model.view import View
from .user_draws import clicks, habits_of
from .user_paths import Task

_CELLS = 1 << 15  # queries × ranks per chunk


def expected_saves(qrels: Any, runs: Any, measure: Any, reading: str = "fixed") -> pd.DataFrame:
    """Compute the exact mean number of documents that users of time-biased gain save.

    Time-biased gain discounts by expected times, so by Jensen's inequality it is at most the mean over users with
    random clicks and reading times. With independent clicks, this mean is

    E[Σ_k G_k·D(T_k)] = Σ_k g_k·Π_{i<k} φ_i, φ_i = D(T_S)·(1 − p_i + p_i·E[D(X_i)]), X_i the time on document i,

    where E[D(X)] is the Laplace transform of the reading times at (ln 2)/h (a Gauss-Hermite sum for "lognormal"). The
    second moment is Σ_k g_k·P_k + 2·Σ_{j<k} g_j·g_k·P_k·D(T_S)·E[D(X_j)]/φ_j, with P_k = Π_{i<k} φ_i.

    Parameters
    ----------
    qrels : DataFrame, dict of dicts, or path
        Judgments, as for :func:`evaluate`.
    runs : DataFrame, dict of dicts, path, or mapping of these
        A run, or runs by name, as for :func:`evaluate`.
    measure : Measure or str
        TBG, or another measure with clicks, the continuation decay and the aggregation etg.
    reading : str, default="fixed"
        Distribution of reading times, as for :func:`simulate`.

    Returns
    -------
    DataFrame
        One row per run and judged query, with the columns analytic (score of the measure), exact (mean over users), gap
        (exact − analytic, never negative) and sd (standard deviation over users), all divided by the normalisation N.

    Raises
    ------
    BadParameter
        If the measure is another.

    References
    ----------
    Smucker and Clarke (2012), Eq. 8 to 10.

    Examples
    --------
    >>> from pyterrier_cwla import TBG
    >>> from pyterrier_cwla.behaviour.simulation.expectations import expected_saves
    >>> qrels, run = {"q": {"a": 1, "b": 1}}, {"q": {"a": 2.0, "b": 1.0}}
    >>> expected_saves(qrels, run, TBG(lengths={"a": 12_000, "b": 100})).round(4)
                  analytic   exact     gap      sd
    run query_id
    run q           0.8049  0.8235  0.0186  0.6206
    """
    task = _task(qrels, runs, measure, reading)
    tables = []
    for name, rankings in task.cut.items():
        mean, second = np.zeros((2, len(rankings)))
        for queries, width in _chunks(rankings):
            gain, arrives, goes_on, after_save = _chances(task, rankings, queries, width)
            comes = gain * arrives
            earlier = np.cumsum(
                gain * np.divide(after_save, goes_on, out=np.zeros_like(gain), where=goes_on > 0), axis=1
            )
            mean[queries] = comes.sum(axis=1)
            second[queries] = mean[queries] + 2 * (comes[:, 1:] * earlier[:, :-1]).sum(axis=1)
        scale = np.divide(1.0, task.divisors[name], out=np.zeros_like(mean), where=task.divisors[name] > 0)
        index = pd.MultiIndex.from_product([[name], task.queries], names=["run", "query_id"])
        columns = {"analytic": task.analytic[name], "exact": mean * scale, "gap": mean * scale - task.analytic[name]}
        spread = np.sqrt(np.maximum(second - mean**2, 0)) * scale
        tables.append(pd.DataFrame({**columns, "sd": spread}, index))
    return pd.concat(tables)


def expected_stops(
    qrels: Any, run: Any, measure: Any, reading: str = "fixed", depth: int | None = None
) -> pd.DataFrame:
    """Compute the exact distribution of the rank at which users of time-biased gain stop.

    P(i) = Π_{j<i} φ_j − Π_{j≤i} φ_j, with φ as in :func:`expected_saves`, for random clicks and reading times.

    Parameters
    ----------
    qrels : DataFrame, dict of dicts, or path
        Judgments, as for :func:`evaluate`.
    run : DataFrame, dict of dicts, or path
        One run, as for :func:`evaluate`.
    measure : Measure or str
        TBG, or another measure with clicks, the continuation decay and the aggregation etg.
    reading : str, default="fixed"
        Distribution of reading times, as for :func:`simulate`.
    depth : int, optional
        Last rank; by default the length of the longest list.

    Returns
    -------
    DataFrame
        One row per query with results; columns 0 to `depth` and "later", as :func:`stop_distribution`.

    Raises
    ------
    BadParameter
        If the measure is another, or `depth` is not a positive integer.
    """
    if depth is not None and (not isinstance(depth, int) or depth < 1):
        raise BadParameter(f"depth={depth!r}: give a rank, 1 or more.")
    task = _task(qrels, {"run": run}, measure, reading)
    rankings = task.cut["run"]
    listed = int(rankings.n.max(initial=1))
    stops = np.zeros((len(rankings), listed + 2))
    for queries, width in _chunks(rankings):
        _, arrives, goes_on, _ = _chances(task, rankings, queries, width)
        last = np.arange(width) == rankings.n[queries][:, None] - 1
        seen = np.arange(width) < rankings.n[queries][:, None]
        leaves = np.where(last & (task.metric.end == "stop"), 1.0, 1 - goes_on)
        stops[queries, 1 : width + 1] = np.where(seen, arrives * leaves, 0.0)
    depth = depth or listed
    shown = np.zeros((len(rankings), depth + 2))
    shown[:, : min(depth, listed) + 1] = stops[:, : min(depth, listed) + 1]
    shown[:, -1] = np.maximum(1 - shown[:, :-1].sum(axis=1), 0)
    table = pd.DataFrame(shown, pd.Index(task.queries, name="query_id"), [*range(depth + 1), "later"])
    table.attrs["measure"] = str(task.measure)
    return table[rankings.n > 0]


def _task(qrels: Any, runs: Any, measure: Any, reading: str) -> Task:
    task = Task.of(qrels, runs, measure, users=1, seed=0, reading=reading, sampling="plain")
    metric = task.metric
    if not (clicks(metric) and metric.C.name == "decay" and metric.A.name == "etg") or isinstance(metric.end, int):
        raise BadParameter(
            f"{task.measure}: an exact mean is known for measures with clicks (TBG), with C='decay(…)' and"
            " A='etg', and no rank as end=; use simulate() for others."
        )
    return task


def _chunks(rankings: Rankings) -> list[tuple[Array, int]]:
    """Split the queries into chunks of limited size, with the length of the longest list."""
    width = max(int(rankings.n.max(initial=0)), 1)
    parts = np.array_split(np.arange(len(rankings)), len(rankings) * width // _CELLS + 1)
    return [(queries, width) for queries in parts if len(queries)]


def _chances(task: Task, rankings: Rankings, queries: Array, width: int) -> tuple[Array, Array, Array, Array]:
    """Return gain, P(arrives), P(continues) and P(continues | saved) of each item, [queries × ranks]."""
    habits = habits_of(task.metric, rankings, queries, width)
    skips = _goes_on(task, habits.summary)
    with np.errstate(divide="ignore"):
        reads = task.reading.laplace(-np.log(_goes_on(task, habits.document)))
    goes_on = skips * (1 - habits.click + habits.click * reads)
    arrives = np.ones(goes_on.shape)
    np.cumprod(goes_on[:, :-1], axis=1, out=arrives[:, 1:])
    return habits.click * habits.save, arrives, goes_on, skips * reads


def _goes_on(task: Task, effort: Array) -> Array:
    """Return C of the measure for items with this effort."""
    i = np.arange(1.0, effort.shape[1] + 1)[None, :]
    return task.metric.C(View(i, np.zeros(effort.shape), 0, lambda _: 0.0, effort))
