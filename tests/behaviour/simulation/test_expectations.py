"""Ranks and gains by time, by loops from Smucker and Clarke (2012), Eq. 4, and preferences of users between two systems."""

import math
from functools import partial

import numpy as np
import pandas as pd
import pytest

from pyterrier_cwla import TBG, CWLAError, register_lengths
from pyterrier_cwla.behaviour import simulate
from pyterrier_cwla.behaviour.simulation.expectations import prefer, progress, times_to_ranks
from pyterrier_cwla.errors import BadParameter, MissingLength
from pyterrier_cwla.rendering.figures import system_looks
from tests.behaviour.simulation.test_simulator import quietly
from tests.support.generated import collection
from tests.support.messages import refused
from tests.support.reference import trec_order

WORDS = register_lengths("words_of_progress", {f"d{i}": 37 * i % 900 for i in range(60)})
TIMED = "TBG(lengths='words_of_progress')"
ONE = {"q": {"a": 1}}
FREE = "TBG(seconds_per_word=0)"


def walked(run, qrels, query, words):
    """Return arrival times and gains of one ranking, by a loop over its documents."""
    grade = {(q, d): g for q, d, g in qrels.itertuples(index=False)}
    arrival, time, gains = [], 0.0, []
    rows = run[run.query_id == query]
    for document in trec_order(list(zip(rows.doc_id, rows.score))):
        relevant = grade.get((query, document), 0) >= 1
        arrival.append(time)
        gains.append(0.64 * 0.77 if relevant else 0.0)
        time += 4.4 + (0.64 if relevant else 0.39) * (0.018 * words[document] + 7.8)
    return arrival, gains, time


def test_ranks_and_gains_by_time_are_those_of_a_walk():
    run, qrels = collection(3, queries=8)
    words = {f"d{i}": 37 * i % 900 for i in range(60)}
    times = [0, 1, 14.5, 60, 200, 1e5]
    table = progress(qrels, run, TIMED, times).table.loc["run"]
    T = times_to_ranks(qrels, run, TIMED, depth=40)
    answered = sorted(set(run.query_id) & set(qrels.query_id))
    assert sorted(T.index) == answered == sorted(table.index.unique("query_id"))
    for query in answered:
        arrival, gains, end = walked(run, qrels, query, words)
        assert T.loc[query].dropna().to_numpy() == pytest.approx(arrival)
        for time in times:
            rank = sum(a <= time for a in arrival)
            row = table.loc[query, time]
            assert row["rank"] == rank
            assert row["gain"] == pytest.approx(sum(gains[:rank]))
            assert row["ended"] == (time >= end)


def test_runs_are_summed_by_topic_by_run_and_in_all():
    run, qrels = collection(4, queries=6)
    runs = {"up": run, "down": run.assign(score=-run.score)}
    found = progress(qrels, runs, TIMED, [30, 90])
    late = found.table["rank"].xs(90, level="time")
    assert found.by()["rank"].loc[90].to_list() == [late.max(), pytest.approx(late.mean()), late.min()]
    assert late.max() > 1
    topic = late.xs("3", level="query_id")
    assert found.by("query_id")["rank"].loc[("3", 90)].to_list() == [topic.max(), topic.mean(), topic.min()]
    gains = found.table["gain"].xs(("down", 30), level=("run", "time"))
    assert found.by("run")["gain"]["mean"].loc[("down", 30)] == pytest.approx(gains.mean())
    one = progress(qrels, runs, TIMED, [30, 90], qid="3")
    assert one.table.equals(found.table[found.table.index.get_level_values("query_id") == "3"])


