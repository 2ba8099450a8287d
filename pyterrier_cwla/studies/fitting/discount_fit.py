"""Discount φ(1), …, φ(K) of a measure fitted to user ratings, by least squares or logistic regression with bounds.

Question: how much do users value what they find at each rank?

Method: where a score is linear in φ, all values are learned at once: for ratings by least squares with the bounds φ(1)
≥ … ≥ φ(K) ≥ 0 (Chapelle et al., 2009, section 7.1; Lawson and Hanson, 1974), and for preferences by the logistic model
of Bradley and Terry (1952). Intervals come from the bootstrap over users, and held-out values from folds of users.

Not to conclude: φ is known only up to a factor, and a value that is held by a bound is not estimated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from ir_measures.measures import Measure

from ...errors import BadParameter, BadRatings, check_share, check_whole, many
from ...model.language import parse
from ...rendering.figures import axes_of, saved
from ...rendering.numbers import percent
from ..correlation import (
    AGREED,
    DEVIANCE,
    LABELS,
    percentiles,
    plain_name,
    rounded,
    weights_of,
    with_weighted,
)
from ..report import About, Finding, Picture, Pictures, Table, Tables, plot_curves, reported
from ..users.agreement_variation import Template
from ..users.rating_correlations import resample_counts
from ..users.ratings import Rated, better_scores, how_resampled, what_was_rated, why_not_all
from .parameter_fit import Fitted, Fitting

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...files.atomic import AnyPath

_SHOWN = 5  # values of φ in a sentence


@dataclass(frozen=True, eq=False, repr=False)
class DiscountFit(Fitted):
    """Learned discount; the result of :func:`pyterrier_cwla.studies.fitting.discount_fit.fit_discount`.

    Attributes
    ----------
    measure : Measure
        Measure with the learned discount.
    discounts : DataFrame
        A row for each rank: φ (``phi``, the highest is 1), its interval (``phi_low``, ``phi_high``), the default
        discount, and the number of ratings whose lists have a gain at this rank (for pairs, different gains).
    folds : DataFrame
        A row for each fold: φ learned without it, the objective on the other folds (``chosen_by``) and on the fold
        (``held_out``), and the objective of the default on the fold (``default``).
    about : dict
        Settings, sizes and hash of the input.
    """

    measure: Measure
    discounts: pd.DataFrame
    folds: pd.DataFrame
    about: About

    @property
    def title(self) -> str:  # type: ignore[override]
        """Title of the report."""
        ranks = many(self.about["depth"], "rank")
        return f"Discount of {ranks} learned from {many(self.about['ratings'], 'rating')}: {self.phi}"

    @property
    def phi(self) -> str:
        """Learned discount as text, ``"table(1,0.6,0.4)"``, for ``phi=`` of ``Cascade`` and for ``utility(…)``."""
        return _table(self.discounts["phi"])

    def tables(self) -> Tables:
        """Return the tables of the report by file name."""
        where, known = self.how_folded, self.folds.dropna(subset=["held_out"])
        return {
            "summary": Table(
                self.objective_words.capitalize(),
                f"Held out: means of the folds for which φ was learned. {where}",
                self.summary("learned", self.phi, known.get("default"), "discount"),
            ),
            "discounts": Table(
                "Discount φ of each rank",
                f"The highest value is 1. {how_resampled(self.about)}",
                self.discounts,
            ),
            "folds": Table("φ learned without each fold, evaluated on it", where, self.folds),
        }  # fmt: skip

    def pictures(self) -> Pictures:
        """Return the pictures of the report by file name."""
        caption = f"The band has the intervals; the highest value is 1. {how_resampled(self.about)}"
        return {
            "discounts": Picture("Discount φ of each rank", caption, partial(plot_discount, self), self.discounts),
        }

    def headline(self) -> str:
        """Return what was found, in one sentence."""
        said = f"φ = {self.phi} fits the ratings best ({LABELS[self.about['objective']]} {self.about['value']:.2f})"
        if plain_name(self.about["objective"]) == AGREED:
            said = f"φ = {self.phi} agrees with a share of {self.about['value']:.2f} of the preferences"
        return self.beside_default(said)

    def findings(self) -> list[str]:
        """Return the findings, one sentence each."""
        rows = self.discounts.head(_SHOWN).itertuples()
        values = ", ".join(f"φ({row.rank}) = {row.phi:.3g} [{row.phi_low:.3g}, {row.phi_high:.3g}]" for row in rows)
        more = " and so on" if len(self.discounts) > _SHOWN else ""
        learned = Finding(f"{values}{more} ({percent(self.about['confidence'])} intervals).", "discounts")
        return [*self.values_found("discounts"), learned]

    def limits(self) -> list[str]:
        """Return conclusions that the study does not support, one sentence each."""
        said_limits = [
            "φ is known up to a factor: the objective does not change if all values are multiplied by a number.",
            f"After rank {self.about['depth']} φ is 0, because of depth=.",
            "The value on all ratings is that of the best φ for the same ratings: it is optimistic.",
            "Held-out values are means over small folds; compare them with each other, not with those on all ratings.",
        ]
        phi = self.discounts["phi"].to_numpy()
        equal = np.append(False, phi[1:] == phi[:-1]) & self.about["falling"]
        held = self.discounts["rank"][equal | (phi == 0)].astype(str)
        if len(held):
            bound = "rise with the rank or be negative" if self.about["falling"] else "be negative"
            said_limits.append(
                f"At {'rank' if len(held) == 1 else 'ranks'} {', '.join(held)} φ is at a bound, because it may not"
                f" {bound}; intervals there are approximate."
            )
        if plain_name(self.about["objective"]) == AGREED:
            said_limits.append(
                "φ has the highest likelihood of the preferences; the share of agreement of another φ may be higher."
            )
        if lost := self.about["without_result"]:
            said_limits.append(f"No φ agrees with {many(lost, 'resample')}, which the intervals leave out.")
        if missing := int(self.folds["held_out"].isna().sum()):
            said_limits.append(f"{many(missing, 'fold')} have no value: φ or the correlation is not defined there.")
        return said_limits + self.why_separated() + why_not_all(self.about)


def plot_discount(study: Any, ax: Any = None, path: AnyPath | None = None) -> Axes:
    """Plot the learned discount over ranks, with its intervals and the default.

    ``study.discounts`` has the numbers.

    Parameters
    ----------
    study : DiscountFit
        Study to plot.
    ax : matplotlib Axes, optional
        By default new axes.
    path : path, optional
        File to which the figure is saved.

    Returns
    -------
    matplotlib Axes
    """
    rows = study.discounts
    names = {"phi": "learned, with interval", "default": str(study.about["default"])}
    curves = {name: (rows["rank"], rows[column]) for column, name in names.items() if column in rows}
    ax = plot_curves(
        axes_of(ax),
        curves,
        f"Learned discount · {what_was_rated(study.about)}",
        {names["phi"]: (rows["phi_low"], rows["phi_high"])},
        ylim=(0, None),
        xlim=(0.5, len(rows) + 0.5),
        xticks=rows["rank"][:: -(-len(rows) // 10)],
        xlabel="rank (documents)",
        ylabel="discount φ (highest = 1)",
    )
    return saved(ax, path)


Array = np.ndarray

_LEAST = 1e-9  # share of a rank's gains that the other ranks must not explain
_RIDGE = 1e-4  # penalty of the logistic model, per preference
_DIGITS = 4  # significant digits of φ: its uncertainty is much larger


@reported("depth falling repeats resamples confidence seed")
def fit_discount(
    template: str | Callable[..., Any] | Template,
    rated: Rated,
    depth: int = 10,
    falling: bool = True,
    objective: str | None = None,
    default: str | None = "reciprocal",
    cv: int = 10,
    repeats: int = 10,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> DiscountFit:
    """Learn the discount φ(1), …, φ(K) of a measure from ratings of lists or sessions, preferences, or answers.

    The score of the cascade, and of every measure with the aggregation ``utility`` and without an ideal, is linear in
    φ: score = Σ_i φ(i)·x_i, where x_i is the gain that users receive at rank i (in the cascade, the probability that
    they are satisfied there). All K values are therefore learned at once: φ and b minimise
    Σ_q n_q·(y_q − b − Σ_i φ(i)·x_qi)² over the lists q with ratings y, with the bounds φ(1) ≥ … ≥ φ(K) ≥ 0. The weight
    n is 1, or the column ``n`` with ``objective="weighted_pearson"``. Among all φ within the bounds, this one has the
    highest Pearson's r of score and rating, which does not change if φ is multiplied by a number. φ is scaled so that
    its highest value is 1. After rank K it is 0.

    For preferences, x is the difference of the two lists, and φ maximises the likelihood of the logistic model
    P(first list preferred) = 1/(1 + exp(−Σ_i φ(i)·x_i)) with the same bounds. A ridge penalty of 10⁻⁴ per preference
    keeps φ finite where scores can reproduce all preferences. Exchanging the two lists of a pair changes nothing. Pairs
    without a preference are not used. The share of agreement itself is a step function of φ; it is reported, in sample
    and held out.

    For answers (:meth:`Rated.answers`), φ and b maximise the likelihood of P(correct) = 1/(1 + exp(−b − Σ_i φ(i)·x_i)),
    with the same bounds and penalty, and without a penalty of b.

    Ratings can be click metrics: the means of :func:`pyterrier_cwla.behaviour.click_metrics`, with the number of
    sessions as ``n``.

    Parameters
    ----------
    template : str, callable or Template
        Text of a measure with ``$phi`` in place of the discount, such as ``"Cascade(phi='$phi',max_rel=2)"`` or
        ``"CWLA(C='rr',A='utility($phi)',gain='table({1:0.2,2:0.7})')"``, or a function of ``phi`` that returns a
        measure.
    rated : Rated
        Ratings or preferences.
    depth : int, default=10
        K, the number of ranks with a discount.
    falling : bool, default=True
        Whether φ must not rise with the rank. Otherwise its values are only at least 0.
    objective : str, optional
        "pearson" (default), "agreement" for preferences and "deviance" for answers (defaults there). With the prefix
        ``"weighted_"``, each rating counts as often as its column ``n`` specifies.
    default : str, optional
        Discount for comparison, such as "reciprocal", "log2" or "table(1, 0.6)"; None for no comparison.
    cv : int, default=10
        Number of folds, from 2. φ is also learned without each fold and evaluated on it; all ratings of a user are in
        one fold.
    repeats : int, default=10
        Number of partitions into folds, from 1.
    resamples : int, default=1000
        Number of bootstrap resamples of users (of ratings, if users are not known) for the intervals, from 100.
    confidence : float in (0, 1), default=0.95
        Level of the intervals.
    seed : int, default=0
        Seed of folds and resamples.

    Returns
    -------
    DiscountFit

    Raises
    ------
    BadParameter
        If the score is not linear in φ, if the objective is not defined for the ratings, or a parameter is out of
        range.
    BadRatings
        If the ratings do not determine φ(1), …, φ(K), or if no φ within the bounds agrees with them.

    See Also
    --------
    fit : Fit numbers such as γ or R(g), by search.
    pyterrier_cwla.behaviour.cascade_from_clicks : Estimate R(g) and γ of the cascade from clicks.

    References
    ----------
    Chapelle et al. (2009), Definition 1 and section 7.1; Lawson and Hanson (1974), chapter 23, for least squares with
    bounds; Bradley and Terry (1952), for the model of preferences.

    Examples
    --------
    >>> grades = {"1": "1000", "2": "0100", "3": "0010", "4": "0001", "5": "1001", "6": "0110", "7": "0000"}
    >>> qrels = {q: {f"d{rank}": int(grade) for rank, grade in enumerate(row)} for q, row in grades.items()}
    >>> run = {q: {doc: -float(doc[1]) for doc in judged} for q, judged in qrels.items()}
    >>> rated = Rated.lists(qrels, run, {"1": 5, "2": 4, "3": 3, "4": 1, "5": 5, "6": 4, "7": 1})
    >>> found = fit_discount("Cascade(phi='$phi',gain='binary')", rated, depth=3, cv=2, repeats=1, resamples=100)
    >>> found.measure
    Cascade(phi='table(1,0.75,0.5)',gain='binary')
    """
    check_whole(1, depth=depth)
    check_whole(100, resamples=resamples)
    check_share(0.95, confidence=confidence)
    least_squares = "least squares maximise Pearson's r with ratings; fit() has the other objectives."
    known = with_weighted(["pearson", AGREED, DEVIANCE])
    fitting = Fitting.checked(template, ["phi"], rated, objective, cv, repeats, seed, known, least_squares)
    default_scores = None
    if default is not None:
        parse(default, "discount")
        default_scores = _scores(fitting, [default])[:, 0]
    regression = _Regression.from_ratings(fitting, depth, falling)
    phi = regression.best()
    by_fold = regression.learned(fitting.train)
    scores = np.nan_to_num(by_fold) @ regression.x.T
    values = [fitting.value(row, sample) for row, sample in zip(scores, fitting.train.T)]
    chosen = {f"phi({rank})": column for rank, column in enumerate(by_fold.T, 1)}
    chosen_by = np.where(np.isnan(by_fold).any(axis=1), np.nan, values)
    drawn = regression.learned(resample_counts(len(rated), rated.users, resamples, seed))
    measure = fitting.template.measure({"phi": _table(phi)})
    about = {
        **fitting.about(measure, fitting.value(scored := regression.x @ phi), scored, default, default_scores),
        "resampled": f"{rated.unit}s",
        "without_result": int(np.isnan(drawn).any(axis=1).sum()),
    }
    discounts = _by_rank(regression, phi, drawn, default, confidence)
    return DiscountFit(measure, discounts, fitting.folds(chosen, chosen_by, scores, default_scores), about)


@dataclass(frozen=True)
class _Regression:
    """Regression of ratings y on the gains x by rank, [ratings × ranks], with bounds; each rating counts n times.

    ``logistic``: logistic regression, for y = 1 and −1; otherwise least squares. Both have an intercept if ``centred``.
    """

    x: Array
    y: Array
    n: Array
    falling: bool
    centred: bool
    logistic: bool

    @classmethod
    def from_ratings(cls, fitting: Fitting, depth: int, falling: bool) -> _Regression:
        rated = fitting.rated
        weights, centred = weights_of(fitting.objective, rated.weights), rated.what != "pair"
        used = np.ones(len(rated)) if weights is None else weights
        if not centred:
            used = used * (rated.ratings != 0)
        of_answers = plain_name(fitting.objective) == DEVIANCE
        y = 2 * rated.ratings - 1 if of_answers else rated.ratings
        found = cls(_gains_by_rank(fitting, depth), y, used, falling, centred, of_answers or not centred)
        found._refuse_undetermined(rated.what)
        return found

    def best(self) -> Array:
        """Return φ for all ratings."""
        phi = self._learned(np.ones(len(self.y)))
        if np.isnan(phi).any():
            raise BadRatings(
                f"no discount of positive values{' that fall with the rank' if self.falling else ''} agrees with the"
                " ratings: lists with more gain are not rated higher."
            )
        return phi

    def learned(self, counts: Array) -> Array:
        """Return φ of each sample, [samples × ranks], for the counts of the ratings, [ratings × samples]."""
        return np.array([self._learned(count) for count in counts.T])

    def _learned(self, counts: Array) -> Array:
        """Return φ with the highest value 1; NaN if no φ agrees with the ratings."""
        x, y, counts = self._counted(counts)
        if not len(y) or (self.centred and np.ptp(y) == 0):
            return np.full(x.shape[1], np.nan)
        columns = np.cumsum(x, axis=1) if self.falling else x  # φ(i) = Σ_{j≥i} d_j with d ≥ 0
        found = _logistic(columns, y, counts, self.centred) if self.logistic else _least_squares(columns, y, counts)
        phi = found[::-1].cumsum()[::-1] if self.falling else found
        if not phi.max() > 0:
            return np.full(len(phi), np.nan)
        return np.array([float(f"{value:.{_DIGITS}g}") for value in rounded(phi / phi.max())])

    def _counted(self, counts: Array) -> tuple[Array, Array, Array]:
        counts = self.n * counts
        some = counts > 0
        return self.x[some], self.y[some], counts[some]

    def _refuse_undetermined(self, what: str) -> None:
        """Raise BadRatings at the first rank whose gains are 0 or follow from those of the ranks before."""
        x, _, counts = self._counted(np.ones(len(self.y)))
        if self.centred:
            x = x - np.average(x, axis=0, weights=counts)
        x = x * np.sqrt(counts)[:, None]
        own = np.zeros(x.shape[1])
        own[: len(x)] = np.abs(np.diag(np.linalg.qr(x)[1]))
        size = np.sqrt((x**2).sum(axis=0))
        undetermined = np.flatnonzero(own <= _LEAST * np.maximum(size, size.max()))
        if len(undetermined):
            k = int(undetermined[0]) + 1
            same = "are the same in all" if self.centred else "do not differ in any"
            why = f"gains at this rank {same} of {many(len(x), f'rated {what}')}"
            if k > 1:
                why += f", or follow from those at the ranks before. Give depth={k - 1}, or more ratings"
            raise BadRatings(f"the ratings do not determine φ({k}): {why}.")


def _least_squares(x: Array, y: Array, counts: Array) -> Array:
    """Return d ≥ 0 with the least Σ n·(y − b − x·d)² for the best b."""
    from scipy.optimize import nnls

    x, y = x - np.average(x, axis=0, weights=counts), y - np.average(y, weights=counts)
    rows: Array = np.column_stack([x, y]) * np.sqrt(counts)[:, None]
    reduced = np.linalg.qr(rows)[1]
    found: Array = nnls(reduced[:, :-1], reduced[:, -1], maxiter=100 * x.shape[1])[0]
    return found


def _logistic(x: Array, y: Array, counts: Array, intercept: bool) -> Array:
    """Return d ≥ 0, up to a factor, with the least mean of log(1 + exp(−y·(b + x·d))) plus the ridge penalty.

    b is 0 without an intercept, and else has no bounds and no penalty.
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    share = counts / counts.sum()
    if intercept:
        x = x - share @ x
    ranks, free = x.shape[1], int(intercept)
    x = x / (np.sqrt(share @ (x**2).mean(axis=1)) or 1.0)
    x = y[:, None] * np.hstack([x, np.ones((len(x), free))])
    ridge = np.repeat([_RIDGE, 0], [ranks, free])

    def loss(d: Array) -> tuple[float, Array]:
        apart = x @ d
        gradient = 2 * ridge * d - x.T @ (share * expit(-apart))
        return share @ np.logaddexp(0, -apart) + (ridge * d) @ d, gradient

    bounds = [(0, None)] * ranks + [(None, None)] * free
    exact = {"ftol": 1e-16, "gtol": 1e-12, "maxcor": 20}
    found: Array = minimize(loss, np.zeros(len(bounds)), jac=True, method="L-BFGS-B", bounds=bounds, options=exact).x
    return found[:ranks]


