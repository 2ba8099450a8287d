"""Simulation of users of a measure, alone or of several classes: stops, scores, logs and plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ..._version import __version__
from ...data.columns import Array
from ...errors import BadParameter, many, near
from ...errors.sanitise import in_picture
from ...files.inputs import one_run
from ...files.memory_limit import refuse_beyond_memory
from ...rendering.figures import GAIN, GREY, SCORE, STAY, axes_of, elided, key, name_rows, saved, system_looks, titled
from ...rendering.numbers import percent
from ...rendering.tables import Printed, Table
from ..logs.log import NEEDED, InteractionLog
from .user_paths import WHAT, Task, clicks, counts_unseen, standard_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...files.atomic import AnyPath


_SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
_LESS_IS_BETTER = ("time", "items")


def _plot_runs(simulation: Simulation, what: str, qid: str | None, ax: Any) -> Any:
    """Plot the ranges of a value of the users of each run, with runs sorted by the mean."""
    axis = simulation.axis(what)
    users = {run: simulation.users(qid, run)[what].to_numpy() for run in simulation.mean.index}
    if not any(np.isfinite(values).any() for values in users.values()):
        raise BadParameter(f"the {what} of every user is infinite, so it cannot be plotted.")
    looks = system_looks(list(users))
    sign = 1 if what in _LESS_IS_BETTER else -1
    names = sorted(users, key=lambda run: sign * float(users[run].mean()))
    ax = axes_of(ax, (7, 1.6 + 0.2 * len(names)))
    ends = [_draw_users(ax, number, users[name], looks[name]["color"]) for number, name in enumerate(names)]
    name_rows(ax, range(len(names)), [elided(str(name), 40) for name in names])
    low, high = min(0.0, *(low for low, _ in ends)), max(high for _, high in ends)
    ax.set(ylim=(len(names) - 0.5, -0.6), xlim=(low, low + 1.04 * (high - low or 1.0)), xlabel=axis)
    queries = simulation._queries
    whose = f"topic {qid}" if qid is not None else f"each of {queries:,} topics" if queries > 1 else "one topic"
    title = f"{what} of {simulation.n_users:,} users of {simulation.name} on {whose}, {many(len(names), 'system')}"
    titled(ax, in_picture(title[0].upper() + title[1:]))
    marks: dict[str, dict[str, Any]] = {
        "nine of ten users": {"linewidth": 1.2},
        "half of the users": {"linewidth": 4.5},
        "median": {"linestyle": "none", "marker": "|", "markersize": 11, "markeredgewidth": 1.8},
        "mean (also at the right)": {"linestyle": "none", "marker": "o", "markersize": 5},
    }
    key(ax, {name: {**look, "color": GREY} for name, look in marks.items()})
    return ax


def _draw_users(ax: Any, y: int, values: Any, colour: str) -> tuple[float, float]:
    """Draw the row of a run, as far as its values are finite; return the ends of what is drawn."""
    marks = np.quantile(values, _SHARES, method="inverted_cdf")
    mean = float(values.mean())
    ends = np.array([*marks, mean])
    ends = ends[np.isfinite(ends)]
    low, high = (float(ends.min()), float(ends.max())) if ends.size else (0.0, 0.0)
    for begin, end, width in ((marks[0], marks[4], 1.2), (marks[1], marks[3], 4.5)):
        if np.isfinite(begin):
            ax.hlines(y, begin, min(end, high), color=colour, linewidth=width)
            if not np.isfinite(end):
                ax.plot([high], [y], ">", color=colour, markersize=4, clip_on=False)
    if np.isfinite(marks[2]):
        ax.plot([marks[2]], [y], "|", color=colour, markersize=11, markeredgewidth=1.8)
    if np.isfinite(mean):
        ax.plot([mean], [y], "o", markersize=5, color=colour, markeredgecolor=ax.get_facecolor())
    written = f"{mean:.3g}" if np.isfinite(mean) else "∞"
    ax.text(1.02, y, written, transform=ax.get_yaxis_transform(), va="center", fontsize=8)
    return low, high


@dataclass(frozen=True, repr=False)
class Simulation(Printed):
    """Gain, time, number of items and score of simulated users.

    Attributes
    ----------
    measure : str
        Name of the measure.
    unit : str
        Unit of the times.
    n_users : int
        Number of users per topic.
    seed : int
        Seed of the draws.
    reading : str or None
        Distribution of reading times; None if the measure has no clicks.
    sampling : str
        Sampling of the users.
    by_query : DataFrame
        One row per run and judged query, with the means gain, time, items and score, their standard deviations (suffix
        ``_sd``) and quantiles (suffix ``_5%`` …), error (standard error of the mean score), nothing (share of users
        without gain), analytic (score of :func:`evaluate`), beyond (share of users who continue below the retrieved
        results) and never (share of users who never leave).
    notes : tuple of str
        Remarks about the results.
    version : str
        Version of the package.
    kept : dict
        Values of the individual users by run and query; empty unless ``keep=True``.
    by_class : DataFrame or None
        For a Mixture, or an IntentAware, whose classes are the intents of the query that have users: one row per run,
        judged query and class of users, with the means gain, time, items and score of
        its users, the variance of their scores (score_var) and the share of the users. None for other measures.
    classes : dict
        Class of each user by query, for ``keep=True`` and a Mixture or IntentAware.
    """

    measure: str
    unit: str
    n_users: int
    seed: int
    reading: str | None
    sampling: str
    by_query: pd.DataFrame
    notes: tuple[str, ...] = ()
    version: str = __version__
    kept: dict[tuple[str, str], Array] = field(default_factory=dict)
    by_class: pd.DataFrame | None = None
    classes: dict[str, list[str]] = field(default_factory=dict)

    @cached_property
    def variance(self) -> pd.DataFrame:
        """Variance of the scores within and between the classes of a Mixture, or intents, one row per run and query.

        within = Σ_u p_u·σ_u² and between = Σ_u p_u·(μ_u − μ)², with the shares p_u, means μ_u and variances σ_u² of the
        simulated users. Their sum, total, is the variance over all users. ``.variance.groupby("run").mean()`` is the
        mean over queries.

        Raises
        ------
        BadParameter
            If the measure is neither a Mixture nor an IntentAware.
        """
        if self.by_class is None:
            raise BadParameter(f"{self.measure} has one class of users; give a Mixture for variances between classes.")
        return _variance(self.by_class)

    @cached_property
    def mean(self) -> pd.DataFrame:
        """Means over the queries, one row per run; error is the standard error of the mean over these queries."""
        groups = self.by_query.groupby(level="run", sort=False)
        mean = groups.agg(lambda column: column.mean(skipna=False))  # NaN if undefined for a query
        mean["error"] = groups["error"].agg(_of_mean)
        return mean

    def users(self, qid: str | None = None, run: str | None = None) -> pd.DataFrame:
        """Return the values of the individual users; requires ``simulate(…, keep=True)``.

        Parameters
        ----------
        qid : str, optional
            Query id; by default all queries.
        run : str, optional
            Name of the run; required with several runs.

        Returns
        -------
        DataFrame
            Columns gain, time, items and score, and class for a Mixture or IntentAware; index run, query_id and user.

        Raises
        ------
        BadParameter
            If the users were not kept, or the query or run is unknown.
        """
        runs, queries = (list(dict.fromkeys(pair[place] for pair in self.kept)) for place in (0, 1))
        if not runs:
            raise BadParameter("the individual users were not kept: call simulate(…, keep=True).")
        if run is None and len(runs) > 1:
            raise BadParameter(f"the simulation has several runs: give run=, one of {', '.join(map(repr, runs))}.")
        for name, value, known in (("run", run, runs), ("query", qid, queries)):
            if value is not None and value not in known:
                raise BadParameter(f"no {name} {value!r} in the simulation. {near(str(value), known)}")
        chosen = [pair for pair in self.kept if pair[0] == (run or runs[0]) and qid in (None, pair[1])]
        frames = {pair: pd.DataFrame(self.kept[pair].T, columns=list(WHAT)) for pair in chosen}
        users = pd.concat(frames, names=["run", "query_id", "user"])
        return users.assign(**{"class": [c for _, q in chosen for c in self.classes[q]]}) if self.classes else users

    def plot(
        self,
        what: str = "score",
        qid: str | None = None,
        run: str | None = None,
        ax: Any = None,
        path: AnyPath | None = None,
    ) -> Axes:
        """Plot the distribution of gain, time, items or score over users; requires ``simulate(…, keep=True)``.

        One run has a histogram. Its blue line is the mean of the users and, with ``what="score"``, the red line the
        value of the measure. The last bar contains the highest percent of the users.

        Several runs have one row each: a thin line for the range of nine of ten users, a thick one for that of half of
        them, a vertical mark for the median, and a point for the mean, which is written at the right. The best mean is
        at the top, which is the lowest of time and items.

        Parameters
        ----------
        what : {"score", "gain", "time", "items"}, default="score"
            Value to plot.
        qid : str, optional
            Query id; by default all queries.
        run : str, optional
            Name of the run; by default all runs.
        ax : matplotlib Axes, optional
            Axes to draw on; by default new ones.
        path : path, optional
            File to which the figure is saved.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        BadParameter
            If the users were not kept, there is no such query or run, or the value is unknown or infinite for all
            users.
        """
        several = run is None and len(self.mean) > 1
        return saved(_plot_runs(self, what, qid, ax) if several else plot_users(self, what, qid, run, ax), path)

    def axis(self, what: str) -> str:
        """Return the label of an axis of gain, time, items or score, with its unit."""
        if what not in WHAT:
            raise BadParameter(f"no value {what!r} of users. {near(what, WHAT)}")
        unit = f"time ({self.unit})" if self.unit == "seconds" else self.unit
        return {"gain": "gain", "items": "documents seen", "score": "score of a user"}.get(what, unit)

    @property
    def name(self) -> str:
        """Name of the measure, without its parameters if it is long."""
        return self.measure.split("(")[0] if len(self.measure) > 40 else self.measure

    @property
    def title(self) -> str:
        """Numbers of users and topics, and the measure, as text."""
        return f"{self.n_users:,} users of {self.measure} on each of {many(self._queries, 'topic')}"

    @property
    def _queries(self) -> int:
        return self.by_query.index.get_level_values("query_id").nunique()

    @property
    def remarks(self) -> list[str]:
        """The notes, and how the users were simulated."""
        return [*self.notes, f"Simulated with {self.made}."]

    def shown(self) -> Table:
        """Return the printed table for people."""
        columns = [name for what in ("gain", "time", "items") for name in (what, f"{what}_sd")]
        columns += ["score", "error", "analytic", "beyond", "never"]
        return Table.from_frame(self.mean[columns].reset_index())

    @property
    def made(self) -> str:
        """How the users were simulated: reading, sampling, seed and version."""
        reading = "" if self.reading is None else f"reading {self.reading}, "
        return f"{reading}{self.sampling} sampling, seed {self.seed}, version {self.version}"


def simulate(
    qrels: Any,
    runs: Any,
    measure: Any,
    users: int = 10_000,
    seed: int = 0,
    reading: str = "fixed",
    sampling: str = "plain",
    quantiles: Sequence[float] = (0.05, 0.25, 0.5, 0.75, 0.95),
    keep: bool = False,
    progress: bool = True,
    n_jobs: int = 1,
) -> Simulation:
    """Simulate users of a measure on runs: their gain, time, number of items and score.

    A user inspects the results in rank order. If the measure has clicks (a gain ``clicksave`` or ``clicksave_by_grade``
    with an effort ``time``, ``grade_time`` or ``reading``, such as TBG), each result is clicked with the probability
    P(click) of the measure. A clicked document is saved with probability P(save), which gains 1 if it is relevant, and
    read for a random time whose mean is the effort of the measure. Otherwise gains and efforts are those of the
    measure. The continuation C, applied to the gains and efforts of this user, gives V. One uniform draw u per user
    decides the stop: the user inspects item i while u < V(i). So a user stops at i with probability L(i) of the path of
    this user, with the score A(i), divided by the normalisation N.

    Each user of a Mixture belongs to a class, drawn by the weights, and is a user of the measure of this class. Each
    user of an IntentAware has an intent, drawn by P(t|q), with the judgments of this intent; users whose intent has no
    judgments score 0.
    ``.by_class`` and ``.variance`` compare the classes.

    The draws depend only on the seed, the query and the number of the user: the users are the same for all runs, in
    separate calls and with any number of processes. Times of users who click have seven digits.

    Below the list (``end="open"``), items have no gain and the effort of an unseen item. If that effort is unknown, or
    0 and users leave because of effort, time and items count only down to the end of the list. Users who never leave
    have an infinite number of items and a score of 0; ``never`` is their share. It is an error if more than one in a
    million users would inspect more than 4,194,304 items below the list. Under ap1, gain that was not retrieved lies at
    infinity, which no user reaches, so the mean number of items is less than V⁺.

    Parameters
    ----------
    qrels : DataFrame, dict of dicts, or path
        Judgments, as for :func:`evaluate`.
    runs : DataFrame, dict of dicts, path, or mapping of these
        A run, or runs by name, as for :func:`evaluate`.
    measure : Measure or str
        Measure that follows a user model, a ByTopic, a Mixture of these, or an IntentAware of a user model.
    users : int from 1, default=10_000
        Number of users per topic.
    seed : int from 0, default=0
        Seed of the draws.
    reading : str, default="fixed"
        Distribution of reading times around their means: "fixed", "exponential", "gamma(shape)" or "lognormal(sigma)".
    sampling : {"plain", "antithetic", "stratified"}, default="plain"
        Sampling of users; antithetic and stratified samples have smaller standard errors. "antithetic" draws pairs of
        users with opposite draws, u and 1 − u. "stratified" spreads the draws that decide the stops evenly over the
        users.
    quantiles : sequence of float in [0, 1], default=(0.05, 0.25, 0.5, 0.75, 0.95)
        Quantiles of gain, time, items and score to report.
    keep : bool, default=False
        Whether to keep the individual users for ``.users()`` and ``.plot()``.
    progress : bool, default=True
        Whether to show a progress bar.
    n_jobs : int, default=1
        Number of processes.

    Returns
    -------
    Simulation

    Raises
    ------
    BadParameter
        If the measure has no user model, or a parameter is invalid.
    MissingLength
        If the measure needs the length of a document and it is unknown.
    BadRun, BadJudgments
        As :func:`evaluate`.

    References
    ----------
    Smucker and Clarke (2012), Eq. 8 to 10; Moffat et al. (2022), Eq. 5.

    Examples
    --------
    >>> from pyterrier_cwla.behaviour.simulation.simulator import simulate
    >>> qrels = {"q": {"a": 1, "c": 1}}
    >>> run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    >>> found = simulate(qrels, run, "CWLA(C='rbp(0.5)',A='etg',max_rel=1)", sampling="stratified")
    >>> found.by_query[["gain", "items", "score", "analytic"]].round(2)
                  gain  items  score  analytic
    run query_id
    run q         1.25    2.0   1.25      1.25
    """
    task, shares = Task.from_arguments(qrels, runs, measure, users, seed, reading, sampling), _shares(quantiles)
    if keep:
        size = 8 * len(WHAT) * users * len(task.queries) * len(task.analytic)
        refuse_beyond_memory(
            size, f"users={users:,}, kept for {many(len(task.queries) * len(task.analytic), 'ranking')},"
        )
    of_queries = task.of_queries(partial(_of_query, shares=shares, keep=keep), progress, n_jobs)
    found = dict(zip(task.queries, of_queries, strict=True))
    pairs = [(run, qid) for run in task.analytic for qid in task.queries]
    by_query = _indexed({pair: found[pair[1]].rows[pair[0]] for pair in pairs}, "run query_id")
    by_class = None
    if task.mixed:
        rows = {(*pair, name): row for pair in pairs for name, row in found[pair[1]].by_class[pair[0]].items()}
        by_class = _indexed(rows, "run query_id class")
    return Simulation(
        measure=str(task.measure),
        unit=task.unit,
        n_users=users,
        seed=seed,
        reading=str(task.reading) if any(clicks(model.metric) for model in task.models) else None,
        sampling=sampling,
        by_query=by_query,
        notes=(*_notes(task, by_query), *([] if by_class is None else [_note_of_classes(by_class)])),
        kept={(run, qid): found[qid].kept[run] for run, qid in pairs} if keep else {},
        by_class=by_class,
        classes={qid: one.names for qid, one in found.items()} if keep and task.mixed else {},
    )


def simulated_log(
    qrels: Any,
    run: Any,
    measure: Any,
    users: int = 100,
    seed: int = 0,
    reading: str = "exponential",
    speeds: Sequence[float] | None = None,
    time_limit: float | None = None,
) -> InteractionLog:
    """Simulate users of a measure on a run, and return their interaction log.

    The users are those of :func:`simulate`, with one session per user and judged query. Each result that a user
    inspects is a row with clicked, saved, summary_seconds, document_seconds, words (if the measure uses lengths) and
    grade. Users inspect only retrieved results; a user who would continue at the end of the list is ``cut_off``. Users
    who leave before the first result have no session; the notes contain their number.

    Parameters
    ----------
    qrels : DataFrame, dict of dicts, or path
        Judgments, as for :func:`evaluate`.
    run : DataFrame, dict of dicts, or path
        One run, as for :func:`evaluate`.
    measure : Measure or str
        Measure whose users click, with efforts in seconds, such as TBG or a ByTopic of it.
    users : int, default=100
        Number of users per topic.
    seed : int, default=0
        Seed of the draws, 0 or more.
    reading : str, default="exponential"
        Distribution of reading times, as for :func:`simulate`.
    speeds : sequence of float, shape (n_users,), optional
        Factor on all seconds of each user; by default 1.
    time_limit : float, optional
        Duration in seconds after which sessions are ``cut_off``. The log contains the results whose summaries were read
        until then. A document that is being read at that time has its seconds up to the limit, and is not saved.

    Returns
    -------
    InteractionLog

    Raises
    ------
    BadParameter
        If the measure has no clicks or no seconds, or a parameter is invalid.

    References
    ----------
    Smucker and Clarke (2012), sections 3 and 4.

    Examples
    --------
    >>> from pyterrier_cwla import TBG
    >>> from pyterrier_cwla.behaviour.simulation.simulator import simulated_log
    >>> qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 2.0, "b": 1.0}}
    >>> log = simulated_log(qrels, run, TBG(lengths={"a": 500, "b": 100}), users=1000)
    >>> round(float(log.rows[log.rows.grade == 1].clicked.mean()), 2)
    0.64
    """
    task = Task.from_arguments(qrels, {"run": one_run(run)}, measure, users, seed, reading, "plain")
    if task.mixed:
        raise BadParameter(
            f"{task.measure}: a log has one class of users; simulate one log for the measure of each class."
        )
    metric = task.models[0].metric
    if not clicks(metric) or metric.effort.name == "reading":
        raise BadParameter(
            f"{task.measure}: a log needs clicks and seconds; give a measure with a gain 'clicksave…' and an"
            " effort 'time' or 'grade_time', such as TBG."
        )
    factors = np.ones(users) if speeds is None else np.asarray(speeds, float)
    if factors.shape != (users,) or not ((factors > 0) & np.isfinite(factors)).all():
        raise BadParameter(f"speeds= must be a factor above 0 for each of the {users:,} users.")
    if time_limit is not None and not (np.isfinite(time_limit) and time_limit > 0):
        raise BadParameter(f"time_limit={time_limit!r}: give a number of seconds above 0.")
    limit = np.inf if time_limit is None else float(time_limit)
    parts, sessions = [], 0
    for qid in task.queries:
        model = task.classes[qid][0].model
        (course,) = model.courses(qid, task.reading)
        if course is None or not course.n:
            continue
        sessions += users
        listed = model.listed("run", qid)
        for block, luck in task.blocks(qid):
            seen = course.sessions(luck, factors[block], limit)
            part = pd.DataFrame({**seen, **{name: column[seen["rank"] - 1] for name, column in listed.items()}})
            parts.append(part.assign(topic=qid, user=part["user"] + block.start))
    width = len(str(users))
    rows = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(NEEDED))
    rows["user"] = "user " + rows["user"].astype(str).str.zfill(width)
    rows["session"] = rows["topic"]
    silent = sessions - len(rows.drop_duplicates(["user", "session"]))
    notes = [
        f"simulated: {users:,} users of {task.measure}, reading {task.reading}, seed {seed}, version {__version__}"
    ]
    if silent:
        notes.append(f"{silent:,} sessions ended before the first result and have no rows")
    return replace(InteractionLog.of(rows), notes=tuple(notes))


def _notes(task: Task, by_query: pd.DataFrame) -> tuple[str, ...]:
    notes = []
    beyond, never = by_query["beyond"].mean(), by_query["never"].mean()
    if beyond and not all(counts_unseen(model.metric) for model in task.models):
        notes.append(
            f"{percent(beyond, 1)} of the users continue below the retrieved results. The effort of unseen items is"
            " unknown or zero, so time and items count only down to the end of the list. A measure with a cost of"
            " unseen items, such as TBG(unseen=12), counts those below it."
        )
    if never:
        notes.append(
            f"{percent(never, 1)} of the users never leave: their number of items is infinite, and their score is 0."
        )
    metrics = [model.metric for model in task.models if clicks(model.metric)]
    by_efforts = [bool(one.C.fact("gives_survival")) for one in metrics]
    excess = _excess(by_query)
    if any(one.loss and not V for one, V in zip(metrics, by_efforts, strict=True)) and (excess > 1).any():
        notes.append(
            "The score exceeds the measure (analytic) by more than two standard errors: the measure discounts by"
            " expected times, and by Jensen's inequality the mean over users is higher."
            " pyterrier_cwla.behaviour.expected_saves computes this mean exactly."
        )
    if any(by_efforts) and (excess.abs() > 1).any():
        notes.append(
            "The score differs from the measure (analytic) by more than two standard errors: the measure takes V from"
            " expected efforts, and each simulated user has efforts of their own."
        )
    return tuple(notes)


def _variance(by_class: pd.DataFrame) -> pd.DataFrame:
    """Return the variance of the scores within and between classes, by run and query."""
    p, mean, own = (by_class[name] for name in ("share", "score", "score_var"))
    queries = ["run", "query_id"]
    overall = (p * mean).groupby(queries, sort=False).transform("sum")
    within, between = ((p * of).groupby(queries, sort=False).sum() for of in (own, (mean - overall) ** 2))
    return pd.DataFrame({"within": within, "between": between, "total": within + between})


def _note_of_classes(by_class: pd.DataFrame) -> str:
    """Return the range over runs of the share of the variance that is between the classes."""
    mean = _variance(by_class).groupby("run").mean()
    if not (mean["total"] > 0).all():
        return "All users of a run have the same score."
    low, high = (getattr(mean["between"] / mean["total"], end)() for end in ("min", "max"))
    shares = " to ".join(dict.fromkeys([percent(low, 0), percent(high, 0)]))
    return f"{shares} of the variance of the scores is between the classes of users, the rest within them (.variance)."


def _excess(by_query: pd.DataFrame) -> pd.Series:
    """Return how much the mean score of each run exceeds the measure, in units of two standard errors and 1e-9.

    NaN if the standard error is unknown, as with a single user.
    """
    runs = by_query[["score", "analytic", "error"]].groupby(level="run", sort=False)
    mean = runs.mean()
    error = runs["error"].agg(_of_mean)
    return (mean["score"] - mean["analytic"]) / (2 * error + 1e-9 * mean["analytic"].abs())


def _of_mean(errors: pd.Series) -> float:
    """Compute the standard error of a mean of independent means."""
    return float(np.linalg.norm(errors.to_numpy())) / len(errors)


def _shares(quantiles: Sequence[float]) -> Array:
    shares = np.asarray(quantiles, float)
    if shares.ndim != 1 or not ((shares >= 0) & (shares <= 1)).all():
        raise BadParameter(f"quantiles={quantiles!r}: give shares from 0 to 1, such as (0.25, 0.5, 0.75).")
    return shares


class _UsersOfQuery(NamedTuple):
    """Statistics of the users of a query by run, and those of each class; the users and their classes if kept."""

    rows: dict[str, dict[str, float]]
    by_class: dict[str, dict[str, dict[str, float]]]
    kept: dict[str, Array]
    names: list[str]


def _of_query(task: Task, qid: str, shares: Array, keep: bool) -> _UsersOfQuery:
    """Return the statistics of the users of a query."""
    values, beyond, never, of_class = task.outcomes(qid)
    by_run, number = dict(zip(task.analytic, values, strict=True)), task.judgments.index[qid]
    rows = {
        run: _statistics(of, shares, task.sampling)
        | {"analytic": float(task.analytic[run][number])}
        | {"beyond": further / task.users, "never": staying / task.users}
        for (run, of), further, staying in zip(by_run.items(), beyond, never, strict=True)
    }
    names = [one.name for one in task.classes[qid]]
    by_class = {
        run: {
            name: _statistics_of_class(np.compress(of_class == at, of, axis=1), task.users)
            for at, name in enumerate(names)
        }
        for run, of in by_run.items()
        if task.mixed
    }
    kept, of_users = (by_run, [names[at] for at in of_class.tolist()]) if keep else ({}, [])
    return _UsersOfQuery(rows, by_class, kept, of_users)


def _statistics_of_class(values: Array, users: int) -> dict[str, float]:
    """Return means, variance of the score and share of the users of a class; NaN for a class without users."""
    means = values.mean(axis=1) if values.size else np.full(len(WHAT), np.nan)
    spread = values[WHAT.index("score")].var() if values.size else np.nan
    return {**dict(zip(WHAT, means.tolist(), strict=True)), "score_var": spread, "share": values.shape[1] / users}


def _indexed(rows: Mapping[Any, dict[str, float]], names: str) -> pd.DataFrame:
    """Return rows as a frame with their keys as its index."""
    return pd.DataFrame([*rows.values()], pd.MultiIndex.from_tuples(rows, names=names.split()))


def _statistics(values: Array, shares: Array, sampling: str) -> dict[str, float]:
    """Compute means, standard deviations and quantiles of the values of users [values × users]."""
    with np.errstate(invalid="ignore"):
        means, spreads = values.mean(axis=1), values.std(axis=1, ddof=1 if values.shape[1] > 1 else 0)
        spreads[values.min(axis=1) == values.max(axis=1)] = 0.0
        levels = np.quantile(values, shares, axis=1, method="inverted_cdf") if len(shares) else np.zeros((0, len(WHAT)))
    row: dict[str, float] = {}
    for place, what in enumerate(WHAT):
        row |= {what: means[place], f"{what}_sd": spreads[place]}
        row |= {f"{what}_{100 * share:g}%": level for share, level in zip(shares, levels[:, place], strict=True)}
    nothing = float(np.mean(values[WHAT.index("gain")] == 0))
    return {**row, "error": standard_error(values[WHAT.index("score")], sampling), "nothing": nothing}


_BARS = 60


def plot_users(
    simulation: Simulation,
    what: str = "score",
    qid: str | None = None,
    run: str | None = None,
    ax: Any = None,
    path: AnyPath | None = None,
) -> Axes:
    """Plot the distribution of gain, time, items or score over users.

    The blue line is the mean of the users. With ``what="score"``, the red line is the value of the measure. The last
    bar contains the highest percent of the users.

    Parameters
    ----------
    simulation : Simulation
        Result of ``simulate(…, keep=True)``.
    what : {"score", "gain", "time", "items"}, default="score"
        Value to plot.
    qid : str, optional
        Query id; by default all queries.
    run : str, optional
        Name of the run; required with several runs.
    ax : matplotlib Axes, optional
        Axes to draw on; by default new ones.
    path : path, optional
        File to which the figure is saved.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    BadParameter
        If the users were not kept, or the value is unknown or infinite for all users.
    """
    axis, users = simulation.axis(what), simulation.users(qid, run)
    name, values = users.index[0][0], users[what].to_numpy()
    endless = ~np.isfinite(values)
    if endless.all():
        raise BadParameter(f"the {what} of every user is infinite, so it cannot be plotted.")
    ax = axes_of(ax)
    finite = values[~endless]
    bars = _bars(finite)
    gap = bars[1] - bars[0]
    in_bars = np.minimum(finite, bars[-1] - gap / 2)
    ax.hist(in_bars, bars, weights=np.full(len(finite), 1 / len(values)), color=GAIN, rwidth=0.9)
    more = " (last bar: all higher values)" if finite.max() > bars[-1] else ""
    found = simulation.by_query.loc[[pair for pair in simulation.kept if pair[0] == name and qid in (None, pair[1])]]
    means = {"mean of the users": (float(found[what].mean()), STAY, "-")}
    if what == "score":
        means["value of the measure"] = (float(found["analytic"].mean()), SCORE, "--")
    means = {f"{label}: {mark[0]:.4g}": mark for label, mark in means.items() if np.isfinite(mark[0])}
    for value, colour, line in means.values():
        ax.axvline(value, color=colour, linestyle=line, linewidth=1.6)
    ax.set(xlabel=in_picture(axis) + more, ylabel="share of users")
    if ax.get_ylim()[1] > 0:
        ax.set_ylim(0, 1.08 * ax.get_ylim()[1])
    if endless.any():
        ax.text(0.99, 0.8, f"{percent(endless.mean(), 1)} infinite", transform=ax.transAxes, ha="right", color=GREY)
    whose = f"topic {qid}" if qid is not None else many(len(found), "topic")
    title = f"Users differ: {name} by {simulation.name} · {whose}, {simulation.n_users:,} users each"
    titled(ax, in_picture(title))
    if means:
        key(ax, {label: {"color": colour, "linestyle": line} for label, (_, colour, line) in means.items()})
    return saved(ax, path)


def _bars(values: Any) -> Any:
    """Return the edges of equal bars up to the 99 % quantile; integers lie in the middle of their bars."""
    low, top = float(values.min()), float(np.quantile(values, 0.99, method="higher"))
    if (values == np.round(values)).all():
        width = max(1.0, np.ceil((top - low + 1) / _BARS))
        return low - 0.5 + width * np.arange(np.floor((top - low) / width) + 2)
    return np.linspace(low, top if top > low else low + 1, _BARS + 1)
