"""Estimates by a machine's judgments that people's correct: formulas, coverage, and tables."""

import json
import math
from itertools import product

import numpy as np
import pandas as pd
import polars
import pytest
from ir_measures import ScoredDoc
from scipy.stats import t

from pyterrier_cwla import CWLAWarning
from pyterrier_cwla.errors import BadJudgments, BadParameter
from pyterrier_cwla.evaluation import corrected
from pyterrier_cwla.evaluation.correction import estimated
from tests.support.messages import refused


def scores(seed=1, n=12, N=40, rows=3):
    """Return people's and a machine's scores of n topics, and the machine's of N topics with these first."""
    rng = np.random.default_rng(seed)
    everywhere = rng.normal(size=(rows, N))
    return 0.4 * everywhere[:, :n] + rng.normal(size=(rows, n)) / 3 + 0.2, everywhere[:, :n], everywhere


def by_loop(h, m, everywhere, these, lam=None):
    """Return λ, estimate and error of one row, from sums; λ may be given."""
    n, N = len(h), len(everywhere)
    mean_h, mean_m, mean_all = sum(h) / n, sum(m) / n, sum(everywhere) / N
    fitted = sum((a - mean_h) * (b - mean_m) for a, b in zip(h, m)) / sum((b - mean_m) ** 2 for b in m)
    shift = (mean_all - mean_m) ** 2 / sum((b - mean_m) ** 2 for b in m) if lam is None else 0
    lam = fitted if lam is None else lam
    d = [a - lam * b for a, b in zip(h, m)]
    s2 = sum((one - sum(d) / n) ** 2 for one in d) / (n - 2)
    variance = s2 * (1 / n - (1 / N if these else 0) + shift)
    if not these:
        variance += lam**2 * sum((b - mean_all) ** 2 for b in everywhere) / (N - 1) / N
        variance += 2 * lam * sum((a - sum(d) / n) * (b - mean_m) for a, b in zip(d, m)) / n / N
    return lam, mean_h + lam * (mean_all - mean_m), math.sqrt(variance)


def test_estimates_are_those_of_plain_sums_and_of_prediction_powered_inference():
    """Weights stand for probabilities of being sampled: a topic that was chosen with half of it counts as two."""
    h, m, everywhere = scores()
    for these, lam in product((False, True), (None, 0.7)):
        found = estimated(h, m, everywhere, these=these, weight=lam)
        wanted = np.array([by_loop(*(one.tolist() for one in row), these, lam) for row in zip(h, m, everywhere)])
        assert np.column_stack([found.weight, found.mean, found.error]) == pytest.approx(wanted, rel=1e-12)
    share = np.array([2.0] + [1.0] * 11) / 13
    twice = np.column_stack([h[:, :1], h]), np.column_stack([m[:, :1], m])
    assert estimated(h, m, everywhere, share).mean == pytest.approx(estimated(*twice, everywhere).mean)
    # On disjoint topics, λ·m̄_others + mean(h − λ·m) is λ/(1 + n/N_others) of a part of all topics.
    h, m, everywhere = scores(rows=1)
    n, others = h.shape[1], everywhere[:, h.shape[1] :]
    lam = 0.31
    disjoint = lam * others.mean() + (h - lam * m).mean()
    here = estimated(h, m, everywhere, weight=lam * (1 + n / others.shape[1]))
    assert here.mean[0] == pytest.approx(disjoint, rel=1e-12)
    ppi = pytest.importorskip("ppi_py")
    theirs = ppi.ppi_mean_pointestimate(h[0], m[0], others[0])  # with its own λ
    both = np.concatenate([m[0], others[0]])
    covariance = ((h[0] - h.mean()) * (m[0] - m.mean())).mean()
    its = np.clip(covariance / ((1 + n / others.shape[1]) * both.var(ddof=1)), 0, 1)
    ours = estimated(h, m, everywhere, weight=its * (1 + n / others.shape[1]))
    assert ours.mean[0] == pytest.approx(float(np.ravel(theirs)[0]), rel=1e-12)


def test_equal_scores_have_no_spread():
    """The mean of n equal floats may differ from them in the last digit. A machine that says nothing has no weight."""
    for value, n in product((1.0, 1 / 3), (11, 20, 24)):
        h = scores(n=n, rows=1)[0]
        machine = np.full((1, n), value)
        found = estimated(h, machine, np.column_stack([machine, [[0.7] * 9]]))
        assert (found.weight[0], found.mean[0]) == (0, pytest.approx(h.mean()))
        assert found.error[0] == pytest.approx(h.std() / math.sqrt(n - 2))
        assert found.p[0] == pytest.approx(2 * t(n - 2).sf(abs(h.mean() / found.error[0])))
        constant = estimated(machine, h, np.column_stack([h, h]))
        assert (constant.error[0], constant.worth[0], constant.p[0]) == (0, n, 0)


