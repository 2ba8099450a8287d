"""Agreement of metrics with each other, from the scores of many runs on every topic.

Question: do two metrics put the same runs in the same order?

Method: the runs are ranked by their means, and the orders are correlated: τ_b and τ_a (Kendall, 1945), τ_AP (Yilmaz et
al., 2008), and rank-biased overlap (Webber et al., 2010). Intervals are the coefficient ± its bootstrap standard error
over topics times a quantile of Student's t; all metrics share the resamples.

Not to conclude: agreement does not show that either metric is right, and τ depends on how much the runs differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...errors import BadJudgments, BadParameter, check_known, check_whole, many, some
from ...errors.sanitise import in_picture
from ...evaluation.driver import scores_by_query
from ...evaluation.run_comparison import check_answers, check_settings, measures_by_name, names_and_queries
from ...evaluation.significance import unit_of
from ...files.inputs import are_paths, is_runs
from ...measures.counting import scores_of_unanswered
from ...measures.labels import Measures
from ...measures.provider import aggregated
from ...rendering.figures import (
    GREY,
    SCORE,
    axes_of,
    heat_map,
    label_points,
    name_columns,
    name_rows,
    room_of,
    saved,
    titled,
)
from ...rendering.numbers import fixed_point, interval_of, percent
from ...tasks.hashing import fingerprint
from ..correlation import (
    around,
    half_width,
    rbo,
    signs_of,
    tau,
    times_drawn,
    where_less_is_better,
    why_negated,
    with_direction,
)
from ..report import About, Finding, Picture, Pictures, Study, Table, Tables, reported

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...files.atomic import AnyPath

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Cube:
    """Scores of runs by measures on topics.

    Attributes
    ----------
    measures : dict of str to str
        Canonical text of each measure, by name.
    runs, queries : list of str
        Names of the runs and ids of the topics.
    values : ndarray, shape (measures, runs, topics)
        Scores. A topic that a run does not answer scores 0.
    means : ndarray, shape (measures, runs)
        Means of the runs, as :func:`evaluate` shows them.
    unanswered : dict of str to int
        Number of unanswered topics of each run that has any.
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
    def from_runs(cls, qrels: Any, runs: Mapping[str, Any], measures: Measures, least: int = 2) -> Cube:
        """Score runs with :func:`evaluate`; at least ``least`` runs and two judged topics are required."""
        at_least = f"this study compares runs: give at least {least} by name, not"
        if not (is_runs(runs) or are_paths(runs)):
            raise BadParameter(f"{at_least} one run.")
        named = measures_by_name(measures)
        by_query, answered = scores_by_query(qrels, runs, list(named.values()))
        names, queries = names_and_queries(by_query)
        if len(names) < least:
            raise BadParameter(f"{at_least} {many(len(names), 'run')}.")
        names = list(map(str, names))
        if len(queries) < 2:
            raise BadJudgments(f"a study needs at least two judged topics, and there is {some(queries) or 'none'}.")
        values = np.stack([by_query[name].to_numpy(float).reshape(len(names), -1) for name in named])
        means = np.array([[aggregated(m, row) for row in of_runs] for m, of_runs in zip(named.values(), values)])
        check_answers(answered, names, queries)
        unanswered = {name: n for name, n in zip(names, (~answered).sum(axis=1).tolist()) if n}
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


def without_answers(about: About) -> list[str]:
    """Return a sentence on unanswered topics, if there are any: their number, and the runs with most of them."""
    lacking = sorted(about["unanswered"].items(), key=lambda item: -item[1])
    if not lacking:
        return []
    named = [f"{run} ({number:,})" for run, number in lacking[:3]] + ["…"] * (len(lacking) > 3)
    scores = scores_of_unanswered(about["measures"].values())
    return [
        f"Topics that a run does not answer {scores}: {sum(number for _, number in lacking):,} of"
        f" {about['runs'] * about['queries']:,} pairs of run and topic: {', '.join(named)}."
    ]


#: Coefficients of agreement between two measures: display name and function.
AGREEMENTS: dict[str, tuple[str, Callable[[Any, Any], Array]]] = {
    "tau_b": ("Kendall's τ_b", partial(tau, kind="b")),
    "tau_a": ("Kendall's τ_a", partial(tau, kind="a")),
    "tau_ap": ("τ_AP, the mean of both ways", partial(tau, kind="ap_symmetric")),
    "rbo": ("rank-biased overlap, p = 0.9", partial(rbo, p=0.9)),
}

