"""Tests of LambdaMART, also of intent-aware measures: ΔM and gradients against loops, training and early stopping."""

import copy
import math
import pickle

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost

from pyterrier_cwla import IntentAware, evaluate
from pyterrier_cwla.errors import BadJudgments, BadParameter, MissingLength, NoFiniteValue, UnknownSpec
from pyterrier_cwla.learning import training_rows
from pyterrier_cwla.learning.lambdamart import EvalMeasure, LambdaMART
from pyterrier_cwla.learning.metrics import measure_score
from pyterrier_cwla.learning.rankers import GroupedRanker
from tests.measures.test_intents import given as random_weights
from tests.support.messages import refused

NDCG = "nDCG(dcg='exp-log2')"
SMALL = {"num_leaves": 7, "min_child_samples": 5, "n_jobs": 1, "verbose": -1, "deterministic": True, "random_state": 1}


def rows(seed=0, queries=40, most=25):
    """Return features, grades 0 to 3, words and group sizes; one query has one document, one has only grade 0."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, most + 1, queries)
    sizes[:2] = 1, 6
    X = rng.normal(size=(sizes.sum(), 5))
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=len(X)), [0.5, 1.2, 2])
    y[1:7] = 0
    return X, y, np.ceil(np.exp(5 + X[:, 2])), sizes


def lambdas_by_loops(objective, y, pred, sizes, grades):
    """Compute gradients pair by pair, as in Burges (2010) and LightGBM's documentation; `grades` are dicts by intent."""
    changes = objective.changes(y, pred, sizes)
    gradient, hessian, start = np.zeros(len(y)), np.zeros(len(y)), 0
    for n, change in zip(sizes, changes):
        s, r = pred[start : start + n], grades[start : start + n]
        order = sorted(range(n), key=lambda row: -s[row])  # stable sort
        g, h, total = [0.0] * n, [0.0] * n, 0.0
        for rank, x in enumerate(order[: objective.truncation_level]):
            for y_ in order[rank + 1 :]:
                if r[x] == r[y_] and objective.pairs == "gain":
                    continue
                more, less = any(r[y_][t] > r[x][t] for t in r[x]), any(r[y_][t] < r[x][t] for t in r[x])
                better_below = change[x, y_] > 0 if more == less else more
                up, down = (y_, x) if better_below else (x, y_)
                weight = abs(change[x, y_])
                if objective.norm and s[order[0]] != s[order[-1]]:
                    weight /= 0.01 + abs(s[x] - s[y_])
                rho = (1 - math.tanh(objective.sigmoid * (s[up] - s[down]) / 2)) / 2
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


def assert_gradients_are_those_of_loops(objective, y, pred, sizes, grades):
    found = objective.gradients(y, pred, sizes)
    assert np.abs(found[0]).max() > 1e-3
    by_loops = lambdas_by_loops(objective, y, pred, sizes, grades)
    np.testing.assert_allclose(found, by_loops, rtol=2e-5, atol=2e-6)  # the gradients are float32


@pytest.mark.every_case
@pytest.mark.parametrize("measure", [
    *(NDCG, "ERR", "TBG", "TBG(norm='ideal')", "INST(max_rel=3)", "CWLA(C='rbp(0.8)',A='max',max_rel=3)"),
    "CWLA(C='inst(1)',A='erg',max_rel=3)",  # with the effort of unseen items
    "CWLA(C='rr(rel=2)',A='err',gain='binary')",  # with equal gains, one item satisfies the user
    "CWLA(C='bpm(1,6)',A='etg',max_rel=3)",  # three gains of 1/3 reach the target of 1 despite rounding
])  # fmt: skip
def test_gradients_are_sums_over_pairs(measure):
    _X, y, words, sizes = rows(queries=12, most=9)
    grades = [{"0": grade} for grade in (np.minimum(y, 1) if "TBG" in measure or "binary" in measure else y).tolist()]
    for pairs in ("gain", "all"):
        for norm in (True, False):
            objective = LambdaMART(measure, truncation_level=4, sigmoid=1.5, norm=norm, pairs=pairs, doc_length=words)
            for far in (2.0, 1e4):  # predictions far apart do not overflow
                pred = np.random.default_rng(1).choice([-1.0, 0.0, 0.25, far], len(y))
                assert_gradients_are_those_of_loops(objective, y, pred, sizes, grades)


