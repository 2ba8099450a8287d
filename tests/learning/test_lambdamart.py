"""Tests of LambdaMART: gradients against loops and LightGBM's objective; training and early stopping."""

import copy
import math
import pickle

import numpy as np
import pytest

from pyterrier_cwla import evaluate, register_lengths
from pyterrier_cwla.errors import BadJudgments, BadParameter, MissingLength, NoFiniteValue, UnknownSpec
from pyterrier_cwla.learning import training_rows
from pyterrier_cwla.learning.lambdamart import EvalMeasure, LambdaMART
from pyterrier_cwla.learning.metrics import measure_score
from tests.support.messages import refused

lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")

NDCG = "nDCG(dcg='exp-log2')"
SMALL = dict(
    n_estimators=15, num_leaves=7, min_child_samples=5, n_jobs=1, verbose=-1, deterministic=True, random_state=1
)


def rows(seed=0, queries=40, most=25):
    """Return features, grades 0 to 3, words and group sizes; one query has one document, one has only grade 0."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, most + 1, queries)
    sizes[:2] = 1, 6
    X = rng.normal(size=(sizes.sum(), 5))
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=len(X)), [0.5, 1.2, 2])
    y[1:7] = 0
    return X, y, np.ceil(np.exp(5 + X[:, 2])), sizes


def lambdas_by_loops(objective, y, pred, sizes, gain):
    """Compute gradients pair by pair, as in Burges (2010) and LightGBM's documentation."""
    changes = objective.changes(y, pred, sizes)
    gradient, hessian, start = np.zeros(len(y)), np.zeros(len(y)), 0
    for n, change in zip(sizes, changes):
        s, r = pred[start : start + n], gain[start : start + n]
        order = sorted(range(n), key=lambda row: -s[row])  # stable sort
        g, h, total = [0.0] * n, [0.0] * n, 0.0
        for rank, x in enumerate(order[: objective.truncation_level]):
            for y_ in order[rank + 1 :]:
                if r[x] == r[y_] and (objective.pairs == "gain" or change[x, y_] == 0):
                    continue
                better_below = r[y_] > r[x] or (r[y_] == r[x] and change[x, y_] > 0)
                up, down = (y_, x) if better_below else (x, y_)
                weight = abs(change[x, y_])
                if objective.norm and s[order[0]] != s[order[-1]]:
                    weight /= 0.01 + abs(s[x] - s[y_])
                rho = 1 / (1 + math.exp(objective.sigmoid * (s[up] - s[down])))
                g[up] -= objective.sigmoid * weight * rho
                g[down] += objective.sigmoid * weight * rho
                h[up] += objective.sigmoid**2 * weight * rho * (1 - rho)
                h[down] += objective.sigmoid**2 * weight * rho * (1 - rho)
                total += 2 * objective.sigmoid * weight * rho
        scale = math.log2(1 + total) / total if objective.norm and total > 0 else 1
        gradient[start : start + n] = np.multiply(g, scale)
        hessian[start : start + n] = np.multiply(h, scale)
        start += n
    return gradient, hessian


@pytest.mark.parametrize("pairs", ["gain", "all"])
@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("measure", [
    *(NDCG, "ERR", "TBG", "INST(max_rel=3)", "CWLA(C='rbp(0.8)',A='max',max_rel=3)"),
    "CWLA(C='rr(rel=2)',A='err',gain='binary')",  # with equal gains, one item satisfies the user
    "CWLA(C='bpm(1,6)',A='etg',max_rel=3)",  # three gains of 1/3 reach the target of 1 despite rounding
])  # fmt: skip
def test_gradients_are_sums_over_pairs(measure, norm, pairs):
    _X, y, words, sizes = rows(queries=12, most=9)
    pred = np.random.default_rng(1).choice([-1.0, 0.0, 0.25, 2.0], len(y))
    objective = LambdaMART(measure, truncation_level=4, sigmoid=1.5, norm=norm, pairs=pairs, doc_length=words)
    found = objective.gradients(y, pred, sizes)
    assert np.abs(found[0]).max() > 1e-3
    gain = np.minimum(y, 1) if measure == "TBG" or "binary" in measure else y
    by_loops = lambdas_by_loops(objective, y, pred, sizes, gain)
    np.testing.assert_allclose(found, by_loops, rtol=2e-5, atol=2e-6)  # the gradients are float32


