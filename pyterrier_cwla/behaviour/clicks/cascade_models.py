"""What satisfies, from clicks: ERR's R(g) and the cascade's γ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from ...errors import BadLog, BadParameter, many, some
from ..logs.estimate import Array, Estimate, over_users, printed
from ..logs.log import InteractionLog, as_log
from .click_lists import UNJUDGED, ClickedLists, Sums, em, listed
from .predicted_relevance import PredictedRelevance, predicted

_INSIDE = 1e-6  # an estimate that is nearer to 0 or 1 lies on the border, where there is no interval


def dbn_from_clicks(
    log: Any,
    gamma: float | None = None,
    gaps: str = "error",
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> ClickModel:
    """R(g) = a_g·s_g and γ from clicks, with what attracts (a) and what satisfies (s) apart.

    Whoever examines a result of grade g clicks it with probability a_g, and is satisfied by a clicked one with
    probability s_g; the satisfied leave, the others go on with γ (``gamma=`` fixes it, such as 1). Maximum likelihood
    by expectation and maximisation (EM), which sums over all that clicks leave open: who was satisfied, and who went
    on unseen. Results that are not judged (grade NaN) have an a and an s of their own, "unjudged".

    The log must have a row for all that was *shown*, also below the last click: what follows the last click alone
    tells satisfaction from the habit to click on. Whether a result was examined is what the model infers; ``seen`` is
    not read. ``gaps`` says what ranks are that a list lacks: "error"; "passed": such a result was shown, and could not
    be clicked (a = 0), such as one that the user had met before, but to pass it takes a γ; "closed": it was not on the
    list, and the others move up. Sessions that were cut off from outside are left out and counted.

    Intervals: the bootstrap over users of the parameters linearised at their estimate (on the scale of log odds, with
    EM's own rate of convergence as in Meng and Rubin, 1991), so that no resample needs a fit of its own.

    Raises BadLog where the log has no grades, no clicks, gaps, or nothing below a last click.

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

    Source: Chapelle and Zhang (2009), section 3; Chapelle et al. (2009), sections 3, 7.1 and 7.2.
    """
    log = as_log(log)
    lists, log = _lists_of(log, gaps)
    groups = len(lists.names)
    if not lists.sums(np.full(2 * groups + 1, 0.5)).of[groups : 2 * groups].any():
        raise BadLog(
            "no list has a result below its last click, so that the satisfied cannot be told from the rest: keep a row"
            " for all results that were shown. cascade_from_clicks(log) takes every click for satisfied."
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
    """R(g) and γ from clicks where every click satisfies: the cascade model, with users who give up.

    R(g) = a_g: an examined result of grade g is clicked, and ends the search, with probability a_g; the others go on
    with γ. A list ends with its first click; what lies below was seen by nobody, says the model, and is not read (the
    notes say how many lists have further clicks). With γ = 1, a_g is the share of the results of grade g down to the
    first clicks that were clicked; else EM, as in :func:`dbn_from_clicks`, whose parameters and errors these are.

    >>> import pandas as pd
    >>> rows = [("u", "s", "t", 1, "a", False, 0), ("u", "s", "t", 2, "b", True, 2), ("v", "s", "t", 1, "b", False, 2)]
    >>> log = InteractionLog.of(pd.DataFrame(rows, columns="user session topic rank docno clicked grade".split()))
    >>> print(cascade_from_clicks(log, gamma=1, resamples=50).relevance[2].value)
    0.5

    Source: Craswell et al. (2008); Chapelle et al. (2009), sections 3 and 7.1.
    """
    log = as_log(log)
    lists, log = _lists_of(log, gaps)
    several = int((lists.clicked.sum(axis=0) > 1).sum())
    if several:
        note = f"{several:,} of {len(lists.n):,} lists have clicks below the first, which were not read"
        log = replace(log, notes=(*log.notes, note))
    first = np.where(lists.clicked.any(axis=0), lists.clicked.argmax(axis=0) + 1, lists.n)
    shown = np.arange(len(lists.clicked))[:, None] < first
    lists = replace(lists, clicked=lists.clicked & shown, n=first)
    start = np.repeat([0.5, 1.0, 0.5], [len(lists.names), len(lists.names), 1])
    return _model(lists, log, start, gamma, (confidence, resamples, seed))


@dataclass(frozen=True, eq=False)
class ClickModel:
    """What clicks say of grades. Keys are grades, and "unjudged"; a satisfaction that nothing tells is NaN."""

    attraction: dict[Any, Estimate]
    """a_g: the probability that an examined result is clicked."""
    satisfaction: dict[Any, Estimate]
    """s_g: the probability that a clicked result satisfies."""
    relevance: dict[Any, Estimate]
    """R(g) = a_g·s_g."""
    gamma: Estimate
    """γ: the probability to go on unsatisfied; n is how many times somebody is expected to have had the choice."""
    log_likelihood: Array
    """After each step of EM; it never falls."""
    converged: bool
    """Whether EM came to rest."""
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
        """One row a grade: results shown, clicks, and a, s and R with the ends of their intervals."""
        code = self._lists.code
        shown, clicks = (np.bincount(code[which], minlength=len(self.attraction)) for which in self._lists.cells)
        columns: dict[str, Any] = {"grade": list(self.attraction), "shown": shown, "clicks": clicks}
        for name, numbers in (("a", self.attraction), ("s", self.satisfaction), ("R", self.relevance)):
            for end in ("value", "low", "high"):
                columns[name if end == "value" else f"{name} {end}"] = [getattr(e, end) for e in numbers.values()]
        return pd.DataFrame(columns)

    @property
    def gain(self) -> str:
        """R(g) as a gain of a metric, ``"table({1: 0.2, 2: 0.7})"``.

        Metrics gain nothing from what has grade 0 or less, or is not judged: R(0), however high, is not in it.
        """
        known = {g: e.value for g, e in self.relevance.items() if g != UNJUDGED and g > 0}
        unknown = [grade for grade, value in known.items() if np.isnan(value)]
        if unknown or not known:
            what = f"R(g) of grade {some(unknown)} is" if unknown else "R(g) of no grade above 0 is"
            raise BadLog(f"{what} not to be had from this log (see .notes): write the gain yourself.")
        return f"table({ {grade: _rounded(value) for grade, value in known.items()} })"

    @property
    def C(self) -> str:
        """γ as a continuation, ``"cascade(0.9)"``."""
        return f"cascade({_rounded(self.gamma.value)})"

    def measure(self, A: str = "etg") -> Any:
        """The measure that this log calibrates: by default the probability that a user is satisfied before giving up.

        With ``A="utility(reciprocal)"`` the satisfied count by the reciprocal of their rank. Chapelle et al. (2009),
        sections 7.1 and 7.2. ERR with these R(g) is ``CWLA(C="rr", A="err", gain=model.gain)``.
        """
        from ...measures.named import CWLA

        return CWLA(C=self.C, A=A, gain=self.gain)

    def predicted(self, prior: float = 10) -> PredictedRelevance:
        """The relevance of every document for its topic, from the clicks on it and what its grade (or none) says.

        The most probable a_u and s_u of each (topic, document) under the same model, γ as it is, with Beta priors that
        weigh as much as ``prior`` observations at a and s of the document's grade; of an unjudged document, at those
        of the unjudged (where these are not to be had, of all; a centre on 0 or 1 moves in to 0.01 or 0.99). EM, as for
        the grades. ``error`` is the standard error of R_u = a_u·s_u, from the curvature of the posterior (Louis, 1982)
        with the other documents as they are.

        Source: Chapelle et al. (2009), section 7.3; Chapelle and Zhang (2009), section 3.1.
        """
        if not prior > 0:
            raise BadParameter(f"prior={prior!r}: give the prior a weight above 0, in observations.")
        return predicted(self, prior)


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def _lists_of(log: InteractionLog, gaps: str) -> tuple[ClickedLists, InteractionLog]:
    """The lists of a log by grade, and the log without the sessions that were cut off."""
    if gaps not in ("error", "passed", "closed"):
        raise BadParameter(f"gaps={gaps!r}: give 'error', 'passed' or 'closed'.")
    if log.has("cut_off") and log.rows["cut_off"].any():
        out = log.rows["cut_off"].to_numpy(bool)
        number = log.rows.loc[out, ["user", "session"]].drop_duplicates().shape[0]
        log = replace(log.only(~out), excluded={**log.excluded, "cut off from outside": number})
    rows = log.rows
    if not rows["clicked"].any():
        raise BadLog("the log has no clicks, so that there is nothing to tell a result's relevance by.")
    if not log.has("grade"):
        raise BadLog("the log has no grades, and R(g) is that of grades: give it a column 'grade'.")
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
    told = (of > 0) & (start < 1)  # not the satisfaction of the plain cascade
    if gamma is None and not told[-1]:
        raise BadLog("no list goes on after a result that did not satisfy, so that γ cannot be told: give gamma=.")
    told[-1] = gamma is None

    def maximised(theta: Array, sums: Sums) -> Array:
        on, of = sums.on[:, 0], sums.of[:, 0]
        return np.where(told, np.divide(on, of, out=theta.copy(), where=of > 0), theta)

    theta, steps, converged = em(lists, start, maximised)
    on_border = told & ((theta < _INSIDE) | (theta > 1 - _INSIDE))
    theta[on_border] = np.round(theta[on_border])  # which EM only comes nearer to, ever more slowly
    value = np.where(told | (start == 1) | (np.arange(len(start)) == len(start) - 1), theta, np.nan)
    a, s = value[:groups], value[groups:-1]
    R = np.where(a == 0, 0.0, a * s)  # nothing attracts: however little is known of satisfaction
    low, high, flat = _intervals(lists, theta, told & ~on_border, maximised, bootstrap)
    notes = [*log.notes, *(f"{count:,} sessions left out: {why}" for why, count in log.excluded.items())]
    notes += _unknown(lists.names, value, on_border)
    if not converged:
        notes.append(f"EM did not come to rest in {len(steps):,} steps: the likelihood is flat, or nearly so")
    for name, worth in zip(lists.names, R):
        if name != UNJUDGED and name <= 0 < worth:
            notes.append(f"R({name}) = {worth:.3g} is not in the gain: metrics gain nothing from grades of 0 or less")
    if flat:
        notes.append("the likelihood is flat in some direction: parameters trade off, and have no intervals")
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


def _unknown(names: tuple, value: Array, on_border: Array) -> list[str]:
    """What the log does not tell, in words."""
    groups = len(names)
    a, s = value[:groups], value[groups:-1]
    never = [name for name, p in zip(names, a) if p == 0]
    unknown = [name for name, p in zip(names, s) if np.isnan(p) and name not in never]
    notes = []
    if never:
        notes.append(f"results of grade {some(never)} are never clicked: R = 0, and no satisfaction to be told")
    if unknown:
        notes.append(f"below clicks on grade {some(unknown)} nothing is shown: no satisfaction to be told, and no R")
    labels = [f"{symbol} of grade {name!r}" for symbol in "as" for name in names] + ["γ"]
    borders = [f"{label} = {value[k]:g}" for k, label in enumerate(labels) if on_border[k]]
    if borders:
        notes.append(f"most likely on the border, where there is no interval: {', '.join(borders)}")
    return notes


def _intervals(
    lists: ClickedLists,
    theta: Array,
    inside: Array,
    maximised: Callable[[Array, Sums], Array],
    bootstrap: tuple[float, int, int],
) -> tuple[Array, Array, bool]:
    """Ends for all parameters and R(g); and whether some direction is flat.

    EM maps η to M(η) and rests at η̂; on a resample it maps η̂ to M*(η̂), and rests where η̂ + (I − DM)⁻¹(M*(η̂) − η̂) is,
    to first order. DM by central differences.
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
        shares = (on + theta[free, None]) / (of + 1)  # one more observation at the estimate: never 0, 1 or unknown
        values = np.repeat(theta[:, None], totals.shape[1], axis=1)
        values[free] = expit(eta[:, None] + correction @ (logit(shares) - eta[:, None]))
        return np.vstack([values[free], values[moves] * values[groups + moves]])

    which = np.concatenate([free, len(theta) + moves])
    low[which], high[which] = over_users(np.vstack([sums.on[free], sums.of[free]]), refitted, *bootstrap)
    return low, high, False
