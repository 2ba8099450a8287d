"""Tests of simulated users, against loops, exact products, and analytic scores."""

import math
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

from pyterrier_cwla import CWLA, TBG, continuation, evaluate
from pyterrier_cwla.behaviour.simulation.expectations import expected_saves, expected_stops
from pyterrier_cwla.behaviour.simulation.simulator import simulate, simulated_log
from pyterrier_cwla.behaviour.simulation.user_paths import BLOCK, Luck, Task, reading_of
from pyterrier_cwla.errors import BadLog, BadParameter, MissingLength
from pyterrier_cwla.evaluation import stop_distribution
from pyterrier_cwla.model.language import TABLES
from tests.support.generated import collection
from tests.support.messages import refused
from tests.support.readable import assert_readable

pyplot = pytest.importorskip("matplotlib.pyplot")
READINGS = ["fixed", "exponential", "gamma(2)", "lognormal(0.8)"]


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def quietly(*args, **more):
    return simulate(*args, progress=False, **more)


def one_ranking(seed=3, n=12, share=0.4):
    """Return the judgments of a query, a ranking of all judged documents, and their lengths (100 to 4,000 words)."""
    rng = np.random.default_rng(seed)
    names = [f"d{i:02}" for i in range(n)]
    grades = {name: int(rng.random() < share) for name in names}
    words = {name: float(rng.integers(100, 4000)) for name in names}
    return {"q": grades}, {"q": {name: -float(i) for i, name in enumerate(names)}}, words


STOPPING = ["prec(4)", "rbp(0.8)", "dcg", "dcg(7)", "insq(2)", "inst(2)", "rr", "cascade(0.9)", "ap1", "ap2",
            "carterette1(6)", "carterette2(6)", "economic(0.5,6)", "carterette3(0.5)",
            "ift_goal(2,0.9,1)", "ift_rate(0.2,0.9,1)",
            "bpm(2,9)", "patience(30)", "budget(4)", "budget(4.5,partial=True)", "decay(12)", "product(rr,rbp(0.9))",
            "fixed(0.5,1,0.25,0.75)",
            "weibull(0.7,12)", "log_logistic(1.5,9)", "log_normal(1,9)", "hyperbolic(1.5,12)"]  # fmt: skip
FELT = ["etg", "erg", "err", "avg", "per_item", "max", "fin", "fgt(0.7)", "pe(0.4)", "items", "effort", "utility(log2)",
        "smeared(9)"]  # fmt: skip


#: Without a k, a share of 1/22 of the users of dcg sees rank 4,194,303.
PAIRS = [(C, end) for C in STOPPING for end in ("open", "stop", 20) if (C, end) != ("dcg", "open")]


@pytest.mark.slow
@pytest.mark.parametrize(("C", "end"), PAIRS)
def test_means_are_scores_where_only_stopping_is_random(C, end):
    """All pairs of C and A agree within five standard errors of the simulation."""
    frames = collection(11, queries=4, depth=15)
    for number, A in enumerate(FELT):
        if end != "open" and number // 2 % 2 == (end == "stop"):
            continue  # half of the aggregations for each of these ends, to keep the test fast
        measure = CWLA(C=C, A=A, max_rel=3, end=end, effort=("unit", "ratio(4)")[number % 2])
        expected = evaluate(frames.qrels, frames.run, [measure], by_query=True)[str(measure)]
        found = quietly(frames.qrels, frames.run, measure, users=2000, seed=number).by_query
        np.testing.assert_allclose(found["analytic"], expected, atol=1e-12)
        if A in ("items", "effort") and end == "open" and (C == "ap1" or found["items"].max() > 1000):
            continue  # ap1: users never reach unretrieved items; means that depend on few users have no useful error
        off = (found["score"] - expected).abs()
        assert len(off) == 3
        assert (off <= 5 * found["error"] + 2 * found["score_sd"] / 2000 + 1e-9).all(), (A, found)


def test_what_users_of_all_continuations_are_tested_on():
    built_in = {name for name, part in TABLES["continuation"].items() if part.built_in}
    assert built_in == {C.split("(")[0] for C in STOPPING}
    assert {name for name, part in TABLES["aggregation"].items() if part.built_in} == {A.split("(")[0] for A in FELT}


