"""Cascade click models (DBN and cascade), and the relevance of documents predicted from clicks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from ir_measures import Measure

from ...data.alignment import Judgments
from ...data.columns import Array, judgment_columns
from ...errors import BadJudgments, BadLog, BadParameter, many, some
from ...files.inputs import loaded
from ...measures.declarations import followed
from ...measures.named import CWLA, measure_of
from ...measures.provider import prepare
from ...model.language import float_or_int
from ...rendering.tables import Printed, Table
from ..logs.estimators import Bootstrap, Estimate, LogResult, estimates_of
from ..logs.log import SESSION, InteractionLog, as_log, highest, numbered_sessions

#: Name of the group of results without a grade.
UNJUDGED = "unjudged"
_TOLERANCE, MOST_STEPS = 1e-9, 20_000


@dataclass(frozen=True, eq=False)
class ClickedLists:
    """Result lists with clicks, as arrays [ranks × lists].

    Attributes
    ----------
    row : ndarray of int, shape (n_ranks, n_lists)
        Row of the log; −1 if the log has none.
    code : ndarray of int, shape (n_ranks, n_lists)
        Index of the parameters in `names`; −1 for results that cannot be clicked.
    clicked : ndarray of bool, shape (n_ranks, n_lists)
        Whether the result was clicked.
    n : ndarray of int, shape (n_lists,)
        Length of the list.
    user : ndarray of int, shape (n_lists,)
        Number of the user.
    names : tuple
        Names of the groups with separate parameters, such as grades.
    users : int
        Number of users.
    """

    row: Array
    code: Array
    clicked: Array
    n: Array
    user: Array
    names: tuple[Any, ...]
    users: int

    @cached_property
    def last(self) -> Array:
        """Rank of the last click of each list; 0 without clicks."""
        return (self.clicked * self._ranks).max(axis=0)

    @property
    def shown(self) -> Array:
        """Mask of the results in the lists that can be clicked."""
        return (self._ranks <= self.n) & (self.code >= 0)

    @cached_property
    def last_code(self) -> Array:
        """Parameter index of the last click of each list; −1 without clicks."""
        return np.where(self.last > 0, self.code[np.maximum(self.last - 1, 0), np.arange(len(self.n))], -1)

    @property
    def _ranks(self) -> Array:
        return np.arange(1, len(self.clicked) + 1)[:, None]

    @cached_property
    def decided(self) -> Array:
        """Mask of the clicks above the end of the list, which are informative about satisfaction."""
        return self.clicked & (self._ranks < self.n)

    @cached_property
    def of_last(self) -> Array:
        """Mask of the clicks in `decided` that are the last of their list, and so may have satisfied."""
        return self.decided & (self._ranks == self.last)

    @cached_property
    def observed(self) -> tuple[Array, Array, Array, int]:
        """Observed counts by parameter: clicks, skips above a click, clicks that did not satisfy; and continuations."""
        passed = (self._ranks < self.last) & ~self.clicked & (self.code >= 0)
        earlier = self.decided & ~self.of_last
        moves = int(np.maximum(self.last - 1, 0).sum())
        return *(self.by(self.code, which).sum(axis=1) for which in (self.clicked, passed, earlier)), moves

    def expected(self, theta: Array) -> tuple[Array, Array, float]:
        """Compute the expected hidden variables of all lists by the forward-backward algorithm (E step).

        Returns
        -------
        examined : ndarray, shape (n_ranks, n_lists)
            Probability that the result was examined.
        satisfied : ndarray, shape (n_lists,)
            Probability that the last click satisfied.
        log_likelihood : float
            Log-likelihood of the parameters.
        """
        from scipy.special import xlog1py, xlogy

        groups, ranks, lists = len(self.names), len(self.code), np.arange(len(self.n))
        a, s, gamma = np.append(theta[:groups], 0.0), np.append(theta[groups:-1], 0.0), theta[-1]
        passes, at_last = (1 - a)[self.code], s[self.last_code]
        silent = np.ones((ranks + 1, len(lists)))  # P(no click from this rank on | examined)
        below = np.ones((ranks, len(lists)))  # P(no click below this rank | examined, not satisfied)
        for i in range(ranks - 1, -1, -1):
            below[i] = np.where(i + 1 < self.n, 1 - gamma + gamma * silent[i + 1], 1.0)
            silent[i] = passes[i] * below[i]  # 1 below the end of a list, where no result has a parameter
        tail = np.where(self.last > 0, below[np.maximum(self.last - 1, 0), lists], silent[0])
        decided = (self.last > 0) & (self.last < self.n)
        tail = np.where(decided, at_last + (1 - at_last) * tail, tail)
        clicks, passed, earlier, moves = self.observed
        log_likelihood = (
            xlogy(clicks, a[:-1]).sum()
            + xlog1py(passed, -a[:-1]).sum()
            + xlog1py(earlier, -s[:-1]).sum()
            + xlogy(moves, gamma)
            + np.log(tail).sum()
        )
        satisfied = np.divide(at_last, tail, out=np.zeros(len(tail)), where=decided)
        goes_on = np.divide(gamma * silent[1:], below, out=np.zeros(below.shape), where=below > 0)
        goes_on *= self._ranks < self.n  # P(the next is examined | examined, not satisfied, no click below)
        examined = np.zeros(passes.shape)
        examined[0] = 1.0
        for i in range(1, ranks):
            left = np.where(i == self.last, 1 - satisfied, 1.0)
            examined[i] = np.where(i < self.last, 1.0, examined[i - 1] * left * goes_on[i - 1])
        return examined, satisfied, log_likelihood

    def sums(self, theta: Array) -> tuple[Array, Array, float]:
        """Compute the expected successes and trials of a of all groups, s of all groups and γ, and the log-likelihood.

        Returns
        -------
        on, of : ndarray, shape (2·n_groups + 1, n_users)
            Successes and trials.
        log_likelihood : float
            Log-likelihood of the parameters.
        """
        examined, satisfied, log_likelihood = self.expected(theta)
        choices = examined * (self._ranks < self.n) - self.of_last * satisfied
        clicks, decided = self._clicks
        successes = (clicks, self.by(self.last_code, satisfied), self._by_user(examined[1:]))
        trials = (self.by(self.code, examined), decided, self._by_user(choices))
        return np.vstack(successes), np.vstack(trials), log_likelihood

    def totals(self, theta: Array) -> tuple[Array, Array, float]:
        """Compute the same as `sums`, over all users, [parameters]."""
        on, of, log_likelihood = self.together.sums(theta)
        return on[:, 0], of[:, 0], log_likelihood

    @cached_property
    def _clicks(self) -> tuple[Array, Array]:
        """All clicks, and the clicks in `decided`, [parameters × users]."""
        return self.by(self.code, self.clicked), self.by(self.code, self.decided)

    def by(self, code: Array, weights: Array) -> Array:
        """Return sums of weights by parameter index and user, [parameters × users]."""
        place = (code + 1) * self.users + self.user
        sums = np.bincount(place.ravel(), weights.ravel(), minlength=(len(self.names) + 1) * self.users)
        return sums.reshape(-1, self.users)[1:]

    def _by_user(self, cells: Array) -> Array:
        return np.bincount(self.user, cells.sum(axis=0), minlength=self.users)[None, :]

    @cached_property
    def together(self) -> ClickedLists:
        """The same lists with a single user."""
        return replace(self, user=np.zeros_like(self.user), users=1)


def listed(log: InteractionLog, code: Array, names: tuple, gaps: str) -> ClickedLists:
    """Return the lists of a log as arrays.

    Parameters
    ----------
    log : InteractionLog
    code : ndarray of int, shape (n_rows,)
        Parameter index of each row.
    names : tuple
        Names of the groups.
    gaps : {"error", "passed", "closed"}
        Treatment of missing ranks.

    Returns
    -------
    ClickedLists

    Raises
    ------
    BadLog
        If a rank is missing and `gaps` is "error".
    """
    rows, (number, user) = log.rows, numbered_sessions(log)
    lists, rank = len(user), rows["rank"].to_numpy()
    first = np.searchsorted(number, np.arange(lists))
    place = np.arange(len(rows)) - first[number]
    missing = rank - 1 - place
    if gaps == "error" and missing.any():
        gap, above = int(np.flatnonzero(missing)[0]), missing[np.append(first[1:], len(rows)) - 1]
        raise BadLog(
            f"{above.sum():,} results are missing above the last rows of {(above > 0).sum():,} of {lists:,} lists"
            f" (first above rank {rank[gap]} of session {rows['session'][gap]!r} of user {rows['user'][gap]!r}):"
            " with gaps='passed' they count as shown but not clickable, with gaps='closed' as not in the list."
        )
    column = place if gaps == "closed" else rank - 1
    row, clicked = np.full((column.max() + 1, lists), -1), np.zeros((column.max() + 1, lists), bool)
    row[column, number], clicked[column, number] = np.arange(len(rows)), rows["clicked"]
    n = highest(number, column + 1, lists)
    return ClickedLists(row, np.append(code, -1)[row], clicked, n, user, names, int(user.max()) + 1)


def em(
    expected: Callable[[Array], tuple[Array, Array, float]],
    theta: Array,
    maximised: Callable[[Array, Array, Array], Array],
    tolerance: float = _TOLERANCE,
) -> tuple[Array, Array, bool]:
    """Iterate EM; return the parameters, the log-likelihood of each step, and whether EM converged.

    Parameters
    ----------
    expected : callable
        Function from parameters to expected successes and trials of each parameter, and the log-likelihood (E step).
    theta : ndarray
        First values of the parameters.
    maximised : callable
        Function from parameters, successes and trials to new parameters (M step).
    tolerance : float
        Largest change of a parameter in the last step.
    """
    steps: list[float] = []
    converged = False
    while not converged and len(steps) < MOST_STEPS:
        on, of, log_likelihood = expected(theta)
        steps.append(log_likelihood)
        last, theta = theta, maximised(theta, on, of)
        converged = bool(np.abs(theta - last).max() < tolerance)
    return theta, np.array(steps), converged


def four_digits(value: float) -> float:
    """Return a number with four significant digits, for the text of a measure."""
    return float(f"{value:.4g}")


_PYTERRIERS = {"query_id": "qid", "doc_id": "docno", "relevance": "label"}
_HALVINGS, _NEAR = 60, 1e-9
_SHOWN = 20  # printed documents


@dataclass(frozen=True, eq=False, repr=False)
class PredictedRelevance(Printed):
    """Relevance of documents, predicted from clicks.

    Attributes
    ----------
    table : DataFrame
        One row per topic and document, with the columns topic, docno, grade, a (attraction), s (satisfaction),
        relevance (a·s), error (its standard error) and sessions (number of sessions that showed the document).
    by_grade : dict of float to float
        R(g) of the grades of the log.
    converged : bool
        Whether EM converged.
    """

    table: pd.DataFrame
    by_grade: dict[float, float]
    """R(g) of the grades that the log has."""
    converged: bool

    @property
    def title(self) -> str:
        """Number of documents, as text."""
        return f"Relevance of {many(len(self.table), 'document')}"

    def shown(self) -> Table:
        """Return the printed table for people: the first documents."""
        return Table.from_frame(self.table, _SHOWN, ".table")

    @property
    def gain(self) -> str:
        """R(g) as the gain of a measure, ``"table({1: 0.2, 2: 0.7}, interpolate)"``, with linear interpolation.

        It is for judgments with grades between those of the log. As in `ClickModel.gain`, R(0) is left out, so that a
        document between grade 0 and the next grade has less gain than its predicted relevance; ``measure=`` of
        `judgments` keeps it. Raises `BadLog` if R(g) of no grade above 0 is known.
        """
        known = {grade: four_digits(value) for grade, value in self.by_grade.items() if grade > 0}
        if not known:
            raise BadLog("R(g) of no grade above 0 is known: the log needs clicks on such grades.")
        return f"table({known}, interpolate)"

    def judgments(
        self, qrels: Any, least: int = 1, rounded: bool = False, measure: Measure | str | None = None
    ) -> pd.DataFrame:
        """Return judgments with predicted grades for unjudged documents.

        The grade g of a document is the one at which R(g) is its predicted relevance. Between two grades of the log,
        R(g) is interpolated linearly, so that grades are floats. A document whose relevance is below R(0) or above R(g)
        of the highest grade has grade 0 or the highest grade. R(0) is 0 if the log does not have grade 0. Grades below
        0 are used only with ``rounded=True``. Topics that are not in `qrels` are left out.

        Measures with binary relevance compare grades with ``rel``: a document of grade 0.9 is not relevant with rel=1.
        trec_eval, and thereby most measures of ir_measures in other packages than this one, refuses float grades. Both
        need ``rounded=True``.

        Parameters
        ----------
        qrels : DataFrame, dict of dicts, or path
            Judgments, as for :func:`evaluate`.
        least : int, default=1
            Minimum number of sessions that showed a document; others stay unjudged.
        rounded : bool, default=False
            Whether a document gets the grade of the log whose R(g) is nearest to its relevance.
        measure : Measure or str, optional
            Measure whose gain is used instead of R(g): the gain of a document in this measure is its predicted
            relevance, up to the gain of the highest grade. The gain must be a probability that rises continuously
            with the grade, as in ERR. Choose one whose gains of the judged documents are near the R(g) of the log.

        Returns
        -------
        DataFrame
            Judgments with the column names of `qrels`. ``.attrs["added"]`` contains the number of added judgments by
            the nearest grade of the log.

        Raises
        ------
        BadLog
            If the judgments have several intents, which clicks cannot distinguish, if the log has no grades, or if R(g)
            does not rise with the grade (without `rounded` and `measure`).
        BadParameter
            If `rounded` and `measure` are given together, or if the measure has no suitable gain.

        References
        ----------
        Chapelle et al. (2009), section 7.3.
        """
        if rounded and measure is not None:
            raise BadParameter(
                "rounded=True uses R(g) of the log, and measure= the gain of a measure: give one of both."
            )
        qrels = loaded(qrels, "qrels")
        given = judgment_columns(qrels)
        judged = pd.DataFrame({"query_id": given.query_id, "doc_id": given.doc_id, "relevance": given.value})
        judged = judged.astype({"query_id": str, "doc_id": str})
        if given.iteration is not None and len(given.iteration.unique()) > 1:
            raise BadLog("clicks do not distinguish intents: give the judgments of one intent at a time.")
        if not self.by_grade:
            raise BadLog(
                "R(g) is unknown for all grades, so relevance cannot be converted to grades: the log needs grades."
            )
        pairs, known = self.table.set_index(["topic", "docno"]), judged.set_index(["query_id", "doc_id"])
        of_topics = self.table["topic"].isin(judged["query_id"]) & ~pairs.index.isin(known.index)
        new = self.table[of_topics & (self.table["sessions"] >= least) & self.table["relevance"].notna()]
        relevance = new["relevance"].to_numpy()
        values = np.array(list(self.by_grade.values()))
        nearest = np.array(list(self.by_grade))[np.abs(relevance[:, None] - values).argmin(axis=1)]
        if measure is not None:
            grade = _where_gain_is(relevance, measure_of(measure), prepare(qrels))
        else:
            grade = nearest if rounded else self._interpolated(relevance)
        added = pd.DataFrame({"query_id": new["topic"], "doc_id": new["docno"], "relevance": grade})
        both = pd.concat([judged, added], ignore_index=True)
        both.attrs["added"] = pd.Series(nearest).value_counts().sort_index().to_dict()
        return both.rename(columns=_PYTERRIERS) if "qid" in getattr(qrels, "columns", ()) else both

    def _interpolated(self, relevance: Array) -> Array:
        levels = {0: 0.0, **{grade: value for grade, value in self.by_grade.items() if grade >= 0}}
        grades = sorted(levels)
        for lower, higher in pairwise(grades):
            if not levels[lower] < levels[higher]:
                raise BadLog(
                    f"R({higher:g}) = {levels[higher]:.3g} is not above R({lower:g}) = {levels[lower]:.3g}, so that no"
                    " grade can be interpolated: give rounded=True, or the gain of a measure (measure=)."
                )
        return np.interp(relevance, [levels[grade] for grade in grades], grades)


def _where_gain_is(relevance: Array, measure: Measure, judgments: Judgments) -> Array:
    """Return the grades at which the gain of a measure is the relevance."""
    metric = followed(measure, judgments)
    try:
        best, top = metric.best
        if best > 1 or metric.signed:
            what = "signed" if metric.signed else f"{best:g} for grade {top:g}"
            raise BadParameter(f"{metric.gain.keyword} is {what}, and predicted relevance is a probability.")
        found = _bisected(metric.gains, relevance, top)
        off = np.abs(metric.gains(found) - np.minimum(relevance, best)) > _NEAR
        if off.any():
            raise BadParameter(
                f"{metric.gain.keyword} has no grade with gain {relevance[off][0]:.3g}, the predicted relevance of a"
                " document."
            )
    except (BadParameter, BadJudgments) as error:
        raise type(error)(
            f"measure={str(measure)!r}: {error} Without measure=, grades are interpolated between the R(g) of the log."
        ) from None
    return np.where(relevance > 0, found, 0.0)


def _bisected(rising: Callable[[Array], Array], values: Array, highest: float) -> Array:
    """Return the arguments at which a function that rises from 0 to `highest` has the values, or `highest`."""
    low, high = np.zeros(len(values)), np.full(len(values), float(highest))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        below = rising(middle) < values
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return high


def _errors(lists: ClickedLists, theta: Array, prior: float, middle: Array) -> Array:
    """Compute standard errors of a·s: expected complete-data information minus missing information (Louis, 1982).

    A result that was examined with probability e and not clicked contributes e²/(1 − a)² of e/(1 − a)². A click that
    satisfied with probability σ contributes (σ − s)²/(s(1 − s))².
    """
    lists, documents = lists.together, len(lists.names)
    (examined, satisfied, _), clicked = lists.expected(theta), lists.clicked
    a, s = theta[:documents], theta[documents:-1]
    passed = lists.by(lists.code, ~clicked * examined**2)[:, 0]
    clicks, _, earlier, _ = lists.observed
    apart = (satisfied - np.append(s, 0.0)[lists.last_code]) ** 2
    at_last = lists.by(lists.code, lists.of_last * apart)[:, 0]
    m_a, m_s = middle[:documents], middle[documents:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        of_a = (clicks + prior * m_a) / a**2 + (passed + prior * (1 - m_a)) / (1 - a) ** 2
        of_s = at_last / (s * (1 - s)) ** 2 + prior * m_s / s**2 + (earlier + prior * (1 - m_s)) / (1 - s) ** 2
        variance = np.where(a < 1, s**2 / of_a, 0.0) + np.where((s > 0) & (s < 1), a**2 / of_s, 0.0)
    return np.sqrt(variance)


_INSIDE = 1e-6  # an estimate nearer to 0 or 1 counts as at the bound and has no interval


def dbn_from_clicks(
    log: Any,
    gamma: float | None = None,
    gaps: str = "error",
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> ClickModel:
    """Estimate R(g) = a_g·s_g and γ from clicks with a dynamic Bayesian network (DBN).

    A user who examines a result of grade g clicks it with probability a_g (attraction), and a clicked result satisfies
    with probability s_g (satisfaction). Satisfied users leave; the others continue with probability γ. The estimate is
    maximum likelihood by expectation maximisation (EM) over the hidden variables: satisfaction, and examination below
    the last click. Unjudged results (grade NaN) have a separate a and s, "unjudged".

    Intervals come from the bootstrap over users of the parameters, linearised at the estimate on the log-odds scale
    with the convergence rate of EM (Meng and Rubin, 1991), so no resample needs a separate fit.

    Parameters
    ----------
    log : InteractionLog, or rows of a log
        Log with a row for each result *shown*, including those below the last click, which identify satisfaction.
        ``seen`` is not used, because the model infers examination. Interrupted sessions (``cut_off``) are excluded and
        counted in the notes.
    gamma : float in (0, 1], optional
        Fixed value of γ; by default γ is estimated.
    gaps : {"error", "passed", "closed"}, default="error"
        Treatment of ranks that a list lacks. "error" raises an exception. "passed": the result was shown but could not
        be clicked (a = 0), for instance because the user had seen it before; passing it takes a γ. "closed": the result
        was not in the list, and the following results move up.
    confidence : float in (0, 1), default=0.95
        Level of the intervals.
    resamples : int, default=1000
        Number of bootstrap resamples of users.
    seed : int, default=0
        Seed of the resamples.

    Returns
    -------
    ClickModel

    Raises
    ------
    BadLog
        If the log has no grades or no clicks, a list has gaps (with ``gaps="error"``), or no list has results below a
        last click.
    BadParameter
        If `gamma` or `gaps` is invalid.

    References
    ----------
    Chapelle and Zhang (2009), section 3; Chapelle et al. (2009), sections 3, 7.1 and 7.2.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng, rows = np.random.default_rng(0), []
    >>> for session in range(600):
    ...     examines = True
    ...     for rank in range(1, 7):
    ...         grade = rng.integers(2)
    ...         click = examines and rng.random() < (0.3, 0.6)[grade]
    ...         examines = examines and rng.random() < 0.8 and not (click and rng.random() < (0.2, 0.7)[grade])
    ...         rows.append((f"u{session % 50}", f"s{session}", "t", rank, f"{grade}{rank}", click, float(grade)))
    >>> log = InteractionLog.of(pd.DataFrame(rows, columns="user session topic rank docno clicked grade".split()))
    >>> model = dbn_from_clicks(log)
    >>> print(model.gamma, model.relevance[1], sep="; ")
    0.827 [0.8, 0.856]; 0.411 [0.356, 0.464]
    """
    lists, log = _lists_of(as_log(log), gaps)
    groups = len(lists.names)
    start = np.full(2 * groups + 1, 0.5)
    if not lists.totals(start)[1][groups:-1].any():
        raise BadLog(
            "no list has a result below its last click, so satisfaction is not identified: the log needs a row for each"
            " result shown. In cascade_from_clicks(log), each click satisfies."
        )
    return _model(lists, log, start, gamma, Bootstrap(confidence, resamples, seed))


def cascade_from_clicks(
    log: Any,
    gamma: float | None = None,
    gaps: str = "error",
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> ClickModel:
    """Estimate R(g) and γ from clicks with the cascade model, in which each click satisfies.

    An examined result of grade g is clicked with probability R(g) = a_g, which ends the search; otherwise the user
    continues with probability γ. Lists are cut at their first click, because the model does not allow clicks below it;
    the notes contain the number of lists with further clicks. With γ = 1, a_g is the share of clicked results of grade
    g among those down to the first click. Otherwise the estimate is maximum likelihood by EM, as in
    :func:`dbn_from_clicks`.

    Parameters
    ----------
    log : InteractionLog, or rows of a log
        Log with a row for each result *shown*, including those below the last click, which identify satisfaction.
        ``seen`` is not used, because the model infers examination. Interrupted sessions (``cut_off``) are excluded and
        counted in the notes.
    gamma : float in (0, 1], optional
        Fixed value of γ; by default γ is estimated.
    gaps : {"error", "passed", "closed"}, default="error"
        Treatment of ranks that a list lacks. "error" raises an exception. "passed": the result was shown but could not
        be clicked (a = 0), for instance because the user had seen it before; passing it takes a γ. "closed": the result
        was not in the list, and the following results move up.
    confidence : float in (0, 1), default=0.95
        Level of the intervals.
    resamples : int, default=1000
        Number of bootstrap resamples of users.
    seed : int, default=0
        Seed of the resamples.

    Returns
    -------
    ClickModel

    Raises
    ------
    BadLog
        If the log has no grades or no clicks, a list has gaps (with ``gaps="error"``), or γ is not identified.
    BadParameter
        If `gamma` or `gaps` is invalid.

    References
    ----------
    Craswell et al. (2008); Chapelle et al. (2009), sections 3 and 7.1.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [("u", "s", "t", 1, "a", False, 0), ("u", "s", "t", 2, "b", True, 2), ("v", "s", "t", 1, "b", False, 2)]
    >>> log = InteractionLog.of(pd.DataFrame(rows, columns="user session topic rank docno clicked grade".split()))
    >>> print(cascade_from_clicks(log, gamma=1, resamples=50).relevance[2].value)
    0.5
    """
    lists, log = _lists_of(as_log(log), gaps)
    several = int((lists.clicked.sum(axis=0) > 1).sum())
    if several:
        note = f"{several:,} of {len(lists.n):,} lists have clicks below the first, which are ignored"
        log = replace(log, notes=(*log.notes, note))
    first = np.where(lists.clicked.any(axis=0), lists.clicked.argmax(axis=0) + 1, lists.n)
    shown = np.arange(len(lists.clicked))[:, None] < first
    lists = replace(lists, clicked=lists.clicked & shown, n=first)
    start = np.repeat([0.5, 1.0, 0.5], [len(lists.names), len(lists.names), 1])
    return _model(lists, log, start, gamma, Bootstrap(confidence, resamples, seed))


@dataclass(frozen=True, eq=False, repr=False)
class ClickModel(LogResult):
    """Cascade click model with parameters by grade.

    The keys of the dicts are grades, and "unjudged" for results without a grade. Estimates that are not identified are
    NaN.

    Attributes
    ----------
    attraction : dict
        a_g, the probability that an examined result is clicked, as Estimate.
    satisfaction : dict
        s_g, the probability that a clicked result satisfies, as Estimate.
    relevance : dict
        R(g) = a_g·s_g, as Estimate.
    gamma : Estimate
        γ, the probability that an unsatisfied user continues; its n is the expected number of such decisions.
    log_likelihood : ndarray, shape (n_steps,)
        Log-likelihood after each EM step; it never decreases.
    converged : bool
        Whether EM converged.
    sessions : int
        Number of sessions.
    users : int
        Number of users.
    notes : tuple of str
        Remarks about the log and the estimates.
    log : InteractionLog
        The log, without interrupted sessions.
    """

    attraction: dict[Any, Estimate]
    satisfaction: dict[Any, Estimate]
    relevance: dict[Any, Estimate]
    gamma: Estimate
    log_likelihood: Array
    converged: bool
    _lists: ClickedLists
    _theta: Array

    @property
    def title(self) -> str:
        """Title of the printed table."""
        return f"Clicks of {self.sizes}; γ = {self.gamma}"

    @property
    def table(self) -> pd.DataFrame:
        """Results shown, clicks, and a, s and R with the ends of their intervals; one row per grade."""
        lists = self._lists
        shown, clicks = (
            np.bincount(lists.code[which], minlength=len(lists.names)) for which in (lists.shown, lists.clicked)
        )
        columns: dict[str, Any] = {"grade": list(self.attraction), "shown": shown, "clicks": clicks}
        for name, numbers in (("a", self.attraction), ("s", self.satisfaction), ("R", self.relevance)):
            for column, end in ((name, "value"), (f"{name} low", "low"), (f"{name} high", "high")):
                columns[column] = [getattr(e, end) for e in numbers.values()]
        return pd.DataFrame(columns)

    @property
    def gain(self) -> str:
        """R(g) as the gain of a measure, ``"table({1: 0.2, 2: 0.7})"``.

        Unjudged results and grades of 0 or less have no gain in measures, so R(0) is left out. Raises `BadLog` if R(g)
        of a grade above 0 is unknown.
        """
        known = {g: e.value for g, e in self.relevance.items() if g != UNJUDGED and g > 0}
        unknown = [grade for grade, value in known.items() if np.isnan(value)]
        if unknown or not known:
            what = f"R(g) of grade {some(unknown)} is" if unknown else "R(g) of no grade above 0 is"
            raise BadLog(f"{what} not identified by this log (see .notes): write the gain by hand.")
        return f"table({ {grade: four_digits(value) for grade, value in known.items()} })"

    @property
    def C(self) -> str:
        """γ as a continuation, ``"cascade(0.9)"``."""
        return f"cascade({four_digits(self.gamma.value)})"

    def measure(self, A: str = "etg") -> Any:
        """Return the measure with the estimated γ and R(g).

        ERR with these R(g) is ``CWLA(C="rr", A="err", gain=model.gain)``.

        Parameters
        ----------
        A : str, default="etg"
            Aggregation. "etg": the probability that a user is satisfied before giving up. "utility(reciprocal)":
            satisfied users count with the reciprocal of their rank.

        Returns
        -------
        Measure

        Raises
        ------
        BadLog
            If R(g) of a grade above 0 is unknown.

        References
        ----------
        Chapelle et al. (2009), sections 7.1 and 7.2.
        """
        return CWLA(C=self.C, A=A, gain=self.gain)

    def predicted(self, prior: float = 10) -> PredictedRelevance:
        """Predict the relevance of each document for its topic from its clicks and its grade.

        The estimates a_u and s_u of each (topic, document) are posterior modes of the same model with fixed γ. Their
        Beta priors have the means a and s of the grade of the document, or of the unjudged results if it has no grade
        (of all results if those are unknown). Means of 0 or 1 are moved to 0.01 or 0.99. ``error`` is the standard
        error of R_u = a_u·s_u from the curvature of the posterior (Louis, 1982) with the other documents fixed.

        Parameters
        ----------
        prior : float, default=10
            Weight of the priors, in observations.

        Returns
        -------
        PredictedRelevance

        Raises
        ------
        BadParameter
            If `prior` is not positive.

        References
        ----------
        Chapelle et al. (2009), section 7.3; Chapelle and Zhang (2009), section 3.1.
        """
        if not prior > 0:
            raise BadParameter(f"prior={prior!r}: give a weight above 0, in observations.")
        by_grade, rows, theta, groups = self._lists, self.log.rows, self._theta, len(self.attraction)
        document = rows.groupby(["topic", "docno"]).ngroup().to_numpy()
        documents = int(document.max()) + 1
        lists = replace(by_grade, code=np.append(document, -1)[by_grade.row], names=tuple(range(documents)))
        grade = np.zeros(documents, np.int64)
        grade[lists.code[lists.code >= 0]] = by_grade.code[lists.code >= 0]

        on, of, _ = by_grade.totals(theta)
        centres = []
        for at, numbers in ((0, self.attraction), (groups, self.satisfaction)):
            identified = np.isfinite([e.value for e in numbers.values()])
            here = slice(at, at + groups)
            pooled = on[here][identified].sum() / max(of[here][identified].sum(), 1)
            given = numbers is self.satisfaction and of[here].sum() == 0  # every click satisfies
            centre = np.where(identified, theta[here], pooled)
            centres.append((centre if given else np.clip(centre, 0.01, 0.99))[grade])
        middle = np.append(np.concatenate(centres), theta[-1])

        def maximised(_: Array, on: Array, of: Array) -> Array:
            return np.append((on[:-1] + prior * middle[:-1]) / (of[:-1] + prior), middle[-1])

        found, _, converged = em(lists.totals, middle, maximised)
        a, s = found[:documents], found[documents:-1]
        table = rows.loc[pd.Series(document).drop_duplicates().index, ["topic", "docno", "grade"]]
        table = table.sort_values(["topic", "docno"], ignore_index=True)
        sessions = np.bincount(lists.code[lists.shown], minlength=documents)
        table = table.assign(a=a, s=s, relevance=a * s, error=_errors(lists, found, prior, middle), sessions=sessions)
        values = {g: e.value for g, e in self.relevance.items() if g != UNJUDGED and np.isfinite(e.value)}
        return PredictedRelevance(table, values, converged)


def _lists_of(log: InteractionLog, gaps: str) -> tuple[ClickedLists, InteractionLog]:
    """Return the lists of a log by grade, and the log without interrupted sessions."""
    if gaps not in ("error", "passed", "closed"):
        raise BadParameter(f"gaps={gaps!r}: give 'error', 'passed' or 'closed'.")
    out = log.flags("cut_off")
    if out.any():
        number = len(log.rows.loc[out, SESSION].drop_duplicates())
        log = replace(log.only(~out), excluded={**log.excluded, "interrupted (cut_off)": number})
    rows = log.rows
    if not rows["clicked"].any():
        raise BadLog("the log has no clicks, so relevance cannot be estimated.")
    if not log.has("grade"):
        raise BadLog("the log has no column 'grade', which R(g) needs.")
    grades = np.sort(rows["grade"].dropna().unique())
    code = np.where(rows["grade"].isna(), len(grades), np.searchsorted(grades, rows["grade"]))
    names = *map(float_or_int, grades), *([UNJUDGED] if rows["grade"].isna().any() else [])
    return listed(log, code, names, gaps), log


def _model(
    lists: ClickedLists, log: InteractionLog, start: Array, gamma: float | None, bootstrap: Bootstrap
) -> ClickModel:
    groups = len(lists.names)
    if gamma is not None:
        if not 0 < gamma <= 1:
            raise BadParameter(f"gamma={gamma!r}: give a probability above 0, or None to estimate it.")
        start[-1] = gamma
    _, of, _ = lists.totals(start)
    identified = (of > 0) & (start < 1)  # without the satisfaction of the cascade model, which is 1
    if gamma is None and not identified[-1]:
        raise BadLog("no list continues after a result that did not satisfy, so γ is not identified: give gamma=.")
    identified[-1] = gamma is None

    def maximised(theta: Array, on: Array, of: Array) -> Array:
        return np.where(identified, np.divide(on, of, out=theta.copy(), where=of > 0), theta)

    theta, steps, converged = em(lists.totals, start, maximised)
    on_border = identified & ((theta < _INSIDE) | (theta > 1 - _INSIDE))
    theta[on_border] = np.round(theta[on_border])  # EM approaches bounds only slowly
    value = np.where(identified | (start == 1) | (np.arange(len(start)) == len(start) - 1), theta, np.nan)
    a, s = value[:groups], value[groups:-1]
    R = np.where(a == 0, 0.0, a * s)  # without attraction, R is 0 for any satisfaction
    low, high, flat = _intervals(lists, theta, identified & ~on_border, maximised, bootstrap)
    notes = [*log.notes, *(f"{count:,} sessions excluded: {why}" for why, count in log.excluded.items())]
    notes += _identification_notes(lists.names, value, on_border)
    if not converged:
        notes.append(f"EM did not converge in {len(steps):,} steps: the likelihood is flat or nearly flat")
    for name, worth in zip(lists.names, R):
        if name != UNJUDGED and name <= 0 < worth:
            notes.append(f"R({name}) = {worth:.3g} is not in the gain: grades of 0 or less have no gain in measures")
    if flat:
        notes.append(
            "the likelihood is flat in some direction: the parameters are not identified and have no intervals"
        )
    _, n, _ = lists.totals(theta)
    estimates = estimates_of(np.append(value, R), low, high, np.append(n, n[:groups]))
    a_g, s_g, R_g = (dict(zip(lists.names, estimates[at:])) for at in (0, groups, 2 * groups + 1))
    of_log = len(lists.n), lists.users, tuple(notes), log
    return ClickModel(*of_log, a_g, s_g, R_g, estimates[2 * groups], steps, converged, lists, theta)


def _identification_notes(names: tuple, value: Array, on_border: Array) -> list[str]:
    """Return notes about estimates that are not identified or lie at a bound."""
    groups = len(names)
    a, s = value[:groups], value[groups:-1]
    never = [name for name, p in zip(names, a) if p == 0]
    unknown = [name for name, p in zip(names, s) if np.isnan(p) and name not in never]
    notes = []
    if never:
        notes.append(f"results of grade {some(never)} are never clicked: R = 0, and satisfaction is unknown")
    if unknown:
        notes.append(f"no results are shown below clicks on grade {some(unknown)}: satisfaction and R are unknown")
    labels = [f"{symbol} of grade {name!r}" for symbol in "as" for name in names] + ["γ"]
    borders = [f"{label} = {value[k]:g}" for k, label in enumerate(labels) if on_border[k]]
    if borders:
        notes.append(f"estimates at the bound of their range, without an interval: {', '.join(borders)}")
    return notes


def _intervals(
    lists: ClickedLists,
    theta: Array,
    inside: Array,
    maximised: Callable[[Array, Array, Array], Array],
    bootstrap: Bootstrap,
) -> tuple[Array, Array, bool]:
    """Compute the intervals of all parameters and R(g), and whether the likelihood is flat in a direction.

    EM maps η to M(η), with the fixed point η̂. For a resample with the map M*, the fixed point is to first order η̂ +
    (I − DM)⁻¹(M*(η̂) − η̂). DM is computed by central differences.
    """
    from scipy.special import expit, logit

    free = np.flatnonzero(inside)
    low, high = np.full((2, len(theta) + len(theta) // 2), np.nan)
    if not len(free):
        return low, high, False
    eta = logit(theta[free])

    def mapped(at: Array) -> Array:
        moved = theta.copy()
        moved[free] = expit(at)
        on, of, _ = lists.totals(moved)
        return logit(maximised(moved, on, of)[free])

    step = 1e-4
    DM = np.column_stack([(mapped(eta + h) - mapped(eta - h)) / (2 * step) for h in step * np.eye(len(free))])
    if np.abs(np.linalg.eigvals(DM)).max() > 1 - 1e-5:
        return low, high, True
    correction = np.linalg.inv(np.eye(len(free)) - DM)
    on, of, _ = lists.sums(theta)
    groups = len(theta) // 2
    a, s = inside[:groups], inside[groups:-1]
    moves = np.flatnonzero((a & (s | (theta[groups:-1] == 1))) | (s & (theta[:groups] == 1)))

    def refitted(totals: Array) -> Array:
        on, of = np.split(totals, 2)
        shares = (on + theta[free, None]) / (of + 1)  # one more observation at the estimate avoids 0, 1 and 0/0
        values = np.repeat(theta[:, None], totals.shape[1], axis=1)
        values[free] = expit(eta[:, None] + correction @ (logit(shares) - eta[:, None]))
        return np.vstack([values[free], values[moves] * values[groups + moves]])

    which = np.concatenate([free, len(theta) + moves])
    low[which], high[which] = bootstrap.intervals(np.vstack([on[free], of[free]]), refitted)
    return low, high, False
