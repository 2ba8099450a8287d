"""Result of a learned discount: its values with intervals, and its gain on users who were not used for fitting."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from ir_measures.measures import Measure

from ...errors import many
from ...errors.sanitise import in_picture
from ...rendering.figures import GREY, STAY, axes_of, titled
from ...rendering.labels import key
from ..coefficient_names import AGREED, LABELS, plain_name
from ..report import Finding, Picture, Table
from ..study import Study
from ..users.ratings import how_resampled, title_of, what_was_rated, why_not_all
from .result import OBJECTIVES, beside_default, gain_over_default, gain_sentence

_SHOWN = 5  # values of φ in a sentence


@dataclass(frozen=True, eq=False, repr=False)
class DiscountFit(Study):
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

    always_tables = ("summary", "discounts", "folds")
    always_pictures = ("discounts",)

    measure: Measure
    discounts: pd.DataFrame
    folds: pd.DataFrame
    about: dict[str, Any]

    @property
    def title(self) -> str:  # type: ignore[override]
        """Title of the report."""
        ranks = many(self.about["depth"], "rank")
        return f"Discount of {ranks} learned from {many(self.about['ratings'], 'rating')}: {self.phi}"

    @property
    def phi(self) -> str:
        """Learned discount as text, ``"table(1,0.6,0.4)"``, for ``phi=`` of ``Cascade`` and for ``utility(…)``."""
        return f"table({','.join(f'{value:.4g}' for value in self.discounts['phi'])})"

    @property
    def gain(self) -> dict[str, float] | None:
        """Gain over the default in sample, and on held-out folds: mean, 95 % interval and p. None without default."""
        return gain_over_default(self.folds, self.about)

    def tables(self) -> dict[str, Table]:
        """Return the tables of the report by file name."""
        summary = [("learned", self.phi, self.about["value"], self.folds["held_out"].mean())]
        if self.gain is not None:
            both = self.folds.dropna(subset=["held_out"])
            default = self.about["default"], self.about["default_value"], both["default"].mean()
            summary.append(("default", *default))
        where = self._where()
        return {
            "summary": Table(
                f"{OBJECTIVES[self.about['objective']].capitalize()}",
                f"Held out: means of the folds for which φ was learned. {where}",
                pd.DataFrame(summary, columns=["measure", "discount", "in_sample", "held_out"]),
            ),
            "discounts": Table(
                "Discount φ of each rank",
                f"The highest value is 1. {how_resampled(self.about)}",
                self.discounts,
            ),
            "folds": Table("φ learned without each fold, evaluated on it", where, self.folds),
        }  # fmt: skip

    def pictures(self) -> dict[str, Picture]:
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
        gain = self.gain
        return f"{said}." if gain is None else said + beside_default(gain, self.about["default"], self.about)

    def findings(self) -> list[str]:
        """Return the findings, one sentence each."""
        what = OBJECTIVES[self.about["objective"]]
        sentence = f"{self.measure} has {what} {self.about['value']:.3f} on the {self._where().rstrip('.')}."
        found: list[str] = [Finding(sentence, "discounts")]
        gain = self.gain
        if gain is not None:
            found.append(Finding(gain_sentence(gain, self.about["default"], self.about), "discounts"))
        rows = self.discounts.head(_SHOWN).itertuples()
        values = ", ".join(f"φ({row.rank}) = {row.phi:.3g} [{row.phi_low:.3g}, {row.phi_high:.3g}]" for row in rows)
        more = " and so on" if len(self.discounts) > _SHOWN else ""
        found.append(Finding(f"{values}{more} ({self.about['confidence']:.0%} intervals).", "discounts"))
        return found

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
        held = (np.flatnonzero(equal | (phi == 0)) + 1).astype(str)
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
        lost = self.about["without_result"]
        if lost:
            said_limits.append(f"No φ agrees with {many(lost, 'resample')}, which the intervals leave out.")
        missing = int(self.folds["held_out"].isna().sum())
        if missing:
            said_limits.append(f"{many(missing, 'fold')} have no value: φ or the correlation is not defined there.")
        return said_limits + why_not_all(self.about)

    def _where(self) -> str:
        folds = f"{self.about['repeats']} × {self.about['folds']} folds by {self.about['folds_by']}"
        return f"{what_was_rated(self.about)}; {folds}, seed {self.about['seed']}."


def plot_discount(study: Any, ax: Any = None) -> Any:
    """Plot the learned discount over ranks, with its intervals and the default.

    ``study.discounts`` has the numbers.

    Parameters
    ----------
    study : DiscountFit
        Study to plot.
    ax : matplotlib Axes, optional
        By default new axes.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_of(ax)
    rows = study.discounts
    ax.fill_between(rows["rank"], rows["phi_low"], rows["phi_high"], color=STAY, alpha=0.2, linewidth=0)
    ax.plot(rows["rank"], rows["phi"], "o-", color=STAY, linewidth=1.8, markersize=5)
    looks = {"learned, with interval": {"color": STAY, "marker": "o", "linestyle": "-"}}
    if "default" in rows:
        ax.plot(rows["rank"], rows["default"], "--", color=GREY, linewidth=1.2)
        looks[in_picture(str(study.about["default"]))] = {"color": GREY, "linestyle": "--"}
    ax.set_ylim(bottom=0)
    ax.set_xlim(0.5, len(rows) + 0.5)
    step = int(np.ceil(len(rows) / 10))
    ax.set_xticks(rows["rank"][::step])
    ax.set_xlabel("rank (documents)")
    ax.set_ylabel("discount φ (highest = 1)")
    titled(ax, f"Learned discount · {title_of(study.about)}")
    key(ax, looks)
    return ax
