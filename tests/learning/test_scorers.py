"""Tests of scorers, their names in scikit-learn, array functions and out-of-fold evaluation: values as in evaluate."""

import pickle
import subprocess
import sys
import warnings
from copy import deepcopy
from functools import partial
from types import MappingProxyType

import cloudpickle
import ir_measures
import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import sklearn
from sklearn import metrics, model_selection
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import RFECV, SequentialFeatureSelector
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.utils.fixes import parse_version

from pyterrier_cwla import CWLA, TBG, CannotScore, CWLAError, CWLAWarning, continuation, evaluate, register_lengths
from pyterrier_cwla.errors import BadJudgments, BadParameter, BadRun, NotPassed, UnknownSpec
from pyterrier_cwla.evaluation import score
from pyterrier_cwla.learning import register_scorers, scorers, unregister_scorers
from pyterrier_cwla.learning.cross_validation import out_of_fold
from pyterrier_cwla.learning.lambdamart import EvalMeasure
from pyterrier_cwla.learning.metrics import measure_score
from pyterrier_cwla.learning.scorers import get_scorer, get_scorer_names, predicted, scorer
from tests.support.messages import refused

THEIRS = {name: metrics.get_scorer(name) for name in metrics.get_scorer_names()}
CV = GroupKFold(3)
RBP = CWLA(C="rbp(0.8)", A="erg", max_rel=3)


class Rows:
    """Labelled rows of queries, with all metadata that a measure may need."""

    def __init__(self, seed=0, queries=9, most=8, unjudged=0.2):
        rng = np.random.default_rng(seed)
        sizes = rng.integers(2, most + 1, queries)
        self.qid = np.repeat([f"q{number}" for number in range(queries)], sizes)
        rows = len(self.qid)
        self.docno = np.array([f"d{number}" for number in rng.permutation(rows)])
        self.doc_length = rng.integers(0, 900, rows)
        self.label = rng.integers(0, 4, rows)
        self.judged = rng.random(rows) >= unjudged
        self.judged[np.unique(self.qid, return_index=True)[1]] = True
        self.X = np.round(self.label[:, None] + rng.normal(0, 2, (rows, 3)), 1)

    @property
    def known(self):
        return {name: getattr(self, name) for name in ("qid", "docno", "doc_length", "judged")}

    @property
    def index(self):
        return pd.MultiIndex.from_arrays(list(self.known.values()), names=list(self.known))

    @property
    def y(self):
        return pd.Series(self.label, self.index)

    def qrels(self, rows=slice(None)):
        frame = pd.DataFrame({"query_id": self.qid, "doc_id": self.docno, "relevance": self.label}).iloc[rows]
        return frame[self.judged[rows]]

    def run(self, scores, rows=slice(None)):
        frame = pd.DataFrame({"query_id": self.qid, "doc_id": self.docno, "doc_length": self.doc_length}).iloc[rows]
        return frame.assign(score=scores)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(autouse=True)
def _warnings_are_errors_and_nothing_stays_registered():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        yield
    unregister_scorers()
    assert set(metrics.get_scorer_names()) == set(THEIRS)


class Column(RegressorMixin, BaseEstimator):
    """Estimator that predicts a column of X."""

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X):
        return np.asarray(X)[:, self.column]


def expected(rows, scores, measure, part=slice(None)):
    """Compute the value from data frames, by `evaluate` or by ir_measures."""
    qrels, run = rows.qrels(part), rows.run(scores, part)
    try:
        return evaluate(qrels, run, [measure]).iloc[0, 0]
    except UnknownSpec:
        [measure] = [ir_measures.parse_measure(str(measure))]
        return ir_measures.calc_aggregate([measure], qrels, run)[measure]


class Likely(ClassifierMixin, BaseEstimator):
    """Classifier whose probabilities of the classes are the columns of X."""

    def __init__(self, classes=()):
        self.classes = classes

    def fit(self, X, y):
        self.classes_ = np.array(self.classes)
        return self

    def predict_proba(self, X):
        return X


def test_a_classifier_ranks_by_the_expected_grade_whatever_its_classes_are():
    """Grades 0, 1 and 3: 0.6·0 + 0.4·3 is above 1, and 0.6·0 + 0.4·2 would be below."""
    X = np.array([[0.0, 1.0, 0.0], [0.6, 0.0, 0.4]])
    likely = Likely([0, 1, 3]).fit(X, None)
    assert predicted(likely, X).tolist() == pytest.approx([1.0, 1.2])
    assert predicted(Likely([3, 1, 0]).fit(X, None), X).tolist() == pytest.approx([1.0, 1.8])
    assert scorer("RR(rel=3)", min_queries=1)(likely, X, [1, 3], qid=["q", "q"]) == 1.0
    assert scorer("RR(rel=3)", min_queries=1)(Likely([0, 1, 2]).fit(X, None), X, [1, 3], qid=["q", "q"]) == 0.5


def test_a_label_of_nan_and_judged_false_say_the_same():
    rows = Rows(4)
    label, ours = np.where(rows.judged, rows.label, np.nan), scorer(RBP)
    by_flag = ours(Column(), rows.X, rows.label, qid=rows.qid, judged=rows.judged)
    assert by_flag == ours(Column(), rows.X, label, qid=rows.qid) != ours(Column(), rows.X, rows.label, qid=rows.qid)


def test_without_docno_the_earlier_of_equal_scores_comes_first():
    qid = np.tile(["a", "b"], 120)
    label = np.zeros(240)
    label[[2 * 3, 2 * 30 + 1]] = 1
    values = measure_score("RR", label, np.zeros(240), qid=qid, average=False)
    assert values.tolist() == [1 / 4, 1 / 31]
    assert measure_score("SetP", label, np.zeros(240), qid=qid) == pytest.approx(1 / 120)
    assert scorer("RR")(Column(), np.zeros((240, 1)), label, qid=qid) == pytest.approx((1 / 4 + 1 / 31) / 2)


