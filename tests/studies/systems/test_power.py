"""Tests of discriminative power against scipy, loops from Sakai's algorithm, exhaustive resampling, and random runs."""

import pickle
from functools import partial
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from matplotlib.figure import Figure
from scipy.stats import t, ttest_rel
from statsmodels.stats.multitest import multipletests

from pyterrier_cwla import evaluate
from pyterrier_cwla.errors import BadJudgments, BadParameter, BadRun
from pyterrier_cwla.evaluation.significance import randomisation_test, t_test, wilcoxon_test, without_noise
from pyterrier_cwla.studies import discriminative_power
from pyterrier_cwla.studies.correlation import times_drawn
from pyterrier_cwla.studies.systems import power
from pyterrier_cwla.studies.systems.power import POWER_TESTS, bootstrap_test, pairs_tested, resampled_power
from tests.support.messages import refused

MEASURES = ["nDCG@10", "AP", "RR"]
quietly = partial(discriminative_power, correction=None, resamples=200, progress=False)


def systems(runs=5, queries=12, documents=20, seed=0, steps=3):
    """Generate runs of increasing quality, and a copy of the first."""
    rng = np.random.default_rng(seed)
    rel = {str(q): {f"d{d}": int(rng.choice(3, p=[0.6, 0.25, 0.15])) for d in range(documents)} for q in range(queries)}
    found = [
        {q: {d: r * g / steps + rng.normal() for d, g in of.items()} for q, of in rel.items()} for r in range(runs)
    ]
    return rel, {**{f"run{r}": run for r, run in enumerate(found)}, "again": found[0]}


def scores(runs=6, queries=20, seed=0):
    """Generate scores, shape (runs, queries), without rounding errors; with ties, and with the first run twice."""
    rng = np.random.default_rng(seed)
    found = np.round(256 * np.clip(rng.normal(0.5, 0.2, (runs, queries)) + 0.04 * np.arange(runs)[:, None], 0, 1)) / 256
    found[-1] = found[0]
    return found


@pytest.fixture(scope="module")
def study():
    return quietly(*systems(), MEASURES, correction="holm")


def sakai(z, resamples, alpha):
    """Compute p and required difference of a pair, from lists of query numbers: Sakai (2006), Figures 1 and 5."""

    def t_of(values):
        mean, spread = np.mean(values), np.std(values, ddof=1)
        if spread < 1e-12:
            return 0.0 if abs(mean) < 1e-12 else np.inf
        return abs(mean) / (spread / np.sqrt(len(values)))

    w = z - np.mean(z)
    ts = [t_of(w[chosen]) for chosen in resamples]
    p = np.mean([found >= t_of(z) * (1 - 1e-9) for found in ts])
    b = sorted(range(len(ts)), key=lambda i: ts[i])[-int(len(ts) * alpha)]
    return p, abs(np.mean(w[resamples[b]]))


def test_tests_of_pairs_are_those_of_compare():
    values = scores()
    found = pairs_tested(values, 0.05, 500, 3)
    for number, (i, j) in enumerate(combinations(range(6), 2)):
        z = without_noise(values[i] - values[j], 1.0)[None]
        p = [found[f"p_{test}"][number] for test in ("t", "wilcoxon", "randomisation")]
        assert p == [float(one[0]) for one in (t_test(z), wilcoxon_test(z), randomisation_test(z, 500, 3))]
        assert (i, j) != (0, 5) or [found[f"p_{test}"][number] for test in POWER_TESTS] == [1] * 4, "the same run"
    found = pairs_tested(np.array([[0.3] * 9, [0.2] * 9, [0.3] * 9]), 0.05, 100, 0)
    assert found["p_t"].tolist() == [0, 1, 0]
    assert found["p_bootstrap"].tolist() == [0, 1, 0]
    assert np.isnan(found["needed"]).all()
    assert found["same"].tolist() == [False, True, False]
    assert found["resampled"] == pytest.approx(np.full(100, 2 / 3))


@pytest.mark.slow
def test_the_bootstrap_test_is_sakais_algorithm_in_any_unit(monkeypatch):
    values, resamples, alpha = scores(queries=15), 300, 0.1
    z = np.array([values[i] - values[j] for i, j in combinations(range(5), 2)])
    drawn = [np.repeat(np.arange(15), times.astype(int)) for times in times_drawn(15, resamples, 7).T]
    p, needed = bootstrap_test(z, resamples, 7, alpha)
    expected = np.array([sakai(of_pair, drawn, alpha) for of_pair in z])
    assert p == pytest.approx(expected[:, 0], abs=1e-12)
    assert needed == pytest.approx(expected[:, 1], abs=1e-12)
    z = scores()[:3] - scores()[3:]
    expected = bootstrap_test(z, 150, 0)
    monkeypatch.setattr("pyterrier_cwla.studies.systems.power._CELLS", 1)
    np.testing.assert_allclose(bootstrap_test(z, 150, 0), expected, rtol=1e-13)
    one = pairs_tested(scores(), 0.05, 150, 0)
    thousand = pairs_tested(1000 * scores(), 0.05, 150, 0)
    assert thousand["needed"] == pytest.approx(1000 * one["needed"], nan_ok=True)
    assert thousand["p_bootstrap"].tolist() == one["p_bootstrap"].tolist()


