"""Session measures: scores of sequences of queries by one user, such as sDCG, nsDCG, esNDCG and SessionCWLA."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn, cast

import ir_measures
import numpy as np
import pyarrow as pa
from ir_measures.measures import Measure

from ..data.alignment import Aligned, Judgments
from ..data.columns import Array, columns_of_table, strings
from ..data.rankings import Rankings, places_within, summed
from ..errors import BadParameter, BadSessions, CWLAError, some
from ..files.arrow_arrays import the_only
from ..files.inputs import is_runs, loaded
from ..model.language import Grades, In, Kind, OneOf, Parameter, Part, Spec, lacking, parse
from ..model.scoring import ideal_ranking, visits
from .catalogue import CUTOFF, PLAIN
from .computing import Needs
from .counting import share
from .declarations import DECLARATIONS
from .labels import by_name
from .named import CWLA, CWLAMeasure, RowMeasure, measures_of
from .provider import CWLAEvaluator, naming, prepare, refuse_unsupported

if TYPE_CHECKING:
    import pandas as pd


def evaluate_sessions(
    qrels: Any, run: Any, sessions: Any, measures: Iterable[object], judged_by: str = "session"
) -> pd.DataFrame:
    """Evaluate the search sessions of a run.

    Parameters
    ----------
    qrels, run : DataFrame, dict, path or iterable
        The judgments and one run, in any form that :func:`evaluate` accepts.
    sessions : DataFrame or dict of str to list of str
        The queries of each session in order: a DataFrame with the columns ``session``, ``query_id`` (or ``qid``) and
        ``order`` (numbers or times), or a dict of lists of queries. All queries of the table count, also those without
        results in the run. Other queries of the run are ignored.
    measures : iterable of str or ir_measures.Measure, or dict of these by label
        Session measures (``sDCG``, ``nsDCG``, ``esNDCG``, ``SessionCWLA``), and any measure that :func:`evaluate`
        computes. The score of a session with one of the latter is the mean over its queries (the sum for counts), where
        queries without results have 0 [1]_.
    judged_by : str, default="session"
        The column of ``sessions`` that contains the query ids of the judgments: "session", "query_id", or another
        column, such as the topic of several sessions.

    Returns
    -------
    DataFrame
        One row per session, indexed by ``session``, and one column per measure.

    Raises
    ------
    BadSessions
        If the table of sessions is incomplete or ambiguous, or a session has no judgments.

    References
    ----------
    .. [1] Jiang and Allan (2016), section 4.

    Examples
    --------
    >>> from pyterrier_cwla import evaluate_sessions
    >>> qrels = {"s1": {"a": 2, "b": 1}}
    >>> run = {"q1": {"x": 2.0, "b": 1.0}, "q3": {"a": 1.0}}
    >>> sessions = {"s1": ["q1", "q2", "q3"]}
    >>> evaluate_sessions(qrels, run, sessions, ["RR", "sDCG", "nsDCG", "esNDCG(p_down=0.5)"]).round(4)
              RR   sDCG   nsDCG  esNDCG(p_down=0.5)
    session
    s1       0.5  2.952  0.3085              0.3859
    """
    return SessionRun(qrels, run, sessions, judged_by).scores(by_name(measures_of(measures)))


def of_sessions(measures: Iterable[object]) -> list[Measure]:
    """Return measures that can score sessions, from their texts or objects: all measures that are computed here."""
    wanted = measures_of(measures)
    refuse_unsupported(measure for measure in wanted if not isinstance(measure, SessionMeasure))
    return wanted


class SessionRun:
    """Sessions of a run, aligned with their judgments once for any number of measures.

    Parameters
    ----------
    qrels, run, sessions, judged_by
        As for :func:`evaluate_sessions`.

    Attributes
    ----------
    sessions : Index, shape (n_sessions,)
        The names of the sessions.
    start : ndarray, shape (n_sessions + 1,)
        The offset of each session's first query, and the number of queries.
    queries, judged_as : list of str
        The queries, grouped by session and in order, and the query id of each in the judgments.
    judgments : Judgments
        The judgments of each query.
    aligned : Aligned
        The run, aligned with these judgments.
    """

    def __init__(self, qrels: Any, run: Any, sessions: Any, judged_by: str = "session") -> None:
        import pandas as pd

        if is_runs(run):
            raise BadParameter("sessions belong to one run: pass a single run, not a dict of runs.")
        table = _table_of_queries(sessions, judged_by)
        number, names = pd.factorize(table["session"])
        table = table.iloc[np.lexsort((table["order"].rank(), number))]
        self.sessions: pd.Index = pd.Index(names, name="session")
        self.start: Array = np.append(0, np.cumsum(np.bincount(number)))
        self.queries, self.judged_as = table["query_id"].tolist(), table["judged_as"].tolist()
        self.judgments = _judgments(prepare(loaded(qrels, "qrels")), self.queries, self.judged_as)
        self.aligned = Aligned(self.judgments, [self.judgments.rows(loaded(run, "run"))])

    @property
    def found(self) -> Rankings:
        """Retrieved documents of each query."""
        return self.aligned.rankings()

    @cached_property
    def ideal(self) -> Rankings:
        """Judged documents of each query, in descending order of grade."""
        return ideal_ranking(PLAIN, self.found)

    @property
    def number(self) -> Array:
        """Position of each query in its session, from 1."""
        return places_within(np.diff(self.start)) + 1

    def summed(self, values: Array) -> Array:
        """Return the sums over the queries of each session."""
        return np.add.reduceat(values, self.start[:-1])

    def scores(self, measures: Mapping[str, Measure]) -> pd.DataFrame:
        """Return a DataFrame with one row per session and one column per measure, named by the keys of ``measures``."""
        import pandas as pd

        of_queries = [m for m in of_sessions(measures.values()) if not isinstance(m, SessionMeasure)]
        evaluator = CWLAEvaluator(of_queries, self.judgments)
        scores = evaluator.values(self.aligned)
        means = [evaluator.means({m: scores[m][a:b] for m in of_queries}) for a, b in pairwise(self.start.tolist())]
        columns: dict[str, Any] = {}
        for name, measure in measures.items():
            if isinstance(measure, SessionMeasure):
                with naming(measure):
                    columns[name] = measure.score(self)
            else:
                columns[name] = [mean[measure] for mean in means]
        return pd.DataFrame(columns, index=self.sessions)


class SessionMeasure(CWLAMeasure):
    """Base class of the measures of whole sessions, which :func:`evaluate_sessions` computes."""

    KIND = "session"

    def _check_parameters(self) -> None:
        """Do nothing: all combinations of parameters are valid."""

    def validate_params(self) -> None:
        """Raise BadParameter, since ir_measures would score single queries."""
        self.computation()

    def computation(self) -> NoReturn:
        """Raise BadParameter: single queries have no score."""
        raise BadParameter(
            f"{self} is a session measure: evaluate_sessions(qrels, run, sessions, ['{self}']) computes it."
        )

    @property
    def needs(self) -> Needs:
        """Data that the measure reads."""
        return Needs()

    def score(self, of: SessionRun) -> Array:
        """Return one score per session of a run."""
        raise NotImplementedError


_NEGLIGIBLE = 2.0**-60  # share of users
_DEEPEST = 1 << 60
_CELLS = 1 << 17  # maximum number of documents per chunk of sessions
_BASES = (Parameter("b", In("(1, inf)"), 2), Parameter("bq", In("(1, inf)"), 4))


class _sDCG(SessionMeasure):
    """Session DCG: discounted cumulative gain, with an additional discount for later queries.

    sDCG = Σ_q 1/log_bq(q + bq − 1) Σ_i (2^g_i − 1)/log_b(i + b − 1), where q is the position of the query in the
    session. SDCG of ir_measures is another measure: a scaled DCG of one query. Range [0, ∞). Unit: gain.

    Parameters
    ----------
    b, bq : float > 1, default=2 and 4
        The bases of the discounts by rank and by query.
    cutoff : int, optional
        The number of documents per query.

    References
    ----------
    Järvelin, Price, Delcambre and Nielsen (2008), as in Jiang and Allan (2016), section 5.2.
    """

    PARAMETERS = (*_BASES, CUTOFF)

    def score(self, of: SessionRun) -> Array:
        """Return sDCG of each session."""
        return self._discounted(of, of.found)

    def _discounted(self, of: SessionRun, found: Rankings) -> Array:
        if self["cutoff"]:
            found = found.first(self["cutoff"])
        gain = (np.exp2(found.grade) - 1) / _log(found.rank + self["b"] - 1, self["b"])
        return of.summed(summed(found.query, gain, len(found)) / _log(of.number + self["bq"] - 1, self["bq"]))


class _nsDCG(_sDCG):
    """Normalised session DCG: sDCG divided by that of a session of ideal rankings.

    nsDCG = sDCG / sDCG of the ideal, in which all queries of the session retrieve the judged documents in descending
    order of grade. Range [0, 1].

    Parameters
    ----------
    b, bq : float > 1, default=2 and 4
        The bases of the discounts by rank and by query.
    cutoff : int, optional
        The number of documents per query.

    References
    ----------
    Kanoulas, Carterette, Clough and Sanderson (2011), as in Jiang and Allan (2016), section 5.2.
    """

    def score(self, of: SessionRun) -> Array:
        """Return nsDCG of each session; 0 without relevant documents."""
        return share(super().score(of), self._discounted(of, of.ideal))


class _esNDCG(SessionMeasure):
    """Expected session nDCG: users may leave each list early, and the session after each list.

    Users continue from a result to the next with probability P_down, and from a list to the next query with P_reform.
    All users stop at the end of the last list. The n documents that a user reads, in order, have the nDCG
    Σ_j (2^g_j − 1)·d(j) / Σ_j (2^g*_j − 1)·d(j), where g* are the n highest grades of the topic. esNDCG is the exact
    expectation of this nDCG over all paths through the session. The discount d(j) is 1/log2(j + 1), or 1 with
    discount="none", as in Table 3 of Jiang and Allan. Range [0, 1] if no document is retrieved twice.

    Parameters
    ----------
    p_down : float in [0, 1], default=0.7
        The probability P_down of continuing to the next result.
    p_reform : float in [0, 1], default=0.8
        The probability P_reform of continuing to the next query.
    discount : {"log2", "none"}, default="log2"
        The discount d(j) of the j-th document read.
    cutoff : int, optional
        The number of documents per query.

    References
    ----------
    Kanoulas, Carterette, Clough and Sanderson (2011); Jiang and Allan (2016), section 5.2.
    """

    PARAMETERS = (
        Parameter("p_down", In("[0, 1]"), 0.7),
        Parameter("p_reform", In("[0, 1]"), 0.8),
        Parameter("discount", OneOf("log2", "none"), "log2"),
        CUTOFF,
    )

    def score(self, of: SessionRun) -> Array:
        """Return esNDCG of each session."""
        for session, (a, b) in zip(of.sessions, pairwise(of.start.tolist())):
            topics = dict.fromkeys(of.judged_as[a:b])
            if len(topics) > 1:
                raise BadSessions(
                    f"{self} compares a session with the best documents of one topic, but session {session!r} has"
                    f" queries of {some(topics)}: judged_by= must name a column with one topic per session."
                )
        down = self["p_down"]
        # The rank below which the remaining users are too few to change a sum.
        deepest = 1 if down == 0 else _DEEPEST if down == 1 else 1 + int(np.log(_NEGLIGIBLE) / np.log(down))
        found = of.found.first(min(self["cutoff"] or _DEEPEST, deepest))
        scores, sizes = np.zeros(len(of.sessions)), np.diff(of.start)
        for size in np.unique(sizes).tolist():
            alike = np.flatnonzero(sizes == size)
            cells = len(alike) * size * int(found.n.max(initial=1))
            for some_sessions in np.array_split(alike, cells // _CELLS + 1):
                queries = of.start[some_sessions][:, None] + np.arange(size)
                scores[some_sessions] = self._expected(queries, found, of.ideal)
        return scores

    def _expected(self, queries: Array, found: Rankings, ideal: Rankings) -> Array:
        """Return the expectation for sessions of equal size; ``queries`` has the shape (n_sessions, n_queries).

        The recursion over lists and ranks carries two arrays of shape (n_sessions, n_documents): the share of users
        who have read a given number of documents, and the sum of their gains.
        """
        sessions, lists = queries.shape
        n = found.n[queries]
        depth = int(n.max())
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


def _gains(rankings: Rankings, queries: Array, depth: int) -> Array:
    """Return the gains at ranks 1 to ``depth``, shape (n_queries, depth)."""
    at, row, _ = rankings.hits_of(queries)
    inside = rankings.rank[at] <= depth
    gains = np.zeros((len(queries), depth))
    gains[row[inside], rankings.rank[at[inside]] - 1] = np.exp2(rankings.grade[at[inside]]) - 1
    return gains


def _log(x: Array, base: float) -> Array:
    logarithms: Array = np.log(x) / np.log(base)
    return logarithms


def _probabilities(given: Any) -> float | dict[float, float] | None:
    """Return one probability, or probabilities by the number of the query."""
    if isinstance(given, list | tuple | np.ndarray) and np.ndim(given) == 1:
        given = dict(enumerate(given, 1))
    if not isinstance(given, Mapping):
        return cast("float | None", In("[0, 1]").convert(given))
    found: dict[float, float] = Grades("probabilities", 1).convert(given) or {}
    return found if found and [*found] == [*range(1, len(found) + 1)] else None


_RHO = Kind(
    "a number in [0, 1], or a list or map of such numbers for queries 1, 2, …, such as {1: 0.8, 2: 0.5}", _probabilities
)


class _SessionCWLA(SessionMeasure):
    """Gain of users who browse each list by a continuation C, and reformulate or end the session when they leave it.

    Users browse the list of each query as under CWLA with the same C, gain and effort. Users who leave the list of
    query q continue with query q + 1 with probability ρ_q, or end the session. All end it after the last query. At each
    new query they remember a share δ of the gain so far. The score is the expected gain that users have at the end of
    the session (A='etg'), or this gain divided by the expected effort of all lists, which is the number of items
    inspected under unit effort (A='erg'). With ρ = 0 it is the score of the first query. With ρ = 1, δ = 1 and
    A='etg' it is the sum over the queries. Users who never leave a list contribute 0 and see no later query; with
    end='stop' all users leave at the last result. A document that several queries retrieve has its gain each time.
    Unit: gain, or gain per unit of effort. Range [0, ∞).

    Parameters
    ----------
    C : str or continuation
        The continuation within each list.
    A : {"etg", "erg"}
        The expected total gain, or the gain per unit of effort.
    rho : float in [0, 1], or list or dict of these
        The probability ρ of reformulating. A list or dict has a probability for query 1, 2, … of a session; it must
        have one for every query but the last.
    delta : float in [0, 1], default=1
        The share δ of the gain that is remembered at the next query.
    gain, effort, end, max_rel, unseen, lengths, missing, judged_only, duplicates, duplicate_gain, cutoff
        As for CWLA, for the list of each query.

    References
    ----------
    Sessions in the manner of Wicaksono and Moffat (2021); Moffat et al. (2022), Eq. 16 and 17.
    """

    SHORT_DESC = "Gain of users who browse each list by any continuation C, and reformulate with probability ρ."
    PARAMETERS = (
        next(parameter for parameter in CWLA.PARAMETERS if parameter.name == "C"),
        Parameter("A", OneOf("etg", "erg")),
        Parameter("rho", _RHO),
        Parameter("delta", In("[0, 1]"), 1),
        *(parameter for parameter in CWLA.PARAMETERS if parameter.name not in ("C", "A", "norm")),
    )
    _users: RowMeasure | None = None

    def _canonical(self, parameter: Parameter, value: Any) -> Any:
        if parameter.name == "A" and isinstance(value, Part | Spec):
            value = str(parse(value, "aggregation"))
        return super()._canonical(parameter, value)

    def _check_parameters(self) -> None:
        self.users  # noqa: B018  (raises)

    @property
    def users(self) -> RowMeasure:
        """Measure with the users of a single query.

        Raises
        ------
        BadParameter
            If a parameter is missing, or if the parameters do not fit together.
        """
        if self._users is None:
            if missing := lacking(self.PARAMETERS, self.params):
                raise BadParameter(
                    f"{self.__name__} needs {' and '.join(f'{name}=' for name in missing)}, as in"
                    f" {self.__name__}(C='rbp(0.8)',A='etg',rho=0.5,max_rel=3)."
                )
            own = {k: v for k, v in {**self.params, **self.bound}.items() if k not in ("rho", "delta")}
            try:
                CWLA.DECLARATION.metric(own)
            except CWLAError as error:
                raise type(error)(f"{self}: {error}") from None
            self._users = CWLA(**own)
        return self._users

    @property
    def needs(self) -> Needs:
        """Data that the user model reads."""
        return self.users.computation().needs

    @property
    def named_content(self) -> object:
        """Functions and tables of the user model."""
        return self.users.named_content

    @property
    def content(self) -> dict[str, object] | list[object]:
        """Functions and tables of the user model."""
        return self.users.content

    def score(self, of: SessionRun) -> Array:
        """Return the expected gain of each session, or the gain per effort."""
        metric = self.users.computation().metric_for(of.judgments)
        rate = self.params["A"] == "erg"
        gain, effort = self._expected(of, *visits(metric, of.aligned.rankings(metric.all_judged), rate))
        if not rate:
            return gain
        return np.divide(gain, effort, out=np.zeros_like(gain), where=gain != 0)

    def _expected(self, of: SessionRun, gains: Array, staying: Array, efforts: Array | None) -> tuple[Array, Array]:
        """Return the expected gain and effort of each session, by a recursion over its queries.

        ``users`` is the share of users who reach a query, and ``gain`` what these users have so far, times that share.
        """
        sizes = np.diff(of.start)
        rho, delta = self._rho_of_queries(of, sizes), self["delta"]
        users, gain = np.ones(len(sizes)), np.zeros(len(sizes))
        total, effort = np.zeros((2, len(sizes)))
        for number in range(int(sizes.max(initial=0))):
            at = np.flatnonzero((sizes > number) & (users > 0))
            query = of.start[at] + number
            if efforts is not None:
                effort[at] += users[at] * efforts[query]
            leave = 1 - staying[query]
            gain[at] = leave * delta * gain[at] + users[at] * gains[query]
            total[at] += (1 - rho[query]) * gain[at]
            gain[at] *= rho[query]
            users[at] *= rho[query] * leave
        return total, effort

    def _rho_of_queries(self, of: SessionRun, sizes: Array) -> Array:
        """Return the probability of reformulating after each query; 0 after the last of a session."""
        given = self.params["rho"]
        if isinstance(given, dict):
            longest = int(np.argmax(sizes))
            if sizes[longest] > len(given) + 1:
                raise BadSessions(
                    f"session {of.sessions[longest]!r} has {sizes[longest]:,} queries, and rho has probabilities"
                    f" after the first {len(given):,}: give {sizes[longest] - 1:,}, one for every query but the last."
                )
        by_number = np.array([*given.values(), 0.0]) if isinstance(given, dict) else np.full(int(sizes.max()), given)
        number = of.number
        return np.where(number == np.repeat(sizes, sizes), 0.0, by_number[np.minimum(number, len(by_number)) - 1])


sDCG, nsDCG, esNDCG, SessionCWLA = _sDCG(), _nsDCG(), _esNDCG(), _SessionCWLA()
for _measure in (sDCG, nsDCG, esNDCG, SessionCWLA):
    ir_measures.measures.registry[str(_measure)] = _measure
    DECLARATIONS[str(_measure)] = _measure.DECLARATION


def _table_of_queries(sessions: Any, judged_by: str) -> pd.DataFrame:
    """Return the table of sessions, with the query ids of the judgments in a column ``judged_as``, after validation."""
    import pandas as pd

    if isinstance(sessions, Mapping):
        for name, queries in sessions.items():
            if isinstance(queries, str) or not len(queries):
                raise BadSessions(f"session {name!r} must have a list of one or more queries, not {queries!r}.")
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
        raise BadSessions("the sessions are empty.")
    for name in {"session", "query_id", judged_by}:
        strings(table[name], name, "sessions", BadSessions)
    _check_order(table)
    return table.assign(judged_as=table[judged_by])


def _with_query_id(sessions: pd.DataFrame) -> pd.DataFrame:
    """Return the sessions with the column ``query_id``, which may have the name ``qid``."""

    def refuse(sentence: str, row: int) -> BadSessions:
        return BadSessions(f"the table of sessions {sentence} in row {row}. Keep one of the two.")

    given = [(name, column) for name, column in columns_of_table(sessions) if name in ("query_id", "qid")]
    others = sessions.loc[:, ~sessions.columns.isin(["query_id", "qid"])]
    return others.assign(query_id=the_only(given, refuse)) if given else others


def _check_order(table: pd.DataFrame) -> None:
    """Raise BadSessions if a query occurs twice, or two queries of a session have the same order."""
    import pandas as pd

    twice = table["query_id"][table["query_id"].duplicated()]
    if len(twice):
        raise BadSessions(
            f"{len(twice):,} queries occur more than once in the sessions ({some(twice)}). Each query has one place in"
            " one session: give repeated queries ids of their own."
        )
    order = table["order"]
    if not (pd.api.types.is_numeric_dtype(order) or pd.api.types.is_datetime64_any_dtype(order)):
        raise BadSessions(f"the column order of the sessions must contain numbers or times, not {order.dtype}.")
    if order.isna().any():
        holes = table["query_id"][order.isna()]
        raise BadSessions(f"{len(holes):,} of {len(table):,} queries have no order ({some(holes)}). Give each a value.")
    same = table[table.duplicated(["session", "order"], keep=False)]
    if len(same):
        first = same[(same["session"] == same["session"].iloc[0]) & (same["order"] == same["order"].iloc[0])]
        raise BadSessions(
            f"session {first['session'].iloc[0]!r}: the queries {some(first['query_id'])} have the same order"
            f" {first['order'].iloc[0]}. Give each its own value."
        )


def _judgments(given: Judgments, queries: list[str], judged_as: list[str]) -> Judgments:
    """Return the judgments of each query: those of its session or topic."""
    unknown = dict.fromkeys(name for name in judged_as if name not in given.index)
    if unknown:
        raise BadSessions(
            f"{len(unknown):,} of {len(set(judged_as)):,} sessions or topics have no judgments ({some(unknown)});"
            f" the judgments have {some(given.qids) or 'none'}. Remove these sessions, or name with judged_by= the"
            " column of the sessions that contains the query_id of the judgments."
        )
    topic = np.array([given.index[name] for name in judged_as])
    by_topic = np.argsort(given.row_query, kind="stable")
    sizes = np.bincount(given.row_query, minlength=len(given.qids))
    first, n = (np.cumsum(sizes) - sizes)[topic], sizes[topic]
    rows = by_topic[places_within(n) + np.repeat(first, n)]
    columns, at = given.columns, pa.array(rows)
    own = replace(
        columns,
        query_id=pa.array(queries, pa.large_string()).take(pa.array(np.repeat(np.arange(len(n)), n))),
        doc_id=columns.doc_id.take(at),
        value=columns.value[rows],
        iteration=None if columns.iteration is None else columns.iteration.take(at),
    )
    return Judgments(own, qids=queries)
