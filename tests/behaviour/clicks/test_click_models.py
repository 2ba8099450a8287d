"""Tests of click models: attraction, satisfaction, examination and continuation, estimated from clicks."""

from itertools import product
from math import log

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from pyterrier_cwla import CWLA, TBG, evaluate
from pyterrier_cwla.behaviour.clicks.click_models import (
    UNJUDGED,
    PredictedRelevance,
    cascade_from_clicks,
    dbn_from_clicks,
)
from pyterrier_cwla.behaviour.clicks.click_positions import plot_positions, plot_relevance, position_model
from pyterrier_cwla.behaviour.logs.adapters import chiir24_log
from pyterrier_cwla.behaviour.logs.log import InteractionLog
from pyterrier_cwla.behaviour.logs.observed_browsing import survival_of_lists
from pyterrier_cwla.errors import BadJudgments, BadLog, BadParameter
from tests.support.messages import refused

A, S, GAMMA = {0: 0.3, 1: 0.5, 2: 0.7}, {0: 0.2, 1: 0.5, 2: 0.8}, 0.85


def log_of_lists(shown, clicked, grade, users):
    """Return a log with one list of documents per session, from arrays with one row per session."""
    sessions, ranks = shown.shape
    session = np.repeat(np.arange(sessions), ranks)
    return InteractionLog.of(pd.DataFrame({
        "user": np.char.add("u", (session % users).astype(str)), "session": np.char.add("s", session.astype(str)), "topic": "t",
        "rank": np.tile(np.arange(1, ranks + 1), sessions), "docno": np.char.add("d", shown.ravel().astype(str)),
        "clicked": clicked.ravel(), "grade": grade.ravel().astype(float),
    }))  # fmt: skip


def simulated(seed, sessions=600, users=60, ranks=8, s=S, gamma=GAMMA, grades=(0, 0, 0, 1, 1, 2), documents=60):
    """Generate a log of users who follow the dynamic Bayesian network."""
    rng = np.random.default_rng(seed)
    number = rng.permuted(np.tile(np.arange(documents), (sessions, 1)), axis=1)[:, :ranks]
    grade = np.array(grades)[number % len(grades)]
    attracts, satisfies = (np.array([*of.values()])[grade] for of in (A, s))
    examines, clicked = np.ones(sessions, bool), np.zeros((sessions, ranks), bool)
    for rank in range(ranks):
        clicked[:, rank] = examines & (rng.random(sessions) < attracts[:, rank])
        satisfied = clicked[:, rank] & (rng.random(sessions) < satisfies[:, rank])
        examines = examines & ~satisfied & (rng.random(sessions) < gamma)
    return log_of_lists(number, clicked, grade, users)


def lists_of(log):
    """Return (grade, clicked) of each list from rank 1, and None for missing ranks."""
    lists = {}
    for row in log.rows.itertuples():
        ranks = lists.setdefault((row.user, row.session), [])
        ranks += [None] * (row.rank - 1 - len(ranks)) + [(row.grade, row.clicked)]
    return lists.values()


def probability(results, a, s, gamma):
    """Compute the probability of the clicks of one list, summed over all paths of events."""
    total = 0.0
    for path in product(("satisfied", "gives up", "goes on"), repeat=len(results)):
        p, examines = 1.0, True
        for result, event in zip(results, path):
            grade, clicked = result or (None, False)
            attracts, satisfies = (a[grade], s[grade]) if result else (0.0, 0.0)
            if not examines:
                p *= float(not clicked and event == "gives up")  # count one path only: nothing happens
                continue
            p *= attracts if clicked else 1 - attracts
            leaves = satisfies if clicked else 0.0
            p *= {"satisfied": leaves, "gives up": (1 - leaves) * (1 - gamma), "goes on": (1 - leaves) * gamma}[event]
            examines = event == "goes on"
        total += p
    return total


def values(numbers):
    return {name: estimate.value for name, estimate in numbers.items()}


def small(gap=False, s=S):
    log = simulated(3, sessions=60, users=6, ranks=5, s=s)
    return log.only(~((log.rows["rank"] == 3) & ~log.rows["clicked"])) if gap else log


CASCADE = dict.fromkeys(S, 1.0)