@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("sigmoid", [1.0, 2.0])
def test_for_ndcg_it_is_lightgbms_own_objective(norm, sigmoid):
    """The truncation level includes all pairs.

    Below that, LightGBM uses different depths for the ideal ranking and for the discount.
    """
    X, y, _, sizes = rows()
    own = {"objective": "lambdarank", "lambdarank_truncation_level": 30, "lambdarank_norm": norm, "sigmoid": sigmoid}
    theirs = lightgbm.LGBMRanker(**own, **SMALL).fit(X, y, group=sizes).predict(X)
    ours = trained_by_lightgbm(LambdaMART(NDCG, truncation_level=30, norm=norm, sigmoid=sigmoid), X, y, sizes)
    np.testing.assert_allclose(ours, theirs, atol=1e-4)  # LightGBM reads its sigmoid from a table
    assert np.ptp(ours) > 1


def trained_by_lightgbm(objective, X, y, sizes):
    return lightgbm.LGBMRanker(objective=objective, metric="None", **SMALL).fit(X, y, group=sizes).predict(X)


def trained_by_lightgbms_train(objective, X, y, sizes):
    data = lightgbm.Dataset(X, y, group=sizes)
    kept = {name: value for name, value in SMALL.items() if name != "n_estimators"}
    return lightgbm.train({"objective": objective.lightgbm, "metric": "None", **kept}, data, 15).predict(X)


def trained_by_xgboost(objective, X, y, sizes):
    data = xgboost.DMatrix(X, y)
    data.set_group(sizes)
    booster = xgboost.train({"max_depth": 3, "nthread": 1, "base_score": 0}, data, 15, obj=objective.xgboost)
    return booster.predict(data)


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["TBG", "TBG(norm='ideal')@10", "ERR", "INST(max_rel=3)", "AP", "RBP(p=0.8,rel=2)"])
@pytest.mark.parametrize("train", [trained_by_lightgbm, trained_by_lightgbms_train, trained_by_xgboost])
def test_every_way_to_train_raises_the_measure(train, measure):
    X, y, words, sizes = rows()
    score = EvalMeasure(measure, doc_length=words)
    pred = train(LambdaMART(measure, truncation_level=10, doc_length=words), X, y, sizes)
    learned, unlearned = (score.value(y, scores, sizes) for scores in (pred, np.zeros(len(y))))
    by_chance = np.mean([score.value(y, np.random.default_rng(seed).random(len(y)), sizes) for seed in range(20)])
    assert learned > 1.1 * max(by_chance, unlearned)


def test_weights_are_of_rows_in_lightgbm_and_of_queries_in_xgboost():
    X, y, _words, sizes = rows()
    pred = X[:, 0]
    objective = LambdaMART("ERR")
    plain = np.array(objective.gradients(y, pred, sizes))
    of_queries = np.arange(1.0, len(sizes) + 1)
    of_rows = np.repeat(of_queries, sizes)
    np.testing.assert_allclose(objective.gradients(y, pred, sizes, of_rows), plain * of_rows)
    data = xgboost.DMatrix(X, y, weight=of_queries, group=sizes)
    np.testing.assert_allclose(objective.xgboost(pred, data), plain * of_rows)
    np.testing.assert_array_equal(objective(y, pred, None, sizes), plain)


@pytest.mark.slow
def test_gradients_are_the_same_for_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(training_rows, "_CELLS", 200)  # several chunks, so that threads share the work
    X, y, words, sizes = rows()
    for measure in ("TBG", "INST(max_rel=3)", "CWLA(C='inst(1)',A='fgt(0.5)',max_rel=3)"):
        one, two = (LambdaMART(measure, doc_length=words, n_jobs=n).gradients(y, X[:, 0], sizes) for n in (1, 2))
        np.testing.assert_array_equal(one, two)
    refused(lambda: LambdaMART("ERR", n_jobs=0), BadParameter, "n_jobs must be")


def test_equals_change_places_freely_and_better_ones_are_pulled_up():
    gradient, hessian = LambdaMART("ERR").gradients([0, 3, 0, 0], np.zeros(4), [4])
    assert gradient[1] < 0
    assert (gradient[[0, 2, 3]] >= 0).all()
    assert gradient.sum() == pytest.approx(0, abs=1e-7)
    assert (hessian >= 0).all()
    for labels in ([0, 0, 0], [2, 2, 2]):
        assert not np.any(LambdaMART("ERR").gradients(labels, [3.0, 2.0, 1.0], [3]))
    assert not np.any(LambdaMART("TBG", doc_length=[10]).gradients([1], [0.0], [1]))


