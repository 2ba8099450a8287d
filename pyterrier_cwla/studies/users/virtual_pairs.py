"""Two virtual systems: do measures and users agree on which of two lists *for the same query* is better?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ..._version import __version__
from ...errors import BadRatings, near
from ...errors.parameter_checks import check_share, check_whole
from ...errors.sanitise import in_picture
from ...rendering.figures import GREY, STAY, axes_of, titled
from ...tasks.hashing import fingerprint
from ..report import Picture, Table
from ..resampling import around
from ..study import Study
from .within import above_group_means, standardised

Array = np.ndarray

_CELLS = 1 << 21  # numbers that are drawn at a time


def virtual_systems(
    values: pd.DataFrame,
    target: str | Sequence[str],
    topic: str = "topic",
    measures: Sequence[str] | None = None,
    repeats: int = 1000,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> VirtualSystems:
    """Correlate the differences of two systems that give, for each query, one of its lists.

    In each of ``repeats`` repetitions every query draws two different of its configurations, one for either system; the
    systems' differences in the mean over queries, of measure and target, are correlated over the repetitions. For many
    of these the correlation becomes

        Σ_q S_xy / √(Σ_q S_xx · Σ_q S_yy),

    S the (co)variances (n − 1) of the configurations of query q: ``limit``. Its interval is that of the bootstrap over
    queries. ``across`` is the plain correlation over all their configurations, which also compares queries with each
    other.
    Queries with one configuration only have nothing to draw: they are left out, and counted. Configurations count the
    same, however often they were shown.

    With :class:`pyterrier_cwla.behaviour.clicks.online_metrics.ClickMetrics` ``found``:
    ``evaluate(found.qrels, found.run, measures, by_query=True).droplevel("run").join(found.configurations)``, with
    ``Rated`` lists: ``rated.scores(measures)`` with columns for the rating and the topic.

    Parameters
    ----------
    values : DataFrame
        A row for each configuration, a query with a list: its query, the scores of measures, and what users did or
        said.
    target : str or sequence of str
        The columns of what users did or said: click metrics, or ratings.
    topic : str
        The column of the query.
    measures : sequence of str, optional
        The columns of scores; by default all other columns of numbers but ``n``.
    repeats : int
        Repetitions, from 10.
    resamples : int
        Resamples of the bootstrap, from 100.
    confidence : float in (0, 1)
        Level of the intervals.
    seed : int
        Seed of repetitions and resamples.

    Returns
    -------
    VirtualSystems

    Raises
    ------
    BadRatings
        If columns are missing or no numbers, or no query has two configurations.

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
        raise BadRatings(f"no query ({topic!r}) has two configurations: there is nothing to compare.")
    numbers = table[[*names, *targets]].to_numpy(float)
    codes, start, size = _groups(table[topic])
    above = above_group_means(numbers, codes)
    k = len(names)
    products = _products(above, start, size, k)
    limit = _ratio(products.sum(axis=0), k).ravel()
    drawn = _ratio(_resampled(products, resamples, seed), k).reshape(resamples, -1).T
    low, high = around(limit, drawn, confidence, len(size))
    columns = {
        "target": np.tile(targets, k),
        "measure": np.repeat(names, len(targets)),
        "repeated": _correlations(_drawn(above, start, size, repeats, seed), k).ravel(),
        "limit": limit,
        "limit_low": low,
        "limit_high": high,
        "across": _correlations(standardised(numbers), k).ravel(),
    }
    about = {
        "version": __version__,
        "measures": names,
        "targets": targets,
        "topic": topic,
        "queries": len(size),
        "configurations": len(table),
        "left_out": values[topic].nunique() - len(size),
        "repeats": repeats,
        "resamples": resamples,
        "confidence": confidence,
        "seed": seed,
        "input": fingerprint(numbers, table[topic].astype(str).tolist()),
    }
    return VirtualSystems(pd.DataFrame(columns), about)


