"""Tests of the agreement of measures, against scipy and loops, and of the order and labels of the heat map."""

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy.stats import kendalltau, t

from pyterrier_cwla import evaluate, studies
from pyterrier_cwla.errors import BadParameter
from pyterrier_cwla.studies import metric_agreement, plot_correlations, plot_scatter
from pyterrier_cwla.studies.correlation import rbo, tau, times_drawn
from pyterrier_cwla.studies.systems.metric_correlations import AGREEMENTS
from tests.studies.systems.test_power import systems as better_and_better
from tests.support.messages import refused

MEASURES = ["nDCG@10", "AP", "RR", "Bpref"]


def systems(runs=8, seed=0):
    qrels, found = better_and_better(runs, queries=10, seed=seed, steps=8)
    del found["again"]
    return qrels, found


@pytest.fixture(scope="module")
def study():
    return metric_agreement(*systems(), MEASURES, resamples=100)


def test_correlations_are_those_of_the_means_that_evaluate_gives(study):
    means = evaluate(*systems(), MEASURES)
    assert list(zip(study.table["measure"], study.table["other"], strict=True)) == list(combinations(MEASURES, 2))
    for row in study.table.itertuples():
        x, y = means[row.measure], means[row.other]
        assert row.tau_b == pytest.approx(kendalltau(x, y).statistic, abs=1e-12)
        assert row.tau_ap == pytest.approx(float(tau(x, y, "ap") + tau(y, x, "ap")) / 2)
        assert row.rbo == pytest.approx(float(rbo(x, y)))


@pytest.mark.slow
def test_intervals_use_the_same_resamples_for_all(study):
    by_query = evaluate(*systems(), MEASURES, by_query=True)
    resampled, table = [], study.table
    for times in times_drawn(10, 100, 0).T:
        chosen = np.repeat(np.arange(10), times.astype(int))
        means = {m: [by_query.loc[f"run{r}", m].to_numpy()[chosen].mean() for r in range(8)] for m in MEASURES}
        resampled.append([kendalltau(means[x], means[y]).statistic for x, y in combinations(MEASURES, 2)])
    resampled = np.array(resampled)
    half = t.ppf(0.975, 9) * resampled.std(axis=0, ddof=1)
    for kind in AGREEMENTS:
        low, high = table[f"{kind}_low"], table[f"{kind}_high"]
        assert ((low <= table[kind]) & (table[kind] <= high) & (high <= 1)).all()
    assert (table["rbo_low"] >= 0).all()
    found, lowest = table["tau_b"].to_numpy(), table["tau_b"].idxmin()
    assert table["tau_b_low"].to_numpy() == pytest.approx(np.maximum(found - half, -1), abs=1e-9)
    assert table["tau_b_high"].to_numpy() == pytest.approx(np.minimum(found + half, 1), abs=1e-9)
    above = t.ppf(0.975, 9) * (resampled - resampled[:, [lowest]]).std(axis=0, ddof=1)
    assert table["as_low"].tolist() == (found - found[lowest] <= above).tolist()
    assert table["as_low"][lowest]


def test_the_matrix_puts_alike_measures_together_and_outliers_differ_most(study):
    square = study.matrix("tau_b")
    assert sorted(square) == sorted(MEASURES)
    assert np.diag(square).tolist() == [1] * 4
    assert np.array_equal(square, square.T)
    best = study.table.loc[study.table["tau_b"].idxmax()]
    places = [list(square).index(best[column]) for column in ("measure", "other")]
    assert abs(places[0] - places[1]) == 1
    cells = study.cells("tau_b")
    assert len(cells) == 12
    assert all(square.loc[cell.row, cell.column] == cell.tau_b for cell in cells.itertuples())
    data = study.scatter("AP", "RR", k=2)
    means = evaluate(*systems(), MEASURES)
    ranks = means[["AP", "RR"]].rank(ascending=False)
    assert data["labelled"].tolist() == [True, True] + [False] * 6
    assert data["shift"].tolist() == [ranks.loc[run, "AP"] - ranks.loc[run, "RR"] for run in data["run"]]
    assert data["shift"].abs().is_monotonic_decreasing
    assert data["shift"].abs().iloc[0] == (ranks["AP"] - ranks["RR"]).abs().max()
    assert study.scatter("RR", "Bpref")["labelled"].sum() == 5
    assert f"τ_b = {study.table['tau_b'].min():.3f}. Labelled" in study.pictures()["least_alike"].caption
    assert [table.title for table in study.tables().values()][2:] == ["Scores", "Ranks"]