def chi_square(items, expected):
    """Return the p-value of the numbers of items seen; cells with few expected users are merged."""
    observed = np.bincount(items.astype(int), minlength=len(expected))
    assert observed[expected == 0].sum() == 0
    wanted = expected * len(items)
    common = wanted >= 20
    counts, wanted = (np.append(values[common], values[~common].sum()) for values in (observed, wanted))
    counts, wanted = counts[wanted > 0], wanted[wanted > 0]
    return stats.chisquare(counts, wanted * counts.sum() / wanted.sum()).pvalue if len(wanted) > 1 else 1.0


@continuation
def slowly(view, a: float):
    """A continuation that changes with the rank beyond the list, without a closed form."""
    return (view.i + view.G) / (view.i + view.G + a)


def test_who_never_leaves_scores_nothing_and_is_counted():
    found = quietly({"q": {"a": 1, "lost": 1}}, {"q": {"a": 1.0}}, "AP", users=10_000, keep=True)
    row = found.by_query.iloc[0]
    assert row["never"] == row["beyond"] == pytest.approx(0.5, abs=0.025)
    assert row["score"] == pytest.approx(1 - row["never"])
    users = found.users()
    assert (users["score"][np.isinf(users["items"])] == 0).all()
    assert np.isinf(users["items"]).mean() == row["never"]
    assert any("never leave" in note for note in found.notes)


