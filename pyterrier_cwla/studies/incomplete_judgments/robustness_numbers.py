"""Numbers of a study of robustness to missing judgments: orders of runs, tests and scores at each level."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from ir_measures.measures import Measure

from ...errors import BadParameter, many, near, some
from ...measures.of_ir_measures import needs_of
from ...measures.provider import aggregated
from ..directions import signs_of, where_less_is_better
from ..study import Study
from .missing_judgments import Depths, Fractions
from .significance_kept import PairTests
from .system_order import Orders


@dataclass(frozen=True, eq=False, repr=False)
class RobustnessNumbers(Study):
    """Numbers of a study, without tables and pictures; :class:`Robustness` describes the attributes."""

    about: dict[str, Any]
    holes: Fractions | Depths
    measures: dict[str, Measure]
    runs: list[str]
    order: Orders
    tests: PairTests | None

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

        The score is computed from each topic's mean over the seeds. Rank 1 is best, and equal scores have
        the same rank.
        """
        measures = list(self.measures.values())
        by_level = self.order.scores.mean(axis=0)
        scores = np.array([[[aggregated(m, row) for row in runs] for m, runs in zip(measures, of)] for of in by_level])
        names = ["level", "measure", "run"]
        index = pd.MultiIndex.from_product([self.holes.levels, self.measures, self.runs], names=names)
        frame = pd.DataFrame({"score": scores.ravel()}, index).reset_index()
        better = frame.score.round(10) * signs_of(frame.measure, where_less_is_better(self.measures))
        ranks = better.groupby([frame.level, frame.measure], sort=False)
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


def infap_pool_note(pool: str, measures: dict[str, Any]) -> list[str]:
    """Return a sentence on the information that infAP has about missing judgments, if it is among the measures."""
    names = [name for name, measure in measures.items() if needs_of(measure).pooled]
    if not names:
        return []
    treated = "in the pool" if pool == "whole" else "not in the pool"
    verb = "treats" if len(names) == 1 else "treat"
    return [f"{' and '.join(names)} {verb} documents with missing judgments as {treated} (pool={pool!r})."]
