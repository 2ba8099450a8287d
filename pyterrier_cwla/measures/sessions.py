"""Scores of search sessions: what the queries of one user, one after the other, found together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NoReturn

import ir_measures
import numpy as np
import pandas as pd
import pyarrow as pa
from ir_measures.measures import Measure, ParamInfo

from ..data.alignment import Aligned, Judgments
from ..data.columns import columns_of_table, strings
from ..data.rankings import Array, Rankings, summed
from ..errors import BadParameter, BadSessions, some
from ..files.inputs import is_runs, loaded
from ..files.same_columns import the_only
from ..model.ideal import ideal_ranking
from ..model.language import In, OneOf, Parameter
from .catalogue import PLAIN
from .named import CWLAMeasure
from .parsing import measures_of
from .provider import CWLAEvaluator, prepare, refuse_unsupported


def evaluate_sessions(
    qrels: Any, run: Any, sessions: Any, measures: Iterable[Any], judged_by: str = "session"
) -> pd.DataFrame:
    """Evaluates the sessions of a run: one row a session, one column a measure.

    ``sessions`` says which queries each session has, and in which order: a DataFrame with the columns ``session``,
    ``query_id`` (or ``qid``) and ``order`` (numbers or times), or a dict of lists of queries. Every query of the table
    counts, also where the run has nothing for it; the run's other queries do not. ``judged_by`` is the column by which
    the judgments know the queries: "session" (their query_id is the session), "query_id", or another column of the
    table, such as the topic that several sessions have. ``qrels`` and ``run`` are as :func:`evaluate` takes them.

    ``measures`` are those of sessions, ``sDCG``, ``nsDCG`` and ``esNDCG``, and all that :func:`evaluate` computes: the
    session's score is then the mean over its queries (of counts the sum), 0 where a query has no results.

    Raises BadSessions where the table does not say which queries are whose, and in which order, or nothing is judged.

    >>> from pyterrier_cwla import evaluate_sessions
    >>> qrels = {"s1": {"a": 2, "b": 1}}
    >>> run = {"q1": {"x": 2.0, "b": 1.0}, "q3": {"a": 1.0}}
    >>> sessions = {"s1": ["q1", "q2", "q3"]}
    >>> evaluate_sessions(qrels, run, sessions, ["RR", "sDCG", "nsDCG", "esNDCG(p_down=0.5)"]).round(4)
              RR   sDCG   nsDCG  esNDCG(p_down=0.5)
    session
    s1       0.5  2.952  0.3085              0.3859

    Source: Jiang and Allan (2016), section 4, for the mean over a session's queries.
    """
    wanted = measures_of(measures)
    return SessionRun(qrels, run, sessions, judged_by).scores({str(measure): measure for measure in wanted})


def of_sessions(measures: Iterable[Any]) -> list[Measure]:
    """Measures from text or objects that score sessions: their own measures, and all that this package computes."""
    wanted = measures_of(measures)
    refuse_unsupported(measure for measure in wanted if not isinstance(measure, SessionMeasure))
    return wanted


class SessionRun:
    """A run's sessions, aligned with their judgments once, to be scored by many measures."""

    def __init__(self, qrels: Any, run: Any, sessions: Any, judged_by: str = "session") -> None:
        if is_runs(run):
            raise BadParameter("sessions are those of one run at a time, not of a dict of runs.")
        self.asked = _asked(sessions, judged_by)
        self.judgments = _judgments(prepare(loaded(qrels, "qrels")), self.asked)
        self.aligned = Aligned([self.judgments.rows(loaded(run, "run"))])

    def scores(self, measures: Mapping[str, Measure]) -> pd.DataFrame:
        """One row a session, one column a measure, by the names that they have here."""
        asked = self.asked
        of_queries = [m for m in of_sessions(measures.values()) if not isinstance(m, SessionMeasure)]
        evaluator = CWLAEvaluator(of_queries, self.judgments)
        scores = evaluator.values(self.aligned)
        means = [evaluator.means({m: scores[m][a:b] for m in of_queries}) for a, b in pairwise(asked.start.tolist())]
        columns: dict[str, Any] = {}
        for name, measure in measures.items():
            if isinstance(measure, SessionMeasure):
                found = self.aligned.rankings()
                columns[name] = measure.score(asked, found, ideal_ranking(PLAIN, found))
            else:
                columns[name] = [mean[measure] for mean in means]
        return pd.DataFrame(columns, index=asked.sessions)


