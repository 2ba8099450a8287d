"""Any measure as a scikit-learn scorer, which says what it lacks where others would score NaN."""

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
    """A measure of rankings as scikit-learn's ``scoring=``; made by :func:`scorer`."""

    measure: Measure
    min_queries: int = 2
    greater_is_better: bool = True
    requests: dict[str, Any] = field(default_factory=lambda: dict.fromkeys(KNOWN, True))

    def __call__(self, estimator: Any, X: Any, y: Any = None, **known: Any) -> float:
        """The mean of the measure over the queries of these rows, ranked by what the estimator predicts."""
        self._expected(known)
        with self._or_never():
            samples = Samples.of(y, known_of_rows(X, y, known))
            self._check_queries(samples)
        score = predicted(estimator, X)
        samples.scores(score)  # NaN is the model's fault, which scikit-learn's error_score is for
        with self._or_never():
            value = aggregated(self.measure, per_query([self.measure], samples, score)[self.measure])
        return value if self.greater_is_better else -value

    def set_score_request(self, **requests: Any) -> Scorer:
        """Under which name scikit-learn passes what is known of rows: ``set_score_request(qid="groups")``."""
        self._expected(requests)
        self.requests = {**self.requests, **requests}
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """What the scorer asks for where metadata are routed: qid, docno, doc_length and judged."""
        routing = MetadataRequest(owner=self)
        for name, alias in self.requests.items():
            routing.score.add_request(param=name, alias=alias)
        return routing

    def __sizeof__(self) -> int:
        """The bytes, those of the measure's tables included: Dask sends large objects to each worker once."""
        return super().__sizeof__() + getsizeof(self.measure)

    def __repr__(self) -> str:
        more = [f"min_queries={self.min_queries}"] * (self.min_queries != 2)
        more += ["greater_is_better=False"] * (not self.greater_is_better)
        return f"scorer({', '.join([repr(str(self.measure)), *more])})"

    def _accept_sample_weight(self) -> bool:
        """As scikit-learn's searches ask: each query counts alike."""
        return False

    def _expected(self, known: Mapping[str, Any]) -> None:
        odd = [name for name in known if name not in KNOWN]
        if odd:
            raise BadParameter(f"a scorer takes {', '.join(KNOWN)}, and not {some(odd)}.")

    def _check_queries(self, samples: Samples) -> None:
        queries = len(samples.judgments.qids)
        if not queries:
            raise BadJudgments("no row is judged: every label is NaN, or judged=False.")
        if queries < self.min_queries:
            raise BadParameter(
                f"of only {queries} {'query' if queries == 1 else 'queries'} is anything judged here"
                f" ({some(samples.judgments.qids)}). If qid is right, pass min_queries={queries} to the scorer, as"
                " LeaveOneGroupOut needs it, or fewer folds to scikit-learn."
            )

    @contextmanager
    def _or_never(self) -> Iterator[None]:
        """Turns what is wrong with the rows into an error that scikit-learn does not turn into NaN."""
        try:
            yield
        except CWLAError as error:
            raise CannotScore(f"{self!r}: {error}{how_to_pass() if isinstance(error, NotPassed) else ''}") from error


def scorer(measure: Any, min_queries: int = 2, greater_is_better: bool = True) -> Scorer:
    """Return a measure as a scorer for scikit-learn: ``cross_validate``, ``GridSearchCV`` and all with ``scoring=``.

    The scorer ranks the rows of each query by the estimator's prediction (a classifier's expected grade Σ P(c)·c, or
    its decision_function if it has no probabilities; else ``predict`` or ``decision_function``), and returns the mean
    over the queries of which anything is judged. ``y`` has the grades, NaN where unjudged.

    It needs ``qid``, the query of each row, and may need ``doc_length`` (in words) and ``docno``; ``judged`` is False
    where a label means nothing. With metadata routing these are passed by keyword, as ``params={"qid": …}``; without,
    they are levels of the index of ``y`` or ``X`` that have these names.

    Parameters
    ----------
    measure : str or Measure
        A measure of this package or of ir_measures.
    min_queries : int
        Fewer judged queries are an error: often rows lack their queries.
    greater_is_better : bool
        False for measures of which less is better, such as ExpectedEffort: the value is negated, as scikit-learn
        negates its errors.

    Returns
    -------
    Scorer
        The scorer. It raises CannotScore where rows cannot be scored whatever a model predicts; scikit-learn turns
        every other error into NaN.

    Raises
    ------
    BadParameter, UnknownSpec
        If the measure cannot be computed, or ``min_queries`` is no whole number from 1.

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
    """The scorer of a text, ours or scikit-learn's own; a scorer is returned as it is.

    >>> get_scorer("nDCG@10"), get_scorer("r2")
    (scorer('nDCG@10'), make_scorer(r2_score, response_method='predict'))
    """
    if isinstance(scoring, str) and scoring not in sklearn.metrics.get_scorer_names():
        return scorer(scoring)
    return scorer(scoring) if isinstance(scoring, Measure) else sklearn.metrics.get_scorer(scoring)


def get_scorer_names() -> list[str]:
    """All that :func:`get_scorer` takes as it stands; other measures need parameters, as ``P@5`` does.

    >>> [name for name in get_scorer_names() if "TBG" in name or "r2" in name]
    ['GradedTBG', 'TBG', 'r2']
    """
    return sorted([*filter(_needs_nothing, ir_measures.measures.registry), *sklearn.metrics.get_scorer_names()])


def predicted(estimator: Any, X: Any) -> Array:
    """What an estimator says to rank the rows by, one number each."""
    if is_classifier(estimator):
        if hasattr(estimator, "predict_proba"):
            return np.asarray(estimator.predict_proba(X), float) @ _grades(estimator)
        ways = ("decision_function", "predict")
    else:
        ways = ("predict", "decision_function")
    way = next((way for way in ways if hasattr(estimator, way)), None)
    if way is None:
        raise CannotScore(f"{type(estimator).__name__} predicts nothing to rank by: it has no predict.")
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
    """How scorers get what is known of rows, as scikit-learn is set."""
    if sklearn.get_config()["enable_metadata_routing"]:
        return " (Metadata routing is on: pass what is known of rows by keyword, as params={'qid': qid, …}.)"
    return (
        " (Metadata routing is off, so scikit-learn hands a scorer X and y alone: what is known of rows must be levels"
        " of the index of y or X, as y = pd.Series(y, pd.MultiIndex.from_arrays([qid, …], names=['qid', …])); or call"
        " sklearn.set_config(enable_metadata_routing=True) and pass params={'qid': qid, …}.)"
    )