@pytest.mark.slow
@pytest.mark.every_case
@pytest.mark.parametrize(("fit", "gamma", "gap"), [
    (dbn_from_clicks, None, False), (dbn_from_clicks, None, True), (dbn_from_clicks, 0.7, True), (cascade_from_clicks, None, False),
])  # fmt: skip
def test_likelihood_sums_hidden_paths_and_is_maximised(fit, gamma, gap):
    log_ = small(gap, S if fit is dbn_from_clicks else CASCADE)
    model = fit(log_, gamma=gamma, gaps="passed", resamples=20)
    parameters = values(model.attraction), values(model.satisfaction), model.gamma.value

    def likelihood(a, s, gamma):
        return sum(log(probability(results, a, s, gamma)) for results in lists_of(log_))

    assert model.log_likelihood[-1] == pytest.approx(likelihood(*parameters), abs=1e-6)
    assert model.converged
    for which, name in ((0, 0), (0, 2), (1, 1), (1, 2))[: 4 if fit is dbn_from_clicks else 2]:
        for step in (-0.01, 0.01):
            moved = [dict(parameters[0]), dict(parameters[1]), parameters[2]]
            moved[which][name] = min(max(moved[which][name] + step, 1e-9), 1 - 1e-9)
            assert likelihood(*moved) < model.log_likelihood[-1] + 1e-5
    if gamma is None:
        for step in (-0.01, 0.01):
            assert likelihood(*parameters[:2], parameters[2] + step) < model.log_likelihood[-1]
    else:
        assert model.gamma.value == gamma
        assert np.isnan(model.gamma.low)


@pytest.mark.slow
def test_the_log_likelihood_rises_at_each_step_of_em():
    for fit, log_ in (
        (dbn_from_clicks, simulated(5, sessions=200)),
        (cascade_from_clicks, simulated(5, sessions=200)),
        (position_model, positions(29, 0.7 ** np.arange(6))),
    ):
        model = fit(log_, resamples=20)
        steps = model.log_likelihood
        assert model.converged
        assert len(steps) > 5
        assert (np.diff(steps) > -1e-9 * abs(steps[0])).all()
        assert steps[-1] > steps[0] + 1


@pytest.mark.slow
def test_parameters_are_recovered_within_their_own_intervals():
    """Over 30 logs of 60 users; a few of the 95 % intervals may miss the true value."""
    truth = [*A.values(), *S.values(), *(A[grade] * S[grade] for grade in A), GAMMA]
    examined, inside = 0.7 ** np.arange(6), []
    for seed in range(30):
        model = dbn_from_clicks(simulated(seed, sessions=400, ranks=6), resamples=150)
        found = [*model.attraction.values(), *model.satisfaction.values(), *model.relevance.values(), model.gamma]
        table = position_model(positions(seed, examined), resamples=200).table
        of_ranks = ((table["low"] <= examined) & (examined <= table["high"]))[1:]  # b(1) is 1
        inside.append([*(value in estimate for value, estimate in zip(truth, found, strict=True)), *of_ranks])
    for several in (np.mean(inside, axis=0)[:10], np.mean(inside, axis=0)[10:]):
        assert several.min() >= 0.85, several
        assert several.mean() >= 0.9, several


@pytest.mark.slow
def test_intervals_are_those_of_fits_to_resampled_users():
    """Compared with the full bootstrap: users drawn with replacement, and the model fitted to every log."""

    def estimates(model):
        return model.gamma, *model.satisfaction.values(), *model.attraction.values()

    log_ = simulated(1, sessions=400, ranks=6)
    found = estimates(dbn_from_clicks(log_, resamples=2000))
    refits = [[one.value for one in estimates(dbn_from_clicks(drawn, resamples=2))] for drawn in resampled(log_)]
    spread = np.std(refits, axis=0)
    assert [one.high - one.low for one in found] / (2 * 1.96 * spread) == pytest.approx(np.ones(7), abs=0.3)


def test_plain_cascade_without_giving_up_is_a_share():
    log_ = simulated(7, sessions=200, s=CASCADE, gamma=1.0)
    model = cascade_from_clicks(log_, gamma=1)
    firsts = [[*(clicked for _, clicked in results), True].index(True) for results in lists_of(log_)]
    examined = [one for results, first in zip(lists_of(log_), firsts) for one in results[: first + 1]]
    for grade in A:
        share = np.mean([clicked for its, clicked in examined if its == grade])
        assert model.attraction[grade].value == pytest.approx(share, abs=1e-9)
        assert model.relevance[grade] == model.attraction[grade]
        assert model.satisfaction[grade].value == 1
        assert A[grade] in model.relevance[grade]
    assert model.C in ("cascade(1)", "cascade(1.0)")
    several = simulated(9, sessions=50)  # lists that it cannot explain
    clicks = several.rows.groupby("session")["clicked"].sum()
    assert f"{(clicks > 1).sum()} of 50 lists" in " ".join(cascade_from_clicks(several, resamples=20).notes)


