"""Tests of machine judges on labels whose errors are known: perfect, random, unfair, and probabilities of known error."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy.stats import kendalltau, t, ttest_1samp
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa

from pyterrier_cwla import Expected, evaluate
from pyterrier_cwla.errors import BadJudgments, BadParameter
from pyterrier_cwla.studies import judge_agreement, plot_favoured
from pyterrier_cwla.studies.correlation import tau, times_drawn
from pyterrier_cwla.studies.systems.machine_judges import kappas
from tests.studies.incomplete_judgments.test_robustness import generated
from tests.support.messages import refused

MEASURES = {"nDCG@10": "nDCG@10", "RBP": "RBP(p=0.8,rel=1)", "P@10": "P@10"}


def relabelled(grades, label, seed=2):
    """Return labels from grades by a function of query, document, grade and a generator of random numbers."""
    rng = np.random.default_rng(seed)
    return {q: {d: label(q, d, g, rng) for d, g in of.items()} for q, of in grades.items()}


def noisy(q, d, grade, rng):
    """Return the grade, or in 30 % of cases a neighbour of it."""
    return int(np.clip(grade + rng.choice([-1, 0, 1], p=[0.15, 0.7, 0.15]), 0, 2))


PEOPLE, RUNS = generated(queries=25, runs=20, depth=30, documents=60, judged=60)
NOISY = relabelled(PEOPLE, noisy)


@pytest.fixture(scope="module")
def study():
    return judge_agreement(PEOPLE, NOISY, RUNS, MEASURES, best=6, resamples=100)


def test_a_perfect_judge_agrees_in_everything():
    found = judge_agreement(PEOPLE, PEOPLE, RUNS, MEASURES, best=5, resamples=100)
    assert found.orders[["tau_b", "tau_b_low", "tau_b_high", "tau_b_best", "slope"]].to_numpy() == pytest.approx(1)
    assert found.labels[["kappa_low", "kappa_linear_low"]].to_numpy().tolist() == [[1, 1]]
    assert (found.favoured[["difference", "low", "high", "p_corrected"]] == [0, 0, 0, 1]).all(axis=None)
    assert found.headline() == (
        "machine and people agree on the order of 20 runs by nDCG@10 with a Kendall's τ_b of 1.00, among the 5 best runs"
        " 1.00."
    )


def test_a_judge_that_favours_one_run_is_found():
    """The judge gives the highest grade to non-relevant documents that only this run returns."""
    own = [f"own{d}" for d in range(10)]
    people, machine = ({q: of | dict.fromkeys(own, g) for q, of in all.items()} for all, g in ((PEOPLE, 0), (NOISY, 2)))
    runs = {**RUNS, "ours": {q: {d: -float(rank) for rank, d in enumerate(own)} for q in PEOPLE}}
    found = judge_agreement(people, machine, runs, ["RR", "P@10"], resamples=100)
    row = found.favoured.query("measure == 'P@10'").set_index("run").loc["ours"]
    assert row["difference"] > row["low"] > 0
    assert row["p_corrected"] < 0.001
    shown = found.favours(measure="P@10", k=1)
    assert shown["run"][0] == "ours"
    assert len(shown) == 2
    assert "most by RR: ours +0." in str(found)


def test_intervals_and_tests_of_favoured_runs_are_those_of_student():
    found = judge_agreement(PEOPLE, NOISY, RUNS, ["P@10"], resamples=100, confidence=0.9)
    by_query = [
        evaluate(of, RUNS, ["P@10"], by_query=True)["P@10"].to_numpy().reshape(20, 25) for of in (PEOPLE, NOISY)
    ]
    above = by_query[1] - by_query[0]
    above = above - above.mean(axis=0)
    rows = found.favoured.set_index("run")
    for number, of_run in enumerate(above):
        row = rows.loc[f"run{number}"]
        half = t.ppf(1 - 0.1 / 40, 24) * of_run.std(ddof=1) / 5
        p = ttest_1samp(of_run, 0).pvalue
        expected = [of_run.mean(), of_run.mean() - half, of_run.mean() + half, p, min(1, 20 * p)]
        assert row[["difference", "low", "high", "p", "p_corrected"]].tolist() == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
def test_intervals_are_those_of_resampled_topics(study):
    by_query = [evaluate(of, RUNS, ["P@10"], by_query=True)["P@10"].unstack() for of in (PEOPLE, NOISY)]
    best, topics, drawn = evaluate(PEOPLE, RUNS, ["P@10"])["P@10"].nlargest(6).index, list(PEOPLE), []
    for times in times_drawn(25, 100, 0).T.astype(int):
        chosen = np.repeat(topics, times)
        y, x = (of[chosen].mean(axis=1).round(12) for of in by_query)
        pairs = [(PEOPLE[q][d], NOISY[q][d]) for q in chosen for d in PEOPLE[q]]
        drawn.append([kendalltau(x, y).statistic, kendalltau(x[best], y[best]).statistic,
                      cohen_kappa_score(*zip(*pairs), weights="linear")])  # fmt: skip
    half = t.ppf(0.975, 24) * np.std(drawn, axis=0, ddof=1)
    row = study.orders.set_index("measure").loc["P@10"]
    assert row["tau_b"] - row["tau_b_low"] == pytest.approx(half[0], abs=1e-9)
    assert row["tau_b_best_low"] == pytest.approx(max(row["tau_b_best"] - half[1], -1), abs=1e-9)
    labels = study.labels.iloc[0]
    assert labels["kappa_linear_high"] - labels["kappa_linear"] == pytest.approx(half[2], abs=1e-9)


def test_kappa_and_orders_are_those_of_libraries(study):
    pairs = np.array([(PEOPLE[q][d], NOISY[q][d]) for q in PEOPLE for d in PEOPLE[q]]).T
    row = study.labels.iloc[0]
    assert row["documents"] == 1500
    assert row["equal"] == (pairs[0] == pairs[1]).mean()
    assert row["kappa"] == pytest.approx(cohen_kappa_score(*pairs))
    assert row["kappa_linear"] == pytest.approx(cohen_kappa_score(*pairs, weights="linear"))
    table = study.confusion.pivot_table("documents", "machine", "human").to_numpy()
    assert row["kappa_linear"] == pytest.approx(cohens_kappa(table, wt="linear").kappa)
    assert table.sum(axis=1).tolist() == np.bincount(pairs[1]).tolist()
    random = np.random.default_rng(0).integers(0, 30, (5, 4, 4))
    for one, value in zip(random, kappas(random)["kappa"]):
        assert value == pytest.approx(cohens_kappa(one).kappa)
    assert np.isnan(kappas(np.array([[3, 0], [0, 0]]))["kappa"])
    assert "with linear weights" in str(study)
    human, machine = (evaluate(of, RUNS, MEASURES).round(10) for of in (PEOPLE, NOISY))
    for row in study.orders.itertuples():
        x, y = machine[row.measure], human[row.measure]
        best = y.nlargest(6).index
        assert row.tau_b == pytest.approx(kendalltau(x, y).statistic)
        assert row.tau_ap == pytest.approx(float(tau(x, y, "ap")))
        assert row.tau_b_best == pytest.approx(kendalltau(x[best], y[best]).statistic)
        assert row.slope == pytest.approx(np.polyfit(y, x, 1)[0])
    people = relabelled(PEOPLE, lambda q, d, grade, rng: int((int(d[1:]) < 40) == int(q) % 2))
    opposite = relabelled(people, lambda q, d, grade, rng: 1 - grade)
    row = judge_agreement(people, opposite, RUNS, ["P@10"], resamples=100).labels.iloc[0]
    assert row["kappa_low"] == -1 < row["kappa"] < -0.99


def test_different_scales_need_a_threshold():
    binary = relabelled(PEOPLE, lambda q, d, grade, rng: int(grade >= 2))
    how = {"resamples": 100, "best": 5}
    said = "labels of people go up to 2 and those of 'machine' up to 1, and κ needs one scale"
    refused(lambda: judge_agreement(PEOPLE, binary, RUNS, MEASURES, **how), said, BadParameter)
    by_judge = judge_agreement(PEOPLE, binary, RUNS, MEASURES, threshold={"human": 2, "machine": 1}, **how)
    assert by_judge.labels["kappa"].tolist() == [1]
    assert by_judge.labels["compared"].tolist() == ["relevant from 2 by people, from 1 by the machine"]
    assert by_judge.orders["tau_b"].tolist() == pytest.approx([1, 1, 1])
    without = judge_agreement(PEOPLE, binary, RUNS, MEASURES, threshold={}, **how)
    assert without.labels["kappa"].isna().all()
    assert without.confusion.empty
    assert "Labels of people and machine have different scales, and no κ without threshold=." in without.limits()
    assert without.orders["tau_b"][0] < 1
    assert set(without.pictures()) == {"orders", "favoured"}
    same = judge_agreement(PEOPLE, binary, RUNS, MEASURES, threshold={"machine": None}, **how)
    pairs = [(PEOPLE[q][d], binary[q][d]) for q in PEOPLE for d in PEOPLE[q]]
    assert same.labels["kappa"].tolist() == pytest.approx([cohen_kappa_score(*zip(*pairs))])
    assert same.labels["compared"].tolist() == ["grades up to 2"]
    found = judge_agreement(PEOPLE, NOISY, RUNS, MEASURES, threshold=2, resamples=100)
    people, machine = ({q: {d: int(g >= 2) for d, g in of.items()} for q, of in all.items()} for all in (PEOPLE, NOISY))
    before = judge_agreement(people, machine, RUNS, MEASURES, resamples=100)
    pd.testing.assert_frame_equal(found.orders, before.orders)
    pd.testing.assert_frame_equal(found.favoured, before.favoured)
    pd.testing.assert_frame_equal(found.labels.drop(columns="compared"), before.labels.drop(columns="compared"))
    assert "with linear weights" not in str(found)


def probabilities(p_of, seed=4):
    """Return people's binary labels, drawn with probability p, and the machine's probabilities p_of(p)."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(
        {"query_id": np.repeat([str(q) for q in range(25)], 60), "doc_id": [f"d{d}" for d in range(60)] * 25}
    )
    p = rng.random(len(rows))
    people = rows.assign(relevance=(rng.random(len(rows)) < p).astype(int))
    return people, rows.assign(p_relevant=p_of(p))