def test_ids_and_labels_come_in_any_form():
    rows = Rows(3)
    frame, codes = pd.DataFrame({"label": rows.label}), pd.factorize(rows.qid)[0]
    labels = [rows.label.astype(float), frame, frame.label.astype("Int64"), frame.to_numpy(), tuple(rows.label)]
    qids = [codes, codes.astype(float), codes.astype(str), pd.Categorical(rows.qid), pd.Series(rows.qid)]
    value = scorer(RBP)(Column(), rows.X, rows.label, qid=rows.qid)
    for y, qid in zip([*labels, pd.Categorical(rows.label)], [*qids, list(rows.qid)], strict=True):
        assert scorer(RBP)(Column(), rows.X, y, qid=rows.qid) == value
        assert scorer(RBP)(Column(), rows.X, rows.label.tolist(), qid=qid) == value


def test_queries_of_which_nothing_is_judged_do_not_count():
    y = np.array([1, 0, np.nan, np.nan, 0, 1])
    qid = np.repeat(["a", "b", "c"], 2)
    assert scorer("RR")(Column(), np.array([[6.0], [5], [4], [3], [2], [1]]), y, qid=qid) == 0.75
    assert measure_score("RR", y, [6, 5, 4, 3, 2, 1], qid=qid, average=False).tolist()[::2] == [1, 0.5]
    assert np.isnan(measure_score("RR", y, [6, 5, 4, 3, 2, 1], qid=qid, average=False)[1])


def test_what_is_there_of_predict_and_decision_function_is_taken():
    rows = Rows(7, queries=20)
    binary = rows.label > 1
    svc = SVC().fit(rows.X, binary)
    assert predicted(svc, rows.X).tolist() == svc.decision_function(rows.X).tolist()
    several = SVC().fit(rows.X, rows.label)
    assert predicted(several, rows.X).tolist() == several.predict(rows.X).tolist()
    ridge = Ridge().fit(rows.X, rows.label[:, None])
    assert predicted(ridge, rows.X).tolist() == ridge.predict(rows.X).ravel().tolist()

    class Decides(BaseEstimator):
        def decision_function(self, X):
            return -X[:, 0]

    assert predicted(Decides(), rows.X).tolist() == (-rows.X[:, 0]).tolist()
    refused(lambda: predicted(StandardScaler(), rows.X), CannotScore, "predicts nothing to rank by")


def folds_by_hand(rows, model, measure):
    values = []
    for train, test in CV.split(rows.X, rows.label, rows.qid):
        fitted = clone(model).fit(rows.X[train], rows.label[train])
        values.append(expected(rows, fitted.predict(rows.X[test]), measure, test))
    return values


@pytest.mark.slow
@pytest.mark.parametrize("measure", [TBG, "nDCG@5", "SetF"], ids=str)
def test_cross_validation_by_index_and_routing_equals_evaluate(measure):
    """Also inside a pipeline whose steps lose the index of X."""
    rows, ours = Rows(8), scorer(measure)
    model = make_pipeline(FunctionTransformer(np.asarray), StandardScaler(), Ridge())
    by_hand = pytest.approx(folds_by_hand(rows, model, measure), abs=1e-12)
    for X, y in ((rows.X, rows.y), (pd.DataFrame(rows.X, rows.index), rows.label)):
        assert cross_val_score(model, X, y, groups=rows.qid, cv=CV, scoring=ours) == by_hand
    with sklearn.config_context(enable_metadata_routing=True):
        params = {**rows.known, "groups": rows.qid}
        assert cross_val_score(model, rows.X, rows.label, cv=CV, scoring=ours, params=params) == by_hand


def test_one_name_may_serve_splitter_and_scorer(routing):
    rows = Rows(8)
    ours = scorer("nDCG@5").set_score_request(qid="groups")
    found = cross_val_score(Ridge(), rows.X, rows.label, cv=CV, scoring=ours, params={"groups": rows.qid})
    rows.judged[:] = True
    by_hand = folds_by_hand(rows, Ridge(), "nDCG@5")
    assert found == pytest.approx(by_hand, abs=1e-12)


@pytest.mark.slow
@pytest.mark.every_case
@pytest.mark.parametrize("routed", [False, True])
@pytest.mark.parametrize("search", ["GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV"])
def test_searches_choose_what_the_measure_likes_best(search, routed):
    rows = Rows(10, queries=30)
    rows.X[:, 1] = rows.label  # this feature equals the label
    given = {"scoring": {"score": scorer(TBG), "ndcg": scorer("nDCG"), "r2": "r2"}, "refit": "score"}
    given |= {"n_iter": 3, "random_state": 1} if search == "RandomizedSearchCV" else {}
    if search == "HalvingGridSearchCV":  # of one score
        given = {"scoring": scorer(TBG), "min_resources": 60, "random_state": 1}
    with sklearn.config_context(enable_metadata_routing=routed):
        y, params = (rows.label, {**rows.known, "groups": rows.qid}) if routed else (rows.y, {"groups": rows.qid})
        found = getattr(model_selection, search)(Column(), {"column": [0, 1, 2]}, cv=CV, **given)
        found = clone(found).fit(rows.X, y, **params)
        assert found.best_params_ == {"column": 1}
        everything = found.score(rows.X, y, **rows.known if routed else {})
    assert everything == pytest.approx(expected(rows, rows.label, TBG), abs=1e-12)
    assert np.isfinite(found.cv_results_["mean_test_score"]).all()
    if search == "GridSearchCV":
        by_hand = [np.mean(folds_by_hand(rows, Column(column), TBG)) for column in range(3)]
        assert found.cv_results_["mean_test_score"] == pytest.approx(by_hand)


def test_weighted_fits_are_scored_alike_and_scikit_learn_says_so():
    rows = Rows(11)
    scoring = {"a": scorer(TBG), "b": "r2"}
    search = GridSearchCV(Ridge(), {"alpha": [1]}, scoring=scoring, refit="a", cv=CV)
    with pytest.warns(UserWarning, match="does not support sample_weight"):
        search.fit(rows.X, rows.y, groups=rows.qid, sample_weight=np.ones(len(rows.qid)))
    assert search.best_score_ == pytest.approx(np.mean(folds_by_hand(rows, Ridge(alpha=1), TBG)))