@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("sigmoid", [1.0, 2.0])
def test_for_ndcg_it_is_lightgbms_own_objective(norm, sigmoid):
    """The truncation level includes all pairs.

    Below that, LightGBM uses different depths for the ideal ranking and for the discount.
    """
    X, y, _, sizes = rows()
    own = {"objective": "lambdarank", "lambdarank_truncation_level": 30, "lambdarank_norm": norm, "sigmoid": sigmoid}
    objective = LambdaMART(NDCG, truncation_level=30, norm=norm, sigmoid=sigmoid)
    few = {"n_estimators": 15, **SMALL}
    theirs = lightgbm.LGBMRanker(**own, **few).fit(X, y, group=sizes).predict(X)
    ours = lightgbm.LGBMRanker(objective=objective, metric="None", **few).fit(X, y, group=sizes).predict(X)
    np.testing.assert_allclose(ours, theirs, atol=1e-4)  # LightGBM reads its sigmoid from a table
    assert np.ptp(ours) > 1


def trained_by_lightgbm(objective, metric, learned, held):
    """Return the best round, the values of the held-out rows by round, and the function that predicts."""
    (X, y, _, sizes), (X_, y_, _, sizes_) = learned, held
    stop = [lightgbm.early_stopping(10, verbose=False)]
    ranker = lightgbm.LGBMRanker(objective=objective, metric="None", n_estimators=300, **SMALL)
    ranker.fit(X, y, group=sizes, eval_X=X_, eval_y=y_, eval_group=[sizes_], callbacks=stop, eval_metric=metric)
    return ranker.best_iteration_, ranker.evals_result_["valid_0"], ranker.predict


def trained_by_lightgbms_train(objective, metric, learned, held):
    (X, y, _, sizes), (X_, y_, _, sizes_), found = learned, held, {}
    data = lightgbm.Dataset(X, y, group=sizes)
    booster = lightgbm.train(
        {"objective": objective.lightgbm, "metric": "None", **SMALL}, data, 300, feval=metric.lightgbm,
        valid_sets=[lightgbm.Dataset(X_, y_, group=sizes_, reference=data)],
        callbacks=[lightgbm.early_stopping(10, verbose=False), lightgbm.record_evaluation(found)],
    )  # fmt: skip
    return booster.best_iteration, found["valid_0"], booster.predict


def trained_by_xgboost(objective, metric, learned, held):
    data, held_out = (xgboost.DMatrix(X, y, group=sizes) for X, y, _, sizes in (learned, held))
    parameters, found = {"max_depth": 3, "nthread": 1, "base_score": 0, "disable_default_eval_metric": 1}, {}
    booster = xgboost.train(
        parameters, data, 300, obj=objective.xgboost, custom_metric=metric.xgboost, evals=[(held_out, "held_out")],
        maximize=True, early_stopping_rounds=10, evals_result=found, verbose_eval=False,
    )  # fmt: skip
    best = booster.best_iteration + 1
    return best, found["held_out"], lambda X: booster.predict(xgboost.DMatrix(X), iteration_range=(0, best))


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["TBG", "TBG(norm='ideal')@10", "ERR", "INST(max_rel=3)", "AP", "RBP(p=0.8,rel=2)"])
@pytest.mark.parametrize("train", [trained_by_lightgbm, trained_by_lightgbms_train, trained_by_xgboost])
def test_every_way_to_train_raises_the_measure_and_stops_early(train, measure):
    learned, held = rows(queries=60), rows(seed=1, queries=60)
    objective = LambdaMART(measure, truncation_level=10, doc_length=learned[2])
    metric = EvalMeasure(measure, doc_length=[learned[2], held[2]])
    best, found, predict = train(objective, metric, learned, held)
    (values,) = found.values()
    assert 0 < best < 290
    assert max(values) == values[best - 1]
    X, y, _, sizes = held
    assert max(values) == pytest.approx(metric.value(y, predict(X), sizes), abs=1e-6)
    X, y, _, sizes = learned
    by_chance = np.mean([metric.value(y, np.random.default_rng(seed).random(len(y)), sizes) for seed in range(20)])
    assert metric.value(y, predict(X), sizes) > 1.1 * max(by_chance, metric.value(y, np.zeros(len(y)), sizes))


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
        assert "nDCG" in refused(call, NoFiniteValue, ": the score or its normaliser is too large")