def test_probabilities_are_calibrated():
    people, honest = probabilities(lambda p: p)
    certain = probabilities(lambda p: np.where(p > 0.5, 0.95, 0.05))[1]
    runs = dict(list(RUNS.items())[:6])
    found = judge_agreement(people, {"honest": honest, "certain": certain}, runs, ["RR", "P@10"], bins=5, resamples=100)
    error = found.labels.set_index("judge")["calibration_error"]
    assert error["honest"] < 0.05
    assert error["certain"] == pytest.approx(0.2, abs=0.04)  # people call a quarter and three quarters relevant
    rows = found.calibration.query("judge == 'honest'")
    assert rows["label_to"].tolist() == pytest.approx([0.2, 0.4, 0.6, 0.8, 1])
    assert rows["documents"].sum() == 1500
    assert rows["relevant"].to_numpy() == pytest.approx([0.1, 0.3, 0.5, 0.7, 0.9], abs=0.06)
    assert (rows["relevant_low"] < rows["relevant"]).all()
    assert (rows["relevant"] < rows["relevant_high"]).all()
    assert len(found.calibration.query("judge == 'certain'")) == 2
    assert found.labels["kappa"].isna().all()
    assert found.labels["compared"].tolist() == ["no grades"] * 2
    means = evaluate(honest, runs, [Expected(measure="RR"), Expected(measure="P@10")])
    scores = found.favoured.query("judge == 'honest'").pivot_table("machine", "run", "measure")
    assert scores["RR"].to_dict() == pytest.approx(means["Expected(measure='RR')"].to_dict())
    assert "Expected scores by honest, certain take labels as independent" in str(found)
    people, honest = probabilities(lambda p: p)
    graded = honest.assign(p_0=1 - honest["p_relevant"], p_1=honest["p_relevant"] / 2, p_2=honest["p_relevant"] / 2)
    runs = dict(list(RUNS.items())[:4])
    named = {"one": honest.assign(p_relevant=honest["p_relevant"] / 2), "two": graded.drop(columns="p_relevant")}
    found = judge_agreement(people, named, runs, ["P@10"], threshold={"two": 2}, resamples=100)
    one, two = (of.drop(columns="judge").reset_index(drop=True) for _, of in found.calibration.groupby("judge"))
    pd.testing.assert_frame_equal(one, two)
    pd.testing.assert_series_equal(*(of.reset_index(drop=True) for _, of in found.orders.groupby("judge")["tau_b"]))
    decimal = relabelled(PEOPLE, lambda q, d, grade, rng: grade + int(100 * rng.random()) / 100)
    plain = judge_agreement(PEOPLE, decimal, RUNS, ["RBP(rel=1)"], bins=3, resamples=100)
    assert plain.labels["kappa"].isna().all()
    assert plain.labels["calibration_error"].isna().all()
    assert plain.calibration["relevant"].tolist() == pytest.approx([0, 1, 1], abs=0.03)
    binary = judge_agreement(PEOPLE, decimal, RUNS, ["RBP(rel=1)"], bins=3, threshold=1, resamples=100)
    assert binary.labels["kappa"].tolist() == [1]
    pd.testing.assert_frame_equal(binary.calibration, plain.calibration)
    assert set(binary.pictures()) == {"orders", "favoured", "confusion", "calibration"}
    (curve,) = binary.pictures()["calibration"].draw(Figure().subplots()).get_lines()
    assert curve.get_xdata().tolist() == binary.calibration["label"].tolist()


