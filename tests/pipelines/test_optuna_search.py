"""Tests of tuning pipelines for time-biased gain: by PyTerrier's grid searches and by Optuna studies."""

import re
import sys

import numpy as np
import optuna
import pandas as pd
import pyterrier as pt
import pytest
from ir_measures import AP, SetP, nDCG

from pyterrier_cwla import TBG, demo, register_lengths
from pyterrier_cwla.errors import BadJudgments, BadParameter, CWLAError, MissingLength, UnknownSpec
from pyterrier_cwla.pipelines.optuna_search import KFoldOptunaSearch, OptunaSearch
from tests.support.messages import refused

IGNORED = ("ignore:The inplace keyword", "ignore:.*topic.s. not found in qrels", "ignore:BruteForceSampler is exper")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings(*IGNORED)]

COLLECTION = demo.collection(seed=3, documents=200, topics=9)
TOPICS, QRELS = COLLECTION.topics, COLLECTION.qrels
INDEX = demo.Index.of(COLLECTION.documents)
RETRIEVED = pt.Transformer.from_df(demo.BM25(INDEX)(TOPICS))
FOLDS = [TOPICS[:3], TOPICS[3:5], TOPICS[5:]]
B = [0.0, 0.3, 0.75, 1.0]
register_lengths("of_the_tuned", COLLECTION.documents.set_index("docno").doc_length)
BY_TABLE = TBG(lengths="of_the_tuned")


class WithoutLengths(pt.Transformer):
    """Transformer that removes the lengths from a ranking."""

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        return inp.drop(columns="doc_length")


class Counted(pt.Transformer):
    """Transformer that returns its input and counts its calls."""

    calls = 0

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        self.calls += 1
        return inp


class Failing(pt.Transformer):
    """Transformer that fails if its level is above 0.5."""

    def __init__(self):
        self.level = 0.0

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        if self.level > 0.5:
            raise RuntimeError("too high")
        return inp


@pytest.fixture
def bm25():
    return demo.BM25(INDEX)


def expected(pipeline, measure=TBG, topics=TOPICS):
    """Return the value by pt.Experiment, over the judged topics among the given ones."""
    qrels = QRELS[QRELS.qid.isin(topics.qid)]
    return pt.Experiment([pipeline], topics, qrels, [measure], names=["it"])[str(measure)][0]


def best_b(topics, measure=TBG):
    """Find the best value of the grid, by a loop."""
    values = {b: expected(demo.BM25(INDEX, b=b), measure, topics) for b in B}
    return max(values, key=values.__getitem__), max(values.values())


def quiet(pipeline, params, topics=TOPICS, qrels=QRELS, metric=TBG, **given):
    return OptunaSearch(pipeline, params, topics, qrels, metric, **{"trials": 8, "verbose": False, **given})


@pytest.mark.parametrize("measure", [TBG, BY_TABLE], ids=["column", "table"])
def test_grid_searches_in_folds_retrieve_by_the_other_folds(bm25, measure):
    pipeline = bm25 if measure == TBG else bm25 >> WithoutLengths()
    results, settings = pt.KFoldGridSearch(pipeline, {bm25: {"b": B}}, FOLDS, QRELS, measure)
    parts = []
    for fold, setting in zip(FOLDS, settings, strict=True):
        b, _ = best_b(TOPICS[~TOPICS.qid.isin(fold.qid)], measure)
        assert setting[0][2] == b
        parts.append(demo.BM25(INDEX, b=b)(fold))
    assert results.docno.tolist() == pd.concat(parts).docno.tolist()
    assert bm25.b == 0.75


@pytest.mark.parametrize("measure", [TBG, BY_TABLE, AP @ 5, SetP], ids=str)
def test_each_trial_has_the_value_that_an_experiment_finds(bm25, measure):
    pipeline = bm25 >> WithoutLengths() if measure == BY_TABLE else bm25
    tuned = quiet(pipeline, {bm25: {"b": (0.0, 1.0), "k1": [0.9, 1.2]}}, metric=measure)
    assert tuned.trials.columns.tolist() == ["trial", str(measure), "BM25.b", "BM25.k1", "seconds"]
    assert len(tuned.trials) == 8
    for _, row in tuned.trials.iterrows():
        found = expected(demo.BM25(INDEX, b=row["BM25.b"], k1=row["BM25.k1"]), measure)
        assert row[str(measure)] == pytest.approx(found, abs=1e-9)