def test_a_cutoff_ends_the_list_and_other_efforts_have_other_units():
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    found = progress(qrels, run, "CWLA(C='rbp(0.8)',A='erg',max_rel=1)@2", [0, 1, 2])
    assert found.unit == "documents"
    assert found.table["rank"].to_list() == [1, 2, 2]
    assert found.table["ended"].to_list() == [False, False, True]
    assert times_to_ranks(qrels, run, "TBG(seconds_per_word=0)").shape == (1, 10)
    condensed = times_to_ranks({"q": {"a": 1, "c": 0}}, run, "CWLA(C='rbp(0.8)',A='erg',max_rel=1,judged_only=True)", 3)
    assert condensed.loc["q"].to_list() == pytest.approx([0, 1, np.nan], nan_ok=True)


@pytest.mark.every_case
@pytest.mark.parametrize(("call", "error", "says"), [
    (lambda: progress(ONE, ONE, FREE, times=[3, 1]), BadParameter, "must increase"),
    (lambda: progress(ONE, ONE, FREE, times=[-1, 1]), BadParameter, "must increase"),
    (lambda: progress(ONE, ONE, FREE, qid="nine"), CWLAError, "no topic 'nine'"),
    (lambda: progress(ONE, ONE, "Bpref"), BadParameter, "no user model"),
    (lambda: progress(ONE, ONE, "TBG"), MissingLength, "lengths"),
    (lambda: times_to_ranks(ONE, ONE, FREE, depth=0), BadParameter, "depth=0"),
    (lambda: progress(ONE, {}, FREE), CWLAError, "no run has a result"),
    (lambda: progress({**ONE, "r": {"b": 1}}, ONE, FREE, qid="r"), CWLAError, "no run has a result"),
    (lambda: progress(ONE, {"other": {"a": 1.0}}, FREE), CWLAError, "no run has a result"),
])  # fmt: skip
def test_what_cannot_be_walked_is_an_error(call, error, says):
    refused(call, error, says)


def test_pictures_have_minutes_on_the_axis_and_names_beside_lines():
    run, qrels = collection(4, queries=6)
    found = progress(qrels, {"up": run, "down": run.assign(score=-run.score)}, TIMED)
    gains, ranks = found.plot_gains(), found.plot_ranks()
    assert gains.get_ylim()[0] == ranks.get_ylim()[0] == 0
    assert gains.get_xlabel() == ranks.get_xlabel() == "time (minutes)"
    assert {text.get_text() for text in gains.texts} == {"up", "down"}
    assert "2 runs" in " ".join(ranks.get_title(loc="left").split())
    lines = {line.get_linestyle(): line.get_ydata() for line in ranks.lines}
    assert np.array_equal(lines["-"], found.by()["rank"]["mean"].iloc[: len(lines["-"])])


@pytest.mark.parametrize("names", [("whole", "short"), ("short", "whole")])
def test_a_run_has_the_colour_of_its_place_among_the_runs(names):
    run, qrels = collection(4, queries=6)
    runs = {"whole": run, "short": run.groupby("query_id").head(2)}
    gains = progress(qrels, {name: runs[name] for name in names}, TIMED).plot_gains()
    colours = {name: look["color"] for name, look in system_looks(names).items()}
    assert {text.get_text(): text.get_color() for text in gains.texts} == colours


preferred = partial(prefer, progress=False)


@pytest.mark.slow
@pytest.mark.parametrize(("what", "sampling"), [("gain", "plain"), ("score", "antithetic"), ("score", "stratified")])
def test_shares_are_those_of_the_simulated_users(what, sampling):
    frames = collection(5, queries=6, lengths=True)
    runs = {"A": frames.run, "B": collection(8, queries=6, lengths=True).run}
    how = {"users": 1000, "reading": "gamma(2)", "sampling": sampling}
    found = preferred(frames.qrels, runs, TBG, what=what, **how)
    simulated = quietly(frames.qrels, runs, TBG, keep=True, **how)
    for query in found.by_query.index:
        A, B = (simulated.users(query, run)[what].to_numpy() for run in "AB")
        shares = [np.mean(A > B), np.mean(A < B), np.mean(A == B)]
        assert found.by_query.loc[query, ["A", "B", "ties"]].tolist() == pytest.approx(shares)
    assert found.by_query.loc["1", "ties"] == 1  # neither run has results for this query
    assert found.first.value == pytest.approx(found.by_query["A"].mean())
    assert found.first.low <= found.first.value <= found.first.high