def test_scorers_are_pickled_with_requests_are_keys_and_have_no_threshold():
    ours = scorer("TBG(half_life=120)", min_queries=1, greater_is_better=False).set_score_request(judged=False)
    copy = pickle.loads(pickle.dumps(ours))
    assert copy == ours
    assert eval(repr(ours), {"scorer": scorer}).measure == ours.measure
    assert copy.requests["judged"] is False
    assert repr(ours) == "scorer('TBG(half_life=120)', min_queries=1, greater_is_better=False)"
    assert len({scorer(TBG), scorer("TBG"), scorer("AP"), deepcopy(scorer("AP"))}) == 2
    rows, tuned = Rows(13), model_selection.TunedThresholdClassifierCV(LogisticRegression(), scoring=scorer("AP"), cv=2)
    with pytest.raises(AttributeError, match="TunedThresholdClassifierCV cannot use it: thresholds do not change"):
        tuned.fit(rows.X, rows.label > 1)
    early = HistGradientBoostingRegressor(scoring=scorer("AP"), early_stopping=True)
    refused(lambda: early.fit(rows.X, rows.y), CannotScore, "qid is missing")


def test_less_may_be_better():
    """Less is better by default for ESL, and more is better for costs of user models."""
    rows = Rows(13)
    for measure, default in (
        ("ExpectedEffort", True),
        ("ESL", False),
        ("CWLA(C='prec(3)',A='items',gain='binary')", True),
    ):
        more, less = (scorer(measure, greater_is_better=one) for one in (True, False))
        assert less(Column(), rows.X, rows.y) == -more(Column(), rows.X, rows.y) < 0
        assert repr(less) == f"scorer({measure!r}, greater_is_better=False)"
        assert scorer(measure) == (more if default else less)


def indexed(rows, *columns, names=None):
    """Return the labels with an index of these columns, or none."""
    return pd.Series(rows.label, pd.MultiIndex.from_arrays([getattr(rows, name) for name in columns], names=names))


def changed(rows, column, value):
    """Return the labels with an index in which a column has one value in all rows."""
    setattr(rows, column, np.full(len(rows.qid), value))
    return rows.y


HOPELESS = {
    "unnamed levels": (lambda rows: indexed(rows, "qid", "doc_length"), TBG,
        r"The index of y has the levels None, None: set the names, as in y\.index\.names = \['qid', 'doc_length'\]\.$"),
    "other names": (lambda rows: indexed(rows, "qid", "doc_length", names=["qid", "words"]), TBG,
        r"The index of y has the levels 'qid', 'words': set the names, as in .* \['qid', 'doc_length'\]"),
    "two levels of a name": (lambda rows: indexed(rows, "qid", "qid", names=["qid", "qid"]), "nDCG",
        "the index has 2 levels 'qid': keep one of them"),
    "qid as feature": (lambda rows: rows.label, "nDCG",
        r"X has the column 'qid', which counts as a feature alone: .* or pass X\.set_index\('qid'\)"),
    "no qid": (lambda rows: rows.label, TBG, "qid is missing.*Metadata routing is off.*levels of the index"),
    "one query": (lambda rows: changed(rows, "qid", "q").droplevel([1, 2, 3]), "nDCG", "only 1 query.*pass min_queries=1 to the scorer, as for LeaveOneGroupOut"),
    "no lengths": (lambda rows: rows.y.droplevel([1, 2, 3]), TBG, "pass doc_length=.*Metadata routing is off"),
    "a grade too high": (lambda rows: rows.y.replace(3, 4), RBP, "has grade 4, above max_rel=3"),
    "unknown lengths": (lambda rows: changed(rows, "doc_length", np.nan), TBG, "needs the length of every document"),
    "nothing judged": (lambda rows: changed(rows, "judged", False), "nDCG", "no row is judged"),
}  # fmt: skip


@pytest.mark.every_case
@pytest.mark.parametrize("case", HOPELESS)
def test_what_no_model_could_be_scored_by_stops_the_search(case):
    labels, measure, message = HOPELESS[case]
    rows = Rows(14)
    X = pd.DataFrame(rows.X, columns=list("abc")).assign(qid=np.arange(len(rows.qid))) if "feature" in case else rows.X
    data, several = {"X": X, "groups": rows.qid, "y": labels(rows)}, {"ours": scorer(measure), "r2": "r2"}
    search = GridSearchCV(Column(), {"column": [0, 1]}, cv=CV, scoring=several, refit="ours")
    for call in (
        lambda: cross_validate(DummyRegressor(), cv=CV, scoring=scorer(measure), **data),
        lambda: cross_validate(DummyRegressor(), cv=CV, scoring=several, **data),
        lambda: search.fit(**data),
    ):
        with pytest.raises(CannotScore, match=message) as error:
            call()
        assert isinstance(error.value.__cause__, CWLAError)


def test_with_routing_on_the_error_speaks_of_routing(routing):
    rows = Rows(14)
    sizes, same = np.unique(rows.qid, return_counts=True)[1], {"cv": CV, "scoring": scorer(TBG)}
    for params, *says in (
        ({}, "Metadata routing is on: pass", "params={'qid': qid"),
        ({"qid": sizes, "doc_length": rows.doc_length}, "qid has 9 values, but there are", "not the sizes of groups"),
    ):
        params["groups"] = rows.qid
        call = partial(cross_val_score, Column(), rows.X, rows.label, params=params, **same)
        refused(call, CannotScore, *says)
    ours = scorer(TBG).set_score_request(qid=False)
    says = "the requests of this scorer were changed: {'qid': False}"
    refused(lambda: ours(Column(), rows.X, rows.label), CannotScore, says)
    says = "accepts qid, docno, doc_length, judged, not 'group'"
    refused(lambda: ours(Column(), rows.X, rows.label, group=rows.qid), BadParameter, says)
    refused(lambda: ours.set_score_request(group="groups"), BadParameter, says)
    same["scoring"] = scorer(TBG).set_score_request(docno=None)
    with pytest.raises(ValueError, match="not explicitly set as requested or not requested for Scorer"):
        cross_val_score(Column(), rows.X, rows.label, params={"groups": rows.qid, "docno": rows.docno}, **same)


