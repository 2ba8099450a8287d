"""Tests of LearnedRanker: rankers trained on a measure in PyTerrier pipelines, with document lengths."""

import pickle

import lightgbm
import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from ir_measures import nDCG
from sklearn.exceptions import NotFittedError
from xgboost import XGBRanker

from pyterrier_cwla import TBG, demo
from pyterrier_cwla.errors import BadJudgments, BadParameter, MissingLength
from pyterrier_cwla.learning.lambdamart import LambdaMART
from pyterrier_cwla.learning.rankers import GroupedRanker
from pyterrier_cwla.pipelines.transformers import LearnedRanker
from tests.support.messages import refused

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:The argument .eval_set. is deprecated")]

COLLECTION = demo.collection(seed=4, documents=500, topics=24)
TOPICS, QRELS = COLLECTION.topics, COLLECTION.qrels
TRAIN, VALID, TEST = TOPICS[:12], TOPICS[12:18], TOPICS[18:]
INDEX = demo.Index.of(COLLECTION.documents)


class Features(pt.Transformer):
    """Transformer with three features: BM25 with and without length normalisation, and the log of the length."""

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        if not len(inp):
            return inp.assign(features=np.zeros((0, 0)).tolist())
        other = demo.BM25(INDEX, b=0.0)(inp[["qid", "query"]].drop_duplicates())[["qid", "docno", "score"]]
        other = inp[["qid", "docno"]].merge(other, on=["qid", "docno"], how="left")["score"]
        features = np.column_stack([inp["score"], other, np.log(inp["doc_length"])])
        return inp.assign(features=list(features))


CANDIDATES = (demo.BM25(INDEX) % 60) >> Features()
RESULTS = CANDIDATES(TRAIN)


def lgbm(**given):
    return lightgbm.LGBMRanker(**{"n_estimators": 30, "min_child_samples": 5, "verbosity": -1, "n_jobs": 1, **given})


def grouped(objective=TBG, **given):
    return GroupedRanker(lgbm(), objective=objective, **given)


def grades(results, qrels=QRELS):
    """Look up the grades by a loop, 0 for unjudged documents."""
    known = {(qid, docno): label for qid, docno, label in qrels[["qid", "docno", "label"]].itertuples(index=False)}
    return np.array([known.get(pair, 0) for pair in zip(results.qid, results.docno, strict=True)])


def value(pipeline, topics, measure=TBG):
    qrels = QRELS[QRELS.qid.isin(topics.qid)]
    return pt.Experiment([pipeline], topics, qrels, [measure], names=["it"])[str(measure)][0]


@pytest.mark.parametrize("measure", [nDCG @ 10, "CWLA(C='rr',A='err',gain='exponential',max_rel=3)"], ids=str)
def test_pt_ltr_learns_with_our_objective(measure):
    pipeline = CANDIDATES >> pt.ltr.apply_learned_model(lgbm(objective=LambdaMART(measure), metric="None"), form="ltr")
    pipeline.fit(TRAIN, QRELS, VALID, QRELS)
    rows = RESULTS.assign(label=grades(RESULTS)).sort_values("qid")  # in PyTerrier's order
    alone = lgbm(objective=LambdaMART(measure), metric="None")
    alone.fit(np.stack(rows.features), rows.label, group=rows.groupby("qid", sort=False).size())
    expected = alone.predict(np.stack(CANDIDATES(TEST).features))
    np.testing.assert_array_equal(pipeline(TEST).score, expected)
    assert len(set(expected)) > 10


@pytest.mark.parametrize("objective", [TBG, TBG(half_life=60), nDCG @ 5, None], ids=str)
def test_a_pipeline_is_fitted_as_its_ranker_is_on_arrays(objective):
    pipeline = CANDIDATES >> LearnedRanker(grouped(objective))
    pipeline.fit(TRAIN, QRELS)
    alone = grouped(objective).fit(np.stack(RESULTS.features), grades(RESULTS), qid=RESULTS.qid.to_numpy(),
                                   docno=RESULTS.docno.to_numpy(), doc_length=RESULTS.doc_length.to_numpy())  # fmt: skip
    found, test = pipeline(TEST), CANDIDATES(TEST)
    np.testing.assert_array_equal(found.score, alone.predict(np.stack(test.features)))
    assert found.docno.tolist() == test.docno.tolist()
    for _, ranking in found.groupby("qid"):
        assert sorted(ranking["rank"]) == list(range(len(ranking)))
        assert ranking.sort_values("rank").score.is_monotonic_decreasing


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_early_stopping_watches_what_an_experiment_finds(library):
    ranker = XGBRanker(n_estimators=100, n_jobs=1) if library == "xgboost" else lgbm(n_estimators=100)
    learned = LearnedRanker(GroupedRanker(ranker, objective=TBG, early_stopping_rounds=10))
    pipeline = CANDIDATES >> learned
    pipeline.fit(TRAIN, QRELS, VALID, QRELS)
    curve = learned.ranker.evals_result_["validation_0"]["TBG"]
    assert learned.ranker.best_iteration_ == np.argmax(curve) + 1 == len(curve) - 10
    written = 5e-7 if library == "xgboost" else 1e-12  # XGBoost returns values parsed from text with six digits
    assert value(pipeline, VALID) == pytest.approx(max(curve), rel=0, abs=written)
    assert set(pipeline(VALID).columns) == {*CANDIDATES(VALID).columns, "rank", "score"}