@pytest.mark.parametrize(
    "C", ["decay(60)", "patience(90)", "budget(20)", "weibull(0.7,50)", "product(rbp(0.99),decay(60))"]
)
def test_unseen_items_without_effort_are_not_counted(C):
    """The number of items below the list is not known, and A=etg does not depend on it."""
    measure = CWLA(C=C, A="etg", gain="linear", effort="by_grade({0:0,1:5,2:9})", max_rel=2, unseen=0)
    qrels, run = {"q": {"a": 1, "c": 2}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    found = quietly(qrels, run, measure, users=400, sampling="stratified", keep=True)
    row, users = found.by_query.iloc[0], found.users()
    assert row["beyond"] > 0 == row["never"]
    assert users["items"].max() == 3
    assert users["time"].max() == 14
    assert row["score"] == pytest.approx(row["analytic"], abs=5 * row["error"] + 1e-9)
    assert any("unknown or zero" in note for note in found.notes)


@pytest.mark.parametrize(("gain", "differs"), [("clicksave", True), ("linear", False)])
def test_a_measure_with_a_budget_takes_expected_efforts(gain, differs):
    """The expected effort of three documents exceeds the budget, and many users with few clicks read more of them."""
    qrels, run, words = one_ranking()
    C = {"clicksave": "budget(60)", "linear": "budget(60,True)"}[gain]
    measure = CWLA(C=C, A="etg", gain=gain, effort="time", lengths=words, max_rel=1, end="stop")
    found = quietly(qrels, run, measure, users=4000)
    row = found.by_query.iloc[0]
    assert (abs(row["score"] - row["analytic"]) > 2 * row["error"]) == differs
    assert any("efforts of their own" in note for note in found.notes) == differs


@pytest.mark.parametrize(
    "C", ["hyperbolic(0.5,60)", "log_logistic(0.7,60)", "hyperbolic(1,60)", "rbp(0.9999999)", "dcg"]
)
def test_users_who_would_read_millions_of_results_are_refused(C):
    """The limit is the number of ranks that evaluate takes; shares of users, not the drawn ones, decide."""
    given, measure = ({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}), CWLA(C=C, A="etg", max_rel=1)
    says = "would inspect more than 4,194,304 items", " under C='", "give a cutoff (such as @1000)", "end='stop'"
    refused(lambda: quietly(*given, measure, users=20), BadParameter, *says)
    assert quietly(*given, measure(end=100)).by_query["items"].iloc[0] <= 100


@pytest.mark.slow
@pytest.mark.parametrize("reading", READINGS)
def test_mean_saves_are_exact_and_show_jensens_gap(reading):
    qrels, run, words = one_ranking(n=40)
    measure = TBG(lengths=words, half_life=90)
    exact = expected_saves(qrels, run, measure, reading).iloc[0]
    found = quietly(qrels, run, measure, users=200_000, reading=reading).by_query.iloc[0]
    assert exact["gap"] > 10 * found["error"]  # large enough for the next line to distinguish exact from analytic
    assert found["score"] == pytest.approx(exact["exact"], abs=5 * found["error"])
    assert found["score_sd"] == pytest.approx(exact["sd"], rel=0.01)
    assert exact["analytic"] == found["analytic"]


def all_that_can_happen(grades, words, half_life):
    """Return the mean and standard deviation of the gain, over all combinations of clicks and saves.

    A user who saves a document as the (s+1)-th adds 1 to G and (s+1)² − s² to G².
    """
    mean = second = 0.0
    ways = [(1.0, 0.0, 0)]  # probability, time, number of documents saved
    for grade, length in zip(grades, words):
        p = 0.64 if grade else 0.39
        save = 0.77 if grade else 0.0
        further = []
        for probability, time, saved in ways:
            there = probability * 2 ** (-time / half_life)
            mean += there * p * save
            second += there * p * save * ((saved + 1) ** 2 - saved**2)
            read = time + 4.4 + 0.018 * length + 7.8
            further.append((probability * (1 - p), time + 4.4, saved))
            further.append((probability * p * (1 - save), read, saved))
            further.append((probability * p * save, read, saved + 1))
        ways = further
    return mean, math.sqrt(second - mean**2)


def test_the_exact_product_against_everything_that_can_happen():
    """Six documents, each clicked or not, and saved or not; Smucker and Clarke (2012), Eq. 8 and 9."""
    qrels, run, words = one_ranking(seed=5, n=6, share=0.6)
    mean, sd = all_that_can_happen(list(qrels["q"].values()), list(words.values()), 80.0)
    found = expected_saves(qrels, run, TBG(lengths=words, half_life=80)).iloc[0]
    assert found["exact"] == pytest.approx(mean, abs=1e-12)
    assert found["sd"] == pytest.approx(sd, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("reading", READINGS)
def test_laplace_transforms_and_quantiles_are_those_of_scipy(reading):
    mine = reading_of(reading)
    u = np.linspace(0.0001, 0.9999, 5001)
    if reading == "fixed":
        assert (mine.quantile(u) == 1).all()
        assert mine.laplace(2.0) == math.exp(-2)
        return
    theirs = {
        "exponential": stats.expon(),
        "gamma(2)": stats.gamma(2, scale=0.5),
        "lognormal(0.8)": stats.lognorm(0.8, scale=math.exp(-0.32)),
    }[reading]
    np.testing.assert_allclose(mine.quantile(u.astype(np.float32)), theirs.ppf(u.astype(np.float32)), rtol=2e-3)
    for s in (0.01, 0.5, 3.0, 40.0):
        exact = integrate.quad(lambda p, s=s: math.exp(-s * theirs.ppf(p)), 0, 1, limit=500)[0]
        assert float(mine.laplace(np.array(s))) == pytest.approx(exact, rel=1e-6)
    # Random draws have mean 1 and the expected Laplace transform.
    drawn = mine.quantile(Luck("q", 0, BLOCK, 5, "plain").draws(256, np.arange(BLOCK)).ravel()).astype(float)
    assert drawn.mean() == pytest.approx(1, abs=5 * drawn.std() / math.sqrt(drawn.size))
    assert np.exp(-drawn / 2).mean() == pytest.approx(float(mine.laplace(np.array(0.5))), abs=2e-3)


def test_stops_of_random_users_are_exact():
    qrels, run, words = one_ranking(n=30)
    measure = TBG(lengths=words, half_life=60)
    expected = expected_stops(qrels, run, measure, "exponential")
    np.testing.assert_allclose(expected.sum(axis=1), 1)
    found = quietly(qrels, run, measure, users=30_000, reading="exponential", keep=True)
    stopped, beyond = found.users()["items"].to_numpy(), expected.loc["q", "later"]
    assert found.by_query["beyond"].iloc[0] == pytest.approx(beyond, abs=5 * math.sqrt(beyond / 30_000))
    wanted = expected.loc["q"].to_numpy(copy=True)
    wanted[-2] += wanted[-1]  # costs beyond the list are unknown: users are followed to the last rank
    assert chi_square(stopped, wanted[:-1]) > 1e-4
    analytic = stop_distribution(qrels, run, measure)
    assert np.abs(analytic.loc["q"] - expected.loc["q"]).max() > 0.005  # differs from average users
    cut = expected_stops(qrels, run, measure, "exponential", depth=4).loc["q"]
    np.testing.assert_allclose(cut.to_numpy(), [*wanted[:5], 1 - wanted[:5].sum()], atol=1e-12)


@pytest.mark.filterwarnings("error:Degrees of freedom")
def test_one_user_has_no_spread():
    qrels, run, words = one_ranking(n=5)
    found = quietly(qrels, run, TBG(lengths=words), users=1).by_query
    assert found[["gain_sd", "time_sd", "items_sd", "score_sd"]].iloc[0].tolist() == [0] * 4


def test_at_a_closed_end_the_others_stop_at_the_last_item():
    qrels, run, words = one_ranking(n=5)
    measure = TBG(lengths=words, half_life=60)
    opened, closed = (expected_stops(qrels, run, measure(end=end)).loc["q"] for end in ("open", "stop"))
    np.testing.assert_allclose(closed[:-2], opened[:-2])
    assert closed.iloc[-2] == pytest.approx(opened.iloc[-2:].sum())
    assert closed.iloc[-1] == pytest.approx(0)
    nothing = expected_stops({"q": {"a": 1}}, {"other": {"a": 1.0}}, TBG(lengths={"a": 5}))
    assert nothing.columns.tolist() == [0, 1, "later"]


def test_the_ideal_normaliser_scales_users_too():
    qrels, run, words = one_ranking()
    plain, ideal = (expected_saves(qrels, run, TBG(lengths=words, norm=norm)) for norm in ("none", "ideal"))
    scale = plain["analytic"] / ideal["analytic"]
    np.testing.assert_allclose(plain["exact"] / ideal["exact"], scale)
    found = quietly(qrels, run, TBG(lengths=words, norm="ideal"), keep=True, users=1000).users()
    np.testing.assert_allclose(found["score"] * float(scale.iloc[0]), found["gain"])


@pytest.mark.slow
@pytest.mark.every_case
@pytest.mark.parametrize(
    ("C", "A"),
    [("inst(2)", "avg"), ("slowly(2)", "max"), ("ap2(R=ranking)", "avg"), ("rbp(0.9)", "etg"), ("patience(150)", "etg"), ("budget(150)", "etg"),
     ("log_logistic(2,150)", "avg")],
)  # fmt: skip
@pytest.mark.parametrize("end", ["open", "stop"])
def test_every_measure_with_clicks_against_users_in_loops(C, A, end):
    """Each user's V is the metric's C on the gains and efforts of this user."""
    qrels, run, words = one_ranking(n=20)
    columns = ["query_id", "doc_id", "score", "doc_length"]
    frame = pd.DataFrame([("q", d, s, words[d]) for d, s in run["q"].items()], columns=columns)
    measure = CWLA(C=C, A=A, gain="clicksave", effort="time", max_rel=1, unseen=9, end=end)
    task = Task.from_arguments(qrels, frame, measure, 64, 3, "fixed", "plain")
    (course,) = task.models[0].courses("q", task.reading)
    ((_, luck),) = task.blocks("q")
    values, _, _ = course.outcome(luck)
    _, saved, read = course.habits.actions(luck.draws(20, np.arange(64)), task.reading)
    for user in range(64):
        r = saved[user].astype(float)
        e = (course.habits.summary + read[user]).astype(float)
        seen = followed_by_hand(C.split("(")[0], r, e, luck.patience[user], end)
        G, E = np.cumsum(np.append(r, np.zeros(5000))), np.cumsum(np.append(e, np.full(5000, 9.0)))
        left = 0 < seen < math.inf
        last = int(seen) - 1 if left else 0
        felt = {"avg": G[last] / E[last], "max": float(G[last] > 0), "etg": G[last]}
        score = felt[A] if left else 0.0
        items = values[2, user]
        assert items == seen
        assert values[3, user] == pytest.approx(score, rel=1e-6)
        if left:
            assert values[0, user] == G[last]
            assert values[1, user] == pytest.approx(E[last], rel=1e-6)


def followed_by_hand(name, r, e, patience, end):
    """Return the number of items seen by a user of a continuation with these gains and efforts."""
    C = {
        "inst": lambda i, G, E: ((i + 3 - G) / (i + 4 - G)) ** 2,
        "slowly": lambda i, G, E: (i + G) / (i + G + 2),
        "ap2": lambda i, G, E: (sum(r) - G) / left if (left := sum(r) - sum(r[: i - 1])) > 0 else float(sum(r) == 0),
        "rbp": lambda i, G, E: 0.9,
    }
    V, G, E = 1.0, 0.0, 0.0
    for i in range(1, 5001):
        if name == "patience":
            E += e[i - 1] if i <= len(e) else 9.0
            if max(0.0, 1 - E / 150) <= patience:
                return i - 1
        elif name == "budget":
            E += e[i - 1] if i <= len(e) else 9.0
            if E > 150:
                return i - 1
        elif (1 / (1 + (E / 150) ** 2) if name == "log_logistic" else V) <= patience:
            return i - 1
        if name == "log_logistic":
            E += e[i - 1] if i <= len(e) else 9.0
        G += r[i - 1] if i <= len(r) else 0.0
        if end == "stop" and i == len(r):
            return i
        if name in C:
            V *= C[name](i, G, E)
    return math.inf


@pytest.mark.slow
def test_equal_seeds_make_equal_users_whoever_else_is_asked():
    """Users score equal rankings equally, and similar rankings nearly so."""
    frames = collection(6, queries=5, lengths=True)
    other = collection(7, queries=5, lengths=True).run
    near = other.assign(score=other.score.where(other.score > 0.8, -other.score))
    asked = dict(users=5000, reading="gamma(3)", keep=True)
    all_runs = quietly(frames.qrels, {"A": frames.run, "B": other, "near": near}, TBG, **asked)
    alone = quietly(frames.qrels, {"B": other}, TBG, **asked)
    few = frames.qrels[frames.qrels.query_id == "3"]
    one = quietly(few, {"B": other}, TBG, **asked)
    pd.testing.assert_frame_equal(all_runs.users(run="B"), alone.users())
    pd.testing.assert_frame_equal(all_runs.users("3", "B"), one.users())
    pd.testing.assert_frame_equal(all_runs.by_query.loc[["B"]], alone.by_query)
    assert 0 < np.mean(all_runs.users(run="near")["gain"].to_numpy() != alone.users()["gain"].to_numpy()) < 0.2
    assert not quietly(few, {"B": other}, TBG, **asked, seed=1).users().equals(one.users())


@pytest.mark.slow
def test_more_users_begin_with_the_same_ones():
    """Results do not depend on the number of users simulated at a time."""
    qrels, run, words = one_ranking(n=40)
    simulated = partial(quietly, qrels, run, TBG(lengths=words), reading="exponential", keep=True)
    many, few = (simulated(users=users).users() for users in (2 * BLOCK + 99, 1234))
    pd.testing.assert_frame_equal(many.iloc[:1234], few)


@pytest.mark.slow
@pytest.mark.parametrize("sampling", ["antithetic", "stratified"])
@pytest.mark.parametrize("measure", ["RBP(rel=1,p=0.9)", "TBG"])
def test_better_sampling_has_the_same_mean_and_a_smaller_error(sampling, measure):
    qrels, run, words = one_ranking(n=40)
    measure = TBG(lengths=words) if measure == "TBG" else measure
    means, errors = ({way: [] for way in ("plain", sampling)} for _ in range(2))
    for seed, way in product(range(40), means):
        found = quietly(qrels, run, measure, users=300, seed=seed, reading="exponential", sampling=way)
        row = found.by_query.iloc[0]
        means[way].append(row["score"])
        errors[way].append(row["error"])
    exact = measure == TBG(lengths=words)
    analytic = expected_saves(qrels, run, measure, "exponential")["exact"].iloc[0] if exact else row["analytic"]
    for way, found in means.items():
        assert np.mean(found) == pytest.approx(analytic, abs=5 * np.std(found) / math.sqrt(40))
        # The estimated error is close to the observed one (for stratified sampling, a little higher).
        assert 0.7 < np.mean(errors[way]) / np.std(found, ddof=1) < (3 if way == "stratified" else 1.4)
    assert np.std(means[sampling]) < 0.85 * np.std(means["plain"])
    assert np.mean(errors[sampling]) < 0.9 * np.mean(errors["plain"])


def test_the_table_is_that_of_the_users():
    frames = collection(6, queries=5, lengths=True)
    found = quietly(frames.qrels, frames.run, TBG, users=1001, quantiles=(0.1, 0.5), keep=True)
    assert list(found.by_query.index.names) == ["run", "query_id"]
    for query, users in found.users().groupby(level="query_id"):
        row = found.by_query.loc[("run", query)]
        for what in ("gain", "time", "items", "score"):
            assert row[what] == pytest.approx(users[what].mean())
            assert row[f"{what}_sd"] == pytest.approx(users[what].std())
            assert row[f"{what}_10%"] == sorted(users[what])[100]
            assert row[f"{what}_50%"] == sorted(users[what])[500]
    lacking = found.by_query.xs("1", level="query_id")  # the run has no results for this query
    assert (lacking.drop(columns=["error", "nothing"]) == 0).all(axis=None)
    assert (lacking["nothing"] == 1).all()
    assert found.by_query["nothing"].iloc[1] == (found.users(found.by_query.index[1][1])["gain"] == 0).mean()
    assert found.mean.loc["run", "gain"] == pytest.approx(found.by_query["gain"].mean())
    assert "1,001 users of TBG on each of 4 topics" in str(found)
    assert "<table" in found._repr_html_()


@pytest.mark.parametrize("more, message", [
    ({"users": 0}, "users=0: give a number"),
    ({"users": 2.5}, "users=2.5: give a number"),
    ({"users": 3, "sampling": "antithetic"}, "pairs"),
    ({"seed": -1}, "seed=-1"),
    ({"sampling": "sobol"}, "no sampling 'sobol'"),
    ({"reading": "gama(2)"}, "no distribution … Near: 'gamma'"),
    ({"reading": "gamma"}, "takes a shape"),
    ({"reading": "gamma(nan)"}, "takes a shape"),
    ({"reading": "lognormal(9)"}, "takes a sigma"),
    ({"reading": "exponential(2)"}, "takes no number"),
    ({"reading": 3}, "no distribution"),
    ({"quantiles": (2,)}, "shares from 0 to 1"),
])  # fmt: skip
def test_what_cannot_be_simulated_says_why(more, message):
    says = message.split(" … ")
    refused(lambda: quietly({"q": {"a": 1}}, {"q": {"a": 1.0}}, "RBP(rel=1,p=0.5)", **more), BadParameter, *says)


def test_measures_without_users_and_documents_without_lengths():
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0}}
    refused(lambda: quietly(qrels, run, "SetP"), BadParameter, "follows no user model")
    refused(lambda: quietly(qrels, run, TBG(lengths={"b": 3})), MissingLength, "'a'")
    refused(lambda: expected_saves(qrels, run, "RR"), BadParameter, "an exact mean is known for")
    for effort in ("time(p_click_relevant=0.5)", "reading(p_click_relevant=0.5)"):
        odd = CWLA(C="decay", A="etg", gain="clicksave(0.9,1)", effort=effort, lengths={"a": 5})
        refused(partial(quietly, qrels, run, odd), BadParameter, "the same probabilities of a click")
    refused(quietly(qrels, run, "RR").users, BadParameter, "keep=True")
    found = quietly(qrels, {"A": run, "B": run}, "RR", users=10, keep=True)
    refused(found.users, BadParameter, "several runs")
    refused(lambda: found.users("x", "A"), BadParameter, "no query 'x'")
    refused(lambda: found.users(run="C"), BadParameter, "no run 'C'")


