"""Scorers for scikit-learn's searches and cross-validation, and their names in scikit-learn's registry."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from sys import getsizeof
from types import FunctionType
from typing import Any

import ir_measures
import numpy as np
import sklearn
from ir_measures.measures import Measure
from sklearn import metrics
from sklearn.base import is_classifier
from sklearn.dummy import DummyRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRequest

from ..data.columns import Array
from ..errors import (
    BadJudgments,
    BadParameter,
    BadRun,
    CannotScore,
    CWLAError,
    NotPassed,
    check_whole,
    shown,
    some,
    warn,
)
from ..measures.declarations import needs_of
from ..measures.labels import label_in
from ..measures.named import listed, measure_of, split_measures
from ..measures.provider import aggregated
from .labelled_rows import Marks, Samples, prepared, rows_as_queries, split_queries
from .metrics import computable, greater_is_better_of, per_query
from .row_columns import KNOWN, Known, known_of_rows, misplaced, scores

#: The cutoffs of the names that :func:`register_scorers` registers, such as ``nDCG@10``.
CUTOFFS = (1, 3, 5, 10, 20, 50, 100, 1000)

_called_here = False  # whether register_scorers was called in this process


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
    _warned_of: int = field(default=0, compare=False)  # hash of the queries in all folds of split queries

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
        with self._or_never(X, y):
            samples = self._samples(X, y, known)
        if about := rows_as_queries(samples):
            warn(f"{self!r}: {about}")
        trained = _trained_on(estimator)
        if about := split_queries(samples, trained):
            queries = hash(frozenset(trained.keys() | samples.marks.keys()))
            if queries != self._warned_of:
                self._warned_of = queries
                warn(f"{self!r}: {about}")
        score = predicted(estimator, X)
        samples.scores(score)  # an error here is one of the model, which scikit-learn's error_score handles
        with self._or_never(X, y):
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

    def __getstate__(self) -> dict[str, Any]:
        """Return the state, with the names of :func:`register_scorers`: worker processes register them, too.

        The names of this measure are sent along with it, since it carries the default table of lengths.
        """
        names = _registered()
        known = _default_scorers() if names else {}
        added = {
            name: vars(found)
            for name, found in names.items()
            if found.measure == self.measure or known.get(name) is not found
        }
        return {**vars(self), "_registered": added} if names else vars(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Register the names of the process that has sent the scorer, unless this one called register_scorers."""
        state = dict(state)
        registered = state.pop("_registered", None)
        vars(self).update(state)
        if registered is not None and not _called_here:
            with suppress(CWLAError):  # the scorer itself does not need the registry
                unregister_scorers()
                _register({name: Scorer(**other) for name, other in registered.items()})

    def __deepcopy__(self, memo: dict[int, Any]) -> Scorer:
        # Measures do not change, and their tables may be large.
        return replace(self, requests=dict(self.requests), _warned_of=0)

    def __sizeof__(self) -> int:
        """Return the size in bytes, including tables: Dask sends large objects only once to each worker."""
        return super().__sizeof__() + getsizeof(self.measure)

    def __hash__(self) -> int:
        return hash((self.measure, self.min_queries, self.greater_is_better))

    @property
    def _score_func(self) -> None:
        """Raise AttributeError: TunedThresholdClassifierCV looks for a function of labels and predictions."""
        raise AttributeError(
            f"{self!r} has no score function of labels and predictions, since a ranking depends on the queries of rows."
            " TunedThresholdClassifierCV cannot use it: thresholds do not change rankings."
        )

    def __repr__(self) -> str:
        more = [f"min_queries={self.min_queries}"] * (self.min_queries != 2)
        more += ["greater_is_better=False"] * (not self.greater_is_better)
        return f"scorer({', '.join([repr(str(self.measure)), *more])})"

    def _accept_sample_weight(self) -> bool:
        """Return False: all queries have the same weight. Searches of scikit-learn call this method."""
        return False

    def _expected(self, known: Known) -> None:
        odd = [name for name in known if name not in KNOWN]
        if odd:
            raise BadParameter(f"a scorer accepts {', '.join(KNOWN)}, not {some(odd)}.")

    def _samples(self, X: Any, y: Any, known: Known) -> Samples:
        large = needs_of(self.measure).tables  # cached lengths would keep them in memory
        samples = Samples.of(y, known_of_rows(X, y, known), uncertain=True) if large else prepared(X, y, known)
        queries = len(samples.judgments.qids)
        if not queries:
            raise BadJudgments("no row is judged: every label is NaN, or judged=False.")
        if queries < self.min_queries:
            raise BadParameter(
                f"only {queries} {'query has' if queries == 1 else 'queries have'} judged rows here"
                f" ({some(samples.judgments.qids)}). If qid is correct, pass min_queries={queries} to the scorer, as"
                " for LeaveOneGroupOut, or use fewer folds."
            )
        return samples

    @contextmanager
    def _or_never(self, X: Any, y: Any) -> Iterator[None]:
        """Raise CannotScore for errors in the rows; scikit-learn does not convert it to NaN."""
        try:
            yield
        except NotPassed as error:
            raise CannotScore(f"{self!r}: {error}{how_to_pass(X, y, self.requests)}") from error
        except CWLAError as error:
            raise CannotScore(f"{self!r}: {error}") from error


