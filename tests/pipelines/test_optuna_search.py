"""Tests of Optuna searches of pipelines: by measures, and by measures and costs, whose delays a clock has."""

import re
import sys
from itertools import product
from time import sleep

import numpy as np
import optuna
import pandas as pd
import pyterrier as pt
import pytest
from ir_measures import AP, SetP, nDCG

from pyterrier_cwla import TBG, demo, evaluate, register_lengths
from pyterrier_cwla.errors import BadJudgments, BadParameter, CWLAError, MissingLength, UnknownSpec
from pyterrier_cwla.evaluation.significance import intervals
from pyterrier_cwla.pipelines import Cost, KFoldOptunaSearch, OptunaSearch, optuna_search
from tests.support.messages import refused

IGNORED = ("ignore:.*topic.s. not found in qrels", "ignore:BruteForceSampler is exper")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings(*IGNORED)]

COLLECTION = demo.collection(seed=3, documents=200, topics=9)
TOPICS, QRELS = COLLECTION.topics, COLLECTION.qrels
INDEX = demo.Index.of(COLLECTION.documents)
FOUND = demo.BM25(INDEX)(TOPICS)
RETRIEVED = pt.Transformer.from_df(FOUND)
FOLDS = [TOPICS[:3], TOPICS[3:5], TOPICS[5:]]
B = [0.0, 0.3, 0.75, 1.0]
register_lengths("of_the_tuned", COLLECTION.documents.set_index("docno").doc_length)
BY_TABLE = TBG(lengths="of_the_tuned")
without_lengths = pt.apply.generic(lambda found: found.drop(columns="doc_length"))


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


def quiet(pipeline, params, topics=TOPICS, qrels=QRELS, metric=TBG, **given):
    return OptunaSearch(pipeline, params, topics, qrels, metric, **{"trials": 8, "verbose": False, **given})


@pytest.mark.parametrize("measure", [TBG, BY_TABLE, AP @ 5, SetP], ids=str)
def test_each_trial_has_the_value_that_an_experiment_finds(bm25, measure):
    pipeline = bm25 >> without_lengths if measure == BY_TABLE else bm25
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


@pytest.mark.every_case
@pytest.mark.parametrize("present, space, kind", [
    (0.75, (0, 1), float), (10, (5, 20), int), (10, (5.0, 20.0), float), (None, (5, 20), int), (None, (0.5, 2), float),
    ("a", ["a", "b"], str), (0.5, np.linspace(0, 1, 3), float), (np.float64(0.5), [np.float64(0.5), np.float64(1)], float),
    (2.0, optuna.distributions.FloatDistribution(1, 8, log=True), float),
    (4, optuna.distributions.IntDistribution(2, 8, step=2), int),
    *((0.25, space, float) for space in ((0.5, 1.0), [0.5, 0.75], optuna.distributions.FloatDistribution(0.5, 2, step=0.5))),
])  # fmt: skip
def test_what_a_parameter_may_be(present, space, kind):
    """Present values out of the space are not tried."""
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
    else:
        assert tried.isin(space).all()
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
    calls, prefer = [], demo.PreferShort()
    counted = pt.apply.generic(lambda found: calls.append(1) or found)
    tuned = quiet(bm25 >> counted >> prefer, {prefer: {"strength": (0.0, 1.0)}})
    assert len(calls) == 1
    for strength, value in zip(tuned.trials["PreferShort.strength"], tuned.trials["TBG"], strict=True):
        assert value == pytest.approx(expected(bm25 >> demo.PreferShort(strength)), abs=1e-12)
    quiet(bm25 >> counted >> prefer, {bm25: {"b": B}})
    assert len(calls) == 1 + 8


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
        found.append(quiet(bm25 >> without_lengths, {bm25: {"b": [0.0, 0.5, 1.0]}}, metric=metric))
    assert found[0].value == found[1].value
    register_lengths(None)
    refused(lambda: quiet(bm25 >> without_lengths, {bm25: {"b": [0.0, 1.0]}}, metric="tbg"), MissingLength)


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
    with pytest.raises(TypeError, match="trails"):
        KFoldOptunaSearch(RETRIEVED >> prefer, params, FOLDS, QRELS, TBG, trails=3)
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