def test_the_log_is_of_the_simulated_users():
    qrels, run, words = one_ranking(n=20)
    measure = TBG(lengths=words, half_life=60)
    found = quietly(qrels, run, measure, users=500, reading="exponential", keep=True)
    users = found.users()
    lost = {"lost": {"d00": 1}}  # the run has no results for this query
    rows = simulated_log(qrels | lost, run, measure, users=500, reading="exponential").rows
    sessions = rows.groupby("user")
    assert sessions["rank"].max().tolist() == users["items"].tolist()
    assert sessions["saved"].sum().tolist() == users["gain"].tolist()
    spent = sessions["summary_seconds"].sum() + sessions["document_seconds"].sum()
    np.testing.assert_allclose(spent, users["time"], rtol=1e-5)
    assert 0 < sessions["cut_off"].first().mean() == pytest.approx(found.by_query["beyond"].iloc[0])
    np.testing.assert_allclose(rows["summary_seconds"], 4.4, rtol=1e-6)
    assert (rows["document_seconds"].notna() == rows["clicked"]).all()
    assert not rows["saved"][(rows["grade"] < 1) | ~rows["clicked"]].any()
    each = rows["summary_seconds"] + rows["document_seconds"].fillna(0)
    np.testing.assert_allclose(rows["time"], each.groupby(rows["user"]).cumsum() - each + 4.4, rtol=1e-5)
    read = rows["document_seconds"] / (0.018 * rows["words"] + 7.8)
    assert read.mean() == pytest.approx(1, abs=5 / math.sqrt(read.count()))
    assert (sessions["rank"].max() == sessions["rank"].count()).all()