def test_the_first_read_of_equal_gains_is_pulled_up():
    given = ([0, 1, 0], [3.0, 2.0, 1.0], [3])  # users who stop at the relevant item spend time only on items above it
    words = [900, 100, 10]
    gain = LambdaMART("TBG", norm=False, pairs="gain", doc_length=words).gradients(*given)[0]
    both = LambdaMART("TBG", norm=False, doc_length=words).gradients(*given)[0]
    assert both[0] > gain[0]
    assert both[2] < gain[2]
    assert both[1] == gain[1]


def test_predictions_far_apart_neither_pull_nor_overflow():
    gradient, hessian = LambdaMART("ERR", norm=False).gradients([2, 0, 1], [1e4, 0.0, -1e4], [3])
    assert np.isfinite([gradient, hessian]).all()
    assert gradient[0] == 0  # its prediction is far above both others
    assert gradient[2] == -gradient[1] < 0


@pytest.mark.parametrize(("measure", "labels", "smaller"), [
    (NDCG, [0, 128, 5], [0, 100, 5]),
    (NDCG, [0, 1023, 5], [0, 100, 5]),
    ("nDCG", [0, 1e39, 5e38], [0, 2, 1]),
    ("nDCG", [0, 1e308, 5e307], [0, 2, 1]),
    ("CWLA(C='ap2',A='avg',gain='raw',norm='ideal')", [0, 1e39, 5e38], [0, 2, 1]),
    ("CWLA(C='rbp(0.5)',A='max',gain='raw',norm='ideal')", [0, 1e39, 5e38], [0, 2, 1]),
])  # fmt: skip
def test_gains_may_be_larger_than_float32_holds(measure, labels, smaller):
    found, expected = (LambdaMART(measure).gradients(y, [3.0, 2.0, 1.0], [3]) for y in (labels, smaller))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize(("measure", "labels"), [(NDCG, [0, 1024, 5]), ("nDCG", [1e308, 1.5e308, 0])])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_gains_without_a_finite_score_are_the_error_of_scores(measure, labels):
    given = (labels, [3.0, 2.0, 1.0])
    for call in (
        lambda: measure_score(measure, *given, qid=["q"] * 3),
        lambda: LambdaMART(measure).gradients(*given, [3]),
        lambda: LambdaMART(measure).changes(*given, [3]),
    ):
        with pytest.raises(NoFiniteValue, match=r"nDCG.*: the score or its normaliser is too large"):
            call()


def test_labels_may_be_any_gains():
    gains = [0.25, 0.0, 1.75, 0.5]
    objective = LambdaMART("CWLA(C='rbp(0.5)',A='etg',gain='raw')")
    change = objective.changes(gains, [4, 3, 2, 1], [4])[0]
    assert change[0, 2] == pytest.approx((1.75 - 0.25) * (1 - 0.25))
    assert objective.gradients(gains, [4, 3, 2, 1], [4])[0][2] < 0


def test_a_measures_own_table_knows_the_words_of_documents():
    X, y, words, sizes = rows(queries=5)
    docno = [f"d{row}" for row in range(len(y))]
    register_lengths("of_rows", dict(zip(docno, words.tolist())))
    by_table = LambdaMART("TBG(lengths='of_rows',norm='ideal')", docno=docno).gradients(y, X[:, 0], sizes)
    by_column = LambdaMART("TBG(norm='ideal')", doc_length=words).gradients(y, X[:, 0], sizes)
    np.testing.assert_array_equal(by_table, by_column)
    bound = LambdaMART("TBG(norm='ideal')", truncation_level=3).bound(doc_length=words)
    assert bound.truncation_level == 3
    assert bound.doc_length is words


def test_an_objective_travels_without_what_it_was_trained_with():
    X, y, words, sizes = rows(queries=6)
    objective = LambdaMART("TBG", doc_length=words)
    before = objective.gradients(y, X[:, 0], sizes)
    again = pickle.loads(pickle.dumps(objective)).gradients(y, X[:, 0], sizes)
    np.testing.assert_array_equal(before, again)
    assert copy.deepcopy(objective) is objective
    metric = pickle.loads(pickle.dumps(EvalMeasure("TBG", doc_length=words)))
    assert metric.value(y, X[:, 0], sizes) == EvalMeasure("TBG", doc_length=words).value(y, X[:, 0], sizes)
    assert repr(LambdaMART("ERR", norm=False, sigmoid=2)) == "LambdaMART('ERR', sigmoid=2, norm=False)"
    size = len(pickle.dumps(err := LambdaMART("ERR")))
    err.gradients(np.zeros(10_000), np.zeros(10_000), [10_000])
    assert len(pickle.dumps(err)) == size


