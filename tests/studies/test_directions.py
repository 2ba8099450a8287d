"""Tests of studies with measures of which less is better: a greater coefficient and a higher rank are always better."""

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy.stats import kendalltau, pearsonr

import pyterrier_cwla as cwla
from pyterrier_cwla import ESL, studies
from pyterrier_cwla.errors import BadParameter
from pyterrier_cwla.studies import Rated
from pyterrier_cwla.studies.correlation import columns_where_less_is_better
from tests.support.messages import refused

COSTS = ["ESL", "CWLA(C='bpm(1,1000)',A='items',gain='binary')", "CWLA(C='bpm(1,1000)',A='effort',gain='binary')"]
NOTE = "less is better"
QUERIES = [f"q{number}" for number in range(30)]
QRELS = {q: {f"d{d}": int(d < 3) for d in range(10)} for q in QUERIES}


def _run(seed: int, noise: float = 1.0) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(seed)
    return {q: {d: grade + float(rng.normal(0, noise)) for d, grade in of.items()} for q, of in QRELS.items()}


def scores_by(rated, measure):
    return rated.scores([measure]).to_numpy()[:, 0]


@pytest.fixture(scope="module")
def rated() -> Rated:
    """Ratings that fall with the number of non-relevant documents above the first relevant one."""
    run, rng = _run(1), np.random.default_rng(2)
    cost = scores_by(Rated.lists(QRELS, run, dict.fromkeys(QUERIES, 1)), "ESL")
    table = pd.DataFrame({"query_id": QUERIES, "rating": 5 - cost + rng.normal(0, 0.3, len(cost))})
    return Rated.lists(QRELS, run, table.assign(half=["a", "b"] * 15))


@pytest.fixture(scope="module")
def runs() -> dict[str, dict]:
    return {f"run {number}": _run(number, 0.3 + 0.2 * number) for number in range(8)}


def test_preferences_agree_with_lower_costs(rated):
    pairs = pd.DataFrame(itertools.pairwise(QUERIES), columns=["first", "second"])
    preferred = Rated.preferences(QRELS, _run(1), pairs.assign(preference=np.sign(-np.diff(rated.ratings))))
    found = studies.user_agreement(preferred, ["ESL"], "agreement", resamples=100)
    cost, y = scores_by(preferred, "ESL"), preferred.ratings
    credit = [0.5 if c == 0 else float(np.sign(-c) == np.sign(p)) for c, p in zip(cost, y) if p]
    assert found.table["agreement"].iloc[0] == pytest.approx(np.mean(credit))
    assert np.mean(credit) > 0.6


@pytest.mark.parametrize("measure", COSTS)
def test_costs_agree_with_users_who_prefer_low_costs(rated, measure):
    found = studies.user_agreement(rated, [measure, "P@3"], baseline="P@3", cv=3, repeats=1, resamples=100)
    cost, row = scores_by(rated, measure), found.table.iloc[0]
    assert row["tau_b"] == pytest.approx(kendalltau(-cost, rated.ratings).statistic)
    assert row["tau_b"] > 0.5
    assert row["pearson"] == pytest.approx(pearsonr(-cost, rated.ratings).statistic)
    assert row["tau_b_low"] < row["tau_b"] < row["tau_b_high"]
    assert row["tau_b_difference"] == pytest.approx(row["tau_b"] - found.table["tau_b"].iloc[1])
    assert found.ranked.index[0] == found.scores.columns[0]
    assert (found.scores.iloc[:, 0] == cost).all()
    assert found.about["less_is_better"] == [found.scores.columns[0]]
    assert sum(NOTE in sentence for sentence in found.limits()) == 1
    errors = studies.nrmse(cost[:, None], rated.ratings, cv=3, repeats=1)
    assert row["nrmse"] == pytest.approx(errors.mean()), "for both directions"
    labels = [studies.plot_bands(found, name, Figure().subplots()).get_xlabel() for name in found.scores]
    assert [NOTE in " ".join(label.split()) for label in labels] == [True, False]


def test_where_greater_is_better_nothing_changes_and_no_note_is_shown(rated):
    grid = studies.grid(["prec(5)", "bpm(1,1000)"], ["avg", "items"], max_rel=1)
    for measures, lower in ((["RR"], []), (grid, ["prec(5) + items", "bpm(1,1000) + items"])):
        found = studies.user_agreement(rated, measures, cv=3, repeats=1, resamples=100)
        assert found.about["less_is_better"] == lower
        assert any(NOTE in sentence for sentence in found.limits()) == bool(lower)


def test_fit_chooses_the_cost_with_the_highest_agreement(rated):
    """The correlation is that of ratings with fewer non-relevant documents above the k-th relevant one."""
    found = studies.fit("ESL(wanted=$k)", {"k": [1, 2, 3]}, rated, default={"k": 3}, cv=3, repeats=1, progress=False)
    assert found.values == {"k": 1}
    costs = [scores_by(rated, f"ESL(wanted={k})") for k in (1, 2, 3)]
    expected = pytest.approx([np.corrcoef(-cost, rated.ratings)[0, 1] for cost in costs])
    assert found.candidates.sort_values("k")["value"].tolist() == expected
    assert found.folds["held_out"].mean() > found.folds["default"].mean()
    along = studies.sensitivity("ESL(wanted=$k)", {"k": [1, 2, 3]}, rated, resamples=100, progress=False)
    assert along.table["pearson"].tolist() == expected
    for study in (found, along):
        assert any(NOTE in sentence for sentence in study.limits())
    text = "CWLA(C='bpm(1,1000)',A='$a',gain='binary')"
    found = studies.fit(text, {"a": ["items", "avg"]}, rated, cv=3, repeats=1, progress=False)
    assert (found.candidates["value"] > 0.3).all()