def test_judges_side_by_side_are_those_alone(study):
    found = judge_agreement(PEOPLE, {"one": NOISY, "two": PEOPLE}, RUNS, MEASURES, best=6, resamples=100)
    for name in ("orders", "favoured", "labels", "confusion"):
        both, alone = getattr(found, name), getattr(study, name)
        one = both[both["judge"] == "one"].drop(columns="judge").reset_index(drop=True)
        pd.testing.assert_frame_equal(one, alone.drop(columns="judge"))
    names = [text.get_text() for text in found.pictures()["orders"].draw(Figure((7, 4)).subplots()).get_yticklabels()]
    assert names[:2] == ["nDCG@10 · one", "nDCG@10 · two"]


def test_where_less_is_better_a_favoured_run_has_lower_scores():
    found = judge_agreement(PEOPLE, NOISY, RUNS, ["ESL", "P@10"], resamples=100)
    rows = found.favoured.query("measure == 'ESL'")
    raw = rows["machine"] - rows["human"]
    assert rows["difference"].tolist() == pytest.approx((raw.mean() - raw).tolist())
    assert found.orders["tau_b"][0] > 0.3
    assert any("Of ESL, less is better" in one for one in found.limits())


def test_documents_of_one_side_and_measures_without_an_order_are_said():
    machine = {q: dict(list(of.items())[: 50 if q == "0" else 60]) for q, of in NOISY.items() if q != "3"}
    people = {q: of for q, of in PEOPLE.items() if q != "5"}
    found = judge_agreement(people, machine, RUNS, MEASURES, resamples=100)
    assert found.about["queries"] == 23
    assert found.about["topics_left_out"] == 2
    assert found.labels[["documents", "human_only", "machine_only"]].to_numpy().tolist() == [[23 * 60 - 10, 10, 0]]
    assert "Left out: 2 topics that people and machines did not all judge." in found.limits()
    assert any("machine (10 by people only, 0 by the machine only)" in one for one in found.limits())
    binary = relabelled(PEOPLE, lambda q, d, grade, rng: int(grade >= 2))
    found = judge_agreement(PEOPLE, binary, RUNS, ["RR(rel=2)", "P@10"], threshold={}, resamples=100)
    assert np.isnan(found.orders["tau_b"][0])
    assert found.headline().startswith("By RR(rel=2), people or machines give all runs the same score")
    assert "By these measures, people or machine give all runs the same score: RR(rel=2) (machine)." in found.limits()


