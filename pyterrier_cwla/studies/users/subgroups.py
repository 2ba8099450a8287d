"""Correlation of measures with ratings in subgroups: by query length, query frequency, user, interface."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ..._version import __version__
from ...errors import BadParameter, BadRatings, many, near
from ...errors.parameter_checks import check_share, check_whole
from ...errors.sanitise import in_picture
from ...measures.labels import by_name
from ...measures.parsing import measures_of
from ...rendering.figures import GREY, axes_of, titled
from ...rendering.labels import key, label_ends, measure_look, name_rows
from ..coefficient_names import (
    CORRELATIONS,
    LABELS,
    check_coefficient,
    is_weighted,
    plain_name,
    weights_of,
    with_weighted,
)
from ..correlation import rounded
from ..directions import signs_of, where_less_is_better, why_negated
from ..report import Finding, Picture, Table
from ..resampling import around
from ..study import Study
from .ratings import Rated, how_resampled, title_of, why_not_all
from .resampled_correlations import above_group_means, correlations, resample_counts

Array = np.ndarray

_CANCELLED = 1e-12  # rounding error of sums of squares, relative to the sum
_FEWEST = 3  # minimum number of ratings of a part: the correlation of two is 1 or −1


def splits(
    rated: Rated,
    measures: Iterable[Any] | Mapping[str, Any],
    by: str,
    bins: int | None = None,
    coefficient: str = "pearson",
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Splits:
    """Correlate measures with ratings in each part of the ratings.

    Rows of ``kind`` "part" are single parts, and rows of "all" all ratings together. For Pearson's r, weighted or not,
    there is also "within": the correlation of the deviations of scores and ratings from the means of their part. The
    correlation over all ratings can be above the correlations in all parts (if users like some parts better and these
    parts have higher scores), below them, or of the opposite sign; this effect is called *amalgamation*. "within" does
    not compare parts with each other.

    Scores of which less is better are negated, so that a greater correlation is better for every measure.

    Intervals are computed from the bootstrap standard error over ratings or, if users are known, over users with all of
    their ratings. Parts with fewer than 3 ratings are left out and counted.

    To use clicks instead of ratings, take ``found`` of
    :func:`pyterrier_cwla.behaviour.clicks.click_positions.click_metrics` and
    ``Rated.lists(found.qrels, found.run, ratings)``, where ``ratings`` are its ``configurations`` with the columns
    ``query_id``, ``rating`` (such as MeanRR) and ``n``. ``coefficient="weighted_pearson"`` is then the correlation of
    Chapelle et al.

    Parameters
    ----------
    rated : Rated
        Rated lists or sessions.
    measures : iterable or mapping
        Measures as for :meth:`Rated.scores`.
    by : str
        Column of ``rated.table``. Each of its values is a part.
    bins : int, optional
        Number of parts, from 2, if the column is numeric and is to be binned. Parts have about the same number of
        ratings, in ascending order of the values. Equal values are not separated, so that there may be fewer parts.
    coefficient : str, default="pearson"
        "pearson", "spearman" or "tau_b", where each rating counts once; or "weighted_pearson", "weighted_spearman" or
        "weighted_tau_b", where it counts as often as its column ``n`` specifies.
    resamples : int, default=1000
        Number of bootstrap resamples, from 100.
    confidence : float in (0, 1), default=0.95
        Level of the intervals.
    seed : int, default=0
        Seed of the resamples.

    Returns
    -------
    Splits

    Raises
    ------
    BadParameter
        If there is no such column, or a parameter is out of range.
    BadRatings
        If no part has enough ratings.

    References
    ----------
    Chapelle et al. (2009), section 6.3: Tables 4 and 5, Figure 4; Good and Mittal (1987) for amalgamation.

    Examples
    --------
    >>> qrels = {str(q): {"a": 1} for q in range(6)}
    >>> run = {str(q): {"x": 2.0, "a": 3.0 if q % 3 == 0 else 1.0} for q in range(6)}
    >>> ratings = pd.DataFrame({"query_id": list("012345"), "rating": [3, 1, 2, 5, 4, 3], "words": [1, 1, 1, 2, 2, 2]})
    >>> found = splits(Rated.lists(qrels, run, ratings), ["RR"], by="words", resamples=100)
    >>> found.table[["part", "ratings", "correlation"]].round(3)
         part  ratings  correlation
    0     all        6        0.548
    1  within        6        0.866
    2       1        3        0.866
    3       2        3        0.866
    """
    _check(rated, by, coefficient)
    check_whole(100, resamples=resamples)
    check_share(0.95, confidence=confidence)
    names, part = _parts(rated.table[by], by, bins)
    sizes = np.bincount(part[part >= 0], minlength=len(names))
    small = sizes < _FEWEST
    if small.all():
        raise BadRatings(f"no part by {by!r} has {_FEWEST} ratings: give bins= to merge neighbouring numbers.")
    named = by_name(measures_of(measures))
    lower = where_less_is_better(named)
    scores = rated.scores(list(named.values())) * signs_of(named, lower)
    y, counts = rated.ratings, _counts(rated, coefficient, resamples, seed)
    large = np.flatnonzero(~small)
    of_kinds = [("all", "all", np.full(len(y), True)), *(("part", names[at], part == at) for at in large.tolist())]
    found = [(*of, _correlated(scores[of[2]], y[of[2]], counts[of[2]], coefficient)) for of in of_kinds]
    if plain_name(coefficient) == "pearson":
        inside = np.isin(part, large)
        within = _within(scores.to_numpy()[inside], y[inside], counts[inside], part[inside])
        found.insert(1, ("within", "within", inside, within))
    rows = []
    for kind, name, some, of_kind in found:
        size = int(some.sum())
        units = size if rated.users is None else len(np.unique(rated.users[some]))
        low, high = around(of_kind[:, 0], of_kind[:, 1:], confidence, units)
        of_measures = {"measure": list(scores), "correlation": of_kind[:, 0], "low": low, "high": high}
        rows.append(pd.DataFrame({"kind": kind, "part": name, "ratings": size, **of_measures}))
    about = {
        "version": __version__,
        "measures": list(scores),
        "less_is_better": lower,
        "by": by,
        "bins": bins,
        "coefficient": coefficient,
        "resampled": f"{rated.unit}s",
        "resamples": resamples,
        "confidence": confidence,
        "seed": seed,
        "small_parts": int(small.sum()),
        "in_small_parts": int(sizes[small].sum()),
        "unknown": int((part < 0).sum()),
        **rated.about(is_weighted(coefficient)),
    }
    return Splits(pd.concat(rows, ignore_index=True), about)


def _check(rated: Rated, by: str, coefficient: str) -> None:
    if by not in rated.table or by == "rating":
        known = [name for name in rated.table if name not in ("rating", "n")]
        raise BadParameter(f"the ratings have no column {by!r} to split by. {near(str(by), map(str, known))}")
    check_coefficient(
        coefficient, with_weighted(CORRELATIONS), rated.weights, "parts of the ratings have correlations only."
    )
    if rated.what == "pair":
        raise BadParameter("preferences have no correlation: use Rated.only(mask) to select a part of them.")


@dataclass(frozen=True, eq=False, repr=False)
class Splits(Study):
    """Correlations in parts of the ratings; the result of :func:`splits`.

    Attributes
    ----------
    table : DataFrame
        A row for each part and measure, and for each measure over all ratings and within parts.
    about : dict
        Settings, sizes and hash of the input.
    """

    table: pd.DataFrame
    about: dict[str, Any]

    @property
    def title(self) -> str:  # type: ignore[override]
        """Title of the report."""
        return f"{LABELS[self.about['coefficient']]} with ratings by {self.about['by']}"

    @property
    def parts(self) -> pd.DataFrame:
        """Rows of the single parts."""
        return self.table[self.table["kind"] == "part"].reset_index(drop=True)

    def matrix(self) -> pd.DataFrame:
        """Return correlations with measures in rows, and "all", "within" and the parts in columns."""
        columns = [
            rows.set_index("measure")["correlation"].rename(part)
            for (_, part), rows in self.table.groupby(["kind", "part"], sort=False)
        ]
        return pd.concat(columns, axis=1)

    def tables(self) -> dict[str, Table]:
        """Return the tables of the report by file name."""
        return {"splits": Table(self.title, self._caption(), self.table.astype({"part": str}))}

    def pictures(self) -> dict[str, Picture]:
        """Return the pictures of the report by file name."""
        size = (7.0, _height(self))
        return {"splits": Picture(self.title, self._caption(), partial(plot_splits, self), self.parts, size)}

    def headline(self) -> str:
        """Return what was found, in one sentence."""
        whole = self.table[self.table["kind"] == "all"].dropna(subset="correlation")
        if whole.empty:
            return "No measure tells the rated items apart."
        best = whole.loc[whole["correlation"].idxmax()]
        value = f"{LABELS[self.about['coefficient']]} {best['correlation']:.2f}"
        said = f"{best['measure']} correlates best with all ratings ({value})"
        of_parts = self.parts.loc[self.parts["measure"] == best["measure"], "correlation"].dropna()
        if of_parts.empty:
            return f"{said}, and in no part by {self.about['by']}."
        ends = f"{of_parts.min():.2f}" + (f" to {of_parts.max():.2f}" if len(of_parts) > 1 else "")
        return f"{said}; in {many(len(of_parts), 'part')} by {self.about['by']} the correlation is {ends}."

    def findings(self) -> list[str]:
        """Return the findings, with the picture that they rest on."""
        return [Finding(sentence, "splits") for sentence in self._sentences()]

    def _sentences(self) -> list[str]:
        found = []
        for name, rows in self.parts.groupby("measure", sort=False):
            whole = self.table[(self.table["measure"] == name) & (self.table["kind"] != "part")]
            overall = whole.set_index("kind")["correlation"]
            said = [f"{overall['all']:.3f} over all" if np.isfinite(overall["all"]) else "none over all"]
            if "within" in overall:
                said.append(
                    f"{overall['within']:.3f} within parts" if np.isfinite(overall["within"]) else "none within parts"
                )
            if rows["correlation"].isna().all():
                found.append(
                    f"{name}: {', '.join(said)}; in every part scores or ratings are constant, so that no correlation"
                    " is defined."
                )
                continue
            low, high = rows.loc[rows["correlation"].idxmin()], rows.loc[rows["correlation"].idxmax()]
            found.append(
                f"{name}: {', '.join(said)}; lowest for {self.about['by']} = {low['part']} ({low['correlation']:.3f},"
                f" {low['low']:.3f} to {low['high']:.3f}), highest for {high['part']} ({high['correlation']:.3f},"
                f" {high['low']:.3f} to {high['high']:.3f})."
            )
            if (rows["correlation"] < overall["all"]).all():
                found.append(f"{name}: in every part the correlation is below that over all (amalgamation).")
        return found

    def limits(self) -> list[str]:
        """Return conclusions that the study does not support, one sentence each."""
        about = self.about
        small, unknown = about["in_small_parts"], about["unknown"]
        return [
            "Intervals are those of single parts; the lowest and the highest of many parts differ by chance alone.",
            "A correlation over all also compares parts with each other, which may differ in other respects.",
            *([f"Left out, fewer than {_FEWEST} to a part: {many(small, 'rating')}."] if small else []),
            *([f"In no part, {about['by']} not known: {many(unknown, 'rating')}."] if unknown else []),
            *why_negated(about["less_is_better"]),
            *why_not_all(about),
        ]

    def _caption(self) -> str:
        return how_resampled(self.about)


def _parts(column: pd.Series, by: str, bins: int | None) -> tuple[list[Any], Array]:
    """Return names of parts, and the number of the part of each rating; −1 if the property is missing."""
    if bins is None:
        part, names = pd.factorize(column, sort=True)
        return [name.item() if isinstance(name, np.generic) else name for name in names], part
    check_whole(2, bins=bins)
    if not pd.api.types.is_numeric_dtype(column):
        raise BadParameter(f"{by!r} is not a column of numbers: leave out bins=.")
    # Half of the ties of a rating count as below it: tied ratings go to the bin of their middle position.
    below = ((column.rank() - 0.5) / column.notna().sum()).to_numpy()
    found, part = np.unique((below[~np.isnan(below)] * bins).astype(int), return_inverse=True)
    codes = np.full(len(column), -1)
    codes[~np.isnan(below)] = part
    ends_of = column.groupby(codes).agg(["min", "max"]).loc[range(len(found))].to_numpy()
    return [f"{low:g} to {high:g}" if low < high else f"{low:g}" for low, high in ends_of], codes


def _counts(rated: Rated, coefficient: str, resamples: int, seed: int) -> Array:
    """Return how often each rating counts in the sample and in each resample, [ratings × (1 + resamples)]."""
    drawn = np.column_stack([np.ones(len(rated)), resample_counts(len(rated), rated.users, resamples, seed)])
    weights = weights_of(coefficient, rated.weights)
    return drawn if weights is None else drawn * weights[:, None]


def _correlated(scores: pd.DataFrame, y: Array, counts: Array, coefficient: str) -> Array:
    """Return correlations [measures × samples]; NaN if a sample has none of these ratings."""
    x = scores.to_numpy().T
    there = counts.sum(axis=0) > 0
    found = np.full((len(x), counts.shape[1]), np.nan)
    name = plain_name(coefficient)
    found[:, there] = correlations([name], x, y, counts[:, there])[name]
    return found


def _within(x: Array, y: Array, counts: Array, part: Array) -> Array:
    """Return Σ of the parts' covariances / √ of Σ of their variances, [measures × samples], or NaN."""
    x, y = above_group_means(rounded(x), part).T, above_group_means(rounded(y)[:, None], part)[:, 0]
    above, of_x, of_y = (x * y) @ counts, (x * x) @ counts, (y * y) @ counts
    least_x, least_y = _CANCELLED * of_x, _CANCELLED * of_y
    for number in np.unique(part):
        mine = part == number
        w, a, b = counts[mine], x[:, mine], y[mine]
        n = np.maximum(w.sum(axis=0), 1e-300)
        sum_a, sum_b = a @ w, b @ w
        above, of_x, of_y = above - sum_a * sum_b / n, of_x - sum_a**2 / n, of_y - sum_b**2 / n
    varies = (of_x > least_x) & (of_y > least_y)
    return np.divide(above, np.sqrt(of_x * of_y, where=varies, out=np.ones(above.shape)), where=varies,
                     out=np.full(above.shape, np.nan))  # fmt: skip