@pytest.mark.slow
def test_time_limits_cut_sessions_off_and_slow_users_see_less():
    qrels, run, words = one_ranking(n=20)
    measure = TBG(lengths=words, half_life=300)
    whole = simulated_log(qrels, run, measure, users=400).rows
    cut = simulated_log(qrels, run, measure, users=400, time_limit=100).rows
    assert (cut["time"] <= 100).all()
    assert ((cut["time"] + cut["document_seconds"].fillna(0)) <= 100 + 1e-6).all()
    both = whole.merge(cut, on=["user", "rank"], suffixes=("", "_cut"))
    assert len(both) == len(cut)
    shortened = both["document_seconds_cut"] < both["document_seconds"] - 1e-6
    assert shortened.any()
    assert both["cut_off_cut"][shortened].all()
    assert not both["saved_cut"][shortened].any()
    by_user = whole.assign(end=whole["time"] + whole["document_seconds"].fillna(0)).groupby("user")
    expected = (by_user["end"].max() > 100) | by_user["cut_off"].first()
    found = cut.groupby("user")["cut_off"].first()
    assert found.to_dict() == expected[found.index].to_dict()
    slow = simulated_log(qrels, run, measure, users=400, speeds=[3.0] * 400).rows
    assert slow["summary_seconds"].iloc[0] == pytest.approx(13.2)
    assert len(slow) < 0.6 * len(whole)


