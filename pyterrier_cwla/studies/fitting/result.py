"""Result of a fit: parameters, their uncertainty, and their gain on users who were not used for fitting."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from ir_measures.measures import Measure

from ...errors import BadParameter, many, near
from ...errors.sanitise import in_picture
from ...rendering.figures import GREY, SCORE, STAY, axes_of, label_box, titled
from ..coefficient_names import AGREED, LABELS, NRMSE, is_weighted, plain_name, with_weighted
from ..directions import why_negated
from ..report import Finding, Picture, Table
from ..study import Study
from ..template import Range, Values, parameters_text
from ..users.prediction import corrected_error, corrected_t_test
from ..users.ratings import title_of, what_was_rated, why_not_all

Array = np.ndarray

#: Display names of the objectives, which are maximised (NRMSE: minimised).
_PLAIN = {
    "pearson": "Pearson's r with the ratings",
    "spearman": "Spearman's ρ with the ratings",
    "tau_b": "Kendall's τ_b with the ratings",
    "nrmse": "the error of ratings predicted by linear regression (NRMSE)",
    "agreement": "the agreement with the preferences",
}
OBJECTIVES = {
    name: _PLAIN[plain_name(name)] + (", weighted by n" if is_weighted(name) else "") for name in with_weighted(_PLAIN)
}
_NEARLY = {NRMSE: 0.001}  # negligible differences of the objective; 0.005 for all other objectives


def sign_of(objective: str) -> int:
    """Return −1 for errors, which are minimised, and 1 for other objectives, which are maximised."""
    return -1 if plain_name(objective) == NRMSE else 1


def gain_over_default(folds: pd.DataFrame, about: dict[str, Any]) -> dict[str, float] | None:
    """Return the gain over the default in sample, and on held-out folds: mean, 95 % interval and p.

    Parameters
    ----------
    folds : DataFrame
        A row for each fold, with the columns ``held_out`` and ``default``; without ``default``, the result is None.
    about : dict
        Settings of the fit: ``objective``, ``folds``, ``value`` and ``default_value``.
    """
    if "default" not in folds:
        return None
    sign = sign_of(about["objective"])
    difference = sign * (folds["held_out"] - folds["default"]).dropna().to_numpy()
    mean = reach = p = np.nan
    if len(difference):
        mean = float(difference.mean())
    if len(difference) > 1:
        from scipy.stats import t as student

        share = 1 / (about["folds"] - 1)  # n_test/n_train
        reach = float(student.ppf(0.975, len(difference) - 1) * corrected_error(difference, share))
        p = float(corrected_t_test(difference, share))
    in_sample = sign * (about["value"] - about["default_value"])
    return {"in_sample": in_sample, "held_out": mean, "low": mean - reach, "high": mean + reach, "p": p}


def beside_default(gain: dict[str, float], default: str, about: dict[str, Any]) -> str:
    """Return the end of a headline: whether a fit is better than the default on held-out folds."""
    held_out = f"on held-out {about['folds_by']}s"
    if gain["low"] > 0:
        return f", and {held_out} it is better than the default, {default}, by {gain['held_out']:.2f}."
    if gain["high"] < 0:
        return f", but {held_out} it is worse than the default, {default}."
    return f", but whether it is better than the default, {default}, {held_out} is undecided."


def gain_sentence(gain: dict[str, float], default: str, about: dict[str, Any]) -> str:
    """Return the finding about the gain over the default."""
    return (
        f"The default ({default}) has {about['default_value']:.3f} there:"
        f" the gain is {gain['in_sample']:+.3f} on the ratings used for fitting, and {gain['held_out']:+.3f} on"
        f" held-out {about['folds_by']}s (95 % interval {gain['low']:+.3f} to {gain['high']:+.3f},"
        f" p = {gain['p']:.3f})."
    )


@dataclass(frozen=True, eq=False, repr=False)
class Fit(Study):
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

    always_tables = ("summary", "parameters", "folds", "candidates")

    values: Values
    measure: Measure
    ranges: dict[str, Range]
    candidates: pd.DataFrame
    folds: pd.DataFrame
    about: dict[str, Any]

    @property
    def title(self) -> str:  # type: ignore[override]
        """Title of the report."""
        ratings = many(self.about["ratings"], "rating")
        return f"Fit of {', '.join(self.values)} to {ratings}: {parameters_text(self.values)}"

    @property
    def gain(self) -> dict[str, float] | None:
        """Gain over the default in sample, and on held-out folds: mean, 95 % interval and p. None without default."""
        return gain_over_default(self.folds, self.about)

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
        if name not in self.ranges:
            raise BadParameter(f"no fitted parameter {name!r}. {near(name, self.ranges)}")
        rows = self.candidates
        for other in self.ranges:
            rows = rows if other == name else rows[rows[other] == self.values[other]]
        order = None if are_numbers(rows[name]) else lambda column: column.map(self.ranges[name].choices.index)
        return rows[[name, "value"]].sort_values(name, key=order, ignore_index=True)

    def parameters(self) -> pd.DataFrame:
        """Return a row for each parameter: its fitted value, its distribution over folds, and nearly optimal values.

        ``folds_low``, ``folds_median`` and ``folds_high`` are the 5 % quantile, median and 95 % quantile over folds.
        ``nearly_low`` and ``nearly_high`` are the lowest and highest value among all candidates whose objective is
        within 0.005 (NRMSE: 0.001) of the best, for any values of the other parameters. A column with numbers and texts
        is converted to texts.
        """
        return _one_kind(pd.DataFrame(self._rows()))

    def _rows(self) -> list[dict[str, Any]]:
        sign = sign_of(self.about["objective"])
        worth = sign * self.candidates["value"]
        nearly = self.candidates[worth >= worth.max() - self._nearly]
        rows = []
        for name in self.ranges:
            fitted, numbers = self.folds[name].dropna(), are_numbers(self.candidates[name])
            low, middle, high = fitted.quantile([0.05, 0.5, 0.95]) if numbers else (None, _most(fitted), None)
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
        return rows

    def tables(self) -> dict[str, Table]:
        """Return the tables of the report by file name."""
        where = self._where()
        summary = [("fitted", parameters_text(self.values), self.about["value"], self.folds["held_out"].mean())]
        if self.gain is not None:
            default = parameters_text(self.about["default"])
            summary.append(("default", default, self.about["default_value"], self.folds["default"].mean()))
        return {
            "summary": Table(
                f"{OBJECTIVES[self.about['objective']].capitalize()}", f"Held out: means of folds. {where}",
                pd.DataFrame(summary, columns=["measure", "parameters", "in_sample", "held_out"]),
            ),
            "parameters": Table(
                "Parameters",
                f"Nearly best: values within {self._nearly} of the best on all ratings. {where}",
                self.parameters(),
            ),
            "folds": Table("Parameters chosen without each fold, evaluated on it", where, _one_kind(self.folds)),
            "candidates": Table("All candidates", f"The objective on all ratings. {where}", _one_kind(self.candidates)),
        }  # fmt: skip

    def pictures(self) -> dict[str, Picture]:
        """Return the pictures of the report by file name."""
        return {
            f"parameter_{number}": Picture(
                f"{OBJECTIVES[self.about['objective']].capitalize()} along {name}",
                f"Other parameters as fitted; marks at the bottom: values chosen without each of"
                f" {many(len(self.folds), 'fold')}. {self._where()}",
                partial(plot_parameter, self, name),
                _one_kind(self.curve(name)),
            )
            for number, name in enumerate(self.ranges, 1)
            if len(self.curve(name)) > 1
        }

    def headline(self) -> str:
        """Return what was found, in one sentence."""
        values, objective = parameters_text(self.values), LABELS[self.about["objective"]]
        said = f"{values} fits the ratings best ({objective} {self.about['value']:.2f})"
        gain = self.gain
        if gain is None:
            return f"{said}."
        return said + beside_default(gain, parameters_text(self.about["default"]), self.about)

    def findings(self) -> list[str]:
        """Return the findings, one sentence each."""
        what = OBJECTIVES[self.about["objective"]]
        drawn = {name: f"parameter_{number}" for number, name in enumerate(self.ranges, 1)}
        first = next(iter(drawn.values()), None)
        found: list[str] = [
            Finding(f"{self.measure} has {what} {self.about['value']:.3f} on the {self._where().rstrip('.')}.", first)
        ]
        gain = self.gain
        if gain is not None:
            sentence = gain_sentence(gain, parameters_text(self.about["default"]), self.about)
            found.append(Finding(sentence, first))
        folds = many(len(self.folds), "fold")
        for row in self._rows():
            name, fitted = row["parameter"], row["fitted"]
            if are_numbers(self.candidates[name]):
                sentence = (
                    f"{name} = {fitted:.4g}; fitted without one fold at a time, {row['folds_low']:.4g} to"
                    f" {row['folds_high']:.4g} (90 % of {folds}); values from {row['nearly_low']:.4g} to"
                    f" {row['nearly_high']:.4g} are within {self._nearly} of the best."
                )
            else:
                share = (self.folds[name] == fitted).mean()
                sentence = (
                    f"{name} = {fitted}, also chosen in {share:.0%} of the fits without one of {folds}; values within"
                    f" {self._nearly} of the best: {row['nearly_low']}."
                )
            found.append(Finding(sentence, drawn[name]))
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
        unchosen = self.folds["chosen_by"].isna()
        lost = int((self.folds["held_out"].isna() & ~unchosen).sum())
        if unchosen.any():
            said_limits.append(
                f"Ratings or scores are constant without {many(int(unchosen.sum()), 'fold')}: no parameters are chosen"
                " there, and these folds do not count."
            )
        if lost:
            said_limits.append(f"Ratings or scores are constant on {many(lost, 'fold')}: these folds do not count.")
        if self.about["most_reached"]:
            said_limits.append(f"The search stopped after {many(self.about['candidates'], 'candidate')} (most=).")
        return said_limits + why_negated(self.about["less_is_better"]) + why_not_all(self.about)

    @property
    def _nearly(self) -> float:
        return _NEARLY.get(plain_name(self.about["objective"]), 0.005)

    def _where(self) -> str:
        folds = f"{self.about['repeats']} × {self.about['folds']} folds by {self.about['folds_by']}"
        return f"{what_was_rated(self.about)}; {folds}, seed {self.about['seed']}."


def are_numbers(column: pd.Series) -> bool:
    """Return whether a parameter is numeric and has quantiles; booleans are categories."""
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def _most(values: pd.Series) -> Any:
    """Return the most frequent value, or None if there is none."""
    return next(iter(values.value_counts().index), None)


def _one_kind(frame: pd.DataFrame) -> pd.DataFrame:
    """Convert columns of mixed types to texts, because files cannot store them."""
    mixed = [name for name in frame if frame[name].dtype == object]
    return frame.assign(**{name: frame[name].map(str, na_action="ignore") for name in mixed})


def plot_parameter(study: Any, name: str, ax: Any = None) -> Any:
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

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_of(ax)
    curve = study.curve(name)
    span, fitted, value = study.ranges[name], study.values[name], study.about["value"]
    texts = not are_numbers(curve[name])
    order = list(span.choices)
    x = curve[name].map(order.index) if texts else curve[name]
    chosen = study.folds[name].dropna()
    chosen = chosen.map(order.index) if texts else chosen
    curve = curve.assign(x=x.astype(float)).sort_values("x")
    if span.log:
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter("{x:g}")
    ax.plot(curve["x"], curve["value"], "o" if texts else "-", color=STAY, linewidth=1.8)
    low, high = float(curve["value"].min()), float(curve["value"].max())
    room = max(high - low, 1e-6)
    ax.set_ylim(low - 0.14 * room, high + 0.2 * room)
    if not texts:
        marks = np.full(len(chosen), low - 0.09 * room)
        ax.plot(chosen.astype(float), marks, "|", color=GREY, markersize=9, alpha=0.7, zorder=1)
    here = order.index(fitted) if texts else fitted
    ax.plot([here], [value], "o", color=SCORE, markersize=6, zorder=3)
    middle = (curve["x"].min() * curve["x"].max()) ** 0.5 if span.log else (curve["x"].min() + curve["x"].max()) / 2
    left = here <= middle
    ax.annotate(f"fitted: {in_picture(fitted)}, {value:.3f}", (here, value), xytext=(6 if left else -6, 6), color=SCORE,
                textcoords="offset points", ha="left" if left else "right", bbox=label_box(ax), fontsize=9)  # fmt: skip
    default = (study.about["default"] or {}).get(name)
    if default is not None and default in span:
        place, height = (order.index(default) if texts else default), study.about["default_value"]
        height = min(max(height, low), high)
        ax.plot([place], [height], "X", color=GREY, markersize=7, zorder=3)
        right = place <= middle
        ax.annotate(f"default: {in_picture(default)}, {study.about['default_value']:.3f}", (place, height), color=GREY,
                    xytext=(7 if right else -7, -14), textcoords="offset points", ha="left" if right else "right",
                    bbox=label_box(ax), fontsize=9)  # fmt: skip
    if texts:
        counted = [f"{in_picture(choice)}\n{(chosen == at).sum()}" for at, choice in enumerate(order)]
        ax.set_xticks(range(len(order)), counted)
        ax.set_xlim(-0.5, len(order) - 0.5)
    how = "below: how often chosen" if texts else "marks: chosen"
    ax.set_xlabel(f"{in_picture(name)} ({how} without each of {len(study.folds):,} folds)")
    objective = study.about["objective"]
    unit = {NRMSE: " (share of the range)", AGREED: " (share of pairs)"}.get(plain_name(objective), "")
    ax.set_ylabel(f"{LABELS[objective].removeprefix('the share of ')}{unit}")
    return titled(ax, f"Agreement with ratings by {in_picture(name)} · {title_of(study.about)}")