def test_labels_may_be_any_gains():
    gains = [0.25, 0.0, 1.75, 0.5]
    objective = LambdaMART("CWLA(C='rbp(0.5)',A='etg',gain='raw')")
    change = objective.changes(gains, [4, 3, 2, 1], [4])[0]
    assert change[0, 2] == pytest.approx((1.75 - 0.25) * (1 - 0.25))
    assert objective.gradients(gains, [4, 3, 2, 1], [4])[0][2] < 0


def test_an_objective_travels_without_what_it_was_trained_with():
    X, y, words, sizes = rows(queries=6)
    qid, docno, _words, pred, of_query, qrels = rows_of_intents(2)
    aware = LambdaMART(IntentAware(measure="ERR"), qrels=qrels, qid=qid, docno=docno)
    assert repr(aware) == "LambdaMART(\"IntentAware(measure='ERR')\")"
    assert repr(LambdaMART("ERR", norm=False, sigmoid=2)) == "LambdaMART('ERR', sigmoid=2, norm=False)"
    unlabelled = (np.zeros(len(qid)), pred, of_query)
    for objective, given_rows in (LambdaMART("TBG", doc_length=words), (y, X[:, 0], sizes)), (aware, unlabelled):
        before = objective.gradients(*given_rows)
        np.testing.assert_array_equal(before, pickle.loads(pickle.dumps(objective)).gradients(*given_rows))
        assert copy.deepcopy(objective) is objective
    bound = LambdaMART(IntentAware(measure="ERR"), qrels=qrels).bound(docno=docno, qid=qid)
    np.testing.assert_array_equal(before, bound.gradients(*unlabelled))
    metric = EvalMeasure("TBG", doc_length=words)
    assert pickle.loads(pickle.dumps(metric)).value(y, X[:, 0], sizes) == metric.value(y, X[:, 0], sizes)
    size = len(pickle.dumps(err := LambdaMART("ERR")))
    err.gradients(np.zeros(10_000), np.zeros(10_000), [10_000])
    assert len(pickle.dumps(err)) == size


def as_frames(y, pred, sizes):
    query = np.repeat(np.arange(len(sizes)), sizes).astype(str)
    qrels, run = {q: {} for q in query}, {q: {} for q in query}
    for row, (q, grade, score) in enumerate(zip(query, y.tolist(), pred.tolist())):
        qrels[q][f"{len(y) - row:06}"], run[q][f"{len(y) - row:06}"] = grade, score  # ties in order of the rows
    return qrels, run


COST = "CWLA(C='rr',A='items',gain='exponential',max_rel=3,end='stop')"
OF_ROUNDS = {"ERR": True, "nDCG@5": True, "GeometricMean(measure='AP')": True, "Bpref": True, "NumRet": True,
             "Residual(measure='ERR')": True, "ESL": False, "GeometricMean(measure='ESL')": False,
             COST: True}  # the default of costs of user models  # fmt: skip


@pytest.mark.every_case
@pytest.mark.parametrize("measure", OF_ROUNDS)
def test_the_measure_of_a_round_is_that_of_evaluate(measure):
    X, y, _, sizes = rows()
    pred = np.round(X[:, 0])
    name, value, higher = EvalMeasure(measure)(y, pred, None, sizes)
    assert higher == OF_ROUNDS[measure]
    assert EvalMeasure(measure, greater_is_better=not higher)(y, pred, None, sizes) == (name, value, not higher)
    assert value == pytest.approx(evaluate(*as_frames(y, pred, sizes), [measure]).iloc[0, 0], rel=1e-12)
    assert EvalMeasure(name).measure == EvalMeasure(measure).measure


@pytest.mark.every_case
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
    ("ERR", {"sigmoid": -1}, BadParameter, "sigmoid must be"), ("ERR", {"n_jobs": 0}, BadParameter, "n_jobs must be"),
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
    refused(lambda: LambdaMART(measure, **options).gradients([0, 2, 1, 0], np.zeros(4), [4]), error, says)


@pytest.mark.parametrize(("y", "pred", "group", "error", "says"), [
    ([0, 1, 2], [0, 0, 0], [2], BadParameter, "2 rows together, but there are 3"),
    ([0, 1, 2], [0, 0, 0], None, BadParameter, "group"),
    ([], [], [], BadParameter, "there are no rows"),
    ([0, 1, 2], [0, 0, 0], [3, 0], BadParameter, "the number of rows of each query, 1 or more"),
    ([0, 1, 2], [0, 0], [3], BadParameter, "one score per row"),
    ([0, 1, 2], [0, np.nan, 0], [3], BadParameter, "prediction for row 1 is nan"),
    ([0, -0.5, 2], [0, 0, 0], [3], BadJudgments, "row 1 has the label -0.5"),
    ([0, np.nan, 2], [0, 0, 0], [3], BadJudgments, "row 1 has no label"),
])  # fmt: skip
def test_rows_that_do_not_fit_are_one_clear_error(y, pred, group, error, says):
    for call in (LambdaMART("ERR").gradients, LambdaMART("ERR").changes):
        refused(lambda: call(y, pred, group), error, says)  # noqa: B023


