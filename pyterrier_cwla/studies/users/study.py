"""Agreement of measures with users' ratings of lists and sessions, or with their preferences between lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ..._version import __version__
from ...errors import BadParameter, BadRatings, near
from ...errors.parameter_checks import check_share, check_whole
from ...evaluation.significance import CORRECTIONS
from ...measures.labels import by_name
from ...measures.parsing import measures_of
from ..coefficient_names import AGREED, TESTED, check_coefficient
from ..correlation import rounded
from ..directions import signs_of, where_less_is_better
from .coefficients import agreement_columns, prediction_columns
from .metric_grid import Grid, cell_name
from .prediction import nrmse
from .ratings import Rated
from .result import UserAgreement

Array = np.ndarray


def user_agreement(
    rated: Rated,
    measures: Iterable[Any] | Mapping[str, Any] | Grid,
    coefficient: str = "tau_b",
    *,
    baseline: str | None = None,
    confidence: float = 0.95,
    correction: str | None = "holm",
    resamples: int = 1000,
    span: float | None = None,
    cv: int = 10,
    repeats: int = 10,
    order_free: str | None = None,
    seed: int = 0,
) -> UserAgreement:  # over 50 lines: half of them are parameters and reported values
    """Compare measures with users' ratings of lists or sessions, or with their preferences between lists.

    * Correlations: Pearson's r, Spearman's ρ and Kendall's τ_b of scores rounded to 1e-10, where each rating counts
      once, and ``weighted_pearson``, r of ratings that count as often as their column ``n`` specifies. p-values test
      the hypothesis that the correlation is 0. For independent ratings they are those of scipy. If users are known, and
      for the weighted coefficient, they come from a t-test with the standard error of the infinitesimal jackknife over
      users or ratings.
    * Intervals: the bootstrap standard error times the quantile of Student's t. If the ratings have a column ``user``,
      users are resampled with all of their ratings; otherwise ratings are. All measures share the same resamples.
    * Differences: Williams' t for Pearson's r of independent ratings without weights; otherwise a t-test with the
      standard error of the infinitesimal jackknife, over users if they are known.
    * Preferences: also the share of agreement. Of the pairs with a preferred list, it is the share whose difference of
      scores has the same sign; a difference of 0 counts half.
    * NRMSE: the error of predicted ratings. It is compared by the paired t-test over folds (``_p_t``), as in Jiang and
      Allan, which is far too liberal, and by the test of Nadeau and Bengio (``_p``), which accounts for the overlap of
      folds. If users are known, each user is in one fold, and there are at most as many folds as users. Drop the column
      ``user`` to split ratings regardless of users, as in Jiang and Allan. In simulations of 12 to 100 users with
      different tastes, the corrected test at a level of 5 % rejected 4 to 8 % of true hypotheses with folds of users,
      and 9 to 26 % with folds of ratings.

    Scores of which less is better, such as those of ``ESL``, are negated before they are compared, so that a greater
    coefficient is better for every measure.

    A measure that gives the same score to all rated items has NaN ("X"). A grid of 56 measures takes about ten seconds
    for 500 ratings, and half a minute for 4,000.

    Parameters
    ----------
    rated : Rated
        Ratings or preferences.
    measures : iterable, mapping or Grid
        Measures as for :meth:`Rated.scores`, or a :func:`~pyterrier_cwla.studies.grid`.
    coefficient : str, default="tau_b"
        Coefficient of pictures and findings: ``"tau_b"``, ``"pearson"``, ``"spearman"``, ``"weighted_pearson"`` (if the
        ratings have a column ``n``) or ``"agreement"`` (for preferences). All coefficients are computed.
    baseline : str, optional
        Name of the measure with which the others are compared. In a grid, each cell is compared with the canonical
        metric of its C instead.
    confidence : float in (0, 1), default=0.95
        Level of the intervals; 1 − ``confidence`` is the level of significance.
    correction : str or None, default="holm"
        Correction over all comparisons of a coefficient, as in :func:`pyterrier_cwla.compare`.
    resamples : int, default=1000
        Number of bootstrap resamples, from 100.
    span : float, optional
        Range of the ratings, as in :func:`~pyterrier_cwla.studies.nrmse`.
    cv, repeats : int, default=10
        Numbers of folds and of partitions into folds, as in :func:`~pyterrier_cwla.studies.nrmse`. Not used for
        preferences.
    order_free : {"number", "XX"}, optional
        Display of cells of a grid whose score is the same for all orders of the same documents: their number (default
        for ratings) or only XX (default for preferences). A cell shown as XX takes part in no comparison.
    seed : int, default=0
        Seed of resamples and folds.

    Returns
    -------
    UserAgreement

    Raises
    ------
    BadParameter
        If there is no such coefficient, baseline or correction.
    BadRatings
        If all ratings are the same. If all preferences are for the first list, or all for the second, only the share of
        agreement is defined: with ``coefficient="agreement"`` there is no error, and the correlations are NaN.

    References
    ----------
    Moffat et al. (2022), section 4; Jiang and Allan (2016), section 4; Chapelle et al. (2009), section 6.

    Examples
    --------
    >>> qrels = {q: {"a": 2, "b": 1, "c": 0} for q in "123456"}
    >>> lists = dict(zip("123456", ["abc", "bac", "acb", "cab", "bca", "cba"]))
    >>> run = {q: {d: -float(i) for i, d in enumerate(docs)} for q, docs in lists.items()}
    >>> rated = Rated.lists(qrels, run, {"1": 5, "2": 3, "3": 5, "4": 2, "5": 3, "6": 1})
    >>> found = user_agreement(rated, ["RR(rel=2)", "nDCG@3"], baseline="RR(rel=2)", cv=3, resamples=100)
    >>> found.table[["tau_b", "tau_b_low", "tau_b_high", "tau_b_difference_p"]].round(3)
               tau_b  tau_b_low  tau_b_high  tau_b_difference_p
    measure
    RR(rel=2)  0.721      0.076         1.0                 NaN
    nDCG@3     0.931      0.766         1.0               0.456
    """
    check_share(0.95, confidence=confidence)
    check_whole(100, resamples=resamples)
    cells = measures if isinstance(measures, Grid) else None
    _check(rated, coefficient, correction, order_free, cells, baseline)
    named = by_name(measures_of(measures if cells is None else cells.named))
    lower = where_less_is_better(named)
    scores = rated.scores(list(named.values()))
    order_free = order_free or ("XX" if rated.what == "pair" else "number")
    table = _described(scores, cells, baseline)
    hidden = table["kind"].isin(["X", "XX"] if order_free == "XX" else ["X"]).to_numpy()
    better = rounded(scores) * signs_of(scores, lower)
    x = np.where(hidden, 0.0, better).T.copy()  # hidden measures become constant, and so have no agreement
    reference = table.index.get_indexer(table["compared_with"])
    columns = agreement_columns(rated, x, reference, coefficient, confidence, correction, resamples, seed)
    about = {
        "version": __version__,
        "measures": {name: repr(measure) for name, measure in named.items()},
        "less_is_better": lower,
        "ratings": len(rated),
        "users": None if rated.users is None else rated.units,
        "rated": rated.what,
        "labels": rated.label_counts,
        "without_results": rated.empty,
        "coefficient": coefficient,
        "confidence": confidence,
        "alpha": round(1 - confidence, 12),
        "correction": correction,
        "intervals": f"bootstrap over {rated.unit}s",
        "resamples": resamples,
        "seed": seed,
        "input": rated.fingerprint(),
    }
    if rated.what != "pair":
        folds = cv if rated.users is None else min(cv, rated.units)
        predict = partial(
            nrmse, ratings=rated.ratings, span=span, cv=folds, repeats=repeats, seed=seed, users=rated.users
        )
        columns |= prediction_columns(predict(x.T), hidden, reference, folds, correction)
        width = float(np.ptp(rated.ratings)) if span is None else span
        whole = "" if rated.users is None else " of whole users"
        about["nrmse"] = f"{repeats} random partitions into {folds} folds{whole}, over a range of {width:g}"
        about["nrmse_of_the_mean"] = float(predict(np.zeros((len(rated), 1))).mean())
    return UserAgreement(rated, scores, table.assign(**columns), about, cells, baseline, order_free)


def _check(
    rated: Rated, coefficient: str, correction: str | None, order_free: str | None, cells: Grid | None,
    baseline: str | None,
) -> None:  # fmt: skip
    if cells is not None and baseline is not None:
        raise BadParameter("baseline= is for plain measures: in a grid, canonical= names the reference of each row.")
    known = [name for name in TESTED if name != AGREED or rated.what == "pair"]
    only = "only preferences have a share of agreement." if coefficient == AGREED else "there is no test of it here."
    check_coefficient(coefficient, known, rated.weights, only)
    if order_free not in (None, "number", "XX"):
        raise BadParameter(f"order_free={order_free!r} must be 'number' or 'XX'.")
    if correction is not None and correction not in CORRECTIONS:
        raise BadParameter(
            f"no correction {correction!r}. {near(str(correction), CORRECTIONS)} None switches corrections off."
        )
    if np.ptp(rated.ratings) == 0:
        if rated.what != "pair" or rated.ratings[0] == 0:
            raise BadRatings(f"all {len(rated):,} ratings are {rated.ratings[0]:g}: agreement is not defined.")
        if coefficient != AGREED:
            raise BadRatings(
                f"all {len(rated):,} preferences are {rated.ratings[0]:g}: correlations are not defined. Give"
                f" coefficient={AGREED!r}, the share of preferences with which differences of scores agree."
            )


def _described(scores: pd.DataFrame, cells: Grid | None, baseline: str | None) -> pd.DataFrame:
    """Return a row for each measure: its cell of the grid, its kind, and the measure with which it is compared."""
    table = pd.DataFrame(index=pd.Index(scores.columns, name="measure"))
    constant = np.ptp(rounded(scores), axis=0) == 0
    if cells is None:
        if baseline is not None and baseline not in table.index:
            raise BadParameter(f"no measure is called {baseline!r}. {near(str(baseline), table.index)}")
        table["kind"] = np.where(constant, "X", "")
        table["compared_with"] = [None if name == baseline else baseline for name in table.index]
        return table
    table["C"], table["A"] = ([cell[place] for cell in cells] for place in (0, 1))
    table["kind"] = np.where(constant, "X", list(cells.kinds.values()))
    canonical = [(c, cells.canonical.get(c)) for c in table["C"]]
    table["compared_with"] = [
        None if known in (None, a) else cell_name(c, known) for (c, known), a in zip(canonical, table["A"], strict=True)
    ]
    return table
