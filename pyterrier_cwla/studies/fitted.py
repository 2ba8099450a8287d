"""What a fit found: parameters, how sure they are, and what they gain on users who were not fitted to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from ir_measures.measures import Measure

from ..errors import many
from .prediction import corrected_t_test
from .rated import why_left_out
from .study import Picture, Study, Table
from .template import Range, Values, said

Array = np.ndarray

#: What can be made as large as possible (NRMSE: as small), as a sentence names it.
OBJECTIVES = {
    "pearson": "Pearson's r with the ratings",
    "spearman": "Spearman's ρ with the ratings",
    "tau_b": "Kendall's τ_b with the ratings",
    "nrmse": "the error of ratings predicted by linear regression (NRMSE)",
    "agreement": "the agreement with the preferences",
}
_NEARLY = {"nrmse": 0.001}  # differences of the objective that hardly matter; others: 0.005


@dataclass(frozen=True, eq=False, repr=False)
class Fit(Study):
    """Fitted parameters of a measure: what :func:`pyterrier_cwla.studies.fitting.fit` found.

    ``values``: the parameters · ``measure``: the measure with them, to be used like any other · ``candidates``: all
    that were tried, with the objective on all ratings (``value``) · ``folds``: of each fold what was chosen without it
    (``chosen_by``, the objective there) and how good it is on the fold (``held_out``), and the default.
    """

    values: Values
    measure: Measure
    ranges: dict[str, Range]
    candidates: pd.DataFrame
    folds: pd.DataFrame
    about: dict[str, Any]

    @property
    def title(self) -> str:  # type: ignore[override]
        return f"Fit of {', '.join(self.values)} to {many(self.about['ratings'], 'rating')}: {said(self.values)}"

    @property
    def gain(self) -> dict[str, float] | None:
        """How much better than the default: ``in_sample``, and on held-out folds their mean, its 95 % interval, p."""
        if "default" not in self.folds:
            return None
        sign = -1 if self.about["objective"] == "nrmse" else 1
        difference = sign * (self.folds["held_out"] - self.folds["default"]).dropna().to_numpy()
        mean, error, free = _corrected(difference, 1 / (self.about["folds"] - 1))
        from scipy.stats import t as student

        reach = float(student.ppf(0.975, free)) * error if free > 0 else np.nan
        return {
            "in_sample": sign * (self.about["value"] - self.about["default_value"]),
            "held_out": mean,
            "low": mean - reach,
            "high": mean + reach,
            "p": float(corrected_t_test(difference, 1 / (self.about["folds"] - 1))) if free > 0 else np.nan,
        }

    def curve(self, name: str) -> pd.DataFrame:
        """The objective on all ratings along a parameter, the others as fitted."""
        others = [other for other in self.ranges if other != name]
        rows = (self.candidates[others] == pd.Series({o: self.values[o] for o in others})).all(axis=1)
        return self.candidates.loc[rows, [name, "value"]].sort_values(name, ignore_index=True)

    def parameters(self) -> pd.DataFrame:
        """Of each parameter what was fitted, its spread over folds (5 %, median, 95 %), and what is nearly as good.

        ``nearly_low`` and ``nearly_high``: the lowest and highest value among all candidates whose objective is within
        0.005 (NRMSE: 0.001) of the best, whatever the other parameters are.
        """
        sign = -1 if self.about["objective"] == "nrmse" else 1
        worth = sign * self.candidates["value"]
        nearly = self.candidates[worth >= worth.max() - self._nearly]
        rows = []
        for name in self.ranges:
            fitted, numbers = self.folds[name], pd.api.types.is_numeric_dtype(self.folds[name])
            low, middle, high = fitted.quantile([0.05, 0.5, 0.95]) if numbers else (None, fitted.mode()[0], None)
            rows.append(
                {
                    "parameter": name,
                    "fitted": self.values[name],
                    "default": (self.about["default"] or {}).get(name),
                    "folds_low": low,
                    "folds_median": middle,
                    "folds_high": high,
                    "nearly_low": nearly[name].min() if numbers else ", ".join(map(str, nearly[name].unique())),
                    "nearly_high": nearly[name].max() if numbers else None,
                }
            )
        return pd.DataFrame(rows)

    def tables(self) -> dict[str, Table]:
        where = self._where()
        gain = self.gain
        summary = {
            "measure": ["fitted"],
            "parameters": [said(self.values)],
            "in_sample": [self.about["value"]],
            "held_out": [self.folds["held_out"].mean()],
        }
        if gain is not None:
            summary["measure"].append("default")
            summary["parameters"].append(said(self.about["default"]))
            summary["in_sample"].append(self.about["default_value"])
            summary["held_out"].append(self.folds["default"].mean())
        return {
            "summary": Table(
                f"{OBJECTIVES[self.about['objective']].capitalize()}", f"Held out: means of folds. {where}",
                pd.DataFrame(summary),
            ),
            "parameters": Table(
                "Parameters",
                f"Nearly as good: within {self._nearly} of the best on all ratings. {where}",
                self.parameters(),
            ),
            "folds": Table("What was chosen without each fold, and how good it is there", where, self.folds),
            "candidates": Table("All candidates", f"The objective on all ratings. {where}", self.candidates),
        }  # fmt: skip

    def pictures(self) -> dict[str, Picture]:
        from .fitting_plots import plot_parameter

        return {
            f"parameter_{name}": Picture(
                f"{OBJECTIVES[self.about['objective']].capitalize()} along {name}",
                f"Other parameters as fitted; marks below: what was chosen without each of"
                f" {many(len(self.folds), 'fold')}. {self._where()}",
                partial(_draw, plot_parameter, self, name),
                self.curve(name),
            )
            for name, span in self.ranges.items()
            if len(self.curve(name)) > 1
        }

    def findings(self) -> list[str]:
        what = OBJECTIVES[self.about["objective"]]
        found = [f"{self.measure} has {what} {self.about['value']:.3f} on the {self._where().rstrip('.')}."]
        gain = self.gain
        if gain is not None:
            found.append(
                f"The default ({said(self.about['default'])}) has {self.about['default_value']:.3f} there: the gain is"
                f" {gain['in_sample']:+.3f} on the ratings that it was chosen by, and {gain['held_out']:+.3f} on"
                f" held-out {self.about['folds_by']}s (95 % interval {gain['low']:+.3f} to {gain['high']:+.3f},"
                f" p = {gain['p']:.3f})."
            )
        folds = many(len(self.folds), "fold")
        for row in self.parameters().itertuples():
            if pd.api.types.is_numeric_dtype(self.folds[row.parameter]):
                found.append(
                    f"{row.parameter} = {row.fitted:g}; without single folds {row.folds_low:g} to {row.folds_high:g}"
                    f" (90 % of {folds}); values from {row.nearly_low:g} to {row.nearly_high:g} come within"
                    f" {self._nearly} of the best."
                )
            else:
                share = (self.folds[row.parameter] == row.fitted).mean()
                found.append(
                    f"{row.parameter} = {row.fitted}, chosen also without {share:.0%} of {folds}; within {self._nearly}"
                    f" of the best come {row.nearly_low}."
                )
        return found

    def limits(self) -> list[str]:
        said_limits = [
            "The value on all ratings is that of the best of"
            f" {many(self.about['candidates'], 'candidate')}, chosen by the same ratings: it is too good.",
            "Held-out values are means over small folds; compare them with each other, not with those on all ratings.",
        ]
        for name, span in self.ranges.items():
            if not span.choices and self.values[name] in (span.low, span.high):
                said_limits.append(f"{name} is at an end of its range ({span}): the best may lie beyond.")
        lost = int(self.folds["held_out"].isna().sum())
        if lost:
            said_limits.append(f"Ratings or scores do not vary on {many(lost, 'fold')}, which do not count.")
        if self.about["most_reached"]:
            said_limits.append(f"The search ended after {many(self.about['candidates'], 'candidate')} (most=).")
        return said_limits + why_left_out(self.about["left_out"])

    @property
    def _nearly(self) -> float:
        return _NEARLY.get(self.about["objective"], 0.005)

    def _where(self) -> str:
        users = self.about["users"]
        of = "" if users is None else f" of {many(users, 'user')}"
        folds = f"{self.about['repeats']} × {self.about['folds']} folds by {self.about['folds_by']}"
        rated = many(self.about["ratings"], f"rated {self.about['what']}")
        return f"{rated}{of}; {folds}, seed {self.about['seed']}."


def _corrected(differences: Array, share: float) -> tuple[float, float, int]:
    """Mean, standard error and degrees of freedom of differences on folds that share what they were chosen by."""
    J = len(differences)
    if J < 2:
        return float(differences.mean()) if J else np.nan, np.nan, 0
    return float(differences.mean()), float(np.sqrt((1 / J + share) * differences.var(ddof=1))), J - 1


def _draw(plot: Callable[..., Any], study: Fit, name: str, ax: Any = None) -> Any:
    return plot(study, name, ax)
