"""Tests of GroupedRanker, a ranker with the query of each row: predictions of the libraries, scikit-learn's searches."""

import pickle
import sys
import warnings
from functools import partial

import ir_measures
import numpy as np
import pandas as pd
import pytest
import xgboost
from hypothesis import given
from hypothesis import strategies as st
from lightgbm import LGBMRanker, early_stopping
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_svmlight_file
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    cross_val_predict,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_dataframe_column_names_consistency, parametrize_with_checks
from xgboost import XGBRanker

from pyterrier_cwla import TBG, CannotScore, CWLAError, CWLAWarning, IntentAware, register_lengths, scorer
from pyterrier_cwla.errors import BadJudgments, BadParameter, MissingLength, NotPassed, UnknownSpec
from pyterrier_cwla.learning.lambdamart import EvalMeasure, LambdaMART
from pyterrier_cwla.learning.rankers import EXPECTED_FAILED_CHECKS, GroupedRanker, _scorer
from tests.support.messages import refused

LIGHTGBM = LGBMRanker(n_estimators=8, num_leaves=7, min_child_samples=5, n_jobs=1, verbosity=-1)
XGBOOST = XGBRanker(n_estimators=8, max_depth=3, n_jobs=1)
BOTH = pytest.mark.parametrize("ranker", [LIGHTGBM, XGBOOST], ids=["lightgbm", "xgboost"])


class Rows:
    """Rows of 18 queries with 1 to 40 documents in random order; the features predict the grades 0 to 3 in part."""

    def __init__(self, seed=0, sizes=None):
        rng = np.random.default_rng(seed)
        sizes = [1, 2, 40, *rng.integers(5, 30, 15)] if sizes is None else sizes
        rows = sum(sizes)
        qid = np.repeat(np.arange(len(sizes)), sizes)
        scattered = rng.permutation(rows)
        self.qid = np.array([f"q{number:02}" for number in qid])[scattered]
        self.docno = np.array([f"d{number}" for number in rng.permutation(rows)])
        self.doc_length = rng.integers(0, 2000, rows).astype(float)
        self.X = rng.normal(size=(rows, 4))
        self.y = np.clip(np.rint(self.X[:, 0] + 0.7 * rng.normal(size=rows) + 0.8), 0, 3)

    def known(self, *names):
        return {name: getattr(self, name) for name in names or ("qid",)}

    def indexed(self, *names):
        """Return the labels with the metadata of the rows as levels of their index."""
        names = names or ("qid",)
        return pd.Series(self.y, index=pd.MultiIndex.from_arrays([getattr(self, name) for name in names], names=names))

    @property
    def order(self):
        """Row numbers in order of the query."""
        return np.argsort(self.qid, kind="stable")

    @property
    def order_by_docno(self):
        """Row numbers in ascending order of the query, and in descending order of the docno within each query."""
        rows = sorted(range(len(self.y)), key=lambda row: self.docno[row], reverse=True)
        return np.array(sorted(rows, key=lambda row: self.qid[row]))

    @property
    def sizes(self):
        return [int((self.qid == q).sum()) for q in sorted(set(self.qid))]


ROWS, OTHER = Rows(1), Rows(2)
OTHER.qid = np.char.replace(OTHER.qid, "q", "r")
NAMES = ("qid", "docno", "doc_length")
VALIDATION = dict(eval_X=OTHER.X, eval_y=OTHER.y, eval_qid=OTHER.qid)


@pytest.mark.slow
def test_only_estimators_that_are_not_fitted_carry_the_default_table():
    ranker = GroupedRanker(LIGHTGBM)
    table = register_lengths(dict(zip(ROWS.docno, ROWS.doc_length, strict=True)))
    by_text = clone(ranker).set_params(objective="TBG", eval_measure="TBG(half_life=60)")
    sent, texts, fitted = map(pickle.dumps, (ranker, by_text, clone(ranker).fit(ROWS.X, ROWS.indexed())))
    register_lengths(None)
    assert "_default_lengths" not in vars(ranker)
    assert by_text.objective == pickle.loads(pickle.dumps(by_text)).objective == "TBG"
    assert "_default_lengths" not in vars(pickle.loads(fitted))
    there = clone(pickle.loads(sent)).set_params(objective="TBG", eval_measure="TBG")
    assert there._default_lengths.content == table.content
    there.fit(ROWS.X, ROWS.indexed("qid", "docno"))
    here = clone(ranker).set_params(objective=TBG(lengths=table)).fit(ROWS.X, ROWS.indexed("qid", "docno"))
    of_text = pickle.loads(texts).fit(ROWS.X, ROWS.indexed("qid", "docno"))
    assert str(of_text.eval_measure) == "TBG(half_life=60)"
    assert np.array_equal(there.predict(ROWS.X), here.predict(ROWS.X))
    assert np.array_equal(of_text.predict(ROWS.X), here.predict(ROWS.X))
    assert there.score(ROWS.X, ROWS.indexed("qid", "docno")) == here.score(ROWS.X, ROWS.indexed("qid", "docno"))


