"""Numbers of a study of agreement with users: coefficients, marks of comparisons, and shares of ratings by score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...errors import BadParameter, many, near
from ...errors.parameter_checks import check_whole
from ..correlation import rounded
from ..study import Study
from .metric_grid import Grid
from .pair_labels import from_labels
from .ratings import Rated

_MOST_LEVELS = 9  # maximum number of distinct ratings that are not binned


@dataclass(frozen=True, eq=False, repr=False)
class AgreementNumbers(Study):
    """Numbers of a study, without tables and pictures; :class:`UserAgreement` describes the attributes."""

    rated: Rated
    scores: pd.DataFrame
    table: pd.DataFrame
    about: dict[str, Any]
    grid: Grid | None = None
    baseline: str | None = None
    order_free: str = "number"

    @property
    def coefficient(self) -> str:
        """Name of the coefficient in pictures and findings."""
        return self.about["coefficient"]

    @property
    def _whose(self) -> str:
        what = {"list": "rating", "session": "session rating", "pair": "preference"}[self.about["rated"]]
        users = self.about["users"]
        labels = from_labels(self.about["labels"])
        return many(self.about["ratings"], what) + labels + (f" of {many(users, 'user')}" if users else "")

    @property
    def ranked(self) -> pd.DataFrame:
        """Rows of the measures for which the coefficient is defined, best first."""
        return self.table[self.table[self.coefficient].notna()].sort_values(
            self.coefficient, ascending=False, kind="stable"
        )

    def marks(self, coefficient: str | None = None) -> pd.Series:
        """Return the mark of each measure in comparisons.

        "a" is a reference of comparisons, "b" a measure that is significantly better than its reference, and "c" one
        that is worse. Brackets mark differences that are not significant after the correction for multiple comparisons.
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
        """Return the coefficient of each C (rows) with each A (columns); NaN for X and hidden XX."""
        return self._by_cell(self.table[coefficient or self.coefficient])

    def marked_cells(self, coefficient: str | None = None) -> pd.DataFrame:
        """Return the cells as texts with marks, as in Tables 4 and 5 of Moffat et al. (2022): ``0.418 b``, X, XX.

        ``°`` marks a number that does not depend on the order of the documents, if such cells are not shown as XX.
        """
        hidden = self.table["kind"].where(self.table[coefficient or self.coefficient].isna(), "")
        numbers = self.table[coefficient or self.coefficient].map("{:.3f}".format).str.replace("-", "−")
        free = np.where(self.table["kind"] == "XX", "°", "")
        marked = (numbers + free + " " + self.marks(coefficient)).str.strip()
        return self._by_cell(marked.where(hidden == "", hidden))

    def _by_cell(self, values: pd.Series) -> pd.DataFrame:
        if self.grid is None:
            raise BadParameter("the measures are not a grid: use user_agreement(rated, grid(…)).")
        shaped = values.to_numpy().reshape(len(self.grid.C), len(self.grid.A))
        return pd.DataFrame(shaped, pd.Index(self.grid.C, name="C"), pd.Index(self.grid.A, name="A"))

    def bands(self, measure: str, bins: int | None = None) -> pd.DataFrame:
        """Return the shares of ratings at each level, for ascending intervals of a measure's scores.

        Parameters
        ----------
        measure : str
            Name of the measure.
        bins : int, optional
            Maximum number of intervals, from 2. By default ten, or fewer so that each has about fifteen ratings.

        Returns
        -------
        DataFrame
            A row for each interval. Intervals have about the same number of ratings, but equal scores are not
            separated. Columns are ``low``, ``high`` and ``mean`` of the scores, ``n`` (number of ratings), and one
            column for each rating. More than nine distinct ratings are binned into fifths. For pairs, the columns are
            the preferences −1, 0 and 1.

        Raises
        ------
        BadParameter
            If there is no such measure, or if it gives the same score to all rated items.

        References
        ----------
        Moffat et al. (2022), Figures 1 and 3.
        """
        if measure not in self.scores:
            raise BadParameter(f"no measure is called {measure!r}. {near(str(measure), self.scores.columns)}")
        bins = min(10, max(2, len(self.scores) // 15)) if bins is None else bins
        check_whole(2, bins=bins)
        score = pd.Series(rounded(self.scores[measure]))
        if np.ptp(score) == 0:
            raise BadParameter(f"all rated items have the score {score[0]:g} by {measure}: there is nothing to draw.")
        ratings = pd.Series(self.rated.ratings)
        level: pd.Series = ratings if ratings.nunique() <= _MOST_LEVELS else pd.qcut(ratings, 5, duplicates="drop")
        place = (score.rank(method="average") - 0.5) / len(score)  # equal scores share their middle position
        bin_of = np.minimum((place * bins).astype(int), bins - 1)
        found = score.groupby(bin_of).agg(low="min", high="max", mean="mean", n="size").reset_index(drop=True)
        shares = pd.crosstab(bin_of, level, normalize="index").reset_index(drop=True)
        shares.columns = [f"{name:g}" if isinstance(name, float) else str(name) for name in shares]
        return found.join(shares)

    @property
    def _how(self) -> str:
        level = f"{100 * self.about['confidence']:g} %"
        return f"{self._whose}; {level} intervals: {self.about['intervals']}, {self.about['resamples']:,} resamples."

    @property
    def _marked(self) -> str:
        after = "; in brackets: not significant after the correction" if self.about["correction"] else ""
        free = "°: the same for all orders of the same documents" if self.order_free == "number" else ""
        return (
            f"{self._how} a: the canonical metric of the row; b: significantly better than a, c: significantly worse"
            f" (level {self.about['alpha']:g}){after}. X: the same score for all rated items"
            f"; {free or 'XX: the same for all orders of the same documents'}."
        )