_NUMBERED = 8  # maximum number of measures with names at both sides of a heat map
_ALIKE = 0.9
"""Value of τ above which two orders are commonly considered equivalent (Voorhees, 2001)."""


@reported("confidence resamples seed")
def metric_agreement(
    qrels: Any,
    runs: Mapping[str, Any],
    measures: Measures,
    *,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> MetricAgreement:
    """Correlate the orders of runs by each pair of measures.

    The coefficients are τ_b, τ_a, τ_AP (the mean of both directions) and rank-biased overlap with p = 0.9, all computed
    from the runs' means by :mod:`pyterrier_cwla.studies.correlation`.

    Intervals are the coefficient ± the bootstrap standard error over topics times the quantile of Student's t (n − 1
    degrees of freedom), clipped to the possible range. All measures share the same resamples. The intervals are for the
    coefficient expected from the same number of other topics: with fewer topics, chance has a larger part in the
    orders, and τ is usually lower. In simulations modelled on the 143 runs and 30 topics of the first round of
    TREC-COVID, intervals of 95 % covered the expected τ_b in 91 to 96 % of cases. Percentile bootstrap intervals, whose
    resamples vary more, covered it in 84 to 94 %.

    Scores of which less is better, such as those of ``ESL``, are negated first: every order is from the best run to
    the worst.

    A coefficient is NaN if a measure gives all runs the same score. Its interval is NaN if this happens in a resample.

    143 runs by 8 measures take half a minute; the time grows with the squares of both numbers.

    Parameters
    ----------
    qrels, runs, measures
        As :func:`evaluate` takes them, runs by name; at least three runs and two measures.
    confidence : float in (0, 1), default=0.95
        Level of the intervals.
    resamples : int from 100, default=1000
        Number of bootstrap resamples.
    seed : int from 0, default=0
        Seed of the resamples.

    Returns
    -------
    MetricAgreement

    Raises
    ------
    BadParameter
        If there are fewer than three runs or fewer than two measures.

    References
    ----------
    Smucker and Clarke (2012), Figure 6; Kendall (1945); Yilmaz et al. (2008); Webber et al. (2010).

    Examples
    --------
    >>> qrels = {q: {"a": 1, "b": 0, "c": 1, "d": 0} for q in "1234"}
    >>> order = {"one": "abcd", "two": "acbd", "three": "bcad", "four": "bdac"}
    >>> runs = {name: {q: {d: -float(i) for i, d in enumerate(docs)} for q in qrels} for name, docs in order.items()}
    >>> found = metric_agreement(qrels, runs, ["AP", "RR", "P@2"])
    >>> found.matrix("tau_b").round(3)
           P@2     AP     RR
    P@2  1.000  0.913  0.800
    AP   0.913  1.000  0.913
    RR   0.800  0.913  1.000
    """
    check_settings(confidence, "t", None, resamples, seed)
    cube = Cube.from_runs(qrels, runs, measures, least=3)
    names = list(cube.measures)
    if len(names) < 2:
        raise BadParameter(f"{names[0]!r} is the only measure: give two or more.")
    first, second = np.triu_indices(len(names), 1)

    better = cube.means * cube.signs[:, None]
    units = np.array([unit_of(of_measure) for of_measure in cube.values])
    queries = len(cube.queries)
    means = cube.values / units[:, None, None] @ times_drawn(queries, resamples, seed) / queries
    means = np.moveaxis(means, -1, 1) * cube.signs[:, None, None]  # [measures × resamples × runs]
    columns: dict[str, Any] = {"measure": [names[i] for i in first], "other": [names[j] for j in second]}
    for kind, (_, of) in AGREEMENTS.items():
        values, resampled = (np.array([of(x[i], x[j]) for i, j in zip(first, second)]) for x in (better, means))
        low, high = around(values, resampled, confidence, queries, 0.0 if kind == "rbo" else -1.0)
        columns |= {kind: values, f"{kind}_low": low, f"{kind}_high": high}
        if kind == "tau_b":
            lowest = np.argmin(np.where(np.isnan(values), np.inf, values))
            above = half_width(resampled - resampled[lowest], confidence, queries)
            columns["as_low"] = ~(values - values[lowest] > above)
    about = {
        **cube.about(),
        "intervals": "standard error of the bootstrap over topics, with Student's t",
    }
    scores = pd.DataFrame(cube.means.T, pd.Index(cube.runs, name="run"), names)
    return MetricAgreement(pd.DataFrame(columns), scores, about)


@dataclass(frozen=True, eq=False, repr=False)
class MetricAgreement(Study):
    """Agreement of measures with each other; the result of :func:`metric_agreement`.

    Attributes
    ----------
    table : DataFrame
        A row for each pair of measures: ``tau_b``, ``tau_a``, ``tau_ap`` and ``rbo``, each with its interval
        (``tau_b_low``, ``tau_b_high``), and ``as_low``: whether its τ_b is not significantly higher than the lowest of
        all pairs (the interval of the difference, from the same resamples, contains 0).
    scores : DataFrame
        Scores of the runs: a row for each run, a column for each measure.
    about : dict
        Settings, sizes and hash of the input.
    """

    title = "Agreement of measures with each other"
    table: pd.DataFrame
    scores: pd.DataFrame
    about: About

    def matrix(self, kind: str = "tau_b") -> pd.DataFrame:
        """Return a matrix of measures × measures in which similar measures are adjacent.

        The order is that of the leaves of average linkage clustering by 1 − ``kind``, with optimal leaf ordering.

        Parameters
        ----------
        kind : {"tau_b", "tau_a", "tau_ap", "rbo"}, default="tau_b"
            Correlation in the cells.

        Returns
        -------
        DataFrame, shape (n_measures, n_measures)
            Symmetric matrix with 1 on the diagonal.

        Raises
        ------
        BadParameter
            If the correlation is unknown.
        """
        from scipy.cluster.hierarchy import leaves_list, linkage
        from scipy.spatial.distance import squareform

        check_known("agreement", AGREEMENTS, kind=kind)
        names = list(self.scores)
        square = pd.DataFrame(np.eye(len(names)), names, names)
        for one, other, value in self.table[["measure", "other", kind]].to_numpy():
            square.loc[one, other] = square.loc[other, one] = value
        apart = 1 - square.fillna(0.0).to_numpy()
        order = leaves_list(linkage(squareform(apart, checks=False), "average", optimal_ordering=True))
        return square.iloc[order, order]

    def cells(self, kind: str = "tau_b") -> pd.DataFrame:
        """Return the cells off the diagonal of the matrix, the data of :func:`plot_correlations`.

        Parameters
        ----------
        kind : {"tau_b", "tau_a", "tau_ap", "rbo"}, default="tau_b"
            Correlation in the cells.

        Returns
        -------
        DataFrame
            A row for each cell, with the columns ``row``, ``column`` and the name of the correlation.

        Raises
        ------
        BadParameter
            If the correlation is unknown.
        """
        square = self.matrix(kind)
        found = square.rename_axis(index="row", columns="column").stack().rename(kind).reset_index()
        return found[found["row"] != found["column"]].reset_index(drop=True)

    def scatter(self, x: str, y: str, k: int = 5) -> pd.DataFrame:
        """Return the runs' scores and ranks by two measures, runs with the largest difference in ranks first.

        Parameters
        ----------
        x, y : str
            Names of the measures.
        k : int, default=5
            Number of runs to label as outliers.

        Returns
        -------
        DataFrame
            Columns ``run``, x, y (with "_" appended if the name is taken), ``rank_x``, ``rank_y`` (1 is best, ties have
            their mean), ``shift`` (number of ranks that a run gains from x to y) and ``labelled`` (whether the run is
            one of the ``k`` runs with the largest shifts). Ranks are independent of the scales of the measures, and τ
            depends on ranks only.

        Raises
        ------
        BadParameter
            If the study does not have a measure.
        """
        for name in (x, y):
            check_known("measure of this study", self.scores, measure=name)
        check_whole(0, k=k)
        rank_x, rank_y = self._ranks[x], self._ranks[y]
        own = {"run": self.scores.index, "rank_x": rank_x, "rank_y": rank_y, "shift": rank_x - rank_y}
        table = pd.DataFrame(own, self.scores.index)
        for place, name in enumerate((x, y), 1):
            free = f"{name}_" if name in [*own, "labelled"] else name
            table.insert(place, free, self.scores[name], allow_duplicates=True)
        table = table.sort_values("shift", key=lambda shift: -shift.abs(), kind="stable", ignore_index=True)
        return table.assign(labelled=(np.arange(len(table)) < k) & (table["shift"] != 0))

    def tables(self) -> Tables:
        """Return the tables of the report by file name."""
        return {
            "agreement": Table("Pairs of measures", f"Correlations of the orders of {self._data}.", self.table),
            "matrix": Table("Kendall's τ_b", f"Of the orders of {self._data}. Similar measures are adjacent.",
                            self.matrix().rename_axis("measure")),
            "scores": Table("Scores", f"Scores of {self._data}.", self.scores),
            "ranks": Table("Ranks", f"Ranks of {self._data}; 1 is best, ties have their mean.", self._ranks),
        }  # fmt: skip

    def pictures(self) -> Pictures:
        """Return the pictures of the report by file name."""
        row = self._sorted().iloc[0]
        x, y, side = row["measure"], row["other"], len(self.scores.columns)
        return {
            "agreement": Picture(
                "Kendall's τ_b of pairs of measures", f"Orders of {self._data}. Similar measures are adjacent.",
                lambda ax: plot_correlations(self, ax=ax), self.cells(), (7.0, _height(side)),
            ),
            "least_alike": Picture(
                f"{y} against {x}",
                f"The two measures that agree least: {self._data}, τ_b = {fixed_point(row['tau_b'], 3)}. Labelled: the"
                " runs whose ranks differ most.",
                lambda ax: plot_scatter(self, x, y, ax=ax), self.scatter(x, y),
            ),
        }  # fmt: skip

    @property
    def _ranks(self) -> pd.DataFrame:
        signs = signs_of(self.scores, self.about["less_is_better"])
        return (self.scores.round(10) * signs).rank(ascending=False)

    @property
    def _data(self) -> str:
        return f"{self.about['runs']:,} runs by their means over {self.about['queries']:,} topics"

    def _sorted(self) -> pd.DataFrame:
        return self.table.sort_values("tau_b", kind="stable")

    def _said(self, row: Any) -> str:
        return (
            f"{row.measure} and {row.other} order the runs with τ_b {fixed_point(row.tau_b, 3)},"
            f" {percent(self.about['confidence'])} interval {interval_of(row.tau_b_low, row.tau_b_high, 3)}"
        )

    def headline(self) -> str:
        """Return what was found, in one sentence."""
        rows = list(self._sorted().dropna(subset="tau_b").itertuples())
        if not rows:
            return "No measure tells the runs apart."
        low, high = rows[0], rows[-1]
        said = f"{low.measure} and {low.other} agree"
        on = f"the order of {self.about['runs']:,} runs"
        if len(rows) == 1:
            return f"{said} on {on} with a Kendall's τ_b of {fixed_point(low.tau_b, 2)}."
        as_low = sum(bool(row.as_low) for row in rows[1:])
        alike = f", not significantly less than {many(as_low, 'other pair')}" if as_low else ""
        return (
            f"{said} least on {on} (Kendall's τ_b {fixed_point(low.tau_b, 2)}{alike}), {high.measure} and {high.other}"
            f" most ({fixed_point(high.tau_b, 2)})."
        )

    def findings(self) -> list[str]:
        """Return the findings, one sentence each."""
        rows = list(self._sorted().dropna(subset="tau_b").itertuples())
        if not rows:
            return ["No correlation is defined: each measure gives all runs the same score."]
        first, last, several = rows[0], rows[-1], len(rows) > 1
        least = f": the least similar of {len(rows):,} pairs" if several else ""
        similar = [f"{self._said(first)}{least}.", *([f"{self._said(last)}: the most similar."] if several else [])]
        if as_low := [f"{row.measure} and {row.other}" for row in rows[1:] if row.as_low]:
            named = "; ".join(as_low[:4]) + (f"; and {len(as_low) - 4:,} more" if len(as_low) > 4 else "")
            similar.append(f"These pairs are not significantly more similar than the least similar pair: {named}.")
        alike = [f"{row.measure} and {row.other}" for row in rows if row.tau_b_low >= _ALIKE]
        unlike = sum(row.tau_b_high < _ALIKE for row in rows)
        said = [
            *(Finding(sentence, "agreement") for sentence in similar),
            f"Pairs whose whole interval of τ_b is at or above {_ALIKE:g} (equivalent in the usual sense):"
            f" {'; '.join(alike) or 'none'}. Pairs whose whole interval is below it: {unlike:,} of {len(rows):,}.",
        ]
        x, y = first.measure, first.other
        moved = self.scatter(x, y, 3).query("labelled").itertuples()
        if moves := [f"{row.run} ({row.rank_x:g} by {x}, {row.rank_y:g} by {y})" for row in moved]:
            said.append(Finding(f"{x} and {y} rank these runs most differently: {', '.join(moves)}.", "least_alike"))
        return said

    def limits(self) -> list[str]:
        """Return conclusions that the study does not support, one sentence each."""
        return [
            "Agreement of two measures does not show that either is right; disagreement does not show which is wrong.",
            "τ depends on the runs: if runs differ much, most measures agree; if they differ little, few do.",
            f"Intervals are for {self.about['queries']:,} other topics and the same {self.about['runs']:,} runs; with"
            " more topics, the orders vary less by chance, and τ is usually higher. They are not corrected for the"
            " number of pairs.",
            *why_negated(self.about["less_is_better"]),
            *without_answers(self.about),
        ]


def plot_correlations(study: MetricAgreement, kind: str = "tau_b", ax: Any = None, path: AnyPath | None = None) -> Axes:
    """Plot a heat map of the coefficients, with similar measures adjacent.

    More than eight measures are numbered. Where cells have no room for values, a scale explains the colours. Undefined
    coefficients are dashes, or cells without colour.
    :meth:`MetricAgreement.cells` returns the numbers.

    Parameters
    ----------
    study : MetricAgreement
        Study to plot.
    kind : {"tau_b", "tau_a", "tau_ap", "rbo"}, default="tau_b"
        Coefficient.
    ax : matplotlib Axes, optional
        By default new axes.
    path : path, optional
        File to which the figure is saved.

    Returns
    -------
    matplotlib Axes
    """
    square = study.matrix(kind)
    values = square.to_numpy(copy=True)
    np.fill_diagonal(values, np.nan)
    ax = axes_of(ax, (7, _height(len(values))))
    names, count = list(square), len(values)
    numbered = count > _NUMBERED
    lowest = np.nanmin(values) if np.isfinite(values).any() else 0.0
    wide, _ = room_of(ax)
    texts = np.where(np.isfinite(values), np.char.mod("%.2f", values), "–")
    roomy = 0.5 * wide > 22 * count
    texts[np.eye(count, dtype=bool) | (not roomy)] = ""
    image = heat_map(ax, values, texts, (np.floor(10 * lowest) / 10 - 0.1, 1), gap=0.2 if numbered else 1)
    name_rows(ax, range(count), [f"{name}  {at + 1}" if numbered else name for at, name in enumerate(names)])
    if numbered:
        step = 1 if wide > 20 * count else 5
        columns = np.arange(step, count + 1, step)
        ax.set_xticks(columns - 1, map(str, columns), fontsize=7)
    else:
        name_columns(ax, range(count), names)
    if not roomy:
        bar = ax.figure.colorbar(image, ax=ax, shrink=0.5, aspect=16, pad=0.02)
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=7)
    return saved(titled(ax, f"How similarly measures order the runs: {AGREEMENTS[kind][0]} · {_title(study)}"), path)