def test_what_was_learnt_is_a_measure():
    """Chapelle et al. (2009), section 7.1: Σ_r γ^(r−1) R_r Π_{i<r}(1 − R_i)."""
    model = dbn_from_clicks(simulated(2), resamples=20)
    gamma, R = float(f"{model.gamma.value:.4g}"), {g: float(f"{e.value:.4g}") for g, e in model.relevance.items()}
    assert model.gain == f"table({ {g: R[g] for g in (1, 2)} })"
    qrels, run = {"q": {"a": 2, "b": 1}}, {"q": {"b": 3.0, "x": 2.0, "a": 1.0}}
    found = evaluate(qrels, run, [model.measure(), model.measure("utility(reciprocal)")]).iloc[0].tolist()
    at_3 = gamma**2 * R[2] * (1 - R[1])
    assert found == pytest.approx([R[1] + at_3, R[1] + at_3 / 3], abs=1e-12)
    err = evaluate(qrels, run, [CWLA(C="rr", A="err", gain=model.gain)]).iloc[0, 0]
    assert err == pytest.approx(R[1] + (1 - R[1]) * R[2] / 3, abs=1e-12)


@pytest.mark.slow
def test_unjudged_results_have_parameters_of_their_own():
    log_ = simulated(4)
    rows = log_.rows.assign(grade=log_.rows["grade"].replace(1.0, np.nan))
    model, known = dbn_from_clicks(InteractionLog.of(rows), resamples=20), dbn_from_clicks(log_, resamples=20)
    assert list(model.attraction) == [0, 2, UNJUDGED]
    assert model.relevance[UNJUDGED].value == pytest.approx(known.relevance[1].value, abs=1e-6)
    assert "1:" not in model.gain
    assert any(f"R(0) = {known.relevance[0].value:.3g} is not in the gain" in note for note in known.notes)
    table = known.table
    assert table["grade"].tolist() == [0, 1, 2]
    assert table["shown"].sum() == len(log_.rows)
    assert table["clicks"].sum() == log_.rows["clicked"].sum()


@pytest.mark.slow
def test_the_relevance_of_documents_is_the_most_probable_one():
    """Compared with an optimiser of the brute-force likelihood with the Beta priors."""
    log_ = simulated(12, sessions=60, users=5, ranks=3, grades=(0, 2), documents=4)
    model = dbn_from_clicks(log_, gamma=0.8, resamples=2)
    found = model.predicted(prior=4).table
    documents, centre = found["docno"].tolist(), dict(zip(found["docno"], found["grade"]))
    a0, s0 = values(model.attraction), values(model.satisfaction)
    lists = [tuple(zip(part["docno"], part["clicked"])) for _, part in log_.rows.groupby("session")]
    results = pd.Series(lists).value_counts()

    def loss(x):
        p = 1 / (1 + np.exp(-x))
        a, s = dict(zip(documents, p)), dict(zip(documents, p[len(documents) :]))
        prior = sum(
            4 * (m[centre[d]] * log(q[d]) + (1 - m[centre[d]]) * log(1 - q[d]))
            for d in documents
            for m, q in ((a0, a), (s0, s))
        )
        return -prior - sum(n * log(probability(one, a, s, 0.8)) for one, n in results.items())

    best = minimize(loss, np.zeros(2 * len(documents)), method="L-BFGS-B", options={"ftol": 1e-13})
    p = 1 / (1 + np.exp(-best.x))
    assert found["a"].tolist() == pytest.approx(p[: len(documents)], abs=1e-4)
    assert found["s"].tolist() == pytest.approx(p[len(documents) :], abs=1e-4)
    assert found["relevance"].tolist() == pytest.approx((found["a"] * found["s"]).tolist())

    first, h = documents.index("d1"), 1e-4  # curvature in a and s of the first document, by finite differences
    by_difference = []
    for at in (first, first + len(documents)):
        points = []
        for step in (-h, 0, h):
            q = p.copy()
            q[at] += step
            points.append(loss(np.log(q / (1 - q))))
        by_difference.append((points[0] - 2 * points[1] + points[2]) / h**2)
    a, s = p[first], p[first + len(documents)]
    assert found["error"][first] == pytest.approx(np.sqrt(s**2 / by_difference[0] + a**2 / by_difference[1]), rel=0.01)


def resampled(log_):
    """Yield 25 logs of users drawn with replacement."""
    rng = np.random.default_rng(0)
    by_user = [part for _, part in log_.rows.groupby("user")]
    for _ in range(25):
        drawn = rng.integers(len(by_user), size=len(by_user))
        yield InteractionLog.of(pd.concat([by_user[u].assign(user=f"u{k}") for k, u in enumerate(drawn)]))


