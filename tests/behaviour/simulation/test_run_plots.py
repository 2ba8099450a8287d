"""Plot of the simulated users of several runs: values, order, infinite values, and texts that can be read."""

import numpy as np
import pytest

from pyterrier_cwla import TBG
from pyterrier_cwla.behaviour import simulate
from pyterrier_cwla.errors import BadParameter
from tests.support.generated import collection
from tests.support.messages import refused
from tests.support.readable import assert_readable

pyplot = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def simulated(runs, measure=TBG, queries=5, users=200, **more):
    made = [collection(seed, queries=queries, lengths=True) for seed in range(4)]
    runs = {name: made[number % 4].run.assign(score=made[number % 4].run.score) for number, name in enumerate(runs)}
    return simulate(made[0].qrels, runs, measure, users=users, keep=True, progress=False, **more)


@pytest.fixture(scope="module")
def found():
    return simulated(["a", "b", "c"])


@pytest.mark.slow
@pytest.mark.parametrize("what", ["gain", "time", "items", "score"])
@pytest.mark.parametrize("qid", [None, "3"])
def test_rows_have_the_quantiles_and_the_mean_of_all_users(found, what, qid):
    ax = found.plot(what, qid=qid)
    means = {run: found.users(qid, run)[what].mean() for run in "abc"}
    order = sorted(means, key=means.get, reverse=what in ("gain", "score"))
    assert [label.get_text() for label in ax.get_yticklabels()] == order
    assert [text.get_text() for text in ax.texts] == [f"{means[run]:.3g}" for run in order]
    thin = [line.get_segments()[0][:, 0] for line in ax.collections[::2]]
    thick = [line.get_segments()[0][:, 0] for line in ax.collections[1::2]]
    for run, wide, narrow in zip(order, thin, thick, strict=True):
        values = np.sort(found.users(qid, run)[what].to_numpy())
        n = len(values)
        at = [values[int(np.ceil(share * n)) - 1] for share in (0.05, 0.25, 0.75, 0.95)]
        np.testing.assert_allclose([wide[0], *narrow, wide[1]], at)
    assert_readable(ax.figure)


def test_a_run_keeps_its_colour_in_all_pictures(found):
    def colours(what):
        ax = found.plot(what)
        names = [label.get_text() for label in ax.get_yticklabels()]
        return dict(zip(names, (line.get_color()[0].tolist() for line in ax.collections[::2]), strict=True))

    assert colours("gain") == colours("time")


def test_one_run_still_has_a_histogram(found):
    assert sum(bar.get_height() for bar in found.plot("gain", run="b").patches) == pytest.approx(1)
    several = found.plot("gain")
    assert not several.patches
    assert " ".join(several.get_title(loc="left").split()).endswith("each of 4 topics, 3 systems")
    run, half = {"q": {"a": 1.0}}, "CWLA(C='prec(1)',A='erg',max_rel=2)"
    same = simulate({"q": {"a": 1}}, run, half, users=9, keep=True, progress=False).plot()
    assert same.patches[0].get_width() > 0


def test_what_is_wrong_is_said(found):
    refused(lambda: found.plot("gains"), BadParameter, "no value 'gains' of users")
    refused(lambda: found.plot(qid="99"), BadParameter, "no query '99' in the simulation")
    made = collection(0, queries=4, lengths=True)
    kept = simulate(made.qrels, {"a": made.run, "b": made.run}, TBG, users=10, progress=False)
    refused(kept.plot, BadParameter, "keep=True")


@pytest.mark.slow
def test_infinite_values_are_marked():
    """Users of rr leave only when they are satisfied; where nothing is relevant they never leave."""
    made = collection(0, queries=6)
    runs, rr = {"a": made.run, "b": made.run}, "CWLA(C='rr',A='etg',gain='binary')"
    some = simulate(made.qrels.assign(relevance=1), runs, rr, users=50, keep=True, progress=False)
    none = simulate(made.qrels.assign(relevance=0), runs, rr, users=50, keep=True, progress=False)
    refused(lambda: none.plot("items", qid="2"), BadParameter, "the items of every user is infinite")
    kept = {pair: (none if pair[1] == "2" else some).kept[pair] for pair in some.kept}
    mixed = type(some)(**{**vars(some), "kept": kept})
    ax = mixed.plot("items")
    assert {text.get_text() for text in ax.texts} == {"∞"}
    assert ">" in {line.get_marker() for line in ax.lines}
    assert_readable(ax.figure)


@pytest.mark.slow
def test_forty_runs_with_long_names_and_half_a_column():
    found = simulated([f"a-rather-long-name_of.a-run-with-${number}" for number in range(40)], users=20)
    assert_readable(found.plot("time").figure)
    _, ax = pyplot.subplots(figsize=(3.3, 3), layout="constrained")
    assert_readable(simulated(["one", "a-rather-long-name_of.a-run"], users=20).plot("time", ax=ax).figure)
