"""LambdaMART of intent-aware measures: ΔM against rescoring, gradients against loops, and training."""

import math
import pickle
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from pyterrier_cwla import IntentAware, evaluate
from pyterrier_cwla.errors import BadJudgments, BadParameter, MissingLength
from pyterrier_cwla.learning.lambdamart import LambdaMART
from pyterrier_cwla.learning.rankers import GroupedRanker
from pyterrier_cwla.measures.named import measures_of
from tests.measures.test_intents import given
from tests.support.messages import refused

COLUMNS = ["query_id", "doc_id", "relevance", "iteration"]


def rows(seed, queries=6, most=7, intents=3):
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


def rescored(measure, qrels, qid, docno, words, order):
    """Return the score by `evaluate` of one query, whose rows are in this order."""
    query = qid[order[0]]
    run = pd.DataFrame({"query_id": query, "doc_id": docno[order], "score": -np.arange(len(order), dtype=float)})
    judged = qrels[qrels.doc_id.isin(docno)]
    if not (judged.query_id == query).any():
        return 0.0
    scores = evaluate(judged, run.assign(doc_length=words[order]), [measure], by_query=True)
    return float(scores.droplevel("run").loc[query].iloc[0])


INNER = [
    "ERR", "nDCG@3", "AP", "TBG", "TBG(norm='ideal')@4", "RBP(p=0.5,rel=1)", "INST(max_rel=3)", "RR",
    "CWLA(C='rbp(0.8)',A='max',max_rel=3)", "CWLA(C='inst(1)',A='fgt(0.5)',max_rel=3)", "UMeasure(T=30,max_rel=3,effort='ratio(4)')",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pyterrier_cwla.errors.CWLAWarning")
@pytest.mark.parametrize("weights", ["uniform", "given"])
@pytest.mark.parametrize("inner", INNER)
def test_a_swap_changes_the_score_as_rescoring_says(inner, weights):
    qid, docno, words, pred, sizes, qrels = rows(len(inner))
    measure = IntentAware(measure=inner, weights="uniform" if weights == "uniform" else given(qrels))
    objective = LambdaMART(measure, qrels=qrels, qid=qid, docno=docno, doc_length=words)
    found = objective.changes(np.zeros(len(qid)), pred, sizes)
    (alone,) = measures_of([inner])
    if inner.startswith("TBG"):
        measure = measure(measure=alone(lengths=dict(zip(docno, words.tolist(), strict=True))))
    start, moved = 0, 0
    for n, changes in zip(sizes, found, strict=True):
        order = start + np.argsort(-pred[start : start + n], kind="stable")
        before = rescored(measure, qrels, qid, docno, words, order)
        for a, b in combinations(range(n), 2):
            other = order.copy()
            other[[a, b]] = other[[b, a]]
            change = rescored(measure, qrels, qid, docno, words, other) - before
            x, y = order[a] - start, order[b] - start
            assert changes[x, y] == changes[y, x] == pytest.approx(change, abs=1e-10)
            moved += abs(change) > 1e-6
        start += n
    assert moved > 5


def grades_of(qrels, weights, qid, docno):
    """Return a dict of the grades of each row by intent, for intents that have users."""
    table = qrels[qrels.doc_id.isin(docno)].set_index(["query_id", "doc_id", "iteration"]).relevance
    relevant = table[table > 0].reset_index().groupby("query_id").iteration.unique().to_dict()
    shares = weights or {query: {one: 1 / len(names) for one in names} for query, names in relevant.items()}
    return [
        {intent: max(table.get((query, document, intent), 0), 0) for intent, p in shares.get(query, {}).items() if p}
        for query, document in zip(qid, docno)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("pairs", ["all", "gain"])
@pytest.mark.parametrize("weights", ["uniform", "given"])
@pytest.mark.parametrize("inner", ["ERR", "TBG", "INST(max_rel=3)"])
def test_gradients_are_sums_over_pairs(inner, weights, pairs):
    qid, docno, words, pred, sizes, qrels = rows(7, queries=9)
    table = None if weights == "uniform" else given(qrels)
    measure = IntentAware(measure=inner, weights=table or "uniform")
    known = {"qrels": qrels, "qid": qid, "docno": docno, "doc_length": words}
    objective = LambdaMART(measure, truncation_level=4, norm=False, pairs=pairs, **known)
    changes = objective.changes(np.zeros(len(qid)), pred, sizes)
    grades = grades_of(qrels, table, qid, docno)
    if inner == "TBG":  # binary gains
        grades = [{intent: min(grade, 1) for intent, grade in of.items()} for of in grades]
    expected, start = np.zeros(len(qid)), 0
    for n, change in zip(sizes, changes, strict=True):
        order = start + np.argsort(-pred[start : start + n], kind="stable")
        for rank, upper in enumerate(order[:4]):
            for lower in order[rank + 1 :]:
                up, low, moved = grades[upper], grades[lower], change[upper - start, lower - start]
                if pairs == "gain" and up == low:
                    continue
                more, less = any(low[t] > up[t] for t in up), any(low[t] < up[t] for t in up)
                swap = moved > 0 if more == less else more
                better, worse = (lower, upper) if swap else (upper, lower)
                force = abs(moved) / (1 + math.exp(pred[better] - pred[worse]))
                expected[better] -= force
                expected[worse] += force
        start += n
    np.testing.assert_allclose(objective.gradients(np.zeros(len(qid)), pred, sizes)[0], expected, rtol=2e-5, atol=2e-6)
    assert np.abs(expected).max() > 1e-3


@pytest.mark.parametrize("inner", ["ERR", "nDCG@3", "TBG", "AP", "CWLA(C='inst(1)',A='erg',max_rel=3)"])
def test_one_intent_is_the_measure_itself(inner):
    qid, docno, words, pred, sizes, _ = rows(3, queries=12)
    y = np.random.default_rng(0).choice([0, 1, 2, 3], len(qid))
    y[np.isin(qid, ["q1", "q2"])] = 1
    qrels = pd.DataFrame({"query_id": qid, "doc_id": docno, "relevance": y, "iteration": "0"})
    known = {"docno": docno, "doc_length": words}
    plain = LambdaMART(inner, **known).gradients(y, pred, sizes)
    aware = LambdaMART(IntentAware(measure=inner), qrels=qrels, qid=qid, **known).gradients(y, pred, sizes)
    for one, other in zip(plain, aware, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def training(seed=0, queries=40, n=12):
    """Return features, query, document, highest grade and judgments; each intent has a feature of its own."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(queries * n, 3))
    qid, docno = np.repeat(np.arange(queries), n).astype(str), np.arange(queries * n).astype(str)
    grades = (X[:, :2] + 0.3 * rng.normal(size=(len(X), 2)) > 1).astype(int)
    judged = [(qid[row], docno[row], grades[row, t], str(t)) for row in range(len(X)) for t in (0, 1)]
    return X, qid, docno, grades.max(axis=1), pd.DataFrame(judged, columns=COLUMNS)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["lightgbm", "xgboost"])
def test_training_raises_the_measure(kind):
    library = pytest.importorskip(kind)
    X, qid, docno, y, qrels = training()
    if kind == "lightgbm":
        ranker = library.LGBMRanker(n_estimators=20, min_child_samples=5, n_jobs=1, verbosity=-1)
    else:
        ranker = library.XGBRanker(n_estimators=20, n_jobs=1)
    users = {query: {"0": 0.9, "1": 0.1} for query in set(qid)}
    measure = IntentAware(measure="RR", weights=users)
    mixed = np.random.default_rng(1).permutation(len(X))
    trained = GroupedRanker(ranker, objective=LambdaMART(measure, qrels=qrels))
    trained.fit(X[mixed], y[mixed], qid=qid[mixed], docno=docno[mixed])
    X_, qid_, docno_, _, qrels_ = training(seed=1)

    def value(scores):
        run = pd.DataFrame({"query_id": qid_, "doc_id": docno_, "score": scores})
        return evaluate(qrels_, run, [measure]).iloc[0, 0]

    pred = trained.predict(X_)
    assert value(pred) > 1.5 * value(X_[:, 2])
    assert value(pred) > value(X_[:, 0] + X_[:, 1])  # most users have the first intent
    others = [f"other {query}" for query in qid_]
    assert trained.score(X_, training(seed=1)[3], qid=others, docno=docno_) > 0.5  # nDCG of the labels


def test_an_objective_travels():
    qid, docno, _words, pred, sizes, qrels = rows(2)
    objective = LambdaMART(IntentAware(measure="ERR"), qrels=qrels, qid=qid, docno=docno)
    found = objective.gradients(np.zeros(len(qid)), pred, sizes)
    again = pickle.loads(pickle.dumps(objective)).gradients(np.zeros(len(qid)), pred, sizes)
    np.testing.assert_array_equal(found, again)
    assert repr(objective) == "LambdaMART(\"IntentAware(measure='ERR')\")"
    bound = LambdaMART(IntentAware(measure="ERR"), qrels=qrels).bound(docno=docno, qid=qid)
    np.testing.assert_array_equal(found, bound.gradients(np.zeros(len(qid)), pred, sizes))


def test_numbers_as_ids():
    qrels = pd.DataFrame([("1", "7", 1, "a"), ("1", "8", 1, "b")], columns=COLUMNS)
    change = LambdaMART(IntentAware(measure="RR"), qrels=qrels, qid=[1, 1], docno=[7, 9]).changes([0, 0], [1, 2], [2])
    assert change[0][0, 1] == 0.5  # only the intents of the rows have users


def test_errors():
    aware = IntentAware(measure="ERR")
    qrels = pd.DataFrame([("q", "a", 1, "x"), ("q", "b", 1, "y")], columns=COLUMNS)

    def changes(measure=aware, sizes=(2,), **known):
        known = {"qrels": qrels, "qid": ["q", "q"], "docno": ["a", "b"]} | known
        return LambdaMART(measure, **known).changes([0, 1], [0.0, 0.0], list(sizes))

    refused(lambda: LambdaMART(aware), BadParameter, "reads the intents of the judgments: LambdaMART needs qrels=")
    with pytest.raises(BadParameter, match=r"qrels= are for intent-aware measures; the grades of ERR are the labels"):
        LambdaMART("ERR", qrels=qrels)
    refused(lambda: LambdaMART("IntentAware(measure='Bpref')", qrels=qrels), BadParameter, "follows no user model")
    with pytest.raises(BadParameter, match=r"does not remove or change rows.*without judged_only="):
        LambdaMART('IntentAware(measure="TBG(judged_only=True)")', qrels=qrels)
    for name in ("qid", "docno"):
        with pytest.raises(BadParameter, match=rf"needs {name}=, one value per row"):
            changes(**{name: None})
        with pytest.raises(BadParameter, match=rf"{name} has 1 values, but there are 2 rows"):
            changes(**{name: ["q"]})
    refused(lambda: changes(qid=["q", "r"]), BadParameter, "row 1 has another qid than the first row of its group")
    refused(lambda: changes(docno=["a", "a"]), BadParameter, "row 1: document 'a' occurs twice in query 'q'")
    refused(lambda: changes(docno=["x", "y"]), BadJudgments, "qrels= judge none of the rows")
    refused(lambda: changes(qrels=qrels.drop(columns="iteration")), BadJudgments, "have no column 'iteration'")
    refused(lambda: changes(IntentAware(measure="ERR", weights={"q": {"x": 1}})), BadJudgments, "'y' has no weight")
    refused(lambda: changes(IntentAware(measure="TBG")), MissingLength, "needs the length of every training row")
    own = "the objective has its own doc_length, docno or qid"
    bound = LambdaMART(aware, qrels=qrels, qid=["q", "q"])
    for objective, words in (("IntentAware(measure='ERR')", "LambdaMART needs qrels="), (bound, own)):
        with pytest.raises(BadParameter, match=words):
            GroupedRanker(objective=objective).fit(np.zeros((2, 1)), [0, 1], qid=["q", "q"])