@pytest.mark.slow
def test_unjudged_documents_get_grades_from_their_clicks():
    log_ = simulated(6, sessions=2000)
    hidden = {"d5", "d11", "d0", "d6"}  # two documents of grade 2, two of grade 0
    rows = log_.rows.assign(grade=log_.rows["grade"].mask(log_.rows["docno"].isin(hidden)))
    model = dbn_from_clicks(InteractionLog.of(rows), resamples=2)
    predicted = model.predicted()
    table = predicted.table.set_index("docno")
    assert table["sessions"].sum() == len(rows)
    assert abs(table.loc["d5"].relevance - A[2] * S[2]) < 3 * table.loc["d5"].error
    assert table.loc["d5"].error < 0.15
    judged = log_.rows[~log_.rows["docno"].isin(hidden)].drop_duplicates("docno")
    qrels = pd.DataFrame({"query_id": "t", "doc_id": judged["docno"], "relevance": judged["grade"].astype(int)})
    more = predicted.judgments(qrels, rounded=True)
    assert more.iloc[: len(qrels)].values.tolist() == qrels.values.tolist()
    new = dict(zip(more["doc_id"][len(qrels) :], more["relevance"][len(qrels) :]))
    assert new.keys() == hidden
    assert new["d5"] == new["d11"] == 2 > max(new["d0"], new["d6"])
    assert sum(more.attrs["added"].values()) == 4
    as_dict = predicted.judgments({"t": dict(zip(qrels["doc_id"], qrels["relevance"]))}, rounded=True)
    assert as_dict["relevance"].tolist() == more["relevance"].tolist()
    assert len(predicted.judgments(qrels.assign(iteration="0"))) == len(more)
    elsewhere = predicted.judgments(qrels.assign(query_id="other"))
    assert len(elsewhere) == len(qrels)  # no judgments are added for topics that are missing in the qrels
    theirs = qrels.rename(columns={"query_id": "qid", "doc_id": "docno", "relevance": "label"})
    assert predicted.judgments(theirs, rounded=True).equals(more.set_axis(["qid", "docno", "label"], axis=1))
    refused(lambda: predicted.judgments(qrels.assign(iteration=qrels["doc_id"])), BadLog, "do not distinguish intents")


LEVELS = {0: 0.1, 1: 0.3, 2: 0.7}
CLICKED = {"a": 0.05, "b": 0.1, "c": 0.18, "d": 0.3, "e": 0.6, "f": 0.9, "g": 0.15}
JUDGED = {"t": {"x": 2, "y": 0, "z": 1, "g": 2}}


def from_clicks(by_grade=LEVELS, sessions=10):
    rows = [("t", docno, np.nan, np.nan, np.nan, p, 0.1, sessions) for docno, p in CLICKED.items()]
    names = ["topic", "docno", "grade", "a", "s", "relevance", "error", "sessions"]
    return PredictedRelevance(pd.DataFrame(rows, columns=names), by_grade, converged=True)


def added(judgments):
    new = judgments.iloc[len(JUDGED["t"]) :]
    return dict(zip(new["doc_id"], new["relevance"]))


def test_grades_lie_between_those_of_the_log():
    """R(0.4) = 0.18 is 0.4 of the way from R(0) = 0.1 to R(1) = 0.3; beyond R(0) and R(2), grades are 0 and 2."""
    found = from_clicks().judgments(JUDGED)
    assert added(found) == pytest.approx({"a": 0, "b": 0, "c": 0.4, "d": 1, "e": 1.75, "f": 2})
    assert found["relevance"].dtype == float
    assert found["relevance"].tolist()[:4] == [2, 0, 1, 2]
    assert found.attrs["added"] == {0: 3, 1: 1, 2: 2}
    rounded = from_clicks().judgments(JUDGED, rounded=True)
    assert added(rounded) == {"a": 0, "b": 0, "c": 0, "d": 1, "e": 2, "f": 2}
    assert rounded["relevance"].dtype == int
    assert rounded.attrs["added"] == found.attrs["added"]


def test_the_line_of_grades_starts_at_0():
    """Without grade 0 in the log, R(0) is 0; negative grades are not used."""
    expected = {"a": 0.125, "b": 0.25, "c": 0.45, "d": 0.75, "e": 2, "f": 3}
    assert added(from_clicks({1: 0.4, 3: 0.8}).judgments(JUDGED)) == pytest.approx(expected)
    assert added(from_clicks({-1: 0.01, **LEVELS}).judgments(JUDGED)) == added(from_clicks().judgments(JUDGED))
    assert added(from_clicks({-1: 0.01, **LEVELS}).judgments(JUDGED, rounded=True))["a"] == -1