@pytest.mark.parametrize("measure", [TBG, BY_TABLE], ids=["column", "table"])
def test_grid_searches_in_folds_retrieve_by_the_other_folds(bm25, measure):
    pipeline = bm25 if measure == TBG else bm25 >> without_lengths
    results, settings = pt.KFoldGridSearch(pipeline, {bm25: {"b": B}}, FOLDS, QRELS, measure)
    for fold, setting in zip(FOLDS, settings, strict=True):
        others = TOPICS[~TOPICS.qid.isin(fold.qid)]
        best = max(B, key=lambda b: expected(demo.BM25(INDEX, b=b), measure, others))
        assert setting[0][2] == best
        found = results[results.qid.isin(fold.qid)].docno.tolist()
        assert found == demo.BM25(INDEX, b=best)(fold).docno.tolist()
    assert bm25.b == 0.75


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
    params = {bm25: {"b": (0.0, 1.0)}, failing: {"level": [0.0, 0.6]}}
    for search, topics in ((OptunaSearch, TOPICS), (KFoldOptunaSearch, FOLDS)):
        with pytest.raises(RuntimeError, match="too high") as caught:
            search(bm25 >> failing, params, topics, QRELS, TBG, trials=50, verbose=False)
        assert "'Failing.level': 0.6" in caught.value.__notes__[0]
        assert (bm25.b, failing.level) == (0.75, 0.0)


