"""Result of a study of robustness to missing judgments: tables, pictures and findings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from ir_measures.measures import Measure

from ...errors import BadParameter, many, near, some
from ...measures.provider import aggregated
from ..correlation import TAUS
from ..report import Picture, Table
from ..study import Study
from .findings import findings, infap_pool_note, limits
from .missing_judgments import Depths, Fractions
from .plots import pictures
from .significance_kept import PairTests
from .system_order import KNEE, Orders


@dataclass(frozen=True, eq=False, repr=False)
class Robustness(Study):
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

    about: dict[str, Any]
    holes: Fractions | Depths
    measures: dict[str, Measure]
    runs: list[str]
    order: Orders
    tests: PairTests | None

    @property
    def title(self) -> str:  # type: ignore[override]
        """Title of the report."""
        what = "shallow pools" if isinstance(self.holes, Depths) else "incomplete judgments"
        return f"Robustness to {what}: {many(len(self.measures), 'measure')}, {self.sizes}"

    @property
    def sizes(self) -> str:
        """Numbers of runs, topics and seeds."""
        return f"{many(len(self.runs), 'run')}, {self.drawn}"

    @property
    def drawn(self) -> str:
        """Numbers of topics, and of seeds if the study is random."""
        seeds = f", {many(self.about['seeds'], 'seed')}" if self.holes.random else ""
        return f"{many(self.about['queries'], 'topic')}{seeds}"

    @property
    def noted(self) -> str:
        """Last part of captions."""
        return " ".join([f"{self.sizes}.", *infap_pool_note(self.about["pool"], self.measures)])

    def above(self, first: str, second: str) -> pd.DataFrame:
        """Return whether one measure keeps the order of runs better than another.

        Parameters
        ----------
        first, second : str
            Names of the measures.

        Returns
        -------
        DataFrame
            A row for each level: ``difference`` of τ, its interval ``low`` and ``high`` (paired resamples), and
            ``verdict``: "yes", "no" or "undecided".

        Raises
        ------
        BadParameter
            If the study does not have a measure.
        """
        for name in (first, second):
            if name not in self.measures:
                raise BadParameter(f"no measure {name!r} in this study. {near(name, self.measures)}")
        return self.order.above(first, second)

    @cached_property
    def rankings(self) -> pd.DataFrame:
        """Scores and ranks of runs: a row for each level, measure and run.

        The score is computed from each topic's mean over the seeds. Equal scores have the same rank.
        """
        measures = list(self.measures.values())
        by_level = self.order.scores.mean(axis=0)
        scores = np.array([[[aggregated(m, row) for row in runs] for m, runs in zip(measures, of)] for of in by_level])
        names = ["level", "measure", "run"]
        index = pd.MultiIndex.from_product([self.holes.levels, self.measures, self.runs], names=names)
        frame = pd.DataFrame({"score": scores.ravel()}, index).reset_index()
        ranks = frame.score.round(10).groupby([frame.level, frame.measure], sort=False)
        return frame.assign(rank=ranks.rank(ascending=False, method="min").astype(int))

    def confusion(self, level: float = 0.3, seed: int = 0) -> pd.DataFrame:
        """Return numbers of pairs of runs by the result of the test at a level and by all judgments.

        Parameters
        ----------
        level : float, default=0.3
            Level of judgments.
        seed : int, default=0
            Position of a seed among the seeds of the study, from 0.

        Returns
        -------
        DataFrame
            Two rows for each measure, as in Table 4 of Bompada et al. (2007).

        Raises
        ------
        BadParameter
            If no pairs were tested, or if there is no such level.
        """
        if self.tests is None:
            raise BadParameter("this study tested no pairs of runs: compute it with pairs=, such as pairs=300.")
        levels = self.holes.levels
        if level not in levels:
            raise BadParameter(f"no level {level!r}: there is {some(levels, 20)}.")
        return self.tests.confusion(levels.index(level), seed)

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
                f"The smallest level with τ strictly above {KNEE}, of the mean curve and of single seeds; low and high:"
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

    def findings(self) -> list[str]:
        """Return the findings, one sentence each."""
        return findings(self)

    def limits(self) -> list[str]:
        """Return conclusions that the study does not support, one sentence each."""
        return limits(self)