def test_grades_whose_relevance_does_not_rise():
    falling = from_clicks({0: 0.1, 1: 0.7, 2: 0.3})
    refused(lambda: falling.judgments(JUDGED), BadLog, "R(2) = 0.3 is not above R(1) = 0.7,", "give rounded=True")
    assert added(falling.judgments(JUDGED, rounded=True))["e"] == 1
    assert added(falling.judgments(JUDGED, measure="ERR"))["e"] > 0


def err(stops):
    """Compute Chapelle et al. (2009), Eq. 5, from R_1, R_2, …"""
    total, reaches = 0.0, 1.0
    for rank, stop in enumerate(stops, start=1):
        total += reaches * stop / rank
        reaches *= 1 - stop
    return total


@pytest.mark.parametrize("order", ["cxfzaye", "fedcba", "gxyz"])
def test_err_with_predicted_relevance_of_unjudged_documents(order):
    """Chapelle et al. (2009), section 7.3: R_i of a document without judgment is its predicted relevance."""
    run = {"t": {docno: float(-rank) for rank, docno in enumerate(order)}}
    for most, name in ((4, "ERR"), (2, "CWLA(C='rr',A='err',gain='exponential',max_rel=2)")):
        best = 1 - 0.5**most
        known = {docno: (2**grade - 1) / 2**most for docno, grade in JUDGED["t"].items()}
        expected = err([known[docno] if docno in known else min(CLICKED[docno], best) for docno in order])
        found = evaluate(from_clicks().judgments(JUDGED, measure=name), run, [name]).iloc[0, 0]
        assert found == pytest.approx(expected, abs=1e-9)


def test_err_with_interpolated_relevance():
    """R(g) of the table between grades; R(0) is 0, as for judged documents."""
    line = {"a": 0, "b": 0, "c": 0.12, "d": 0.3, "e": 0.6, "f": 0.7, "x": 0.7, "y": 0, "z": 0.3, "g": 0.7}
    predicted = from_clicks()
    assert predicted.gain == "table({1: 0.3, 2: 0.7}, interpolate)"
    run = {"t": {docno: float(-rank) for rank, docno in enumerate("cexafzy")}}
    measure = CWLA(C="rr", A="err", gain=predicted.gain)
    found = evaluate(predicted.judgments(JUDGED), run, [measure]).iloc[0, 0]
    assert found == pytest.approx(err([line[docno] for docno in "cexafzy"]), abs=1e-9)
    exact = predicted.judgments(JUDGED, measure=measure)
    line |= {docno: min(p, 0.7) for docno, p in CLICKED.items() if docno != "g"}
    assert evaluate(exact, run, [measure]).iloc[0, 0] == pytest.approx(err([line[d] for d in "cexafzy"]), abs=1e-9)


@pytest.mark.parametrize(("measure", "error", "words"), [
    ("AP", BadParameter, "measure='AP': gain='binary' has no grade with gain 0.05, the predicted relevance"),
    ("nDCG", BadParameter, "measure='nDCG': gain='raw' needs max_rel="),
    ("CWLA(C='dcg(5)',A='etg',gain='burges',max_rel=2)", BadParameter, "gain='burges' is 3 for grade 2"),
    ("CWLA(C='rr',A='err',gain='table({1:0.3,2:0.7})')", BadJudgments, "table({1:0.3,2:0.7},interpolate)"),
    ("AdaptiveGAP", BadJudgments, "it accepts integer grades only"),
    ("Bpref", BadParameter, "Bpref follows no user model"),
])  # fmt: skip
def test_measures_whose_gain_is_no_relevance(measure, error, words):
    message = refused(lambda: from_clicks().judgments(JUDGED, measure=measure), error, words)
    assert measure == "Bpref" or "Without measure=, grades are interpolated" in message


def test_what_predicted_judgments_need():
    refused(lambda: from_clicks().judgments(JUDGED, rounded=True, measure="ERR"), BadParameter, "give one of both")
    refused(lambda: from_clicks({}).judgments(JUDGED), BadLog, "the log needs grades")
    refused(lambda: from_clicks({0: 0.1}).gain, BadLog, "no grade above 0")
    for options in ({}, {"rounded": True}, {"measure": "ERR"}):
        assert added(from_clicks(sessions=3).judgments(JUDGED, least=4, **options)) == {}


@pytest.mark.slow
def test_a_document_with_few_observations_stays_near_its_grade():
    model = dbn_from_clicks(simulated(2), resamples=2)
    table = model.predicted(prior=1e6).table
    for row in table.itertuples():
        assert row.relevance == pytest.approx(model.relevance[int(row.grade)].value, abs=1e-3)
    loose = model.predicted(prior=1).table
    assert loose["relevance"].std() > table["relevance"].std()
    assert (loose["error"] > table["error"]).all()
    refused(lambda: model.predicted(prior=0), BadParameter, "prior=0")