@dataclass(frozen=True, eq=False, repr=False)
class VirtualSystems(Study):
    """What :func:`virtual_systems` found: a row for each target and measure.

    ``repeated``: the correlation over the repetitions · ``limit``: for very many, with the ends of its interval ·
    ``across``: over all configurations, queries compared with each other.
    """

    table: pd.DataFrame
    about: dict[str, Any]

    @property
    def title(self) -> str:  # type: ignore[override]
        return f"Differences of two virtual systems on {self.about['queries']:,} queries"

    def matrix(self, what: str = "limit") -> pd.DataFrame:
        """Targets in rows, measures in columns, as in Table 6 of Chapelle et al."""
        return self.table.pivot(index="target", columns="measure", values=what).loc[
            self.about["targets"], self.about["measures"]
        ]

    def tables(self) -> dict[str, Table]:
        return {"virtual_systems": Table("Correlation of differences between two systems", self._caption(), self.table)}

    def pictures(self) -> dict[str, Picture]:
        return {
            f"virtual_systems_{number}": Picture(
                f"Differences in {target}",
                self._caption(),
                partial(plot_virtual_systems, self, target),
                self.of(target),
                (7.0, 1.2 + 0.35 * len(self.about["measures"])),
            )
            for number, target in enumerate(self.about["targets"], 1)
        }

    def of(self, target: str) -> pd.DataFrame:
        """The rows of a target, the highest limit first."""
        rows = self.table[self.table["target"] == target]
        return rows.sort_values("limit", ascending=False, kind="stable", ignore_index=True)

    def findings(self) -> list[str]:
        found = []
        for target in self.about["targets"]:
            rows = self.of(target)
            best = rows.iloc[0]
            if np.isnan(best["limit"]):
                found.append(
                    f"{target}: there is no correlation of differences: between lists of the same query, {target} or"
                    " every measure is always the same."
                )
                continue
            same = rows.loc[rows["limit"].isna(), "measure"]
            found.append(
                f"{target}: differences are best told by {best['measure']}, with a correlation of {best['limit']:.3f}"
                f" ({self.about['confidence']:.0%} interval {best['limit_low']:.3f} to {best['limit_high']:.3f};"
                f" {best['repeated']:.3f} in {self.about['repeats']:,} repetitions); over all configurations it is"
                f" {best['across']:.3f}."
            )
            if len(same):
                found.append(f"{target}: {', '.join(same)} never differ between lists of the same query.")
        return found

    def limits(self) -> list[str]:
        error = 1 / np.sqrt(self.about["repeats"])
        left_out = self.about["left_out"]
        return [
            f"The correlation over repetitions is itself drawn: where it is 0, {self.about['repeats']:,} of them leave"
            f" a standard error of {error:.3f} about the limit. More repetitions say nothing about other queries; the"
            " interval does.",
            *([f"Left out, with one configuration only: {left_out:,} of {left_out + self.about['queries']:,} queries."]
              if left_out else []),
        ]  # fmt: skip

    def _caption(self) -> str:
        about = self.about
        return (
            f"{about['configurations']:,} configurations of {about['queries']:,} queries with two or more;"
            f" {about['left_out']:,} with one left out; {about['repeats']:,} repetitions; intervals:"
            f" {about['confidence']:.0%} bootstrap over queries, {about['resamples']:,} resamples; seed"
            f" {about['seed']}."
        )


def _checked(
    values: pd.DataFrame, targets: list[str], topic: str, measures: Sequence[str] | None
) -> tuple[pd.DataFrame, list[str]]:
    if not isinstance(values, pd.DataFrame):
        raise BadRatings(f"configurations are a DataFrame, not {type(values).__name__}.")
    values = values.reset_index(drop=topic in values)
    if measures is None:
        kept = values.select_dtypes("number").columns
        measures = [name for name in kept if name not in (*targets, topic, "n", "index")]
    names = list(dict.fromkeys(measures))
    for name in (topic, *targets, *names):
        if name not in values:
            raise BadRatings(f"the configurations have no column {name!r}. {near(str(name), map(str, values.columns))}")
    if not names:
        raise BadRatings("the configurations have no column of scores: give measures=['ERR', …].")
    for name in (topic, *targets, *names):
        if (values.columns == name).sum() > 1:
            raise BadRatings(f"the configurations have more than one column {name!r}: keep one.")
    for name in (*targets, *names):
        numbers = pd.to_numeric(values[name], errors="coerce").to_numpy(float)
        if not np.isfinite(numbers).all():
            row = int((~np.isfinite(numbers)).argmax())
            raise BadRatings(
                f"{name!r} has {str(values[name].iloc[row])!r} in row {row}: leave out what has no number."
            )
    if values[topic].isna().any():
        raise BadRatings(f"row {int(values[topic].isna().to_numpy().argmax())} has no {topic!r}.")
    return values, names