def test_sets_that_cannot_be_told_apart_are_an_error():
    metric = EvalMeasure("TBG", doc_length=[[1, 2], [3, 4], [5]])
    refused(lambda: metric.value([0, 1], [1, 2], [2]), BadParameter, "two sets have 2 rows")
    refused(lambda: metric.value([0, 1, 0], [1, 2, 3], [3]), BadParameter, "no doc_length has 3 rows")

    def gradients(**given):
        return LambdaMART("ERR").xgboost(np.zeros(2), xgboost.DMatrix(np.zeros((2, 1)), [0, 1], **given))

    refused(gradients, BadParameter, "has no queries")
    refused(lambda: gradients(qid=[7, 7], weight=[1, 2]), BadParameter, "XGBoost weights queries")
    refused(lambda: LambdaMART("ERR").gradients([0, 1], [0, 0], [2], weight=[1]), BadParameter, "weight has")


COLUMNS = ["query_id", "doc_id", "relevance", "iteration"]


def rows_of_intents(seed, queries=6, most=7, intents=3):
    """Return query, document, words and prediction of rows, sizes of groups, and judgments by intent.

    Some documents are not judged for an intent, some intents have no relevant document, and some judged documents are
    no rows.
    """
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, most + 1, queries)
    qid = np.repeat([f"q{number}" for number in rng.permutation(queries)], sizes)
    docno = np.array([f"d{number}" for number in rng.permutation(len(qid))])
    judged = [
        (query, document, int(rng.choice([0, 0, 1, 2, 3])) * (intent < 3 or number % 2), f"{query}/{intent}")
        for number, (query, document) in enumerate(zip(qid, docno))
        for intent in range(intents)
        if rng.random() < 0.8
    ]
    qrels = pd.DataFrame([*judged, ("q0", "elsewhere", 3, "q0/0")], columns=COLUMNS)
    pred = rng.choice([0.0, 1.0, 2.0, 3.5], len(qid))
    return qid, docno, rng.choice([10.0, 200.0, 900.0], len(qid)), pred, sizes, qrels


def by_intent(qrels, weights, qid, docno):
    """Return dicts of the grades of each row, and of the share of each query, by intent, for intents that have users."""
    table = qrels[qrels.doc_id.isin(docno)].set_index(["query_id", "doc_id", "iteration"]).relevance
    relevant = table[table > 0].reset_index().groupby("query_id").iteration.unique().to_dict()
    shares = weights or {query: {one: 1 / len(names) for one in names} for query, names in relevant.items()}
    return [
        {intent: max(table.get((query, document, intent), 0), 0) for intent, p in shares.get(query, {}).items() if p}
        for query, document in zip(qid, docno)
    ], shares


@pytest.mark.every_case
@pytest.mark.parametrize("inner", [
    "ERR", "nDCG@3", "AP", "TBG", "TBG(norm='ideal')@4", "RBP(p=0.5,rel=1)", "INST(max_rel=3)", "RR",
    "CWLA(C='rbp(0.8)',A='max',max_rel=3)", "CWLA(C='inst(1)',A='fgt(0.5)',max_rel=3)", "UMeasure(T=30,max_rel=3,effort='ratio(4)')",
])  # fmt: skip
def test_a_swap_changes_the_mean_over_intents(inner):
    """ΔM = Σ_t P(t|q)·ΔM_t; tests of swaps compare ΔM of one intent with loops."""
    qid, docno, words, pred, sizes, qrels = rows_of_intents(len(inner))
    of_query = qid[np.cumsum(sizes) - 1]
    for weights in (None, random_weights(qrels)):
        measure = IntentAware(measure=inner, weights=weights or "uniform")
        objective = LambdaMART(measure, qrels=qrels, qid=qid, docno=docno, doc_length=words)
        grades, shares = by_intent(qrels, weights, qid, docno)
        expected = [np.zeros((n, n)) for n in sizes]
        for intent in qrels.iteration.str[-1].unique():
            labels = [of.get(f"{query}/{intent}", 0) for query, of in zip(qid, grades)]
            alone = LambdaMART(inner, doc_length=words).changes(labels, pred, sizes)
            for query, total, change in zip(of_query, expected, alone, strict=True):
                total += shares.get(query, {}).get(f"{query}/{intent}", 0) * change
        for found, total in zip(objective.changes(np.zeros(len(qid)), pred, sizes), expected, strict=True):
            np.testing.assert_allclose(found, total, rtol=0, atol=1e-10)
        assert sum((np.abs(total) > 1e-6).sum() for total in expected) > 10