def test_what_is_not_told_is_an_error_or_a_note():
    log_ = simulated(2, sessions=100)
    rows = log_.rows
    refused(lambda: dbn_from_clicks(InteractionLog.of(rows.assign(clicked=False))), BadLog, "no clicks")
    refused(lambda: dbn_from_clicks(InteractionLog.of(rows.assign(grade=np.nan))), BadLog, "no column 'grade'")
    down_to_click = rows.groupby("session")["clicked"].transform(lambda c: c[::-1].cummax()[::-1])
    last_only = InteractionLog.of(rows[down_to_click & (rows.groupby("session")["clicked"].transform("sum") == 1)])
    refused(lambda: dbn_from_clicks(last_only), BadLog, "below its last click")
    top = log_.only(rows["rank"] == 1)
    refused(lambda: cascade_from_clicks(top), BadLog, "γ is not identified")
    assert np.isnan(cascade_from_clicks(top, gamma=1, resamples=10).gamma.low)
    refused(lambda: cascade_from_clicks(log_, gamma=1.5), BadParameter, "gamma=")
    refused(lambda: cascade_from_clicks(log_, gaps="mend"), BadParameter, "gaps='mend'")


@pytest.mark.slow
def test_grades_that_are_never_clicked_or_with_nothing_below_are_named():
    rows = simulated(2, sessions=300).rows
    unclicked = rows.assign(clicked=rows["clicked"] & (rows["grade"] != 1))
    never = dbn_from_clicks(InteractionLog.of(unclicked), resamples=20)
    assert never.attraction[1].value == 0 == never.relevance[1].value
    assert np.isnan(never.satisfaction[1].value)
    assert "grade 1 are never clicked" in " ".join(never.notes)
    assert never.gain.startswith("table({1: 0")
    last_only = rows[(rows["grade"] != 2) | (rows["rank"] == 8)]
    model = dbn_from_clicks(InteractionLog.of(last_only), gaps="closed", resamples=20)
    assert np.isnan(model.satisfaction[2].value)
    assert np.isnan(model.relevance[2].value)
    assert "no results are shown below clicks on grade 2" in " ".join(model.notes)
    refused(lambda: model.gain, BadLog, "grade 2 is not identified")


@pytest.mark.slow
def test_gaps_are_refused_or_explained_and_cut_sessions_left_out():
    log_ = small(gap=True)
    refused(lambda: dbn_from_clicks(log_), BadLog, "gaps='passed'", "above rank 4 of session")
    closed = InteractionLog.of(log_.rows.assign(rank=log_.rows.groupby("session").cumcount() + 1))
    assert dbn_from_clicks(log_, gaps="closed", resamples=20).gamma == dbn_from_clicks(closed, resamples=20).gamma
    cut = closed.rows["session"].isin(["s1", "s2"])
    model = dbn_from_clicks(InteractionLog.of(closed.rows.assign(cut_off=cut)), resamples=20)
    assert model.sessions == closed.rows["session"].nunique() - 2
    assert any("2 sessions excluded: interrupted" in note for note in model.notes)
    assert model.gamma == dbn_from_clicks(closed.only(~cut), resamples=20).gamma


def positions(seed, b, sessions=600, users=60, documents=30):
    """Generate a log of lists in random order, clicked with probability a·b."""
    rng = np.random.default_rng(seed)
    a = rng.uniform(0.2, 0.9, documents)
    shown = rng.permuted(np.tile(np.arange(documents), (sessions, 1)), axis=1)[:, : len(b)]
    clicked = rng.random(shown.shape) < a[shown] * np.asarray(b)
    return log_of_lists(shown, clicked, a[shown] > 0.5, users)


@pytest.mark.slow
def test_intervals_of_the_position_model_are_from_resampled_users():
    log_ = positions(5, [1.0, 0.6, 0.35], sessions=200, users=40, documents=8)
    table = position_model(log_, resamples=2000).table[1:]
    spread = np.std([position_model(drawn, resamples=2).table["b"][1:] for drawn in resampled(log_)], axis=0)
    assert (table["high"] - table["low"]).to_numpy() / (2 * 1.96 * spread) == pytest.approx(np.ones(2), abs=0.25)
    assert (np.abs(table["b"] - [0.6, 0.35]) < 3 * spread).all()