def _table(phi: Iterable[float]) -> str:
    return f"table({','.join(f'{value:.{_DIGITS}g}' for value in phi)})"


def _scores(fitting: Fitting, discounts: Iterable[str]) -> Array:
    """Return the scores with each discount, [ratings × discounts]; greater is better."""
    measures = {str(number): fitting.template.measure({"phi": phi}) for number, phi in enumerate(discounts)}
    return better_scores(fitting.rated, measures).to_numpy()


def _gains_by_rank(fitting: Fitting, depth: int) -> Array:
    """Return x, [ratings × ranks]: the scores with φ = 1 at one rank and 0 at all others."""
    probe = np.linspace(1, 0.5, depth).round(3)
    scores = _scores(fitting, map(_table, [*np.eye(depth), probe]))
    x, other = scores[:, :depth], scores[:, depth]
    if not np.allclose(x @ probe, other, rtol=1e-9, atol=1e-9 * (np.abs(x).max() or 1)):
        raise BadParameter(
            f"the score of {fitting.template} is not a sum of gains times φ, so least squares cannot learn φ. Use the"
            " aggregation utility($phi) without a normaliser that depends on φ (norm='ideal'), or fit()."
        )
    return x


def _by_rank(regression: _Regression, phi: Array, drawn: Array, default: str | None, confidence: float) -> pd.DataFrame:
    """Return a row for each rank: φ with its interval, the default, and the number of ratings with a gain."""
    low, high = percentiles(drawn.T, confidence)
    ranks = np.arange(1, len(phi) + 1)
    columns = {"rank": ranks, "phi": phi, "phi_low": low, "phi_high": high}
    if default is not None:
        columns["default"] = np.broadcast_to(parse(default, "discount")(ranks.astype(float)), len(phi))
    used = (regression.n > 0)[:, None]
    return pd.DataFrame({**columns, "with_gain": ((regression.x != 0) & used).sum(axis=0)})