def test_the_pipeline_starts_at_present_and_gets_the_best_values(bm25):
    bm25.b = 0.25
    present = expected(bm25)
    tuned = quiet(bm25, {bm25: {"b": (0.0, 1.0)}})
    assert tuned.trials["BM25.b"][0] == 0.25
    assert tuned.trials["TBG"][0] == pytest.approx(present, abs=1e-12)
    prefer = demo.PreferShort()
    pipeline = (bm25 % 50) >> prefer
    tuned = quiet(pipeline, {bm25: {"b": (0.0, 1.0)}, prefer: {"strength": (0.0, 0.5)}})
    assert tuned.pipeline is pipeline
    assert tuned.value == tuned.trials["TBG"].max() == pytest.approx(expected(pipeline), abs=1e-12)
    best = tuned.trials.iloc[tuned.trials["TBG"].argmax()]
    assert tuned.setting == [(bm25, "b", best["BM25.b"]), (prefer, "strength", best["PreferShort.strength"])]
    assert (bm25.b, prefer.strength) == (best["BM25.b"], best["PreferShort.strength"])


@pytest.mark.parametrize("space", [(0.5, 1.0), [0.5, 0.75], optuna.distributions.FloatDistribution(0.1, 0.9, step=0.4)])
def test_values_out_of_the_space_are_not_tried(bm25, space):
    bm25.b = 0.25
    low, high = (space.low, space.high) if hasattr(space, "low") else (min(space), max(space))
    assert quiet(bm25, {bm25: {"b": space}}).trials["BM25.b"].between(low, high).all()


def test_seeds_decide_and_processes_change_nothing():
    def of(**given):
        prefer = demo.PreferShort()
        tuned = quiet(RETRIEVED >> prefer, {prefer: {"strength": (0.0, 2.0)}}, trials=14, **given)
        return tuned.trials.drop(columns="seconds")

    pd.testing.assert_frame_equal(of(seed=1), of(seed=1))
    assert not of(seed=1).equals(of(seed=2))
    # PyTerrier's own searches with jobs=2 return a pipeline whose parameters are not set.
    found = []
    for jobs in (1, 2):
        bm25 = demo.BM25(INDEX)
        found.append(quiet(bm25, {bm25: {"b": (0.0, 1.0)}}, jobs=jobs))
        assert bm25.b == found[-1].setting[0][2]
    one, two = (tuned.trials.drop(columns="seconds") for tuned in found)
    pd.testing.assert_frame_equal(one, two, rtol=0, atol=1e-12)


@pytest.mark.parametrize("present, space, kind", [
    (0.75, (0, 1), float), (10, (5, 20), int), (10, (5.0, 20.0), float), (None, (5, 20), int), (None, (0.5, 2), float),
    ("a", ["a", "b"], str), (0.5, np.linspace(0, 1, 3), float),
    (2.0, optuna.distributions.FloatDistribution(1, 8, log=True), float),
    (4, optuna.distributions.IntDistribution(2, 8, step=2), int),
    (np.float64(0.5), [np.float64(0.5), np.float64(1)], float),
])  # fmt: skip
def test_what_a_parameter_may_be(present, space, kind):
    failing = Failing()
    failing.setting = present
    tuned = quiet(RETRIEVED >> failing, {failing: {"setting": space}}, trials=12)
    tried = tuned.trials["Failing.setting"]
    assert all(type(value) is kind for value in [*tried.tolist(), tuned.setting[0][2]])
    if isinstance(space, tuple):
        assert tried.between(*space).all()
    elif hasattr(space, "low"):
        assert tried.between(space.low, space.high).all()
        assert not space.step or (tried % space.step == 0).all()
    assert len(set(tried)) > 1


def test_transformers_of_one_class_or_inside_another_are_tuned(bm25):
    """PyTerrier's GridScan treats equal cutoffs as one transformer and loses the settings of one of them."""
    first, last = pt.RankCutoff(30), pt.RankCutoff(10)
    pipeline = bm25 >> first >> demo.PreferShort() >> last
    sampler = optuna.samplers.BruteForceSampler(seed=0)
    tuned = quiet(pipeline, {first: {"k": [10, 30]}, last: {"k": [10, 30]}}, sampler=sampler)
    assert sorted(zip(tuned.trials["RankCutoff.k"], tuned.trials["RankCutoff.k 2"], strict=True)) == [
        (10, 10), (10, 30), (30, 10), (30, 30),
    ]  # fmt: skip
    prefer = demo.PreferShort()
    linear = bm25 + ((demo.BM25(INDEX) >> prefer) * 0.5)
    tuned = quiet(linear, {prefer: {"strength": (0.0, 1.0)}})
    assert tuned.trials["TBG"].nunique() > 1
    assert tuned.value == pytest.approx(expected(linear), abs=1e-12)