@pytest.mark.slow
@pytest.mark.every_case
@pytest.mark.parametrize("weights", ["uniform", "given"])
@pytest.mark.parametrize("inner", ["ERR", "TBG", "INST(max_rel=3)"])
def test_gradients_of_intents_are_sums_over_pairs(inner, weights):
    qid, docno, words, pred, sizes, qrels = rows_of_intents(7, queries=9)
    table = None if weights == "uniform" else random_weights(qrels)
    grades, _ = by_intent(qrels, table, qid, docno)
    if inner == "TBG":  # binary gains
        grades = [{intent: min(grade, 1) for intent, grade in of.items()} for of in grades]
    for pairs in ("all", "gain"):
        objective = LambdaMART(
            IntentAware(measure=inner, weights=table or "uniform"), truncation_level=4, norm=pairs == "all",
            pairs=pairs, qrels=qrels, qid=qid, docno=docno, doc_length=words,
        )  # fmt: skip
        assert_gradients_are_those_of_loops(objective, np.zeros(len(qid)), pred, sizes, grades)


def test_numbers_as_ids(tmp_path):
    (tmp_path / "qrels").write_text("1 a 7 1\n1 b 8 1\n")
    objective = LambdaMART(IntentAware(measure="RR"), qrels=tmp_path / "qrels", qid=[1, 1], docno=[7, 9])
    change = objective.changes([0, 0], [1, 2], [2])
    assert change[0][0, 1] == 0.5  # only the intents of the rows have users


def test_errors_of_intents():
    aware = IntentAware(measure="ERR")
    qrels = pd.DataFrame([("q", "a", 1, "x"), ("q", "b", 1, "y")], columns=COLUMNS)

    def changes(measure=aware, **known):
        known = {"qrels": qrels, "qid": ["q", "q"], "docno": ["a", "b"]} | known
        return LambdaMART(measure, **known).changes([0, 1], [0.0, 0.0], [2])

    refused(lambda: LambdaMART(aware), BadParameter, "reads the intents of the judgments: LambdaMART needs qrels=")
    refused(lambda: changes("ERR"), BadParameter, "qrels= are for intent-aware measures; the grades of ERR are the lab")
    refused(lambda: changes("IntentAware(measure='Bpref')"), BadParameter, "follows no user model")
    judged_only = 'IntentAware(measure="TBG(judged_only=True)")'
    refused(lambda: changes(judged_only), BadParameter, "does not remove or change rows", "without judged_only=")
    for name in ("qid", "docno"):
        refused(lambda: changes(**{name: None}), BadParameter, f"needs {name}=, one value per row")  # noqa: B023
        refused(lambda: changes(**{name: ["q"]}), BadParameter, f"{name} has 1 values, but there are 2")  # noqa: B023
    refused(lambda: changes(qid=["q", "r"]), BadParameter, "row 1 has another qid than the first row of its group")
    refused(lambda: changes(docno=["a", "a"]), BadParameter, "row 1: document 'a' occurs twice in query 'q'")
    refused(lambda: changes(docno=["x", "y"]), BadJudgments, "qrels= judge none of the rows")
    refused(lambda: changes(qrels=qrels.drop(columns="iteration")), BadJudgments, "have no column 'iteration'")
    refused(lambda: changes(IntentAware(measure="ERR", weights={"q": {"x": 1}})), BadJudgments, "'y' has no weight")
    refused(lambda: changes(IntentAware(measure="TBG")), MissingLength, "needs the length of every training row")
    ranker = GroupedRanker(objective="IntentAware(measure='ERR')")
    refused(lambda: ranker.fit(np.zeros((2, 1)), [0, 1], qid=["q", "q"]), BadParameter, "LambdaMART needs qrels=")