def as_frames(y, pred, sizes):
    query = np.repeat(np.arange(len(sizes)), sizes).astype(str)
    qrels, run = {q: {} for q in query}, {q: {} for q in query}
    for row, (q, grade, score) in enumerate(zip(query, y.tolist(), pred.tolist())):
        qrels[q][f"{len(y) - row:06}"], run[q][f"{len(y) - row:06}"] = grade, score  # ties in order of the rows
    return qrels, run


@pytest.mark.parametrize(
    "measure", ["ERR", "nDCG@5", "GeometricMean(measure='AP')", "Bpref", "NumRet", "Residual(measure='ERR')"]
)
def test_the_measure_of_a_round_is_that_of_evaluate(measure):
    X, y, _, sizes = rows()
    pred = np.round(X[:, 0])
    name, value, higher = EvalMeasure(measure)(y, pred, None, sizes)
    assert higher
    assert value == pytest.approx(evaluate(*as_frames(y, pred, sizes), [measure]).iloc[0, 0], rel=1e-12)
    assert EvalMeasure(name).measure == EvalMeasure(measure).measure


def test_of_costs_and_search_lengths_less_is_better():
    """Documents of equal predictions are in any order."""
    cost = "CWLA(C='rr',A='items',gain='exponential',max_rel=3,end='stop')"
    metric = EvalMeasure(cost, greater_is_better=False)
    best, worst = metric([3, 0, 0], [3.0, 2.0, 1.0], None, [3]), metric([0, 0, 3], [3.0, 2.0, 1.0], None, [3])
    assert best[1] < worst[1]
    assert not best[2]
    assert EvalMeasure(cost).greater_is_better  # the default of costs of user models
    assert EvalMeasure("ESL")([0, 0, 1], [1.0, 1.0, 1.0], None, [3]) == ("ESL", 1.0, False)
    assert EvalMeasure("GeometricMean(measure='ESL')")([0, 1], [2.0, 1.0], None, [2])[1:] == (1.0, False)
    assert EvalMeasure("ESL", greater_is_better=True).greater_is_better


@pytest.mark.slow
def test_lightgbm_and_xgboost_stop_early_by_it():
    X, y, words, sizes = rows(queries=60)
    X_, y_, words_, sizes_ = rows(seed=1, queries=60)
    objective, metric = LambdaMART("TBG", doc_length=words), EvalMeasure("TBG", doc_length=words_)
    ranker = lightgbm.LGBMRanker(objective=objective, metric="None", **SMALL | {"n_estimators": 300}).fit(
        X, y, group=sizes, eval_X=X_, eval_y=y_, eval_group=[sizes_], callbacks=[lightgbm.early_stopping(10, verbose=False)],
        eval_metric=EvalMeasure("TBG", doc_length=[words, words_]),
    )  # fmt: skip
    assert 0 < ranker.best_iteration_ < 290
    history, value = ranker.evals_result_["valid_0"]["TBG"], metric.value(y_, ranker.predict(X_), sizes_)
    assert max(history) == history[ranker.best_iteration_ - 1] == pytest.approx(value)
    kept = {name: value for name, value in SMALL.items() if name != "n_estimators"}
    data = lightgbm.Dataset(X, y, group=sizes)
    booster = lightgbm.train(
        {"objective": objective.lightgbm, "metric": "None", **kept}, data, 300,
        valid_sets=[lightgbm.Dataset(X_, y_, group=sizes_, reference=data)], feval=metric.lightgbm,
        callbacks=[lightgbm.early_stopping(10, verbose=False)],
    )  # fmt: skip
    assert 0 < booster.best_iteration < 290
    data, held_out = xgboost.DMatrix(X, y, group=sizes), xgboost.DMatrix(X_, y_, group=sizes_)
    history = {}
    booster = xgboost.train(
        {"max_depth": 3, "nthread": 1, "base_score": 0, "disable_default_eval_metric": 1}, data, 300,
        obj=objective.xgboost, custom_metric=metric.xgboost, evals=[(held_out, "held_out")], maximize=True,
        early_stopping_rounds=10, evals_result=history, verbose_eval=False,
    )  # fmt: skip
    assert 0 < booster.best_iteration < 290
    assert max(history["held_out"]["TBG"]) == pytest.approx(booster.best_score)


