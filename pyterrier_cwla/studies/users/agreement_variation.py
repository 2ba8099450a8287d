"""Agreement with users for each value of a parameter, and in parts of the ratings.

Question: how does the agreement with users change with a parameter of the metric, and does it hold in each part of the
ratings?

Method: a measure with a placeholder is scored for each value, or the ratings are divided by a property, and the
agreement is computed for each (Chapelle et al., 2009, sections 6.3 and 7.1). Intervals come from the bootstrap over
users or ratings, and all values share the resamples. Within parts, scores and ratings are deviations from the means of
their part, which does not compare parts with each other (Good and Mittal, 1987).

Not to conclude: the highest point of a curve is chosen on the same ratings, and the extremes of many parts differ by
chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from string import Template as Text
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from ir_measures.measures import Measure

from ...errors import BadParameter, BadRatings, CWLAError, check_share, check_whole, many, near, some
from ...errors.sanitise import in_picture
from ...measures.labels import Measures, by_name
from ...measures.named import measures_of
from ...measures.sessions import of_sessions
from ...rendering.figures import (
    GREY,
    axes_of,
    key,
    label_ends,
    measure_look,
    name_at,
    name_columns,
    name_rows,
    saved,
    titled,
)
from ...rendering.numbers import fixed_point, interval_of, percent, with_interval
from ...tasks.result_cache import Layout, Piece, Pieces
from ..correlation import (
    CORRELATIONS,
    LABELS,
    around,
    check_coefficient,
    is_weighted,
    plain_name,
    rounded,
    weights_of,
    where_less_is_better,
    why_negated,
    with_weighted,
)
from ..report import About, Finding, Picture, Pictures, Study, Table, Tables, plot_curves, reported
from .rating_correlations import above_group_means, coefficients, sample_and_resamples
from .ratings import Rated, better_scores, how_resampled, what_was_rated, why_not_all

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...files.atomic import AnyPath

Array = np.ndarray
Values = dict[str, Any]

_DIGITS = 4  # significant digits of searched values: their uncertainty is much larger


@dataclass(frozen=True)
class Template:
    """A measure as a function of parameters.

    Parameters
    ----------
    source : str or callable
        Text with a ``$name`` for each parameter, such as ``"RBP(p=$phi,rel=1)"``, or a function that takes the
        parameters by name and returns a measure or its text. Texts follow ``string.Template``, because specs themselves
        contain braces.

    Examples
    --------
    >>> Template("TBG(half_life=$h)").measure({"h": 31})
    TBG(half_life=31)
    """

    source: str | Callable[..., Any]

    @classmethod
    def parse(cls, given: str | Callable[..., Any] | Template) -> Template:
        """Return a template made from its source; a template is returned unchanged."""
        return given if isinstance(given, Template) else cls(given)

    def measure(self, values: Mapping[str, Any]) -> Measure:
        """Return the measure with these parameter values; errors name the values."""
        try:
            made = Text(self.source).substitute(values) if isinstance(self.source, str) else self.source(**values)
            return of_sessions([made])[0]
        except CWLAError as error:
            raise type(error)(f"with {parameters_text(values)}: {error}") from error

    def check(self, names: Sequence[str]) -> None:
        """Check that each parameter has a placeholder in the text, and each placeholder a parameter."""
        if not isinstance(self.source, str):
            if not callable(self.source):
                raise BadParameter(f"a template is a text with $names or a function, not {self.source!r}.")
            return
        text = Text(self.source)
        if not text.is_valid():
            raise BadParameter(f"{self.source!r}: write a parameter as $name, and a dollar sign as $$.")
        places = text.get_identifiers()
        for name in places:
            if name not in names:
                raise BadParameter(f"{self.source!r} has ${name}, but no range is given for it. {near(name, names)}")
        for name in names:
            if name not in places:
                raise BadParameter(f"{self.source!r} has no ${name}; it has {some(f'${p}' for p in places) or 'none'}.")

    def __str__(self) -> str:
        return self.source if isinstance(self.source, str) else getattr(self.source, "__qualname__", repr(self.source))


@dataclass(frozen=True)
class Range:
    """Values of a parameter: the numbers between two ends, or a list of choices.

    A position in a range is a number from 0 to 1. For numbers it is the relative distance from the lower end to the
    upper end, on a logarithmic scale if the upper end is at least 100 times the lower. For a list it is proportional to
    the index of the value.

    Parameters
    ----------
    low, high : float
        Ends of the range.
    choices : tuple, default=()
        Values of a list; if there are any, ``low`` and ``high`` are ignored.
    """

    low: float = 0.0
    high: float = 1.0
    choices: tuple[Any, ...] = ()

    @classmethod
    def parse(cls, given: Any, name: str) -> Range:
        """Return the range given by (low, high), a ``range`` of whole numbers, or a list of values."""
        if isinstance(given, Range):
            return given
        if isinstance(given, tuple) and len(given) == 2 and all(isinstance(end, int | float) for end in given):
            if not (np.isfinite(given).all() and given[0] < given[1]):
                raise BadParameter(f"the range of {name}, {given!r}, must go from a number to a higher number.")
            return cls(float(given[0]), float(given[1]))
        if isinstance(given, range | list | np.ndarray):
            choices = tuple(v.item() if isinstance(v, np.generic) else v for v in given)
            if len(set(map(repr, choices))) == len(choices) > 0:
                return cls(choices=choices)
            raise BadParameter(f"the values of {name} must be a non-empty list without duplicates, not {given!r}.")
        raise BadParameter(
            f"the range of {name} must be (low, high) for numbers, range(…) for whole numbers, or a list of values; not"
            f" {given!r}."
        )

    @property
    def size(self) -> float:
        """Number of values of a list, or infinity."""
        return len(self.choices) or np.inf

    @property
    def log(self) -> bool:
        """Whether the scale is logarithmic."""
        return not self.choices and self.low > 0 and self.high / self.low >= 100

    def value(self, place: float) -> Any:
        """Return the value at a position in [0, 1]."""
        if self.choices:
            return self.choices[min(int(place * len(self.choices)), len(self.choices) - 1)]
        along = self.low * (self.high / self.low) ** place if self.log else self.low + (self.high - self.low) * place
        return min(max(float(f"{along:.{_DIGITS}g}"), self.low), self.high)

    def grid(self, points: int) -> list[Any]:
        """Return ``points`` evenly spaced values; for a list, all values in order."""
        return list(self.choices) or list(dict.fromkeys(self.value(place) for place in np.linspace(0, 1, points)))

    def __contains__(self, value: Any) -> bool:
        if self.choices:
            return value in self.choices
        return isinstance(value, int | float | np.number) and bool(self.low <= value <= self.high)

    def __str__(self) -> str:
        if not self.choices:
            return f"{self.low:g} to {self.high:g}" + (" (logarithmic)" if self.log else "")
        if len(self.choices) > 5:
            return f"{self.choices[0]}, {self.choices[1]}, …, {self.choices[-1]}"
        return ", ".join(map(str, self.choices))


def parameters_text(values: Mapping[str, Any]) -> str:
    """Format parameters for display: ``h=31, s1=0.2``."""
    return ", ".join(f"{name}={value}" for name, value in values.items())


_CANCELLED = 1e-12  # rounding error of sums of squares, relative to the sum
_FEWEST = 3  # minimum number of ratings of a part: the correlation of two is 1 or −1


@reported("by bins coefficient resamples confidence seed")
def splits(
    rated: Rated,
    measures: Measures,
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
    scores, samples = better_scores(rated, named), sample_and_resamples(len(rated), rated.users, resamples, seed)
    weights = weights_of(coefficient, rated.weights)
    counts, plain = samples if weights is None else samples * weights[:, None], plain_name(coefficient)
    large = np.flatnonzero(~small).tolist()
    kinds = [("all", "all", np.full(len(rated), True)), *(("part", names[at], part == at) for at in large)]
    if plain == "pearson":
        kinds.insert(1, ("within", "within", np.isin(part, large)))
    rows = []
    for kind, name, inside in kinds:
        y, mine = rated.ratings[inside], counts[inside]
        if kind == "within":
            found = _within(scores.to_numpy()[inside], y, mine, part[inside])
        else:
            found, there = np.full((len(named), counts.shape[1]), np.nan), mine.sum(axis=0) > 0
            found[:, there] = coefficients([plain], scores[inside].to_numpy().T, y, mine[:, there])[plain]
        size = int(inside.sum())
        units = size if rated.users is None else len(np.unique(rated.users[inside]))
        low, high = around(found[:, 0], found[:, 1:], confidence, units)
        of_measures = {"measure": list(scores), "correlation": found[:, 0], "low": low, "high": high}
        rows.append(pd.DataFrame({"kind": kind, "part": name, "ratings": size, **of_measures}))
    about = {
        "measures": list(scores),
        "less_is_better": where_less_is_better(named),
        "resampled": f"{rated.unit}s",
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
    about: About

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

    def tables(self) -> Tables:
        """Return the tables of the report by file name."""
        return {"splits": Table(self.title, how_resampled(self.about), self.table.astype({"part": str}))}

    def pictures(self) -> Pictures:
        """Return the pictures of the report by file name."""
        draw, size = partial(plot_splits, self), (7.0, _height(self))
        return {"splits": Picture(self.title, how_resampled(self.about), draw, self.parts, size)}

    def headline(self) -> str:
        """Return what was found, in one sentence."""
        whole = self.table[self.table["kind"] == "all"].dropna(subset="correlation")
        if whole.empty:
            return "No measure tells the rated items apart."
        best = whole.loc[whole["correlation"].idxmax()]
        value = f"{LABELS[self.about['coefficient']]} {fixed_point(best['correlation'], 2)}"
        said = f"{best['measure']} correlates best with all ratings ({value})"
        of_parts = self.parts.loc[self.parts["measure"] == best["measure"], "correlation"].dropna()
        if of_parts.empty:
            return f"{said}, and in no part by {self.about['by']}."
        ends = fixed_point(of_parts.min(), 2) + (f" to {fixed_point(of_parts.max(), 2)}" if len(of_parts) > 1 else "")
        return f"{said}; in {many(len(of_parts), 'part')} by {self.about['by']} the correlation is {ends}."

    def findings(self) -> list[str]:
        """Return the findings, with the picture that they rest on."""
        ends = ["correlation", "low", "high"]
        found, where = [], {"all": "over all", "within": "within parts"}
        for name, of_measure in self.table.groupby("measure", sort=False):
            overall = of_measure[of_measure["kind"] != "part"].set_index("kind")["correlation"]
            values = {kind: fixed_point(value, 3) or "none" for kind, value in overall.items()}
            said = f"{name}: {', '.join(f'{value} {where[kind]}' for kind, value in values.items())}"
            rows = of_measure[of_measure["kind"] == "part"]
            if rows["correlation"].isna().all():
                found.append(
                    f"{said}; in every part scores or ratings are constant, so that no correlation is defined."
                )
                continue
            low, high = rows.loc[rows["correlation"].idxmin()], rows.loc[rows["correlation"].idxmax()]
            found.append(
                f"{said}; lowest for {self.about['by']} = {low['part']} ({with_interval(*low[ends])}),"
                f" highest for {high['part']} ({with_interval(*high[ends])})."
            )
            if (rows["correlation"] < overall["all"]).all():
                found.append(f"{name}: in every part the correlation is below that over all (amalgamation).")
        return [Finding(sentence, "splits") for sentence in found]

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


def _parts(column: pd.Series, by: str, bins: int | None) -> tuple[list[Any], Array]:
    """Return names of parts, and the number of the part of each rating; −1 if the property is missing."""
    if bins is None:
        part, names = pd.factorize(column, sort=True)
        return [name.item() if isinstance(name, np.generic) else name for name in names], part
    check_whole(2, bins=bins)
    if not pd.api.types.is_numeric_dtype(column):
        raise BadParameter(f"{by!r} is not a column of numbers: leave out bins=.")
    # Half of the ties of a rating count as below it: tied ratings go to the bin of their middle position.
    below = (column.rank() - 0.5) / column.notna().sum()
    part = pd.factorize(below * bins // 1, sort=True)[0]
    ends_of = column[part >= 0].groupby(part[part >= 0]).agg(["min", "max"]).to_numpy()
    return [f"{low:g} to {high:g}" if low < high else f"{low:g}" for low, high in ends_of], part


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
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(varies, above / np.sqrt(of_x * of_y), np.nan)


def plot_splits(study: Any, ax: Any = None, path: AnyPath | None = None) -> Axes:
    """Plot the correlation of each measure in each part, with intervals.

    Bins of numbers lie along the horizontal axis and are joined by lines; other parts are rows. ``study.parts`` has the
    numbers.

    Parameters
    ----------
    study : Splits
        Study to plot.
    ax : matplotlib Axes, optional
        By default new axes.
    path : path, optional
        File to which the figure is saved.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_of(ax, (7, _height(study)))
    coefficient = LABELS[study.about["coefficient"]]
    title = f"Agreement with ratings by {in_picture(study.about['by'])} · {what_was_rated(study.about)}"
    if study.about["bins"]:
        _columns(study, ax)
        ax.set_ylabel(coefficient)
        return saved(titled(ax, title), path)
    _rows(study, ax)
    ax.set_xlabel(coefficient)
    titled(ax, title)
    key(ax, {name: {**measure_look(number), "linestyle": "-"} for number, name, *_ in _places(study)})
    return saved(ax, path)


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
        ax.plot(x, rows["correlation"], label=name, markersize=4, linewidth=1.4, **looks[name])
        curves[name] = (x, rows["correlation"].to_numpy())
    ax.axhline(0, color=GREY, linewidth=0.6)
    sizes = study.parts.drop_duplicates("part")["ratings"]
    ax.set_xticks(range(len(sizes)), range(1, len(sizes) + 1))
    ax.fmt_xdata = partial(name_at, range(len(sizes)), range(1, len(sizes) + 1))
    by = in_picture(study.about["by"])
    label = f"{by}, lowest to highest (bins of {sizes.min():,} to {sizes.max():,} ratings)"
    ax.set(xlim=(-0.5, len(sizes) - 0.5), xlabel=label)
    label_ends(ax, curves, looks)


