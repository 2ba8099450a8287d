"""How far users get: the time T(k) to reach rank k, and the rank and the gain G(t) that are reached at time t."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...data.rankings import Array, Rankings
from ...errors import BadParameter, BadRun
from ...errors.parameter_checks import check_whole
from ...errors.sanitise import in_picture
from ...evaluation.explanation import followed
from ...files.inputs import is_runs, loaded, one_run
from ...measures.parsing import measures_of
from ...measures.provider import prepare
from ...model.metric import Metric
from ...model.query_chunks import packed
from ...model.view import before
from ...model.view_columns import seen_part, view_of_ranks
from ...rendering.figures import GAIN, GREY, STAY, apart, axes_of, titled
from .estimate import printed

_CELLS = 1 << 17  # queries × ranks that are worked on at a time
_HALF_MINUTES = tuple(range(0, 1801, 30))


@dataclass(frozen=True)
class Progress:
    """How far users get who look at one result after the other and never leave.

    ``table``: one row for each run, query and time, with ``rank``, the results reached by then (the one being looked at
    included), ``gain``, the gains G(t) of these, and ``ended``, whether the list was over. ``unit``: of the times.
    """

    table: pd.DataFrame
    measure: str
    unit: str

    def __repr__(self) -> str:
        return printed(
            f"{self.measure}: how far users get, over all runs and topics; time in {self.unit}", self.by().reset_index()
        )

    def by(self, *names: str) -> pd.DataFrame:
        """Maximum, mean and minimum of rank and gain at each time, over all else than what is named.

        ``by("query_id")``: over the runs, topic by topic; ``by("run")``: over the topics, run by run; ``by()``: over
        all runs and topics. ``ended``: the share of the lists that are over.
        """
        levels = [name for name in self.table.index.names if name != "time"]
        for name in names:
            if name not in levels:
                raise BadParameter(f"by({name!r}): there is {' and '.join(levels)}.")
        grouped = self.table.groupby(level=[*names, "time"], sort=False)
        extremes = ["max", "mean", "min"]
        return grouped.agg({"rank": extremes, "gain": extremes, "ended": ["mean"]})

    def plot_ranks(self, ax: Any = None) -> Any:
        """Maximum, mean and minimum rank at each time, over all runs and topics (Figure 3 of the paper)."""
        return plot_ranks(self, ax)

    def plot_gains(self, ax: Any = None) -> Any:
        """The mean gain G(t) of each run over its topics (Figure 4 of the paper)."""
        return plot_gains(self, ax)


def progress(
    qrels: Any, runs: Any, measure: Any = "TBG", times: Iterable[float] = _HALF_MINUTES, qid: str | None = None
) -> Progress:
    """Compute the rank and the gain that are reached at each time.

    T(k) = Σ_{i<k} e_i, the effort of the measure before rank k; at time t the user looks at the last rank k with T(k) ≤
    t, and has gained G(t), the gains of all ranks down to it: a gain counts on arrival, and nobody leaves. Judged
    queries that a run does not answer are left out of it.

    Parameters
    ----------
    qrels, runs
        As :func:`evaluate` takes them: a run, or runs by name.
    measure
        A measure that follows a user model.
    times : iterable of float
        Rising, from 0, in the unit of the measure's effort (seconds for TBG); by default half an hour in half minutes.
    qid : str, optional
        The only query that is looked at; by default all.

    Returns
    -------
    Progress

    Raises
    ------
    BadParameter
        If times fall or are negative, the query has no judgments, or the measure has no user model.
    MissingLength
        As the measure does.

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
        raise BadParameter("times= must rise, from 0 or later.")
    (measure,) = measures_of([measure])
    judgments = prepare(loaded(qrels, "qrels"))
    if qid is not None and qid not in judgments.index:
        raise BadParameter(f"no topic {qid!r} in the judgments.")
    metric = followed(measure, judgments)
    pieces = []
    for name, run in (runs if is_runs(runs) else {"run": runs}).items():
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
    return Progress(pd.concat(pieces), str(measure), unit_of(metric))


def times_to_ranks(qrels: Any, run: Any, measure: Any = "TBG", depth: int = 10) -> pd.DataFrame:
    """T(k), the time to reach each of the ranks 1 to ``depth``, a row for each judged query that the run answers.

    T(k) = Σ_{i<k} e_i in the unit of the measure's effort, so T(1) = 0; NaN for ranks that a list does not have.

    >>> times_to_ranks({"q": {"a": 1}}, {"q": {"a": 2.0, "b": 1.0}}, "TBG(seconds_per_word=0)", depth=3).round(2)
                1     2   3
    query_id
    q         0.0  9.39 NaN

    Source: Smucker and Clarke (2012), Eq. 4.
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
    """E(k), the effort down to and with rank k, and the gain G(k), of these queries' ranks 1 to width."""
    view, _ = view_of_ranks(metric, rankings, queries, width)
    return np.broadcast_to(view.E, (len(queries), width)), np.broadcast_to(view.G, (len(queries), width))