@pytest.mark.parametrize(("measure", "options", "error", "says"), [
    ("TBG", {}, MissingLength, "doc_length"),
    ("TBG", {"doc_length": [10]}, BadParameter, "doc_length has 1 values, but there are 4 rows"),
    ("TBG", {"doc_length": [10, -1, 10, 10]}, MissingLength, "is -1"),
    ("TBG(lengths='of four')", {"docno": ["a", "b", "c", "e"]}, MissingLength, "'e'"),
    ("Bpref", {}, BadParameter, "follows no user model"),
    ("GeometricMean(measure='AP')", {}, BadParameter, "follows no user model"),
    ("nDCGG", {}, UnknownSpec, "Near: 'nDCG'"),
    ("CWLA(C='rr',A='err')", {}, BadParameter, "max_rel"),
    ("ERR", {"truncation_level": 0}, BadParameter, "truncation_level must be a whole number"),
    ("ERR", {"sigmoid": -1}, BadParameter, "sigmoid must be"),
    ("ERR", {"pairs": "some"}, BadParameter, "'gain' or 'all'"),
    ("AP(judged_only=True)", {}, BadParameter, "Use the measure without judged_only="),
    ("CWLA(C='rr',A='err',max_rel=1)", {}, BadJudgments, "grade 2, above max_rel=1"),
    ("CWLA(C='rr',A='err',gain='raw')", {}, BadParameter, "gains of at most 1"),
    ("CWLA(C='inst(9)',A='erg',gain='raw')", {}, BadParameter, "gains of at most 1, and a gain is 2:"),
    ("CWLA(C='product(cascade(0.5),cascade(0.5))',A='etg',gain='raw',end='stop')", {}, BadParameter, "gains of at most 1"),
])  # fmt: skip
def test_what_cannot_be_learned_from_is_one_clear_error(measure, options, error, says, tmp_path):
    if "of four" in measure:
        (tmp_path / "words.csv").write_text("docno,words\na,1\nb,1\nc,1\nd,1\n")
        measure = measure.replace("of four", str(tmp_path / "words.csv"))
    with pytest.raises(error, match=says.replace("(", r"\(")):
        LambdaMART(measure, **options).gradients([0, 2, 1, 0], np.zeros(4), [4])


@pytest.mark.parametrize(("y", "pred", "group", "error", "says"), [
    ([0, 1, 2], [0, 0, 0], [2], BadParameter, "2 rows together, but there are 3"),
    ([0, 1, 2], [0, 0, 0], None, BadParameter, "group"),
    ([0, 1, 2], [0, 0, 0], ["a", "a", "a"], BadParameter, "the number of rows of each query in order, not"),
    ([], [], [], BadParameter, "there are no rows"),
    ([0, 1, 2], [0, 0, 0], [3, 0], BadParameter, "the number of rows of each query, 1 or more"),
    ([0, 1, 2], [0, 0], [3], BadParameter, "one score per row"),
    ([0, 1, 2], [0, np.nan, 0], [3], BadParameter, "prediction for row 1 is nan"),
    ([0, -0.5, 2], [0, 0, 0], [3], BadJudgments, "row 1 has the label -0.5"),
    ([0, np.nan, 2], [0, 0, 0], [3], BadJudgments, "row 1 has no label"),
    (["a", "b", "c"], [0, 0, 0], [3], BadJudgments, "labels must be grades"),
])  # fmt: skip
def test_rows_that_do_not_fit_are_one_clear_error(y, pred, group, error, says):
    for call in (LambdaMART("ERR").gradients, LambdaMART("ERR").changes):
        with pytest.raises(error, match=says):
            call(y, pred, group)


def test_sets_that_cannot_be_told_apart_are_an_error():
    metric = EvalMeasure("TBG", doc_length=[[1, 2], [3, 4], [5]])
    refused(lambda: metric.value([0, 1], [1, 2], [2]), BadParameter, "two sets have 2 rows")
    refused(lambda: metric.value([0, 1, 0], [1, 2, 3], [3]), BadParameter, "no doc_length has 3 rows")
    with pytest.raises(BadParameter, match="has no queries"):
        LambdaMART("ERR").xgboost(np.zeros(2), xgboost.DMatrix(np.zeros((2, 1)), [0, 1]))
    with pytest.raises(BadParameter, match="XGBoost weights queries"):
        LambdaMART("ERR").xgboost(np.zeros(2), xgboost.DMatrix(np.zeros((2, 1)), [0, 1], qid=[7, 7], weight=[1, 2]))
    refused(lambda: LambdaMART("ERR").gradients([0, 1], [0, 0], [2], weight=[1]), BadParameter, "weight has")