@pytest.mark.nightly
@pytest.mark.parametrize("steps", [(), (StandardScaler(),)], ids=["alone", "in a pipeline"])
def test_a_search_in_two_processes_reads_the_default_table(steps):
    model, y = make_pipeline(*steps, GroupedRanker(LIGHTGBM)), ROWS.indexed("qid", "docno")
    given = {"cv": GroupKFold(2), "scoring": scorer("TBG"), "error_score": "raise"}
    given["param_grid"] = {"groupedranker__objective": ["TBG", "nDCG@10"], "groupedranker__eval_measure": ["TBG"]}
    register_lengths(dict(zip(ROWS.docno, ROWS.doc_length, strict=True)))
    here, there = (GridSearchCV(model, n_jobs=n, **given).fit(ROWS.X, y, groups=ROWS.qid) for n in (1, 2))
    assert here.best_params_ == there.best_params_
    assert here.cv_results_["mean_test_score"].tolist() == there.cv_results_["mean_test_score"].tolist()
    nested, folds = GridSearchCV(model, **given | {"cv": 3}), list(GroupKFold(2).split(ROWS.X, y, ROWS.qid))
    found = cross_validate(nested, ROWS.X, y, cv=folds, n_jobs=2, return_estimator=True, error_score="raise")
    sent = found["estimator"][0].best_estimator_
    assert not any("_default_lengths" in vars(one) for one in (sent, sent[-1]))


def test_one_query_is_enough_to_learn_from():
    rows = Rows(4, sizes=[60])
    assert trained(LIGHTGBM, rows).score(rows.X, rows.y, qid=rows.qid) > 0.9
    GroupedRanker(LIGHTGBM).fit(ROWS.X[:10], pd.Series(ROWS.y[:10], pd.RangeIndex(10, name="qid")))


def trained(ranker, rows=ROWS, names=("qid",), **options):
    return GroupedRanker(ranker, **options).fit(rows.X, rows.y, **rows.known(*names))


def measured(measure, rows, scores):
    """Return the mean of a measure, computed by ir_measures from rows with docnos."""
    run = pd.DataFrame({"query_id": rows.qid, "doc_id": rows.docno, "score": scores, "doc_length": rows.doc_length})
    qrels = pd.DataFrame({"query_id": rows.qid, "doc_id": rows.docno, "relevance": rows.y.astype(int)})
    measure = ir_measures.parse_measure(measure) if isinstance(measure, str) else measure
    return ir_measures.calc_aggregate([measure], qrels, run)[measure]


#: Weights of rows; XGBoost weights queries.
WEIGHTS = np.random.default_rng(3).uniform(0.1, 2, len(ROWS.y))
OF_QUERIES = np.random.default_rng(3).uniform(0.1, 2, len(ROWS.sizes))
OF_ROWS = OF_QUERIES[np.unique(ROWS.qid, return_inverse=True)[1]]


@BOTH
@pytest.mark.parametrize("weighted", [False, True])
def test_predictions_are_the_wrapped_ranker_s_of_sorted_rows(ranker, weighted):
    passed, own_weights = (WEIGHTS, WEIGHTS[ROWS.order]) if ranker is LIGHTGBM else (OF_ROWS, OF_QUERIES)
    passed, own_weights = (passed, own_weights) if weighted else (None, None)
    own = clone(ranker).fit(ROWS.X[ROWS.order], ROWS.y[ROWS.order], group=ROWS.sizes, sample_weight=own_weights)
    ours = GroupedRanker(ranker).fit(ROWS.X, ROWS.y, qid=ROWS.qid, sample_weight=passed)
    np.testing.assert_array_equal(ours.predict(OTHER.X), own.predict(OTHER.X))
    assert weighted == (not np.array_equal(ours.predict(OTHER.X), trained(ranker).predict(OTHER.X)))


def test_xgboost_says_which_query_has_rows_of_different_weight():
    weight = np.ones(len(ROWS.y))
    weight[[np.flatnonzero(ROWS.qid == query)[-1] for query in ("q02", "q03")]] = 2
    fit = partial(GroupedRanker(XGBOOST).fit, ROWS.X, ROWS.y, qid=ROWS.qid, sample_weight=weight)
    refused(fit, BadParameter, "query 'q02' has rows of different sample_weight")


@BOTH
def test_grades_of_trec_below_0_are_not_relevant(ranker):
    marked = np.where((ROWS.y == 0) & (ROWS.X[:, 1] > 0), -1, ROWS.y)
    assert marked.min() == -1
    ours = GroupedRanker(ranker).fit(ROWS.X, marked, qid=ROWS.qid)
    np.testing.assert_array_equal(ours.predict(OTHER.X), trained(ranker).predict(OTHER.X))