def _rows(study: Any, ax: Any) -> None:
    for number, _, rows, y in _places(study):
        look = {**measure_look(number), "linestyle": "none"}
        ax.hlines(y, rows["low"], rows["high"], color=look["color"], linewidth=0.8, alpha=0.6)
        ax.plot(rows["correlation"], y, markersize=4, **look)
    ax.axvline(0, color=GREY, linewidth=0.6)
    parts = study.parts.drop_duplicates("part")
    labels = [f"{row.part} ({row.ratings:,})" for row in parts.itertuples()]
    ax.hlines(np.arange(1, len(labels)) - 0.5, 0, 1, transform=ax.get_yaxis_transform(), color=GREY, linewidth=0.4)
    name_rows(ax, range(len(labels)), labels)
    ax.set(ylim=(len(labels) - 0.5, -0.5), ylabel=f"{in_picture(study.about['by'])} (ratings)")


@reported("resamples confidence seed")
def sensitivity(
    templates: Any,
    values: Mapping[str, Sequence[Any]],
    rated: Rated,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
    cache_dir: str | Path | None = None,
    progress: bool = True,
    n_jobs: int = 1,
) -> Sensitivity:
    """Correlate measures with ratings along the values of one parameter: Pearson's r, Spearman's ρ and Kendall's τ_b.

    Intervals are computed from the bootstrap standard error over ratings or, if users are known, over users with all of
    their ratings. All measures and parameter values share the same resamples, so that changes are paired. Each rating
    counts once. If the ratings have a column ``n``, the table also has coefficients with the prefix ``weighted_``, for
    which each rating counts n times.

    Parameters
    ----------
    templates : str, callable or mapping
        Text with a ``$name`` for the parameter, such as ``"AdaptiveRBP(p=0.8,effort='ratio($e)')@9"``, or a function of
        the parameter that returns a measure, or a dict of these by name.
    values : mapping
        Name of the parameter and its values, two or more: ``{"e": range(1, 11)}``.
    rated : Rated
        Rated lists or sessions.
    resamples : int, default=1000
        Number of bootstrap resamples, from 100.
    confidence : float in (0, 1), default=0.95
        Level of the intervals.
    seed : int, default=0
        Seed of the resamples.
    cache_dir : str or Path, optional
        Folder that caches correlations. Cached values are used only for equal scores and ratings.
    progress : bool, default=True
        Whether to show a progress bar.
    n_jobs : int, default=1
        Number of processes. Each process correlates one measure at a time.

    Returns
    -------
    Sensitivity

    Raises
    ------
    BadParameter
        If names do not match, or if the ratings are preferences, for which only agreement is defined.

    References
    ----------
    Jiang and Allan (2016), Figure 1.

    Examples
    --------
    >>> qrels = {q: {"a": 1, "b": 2} for q in "123456"}
    >>> lists = {"1": "ab", "2": "ba", "3": "a", "4": "b", "5": "xa", "6": "xb"}
    >>> run = {q: {d: -rank for rank, d in enumerate(docs)} for q, docs in lists.items()}
    >>> rated = Rated.lists(qrels, run, {"1": 4, "2": 5, "3": 2, "4": 4, "5": 1, "6": 2})
    >>> text = "CWLA(C='rbp($p)',A='erg',max_rel=2)"
    >>> found = sensitivity(text, {"p": [0.1, 0.5]}, rated, resamples=100, progress=False)
    >>> found.table[["p", "pearson", "spearman"]].round(3)
         p  pearson  spearman
    0  0.1    0.908     0.971
    1  0.5    1.000     1.000
    """
    check_share(0.95, confidence=confidence)
    check_whole(100, resamples=resamples)
    given = dict(templates) if isinstance(templates, Mapping) else {str(Template.parse(templates)): templates}
    named = {name: Template.parse(template) for name, template in given.items()}
    parameter, grid = _along(values, named, rated)
    measures = {name: [t.measure({parameter: value}) for value in grid] for name, t in named.items()}
    about_ratings = rated.about()
    identity = {"study": "sensitivity", "input": about_ratings["input"], "resamples": resamples,
                "confidence": confidence, "seed": seed}  # fmt: skip
    pieces = Pieces(identity, cache_dir, progress, n_jobs)
    numbered = [{str(k): measure for k, measure in enumerate(of)} for of in measures.values()]
    scores = [better_scores(rated, of).to_numpy().T.copy() for of in numbered]
    kinds = with_weighted(CORRELATIONS) if rated.weights is not None else list(CORRELATIONS)
    compute = partial(_curve, rated, kinds, resamples, confidence, seed)
    found = pieces.of_arrays(scores, compute, "correlating", "measures", _layout(len(grid), kinds))
    tables = [
        pd.DataFrame({"measure": name, parameter: grid, "text": list(map(str, measures[name])), **columns})
        for name, columns in zip(named, found)
    ]
    about = {
        "templates": {name: str(template) for name, template in named.items()},
        "less_is_better": [name for name, of in zip(named, numbered) if where_less_is_better(of)],
        "parameter": parameter,
        "values": grid,
        "resampled": f"{rated.unit}s",
        **about_ratings,
    }
    return Sensitivity(pd.concat(tables, ignore_index=True), about)


