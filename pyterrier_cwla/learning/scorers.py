"""Scikit-learn scorers for measures; missing data raise an error instead of scoring NaN."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from numbers import Integral
from sys import getsizeof
from typing import Any

import ir_measures
import numpy as np
import sklearn
import sklearn.metrics
from ir_measures.measures import Measure
from sklearn.base import is_classifier
from sklearn.utils.metadata_routing import MetadataRequest

from ..errors import BadJudgments, BadParameter, BadRun, CannotScore, CWLAError, NotPassed, some
from ..measures.provider import aggregated
from .labelled_rows import Samples
from .metrics import computable, per_query
from .row_columns import KNOWN, known_of_rows, scores

Array = np.ndarray


@dataclass(repr=False)
class Scorer:
    """Scorer for scikit-learn's ``scoring=``, which :func:`scorer` creates.

    Attributes
    ----------
    measure : ir_measures.Measure
        The measure.
    min_queries : int, default=2
        The minimum number of judged queries.
    greater_is_better : bool, default=True
        Whether higher values are better. Otherwise the scorer negates them.
    requests : dict of str to bool, str or None
        The metadata requests for ``qid``, ``docno``, ``doc_length`` and ``judged``.
    """

    measure: Measure
    min_queries: int = 2
    greater_is_better: bool = True
    requests: dict[str, Any] = field(default_factory=lambda: dict.fromkeys(KNOWN, True))

    def __call__(self, estimator: Any, X: Any, y: Any = None, **known: Any) -> float:
        """Return the mean of the measure over queries, with the rows ranked by the predictions of the estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator.
        X : array_like, shape (n_rows, n_features)
            The features.
        y : array_like, shape (n_rows,)
            The grades, NaN for unjudged rows.
        **known : array_like, shape (n_rows,)
            Any of ``qid``, ``docno``, ``doc_length`` and ``judged``.

        Returns
        -------
        float

        Raises
        ------
        CannotScore
            If the rows cannot be scored, whatever the predictions.
        """
        self._expected(known)
        with self._or_never():
            samples = Samples.of(y, known_of_rows(X, y, known))
            self._check_queries(samples)
        score = predicted(estimator, X)
        samples.scores(score)  # an error here is one of the model, which scikit-learn's error_score handles
        with self._or_never():
            value = aggregated(self.measure, per_query([self.measure], samples, score)[self.measure])
        return value if self.greater_is_better else -value

    def set_score_request(self, **requests: Any) -> Scorer:
        """Set the names under which scikit-learn passes metadata.

        Parameters
        ----------
        **requests : bool, str or None
            A request for ``qid``, ``docno``, ``doc_length`` or ``judged``, such as ``qid="groups"``.

        Returns
        -------
        Scorer
            The scorer itself.
        """
        self._expected(requests)
        self.requests = {**self.requests, **requests}
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """Return the metadata requests of the scorer: qid, docno, doc_length and judged."""
        routing = MetadataRequest(owner=self)
        for name, alias in self.requests.items():
            routing.score.add_request(param=name, alias=alias)
        return routing

    def __sizeof__(self) -> int:
        """Return the size in bytes, including tables: Dask sends large objects only once to each worker."""
        return super().__sizeof__() + getsizeof(self.measure)

    def __repr__(self) -> str:
        more = [f"min_queries={self.min_queries}"] * (self.min_queries != 2)
        more += ["greater_is_better=False"] * (not self.greater_is_better)
        return f"scorer({', '.join([repr(str(self.measure)), *more])})"

    def _accept_sample_weight(self) -> bool:
        """Return False: all queries have the same weight. Searches of scikit-learn call this method."""
        return False

    def _expected(self, known: Mapping[str, Any]) -> None:
        odd = [name for name in known if name not in KNOWN]
        if odd:
            raise BadParameter(f"a scorer accepts {', '.join(KNOWN)}, not {some(odd)}.")

    def _check_queries(self, samples: Samples) -> None:
        queries = len(samples.judgments.qids)
        if not queries:
            raise BadJudgments("no row is judged: every label is NaN, or judged=False.")
        if queries < self.min_queries:
            raise BadParameter(
                f"only {queries} {'query has' if queries == 1 else 'queries have'} judged rows here"
                f" ({some(samples.judgments.qids)}). If qid is correct, pass min_queries={queries} to the scorer, as"
                " for LeaveOneGroupOut, or use fewer folds."
            )

    @contextmanager
    def _or_never(self) -> Iterator[None]:
        """Raise CannotScore for errors in the rows; scikit-learn does not convert it to NaN."""
        try:
            yield
        except CWLAError as error:
            raise CannotScore(f"{self!r}: {error}{how_to_pass() if isinstance(error, NotPassed) else ''}") from error


def scorer(measure: Any, min_queries: int = 2, greater_is_better: bool = True) -> Scorer:
    """Return a measure as a scorer for scikit-learn: ``cross_validate``, ``GridSearchCV`` and all with ``scoring=``.

    The scorer ranks the rows of each query by the prediction of the estimator, and returns the mean over the queries
    with judged rows. The prediction of a classifier is the expected grade Σ P(c)·c, or its decision_function if it has
    no probabilities; that of other estimators is ``predict`` or else ``decision_function``. ``y`` contains the grades,
    NaN for unjudged rows.

    The scorer needs ``qid``, the query of each row. Some measures need ``doc_length`` (in words) and ``docno``.
    ``judged`` is False for rows whose label is to be ignored. With metadata routing these are keyword arguments, as
    ``params={"qid": …}``. Otherwise they are index levels of these names, of ``y`` or ``X``.

    Parameters
    ----------
    measure : str or Measure
        A measure of this package or of ir_measures.
    min_queries : int, default=2
        The minimum number of judged queries. Fewer are an error, which usually means that ``qid`` is wrong.
    greater_is_better : bool, default=True
        False for measures with lower values for better rankings: the scorer negates the value, as scikit-learn does
        for errors.

    Returns
    -------
    Scorer
        The scorer. It raises CannotScore if the rows cannot be scored, whatever the predictions. scikit-learn
        converts all other errors to NaN.

    Raises
    ------
    BadParameter, UnknownSpec
        If the measure cannot be computed, or ``min_queries`` is not a whole number of 1 or more.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.dummy import DummyRegressor
    >>> index = pd.MultiIndex.from_tuples([("a", 90), ("a", 300), ("b", 120)], names=["qid", "doc_length"])
    >>> X, y = [[3], [1], [2]], pd.Series([1, 0, 2], index=index)
    >>> scorer("TBG(half_life=120)")
    scorer('TBG(half_life=120)')
    >>> round(scorer("TBG(half_life=120)")(DummyRegressor().fit(X, y), X, y), 4)
    0.4928
    """
    [one] = computable([measure])
    if not isinstance(min_queries, Integral) or isinstance(min_queries, bool) or min_queries < 1:
        raise BadParameter(f"min_queries must be a whole number of 1 or more, not {min_queries!r}.")
    return Scorer(one, int(min_queries), greater_is_better)


def get_scorer(scoring: Any) -> Any:
    """Return the scorer for a name, of this package or of scikit-learn.

    Parameters
    ----------
    scoring : str, Measure or callable
        The name of a measure or of a scorer of scikit-learn; a scorer is returned unchanged.

    Returns
    -------
    callable

    Raises
    ------
    UnknownSpec
        If there is no measure and no scorer of this name.

    Examples
    --------
    >>> get_scorer("nDCG@10"), get_scorer("r2")
    (scorer('nDCG@10'), make_scorer(r2_score, response_method='predict'))
    """
    if isinstance(scoring, str) and scoring not in sklearn.metrics.get_scorer_names():
        return scorer(scoring)
    return scorer(scoring) if isinstance(scoring, Measure) else sklearn.metrics.get_scorer(scoring)


def get_scorer_names() -> list[str]:
    """Return the names that :func:`get_scorer` accepts without parameters.

    Other measures need parameters, such as ``P@5``.

    Returns
    -------
    list of str
        The names in alphabetical order.

    Examples
    --------
    >>> [name for name in get_scorer_names() if "TBG" in name or "r2" in name]
    ['GradedTBG', 'TBG', 'r2']
    """
    return sorted([*filter(_needs_nothing, ir_measures.measures.registry), *sklearn.metrics.get_scorer_names()])


def predicted(estimator: Any, X: Any) -> Array:
    """Return the predictions of an estimator by which rows are ranked, one number per row."""
    if is_classifier(estimator):
        if hasattr(estimator, "predict_proba"):
            return np.asarray(estimator.predict_proba(X), float) @ _grades(estimator)
        ways = ("decision_function", "predict")
    else:
        ways = ("predict", "decision_function")
    way = next((way for way in ways if hasattr(estimator, way)), None)
    if way is None:
        raise CannotScore(f"{type(estimator).__name__} predicts nothing to rank by: it has no method predict.")
    found = scores(getattr(estimator, way)(X))
    if found.ndim == 2 and way == "decision_function":
        found = scores(estimator.predict(X))
    return found


def _grades(classifier: Any) -> Array:
    try:
        return np.asarray(classifier.classes_, float)
    except (TypeError, ValueError):
        raise BadRun(
            f"the classes of {type(classifier).__name__} are not grades: {some(classifier.classes_)}."
        ) from None


def _needs_nothing(name: str) -> bool:
    try:
        computable([name])
    except CWLAError:
        return False
    return True


def how_to_pass() -> str:
    """Return advice on how to pass metadata to scorers, for the present configuration of scikit-learn."""
    if sklearn.get_config()["enable_metadata_routing"]:
        return " (Metadata routing is on: pass data of rows by keyword, as params={'qid': qid, …}.)"
    return (
        " (Metadata routing is off, so scikit-learn passes only X and y to scorers: other data of rows must be levels"
        " of the index of y or X, as y = pd.Series(y, pd.MultiIndex.from_arrays([qid, …], names=['qid', …])); or call"
        " sklearn.set_config(enable_metadata_routing=True) and pass params={'qid': qid, …}.)"
    )