def test_pictures_show_the_numbers_that_stand_beside_them(study):
    for picture in study.pictures().values():
        assert "20 runs, 25 topics" in picture.caption
        ax = picture.draw(given := Figure(figsize=picture.size, layout="constrained").subplots())
        assert ax is given
        assert "20 runs, 25 topics" in " ".join(ax.get_title(loc="left").split())
    assert study.pictures()["favoured"].title == f"Runs that machine favours by {study.favours()['measure'][0]}"
    ax = plot_favoured(study, "machine", "P@10", k=3, ax=Figure().subplots())
    data = study.favours("machine", "P@10", k=3)
    assert [text.get_text() for text in ax.get_yticklabels()] == data["run"].tolist()
    assert ax.get_lines()[-1].get_xdata().tolist() == data["difference"].tolist()


def test_what_cannot_be_is_said(study):
    def given(human=PEOPLE, machine=NOISY, runs=RUNS, measures="P@10", **how):
        return lambda: judge_agreement(human, machine, runs, [measures], resamples=100, **how)

    refused(given(machine={}), "machine= has judgments of machines by name", BadParameter)
    refused(given(machine={"human": NOISY}), "'human' is the name of people", BadParameter)
    refused(given(threshold={"machin": 1}), "'machin' is no judge. Near: 'machine'", BadParameter)
    refused(given(threshold="1"), "must be the lowest relevant label, or a dict of these by judge", BadParameter)
    refused(given(best=1), "best=1 must be a whole number from 2", BadParameter)
    refused(given(bins=0), "bins=0 must be a whole number from 1", BadParameter)
    refused(given(runs={name: RUNS[name] for name in ("run0", "run1")}), "at least 3 by name, not 2 runs", BadParameter)
    refused(given(machine={"0": NOISY["0"]}), "people and machines judged '0' in common: two are needed", BadJudgments)
    refused(given(machine={"x": {"a": {"d": 1}}}), "judged no topic in common", BadJudgments)
    other = {q: {f"other {d}": g for d, g in of.items()} for q, of in PEOPLE.items()}
    refused(given(machine=other), "judged no document in common. Are their ids written alike?", BadJudgments)
    people, machine = probabilities(lambda p: p)
    refused(given(machine, people), "people's labels are grades", BadJudgments)
    high = {"gpt": relabelled(PEOPLE, lambda q, d, grade, rng: 7 if grade == 2 else grade)}
    refused(given(machine=high, measures="ERR", threshold={}), "gpt: topic '0': 'd", BadJudgments)
    refused(lambda: study.favours("gpt"), "'gpt' is no judge of this study", BadParameter)
    refused(lambda: study.favours(measure="AP"), "'AP' is no measure of this study", BadParameter)