def test_row_numbers_are_no_queries():
    X, y = np.arange(20.0)[:, None], pd.Series(np.arange(20) % 3, index=pd.RangeIndex(20, name="qid"))
    model = DummyRegressor().fit(X, y)
    with pytest.warns(
        CWLAWarning, match=r"^scorer\('ERR'\): qid has a different value in each of 20 rows \(0, 1, 2, …"
    ):
        assert scorer("ERR")(model, X, y) > 0
    says = "qid must be the query of each row, not its number"
    refused(lambda: out_of_fold(DummyRegressor(), X, y, "ERR"), BadParameter, says)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scorer("ERR")(model, X[:10], y[:10])
        scorer("ERR")(model, X, y.set_axis(pd.Index([0, *range(19)], name="qid")))


class Fails(Column):
    """Estimator that predicts NaN where its column is 1."""

    def predict(self, X):
        return np.full(len(X), np.nan) if self.column == 1 else super().predict(X)


@pytest.mark.parametrize("measure", [TBG, "SetF"], ids=str)
def test_a_model_that_predicts_nan_has_the_error_score(measure):
    rows = Rows(16)
    data = {"X": rows.X, "y": rows.y, "groups": rows.qid}
    search = GridSearchCV(Fails(), {"column": [0, 1]}, cv=CV, scoring=scorer(measure), error_score=-1)
    with pytest.warns(UserWarning, match="has the score NaN"):
        search.fit(**data)
    assert search.cv_results_["mean_test_score"][1] == -1
    assert search.best_params_ == {"column": 0}
    refused(lambda: search.set_params(error_score="raise").fit(**data), BadRun, "row 0 has the score NaN")


def test_a_scorer_refuses_what_it_cannot_compute():
    refused(lambda: scorer("rpb"), "no measure 'rpb'")
    refused(lambda: scorer("P"), "P needs cutoff")
    refused(lambda: scorer("CWLA"), "C=")
    refused(lambda: scorer("TBG(half_life=-1)"), "half_life")
    refused(lambda: scorer("alpha_nDCG@5"), "depends on the intents")
    refused(lambda: scorer("AP", min_queries=0), BadParameter, "min_queries=0 must be a whole number from 1")


def test_measures_defined_for_ir_measures_score_but_never_nan():
    rows = Rows(17)
    sizes = ir_measures.define_byquery(lambda qrels, run: len(run), name="Size")
    assert scorer(sizes)(Column(), rows.X, rows.y) == len(rows.qid) / 9
    nothing = ir_measures.define_byquery(lambda qrels, run: float("nan"), name="Nothing")
    same = {"groups": rows.qid, "cv": CV, "scoring": scorer(nothing)}
    says = "Nothing has no value for query 'q"
    refused(lambda: cross_val_score(Column(), rows.X, rows.y, **same), CannotScore, says)
    rows.label[:], rows.judged[:] = 1, True
    refused(lambda: scorer("Accuracy")(Column(), rows.X, rows.y), CannotScore, "Accuracy has no value for query 'q")


@pytest.mark.every_case
@pytest.mark.parametrize("measure", [TBG, RBP, "AP", "NumRet", "SetF"], ids=str)
def test_lists_matrices_and_groups_have_the_same_values(measure):
    rows = Rows(18)
    score = np.random.default_rng(0).permutation(len(rows.qid)).astype(float)  # no ties
    label = np.where(rows.judged, rows.label, np.nan)
    flat, known = {"y_true": label, "y_score": score, "doc_length": rows.doc_length}, {"qid": rows.qid}
    mean, by_group = (measure_score(measure, **flat, **known, average=average) for average in (True, False))
    lists = {name: [of[rows.qid == qid] for qid in dict.fromkeys(rows.qid)] for name, of in flat.items()}
    assert measure_score(measure, **lists) == mean
    frames = {name: pd.DataFrame(values) for name, values in lists.items()}
    assert measure_score(measure, **{name: frame.to_numpy() for name, frame in frames.items()}) == mean
    each = measure_score(measure, **frames, average=False)
    assert each.tolist() == by_group.tolist()
    assert each.shape == (9,)
    if measure != "NumRet":
        assert each.mean() == pytest.approx(mean, abs=1e-12)


def test_ndcg_is_scikit_learns():
    rng = np.random.default_rng(1)
    y_true, y_score = rng.integers(0, 4, (20, 15)), rng.permuted(np.arange(20 * 15)).reshape(20, 15)
    assert measure_score("nDCG", y_true, y_score) == pytest.approx(metrics.ndcg_score(y_true, y_score), abs=1e-12)
    assert measure_score("nDCG@5", y_true, y_score) == pytest.approx(
        metrics.ndcg_score(y_true, y_score, k=5), abs=1e-12
    )


def test_array_functions_are_scikit_learns_kind(routing):
    """`make_scorer` reads the metadata of a function from its signature."""
    rows = Rows(20, unjudged=0)
    theirs = metrics.make_scorer(partial(measure_score, "TBG(half_life=120)")).set_score_request(
        qid=True, doc_length=True
    )
    params = {"groups": rows.qid, "qid": rows.qid, "doc_length": rows.doc_length}
    found = cross_val_score(Ridge(), rows.X, rows.label, cv=CV, scoring=theirs, params=params)
    ours = scorer("TBG(half_life=120)")
    same = cross_val_score(Ridge(), rows.X, rows.label, cv=CV, scoring=ours, params=params)
    assert found.tolist() == same.tolist()