@BOTH
def test_sparse_features_and_lists_are_as_good_as_arrays(ranker):
    X = np.where(np.abs(ROWS.X) < 0.5, np.nan if ranker is XGBOOST else 0, ROWS.X)
    expected = GroupedRanker(ranker).fit(X, ROWS.y, qid=ROWS.qid).predict(X)
    stored = sparse.csr_array(np.nan_to_num(X))  # XGBoost reads entries that are not stored as missing
    np.testing.assert_array_equal(GroupedRanker(ranker).fit(stored, ROWS.y, qid=ROWS.qid).predict(stored), expected)
    as_lists = GroupedRanker(ranker).fit(X.tolist(), ROWS.y.tolist(), qid=ROWS.qid.tolist())
    np.testing.assert_array_equal(as_lists.predict(X.tolist()), expected)


def test_categories_of_a_data_frame_reach_lightgbm():
    frame = pd.DataFrame(ROWS.X, columns=list("abcd"))
    frame["kind"] = pd.Categorical(np.where(ROWS.y > 1, "report", "memo"), categories=["memo", "report"])
    ours = GroupedRanker(LIGHTGBM).fit(frame, ROWS.y, qid=ROWS.qid)
    own = clone(LIGHTGBM).fit(frame.iloc[ROWS.order], ROWS.y[ROWS.order], group=ROWS.sizes)
    np.testing.assert_array_equal(ours.predict(frame), own.predict(frame))
    assert ours.ranker_.feature_importances_[4] > 0
    assert ours.feature_names_in_.tolist() == ["a", "b", "c", "d", "kind"]


@pytest.mark.slow
def test_xgboost_s_missing_values_and_categories_hold_with_measures():
    holes = np.where(np.abs(ROWS.X) < 0.3, -9.0, ROWS.X)
    marked = GroupedRanker(clone(XGBOOST).set_params(missing=-9.0), objective="ERR").fit(holes, ROWS.y, qid=ROWS.qid)
    as_nan = np.where(holes == -9, np.nan, holes)
    plain = GroupedRanker(XGBOOST, objective="ERR").fit(as_nan, ROWS.y, qid=ROWS.qid)
    np.testing.assert_array_equal(marked.predict(holes), plain.predict(as_nan))

    kinds = pd.Categorical(np.where(np.isin(ROWS.y, (0, 2)), "even", "odd"))
    frame = pd.DataFrame({"kind": kinds, "a": ROWS.X[:, 1]})
    ours = GroupedRanker(clone(XGBOOST).set_params(enable_categorical=True), objective="ERR")
    ours.fit(frame, ROWS.y, qid=ROWS.qid)
    assert ours.ranker_.feature_importances_[0] > 0.5


@pytest.mark.slow
@given(
    st.integers(0, 10**6),
    st.sampled_from([LIGHTGBM, XGBOOST, clone(LIGHTGBM).set_params(subsample=0.6, subsample_freq=1)]),
    st.sampled_from([None, "nDCG@5"]),
)
def test_with_docnos_no_shuffle_of_the_rows_changes_a_bit(seed, ranker, objective):
    rows = Rows(seed, sizes=np.random.default_rng(seed).integers(1, 30, 8))
    first = trained(ranker, rows, ("qid", "docno"), objective=objective).predict(rows.X)
    mixed = np.random.default_rng(seed).permutation(len(rows.y))
    second = GroupedRanker(ranker, objective=objective)
    second.fit(rows.X[mixed], rows.y[mixed], qid=rows.qid[mixed], docno=rows.docno[mixed])
    np.testing.assert_array_equal(second.predict(rows.X[mixed]), first[mixed])


@BOTH
def test_with_docnos_rows_are_as_trec_eval_settles_ties(ranker):
    order = ROWS.order_by_docno
    own = clone(ranker).fit(ROWS.X[order], ROWS.y[order], group=ROWS.sizes)
    ours = trained(ranker, names=("qid", "docno"))
    np.testing.assert_array_equal(ours.predict(OTHER.X), own.predict(OTHER.X))
    assert not np.array_equal(ours.predict(OTHER.X), trained(ranker).predict(OTHER.X)), "the order matters"
    numbers = np.array([int(docno[1:]) for docno in ROWS.docno])  # compared as text: '9' is above '10'
    ours.fit(ROWS.X, ROWS.y, qid=ROWS.qid, docno=numbers)
    np.testing.assert_array_equal(ours.predict(OTHER.X), own.predict(OTHER.X))


def test_ids_of_any_type_name_queries():
    numbers, expected = np.array([int(q[1:]) for q in ROWS.qid]), trained(LIGHTGBM)
    score = pytest.approx(expected.score(ROWS.X, ROWS.y, qid=ROWS.qid), abs=1e-12)
    mixed = np.array([str(n) if n > 5 else int(n) for n in numbers], object)
    for qid in (numbers.astype(float), pd.Categorical(numbers), numbers.tolist(), mixed):
        ours = GroupedRanker(LIGHTGBM).fit(ROWS.X, ROWS.y, qid=qid)
        np.testing.assert_array_equal(ours.predict(ROWS.X), expected.predict(ROWS.X))
        assert ours.score(ROWS.X, ROWS.y, qid=qid) == score


