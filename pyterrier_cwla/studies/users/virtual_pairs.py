"""Virtual systems: agreement of measures and users on which of two lists *for the same topic* is better.

Question: if each of two systems returned one of the lists that were shown, would a metric and users prefer the same
one?

Method: two lists are drawn for each topic, one for each virtual system, and the differences between the systems by the
metric and by the users are correlated over many draws (Chapelle et al., 2009, section 6.4 and Algorithm 3). The limit
for many draws is a ratio of sums of covariances within topics, with an interval by the bootstrap over topics.

Not to conclude: a correlation over systems says little about single topics: sums of many topics vary less than each
of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...errors import BadParameter, BadRatings, check_known, check_share, check_whole, near
from ...errors.sanitise import in_picture
from ...rendering.figures import GREY, SCORE, STAY, axes_of, saved, text_colour
from ...rendering.numbers import fixed_point, interval_of, percent
from ...tasks.hashing import fingerprint
from ..correlation import around, columns_where_less_is_better, signs_of, times_drawn, why_negated
from ..report import About, Finding, Picture, Pictures, Study, Table, Tables, plot_rows, reported
from .rating_correlations import above_group_means, standardised_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...files.atomic import AnyPath

Array = np.ndarray

_CELLS = 1 << 21  # numbers drawn per chunk


@reported("topic repeats resamples confidence seed")
def virtual_systems(
    values: pd.DataFrame,
    target: str | Sequence[str],
    topic: str = "topic",
    measures: Sequence[str] | None = None,
    repeats: int = 1000,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
    less_is_better: Sequence[str] | None = None,
) -> VirtualSystems:
    """Correlate differences between two virtual systems, which return one of the known lists of each topic.

    In each of ``repeats`` repetitions, two different configurations (lists) are drawn for each topic, one for each
    system. The differences between the systems' means over topics, by a measure and by the target, are correlated over
    the repetitions. With increasing number of repetitions, the correlation converges to ``limit``:

        Σ_q S_xy / √(Σ_q S_xx · Σ_q S_yy),

    where S are the variances and covariances (n − 1) of the configurations of topic q. Its interval is computed by the
    bootstrap over topics. ``across`` is the plain correlation over the configurations of all topics, which also
    compares topics with each other.

    Topics with only one configuration are left out and counted. All configurations count the same, however often they
    were shown.

    To use ``found``, a :class:`pyterrier_cwla.behaviour.clicks.click_positions.ClickMetrics`, take
    ``evaluate(found.qrels, found.run, measures, by_query=True).droplevel("run").join(found.configurations)``. To use
    ``Rated`` lists, add columns for the rating and the topic to ``rated.scores(measures)``.

    Parameters
    ----------
    values : DataFrame
        A row for each configuration: its topic, its score by each measure, and the behaviour or ratings of users.
    target : str or sequence of str
        Columns of user behaviour or ratings, such as click metrics.
    topic : str, default="topic"
        Column of the topic.
    measures : sequence of str, optional
        Columns of scores. By default all other numeric columns except ``n``.
    repeats : int, default=1000
        Number of repetitions, from 10.
    resamples : int, default=1000
        Number of bootstrap resamples, from 100.
    confidence : float in (0, 1), default=0.95
        Level of the intervals.
    seed : int, default=0
        Seed of repetitions and resamples.
    less_is_better : sequence of str, optional
        Columns of scores that are negated, so that a greater correlation is better for every measure. By default those
        whose name is the text of a measure of which less is better, such as ``"ESL"``.

    Returns
    -------
    VirtualSystems

    Raises
    ------
    BadRatings
        If columns are missing or not numeric, or if no topic has two configurations.

    References
    ----------
    Chapelle et al. (2009), section 6.4 and Algorithm 3.

    Examples
    --------
    >>> values = pd.DataFrame({"topic": list("aaabbc"), "RR": [1, 0.5, 0, 1, 0.5, 1], "clicks": [3, 1, 0, 9, 8, 5]})
    >>> found = virtual_systems(values, "clicks")
    >>> found.table[["measure", "limit", "across"]].round(3)
      measure  limit  across
    0      RR   0.97    0.57
    >>> found.about["left_out"]
    1
    """
    targets = [target] if isinstance(target, str) else list(dict.fromkeys(target))
    check_whole(10, repeats=repeats)
    check_whole(100, resamples=resamples)
    check_share(0.95, confidence=confidence)
    values, names = _checked(values, targets, topic, measures)
    table = values[values.groupby(topic)[topic].transform("size") >= 2].sort_values(topic, kind="stable")
    if table.empty:
        raise BadRatings(f"no topic ({topic!r}) has two configurations: there is nothing to compare.")
    lower = _lower(names, less_is_better)
    numbers = table[[*names, *targets]].to_numpy(float) * signs_of([*names, *targets], lower)
    codes = pd.factorize(table[topic])[0]
    size = np.bincount(codes)
    start = np.cumsum(size) - size  # first row of each topic
    above = above_group_means(numbers, codes)
    k = len(names)
    # Variances of the columns of each topic, and covariances of measures with targets.
    products = np.add.reduceat(_multiplied(above, k), start) / (size - 1)[:, None]
    limit = _ratio(products.sum(axis=0), k).ravel()
    drawn = _ratio(times_drawn(len(size), resamples, seed).T @ products, k).reshape(resamples, -1).T
    low, high = around(limit, drawn, confidence, len(size))
    columns = {
        "target": np.tile(targets, k),
        "measure": np.repeat(names, len(targets)),
        "repeated": _correlations(_drawn(above, start, size, repeats, seed), k).ravel(),
        "limit": limit,
        "limit_low": low,
        "limit_high": high,
        "across": _correlations(standardised_columns(numbers), k).ravel(),
    }
    about = {
        "measures": names,
        "less_is_better": lower,
        "targets": targets,
        "queries": len(size),
        "configurations": len(table),
        "left_out": values[topic].nunique() - len(size),
        "input": fingerprint(numbers, table[topic].astype(str).tolist()),
    }
    return VirtualSystems(pd.DataFrame(columns), about)


@dataclass(frozen=True, eq=False, repr=False)
class VirtualSystems(Study):
    """Correlations of differences between virtual systems; the result of :func:`virtual_systems`.

    Attributes
    ----------
    table : DataFrame
        A row for each target and measure. ``repeated`` is the correlation over the repetitions. ``limit`` is its limit
        for many repetitions, with the ends of its interval, ``limit_low`` and ``limit_high``. ``across`` is the
        correlation over all configurations, which compares topics with each other.
    about : dict
        Settings, sizes and hash of the input.
    """

    table: pd.DataFrame
    about: About

    @property
    def title(self) -> str:  # type: ignore[override]
        """Title of the report."""
        return f"Differences of two virtual systems on {self.about['queries']:,} topics"

    def matrix(self, what: str = "limit") -> pd.DataFrame:
        """Return a column of the table as a matrix of targets × measures.

        Parameters
        ----------
        what : str, default="limit"
            Name of a column of the table, such as ``repeated``, ``limit`` or ``across``.

        Returns
        -------
        DataFrame, shape (n_targets, n_measures)
            Correlations, in the order in which targets and measures were given.

        Raises
        ------
        BadParameter
            If there is no such column of numbers.

        References
        ----------
        Chapelle et al. (2009), Table 6.
        """
        check_known("column", self.table.columns.drop(["target", "measure"]), what=what)
        square = self.table.pivot(index="target", columns="measure", values=what)
        return square.loc[self.about["targets"], self.about["measures"]]

    def tables(self) -> Tables:
        """Return the tables of the report by file name."""
        return {"virtual_systems": Table("Correlation of differences between two systems", self._caption(), self.table)}

    def pictures(self) -> Pictures:
        """Return the pictures of the report by file name."""
        pictures, size = {}, (7.0, _height(len(self.about["measures"])))
        for number, target in enumerate(self.about["targets"], 1):
            draw = partial(plot_virtual_systems, self, target)
            picture = Picture(f"Differences in {target}", self._caption(), draw, self.of(target), size)
            pictures[f"virtual_systems_{number}"] = picture
        return pictures

    def of(self, target: str) -> pd.DataFrame:
        """Return the rows of a target, the highest limit first.

        Parameters
        ----------
        target : str
            Name of a target.

        Returns
        -------
        DataFrame
            Rows of the table, in descending order of ``limit``; empty if there is no such target.
        """
        rows = self.table[self.table["target"] == target]
        return rows.sort_values("limit", ascending=False, kind="stable", ignore_index=True)

    def headline(self) -> str:
        """Return what was found, in one sentence."""
        known = self.table.dropna(subset="limit")
        if known.empty:
            return "No measure and target differ between lists of the same topic."
        best = known.loc[known["limit"].idxmax()]
        return (
            f"{best['measure']} agrees best with {best['target']} on which of two systems is better: a correlation of"
            f" {fixed_point(best['limit'], 2)} ({percent(self.about['confidence'])} interval"
            f" {interval_of(best['limit_low'], best['limit_high'], 2)})."
        )

    def findings(self) -> list[str]:
        """Return the findings, with the pictures that they rest on."""
        return [
            Finding(sentence, f"virtual_systems_{number}")
            for number, target in enumerate(self.about["targets"], 1)
            for sentence in self._sentences(target)
        ]

    def _sentences(self, target: str) -> list[str]:
        rows = self.of(target)
        best = rows.iloc[0]
        if np.isnan(best["limit"]):
            return [
                f"{target}: there is no correlation of differences: {target} or every measure is constant over the"
                " lists of each topic."
            ]
        found = [
            f"{target}: {best['measure']} agrees best on differences, with a correlation of"
            f" {fixed_point(best['limit'], 3)} ({percent(self.about['confidence'])} interval"
            f" {interval_of(best['limit_low'], best['limit_high'], 3)}; {fixed_point(best['repeated'], 3)} in"
            f" {self.about['repeats']:,} repetitions); over all configurations it is {fixed_point(best['across'], 3)}."
        ]
        if same := ", ".join(rows.loc[rows["limit"].isna(), "measure"]):
            found.append(f"{target}: {same} never differ between lists of the same topic.")
        return found

    def limits(self) -> list[str]:
        """Return conclusions that the study does not support, one sentence each."""
        about, left_out = self.about, self.about["left_out"]
        of_all = f"{left_out:,} of {left_out + about['queries']:,} topics"
        return [
            f"The correlation over {about['repeats']:,} repetitions is random: if the limit is 0, its standard error is"
            f" {1 / np.sqrt(about['repeats']):.3f}. More repetitions do not reduce the uncertainty over topics, which"
            " is that of the interval.",
            *([f"Left out, with one configuration only: {of_all}."] if left_out else []),
            *why_negated(about["less_is_better"]),
        ]

    def _caption(self) -> str:
        about = self.about
        return (
            f"{about['configurations']:,} configurations of {about['queries']:,} topics with two or more;"
            f" {about['left_out']:,} with one left out; {about['repeats']:,} repetitions; intervals:"
            f" {percent(about['confidence'])} bootstrap over topics, {about['resamples']:,} resamples; seed"
            f" {about['seed']}."
        )


def _checked(
    values: pd.DataFrame, targets: list[str], topic: str, measures: Sequence[str] | None
) -> tuple[pd.DataFrame, list[str]]:
    if not isinstance(values, pd.DataFrame):
        raise BadRatings(f"configurations must be a DataFrame, not {type(values).__name__}.")
    values = values.reset_index(drop=topic in values)
    if measures is None:
        kept = values.select_dtypes("number").columns
        measures = [name for name in kept if name not in (*targets, topic, "n", "index")]
    names = list(dict.fromkeys(measures))
    for name in (topic, *targets, *names):
        if name not in values:
            raise BadRatings(f"the configurations have no column {name!r}. {near(str(name), map(str, values.columns))}")
        if (values.columns == name).sum() > 1:
            raise BadRatings(f"the configurations have more than one column {name!r}: keep one.")
    if not names:
        raise BadRatings("the configurations have no column of scores: give measures=['ERR', …].")
    for name in (*targets, *names):
        wrong = ~np.isfinite(pd.to_numeric(values[name], errors="coerce").to_numpy(float))
        for row in np.flatnonzero(wrong)[:1]:
            raise BadRatings(
                f"{name!r} has {str(values[name].iloc[row])!r} in row {row}: leave out rows without a number."
            )
    for row in np.flatnonzero(values[topic].isna())[:1]:
        raise BadRatings(f"row {row} has no {topic!r}.")
    return values, names


def _lower(names: list[str], given: Sequence[str] | None) -> list[str]:
    """Return the columns of scores that are negated, in the order of all columns of scores."""
    if given is None:
        return columns_where_less_is_better(names)
    given = [given] if isinstance(given, str) else list(given)
    for name in given:
        if name not in names:
            raise BadParameter(f"less_is_better= has no column of scores {name!r}. {near(str(name), names)}")
    return [name for name in names if name in given]


def _drawn(numbers: Array, start: Array, size: Array, repeats: int, seed: int) -> Array:
    """Return the differences between the two systems, [repeats × columns]."""
    rng = np.random.default_rng(seed)
    differences = np.empty((repeats, numbers.shape[1]))
    for some in np.array_split(np.arange(repeats), repeats * len(size) * numbers.shape[1] // _CELLS + 1):
        first = rng.integers(0, size, (len(some), len(size)))
        second = rng.integers(0, size - 1, (len(some), len(size)))
        second += second >= first  # any but the first
        differences[some] = (numbers[start + first] - numbers[start + second]).mean(axis=1)
    return differences


def _multiplied(rows: Array, k: int) -> Array:
    """Return the squares of all columns, and the products of the first k columns with the others."""
    return np.concatenate([rows**2, (rows[:, :k, None] * rows[:, None, k:]).reshape(len(rows), -1)], axis=1)


def _correlations(columns: Array, k: int) -> Array:
    """Return correlations of the first k columns with the others, [measures × targets]; NaN if constant."""
    return _ratio(_multiplied(standardised_columns(columns), k).sum(axis=0), k)


def _ratio(products: Array, k: int) -> Array:
    """Return correlations [… × measures × targets], from sums of the products of :func:`_multiplied` [… × products]."""
    targets = (products.shape[-1] - k) // (k + 1)
    own, above = products[..., : k + targets], products[..., k + targets :].reshape(*products.shape[:-1], k, targets)
    below = np.sqrt(own[..., :k, None] * own[..., None, k:])
    return np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)


def plot_virtual_systems(study: Any, target: str | None = None, ax: Any = None, path: AnyPath | None = None) -> Axes:
    """Plot the correlation of differences for one target, a row for each measure.

    The dot is the limit, the line its interval, the cross the correlation over the repetitions, and the hollow square
    the correlation over all configurations. ``study.of(target)`` returns the numbers.

    Parameters
    ----------
    study : VirtualSystems
        Study to plot.
    target : str, optional
        By default the first target.
    ax : matplotlib Axes, optional
        By default new axes.
    path : path, optional
        File to which the figure is saved.

    Returns
    -------
    matplotlib Axes
    """
    target = study.about["targets"][0] if target is None else target
    rows, about = study.of(target), study.about
    ax = axes_of(ax, (7, _height(len(rows))))
    ax.axvline(0, color=GREY, linewidth=0.6)
    dot, cross = {"color": STAY, "marker": "o"}, {"color": text_colour(), "marker": "x"}
    square = {"color": SCORE, "marker": "s", "markerfacecolor": "none"}
    marks = {
        "limit, with interval": ({**dot, "markersize": 6}, *(rows[f"limit{end}"] for end in ("", "_low", "_high"))),
        f"{about['repeats']:,} repetitions": ({**cross, "markersize": 5}, rows["repeated"]),
        "over all lists": ({**square, "markersize": 5}, rows["across"]),
    }
    sizes = f"{about['queries']:,} topics, {about['configurations']:,} lists"
    title = f"Do measures tell which of two virtual systems has more {in_picture(target)}? · {sizes}"
    xlabel = f"correlation with {in_picture(target)}"
    return saved(plot_rows(ax, list(rows["measure"]), marks, title, xlabel=xlabel), path)


def _height(measures: int) -> float:
    return 1.3 + 0.25 * measures