@pytest.mark.every_case
@pytest.mark.parametrize(("y_true", "y_score", "more", "error", "message"), [
    ([1, 0], [2, 1], {}, BadParameter, r"pass qid=.*If all rows belong to one query, pass \[y_true\]"),
    ([1, 0], [2, 1], {"qid": [2]}, BadParameter, r"query of each of 2 rows \(not the sizes of queries\)"),
    ([[1, 0]], [[2, 1]], {"qid": ["a", "a"]}, BadParameter, "remove qid="),
    ([[1, 0]], [[2]], {}, BadParameter, "y_score must have the form of y_true: 2 values in 1 lists, not 1 values"),
    ([[1, 0], [1]], [[2], [1, 1]], {}, BadParameter, "y_score must have the form of y_true"),
    ([[1, 0], 1], [[2, 1], 1], {}, BadParameter, "mixes lists and single values"),
    ([[1, 0]], [[2, np.nan]], {}, BadRun, "row 1 has the score NaN"),
    ([[np.nan, np.nan]], [[2, 1]], {}, BadJudgments, "no row is judged"),
    ([[4, 0]], [[2, 1]], {}, BadJudgments, r"topic '0': row 0 has grade 4, above max_rel=3"),
    (np.ones((2, 2, 2)), np.ones((2, 2, 2)), {}, BadParameter, "shape"),
    (1, 1, {}, BadParameter, "y_true is one value"),
    ([[1, 0]], [[2, 1]], {"measure": "TBG"}, NotPassed, "pass doc_length="),
    ([[1, 0]], [[2, 1]], {"measure": TBG(lengths={"d": 1})}, NotPassed, "ids of documents for its table: pass docno="),
    ([[1, 0]], [[2, 1]], {"measure": "TBG", "doc_length": [[1, np.nan]]}, CWLAError, r"'row 1'"),
    ([[1, 0.5]], [[2, 1]], {"measure": "IntentAware(measure='AP')"}, CWLAError, "judgments have no intents"),
    ([[1, 0]], [[2, 1]], {"measure": "TBG(duplicates='run')", "doc_length": [[1, 1]]}, BadParameter, "duplicates= a table"),
])  # fmt: skip
def test_what_arrays_cannot_be_scored(y_true, y_score, more, error, message):
    with pytest.raises(error, match=message):
        measure_score(more.pop("measure", RBP), y_true, y_score, **more)


def test_names_of_other_packages_are_errors_that_name_ours():
    for name, says in {
        "groups": "measure_score has no parameter 'groups'. Write qid=. It has one value per row (not the sizes of groups).",
        "group": "no parameter 'group'. Write qid=", "query_id": "no parameter 'query_id'. Write qid=",
        "doc_id": "no parameter 'doc_id'. Write docno=. It has one value per row.",
        "words": "no parameter 'words'. Write doc_length=", "avrage": "no parameter 'avrage'. Near: 'average'",
    }.items():  # fmt: skip
        refused(lambda: measure_score("AP", [1, 0], [2, 1], **{name: [1, 1]}), BadParameter, says)  # noqa: B023
    says = "the measure comes first: measure_score('nDCG@10', y_true, y_score)"
    for order in (([1, 0], [0.2, 0.1], "nDCG@10"), ([1, 0], "RR", [0.2, 0.1]), ([1], [1], RBP)):
        refused(lambda: measure_score(*order, qid=["a", "a"]), BadParameter, says)  # noqa: B023


@pytest.mark.parametrize(("routed", "n_jobs"), [(False, None), (True, None), (True, 2)])
@pytest.mark.nightly
def test_queries_are_ranked_by_models_that_did_not_see_them(routed, n_jobs):
    rows, measures = Rows(21, queries=11), [TBG, "nDCG@5", "SetF"]
    with sklearn.config_context(enable_metadata_routing=routed):
        passed = {"y": rows.label, "params": rows.known} if routed else {"y": rows.y}
        found = out_of_fold(Ridge(), rows.X, measures=measures, cv=3, n_jobs=n_jobs, **passed)
    prediction, fold = np.zeros(len(rows.qid)), {}
    for number, (train, test) in enumerate(GroupKFold(3).split(rows.X, rows.label, rows.qid)):
        prediction[test] = Ridge().fit(rows.X[train], rows.label[train]).predict(rows.X[test])
        fold |= dict.fromkeys(rows.qid[test], number)
    assert found.prediction == pytest.approx(prediction)
    assert dict(zip(found.by_query.qid, found.by_query.fold, strict=True)) == fold
    each = evaluate(rows.qrels(), rows.run(prediction), measures[:2], by_query=True).loc["run"]
    each = each.loc[found.by_query.qid].to_numpy()
    assert found.by_query[["TBG", "nDCG@5"]].to_numpy() == pytest.approx(each, abs=1e-12)
    for measure in measures:
        assert found.mean[str(measure)] == pytest.approx(expected(rows, prediction, measure), abs=1e-12)
        of_folds = np.mean(folds_by_hand(rows, Ridge(), measure))
        assert found.mean_of_folds[str(measure)] == pytest.approx(of_folds, abs=1e-12)
    assert found.mean["TBG"] != pytest.approx(found.mean_of_folds["TBG"], abs=1e-6)
    assert "11 queries in 3 folds" in repr(found)


@pytest.mark.slow
def test_out_of_fold_takes_splitters_frames_pipelines_and_classifiers():
    rows = Rows(22, queries=6, unjudged=0)
    by_default, five = (out_of_fold(Ridge(), rows.X, rows.y, "AP", cv=cv) for cv in (None, GroupKFold(5)))
    assert len(by_default.estimators) == 5
    pd.testing.assert_frame_equal(by_default.by_query, five.by_query)
    X = pd.DataFrame(rows.X, columns=list("abc"))
    model = make_pipeline(StandardScaler(), LogisticRegression())
    found = out_of_fold(model, X, rows.y, "AP", cv=model_selection.LeaveOneGroupOut())
    assert found.by_query.fold.tolist() == list(range(6))
    assert found.mean["AP"] == pytest.approx(found.mean_of_folds["AP"])
    assert len(found.estimators) == 6
    codes = pd.factorize(rows.qid)[0]
    halves = out_of_fold(model, X, rows.y, "AP", cv=GroupKFold(2), groups=codes % 2)
    assert halves.by_query.groupby(codes[np.unique(codes, return_index=True)[1]] % 2).fold.nunique().tolist() == [1, 1]


def test_estimators_fitted_with_the_queries_get_them(routing):
    rows = Rows(23)

    class Asks(Column):
        def fit(self, X, y, qid=None):
            assert qid is not None
            assert len(qid) == len(X)
            return super().fit(X, y)

    model = Asks().set_fit_request(qid=True)
    assert out_of_fold(model, rows.X, rows.label, "AP", params={"qid": rows.qid}).mean["AP"] > 0


