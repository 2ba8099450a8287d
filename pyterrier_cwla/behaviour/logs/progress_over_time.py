"""Progress of users over time: the time T(k) to reach rank k, and the rank and the gain G(t) at time t."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...data.arrays import Array
from ...data.rankings import Rankings
from ...errors import BadParameter, BadRun
from ...errors.parameter_checks import check_whole
from ...errors.sanitise import in_picture
from ...evaluation.explanation import followed
from ...files.inputs import loaded, one_run, runs_by_name
from ...measures.parsing import measures_of
from ...measures.provider import prepare
from ...model.metric import Metric
from ...model.query_chunks import packed
from ...model.view import before
from ...model.view_columns import seen_part, view_of_ranks
from ...rendering.figures import COLOURS, GAIN, GREY, STAY, axes_of, titled
from ...rendering.labels import label_ends, system_looks
from .estimate import printed

_CELLS = 1 << 17  # queries × ranks per chunk
_HALF_MINUTES = tuple(range(0, 1801, 30))


@dataclass(frozen=True)
class Progress:
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

    def __repr__(self) -> str:
        return printed(
            f"{self.measure}: progress over time, over all runs and topics; time in {self.unit}",
            self.by().reset_index(),
        )

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

    def plot_ranks(self, ax: Any = None) -> Any:
        """Plot maximum, mean and minimum rank over time, over all runs and topics.

        Figure 3 of Smucker and Clarke (2012).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default new ones.

        Returns
        -------
        matplotlib Axes
        """
        return plot_ranks(self, ax)

    def plot_gains(self, ax: Any = None) -> Any:
        """Plot the gain G(t) of each run over time, averaged over its topics.

        Figure 4 of Smucker and Clarke (2012).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default new ones.

        Returns
        -------
        matplotlib Axes
        """
        return plot_gains(self, ax)


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
    (measure,) = measures_of([measure])
    judgments = prepare(loaded(qrels, "qrels"))
    if qid is not None and qid not in judgments.index:
        raise BadParameter(f"no topic {qid!r} in the judgments.")
    metric = followed(measure, judgments)
    pieces = []
    for name, run in runs_by_name(runs).items():
        rankings = seen_part(metric, judgments.align(loaded(run, "run"), all_judged=metric.judged_only))
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
    (measure,) = measures_of([measure])
    judgments = prepare(loaded(qrels, "qrels"))
    metric = followed(measure, judgments)
    rankings = seen_part(metric, judgments.align(one_run(run), all_judged=metric.judged_only)).first(depth)
    queries = np.flatnonzero(rankings.n > 0)
    T = np.full((len(rankings), depth), np.nan)
    for chunk, width in packed(queries[np.argsort(rankings.n[queries], kind="stable")], rankings.n, _CELLS):
        inside = np.arange(width)[None, :] < rankings.n[chunk, None]
        E, _ = _on_arrival(metric, rankings, chunk, width)
        T[chunk, :width] = np.where(inside, before(E), np.nan)
    names = pd.Index(np.asarray(judgments.qids, object)[queries], name="query_id")
    return pd.DataFrame(T[queries], names, pd.RangeIndex(1, depth + 1))


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


def plot_ranks(progress: Any, ax: Any = None) -> Any:
    """Plot maximum, mean and minimum rank over time, over all runs and topics."""
    ax, shown, x = _axes(progress, ax)
    found = shown["rank"]
    ax.fill_between(x, found["min"], found["max"], color=GAIN, alpha=0.5, linewidth=0)
    looks = {"maximum": {"color": GREY, "linestyle": ":"}, "mean": {"color": STAY, "linestyle": "-"},
             "minimum": {"color": GREY, "linestyle": ":"}}  # fmt: skip
    curves = {label: (x, found[label[:4] if label == "mean" else label[:3]].to_numpy()) for label in looks}
    for label, look in looks.items():
        ax.plot(*curves[label], **look, linewidth=1.8)
    ax.set_ylim(0)
    ax.set_ylabel("rank reached (documents)")
    titled(ax, f"How deep users are after some time · {in_picture(_title(progress))}")
    label_ends(ax, curves, looks)
    return ax


def plot_gains(progress: Any, ax: Any = None) -> Any:
    """Plot the gain of each run over time, averaged over its topics; the eight best are labelled, others are grey."""
    ax, shown, x = _axes(progress, ax)
    found = progress.by("run")["gain"]["mean"].unstack("run").loc[shown.index]
    names = list(found.iloc[-1].sort_values(ascending=False, kind="stable").index)
    coloured = [name for name in progress.table.index.unique("run") if name in names[: len(COLOURS)]]
    looks = system_looks([*coloured, *names[len(COLOURS) :]])  # colours follow the order of the runs, as elsewhere
    for name in names[::-1]:  # the best lie above the others
        width, alpha = (0.6, 0.5) if looks[name]["color"] == GREY else (1.6, 1)
        ax.plot(x, found[name], **looks[name] | {"marker": ""}, linewidth=width, alpha=alpha)
    ax.set_ylabel("gain so far (G)")
    ax.set_ylim(0, 1.05 * float(found.to_numpy().max()) or 1)
    best = f" · coloured: the best {len(COLOURS)}" if len(names) > len(COLOURS) else ""
    titled(ax, f"What users have gained after some time, if none leaves · {in_picture(_title(progress))}{best}")
    label_ends(ax, {str(name): (x, found[name]) for name in names[: len(COLOURS)]},
               {str(name): look for name, look in looks.items()})  # fmt: skip
    return ax


def _axes(progress: Any, ax: Any) -> tuple[Any, Any, Any]:
    """Return axes, the rows to show (until all lists have ended), and their times, with seconds as minutes."""
    ax = axes_of(ax)
    shown = progress.by()
    over = np.flatnonzero(shown["ended", "mean"].to_numpy() >= 1)
    shown = shown.iloc[: over[0] + 1] if len(over) else shown
    in_minutes = progress.unit == "seconds"
    x = shown.index.to_numpy() / (60 if in_minutes else 1)
    ax.set_xlabel("time (minutes)" if in_minutes else f"effort ({in_picture(progress.unit)})")
    ax.set_xlim(x[0], x[-1] if len(x) > 1 else x[0] + 1)
    ax.locator_params(axis="x", integer=progress.unit == "documents")
    return ax, shown, x


def _title(progress: Any) -> str:
    runs, topics = (progress.table.index.unique(level) for level in ("run", "query_id"))
    measure = progress.measure if len(progress.measure) <= 40 else f"{progress.measure.split('(')[0]}(…)"
    of_topics = f"topic {topics[0]}" if len(topics) == 1 else f"{len(topics):,} topics"
    return f"{measure} · {len(runs):,} run{'s' * (len(runs) != 1)}, {of_topics}"