def _height(measures: int) -> float:
    """Return the height of a heat map in inches."""
    return 1.4 + 0.36 * measures if measures <= _NUMBERED else 1.2 + 0.18 * measures


def plot_scatter(
    study: MetricAgreement, x: str, y: str, k: int = 5, ax: Any = None, path: AnyPath | None = None
) -> Axes:
    """Plot the runs by two measures, and label the runs with the largest difference in ranks.

    :meth:`MetricAgreement.scatter` returns the numbers.

    Parameters
    ----------
    study : MetricAgreement
        Study to plot.
    x, y : str
        Names of the measures.
    k : int, default=5
        Number of labelled runs.
    ax : matplotlib Axes, optional
        By default new axes.
    path : path, optional
        File to which the figure is saved.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_of(ax)
    data = study.scatter(x, y, k)
    points, named = data.iloc[:, 1:3].to_numpy(), data["labelled"].to_numpy()
    ax.plot(*points[~named].T, linestyle="none", marker="o", markersize=3.5, color=GREY, alpha=0.6, markeredgewidth=0)
    ax.plot(*points[named].T, linestyle="none", marker="s", markersize=4.5, color=SCORE)
    across, up = (in_picture(f"{with_direction(name, study.about)} (mean over topics)") for name in (x, y))
    ax.set(xlabel=across, ylabel=up)
    both = study.table[study.table[["measure", "other"]].isin([x, y]).all(axis=1)]
    found = "".join(f" · τ_b = {fixed_point(value, 3)}" for value in both["tau_b"])
    titled(ax, f"The mean of each run by two measures{found} · {_title(study)}")
    label_points(ax, dict(zip(data["run"][named], points[named])), points, SCORE)
    return saved(ax, path)


def _title(study: MetricAgreement) -> str:
    return f"{study.about['runs']:,} runs, {study.about['queries']:,} topics"