@pytest.mark.slow
@pytest.mark.real_data
def test_gpt4_agrees_less_on_the_best_runs_of_trec_2021(data):
    """τ_b over all 63 runs is .86 to .92; among the best 15 it is high for nDCG@10 and RBP only."""
    folder = data / "machine-judges"
    runs = dict(tuple(pd.read_parquet(folder / "runs.parquet").groupby("run")))
    measures = {"nDCG@10": "nDCG@10", "RR": "RR(rel=2)", "P@10": "P(rel=2)@10",
                "RBP": "CWLA(C='rbp(0.5)',A='erg',max_rel=3)", "max": "CWLA(C='rbp(0.8)',A='max',max_rel=3)",
                "ERR": "CWLA(C='rr',A='err',gain='exponential',max_rel=3)"}  # fmt: skip
    found = judge_agreement(folder / "people.qrels", folder / "umbrela_gpt4.qrels", runs, measures, resamples=100)
    rows = found.orders.set_index("measure").round(2)
    assert rows["tau_b"].between(0.86, 0.92).all()
    assert rows["tau_b_best"].to_dict() == pytest.approx(
        {"nDCG@10": 0.90, "RBP": 0.96, "RR": 0.63, "P@10": 0.65, "ERR": 0.66, "max": 0.65}
    )
