"""Scikit-learn estimator for the rankers of LightGBM and XGBoost, which takes the query of each row."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from ir_measures.measures import Measure
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GroupShuffleSplit
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ..data.columns import Array
from ..data.lengths import Lengths
from ..errors import BadJudgments, BadParameter, CWLAError, NotPassed, check_share, check_whole
from ..errors.extras import needed
from ..files import id_columns
from ..measures.declarations import needs_of
from ..measures.named import RowMeasure, measure_of
from ..measures.provider import computed_here
from .labelled_rows import Samples, rows_as_queries
from .lambdamart import EvalMeasure, LambdaMART
from .metrics import greater_is_better_of, per_query
from .row_columns import KNOWN, known_of_rows, misplaced
from .scorers import Scorer, scorer

_NO_COPIES = "a row of weight n is not n copies: copies, and rows of weight 0, occupy ranks"
#: The checks of scikit-learn's ``check_estimator`` that fail for each wrapped ranker, with the reasons.
EXPECTED_FAILED_CHECKS = {
    "LGBMRanker": {
        "check_sample_weight_equivalence_on_dense_data": _NO_COPIES,
        "check_sample_weight_equivalence_on_sparse_data": _NO_COPIES,
    },
    "XGBRanker": {
        "check_sample_weight_equivalence_on_dense_data": _NO_COPIES,
        "check_sample_weight_equivalence_on_sparse_data": _NO_COPIES,
        "check_sample_weights_not_overwritten": "XGBoost weights queries; the check has several weights in one",
    },
}
_VALIDATION = "validation_0"  # the name in XGBoost
_KNOWN = ("qid", "docno", "doc_length")


class GroupedRanker(BaseEstimator):
    """Ranker of LightGBM or XGBoost as a scikit-learn estimator with the query of each row as an argument.

    The rankers of the libraries need rows sorted by query and the sizes of the groups, which cross-validation cannot
    split. This estimator accepts rows in any order. It works with ``cross_validate``, ``GridSearchCV``, Pipelines,
    ``clone``, pickle and worker processes.

    Parameters
    ----------
    ranker : LGBMRanker or XGBRanker, optional
        The ranker; by default ``LGBMRanker(verbosity=-1)``. Its parameters have names such as ``ranker__num_leaves``.
        LightGBM uses all cores by default: set its ``n_jobs=1`` if a search or cross-validation has ``n_jobs``.
    objective : str, Measure or LambdaMART, optional
        The measure to optimise; by default the objective of the ranker. An IntentAware measure needs judgments with
        intents, ``LambdaMART(measure, qrels=…)``; it is no default for `eval_measure`, since labels have no intents.
    eval_measure : str or Measure, optional
        The measure for validation queries and for :meth:`score`; by default that of the objective. If there is none
        either, the ranker validates with its own metric and :meth:`score` uses nDCG.
    early_stopping_rounds : int, optional
        The number of rounds to wait for a better value. XGBoost compares values with six digits.
    validation_fraction : float in (0, 1), optional
        The share of the queries that ``fit`` holds out for validation.
    single_query : bool, default=False
        Whether rows without ``qid`` all belong to one query. By default they raise NotPassed.
    random_state : int, RandomState or None, default=None
        The seed for the choice of validation queries.

    Attributes
    ----------
    ranker_ : LGBMRanker or XGBRanker
        The trained ranker.
    best_iteration_ : int
        The number of rounds that ``predict`` uses.
    evals_result_ : dict
        The values of the validation queries by round: ``evals_result_["validation_0"][measure]``.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of str
        The names of the columns of ``X``, if they have names.

    Raises
    ------
    BadParameter, NotPassed, BadJudgments, MissingLength
        By ``fit``, if parameters or rows are invalid. :meth:`score` raises CannotScore, as scorers do.

    Notes
    -----
    If ``qid``, ``docno`` or ``doc_length`` (in words) is not passed to a method, the index level of this name of ``y``
    or of ``X`` is used. With metadata routing, the methods request all three by default.

    For training, the rows of a query are sorted by docno in descending order if it is given (as trec_eval breaks
    ties). Then the order of the rows does not change the trees, to the last bit. Without docno the rows keep their
    order, and the trees depend on it: all scores are equal at the start, and rows with equal scores rank in their
    order.

    ``EXPECTED_FAILED_CHECKS`` lists the checks of scikit-learn's ``check_estimator`` that fail, with the reasons.

    Examples
    --------
    >>> import numpy as np
    >>> from lightgbm import LGBMRanker
    >>> from sklearn.model_selection import GroupKFold, cross_validate
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(400, 3)), pd.Index(rng.integers(0, 20, 400), name="qid")
    >>> y = pd.Series(np.clip(np.rint(X[:, 0] + 1), 0, 3), index=qid)
    >>> ranker = GroupedRanker(LGBMRanker(n_estimators=20, n_jobs=1, verbosity=-1), objective="nDCG@5")
    >>> bool(cross_validate(ranker, X, y, groups=qid, cv=GroupKFold(4))["test_score"].mean() > 0.95)
    True
    """

    _default_lengths: Lengths | None = None  # the default table of the process that has sent the estimator

    __metadata_request__fit = dict.fromkeys((*_KNOWN, *(f"eval_{name}" for name in ("X", "y", *_KNOWN))), True)
    __metadata_request__score = dict.fromkeys(_KNOWN, True)

    def __init__(
        self,
        ranker: Any = None,
        *,
        objective: Any = None,
        eval_measure: Any = None,
        early_stopping_rounds: int | None = None,
        validation_fraction: float | None = None,
        single_query: bool = False,
        random_state: Any = None,
    ) -> None:
        self.ranker = ranker
        self.objective = objective
        self.eval_measure = eval_measure
        self.early_stopping_rounds = early_stopping_rounds
        self.validation_fraction = validation_fraction
        self.single_query = single_query
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        qid: Any = None,
        docno: Any = None,
        doc_length: Any = None,
        sample_weight: Any = None,
        *,
        eval_X: Any = None,
        eval_y: Any = None,
        eval_qid: Any = None,
        eval_docno: Any = None,
        eval_doc_length: Any = None,
    ) -> GroupedRanker:
        """Train the ranker.

        Parameters
        ----------
        X : array_like, sparse matrix or DataFrame, shape (n_rows, n_features)
            The features of the training rows.
        y : array_like, shape (n_rows,)
            The grades. The grades −1 and −2 of TREC count as 0.
        qid : array_like, shape (n_rows,), optional
            The query of each row; by default the index level of this name of ``y`` or ``X``.
        docno : array_like, shape (n_rows,), optional
            The document of each row.
        doc_length : array_like, shape (n_rows,), optional
            The number of words of each document.
        sample_weight : array_like, shape (n_rows,), optional
            The weights of the rows. XGBoost weights queries: all rows of a query must then have the same weight.
        eval_X, eval_y, eval_qid, eval_docno, eval_doc_length : array_like, optional
            The validation rows. All validation queries have the same weight.

        Returns
        -------
        GroupedRanker
            The estimator itself.

        Raises
        ------
        BadParameter, NotPassed, BadJudgments, MissingLength
            If parameters or rows are invalid.
        """
        train = _trainer(self.ranker)
        ranker = _default() if self.ranker is None else clone(self.ranker)
        objective, measure = self._objective_and_measure()
        X = _features(self, X, reset=True)
        learned = [] if objective is None or objective.qrels is not None else [objective.measure]
        watched = [] if measure is None else [measure]
        known = {"qid": qid, "docno": docno, "doc_length": doc_length}
        samples = self._samples(X, y, known, learned + watched * (self.validation_fraction is not None))
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        rows, validation = _Rows.in_groups(X, samples, sample_weight), None
        known = {"qid": eval_qid, "docno": eval_docno, "doc_length": eval_doc_length}
        if eval_X is not None:
            eval_X = _features(self, eval_X, reset=False)
            try:
                validation = _Rows.in_groups(eval_X, self._samples(eval_X, eval_y, known, watched), None)
            except CWLAError as error:
                raise type(error)(f"the validation rows: {error}") from None
        elif any(values is not None for values in (eval_y, *known.values())):
            raise BadParameter("eval_y=, eval_qid= … describe the rows of eval_X=, which is missing.")
        rows, validation = self._split(rows, validation)
        training = rows, validation, objective, measure, self.early_stopping_rounds
        self.best_iteration_, self.evals_result_ = train(ranker, *training)
        self.ranker_, self._trained_on = ranker, samples.marks
        return self

    def predict(self, X: Any) -> Array:
        """Return one score per row, in the order of the rows.

        Parameters
        ----------
        X : array_like, sparse matrix or DataFrame, shape (n_rows, n_features)
            The features. The rows may belong to any queries.

        Returns
        -------
        ndarray, shape (n_rows,)
        """
        check_is_fitted(self)
        return self.ranker_.predict(_features(self, X, reset=False))

    def score(
        self, X: Any, y: Any, qid: Any = None, docno: Any = None, doc_length: Any = None, sample_weight: Any = None
    ) -> float:
        """Return the mean of ``eval_measure`` (else of the objective's measure, else of nDCG) over the queries.

        The mean of ESL, of which less is better, is negated.

        Parameters
        ----------
        X : array_like, sparse matrix or DataFrame, shape (n_rows, n_features)
            The features.
        y : array_like, shape (n_rows,)
            The grades, NaN for unjudged rows.
        qid, docno, doc_length : array_like, shape (n_rows,), optional
            The query, the document and the document length of each row.
        sample_weight : None
            Not supported, since all queries have the same weight. Pipelines pass None.

        Returns
        -------
        float

        Raises
        ------
        CannotScore
            If the rows cannot be scored, whatever the predictions.
        """
        check_is_fitted(self)
        known = self._known(X, y, {"qid": qid, "docno": docno, "doc_length": doc_length})
        if sample_weight is not None:
            known["sample_weight"] = sample_weight
        return _scorer(self._objective_and_measure()[1] or "nDCG")(self, X, y, **known)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for other processes, which do not have the default table of lengths.

        Measures carry the table. An estimator that is not fitted carries it, too, for texts that a search sets there.
        """
        state: dict[str, Any] = {**super().__getstate__()}
        table = state.pop("_default_lengths", None) or Lengths.default
        if table is not None and "ranker_" not in state:
            state["_default_lengths"] = table
        for name in ("objective", "eval_measure"):
            if isinstance(state.get(name), str):
                with suppress(CWLAError):  # fit raises it
                    measure = self._computed(state[name])
                    state = {**state, name: measure} if needs_of(measure).lengths == "default" else state
        return state

    def __sklearn_clone__(self) -> GroupedRanker:
        made: GroupedRanker = super().__sklearn_clone__()
        if self._default_lengths is not None:
            made._default_lengths = self._default_lengths
        return made

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.positive_only = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    def _objective_and_measure(self) -> tuple[LambdaMART | None, Measure | None]:
        """Return the objective, and the measure of validation queries; None for those of the ranker."""
        objective = self.objective
        if isinstance(objective, str | Measure):
            objective = LambdaMART(self._computed(objective))
        if objective is None:
            return None, None if self.eval_measure is None else self._computed(self.eval_measure)
        if not isinstance(objective, LambdaMART):
            raise BadParameter(
                f"objective={objective!r}: must be a measure, a LambdaMART, or None for the ranker's own."
            )
        if any(getattr(objective, name) is not None for name in _KNOWN):
            raise BadParameter(
                "the objective has its own doc_length, docno or qid, but fit changes the order of rows. Pass them to"
                " fit, or as index levels of y or X."
            )
        if self.eval_measure is not None:
            return objective, self._computed(self.eval_measure)
        return objective, None if objective.qrels is not None else objective.measure

    def _computed(self, given: Any) -> Measure:
        """Return the measure, with the default table of the process that has sent the estimator."""
        [measure] = computed_here([measure_of(given)])
        if isinstance(measure, RowMeasure) and needs_of(measure).lengths == "run":
            return measure.reading(self._default_lengths)
        return measure

    def _known(self, X: Any, y: Any, given: dict[str, Any]) -> dict[str, Any]:
        known: dict[str, Any] = known_of_rows(X, y, given)
        if self.single_query:
            known.setdefault("qid", np.zeros(X.shape[0], int))
        return known

    def _samples(self, X: Any, y: Any, given: dict[str, Any], measures: list[Measure]) -> Samples:
        """Return the rows, validated in the order of the user, which errors refer to."""
        known = self._known(X, y, given)
        if y is None:
            raise BadJudgments("GroupedRanker requires y to be passed, but the target y is None.")
        if "qid" not in known:
            raise NotPassed(
                "the query of each row is missing: pass qid= to fit, or give y (or X) an index with the level 'qid'."
                f"{misplaced(X, y)} (A Pipeline passes <step>__qid=, or with metadata routing on qid=, unless"
                " set_fit_request(qid=False).)"
            )
        samples = Samples.of(y, known)
        if (holes := np.flatnonzero(~samples.is_judged)).size:
            raise BadJudgments(
                f"row {holes[0]} is not judged, and rankers learn from judged rows. Remove the {holes.size:,} unjudged"
                " rows, or give them the label 0."
            )
        if about := rows_as_queries(samples):
            raise BadParameter(about)
        if measures:
            per_query(measures, samples, np.zeros(len(samples.label)))  # raises if data are missing
        return samples

    def _split(self, rows: _Rows, validation: _Rows | None) -> tuple[_Rows, _Rows | None]:
        """Return training and validation rows."""
        fraction, patience = self.validation_fraction, self.early_stopping_rounds
        if patience is not None:
            check_whole(1, early_stopping_rounds=patience)
        if fraction is None:
            if validation is None and patience is not None:
                raise BadParameter(
                    "early_stopping_rounds= needs queries to validate on: set validation_fraction=, or pass eval_X= and"
                    " eval_y= to fit."
                )
            return rows, validation
        if validation is not None:
            raise BadParameter("both validation_fraction= and eval_X= are given: use one of the two.")
        check_share(0.2, validation_fraction=fraction)
        if len(rows.sizes) < 2:
            raise BadParameter("validation_fraction= holds out whole queries, and there is only one.")
        split = GroupShuffleSplit(1, test_size=fraction, random_state=self.random_state)
        kept, held = next(split.split(rows.grades, groups=rows.samples.queries[0]))
        return rows.take(kept), rows.take(held)


class _Rows(NamedTuple):
    """Labelled rows with features and weights, grouped by query."""

    X: Any
    samples: Samples
    weight: Array | None

    @classmethod
    def in_groups(cls, X: Any, samples: Samples, weight: Array | None) -> _Rows:
        """Return rows sorted by query, and within queries by docno in descending order if it is given."""
        query = pd.factorize(samples.qid, sort=True)[0]
        if samples.docno is None:
            return cls(X, samples, weight).take(np.argsort(query, kind="stable"))
        return cls(X, samples, weight).take(id_columns.order_in_groups(query, samples.doc_id))

    def take(self, rows: Array) -> _Rows:
        known = {name: values[rows] for name in KNOWN if (values := getattr(self.samples, name)) is not None}
        samples = Samples(self.samples.label[rows], **known)
        return _Rows(_safe_indexing(self.X, rows), samples, None if self.weight is None else self.weight[rows])

    @property
    def sizes(self) -> Array:
        return np.bincount(self.samples.queries[0])

    @property
    def grades(self) -> Array:
        """Labels for training: the libraries reject grades below 0, and measures treat these as 0."""
        return np.maximum(self.samples.label, 0)

    @property
    def weight_of_query(self) -> Array | None:
        if self.weight is None:
            return None
        first = np.cumsum(self.sizes) - self.sizes
        uneven = np.flatnonzero(self.weight != np.repeat(self.weight[first], self.sizes))
        if uneven.size:
            query = self.samples.qid.tolist()[uneven[0]]
            raise BadParameter(
                f"query {query!r} has rows of different sample_weight, but XGBoost weights queries. Give all rows of a"
                " query one weight, or use an LGBMRanker."
            )
        return self.weight[first]


@lru_cache(maxsize=32)
def _scorer(measure: Any) -> Scorer:
    """Return the scorer of :meth:`GroupedRanker.score`, one for all folds, so that it warns once."""
    return scorer(measure, min_queries=1)


def _features(estimator: GroupedRanker, X: Any, reset: bool) -> Any:
    """Return validated features; data frames are returned unchanged, with their categories."""
    if isinstance(X, pd.DataFrame):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return X
    return validate_data(estimator, X, reset=reset, accept_sparse="csr", ensure_all_finite=False)


def _trainer(ranker: Any) -> Callable[..., tuple[int, dict]]:
    """Return the function that trains the ranker; it returns the number of rounds and the validation values."""
    names = {(kind.__module__.split(".")[0], kind.__name__) for kind in type(ranker).__mro__}
    if ranker is None or ("lightgbm", "LGBMRanker") in names:
        return _train_lightgbm
    if ("xgboost", "XGBRanker") in names:
        return _train_xgboost
    raise BadParameter(f"ranker={ranker!r}: must be a lightgbm.LGBMRanker or an xgboost.XGBRanker.")


def _default() -> Any:
    with needed("GroupedRanker() needs lightgbm, or an xgboost.XGBRanker as its ranker", extra="lightgbm"):
        from lightgbm import LGBMRanker
    return LGBMRanker(verbosity=-1)


def _train_lightgbm(
    ranker: Any,
    rows: _Rows,
    validation: _Rows | None,
    objective: LambdaMART | None,
    measure: Measure | None,
    patience: int | None,
) -> tuple[int, dict]:
    from lightgbm import early_stopping

    if measure is not None:
        ranker.set_params(metric="None")
    if objective is not None:
        ranker.set_params(objective=_bound(objective, rows))
    evaluation: dict[str, Any] = {}
    if validation is not None:
        evaluation = {
            "eval_X": validation.X,
            "eval_y": validation.grades if measure is None else validation.samples.label,
            "eval_group": [validation.sizes],
            "eval_names": [_VALIDATION],
            "eval_metric": None if measure is None else _evaluation(measure, validation),
        }
    ranker.fit(
        rows.X,
        rows.grades,
        group=rows.sizes,
        sample_weight=rows.weight,
        callbacks=None if patience is None else [early_stopping(patience, verbose=False)],
        **evaluation,
    )
    if objective is not None:
        ranker.set_params(objective=objective)  # without the data of the training rows
    best = ranker.best_iteration_
    return best if best > 0 else ranker.n_estimators_, ranker.evals_result_


def _train_xgboost(
    ranker: Any,
    rows: _Rows,
    validation: _Rows | None,
    objective: LambdaMART | None,
    measure: Measure | None,
    patience: int | None,
) -> tuple[int, dict]:
    if patience is not None:
        ranker.set_params(early_stopping_rounds=patience)
    if objective is not None or (validation is not None and measure is not None):
        results = _boost(ranker, rows, validation, objective, measure)
    else:
        evaluation = {}
        if validation is not None:
            evaluation = {"eval_set": [(validation.X, validation.grades)], "eval_group": [validation.sizes]}
        ranker.fit(rows.X, rows.grades, group=rows.sizes, sample_weight=rows.weight_of_query, **evaluation)
        results = ranker.evals_result() if evaluation else {}
    booster = ranker.get_booster()
    best = booster.attr("best_iteration")
    return booster.num_boosted_rounds() if best is None else int(best) + 1, results


def _boost(
    ranker: Any, rows: _Rows, validation: _Rows | None, objective: LambdaMART | None, measure: Measure | None
) -> dict:
    """Train like ``XGBRanker.fit``, which does not support objectives and measures with documents."""
    from xgboost import DMatrix, train

    names = ("missing", "feature_types", "feature_weights", "enable_categorical")
    options: dict[str, Any] = {name: getattr(ranker, name) for name in names} | {"nthread": ranker.n_jobs}
    parameters = ranker.get_xgb_params() | {"eval_metric": None, "disable_default_eval_metric": True}
    if objective is not None and parameters["base_score"] is None:
        parameters["base_score"] = 0.0
    evaluation: dict[str, Any] = {}
    if validation is not None and measure is not None:
        held_out = DMatrix(validation.X, validation.samples.label, group=validation.sizes, **options)
        watched = _evaluation(measure, validation)
        evaluation = {
            "evals": [(held_out, _VALIDATION)],
            "custom_metric": lambda pred, data: ("measure", watched.xgboost(pred, data)[1]),
        }
    results: dict = {}  # XGBoost parses names from text, so the measure has a plain name
    booster = train(
        parameters,
        DMatrix(rows.X, rows.grades, group=rows.sizes, weight=rows.weight_of_query, **options),
        num_boost_round=ranker.get_num_boosting_rounds(),
        obj=None if objective is None else _bound(objective, rows).xgboost,
        maximize=measure is None or greater_is_better_of(measure, None),
        early_stopping_rounds=ranker.early_stopping_rounds,
        evals_result=results,
        verbose_eval=False,
        callbacks=ranker.callbacks,
        **evaluation,
    )
    ranker.load_model(booster.save_raw())
    return {name: {str(measure): values["measure"]} for name, values in results.items()}


def _bound(objective: LambdaMART, rows: _Rows) -> LambdaMART:
    return objective.bound(rows.samples.doc_length, rows.samples.docno, rows.samples.qid)


def _evaluation(measure: Measure, rows: _Rows) -> EvalMeasure:
    return EvalMeasure(measure, doc_length=rows.samples.doc_length, docno=rows.samples.docno)
