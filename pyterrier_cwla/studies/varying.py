"""How much a measure's correlation with ratings depends on a parameter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .._version import __version__
from ..errors import BadParameter, many
from .pieces import Piece, Pieces
from .rated import Rated, why_left_out
from .resampling import percentiles
from .study import Picture, Study, Table
from .template import Template
from .weighted import resample_counts, weighted_pearson, weighted_ranks

Array = np.ndarray

#: What is drawn, as a sentence names it.
COEFFICIENTS = {"pearson": "Pearson's r", "spearman": "Spearman's ρ"}


def sensitivity(
    templates: Any,
    values: Mapping[str, Sequence[Any]],
    rated: Rated,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
    keep: str | Path | None = None,
    progress: bool = True,
    jobs: int = 1,
) -> Sensitivity:
    """Pearson's r and Spearman's ρ of measures with ratings, along the values of one parameter.

    ``templates``: a text with a ``$name`` for the parameter, such as ``"AdaptiveRBP(p=0.8,effort='ratio($e)')@9"``, a
    function of it that returns a measure, or a dict of these by name · ``values``: the parameter's name and what it is
    to be: ``{"e": range(1, 11)}``. Intervals are those of the percentile bootstrap over ratings, or over users with all
    that they rated, where users are known; all measures and values have the same resamples, so that changes are those
    on the same ratings.

    Raises BadParameter where names do not go together, and for preferences, which have agreement only.

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

    Source: Jiang and Allan (2016), Figure 1.
    """
    named = dict(templates) if isinstance(templates, Mapping) else {str(_template(templates)): templates}
    named = {name: _template(given) for name, given in named.items()}
    if len(values) != 1:
        raise BadParameter(f"a curve has one parameter, not {many(len(values), 'parameter')}: fit() takes several.")
    ((parameter, grid),) = values.items()
    grid = [value.item() if isinstance(value, np.generic) else value for value in grid]
    if len(grid) < 2:
        raise BadParameter(f"{parameter} needs two values or more, not {grid!r}.")
    for template in named.values():
        template.check([parameter])
    if rated.what == "pair":
        raise BadParameter("preferences have no correlation: fit(…, objective='agreement') has a curve of agreement.")
    if not 0 < confidence < 1:
        raise BadParameter(f"confidence={confidence!r} must be between 0 and 1, such as 0.95.")
    if not isinstance(resamples, int | np.integer) or resamples < 100:
        raise BadParameter(f"resamples={resamples!r} must be a whole number, and at least 100.")
    measures = {name: [t.measure({parameter: value}) for value in grid] for name, t in named.items()}
    identity = {
        "study": "sensitivity",
        "input": rated.fingerprint(),
        "measures": {name: list(map(str, of)) for name, of in measures.items()},
        "resamples": resamples,
        "confidence": confidence,
        "seed": seed,
    }
    pieces = Pieces(identity, keep, progress, jobs)
    compute = partial(_curve, rated, measures, resamples, confidence, seed)
    found = pieces.each(list(named), compute, "correlating", "measures")
    table = pd.concat(
        [
            pd.DataFrame({"measure": name, parameter: grid, "text": list(map(str, measures[name])), **columns})
            for name, columns in zip(named, found, strict=True)
        ],
        ignore_index=True,
    )
    about = {
        "version": __version__,
        "templates": {name: str(template) for name, template in named.items()},
        "parameter": parameter,
        "values": grid,
        "what": rated.what,
        "ratings": len(rated),
        "users": None if rated.users is None else int(rated.users.max()) + 1,
        "resampled": "ratings" if rated.users is None else "users",
        "resamples": resamples,
        "confidence": confidence,
        "seed": seed,
        "left_out": rated.left_out,
        "input": identity["input"],
    }
    return Sensitivity(table, about)


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity(Study):
    """Correlations along a parameter: what :func:`sensitivity` found.

    ``table``: a row for each measure and value: its ``text``, ``pearson`` and ``spearman`` with the ends of intervals
    (``pearson_low`` …), and of both the change from the first value (``pearson_change`` …).
    """

    table: pd.DataFrame
    about: dict[str, Any]

    @property
    def title(self) -> str:  # type: ignore[override]
        return f"Correlation with ratings along {self.about['parameter']}"

    def tables(self) -> dict[str, Table]:
        return {"sensitivity": Table(self.title, self._caption(), self.table)}

    def pictures(self) -> dict[str, Picture]:
        from .sensitivity_plots import plot_change, plot_sensitivity

        along = f"along {self.about['parameter']}"
        found = {}
        for kind, name in COEFFICIENTS.items():
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

    def curves(self, coefficient: str = "pearson") -> pd.DataFrame:
        """Of each measure and value the coefficient, or its change ("pearson_change"), and the ends of its interval."""
        columns = ["measure", self.about["parameter"], *(f"{coefficient}{end}" for end in ("", "_low", "_high"))]
        return self.table[columns]

    def findings(self) -> list[str]:
        p, found = self.about["parameter"], []
        for name, rows in self.table.groupby("measure", sort=False):
            best, first = rows.loc[rows["pearson"].idxmax()], rows.iloc[0]
            found.append(
                f"{name}: Pearson's r is {first['pearson']:.3f} with {p} = {first[p]}, and highest,"
                f" {best['pearson']:.3f}, with {p} = {best[p]}: a change of {best['pearson_change']:+.3f}"
                f" ({self.about['confidence']:.0%}"
                f" interval {best['pearson_change_low']:+.3f} to {best['pearson_change_high']:+.3f})."
            )
        return found

    def limits(self) -> list[str]:
        return [
            "The highest point of a curve is chosen by the same ratings, and so too good: fit() tells what is left"
            " on other users.",
            "All points of a curve are of the same ratings: where bands overlap, a change may still be one that all"
            " resamples agree on, which the intervals of changes tell.",
            *why_left_out(self.about["left_out"]),
        ]

    def _caption(self) -> str:
        about = self.about
        users = "" if about["users"] is None else f" of {many(about['users'], 'user')}"
        return (
            f"{many(about['ratings'], 'rated ' + about['what'])}{users}; bands: {about['confidence']:.0%} percentile"
            f" bootstrap, {about['resamples']:,} resamples of {about['resampled']}, seed {about['seed']}."
        )


def _template(given: str | Callable[..., Any] | Template) -> Template:
    return given if isinstance(given, Template) else Template(given)


def _curve(
    rated: Rated, measures: dict[str, list[Any]], resamples: int, confidence: float, seed: int, name: str
) -> Piece:
    """The columns of one measure."""
    named = {str(number): measure for number, measure in enumerate(measures[name])}
    scores, y = rated.scores(named).to_numpy().T, rated.ratings
    counts = np.column_stack([np.ones(len(y)), resample_counts(len(y), rated.users, resamples, seed)])
    if rated.weights is not None:
        counts = counts * rated.weights[:, None]
    columns: Piece = {}
    for kind in COEFFICIENTS:
        if kind == "pearson":
            found = weighted_pearson(scores, y, counts)
        else:
            found = np.array([weighted_ranks(row, y, counts)[0] for row in scores])
        for what, drawn in ((kind, found), (f"{kind}_change", found - found[0])):
            columns[what] = drawn[:, 0]
            columns[f"{what}_low"], columns[f"{what}_high"] = percentiles(drawn[:, 1:], confidence)
    return columns
