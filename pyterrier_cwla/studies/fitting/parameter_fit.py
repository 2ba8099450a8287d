"""Parameters of a metric fitted to user ratings, by search.

Question: with which parameters does a metric agree best with users, and what is gained over its defaults?

Method: every candidate, or each that a search proposes, is scored once and compared with ratings or preferences (Jiang
and Allan, 2016, section 5.1; Chapelle et al., 2009, section 7.1). The search is repeated without each fold of the
users, and the parameters are evaluated on that fold. The gain is tested with a t-test that accounts for the overlap of
folds (Nadeau and Bengio, 2003).

Not to conclude: the agreement on all ratings is that of the best of many candidates, and is optimistic. Where a value
is at an end of its range, the best may lie beyond.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from ir_measures.measures import Measure

from ...errors import BadParameter, BadRatings, check_known, check_whole, many
from ...errors.sanitise import in_picture
from ...evaluation.score_cache import key_in_cache
from ...measures.wrappers import pinned
from ...rendering.figures import GREY, SCORE, STAY, axes_of, label_box, name_at, saved, titled
from ...rendering.numbers import fixed_point, interval_of, p_value, percent
from ...tasks.hashing import fingerprint
from ...tasks.progress import counted
from ...tasks.result_cache import Piece, Pieces
from ..correlation import (
    AGREED,
    AUC,
    CORRELATIONS,
    DEVIANCE,
    ERRORS,
    LABELS,
    NRMSE,
    check_coefficient,
    is_weighted,
    plain_name,
    rounded,
    sign_of_scores,
    weights_of,
    where_less_is_better,
    why_negated,
    with_weighted,
)
from ..report import About, Finding, Picture, Pictures, Study, Table, Tables, are_numbers, flat, reported
from ..users.agreement_variation import Range, Template, Values, parameters_text
from ..users.rating_correlations import (
    corrected_error,
    corrected_t_test,
    held_out_values,
    objective_values,
    separated,
    training_folds,
)
from ..users.ratings import Rated, what_was_rated, why_not_all

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...files.atomic import AnyPath

Array = np.ndarray

_SCAN = 257  # initial values of a single parameter
_SCATTERED = 512  # initial points of several parameters
_STEPS = 2.0 ** -np.arange(3, 10)  # shares of a range
_STEPS_OF_ONE = 0.5 / _SCAN, 0.25 / _SCAN  # of the range of a single parameter
_ROUNDS = 8  # maximum number of rounds with each step
_LITTLE = 1e-4  # gain below which no further round is started


class Search:
    """Search for the best candidate of each sample; each candidate is scored once for all samples.

    The search starts with all combinations (lists of values, up to ``most``), an even scan (one parameter), or the
    points of a scrambled Sobol sequence. It then tries steps of decreasing size, along each parameter and in random
    directions, around the best candidate of *every* sample. For the first sample, it also does so around the best
    candidates of the lower and the upper half of each range. Candidates are shared by all samples, so that a hundred
    folds cost little more than one. Equal seeds give equal candidates. The search ends after ``most`` candidates.

    Parameters
    ----------
    ranges : mapping of str to Range
        Range of each parameter.
    worth : callable
        Function from a list of candidates to an array [candidates × samples] of objective values; NaN is never the
        best.
    where : callable, optional
        Condition on the parameters.
    most : int, default=4000
        Maximum number of candidates.
    seed : int, default=0
        Seed of the search.
    """

    def __init__(
        self,
        ranges: Mapping[str, Range],
        worth: Callable[[list[Values]], Array],
        where: Callable[..., bool] | None = None,
        most: int = 4000,
        seed: int = 0,
    ) -> None:
        self.ranges, self.worth, self.where, self.most = ranges, worth, where, most
        self.rng = np.random.default_rng(seed)
        self.values: list[Values] = []
        self.places = np.zeros((0, len(ranges)))
        self.found = np.zeros((0, 0))
        self._known: set[str] = set()

    def run(self, start: list[Values]) -> None:
        """Search; the candidates ``start`` are always scored."""
        self.try_values(start)
        sizes = [of.size for of in self.ranges.values()]
        every = np.prod(sizes) <= self.most
        if every:
            self.try_values([dict(zip(self.ranges, v)) for v in product(*(r.choices for r in self.ranges.values()))])
        elif len(sizes) == 1:
            ((name, only),) = self.ranges.items()
            values = only.grid(_SCAN)
            self.try_values([{name: value} for value in values[:: -(-len(values) // self.most)]])
        else:
            self.try_values(self._scattered())
        if not self.values:
            raise BadParameter("no candidate satisfies where=.")
        if np.isnan(self.found[:, 0]).all():
            raise BadParameter("the scores are constant for every candidate: the objective is not defined.")
        if every:
            return
        for step in _STEPS if len(sizes) > 1 else _STEPS_OF_ONE:
            for _ in range(_ROUNDS):
                before = self._highest()
                around = self._around(np.unique([*self.best(), *self._best_in_halves()]), step)
                self.try_values(self._values(around))
                if len(self.values) >= self.most or not (self._highest() > before + _LITTLE).any():
                    break

    def best(self) -> Array:
        """Return the number of the best candidate of each sample; the first of equal ones, 0 if all are NaN."""
        return np.argmax(np.where(np.isnan(self.found), -np.inf, self.found), axis=0)

    def _highest(self) -> Array:
        return np.fmax.reduce(self.found, axis=0)  # all-NaN samples give NaN without a warning

    def _best_in_halves(self) -> list[int]:
        """Return the best candidates of the first sample in the lower and in the upper half of each parameter."""
        worth = np.where(np.isnan(self.found[:, 0]), -np.inf, self.found[:, 0])
        upper = self.places >= 0.5
        halves = [np.flatnonzero(side) for column in upper.T for side in (column, ~column)]
        return [int(half[np.argmax(worth[half])]) for half in halves if len(half)]

    def try_values(self, candidates: list[Values]) -> None:
        """Score the candidates that are allowed and not yet known."""
        fresh = []
        for values in candidates:
            if parameters_text(values) not in self._known and (self.where is None or self.where(**values)):
                self._known.add(parameters_text(values))
                fresh.append(values)
        fresh = fresh[: max(self.most - len(self.values), 0)]
        if fresh:
            found = self.worth(fresh)
            self.found = np.concatenate([self.found, found]) if len(self.values) else found
            self.values += fresh
            places = [[_place(self.ranges[name], values[name]) for name in self.ranges] for values in fresh]
            self.places = np.concatenate([self.places, np.array(places, float)])

    def _values(self, places: Array) -> list[Values]:
        return [{n: r.value(x) for (n, r), x in zip(self.ranges.items(), row)} for row in places.tolist()]

    def _scattered(self) -> list[Values]:
        """Return the candidates at points of a Sobol sequence that satisfy the condition."""
        from scipy.stats import qmc

        points = self._values(qmc.Sobol(len(self.ranges), seed=self.rng).random(8 * _SCATTERED))
        return [values for values in points if self.where is None or self.where(**values)][:_SCATTERED]

    def _around(self, numbers: Array, step: float) -> Array:
        """Return the positions one step away from those of these candidates."""
        d = len(self.ranges)
        random = self.rng.standard_normal((d, d))
        directions = np.eye(d), -np.eye(d), random / np.linalg.norm(random, axis=1, keepdims=True)
        least = np.array([max(step, 1 / of.size) for of in self.ranges.values()])
        places = self.places[numbers][:, None] + np.concatenate(directions) * least
        return np.clip(places, 0, 1).reshape(-1, d)


def _place(of: Range, value: Any) -> float:
    """Return the position of a value in its range."""
    if of.choices:
        return (of.choices.index(value) + 0.5) / len(of.choices) if value in of.choices else 0.5
    if of.log:
        return float(np.log(value / of.low) / np.log(of.high / of.low))
    return (value - of.low) / (of.high - of.low)


#: Display names of the objectives, which are maximised (NRMSE and deviance: minimised).
_PLAIN = {
    **{name: f"{words} with the ratings" for name, words in CORRELATIONS.items()},
    "nrmse": "the error of ratings predicted by linear regression (NRMSE)",
    "agreement": "the agreement with the preferences",
    "deviance": "the mean deviance of answers from a logistic regression on the score",
}
OBJECTIVES = {
    name: _PLAIN[plain_name(name)] + (", weighted by n" if is_weighted(name) else "") for name in with_weighted(_PLAIN)
}
_NEARLY = {NRMSE: 0.001}  # negligible differences of the objective; 0.005 for all other objectives


def sign_of(objective: str) -> int:
    """Return −1 for errors, which are minimised, and 1 for other objectives, which are maximised."""
    return -1 if plain_name(objective) in ERRORS else 1


class Fitted(Study):
    """Result of a fit to ratings: a measure, and its objective in sample and on held-out folds, beside a default."""

    measure: Measure
    folds: pd.DataFrame

    @property
    def gain(self) -> dict[str, float] | None:
        """Gain over the default in sample, and on held-out folds: mean, 95 % interval and p. None without default."""
        if "default" not in self.folds:
            return None
        sign = sign_of(self.about["objective"])
        difference = sign * (self.folds["held_out"] - self.folds["default"]).dropna().to_numpy()
        mean = reach = p = np.nan
        if len(difference):
            mean = float(difference.mean())
        if len(difference) > 1:
            from scipy.stats import t as student

            share = 1 / (self.about["folds"] - 1)  # n_test/n_train
            reach = float(student.ppf(0.975, len(difference) - 1) * corrected_error(difference, share))
            p = float(corrected_t_test(difference, share))
        in_sample = sign * (self.about["value"] - self.about["default_value"])
        return {"in_sample": in_sample, "held_out": mean, "low": mean - reach, "high": mean + reach, "p": p}

    @property
    def objective_words(self) -> str:
        """Name of the objective in titles and sentences."""
        return OBJECTIVES[self.about["objective"]]

    @property
    def how_folded(self) -> str:
        """Caption that describes the ratings and the folds."""
        about = self.about
        folds = f"{about['repeats']} × {about['folds']} folds by {about['folds_by']}"
        return f"{what_was_rated(about)}; {folds}, seed {about['seed']}."

    @property
    def default_text(self) -> str:
        """Default parameters or default discount as text."""
        default = self.about["default"]
        return parameters_text(default) if isinstance(default, dict) else str(default)

    def summary(self, what: str, text: str, defaults: pd.Series, column: str) -> pd.DataFrame:
        """Return the objective in sample and held out, of what was fitted and of the default."""
        rows = [(what, text, self.about["value"], self.folds["held_out"].mean())]
        if self.gain is not None:
            rows.append(("default", self.default_text, self.about["default_value"], defaults.mean()))
        return pd.DataFrame(rows, columns=["measure", column, "in_sample", "held_out"])

    def beside_default(self, said: str) -> str:
        """Return a headline that ends with whether the fit is better than the default on held-out folds."""
        gain, default, held_out = self.gain, self.default_text, f"on held-out {self.about['folds_by']}s"
        if gain is None:
            return f"{said}."
        if gain["low"] > 0:
            return f"{said}, and {held_out} it is better than the default, {default}, by {gain['held_out']:.2f}."
        if gain["high"] < 0:
            return f"{said}, but {held_out} it is worse than the default, {default}."
        return f"{said}, but whether it is better than the default, {default}, {held_out} is undecided."

    def values_found(self, picture: str | None) -> list[str]:
        """Return the findings about the objective on all ratings, and about the gain over the default."""
        about, gain = self.about, self.gain
        found = [f"{self.measure} has {self.objective_words} {about['value']:.3f} on the {self.how_folded}"]
        if gain is not None:
            in_sample, held_out = (fixed_point(gain[end], 3, signed=True) for end in ("in_sample", "held_out"))
            interval = interval_of(gain["low"], gain["high"], 3, signed=True)
            found.append(
                f"The default ({self.default_text}) has {about['default_value']:.3f} there:"
                f" the gain is {in_sample} on the ratings used for fitting, and {held_out} on held-out"
                f" {about['folds_by']}s ({percent(0.95)} interval {interval}, {p_value(gain['p'], 'p')})."
            )
        if "auc" in about:
            others = "" if about["default_auc"] is None else f", with the default {about['default_auc']:.3f}"
            found.append(
                f"The AUC is {about['auc']:.3f}{others}, and {self.folds['auc'].mean():.3f} on held-out"
                f" {about['folds_by']}s (mean of the folds with correct and wrong answers)."
            )
        return [Finding(sentence, picture) for sentence in found]

    def why_separated(self) -> list[str]:
        """Return sentences on answers that the scores separate completely."""
        found = []
        if self.about.get("separated"):
            found.append(
                f"Scores of {self.measure} separate correct from wrong answers: the logistic regression has no finite"
                " slope, and other values may fit as well. More answers are needed."
            )
        if lost := int((self.folds["held_out"].isna() & self.folds["chosen_by"].notna()).sum()) * ("auc" in self.folds):
            found.append(f"The same is true without {many(lost, 'fold')}: these folds have no held-out deviance.")
        return found


@dataclass(frozen=True, eq=False)
class Fitting:
    """Measure with parameters, ratings and objective of a fit, and the folds on which it is evaluated."""

    template: Template
    rated: Rated
    objective: str
    cv: int
    repeats: int
    seed: int

    @classmethod
    def checked(
        cls, template: Any, names: Iterable[str], rated: Rated, objective: str | None, cv: int, repeats: int, seed: int,
        known: Iterable[str] = OBJECTIVES, why_no_other: str = "",
    ) -> Fitting:  # fmt: skip
        """Check what fits of parameters and of discounts have in common."""
        template, pairs = Template.parse(template), rated.what == "pair"
        template.check(list(names))
        objective = objective or {"pair": AGREED, "answer": DEVIANCE}.get(rated.what, "pearson")
        known = [name for name in known if (plain_name(name) == AGREED) == pairs]
        known = [name for name in known if plain_name(name) != DEVIANCE or rated.what == "answer"]
        if pairs or plain_name(objective) in (AGREED, DEVIANCE) or not why_no_other:
            why_no_other = f"ratings of {rated.what}s have no such objective."
        check_coefficient(objective, known, rated.weights, why_no_other, "objective")
        check_whole(2, cv=cv)
        check_whole(1, repeats=repeats)
        if pairs and not rated.ratings.any():
            raise BadRatings("no pair has a preference: there is nothing to fit to.")
        if not pairs and np.ptp(rated.ratings) == 0:
            raise BadRatings("all ratings are the same: there is nothing to fit to.")
        return cls(template, rated, objective, cv, repeats, seed)

    @cached_property
    def train(self) -> Array:
        """Whether each rating is in the training set of each fold, [ratings × folds]."""
        return training_folds(self.rated, self.cv, self.repeats, self.seed)

    def value(self, scores: Array, sample: Array | None = None, objective: str | None = None) -> float:
        """Return the objective of scores [ratings] on all ratings or on a sample of them; for errors its negative."""
        counts = np.ones(len(self.rated)) if sample is None else sample
        return float(objective_values(objective or self.objective, scores[None], self.rated, counts[:, None])[0, 0])

    def folds(self, chosen: Mapping[str, Any], chosen_by: Any, scores: Array, default: Array | None) -> pd.DataFrame:
        """Return a row for each fold: what was chosen without it, and its objective on the other folds and on it.

        Parameters
        ----------
        chosen : mapping of str to array_like, shape (folds,)
            Values that were chosen without each fold.
        chosen_by : array_like, shape (folds,)
            Their objective on the other folds; NaN if the ratings or the scores are constant there.
        scores : ndarray, shape (folds, ratings)
            Scores with the chosen values.
        default : ndarray, shape (ratings,), or None
            Scores with the default.
        """

        def held_out(scores: Array, objective: str = self.objective) -> Array:
            return held_out_values(objective, scores, self.rated, self.train)

        repeat, fold = (part.ravel() + 1 for part in np.indices((self.repeats, self.cv)))
        some = ~np.isnan(chosen_by)
        columns = {
            "repeat": repeat,
            "fold": fold,
            "ratings": (self.train == 0).sum(axis=0),
            **{name: pd.Series(values).where(some) for name, values in chosen.items()},
            "chosen_by": sign_of(self.objective) * np.asarray(chosen_by),
            "held_out": np.where(some, held_out(scores), np.nan),
        }
        if default is not None:
            columns["default"] = held_out(np.repeat(default[None], len(some), axis=0))
        if plain_name(self.objective) == DEVIANCE:
            columns["auc"] = np.where(some, held_out(scores, AUC), np.nan)
        return pd.DataFrame(columns)

    def about(
        self, measure: Measure, value: float, scores: Array, default: Any, default_scores: Array | None
    ) -> dict[str, Any]:
        """Return the settings and the objective of the fitted measure, and of the default, on all ratings."""
        sign, more = sign_of(self.objective), dict[str, Any]()
        if plain_name(self.objective) == DEVIANCE:
            from scipy.stats import chi2

            weights = weights_of(self.objective, self.rated.weights)
            counted = len(self.rated) if weights is None else float(weights.sum())
            auc = partial(self.value, objective=AUC)
            more = {
                "auc": auc(scores),
                "default_auc": None if default_scores is None else auc(default_scores),
                "separated": bool(separated(rounded(scores), self.rated.ratings, np.ones((len(scores), 1)))[0]),
                "nearly": float(chi2.ppf(0.95, 1)) / counted,
            }
        return {
            "template": str(self.template),
            "measure": repr(measure),
            "objective": self.objective,
            "value": sign * value,
            "default": default,
            "default_value": None if default_scores is None else sign * self.value(default_scores),
            "folds": self.cv,
            "folds_by": "list" if self.rated.repeated else self.rated.unit,
            **more,
            **self.rated.about(is_weighted(self.objective)),
        }


@dataclass(frozen=True, eq=False, repr=False)
class Fit(Fitted):
    """Fitted parameters of a measure; the result of :func:`pyterrier_cwla.studies.fitting.parameter_fit.fit`.

    Attributes
    ----------
    values : dict
        Fitted parameters.
    measure : Measure
        Measure with the fitted parameters.
    ranges : dict of str to Range
        Range of each parameter.
    candidates : DataFrame
        All candidates, with the objective on all ratings (``value``).
    folds : DataFrame
        A row for each fold: the parameters chosen without it, their objective on the other folds (``chosen_by``) and on
        the fold (``held_out``), and the objective of the default on the fold (``default``).
    about : dict
        Settings, sizes and hash of the input.
    """

    values: Values
    measure: Measure
    ranges: dict[str, Range]
    candidates: pd.DataFrame
    folds: pd.DataFrame
    about: About

    @property
    def title(self) -> str:  # type: ignore[override]
        """Title of the report."""
        ratings = many(self.about["ratings"], "rating")
        return f"Fit of {', '.join(self.values)} to {ratings}: {parameters_text(self.values)}"

    def curve(self, name: str) -> pd.DataFrame:
        """Return the objective on all ratings along a parameter, with the other parameters as fitted.

        Parameters
        ----------
        name : str
            Name of a fitted parameter.

        Returns
        -------
        DataFrame
            A row for each candidate on the curve, with the columns ``name`` and ``value`` (the objective), in ascending
            order of the parameter. Values that are not numbers have the order of their range.

        Raises
        ------
        BadParameter
            If there is no such parameter.
        """
        check_known("fitted parameter", self.ranges, name=name)
        rows = self.candidates
        for other in self.ranges:
            rows = rows if other == name else rows[rows[other] == self.values[other]]
        order = None if are_numbers(rows[name]) else lambda column: column.map(self.ranges[name].choices.index)
        return rows[[name, "value"]].sort_values(name, key=order, ignore_index=True)

    def parameters(self) -> pd.DataFrame:
        """Return a row for each parameter: its fitted value, its distribution over folds, and nearly optimal values.

        ``folds_low``, ``folds_median`` and ``folds_high`` are the 5 % quantile, median and 95 % quantile over folds.
        ``nearly_low`` and ``nearly_high`` are the lowest and highest value among all candidates whose objective is
        within 0.005 (NRMSE: 0.001) of the best, for any values of the other parameters. For the deviance, they are ends
        of the 95 % interval of the likelihood ratio, within 3.84 divided by the number of answers. A column with
        numbers and texts is converted to texts.
        """
        return flat(pd.DataFrame(self._rows()))

    def _rows(self) -> list[dict[str, Any]]:
        sign = sign_of(self.about["objective"])
        worth = sign * self.candidates["value"]
        nearly = self.candidates[worth >= worth.max() - self._nearly]
        rows = []
        for name in self.ranges:
            fitted, near = self.folds[name].dropna(), nearly[name]
            if are_numbers(self.candidates[name]):
                ends = [*fitted.quantile([0.05, 0.5, 0.95]), near.min(), near.max()]
            else:
                ends = [None, next(iter(fitted.value_counts().index), None), None]
                ends += [", ".join(map(str, near.unique())), None]
            default = (self.about["default"] or {}).get(name)
            columns = ("folds_low", "folds_median", "folds_high", "nearly_low", "nearly_high")
            named = {"parameter": name, "fitted": self.values[name], "default": default}
            rows.append({**named, **dict(zip(columns, ends))})
        return rows

    def tables(self) -> Tables:
        """Return the tables of the report by file name."""
        where = self.how_folded
        return {
            "summary": Table(
                self.objective_words.capitalize(),
                f"Held out: means of folds. {where}",
                self.summary("fitted", parameters_text(self.values), self.folds.get("default"), "parameters"),
            ),
            "parameters": Table(
                "Parameters",
                f"Nearly best: values within {self._nearly} of the best on all ratings{self._why_nearly}. {where}",
                self.parameters(),
            ),
            "folds": Table("Parameters chosen without each fold, evaluated on it", where, flat(self.folds)),
            "candidates": Table("All candidates", f"The objective on all ratings. {where}", flat(self.candidates)),
        }  # fmt: skip

    def pictures(self) -> Pictures:
        """Return the pictures of the report by file name."""
        return {
            f"parameter_{number}": Picture(
                f"{self.objective_words.capitalize()} along {name}",
                f"Other parameters as fitted; marks at the bottom: values chosen without each of"
                f" {many(len(self.folds), 'fold')}. {self.how_folded}",
                partial(plot_parameter, self, name),
                flat(self.curve(name)),
            )
            for number, name in enumerate(self.ranges, 1)
            if len(self.curve(name)) > 1
        }

    def headline(self) -> str:
        """Return what was found, in one sentence."""
        values, objective = parameters_text(self.values), LABELS[self.about["objective"]]
        return self.beside_default(f"{values} fits the ratings best ({objective} {self.about['value']:.2f})")

    def findings(self) -> list[str]:
        """Return the findings, one sentence each."""
        found, folds = self.values_found("parameter_1"), many(len(self.folds), "fold")
        for number, row in enumerate(self._rows(), 1):
            name, fitted = row["parameter"], row["fitted"]
            if are_numbers(self.candidates[name]):
                sentence = (
                    f"{name} = {fitted:.4g}; fitted without one fold at a time, {row['folds_low']:.4g} to"
                    f" {row['folds_high']:.4g} (90 % of {folds}); values from {row['nearly_low']:.4g} to"
                    f" {row['nearly_high']:.4g} are within {self._nearly} of the best{self._why_nearly}."
                )
            else:
                share = (self.folds[name] == fitted).mean()
                sentence = (
                    f"{name} = {fitted}, also chosen in {percent(share, 0)} of the fits without one of {folds}; values"
                    f" within {self._nearly} of the best: {row['nearly_low']}."
                )
            found.append(Finding(sentence, f"parameter_{number}"))
        return found

    def limits(self) -> list[str]:
        """Return conclusions that the study does not support, one sentence each."""
        said_limits = [
            "The value on all ratings is that of the best of"
            f" {many(self.about['candidates'], 'candidate')}, chosen on the same ratings: it is optimistic.",
            "Held-out values are means over small folds; compare them with each other, not with those on all ratings.",
        ]
        for name, span in self.ranges.items():
            if not span.choices and self.values[name] in (span.low, span.high):
                said_limits.append(f"{name} is at an end of its range ({span}): the best may lie beyond.")
        unchosen = int(self.folds["chosen_by"].isna().sum())
        if unchosen:
            said_limits.append(
                f"Ratings or scores are constant without {many(unchosen, 'fold')}: no parameters are chosen there, and"
                " these folds do not count."
            )
        if (lost := int(self.folds["held_out"].isna().sum()) - unchosen) and "auc" not in self.folds:
            said_limits.append(f"Ratings or scores are constant on {many(lost, 'fold')}: these folds do not count.")
        if self.about["most_reached"]:
            said_limits.append(f"The search stopped after {many(self.about['candidates'], 'candidate')} (most=).")
        said_limits += self.why_separated()
        return said_limits + why_negated(self.about["less_is_better"]) + why_not_all(self.about)

    @property
    def _nearly(self) -> float:
        return float(f"{self.about.get('nearly', _NEARLY.get(plain_name(self.about['objective']), 0.005)):.3g}")

    @property
    def _why_nearly(self) -> str:
        return " (a 95 % likelihood interval if answers are independent)" if "nearly" in self.about else ""


def plot_parameter(study: Any, name: str, ax: Any = None, path: AnyPath | None = None) -> Axes:
    """Plot the objective on all ratings along a parameter, with the other parameters as fitted.

    The dot is the fitted value, the grey marks at the bottom are the values chosen without each fold, and the cross is
    the default, drawn if it lies in the range. ``study.curve(name)`` returns the numbers.

    Parameters
    ----------
    study : Fit
        Study to plot.
    name : str
        Name of the parameter.
    ax : matplotlib Axes, optional
        By default new axes.
    path : path, optional
        File to which the figure is saved.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_of(ax)
    curve, about, span = study.curve(name), study.about, study.ranges[name]
    texts = not are_numbers(curve[name])
    place_of: Callable[[Any], float] = span.choices.index if texts else float
    chosen = study.folds[name].dropna().map(place_of)
    x, y = curve[name].map(place_of).astype(float), curve["value"]
    if span.log:
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter("{x:g}")
    ax.plot(x, y, "o" if texts else "-", color=STAY, linewidth=1.8)
    low, high = y.min(), y.max()
    room = max(high - low, 1e-6)
    ax.set_ylim(low - 0.14 * room, high + 0.2 * room)
    if not texts:
        marks = np.full(len(chosen), low - 0.09 * room)
        ax.plot(chosen, marks, "|", color=GREY, markersize=9, alpha=0.7, zorder=1)
    middle = (x.min() * x.max()) ** 0.5 if span.log else (x.min() + x.max()) / 2
    shown = [("fitted", study.values[name], about["value"], {"marker": "o", "markersize": 6, "color": SCORE}, (6, 6))]
    default = (about["default"] or {}).get(name)
    if default is not None and default in span:
        cross = {"marker": "X", "markersize": 7, "color": GREY}
        shown.append(("default", default, about["default_value"], cross, (7, -14)))
    for what, given, value, look, (beside, above) in shown:
        place, height = place_of(given), min(max(value, low), high)
        right = place <= middle
        ax.plot([place], [height], linestyle="none", zorder=3, **look)
        ax.annotate(f"{what}: {in_picture(given)}, {value:.3f}", (place, height), color=look["color"],
                    xytext=(beside if right else -beside, above), textcoords="offset points",
                    ha="left" if right else "right", bbox=label_box(ax), fontsize=9)  # fmt: skip
    if texts:
        counted = [f"{in_picture(choice)}\n{(chosen == at).sum()}" for at, choice in enumerate(span.choices)]
        ax.set_xticks(range(len(counted)), counted)
        ax.fmt_xdata = partial(name_at, range(len(counted)), counted)
        ax.set_xlim(-0.5, len(counted) - 0.5)
    how = "below: how often chosen" if texts else "marks: chosen"
    ax.set_xlabel(f"{in_picture(name)} ({how} without each of {len(study.folds):,} folds)")
    objective = about["objective"]
    units = {NRMSE: " (share of the range)", AGREED: " (share of pairs)", DEVIANCE: " (per answer)"}
    named = LABELS[objective].removeprefix("the share of ")
    ax.set_ylabel(f"{named}{units.get(plain_name(objective), '')}")
    return saved(titled(ax, f"Agreement with ratings by {in_picture(name)} · {what_was_rated(about)}"), path)