def test_what_comes_before_the_tuned_runs_once(bm25):
    counted, prefer = Counted(), demo.PreferShort()
    tuned = quiet(bm25 >> counted >> prefer, {prefer: {"strength": (0.0, 1.0)}})
    assert counted.calls == 1
    for strength, value in zip(tuned.trials["PreferShort.strength"], tuned.trials["TBG"], strict=True):
        assert value == pytest.approx(expected(bm25 >> demo.PreferShort(strength)), abs=1e-12)
    counted.calls = 0
    quiet(bm25 >> counted >> prefer, {bm25: {"b": B}})
    assert counted.calls == 8


def test_several_measures_trade_off(bm25):
    prefer = demo.PreferShort()
    params = {prefer: {"strength": (0.0, 1.0)}}
    tuned = quiet(bm25 >> prefer, params, metric=[nDCG @ 10, TBG(half_life=30), "map"], trials=15)
    values = tuned.trials[["nDCG@10", "TBG(half_life=30)", "AP"]].to_numpy()
    better = (values[:, None] >= values).all(2) & (values[:, None] > values).any(2)
    front = {trial.number for trial in tuned.study.best_trials}
    assert front == set(np.flatnonzero(~better.any(0)))
    best = max(front, key=lambda number: values[number, 0])
    assert tuned.value == values[best].tolist()
    assert tuned.value[0] == values[:, 0].max()
    assert prefer.strength == tuned.trials["PreferShort.strength"][best]


@pytest.mark.parametrize("given", ["topics", "results"])
def test_a_pruner_sees_fifths_of_the_topics_and_spares_the_others(bm25, given):
    asked = []
    watch = pt.apply.generic(lambda inp: asked.append(inp.qid.unique().tolist()) or inp)
    prefer = demo.PreferShort(0.4)
    if given == "results":  # the results of the stages before the tuned transformer, computed once
        pipeline, params = bm25 >> prefer >> watch, {}
    else:
        pipeline, params = watch >> bm25 >> prefer, {watch: {"verbose": [False]}}
    params |= {prefer: {"strength": (0.0, 2.0)}}
    tuned = quiet(pipeline, params, trials=15, pruner=optuna.pruners.MedianPruner(n_startup_trials=3))
    fifths = [TOPICS.qid[start : start + 2].tolist() for start in range(0, 9, 2)]
    expected_asked = []
    for trial, (_, row) in zip(tuned.study.trials, tuned.trials.iterrows(), strict=True):
        pruned = trial.state.name == "PRUNED"
        run = (bm25 >> demo.PreferShort(row["PreferShort.strength"]))(TOPICS)
        parts = [run[run.qid.isin(TOPICS.qid[: 2 * step])] for step in range(1, 6)]
        reported = {step: expected(parts[step - 1]) for step in trial.intermediate_values}
        assert trial.intermediate_values == pytest.approx(reported, abs=1e-12)
        assert list(reported) == list(range(1, len(reported) + 1)) if pruned else list(reported) == [1, 2, 3, 4]
        assert row["TBG"] == pytest.approx(np.nan if pruned else expected(run), abs=1e-12, nan_ok=True)
        expected_asked += fifths[: len(reported) if pruned else 5]
    assert asked == expected_asked
    assert 0 < tuned.trials["TBG"].isna().sum() < 12
    assert tuned.value == tuned.trials["TBG"].max()


def test_only_judged_topics_and_default_lengths_count(bm25):
    judged = QRELS[QRELS.qid.isin(TOPICS.qid[:4])]
    params = {bm25: {"b": [0.75]}}
    with pytest.warns(UserWarning, match="5 of 9 topics are not judged, and left out: '5', '6', '7', …"):
        tuned = quiet(bm25, params, qrels=judged, trials=1)
    assert tuned.value == pytest.approx(expected(bm25, topics=TOPICS[:4]), abs=1e-12)
    # PyTerrier's searches take the mean over all judged queries, including those that are not among the topics.
    tuned = quiet(bm25, {bm25: {"b": [0.75]}}, topics=TOPICS[:4], trials=1)
    assert tuned.value == pytest.approx(expected(bm25, topics=TOPICS[:4]), abs=1e-12)
    # Runs have no lengths; the default is the table that BY_TABLE names.
    found = []
    register_lengths("of_the_tuned")
    for metric in (BY_TABLE, "tbg"):
        bm25 = demo.BM25(INDEX)
        found.append(quiet(bm25 >> WithoutLengths(), {bm25: {"b": [0.0, 0.5, 1.0]}}, metric=metric))
    assert found[0].value == found[1].value
    register_lengths(None)
    refused(lambda: quiet(bm25 >> WithoutLengths(), {bm25: {"b": [0.0, 1.0]}}, metric="tbg"), MissingLength)


