"""Cascade click models (DBN and cascade): estimates of ERR's R(g) and of the continuation probability γ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from ...data.arrays import Array
from ...errors import BadLog, BadParameter, many, some
from ..logs.estimate import Estimate, over_users, printed
from ..logs.log import InteractionLog, as_log
from .click_lists import UNJUDGED, ClickedLists, Sums, em, four_digits, listed
from .predicted_relevance import PredictedRelevance, predicted

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
    log = as_log(log)
    lists, log = _lists_of(log, gaps)
    groups = len(lists.names)
    if not lists.sums(np.full(2 * groups + 1, 0.5)).of[groups : 2 * groups].any():
        raise BadLog(
            "no list has a result below its last click, so satisfaction is not identified: the log needs a row for each"
            " result shown. In cascade_from_clicks(log), each click satisfies."
        )
    start = np.full(2 * groups + 1, 0.5)
    return _model(lists, log, start, gamma, (confidence, resamples, seed))


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
    log = as_log(log)
    lists, log = _lists_of(log, gaps)
    several = int((lists.clicked.sum(axis=0) > 1).sum())
    if several:
        note = f"{several:,} of {len(lists.n):,} lists have clicks below the first, which are ignored"
        log = replace(log, notes=(*log.notes, note))
    first = np.where(lists.clicked.any(axis=0), lists.clicked.argmax(axis=0) + 1, lists.n)
    shown = np.arange(len(lists.clicked))[:, None] < first
    lists = replace(lists, clicked=lists.clicked & shown, n=first)
    start = np.repeat([0.5, 1.0, 0.5], [len(lists.names), len(lists.names), 1])
    return _model(lists, log, start, gamma, (confidence, resamples, seed))


@dataclass(frozen=True, eq=False)
class ClickModel:
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
    """

    attraction: dict[Any, Estimate]
    satisfaction: dict[Any, Estimate]
    relevance: dict[Any, Estimate]
    gamma: Estimate
    log_likelihood: Array
    converged: bool
    sessions: int
    users: int
    notes: tuple[str, ...]
    _lists: ClickedLists = field(repr=False)
    _log: InteractionLog = field(repr=False)
    _theta: Array = field(repr=False)

    def __repr__(self) -> str:
        return printed(
            f"Clicks of {many(self.sessions, 'session')} of {many(self.users, 'user')}; γ = {self.gamma}",
            self.table,
            self.notes,
        )

    @property
    def table(self) -> pd.DataFrame:
        """Results shown, clicks, and a, s and R with the ends of their intervals; one row per grade."""
        code = self._lists.code
        shown, clicks = (np.bincount(code[which], minlength=len(self.attraction)) for which in self._lists.cells)
        columns: dict[str, Any] = {"grade": list(self.attraction), "shown": shown, "clicks": clicks}
        for name, numbers in (("a", self.attraction), ("s", self.satisfaction), ("R", self.relevance)):
            for end in ("value", "low", "high"):
                columns[name if end == "value" else f"{name} {end}"] = [getattr(e, end) for e in numbers.values()]
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
        from ...measures.named import CWLA

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
        return predicted(self, prior)


def _lists_of(log: InteractionLog, gaps: str) -> tuple[ClickedLists, InteractionLog]:
    """Return the lists of a log by grade, and the log without interrupted sessions."""
    if gaps not in ("error", "passed", "closed"):
        raise BadParameter(f"gaps={gaps!r}: give 'error', 'passed' or 'closed'.")
    if log.has("cut_off") and log.rows["cut_off"].any():
        out = log.rows["cut_off"].to_numpy(bool)
        number = log.rows.loc[out, ["user", "session"]].drop_duplicates().shape[0]
        log = replace(log.only(~out), excluded={**log.excluded, "interrupted (cut_off)": number})
    rows = log.rows
    if not rows["clicked"].any():
        raise BadLog("the log has no clicks, so relevance cannot be estimated.")
    if not log.has("grade"):
        raise BadLog("the log has no column 'grade', which R(g) needs.")
    grades = np.sort(rows["grade"].dropna().unique())
    code = np.where(rows["grade"].isna(), len(grades), np.searchsorted(grades, rows["grade"]))
    names = [int(grade) if grade.is_integer() else grade for grade in grades.tolist()]
    return listed(rows, code, (*names, UNJUDGED) if (code == len(grades)).any() else tuple(names), gaps), log


def _model(
    lists: ClickedLists, log: InteractionLog, start: Array, gamma: float | None, bootstrap: tuple[float, int, int]
) -> ClickModel:
    groups = len(lists.names)
    if gamma is not None:
        if not 0 < gamma <= 1:
            raise BadParameter(f"gamma={gamma!r}: give a probability above 0, or None to estimate it.")
        start[-1] = gamma
    of = lists.together.sums(start).of[:, 0]
    identified = (of > 0) & (start < 1)  # without the satisfaction of the cascade model, which is 1
    if gamma is None and not identified[-1]:
        raise BadLog("no list continues after a result that did not satisfy, so γ is not identified: give gamma=.")
    identified[-1] = gamma is None

    def maximised(theta: Array, sums: Sums) -> Array:
        on, of = sums.on[:, 0], sums.of[:, 0]
        return np.where(identified, np.divide(on, of, out=theta.copy(), where=of > 0), theta)

    theta, steps, converged = em(lists, start, maximised)
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
    n = lists.together.sums(theta).of[:, 0]
    ends = zip(np.append(value, R), low, high, np.append(n, n[:groups]), strict=True)
    estimates = [Estimate(float(v), float(a), float(b), round(float(c))) for v, a, b, c in ends]
    attraction, satisfaction, relevance = (
        dict(zip(lists.names, estimates[at : at + groups], strict=True)) for at in (0, groups, 2 * groups + 1)
    )
    return ClickModel(
        attraction, satisfaction, relevance, estimates[2 * groups], steps, converged, len(lists.n), lists.users,
        tuple(notes), lists, log, theta,
    )  # fmt: skip


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
    maximised: Callable[[Array, Sums], Array],
    bootstrap: tuple[float, int, int],
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
    eta, together = logit(theta[free]), lists.together

    def mapped(at: Array) -> Array:
        moved = theta.copy()
        moved[free] = expit(at)
        return logit(maximised(moved, together.sums(moved))[free])

    step = 1e-4
    DM = np.column_stack([(mapped(eta + h) - mapped(eta - h)) / (2 * step) for h in step * np.eye(len(free))])
    flat = bool(np.abs(np.linalg.eigvals(DM)).max() > 1 - 1e-5)
    if flat:
        return low, high, True
    correction = np.linalg.inv(np.eye(len(free)) - DM)
    sums = lists.sums(theta)
    groups = len(theta) // 2
    a, s = inside[:groups], inside[groups:-1]
    moves = np.flatnonzero((a & (s | (theta[groups:-1] == 1))) | (s & (theta[:groups] == 1)))

    def refitted(totals: Array) -> Array:
        on, of = totals[: len(free)], totals[len(free) :]
        shares = (on + theta[free, None]) / (of + 1)  # one more observation at the estimate avoids 0, 1 and 0/0
        values = np.repeat(theta[:, None], totals.shape[1], axis=1)
        values[free] = expit(eta[:, None] + correction @ (logit(shares) - eta[:, None]))
        return np.vstack([values[free], values[moves] * values[groups + moves]])

    which = np.concatenate([free, len(theta) + moves])
    low[which], high[which] = over_users(np.vstack([sums.on[free], sums.of[free]]), refitted, *bootstrap)
    return low, high, False