def _groups(topics: pd.Series) -> tuple[Array, Array, Array]:
    """Of each row the number of its query; where each query's rows begin, and how many there are."""
    codes = pd.factorize(topics)[0]
    size = np.bincount(codes)
    return codes, np.cumsum(size) - size, size


def _drawn(numbers: Array, start: Array, size: Array, repeats: int, seed: int) -> Array:
    """The differences of the two systems, [repeats × columns]."""
    rng = np.random.default_rng(seed)
    differences = np.empty((repeats, numbers.shape[1]))
    for some in np.array_split(np.arange(repeats), repeats * len(size) * numbers.shape[1] // _CELLS + 1):
        first = rng.integers(0, size, (len(some), len(size)))
        second = rng.integers(0, size - 1, (len(some), len(size)))
        second += second >= first  # any but the first
        differences[some] = (numbers[start + first] - numbers[start + second]).mean(axis=1)
    return differences


def _products(above: Array, start: Array, size: Array, k: int) -> Array:
    """Of each query the variances of its columns, and covariances of measures with targets [queries × (columns + k ×
    targets)], some queries at a time.
    """
    parts = []
    each = above.shape[1] + k * (above.shape[1] - k)
    for some in np.array_split(np.arange(len(size)), len(above) * each // _CELLS + 1):
        if len(some):
            rows = above[start[some[0]] : start[some[-1]] + size[some[-1]]]
            sums = np.add.reduceat(_multiplied(rows, k), start[some] - start[some[0]])
            parts.append(sums / (size[some] - 1)[:, None])
    return np.concatenate(parts)


def _multiplied(rows: Array, k: int) -> Array:
    """Squares of all columns, and products of the first k with the others."""
    return np.concatenate([rows**2, (rows[:, :k, None] * rows[:, None, k:]).reshape(len(rows), -1)], axis=1)


def _resampled(products: Array, resamples: int, seed: int) -> Array:
    """Their sums over queries that are drawn anew [resamples × …], some resamples at a time."""
    rng, queries = np.random.default_rng(seed), len(products)
    sizes = [len(some) for some in np.array_split(np.arange(resamples), resamples * queries // _CELLS + 1)]
    return np.concatenate([rng.multinomial(queries, np.full(queries, 1 / queries), n) @ products for n in sizes])


def _correlations(columns: Array, k: int) -> Array:
    """Of the first k columns with the others, [measures × targets]; NaN where one does not vary."""
    return _ratio(_multiplied(standardised(columns), k).sum(axis=0), k)


def _ratio(products: Array, k: int) -> Array:
    """From sums of what ``_multiplied`` makes [… × products] to correlations [… × measures × targets]."""
    targets = (products.shape[-1] - k) // (k + 1)
    own, above = products[..., : k + targets], products[..., k + targets :].reshape(*products.shape[:-1], k, targets)
    below = np.sqrt(own[..., :k, None] * own[..., None, k:])
    return np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)


def plot_virtual_systems(study: Any, target: str | None = None, ax: Any = None) -> Any:
    """Correlation of differences with those of a target (the first), a row for each measure.

    The dot is the limit, the line its interval, the cross the correlation over the repetitions, and the hollow square
    that over all configurations. ``study.of(target)`` has the numbers.
    """
    ax = axes_of(ax)
    target = study.about["targets"][0] if target is None else target
    rows = study.of(target).iloc[::-1]
    y = np.arange(len(rows))
    ax.hlines(y, rows["limit_low"], rows["limit_high"], color=STAY, linewidth=1.6)
    ax.plot(rows["limit"], y, "o", color=STAY, markersize=6)
    ax.plot(rows["repeated"], y, "x", color="black", markersize=5)
    ax.plot(rows["across"], y, "s", color=GREY, markersize=5, markerfacecolor="none")
    ax.axvline(0, color=GREY, linewidth=0.6)
    ax.set_yticks(y, [in_picture(name) for name in rows["measure"]])
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.set_xlabel(
        f"correlation with {in_picture(target)}\n"
        f"● limit, interval · × {study.about['repeats']:,} repetitions · □ all lists",
        fontsize=8,
    )
    return titled(ax, f"{study.about['queries']:,} queries, {study.about['configurations']:,} lists")
