"""Result of a study of robustness to missing judgments: tables, pictures and findings."""

from __future__ import annotations

import pandas as pd

from ...errors import many
from ..correlation import TAUS
from ..report import Picture, Table
from .findings import findings, headline, limits
from .missing_judgments import Depths
from .plots import pictures
from .robustness_numbers import RobustnessNumbers
from .system_order import KNEE


class Robustness(RobustnessNumbers):
    """Effect of missing judgments on the order of runs and on tests between runs.

    The result of :func:`robustness` and :func:`robustness_to_depth`.

    Attributes
    ----------
    holes : Fractions or Depths
        Levels of judgments.
    measures : dict of str to Measure
        Measures by name.
    runs : list of str
        Names of the runs.
    order : Orders
        Orders of the runs at each level.
    tests : PairTests or None
        Tests of pairs of runs, None if none were tested.
    about : dict
        Settings, sizes and hash of the input.
    """

    always_tables = ("order", "knees_of_order", "differences", "rankings")
    always_pictures = ("order",)

    @property
    def title(self) -> str:  # type: ignore[override]
        """Title of the report."""
        what = "shallow pools" if isinstance(self.holes, Depths) else "incomplete judgments"
        return f"Robustness to {what}: {many(len(self.measures), 'measure')}, {self.sizes}"

    def tables(self) -> dict[str, Table]:
        """Return the tables of the report by file name."""
        sure = f"{100 * self.about['confidence']:g} % intervals over topics and judgment samples"
        shown = {
            "order": Table(
                "The order of runs",
                f"{TAUS[self.about['tau']]} to the order by all judgments, mean over the seeds; {sure}; {self.noted}",
                self.order.table(),
            ),
            "knees_of_order": Table(
                "Knees of the order",
                f"The smallest level with τ strictly above {KNEE}, of the mean curve and of single seeds; in brackets:"
                f" {sure}; {self.noted}",
                self.order.knees(),
            ),
            "differences": Table(
                "Which measure keeps the order better",
                f"Differences of τ between measures on the same topics and judgments; {sure}, for each level"
                f" separately; {self.noted}",
                self._differences(),
            ),
            "rankings": Table("Runs", f"Scores and ranks of runs at each level; {self.noted}", self.rankings),
        }
        if self.tests is not None:
            pairs = f"{many(self.about['pairs'], 'pair')} of runs, {self.noted}"
            level = 0.3 if 0.3 in self.holes.levels else self.holes.levels[len(self.holes.levels) // 2]
            shown |= {
                "tests": Table(
                    "Tests between runs",
                    f"Wilcoxon's signed-rank test at {self.about['alpha']:g} on the judgments of each pair's own pool:"
                    f" results by the remaining and by all judgments, means over the seeds; intervals over pairs and"
                    f" judgment samples;"
                    f" {pairs}",
                    self.tests.table(),
                ),
                "knees_of_accuracy": Table(
                    "Knees of accuracy",
                    f"The smallest level with an accuracy strictly above {KNEE}; {pairs}",
                    self.tests.knees(),
                ),
                "confusion": Table(
                    f"Confusion at {self.holes.says(level)}",
                    f"Pairs of runs by the result of the test, the first seed; {pairs}",
                    self.confusion(level).reset_index(),
                ),
            }
        return shown

    def _differences(self) -> pd.DataFrame:
        names = list(self.measures)
        frames = [
            self.above(one, other).assign(first=one, second=other)
            for at, one in enumerate(names)
            for other in names[at + 1 :]
        ]
        columns = ["first", "second", "level", "difference", "low", "high", "verdict"]
        return pd.concat(frames, ignore_index=True)[columns] if frames else pd.DataFrame(columns=columns)

    def pictures(self) -> dict[str, Picture]:
        """Return the pictures of the report by file name."""
        return pictures(self)

    def headline(self) -> str:
        """Return what was found, in one sentence."""
        return headline(self)

    def findings(self) -> list[str]:
        """Return the findings, one sentence each."""
        return findings(self)

    def limits(self) -> list[str]:
        """Return conclusions that the study does not support, one sentence each."""
        return limits(self)