@dataclass(frozen=True)
class Asked:
    """The queries of all sessions, session after session and in order."""

    sessions: pd.Index
    start: Array
    """Where each session's queries begin, and where the last one's end."""
    queries: list[str]
    judged_as: list[str]
    """By which name the judgments know each query."""

    @property
    def number(self) -> Array:
        """Of each query: the how-manieth of its session it is."""
        return np.arange(len(self.queries)) - np.repeat(self.start[:-1], np.diff(self.start)) + 1

    def summed(self, values: Array) -> Array:
        """Σ over the queries of each session."""
        return np.add.reduceat(values, self.start[:-1])


class SessionMeasure(CWLAMeasure):
    """A measure of whole sessions, which :func:`evaluate_sessions` computes."""

    def __init_subclass__(cls) -> None:
        cls.SUPPORTED_PARAMS = {p.name: ParamInfo(default=p.default, desc=str(p.allowed)) for p in cls.PARAMETERS}

    def _check_parameters(self) -> None:
        """Its parameters fit together in every combination."""

    def validate_params(self) -> None:
        """Refuse to be scored query by query, as ir_measures would."""
        self.computation()

    def computation(self) -> NoReturn:
        """Refuse to be computed query by query."""
        raise BadParameter(
            f"{self} is a measure of sessions: evaluate_sessions(qrels, run, sessions, ['{self}']) computes it."
        )

    def score(self, asked: Asked, found: Rankings, ideal: Rankings) -> Array:
        """One score per session; ``ideal`` are the judged documents of each query by falling grade."""
        raise NotImplementedError


_NOBODY = 2.0**-60
_DEEPEST = 1 << 60
_CELLS = 1 << 17  # documents of sessions that are worked on at a time
_CUTOFF = Parameter("cutoff", In("[1, inf)", whole=True), None)
_BASES = (Parameter("b", In("(1, inf)"), 2), Parameter("bq", In("(1, inf)"), 4))


class _sDCG(SessionMeasure):
    """Session DCG: discounted gain, discounted further with every query (not ir_measures' SDCG, which is scaled).

    sDCG = Σ_q 1/log_bq(q + bq − 1) Σ_i (2^g_i − 1)/log_b(i + b − 1). Range [0, ∞). Unit: gain.

    Source: Järvelin, Price, Delcambre and Nielsen (2008), as in Jiang and Allan (2016), section 5.2.
    """

    __name__ = NAME = PRETTY_NAME = "sDCG"
    SHORT_DESC = "Session DCG: discounted gain, discounted further with every query."
    PARAMETERS = (*_BASES, _CUTOFF)

    def score(self, asked: Asked, found: Rankings, ideal: Rankings) -> Array:
        if self["cutoff"]:
            found = found.first(self["cutoff"])
        gain = (np.exp2(found.grade) - 1) / _log(found.rank + self["b"] - 1, self["b"])
        return asked.summed(summed(found.query, gain, len(found)) / _log(asked.number + self["bq"] - 1, self["bq"]))


class _nsDCG(_sDCG):
    """Session DCG over that of a session whose queries all find the judged documents by falling grade.

    nsDCG = sDCG / sDCG of the ideal. Range [0, 1].

    Source: Kanoulas, Carterette, Clough and Sanderson (2011), as in Jiang and Allan (2016), section 5.2.
    """

    __name__ = NAME = PRETTY_NAME = "nsDCG"
    SHORT_DESC = "Session DCG over that of a session whose queries all find the best there is."

    def score(self, asked: Asked, found: Rankings, ideal: Rankings) -> Array:
        best = super().score(asked, ideal, ideal)
        return np.divide(super().score(asked, found, ideal), best, out=np.zeros_like(best), where=best > 0)