@pytest.mark.slow
@pytest.mark.parametrize("these", [False, True])
def test_intervals_cover_where_hard_topics_were_chosen_more_rarely(these):
    """Topics with larger errors of the machine are chosen with smaller probabilities."""
    rng, N, inside = np.random.default_rng(6), 300, []
    for _ in range(1500):
        hard = rng.random(N)
        m = rng.normal(size=N)
        h = 0.7 * m + rng.normal(size=N) * (0.1 + 2 * hard) + hard
        chance = 60 * (1.3 - hard) / (1.3 - hard).sum()
        chosen = rng.random(N) < chance
        share = 1 / chance[chosen]
        found = estimated(h[None, chosen], m[None, chosen], m[None], share / share.sum(), these=these)
        low, high = found.interval(0.95)
        inside.append(low[0] <= (h.mean() if these else 0.5) <= high[0])
    assert 0.925 < np.mean(inside) < 0.975


def collection(topics=40, judged=24, seed=2):
    """Return people's judgments of some topics, a machine's of all, which errs in a fifth of the cases, and three runs."""
    rng = np.random.default_rng(seed)
    documents = [f"d{number}" for number in range(8)]
    people, machine, runs = {}, {}, {"one": {}, "two": {}, "three": {}}
    for topic in map(str, range(topics)):
        grades = rng.integers(0, 2, 8)
        wrong = rng.random(8) < 0.2
        machine[topic] = dict(zip(documents, np.where(wrong, 1 - grades, grades).tolist()))
        if int(topic) < judged:
            people[topic] = dict(zip(documents, grades.tolist()))
        for number, run in enumerate(runs.values()):
            run[topic] = dict(zip(documents, (grades * number + rng.normal(size=8)).tolist()))
    return people, machine, runs


def test_tables_and_plots_have_the_form_of_those_of_compare():
    """Bars of differences are drawn at their own place: a difference with its own weight is not that of the scores."""
    people, machine, runs = collection()
    found = corrected(people, machine, runs, ["nDCG@5", "RR"])
    assert (found.runs, found.about["test"]) == (["one", "two", "three"], "corrected")
    named = {"score_low", "difference_high", "p_corrected", "p_corrected_corrected", "topics", "topics_of_difference"}
    assert named <= {*found.table}
    text = str(found)
    assert "Means over 40 topics by the machine's judgments, corrected by people's of 24" in text
    assert "Student's t, 22 degrees of freedom" in text
    assert "t-test of the corrected differences" in text
    latex = found.to_latex(layout="list")
    assert "\\caption" in latex
    assert "nan" not in latex
    assert "d\\_z is the mean of the differences of the topics that people judged" in latex
    figure = found.plot()
    assert "mean over 40 topics" in figure.get_suptitle()
    for ax, measure in zip(figure.axes, found.measures, strict=True):
        drawn = sorted(x for line in ax.lines[1:] for x in line.get_xdata())
        differences = found.table[found.table["measure"] == measure]["difference"].fillna(0)
        assert drawn == pytest.approx(sorted(found.scores.loc["one", measure] + differences))
    table = found.table.set_index(["run", "measure"])
    pairs = corrected(people, machine, runs, ["nDCG@5"], pairs=True).table.set_index(["run", "baseline"])
    assert table.loc[("three", "nDCG@5"), "difference"] == pairs.loc[("three", "one"), "difference"]
    assert table.loc[("three", "nDCG@5"), "topics_of_difference"] > 24


def test_all_pairs_and_a_common_weight():
    people, machine, runs = collection()
    pairs = corrected(people, machine, runs, ["nDCG@5"], pairs=True, common=True)
    difference = pairs.table.set_index(["run", "baseline"])["difference"]
    assert difference["three", "one"] == pytest.approx(difference["three", "two"] + difference["two", "one"])
    mean = pairs.scores["nDCG@5"]
    assert difference["two", "one"] == pytest.approx(mean["two"] - mean["one"])
    assert pairs.table[["wins", "ties", "losses"]].sum(axis=1).tolist() == [24, 24, 24]
    assert "topics" in pairs.to_latex(layout="list")
    assert pairs.plot_pairs() is not None
    del runs["three"]  # of two runs, a common weight is that of their difference
    own, common = (corrected(people, machine, runs, ["nDCG@5"], common=common) for common in (False, True))
    columns = ["difference", "difference_low", "difference_high", "p_corrected"]
    assert common.table[columns].iloc[1].tolist() == own.table[columns].iloc[1].tolist()
    assert common.scores.diff().iloc[1, 0] == pytest.approx(own.table["difference"][1])


def test_odd_inputs_are_read():
    people, machine, runs = collection()
    wanted = corrected(people, machine, runs, ["nDCG@5"]).table

    def once(run):
        return (ScoredDoc(topic, d, score) for topic, scores in run.items() for d, score in scores.items())

    found = corrected(people, machine, {name: once(run) for name, run in runs.items()}, ["nDCG@5"]).table
    pd.testing.assert_frame_equal(found, wanted)
    chances = pd.DataFrame({"query_id": range(24), "p_sampled": 0.5})
    found = corrected(people, machine, runs, ["nDCG@5"], sampled=polars.from_pandas(chances)).table
    pd.testing.assert_frame_equal(found, wanted)
    runs["two"] = {topic: scores for topic, scores in runs["two"].items() if topic not in ("1", "30", "31")}
    assert "two (3)." in str(corrected(people, machine, runs, ["nDCG@5"]))
    people = {topic: {d: 2 * grade for d, grade in judged.items()} for topic, judged in people.items()}
    found = corrected(people, machine, runs, ["RBP(rel=2)"], machine_measures=["RBP(rel=1)"])  # of its own scale
    assert found.table["topics_of_difference"].dropna().min() > 24


