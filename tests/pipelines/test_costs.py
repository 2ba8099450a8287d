"""Tests of searches by measures and costs: the known front of a generated pipeline whose delays a clock has."""

import re
from itertools import product

import numpy as np
import optuna
import pandas as pd
import pyterrier as pt
import pytest
from ir_measures import AP, nDCG

from pyterrier_cwla import TBG, demo, evaluate
from pyterrier_cwla.errors import BadParameter
from pyterrier_cwla.evaluation.significance import intervals
from pyterrier_cwla.pipelines import Cost, KFoldOptunaSearch, OptunaSearch, Tuned, optuna_search
from tests.support.messages import refused

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:BruteForceSampler is exper")]

COLLECTION = demo.collection(seed=3, documents=200, topics=9)
TOPICS, QRELS = COLLECTION.topics, COLLECTION.qrels
RETRIEVED = demo.BM25(demo.Index.of(COLLECTION.documents))(TOPICS)
DEPTHS, WASTE = [2, 5, 10, 40], [0.0, 3.0]  # rows, and ms per topic that bring nothing
FIRST_STAGE = 7.0  # ms per topic


class Clock:
    """Seconds that pass only when a transformer spends them."""

    now = 0.0

    def __call__(self):
        return self.now


class Spends(pt.Transformer):
    """Transformer that keeps the first rows of each topic, and spends ms and tokens on each of them."""

    def __init__(self, clock, k, per_row=1.0, waste=0.0):
        self.clock, self.k, self.per_row, self.waste = clock, k, per_row, waste

    def transform(self, inp):
        kept = inp[inp["rank"] < self.k]
        self.clock.now += (self.per_row * len(kept) + self.waste * inp["qid"].nunique()) / 1000
        return kept.assign(doc_cost=2.5, tokens=kept["doc_length"])


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr(optuna_search, "perf_counter", found)
    return found


@pytest.fixture
def reranker(clock):
    return Spends(clock, 5)


@pytest.fixture
def pipeline(clock, reranker):
    return pt.Transformer.from_df(RETRIEVED) >> Spends(clock, 1000, per_row=0.0, waste=FIRST_STAGE) >> reranker


def searched(pipeline, reranker, metric, **given):
    params = {reranker: {"k": DEPTHS, "waste": WASTE}}
    given = {"trials": 30, "sampler": optuna.samplers.BruteForceSampler(seed=1), "verbose": False} | given
    return OptunaSearch(pipeline, params, TOPICS, QRELS, metric, **given)


def value(k, measure=TBG):
    cut = RETRIEVED[RETRIEVED["rank"] < k]
    return pt.Experiment([cut], TOPICS, QRELS[QRELS.qid.isin(TOPICS.qid)], [measure], names=["it"])[str(measure)][0]


def known_front(measure=TBG, at_most=np.inf, first_stage=FIRST_STAGE):
    """Return the settings of the front with value and ms, by loops, best first."""
    rows = {k: len(RETRIEVED[RETRIEVED["rank"] < k]) / len(TOPICS) for k in DEPTHS}
    all_settings = [(k, waste, value(k, measure), first_stage + rows[k] + waste) for k, waste in product(DEPTHS, WASTE)]
    within = [one for one in all_settings if one[3] <= at_most]
    beaten = [
        any(v >= one[2] and ms <= one[3] and (v, ms) != one[2:] for _, _, v, ms in within) for one in within
    ]  # fmt: skip
    return sorted((one for one, worse in zip(within, beaten, strict=True) if not worse), key=lambda one: -one[2])


@pytest.mark.parametrize("at_most", [np.inf, 20.0, 9.5])
@pytest.mark.parametrize("sampler", ["brute force", "default"])
def test_the_known_front_is_found_and_the_limit_is_kept(pipeline, reranker, at_most, sampler):
    cost = Cost("mrt", at_most=None if at_most == np.inf else at_most)
    more = {"sampler": None, "trials": 60} if sampler == "default" else {}
    tuned = searched(pipeline, reranker, [TBG, cost], **more)
    expected = known_front(at_most=at_most)
    assert len(expected) == {np.inf: 4, 20.0: 3, 9.5: 1}[at_most]
    front = tuned.front
    assert front.columns.tolist() == ["trial", "Spends.k", "Spends.waste", "TBG", "TBG low", "TBG high", "mrt"]
    assert front[["Spends.k", "Spends.waste"]].to_numpy().tolist() == [[k, waste] for k, waste, _, _ in expected]
    assert front[["TBG", "mrt"]].to_numpy() == pytest.approx(np.array([one[2:] for one in expected]), abs=1e-9)
    assert (reranker.k, reranker.waste) == expected[0][:2]
    assert tuned.value == pytest.approx(list(expected[0][2:]), abs=1e-9)
    assert tuned.value[1] <= at_most
    assert tuned.trials["mrt"].max() > 20
    over = [trial.constraints.get("mrt", 0) > 0 for trial in tuned.study.trials]
    assert over == (tuned.trials["mrt"] > at_most).tolist()