class _esNDCG(SessionMeasure):
    """Expected session nDCG: users may leave every list, and after every list the session.

    A user goes on from a result to the next with P_down, and from a list to the next query with P_reform; whoever
    gets to the end of the last list stops there. The n documents that were read, in order, have the nDCG
    Σ_j (2^g_j − 1)·d(j) / Σ_j (2^g*_j − 1)·d(j), g* the n highest grades of the topic; esNDCG is its expectation over
    all ways through the session, exactly. d(j) = 1/log2(j + 1), or (discount="none") 1, with which Jiang and Allan's
    Table 3 was computed. Range [0, 1] where no document is found twice.

    Source: Kanoulas, Carterette, Clough and Sanderson (2011); Jiang and Allan (2016), section 5.2.
    """

    __name__ = NAME = PRETTY_NAME = "esNDCG"
    SHORT_DESC = "Expected session nDCG: users may leave every list, and after every list the session."
    PARAMETERS = (
        Parameter("p_down", In("[0, 1]"), 0.7),
        Parameter("p_reform", In("[0, 1]"), 0.8),
        Parameter("discount", OneOf("log2", "none"), "log2"),
        _CUTOFF,
    )

    def score(self, asked: Asked, found: Rankings, ideal: Rankings) -> Array:
        self._refuse_several_topics(asked)
        found = found.first(min(self["cutoff"] or _DEEPEST, self._deepest))
        scores, sizes = np.zeros(len(asked.sessions)), np.diff(asked.start)
        for size in np.unique(sizes).tolist():
            alike = np.flatnonzero(sizes == size)
            cells = len(alike) * size * int(found.n.max(initial=1))
            for some_sessions in np.array_split(alike, cells // _CELLS + 1):
                queries = asked.start[some_sessions][:, None] + np.arange(size)
                scores[some_sessions] = self._expected(queries, found, ideal)
        return scores

    @property
    def _deepest(self) -> int:
        """A rank below which the users who are left do not show in a sum."""
        down = self["p_down"]
        return 1 if down == 0 else _DEEPEST if down == 1 else 1 + int(np.log(_NOBODY) / np.log(down))

    def _expected(self, queries: Array, found: Rankings, ideal: Rankings) -> Array:
        """The expectation of each session, [sessions × queries].

        Carried on from rank to rank and list to list, by how many documents were read so far: the users who are there,
        and the gain that they have, [sessions × documents].
        """
        sessions, lists = queries.shape
        n = found.n[queries]
        depth = max(int(n.max()), 1)
        gain = _gains(found, queries.ravel(), depth).reshape(sessions, lists, depth)
        d = np.ones(lists * depth) if self["discount"] == "none" else 1 / np.log2(np.arange(lists * depth) + 2)
        best = np.pad(np.cumsum(_gains(ideal, queries[:, 0], lists * depth) * d, axis=1), ((0, 0), (1, 0)))
        down, reform = self["p_down"], self["p_reform"]
        users, gained, scores = np.ones((sessions, 1)), np.zeros((sessions, 1)), np.zeros(sessions)
        for number in range(lists):
            last, read = n[:, number, None], users.shape[1]
            here, carried = users, gained
            users, gained = (np.pad(values * (last == 0), ((0, 0), (0, depth))) for values in (here, carried))
            for rank in range(1, depth + 1):
                carried = carried + gain[:, number, rank - 1, None] * here * d[rank - 1 : rank - 1 + read]
                leave = down ** (rank - 1) * np.where(rank < last, 1 - down, rank == last)
                users[:, rank : rank + read] += leave * here
                gained[:, rank : rank + read] += leave * carried
            of_best = np.divide(gained, best[:, : read + depth], out=np.zeros_like(gained), where=gained > 0)
            scores += of_best.sum(axis=1) * (1 if number == lists - 1 else 1 - reform)
            users, gained = reform * users, reform * gained
        return scores

    def _refuse_several_topics(self, asked: Asked) -> None:
        for session, (a, b) in zip(asked.sessions, pairwise(asked.start.tolist())):
            topics = dict.fromkeys(asked.judged_as[a:b])
            if len(topics) > 1:
                raise BadSessions(
                    f"{self} compares a session with the best documents of one topic, and session {session!r} has those"
                    f" of {some(topics)}: judged_by= names the column that holds the topic of the whole session."
                )


def _gains(rankings: Rankings, queries: Array, depth: int) -> Array:
    """What the items at ranks 1 to depth of these queries gain, [queries × ranks]."""
    at, row, _ = rankings.hits_of(queries)
    inside = rankings.rank[at] <= depth
    gains = np.zeros((len(queries), depth))
    gains[row[inside], rankings.rank[at[inside]] - 1] = np.exp2(rankings.grade[at[inside]]) - 1
    return gains


def _log(x: Array, base: float) -> Array:
    return np.log(x) / np.log(base)


sDCG, nsDCG, esNDCG = _sDCG(), _nsDCG(), _esNDCG()
ir_measures.measures.registry.update({str(m): m for m in (sDCG, nsDCG, esNDCG)})


# ---- who asked what, and how it is judged


def _asked(sessions: Any, judged_by: str) -> Asked:
    """The table of sessions, checked and in order."""
    if isinstance(sessions, Mapping):
        for name, queries in sessions.items():
            if isinstance(queries, str) or not len(queries):
                raise BadSessions(f"session {name!r} must have a list of one query or more, not {queries!r}.")
        rows = [(name, query, place) for name, queries in sessions.items() for place, query in enumerate(queries)]
        sessions = pd.DataFrame(rows, columns=["session", "query_id", "order"])
    elif hasattr(sessions, "to_pandas"):
        sessions = sessions.to_pandas()
    if not isinstance(sessions, pd.DataFrame):
        raise BadSessions(f"the sessions must be a DataFrame or a dict of lists, not {type(sessions).__name__}.")
    table = _with_query_id(sessions)
    judged_by = "query_id" if judged_by == "qid" else judged_by
    for name in ("session", "query_id", "order", judged_by):
        if name not in table:
            raise BadSessions(f"the sessions have no column {name!r}; there is {some(table.columns, 8) or 'none'}.")
    if not len(table):
        raise BadSessions("the sessions are empty: there is nothing to evaluate.")
    for name in {"session", "query_id", judged_by}:
        strings(table[name], name, "sessions", BadSessions)
    _check_order(table)
    number, names = pd.factorize(table["session"])
    table = table.iloc[np.lexsort((table["order"].rank(), number))]
    start = np.append(0, np.cumsum(np.bincount(number)))
    return Asked(pd.Index(names, name="session"), start, table["query_id"].tolist(), table[judged_by].tolist())


def _with_query_id(sessions: pd.DataFrame) -> pd.DataFrame:
    """The sessions with one column ``query_id``, which may be called ``qid``."""

    def refuse(sentence: str, row: int) -> BadSessions:
        return BadSessions(f"the table of sessions {sentence} in row {row}. Keep one of the two.")

    given = [(name, column) for name, column in columns_of_table(sessions) if name in ("query_id", "qid")]
    others = sessions.loc[:, ~sessions.columns.isin(["query_id", "qid"])]
    return others.assign(query_id=the_only(given, refuse)) if given else others


def _check_order(table: pd.DataFrame) -> None:
    """Every query is asked once, and has a place of its own in its session."""
    twice = table["query_id"][table["query_id"].duplicated()]
    if len(twice):
        raise BadSessions(
            f"{len(twice):,} of the sessions' queries are there before ({some(twice)}): a query is asked once, in one"
            " session; one that is asked again needs another id."
        )
    order = table["order"]
    if not (pd.api.types.is_numeric_dtype(order) or pd.api.types.is_datetime64_any_dtype(order)):
        raise BadSessions(f"order of the sessions must be numbers or times, and this column is {order.dtype}.")
    if order.isna().any():
        holes = table["query_id"][order.isna()]
        raise BadSessions(f"{len(holes):,} of {len(table):,} queries have no order ({some(holes)}): give each a place.")
    same = table[table.duplicated(["session", "order"], keep=False)]
    if len(same):
        first = same[(same["session"] == same["session"].iloc[0]) & (same["order"] == same["order"].iloc[0])]
        raise BadSessions(
            f"session {first['session'].iloc[0]!r}: the queries {some(first['query_id'])} have the same order"
            f" {first['order'].iloc[0]}: say which came first."
        )


def _judgments(given: Judgments, asked: Asked) -> Judgments:
    """The judgments of every query: those of its session, or its topic."""
    unknown = dict.fromkeys(name for name in asked.judged_as if name not in given.index)
    if unknown:
        raise BadSessions(
            f"nothing is judged for {len(unknown):,} of {len(set(asked.judged_as)):,} sessions or topics"
            f" ({some(unknown)}); the judgments are of {some(given.qids) or 'none'}. Leave them out, or say with"
            " judged_by= in which column of the sessions the judgments' query_id stands."
        )
    topic = np.array([given.index[name] for name in asked.judged_as])
    by_topic = np.argsort(given.row_query, kind="stable")
    sizes = np.bincount(given.row_query, minlength=len(given.qids))
    first, n = (np.cumsum(sizes) - sizes)[topic], sizes[topic]
    rows = by_topic[np.arange(n.sum()) + np.repeat(first - (np.cumsum(n) - n), n)]
    columns, at = given.columns, pa.array(rows)
    own = replace(
        columns,
        query_id=pa.array(asked.queries, pa.large_string()).take(pa.array(np.repeat(np.arange(len(n)), n))),
        doc_id=columns.doc_id.take(at),
        value=columns.value[rows],
        iteration=None if columns.iteration is None else columns.iteration.take(at),
    )
    return Judgments(own, qids=asked.queries)
