"""Differences of two runs by topic, as a table and a picture."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import pandas as pd

from ..errors import BadParameter, near
from .comparison_plots import plot_topics
from .significance import unit_of, without_noise


class ByTopic(ABC):
    """Base class of results with scores by run and topic.

    Attributes
    ----------
    by_query : DataFrame
        Values of the measures, one row per run and query.
    runs, measures : list
        Names.
    """

    by_query: pd.DataFrame

    @property
    @abstractmethod
    def runs(self) -> list[Any]:
        """Names of the runs."""

    @property
    @abstractmethod
    def measures(self) -> list[str]:
        """Names of the measures."""

    def differences(self, a: Any, b: Any, measure: str | None = None) -> pd.DataFrame:
        """Return the scores of two runs by query, and their difference.

        Parameters
        ----------
        a, b : str
            Names of the runs.
        measure : str, optional
            Name of the measure; by default the first.

        Returns
        -------
        DataFrame
            One row per query (index query_id), with the columns of the two runs and ``difference``, a − b. The highest
            difference is first; equal ones are in the order of the queries. As in the tests, differences that are
            only rounding errors are 0.

        Raises
        ------
        BadParameter
            If there is no such run or measure, or if both runs are the same.

        Examples
        --------
        >>> from pyterrier_cwla import compare
        >>> qrels = {q: {"a": 1, "b": 0} for q in "12"}
        >>> one = {q: {"a": 1.0, "b": float(q) - 0.5} for q in "12"}
        >>> other = {q: {"a": 2.0, "b": 1.0} for q in "12"}
        >>> compare(qrels, {"one": one, "other": other}, ["RR"]).differences("other", "one")
                  other  one  difference
        query_id
        2           1.0  0.5         0.5
        1           1.0  1.0         0.0
        """
        measure = self.measures[0] if measure is None else measure
        for what, name, known in (("run", a, self.runs), ("run", b, self.runs), ("measure", measure, self.measures)):
            if name not in known:
                raise BadParameter(f"no {what} {name!r} in the comparison. {near(str(name), map(str, known))}")
        if a == b:
            raise BadParameter(f"{a!r} is given twice: there is no difference to show. Give two runs.")
        values = self.by_query[measure]
        found = pd.DataFrame({a: values.loc[a], b: values.loc[b]})
        largest = float(np.abs(values).max())
        difference = found[a] - found[b]
        if np.isfinite(largest) and largest > 0:
            difference = without_noise(difference, largest) * unit_of(largest)
        found["difference"] = difference
        return found.sort_values("difference", ascending=False, kind="stable")

    def plot_topics(self, a: Any, b: Any, measure: str | None = None, topics: Any = None, ax: Any = None) -> Any:
        """Plot the difference of two runs topic by topic, sorted, with the shares of topics that each run wins.

        All topics have a bar. If there are more than 30, only the 12 with the highest and the 12 with the lowest
        differences have a name, and the bars of the others are thinner. :meth:`differences` returns the values.

        Parameters
        ----------
        a, b : str
            Names of the runs; the difference is a − b.
        measure : str, optional
            Name of the measure; by default the first.
        topics : dict, Series or DataFrame, optional
            Texts of the topics by query id, or a frame with the columns qid and query, as PyTerrier has it. By default
            the picture shows query ids.
        ax : matplotlib Axes, optional
            Axes to draw on; by default new ones, whose height depends on the number of topics.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        BadParameter
            If there is no such run or measure, if no difference is finite, or if no topic has a text.
        CWLAError
            If matplotlib is not installed.
        """
        return plot_topics(self, a, b, measure, topics, ax)