def test_a_log_needs_clicks_and_seconds():
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0}}
    refused(lambda: simulated_log(qrels, run, "RR"), BadParameter, "a log needs clicks and seconds")
    refused(lambda: simulated_log(qrels, {"p": run["q"]}, TBG(lengths={"a": 5})), BadLog, "the log is empty")
    logged = partial(simulated_log, qrels, run, TBG(lengths={"a": 5}), users=2)
    for speeds in ([1.0], [0.0, 1.0]):
        refused(partial(logged, speeds=speeds), BadParameter, "speeds= must be a factor")
    refused(lambda: logged(time_limit=-1), BadParameter, "time_limit=-1")


@pytest.fixture(scope="module")
def found():
    made = [collection(seed, queries=5, lengths=True) for seed in range(3)]
    runs = dict(zip("abc", (one.run for one in made)))
    return quietly(made[0].qrels, runs, TBG, users=200, keep=True)


def title(ax):
    return " ".join(ax.get_title(loc="left").split())


@pytest.mark.slow
@pytest.mark.parametrize("what", ["gain", "time", "items", "score"])
@pytest.mark.parametrize("qid", [None, "3"])
def test_pictures_of_runs_have_quantiles_and_mean_of_users(found, what, qid):
    ax = found.plot(what, qid=qid)
    means = {run: found.users(qid, run)[what].mean() for run in "abc"}
    order = sorted(means, key=means.get, reverse=what in ("gain", "score"))
    assert [label.get_text() for label in ax.get_yticklabels()] == order
    assert [text.get_text() for text in ax.texts] == [f"{means[run]:.3g}" for run in order]
    thin, thick = ([line.get_segments()[0][:, 0] for line in ax.collections[first::2]] for first in (0, 1))
    for run, wide, narrow in zip(order, thin, thick, strict=True):
        values = np.sort(found.users(qid, run)[what].to_numpy())
        at = [values[int(np.ceil(share * len(values))) - 1] for share in (0.05, 0.25, 0.75, 0.95)]
        np.testing.assert_allclose([wide[0], *narrow, wide[1]], at)
    ax = found.plot(what, qid=qid, run="b")
    assert sum(bar.get_height() for bar in ax.patches) == pytest.approx(1)
    assert ax.lines[0].get_xdata()[0] == pytest.approx(found.users(qid, "b")[what].mean())
    assert len(ax.lines) == 1 + (what == "score")
    assert found.plot(what, run="b", ax=ax) is ax


