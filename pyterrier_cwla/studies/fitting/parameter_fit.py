"""Fit parameters of measures to ratings or preferences of users, with cross-validation over users."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from ir_measures.measures import Measure

from ..._version import __version__
from ...errors import BadParameter, BadRatings
from ...errors.parameter_checks import check_whole
from ...evaluation.measure_hash import names_in_cache
from ...measures.wrappers import pinned
from ...tasks.checkpoints import Pieces
from ...tasks.hashing import fingerprint
from ...tasks.progress import counted
from ...tasks.result_cache import Piece
from ..coefficient_names import AGREED, check_coefficient, is_weighted, plain_name
from ..directions import sign_of_scores, where_less_is_better
from ..template import Range, Template, Values
from ..users.ratings import Rated
from .objective import held_out_values, objective_values, training_folds
from .result import OBJECTIVES, Fit, sign_of
from .search import Search

Array = np.ndarray

_TOGETHER = 128  # candidates scored per chunk
_SLICE = 81  # number of values of a parameter on its curve


def fit(
    template: str | Callable[..., Any] | Template,
    ranges: Mapping[str, Any],
    rated: Rated,
    objective: str | None = None,
    default: Mapping[str, Any] | None = None,
    where: Callable[..., bool] | None = None,
    cv: int = 10,
    repeats: int = 10,
    most: int = 4000,
    seed: int = 0,
    cache_dir: str | Path | None = None,
    progress: bool = True,
    n_jobs: int = 1,
) -> Fit:  # over 50 lines: half of them are parameters and reported values
    """Fit parameters of a measure to ratings of lists or sessions, or to preferences.

    In-sample agreement is optimistic. The search is therefore repeated without each of ``cv`` folds, for ``repeats``
    partitions: parameters are chosen on the other folds and evaluated on the held-out fold. If users are known (column
    ``user``), all ratings of a user are in one fold, so that the held-out ratings are those of other users. The gain
    over the default is that of the fitted measures on held-out folds, with a t-test corrected for the overlap of folds
    (Nadeau and Bengio, 2003).

    Each candidate is scored once and is available to all folds.

    Parameters
    ----------
    template : str, callable or Template
        Text with a ``$name`` for each parameter, such as ``"TBG(half_life=$h)"`` or
        ``"CWLA(C='rr',A='err',gain='table({1:$r1,2:$r2})')"``, or a function of the parameters that returns a measure.
    ranges : mapping
        Range of each parameter by name: ``(low, high)`` for numbers, ``range(1, 301)`` for whole numbers, or a list of
        values. Numbers have four digits; their scale is logarithmic if high is at least 100 times low.
    rated : Rated
        Ratings or preferences.
    objective : str, optional
        "pearson", "spearman", "tau_b", "nrmse" or, for preferences, "agreement", where each rating counts once. With
        the prefix ``"weighted_"``, each rating counts as often as its column ``n`` specifies, in sample and held out.
        The default is "pearson", or "agreement" for preferences.
    default : mapping, optional
        Parameter values for comparison.
    where : callable, optional
        Condition on the parameters, such as ``lambda s1, s2: s1 <= s2``.
    cv : int, default=10
        Number of folds, from 2.
    repeats : int, default=10
        Number of partitions into folds, from 1.
    most : int, default=4000
        Maximum number of candidates, from 2.
    seed : int, default=0
        Seed of the search and of the folds.
    cache_dir : str or Path, optional
        Folder that caches scores. Scores of measures with user-defined functions are cached only if the functions have
        a ``version=``.
    progress : bool, default=True
        Whether to show a progress bar of candidates. With numeric ranges, the search may end before the bar is full.
    n_jobs : int, default=1
        Number of processes. More than one pays off only if a candidate takes long to score (thousands of lists).

    Returns
    -------
    Fit

    Raises
    ------
    BadParameter
        If names do not match, if a range is invalid, or if the objective is not defined for the ratings.
    BadRatings
        If all ratings are the same, or if no pair has a preference.

    References
    ----------
    Jiang and Allan (2016), section 5.1, for parameters that maximise Pearson's r; Chapelle et al. (2009), section 7.1,
    for values of grades and of utility that maximise correlation or agreement.

    Examples
    --------
    >>> qrels = {q: {"a": 1, "b": 2} for q in "123456"}
    >>> lists = {"1": "ab", "2": "ba", "3": "a", "4": "b", "5": "xa", "6": "xb"}
    >>> run = {q: {d: -rank for rank, d in enumerate(docs)} for q, docs in lists.items()}
    >>> rated = Rated.lists(qrels, run, {"1": 4, "2": 5, "3": 2, "4": 4, "5": 1, "6": 2})
    >>> text = "CWLA(C='rbp($p)',A='erg',max_rel=2)"
    >>> found = fit(text, {"p": [0.2, 0.5, 0.8]}, rated, default={"p": 0.8}, cv=2, repeats=1, progress=False)
    >>> found.values, found.measure
    ({'p': 0.5}, CWLA(C='rbp(0.5)',A='erg',max_rel=2))
    """
    template = Template.of(template)
    spans = {name: Range.of(given, name) for name, given in ranges.items()}
    if objective is None:
        objective = "agreement" if rated.what == "pair" else "pearson"
    _check(template, spans, rated, objective, default, cv, repeats, most)
    about_ratings = rated.about(is_weighted(objective))
    identity = {"study": "fit", "input": about_ratings["input"]}
    scored = _Scored(template, rated, Pieces(identity, cache_dir, progress, n_jobs))
    train = training_folds(rated, cv, repeats, seed)
    samples = np.concatenate([np.ones((len(rated), 1)), train], axis=1)
    search = Search(
        spans, lambda values: objective_values(objective, scored(values), rated, samples), where, most, seed
    )
    reached = _search(search, scored, default, progress)
    best, sign = search.best(), sign_of(objective)
    candidates = pd.DataFrame(search.values).assign(value=sign * search.found[:, 0])
    of_folds, default_value = _of_folds(search, scored, objective, train, repeats), None
    if default is not None:
        of_folds["default"], default_value = _of_default(dict(default), scored, objective, train)
    values = search.values[best[0]]
    measure = template.measure(values)
    about = {
        "version": __version__,
        "template": str(template),
        "measure": repr(measure),
        "less_is_better": where_less_is_better({repr(measure): measure}),
        "ranges": {name: str(span) for name, span in spans.items()},
        "objective": objective,
        "value": sign * float(search.found[best[0], 0]),
        "default": None if default is None else dict(default),
        "default_value": default_value,
        "folds": cv,
        "repeats": repeats,
        "folds_by": rated.unit,
        "candidates": len(candidates),
        "most_reached": reached,
        "seed": seed,
        **about_ratings,
    }
    return Fit(values, measure, spans, candidates, of_folds, about)


def _search(search: Search, scored: _Scored, default: Mapping[str, Any] | None, progress: bool) -> bool:
    """Search, and score the curve of each parameter around the best candidate; return whether ``most`` was reached."""
    spans, most = search.ranges, search.most
    all_there_are = float(np.prod([len(span.choices) or np.inf for span in spans.values()]))
    at_most = int(min(most + _SLICE * len(spans), all_there_are))
    inside = default is not None and all(default[name] in span for name, span in spans.items())
    with counted(progress, "fitting", at_most, "candidates") as scored.count:
        search.run([dict(default)] if default is not None and inside else [])
        best = search.values[search.best()[0]]
        reached = len(search.values) >= most
        search.most = at_most
        search.try_values([{**best, name: v} for name, span in spans.items() for v in span.grid(_SLICE)])
    scored.count = None
    return reached


def _of_folds(search: Search, scored: _Scored, objective: str, train: Array, repeats: int) -> pd.DataFrame:
    """Return a row for each fold: the parameters chosen without it, and their objective on it."""
    best, cv = search.best()[1:], train.shape[1] // repeats
    chosen_by = search.found[best, np.arange(1, 1 + train.shape[1])]
    some = ~np.isnan(chosen_by)  # folds whose training ratings distinguish candidates
    numbers, of_fold = np.unique(best, return_inverse=True)
    scores = scored([search.values[number] for number in numbers])[of_fold]
    return pd.DataFrame(
        {
            "repeat": np.repeat(np.arange(1, repeats + 1), cv),
            "fold": np.tile(np.arange(1, cv + 1), repeats),
            "ratings": (train == 0).sum(axis=0),
            **{name: pd.Series([search.values[at][name] for at in best]).where(some) for name in search.ranges},
            "chosen_by": sign_of(objective) * chosen_by,
            "held_out": np.where(some, held_out_values(objective, scores, scored.rated, train), np.nan),
        }
    )


def _of_default(default: Values, scored: _Scored, objective: str, train: Array) -> tuple[Array, float]:
    """Return the objective of the default on each fold, and on all ratings."""
    scores, everything = scored([default]), np.ones((len(train), 1))
    held_out = held_out_values(objective, np.repeat(scores, train.shape[1], axis=0), scored.rated, train)
    return held_out, sign_of(objective) * float(objective_values(objective, scores, scored.rated, everything)[0, 0])


class _Scored:
    """Scores of candidates, [candidates × ratings], computed in chunks and cached; negated where less is better."""

    def __init__(self, template: Template, rated: Rated, pieces: Pieces) -> None:
        self.template, self.rated, self.pieces = template, rated, pieces
        self.count: Callable[[int], Any] | None = None  # advances the progress bar

    def __call__(self, values: list[Values]) -> Array:
        measures = [self.template.measure(of) for of in values]  # in this process, which has the user's functions
        parts = [pinned(measures[at : at + _TOGETHER]) for at in range(0, len(measures), _TOGETHER)]
        names = [self._name(part) for part in parts]
        work = {name: partial(_scores, self.rated, part) for name, part in zip(names, parts, strict=True)}
        sizes = {name: len(part) for name, part in zip(names, parts, strict=True)}
        found = {}
        for name, piece in self.pieces.done(work, lambda name: {"scores": ("f", (sizes[name], len(self.rated)))}):
            found[name] = piece["scores"]
            if self.count is not None:
                self.count(len(piece["scores"]))
        signs = np.array([sign_of_scores(measure) for measure in measures])
        return np.concatenate([found[name] for name in names]) * signs[:, None]

    def _name(self, measures: list[Measure]) -> str:
        """Return the cache key of measures. Measures that cannot be cached turn the cache off."""
        if self.pieces.cache is not None:
            names = names_in_cache(measures)
            if all(measure in names for measure in measures):
                return fingerprint([names[measure] for measure in measures])
            self.pieces.cache = None
        return fingerprint([repr(measure) for measure in measures])


def _scores(rated: Rated, measures: list[Measure]) -> Piece:
    with rated.shown.aligned.forgetting():
        scores = rated.scores({str(number): measure for number, measure in enumerate(measures)})
    return {"scores": np.ascontiguousarray(scores.to_numpy().T)}


def _check(
    template: Template, spans: Mapping[str, Range], rated: Rated, objective: str, default: Any, cv: int, repeats: int,
    most: int,
) -> None:  # fmt: skip
    if not spans:
        raise BadParameter("there is nothing to fit: give ranges=, such as {'h': (5, 500)}.")
    template.check(list(spans))
    known = [name for name in OBJECTIVES if (plain_name(name) == AGREED) == (rated.what == "pair")]
    check_coefficient(objective, known, rated.weights, f"ratings of {rated.what}s have no such objective.", "objective")
    if default is not None and set(default) != set(spans):
        raise BadParameter(f"default= must have a value for each of {', '.join(spans)}, not {dict(default)!r}.")
    check_whole(2, cv=cv, most=most)
    check_whole(1, repeats=repeats)
    if default is not None:
        for name, span in spans.items():
            if not span.choices and not isinstance(default[name], int | float | np.number):
                raise BadParameter(f"default of {name} must be a number, not {default[name]!r}.")
        template.measure(default)
    if rated.what == "pair" and not rated.ratings.any():
        raise BadRatings("no pair has a preference: there is nothing to fit to.")
    if rated.what != "pair" and np.ptp(rated.ratings) == 0:
        raise BadRatings("all ratings are the same: there is nothing to fit to.")