@pytest.mark.every_case
@pytest.mark.parametrize(("cv", "message"), [
    (KFold(3), r"of 4 queries are split over folds .*give cv=GroupKFold\(\)"),
    ([([0, 1, 2, 3], [4, 5, 6, 7]), (range(8), [0, 1, 2, 3])], r"2 of 4 queries are split over folds \('a', 'b'\)"),
    ([([4, 5, 6, 7], [0, 1, 2]), ([4, 5, 6, 7], [3]), ([0, 1, 2, 3], [4, 5, 6, 7])], r"1 of 4 queries .* \('b'\)"),
    (model_selection.RepeatedKFold(n_splits=2, n_repeats=2), "row 0 is held out 2 times"),
    ([([4, 5, 6, 7], [0, 1, 2, 3])], "row 4 is held out 0 times"),
    (20, "4 queries do not make 20 folds"),
])  # fmt: skip
def test_out_of_fold_refuses_folds_that_leak(cv, message):
    y = pd.Series([0, 1] * 4, pd.Index(list("aabbccdd"), name="qid"))
    with pytest.raises(BadParameter, match=message):
        out_of_fold(Column(), np.arange(8.0)[:, None], y, "AP", cv=cv)


def test_out_of_fold_says_what_cannot_be_scored_before_it_fits():
    class Never(Column):
        def fit(self, X, y):
            raise AssertionError("fitted")

    rows = Rows(25)
    fold = partial(out_of_fold, Never(), rows.X)
    missing = "qid is missing", "Metadata routing is off"
    refused(lambda: fold(rows.label, "AP", params={"qid": rows.qid}), NotPassed, *missing)
    refused(lambda: fold(rows.y.droplevel([1, 2, 3]), ["AP", TBG]), NotPassed, "pass the index level 'doc_length'")
    refused(lambda: fold(rows.y.replace(3, 4), RBP), BadJudgments, "above max_rel=3")
    y = rows.y.astype(float)
    y[rows.qid != "q0"] = np.nan
    refused(lambda: fold(y, "AP", cv=3), BadParameter, "no row of fold", "is judged")


@pytest.mark.slow
def test_a_notebooks_own_function_goes_along_to_other_processes():
    @continuation
    def weary(view):
        return 1 / (1 + view.i)

    rows = Rows(12)
    ours = scorer(CWLA(C=weary, A="etg", max_rel=3))
    alone = cross_val_score(Ridge(), rows.X, rows.y, groups=rows.qid, cv=CV, scoring=ours)
    both = cross_val_score(Ridge(), rows.X, rows.y, groups=rows.qid, cv=CV, scoring=ours, n_jobs=2)
    assert alone.tolist() == both.tolist()
    for copy in (deepcopy(ours), clone(ours, safe=False), cloudpickle.loads(cloudpickle.dumps(ours))):
        assert repr(copy) == "scorer(\"CWLA(C='weary',A='etg',max_rel=3)\")"
        assert copy(Column(), rows.X, rows.y) == ours(Column(), rows.X, rows.y)


@pytest.mark.nightly
def test_what_cannot_be_scored_stops_a_search_in_two_processes():
    rows = Rows(14)
    scoring = {"ours": scorer(TBG), "r2": "r2"}
    search = GridSearchCV(Column(), {"column": [0, 1]}, cv=CV, scoring=scoring, n_jobs=2, refit=False)
    refused(lambda: search.fit(rows.X, rows.label, groups=rows.qid), CannotScore, "qid is missing")


@pytest.mark.parametrize("measure", ["TBG(norm='ideal')", "GeometricMean(measure=\"TBG(norm='ideal')@5\")"])
def test_ideal_rankings_are_made_of_the_rows_where_these_have_lengths(measure):
    rng = np.random.default_rng(5)
    qid, words = np.repeat(["a", "b", "c"], 9), rng.integers(10, 900, 27)
    grades, score = rng.integers(0, 2, 27), rng.permutation(27) * 1.0
    docno = [f"d{row}" for row in range(27)]
    table = pd.DataFrame({"docno": docno, "words": words})
    register_lengths("of_the_rows", table)
    bound = measure.replace("norm=", "lengths='of_the_rows',norm=")
    qrels = pd.DataFrame({"query_id": qid, "doc_id": docno, "relevance": grades})
    run = pd.DataFrame({"query_id": qid, "doc_id": docno, "score": score})
    expected = evaluate(qrels, run, [bound]).iloc[0, 0]
    assert measure_score(measure, grades, score, qid=qid, doc_length=words) == pytest.approx(expected, rel=1e-12)
    assert EvalMeasure(measure, doc_length=words).value(grades, score, [9, 9, 9]) == pytest.approx(expected, rel=1e-12)


FORMS = (pa.array, lambda x: pa.chunked_array([x[:1], x[1:]]), np.ma.masked_array, pd.Series, tuple)


@pytest.mark.every_case
@pytest.mark.parametrize("form", FORMS)
def test_arrays_of_other_libraries_have_the_values_of_lists(form):
    y, scores, qid, sizes = [1, 0, 2, 0], [0.1, 0.4, 0.2, 0.3], ["a", "a", "b", "b"], [2, 2]
    given = [form(values) for values in (y, scores, qid, sizes)]
    assert measure_score("AP", given[0], given[1], qid=given[2]) == measure_score("AP", y, scores, qid=qid) == 0.5
    assert EvalMeasure("AP").value(given[0], given[1], given[3]) == EvalMeasure("AP").value(y, scores, sizes)
    assert score(given[0], C="rbp(0.5)", A="etg") == score(y, C="rbp(0.5)", A="etg")
    lists = [[0, 1, 2], [1, 0]], [[3.0, 1.0, 2.0], [1.0, 2.0]]
    for cells in (map(pd.Series, lists), (np.array([*one, None], object)[:-1] for one in lists)):
        assert measure_score("ERR", *cells) == measure_score("ERR", *lists)


def test_masked_values_are_missing_and_rows_without_labels_are_refused():
    y, scores = np.ma.masked_array([1, 0], [True, False]), [0.1, 0.4]
    assert measure_score("P@2", y, scores, qid=["a", "a"]) == measure_score("P@2", [np.nan, 0], scores, qid=["a", "a"])
    assert score([y, [1, 0]], "P@2").tolist() == [0, 0.5]
    refused(lambda: EvalMeasure("AP").value([np.nan, np.nan], scores, [2]), BadJudgments, "no row is judged")
    refused(lambda: EvalMeasure("AP").value([1, 0], ["x", "y"], [2]), BadRun, "scores must be one number per row")
    tbg = EvalMeasure("TBG", doc_length=[[1], 5])
    refused(lambda: tbg.value([1, 0], [1, 2], [2]), BadParameter, "no doc_length has 2 rows")
    refused(lambda: measure_score("AP", [1, 0], scores, qid=[["a"], ["b", "c"]]), BadParameter, "a number, not ['a']")
    assert measure_score("AP", [1, 0], [np.array(2), np.array(1)], qid=["a", "a"]) == 1


