"""What agreement with users looks like: tables, pictures, and what may be concluded from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...errors import BadParameter, many, near
from ...errors.parameter_checks import check_whole
from ..coefficient_names import AGREED, LABELS, TESTED
from ..correlation import rounded
from ..report import Picture, Table
from ..study import Study
from .metric_grid import Grid
from .plots import drawn
from .ratings import Rated, why_left_out

_FEW_USERS = 20
_MOST_LEVELS = 9  # ratings that are shown one by one


@dataclass(frozen=True, eq=False, repr=False)
class UserAgreement(Study):
    """How well measures agree with users, as :func:`user_agreement` found it.

    ``table``: a row for each measure: of a grid its C and A; ``kind``, "X" where it scores all that was rated the same,
    "XX" where it is the same for all orders of the same documents; ``compared_with``; of each coefficient value,
    interval (``_low``, ``_high``), ``_p``, and ``_difference`` to what it is compared with, with the same; ``nrmse``.
    ``scores``: [ratings × measures].
    """

    always_tables = ("agreement",)

    rated: Rated
    scores: pd.DataFrame
    table: pd.DataFrame
    about: dict[str, Any]
    grid: Grid | None = None
    baseline: str | None = None
    order_free: str = "number"

    @property
    def title(self) -> str:  # type: ignore[override]
        return f"Agreement of {many(len(self.table), 'measure')} with {self._whose}"

    @property
    def coefficient(self) -> str:
        return self.about["coefficient"]

    @property
    def _whose(self) -> str:
        what = {"list": "rating", "session": "session rating", "pair": "preference"}[self.about["rated"]]
        users = self.about["users"]
        return many(self.about["ratings"], what) + (f" of {many(users, 'user')}" if users else "")

    @property
    def ranked(self) -> pd.DataFrame:
        """The measures that have the coefficient, best first."""
        return self.table[self.table[self.coefficient].notna()].sort_values(
            self.coefficient, ascending=False, kind="stable"
        )

    def marks(self, coefficient: str | None = None) -> pd.Series:
        """Of each measure "a" if others are compared with it, "b" if it is significantly better than what it is
        compared with, "c" if worse; in brackets if not after the correction for many comparisons.
        """
        name = f"{coefficient or self.coefficient}_difference"
        marks = pd.Series("", self.table.index, dtype=object)
        if name in self.table:
            letter = np.where(self.table[name] > 0, "b", "c")
            marks[:] = np.where(self.table[f"{name}_p"] <= self.about["alpha"], np.char.add("(", letter) + ")", "")
            certain = self.table[f"{name}_p_corrected"] <= self.about["alpha"]
            marks[certain] = letter[certain]
            marks[list(set(self.table["compared_with"].dropna()))] = "a"
        return marks

    def cells(self, coefficient: str | None = None) -> pd.DataFrame:
        """The coefficient of each C (rows) with each A (columns); NaN for X, and for XX if these are not shown."""
        return self._by_cell(self.table[coefficient or self.coefficient])

    def marked_cells(self, coefficient: str | None = None) -> pd.DataFrame:
        """The same as it is written in Tables 4 and 5 of Moffat et al. (2022): ``0.418 b``, X, XX.

        ``°`` is a number that does not depend on the order of the documents, which is otherwise written as XX.
        """
        hidden = self.table["kind"].where(self.table[coefficient or self.coefficient].isna(), "")
        numbers = self.table[coefficient or self.coefficient].map("{:.3f}".format).str.replace("-", "−")
        free = np.where(self.table["kind"] == "XX", "°", "")
        marked = (numbers + free + " " + self.marks(coefficient)).str.strip()
        return self._by_cell(marked.where(hidden == "", hidden))

    def _by_cell(self, values: pd.Series) -> pd.DataFrame:
        if self.grid is None:
            raise BadParameter("these are no cells of a grid: give user_agreement(rated, grid(…)).")
        shaped = values.to_numpy().reshape(len(self.grid.C), len(self.grid.A))
        return pd.DataFrame(shaped, pd.Index(self.grid.C, name="C"), pd.Index(self.grid.A, name="A"))

    def bands(self, measure: str, bins: int | None = None) -> pd.DataFrame:
        """Of each interval of a measure's scores the shares of the ratings, from the lowest to the highest.

        A row for each of up to ``bins`` intervals (without it ten, or fewer so that each has about fifteen ratings)
        with about as many ratings, but that equal scores stay together: ``low``, ``high``, ``mean`` (scores), ``n``
        ratings, and a column for each rating, or where there are more than nine for each fifth of them. Of pairs the
        columns are preferences: −1, 0, 1.

        Source: Moffat et al. (2022), Figures 1 and 3.
        """
        if measure not in self.scores:
            raise BadParameter(f"no measure is called {measure!r}. {near(str(measure), self.scores.columns)}")
        bins = min(10, max(2, len(self.scores) // 15)) if bins is None else bins
        check_whole(2, bins=bins)
        score = pd.Series(rounded(self.scores[measure]))
        if np.ptp(score) == 0:
            raise BadParameter(f"{measure} scores everything {score[0]:g}: there is nothing to draw.")
        ratings = pd.Series(self.rated.ratings)
        level: pd.Series = ratings if ratings.nunique() <= _MOST_LEVELS else pd.qcut(ratings, 5, duplicates="drop")
        place = (score.rank(method="average") - 0.5) / len(score)  # the middle of all that score the same
        bin_of = np.minimum((place * bins).astype(int), bins - 1)
        found = score.groupby(bin_of).agg(low="min", high="max", mean="mean", n="size").reset_index(drop=True)
        shares = pd.crosstab(bin_of, level, normalize="index").reset_index(drop=True)
        shares.columns = [f"{name:g}" if isinstance(name, float) else str(name) for name in shares]
        return found.join(shares)

    def tables(self) -> dict[str, Table]:
        at = self.table
        described = at[["C", "A", "kind"]] if self.grid is not None else at[["kind"]]
        parts = {"agreement": described.join(self._columns("", "_low", "_high", "_p"))}
        if "tau_b_difference" in at:
            ends = [f"_difference{end}" for end in ("", "_low", "_high", "_p", "_p_corrected")]
            parts["differences"] = at.loc[at["compared_with"].notna(), ["compared_with"]].join(self._columns(*ends))
        if "nrmse" in at:
            parts["prediction"] = at[["compared_with", *(c for c in at if c.startswith("nrmse"))]]
        captions = {
            "agreement": ("Agreement with users", f"{self._how} X: the same score for all that was rated."),
            "differences": ("Better and worse than what it is compared with", self._tests),
            "prediction": ("Errors of predicted ratings", self._prediction),
        }
        tables = {name: Table(*captions[name], frame.reset_index()) for name, frame in parts.items()}
        if self.grid is None:
            return tables
        name = LABELS[self.coefficient]
        shown = {"cells": Table(f"{name} of each C with each A", self._marked, self.marked_cells().reset_index())}
        return shown | tables

    def _columns(self, *ends: str) -> pd.DataFrame:
        names = [f"{name}{end}" for name in TESTED for end in ends]
        return self.table[[name for name in names if name in self.table]]

    @property
    def _how(self) -> str:
        level = f"{100 * self.about['confidence']:g} %"
        return f"{self._whose}; {level} intervals: {self.about['intervals']}, {self.about['resamples']:,} resamples."

    @property
    def _tests(self) -> str:
        pearson = "Williams' t for r, " if self.about["users"] is None else ""
        correction = self.about["correction"]
        after = f"; corrected ({correction}) for all comparisons of a coefficient" if correction else ""
        return f"{self._whose}; {pearson}infinitesimal jackknife over {self._units}{after}."

    @property
    def _units(self) -> str:
        return "ratings" if self.about["users"] is None else "users"

    @property
    def _prediction(self) -> str:
        mean = self.about.get("nrmse_of_the_mean", np.nan)
        return (
            f"{self._whose}; {self.about.get('nrmse')}; the mean rating alone has {mean:.3f}. p_t: paired t-test over"
            " folds, much too sure; p: corrected for folds that overlap (Nadeau and Bengio)."
        )

    @property
    def _marked(self) -> str:
        after = "; in brackets: not after the correction for all comparisons" if self.about["correction"] else ""
        free = "°: the same for all orders of the same documents" if self.order_free == "number" else ""
        return (
            f"{self._how} a: the canonical metric of its row; b: significantly better, c: worse than that"
            f" (level {self.about['alpha']:g}){after}. X: the same score for all that was rated"
            f"; {free or 'XX: the same for all orders of the same documents'}."
        )

    def pictures(self) -> dict[str, Picture]:
        return drawn(self)

    def findings(self) -> list[str]:
        best = self.ranked
        if best.empty:
            return ["No measure tells apart what was rated."]
        name = LABELS[self.coefficient]
        first, last = (self._with_interval(best.iloc[place]) for place in (0, -1))
        alike = int((best[self.coefficient] > best[self.coefficient].iloc[0] - 1e-10).sum()) - 1
        if alike:
            first += f", like {many(alike, 'other')} that score alike,"
        least = f"; {last} agrees least" if len(best) > 1 + alike else ""
        sentences = [f"{first} agrees best with users, by {name}{least}."]
        if self.coefficient != AGREED and best[f"{self.coefficient}_low"].iloc[0] <= 0:
            sentences[0] += " Its interval holds 0: by these ratings it may not agree with users at all."
        if f"{self.coefficient}_difference" in self.table:
            sentences += self._better()
        if "nrmse" in self.table:
            predicts, by_mean = self.table["nrmse"].idxmin(), self.about["nrmse_of_the_mean"]
            error = self.table.loc[predicts, "nrmse"]
            text = f"{predicts} predicts ratings best, with an NRMSE of {error:.3f}; the mean rating alone has"
            sentences.append(f"{text} {by_mean:.3f}" + (", which is no worse." if error >= by_mean else "."))
        if AGREED in self.table and self.coefficient != AGREED:
            row = self.table.loc[self.table[AGREED].idxmax()]
            sentences.append(
                f"{self._with_interval(row, AGREED)} is the highest share of preferences that differences of scores"
                " agree with (half is chance)."
            )
        return sentences

    def _better(self) -> list[str]:
        marks, name = self.marks(), f"{self.coefficient}_difference"
        tested = self.table[f"{name}_p"].notna()
        against = "the canonical metric of their row" if self.grid is not None else str(self.baseline)
        correction, of_all = self.about["correction"], many(int(tested.sum()), "measure")
        sentences = []
        for letter, than in (("b", "better"), ("c", "worse")):
            certain, any_ = marks == letter, marks.str.strip("()") == letter
            how = f"significantly {than} with users than {against}"
            if correction is None:
                text = f"{certain.sum()} of {of_all} agree {how}"
            elif not any_.any():
                text = f"None of {of_all} agrees {how}"
            else:
                text = (
                    f"{any_.sum()} of {of_all} agree {how}, {certain.sum()} of them after the correction ({correction})"
                    " for all comparisons"
                )
            sentences.append(f"{text}.")
        return sentences

    def _with_interval(self, row: pd.Series, name: str | None = None) -> str:
        name = name or self.coefficient
        return f"{row.name} ({row[name]:.3f} [{_ends(row, name)}])"

    def limits(self) -> list[str]:
        about, sentences = self.about, self._limits_of_users()
        if len(self.table) > 1:
            sentences.append(
                f"The best of {len(self.table)} measures owes some of its agreement to chance; only the tests that are"
                " corrected for all comparisons allow for their number."
            )
        if about["without_results"]:
            sentences.append(f"{many(about['without_results'], 'rating')} are of what has no results, and scores 0.")
        sentences += why_left_out(self.rated.left_out)
        constant = list(self.table.index[self.table["kind"] == "X"])
        if constant:
            named = ", ".join(constant[:4]) + (", …" if len(constant) > 4 else "")
            sentences.append(f"{many(len(constant), 'measure')} ({named}) score all that was rated the same: X.")
        short = self.table["resamples"][self.table[self.coefficient].notna()]
        if (short < about["resamples"]).any():
            sentences.append(
                f"{short.idxmin()} scores everything the same in {about['resamples'] - short.min():,} of"
                f" {about['resamples']:,} resamples, which its interval leaves out."
            )
        if "nrmse_difference_p_t" in self.table:
            sentences.append(
                "Errors of folds are not independent: the paired t-test over them (p_t) is much too sure. The corrected"
                " test (p) allows for what folds have in common, roughly, and"
                + (" not for what ratings of one user have." if about["users"] is None else " keeps users together.")
            )
        if self.rated.weights is not None:
            sentences.append(
                "Coefficients whose names begin with weighted_ count each rating n times; all others count it once."
            )
        if self.rated.what == "pair" and self.rated.table[["first", "second"]].stack().duplicated().any():
            sentences.append("Some lists are in several pairs, which are then not independent.")
        if AGREED in self.table:
            ties = float((self.rated.ratings == 0).mean())
            sentences.append(f"{ties:.0%} of the pairs have no preference: the share of agreement is of the others.")
            if np.ptp(self.rated.ratings) == 0:
                sentences.append("All preferences are for the same side: there are no correlations.")
        return sentences

    def _limits_of_users(self) -> list[str]:
        """What cannot be concluded because of who rated."""
        ratings, users = self.about["ratings"], self.about["users"]
        sentences = [f"{self._whose.capitalize()} say nothing of other users, tasks and lists than such as these."]
        if users is None and "user" in self.rated.table:
            sentences.append("All ratings are of one user: nothing is known of how others differ.")
        elif users is None:
            sentences.append(
                "Ratings count as independent: if users gave several, intervals are too short and p-values too small;"
                " give the ratings a column 'user'."
            )
        elif users < ratings:
            sentences.append(
                "Intervals and tests know which ratings are of one user, but not that several users rated the same"
                " lists or topics."
            )
        if users is not None and users < _FEW_USERS:
            sentences.append(f"{many(users, 'user')} are few to say anything of users with.")
        return sentences


def _ends(row: pd.Series, name: str, turned: bool = False) -> str:
    ends = [row[f"{name}_low"], row[f"{name}_high"]]
    return ", ".join(f"{end:.3f}" for end in ([-ends[1], -ends[0]] if turned else ends))