def test_a_measure_that_scores_all_runs_the_same_correlates_with_none():
    qrels, runs = systems(runs=4)
    found = metric_agreement(qrels, runs, ["AP", "RR", "NumRel"], resamples=100)
    assert found.table["tau_b"].isna().tolist() == [False, True, True]
    assert found.table["tau_b_low"].isna().tolist() == [False, True, True]
    assert found.findings()[0].startswith("AP and RR order the runs with τ_b 0.333, 95\N{NO-BREAK SPACE}% interval")
    assert found.findings()[0].endswith(", 1.000].")
    assert len(found.matrix()) == 3
    nothing = metric_agreement(qrels, runs, {"one": "NumRel", "two": "NumRet"}, resamples=100)
    assert [text.get_text() for text in plot_correlations(nothing, ax=Figure().subplots()).texts] == ["–", "–"]
    assert nothing.findings() == ["No correlation is defined: each measure gives all runs the same score."]


@pytest.mark.slow
def test_pictures_show_the_numbers_that_stand_beside_them(study):
    qrels, runs = systems(runs=4)
    named = {f"measure {n}": f"P@{n}" for n in range(1, 31)}
    few = metric_agreement(qrels, runs, dict(list(named.items())[:9]), resamples=100)
    ax = plot_correlations(few, ax=Figure(figsize=(7, 3)).subplots())
    assert [label.get_text() for label in ax.get_xticklabels()] == list("123456789")
    assert ax.get_yticklabels()[0].get_text() == f"{next(iter(few.matrix()))}  1"
    assert len(ax.texts) == 9 * 8
    ax = plot_correlations(metric_agreement(qrels, runs, named, resamples=100), ax=Figure(figsize=(7, 6)).subplots())
    assert not ax.texts
    assert len(ax.figure.axes) == 2
    for picture in study.pictures().values():
        assert "8 runs, 10 topics" in " ".join(picture.draw(Figure().subplots()).get_title(loc="left").split())
    ax = plot_correlations(study, "rbo", Figure().subplots())
    cells = study.cells("rbo")
    assert sorted(text.get_text() for text in ax.texts) == sorted(f"{value:.2f}" for value in cells["rbo"])
    ax = plot_scatter(study, "AP", "RR", k=3, ax=Figure().subplots())
    assert ax.get_ylabel() == "RR (mean over topics)"
    data = study.scatter("AP", "RR", k=3)
    assert {text.get_text() for text in ax.texts} == set(data.loc[data["labelled"], "run"])
    assert sum(len(line.get_xdata()) for line in ax.get_lines()) == 8