def test_the_order_of_the_rows_does_not_matter():
    one, other = (LearnedRanker(grouped()) for _ in range(2))
    one.fit(RESULTS, QRELS)
    other.fit(RESULTS.sample(frac=1, random_state=1), pd.concat([QRELS, QRELS]).sample(frac=1, random_state=2))
    test = CANDIDATES(TEST)
    np.testing.assert_array_equal(one(test).score, other(test).score)
    union = pt.Transformer.identity() ** pt.apply.doc_score(lambda row: row["doc_length"])
    pipeline = (demo.BM25(INDEX) % 20) >> union >> LearnedRanker(grouped())
    pipeline.fit(TRAIN[:6], QRELS)
    assert pipeline[-1].ranker.n_features_in_ == 2
    assert value(pipeline, TRAIN[:6]) > 0


def test_it_pickles_and_says_what_it_adds():
    learned, test = LearnedRanker(grouped()), CANDIDATES(TEST)
    with pytest.raises(pt.validate.InputValidationError, match="features"):
        learned.fit(RESULTS.drop(columns="features"), QRELS)
    with pytest.raises(NotFittedError):
        learned(test)
    assert pt.inspect.transformer_inputs(learned) == [["qid", "docno", "features"]]
    assert learned.fit(RESULTS, QRELS) is learned
    assert pickle.loads(pickle.dumps(learned))(test).equals(learned(test))
    assert learned == LearnedRanker(learned.ranker)
    assert hash(learned) == hash(LearnedRanker(learned.ranker))
    assert learned != LearnedRanker(grouped())  # another ranker may be fitted differently


def test_a_table_of_the_measure_takes_the_place_of_the_column():
    table = TBG(lengths=COLLECTION.documents.set_index("docno").doc_length)
    test = CANDIDATES(TEST)
    by_table = LearnedRanker(grouped(table)).fit(RESULTS.drop(columns="doc_length"), QRELS)(test)
    np.testing.assert_array_equal(by_table.score, LearnedRanker(grouped()).fit(RESULTS, QRELS)(test).score)
    refused(lambda: LearnedRanker(lightgbm.LGBMRanker()), BadParameter, "give GroupedRanker(…) of it")


@pytest.mark.parametrize("given, error, says", [
    ([RESULTS.drop(columns="doc_length"), QRELS], MissingLength, "no column doc_length: put pt.cwla.DocLength(…) before"),
    ([RESULTS, QRELS, RESULTS], BadParameter, "give qrels_va="),
    ([RESULTS, QRELS, RESULTS, QRELS[QRELS.qid.isin(TEST.qid)]], BadJudgments, "no validation result is judged"),
    ([RESULTS[:0], QRELS], BadParameter, "no training results"),
    ([RESULTS, QRELS.assign(qid="x" + QRELS.qid)], BadJudgments, "no training result is judged: the results are for the topics '1', '2', '3', …, the judgments for 'x1'"),
    ([RESULTS.astype({"qid": int}), QRELS], BadJudgments, "for the topics 1, 2, 3, …, the judgments for '1', '2', "),
    ([RESULTS, pd.concat([QRELS, QRELS[:1].assign(label=9)])], BadJudgments, "two different labels in the training"),
    ([RESULTS, QRELS.drop(columns="label")], BadJudgments, "training qrels have no column 'label'; there is 'qid', "),
])  # fmt: skip
@pytest.mark.every_case
def test_rows_that_cannot_be_learned_from(given, error, says):
    refused(lambda: LearnedRanker(grouped()).fit(*given), error, says)