@pytest.mark.slow
def test_what_ties_ranks_to_the_first():
    log_ = positions(5, [1.0, 0.6], sessions=100)
    fixed = log_.rows.assign(docno="d" + log_.rows["rank"].astype(str), grade=0.0)
    says = "no clicked document was at rank 1 and, in another"
    refused(lambda: position_model(InteractionLog.of(fixed)), BadLog, says)
    by_grade = position_model(InteractionLog.of(fixed), of=("grade",), resamples=20)
    rates = fixed.groupby("rank")["clicked"].mean()
    assert by_grade.table["b"][1] == pytest.approx(rates[2] / rates[1], abs=1e-6)
    refused(lambda: position_model(InteractionLog.of(fixed.assign(clicked=False))), BadLog, "no clicks")
    second = log_.rows.assign(clicked=log_.rows["clicked"] & (log_.rows["rank"] == 2))
    refused(lambda: position_model(InteractionLog.of(second)), BadLog, "no result was clicked at rank 1")
    refused(lambda: position_model(log_, of=("colour",)), BadLog, "no column 'colour'")
    rows = log_.rows
    apart = rows.assign(rank=rows["rank"] + 4, docno="x" + rows["docno"], session="x" + rows["session"])
    model = position_model(InteractionLog.of(pd.concat([rows, apart])), resamples=20)
    assert model.table["rank"].tolist() == [1, 2, 5, 6]
    assert model.table["b"].isna().tolist() == [False, False, True, True]
    assert "ranks 5, 6" in " ".join(model.notes)
    assert model.table["b"][1] == position_model(log_, resamples=20).table["b"][1]


def test_survival_under_metrics_is_the_mean_over_lists():
    """Compared with loops over ERR's V of each list; missing results at the end of a list have no gain."""
    log_ = small(gap=True)
    found = survival_of_lists(log_, ["AdaptiveERR(max_rel=2)", "RBP(p=0.7,rel=1)", "CWLA(C='rr',A='err',max_rel=2)"], 7)
    for column, gain in ((0, lambda grade: (2**grade - 1) / 4), (2, lambda grade: grade / 2)):
        V = np.zeros(7)
        for results in lists_of(log_):
            still = 1.0
            for rank in range(7):
                V[rank] += still
                still *= 1 - gain((results[rank] or (0, 0))[0] if rank < len(results) else 0)
        assert found.iloc[:, column].tolist() == pytest.approx(V / len(lists_of(log_)))
    assert found["RBP(p=0.7,rel=1)"].tolist() == pytest.approx(0.7 ** np.arange(7))
    assert survival_of_lists(log_, ["RBP(p=0.7)"], 7)["RBP(p=0.7)"].tolist() == found["RBP(p=0.7,rel=1)"].tolist()
    model = position_model(log_, resamples=20)
    assert model.beside(["RBP(p=0.7)"]).index.tolist() == [*range(1, model.table["rank"].max() + 1)]
    beside = model.beside(["RBP(p=0.7)", "nDCG@10"], 5)
    assert beside["RBP(p=0.7)"].tolist() == pytest.approx(0.7 ** np.arange(5))
    assert beside["nDCG@10"].tolist() == pytest.approx(1 / np.log2(np.arange(2, 7)))
    refused(lambda: survival_of_lists(log_, ["Rprec"], 3), BadParameter, "no user model")
    refused(lambda: survival_of_lists(log_, ["RBP"], 0), BadParameter, "depth=0")


def test_survival_under_time_reads_the_words_of_lists_known_that_far():
    """V(2) of time-biased gain: 2^(−e/h), e = 4.4 + P(C)·(0.018·words + 7.8)."""
    rows = [
        dict(user="u", session="s", topic="t", rank=r, docno=f"d{r}", clicked=True, grade=g, words=w)
        for r, g, w in [(1, 1, 500), (2, 0, 100)]
    ]
    found = survival_of_lists(InteractionLog.of(rows), [TBG], 2).iloc[:, 0]
    first = 2 ** (-(4.4 + 0.64 * (0.018 * 500 + 7.8)) / 224)
    assert found.tolist() == pytest.approx([1, first])
    unknown = InteractionLog.of([{**row, "words": None} for row in rows])
    refused(lambda: survival_of_lists(unknown, [TBG], 2), BadLog, "needs the column words for every result")
    longer = InteractionLog.of([{**row, "session": n} for n in "123" for row in rows[: 1 if n == "1" else 2]])
    assert survival_of_lists(longer, [TBG], 2).iloc[:, 0].tolist() == pytest.approx([1, first])
    refused(lambda: survival_of_lists(longer, [TBG], 3), BadLog, "no list of the log reaches rank 3: give a depth of 2")