def _along(
    values: Mapping[str, Sequence[Any]], templates: Mapping[str, Template], rated: Rated
) -> tuple[str, list[Any]]:
    """Return the parameter and its values, after checking them against all templates."""
    if len(values) != 1:
        raise BadParameter(f"values= takes one parameter, not {many(len(values), 'parameter')}: fit() takes several.")
    ((parameter, grid),) = values.items()
    grid = [value.item() if isinstance(value, np.generic) else value for value in grid]
    if len(grid) < 2:
        raise BadParameter(f"{parameter} needs two values or more, not {grid!r}.")
    for template in templates.values():
        template.check([parameter])
    if rated.what == "pair":
        raise BadParameter("preferences have no correlation: fit(…, objective='agreement') has a curve of agreement.")
    return parameter, grid


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity(Study):
    """Correlations along the values of a parameter; the result of :func:`sensitivity`.

    Attributes
    ----------
    table : DataFrame
        A row for each measure and parameter value, with its ``text``, ``pearson``, ``spearman`` and ``tau_b``, the ends
        of their intervals (``pearson_low`` …), and the change of each from the first value (``pearson_change`` …). If
        the ratings have weights, also the same columns with the prefix ``weighted_``.
    about : dict
        Settings, sizes and hash of the input.
    """

    table: pd.DataFrame
    about: About

    @property
    def title(self) -> str:  # type: ignore[override]
        """Title of the report."""
        return f"Correlation with ratings along {self.about['parameter']}"

    def tables(self) -> Tables:
        """Return the tables of the report by file name."""
        return {"sensitivity": Table(self.title, how_resampled(self.about), self.table)}

    def pictures(self) -> Pictures:
        """Return the pictures of the report by file name."""
        along, caption = f"along {self.about['parameter']}", how_resampled(self.about)
        found = {}
        for kind in self.coefficients:
            title, draw = f"{LABELS[kind]} {along}", partial(plot_sensitivity, self, kind)
            found[f"sensitivity_{kind}"] = Picture(title, caption, draw, self.curves(kind))
            title, draw = f"Change of {title}, from the first value", partial(plot_change, self, kind)
            found[f"change_{kind}"] = Picture(title, caption, draw, self.curves(f"{kind}_change"))
        return found

    @property
    def coefficients(self) -> list[str]:
        """Names of the coefficients in the table."""
        return [name for name in with_weighted(CORRELATIONS) if name in self.table]

    def curves(self, coefficient: str = "pearson") -> pd.DataFrame:
        """Return a coefficient of each measure and parameter value, with the ends of its interval.

        Parameters
        ----------
        coefficient : str, default="pearson"
            Name of a coefficient, or of its change, such as "pearson_change".

        Returns
        -------
        DataFrame

        Raises
        ------
        BadParameter
            If the table does not have the coefficient.
        """
        if coefficient.removesuffix("_change") not in self.coefficients:
            raise BadParameter(f"these ratings have no {coefficient!r}. {near(coefficient, self.coefficients)}")
        columns = ["measure", self.about["parameter"], *(f"{coefficient}{end}" for end in ("", "_low", "_high"))]
        return self.table[columns]

    def headline(self) -> str:
        """Return what was found, in one sentence."""
        p, known = self.about["parameter"], self.table.dropna(subset="pearson")
        if known.empty:
            return f"All rated items have the same score for every {p}."
        best = known.loc[known["pearson"].idxmax()]
        rows = known.loc[known["measure"] == best["measure"], "pearson"]
        return (
            f"{best['measure']} correlates best with the ratings at {p} = {best[p]} (Pearson's r"
            f" {fixed_point(best['pearson'], 2)}; {fixed_point(rows.min(), 2)} to {fixed_point(rows.max(), 2)} over all"
            " values)."
        )

    def findings(self) -> list[str]:
        """Return the findings, with the picture that they rest on."""
        p, found = self.about["parameter"], []
        for name, rows in self.table.groupby("measure", sort=False):
            if rows["pearson"].isna().all():
                found.append(f"{name}: all rated items have the same score for every {p}: there is no correlation.")
                continue
            best, first = rows.loc[rows["pearson"].idxmax()], rows.iloc[0]
            change, low, high = (best[f"pearson_change{end}"] for end in ("", "_low", "_high"))
            highest = f"highest, {fixed_point(best['pearson'], 3)}, with {p} = {best[p]}"
            sentence = (
                f"{name}: Pearson's r is {fixed_point(first['pearson'], 3)} with {p} = {first[p]}, and {highest}:"
                f" a change of {fixed_point(change, 3, signed=True)} ({percent(self.about['confidence'])} interval"
                f" {interval_of(low, high, 3, signed=True)})."
            )
            if np.isnan(first["pearson"]):
                same = f"with {p} = {first[p]} all rated items have the same score"
                sentence = f"{name}: {same}; Pearson's r is {highest}."
            found.append(sentence)
        return [Finding(sentence, "sensitivity_pearson") for sentence in found]

    def limits(self) -> list[str]:
        """Return conclusions that the study does not support, one sentence each."""
        return [
            "The highest point of a curve is chosen on the same ratings and is therefore optimistic: fit() estimates"
            " the agreement with other users.",
            "All points of a curve are computed from the same ratings: even if bands overlap, a change may be"
            " significant; use the intervals of changes.",
            *why_negated(self.about["less_is_better"]),
            *why_not_all(self.about),
        ]


