"""Sensitivity of a measure's correlation with ratings to a parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..._version import __version__
from ...errors import BadParameter, many, near
from ...errors.parameter_checks import check_share, check_whole
from ...errors.sanitise import in_picture
from ...rendering.figures import GREY, axes_of, titled
from ...rendering.labels import label_ends, measure_look, name_columns
from ...tasks.checkpoints import Pieces
from ...tasks.hashing import fingerprint
from ...tasks.result_cache import Layout, Piece
from ..coefficient_names import CORRELATIONS, LABELS, WEIGHTED, with_weighted
from ..directions import sign_of_scores, why_negated
from ..report import Finding, Picture, Table
from ..resampling import around
from ..study import Study
from ..template import Template
from .ratings import Rated, how_resampled, title_of, why_not_all
from .resampled_correlations import correlations, resample_counts

Array = np.ndarray


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
    named = dict(templates) if isinstance(templates, Mapping) else {str(Template.of(templates)): templates}
    named = {name: Template.of(given) for name, given in named.items()}
    parameter, grid = _along(values, named, rated)
    measures = {name: [t.measure({parameter: value}) for value in grid] for name, t in named.items()}
    about_ratings = rated.about()
    how = {"resamples": resamples, "confidence": confidence, "seed": seed}
    identity = {"study": "sensitivity", "input": about_ratings["input"], **how}
    pieces = Pieces(identity, cache_dir, progress, n_jobs)
    signs = [np.array([sign_of_scores(measure) for measure in of]) for of in measures.values()]
    found_by = zip(measures.values(), signs, strict=True)
    scores = [(rated.scores({str(k): m for k, m in enumerate(of)}).to_numpy() * sign).T.copy() for of, sign in found_by]
    # Cache keys are hashes of scores, because the meaning of a measure's text may change.
    texts = [fingerprint(of) for of in scores]
    compute = partial(
        _curve, dict(zip(texts, scores)), rated.ratings, rated.weights, rated.users, resamples, confidence, seed
    )
    found = pieces.each(texts, compute, "correlating", "measures", layout=_layout(len(grid), rated.weights is not None))
    tables = [
        pd.DataFrame({"measure": name, parameter: grid, "text": list(map(str, measures[name])), **columns})
        for name, columns in zip(named, found, strict=True)
    ]
    about = {
        "version": __version__,
        "templates": {name: str(template) for name, template in named.items()},
        "less_is_better": [name for name, of in zip(named, signs, strict=True) if (of < 0).any()],
        "parameter": parameter,
        "values": grid,
        "resampled": f"{rated.unit}s",
        **how,
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
    about: dict[str, Any]

    @property
    def title(self) -> str:  # type: ignore[override]
        """Title of the report."""
        return f"Correlation with ratings along {self.about['parameter']}"

    def tables(self) -> dict[str, Table]:
        """Return the tables of the report by file name."""
        return {"sensitivity": Table(self.title, self._caption(), self.table)}

    def pictures(self) -> dict[str, Picture]:
        """Return the pictures of the report by file name."""
        along = f"along {self.about['parameter']}"
        found = {}
        for kind in self.coefficients:
            name = LABELS[kind]
            found[f"sensitivity_{kind}"] = Picture(
                f"{name} {along}", self._caption(), partial(plot_sensitivity, self, kind), self.curves(kind)
            )
            found[f"change_{kind}"] = Picture(
                f"Change of {name} {along}, from the first value",
                self._caption(),
                partial(plot_change, self, kind),
                self.curves(f"{kind}_change"),
            )
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
            f"{best['measure']} correlates best with the ratings at {p} = {best[p]} (Pearson's r {best['pearson']:.2f};"
            f" {rows.min():.2f} to {rows.max():.2f} over all values)."
        )

    def findings(self) -> list[str]:
        """Return the findings, with the picture that they rest on."""
        return [Finding(sentence, "sensitivity_pearson") for sentence in self._sentences()]

    def _sentences(self) -> list[str]:
        p, found = self.about["parameter"], []
        for name, rows in self.table.groupby("measure", sort=False):
            if rows["pearson"].isna().all():
                found.append(f"{name}: all rated items have the same score for every {p}: there is no correlation.")
                continue
            best, first = rows.loc[rows["pearson"].idxmax()], rows.iloc[0]
            highest = f"highest, {best['pearson']:.3f}, with {p} = {best[p]}"
            if np.isnan(first["pearson"]):
                found.append(
                    f"{name}: with {p} = {first[p]} all rated items have the same score; Pearson's r is {highest}."
                )
                continue
            found.append(
                f"{name}: Pearson's r is {first['pearson']:.3f} with {p} = {first[p]}, and {highest}: a change of"
                f" {best['pearson_change']:+.3f} ({self.about['confidence']:.0%} interval"
                f" {best['pearson_change_low']:+.3f} to {best['pearson_change_high']:+.3f})."
            )
        return found

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

    def _caption(self) -> str:
        return how_resampled(self.about)


def _layout(values: int, weighted: bool) -> Layout:
    """Return the columns of :func:`_curve`."""
    kinds = with_weighted(CORRELATIONS) if weighted else CORRELATIONS
    drawn = [what for kind in kinds for what in (kind, f"{kind}_change")]
    return {what + end: ("f", (values,)) for what in drawn for end in ("", "_low", "_high")}


def _curve(
    scores: dict[str, Array], y: Array, weights: Array | None, users: Array | None, resamples: int, confidence: float,
    seed: int, name: str,
) -> Piece:  # fmt: skip
    """Return the columns of one measure, computed from its scores [values × ratings]."""
    counts = np.column_stack([np.ones(len(y)), resample_counts(len(y), users, resamples, seed)])
    units = len(y) if users is None else int(users.max()) + 1
    found = correlations(CORRELATIONS, scores[name], y, counts)
    if weights is not None:
        of_weights = correlations(CORRELATIONS, scores[name], y, counts * weights[:, None])
        found |= {WEIGHTED + kind: values for kind, values in of_weights.items()}
    columns: Piece = {}
    for kind, values in found.items():
        for what, drawn, most in ((kind, values, 1), (f"{kind}_change", values - values[0], 2)):
            columns[what] = drawn[:, 0]
            ends = around(drawn[:, 0], drawn[:, 1:], confidence, units, -most, most)
            columns[f"{what}_low"], columns[f"{what}_high"] = ends
    return columns


_FEW = 3  # maximum number of bands that remain legible


def plot_sensitivity(study: Any, coefficient: str = "pearson", ax: Any = None) -> Any:
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

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_of(ax)
    _drawn(study, coefficient, ax, "Agreement with ratings")
    ax.set_ylabel(LABELS[coefficient])
    return ax


def plot_change(study: Any, coefficient: str = "pearson", ax: Any = None) -> Any:
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

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_of(ax)
    ax.axhline(0, color=GREY, linewidth=0.6)
    _drawn(study, f"{coefficient}_change", ax, "Change of the agreement with ratings")
    ax.set_ylabel(f"change of {LABELS[coefficient]}")
    return ax


def _drawn(study: Any, column: str, ax: Any, what: str) -> None:
    """Draw lines, bands and the title, which says which measure has a band if not all measures have one."""
    values, data = study.about["values"], study.curves(column)
    numbers = all(isinstance(value, int | float) for value in values)
    x = np.array(values if numbers else range(len(values)), float)
    highest = None if data[column].isna().all() else data.loc[data[column].idxmax(), "measure"]
    curves, looks = {}, {}
    few = data["measure"].nunique() <= _FEW
    for number, (name, rows) in enumerate(data.groupby("measure", sort=False)):
        looks[name] = {of: look for of, look in measure_look(number).items() if of != "marker"}
        curves[name] = (x, rows[column].to_numpy())
        if few or name == highest:
            colour = looks[name]["color"]
            ax.fill_between(x, rows[f"{column}_low"], rows[f"{column}_high"], color=colour, alpha=0.1, linewidth=0)
        ax.plot(*curves[name], linewidth=1.8, **looks[name])
    if not numbers:
        name_columns(ax, x, [str(value) for value in values])
    elif x.min() > 0 and x.max() / x.min() >= 100:
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter("{x:g}")
    ax.set_xlim(x.min(), x.max())
    ax.set_xlabel(in_picture(study.about["parameter"]))
    band = "" if few or highest is None else f" · band: {in_picture(highest)}"
    titled(ax, f"{what} by {in_picture(study.about['parameter'])} · {title_of(study.about)}{band}")
    label_ends(ax, curves, looks)