@pytest.mark.slow
def test_pictures_show_what_was_found():
    log_ = positions(1, 0.7 ** np.arange(6))
    model = position_model(log_, resamples=20)
    ax = plot_positions(model, ["RBP(p=0.7,rel=1)", "AdaptiveERR(max_rel=1)"], depth=6)
    heights = ax.containers[0][0].get_ydata()
    assert heights.tolist() == pytest.approx(model.table["b"].tolist())
    assert {"RBP(p=0.7,rel=1)", "AdaptiveERR(max_rel=1)"} <= {text.get_text() for text in ax.texts}
    assert "600 sessions of 60 users" in ax.get_title(loc="left")
    ax = plot_relevance(dbn_from_clicks(simulated(2), resamples=20))
    assert {text.get_text() for text in ax.texts} == {"R = a·s", "a: clicked if examined", "s: satisfied if clicked"}
    many = [f"RBP(p=0.{k},rel=1)" for k in range(1, 10)]
    refused(lambda: plot_positions(model, many), BadParameter, "too many to distinguish")


@pytest.mark.slow
@pytest.mark.real_data
def test_a_study_with_shuffled_lists(data):
    """The lists of the study were shuffled for each user; results that the user had seen before have no row."""
    log_ = chiir24_log(data / "chiir24-satisfaction")
    says = "4,208 results are missing above the last rows of 747 of 1,366 lists"
    refused(lambda: dbn_from_clicks(log_), BadLog, says)
    passed, closed = (dbn_from_clicks(log_, gaps=gaps, resamples=50) for gaps in ("passed", "closed"))
    assert passed.log_likelihood[-1] > closed.log_likelihood[-1] + 10
    assert passed.attraction[1].low > passed.attraction[0].high
    assert passed.satisfaction[0].value == 0 == passed.relevance[0].value
    assert any("s of grade 0 = 0" in note for note in passed.notes)
    assert passed.satisfaction[1].high < 0.06  # users of this study look for all relevant documents
    model = position_model(log_, depth=20, resamples=50)
    assert model.table["b"].notna().all()
    assert model.table["b"][19] < 0.75 < model.table["b"][4]


@pytest.mark.slow
def test_position_model_is_the_maximum_if_an_attraction_is_1():
    """Compared with a direct optimiser: the likelihood is concave in ln a and ln b."""

    for seed in range(4):
        rng = np.random.default_rng(seed)
        a, b = rng.uniform(0.5, 1, 4).round(1), np.array([1, 0.9, 0.6])
        rows = [
            dict(user=f"u{s}", session="s", topic="t", rank=p + 1, docno=f"d{d}", clicked=bool(rng.random() < a[d] * b[p]))
            for s in range(30) for p, d in enumerate(rng.permutation(4)[:3])
        ]  # fmt: skip
        item, rank = (np.array([row[key] for row in rows]) for key in ("docno", "rank"))
        item, clicked = np.unique(item, return_inverse=True)[1], np.array([row["clicked"] for row in rows])

        def loss(x, item=item, rank=rank, clicked=clicked):
            p = np.minimum(np.exp(x[item] + x[4:][rank - 1]), 1 - 1e-12)
            return -np.where(clicked, np.log(p), np.log1p(-p)).sum()

        best = minimize(loss, np.full(7, -0.5), method="L-BFGS-B", bounds=[(-20, 0)] * 7, options={"ftol": 1e-14})
        model = position_model(InteractionLog.of(rows), resamples=2)
        assert model.log_likelihood[-1] == pytest.approx(-best.fun, abs=1e-4)
        assert model.table["b"].tolist() == pytest.approx(np.exp(best.x[4:] - best.x[4]), abs=0.05)
        attraction = model.attraction.sort_values("docno")["a"].tolist()
        assert attraction == pytest.approx(np.exp(best.x[:4] + best.x[4]), abs=0.05)


def test_estimates_on_the_border_have_no_interval():
    """A document always clicked at ranks 1 and 2 shows that both ranks were always examined."""

    def model(sessions):
        rows = [
            dict(user=f"u{s % 10}", session=f"{s}", topic="t", rank=rank, docno=docno, clicked=docno == "a" or s % 3 > 0)
            for s in range(sessions) for rank, docno in ((1, "ab"[s % 2]), (2, "ba"[s % 2]))
        ]  # fmt: skip
        return position_model(rows, resamples=50)

    found = model(80)
    second = found.table.set_index("rank").loc[2]
    assert second["b"] == pytest.approx(1, abs=1e-4)
    assert np.isnan([second["low"], second["high"]]).all()
    assert any("at the bound of its range" in note for note in found.notes)
    assert not any("views per clicked document are few" in note for note in found.notes)
    assert any("10 views per clicked document are few" in note for note in model(10).notes)
    assert found.attraction.set_index("docno").loc["a", "a"] == pytest.approx(1, abs=1e-4)