def test_the_score_is_the_mean_over_queries_that_ir_measures_finds():
    ours = trained(LIGHTGBM, names=("qid", "docno"))
    pred = ours.predict(OTHER.X)
    ndcg, tbg = (pytest.approx(measured(measure, OTHER, pred), abs=1e-12) for measure in ("nDCG", TBG))
    y = OTHER.indexed("qid", "docno")
    assert ours.score(OTHER.X, y) == ours.score(pd.DataFrame(OTHER.X, y.index), OTHER.y) == ndcg
    assert ours.set_params(eval_measure=TBG).score(OTHER.X, OTHER.y, **OTHER.known(*NAMES)) == tbg


WRAPPED = {
    "alone": lambda ranker: ranker,
    "in a pipeline": lambda ranker: make_pipeline(StandardScaler(), ranker),
    "in a search": lambda ranker: GridSearchCV(ranker, {"single_query": [False]}, cv=2, scoring="r2"),
}


@pytest.mark.slow
@pytest.mark.parametrize("score", [True, False], ids=["a scorer", "the default"])
@pytest.mark.parametrize("wrapped", WRAPPED.values(), ids=WRAPPED)
def test_scorers_warn_once_of_the_queries_that_are_split_over_folds(wrapped, score):
    _scorer.cache_clear()
    model, folds = wrapped(GroupedRanker(LIGHTGBM)), KFold(2, shuffle=True, random_state=0)
    chosen = scorer("nDCG@10") if score or wrapped is WRAPPED["in a search"] else None
    for rows, split in ((ROWS, "16 of 17 queries ('q"), (OTHER, "queries ('r")):
        with pytest.warns(CWLAWarning, match="were in the training rows") as caught:
            cross_validate(model, rows.X, rows.indexed(), cv=folds, scoring=chosen, return_train_score=True)
        assert len(caught) == 1
        assert split in str(caught[0].message)


@pytest.mark.filterwarnings("error")
def test_unjudged_training_rows_may_be_missing_or_have_label_0():
    y, judged = ROWS.indexed(), np.arange(N) % 5 > 0
    for X, labels in ((ROWS.X, y.where(judged, 0)), (ROWS.X[judged], y[judged])):
        fitted = GroupedRanker(LIGHTGBM).fit(X, labels)
        scorer("nDCG")(fitted, ROWS.X, y.astype(float).where(judged))
        scorer("nDCG")(fitted, ROWS.X, y, judged=judged)


@pytest.mark.parametrize("wrapped", WRAPPED.values(), ids=WRAPPED)
def test_training_rows_and_other_queries_are_scored_without_a_warning(wrapped):
    X, y = ROWS.X, ROWS.indexed()
    fitted = wrapped(GroupedRanker(LIGHTGBM)).fit(X, y)
    for model in (fitted, pickle.loads(pickle.dumps(fitted))):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            scorer("nDCG")(model, X[::-1], y[::-1])
            scorer("nDCG")(model, OTHER.X, OTHER.indexed())
        for others, labels in ((X[1:], y[1:]), (X, y + (np.arange(N) == 3))):
            with pytest.warns(CWLAWarning, match="1 of 18 queries"):
                scorer("nDCG")(model, others, labels)


def _checked(ranker, **more):
    return GroupedRanker(clone(ranker).set_params(n_estimators=5, **more), single_query=True)


