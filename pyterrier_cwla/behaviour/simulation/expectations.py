"""Expected values of users of measures: ranks over time, saves, stops, and the preferred system."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from ir_measures import Measure

from ..._version import __version__
from ...data.alignment import Judgments
from ...data.columns import Array
from ...data.rankings import Rankings
from ...errors import BadParameter, BadRun, check_whole, many
from ...errors.sanitise import in_picture, sanitised
from ...evaluation.significance import without_noise
from ...files.inputs import loaded, one_run, runs_by_name
from ...measures.declarations import followed
from ...measures.named import measure_of
from ...measures.provider import prepare
from ...model.metric import Metric
from ...model.view import View, before
from ...model.view_columns import packed, seen_part, view_of_ranks
from ...rendering.figures import COLOURS, GAIN, GREY, STAY, axes_of, label_ends, saved, system_looks, titled
from ...rendering.numbers import percent
from ...rendering.tables import Printed, Table
from ..logs.estimators import Bootstrap, Estimate, estimates_of
from .user_paths import WHAT, ReadingTimes, Task, UserModel, clicks, habits_of, standard_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...files.atomic import AnyPath

_CELLS = 1 << 17  # queries × ranks per chunk
_FEWER_CELLS = 1 << 15  # per chunk of several arrays
_HALF_MINUTES = tuple(range(0, 1801, 30))


@dataclass(frozen=True, repr=False)
class Progress(Printed):
    """Rank and gain over time of users who inspect the results in order and never leave.

    Attributes
    ----------
    table : DataFrame
        One row per run, query and time (the index), with the columns rank (number of results reached, including the
        current one), gain (G(t), the gains of these results) and ended (whether the list has ended).
    measure : str
        Name of the measure.
    unit : str
        Unit of the times.
    """

    table: pd.DataFrame
    measure: str
    unit: str

    @property
    def title(self) -> str:
        """The measure and the unit of the times, as text."""
        return f"{self.measure}: progress over time, over all runs and topics; time in {self.unit}"

    def shown(self) -> Table:
        """Return the printed table for people: rank and gain at each time, over all runs and topics."""
        return Table.from_frame(self.by().reset_index())

    def by(self, *names: str) -> pd.DataFrame:
        """Return maximum, mean and minimum of rank and gain at each time, over runs or topics.

        Parameters
        ----------
        *names : {"run", "query_id"}
            Levels to keep: ``by("query_id")`` aggregates over the runs of each topic, ``by("run")`` over the topics of
            each run, and ``by()`` over all runs and topics.

        Returns
        -------
        DataFrame
            Columns (rank, max), (rank, mean), (rank, min), the same for gain, and (ended, mean), the share of lists
            that have ended.

        Raises
        ------
        BadParameter
            If a level is unknown.
        """
        levels = [name for name in self.table.index.names if name != "time"]
        for name in names:
            if name not in levels:
                raise BadParameter(f"by({name!r}): the levels are {' and '.join(levels)}.")
        grouped = self.table.groupby(level=[*names, "time"], sort=False)
        extremes = ["max", "mean", "min"]
        return grouped.agg({"rank": extremes, "gain": extremes, "ended": ["mean"]})

    def plot_ranks(self, ax: Any = None, path: AnyPath | None = None) -> Axes:
        """Plot maximum, mean and minimum rank over time, over all runs and topics.

        Figure 3 of Smucker and Clarke (2012).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default new ones.
        path : path, optional
            File to which the figure is saved.

        Returns
        -------
        matplotlib Axes
        """
        ax, shown, x = _axes(self, ax)
        found = shown["rank"]
        ax.fill_between(x, found["min"], found["max"], color=GAIN, alpha=0.5, linewidth=0)
        end = {"color": GREY, "linestyle": ":"}
        looks = {"maximum": end, "mean": {"color": STAY, "linestyle": "-"}, "minimum": end}
        curves = {label: (x, found[column].to_numpy()) for label, column in zip(looks, ("max", "mean", "min"))}
        for label, look in looks.items():
            ax.plot(*curves[label], **look, linewidth=1.8)
        ax.set(ylim=(0, None), ylabel="rank reached (documents)")
        titled(ax, f"How deep users are after some time · {in_picture(_title(self))}")
        label_ends(ax, curves, looks)
        return saved(ax, path)

    def plot_gains(self, ax: Any = None, path: AnyPath | None = None) -> Axes:
        """Plot the gain G(t) of each run over time, averaged over its topics.

        Figure 4 of Smucker and Clarke (2012).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default new ones.
        path : path, optional
            File to which the figure is saved.

        Returns
        -------
        matplotlib Axes
        """
        ax, shown, x = _axes(self, ax)
        found = self.by("run")["gain"]["mean"].unstack("run").loc[shown.index]
        names = list(found.iloc[-1].sort_values(ascending=False, kind="stable").index)
        coloured = [name for name in self.table.index.unique("run") if name in names[: len(COLOURS)]]
        looks = system_looks([*coloured, *names[len(COLOURS) :]])  # colours follow the order of the runs, as elsewhere
        for name in names[::-1]:  # the best lie above the others
            width, alpha = (0.6, 0.5) if looks[name]["color"] == GREY else (1.6, 1)
            ax.plot(x, found[name], **looks[name] | {"marker": ""}, linewidth=width, alpha=alpha)
        ax.set(ylabel="gain so far (G)", ylim=(0, 1.05 * float(found.to_numpy().max()) or 1))
        best = f" · coloured: the best {len(COLOURS)}" if len(names) > len(COLOURS) else ""
        titled(ax, f"What users have gained after some time, if none leaves · {in_picture(_title(self))}{best}")
        ends = {str(name): (x, found[name]) for name in names[: len(COLOURS)]}
        label_ends(ax, ends, {str(name): look for name, look in looks.items()})
        return saved(ax, path)


def progress(
    qrels: Any, runs: Any, measure: Any = "TBG", times: Iterable[float] = _HALF_MINUTES, qid: str | None = None
) -> Progress:
    """Compute the rank and the gain that users reach at each time.

    T(k) = Σ_{i<k} e_i is the effort before rank k. At time t the user inspects the last rank k with T(k) ≤ t and has
    the gain G(t), the sum of the gains of ranks 1 to k. Gains count on arrival, and no user leaves. Judged queries
    without results in a run are left out.

    Parameters
    ----------
    qrels : DataFrame, dict of dicts, or path
        Judgments, as for :func:`evaluate`.
    runs : DataFrame, dict of dicts, path, or mapping of these
        A run, or runs by name, as for :func:`evaluate`.
    measure : Measure or str, default="TBG"
        Measure that follows a user model.
    times : iterable of float, default=0, 30, …, 1800
        Increasing times from 0, in the unit of the effort (seconds for TBG).
    qid : str, optional
        Query id; by default all judged queries.

    Returns
    -------
    Progress

    Raises
    ------
    BadParameter
        If times decrease or are negative, the query has no judgments, or the measure has no user model.
    BadRun
        If no run has results.
    MissingLength
        If the measure needs the length of a document and it is unknown.

    References
    ----------
    Smucker and Clarke (2012), Eq. 4, Figures 3 and 4.

    Examples
    --------
    >>> found = progress({"q": {"a": 1}}, {"q": {"a": 2.0, "b": 1.0}}, "TBG(seconds_per_word=0)", times=[0, 9, 10])
    >>> found.table["rank"].tolist(), found.table["gain"].round(2).tolist()
    ([1, 1, 2], [0.49, 0.49, 0.49])
    """
    times = np.asarray(list(times), float)
    if not len(times) or not np.isfinite(times).all() or (np.diff(times) <= 0).any() or times[0] < 0:
        raise BadParameter("times= must increase and not be negative.")
    measure, judgments, metric = _user_model(measure, qrels)
    if qid is not None and qid not in judgments.index:
        raise BadParameter(f"no topic {qid!r} in the judgments.")
    pieces = []
    for name, run in runs_by_name(runs).items():
        rankings = seen_part(metric, judgments.align(loaded(run, "run"), all_judged=metric.all_judged))
        answered = rankings.n > 0
        if qid is not None:
            answered &= np.arange(len(rankings)) == judgments.index[qid]
        queries = np.flatnonzero(answered)
        rank, gain, ended = _reached(metric, rankings, queries, times)
        names = np.asarray(judgments.qids, object)[queries]
        index = pd.MultiIndex.from_product([[name], names, times], names=["run", "query_id", "time"])
        columns = {"rank": rank.ravel(), "gain": gain.ravel(), "ended": ended.ravel()}
        pieces.append(pd.DataFrame(columns, index=index))
    if not any(len(piece) for piece in pieces):
        raise BadRun(f"no run has a result for {'a judged query' if qid is None else f'topic {qid!r}'}.")
    return Progress(pd.concat(pieces), str(measure), metric.effort_unit)


def times_to_ranks(qrels: Any, run: Any, measure: Any = "TBG", depth: int = 10) -> pd.DataFrame:
    """Compute T(k), the time to reach each rank, for each judged query of a run.

    T(k) = Σ_{i<k} e_i in the unit of the effort, so T(1) = 0.

    Parameters
    ----------
    qrels : DataFrame, dict of dicts, or path
        Judgments, as for :func:`evaluate`.
    run : DataFrame, dict of dicts, or path
        One run, as for :func:`evaluate`.
    measure : Measure or str, default="TBG"
        Measure that follows a user model.
    depth : int, default=10
        Last rank.

    Returns
    -------
    DataFrame, shape (n_queries, depth)
        One row per judged query with results, one column per rank; NaN below the end of a list.

    Raises
    ------
    BadParameter
        If `depth` is not a positive integer, or the measure has no user model.

    References
    ----------
    Smucker and Clarke (2012), Eq. 4.

    Examples
    --------
    >>> times_to_ranks({"q": {"a": 1}}, {"q": {"a": 2.0, "b": 1.0}}, "TBG(seconds_per_word=0)", depth=3).round(2)
                1     2   3
    query_id
    q         0.0  9.39 NaN
    """
    check_whole(1, depth=depth)
    _, judgments, metric = _user_model(measure, qrels)
    rankings = seen_part(metric, judgments.align(one_run(run), all_judged=metric.all_judged)).first(depth)
    queries = np.flatnonzero(rankings.n > 0)
    T = np.full((len(rankings), depth), np.nan)
    for chunk, width in packed(queries[np.argsort(rankings.n[queries], kind="stable")], rankings.n, _CELLS):
        inside = np.arange(width)[None, :] < rankings.n[chunk, None]
        E, _ = _on_arrival(metric, rankings, chunk, width)
        T[chunk, :width] = np.where(inside, before(E), np.nan)
    names = pd.Index(np.asarray(judgments.qids, object)[queries], name="query_id")
    return pd.DataFrame(T[queries], names, pd.RangeIndex(1, depth + 1))


def _user_model(measure: Any, qrels: Any) -> tuple[Measure, Judgments, Metric]:
    """Return the measure, the judgments, and the user model of the measure for these."""
    measure = measure_of(measure)
    judgments = prepare(loaded(qrels, "qrels"))
    return measure, judgments, followed(measure, judgments)


def _on_arrival(metric: Metric, rankings: Rankings, queries: Array, width: int) -> tuple[Array, Array]:
    """Return the effort E(k) and the gain G(k) up to and including each rank k, [queries × width]."""
    view, _ = view_of_ranks(metric, rankings, queries, width)
    return np.broadcast_to(view.E, (len(queries), width)), np.broadcast_to(view.G, (len(queries), width))


def _reached(metric: Metric, rankings: Rankings, queries: Array, times: Array) -> tuple[Array, Array, Array]:
    """Return rank, gain and whether the list has ended at each time, [queries × times]."""
    shape = (len(rankings), len(times))
    rank, gain, ended = np.zeros(shape, np.int64), np.zeros(shape), np.zeros(shape, bool)
    for chunk, width in packed(queries[np.argsort(rankings.n[queries], kind="stable")], rankings.n, _CELLS):
        E, G = _on_arrival(metric, rankings, chunk, width)
        T, last = before(E), rankings.n[chunk, None]
        # Shift the times of each query by a constant, so that one binary search serves all queries.
        stretch = np.arange(len(chunk))[:, None] * (max(T.max(), times[-1]) + 1)
        found = np.searchsorted((T + stretch).ravel(), times + stretch, side="right")
        reached = np.minimum(found - np.arange(len(chunk))[:, None] * width, last)
        rank[chunk], gain[chunk] = reached, np.take_along_axis(G, reached - 1, axis=1)
        ended[chunk] = times >= np.take_along_axis(E, last - 1, axis=1)
    return rank[queries], gain[queries], ended[queries]


def _axes(progress: Any, ax: Any) -> tuple[Any, Any, Any]:
    """Return axes, the rows to show (until all lists have ended), and their times, with seconds as minutes."""
    ax = axes_of(ax)
    shown = progress.by()
    over = np.flatnonzero(shown["ended", "mean"].to_numpy() >= 1)
    shown = shown.iloc[: over[0] + 1] if len(over) else shown
    in_minutes = progress.unit == "seconds"
    x = shown.index.to_numpy() / (60 if in_minutes else 1)
    label = "time (minutes)" if in_minutes else f"effort ({in_picture(progress.unit)})"
    ax.set(xlabel=label, xlim=(x[0], x[-1] if len(x) > 1 else x[0] + 1))
    ax.locator_params(axis="x", integer=progress.unit == "documents")
    return ax, shown, x


def _title(progress: Any) -> str:
    runs, topics = (progress.table.index.unique(level) for level in ("run", "query_id"))
    measure = progress.measure if len(progress.measure) <= 40 else f"{progress.measure.split('(')[0]}(…)"
    of_topics = f"topic {topics[0]}" if len(topics) == 1 else many(len(topics), "topic")
    return f"{measure} · {many(len(runs), 'run')}, {of_topics}"


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
    task, model = _task(qrels, runs, measure, reading)
    tables = []
    for name, rankings in model.cut.items():
        mean, second = np.zeros((2, len(rankings)))
        for queries, width in _chunks(rankings):
            gain, arrives, goes_on, after_save = _chances(model.metric, task.reading, rankings, queries, width)
            comes = gain * arrives
            kept = np.divide(after_save, goes_on, out=np.zeros_like(gain), where=goes_on > 0)
            earlier = np.cumsum(gain * kept, axis=1)
            mean[queries] = comes.sum(axis=1)
            second[queries] = mean[queries] + 2 * (comes[:, 1:] * earlier[:, :-1]).sum(axis=1)
        scale = np.divide(1.0, model.divisors[name], out=np.zeros_like(mean), where=model.divisors[name] > 0)
        analytic, exact = task.analytic[name], mean * scale
        spread = np.sqrt(np.maximum(second - mean**2, 0)) * scale
        columns = {"analytic": analytic, "exact": exact, "gap": exact - analytic, "sd": spread}
        tables.append(pd.DataFrame(columns, pd.Index(task.queries, name="query_id")))
    return pd.concat(tables, keys=list(model.cut), names=["run"])


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
    if depth is not None:
        check_whole(1, depth=depth)
    task, model = _task(qrels, {"run": run}, measure, reading)
    rankings = model.cut["run"]
    listed = int(rankings.n.max(initial=1))
    stops = np.zeros((len(rankings), listed + 2))
    for queries, width in _chunks(rankings):
        _, arrives, goes_on, _ = _chances(model.metric, task.reading, rankings, queries, width)
        last = np.arange(width) == rankings.n[queries][:, None] - 1
        seen = np.arange(width) < rankings.n[queries][:, None]
        leaves = np.where(last & (model.metric.end == "stop"), 1.0, 1 - goes_on)
        stops[queries, 1 : width + 1] = np.where(seen, arrives * leaves, 0.0)
    depth = depth or listed
    shown, last = np.zeros((len(rankings), depth + 2)), min(depth, listed) + 1
    shown[:, :last] = stops[:, :last]
    shown[:, -1] = np.maximum(1 - shown[:, :-1].sum(axis=1), 0)
    table = pd.DataFrame(shown, pd.Index(task.queries, name="query_id"), [*range(depth + 1), "later"])
    table.attrs["measure"] = str(task.measure)
    return table[rankings.n > 0]


def _task(qrels: Any, runs: Any, measure: Any, reading: str) -> tuple[Task, UserModel]:
    """Return the task of a measure with an exact mean, and its user model."""
    task = Task.from_arguments(qrels, runs, measure, users=1, seed=0, reading=reading, sampling="plain")
    metric = followed(task.measure, task.judgments)
    if not (clicks(metric) and metric.C.name == "decay" and metric.A.name == "etg") or isinstance(metric.end, int):
        raise BadParameter(
            f"{task.measure}: an exact mean is known for measures with clicks (TBG), with C='decay(…)' and"
            " A='etg', and no rank as end=; use simulate() for others."
        )
    (model,) = task.models
    return task, model


def _chunks(rankings: Rankings) -> list[tuple[Array, int]]:
    """Split the queries into chunks of limited size, with the length of the longest list."""
    width = max(int(rankings.n.max(initial=0)), 1)
    parts = np.array_split(np.arange(len(rankings)), len(rankings) * width // _FEWER_CELLS + 1)
    return [(queries, width) for queries in parts if len(queries)]


def _chances(
    metric: Metric, reading: ReadingTimes, rankings: Rankings, queries: Array, width: int
) -> tuple[Array, Array, Array, Array]:
    """Return gain, P(arrives), P(continues) and P(continues | saved) of each item, [queries × ranks]."""
    habits = habits_of(metric, rankings, queries, width)
    skips = _goes_on(metric, habits.summary)
    with np.errstate(divide="ignore"):
        reads = reading.laplace(-np.log(_goes_on(metric, habits.document)))
    goes_on = skips * (1 - habits.click + habits.click * reads)
    arrives = np.ones(goes_on.shape)
    np.cumprod(goes_on[:, :-1], axis=1, out=arrives[:, 1:])
    return habits.click * habits.save, arrives, goes_on, skips * reads


def _goes_on(metric: Metric, effort: Array) -> Array:
    """Return C of the measure for items with this effort."""
    i = np.arange(1.0, effort.shape[1] + 1)[None, :]
    return metric.C(View(i, np.zeros(effort.shape), 0, lambda _: 0.0, effort))


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
        Number of users per topic.
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
        names = *self.names, "no difference"
        lines = [
            f"{self.n_users:,} users of {self.measure} on each of {many(len(self.by_query), 'topic')}: share with more"
            f" {self.what} from"
        ]
        for name, one in zip(names, (self.first, self.second, self.ties), strict=True):
            interval = f"  [{percent(one.low, 1)}, {percent(one.high, 1)}]" if np.isfinite(one.low) else ""
            lines.append(f"  {name:<{max(map(len, names))}}  {percent(one.value, 1):>7}{interval}")
        return "\n".join(lines) + (
            f"\n  ({percent(self.confidence)} intervals over topics; simulation error of the difference"
            f" {percent(self.error, 2)}; seed {self.seed}, version {self.version})"
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
        Number of users per topic.
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
    >>> from pyterrier_cwla.behaviour.simulation.expectations import prefer
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
    bootstrap = Bootstrap(confidence, resamples, seed)
    task = Task.from_arguments(qrels, dict(runs), measure, users, seed, reading, sampling)
    one, other = task.analytic
    rows = task.of_queries(partial(_of_query, what=what), progress, n_jobs)
    table = np.array(rows, float).reshape(-1, 4)
    low, high = bootstrap.intervals(table[:, :3].T, lambda sums: sums / len(table))
    first, second, ties = estimates_of(table[:, :3].mean(axis=0), low, high, np.full(3, len(table)))
    by_query = pd.DataFrame(table, pd.Index(task.queries, name="query_id"), [one, other, TIES, "error"])
    error = float(np.linalg.norm(table[:, 3])) / len(table)
    settings = str(task.measure), what, users, seed, confidence
    return Preference((one, other), first, second, ties, by_query, error, *settings)


def _of_query(task: Task, qid: str, what: str) -> list[float]:
    """Return the shares of users with more from the first, from the second, and ties, and the error."""
    one, other = task.outcomes(qid).values[:, WHAT.index(what)]
    better = np.sign(without_noise(one - other, [one, other]))
    return [*(float(np.mean(better == sign)) for sign in (1, -1, 0)), standard_error(better, task.sampling)]
