"""Tests of Algorithm 3 of Chapelle et al. (2009), against loops and its limit, and of its errors."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyterrier_cwla import evaluate
from pyterrier_cwla.behaviour.clicks.click_positions import click_metrics
from pyterrier_cwla.behaviour.logs.log import InteractionLog
from pyterrier_cwla.errors import BadParameter, BadRatings
from pyterrier_cwla.studies.users import virtual_pairs
from pyterrier_cwla.studies.users.virtual_pairs import plot_virtual_systems, virtual_systems
from tests.support.intervals import ends
from tests.support.messages import refused

NUMBERS = ["repeated", "limit", "limit_low", "limit_high", "across"]


def made(seed=0, queries=30):
    rng = np.random.default_rng(seed)
    topic = np.repeat(np.arange(queries), rng.integers(1, 6, queries))
    level = rng.normal(0, 2, queries)[topic]
    x, other, noise = rng.normal(size=(3, len(topic)))
    table = pd.DataFrame({"topic": topic, "ERR": x + level, "nDCG": other + level, "clicks": 0.5 * x + noise - level})
    table = table.assign(topic=[f"t{t}" for t in topic], n=rng.integers(1, 9, len(topic)))
    return table.sample(frac=1, random_state=seed, ignore_index=True)


def slow_limit(values, x, y):
    """Compute Σ S_xy / √(Σ S_xx · Σ S_yy), where S is half the mean squared difference over all pairs of a query."""
    sums = np.zeros(3)
    for _, rows in values.groupby("topic"):
        pairs = list(itertools.combinations(rows[[x, y]].to_numpy().tolist(), 2))
        for (xa, ya), (xb, yb) in pairs:
            sums += np.array([(xa - xb) * (ya - yb), (xa - xb) ** 2, (ya - yb) ** 2]) / len(pairs)
    return sums[0] / np.sqrt(sums[1] * sums[2])


def slow_repetitions(values, x, y, repeats, seed):
    """Run Algorithm 3, line by line."""
    rng = np.random.default_rng(seed)
    queries = [rows[[x, y]].to_numpy() for _, rows in values.groupby("topic") if len(rows) >= 2]
    differences = []
    for _ in range(repeats):
        a, b = [], []
        for of_query in queries:
            c1, c2 = rng.choice(len(of_query), 2, replace=False)
            a.append(of_query[c1])
            b.append(of_query[c2])
        differences.append(np.mean(a, axis=0) - np.mean(b, axis=0))
    return np.corrcoef(np.array(differences).T)[0, 1]


@pytest.mark.parametrize("scale", [1, 1e-12, 1e-8, 1e8])
def test_the_limit_is_that_of_all_pairs_in_any_unit(scale):
    values = made()
    scaled = values.assign(**{name: scale * values[name] for name in ("ERR", "nDCG", "clicks")})
    found, expected = (virtual_systems(of, "clicks").table.set_index("measure") for of in (scaled, values))
    np.testing.assert_allclose(found[NUMBERS], expected[NUMBERS], rtol=0, atol=1e-12)
    for name in ("ERR", "nDCG"):
        assert found.loc[name, "limit"] == pytest.approx(slow_limit(values, name, "clicks"), abs=1e-12)
        kept = values[values.groupby("topic")["topic"].transform("size") >= 2]
        assert found.loc[name, "across"] == pytest.approx(kept[name].corr(kept["clicks"]), abs=1e-12)


@pytest.mark.slow
def test_repetitions_come_to_the_limit_as_the_loops_do():
    """Standard errors of the correlations are at most 1/√repeats."""
    values = made(1)
    limit = slow_limit(values, "ERR", "clicks")
    assert slow_repetitions(values, "ERR", "clicks", 300, 0) == pytest.approx(limit, abs=4 / np.sqrt(300))
    for repeats in (1000, 100_000):
        found = virtual_systems(values, "clicks", measures=["ERR"], repeats=repeats).table
        assert found["repeated"][0] == pytest.approx(limit, abs=4 / np.sqrt(repeats))
    # For one query with three configurations, all six ordered pairs are equally frequent
    drawn = virtual_pairs._drawn(np.array([[0.0], [1.0], [3.0]]), np.array([0]), np.array([3]), 60_000, seed=0)
    values, counts = np.unique(drawn, return_counts=True)
    assert values.tolist() == [-3, -2, -1, 1, 2, 3]
    assert counts == pytest.approx(np.full(6, 10_000), abs=500)


def test_levels_of_queries_do_not_matter():
    """Some queries score higher and get fewer clicks, so the correlation over all configurations has the wrong sign."""
    values = made(2, queries=60)
    row = virtual_systems(values, "clicks", measures=["ERR"]).table.iloc[0]
    assert row["across"] < 0 < row["limit"]
    lifted = values.assign(ERR=values["ERR"] + 100 * pd.factorize(values["topic"])[0])
    again = virtual_systems(lifted, "clicks", measures=["ERR"]).table.iloc[0]
    assert again["limit"] == pytest.approx(row["limit"], abs=1e-9)
    assert again["repeated"] == pytest.approx(row["repeated"], abs=1e-9)
    values = made(3)
    single = values.groupby("topic")["topic"].transform("size") == 1
    found = virtual_systems(values, "clicks")
    assert found.about["left_out"] == single.sum() > 0
    assert found.about["queries"] == values["topic"].nunique() - single.sum()
    assert any(f"{single.sum():,} of {values['topic'].nunique():,}" in limit for limit in found.limits())
    without = virtual_systems(values[~single], "clicks")
    pd.testing.assert_frame_equal(found.table, without.table)


def test_the_interval_is_that_of_resampled_queries():
    values = made(4)
    found = virtual_systems(values, "clicks", measures=["ERR"], resamples=400).table.iloc[0]
    assert found["limit_low"] < found["limit"] < found["limit_high"]
    rng = np.random.default_rng(5)
    of_query = [np.cov(rows["ERR"], rows["clicks"]) for _, rows in values.groupby("topic") if len(rows) >= 2]
    drawn = []
    for _ in range(400):
        sums = sum(of_query[g] for g in rng.integers(len(of_query), size=len(of_query)))
        drawn.append(sums[0, 1] / np.sqrt(sums[0, 0] * sums[1, 1]))
    slow = ends(found["limit"], drawn, len(of_query))
    assert [found["limit_low"], found["limit_high"]] == pytest.approx(slow, abs=0.06)


@given(st.integers(0, 10**6))
def test_a_measure_that_is_the_target_correlates_fully(seed):
    values = made(seed, queries=8)
    if values.groupby("topic").size().max() < 2:
        return
    same = values.assign(same=3 * values["clicks"] + 1)
    row = virtual_systems(same, "clicks", measures=["same"], resamples=100).table.iloc[0]
    assert row[NUMBERS].tolist() == pytest.approx([1] * 5)


def test_findings_say_what_does_not_vary():
    """A measure that never differs within a query has no correlation of differences, but one across queries."""
    values = made().assign(flat=lambda v: pd.factorize(v["topic"])[0] / 3)
    found = virtual_systems(values, "clicks", measures=["flat", "ERR"])
    row = found.table.iloc[0]
    assert row[["repeated", "limit"]].isna().all()
    assert np.isfinite(row["across"])
    assert found.findings()[0].startswith("clicks: ERR agrees best on differences")
    assert found.findings()[1] == "clicks: flat never differ between lists of the same topic."
    nothing = virtual_systems(values, "flat", measures=["ERR"])
    assert "there is no correlation of differences" in nothing.findings()[0]
    assert "nan" not in str(nothing)
    nothing.pictures()["virtual_systems_1"].draw(None)


def test_many_columns_and_queries_are_summed_in_parts(monkeypatch):
    values = made(5).assign(more=lambda v: v["ERR"] ** 2, clicks2=lambda v: v["clicks"] ** 3)
    whole = virtual_systems(values, ["clicks", "clicks2"]).table
    monkeypatch.setattr(virtual_pairs, "_CELLS", 7)
    found = virtual_systems(values, ["clicks", "clicks2"]).table  # draws depend on the size of the parts
    pd.testing.assert_frame_equal(found.drop(columns="repeated"), whole.drop(columns="repeated"))
    several = virtual_systems(values, "clicks2", measures=["more"]).table.iloc[0]
    assert several["limit"] == pytest.approx(slow_limit(values, "more", "clicks2"), abs=1e-12)


def test_configurations_of_click_metrics_are_compared():
    """Users see three documents of one of five topics each."""
    rng = np.random.default_rng(0)
    rows = [
        (f"u{s}", "1", f"t{s % 5}", rank, f"d{d}", bool(rng.random() < 0.5 / rank), int(d))
        for s in range(60)
        for rank, d in enumerate(rng.permutation(list("012")), 1)
    ]
    rows = pd.DataFrame(rows, columns=["user", "session", "topic", "rank", "docno", "clicked", "grade"])
    clicks = click_metrics(InteractionLog.of(rows), depth=3)
    scores = evaluate(clicks.qrels, clicks.run, ["ERR@3", "nDCG@3"], by_query=True).droplevel("run")
    found = virtual_systems(scores.join(clicks.configurations), ["QCTR", "MaxRR"], measures=["ERR@3", "nDCG@3"])
    assert found.matrix().shape == (2, 2)
    assert found.matrix().index.tolist() == ["QCTR", "MaxRR"]
    refused(lambda: found.matrix("limits"), "'limits' is no column. Near: 'limit'", BadParameter)
    refused(lambda: found.matrix("measure"), "'measure' is no column. ", BadParameter)
    assert set(found.pictures()) == {"virtual_systems_1", "virtual_systems_2"}
    found = virtual_systems(made(), "clicks")
    axes = found.pictures()["virtual_systems_1"].draw(None)
    dots = next(line for line in axes.get_lines() if line.get_marker() == "o")
    assert dots.get_xdata().tolist() == found.of("clicks")["limit"].tolist()
    assert [label.get_text() for label in axes.get_yticklabels()] == found.of("clicks")["measure"].tolist()
    assert plot_virtual_systems(found).get_xlabel().startswith("correlation with clicks")
    assert "two virtual systems" in str(found)


@pytest.mark.parametrize(("values", "more", "error", "says"), [
    ([1, 2], {}, BadRatings, "a DataFrame, not list"),
    (made(), {"target": "click"}, BadRatings, "no column 'click'. Near: 'clicks'"),
    (made(), {"topic": "query"}, BadRatings, "no column 'query'"),
    (made(), {"measures": []}, BadRatings, "no column of scores"),
    (made().assign(ERR=np.nan), {}, BadRatings, "'ERR' has 'nan' in row 0"),
    (made().drop_duplicates("topic"), {}, BadRatings, "no topic"),
    (pd.concat([made(), made()[["ERR"]]], axis=1), {}, BadRatings, "more than one column 'ERR'"),
    (pd.concat([made(), made()[["topic"]]], axis=1), {}, BadRatings, "more than one column 'topic'"),
    (made(), {"repeats": 1}, BadParameter, "repeats=1"),
    (made(), {"confidence": 95}, BadParameter, "confidence=95"),
])  # fmt: skip
def test_what_cannot_be_compared_is_an_error(values, more, error, says):
    refused(lambda: virtual_systems(values, **{"target": "clicks", **more}), says, error)