def test_intervals_are_those_of_the_bootstrap_over_topics(pipeline, reranker):
    tuned = searched(pipeline, reranker, [TBG, nDCG @ 10, Cost("mrt")])
    for _, row in tuned.front.iterrows():
        cut = RETRIEVED[RETRIEVED["rank"] < row["Spends.k"]]
        for measure in (TBG, nDCG @ 10):
            by_topic = pt.Experiment([cut], TOPICS, QRELS, [measure], names=["it"], perquery=True).sort_values("qid")
            low, high = intervals(by_topic["value"].to_numpy()[None], lambda means: means, 0.95, 10_000, 0)
            assert row[f"{measure} low"] == pytest.approx(low[0], abs=1e-9)
            assert row[f"{measure} high"] == pytest.approx(high[0], abs=1e-9)
            assert low[0] < row[str(measure)] < high[0]
    one_topic = {"topics": TOPICS[:1], "qrels": QRELS, "metric": [TBG, Cost("mrt")], "trials": 3, "verbose": False}
    found = OptunaSearch(pipeline, {reranker: {"k": DEPTHS}}, **one_topic).front
    assert found["TBG low"].isna().all()


def rows_found(pipeline, results):
    """Return the number of results, and check that the pipeline has the parameters of the trial."""
    assert len(results) == len(RETRIEVED[RETRIEVED["rank"] < list(pipeline)[-1].k])
    return len(results)


def test_costs_are_columns_rows_of_a_transformer_or_values_of_a_function(pipeline, reranker, clock):
    last = Spends(clock, 3)
    costs = [Cost("tokens"), Cost("doc_cost", label="units"), Cost(last), Cost(rows_found)]
    tuned = searched(pipeline >> last, reranker, [TBG, *costs[:3]])
    assert tuned.trials.columns.tolist()[1:5] == ["TBG", "tokens", "units", "rows of Spends"]
    n = len(TOPICS)
    for _, row in tuned.trials.iterrows():
        received = RETRIEVED[RETRIEVED["rank"] < row["Spends.k"]]
        found = received[received["rank"] < 3]
        assert row["tokens"] == pytest.approx(found["doc_length"].sum() / n)
        assert row["units"] == pytest.approx(2.5 * len(found) / n)
        assert row["rows of Spends"] == len(received) / n
    assert "transform" not in vars(last)
    tuned = searched(pipeline, reranker, {"gain": TBG, "found": costs[3]})
    assert tuned.trials.columns.tolist()[1:3] == ["gain", "found"]
    assert str(costs[3]) == "rows_found"
    # Rows of a stage that runs once, before the tuned one.
    first = list(pipeline)[1]
    tuned = searched(pipeline, reranker, [TBG, Cost(first), Cost(reranker, label="also")])
    assert set(tuned.trials["rows of Spends"]) == set(tuned.trials["also"]) == {len(RETRIEVED) / n}


def test_folds_have_their_own_fronts(pipeline, reranker):
    folds = [TOPICS[:4], TOPICS[4:]]
    params = {reranker: {"k": DEPTHS}}
    metric = [TBG, Cost("mrt", at_most=20)]
    results, found = KFoldOptunaSearch(pipeline, params, folds, QRELS, metric, trials=12, verbose=False)
    assert set(results["qid"]) == set(TOPICS["qid"])
    for tuned in found:
        assert isinstance(tuned, Tuned)
        assert tuned.front["mrt"].max() <= 20
    assert reranker.k == 5


def test_the_front_is_shown_as_table_and_picture(pipeline, reranker, tmp_path):
    tuned = searched(pipeline, reranker, [TBG, Cost("mrt", at_most=20)])
    page = tuned._repr_html_()
    assert "3 settings on the Pareto front" in page
    for _, row in tuned.front.iterrows():
        assert all(f"{row[name]:.4g}" in page for name in ("TBG", "TBG low", "TBG high", "mrt"))
    assert re.search(r'aria-label="Pareto front: TBG from [\d.]+ to [\d.]+ and mrt from 9 to 17', page)
    ax = tuned.plot_front(path=tmp_path / "front.svg")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("mrt (ms per topic)", "TBG")
    assert ax.get_title(loc="left").replace("\n", " ") == (
        "3 settings of 8 trials on the Pareto front, with 95 % intervals over topics, and the limit (dotted)"
    )
    grey, front, limit = (line.get_xdata() for line in ax.lines)
    assert sorted(grey) == sorted(tuned.trials["mrt"])
    assert list(front) == sorted(tuned.front["mrt"])
    assert list(limit) == [20, 20]
    assert "<svg" in (tmp_path / "front.svg").read_text()
    assert sorted(text.get_text() for text in ax.texts) == sorted(map(str, tuned.front["trial"]))
    alone = searched(pipeline, reranker, TBG)
    assert set(alone.front["TBG"]) == {alone.value}
    refused(alone.plot_front, BadParameter, "has no front: give several measures, or a Cost")


