"""Scores of many runs by many measures on every query, as one array."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...errors import BadJudgments, BadParameter, many, some
from ...evaluation.driver import scores_by_query
from ...evaluation.run_comparison import check_answers, measures_by_name, names_and_queries
from ...files.inputs import are_paths, is_runs
from ...measures.provider import aggregated
from ...measures.search_length import scores_of_unanswered
from ...tasks.hashing import fingerprint
from ..directions import signs_of, where_less_is_better

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Cube:
    """Scores of runs by measures on queries.

    Attributes
    ----------
    measures : dict of str to str
        Canonical text of each measure, by name.
    runs, queries : list of str
        Names of the runs and ids of the queries.
    values : ndarray, shape (measures, runs, queries)
        Scores. A query that a run does not answer scores 0.
    means : ndarray, shape (measures, runs)
        Means of the runs, as :func:`evaluate` shows them.
    unanswered : dict of str to int
        Number of unanswered queries of each run that has any.
    less_is_better : list of str
        Names of the measures of which less is better.
    """

    measures: dict[str, str]
    runs: list[str]
    queries: list[str]
    values: Array
    means: Array
    unanswered: dict[str, int]
    less_is_better: list[str]

    @classmethod
    def of(
        cls, qrels: Any, runs: Mapping[str, Any], measures: Iterable[Any] | Mapping[str, Any], least: int = 2
    ) -> Cube:
        """Score runs with :func:`evaluate`; at least ``least`` runs and two judged queries are required."""
        if not (is_runs(runs) or are_paths(runs)):
            raise BadParameter(f"this study compares runs: give at least {least} by name, not one run.")
        named = measures_by_name(measures)
        by_query, answered = scores_by_query(qrels, runs, list(named.values()))
        names, queries = names_and_queries(by_query)
        if len(names) < least:
            raise BadParameter(
                f"this study compares runs: give at least {least} by name, not {many(len(names), 'run')}."
            )
        names = list(map(str, names))
        if len(queries) < 2:
            raise BadJudgments(f"a study needs at least two judged queries, and there is {some(queries) or 'none'}.")
        values = np.stack([by_query[name].to_numpy(float).reshape(len(names), -1) for name in named])
        means = np.array([[aggregated(m, row) for row in of_runs] for m, of_runs in zip(named.values(), values)])
        check_answers(answered, names, queries)
        unanswered = {name: int(n) for name, n in zip(names, (~answered).sum(axis=1), strict=True) if n}
        texts = {name: repr(m) for name, m in named.items()}
        return cls(texts, names, queries, values, means, unanswered, where_less_is_better(named))

    @property
    def signs(self) -> Array:
        """Factors of the measures' scores that make a greater value better, shape (measures,)."""
        return signs_of(self.measures, self.less_is_better)

    def about(self) -> dict[str, Any]:
        """Return the data that a study reports about its scores."""
        return {
            "measures": self.measures,
            "less_is_better": self.less_is_better,
            "runs": len(self.runs),
            "run_names": self.runs,
            "queries": len(self.queries),
            "query_ids": self.queries,
            "unanswered": self.unanswered,
            "input": fingerprint(self.values, self.runs, self.queries),
        }

    def table(self) -> pd.DataFrame:
        """Return the means: a row for each run, a column for each measure."""
        return pd.DataFrame(self.means.T, pd.Index(self.runs, name="run"), list(self.measures))


def without_answers(about: Mapping[str, Any]) -> list[str]:
    """Return a sentence on unanswered queries, if there are any: their number, and the runs with most of them."""
    lacking = sorted(about["unanswered"].items(), key=lambda item: -item[1])
    if not lacking:
        return []
    named = [f"{run} ({number:,})" for run, number in lacking[:3]] + ["…"] * (len(lacking) > 3)
    scores = scores_of_unanswered(about["measures"].values())
    return [
        f"Queries that a run does not answer {scores}: {sum(number for _, number in lacking):,} of"
        f" {about['runs'] * about['queries']:,} pairs of run and query: {', '.join(named)}."
    ]