def test_who_is_preferred_may_have_the_lower_mean():
    """A is better for the many users who see one result, B is much better for the few who see ten."""
    qrels = {"q": {"a": 1, **{f"b{i}": 1 for i in range(9)}}}
    A = {"q": {"a": 9.0, **{f"x{i}": -float(i) for i in range(9)}}}
    B = {"q": {"x": 9.0, **{f"b{i}": -float(i) for i in range(9)}}}
    measure = "CWLA(C='rbp(0.7)',A='etg',max_rel=1,end='stop')"
    found = preferred(qrels, {"A": A, "B": B}, measure)
    assert found.by_query.loc["q", ["A", "B", "ties"]].tolist() == pytest.approx([0.3, 0.49, 0.21], abs=1e-3)
    measure = "CWLA(C='rbp(0.6)',A='etg',max_rel=1,end='stop')"
    found = preferred(qrels, {"A": A, "B": B}, measure)
    means = quietly(qrels, {"A": A, "B": B}, measure).mean["analytic"]
    assert found.first.value > found.second.value
    assert means["A"] < means["B"]


@pytest.mark.slow
def test_errors_and_intervals_shrink_as_they_should():
    frames = collection(5, queries=12, lengths=True)
    other = collection(8, queries=12, lengths=True).run
    runs = {"A": frames.run, "B": other}
    few, many = (preferred(frames.qrels, runs, TBG, users=users, sampling="plain") for users in (200, 3200))
    assert few.error / many.error == pytest.approx(4, rel=0.25)
    wide, narrow = (preferred(frames.qrels, runs, TBG, users=200, confidence=level).first for level in (0.99, 0.8))
    assert wide.low < narrow.low < narrow.high < wide.high
    assert "95\N{NO-BREAK SPACE}% intervals over topics" in str(few)
    back = preferred(frames.qrels, {"B": other, "A": frames.run}, TBG, users=200, sampling="plain")
    pd.testing.assert_frame_equal(few.by_query, back.by_query[["A", "B", "ties", "error"]])
    assert (back.names, back.second.value) == (("B", "A"), few.first.value)
    same = preferred(frames.qrels, {"A": frames.run, "copy": frames.run}, TBG, users=500)
    assert (same.ties.value, same.error) == (1, 0)


def test_one_query_has_no_interval():
    found = preferred(ONE, {"A": ONE, "B": {"q": {"b": 1.0}}}, "RR", users=10)
    assert found.first.value == 1
    assert math.isnan(found.first.low)
    assert "nan" not in str(found)


def test_bars_show_the_progress_of_simulations(monkeypatch, capsys):
    monkeypatch.setattr("pyterrier_cwla.tasks.progress._DELAY", 0)
    for simulated in (partial(simulate, ONE, ONE), partial(prefer, ONE, {"A": ONE, "B": ONE})):
        simulated("RR", users=2)
        assert "simulating" in capsys.readouterr().err


@pytest.mark.parametrize("runs, more, message", [
    ({"A": {}}, {}, "compares two systems"),
    ({"A": {}, "B": {}, "C": {}}, {}, "compares two systems"),
    ("run.txt", {}, "compares two systems"),
    ({"A": {}, "B": {}}, {"what": "time"}, "what='time'"),
    ({"A": {}, "B": {}}, {"confidence": 95}, "confidence=95"),
    ({"A": {}, "B": {}}, {"resamples": 0}, "resamples=0"),
    ({"A": {}, "B": {}}, {"users": 0}, "users=0"),
])  # fmt: skip
def test_what_cannot_be_compared_says_why(runs, more, message):
    refused(lambda: preferred(ONE, runs, "RR", **more), BadParameter, message)
