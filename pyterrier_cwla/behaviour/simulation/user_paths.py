"""Paths of simulated users down one ranking: the rank of the stop, gain, time and score."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, cast

import numpy as np

from ...data.alignment import Judgments, Rows
from ...data.arrays import Array
from ...data.quantities import COST
from ...data.rankings import Rankings
from ...errors import BadJudgments, BadParameter, BadRun, many, naming, shown
from ...evaluation.explanation import followed
from ...files.inputs import is_runs, loaded, runs_by_name
from ...files.memory_limit import refuse_beyond_memory
from ...measures.parsing import measures_of
from ...measures.provider import CWLAEvaluator, prepare
from ...measures.wrappers import pinned
from ...model.browsing import Walk
from ...model.free_items import Endless
from ...model.introspection import reads
from ...model.metric import Metric
from ...model.scoring import divisor
from ...model.view import UnknownEffort, View
from ...model.view_columns import seen_part, view_of_ranks
from ...tasks.parallel import checked, side_by_side
from ...tasks.progress import bar
from .user_draws import BLOCK, SAMPLINGS, Luck, Reading, clicks, habits_of, reading_of

#: Values of each simulated user.
WHAT = ("gain", "time", "items", "score")
_STEP = 16  # ranks: depths are multiples of this number
_FAR = 1 << 16  # maximum number of ranks below the list
_CELLS = 1 << 16  # users × ranks per chunk


@dataclass(frozen=True)
class Outcome:
    """Results of the users of one block.

    Attributes
    ----------
    values : ndarray, shape (4, n_users)
        Gain, time, items and score.
    beyond : ndarray of bool, shape (n_users,)
        Whether the user continued below the retrieved results.
    never : ndarray of bool, shape (n_users,)
        Whether the user never leaves.
    """

    values: Array
    beyond: Array
    never: Array


class Course:
    """One ranking with the user model of a metric, for simulating paths."""

    def __init__(self, metric: Metric, rankings: Rankings, number: int, divisor: float, reading: Reading) -> None:
        self.metric, self.reading = metric, reading
        self.scale = 1 / divisor if divisor > 0 else 0.0
        self.n = int(rankings.n[number])
        self.width = max(self.n, metric.explicit_ranks)
        one = np.array([number])
        self.view, self.leaves = view_of_ranks(metric, rankings, one, self.width)
        self.walk = Walk(metric, self.view, self.leaves)
        self.habits = habits_of(metric, rankings, one, self.width).of(0) if clicks(metric) else None

    def outcome(self, luck: Luck) -> Outcome:
        """Simulate the users with these draws."""
        return self._same_path(luck.patience) if self.habits is None else self._own_paths(luck)

    def _same_path(self, patience: Array) -> Outcome:
        seen = _seen(self._survival, patience)
        values = self._after[:, np.minimum(seen, self.width)]
        beyond = seen > self.n
        further = seen > self.width
        never = np.zeros(len(seen), bool)
        if further.any():
            values[:, further], never[further] = self._beyond(self.walk, patience[None, further])
        return Outcome(values, beyond, never)

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
        items = view.i if self.metric.effort_beyond_known else np.minimum(view.i, self.n)
        with np.errstate(divide="ignore", invalid="ignore"):
            each = view.G, view.E, items, self.metric.A(view)
            values = np.stack([np.broadcast_to(of, view.r.shape)[row, column] for of in each], dtype=float)
            values[WHAT.index("score")] *= self.scale
        return values

    def _own_paths(self, luck: Luck) -> Outcome:
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
            stopped = seen < width if not ends else (seen < width) | (walk.reach <= patience)[:, 0]
            row = np.flatnonzero(stopped)
            results = self._values_at(walk.view, row, seen[row] - 1)
            values[:, users[row]] = np.where(seen[row] > 0, results, 0.0)
            beyond[users[row]] = seen[row] > self.n
            rest = users[~stopped]
            if len(rest) and not ends:
                waiting += _in_parts(rest, min(2 * width, self.width))
            elif len(rest):
                beyond[rest] = True
                values[:, rest], never[rest] = self._beyond(self._rows(walk, ~stopped), patience[~stopped])
        return Outcome(values, beyond, never)

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
        actions = habits.actions(luck.draws(self.n, np.arange(luck.here)), self.reading)
        summary, read = habits.summary * speeds[:, None], actions.read * speeds[:, None]
        walk = self._walk_of(actions.saved.astype(float), summary + read)
        done = np.cumsum(walk.view.e, axis=1)
        decided = done - read  # end of reading the summary: click or pass
        wanted = np.less(luck.patience[:, None], walk.V)
        goes_on = luck.patience < walk.reach[:, 0]  # below the retrieved results
        user, place = np.nonzero(wanted & (decided <= limit))
        in_time = np.minimum(done, limit)
        clicked = actions.clicked[user, place]
        return {
            "user": user,
            "rank": place + 1,
            "clicked": clicked,
            "saved": (actions.saved & (done <= limit))[user, place],
            "summary_seconds": np.broadcast_to(summary, done.shape)[user, place],
            "document_seconds": np.where(clicked, (in_time - decided)[user, place], np.nan),
            "time": decided[user, place],
            "cut_off": ((wanted & (done > limit)).any(axis=1) | goes_on)[user],
        }

    def _guessed(self, patience: Array) -> Array:
        """Return the number of ranks to draw at first for each user."""
        if self._looks_ahead:
            return np.full(len(patience), self.width)
        items = _seen(self._survival, patience)
        steps = np.array([*range(_STEP, 8 * _STEP, _STEP), *(8 * _STEP * 1.5 ** np.arange(40)).astype(int)])
        guess = steps[np.searchsorted(steps, np.minimum(items + np.sqrt(items), 1e6))]
        return np.minimum(guess, self.width)

    def _walk(self, luck: Luck, users: Array, width: int) -> Walk:
        """Return the walk of some users down to a rank."""
        assert self.habits is not None
        habits = self.habits.first(width).light()
        actions = habits.actions(luck.draws(width, users), self.reading)
        return self._walk_of(actions.saved.astype(np.float32), habits.summary + actions.read)

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
        return bool((reads(self.metric.C) | reads(self.metric.A)) & {"found"} or "discounted" in reads(self.metric.C))

    def _beyond(self, walk: Walk, patience: Array) -> tuple[Array, Array]:
        """Return values [4 × users] and `never` of users who continue below the list.

        `patience` has the shape [1 × users] if all users have the same path, and [users × 1] otherwise.
        """
        view = walk.view
        m = self._ranks_beyond(walk, patience)
        with np.errstate(divide="ignore", invalid="ignore"):
            never = np.broadcast_to(walk._stay, m.shape)
            if np.isnan(m).any():  # the number of items is unknown, so A must not depend on it
                felt = np.asarray(self.metric.A(view.beyond([[1.0, 2.0]])), float)
                felt = np.broadcast_to(felt, (felt.shape[0] if felt.ndim else 1, 2))
                if not np.array_equal(felt[:, 0], felt[:, 1]):
                    raise UnknownEffort
                felt = felt[:, :1]
            else:
                felt = np.asarray(self.metric.A(view.beyond(np.minimum(m, _FAR))), float)
            spent = self._effort_beyond(walk, patience)
            if walk._free.any():
                felt = np.where(walk._free, self.metric.A(Endless(view, np.arange(len(walk.reach)), spent)), felt)
        score = np.where(never, 0.0, felt * self.scale)
        last = [values[..., -1:] for values in (view.G, view.E, view.i)]
        if self.metric.effort_beyond_known:
            cost = float(self.view.unseen or 0.0)
            time, items = last[1] + (cost * m if cost else spent), last[2] + m
        else:
            time, items = last[1], np.minimum(last[2], self.n)
        results = np.stack([np.broadcast_to(values, m.shape) for values in (last[0], time, items, score)])
        return results.reshape(len(WHAT), -1), never.ravel()

    def _ranks_beyond(self, walk: Walk, patience: Array) -> Array:
        """Return the number of items that each user inspects below the list.

        It is infinite if it is too large, and NaN if the effort of unseen items is unknown. A user stops after the
        first m items with V(n+1)·Π_{j≤m} C(n+j) ≤ u.
        """
        with np.errstate(divide="ignore"):
            left = patience / walk.reach
            try:
                if walk._constant_beyond:
                    C = walk.goes_on([[1.0]])
                    return np.where(C < 1, np.maximum(np.ceil(np.log(left) / np.log(C)), 1.0), np.inf)
                m = self._step_by_step(walk, left)
                if walk.view.unseen and self.metric.effort_only and self.metric.C.fact("gives_survival"):
                    m = self._by_effort(walk, left, m)
                return m
            except UnknownEffort:
                return np.full(left.shape, np.nan)

    def _by_effort(self, walk: Walk, left: Array, m: Array) -> Array:
        """Return the numbers of items of users who go on further than the ranks that were tried, from their efforts."""
        row, column = np.nonzero(np.isinf(m))
        for some in np.array_split(np.arange(len(row)), len(row) // _CELLS + 1):
            at = row[some], column[some]
            spent = walk._effort.spent_by(left[at][:, None], at[0] if len(walk.reach) > 1 else np.zeros(len(some), int))
            m[at] = np.ceil(spent[:, 0] / float(walk.view.unseen or 0.0))
        return m

    def _effort_beyond(self, walk: Walk, patience: Array) -> Array:
        """Return the effort after the list of users who leave after infinitely many items without effort; 0 for others.

        The share of users beyond the list who spend more is u/V(n+1).
        """
        if not walk._free.any():
            return np.zeros((1, 1))
        left = np.divide(patience, walk.reach, out=np.ones(patience.shape), where=walk._free)
        return np.where(walk._free, walk._effort.spent_by(left, np.arange(len(walk.reach))), 0.0)

    def _step_by_step(self, walk: Walk, left: Array) -> Array:
        m = np.full(left.shape, np.inf)
        survival = np.ones((1, 1))
        start, there = 0, np.arange(len(left))
        while start < _FAR and len(there):
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


def _in_parts(users: Array, width: int) -> list[tuple[Array, int]]:
    """Split users who are simulated down to a rank into parts that fit into the cache."""
    return [(some, width) for some in np.array_split(users, len(users) * width // _CELLS + 1) if len(some)]


def _seen(V: Array, patience: Array) -> Array:
    """Count the values of a decreasing V above the draw of each user."""
    return np.searchsorted(-V, -patience, side="left")


@dataclass(frozen=True)
class Task:
    """Inputs of a simulation: user model, rankings and sampling.

    Attributes
    ----------
    measure : Measure
        The measure.
    metric : Metric
        User model of the measure.
    judgments : Judgments
        Judgments.
    rankings : dict of str to Rankings
        Rankings of each run.
    analytic : dict of str to ndarray
        Scores of the measure for each run, shape (n_queries,).
    users : int
        Number of users per query.
    seed : int
        Seed of the draws.
    reading : Reading
        Distribution of reading times.
    sampling : str
        Sampling of the users.
    """

    measure: Any
    metric: Metric
    judgments: Judgments
    rankings: dict[str, Rankings]
    analytic: dict[str, Array]
    users: int
    seed: int
    reading: Reading
    sampling: str

    @classmethod
    def of(cls, qrels: Any, runs: Any, measure: Any, users: int, seed: int, reading: str, sampling: str) -> Task:
        """Return a task from arguments of :func:`simulate`; raise `CWLAError` if they are invalid."""
        _check(users, seed, sampling)
        chance = reading_of(reading)
        (measure,) = pinned(measures_of([measure]))
        judgments = prepare(loaded(qrels, "qrels"))
        metric = followed(measure, judgments)
        named = runs_by_name(runs)
        if not named:
            raise BadRun("there is no run; a simulation needs at least one.")
        if not judgments.qids:
            raise BadJudgments("there are no judged queries; a simulation needs at least one.")
        evaluator = CWLAEvaluator([measure], judgments)
        analytic, rankings = {}, {}
        for name, run in named.items():
            with naming(str(name) if is_runs(runs) else None):
                rows = judgments.rows(loaded(run, "run"))
                analytic[str(name)] = evaluator.tables([rows])[0][measure]
                rankings[str(name)] = rows.rankings(all_judged=True)
        size = 8 * len(rankings) * len(WHAT) * users
        refuse_beyond_memory(size, f"users={shown(users)}, simulated on {many(len(rankings), 'run')},")
        return cls(measure, metric, judgments, rankings, analytic, users, seed, chance, sampling)

    @property
    def queries(self) -> list[str]:
        """Ids of the judged queries."""
        return self.judgments.qids

    @property
    def metrics(self) -> list[Metric]:
        """User models of all classes of users."""
        return [self.metric]

    def blocks(self, qid: str) -> Iterator[tuple[slice, Luck]]:
        """Yield the users of a query in blocks: their slice and their draws."""
        for block in range(-(-self.users // BLOCK)):
            luck = Luck(qid, block, self.users, self.seed, self.sampling)
            yield slice(block * BLOCK, block * BLOCK + luck.here), luck

    def courses(self, qid: str) -> list[Course | None]:
        """Return the ranking of each run for a query; None without results."""
        number = self.judgments.index[qid]
        found: list[Course | None] = []
        for name, rankings in self.rankings.items():
            cut = self.cut[name]
            nothing = not rankings.n[number] or (self.metric.end == "stop" and not cut.n[number])
            divisor = self.divisors[name][number]
            found.append(None if nothing else Course(self.metric, cut, number, float(divisor), self.reading))
        return found

    def outcomes(self, qid: str) -> tuple[Array, Array, Array]:
        """Simulate all users of a query on each run.

        Returns
        -------
        values : ndarray, shape (n_runs, 4, n_users)
            Gain, time, items and score.
        beyond, never : ndarray of int, shape (n_runs,)
            Number of users who continue below the list, and who never leave.
        """
        courses = self.courses(qid)
        results = np.zeros((len(courses), len(WHAT), self.users))
        beyond, never = np.zeros((2, len(courses)), np.int64)
        for block, luck in self.blocks(qid):
            for run, course in enumerate(courses):
                if course is not None:
                    outcome = course.outcome(luck)
                    results[run, :, block] = outcome.values
                    beyond[run] += np.count_nonzero(outcome.beyond)
                    never[run] += np.count_nonzero(outcome.never)
        return results, beyond, never

    def of_queries(self, of: Callable[[Task, str], Any], progress: bool, n_jobs: int) -> list[Any]:
        """Return the values of a function of each query, in the order of the queries."""
        work = {qid: partial(of, self, qid) for qid in self.queries}
        found = dict(bar(side_by_side(work, checked(n_jobs)), progress, "simulating", len(work), "queries"))
        return [found[qid] for qid in self.queries]

    def listed(self, name: str, qid: str) -> dict[str, Array]:
        """Return the documents of a ranking as columns of a log: docno, grade, and what efforts read: words, costs."""
        rankings, number = self.cut[name], self.judgments.index[qid]
        n, rows = int(rankings.n[number]), cast(Rows, rankings.rows)
        at, _, _ = rankings.hits_of(np.array([number]))
        first = int(rows.first[number])
        listed = first + np.arange(n) if rankings.listed_rank is None else first + rankings.listed_ranks(number) - 1
        places = rows.in_rank_order(np.arange(len(rows.columns)))[listed]
        grade = np.full(n, np.nan)
        grade[rankings.rank[at] - 1] = rankings.grade[at]
        columns = {"docno": np.array(rows.columns.doc_id.take(places).to_pylist(), object), "grade": grade}
        if self.metric.needs_words:
            columns["words"] = rankings.words(self.metric, np.array([number]), n)[0]
        if self.metric.needs_seconds:
            columns["doc_seconds"] = rankings.words(self.metric, np.array([number]), n, COST)[0]
        return columns

    @property
    def unit(self) -> str:
        """Unit of the efforts."""
        if self.metric.unit_effort:
            return "documents"
        known = {"time": "seconds", "grade_time": "seconds", "seconds": "seconds", "reading": "words"}
        return known.get(self.metric.effort.name, "effort")

    @cached_property
    def cut(self) -> dict[str, Rankings]:
        """Rankings of each run, cut at the last rank that users of the metric inspect."""
        return {name: seen_part(self.metric, rankings) for name, rankings in self.rankings.items()}

    @cached_property
    def divisors(self) -> dict[str, Array]:
        """Normalisation N of the queries of each run."""
        return {name: divisor(self.metric, rankings) for name, rankings in self.rankings.items()}


def _check(users: int, seed: int, sampling: str) -> None:
    if not isinstance(users, int | np.integer) or isinstance(users, bool) or users < 1:
        raise BadParameter(f"users={shown(users)}: give a number of users, 1 or more.")
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or seed < 0:
        raise BadParameter(f"seed={seed!r}: give a whole number, 0 or more.")
    if sampling not in SAMPLINGS:
        raise BadParameter(f"no sampling {sampling!r}: write {', '.join(map(repr, SAMPLINGS))}.")
    if sampling == "antithetic" and users % 2:
        raise BadParameter(f"users={shown(users)}: antithetic users come in pairs; give an even number.")