def test_few_topics_are_warned_of_and_rounding_errors_are_no_differences():
    people, machine, runs = collection(judged=12)
    with pytest.warns(CWLAWarning, match="People judged 12 topics: with fewer than 20"):
        found = corrected(people, machine, runs, ["nDCG@5"])
    assert any("12 topics" in note for note in found.of_topics)
    same = {"one": runs["one"], "copy": runs["one"] | {"0": runs["two"]["0"]}}
    with pytest.warns(CWLAWarning, match="differ on fewer than 10 of these topics for copy and one"):
        corrected(*collection()[:2], same, ["nDCG@5"])
    people, machine, runs = collection()  # differences that are rounding errors
    runs = {"one": runs["one"], "shifted": {t: {d: s + 1 for d, s in run.items()} for t, run in runs["one"].items()}}
    with pytest.warns(CWLAWarning, match="fewer than 10"):
        found = corrected(people, machine, runs, ["RBP(rel=1)"]).table
    assert found["p_corrected"].iloc[1] == 1
    h, m, _ = scores(n=30, N=30)
    assert estimated(h - h.mean(axis=1, keepdims=True), m, m, these=True).p.tolist() == [1, 1, 1]


def test_settings_that_are_refused():
    people, machine, runs = collection()
    few = {topic: people[topic] for topic in "012"}
    corrected({"3": people["3"], **few}, machine, runs, ["RR"])  # enough
    other = {**people, "unknown": people["0"]}
    refused(lambda: corrected({}, machine, runs, ["RR"]), BadJudgments, "the judgments are empty")
    refused(lambda: corrected(few, machine, runs, ["RR"]), BadJudgments, "at least 4")
    refused(lambda: corrected(other, machine, runs, ["RR"]), BadJudgments, "'unknown'", "the machine did not")
    refused(lambda: corrected(people, machine, runs, ["NumRet"]), BadParameter, "NumRet", "means over topics")
    refused(lambda: corrected(people, machine, runs, ["RR"], population="all"), BadParameter, "topics like these")
    refused(lambda: corrected(people, machine, runs, ["RR"], machine_measures=[]), BadParameter)
    refused(lambda: corrected(people, machine, runs, ["RR"], sampled={"0": 0.5}), BadParameter, "'1'", "probability")
    text = dict.fromkeys(people, "often")
    refused(lambda: corrected(people, machine, runs, ["RR"], sampled=text), BadParameter, "often", "probability")
    refused(lambda: corrected(people, machine, runs, ["RR"], least=-1), BadParameter, "least")
    refused(lambda: corrected(runs, machine, people, ["RR"]), BadJudgments, "judgments are given first")
    refused(lambda: corrected(people, machine, runs, ["RR"], baseline="four"), BadParameter, "four")


def test_the_command(prints, says, tmp_path):
    people, machine, runs = collection()
    for name, judged in (("people", people), ("machine", machine)):
        (tmp_path / f"{name}.json").write_text(json.dumps(judged))
    rows = [(name, topic, d, s) for name, run in runs.items() for topic, one in run.items() for d, s in one.items()]
    pd.DataFrame(rows, columns=["run", "query_id", "doc_id", "score"]).to_parquet(tmp_path / "runs.parquet")
    paths = tmp_path / "people.json", tmp_path / "runs.parquet", "--machine", tmp_path / "machine.json"
    found = prints("correct", *paths, "-m", "nDCG@5", "--baseline", "two", "--these-topics")
    assert "no others" in found
    wanted = corrected(people, machine, runs, ["nDCG@5"], "two", population="these topics").table
    assert f"{wanted['difference'].dropna().iloc[0]:+.3f}".replace("-", "−") in found
    assert "\\toprule" in prints("correct", *paths, "-m", "nDCG@5", "--pairs", "--format", "latex")
    assert "The baseline is one, the first run" in prints("correct", *paths, "-m", "nDCG@5")
    (tmp_path / "chances.csv").write_text("query_id,p_sampled\n" + "".join(f"{topic},0.5\n" for topic in people))
    sampled = "--sampled", tmp_path / "chances.csv"
    assert prints("correct", *paths, "-m", "nDCG@5", "--baseline", "two", "--these-topics", *sampled) == found
    assert "is the input" in says("correct", *paths, *sampled, "-o", tmp_path / "chances.csv", "--force")
    assert "no such file" in says("correct", *paths, "--sampled", tmp_path / "none.csv")
    assert "--correction has no effect" in says("correct", *paths, "--no-baseline", "--correction", "none")