@pytest.mark.slow
def test_the_interval_is_of_the_t_tests_share_in_each_resample(study, by_query):
    values, times = scores(), times_drawn(20, 60, 5)
    found = resampled_power(np.array([values[i] - values[j] for i, j in combinations(range(6), 2)]), 0.05, times)
    expected = []
    for drawn in times.T.astype(int):
        some = values[:, np.repeat(np.arange(20), drawn)]
        p = [1.0 if (some[i] == some[j]).all() else ttest_rel(some[i], some[j]).pvalue
             for i, j in combinations(range(6), 2)]  # fmt: skip
        expected.append(np.mean(np.array(p) < 0.05))
    assert np.ptp(expected) > 0.1
    assert found == pytest.approx(expected, abs=1e-12)
    pairs = list(combinations(systems()[1], 2))
    resampled = {}
    for name in MEASURES:
        differences = [by_query.loc[i, name].to_numpy() - by_query.loc[j, name].to_numpy() for i, j in pairs]
        resampled[name] = resampled_power(without_noise(np.array(differences), 1.0), 0.05, times_drawn(12, 200, 0))
        row = study.table.set_index("measure").loc[name]
        half = t.ppf(0.975, 11) * resampled[name].std(ddof=1)
        assert [row["t_low"], row["t_high"]] == pytest.approx([max(row["t"] - half, 0), min(row["t"] + half, 1)])
    for row in study.contrasts.itertuples():
        half = t.ppf(0.975, 11) * (resampled[row.measure] - resampled[row.other]).std(ddof=1)
        power = study.table.set_index("measure")["t"]
        difference = power[row.measure] - power[row.other]
        assert [row.difference, row.low, row.high] == pytest.approx([difference, difference - half, difference + half])
        assert study.differ(row.other, row.measure) == study.differ(row.measure, row.other) == (row.low * row.high > 0)


@pytest.fixture(scope="module")
def by_query():
    return evaluate(*systems(), MEASURES, by_query=True)


@pytest.mark.slow
def test_the_study_tests_the_scores_that_evaluate_gives(study, by_query):
    for row in study.pairs.itertuples():
        one, other = by_query.loc[row.first, row.measure], by_query.loc[row.second, row.measure]
        assert row.difference == pytest.approx(one.mean() - other.mean(), abs=1e-12)
        same = np.abs(one - other).max() < 1e-12
        assert row.p_t == pytest.approx(1.0 if same else ttest_rel(one, other).pvalue, abs=1e-10)
    assert study.table["pairs"].tolist() == [15, 15, 15]
    assert (study.table["same"] >= 1).all()
    for name, test in product(MEASURES, POWER_TESTS):
        p = study.pairs.loc[study.pairs["measure"] == name, f"p_{test}"]
        assert study.table.set_index("measure").loc[name, test] == (p < 0.05).mean()


@pytest.mark.slow
@pytest.mark.parametrize("correction", ["holm", "bonferroni", "fdr_bh"])
def test_corrected_power_is_the_share_of_corrected_p_values(correction):
    """All pairs of a measure are one family."""
    found = quietly(*systems(), MEASURES, correction=correction)
    for name, pairs in found.pairs.groupby("measure"):
        row = found.table.set_index("measure").loc[name]
        for test in ("t", "wilcoxon"):
            rejected = multipletests(pairs[f"p_{test}"], 0.05, correction)[0]
            assert row[f"{test}_corrected"] == pytest.approx(rejected.mean()), (name, test)
    assert (found.table["t_corrected"] < found.table["t"]).any()
    assert (found.table["t_corrected"] > 0).any()


def test_achieved_levels_are_sorted_and_their_shares_rise_to_the_power(study):
    for name, needed in study.pairs.groupby("measure")["needed"]:
        row = study.table.set_index("measure").loc[name]
        assert (row["needed"], row["needed_median"]) == (needed.max(), needed.median())
    for test in POWER_TESTS:
        for name, of in study.achieved(test).groupby("measure"):
            assert of["p"].is_monotonic_increasing
            assert of["place"].tolist() == list(range(1, 16))
            levels = study.levels(test).query("measure == @name").set_index("level")["share"]
            assert levels.is_monotonic_increasing
            assert levels[0.05] == study.table.set_index("measure").loc[name, test]