@pytest.mark.parametrize("pruner", [None, optuna.pruners.MedianPruner()])
def test_what_retrieves_nothing_has_the_value_0(pruner):
    prefer = demo.PreferShort()
    nothing = RETRIEVED >> pt.apply.generic(lambda results: results[:0]) >> prefer
    with pytest.warns(UserWarning, match="no query in common"):
        assert quiet(nothing, {prefer: {"strength": [0.0, 1.0]}}, pruner=pruner).value == 0


def test_folds_are_tuned_without_themselves(capsys):
    prefer = demo.PreferShort(0.2)
    given = {"trials": 10, "seed": 5, "verbose": False}
    params = {prefer: {"strength": (0.0, 0.4)}}
    results, found = KFoldOptunaSearch(RETRIEVED >> prefer, params, FOLDS, QRELS, TBG, **given)
    assert prefer.strength == 0.2
    assert capsys.readouterr().err == ""
    parts = []
    for fold, tuned in zip(FOLDS, found, strict=True):
        prefer = demo.PreferShort(0.2)
        alone, others = RETRIEVED >> prefer, TOPICS[~TOPICS.qid.isin(fold.qid)]
        same = quiet(alone, {prefer: {"strength": (0.0, 0.4)}}, topics=others, **given)
        assert tuned.value == same.value == pytest.approx(expected(alone, topics=others), abs=1e-12)
        parts.append(alone(fold))
    pd.testing.assert_frame_equal(results, pd.concat(parts, ignore_index=True))
    assert len({tuned.setting[0][2] for tuned in found}) > 1
    assert expected(results) > 0


def test_folds_have_one_bar_over_all_trials_and_share_no_topic(bm25, monkeypatch, capsys):
    bars = []

    class Bar(pt.tqdm):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            bars.append(self)

    monkeypatch.setattr(pt, "tqdm", Bar)
    KFoldOptunaSearch(bm25, {bm25: {"b": (0.0, 1.0)}}, [TOPICS[:4], TOPICS[4:]], QRELS, TBG, trials=3)
    (bar,) = bars
    assert (bar.n, bar.total, bar.desc) == (6, 6, "KFoldOptunaSearch, fold 2 of 2: ")
    with pytest.raises(TypeError, match="trails"):
        KFoldOptunaSearch(bm25, {bm25: {"b": (0.0, 1.0)}}, [TOPICS[:4], TOPICS[4:]], QRELS, TBG, trails=3)
    params = {bm25: {"b": B}}
    with pytest.raises(BadParameter, match="topic '3' is in fold 1 and in fold 2"):
        KFoldOptunaSearch(bm25, params, [TOPICS[:3], TOPICS[2:]], QRELS, TBG)
    refused(lambda: KFoldOptunaSearch(bm25, params, [TOPICS], QRELS, TBG), BadParameter, "at least two folds")


def test_progress_shows_the_best_so_far_and_nothing_else(bm25, capsys):
    before = optuna.logging.get_verbosity()
    tuned = quiet(bm25, {bm25: {"b": (0.0, 1.0)}}, verbose=True)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "8/8 [00:0" in shown.err
    assert f"best TBG {tuned.value:.4f}]" in shown.err
    assert "Trial" not in shown.err
    assert optuna.logging.get_verbosity() == before
    quiet(bm25, {bm25: {"b": (0.0, 1.0)}})
    assert capsys.readouterr().err == ""
    KFoldOptunaSearch(bm25, {bm25: {"b": B}}, FOLDS, QRELS, TBG, trials=2)
    assert re.search(r"KFoldOptunaSearch, fold 3 of 3: 100%.* 6/6", capsys.readouterr().err)