def plot_splits(study: Any, ax: Any = None) -> Any:
    """Plot the correlation of each measure in each part, with intervals.

    Bins of numbers lie along the horizontal axis and are joined by lines; other parts are rows. ``study.parts`` has the
    numbers.

    Parameters
    ----------
    study : Splits
        Study to plot.
    ax : matplotlib Axes, optional
        By default new axes.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_of(ax, (7, _height(study)))
    coefficient = LABELS[study.about["coefficient"]]
    if study.about["bins"]:
        _columns(study, ax)
        ax.set_ylabel(coefficient)
    else:
        _rows(study, ax)
        ax.set_xlabel(coefficient)
    titled(ax, f"Agreement with ratings by {in_picture(study.about['by'])} · {title_of(study.about)}")
    if not study.about["bins"]:
        looks = {name: {**measure_look(number), "linestyle": "-"} for number, name, *_ in _places(study)}
        key(ax, looks)
    return ax


def _height(study: Any) -> float:
    """Return the height of the picture in inches."""
    parts, measures = study.parts["part"].nunique(), len(study.about["measures"])
    return 3.6 if study.about["bins"] else max(2.0, 1.2 + parts * (0.1 + 0.08 * measures) + 0.15 * measures)


def _places(study: Any) -> Iterator[tuple[int, str, pd.DataFrame, Array]]:
    """Yield number, name, rows and positions of each measure; measures are side by side at each part."""
    measures = study.about["measures"]
    for number, name in enumerate(measures):
        rows = study.parts[study.parts["measure"] == name]
        yield number, name, rows, np.arange(len(rows)) + 0.6 * ((number + 0.5) / len(measures) - 0.5)


def _columns(study: Any, ax: Any) -> None:
    curves, looks = {}, {}
    for number, name, rows, x in _places(study):
        looks[name] = measure_look(number)
        ax.vlines(x, rows["low"], rows["high"], color=looks[name]["color"], linewidth=0.8, alpha=0.6)
        ax.plot(x, rows["correlation"], markersize=4, linewidth=1.4, **looks[name])
        curves[name] = (x, rows["correlation"].to_numpy())
    ax.axhline(0, color=GREY, linewidth=0.6)
    sizes = study.parts.drop_duplicates("part")["ratings"]
    ax.set_xticks(range(len(sizes)), range(1, len(sizes) + 1))
    ax.set_xlim(-0.5, len(sizes) - 0.5)
    by = in_picture(study.about["by"])
    ax.set_xlabel(f"{by}, lowest to highest (bins of {sizes.min():,} to {sizes.max():,} ratings)")
    label_ends(ax, curves, looks)


def _rows(study: Any, ax: Any) -> None:
    for number, _, rows, y in _places(study):
        look = {**measure_look(number), "linestyle": "none"}
        ax.hlines(y, rows["low"], rows["high"], color=look["color"], linewidth=0.8, alpha=0.6)
        ax.plot(rows["correlation"], y, markersize=4, **look)
    ax.axvline(0, color=GREY, linewidth=0.6)
    parts = study.parts.drop_duplicates("part")
    labels = [f"{text} ({size:,})" for text, size in zip(parts["part"].astype(str), parts["ratings"], strict=True)]
    ax.hlines(np.arange(1, len(labels)) - 0.5, 0, 1, transform=ax.get_yaxis_transform(), color=GREY, linewidth=0.4)
    name_rows(ax, range(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.set_ylabel(f"{in_picture(study.about['by'])} (ratings)")