_TOGETHER = 128  # candidates scored per chunk
_SLICE = 81  # number of values of a parameter on its curve


@reported("repeats seed")
def fit(
    template: str | Callable[..., Any] | Template,
    ranges: Mapping[str, Any],
    rated: Rated,
    objective: str | None = None,
    default: Mapping[str, Any] | None = None,
    where: Callable[..., bool] | None = None,
    cv: int = 10,
    repeats: int = 10,
    most: int = 4000,
    seed: int = 0,
    cache_dir: str | Path | None = None,
    progress: bool = True,
    n_jobs: int = 1,
) -> Fit:
    """Fit parameters of a measure to ratings of lists or sessions, to preferences, or to correct and wrong answers.

    In-sample agreement is optimistic. The search is therefore repeated without each of ``cv`` folds, for ``repeats``
    partitions: parameters are chosen on the other folds and evaluated on the held-out fold. If users are known (column
    ``user``), all ratings of a user are in one fold, so that the held-out ratings are those of other users. The gain
    over the default is that of the fitted measures on held-out folds, with a t-test corrected for the overlap of folds
    (Nadeau and Bengio, 2003).

    Each candidate is scored once and is available to all folds.

    Of answers (:meth:`Rated.answers`), the default objective is the mean deviance −2·ln P of what happened, where
    P(correct) = 1/(1 + exp(−a − b·score)) and a and b have the highest likelihood: the fitted parameters have it as
    well. The AUC is reported beside it. A fold has all answers to its questions; a and b are those of the other folds.

    Parameters
    ----------
    template : str, callable or Template
        Text with a ``$name`` for each parameter, such as ``"TBG(half_life=$h)"`` or
        ``"CWLA(C='rr',A='err',gain='table({1:$r1,2:$r2})')"``, or a function of the parameters that returns a measure.
    ranges : mapping
        Range of each parameter by name: ``(low, high)`` for numbers, ``range(1, 301)`` for whole numbers, or a list of
        values. Numbers have four digits; their scale is logarithmic if high is at least 100 times low.
    rated : Rated
        Ratings or preferences.
    objective : str, optional
        Objective of the fit: "pearson", "spearman", "tau_b" or "nrmse", "agreement" for preferences, or "deviance" for
        answers; by default "pearson", "agreement" or "deviance"; the prefix ``"weighted_"``, as in
        ``"weighted_pearson"``, weights by the column ``n`` of the ratings. Each rating counts once without the prefix,
        and as often as its column ``n`` specifies with it, in sample and held out.
    default : mapping, optional
        Parameter values for comparison.
    where : callable, optional
        Condition on the parameters, such as ``lambda s1, s2: s1 <= s2``.
    cv : int from 2, default=10
        Number of folds of the cross-validation.
    repeats : int, default=10
        Number of partitions into folds, from 1.
    most : int, default=4000
        Maximum number of candidates, from 2.
    seed : int from 0, default=0
        Seed of the search and of the folds.
    cache_dir : str or Path, optional
        Folder that caches scores. Scores of measures with user-defined functions are cached only if the functions have
        a ``version=``.
    progress : bool, default=True
        Whether to show a progress bar of candidates. With numeric ranges, the search may end before the bar is full.
    n_jobs : int, default=1
        Number of parallel processes; ``-1`` for one per core. More than one pays off only if a candidate takes long to
        score (thousands of lists).

    Returns
    -------
    Fit

    Raises
    ------
    BadParameter
        If names do not match, if a range is invalid, or if the objective is not defined for the ratings.
    BadRatings
        If all ratings are the same, or if no pair has a preference.

    References
    ----------
    Jiang and Allan (2016), section 5.1, for parameters that maximise Pearson's r; Chapelle et al. (2009), section 7.1,
    for values of grades and of utility that maximise correlation or agreement.

    Examples
    --------
    >>> qrels = {q: {"a": 1, "b": 2} for q in "123456"}
    >>> lists = {"1": "ab", "2": "ba", "3": "a", "4": "b", "5": "xa", "6": "xb"}
    >>> run = {q: {d: -rank for rank, d in enumerate(docs)} for q, docs in lists.items()}
    >>> rated = Rated.lists(qrels, run, {"1": 4, "2": 5, "3": 2, "4": 4, "5": 1, "6": 2})
    >>> text = "CWLA(C='rbp($p)',A='erg',max_rel=2)"
    >>> found = fit(text, {"p": [0.2, 0.5, 0.8]}, rated, default={"p": 0.8}, cv=2, repeats=1, progress=False)
    >>> found.values, found.measure
    ({'p': 0.5}, CWLA(C='rbp(0.5)',A='erg',max_rel=2))
    """
    if not ranges:
        raise BadParameter("there is nothing to fit: give ranges=, such as {'h': (5, 500)}.")
    fitting = Fitting.checked(template, ranges, rated, objective, cv, repeats, seed)
    spans = {name: Range.parse(given, name) for name, given in ranges.items()}
    check_whole(2, most=most)
    _check_default(fitting.template, spans, default)
    pieces = Pieces({"study": "fit", "input": rated.fingerprint()}, cache_dir, progress, n_jobs)
    scored = _CandidateScores(fitting.template, rated, pieces)
    samples = np.concatenate([np.ones((len(rated), 1)), fitting.train], axis=1)
    search = Search(
        spans, lambda values: objective_values(fitting.objective, scored(values), rated, samples), where, most, seed
    )
    reached = _search(search, scored, default, progress)
    (best, *of_folds), found = search.best(), search.found
    numbers, of_fold = np.unique(of_folds, return_inverse=True)
    folds = fitting.folds(
        {name: [search.values[at][name] for at in of_folds] for name in spans},
        found[of_folds, np.arange(1, samples.shape[1])],
        scored([search.values[number] for number in numbers])[of_fold],
        default_scores := None if default is None else scored([dict(default)])[0],
    )
    values = search.values[best]
    measure = fitting.template.measure(values)
    about = {
        **fitting.about(measure, float(found[best, 0]), scored([values])[0], default and dict(default), default_scores),
        "less_is_better": where_less_is_better({repr(measure): measure}),
        "ranges": {name: str(span) for name, span in spans.items()},
        "candidates": len(search.values),
        "most_reached": reached,
    }
    candidates = pd.DataFrame(search.values).assign(value=sign_of(fitting.objective) * found[:, 0])
    return Fit(values, measure, spans, candidates, folds, about)