def _layout(values: int, kinds: list[str]) -> Layout:
    """Return the columns of :func:`_curve`."""
    drawn = [what for kind in kinds for what in (kind, f"{kind}_change")]
    return {what + end: ("f", (values,)) for what in drawn for end in ("", "_low", "_high")}


def _curve(rated: Rated, kinds: list[str], resamples: int, confidence: float, seed: int, scores: Array) -> Piece:
    """Return the columns of one measure, computed from its scores [values × ratings]."""
    samples = sample_and_resamples(len(rated), rated.users, resamples, seed)
    columns: Piece = {}
    for kind, values in coefficients(kinds, scores, rated.ratings, samples, rated.weights).items():
        for what, drawn, most in ((kind, values, 1), (f"{kind}_change", values - values[0], 2)):
            low, high = around(drawn[:, 0], drawn[:, 1:], confidence, rated.units, -most, most)
            columns |= {what: drawn[:, 0], f"{what}_low": low, f"{what}_high": high}
    return columns


_FEW = 3  # maximum number of bands that remain legible


def plot_sensitivity(study: Any, coefficient: str = "pearson", ax: Any = None, path: AnyPath | None = None) -> Axes:
    """Plot the correlation over the values of a parameter, a line for each measure.

    Bands are intervals. They are drawn for up to three measures; with more, only for the measure with the highest
    correlation. ``study.curves(coefficient)`` returns the numbers of all measures.

    Parameters
    ----------
    study : Sensitivity
        Study to plot.
    coefficient : str, default="pearson"
        Name of a coefficient.
    ax : matplotlib Axes, optional
        By default new axes.
    path : path, optional
        File to which the figure is saved.

    Returns
    -------
    matplotlib Axes
    """
    return saved(_drawn(study, coefficient, axes_of(ax), "Agreement with ratings", LABELS[coefficient]), path)