def _reached(metric: Metric, rankings: Rankings, queries: Array, times: Array) -> tuple[Array, Array, Array]:
    """Rank, gain and whether the list is over at each time, [queries × times]."""
    shape = (len(rankings), len(times))
    rank, gain, ended = np.zeros(shape, np.int64), np.zeros(shape), np.zeros(shape, bool)
    for chunk, width in packed(queries[np.argsort(rankings.n[queries], kind="stable")], rankings.n, _CELLS):
        E, G = _on_arrival(metric, rankings, chunk, width)
        T, last = before(E), rankings.n[chunk, None]
        # One search for all queries: each on a stretch of its own, as long as the longest.
        stretch = np.arange(len(chunk))[:, None] * (max(T.max(), times[-1]) + 1)
        found = np.searchsorted((T + stretch).ravel(), times + stretch, side="right")
        reached = np.minimum(found - np.arange(len(chunk))[:, None] * width, last)
        rank[chunk], gain[chunk] = reached, np.take_along_axis(G, reached - 1, axis=1)
        ended[chunk] = times >= np.take_along_axis(E, last - 1, axis=1)
    return rank[queries], gain[queries], ended[queries]


def unit_of(metric: Metric) -> str:
    """The unit of a measure's efforts, as the effort's docstring says it: seconds, words, documents."""
    found = re.search(r"Unit: ([^.]+)\.", metric.effort.part.__doc__ or "")
    return found.group(1) if found else "effort"


_NAMED = 10  # runs that have their names beside their lines


def plot_ranks(progress: Any, ax: Any = None) -> Any:
    """Maximum, mean and minimum rank at each time over all runs and topics, on matplotlib axes."""
    ax, shown, x = _axes(progress, ax)
    found = shown["rank"]
    ax.fill_between(x, found["min"], found["max"], color=GAIN, alpha=0.5, linewidth=0)
    spread = (found["max"] - found["min"]).to_numpy()
    widest = int(np.argmax(spread))
    labels = {
        "max": ("maximum", (-4, 4), "right"),
        "mean": ("mean", (6, -10), "left"),
        "min": ("minimum", (4, -9), "left"),
    }
    for column, (label, shift, side) in labels.items():
        colour, style = (STAY, "-") if column == "mean" else (GREY, ":")
        ax.plot(x, found[column], style, color=colour, linewidth=1.8)
        if spread.any():
            at = x[widest], found[column].iloc[widest]
            ax.annotate(label, at, xytext=shift, textcoords="offset points", ha=side, color=colour)
    ax.set_ylim(0)
    ax.set_ylabel("rank reached (documents)")
    return titled(ax, in_picture(_title(progress)))


def plot_gains(progress: Any, ax: Any = None) -> Any:
    """The gain of each run at each time, in the mean over its topics, on matplotlib axes; up to ten runs have names."""
    ax, shown, x = _axes(progress, ax)
    found = progress.by("run")["gain"]["mean"].unstack("run").loc[shown.index]
    last = found.iloc[-1].sort_values()
    colours = [*(str(grey) for grey in np.linspace(0.6, 0.0, len(last))[:-1]), STAY]
    for number, (name, colour) in enumerate(zip(last.index, colours, strict=True)):
        ax.plot(x, found[name], ["-", "--", "-.", ":"][number % 4], color=colour, linewidth=1.6)
    highest = float(found.to_numpy().max())
    if len(last) <= _NAMED:
        heights = apart(last, 0.07 * highest)
        for name, height, colour in zip(last.index, heights, colours, strict=True):
            ax.annotate(in_picture(name), (x[-1], height), xytext=(5, 0), textcoords="offset points", va="center",
                        fontsize=9, color=colour, annotation_clip=False)  # fmt: skip
        highest = max(highest, float(heights[-1]))
    ax.set_ylabel("gain G(t), nobody leaving")
    ax.set_ylim(0, 1.05 * highest or 1)
    return titled(ax, in_picture(_title(progress)))


def _axes(progress: Any, ax: Any) -> tuple[Any, Any, Any]:
    """Axes, what is shown of all runs and topics (until all lists are over), and its times: seconds in minutes."""
    ax = axes_of(ax)
    shown = progress.by()
    over = np.flatnonzero(shown["ended", "mean"].to_numpy() >= 1)
    shown = shown.iloc[: over[0] + 1] if len(over) else shown
    in_minutes = progress.unit == "seconds"
    x = shown.index.to_numpy() / (60 if in_minutes else 1)
    ax.set_xlabel("time (minutes)" if in_minutes else f"effort ({in_picture(progress.unit)})")
    ax.set_xlim(x[0], x[-1] if len(x) > 1 else x[0] + 1)
    return ax, shown, x


def _title(progress: Any) -> str:
    runs, topics = (progress.table.index.unique(level) for level in ("run", "query_id"))
    measure = progress.measure if len(progress.measure) <= 40 else f"{progress.measure.split('(')[0]}(…)"
    of_topics = f"topic {topics[0]}" if len(topics) == 1 else f"{len(topics):,} topics"
    return f"{measure} · {len(runs):,} run{'s' * (len(runs) != 1)}, {of_topics}"
