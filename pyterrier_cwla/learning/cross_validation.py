"""Out-of-fold evaluation: each query is ranked by the model of the fold in which it was held out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
import sklearn
from ir_measures.measures import Measure
from sklearn.model_selection import GroupKFold, check_cv, cross_validate
from sklearn.utils import _safe_indexing, indexable

from ..data.columns import Array
from ..errors import BadParameter, NotPassed, shown, some
from ..errors.sanitise import sanitised
from ..measures.provider import aggregated
from .labelled_rows import Samples, rows_as_queries
from .metrics import computable, per_query
from .row_columns import KNOWN, known_of_rows, one_per_row, refuse_missing
from .scorers import Scorer, how_to_pass, predicted

Folds = list[tuple[Array, Array]]
"""Training rows and held-out rows of each fold."""


@dataclass(frozen=True, repr=False)
class OutOfFold:
    """Result of :func:`out_of_fold`.

    Attributes
    ----------
    by_query : DataFrame
        One row per judged query, with the columns ``qid`` and ``fold`` and one column per measure.
    mean : Series
        The mean of each measure over all queries.
    mean_of_folds : Series
        The mean over folds of the means within folds, as scikit-learn reports it. It differs from ``mean`` if folds
        have different numbers of queries.
    prediction : ndarray, shape (n_rows,)
        The prediction for each row, by the model that was not trained on its query.
    estimators : list of estimator
        The fitted estimator of each fold.
    """

    by_query: pd.DataFrame
    mean: pd.Series
    mean_of_folds: pd.Series
    prediction: Array
    estimators: list[Any]

    @sanitised
    def __repr__(self) -> str:
        means = pd.DataFrame({"mean": self.mean, "mean of folds": self.mean_of_folds})
        return f"{len(self.by_query):,} queries in {len(self.estimators)} folds\n{means}"


def out_of_fold(
    estimator: Any,
    X: Any,
    y: Any,
    measures: Any,
    *,
    cv: Any = None,
    groups: Any = None,
    params: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
) -> OutOfFold:
    """Cross-validate an estimator and score each held-out query, with one mean over all queries.

    Rows that cannot be scored raise an error before any estimator is fitted.

    Parameters
    ----------
    estimator : estimator
        A scikit-learn estimator.
    X : array_like, shape (n_rows, n_features)
        The features.
    y : array_like, shape (n_rows,)
        The grades, NaN for unjudged rows.
    measures : str, Measure, list of these, or dict of these by label
        Measures that :func:`scorer` accepts.
    cv : int, splitter or list of (train, test), default=5
        A number of folds of whole queries, or any splits that hold out each row once and do not split queries.
    groups : array_like, shape (n_rows,), optional
        The groups for the splitter; by default the queries.
    params : mapping, optional
        Arguments of the estimator's ``fit``. With metadata routing they include the data of rows (``qid``, ``docno``,
        ``doc_length``, ``judged``). Otherwise these are index levels of ``y`` or ``X``.
    n_jobs : int, optional
        The number of parallel processes, as in scikit-learn.

    Returns
    -------
    OutOfFold

    Raises
    ------
    BadParameter
        If queries are split over folds, or rows are not held out exactly once.
    BadJudgments, MissingLength, NotPassed, UnknownSpec
        If the rows cannot be scored.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.linear_model import LinearRegression
    >>> X = [[3], [1], [2], [5], [4], [1]]
    >>> y = pd.Series([1, 0, 0, 2, 1, 0], index=pd.Index(["a", "a", "b", "b", "c", "c"], name="qid"))
    >>> out_of_fold(LinearRegression(), X, y, ["nDCG", "RR"], cv=3).by_query
      qid  fold  nDCG   RR
    0   a     2   1.0  1.0
    1   b     1   1.0  1.0
    2   c     0   1.0  1.0
    """
    wanted, given = computable(measures), dict(params or {})
    routed = sklearn.get_config()["enable_metadata_routing"]
    known = known_of_rows(X, y, {name: given.get(name) for name in KNOWN} if routed else {})
    try:
        samples = Samples.of(y, known, uncertain=True)
    except NotPassed as error:
        raise NotPassed(f"{error}{how_to_pass(X, y)}") from error
    if about := rows_as_queries(samples):
        raise BadParameter(about)
    per_query(
        wanted, samples, np.zeros(len(samples.label)), by_level=not routed
    )  # raises errors that do not depend on the model
    folds = _folds(cv, X, y, samples, groups)
    fold = _fold_of_rows(folds, samples)
    done = cross_validate(
        *(estimator, X, y),
        scoring={str(measure): Scorer(measure, min_queries=1) for measure in wanted},
        cv=folds,
        n_jobs=n_jobs,
        params=given or None,
        return_estimator=True,
        error_score="raise",
    )
    prediction, X = np.empty(len(fold)), indexable(X)[0]
    for model, (_, test) in zip(done["estimator"], folds, strict=True):
        prediction[test] = predicted(model, _safe_indexing(X, test))
    values = per_query(wanted, samples, prediction)
    return OutOfFold(
        _table(values, samples, fold),
        pd.Series({str(measure): aggregated(measure, found) for measure, found in values.items()}),
        pd.Series({str(measure): float(np.mean(done[f"test_{measure}"])) for measure in wanted}),
        prediction,
        done["estimator"],
    )


def _folds(cv: Any, X: Any, y: Any, samples: Samples, groups: Any) -> Folds:
    """Return the training rows and the held-out rows of each fold."""
    queries = len(pd.unique(samples.qid))
    if cv is None or isinstance(cv, Integral):
        cv = GroupKFold(5 if cv is None else cv)
        if queries < cv.n_splits:
            raise BadParameter(f"{queries} queries do not make {cv.n_splits} folds: use a smaller cv=.")
    if groups is not None:
        refuse_missing(one_per_row(groups, "groups", len(samples.label)), "group")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The groups parameter is ignored")
        try:
            return list(check_cv(cv).split(X, y, samples.qid if groups is None else groups))
        except (TypeError, ValueError) as error:
            raise BadParameter(f"cv={shown(cv)} does not split these rows: {error}") from error


def _fold_of_rows(folds: Folds, samples: Samples) -> Array:
    """Return the fold in which each row is held out, after a check that queries are held out as a whole and once."""
    query, names = pd.factorize(samples.qid)
    fold, times = np.full(len(query), -1), np.zeros(len(query), int)
    split = np.zeros(len(names), bool)
    for number, (train, test) in enumerate(folds):
        fold[test] = number
        times += np.bincount(test, minlength=len(query))
        split[np.intersect1d(query[train], query[test])] = True
    if (times != 1).any():
        row = int(np.argmax(times != 1))
        raise BadParameter(f"row {row} is held out {times[row]} times: give cv= folds that hold out each row once.")
    split |= pd.Series(fold).groupby(query).nunique().to_numpy() > 1
    if split.any():
        raise BadParameter(
            f"{split.sum():,} of {len(names):,} queries are split over folds ({some(names[split].tolist())}), and would"
            " be ranked by models trained on some of their rows: give cv=GroupKFold(), whose groups are the queries."
        )
    empty = np.setdiff1d(np.arange(len(folds)), fold[samples.is_judged])
    if len(empty):
        raise BadParameter(f"no row of fold {empty[0]} is judged: use fewer folds in cv=.")
    return fold


def _table(values: dict[Measure, Array], samples: Samples, fold: Array) -> pd.DataFrame:
    """Return a table with one row per judged query, with the query ids of the user."""
    rows = np.unique(samples.queries[0], return_index=True)[1][samples.judgments.asked]
    found = {str(measure): values_of for measure, values_of in values.items()}
    return pd.DataFrame({"qid": samples.qid[rows], "fold": fold[rows], **found})