def test_runs_are_said_whose_ranks_differ_or_that_do_not_answer():
    qrels, runs = systems(runs=4, seed=1)
    same = metric_agreement(qrels, runs, {"one": "AP", "two": "AP"}, resamples=100)
    assert "rank these runs most differently" not in str(same)
    assert same.table.loc[0, ["tau_b", "tau_b_low", "tau_b_high", "rbo"]].tolist() == pytest.approx([1, 1, 1, 1])
    found = metric_agreement(qrels, runs, ["AP", "RR"], resamples=100)
    moved = found.scatter("AP", "RR").query("shift != 0").head(3)
    assert len(moved) == 2
    names = ", ".join(f"{row.run} ({row.rank_x:g} by AP, {row.rank_y:g} by RR)" for row in moved.itertuples())
    assert f"AP and RR rank these runs most differently: {names}." in found.findings()
    qrels, runs = systems(runs=4)
    runs["run2"] = {query: runs["run2"][query] for query in "012"}
    runs["run1"] = {query: {} if query == "0" else of for query, of in runs["run1"].items()}
    found = metric_agreement(qrels, runs, ["AP", "RR"], resamples=100)
    assert found.about["unanswered"] == {"run1": 1, "run2": 7}
    said = "Topics that a run does not answer score 0: 8 of 40 pairs of run and topic: run2 (7), run1 (1)."
    assert said in found.limits()
    assert "does not answer" not in str(metric_agreement(*systems(runs=4), ["AP", "RR"], resamples=100))


@pytest.mark.slow
def test_measures_may_be_called_what_columns_are():
    qrels, runs = systems(runs=5)
    named = {"run_": "AP", "shift": "RR", "measure": "P@5", "rank_x": "nDCG@10", "labelled": "Bpref"}
    found = metric_agreement(qrels, runs, named, resamples=100)
    plain = metric_agreement(qrels, runs, list(named.values()), resamples=100)
    for x, y in (("run_", "shift"), ("rank_x", "measure"), ("measure", "labelled")):
        expected = plain.scatter(named[x], named[y])
        assert found.scatter(x, y).to_numpy().tolist() == expected.to_numpy().tolist()
        ax = plot_scatter(found, x, y, ax=Figure().subplots())
        assert sum(len(line.get_xdata()) for line in ax.get_lines()) == 5
    assert list(found.scatter("run_", "measure"))[:3] == ["run", "run_", "measure"]


def test_dollars_are_no_formulas_in_pictures_of_other_studies():
    numbers = {"low": [0.0], "high": [1.0], "limit": [0.5], "limit_low": [0.0], "limit_high": [1.0], "repeated": [0.4],
               "across": [0.3], "falls": [1.0], "correlation": [0.5], "ratings": [7], "part": ["P$x$"]}  # fmt: skip
    rows = pd.DataFrame({"measure": ["A$x$"], **numbers})
    about = {"measures": ["A$x$"], "targets": ["T$x$"], "repeats": 1, "queries": 2, "configurations": 3, "users": None,
             "coefficient": "pearson", "bins": None, "by": "B$x$", "ratings": 7, "what": "list", "labels": None,
             "weighted": False}  # fmt: skip
    study = SimpleNamespace(about=about, of=lambda target: rows, changes=rows, parts=rows, _sizes="")
    for plot, names in (("virtual_systems", "AT"), ("falls", "A"), ("splits", "ABP")):
        ax = getattr(studies, f"plot_{plot}")(study, ax=Figure().subplots())
        of_key = ax.get_legend().get_texts() if ax.get_legend() else []
        labels = (*ax.texts, *of_key, *ax.get_yticklabels(), ax.xaxis.label, ax.yaxis.label, ax.title)
        written = [text.get_text() for text in labels]
        assert not [text for text in written if "$" in text.replace(r"\$", "")]
        assert all(any(rf"{name}\$x\$" in text for text in written) for name in names)


def test_what_cannot_be_is_said(study):
    qrels, runs = systems()
    refused(lambda: metric_agreement(qrels, runs, ["AP"]), "'AP' is the only measure", BadParameter)
    two = {name: runs[name] for name in ("run0", "run1")}
    refused(lambda: metric_agreement(qrels, two, MEASURES), "at least 3 by name, not 2 runs", BadParameter)
    refused(lambda: study.matrix("tau"), "'tau' is no agreement. Near: 'tau_", BadParameter)
    refused(lambda: study.scatter("MAP", "RR"), "'MAP' is no measure of this study. Near: 'AP'", BadParameter)
    refused(lambda: study.scatter("AP", "RR", k=-1), "k=-1", BadParameter)