@parametrize_with_checks(
    [
        _checked(LIGHTGBM, min_child_samples=1, label_gain=list(range(300))),  # the labels of the checks exceed 31
        _checked(XGBOOST, ndcg_exp_gain=False),
    ],
    expected_failed_checks=lambda estimator: EXPECTED_FAILED_CHECKS[type(estimator.ranker).__name__],
    xfail_strict=True,
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_columns_are_checked_by_name():
    check_dataframe_column_names_consistency("GroupedRanker", _checked(LIGHTGBM, min_child_samples=1))


@pytest.mark.slow
def test_scikit_learn_never_splits_a_query_and_scores_by_all():
    ours = GroupedRanker(LIGHTGBM, eval_measure="nDCG@10")
    y = ROWS.indexed("qid", "docno")
    found = cross_validate(ours, ROWS.X, y, groups=ROWS.qid, cv=GroupKFold(3))["test_score"]
    for value, (train, test) in zip(found, GroupKFold(3).split(ROWS.X, groups=ROWS.qid), strict=True):
        order = [row for row in ROWS.order_by_docno if row in set(train)]
        sizes = np.unique(ROWS.qid[order], return_counts=True)[1]
        own = clone(LIGHTGBM).fit(ROWS.X[order], ROWS.y[order], group=sizes)
        left = Rows()
        for name in ("y", *NAMES):
            setattr(left, name, getattr(ROWS, name)[test])
        assert value == pytest.approx(measured("nDCG@10", left, own.predict(ROWS.X[test])), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("ranker, n_jobs", [(LIGHTGBM, 1), (XGBOOST, 2)], ids=["lightgbm", "xgboost in workers"])
def test_cross_validation_takes_queries_by_routing_parameters_and_index(ranker, n_jobs):
    def scores(estimator, y=ROWS.y, **options):
        options |= {"cv": GroupKFold(3), "n_jobs": n_jobs, "error_score": "raise"}
        return cross_validate(estimator, ROWS.X, y, **options)["test_score"]

    ours = GroupedRanker(ranker, objective="TBG")
    expected = scores(ours, ROWS.indexed(*NAMES), groups=ROWS.qid)
    piped = make_pipeline(StandardScaler(with_mean=False, with_std=False), ours)
    np.testing.assert_array_equal(scores(piped, ROWS.indexed(*NAMES), groups=ROWS.qid), expected)
    with config_context(enable_metadata_routing=True):
        params = {**ROWS.known(*NAMES), "groups": ROWS.qid}
        np.testing.assert_array_equal(scores(ours, params=params), expected)
        np.testing.assert_array_equal(scores(piped, params=params), expected)
        np.testing.assert_array_equal(scores(ours, ROWS.indexed(*NAMES), params={"groups": ROWS.qid}), expected)
    if n_jobs == 1:
        data = {"X": ROWS.X, "y": ROWS.y, "groups": ROWS.qid, "cv": GroupKFold(3)}
        of_step = {f"groupedranker__{name}": getattr(ROWS, name) for name in NAMES}
        own = cross_val_predict(ours, **data, params=ROWS.known(*NAMES))
        np.testing.assert_array_equal(cross_val_predict(piped, **data, params=of_step), own)


@pytest.mark.slow
def test_a_grid_reaches_the_parameters_of_the_wrapped_ranker():
    grid = {"groupedranker__ranker__n_estimators": [1, 20], "groupedranker__objective": [None, "nDCG@5"]}
    search = GridSearchCV(make_pipeline(StandardScaler(), GroupedRanker(LIGHTGBM)), grid, cv=GroupKFold(3), n_jobs=2)
    with config_context(enable_metadata_routing=True):
        search.fit(ROWS.X, ROWS.y, qid=ROWS.qid, groups=ROWS.qid)
    best = search.best_estimator_[-1]
    assert best.ranker_.n_estimators == search.best_params_["groupedranker__ranker__n_estimators"]
    assert len(set(search.cv_results_["mean_test_score"])) == 4
    assert search.best_score_ > 0.8


def test_searches_stop_where_queries_are_missing():
    """scikit-learn would replace the error by NaN, with a warning."""
    same = {"groups": ROWS.qid, "cv": GroupKFold(3), "params": ROWS.known()}
    refused(lambda: cross_validate(GroupedRanker(LIGHTGBM), ROWS.X, ROWS.y, **same), CannotScore, "qid is missing")


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("objective", [None, "TBG"])
def test_copies_and_pickles_predict_the_same(ranker, objective):
    options = dict(objective=objective, early_stopping_rounds=2, validation_fraction=0.3, random_state=1)
    ours = trained(ranker, names=("qid", "docno", "doc_length"), **options)
    again = pickle.loads(pickle.dumps(ours))
    np.testing.assert_array_equal(again.predict(OTHER.X), ours.predict(OTHER.X))
    refitted = clone(ours)
    with pytest.raises(NotFittedError):
        refitted.predict(OTHER.X)
    refitted.fit(ROWS.X, ROWS.y, **ROWS.known("qid", "docno", "doc_length"))
    np.testing.assert_array_equal(refitted.predict(OTHER.X), ours.predict(OTHER.X))
    assert not hasattr(ranker, "n_features_in_"), "the given ranker is left as it was"


BY_TABLE = TBG(lengths=dict(zip(ROWS.docno, ROWS.doc_length, strict=True)))
JUDGED = {
    "query_id": ROWS.qid,
    "doc_id": ROWS.docno,
    "relevance": ROWS.y.astype(int),
    "iteration": np.char.add(ROWS.qid, "/0"),
}
BY_INTENT = LambdaMART(IntentAware(measure="ERR"), qrels=pd.DataFrame(JUDGED))


@pytest.mark.slow
@pytest.mark.every_case
@pytest.mark.parametrize(
    "objective", ["TBG", LambdaMART("TBG", pairs="all", truncation_level=3), BY_TABLE, BY_INTENT], ids=str
)
def test_an_objective_sees_the_documents_of_the_sorted_rows(objective):
    names = ("qid", "docno") if objective is BY_TABLE else NAMES
    order = ROWS.order_by_docno
    X, y, length = ROWS.X[order], ROWS.y[order], ROWS.doc_length[order]
    bound = objective if isinstance(objective, LambdaMART) else LambdaMART("TBG")
    bound = bound.bound(doc_length=length, docno=ROWS.docno[order], qid=ROWS.qid[order])
    own = clone(LIGHTGBM).set_params(objective=bound, metric="None").fit(X, y, group=ROWS.sizes)
    ours = trained(LIGHTGBM, names=names, objective=objective)
    np.testing.assert_array_equal(ours.predict(OTHER.X), own.predict(OTHER.X))
    assert ours.ranker_.objective.docno is ours.ranker_.objective.doc_length is None
    if objective is BY_INTENT:  # labels have no intents, so that nDCG is the score
        assert ours.score(OTHER.X, OTHER.indexed()) == scorer("nDCG")(own, OTHER.X, OTHER.indexed())
    if objective == "TBG":  # a pickle without documents, which would be as large as the training data
        assert len(pickle.dumps(ours)) < 2 * len(pickle.dumps(trained(LIGHTGBM)))
    data = xgboost.DMatrix(X, y, group=ROWS.sizes, weight=OF_QUERIES)
    parameters = {"max_depth": 3, "base_score": 0.0, "nthread": 1, "disable_default_eval_metric": True}
    booster = xgboost.train(parameters | {"objective": "rank:ndcg"}, data, 8, obj=bound.xgboost)
    ours = GroupedRanker(XGBOOST, objective=objective)
    ours.fit(ROWS.X, ROWS.y, sample_weight=OF_ROWS, **ROWS.known(*names))
    np.testing.assert_array_equal(ours.predict(OTHER.X), booster.predict(xgboost.DMatrix(OTHER.X)))


VALIDATING = [
    ({"objective": "nDCG@5"}, "nDCG@5"),
    ({"eval_measure": "TBG"}, TBG),
    ({"objective": "ERR", "eval_measure": "TBG"}, TBG),
    ({"eval_measure": "ESL(wanted=6,rel=2)"}, "ESL(wanted=6,rel=2)"),  # less is better
    ({"eval_measure": "nDCG(gains={2:3,3:7})@5"}, "nDCG(gains={2:3,3:7})@5"),  # XGBoost splits lines at colons
]


@pytest.mark.slow
@pytest.mark.every_case
@BOTH
@pytest.mark.parametrize("options, measure", VALIDATING)
def test_training_stops_where_the_measure_of_validation_queries_is_best(ranker, options, measure):
    ours = GroupedRanker(clone(ranker).set_params(n_estimators=60), early_stopping_rounds=4, **options)
    known = {f"eval_{name}": values for name, values in OTHER.known(*NAMES).items()}
    ours.fit(ROWS.X, ROWS.y, **ROWS.known(*NAMES), **VALIDATION | known)
    (values,) = ours.evals_result_["validation_0"].values()
    best, sign = ours.best_iteration_, -1 if "ESL" in str(measure) else 1
    assert list(ours.evals_result_["validation_0"]) == [str(measure)]
    assert best == 1 + int(np.argmax(np.multiply(values, sign)))
    assert len(values) == best + 4 < 60
    found = pytest.approx(values[best - 1], abs=1e-9 if ranker is LIGHTGBM else 5.1e-7)  # XGBoost prints six decimals
    assert measured(measure, OTHER, ours.predict(OTHER.X)) == found
    assert sign * ours.score(OTHER.X, OTHER.y, **OTHER.known(*NAMES)) == found
    shorter = trained(clone(ranker).set_params(n_estimators=best), names=NAMES, **options)
    np.testing.assert_array_equal(shorter.predict(OTHER.X), ours.predict(OTHER.X))
    assert shorter.best_iteration_ == best
    assert shorter.evals_result_ == {}


@BOTH
@pytest.mark.parametrize("options", [{}, dict(objective="nDCG@5")], ids=["own", "nDCG@5"])
def test_a_fraction_of_the_queries_is_held_out_whole(ranker, options):
    """Early stopping agrees with that on the same queries passed as a validation set."""
    common = dict(early_stopping_rounds=3, **options)
    ours = trained(ranker, validation_fraction=0.25, random_state=5, **common)
    queries = ROWS.qid[ROWS.order]
    train, held = next(GroupShuffleSplit(1, test_size=0.25, random_state=5).split(queries, groups=queries))
    assert not set(queries[train]) & set(queries[held])
    assert len(set(queries[held])) == round(0.25 * len(ROWS.sizes) + 0.5)
    train, held = ROWS.order[train], ROWS.order[held]
    by_hand = GroupedRanker(ranker, **common).fit(
        ROWS.X[train], ROWS.y[train], qid=ROWS.qid[train],
        eval_X=ROWS.X[held], eval_y=pd.Series(ROWS.y[held], index=pd.Index(ROWS.qid[held], name="qid")),
    )  # fmt: skip
    np.testing.assert_array_equal(ours.predict(OTHER.X), by_hand.predict(OTHER.X))
    assert ours.evals_result_ == by_hand.evals_result_
    assert ours.best_iteration_ == by_hand.best_iteration_


@BOTH
def test_validation_knows_grades_below_0(ranker):
    """For bpref, a document of grade −1 is unjudged and a document of grade 0 is not relevant."""
    junk = Rows(5)
    junk.y = np.where((junk.y == 0) & (junk.X[:, 1] > 0), -1, junk.y)
    ours = GroupedRanker(ranker, eval_measure="Bpref").fit(
        ROWS.X, ROWS.y, qid=ROWS.qid, eval_X=junk.X, eval_y=junk.indexed("qid", "docno")
    )
    last = ours.evals_result_["validation_0"]["Bpref"][-1]
    assert last == pytest.approx(measured("Bpref", junk, ours.predict(junk.X)), abs=5.1e-7)
    junk.y = np.maximum(junk.y, 0)
    assert last != pytest.approx(measured("Bpref", junk, ours.predict(junk.X)), abs=1e-3)


@pytest.mark.parametrize("objective", [None, "ERR"])
def test_early_stopping_set_in_the_wrapped_ranker_holds(objective, capfd):
    options = dict(objective=objective, eval_measure="ERR", validation_fraction=0.4, random_state=0)
    inside = trained(clone(XGBOOST).set_params(n_estimators=60, early_stopping_rounds=2), **options)
    outside = trained(clone(XGBOOST).set_params(n_estimators=60), early_stopping_rounds=2, **options)
    assert inside.evals_result_ == outside.evals_result_
    assert inside.best_iteration_ == outside.best_iteration_ < 60
    assert capfd.readouterr().out == ""


@BOTH
def test_the_rankers_own_metric_validates_where_no_measure_is_given(ranker):
    own = clone(ranker).set_params(n_estimators=60)
    order, left = ROWS.order, OTHER.order
    ours = GroupedRanker(own, early_stopping_rounds=4).fit(ROWS.X, ROWS.y, qid=ROWS.qid, **VALIDATION)
    if ranker is LIGHTGBM:
        own.fit(
            ROWS.X[order], ROWS.y[order], group=ROWS.sizes, eval_X=OTHER.X[left], eval_y=OTHER.y[left],
            eval_group=[OTHER.sizes], callbacks=[early_stopping(4, verbose=False)],
        )  # fmt: skip
        assert ours.best_iteration_ == own.best_iteration_
    else:
        own.set_params(early_stopping_rounds=4).fit(
            ROWS.X[order], ROWS.y[order], group=ROWS.sizes,
            eval_set=[(OTHER.X[left], OTHER.y[left])], eval_group=[OTHER.sizes],
        )  # fmt: skip
        assert ours.best_iteration_ == own.best_iteration + 1
    np.testing.assert_array_equal(ours.predict(OTHER.X), own.predict(OTHER.X))


def test_a_pipeline_transforms_validation_rows_with_metadata_routing():
    """scikit-learn's option transform_input transforms the validation rows."""
    options = dict(objective="nDCG@5", early_stopping_rounds=3)
    scale = StandardScaler().fit(ROWS.X)
    scaled = VALIDATION | {"eval_X": scale.transform(OTHER.X)}
    by_hand = GroupedRanker(LIGHTGBM, **options).fit(scale.transform(ROWS.X), ROWS.y, qid=ROWS.qid, **scaled)
    with config_context(enable_metadata_routing=True):
        piped = make_pipeline(StandardScaler(), GroupedRanker(LIGHTGBM, **options), transform_input=["eval_X"])
        piped.fit(ROWS.X, ROWS.y, qid=ROWS.qid, **VALIDATION)
        np.testing.assert_array_equal(piped.predict(OTHER.X), by_hand.predict(scale.transform(OTHER.X)))
    assert piped[-1].evals_result_ == by_hand.evals_result_


N = len(ROWS.y)
HOLE = np.where(np.arange(N) == 7, np.nan, ROWS.y)
BAD = [
    ({}, dict(qid=None), NotPassed, r"query of each row is missing: pass qid=.*level 'qid'.*set_fit_request"),
    ({}, dict(qid=None, y=pd.Series(ROWS.y, pd.RangeIndex(N, name="qid"))), BadParameter, r"qid has a different value in each of .* rows .0, 1, 2, …., so that each"),
    ({}, dict(qid=ROWS.sizes), BadParameter, r"not the sizes of groups"),
    ({}, dict(y=HOLE), BadJudgments, r"row 7 is not judged.*Remove the 1 unjudged"),
    ({}, dict(y=None), BadJudgments, "requires y to be passed"),
    ({}, dict(sample_weight=np.ones(N - 1)), ValueError, "sample_weight.shape"),
    ({}, dict(sample_weight=-np.ones(N)), ValueError, "Negative values"),
    ({}, dict(eval_X=OTHER.X), BadJudgments, "the validation rows: .*requires y"),
    ({}, dict(qid=None, y=pd.Series(ROWS.y, ROWS.qid)), NotPassed, r"The index of y has the level None: set the names, as in y\.index\.names = \['qid'\]\."),
    ({}, dict(eval_X=OTHER.X, eval_y=OTHER.y), NotPassed, "the validation rows: the query of each row is missing"),
    ({}, dict(eval_X=OTHER.X[:, 1:], eval_y=OTHER.y, eval_qid=OTHER.qid), ValueError, "X has 3 features"),
    ({}, dict(eval_qid=OTHER.qid), BadParameter, "describe the rows of eval_X="),
    (dict(objective="TBG"), {}, NotPassed, r"TBG needs the length of every document: pass doc_length="),
    (dict(objective="TBG"), dict(doc_length=np.where(np.arange(N) == 5, np.nan, 9.0)), MissingLength, rf"1 of {N} have none \(topic '{ROWS.qid[5]}': '.*row 5'\)"),
    (dict(objective=TBG(lengths={"d0": 9.0})), {}, NotPassed, "for its table: pass docno="),
    (dict(eval_measure="TBG", validation_fraction=0.3), {}, NotPassed, "TBG needs the length"),
    (dict(objective=LambdaMART("ERR", docno=ROWS.docno)), {}, BadParameter, "its own doc_length, docno or qid"),
    (dict(objective="nDGC"), {}, UnknownSpec, "no measure 'nDGC'. Near: 'nDCG'"),
    (dict(objective=print), {}, BadParameter, "must be a measure, a LambdaMART, or None"),
    (dict(eval_measure="nDGC"), {}, UnknownSpec, "no measure 'nDGC'"),
    (dict(early_stopping_rounds=5), {}, BadParameter, "needs queries to validate on"),
    (dict(early_stopping_rounds=0, validation_fraction=0.5), {}, BadParameter, "a whole number from 1"),
    (dict(validation_fraction=1.0), {}, BadParameter, "must be between 0 and 1, such as 0.2"),
    (dict(validation_fraction=0.5), dict(qid=np.zeros(N)), BadParameter, "there is only one"),
    (dict(validation_fraction=0.5), VALIDATION, BadParameter, "use one of the two"),
    (dict(ranker=StandardScaler()), {}, BadParameter, "must be a lightgbm.LGBMRanker or an xgboost.XGBRanker"),
]  # fmt: skip


@pytest.mark.every_case
@BOTH
@pytest.mark.parametrize("options, passed, kind, text", BAD, ids=[case[3][:40] for case in BAD])
def test_an_error_says_what_is_wrong_and_where(ranker, options, passed, kind, text):
    ours = GroupedRanker(**{"ranker": ranker, **options})
    with pytest.raises(kind, match=text):
        ours.fit(**{"X": ROWS.X, "y": ROWS.y, "qid": ROWS.qid, **passed})


@pytest.mark.slow
def test_the_default_is_lightgbms_ranker_and_says_where_to_get_it(monkeypatch):
    rows = Rows(3, sizes=[25, 20])  # a small set: the default trains 100 trees on all processors
    ours, own = GroupedRanker(), LGBMRanker(verbosity=-1)
    own.fit(rows.X[rows.order], rows.y[rows.order], group=rows.sizes)
    np.testing.assert_array_equal(ours.fit(rows.X, rows.y, qid=rows.qid).predict(OTHER.X), own.predict(OTHER.X))
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    refused(lambda: ours.fit(ROWS.X, ROWS.y, qid=ROWS.qid), CWLAError, 'pip install "lightgbm>=')


@pytest.mark.slow
@pytest.mark.real_data
@BOTH
@pytest.mark.parametrize("objective", [None, "nDCG@10"])
def test_folds_of_lightgbms_example_are_ranked_far_better_than_by_chance(data, ranker, objective):
    folder = data / "lightgbm-lambdarank"
    X, y = load_svmlight_file(folder / "rank.train")
    sizes = np.loadtxt(folder / "rank.train.query", dtype=int)
    qid = pd.Index(np.repeat(np.arange(len(sizes)), sizes), name="qid")
    mixed = np.random.default_rng(0).permutation(len(y))
    X, y, qid = X[mixed], y[mixed], qid[mixed]
    ours = GroupedRanker(clone(ranker).set_params(n_estimators=15), objective=objective, eval_measure="nDCG@10")
    found = cross_validate(ours, X, pd.Series(y, index=qid), groups=qid, cv=GroupKFold(3))["test_score"]
    by_chance = EvalMeasure("nDCG@10").value(y[np.argsort(qid)], np.zeros(len(y)), np.bincount(qid))
    assert by_chance == pytest.approx(0.68, abs=0.02)
    assert found.mean() > 0.77
    assert found.min() > by_chance + 0.03