@pytest.mark.slow
def test_a_study_that_was_broken_off_is_taken_up_again(tmp_path, monkeypatch):
    expected = quietly(*systems(), [*MEASURES, "P@5"])
    quietly(*systems(), MEASURES[:2], cache_dir=tmp_path)
    done = []
    monkeypatch.setattr(power, "pairs_tested", lambda scores, **of: done.append(scores) or pairs_tested(scores, **of))
    found = quietly(*systems(), [*MEASURES, "P@5"], cache_dir=tmp_path)
    assert len(done) == 2, "RR and P@5"
    pd.testing.assert_frame_equal(found.table, expected.table)
    pd.testing.assert_frame_equal(found.pairs, expected.pairs)
    quietly(*systems(), MEASURES[:1], cache_dir=tmp_path, seed=1)
    assert len(done) == 3, "another seed makes other pieces"


def test_two_at_a_time_find_what_one_finds(study, monkeypatch):
    """Arguments are pickled as for processes; threads are used since processes take seconds to start."""
    monkeypatch.setattr(power, "partial", lambda of, **given: pickle.loads(pickle.dumps(partial(of, **given))))
    with parallel_config("threading"):
        found = quietly(*systems(), MEASURES, n_jobs=2)
    pd.testing.assert_frame_equal(found.pairs, study.pairs)
    pd.testing.assert_frame_equal(found.contrasts, study.contrasts)


def test_no_measure_has_the_most_power_if_none_separates():
    """The two runs of the only pair differ on one query."""
    qrels, runs = systems()
    run = runs["run0"]
    same = quietly(qrels, dict.fromkeys(("one", "two", "three"), run), ["AP", "RR"])
    assert same.findings() == ["By each measure, all 3 runs have the same score on every topic."]
    worse = run | {"0": {doc: -score for doc, score in run["0"].items()}}
    alike = quietly(qrels, {"run": run, "worse": worse}, ["AP", "RR"], correction="holm")
    said = alike.findings()
    assert said[0].startswith("Of 1 pair of 2 runs, the t-test")
    assert "By no measure does any pair differ significantly." in said
    assert "The tests have the same power by each measure." in said
    assert said[-1] == "After Holm over all pairs, the t-test finds no significant pair."
    assert "most power" not in str(alike)
    assert "1 pairs" not in str([*alike.tables().values(), *alike.pictures().values()])


def test_queries_that_runs_do_not_answer_are_counted():
    qrels, runs = systems(runs=3)
    runs["again"] = {"0": runs["again"]["0"]}
    found = quietly(qrels, runs, ["AP"])
    said = "Topics that a run does not answer score 0: 11 of 48 pairs of run and topic: again (11)."
    assert said in found.limits()
    qrels = {q: {"a": 1, "b": 0} for q in "123"}
    runs = {"one": {q: {"a": 1.0} for q in "123"}, "other": {q: {"a": 1.0} for q in "xyz"}}
    with pytest.warns(UserWarning, match="no query in common"), pytest.raises(BadRun, match="other: none of the 3"):
        discriminative_power(qrels, runs, ["AP"], resamples=100, progress=False)


@pytest.mark.slow
def test_pictures_show_the_numbers_that_stand_beside_them(study):
    for name, picture in study.pictures().items():
        ax = picture.draw(given := Figure().subplots())
        assert ax is given
        assert "15 pairs of 6 runs, 12 topics" in " ".join(ax.get_title(loc="left").split())
        if name == "power":
            assert [tick.get_text() for tick in ax.get_yticklabels()] == picture.data["measure"].tolist()
            assert ax.get_lines()[0].get_xdata() == pytest.approx(100 * picture.data["t"])
        else:
            curves = [line for line in ax.get_lines() if len(line.get_xdata()) > 2]  # without the level of the study
            shares = picture.data.query("measure == 'AP'")["share"]
            assert curves[1].get_ydata() == pytest.approx(100 * shares.to_numpy())
            assert {text.get_text() for text in ax.texts} == set(MEASURES)


def test_what_cannot_be_is_said(study):
    refused(lambda: study.levels("boot"), "test='boot' is no test", BadParameter)
    refused(lambda: study.differ("MAP", "AP"), "no two measures 'MAP', 'AP'", BadParameter)
    qrels, runs = systems()
    refused(lambda: quietly(qrels, runs, ["AP"], alpha=1.5), "alpha=1.5 must be between 0 and 1", BadParameter)
    few = "resamples=200 is too few for alpha=0.001: give 1,000 or more"
    refused(lambda: quietly(qrels, runs, ["AP"], alpha=0.001), few, BadParameter)
    refused(lambda: quietly(qrels, {"one": runs["run0"]}, ["AP"]), "give at least 2 by name, not 1 run", BadParameter)
    refused(lambda: quietly({q: qrels[q] for q in "01"}, runs, ["AP"]), "three or more topics", BadJudgments)
    assert len(quietly({q: qrels[q] for q in "012"}, runs, ["AP"]).table) == 1
    wrong = "correction='holmes' is no correction"
    refused(lambda: quietly(qrels, runs, ["AP"], correction="holmes"), wrong, BadParameter)