def test_splits_of_a_cost(rated):
    found = studies.splits(rated, {"length": ESL, "RR": "RR"}, by="half", resamples=100)
    matrix = found.matrix()
    half, cost = (rated.table["half"] == "a").to_numpy(), -scores_by(rated, "ESL")
    assert matrix.loc["length", "all"] == pytest.approx(np.corrcoef(cost, rated.ratings)[0, 1])
    assert matrix.loc["length", "a"] == pytest.approx(np.corrcoef(cost[half], rated.ratings[half])[0, 1])
    assert (matrix > 0.3).all(axis=None)
    assert any("Of length, less is better" in sentence for sentence in found.limits())


def test_virtual_systems_know_costs_by_the_column_s_name(rated):
    values = rated.scores(["ESL", "RR"]).assign(clicks=rated.ratings, topic=np.arange(len(rated)) // 3)
    found = studies.virtual_systems(values, "clicks", repeats=50, resamples=100)
    turned = studies.virtual_systems(values.assign(ESL=-values["ESL"]), "clicks", repeats=50, resamples=100,
                                     less_is_better=[])  # fmt: skip
    pd.testing.assert_frame_equal(found.table, turned.table)
    values = values.rename(columns={"ESL": "length"})
    named = studies.virtual_systems(values, "clicks", repeats=50, resamples=100, less_is_better=["length"])
    pd.testing.assert_frame_equal(named.table.iloc[:, 2:], found.table.iloc[:, 2:])
    unknown = "no column of scores 'lenght'", "length", BadParameter
    refused(lambda: studies.virtual_systems(values, "clicks", less_is_better=["lenght"]), *unknown)
    assert (found.table[["limit", "across", "repeated"]] > 0.3).all(axis=None)
    assert any("Of ESL, less is better" in sentence for sentence in found.limits())
    assert columns_where_less_is_better(["ESL(wanted=2)", "AP", "x", "a b", "", "1", "ESL(", COSTS[1]]) == [
        "ESL(wanted=2)", COSTS[1],
    ]  # fmt: skip


@pytest.mark.parametrize("measure", COSTS)
def test_costs_order_runs_from_the_best(runs, measure):
    found = studies.metric_agreement(QRELS, runs, [measure, "RR"], resamples=100)
    name, row = found.scores.columns[0], found.table.iloc[0]
    cost, rr = found.scores.to_numpy().T
    for kind, of in (("tau_b", {"kind": "b"}), ("tau_ap", {"kind": "ap_symmetric"})):
        assert row[kind] == pytest.approx(studies.tau(-cost, rr, **of))
        assert row[kind] > 0.5
    assert row["rbo"] == pytest.approx(studies.rbo(-cost, rr, p=0.9))
    assert row["tau_b_low"] <= row["tau_b"] <= row["tau_b_high"]
    best = found.scores[name].idxmin()
    assert found.tables()["ranks"].frame.loc[best, name] == 1
    assert found.scatter(name, "RR").set_index("run").loc[best, "rank_x"] == 1
    assert found.scatter(name, "RR").set_index("run")[name].to_dict() == found.scores[name].to_dict()
    assert sum(NOTE in sentence for sentence in found.limits()) == 1


def test_ranks_of_missing_judgments_start_with_the_lowest_cost(runs):
    found = studies.robustness(QRELS, runs, ["ESL", "RR"], seeds=1, pairs=0, resamples=50, progress=False)
    rows = found.rankings[(found.rankings["measure"] == "ESL") & (found.rankings["level"] == 1.0)]
    assert rows["rank"].tolist() == rows["score"].round(10).rank(method="min").tolist()
    groups = {run: f"group {number % 3}" for number, run in enumerate(runs)}
    found = studies.groups_left_out(QRELS, runs, groups, ["ESL"], depth=2, resamples=50)
    changes = found.changes
    assert changes["rank"].tolist() == changes["score"].round(10).rank(method="min").tolist()
    assert changes["falls"].mean() == pytest.approx(found.falls["falls"].iloc[0])
    assert any(NOTE in sentence for sentence in found.limits())
    some = {name: runs[name] for name in ("run 0", "run 3", "run 7")}
    found = studies.discriminative_power(QRELS, some, ["ESL", "RR"], resamples=100, progress=False)
    costs = cwla.evaluate(QRELS, some, ["ESL"])["ESL"]
    row = found.pairs.iloc[0]
    assert row["difference"] == pytest.approx(costs[row["first"]] - costs[row["second"]])
    assert sum(NOTE in sentence for sentence in found.limits()) == 1