def plot_change(study: Any, coefficient: str = "pearson", ax: Any = None, path: AnyPath | None = None) -> Axes:
    """Plot the change of the correlation from the first value of a parameter.

    Lines and bands are as in :func:`plot_sensitivity`. ``study.curves("pearson_change")`` returns the numbers.

    Parameters
    ----------
    study : Sensitivity
        Study to plot.
    coefficient : str, default="pearson"
        Name of a coefficient.
    ax : matplotlib Axes, optional
        By default new axes.
    path : path, optional
        File to which the figure is saved.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_of(ax)
    ax.axhline(0, color=GREY, linewidth=0.6)
    what, label = "Change of the agreement with ratings", f"change of {LABELS[coefficient]}"
    return saved(_drawn(study, f"{coefficient}_change", ax, what, label), path)


def _drawn(study: Any, column: str, ax: Any, what: str, label: str) -> Any:
    """Draw lines, bands and the title, which says which measure has a band if not all measures have one."""
    values, data = study.about["values"], study.curves(column)
    numbers = all(isinstance(value, int | float) for value in values)
    x = np.array(values if numbers else range(len(values)), float)
    highest = None if data[column].isna().all() else data["measure"][data[column].idxmax()]
    curves, bands, few = {}, {}, data["measure"].nunique() <= _FEW
    for name, rows in data.groupby("measure", sort=False):
        curves[name] = (x, rows[column].to_numpy())
        if few or name == highest:
            bands[name] = (rows[f"{column}_low"], rows[f"{column}_high"])
    if not numbers:
        name_columns(ax, x, [str(value) for value in values])
    elif x.min() > 0 and x.max() / x.min() >= 100:
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter("{x:g}")
    parameter = in_picture(study.about["parameter"])
    band = "" if few or highest is None else f" · band: {in_picture(highest)}"
    title = f"{what} by {parameter} · {what_was_rated(study.about)}{band}"
    return plot_curves(ax, curves, title, bands, xlim=(x.min(), x.max()), xlabel=parameter, ylabel=label)