def test_pictures_of_runs_have_titles_and_colours(found):
    def colours(what):
        ax = found.plot(what)
        names = [label.get_text() for label in ax.get_yticklabels()]
        return dict(zip(names, (line.get_color()[0].tolist() for line in ax.collections[::2]), strict=True))

    assert colours("gain") == colours("time")
    several = found.plot("gain")
    assert not several.patches
    assert title(several).endswith("each of 4 topics, 3 systems")
    assert "· 4 topics, 200 users each" in title(found.plot(run="b"))
    assert "· topic 3, 200 users each" in title(found.plot(run="b", qid="3"))
    half = "CWLA(C='prec(1)',A='erg',max_rel=2)"
    same = quietly({"q": {"a": 1}}, {"q": {"a": 1.0}}, half, users=9, keep=True).plot()
    assert same.patches[0].get_width() > 0
    refused(lambda: found.plot("gains"), BadParameter, "no value 'gains' of users")
    refused(lambda: found.plot(qid="99"), BadParameter, "no query '99' in the simulation")
    given = {"q": {"a": 1}}, {"a": {"q": {"a": 1.0}}, "b": {"q": {"a": 1.0}}}
    refused(quietly(*given, "RR", users=10).plot, BadParameter, "keep=True")


@pytest.mark.slow
def test_infinite_values_are_marked():
    """Users of rr leave only when they are satisfied; where nothing is relevant they never leave."""
    made = collection(0, queries=6)
    runs, rr = {"a": made.run, "b": made.run}, "CWLA(C='rr',A='etg',gain='binary')"
    some, none = (quietly(made.qrels.assign(relevance=grade), runs, rr, users=50, keep=True) for grade in (1, 0))
    refused(lambda: none.plot("items", qid="2"), BadParameter, "the items of every user is infinite")
    kept = {pair: (none if pair[1] == "2" else some).kept[pair] for pair in some.kept}
    ax = replace(some, kept=kept).plot("items")
    assert {text.get_text() for text in ax.texts} == {"∞"}
    assert ">" in {line.get_marker() for line in ax.lines}
    assert_readable(ax.figure)


@pytest.mark.slow
def test_forty_runs_with_long_names():
    made = collection(0, queries=5, lengths=True)
    runs = {f"a-rather-long-name_of.a-run-with-${number}": made.run for number in range(40)}
    assert_readable(quietly(made.qrels, runs, TBG, users=20, keep=True).plot("time").figure)