def test_without_pyterrier_alpha_the_error_says_what_to_install(bm25, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyterrier_alpha.parallel", None)
    says = "jobs=2 needs pyterrier-alpha", 'pip install "pyterrier-alpha[parallel]'
    refused(lambda: quiet(bm25, {bm25: {"b": B}}, jobs=2), CWLAError, *says)


@pytest.mark.parametrize("params, message", [
    ({}, "no parameter to tune"), ({"bm25": {}}, "no parameter to tune"),
    ({"bm25": {"k2": (0, 1)}}, "BM25('lucene') has no parameter 'k2'. Near: 'k1'"),
    ({"other": {"b": (0.0, 1.0)}}, "BM25('lucene') is not in the pipeline"),
    ({"bm25": {"b": []}}, "b = []: give at least one value"),
    ({"bm25": {"b": 0.5}}, "b = 0.5: give a tuple (low, high), a list, or a distribution"),
    ({"bm25": {"b": {0.5, 0.75}}}, "give a tuple (low, high), a list, or a distribution"),
    ({"bm25": {"method": "lucene"}}, "method = 'lucene': give a tuple"),
    ({"bm25": {"b": (0.5, 0.75, 1.0)}}, "a tuple must be (low, high). Give a list for choices: [0.5, 0.75, 1.0]"),
    ({"bm25": {"method": ("lucene", "bm25+")}}, "a list for choices"),
    ({"bm25": {"method": ["lucene", ("bm25+", 2)]}}, "('bm25+', 2) is no number, text, True, False or None"),
    ({"bm25": {"b": (1.0, 0.5)}}, "low must not be above high"),
])  # fmt: skip
@pytest.mark.every_case
def test_spaces_that_cannot_be_searched(bm25, params, message):
    names = {"bm25": bm25, "other": demo.BM25(INDEX)}
    refused(lambda: quiet(bm25, {names[name]: space for name, space in params.items()}), BadParameter, message)
    assert bm25.b == 0.75


PRUNERS = optuna.pruners.MedianPruner(), optuna.pruners.ThresholdPruner(lower=99)


@pytest.mark.parametrize(("given", "error", "says"), [
    ({"trials": None}, BadParameter, "a search must end"), ({"trials": 0}, BadParameter, "no trial was completed with trials=0"),
    ({"metric": [TBG, AP], "pruner": PRUNERS[0]}, BadParameter, "studies of one measure only, and there are 2"),
    ({"pruner": PRUNERS[1], "verbose": True}, BadParameter, "no trial was completed with trials=8"),
    ({"metric": "TBJ"}, UnknownSpec, "no measure 'TBJ'"), ({"metric": "P"}, BadParameter, "P needs cutoff=, as in P@10"),
    ({"topics": TOPICS.assign(qid="x" + TOPICS.qid)}, BadJudgments, "none of the 9 topics is judged: the topics are 'x1', "),
    ({"qrels": QRELS.rename(columns={"qid": "topic"})}, BadJudgments, "no column 'qid'; there is 'topic', 'doc_id', 'rel"),
    ({"folds": [TOPICS[:3], TOPICS[2:]]}, BadParameter, "topic '3' is in fold 1 and in fold 2"),
    ({"folds": [TOPICS]}, BadParameter, "at least two folds"),
])  # fmt: skip
@pytest.mark.every_case
def test_searches_without_an_end_a_measure_judgments_or_folds(bm25, given, error, says):
    params = {bm25: {"b": (0.0, 1.0)}}
    if "folds" in given:
        refused(lambda: KFoldOptunaSearch(bm25, params, given["folds"], QRELS, TBG), error, says)
    else:
        refused(lambda: quiet(bm25, params, **given), error, says)
    assert bm25.b == 0.75


def test_a_search_of_some_seconds_ends_and_needs_lengths(bm25):
    refused(lambda: quiet(bm25 >> without_lengths, {bm25: {"b": B}}), CWLAError, "lengths=")
    tuned = quiet(bm25, {bm25: {"b": (0.0, 1.0)}}, trials=None, timeout=0.2)
    assert len(tuned.trials) >= 1
    assert bm25.b == tuned.setting[0][2]


def preferring(metric=TBG, **given):
    """Search for a strength between 0 and 0.2 that puts the short document first."""
    documents = {"qid": "1", "docno": ["long", "short"], "doc_length": [900, 90], "score": [1.1, 1.0]}
    retrieved, prefer = pd.DataFrame(documents), demo.PreferShort(strength=0.0)
    qrels = pd.DataFrame({"qid": ["1"], "docno": ["short"], "label": [1]})
    space = {prefer: {"strength": (0.0, 0.2)}}
    return quiet(pt.Transformer.from_df(retrieved) >> prefer, space, retrieved[["qid"]].head(1), qrels, metric, **given)


def test_the_best_value_and_its_parameters_are_shown():
    found = preferring()
    page = found._repr_html_()
    assert f"<b>TBG {found.value:.4f}</b> (best of 8 trials)" in page
    assert re.findall("<span>(.*?)</span>", page) == ["PreferShort", "strength", f"{found.setting[0][2]:.6g}"]
    first, reached = found.trials["TBG"].iloc[0], int(found.trials["TBG"].argmax()) + 1
    said = f"TBG by trial: first {first:.4f}, best {found.value:.4f}, first reached in trial {reached} of 8."
    assert f'aria-label="{said}"' in page
    assert "<svg" not in preferring(trials=1)._repr_html_()
    found = preferring({"<i>early": "nDCG@1", "TBG": "TBG"})
    page = found._repr_html_()
    assert "&lt;i&gt;early" in page
    assert "<i>early" not in page
    assert f"TBG {found.value[1]:.4f}" in page
    assert "on the Pareto front" in page


def test_where_less_is_better_the_lowest_is_searched():
    """Without ``strength`` the long document is first, and its time is spent first; the best spends the least."""
    seconds = "CWLA(C='prec(1)',A='effort',gain='binary',effort='time',end='stop')"
    found = preferring({"time": seconds}, trials=12)
    assert found.value == found.trials["time"].min() < found.trials["time"].max()
    best = found.trials["time"].argmin()
    assert found.setting[0][2] == found.trials["PreferShort.strength"][best]
    assert f"best {found.value:.4f}, first reached in trial {best + 1} of 12." in found._repr_html_()
    both = preferring({"time": seconds, "nDCG@1": "nDCG@1"})
    assert [one.name for one in both.study.directions] == ["MINIMIZE", "MAXIMIZE"]
    assert both.value[0] == both.trials["time"].min()


DEPTHS, WASTE = [2, 5, 10, 40], [0.0, 3.0]  # rows, and ms per topic that bring nothing
FIRST_STAGE = 7.0  # ms per topic


def cut_at(k):
    return FOUND[FOUND["rank"] < k]


class Spends(pt.Transformer):
    """Transformer that keeps the first rows of each topic, and spends ms and tokens on each of them."""

    def __init__(self, clock, k, per_row=1.0, waste=0.0):
        self.clock, self.k, self.per_row, self.waste = clock, k, per_row, waste

    def transform(self, inp):
        kept = inp[inp["rank"] < self.k]
        self.clock[0] += (self.per_row * len(kept) + self.waste * inp["qid"].nunique()) / 1000
        return kept.assign(doc_cost=2.5, tokens=kept["doc_length"])


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass only when a transformer spends them."""
    now = [0.0]
    monkeypatch.setattr(optuna_search, "perf_counter", lambda: now[0])
    return now


@pytest.fixture
def reranker(clock):
    return Spends(clock, 5)


@pytest.fixture
def pipeline(clock, reranker):
    return RETRIEVED >> Spends(clock, 1000, per_row=0.0, waste=FIRST_STAGE) >> reranker


def searched(pipeline, reranker, metric, **given):
    given = {"trials": 30, "sampler": optuna.samplers.BruteForceSampler(seed=1)} | given
    return quiet(pipeline, {reranker: {"k": DEPTHS, "waste": WASTE}}, metric=metric, **given)


def known_front(at_most):
    """Return the settings of the front with value and ms, by loops, best first."""
    rows = {k: len(cut_at(k)) / len(TOPICS) for k in DEPTHS}
    all_settings = [
        (k, waste, expected(cut_at(k)), FIRST_STAGE + rows[k] + waste) for k, waste in product(DEPTHS, WASTE)
    ]
    within = [one for one in all_settings if one[3] <= at_most]

    def beaten(one):
        return any(v >= one[2] and ms <= one[3] and (v, ms) != one[2:] for _, _, v, ms in within)

    return sorted((one for one in within if not beaten(one)), key=lambda one: -one[2])


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


def test_folds_have_their_own_fronts(pipeline, reranker):
    metric, folds = [TBG, Cost("mrt", at_most=20)], [TOPICS[:4], TOPICS[4:]]
    params = {reranker: {"k": DEPTHS}}
    results, found = KFoldOptunaSearch(pipeline, params, folds, QRELS, metric, trials=12, verbose=False)
    assert {*results["qid"]} == {*TOPICS["qid"]}
    assert max(tuned.front["mrt"].max() for tuned in found) <= 20
    assert reranker.k == 5


def test_intervals_are_those_of_the_bootstrap_over_topics(pipeline, reranker):
    """Accuracy has no value for topics without a relevant or another document."""
    measures, counts = [TBG, nDCG @ 10, "Accuracy"], set()
    for _, row in searched(pipeline, reranker, [*measures, Cost("mrt")]).front.iterrows():
        cut = cut_at(row["Spends.k"])
        by_topic = evaluate(QRELS[QRELS.qid.isin(TOPICS.qid)], cut, measures, by_query=True)
        for measure in map(str, measures):
            values = by_topic[measure].dropna().to_numpy()
            low, high = intervals(values[None], lambda means: means, 0.95, 10_000, 0)
            found = row[[measure, f"{measure} low", f"{measure} high"]].tolist()
            assert found == pytest.approx([values.mean(), low[0], high[0]], abs=1e-9)
            assert low[0] < values.mean() < high[0]
        counts.add(len(values))
    assert len(counts) > 1
    one_topic = {"topics": TOPICS[:1], "qrels": QRELS, "metric": [TBG, Cost("mrt")], "trials": 3, "verbose": False}
    assert OptunaSearch(pipeline, {reranker: {"k": DEPTHS}}, **one_topic).front["TBG low"].isna().all()


def rows_found(pipeline, results):
    """Return the number of results, and check that the pipeline has the parameters of the trial."""
    assert len(results) == len(cut_at(list(pipeline)[-1].k))
    return len(results)


def test_costs_are_columns_rows_or_values_of_a_function(pipeline, reranker, clock):
    last = Spends(clock, 3)
    costs = [Cost("tokens"), Cost("doc_cost", label="units"), Cost(last), Cost(rows_found)]
    tuned = searched(pipeline >> last, reranker, [TBG, *costs[:3]])
    assert tuned.trials.columns.tolist()[1:5] == ["TBG", "tokens", "units", "rows of Spends"]
    n = len(TOPICS)
    for _, row in tuned.trials.iterrows():
        received = cut_at(row["Spends.k"])
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
    assert set(tuned.trials["rows of Spends"]) == set(tuned.trials["also"]) == {len(FOUND) / n}


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
    missing = pipeline >> pt.apply.generic(lambda found: found.assign(doc_cost=[np.nan, *found["doc_cost"][1:]]))
    for searching, cost, given, says in (
        (pipeline, Cost("mrt"), {"jobs": 2}, "jobs=2 with several processes"),
        (pipeline, Cost(reranker), {"jobs": 2}, "jobs=2 with several processes"),
        (pipeline, Cost("mrt"), {"pruner": optuna.pruners.MedianPruner()}, "there are 2"),
        (missing, Cost("doc_cost"), {}, "'doc_cost' of the results is nan"),
        (pipeline, Cost(pipeline), {}, "the cost 'rows of Compose' is that of the whole pipeline. Give a stage of it."),
    ):
        refused(lambda: searched(searching, reranker, [AP, cost], **given), BadParameter, says)  # noqa: B023


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


def test_time_of_experiments_is_the_same_kind_of_time():
    """pt.Experiment and the search both report ms per topic."""
    sleeping = RETRIEVED >> pt.apply.generic(lambda found: sleep(0.2) or found)
    pipeline = sleeping >> (cut := pt.RankCutoff(3))
    tuned = OptunaSearch(pipeline, {cut: {"k": [3]}}, TOPICS, QRELS, [AP, Cost("mrt")], trials=1, verbose=False)
    experiment = pt.Experiment([pipeline], TOPICS, QRELS, [AP, "mrt"])["mrt"][0]
    least = 1000 * 0.2 / len(TOPICS)
    for found in (tuned.value[1], experiment):
        assert least < found < 20 * least