def registered_data(seed=0):
    rows = Rows(seed, queries=12, unjudged=0)
    return rows, {"X": rows.X, "y": rows.y, "groups": rows.qid, "cv": CV}


def test_registered_names_have_cutoffs_and_scikit_learn_s_stay():
    register_scorers()
    names = metrics.get_scorer_names()
    assert {"TBG", "AP", "nDCG@10", "ERR@20", "P@5", "RR", "QMeasure@1000", "r2"} <= set(names)
    assert "P" not in names  # needs a cutoff
    assert not {"Rprec@10", "IPrec@1"} & set(names)  # have none
    assert {name: repr(metrics.get_scorer(name)) for name in THEIRS} == {name: repr(THEIRS[name]) for name in THEIRS}
    for name in set(names) - set(THEIRS):
        assert metrics.get_scorer(name) == scorer(name) == get_scorer(name)
    assert sorted(get_scorer_names()) == names
    unregister_scorers()
    assert {"TBG", "nDCG", "SetF", "r2", "roc_auc"} < set(get_scorer_names())
    assert get_scorer("TBG(half_life=120)") == scorer("TBG(half_life=120)")
    assert get_scorer(TBG) == get_scorer(scorer(TBG)) == scorer(TBG)
    assert repr(get_scorer("r2")) == repr(THEIRS["r2"])


def test_functions_imported_before_accept_the_names():
    given = registered_data()[1]
    register_scorers()
    by_hand = cross_val_score(Ridge(), **given, scoring=scorer(TBG))
    assert cross_val_score(Ridge(), **given, scoring="TBG").tolist() == by_hand.tolist()
    both = cross_validate(Ridge(), **given, scoring=["TBG", "AP"])
    assert both["test_TBG"].tolist() == by_hand.tolist()
    assert both["test_AP"].tolist() == cross_val_score(Ridge(), **given, scoring=scorer("AP")).tolist()


@pytest.mark.parametrize("use", [
    lambda X, y, groups, cv: GridSearchCV(Ridge(), {"alpha": [1, 9]}, scoring="TBG", cv=cv).fit(X, y, groups=groups),
    lambda X, y, groups, cv: GridSearchCV(Ridge(), {"alpha": [1, 9]}, scoring=["TBG", "r2"], refit="TBG", cv=cv).fit(X, y, groups=groups),
    lambda X, y, groups, cv: model_selection.RandomizedSearchCV(Ridge(), {"alpha": [1, 9]}, n_iter=2, scoring="TBG", cv=cv).fit(X, y, groups=groups),
    lambda X, y, groups, cv: model_selection.HalvingGridSearchCV(Ridge(), {"alpha": [1, 9]}, scoring="TBG", cv=cv, min_resources=40).fit(X, y, groups=groups),
    lambda X, y, groups, cv: RidgeCV([1, 9], scoring="TBG", cv=list(cv.split(X, y, groups))).fit(X, y),
    lambda X, y, groups, cv: SequentialFeatureSelector(Ridge(), scoring="TBG", n_features_to_select=1, cv=list(cv.split(X, y, groups))).fit(X, y),
    lambda X, y, groups, cv: permutation_importance(Ridge().fit(X, y), X, y, scoring=["TBG", "nDCG@10"], n_repeats=1),
    lambda X, y, groups, cv: model_selection.learning_curve(Ridge(), X, y, groups=groups, cv=cv, scoring="TBG", train_sizes=[0.5, 1.0]),
    lambda X, y, groups, cv: model_selection.validation_curve(Ridge(), X, y, groups=groups, cv=cv, scoring="TBG", param_name="alpha", param_range=[1]),
    lambda X, y, groups, cv: model_selection.permutation_test_score(Ridge(), X, y, groups=groups, cv=cv, scoring="TBG", n_permutations=1),
    lambda X, y, groups, cv: metrics.check_scoring(Ridge(), scoring="TBG"),
])  # fmt: skip
def test_all_of_scikit_learn_accepts_a_name_while_it_is_registered(use):
    given = registered_data()[1]
    register_scorers()
    use(**given)
    unregister_scorers()
    with pytest.raises(ValueError, match=r"a str among|to get valid options"):
        use(**given)


@pytest.mark.slow
def test_recursive_elimination_with_routing():
    """RFECV makes y an array, so that only metadata routing passes the queries."""
    rows, given = registered_data()
    register_scorers()
    with sklearn.config_context(enable_metadata_routing=True):
        found = RFECV(Ridge(), scoring="TBG", cv=CV).fit(rows.X, rows.label, groups=rows.qid, **rows.known)
    assert found.cv_results_["mean_test_score"][-1] == cross_val_score(Ridge(), **given, scoring="TBG").mean()
    refused(lambda: RFECV(Ridge(), scoring="TBG", cv=CV).fit(rows.X, rows.y, groups=rows.qid), CannotScore, "RFECV")


@pytest.mark.slow
def test_own_names_and_own_measures():
    given = registered_data(1)[1]
    most = CWLA(C="rbp(0.8)", A="max", max_rel=3)
    register_scorers({"quick": "TBG(half_life=60)", "best": most, "−effort": scorer("ExpectedEffort", 1, False)})
    register_scorers(["nDCG@7", "TBG(half_life=9)", most])
    register_scorers("R@30")
    register_scorers(["map", "ndcg_cut_10"])  # names of trec_eval
    register_scorers()  # keeps what is registered
    assert metrics.get_scorer("quick") == scorer("TBG(half_life=60)")
    assert metrics.get_scorer("best") == metrics.get_scorer(str(most)) == scorer(most)
    assert metrics.get_scorer("−effort") == scorer("ExpectedEffort", 1, False)
    assert {"nDCG@7", "TBG(half_life=9)", "R@30", "map", "ndcg_cut_10"} <= set(metrics.get_scorer_names())
    found = cross_val_score(Ridge(), **given, scoring="quick")
    assert found.tolist() == cross_val_score(Ridge(), **given, scoring=scorer("TBG(half_life=60)")).tolist()
    register_scorers({"TBG": "TBG(half_life=60)"})
    register_scorers()
    assert metrics.get_scorer("TBG") == scorer("TBG(half_life=60)")