def scorer(measure: Any, min_queries: int = 2, greater_is_better: bool | None = None) -> Scorer:
    """Return a measure as a scorer for scikit-learn: ``cross_validate``, ``GridSearchCV`` and all with ``scoring=``.

    The scorer ranks the rows of each query by the prediction of the estimator, and returns the mean over the queries
    with judged rows. The prediction of a classifier is the expected grade Σ P(c)·c, or its decision_function if it has
    no probabilities; that of other estimators is ``predict`` or else ``decision_function``. ``y`` contains the grades,
    NaN for unjudged rows.

    The scorer needs ``qid``, the query of each row. Some measures need ``doc_length`` (in words) and ``docno``.
    ``judged`` is False for rows whose label is to be ignored. With metadata routing these are keyword arguments, as
    ``params={"qid": …}``. Otherwise they are index levels of these names, of ``y`` or ``X``.

    A scorer warns once for the same queries if a :class:`GroupedRanker` was trained on a part of those that it scores,
    as with KFold; in several processes, once in each task.

    The last rows stay in memory, so that further scorings of a fold are faster: up to a million values of labels and
    data of rows (500,000 rows with labels and ``qid``; about 80 MB).

    Parameters
    ----------
    measure : str or Measure
        A measure of this package or of ir_measures.
    min_queries : int, default=2
        The minimum number of judged queries. Fewer are an error, which usually means that ``qid`` is wrong.
    greater_is_better : bool, optional
        False for measures with lower values for better rankings: the scorer negates the value, as scikit-learn does
        for errors. By default False for ESL, and True for all others; pass False for costs, such as A='effort'.

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
    if isinstance(measure, str) and len(texts := split_measures(measure)) > 1:
        each = ", ".join(f"{text!r}: scorer({text!r})" for text in texts)
        raise BadParameter(f"a scorer has one measure. For several, write scoring={{{each}}}, refit={texts[0]!r}.")
    [one] = computable([measure_of(measure)])
    check_whole(1, min_queries=min_queries)
    return Scorer(one, int(min_queries), greater_is_better_of(one, greater_is_better))


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
    if isinstance(scoring, str) and scoring not in metrics.get_scorer_names():
        return scorer(scoring)
    return scorer(scoring) if isinstance(scoring, Measure) else metrics.get_scorer(scoring)


def get_scorer_names() -> list[str]:
    """Return the names that :func:`get_scorer` accepts without parameters.

    Other measures need parameters, such as ``CWLA(C="rbp(0.8)",A="max",max_rel=3)``.

    Returns
    -------
    list of str
        The names in alphabetical order.

    Examples
    --------
    >>> [name for name in get_scorer_names() if "TBG" in name or "r2" in name]
    ['GradedTBG', 'TBG', 'r2']
    """
    return sorted({*filter(_needs_nothing, ir_measures.measures.registry), *metrics.get_scorer_names()})


def register_scorers(measures: Any = ()) -> None:
    """Add the names of measures to those that scikit-learn accepts for ``scoring=``.

    Afterwards ``GridSearchCV(…, scoring="TBG")``, ``cross_validate(…, scoring=["nDCG@10", "AP"])`` and all other
    functions and classes of scikit-learn accept these names:

    * the measures that need no parameters, such as TBG, AP and nDCG (:func:`get_scorer_names` lists them),
    * measures with the cutoffs 1, 3, 5, 10, 20, 50, 100 and 1000, such as ``nDCG@10`` and ``P@5``,
    * ``measures``.

    The names of scikit-learn itself do not change. Further calls add further names. The names are also registered in
    worker processes that receive a scorer of this package.

    Parameters
    ----------
    measures : str, Measure, list of these, or mapping of str to str, Measure or Scorer, optional
        More measures. The keys of a mapping are names of your own, such as ``{"fast TBG": "TBG(half_life=60)"}``.

    Raises
    ------
    BadParameter
        If a name in ``measures`` belongs to scikit-learn itself.
    CWLAError
        If the registry of the installed version of scikit-learn, which is private, does not allow it. Nothing is
        changed then.
    UnknownSpec
        If a measure cannot be computed.

    Examples
    --------
    >>> from sklearn.metrics import get_scorer
    >>> register_scorers({"fast TBG": "TBG(half_life=60)"})
    >>> get_scorer("nDCG@10"), get_scorer("fast TBG")
    (scorer('nDCG@10'), scorer('TBG(half_life=60)'))
    >>> unregister_scorers()
    """
    global _called_here
    if isinstance(measures, Scorer):
        raise BadParameter(f"{measures!r} needs a name: pass a mapping, such as {{'mine': {measures!r}}}.")
    if not isinstance(measures, Mapping):
        given = listed(measures)
        texts = [one if isinstance(one, str) and label_in(one)[0] is None else None for one in given]
        measures = {text or str(measure): measure for text, measure in zip(texts, computable(given), strict=True)}
    for name in measures:
        if not isinstance(name, str) or not name:
            raise BadParameter(f"the name of a scorer must be a text, not {shown(name)}.")
    named = {name: found if isinstance(found, Scorer) else scorer(found) for name, found in measures.items()}
    clashing = set(named) & set(metrics.get_scorer_names()) - set(_registered())
    if clashing:
        raise BadParameter(f"scikit-learn has a scorer of its own named {some(clashing)}: choose another name.")
    _register(named)
    _called_here = True


def unregister_scorers() -> None:
    """Remove all names that :func:`register_scorers` has added.

    Examples
    --------
    >>> from sklearn.metrics import get_scorer_names
    >>> register_scorers()
    >>> unregister_scorers()
    >>> "TBG" in get_scorer_names()
    False
    """
    global _called_here
    registry, ours = _registry() or {}, _registered()
    for name in ours:
        del registry[name]
    _allow(registry, ours)
    _called_here = False


@cache
def _default_scorers() -> dict[str, Scorer]:
    """Return the scorers that :func:`register_scorers` registers without arguments, by name."""
    measures = ir_measures.measures.registry
    found = {name: scorer(name) for name in measures if _needs_nothing(name)}
    at_cutoffs = {f"{name}@{k}": k for name in measures for k in CUTOFFS}
    for name, k in at_cutoffs.items():
        # The number in IPrec@1 is a recall.
        if _needs_nothing(name) and (one := scorer(name)).measure.params.get("cutoff") == k:
            found[name] = one
    return found


def _register(named: Mapping[str, Scorer]) -> None:
    """Add the given names to the registry of scikit-learn, and the default ones that it does not have.

    Raises
    ------
    CWLAError
        If this version of scikit-learn does not allow it. The registry is then unchanged.
    """
    registry = _registry()
    if registry is not None:
        before = dict(registry)
        added = {**{name: one for name, one in _default_scorers().items() if name not in before}, **named}
        registry.update(added)
        _allow(registry, added)
        try:
            metrics.check_scoring(DummyRegressor(), scoring=next(iter(added), None))
            return
        except (KeyError, TypeError, ValueError):
            registry.clear()
            registry.update(before)
            _allow(registry, added)
    raise CWLAError(
        f"scikit-learn {sklearn.__version__} does not allow new names of scorers in the way that register_scorers uses."
        " Pass scorers instead of names: scoring=scorer('TBG')."
    )


def _registered() -> dict[str, Scorer]:
    """Return the registered scorers of this package by name; none if scikit-learn has another registry."""
    return {name: one for name, one in (_registry() or {}).items() if isinstance(one, Scorer)}


def _registry() -> dict[str, Any] | None:
    """Return the scorers of scikit-learn by name: ``sklearn.metrics._scorer._SCORERS``."""
    found = getattr(sys.modules.get("sklearn.metrics._scorer"), "_SCORERS", None)
    return found if isinstance(found, dict) and set(found) == set(metrics.get_scorer_names()) else None


def _allow(registry: Mapping[str, Any], changed: Iterable[str]) -> None:
    """Make all checks of ``scoring=`` accept those of the changed names that are registered, and no other of them."""
    changed = set(changed)
    wanted = changed & set(registry)
    for check in _checks():
        check.options = (check.options - changed) | wanted


def _checks() -> Iterator[Any]:
    """Yield the objects that check ``scoring=`` in scikit-learn's functions and classes imported so far.

    They contain a copy of the names at the time when their module was imported. Modules that are imported later copy
    the names as they are then.
    """
    for path, module in list(sys.modules.items()):
        if not path.startswith("sklearn."):
            continue
        for thing in list(getattr(module, "__dict__", {}).values()):
            if isinstance(thing, FunctionType | type):
                known = vars(thing).get("_skl_parameter_constraints") or vars(thing).get("_parameter_constraints")
                checks = known.get("scoring") if isinstance(known, dict) else None
                for check in checks if isinstance(checks, list) else ():
                    if isinstance(getattr(check, "options", None), Set) and "r2" in check.options:
                        yield check


def predicted(estimator: Any, X: Any) -> Array:
    """Return the predictions of an estimator by which rows are ranked, one number per row."""
    if is_classifier(estimator):
        if hasattr(estimator, "predict_proba"):
            try:
                grades = np.asarray(estimator.classes_, float)
            except (TypeError, ValueError):
                raise BadRun(
                    f"the classes of {type(estimator).__name__} are not grades: {some(estimator.classes_)}."
                ) from None
            return np.asarray(estimator.predict_proba(X), float) @ grades
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


def _trained_on(estimator: Any) -> Marks:
    """Return the marks of the training queries of a GroupedRanker, also inside searches and pipelines."""
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif isinstance(estimator, Pipeline):
            estimator = estimator[-1]
        else:
            return getattr(estimator, "_trained_on", {})


def _needs_nothing(name: str) -> bool:
    try:
        computable([name])
    except CWLAError:
        return False
    return True


def how_to_pass(X: Any, y: Any, requests: Mapping[str, Any] | None = None) -> str:
    """Return advice on how to pass metadata, for the rows and for the present configuration of scikit-learn.

    Parameters
    ----------
    X, y : array_like or DataFrame or Series
        The rows, from which metadata are missing.
    requests : mapping, optional
        The metadata requests of a scorer.
    """
    hint = misplaced(X, y)
    if sklearn.get_config()["enable_metadata_routing"]:
        changed = {name: alias for name, alias in (requests or {}).items() if alias is not True}
        if changed:
            return f"{hint} (Metadata routing is on, and the requests of this scorer were changed: {changed}.)"
        return f"{hint} (Metadata routing is on: pass data of rows by keyword, as params={{'qid': qid, …}}.)"
    return hint or (
        " (Metadata routing is off, so scikit-learn passes only X and y to scorers: other data of rows must be levels"
        " of the index of y or X, as y = pd.Series(y, pd.MultiIndex.from_arrays([qid, …], names=['qid', …])). If the"
        " index is dropped, as by RFECV and LogisticRegressionCV, call sklearn.set_config(enable_metadata_routing=True)"
        " and pass params={'qid': qid, …}.)"
    )