def test_errors_name_the_setting_and_restore_the_pipeline(bm25):
    failing = Failing()
    with pytest.raises(RuntimeError, match="too high") as caught:
        quiet(bm25 >> failing, {bm25: {"b": (0.0, 1.0)}, failing: {"level": [0.0, 0.6]}}, trials=50)
    assert "'Failing.level': 0.6" in caught.value.__notes__[0]
    assert (bm25.b, failing.level) == (0.75, 0.0)


def test_without_pyterrier_alpha_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyterrier_alpha.parallel", None)
    cut = pt.RankCutoff(5)
    found = pd.DataFrame({"qid": ["1"], "docno": ["d"], "score": [1.0], "rank": [0]})
    qrels = pd.DataFrame({"qid": ["1"], "docno": ["d"], "label": [1]})
    pipeline = pt.Transformer.from_df(found) >> cut
    with pytest.raises(CWLAError, match=r'jobs=2 needs pyterrier-alpha .*pip install "pyterrier-alpha\[parallel\]'):
        OptunaSearch(pipeline, {cut: {"k": (1, 5)}}, found[["qid"]], qrels, "AP", trials=2, jobs=2)


@pytest.mark.parametrize("params, message", [
    ({}, "no parameter to tune"), ({"bm25": {}}, "no parameter to tune"),
    ({"bm25": {"k2": (0, 1)}}, r"BM25\('lucene'\) has no parameter 'k2'. Near: 'k1'"),
    ({"other": {"b": (0.0, 1.0)}}, r"BM25\('lucene'\) is not in the pipeline"),
    ({"bm25": {"b": []}}, r"b = \[\]: give at least one value"),
    ({"bm25": {"b": 0.5}}, r"b = 0.5: give a tuple \(low, high\), a list, or a distribution"),
    ({"bm25": {"b": {0.5, 0.75}}}, r"give a tuple \(low, high\), a list, or a distribution"),
    ({"bm25": {"method": "lucene"}}, r"method = 'lucene': give a tuple"),
    ({"bm25": {"b": (0.5, 0.75, 1.0)}}, r"a tuple must be \(low, high\)\. Give a list for choices: \[0.5, 0.75, 1.0\]"),
    ({"bm25": {"method": ("lucene", "bm25+")}}, "a list for choices"),
    ({"bm25": {"method": ["lucene", ("bm25+", 2)]}}, r"\('bm25\+', 2\) is no number, text, True, False or None"),
    ({"bm25": {"b": (1.0, 0.5)}}, "low must not be above high"),
])  # fmt: skip
def test_spaces_that_cannot_be_searched(bm25, params, message):
    names = {"bm25": bm25, "other": demo.BM25(INDEX)}
    with pytest.raises(BadParameter, match=message):
        quiet(bm25, {names[name]: space for name, space in params.items()})
    assert bm25.b == 0.75


def test_searches_without_an_end_a_measure_or_judgments(bm25):
    params = {bm25: {"b": (0.0, 1.0)}}
    refused(lambda: quiet(bm25, params, trials=None), BadParameter, "a search must end")
    refused(lambda: quiet(bm25, params, trials=0), BadParameter, "no trial was completed with trials=0")
    with pytest.raises(BadParameter, match="studies of one measure only, and there are 2"):
        quiet(bm25, params, metric=[TBG, AP], pruner=optuna.pruners.MedianPruner())
    with pytest.raises(BadParameter, match="no trial was completed with trials=8"):
        quiet(bm25, params, pruner=optuna.pruners.ThresholdPruner(lower=99), verbose=True)
    refused(lambda: quiet(bm25, params, metric="TBJ"), UnknownSpec, "no measure 'TBJ'")
    refused(lambda: quiet(bm25, params, metric="P"), BadParameter, "P needs cutoff=, as in P@10")
    with pytest.raises(BadJudgments, match=r"none of the 9 topics is judged: the topics are 'x1', .*of '1', "):
        quiet(bm25, params, topics=TOPICS.assign(qid="x" + TOPICS.qid))
    with pytest.raises(BadJudgments, match="no column 'qid'; there is 'topic', 'doc_id', 'relevance'"):
        quiet(bm25, params, qrels=QRELS.rename(columns={"qid": "topic"}))
    refused(lambda: quiet(bm25 >> WithoutLengths(), params), CWLAError, "lengths=")
    assert bm25.b == 0.75
    tuned = quiet(bm25, {bm25: {"b": (0.0, 1.0)}}, trials=None, timeout=0.2)
    assert len(tuned.trials) >= 1
    assert bm25.b == tuned.setting[0][2]