@pytest.mark.parametrize(("metric", "says"), [
    ([TBG, Cost("cost_of_doc")], "the results have no column 'cost_of_doc' for Cost('cost_of_doc'): "),
    ([TBG, Cost(lambda *_: np.nan, label="odd")], "the cost 'odd' of the results is nan"),
    ([TBG, Cost("docno")], "the cost 'docno' of the results is no number: could not convert string to float: 'd"),
    ([TBG, Cost(lambda *_: None, label="none")], "the cost 'none' of the results is no number"),
    ([TBG, Cost("mrt", at_most=1.5)], "none of 8 trials is within the limits. The lowest: mrt 9."),
    ([Cost("mrt")], "there is no measure beside the costs"), (Cost("mrt"), "there is no measure beside the costs"),
    ([TBG, Cost("mrt"), Cost("mrt", at_most=3)], "the table of trials has another column 'mrt'. Give the measure or"),
    ([TBG, Cost("x", label="seconds")], "the table of trials has another column 'seconds'"),
    ([TBG, Cost(pt.RankCutoff(3))], "is not in the pipeline"),
])  # fmt: skip
def test_costs_that_cannot_be_counted(pipeline, reranker, metric, says):
    refused(lambda: searched(pipeline, reranker, metric), BadParameter, says)
    assert (reranker.k, reranker.waste) == (5, 0.0)


def test_costs_refuse_other_things(pipeline, reranker):
    refused(lambda: Cost(3), BadParameter, 'of=3 must be "mrt", a column of the results, a transformer or a function')
    refused(lambda: Cost("mrt", at_most="50"), BadParameter, "at_most='50' must be a finite number")
    for cost in (Cost("mrt"), Cost(reranker)):
        refused(lambda: searched(pipeline, reranker, [AP, cost], jobs=2), BadParameter, "jobs=2 with several processes")  # noqa: B023
    pruner = optuna.pruners.MedianPruner()
    refused(lambda: searched(pipeline, reranker, [AP, Cost("mrt")], pruner=pruner), BadParameter, "there are 2")
    missing = pipeline >> pt.apply.generic(lambda found: found.assign(doc_cost=[np.nan, *found["doc_cost"][1:]]))
    refused(
        lambda: searched(missing, reranker, [AP, Cost("doc_cost")]), BadParameter, "'doc_cost' of the results is nan"
    )


def test_intervals_are_over_the_topics_that_a_mean_is_of(pipeline, reranker):
    """Accuracy has no value for topics without a relevant or another document."""
    front = searched(pipeline, reranker, ["Accuracy", Cost("tokens")]).front
    counts = set()
    for _, row in front.iterrows():
        cut = RETRIEVED[RETRIEVED["rank"] < row["Spends.k"]]
        values = evaluate(QRELS[QRELS.qid.isin(TOPICS.qid)], cut, ["Accuracy"], by_query=True)["Accuracy"].dropna()
        assert row["Accuracy"] == pytest.approx(values.mean())
        low, high = intervals(values.to_numpy()[None], lambda means: means, 0.95, 10_000, 0)
        assert row[["Accuracy low", "Accuracy high"]].tolist() == pytest.approx([low[0], high[0]])
        counts.add(len(values))
    assert len(counts) > 1


def test_a_stage_is_counted_but_not_the_whole_pipeline(pipeline, reranker):
    says = "the cost 'rows of Compose' is that of the whole pipeline. Give a stage of it."
    refused(lambda: searched(pipeline, reranker, [AP, Cost(pipeline)]), BadParameter, says)


def test_trials_that_a_stage_prunes_have_no_values(pipeline, reranker):
    def pruned(found):
        if reranker.k == 5:
            raise optuna.TrialPruned
        return found

    tuned = searched(pipeline >> pt.apply.generic(pruned), reranker, [TBG, Cost("tokens")])
    assert tuned.study.trials[0].state.name == "PRUNED"
    trials = tuned.trials.set_index("Spends.k")[["TBG", "tokens"]]
    assert trials.loc[5].isna().all(axis=None)
    assert trials.drop(5).notna().all(axis=None)
    assert set(tuned.front["Spends.k"]) == {2, 10, 40}
    assert tuned.front["TBG low"].notna().all()
    assert "of them pruned" in tuned._repr_html_()


def test_time_of_experiments_is_the_same_kind_of_time(pipeline, reranker, monkeypatch):
    """pt.Experiment and the search both report ms per topic."""
    monkeypatch.undo()
    sleeping = pt.Transformer.from_df(RETRIEVED) >> pt.apply.generic(slept) >> pt.RankCutoff(3)
    cut = list(sleeping)[-1]
    tuned = OptunaSearch(sleeping, {cut: {"k": [3]}}, TOPICS, QRELS, [AP, Cost("mrt")], trials=1, verbose=False)
    experiment = pt.Experiment([sleeping], TOPICS, QRELS, [AP, "mrt"])["mrt"][0]
    least = 1000 * 0.2 / len(TOPICS)
    assert least < tuned.value[1] < 20 * least
    assert least < experiment < 20 * least


def slept(inp: pd.DataFrame) -> pd.DataFrame:
    import time

    time.sleep(0.2)
    return inp