def _search(search: Search, scored: _CandidateScores, default: Mapping[str, Any] | None, progress: bool) -> bool:
    """Search, and score the curve of each parameter around the best candidate; return whether ``most`` was reached."""
    spans, most = search.ranges, search.most
    at_most = int(min(most + _SLICE * len(spans), float(np.prod([span.size for span in spans.values()]))))
    start = [dict(default)] if default and all(default[name] in span for name, span in spans.items()) else []
    with counted(progress, "fitting", at_most, "candidates") as scored.count:
        search.run(start)
        best = search.values[search.best()[0]]
        reached = len(search.values) >= most
        search.most = at_most
        search.try_values([{**best, name: v} for name, span in spans.items() for v in span.grid(_SLICE)])
    scored.count = None
    return reached


class _CandidateScores:
    """Scores of candidates, [candidates × ratings], computed in chunks and cached; negated where less is better."""

    def __init__(self, template: Template, rated: Rated, pieces: Pieces) -> None:
        self.template, self.rated, self.pieces = template, rated, pieces
        self.count: Callable[[int], Any] | None = None  # advances the progress bar

    def __call__(self, values: list[Values]) -> Array:
        measures = [self.template.measure(of) for of in values]  # in this process, which has the user's functions
        chunks = [pinned(measures[at : at + _TOGETHER]) for at in range(0, len(measures), _TOGETHER)]
        names = [self._name(chunk) for chunk in chunks]
        work = {name: partial(_scores, self.rated, chunk) for name, chunk in zip(names, chunks)}
        sizes = dict(zip(names, map(len, chunks)))
        found = {}
        for name, piece in self.pieces.done(work, lambda name: {"scores": ("f", (sizes[name], len(self.rated)))}):
            found[name] = piece["scores"]
            if self.count is not None:
                self.count(len(piece["scores"]))
        signs = np.array([sign_of_scores(measure) for measure in measures])
        return np.concatenate([found[name] for name in names]) * signs[:, None]

    def _name(self, measures: list[Measure]) -> str:
        """Return the cache key of measures. Measures that cannot be cached turn the cache off."""
        key = None if self.pieces.cache is None else key_in_cache(measures)
        if key is None:
            self.pieces.cache = None
        return key or fingerprint([repr(measure) for measure in measures])


def _scores(rated: Rated, measures: list[Measure]) -> Piece:
    with rated.shown.aligned.forgetting():
        scores = rated.scores({str(number): measure for number, measure in enumerate(measures)})
    return {"scores": np.ascontiguousarray(scores.to_numpy().T)}


def _check_default(template: Template, spans: Mapping[str, Range], default: Mapping[str, Any] | None) -> None:
    if default is None:
        return
    if set(default) != set(spans):
        raise BadParameter(f"default= must have a value for each of {', '.join(spans)}, not {dict(default)!r}.")
    for name, span in spans.items():
        if not span.choices and not isinstance(default[name], int | float | np.number):
            raise BadParameter(f"default of {name} must be a number, not {default[name]!r}.")
    template.measure(default)