@pytest.mark.every_case
@pytest.mark.parametrize(("measures", "error", "message"), [
    ({"r2": "TBG"}, BadParameter, "scikit-learn has a scorer of its own named 'r2': choose another name"),
    ({"mine": "TGB"}, UnknownSpec, "no measure 'TGB'"),
    ("nDCG@", CWLAError, "nDCG@"),
    ({3: "TBG"}, BadParameter, "the name of a scorer must be a text, not 3"),
    (scorer("TBG"), BadParameter, "needs a name: pass a mapping, such as {'mine': scorer('TBG')}"),
    (7, BadParameter, "measures must be a measure or a list"),
    (["TBG", 7], BadParameter, "a measure is a text"),
])  # fmt: skip
def test_names_that_cannot_be_registered_change_nothing(measures, error, message):
    refused(lambda: register_scorers(measures), error, message)
    assert set(metrics.get_scorer_names()) == set(THEIRS)


def test_a_name_that_scikit_learn_gets_one_day_stays_its_own(monkeypatch):
    theirs = metrics.get_scorer("r2")
    monkeypatch.setitem(metrics._scorer._SCORERS, "AP", theirs)
    register_scorers()
    assert metrics._scorer._SCORERS["AP"] is theirs
    assert "AP@10" in metrics.get_scorer_names()
    refused(lambda: register_scorers("AP"), BadParameter, "'AP'")
    unregister_scorers()
    assert metrics._scorer._SCORERS["AP"] is theirs


@pytest.mark.parametrize(
    "old",
    [(metrics._scorer, "_SCORERS", MappingProxyType(dict(metrics._scorer._SCORERS))), (scorers, "_checks", lambda: ())],
    ids=["another registry", "other checks"],
)
def test_old_versions_are_one_error_and_change_nothing(old, monkeypatch):
    before = dict(metrics._scorer._SCORERS)
    with monkeypatch.context() as patch:
        patch.setattr(*old)
        refused(register_scorers, f"scikit-learn {sklearn.__version__} does not allow", "scoring=scorer('TBG')")
        assert get_scorer("TBG") == scorer("TBG")
        assert pickle.loads(pickle.dumps(scorer("TBG"))) == scorer("TBG")
        unregister_scorers()
    assert metrics._scorer._SCORERS == before


def test_copies_of_a_registered_scorer_do_not_register_again():
    register_scorers({"mine": "nDCG@7"})
    text = pickle.dumps(metrics.get_scorer("mine"))
    register_scorers({"mine": "nDCG@8"})
    assert pickle.loads(text) == scorer("nDCG@7")
    assert deepcopy(metrics.get_scorer("mine")) == scorer("nDCG@8")
    assert metrics.get_scorer("mine") == scorer("nDCG@8")  # names registered in this process stay


PROCESS = """
import pickle, sys
import pandas as pd
from sklearn.metrics import get_scorer_names, get_scorer
for _ in range(2):
    pickle.load(open(sys.argv[1], 'rb'))
from sklearn.dummy import DummyRegressor
from sklearn.model_selection import cross_val_score  # modules that are imported afterwards accept and lose the names
from pyterrier_cwla.learning import unregister_scorers
print([get_scorer(name) for name in ('TBG', 'mine') if name in get_scorer_names()])
y = pd.Series([0, 1] * 4, pd.Index(list('aabbccdd'), name='qid'))
for _ in range(2):
    try:
        print(cross_val_score(DummyRegressor(), [[0]] * 8, y, cv=2, scoring='P@1').tolist())
    except ValueError as error:
        print('str among' in str(error))
    unregister_scorers()
"""


@pytest.mark.nightly
def test_a_process_that_receives_a_scorer_registers_the_names(tmp_path):
    def printed():
        (tmp_path / "scorer").write_bytes(pickle.dumps(scorer("AP")))
        command = [sys.executable, "-c", PROCESS, str(tmp_path / "scorer")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        return done.stdout.splitlines()

    assert printed() == ["[]", "True", "True"]
    register_scorers({"mine": "nDCG@7"})
    assert printed() == ["[scorer('TBG'), scorer('nDCG@7')]", "[0.0, 0.0]", "True"]
    unregister_scorers()
    assert printed()[0] == "[]"


@pytest.mark.slow
def test_names_in_two_processes_and_in_searches_within_them():
    rows, _ = registered_data(2)
    register_scorers({"mine": "nDCG@7"})  # before the default table of lengths
    register_lengths(dict(zip(rows.docno, rows.doc_length.tolist(), strict=True)))
    inner = GridSearchCV(Ridge(), {"alpha": [1, 90]}, scoring="TBG", cv=CV)
    params = {"qid": rows.qid, "docno": rows.docno, "groups": rows.qid}

    def found(n_jobs, **more):
        given = {"cv": CV, "n_jobs": n_jobs, "params": params | more, "scoring": ["mine", "TBG"]}
        scores = cross_validate(inner, rows.X, rows.label, **given)
        return [scores[f"test_{name}"].tolist() for name in given["scoring"]]

    with sklearn.config_context(enable_metadata_routing=True):
        alone = found(None)
        assert alone == found(2) == found(None, doc_length=rows.doc_length)
        register_scorers({"mine": "nDCG@3"})  # the same workers learn the new meaning
        changed = found(2)
        assert changed == found(None)
        assert changed[0] != alone[0]
        if parse_version(joblib.__version__) >= parse_version("1.5"):
            with joblib.parallel_config("loky", initializer=register_scorers):
                params["doc_length"] = rows.doc_length  # names alone bring no table
                by_name = cross_val_score(inner, rows.X, rows.label, cv=CV, params=params, n_jobs=2)
            assert by_name.tolist() == alone[1]
